"""KernelSpecs become recorded dispatches: each is checked, then given its pipeline, its set and its barrier."""

from __future__ import annotations

from collections.abc import Sequence

from restride.errors import DescriptorError
from restride.kernel import KernelSpec, Limits
from restride.runtime.interface import rounded
from restride.runtime.loader import array, package
from restride.runtime.vk_descriptors import DescriptorSets, Window
from restride.runtime.vk_device import LogicalDevice
from restride.runtime.vk_hazards import Use
from restride.runtime.vk_memory import Block
from restride.runtime.vk_parameters import Parameters
from restride.runtime.vk_prepared import Dispatch, Preparations, Prepared, key_of
from restride.runtime.vk_program import PUSH_BYTES, Pipeline, Pipelines
from restride.runtime.vk_queue import Queue
from restride.runtime.vk_slot import Slot


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
