"""The columns of restride itself: tasks as calls of its public functions, and other work on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial

import restride as rs
from restride import xp
from restride.command.stopwatch import device_timer
from restride.dtypes import Array
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_conformance.case import Case, OperationCall
from restride_measure.offer import Offer
from restride_measure.workloads import PixelValues, Workload, crops

OURS = "restride"
"""Name of the table's column for restride; that of the device's own copy is ``COPY`` in ``report.table``."""


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


def offer(workload: Workload, source: Array, device: Device) -> Offer:
    """The offer of restride for a workload with the elements ``source``."""
    desc = workload.desc
    uploaded = rs.asarray(source, device=device)
    x = uploaded if uploaded.desc == desc else rs.reorder(uploaded, desc)
    del uploaded
    view = viewed(workload, x)
    first, operation, fresh = (operation_of(workload) for _ in range(3))
    out = first(view, destination(workload, device))
    last = [out]

    def start() -> None:
        last[0] = operation(view, out)

    def through() -> Array:
        if isinstance(workload.task, PixelValues):
            array: Array = workload.task.processor([[image] for image in source], "np", device=device)["pixel_values"]
            return array
        x = rs.asarray(source, device=device)
        return fresh(viewed(workload, x), destination(workload, device)).numpy()

    def result() -> Array:
        return last[0].numpy()

    return dispatched(device, start, result, through if workload.is_row_major else None)


def viewed(workload: Workload, x: rs.Tensor) -> rs.Tensor:
    """The view of ``x`` that a call of the workload reads; it copies nothing."""
    return workload.task.viewed_tensor(x) if isinstance(workload.task, Case) else x


def destination(workload: Workload, device: Device) -> rs.Tensor | None:
    """A new destination for a call of the workload; None where the call makes its own."""
    return None if workload.case is None else rs.empty(workload.case.dst, device)


def operation_of(workload: Workload) -> OperationCall:
    """The function to measure. If its calls have new sizes each, every such function begins with the largest sizes."""
    task = workload.task
    if isinstance(task, PixelValues):
        return lambda x, _: task.processor([[image] for image in x], "restride", device=x.device)["pixel_values"]
    return HOW[workload.how](task, workload.times) if workload.how else task.operation.call(task)


def _calls(case: Case, times: int, *, in_batch: bool, by_plan: bool) -> OperationCall:
    """``times`` calls, of the operation or of a plan made beforehand, each a submission unless they are in a batch."""
    move = case.operation.call(case)
    plans: list[rs.Plan] = []

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        result = move(x, None) if out is None else out
        if not plans:
            plans.append(rs.plan_reorder(x.desc, result.desc, device=x.device))
        call = plans[0] if by_plan else move
        with x.device.batch() if in_batch else nullcontext():
            for _ in range(times):
                call(x, result)
        return result

    return operation


METHODS = 100
"""Number of conversions or views by a tensor's method or by the array API's function."""


def _methods(case: Case, _times: int, *, by_xp: bool) -> OperationCall:
    converts, order = case.src.dtype != case.dst.dtype, (0, 2, 3, 1)

    def operation(x: rs.Tensor, _out: rs.Tensor | None) -> rs.Tensor:
        result = x
        for _ in range(METHODS):
            if converts:
                result = xp.astype(x, xp.float16) if by_xp else x.astype("f16")
            else:
                result = xp.permute_dims(x, order) if by_xp else x.permute(order)
        return result

    return operation


def _page(_case: Case, _times: int) -> OperationCall:
    """The HTML that a notebook shows for a tensor; the result is the tensor itself."""

    def operation(x: rs.Tensor, _out: rs.Tensor | None) -> rs.Tensor:
        x._repr_html_()
        return x

    return operation


def _new_shapes(case: Case, _times: int) -> OperationCall:
    """A transpose of a corner of a matrix, with other sizes at every call."""
    sizes = crops(case.src.sizes)

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        rows, columns = next(sizes)
        corner = x[:rows, :columns].permute(1, 0)
        return rs.reorder(corner, out=None if out is None else out[:columns, :rows])

    return operation


def _new_images(case: Case, _times: int) -> OperationCall:
    """The case with a smaller source at every call."""
    sizes, call = crops(case.src.sizes), case.operation.call(case)
    return lambda x, out: call(rs.Tensor(x.memory, rs.TensorDesc(x.dtype, next(sizes)), x.device), out)


def _photos(case: Case, times: int, *, are_new: bool) -> OperationCall:
    """Crop and resize ``times`` packed photographs, one by one; with ``are_new`` each is smaller than the last one."""
    sizes: Iterator[tuple[int, ...]] = crops(case.src.sizes)
    named = case.operation.keywords(case)
    one = case.dst.sizes

    def operation(x: rs.Tensor, out: rs.Tensor | None) -> rs.Tensor:
        results = rs.empty(rs.TensorDesc(case.dst.dtype, (times, *one[1:])), x.device) if out is None else out
        for place in range(times):
            desc = rs.TensorDesc(x.dtype, next(sizes) if are_new else case.src.sizes)
            photo = case.viewed_tensor(rs.Tensor(x.memory, desc, x.device))
            rs.crop_resize(photo, out=results[place : place + 1], **named | {"boxes": [(0, 0, *desc.sizes[:2])]})
        return results

    return operation


HOW: Mapping[str, Callable[[Case, int], OperationCall]] = {
    "calls in a batch": partial(_calls, in_batch=True, by_plan=False),
    "calls of a plan in a batch": partial(_calls, in_batch=True, by_plan=True),
    "calls of a plan": partial(_calls, in_batch=False, by_plan=True),
    "methods": partial(_methods, by_xp=False),
    "functions of xp": partial(_methods, by_xp=True),
    "page": _page,
    "new shapes": _new_shapes,
    "new images": _new_images,
    "photos": partial(_photos, are_new=False),
    "new photos": partial(_photos, are_new=True),
}
"""Calls that no case says, by ``Workload.how``: functions of the case and of ``Workload.times``."""
