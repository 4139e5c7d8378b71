"""Filters: which element is nearest, and what a tap weighs by its distance; of numerators over denominators."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = int | npt.NDArray[np.int64]
"""One for all, or one for each row."""

NEAREST_RULES = ("half_up", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def nearest(rule: str, numerators: npt.NDArray[Any], denominator: Numbers) -> npt.NDArray[Any]:
    """The element nearest to each place, ties as the rule has it."""
    if rule == "floor":
        return numerators // denominator
    if rule == "ceil":
        return -(-numerators // denominator)
    if rule == "round_prefer_floor":
        return -((denominator - 2 * numerators) // (2 * denominator))
    return (2 * numerators + denominator) // (2 * denominator)  # half up; what is below index 0 reads it in any case


def triangle(distance: npt.NDArray[Any], one: Numbers) -> npt.NDArray[np.float64]:
    """1 at distance 0, 0 from distance 1 on."""
    weights: npt.NDArray[np.float64] = (np.maximum(one - distance, 0) / one).astype(np.float64, copy=False)
    return weights


def keys(distance: npt.NDArray[Any], one: Numbers, a: float) -> npt.NDArray[np.float64]:
    """The cubic of Keys (1981), factored at its zeros 1 and 2, near which the differences are taken exactly."""
    x = (distance / one).astype(np.float64)
    x_1, x_2 = (((distance - n * one) / one).astype(np.float64) for n in (1, 2))
    inner = x_1 * ((a + 2) * x * x - x - 1)  # (a + 2) x^3 - (a + 3) x^2 + 1
    outer = a * x_1 * x_2 * x_2  # a x^3 - 5a x^2 + 8a x - 4a
    return np.where(x < 1, inner, np.where(x < 2, outer, 0.0))
