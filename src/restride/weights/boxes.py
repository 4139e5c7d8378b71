"""Boxes: the rows of weights of many boxes along an axis, all with the same number of outputs and of taps.

Source indices count from the start of the image. Worked example, linear, half_pixel, boxes [1, 3) and [-1, 1) of an
axis of 4 elements, each to 3. Rows of the first are those of 2 -> 3, moved by one element: first 1, 1, 1 and weights
(1, 0), (1/2, 1/2), (0, 1). For the second, first is -1 and tap 0 lies outside: only taps [1, 2) are in the image.

OpenCV's bytes, 2 -> 4, along the rows of an image, a box at index 5: the rows read the axis with its edges repeated,
5, 5, 6, 6. Output 0 reads the first two, both element 5 of the image: first is 5, and the row is held there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.weights.filters import Filter, are_alike, filter_of, rows_of_all
from restride.weights.rows import Rows


class Side(NamedTuple):
    """One axis of a box.

    start: image index that the rows count as 0. at: output index of row 0, negative where the output is a window of the
    rows. flipped: the rows go to the same output indices in reverse order.
    """

    rows: Rows
    start: int
    at: int = 0
    flipped: bool = False


class BoxRows(NamedTuple):
    """A row for every output index of every box, in arrays (boxes, size), and weights (boxes, size, taps).

    first: image index that tap 0 reads; it may lie outside. inside, end: taps [inside, end) are in the image. is_fill:
    the row reads nothing, and its output is fill. weights: f32, or s32 where a library sums integers; None where
    elements are moved. extent: (boxes, 1), size of the axis in each box's image. is_held: all taps of the row read
    ``first``; None: no row does.
    """

    first: npt.NDArray[np.int64]
    inside: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    is_fill: npt.NDArray[np.bool_]
    weights: npt.NDArray[Any] | None
    extent: npt.NDArray[np.int64]
    is_held: npt.NDArray[np.bool_] | None = None

    @property
    def taps(self) -> int:
        """Number of taps of each row."""
        return 1 if self.weights is None else self.weights.shape[2]

    def part(self, boxes: slice) -> BoxRows:
        """The rows of a range of the boxes."""
        weights = None if self.weights is None else self.weights[boxes]
        is_held = None if self.is_held is None else self.is_held[boxes]
        first, inside, end = self.first[boxes], self.inside[boxes], self.end[boxes]
        return BoxRows(first, inside, end, self.is_fill[boxes], weights, self.extent[boxes], is_held)

    @property
    def span(self) -> tuple[npt.NDArray[np.int64], int]:
        """The lowest index that each box reads, and the most indices that any box has from there to its highest."""
        low = np.where(self.is_fill, 1 << 62, self.first).min(axis=1)
        high = np.where(self.is_fill, -(1 << 62), self.first).max(axis=1)
        reads = low <= high
        return np.where(reads, low, 0), int(np.where(reads, high - low, 0).max()) + self.taps

    def within(self, low: npt.NDArray[np.int64], extent: int) -> BoxRows:
        """The same rows on the part of each box's image that begins at index ``low`` and has ``extent`` indices."""
        extents = np.full((len(low), 1), extent)
        return _clipped(self.first - low[:, np.newaxis], self.taps, self.is_fill, self.weights, extents)


def moved_rows(first: npt.NDArray[np.int64], is_fill: npt.NDArray[np.bool_], extent: npt.NDArray[np.int64]) -> BoxRows:
    """Rows that move the element at ``first``."""
    return _clipped(first, 1, is_fill, None, extent)


def _clipped(
    first: npt.NDArray[np.int64],
    taps: npt.NDArray[np.int64] | int,
    is_fill: npt.NDArray[np.bool_],
    weights: npt.NDArray[Any] | None,
    extent: npt.NDArray[np.int64],
    is_held: npt.NDArray[np.bool_] | None = None,
) -> BoxRows:
    """The rows, with [inside, end) those of their ``taps`` taps that lie in [0, ``extent``)."""
    if first.min() >= 0 and not (first > extent - taps).any():
        inside = np.zeros_like(first)
        return BoxRows(first, inside, inside + taps, is_fill, weights, extent, is_held)
    inside, end = np.clip(-first, 0, taps), np.clip(extent - first, 0, taps)
    if is_held is not None:
        inside[is_held], end = 0, np.where(is_held, taps * ((first >= 0) & (first < extent)), end)
    return BoxRows(first, inside, np.maximum(inside, end), is_fill, weights, extent, is_held)


def box_rows(
    sides: Sequence[Side], size: int, extents: Sequence[int], *, least: int = 1, places: int | None = None
) -> BoxRows:
    """The rows of ``size`` outputs of each box, with ``least`` taps or more. extents: axis size of each box's image.

    places: integer weights of rows that are shifted are scaled to steps of 2^-places; None: they stay as they are.
    """
    extent = _column(extents)
    filters = [filter_ for side in sides if (filter_ := filter_of(side.rows)) is not None]
    if len(filters) == len(sides) and are_alike(filters):
        return _at_once(sides, filters, size, extent, least)
    shape, moves = (len(sides), size), sides[0].rows.moves
    first, taps = np.zeros(shape, np.int64), _column([side.rows.taps for side in sides])
    is_fill, is_held = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    kind = np.int32 if sides[0].rows.shifts is not None else np.float32
    weights = None if moves else np.zeros((*shape, max(least, int(taps.max()))), kind)
    for box, (rows, start, at, flipped) in enumerate(sides):
        inside = slice(max(at, 0), min(at + rows.size, size))
        part = rows.reversed() if flipped else rows
        if inside.stop - inside.start < rows.size:
            part = part.part(inside.start - at, inside.stop - inside.start)
        index, of_part = part.first_and_weights()
        is_fill[box, inside] = False
        if rows.inside is not None:
            outputs = part.index()
            is_fill[box, inside] = (outputs < rows.inside.start) | (outputs >= rows.inside.stop)
        if rows.repeats_edges:
            is_held[box, inside] = (index == 0) | (index == rows.source_size)
            index = np.clip(index - 1, 0, rows.source_size - 1)
        first[box] = index[0] + start  # rows of fill, too, read near the others
        first[box, inside] = index + start
        if weights is not None:
            shift = 0 if places is None or rows.shifts is None else places - rows.shifts.total
            weights[box, inside, : rows.taps] = of_part << shift if shift else of_part
    held = is_held if any(side.rows.repeats_edges for side in sides) else None
    return _clipped(first, taps, is_fill, weights, extent, held)


def _at_once(
    sides: Sequence[Side], filters: Sequence[Filter], size: int, extent: npt.NDArray[np.int64], least: int
) -> BoxRows:
    """``box_rows`` for filters that are alike, computed together."""
    shape = len(sides), size
    if any(side.at or side.flipped or side.rows.size != size for side in sides):
        sizes, at = _column([side.rows.size for side in sides]), _column([side.at for side in sides])
        index = np.arange(size) - at
        is_fill = (index < 0) | (index >= sizes)
        index = np.where(_column([side.flipped for side in sides]), sizes - 1 - index, index)
        index = np.minimum(np.maximum(index, 0), sizes - 1)
    else:
        index, is_fill = np.arange(size)[np.newaxis], np.zeros(shape, np.bool_)
    first, weights, _ = rows_of_all(filters, index, least)
    taps, starts = _column([side.rows.taps for side in sides]), _column([side.start for side in sides])
    return _clipped(first + starts, taps, is_fill, weights, extent)


def _column(numbers: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(numbers, np.int64)[:, np.newaxis]
