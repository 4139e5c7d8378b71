"""The matrix of one axis, by rows: each output index with the source indices that it reads and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from restride.reference.coordinates import Axis, is_extrapolated, source_coordinate
from restride.reference.exact import Array
from restride.reference.filters import weights


@dataclass(frozen=True, eq=False)
class Rows:
    """``weight[r, k]`` is that of column ``index[r, k]`` in row r; rows with fewer taps end in weights of 0.

    ``extrapolated[r]``: row r reads nothing, the caller's value takes its place.
    """

    index: Array
    weight: Array
    columns: int
    extrapolated: Array

    @property
    def taps(self) -> Array:
        """Weights of each row that are not 0."""
        return np.asarray(np.count_nonzero(self.weight, axis=1))

    @property
    def only_move(self) -> bool:
        """True where every row is one element with weight 1, or none."""
        return bool(((self.weight == 0) | (self.weight == 1)).all() and (self.taps <= 1).all())

    def part(self, rows: range) -> Rows:
        """The rows of that range."""
        here = slice(rows.start, rows.stop)
        return Rows(self.index[here], self.weight[here], self.columns, self.extrapolated[here])

    def times(self, values: Array, axis: int, *, absolute: bool = False) -> Array:
        """The weighted sums of ``values`` (f64) along ``axis``, or those of ``|weight * value|``.

        A tap of weight 0 contributes nothing, not even of an infinity; -0.0 is what changes no sum, not even its sign.
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

    def transposed(self) -> Rows:
        """The matrix the other way, in its f32 weights: row j has every row that reads column j, in order.

        What is extrapolated reads nothing.
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
        return Rows(index, weight, len(self.index), np.zeros(self.columns, bool))


@lru_cache(maxsize=64)
def weight_rows(axis: Axis, start: int, stop: int) -> Rows:
    """The rows of output indices ``start`` to ``stop - 1``."""
    coordinates = [source_coordinate(axis, o) for o in range(start, stop)]
    rows = [weights(axis, o, s) for o, s in zip(range(start, stop), coordinates, strict=True)]
    most = max(map(len, rows), default=0)
    index = np.zeros((len(rows), most), np.int64)
    weight = np.zeros((len(rows), most))
    for r, row in enumerate(rows):
        index[r, : len(row)] = list(row)
        weight[r, : len(row)] = list(row.values())
    extrapolated = [is_extrapolated(axis, s) for s in coordinates]
    return Rows(index, weight, axis.source_size, np.array(extrapolated, bool))
