"""Ruled: rows whose weights a library's own rule says, in steps of its integers or as its floats come out.

Worked example, Pillow's bilinear, 4 -> 2: weights in steps of 2^-22, of which row 0 has (1797559, 1797559, 599186) for
elements 0 to 2. A sum is rounded at bit 22, halves up, and clamped to a byte: of 10, 20, 40 it is 18.57, so 19.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


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
        return _rows(self.rule, self.source_size, self.size, self.others)

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
        return Ruled(_transposed, self.size, self.source_size, others, self.is_identity, is_transposed=True)

    @property
    def held(self) -> Ruled:
        """The axis with its first and last element once more: of an axis of 3, elements 0, 0, 1, 2, 2."""
        return Ruled(_held, self.source_size, self.source_size + 2)

    def read_of_held(self, made: range) -> range:
        """The indices of ``held`` that these rows read."""
        return replace(self, is_held=False).span(made)


def _transposed(source_size: int, size: int, rule: Rule, others: tuple[Any, ...]) -> RuledRows:
    """Rows of a gradient: each has all rows of ``rule`` that read its element, which follow one another.

    Worked example, 4 -> 2, first taps 0 and 1 with weights (a, b, c) and (d, e, f): element 1 has rows 0 and 1 with
    weights b and d, element 3 row 1 with weight f.
    """
    forward = _rows(rule, size, source_size, others)
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


def _rows(rule: Rule, source_size: int, size: int, others: tuple[Any, ...]) -> RuledRows:
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
