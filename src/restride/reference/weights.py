"""The matrix of one axis, by rows: the source indices that each output index reads, with their weights."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from restride.dtypes import Array
from restride.reference.coordinates import ResampledAxis, is_extrapolated, nearest_index, source_coordinate

# Weights are exact integers, divided once.
#
# A weight is ``F((j - s) * m)`` for source index j: F the triangle (radius 1) or Keys' cubic (radius 2), m = 1, or with
# antialias the scale if that is below 1. Worked example, triangle, s = 7/6: indices 1 and 2 are at distances 1/6 and
# 5/6, in sixths 1 and 5, so their weights are 6 - 1 = 5 and 6 - 5 = 1, of 6.
#
# Sources: ONNX operators, Resize (linear, cubic, antialias, exclude_outside); Keys, Cubic convolution interpolation
# (1981); torch, adaptive_avg_pool1d (area); TensorFlow, ResizeArea (area_weighted).

_RADIUS = {"linear": 1, "cubic": 2}


def weights(axis: ResampledAxis, o: int, s: Fraction) -> dict[int, float]:
    """The weights of output ``o`` at coordinate ``s``, by source index: each the f64 nearest to the exact one."""
    if axis.rules.mode == "nearest":
        return {nearest_index(axis, s): 1.0}
    if axis.rules.mode == "area":
        covered = range(o * axis.source_size // axis.size, -(-(o + 1) * axis.source_size // axis.size))
        return dict.fromkeys(covered, 1 / len(covered))
    if axis.rules.mode == "area_weighted":
        width = Fraction(axis.source_size, axis.size)
        return _shares(o * width, (o + 1) * width)
    reached = _raw_weights(axis, s)
    inside = {j: weight for j, weight in reached.items() if 0 <= j < axis.source_size}
    if axis.rules.exclude_outside and sum(inside.values()) != 0:
        reached = inside
    total = sum(reached.values())
    folded: defaultdict[int, int] = defaultdict(int)
    for j, weight in reached.items():
        folded[min(max(j, 0), axis.source_size - 1)] += weight
    return {j: weight / total for j, weight in folded.items()}  # integers: Python rounds their quotient once


def _shares(start: Fraction, stop: Fraction) -> dict[int, float]:
    """The length of ``start`` to ``stop`` inside each element; element j extends from j to j + 1."""
    parts = {j: min(stop, Fraction(j + 1)) - max(start, Fraction(j)) for j in range(math.floor(start), math.ceil(stop))}
    return {j: float(part / (stop - start)) for j, part in parts.items()}


def _raw_weights(axis: ResampledAxis, s: Fraction) -> dict[int, int]:
    """Integers proportional to the filter at every source index that it reaches, as if the axis had no ends.

    If the filter is not widened they add up to ``F(0)``, so that dividing by their sum changes nothing.
    """
    widened = min(axis.scale, Fraction(1)) if axis.rules.antialias else Fraction(1)
    radius = _RADIUS[axis.rules.mode] / widened
    one = s.denominator * widened.denominator
    reached = {}
    for j in range(math.floor(s - radius) + 1, math.ceil(s + radius)):
        distance = abs(j * s.denominator - s.numerator) * widened.numerator
        reached[j] = one - distance if axis.rules.mode == "linear" else _keys(distance, one, axis.cubic_a)
    return reached


def _keys(distance: int, one: int, a: Fraction) -> int:
    """Keys' cubic at ``x = distance / one < 2``, times ``one^3`` and the denominator of ``a``.

    ``(a + 2) x^3 - (a + 3) x^2 + 1`` up to 1, then ``a x^3 - 5a x^2 + 8a x - 4a``.
    """
    n, d = a.numerator, a.denominator
    if distance <= one:
        return (n + 2 * d) * distance**3 - (n + 3 * d) * distance**2 * one + d * one**3
    return n * (distance**3 - 5 * distance**2 * one + 8 * distance * one**2 - 4 * one**3)


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """``weight[r, k]`` is the weight of column ``index[r, k]`` in row r; rows with fewer taps end in weights of 0.

    ``extrapolated[r]``: row r reads nothing, and its result is the extrapolation value.
    """

    index: Array
    weight: Array
    columns: int
    extrapolated: Array

    @classmethod
    def of(
        cls, table: Sequence[Iterable[tuple[int, float]]], columns: int, extrapolated: Sequence[bool] | None = None
    ) -> ReferenceRows:
        """Rows from (column, weight) pairs; a column beyond an end is replaced by the column at that end."""
        pairs = [list(row) for row in table]
        shape = (len(pairs), max(map(len, pairs), default=0))
        index, weight = np.zeros(shape, np.int64), np.zeros(shape)
        for r, row in enumerate(pairs):
            for k, (column, value) in enumerate(row):
                index[r, k], weight[r, k] = min(max(column, 0), columns - 1), value
        return cls(index, weight, columns, np.array(extrapolated or [False] * len(pairs), bool))

    @property
    def taps(self) -> Array:
        """The number of nonzero weights in each row."""
        return np.asarray(np.count_nonzero(self.weight, axis=1))

    @property
    def only_move(self) -> bool:
        """True if every row has one element with weight 1, or none."""
        return bool(((self.weight == 0) | (self.weight == 1)).all() and (self.taps <= 1).all())

    def part(self, rows: range) -> ReferenceRows:
        """The rows in the range ``rows``."""
        here = slice(rows.start, rows.stop)
        return ReferenceRows(self.index[here], self.weight[here], self.columns, self.extrapolated[here])

    def times(self, values: Array, axis: int, *, absolute: bool = False) -> Array:
        """The weighted sums of ``values`` (f64) along ``axis``, or, if ``absolute``, the sums of ``|weight * value|``.

        A tap of weight 0 contributes nothing, even if it is infinite: -0.0 is added, which changes no sum, not even its
        sign.
        """
        along = [1] * values.ndim
        along[axis] = len(self.index)
        weight = np.abs(self.weight) if absolute else self.weight
        start = np.where(self.taps == 0, 0.0, -0.0).reshape(along)
        sizes = list(values.shape)
        sizes[axis] = len(self.index)
        total = np.broadcast_to(start, sizes).copy()
        for k in range(self.index.shape[1]):
            tap = np.take(values, self.index[:, k], axis)
            factor = weight[:, k].reshape(along)
            total += np.where(factor == 0, -0.0, factor * (np.abs(tap) if absolute else tap))
        return total

    def transposed(self) -> ReferenceRows:
        """The transposed matrix, with weights rounded to f32: row j has, in order, all rows here that read column j.

        Extrapolated rows read nothing.
        """
        row, k = np.nonzero(np.where(self.extrapolated[:, np.newaxis], 0, self.weight))
        column = self.index[row, k]
        order = np.argsort(column, kind="stable")
        row, k, column = row[order], k[order], column[order]
        counts = np.bincount(column, minlength=self.columns)
        place = np.arange(len(column)) - (np.cumsum(counts) - counts)[column]
        index = np.zeros((self.columns, int(counts.max(initial=0))), np.int64)
        weight = np.zeros(index.shape)
        index[column, place] = row
        weight[column, place] = self.weight[row, k].astype(np.float32)
        return ReferenceRows(index, weight, len(self.index), np.zeros(self.columns, bool))


@lru_cache(maxsize=64)
def weight_rows(axis: ResampledAxis, start: int, stop: int) -> ReferenceRows:
    """The rows of output indices ``start`` to ``stop - 1``."""
    coordinates = [source_coordinate(axis, o) for o in range(start, stop)]
    table = [weights(axis, o, s).items() for o, s in zip(range(start, stop), coordinates, strict=True)]
    return ReferenceRows.of(table, axis.source_size, [is_extrapolated(axis, s) for s in coordinates])


WeightedAxes = Sequence[tuple[int, ReferenceRows]]
"""Axes of an array, each with its rows of weights."""
