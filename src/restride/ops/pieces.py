"""Tensors made of pieces: each piece is copied, and converted, straight into its place in one new tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from restride.arguments import MAX_RANK
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.layout import TensorDesc, views
from restride.ops.plan import cached
from restride.ops.reorder import reorder
from restride.tensor.tensor import Tensor, empty


def reshaped(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """``x.reshape(sizes)``, a view where its layout allows one, else a packed copy in one dispatch."""
    desc, is_view = cached(_reshaped, {"src": x.desc, "sizes": sizes})
    return Tensor(x.memory if is_view else reorder(x).memory, desc, x.device)


def _reshaped(src: TensorDesc, sizes: Sequence[int]) -> tuple[TensorDesc, bool]:
    """The layout with other sizes, and True if it is a view of ``src``, False if it is that of a packed copy."""
    try:
        return views.reshape(src, sizes), True
    except DescriptorError as error:
        try:
            return views.reshape(TensorDesc(src.dtype, src.sizes), sizes), False
        except DescriptorError:
            raise error from None


def concatenated(tensors: Sequence[Tensor], axis: int, dtype: DType | None = None, argument: str = "tensors") -> Tensor:
    """Concatenate tensors along an axis, in one dispatch for each tensor.

    Args:
        tensors: one or more, of the same sizes except along the axis, on one device.
        axis: from 0 on.
        dtype: of the result; default: that of the tensors, which must then be the same.
        argument: name of the tensors in error messages.

    Raises:
        DescriptorError: they do not fit together.
    """
    first = tensors[0]
    element = first.dtype if dtype is None else dtype
    for place, x in enumerate(tensors):
        if x.device is not first.device:
            raise DescriptorError(f"{argument}[{place}] {x!r} lies on another device than {first!r}")
        if dtype is None and x.dtype != element:
            raise DescriptorError(f"{argument}[{place}] {x.desc} must have the element type of {first.desc}")
        if x.ndim != first.ndim or any(
            size != other for k, (size, other) in enumerate(zip(x.sizes, first.sizes, strict=True)) if k != axis
        ):
            raise DescriptorError(
                f"{argument}[{place}] {x.desc} must have the sizes of {first.desc}, but along axis {axis}"
            )
    sizes = list(first.sizes)
    sizes[axis] = sum(x.sizes[axis] for x in tensors)
    result = empty(TensorDesc(element, sizes), first.device)
    at = 0
    for x in tensors:
        if x.size:
            reorder(x, out=result[(slice(None),) * axis + (slice(at, at + x.sizes[axis]),)])
        at += x.sizes[axis]
    return result


def tiled(x: Tensor, repeats: Sequence[int]) -> Tensor:
    """``x`` repeated ``repeats[k]`` times along axis k, in one dispatch; in a few if the view below exceeds 8 axes.

    f32[2,3] twice along axis 1 is the view f32[2,2,3] of strides (3, 0, 1), whose axes 1 and 2 are joined.
    """
    # A size of 1 is no axis of the view, nor is a repetition of 1.
    axes = [(size != 1) + (times != 1) for size, times in zip(x.sizes, repeats, strict=True)]
    if sum(axes) > MAX_RANK:
        last = max(axis for axis, times in enumerate(repeats) if times != 1)
        inner = [times if axis == last else 1 for axis, times in enumerate(repeats)]
        outer = [1 if axis == last else times for axis, times in enumerate(repeats)]
        return tiled(tiled(x, inner), outer)
    key: list[slice | int | None] = []
    wide: list[int] = []
    for size, times in zip(x.sizes, repeats, strict=True):
        if times != 1:
            key.append(None)
            wide.append(times)
        if size != 1:
            wide.append(size)
        key.append(0 if size == 1 else slice(None))
    sizes = [size * times for size, times in zip(x.sizes, repeats, strict=True)]
    if not prod(sizes):
        return empty(TensorDesc(x.dtype, sizes), x.device)
    return reshaped(x[tuple(key)].broadcast_to(tuple(wide)), sizes)
