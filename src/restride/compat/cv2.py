"""``cv2.resize`` with its arguments: width before height, pixels of one or more channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

from restride.arguments import check_keywords, require_unmasked
from restride.dtypes import Array
from restride.errors import DescriptorError, UnsupportedError
from restride.ops.reorder import reorder
from restride.ops.resample import resample
from restride.request import LIBRARIES, ModeName
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor

__all__ = [
    "INTER_AREA",
    "INTER_CUBIC",
    "INTER_LANCZOS4",
    "INTER_LINEAR",
    "INTER_LINEAR_EXACT",
    "INTER_NEAREST",
    "INTER_NEAREST_EXACT",
    "resize",
]

INTER_NEAREST, INTER_LINEAR, INTER_CUBIC, INTER_AREA, INTER_LANCZOS4, INTER_LINEAR_EXACT, INTER_NEAREST_EXACT = range(7)

_MODES = LIBRARIES["opencv"].numbered_modes

_TYPES = ("u8", "u16", "s16", "f32", "f64")

_MOVED_TYPES = (*_TYPES, "pred", "s8", "s32", "u32", "f16")
"""Element types that the nearest modes accept."""

_MAX_CHANNELS = 128
"""OpenCV 5's limit. It catches most images that have channels first by mistake: their last axis is the columns."""


def __dir__() -> list[str]:
    return __all__


@check_keywords
def resize(
    src: Array | Tensor,
    dsize: Sequence[int] | None,
    dst: Array | Tensor | None = None,
    fx: float = 0.0,
    fy: float = 0.0,
    interpolation: int = INTER_LINEAR,
) -> Any:
    """``cv2.resize``: ``src`` of sizes (rows, columns) or (rows, columns, channels), resized to ``dsize``.

    Returns a numpy array for a numpy array, a ``restride.Tensor`` for a Tensor. Without ``dsize`` the sizes are those
    of ``src`` times ``fy`` and ``fx``, rounded, and the factors enter the coordinates. docs/profiles.md says how close
    each mode is.

    Args:
        src: u8, u16, s16, f32; f64, which is computed in f32; pred, s8, s32, u32 and f16 in the nearest modes.
        dsize: columns and rows of the result; if it is None, or one of the two is not positive, ``fx`` and ``fy``
            give the sizes.
        dst: where to write: a numpy array, or for a ``Tensor`` a Tensor, with the result's sizes and type. If it does
            not fit, OpenCV ignores it; here it is an error.
        fx: the factor of columns, without ``dsize``.
        fy: the factor of rows, without ``dsize``.
        interpolation: one of the constants of this module, which have OpenCV's values.

    Raises:
        DescriptorError: sizes or factors are not positive, or ``dst`` does not fit.
        UnsupportedError: another interpolation or element type, or more than three axes.

    Example:
        >>> from restride.compat import cv2
        >>> photo = np.arange(16, dtype=np.uint8).reshape(4, 4)
        >>> cv2.resize(photo, (2, 1), interpolation=cv2.INTER_AREA).tolist()  # columns, rows
        [[6, 8]]
    """
    x = asarray(src)
    what = f"src {x.desc}"
    mode = _mode(interpolation, what)
    _require_image(x, mode, what)
    sizes, scales = _sizes(dsize, fx, fy, what)
    if scales is not None and min(round(size * scale) for size, scale in zip(x.sizes, scales, strict=False)) == 0:
        raise DescriptorError(f"fx {fx} and fy {fy} leave no pixel of {what}")
    if isinstance(dst, Real):
        raise DescriptorError(
            f"dst {dst!r} is a number, not an array to write to: the arguments after dsize are dst, fx, fy and "
            f"interpolation, so name the last, as in interpolation=INTER_AREA, for {what}"
        )
    if dst is not None and isinstance(dst, Tensor) != isinstance(src, Tensor):
        raise DescriptorError(
            f"dst must be what src is, a numpy array or a Tensor, not {type(dst).__name__}, for {what}"
        )
    is_double = x.dtype.name == "f64" and not mode.startswith("nearest")
    if is_double:
        x = reorder(x, dtype="f32")
    out = dst if isinstance(dst, Tensor) else None
    result = resample(
        x, sizes, scales, (0, 1), cast("ModeName", mode), like="opencv", dtype="f64" if is_double else None, out=out
    )
    if isinstance(src, Tensor):
        return result
    pixels = result.numpy()
    if pixels.shape[2:] == (1,):
        pixels = pixels[:, :, 0]  # OpenCV too returns a single channel without an axis
    return pixels if dst is None else _into(dst, pixels)


def _mode(interpolation: int, what: str) -> str:
    """The name of the mode for an interpolation constant."""
    if _is_integer(interpolation) and 0 <= interpolation < len(_MODES):
        return _MODES[int(interpolation)]
    known = ", ".join(f"{_named(mode)} ({number})" for number, mode in enumerate(_MODES))
    raise UnsupportedError(f"interpolation {interpolation!r} is not one of {known}, for {what}")


def _require_image(x: Tensor, mode: str, what: str) -> None:
    types = _MOVED_TYPES if mode.startswith("nearest") else _TYPES
    if len(x.sizes) not in (2, 3):
        raise UnsupportedError(f"{what} must have rows, columns and, if there are, channels: two or three axes")
    if len(x.sizes) == 3 and x.sizes[2] > _MAX_CHANNELS:
        raise UnsupportedError(
            f"{what} has {x.sizes[2]} channels, and OpenCV at most {_MAX_CHANNELS}: they are the last axis, behind "
            "rows and columns"
        )
    if x.dtype.name not in types:
        raise UnsupportedError(
            f"{what} has elements of type {x.dtype}, and {_named(mode)} takes {', '.join(types)}: "
            f"src.astype('float32') converts{'' if types is _MOVED_TYPES else ', and INTER_NEAREST takes more types'}"
        )
    if not x.desc.numel:
        raise DescriptorError(f"{what} has no elements")


def _named(mode: str) -> str:
    return f"INTER_{mode.upper()}"


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _sizes(dsize: Any, fx: Any, fy: Any, what: str) -> tuple[tuple[int, int] | None, tuple[float, float] | None]:
    """The sizes (rows, columns) if ``dsize`` gives them, and None; else None, and the factors of rows and columns."""
    if dsize is not None:
        numbers = tuple(dsize) if np.iterable(dsize) else ()
        if len(numbers) != 2 or not all(map(_is_integer, numbers)):
            raise DescriptorError(f"dsize {dsize!r} must be columns and rows, two integers, for {what}")
        columns, rows = map(int, numbers)
        if min(columns, rows) > 0:
            return (rows, columns), None
    if not all(isinstance(factor, Real) and 0 < float(factor) < math.inf for factor in (fx, fy)):
        raise DescriptorError(f"dsize {dsize!r} or else both fx {fx!r} and fy {fy!r} must be positive, for {what}")
    return None, (fy, fx)


def _into(dst: object, result: Array) -> Array:
    require_unmasked("dst", dst)
    if not isinstance(dst, np.ndarray) or dst.shape != result.shape or dst.dtype != result.dtype:
        other = f"{dst.shape} and {dst.dtype}" if isinstance(dst, np.ndarray) else repr(dst)[:60]
        raise DescriptorError(f"dst must be a numpy array of sizes {result.shape} and type {result.dtype}, not {other}")
    dst[...] = result
    return dst
