"""Plan of resampling by rows: eight rows an invocation, which share what they sum along the axes inside them."""

from __future__ import annotations

import math
from typing import NamedTuple

from restride.plan.axes import Axis, Problem

ROWS = 8
"""Rows of an invocation (``ROWS`` in shaders/resample_rows.comp)."""

_MOST_TAPS = 4
_MOST_STEPS = 1 << 14
"""Loop steps of an invocation: llvmpipe ends loops without a word after 65,535."""


class Rows(NamedTuple):
    """How a problem is cut: ``pieces`` of ``elements`` along a row, ``blocks`` of rows along the axis at ``position``.

    invocations: of all rows.
    """

    position: int
    taps: int
    elements: int
    pieces: int
    blocks: int
    invocations: int

    @property
    def constant(self) -> int:
        """Specialization constant 7."""
        return self.position + 16 * self.taps


def rows_of(problem: Problem) -> Rows | None:
    """The rows of a problem; None where it has none, or they would not pay.

    u8[3,224,224] to u8[3,1080,1920]: axis 0 has 1920 elements, 480 pieces of four; axis 1 has 1080 rows, 135 blocks,
    and there are 3 of these: 194,400 invocations.
    """
    tabled = [position for position, axis in enumerate(problem.axes) if axis.table is not None]
    position = max(tabled, key=lambda place: (problem.axes[place].slot, place))
    row = problem.axes[position]
    inner, outer = problem.axes[:position], problem.axes[position + 1 :]
    taps = row.table.taps if row.table is not None else 0
    if max(problem.itemsize, problem.src_itemsize) > 4 or taps > _MOST_TAPS:
        return None
    lanes = 4 // problem.itemsize
    fitting = [n for n in (4, lanes) if n == 1 or (_is_run(inner, n) and _is_aligned(problem, row, outer, n))]
    if not fitting:
        return None
    pieces = math.prod(axis.size for axis in inner) // fitting[0]
    blocks = -(-row.size // ROWS)
    inside = math.prod(axis.table.taps for axis in inner if axis.table is not None)
    steps = ROWS * taps * fitting[0] * 2 * inside  # nested loops take less than twice the product of their steps
    if pieces < 2 or row.size < 2 or steps > _MOST_STEPS:
        return None
    return Rows(position, taps, fitting[0], pieces, blocks, pieces * blocks * math.prod(axis.size for axis in outer))


def _is_run(axes: tuple[Axis, ...], lanes: int) -> bool:
    """True when the elements of the axes lie side by side, in whole words."""
    stride = 1
    for axis in axes:
        if axis.dst != stride:
            return False
        stride *= axis.size
    return stride % lanes == 0


def _is_aligned(problem: Problem, row: Axis, outer: tuple[Axis, ...], lanes: int) -> bool:
    """True when every row begins at a word."""
    return not any(stride % lanes for stride in (problem.dst_offset, row.dst, *(axis.dst for axis in outer)))
