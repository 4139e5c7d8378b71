"""What a library is asked for, its rows of weights, and sums of integers with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.reference.conversion import Array
from restride.reference.request import Request, Rules
from restride.reference.weights import Rows

WeightedAxes = list[tuple[int, Rows]]


@dataclass(frozen=True, eq=False)
class Asked:
    """A resampling of ``x`` along ``axes``, to ``sizes``, in a library's word for the mode.

    scales: where coordinates follow them; else None.
    """

    x: Array
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    mode: str
    antialias: bool = False
    align_corners: bool = False
    scales: tuple[float, ...] | None = None

    @property
    def old(self) -> tuple[int, ...]:
        """Sizes along ``axes``, before."""
        return tuple(self.x.shape[axis] for axis in self.axes)

    def each(self) -> list[tuple[int, int, int]]:
        """Axis, old size and new size, the last axis first."""
        return sorted(zip(self.axes, self.old, self.sizes, strict=True), reverse=True)

    @property
    def channels(self) -> int:
        """Elements of a pixel: all behind the last of ``axes``."""
        return int(np.prod(self.x.shape[max(self.axes) + 1 :], dtype=np.int64))


def asked_of(x: Array, request: Request, mode: str, scales: Any, rules: Rules) -> Asked:
    """A checked resampling of ``x`` in the library's word for its mode."""
    new_sizes = tuple(how.size for how in request.how)
    factors = None if scales is None or rules.recompute_scale_factor else tuple(map(float, scales))
    is_aligned = rules.coordinates == "align_corners"
    return Asked(x, request.axes, new_sizes, mode, bool(rules.antialias), is_aligned, factors)


Answer = Array | WeightedAxes
"""The whole result where a library's integers say it, or the rows whose sums it approximates."""


def rows_of(table: Sequence[Sequence[tuple[int, float]]], columns: int) -> Rows:
    """Rows of pairs of an index and its weight."""
    most = max(map(len, table), default=0)
    index = np.zeros((len(table), most), np.int64)
    weight = np.zeros((len(table), most))
    for r, row in enumerate(table):
        for k, (at, value) in enumerate(row):
            index[r, k], weight[r, k] = min(max(at, 0), columns - 1), value
    return Rows(index, weight, columns, np.zeros(len(table), bool))


def picks(indices: Sequence[int], columns: int) -> Rows:
    """Rows of one element each."""
    return rows_of([[(at, 1.0)] for at in indices], columns)


def integer_sums(values: Array, axis: int, rows: Rows) -> Array:
    """Sums of integers by integer weights, which f64 holds exactly."""
    sums: Array = rows.times(values.astype(np.float64), axis).astype(np.int64)
    return sums


def in_steps(rows: Rows, whole: Callable[[float], int]) -> Rows:
    """The same rows with weights that ``whole`` makes integers."""
    weight = np.array([[whole(value) for value in row] for row in rows.weight.tolist()], np.float64)
    return Rows(rows.index, weight.reshape(rows.weight.shape), rows.columns, rows.extrapolated)


def half_away(value: float) -> int:
    """To the nearest integer, halves away from zero."""
    return int(value - 0.5) if value < 0 else int(value + 0.5)


def shifted(sums: Array, places: int) -> Array:
    """Bytes: the sums without their last ``places`` bits, to the nearest, halves up, clamped."""
    clamped: Array = np.clip((sums + (1 << places >> 1)) >> places, 0, 255)
    return clamped
