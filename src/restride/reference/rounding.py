"""One rounding from float64 to an element type: nearest even for floats, saturate then nearest even for integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

_BF16_PRECISION = 8
_BF16_LOWEST_EXPONENT = -126
_BF16_LARGEST = (2 - 2.0**-7) * 2.0**127


def round_once(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``values`` (float64) as ``dtype``, rounded a single time.

    f32, f16, bf16: nearest, ties to even, denormals kept, overflow to infinity.
    Integers: clamp to the type's range, then nearest, ties to even (oneDNN, Reorder and Resampling: saturation, then
    ``nearbyint``). The values must not be NaN there: numpy's own cast would wrap, and integers have no NaN.
    """
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        whole: np.ndarray[Any, Any] = np.rint(np.clip(values, bounds.min, bounds.max))
        return whole.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == np.dtype(ml_dtypes.bfloat16):
            return _nearest_bf16(values).astype(np.float32).astype(dtype)
        return values.astype(dtype)


def _nearest_bf16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The nearest bf16 number, still as float64: a cast through float32 would round twice.

    ``value = m * 2^e`` with ``0.5 <= m < 1`` has its last bf16 bit at ``2^(e - 8)``, or at ``2^-133`` among denormals.
    Scaling by a power of two is exact, so the only rounding is ``rint``.
    """
    _, exponent = np.frexp(values)
    last_bit = np.maximum(exponent, _BF16_LOWEST_EXPONENT + 1) - _BF16_PRECISION
    rounded: np.ndarray[Any, Any] = np.ldexp(np.rint(np.ldexp(values, -last_bit)), last_bit)
    return np.where(np.abs(rounded) > _BF16_LARGEST, np.copysign(np.inf, rounded), rounded)
