"""Plan of a copy: which kernel moves the elements of one layout into another bit for bit, and in how many dispatches.

The first kernel that fits is chosen, in the order: pixels and planes; transposes through shared memory; padded
elements; transposes through registers; rows of narrow elements, long or short; single elements; words. Shared
memory is used only where ``Choices.transpose`` is "shared". The general kernel, by digits, copies layouts that no
strided walks describe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from restride.kernel import Binding, ByteRange, Choices, KernelSpec, Limits
from restride.kernel.shared_constants import (
    GROUP_SIZE,
    MAX_AXES,
    MAX_CHANNELS,
    PIECES_EACH,
    SHORT_ROWS_WORDS,
    WORDS_APART,
    WORDS_IN_A_ROW,
    WORDS_REVERSED,
)
from restride.layout import TensorDesc
from restride.plan.dispatches import (
    MAX_COUNT,
    are_full,
    bind,
    full_groups,
    groups_for,
    parts,
    plan_elements,
    rows_of_groups,
    strided_kernel,
    whole_units,
)
from restride.plan.general import general_kernels
from restride.plan.problem import (
    Axis,
    Problem,
    in_order,
    narrow,
    simplify,
    widen,
)
from restride.plan.tiles import Region, walks
from restride.plan.transpose import (
    Transpose,
    axis_with_too_many_groups,
    shared_exchange,
    transpose,
    transpose_of,
    transpose_shared,
)

RUN_WIDTHS = (32, 128)
"""Bits of the elements that the modules named run_copy move."""

_NEAR = 64
"""The pieces that an invocation moves must be at most this many elements apart on one side. If they are further apart
on both sides, llvmpipe takes twice as long.
"""

_MAX_ROWS = 2048
"""Words are gathered in turn from at most this many rows: a CPU's TLB holds about as many pages."""

_CHUNK_BYTES = 16
"""Number of bytes of a row, or of each plane, that an invocation moves."""

_MAX_SHORT = 31
"""Maximum length of a short row: an invocation of interleaved_copy.comp keeps a word for each element in registers."""

_MIN_BLOCKS = 32
"""Minimum number of blocks of short rows in a group."""


@lru_cache(maxsize=1024)
def copy_kernels(src: TensorDesc, dst: TensorDesc, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy every element of ``src`` to the same index of ``dst``; none for empty tensors.

    The caller has checked that sizes and element types are equal and ``dst`` is injective. Cached for copies outside
    plans, such as ``Tensor.numpy`` of a strided tensor: a call takes 70 to 500 us, or 0.2 us from the cache.
    """
    problems = copy_problems(src, dst)
    if problems is None or not limits.allow(len(problems), src.numel):
        return tuple(general_kernels(Region.of(src, dst), src.dtype.itemsize, limits))
    return tuple(kernel for problem in problems for kernel in plan_copy(problem, limits))


@lru_cache(maxsize=1024)
def copy_problems(src: TensorDesc, dst: TensorDesc) -> tuple[Problem, ...] | None:
    """The strided walks that copy ``src`` to ``dst``, with axes cut at tiles and blocks; None if there are none.

    Cached, because a step first asks whether it copies a run, and later for the kernels of the same walks.
    """
    if src.numel == 0:
        return ()
    if src.strides is not None and dst.strides is not None:
        axes = tuple([Axis(*triple) for triple in zip(dst.sizes, src.strides, dst.strides, strict=True)])
        return (simplify(Problem(axes, src.offset, dst.offset, src.dtype.itemsize)),)
    cut_walks = walks(Region.of(src, dst))
    return None if cut_walks is None else tuple(walk.problem(src.dtype.itemsize) for walk in cut_walks)


def run_copied(src: TensorDesc, dst: TensorDesc) -> ByteRange | None:
    """The bytes to copy, if all elements are contiguous on both sides, in the same order; else None."""
    problems = copy_problems(src, dst)
    if problems is None or len(problems) != 1:
        return None
    (problem,) = problems
    if len(problem.axes) > 1 or any((axis.src, axis.dst) != (1, 1) for axis in problem.axes):
        return None
    width = problem.itemsize
    return ByteRange(problem.src_offset * width, problem.dst_offset * width, problem.count * width)


def byte_copy_kernels(axes: tuple[Axis, ...], src_offset: int, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy single bytes along ``axes``, whose strides are bytes, to the start of the destination."""
    return plan_copy(simplify(Problem(axes, src_offset, 0, 1)), limits)


def plan_copy(problem: Problem, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy ``problem``, bit for bit, from memory 0 to memory 1, with 0 where it is padded."""
    return tuple(
        kernel
        for piece in _whole_elements(problem, limits)
        for part in parts(widen(piece, limits.widest_element), limits, axis_with_too_many_groups)
        for whole in _whole_chunks(part, limits)
        for kernel in _copy_part(whole, limits)
    )


def _whole_elements(problem: Problem, limits: Limits) -> tuple[Problem, ...]:
    """The problem; a contiguous copy is split before its last bytes if they do not fill an element of maximum width.

    u8[16777213] is 1,048,575 elements of 16 bytes, and then 13 bytes.
    """
    wide = max(limits.widest_element // problem.itemsize, 1)
    begins_whole = problem.src_offset % wide == problem.dst_offset % wide == 0
    if len(problem.axes) != 1 or not (_is_run(problem) and begins_whole and limits.shortcuts):
        return (problem,)
    return whole_units(problem, 0, wide, limits, lambda _whole: True)


def _copy_part(problem: Problem, limits: Limits) -> Iterator[KernelSpec]:
    is_padded = any(axis.inside is not None for axis in problem.axes)
    if limits.shortcuts and not is_padded and (pixels := _pixels_of(problem)):
        yield _copy_interleaved(problem, pixels, limits)
    elif shared := shared_exchange(problem, limits):
        yield from transpose_shared(problem, shared, limits)
    elif is_padded:
        yield from plan_elements(problem, limits, "element_pad")
    elif transposed := _transposed(problem, limits):
        yield from transpose(problem, transposed, limits)
    elif limits.shortcuts and (rows := _rows_of(problem)):
        yield _copy_interleaved(problem, rows, limits)
    elif limits.shortcuts and (short_rows := _short_rows_of(problem)):
        is_shared = limits.choices.transpose == "shared"
        yield (_share_short_rows if is_shared else _copy_interleaved)(problem, short_rows, limits)
    elif problem.itemsize < 4:
        yield from plan_elements(problem, limits, "element_copy")
    elif limits.shortcuts and _can_gather(problem):
        group = 4 * GROUP_SIZE * PIECES_EACH
        yield from (_copy_words(part, limits) for part in full_groups(problem, group, limits))
    else:
        yield _copy_words(problem, limits)


# Interleaved channels that the two sides order differently: an invocation copies four words of each row at a time.


class _Interleaved(NamedTuple):
    """The axes of a copy of interleaved channels: along pixels, across the channels of a pixel, and the others.

    On each side the stride of ``along`` is the number of channels that a row interleaves. A row of which every second
    element is copied has pixels of two channels, of which one is copied: ``channel`` has size 1.

    chunk: the largest number of pixels per invocation.
    """

    along: Axis
    channel: Axis
    others: tuple[Axis, ...]
    chunk: int

    def whole_sides(self, problem: Problem, chunk: int) -> tuple[bool, bool]:
        """For each side, whether its rows consist of whole chunks and begin at multiples of a chunk."""
        lowest = problem.src_offset + max(-self.along.src, 0)
        source = (lowest, *(axis.src for axis in self.others), *_planes(self.channel.src))
        target = (problem.dst_offset, *(axis.dst for axis in self.others), *_planes(self.channel.dst))
        loads, stores = (not any(number % chunk for number in (self.along.size, *side)) for side in (source, target))
        return loads, stores


def _pixels_of(problem: Problem) -> _Interleaved | None:
    """The axes of a copy between pixels and planes; None if it is another copy, or its rows are a single chunk."""
    along = next((axis for axis in problem.axes if axis.dst == 1), None)
    channel = next((axis for axis in problem.axes if axis.src == 1), None)
    if problem.itemsize > 4 or along is None or channel is None or along is channel:
        return None
    chunk = _CHUNK_BYTES // problem.itemsize
    others = tuple(axis for axis in problem.axes if axis is not along and axis is not channel)
    if channel.size > MAX_CHANNELS:
        along, channel = channel, along
    pixel_stride = along.src if channel.src == 1 else along.dst
    if pixel_stride != channel.size or not 2 <= channel.size <= MAX_CHANNELS:
        return None
    if not chunk < along.size < MAX_COUNT // MAX_CHANNELS - chunk:
        return None
    return _Interleaved(along, channel, others, chunk)


def _planes(stride: int) -> tuple[int, ...]:
    """The stride from plane to plane; empty if the channels are adjacent."""
    return () if stride == 1 else (stride,)


def _whole_chunks(problem: Problem, limits: Limits) -> tuple[Problem, ...]:
    """The problem, or its rows split after their last whole chunk, if one side is then loaded or stored by 16 bytes.

    u8[1,1079,1917,3] to planes: 2,068,443 pixels are 129,277 chunks of 16, and 11 pixels that are copied separately.
    """
    pixels = _pixels_of(problem) if limits.shortcuts else None
    if pixels is None:
        return (problem,)
    position = problem.axes.index(pixels.along)
    return whole_units(problem, position, pixels.chunk, limits, _has_whole_side)


def _has_whole_side(problem: Problem) -> bool:
    """True for a copy between pixels and planes one side of which is loaded or stored by 16 bytes."""
    pixels = _pixels_of(problem)
    return pixels is not None and any(pixels.whole_sides(problem, pixels.chunk))


def _rows_of(problem: Problem) -> _Interleaved | None:
    """The axes of a copy of long rows of 8 or 16 bits; None if it is another copy.

    The elements of a row are contiguous in the destination, and at most MAX_CHANNELS elements apart in the source.
    """
    if problem.itemsize > 2 or not problem.axes:
        return None
    along, *others = problem.axes
    chunk = _CHUNK_BYTES // problem.itemsize
    are_near = along.dst == 1 and 0 < abs(along.src) <= MAX_CHANNELS
    is_long = chunk < along.size < MAX_COUNT - chunk
    return _Interleaved(along, Axis(1, 1, 1), tuple(others), chunk) if are_near and is_long else None


def _short_rows_of(problem: Problem) -> _Interleaved | None:
    """The axes of rows of a few narrow elements, which follow one another in the destination: pixels of many channels.

    In the source, the elements with the same number in all rows are contiguous. None if rows are too long for one
    invocation, or if a word of either side would belong to two groups of pixels.
    """
    if problem.itemsize > 2 or not problem.axes or problem.axes[0].dst != 1:
        return None
    channel, *others = problem.axes
    along = next((axis for axis in others if (axis.src, axis.dst) == (1, channel.size)), None)
    if along is None or channel.size > _MAX_SHORT:
        return None
    others.remove(along)
    short_rows = _Interleaved(along, channel, tuple(others), 4 // problem.itemsize)
    return short_rows if all(short_rows.whole_sides(problem, short_rows.chunk)) else None


def _copy_interleaved(problem: Problem, interleaved: _Interleaved, limits: Limits) -> KernelSpec:
    """The dispatch of ``interleaved_copy`` for a problem and the axes that one of the functions above found in it.

    u8[1,35,3] to planes: 35 pixels, by chunks of 16. A plane of 35 bytes that begins in the middle of a word may
    end in the tenth word, so there are three chunks of four words: axis (size 3, src 48, dst 16).
    u8[4,21] in rows of 21, flipped: axis (size 21, src -1, dst 1) becomes two chunks, (size 2, src -16, dst 16).
    """
    bound = bind(problem, limits)
    along, channel, others, chunk = interleaved
    lanes = 4 // problem.itemsize
    if problem.count // (chunk * channel.size) < limits.choices.fewest_invocations(problem.count):
        chunk = lanes
    whole = interleaved.whole_sides(problem, chunk)
    if chunk == lanes or channel.size == 1:
        whole = (all(whole),) * 2
    starts = (problem.dst_offset, *(axis.dst for axis in others), *_planes(channel.dst))
    before = lanes - 1 if any(start % lanes for start in starts) else 0
    chunks = -(-(along.size * along.dst + before) // (chunk * along.dst))
    by_chunks = [along._replace(size=chunks, src=chunk * along.src, dst=chunk * along.dst)] if chunks > 1 else []
    pieces = problem.count // (along.size * channel.size) * chunks
    src_width = abs(along.src)
    constants = {
        "BITS": 8 * problem.itemsize,
        "SRC_ROWS": max(channel.size // src_width, 1),
        "SRC_CHANNELS": src_width,
        "DST_ROWS": channel.size // along.dst,
        "DST_CHANNELS": along.dst,
        "BACKWARDS": along.src < 0,
        "WHOLE_LOADS": whole[0],
        "WHOLE_STORES": whole[1],
        "FULL": are_full(pieces, limits),
        "GROUPS": chunk // lanes,
    }
    plane_stride = sum((*_planes(channel.src), *_planes(channel.dst)))
    push = {**bound.bases, "pieces": pieces, "row_size": along.size, "plane_stride": plane_stride}
    return strided_kernel("interleaved_copy", (*by_chunks, *others), constants, push, bound.windows, limits)


def _share_short_rows(problem: Problem, short_rows: _Interleaved, limits: Limits) -> KernelSpec:
    """The dispatch that copies a problem which ``_short_rows_of`` accepts, by groups that share memory.

    s8[512,512,3,3] out of OIhw4i16o4i: rows have 9 elements, along h and w. A block is four rows, along i: axis (size
    4, src 1, dst 9). Axis o (size 16, src 4, dst 4608) continues i in the source, so a group has all 16 blocks along o.
    """
    bound = bind(problem, limits)
    along, channel, others, lanes = short_rows
    blocks = [Axis(along.size // lanes, lanes, lanes * along.dst)] if along.size > lanes else []
    axes = in_order([*blocks, *others])
    pieces = problem.count // (channel.size * lanes)
    fewest = limits.choices.fewest_invocations(problem.count)
    most = GROUP_SIZE
    while most * channel.size > SHORT_ROWS_WORDS or (most > _MIN_BLOCKS and pieces * GROUP_SIZE // most < fewest):
        most //= 2
    beside = next((axis for axis in others if not blocks and axis.src == lanes and axis.size <= most), None)
    if beside is not None:
        axes = (beside, *(axis for axis in axes if axis is not beside))
    across = 1 if beside is None else beside.size
    deep = most // across
    push = {**bound.bases, "pieces": pieces, "lane_stride": channel.src}
    constants = {"BITS": 8 * problem.itemsize, "ROW": channel.size, "ACROSS": across, "DEEP": deep}
    groups = rows_of_groups(-(-pieces // (across * deep)), limits)
    return strided_kernel("short_rows", axes, constants, push, bound.windows, limits, groups=groups)


# Elements of 32, 64 and 128 bits; those of 32 bits are copied four at a time if one side is aligned.


def _copy_words(problem: Problem, limits: Limits) -> KernelSpec:
    axes = problem.axes
    scattered = _scattered_axis(problem)
    if limits.shortcuts and not _is_run(problem):
        bound = bind(problem, limits)
        push = {**bound.bases, "pieces": problem.count // 4}
        if _can_gather(problem):
            push |= {"dst_base": bound.dst_base // 4, "lane_stride": axes[0].src}
            arrangement = WORDS_REVERSED if _is_reversed(problem) else WORDS_APART
            return walking_kernel("strided_gather_128", _gathered(axes), push, bound.windows, limits, arrangement)
        if scattered is not None:
            push |= {"src_base": bound.src_base // 4, "lane_stride": axes[scattered].dst}
            return walking_kernel("strided_scatter_128", _scattered(axes, scattered), push, bound.windows, limits)
    problem = _spread(problem, limits.choices)
    bound = bind(problem, limits)
    push = {**bound.bases, "pieces": problem.count}
    bits = problem.itemsize * 8
    if limits.shortcuts and bits in RUN_WIDTHS and _is_run(problem):
        each = _pieces_each(problem.count, limits.choices)
        constants = {"NEIGHBOURS": limits.choices.neighbours, "EACH": each}
        groups = groups_for(problem.count, limits, each)
        return KernelSpec.of(f"run_copy_{bits}", constants, push, b"", groups, bound.windows)
    return walking_kernel(f"strided_copy_{bits}", problem.axes, push, bound.windows, limits)


def _is_run(problem: Problem) -> bool:
    """True if both sides are contiguous and have the same order of elements."""
    return all((axis.src, axis.dst) == (1, 1) and axis.inside is None for axis in problem.axes)


def _spread(problem: Problem, choices: Choices) -> Problem:
    """The problem with elements narrowed, down to a word, until there are enough invocations.

    165,888 bytes are 10,368 elements of 16 bytes, which is too few; as words they are 41,472, one per invocation.
    """
    words = problem.count * problem.itemsize // 4
    while problem.itemsize > 4 and problem.count < choices.fewest_invocations(4 * words):
        problem = narrow(problem)
    return problem


def walking_kernel(
    shader: str,
    axes: tuple[Axis, ...],
    push: Mapping[str, int],
    windows: tuple[Binding, ...],
    limits: Limits,
    arrangement: int = WORDS_APART,
) -> KernelSpec:
    """The dispatch of a strided_ module, with the axes in the order in which it walks them."""
    neighbours = limits.choices.neighbours
    each = _pieces_each(push["pieces"], limits.choices)
    together = _together(axes, each) if neighbours and each > 1 else None
    is_scatter = shader == "strided_scatter_128"
    if is_scatter and together and each == PIECES_EACH and _are_in_a_row(together[0], push["lane_stride"]):
        arrangement = WORDS_IN_A_ROW
    constants = {
        "NEIGHBOURS": neighbours,
        "EACH": each,
        "TOGETHER": together is not None,
        "FULL": are_full(push["pieces"], limits, each),
    }
    if shader in ("strided_gather_128", "strided_scatter_128"):
        constants["ARRANGEMENT"] = arrangement
    return strided_kernel(shader, together or axes, constants, push, windows, limits, each=each)


def _are_in_a_row(pieces: Axis, lane_stride: int) -> bool:
    """True if a scatter stores contiguous words, of a quad and from one quad to the next along ``pieces``."""
    return lane_stride == 1 and (pieces.src, pieces.dst) == (1, 4)


def _pieces_each(pieces: int, choices: Choices) -> int:
    """Pieces that an invocation moves: 4, or 2 or 1 if there would be too few invocations.

    18,816 pieces get one invocation each; with 400,000 pieces, each of 100,000 invocations moves four.
    """
    each = PIECES_EACH
    while each > 1 and pieces // each < choices.fewest_invocations(4 * pieces):
        each //= 2
    return each


def _together(axes: tuple[Axis, ...], each: int) -> tuple[Axis, ...] | None:
    """The axes, reordered if possible so that the ``each`` pieces of an invocation differ only along the first axis.

    Sizes (6, 6, 8) and ``each`` 4: only the last axis divides by 4, which gives (4, 6, 6, 2). Of several such axes one
    with short steps is preferred; None if no axis divides.
    """
    near = [axis for axis in axes if axis.size % each == 0 and _step(axis) <= _NEAR]
    if not near:
        return None
    axis = min(near, key=lambda axis: (_step(axis), abs(axis.src)))
    if axis is axes[0]:
        return axes
    rest = Axis(axis.size // each, axis.src * each, axis.dst * each)
    others = [rest if other is axis else other for other in axes if other is not axis or rest.size > 1]
    return (axis._replace(size=each), *others) if len(others) < MAX_AXES else None


def _step(axis: Axis) -> int:
    """The smaller of the two strides of an axis, in elements."""
    return min(abs(axis.src), axis.dst)


def _transposed(problem: Problem, limits: Limits) -> Transpose | None:
    """The problem as a transpose; None if it is none, or if one side alone is aligned and quads of words are faster.

    Quads are faster on CPUs, where the elements of an invocation are neighbours.
    If f32[4091,4096] is transposed, a load has four words of a row; if f32[2048,4095] is, a store has four words of a
    column.
    """
    chosen = transpose_of(problem, limits)
    if chosen is None or chosen.is_aligned or not limits.choices.neighbours:
        return chosen
    by_quads = _can_gather(problem) and problem.axes[0].size <= _MAX_ROWS
    return None if by_quads or _scattered_axis(problem) is not None else chosen


def _can_gather(problem: Problem) -> bool:
    """True when four words fill one aligned 128-bit store in every row of the destination."""
    if problem.itemsize != 4 or not problem.axes:
        return False
    inner, *outer = problem.axes
    aligned = problem.dst_offset % 4 == 0 and all(axis.dst % 4 == 0 for axis in outer)
    return inner.dst == 1 and inner.size % 4 == 0 and aligned


def _is_reversed(problem: Problem) -> bool:
    """True if the four words of every store come from one aligned 128-bit load, in reverse order."""
    inner, *outer = problem.axes
    lowest = problem.src_offset - 3  # offset of the lowest of the first four words
    return inner.src == -1 and not any(offset % 4 for offset in (lowest, *(axis.src for axis in outer)))


def _gathered(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes for stores of four words, if ``_can_gather``; the source is still addressed in words.

    Every second of 16 words, axis (size 8, src 2, dst 1), becomes axis (size 2, src 8, dst 1 of 16 bytes) with the lane
    stride 2.
    """
    inner, *outer = axes
    quads = [Axis(inner.size // 4, inner.src * 4, 1)] if inner.size > 4 else []
    return (*quads, *(axis._replace(dst=axis.dst // 4) for axis in outer))


def _scattered_axis(problem: Problem) -> int | None:
    """Position of the axis along which one aligned 128-bit load reads four words to store, if there is one."""
    if problem.itemsize != 4 or problem.src_offset % 4:
        return None
    for position, axis in enumerate(problem.axes):
        rest = [other for other in problem.axes if other is not axis]
        if axis.src == 1 and axis.size % 4 == 0 and all(other.src % 4 == 0 for other in rest):
            return position
    return None


def _scattered(axes: tuple[Axis, ...], position: int) -> tuple[Axis, ...]:
    """The axes for loads of four words along one axis; the destination is still addressed in words.

    8 words written to every third place, axis (size 8, src 1, dst 3), become axis (size 2, src 1 of 16 bytes, dst 12)
    with the lane stride 3.
    """
    inner = axes[position]
    quads = [Axis(inner.size // 4, 1, inner.dst * 4)] if inner.size > 4 else []
    outer = [axis._replace(src=axis.src // 4) for place, axis in enumerate(axes) if place != position]
    return tuple(sorted((*quads, *outer), key=lambda axis: axis.dst))
