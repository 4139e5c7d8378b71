"""Plan of a transpose through memory that a group shares: rows of whole words on both sides, in tiles of one group."""

from __future__ import annotations

import math

from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Problem
from restride.plan.boxes import bind
from restride.plan.exchange import Exchange, exchange_of, longest_of
from restride.plan.parameters import constants_for, pack_parameters, word

_LEAST_FILLED = 0.25
"""Share of the tiles' elements that must be there: on a GPU an invocation without work costs little."""


def shared_edge(itemsize: int) -> int:
    """Elements along each edge of a tile of transpose_shared.comp."""
    return 64 if itemsize < 4 else 32


def shared_exchange(problem: Problem, limits: Limits) -> Exchange | None:
    """The axes that a problem exchanges, where this kernel is the choice."""
    if limits.choices.transpose != "shared" or not limits.shortcuts:
        return None
    exchange = exchange_of(problem)
    if exchange is None or not _in_whole_words(problem, exchange):
        return None
    sizes = exchange.a.size, exchange.b.size
    edge = shared_edge(problem.itemsize)
    filled = math.prod(size / (-(-size // edge) * edge) for size in sizes)
    return exchange if filled >= _LEAST_FILLED else None


def transpose_shared(problem: Problem, exchange: Exchange, limits: Limits) -> KernelSpec:
    """The dispatch of a transpose that ``shared_exchange`` found, of a problem that fits one."""
    bound = bind(problem, limits)
    (a,), (b,) = exchange.a.axes, exchange.b.axes
    return KernelSpec(
        shader=f"transpose_shared_{8 * problem.itemsize}",
        constants=constants_for(exchange.outer, ()),
        push=(bound.src_base, bound.dst_base, a.size, b.size, word(a.src), word(b.src), b.dst),
        parameters=pack_parameters(exchange.outer),
        groups=_groups(problem, exchange),
        bindings=bound.windows,
    )


def axis_with_too_many_tiles(problem: Problem, exchange: Exchange, limits: Limits) -> int | None:
    """The axis at which such a transpose is cut that has too many tiles."""
    return longest_of(problem, exchange, _groups(problem, exchange), limits.max_group_count)


def _groups(problem: Problem, exchange: Exchange) -> tuple[int, int, int]:
    """Tiles along a and along b, and indices of the other axes."""
    edge = shared_edge(problem.itemsize)
    return -(-exchange.a.size // edge), -(-exchange.b.size // edge), exchange.indices


def _in_whole_words(problem: Problem, exchange: Exchange) -> bool:
    """True when rows are whole words on both sides; 32 and 64 bits always are.

    u8[64,128] to columns has a row of 128 bytes along b and one of 64 along a; u8[64,127] has none of whole words.
    """
    lanes = 4 // problem.itemsize
    if lanes <= 1:
        return True
    strides = (*exchange.src_strides, *exchange.dst_strides)
    values = (*strides, problem.src_offset, problem.dst_offset, exchange.a.size, exchange.b.size)
    return exchange.b.axes[0].src == 1 and not any(value % lanes for value in values)
