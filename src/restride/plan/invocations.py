"""Invocations of a resampling: each makes rows, or loads four taps or four neighbours at once, or makes one element.

All write the same bits, but for the sign of a NaN. The first that fits a problem is the fastest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from restride.kernel import Limits
from restride.plan.axes import Axis, Problem
from restride.plan.boxes import bind
from restride.plan.elements import work_of
from restride.plan.tables import Table

ROWS = 8
"""Rows of an invocation (``ROWS`` in shaders/resample_rows.comp and shaders/resample_fours.comp)."""

_MOST_CHANNELS = 4
"""Of a pixel (``MOST_CHANNELS`` in shaders/resample_fours.comp)."""

_MOST_TAPS = 4
"""Of a sum by rows along every axis (``MOST_TAPS`` in shaders/resample_rows.comp): sums of more are loops."""

_MOST_IN_RUN = 8
"""Elements that neighbours read together (``MOST_IN_RUN`` in shaders/include/runs.glsl)."""


_LINE_BYTES = 64
"""Of a cache."""


class Invocations(NamedTuple):
    """What ``total`` invocations of a shader make of a problem.

    owned: specialization constant 1: whether words are owned, by elements; elements of a piece, by rows; else 0.
    axes: constants from 7 on, what the kernel knows of the axes.
    first, lane_stride: push constants; by rows and by taps, the pieces of a row and the blocks of rows.
    """

    shader: str
    problem: Problem
    total: int
    first: int
    lane_stride: int
    owned: int
    axes: tuple[int, ...] = ()

    @property
    def are_elements(self) -> bool:
        """True where each makes one element, or the elements of one word."""
        return self.shader in ("resample", "resample_fixed")


def invocations(problem: Problem, limits: Limits) -> Invocations:
    """The invocations that make a problem in one dispatch."""
    if any(axis.table is not None and axis.table.rows.shifts is not None for axis in problem.axes):
        found = by_taps(problem, limits) or by_neighbours(problem) or by_elements(problem, limits)
        return found._replace(shader=f"{found.shader}_fixed")
    return (
        by_rows(problem, limits) or by_taps(problem, limits) or by_neighbours(problem) or by_elements(problem, limits)
    )


def by_elements(problem: Problem, limits: Limits) -> Invocations:
    """An element or a word of the destination each: anything that fits one dispatch."""
    work = work_of(problem, bind(problem, limits))
    return Invocations("resample", problem, work.pieces, work.first, 0, int(work.own_words))


def by_rows(problem: Problem, limits: Limits) -> Invocations | None:
    """Eight rows each, which share what they sum inside a row; few taps along every axis.

    u8[3,224,224] to u8[3,1080,1920]: axis 0 has 1920 elements, 240 pieces of eight, which read runs of three; axis 1
    has 1080 rows, 135 blocks, and there are 3 of these: 97,200 invocations.
    """
    slots = {position: axis.slot for position, axis in enumerate(problem.axes) if axis.table is not None}
    position = max(slots, key=lambda place: (slots[place], place))
    row = problem.axes[position]
    inner, outer = problem.axes[:position], problem.axes[position + 1 :]
    if max(problem.itemsize, problem.src_itemsize) > 4 or any(_taps(axis) > _MOST_TAPS for axis in problem.axes):
        return None
    elements, shared = _neighbours(problem, position, limits)
    if not elements or row.size < 2 or row.table is None:
        return None
    pieces = math.prod(axis.size for axis in inner) // elements
    blocks = -(-row.size // ROWS)
    has_weights = not row.table.is_index
    inside = {slot: place for place, slot in slots.items() if place != position}
    axes = (
        position,
        sum(1 << place for place in slots),
        _taps(row),
        _taps(problem.axes[inside.get(0, position)]) if has_weights else _repeated(row.table),
        _taps(problem.axes[inside.get(1, position)]),
        inside.get(1, 0),
        int(inner[0].size % elements == 0),
        shared,
    )
    total = pieces * blocks * math.prod(axis.size for axis in outer)
    shader = "resample_runs" if has_weights and shared else "resample_rows"
    return Invocations(shader, problem, total, pieces, blocks, elements, axes)


def by_taps(problem: Problem, limits: Limits) -> Invocations | None:
    """Eight rows of one pixel each, four taps at a load: along the source's innermost axis, to elements of a word.

    A pixel is one element, or up to four channels that lie side by side. Rows of other than whole fours take longer.

    u8[3,1080,1920] to f32[3,1080,224], 18 taps, in five fours of every row: axis 0 has 224 elements, axis 1, planes and
    rows, 405 blocks: 90,720 invocations.
    """
    pixel = _pixel(problem)
    if pixel is None:
        return None
    position, channels = pixel.position, pixel.channels
    axis = problem.axes[position]
    rows = [place for place, other in enumerate(problem.axes) if other.is_plain and place not in pixel.axes]
    if axis.table is None or not rows:
        return None
    aligned = axis.table.extent % 4 == 0 and _reads_fours(problem, pixel.axes)
    in_fours = replace(axis, table=axis.table.in_fours(aligned))
    if in_fours.table is None or in_fours.table.taps > axis.table.extent:
        return None
    padded = replace(problem, axes=(*problem.axes[:position], in_fours, *problem.axes[position + 1 :]))
    if bind(padded, limits).windows[0].nbytes > limits.max_buffer_range:
        return None
    row = max(rows, key=lambda place: problem.axes[place].size)
    blocks = -(-problem.axes[row].size // ROWS)
    total = problem.count // channels // problem.axes[row].size * blocks
    axes = (position, int(aligned), row, channels, pixel.axes[-1])
    return Invocations("resample_along", padded, total, axis.size, blocks, 0, axes)


class _Pixel(NamedTuple):
    """The axis with the table, how many elements lie side by side, and the axes of both, the latter's last."""

    position: int
    channels: int
    axes: tuple[int, ...]


def _pixel(problem: Problem) -> _Pixel | None:
    """What a tap is, where sums go along the source's innermost pixels; else None."""
    tabled = [position for position, axis in enumerate(problem.axes) if axis.table is not None]
    axis = problem.axes[tabled[0]]
    if len(tabled) > 1 or axis.table is None or axis.table.is_index:
        return None
    if problem.itemsize != 4 or problem.src_itemsize > 4 or not 0 < axis.src <= _MOST_CHANNELS:
        return None
    if axis.src == 1:
        return _Pixel(tabled[0], 1, (tabled[0],))
    for place, other in enumerate(problem.axes):
        if other.is_plain and other.src == 1 and other.size == axis.src:
            return _Pixel(tabled[0], axis.src, (tabled[0], place))
    return None


def by_neighbours(problem: Problem) -> Invocations | None:
    """Four neighbours each: along an axis that is innermost on both sides and has no table; whole words.

    f32[3,1080,224] to u8[3,224,224]: axis 0 is 56 fours; with 224 rows and 3 planes, 37,632 invocations.
    """
    tabled = [position for position, axis in enumerate(problem.axes) if axis.table is not None]
    first, others = problem.axes[0], problem.axes[1:]
    table = problem.axes[tabled[0]].table
    if len(tabled) > 1 or table is None or table.is_index or max(problem.itemsize, problem.src_itemsize) > 4:
        return None
    if not first.is_plain or first.src != 1 or first.dst != 1 or first.size < 4:
        return None
    whole_words = first.size % 4 == 0 and _is_aligned(problem, others, 4)
    if not whole_words and problem.itemsize < 4:
        return None
    aligned = whole_words and _reads_fours(problem, (0,))
    pieces = -(-first.size // 4)
    axes = (tabled[0], int(aligned))
    return Invocations("resample_across", problem, problem.count // first.size * pieces, pieces, 1, 0, axes)


def _neighbours(problem: Problem, position: int, limits: Limits) -> tuple[int, int]:
    """Elements of a row that an invocation makes, and of the source's group or run that they share; 0 if they do not.

    A row is two pieces or more, of whole words; else there are no elements.
    """
    inner, others = problem.axes[:position], problem.axes[position:]
    size = math.prod(axis.size for axis in inner)
    for elements in (8, 4, 4 // problem.itemsize):
        whole_words = elements == 1 or (_is_run(inner, elements) and _is_aligned(problem, others, elements))
        if whole_words and size >= 2 * elements:
            shared = _run(problem, elements) or (_group(problem, limits) if elements == 4 else 0)
            if not shared and elements == 4 and problem.itemsize > 1 and _is_spread(problem):
                return 2, 0
            if elements < 8 or shared:
                return elements, shared
    return 0, 0


def _is_spread(problem: Problem) -> bool:
    """True where four neighbours along axis 0 read sums further apart than a line of a cache.

    f32, 1920 to 224: four are 103 bytes apart. Caches keep up with two: on llvmpipe they take two thirds of the time.
    """
    axis = problem.axes[0]
    if axis.table is None or axis.table.is_index:
        return False
    reach = int(np.ptp(axis.table.first())) * abs(axis.src) * problem.src_itemsize
    return 3 * reach > _LINE_BYTES * (axis.size - 1)


def _run(problem: Problem, elements: int) -> int:
    """The longest run that so many neighbours read along axis 0, where it is a third fewer loads; else 0.

    Enlarged twice, bilinear, four neighbours read the elements -1 to 2, or 1 to 4: runs of four, not eight elements.
    """
    axis = problem.axes[0]
    if axis.table is None or axis.table.is_index or (axis.src, axis.slot) != (1, 0) or axis.size % elements:
        return 0
    first = axis.table.first().reshape(-1, elements)
    length = int(np.ptp(first, axis=1).max()) + axis.table.taps
    lanes = 4 // problem.src_itemsize
    loads = (length + lanes - 2) // lanes + 1
    return length if length <= _MOST_IN_RUN and 3 * loads <= 2 * elements * axis.table.taps else 0


def _repeated(table: Table) -> int:
    """How often every row of the source is moved, from the first on: 2 of 0 0 1 1 2; 1 if not alike, or once."""
    first = table.first()
    times = int(np.argmax(first > 0)) or 1
    return times if (first == np.arange(table.count) // times).all() else 1


def _group(problem: Problem, limits: Limits) -> int:
    """Elements of the aligned group of which the four of any piece are, where they are moved; 0 if there is none.

    Enlarged twice, four neighbours read 0 0 1 1, then 2 2 3 3: groups of two, two words of f32; four bytes of u8, as
    words are loaded whole.
    """
    first = problem.axes[0]
    others = (problem.src_offset, *(axis.src for axis in problem.axes[1:]))
    if first.table is None or not first.table.is_index or first.src != 1 or first.size % 4:
        return 0
    index = first.table.words(1).reshape(-1, 4)
    bound = bind(problem, limits).windows[0].nbytes  # from a multiple of 16 bytes on
    for nbytes in (4, 8, 16):
        group = nbytes // problem.src_itemsize
        aligned = bound % nbytes == 0 and not any(n % group for n in others)
        if aligned and (index // group == index[:, :1] // group).all():
            return group
    return 0


def _taps(axis: Axis) -> int:
    return 1 if axis.table is None else axis.table.taps


def _reads_fours(problem: Problem, inner: tuple[int, ...]) -> bool:
    """True when every step of the axes but the inner ones moves the source by whole fours."""
    others = (axis.src for place, axis in enumerate(problem.axes) if place not in inner)
    return not any(stride % 4 for stride in (problem.src_offset, *others))


def _is_run(axes: tuple[Axis, ...], lanes: int) -> bool:
    """True when the elements of the axes lie side by side, in whole words."""
    stride = 1
    for axis in axes:
        if axis.dst != stride:
            return False
        stride *= axis.size
    return stride % lanes == 0


def _is_aligned(problem: Problem, others: tuple[Axis, ...], lanes: int) -> bool:
    """True when every step of the other axes begins at a word."""
    return not any(stride % lanes for stride in (problem.dst_offset, *(axis.dst for axis in others)))
