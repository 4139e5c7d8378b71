"""How a plan hands a problem's axes to a shader: specialization constants or words of a storage buffer.

The order of rows and constants is that of shaders/include/axes.glsl; tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.plan.axes import MAX_AXES, Axis

ROW_WORDS = 4
"""The buffer is read in rows of 128 bits; every part of it starts at one."""

HEADER_ROWS = 2
AXIS_ROWS = 3
AXIS_CONSTANTS = 5
KERNEL_CONSTANTS = 8
"""Specialization constants 0 to 7 belong to the kernel; the axes follow."""


class Push(NamedTuple):
    """Push constants of every kernel but the transpose, in the order of shaders/include/dispatch.glsl."""

    src_base: int
    dst_base: int
    pieces: int
    first: int = 0
    lane_stride: int = 0


def word(value: int) -> int:
    """``value`` as a 32-bit word, two's complement: -1 is 4294967295."""
    return value & 0xFFFFFFFF


def multiply_shift(divisor: int) -> tuple[int, int]:
    """Multiplier m and shift s with ``n // divisor == (n * m >> 32) >> s`` for every n below 2^31; divisor >= 2.

    With l = ceil(log2(divisor)), m = ceil(2^(31 + l) / divisor) exceeds the true quotient by less than 2^l / 2^(31 + l)
    relative, too little to reach the next integer while n < 2^31 (Granlund and Montgomery, 1994).
    divisor 5: l = 3, m = ceil(2^34 / 5) = 3435973837, s = 2.
    """
    bits = (divisor - 1).bit_length()
    return -(-(1 << (31 + bits)) // divisor), bits - 1


def specialised_constants(
    kernel: Sequence[int], axes: Sequence[Axis], tables: Sequence[int], pairs: bool = False
) -> tuple[int, ...]:
    """The kernel's own constants, the rank, then size, strides, table and ``slot_word`` of each axis, at most MAX_AXES.

    ``pairs``: behind the room for MAX_AXES axes, how far each moves among the pairs of both sides.
    """
    if len(axes) > MAX_AXES:
        raise AssertionError(f"a specialised kernel has constants for {MAX_AXES} axes, not {len(axes)}")
    constants = [*kernel, *[0] * (KERNEL_CONSTANTS - len(kernel)), len(axes)]
    for axis, table in zip(axes, tables, strict=True):
        constants += [axis.size, word(axis.src), word(axis.dst), table, slot_word(axis)]
    if pairs:
        constants += [0] * (AXIS_CONSTANTS * (MAX_AXES - len(axes)))
        constants += [word(step) for axis in axes for step in axis.pairs]
    return tuple(constants)


def slot_word(axis: Axis) -> int:
    """The slot of an axis, and four times the taps of its rows, if these have weights."""
    return axis.slot if axis.table is None or axis.table.is_index else axis.slot + 4 * axis.table.taps


def axis_rows(axis: Axis, table: int) -> list[int]:
    """An axis as rows of the storage buffer: its walk, the multipliers for its two divisions, its slot and pairs."""
    by_size = multiply_shift(axis.size) if axis.size > 1 else (0, 0)
    by_dst = multiply_shift(axis.dst) if axis.dst > 1 else (0, 0)
    walk = [axis.size, word(axis.src), word(axis.dst), table]
    return [*walk, *by_size, *by_dst, slot_word(axis), *map(word, axis.pairs), 0]


def pack_parameters(axes: Sequence[Axis], specialised: bool) -> tuple[bytes, tuple[int, ...]]:
    """The storage buffer of a problem, header, axes, tables, and the row at which each axis's table starts.

    A specialised problem has its axes elsewhere, and without tables nothing to say here: its buffer is empty.
    """
    row = HEADER_ROWS + (0 if specialised else AXIS_ROWS * len(axes))
    starts: list[int] = []
    tables: list[npt.NDArray[np.uint32]] = []
    for axis in axes:
        starts.append(0 if axis.table is None else row)
        if axis.table is not None:
            words = axis.table.words(axis.src).ravel()
            padding = -len(words) % ROW_WORDS
            tables += [words, np.zeros(padding, np.uint32)]
            row += (len(words) + padding) // ROW_WORDS
    if specialised and not tables:
        return b"", tuple(starts)
    head = [len(axes), *[0] * (HEADER_ROWS * ROW_WORDS - 1)]
    if not specialised:
        for axis, start in zip(axes, starts, strict=True):
            head += axis_rows(axis, start)
    return np.concatenate([np.array(head, np.uint32), *tables]).tobytes(), tuple(starts)
