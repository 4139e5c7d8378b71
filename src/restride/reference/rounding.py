"""One rounding from float64 to an element type: nearest even for floats, saturate then nearest even for integers."""

from __future__ import annotations

from typing import Any

import numpy as np

_NARROW = {
    "bfloat16": (8, -126, (2 - 2.0**-7) * 2.0**127, np.inf),
    "float8_e5m2": (3, -14, 57344.0, np.inf),
    "float8_e4m3fn": (4, -6, 448.0, np.nan),
}
"""Significant bits, exponent of the smallest normal number, the largest one, and what lies beyond."""


def round_once(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``values`` (float64) as ``dtype``, rounded a single time.

    Floats: nearest, ties to even, denormals kept, overflow to infinity, or to NaN in f8e4m3fn, which has none.
    Integers: clamp to the type's range, then nearest, ties to even (oneDNN, Reorder and Resampling: saturation, then
    ``nearbyint``). The values must not be NaN there: numpy's own cast would wrap, and integers have no NaN.
    """
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        whole: np.ndarray[Any, Any] = np.rint(np.clip(values, bounds.min, bounds.max))
        return whole.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.name in _NARROW:
            return _nearest(values, *_NARROW[dtype.name]).astype(np.float32).astype(dtype)
        return values.astype(dtype)


def _nearest(
    values: np.ndarray[Any, Any], precision: int, lowest_exponent: int, largest: float, beyond: float
) -> np.ndarray[Any, Any]:
    """The nearest number of a narrow type, still as float64: a cast through float32 would round twice.

    ``value = m * 2^e`` with ``0.5 <= m < 1`` has its last bit, for bf16, at ``2^(e - 8)``, or at ``2^-133`` among
    denormals. Scaling by a power of two is exact, so the only rounding is ``rint``.
    """
    _, exponent = np.frexp(values)
    last_bit = np.maximum(exponent, lowest_exponent + 1) - precision
    rounded: np.ndarray[Any, Any] = np.ldexp(np.rint(np.ldexp(values, -last_bit)), last_bit)
    return np.where(np.abs(rounded) > largest, np.copysign(beyond, rounded), rounded)
