"""Regions: a copy between any two layouts, as strided walks where cutting its axes at their tiles makes it strided.

A tile is pad, reshape, transpose. Where the digits of both sides nest, an axis cut into them is several plain axes, and
the fast strided kernels do the rest. Row-major f32[13,256] to T(8,128): rows 0 to 7 are one walk over (8 rows, 2 tiles,
128 columns), rows 8 to 12, which fill no tile, are another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import mul
from types import MappingProxyType

from restride.desc import TensorDesc
from restride.desc.digits import Index, Linear
from restride.plan.axes import MAX_AXES, Axis, Problem, simplify
from restride.plan.places import Cuts, Place, Run, SharedPlace

MOST_WALKS = 16
"""Strided walks that one copy may become; what would need more goes to the general kernel."""

MOST_STEPS = MAX_AXES - 1
"""Axes of a walk before it is simplified; 64-bit elements moved by words take one more."""


Pairs = tuple[SharedPlace | None, SharedPlace | None]
"""Where an index finds the scale and zero point of the source, and of the destination; None: all have the same."""


@dataclass(frozen=True)
class Region:
    """Indices ``starts[k] + 0 .. sizes[k] - 1`` along each axis, and where they lie on both sides."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    src: Place
    dst: Place
    pairs: Pairs = (None, None)

    @property
    def count(self) -> int:
        """Indices in it."""
        return math.prod(self.sizes)

    @classmethod
    def of(cls, src: TensorDesc, dst: TensorDesc, pairs: Pairs = (None, None)) -> Region:
        """All elements of two descriptors of equal sizes."""
        return cls((0,) * src.rank, src.sizes, Place.of(src), Place.of(dst), pairs)

    @property
    def places(self) -> tuple[Place | SharedPlace, ...]:
        """Every place that an index has."""
        return (self.src, self.dst, *(place for place in self.pairs if place is not None))


@dataclass(frozen=True)
class Walk:
    """A strided copy: its axes, the region's axis that each is cut from, and where both sides and their pairs begin."""

    axes: tuple[Axis, ...]
    cut_from: tuple[int, ...]
    src_offset: int
    dst_offset: int
    pair_offsets: tuple[int, int] = (0, 0)

    def problem(self, itemsize: int, src_itemsize: int = 0) -> Problem:
        """The walk over elements of so many bytes, those of the source too where they differ, in its simplest form."""
        return simplify(self.axes, self.src_offset, self.dst_offset, itemsize, src_itemsize, self.pair_offsets)


def walks(region: Region, resampled: Mapping[int, int] = MappingProxyType({})) -> tuple[Walk, ...] | None:
    """Strided walks that together cover the region; None where none do, or too many, or too long ones.

    resampled: axes that must stay whole, with their size in the source; the region has that in the destination.
    """
    strided = _strided(region, resampled)
    if strided is not None:
        return (strided,) if region.count else ()
    runs: list[list[Run]] = []
    for axis, size in enumerate(region.sizes):
        cuts = _cuts(region, axis)
        if cuts is None or (axis in resampled and len(cuts.weights) > 1):
            return None
        runs.append(cuts.runs(size))
    if math.prod(map(len, runs)) > MOST_WALKS:
        return None
    found = [_walk(region, chosen, resampled) for chosen in product(*runs)]
    certain = tuple(walk for walk in found if walk is not None)
    return certain if len(certain) == len(found) else None


def _strided(region: Region, resampled: Mapping[int, int]) -> Walk | None:
    """The one walk of strides on both sides, where nothing is cut: also no neighbours share a scale."""
    if any(place.strides is None for place in (region.src, region.dst)):
        return None
    if any(place is not None and max(place.groups, default=1) > 1 for place in region.pairs):
        return None
    still = (0,) * len(region.sizes)
    sides = [still if place is None else place.strides or still for place in (region.src, *region.pairs, region.dst)]
    begins = [sum(map(mul, strides, region.starts)) for strides in sides]
    axes = []
    for axis, (size, src, of_src, of_dst, dst) in enumerate(zip(region.sizes, *sides, strict=True)):
        moves = size > 1
        src_moves = resampled.get(axis, size) > 1
        axes.append(Axis(size, src * src_moves, dst * moves, pairs=(of_src * moves, of_dst * moves)))
    src_offset, dst_offset = region.src.starts[0] + begins[0], region.dst.starts[0] + begins[3]
    return Walk(tuple(axes), tuple(range(len(axes))), src_offset, dst_offset, (begins[1], begins[2]))


def complement(outer: Sequence[int], inner: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Boxes, (starts, sizes), that are the box ``outer`` without the box ``inner`` in its corner.

    (4, 6) without (3, 5): row 3, all 6 columns; then rows 0 to 2 of column 5.
    """
    for axis, (whole, part) in enumerate(zip(outer, inner, strict=True)):
        starts = tuple(part if other == axis else 0 for other in range(len(outer)))
        sizes = (*inner[:axis], whole - part, *outer[axis + 1 :])
        if math.prod(sizes):
            yield starts, sizes


def _cuts(region: Region, axis: int) -> Cuts | None:
    """The cuts of an axis on both sides, in terms of indices from the region's start on."""
    if region.sizes[axis] == 1:
        return Cuts((1,), 0)
    joined: Cuts | None = Cuts((1,), 0)
    for place in region.places:
        cuts = place.cuts(axis)
        joined = joined.joined(cuts) if joined is not None and cuts is not None else None
    return joined and Cuts(joined.weights, (joined.phase + region.starts[axis]) % joined.weights[-1])


def _walk(region: Region, runs: Sequence[Run], resampled: Mapping[int, int]) -> Walk | None:
    src_index: list[Linear] = []
    dst_index: list[Linear] = []
    sizes: list[tuple[int, int]] = []  # region axis and size of each axis of the walk
    for axis, (start, run) in enumerate(zip(region.starts, runs, strict=True)):
        first = len(sizes)
        sizes += [(axis, count) for count, _ in run.digits]
        for index, others in ((src_index, resampled), (dst_index, {})):
            sizes_of_digits = [(weight, others.get(axis, count)) for count, weight in run.digits]
            terms = [(weight, Index(n, size)) for n, (weight, size) in enumerate(sizes_of_digits, first) if size > 1]
            index.append(Linear(start + run.start, tuple(reversed(terms))))
    addresses = region.src.address(src_index), region.dst.address(dst_index)
    # Scales of a resampling are those of what it makes, on both sides.
    pairs = [Linear(0) if place is None else place.address(dst_index) for place in region.pairs]
    if not all(address.is_affine for address in (*addresses, *pairs)):
        return None
    if sum(size > 1 or axis in resampled for axis, size in sizes) > MOST_STEPS:
        return None  # a table keeps an axis of one step
    src, dst = addresses
    axes = tuple(
        Axis(size, src.stride(place), dst.stride(place), pairs=(pairs[0].stride(place), pairs[1].stride(place)))
        for place, (_, size) in enumerate(sizes)
    )
    return Walk(axes, tuple(axis for axis, _ in sizes), src.const, dst.const, (pairs[0].const, pairs[1].const))
