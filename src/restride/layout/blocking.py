"""Blocking: how coordinates become the digits of an offset, by splitting and joining: XLA's tiles and oneDNN's blocks.

A split by 4 turns a number into ``x div 4`` and ``x mod 4``; a join turns two into ``x * bound(y) + y``. The numbers
left at the end, in order from the slowest to the fastest, are the digits of the element's offset. A bound that a split
does not divide is rounded up, which creates the padding.

Worked example, ``f32[3,5]{1,0:T(2,2)}``: coordinates of bounds 3 and 5 split into (2, 2) and (3, 2); the order is both
tile numbers, then both places inside the tile, bounds 2, 3, 2, 2. Element (2, 3) is 1, 1, 0, 1, and lies at
((1 * 3 + 1) * 2 + 0) * 2 + 1 = 17. The extent is 2 * 3 * 2 * 2 = 24 elements for 15.

Source: XLA, Tiled layout (linear index formula; repeated tiling; combining dimensions); oneDNN, memory format tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from restride.errors import UnsupportedError
from restride.layout.digits import Linear, digit
from restride.lru import cached_property

MAX_NUMBERS = 64
"""Maximum count of numbers that splits and joins may derive from one index: eight axes under three levels of tiles."""


@dataclass(frozen=True)
class Split:
    """Number ``source`` becomes two, ``div size`` and ``mod size``, in this order."""

    source: int
    size: int


@dataclass(frozen=True)
class Join:
    """Numbers ``major`` and ``minor`` become one, ``major * bound(minor) + minor``."""

    major: int
    minor: int


@dataclass(frozen=True)
class Blocking:
    """A layout of a whole buffer.

    Numbers are referred to by position: first the coordinates, from 0 on, then the results of each step.

    Attributes:
        bounds: bounds of the coordinates: the sizes of the logical axes, including padding by value, then 1 for each
            axis that a tile of higher rank than the array adds.
        steps: splits and joins, in order.
        order: the numbers that are digits of the offset, slowest first.
        alignment: the buffer ends at a multiple of so many elements, with padding at its end.
    """

    bounds: tuple[int, ...]
    steps: tuple[Split | Join, ...]
    order: tuple[int, ...]
    alignment: int = 1

    @cached_property
    def all_bounds(self) -> tuple[int, ...]:
        """Bounds of all numbers; ``x div t`` of a bound b has bound ceil(b / t)."""
        bounds = list(self.bounds)
        for step in self.steps:
            if isinstance(step, Split):
                bounds += [-(-bounds[step.source] // step.size), step.size]
            else:
                bounds.append(bounds[step.major] * bounds[step.minor])
        return tuple(bounds)

    @cached_property
    def tail(self) -> int:
        """The first element of the padding at the end of the buffer: the product of the bounds of the digits."""
        return prod(self.all_bounds[number] for number in self.order)

    @property
    def extent(self) -> int:
        """Number of elements of the buffer, including padding."""
        return -(-self.tail // self.alignment) * self.alignment

    def address(self, coordinates: Iterable[Linear]) -> Linear:
        """The offset of the element at ``coordinates``, one expression for each logical axis (the added ones are 0)."""
        numbers = list(coordinates)
        numbers += [Linear()] * (len(self.bounds) - len(numbers))
        for step in self.steps:
            if isinstance(step, Split):
                source = numbers[step.source]
                numbers += [digit(source, 0, step.size), digit(source, step.size, 1)]
            else:
                numbers.append(numbers[step.major].times(self.all_bounds[step.minor]).plus(numbers[step.minor]))
        address, stride = Linear(), 1
        for number in reversed(self.order):
            address = address.plus(numbers[number].times(stride))
            stride *= self.all_bounds[number]
        return address

    def coordinates_of(self, offset: int) -> tuple[int, ...] | None:
        """The coordinates of the element at ``offset``, each below its bound; None for padding outside the bounds."""
        if offset >= self.tail:
            return None
        numbers: list[int] = [0] * len(self.all_bounds)
        for number in reversed(self.order):
            offset, numbers[number] = divmod(offset, self.all_bounds[number])
        first = len(self.all_bounds)
        for step in reversed(self.steps):
            if isinstance(step, Split):
                first -= 2
                numbers[step.source] = numbers[first] * step.size + numbers[first + 1]
                if numbers[step.source] >= self.all_bounds[step.source]:
                    return None
            else:
                first -= 1
                numbers[step.major], numbers[step.minor] = divmod(numbers[first], self.all_bounds[step.minor])
        return tuple(numbers[: len(self.bounds)])

    @cached_property
    def weights(self) -> tuple[tuple[int, ...], ...] | None:
        """For each coordinate, the weights of its digits, ascending from 1; None if some digit joins coordinates.

        A coordinate in tiles of 8, which are split into sub-tiles of 2, has the weights 1, 2, 8.
        """
        digits = [(coordinate, 1) for coordinate in range(len(self.bounds))]  # coordinate and weight of each number
        for step in self.steps:
            if isinstance(step, Join):
                return None
            coordinate, weight = digits[step.source]
            digits += [(coordinate, weight * step.size), (coordinate, weight)]
        weights: list[set[int]] = [set() for _ in self.bounds]
        for number in self.order:
            coordinate, weight = digits[number]
            weights[coordinate].add(weight)
        return tuple(tuple(sorted(several)) for several in weights)

    @cached_property
    def box(self) -> tuple[int, ...] | None:
        """Bounds of the coordinates including padding inside tiles, if the buffer up to its tail then is a box of them.

        3 rows in tiles of 2 become 4. None where a sub-tile does not divide its tile, or numbers are joined: such
        padding has no coordinates.
        """
        bounds = list(self.all_bounds)
        first = len(bounds)
        for step in reversed(self.steps):
            first -= 2
            if isinstance(step, Join) or bounds[first + 1] != step.size:
                return None
            bounds[step.source] = bounds[first] * step.size
        box = tuple(bounds[: len(self.bounds)])
        return box if prod(box) == self.tail else None


class _Steps:
    """A growing list of splits and joins; each method adds a step and returns its resulting numbers."""

    def __init__(self, coordinates: int) -> None:
        self.steps: list[Split | Join] = []
        self.next = coordinates

    def split(self, source: int, size: int) -> tuple[int, int]:
        self._add(Split(source, size), 2)
        return self.next - 2, self.next - 1

    def join(self, major: int, minor: int) -> int:
        self._add(Join(major, minor), 1)
        return self.next - 1

    def _add(self, step: Split | Join, numbers: int) -> None:
        self.steps.append(step)
        self.next += numbers
        if self.next > MAX_NUMBERS:
            raise UnsupportedError(f"tiles or blocks must split one index into at most {MAX_NUMBERS} numbers, got more")


def tiled(
    bounds: Sequence[int], minor_to_major: Sequence[int], tiles: Sequence[Sequence[int]], alignment: int = 1
) -> Blocking:
    """XLA's layout: the axes in order, then each tile applied to the fastest dimensions that the tile before it left.

    A tile of -1 joins its dimension with the next faster one before the tile is applied. A tile of higher rank than
    there are dimensions adds slower ones of size 1.
    """
    dimensions = list(reversed(minor_to_major))
    added, rank = 0, len(dimensions)
    for tile in tiles:
        joins = sum(size == -1 for size in tile)
        added += max(len(tile) - rank, 0)
        rank = max(len(tile), rank) + len(tile) - 2 * joins
    steps = _Steps(len(bounds) + added)
    fresh = iter(range(len(bounds), len(bounds) + added))
    for tile in tiles:
        while len(dimensions) < len(tile):
            dimensions.insert(0, next(fresh))
        outer = dimensions[: len(dimensions) - len(tile)]
        places: list[int] = []
        pending: int | None = None
        for size, dimension in zip(tile, dimensions[len(outer) :], strict=True):
            number = dimension if pending is None else steps.join(pending, dimension)
            pending = number if size == -1 else None
            if size != -1:
                tile_number, place = steps.split(number, size)
                outer.append(tile_number)
                places.append(place)
        dimensions = outer + places
    return Blocking((*bounds, *[1] * added), tuple(steps.steps), tuple(dimensions), alignment)


def blocked(bounds: Sequence[int], order: Sequence[int], blocks: Sequence[tuple[int, int]]) -> Blocking:
    """The layout of a oneDNN tag: axes in ``order``, slowest first, then ``blocks``, (axis, size), outermost first.

    ``OIhw8i16o2i``, blocks (1, 8), (0, 16), (1, 2): i is split by 16, and its remainder by 2.
    """
    steps = _Steps(len(bounds))
    blocks = [(axis, size) for axis, size in blocks if size > 1]
    outer = {axis: axis for axis in order}
    rest = dict.fromkeys(order, 1)
    for axis, size in blocks:
        rest[axis] *= size
    inside: dict[int, int] = {}
    for axis in dict.fromkeys(axis for axis, _ in blocks):
        outer[axis], inside[axis] = steps.split(axis, rest[axis])
    places: list[int] = []
    for axis, size in blocks:
        rest[axis] //= size
        if rest[axis] == 1:
            places.append(inside[axis])
        else:
            place, inside[axis] = steps.split(inside[axis], rest[axis])
            places.append(place)
    return Blocking(tuple(bounds), tuple(steps.steps), (*(outer[axis] for axis in order), *places))
