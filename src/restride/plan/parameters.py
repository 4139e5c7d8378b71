"""How a plan hands a problem's axes to a shader: as words of a storage buffer.

The order of rows and constants is that of shaders/include/axes.glsl; tests hold the two together.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from restride.plan.axes import MAX_AXES, Axis
from restride.plan.tables import ROW_WORDS

HEADER_ROWS = 2
AXIS_ROWS = 3
KERNEL_CONSTANTS = 15
"""Specialization constants 0 to 14 belong to the kernel; the number of axes follows."""


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


def constants_for(axes: Sequence[Axis], kernel: Sequence[int]) -> tuple[int, ...]:
    """The kernel's own constants and the number of axes, so that loops over these are unrolled."""
    if len(axes) > MAX_AXES:
        raise AssertionError(f"a kernel walks at most {MAX_AXES} axes, not {len(axes)}")
    return (*kernel, *[0] * (KERNEL_CONSTANTS - len(kernel)), len(axes))


def divisions(divisor: int) -> tuple[int, int]:
    """The multiplier and shift of a divisor of 1 or more; what is divided by 1 is below it, and becomes 0."""
    return multiply_shift(divisor) if divisor > 1 else (0, 0)


def slot_word(axis: Axis) -> int:
    """The slot of an axis, and four times the taps of its rows, if these have weights."""
    return axis.slot if axis.table is None or axis.table.is_index else axis.slot + 4 * axis.table.taps


def axis_rows(axis: Axis, table: int) -> list[int]:
    """An axis as rows of the storage buffer: its walk, the multipliers for its two divisions, its slot and pairs."""
    walk = [axis.size, word(axis.src), word(axis.dst), table]
    return [*walk, *divisions(axis.size), *divisions(axis.dst), slot_word(axis), *map(word, axis.pairs), 0]


def pack_parameters(axes: Sequence[Axis], divisors: Sequence[int] = ()) -> bytes:
    """The storage buffer of a problem: header, axes, tables.

    divisors: at most two numbers by which the kernel divides; their multipliers are the second row of the header.
    """
    row = HEADER_ROWS + AXIS_ROWS * len(axes)
    multipliers = [number for divisor in divisors for number in divisions(divisor)]
    head = [len(axes), *[0] * (ROW_WORDS - 1), *multipliers, *[0] * (ROW_WORDS - len(multipliers))]
    parts: list[bytes] = []
    for axis in axes:
        head += axis_rows(axis, 0 if axis.table is None else row)
        if axis.table is not None:
            words = axis.table.words(axis.src)
            padding = -words.size % ROW_WORDS
            parts += [words.tobytes(), bytes(4 * padding)]
            row += (words.size + padding) // ROW_WORDS
    return b"".join([struct.pack(f"{len(head)}I", *head), *parts])
