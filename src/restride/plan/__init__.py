"""Plans: from source and destination descriptors to the dispatches that do the work. Pure; no device is needed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from restride.arithmetic import Arithmetic
from restride.kernel import KernelSpec, Limits, Run
from restride.layout import TensorDesc
from restride.plan.conversion import Conversion
from restride.plan.convert import conversion_kernels
from restride.plan.copy import plan_copy
from restride.plan.dispatches import MAX_TABLE_BYTES
from restride.plan.fill import padding_kernels
from restride.plan.general import general_kernels
from restride.plan.problem import Axis, Problem, simplify
from restride.plan.resample import MOST_SLOTS, Invocations, Tables, is_index, passes, plan_resample, planned_invocations
from restride.plan.tables import table_bytes
from restride.plan.tiles import Pairs, Place, Region, walks
from restride.plan.yuv import reads_frames, writes_frames, yuv_kernels

__all__ = [
    "MOST_SLOTS",
    "Axis",
    "Conversion",
    "Problem",
    "Tables",
    "byte_copy_kernels",
    "convert_kernels",
    "copy_kernels",
    "copy_problems",
    "is_index",
    "is_made_by_elements",
    "is_resampled_by_walks",
    "padding_kernels",
    "passes",
    "reads_frames",
    "resample_kernels",
    "run_copied",
    "taps_fit",
    "writes_frames",
    "yuv_kernels",
]

_MOST_PAIR_BYTES_REMEMBERED = 1 << 12


@lru_cache(maxsize=1024)
def copy_kernels(src: TensorDesc, dst: TensorDesc, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy every element of ``src`` to the same index of ``dst``.

    Equal sizes and element types and an injective ``dst`` are the caller's to check. Nothing for empty tensors.
    """
    problems = copy_problems(src, dst)
    if problems is None or not limits.allow(len(problems), src.numel):
        return tuple(general_kernels(Region.of(src, dst), src.dtype.itemsize, limits))
    return tuple(kernel for problem in problems for kernel in plan_copy(problem, limits))


@lru_cache(maxsize=1024)
def copy_problems(src: TensorDesc, dst: TensorDesc) -> tuple[Problem, ...] | None:
    """The strided walks that copy ``src`` to ``dst``, axes cut at tiles and blocks; None: no such walks do."""
    if src.numel == 0:
        return ()
    if src.strides is not None and dst.strides is not None:
        axes = [Axis(*triple) for triple in zip(dst.sizes, src.strides, dst.strides, strict=True)]
        return (simplify(axes, src.offset, dst.offset, src.dtype.itemsize),)
    found = walks(Region.of(src, dst))
    if found is None:
        return None
    return tuple(walk.problem(src.dtype.itemsize) for walk in found)


def run_copied(src: TensorDesc, dst: TensorDesc) -> Run | None:
    """The bytes that a copy of every element moves, if they lie in one run on both sides, in the same order."""
    problems = copy_problems(src, dst)
    if problems is None or len(problems) != 1:
        return None
    (problem,) = problems
    if len(problem.axes) > 1 or any((axis.src, axis.dst) != (1, 1) for axis in problem.axes):
        return None
    width = problem.itemsize
    return Run(problem.src_offset * width, problem.dst_offset * width, problem.count * width)


def convert_kernels(src: TensorDesc, dst: TensorDesc, arithmetic: Arithmetic, limits: Limits) -> Iterable[KernelSpec]:
    """Dispatches that make every element of ``dst`` of the one at the same index of ``src``, as ``arithmetic`` says.

    Its scales are in the axes of both. Remembered where they are few; otherwise made one by one.
    """
    if _has_few_pairs(arithmetic):
        return _remembered_conversion(src, dst, arithmetic, limits)
    return conversion_kernels(src, dst, Conversion(src.dtype, dst.dtype, arithmetic), limits)


def _has_few_pairs(arithmetic: Arithmetic) -> bool:
    pair_bytes = sum(len(side.pairs) for side in (arithmetic.src, arithmetic.dst) if side is not None)
    return pair_bytes <= _MOST_PAIR_BYTES_REMEMBERED


@lru_cache(maxsize=1024)
def _remembered_conversion(
    src: TensorDesc, dst: TensorDesc, arithmetic: Arithmetic, limits: Limits
) -> tuple[KernelSpec, ...]:
    conversion = Conversion(src.dtype, dst.dtype, arithmetic)
    return tuple(conversion_kernels(src, dst, conversion, limits))


@lru_cache(maxsize=64)
def byte_copy_kernels(axes: tuple[Axis, ...], src_offset: int, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy single bytes along ``axes``, whose strides are bytes, to the start of the destination."""
    return plan_copy(simplify(axes, src_offset, 0, 1), limits)


@lru_cache(maxsize=1024)
def is_resampled_by_walks(src: TensorDesc, dst: TensorDesc, axes: tuple[int, ...]) -> bool:
    """False where tiles or blocks lie along resampled axes: then a copy without them is to be resampled."""
    if src.strides is not None and dst.strides is not None:
        return True
    region = Region((0,) * dst.rank, dst.sizes, Place.of(src), Place.of(dst))
    return not axes or not dst.numel or walks(region, {axis: src.sizes[axis] for axis in axes}) is not None


def taps_fit(src: TensorDesc, tables: Tables, limits: Limits) -> bool:
    """True when what one output element reads leaves a window room for others: a sixteenth of the binding range.

    Linear along axis 0 of f32[3,6000,6000] reads 144 MB apart, more than the 128 MiB that llvmpipe binds.
    """
    strides = src.strides or [src.address.stride(axis) for axis in range(src.rank)]
    apart = sum((table.taps - 1) * abs(strides[axis]) for axis, table in tables) * src.dtype.itemsize
    return apart <= limits.max_buffer_range - limits.max_buffer_range // 16


def is_made_by_elements(src: TensorDesc, dst: TensorDesc, tables: Tables, limits: Limits) -> bool:
    """True where each invocation of a resampling without scales would make one element, or the elements of one word."""
    return any(work.are_elements for work in _remembered_invocations(src, dst, tables, (None, None), limits))


@lru_cache(maxsize=64)
def _remembered_invocations(
    src: TensorDesc, dst: TensorDesc, tables: Tables, pairs: Pairs, limits: Limits
) -> tuple[Invocations, ...]:
    return tuple(planned_invocations(src, dst, tables, pairs, limits))


def resample_kernels(
    src: TensorDesc, dst: TensorDesc, tables: Tables, arithmetic: Arithmetic, limits: Limits
) -> Iterable[KernelSpec]:
    """Dispatches that resample ``src`` into ``dst`` by ``tables``, at most ``MOST_SLOTS``; other sizes must be equal.

    Remembered where the tables fit one dispatch and scales are few; otherwise made one by one, so that the tables of an
    axis of millions are never in memory together.
    """
    if dst.numel == 0:
        return ()
    conversion = Conversion(src.dtype, dst.dtype, arithmetic)
    if sum(table_bytes(rows) for _, rows in tables) <= MAX_TABLE_BYTES and _has_few_pairs(arithmetic):
        return _remembered_resample(src, dst, tables, conversion, limits)
    return plan_resample(src, dst, tables, conversion, limits)


@lru_cache(maxsize=64)
def _remembered_resample(
    src: TensorDesc, dst: TensorDesc, tables: Tables, conversion: Conversion, limits: Limits
) -> tuple[KernelSpec, ...]:
    return tuple(plan_resample(src, dst, tables, conversion, limits, _remembered_invocations))
