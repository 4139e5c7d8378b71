"""Plan of crops: boxes of one image or a batch, each resized to the same sizes, in one dispatch for many boxes.

The tables of both axes have a row for every output index of every box, so that boxes and sizes are data: the constants
of the kernel follow from element types, the number of axes and the channels of an invocation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.errors import UnsupportedError
from restride.kernel import Binding, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.conversion import MOST_PAIR_BYTES, Conversion, PairRange
from restride.plan.dispatches import MAX_COUNT, MAX_TABLE_BYTES, Bound, Span, require_windows, rows_of_groups
from restride.plan.elements import GROUP_SIZE, work_of
from restride.plan.problem import AXIS_ROWS, HEADER_ROWS, Axis, Problem, Push, constants_for, divisions, word
from restride.plan.tables import ROW_WORDS
from restride.weights import BoxRows, Shifts

# Crop boxes: what becomes of boxes of a source, by tables of rows and columns, and what that reads and makes.


@dataclass(frozen=True)
class Crops:
    """What becomes of boxes of a source.

    rows, columns: of ``axes`` of the source. images: (boxes,), the index along axis 0 that each box is cut from, where
    the source is a batch; None: it is one image. fill: an element for each channel, along the last axis not resized.
    few_taps: rows and columns have 2, or 4, whatever the boxes are; 0: that depends on them. shifts: of sums of
    integers (``restride.plan.crop_fixed``).
    """

    rows: BoxRows
    columns: BoxRows
    axes: tuple[int, int]
    images: npt.NDArray[np.int64] | None
    fill: npt.NDArray[Any]
    few_taps: int = 0
    shifts: Shifts | None = None

    @property
    def count(self) -> int:
        """Boxes."""
        return len(self.rows.first)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        sides = ((self.rows, self.rows.first.shape), (self.columns, self.columns.first.shape))
        return sum(4 * boxes * size * row_words(rows) for rows, (boxes, size) in sides)

    def part(self, boxes: slice) -> Crops:
        """Some of the boxes."""
        images = None if self.images is None else self.images[boxes]
        return replace(self, rows=self.rows.part(boxes), columns=self.columns.part(boxes), images=images)


class Part(NamedTuple):
    """Boxes that one dispatch makes. first: the box that is index 0 of the scales."""

    src: TensorDesc
    dst: TensorDesc
    crops: Crops
    conversion: Conversion
    limits: Limits
    first: int


def row_words(rows: BoxRows) -> int:
    """The words of a row: its weights, offset and range in whole fours; without weights two."""
    return 2 if rows.weights is None else -(-(rows.taps + 2) // ROW_WORDS) * ROW_WORDS


def boxes_of(desc: TensorDesc, boxes: slice) -> TensorDesc:
    """The elements of some of the boxes."""
    strides = desc.strides or ()
    sizes = (boxes.stop - boxes.start, *desc.sizes[1:])
    return TensorDesc(desc.dtype, sizes, strides, desc.offset + boxes.start * strides[0])


def dst_span(dst: TensorDesc) -> Span:
    strides = dst.strides or ()
    reach = sum((size - 1) * stride for size, stride in zip(dst.sizes, strides, strict=True))
    return Span(dst.offset, dst.offset + reach)


def src_span(src: TensorDesc, crops: Crops, limits: Limits) -> Span:
    """The elements that are bound: all, where a binding covers them, else from the first to the last that is read.

    Kernels read two neighbours at least, those of the image that are nearest, for rows of fill and of outside too: of
    taps 9 and 10 of an axis of 8 these are 6 and 7.
    """
    if src.nbytes <= limits.max_buffer_range:
        return Span(0, src.nbytes // src.dtype.itemsize - 1)
    strides = src.strides or ()
    lowest = highest = np.full(crops.count, src.offset)
    walked = range(1 if crops.images is not None else 0, src.rank)
    for axis in walked:
        if axis not in crops.axes:
            reach = (src.sizes[axis] - 1) * strides[axis]
            lowest, highest = lowest + min(reach, 0), highest + max(reach, 0)
    if crops.images is not None:
        lowest, highest = lowest + crops.images * strides[0], highest + crops.images * strides[0]
    for rows, axis in ((crops.rows, crops.axes[0]), (crops.columns, crops.axes[1])):
        near = np.clip(rows.first, 0, np.maximum(rows.extent - 2, 0))
        far = np.minimum(np.maximum(near + 1, rows.first + rows.taps - 1), rows.extent - 1)
        ends = near.min(axis=1) * strides[axis], far.max(axis=1) * strides[axis]
        lowest, highest = lowest + np.minimum(*ends), highest + np.maximum(*ends)
    return Span(int(lowest.min()), int(highest.max()))


# Plan of crops: boxes of one image or a batch, each resized to the same sizes, in one dispatch for many boxes.

MOST_CHANNELS = 4
"""Of an invocation (``CHANNELS`` in shaders/crop_resize.comp)."""

ROWS = 4
"""Of an invocation, where elements are words."""

MOST = 1 << 16
"""Rows of a box, and channels, that have 16 bits each."""

ALL_FILL = 0xFFFFFFFF
"""The last word of a row that makes fill (``ALL_FILL`` in shaders/include/crops.glsl)."""

Words = npt.NDArray[np.uint32]

MakeTable = Callable[[BoxRows, int, npt.NDArray[np.int64]], Words]
"""Makes the words of an axis, of its stride and the offset of each box's image."""


Make = Callable[[Part], KernelSpec]
"""Makes one dispatch."""


class Walked(NamedTuple):
    """An axis of the destination: its size, and what a step moves.

    steps: in the tables of columns and of rows. channel, row: among the channels of fill, and the rows of a box.
    """

    size: int
    src: int
    dst: int
    steps: tuple[int, int] = (0, 0)
    pairs: tuple[int, int] = (0, 0)
    channel: int = 0
    row: int = 0

    def by(self, count: int) -> Walked:
        """The axis by so many of its steps at once, the last ones perhaps fewer."""
        steps, pairs = ((each[0] * count, each[1] * count) for each in (self.steps, self.pairs))
        size = -(-self.size // count)
        return Walked(size, self.src * count, self.dst * count, steps, pairs, self.channel * count, self.row * count)


def crop_kernels(
    src: TensorDesc,
    dst: TensorDesc,
    crops: Crops,
    conversion: Conversion,
    limits: Limits,
    first: int = 0,
    make: Make | None = None,
) -> Iterator[KernelSpec]:
    """Dispatches that make ``dst``, its axis 0 boxes and the others those of an image, all of strides above 0.

    first: the box that is index 0 of the scales. make: one of them, of what fits; default: by f32.

    Raises:
        UnsupportedError: one box reads or makes more than a binding covers.
    """
    for part in _parts(Part(src, dst, crops, conversion, limits, first)):
        yield (make or _crop)(part)


def require_boxes(src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion, limits: Limits) -> None:
    """Refuse what no number of dispatches does, before there is one.

    Raises:
        UnsupportedError: one box reads or makes more than a binding covers; or too many channels or scales.
    """
    if crops.fill.size >= MOST:
        raise UnsupportedError(f"an image has {crops.fill.size} channels, more than {MOST - 1}: {src}")
    ranges_of_pairs(conversion, dst)
    for _ in _parts(Part(src, dst, crops, conversion, limits, 0)):
        pass


def _parts(whole: Part) -> Iterator[Part]:
    """The boxes, as many together as a dispatch makes."""
    src, dst, crops, _, limits, first = whole
    if _fits(src, dst, crops, limits):
        yield whole
        return
    if crops.count == 1:
        raise UnsupportedError(
            f"one box reads or makes more than the {limits.max_buffer_range} bytes of a binding: {src} to {dst}"
        )
    half = crops.count // 2
    for boxes in (slice(0, half), slice(half, crops.count)):
        its = whole._replace(dst=boxes_of(dst, boxes), crops=crops.part(boxes), first=first + boxes.start)
        yield from _parts(its)


def _fits(src: TensorDesc, dst: TensorDesc, crops: Crops, limits: Limits) -> bool:
    if crops.nbytes > MAX_TABLE_BYTES and crops.count > 1:
        return False
    for span, itemsize in ((src_span(src, crops, limits), src.dtype.itemsize), (dst_span(dst), dst.dtype.itemsize)):
        nbytes = span.window(itemsize, limits).nbytes
        if nbytes > limits.max_buffer_range:
            require_windows(nbytes, limits)
            return False
    return dst_span(dst).highest - dst.offset < MAX_COUNT


class Walk(NamedTuple):
    """What a dispatch walks.

    axes: by steps of an invocation, in order. lane: a step from channel to channel of an invocation. row: the rows of a
    box, one by one.
    """

    axes: list[Walked]
    lane: Walked
    row: Walked

    @property
    def pieces(self) -> int:
        """What all invocations make, each one of them."""
        return prod(axis.size for axis in self.axes)


def by_rows(row: Walked) -> int:
    """How many rows an invocation makes, of elements that are words."""
    return ROWS if row.size < MOST and not any(row.pairs) else 1


def kernel_of(
    shader: str,
    part: Part,
    walk: Walk,
    tables: tuple[MakeTable, MakeTable],
    push: Push,
    bindings: tuple[Binding, ...],
    constants: tuple[int, int],
    known: tuple[int, ...],
) -> KernelSpec:
    """The dispatch of a walk. tables: of columns and of rows. constants: 0 and 1; ``known`` begins with 6."""
    conversion, crops = part.conversion, part.crops
    makes_integers = crops.shifts is not None or crops.rows.weights is None
    packed = pack_crops(walk.axes, part.crops, part.src, *tables)
    parameters, starts = conversion.with_pairs(packed, ranges_of_pairs(conversion, part.dst))
    scaled = conversion.push(push, starts, _pair_offsets(conversion, part.first), part.crops.shifts)
    return KernelSpec(
        shader=shader,
        constants=constants_for(
            [Axis(axis.size, axis.src, axis.dst) for axis in walk.axes],
            (*constants, *(conversion.constants_of_elements if makes_integers else conversion.constants), *known),
        ),
        push=scaled._replace(
            plane_stride=walk.lane.dst,
            src_pair_lane=word(walk.lane.pairs[0]),
            dst_pair_lane=word(walk.lane.pairs[1]),
            src_pair_plane=walk.row.size,
            dst_pair_plane=walk.row.dst,
        ),
        parameters=parameters,
        groups=rows_of_groups(-(-push.pieces // GROUP_SIZE), part.limits),
        bindings=bindings,
    )


def _crop(part: Part) -> KernelSpec:
    src, dst, crops, conversion, limits, _ = part
    itemsize = dst.dtype.itemsize
    axes, channel = walked_axes(src, dst, crops, conversion)
    channels, lane = 1, Walked(1, 0, 0)
    place_of_rows = crops.axes[0] + dst.rank - src.rank
    row, rows = axes[place_of_rows], 1
    if channel is not None and itemsize == 4:
        lane = axes[channel]
        channels = next(n for n in range(MOST_CHANNELS, 0, -1) if lane.size % n == 0)
        axes[channel] = lane.by(channels)
    if itemsize == 4:
        rows = by_rows(row)
        axes[place_of_rows] = row.by(rows)
    walk = Walk(in_order(axes), lane, row)
    src_window = src_span(src, crops, limits).window(src.dtype.itemsize, limits)
    dst_window = dst_span(dst).window(itemsize, limits, writes=True)
    src_base = word(src.offset - src_window.offset // src.dtype.itemsize)
    bound = Bound((src_window, dst_window), src_base, dst.offset - dst_window.offset // itemsize)
    work = work_of(Problem(tuple(Axis(axis.size, 0, axis.dst) for axis in walk.axes), 0, dst.offset, itemsize), bound)
    push = Push(src_base, bound.dst_base, work.pieces, work.first, word(lane.src))
    is_bytes = channels > 1 and src.dtype.itemsize == 1 and lane.src == 1
    size = 1 if channel is None else axes[channel].size
    has_all = size == 1 and not any(any(axis.pairs) for place, axis in enumerate(axes) if place != channel)
    known = (_slots(crops), channels, crops.few_taps, int(is_bytes), int(has_all), rows)
    constants = (8 * itemsize, int(work.own_words))
    return kernel_of("crop_resize", part, walk, (table, table), push, bound.windows, constants, known)


def _slots(crops: Crops) -> int:
    """Specialization constant 6: rows and columns have weights, or elements are only moved."""
    return 0 if crops.rows.weights is None else 2


def walked_axes(
    src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion
) -> tuple[list[Walked], int | None]:
    """The axes of the destination in its order, and which of them has the channels."""
    src_strides, dst_strides = src.strides or (), dst.strides or ()
    rows, columns = crops.rows.first.shape[1], crops.columns.first.shape[1]
    pairs = [(0,) * dst.rank if place is None else place.strides for place in conversion.places]
    axes = [Walked(crops.count, 0, dst_strides[0], (columns, rows), (pairs[0][0], pairs[1][0]))]
    channel = None
    front = dst.rank - src.rank  # 1 where the source is one image
    for place in range(1, dst.rank):
        axis, its_pairs = place - front, (pairs[0][place], pairs[1][place])
        if axis in crops.axes:
            steps = (0, 1) if axis == crops.axes[0] else (1, 0)
            axes.append(Walked(dst.sizes[place], 0, dst_strides[place], steps, its_pairs, row=steps[1]))
        else:
            channel = place
            axes.append(Walked(dst.sizes[place], src_strides[axis], dst_strides[place], pairs=its_pairs))
    if channel is not None:
        axes[channel] = axes[channel]._replace(channel=1)
    return axes, channel


def in_order(axes: list[Walked]) -> list[Walked]:
    """By destination stride, single steps outermost, as ``restride.plan.problem.in_order`` has it; none is left out."""
    walked = sorted((axis for axis in axes if axis.size > 1), key=lambda axis: axis.dst)
    beyond = sum((axis.size - 1) * axis.dst for axis in walked) + 1
    return [*walked, *(axis._replace(dst=beyond) for axis in axes if axis.size == 1)]


def ranges_of_pairs(conversion: Conversion, dst: TensorDesc) -> tuple[PairRange, PairRange]:
    """The pairs of both sides: all there are."""
    sides = (conversion.arithmetic.src, conversion.arithmetic.dst)
    ranges = [PairRange(0, 0 if side is None else side.count - 1) for side in sides]
    if sum(each.nbytes for each in ranges) > MOST_PAIR_BYTES:
        raise UnsupportedError(f"scales and zero points of more than {MOST_PAIR_BYTES} bytes, for {dst}")
    return ranges[0], ranges[1]


def _pair_offsets(conversion: Conversion, first: int) -> tuple[int, int]:
    offsets = [0 if place is None else place.strides[0] * first for place in conversion.places]
    return offsets[0], offsets[1]


def pack_crops(walk: list[Walked], crops: Crops, src: TensorDesc, of_columns: MakeTable, of_rows: MakeTable) -> bytes:
    """The storage buffer: header, axes, the tables of columns and of rows, fill."""
    strides = src.strides or ()
    bases = np.zeros(crops.count, np.int64) if crops.images is None else crops.images * strides[0]
    tables = [
        of_columns(crops.columns, strides[crops.axes[1]], np.zeros_like(bases)),
        of_rows(crops.rows, strides[crops.axes[0]], bases),
    ]
    begins, at = [], ROW_WORDS * (HEADER_ROWS + AXIS_ROWS * len(walk))
    for each in tables:
        begins.append(at)
        at += each.size
    head = [len(walk), at, crops.columns.taps, crops.rows.taps]
    head += [begins[0], word(strides[crops.axes[1]]), begins[1], word(strides[crops.axes[0]])]
    for axis in walk:
        head += [axis.size, word(axis.src), word(axis.dst), axis.steps[0], *divisions(axis.size), *divisions(axis.dst)]
        head += [axis.steps[1], *map(word, axis.pairs), axis.channel + (axis.row << 16)]
    itemsize = crops.fill.dtype.itemsize
    fill = crops.fill.view(f"u{min(itemsize, 4)}").astype(np.uint32)
    padding = np.zeros(-(at + fill.size) % ROW_WORDS, np.uint32)
    return np.concatenate([np.array(head, np.uint32), *tables, fill, padding]).tobytes()


def table(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """The words of an axis. Taps outside are not read, wherever their offsets point."""
    taps = 0 if rows.weights is None else rows.taps
    words = np.zeros((*rows.first.shape, row_words(rows)), np.uint32)
    if rows.weights is not None:
        words[:, :, :taps] = rows.weights.view(np.uint32)
    words[:, :, taps] = rows.first * stride + bases[:, np.newaxis] & 0xFFFFFFFF
    words[:, :, taps + 1] = np.where(rows.is_fill, ALL_FILL, rows.inside | rows.end << 16)
    return words.ravel()
