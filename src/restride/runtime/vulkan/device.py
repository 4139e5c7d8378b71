"""One open VkDevice, restride's or the caller's: its functions, its queue, and whether it is still alive."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from restride.errors import DeviceLost
from restride.runtime.handles import FD_SHARING, HOST_IMPORT, DeviceHandles
from restride.runtime.instance import SPAWN, PhysicalDevice, open_devices
from restride.runtime.live_objects import LiveObjects
from restride.runtime.loader import Functions, Handle, array, require_handle, struct
from restride.runtime.vulkan import generated as vulkan

_EXTENSIONS = ("VK_KHR_portability_subset", HOST_IMPORT, FD_SHARING)
"""Extensions that are enabled on devices that have them; Vulkan requires this for the first one, MoltenVK's."""

_FUNCTION_OF = {FD_SHARING: b"vkGetMemoryFdKHR", HOST_IMPORT: b"vkGetMemoryHostPointerPropertiesEXT"}
"""A function that a device has only if the extension is enabled on it, which Vulkan does not tell otherwise."""


class LogicalDevice:
    """A VkDevice without any optional feature, and its one compute queue.

    is_own: it was created here, and is destroyed here; else it is the caller's.
    lock: held around what is submitted to the queue.
    dead: why the device can no longer be used; empty while it can.
    inherited: this process got it through fork, so the driver must not be called at all.
    shares_memory: other processes use some of its buffers, or may.
    freed: how often a buffer, a pipeline or a prepared submission was freed: older commands may refer to it.
    """

    def __init__(self, physical: PhysicalDevice, handles: DeviceHandles | None = None) -> None:
        """Open the device. handles: of a VkDevice of the caller's, which is used instead of a new one.

        Raises:
            UnsupportedError: the device lacks Vulkan 1.1, memory, or a queue for compute.
        """
        physical.require_usable()
        self.is_own = handles is None
        self.lock: AbstractContextManager[Any] = threading.Lock() if handles is None else handles.lock
        self.shares_memory = False
        self.freed = 0
        self.dead = ""
        self.inherited = False
        self.null = vulkan.ffi.NULL
        lib: Any = vulkan.lib
        self.handle: Handle = (
            self._created(physical) if handles is None else vulkan.ffi.cast("VkDevice", handles.device)
        )
        self._address = int(vulkan.ffi.cast("uintptr_t", self.handle))
        open_devices.add(self._address)
        self.vk = Functions(lambda name: lib.vkGetDeviceProcAddr(self.handle, name), self._lost)
        try:
            if handles is None:
                queue = vulkan.ffi.new("VkQueue *")
                self.vk.vkGetDeviceQueue(self.handle, physical.family, 0, queue)
                self.queue: Handle = require_handle("vkGetDeviceQueue", queue[0])
            else:
                self.queue = vulkan.ffi.cast("VkQueue", handles.queue)
                physical = self._as_enabled(physical)
        except BaseException:
            self.destroy()
            raise
        self.physical = physical
        _open.add(self)

    def _created(self, physical: PhysicalDevice) -> Handle:
        queue = struct(
            "VkDeviceQueueCreateInfo",
            queueFamilyIndex=physical.family,
            queueCount=1,
            pQueuePriorities=array("float", [1.0]),
        )
        names = [array("char", name.encode()) for name in _EXTENSIONS if name in physical.extensions]
        extensions = array("char *", names)
        create = struct(
            "VkDeviceCreateInfo",
            queueCreateInfoCount=1,
            pQueueCreateInfos=queue,
            enabledExtensionCount=len(names),
            ppEnabledExtensionNames=extensions,
        )
        handle = vulkan.ffi.new("VkDevice *")
        physical.vk.vkCreateDevice(physical.handle, create, self.null, handle)
        return require_handle("vkCreateDevice", handle[0])

    def _as_enabled(self, physical: PhysicalDevice) -> PhysicalDevice:
        """The physical device with only those extensions that the caller has enabled on the VkDevice."""
        lib: Any = vulkan.lib
        off = {name for name, of in _FUNCTION_OF.items() if lib.vkGetDeviceProcAddr(self.handle, of) == self.null}
        return replace(
            physical,
            extensions=physical.extensions - off,
            import_alignment=0 if HOST_IMPORT in off else physical.import_alignment,
        )

    def require_alive(self) -> None:
        """Raise ``DeviceLost`` if the device is lost, closed or inherited."""
        if self.dead:
            raise DeviceLost(self.dead)

    def _lost(self) -> None:
        self.dead = self.dead or f"{self.physical.info.name} was lost (VK_ERROR_DEVICE_LOST); make a new Device"

    def create(self, name: str, **fields: Any) -> Handle:
        """Create a ``VkNAME`` by calling ``vkCreateNAME`` with a ``VkNAMECreateInfo`` of ``fields``."""
        handle, info = vulkan.ffi.new(f"Vk{name} *"), struct(f"Vk{name}CreateInfo", **fields)
        call = f"vkCreate{name}"
        getattr(self.vk, call)(self.handle, info, self.null, handle)
        return require_handle(call, handle[0])

    def allocate_memory(self, **fields: Any) -> Handle:
        """Allocate a ``VkDeviceMemory`` with a ``VkMemoryAllocateInfo`` of ``fields``."""
        handle = vulkan.ffi.new("VkDeviceMemory *")
        self.vk.vkAllocateMemory(self.handle, struct("VkMemoryAllocateInfo", **fields), self.null, handle)
        return require_handle("vkAllocateMemory", handle[0])

    def destroy(self) -> None:
        """Destroy the VkDevice, if it was created here; everything created on it must be destroyed already."""
        if self.is_own:
            self.vk.vkDestroyDevice(self.handle, self.null)
        open_devices.discard(self._address)


_open: LiveObjects[LogicalDevice] = LiveObjects()


def _after_fork_in_child() -> None:
    for device in _open:
        device.inherited = True
        device.dead = f"{device.physical.info.name} was opened by the parent process, and {SPAWN}"
    open_devices.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork_in_child)
