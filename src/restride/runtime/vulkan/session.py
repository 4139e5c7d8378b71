"""The host's side of an open device: one lock, waits outside it, memories that are handed back late, an orderly end."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, DeviceLost
from restride.kernel import Limits
from restride.runtime.instance import PhysicalDevice
from restride.runtime.interface import rounded
from restride.runtime.live_objects import LiveObjects
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.dispatch import Preparations, Recorder
from restride.runtime.vulkan.memory import Block, Blocks, Placement
from restride.runtime.vulkan.queue import Queue

_LEAST_TO_CLOSE = 5.0
"""Seconds that closing waits, however short the time limit: llvmpipe aborts the process that ends while it compiles."""


class Session:
    """The parts of a runtime and the lock around them.

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

    def import_bytes(self, data: memoryview) -> tuple[Block, int]:
        """See ``Imports.add``."""
        with self.lock:
            self.enter()
            return self.blocks.imports.add(data)

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
        """Return when submission ``ticket`` is finished. Each one before it has the time limit for itself.

        Raises:
            DeviceTimeout: one is not, within the time limit.
        """
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
