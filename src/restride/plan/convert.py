"""Plan of a conversion: from elements of one type and layout to another's, with scales, in strided walks or in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.conversion import PAIRS_ALONG_FOUR, Conversion, axis_with_too_many_pairs, pair_ranges
from restride.plan.dispatches import bind, boxes, part_of, rows_of_groups
from restride.plan.elements import GROUP_SIZE, work_of
from restride.plan.general import general_kernels
from restride.plan.problem import Axis, Problem, Push, constants_for, moved, pack_parameters, word
from restride.plan.tiles import Pairs, Region, Walk, walks

FOURS_PER_INVOCATION = 4
"""Groups of four elements that an invocation of convert.comp makes."""

_MOST_PLANES = 4


def conversion_kernels(
    src: TensorDesc, dst: TensorDesc, conversion: Conversion, limits: Limits
) -> Iterator[KernelSpec]:
    """Dispatches that make every element of ``dst`` of the one at the same index of ``src``."""
    if src.numel == 0:
        return
    found = _walks(src, dst, conversion.places)
    if found is None or not limits.allow(len(found), src.numel):
        region = Region.of(src, dst, conversion.places)
        yield from general_kernels(region, dst.dtype.itemsize, limits, conversion=conversion)
        return
    for walk in found:
        for run in _whole_fours(walk.problem(dst.dtype.itemsize, src.dtype.itemsize), limits):
            for box in boxes(run, limits, axis_with_too_many_pairs):
                yield _convert(box, conversion, limits)


@lru_cache(maxsize=1024)
def _walks(src: TensorDesc, dst: TensorDesc, pairs: Pairs) -> tuple[Walk, ...] | None:
    """Remembered apart from the numbers of scales, which may change at every call."""
    return walks(Region.of(src, dst, pairs))


def _whole_fours(problem: Problem, limits: Limits) -> Iterator[Problem]:
    """Rows of elements, cut where their last four ends, if that pays: 10,002 elements are 10,000, and 2 more."""
    size = problem.axes[0].size if problem.axes else 0
    rest = size % 4
    if 0 < rest < size and limits.allow(2, problem.count):
        whole = part_of(problem, 0, 0, size - rest)
        if _fours(whole) is not None:
            yield from (whole, part_of(problem, 0, size - rest, rest))
            return
    yield problem


def _convert(problem: Problem, conversion: Conversion, limits: Limits) -> KernelSpec:
    bound = bind(problem, limits)
    ranges = pair_ranges(problem)
    fours = _fours(problem)
    axes = problem.axes if fours is None else fours.axes
    parameters, tables = conversion.with_pairs(pack_parameters(axes), ranges)
    offsets = tuple(offset - part.lowest for offset, part in zip(problem.pair_offsets, ranges, strict=True))
    bits = 8 * problem.itemsize
    if fours is None:
        shader = "convert_elements"
        work = work_of(problem, bound)
        constants: tuple[int, ...] = (bits, int(work.own_words), *conversion.constants_of_elements)
        groups = -(-work.pieces // GROUP_SIZE)
        push = Push(bound.src_base, bound.dst_base, work.pieces, work.first)
    else:
        shader = "convert_fours" if fours.plane.size == 1 else "convert_planes"
        constants = (bits, *fours.constants(conversion, limits.choices.neighbours))
        count = problem.count // (4 * fours.plane.size)
        groups = -(-count // (GROUP_SIZE * FOURS_PER_INVOCATION))
        push = Push(bound.src_base, bound.dst_base, count, 0, word(fours.lane.src))
    scaled = conversion.push(push, tables, (offsets[0], offsets[1]))
    if fours is not None:
        scaled = scaled._replace(
            src_pair_lane=word(fours.lane.pairs[0]),
            dst_pair_lane=word(fours.lane.pairs[1]),
            plane_stride=fours.plane.dst,
            src_pair_plane=word(fours.plane.pairs[0]),
            dst_pair_plane=word(fours.plane.pairs[1]),
        )
    return KernelSpec(
        shader=shader,
        constants=constants_for(axes, constants),
        push=scaled,
        parameters=parameters,
        groups=rows_of_groups(groups, limits),
        bindings=bound.windows,
    )


class _Fours(NamedTuple):
    """A problem by four neighbours of the destination at a time, in ``planes`` planes.

    axes: what is walked from four to four. lane: the axis of the four. plane: the axis of the planes.
    is_run: the elements of all planes lie together in the source, and begin where a four of it does.
    is_aligned: in the destination every four begins at a multiple of four.
    in_row: the first axis is the one that is walked by fours, in whole invocations, with the same pairs.
    loads_row: of narrow elements, and all that lie together begin at a multiple of 16 in the source.
    """

    axes: tuple[Axis, ...]
    lane: Axis
    plane: Axis
    is_run: bool
    is_aligned: bool
    in_row: bool
    loads_row: bool

    def constants(self, conversion: Conversion, neighbours: bool) -> tuple[int, ...]:
        """Specialization constants 1 to 11."""
        *types, steps = conversion.constants_of_elements
        along_four = [bool(step) * bit for step, bit in zip(self.lane.pairs, PAIRS_ALONG_FOUR, strict=True)]
        pairs_of_planes = all(axis.pairs == (0, 0) for axis in self.axes)
        in_row = neighbours and self.in_row
        flags = (self.is_run, pairs_of_planes, self.is_aligned, in_row, in_row and self.loads_row)
        return (int(neighbours), *types, steps + sum(along_four), self.plane.size, *map(int, flags))


def _fours(problem: Problem) -> _Fours | None:
    """Four elements of the destination at a time, where each row of it is made of fours that are whole words.

    u8 NHWC [2,4,3] to planes: axes (size 8, src 3, dst 1) and (size 3, src 1, dst 8). A four of pixels are 12 bytes of
    the source: four elements for each of three planes that are 8 apart. One axis is left: (size 2, src 12, dst 4).
    """
    if not problem.axes:
        return None
    lane, *outer = problem.axes
    is_aligned = not any(start % 4 for start in (problem.dst_offset, *(axis.dst for axis in outer)))
    if lane.dst != 1 or lane.size % 4 or not (is_aligned or problem.itemsize >= 4):
        return None
    plane = Axis(1, 0, 0)
    if lane.src in range(2, _MOST_PLANES + 1) and problem.src_itemsize <= 4:
        plane = next((axis for axis in outer if axis.src == 1 and axis.size == lane.src), plane)
    others = [axis for axis in outer if axis is not plane]
    starts_on_four = problem.src_offset % 4 == 0 and not any(axis.src % 4 for axis in others)
    is_run = starts_on_four and lane.src == plane.size
    if not is_run:
        plane, others = Axis(1, 0, 0), outer
    by_four = replace(lane, size=lane.size // 4, src=4 * lane.src, dst=4, pairs=moved((0, 0), lane, 4))
    in_row = by_four.size % FOURS_PER_INVOCATION == 0 and by_four.pairs == (0, 0)
    starts_on_row = not any(start % 16 for start in (problem.src_offset, *(axis.src for axis in others)))
    is_narrow = problem.src_itemsize <= 2 and problem.src_itemsize * plane.size <= 4
    return _Fours(
        axes=(*([by_four] if by_four.size > 1 else []), *others),
        lane=lane,
        plane=plane,
        is_run=is_run,
        is_aligned=is_aligned,
        in_row=in_row,
        loads_row=in_row and is_run and is_narrow and starts_on_row,
    )
