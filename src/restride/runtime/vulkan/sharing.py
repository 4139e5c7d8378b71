"""Device memory that programs share by file descriptors: whether the driver can, and the calls that export and import.

Each export is one dedicated allocation of one buffer, which every driver that shares buffers allows. An import
names the sizes and the memory type of the export, and its buffer is created in the same way, as Vulkan demands. Memory
of other programs may also be a part of an allocation that is not dedicated.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from restride.errors import DescriptorError, DeviceError, DeviceLost, OutOfDeviceMemory, UnsupportedError
from restride.runtime.handles import FD_SHARING
from restride.runtime.interface import MEMORY_ROUNDING, ExternalMemory
from restride.runtime.loader import Handle, struct
from restride.runtime.open_file import OpenFile
from restride.runtime.vulkan import generated as vulkan
from restride.runtime.vulkan.device import LogicalDevice


def _kind() -> int:
    kind: int = vulkan.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
    return kind


_MAX_BYTES = 1 << 63
"""No allocation has so many bytes."""


def _features(device: LogicalDevice, usage: int) -> int:
    """What the driver can do with file descriptors of buffers of this usage: bits of VkExternalMemoryFeatureFlags."""
    wish = struct("VkPhysicalDeviceExternalBufferInfo", usage=usage, handleType=_kind())
    able = struct("VkExternalBufferProperties")
    device.physical.vk.vkGetPhysicalDeviceExternalBufferProperties(device.physical.handle, wish, able)
    return int(able.externalMemoryProperties.externalMemoryFeatures)


def require_sharing(device: LogicalDevice, usage: int) -> None:
    """Raise UnsupportedError unless the driver exports and imports buffers of this usage."""
    physical = device.physical
    if os.name == "nt":
        raise UnsupportedError(
            f"{physical.info.name} shares no memory between processes: drivers of Windows have no file descriptors for "
            "it, but handles, which have other rules"
        )
    if FD_SHARING not in physical.extensions:
        lacks = "it has no" if device.is_own else "your VkDevice was created without"
        raise UnsupportedError(f"{physical.info.name} shares no memory between processes: {lacks} {FD_SHARING}")
    both = vulkan.VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | vulkan.VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT
    features = _features(device, usage)
    if features & both != both:
        raise UnsupportedError(
            f"{physical.info.name} shares no storage buffers between processes: their features are {features:#x}, not "
            f"{both:#x}"
        )


def external_buffer() -> Handle:
    """The pNext chain of the VkBufferCreateInfo of a buffer for shared memory."""
    return struct("VkExternalMemoryBufferCreateInfo", handleTypes=_kind())


def exportable(buffer: Handle) -> Handle:
    """The pNext chain of the VkMemoryAllocateInfo of memory that is exported later."""
    return struct("VkExportMemoryAllocateInfo", handleTypes=_kind(), pNext=_dedicated(buffer))


def export_fd(device: LogicalDevice, memory: Handle) -> OpenFile:
    """A new file descriptor; programs that this process starts do not inherit it."""
    file = OpenFile()
    place = vulkan.ffi.from_buffer("int[]", file.place)
    request = struct("VkMemoryGetFdInfoKHR", memory=memory, handleType=_kind())
    try:
        device.vk.vkGetMemoryFdKHR(device.handle, request, place)
    except DeviceError:
        file.place[0] = -1  # undefined after an error: it may be the number of another file
        raise
    if file.fd < 0:
        raise DeviceError(f"vkGetMemoryFdKHR succeeded, but the driver gave the file descriptor {file.fd}")
    os.set_inheritable(file.fd, False)
    return file


def require_import(device: LogicalDevice, usage: int, external: ExternalMemory) -> None:
    """Refuse memory that cannot have been exported for buffers of this usage on this device.

    Raises:
        UnsupportedError: the memory is of another device or driver, or not of whole ``uvec4``, or the driver imports
            dedicated allocations only.
        DescriptorError: the sizes are impossible.
    """
    info = device.physical.info
    own, other = (info.uuid, device.physical.driver_uuid), (external.device_uuid, external.driver_uuid)
    if own != other:
        raise UnsupportedError(
            f"memory of device {other[0]} and driver {other[1]} cannot be imported by {info.name}, of device {own[0]} "
            f"and driver {own[1]}: processes share memory of one device through one driver"
        )
    nbytes, offset, whole = external.nbytes, external.offset, external.allocation_bytes
    most = device.physical.max_allocation_bytes
    if not (0 < nbytes <= most and offset >= 0 and offset + nbytes <= whole < _MAX_BYTES):
        raise DescriptorError(
            f"the fields say {nbytes} bytes at byte {offset} of an allocation of {whole}: they must lie inside it, and "
            f"a buffer of {info.name} has 1 to {most}"
        )
    if nbytes % MEMORY_ROUNDING:
        raise UnsupportedError(
            f"nbytes {nbytes} is no multiple of {MEMORY_ROUNDING}, and kernels read and write so many bytes at a time: "
            "make the buffer larger"
        )
    only = vulkan.VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT
    if not external.dedicated and _features(device, usage) & only:
        raise UnsupportedError(f"{info.name} shares dedicated allocations only, and the fields say dedicated=False")


def import_fd(device: LogicalDevice, buffer: Handle, needs: Handle, fd: int, external: ExternalMemory) -> Handle:
    """The memory that ``fd`` stands for, allocated for ``buffer``, whose requirements are ``needs``.

    Raises:
        DescriptorError: ``fd`` does not stand for such memory. In that case the drivers of NVIDIA and llvmpipe also
            return VK_ERROR_OUT_OF_DEVICE_MEMORY, although an import allocates nothing.
    """
    name, nbytes, kind = device.physical.info.name, external.allocation_bytes, external.memory_type
    if external.dedicated:
        fits = needs.size == nbytes and external.offset == 0
    else:
        fits = external.offset + needs.size <= nbytes and external.offset % needs.alignment == 0
    if not (fits and 0 <= kind < len(device.physical.memory_types) and needs.memoryTypeBits >> kind & 1):
        raise DescriptorError(
            f"the fields say {nbytes} bytes of memory type {kind}, {'dedicated' if external.dedicated else 'shared'}, "
            f"used from byte {external.offset}; for a buffer of {external.nbytes} bytes {name} allocates {needs.size}, "
            f"at multiples of {needs.alignment}, of the types {needs.memoryTypeBits:#x}"
        )
    try:
        own = os.dup(fd)  # a duplicate, because the driver takes ownership of the descriptor
    except (OSError, OverflowError) as error:  # OverflowError: no C int
        raise DescriptorError(f"fd {fd} is not an open file descriptor") from error
    try:
        try:
            _require_memory(own, nbytes)
            chain = _dedicated(buffer) if external.dedicated else device.null
            source = struct("VkImportMemoryFdInfoKHR", handleType=_kind(), fd=own, pNext=chain)
        except BaseException:  # an interrupt too: the driver does not own the duplicate yet
            os.close(own)
            own = -1
            raise
        return device.allocate_memory(pNext=source, allocationSize=nbytes, memoryTypeIndex=kind)
    except (DescriptorError, DeviceError) as error:
        # After a failed import Vulkan leaves the descriptor with us. llvmpipe closes it, so its number may be reused.
        with suppress(OSError):
            if os.path.sameopenfile(own, fd):
                os.close(own)
        if isinstance(error, DeviceLost):
            raise
        also = ", or the descriptor is of something else" if isinstance(error, OutOfDeviceMemory) else ""
        refused = f"{name} does not import fd {fd} as {nbytes} bytes of its memory"
        raise DescriptorError(f"{refused}: {error}{also}") from error


def _require_memory(fd: int, nbytes: int) -> None:
    """Refuse a descriptor that would do harm if a driver took it for memory.

    llvmpipe reads from the descriptor, which never ends on a pipe, and maps it; a file that is too short then kills the
    process.
    """
    status = os.fstat(fd)
    mode = status.st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISDIR(mode) or os.isatty(fd):
        raise DescriptorError("it is a pipe, a socket, a folder or a terminal")
    if stat.S_ISREG(mode) and status.st_size < nbytes:
        raise DescriptorError(f"it is a file of {status.st_size} bytes")


def _dedicated(buffer: Handle) -> Handle:
    return struct("VkMemoryDedicatedAllocateInfo", buffer=buffer)
