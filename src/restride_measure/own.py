"""The columns of restride itself: tasks as calls of its public functions, and the device's copy of as many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

import restride as rs
from restride import xp
from restride.command.stopwatch import device_timer
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_measure.offer import Offer
from restride_measure.workloads import (
    MEAN,
    STD,
    Array,
    Boxes,
    Calls,
    Convert,
    Gradient,
    Methods,
    Move,
    NewImages,
    NewPhotos,
    NewShapes,
    Normalize,
    Page,
    Pixels,
    Rearrange,
    Relayout,
    Resize,
    Rival,
    Sizes,
    Task,
    Workload,
    channel_scales,
    random_elements,
)

OURS, COPY = "restride", "copy"
"""Names of the table's columns for restride and for the device's own copy."""

Operation: TypeAlias = Callable[[rs.Tensor, rs.Tensor | None], rs.Tensor]
"""A function of a source and a destination (None: a new one) that returns the destination."""


def dispatched(
    device: Device,
    start: Callable[[], object],
    result: Callable[[], Array] | None = None,
    numpy: Callable[[], Array] | None = None,
) -> Offer:
    """The offer for work that ``start`` submits; ``resident`` also waits for it.

    ``kernel`` raises UnsupportedError if the device has no clock.
    """

    def resident() -> None:
        start()
        device.wait()

    kernel = device_timer(device, start) if isinstance(device.runtime, VulkanRuntime) else None
    return Offer(resident, result, numpy, kernel)


def offer(workload: Workload | Rival, source: Array | None, device: Device) -> Offer:
    """The offer of restride for a workload with the elements ``source``; None for a rival, which gets random ones."""
    desc = rs.TensorDesc.parse(workload.src)
    elements = random_elements(desc, workload.name) if source is None else source
    uploaded = rs.asarray(elements, device=device)
    x = uploaded if uploaded.desc == desc else rs.reorder(uploaded, desc)
    del uploaded
    view = viewed(workload.task, x)
    first, operation, fresh = (operation_of(workload.task, view.sizes) for _ in range(3))
    out = first(view, None)
    last = [out]

    def start() -> None:
        last[0] = operation(view, out)

    def through() -> Array:
        if isinstance(workload.task, Pixels):
            array: Array = pixels_of(workload.task, elements, "np", device)
            return array
        return fresh(viewed(workload.task, rs.asarray(elements, device=device)), None).numpy()

    def result() -> Array:
        return last[0].numpy()

    is_array = not isinstance(workload.task, Relayout) and source is not None
    return dispatched(device, start, result, through if is_array else None)


def viewed(task: Task, x: rs.Tensor) -> rs.Tensor:
    """The view of ``x`` that the task reads; it copies nothing."""
    if isinstance(task, Calls):
        return viewed(task.move, x)
    if isinstance(task, Move):
        return x[task.index()].permute(*task.axes) if task.is_a_view else x
    return x


def operation_of(task: Task, sizes: Sizes) -> Operation:  # noqa: PLR0911, PLR0912 - one for each kind of task
    """The call to measure, for a tensor or view of ``sizes``; tasks with new sizes restart with each new operation."""
    match task:
        case Move():
            return lambda x, out: rs.reorder(x, out=out)
        case Relayout(layout):
            return lambda x, out: rs.reorder(x, layout, out=out)
        case Convert(dtype, scale, per_channel):
            return lambda x, out: rs.reorder(x, dtype=dtype, src_scale=_scale(x, scale, per_channel), out=out)
        case Normalize(divides):
            return _normalize(divides)
        case Resize(_, mode, antialias):
            # As in Pillow and torch, weights outside of the source are left out.
            options: Any = {"axes": task.axes(len(sizes)), "mode": mode, "like": task.like}
            options |= {"antialias": antialias, "exclude_outside": antialias}
            return lambda x, out: rs.resample(x, task.sizes, out=out, **options)
        case Gradient():
            return lambda x, out: rs.resample_backward(x, task.sizes, out=out)
        case Boxes():
            options = {"axes": (0, 1), "layout": "NHWC->NCHW", "mean": _MEAN, "std": _STD}
            return lambda x, out: rs.crop_resize(x, task.of(x.sizes), task.sizes, out=out, **options)
        case NewShapes():
            return partial(_next_shape, task.crops(sizes))
        case NewImages():
            return partial(_next_image, task, task.crops(sizes))
        case NewPhotos():
            return partial(_next_photos, task, task.crops(sizes))
        case Calls():
            return _calls(task, sizes)
        case Rearrange(pattern, lengths):
            # dtype is passed because without it the result would be a view where possible.
            named: dict[str, Any] = dict(lengths)
            return lambda x, out: rs.rearrange(x, pattern, dtype=x.dtype, out=out, **named)
        case Methods():
            return partial(_methods, task)
        case Page():
            return _page
        case Pixels():
            return lambda x, _: pixels_of(task, x, "restride", x.device)


def pixels_of(task: Pixels, images: Any, kind: Literal["np", "restride"], device: Device) -> Any:
    """The pixels of a batch of images, each of them a sample, as an array or a new tensor."""
    return task.processor([[image] for image in images], kind, device=device)["pixel_values"]


_MEAN, _STD = np.array(MEAN) / 255, np.array(STD) / 255


def _scale(x: rs.Tensor, scale: float | None, per_channel: bool) -> Any:
    return channel_scales(x.sizes[1]).reshape(-1, 1, 1) if per_channel else scale


def _normalize(divides: bool) -> Operation:
    mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)
    options: Any = {"dst_zero_point": (-mean / std).reshape(3, 1, 1)}
    options |= {"dst_scale": std.reshape(3, 1, 1)} if divides else {"src_scale": 1 / std}
    return lambda x, out: rs.reorder(x, "NHWC->NCHW", "f32", out=out, **options)


def _next_shape(crops: Iterator[Sizes], x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    rows, columns = next(crops)
    corner = x[:rows, :columns].permute(1, 0)
    return rs.reorder(corner, out=None if out is None else out[:columns, :rows])


def _next_image(task: NewImages, crops: Iterator[Sizes], x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    image = rs.Tensor(x.memory, rs.TensorDesc(x.dtype, next(crops)), x.device)
    return rs.resample(image, task.sizes, axes=(0, 1), out=out)


def _next_photos(task: NewPhotos, crops: Iterator[Sizes], x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
    planes = rs.TensorDesc("f32", (task.count, x.sizes[2], *task.sizes))
    results = rs.empty(planes, x.device) if out is None else out
    for place in range(task.count):
        desc = rs.TensorDesc(x.dtype, next(crops))
        photo, box = rs.Tensor(x.memory, desc, x.device), (0, 0, *desc.sizes[:2])
        result = results[place : place + 1].permute((0, 2, 3, 1))
        rs.crop_resize(photo, [box], task.sizes, axes=(0, 1), out=result, mean=_MEAN, std=_STD)
    return results


def _methods(task: Methods, x: rs.Tensor, _out: rs.Tensor | None) -> rs.Tensor:
    result, order = x, (0, 2, 3, 1)
    for _ in range(task.count):
        if task.converts:
            result = xp.astype(x, xp.float16) if task.by_xp else x.astype("f16")
        else:
            result = xp.permute_dims(x, order) if task.by_xp else x.permute(order)
    return result


def _page(x: rs.Tensor, _out: rs.Tensor | None) -> rs.Tensor:
    x._repr_html_()
    return x


def _calls(task: Calls, sizes: Sizes) -> Operation:
    move = operation_of(task.move, sizes)
    plans: list[rs.Plan] = []

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        result = move(x, None) if out is None else out
        if not plans:
            plans.append(rs.plan_reorder(x.desc, result.desc, device=x.device))
        call = plans[0] if task.by_plan else move
        with x.device.batch() if task.in_batch else nullcontext():
            for _ in range(task.count):
                call(x, result)
        return result

    return operation
