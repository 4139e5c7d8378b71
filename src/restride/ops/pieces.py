"""Concatenation and its relatives: each source is copied, and converted, directly into its part of a new tensor.

A call is planned once. A repeated call only looks its plan up, because for small tensors planning would take most of
the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from restride.arguments import MAX_RANK
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.layout.tensor_desc import packed
from restride.ops.perform import Plan, ViewPlan, cached, perform, plan_on
from restride.ops.reorder import reorder_plan
from restride.ops.target import Out
from restride.plan.steps import RESULT, SOURCE, Site, Steps
from restride.tensor.tensor import Tensor, empty


def reshaped(x: Tensor, sizes: Sequence[int]) -> Tensor:
    """``x.reshape(sizes)``, a view where its layout allows one, else a packed copy in one dispatch."""
    return plan_on(x.device, _joined, x.desc, x.desc, sizes, x.device.limits).run(x, None)


def repeated(x: Tensor, axis: int, times: int) -> Tensor:
    """Repeat each element of an axis ``times`` times, as a view or a copy like ``reshaped``; at most 7 axes."""
    return plan_on(x.device, _repeated_elements, x.desc, axis, times, x.device.limits).run(x, None)


def tiled(x: Tensor, repeats: Sequence[int]) -> Tensor:
    """``x`` repeated ``repeats[k]`` times along axis k, in one dispatch; in a few if the view below exceeds 8 axes.

    f32[2,3] twice along axis 1 is the view f32[2,2,3] of strides (3, 0, 1), whose axes 1 and 2 are joined.
    """
    for plan in plan_on(x.device, _tilings, x.desc, repeats, x.device.limits):
        x = plan.run(x, None)
    return x


def rolled(x: Tensor, shifts: Sequence[int]) -> Tensor:
    """Shift elements along each axis; past its end they return at its start. Each shifted axis takes two copies."""
    return perform(_roll_plan, x, None, shifts=shifts)


def concatenated(
    tensors: Sequence[Tensor],
    axis: int,
    dtype: DType | None = None,
    argument: str = "tensors",
    *,
    is_new: bool = False,
) -> Tensor:
    """Concatenate tensors along an axis, in one dispatch for each tensor.

    Args:
        tensors: one or more, of the same sizes except along the axis, on one device.
        axis: from 0 on.
        dtype: of the result; default: that of the tensors, which must then be the same.
        argument: name of the tensors in error messages.
        is_new: the axis is inserted, as ``stack`` does.

    Raises:
        DescriptorError: the tensors do not fit together.
    """
    device = tensors[0].device
    for place, x in enumerate(tensors):
        if x.device is not device:
            raise DescriptorError(f"{argument}[{place}] {x!r} lies on another device than {tensors[0]!r}")
    descs = tuple([x.desc for x in tensors])
    desc, plans = plan_on(device, _concatenation, descs, axis, dtype, argument, is_new=is_new, limits=device.limits)
    result = empty(desc, device)
    for x, plan in zip(tensors, plans, strict=True):
        plan.run(x, result)
    return result


def _concatenation(
    descs: Sequence[TensorDesc], axis: int, dtype: DType | None, argument: str, *, is_new: bool, limits: Limits
) -> tuple[TensorDesc, tuple[Plan, ...]]:
    """The layout of the result, and the plan that copies each tensor into its part."""
    first = descs[0]
    element = first.dtype if dtype is None else dtype
    for place, desc in enumerate(descs):
        if dtype is None and desc.dtype != element:
            rule = "the element type of"
        elif desc.rank != first.rank:
            rule = "as many axes as"
        elif any(size != first.sizes[k] for k, size in enumerate(desc.sizes) if is_new or k != axis):
            rule = "the sizes of" if is_new else f"the sizes, but for that of axis {axis}, of"
        else:
            continue
        raise DescriptorError(f"{argument}[{place}] {desc} must have {rule} {argument}[0] {first}")
    if is_new:
        descs = [views.index(desc, (*_all(axis), None)) for desc in descs]
    sizes = list(descs[0].sizes)
    sizes[axis] = sum(desc.sizes[axis] for desc in descs)
    result, plans, at = packed(element, sizes), [], 0
    for desc in descs:
        out = Out(views.index(result, (*_all(axis), slice(at, at + desc.sizes[axis]))), is_shared=False)
        plans.append(cached(reorder_plan, desc, out, limits))
        at += desc.sizes[axis]
    return result, tuple(plans)


def _all(axes: int) -> tuple[slice, ...]:
    return (slice(None),) * axes


def _joined(src: TensorDesc, view: TensorDesc, sizes: Sequence[int], limits: Limits) -> Plan:
    """The plan of a reshape of a view of ``src``: a view where its layout allows one, else a packed copy."""
    try:
        return ViewPlan(src, views.reshape(view, sizes), Steps(limits))
    except DescriptorError as error:
        whole = packed(view.dtype, view.sizes)
        try:
            dst = views.reshape(whole, sizes)
        except DescriptorError:
            raise error from None
        steps = Steps(limits)
        steps.copy(Site(SOURCE, view), Site(RESULT, whole))
        return Plan(src, dst, steps)


def _repeated_elements(src: TensorDesc, axis: int, times: int, limits: Limits) -> Plan:
    sizes = list(src.sizes)
    wide = views.broadcast_to(
        views.index(src, (*_all(axis + 1), None)), (*sizes[: axis + 1], times, *sizes[axis + 1 :])
    )
    sizes[axis] *= times
    return _joined(src, wide, sizes, limits)


def _tilings(src: TensorDesc, repeats: Sequence[int], limits: Limits) -> list[Plan]:
    # The view has no axis for a size of 1, or for a repetition of 1.
    if sum((size != 1) + (times != 1) for size, times in zip(src.sizes, repeats, strict=True)) > MAX_RANK:
        last = max(axis for axis, times in enumerate(repeats) if times != 1)
        first = _tilings(src, [times if axis == last else 1 for axis, times in enumerate(repeats)], limits)
        return first + _tilings(
            first[-1].dst, [1 if axis == last else times for axis, times in enumerate(repeats)], limits
        )
    key: list[slice | int | None] = []
    wide: list[int] = []
    for size, times in zip(src.sizes, repeats, strict=True):
        if times != 1:
            key.append(None)
            wide.append(times)
        if size != 1:
            wide.append(size)
        key.append(0 if size == 1 else slice(None))
    sizes = [size * times for size, times in zip(src.sizes, repeats, strict=True)]
    return [_joined(src, views.broadcast_to(views.index(src, tuple(key)), wide), sizes, limits)]


def _roll_plan(src: TensorDesc, out: Out | None, limits: Limits, shifts: Sequence[int]) -> Plan:  # noqa: ARG001 - out is None
    # For each axis, the parts of the source, each with its first index in the result.
    halves = []
    for size, count in zip(src.sizes, shifts, strict=True):
        cut = -count % size if size else 0
        halves.append([(slice(cut, size), 0), (slice(0, cut), size - cut)] if cut else [(slice(0, size), 0)])
    dst, steps = packed(src.dtype, src.sizes), Steps(limits)
    for pieces in product(*halves):
        part = views.index(src, tuple(piece for piece, _ in pieces))
        place = views.index(dst, tuple(slice(at, at + piece.stop - piece.start) for piece, at in pieces))
        steps.copy(Site(SOURCE, part), Site(RESULT, place))
    return Plan(src, dst, steps)
