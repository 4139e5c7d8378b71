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
from types import MappingProxyType

from restride.desc import TensorDesc
from restride.desc.digits import Index, Linear
from restride.plan.axes import MAX_AXES, Axis, Problem, simplify
from restride.plan.places import Cuts, Place, Run

MOST_WALKS = 16
"""Strided walks that one copy may become; what would need more goes to the general kernel."""

MOST_STEPS = MAX_AXES - 1
"""Axes of a walk before it is simplified; 64-bit elements moved by words take one more."""


@dataclass(frozen=True)
class Region:
    """Indices ``starts[k] + 0 .. sizes[k] - 1`` along each axis, and where they lie on both sides."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    src: Place
    dst: Place

    @property
    def count(self) -> int:
        """Indices in it."""
        return math.prod(self.sizes)

    @classmethod
    def of(cls, src: TensorDesc, dst: TensorDesc) -> Region:
        """All elements of two descriptors of equal sizes."""
        return cls((0,) * src.rank, src.sizes, Place.of(src), Place.of(dst))


@dataclass(frozen=True)
class Walk:
    """A strided copy: its axes, the region's axis that each is cut from, and the elements at which both sides begin."""

    axes: tuple[Axis, ...]
    cut_from: tuple[int, ...]
    src_offset: int
    dst_offset: int

    def problem(self, itemsize: int) -> Problem:
        """The walk over elements of so many bytes, in its simplest form."""
        return simplify(self.axes, self.src_offset, self.dst_offset, itemsize)


def walks(region: Region, resampled: Mapping[int, int] = MappingProxyType({})) -> tuple[Walk, ...] | None:
    """Strided walks that together cover the region; None where none do, or too many, or too long ones.

    resampled: axes that must stay whole, with their size in the source; the region has that in the destination.
    """
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
    src, dst = region.src.cuts(axis), region.dst.cuts(axis)
    both = src.joined(dst) if src is not None and dst is not None else None
    return both and Cuts(both.weights, (both.phase + region.starts[axis]) % both.weights[-1])


def _walk(region: Region, runs: Sequence[Run], resampled: Mapping[int, int]) -> Walk | None:
    src_index: list[Linear] = []
    dst_index: list[Linear] = []
    sizes: list[tuple[int, int]] = []  # region axis and size of each axis of the walk
    for axis, (start, run) in enumerate(zip(region.starts, runs, strict=True)):
        first = len(sizes)
        sizes += [(axis, count) for count, _ in run.digits]
        for index, others in ((src_index, resampled), (dst_index, {})):
            number = Linear(start + run.start)
            for place, (count, weight) in enumerate(run.digits, first):
                size = others.get(axis, count)
                if size > 1:
                    number = number.plus(Linear(0, ((weight, Index(place, size)),)))
            index.append(number)
    src, dst = region.src.address(src_index), region.dst.address(dst_index)
    if not (src.is_affine and dst.is_affine):
        return None
    if sum(size > 1 or axis in resampled for axis, size in sizes) > MOST_STEPS:
        return None  # a table keeps an axis of one step
    axes = tuple(Axis(size, src.stride(place), dst.stride(place)) for place, (_, size) in enumerate(sizes))
    return Walk(axes, tuple(axis for axis, _ in sizes), src.const, dst.const)
