"""Every block of an open device, pooled or imported: taken under the lock, handed back from anywhere."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

from restride.errors import OutOfDeviceMemory
from restride.kernel import Limits
from restride.runtime.heap import HeapBudget, Holder, shared_budget
from restride.runtime.vk_chunk import Chunk, Chunks
from restride.runtime.vk_device import LogicalDevice
from restride.runtime.vk_import import Imports
from restride.runtime.vk_memory import Block, Pool
from restride.runtime.vk_placement import Placement

SEPARATE_BUFFERS_VARIABLE = "RESTRIDE_SEPARATE_BUFFERS"
"""Set: every memory has a buffer of its own, of its own size, for GPU-assisted validation. Slower."""

_MOST_LEAVING_BYTES = 1 << 28
"""Freed, but in use by the device: past this, an allocation waits for it instead of asking the driver for more."""


class Blocks:
    """The pools of a device and its imports. The caller holds the runtime's lock, but not in ``hand_back``.

    A block that is handed back, perhaps by the garbage collector in the middle of anything, only joins ``_freed``,
    which needs no lock; whoever holds the lock next returns it to where it is from.

    pool: of tensors. host_pool: of parameters and staging; the same where the host works in place.
    in_use: bytes of live memories. lent: blocks that arrays of the host's may lie over.
    """

    def __init__(
        self,
        device: LogicalDevice,
        placement: Placement,
        limits: Limits,
        heap_bytes: int | None,
        dropped: Callable[[Chunk], None],
    ) -> None:
        separate = bool(os.environ.get(SEPARATE_BUFFERS_VARIABLE))

        def open_pool(memory_type: int, heap_bytes: int | None) -> Pool:
            heap = device.physical.memory_types[memory_type].heap
            budget = HeapBudget(heap_bytes) if heap_bytes else shared_budget(device.physical, heap)
            chunks = Chunks(device, memory_type, budget, dropped)
            return Pool(chunks, limits.offset_alignment, budget.heap_bytes, separate=separate)

        self.pool = self.host_pool = open_pool(placement.device, heap_bytes)
        self.pools: tuple[Pool, ...] = (self.pool,)
        if placement.host != placement.device:
            self.host_pool = open_pool(placement.host, None)
            self.pools = (self.pool, self.host_pool)
        self.imports = Imports(device, limits.offset_alignment, dropped)
        self._freed: deque[tuple[int, Block]] = deque()
        self.in_use = 0
        self.lent = 0

    def join_budgets(self, holder: Holder) -> None:
        """``holder`` is asked to trim when another device needs room."""
        for pool in self.pools:
            pool.chunks.budget.join(holder)

    def allocate(self, nbytes: int) -> Block | None:
        """A block of the pool; None: first wait for ``last_use_of_leaving``.

        Raises:
            OutOfDeviceMemory: it does not fit although nothing freed is in use any more.
        """
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

    def lend(self, block: Block) -> None:
        """An array is about to lie over the block."""
        self.lent += not block.is_lent
        block.is_lent = True

    def hand_back(self, nbytes: int, block: Block) -> None:
        """Nobody refers to the block any more; it counted for so many bytes in use."""
        self._freed.append((nbytes, block))

    @property
    def are_handed_back(self) -> bool:
        """True: ``drain`` has something to do."""
        return bool(self._freed)

    def drain(self) -> None:
        """Take back what was handed back; the device may still use it."""
        while self._freed:
            nbytes, block = self._freed.popleft()
            self.in_use -= nbytes
            self.lent -= block.is_lent
            block.is_lent = False
            if block.chunk.owner is None:
                self.pool.free(block)
            else:
                self.imports.free(block)

    def collect(self, completed: int) -> None:
        """Reuse what was freed and no submission after ``completed`` uses."""
        self.imports.collect(completed)
        for pool in self.pools:
            pool.collect(completed)

    def leaving(self) -> tuple[int, int]:
        """Bytes that were freed and are in use, and the submission after which they are not."""
        return (
            sum(pool.leaving_bytes for pool in self.pools),
            max(pool.last_use_of_leaving() for pool in self.pools),
        )

    def trim(self) -> None:
        """Give idle memory back to the driver."""
        for pool in self.pools:
            pool.trim()

    def destroy_idle(self, last: int) -> None:
        """Destroy what no array of the host's needs, and no memory; nothing is pending after submission ``last``."""
        self.imports.destroy_all()
        self.collect(last)
        self.trim()

    def destroy_all(self) -> None:
        """Destroy everything; nothing is pending."""
        self.imports.destroy_all()
        for pool in self.pools:
            pool.chunks.destroy_all()
