"""Plan of a transpose through memory that a group shares: rows of whole words on both sides, in tiles of one group."""

from __future__ import annotations

import math

from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Axis, Problem
from restride.plan.boxes import bind
from restride.plan.parameters import constants_for, pack_parameters, word

_LEAST_FILLED = 0.25
"""Share of the tiles' elements that must be there: on a GPU an invocation without work costs little."""


def shared_edge(itemsize: int) -> int:
    """Elements along each edge of a tile of transpose_shared.comp."""
    return 64 if itemsize < 4 else 32


def shared_axes(problem: Problem, limits: Limits) -> tuple[int, int] | None:
    """Positions of axes a and b, contiguous in the destination and in the source, where the kernel is the choice."""
    axes, itemsize = problem.axes, problem.itemsize
    if limits.choices.transpose != "shared" or not limits.shortcuts or itemsize > 8:
        return None
    if not axes or axes[0].dst != 1 or abs(axes[0].src) <= 1:
        return None
    b = next((position for position, axis in enumerate(axes) if abs(axis.src) == 1), None)
    if b is None:
        return None
    filled = math.prod(
        axes[position].size / (_tiles(axes[position], itemsize) * shared_edge(itemsize)) for position in (0, b)
    )
    return (0, b) if filled >= _LEAST_FILLED and _in_whole_words(problem, b) else None


def transpose_shared(problem: Problem, pair: tuple[int, int], limits: Limits) -> KernelSpec:
    """The dispatch that transposes along axes that ``shared_axes`` found, of a problem that fits one."""
    bound = bind(problem, limits)
    a, b = (problem.axes[position] for position in pair)
    outer = _outer(problem, pair)
    return KernelSpec(
        shader=f"transpose_shared_{8 * problem.itemsize}",
        constants=constants_for(outer, ()),
        push=(bound.src_base, bound.dst_base, a.size, b.size, word(a.src), word(b.src), b.dst),
        parameters=pack_parameters(outer),
        groups=_groups(problem, pair),
        bindings=bound.windows,
    )


def axis_with_too_many_tiles(problem: Problem, pair: tuple[int, int], limits: Limits) -> int | None:
    """Tiles are counted along x and y, and along z indices of the other axes, of which the longest is cut."""
    outer = [position for position in range(len(problem.axes)) if position not in pair]
    places = ([pair[0]], [pair[1]], outer)
    for count, most, positions in zip(_groups(problem, pair), limits.max_group_count, places, strict=True):
        if count > most:
            return max(positions, key=lambda position: problem.axes[position].size)
    return None


def _groups(problem: Problem, pair: tuple[int, int]) -> tuple[int, int, int]:
    along_a, along_b = (_tiles(problem.axes[position], problem.itemsize) for position in pair)
    return along_a, along_b, math.prod(axis.size for axis in _outer(problem, pair))


def _tiles(axis: Axis, itemsize: int) -> int:
    return -(-axis.size // shared_edge(itemsize))


def _outer(problem: Problem, pair: tuple[int, int]) -> tuple[Axis, ...]:
    return tuple(axis for position, axis in enumerate(problem.axes) if position not in pair)


def _in_whole_words(problem: Problem, b: int) -> bool:
    """True when rows are whole words on both sides; 32 and 64 bits always are.

    u8[64,128] to columns has a row of 128 bytes along b and one of 64 along a; u8[64,127] has none of whole words.
    """
    lanes = 4 // problem.itemsize
    if lanes <= 1:
        return True
    inner = (problem.axes[0], problem.axes[b])
    rest = _outer(problem, (0, b))
    strides = [inner[0].src, inner[1].dst, *(axis.src for axis in rest), *(axis.dst for axis in rest)]
    values = (*strides, problem.src_offset, problem.dst_offset, *(axis.size for axis in inner))
    return inner[1].src == 1 and not any(value % lanes for value in values)
