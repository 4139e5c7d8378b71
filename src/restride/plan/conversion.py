"""Conversion: what happens to each element on its way, in the words and numbers of shaders/include/scales.glsl."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from restride.arithmetic import POST_OPS, ROUNDINGS, Arithmetic, Scaling
from restride.dtypes import DType
from restride.kernel import Limits
from restride.plan.dispatches import longest
from restride.plan.problem import Problem, Push
from restride.plan.tables import ROW_WORDS
from restride.plan.tiles import Pairs, SharedPlace
from restride.weights import Shifts

ELEMENT_TYPES = {
    name: number
    for number, name in enumerate(
        (
            "f32",
            "f16",
            "bf16",
            "u8",
            "s8",
            "s32",
            "pred",
            "s16",
            "u16",
            "u32",
            "s64",
            "u64",
            "f64",
            "f8e4m3fn",
            "f8e5m2",
        )
    )
}
"""Every element type, as shaders/include/types.glsl numbers them."""

PAIR_BYTES = 8
"""Bytes of a scale and a zero point, both f32."""

MOST_PAIR_BYTES = 1 << 20
"""Pairs of one dispatch; what has more is cut."""

_SATURATES, _ROUNDS_FIRST, _NORMAL_QUOTIENTS = 4, 8, 16
_ZERO_POINT, _SCALE, _SUM, _DST_SCALE, _DST_ZERO_POINT, _SRC_PAIRS, _DST_PAIRS = (1 << bit for bit in range(7))

_ORDINARY = 2.0**-60, 2.0**60
"""Scales by which an integer of 64 bits is divided far from the ends of f32."""

_POST_OP_BITS = 9
"""Steps: from this bit on the kind of each post-op in turn, two bits each."""

PAIRS_ALONG_FOUR = (128, 256)
"""Steps of convert_fours: the four that an invocation makes differ in their pairs of the source, of the destination."""


class ScaledPush(NamedTuple):
    """Push constants of the kernels that convert: ``Push``, then those of shaders/include/dispatch.glsl under SCALES.

    Scales and zero points are bits of f32. ``..._lane`` and ``..._plane`` are steps of the four neighbours that an
    invocation makes, and of the planes that it makes them in. ``post_ops``: place of their numbers among the pairs.
    ``shifts``: of kernels that sum integers.
    """

    src_base: int
    dst_base: int
    pieces: int
    first: int
    lane_stride: int
    src_pairs: int
    dst_pairs: int
    src_scale: int
    src_zero_point: int
    dst_scale: int
    dst_zero_point: int
    sum_scale: int
    src_pair_lane: int = 0
    dst_pair_lane: int = 0
    plane_stride: int = 0
    src_pair_plane: int = 0
    dst_pair_plane: int = 0
    post_ops: int = 0
    shifts: int = 0


class PairRange(NamedTuple):
    """The pairs of one side that a dispatch reads: places ``lowest`` to ``highest``."""

    lowest: int
    highest: int

    @property
    def nbytes(self) -> int:
        """Bytes of them."""
        return (self.highest + 1 - self.lowest) * PAIR_BYTES


def pair_ranges(problem: Problem) -> tuple[PairRange, PairRange]:
    """The pairs that a problem reads on both sides."""
    ranges = []
    for side, offset in enumerate(problem.pair_offsets):
        lowest = highest = offset
        for axis in problem.axes:
            reach = (axis.size - 1) * axis.pairs[side]
            if reach < 0:
                lowest += reach
            else:
                highest += reach
        ranges.append(PairRange(lowest, highest))
    return ranges[0], ranges[1]


def axis_with_too_many_pairs(problem: Problem, _limits: Limits) -> int | None:
    """Where to cut a problem that reads more pairs than one dispatch may have."""
    if sum(part.nbytes for part in pair_ranges(problem)) <= MOST_PAIR_BYTES:
        return None
    return longest(problem, lambda axis: (axis.size - 1) * sum(map(abs, axis.pairs)))


@dataclass(frozen=True)
class Conversion:
    """Both element types and the arithmetic between them, whose scalings are in the axes of the problem."""

    src: DType
    dst: DType
    arithmetic: Arithmetic

    @cached_property
    def places(self) -> Pairs:
        """Where an index finds its pair, on both sides; None where all elements have the same."""
        return _place(self.arithmetic.src), _place(self.arithmetic.dst)

    @cached_property
    def constants(self) -> tuple[int, int, int, int]:
        """Specialization constants 2 to 5: both types, how to round, which steps there are."""
        arithmetic, src, dst = self.arithmetic, self.arithmetic.src, self.arithmetic.dst
        rounding = ROUNDINGS.index(arithmetic.rounding)
        rounding += _SATURATES * arithmetic.saturate + _ROUNDS_FIRST * arithmetic.rounds_first
        steps = _SUM * (arithmetic.sum_scale is not None)
        if src is not None:
            steps += _ZERO_POINT * src.has_zero_point + _SCALE * src.has_scale + _SRC_PAIRS * (src.count > 1)
        for place, op in enumerate(arithmetic.post_ops):
            steps += (1 + POST_OPS.index(op.name)) << _POST_OP_BITS + 2 * place
        if dst is not None:
            steps += _DST_ZERO_POINT * dst.has_zero_point + _DST_SCALE * dst.has_scale + _DST_PAIRS * (dst.count > 1)
        return ELEMENT_TYPES[self.src.name], ELEMENT_TYPES[self.dst.name], rounding, steps

    @cached_property
    def constants_of_elements(self) -> tuple[int, int, int, int]:
        """Those for elements as they are in the source, which say more about a division that is all there is before.

        An integer other than 0 is from 1 to 2^64: no quotient by an ordinary scale is denormal or infinite.
        """
        src, dst, rounding, steps = self.constants
        scales = self.arithmetic.dst
        others = steps & ~(_DST_ZERO_POINT | _DST_PAIRS)
        if self.src.is_float or scales is None or others != _DST_SCALE:
            return self.constants
        sizes = np.abs(np.frombuffer(scales.pairs, np.float32)[::2])
        is_ordinary = sizes.min() >= _ORDINARY[0] and sizes.max() <= _ORDINARY[1]
        return src, dst, rounding + _NORMAL_QUOTIENTS * bool(is_ordinary), steps

    def push(
        self, push: Push, tables: tuple[int, int, int], offsets: tuple[int, int], shifts: Shifts | None = None
    ) -> ScaledPush:
        """Push constants for pairs of the source, of the destination and of post-ops that begin at these places.

        offsets: the pair of index 0 is so far from the beginning of its side. shifts: of sums of integers.
        """
        sum_scale = self.arithmetic.sum_scale or 0.0
        scalars = [_first_pair(side) for side in (self.arithmetic.src, self.arithmetic.dst)]
        values = struct.unpack("5I", struct.pack("5f", *scalars[0], *scalars[1], sum_scale))
        *sides, ops = tables
        starts = [(table + offset) % (1 << 32) for table, offset in zip(sides, offsets, strict=True)]
        return ScaledPush(*push, *starts, *values)._replace(post_ops=ops, shifts=shifts.word if shifts else 0)

    def with_pairs(self, parameters: bytes, ranges: tuple[PairRange, PairRange]) -> tuple[bytes, tuple[int, int, int]]:
        """``parameters`` with the pairs of both sides and of post-ops behind them, and where these begin, in pairs."""
        parts, starts = [parameters], []
        nbytes = len(parameters)
        for side, place, part in zip((self.arithmetic.src, self.arithmetic.dst), self.places, ranges, strict=True):
            starts.append(nbytes // PAIR_BYTES)
            if side is not None and place is not None:
                pairs = side.pairs[part.lowest * PAIR_BYTES : (part.highest + 1) * PAIR_BYTES]
                parts.append(pairs + bytes(-len(pairs) % (4 * ROW_WORDS)))
                nbytes += len(parts[-1])
        ops = np.array([op[1:] for op in self.arithmetic.post_ops], np.float32).tobytes()
        parts.append(ops + bytes(-len(ops) % (4 * ROW_WORDS)))
        return b"".join(parts), (starts[0], starts[1], nbytes // PAIR_BYTES)


def _place(scaling: Scaling | None) -> SharedPlace | None:
    if scaling is None or scaling.count == 1:
        return None
    strides = tuple(prod(scaling.sizes[axis + 1 :]) * (size > 1) for axis, size in enumerate(scaling.sizes))
    return SharedPlace(strides, scaling.groups)


def _first_pair(scaling: Scaling | None) -> tuple[float, float]:
    if scaling is None:
        return 1.0, 0.0
    scale, zero_point = np.frombuffer(scaling.pairs, np.float32, 2)
    return scale, zero_point
