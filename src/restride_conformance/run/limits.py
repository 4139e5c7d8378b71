"""Impose the limits of a small device on any device: narrow what the runtime is told, and refuse modules beyond them.

``mobile`` has the limits of Android's Vulkan Profile 2021, which are the least that the Vulkan specification allows
(section "Limit Requirements"): no device has less. It also lacks everything that phones and MoltenVK may lack:
timestamps, import of host memory, and all optional features, including 8- and 16-bit storage. It uses the kernel
choices for GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from restride.errors import DescriptorError
from restride.kernel import Choices
from restride.runtime import choose, list_devices
from restride.runtime.instance import PhysicalDevice, physical_devices
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance.record import SmallDevice
from restride_conformance.shader.spirv import read_interface


@dataclass(frozen=True)
class Bounds:
    """Limits by the names of ``VkPhysicalDeviceLimits`` and ``VkPhysicalDeviceMaintenance3Properties``, in bytes."""

    max_storage_buffer_range: int = 1 << 27
    min_storage_buffer_offset_alignment: int = 256
    max_per_stage_descriptor_storage_buffers: int = 4
    max_compute_shared_memory_size: int = 16384
    max_compute_work_group_count: tuple[int, int, int] = (65535, 65535, 65535)
    max_compute_work_group_invocations: int = 128
    max_compute_work_group_size: tuple[int, int, int] = (128, 128, 64)
    max_memory_allocation_count: int = 4096
    max_memory_allocation_size: int = 1 << 30

    def narrowed(self, physical: PhysicalDevice) -> PhysicalDevice:
        """A description of ``physical`` whose limits are no wider than these."""
        limits, counts = physical.info.limits, self.max_compute_work_group_count
        x, y, z = (min(pair) for pair in zip(limits.max_group_count, counts, strict=True))
        limits = replace(
            limits,
            max_buffer_range=min(limits.max_buffer_range, self.max_storage_buffer_range),
            offset_alignment=max(limits.offset_alignment, self.min_storage_buffer_offset_alignment),
            max_group_count=(x, y, z),
            choices=Choices.usual("integrated"),
        )
        return replace(
            physical,
            info=replace(physical.info, limits=limits, is_tuned=False),
            timestamp_bits=0,
            import_alignment=0,
            max_group_size=min(physical.max_group_size, self.max_compute_work_group_invocations),
            max_allocations=min(physical.max_allocations, self.max_memory_allocation_count),
            max_allocation_bytes=min(physical.max_allocation_bytes, self.max_memory_allocation_size),
        )

    def within(self, source: Callable[[str], bytes]) -> Callable[[str], bytes]:
        """Wrap ``source``: the returned function raises DescriptorError for a module that exceeds these limits."""

        def checked(name: str) -> bytes:
            code = source(name)
            if more := self.exceeded(code):
                raise DescriptorError(f"module {name} needs {more}")
            return code

        return checked

    def exceeded(self, code: bytes) -> str:
        """Words for the first limit that a SPIR-V module exceeds; empty if it exceeds none."""
        declared = read_interface(code)
        sizes = [entry.local_size for entry in declared.entry_points]
        bindings = {(each.descriptor_set, each.binding) for each in declared.variables if each.is_buffer}
        shared = [each.nbytes for each in declared.variables if each.storage == "Workgroup"]
        most, invocations = self.max_compute_work_group_size, self.max_compute_work_group_invocations
        if others := set(declared.capabilities) - {"Shader"}:
            return f"capability {', '.join(sorted(others))}; the only one is Shader"
        for size in sizes:
            if size is None or math.prod(size) > invocations or any(a > b for a, b in zip(size, most, strict=True)):
                return f"work groups of {size or 'any size'}; the most is {most}, {invocations} invocations in all"
        if len(bindings) > self.max_per_stage_descriptor_storage_buffers:
            return f"{len(bindings)} storage buffers; the most is {self.max_per_stage_descriptor_storage_buffers}"
        if None in shared or sum(filter(None, shared)) > self.max_compute_shared_memory_size:
            return f"shared memory of {shared} bytes; the most is {self.max_compute_shared_memory_size}"
        return ""


BOUNDS: dict[SmallDevice, Bounds] = {"mobile": Bounds()}
"""The choices of ``restride test --limits``."""


def open_within(
    limits: SmallDevice,
    selector: str | None,
    runtime: str,
    timeout: float,
    source: Callable[[str], bytes],
) -> VulkanRuntime:
    """Open a runtime as ``open_runtime`` does, on a device narrowed to ``limits``.

    Raises:
        DescriptorError: the runtime is not ``vulkan``.
        DeviceNotFound: no loader, no driver, or no such device.
    """
    if runtime != "vulkan":
        raise DescriptorError(f"limits are narrowed on the runtime vulkan, not on {runtime}")
    bounds, index = BOUNDS[limits], choose(list_devices(), selector).index
    narrowed = bounds.narrowed(physical_devices()[index])
    return VulkanRuntime(narrowed, timeout=timeout, module_source=bounds.within(source))
