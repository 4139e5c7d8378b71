"""The direct runtime: memory, programs and the queue of one Vulkan device, behind the ``Runtime`` interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, DeviceNotFound, OutOfDeviceMemory, UnsupportedError
from restride.kernel import KernelSpec
from restride.runtime.host_bytes import (
    as_bytes,
    copy_bytes,
    require_copy,
    require_inside,
    require_writable,
    writable_bytes,
)
from restride.runtime.instance import physical_devices
from restride.runtime.interface import DEFAULT_TIMEOUT, Counters, DeviceInfo, Memory, rounded
from restride.runtime.modules import load_module
from restride.runtime.vulkan.clock import Clock, timed
from restride.runtime.vulkan.memory import place
from restride.runtime.vulkan.session import Hold, Session, VulkanMemory, bytes_over
from restride.runtime.vulkan.transfer import Staging, start_copy


class VulkanRuntime:
    """One open device. Safe to use from several threads: one lock for the host's side, and waits are outside it.

    timeout: seconds that one submission may take, once those before it are finished.
    staging: copy through host-visible buffers instead of working in place; default: on devices with own memory.
    max_buffer_range, heap_bytes: narrower limits than the device's, for tests and for sharing a device.
    module_source: where SPIR-V comes from, by name; default: the modules that the wheel ships, hashes checked.
    """

    def __init__(
        self,
        device: DeviceInfo | int = 0,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        staging: bool | None = None,
        max_buffer_range: int | None = None,
        heap_bytes: int | None = None,
        module_source: Callable[[str], bytes] = load_module,
    ) -> None:
        """Open the device.

        Raises:
            DeviceNotFound: it is not there (any more).
            UnsupportedError: it lacks Vulkan 1.1 or compute.
        """
        index = device if isinstance(device, int) else device.index
        physical = next((each for each in physical_devices() if each.info.index == index), None)
        if physical is None or (isinstance(device, DeviceInfo) and physical.info.uuid != device.uuid):
            raise DeviceNotFound(f"device {device} is not on this machine (any more)")
        self.limits = physical.info.limits
        if max_buffer_range is not None:
            narrow = min(self.limits.max_buffer_range, max_buffer_range) & ~3
            self.limits = replace(self.limits, max_buffer_range=narrow)
        self.info = replace(physical.info, limits=self.limits)
        placement = place(physical, staging=staging)
        self._session = Session(physical, placement, self.limits, timeout, heap_bytes, module_source)
        self._staging = Staging(self._session) if placement.staging else None
        self._dispatches = 0

    @property
    def timeout(self) -> float:
        """Seconds that a wait may last."""
        return self._session.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._session.timeout = seconds

    def allocate(self, nbytes: int) -> VulkanMemory:
        """See ``Runtime.allocate``."""
        if nbytes < 0:
            raise DescriptorError(f"a memory has 0 bytes or more, nbytes is {nbytes}")
        size = rounded(nbytes)
        return VulkanMemory(Hold(self._session, self._session.allocate(size), size), nbytes)

    def import_bytes(self, data: memoryview) -> tuple[VulkanMemory, int]:
        """See ``Runtime.import_bytes``. Of no use to a device with memory of its own: it would read over the bus."""
        self._require_in_place()
        data = as_bytes(data)
        if not data:
            raise DescriptorError("there is nothing to import in 0 bytes")
        block, offset = self._session.import_bytes(data)
        return VulkanMemory(Hold(self._session, block, 0), offset + len(data)), offset

    def mapped_bytes(self, memory: Memory) -> npt.NDArray[np.uint8]:
        """See ``Runtime.mapped_bytes``."""
        self._require_in_place()
        # The hold keeps the block, even if another thread frees the memory meanwhile.
        hold = self._own(memory).hold
        self._session.wait_for(hold.block.written)
        return bytes_over(hold, memory.nbytes)

    def write(self, memory: Memory, offset: int, data: memoryview) -> None:
        """See ``Runtime.write``."""
        block = self._own(memory).block
        data = as_bytes(data)
        require_writable(memory)
        require_inside(memory, offset, len(data))
        with self._session.pinned(block, uploads=len(data)):
            self._session.wait_for(block.used)
            if self._staging is not None:
                self._staging.write(block, offset, data)
            else:
                copy_bytes(block.view(offset, len(data)), data)

    def read(self, memory: Memory, offset: int, out: memoryview) -> None:
        """See ``Runtime.read``."""
        block = self._own(memory).block
        out = writable_bytes(out)
        require_inside(memory, offset, len(out))
        with self._session.pinned(block, downloads=len(out)):
            self._session.wait_for(block.written)
            if self._staging is not None:
                self._staging.read(block, offset, out)
            else:
                copy_bytes(out, block.view(offset, len(out)))

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        """See ``Runtime.submit``. Only when 64 submissions are pending does it wait, for the oldest."""
        try:
            self._submit(kernels, memories)
        except OutOfDeviceMemory:
            # Parameters take memory too; what is freed, but still in use, may make room.
            if not self._session.wait_for_freed():
                raise
            self._submit(kernels, memories)

    def copy(self, src: Memory, dst: Memory, nbytes: int, src_offset: int = 0, dst_offset: int = 0) -> None:
        """See ``Runtime.copy``."""
        source, target = self._own(src).block, self._own(dst).block
        require_copy(src, dst, nbytes, src_offset, dst_offset)
        require_writable(dst)
        if nbytes:
            start_copy(self._session, source, src_offset, target, dst_offset, nbytes)

    def wait(self) -> None:
        """See ``Runtime.wait``."""
        self._session.wait_for(self._session.queue.last)

    def batch(self) -> AbstractContextManager[None]:
        """See ``Runtime.batch``. Barriers stand only where there is a dependence, as always."""
        return self._session.batch()

    def timed(self) -> AbstractContextManager[Clock]:
        """The device's own clock: ``with runtime.timed() as clock: op(); runtime.wait()``, then ``clock.seconds``.

        The sum over the submissions that were begun inside; the block waits for them at its end.

        Raises:
            UnsupportedError: the queue has no timestamps.
        """
        return timed(self._session)

    def counters(self) -> Counters:
        """See ``Runtime.counters``."""
        session = self._session
        with session.lock:
            session.enter()
            blocks = session.blocks
            return Counters(
                dispatches=self._dispatches,
                pipelines=session.recorder.pipelines.created,
                submissions=session.queue.submitted,
                barriers=session.queue.barriers,
                allocations=sum(pool.chunks.allocations for pool in blocks.pools),
                bytes_allocated=sum(pool.chunks.nbytes for pool in blocks.pools),
                bytes_in_use=blocks.in_use + session.recorder.parameters.bytes_in_use(session.queue.completed),
                uploaded=session.uploaded,
                downloaded=session.downloaded,
            )

    def close(self) -> None:
        """See ``Runtime.close``. Work that outlasts the time limit is left to the driver, and its memory with it."""
        self._session.close()

    def _submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        own = [self._own(memory) for memory in memories]
        blocks, sizes = [memory.block for memory in own], [memory.size for memory in own]
        session = self._session
        session.make_room()
        with session.lock:
            session.enter()
            queue = session.queue
            try:
                work = session.recorder.prepare(kernels, blocks, sizes, queue.submitted + 1)
                if not work.dispatches:
                    return
                slot = queue.begin(work.uses)
                try:
                    session.recorder.record(slot, work.dispatches)
                    queue.finish(slot, work.uses)
                except BaseException:
                    queue.abandon(slot)
                    raise
                self._dispatches += len(work.dispatches)
            finally:
                session.recorder.parameters.settle(queue.last, queue.completed)

    def _require_in_place(self) -> None:
        if self._staging is not None:
            raise UnsupportedError(
                f"{self.info.name} ({self.info.kind}) has memory of its own, which the host copies to"
            )

    def _own(self, memory: Memory) -> VulkanMemory:
        if not isinstance(memory, VulkanMemory) or memory.session is not self._session:
            raise DescriptorError(f"a memory of {memory.nbytes} bytes belongs to another device")
        return memory
