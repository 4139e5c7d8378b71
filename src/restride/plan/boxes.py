"""Boxes: a problem cut into parts that one dispatch can bind and count.

A storage buffer binding covers at most ``max_buffer_range`` bytes (128 MiB on llvmpipe). A box is a range of indices on
every axis; its window is the span of bytes it touches on one side. Boxes are halved along the axis that spans most of
the window that is too wide, until each fits: a 256 MiB transpose ends as four quarters, not as two halves, since half
of its rows still span all of its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from restride.errors import UnsupportedError
from restride.kernel import Binding, Limits
from restride.plan.axes import Axis, Problem, in_order

MAX_COUNT = (1 << 31) - 1
"""Elements of one dispatch: the shaders divide exactly below 2^31."""

MAX_TABLE_BYTES = 1 << 20
"""Tables of one dispatch, so that an operation's own memory stays below 2 MiB."""

WINDOW_ALIGNMENT = 16
"""A window starts at a multiple of the widest element."""

TooBig = Callable[[Problem, Limits], Callable[[Axis], int] | None]

_CUT = 64
"""Halves are rounded to multiples of this, which keeps wide elements and 4x4 blocks whole."""


@dataclass(frozen=True)
class Side:
    """The span of one side of a problem: element offsets from ``lowest`` to ``highest``, both touched."""

    lowest: int
    highest: int

    def window(self, itemsize: int, limits: Limits, writes: bool = False) -> Binding:
        """The binding that covers the span."""
        alignment = max(limits.offset_alignment, WINDOW_ALIGNMENT)
        start = self.lowest * itemsize // alignment * alignment if limits.offset_alignment else 0
        end = -(-(self.highest + 1) * itemsize // 4) * 4
        return Binding(start, end - start, writes)


def src_side(problem: Problem) -> Side:
    """The source elements that the problem reads, as a span."""
    lowest = highest = problem.src_offset
    for axis in problem.axes:
        near, far = axis.table.reads() if axis.table is not None else (0, axis.size - 1)
        ends = near * axis.src, far * axis.src
        lowest += min(ends)
        highest += max(ends)
    return Side(lowest, highest)


def dst_side(problem: Problem) -> Side:
    """The destination elements that the problem writes, as a span (destination strides are positive)."""
    return Side(problem.dst_offset, problem.dst_offset + sum((axis.size - 1) * axis.dst for axis in problem.axes))


def _src_reach(axis: Axis) -> int:
    if axis.table is None:
        return (axis.size - 1) * abs(axis.src)
    near, far = axis.table.reads()
    return (far - near) * abs(axis.src)


def _dst_reach(axis: Axis) -> int:
    return (axis.size - 1) * axis.dst


def _table_bytes(axis: Axis) -> int:
    return axis.table.nbytes if axis.table is not None else 0


def _too_big(problem: Problem, limits: Limits) -> Callable[[Axis], int] | None:
    """What to judge the axes by when the problem does not fit one dispatch: the axis with the most of it is cut."""
    src, dst = src_side(problem), dst_side(problem)
    for side, reach in ((src, _src_reach), (dst, _dst_reach)):
        nbytes = side.window(problem.itemsize, limits).nbytes
        if nbytes > limits.max_buffer_range:
            if not limits.offset_alignment:
                raise UnsupportedError(
                    f"a buffer of {nbytes} bytes exceeds the {limits.max_buffer_range} bytes that a binding may cover, "
                    f"and this runtime cannot bind part of a buffer; the 'vulkan' runtime splits such problems"
                )
            return reach
    if dst.highest - dst.lowest > MAX_COUNT:
        return _dst_reach
    if problem.count > MAX_COUNT:
        return lambda axis: axis.size
    if sum(_table_bytes(axis) for axis in problem.axes) > MAX_TABLE_BYTES:
        return _table_bytes
    return None


def _half(size: int) -> int:
    half = size // 2
    return half // _CUT * _CUT if half > _CUT else half


def _part(problem: Problem, position: int, start: int, size: int) -> Problem:
    axis = problem.axes[position]
    if axis.table is None:
        src_offset = problem.src_offset + start * axis.src
        part = replace(axis, size=size)
    else:
        src_offset = problem.src_offset
        part = replace(axis, size=size, table=axis.table.part(start, size))
    axes = list(problem.axes)
    axes[position : position + 1] = [] if part.size == 1 and part.is_plain else [part]
    return Problem(in_order(axes), src_offset, problem.dst_offset + start * axis.dst, problem.itemsize)


def boxes(problem: Problem, limits: Limits, also_too_big: TooBig | None = None) -> Iterator[Problem]:
    """The problem, or parts of it that each fit one dispatch.

    also_too_big: a kernel's own limit, judged after those that every kernel has.

    Raises:
        UnsupportedError: a buffer exceeds ``max_buffer_range`` on a runtime that cannot bind part of it.
    """
    measure = _too_big(problem, limits)
    if measure is None and also_too_big is not None:
        measure = also_too_big(problem, limits)
    if measure is None:
        yield problem
        return
    amounts = [measure(axis) if axis.size > 1 else 0 for axis in problem.axes]
    position = amounts.index(max(amounts))
    size = problem.axes[position].size
    for start, part in ((0, _half(size)), (_half(size), size - _half(size))):
        yield from boxes(_part(problem, position, start, part), limits, also_too_big)


def rows_of_groups(groups: int, limits: Limits) -> tuple[int, int, int]:
    """``groups`` work groups folded into x and y: 100,000 are (65535, 2, 1), and the kernel skips the surplus."""
    columns = min(max(groups, 1), limits.max_group_count[0])
    return columns, math.ceil(max(groups, 1) / columns), 1
