"""Turns KernelSpecs into recorded dispatches: checks them, and finds pipelines, descriptor sets and parameters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from restride.errors import DescriptorError
from restride.kernel import KernelSpec, Limits
from restride.runtime.interface import require_kernel, rounded
from restride.runtime.loader import Handle, array, require_handle, struct
from restride.runtime.vulkan import generated as vulkan
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.memory import Block, Pool
from restride.runtime.vulkan.program import BindingLayout, Pipeline, Pipelines
from restride.runtime.vulkan.queue import Queue, Slot, Use

MAX_PREPARED = 1024
"""Maximum number of dispatches, or KiB of their parameters, that are kept prepared at one time."""

_SETS_PER_POOL = 64

BoundBytes: TypeAlias = tuple[Block, int, int]
"""A block, a byte offset in it, and a size in bytes."""


class Recorder:
    """Turns kernels into dispatches and records them. The caller holds the runtime's lock.

    A tuple of kernels with the same memories is prepared once; a list may change, so it is prepared each time.
    """

    def __init__(
        self,
        device: LogicalDevice,
        limits: Limits,
        queue: Queue,
        pool: Pool,
        module_source: Callable[[str], bytes],
    ) -> None:
        self._device = device
        self._vk = device.vk
        self._null = device.null
        self._limits = limits
        # This is the device's own limit, even if a test has lowered the limit for tensors.
        self._most_parameters = device.physical.info.limits.max_buffer_range
        self._queue = queue
        self._pool = pool
        self.preparations = Preparations(device, pool)
        self._current: list[Prepared] = []  # prepared since the last ``settle``
        self.pipelines = Pipelines(device, module_source)
        self._compute_point = vulkan.VK_PIPELINE_BIND_POINT_COMPUTE
        self._compute_stage = vulkan.VK_SHADER_STAGE_COMPUTE_BIT

    def prepare(
        self, kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int], ticket: int
    ) -> Prepared:
        """Check every kernel and find what it needs for submission ``ticket``, before any command is recorded.

        Raises:
            DescriptorError: a kernel breaks a limit or leaves a memory.
            OutOfDeviceMemory: there is no room for its parameters.
            DeviceError: the module is damaged, or the driver refuses it.
        """
        # The id stays unique, because the cached entry keeps the tuple alive.
        key = (id(kernels), *blocks, *sizes) if type(kernels) is tuple else None
        if self.preparations.freed != self._device.freed:
            self.preparations.forget()
        prepared = None if key is None else self.preparations.by_key.get(key)
        if prepared is not None:
            prepared.use(ticket)
            self._current.append(prepared)
            return prepared
        prepared = Prepared(kernels, ticket)
        self._current.append(prepared)
        self._fill(prepared, blocks, sizes, ticket)
        if key is not None and prepared.weight <= MAX_PREPARED // 4:
            self.preparations.put(key, prepared)
        return prepared

    def settle(self, ticket: int, completed: int) -> None:
        """Mark what was prepared since the last call as used by ``ticket``.

        ticket: the submission that it was prepared for, or the one before if that submission failed.
        """
        # The list is cleared first: an interrupt may lose an entry, but never releases one twice.
        current, self._current = self._current, []
        for prepared in current:
            if prepared.used != ticket:
                prepared.use(ticket)
            if not prepared.kept:
                self.preparations.release(prepared)
        self.preparations.collect(completed)

    def _fill(self, prepared: Prepared, blocks: Sequence[Block], sizes: Sequence[int], ticket: int) -> None:
        completed = self._queue.completed
        sets: dict[tuple[BoundBytes, ...], DescriptorSet] = {}  # dispatches that bind the same bytes share a set
        contents: dict[bytes, Block] = {}
        for spec in prepared.kernels:
            self._check(spec, blocks, sizes)
            windows = [(blocks[i], binding.offset, binding.nbytes) for i, binding in enumerate(spec.bindings)]
            uses = [
                (blocks[i], binding.offset, binding.offset + binding.nbytes, binding.writes)
                for i, binding in enumerate(spec.bindings)
            ]
            if spec.parameters:
                block = contents.get(spec.parameters)
                if block is None:
                    block = contents[spec.parameters] = self._upload(spec.parameters)
                    block.used = ticket
                    prepared.parameters.append(block)
                windows.append((block, 0, rounded(len(spec.parameters))))
            pipeline = self.pipelines.get((spec.shader, spec.constants, len(windows)), completed)
            key = tuple(windows)
            descriptors = sets.get(key)
            if descriptors is None:
                descriptors = sets[key] = self.preparations.sets.take(pipeline.layout, windows, completed)
                prepared.sets.append(descriptors)
            pipeline.used = descriptors.used = ticket
            prepared.dispatches.append(
                PreparedDispatch(spec, pipeline, descriptors, array("uint32_t", spec.push), uses)
            )
            prepared.uses += uses

    def _upload(self, parameters: bytes) -> Block:
        """A block that holds ``parameters``, padded with zeros to a multiple of 16 bytes."""
        block = self._pool.reuse(len(parameters)) or self._pool.grow(len(parameters))
        padded = parameters.ljust(rounded(len(parameters)), b"\0")
        block.view(0, len(padded))[:] = padded
        return block

    def record(self, slot: Slot, dispatches: Sequence[PreparedDispatch]) -> None:
        """Record the commands, with a barrier before each dispatch that depends on an earlier one."""
        vk, command, null = self._vk, slot.command, self._null
        hazards = self._queue.hazards
        bound: Pipeline | None = None
        for dispatch in dispatches:
            pipeline = dispatch.pipeline
            if hazards.conflict(dispatch.uses):
                self._queue.barrier(slot)
            if pipeline is not bound:
                vk.vkCmdBindPipeline(command, self._compute_point, pipeline.handle)
                bound = pipeline
            layout = pipeline.layout.pipeline_layout
            vk.vkCmdBindDescriptorSets(
                command, self._compute_point, layout, 0, 1, dispatch.descriptors.handles, 0, null
            )
            if dispatch.push_bytes:
                vk.vkCmdPushConstants(command, layout, self._compute_stage, 0, dispatch.push_bytes, dispatch.push)
            vk.vkCmdDispatch(command, *dispatch.groups)

    def destroy(self) -> None:
        """Destroy the pipelines and the descriptor sets; nothing may be pending."""
        self.preparations.forget()
        self.preparations.sets.destroy()
        self.pipelines.destroy()

    def _check(self, spec: KernelSpec, blocks: Sequence[Block], sizes: Sequence[int]) -> None:
        limits = self._limits
        require_kernel(spec, len(blocks), limits)
        if rounded(len(spec.parameters)) > self._most_parameters:
            raise DescriptorError(
                f"kernel {spec.shader!r} has {len(spec.parameters)} bytes of parameters, more than the "
                f"{self._most_parameters} that one binding covers"
            )
        for number, binding in enumerate(spec.bindings):
            offset, nbytes = binding.offset, binding.nbytes
            if (
                nbytes <= 0
                or offset < 0
                or offset + nbytes > sizes[number]
                or nbytes > limits.max_buffer_range
                or nbytes & 3
                or offset % limits.offset_alignment
            ):
                raise DescriptorError(
                    f"binding {number} of kernel {spec.shader!r} covers bytes [{offset}, {offset + nbytes}) of a "
                    f"memory of {sizes[number]} bytes; it must lie inside, its offset be a multiple of "
                    f"{limits.offset_alignment}, its size a multiple of 4 and at most {limits.max_buffer_range}"
                )
            if binding.writes and blocks[number].chunk.owner is not None:
                raise DescriptorError(
                    f"binding {number} of kernel {spec.shader!r} writes to memory imported from the host, which is "
                    f"read-only"
                )


class PreparedDispatch:
    """One kernel, ready to record. push: its push constants as a C array."""

    __slots__ = ("descriptors", "groups", "pipeline", "push", "push_bytes", "uses")

    def __init__(
        self, spec: KernelSpec, pipeline: Pipeline, descriptors: DescriptorSet, push: Handle, uses: list[Use]
    ) -> None:
        self.groups = spec.groups
        self.push_bytes = 4 * len(spec.push)
        self.pipeline = pipeline
        self.descriptors = descriptors
        self.push = push
        self.uses = uses


class Prepared:
    """The kernels of one submission with the dispatches, descriptor sets, parameters and byte ranges they use.

    used: the last submission that uses it. kept: ``Preparations`` or a ``Recording`` keeps it for later submissions.
    """

    __slots__ = ("dispatches", "kept", "kernels", "parameters", "sets", "used", "uses")

    def __init__(self, kernels: Sequence[KernelSpec], ticket: int) -> None:
        self.kernels = kernels
        self.used = ticket
        self.kept = False
        self.dispatches: list[PreparedDispatch] = []
        self.sets: list[DescriptorSet] = []
        self.parameters: list[Block] = []
        self.uses: list[Use] = []

    @property
    def weight(self) -> int:
        """How much of ``MAX_PREPARED`` it takes: 1 for each dispatch and for each KiB of parameters."""
        return len(self.dispatches) + sum(block.nbytes for block in self.parameters) // 1024

    def use(self, ticket: int) -> None:
        """Mark everything in it as last used by submission ``ticket``."""
        self.used = ticket
        for dispatch in self.dispatches:
            dispatch.pipeline.used = dispatch.descriptors.used = ticket
        for block in self.parameters:
            block.used = ticket


class Preparations:
    """A cache of prepared submissions: up to 1024 dispatches (or KiB of parameters) in all.

    All are forgotten before they would exceed this. After the device has freed a pipeline or a buffer, which they may
    need, all are forgotten before the next use.

    The cache pays: the host's part of a small reorder takes 12 us with it and 16 us without, of a small antialiased
    resample 30 us and 38 us. A cache of parameters by their contents did not pay: a lookup takes 0.3 us, an upload of
    16 KiB 1.4 us.

    pool: the pool of parameter blocks.
    freed: the device's ``freed`` for which the entries are valid: since then nothing that they need was freed.
    """

    def __init__(self, device: LogicalDevice, pool: Pool) -> None:
        self._device = device
        self._pool = pool
        self.sets = DescriptorSets(device)
        self.freed = device.freed
        self.by_key: dict[tuple[object, ...], Prepared] = {}
        self._weight = 0
        self._released: deque[tuple[int, int]] = deque()  # last submission and bytes of released parameter blocks

    def put(self, key: tuple[object, ...], prepared: Prepared) -> None:
        """Cache ``prepared`` under ``key``; before the limit is exceeded, forget all others."""
        weight = prepared.weight
        if self._weight + weight > MAX_PREPARED:
            self.forget()
        # No call between these statements, at which an interrupt may come: they belong together.
        prepared.kept = True
        self.by_key[key] = prepared
        self._weight += weight

    def forget(self) -> None:
        """Forget all entries."""
        freed = self._device.freed = self._device.freed + 1
        while self.by_key:
            _, prepared = self.by_key.popitem()  # first: an interrupt may lose an entry, but never releases one twice
            self.release(prepared)
        self._weight, self.freed = 0, freed

    def release(self, prepared: Prepared) -> None:
        """Let later submissions reuse the sets and parameters, once the device has finished with them."""
        self.sets.give_back(prepared)
        for block in prepared.parameters:
            self._released.append((block.used, block.nbytes))
            self._pool.free(block)

    def collect(self, completed: int) -> None:
        """Stop counting released parameters that no submission after ``completed`` uses."""
        while self._released and self._released[0][0] <= completed:
            self._released.popleft()

    def bytes_in_use(self, completed: int) -> int:
        """Bytes of parameters that submissions after ``completed`` use."""
        blocks = [(block.used, block.nbytes) for prepared in self.by_key.values() for block in prepared.parameters]
        return sum(nbytes for used, nbytes in (*blocks, *self._released) if used > completed)


class DescriptorSet:
    """A descriptor set of ``count`` bindings, as a C array of one, and the last submission that uses it."""

    __slots__ = ("count", "handles", "used")

    def __init__(self, handle: Handle, count: int) -> None:
        self.count = count
        self.handles = array("VkDescriptorSet", [handle])
        self.used = 0


class DescriptorSets:
    """Descriptor sets for reuse: taken, filled, given back, filled again. The caller sets ``used`` of each."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._idle: dict[int, deque[DescriptorSet]] = {}  # by number of bindings; the device may still use the last
        self._pools: list[Handle] = []

    def take(self, layout: BindingLayout, windows: Sequence[BoundBytes], completed: int) -> DescriptorSet:
        """A set that binds ``windows``; no submission after ``completed`` still uses it."""
        idle = self._idle.setdefault(layout.count, deque())
        if not idle or idle[0].used > completed:
            idle.extendleft(self._new_sets(layout))
        descriptors = idle.popleft()
        buffers = array(
            "VkDescriptorBufferInfo",
            [(block.chunk.buffer, block.offset + offset, nbytes) for block, offset, nbytes in windows],
        )
        # Each binding has one descriptor; Vulkan continues a write of more than one at the next binding.
        write = struct(
            "VkWriteDescriptorSet",
            dstSet=descriptors.handles[0],
            descriptorCount=layout.count,
            descriptorType=vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            pBufferInfo=buffers,
        )
        self._device.vk.vkUpdateDescriptorSets(self._device.handle, 1, write, 0, self._device.null)
        return descriptors

    def give_back(self, prepared: Prepared) -> None:
        """Take back the sets of ``prepared``; they are reused once the device has finished with them."""
        for descriptors in prepared.sets:
            self._idle[descriptors.count].append(descriptors)

    def destroy(self) -> None:
        """Destroy everything."""
        for pool in self._pools:
            self._device.vk.vkDestroyDescriptorPool(self._device.handle, pool, self._device.null)
        self._pools.clear()
        self._idle.clear()

    def _new_sets(self, layout: BindingLayout) -> Iterable[DescriptorSet]:
        device = self._device
        size = struct(
            "VkDescriptorPoolSize",
            type=vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            descriptorCount=layout.count * _SETS_PER_POOL,
        )
        pool = device.create("DescriptorPool", maxSets=_SETS_PER_POOL, poolSizeCount=1, pPoolSizes=size)
        layouts = array("VkDescriptorSetLayout", [layout.set_layout] * _SETS_PER_POOL)
        request = struct(
            "VkDescriptorSetAllocateInfo", descriptorPool=pool, descriptorSetCount=_SETS_PER_POOL, pSetLayouts=layouts
        )
        handles = array("VkDescriptorSet", _SETS_PER_POOL)
        try:
            device.vk.vkAllocateDescriptorSets(device.handle, request, handles)
            sets = [DescriptorSet(require_handle("vkAllocateDescriptorSets", each), layout.count) for each in handles]
        except BaseException:
            device.vk.vkDestroyDescriptorPool(device.handle, pool, device.null)
            raise
        self._pools.append(pool)
        return sets
