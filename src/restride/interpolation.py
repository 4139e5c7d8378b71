"""Interpolation: the plan of a checked resampling, in one dispatch or in passes, and around what is extrapolated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from restride import views
from restride.arithmetic import NO_ARITHMETIC, Arithmetic, arithmetic
from restride.desc import TensorDesc
from restride.destination import Given, arithmetic_of_result, destination, element_type, require_out_of_sum
from restride.dtypes import DType, as_dtype
from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import Layout, family
from restride.plan import (
    Tables,
    is_index,
    is_made_by_elements,
    is_resampled_by_walks,
    padding_kernels,
    passes,
    resample_kernels,
    taps_fit,
)
from restride.planned import Plan
from restride.sampling import Resizing
from restride.steps import SOURCE, Site, Steps, together

INTERPOLATED_TYPES = ("f32", "f16", "bf16", "u8", "s8", "s32", "s16", "u16", "u32", "f8e4m3fn", "f8e5m2")
"""Element types that can be interpolated; nearest takes every type."""

_MANY = 1 << 12
"""Elements for which a dispatch more is worth it."""

_MOST_PACKED_BYTES = 1 << 28
"""Of memory that it may take meanwhile."""


def part_read(resized: Resizing) -> tuple[slice, ...]:
    """The part of the source that is read, a slice for each of its axes."""
    slices = [slice(0, size) for size in resized.source_sizes]
    for axis, part in zip(resized.axes, resized.read, strict=True):
        slices[axis] = slice(part.start, part.stop)
    return tuple(slices)


class _Target(NamedTuple):
    """Where a resampling writes: the elements in the axes of the source, the buffer's layout, and what is done last."""

    site: Site
    whole: TensorDesc
    arithmetic: Arithmetic


def plan_of(
    src: TensorDesc,
    resized: Resizing,
    layout: Layout,
    dtype: Any,
    out: Given | None,
    extrapolation_value: float,
    numbers: dict[str, Any],
    limits: Limits,
) -> Plan:
    """The plan that makes what ``resized`` says of ``src``, the whole source or the part of it that is read.

    numbers: the arguments of ``restride.arithmetic.arithmetic``.
    """
    sum_scale = numbers.get("sum_scale")
    require_out_of_sum(sum_scale, src, out)
    moves = all(sampling.moves for sampling in resized.samplings)
    if not moves and src.dtype.name not in INTERPOLATED_TYPES:
        raise UnsupportedError(
            f"elements of type {src.dtype} are not interpolated, those of {', '.join(INTERPOLATED_TYPES)} are, for "
            f"{src}; rs.reorder converts: dtype='f32', and nearest modes take every type"
        )
    made = TensorDesc(src.dtype if moves or resized.keeps_type else as_dtype("f32"), resized.sizes)
    its_type = element_type(family(src, resized.sizes), layout, dtype, out)
    result = family(src, resized.sizes, its_type)
    dst, site = destination(result, layout, src, out, result, its_type)
    done = arithmetic_of_result(made, dst, layout, numbers)
    if not moves and done.is_conversion and src.dtype == its_type and its_type.name in ("f16", "f8e5m2"):
        done = replace(done, saturate=False)
    target = _Target(site, dst, done)
    source = Site(SOURCE, src if src.sizes == resized.read_sizes else views.index(src, part_read(resized)))
    steps = Steps(limits)
    if not dst.numel:
        steps.copy(site, site, dst, done)  # no elements, but there may be padding
    elif resized.made != resized.window or not source.desc.numel:
        _extrapolated(steps, source, resized, made, target, extrapolation_value)
    else:
        _by_passes(steps, source, resized, target)
    return Plan(src, dst, steps, reads_result=sum_scale is not None)


def _extrapolated(steps: Steps, src: Site, resized: Resizing, made: TensorDesc, target: _Target, value: float) -> None:
    """Outputs that read beyond the source, as boxes of one value around the box of the others.

    All outputs, where no source element is read: a crop beside the source, a gradient of nothing.
    """
    constant = steps.new(TensorDesc("f64", ()), np.float64(value).tobytes())
    plain = steps.new(made)

    def give_value(desc: TensorDesc) -> None:
        same = views.broadcast_to(constant.desc, desc.sizes)
        steps.copy(Site(constant.buffer, same), Site(plain.buffer, desc))

    if not src.desc.numel:
        give_value(made)
    inner = [slice(0, size) for size in made.sizes]
    for axis, window, part in zip(resized.axes, resized.window, resized.made, strict=True):
        start, stop = part.start - window.start, part.stop - window.start
        for low, high in ((0, start), (stop, len(window))) if part else ((0, len(window)),):
            if low < high:
                give_value(views.index(made, (*inner[:axis], slice(low, high), *inner[axis + 1 :])))
        inner[axis] = slice(start, stop)
    box = Site(plain.buffer, views.index(made, tuple(inner)))
    if box.desc.numel and src.desc.numel:
        _by_passes(steps, src, replace(resized, window=resized.made), _Target(box, box.desc, NO_ARITHMETIC))
    steps.copy(plain, target.site, target.whole, target.arithmetic)


def _by_passes(steps: Steps, src: Site, resized: Resizing, target: _Target) -> None:
    """The passes one after the other, and the arithmetic in the last; between them f32, or s32 of fixed weights.

    Where a library rounds after each axis, its elements lie between them: u16 of Pillow's I;16. Its elements are made
    whole before they become others, in a pass more.
    """
    tables = passes(resized)
    between = src.desc.dtype if not tables or is_index(tables[0]) else as_dtype("f32")
    if any(sampling.shifts is not None for sampling in resized.samplings):
        between = as_dtype("s32")
    dtype = src.desc.dtype
    is_direct = target.site.desc.dtype == dtype and target.arithmetic.is_conversion
    made_first = resized.scale is not None or (resized.keeps_type and not is_direct)
    rounded = NO_ARITHMETIC if resized.rounding is None else Arithmetic(rounding=resized.rounding)
    if resized.keeps_type and is_direct:
        target = target._replace(arithmetic=rounded)  # the library's rounding, whichever is asked for
    for these, behind in pairwise(tables):
        is_whole = resized.rounding is not None and these[0][0] != behind[0][0]  # not a part of a row's sum
        its_type, done = (dtype, rounded) if is_whole else (between, NO_ARITHMETIC)
        src = _one_pass(steps, src, these, None, its_type, done)
    for these in tables[-1:]:
        its_type = dtype if resized.keeps_type and between == "f32" else between
        src = _one_pass(steps, src, these, None if made_first else target, its_type, rounded)
    if resized.scale is not None:
        sums, src = src, steps.new(TensorDesc.xla(dtype, src.desc.sizes, src.desc.minor_to_major))
        order = tuple(range(src.desc.rank))
        steps.copy(sums, src, arithmetic=arithmetic(sums.desc, src.desc, order, src_scale=resized.scale))
    if not tables or made_first:
        steps.copy(src, target.site, target.whole, target.arithmetic)


def _one_pass(steps: Steps, src: Site, tables: Tables, target: _Target | None, dtype: DType, done: Arithmetic) -> Site:
    """One pass, into the target, or by ``done`` into a new buffer of type ``dtype`` before what follows."""
    axes = tuple(axis for axis, _ in tables)
    made = target.site.desc if target is not None else _between(src.desc, tables, dtype)
    if not is_resampled_by_walks(src.desc, made, axes):
        src = src if src.desc.strides is not None else _copied(steps, src, TensorDesc(src.desc.dtype, src.desc.sizes))
        if made.strides is None:
            made = _between(src.desc, tables, dtype)
    if not taps_fit(src.desc, tables, steps.limits):
        # A copy whose fastest axes are the resampled ones, small ones first, so that neighbours are near each other.
        inward = sorted(range(src.desc.rank), key=lambda axis: (axis not in axes, src.desc.sizes[axis]))
        src = _copied(steps, src, TensorDesc.xla(src.desc.dtype, src.desc.sizes, inward))
    if (
        made.dtype.itemsize < dtype.itemsize <= 4
        and made.numel >= _MANY
        and is_made_by_elements(src.desc, made, tables, steps.limits)
    ):
        packed = _between(src.desc, tables, dtype)
        if _is_better_packed(src.desc, packed, tables, steps.limits):
            made = packed
    if target is not None and made is target.site.desc:
        _add(steps, src, target.site, tables, target.arithmetic, target.whole)
        return target.site
    result = steps.new(made)
    _add(steps, src, result, tables, done, made)
    if target is not None:
        steps.copy(result, target.site, target.whole, target.arithmetic)
    return result


def _is_better_packed(src: TensorDesc, packed: TensorDesc, tables: Tables, limits: Limits) -> bool:
    """True where what is made by elements has its words better put together afterwards.

    Rows of u8[750,1050] begin inside words.
    """
    return packed.nbytes <= min(limits.max_buffer_range, _MOST_PACKED_BYTES) and not is_made_by_elements(
        src, packed, tables, limits
    )


def _between(src: TensorDesc, tables: Tables, dtype: DType) -> TensorDesc:
    """A packed tensor of what a pass makes, with the source's order of axes."""
    sizes = list(src.sizes)
    for axis, table in tables:
        sizes[axis] = table.count
    return TensorDesc.xla(dtype, sizes, src.minor_to_major)


def _copied(steps: Steps, src: Site, desc: TensorDesc) -> Site:
    copy = steps.new(desc)
    steps.copy(src, copy)
    return copy


def _add(steps: Steps, src: Site, dst: Site, tables: Tables, done: Arithmetic, whole: TensorDesc) -> None:
    def make() -> Iterable[KernelSpec]:
        padding = padding_kernels(whole, steps.limits) if done.sum_scale is None else ()
        return together(padding, resample_kernels(src.desc, dst.desc, tables, done, steps.limits))

    steps.add(src, dst, make)
