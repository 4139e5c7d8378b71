"""Device memory: which type it comes from, driver allocations (chunks), the blocks cut from them, and imported pages.

There are few chunks and many blocks. A block that is freed is used again once the device is done with it.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from restride.errors import DeviceError, DeviceLost, OutOfDeviceMemory, UnsupportedError
from restride.kernel import Limits
from restride.runtime.heap import HeapBudget, Holder, limit_budgets, shared_budget
from restride.runtime.instance import PhysicalDevice
from restride.runtime.interface import MEMORY_ROUNDING, ExternalMemory, rounded
from restride.runtime.loader import Handle, package, require_handle, struct
from restride.runtime.vulkan import sharing
from restride.runtime.vulkan.device import LogicalDevice

SEPARATE_BUFFERS_VARIABLE = "RESTRIDE_SEPARATE_BUFFERS"
"""Set: every memory has a buffer of its own, of its own size, for GPU-assisted validation. Slower."""

SLAB_BYTES = 1 << 20
_SMALL_BYTES = 1 << 18
_LARGE_ROUNDING = 1 << 16
_MOST_POOLED_BYTES = 1 << 28
_MOST_LEAVING_BYTES = 1 << 28
"""Freed, but in use by the device: past this, an allocation waits for it instead of asking the driver for more."""

_serials = itertools.count(1)
"""Of chunks: a buffer's handle may come again, its serial never does."""


@dataclass(frozen=True)
class Placement:
    """Memory types: ``device`` for tensors, ``host`` for parameters and staging; equal when the host works in place."""

    device: int
    host: int
    staging: bool


def buffer_types(device: LogicalDevice) -> int:
    """The set of memory types that the driver allows for tensors: one set for all buffers of one usage."""
    needs = device.ffi.new("VkMemoryRequirements *")
    buffer = device.create("Buffer", size=MEMORY_ROUNDING, usage=_usage())
    try:
        device.vk.vkGetBufferMemoryRequirements(device.handle, buffer, needs)
    finally:
        device.vk.vkDestroyBuffer(device.handle, buffer, device.null)
    allowed: int = needs.memoryTypeBits
    return allowed


def place(physical: PhysicalDevice, allowed: int, *, staging: bool | None) -> Placement:
    """Choose memory types of the ``allowed`` set; ``staging`` None: staging on discrete, virtual and unknown devices.

    Host memory is coherent, so nothing is flushed or invalidated, and no range is rounded to ``nonCoherentAtomSize``.

    Raises:
        UnsupportedError: the device has no memory, or none of a usable type (Vulkan promises one).
    """
    if not physical.heap_sizes or not physical.memory_types:
        raise UnsupportedError(f"{physical.info.name} has no memory: its driver compiles, and runs nothing")
    vulkan = package()
    local = vulkan.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
    visible = vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    cached = vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    if staging is None:
        staging = physical.info.kind not in ("cpu", "integrated")
    # The host reads results: uncached memory reads many times slower, wherever it lies.
    host = _best(physical, visible, lambda flags: (bool(flags & cached), staging != bool(flags & local)), allowed)
    # Plain device memory before the part of it that the host may see, which can be a small heap.
    device = _best(physical, local, lambda flags: (not flags & visible,), allowed) if staging else host
    return Placement(device, host, staging)


def place_import(physical: PhysicalDevice, allowed: int) -> int:
    """The memory type for pages of the host, of the set of types that the driver allows for them.

    Raises:
        UnsupportedError: the host and the device would not see each other's writes in any of them.
    """
    vulkan = package()
    cached = vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    visible = vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    return _best(physical, visible, lambda flags: (bool(flags & cached),), allowed)


def _best(physical: PhysicalDevice, required: int, rank: Callable[[int], tuple[bool, ...]], allowed: int) -> int:
    vulkan = package()
    plain = (
        vulkan.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        | vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
        | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        | vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    )
    # Other flags mean protected, lazily allocated or vendors' special memory.
    able = [
        (*rank(kind.flags), physical.heap_sizes[kind.heap], -index)
        for index, kind in enumerate(physical.memory_types)
        if kind.flags & required == required and not kind.flags & ~plain and allowed >> index & 1
    ]
    if not able:
        flags = [hex(kind.flags) for kind in physical.memory_types]
        raise UnsupportedError(
            f"{physical.info.name} has no memory with properties {required:#x}, only {flags}, of which {allowed:#x}"
        )
    return -int(max(able)[-1])


def _usage() -> int:
    """What buffers of tensors, parameters and staging are used for."""
    vulkan = package()
    flags: int = (
        vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
        | vulkan.VK_BUFFER_USAGE_TRANSFER_DST_BIT
    )
    return flags


class Chunk:
    """One driver allocation with the one buffer that covers it; mapped for its whole life where the host sees it.

    nbytes: of the buffer. allocated: of the allocation, which may be larger, and counts against each of ``budgets``;
        0 for memory that was imported from another process.
    owner: the host's bytes that it was imported from, kept alive here, which the device only reads; else None.
    is_shared: with other processes: never pooled, and the queue takes the buffer over from them and hands it back.
    """

    __slots__ = (
        "allocated", "budgets", "buffer", "generation", "is_shared", "live", "memory", "nbytes", "owner", "serial",
        "top", "view",
    )  # fmt: skip

    def __init__(
        self, device: LogicalDevice, nbytes: int, allocate: Callable[[Chunk, Handle], None], **fields: Any
    ) -> None:
        """Create a buffer, and bind the memory that ``allocate`` puts here by the buffer's requirements.

        fields: others of the buffer's VkBufferCreateInfo.
        """
        self.serial = next(_serials)
        self.nbytes = nbytes
        self.allocated = 0
        self.budgets: tuple[HeapBudget, ...] = ()
        self.memory = device.null
        self.view: memoryview | None = None
        self.owner: memoryview | None = None
        self.is_shared = False
        self.top = 0  # bytes handed out so far
        self.live = 0  # blocks in use
        self.generation = 0  # how often a slab started over
        self.buffer = device.create("Buffer", size=nbytes, **fields)
        try:
            needs = device.ffi.new("VkMemoryRequirements *")
            device.vk.vkGetBufferMemoryRequirements(device.handle, self.buffer, needs)
            allocate(self, needs)
            device.vk.vkBindBufferMemory(device.handle, self.buffer, self.memory, 0)
        except BaseException:
            self.destroy(device)
            raise

    def destroy(self, device: LogicalDevice) -> None:
        """Destroy the buffer and free the memory, which unmaps it."""
        self.view = None
        device.vk.vkDestroyBuffer(device.handle, self.buffer, device.null)
        device.vk.vkFreeMemory(device.handle, self.memory, device.null)
        for budget in self.budgets:
            budget.release(self.allocated)


class Chunks:
    """The chunks of one memory type. ``forget`` is called before a buffer is destroyed.

    budget: of the heap. limits: of this device alone.
    """

    def __init__(
        self,
        device: LogicalDevice,
        memory_type: int,
        budget: HeapBudget,
        limits: tuple[HeapBudget, ...],
        forget: Callable[[], None],
    ) -> None:
        self._device = device
        self._memory_type = memory_type
        self.budget = budget
        self.limits = limits
        self._budgets = (*limits, budget)
        self._forget = forget
        self._alive: dict[int, Chunk] = {}
        self.allocations = 0  # asked of the driver so far
        self.nbytes = 0  # alive now

    def allocate(self, nbytes: int, shareable: bool = False) -> Chunk:
        """A new chunk; shareable: with other processes.

        Raises:
            OutOfDeviceMemory: a budget or the driver refuses; names asked, in use, and heap or limit.
            UnsupportedError: no single allocation of the device is that large.
        """
        physical = self._device.physical
        for budget in self._budgets:
            if nbytes > budget.heap_bytes:
                raise self._exhausted(nbytes, budget)
        if nbytes > physical.max_allocation_bytes:
            raise UnsupportedError(
                f"{nbytes} bytes exceed the largest single allocation of {physical.info.name}, "
                f"{physical.max_allocation_bytes} bytes"
            )
        if len(self._alive) >= physical.max_allocations:
            raise self._exhausted(nbytes, self.budget)
        fields: dict[str, Any] = {}
        if shareable:
            sharing.require_sharing(self._device, _usage())
            fields["pNext"] = sharing.external_buffer()
        chunk = Chunk(self._device, nbytes, partial(self._allocate, shareable=shareable), usage=_usage(), **fields)
        self._alive[chunk.serial] = chunk
        self.allocations += 1
        self.nbytes += chunk.allocated
        return chunk

    def import_fd(self, fd: int, external: ExternalMemory) -> Chunk:
        """A chunk over memory of another process.

        Raises:
            DescriptorError: ``fd`` is not open, or not such memory.
            UnsupportedError: it is of another device or driver, or the device shares no memory between processes.
        """
        device = self._device
        sharing.require_sharing(device, _usage())
        sharing.require_import(device, external)

        def allocate(chunk: Chunk, needs: Handle) -> None:
            chunk.memory = sharing.import_fd(device, chunk.buffer, needs, fd, external)
            chunk.is_shared = device.shares_memory = True
            self._map(chunk, external.memory_type)

        fields = {"usage": _usage(), "pNext": sharing.external_buffer()}
        chunk = Chunk(device, rounded(external.nbytes), allocate, **fields)
        self._alive[chunk.serial] = chunk
        return chunk

    def destroy(self, chunk: Chunk) -> None:
        """Give a chunk back to the driver."""
        self._forget()
        del self._alive[chunk.serial]
        chunk.destroy(self._device)
        self.nbytes -= chunk.allocated

    def destroy_all(self) -> None:
        """Give every chunk back to the driver."""
        for chunk in list(self._alive.values()):
            self.destroy(chunk)

    def __contains__(self, chunk: Chunk) -> bool:
        return chunk.serial in self._alive

    def _allocate(self, chunk: Chunk, needs: Handle, shareable: bool) -> None:
        device, kind, nbytes = self._device, self._memory_type, needs.size  # not the buffer's: the driver may want more
        if not needs.memoryTypeBits >> kind & 1:
            raise DeviceError(
                f"{device.physical.info.name} refuses a storage buffer of {chunk.nbytes} bytes in memory type {kind}; "
                f"it allows the set {needs.memoryTypeBits:#x}"
            )
        chunk.allocated = nbytes
        for budget in self._budgets:
            if not budget.reserve(nbytes):
                raise self._exhausted(nbytes, budget)
            chunk.budgets += (budget,)
        try:
            chunk.memory = device.allocate_memory(
                pNext=sharing.exportable(chunk.buffer) if shareable else device.null,
                allocationSize=nbytes,
                memoryTypeIndex=kind,
            )
        except OutOfDeviceMemory as error:
            for budget in self._budgets:
                budget.release(nbytes)
            chunk.budgets = ()
            raise self._exhausted(nbytes, self.budget, f" ({error})") from error
        if shareable:
            chunk.is_shared = device.shares_memory = True
        self._map(chunk, kind)

    def _map(self, chunk: Chunk, kind: int) -> None:
        device = self._device
        if device.physical.memory_types[kind].flags & package().VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
            address = device.ffi.new("void **")
            device.vk.vkMapMemory(device.handle, chunk.memory, 0, chunk.nbytes, 0, address)
            start = require_handle("vkMapMemory", address[0])
            chunk.view = memoryview(device.ffi.buffer(start, chunk.nbytes)).cast("B")

    def _exhausted(self, nbytes: int, budget: HeapBudget, cause: str = "") -> OutOfDeviceMemory:
        return OutOfDeviceMemory(
            f"{self._device.physical.info.name} has no room for {nbytes} bytes: {budget.used} of its {budget.name} of "
            f"{budget.heap_bytes} bytes are in use, in {len(self._alive)} of at most "
            f"{self._device.physical.max_allocations} allocations{cause}; free tensors or work in smaller pieces"
        )


class Block:
    """A part of a chunk, and what the queue does with it.

    used, written: the last submission that touches it, and that writes it; 0: none since it was handed out.
    epoch, reads, writes: for barriers, see ``queue.Hazards``.
    pins: host copies under way.
    is_lent: an array of the host's may lie over it, until it is taken back.
    """

    __slots__ = (
        "chunk", "epoch", "generation", "is_lent", "nbytes", "offset", "pins", "reads", "used", "writes", "written"
    )  # fmt: skip

    def __init__(self, chunk: Chunk, offset: int, nbytes: int) -> None:
        self.chunk = chunk
        self.offset = offset
        self.nbytes = nbytes
        self.generation = chunk.generation
        self.pins = 0
        self.is_lent = False
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int]] = []
        self.renew()

    def renew(self) -> None:
        """Forget the past: the device finished with it."""
        self.used = self.written = 0
        self.epoch = -1

    def view(self, offset: int, nbytes: int) -> memoryview:
        """Bytes of a block that the host sees."""
        mapped = self.chunk.view
        if mapped is None:
            raise DeviceError("the host does not see this memory")
        start = self.offset + offset
        return mapped[start : start + nbytes]


class Pool:
    """Blocks of one memory type. The caller holds the runtime's lock.

    An interrupt may come at any call. So what must agree, such as ``_idle`` and ``_idle_large``, is changed by
    statements that call nothing, and one call after them: an interrupt may lose a block, but leaves none in half of its
    lists.

    Small blocks (up to 256 KiB) come from slabs of 1 MiB in some 80 size classes; larger ones have a chunk of their
    own, rounded up to 64 KiB. Idle large chunks are kept up to 256 MiB or half of ``most_bytes``, of the heap or limit.

    Shareable blocks have a chunk of their own, which goes back to the driver when they are freed.

    separate: a chunk for every block, of exactly its size: GPU-assisted validation (1.3.239) compares accesses with
    the buffer, not with the range that is bound, so only then does it see the first byte past the end.
    """

    def __init__(self, chunks: Chunks, offset_alignment: int, most_bytes: int, *, separate: bool) -> None:
        self.chunks = chunks
        self._separate = separate
        self._most_small = 0 if separate else _SMALL_BYTES
        self._alignment = max(256, offset_alignment)
        self._most_bytes = most_bytes
        self._most_pooled = min(_MOST_POOLED_BYTES, most_bytes // 2)
        self._idle_slabs: dict[int, Chunk] = {}
        self._filling: Chunk | None = None  # the slab that new blocks come from
        self._idle: dict[int, deque[Block]] = {}  # by size
        self._idle_large: dict[int, Block] = {}  # by chunk, the longest idle first
        self._pooled_bytes = 0  # of the chunks in _idle_large
        self._leaving: deque[Block] = deque()  # freed, the device may still use them
        self.leaving_bytes = 0

    def reuse(self, nbytes: int) -> Block | None:
        """A block without asking the driver, or None."""
        size = self._block_size(nbytes)
        bin_of_size = self._idle.get(size)
        while bin_of_size:
            block = bin_of_size[-1]
            is_whole = self._is_whole(block)
            block.renew()
            del bin_of_size[-1]
            if not is_whole:
                continue
            chunk = block.chunk
            if size > self._most_small:
                del self._idle_large[chunk.serial]
                self._pooled_bytes -= chunk.nbytes
            elif chunk.serial in self._idle_slabs:
                del self._idle_slabs[chunk.serial]
            chunk.live += 1
            return block
        return self._carve(size) if size <= self._most_small else None

    def grow(self, nbytes: int, shareable: bool = False) -> Block:
        """A block in a new chunk; shareable: with other processes.

        Raises:
            OutOfDeviceMemory: the budget or the driver refuses.
            UnsupportedError: no single allocation of the device is that large.
        """
        if shareable:
            return _first_block(self._new_chunk(rounded(nbytes), shareable=True), rounded(nbytes))
        size = self._block_size(nbytes)
        if size > self._most_small:
            return _first_block(self._new_chunk(size), size)
        try:
            chunk = self._new_chunk(SLAB_BYTES)
        except OutOfDeviceMemory:
            # The heap has no room for a slab, but may have for the block.
            chunk = self._new_chunk(size)
        self._filling = chunk
        return _first_block(chunk, size)

    def import_fd(self, fd: int, external: ExternalMemory) -> Block:
        """A block over memory of another process; see ``Chunks.import_fd``."""
        chunk = self.chunks.import_fd(fd, external)
        return _first_block(chunk, chunk.nbytes)

    def free(self, block: Block) -> None:
        """Take a block back; it is reused after ``collect`` finds the device done with it."""
        self.leaving_bytes += block.nbytes
        self._leaving.append(block)

    def collect(self, completed: int) -> None:
        """Pool the freed blocks that no submission after ``completed`` uses."""
        leaving = self._leaving
        while leaving and leaving[0].used <= completed and not leaving[0].pins:
            block = leaving[0]
            chunk = block.chunk
            idle = None if chunk.is_shared else self._idle.setdefault(block.nbytes, deque())
            del leaving[0]
            self.leaving_bytes -= block.nbytes
            chunk.live -= 1
            if idle is None:
                self.chunks.destroy(chunk)
                continue
            if block.nbytes > self._most_small:
                self._idle_large[chunk.serial] = block
                self._pooled_bytes += chunk.nbytes
            elif not chunk.live:
                self._idle_slabs[chunk.serial] = chunk
            idle.append(block)
        while self._pooled_bytes > self._most_pooled:
            self._drop_oldest_large()

    def last_use_of_leaving(self) -> int:
        """The submission after which all freed blocks are idle."""
        return max((block.used for block in self._leaving), default=0)

    def trim(self) -> None:
        """Give every chunk without a live block back to the driver."""
        while self._idle_large:
            self._drop_oldest_large()
        for slab in list(self._idle_slabs.values()):
            self._destroy_slab(slab)
        # Ever new sizes leave bins behind that nobody asks again: 0.7 KB each, and 0.3 for a block of a slab that went.
        self._idle = {
            size: blocks for size, idle in self._idle.items() if (blocks := deque(filter(self._is_whole, idle)))
        }

    def _is_whole(self, block: Block) -> bool:
        """False for an idle block whose slab was destroyed, or started over with blocks of other sizes."""
        return block.generation == block.chunk.generation and block.chunk in self.chunks

    def _block_size(self, nbytes: int) -> int:
        """Rounded up: to the alignment, small sizes above 2 KiB to eighths of a power of two, large ones to 64 KiB."""
        if self._separate:
            return rounded(nbytes)
        if nbytes > _SMALL_BYTES:
            return -(-nbytes // _LARGE_ROUNDING) * _LARGE_ROUNDING
        step = max(self._alignment, 1 << max(0, (nbytes - 1).bit_length() - 4))
        return -(-nbytes // step) * step

    def _carve(self, size: int) -> Block | None:
        """A new block in the slab that is being filled, or in one that is wholly idle and starts over."""
        slab = self._filling
        if slab is None or slab.top + size > slab.nbytes:
            slab = next((idle for idle in self._idle_slabs.values() if size <= idle.nbytes), None)
            if slab is None:
                return None
            slab.top = 0
            slab.generation += 1
            self._filling = slab
        self._idle_slabs.pop(slab.serial, None)
        block = Block(slab, slab.top, size)
        slab.top += size
        slab.live += 1
        return block

    def _drop_oldest_large(self) -> None:
        serial = next(iter(self._idle_large))
        block = self._idle_large[serial]
        idle = self._idle[block.nbytes]
        del self._idle_large[serial]
        self._pooled_bytes -= block.chunk.nbytes
        idle.remove(block)
        self.chunks.destroy(block.chunk)

    def _destroy_slab(self, slab: Chunk) -> None:
        del self._idle_slabs[slab.serial]
        if self._filling is slab:
            self._filling = None
        self.chunks.destroy(slab)

    def _new_chunk(self, nbytes: int, shareable: bool = False) -> Chunk:
        chunks = self.chunks
        try:
            return chunks.allocate(nbytes, shareable)
        except OutOfDeviceMemory:
            if nbytes > self._most_bytes:
                raise
            self.trim()
        try:
            return chunks.allocate(nbytes, shareable)
        except OutOfDeviceMemory:
            # Other devices take nothing of this one's own limit.
            if any(limit.used + nbytes > limit.heap_bytes for limit in chunks.limits):
                raise
            chunks.budget.make_room()
        return chunks.allocate(nbytes, shareable)


def _first_block(chunk: Chunk, size: int) -> Block:
    chunk.top = size
    chunk.live = 1
    return Block(chunk, 0, size)


class Imports:
    """Pages of the host as memory of the device, which only reads them: nothing is copied, and they are kept alive.

    The caller holds the runtime's lock, but not in ``release_owners``. ``forget`` is called before a buffer is
    destroyed.
    """

    def __init__(self, device: LogicalDevice, offset_alignment: int, forget: Callable[[], None]) -> None:
        self._device = device
        self._kind = package().VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        self._alignment = max(MEMORY_ROUNDING, offset_alignment)
        self._forget = forget
        self._alive: dict[int, Chunk] = {}
        self._leaving: list[Block] = []  # freed, the device may still read them
        self._destroyed: deque[Chunk] = deque()  # their owners are not released yet

    def add(self, data: memoryview) -> tuple[Block, int]:
        """A block over the pages of ``data``, one-dimensional bytes, at least one; and which of its bytes is the first.

        Vulkan imports whole pages. Those that hold the bytes are this process's own to the last byte: no allocator
        unmaps a page while a part of it is in use. What else lies in them belongs to others, so kernels may read it, as
        they do to fill a word, and never write it, not even with the value that it has.

        A binding begins at a multiple of the offset alignment, and so does the block, a little before the bytes:

            bytes [0x1A28, 0x3005), pages of 0x1000, alignment 0x10: imported [0x1000, 0x4000), the block is
            [0x1A20, 0x3010) rounded up to 16 bytes, at offset 0xA20 of the buffer, and the first byte is its byte 8

        Raises:
            UnsupportedError: the device imports nothing, or not this.
        """
        name, alignment = self._device.physical.info.name, self._device.physical.import_alignment
        if not alignment or alignment > mmap.PAGESIZE:
            reason = f"imports pages of {alignment} bytes only" if alignment else "does not import memory of the host"
            raise UnsupportedError(f"{name} {reason}; pages of this system have {mmap.PAGESIZE} bytes")
        address = int(self._device.ffi.cast("uintptr_t", self._device.ffi.from_buffer(data)))
        start = address - address % self._alignment
        nbytes = rounded(address + len(data) - start)
        first = start - start % mmap.PAGESIZE
        chunk = self._import(first, start + nbytes - first)
        chunk.owner = data
        self._alive[chunk.serial] = chunk
        return Block(chunk, start - first, nbytes), address - start

    def free(self, block: Block) -> None:
        """Nobody holds the block any more; ``collect`` destroys it."""
        if block.chunk.serial in self._alive:
            self._leaving.append(block)

    def collect(self, completed: int) -> None:
        """Destroy what was freed, unless a submission after ``completed``, or a copy, may read it."""
        if self._leaving:
            leaving, self._leaving = self._leaving, []
            for block in leaving:
                if block.used > completed or block.pins:
                    self._leaving.append(block)
                else:
                    self._destroy(block.chunk)

    def destroy_all(self) -> None:
        """Destroy everything; nothing is pending."""
        self._leaving.clear()
        for chunk in list(self._alive.values()):
            self._destroy(chunk)

    def release_owners(self) -> None:
        """Drop the owners of what is destroyed. Not under the lock: that may run anything, such as a deleter."""
        self._destroyed.clear()

    def leave_to_driver(self) -> None:
        """The device may read what is here to the end of the process, so its owners live as long."""
        if self._alive:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._alive))

    def _destroy(self, chunk: Chunk) -> None:
        self._forget()
        del self._alive[chunk.serial]
        chunk.destroy(self._device)
        self._destroyed.append(chunk)

    def _import(self, first: int, nbytes: int) -> Chunk:
        """A buffer over ``nbytes`` bytes from address ``first``, where a page begins, to the end of its last page."""
        device, vulkan = self._device, package()
        name, most = device.physical.info.name, device.physical.max_allocation_bytes
        pages = nbytes + -nbytes % mmap.PAGESIZE
        if pages > most:
            raise UnsupportedError(f"{pages} bytes exceed the largest import of {name}, {most}")
        pointer = device.ffi.cast("void *", first)

        def allocate(chunk: Chunk, needs: Handle) -> None:
            if needs.size > pages:
                raise UnsupportedError(f"{name} wants {needs.size} bytes for a buffer over {pages} bytes of the host")
            able = struct("VkMemoryHostPointerPropertiesEXT")
            try:
                device.vk.vkGetMemoryHostPointerPropertiesEXT(device.handle, self._kind, pointer, able)
                chunk.memory = device.allocate_memory(
                    pNext=struct("VkImportMemoryHostPointerInfoEXT", handleType=self._kind, pHostPointer=pointer),
                    allocationSize=pages,
                    memoryTypeIndex=place_import(device.physical, needs.memoryTypeBits & able.memoryTypeBits),
                )
            except DeviceError as error:
                if isinstance(error, DeviceLost | OutOfDeviceMemory):
                    raise
                raise UnsupportedError(f"{name} does not import {pages} bytes of this memory ({error})") from error
            chunk.allocated = pages
            chunk.view = memoryview(device.ffi.buffer(device.ffi.cast("char *", first), nbytes)).cast("B").toreadonly()

        external = struct("VkExternalMemoryBufferCreateInfo", handleTypes=self._kind)
        usage = vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
        # Not a byte longer than the block: GPU-assisted validation finds what reads past it.
        return Chunk(device, nbytes, allocate, pNext=external, usage=usage)


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
        memory_limit: int | None,
        forget: Callable[[], None],
    ) -> None:
        separate = bool(os.environ.get(SEPARATE_BUFFERS_VARIABLE))
        limited = limit_budgets(memory_limit)

        def open_pool(memory_type: int) -> Pool:
            budget = shared_budget(device.physical, device.physical.memory_types[memory_type].heap)
            chunks = Chunks(device, memory_type, budget, limited, forget)
            most = min(each.heap_bytes for each in (budget, *limited))
            return Pool(chunks, limits.offset_alignment, most, separate=separate)

        self.pool = self.host_pool = open_pool(placement.device)
        self.pools: tuple[Pool, ...] = (self.pool,)
        if placement.host != placement.device:
            self.host_pool = open_pool(placement.host)
            self.pools = (self.pool, self.host_pool)
        self.imports = Imports(device, limits.offset_alignment, forget)
        self._freed: deque[tuple[int, Block]] = deque()
        self.in_use = 0
        self.lent = 0

    def join_budgets(self, holder: Holder) -> None:
        """``holder`` is asked to trim when another device needs room."""
        for pool in self.pools:
            pool.chunks.budget.join(holder)

    def allocate(self, nbytes: int, shareable: bool = False) -> Block | None:
        """A block of the pool; None: first wait for ``last_use_of_leaving``.

        Raises:
            OutOfDeviceMemory: it does not fit although nothing freed is in use any more.
        """
        block = None if shareable else self.pool.reuse(nbytes)
        if block is None and self.pool.leaving_bytes <= _MOST_LEAVING_BYTES:
            try:
                block = self.pool.grow(nbytes, shareable)
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
            nbytes, block = self._freed[0]
            del self._freed[0]
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

    @property
    def allocated(self) -> int:
        """Bytes asked of the driver and not given back."""
        return sum(pool.chunks.nbytes for pool in self.pools)

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
