"""Filters: compute the rows of one axis or many by the rules of ONNX, DirectML and torch, in exact arithmetic.

An output index reads at an exact fraction of the source axis (``coordinates``). A filter weighs the elements around it
by their distance: an exact fraction, or for cubic a polynomial of it in f64, rounded to f32 at the end. Weights of taps
beyond an edge are added to the edge's element, so that every tap lies on the axis.

Worked example, linear, half_pixel, 2 -> 3, which reads at -1/6, 1/2 and 7/6: first 0, 0, 0 and weights (1, 0),
(1/2, 1/2), (0, 1).

Source: ONNX operators, Resize (nearest rules, linear, cubic, antialias, exclude_outside); torch, adaptive_avg_pool1d
(area); OpenCV, INTER_AREA of an axis that shrinks, and TensorFlow, ResizeArea (area_weighted); Keys (1981), Cubic
convolution interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.request import AREA_MODES, Rules
from restride.weights.coordinates import Line
from restride.weights.rows import Rows, Taps, are_few

_RADIUS = {"linear": 1, "cubic": 2}
"""Radius of each filter, in source elements; in output elements if it is antialiased."""

_Numbers = Any
"""A Python integer, or a column of int64 with one for each axis."""


class Filter(NamedTuple):
    """The rule by which an axis of ``source_size`` elements becomes one of ``size``.

    shrink: output elements per source element where the filter is widened against aliasing, below 1; else 1.
    """

    source_size: int
    size: int
    line: Line
    rules: Rules
    shrink: Fraction = Fraction(1)

    def __hash__(self) -> int:
        """Hash only the numbers that usually differ: hashing fractions is slow."""
        return hash((self.source_size, self.size, self.line.start))

    @property
    def extrapolates(self) -> bool:
        """True if outputs that read beyond the centres of the first and last element take an extrapolation value."""
        return self.rules.coordinates == "tf_crop_and_resize"

    @property
    def is_identity(self) -> bool:
        """True when every output index is the source index."""
        if self.source_size != self.size:
            return False
        return self.rules.mode in AREA_MODES or (self.line.is_identity and self.shrink == 1)

    @property
    def reach(self) -> int:
        """Maximum number of indices that the filter of one row reaches on an endless axis."""
        if self.rules.mode == "nearest":
            return 1
        if self.rules.mode in AREA_MODES:
            # The maximum over outputs o of ceil((o + 1) r) - floor(o r), r = source_size / size, which is where o r is
            # furthest past an integer: 3 for 5 -> 3.
            common = math.gcd(self.source_size, self.size)
            return 1 - (common - self.source_size) // max(self.size, 1)
        # The largest number of integers in an open interval of twice the radius. The radius is _RADIUS / shrink.
        return -(-2 * _RADIUS[self.rules.mode] * self.shrink.denominator // self.shrink.numerator)

    @property
    def inside(self) -> range:
        """The output indices that read between the centres of the axis's first and last element."""
        low, high = Fraction(0), Fraction(self.source_size - 1)
        slope, intercept = Fraction(self.line.step, self.line.denominator), self.line.at(0)
        if not slope:
            return range(self.size if low <= intercept <= high else 0)
        ends = sorted(((low - intercept) / slope, (high - intercept) / slope))
        start = max(-(-ends[0].numerator // ends[0].denominator), 0)
        return range(start, max(min(ends[1].numerator // ends[1].denominator + 1, self.size), start))


def filter_rows(filter_: Filter) -> Rows:
    """The rows of an axis with the weights of ``filter_``."""
    taps = min(filter_.reach, filter_.source_size)
    return Rows(
        _compute_filter,
        (filter_,),
        filter_.source_size,
        filter_.size,
        taps,
        filter_.rules.mode == "nearest",
        is_identity=filter_.is_identity,
        inside=filter_.inside if filter_.extrapolates else None,
        at_once=are_few(filter_.size, taps),
    )


def filter_of(rows: Rows) -> Filter | None:
    """The filter of these rows; None if they follow a library's rule, or are the rows of a gradient."""
    return rows.arguments[0] if rows.compute is _compute_filter else None


def _compute_filter(filter_: Filter, index: npt.NDArray[np.int64], weighs: bool) -> Taps:
    reach, line = filter_.reach, filter_.line
    source_size, size = filter_.source_size, filter_.size
    axis = _Axis(line.denominator, source_size, size, min(reach, source_size))
    if filter_.rules.mode in AREA_MODES:
        return _area(axis, reach, index, weighs, by_share=filter_.rules.mode == "area_weighted")
    # Python's integers are used if 64 bits might not hold what is computed from these numbers.
    last, beyond = (source_size - 1) * axis.one, (reach + 1) * axis.one
    is_wide = (last + beyond) * 8 * max(filter_.shrink.numerator, filter_.shrink.denominator) >= 1 << 63
    numerators = line.numerators(index, size)
    # Positions are clamped to the range beyond which all taps are folded onto an edge anyway.
    positions = np.minimum(np.maximum(numerators.astype(object) if is_wide else numerators, -beyond), last + beyond)
    return _rows_at(filter_, axis, positions if is_wide else positions.astype(np.int64, copy=False), axis.taps, weighs)


class _Axis(NamedTuple):
    """The integers of one axis, or columns of integers for many axes: denominator of the line, sizes, taps."""

    one: _Numbers
    source_size: _Numbers
    size: _Numbers
    taps: _Numbers


def are_alike(filters: Sequence[Filter]) -> bool:
    """True if ``rows_of_all`` accepts these filters: alike, without rules for the outside, and 64 bits suffice."""
    one = filters[0]
    if one.rules.mode in AREA_MODES or any((each.rules, each.shrink) != (one.rules, one.shrink) for each in filters):
        return False
    if one.shrink != 1 or one.rules.exclude_outside or one.extrapolates:
        return False
    source, size = max(each.source_size for each in filters), max(each.size for each in filters)
    lines = [each.line for each in filters]
    start, step = max(abs(line.start) for line in lines), max(abs(line.step) for line in lines)
    at_most = (source + size + 8) * max(line.denominator for line in lines) + start
    return 8 * at_most * max(step, 1) < 1 << 62


def rows_of_all(filters: Sequence[Filter], index: npt.NDArray[np.int64], least: int) -> Taps:
    """The rows of similar filters, (filters, outputs), with the taps of the widest one, but at least ``least``.

    index: output indices, (filters, outputs), or one row of them for all filters.
    """
    reach = filters[0].reach
    numbers = [
        (each.line.step, each.line.start, each.line.denominator, each.source_size, each.size) for each in filters
    ]
    step, start, one, source_size, size = np.array(numbers, np.int64).T[:, :, np.newaxis]
    axis = _Axis(one, source_size, size, np.minimum(reach, source_size))
    beyond = (reach + 1) * axis.one
    positions = np.minimum(np.maximum(index * step + start, -beyond), (axis.source_size - 1) * axis.one + beyond)
    return _rows_at(filters[0], axis, positions, max(least, int(axis.taps.max())), True)


def _rows_at(choice: Filter, axis: _Axis, positions: Array, taps: int, weighs: bool) -> Taps:
    """Rows of ``taps`` taps that read at ``positions / axis.one``. choice: one of the filters, for what they share."""
    one, rules, shrink, reach = axis.one, choice.rules, choice.shrink, choice.reach
    if rules.mode == "nearest":
        return Taps(_on_axis(nearest(rules.nearest, positions, one), axis))
    if reach == taps == 2 and weighs and not rules.exclude_outside:
        return _linear_rows(axis, positions)
    # Index of the first tap: the first integer above s - _RADIUS / shrink.
    begins = positions * shrink.numerator - _RADIUS[rules.mode] * shrink.denominator * one
    lowest = (begins // (one * shrink.numerator) + 1).astype(np.int64, copy=False)
    first = _on_axis(lowest, axis)
    if not weighs:
        return Taps(first)
    tap = np.arange(reach).astype(positions.dtype)
    to_lowest = lowest.astype(positions.dtype, copy=False) * one - positions
    unit_of_tap = one if isinstance(one, int) else one[..., np.newaxis]
    # Distances are in output elements if the filter is widened.
    distance = abs(to_lowest[..., np.newaxis] + tap * unit_of_tap) * shrink.numerator
    unit = unit_of_tap * shrink.denominator
    weights = triangle(distance, unit) if rules.mode == "linear" else keys(distance, unit, rules.cubic_a)
    if shrink != 1:
        weights /= weights.sum(axis=-1, keepdims=True)
    if rules.exclude_outside:
        indices = lowest[:, np.newaxis] + np.arange(reach)
        present = np.where((indices >= 0) & (indices < axis.source_size), weights, 0.0)
        total = present.sum(axis=1, keepdims=True)
        weights = np.divide(present, total, out=weights, where=total != 0)  # no tap inside: read the edge
    return Taps(first, _folded(axis, lowest, first, weights, taps))


def _on_axis(lowest: Array, axis: _Axis) -> npt.NDArray[np.int64]:
    first = np.minimum(np.maximum(lowest, 0), axis.source_size - axis.taps)
    return np.asarray(first, np.int64)


def _linear_rows(axis: _Axis, positions: Array) -> Taps:
    """Linear rows of axes with two elements or more; rows that read beyond an edge read only the edge's element.

    Among many axes some may have one element: their rows read that element with a weight of 1.
    """
    lowest = positions // axis.one
    above = positions - lowest * axis.one
    weights = np.empty((*lowest.shape, 2), np.float32)
    weights[..., 0] = (axis.one - above) / axis.one
    weights[..., 1] = above / axis.one
    is_before, is_behind = lowest < 0, lowest > axis.source_size - 2
    if is_before.any() or is_behind.any():
        weights[is_before | is_behind] = 1, 0
        weights[is_behind & (axis.source_size > 1)] = 0, 1
    return Taps(np.asarray(np.maximum(np.minimum(lowest, axis.source_size - 2), 0), np.int64), weights)


def _area(axis: _Axis, reach: int, index: npt.NDArray[np.int64], weighs: bool, *, by_share: bool) -> Taps:
    """Weights for all elements that the output element covers a part of: equal ones, or by the part that is covered.

    Worked example, 5 -> 2: output 0 covers 0 to 5/2, so elements 0, 1 and 2; the weights are 1/3 each, or by share in
    halves of an element 2, 2 and 1 of 5.
    """
    wide = (axis.size + 1) * axis.source_size >= 1 << 63  # Python's integers where 64 bits might not hold the edges
    edges = (index.astype(object) if wide else index) * axis.source_size
    lowest = (edges // axis.size).astype(np.int64)
    first = _on_axis(lowest, axis)
    if not weighs:
        return Taps(first)
    covered = (-(-(edges + axis.source_size) // axis.size) - lowest).astype(np.int64)
    if by_share:
        # Where each source element begins, counted from the start of the output in units of 1 / size: a source element
        # is `size` units wide, and an output `source_size`.
        begin = np.arange(reach) * axis.size - (edges % axis.size)[:, np.newaxis]
        share = np.minimum(begin + axis.size, axis.source_size) - np.maximum(begin, 0)
        weights = (np.maximum(share, 0) / axis.source_size).astype(np.float64, copy=False)
    else:
        weights = np.where(np.arange(reach) < covered[:, np.newaxis], 1 / covered[:, np.newaxis], 0.0)
    return Taps(first, _folded(axis, lowest, first, weights, axis.taps))


def _folded(
    axis: _Axis,
    lowest: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    taps: int,
) -> npt.NDArray[np.float32]:
    """Weights of ``taps`` taps from ``first`` on, given those from ``lowest`` on; taps beyond an edge count there."""
    reach = weights.shape[-1]
    is_at_edge = (lowest != first) | (axis.taps < reach)
    if reach == taps:
        folded = weights
        folded += 0.0  # turns -0.0 into 0.0
    else:
        folded = np.zeros((*weights.shape[:-1], taps))
        some = min(reach, taps)
        folded[..., :some] += weights[..., :some]
    at_edge = np.nonzero(is_at_edge)
    if len(at_edge[0]):
        low, begin = lowest[at_edge], first[at_edge]
        last = axis.source_size - 1
        last = last if isinstance(last, int) else np.broadcast_to(last, lowest.shape)[at_edge][:, np.newaxis]
        tap = np.minimum(np.maximum(low[:, np.newaxis] + np.arange(reach), 0), last)
        places = tap - begin[:, np.newaxis] + np.arange(len(low))[:, np.newaxis] * taps
        sums: Array = np.bincount(places.ravel(), weights[at_edge].ravel(), len(low) * taps)
        folded[at_edge] = sums.reshape(-1, taps)
    return folded.astype(np.float32)


def nearest(rule: str, numerators: Array, denominator: _Numbers) -> Array:
    """The element that ``rule`` picks for each position ``numerators / denominator``."""
    if rule == "floor":
        return np.asarray(numerators // denominator)
    if rule == "ceil":
        return np.asarray(-(-numerators // denominator))
    if rule == "round_prefer_floor":
        return np.asarray(-((denominator - 2 * numerators) // (2 * denominator)))
    # Both other rules round to nearest, halves up; they differ only below index 0, where index 0 is read in any case.
    return np.asarray((2 * numerators + denominator) // (2 * denominator))


def triangle(distance: Array, one: _Numbers) -> npt.NDArray[np.float64]:
    """The triangle filter: 1 at distance 0, falling to 0 at distance 1, and 0 beyond."""
    weights: npt.NDArray[np.float64] = (np.maximum(one - distance, 0) / one).astype(np.float64, copy=False)
    return weights


def keys(distance: Array, one: _Numbers, a: float) -> npt.NDArray[np.float64]:
    """The cubic of Keys (1981), factored at its zeros 1 and 2 so that differences from them are exact."""
    x = (distance / one).astype(np.float64)
    x_1, x_2 = (((distance - n * one) / one).astype(np.float64) for n in (1, 2))
    inner = x_1 * ((a + 2) * x * x - x - 1)  # (a + 2) x^3 - (a + 3) x^2 + 1
    outer = a * x_1 * x_2 * x_2  # a x^3 - 5a x^2 + 8a x - 4a
    return np.where(x < 1, inner, np.where(x < 2, outer, 0.0))
