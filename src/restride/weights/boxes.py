"""Ruled boxes: what the output indices of an axis read in each of many boxes, where a library's own rules say it.

Worked example, OpenCV's bytes, 2 -> 4, rows, a box at index 5: the rule is of an axis with its edges once more, 5, 5,
6, 6, of which output 0 reads the first two. Both are element 5 of the image: first is 5, and the row is held there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.weights.filters import keys, nearest, triangle
from restride.weights.rows import Ruled, Sampling

# Boxes: what the output indices of an axis read in each of many boxes, rows of equal length.
#
# Worked example, linear, half_pixel, boxes [1, 3) and [-1, 1) of an axis of 4 elements, each to 3: rows of the first
# are those of 2 -> 3, one element further on: first 1, 1, 1 and weights (1, 0), (1/2, 1/2), (0, 1). Of the second first
# is -1, and tap 0 lies outside: the image has taps 1 to 2 of its rows.


class Side(NamedTuple):
    """One axis of a box.

    start: index of the image that is index 0 of the sampling. at: output index of its index 0, negative where the
    output is a window of it. flipped: it is written from its other end, to the same output indices.
    """

    sampling: Sampling
    start: int
    at: int = 0
    flipped: bool = False


class BoxRows(NamedTuple):
    """A row for every output index of every box, all of them (boxes, size), and weights (boxes, size, taps).

    first: index of the image that tap 0 reads; it may lie outside. inside, end: taps of the image, [inside, end).
    is_fill: the row reads nothing, and makes what is outside. weights: f32, or s32 where a library has them so; None
    where an element is moved as it is. extent: (boxes, 1), indices of the image of each box. is_held: all taps of the
    row read ``first``; None: of no row.
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
        """Indices that a row reads."""
        return 1 if self.weights is None else self.weights.shape[2]

    def part(self, boxes: slice) -> BoxRows:
        """The rows of some of the boxes."""
        weights = None if self.weights is None else self.weights[boxes]
        is_held = None if self.is_held is None else self.is_held[boxes]
        first, inside, end = self.first[boxes], self.inside[boxes], self.end[boxes]
        return BoxRows(first, inside, end, self.is_fill[boxes], weights, self.extent[boxes], is_held)

    @property
    def span(self) -> tuple[npt.NDArray[np.int64], int]:
        """The lowest index that each box reads, and how many are from there to the highest, at most."""
        low = np.where(self.is_fill, 1 << 62, self.first).min(axis=1)
        high = np.where(self.is_fill, -(1 << 62), self.first).max(axis=1)
        reads = low <= high
        return np.where(reads, low, 0), int(np.where(reads, high - low, 0).max()) + self.taps

    def within(self, low: npt.NDArray[np.int64], extent: int) -> BoxRows:
        """The same of images that begin at index ``low`` of those of each box, and have all that the box reads."""
        its = np.full((len(low), 1), extent)
        return _clipped(self.first - low[:, np.newaxis], self.taps, self.is_fill, self.weights, its)


def ones(first: npt.NDArray[np.int64], is_fill: npt.NDArray[np.bool_], extent: npt.NDArray[np.int64]) -> BoxRows:
    """Rows that take the element at ``first``, as sums of it alone."""
    return _clipped(first, 1, is_fill, np.ones((*first.shape, 1), np.float32), extent)


def _clipped(
    first: npt.NDArray[np.int64],
    taps: npt.NDArray[np.int64] | int,
    is_fill: npt.NDArray[np.bool_],
    weights: npt.NDArray[Any] | None,
    extent: npt.NDArray[np.int64],
) -> BoxRows:
    """Rows of so many taps, of which an image has those that lie in ``extent``."""
    if first.min() >= 0 and not (first > extent - taps).any():
        inside, end = np.zeros_like(first), np.broadcast_to(taps, first.shape)
        return BoxRows(first, inside, end, is_fill, weights, extent)
    inside, end = np.clip(-first, 0, taps), np.clip(extent - first, 0, taps)
    return BoxRows(first, inside, np.maximum(inside, end), is_fill, weights, extent)


def rows_of(sides: Sequence[Side], size: int, extents: Sequence[int], least: int = 1) -> BoxRows:
    """The rows of an axis of ``size`` outputs, of images of so many indices each, with ``least`` taps or more."""
    extent = _column(extents)
    if _are_common(sides):
        return _rows_at_once(sides, size, extent, least)
    shape = len(sides), size
    moves = sides[0].sampling.moves
    first, taps = np.zeros(shape, np.int64), np.zeros((len(sides), 1), np.int64)
    is_fill = np.ones(shape, np.bool_)
    weights = None if moves else np.zeros((*shape, max(least, *(side.sampling.taps for side in sides))), np.float32)
    for box, (sampling, start, at, flipped) in enumerate(sides):
        its = slice(max(at, 0), min(at + sampling.size, size))
        index = np.arange(its.start, its.stop) - at
        if flipped:
            index = sampling.size - 1 - index
        its_first = sampling.first(index) + start
        first[box] = its_first[0]  # rows of fill too read near the others
        first[box, its] = its_first
        taps[box] = sampling.taps
        is_fill[box, its] = False
        if sampling.extrapolates:
            is_fill[box, its] = (index < sampling.inside.start) | (index >= sampling.inside.stop)
        if weights is not None:
            weights[box, its, : sampling.taps] = sampling.weights(index)
    return _clipped(first, taps, is_fill, weights, extent)


def _are_common(sides: Sequence[Side]) -> bool:
    """True where all boxes may be computed at once: filters of their own width, of numbers that 64 bits hold."""
    samplings = [side.sampling for side in sides]
    one_of_them = samplings[0]
    if one_of_them.extrapolates or one_of_them.exclude_outside or one_of_them.mode == "area":
        return False
    if any(sampling.shrink != 1 for sampling in samplings):
        return False
    source, size = max(sampling.source_size for sampling in samplings), max(sampling.size for sampling in samplings)
    lines = [sampling.line for sampling in samplings]
    start, step = max(abs(line.start) for line in lines), max(abs(line.step) for line in lines)
    at_most = (source + size + 8) * max(line.denominator for line in lines) + start
    return 8 * at_most * max(step, 1) < 1 << 62


def _rows_at_once(sides: Sequence[Side], size: int, extent: npt.NDArray[np.int64], least: int) -> BoxRows:
    """The same rows as those of each sampling, of which ``restride.weights.rows`` explains the steps."""
    one_of_them = sides[0].sampling
    reach = one_of_them.reach
    numbers = [
        (its.line.step, its.line.start, its.line.denominator, its.source_size, its.taps, start)
        for its, start, _, _ in sides
    ]
    step, begin, one, source, taps, starts = np.array(numbers, np.int64).T[:, :, np.newaxis]
    index, is_fill = _indices(sides, size)
    beyond = (reach + 1) * one
    positions = np.minimum(np.maximum(index * step + begin, -beyond), (source - 1) * one + beyond)
    if one_of_them.moves:
        first = np.clip(nearest(one_of_them.nearest, positions, one), 0, source - 1)
        return _clipped(first + starts, taps, is_fill, None, extent)
    most = max(least, int(taps.max()))
    if reach == most == 2:
        first, weights = _of_triangles(positions, one, source)
        return _clipped(first + starts, taps, is_fill, weights, extent)
    lowest = (positions - reach // 2 * one) // one + 1
    first = np.clip(lowest, 0, source - taps)
    tap = np.arange(reach)
    its_one = one[:, :, np.newaxis]
    distance = abs((lowest * one - positions)[:, :, np.newaxis] + tap * its_one)
    found = triangle(distance, its_one) if reach == 2 else keys(distance, its_one, one_of_them.cubic_a)
    places = np.clip(lowest[:, :, np.newaxis] + tap, 0, source[:, :, np.newaxis] - 1) - first[:, :, np.newaxis]
    folded = np.zeros((*first.shape, most))
    for its in range(reach):
        place = places[:, :, its : its + 1]
        np.put_along_axis(folded, place, np.take_along_axis(folded, place, 2) + found[:, :, its : its + 1], 2)
    return _clipped(first + starts, taps, is_fill, folded.astype(np.float32), extent)


def _indices(sides: Sequence[Side], size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The index of the sampling that each output of each box has, and which outputs are beside the box."""
    if not any(side.at or side.flipped or side.sampling.size != size for side in sides):
        return np.arange(size)[np.newaxis], np.zeros((len(sides), size), np.bool_)
    made, at = _column([side.sampling.size for side in sides]), _column([side.at for side in sides])
    index = np.arange(size) - at
    is_fill = (index < 0) | (index >= made)
    index = np.where(_column([side.flipped for side in sides]), made - 1 - index, index)
    return np.minimum(np.maximum(index, 0), made - 1), is_fill


def _of_triangles(
    positions: npt.NDArray[np.int64], one: npt.NDArray[np.int64], source: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The first index and both weights of linear rows; those beyond an edge read the edge's element alone."""
    lowest = positions // one
    above = positions - lowest * one
    weights = np.empty((*lowest.shape, 2), np.float32)
    weights[:, :, 0] = (one - above) / one
    weights[:, :, 1] = above / one
    is_before, is_behind = lowest < 0, lowest > source - 2
    if is_before.any() or is_behind.any():
        weights[is_before | is_behind] = 1, 0
        weights[is_behind & (source > 1)] = 0, 1
    return np.maximum(np.minimum(lowest, source - 2), 0), weights


def _column(numbers: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(numbers, np.int64)[:, np.newaxis]


# Ruled boxes: what the output indices of an axis read in each of many boxes, where a library's own rules say it.


class RuledSide(NamedTuple):
    """One axis of a box, whose rows ``ruled`` has; the others as those of a ``Side``."""

    ruled: Ruled
    start: int
    at: int = 0
    flipped: bool = False


def ruled_rows_of(
    sides: Sequence[RuledSide], size: int, extents: Sequence[int], places: int | None = None, least: int = 1
) -> BoxRows:
    """The rows of an axis of ``size`` outputs, of images of so many indices each, with ``least`` taps or more.

    places: weights are brought to steps of 2^-places; None: they are what the rules have.
    """
    weighted = [_weighted(side.ruled, places) for side in sides]
    most = max((weights.shape[1] for _, weights in weighted if weights is not None), default=1)
    shape = len(sides), size
    first, is_fill, is_held = np.zeros(shape, np.int64), np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    of_first = weighted[0][1]
    made = None if of_first is None else np.zeros((*shape, max(most, least)), of_first.dtype)
    for box, ((ruled, start, at, flipped), (index, weights)) in enumerate(zip(sides, weighted, strict=True)):
        its = slice(max(at, 0), min(at + ruled.size, size))
        part = slice(its.start - at, its.stop - at)
        order = slice(None, None, -1 if flipped else 1)
        is_fill[box, its] = False
        its_index = index[order][part]
        if ruled.is_held:
            is_held[box, its] = (its_index == 0) | (its_index == ruled.source_size)
            its_index = np.clip(its_index - 1, 0, ruled.source_size - 1)
        first[box] = its_index[0] + start  # rows of fill too read near the others
        first[box, its] = its_index + start
        if made is not None and weights is not None:
            made[box, its, : weights.shape[1]] = weights[order][part]
    taps = np.array([[1 if weights is None else weights.shape[1]] for _, weights in weighted])
    extent = np.array(extents, np.int64)[:, np.newaxis]
    inside, end = np.clip(-first, 0, taps), np.clip(extent - first, 0, taps)
    held = is_held if any(side.ruled.is_held for side in sides) else None
    return BoxRows(first, inside, np.maximum(inside, end), is_fill, made, extent, held)


def _weighted(ruled: Ruled, places: int | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any] | None]:
    """What all outputs read first, and with which weights; an axis that stays as it is has 1."""
    rows = ruled.rows
    if rows.weights is None:
        return rows.first, None
    if ruled.is_identity:
        return np.arange(ruled.size), np.full((ruled.size, 1), 1 << (places or 0), rows.weights.dtype)
    if places is None or rows.shifts is None:
        return rows.first, rows.weights
    return rows.first, rows.weights << places - rows.shifts.total
