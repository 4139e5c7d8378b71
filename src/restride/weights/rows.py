"""Chunks: rows with more taps than an invocation should sum, as rows of parts and rows that sum them.

A row of 70,000 taps is 18 rows of 4096, the last one padded with weights of zero, and one row that adds their 18 sums.
Where a part begins depends on the row alone, so a window of the output sums as the whole does.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.weights.coordinates import Line
from restride.weights.filters import keys, nearest, triangle

# Band: which source indices each output index of an axis reads, and with which weights, in exact arithmetic.
#
# Row o of a resampling along one axis has ``taps`` weights for the source indices ``first[o]``, ``first[o] + 1``, and
# so on: a band of the matrix that takes the source to the output. Indices beyond an edge are folded onto the edge's
# element, so that every one lies on the axis. Worked example, linear, half_pixel, 2 -> 3, which reads at -1/6, 1/2 and
# 7/6: first 0, 0, 0 and weights (1, 0), (1/2, 1/2), (0, 1).
#
# A weight of the filters is the exact fraction, or for cubic a polynomial of it in f64, rounded to f32.
#
# Source: ONNX operators, Resize (nearest rules, linear, cubic, antialias, exclude_outside); torch, adaptive_avg_pool1d
# (area).

MODES = ("nearest", "linear", "cubic", "area")

_MOST_REMEMBERED = 1 << 13
"""Weights of an axis that are computed at once and kept: 512 axes are 48 MB at most, and 5 MB of 224 rows each."""

_RADIUS = {"linear": 1, "cubic": 2}
"""How far a filter reaches, in source elements, or in output elements where it is antialiased."""


@dataclass(frozen=True)
class Sampling:
    """How one axis of ``source_size`` becomes one of ``size``.

    shrink: the output elements a source element is wide, below 1 where the filter is widened against aliasing.
    extrapolates: what reads beyond the centres of the first and last element takes a value given apart, and gradients
        take nothing from it.
    is_transposed: the axis goes the other way, as gradients do; ``source_size`` and ``size`` stay those of the forward
        direction.
    """

    mode: str
    source_size: int
    size: int
    line: Line
    nearest: str = "half_up"
    cubic_a: float = -0.75
    shrink: Fraction = Fraction(1)
    exclude_outside: bool = False
    extrapolates: bool = False
    is_transposed: bool = False

    shifts = None

    def __hash__(self) -> int:
        """Of what mostly tells them apart: fractions take long to hash."""
        return hash((self.source_size, self.size, self.line.start, self.is_transposed))

    @property
    def is_identity(self) -> bool:
        """True when every output index is the source index."""
        if self.source_size != self.size:
            return False
        return self.mode == "area" or (self.line.is_identity and self.shrink == 1)

    @property
    def moves(self) -> bool:
        """True when every row takes one element as it is: it has no weights."""
        return self.mode == "nearest" and not self.is_transposed

    @property
    def reads(self) -> int:
        """Indices of the side that is read."""
        return self.size if self.is_transposed else self.source_size

    @property
    def makes(self) -> int:
        """Indices of the side that is made."""
        return self.source_size if self.is_transposed else self.size

    @cached_property
    def taps(self) -> int:
        """Indices that a row reads, at most."""
        if self.is_transposed:
            return _transposed_band(self.transposed()).taps
        return min(self.reach, self.source_size)

    @cached_property
    def reach(self) -> int:
        """Indices that the filter of one row can reach, the axis without end."""
        if self.mode == "nearest":
            return 1
        if self.mode == "area":
            # ceil((o + 1) I / O) - floor(o I / O), where o I / O is most of an element past a whole one: 5 -> 3 has 3.
            common = math.gcd(self.source_size, self.size)
            return 1 - (common - self.source_size) // self.size
        # Integers that an open interval of twice the radius can hold, which is _RADIUS / shrink.
        return -(-2 * _RADIUS[self.mode] * self.shrink.denominator // self.shrink.numerator)

    def transposed(self) -> Sampling:
        """The axis the other way."""
        return replace(self, is_transposed=not self.is_transposed)

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads; all of its ``taps`` lie on the axis."""
        if self._is_short:
            return _band(self).first[index]
        if self.is_transposed:
            return _transposed_band(self.transposed()).first[index]
        return _first(self, _read(self, index).lowest)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The weights of these rows, ``taps`` each."""
        return _band(self).weights[index] if self._is_short else _band_rows(self, index).weights

    @cached_property
    def _is_short(self) -> bool:
        return self.makes * self.taps <= _MOST_REMEMBERED

    def span(self, made: range) -> range:
        """The indices that these rows read; they read ever further along the axis, or ever less far."""
        if not made or not self.reads:
            return range(0)
        if self.is_identity:
            return made
        lowest, highest = sorted(self.first(np.array([made.start, made.stop - 1])).tolist())
        return range(lowest, highest + self.taps)

    @cached_property
    def inside(self) -> range:
        """The output indices that read between the centres of the axis's first and last element."""
        low, high = Fraction(0), Fraction(self.source_size - 1)
        slope, intercept = Fraction(self.line.step, self.line.denominator), self.line.at(0)
        if not slope:
            return range(self.size if low <= intercept <= high else 0)
        ends = sorted(((low - intercept) / slope, (high - intercept) / slope))
        start = max(-(-ends[0].numerator // ends[0].denominator), 0)
        return range(start, max(min(ends[1].numerator // ends[1].denominator + 1, self.size), start))


class _Rows(NamedTuple):
    """Rows of a band."""

    first: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]


@lru_cache(maxsize=512)
def _band(sampling: Sampling) -> _Rows:
    """All rows of a short axis, which plans ask for again and again, and images of other sizes too."""
    return _band_rows(sampling, np.arange(sampling.makes, dtype=np.int64))


def _band_rows(sampling: Sampling, index: npt.NDArray[np.int64]) -> _Rows:
    if sampling.is_transposed:
        transposed = _transposed_band(sampling.transposed())
        return _Rows(transposed.first[index], transposed.weights(index))
    read = _read(sampling, index)
    first = _first(sampling, read.lowest)
    if sampling.mode == "nearest":
        return _Rows(first, np.ones((len(index), 1), np.float32))
    unfolded = _area(sampling, index, read.lowest) if sampling.mode == "area" else _filtered(sampling, read)
    return _Rows(first, _folded(sampling, read.lowest, first, unfolded).astype(np.float32))


def _first(sampling: Sampling, lowest: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    first: npt.NDArray[np.int64] = np.minimum(np.maximum(lowest, 0), sampling.source_size - sampling.taps)
    return first


class _Read(NamedTuple):
    """Numerators of where rows read, and the lowest index that the filter of each reaches, maybe before the axis."""

    positions: npt.NDArray[Any]
    lowest: npt.NDArray[np.int64]


def _read(sampling: Sampling, index: npt.NDArray[np.int64]) -> _Read:
    if sampling.mode == "area":
        edges = _edges(sampling, index)
        return _Read(edges, (edges // sampling.size).astype(np.int64))
    positions, denominator = _positions(sampling, index), sampling.line.denominator
    if sampling.mode == "nearest":
        lowest = nearest(sampling.nearest, positions, denominator)
    else:
        # The first integer above s - _RADIUS / shrink.
        shrink = sampling.shrink
        begins = positions * shrink.numerator - _RADIUS[sampling.mode] * shrink.denominator * denominator
        lowest = begins // (denominator * shrink.numerator) + 1
    return _Read(positions, lowest.astype(np.int64, copy=False))


def _positions(sampling: Sampling, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Numerators of where these rows read; no further beyond an edge than where all taps are folded onto it.

    Python's integers where 64 bits might not hold what is computed of them.
    """
    beyond = (sampling.reach + 1) * sampling.line.denominator
    last = (sampling.source_size - 1) * sampling.line.denominator
    factor = 8 * max(sampling.shrink.numerator, sampling.shrink.denominator)
    is_wide = (last + beyond) * factor >= 1 << 63
    numerators = sampling.line.numerators(index, sampling.size)
    within = np.minimum(np.maximum(numerators.astype(object) if is_wide else numerators, -beyond), last + beyond)
    held: npt.NDArray[Any] = within if is_wide else within.astype(np.int64, copy=False)
    return held


def _filtered(sampling: Sampling, read: _Read) -> npt.NDArray[np.float64]:
    """Weights by the distance of each tap from s, which counts in output elements where the filter is widened."""
    denominator, shrink = sampling.line.denominator, sampling.shrink
    taps = np.arange(sampling.reach)
    to_lowest = read.lowest.astype(read.positions.dtype, copy=False) * denominator - read.positions
    distance = abs(to_lowest[:, np.newaxis] + taps.astype(read.positions.dtype) * denominator) * shrink.numerator
    one = denominator * shrink.denominator
    weights = triangle(distance, one) if sampling.mode == "linear" else keys(distance, one, sampling.cubic_a)
    if one > denominator:  # the filter is widened
        weights /= weights.sum(axis=1, keepdims=True)
    if sampling.exclude_outside:
        indices = read.lowest[:, np.newaxis] + taps
        kept = np.where((indices >= 0) & (indices < sampling.source_size), weights, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        weights = np.divide(kept, total, out=weights, where=total != 0)  # what reads nothing inside reads the edge
    return weights


def _area(sampling: Sampling, index: npt.NDArray[np.int64], lowest: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Equal weights for all elements that the output element covers a part of."""
    covered = (-(-_edges(sampling, index + 1) // sampling.size) - lowest).astype(np.int64)
    taps = np.arange(sampling.reach)
    return np.where(taps < covered[:, np.newaxis], 1 / covered[:, np.newaxis], 0.0)


def _edges(sampling: Sampling, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """``o * I``; Python's integers where 64 bits might not hold it."""
    wide = (sampling.size + 1) * sampling.source_size >= 1 << 63
    return (index.astype(object) if wide else index) * sampling.source_size


def _folded(
    sampling: Sampling, lowest: npt.NDArray[np.int64], first: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The weights of the taps from ``first`` on, those beyond an edge added to the edge's."""
    if weights.shape[1] > sampling.taps:
        return _added(sampling, lowest, first, weights)
    at_edges = np.flatnonzero(lowest != first)
    weights += 0.0  # as if added to 0.0: no weight is -0.0
    if len(at_edges):
        weights[at_edges] = _added(sampling, lowest[at_edges], first[at_edges], weights[at_edges])
    return weights


def _added(
    sampling: Sampling, lowest: npt.NDArray[np.int64], first: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    unfolded = lowest[:, np.newaxis] + np.arange(weights.shape[1])
    taps = np.minimum(np.maximum(unfolded, 0), sampling.source_size - 1)
    places = taps - first[:, np.newaxis] + np.arange(len(first))[:, np.newaxis] * sampling.taps
    folded: npt.NDArray[Any] = np.bincount(places.ravel(), weights.ravel(), len(first) * sampling.taps)
    return folded.reshape(-1, sampling.taps)


class _Transposed(NamedTuple):
    """The band of the matrix the other way: row i reads the outputs that read source index i."""

    forward: Sampling
    first: npt.NDArray[np.int64]
    taps: int

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The weights of these rows."""
        outputs = self.first[index][:, np.newaxis] + np.arange(self.taps)
        used, place = np.unique(outputs, return_inverse=True)
        weights = self.forward.weights(used)
        if self.forward.extrapolates:
            inside = self.forward.inside
            weights[(used < inside.start) | (used >= inside.stop)] = 0
        place = place.reshape(outputs.shape)  # numpy 1 gives it flat
        tap = index[:, np.newaxis] - self.forward.first(used)[place]
        reads = (tap >= 0) & (tap < self.forward.taps)
        return np.where(reads, weights[place, np.where(reads, tap, 0)], np.float32(0))


@lru_cache(maxsize=16)
def _transposed_band(forward: Sampling) -> _Transposed:
    first = forward.first(np.arange(forward.size, dtype=np.int64))
    # Rows begin ever further along the axis, or where the line falls ever less far.
    falls = forward.line.step < 0
    ascending = first[::-1] if falls else first
    source = np.arange(forward.source_size, dtype=np.int64)
    low = np.searchsorted(ascending, source - forward.taps, "right")
    high = np.searchsorted(ascending, source, "right")
    low, high = (forward.size - high, forward.size - low) if falls else (low, high)
    taps = max(int((high - low).max()), 1)
    return _Transposed(forward, np.clip(low, 0, forward.size - taps), taps)


# Ruled: rows whose weights a library's own rule says, in steps of its integers or as its floats come out.
#
# Worked example, Pillow's bilinear, 4 -> 2: weights in steps of 2^-22, of which row 0 has (1797559, 1797559, 599186)
# for elements 0 to 2. A sum is rounded at bit 22, halves up, and clamped to a byte: of 10, 20, 40 it is 18.57, so 19.


class Shifts(NamedTuple):
    """What is left out of an integer sum, as shaders/include/taps.glsl has it.

    element, product: places that source elements, and their products with weights, go to the right. total: places that
    the sum goes to the right, to the nearest, halves up. bits: of the unsigned integer that it is clamped to; 0: none.
    """

    element: int = 0
    product: int = 0
    total: int = 0
    bits: int = 0

    @property
    def word(self) -> int:
        """All four, a byte each."""
        return int.from_bytes(bytes(self), "little")


class RuledRows(NamedTuple):
    """A row for every output index: the source index of its first tap, and its weights.

    first: (size,) int64. weights: (size, taps), int32 with ``shifts``, or float32 without; None: element ``first`` is
    moved as it is. All taps of a row lie on the axis, and rows begin ever further along it.
    """

    first: npt.NDArray[np.int64]
    weights: npt.NDArray[Any] | None = None
    shifts: Shifts | None = None

    @property
    def nbytes(self) -> int:
        """Of memory."""
        return self.first.nbytes + (0 if self.weights is None else self.weights.nbytes)


Rule = Callable[..., RuledRows]
"""Makes the rows of an axis from its source size, its size and what else a library looks at."""


@dataclass(frozen=True)
class Ruled:
    """How one axis of ``source_size`` becomes one of ``size``: ``rule`` says it, given these and ``others``.

    is_identity: the axis stays as it is, and the library does nothing with it.
    is_held: the rule is for an axis with its first and last element once more in front and behind.
    is_transposed: the rule is of a gradient.
    """

    rule: Rule
    source_size: int
    size: int
    others: tuple[Any, ...] = ()
    is_identity: bool = False
    is_held: bool = False
    is_transposed: bool = False

    extrapolates = False

    @property
    def rows(self) -> RuledRows:
        """The rows of all output indices."""
        return _ruled_rows(self.rule, self.source_size, self.size, self.others)

    @property
    def moves(self) -> bool:
        """True when every row takes one element as it is."""
        return self.rows.weights is None

    @property
    def shifts(self) -> Shifts | None:
        """What is left out of an integer sum; None: weights are floats."""
        return self.rows.shifts

    @property
    def reads(self) -> int:
        """Indices of the source."""
        return self.source_size

    @property
    def makes(self) -> int:
        """Indices of the output."""
        return self.size

    @property
    def taps(self) -> int:
        """Indices that a row reads."""
        weights = self.rows.weights
        return 1 if weights is None else int(weights.shape[1])

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads; all of its ``taps`` lie on the axis."""
        return self.rows.first[index]

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The weights of these rows, ``taps`` each."""
        weights = self.rows.weights
        return np.ones((len(index), 1), np.float32) if weights is None else weights[index]

    def span(self, made: range) -> range:
        """The indices that these rows read."""
        if not made or self.is_identity:
            return made
        first = self.rows.first
        reads = range(int(first[made.start]), int(first[made.stop - 1]) + self.taps)
        return self.held.span(reads) if self.is_held else reads

    def transposed(self) -> Ruled:
        """The axis the other way, of weights that are floats."""
        others = (self.rule, self.others)
        return Ruled(_transposed_ruled, self.size, self.source_size, others, self.is_identity, is_transposed=True)

    @property
    def held(self) -> Ruled:
        """The axis with its first and last element once more: of an axis of 3, elements 0, 0, 1, 2, 2."""
        return Ruled(_held, self.source_size, self.source_size + 2)

    def read_of_held(self, made: range) -> range:
        """The indices of ``held`` that these rows read."""
        return replace(self, is_held=False).span(made)


def _transposed_ruled(source_size: int, size: int, rule: Rule, others: tuple[Any, ...]) -> RuledRows:
    """Rows of a gradient: each has all rows of ``rule`` that read its element, which follow one another.

    Worked example, 4 -> 2, first taps 0 and 1 with weights (a, b, c) and (d, e, f): element 1 has rows 0 and 1 with
    weights b and d, element 3 row 1 with weight f.
    """
    forward = _ruled_rows(rule, size, source_size, others)
    whole = np.ones((source_size, 1), np.float32) if forward.weights is None else forward.weights
    taps, element = whole.shape[1], np.arange(size)
    begin = np.searchsorted(forward.first, element - taps, side="right")
    end = np.searchsorted(forward.first, element, side="right")
    row = begin[:, np.newaxis] + np.arange(max(int((end - begin).max(initial=0)), 1))
    inside = row < end[:, np.newaxis]
    row = np.minimum(row, source_size - 1)
    tap = np.where(inside, element[:, np.newaxis] - forward.first[row], 0)
    return RuledRows(*on_axis(begin, np.where(inside, whole[row, tap], np.float32(0)), source_size))


def _held(source_size: int, size: int) -> RuledRows:
    return RuledRows(np.clip(np.arange(size) - 1, 0, source_size - 1))


class Ruling(NamedTuple):
    """What a library's rules make of a resampling: the rows of each of its axes.

    order: places of the axes as they are summed; default: the last axis first. scale: of sums of integers, in f32.
    rounding: how sums become elements of the source's type again, after each axis; None: after the last, to even.
    """

    samplings: tuple[Ruled, ...]
    order: tuple[int, ...] = ()
    scale: float | None = None
    rounding: str | None = None


_MOST_REMEMBERED_BYTES = 1 << 26
"""Of rows that are kept to be asked again: 2.8 million of four taps."""

_LAST = 2
"""Axes whose rows are kept, however many: those of an image."""

_Key = tuple[Rule, int, int, tuple[Any, ...]]


class _Remembered:
    """Rows of whole axes, by what they were made of; those that were asked for longest ago are forgotten."""

    def __init__(self) -> None:
        self.rows: OrderedDict[_Key, RuledRows] = OrderedDict()
        self.nbytes = 0
        self._lock = Lock()

    def get(self, key: _Key) -> RuledRows | None:
        with self._lock:
            if key in self.rows:
                self.rows.move_to_end(key)
            return self.rows.get(key)

    def keep(self, key: _Key, made: RuledRows) -> None:
        with self._lock:
            if key in self.rows:  # another thread was faster
                return
            self.rows[key] = made
            self.nbytes += made.nbytes
            while len(self.rows) > _LAST and self.nbytes > _MOST_REMEMBERED_BYTES:
                self.nbytes -= self.rows.popitem(last=False)[1].nbytes


_remembered = _Remembered()


def _ruled_rows(rule: Rule, source_size: int, size: int, others: tuple[Any, ...]) -> RuledRows:
    """The rows of a whole axis, made or found again."""
    key = (rule, source_size, size, others)
    found = _remembered.get(key)
    if found is None:
        found = rule(source_size, size, *others)
        _remembered.keep(key, found)
    return found


class Rules(NamedTuple):
    """What a library says of all its resamplings.

    ruling: the rows, by the source's sizes, the axes, these before and after, and the scales that coordinates follow,
    if any; None: those of the choice, and of axes without elements. rounds_sizes: to nearest even where scales are
    given, instead of down. keeps_type: results have the source's type, and are rounded to it before they become others.
    """

    ruling: Callable[
        [tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[Any, ...] | None], Ruling | None
    ]
    rounds_sizes: bool
    keeps_type: bool


def on_axis(
    first: npt.NDArray[np.int64], weights: npt.NDArray[Any], source_size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """The same rows, begun so early that all taps lie on the axis; those that lay beyond must weigh nothing.

    Taps 2, 3, 4 of an axis of 4 elements with weights w, w, 0 become taps 1, 2, 3 with weights 0, w, w.
    """
    weights = weights[:, :source_size]
    taps = weights.shape[1]
    begin = np.clip(first, 0, source_size - taps)
    moved = np.zeros((len(first), 2 * taps), weights.dtype)
    np.put_along_axis(moved, (first - begin)[:, np.newaxis] + np.arange(taps), weights, axis=1)
    return begin, np.ascontiguousarray(moved[:, :taps])


def normalized(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each row divided by its sum, added up in order as loops in C do: numpy's own sums are pairwise."""
    total = np.zeros(len(weights))
    for column in weights.T:
        total += column
    return np.divide(weights, total[:, np.newaxis], out=weights, where=total[:, np.newaxis] != 0.0)


def at_edges(
    index: npt.NDArray[np.int64], weights: npt.NDArray[Any], source_size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Rows of ``first`` and weights from rows of indices, neighbours that were held at the edges of the axis.

    Indices 0, 0, 1, 2 with weights a, b, c, d are taps 0, 1, 2, 3 with weights a + b, c, d, 0.
    """
    taps = min(index.shape[1], source_size)
    first = np.minimum(index.min(axis=1, initial=source_size), source_size - taps)
    folded = np.zeros((len(index), taps), weights.dtype)
    for column, tap in zip(weights.T, index.T, strict=True):
        folded[np.arange(len(index)), tap - first] += column
    return first, folded


# Chunks: rows with more taps than an invocation should sum, as rows of parts and rows that sum them.

MOST_TAPS = 4096
"""Taps of one row in a dispatch: llvmpipe ends loops without a word after 65,535 steps of an invocation."""


@dataclass(frozen=True)
class Parts:
    """Rows of ``MOST_TAPS`` taps, ``count`` of them for each row of ``whole``."""

    whole: Rows

    @property
    def count(self) -> int:
        """Parts of a row."""
        return -(-self.whole.taps // MOST_TAPS)

    @property
    def is_transposed(self) -> bool:
        """True when the rows are those of a gradient."""
        return self.whole.is_transposed

    @property
    def taps(self) -> int:
        """Indices that a row reads."""
        return MOST_TAPS

    @property
    def reads(self) -> int:
        """Indices of the side that is read."""
        return self.whole.reads

    @property
    def makes(self) -> int:
        """Rows of all."""
        return self.whole.makes * self.count

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads."""
        last = self.whole.first(index // self.count) + self.whole.taps - MOST_TAPS  # not beyond the row
        return np.minimum(self._begins(index), last)

    @property
    def shifts(self) -> Shifts | None:
        """What is left out of the products alone."""
        shifts = self.whole.shifts
        return None if shifts is None else Shifts(shifts.element, shifts.product)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The weights of these rows; a part that would end beyond its row begins earlier, with weights of zero."""
        row, part = np.divmod(index, self.count)
        early = self._begins(index) - self.first(index)
        weights = np.zeros((len(index), MOST_TAPS), self.whole.weights(row[:1]).dtype)
        for one in np.unique(row):
            (whole,) = self.whole.weights(np.array([one]))
            for place in np.flatnonzero(row == one):
                mine = whole[part[place] * MOST_TAPS : (part[place] + 1) * MOST_TAPS]
                weights[place, early[place] : early[place] + len(mine)] = mine
        return weights

    def _begins(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        begins: npt.NDArray[np.int64] = self.whole.first(index // self.count) + index % self.count * MOST_TAPS
        return begins


@dataclass(frozen=True)
class Sums:
    """Rows that add the parts of each row of ``parts``."""

    parts: Parts

    @property
    def is_transposed(self) -> bool:
        """True when the rows are those of a gradient."""
        return self.parts.is_transposed

    @property
    def taps(self) -> int:
        """Indices that a row reads."""
        return self.parts.count

    @property
    def reads(self) -> int:
        """Indices of the side that is read."""
        return self.parts.makes

    @property
    def makes(self) -> int:
        """Rows of all."""
        return self.parts.whole.makes

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads."""
        return index * self.parts.count

    @property
    def shifts(self) -> Shifts | None:
        """What is left out of the sum alone."""
        shifts = self.parts.whole.shifts
        return None if shifts is None else Shifts(total=shifts.total, bits=shifts.bits)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The weights of these rows: ones."""
        return np.ones((len(index), self.taps), np.float32 if self.shifts is None else np.int32)


Rows = Sampling | Ruled | Parts | Sums
"""What the rows of a table are made of."""


def steps(rows: Rows) -> tuple[Rows, ...]:
    """One step along an axis, or several where rows have too many taps for one."""
    if rows.taps <= MOST_TAPS:
        return (rows,)
    parts = Parts(rows)
    return (parts, *steps(Sums(parts)))
