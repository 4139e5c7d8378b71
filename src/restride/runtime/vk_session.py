"""The host's side of an open device: one lock, waits outside it, memory handed back late, and an orderly end."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from restride.errors import DeviceLost, OutOfDeviceMemory
from restride.kernel import Limits
from restride.runtime.heap import HeapBudget, shared_budget
from restride.runtime.instance import PhysicalDevice
from restride.runtime.living import Living
from restride.runtime.vk_chunk import Chunks
from restride.runtime.vk_descriptors import DescriptorSets
from restride.runtime.vk_device import LogicalDevice
from restride.runtime.vk_memory import Block, Pool
from restride.runtime.vk_parameters import Parameters
from restride.runtime.vk_placement import Placement
from restride.runtime.vk_program import Pipelines
from restride.runtime.vk_queue import Queue
from restride.runtime.vk_record import Recorder

SEPARATE_BUFFERS_VARIABLE = "RESTRIDE_SEPARATE_BUFFERS"
"""Set: every memory has a buffer of its own, of its own size, for GPU-assisted validation. Slower."""

_LEAST_TO_CLOSE = 5.0
"""Seconds that closing waits, however short the time limit: llvmpipe aborts the process that ends while it compiles."""

_MOST_LEAVING_BYTES = 1 << 28
"""Freed, but in use by the device: past this, an allocation waits for it instead of asking the driver for more."""


class Session:
    """The parts of a runtime and the lock around them.

    A memory that is freed, perhaps by the garbage collector in the middle of anything, only joins ``_freed``, which
    needs no lock; whoever holds the lock next returns it to its pool.
    """

    _closed = True  # __del__ runs even if opening fails, or copying

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
        self._freed: deque[tuple[int, Block]] = deque()
        self.in_use = 0  # bytes of live memories
        self.uploaded = self.downloaded = 0
        self.device = LogicalDevice(physical)
        with ExitStack() as parts:
            parts.callback(self.device.destroy)
            sets = DescriptorSets(self.device)
            parts.callback(sets.destroy)
            heaps = [physical.memory_types[kind].heap for kind in (placement.device, placement.host)]
            budget = HeapBudget(heap_bytes) if heap_bytes else shared_budget(physical, heaps[0])
            budget.join(self)
            separate = bool(os.environ.get(SEPARATE_BUFFERS_VARIABLE))
            alignment = limits.offset_alignment
            chunks = Chunks(self.device, placement.device, budget, sets.forget)
            parts.callback(chunks.destroy_all)
            self.pool = self.host_pool = Pool(chunks, alignment, budget.heap_bytes, separate=separate)
            if placement.host != placement.device:
                budget = shared_budget(physical, heaps[1])
                budget.join(self)
                chunks = Chunks(self.device, placement.host, budget, sets.forget)
                parts.callback(chunks.destroy_all)
                self.host_pool = Pool(chunks, alignment, budget.heap_bytes, separate=separate)
            self.queue = Queue(self.device)
            parts.callback(self.queue.destroy)
            self.pipelines = Pipelines(self.device, module_source)
            parts.callback(self.pipelines.destroy)
            self.parameters = Parameters(self.host_pool)
            self.recorder = Recorder(self.device, limits, self.queue, self.pipelines, sets, self.parameters)
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
        return self._lock

    def enter(self) -> None:
        """First thing under the lock: raise if the device is gone, then take back what is finished and freed."""
        if self.device.dead:
            self.device.require_alive()
        self._drain()
        completed = self.queue.poll()
        self.pool.collect(completed)
        if self.host_pool is not self.pool:
            self.host_pool.collect(completed)

    def allocate(self, nbytes: int) -> Block:
        """A block of the device's pool; waits for freed ones when the device's memory is short.

        Raises:
            OutOfDeviceMemory: it does not fit although nothing freed is in use any more.
            DeviceTimeout: what is freed stayed in use past the time limit.
        """
        while True:
            with self.lock:
                self.enter()
                block = self.pool.reuse(nbytes)
                if block is None and self.pool.leaving_bytes <= _MOST_LEAVING_BYTES:
                    try:
                        block = self.pool.grow(nbytes)
                    except OutOfDeviceMemory:
                        if not self.pool.leaving_bytes:
                            raise
                if block is not None:
                    self.in_use += nbytes
                    return block
                ticket = self.pool.last_use_of_leaving()
                host_copies = ticket <= self.queue.completed
            if host_copies:
                time.sleep(0.001)
            self.wait_for(ticket)

    def take_back(self, nbytes: int, block: Block) -> None:
        """A memory was freed. Called from anywhere, finalizers included, so it never waits for the lock."""
        if self.device.dead:
            return
        self._freed.append((nbytes, block))
        if self._lock.acquire(blocking=False):
            try:
                self._drain()
            finally:
                self._lock.release()

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
        """Return when submission ``ticket`` is finished. Each one before it has the time limit for itself.

        Raises:
            DeviceTimeout: one is not, within the time limit.
        """
        self.device.require_alive()
        while ticket > self.queue.completed:
            self._wait_for_one(self.queue.completed + 1)

    def _wait_for_one(self, ticket: int) -> None:
        slot = None
        try:
            with self.lock:
                self.device.require_alive()
                slot = self.queue.enter_wait(ticket)
                if slot is None:
                    return
                self._guests += 1
            self.queue.wait(slot, self.timeout)
        finally:
            if slot is not None:
                with self._lock:
                    self._leave()
                    self.queue.leave_wait(slot)

    def wait_for_freed(self) -> bool:
        """Wait until what was freed can be reused; True: something was."""
        with self.lock:
            self.enter()
            freed = self.pool.leaving_bytes + self.host_pool.leaving_bytes
            ticket = max(self.pool.last_use_of_leaving(), self.host_pool.last_use_of_leaving())
        if freed:
            self.wait_for(ticket)
        return freed > 0

    def staging_block(self, nbytes: int) -> Block:
        """A block that the host sees, for the session's life."""
        with self.lock:
            self.enter()
            return self.host_pool.reuse(nbytes) or self.host_pool.grow(nbytes)

    @contextmanager
    def room(self) -> Iterator[None]:
        """The lock, entered, with room for one more submission."""
        while True:
            with self.lock:
                self.enter()
                if not self.queue.is_full:
                    yield
                    return
                ticket = self.queue.completed + 1
            self.wait_for(ticket)

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
                self._parts.close()

    def trim_if_free(self) -> None:
        """Give idle memory back to the driver, unless a thread is busy here."""
        if self._closed or self.device.dead or not self._lock.acquire(blocking=False):
            return
        try:
            self.enter()
            self.pool.trim()
            self.host_pool.trim()
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

    def _drain(self) -> None:
        while self._freed:
            nbytes, block = self._freed.popleft()
            self.in_use -= nbytes
            self.pool.free(block)


_open: Living[Session] = Living()


@cache
def _close_at_exit() -> None:
    # Registered after the instance's own, so it runs before it.
    atexit.register(_close_all)


def _close_all() -> None:
    for session in _open:
        session.close()
