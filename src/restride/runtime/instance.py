"""The one Vulkan instance of the process, and the physical devices it shows."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from dataclasses import dataclass
from typing import Any

from restride.errors import DeviceError, DeviceLost, DeviceNotFound
from restride.kernel import Choices, Limits
from restride.runtime.choices_file import read_choices
from restride.runtime.interface import DeviceInfo
from restride.runtime.loader import INCOMPLETE, Functions, Handle, array, how_to_get_a_driver, package, struct

API_VERSION = (1 << 22) | (1 << 12)
"""Vulkan 1.1, all that restride asks for."""

_KINDS = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
_PORTABILITY = "VK_KHR_portability_enumeration"
HOST_IMPORT = "VK_EXT_external_memory_host"
"""The device extension that makes device memory of pages of the host."""

_LARGEST_RANGE = (1 << 32) - 4


@dataclass(frozen=True)
class MemoryType:
    """One kind of memory: Vulkan's property flags, and the heap it comes from."""

    flags: int
    heap: int


@dataclass(frozen=True)
class PhysicalDevice:
    """A device and what the direct runtime needs to know of it. Sizes are bytes.

    family: the queue family for compute; -1 when there is none.
    max_allocations: driver allocations alive at one time.
    max_allocation_bytes: the largest single allocation and buffer.
    import_alignment: what an import of host memory begins and ends at a multiple of; 0: there is none.
    pipeline_cache_id: equal where compiled pipelines are: vendor, device, driver and the driver's own 16 bytes.
    """

    handle: Handle
    info: DeviceInfo
    supports_1_1: bool
    family: int
    extensions: frozenset[str]
    memory_types: tuple[MemoryType, ...]
    heap_sizes: tuple[int, ...]
    max_allocations: int
    max_allocation_bytes: int
    import_alignment: int
    pipeline_cache_id: str


class Instance:
    """The VkInstance and its functions."""

    def __init__(self) -> None:
        vulkan = package()
        self.ffi, lib = vulkan.ffi, vulkan.lib
        # Null instance: the functions that exist before there is one.
        start = Functions(lambda name: lib.vkGetInstanceProcAddr(self.ffi.NULL, name))
        names = _extension_names(start.vkEnumerateInstanceExtensionProperties, self.ffi.NULL)
        # Without this extension the loader hides MoltenVK.
        enabled = [self.ffi.new("char[]", _PORTABILITY.encode())] if _PORTABILITY in names else []
        application = struct("VkApplicationInfo", apiVersion=API_VERSION)
        pointers = array("char *", enabled)
        create = struct(
            "VkInstanceCreateInfo",
            flags=vulkan.VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR if enabled else 0,
            pApplicationInfo=application,
            enabledExtensionCount=len(enabled),
            ppEnabledExtensionNames=pointers,
        )
        made = self.ffi.new("VkInstance *")
        start.vkCreateInstance(create, self.ffi.NULL, made)
        self.handle: Handle = made[0]
        self.vk = Functions(lambda name: lib.vkGetInstanceProcAddr(self.handle, name))

    def destroy(self) -> None:
        self.vk.vkDestroyInstance(self.handle, self.ffi.NULL)


_lock = threading.Lock()
_instance: Instance | None = None
_inherited = False


def instance() -> Instance:
    """The instance, made at the first call.

    Raises:
        DeviceNotFound: no loader or no driver.
        DeviceLost: this process is a fork of one that already used Vulkan.
    """
    global _instance  # noqa: PLW0603 - one instance a process, made at first use
    if _inherited:
        raise DeviceLost(
            "this process was forked from one that had already opened Vulkan, whose drivers do not survive fork; "
            "start it with multiprocessing's 'spawn' method, or open the first device after the fork"
        )
    with _lock:
        if _instance is None:
            _instance = Instance()
            atexit.register(_destroy_instance)
        return _instance


def _destroy_instance() -> None:
    global _instance  # noqa: PLW0603
    if _instance is not None and not _inherited and not open_devices:
        _instance.destroy()
        _instance = None


def _after_fork_in_child() -> None:
    global _inherited, _lock  # noqa: PLW0603
    # Held: another thread of the parent is inside, and perhaps in the middle of making the instance.
    _inherited = _inherited or _instance is not None or _lock.locked()
    _lock = threading.Lock()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork_in_child)

open_devices: set[int] = set()
"""Addresses of the VkDevices that still exist: an instance must outlive them."""


def list_devices() -> list[DeviceInfo]:
    """Every physical device, in the driver's order.

    Raises:
        DeviceNotFound: no loader or no driver.
    """
    return [device.info for device in physical_devices()]


def physical_devices() -> list[PhysicalDevice]:
    """Every physical device with what the direct runtime needs to know of it."""
    vk, owner = instance().vk, instance().handle
    ffi = package().ffi
    count = ffi.new("uint32_t *")
    try:
        vk.vkEnumeratePhysicalDevices(owner, count, ffi.NULL)
    except DeviceError as error:
        raise DeviceNotFound(f"{error}: no Vulkan driver on this machine starts; {how_to_get_a_driver()}") from error
    handles = array("VkPhysicalDevice", count[0])
    while count[0] and vk.vkEnumeratePhysicalDevices(owner, count, handles) == INCOMPLETE:
        vk.vkEnumeratePhysicalDevices(owner, count, ffi.NULL)
        handles = array("VkPhysicalDevice", count[0])
    if not count[0]:
        raise DeviceNotFound(f"the Vulkan loader finds no device; {how_to_get_a_driver()}")
    return [_describe(vk, index, handles[index]) for index in range(count[0])]


def _describe(vk: Functions, index: int, handle: Handle) -> PhysicalDevice:
    vulkan = package()
    ffi = vulkan.ffi
    base = ffi.new("VkPhysicalDeviceProperties *")
    vk.vkGetPhysicalDeviceProperties(handle, base)
    extensions = _extension_names(vk.vkEnumerateDeviceExtensionProperties, handle)
    version = base.apiVersion
    supports_1_1 = version >= API_VERSION
    identity, sizes = struct("VkPhysicalDeviceIDProperties"), struct("VkPhysicalDeviceMaintenance3Properties")
    driver = struct("VkPhysicalDeviceDriverProperties")
    largest_buffer = struct("VkPhysicalDeviceMaintenance4Properties")
    imports = struct("VkPhysicalDeviceExternalMemoryHostPropertiesEXT")
    chain = ffi.NULL
    if supports_1_1:
        wanted = [identity, sizes]
        if version >= API_VERSION + (1 << 12) or "VK_KHR_driver_properties" in extensions:
            wanted.append(driver)
        if version >= API_VERSION + (2 << 12) or "VK_KHR_maintenance4" in extensions:
            wanted.append(largest_buffer)
        if HOST_IMPORT in extensions:
            wanted.append(imports)
        for extra in wanted:
            extra.pNext, chain = chain, ffi.cast("void *", extra)
        vk.vkGetPhysicalDeviceProperties2(handle, struct("VkPhysicalDeviceProperties2", pNext=chain))
    memory = ffi.new("VkPhysicalDeviceMemoryProperties *")
    vk.vkGetPhysicalDeviceMemoryProperties(handle, memory)
    heaps = [memory.memoryHeaps[i] for i in range(memory.memoryHeapCount)]
    local = [heap.size for heap in heaps if heap.flags & vulkan.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT]
    kind = _KINDS.get(base.deviceType, "other")
    numbers = (base.vendorID, base.deviceID, base.driverVersion)
    identity_of_pipelines = "-".join((*(f"{number:08x}" for number in numbers), bytes(base.pipelineCacheUUID).hex()))
    choices = read_choices(identity_of_pipelines)
    info = DeviceInfo(
        index=index,
        name=ffi.string(base.deviceName).decode(errors="replace"),
        kind=kind,
        vendor_id=base.vendorID,
        device_id=base.deviceID,
        driver=ffi.string(driver.driverName).decode(errors="replace") or f"vendor {base.vendorID:#06x}",
        driver_version=ffi.string(driver.driverInfo).decode(errors="replace") or _version_text(base.driverVersion),
        api_version=_version_text(version),
        uuid=bytes(identity.deviceUUID).hex(),
        heap_bytes=max(local or [heap.size for heap in heaps]),
        limits=_limits(base.limits, choices or Choices.usual(kind)),
        is_tuned=choices is not None,
    )
    # 0: the driver does not say.
    largest = [size for size in (sizes.maxMemoryAllocationSize, largest_buffer.maxBufferSize) if size]
    types = [memory.memoryTypes[i] for i in range(memory.memoryTypeCount)]
    return PhysicalDevice(
        handle=handle,
        info=info,
        supports_1_1=supports_1_1,
        family=_compute_family(vk, handle),
        extensions=frozenset(extensions),
        memory_types=tuple(MemoryType(entry.propertyFlags, entry.heapIndex) for entry in types),
        heap_sizes=tuple(heap.size for heap in heaps),
        max_allocations=base.limits.maxMemoryAllocationCount,
        max_allocation_bytes=min(largest, default=1 << 62),
        import_alignment=imports.minImportedHostPointerAlignment,
        pipeline_cache_id=identity_of_pipelines,
    )


def _limits(raw: Handle, choices: Choices) -> Limits:
    return Limits(
        max_buffer_range=min(raw.maxStorageBufferRange, _LARGEST_RANGE) & ~3,
        offset_alignment=max(4, raw.minStorageBufferOffsetAlignment),
        max_group_count=(
            raw.maxComputeWorkGroupCount[0],
            raw.maxComputeWorkGroupCount[1],
            raw.maxComputeWorkGroupCount[2],
        ),
        choices=choices,
    )


def _compute_family(vk: Functions, handle: Handle) -> int:
    """The queue family for compute: one for compute alone before one that also draws; -1: none."""
    vulkan = package()
    count = vulkan.ffi.new("uint32_t *")
    vk.vkGetPhysicalDeviceQueueFamilyProperties(handle, count, vulkan.ffi.NULL)
    families = array("VkQueueFamilyProperties", count[0])
    vk.vkGetPhysicalDeviceQueueFamilyProperties(handle, count, families)
    able = [
        (bool(families[i].queueFlags & vulkan.VK_QUEUE_GRAPHICS_BIT), i)
        for i in range(count[0])
        if families[i].queueFlags & vulkan.VK_QUEUE_COMPUTE_BIT
    ]
    return min(able)[1] if able else -1


def _extension_names(enumerate_properties: Any, owner: Handle) -> set[str]:
    ffi = package().ffi
    count = ffi.new("uint32_t *")
    leading = (owner, ffi.NULL) if owner != ffi.NULL else (ffi.NULL,)
    enumerate_properties(*leading, count, ffi.NULL)
    found = array("VkExtensionProperties", count[0])
    enumerate_properties(*leading, count, found)
    return {ffi.string(found[i].extensionName).decode() for i in range(count[0])}


def _version_text(version: int) -> str:
    return f"{version >> 22 & 0x7F}.{version >> 12 & 0x3FF}.{version & 0xFFF}"
