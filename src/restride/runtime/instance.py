"""The one Vulkan instance of the process, and the physical devices it shows."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from restride.errors import DescriptorError, DeviceError, DeviceLost, DeviceNotFound, UnsupportedError
from restride.kernel import Choices, Limits
from restride.runtime.choices_file import read_choices
from restride.runtime.handles import HOST_IMPORT, DeviceHandles
from restride.runtime.interface import DeviceInfo
from restride.runtime.loader import (
    INSTALL_LOADER,
    Functions,
    Handle,
    array,
    binding,
    loader_file,
    require_handle,
    struct,
)
from restride.runtime.manifests import no_device, no_driver, require_harmless

API_VERSION = (1 << 22) | (1 << 12)
"""Vulkan 1.1, which is all that restride requires."""

_KINDS = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
_PORTABILITY = "VK_KHR_portability_enumeration"
_MEMORY_BUDGET = "VK_EXT_memory_budget"
"""The extension that reports how much of a heap is free; it need not be enabled on a device."""

_MAX_RANGE = (1 << 32) - 4

_MAX_LISTED = 1 << 14
"""Maximum length of a list that a driver reports, at up to 260 bytes an entry; today's drivers list a few hundred."""

_MAX_TRIES = 16
"""How often a driver may report a list as incomplete, because it grew meanwhile, before that is an error."""


@dataclass(frozen=True)
class MemoryType:
    """One kind of memory: Vulkan's property flags, and the heap it comes from."""

    flags: int
    heap: int


@dataclass(frozen=True)
class PhysicalDevice:
    """A device with the facts that the Vulkan runtime needs. Sizes are bytes.

    family: number of the queue family for compute; -1 if there is none.
    timestamp_bits, timestamp_period: valid bits of its timestamps, 0 if it has none, and nanoseconds a tick.
    max_group_size: most invocations of a work group that has them all along x.
    max_allocations: most driver allocations alive at one time.
    max_allocation_bytes: the largest buffer that the driver may be asked for.
    promised_allocation_bytes: the largest allocation that can succeed, according to the driver.
    import_alignment: imported host memory must begin and end at multiples of this; 0 if none can be imported.
    driver_uuid: 32 hexadecimal digits, equal for builds of the driver that understand each other's exported memory.
    pipeline_cache_id: vendor, device, driver and the driver's own 16 bytes; if equal, compiled pipelines can be reused.
    vk: the functions of its instance.
    """

    handle: Handle
    info: DeviceInfo
    supports_1_1: bool
    family: int
    timestamp_bits: int
    timestamp_period: float
    extensions: frozenset[str]
    memory_types: tuple[MemoryType, ...]
    heap_sizes: tuple[int, ...]
    max_group_size: int
    max_allocations: int
    max_allocation_bytes: int
    promised_allocation_bytes: int
    import_alignment: int
    driver_uuid: str
    pipeline_cache_id: str
    vk: Functions = field(compare=False, repr=False)

    def heap_left(self, heap: int) -> int | None:
        """Bytes of a heap that the driver leaves to this process now; None if it does not report this.

        The driver's budget takes other processes into account, and is an estimate that may be exceeded.
        """
        if not self.supports_1_1 or _MEMORY_BUDGET not in self.extensions:
            return None
        return _heaps_left(self.vk, self.handle)[heap]

    def require_usable(self) -> None:
        """Raise UnsupportedError if the device lacks Vulkan 1.1, memory, or a queue for compute."""
        name = self.info.name
        if not self.supports_1_1:
            raise UnsupportedError(f"{name} implements Vulkan {self.info.api_version}; restride needs 1.1")
        if not self.heap_sizes or not self.memory_types:
            raise UnsupportedError(f"{name} reports no memory, as drivers do that compile shaders and run none")
        if self.family < 0:
            raise UnsupportedError(f"{name} has no queue family for compute")


def functions_before_instance() -> Functions:
    """The functions that can be called before an instance exists: those that the loader has for a null instance.

    Raises:
        DeviceNotFound: there is no loader, it is older than Vulkan 1.1, or it may crash on a manifest. This error is
            also raised later, at the first use of a function that the loader lacks.
    """
    vulkan = binding()
    require_harmless()

    def resolve(name: bytes) -> Handle:
        address = vulkan.lib.vkGetInstanceProcAddr(vulkan.ffi.NULL, name)
        if address == vulkan.ffi.NULL:
            lacks = f"the Vulkan loader {loader_file()} has no function {name.decode()}, which loaders since 1.1 have"
            raise DeviceNotFound(f"{lacks}; {INSTALL_LOADER}")
        return address

    resolve(b"vkEnumerateInstanceVersion")
    return Functions(resolve)


def loader_version() -> str:
    """The version of Vulkan that the loader implements, such as ``1.3.239``."""
    version = binding().ffi.new("uint32_t *")
    with _starting():
        functions_before_instance().vkEnumerateInstanceVersion(version)
    return _version_text(version[0])


def layer_names() -> set[str]:
    """The layers that the loader finds."""
    with _starting():
        listed = _enumerate_all(functions_before_instance().vkEnumerateInstanceLayerProperties, "VkLayerProperties")
    return {binding().ffi.string(layer.layerName).decode(errors="replace") for layer in listed}


@contextmanager
def _starting() -> Iterator[None]:
    """Turn a failure inside, before there is a device, into ``DeviceNotFound`` with advice."""
    try:
        yield
    except DeviceNotFound:
        raise
    except DeviceError as error:
        raise no_driver(f"{error}: no Vulkan 1.1 driver on this machine starts") from error


class Instance:
    """The VkInstance and its functions."""

    def __init__(self) -> None:
        vulkan = binding()
        ffi, lib = vulkan.ffi, vulkan.lib
        start = functions_before_instance()
        with _starting():
            names = _extension_names(start.vkEnumerateInstanceExtensionProperties)
        # Without this extension the loader hides MoltenVK.
        enabled = [ffi.new("char[]", _PORTABILITY.encode())] if _PORTABILITY in names else []
        application = struct("VkApplicationInfo", apiVersion=API_VERSION)
        pointers = array("char *", enabled)
        create = struct(
            "VkInstanceCreateInfo",
            flags=vulkan.VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR if enabled else 0,
            pApplicationInfo=application,
            enabledExtensionCount=len(enabled),
            ppEnabledExtensionNames=pointers,
        )
        handle = ffi.new("VkInstance *")
        with _starting():
            start.vkCreateInstance(create, ffi.NULL, handle)
            self.handle: Handle = require_handle("vkCreateInstance", handle[0])
        self.vk = Functions(lambda name: lib.vkGetInstanceProcAddr(self.handle, name))

    def destroy(self) -> None:
        self.vk.vkDestroyInstance(self.handle, binding().ffi.NULL)


_lock = threading.Lock()
_instance: Instance | None = None
_used = False  # this process has called Vulkan, through this instance or one of the caller's
_inherited = False


SPAWN = (
    "drivers do not survive fork: start the process with multiprocessing's 'spawn' method, workers of torch's "
    'DataLoader with multiprocessing_context="spawn", and open the device there'
)
"""Advice for an error: what to do instead of a fork with an open device."""


def instance() -> Instance:
    """The instance, created at the first call.

    Raises:
        DeviceNotFound: no loader or no driver.
        DeviceLost: this process is a fork of one that already used Vulkan.
    """
    global _instance, _used  # noqa: PLW0603 - one instance a process, made at first use
    _require_not_inherited()
    with _lock:
        if _instance is None:
            _instance = Instance()
            _used = True
            atexit.register(_destroy_instance)
        return _instance


def _require_not_inherited() -> None:
    if _inherited:
        raise DeviceLost(f"this process was forked from one that had already opened Vulkan, and {SPAWN}")


def _destroy_instance() -> None:
    global _instance  # noqa: PLW0603
    if _instance is not None and not _inherited and not open_devices:
        _instance.destroy()
        _instance = None


def _after_fork_in_child() -> None:
    global _inherited, _lock  # noqa: PLW0603
    # The lock is held if another thread of the parent was inside at the fork, perhaps creating the instance.
    _inherited = _inherited or _used or _lock.locked()
    _lock = threading.Lock()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork_in_child)

open_devices: set[int] = set()
"""Addresses of the VkDevices that still exist; the instance is not destroyed before them."""


def list_devices() -> list[DeviceInfo]:
    """Every physical device, in the driver's order.

    Raises:
        DeviceNotFound: no loader or no driver.
    """
    return [device.info for device in physical_devices()]


def physical_devices() -> list[PhysicalDevice]:
    """Every physical device, in the driver's order, with the facts that the Vulkan runtime needs."""
    vk, owner = instance().vk, instance().handle
    with _starting():
        try:
            handles = _enumerate_all(vk.vkEnumeratePhysicalDevices, "VkPhysicalDevice", owner)
        except DeviceError as error:
            if "VK_ERROR_INITIALIZATION_FAILED" not in str(error):
                raise
            handles = ()  # also the answer of loaders whose drivers have no device
        if len(handles) == 0:  # an array of cffi is true even if it is empty
            raise no_device()
    return [_describe(vk, index, handle) for index, handle in enumerate(handles)]


def find_physical(devices: Sequence[PhysicalDevice], device: DeviceInfo | int) -> PhysicalDevice:
    """The device among ``devices`` that has this index, or that ``device`` describes.

    Raises:
        DeviceNotFound: there is none; it may be gone.
    """
    if isinstance(device, int):
        wanted, found = str(device), [each for each in devices if each.info.index == device]
    else:
        wanted = _named(device)
        found = [each for each in devices if _named(each.info) == wanted]
    if found:
        return found[0]
    present = "; ".join(_named(each.info) for each in devices)
    raise DeviceNotFound(f"device {wanted} is not there, or no longer; present are {present}")


def _named(info: DeviceInfo) -> str:
    """The text that distinguishes a device, also from others of the same name."""
    return f"{info.index}: {info.name}, {info.uuid}"


def _enumerate_all(function: Callable[..., int | None], type_name: str, *arguments: Handle) -> Sequence[Handle]:
    """Every value that a Vulkan function lists; its last two arguments point to the number of values and to the values.

    Raises:
        DeviceError: the list is too long, or stays incomplete.
    """
    vulkan = binding()
    count = vulkan.ffi.new("uint32_t *")
    for _ in range(_MAX_TRIES):
        function(*arguments, count, vulkan.ffi.NULL)
        if count[0] > _MAX_LISTED:
            raise DeviceError(f"the driver lists {count[0]} {type_name}, more than the {_MAX_LISTED} that are accepted")
        values: Sequence[Handle] = array(type_name, count[0])
        if function(*arguments, count, values) != vulkan.VK_INCOMPLETE:
            return values[0 : count[0]] if count[0] < len(values) else values
    raise DeviceError(f"the driver's list of {type_name} was incomplete {_MAX_TRIES} times in a row")


def _heaps_left(vk: Functions, handle: Handle) -> list[int]:
    """Bytes that the driver leaves to this process of each heap of a device with ``_MEMORY_BUDGET``."""
    budgets = struct("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
    memory = struct("VkPhysicalDeviceMemoryProperties2", pNext=budgets)
    vk.vkGetPhysicalDeviceMemoryProperties2(handle, memory)
    count = memory.memoryProperties.memoryHeapCount
    return [max(0, budgets.heapBudget[heap] - budgets.heapUsage[heap]) for heap in range(count)]


def physical_of(handles: DeviceHandles) -> PhysicalDevice:
    """The physical device of a VkDevice of the caller's, as the caller's instance shows it, with the queue's family.

    Raises:
        DescriptorError: the instance has no such device, or the device no such family of queues.
        UnsupportedError: the family cannot compute.
        DeviceLost: this process is a fork of one that already used Vulkan.
    """
    global _used  # noqa: PLW0603 - read after a fork, whoever made the instance
    _require_not_inherited()
    vulkan = binding()
    _used = True
    owner = vulkan.ffi.cast("VkInstance", handles.instance)
    vk = Functions(lambda name: vulkan.lib.vkGetInstanceProcAddr(owner, name))
    for handle in _enumerate_all(vk.vkEnumeratePhysicalDevices, "VkPhysicalDevice", owner):
        if int(vulkan.ffi.cast("uintptr_t", handle)) == handles.physical_device:
            return _describe(vk, -1, handle, handles.queue_family)
    raise DescriptorError(f"the instance has no physical device {handles.physical_device:#x}")


def _describe(vk: Functions, index: int, handle: Handle, family: int | None = None) -> PhysicalDevice:
    """Describe a device. family: number of the queue family that is used; None: the best one for compute."""
    vulkan = binding()
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
        chained = [identity, sizes]
        if version >= API_VERSION + (1 << 12) or "VK_KHR_driver_properties" in extensions:
            chained.append(driver)
        if version >= API_VERSION + (2 << 12) or "VK_KHR_maintenance4" in extensions:
            chained.append(largest_buffer)
        if HOST_IMPORT in extensions:
            chained.append(imports)
        for extra in chained:
            extra.pNext, chain = chain, ffi.cast("void *", extra)
        vk.vkGetPhysicalDeviceProperties2(handle, struct("VkPhysicalDeviceProperties2", pNext=chain))
    memory = ffi.new("VkPhysicalDeviceMemoryProperties *")
    vk.vkGetPhysicalDeviceMemoryProperties(handle, memory)
    heaps = [memory.memoryHeaps[i] for i in range(memory.memoryHeapCount)]
    local = [number for number, heap in enumerate(heaps) if heap.flags & vulkan.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT]
    largest = max(local or range(len(heaps)), key=lambda number: heaps[number].size, default=None)
    says_what_is_left = supports_1_1 and _MEMORY_BUDGET in extensions
    kind = _KINDS.get(base.deviceType, "other")
    families = _enumerate_all(vk.vkGetPhysicalDeviceQueueFamilyProperties, "VkQueueFamilyProperties", handle)
    if family is None:
        family = _compute_family(families)
    else:
        _require_compute(families, family)
    numbers = (base.vendorID, base.deviceID, base.driverVersion)
    pipeline_cache_id = "-".join((*(f"{number:08x}" for number in numbers), bytes(base.pipelineCacheUUID).hex()))
    choices = read_choices(pipeline_cache_id)
    driver_version = ffi.string(driver.driverInfo).decode(errors="replace") or _version_text(base.driverVersion)
    info = DeviceInfo(
        index=index,
        name=ffi.string(base.deviceName).decode(errors="replace"),
        kind=kind,
        vendor_id=base.vendorID,
        device_id=base.deviceID,
        driver=ffi.string(driver.driverName).decode(errors="replace") or f"vendor {base.vendorID:#06x}",
        driver_version=driver_version,
        api_version=_version_text(version),
        uuid=bytes(identity.deviceUUID).hex(),
        heap_bytes=0 if largest is None else heaps[largest].size,
        limits=_limits(base.limits, choices or Choices.usual(kind, driver_version, base.vendorID)),
        is_tuned=choices is not None,
        heap_left=None if largest is None or not says_what_is_left else _heaps_left(vk, handle)[largest],
    )
    types = [memory.memoryTypes[i] for i in range(memory.memoryTypeCount)]
    return PhysicalDevice(
        handle=handle,
        info=info,
        supports_1_1=supports_1_1,
        family=family,
        timestamp_bits=families[family].timestampValidBits if family >= 0 else 0,
        timestamp_period=base.limits.timestampPeriod,
        extensions=frozenset(extensions),
        memory_types=tuple(MemoryType(entry.propertyFlags, entry.heapIndex) for entry in types),
        heap_sizes=tuple(heap.size for heap in heaps),
        max_group_size=min(base.limits.maxComputeWorkGroupInvocations, base.limits.maxComputeWorkGroupSize[0]),
        max_allocations=base.limits.maxMemoryAllocationCount,
        # A buffer must not exceed maxBufferSize. An allocation may exceed maxMemoryAllocationSize: NVIDIA's driver
        # reports 4 GiB, but allocates 5 GiB of an H100 at once. 0: the driver does not say.
        max_allocation_bytes=largest_buffer.maxBufferSize or sizes.maxMemoryAllocationSize or 1 << 62,
        promised_allocation_bytes=sizes.maxMemoryAllocationSize or 1 << 62,
        import_alignment=imports.minImportedHostPointerAlignment,
        driver_uuid=bytes(identity.driverUUID).hex(),
        pipeline_cache_id=pipeline_cache_id,
        vk=vk,
    )


def _limits(raw: Handle, choices: Choices) -> Limits:
    return Limits(
        max_buffer_range=min(raw.maxStorageBufferRange, _MAX_RANGE) & ~3,
        offset_alignment=max(4, raw.minStorageBufferOffsetAlignment),
        max_group_count=(
            raw.maxComputeWorkGroupCount[0],
            raw.maxComputeWorkGroupCount[1],
            raw.maxComputeWorkGroupCount[2],
        ),
        choices=choices,
    )


def _compute_family(families: Sequence[Handle]) -> int:
    """The number of the queue family for compute, preferably one that cannot draw; -1 if there is none."""
    vulkan = binding()
    able = [
        (bool(family.queueFlags & vulkan.VK_QUEUE_GRAPHICS_BIT), number)
        for number, family in enumerate(families)
        if family.queueFlags & vulkan.VK_QUEUE_COMPUTE_BIT
    ]
    return min(able)[1] if able else -1


def _require_compute(families: Sequence[Handle], family: int) -> None:
    if family >= len(families):
        raise DescriptorError(f"queue_family {family} is not there: the device has families 0 to {len(families) - 1}")
    if not families[family].queueFlags & binding().VK_QUEUE_COMPUTE_BIT:
        raise UnsupportedError(f"queue_family {family} has no VK_QUEUE_COMPUTE_BIT, which restride needs")


def _extension_names(function: Callable[..., int], *owner: Handle) -> set[str]:
    ffi = binding().ffi
    listed = _enumerate_all(function, "VkExtensionProperties", *owner, ffi.NULL)
    return {ffi.string(extension.extensionName).decode() for extension in listed}


def _version_text(version: int) -> str:
    return f"{version >> 22 & 0x7F}.{version >> 12 & 0x3FF}.{version & 0xFFF}"
