"""Dispatches: cuts a problem into parts that keep within the limits of one dispatch, and gives each part its kernel.

The limits are the bytes of a window, the number of elements, and the bytes of tables and of scales. A storage buffer
binding covers at most ``max_buffer_range`` bytes (128 MiB on llvmpipe). A part is a range of steps on every axis; its
window is the span of bytes it touches on one side. While a window is too wide, its part is halved along the axis that
spans most of the window: a 256 MiB transpose ends as four quarters, not as two halves, since half of its rows still
span all of its columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import eq, mul
from typing import NamedTuple

from restride.errors import UnsupportedError
from restride.kernel import Binding, Choices, KernelSpec, Limits
from restride.kernel.modules import interface_of
from restride.kernel.shared_constants import (
    GROUP_SIZE,
    MAX_AXES,
    MAX_ROWS,
)
from restride.layout.equation import nested
from restride.plan.problem import (
    Axis,
    Problem,
    Span,
    in_order,
    moved,
    pack_parameters,
    pushed_words,
    table_bytes,
)

MAX_COUNT = (1 << 31) - 1
"""Maximum number of elements of one dispatch: the shaders divide exactly below 2^31."""

MAX_TABLE_BYTES = 1 << 20
"""Maximum size in bytes of the tables of one dispatch, so that an operation's own memory stays below 2 MiB."""

MAX_PAIR_BYTES = 1 << 20
"""Maximum number of bytes of the pairs of scale and zero point of one dispatch."""

AxisToCut = Callable[[Problem, Limits], int | None]
"""A function that returns the position of the axis at which to cut a problem; None: the problem fits one dispatch."""

_CUT = 64
"""A cut is at a multiple of this many steps, which keeps wide elements and blocks of 16 bytes whole."""

_MIN_BYTES_FULL = 512
"""Bytes of the least result with a separate dispatch of full groups, over ``elements_per_dispatch``: 1 MiB / 2048."""

_MAX_REST = 1 / 8
"""The largest fraction of a problem that may be left to a second dispatch, after one of full groups."""

_MAX_HOLES = 4
"""Invocations write whole words if a word has at most this many element positions for each element to write."""


class Bound(NamedTuple):
    """The windows of memories 0 (source) and 1 (destination) that a problem binds, and where index 0 is in each."""

    windows: tuple[Binding, Binding]
    src_base: int
    dst_base: int

    @property
    def bases(self) -> dict[str, int]:
        """Both offsets, as push constants."""
        return {"src_base": self.src_base, "dst_base": self.dst_base}


def bind(problem: Problem, limits: Limits) -> Bound:
    """The windows of a problem that fits one dispatch, and the element offset of index 0 in each."""
    src = problem.src_span.window(problem.src_itemsize, limits)
    dst = problem.dst_span.window(problem.itemsize, limits, writes=True)
    return Bound(
        (src, dst),
        problem.src_offset - src.offset // problem.src_itemsize,
        problem.dst_offset - dst.offset // problem.itemsize,
    )


def _src_reach(axis: Axis) -> int:
    near, far = axis.reads()
    return (far - near) * abs(axis.src)


def _dst_reach(axis: Axis) -> int:
    return (axis.size - 1) * axis.dst


def _table_bytes(axis: Axis) -> int:
    return 0 if axis.table is None else table_bytes(axis.table)


def axis_to_cut(problem: Problem, limits: Limits) -> int | None:
    """The axis to cut: the one that adds most to the excess over a limit of all kernels; None: no limit is exceeded.

    Raises:
        UnsupportedError: a window is too wide, and the runtime binds whole buffers only.
    """
    dst = problem.dst_span
    sides = ((problem.src_span, problem.src_itemsize, _src_reach), (dst, problem.itemsize, _dst_reach))
    for span, itemsize, reach in sides:
        nbytes = span.window(itemsize, limits).nbytes
        if nbytes > limits.max_buffer_range:
            require_windows(nbytes, limits)
            return longest(problem, reach)
    if dst.highest - dst.lowest > MAX_COUNT:
        return longest(problem, _dst_reach)
    if problem.count > MAX_COUNT:
        return longest(problem, lambda axis: axis.size)
    if sum(map(_table_bytes, problem.axes)) > MAX_TABLE_BYTES:
        return longest(problem, _table_bytes)
    return None


def pair_spans(problem: Problem) -> tuple[Span, Span]:
    """The spans of the pairs of scale and zero point that a problem reads, for source and destination."""
    if not any(any(axis.pairs) for axis in problem.axes):
        first, second = problem.pair_offsets
        return Span(first, first), Span(second, second)
    spans = []
    for side, offset in enumerate(problem.pair_offsets):
        lowest = highest = offset
        for axis in problem.axes:
            reach = (axis.size - 1) * axis.pairs[side]
            if reach < 0:
                lowest += reach
            else:
                highest += reach
        spans.append(Span(lowest, highest))
    return spans[0], spans[1]


def axis_with_too_many_pairs(problem: Problem, _limits: Limits) -> int | None:
    """The axis at which to cut a problem that reads more pairs than one dispatch may have; None: they fit."""
    of_src, of_dst = pair_spans(problem)
    if of_src.pair_bytes + of_dst.pair_bytes <= MAX_PAIR_BYTES:
        return None
    return longest(problem, lambda axis: (axis.size - 1) * sum(map(abs, axis.pairs)))


def require_windows(nbytes: int, limits: Limits) -> None:
    """Require a runtime that can bind windows of a buffer, because ``nbytes`` exceed one binding.

    Raises:
        UnsupportedError: the runtime binds whole buffers only.
    """
    if not limits.offset_alignment:
        raise UnsupportedError(
            f"a buffer of {nbytes} bytes exceeds the {limits.max_buffer_range} bytes that a binding may cover, "
            f"and this runtime cannot bind part of a buffer; the 'vulkan' runtime splits such problems"
        )


def longest(problem: Problem, measure: Callable[[Axis], int]) -> int:
    """Position of the axis with the largest ``measure``; axes of one step, which no cut shortens, come last."""
    return max(range(len(problem.axes)), key=lambda k: (problem.axes[k].size > 1, measure(problem.axes[k])))


def part_of(problem: Problem, position: int, start: int, size: int) -> Problem:
    """The part of the problem that has ``size`` steps of one axis, from step ``start`` on."""
    axis = problem.axes[position]
    if axis.table is None:
        src_offset = problem.src_offset + start * axis.src
        inside = axis.inside and range(axis.inside.start - start, axis.inside.stop - start)
        part = axis._replace(size=size, inside=inside)
    else:
        src_offset = problem.src_offset
        part = axis._replace(size=size, table=axis.table.part(start, size))
    axes = list(problem.axes)
    axes[position : position + 1] = [] if part.size == 1 and part.is_plain else [part]
    dst_offset = problem.dst_offset + start * axis.dst
    pair_offsets = moved(problem.pair_offsets, axis, start)
    return Problem(in_order(axes), src_offset, dst_offset, problem.itemsize, problem.src_itemsize, pair_offsets)


def parts(problem: Problem, limits: Limits, also: AxisToCut = lambda _problem, _limits: None) -> Iterator[Problem]:
    """The problem, or parts of it that each fit one dispatch.

    also: a kernel's own limit, judged after those that every kernel has.

    Raises:
        UnsupportedError: a buffer exceeds ``max_buffer_range`` and the runtime binds whole buffers only; or one output
            element alone reads a wider range than ``max_buffer_range``.
    """
    position = axis_to_cut(problem, limits)
    if position is None:
        position = also(problem, limits)
    if position is None:
        yield problem
        return
    size = problem.axes[position].size
    if size == 1:
        raise UnsupportedError(
            f"one output element reads elements further apart than the {limits.max_buffer_range} bytes of a binding"
        )
    half = size // 2
    for part in cut_in_two(problem, position, half // _CUT * _CUT if half > _CUT else half):
        yield from parts(part, limits, also)


def groups_for(pieces: int, limits: Limits, each: int = 1) -> tuple[int, int, int]:
    """The grid (x, y, z) of work groups of 128 invocations for ``pieces``, with ``each`` pieces per invocation."""
    return rows_of_groups(-(-pieces // (GROUP_SIZE * each)), limits)


def are_full(pieces: int, limits: Limits, each: int = 1) -> bool:
    """True if the pieces fill every invocation of every group of ``groups_for``, so that no guard is needed."""
    return math.prod(groups_for(pieces, limits, each)) * GROUP_SIZE * each == pieces


def _in_full_groups(pieces: int, limits: Limits) -> int:
    """Maximum number of pieces, one per invocation, that fill every group of a dispatch.

    With at most 8 groups in a row, 20 groups take three rows, so 18 can be full; of 17 groups, 16 fill two rows.
    """
    groups, columns = pieces // GROUP_SIZE, limits.max_group_count[0]
    rows = -(-groups // columns)
    return GROUP_SIZE * max(groups // rows * rows, columns * (rows - 1)) if rows else 0


def _pays_for_full_groups(problem: Problem, limits: Limits) -> bool:
    """True if a large problem should be cut after its full groups. On CPUs a guard slows down every load and store."""
    return limits.choices.neighbours and limits.allow(2, problem.count * problem.itemsize // _MIN_BYTES_FULL)


def cut_in_two(problem: Problem, position: int, start: int) -> tuple[Problem, Problem]:
    """The problem as two: the steps of one axis before ``start``, and those from ``start`` on."""
    size = problem.axes[position].size
    return part_of(problem, position, 0, start), part_of(problem, position, start, size - start)


def full_groups(problem: Problem, elements: int, limits: Limits) -> tuple[Problem, ...]:
    """The problem; on CPUs a large one is cut along an outer axis into a part of full groups and a rest of 1/8 or less.

    f32[3,540,960] in groups of 2048 elements: uncut, 759 groups are full and one is not. Cut after 512 of the 540 rows,
    720 groups are full. llvmpipe takes 0.91 to 0.95 of the time for slices and flips of f32.
    """
    rests = {
        position: axis.size % (elements // math.gcd(elements, problem.count // axis.size))
        for position, axis in enumerate(problem.axes[1:], 1)
    }
    position = min(rests, key=lambda each: rests[each] / problem.axes[each].size, default=0)
    size, rest = problem.axes[position].size, rests.get(position, 0)
    if 0 < rest <= size * _MAX_REST and _pays_for_full_groups(problem, limits):
        return cut_in_two(problem, position, size - rest)
    return (problem,)


def whole_units(
    problem: Problem, position: int, unit: int, limits: Limits, are_faster: Callable[[Problem], object]
) -> tuple[Problem, ...]:
    """The problem, cut at the last multiple of ``unit`` of an axis if that pays: 10,002 elements as 10,000 and 2.

    are_faster: a function that returns True, or an object, if a problem of whole units has a faster kernel.
    """
    size = problem.axes[position].size if position < len(problem.axes) else 0
    rest = size % unit
    if 0 < rest < size and limits.allow(2, problem.count):
        whole, end = cut_in_two(problem, position, size - rest)
        if are_faster(whole):
            return whole, end
    return (problem,)


def rows_of_groups(groups: int, limits: Limits) -> tuple[int, int, int]:
    """``groups`` work groups folded into x and y: 100,001 are (50001, 2, 1), and the kernel skips the surplus."""
    rows = -(-max(groups, 1) // limits.max_group_count[0])
    return -(-max(groups, 1) // rows), rows, 1


def strided_kernel(
    shader: str,
    axes: tuple[Axis, ...],
    constants: Mapping[str, int],
    push: Mapping[str, int],
    windows: tuple[Binding, ...],
    limits: Limits,
    *,
    each: int = 1,
    parameters: bytes | None = None,
    groups: tuple[int, int, int] | None = None,
) -> KernelSpec:
    """The dispatch of a kernel that walks ``axes``; an invocation handles ``each`` of the ``pieces`` in ``push``.

    constants: all except RANK, the number of axes. push: all except the innermost axes, which some modules take as push
    constants.
    parameters: the storage buffer, if it holds more than the axes.
    groups: the work groups; None: as many as the pieces need.
    """
    if len(axes) > MAX_AXES:
        raise AssertionError(f"a kernel walks at most {MAX_AXES} axes, not {len(axes)}")
    packed = pack_parameters(shader, axes) if parameters is None else parameters
    groups = groups or groups_for(push["pieces"], limits, each)
    pushed = {**push, **dict(zip(interface_of(shader).pushed_axes, pushed_words(axes), strict=False))}
    return KernelSpec.of(shader, {**constants, "RANK": len(axes)}, pushed, packed, groups, windows)


def rows_each(rows: int, pieces: int, elements: int, choices: Choices, most: int = MAX_ROWS) -> int:
    """Rows per invocation: ``choices.rows``, at most ``most``, halved until there are enough invocations.

    rows: size of the axis of rows. pieces: pieces at one index of that axis. elements: of the whole dispatch.

    u8[1080,1920,3] to u8[224,224,3], four elements in a piece: 224 rows of 168 pieces. Two rows each make 18,816
    invocations, but 150,528 elements are to have 37,632 (``Choices.fewest_invocations``): one row each.
    """
    each = min(int(choices.rows), most)
    while each > 1 and pieces * -(-rows // each) < choices.fewest_invocations(elements):
        each //= 2
    return each


class Work(NamedTuple):
    """The pieces of a dispatch in shaders/include/destination.glsl: words from ``first`` on, or elements.

    bits: the bits of an element. own_words: pieces are words.
    """

    bits: int
    own_words: bool
    pieces: int
    first: int = 0

    @property
    def constants(self) -> dict[str, int]:
        """The constants of destination.glsl."""
        return {"BITS": self.bits, "OWN_WORDS": self.own_words}

    @property
    def push(self) -> dict[str, int]:
        """The push constants of destination.glsl, except the base."""
        return {"pieces": self.pieces, "first_word": self.first}


def work_of(problem: Problem, bound: Bound) -> Work:
    """The pieces of a problem: words where elements are narrower than a word and leave few holes, else elements."""
    bits, lanes, dst = 8 * problem.itemsize, 4 // problem.itemsize, problem.dst_span
    if lanes > 1:
        first_word = bound.dst_base // lanes
        words = (bound.dst_base + dst.highest - dst.lowest) // lanes - first_word + 1
        has_few_holes = words * lanes <= problem.count * _MAX_HOLES + lanes
        if has_few_holes and nested([axis.size for axis in problem.axes], [axis.dst for axis in problem.axes]):
            return Work(bits, True, words, first_word)
    return Work(bits, False, problem.count)


def plan_elements(
    problem: Problem, limits: Limits, shader: str, value: Mapping[str, int] | None = None
) -> Iterator[KernelSpec]:
    """Dispatches of ``shader``, which writes elements by shaders/include/destination.glsl.

    Elements have 8 to 32 bits, or up to 64 in ``element_pad``, which takes an axis without ``inside`` as all inside.

    value: the words, ``low`` and ``high``, of the element that ``element_fill`` and ``element_pad`` write.
    """
    for part in parts(problem, limits):
        bound = bind(part, limits)
        axes = part.axes
        if shader == "element_pad":
            axes = tuple(axis._replace(inside=axis.inside or range(axis.size)) for axis in axes)
        for work, are_whole in _by_whole_words(part, work_of(part, bound), limits, may_cut=shader == "element_copy"):
            push = {**bound.bases, **work.push, **(value or {})}
            if shader == "element_fill":
                del push["src_base"]
            constants = work.constants
            if shader in ("element_copy", "element_pad"):
                is_full = are_whole and are_full(work.pieces, limits)
                constants |= {"WHOLE_WORDS": are_whole, "FULL": is_full}
            yield strided_kernel(shader, axes, constants, push, bound.windows, limits)


def _by_whole_words(problem: Problem, work: Work, limits: Limits, may_cut: bool) -> Iterator[tuple[Work, bool]]:
    """Yield the work, and whether its words are filled with elements in the order of their indices.

    may_cut: the problem may be cut after its last full group of whole words, if only the rest prevents the fast path.

    u8[1079,1917,3], each row backwards, has 6,205,329 bytes: 1,551,232 words fill 12,119 groups, and 100 words and a
    byte are left.
    """
    if not (work.own_words and is_packed(problem.axes) and problem.dst_offset * problem.itemsize % 4 == 0):
        yield work, False
        return
    words, rest = divmod(problem.count, 4 // problem.itemsize)
    full = _in_full_groups(words, limits)
    pays = _pays_for_full_groups(problem, limits) or (rest > 0 and limits.allow(2, problem.count))
    if may_cut and pays and 0 < full < work.pieces:
        yield work._replace(pieces=full), True
        work = work._replace(pieces=work.pieces - full, first=work.first + full)
    yield work, not rest


def is_packed(axes: Sequence[Axis]) -> bool:
    """True if the axes walk the destination without holes, in their order."""
    strides = accumulate([axis.size for axis in axes], mul, initial=1)
    return all(map(eq, [axis.dst for axis in axes], strides))
