"""Interpolation: a checked resampling carried out, in one dispatch or in passes, and around what is extrapolated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from restride.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.arrays import asarray
from restride.desc import TensorDesc
from restride.destination import arithmetic_of_result, destination, element_type
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import Layout, family
from restride.plan import Tables, is_resampled_by_walks, padding_kernels, passes, resample_kernels, taps_fit
from restride.sampling import Resizing
from restride.tensor import Tensor, copy_elements, empty, run

INTERPOLATED_TYPES = ("f32", "f16", "bf16", "u8", "s8", "s32", "s16", "u16", "u32", "f8e4m3fn", "f8e5m2")
"""Element types that can be interpolated; nearest takes every type."""


def part_read(resized: Resizing) -> tuple[slice, ...]:
    """The part of the source that is read, a slice for each of its axes."""
    slices = [slice(0, size) for size in resized.source_sizes]
    for axis, part in zip(resized.axes, resized.read, strict=True):
        slices[axis] = slice(part.start, part.stop)
    return tuple(slices)


@dataclass(frozen=True)
class _Target:
    """Where a resampling writes: the elements in the axes of the source, the buffer's layout, and what is done last."""

    view: Tensor
    whole: TensorDesc
    arithmetic: Arithmetic


def resampled(
    src: Tensor,
    resized: Resizing,
    layout: Layout,
    dtype: Any,
    out: Tensor | None,
    extrapolation_value: float,
    numbers: dict[str, Any],
) -> Tensor:
    """The tensor that ``resized`` makes of ``src``, which is the whole source or the part of it that is read.

    numbers: the arguments of ``restride.arithmetic.arithmetic``.
    """
    if numbers.get("sum_scale") is not None and out is None:
        raise DescriptorError(f"sum_scale {numbers['sum_scale']!r} reads an out, and there is none, for {src.desc}")
    moves = all(sampling.moves for sampling in resized.samplings)
    if not moves and src.dtype.name not in INTERPOLATED_TYPES:
        raise UnsupportedError(
            f"mode {resized.samplings[0].mode!r} has the element types {', '.join(INTERPOLATED_TYPES)}, not "
            f"{src.dtype} of {src.desc}; rs.reorder converts: dtype='f32'"
        )
    made = TensorDesc(src.dtype if moves else as_dtype("f32"), resized.sizes)
    its_type = element_type(family(src.desc, resized.sizes), layout, dtype, out)
    result = family(src.desc, resized.sizes, its_type)
    dst, view = destination(result, layout, src, out, result, its_type)
    done = arithmetic_of_result(made, dst.desc, layout, numbers)
    if not moves and done.is_conversion and src.dtype == its_type and its_type.name in ("f16", "f8e5m2"):
        done = replace(done, saturate=False)
    target = _Target(view, dst.desc, done)
    if not view.desc.numel:
        copy_elements(view, view, dst.desc, done)  # no elements, but there may be padding
        return dst
    if src.sizes != resized.read_sizes:
        src = src[part_read(resized)]
    if resized.made != resized.window or not src.desc.numel:
        _extrapolated(src, resized, made, target, extrapolation_value)
    else:
        _by_passes(src, resized, made, target)
    return dst


def _extrapolated(src: Tensor, resized: Resizing, made: TensorDesc, target: _Target, value: float) -> None:
    """Outputs that read beyond the source, as boxes of one value around the box of the others.

    All outputs, where no source element is read: a crop beside the source, a gradient of nothing.
    """
    constant = asarray(np.float64(value), device=src.device)
    plain = empty(made, src.device)
    if not src.desc.numel:
        copy_elements(constant.broadcast_to(made.sizes), plain)
    inner = [slice(0, size) for size in made.sizes]
    for axis, window, part in zip(resized.axes, resized.window, resized.made, strict=True):
        start, stop = part.start - window.start, part.stop - window.start
        for low, high in ((0, start), (stop, len(window))) if part else ((0, len(window)),):
            if low < high:
                box = plain[(*inner[:axis], slice(low, high), *inner[axis + 1 :])]
                copy_elements(constant.broadcast_to(box.sizes), box)
        inner[axis] = slice(start, stop)
    box = plain[tuple(inner)]
    if box.desc.numel and src.desc.numel:
        _by_passes(src, replace(resized, window=resized.made), box.desc, _Target(box, box.desc, NO_ARITHMETIC))
    copy_elements(plain, target.view, target.whole, target.arithmetic)


def _by_passes(src: Tensor, resized: Resizing, made: TensorDesc, target: _Target) -> None:
    """The passes one after the other, with f32 between them, and the arithmetic in the last."""
    tables = passes(resized)
    if not tables:
        copy_elements(src, target.view, target.whole, target.arithmetic)
        return
    for position, these in enumerate(tables):
        src = _one_pass(src, these, target if position == len(tables) - 1 else None, made.dtype)


def _one_pass(src: Tensor, tables: Tables, target: _Target | None, dtype: DType) -> Tensor:
    """One pass, into the target, or into a new tensor of type ``dtype`` between this pass and what follows."""
    axes = tuple(axis for axis, _ in tables)
    made = target.view.desc if target is not None else _between(src.desc, tables, dtype)
    if not is_resampled_by_walks(src.desc, made, axes):
        src = src if src.desc.strides is not None else _copied(src, TensorDesc(src.dtype, src.sizes))
        if made.strides is None:
            made = _between(src.desc, tables, dtype)
    if not taps_fit(src.desc, tables, src.device.limits):
        # A copy whose fastest axes are the resampled ones, small ones first, so that neighbours are near each other.
        inward = sorted(range(src.desc.rank), key=lambda axis: (axis not in axes, src.sizes[axis]))
        src = _copied(src, TensorDesc.xla(src.dtype, src.sizes, inward))
    if target is not None and made is target.view.desc:
        _run(src, target.view, tables, target.arithmetic, target.whole)
        return target.view
    result = empty(made, src.device)
    _run(src, result, tables, NO_ARITHMETIC, made)
    if target is not None:
        copy_elements(result, target.view, target.whole, target.arithmetic)
    return result


def _between(src: TensorDesc, tables: Tables, dtype: DType) -> TensorDesc:
    """A packed tensor of what a pass makes, with the source's order of axes."""
    sizes = list(src.sizes)
    for axis, table in tables:
        sizes[axis] = table.count
    return TensorDesc.xla(dtype, sizes, src.minor_to_major)


def _copied(src: Tensor, desc: TensorDesc) -> Tensor:
    copy = empty(desc, src.device)
    copy_elements(src, copy)
    return copy


def _run(src: Tensor, dst: Tensor, tables: Tables, done: Arithmetic, whole: TensorDesc) -> None:
    def plan(limits: Limits) -> Iterator[KernelSpec]:
        if done.sum_scale is None:
            yield from padding_kernels(whole, limits)
        yield from resample_kernels(src.desc, dst.desc, tables, done, limits)

    run(plan, src, dst)
