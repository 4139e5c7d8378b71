"""One rounding from float64 to an element type: nearest even for floats, saturate then nearest even for integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.reference.conversion import convert


def round_once(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``values`` (float64) as ``dtype``, rounded a single time.

    Floats: nearest, ties to even, denormals kept, overflow to infinity, or to NaN in f8e4m3fn, which has none.
    Integers: nearest, ties to even, then clamped to the type's range (oneDNN, Resampling); NaN is 0.
    """
    return convert(values, dtype, saturate=dtype.kind in "iu")
