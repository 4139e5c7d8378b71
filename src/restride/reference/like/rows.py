"""Rows of weights as libraries compute them, and sums of integers with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from restride.reference.arguments import Array
from restride.reference.weights import Rows

WeightedAxes = list[tuple[int, Rows]]
"""Axes of an array, each with its rows of weights."""

Answer = Array | WeightedAxes
"""The whole result if a library computes it in integers, else the rows of weights whose sums it approximates."""


def picks(indices: Sequence[int], columns: int) -> Rows:
    """Rows of one element each, with weight 1."""
    return Rows.of([[(at, 1.0)] for at in indices], columns)


def integer_sums(values: Array, axis: int, rows: Rows) -> Array:
    """Sums of integers with integer weights, which f64 holds exactly."""
    sums: Array = rows.times(values.astype(np.float64), axis).astype(np.int64)
    return sums


def in_steps(rows: Rows, whole: Callable[[float], int]) -> Rows:
    """The same rows with weights turned into integers by ``whole``."""
    weight = np.array([[whole(value) for value in row] for row in rows.weight.tolist()], np.float64)
    return Rows(rows.index, weight.reshape(rows.weight.shape), rows.columns, rows.extrapolated)


def half_away(value: float) -> int:
    """The nearest integer, halves away from zero."""
    return int(value - 0.5) if value < 0 else int(value + 0.5)


def shifted(sums: Array, places: int) -> Array:
    """Bytes: the sums divided by ``2^places``, to the nearest, halves up, clamped to 0 to 255."""
    clamped: Array = np.clip((sums + (1 << places >> 1)) >> places, 0, 255)
    return clamped
