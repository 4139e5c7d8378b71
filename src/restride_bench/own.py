"""Restride's own part: a task as calls of its public functions, on tensors that are on the device."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from typing import TypeAlias

import numpy as np

import restride as rs
from restride.errors import UnsupportedError
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_bench.offer import Offer
from restride_bench.tasks import (
    MEAN,
    STD,
    Array,
    Boxes,
    Calls,
    Convert,
    Gradient,
    Move,
    NewImages,
    NewPhotos,
    NewShapes,
    Normalize,
    Relayout,
    Resize,
    Task,
    channel_scales,
)
from restride_bench.workload import Rival, Workload, random_elements

Operation: TypeAlias = Callable[[rs.Tensor, rs.Tensor | None], rs.Tensor]
"""Of a source and a destination, or None for a new one: the destination."""


def has_clock(device: Device) -> bool:
    """True where the device can say itself how long it took."""
    try:
        device_seconds(device, lambda: None)()
    except UnsupportedError:
        return False
    return True


def device_seconds(device: Device, call: Callable[[], object]) -> Callable[[], float]:
    """A function that does the call and returns what the device took for it.

    Raises:
        UnsupportedError: the runtime has no clock.
    """
    runtime = device.runtime
    if not isinstance(runtime, VulkanRuntime):
        raise UnsupportedError("only the runtime vulkan reads the device's clock")

    def timed() -> float:
        with runtime.timed() as clock:
            call()
            runtime.wait()
        return clock.seconds

    return timed


def offer(workload: Workload | Rival, source: Array | None, device: Device, *, clock: bool) -> Offer:
    """How restride does a workload; ``source``: its elements, None for a rival, which makes its own."""
    desc = rs.TensorDesc.parse(workload.src)
    elements = random_elements(desc, workload.name) if source is None else source
    uploaded = rs.asarray(elements, device=device)
    x = uploaded if uploaded.desc == desc else rs.reorder(uploaded, desc)
    del uploaded
    view = viewed(workload.task, x)
    out = operation_of(workload.task)(view, None)
    # Each counts its own calls.
    operation, fresh = operation_of(workload.task), operation_of(workload.task)
    last = [out]

    def start() -> None:
        last[0] = operation(view, out)

    def resident() -> None:
        start()
        device.wait()

    def result() -> Array:
        return last[0].numpy()

    def through_numpy() -> Array:
        return fresh(viewed(workload.task, rs.asarray(elements, device=device)), None).numpy()

    plain = not isinstance(workload.task, Relayout) and source is not None
    return Offer(
        resident=resident,
        result=result,
        numpy=through_numpy if plain else None,
        kernel=device_seconds(device, start) if clock else None,
    )


def viewed(task: Task, x: rs.Tensor) -> rs.Tensor:
    """What of the task is a view, and costs nothing."""
    if isinstance(task, Calls):
        return viewed(task.move, x)
    if isinstance(task, Move):
        return x[task.index()].permute(*task.axes) if task.is_a_view else x
    return x


def operation_of(task: Task) -> Operation:  # noqa: PLR0911 - one for each kind of task
    """The call that is measured; of the whole tensor, or of its view."""
    match task:
        case Move():
            return lambda x, out: rs.reorder(x, out=out)
        case Relayout(layout):
            return lambda x, out: rs.reorder(x, layout, out=out)
        case Convert():
            return _convert(task)
        case Normalize(divides):
            return _normalize(divides)
        case Resize(sizes, mode, antialias):
            # As Pillow and torch have it: weights outside are left out.
            return lambda x, out: rs.resample(
                x,
                sizes,
                axes=task.axes(x.desc.rank),
                mode=mode,
                antialias=antialias,
                exclude_outside=antialias,
                like=task.like,
                out=out,
            )
        case Gradient(sizes):
            return lambda x, out: rs.resample_backward(x, sizes, out=out)
        case Boxes():
            return _boxes(task)
        case NewShapes():
            return _new_shapes(task)
        case NewImages():
            return _new_images(task)
        case NewPhotos():
            return _new_photos(task)
        case Calls():
            return _calls(task)


_MEAN, _STD = np.array(MEAN) / 255, np.array(STD) / 255


def _boxes(task: Boxes) -> Operation:
    return lambda x, out: rs.crop_resize(
        x, task.of(x.sizes), task.sizes, axes=(0, 1), layout="NHWC->NCHW", out=out, mean=_MEAN, std=_STD
    )


def _convert(task: Convert) -> Operation:
    if task.per_channel:
        return lambda x, out: rs.reorder(
            x, dtype=task.dtype, src_scale=channel_scales(x.sizes[1]).reshape(-1, 1, 1), out=out
        )
    if task.scale is None:
        return lambda x, out: rs.reorder(x, dtype=task.dtype, out=out)
    return lambda x, out: rs.reorder(x, dtype=task.dtype, src_scale=task.scale, out=out)


def _normalize(divides: bool) -> Operation:
    mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)
    zero_point = (-mean / std).reshape(3, 1, 1)
    if divides:
        divisor = std.reshape(3, 1, 1)
        return lambda x, out: rs.reorder(x, "NHWC->NCHW", "f32", dst_scale=divisor, dst_zero_point=zero_point, out=out)
    factor = 1 / std
    return lambda x, out: rs.reorder(x, "NHWC->NCHW", "f32", src_scale=factor, dst_zero_point=zero_point, out=out)


def _new_shapes(task: NewShapes) -> Operation:
    numbers = count()

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        rows, columns = task.crop(x.sizes, next(numbers))
        corner = x[:rows, :columns].permute(1, 0)
        return rs.reorder(corner, out=None if out is None else out[:columns, :rows])

    return operation


def _new_images(task: NewImages) -> Operation:
    numbers = count()

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        desc = rs.TensorDesc(x.dtype, task.crop(x.sizes, next(numbers)))
        return rs.resample(rs.Tensor(x.memory, desc, x.device), task.sizes, axes=(0, 1), out=out)

    return operation


def _new_photos(task: NewPhotos) -> Operation:
    numbers = count()

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        made = rs.empty(rs.TensorDesc("f32", (task.count, x.sizes[2], *task.sizes)), x.device) if out is None else out
        for place in range(task.count):
            desc = rs.TensorDesc(x.dtype, task.crop(x.sizes, next(numbers)))
            photo, box = rs.Tensor(x.memory, desc, x.device), (0, 0, *desc.sizes[:2])
            its_place = made[place : place + 1].permute((0, 2, 3, 1))
            rs.crop_resize(photo, [box], task.sizes, axes=(0, 1), out=its_place, mean=_MEAN, std=_STD)
        return made

    return operation


def _calls(task: Calls) -> Operation:
    move = operation_of(task.move)
    plans: list[rs.Plan] = []

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        made = move(x, None) if out is None else out
        if not plans:
            plans.append(rs.plan_reorder(x.desc, made.desc, device=x.device))
        call = plans[0] if task.by_plan else move
        with x.device.batch() if task.in_batch else nullcontext():
            for _ in range(task.count):
                call(x, made)
        return made

    return operation
