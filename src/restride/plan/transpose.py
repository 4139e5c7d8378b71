"""Plan of a transpose: a copy whose innermost axes differ, in blocks that are contiguous on both sides."""

from __future__ import annotations

import math

from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Axis, Problem
from restride.plan.boxes import bind
from restride.plan.parameters import constants_for, pack_parameters, word

TRANSPOSE_GROUP = (8, 128)
"""Elements along axes a and b that a group of transpose.comp moves: (2, 32) blocks of 4x4."""

_LEAST_FILLED = 0.5
"""Share of a transpose's groups that must have work: a batch of 3 x 3 is better copied element by element."""


def transposed_axes(problem: Problem, limits: Limits) -> tuple[int, int] | None:
    """Positions of axes a and b, contiguous in the destination and in the source, where a transpose kernel pays."""
    if not limits.shortcuts:
        return None
    if problem.itemsize == 8 or not problem.axes or problem.axes[0].dst != 1 or abs(problem.axes[0].src) <= 1:
        return None
    contiguous = [position for position, axis in enumerate(problem.axes) if abs(axis.src) == 1]
    if not contiguous:
        return None
    filled = 1.0
    for position, group in zip((0, contiguous[0]), TRANSPOSE_GROUP, strict=True):
        size = problem.axes[position].size
        filled *= size / (-(-size // group) * group)
    pair = (0, contiguous[0])
    if problem.itemsize < 4 and not _is_aligned(problem, pair):
        return None
    return pair if filled >= _LEAST_FILLED else None


def transpose(problem: Problem, pair: tuple[int, int], limits: Limits) -> KernelSpec:
    """The dispatch that transposes along axes that ``transposed_axes`` found, of a problem that fits one."""
    bound = bind(problem, limits)
    a, b = (problem.axes[position] for position in pair)
    outer = _outer(problem, pair)
    parameters = pack_parameters(outer)
    return KernelSpec(
        shader=f"transpose_{8 * problem.itemsize}" + "_aligned" * _is_aligned(problem, pair),
        constants=constants_for(outer, ()),
        push=(bound.src_base, bound.dst_base, a.size, b.size, word(a.src), word(b.src), b.dst),
        parameters=parameters,
        groups=_transpose_groups(a, b, outer),
        bindings=bound.windows,
    )


def axis_with_too_many_groups(problem: Problem, limits: Limits) -> int | None:
    """A transpose has one group an element of the outer axes, along z; of these the longest is cut."""
    pair = transposed_axes(problem, limits)
    if pair is None:
        return None
    outer = [position for position in range(len(problem.axes)) if position not in pair]
    a, b = (problem.axes[position] for position in pair)
    groups = _transpose_groups(a, b, _outer(problem, pair))
    for count, most, positions in zip(groups, limits.max_group_count, ([pair[0]], [pair[1]], outer), strict=True):
        if count > most:
            return max(positions, key=lambda position: problem.axes[position].size)
    return None


def _is_aligned(problem: Problem, pair: tuple[int, int]) -> bool:
    """True when a transpose moves whole aligned fours on both sides."""
    a, b = (problem.axes[position] for position in pair)
    outer = _outer(problem, pair)
    strides = [a.src, b.dst, *(axis.src for axis in outer), *(axis.dst for axis in outer)]
    values = (*strides, problem.src_offset, problem.dst_offset, a.size, b.size)
    return b.src == 1 and not any(value % 4 for value in values)


def _outer(problem: Problem, pair: tuple[int, int]) -> tuple[Axis, ...]:
    return tuple(axis for position, axis in enumerate(problem.axes) if position not in pair)


def _transpose_groups(a: Axis, b: Axis, outer: tuple[Axis, ...]) -> tuple[int, int, int]:
    along_a, along_b = TRANSPOSE_GROUP
    return -(-a.size // along_a), -(-b.size // along_b), math.prod(axis.size for axis in outer)
