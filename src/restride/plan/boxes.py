"""Plan that resizes boxes of one image or a batch, all to one size, in one pass or in one pass for each axis.

The tables of rows and columns have an entry for every output index of every box, so boxes and sizes are data: the
specialization constants depend only on element types, the number of axes and the layout of pixels. Two kernels resize
boxes:

- ``crop_resize`` handles every case, an element or a few channels at a time; ``crop_resize_fixed`` is the same kernel
  with sums of integers.
- ``crop_pixels`` resizes bytes linearly, four columns at a time, with all channels of a pixel.

The ``resample`` kernel is not used, because its invocations load and compute one element at a time. For boxes it would
take 3 to 4.6 times as long on llvmpipe, and 2.2 times if elements are only moved; these two kernels reuse each load for
several channels, rows and taps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.kernel.shared_constants import (
    BOX_COLUMNS,
    LONG_SLOT,
    MAX_CHANNELS,
    MAX_ROWS_OF_BOX,
    PAST,
    PIXELS_ADJACENT,
    PIXELS_APART,
    PIXELS_BYTES,
    PIXELS_IN_WORDS,
    SHORT_SUM,
)
from restride.layout import TensorDesc
from restride.layout.views import part
from restride.plan.convert import Conversion
from restride.plan.dispatches import (
    MAX_PAIR_BYTES,
    MAX_TABLE_BYTES,
    axis_to_cut,
    bind,
    pair_spans,
    rows_each,
    strided_kernel,
    work_of,
)
from restride.plan.problem import (
    MAX_BOX_STEPS,
    PAIR_BYTES,
    Axis,
    BoxSteps,
    BoxTable,
    Problem,
    Span,
    box_table,
    box_table_bytes,
    in_order,
    pack_boxes,
)
from restride.plan.resample import ELEMENT_COST, FEW_TAPS, PRODUCT_COST
from restride.plan.steps import Site, Steps
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.weights import Crops, Shifts, Sums, moved_rows
from restride.weights.boxes import MAX_TAPS_OF_BOX

MAX_BETWEEN = 1 << 26
"""Maximum size in bytes of the buffer between two passes, unless one box alone needs more."""


def boxes_of(desc: TensorDesc, boxes: slice) -> TensorDesc:
    """The part of a strided result that a range of the boxes fills."""
    return part(desc, [range(boxes.start, boxes.stop), *map(range, desc.sizes[1:])])


# Steps for all boxes: one pass, or one along each axis with a buffer between them.


def add_crops(steps: Steps, src: Site, dst: Site, crops: Crops, arithmetic: Arithmetic, first: int) -> None:
    """Add the steps that resize the boxes of ``src`` into ``dst``; both are strided, ``dst`` with strides above 0.

    Where ``crops`` sums integers, ``dst`` has elements of 32 bits.

    Args:
        steps: the steps to add to.
        src: one image or a batch.
        dst: its axis 0 counts boxes, the others are those of an image.
        crops: the boxes, and how each is resized.
        arithmetic: applied to the sums.
        first: number of the first box among all boxes of the call; scales may differ from box to box.

    Raises:
        UnsupportedError: one box is larger than a binding, or there are too many channels or scales.
    """
    if _is_one_pass(crops):
        _add_pass(steps, src, dst, crops, arithmetic, first)
        return
    sums, count = crops.sums, crops.count
    front = dst.desc.rank - src.desc.rank  # 1 if the source is one image without a batch axis
    along, across = crops.axes[1] + front, crops.axes[0] + front
    summed, other = crops.columns, crops.rows
    if sums.rows_first:
        along, across, summed, other = across, along, other, summed
    low, many = other.span
    sizes = list(dst.desc.sizes)
    sizes[across] = many
    between = _layout_between(tuple(sizes), sums, (along, across))
    if between.nbytes > MAX_BETWEEN and count > 1:
        for half in (slice(0, count // 2), slice(count // 2, count)):
            of_half = Site(dst.buffer, boxes_of(dst.desc, half))
            add_crops(steps, src, of_half, crops.part(half), arithmetic, first + half.start)
        return
    if between.nbytes > steps.limits.max_buffer_range:
        raise UnsupportedError(
            f"one box needs {between.nbytes} bytes between its two passes, more than the "
            f"{steps.limits.max_buffer_range} bytes that a binding covers, for {src.desc}"
        )
    as_read = moved_rows(low[:, np.newaxis] + np.arange(many), np.zeros((count, many), np.bool_), other.extent)
    size = summed.first.shape[1]
    as_made = moved_rows(np.tile(np.arange(size), (count, 1)), summed.is_fill, np.full((count, 1), size))
    exact = sums if sums.shifts is None or sums.rounds else sums._replace(shifts=Shifts())
    one = replace(crops, few_taps=0, rows=as_read, columns=summed, axes=(across - front, along - front), sums=exact)
    two = replace(
        crops, few_taps=0, rows=as_made, columns=other.within(low, many), axes=(along, across),
        images=np.arange(count), fill=crops.fill.astype(between.dtype.dtype),
    )  # fmt: skip
    site = steps.new(between)
    _add_pass(steps, src, site, one, NO_ARITHMETIC, first)
    _add_pass(steps, site, dst, two, arithmetic, first)


def _add_pass(steps: Steps, src: Site, dst: Site, crops: Crops, arithmetic: Arithmetic, first: int) -> None:
    limits, conversion = steps.limits, Conversion(src.desc.dtype, dst.desc.dtype, arithmetic)
    if crops.fill.size >= MAX_BOX_STEPS:
        raise UnsupportedError(f"an image has {crops.fill.size} channels, more than {MAX_BOX_STEPS - 1}: {src.desc}")
    if (
        sum(0 if each is None else each.count * PAIR_BYTES for each in (arithmetic.src, arithmetic.dst))
        > MAX_PAIR_BYTES
    ):
        raise UnsupportedError(f"the scales and zero points take more than {MAX_PAIR_BYTES} bytes, for {dst.desc}")
    made = dst.desc if crops.sums.shifts is None else _in_words(dst.desc)
    parts = tuple(_parts(src.desc, made, crops, conversion, limits, first))  # fails here if the problem is too large
    steps.add(src, dst, lambda: tuple(_kernel(problem, crops, conversion, limits) for problem, crops in parts))


def _is_one_pass(crops: Crops) -> bool:
    if crops.sums.shifts is not None:
        return crops.few_taps > 0
    rows, columns = crops.rows, crops.columns
    both = rows.taps * columns.taps
    if both <= FEW_TAPS:
        return True
    size = rows.first.shape[1]
    _, height = rows.span
    in_two = height * (columns.taps + ELEMENT_COST) + size * (rows.taps + ELEMENT_COST)
    return both <= MAX_TAPS_OF_BOX and size * (PRODUCT_COST * both + ELEMENT_COST) <= in_two


def _layout_between(sizes: tuple[int, ...], sums: Sums, axes: tuple[int, int]) -> TensorDesc:
    """The layout between two passes: f32, s32, or bytes if sums are rounded after the first axis.

    The channels of a pixel of bytes share a word if there are two to four, else each byte has its own word: u8[2,5,3],
    channels last, has strides 20, 4, 1.
    """
    if not sums.rounds:
        return TensorDesc("f32" if sums.shifts is None else "s32", sizes)
    channel = max((axis for axis in range(1, len(sizes)) if axis not in axes), default=None)
    strides, apart = [0] * len(sizes), 4
    if channel is not None:
        in_word = sizes[channel] <= MAX_CHANNELS
        strides[channel] = 1 if in_word else 4
        apart = 4 if in_word else 4 * sizes[channel]
    for axis in reversed(range(len(sizes))):
        if axis != channel:
            strides[axis], apart = apart, apart * sizes[axis]
    return TensorDesc("u8", sizes, strides)


# The dispatches of a pass, each with as many boxes as fit.


def _parts(
    src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion, limits: Limits, first: int
) -> Iterator[tuple[Problem, Crops]]:
    """Yield the problem in parts: the range of boxes is halved until each part fits one dispatch."""
    problem = _problem(src, dst, crops, conversion, limits, first)
    if _fits(problem, crops, limits):
        yield problem, crops
        return
    if crops.count == 1:
        raise UnsupportedError(
            f"one box reads or makes more than the {limits.max_buffer_range} bytes of a binding, or its rows and "
            f"columns have more bytes of weights: {src} to {dst}"
        )
    half = crops.count // 2
    for boxes in (slice(0, half), slice(half, crops.count)):
        yield from _parts(src, boxes_of(dst, boxes), crops.part(boxes), conversion, limits, first + boxes.start)


def _problem(
    src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion, limits: Limits, first: int
) -> Problem:
    """The problem of boxes. It has the destination's axes in their order: the boxes, then the axes of an image.

    first: as in ``add_crops``.
    """
    src_strides, dst_strides = src.strides or (), dst.strides or ()
    of_src, of_dst = ((0,) * dst.rank if place is None else place.strides for place in conversion.places)
    pairs = list(zip(of_src, of_dst, strict=True))
    to_image = 0 if crops.images is None else src_strides[0]
    rows, columns = crops.rows, crops.columns
    of_box = BoxSteps((columns.first.shape[1], rows.first.shape[1]))
    axes = [Axis(crops.count, to_image, dst_strides[0], pairs=pairs[0], images=crops.images, steps=of_box)]
    front = dst.rank - src.rank
    channel = max((place for place in range(1, dst.rank) if place - front not in crops.axes), default=None)
    for place in range(1, dst.rank):
        walk, of_axis = (dst.sizes[place], src_strides[place - front], dst_strides[place]), pairs[place]
        if place - front == crops.axes[0]:
            axes.append(Axis(*walk, slot=1, pairs=of_axis, box_rows=rows, steps=BoxSteps((0, 1), rows=1)))
        elif place - front == crops.axes[1]:
            axes.append(Axis(*walk, slot=0, pairs=of_axis, box_rows=columns, steps=BoxSteps((1, 0))))
        else:
            axes.append(Axis(*walk, pairs=of_axis, steps=BoxSteps(channels=int(place == channel))))
    is_bound_whole = src.nbytes <= limits.max_buffer_range
    return Problem(
        tuple(axes),
        src.offset,
        dst.offset,
        dst.dtype.itemsize,
        src.dtype.itemsize,
        pair_offsets=(of_src[0] * first, of_dst[0] * first),
        src_bound=Span(0, src.nbytes // src.dtype.itemsize - 1) if is_bound_whole else None,
    )


def _fits(problem: Problem, crops: Crops, limits: Limits) -> bool:
    """True if one dispatch can compute all the boxes."""
    nbytes = table_bytes(crops)
    if nbytes > limits.max_buffer_range or (nbytes > MAX_TABLE_BYTES and crops.count > 1):
        return False
    return axis_to_cut(problem, limits) is None


def table_bytes(crops: Crops) -> int:
    """Size of the tables in bytes."""
    return box_table_bytes(crops.rows) + box_table_bytes(crops.columns)


# The kernel of a problem: what an invocation computes, and how it reads pixels.


class _Invocation(NamedTuple):
    """The output of one invocation: a number of channels and columns, in up to ``rows`` rows of a box.

    constants: specialization constants that only this shader has: how it reads and writes the elements of a pixel.
    backwards: the first channel is the last byte of a pixel.
    """

    shader: str
    constants: Mapping[str, int]
    channels: int
    columns: int = 1
    rows: int = MAX_ROWS_OF_BOX
    backwards: bool = False


def _kernel(problem: Problem, crops: Crops, conversion: Conversion, limits: Limits) -> KernelSpec:
    """The dispatch that computes the boxes of a problem."""
    axes = list(problem.axes)
    by_slot = {axis.slot: place for place, axis in enumerate(axes) if axis.box_rows is not None}
    rows, columns = by_slot[1], by_slot[0]
    channel = next((place for place, axis in enumerate(axes) if axis.steps.channels), None)
    lane = _NO_LANE if channel is None else axes[channel]
    made = _invocation(problem, columns, lane, crops, conversion, limits)
    row, column, image = axes[rows], axes[columns], axes[0]
    if channel is None or made.channels == 1:
        lane = _NO_LANE
    else:
        axes[channel] = lane.by(made.channels)
    if made.columns > 1:
        axes[columns] = column.by(made.columns)
        of_box = (made.columns * axes[columns].size, image.steps.tables[1])
        axes[0] = image._replace(steps=BoxSteps(of_box))
    many_rows = 1
    if row.size < MAX_BOX_STEPS and not any(row.pairs):
        pieces = prod(axis.size for axis in axes) // row.size
        many_rows = rows_each(row.size, pieces, problem.count, limits.choices, made.rows)
    axes[rows] = row.by(many_rows)
    walk = in_order(axes)
    bound = bind(problem, limits)
    is_fixed, is_pixels = crops.sums.shifts is not None, made.shader == "crop_pixels"
    if is_pixels:
        of_destination, pushed = dict[str, int](), {"pieces": prod(axis.size for axis in walk)}
    else:
        work = work_of(Problem(walk, 0, problem.dst_offset, problem.itemsize), bound)
        of_destination, pushed = work.constants, work.push
    # Sums of integers, and elements that are only moved, stay integers if the source's elements are integers.
    are_elements = is_fixed or crops.columns.weights is None
    constants = {
        **(conversion.constants_of_elements if are_elements else conversion.constants),
        **of_destination,
        **made.constants,
        "SLOTS_AND_KIND": _slots(crops),
        "CHANNELS": made.channels,
        "ALL_CHANNELS": not any(axis.size > 1 and (any(axis.pairs) or axis.steps.channels) for axis in axes),
        "ROWS": many_rows,
    }
    push = {
        "src_base": bound.src_base - made.backwards * (made.channels - 1),
        "dst_base": bound.dst_base,
        **pushed,
        "lane_stride": lane.src,
        "src_pair_lane": lane.pairs[0],
        "dst_pair_lane": lane.pairs[1],
        "lane_dst": lane.dst,
        "box_rows": row.size,
        "row_dst": row.dst,
    }
    bases = np.zeros(crops.count, np.int64) if crops.images is None else crops.images * image.src
    tables = [box_table(crops.columns, column.src, np.zeros_like(bases)), box_table(crops.rows, row.src, bases)]
    if made.columns > 1:
        tables[0] = _in_quads(tables[0])
    taps = crops.columns.taps, crops.rows.taps
    packed = pack_boxes(made.shader, walk, tables, taps, (column.src, row.src), crops.fill)
    scaled, parameters = conversion.with_scales(
        push, packed, problem.pair_offsets, pair_spans(problem), crops.sums.shifts
    )
    return strided_kernel(made.shader, walk, constants, scaled, bound.windows, limits, parameters=parameters)


_NO_LANE = Axis(1, 0, 0)


def _slots(crops: Crops) -> int:
    """SLOTS_AND_KIND: the number of tables with weights, and a bit for each with long sums; columns come first."""
    weighed = [side for side in (crops.columns, crops.rows) if side.weights is not None]
    are_long = [not crops.sums.in_order and side.taps > SHORT_SUM for side in weighed]
    return len(weighed) + sum(LONG_SLOT << slot for slot, is_long in enumerate(are_long) if is_long)


def _in_words(dst: TensorDesc) -> TensorDesc:
    """The destination with strides in words; channels that share a word have stride 0."""
    if dst.dtype.itemsize == 4:
        return dst
    return TensorDesc("u32", dst.sizes, [stride // 4 for stride in dst.strides or ()], dst.offset // 4)


def _invocation(
    problem: Problem, columns: int, lane: Axis, crops: Crops, conversion: Conversion, limits: Limits
) -> _Invocation:
    """What one invocation computes. columns: position of the axis of columns. lane: the axis of channels."""
    is_fixed = crops.sums.shifts is not None
    by_pixels = None if is_fixed else _by_pixels(problem, columns, lane, crops, conversion, limits)
    if by_pixels is not None:
        return by_pixels
    is_packed = is_fixed and conversion.dst.itemsize == 1  # the channels of a pixel share a word
    are_words = problem.itemsize == 4
    has_one = not are_words or (is_packed and lane.size > MAX_CHANNELS)
    channels = 1 if has_one else _channels_per_invocation(lane.size)
    kind, backwards = (
        _pixels(problem, columns, lane, channels) if crops.columns.weights is not None else (PIXELS_APART, False)
    )
    constants = {"TAPS": crops.few_taps, "PIXELS": kind, "CHANNELS_BACKWARDS": backwards}
    shader = "crop_resize_fixed" if is_fixed else "crop_resize"
    return _Invocation(shader, constants, channels, rows=MAX_ROWS_OF_BOX if are_words else 1, backwards=backwards)


def _channels_per_invocation(channels: int) -> int:
    """Channels per invocation: the largest divisor of ``channels`` up to MAX_CHANNELS."""
    return next(count for count in range(MAX_CHANNELS, 0, -1) if channels % count == 0)


def _by_pixels(
    problem: Problem, columns: int, lane: Axis, crops: Crops, conversion: Conversion, limits: Limits
) -> _Invocation | None:
    """The invocation of crop_pixels; None unless bytes are resized linearly to adjacent channels or columns."""
    if crops.few_taps != 2 or conversion.src.name not in ("u8", "s8") or problem.itemsize > 4:
        return None
    # On a GPU crop_resize needs a third of the registers with one pixel per invocation, and no load waits for another.
    if problem.itemsize == 4 and not limits.choices.neighbours:
        return None
    column = problem.axes[columns]
    channels = lane.size if lane.src == 1 and lane.size == column.src <= MAX_CHANNELS else 1
    by_pixels = channels > 1 and lane.dst == 1
    if any(column.pairs) or column.src != channels or column.dst != (channels if by_pixels else 1):
        return None
    side_by_side = (column, lane) if by_pixels else (column,)
    strides = [axis.dst for axis in problem.axes if axis.size > 1 and not any(axis is each for each in side_by_side)]
    is_aligned = not any(number % BOX_COLUMNS for number in (problem.dst_offset, column.size, *strides))
    if not is_aligned and problem.itemsize < 4:
        return None
    # Keeping the sums of a row for the next rows takes 144 registers on an NVIDIA GPU; a single row takes 64.
    rows = MAX_ROWS_OF_BOX if limits.choices.neighbours else 1
    return _Invocation("crop_pixels", {"BY_PIXELS": by_pixels, "WHOLE_QUADS": is_aligned}, channels, BOX_COLUMNS, rows)


def _pixels(problem: Problem, columns: int, lane: Axis, channels: int) -> tuple[int, bool]:
    """How an invocation reads the channels of a pixel, and whether it begins with the last channel."""
    if problem.src_itemsize > 1 or (channels > 1 and abs(lane.src) != 1):
        return PIXELS_APART, False
    backwards = channels > 1 and lane.src < 0
    others = [axis.src for axis in problem.axes if axis is not lane]
    lowest = problem.src_offset - backwards * (channels - 1)
    if lane.size == channels and not any(number % 4 for number in (lowest, *others)):
        return PIXELS_IN_WORDS, backwards
    return PIXELS_ADJACENT if problem.axes[columns].src == channels else PIXELS_BYTES, backwards


def _in_quads(table: BoxTable) -> BoxTable:
    """The table of columns, padded to a multiple of four per box with copies of the last column, marked PAST."""
    past = -table.shape[1] % BOX_COLUMNS
    if not past:
        return table
    padded = np.concatenate([table, np.repeat(table[:, -1:], past, axis=1)], axis=1)
    padded[:, -past:, 3] = PAST
    return padded
