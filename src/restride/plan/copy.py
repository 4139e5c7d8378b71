"""Plan of a copy: which kernel moves the elements of one strided layout into another, and in how many dispatches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from restride.kernel import KernelSpec, Limits
from restride.plan.dispatches import bind, boxes, rows_of_groups
from restride.plan.elements import GROUP_SIZE, plan_elements
from restride.plan.pixels import copy_pixels, pixels_of, whole_chunks
from restride.plan.problem import MAX_AXES, Axis, Problem, Push, constants_for, pack_parameters, widen, word
from restride.plan.rows import are_rows, copy_rows
from restride.plan.transpose import (
    Transpose,
    axis_with_too_many_groups,
    axis_with_too_many_tiles,
    shared_exchange,
    transpose,
    transpose_of,
    transpose_shared,
)

ELEMENTS_PER_INVOCATION = 4
"""Elements that an invocation of strided_copy.comp moves."""

_NEAR = 64
"""Elements from piece to piece of an invocation, on one side. Where both are far apart llvmpipe is twice as slow."""

_MOST_ROWS = 2048
"""Rows from which words are gathered one after the other: of as many pages a CPU knows the places at once."""

RUN_WIDTHS = (32, 128)
"""Bits of the elements that run_copy modules move."""


def plan_copy(problem: Problem, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy ``problem``, every element bit for bit, from memory 0 to memory 1."""
    problem = widen(problem, limits.widest_element)
    return tuple(
        kernel
        for box in boxes(problem, limits, _axis_to_cut)
        for part in whole_chunks(box, limits)
        for kernel in _copy_box(part, limits)
    )


def _axis_to_cut(problem: Problem, limits: Limits) -> int | None:
    shared = shared_exchange(problem, limits)
    if shared is not None:
        return axis_with_too_many_tiles(problem, shared, limits)
    return axis_with_too_many_groups(problem, limits)


def _copy_box(problem: Problem, limits: Limits) -> Iterator[KernelSpec]:
    pixels = pixels_of(problem) if limits.shortcuts else None
    shared = shared_exchange(problem, limits)
    transposed = _transposed(problem, limits)
    if pixels is not None:
        yield copy_pixels(problem, pixels, limits)
    elif shared is not None:
        yield transpose_shared(problem, shared, limits)
    elif transposed is not None:
        yield from transpose(problem, transposed, limits)
    elif limits.shortcuts and are_rows(problem):
        yield copy_rows(problem, limits)
    elif problem.itemsize < 4:
        yield from plan_elements(problem, limits, "element_copy")
    else:
        yield _copy_words(problem, limits)


def _copy_words(problem: Problem, limits: Limits) -> KernelSpec:
    bound = bind(problem, limits)
    bits = problem.itemsize * 8
    axes = problem.axes
    push = Push(bound.src_base, bound.dst_base, problem.count)
    constants: tuple[int, ...] = (int(limits.choices.neighbours),)
    parameters = b""
    if limits.shortcuts and bits in RUN_WIDTHS and all((axis.src, axis.dst) == (1, 1) for axis in axes):
        shader = f"run_copy_{bits}"
    else:
        shader, is_reversed = f"strided_copy_{bits}", False
        scattered = _scattered_axis(problem)
        if limits.shortcuts and _can_gather(problem):
            shader, axes, is_reversed = "strided_gather_128", _gathered(axes), _is_reversed(problem)
            push = Push(bound.src_base, bound.dst_base // 4, problem.count // 4, 0, word(problem.axes[0].src))
        elif limits.shortcuts and scattered is not None:
            shader, axes = "strided_scatter_128", _scattered(axes, scattered)
            push = Push(bound.src_base // 4, bound.dst_base, problem.count // 4, 0, problem.axes[scattered].dst)
        constants, axes = walked(axes, limits, is_reversed)
        parameters = pack_parameters(axes)
    groups = rows_of_groups(-(-push.pieces // (GROUP_SIZE * ELEMENTS_PER_INVOCATION)), limits)
    return KernelSpec(shader, constants, push, parameters, groups, bound.windows)


def walked(
    axes: tuple[Axis, ...], limits: Limits, is_reversed: bool = False
) -> tuple[tuple[int, ...], tuple[Axis, ...]]:
    """The specialization constants of a strided_ module, and the axes in the order in which it walks them."""
    neighbours = limits.choices.neighbours
    together = _together(axes) if neighbours else None
    axes = together or axes
    return constants_for(axes, (int(neighbours), int(together is not None), int(is_reversed))), axes


def _together(axes: tuple[Axis, ...]) -> tuple[Axis, ...] | None:
    """The axes in an order in which the pieces of every invocation differ along the first one alone, if there is one.

    Of sizes (6, 6, 8) the last has fours: (4, 6, 6, 2). It is an axis whose steps are short on one side.
    """
    near = [axis for axis in axes if axis.size % ELEMENTS_PER_INVOCATION == 0 and _step(axis) <= _NEAR]
    if not near:
        return None
    axis = min(near, key=lambda axis: (_step(axis), abs(axis.src)))
    if axis is axes[0]:
        return axes
    fours = ELEMENTS_PER_INVOCATION
    rest = Axis(axis.size // fours, axis.src * fours, axis.dst * fours)
    others = [rest if other is axis else other for other in axes if other is not axis or rest.size > 1]
    return (replace(axis, size=fours), *others) if len(others) < MAX_AXES else None


def _step(axis: Axis) -> int:
    """Elements from one step to the next, on the side where they are closer together."""
    return min(abs(axis.src), axis.dst)


def _transposed(problem: Problem, limits: Limits) -> Transpose | None:
    """The transpose that a problem is; None too where one side alone is aligned, and fours of its words are faster.

    They are on CPUs, where an invocation goes through neighbours.
    f32[4091,4096]: a load has four words of a row. f32[2048,4095]: a store has four of a column.
    """
    found = transpose_of(problem, limits)
    if found is None or found.shape.is_aligned or not limits.choices.neighbours:
        return found
    by_fours = _can_gather(problem) and problem.axes[0].size <= _MOST_ROWS
    return None if by_fours or _scattered_axis(problem) is not None else found


def _can_gather(problem: Problem) -> bool:
    """True when four words fill one aligned 128-bit store in every row of the destination."""
    if problem.itemsize != 4 or not problem.axes:
        return False
    inner, *outer = problem.axes
    aligned = problem.dst_offset % 4 == 0 and all(axis.dst % 4 == 0 for axis in outer)
    return inner.dst == 1 and inner.size % 4 == 0 and aligned


def _is_reversed(problem: Problem) -> bool:
    """True where the four words of every store are one aligned 128-bit load, the last one first."""
    inner, *outer = problem.axes
    lowest = problem.src_offset - 3  # of the first four
    return inner.src == -1 and not any(offset % 4 for offset in (lowest, *(axis.src for axis in outer)))


def _gathered(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes by four words at a time, where ``_can_gather``; the source goes on in words.

    [::2] of 8 words, axis (size 8, src 2, dst 1), becomes (size 2, src 8, dst 1 of 16 bytes), and the lane stride is 2.
    """
    inner, *outer = axes
    fours = [Axis(inner.size // 4, inner.src * 4, 1)] if inner.size > 4 else []
    return (*fours, *(replace(axis, dst=axis.dst // 4) for axis in outer))


def _scattered_axis(problem: Problem) -> int | None:
    """Position of the axis along which one aligned 128-bit load has four words for the destination, if there is one."""
    if problem.itemsize != 4 or problem.src_offset % 4:
        return None
    for position, axis in enumerate(problem.axes):
        rest = [other for other in problem.axes if other is not axis]
        if axis.src == 1 and axis.size % 4 == 0 and all(other.src % 4 == 0 for other in rest):
            return position
    return None


def _scattered(axes: tuple[Axis, ...], position: int) -> tuple[Axis, ...]:
    """The axes by four words of the source at a time along one of them; the destination goes on in words.

    8 words into every 3rd, axis (size 8, src 1, dst 3), are (size 2, src 1 of 16 bytes, dst 12), the lane stride 3.
    """
    inner = axes[position]
    fours = [Axis(inner.size // 4, 1, inner.dst * 4)] if inner.size > 4 else []
    outer = [replace(axis, src=axis.src // 4) for place, axis in enumerate(axes) if place != position]
    return tuple(sorted((*fours, *outer), key=lambda axis: axis.dst))
