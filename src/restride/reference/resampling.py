"""The reference for ``resample``, and the interval in which every right answer lies.

Source of the formulas: oneDNN specification, Resampling, forward propagation, with ``s = (o + 1/2) * I / O - 1/2``
per axis (restride.reference.coordinates). Where the specification takes source elements left of index 0 as zero, the
library clamps to the border; so does this. ONNX Resize calls these coordinates ``half_pixel``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.dtypes import as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.integers import integers
from restride.reference.arguments import as_array, as_axes, describe
from restride.reference.coordinates import linear_taps, nearest_indices
from restride.reference.rounding import round_once

LINEAR_TYPES = ("f32", "f16", "bf16", "u8", "s8", "s32")
"""Element types that linear resampling takes: oneDNN's. Nearest copies elements, so it takes every type."""

_F32_UNIT = 2.0**-24  # largest relative error of one rounding to f32
_F32_DENORMAL_UNIT = 2.0**-150  # largest absolute error of one rounding among f32's denormals


@dataclass(frozen=True, eq=False)
class _Request:
    """A checked call: ``sizes[k]`` is the new size of ``axes[k]``, axes in ``[0, rank)``."""

    array: np.ndarray[Any, Any]
    sizes: tuple[int, ...]
    axes: tuple[int, ...]
    mode: str


def resample(
    x: Any,
    sizes: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    mode: str = "linear",
    coordinates: str = "half_pixel",
    nearest: str = "half_up",
) -> np.ndarray[Any, Any]:
    """Resize ``x`` along some axes.

    nearest: ``out[o] = x[roundf(s)]``, halves away from zero; a copy of the element's bits, for every element type.
    linear: ``out[o] = w0 * x[i0] + w1 * x[i1]`` with ``i0 = max(floor(s), 0)``, ``i1 = min(ceil(s), I - 1)``,
    ``w1 = |s - i0|``, ``w0 = 1 - w1``, nested over the axes, last axis innermost: 2^axes taps. Weights are exact
    fractions, the sum is float64, and the result is rounded once (integers: clamp, then half to even). A tap of weight
    zero contributes nothing, so an infinity that is not needed does not turn into NaN.

    Args:
        x: array of rank 0 to 8.
        sizes: new sizes, one an axis in ``axes``. Zero gives an empty array.
        axes: which axes; default: the last ``len(sizes)``. Negative ones count from the end.
        mode: ``"linear"`` (f32 f16 bf16 u8 s8 s32) or ``"nearest"``.
        coordinates: ``"half_pixel"``.
        nearest: ``"half_up"``: of two equally near elements the upper one.

    Returns:
        A new array of the same element type.

    Raises:
        DescriptorError: sizes or axes do not fit, or an empty axis would have to become longer.
        UnsupportedError: another mode, element type, coordinate or tie rule.
    """
    request = _checked(x, sizes, axes, mode, coordinates, nearest)
    if mode == "nearest":
        result = request.array
        for axis, size in zip(request.axes, request.sizes, strict=True):
            result = np.take(result, nearest_indices(result.shape[axis], size), axis)
        return np.array(result, order="C")
    with np.errstate(invalid="ignore"):
        return round_once(_interpolated(request, _as_float64(request.array)), request.array.dtype)


def resample_bound(
    x: Any,
    sizes: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    mode: str = "linear",
    coordinates: str = "half_pixel",
    nearest: str = "half_up",
) -> np.ndarray[Any, Any]:
    """How far an f32 evaluation may lie from the exact sum, per output element, before its last rounding; float64.

    linear: ``(3 * axes + taps) * 2^-24 * sum|w * tap|`` with ``taps = 2^axes``; nearest: 0.

    Derivation, with u = 2^-24, the largest relative error of one rounding to f32. In the nested order each axis adds at
    most three roundings to a product: of its weight, of the multiplication, and of the addition: ``3 * axes * u``. A
    flat order has up to ``taps - 1`` additions instead, and terms in u^2 are far below one u: ``taps * u`` covers both.
    s32 elements are converted to f32 first, half an ulp of f32 each, at most ``u * |tap|``: one more u; none for
    the types that f32 holds exactly. Roundings among denormals err by up to 2^-150 each instead, which is added.

    Where no step of the weighted sum can round in f32, in whatever order it is taken, the bound is 0 (see
    ``_is_exact_in_f32``).
    Around a sum that is not finite the bound is not finite either.
    """
    request = _checked(x, sizes, axes, mode, coordinates, nearest)
    array = request.array
    if mode == "nearest":
        return np.zeros(_output_sizes(request), np.float64)
    if _is_exact_in_f32(request):
        return np.zeros(_output_sizes(request), np.float64)
    roundings = 3 * len(request.axes) + 2 ** len(request.axes)
    if array.dtype == np.dtype(np.int32):
        roundings += 1
    with np.errstate(invalid="ignore"):
        magnitude = _interpolated(request, np.abs(_as_float64(array)))
    bound: np.ndarray[Any, Any] = roundings * (_F32_UNIT * magnitude + _F32_DENORMAL_UNIT)
    return bound


def resample_limits(
    x: Any,
    sizes: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    mode: str = "linear",
    coordinates: str = "half_pixel",
    nearest: str = "half_up",
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The lowest and the highest right answer of each output element, both inclusive, in the element type.

    linear: ``round(exact - bound)`` and ``round(exact + bound)`` with ``resample_bound``. Rounding keeps order, so a
    value within the bound, rounded once, lies between them. That is: within the bound plus half an ulp of a narrower
    float type; for integers equal, except within the bound of a rounding tie, where the next one is right too.
    nearest: both are the answer itself, and its bits must match.

    An element that is NaN is NaN in both; an infinite one is that infinity in both.
    """
    request = _checked(x, sizes, axes, mode, coordinates, nearest)
    array = request.array
    if mode == "nearest":
        answer = resample(x, sizes, axes, mode, coordinates, nearest)
        return answer, answer
    with np.errstate(invalid="ignore"):
        exact = _interpolated(request, _as_float64(array))
        bound = resample_bound(x, sizes, axes, mode, coordinates, nearest)
        bound = np.where(np.isfinite(exact), bound, 0.0)
        return round_once(exact - bound, array.dtype), round_once(exact + bound, array.dtype)


def _checked(
    x: Any, sizes: Sequence[int] | None, axes: Sequence[int] | None, mode: str, coordinates: str, nearest: str
) -> _Request:
    array = as_array(x)
    for argument, value, known in (
        ("mode", mode, ("linear", "nearest")),
        ("coordinates", coordinates, ("half_pixel",)),
        ("nearest", nearest, ("half_up",)),
    ):
        if value not in known:
            raise UnsupportedError(f"{argument} {value!r} is not one of {', '.join(known)}")
    if sizes is None:
        raise DescriptorError(f"resample of {describe(array)} needs sizes, the new sizes of its axes")
    if mode == "linear" and as_dtype(array.dtype).name not in LINEAR_TYPES:
        raise UnsupportedError(
            f"linear resampling takes element types {', '.join(LINEAR_TYPES)}, not {describe(array)}"
        )
    new_sizes = integers("sizes", sizes)
    named = as_axes(axes, len(new_sizes), array)
    for axis, size in zip(named, new_sizes, strict=True):
        if size < 0:
            raise DescriptorError(f"size {size} of axis {axis} must be at least 0, for {describe(array)}")
        if size > 0 and array.shape[axis] == 0:
            raise DescriptorError(f"size {size} of axis {axis} needs at least one source element in {describe(array)}")
    return _Request(array, new_sizes, named, mode)


def _is_exact_in_f32(request: _Request) -> bool:
    """True where every product and sum of the weighted sum is an integer of at most 24 bits, times one power of two.

    u8 halved along two axes: elements below 2^8, weights 1/2, so sums of products are multiples of 2^-2 below 2^8: 10
    bits. Weights of an axis sum to 1, so sums of products stay below the largest element. (``a + w * (b - a)`` needs a
    bit more for the difference.) Weights 0 and 1 only move elements: exact unless s32 loses bits on its way to f32.
    """
    values = _as_float64(request.array)
    weight_bits = 0
    for axis, size in zip(request.axes, request.sizes, strict=True):
        weight_bits += _fraction_bits(linear_taps(request.array.shape[axis], size).w0)
    if weight_bits == 0 and (request.array.dtype != np.int32 or (values.astype(np.float32) == values).all()):
        return True
    if not np.isfinite(values).all():
        return False
    bits = _fraction_bits(values) + weight_bits
    return bool(np.abs(values).max(initial=0.0) <= 2.0 ** (24 - bits))


def _fraction_bits(values: np.ndarray[Any, Any]) -> int:
    """The least n >= 0 such that every value is a multiple of 2^-n; 1100, more than any has, where none below 24 is."""
    return next((bits for bits in range(24) if (np.ldexp(values, bits) % 1 == 0).all()), 1100)


def _output_sizes(request: _Request) -> tuple[int, ...]:
    changed = dict(zip(request.axes, request.sizes, strict=True))
    return tuple(changed.get(axis, size) for axis, size in enumerate(request.array.shape))


def _as_float64(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Every element exactly; the element types of linear resampling all fit."""
    return array.astype(np.float64)


def _interpolated(request: _Request, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The weighted sum in float64, one axis after the other, last axis first."""
    for axis, size in sorted(zip(request.axes, request.sizes, strict=True), reverse=True):
        taps = linear_taps(values.shape[axis], size)
        along = [1] * values.ndim
        along[axis] = size
        lower = _weighted(taps.w0.reshape(along), np.take(values, taps.i0, axis))
        upper = _weighted(taps.w1.reshape(along), np.take(values, taps.i1, axis))
        values = lower + upper
    return values


def _weighted(weights: np.ndarray[Any, Any], elements: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``weight * element``, or -0.0 where the weight is zero: adding that changes nothing, not even a sign."""
    return np.where(weights == 0, -0.0, weights * elements)
