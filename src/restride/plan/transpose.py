"""Plan of a transpose: a copy whose innermost axes differ, in blocks that are contiguous on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Axis, Problem
from restride.plan.boxes import bind, part_of
from restride.plan.elements import plan_elements
from restride.plan.parameters import constants_for, pack_parameters, word

GROUP_BLOCKS = 64
"""Blocks that a group of transpose.comp moves, one an invocation."""

_RUN = 256
"""Bytes along a that a group writes, where both axes are long enough; on llvmpipe half as many take twice as long."""

_LEAST_GAIN = 4
"""A dispatch for the ends of rows costs as much as going element by element does, on this many times the elements of a
dispatch of a tiled copy."""

_LEAST_FILLED = 0.5
"""Share of a transpose's groups that must have work: a batch of 3 x 3 is better copied element by element."""

_LEAST_FILLED_NARROW = 0.25
"""The same below 32 bits, where going element by element costs more."""


class Shape(NamedTuple):
    """How blocks and groups lie. across: binary logarithm of the blocks of a group along a."""

    is_aligned: bool
    block: tuple[int, int]
    across: int

    @property
    def group(self) -> tuple[int, int]:
        """Elements along a and b that a group moves."""
        along_a, along_b = self.block
        return along_a << self.across, along_b * GROUP_BLOCKS >> self.across


def transposed_axes(problem: Problem, limits: Limits) -> tuple[int, int] | None:
    """Positions of axes a and b, contiguous in the destination and in the source, where a transpose kernel pays."""
    if not limits.shortcuts:
        return None
    if problem.itemsize > 8 or not problem.axes or problem.axes[0].dst != 1 or abs(problem.axes[0].src) <= 1:
        return None
    contiguous = [position for position, axis in enumerate(problem.axes) if abs(axis.src) == 1]
    if not contiguous:
        return None
    pair = (0, contiguous[0])
    filled = 1.0
    for position, group in zip(pair, shape_of(problem, pair).group, strict=True):
        size = problem.axes[position].size
        filled *= size / (-(-size // group) * group)
    ends = _ends(problem, pair)
    if sum(ends) > problem.axes[0].size or not limits.allow(1 + sum(map(bool, ends)), problem.count // _LEAST_GAIN):
        return None
    return pair if filled >= (_LEAST_FILLED if problem.itemsize >= 4 else _LEAST_FILLED_NARROW) else None


def shape_of(problem: Problem, pair: tuple[int, int]) -> Shape:
    """The blocks of a transpose, and a group of them that is no longer than the axes where it can be."""
    is_aligned = _is_aligned(problem, pair, 16 // problem.itemsize)
    # Where rows begin anywhere, narrow elements go by two words along a (A_WORDS in shaders/transpose.comp).
    words = 4 if is_aligned or problem.itemsize >= 4 else 2
    block = (4 * words // problem.itemsize, 16 // problem.itemsize)
    least_a, least_b = (
        (-(-problem.axes[position].size // along) - 1).bit_length() for position, along in zip(pair, block, strict=True)
    )
    run = (_RUN // (4 * words)).bit_length() - 1
    most = GROUP_BLOCKS.bit_length() - 1
    return Shape(is_aligned, block, min(max(min(least_a, run), most - least_b), most))


def transpose(problem: Problem, pair: tuple[int, int], limits: Limits) -> Iterator[KernelSpec]:
    """The dispatches that transpose along axes that ``transposed_axes`` found, of a problem that fits one.

    The kernel writes whole words of every row; elements at the ends of rows that share words go one by one.
    """
    bound = bind(problem, limits)
    a, b = (problem.axes[position] for position in pair)
    outer = _outer(problem, pair)
    shape = shape_of(problem, pair)
    src_base, dst_base, b_dst = bound.src_base, bound.dst_base, b.dst
    if b.src < 0:
        # Axis b from its other end: src[9 - b] to dst[100 * b] is src[b] to dst[900 - 100 * b].
        src_base, dst_base, b_dst = src_base - (b.size - 1), dst_base + (b.size - 1) * b_dst, -b_dst
    yield KernelSpec(
        shader=f"transpose_{8 * problem.itemsize}" + "_aligned" * shape.is_aligned,
        constants=constants_for(outer, ()),
        push=(word(src_base), dst_base, a.size, b.size, word(a.src), word(b_dst), shape.across),
        parameters=pack_parameters(outer),
        groups=_groups(problem, pair),
        bindings=bound.windows,
    )
    head, tail = _ends(problem, pair)
    for start, size in ((0, head), (a.size - tail, tail)):
        if size:
            yield from plan_elements(part_of(problem, pair[0], start, size), limits, "element_copy")


def axis_with_too_many_groups(problem: Problem, limits: Limits) -> int | None:
    """A transpose has one group an element of the outer axes, along z; of these the longest is cut."""
    pair = transposed_axes(problem, limits)
    if pair is None:
        return None
    outer = [position for position in range(len(problem.axes)) if position not in pair]
    groups = _groups(problem, pair)
    for count, most, positions in zip(groups, limits.max_group_count, ([pair[0]], [pair[1]], outer), strict=True):
        if count > most:
            return max(positions, key=lambda position: problem.axes[position].size)
    return None


def _ends(problem: Problem, pair: tuple[int, int]) -> tuple[int, int]:
    """Elements at both ends of a row of the destination that may lie in words which are not all of that row.

    Rows of 4093 bytes begin anywhere: up to 3 bytes before the first whole word, up to 3 behind the last one. Rows of
    61 bytes at multiples of 64: none before, 61 % 4 = 1 behind.
    """
    lanes = max(4 // problem.itemsize, 1)
    if any(axis.dst % lanes for position, axis in enumerate(problem.axes) if position != pair[0]):
        return lanes - 1, lanes - 1
    head = -problem.dst_offset % lanes
    return head, (problem.axes[pair[0]].size - head) % lanes


def _is_aligned(problem: Problem, pair: tuple[int, int], elements: int) -> bool:
    """True when all that a transpose moves lies in whole aligned runs of so many elements on both sides."""
    a, b = (problem.axes[position] for position in pair)
    outer = _outer(problem, pair)
    strides = [a.src, b.dst, *(axis.src for axis in outer), *(axis.dst for axis in outer)]
    src_offset = problem.src_offset - (b.size - 1) * (b.src < 0)
    values = (*strides, src_offset, problem.dst_offset, a.size, b.size)
    return not any(value % elements for value in values)


def _outer(problem: Problem, pair: tuple[int, int]) -> tuple[Axis, ...]:
    return tuple(axis for position, axis in enumerate(problem.axes) if position not in pair)


def _groups(problem: Problem, pair: tuple[int, int]) -> tuple[int, int, int]:
    along_a, along_b = shape_of(problem, pair).group
    a, b = (problem.axes[position] for position in pair)
    return -(-a.size // along_a), -(-b.size // along_b), math.prod(axis.size for axis in _outer(problem, pair))
