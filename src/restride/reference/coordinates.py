"""Where a destination index falls in the source: exact fractions, one row a destination index.

oneDNN specification, Resampling, with the library's clamp at both borders; I source and O destination elements:
``s = (o + 1/2) * I / O - 1/2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

_HALF = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class LinearTaps:
    """Two taps a destination index: ``w0 * source[i0] + w1 * source[i1]``; int64 indices, float64 weights."""

    i0: np.ndarray[Any, Any]
    i1: np.ndarray[Any, Any]
    w0: np.ndarray[Any, Any]
    w1: np.ndarray[Any, Any]


def source_coordinate(index: int, source_size: int, destination_size: int) -> Fraction:
    """``s = (o + 1/2) * I / O - 1/2``, always in ``(-1/2, I - 1/2)``. o=1, I=2, O=3: 1/2."""
    return (index + _HALF) * source_size / destination_size - _HALF


def round_half_away(value: Fraction) -> int:
    """``roundf``: to nearest, halves away from zero. 1/2 -> 1, -1/2 -> -1, 5/2 -> 3."""
    magnitude = math.floor(abs(value) + _HALF)
    return magnitude if value >= 0 else -magnitude


@lru_cache(maxsize=256)
def nearest_indices(source_size: int, destination_size: int) -> np.ndarray[Any, Any]:
    """``i = roundf(s)`` for every destination index; int64."""
    coordinates = [source_coordinate(o, source_size, destination_size) for o in range(destination_size)]
    return np.array([round_half_away(s) for s in coordinates], np.int64)


@lru_cache(maxsize=256)
def linear_taps(source_size: int, destination_size: int) -> LinearTaps:
    """``i0 = max(floor(s), 0)``, ``i1 = min(ceil(s), I - 1)``, ``w1 = |s - i0|``, ``w0 = 1 - w1`` for every index.

    Each weight is the float64 nearest to the exact fraction. 2 -> 3, o=1: s = 1/2, so both neighbours with weight 1/2.
    Beyond a border both taps are the border's element, and the weights still add up to 1.
    """
    coordinates = [source_coordinate(o, source_size, destination_size) for o in range(destination_size)]
    lower = [max(math.floor(s), 0) for s in coordinates]
    upper = [min(math.ceil(s), source_size - 1) for s in coordinates]
    weights = [abs(s - i) for s, i in zip(coordinates, lower, strict=True)]
    return LinearTaps(
        i0=np.array(lower, np.int64),
        i1=np.array(upper, np.int64),
        w0=np.array([float(1 - w) for w in weights], np.float64),
        w1=np.array([float(w) for w in weights], np.float64),
    )
