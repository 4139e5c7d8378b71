"""The direct runtime: one open Vulkan device, with a lock for the host's side, waits outside it, and an orderly end."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.errors import (
    DescriptorError,
    DeviceLost,
    DeviceNotFound,
    DeviceTimeout,
    OutOfDeviceMemory,
    UnsupportedError,
)
from restride.kernel import KernelSpec, Limits
from restride.runtime.instance import PhysicalDevice, physical_devices
from restride.runtime.interface import (
    DEFAULT_TIMEOUT,
    Counters,
    DeviceInfo,
    Memory,
    as_bytes,
    copy_bytes,
    require_copy,
    require_inside,
    require_writable,
    rounded,
    writable_bytes,
)
from restride.runtime.live_objects import LiveObjects
from restride.runtime.loader import struct
from restride.runtime.modules import load_module
from restride.runtime.vulkan.clock import Clock
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.dispatch import Preparations, Recorder
from restride.runtime.vulkan.memory import Block, Blocks, Placement, place
from restride.runtime.vulkan.queue import Queue, Slot

PIECE_BYTES = 4 << 20
"""Bytes of a staging buffer."""

_LEAST_TO_CLOSE = 5.0
"""Seconds that closing waits, however short the time limit: llvmpipe aborts the process that ends while it compiles."""


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
        with self._session.lock:
            self._session.enter()
            block, offset = self._session.blocks.imports.add(data)
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
            self._session.copy(source, src_offset, target, dst_offset, nbytes)

    def wait(self) -> None:
        """See ``Runtime.wait``."""
        self._session.wait_for(self._session.queue.last)

    def batch(self) -> AbstractContextManager[None]:
        """See ``Runtime.batch``. Barriers stand only where there is a dependence, as always."""
        return self._session.batch()

    @contextmanager
    def timed(self) -> Iterator[Clock]:
        """The device's own clock: ``with runtime.timed() as clock: op(); runtime.wait()``, then ``clock.seconds``.

        The sum over the submissions that were begun inside; the block waits for them at its end.

        Raises:
            UnsupportedError: the queue has no timestamps, or another clock runs.
        """
        session = self._session
        queue = session.queue
        with session.lock:
            session.enter()
            if queue.clock is not None:
                raise UnsupportedError("one clock at a time: this device has one that runs")
            clock = queue.clock = Clock(session.device)
        try:
            yield clock
        finally:
            try:
                with session.lock:
                    queue.flush()  # what a batch began inside ends inside
            finally:
                queue.clock = None
            # Raises where the device is gone or busy: then the queries stay, for they may be in use.
            session.wait_for(queue.submitted)
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
                bytes_allocated=sum(pool.chunks.nbytes for pool in blocks.pools),
                bytes_in_use=blocks.in_use + session.preparations.bytes_in_use(session.queue.completed),
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
                queue.submit(work.uses, lambda slot: session.recorder.record(slot, work.dispatches))
                self._dispatches += len(work.dispatches)
            finally:
                session.recorder.settle(queue.last, queue.completed)

    def _require_in_place(self) -> None:
        if self._staging is not None:
            raise UnsupportedError(
                f"{self.info.name} ({self.info.kind}) has memory of its own, which the host copies to"
            )

    def _own(self, memory: Memory) -> VulkanMemory:
        if not isinstance(memory, VulkanMemory) or memory.session is not self._session:
            raise DescriptorError(f"a memory of {memory.nbytes} bytes belongs to another device")
        return memory


class Session:
    """The parts of an open device and the lock around them, which memories keep alive longer than the runtime.

    A device that is closed while arrays lie over some of its memory is destroyed by the last of them.
    """

    _closed = True  # __del__ runs even if opening fails, or copying
    _idle = False  # closed, and nothing is pending
    at_exit = False

    def __init__(
        self,
        physical: PhysicalDevice,
        placement: Placement,
        limits: Limits,
        timeout: float,
        heap_bytes: int | None,
        module_source: Callable[[str], bytes],
    ) -> None:
        self.timeout = timeout
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._guests = 0  # threads that wait or copy outside the lock
        self.uploaded = self.downloaded = 0
        self.device = LogicalDevice(physical)
        with ExitStack() as parts:
            parts.callback(self.device.destroy)
            self.preparations = Preparations(self.device)
            self.blocks = Blocks(self.device, placement, limits, heap_bytes, self.preparations.forget)
            self.blocks.join_budgets(self)
            parts.callback(self.blocks.destroy_all)
            self.queue = Queue(self.device)
            parts.callback(self.queue.destroy)
            self.recorder = Recorder(
                self.device, limits, self.queue, self.blocks.host_pool, self.preparations, module_source
            )
            parts.callback(self.recorder.destroy)
            self._parts = parts.pop_all()
        self._closed = False
        _close_at_exit()
        _open.add(self)

    @property
    def lock(self) -> threading.Lock:
        """The lock, for those who find the device alive: after fork, whoever held it is not there to release it.

        Raises:
            DeviceLost: the device is lost, closed or inherited.
        """
        if self.device.dead:
            self.device.require_alive()
        self.blocks.imports.release_owners()
        return self._lock

    def enter(self) -> None:
        """First thing under the lock: raise if the device is gone, then take back what is finished and freed."""
        if self.device.dead:
            self.device.require_alive()
        self.blocks.drain()
        self.blocks.collect(self.queue.poll())

    def allocate(self, nbytes: int) -> Block:
        """A block of the device's pool; waits for freed ones when the device's memory is short.

        Raises:
            OutOfDeviceMemory: it does not fit although nothing freed is in use any more.
            DeviceTimeout: what is freed stayed in use past the time limit.
        """
        while True:
            with self.lock:
                self.enter()
                block = self.blocks.allocate(nbytes)
                if block is not None:
                    return block
                ticket = self.blocks.pool.last_use_of_leaving()
                host_copies = ticket <= self.queue.completed
            if host_copies:
                time.sleep(0.001)
            self.wait_for(ticket)

    def lend(self, block: Block) -> None:
        """An array is about to lie over the block: until it is taken back, closing does not free it."""
        with self.lock:
            self.enter()
            self.blocks.lend(block)

    def take_back(self, nbytes: int, block: Block) -> None:
        """A memory was freed. Called from anywhere, finalizers included, so it never waits for the lock."""
        if self.at_exit or self.device.inherited or (self.device.dead and not block.is_lent):
            return
        self.blocks.hand_back(nbytes, block)
        self._tidy()

    def _tidy(self) -> None:
        # Once more if something was freed just before the lock was: on a closed device nobody else comes.
        while self.blocks.are_handed_back and self._lock.acquire(blocking=False):
            try:
                self.blocks.drain()
                self.blocks.imports.collect(self.queue.completed)
                if self._idle:
                    self._destroy_idle()
            finally:
                self._lock.release()
            self.blocks.imports.release_owners()

    @contextmanager
    def pinned(self, block: Block, uploads: int = 0, downloads: int = 0) -> Iterator[None]:
        """While the host copies so many bytes, the block is not reused and the device not closed."""
        pinned = moved = False
        # Begins before the lock is released, where an interrupt may come.
        try:
            with self.lock:
                self.enter()
                block.pins += 1
                self._guests += 1
                pinned = True
            yield
            moved = True
        finally:
            if pinned:
                with self._lock:
                    block.pins -= 1
                    self._leave()
                    if moved:
                        self.uploaded += uploads
                        self.downloaded += downloads

    def wait_for(self, ticket: int) -> None:
        """Return when submission ``ticket`` is finished. The time limit holds for each one before it separately.

        Raises:
            DeviceTimeout: one is not, within the time limit.
        """
        if self.device.dead:
            self.device.require_alive()
        while ticket > self.queue.completed:
            self._wait_for_one(self.queue.completed + 1)
        self.blocks.imports.release_owners()

    def _wait_for_one(self, ticket: int) -> None:
        slot, finished = None, False
        try:
            with self.lock:
                self.enter()
                slot = self.queue.enter_wait(ticket)
                if slot is None:
                    return
                self._guests += 1
            self.queue.wait(slot, self.timeout)
            finished = True
        finally:
            if slot is not None:
                with self._lock:
                    self._leave()
                    self.queue.leave_wait(slot, finished)
                    self.blocks.imports.collect(self.queue.completed)

    def wait_for_freed(self) -> bool:
        """Wait until what was freed can be reused; True: something was."""
        with self.lock:
            self.enter()
            freed, ticket = self.blocks.leaving()
        if freed:
            self.wait_for(ticket)
        return freed > 0

    def staging_block(self, nbytes: int) -> Block:
        """A block that the host sees, for the session's life."""
        with self.lock:
            self.enter()
            pool = self.blocks.host_pool
            return pool.reuse(nbytes) or pool.grow(nbytes)

    def copy(self, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int) -> int:
        """Start the device's copy of ``nbytes`` > 0 bytes, at any offsets in two blocks; its ticket."""
        region = struct(
            "VkBufferCopy",
            srcOffset=source.offset + source_offset,
            dstOffset=target.offset + target_offset,
            size=nbytes,
        )
        uses = [
            (source, source_offset, source_offset + nbytes, False),
            (target, target_offset, target_offset + nbytes, True),
        ]

        def record(slot: Slot) -> None:
            if self.queue.hazards.conflict(uses):
                self.queue.barrier(slot)
            self.device.vk.vkCmdCopyBuffer(slot.command, source.chunk.buffer, target.chunk.buffer, 1, region)

        self.make_room()
        with self.lock:
            self.enter()
            return self.queue.submit(uses, record)

    def make_room(self) -> None:
        """Wait while as many submissions are pending as may be; other threads may take the room meanwhile."""
        while self.queue.is_full:
            self.wait_for(self.queue.completed + 1)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """What is submitted meanwhile goes to the device together."""
        entered = False
        try:
            with self.lock:
                self.enter()
                self.queue.batches += 1
                entered = True
            yield
        finally:
            if entered and not self.device.inherited:
                with self._lock:
                    self.queue.leave_batch()

    def close(self) -> None:
        """Wait, then destroy everything. Work that outlasts the wait keeps its memory, as Vulkan demands."""
        if self._closed or self.device.inherited:
            return
        with self._lock:
            closing, self._closed = not self._closed, True
            if not closing:
                return
            was_lost = bool(self.device.dead)
            wait = max(self.timeout, _LEAST_TO_CLOSE)
            self.device.dead = self.device.dead or f"{self.device.physical.info.name} was closed; make a new Device"
            # Others see that it is dead, and leave.
            left = self._changed.wait_for(lambda: not self._guests, min(wait + 1, threading.TIMEOUT_MAX))
            if left and (was_lost or self.queue.drain(wait)):
                self._idle = True
                self._destroy_idle()
            else:
                self.blocks.imports.leave_to_driver()
        self.blocks.imports.release_owners()
        self._tidy()

    def _destroy_idle(self) -> None:
        """Destroy everything, or while arrays lie over some of it, what is idle."""
        self.blocks.drain()
        if self.blocks.lent:
            self.blocks.destroy_idle(self.queue.submitted)
        else:
            self._idle = False
            self._parts.close()

    def trim_if_free(self) -> None:
        """Give idle memory back to the driver, unless a thread is busy here."""
        if self._closed or self.device.dead or not self._lock.acquire(blocking=False):
            return
        try:
            self.enter()
            self.blocks.trim()
        except DeviceLost:
            # This device's, and another one asked: the next call here raises it.
            return
        finally:
            self._lock.release()

    def __del__(self) -> None:
        self.close()

    def _leave(self) -> None:
        self._guests -= 1
        if self._closed:
            self._changed.notify_all()


class Staging:
    """Copies between the host and memory that it does not see: in pieces through two buffers that take turns."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = threading.Lock()
        self._blocks: list[Block] = []

    def write(self, block: Block, offset: int, data: memoryview) -> None:
        """Copy ``data`` to the device; the last pieces may still be under way when it returns, in submission order."""
        with self._transfer():
            for stage, start, piece in self._pieces(data):
                self._session.wait_for(stage.used)
                copy_bytes(stage.view(0, len(piece)), piece)
                self._session.copy(stage, 0, block, offset + start, len(piece))

    def read(self, block: Block, offset: int, out: memoryview) -> None:
        """Fill ``out`` from the device: one piece arrives while the one before it is copied."""
        with self._transfer():
            arriving: tuple[Block, int, memoryview] | None = None
            for stage, start, piece in self._pieces(out):
                ticket = self._session.copy(block, offset + start, stage, 0, len(piece))
                if arriving is not None:
                    self._receive(*arriving)
                arriving = stage, ticket, piece
            if arriving is not None:
                self._receive(*arriving)

    def _receive(self, stage: Block, ticket: int, piece: memoryview) -> None:
        self._session.wait_for(ticket)
        copy_bytes(piece, stage.view(0, len(piece)))

    def _pieces(self, data: memoryview) -> Iterator[tuple[Block, int, memoryview]]:
        """The staging buffer for each piece of ``data``, where the piece starts, and the piece."""
        for start in range(0, len(data), PIECE_BYTES):
            number = start // PIECE_BYTES % 2
            if len(self._blocks) <= number:
                self._blocks.append(self._session.staging_block(PIECE_BYTES))
            yield self._blocks[number], start, data[start : start + PIECE_BYTES]

    @contextmanager
    def _transfer(self) -> Iterator[None]:
        """The time limit of a wait holds for another thread's transfer too."""
        timeout = self._session.timeout
        if not self._turn.acquire(timeout=min(timeout, threading.TIMEOUT_MAX)):
            raise DeviceTimeout(
                f"another thread's transfer did not finish within the time limit of {timeout:g} s; "
                "for a longer limit open Device(timeout=...)"
            )
        try:
            yield
        finally:
            self._turn.release()


class Hold:
    """A block, given back when nobody refers to this any more. nbytes: what it counts for as memory in use."""

    __slots__ = ("block", "nbytes", "session")

    def __init__(self, session: Session, block: Block, nbytes: int) -> None:
        self.session = session
        self.block = block
        self.nbytes = nbytes

    def __del__(self) -> None:
        # A copy that failed half-way holds nothing at all.
        if hasattr(self, "nbytes"):
            self.session.take_back(self.nbytes, self.block)


class VulkanMemory:
    """Bytes on the device of one runtime.

    size: bytes as the device has them. readonly: they are the host's own, which nothing but the host writes.
    """

    __slots__ = ("__weakref__", "_holds", "nbytes", "readonly", "session", "size")

    def __init__(self, hold: Hold, nbytes: int) -> None:
        self.session = hold.session
        self.nbytes = nbytes
        self.size = rounded(nbytes)
        self.readonly = hold.block.chunk.owner is not None
        self._holds = [hold]

    @property
    def hold(self) -> Hold:
        """Where the bytes are, for as long as the result is referred to.

        Raises:
            DescriptorError: the memory was freed.
        """
        try:
            return self._holds[0]
        except IndexError:
            raise DescriptorError(f"this memory of {self.nbytes} bytes was freed") from None

    @property
    def block(self) -> Block:
        """Where the bytes are.

        Raises:
            DescriptorError: the memory was freed.
        """
        return self._holds[0].block if self._holds else self.hold.block

    def free(self) -> None:
        """Give the bytes back, once the device no longer uses them and no host array lies over them."""
        self._holds.clear()


class _Bytes:
    """What numpy reads ``__array_interface__`` of and then keeps as the base of an array: it keeps the hold."""

    def __init__(self, hold: Hold, nbytes: int) -> None:
        self._hold = hold
        address = np.asarray(hold.block.view(0, nbytes)).ctypes.data
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, True),
        }


def bytes_over(hold: Hold, nbytes: int) -> npt.NDArray[np.uint8]:
    """The first bytes of a block that the host sees, as a read-only array. It, and every view of it, holds the block.

    Nobody can make it writable: its base hands out read-only memory. A device that is closed meanwhile keeps the block.
    """
    if hold.block.chunk.owner is None:
        hold.session.lend(hold.block)
    return np.asarray(_Bytes(hold, nbytes))


_open: LiveObjects[Session] = LiveObjects()


@cache
def _close_at_exit() -> None:
    # Registered after the instance's own, so it runs before it.
    atexit.register(_close_all)


def _close_all() -> None:
    for session in _open:
        session.close()
        # Arrays that live on go with the process: too late for calls into the driver.
        session.at_exit = True
