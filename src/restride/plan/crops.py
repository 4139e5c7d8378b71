"""Plan of crops: boxes of one image or a batch, each resized to the same sizes, in one dispatch or one for each axis.

The tables of rows and columns have an entry for every output index of every box, so boxes and sizes are data: the
specialization constants follow from element types, the number of axes and how pixels lie. Two kernels resize boxes:

- ``crop_resize`` handles every case, an element or a few channels at a time; ``crop_resize_fixed`` is the same kernel
  with sums of integers.
- ``crop_pixels`` resizes bytes linearly, four columns at a time, with all channels of a pixel. Its tables always name
  two neighbours inside the image. Where a box begins one pixel before its image, taps -1 and 0 with weights 0.75 and
  0.25 become the row 0.25, 0.75, offset 0, HAS_FIRST: elements 0 and 1 are read, and fill replaces the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.convert import Conversion
from restride.plan.dispatches import (
    MAX_COUNT,
    MAX_TABLE_BYTES,
    MOST_PAIR_BYTES,
    Bound,
    Work,
    require_windows,
    rows_each,
    strided_kernel,
    work_of,
)
from restride.plan.problem import (
    AXIS_ROWS,
    HEADER_ROWS,
    MOST_CHANNELS,
    ROW_WORDS,
    Axis,
    Problem,
    Span,
    in_order,
    multiply_shift,
    word,
)
from restride.plan.resample import ELEMENT_COST, FEW_TAPS, LONG, PRODUCT_COST, SHORT_SUM
from restride.plan.steps import Site, Steps
from restride.weights import BoxRows, Crops, Shifts, Sums, moved_rows
from restride.weights.boxes import MOST_TAPS_OF_BOX

MOST_BETWEEN = 1 << 26
"""Most bytes of the buffer between two passes, unless one box alone needs more."""

ROWS = 4
"""Most rows that an invocation makes, where elements are words."""

COLUMNS = 4
"""Columns that an invocation of crop_pixels makes (``COLUMNS`` in shaders/crop/crop_pixels.comp)."""

MOST = 1 << 16
"""Rows of a box, and channels, must be fewer than this: each has 16 bits in the parameters."""

HELD, IS_FILL = 1 << 15, 1 << 31
"""Flags of a table row: all taps read the first one's element; its output is fill (shaders/crop/crop_resize.comp)."""

ALL_FILL = 0xFFFFFFFF
"""The last word of a table row of crop_pixels whose output is fill (``ALL_FILL`` in shaders/crop/crop_pixels.comp)."""

HAS_FIRST, HAS_SECOND, PAST = 1, 2, 4
"""The last word of a table row of crop_pixels: which neighbours are taps, or PAST: there is no such column."""

ANYWHERE, BYTES, RUN, WORD = range(4)
"""Arrangements of the channels of a source pixel in memory (``PIXELS`` in shaders/crop/crop_resize.comp)."""


def boxes_of(desc: TensorDesc, boxes: slice) -> TensorDesc:
    """The part of a strided result that holds a range of the boxes."""
    strides = desc.strides or ()
    sizes = (boxes.stop - boxes.start, *desc.sizes[1:])
    return TensorDesc(desc.dtype, sizes, strides, desc.offset + boxes.start * strides[0])


# From boxes to steps: one pass, or one along each axis with a buffer between them.


def add_crops(steps: Steps, src: Site, dst: Site, crops: Crops, arithmetic: Arithmetic, first: int) -> None:
    """Add the steps that resize the boxes of ``src`` into ``dst``; both are strided, ``dst`` with strides above 0.

    Where ``crops`` sums integers, ``dst`` has elements of 32 bits.

    Args:
        steps: the steps to add to.
        src: one image or a batch.
        dst: its axis 0 counts boxes, the others are those of an image.
        crops: the boxes, and how each is resized.
        arithmetic: applied to the sums.
        first: index of the first box along the scales' axis of boxes.

    Raises:
        UnsupportedError: one box is more than a binding covers, or there are too many channels or scales.
    """
    if _is_one_pass(crops):
        _add_pass(steps, src, dst, crops, arithmetic, first)
        return
    sums, count = crops.sums, crops.count
    front = dst.desc.rank - src.desc.rank  # 1 where the source is one image
    along, across = crops.axes[1] + front, crops.axes[0] + front
    summed, other = crops.columns, crops.rows
    if sums.rows_first:
        along, across, summed, other = across, along, other, summed
    low, many = other.span
    sizes = list(dst.desc.sizes)
    sizes[across] = many
    between = _layout_between(tuple(sizes), sums, (along, across))
    if between.nbytes > MOST_BETWEEN and count > 1:
        for part in (slice(0, count // 2), slice(count // 2, count)):
            of_part = Site(dst.buffer, boxes_of(dst.desc, part))
            add_crops(steps, src, of_part, crops.part(part), arithmetic, first + part.start)
        return
    if between.nbytes > steps.limits.max_buffer_range:
        raise UnsupportedError(f"one box needs {between.nbytes} bytes between its two axes, for {src.desc}")
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
    whole = _Part(
        src.desc, dst.desc, crops, Conversion(src.desc.dtype, dst.desc.dtype, arithmetic), steps.limits, first
    )
    if crops.fill.size >= MOST:
        raise UnsupportedError(f"an image has {crops.fill.size} channels, more than {MOST - 1}: {src.desc}")
    _pair_spans(whole)
    parts = tuple(_parts(whole))  # a box that is too large is refused now, not when kernels are made
    steps.add(src, dst, lambda: tuple(map(_kernel, parts)))


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
    return both <= MOST_TAPS_OF_BOX and size * (PRODUCT_COST * both + ELEMENT_COST) <= in_two


def _layout_between(sizes: tuple[int, ...], sums: Sums, axes: tuple[int, int]) -> TensorDesc:
    """The layout between two passes: f32, s32, or bytes where sums are rounded after the first axis.

    The channels of a pixel of bytes share a word if there are two to four, else each byte has its own word: u8[2,5,3],
    channels last, has strides 20, 4, 1.
    """
    if not sums.rounds:
        return TensorDesc("f32" if sums.shifts is None else "s32", sizes)
    channel = max((axis for axis in range(1, len(sizes)) if axis not in axes), default=None)
    strides, apart = [0] * len(sizes), 4
    if channel is not None:
        in_word = sizes[channel] <= MOST_CHANNELS
        strides[channel] = 1 if in_word else 4
        apart = 4 if in_word else 4 * sizes[channel]
    for axis in reversed(range(len(sizes))):
        if axis != channel:
            strides[axis], apart = apart, apart * sizes[axis]
    return TensorDesc("u8", sizes, strides)


# From a pass to dispatches, each with as many boxes as fit.


class _Part(NamedTuple):
    """Boxes that one dispatch makes. first: index of the first of them along the scales' axis of boxes."""

    src: TensorDesc
    dst: TensorDesc
    crops: Crops
    conversion: Conversion
    limits: Limits
    first: int

    @property
    def src_span(self) -> Span:
        """The source elements to bind: all if a binding covers them, else from the first to the last that is read.

        Kernels read at least two neighbours, also for rows of fill and for taps outside the image, where they read the
        nearest two of the image: for taps 9 and 10 of an axis of size 8, elements 6 and 7.
        """
        src, crops = self.src, self.crops
        if src.nbytes <= self.limits.max_buffer_range:
            return Span(0, src.nbytes // src.dtype.itemsize - 1)
        strides = src.strides or ()
        lowest = highest = np.full(crops.count, src.offset)
        for axis in range(0 if crops.images is None else 1, src.rank):
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

    @property
    def dst_span(self) -> Span:
        """The destination elements that are written."""
        return Span(self.dst.offset, self.dst.offset + _reach(self.dst))

    @property
    def fits(self) -> bool:
        """True if one dispatch can make the boxes."""
        nbytes = table_bytes(self.crops)
        if nbytes > self.limits.max_buffer_range or (nbytes > MAX_TABLE_BYTES and self.crops.count > 1):
            return False
        for span, desc in ((self.src_span, self.src), (self.dst_span, self.dst)):
            nbytes = span.window(desc.dtype.itemsize, self.limits).nbytes
            if nbytes > self.limits.max_buffer_range:
                require_windows(nbytes, self.limits)
                return False
        return _reach(self.dst) < MAX_COUNT


def _reach(desc: TensorDesc) -> int:
    return sum((size - 1) * stride for size, stride in zip(desc.sizes, desc.strides or (), strict=True))


def _parts(whole: _Part) -> Iterator[_Part]:
    """Yield the boxes in parts, halved until each fits."""
    crops = whole.crops
    if whole.fits:
        yield whole
        return
    if crops.count == 1:
        raise UnsupportedError(
            f"one box reads or makes more than the {whole.limits.max_buffer_range} bytes of a binding, or its rows and "
            f"columns have more bytes of weights: {whole.src} to {whole.dst}"
        )
    half = crops.count // 2
    for boxes in (slice(0, half), slice(half, crops.count)):
        dst = boxes_of(whole.dst, boxes)
        yield from _parts(whole._replace(dst=dst, crops=crops.part(boxes), first=whole.first + boxes.start))


def _pair_spans(part: _Part) -> tuple[Span, Span]:
    """The spans of all pairs of scale and zero point, for source and destination."""
    sides = (part.conversion.arithmetic.src, part.conversion.arithmetic.dst)
    spans = [Span(0, 0 if side is None else side.count - 1) for side in sides]
    if sum(each.pair_bytes for each in spans) > MOST_PAIR_BYTES:
        raise UnsupportedError(f"scales and zero points of more than {MOST_PAIR_BYTES} bytes, for {part.dst}")
    return spans[0], spans[1]


# From a dispatch to its kernel: how the destination is walked, which kernel walks it, and its tables.


@dataclass(frozen=True)
class _CropAxis(Axis):
    """An axis of the destination whose steps also move through the tables, the channels and the rows of a box.

    steps: by how many rows a step moves in the tables of columns and of rows. channel, row: by how many channels of
    fill, and by how many rows of a box, a step moves.
    """

    steps: tuple[int, int] = (0, 0)
    channel: int = 0
    row: int = 0

    def by(self, count: int) -> _CropAxis:
        """The axis in steps of ``count`` old ones; the last may have fewer."""
        steps, pairs = ((each[0] * count, each[1] * count) for each in (self.steps, self.pairs))
        size, channel, row = -(-self.size // count), self.channel * count, self.row * count
        walk = size, self.src * count, self.dst * count
        return _CropAxis(*walk, pairs=pairs, steps=steps, channel=channel, row=row)


_NO_LANE = _CropAxis(1, 0, 0)

Words = npt.NDArray[np.uint32]

_MakeTable = Callable[[BoxRows, int, npt.NDArray[np.int64]], Words]
"""Makes the table of an axis, (boxes, size, words of a row), from its rows, its source stride and, for each box, the
source offset of the box's image."""


class _Kernel(NamedTuple):
    """The kernel of a dispatch, and what one invocation of it makes.

    tables: functions that make the tables of columns and of rows. constants: the kernel's own, how the elements of a
    pixel are read and written. makes_rows: an invocation may make up to ROWS rows. backwards: the first channel is the
    last byte of a pixel.
    """

    shader: str
    tables: tuple[_MakeTable, _MakeTable]
    channels: int
    constants: Mapping[str, int]
    columns: int = 1
    makes_rows: bool = True
    backwards: bool = False


def _kernel(part: _Part) -> KernelSpec:
    """The dispatch that makes the boxes of a part."""
    src, crops, conversion = part.src, part.crops, part.conversion
    if crops.sums.shifts is not None:
        part = part._replace(dst=_dst_in_words(part.dst))
    dst, front = part.dst, part.dst.rank - src.rank
    itemsize = dst.dtype.itemsize
    axes, channel = _walked_axes(part)
    kernel = _choose_kernel(part, axes, channel)
    rows, columns = crops.axes[0] + front, crops.axes[1] + front
    lane, row = _NO_LANE, axes[rows]
    if channel is not None and kernel.channels > 1:
        lane = axes[channel]
        axes[channel] = lane.by(kernel.channels)
    if kernel.columns > 1:
        axes[columns] = axes[columns].by(kernel.columns)
        axes[0] = replace(axes[0], steps=(kernel.columns * axes[columns].size, axes[0].steps[1]))
    many_rows = 1
    if kernel.makes_rows and row.size < MOST and not any(row.pairs):
        pieces = prod(axis.size for axis in axes) // row.size
        many_rows = rows_each(row.size, pieces, prod(dst.sizes), part.limits.choices, ROWS)
    axes[rows] = row.by(many_rows)
    walk = in_order(axes)
    windows = (
        part.src_span.window(src.dtype.itemsize, part.limits),
        part.dst_span.window(itemsize, part.limits, writes=True),
    )
    earlier = windows[0].offset // src.dtype.itemsize + kernel.backwards * (kernel.channels - 1)
    bound = Bound(windows, word(src.offset - earlier), dst.offset - windows[1].offset // itemsize)
    work = Work(own_words=False, pieces=prod(axis.size for axis in walk), first=0)
    if kernel.shader != "crop_pixels":
        work = work_of(Problem(walk, 0, dst.offset, itemsize), bound)
    # Integer sums, and elements that are only moved, are integers where the source's elements are.
    are_elements = crops.sums.shifts is not None or crops.rows.weights is None
    constants = {
        **(conversion.constants_of_elements if are_elements else conversion.constants),
        **kernel.constants,
        "SLOTS_AND_KIND": _slots(crops),
        "CHANNELS": kernel.channels,
        "ALL_CHANNELS": not any(axis.size > 1 and (any(axis.pairs) or at == channel) for at, axis in enumerate(axes)),
        "ROWS": many_rows,
    }
    if kernel.shader != "crop_pixels":
        constants |= {"BITS": 8 * itemsize, "OWN_WORDS": work.own_words}
    push = {
        **bound.bases,
        "pieces": work.pieces,
        "first_word": work.first,
        "lane_stride": word(lane.src),
        "src_pair_lane": word(lane.pairs[0]),
        "dst_pair_lane": word(lane.pairs[1]),
        "lane_dst": lane.dst,
        "box_rows": row.size,
        "row_dst": row.dst,
    }
    offsets = [0 if place is None else place.strides[0] * part.first for place in conversion.places]
    packed = _packed(walk, crops, src, kernel.tables)
    scaled, parameters = conversion.with_scales(
        push, packed, (offsets[0], offsets[1]), _pair_spans(part), crops.sums.shifts
    )
    return strided_kernel(kernel.shader, walk, constants, scaled, windows, part.limits, parameters=parameters)


def _slots(crops: Crops) -> int:
    """SLOTS_AND_KIND: the number of tables with weights, that of columns first, with a bit for each long sum."""
    weighed = [side for side in (crops.columns, crops.rows) if side.weights is not None]
    are_long = [not crops.sums.in_order and side.taps > SHORT_SUM for side in weighed]
    return len(weighed) + sum(LONG << slot for slot, is_long in enumerate(are_long) if is_long)


def _dst_in_words(dst: TensorDesc) -> TensorDesc:
    """The destination with strides in words; channels that share a word have stride 0."""
    if dst.dtype.itemsize == 4:
        return dst
    return TensorDesc("u32", dst.sizes, [stride // 4 for stride in dst.strides or ()], dst.offset // 4)


def _walked_axes(part: _Part) -> tuple[list[_CropAxis], int | None]:
    """The axes of the destination in its order, and the position of that of channels; None: there is none."""
    src, dst, crops, conversion = part.src, part.dst, part.crops, part.conversion
    src_strides, dst_strides = src.strides or (), dst.strides or ()
    rows, columns = crops.rows.first.shape[1], crops.columns.first.shape[1]
    pairs = [(0,) * dst.rank if place is None else place.strides for place in conversion.places]
    axes = [_CropAxis(crops.count, 0, dst_strides[0], steps=(columns, rows), pairs=(pairs[0][0], pairs[1][0]))]
    front = dst.rank - src.rank
    channel = max((place for place in range(1, dst.rank) if place - front not in crops.axes), default=None)
    for place in range(1, dst.rank):
        axis, of_axis = place - front, (pairs[0][place], pairs[1][place])
        if axis in crops.axes:
            steps = (0, 1) if axis == crops.axes[0] else (1, 0)
            axes.append(_CropAxis(dst.sizes[place], 0, dst_strides[place], steps=steps, pairs=of_axis, row=steps[1]))
        else:
            walk = dst.sizes[place], src_strides[axis], dst_strides[place]
            axes.append(_CropAxis(*walk, pairs=of_axis, channel=int(place == channel)))
    return axes, channel


def _choose_kernel(part: _Part, axes: list[_CropAxis], channel: int | None) -> _Kernel:
    """The kernel for boxes that are walked along ``axes``."""
    lane = _NO_LANE if channel is None else axes[channel]
    is_fixed = part.crops.sums.shifts is not None
    by_pixels = None if is_fixed else _by_pixels(part, axes, lane, channel)
    if by_pixels is not None:
        return by_pixels
    is_packed = is_fixed and part.conversion.dst.itemsize == 1  # the channels of a pixel share a word
    are_words = part.dst.dtype.itemsize == 4
    has_one = not are_words or (is_packed and lane.size > MOST_CHANNELS)
    channels = 1 if has_one else _channels_per_invocation(lane.size)
    kind, backwards = _pixels(part, lane, channel, channels)
    return _Kernel(
        "crop_resize_fixed" if is_fixed else "crop_resize",
        (table, table),
        channels,
        {"TAPS": part.crops.few_taps, "PIXELS": kind, "BACKWARDS": backwards},
        makes_rows=are_words,
        backwards=backwards,
    )


def _channels_per_invocation(channels: int) -> int:
    """Number of channels that an invocation makes: the largest, up to MOST_CHANNELS, that divides ``channels``."""
    return next(count for count in range(MOST_CHANNELS, 0, -1) if channels % count == 0)


def _by_pixels(part: _Part, axes: list[_CropAxis], lane: _CropAxis, channel: int | None) -> _Kernel | None:
    """crop_pixels, if bytes are resized linearly and channels or columns of the destination lie side by side."""
    src, dst, crops = part.src, part.dst, part.crops
    if crops.few_taps != 2 or src.dtype.name not in ("u8", "s8") or dst.dtype.itemsize > 4:
        return None
    if min(rows.extent.min() for rows in (crops.rows, crops.columns)) < 2:
        return None
    if dst.dtype.itemsize == 4 and not part.limits.choices.neighbours:
        return None  # one pixel an invocation needs a third of the registers, and no load waits for another
    place = crops.axes[1] + dst.rank - src.rank
    column, src_stride = axes[place], (src.strides or ())[crops.axes[1]]
    channels = lane.size if lane.src == 1 and lane.size == src_stride <= MOST_CHANNELS else 1
    by_pixels = channels > 1 and lane.dst == 1
    if any(column.pairs) or src_stride != channels or column.dst != (channels if by_pixels else 1):
        return None
    side_by_side = {place, channel} if by_pixels else {place}
    strides = [axis.dst for at, axis in enumerate(axes) if at not in side_by_side and axis.size > 1]
    is_aligned = not any(number % COLUMNS for number in (dst.offset, column.size, *strides))
    if not is_aligned and dst.dtype.itemsize < 4:
        return None
    constants = {"BY_PIXELS": by_pixels, "ALIGNED": is_aligned}
    return _Kernel("crop_pixels", (table_of_columns_of_pixels, table_of_pixels), channels, constants, COLUMNS)


def _pixels(part: _Part, lane: _CropAxis, channel: int | None, channels: int) -> tuple[int, bool]:
    """How an invocation reads so many channels of a pixel, and whether from the last one on."""
    src, strides = part.src, part.src.strides or ()
    if part.crops.columns.weights is None or src.dtype.itemsize > 1 or (channels > 1 and abs(lane.src) != 1):
        return ANYWHERE, False
    backwards = channels > 1 and lane.src < 0
    lowest = src.offset - backwards * (channels - 1)
    front = part.dst.rank - src.rank
    others = [stride for place, stride in enumerate(strides) if place + front != channel]
    if lane.size == channels and not any(number % 4 for number in (lowest, *others)):
        return WORD, backwards
    return RUN if strides[part.crops.axes[1]] == channels else BYTES, backwards


def _packed(walk: Sequence[_CropAxis], crops: Crops, src: TensorDesc, make: tuple[_MakeTable, _MakeTable]) -> bytes:
    """The storage buffer: header, axes, the tables of columns and of rows, fill."""
    strides = src.strides or ()
    bases = np.zeros(crops.count, np.int64) if crops.images is None else crops.images * strides[0]
    to_row, to_column = (strides[axis] for axis in crops.axes)
    tables = [
        make[0](crops.columns, to_column, np.zeros_like(bases)).ravel(),
        make[1](crops.rows, to_row, bases).ravel(),
    ]
    begin = ROW_WORDS * (HEADER_ROWS + AXIS_ROWS * len(walk))
    begin_of_rows = begin + tables[0].size
    end = begin_of_rows + tables[1].size
    head = [len(walk), end, crops.columns.taps, crops.rows.taps, begin, word(to_column), begin_of_rows, word(to_row)]
    for axis in walk:
        head += [axis.size, word(axis.src), word(axis.dst), axis.steps[0]]
        head += [*multiply_shift(axis.size), *multiply_shift(axis.dst)]
        head += [axis.steps[1], *map(word, axis.pairs), axis.channel + (axis.row << 16)]
    fill = crops.fill.view(f"u{min(crops.fill.dtype.itemsize, 4)}").astype(np.uint32)
    padding = np.zeros(-(end + fill.size) % ROW_WORDS, np.uint32)
    return np.concatenate([np.array(head, np.uint32), *tables, fill, padding]).tobytes()


def table_bytes(crops: Crops) -> int:
    """Bytes of the tables."""
    return sum(4 * rows.first.size * _row_words(rows) for rows in (crops.rows, crops.columns))


def _row_words(rows: BoxRows) -> int:
    """Words of a table's row: weights, offset and range, rounded up to whole fours; two without weights."""
    return 2 if rows.weights is None else -(-(rows.taps + 2) // ROW_WORDS) * ROW_WORDS


def table(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """The table of crop_resize: weights, offset of the first tap in the image, and which taps are in the image.

    Where none is, the offset is that of the nearest element, so that every offset can be read. Rows that only move
    elements have no weights.
    """
    taps = 0 if rows.weights is None else rows.taps
    words = np.zeros((*rows.first.shape, _row_words(rows)), np.uint32)
    if rows.weights is not None:
        words[:, :, :taps] = rows.weights.view(np.uint32)
    index = np.clip(rows.first + rows.inside, 0, rows.extent - 1)
    words[:, :, taps] = index * stride + bases[:, np.newaxis]  # modulo 2^32
    words[:, :, taps + 1] = rows.inside | rows.end << 16 | rows.is_fill * IS_FILL
    if rows.is_held is not None:
        words[:, :, taps + 1] |= (rows.is_held * HELD).astype(np.uint32)
    return words


def table_of_pixels(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """The table of crop_pixels: two weights, the offset of the first neighbour, and which neighbours are taps.

    Where the second tap is the first neighbour, or the first tap the second neighbour, the weights change places: a sum
    of two is the same in either order.
    """
    if rows.weights is None:
        raise AssertionError("crops of pixels have weights")
    words = np.empty((*rows.first.shape, ROW_WORDS), np.uint32)
    words[:, :, :2] = rows.weights.view(np.uint32)
    words[:, :, 3] = HAS_FIRST + HAS_SECOND
    near = rows.first
    if rows.inside.any() or rows.end.min() < 2:
        near = np.clip(rows.first, 0, rows.extent - 2)
        has_first, has_second = (rows.inside == 0) & (rows.end > 0), (rows.inside <= 1) & (rows.end == 2)
        words[:, :, 3] = HAS_FIRST * has_first + HAS_SECOND * has_second
        changes = near != rows.first
        words[changes, :2] = words[changes, 1::-1]
        words[changes, 3] = (HAS_FIRST * has_second + HAS_SECOND * has_first)[changes]
    words[:, :, 2] = near * stride + bases[:, np.newaxis]  # modulo 2^32
    if rows.is_fill.any():
        words[rows.is_fill, 3] = ALL_FILL
    return words


def table_of_columns_of_pixels(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """``table_of_pixels`` with the columns of a box padded to whole fours: copies of the last one, marked PAST."""
    words = table_of_pixels(rows, stride, bases)
    past = -words.shape[1] % COLUMNS
    if not past:
        return words
    padded = np.concatenate([words, np.repeat(words[:, -1:], past, axis=1)], axis=1)
    padded[:, -past:, 3] = PAST
    return padded
