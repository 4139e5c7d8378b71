"""KernelSpecs become dispatches: checked, with their pipelines, descriptor sets and parameters, and recorded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from restride.errors import DescriptorError
from restride.kernel import KernelSpec, Limits
from restride.runtime.interface import rounded
from restride.runtime.loader import Handle, array, package, struct
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.memory import Block, Pool
from restride.runtime.vulkan.program import PUSH_BYTES, BindingLayout, Pipeline, Pipelines
from restride.runtime.vulkan.queue import Queue, Slot, Use

MOST_PREPARED = 1024
"""Dispatches that are prepared at one time."""

MOST_PARAMETER_BYTES = 1 << 20
"""Bytes of parameters that stay on the device for later submissions; of one kernel at most a quarter."""

_SETS_PER_POOL = 64

Window: TypeAlias = tuple[Block, int, int]
"""A block, an offset in it, and bytes."""


class Recorder:
    """Turns kernels into dispatches and records them. The caller holds the runtime's lock.

    A tuple of kernels is prepared once for the same memories; a list may change, so it is prepared each time.
    """

    def __init__(
        self,
        device: LogicalDevice,
        limits: Limits,
        queue: Queue,
        pool: Pool,
        preparations: Preparations,
        module_source: Callable[[str], bytes],
    ) -> None:
        vulkan = package()
        self._vk = device.vk
        self._null = device.null
        self._limits = limits
        # The device's own limit, even where a test narrows that of tensors.
        self._most_parameters = device.physical.info.limits.max_buffer_range
        self._queue = queue
        self._preparations = preparations
        self.pipelines = Pipelines(device, module_source, preparations.forget)
        self.parameters = Parameters(pool, preparations.forget)
        self._compute_point = vulkan.VK_PIPELINE_BIND_POINT_COMPUTE
        self._compute_stage = vulkan.VK_SHADER_STAGE_COMPUTE_BIT

    def prepare(
        self, kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int], ticket: int
    ) -> Prepared:
        """Check every kernel and find what it needs for submission ``ticket``, before anything is recorded.

        Raises:
            DescriptorError: a kernel breaks a limit or leaves a memory.
            DeviceError: the module is damaged, or the driver refuses it.
        """
        # No other tuple has this one's number while it is held with what was prepared.
        key = (id(kernels), *blocks, *sizes) if type(kernels) is tuple else None
        prepared = None if key is None else self._preparations.by_key.get(key)
        if prepared is not None:
            prepared.used = ticket
            for dispatch in prepared.dispatches:
                dispatch.pipeline.used = dispatch.descriptors.used = ticket
            self.parameters.use(prepared.parameters, ticket)
            return prepared
        forgotten = self._preparations.forgotten
        prepared = self._prepare_anew(kernels, blocks, sizes, ticket)
        lasts = forgotten == self._preparations.forgotten and not self.parameters.are_transient
        if key is not None and lasts and len(prepared.dispatches) <= MOST_PREPARED // 4:
            self._preparations.put(key, prepared)
        else:
            self._preparations.sets.give_back(prepared)
        return prepared

    def _prepare_anew(
        self, kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int], ticket: int
    ) -> Prepared:
        completed = self._queue.completed
        dispatches: list[Dispatch] = []
        parameters: list[Block] = []
        sets: dict[tuple[Window, ...], DescriptorSet] = {}  # dispatches that see the same bytes share one
        for spec in kernels:
            self._check(spec, blocks, sizes)
            windows = [(blocks[i], binding.offset, binding.nbytes) for i, binding in enumerate(spec.bindings)]
            uses = [
                (blocks[i], binding.offset, binding.offset + binding.nbytes, binding.writes)
                for i, binding in enumerate(spec.bindings)
            ]
            if spec.parameters:
                block = self.parameters.get(spec.parameters, ticket)
                windows.append((block, 0, rounded(len(spec.parameters))))
                parameters.append(block)
            pipeline = self.pipelines.get((spec.shader, spec.constants, len(windows)), completed)
            key = tuple(windows)
            descriptors = sets.get(key)
            if descriptors is None:
                descriptors = sets[key] = self._preparations.sets.take(pipeline.layout, windows, completed)
            pipeline.used = descriptors.used = ticket
            dispatches.append(Dispatch(spec, pipeline, descriptors, array("uint32_t", spec.push), uses))
        return Prepared(kernels, dispatches, list(sets.values()), parameters, ticket)

    def record(self, slot: Slot, dispatches: Sequence[Dispatch]) -> None:
        """Write the commands, with a barrier before each dispatch that depends on an earlier one."""
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
        """Destroy the pipelines and the descriptor sets; nothing is pending."""
        self._preparations.forget()
        self._preparations.sets.destroy()
        self.pipelines.destroy()

    def _check(self, spec: KernelSpec, blocks: Sequence[Block], sizes: Sequence[int]) -> None:
        limits = self._limits
        if len(spec.bindings) > len(blocks):
            raise DescriptorError(
                f"kernel {spec.shader!r} has {len(spec.bindings)} bindings for {len(blocks)} memories"
            )
        if 4 * len(spec.push) > PUSH_BYTES:
            raise DescriptorError(f"kernel {spec.shader!r} pushes {4 * len(spec.push)} bytes, at most {PUSH_BYTES}")
        if not all(0 < count <= most for count, most in zip(spec.groups, limits.max_group_count, strict=True)):
            raise DescriptorError(
                f"kernel {spec.shader!r} has groups {spec.groups}, each must be from 1 to its limit in "
                f"{limits.max_group_count}"
            )
        if rounded(len(spec.parameters)) > self._most_parameters:
            raise DescriptorError(
                f"kernel {spec.shader!r} has {len(spec.parameters)} bytes of parameters, more than one binding's "
                f"{self._most_parameters} bytes"
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
                    f"only read"
                )


class Dispatch:
    """One kernel, ready to record. push: its push constants as Vulkan takes them."""

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
    """The kernels of a submission, their dispatches, the sets and blocks of parameters they need, and what they use.

    used: the last submission of them.
    """

    __slots__ = ("dispatches", "kernels", "parameters", "sets", "used", "uses")

    def __init__(
        self,
        kernels: Sequence[KernelSpec],
        dispatches: list[Dispatch],
        sets: list[DescriptorSet],
        parameters: list[Block],
        used: int,
    ) -> None:
        self.used = used
        self.kernels = kernels
        self.dispatches = dispatches
        self.sets = sets
        self.parameters = parameters
        self.uses = [use for dispatch in dispatches for use in dispatch.uses]


class Preparations:
    """The submissions that were prepared lately, 1024 dispatches in all.

    All are forgotten when a pipeline, a block of parameters or a buffer is given up. This cache pays: the host's part
    of a small reorder takes 12 us with it and 16 us without, of a small antialiased resample 30 us and 38 us.

    forgotten: how often something was forgotten.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self.sets = DescriptorSets(device)
        self.forgotten = 0
        self.by_key: dict[tuple[object, ...], Prepared] = {}
        self._count = 0

    def put(self, key: tuple[object, ...], prepared: Prepared) -> None:
        """Find ``prepared`` by ``key`` from now on. Past the limit, the longest unused go until half of it is left."""
        self.by_key[key] = prepared
        self._count += len(prepared.dispatches)
        if self._count > MOST_PREPARED:
            self._drop(MOST_PREPARED // 2)

    def forget(self) -> None:
        """Something that may be needed is about to be destroyed, or to hold other contents."""
        self._drop(0)

    def _drop(self, left: int) -> None:
        self.forgotten += 1
        for key, prepared in sorted(self.by_key.items(), key=lambda item: item[1].used):
            if self._count <= left:
                break
            del self.by_key[key]
            self._count -= len(prepared.dispatches)
            self.sets.give_back(prepared)


class Parameters:
    """Parameters of kernels on the device: small read-only blocks, found again by their contents, 1 MiB in all.

    Several prepared submissions share them, so that a table of weights is uploaded once for all results of a loop.

    forget: called before blocks are freed that are not of one submission alone.
    """

    def __init__(self, pool: Pool, forget: Callable[[], None]) -> None:
        self._pool = pool
        self._forget = forget
        self._by_contents: dict[bytes, Block] = {}
        self._nbytes = 0  # of the blocks in _by_contents
        self._touched: list[Block] = []
        self._transient: list[Block] = []
        self._freed: deque[tuple[int, int]] = deque()  # last submission and bytes

    def get(self, contents: bytes, ticket: int) -> Block:
        """The block that holds ``contents``, for submission ``ticket``; zeros follow up to a multiple of 16 bytes.

        Raises:
            OutOfDeviceMemory: there is no room for it.
        """
        block = self._by_contents.get(contents)
        if block is None:
            block = self._pool.reuse(len(contents)) or self._pool.grow(len(contents))
            padded = contents.ljust(rounded(len(contents)), b"\0")
            block.view(0, len(padded))[:] = padded
            block.used = ticket
            if len(contents) > MOST_PARAMETER_BYTES // 4:
                self._transient.append(block)
            else:
                self._by_contents[contents] = block
                self._nbytes += block.nbytes
                self._trim()
        self.use((block,), ticket)
        return block

    def use(self, blocks: Sequence[Block], ticket: int) -> None:
        """Submission ``ticket`` reads blocks that ``get`` returned for one before it."""
        for block in blocks:
            block.used = ticket
        self._touched += blocks

    @property
    def are_transient(self) -> bool:
        """True where a block is freed after the submission that is being prepared."""
        return bool(self._transient)

    def settle(self, ticket: int, completed: int) -> None:
        """The submission was made, as ``ticket``, or it failed and ``ticket`` is the one before."""
        for block in self._touched:
            block.used = ticket
        for block in self._transient:
            self._free(block)
        self._touched.clear()
        self._transient.clear()
        while self._freed and self._freed[0][0] <= completed:
            self._freed.popleft()

    def bytes_in_use(self, completed: int) -> int:
        """Bytes of parameters for submissions after ``completed``."""
        blocks = [(block.used, block.nbytes) for block in self._by_contents.values()]
        return sum(nbytes for used, nbytes in (*blocks, *self._freed) if used > completed)

    def _trim(self) -> None:
        """Past the limit, free the longest unused until half of it is left."""
        if self._nbytes <= MOST_PARAMETER_BYTES:
            return
        self._forget()
        for contents, block in sorted(self._by_contents.items(), key=lambda item: item[1].used):
            if self._nbytes <= MOST_PARAMETER_BYTES // 2:
                break
            del self._by_contents[contents]
            self._nbytes -= block.nbytes
            self._free(block)

    def _free(self, block: Block) -> None:
        self._freed.append((block.used, block.nbytes))
        self._pool.free(block)


class DescriptorSet:
    """A set of ``count`` bindings, the array Vulkan takes it in, and the last submission that uses it."""

    __slots__ = ("count", "handles", "used")

    def __init__(self, handle: Handle, count: int) -> None:
        self.count = count
        self.handles = array("VkDescriptorSet", [handle])
        self.used = 0


class DescriptorSets:
    """Sets that are taken, filled, given back and filled again. The caller says of each when it is used."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._idle: dict[int, deque[DescriptorSet]] = {}  # by number of bindings; the device may still use the last
        self._pools: list[Handle] = []

    def take(self, layout: BindingLayout, windows: Sequence[Window], completed: int) -> DescriptorSet:
        """A set that binds ``windows``, and that no submission after ``completed`` uses."""
        idle = self._idle.setdefault(layout.count, deque())
        if not idle or idle[0].used > completed:
            idle.extendleft(self._new_sets(layout))
        descriptors = idle.popleft()
        buffers = array(
            "VkDescriptorBufferInfo",
            [(block.chunk.buffer, block.offset + offset, nbytes) for block, offset, nbytes in windows],
        )
        # Consecutive bindings of one descriptor each: a write that runs over binding 0 goes on at binding 1.
        write = struct(
            "VkWriteDescriptorSet",
            dstSet=descriptors.handles[0],
            descriptorCount=layout.count,
            descriptorType=package().VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            pBufferInfo=buffers,
        )
        self._device.vk.vkUpdateDescriptorSets(self._device.handle, 1, write, 0, self._device.null)
        return descriptors

    def give_back(self, prepared: Prepared) -> None:
        """Take the sets of ``prepared`` back; they are filled anew once the device is done with them."""
        for descriptors in prepared.sets:
            self._idle[descriptors.count].append(descriptors)

    def destroy(self) -> None:
        """Destroy everything."""
        for pool in self._pools:
            self._device.vk.vkDestroyDescriptorPool(self._device.handle, pool, self._device.null)
        self._pools.clear()
        self._idle.clear()

    def _new_sets(self, layout: BindingLayout) -> Iterable[DescriptorSet]:
        vulkan, device = package(), self._device
        size = struct(
            "VkDescriptorPoolSize",
            type=vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            descriptorCount=layout.count * _SETS_PER_POOL,
        )
        pool = device.create("DescriptorPool", maxSets=_SETS_PER_POOL, poolSizeCount=1, pPoolSizes=size)
        self._pools.append(pool)
        layouts = array("VkDescriptorSetLayout", [layout.set_layout] * _SETS_PER_POOL)
        request = struct(
            "VkDescriptorSetAllocateInfo", descriptorPool=pool, descriptorSetCount=_SETS_PER_POOL, pSetLayouts=layouts
        )
        handles = array("VkDescriptorSet", _SETS_PER_POOL)
        device.vk.vkAllocateDescriptorSets(device.handle, request, handles)
        return [DescriptorSet(handle, layout.count) for handle in handles]
