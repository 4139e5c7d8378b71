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

NEAREST_RULES = ("half_up", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
MODES = ("nearest", "linear", "cubic", "area")

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
        return math.ceil(2 * self.radius)  # integers that an open interval of that width can hold

    @cached_property
    def radius(self) -> Fraction:
        """How far the filter reaches to each side, in source elements."""
        return _RADIUS[self.mode] / self.shrink

    def transposed(self) -> Sampling:
        """The axis the other way."""
        return replace(self, is_transposed=not self.is_transposed)

    def first(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lowest index that each of these rows reads; all of its ``taps`` lie on the axis."""
        if self.is_transposed:
            return _transposed(self.transposed()).first[index]
        return np.clip(_lowest(self, index), 0, self.source_size - self.taps)

    def weights(self, index: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """The weights of these rows, ``taps`` each."""
        if self.is_transposed:
            return _transposed(self.transposed()).weights(index)
        if self.mode == "nearest":
            return np.ones((len(index), 1), np.float32)
        lowest = _lowest(self, index)
        unfolded = _area(self, index, lowest) if self.mode == "area" else _filtered(self, index, lowest)
        return _folded(self, lowest, self.first(index), unfolded).astype(np.float32)

    def span(self, made: range) -> range:
        """The indices that these rows read; they read ever further along the axis, or ever less far."""
        if not made or not self.reads:
            return range(0)
        if self.is_identity:
            return made
        ends = self.first(np.array([made.start, made.stop - 1]))
        return range(int(ends.min()), int(ends.max()) + self.taps)

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


def _positions(sampling: Sampling, index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Numerators of where these rows read; no further beyond an edge than where all taps are folded onto it.

    Python's integers where 64 bits might not hold what is computed of them.
    """
    beyond = (sampling.reach + 1) * sampling.line.denominator
    last = (sampling.source_size - 1) * sampling.line.denominator
    factor = 8 * max(sampling.shrink.numerator, sampling.shrink.denominator)
    is_wide = (last + beyond) * factor >= 1 << 63
    numerators = sampling.line.numerators(index)
    clipped = np.clip(numerators.astype(object) if is_wide else numerators, -beyond, last + beyond)
    held: npt.NDArray[Any] = clipped if is_wide else clipped.astype(np.int64)
    return held


def _lowest(sampling: Sampling, index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The lowest index that each row's filter reaches, which may lie before the axis."""
    if sampling.mode == "area":
        return (_edges(sampling, index) // sampling.size).astype(np.int64)
    positions, denominator = _positions(sampling, index), sampling.line.denominator
    if sampling.mode == "nearest":
        lowest = _nearest(sampling.nearest, positions, denominator)
    else:
        # The first integer above s - radius.
        radius = sampling.radius
        positions = positions * radius.denominator - radius.numerator * denominator
        lowest = positions // (denominator * radius.denominator) + 1
    return lowest.astype(np.int64)


def _nearest(rule: str, numerators: npt.NDArray[Any], denominator: int) -> npt.NDArray[Any]:
    if rule == "floor":
        return numerators // denominator
    if rule == "ceil":
        return -(-numerators // denominator)
    if rule == "round_prefer_floor":
        return -((denominator - 2 * numerators) // (2 * denominator))
    return (2 * numerators + denominator) // (2 * denominator)  # half up; what is below index 0 reads it in any case


def _filtered(
    sampling: Sampling, index: npt.NDArray[np.int64], lowest: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Weights by the distance of each tap from s, which counts in output elements where the filter is widened."""
    denominator, shrink = sampling.line.denominator, sampling.shrink
    positions = _positions(sampling, index)
    indices = lowest[:, np.newaxis] + np.arange(sampling.reach)
    distance = abs(indices.astype(positions.dtype) * denominator - positions[:, np.newaxis]) * shrink.numerator
    one = denominator * shrink.denominator
    weights = _triangle(distance, one) if sampling.mode == "linear" else _keys(distance, one, sampling.cubic_a)
    if shrink != 1:
        weights /= weights.sum(axis=1, keepdims=True)
    if sampling.exclude_outside:
        kept = np.where((indices >= 0) & (indices < sampling.source_size), weights, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        weights = np.divide(kept, total, out=weights, where=total != 0)  # what reads nothing inside reads the edge
    return weights


def _triangle(distance: npt.NDArray[Any], one: int) -> npt.NDArray[np.float64]:
    weights: npt.NDArray[np.float64] = (np.maximum(one - distance, 0) / one).astype(np.float64)
    return weights


def _keys(distance: npt.NDArray[Any], one: int, a: float) -> npt.NDArray[np.float64]:
    """The cubic of Keys (1981), factored at its zeros 1 and 2, near which the differences are taken exactly."""
    x = (distance / one).astype(np.float64)
    x_1, x_2 = (((distance - n * one) / one).astype(np.float64) for n in (1, 2))
    inner = x_1 * ((a + 2) * x * x - x - 1)  # (a + 2) x^3 - (a + 3) x^2 + 1
    outer = a * x_1 * x_2 * x_2  # a x^3 - 5a x^2 + 8a x - 4a
    return np.where(x < 1, inner, np.where(x < 2, outer, 0.0))


def _area(sampling: Sampling, index: npt.NDArray[np.int64], lowest: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Equal weights for all elements that the output element covers a part of."""
    covered = -(-_edges(sampling, index + 1) // sampling.size) - lowest
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
    taps = np.clip(lowest[:, np.newaxis] + np.arange(weights.shape[1]), 0, sampling.source_size - 1)
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
