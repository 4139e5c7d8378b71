"""KernelSpecs become recorded dispatches: each is checked, then given its pipeline, its set and its barrier."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from restride.errors import DescriptorError
from restride.kernel import KernelSpec, Limits
from restride.lru import Recent
from restride.runtime.interface import rounded
from restride.runtime.loader import Handle, array, package
from restride.runtime.vulkan.descriptors import DescriptorSet, DescriptorSets, Window
from restride.runtime.vulkan.device import LogicalDevice
from restride.runtime.vulkan.memory import Block, Pool
from restride.runtime.vulkan.program import PUSH_BYTES, Pipeline, Pipelines
from restride.runtime.vulkan.queue import Queue, Slot, Use

# Parameters of kernels: small read-only buffers, found again by their contents.

MOST_KEPT_BYTES = 1 << 20
_MOST_KEPT_EACH = MOST_KEPT_BYTES // 4


class Parameters:
    """Blocks by contents, 1 MiB in all. The caller holds the runtime's lock.

    dropped: called before blocks are freed that are not of one submission alone.
    """

    def __init__(self, pool: Pool, dropped: Callable[[], None]) -> None:
        self._pool = pool
        self._dropped = dropped
        self._kept: dict[bytes, Block] = {}
        self._kept_bytes = 0
        self._touched: list[Block] = []
        self._transient: list[Block] = []
        self._freed: deque[tuple[int, int]] = deque()  # last submission and bytes

    def get(self, contents: bytes, ticket: int) -> Block:
        """The block that holds ``contents``, for submission ``ticket``; zeros follow up to a multiple of 16 bytes.

        Raises:
            OutOfDeviceMemory: there is no room for it.
        """
        block = self._kept.get(contents)
        if block is None:
            block = self._pool.reuse(len(contents)) or self._pool.grow(len(contents))
            padded = contents.ljust(rounded(len(contents)), b"\0")
            block.view(0, len(padded))[:] = padded
            block.used = ticket
            if len(contents) > _MOST_KEPT_EACH:
                self._transient.append(block)
            else:
                self._keep(contents, block)
        self.use((block,), ticket)
        return block

    def use(self, blocks: Sequence[Block], ticket: int) -> None:
        """Submission ``ticket`` reads blocks that ``get`` gave for one before it."""
        for block in blocks:
            block.used = ticket
        self._touched += blocks

    @property
    def are_kept(self) -> bool:
        """False where a block is of the submission that is being made, and of no other."""
        return not self._transient

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
        kept = [(block.used, block.nbytes) for block in self._kept.values()]
        return sum(nbytes for used, nbytes in (*kept, *self._freed) if used > completed)

    def _keep(self, contents: bytes, block: Block) -> None:
        self._kept[contents] = block
        self._kept_bytes += block.nbytes
        if self._kept_bytes > MOST_KEPT_BYTES:
            self._dropped()
            for oldest in sorted(self._kept, key=lambda kept: self._kept[kept].used):
                if self._kept_bytes <= MOST_KEPT_BYTES // 2:
                    break
                dropped = self._kept.pop(oldest)
                self._kept_bytes -= dropped.nbytes
                self._free(dropped)

    def _free(self, block: Block) -> None:
        self._freed.append((block.used, block.nbytes))
        self._pool.free(block)


# Prepared: the dispatches of a submission, checked once and found again while everything that they need is there.

MOST_PREPARED = 256


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
    """The dispatches of a submission, what they use, the blocks of their parameters, and the kernels they are of."""

    __slots__ = ("dispatches", "kernels", "parameters", "uses")

    def __init__(self, kernels: Sequence[KernelSpec], dispatches: list[Dispatch], parameters: list[Block]) -> None:
        self.kernels = kernels
        self.dispatches = dispatches
        self.parameters = parameters
        self.uses = [use for dispatch in dispatches for use in dispatch.uses]


class Preparations(Recent[Prepared]):
    """What was prepared lately. All of it is forgotten when a pipeline, a set or a block of parameters is given up.

    forgotten: how often that was.
    """

    def __init__(self) -> None:
        super().__init__(MOST_PREPARED)
        self.forgotten = 0

    def forget(self) -> None:
        """Something that may be needed is about to be destroyed, or to become another."""
        self.clear()
        self.forgotten += 1


def key_of(kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int]) -> tuple[object, ...] | None:
    """What the same kernels on the same blocks have in common; None: they may change, as a list may.

    A tuple of kernels is known by its number, which no other one has while this one is kept with what was prepared.
    """
    return (id(kernels), *blocks, *sizes) if type(kernels) is tuple else None


# KernelSpecs become recorded dispatches: each is checked, then given its pipeline, its set and its barrier.


class Recorder:
    """Turns kernels into dispatches. The caller holds the runtime's lock."""

    def __init__(
        self,
        device: LogicalDevice,
        limits: Limits,
        queue: Queue,
        pipelines: Pipelines,
        sets: DescriptorSets,
        parameters: Parameters,
        preparations: Preparations,
    ) -> None:
        vulkan = package()
        self._vk = device.vk
        self._null = device.null
        self._limits = limits
        # The device's own limit, even where a test narrows that of tensors.
        self._most_parameters = device.physical.info.limits.max_buffer_range
        self._queue = queue
        self._pipelines = pipelines
        self._sets = sets
        self._parameters = parameters
        self._preparations = preparations
        self._compute_point = vulkan.VK_PIPELINE_BIND_POINT_COMPUTE
        self._compute_stage = vulkan.VK_SHADER_STAGE_COMPUTE_BIT

    def prepare(
        self, kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int], ticket: int
    ) -> Prepared:
        """Check every kernel and find what it needs, before anything is recorded.

        Raises:
            DescriptorError: a kernel breaks a limit or leaves a memory.
            DeviceError: the module is damaged, or the driver refuses it.
        """
        key, forgotten = key_of(kernels, blocks, sizes), self._preparations.forgotten
        found = None if key is None else self._preparations.get(key)
        if found is None:
            made = self._prepared(kernels, blocks, sizes, ticket)
            if key is not None and forgotten == self._preparations.forgotten and self._parameters.are_kept:
                self._preparations.keep(key, made)
            return made
        for dispatch in found.dispatches:
            dispatch.pipeline.used = dispatch.descriptors.used = ticket
        self._parameters.use(found.parameters, ticket)
        return found

    def _prepared(
        self, kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int], ticket: int
    ) -> Prepared:
        completed = self._queue.completed
        dispatches: list[Dispatch] = []
        parameters: list[Block] = []
        for spec in kernels:
            self._check(spec, len(blocks))
            windows: list[Window] = []
            bound: list[Block] = []
            uses: list[Use] = []
            for number, binding in enumerate(spec.bindings):
                block = blocks[number]
                offset, nbytes = binding.offset, binding.nbytes
                if (
                    nbytes <= 0
                    or offset < 0
                    or offset + nbytes > sizes[number]
                    or nbytes > self._limits.max_buffer_range
                    or nbytes & 3
                    or offset % self._limits.offset_alignment
                ):
                    raise self._refused(spec, number, sizes[number])
                if binding.writes and block.chunk.owner is not None:
                    raise DescriptorError(
                        f"binding {number} of kernel {spec.shader!r} writes to memory imported from the host, which is "
                        f"only read"
                    )
                windows.append((block.chunk.serial, block.offset + offset, nbytes))
                bound.append(block)
                uses.append((block, offset, offset + nbytes, binding.writes))
            if spec.parameters:
                block = self._parameters.get(spec.parameters, ticket)
                windows.append((block.chunk.serial, block.offset, rounded(len(spec.parameters))))
                bound.append(block)
                parameters.append(block)
            pipeline = self._pipelines.get((spec.shader, spec.constants, len(windows)), completed)
            pipeline.used = ticket
            descriptors = self._sets.get(pipeline.layout, tuple(windows), bound, completed)
            descriptors.used = ticket
            dispatches.append(Dispatch(spec, pipeline, descriptors, array("uint32_t", spec.push), uses))
        return Prepared(kernels, dispatches, parameters)

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

    def _check(self, spec: KernelSpec, memories: int) -> None:
        if len(spec.bindings) > memories:
            raise DescriptorError(f"kernel {spec.shader!r} has {len(spec.bindings)} bindings for {memories} memories")
        if 4 * len(spec.push) > PUSH_BYTES:
            raise DescriptorError(f"kernel {spec.shader!r} pushes {4 * len(spec.push)} bytes, at most {PUSH_BYTES}")
        x, y, z = spec.groups
        most_x, most_y, most_z = self._limits.max_group_count
        if not (0 < x <= most_x and 0 < y <= most_y and 0 < z <= most_z):
            raise DescriptorError(
                f"kernel {spec.shader!r} has groups {spec.groups}, each must be from 1 to its limit in "
                f"{self._limits.max_group_count}"
            )
        if rounded(len(spec.parameters)) > self._most_parameters:
            raise DescriptorError(
                f"kernel {spec.shader!r} has {len(spec.parameters)} bytes of parameters, more than one binding's "
                f"{self._most_parameters} bytes"
            )

    def _refused(self, spec: KernelSpec, number: int, nbytes: int) -> DescriptorError:
        binding, limits = spec.bindings[number], self._limits
        return DescriptorError(
            f"binding {number} of kernel {spec.shader!r} covers bytes [{binding.offset}, "
            f"{binding.offset + binding.nbytes}) of a memory of {nbytes} bytes; it must lie inside, its offset be a "
            f"multiple of {limits.offset_alignment}, its size a multiple of 4 and at most {limits.max_buffer_range}"
        )
