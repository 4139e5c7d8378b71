"""The matrix of a resampling by the reference, and which elements it reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.reference import resample

Array = np.ndarray[Any, Any]


def matrix(source_size: int, **arguments: Any) -> Array:
    """The weights, rounded to f32, with a row for each output."""
    return resample(np.eye(source_size, dtype=np.float32), axes=[0], **arguments)
