"""Device memory: the choice of memory types, driver allocations (chunks), blocks cut from them, and imported pages.

There are few chunks and many blocks. A freed block is reused once the device has finished with it.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from restride.errors import STREAMED, DeviceError, DeviceLost, Message, OutOfDeviceMemory, UnsupportedError
from restride.kernel import Limits
from restride.runtime.handles import HOST_IMPORT
from restride.runtime.heap import HeapBudget, limit_budgets, shared_budget
from restride.runtime.instance import PhysicalDevice
from restride.runtime.interface import MEMORY_ROUNDING, ExternalMemory, rounded
from restride.runtime.loader import Handle, require_handle, struct
from restride.runtime.vulkan import generated as vulkan
from restride.runtime.vulkan import sharing
from restride.runtime.vulkan.device import LogicalDevice

SEPARATE_BUFFERS_VARIABLE = "RESTRIDE_SEPARATE_BUFFERS"
"""Environment variable: if set, every memory has a buffer of exactly its size, for GPU-assisted validation. Slower."""

SLAB_BYTES = 1 << 20
_SMALL_BYTES = 1 << 18
_LARGE_ROUNDING = 1 << 16
_MAX_POOLED_BYTES, _MAX_POOLED_SHARE = 1 << 28, 1 / 16
"""A pool keeps large idle chunks of at most this many bytes, or of this share of its heap if that is more."""

_serials = itertools.count(1)
"""Serial numbers of chunks; unlike the handle of a buffer, a serial is never used again."""


@dataclass(frozen=True)
class Placement:
    """Memory types: ``device`` for tensors, ``host`` for staging, ``parameters`` for parameters of kernels.

    All three are equal if the host works in place.
    staging: the host copies through staging buffers.
    """

    device: int
    host: int
    parameters: int
    staging: bool


def buffer_types(device: LogicalDevice, *, shareable: bool = False) -> int:
    """The bit set of memory types that the driver allows for tensors: one set for all buffers of one usage.

    shareable: for tensors that other processes may import, for which the driver may allow fewer types.
    """
    needs = vulkan.ffi.new("VkMemoryRequirements *")
    extra = sharing.external_buffer() if shareable else device.null
    buffer = device.create("Buffer", size=MEMORY_ROUNDING, usage=_usage(), pNext=extra)
    try:
        device.vk.vkGetBufferMemoryRequirements(device.handle, buffer, needs)
    finally:
        device.vk.vkDestroyBuffer(device.handle, buffer, device.null)
    allowed: int = needs.memoryTypeBits
    return allowed


def place(physical: PhysicalDevice, allowed: int, *, staging: bool | None) -> Placement:
    """Choose memory types from the bit set ``allowed``.

    staging: copy through staging buffers; None: on discrete, virtual and unknown devices.

    Host memory is coherent, so nothing is flushed or invalidated, and no range is rounded to ``nonCoherentAtomSize``.

    Raises:
        UnsupportedError: the device has no memory of a usable type (Vulkan promises one).
    """
    local, visible = vulkan.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, _visible()
    cached = vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    if staging is None:
        staging = physical.info.kind not in ("cpu", "integrated")
    # Results are read by the host, and reading uncached memory is many times slower, whatever the heap.
    host = _best(physical, visible, lambda flags: (bool(flags & cached), staging != bool(flags & local)), allowed)
    # Prefer device memory that the host cannot see: the visible part can be a small heap.
    device = _best(physical, local, lambda flags: (not flags & visible,), allowed) if staging else host
    # Every group of a kernel reads its parameters: an H100 takes up to 1.5 times as long if they come over the bus.
    # Parameters are in the heap of the tensors if the host can map all of it. If the host can map only a window of
    # 256 MiB, that is a heap of its own, which all processes share, so parameters stay in the host's memory.
    heap = physical.memory_types[device].heap
    near = [index for index in _able(physical, local | visible, allowed) if physical.memory_types[index].heap == heap]
    return Placement(device, host, near[0] if staging and near else host, staging)


def place_import(physical: PhysicalDevice, allowed: int) -> int:
    """The memory type for imported pages of the host, chosen from the bit set that the driver allows for them.

    Raises:
        UnsupportedError: in no allowed type would the host and the device see each other's writes.
    """
    cached = vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    return _best(physical, _visible(), lambda flags: (bool(flags & cached),), allowed)


def _able(physical: PhysicalDevice, required: int, allowed: int) -> list[int]:
    """The memory types with the ``required`` properties and no unusual ones, of the bit set ``allowed``."""
    plain = (
        vulkan.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        | vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
        | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        | vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    )
    # Other flags mean protected, lazily allocated or vendor-specific memory.
    return [
        index
        for index, kind in enumerate(physical.memory_types)
        if kind.flags & required == required and not kind.flags & ~plain and allowed >> index & 1
    ]


def _best(physical: PhysicalDevice, required: int, rank: Callable[[int], tuple[bool, ...]], allowed: int) -> int:
    types, able = physical.memory_types, _able(physical, required, allowed)
    if not able:
        flags = [hex(kind.flags) for kind in types]
        raise UnsupportedError(
            f"{physical.info.name} has no memory with properties {required:#x}: its types have {flags}, of which the "
            f"bit set {allowed:#x} may be used"
        )
    return max(able, key=lambda index: (*rank(types[index].flags), physical.heap_sizes[types[index].heap], -index))


def _visible() -> int:
    """The properties of memory that the host maps."""
    flags: int = vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    return flags


def _usage() -> int:
    """The usage flags of buffers for tensors, parameters and staging."""
    flags: int = (
        vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
        | vulkan.VK_BUFFER_USAGE_TRANSFER_DST_BIT
    )
    return flags


class Chunk:
    """One driver allocation and the one buffer that covers it; mapped for its whole life if the host can see it.

    nbytes: size of the buffer. allocated: size of the allocation, which may be larger and counts against each of
        ``budgets``; 0 for memory imported from another process.
    owner: the host's bytes that it was imported from, kept alive here and only read by the device; else None.
    is_shared: other processes use it too: it is never pooled, and the queue acquires and releases its buffer.
    start: the byte of the allocation at which the buffer begins; 0 unless it was imported.
    """

    __slots__ = (
        "allocated", "budgets", "buffer", "generation", "is_shared", "live", "memory", "nbytes", "owner", "serial",
        "start", "top", "view",
    )  # fmt: skip

    def __init__(
        self, device: LogicalDevice, nbytes: int, allocate: Callable[[Chunk, Handle], None], **fields: Any
    ) -> None:
        """Create a buffer and bind memory to it; ``allocate(chunk, requirements)`` sets ``memory``.

        fields: further fields of the buffer's VkBufferCreateInfo.
        """
        self.serial = next(_serials)
        self.nbytes = nbytes
        self.allocated = 0
        self.budgets: tuple[HeapBudget, ...] = ()
        self.memory = 0
        self.start = 0
        self.view: memoryview | None = None
        self.owner: memoryview | None = None
        self.is_shared = False
        self.top = 0  # number of bytes handed out so far
        self.live = 0  # blocks in use
        self.generation = 0  # how often a slab was emptied and filled again
        self.buffer = device.create("Buffer", size=nbytes, **fields)
        try:
            needs = vulkan.ffi.new("VkMemoryRequirements *")
            device.vk.vkGetBufferMemoryRequirements(device.handle, self.buffer, needs)
            allocate(self, needs)
            device.vk.vkBindBufferMemory(device.handle, self.buffer, self.memory, self.start)
        except BaseException:
            self.destroy(device)
            raise

    def destroy(self, device: LogicalDevice) -> None:
        """Destroy the buffer and free the memory, which unmaps it."""
        self.view = None
        device.freed += 1
        device.vk.vkDestroyBuffer(device.handle, self.buffer, device.null)
        device.vk.vkFreeMemory(device.handle, self.memory, device.null)
        for budget in self.budgets:
            budget.release(self.allocated)


class Chunks:
    """The chunks of one memory type.

    budget: the heap's budget. limits: budgets of this device alone. most_bytes: size of the smallest budget.
    shareable: other processes may import them.
    """

    def __init__(
        self, device: LogicalDevice, memory_type: int, limits: tuple[HeapBudget, ...], *, shareable: bool
    ) -> None:
        physical = device.physical
        self._device = device
        self.memory_type = memory_type
        self.shareable = shareable
        self.budget = shared_budget(physical, physical.memory_types[memory_type].heap)
        self.limits = limits
        self._budgets = (*limits, self.budget)
        self.most_bytes = min(budget.heap_bytes for budget in self._budgets)
        self._alive: dict[int, Chunk] = {}
        self.allocations = 0  # number of allocations requested from the driver so far
        self.nbytes = 0  # allocated now

    def allocate(self, nbytes: int) -> Chunk:
        """Allocate a chunk.

        Raises:
            OutOfDeviceMemory: a budget or the driver refuses; the message names the bytes requested and in use, and
                the heap or limit.
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
            held = f", in {len(self._alive)} of at most {physical.max_allocations} allocations"
            raise self._exhausted(nbytes, self.budget, held)
        extra = sharing.external_buffer() if self.shareable else self._device.null
        chunk = Chunk(self._device, nbytes, self._allocate, usage=_usage(), pNext=extra)
        self._alive[chunk.serial] = chunk
        self.allocations += 1
        self.nbytes += chunk.allocated
        return chunk

    def import_fd(self, fd: int, external: ExternalMemory) -> Chunk:
        """Import memory of another program as a chunk.

        Raises:
            DescriptorError: ``fd`` is not open, or is not a descriptor of such memory.
            UnsupportedError: the memory is of another device or driver, or the device cannot share memory between
                processes, or no memory of this kind.
        """
        device = self._device
        sharing.require_import(device, _usage(), external)

        def allocate(chunk: Chunk, needs: Handle) -> None:
            chunk.start = external.offset
            chunk.memory = sharing.import_fd(device, chunk.buffer, needs, fd, external)
            chunk.is_shared = device.shares_memory = True
            self._map(chunk, external.memory_type)

        extra = sharing.external_buffer()
        chunk = Chunk(device, external.nbytes, allocate, usage=_usage(), pNext=extra)
        self._alive[chunk.serial] = chunk
        return chunk

    def destroy(self, chunk: Chunk) -> None:
        """Give a chunk back to the driver."""
        del self._alive[chunk.serial]
        chunk.destroy(self._device)
        self.nbytes -= chunk.allocated

    def destroy_all(self) -> None:
        """Give every chunk back to the driver."""
        for chunk in list(self._alive.values()):
            self.destroy(chunk)

    def left(self) -> int | None:
        """Bytes of the heap that the driver leaves to this process; None if it does not report this."""
        physical = self._device.physical
        return physical.heap_left(physical.memory_types[self.memory_type].heap)

    def __contains__(self, chunk: Chunk) -> bool:
        return chunk.serial in self._alive

    def _allocate(self, chunk: Chunk, needs: Handle) -> None:
        device, kind, nbytes = self._device, self.memory_type, needs.size  # may exceed the buffer's size
        if not needs.memoryTypeBits >> kind & 1:
            raise DeviceError(
                f"{device.physical.info.name} refuses a storage buffer of {chunk.nbytes} bytes in memory type {kind}; "
                f"it allows those of the bits {needs.memoryTypeBits:#x}"
            )
        chunk.allocated = nbytes
        for budget in self._budgets:
            if not budget.reserve(nbytes):
                raise self._exhausted(nbytes, budget)
            chunk.budgets += (budget,)
        try:
            chunk.memory = device.allocate_memory(
                pNext=sharing.exportable(chunk.buffer) if self.shareable else device.null,
                allocationSize=nbytes,
                memoryTypeIndex=kind,
            )
        except OutOfDeviceMemory as error:
            for budget in self._budgets:
                budget.release(nbytes)
            chunk.budgets = ()
            raise self._exhausted(nbytes, self.budget, f" ({error})") from error
        if self.shareable:
            chunk.is_shared = device.shares_memory = True
        self._map(chunk, kind)

    def _map(self, chunk: Chunk, kind: int) -> None:
        device = self._device
        if device.physical.memory_types[kind].flags & vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
            address = vulkan.ffi.new("void **")
            device.vk.vkMapMemory(device.handle, chunk.memory, chunk.start, chunk.nbytes, 0, address)
            start = require_handle("vkMapMemory", address[0])
            chunk.view = memoryview(vulkan.ffi.buffer(start, chunk.nbytes)).cast("B")

    def _exhausted(self, nbytes: int, budget: HeapBudget, cause: str = "") -> OutOfDeviceMemory:
        whose = ""
        if budget is self.budget:
            left = self.left()
            whose = (
                " by this process, and the driver does not say what others leave of it"
                if left is None
                else (f" by this process; by VK_EXT_memory_budget the driver has {left} bytes left for it")
            )
        first = "nothing that is freed makes room for it" if nbytes > budget.heap_bytes else "free tensors"
        rule = (
            f"{self._device.physical.info.name} has no room for {nbytes} bytes: {budget.used} of its {budget.name} of "
            f"{budget.heap_bytes} bytes are in use{whose}{cause}"
        )
        return OutOfDeviceMemory(Message.of(rule, f"; {first}; {STREAMED}"))


class Block:
    """A part of a chunk, and how the queue and the host use it.

    used, written: the last submission that uses it, and the last that writes it; 0: none since it was handed out.
    epoch, reads, writes: records for barriers, see ``queue.Hazards``.
    pins: host copies under way.
    is_lent: an array of the host may use its memory, until it is taken back.
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
        """Reset the records of use; the device has finished with it."""
        self.used = self.written = 0
        self.epoch = -1

    def view(self, offset: int, nbytes: int) -> memoryview:
        """A view of ``nbytes`` bytes from ``offset`` of a block that the host can see."""
        mapped = self.chunk.view
        if mapped is None:
            raise DeviceError(f"the host cannot see this memory of {self.nbytes} bytes")
        start = self.offset + offset
        return mapped[start : start + nbytes]


class Pool:
    """Blocks of one memory type. The caller holds the runtime's lock.

    An interrupt may come at any call. So fields that must agree, such as ``_idle`` and ``_idle_large``, are changed by
    statements that call nothing, and one call after them: an interrupt may lose a block, but never leaves one in only
    some of the lists.

    Small blocks (up to 256 KiB) come from slabs of 1 MiB in some 80 size classes; larger ones, rounded up to 64 KiB,
    each have a chunk to themselves, since a driver takes long to allocate one: NVIDIA's 25 ms for 512 MiB.

    most_pooled: bytes of large idle chunks that are kept; none in a pool of shareable chunks.
    separate: give every block a chunk of exactly its size. GPU-assisted validation (1.3.239) compares accesses with
        the buffer, not with the bound range, so only then does it notice the first byte past the end. Shareable
        chunks always have one block.
    """

    def __init__(self, chunks: Chunks, offset_alignment: int, *, separate: bool) -> None:
        self.chunks = chunks
        self._separate = separate or chunks.shareable
        self._most_small = 0 if self._separate else _SMALL_BYTES
        self._alignment = max(256, offset_alignment)
        most = chunks.most_bytes
        pooled = min(max(_MAX_POOLED_BYTES, int(most * _MAX_POOLED_SHARE)), most // 2)
        self.most_pooled = 0 if chunks.shareable else pooled
        self._idle_slabs: dict[int, Chunk] = {}
        self._filling: Chunk | None = None  # the slab that new blocks come from
        self._idle: dict[int, deque[Block]] = {}  # by size
        self._idle_large: dict[int, Block] = {}  # by serial of the chunk, the longest idle first
        self._pooled_bytes = 0  # of the chunks in _idle_large
        self._leaving: deque[Block] = deque()  # freed blocks that the device may still use
        self.leaving_bytes = 0

    def allocate(self, nbytes: int, most_leaving: int) -> Block | None:
        """A block of at least ``nbytes``; None if the caller must first wait for ``last_use_of_leaving``.

        most_leaving: no new chunk is made while more bytes than these are freed but still used by the device.

        Raises:
            OutOfDeviceMemory: there is no room although no freed block is still in use.
        """
        block = self.reuse(nbytes)
        if block is None and self.leaving_bytes <= most_leaving:
            try:
                return self.grow(nbytes)
            except OutOfDeviceMemory:
                if not self.leaving_bytes or nbytes > self.chunks.most_bytes:
                    raise
        return block

    def reuse(self, nbytes: int) -> Block | None:
        """A block of at least ``nbytes`` that needs no new chunk, or None."""
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

    def grow(self, nbytes: int) -> Block:
        """A block in a new chunk.

        Raises:
            OutOfDeviceMemory: the budget or the driver refuses.
            UnsupportedError: no single allocation of the device is that large.
        """
        size = self._block_size(nbytes)
        if size > self._most_small:
            return _first_block(self._new_chunk(size), size)
        try:
            chunk = self._new_chunk(SLAB_BYTES)
        except OutOfDeviceMemory:
            # The heap may still have room for a chunk that holds only this block.
            chunk = self._new_chunk(size)
        self._filling = chunk
        return _first_block(chunk, size)

    def import_fd(self, fd: int, external: ExternalMemory) -> Block:
        """A block over memory of another program; see ``Chunks.import_fd``."""
        chunk = self.chunks.import_fd(fd, external)
        return _first_block(chunk, chunk.nbytes)

    def free(self, block: Block) -> None:
        """Take a block back; ``collect`` makes it reusable when the device has finished with it."""
        self.leaving_bytes += block.nbytes
        self._leaving.append(block)

    def collect(self, completed: int) -> None:
        """Make the freed blocks reusable that no submission after ``completed`` uses."""
        leaving = self._leaving
        while leaving and leaving[0].used <= completed and not leaving[0].pins:
            block = leaving[0]
            chunk = block.chunk
            idle = self._idle.setdefault(block.nbytes, deque())
            del leaving[0]
            self.leaving_bytes -= block.nbytes
            chunk.live -= 1
            if block.nbytes > self._most_small:
                self._idle_large[chunk.serial] = block
                self._pooled_bytes += chunk.nbytes
            elif not chunk.live:
                self._idle_slabs[chunk.serial] = chunk
            idle.append(block)
        while self._pooled_bytes > self.most_pooled:
            self._drop_oldest_large()

    def last_use_of_leaving(self) -> int:
        """The ticket of the submission after which all freed blocks are idle."""
        return max((block.used for block in self._leaving), default=0)

    def trim(self) -> None:
        """Give every chunk without a live block back to the driver."""
        while self._idle_large:
            self._drop_oldest_large()
        for slab in list(self._idle_slabs.values()):
            self._destroy_slab(slab)
        # Sizes that are never requested again leave empty bins, which take 0.7 KB each. Blocks of destroyed slabs take
        # 0.3 KB each.
        self._idle = {
            size: blocks for size, idle in self._idle.items() if (blocks := deque(filter(self._is_whole, idle)))
        }

    def _is_whole(self, block: Block) -> bool:
        """False for an idle block whose slab was destroyed, or is in use again for blocks of other sizes."""
        return block.generation == block.chunk.generation and block.chunk in self.chunks

    def _block_size(self, nbytes: int) -> int:
        """Round up: to the alignment, small sizes above 2 KiB to eighths of a power of two, large ones to 64 KiB."""
        if self._separate:
            return rounded(nbytes)
        if nbytes > _SMALL_BYTES:
            return -(-nbytes // _LARGE_ROUNDING) * _LARGE_ROUNDING
        step = max(self._alignment, 1 << max(0, (nbytes - 1).bit_length() - 4))
        return -(-nbytes // step) * step

    def _carve(self, size: int) -> Block | None:
        """A new block from the slab being filled, or from an idle slab that is used again; None if neither has room."""
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

    def _new_chunk(self, nbytes: int) -> Chunk:
        chunks = self.chunks
        left = chunks.left()
        if left is not None and left < nbytes:
            # Other processes use the heap too. The driver may move memory to the host instead of refusing.
            self.trim()
            chunks.budget.make_room()
        try:
            return chunks.allocate(nbytes)
        except OutOfDeviceMemory:
            if nbytes > chunks.most_bytes:
                raise
            self.trim()
        try:
            return chunks.allocate(nbytes)
        except OutOfDeviceMemory:
            # If this device's own limit is exceeded, other devices cannot make room.
            if any(limit.used + nbytes > limit.heap_bytes for limit in chunks.limits):
                raise
            chunks.budget.make_room()
        return chunks.allocate(nbytes)


def _first_block(chunk: Chunk, size: int) -> Block:
    chunk.top = size
    chunk.live = 1
    return Block(chunk, 0, size)


class Imports:
    """Pages of the host as device memory that is only read: nothing is copied, and the pages are kept alive.

    The caller holds the runtime's lock, except in ``release_owners``.

    destroyed: the owners of destroyed chunks, until ``release_owners``.
    """

    def __init__(self, device: LogicalDevice, offset_alignment: int) -> None:
        self._device = device
        self._kind = vulkan.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        self._alignment = max(MEMORY_ROUNDING, offset_alignment)
        self._alive: dict[int, Chunk] = {}
        self._leaving: list[Block] = []  # freed blocks that the device may still read
        self.destroyed: deque[memoryview | None] = deque()

    def add(self, data: memoryview) -> tuple[Block, int]:
        """A block over the pages of ``data`` (one or more one-dimensional bytes), and the offset of ``data`` in it.

        Vulkan imports whole pages. All of their bytes belong to this process, since no allocator unmaps a page that is
        partly in use. The bytes around ``data`` hold other data: kernels may read them, as they do when they load a
        whole word, but must never write them, not even with the same value.

        A binding begins at a multiple of the offset alignment, and so does the block, a little before the bytes:

            bytes [0x1A28, 0x3005), pages of 0x1000, alignment 0x10: imported [0x1000, 0x4000), the block is
            [0x1A20, 0x3010) rounded up to 16 bytes, at offset 0xA20 of the buffer, and the first byte is its byte 8

        Raises:
            UnsupportedError: the device cannot import host memory, or not these bytes.
        """
        name, alignment = self._device.physical.info.name, self._device.physical.import_alignment
        if not alignment or alignment > mmap.PAGESIZE:
            reason = f"imports pages of {alignment} bytes only" if alignment else "does not import memory of the host"
            if not self._device.is_own and HOST_IMPORT not in self._device.physical.extensions:
                reason += f": your VkDevice was created without {HOST_IMPORT}"
            raise UnsupportedError(f"{name} {reason}; pages of this system have {mmap.PAGESIZE} bytes")
        address = int(vulkan.ffi.cast("uintptr_t", vulkan.ffi.from_buffer(data)))
        start = address - address % self._alignment
        nbytes = rounded(address + len(data) - start)
        first = start - start % mmap.PAGESIZE
        chunk = self._import(first, start + nbytes - first)
        chunk.owner = data
        self._alive[chunk.serial] = chunk
        return Block(chunk, start - first, nbytes), address - start

    def free(self, block: Block) -> None:
        """Take back a block that nobody refers to any more; ``collect`` destroys it."""
        if block.chunk.serial in self._alive:
            self._leaving.append(block)

    def collect(self, completed: int) -> None:
        """Destroy the freed blocks, except those that a submission after ``completed``, or a copy, may read."""
        if self._leaving:
            leaving, self._leaving = self._leaving, []
            for block in leaving:
                if block.used > completed or block.pins:
                    self._leaving.append(block)
                else:
                    self._destroy(block.chunk)
                    block.chunk.owner = memoryview(b"")  # a prepared submission may refer to the chunk a little longer

    def destroy_all(self) -> None:
        """Destroy everything; nothing may be pending."""
        self._leaving.clear()
        for chunk in list(self._alive.values()):
            self._destroy(chunk)

    def release_owners(self) -> None:
        """Drop the owners of destroyed chunks. Not under the lock: dropping one may run any code, such as a deleter."""
        self.destroyed.clear()

    def leave_to_driver(self) -> None:
        """Keep the owners alive to the end of the process: the device may read their bytes until then."""
        if self._alive:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._alive))

    def _destroy(self, chunk: Chunk) -> None:
        del self._alive[chunk.serial]
        chunk.destroy(self._device)
        self.destroyed.append(chunk.owner)

    def _import(self, first: int, nbytes: int) -> Chunk:
        """Import the pages from address ``first``, the start of one, as a chunk with a buffer of ``nbytes`` bytes."""
        device = self._device
        name, most = device.physical.info.name, device.physical.max_allocation_bytes
        pages = nbytes + -nbytes % mmap.PAGESIZE
        if pages > most:
            raise UnsupportedError(f"{pages} bytes exceed the largest import of {name}, {most} bytes")
        pointer = vulkan.ffi.cast("void *", first)

        def allocate(chunk: Chunk, needs: Handle) -> None:
            if needs.size > pages:
                raise UnsupportedError(f"{name} needs {needs.size} bytes for a buffer over {pages} bytes of the host")
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
            chunk.view = memoryview(vulkan.ffi.buffer(vulkan.ffi.cast("char *", first), nbytes)).cast("B").toreadonly()

        external = struct("VkExternalMemoryBufferCreateInfo", handleTypes=self._kind)
        usage = vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
        # The buffer ends where the block does, so that GPU-assisted validation finds reads past the end.
        return Chunk(device, nbytes, allocate, pNext=external, usage=usage)


class Blocks:
    """The pools of a device and its imports. The caller holds the runtime's lock, except to append.

    pools: the open pools. pool: for tensors. host_pool: for staging. parameter_pool: for parameters of kernels.
        There is one pool for each memory type, so all three are the same pool if the host works in place.
    freed: blocks that nobody refers to any more, each after the bytes that it counted as in use. The garbage collector
        may free a block in the middle of anything, so a finalizer only appends it here, which needs no lock; the next
        thread that holds the lock returns it to its pool.
    staged: blocks of ``host_pool`` that transfers have given back, in the same way.
    in_use: bytes of live memories. lent: number of blocks whose memory arrays of the host may use.
    """

    def __init__(self, device: LogicalDevice, placement: Placement, limits: Limits, memory_limit: int | None) -> None:
        self._device = device
        self._placement = placement
        self._alignment = limits.offset_alignment
        self._limits = limit_budgets(memory_limit)
        self._separate = bool(os.environ.get(SEPARATE_BUFFERS_VARIABLE))
        self.pools: tuple[Pool, ...] = ()
        self.pool = self._pool_of(placement.device)
        self.host_pool = self._pool_of(placement.host)
        self.parameter_pool = self._pool_of(placement.parameters)
        self.imports = Imports(device, limits.offset_alignment)
        self.freed: deque[tuple[int, Block]] = deque()
        self.staged: deque[Block] = deque()
        self.in_use = 0
        self.lent = 0

    @cached_property
    def shareable_pool(self) -> Pool:
        """The pool for memory that other processes use too.

        Raises:
            UnsupportedError: the driver does not share buffers, or none that restride can use.
        """
        sharing.require_sharing(self._device, _usage())
        allowed = buffer_types(self._device, shareable=True)
        placement = place(self._device.physical, allowed, staging=self._placement.staging)
        return self._pool_of(placement.device, shareable=True)

    def import_fd(self, fd: int, external: ExternalMemory) -> Block:
        """A block over memory of another program; see ``Chunks.import_fd``.

        Raises:
            UnsupportedError: also if the host, which works in place, cannot see such memory.
        """
        pool, kind, types = self.shareable_pool, external.memory_type, self._device.physical.memory_types
        if not self._placement.staging and kind in range(len(types)) and _visible() & ~types[kind].flags:
            raise UnsupportedError(
                f"{self._device.physical.info.name} works in the host's memory, which memory type {kind} is not: "
                f"share memory of type {pool.chunks.memory_type}"
            )
        return pool.import_fd(fd, external)

    def _pool_of(self, memory_type: int, *, shareable: bool = False) -> Pool:
        """The pool of a memory type, opened when it is first asked for."""
        for pool in self.pools:
            if (pool.chunks.memory_type, pool.chunks.shareable) == (memory_type, shareable):
                return pool
        chunks = Chunks(self._device, memory_type, self._limits, shareable=shareable)
        pool = Pool(chunks, self._alignment, separate=self._separate)
        self.pools += (pool,)
        return pool

    def drain(self) -> None:
        """Return the blocks of ``freed`` and ``staged`` to their pools, even those that the device still uses."""
        while self.staged:
            block = self.staged[0]
            del self.staged[0]
            self.host_pool.free(block)
        while self.freed:
            nbytes, block = self.freed[0]
            del self.freed[0]
            self.in_use -= nbytes
            self.lent -= block.is_lent
            block.is_lent = False
            if block.chunk.owner is not None:
                self.imports.free(block)
            elif block.chunk.is_shared:
                self.shareable_pool.free(block)
            else:
                self.pool.free(block)

    def collect(self, completed: int) -> None:
        """Make the freed memory reusable that no submission after ``completed`` uses."""
        self.imports.collect(completed)
        for pool in self.pools:
            pool.collect(completed)

    def leaving(self) -> tuple[int, int]:
        """Bytes that are freed but still in use, and the last submission that uses them."""
        return (
            sum(pool.leaving_bytes for pool in self.pools),
            max(pool.last_use_of_leaving() for pool in self.pools),
        )

    @property
    def allocated(self) -> int:
        """Bytes now allocated from the driver."""
        return sum(pool.chunks.nbytes for pool in self.pools)

    def trim(self) -> None:
        """Give idle memory back to the driver."""
        for pool in self.pools:
            pool.trim()

    def destroy_idle(self, last: int) -> None:
        """Destroy all memory that no array of the host uses, once the newest submission, ``last``, is finished."""
        self.imports.destroy_all()
        self.collect(last)
        self.trim()

    def destroy_all(self) -> None:
        """Destroy everything; nothing may be pending."""
        self.imports.destroy_all()
        for pool in self.pools:
            pool.chunks.destroy_all()
