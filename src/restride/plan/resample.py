"""Plan of a resampling pass: plain axes walked by stride, resampled axes through exact tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from restride.arithmetic import NO_ARITHMETIC
from restride.desc import TensorDesc
from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Problem, in_words
from restride.plan.boxes import bind, boxes, rows_of_groups
from restride.plan.conversion import Conversion, axis_with_too_many_pairs, pair_ranges
from restride.plan.elements import GROUP_SIZE, plan_elements, variant, work_of
from restride.plan.parameters import Push, pack_parameters, specialised_constants
from restride.plan.places import Place
from restride.plan.regions import Region, Walk, walks
from restride.plan.rows import Rows, rows_of
from restride.plan.tables import Table

MOST_SLOTS = 3
"""Axes that one dispatch interpolates along."""

_FROM_ZERO = 4

Tables = tuple[tuple[int, Table], ...]
"""Resampled axes and their tables, the last logical axis first."""


def plan_resample(
    src: TensorDesc, dst: TensorDesc, tables: Tables, conversion: Conversion, limits: Limits, specialised: bool
) -> Iterator[KernelSpec]:
    """Dispatches that make ``dst`` of what ``tables`` read of ``src``, whose other axes have equal sizes."""
    region = Region((0,) * dst.rank, dst.sizes, Place.of(src), Place.of(dst), conversion.places)
    found = walks(region, {axis: src.sizes[axis] for axis, _ in tables})
    if found is None:
        raise AssertionError(f"resampling {src} to {dst} along {[axis for axis, _ in tables]} is not strided")
    for walk in found:
        problem = _with_tables(walk, tables).problem(dst.dtype.itemsize, src.dtype.itemsize)
        if _is_move(conversion, tables) and problem.itemsize == 8:
            yield from plan_elements(in_words(problem), limits, specialised, "resample_nearest")
            continue
        for box in boxes(problem, limits, axis_with_too_many_pairs):
            rows = rows_of(box)
            if rows is not None:
                yield _resample(box, rows, tables, conversion, limits, specialised)
            elif _is_move(conversion, tables):
                yield from plan_elements(box, limits, specialised, "resample_nearest")
            else:
                yield _resample(box, None, tables, conversion, limits, specialised)


def _is_move(conversion: Conversion, tables: Tables) -> bool:
    """True when every output element is an element of the source as it is."""
    return conversion.src == conversion.dst and conversion.arithmetic == NO_ARITHMETIC and is_index(tables)


def is_index(tables: Tables) -> bool:
    """True when every output element is one of the source's."""
    return all(table.is_index for _, table in tables)


def _with_tables(walk: Walk, tables: Tables) -> Walk:
    axes = list(walk.axes)
    for slot, (axis, table) in enumerate(tables):
        position = walk.cut_from.index(axis)
        axes[position] = replace(axes[position], table=table, slot=slot)
    return replace(walk, axes=tuple(axes))


def _resample(
    problem: Problem, rows: Rows | None, tables: Tables, conversion: Conversion, limits: Limits, specialised: bool
) -> KernelSpec:
    bound = bind(problem, limits)
    parameters, starts = pack_parameters(problem.axes, specialised)
    ranges = pair_ranges(problem)
    parameters, pair_starts = conversion.with_pairs(parameters, ranges)
    offsets = tuple(offset - part.lowest for offset, part in zip(problem.pair_offsets, ranges, strict=True))
    bits, slots = 8 * problem.itemsize, _slots(tables)
    if rows is None:
        work = work_of(problem, bound)
        constants: tuple[int, ...] = (bits, int(work.own_words), *conversion.constants, slots)
        push = Push(bound.src_base, bound.dst_base, work.pieces, work.first)
        groups = rows_of_groups(-(-work.pieces // GROUP_SIZE), limits)
    else:
        constants = (bits, rows.elements, *conversion.constants, slots, rows.constant)
        push = Push(bound.src_base, bound.dst_base, rows.invocations, rows.pieces, rows.blocks)
        groups = rows_of_groups(-(-rows.invocations // GROUP_SIZE), limits)
    return KernelSpec(
        shader=variant("resample" if rows is None else "resample_rows", specialised),
        constants=specialised_constants(constants, problem.axes, starts, pairs=True) if specialised else constants,
        push=conversion.push(push, pair_starts, (offsets[0], offsets[1])),
        parameters=parameters,
        groups=groups,
        bindings=bound.windows,
    )


def _slots(tables: Tables) -> int:
    """Specialization constant 6: interpolated axes, none where elements are only moved; and where sums begin."""
    if is_index(tables):
        return 0
    return len(tables) + _FROM_ZERO * any(table.rows.is_transposed for _, table in tables)
