"""Driver allocations: one buffer over one piece of device memory, counted against the heap's budget."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from restride.errors import DeviceError, OutOfDeviceMemory, UnsupportedError
from restride.runtime.heap import HeapBudget
from restride.runtime.loader import Handle, package, struct
from restride.runtime.vk_device import LogicalDevice

# A buffer's handle may come again, its serial never does.
_serials = itertools.count(1)


class Chunk:
    """One driver allocation with the one buffer that covers it; mapped for its whole life where the host sees it.

    nbytes: of the buffer. allocated: of the allocation, which may be larger.
    owner: the host's bytes that it was imported from, kept alive here, which the device only reads; else None.
    """

    __slots__ = ("allocated", "buffer", "generation", "live", "memory", "nbytes", "owner", "serial", "top", "view")

    def __init__(self, nbytes: int, allocated: int, buffer: Handle, memory: Handle) -> None:
        self.serial = next(_serials)
        self.nbytes = nbytes
        self.allocated = allocated
        self.buffer = buffer
        self.memory = memory
        self.view: memoryview | None = None
        self.owner: memoryview | None = None
        self.top = 0  # bytes handed out so far
        self.live = 0  # blocks in use
        self.generation = 0  # how often a slab started over


class Chunks:
    """The chunks of one memory type. ``dropped`` is called with each before its buffer is destroyed."""

    def __init__(
        self, device: LogicalDevice, memory_type: int, budget: HeapBudget, dropped: Callable[[Chunk], None]
    ) -> None:
        self._device = device
        self._memory_type = memory_type
        self.budget = budget
        self._dropped = dropped
        self._alive: dict[int, Chunk] = {}
        self.made = 0  # asked of the driver so far
        self.nbytes = 0  # alive now

    def make(self, nbytes: int) -> Chunk:
        """A new chunk.

        Raises:
            OutOfDeviceMemory: the budget or the driver refuses; names asked, in use and heap.
            UnsupportedError: no single allocation of the device is that large.
        """
        physical, budget = self._device.physical, self.budget
        if physical.max_allocation_bytes < nbytes <= budget.heap_bytes:
            raise UnsupportedError(
                f"{nbytes} bytes exceed the largest single allocation of {physical.info.name}, "
                f"{physical.max_allocation_bytes} bytes"
            )
        if len(self._alive) >= physical.max_allocations or nbytes > budget.heap_bytes:
            raise self._exhausted(nbytes, "")
        chunk = self._new(nbytes)
        self._alive[chunk.serial] = chunk
        self.made += 1
        self.nbytes += chunk.allocated
        return chunk

    def destroy(self, chunk: Chunk) -> None:
        """Give a chunk back to the driver."""
        self._dropped(chunk)
        del self._alive[chunk.serial]
        self._give_back(chunk)
        self.nbytes -= chunk.allocated

    def destroy_all(self) -> None:
        """Give every chunk back to the driver."""
        for chunk in list(self._alive.values()):
            self.destroy(chunk)

    def __contains__(self, chunk: Chunk) -> bool:
        return chunk.serial in self._alive

    def _exhausted(self, nbytes: int, cause: str) -> OutOfDeviceMemory:
        return OutOfDeviceMemory(
            f"{self._device.physical.info.name} has no room for {nbytes} bytes: {self.budget.used} of its heap of "
            f"{self.budget.heap_bytes} bytes are in use, in {len(self._alive)} of at most "
            f"{self._device.physical.max_allocations} allocations{cause}; free tensors or work in smaller pieces"
        )

    def _new(self, nbytes: int) -> Chunk:
        device, vulkan = self._device, package()
        usage = (
            vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vulkan.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        buffer = device.create("vkCreateBuffer", "VkBuffer", struct("VkBufferCreateInfo", size=nbytes, usage=usage))
        try:
            needs = device.ffi.new("VkMemoryRequirements *")
            device.vk.vkGetBufferMemoryRequirements(device.handle, buffer, needs)
            self._require_type(needs.memoryTypeBits, nbytes)
            # Not the buffer's size: the driver may want more.
            memory = self._memory(needs.size)
        except BaseException:
            device.vk.vkDestroyBuffer(device.handle, buffer, device.null)
            raise
        chunk = Chunk(nbytes, needs.size, buffer, memory)
        try:
            device.vk.vkBindBufferMemory(device.handle, buffer, memory, 0)
            chunk.view = self._map(memory, nbytes)
        except BaseException:
            self._give_back(chunk)
            raise
        return chunk

    def _memory(self, nbytes: int) -> Handle:
        if not self.budget.reserve(nbytes):
            raise self._exhausted(nbytes, "")
        request = struct("VkMemoryAllocateInfo", allocationSize=nbytes, memoryTypeIndex=self._memory_type)
        try:
            return self._device.create("vkAllocateMemory", "VkDeviceMemory", request)
        except BaseException as error:
            self.budget.release(nbytes)
            if isinstance(error, OutOfDeviceMemory):
                raise self._exhausted(nbytes, f" ({error})") from error
            raise

    def _give_back(self, chunk: Chunk) -> None:
        device = self._device
        chunk.view = None
        # Freeing memory unmaps it.
        device.vk.vkDestroyBuffer(device.handle, chunk.buffer, device.null)
        device.vk.vkFreeMemory(device.handle, chunk.memory, device.null)
        self.budget.release(chunk.allocated)

    def _require_type(self, allowed: int, nbytes: int) -> None:
        if not allowed >> self._memory_type & 1:
            raise DeviceError(
                f"{self._device.physical.info.name} refuses a storage buffer of {nbytes} bytes in memory type "
                f"{self._memory_type}; it allows the set {allowed:#x}"
            )

    def _map(self, memory: Handle, nbytes: int) -> memoryview | None:
        device = self._device
        flags = device.physical.memory_types[self._memory_type].flags
        if not flags & package().VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT:
            return None
        address = device.ffi.new("void **")
        device.vk.vkMapMemory(device.handle, memory, 0, nbytes, 0, address)
        return memoryview(device.ffi.buffer(address[0], nbytes)).cast("B")
