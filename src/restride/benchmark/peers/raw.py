"""Raw: the dispatches that restride makes of a small workload, recorded beforehand; a call submits them and waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from restride.benchmark import own
from restride.benchmark.offer import Absent, Offer
from restride.benchmark.tasks import Array, NewImages, NewShapes
from restride.benchmark.workload import Workload
from restride.device import Device
from restride.kernel import KernelSpec
from restride.runtime import Memory, Runtime
from restride.runtime.interface import rounded
from restride.runtime.loader import struct
from restride.runtime.vk_hold import VulkanMemory
from restride.runtime.vulkan import VulkanRuntime

_MOST_BYTES = 1 << 18
"""Useful bytes. Of what does more, the call is a small part, and the kernels are restride's own."""

_LONGEST_WAIT = 10**10
"""Nanoseconds: ten seconds, for what takes milliseconds."""

_Submitted: TypeAlias = list[tuple[Sequence[KernelSpec], Sequence[Memory]]]


class Raw:
    """What a call costs a program that has everything ready: pipelines, sets, barriers, all in one command buffer."""

    name = "raw"
    version = "prerecorded, submitted and waited for"
    lingers = False

    def __init__(self, device: Device) -> None:
        if not isinstance(device.runtime, VulkanRuntime):
            raise Absent("only the runtime vulkan records command buffers")
        self._runtime = device.runtime

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        """See ``Peer.offer``. The device's own copy has a column already."""
        if workload.nbytes > _MOST_BYTES or isinstance(workload.task, NewShapes | NewImages):
            return None
        noting = _Noting(self._runtime)
        ours = own.offer(workload, source, Device.over(cast(Runtime, noting)), clock=False)
        noting.submitted.clear()
        if ours.resident is None:
            return None
        ours.resident()
        if noting.has_copied:
            return None
        return Offer(resident=_prerecorded(self._runtime, noting.submitted), result=ours.result)


class _Noting:
    """A runtime that notes what it is given and does it."""

    def __init__(self, runtime: VulkanRuntime) -> None:
        self._runtime = runtime
        self.submitted: _Submitted = []
        self.has_copied = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self.submitted.append((kernels, memories))
        self._runtime.submit(kernels, memories)

    def copy(self, *arguments: Any) -> None:
        self.has_copied = True
        self._runtime.copy(*arguments)


def _prerecorded(runtime: VulkanRuntime, submitted: _Submitted) -> Callable[[], None]:
    """A function that submits one command buffer with all of it, barriers included, and waits.

    The runtime knows nothing of these submissions: whoever calls has waited for its own before.
    """
    session = runtime._session  # noqa: SLF001 - what lies below the runtime is what is measured
    queue, device = session.queue, session.device
    vk, handle = device.vk, device.handle
    with session.lock:
        session.enter()
        slot = queue.new_slot()
        vk.vkBeginCommandBuffer(slot.command, struct("VkCommandBufferBeginInfo"))
        for kernels, memories in submitted:
            held = [memory for memory in memories if isinstance(memory, VulkanMemory)]
            blocks, sizes = [memory.block for memory in held], [rounded(memory.nbytes) for memory in held]
            dispatches = session.recorder.prepare(kernels, blocks, sizes, queue.submitted)
            session.recorder.record(slot, dispatches)
        queue.end(slot)
        session.parameters.settle(queue.submitted, queue.completed)

    def call() -> None:
        vk.vkQueueSubmit(device.queue, 1, slot.submit, slot.fence)
        vk.vkWaitForFences(handle, 1, slot.fences, 1, _LONGEST_WAIT)
        vk.vkResetFences(handle, 1, slot.fences)

    return call
