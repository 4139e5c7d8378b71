"""Passes: which axes of a resampling are summed in one dispatch, and which one after the other.

In one dispatch every output sums the product of all taps; pass by pass, their sum, but on elements that must be written
and read between. Antialiased 1080x1920 -> 224x224 has 10 x 18 taps: 9 million products in one pass, and in two, the
columns first, 4.4 and 0.5. Sums are nested, the last axis first, and f32 lies between passes: the bits are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from restride.plan.resample import MOST_SLOTS, Tables, is_index
from restride.plan.tables import Table
from restride.sampling import MOST_TAPS, Resizing, Ruled, Sampling, steps

_ELEMENT_COST = 8
"""What writing an element, and reading it again, costs, in taps."""

_PRODUCT_COST = 4
"""What a tap of several axes costs, in taps of one axis, which are loaded by fours."""

_FEW_TAPS = 16
"""Of all axes together: one dispatch is best, whatever the sizes."""


def passes(resized: Resizing) -> tuple[Tables, ...]:
    """The tables of each pass; axes that stay as they are have none."""
    stepped: list[tuple[int, Table]] = []
    order = resized.order or sorted(range(len(resized.axes)), key=lambda place: -resized.axes[place])
    for place in order:
        sampling, made, read = resized.samplings[place], resized.made[place], resized.read[place]
        if not sampling.is_identity:
            stepped += [(resized.axes[place], table) for table in _steps(sampling, made, read.start)]
    if not stepped:
        return ()
    whole = tuple(stepped)
    if resized.rounding is not None or any(table.rows.shifts is not None for _, table in whole):
        return tuple((one,) for one in whole)  # each is rounded
    if is_index(whole):
        return (whole,)
    if _is_one_dispatch(whole) and math.prod(table.taps for _, table in whole) <= _FEW_TAPS:
        return (whole,)
    sizes = resized.read_sizes
    return min(_groupings(stepped), key=lambda grouping: _cost(grouping, sizes))


def _steps(sampling: Sampling | Ruled, made: range, origin: int) -> Iterator[Table]:
    """The tables along one axis, each on what the one before it makes."""
    if isinstance(sampling, Ruled) and sampling.is_held:
        part = sampling.read_of_held(made)
        yield Table(sampling.held, part.start, len(part), origin)
        origin = part.start
    for rows in steps(sampling):
        many = rows.makes // sampling.makes  # parts of a row
        yield Table(rows, made.start * many, len(made) * many, origin)
        origin = made.start * many


def _groupings(stepped: Sequence[tuple[int, Table]]) -> Iterator[tuple[Tables, ...]]:
    """The ways to cut a sequence into groups that one dispatch can do; each alone is one of them."""
    inner = range(1, len(stepped))
    for count in range(len(stepped)):
        for cuts in combinations(inner, count):
            bounds = (0, *cuts, len(stepped))
            groups = tuple(tuple(stepped[a:b]) for a, b in pairwise(bounds))
            if all(_is_one_dispatch(group) for group in groups):
                yield groups


def _is_one_dispatch(group: Tables) -> bool:
    axes = {axis for axis, _ in group}
    return len(axes) == len(group) <= MOST_SLOTS and math.prod(table.taps for _, table in group) <= MOST_TAPS


def _cost(grouping: Sequence[Tables], sizes: Sequence[int]) -> int:
    left, cost = list(sizes), 0
    for group in grouping:
        for axis, table in group:
            left[axis] = table.count
        tap_cost = _PRODUCT_COST if len(group) > 1 else 1
        cost += math.prod(left) * (tap_cost * math.prod(table.taps for _, table in group) + _ELEMENT_COST)
    return cost
