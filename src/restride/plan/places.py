"""Places: where the indices of a copy lie on one side of it, and where an axis must be cut for that to be strided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from restride.desc import TensorDesc
from restride.desc.blocking import Blocking
from restride.desc.digits import Linear, digit


@dataclass(frozen=True)
class Place:
    """Index i lies at the coordinates ``starts + sum of i_k * steps[k]``, and those where ``blocking`` puts them.

    Without a blocking there is one coordinate, the element of the buffer. Several axes may move along one coordinate.
    """

    starts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    blocking: Blocking | None

    @classmethod
    def of(cls, desc: TensorDesc) -> Place:
        """Where the elements of a descriptor lie."""
        return cls(*desc.walk, None if desc.strides is not None else desc.blocking)

    @classmethod
    def of_coordinates(cls, blocking: Blocking) -> Place:
        """Where the coordinates of a blocked buffer lie, padding included; one axis a coordinate."""
        axes = range(len(blocking.bounds))
        return cls((0,) * len(axes), tuple(tuple(int(axis == other) for other in axes) for axis in axes), blocking)

    @classmethod
    def nowhere(cls, rank: int) -> Place:
        """The source of a fill: it is not read."""
        return cls((0,), ((0,),) * rank, None)

    @property
    def strides(self) -> tuple[int, ...] | None:
        """Elements that a step along each axis moves; None where blocks or tiles lie between."""
        return tuple(step[0] for step in self.steps) if self.blocking is None else None

    def address(self, index: Sequence[Linear]) -> Linear:
        """The element offset of an index, whose numbers may be expressions in other axes."""
        coordinates = []
        for coordinate, start in enumerate(self.starts):
            value = Linear(start)
            for number, step in zip(index, self.steps, strict=True):
                if step[coordinate]:
                    value = value.plus(number.times(step[coordinate]))
            coordinates.append(value)
        return coordinates[0] if self.blocking is None else self.blocking.address(coordinates)

    def cuts(self, axis: int) -> Cuts | None:
        """The weights of the digits that an axis has here; None where its steps do not fall in with them.

        Along a coordinate with digits of weight 1, 2 and 8 a step of 2 has digits of weight 1 and 4: 8 / 2.
        """
        if self.blocking is None:
            return Cuts((1,), 0)
        moved = [coordinate for coordinate, step in enumerate(self.steps[axis]) if step]
        if not moved:
            return Cuts((1,), 0)
        if self.blocking.weights is None:
            return None
        (coordinate,) = moved
        step = self.steps[axis][coordinate]
        weights = {1}
        for weight in self.blocking.weights[coordinate]:
            if weight % abs(step) == 0:
                weights.add(weight // abs(step))
            elif step % weight:
                return None
        ascending = tuple(sorted(weights))
        if any(outer % inner for inner, outer in pairwise(ascending)):
            return None
        first = self.starts[coordinate] // abs(step)
        return Cuts(ascending, (first if step > 0 else -1 - first) % ascending[-1])


@dataclass(frozen=True)
class SharedPlace:
    """Where an index finds what it shares with others: at the sum of ``i_k div groups[k] * strides[k]``.

    Scales of f32[8,64], one for 32 columns of a row, lie at ``2 * i_0 + i_1 div 32``: strides (2, 1), groups (1, 32).
    """

    strides: tuple[int, ...]
    groups: tuple[int, ...]

    def address(self, index: Sequence[Linear]) -> Linear:
        """The place of an index, whose numbers may be expressions in other axes."""
        value = Linear(0)
        for number, stride, group in zip(index, self.strides, self.groups, strict=True):
            if stride:
                value = value.plus(digit(number, 0, group).times(stride))
        return value

    def cuts(self, axis: int) -> Cuts:
        """The weights of the digits that an axis has here: 1, and the size of a group."""
        return Cuts((1, self.groups[axis]) if self.strides[axis] and self.groups[axis] > 1 else (1,), 0)


@dataclass(frozen=True)
class Cuts:
    """Weights of the digits of an axis, ascending from 1, each a multiple of the one before, and where they begin.

    Index i has the digits of ``i + phase``: a slice [3:] of an axis in tiles of 8 has weights 1, 8 and phase 3.
    """

    weights: tuple[int, ...]
    phase: int

    def joined(self, other: Cuts) -> Cuts | None:
        """The cuts of both; None where they do not nest."""
        coarse, fine = (self, other) if self.weights[-1] >= other.weights[-1] else (other, self)
        ascending = tuple(sorted({*self.weights, *other.weights}))
        if any(outer % inner for inner, outer in pairwise(ascending)):
            return None
        return Cuts(ascending, coarse.phase) if coarse.phase % fine.weights[-1] == fine.phase else None

    def runs(self, size: int) -> list[Run]:
        """Indices 0 to ``size - 1`` in stretches of whole digits: 13 under weights 1, 2, 8 are 8, then 4, then 1."""
        return [Run(run.start - self.phase, run.digits) for run in _runs(self.phase, self.phase + size, self.weights)]


@dataclass(frozen=True)
class Run:
    """A stretch of an axis: it begins at ``start`` and has these digits, (count, weight), the fastest first."""

    start: int
    digits: tuple[tuple[int, int], ...]


def _runs(low: int, high: int, weights: tuple[int, ...]) -> list[Run]:
    """[low, high) in stretches that begin and end on the coarsest digits they can."""
    if low >= high:
        return []
    if len(weights) == 1:
        return [Run(low, ((high - low, 1),))]
    finer, weight = weights[:-1], weights[-1]
    first, last = -(-low // weight) * weight, high // weight * weight
    if first > last:
        return _runs(low, high, finer)
    full = tuple((outer // inner, inner) for inner, outer in pairwise(weights))
    middle = [Run(first, (*full, ((last - first) // weight, weight)))] if first < last else []
    return [*_runs(low, first, finer), *middle, *_runs(last, high, finer)]
