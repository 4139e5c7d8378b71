"""Copies between tiled layouts as strided walks: the axes are cut at the tiles, and each region is walked by strides.

A tiling pads, reshapes and transposes. If the digits of both sides nest, an axis can be cut into several plain axes,
which the fast strided kernels copy. Row-major f32[13,256] to T(8,128): rows 0 to 7 are one walk over (8 rows, 2 tiles,
128 columns), rows 8 to 12, which fill no tile, are another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from operator import mul
from types import MappingProxyType
from typing import NamedTuple

from restride.kernel.shared_constants import MAX_AXES
from restride.layout import TensorDesc
from restride.layout.blocking import Blocking
from restride.layout.digits import Index, Linear, digit, each_axis
from restride.plan.problem import Axis, Problem, simplify

# One side of a copy: the offset of each index, and where an axis must be cut so that strides describe the offsets.


class Place(NamedTuple):
    """Index i has the coordinates ``starts + sum of i_k * steps[k]``, which ``blocking`` maps to a buffer offset.

    Without a blocking the only coordinate is the buffer offset. Several axes may move along one coordinate.
    """

    starts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    blocking: Blocking | None

    @classmethod
    def of(cls, desc: TensorDesc) -> Place:
        """Where the elements of a descriptor are."""
        return cls(*desc.walk, None if desc.strides is not None else desc.blocking)

    @classmethod
    def of_coordinates(cls, blocking: Blocking) -> Place:
        """Where all coordinates of a blocked buffer are, padding included; one axis for each coordinate."""
        return cls(*each_axis(len(blocking.bounds)), blocking)

    @classmethod
    def nowhere(cls, rank: int) -> Place:
        """The source of a fill, which is not read."""
        return cls((0,), ((0,),) * rank, None)

    @property
    def strides(self) -> tuple[int, ...] | None:
        """Buffer elements that a step along each axis moves; None if there are blocks or tiles."""
        return tuple([step for (step,) in self.steps]) if self.blocking is None else None

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
        """The weights of the digits of an axis; None if its step does not fit the digits of the coordinate.

        Along a coordinate with digits of weight 1, 2 and 8, an axis of step 2 has digits of weight 1 and 4.
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
    """The position of a value that several indices share: the sum of ``i_k div groups[k] * strides[k]``.

    Scales of f32[8,64], one for 32 columns of a row, are at ``2 * i_0 + i_1 div 32``: strides (2, 1), groups (1, 32).
    """

    strides: tuple[int, ...]
    groups: tuple[int, ...]

    def address(self, index: Sequence[Linear]) -> Linear:
        """The position of an index, whose numbers may be expressions in other axes."""
        value = Linear(0)
        for number, stride, group in zip(index, self.strides, self.groups, strict=True):
            if stride:
                value = value.plus(digit(number, 0, group).times(stride))
        return value

    def cuts(self, axis: int) -> Cuts:
        """The weights of the digits of an axis: 1, and the size of a group if the axis moves in groups."""
        return Cuts((1, self.groups[axis]) if self.strides[axis] and self.groups[axis] > 1 else (1,), 0)


@dataclass(frozen=True)
class Cuts:
    """Weights of the digits of an axis, ascending from 1, each a multiple of the one before, and where they begin.

    Index i has the digits of ``i + phase``: a slice [3:] of an axis in tiles of 8 has weights 1, 8 and phase 3.
    """

    weights: tuple[int, ...]
    phase: int

    def joined(self, other: Cuts) -> Cuts | None:
        """The cuts of both combined; None if their digits do not nest."""
        coarse, fine = (self, other) if self.weights[-1] >= other.weights[-1] else (other, self)
        ascending = tuple(sorted({*self.weights, *other.weights}))
        if any(outer % inner for inner, outer in pairwise(ascending)):
            return None
        return Cuts(ascending, coarse.phase) if coarse.phase % fine.weights[-1] == fine.phase else None

    def stretches(self, size: int) -> list[Stretch]:
        """Indices 0 to ``size - 1`` in stretches of whole digits: 13 under weights 1, 2, 8 are 8, then 4, then 1."""
        stretches = _stretches(self.phase, self.phase + size, self.weights)
        return [Stretch(each.start - self.phase, each.digits) for each in stretches]


@dataclass(frozen=True)
class Stretch:
    """A stretch of an axis: it begins at ``start`` and has these digits, (count, weight), the fastest first."""

    start: int
    digits: tuple[tuple[int, int], ...]


def _stretches(low: int, high: int, weights: tuple[int, ...]) -> list[Stretch]:
    """Splits [low, high) into stretches that begin and end at the coarsest possible digits."""
    if low >= high:
        return []
    if len(weights) == 1:
        return [Stretch(low, ((high - low, 1),))]
    finer, weight = weights[:-1], weights[-1]
    first, last = -(-low // weight) * weight, high // weight * weight
    if first > last:
        return _stretches(low, high, finer)
    full = tuple((outer // inner, inner) for inner, outer in pairwise(weights))
    middle = [Stretch(first, (*full, ((last - first) // weight, weight)))] if first < last else []
    return [*_stretches(low, first, finer), *middle, *_stretches(last, high, finer)]


# Both sides: a copy is cut into regions, and each region is walked by strides.

MAX_WALKS = 16
"""Maximum number of strided walks for one copy; a copy that needs more uses the general kernel."""

MAX_STEPS = MAX_AXES - 1
"""Maximum number of axes of a walk before it is simplified; 64-bit elements moved as words need one more."""


Pairs = tuple[SharedPlace | None, SharedPlace | None]
"""The positions of the source and destination pairs of an index; None: all indices share one pair."""


@dataclass(frozen=True)
class Region:
    """Indices ``starts[k] + 0 .. sizes[k] - 1`` along each axis, and their places on both sides."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    src: Place
    dst: Place
    pairs: Pairs = (None, None)

    @property
    def count(self) -> int:
        """Number of indices."""
        return math.prod(self.sizes)

    @classmethod
    def of(cls, src: TensorDesc, dst: TensorDesc, pairs: Pairs = (None, None)) -> Region:
        """All elements of ``dst``. ``src`` has the same sizes, except along resampled axes."""
        return cls((0,) * dst.rank, dst.sizes, Place.of(src), Place.of(dst), pairs)

    @property
    def places(self) -> tuple[Place | SharedPlace, ...]:
        """The positions of an index: in source and destination and, if there are scales, in the pairs of both."""
        return (self.src, self.dst, *(place for place in self.pairs if place is not None))


class Walk(NamedTuple):
    """A strided copy: its axes, the region's axis that each is cut from, and where both sides and their pairs begin."""

    axes: tuple[Axis, ...]
    cut_from: tuple[int, ...]
    src_offset: int
    dst_offset: int
    pair_offsets: tuple[int, int] = (0, 0)

    def problem(self, itemsize: int, src_itemsize: int = 0) -> Problem:
        """The walk as a problem in its simplest form, for elements of these sizes in bytes."""
        offsets = self.src_offset, self.dst_offset
        return simplify(Problem(self.axes, *offsets, itemsize, src_itemsize, self.pair_offsets))


def walks(region: Region, resampled: Mapping[int, int] = MappingProxyType({})) -> tuple[Walk, ...] | None:
    """Strided walks that together cover the region; None if there are none, too many, or one has too many axes.

    resampled: axes that must stay whole, with their source sizes; the region holds the destination sizes.
    """
    strided = _strided(region, resampled)
    if strided is not None:
        return (strided,) if region.count else ()
    return _cut_walks(region, tuple(resampled.items()))


@lru_cache(maxsize=1024)
def _cut_walks(region: Region, resampled_axes: tuple[tuple[int, int], ...]) -> tuple[Walk, ...] | None:
    """Walks of a region whose axes are cut.

    Cached, because an operation asks two or three times, and again when only its scales change: f32[1000,1000] to
    T(8,128) takes 900 us, a cached answer 6 us.
    """
    resampled = dict(resampled_axes)
    stretches: list[list[Stretch]] = []
    for axis, size in enumerate(region.sizes):
        cuts = _cuts(region, axis)
        if cuts is None or (axis in resampled and len(cuts.weights) > 1):
            return None
        stretches.append(cuts.stretches(size))
    if math.prod(map(len, stretches)) > MAX_WALKS:
        return None
    cut_walks = [_walk(region, chosen, resampled) for chosen in product(*stretches)]
    certain = tuple(walk for walk in cut_walks if walk is not None)
    return certain if len(certain) == len(cut_walks) else None


def _strided(region: Region, resampled: Mapping[int, int]) -> Walk | None:
    """The single strided walk of a region, if no axis needs a cut and no adjacent indices share a scale."""
    of_src, of_dst = region.src.strides, region.dst.strides
    if of_src is None or of_dst is None:
        return None
    if any(place is not None and max(place.groups, default=1) > 1 for place in region.pairs):
        return None
    still = (0,) * len(region.sizes)
    of_pairs = [still if place is None else place.strides for place in region.pairs]
    begins = [0, 0, 0, 0]
    if any(region.starts):
        begins = [sum(map(mul, strides, region.starts)) for strides in (of_src, *of_pairs, of_dst)]
    src_sizes = [resampled.get(axis, size) for axis, size in enumerate(region.sizes)] if resampled else region.sizes
    each = zip(region.sizes, src_sizes, of_src, of_dst, zip(*of_pairs, strict=True), strict=True)
    axes = [
        Axis(size, src if src_size > 1 else 0, dst, pairs=pairs)
        if size > 1
        else Axis(size, src if src_size > 1 else 0, 0)
        for size, src_size, src, dst, pairs in each
    ]
    src_offset, dst_offset = region.src.starts[0] + begins[0], region.dst.starts[0] + begins[3]
    return Walk(tuple(axes), tuple(range(len(axes))), src_offset, dst_offset, (begins[1], begins[2]))


def complement(outer: Sequence[int], inner: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the boxes (starts, sizes) that cover ``outer`` except the box ``inner`` in its first corner.

    (4, 6) without (3, 5): row 3, all 6 columns; then rows 0 to 2 of column 5.
    """
    for axis, (whole, part) in enumerate(zip(outer, inner, strict=True)):
        starts = tuple(part if other == axis else 0 for other in range(len(outer)))
        sizes = (*inner[:axis], whole - part, *outer[axis + 1 :])
        if math.prod(sizes):
            yield starts, sizes


def _cuts(region: Region, axis: int) -> Cuts | None:
    """The cuts of an axis that both sides need, for indices counted from the region's start."""
    if region.sizes[axis] == 1:
        return Cuts((1,), 0)
    joined: Cuts | None = Cuts((1,), 0)
    for place in region.places:
        cuts = place.cuts(axis)
        joined = joined.joined(cuts) if joined is not None and cuts is not None else None
    return joined and Cuts(joined.weights, (joined.phase + region.starts[axis]) % joined.weights[-1])


def _walk(region: Region, stretches: Sequence[Stretch], resampled: Mapping[int, int]) -> Walk | None:
    src_index: list[Linear] = []
    dst_index: list[Linear] = []
    sizes: list[tuple[int, int]] = []  # the region's axis and the size, for each axis of the walk
    for axis, (start, stretch) in enumerate(zip(region.starts, stretches, strict=True)):
        first = len(sizes)
        sizes += [(axis, count) for count, _ in stretch.digits]
        for index, others in ((src_index, resampled), (dst_index, {})):
            sizes_of_digits = [(weight, others.get(axis, count)) for count, weight in stretch.digits]
            terms = [(weight, Index(n, size)) for n, (weight, size) in enumerate(sizes_of_digits, first) if size > 1]
            index.append(Linear(start + stretch.start, tuple(reversed(terms))))
    addresses = region.src.address(src_index), region.dst.address(dst_index)
    # In a resampling, the scales of both sides are indexed by the output.
    pairs = [Linear(0) if place is None else place.address(dst_index) for place in region.pairs]
    if not all(address.is_affine for address in (*addresses, *pairs)):
        return None
    if sum(size > 1 or axis in resampled for axis, size in sizes) > MAX_STEPS:
        return None  # a table remains even if its axis has one step
    src, dst = addresses
    axes = tuple(
        Axis(size, src.stride(place), dst.stride(place), pairs=(pairs[0].stride(place), pairs[1].stride(place)))
        for place, (_, size) in enumerate(sizes)
    )
    return Walk(axes, tuple(axis for axis, _ in sizes), src.const, dst.const, (pairs[0].const, pairs[1].const))
