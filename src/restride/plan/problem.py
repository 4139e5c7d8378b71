"""Problem: a strided walk over source and destination in its simplest form, and its encoding as words for a kernel.

Axes are innermost first, as the shaders number them. In the simplest form no axis has size 1, destination strides are
positive and ascending, neighbouring axes that move together are merged, and elements are as wide as alignment allows.

Worked example, a crop of 8 columns out of a u8 image into packed rows, sizes (4, 8), source strides (32, 1),
destination strides (8, 1): nothing merges, since the source skips 24 bytes a row. Widening by 2, 2, 2 gives 8-byte
elements: one axis of size 4 with strides (4, 1), eight times fewer elements to move.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.kernel import Binding, Limits, struct_words
from restride.kernel.shared_constants import (
    AXIS_ROWS,
    END_BIT,
    HEADER_ROWS,
    HELD,
    IS_FILL,
    ROW_BIT,
)
from restride.lru import cached_property
from restride.weights import BoxRows, Rows

PAIR_BYTES = 8
"""Bytes of a scale and a zero point, both f32."""


class BoxSteps(NamedTuple):
    """How far a step along an axis moves in the tables, the fill and the box, if the rows of tables depend on the box.

    tables: rows in the tables of slot 0 and of slot 1. channels: channels of the fill. rows: rows of a box.
    """

    tables: tuple[int, int] = (0, 0)
    channels: int = 0
    rows: int = 0


_NO_STEPS = BoxSteps()


class Axis(NamedTuple):
    """One axis: ``size`` steps, each of which moves the source by ``src`` and the destination by ``dst`` elements.

    With a ``table`` the source index comes from the table instead of the step number, and ``extent`` is the number of
    source indices; ``slot`` then is the axis's number among the resampled axes, counted from the last logical one.
    ``pairs``: by how many pairs of scale and zero point a step moves, in the source's list and in the destination's.
    ``inside``, of a padded axis: the steps that have a source element; in one part of a split problem it may begin
    before or end after the part. None: all.

    With boxes, ``box_rows`` is a table with a row for every step in every box, ``images`` is the index of the image of
    each box, and ``steps`` is how far a step moves in tables and fill.
    """

    size: int
    src: int
    dst: int
    table: Rows | None = None
    extent: int = 0
    slot: int = 0
    pairs: tuple[int, int] = (0, 0)
    inside: range | None = None
    box_rows: BoxRows | None = None
    images: npt.NDArray[np.int64] | None = None
    steps: BoxSteps = _NO_STEPS

    def by(self, count: int) -> Axis:
        """The axis in steps of ``count`` old ones; the last may have fewer."""
        if count == 1:
            return self
        (first, second), channels, rows = self.steps
        walk = -(-self.size // count), self.src * count, self.dst * count
        pairs = self.pairs[0] * count, self.pairs[1] * count
        steps = BoxSteps((first * count, second * count), channels * count, rows * count)
        return Axis(*walk, slot=self.slot, pairs=pairs, box_rows=self.box_rows, images=self.images, steps=steps)

    @property
    def strides(self) -> tuple[int, ...]:
        """How far a step moves in the source, in both lists of pairs and, last, in the destination."""
        return (self.src, *self.pairs, self.dst)

    @property
    def is_plain(self) -> bool:
        """True when every step walks the source by stride."""
        return self.table is None and self.inside is None

    def reads(self) -> tuple[int, int]:
        """The lowest and the highest source index; for a part that is all padding, a nearby index."""
        if self.table is not None:
            return self.table.reads()
        if self.box_rows is not None:
            return self.box_rows.reads()
        if self.images is not None:
            return int(self.images.min()), int(self.images.max())
        if self.inside is None:
            return 0, self.size - 1
        first, last = self.inside[0], self.inside[-1]
        return min(max(first, 0), last), max(min(last, self.size - 1), first)


class Span(NamedTuple):
    """The lowest and the highest offset, both inclusive, of the elements, or pairs, that one side of a problem has."""

    lowest: int
    highest: int

    @property
    def pair_bytes(self) -> int:
        """Bytes of the pairs at these offsets."""
        return (self.highest + 1 - self.lowest) * PAIR_BYTES

    def window(self, itemsize: int, limits: Limits, writes: bool = False) -> Binding:
        """The binding that covers the span, in bytes, for elements of ``itemsize`` bytes."""
        alignment = limits.window_alignment
        start = self.lowest * itemsize // alignment * alignment if alignment else 0
        end = -(-(self.highest + 1) * itemsize // 4) * 4
        return Binding(start, end - start, writes)


@dataclass(frozen=True)
class Problem:
    """Axes, innermost first, and the offsets of index 0: in the elements and in the list of pairs of each side.

    ``itemsize`` is the bytes of a destination element, ``src_itemsize`` those of a source element; 0: the same.
    ``src_bound``: the source elements to bind; None: those that are read.
    """

    axes: tuple[Axis, ...]
    src_offset: int
    dst_offset: int
    itemsize: int
    src_itemsize: int = 0
    pair_offsets: tuple[int, int] = (0, 0)
    src_bound: Span | None = None

    def __post_init__(self) -> None:
        """Replace a ``src_itemsize`` of 0 by ``itemsize``."""
        if not self.src_itemsize:
            object.__setattr__(self, "src_itemsize", self.itemsize)

    def with_axes(self, axes: tuple[Axis, ...]) -> Problem:
        """The problem along other axes."""
        offsets, itemsizes = (self.src_offset, self.dst_offset), (self.itemsize, self.src_itemsize)
        return Problem(axes, *offsets, *itemsizes, self.pair_offsets, self.src_bound)

    @cached_property
    def count(self) -> int:
        """Number of destination elements."""
        return prod([axis.size for axis in self.axes])

    @cached_property
    def src_span(self) -> Span:
        """The source elements that are bound: ``src_bound``, or else the elements that are read."""
        if self.src_bound is not None:
            return self.src_bound
        lowest = highest = self.src_offset
        for axis in self.axes:
            near, far = axis.reads()
            if axis.src < 0:
                near, far = far, near
            lowest += near * axis.src
            highest += far * axis.src
        return Span(lowest, highest)

    @cached_property
    def dst_span(self) -> Span:
        """The destination elements that are written; destination strides are positive."""
        highest = self.dst_offset
        for axis in self.axes:
            highest += (axis.size - 1) * axis.dst
        return Span(self.dst_offset, highest)


def simplify(problem: Problem) -> Problem:
    """The simplest problem that maps the same source elements to the same destination elements.

    The destination must be injective: a zero destination stride on an axis of more than one step has no meaning here.
    """
    src_offset, dst_offset, pair_offsets = problem.src_offset, problem.dst_offset, problem.pair_offsets
    all_inside = [axis if axis.inside is None else _all_inside(axis) for axis in problem.axes]
    moving = [axis for axis in all_inside if axis.size > 1 or not axis.is_plain]
    for position, axis in enumerate(moving):
        if axis.dst < 0:
            # Walk both sides from the other end: dst[9 - i] = src[i] becomes dst[i] = src[9 - i].
            dst_offset += (axis.size - 1) * axis.dst
            pair_offsets = moved(pair_offsets, axis, axis.size - 1)
            back = (-axis.pairs[0], -axis.pairs[1])
            if axis.table is None:
                src_offset += (axis.size - 1) * axis.src
                inside = axis.inside and range(axis.size - axis.inside.stop, axis.size - axis.inside.start)
                moving[position] = axis._replace(src=-axis.src, dst=-axis.dst, pairs=back, inside=inside)
            else:
                moving[position] = axis._replace(table=axis.table.reversed(), dst=-axis.dst, pairs=back)
    axes = _merge(in_order(moving))
    return Problem(axes, src_offset, dst_offset, problem.itemsize, problem.src_itemsize, pair_offsets)


def _all_inside(axis: Axis) -> Axis:
    return axis if axis.inside != range(axis.size) else axis._replace(inside=None)


def moved(pair_offsets: tuple[int, int], axis: Axis, steps: int) -> tuple[int, int]:
    """The pair offsets after ``steps`` steps along an axis."""
    return pair_offsets[0] + steps * axis.pairs[0], pair_offsets[1] + steps * axis.pairs[1]


def in_order(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes sorted by destination stride; axes of one step (kept only for a table or padding) come outermost.

    An axis of one step never moves the destination, so its destination stride is free. A stride past the reach of the
    other axes keeps the strides nested, and makes division by it, like division by the size, give 0.
    """
    walked = sorted([axis for axis in axes if axis.size > 1], key=attrgetter("dst"))
    if len(walked) == len(axes):
        return tuple(walked)
    beyond = sum((axis.size - 1) * axis.dst for axis in walked) + 1
    return (*walked, *(axis._replace(dst=beyond) for axis in axes if axis.size == 1))


def _merge(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    # Sizes (3, 4) with strides (4, 1) on both sides are one axis of 12: 4 == 1 * 4 on both. The outer may be padded.
    merged: list[Axis] = []
    for axis in axes:
        inner = merged[-1] if merged else None
        if (
            inner is not None
            and inner.is_plain
            and axis.table is None
            and axis.strides == tuple(stride * inner.size for stride in inner.strides)
        ):
            inside = axis.inside and range(axis.inside.start * inner.size, axis.inside.stop * inner.size)
            merged[-1] = inner._replace(size=inner.size * axis.size, inside=inside)
        else:
            merged.append(axis)
    return tuple(merged)


def widen(problem: Problem, widest: int) -> Problem:
    """The problem with elements two, four, ... times as wide, up to ``widest`` bytes, as far as alignment allows."""
    while problem.itemsize < widest and _can_widen(problem):
        inner = problem.axes[0]
        inside = inner.inside and range(inner.inside.start // 2, inner.inside.stop // 2)
        inner = inner._replace(size=inner.size // 2, inside=inside)
        outer = tuple(axis._replace(src=axis.src // 2, dst=axis.dst // 2) for axis in problem.axes[1:])
        problem = Problem(
            ((inner,) if inner.size > 1 else ()) + outer,
            problem.src_offset // 2,
            problem.dst_offset // 2,
            problem.itemsize * 2,
        )
    return problem


def _can_widen(problem: Problem) -> bool:
    if not problem.axes:
        return False
    inner, *outer = problem.axes
    inside = range(0) if inner.inside is None else inner.inside
    strides = [stride for axis in outer for stride in (axis.src, axis.dst)]
    numbers = (inner.size, inside.start, inside.stop, problem.src_offset, problem.dst_offset, *strides)
    return inner.src == inner.dst == 1 and not any(number % 2 for number in numbers)


def narrow(problem: Problem) -> Problem:
    """The problem with elements half as wide, of which there are twice as many."""
    pair = Axis(2, 1, 1)
    axes = _merge((pair, *(axis._replace(src=axis.src * 2, dst=axis.dst * 2) for axis in problem.axes)))
    return Problem(axes, problem.src_offset * 2, problem.dst_offset * 2, problem.itemsize // 2)


# The storage buffer of a dispatch: structs of shaders/include/axes.glsl, then tables.

ROW_WORDS = 4
"""Words in a row of the storage buffer: 128 bits. Each part of the buffer, and each row of weights, starts at a row."""


@lru_cache(maxsize=4096)  # different calls often have the same sizes and strides
def multiply_shift(divisor: int) -> tuple[int, int]:
    """Multiplier m and shift s with ``n // divisor == (n * m >> 32) >> s`` for every n below 2^31.

    With l = ceil(log2(divisor)), m = ceil(2^(31 + l) / divisor) exceeds the true quotient by less than 2^l / 2^(31 + l)
    relative, too little to reach the next integer while n < 2^31 (Granlund and Montgomery, 1994).
    divisor 5: l = 3, m = ceil(2^34 / 5) = 3435973837, s = 2. For divisor 1 both are 0: kernels then divide only 0.
    """
    if divisor < 2:
        return 0, 0
    bits = (divisor - 1).bit_length()
    return -(-(1 << (31 + bits)) // divisor), bits - 1


def slot_word(axis: Axis) -> int:
    """The slot of an axis, plus four times the taps of its rows if these have weights."""
    return axis.slot if axis.table is None or axis.table.moves else axis.slot + 4 * axis.table.taps


def pushed_words(axes: Sequence[Axis]) -> Iterator[int]:
    """Axes as push constants, five words each: size, strides, and multiplier and shift of the division by the size."""
    for axis in axes:
        yield from (axis.size, axis.src, axis.dst, *multiply_shift(axis.size))


def _axis_words(shader: str, axis: Axis, src: int, **others: int | tuple[int, int]) -> list[int]:
    """An axis in the storage buffer. src: its source stride. others: members that only some kernels have."""
    divisions = {"divide_by_size": multiply_shift(axis.size), "divide_by_dst_stride": multiply_shift(axis.dst)}
    walk = {"size": axis.size, "src_stride": src, "dst_stride": axis.dst}
    return struct_words(shader, "Axis", **walk, **divisions, **others)


def table_bytes(rows: Rows) -> int:
    """An upper bound of the bytes of ``table_words``, even if rows are later extended to whole quads of taps."""
    return 4 * rows.count * (1 if rows.moves else _row_words((rows.taps + 6) // 4 * 4 + 1))


def table_words(rows: Rows, stride: int) -> npt.NDArray[np.uint32]:
    """The table of an axis, one row for each output index: the weights of its taps, f32 or s32, then their offset.

    The offset is that of the first tap, in source elements modulo 2^32. Rows that only move elements hold the offset
    alone. Linear, half_pixel, 2 -> 3, source stride 4: three rows of two weights, an offset and a word of padding,
    (1, 0, 0, -), (1/2, 1/2, 0, -), (0, 1, 0, -); the second tap of a row is one stride past the first.
    """
    factor = stride % (1 << 32)
    # 64 bits may wrap here: a product modulo 2^64 is still right modulo 2^32, which is what the cast keeps.
    if rows.moves:
        return _table(None, rows.first() * factor)
    first, weights = rows.first_and_weights()
    return _table(weights, first * factor)


def _table(weights: Array | None, *others: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Rows of a table: the weights, if any, then the words ``others``, modulo 2^32."""
    taps = 0 if weights is None else weights.shape[-1]
    count = len(others) if weights is None else _row_words(taps + len(others))
    words = np.zeros((*others[0].shape, count), np.uint32)
    if weights is not None:
        words[..., :taps] = weights.view(np.uint32)
    for place, other in enumerate(others, taps):
        words[..., place] = other
    return words


def _row_words(words: int) -> int:
    """Words of a table row with weights, rounded up to whole rows of the storage buffer."""
    return -(-words // ROW_WORDS) * ROW_WORDS


def pack_parameters(shader: str, axes: Sequence[Axis], divisors: Sequence[int] = ()) -> bytes:
    """The storage buffer of a problem: header, axes, tables. divisors: at most two by which the kernel divides."""
    first, second, *_ = map(multiply_shift, (*divisors, 1, 1))
    divisions = {"divide_by_first": first, "divide_by_second": second}
    head = struct_words(shader, "Header", rank=len(axes), unused=(0, 0, 0), **divisions)
    row = HEADER_ROWS + AXIS_ROWS * len(axes)
    parts: list[bytes] = []
    for axis in axes:
        inside = axis.inside
        steps = {"pairs": axis.pairs} if inside is None else {"inside": (inside.start, len(inside))}
        table = 0 if axis.table is None else row
        head += _axis_words(shader, axis, axis.src, table=table, slot=slot_word(axis), unused=0, **steps)
        if axis.table is not None:
            words = table_words(axis.table, axis.src)
            padding = -words.size % ROW_WORDS
            parts += [words.tobytes(), bytes(4 * padding)]
            row += (words.size + padding) // ROW_WORDS
    return b"".join([struct.pack(f"{len(head)}I", *head), *parts])


# The storage buffer of boxes: structs of shaders/crop/crops.glsl, then tables.

MAX_BOX_STEPS = 1 << ROW_BIT
"""Rows of a box, and channels, must be fewer than this: each has 16 bits in the parameters."""

BoxTable = npt.NDArray[np.uint32]
"""The table of an axis of boxes, an array of shape (boxes, size, words of a row)."""


def box_table_bytes(rows: BoxRows) -> int:
    """Bytes of the table of an axis of boxes."""
    return 4 * rows.first.size * (2 if rows.weights is None else _row_words(rows.taps + 2))


def box_table(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> BoxTable:
    """The weights of each row, the offset of its first tap in the image, and which taps are in the image.

    If no tap is inside, the offset is that of the nearest element, so that every offset can be read. Rows that only
    move elements have no weights. bases: for each box, the source offset of its image.
    """
    index = np.clip(rows.first + rows.inside, 0, rows.extent - 1)
    ranges = rows.inside | rows.end << END_BIT | rows.is_fill * IS_FILL
    if rows.is_held is not None:
        ranges |= rows.is_held * HELD
    return _table(rows.weights, index * stride + bases[:, np.newaxis], ranges)


def pack_boxes(
    shader: str,
    axes: Sequence[Axis],
    tables: Sequence[BoxTable],
    taps: Sequence[int],
    strides: Sequence[int],
    fill: Array,
) -> bytes:
    """The storage buffer of boxes: header, axes, tables, fill.

    tables, taps, strides: for slot 0 (columns) and slot 1 (rows). fill: an element of the source for each channel.
    """
    begin = ROW_WORDS * (HEADER_ROWS + AXIS_ROWS * len(axes))
    begin_of_rows = begin + tables[0].size
    end = begin_of_rows + tables[1].size
    of_columns = {"column_taps": taps[0], "column_table": begin, "column_stride": strides[0]}
    of_rows = {"row_taps": taps[1], "row_table": begin_of_rows, "row_stride": strides[1]}
    head = struct_words(shader, "Header", rank=len(axes), fill_at=end, **of_columns, **of_rows)
    for axis in axes:
        src = axis.src if axis.box_rows is None and axis.images is None else 0
        (first, second), channels, rows = axis.steps
        steps = {"column_step": first, "row_step": second, "channel_and_row_step": channels + (rows << ROW_BIT)}
        head += _axis_words(shader, axis, src, pairs=axis.pairs, **steps)
    fill_words = fill.view(f"u{min(fill.dtype.itemsize, 4)}").astype(np.uint32)
    padding = np.zeros(-(end + fill_words.size) % ROW_WORDS, np.uint32)
    parts = np.array(head, np.uint32), *(table.ravel() for table in tables), fill_words, padding
    return np.concatenate(parts).tobytes()
