"""Plan of a transpose, a copy whose innermost axes differ: through registers, or in tiles through shared memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from restride.kernel import Choices, KernelSpec, Limits
from restride.kernel.shared_constants import (
    GROUP_BLOCKS,
    GROUP_SIZE,
    MAX_AXES,
    NARROW_EDGE,
    WIDE_EDGE,
)
from restride.lru import cached_property
from restride.plan.dispatches import bind, part_of, plan_elements, strided_kernel
from restride.plan.problem import Axis, Problem, in_order, pack_parameters

# The two axes that a transpose exchanges: a is contiguous in the destination, b in the source.


class Side(NamedTuple):
    """Contiguous elements on one side of a copy: one axis, or two of which the outer continues the inner."""

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """Number of elements along both axes."""
        return math.prod([axis.size for axis in self.axes])

    @property
    def run(self) -> int:
        """Number of elements along the inner axis."""
        return self.axes[0].size


class Exchange(NamedTuple):
    """The axes of a problem: ``a`` contiguous in the destination, ``b`` in the source, and the ``outer`` ones."""

    a: Side
    b: Side
    outer: tuple[Axis, ...]

    @property
    def indices(self) -> int:
        """The product of the sizes of the outer axes."""
        return math.prod([axis.size for axis in self.outer])

    @property
    def dst_strides(self) -> tuple[int, ...]:
        """The destination strides of all axes except a."""
        return tuple([axis.dst for axis in (*self.b.axes, *self.outer)])


def exchange_of(problem: Problem) -> Exchange | None:
    """The axis that is contiguous in the destination and the one in the source; None unless these are two axes."""
    if problem.itemsize > 8 or not problem.axes or problem.axes[0].dst != 1 or abs(problem.axes[0].src) <= 1:
        return None
    a, *others = problem.axes
    b = next((axis for axis in others if abs(axis.src) == 1), None)
    return None if b is None else _exchange(problem, (a,), (b,))


def _exchanges(problem: Problem, exchange: Exchange) -> list[Exchange]:
    """The exchange, and its variants with a second axis that continues a, with one that continues b, and with both.

    f32[6,8,8,6] with its axes reversed is axes (6, 384, 1), (8, 48, 6), (8, 6, 48), (6, 1, 384): size and both strides.
    Side a is 6 long, or 6 * 8 = 48, side b likewise. If the same axis continues a and b, there are no variants: a group
    would have short runs on one side.
    """
    (a,), (b,) = exchange.a.axes, exchange.b.axes
    behind_a = next((axis for axis in exchange.outer if axis.dst == a.size), None)
    behind_b = next((axis for axis in exchange.outer if axis.src == b.size * b.src), None)
    if behind_a is behind_b:
        return [exchange]
    sides_a = [(a,)] if behind_a is None else [(a,), (a, behind_a)]
    sides_b = [(b,)] if behind_b is None else [(b,), (b, behind_b)]
    return [_exchange(problem, along_a, along_b) for along_b in sides_b for along_a in sides_a]


def _exchange(problem: Problem, a: tuple[Axis, ...], b: tuple[Axis, ...]) -> Exchange:
    return Exchange(Side(a), Side(b), tuple(axis for axis in problem.axes if axis not in (*a, *b)))


# The transpose through registers: an invocation copies a block, whose rows are contiguous on both sides.

_RUN = 256
"""A group writes this many bytes along axis a, if the axis is long enough and no other length below is better."""

_RUN_LONG = 1024
"""Replaces ``_RUN`` for 32 and 64 bits with the choice ``registers``, if rows of b are long and groups nearly full.

A group reads 16 bytes of each row, and the next groups continue there. Mesa 22.3's llvmpipe takes 0.65 to 0.9 of the
time.
"""

_RUN_NARROW = 64
"""Replaces ``_RUN`` with the choice ``narrow``: a cache line, so that groups read and write whole lines.

Mesa 25.0's llvmpipe takes 0.6 to 0.95 of the time of 256 bytes, and 0.75 to 1.05 of that of 32.
"""

_RUN_SHORT = 32
"""Replaces ``_RUN`` for elements of 8 and 16 bits without the choice ``narrow``, if rows of b are long.

Mesa 22.3's llvmpipe takes 0.6 to 1.0 of the time.
"""

_LONG = 512
"""A row of b is long from this many bytes on: a group that writes ``_RUN_SHORT`` bytes reads 32 blocks of 16 bytes."""

_LINE = 64
"""A group reads at least this many bytes along b, if the axis is long enough: a cache line."""

_LONGER = 0.75
"""Each second axis multiplies the gain by this, because it makes the kernel divide by the length of the first axis."""

_MAX_ENDS = 1 / 8
"""The largest part of a row that may be copied element by element at the row's ends."""

_MIN_GAIN = 4
"""A separate dispatch for the ends of rows pays from ``elements_per_dispatch`` times this many elements on."""

_MIN_FILLED = 0.5
"""The least part of a transpose's invocations that must have work; batches of 3 x 3 are copied element by element."""

_MIN_FILLED_NARROW = 0.25
"""As ``_MIN_FILLED`` for elements below 32 bits, where copying single elements costs more."""


_NEARLY_FULL = 0.9
"""If this part of the invocations has work, no other run length is tried. 1920 elements in runs of 256 fill 0.94,
and take 0.87 of the time of full runs of 64; 640 elements in runs of 256 fill 0.83, and take 1.07."""


@dataclass(frozen=True, eq=False)
class Transpose:
    """The axes that a transpose kernel exchanges, and its blocks and groups.

    across, along: blocks of a group along a and along b. deep: indices of the outer axes in a group.
    """

    exchange: Exchange
    is_aligned: bool
    block: tuple[int, int]
    across: int
    along: int
    deep: int

    @cached_property
    def groups(self) -> tuple[int, int, int]:
        """Work groups along b, along a and along the outer axes."""
        a, b, _ = self.exchange
        return (
            -(-b.size // (self.block[1] * self.along)),
            -(-a.size // (self.block[0] * self.across)),
            -(-self.exchange.indices // self.deep),
        )

    @cached_property
    def filled(self) -> float:
        """The fraction of the groups' capacity that is used; 1: every invocation of every group has a block."""
        room = math.prod(self.block) * GROUP_BLOCKS * math.prod(self.groups)
        return self.exchange.a.size * self.exchange.b.size * self.exchange.indices / room


@lru_cache(maxsize=16)
def transpose_of(problem: Problem, limits: Limits) -> Transpose | None:
    """The problem as a transpose, if the kernel pays; of several, an aligned one, then the one with the most ``_gain``.

    Cached, because a plan asks twice for each part: 14 to 80 us each.
    """
    single = exchange_of(problem) if limits.shortcuts else None
    if single is None:
        return None
    least_filled = _MIN_FILLED if problem.itemsize >= 4 else _MIN_FILLED_NARROW
    chosen = [_in_blocks(problem, exchange, limits.choices) for exchange in _exchanges(problem, single)]
    paying = [each for each in chosen if each.filled >= least_filled and _can_end(problem, each.exchange, limits)]
    return max(paying, key=lambda each: (each.is_aligned, _gain(problem, each)), default=None)


def _gain(problem: Problem, chosen: Transpose) -> float:
    """The efficiency of a transpose: how full its groups are, times the share of each memory run that they use.

    f32, axes a and b of 24 and 32: 3/4 of a group, and 96 of 256 bytes: 0.28. With 16 after the 24: 1 * 1 * 0.75.
    """
    a, b, _ = chosen.exchange
    reach = min(a.size * problem.itemsize / _RUN, 1) * min(b.size * problem.itemsize / _LINE, 1)
    return chosen.filled * reach * _LONGER ** (len(a.axes) + len(b.axes) - 2)


def _can_end(problem: Problem, exchange: Exchange, limits: Limits) -> bool:
    """True if rows have no ends to copy separately, or if extra dispatches for them pay and axis a can be cut."""
    ends = _ends(problem, exchange)
    if not any(ends):
        return True
    dispatches = 1 + sum(map(bool, ends))
    return (
        len(exchange.a.axes) == 1
        and sum(ends) <= exchange.a.size * _MAX_ENDS
        and limits.allow(dispatches, problem.count // _MIN_GAIN)
    )


def _in_blocks(problem: Problem, exchange: Exchange, choices: Choices) -> Transpose:
    """The transpose in blocks. If rows are unaligned and wide blocks would be too few, blocks are narrow along axis b.

    Transposing 4096 matrices s8[64,9], blocks of 8 x 16 need 32,768 invocations, blocks of 8 x 4 four times as many.
    """
    is_aligned = _is_aligned(problem, exchange, 16 // problem.itemsize)
    # Blocks of narrow elements are two words long along a if rows are unaligned, and always for bytes on a GPU (A_WORDS
    # in shaders/copy/transpose.comp).
    is_wide = problem.itemsize >= 4 or (is_aligned and (problem.itemsize > 1 or choices.neighbours))
    along_a = (16 if is_wide else 8) // problem.itemsize
    runs = _runs(problem, exchange, choices)
    wide = _in_groups(problem, exchange, is_aligned, (along_a, 16 // problem.itemsize), runs)
    invocations = GROUP_BLOCKS * math.prod(wide.groups)
    if is_aligned or invocations >= choices.fewest_invocations(problem.count):
        return wide
    return _in_groups(problem, exchange, is_aligned, (along_a, max(4 // problem.itemsize, 1)), runs)


def _runs(problem: Problem, exchange: Exchange, choices: Choices) -> tuple[int, ...]:
    """The candidate numbers of bytes along a for a group to write, the fastest first."""
    is_long = exchange.b.size * problem.itemsize >= _LONG
    if choices.transpose == "narrow":
        return (_RUN_NARROW,)
    if is_long and problem.itemsize < 4:
        return (_RUN_SHORT,)
    return (_RUN_LONG, _RUN) if is_long and choices.transpose == "registers" else (_RUN,)


def _in_groups(
    problem: Problem, exchange: Exchange, is_aligned: bool, block: tuple[int, int], runs: tuple[int, ...]
) -> Transpose:
    """The transpose in groups that write one of ``runs`` bytes along a: the first that leaves few invocations idle."""
    blocks = -(-exchange.a.size // block[0]), -(-exchange.b.size // block[1])
    # Unaligned elements of 32 bits and more are copied word by word. With few blocks along a and b, and several outer
    # indices in a group instead, that is no faster than other kernels.
    indices = exchange.indices if is_aligned or problem.itemsize < 4 else 1
    # A group that covers axis b and has room left gets more blocks along a: 4 blocks of 16 channels, and 16 along a.
    filling = min(GROUP_BLOCKS // blocks[1], _RUN // (block[0] * problem.itemsize))
    fullest = []
    for run in runs:
        least = min(max(run // (block[0] * problem.itemsize), filling), blocks[0])
        # Candidates for the blocks of a group along a. Of 9 blocks a group has all; of 24, all; of 25, 13; of 1024, 16.
        widths = {least, *[-(-blocks[0] // rows) for rows in range(1, 5)]}
        each = []
        for across in sorted(width for width in widths if least <= width <= GROUP_BLOCKS):
            along = min(GROUP_BLOCKS // across, blocks[1])
            deep = min(GROUP_BLOCKS // (across * along), indices)
            each.append(Transpose(exchange, is_aligned, block, across, along, deep))
        fullest.append(max(each, key=lambda chosen: chosen.filled))
    nearly_full = (chosen for chosen in fullest if chosen.filled >= _NEARLY_FULL)
    return next(nearly_full, None) or max(fullest, key=lambda chosen: chosen.filled)


def transpose(problem: Problem, chosen: Transpose, limits: Limits) -> Iterator[KernelSpec]:
    """The dispatches of the transpose that ``transpose_of`` found in a problem that fits one dispatch.

    The kernel writes whole words of every row; elements at row ends, whose words two rows share, are copied one by one.
    """
    bound = bind(problem, limits)
    a, b, outer = chosen.exchange
    b_strides = [axis.dst for axis in b.axes]
    src_base, dst_base = bound.src_base, bound.dst_base
    if b.axes[0].src < 0:
        # Walk axis b from its other end: src[9 - b] to dst[100 * b] becomes src[b] to dst[900 - 100 * b].
        src_base -= b.size - 1
        dst_base += sum((axis.size - 1) * axis.dst for axis in b.axes)
        b_strides = [-stride for stride in b_strides]
    a_strides = [axis.src for axis in a.axes]
    a_words, b_words = (length * problem.itemsize // 4 for length in chosen.block)
    constants = {
        "A_JUMPS": len(a.axes) > 1,
        "B_JUMPS": len(b.axes) > 1,
        **({"FULL": chosen.filled == 1} if chosen.is_aligned else {"B_WORDS": b_words}),
        **({"A_WORDS": a_words} if chosen.is_aligned and problem.itemsize == 1 else {}),
    }
    push = {
        "src_base": src_base,
        "dst_base": dst_base,
        "a_size": a.size,
        "b_size": b.size,
        "a_src": a_strides[0],
        "b_dst": b_strides[0],
        "a_jump": _jump(a, a_strides),
        "b_jump": _jump(b, b_strides),
        "across": chosen.across,
        "along": chosen.along,
        "deep": chosen.deep,
        "per_across": _reciprocal(chosen.across),
        "per_along": _reciprocal(chosen.along),
        "indices": chosen.exchange.indices,
    }
    shader = f"transpose_{8 * problem.itemsize}" + "_aligned" * chosen.is_aligned
    parameters = pack_parameters(shader, outer, (a.run, b.run))
    yield strided_kernel(
        shader, outer, constants, push, bound.windows, limits, parameters=parameters, groups=chosen.groups
    )
    yield from _end_kernels(problem, chosen.exchange, limits)


def _end_kernels(problem: Problem, exchange: Exchange, limits: Limits) -> Iterator[KernelSpec]:
    """Dispatches for the row ends that a transpose leaves; a single one if both ends have the same number of elements.

    u8[4095,4093] to its columns, rows of 4095: elements 0, 1, 2 and 4092, 4093, 4094 are an axis of 3 and one of 2
    that moves the destination by 4092.
    """
    head, tail = _ends(problem, exchange)
    a, *others = problem.axes
    apart = a.size - tail
    if head == tail and head and len(problem.axes) < MAX_AXES:
        inner = [a._replace(size=head)] if head > 1 else []
        axes = in_order([*inner, Axis(2, apart * a.src, apart), *others])
        yield from plan_elements(problem.with_axes(axes), limits, "element_copy")
        return
    for start, size in ((0, head), (apart, tail)):
        if size:
            yield from plan_elements(part_of(problem, 0, start, size), limits, "element_copy")


def _jump(side: Side, strides: list[int]) -> int:
    """The step from run to run, less the steps along a run: 9 steps of 256, runs 16 apart: 16 - 9 * 256."""
    return sum(strides[1:]) - side.run * strides[0] if len(strides) > 1 else 0


def _reciprocal(divisor: int) -> int:
    """2^16 / divisor, rounded up: the product with n below 64, shifted right by 16, is n / divisor."""
    return -(-(1 << 16) // divisor)


def _ends(problem: Problem, exchange: Exchange) -> tuple[int, int]:
    """Elements at both ends of a destination row whose words may also hold elements of other rows.

    Rows of 4093 bytes begin anywhere: up to 3 bytes before the first whole word, up to 3 after the last one. Rows of 61
    bytes at multiples of 64: none before, 61 % 4 = 1 after.
    """
    lanes = max(4 // problem.itemsize, 1)
    if any(stride % lanes for stride in exchange.dst_strides):
        return lanes - 1, lanes - 1
    head = -problem.dst_offset % lanes
    return head, (exchange.a.size - head) % lanes


def _is_aligned(problem: Problem, exchange: Exchange, elements: int) -> bool:
    """True when a transpose moves only whole aligned runs of this many elements on both sides."""
    a, b, outer = exchange
    src_offset = problem.src_offset - (b.size - 1) * (b.axes[0].src < 0)
    strides = (*(axis.src for axis in (*a.axes, *outer)), *exchange.dst_strides)
    values = (*strides, src_offset, problem.dst_offset, a.size, b.size)
    return not any(value % elements for value in values)


# The transpose through shared memory: a group copies a tile, of which it reads and writes whole words of rows.

_MIN_FILLED_SHARED = 0.25
"""The least part of the tiles' elements that must exist; on a GPU an invocation without work costs little."""

_MIN_TILE_BYTES = 32
"""Minimum size in bytes of a tile's rows along b: that of one memory transaction of a GPU."""


def shared_edge(itemsize: int) -> int:
    """Number of elements along a tile of transpose_shared.comp: along a and, unless the tile is shortened, along b."""
    return NARROW_EDGE if itemsize < 4 else WIDE_EDGE


def shared_exchange(problem: Problem, limits: Limits) -> Exchange | None:
    """The axes that a problem exchanges, if the kernel with shared memory should copy it; else None."""
    if limits.choices.transpose != "shared" or not limits.shortcuts:
        return None
    exchange = exchange_of(problem)
    if exchange is None or not _can_pad(*problem.axes):
        return None
    if not (_in_whole_words(problem, exchange) or _can_cut_words(problem, exchange, limits)):
        return None
    sizes = exchange.a.size, exchange.b.size
    edge = shared_edge(problem.itemsize)
    filled = math.prod(size / (-(-size // edge) * edge) for size in sizes)
    return exchange if filled >= _MIN_FILLED_SHARED else None


def transpose_shared(problem: Problem, exchange: Exchange, limits: Limits) -> Iterator[KernelSpec]:
    """The dispatches of the transpose that ``shared_exchange`` found in a problem that fits one dispatch.

    The kernel writes whole words of every row; elements at row ends, whose words two rows share, are copied one by one.
    """
    bound = bind(problem, limits)
    (a,), (b,) = exchange.a.axes, exchange.b.axes
    tile = _tile(problem, exchange, limits)
    inside = 0 if a.inside is None else min(a.inside.stop, a.size)
    constants = {"B_EDGE": tile[1], "INSIDE": inside}
    if problem.itemsize < 4:
        constants["ANYWHERE"] = not _in_whole_words(problem, exchange)
    push = {
        **bound.bases,
        "a_size": a.size,
        "b_size": b.size,
        "a_src": a.src,
        "b_src": b.src,
        "b_dst": b.dst,
    }
    shader, groups = f"transpose_shared_{8 * problem.itemsize}", _groups(exchange, tile)
    yield strided_kernel(shader, exchange.outer, constants, push, bound.windows, limits, groups=groups)
    yield from _end_kernels(problem, exchange, limits)


def _groups(exchange: Exchange, tile: tuple[int, int]) -> tuple[int, int, int]:
    """Numbers of tiles along a and along b, and of indices of the other axes."""
    return -(-exchange.a.size // tile[0]), -(-exchange.b.size // tile[1]), exchange.indices


def _tile(problem: Problem, exchange: Exchange, limits: Limits) -> tuple[int, int]:
    """Elements of a tile along a and along b: a square, or shorter along b if there would be too few tiles.

    f16[8,64,3136] to [8,3136,64]: 49 x 1 x 8 tiles of 64 x 64 are 50,176 invocations; of 64 x 32 they are 100,352.
    """
    edge = along_b = shared_edge(problem.itemsize)
    fewest = limits.choices.fewest_invocations(problem.count)
    while along_b * problem.itemsize > _MIN_TILE_BYTES:
        if GROUP_SIZE * math.prod(_groups(exchange, (edge, along_b))) >= fewest:
            break
        along_b //= 2
    return edge, along_b


def _in_whole_words(problem: Problem, exchange: Exchange) -> bool:
    """True when rows are whole words on both sides, as rows of elements of 32 and 64 bits always are.

    u8[64,128] to columns has a row of 128 bytes along b and one of 64 along a. In u8[64,127] the rows along b, of
    127 bytes, are not whole words.
    """
    lanes = 4 // problem.itemsize
    return lanes <= 1 or (exchange.b.axes[0].src == 1 and _is_aligned(problem, exchange, lanes))


def _can_pad(a: Axis, *others: Axis) -> bool:
    """True if padding, if any, is at the end of axis a only, and a is not all padding: the kernel writes zeros."""
    is_end = a.inside is None or a.inside.start <= 0 < a.inside.stop
    return is_end and all(axis.inside is None for axis in others)


def _can_cut_words(problem: Problem, exchange: Exchange, limits: Limits) -> bool:
    """True if the kernel may extract narrow elements from two words of a row, and the ends of rows cost little."""
    (a,), (b,) = exchange.a.axes, exchange.b.axes
    return problem.itemsize < 4 and b.src == 1 and a.inside is None and _can_end(problem, exchange, limits)


# Used by both kernels.


def axis_with_too_many_groups(problem: Problem, limits: Limits) -> int | None:
    """The axis at which to cut a transpose that has too many work groups along one side; None: no side has."""
    shared = shared_exchange(problem, limits)
    chosen = transpose_of(problem, limits) if shared is None else None
    if shared is not None:
        a, b, outer = shared
        sides, groups = (a.axes, b.axes, outer), _groups(shared, _tile(problem, shared, limits))
    elif chosen is not None:
        a, b, outer = chosen.exchange
        sides, groups = (b.axes, a.axes, outer), chosen.groups
    else:
        return None
    for count, most, axes in zip(groups, limits.max_group_count, sides, strict=True):
        if count > most:
            return problem.axes.index(max(axes, key=lambda axis: axis.size))
    return None
