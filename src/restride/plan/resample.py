"""Plan of a resampling: its passes, the dispatches of each, and what one invocation of a shader computes.

Several axes in one pass cost the product of their taps for every output. Passes of one axis each cost the sum, and
write and read elements in between. Antialiased 1080x1920 -> 224x224 has 10 x 18 taps: 9 million products in one pass;
in two, columns first, 4.4 and 0.5. Sums are nested, the last axis first, and results between passes are f32, so the
bits are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from restride.kernel import KernelSpec, Limits
from restride.kernel.shared_constants import (
    GRADIENT,
    GROUP_SIZE,
    HAS_PATTERN,
    LONG_SLOT,
    MAX_CHANNELS,
    MAX_RUN,
    MAX_TAPS_OF_ROWS,
    SHORT_SUM,
)
from restride.layout import TensorDesc
from restride.plan.convert import Conversion, conversion_of
from restride.plan.dispatches import (
    MAX_TABLE_BYTES,
    axis_with_too_many_pairs,
    bind,
    is_packed,
    pair_spans,
    parts,
    plan_elements,
    rows_each,
    strided_kernel,
    work_of,
)
from restride.plan.problem import (
    Axis,
    Problem,
    narrow,
    pack_parameters,
    table_bytes,
)
from restride.plan.tiles import Pairs, Region, walks
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.weights import MAX_TAPS, Resizing, Rows, Shifts, in_quads, with_edges

# What one invocation computes: rows; or sums with four taps or four neighbours at once; or one element. All
# write the same bits, except for the sign of a NaN. The first of these that fits a problem is the fastest.

_LINE_BYTES = 64
"""Bytes of a cache line."""

_CACHED_BYTES = 20 << 10
"""A group repeatedly reads at most this many bytes of the source, of which a cache of 16 KiB holds four fifths."""


class Invocations(NamedTuple):
    """How ``total`` invocations of a shader divide a problem among them.

    constants: specialization constants that describe the axes and the output of an invocation.
    push: further push constants: the pieces in a row and the blocks of rows; or, if an invocation computes an element
        or a word, the destination word of piece 0.
    """

    shader: str
    problem: Problem
    total: int
    constants: dict[str, int]
    push: dict[str, int]

    @property
    def are_elements(self) -> bool:
        """True if each invocation computes one element, or the elements of one word."""
        return self.shader in ("resample", "resample_fixed")


def invocations(problem: Problem, limits: Limits) -> Invocations:
    """The fastest way to divide a problem of one dispatch."""
    tables = [axis.table for axis in problem.axes if axis.table is not None]
    if any(table.shifts is not None for table in tables):
        rows = by_rows(problem, limits) if len(tables) > 1 else None
        fixed = rows or by_taps(problem, limits) or by_neighbours(problem) or by_elements(problem, limits)
        return fixed._replace(shader=f"{fixed.shader}_fixed")
    return (
        by_rows(problem, limits) or by_taps(problem, limits) or by_neighbours(problem) or by_elements(problem, limits)
    )


def by_elements(problem: Problem, limits: Limits) -> Invocations:
    """Each invocation computes one element or word of the destination. Fits every problem of one dispatch."""
    work = work_of(problem, bind(problem, limits))
    return Invocations("resample", problem, work.pieces, work.constants, work.push)


def by_rows(problem: Problem, limits: Limits) -> Invocations | None:
    """Each invocation computes a block of rows, which share sums, loads or weights; for few taps along every axis.

    u8[3,224,224] to u8[3,1080,1920], blocks of eight rows: axis 0 has 1920 elements, 240 pieces of eight, which read
    runs of three; axis 1 has 1080 rows, 135 blocks; with 3 planes these are 97,200 invocations.
    u8[8,1080,1920] to u8[8,540,960], cells of four elements: 240 pieces of four, 68 blocks, 8 planes: 130,560.
    """
    taps = max(map(_taps, problem.axes))
    if max(problem.itemsize, problem.src_itemsize) > 4 or taps > MAX_TAPS_OF_ROWS:
        return None
    slots = {position: axis.slot for position, axis in enumerate(problem.axes) if axis.table is not None}
    position = max(slots, key=lambda place: (slots[place], place))
    row = problem.axes[position]
    inner, outer = problem.axes[:position], problem.axes[position + 1 :]
    step = _step_of_cells(problem)
    elements, shared = (4, 0) if step else _neighbours(problem, position, limits)
    if not elements or row.size < 2 or row.table is None:
        return None
    pieces = math.prod(axis.size for axis in inner) // elements
    count = pieces * math.prod(axis.size for axis in outer)
    rows = rows_each(row.size, count, problem.count, limits.choices)
    constants = {
        "BITS": 8 * problem.itemsize,
        "ELEMENTS": elements,
        "ROW_AXIS": position,
        "TABLED": sum(1 << place for place in slots),
        "ALONG_AXIS_0": inner[0].size % elements == 0,
        "ROWS": rows,
    }
    if row.table.moves:
        shader, repeated = "resample_moves", _repeated(row.table)
        constants |= {
            "REPEATED": repeated,
            "WHOLE_BLOCKS": repeated > 1 and rows % repeated == 0 and row.size % rows == 0,
            "GROUP": shared,
            "PATTERN": _pattern(problem.axes[0], shared),
        }
    else:
        shader = "resample_cells" if step else "resample_runs" if shared else "resample_rows"
        inside = {slot: place for place, slot in slots.items() if place != position}
        constants |= {
            "TAPS": _taps(row),
            "TAPS_0": _taps(problem.axes[inside.get(0, position)]),
            "TAPS_1": _taps(problem.axes[inside.get(1, position)]),
            "AXIS_1": inside.get(1, 0),
            **({"STEP": step} if step else {"RUN_LENGTH": shared} if shared else {}),
        }
    blocks = -(-row.size // rows)
    return Invocations(shader, problem, count * blocks, constants, {"row_pieces": pieces, "blocks": blocks})


def _step_of_cells(problem: Problem) -> int:
    """Elements from cell to cell along axis 0, if all outputs sum equally spaced cells of one size; else 0.

    Every four cells, and every four outputs, must also begin at a word.
    """
    first, others = problem.axes[0], problem.axes[1:]
    step = _cell_step(first)
    if not step or (first.src, first.dst, first.slot) != (1, 1, 0) or first.size % 4 or first.table is None:
        return 0
    if all(axis.table is None for axis in others) or not all(axis.is_plain or _cell_step(axis) for axis in others):
        return 0
    lanes = 4 // problem.src_itemsize
    begins = (problem.src_offset, int(first.table.first()[0]), *(axis.src for axis in others))
    return 0 if any(n % lanes for n in begins) or not _is_aligned(problem, others, 4) else step


def _cell_step(axis: Axis) -> int:
    """Source elements from one output to the next, 1 to 4, if all outputs have the same nonzero weights; else 0."""
    table = axis.table
    if table is None or table.moves or table.shifts is not None or table.taps > MAX_TAPS_OF_ROWS:
        return 0
    if table.source_size % table.size:
        return 0
    step = table.source_size // table.size
    if not 0 < step <= MAX_TAPS_OF_ROWS:
        return 0
    first, weights = table.first_and_weights()
    are_alike = (np.diff(first) == step).all() and (weights == weights[0]).all() and weights[0].all()
    return step if are_alike else 0


def by_taps(problem: Problem, limits: Limits) -> Invocations | None:
    """Each invocation computes one pixel in a block of rows, with four taps per load along the source's innermost axis.

    A pixel is one element, or up to four adjacent channels. Outputs are words. Rows of whole quads are faster.

    u8[3,1080,1920] to f32[3,1080,224], blocks of eight rows: 18 taps are five quads of a row; axis 0 has 224 elements;
    axis 1, planes and rows together, has 3240, 405 blocks: 90,720 invocations.
    """
    pixel = _pixel(problem)
    if not pixel:
        return None
    position = pixel[0]
    axis = problem.axes[position]
    channels = axis.src
    rows = [place for place, other in enumerate(problem.axes) if other.is_plain and place not in pixel]
    if axis.table is None or not rows:
        return None
    aligned = axis.extent % 4 == 0 and _reads_quads(problem, pixel)
    table = in_quads(axis.table, axis.extent, aligned)
    if table.taps > axis.extent:
        return None
    axes_in_quads = (*problem.axes[:position], axis._replace(table=table), *problem.axes[position + 1 :])
    padded = problem.with_axes(axes_in_quads)
    if bind(padded, limits).windows[0].nbytes > limits.max_buffer_range:
        return None
    row = max(rows, key=lambda place: problem.axes[place].size)
    size = problem.axes[row].size
    count = problem.count // channels // size
    most = 8 if limits.choices.neighbours else _most_cached_rows(axis, problem.src_itemsize)
    each = rows_each(size, count, problem.count, limits.choices, most)
    blocks = -(-size // each)
    constants = {
        "TAP_AXIS": position,
        "WHOLE_QUADS": aligned,
        "ROW_AXIS": row,
        "CHANNELS": channels,
        "CHANNEL_AXIS": pixel[-1],
        "ROWS": each,
    }
    push = {"row_pieces": axis.size, "blocks": blocks}
    return Invocations("resample_along", padded, count * blocks, constants, push)


def _most_cached_rows(axis: Axis, itemsize: int) -> int:
    """How many rows of pixels, at most 8, a group can read from without exceeding its cache.

    f32, 1920 to 224: 128 pixels read 4388 bytes of each row, so four rows.
    """
    near, far = axis.reads()
    nbytes = GROUP_SIZE * (far + 1 - near) * abs(axis.src) * itemsize // axis.size
    return next((rows for rows in (8, 4, 2) if rows * nbytes <= _CACHED_BYTES), 1)


def _pixel(problem: Problem) -> tuple[int, ...]:
    """The positions of the axes of a pixel, if sums run along the innermost pixels of the source; else ().

    The first position is of the axis with the table, which moves the source by one pixel: the number of adjacent
    channels. With several channels, the second position is of their axis.
    """
    tabled = [position for position, axis in enumerate(problem.axes) if axis.table is not None]
    axis = problem.axes[tabled[0]]
    if len(tabled) > 1 or axis.table is None or axis.table.moves:
        return ()
    if problem.itemsize != 4 or problem.src_itemsize > 4 or not 0 < axis.src <= MAX_CHANNELS:
        return ()
    if axis.src == 1:
        return (tabled[0],)
    for place, other in enumerate(problem.axes):
        if other.is_plain and other.src == 1 and other.size == axis.src:
            return tabled[0], place
    return ()


def by_neighbours(problem: Problem) -> Invocations | None:
    """Each invocation computes four neighbours, in whole words, along an axis innermost on both sides, without a table.

    f32[3,1080,224] to u8[3,224,224]: axis 0 is 56 quads; with 224 rows and 3 planes, 37,632 invocations.
    """
    tabled = [position for position, axis in enumerate(problem.axes) if axis.table is not None]
    first, others = problem.axes[0], problem.axes[1:]
    table = problem.axes[tabled[0]].table
    if len(tabled) > 1 or table is None or table.moves or max(problem.itemsize, problem.src_itemsize) > 4:
        return None
    if not first.is_plain or first.src != 1 or first.dst != 1 or first.size < 4:
        return None
    whole_words = first.size % 4 == 0 and _is_aligned(problem, others, 4)
    if not whole_words and problem.itemsize < 4:
        return None
    aligned = whole_words and _reads_quads(problem, (0,))
    pieces = -(-first.size // 4)
    constants = {"TAP_AXIS": tabled[0], "WHOLE_QUADS": aligned}
    total, push = problem.count // first.size * pieces, {"row_pieces": pieces, "blocks": 1}
    return Invocations("resample_across", problem, total, constants, push)


def _neighbours(problem: Problem, position: int, limits: Limits) -> tuple[int, int]:
    """Elements of a row per invocation, and the elements of the source group or run that they share, 0 if none.

    A row must be two or more pieces of whole words; otherwise the first number is 0. If neighbouring invocations should
    have neighbouring elements, a piece has at most four: it is one store, and the weights fit a group's cache.
    """
    inner, others = problem.axes[:position], problem.axes[position:]
    size = math.prod(axis.size for axis in inner)
    most = 8 if limits.choices.neighbours else 4
    for elements in (most, 4, 4 // problem.itemsize):
        fills_words = size % elements == 0 and is_packed(inner) and _is_aligned(problem, others, elements)
        whole_words = elements == 1 or fills_words
        if whole_words and size >= 2 * elements:
            shared = _run(problem, elements) or (_group(problem, limits) if elements == 4 else 0)
            if not shared and elements == 4 and problem.itemsize > 1 and _is_spread(problem):
                return 2, 0
            if elements < 8 or shared:
                return elements, shared
    return 0, 0


def _is_spread(problem: Problem) -> bool:
    """True if four neighbours along axis 0 read elements that are further apart than a cache line.

    f32, 1920 to 224: four outputs read 103 bytes apart. Two neighbours per invocation are then faster: on llvmpipe they
    take two thirds of the time.
    """
    axis = problem.axes[0]
    if axis.table is None or axis.table.moves:
        return False
    reach = int(np.ptp(axis.table.first())) * abs(axis.src) * problem.src_itemsize
    return 3 * reach > _LINE_BYTES * (axis.size - 1)


def _run(problem: Problem, elements: int) -> int:
    """The longest run that ``elements`` neighbours read along axis 0, if it saves a third of the loads; else 0.

    Enlarged twice, bilinear, four neighbours read the elements -1 to 2, or 1 to 4: runs of four, not eight elements.
    """
    axis = problem.axes[0]
    if axis.table is None or axis.table.moves or axis.table.shifts is not None:
        return 0
    if (axis.src, axis.slot) != (1, 0) or axis.size % elements:
        return 0
    first = axis.table.first().reshape(-1, elements)
    length = int(np.ptp(first, axis=1).max()) + axis.table.taps
    lanes = 4 // problem.src_itemsize
    loads = (length + lanes - 2) // lanes + 1
    return length if length <= MAX_RUN and 3 * loads <= 2 * elements * axis.table.taps else 0


def _repeated(table: Rows) -> int:
    """How often each row of the source is repeated: 2 in 0 0 1 1 2; 1 if the number differs between rows."""
    first = table.first()
    times = int(np.argmax(first > 0)) or 1
    return times if (first == np.arange(table.count) // times).all() else 1


def _group(problem: Problem, limits: Limits) -> int:
    """Size of the aligned source group from which a piece takes its four moved elements; 0 if there is none.

    Enlarged twice, four neighbours read 0 0 1 1, then 2 2 3 3: groups of two elements, which are two words of f32.
    In u8 groups have four bytes, because words are loaded whole.
    """
    first = problem.axes[0]
    others = (problem.src_offset, *(axis.src for axis in problem.axes[1:]))
    if first.table is None or not first.table.moves or first.src != 1 or first.size % 4:
        return 0
    index = first.table.first().reshape(-1, 4)
    bound = bind(problem, limits).windows[0].nbytes  # the window begins at a multiple of 16 bytes
    for nbytes in (4, 8, 16):
        group = nbytes // problem.src_itemsize
        aligned = bound % nbytes == 0 and not any(n % group for n in others)
        if aligned and (index // group == index[:, :1] // group).all():
            return group
    return 0


def _pattern(axis: Axis, group: int) -> int:
    """The elements that a piece takes from its group, 4 bits each, if each piece of a row has its own group; else 0.

    Twice the size, groups of two: 0 0 1 1 and then 2 2 3 3 are 0 0 1 1 of group 0 and of group 1. With HAS_PATTERN that
    is 0x11100.
    """
    if group == 0 or axis.table is None:
        return 0
    index = axis.table.first().reshape(-1, 4)
    places = index - group * np.arange(len(index))[:, None]
    if places.min() < 0 or places.max() >= group or (places != places[0]).any():
        return 0
    return HAS_PATTERN + sum(int(place) << 4 * lane for lane, place in enumerate(places[0]))


def _taps(axis: Axis) -> int:
    return 1 if axis.table is None else axis.table.taps


def _reads_quads(problem: Problem, inner: tuple[int, ...]) -> bool:
    """True when every step of the axes, except the inner ones, moves the source by a multiple of four elements."""
    others = (axis.src for place, axis in enumerate(problem.axes) if place not in inner)
    return not any(stride % 4 for stride in (problem.src_offset, *others))


def _is_aligned(problem: Problem, others: tuple[Axis, ...], lanes: int) -> bool:
    """True when every step of the other axes begins at a word."""
    return not any(stride % lanes for stride in (problem.dst_offset, *(axis.dst for axis in others)))


# The dispatches of a pass. Axes that keep their size are walked by stride, resampled axes through tables.

MAX_SLOTS = 3
"""Maximum number of axes along which one dispatch interpolates."""

Tables = tuple[tuple[int, Rows], ...]
"""Resampled axes and their tables, the last logical axis first."""


def planned_invocations(
    src: TensorDesc, dst: TensorDesc, tables: Tables, pairs: Pairs, limits: Limits
) -> Iterable[Invocations]:
    """The invocations of each dispatch that computes ``dst`` from ``src`` by ``tables``.

    Along axes without a table ``src`` and ``dst`` have the same size.
    """
    for problem in _problems(src, dst, tables, pairs):
        for box in parts(problem, limits, axis_with_too_many_pairs):
            yield invocations(box, limits)


def plan_resample(
    src: TensorDesc,
    dst: TensorDesc,
    tables: Tables,
    conversion: Conversion,
    limits: Limits,
    planned: Callable[..., Iterable[Invocations]] = planned_invocations,
) -> Iterator[KernelSpec]:
    """Dispatches that compute ``dst``. planned: ``planned_invocations``, or its cached form."""
    moves = _is_move(conversion, tables)
    if moves and dst.dtype.itemsize == 8:
        for problem in _problems(src, dst, tables, conversion.places):
            yield from plan_elements(narrow(problem), limits, "resample_nearest")
        return
    for work in planned(src, dst, tables, conversion.places, limits):
        if moves and work.are_elements:
            yield from plan_elements(work.problem, limits, "resample_nearest")
        else:
            yield _resample(work, tables, conversion, limits)


def _problems(src: TensorDesc, dst: TensorDesc, tables: Tables, pairs: Pairs) -> Iterator[Problem]:
    cut_walks = walks(Region.of(src, dst, pairs), {axis: src.sizes[axis] for axis, _ in tables})
    if cut_walks is None:
        raise AssertionError(f"resampling {src} to {dst} along {[axis for axis, _ in tables]} is not strided")
    for walk in cut_walks:
        axes = list(walk.axes)
        for slot, (axis, table) in enumerate(tables):
            position = walk.cut_from.index(axis)
            along = axes[position]
            axes[position] = Axis(along.size, along.src, along.dst, table, src.sizes[axis], slot, along.pairs)
        yield walk._replace(axes=tuple(axes)).problem(dst.dtype.itemsize, src.dtype.itemsize)


def _is_move(conversion: Conversion, tables: Tables) -> bool:
    """True when every output element is an unchanged element of the source."""
    return conversion.src == conversion.dst and conversion.arithmetic == NO_ARITHMETIC and is_index(tables)


def is_index(tables: Tables) -> bool:
    """True when every output element is one of the source's."""
    return all(table.moves for _, table in tables)


def _resample(work: Invocations, tables: Tables, conversion: Conversion, limits: Limits) -> KernelSpec:
    problem = work.problem
    bound = bind(problem, limits)
    constants = work.constants | conversion.constants
    if work.shader != "resample_moves":
        constants["SLOTS_AND_KIND"] = _slots(tables)
    push = {**bound.bases, "pieces": work.total, **work.push}
    divisors = [work.push[name] for name in ("row_pieces", "blocks") if name in work.push]
    scaled, parameters = conversion.with_scales(
        push,
        pack_parameters(work.shader, problem.axes, divisors),
        problem.pair_offsets,
        pair_spans(problem),
        shifts=tables[-1][1].shifts,
    )
    return strided_kernel(work.shader, problem.axes, constants, scaled, bound.windows, limits, parameters=parameters)


def _slots(tables: Tables) -> int:
    """SLOTS_AND_KIND: the number of interpolated axes, 0 if elements are only moved, and the kind of their sums."""
    if is_index(tables):
        return 0
    are_long = sum(LONG_SLOT << slot for slot, (_, table) in enumerate(tables) if _is_long(table))
    return len(tables) + GRADIENT * any(table.is_transposed for _, table in tables) + are_long


def _is_long(rows: Rows) -> bool:
    """True if sums may have so many taps that they must be compensated for rounding errors."""
    return rows.shifts is None and rows.taps > SHORT_SUM and not rows.in_order


# Passes: which axes are summed in the same dispatch, and which in successive dispatches.

ELEMENT_COST = 8
"""Cost, in taps, of an element that one pass writes and the next one reads."""

PRODUCT_COST = 4
"""Cost of a tap in a sum along several axes. In a sum along a single axis, where a load gets four taps, it is 1."""

FEW_TAPS = 16
"""If all axes together have at most this many taps, they are summed in one dispatch, whatever the sizes."""


def passes(resized: Resizing) -> tuple[Tables, ...]:
    """The tables of each pass; axes that stay as they are have none."""
    stepped: list[tuple[int, Rows]] = []
    order = resized.library.order or sorted(range(len(resized.axes)), key=lambda place: -resized.axes[place])
    for place in order:
        rows, inside, read = resized.rows[place], resized.inside[place], resized.read[place]
        if not rows.is_identity:
            part = rows.part(inside.start, inside.stop - inside.start, read.start)
            stepped += [(resized.axes[place], each) for each in _steps(part)]
    if not stepped:
        return ()
    whole = tuple(stepped)
    if resized.library.rounding is not None:
        return tuple((one,) for one in whole)  # separate passes, because each rounds its sums
    if is_index(whole):
        return (whole,)
    if _is_one_dispatch(whole) and math.prod(table.taps for _, table in whole) <= FEW_TAPS:
        return (whole,)
    groupings = tuple(_groupings(stepped))
    return groupings[0] if len(groupings) == 1 else min(groupings, key=lambda each: _cost(each, resized.read_sizes))


def _steps(rows: Rows) -> tuple[Rows, ...]:
    """The tables along one axis; each is applied to the result of the one before."""
    if not rows.repeats_edges:
        return rows.split()
    low, high = (index + rows.origin for index in rows.reads())
    if low >= 1 and high <= rows.source_size:  # no row reads a repeated edge; source element i is i + 1 here
        return rows.changed(repeats_edges=False, origin=rows.origin + 1).split()
    edges = with_edges(rows)
    return (edges, *rows.changed(repeats_edges=False, origin=edges.start).split())


def _groupings(stepped: Sequence[tuple[int, Rows]]) -> Iterator[tuple[Tables, ...]]:
    """Yield the ways to cut a sequence of tables into groups, such that one dispatch can apply each group."""
    inner = range(1, len(stepped))
    for count in range(len(stepped)):
        for cuts in combinations(inner, count):
            bounds = (0, *cuts, len(stepped))
            groups = tuple(tuple(stepped[a:b]) for a, b in pairwise(bounds))
            if all(_is_one_dispatch(group) for group in groups):
                yield groups


def _is_one_dispatch(group: Tables) -> bool:
    if len(group) == 1:
        return group[0][1].taps <= MAX_TAPS
    axes = {axis for axis, _ in group}
    if not _are_nested(group):
        return False
    return len(axes) == len(group) <= MAX_SLOTS and math.prod([table.taps for _, table in group]) <= MAX_TAPS


def _are_nested(group: Tables) -> bool:
    """True if all sums are of floats, or all are of integers and only the last ones are shifted."""
    *inside, last = (table.shifts for _, table in group)
    exact = None if last is None else Shifts()
    return all(shifts == exact for shifts in inside)


def _cost(grouping: Sequence[Tables], sizes: Sequence[int]) -> int:
    left, cost = list(sizes), 0
    for group in grouping:
        taps = PRODUCT_COST if len(group) > 1 else 1
        for axis, table in group:
            left[axis] = table.count
            taps *= table.taps
        cost += math.prod(left) * (taps + ELEMENT_COST)
    return cost


# What operations call: functions that say whether a plan is possible, and those that return its dispatches.


def is_resampled_by_walks(src: TensorDesc, dst: TensorDesc, axes: tuple[int, ...]) -> bool:
    """False if resampled axes have tiles or blocks: then resample a copy without them."""
    if src.strides is not None and dst.strides is not None:
        return True
    return not axes or not dst.numel or walks(Region.of(src, dst), {axis: src.sizes[axis] for axis in axes}) is not None


def taps_fit(src: TensorDesc, tables: Tables, limits: Limits) -> bool:
    """True when one output element reads at most 15/16 of the binding range, so that a window has room for others.

    Linear along axis 0 of f32[3,6000,6000] reads 144 MB apart, more than the 128 MiB that llvmpipe binds.
    """
    strides = src.strides or [src.address.stride(axis) for axis in range(src.rank)]
    apart = sum((table.taps - 1) * abs(strides[axis]) for axis, table in tables) * src.dtype.itemsize
    return apart <= limits.max_buffer_range - limits.max_buffer_range // 16


def is_made_by_elements(src: TensorDesc, dst: TensorDesc, tables: Tables, limits: Limits) -> bool:
    """True if each invocation of a resampling without scales would compute one element, or the elements of one word.

    A long axis takes many dispatches, thousands for 10^8 outputs. Then only the first is examined: the others compute
    further parts of the same rows.
    """
    if _needs_parts(tables):
        return next(iter(planned_invocations(src, dst, tables, (None, None), limits))).are_elements
    return any(work.are_elements for work in _cached_invocations(src, dst, tables, (None, None), limits))


def _needs_parts(tables: Tables) -> bool:
    """True if the tables do not fit one dispatch."""
    return sum(table_bytes(rows) for _, rows in tables) > MAX_TABLE_BYTES


@lru_cache(maxsize=64)
def _cached_invocations(
    src: TensorDesc, dst: TensorDesc, tables: Tables, pairs: Pairs, limits: Limits
) -> tuple[Invocations, ...]:
    """``planned_invocations``.

    Cached for operations whose scales change from call to call: the plan of u8[1,3,480,640] to 224x224 takes 280 us
    instead of 470, of u8[480,640,3] 290 instead of 320.
    """
    return tuple(planned_invocations(src, dst, tables, pairs, limits))


def resample_kernels(
    src: TensorDesc, dst: TensorDesc, tables: Tables, arithmetic: Arithmetic, limits: Limits
) -> Iterable[KernelSpec]:
    """Dispatches that resample ``src`` into ``dst`` by ``tables``, at most ``MAX_SLOTS``.

    Along axes without a table ``src`` and ``dst`` have the same size.

    Returns a tuple if the tables fit one dispatch and there are few scales; otherwise builds them one by one, so that
    the tables of an axis of millions of elements are never in memory together.
    """
    if dst.numel == 0:
        return ()
    conversion = conversion_of(src.dtype, dst.dtype, arithmetic)
    if not _needs_parts(tables) and conversion.has_few_pairs:
        return tuple(plan_resample(src, dst, tables, conversion, limits, _cached_invocations))
    return plan_resample(src, dst, tables, conversion, limits)
