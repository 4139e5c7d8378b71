"""Plan of a conversion of elements between types and layouts, with scales, zero points and a sum.

``Conversion`` describes what happens to an element, in the names and constants of shaders/include/scales.glsl.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from restride.dtypes import ELEMENT_TYPES, DType
from restride.kernel import KernelSpec, Limits
from restride.kernel.shared_constants import (
    CLIP,
    DST_PAIRS,
    DST_PAIRS_ALONG_QUAD,
    DST_SCALE,
    DST_ZERO_POINT,
    FIRST_POST_OP,
    HALF_AWAY,
    LINEAR,
    MAX_CHANNELS,
    NEAREST_EVEN,
    NORMAL_QUOTIENTS,
    QUADS_PER_INVOCATION,
    RELU,
    ROUNDS_FIRST,
    SATURATES,
    SHORT_QUOTIENTS,
    SRC_PAIRS,
    SRC_PAIRS_ALONG_QUAD,
    SRC_SCALE,
    SRC_ZERO_POINT,
    SUM,
    TRUNCATE,
)
from restride.layout import TensorDesc
from restride.lru import cached_property
from restride.plan.dispatches import (
    axis_with_too_many_pairs,
    bind,
    pair_spans,
    parts,
    strided_kernel,
    whole_units,
    work_of,
)
from restride.plan.general import digit_dispatches
from restride.plan.problem import (
    PAIR_BYTES,
    ROW_WORDS,
    Axis,
    Problem,
    Span,
    pack_parameters,
)
from restride.plan.tiles import Pairs, Region, SharedPlace, walks
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic, Scaling
from restride.weights import Shifts

TYPE_NUMBERS = {name: number for number, name in enumerate(ELEMENT_TYPES)}
"""The number of each element type in kernels."""

_ROUNDING_NUMBERS = {"nearest_even": NEAREST_EVEN, "truncate": TRUNCATE, "half_away": HALF_AWAY}
_POST_OP_NUMBERS = {"linear": LINEAR, "clip": CLIP, "relu": RELU}

_PAIRS_ALONG_QUAD = SRC_PAIRS_ALONG_QUAD, DST_PAIRS_ALONG_QUAD

_ORDINARY = 2.0**-60, 2.0**60
"""The range of scales for which quotients of all 64-bit integers are neither denormal nor infinite in f32."""

_MAX_TRIED = 256
"""Maximum number of scales that are tested for exact short division of every 8-bit integer: 0.3 us for each scale."""

_FROM_POWER, _FROM_MIDDLE = 2.0**-20, 2.0**-18
"""The minimum distances of a quotient at which ``short_quotient`` in shaders/include/scales.glsl is exact: from a power
of two (relative), and from the middle of two f32 (in units of the last bit).

Its ``ratio``, a * (1 / b), is off by 2.5 units of 1 / b and half a unit of the product: relatively 6 * 2^-24, or six
units. So the correction is at most 6 units, and is itself off by 6 * (2.5 * 2^-23 + 2 * 2^-24) < 2^-18 units.
"""

_NUMBERS = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point", "sum_scale")
"""Names of the push constants that are f32."""

_MAX_KEPT_PAIR_BYTES = 1 << 12


@dataclass(frozen=True)
class Conversion:
    """Both element types and the arithmetic between them, whose scales have the axes of the problem."""

    src: DType
    dst: DType
    arithmetic: Arithmetic

    @cached_property
    def places(self) -> Pairs:
        """For each side, the position of an index's scale and zero point; None if all elements share one pair."""
        return _place(self.arithmetic.src), _place(self.arithmetic.dst)

    @property
    def has_few_pairs(self) -> bool:
        """True if scales and zero points take at most a few KB: few enough for a plan to keep its built kernels."""
        sides = (self.arithmetic.src, self.arithmetic.dst)
        return sum(len(side.pairs) for side in sides if side is not None) <= _MAX_KEPT_PAIR_BYTES

    @cached_property
    def constants(self) -> dict[str, int]:
        """The constants of every kernel that converts: both types, how to round, which steps apply."""
        arithmetic, src, dst = self.arithmetic, self.arithmetic.src, self.arithmetic.dst
        rounding = _ROUNDING_NUMBERS[arithmetic.rounding]
        rounding += SATURATES * arithmetic.saturate + ROUNDS_FIRST * arithmetic.rounds_first
        steps = SUM * (arithmetic.sum_scale is not None)
        if src is not None:
            steps += SRC_ZERO_POINT * src.has_zero_point + SRC_SCALE * src.has_scale + SRC_PAIRS * (src.count > 1)
        for place, op in enumerate(arithmetic.post_ops):
            steps += _POST_OP_NUMBERS[op.name] << FIRST_POST_OP + 2 * place
        if dst is not None:
            steps += DST_ZERO_POINT * dst.has_zero_point + DST_SCALE * dst.has_scale + DST_PAIRS * (dst.count > 1)
        types = {"SRC_TYPE": TYPE_NUMBERS[self.src.name], "DST_TYPE": TYPE_NUMBERS[self.dst.name]}
        return {**types, "ROUNDING": rounding, "STEPS": steps}

    @cached_property
    def constants_of_elements(self) -> dict[str, int]:
        """``constants`` for values of the source's type, not f32 sums; no long division if no quotient needs it.

        An integer other than 0 is 1 to 2^64 in magnitude, so no quotient by an ordinary scale is denormal or infinite.
        """
        constants, scales = self.constants, self.arithmetic.dst
        others = constants["STEPS"] & ~(DST_ZERO_POINT | DST_PAIRS)
        if self.src.is_float or scales is None or others != DST_SCALE:
            return constants
        sizes = np.abs(np.frombuffer(scales.pairs, np.float32)[::2])
        is_ordinary = sizes.min() >= _ORDINARY[0] and sizes.max() <= _ORDINARY[1]
        return {**constants, "ROUNDING": constants["ROUNDING"] + NORMAL_QUOTIENTS * bool(is_ordinary)}

    @cached_property
    def constants_of_quads(self) -> dict[str, int]:
        """As ``constants_of_elements``, for kernels of quads, which may also use the short division of bytes."""
        constants = self.constants_of_elements
        rounding = constants["ROUNDING"]
        if self.src.itemsize > 1 or not rounding & NORMAL_QUOTIENTS or self.arithmetic.dst is None:
            return constants
        return {**constants, "ROUNDING": rounding + SHORT_QUOTIENTS * _are_short(self.arithmetic.dst.pairs)}

    def with_scales(
        self,
        push: Mapping[str, int],
        parameters: bytes,
        offsets: tuple[int, int],
        spans: tuple[Span, Span],
        shifts: Shifts | None = None,
    ) -> tuple[dict[str, int], bytes]:
        """Return ``push`` with the numbers of this conversion added, and ``parameters`` followed by its pairs.

        The pairs of scale and zero point of the source come first, then those of the destination, then the two numbers
        of each post-op.

        offsets: the pair of index 0 in the source's and in the destination's list. spans: the pairs that are read.
        shifts: how integer sums are shifted; None: there are none.
        """
        sides = self.arithmetic.src, self.arithmetic.dst
        parts, nbytes, first = [parameters], len(parameters), []
        for side, place, offset, span in zip(sides, self.places, offsets, spans, strict=True):
            first.append(nbytes // PAIR_BYTES + offset - span.lowest)
            if side is not None and place is not None:
                pairs = side.pairs[span.lowest * PAIR_BYTES : (span.highest + 1) * PAIR_BYTES]
                parts.append(pairs + bytes(-len(pairs) % (4 * ROW_WORDS)))
                nbytes += len(parts[-1])
        parts.append(self._ops)
        lists = {"src_pairs": first[0], "dst_pairs": first[1]}
        others = {"post_ops": nbytes // PAIR_BYTES, "shifts": shifts.word if shifts else 0}
        return {**push, **lists, **self._numbers, **others}, b"".join(parts)

    @cached_property
    def _ops(self) -> bytes:
        """The numbers of the post-ops, as whole rows of the parameters."""
        ops = b"".join(struct.pack("2f", op.first, op.second) for op in self.arithmetic.post_ops)
        return ops + bytes(-len(ops) % (4 * ROW_WORDS))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The push constants that are f32, as words."""
        src, dst = self.arithmetic.src, self.arithmetic.dst
        numbers = (*_first_pair(src), *_first_pair(dst), self.arithmetic.sum_scale or 0.0)
        return dict(zip(_NUMBERS, struct.unpack("5I", struct.pack("5f", *numbers)), strict=True))


@lru_cache(maxsize=256)
def _plain_conversion(src: DType, dst: DType) -> Conversion:
    return Conversion(src, dst, NO_ARITHMETIC)


def conversion_of(src: DType, dst: DType, arithmetic: Arithmetic) -> Conversion:
    """The conversion from ``src`` to ``dst``; without arithmetic it is cached, with the constants that it computed."""
    return _plain_conversion(src, dst) if arithmetic is NO_ARITHMETIC else Conversion(src, dst, arithmetic)


def _are_short(pairs: bytes) -> bool:
    """True if the short division is exact for all bytes and all scales. Too many scales are not tried: False."""
    scales = np.unique(np.abs(np.frombuffer(pairs, np.float32)[::2]))
    if len(scales) > _MAX_TRIED:
        return False
    significand, _ = np.frexp(np.arange(1, 256)[:, None] / scales.astype(np.float64))
    from_power = np.minimum(2 * significand - 1, 1 - significand)
    from_middle = np.abs(significand * 2.0**24 % 1 - 0.5)
    is_near = (from_power < _FROM_POWER) & (from_power > 0) | (from_middle < _FROM_MIDDLE)
    return not is_near.any()


def _place(scaling: Scaling | None) -> SharedPlace | None:
    if scaling is None or scaling.count == 1:
        return None
    strides = tuple(prod(scaling.sizes[axis + 1 :]) * (size > 1) for axis, size in enumerate(scaling.sizes))
    return SharedPlace(strides, scaling.groups)


def _first_pair(scaling: Scaling | None) -> tuple[float, float]:
    if scaling is None:
        return 1.0, 0.0
    scale, zero_point = struct.unpack_from("2f", scaling.pairs)
    return scale, zero_point


def convert_kernels(src: TensorDesc, dst: TensorDesc, arithmetic: Arithmetic, limits: Limits) -> Iterable[KernelSpec]:
    """Dispatches that convert every element of ``src`` to the same index of ``dst``, as ``arithmetic`` says.

    Scales have the axes of both. Returns a tuple if there are few scales, otherwise an iterator that builds the
    dispatches one by one.
    """
    conversion = conversion_of(src.dtype, dst.dtype, arithmetic)
    kernels = _conversion_kernels(src, dst, conversion, limits)
    return tuple(kernels) if conversion.has_few_pairs else kernels


def _conversion_kernels(
    src: TensorDesc, dst: TensorDesc, conversion: Conversion, limits: Limits
) -> Iterator[KernelSpec]:
    if src.numel == 0:
        return
    region = Region.of(src, dst, conversion.places)
    cut_walks = walks(region)
    if cut_walks is None or not limits.allow(len(cut_walks), src.numel):
        yield from _by_digits(region, conversion, limits)
        return
    for walk in cut_walks:
        for run in whole_units(walk.problem(dst.dtype.itemsize, src.dtype.itemsize), 0, 4, limits, _quads):
            for part in parts(run, limits, axis_with_too_many_pairs):
                yield _convert(part, conversion, limits)


def _by_digits(region: Region, conversion: Conversion, limits: Limits) -> Iterator[KernelSpec]:
    itemsizes = conversion.src.itemsize, conversion.dst.itemsize
    for part in digit_dispatches(region, itemsizes, limits, has_pairs=True):
        src, dst = part.pairs
        offsets, spans = (src.const, dst.const), (Span(*src.span), Span(*dst.span))
        push = {**part.bound.bases, "pieces": part.pieces}
        push, program = conversion.with_scales(push, part.program, offsets, spans)
        constants = {"BITS": 8 * conversion.dst.itemsize, **conversion.constants}
        yield part._replace(program=program).kernel("digit_convert", constants, push, limits)


def _convert(problem: Problem, conversion: Conversion, limits: Limits) -> KernelSpec:
    bound = bind(problem, limits)
    quads = _quads(problem)
    axes = problem.axes if quads is None else quads.axes
    if quads is None:
        work = work_of(problem, bound)
        shader, each = "convert_elements", 1
        constants = {**work.constants, **conversion.constants_of_elements}
        push = {**bound.bases, **work.push}
    else:
        lane, plane = quads.lane, quads.plane
        shader, each = "convert_quads" if plane.size == 1 else "convert_planes", QUADS_PER_INVOCATION
        constants = quads.constants(conversion, limits.choices.neighbours)
        push = {
            **bound.bases,
            "pieces": problem.count // (4 * plane.size),
            "lane_stride": lane.src,
            "src_pair_lane": lane.pairs[0],
            "dst_pair_lane": lane.pairs[1],
            "plane_stride": plane.dst,
            "src_pair_plane": plane.pairs[0],
            "dst_pair_plane": plane.pairs[1],
        }
    spans = pair_spans(problem)
    push, parameters = conversion.with_scales(push, pack_parameters(shader, axes), problem.pair_offsets, spans)
    return strided_kernel(shader, axes, constants, push, bound.windows, limits, each=each, parameters=parameters)


class _Quads(NamedTuple):
    """A problem in which an invocation handles quads: four neighbours of the destination, in every plane.

    axes: the axes from quad to quad. lane: the axis within a quad. plane: the axis of the planes.
    is_run: the elements of a quad in all planes are contiguous in the source, from a multiple of four elements on.
    is_aligned: in the destination every quad begins at a multiple of four elements.
    in_row: the quads along the first axis fill whole invocations, and all use the same pairs.
    loads_row: ``in_row`` and ``is_run`` are true, source elements are narrow, and the runs of an invocation begin at
    multiples of 16 elements.
    """

    axes: tuple[Axis, ...]
    lane: Axis
    plane: Axis
    is_run: bool
    is_aligned: bool
    in_row: bool
    loads_row: bool

    def constants(self, conversion: Conversion, neighbours: bool) -> dict[str, int]:
        """The specialization constants of ``convert_quads``, or ``convert_planes``."""
        constants = conversion.constants_of_quads
        along_quad = [bool(step) * bit for step, bit in zip(self.lane.pairs, _PAIRS_ALONG_QUAD, strict=True)]
        in_row = neighbours and self.in_row
        return {
            **constants,
            "STEPS": constants["STEPS"] + sum(along_quad),
            "NEIGHBOURS": neighbours,
            **({"WIDE": self.is_run} if self.plane.size == 1 else {"PLANES": self.plane.size}),
            "PAIRS_OF_PLANES": all(axis.pairs == (0, 0) for axis in self.axes),
            "WHOLE_STORES": self.is_aligned,
            "IN_ROW": in_row,
            "LOADS_ROW": in_row and self.loads_row,
        }


def _quads(problem: Problem) -> _Quads | None:
    """The problem by quads of the destination; None unless rows are made of quads, and each quad is whole words.

    u8 NHWC [2,4,3] to planes: axes (size 8, src 3, dst 1) and (size 3, src 1, dst 8). A quad of pixels is 12 bytes of
    the source: four elements for each of three planes, which are 8 apart. One axis is left: (size 2, src 12, dst 4).
    """
    if not problem.axes:
        return None
    lane, *outer = problem.axes
    is_aligned = not any(start % 4 for start in (problem.dst_offset, *(axis.dst for axis in outer)))
    if lane.dst != 1 or lane.size % 4 or not (is_aligned or problem.itemsize >= 4):
        return None
    plane = Axis(1, 0, 0)
    if lane.src in range(2, MAX_CHANNELS + 1) and problem.src_itemsize <= 4:
        plane = next((axis for axis in outer if axis.src == 1 and axis.size == lane.src), plane)
    others = [axis for axis in outer if axis is not plane]
    starts_on_quad = problem.src_offset % 4 == 0 and not any(axis.src % 4 for axis in others)
    is_run = starts_on_quad and lane.src == plane.size
    if not is_run:
        plane, others = Axis(1, 0, 0), outer
    by_quad = lane.by(4)
    in_row = by_quad.size % QUADS_PER_INVOCATION == 0 and by_quad.pairs == (0, 0)
    starts_on_row = not any(start % 16 for start in (problem.src_offset, *(axis.src for axis in others)))
    is_narrow = problem.src_itemsize <= 2 and problem.src_itemsize * plane.size <= 4
    return _Quads(
        axes=(*([by_quad] if by_quad.size > 1 else []), *others),
        lane=lane,
        plane=plane,
        is_run=is_run,
        is_aligned=is_aligned,
        in_row=in_row,
        loads_row=in_row and is_run and is_narrow and starts_on_row,
    )
