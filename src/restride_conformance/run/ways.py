"""A case's operation on a device: alone, by the same command buffers again, or among other work in one batch."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

import restride as rs
from restride.dtypes import Array
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor
from restride_conformance import fill
from restride_conformance.case import Case
from restride_conformance.operations import makes_destination
from restride_conformance.setting import Setting

if TYPE_CHECKING:
    from restride.runtime.vulkan.recording import Recording
    from restride.runtime.vulkan.runtime import Hold, VulkanRuntime

IN_BATCH = 2
"""How many times a batch runs the case."""

_OTHER = (40, 50)
"""Sizes of the array that the batch also transposes."""

Buffers = tuple[Array, Array]
"""The raw bytes of source and destination after a run, as they are judged."""


@dataclass(frozen=True, eq=False)
class Started:
    """A case whose operation was called.

    source, result: the tensors of the call. fault: what is wrong with the call whatever bytes it leaves; "" if nothing.
    recording: its command buffers, if they are kept.
    """

    case: Case
    setting: Setting
    source: Tensor
    result: Tensor
    fault: str
    recording: Recording[Hold] | None

    def read(self) -> Buffers:
        """Both buffers. A shared buffer is judged as the destination; the source is then as it was before the run."""
        after = self.result.buffer()
        if makes_destination(self.case):
            after = without_holes(self.setting, after)
        return self.setting.source if self.case["out"] == "same" else self.source.buffer(), after

    def replay(self) -> None:
        """Restore all memories that the kept command buffers write, and submit them once more.

        What lies between two kernels gets poison, so that nothing is right because it was right before.
        """
        if self.recording is None:
            raise ValueError("the command buffers were not kept")
        runtime = _vulkan(self.source.device)
        for memory in runtime.written(self.recording):
            runtime.write(memory, 0, fill.poison(memory.nbytes).data)
        for tensor, before in ((self.result, self.setting.destination), (self.source, self.setting.source)):
            runtime.write(tensor.memory, 0, before.data)
        runtime.replay(self.recording)

    def close(self) -> None:
        """Keep the command buffers no longer."""
        if self.recording is not None:
            self.recording.close()


def start(case: Case, setting: Setting, device: Device, *, keeps: bool = False) -> Started:
    """Make the tensors of a case and call its operation.

    keeps: keep the command buffers for ``Started.replay``, on the runtime ``vulkan``, until the result is closed.
    """
    source = rs.from_buffer(setting.source, setting.src, device=device)
    out = destination_tensor(case, setting, source)
    before = device.counters().dispatches
    viewed = case.viewed_tensor(source)
    dispatched = device.counters().dispatches - before
    with _vulkan(device).recording() if keeps else nullcontext() as recording:
        result = case.operation.call(case)(viewed, out)
    fault = ""
    if out is None and result.desc != case.dst:
        fault = f"the operation made {result.desc}, expected {case.dst}"
    elif dispatched:
        fault = f"view {case.view} made {dispatched} dispatches; a view makes none"
    return Started(case, setting, source, result if out is None else out, fault, recording)


def start_in_batch(case: Case, setting: Setting, device: Device) -> list[Started]:
    """Start a case several times in one batch, with transposes before, between and after; each has its own tensors."""
    other = rs.asarray(np.arange(_OTHER[0] * _OTHER[1], dtype=np.uint16).reshape(_OTHER), device=device)
    started = []
    with device.batch():
        rs.reorder(other.permute(1, 0))
        for _ in range(IN_BATCH):
            started.append(start(case, setting, device))
            rs.reorder(other.permute(1, 0))
    return started


def destination_tensor(case: Case, setting: Setting, source: Tensor) -> Tensor | None:
    """The tensor to pass as ``out``; None where the operation allocates its destination."""
    device = source.device
    if makes_destination(case):
        # The allocation will reuse the memory that is freed last, so it is filled with poison: it must not hold a right
        # answer.
        rs.from_buffer(setting.destination, setting.dst, device=device).memory.free()
        return None
    if case["out"] == "same":
        return rs.Tensor(source.memory, setting.dst, device)
    # The poison is written by a copy on the device, for which the operation must wait: validation sees a missing
    # barrier.
    poison = rs.from_buffer(setting.destination, setting.dst, device=device)
    out = rs.Tensor(device.runtime.allocate(poison.memory.nbytes), setting.dst, device)
    device.runtime.copy(poison.memory, out.memory, poison.memory.nbytes)
    return out


def without_holes(setting: Setting, result: Array) -> Array:
    """The buffer of a ``result`` that the operation allocated, with poison in the bytes that it need not write."""
    if result.size != setting.destination.size:
        return result
    return np.where(setting.written, result, setting.destination)


def _vulkan(device: Device) -> VulkanRuntime:
    """The runtime of a device, as a ``VulkanRuntime``, which another runtime may wrap."""
    return cast("VulkanRuntime", device.runtime)
