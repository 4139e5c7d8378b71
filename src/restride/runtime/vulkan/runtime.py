"""The Vulkan runtime: one open device, a lock for the host's side, waits outside the lock, and an orderly close."""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import count, cycle
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from restride.errors import (
    DescriptorError,
    DeviceError,
    DeviceTimeout,
    OutOfDeviceMemory,
    UnsupportedError,
)
from restride.kernel import ByteRange, KernelSpec, Limits
from restride.kernel.modules import load_module
from restride.runtime.handles import DeviceHandles
from restride.runtime.instance import PhysicalDevice, find_physical, physical_devices, physical_of
from restride.runtime.interface import (
    DEFAULT_TIMEOUT,
    Counters,
    DeviceInfo,
    ExternalMemory,
    HostLock,
    Memory,
    as_bytes,
    bytes_at,
    copy_bytes,
    copy_parts,
    require_copy,
    require_inside,
    require_writable,
    rounded,
    writable_bytes,
)
from restride.runtime.live_objects import LiveObjects
from restride.runtime.loader import struct
from restride.runtime.open_file import OpenFile
from restride.runtime.vulkan import sharing
from restride.runtime.vulkan.clock import Clock
from restride.runtime.vulkan.copy_workers import WORKERS
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.dispatch import Recorder
from restride.runtime.vulkan.memory import Block, Blocks, Pool, buffer_types, place
from restride.runtime.vulkan.queue import Queue, Slot, Use
from restride.runtime.vulkan.recording import Recording

PIECE_BYTES = 4 << 20
"""Maximum size of a staging buffer in bytes."""

_MIN_PIECE_BYTES = 1 << 12

_Ended: TypeAlias = tuple[Block | None, Slot | None, int, int, int]
"""An ended copy or wait: the block of the copy; the slot of the wait and the finished ticket; bytes up, bytes down."""

_SECONDS_TO_LOOK = 0.2
"""``close`` looks at this interval whether all other threads have left: one that an interrupt ended may not tell it."""

_MIN_TO_CLOSE = 5.0
"""``close`` waits at least so many seconds: llvmpipe aborts a process that ends while llvmpipe compiles."""


class VulkanRuntime:
    """One open device. Safe to use from several threads: one lock for the host's side, and waits are outside it.

    device: a PhysicalDevice is used as described, even if it describes less than the device has.
    timeout: seconds that one submission may take, once those before it are finished.
    staging: copy through host-visible buffers instead of working in place; None: on devices with memory of their own.
    max_buffer_range: a narrower limit than the device's, for tests.
    memory_limit: most bytes allocated from the driver at one time: pooled blocks, parameters and staging included.
    module_source: returns the SPIR-V of a named module; default: the modules in the wheel, hashes checked.
    handles: of a VkDevice of the caller's to run on, instead of ``device``.
    """

    def __init__(
        self,
        device: PhysicalDevice | DeviceInfo | int = 0,
        *,
        handles: DeviceHandles | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        staging: bool | None = None,
        max_buffer_range: int | None = None,
        memory_limit: int | None = None,
        module_source: Callable[[str], bytes] = load_module,
    ) -> None:
        """Open the device.

        Raises:
            DeviceNotFound: the device is not, or no longer, on this machine.
            UnsupportedError: the device lacks Vulkan 1.1, memory, or a queue for compute.
            DescriptorError: the handles do not belong together.
        """
        if handles is not None:
            physical = physical_of(handles)
        else:
            physical = device if isinstance(device, PhysicalDevice) else find_physical(physical_devices(), device)
        self.limits = physical.info.limits
        if max_buffer_range is not None:
            narrow = min(self.limits.max_buffer_range, max_buffer_range) & ~3
            self.limits = replace(self.limits, max_buffer_range=narrow)
        self._session = Session(physical, handles, staging, self.limits, timeout, memory_limit, module_source)
        placement = self._session.placement
        heap = physical.heap_sizes[physical.memory_types[placement.device].heap]
        most = min(heap, physical.max_allocation_bytes, heap if memory_limit is None else memory_limit)
        self.limits = replace(self.limits, max_memory=most)
        self.info = replace(physical.info, limits=self.limits)
        self._staging = Staging(self._session) if placement.staging else None
        self._dispatches = 0
        self._recording: Recording[Hold] | None = None  # it takes up the work that is started

    def allocate(self, nbytes: int, shareable: bool = False) -> VulkanMemory:
        """See ``Runtime.allocate``."""
        if nbytes < 0:
            raise DescriptorError(f"a memory has 0 bytes or more, nbytes is {nbytes}")
        size = rounded(nbytes)
        try:
            block = self._session.allocate(size, shareable)
        except OutOfDeviceMemory:
            if size > self.limits.max_memory or not self._free_room():
                raise
            block = self._session.allocate(size, shareable)
        return VulkanMemory(Hold(self._session, block, size), nbytes)

    def import_bytes(self, data: memoryview) -> tuple[VulkanMemory, int]:
        """See ``Runtime.import_bytes``. Refused on a device with memory of its own, which would read over the bus."""
        self._require_in_place()
        data = as_bytes(data)
        if not data:
            raise DescriptorError("there is nothing to import in 0 bytes")
        with self._session.lock:
            self._session.enter()
            block, offset = self._session.blocks.imports.add(data)
        return VulkanMemory(Hold(self._session, block, 0), offset + len(data)), offset

    def export_fd(self, memory: Memory) -> tuple[OpenFile, ExternalMemory]:
        """See ``Runtime.export_fd``."""
        hold, session = self._hold(memory), self._session  # keeps the block alive, as in ``write``
        chunk, physical = hold.block.chunk, session.device.physical
        if not chunk.is_shared:
            raise UnsupportedError(
                f"a memory of {memory.nbytes} bytes was not allocated as shareable: use rs.empty(desc, shareable=True)"
            )
        if not chunk.allocated:
            raise UnsupportedError(
                f"a memory of {memory.nbytes} bytes was imported from a file descriptor: pass on a duplicate of it"
            )
        session.wait_for(hold.block.used)
        kind = session.blocks.shareable_pool.chunks.memory_type
        external = ExternalMemory(chunk.nbytes, chunk.allocated, kind, self.info.uuid, physical.driver_uuid)
        with session.lock:
            session.enter()
            return sharing.export_fd(session.device, chunk.memory), external

    def import_fd(self, fd: int, external: ExternalMemory) -> VulkanMemory:
        """See ``Runtime.import_fd``."""
        with self._session.lock:
            self._session.enter()
            block = self._session.blocks.import_fd(fd, external)
        return VulkanMemory(Hold(self._session, block, 0), external.nbytes)

    def mapped_bytes(self, memory: Memory) -> npt.NDArray[np.uint8]:
        """See ``Runtime.mapped_bytes``."""
        self._require_in_place()
        # The hold keeps the block alive, even if another thread frees the memory meanwhile.
        hold = self._hold(memory)
        self._session.wait_for(hold.block.written)
        return bytes_over(hold, memory.nbytes)

    def write(self, memory: Memory, offset: int, *data: memoryview) -> None:
        """See ``Runtime.write``."""
        hold = self._hold(memory)  # referenced to the end: another thread may free the memory
        block = hold.block
        parts = [as_bytes(each) for each in data]
        nbytes = sum(map(len, parts))
        require_writable(memory)
        require_inside(memory, offset, nbytes)
        with self._session.pinned(block, uploads=nbytes):
            self._session.wait_for(block.used)
            if self._staging is not None:
                self._staging.write(block, offset, parts)
            else:
                copy_parts(block.view(offset, nbytes), parts)

    def read(self, memory: Memory, offset: int, out: memoryview) -> None:
        """See ``Runtime.read``."""
        hold = self._hold(memory)  # as in ``write``
        block = hold.block
        out = writable_bytes(out)
        require_inside(memory, offset, len(out))
        with self._session.pinned(block, downloads=len(out)):
            self._session.wait_for(block.written)
            if self._staging is not None:
                self._staging.read(block, offset, out)
            else:
                copy_bytes(out, block.view(offset, len(out)))

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        """See ``Runtime.submit``. Waits only when 64 submissions are pending, for the oldest."""
        self._submit(kernels, memories, None)

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        """See ``Runtime.copy``."""
        source, target = self._hold(src), self._hold(dst)
        require_copy(src, dst, nbytes, src_offset, dst_offset)
        require_writable(dst)
        if kernels or (nbytes and self._recording is not None):
            self._submit(kernels, (src, dst), ByteRange(src_offset, dst_offset, nbytes) if nbytes else None)
        elif nbytes:
            self._session.copy(source.block, src_offset, target.block, dst_offset, nbytes)

    def wait(self) -> None:
        """See ``Runtime.wait``."""
        session = self._session
        with session.lock:  # another thread may be handing over what a batch has recorded
            session.enter()
            last = session.queue.last
        session.wait_for(last)

    def batch(self) -> AbstractContextManager[None]:
        """See ``Runtime.batch``. As always, barriers are recorded only between dependent commands."""
        return self._session.batch()

    @contextmanager
    def recording(self) -> Iterator[Recording[Hold]]:
        """Keep the kernels and copies that are started inside, by any thread, so that ``replay`` can start them again.

        They start at once, as always, but none is handed over together with others as a batch. The caller closes the
        recording, which keeps the memories that it uses.

        Raises:
            UnsupportedError: another recording is being made.
        """
        recording = Recording[Hold](self._session)
        try:
            self._begin_recording(recording)
            yield recording
        except BaseException:
            if self._recording is recording:
                self._recording = None
            recording.close()  # waits for the lock, under which another thread may be adding to the recording
            raise
        self._recording = None

    def _begin_recording(self, recording: Recording[Hold]) -> None:
        with self._session.lock:
            if self._recording is not None:
                raise UnsupportedError("one recording at a time: this device has one that is being made")
            self._recording = recording

    def replay(self, recording: Recording[Hold]) -> None:
        """Submit the command buffers of a recording again, after waiting for their last submission."""
        session = self._session
        session.wait_for(recording.ticket)
        for slot, uses in recording.parts:
            session.submit_again(slot, uses)
        self._dispatches += recording.dispatches

    def written(self, recording: Recording[Hold]) -> list[VulkanMemory]:
        """The memories that the commands of a recording write, those between two of its kernels included."""
        return [VulkanMemory(hold, hold.size) for hold in recording.written]

    @contextmanager
    def timed(self) -> Iterator[Clock]:
        """Measure device time: ``with runtime.timed() as clock: op(); runtime.wait()``, then ``clock.seconds``.

        The time is the sum over the submissions begun inside; the end of the block waits for them.

        Raises:
            UnsupportedError: the queue has no timestamps, or another clock is running.
        """
        session = self._session
        queue = session.queue
        with session.lock:
            session.enter()
            if queue.clock is not None:
                raise UnsupportedError("one clock at a time: this device has one that runs")
            clock = queue.clock = Clock(session.device)
            session.clocks.append(clock)
        try:
            yield clock
        finally:
            try:
                with session.lock:
                    queue.flush()  # a command buffer that began in the block must end in it
            finally:
                queue.clock = None
            # Raises if the device is lost or busy. The queries, which may be in use, are then destroyed together with
            # the device.
            session.wait_for(queue.submitted)
            session.clocks.remove(clock)
            clock.close()

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
                bytes_allocated=blocks.allocated,
                bytes_in_use=blocks.in_use + session.recorder.preparations.bytes_in_use(session.queue.completed),
                uploaded=session.uploaded,
                downloaded=session.downloaded,
            )

    def trim(self) -> int:
        """See ``Runtime.trim``. Also destroys idle pipelines, which count as no bytes."""
        given_back = self._session.trim_memory()
        self._session.trim_pipelines()
        return given_back

    def close(self) -> None:
        """See ``Runtime.close``. Work that outlasts the time limit is left to the driver, with the memory it uses."""
        self._session.close()

    def _free_room(self) -> bool:
        """Free idle memory, waiting for freed memory that the device still uses; True if there is more room now."""
        given_back = self._session.trim_memory()
        freed = self._session.wait_for_freed()
        return bool(given_back + self._session.trim_memory()) or freed

    def _submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory], run: ByteRange | None) -> None:
        """Start the kernels, then the copy ``run``; if memory is short, free what is idle and try once more."""
        refused = self._session.queue.refused
        try:
            self._submit_once(kernels, memories, run)
        except OutOfDeviceMemory:
            # Do not retry if a batch could not be handed over: all of it is lost, including these kernels.
            if self._session.queue.refused != refused or not self._free_room():
                raise
            self._submit_once(kernels, memories, run)

    def _submit_once(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory], run: ByteRange | None) -> None:
        holds = [self._hold(memory) for memory in memories]  # referenced to the end: another thread may free a memory
        blocks, sizes = [hold.block for hold in holds], [hold.size for hold in holds]
        session = self._session
        session.make_room()
        with session.lock:
            session.enter()
            queue, recording = session.queue, self._recording
            if recording is not None:
                kernels = list(kernels)  # a list is not cached: the recording keeps what is prepared
            try:
                work = session.recorder.prepare(kernels, blocks, sizes, queue.submitted + 1)
                if not work.dispatches and run is None:
                    return
                uses, records = work.uses, [lambda slot: session.recorder.record(slot, work.dispatches)]
                if run is not None:
                    copy_uses, record_copy = session.copying(blocks[0], blocks[1], run)
                    uses, records = [*uses, *copy_uses], [*records, record_copy]
                if recording is None:
                    queue.submit(uses, *records)
                else:
                    recording.add(uses, records, holds, work)
                self._dispatches += len(work.dispatches)
            finally:
                session.recorder.settle(queue.last, queue.completed)

    def _require_in_place(self) -> None:
        if self._staging is not None:
            raise UnsupportedError(
                f"{self.info.name} ({self.info.kind}) has memory of its own, so host and device cannot share bytes"
            )

    def _hold(self, memory: Memory) -> Hold:
        if not isinstance(memory, VulkanMemory) or memory.session is not self._session:
            raise DescriptorError(f"a memory of {memory.nbytes} bytes belongs to another device")
        return memory.hold


class Session:
    """The parts of an open device, and the lock around them.

    ``Memory`` values refer to it, so it may outlive the runtime. If arrays still use some of the device's memory when
    it is closed, the parts which that memory needs are destroyed when the last of these arrays is freed.
    """

    _closed = True  # until opening succeeds, because __del__ also runs after a failed opening or copy
    _idle = False  # closed, with nothing pending
    at_exit = False

    def __init__(
        self,
        physical: PhysicalDevice,
        handles: DeviceHandles | None,
        staging: bool | None,
        limits: Limits,
        timeout: float,
        memory_limit: int | None,
        module_source: Callable[[str], bytes],
    ) -> None:
        self.timeout = timeout
        self._lock = HostLock(physical.info.name)
        self._changed = threading.Condition(self._lock.raw)
        self._ended_batches: deque[None] = deque()  # one entry for each batch that must end, see ``_end_batches``
        self._active_users = 0  # threads that wait or copy outside the lock
        self._ended_uses: deque[_Ended] = deque()  # waits and copies that have ended, see ``_end_uses``
        self.clocks: list[Clock] = []  # clocks whose queries exist
        self.uploaded = self.downloaded = 0
        self.device = LogicalDevice(physical, handles)
        physical = self.device.physical
        with ExitStack() as parts:
            parts.callback(self.device.destroy)
            self.placement = place(physical, buffer_types(self.device), staging=staging)
            self.blocks = Blocks(self.device, self.placement, limits, memory_limit)
            for pool in self.blocks.pools:
                pool.chunks.budget.join(self)  # other devices that need room ask this one to trim
            parts.callback(self.blocks.destroy_all)
            self.queue = Queue(self.device)
            parts.callback(self.queue.destroy)
            parts.callback(_destroy_clocks, self.clocks)
            self.recorder = Recorder(self.device, limits, self.queue, self.blocks.parameter_pool, module_source)
            parts.callback(self.recorder.destroy)
            self._parts = parts.pop_all()
        self._closed = False
        _close_at_exit()
        _open.add(self)

    @property
    def lock(self) -> threading.RLock:
        """The lock, if the device is alive: in a child made by fork, the thread that held the lock cannot release it.

        Raises:
            DeviceLost: the device is lost, closed or inherited.
            DeviceError: this thread already holds it: a finalizer calls in the middle of another call.
        """
        if self.device.dead:
            self.device.require_alive()
        lock = self._lock.unheld()
        if self.blocks.imports.destroyed:
            self.blocks.imports.release_owners()
        return lock

    def enter(self) -> None:
        """Call this first under the lock. Raises if the device is gone; takes back finished slots and freed blocks."""
        if self.device.dead:
            self.device.require_alive()
        if self._ended_batches:
            self._end_batches()
        if self._ended_uses:
            self._end_uses()
        if self.blocks.freed or self.blocks.staged:
            self.blocks.drain()
        self.blocks.collect(self.queue.poll())

    def allocate(self, nbytes: int, shareable: bool = False) -> Block:
        """A block of the device's pool; waits for freed blocks if the device's memory is short.

        Raises:
            OutOfDeviceMemory: there is no room although no freed block is still in use.
            DeviceTimeout: freed blocks stayed in use past the time limit.
        """
        pool = self.blocks.pool
        most_leaving = pool.most_pooled
        if shareable:
            with self.lock:
                self.enter()
                pool = self.blocks.shareable_pool
                pool.chunks.budget.join(self)
        return self._take(pool, nbytes, most_leaving, in_use=nbytes)

    def staging_block(self, nbytes: int) -> Block:
        """A host-visible block, the caller's until it is appended to ``blocks.staged``; may wait for blocks in use.

        Raises: as ``allocate``.
        """
        return self._take(self.blocks.host_pool, nbytes, PIECE_BYTES)

    def _take(self, pool: Pool, nbytes: int, most_leaving: int, *, in_use: int = 0) -> Block:
        """Allocate from ``pool``; wait until it has room. ``in_use``: bytes to add to those in use."""
        while True:
            with self.lock:
                self.enter()
                block = pool.allocate(nbytes, most_leaving)
                if block is not None:
                    self.blocks.in_use += in_use
                    return block
                ticket = pool.last_use_of_leaving()
                host_copies = ticket <= self.queue.completed
            if host_copies:
                time.sleep(0.001)
            self.wait_for(ticket)

    def lend(self, block: Block) -> None:
        """Mark a block whose memory an array is about to use: closing does not free it until it is taken back."""
        with self.lock:
            self.enter()
            self.blocks.lent += not block.is_lent
            block.is_lent = True

    def take_back(self, nbytes: int, block: Block) -> None:
        """Take back a freed memory's block. Finalizers may call it anywhere, so it never waits for the lock."""
        if self.at_exit or self.device.inherited or (self.device.dead and not block.is_lent):
            return
        self.blocks.freed.append((nbytes, block))
        self.drain_if_free()

    def drain_if_free(self) -> None:
        """Return freed and staged blocks to their pools, unless a thread holds the lock: then the next call does."""
        # Repeat if a block was freed just before the lock was released, because on a closed device nobody else frees
        # it.
        while (self.blocks.freed or self.blocks.staged) and self._lock.if_free(self._drain):
            self.blocks.imports.release_owners()

    def _drain(self) -> None:
        self.blocks.drain()
        self.blocks.imports.collect(self.queue.completed)
        if self._idle:
            self._destroy_idle()

    @contextmanager
    def pinned(self, block: Block, uploads: int = 0, downloads: int = 0) -> Iterator[None]:
        """While the host copies, keep the block from reuse and the device from closing; then count the bytes copied."""
        pinned = moved = False
        # The ``try`` begins before the lock is released, because an interrupt may come at the release.
        try:
            with self.lock:
                self.enter()
                block.pins += 1
                self._active_users += 1
                pinned = True
            yield
            moved = True
        finally:
            if pinned:
                # The use is noted by one call, because an interrupt may come after a call. If another thread holds the
                # lock, the next call here ends the use: a wait for the lock could be interrupted, and then the use
                # would never end.
                self._ended_uses.append((block, None, 0, uploads * moved, downloads * moved))
                self._lock.if_free(self._end_uses)

    def wait_for(self, ticket: int) -> None:
        """Return when submission ``ticket`` is finished. The time limit holds for each submission before it separately.

        A ticket read without the lock may belong to a submission that the driver then refused; it is not waited for.

        Raises:
            DeviceTimeout: one of them is not finished within the time limit.
        """
        if self.device.dead:
            self.device.require_alive()
        while ticket > self.queue.completed and self._wait_for_one(self.queue.completed + 1):
            pass
        self.blocks.imports.release_owners()

    def _wait_for_one(self, ticket: int) -> bool:
        """Wait for submission ``ticket``, the first unfinished one; False if it is not submitted and will not be."""
        slot, finished = None, 0
        try:
            with self.lock:
                self.enter()
                slot = self.queue.enter_wait(ticket)
                if slot is None:
                    return ticket <= self.queue.completed
                self._active_users += 1
            self.queue.wait(slot, self.timeout)
            finished = ticket
            return True
        finally:
            if slot is not None:
                self._ended_uses.append((None, slot, finished, 0, 0))  # as in ``pinned``
                self._lock.if_free(self._end_uses)

    def _end_uses(self) -> None:
        """Take back the pins, waiters and users of the waits and copies listed in ``_ended_uses``, count their bytes.

        The caller holds the lock.
        """
        while self._ended_uses:
            # In statements without a call: an interrupt may come at any call, and must leave a use whole or ended.
            block, slot, finished, uploads, downloads = self._ended_uses[0]
            if block is not None:
                block.pins -= 1
            if slot is not None:
                slot.waiters -= 1
            self._active_users -= 1
            self.uploaded += uploads
            self.downloaded += downloads
            del self._ended_uses[0]
            if slot is not None:
                self.queue.end_wait(slot, finished)
                self.blocks.imports.collect(self.queue.completed)
        self._notify_close()

    def wait_for_freed(self) -> bool:
        """Wait until freed memory can be reused; True if there was any."""
        with self.lock:
            self.enter()
            freed, ticket = self.blocks.leaving()
        if freed:
            self.wait_for(ticket)
        return freed > 0

    def trim_memory(self) -> int:
        """Give idle memory back to the driver, prepared submissions and their parameters included; return the bytes."""
        with self.lock:
            return self._trim()

    def _trim(self) -> int:
        self.enter()
        before = self.blocks.allocated
        self.recorder.preparations.forget()
        self.blocks.collect(self.queue.completed)
        self.blocks.trim()
        return before - self.blocks.allocated

    def trim_pipelines(self) -> None:
        """Destroy the pipelines that no pending work uses."""
        with self.lock:
            self.enter()
            self.recorder.pipelines.trim(self.queue.completed)

    def copy(self, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int) -> int:
        """Start the device's copy of ``nbytes`` > 0 bytes, at any offsets in two blocks; return its ticket."""
        uses, record = self.copying(source, target, ByteRange(source_offset, target_offset, nbytes))
        self.make_room()
        with self.lock:
            self.enter()
            return self.queue.submit(uses, record)

    def copying(self, source: Block, target: Block, run: ByteRange) -> tuple[list[Use], Callable[[Slot], None]]:
        """The uses of a copy, and the function that records it."""
        region = struct(
            "VkBufferCopy",
            srcOffset=source.offset + run.src_offset,
            dstOffset=target.offset + run.dst_offset,
            size=run.nbytes,
        )
        uses = [
            (source, run.src_offset, run.src_offset + run.nbytes, False),
            (target, run.dst_offset, run.dst_offset + run.nbytes, True),
        ]

        def record(slot: Slot) -> None:
            if self.queue.hazards.conflict(uses):
                self.queue.barrier(slot)
            self.device.vk.vkCmdCopyBuffer(slot.command, source.chunk.buffer, target.chunk.buffer, 1, region)

        return uses, record

    def make_room(self) -> None:
        """Wait until fewer than ``MAX_PENDING`` submissions are pending; another thread may take the free slot."""
        while self.queue.is_full:
            self.wait_for(self.queue.completed + 1)

    def submit_again(self, slot: Slot, uses: Sequence[Use]) -> None:
        """Submit the commands of a kept slot once the device, and every thread that waits for it, is done with it."""
        while True:
            self.wait_for(slot.ticket)
            self.make_room()
            with self.lock:
                self.enter()
                if slot.ticket <= self.queue.completed and not slot.waiters:
                    self.queue.submit_kept(slot, uses)
                    return
            time.sleep(0)  # another thread has submitted it meanwhile, or has yet to see that it is finished

    @contextmanager
    def batch(self) -> Iterator[None]:
        """See ``Runtime.batch``: a context whose submissions go to the device together."""
        entered = dropped = False
        try:
            with self.lock:
                self.enter()
                self.queue.batches += 1
                entered = True
            yield
        except GeneratorExit:
            dropped = True
            raise
        finally:
            if entered:
                # The end is noted before any call, at which an interrupt may come: then the next call here hands the
                # batch over. It also does so if the garbage collector drops this generator in the middle of any call,
                # even of another device's: then this code must not wait for the lock.
                self._ended_batches += (None,)
                if not (dropped or self._lock.is_held() or self.device.inherited):
                    with self._lock.raw:
                        self._end_batches()

    def _end_batches(self) -> None:
        """End the batches in ``_ended_batches``; the last open one hands its recording over."""
        while self._ended_batches:
            if self.queue.batches == 1 and not self.device.dead:
                self.queue.flush()
            # After ``flush``, in statements without a call: if ``flush`` is interrupted or fails, both the count and
            # the entry stay for the next call.
            self.queue.batches -= 1
            del self._ended_batches[0]

    def close(self) -> None:
        """Wait, then destroy everything. Work that outlasts the wait keeps its memory, as Vulkan requires."""
        if self._closed or self.device.inherited:
            return
        with self._lock.unheld():
            closing, self._closed = not self._closed, True
            if not closing:
                return
            try:
                wait = max(self.timeout, _MIN_TO_CLOSE)
                closed = f"{self.device.physical.info.name} was closed; make a new Device"
                was_lost = self.device.dead not in ("", closed)
                self.device.dead = self.device.dead or closed
                # Other threads notice that the device is dead, and leave it.
                deadline = time.monotonic() + wait + 1
                while not (left := self._is_unused()) and time.monotonic() < deadline:
                    self._changed.wait(_SECONDS_TO_LOOK)
                is_idle = left and (self.queue.wait_idle(wait) if was_lost else self.queue.drain(wait))
            except BaseException:
                self._closed = False  # after an interrupt the next ``close`` waits again
                raise
            if is_idle:
                self._idle = True
                self._destroy_idle()
            else:
                self.blocks.imports.leave_to_driver()
        self.blocks.imports.release_owners()
        self.drain_if_free()
        if not (is_idle or self.device.is_own):
            raise DeviceTimeout(
                f"work on {self.device.physical.info.name} outlasted the wait of {wait:g} s at close: it still uses "
                "your VkDevice, and what restride made there stays"
            )

    def _destroy_idle(self) -> None:
        """Destroy everything except memory that arrays still use."""
        self.blocks.drain()
        if self.blocks.lent:
            self.recorder.preparations.forget()
            self.blocks.destroy_idle(self.queue.submitted)
        else:
            self._idle = False
            self._parts.close()

    def trim_if_free(self) -> None:
        """Give idle memory back to the driver, unless a thread is busy here."""
        if self._closed or self.device.dead:
            return
        with suppress(DeviceError):  # if another device asked for room, the next call here raises this error
            self._lock.if_free(self._trim)

    def __del__(self) -> None:
        self.close()

    def _is_unused(self) -> bool:
        self._end_uses()
        return not self._active_users

    def _notify_close(self) -> None:
        if self._closed:
            self._changed.notify_all()


def _destroy_clocks(clocks: list[Clock]) -> None:
    for clock in clocks:
        clock.destroy()


class Staging:
    """Copies between the host and memory that it cannot see, in pieces through two alternating buffers of the pool.

    workers: the threads that help with the host's copies of a large transfer.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.workers = WORKERS

    def write(self, block: Block, offset: int, parts: Sequence[memoryview]) -> None:
        """Copy ``parts`` to the device; on return the last pieces may be pending, ordered before later submissions."""
        nbytes = sum(map(len, parts))
        each = self.workers.share_bytes(nbytes)
        with self._buffers(nbytes) as buffers:
            for stage, start, piece in _pieces(buffers, parts):
                self._session.wait_for(stage.used)
                target = stage.view(0, sum(map(len, piece)))
                shares = zip(count(0, each), _cut(piece, each))
                copies = [partial(copy_parts, target[at : at + each], share) for at, share in shares]
                self.workers.copy(copies, partial(self._pinned, stage, buffers))
                self._session.copy(stage, 0, block, offset + start, len(target))

    def read(self, block: Block, offset: int, out: memoryview) -> None:
        """Fill ``out`` from the device: while one piece arrives, the host copies the one before it."""
        each = self.workers.share_bytes(len(out))
        with self._buffers(len(out)) as buffers:

            def receive(stage: Block, ticket: int, piece: memoryview) -> None:
                self._session.wait_for(ticket)
                source = stage.view(0, len(piece))
                shares = [slice(at, at + each) for at in range(0, len(piece), each)]
                copies = [partial(copy_bytes, piece[share], source[share]) for share in shares]
                self.workers.copy(copies, partial(self._pinned, stage, buffers))

            arriving: tuple[Block, int, memoryview] | None = None
            for stage, start, (piece,) in _pieces(buffers, [out]):
                if arriving is not None and arriving[0] is stage:
                    receive(*arriving)
                    arriving = None
                ticket = self._session.copy(block, offset + start, stage, 0, len(piece))
                if arriving is not None:
                    receive(*arriving)
                arriving = stage, ticket, piece
            if arriving is not None:
                receive(*arriving)

    @contextmanager
    def _pinned(self, stage: Block, buffers: Sequence[Block]) -> Iterator[bool]:
        """Keep ``stage`` from reuse and the device from closing; yield whether it is still one of the ``buffers``.

        An interrupt may end the transfer, which then empties ``buffers`` before it gives them back. So a buffer that is
        still listed was pinned before that, and the pool keeps it until this context ends.
        """
        with self._session.pinned(stage):
            yield stage in buffers

    @contextmanager
    def _buffers(self, nbytes: int) -> Iterator[list[Block]]:
        """Buffers for a transfer of ``nbytes``: one that holds all of it, or two of ``PIECE_BYTES``.

        Where memory is short they are smaller, or there is one.
        """
        size = min(PIECE_BYTES, 1 << max(nbytes - 1, 0).bit_length())
        blocks: list[Block] = []
        try:
            while not blocks:
                try:
                    blocks.append(self._session.staging_block(size))
                except OutOfDeviceMemory:
                    if self._session.trim_memory():
                        continue
                    if size <= _MIN_PIECE_BYTES:
                        raise
                    size //= 2
            if nbytes > size:
                with suppress(OutOfDeviceMemory):
                    blocks.append(self._session.staging_block(size))
            yield blocks
        finally:
            # Without a call, at which an interrupt could lose the blocks. The list is emptied first, because a thread
            # that helps to copy looks there whether a block is still the transfer's.
            given_back = blocks[:]
            del blocks[:]
            self._session.blocks.staged += given_back
            self._session.drain_if_free()


def _pieces(buffers: Sequence[Block], parts: Sequence[memoryview]) -> Iterator[tuple[Block, int, list[memoryview]]]:
    """For each piece of ``parts``, in order: its staging buffer, its offset there, and its views of ``parts``."""
    nbytes = buffers[0].nbytes
    return zip(cycle(buffers), count(0, nbytes), _cut(parts, nbytes))


def _cut(parts: Sequence[memoryview], nbytes: int) -> Iterator[list[memoryview]]:
    """The bytes of ``parts`` in pieces of ``nbytes``, of which the last one may have fewer."""
    piece: list[memoryview] = []
    room = nbytes
    for part in parts:
        while len(part) >= room:
            yield [*piece, part[:room]]
            part, piece, room = part[room:], [], nbytes  # noqa: PLW2901 - the rest of the part
        if part:
            piece.append(part)
            room -= len(part)
    if piece:
        yield piece


class Hold:
    """A reference to a block, which is given back when nothing refers to this object any more.

    size: bytes of the block that kernels may use. nbytes: bytes that count as in use: ``size``, or 0 if imported.
    """

    __slots__ = ("block", "nbytes", "session", "size")

    def __init__(self, session: Session, block: Block, nbytes: int) -> None:
        self.session = session
        self.block = block
        self.size = nbytes or block.nbytes
        self.nbytes = nbytes

    def __del__(self) -> None:
        # A copy that failed half-way has no attributes.
        if hasattr(self, "nbytes"):
            self.session.take_back(self.nbytes, self.block)


class VulkanMemory:
    """A ``Memory`` of this runtime.

    readonly: the bytes are the host's own, and only the host writes them.
    """

    __slots__ = ("__weakref__", "_holds", "nbytes", "readonly", "session")

    def __init__(self, hold: Hold, nbytes: int) -> None:
        self.session = hold.session
        self.nbytes = nbytes
        self.readonly = hold.block.chunk.owner is not None
        self._holds = [hold]

    @property
    def hold(self) -> Hold:
        """The reference that keeps the block alive; hold it while using the block.

        Raises:
            DescriptorError: the memory was freed.
        """
        try:
            return self._holds[0]
        except IndexError:
            raise DescriptorError(f"this memory of {self.nbytes} bytes was freed") from None

    @property
    def block(self) -> Block:
        """The block that holds the bytes.

        Raises:
            DescriptorError: the memory was freed.
        """
        return self.hold.block

    @property
    def is_shareable(self) -> bool:
        """See ``Memory.is_shareable``: allocated by this process as shareable."""
        chunk = self.block.chunk
        return chunk.is_shared and chunk.allocated > 0

    def free(self) -> None:
        """Give the bytes back, once neither the device nor an array of the host uses them."""
        self._holds.clear()


class _Bytes:
    """The base of an array over the bytes of a hold, which it keeps alive."""

    def __init__(self, hold: Hold, nbytes: int) -> None:
        self._hold = hold
        address = np.asarray(hold.block.view(0, nbytes)).ctypes.data
        self.__array_interface__ = bytes_at(address, nbytes, is_readonly=True)


def bytes_over(hold: Hold, nbytes: int) -> npt.NDArray[np.uint8]:
    """The first ``nbytes`` of a host-visible block as a read-only array, which keeps the block alive, as its views do.

    It cannot be made writable: its base hands out read-only memory. Closing the device does not free the block.
    """
    if hold.block.chunk.owner is None:
        hold.session.lend(hold.block)
    return np.asarray(_Bytes(hold, nbytes))


_open: LiveObjects[Session] = LiveObjects()


@cache
def _close_at_exit() -> None:
    # Registered after the instance's own exit handler, and therefore runs before it.
    atexit.register(_close_all)


def _close_all() -> None:
    for session in _open:
        session.close()
        # Arrays that are still alive end with the process: it is too late for calls into the driver.
        session.at_exit = True
