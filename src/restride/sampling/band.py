"""Band: which source indices each output index of an axis reads, and with which weights, in exact arithmetic.

Row o of a resampling along one axis has ``taps`` weights for the source indices ``first[o]``, ``first[o] + 1``, and so
on: a band of the matrix that takes the source to the output. Indices beyond an edge are folded onto the edge's element,
so that every one lies on the axis. Worked example, linear, half_pixel, 2 -> 3, which reads at -1/6, 1/2 and 7/6: first
0, 0, 0 and weights (1, 0), (1/2, 1/2), (0, 1).

A weight of the filters is the exact fraction, or for cubic a polynomial of it in f64, rounded to f32.

Source: ONNX operators, Resize (nearest rules, linear, cubic, antialias, exclude_outside); torch, adaptive_avg_pool1d
(area).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.sampling.coordinates import Line
from restride.sampling.filters import keys, nearest, triangle

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
            return _transposed(self.transposed()).taps
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
            return _transposed(self.transposed()).first[index]
        return _first(self, _read(self, index).lowest)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The weights of these rows, ``taps`` each."""
        return _band(self).weights[index] if self._is_short else _rows(self, index).weights

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
    return _rows(sampling, np.arange(sampling.makes, dtype=np.int64))


def _rows(sampling: Sampling, index: npt.NDArray[np.int64]) -> _Rows:
    if sampling.is_transposed:
        transposed = _transposed(sampling.transposed())
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
def _transposed(forward: Sampling) -> _Transposed:
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
