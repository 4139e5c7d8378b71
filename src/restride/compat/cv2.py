"""``cv2.resize``, with its arguments: width before height, rows of pixels of up to four channels, or of one."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from restride.arrays import asarray
from restride.errors import DescriptorError, UnsupportedError
from restride.ops import reorder
from restride.resampling import resample
from restride.tensor import Tensor

INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_LANCZOS4, INTER_LINEAR_EXACT, INTER_NEAREST_EXACT = range(7)

_MODES = ("nearest", "linear", "cubic", "area", "lanczos4", "linear_exact", "nearest_exact")

_TYPES = ("u8", "u16", "s16", "f32", "f64")

_MOVED_TYPES = (*_TYPES, "pred", "s8", "s32", "u32", "f16")
"""Of the nearest modes."""


def resize(
    src: Any,
    dsize: Sequence[int] | None,
    dst: Any = None,
    fx: float = 0.0,
    fy: float = 0.0,
    interpolation: int = INTER_LINEAR,
) -> Any:
    """``cv2.resize``: ``src`` of sizes (rows, columns) or (rows, columns, channels) as ``dsize``, (columns, rows).

    A numpy array gives one, a ``restride.Tensor`` gives one. Without ``dsize`` sizes are those of ``src`` times ``fy``
    and ``fx``, rounded, and the factors enter the coordinates. docs/profiles.md says how close each mode is.

    Args:
        src: u8, u16, s16, f32; f64, which goes through f32; pred, s8, s32, u32 and f16 in the nearest modes.
        dsize: columns and rows of the result; or None, or one of them not positive, where ``fx`` and ``fy`` say it.
        dst: what to write to: a numpy array, or for a ``Tensor`` a Tensor, of the result's sizes and type. OpenCV
            leaves another one alone; here it is an error.
        fx: the factor of columns, without ``dsize``.
        fy: the factor of rows, without ``dsize``.
        interpolation: one of the constants of this module, whose values are OpenCV's.

    Raises:
        DescriptorError: sizes or factors that are not positive, or a ``dst`` that does not fit.
        UnsupportedError: another interpolation or element type, or more than three axes.
    """
    x = asarray(src)
    what = f"src {x.desc}"
    if interpolation not in range(len(_MODES)):
        raise UnsupportedError(f"interpolation {interpolation!r} is none of the constants INTER_..., for {what}")
    mode = _MODES[interpolation]
    types = _MOVED_TYPES if mode.startswith("nearest") else _TYPES
    if len(x.sizes) not in (2, 3) or x.dtype.name not in types:
        raise UnsupportedError(
            f"{what} must have two or three axes and, for {mode}, one of the types {', '.join(types)}"
        )
    if not x.desc.numel:
        raise DescriptorError(f"{what} has no elements")
    sizes, scales = _sizes(dsize, fx, fy, what)
    if scales is not None and min(round(size * scale) for size, scale in zip(x.sizes, scales, strict=False)) == 0:
        raise DescriptorError(f"fx {fx} and fy {fy} leave no pixel of {what}")
    if dst is not None and isinstance(dst, Tensor) != isinstance(src, Tensor):
        raise DescriptorError(
            f"dst must be what src is, a numpy array or a Tensor, not {type(dst).__name__}, for {what}"
        )
    is_double = x.dtype.name == "f64" and not mode.startswith("nearest")
    if is_double:
        x = reorder(x, dtype="f32")
    out = dst if isinstance(dst, Tensor) else None
    made = resample(x, sizes, scales, (0, 1), mode, like="opencv", dtype="f64" if is_double else None, out=out)
    if isinstance(src, Tensor):
        return made
    result = made.numpy()
    if result.shape[2:] == (1,):
        result = result[:, :, 0]  # as OpenCV hands out a single channel
    return result if dst is None else _into(dst, result)


def _sizes(
    dsize: Sequence[int] | None, fx: float, fy: float, what: str
) -> tuple[tuple[int, int] | None, tuple[float, float] | None]:
    """Rows and columns, or their factors."""
    if dsize is not None:
        if len(dsize) != 2 or not all(isinstance(size, Integral) for size in dsize):
            raise DescriptorError(f"dsize {dsize!r} must be columns and rows, two integers, for {what}")
        columns, rows = map(int, dsize)
        if min(columns, rows) > 0:
            return (rows, columns), None
    if not (fx > 0 and fy > 0):
        raise DescriptorError(f"dsize {dsize} or else both fx {fx} and fy {fy} must be positive, for {what}")
    return None, (fy, fx)


def _into(dst: Any, result: Any) -> Any:
    if not isinstance(dst, np.ndarray) or dst.shape != result.shape or dst.dtype != result.dtype:
        raise DescriptorError(f"dst must be a numpy array of sizes {result.shape} and type {result.dtype}")
    dst[...] = result
    return dst
