"""Plan of a resampling pass: plain axes walked by stride, resampled axes through exact tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from restride.arithmetic import NO_ARITHMETIC
from restride.desc import TensorDesc
from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Axis, Problem, in_words
from restride.plan.boxes import bind, boxes, rows_of_groups
from restride.plan.conversion import Conversion, axis_with_too_many_pairs, pair_ranges
from restride.plan.elements import GROUP_SIZE, plan_elements
from restride.plan.invocations import Invocations, invocations
from restride.plan.parameters import Push, constants_for, pack_parameters
from restride.plan.places import Place
from restride.plan.regions import Pairs, Region, Walk, walks
from restride.plan.tables import Table

MOST_SLOTS = 3
"""Axes that one dispatch interpolates along."""

_GRADIENT = 4

Tables = tuple[tuple[int, Table], ...]
"""Resampled axes and their tables, the last logical axis first."""


def planned_invocations(
    src: TensorDesc, dst: TensorDesc, tables: Tables, pairs: Pairs, limits: Limits
) -> Iterable[Invocations]:
    """Who makes ``dst`` of what ``tables`` read of ``src``, whose other axes have equal sizes; an item a dispatch."""
    for problem in _problems(src, dst, tables, pairs):
        for box in boxes(problem, limits, axis_with_too_many_pairs):
            yield invocations(box, limits)


def plan_resample(
    src: TensorDesc,
    dst: TensorDesc,
    tables: Tables,
    conversion: Conversion,
    limits: Limits,
    planned: Callable[..., Iterable[Invocations]] = planned_invocations,
) -> Iterator[KernelSpec]:
    """Dispatches that make ``dst``. planned: ``planned_invocations``, or what remembers it."""
    moves = _is_move(conversion, tables)
    if moves and dst.dtype.itemsize == 8:
        for problem in _problems(src, dst, tables, conversion.places):
            yield from plan_elements(in_words(problem), limits, "resample_nearest")
        return
    for work in planned(src, dst, tables, conversion.places, limits):
        if moves and work.are_elements:
            yield from plan_elements(work.problem, limits, "resample_nearest")
        else:
            yield _resample(work, tables, conversion, limits)


def _problems(src: TensorDesc, dst: TensorDesc, tables: Tables, pairs: Pairs) -> Iterator[Problem]:
    region = Region((0,) * dst.rank, dst.sizes, Place.of(src), Place.of(dst), pairs)
    found = walks(region, {axis: src.sizes[axis] for axis, _ in tables})
    if found is None:
        raise AssertionError(f"resampling {src} to {dst} along {[axis for axis, _ in tables]} is not strided")
    for walk in found:
        yield _with_tables(walk, tables, src.sizes).problem(dst.dtype.itemsize, src.dtype.itemsize)


def _is_move(conversion: Conversion, tables: Tables) -> bool:
    """True when every output element is an element of the source as it is."""
    return conversion.src == conversion.dst and conversion.arithmetic == NO_ARITHMETIC and is_index(tables)


def is_index(tables: Tables) -> bool:
    """True when every output element is one of the source's."""
    return all(table.is_index for _, table in tables)


def _with_tables(walk: Walk, tables: Tables, extents: tuple[int, ...]) -> Walk:
    axes = list(walk.axes)
    for slot, (axis, table) in enumerate(tables):
        position = walk.cut_from.index(axis)
        along = axes[position]
        axes[position] = Axis(along.size, along.src, along.dst, replace(table, extent=extents[axis]), slot, along.pairs)
    return replace(walk, axes=tuple(axes))


def _resample(work: Invocations, tables: Tables, conversion: Conversion, limits: Limits) -> KernelSpec:
    problem = work.problem
    bound = bind(problem, limits)
    divisors = (work.first, work.lane_stride) if work.lane_stride else ()
    ranges = pair_ranges(problem)
    parameters, pair_starts = conversion.with_pairs(pack_parameters(problem.axes, divisors), ranges)
    offsets = tuple(offset - part.lowest for offset, part in zip(problem.pair_offsets, ranges, strict=True))
    constants = (8 * problem.itemsize, work.owned, *conversion.constants, _slots(tables), *work.axes)
    push = Push(bound.src_base, bound.dst_base, work.total, work.first, work.lane_stride)
    return KernelSpec(
        shader=work.shader,
        constants=constants_for(problem.axes, constants),
        push=conversion.push(push, pair_starts, (offsets[0], offsets[1]), tables[0][1].rows.shifts),
        parameters=parameters,
        groups=rows_of_groups(-(-work.total // GROUP_SIZE), limits),
        bindings=bound.windows,
    )


def _slots(tables: Tables) -> int:
    """Specialization constant 6: interpolated axes, none where elements are only moved; and if this is a gradient."""
    if is_index(tables):
        return 0
    return len(tables) + _GRADIENT * any(table.rows.is_transposed for _, table in tables)
