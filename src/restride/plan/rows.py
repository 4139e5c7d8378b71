"""Plan of a copy of narrow elements by rows: whole words of both sides, four of the destination at a time."""

from __future__ import annotations

from dataclasses import replace

from restride.kernel import KernelSpec, Limits
from restride.plan.dispatches import MAX_COUNT, bind, rows_of_groups
from restride.plan.elements import GROUP_SIZE
from restride.plan.problem import Problem, Push, constants_for, pack_parameters, word

_MOST_APART = 4
"""Elements from one to the next in the source (``MOST_APART`` in shaders/copy/element_rows.comp)."""

_CHUNK_BYTES = 16
"""Of the destination, that an invocation writes."""


def are_rows(problem: Problem) -> bool:
    """True for elements of 8 or 16 bits, side by side in the destination and few apart in the source, in long rows."""
    if problem.itemsize > 2 or not problem.axes:
        return False
    along = problem.axes[0]
    chunk = _CHUNK_BYTES // problem.itemsize
    return along.dst == 1 and 0 < abs(along.src) <= _MOST_APART and chunk < along.size < MAX_COUNT - chunk


def copy_rows(problem: Problem, limits: Limits) -> KernelSpec:
    """The dispatch that copies a problem which ``are_rows`` found fit.

    u8[4,21] in rows of 21, flipped: axis (size 21, src -1, dst 1) becomes two chunks, (size 2, src -16, dst 16), since
    21 elements lie in at most six words.
    """
    bound = bind(problem, limits)
    along, *outer = problem.axes
    chunk, lanes = _CHUNK_BYTES // problem.itemsize, 4 // problem.itemsize
    begins_in_words = any(offset % lanes for offset in (problem.dst_offset, *(axis.dst for axis in outer)))
    chunks = -(-(along.size + begins_in_words * (lanes - 1)) // chunk)
    axes = (replace(along, size=chunks, src=along.src * chunk, dst=chunk), *outer)
    count = problem.count // along.size * chunks
    return KernelSpec(
        shader="element_rows",
        constants=constants_for(axes, (8 * problem.itemsize, word(along.src), int(_is_aligned(problem)))),
        push=Push(bound.src_base, bound.dst_base, count, along.size),
        parameters=pack_parameters(axes),
        groups=rows_of_groups(-(-count // GROUP_SIZE), limits),
        bindings=bound.windows,
    )


def _is_aligned(problem: Problem) -> bool:
    """True where rows are whole chunks, and what is read for a chunk are whole ones too."""
    along, *outer = problem.axes
    chunk = _CHUNK_BYTES // problem.itemsize
    lowest = problem.src_offset + (1 if along.src == -1 else 0)
    values = (along.size, lowest, problem.dst_offset, *(stride for axis in outer for stride in axis.strides))
    return along.src in (-1, 2) and not any(value % chunk for value in values)
