"""Raw: the dispatches that restride makes of a small workload, recorded beforehand; a call submits them and waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from restride.errors import DeviceTimeout
from restride.kernel import KernelSpec
from restride.runtime import Memory, Runtime
from restride.runtime.loader import TIMEOUT, struct
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.runtime.vulkan.session import VulkanMemory
from restride.tensor.device import Device
from restride_bench import own
from restride_bench.offer import Absent, Offer
from restride_bench.tasks import Array, NewImages, NewPhotos, NewShapes
from restride_bench.workload import Workload

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
        if workload.nbytes > _MOST_BYTES or isinstance(workload.task, NewShapes | NewImages | NewPhotos):
            return None
        noting = _Noting(self._runtime)
        ours = own.offer(workload, source, Device.over(cast(Runtime, noting)), clock=False)
        noting.submitted.clear()
        if ours.resident is None:
            return None
        ours.resident()
        if noting.has_copied:
            return None
        return Offer(resident=_Prerecorded(self._runtime, noting.submitted), result=ours.result)


class _Noting:
    """A runtime that notes what it is given and does it."""

    def __init__(self, runtime: VulkanRuntime) -> None:
        self._runtime = runtime
        self.submitted: _Submitted = []
        self.has_copied = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self.submitted.append((tuple(kernels), memories))  # a tuple stays prepared
        self._runtime.submit(kernels, memories)

    def copy(self, *arguments: Any) -> None:
        self.has_copied = True
        self._runtime.copy(*arguments)


class _Prerecorded:
    """One command buffer with all of it, barriers included: a call submits it and waits.

    The runtime knows nothing of these submissions: whoever calls has waited for its own before. What they use is the
    runtime's, so they are recorded again when it gave something up.
    """

    def __init__(self, runtime: VulkanRuntime, submitted: _Submitted) -> None:
        self._session = runtime._session  # noqa: SLF001 - what lies below the runtime is what is measured
        self._submitted = submitted
        self._slot = self._session.queue.new_slot()
        self._record()

    def __call__(self) -> None:
        """Submit and wait.

        Raises:
            DeviceTimeout: it took ten seconds.
        """
        device, slot = self._session.device, self._slot
        if self._forgotten != self._session.preparations.forgotten:
            self._record()
        device.vk.vkQueueSubmit(device.queue, 1, slot.submit, slot.fence)
        if device.vk.vkWaitForFences(device.handle, 1, slot.fences, 1, _LONGEST_WAIT) == TIMEOUT:
            raise DeviceTimeout(f"prerecorded work did not finish within {_LONGEST_WAIT // 10**9} s")
        device.vk.vkResetFences(device.handle, 1, slot.fences)

    def _record(self) -> None:
        session = self._session
        queue, vk, command = session.queue, session.device.vk, self._slot.command
        with session.lock:
            session.enter()
            vk.vkBeginCommandBuffer(command, struct("VkCommandBufferBeginInfo"))
            for kernels, memories in self._submitted:
                held = [memory for memory in memories if isinstance(memory, VulkanMemory)]
                blocks, sizes = [memory.block for memory in held], [memory.size for memory in held]
                work = session.recorder.prepare(kernels, blocks, sizes, queue.submitted + 1)
                session.recorder.record(self._slot, work.dispatches)
            queue.end(self._slot)
            session.recorder.parameters.settle(queue.submitted, queue.completed)
            self._forgotten = session.preparations.forgotten
