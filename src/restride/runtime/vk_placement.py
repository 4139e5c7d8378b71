"""Where memory goes: in place where the host sees all of the device's memory, else local to the device plus staging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from restride.errors import UnsupportedError
from restride.runtime.instance import PhysicalDevice
from restride.runtime.loader import package


@dataclass(frozen=True)
class Placement:
    """Memory types: ``device`` for tensors, ``host`` for parameters and staging; equal when the host works in place."""

    device: int
    host: int
    staging: bool


def place(physical: PhysicalDevice, *, staging: bool | None) -> Placement:
    """Choose memory types; ``staging`` None: staging on discrete, virtual and unknown devices.

    Raises:
        UnsupportedError: the driver offers no usable type (Vulkan promises one).
    """
    vulkan = package()
    local = vulkan.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
    visible = vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    cached = vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    if staging is None:
        staging = physical.info.kind not in ("cpu", "integrated")
    # The host reads results: uncached memory reads many times slower, wherever it lies.
    host = _best(physical, visible, lambda flags: (bool(flags & cached), staging != bool(flags & local)))
    # Plain device memory before the part of it that the host may see, which can be a small heap.
    device = _best(physical, local, lambda flags: (not flags & visible,)) if staging else host
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


def _best(physical: PhysicalDevice, required: int, rank: Callable[[int], tuple[bool, ...]], allowed: int = ~0) -> int:
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
