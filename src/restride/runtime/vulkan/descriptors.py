"""Descriptor sets: which bytes of which buffers a dispatch sees; kept and recycled, so a steady loop makes none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from restride.runtime.loader import Handle, array, package, struct
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.memory import Block, Chunk
from restride.runtime.vulkan.program import BindingLayout

MOST_SETS = 1024
_SETS_A_POOL = 64

Window: TypeAlias = tuple[int, int, int]
"""Serial of a chunk, offset in it, bytes."""


class DescriptorSet:
    """A set, the array Vulkan takes it in, and the last submission that uses it."""

    __slots__ = ("handles", "used")

    def __init__(self, handles: Handle) -> None:
        self.handles = handles
        self.used = 0


class DescriptorSets:
    """Every set of a device. The caller holds the runtime's lock, and says of each when it is used.

    dropped: called before sets become others.
    """

    def __init__(self, device: LogicalDevice, dropped: Callable[[], None], most: int = MOST_SETS) -> None:
        self._device = device
        self._dropped = dropped
        self._most = most
        self._sets: dict[tuple[Window, ...], DescriptorSet] = {}
        self._by_chunk: dict[int, set[tuple[Window, ...]]] = {}
        self._spare: dict[int, list[DescriptorSet]] = {}  # by number of bindings
        self._pools: list[Handle] = []
        self._writes: dict[int, tuple[Handle, Handle]] = {}  # by number of bindings: what fills a set

    def get(
        self, layout: BindingLayout, windows: tuple[Window, ...], blocks: list[Block], completed: int
    ) -> DescriptorSet:
        """The set that binds ``windows``, which lie in ``blocks``."""
        found = self._sets.get(windows)
        if found is not None:
            return found
        if len(self._sets) >= self._most:
            self._recycle(completed)
        spare = self._spare.setdefault(layout.count, [])
        if not spare:
            spare.extend(self._new_sets(layout))
        made = spare.pop()
        self._fill(made, windows, blocks)
        made.used = 0
        self._sets[windows] = made
        for serial, _, _ in windows:
            self._by_chunk.setdefault(serial, set()).add(windows)
        return made

    def forget(self, chunk: Chunk) -> None:
        """The chunk's buffer is about to be destroyed, and no pending work uses it: recycle the sets that name it."""
        if chunk.serial in self._by_chunk:
            self._dropped()
        for windows in self._by_chunk.pop(chunk.serial, ()):
            self._spare.setdefault(len(windows), []).append(self._remove(windows))

    def destroy(self) -> None:
        """Destroy everything."""
        for pool in self._pools:
            self._device.vk.vkDestroyDescriptorPool(self._device.handle, pool, self._device.null)
        self._pools.clear()
        self._sets.clear()
        self._by_chunk.clear()
        self._spare.clear()

    def _recycle(self, completed: int) -> None:
        """Half of them at once, the least recently used: what is kept of others is seldom forgotten."""
        # Past the limit while the oldest is in use, and so are all: better than to wait here.
        idle = [windows for windows, descriptors in self._sets.items() if descriptors.used <= completed]
        idle.sort(key=lambda windows: self._sets[windows].used)
        if idle:
            self._dropped()
        for windows in idle[: self._most // 2]:
            self._spare.setdefault(len(windows), []).append(self._remove(windows))

    def _remove(self, windows: tuple[Window, ...]) -> DescriptorSet:
        for serial, _, _ in windows:
            naming = self._by_chunk.get(serial)
            if naming is not None:
                naming.discard(windows)
        return self._sets.pop(windows)

    def _new_sets(self, layout: BindingLayout) -> list[DescriptorSet]:
        vulkan, device = package(), self._device
        size = struct(
            "VkDescriptorPoolSize",
            type=vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            descriptorCount=layout.count * _SETS_A_POOL,
        )
        pool = device.create(
            "vkCreateDescriptorPool",
            "VkDescriptorPool",
            struct("VkDescriptorPoolCreateInfo", maxSets=_SETS_A_POOL, poolSizeCount=1, pPoolSizes=size),
        )
        self._pools.append(pool)
        layouts = array("VkDescriptorSetLayout", [layout.set_layout] * _SETS_A_POOL)
        request = struct(
            "VkDescriptorSetAllocateInfo", descriptorPool=pool, descriptorSetCount=_SETS_A_POOL, pSetLayouts=layouts
        )
        made = array("VkDescriptorSet", _SETS_A_POOL)
        device.vk.vkAllocateDescriptorSets(device.handle, request, made)
        return [DescriptorSet(array("VkDescriptorSet", [made[number]])) for number in range(_SETS_A_POOL)]

    def _fill(self, target: DescriptorSet, windows: tuple[Window, ...], blocks: list[Block]) -> None:
        count = len(windows)
        if count not in self._writes:
            self._writes[count] = _write(count)
        write, buffers = self._writes[count]
        write.dstSet = target.handles[0]
        for number, (_, offset, nbytes) in enumerate(windows):
            buffers[number].buffer = blocks[number].chunk.buffer
            buffers[number].offset = offset
            buffers[number].range = nbytes
        self._device.vk.vkUpdateDescriptorSets(self._device.handle, 1, write, 0, self._device.null)


def _write(count: int) -> tuple[Handle, Handle]:
    """What fills a set of so many bindings, and the buffers that it names."""
    buffers = array("VkDescriptorBufferInfo", count)
    # Consecutive bindings of one descriptor each: a write that runs over binding 0 goes on at binding 1.
    write = struct(
        "VkWriteDescriptorSet",
        dstBinding=0,
        descriptorCount=count,
        descriptorType=package().VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        pBufferInfo=buffers,
    )
    return write, buffers
