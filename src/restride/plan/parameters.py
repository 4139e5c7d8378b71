"""How a plan hands a problem's axes to a shader: specialization constants or words of a storage buffer.

The word order is that of shaders/include/axes.glsl; a test compiles the two against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from restride.plan.axes import Axis

HEADER_WORDS = 8
AXIS_WORDS = 9
SLOT_WORDS = 2
KERNEL_CONSTANTS = 8
"""Specialization constants 0 to 7 belong to the kernel; the axes follow."""


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


def specialised_constants(kernel: Sequence[int], axes: Sequence[Axis], tables: Sequence[int]) -> tuple[int, ...]:
    """The kernel's own constants, then the rank, then size, strides, table and slot of each axis."""
    constants = [*kernel, *[0] * (KERNEL_CONSTANTS - len(kernel)), len(axes)]
    for axis, table in zip(axes, tables, strict=True):
        constants += [axis.size, word(axis.src), word(axis.dst), table, axis.slot]
    return tuple(constants)


def axis_words(axes: Sequence[Axis], tables: Sequence[int]) -> list[int]:
    """The axes as words of the storage buffer, each with the multipliers that replace its divisions."""
    words: list[int] = []
    for axis, table in zip(axes, tables, strict=True):
        by_size = multiply_shift(axis.size) if axis.size > 1 else (0, 0)
        by_dst = multiply_shift(axis.dst) if axis.dst > 1 else (0, 0)
        words += [axis.size, word(axis.src), word(axis.dst), table, axis.slot, *by_size, *by_dst]
    return words


def pack_parameters(axes: Sequence[Axis], specialised: bool) -> tuple[bytes, tuple[int, ...]]:
    """The storage buffer of a problem: header, axes, slots, tables; and the word at which each axis's table starts.

    Empty when there is nothing to say: a specialised problem without tables.
    """
    slots = sum(not axis.is_plain for axis in axes)
    if specialised and not slots:
        return b"", (0,) * len(axes)
    slots_at = HEADER_WORDS + (0 if specialised else AXIS_WORDS * len(axes))
    tables_at = slots_at + SLOT_WORDS * slots
    starts: list[int] = []
    slot_words = [0] * (SLOT_WORDS * slots)
    rows: list[bytes] = []
    for axis in axes:
        if axis.table is None:
            starts.append(0)
            continue
        starts.append(tables_at)
        rows.append(np.ascontiguousarray(axis.table.words).tobytes())
        tables_at += axis.table.words.size
        slot_words[SLOT_WORDS * axis.slot : SLOT_WORDS * (axis.slot + 1)] = [word(axis.table.last), word(axis.src)]
    header = [len(axes), slots_at, *[0] * (HEADER_WORDS - 2)]
    words = header + ([] if specialised else axis_words(axes, starts)) + slot_words
    return struct.pack(f"<{len(words)}I", *words) + b"".join(rows), tuple(starts)
