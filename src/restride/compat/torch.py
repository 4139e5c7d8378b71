"""``torch.nn.functional.interpolate`` with its arguments, for torch tensors, numpy arrays and restride tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from restride.arguments import check_keywords, flag
from restride.errors import UnsupportedError
from restride.ops.resample import require_interpolated, resample
from restride.request import ModeName
from restride.tensor.arrays import TensorLike, asarray
from restride.tensor.tensor import Tensor

if TYPE_CHECKING:
    import torch

__all__ = ["interpolate"]

_AXES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}
"""For each mode, how many axes after N and C it can resize."""

_BY_SIZES = ("nearest", "nearest-exact", "area")
"""Modes that cannot align corners."""


def __dir__() -> list[str]:
    return __all__


@check_keywords
def interpolate(
    input: TensorLike,  # noqa: A002 - torch's name
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """``torch.nn.functional.interpolate``: resize the axes after N and C to ``size`` or by ``scale_factor``.

    The result has the type of ``input``: ``torch.Tensor`` on the CPU, numpy array or ``restride.Tensor``. Bytes and
    "nearest" equal torch's bit for bit (docs/profiles.md); floats differ no more than sums in f32 may.

    Raises:
        ValueError, NotImplementedError, TypeError, RuntimeError: for the same arguments as in torch; and ValueError for
            a ``torch.Tensor`` that requires a gradient, which ``restride.interop.torch.resample`` supports.
        UnsupportedError: an element type that cannot be interpolated here: f64, except in the nearest modes.

    Example:
        >>> from restride.compat.torch import interpolate
        >>> x = np.array([[[0, 8]]], np.float32)  # N, C and one axis
        >>> interpolate(x, size=4, mode="linear").tolist()
        [[[0.0, 2.0, 6.0, 8.0]]]
    """
    if mode in _BY_SIZES and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    x, give = _as_tensor(input, mode)
    axes = len(x.sizes) - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    align_corners = align_corners is not None and flag("align_corners", align_corners)
    recomputes = recompute_scale_factor is not None and flag("recompute_scale_factor", recompute_scale_factor)
    sizes, scales = _per_axis("size", size, x.sizes), _per_axis("scale_factor", scale_factor, x.sizes)
    if recomputes and sizes is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "lanczos":
        raise UnsupportedError(f"mode 'lanczos' is not done here, for input {x.desc}; rs.compat.pil has Pillow's")
    if antialias and not (mode in ("bilinear", "bicubic") and axes == 2):
        raise ValueError(
            f"Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor, got mode "
            f"{mode!r} and a {axes + 2}-D input"
        )
    _require_mode(mode, x.sizes)
    require_interpolated(x.desc, mode)
    _require_numbers("size", sizes, Integral)
    _require_numbers("scale_factor", scales, Real)
    _require_elements(x.sizes, sizes, scales, is_area=mode == "area")
    result = resample(
        x,
        sizes,
        scales,
        tuple(range(2, axes + 2)),
        cast("ModeName", mode),  # checked above
        like="torch",
        antialias=antialias or None,
        coordinates="align_corners" if align_corners else None,
        recompute_scale_factor=recomputes or None,
    )
    return give(result)


def _as_tensor(x: Any, mode: str) -> tuple[Tensor, Callable[[Tensor], object]]:
    """The input as a ``restride.Tensor``, and a function that converts the result to the type of the input."""
    if isinstance(x, Tensor):
        return x, lambda result: result
    if type(x).__module__.partition(".")[0] != "torch":
        return asarray(x), lambda result: result.numpy()
    import torch

    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"input of sizes {tuple(x.shape)} requires a gradient, which would be lost: pass input.detach(), or "
            "take restride.interop.torch.resample, which keeps it"
        )
    detached = x.detach().resolve_neg()  # DLPack cannot express the negative bit
    order = _memory_format(detached, mode)
    return asarray(detached), lambda result: _in_memory_format(torch.from_dlpack(result), order)


def _in_memory_format(x: torch.Tensor, order: torch.memory_format) -> torch.Tensor:
    """``x`` in a memory format, with its strides also along axes of one element, by which torch tells formats apart."""
    import torch

    made = x.contiguous(memory_format=order)
    return made.as_strided(made.shape, torch.empty_like(made, memory_format=order, device="meta").stride())


def _memory_format(x: torch.Tensor, mode: str) -> torch.memory_format:
    """The memory format that torch gives the result: it follows from the strides of ``x``, even if ``x`` is a view.

    But "area" with three axes gives a contiguous result in torch.
    """
    import torch

    order = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.ndim)
    if order is None or (x.ndim, mode) == (5, "area") or not _is_channels_last(x.shape, x.stride()):
        return torch.contiguous_format
    return order


def _is_channels_last(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """True if the strides ascend from C over the last axes to N, each at least the extent of the axis before it.

    Rows 0 to 5 of [2, 3, 11, 8] in channels last: strides (264, 1, 24, 3) ascend, though 264 is more than 5 * 24. A
    single image [1, 3, 5, 6] unsqueezed from [3, 5, 6] has strides (3, 1, 18, 3): the first is too small, and torch
    takes it as contiguous. Equal strides of N and C, as of [2, 1, 1, 1] with (1, 1, 1, 1), are contiguous too.

    Source: torch, c10/core/MemoryFormat.h, is_channels_last_strides_2d_s4 and its twin for 3d.
    """
    least = 0
    for axis in (1, *range(len(sizes) - 1, 1, -1)):
        if strides[axis] < least:
            return False
        least = strides[axis] * sizes[axis]
    is_ambiguous = least == strides[1] or 0 in (strides[1], *sizes)
    return strides[0] >= least and not is_ambiguous


def _per_axis(name: str, values: Any, source_sizes: tuple[int, ...]) -> tuple[Any, ...] | None:
    """One number for each axis after N and C, from one for all axes or one for each."""
    if values is None:
        return None
    axes = len(source_sizes) - 2
    if not isinstance(values, list | tuple | np.ndarray):
        values = (values,) * axes
    elif name == "size" and len(values) == axes:
        _require_numbers(name, tuple(values), Integral)
    if len(values) != axes:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(source_sizes[2:])} and {name} of {tuple(values)}"
        )
    return tuple(values)


def _require_mode(mode: str, sizes: tuple[int, ...]) -> None:
    axes = len(sizes) - 2
    if mode in _AXES and axes in _AXES[mode]:
        return
    if mode in _AXES and 1 <= axes <= 3:
        needs = " and ".join(f"{count + 2}D" for count in _AXES[mode])
        raise NotImplementedError(f"Got {axes + 2}D input, but {mode} mode needs {needs} input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {len(sizes)}D) for the modes: "
        f"{' | '.join(_AXES)} (got {mode})"
    )


def _require_numbers(name: str, values: tuple[object, ...] | None, kind: type) -> None:
    if not all(isinstance(one, kind) for one in values or ()):
        raise TypeError(f"expected {name} to be one number or one for each axis, {kind.__name__}, but got {values!r}")


def _require_elements(
    source_sizes: tuple[int, ...], sizes: tuple[float, ...] | None, scales: tuple[float, ...] | None, *, is_area: bool
) -> None:
    """Refuse axes without elements, as torch does: N may be empty, and in area C and the result may too."""
    old = source_sizes[2:]
    new = sizes or tuple(int(size * scale) for size, scale in zip(old, scales or (), strict=True))
    if min(old) <= 0 or min(new) < 0 or (not is_area and 0 in (*new, source_sizes[1])):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got {list(source_sizes)} and {list(new)}"
        )
