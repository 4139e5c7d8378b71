"""Host memory as memory of the device: the pages that it lies in are imported, not copied, and kept alive."""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Callable

from restride.errors import DeviceError, DeviceLost, OutOfDeviceMemory, UnsupportedError
from restride.runtime.interface import MEMORY_ROUNDING, rounded
from restride.runtime.loader import Handle, package, struct
from restride.runtime.vk_chunk import Chunk
from restride.runtime.vk_device import LogicalDevice
from restride.runtime.vk_memory import Block
from restride.runtime.vk_placement import place_import


class Imports:
    """What a device has imported; it only reads it. The caller holds the runtime's lock, but not in ``let_go``.

    ``dropped`` is called with each chunk before its buffer is destroyed.
    """

    def __init__(self, device: LogicalDevice, offset_alignment: int, dropped: Callable[[Chunk], None]) -> None:
        self._device = device
        self._kind = package().VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
        self._alignment = max(MEMORY_ROUNDING, offset_alignment)
        self._dropped = dropped
        self._alive: dict[int, Chunk] = {}
        self._leaving: list[Block] = []  # freed, the device may still read them
        self._destroyed: deque[Chunk] = deque()  # their owners are not let go yet

    def make(self, data: memoryview) -> tuple[Block, int]:
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
        chunk = self._new(first, start + nbytes - first)
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

    def let_go(self) -> None:
        """Drop the owners of what is destroyed. Not under the lock: that may run anything, such as a deleter."""
        self._destroyed.clear()

    def leave_to_driver(self) -> None:
        """The device may read what is here to the end of the process, so its owners live as long."""
        if self._alive:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._alive))

    def _destroy(self, chunk: Chunk) -> None:
        device = self._device
        self._dropped(chunk)
        del self._alive[chunk.serial]
        device.vk.vkDestroyBuffer(device.handle, chunk.buffer, device.null)
        device.vk.vkFreeMemory(device.handle, chunk.memory, device.null)
        self._destroyed.append(chunk)

    def _new(self, first: int, nbytes: int) -> Chunk:
        """A buffer over ``nbytes`` bytes from address ``first``, where a page begins, to the end of its last page."""
        device, vulkan = self._device, package()
        most = device.physical.max_allocation_bytes
        pages = nbytes + -nbytes % mmap.PAGESIZE
        if pages > most:
            raise UnsupportedError(f"{pages} bytes exceed the largest import of {device.physical.info.name}, {most}")
        external = struct("VkExternalMemoryBufferCreateInfo", handleTypes=self._kind)
        usage = vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
        # Not a byte longer than the block: GPU-assisted validation finds what reads past it.
        create = struct("VkBufferCreateInfo", pNext=external, size=nbytes, usage=usage)
        buffer = device.create("vkCreateBuffer", "VkBuffer", create)
        memory = None
        try:
            memory = self._memory(buffer, first, pages)
            device.vk.vkBindBufferMemory(device.handle, buffer, memory, 0)
        except BaseException:
            device.vk.vkDestroyBuffer(device.handle, buffer, device.null)
            if memory is not None:
                device.vk.vkFreeMemory(device.handle, memory, device.null)
            raise
        chunk = Chunk(nbytes, pages, buffer, memory)
        pointer = device.ffi.cast("char *", first)
        chunk.view = memoryview(device.ffi.buffer(pointer, nbytes)).cast("B").toreadonly()
        return chunk

    def _memory(self, buffer: Handle, first: int, nbytes: int) -> Handle:
        device = self._device
        name, pointer = device.physical.info.name, device.ffi.cast("void *", first)
        needs = device.ffi.new("VkMemoryRequirements *")
        device.vk.vkGetBufferMemoryRequirements(device.handle, buffer, needs)
        if needs.size > nbytes:
            raise UnsupportedError(f"{name} wants {needs.size} bytes for a buffer over {nbytes} bytes of the host")
        able = struct("VkMemoryHostPointerPropertiesEXT")
        try:
            device.vk.vkGetMemoryHostPointerPropertiesEXT(device.handle, self._kind, pointer, able)
            request = struct(
                "VkMemoryAllocateInfo",
                pNext=struct("VkImportMemoryHostPointerInfoEXT", handleType=self._kind, pHostPointer=pointer),
                allocationSize=nbytes,
                memoryTypeIndex=place_import(device.physical, needs.memoryTypeBits & able.memoryTypeBits),
            )
            return device.create("vkAllocateMemory", "VkDeviceMemory", request)
        except DeviceError as error:
            if isinstance(error, DeviceLost | OutOfDeviceMemory):
                raise
            raise UnsupportedError(f"{name} does not import {nbytes} bytes of this memory ({error})") from error
