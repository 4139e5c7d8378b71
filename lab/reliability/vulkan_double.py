"""A Vulkan loader that fails on purpose: it counts the calls of the real functions, and one armed call fails.

    with VulkanDouble() as double:
        device = rs.Device(runtime="vulkan")
        double.arm(3, "VK_ERROR_OUT_OF_HOST_MEMORY")  # the third call from now on
        ...
        double.disarm()

The direct runtime gets every function from two functions of the loader, ``vkGetInstanceProcAddr`` and
``vkGetDeviceProcAddr`` of the loader's library. The double replaces them and hands out CFFI callbacks, so that nothing
in the runtime knows about it. Besides returning error codes, a call may lie: see ``faults_of``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from restride.runtime.instance import instance
from restride.runtime.loader import Handle, binding

LOST = "VK_ERROR_DEVICE_LOST"
_MEMORY = ("VK_ERROR_OUT_OF_HOST_MEMORY", "VK_ERROR_OUT_OF_DEVICE_MEMORY")
_WAIT = (*_MEMORY, LOST)

RESULTS: dict[str, tuple[str, ...]] = {
    "vkEnumerateInstanceExtensionProperties": (*_MEMORY, "VK_ERROR_LAYER_NOT_PRESENT", "VK_INCOMPLETE"),
    "vkCreateInstance": (
        *_MEMORY,
        "VK_ERROR_INITIALIZATION_FAILED",
        "VK_ERROR_LAYER_NOT_PRESENT",
        "VK_ERROR_EXTENSION_NOT_PRESENT",
        "VK_ERROR_INCOMPATIBLE_DRIVER",
    ),
    "vkEnumeratePhysicalDevices": (*_MEMORY, "VK_ERROR_INITIALIZATION_FAILED", "VK_INCOMPLETE"),
    "vkEnumerateDeviceExtensionProperties": (*_MEMORY, "VK_ERROR_LAYER_NOT_PRESENT", "VK_INCOMPLETE"),
    "vkCreateDevice": (
        *_MEMORY,
        "VK_ERROR_INITIALIZATION_FAILED",
        "VK_ERROR_EXTENSION_NOT_PRESENT",
        "VK_ERROR_FEATURE_NOT_PRESENT",
        "VK_ERROR_TOO_MANY_OBJECTS",
        LOST,
    ),
    "vkDeviceWaitIdle": _WAIT,
    "vkQueueSubmit": _WAIT,
    "vkWaitForFences": (*_WAIT, "VK_TIMEOUT"),
    "vkGetFenceStatus": (*_WAIT, "VK_NOT_READY"),
    "vkResetFences": ("VK_ERROR_OUT_OF_DEVICE_MEMORY",),
    "vkCreateFence": _MEMORY,
    "vkAllocateMemory": (*_MEMORY, "VK_ERROR_TOO_MANY_OBJECTS", "VK_ERROR_INVALID_EXTERNAL_HANDLE"),
    "vkMapMemory": (*_MEMORY, "VK_ERROR_MEMORY_MAP_FAILED"),
    "vkBindBufferMemory": _MEMORY,
    "vkGetMemoryHostPointerPropertiesEXT": (_MEMORY[0], "VK_ERROR_INVALID_EXTERNAL_HANDLE"),
    "vkGetMemoryFdKHR": (_MEMORY[0], "VK_ERROR_TOO_MANY_OBJECTS"),
    "vkCreateBuffer": _MEMORY,
    "vkCreateShaderModule": (*_MEMORY, "VK_ERROR_INVALID_SHADER_NV"),
    "vkCreatePipelineCache": _MEMORY,
    "vkGetPipelineCacheData": (*_MEMORY, "VK_INCOMPLETE"),
    "vkCreateComputePipelines": (*_MEMORY, "VK_ERROR_INVALID_SHADER_NV"),
    "vkCreatePipelineLayout": _MEMORY,
    "vkCreateDescriptorSetLayout": _MEMORY,
    "vkCreateDescriptorPool": (*_MEMORY, "VK_ERROR_FRAGMENTATION"),
    "vkAllocateDescriptorSets": (*_MEMORY, "VK_ERROR_FRAGMENTED_POOL", "VK_ERROR_OUT_OF_POOL_MEMORY"),
    "vkCreateCommandPool": _MEMORY,
    "vkAllocateCommandBuffers": _MEMORY,
    "vkBeginCommandBuffer": _MEMORY,
    "vkEndCommandBuffer": _MEMORY,
    "vkCreateQueryPool": _MEMORY,
    "vkGetQueryPoolResults": (*_WAIT, "VK_NOT_READY"),
}
"""Codes other than success that each function may return, by the Vulkan specification; VK_ERROR_UNKNOWN is added."""

_ENUMERATIONS = (
    "vkEnumerateInstanceExtensionProperties",
    "vkEnumeratePhysicalDevices",
    "vkEnumerateDeviceExtensionProperties",
    "vkGetPhysicalDeviceQueueFamilyProperties",
)
RESOLVERS = ("vkGetInstanceProcAddr", "vkGetDeviceProcAddr")
_NULL = (*RESOLVERS, "vkGetDeviceQueue", "vkMapMemory", "vkAllocateMemory", "vkGetMemoryFdKHR")

LIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_ENUMERATIONS, ("none", "fewer", "more", "endless", "VK_INCOMPLETE for ever")),
    "vkGetPhysicalDeviceQueueFamilyProperties": ("none", "fewer", "more", "endless"),
    "vkGetPipelineCacheData": ("none", "fewer", "more", "endless"),
    "vkGetPhysicalDeviceMemoryProperties": ("none",),
    "vkGetBufferMemoryRequirements": ("none", "endless"),
    "vkGetMemoryHostPointerPropertiesEXT": ("none",),
    "vkGetPhysicalDeviceExternalBufferProperties": ("none",),
    "vkQueueSubmit": ("lost, but submitted",),
}
_STICKY = ("VK_TIMEOUT", "VK_NOT_READY", "VK_INCOMPLETE for ever")

_KINDS = {"vkCreateComputePipelines": "Pipeline", "vkAllocateMemory": "Memory", "vkMapMemory": "mapping"}
_CHILDREN = ("CommandBuffers", "DescriptorSets")


def faults_of(name: str) -> tuple[str, ...]:
    """The faults that a call of ``name`` can be armed with: codes of the specification, and lies that drivers tell.

    null: success, but no handle or no function. none: 0 items, heaps, types of memory or features. fewer: success,
    but fewer items than counted before. more: a count of written items that exceeds the room for them.
    endless: 2^32 - 1 items, or 2^60 bytes. Functions that only record or set have no faults, and ``vkDestroy*`` always
    exists.
    """
    codes = (*RESULTS[name], "VK_ERROR_UNKNOWN") if name in RESULTS else ()
    null = ("null",) if name in _NULL or name.startswith(("vkCreate", "vkAllocate")) else ()
    return codes + null + LIES.get(name, ())


def _void(call: Callable[..., Any], *arguments: Any) -> None:
    call(*arguments)


class VulkanDouble:
    """A replacement for the loader's two functions that tracks all calls made through them.

    lazy: a submission counts as finished only once somebody waits for it, as on a busy device; otherwise every one is
        finished when ``vkQueueSubmit`` returns. Either way the order of calls is the same each time.
    calls: names of the calls since ``arm``. fired: the fault that the armed call performed; empty if none yet.
    alive: addresses of objects created and not destroyed, by kind.
    misuses: calls that Vulkan forbids.
    cache_bytes: bytes added to the driver's own pipeline cache data; lavapipe has none.
    """

    def __init__(self, *, lazy: bool = False) -> None:
        self._vulkan = binding()
        self._ffi, self._real = self._vulkan.ffi, self._vulkan.lib
        self._callbacks: list[Handle] = []
        self._pending: list[int] = []
        self._owners: dict[int, tuple[str, int]] = {}
        self._position, self._fault, self._sticky, self._is_lost = 0, "", "", False
        self.lazy = lazy
        self.calls: list[str] = []
        self.fired = ""
        self.alive: dict[str, set[int]] = defaultdict(set)
        self.misuses: list[str] = []
        self.cache_bytes = 0

    def __enter__(self) -> Self:
        self._vulkan.lib = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._vulkan.lib = self._real

    def arm(self, position: int = 0, fault: str = "") -> None:
        """Restart the count of calls at 1; call number ``position`` fails with ``fault``."""
        self._position, self._fault, self._sticky, self.fired = position, fault, "", ""
        self.calls.clear()

    def disarm(self) -> None:
        """Make every call work again, except on a device that was lost."""
        self._position, self._sticky = 0, ""

    @property
    def is_lost(self) -> bool:
        """True if a device was lost and has not been destroyed."""
        return self._is_lost

    def code_of(self, fault: str) -> int:
        """The VkResult with this name."""
        code: int = self._ffi.typeof("VkResult").relements[fault]
        return code

    def leaked(self) -> dict[str, int]:
        """The number of live objects of each kind, the instance excluded."""
        return {kind: len(handles) for kind, handles in self.alive.items() if handles and kind != "Instance"}

    def vkGetInstanceProcAddr(self, instance: Handle, name: bytes) -> Handle:  # noqa: N802 - Vulkan's name
        """As the loader's."""
        return self._resolve("vkGetInstanceProcAddr", instance, name.decode())

    def vkGetDeviceProcAddr(self, device: Handle, name: bytes) -> Handle:  # noqa: N802 - Vulkan's name
        """As the loader's."""
        return self._resolve("vkGetDeviceProcAddr", device, name.decode())

    def _resolve(self, resolver: str, owner: Handle, name: str) -> Handle:
        # vkDestroy* and vkFree* always resolve; otherwise nothing could be destroyed.
        if self._turn(resolver) == "null" and not name.startswith(("vkDestroy", "vkFree")):
            self.fired = "null"
            return self._ffi.NULL
        address = getattr(self._real, resolver)(owner, name.encode())
        if address == self._ffi.NULL:
            return address
        function_type = self._ffi.typeof(f"PFN_{name}")
        call = partial(self._call, name, self._ffi.cast(function_type, address))
        answer = partial(_void, call) if function_type.result.kind == "void" else call
        callback = self._ffi.callback(function_type, answer, onerror=self._failed)
        self._callbacks.append(callback)
        return callback

    def _failed(self, kind: type[BaseException], error: BaseException, _trace: TracebackType) -> None:
        self.misuses.append(f"the double itself failed: {kind.__name__}: {error}")

    def _turn(self, name: str) -> str:
        self.calls.append(name)
        if self._position == len(self.calls):
            # restride caches some answers, so this number may belong to another call than planned. A call that returns
            # nothing, such as vkDestroyBuffer, cannot fail.
            return self._fault if self._fault in faults_of(name) else ""
        return self._fault if self._sticky == name else ""

    def _call(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        fault = self._turn(name)
        if fault:
            lie = getattr(self, f"_lie_{name}", self._lie_of_enumeration if name in _ENUMERATIONS else None)
            if fault.startswith("VK_") and not fault.startswith("VK_INCOMPLETE"):
                self._fire(name, fault)
                self._is_lost = self._is_lost or (fault == LOST and name != "vkCreateDevice")
                return self.code_of(fault)
            if fault == "null":
                # No handle was written, so the caller reads the zero that was there before.
                self._fire(name, fault)
                return 0
            if lie is not None:
                return lie(fault, function, *arguments)
        if self._is_lost and name != "vkCreateDevice" and LOST in RESULTS.get(name, ()):
            if name == "vkDeviceWaitIdle":
                self._act(name, function, arguments)
            return self.code_of(LOST)
        return self._act(name, function, arguments)

    def _fire(self, name: str, fault: str) -> None:
        self.fired = fault
        if fault in _STICKY:
            self._sticky = name

    def _act(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        before = getattr(self, f"_before_{name}", None)
        if before is not None:
            answer = before(function, *arguments)
            if answer is not None:
                return answer
        result = function(*arguments)
        if not result:
            self._note(name, arguments)
        return result

    def call_uncounted(self, name: str, owner: Handle) -> int:
        """Call a function that waits, of a queue or a device, without the double."""
        address = self._real.vkGetInstanceProcAddr(instance().handle, name.encode())
        return int(self._ffi.cast(f"PFN_{name}", address)(owner))

    def _address(self, handle: Handle) -> int:
        return int(self._ffi.cast("uintptr_t", handle))

    # Objects that were created and destroyed.

    def _note(self, name: str, arguments: tuple[Any, ...]) -> None:
        after = getattr(self, f"_after_{name}", None)
        if after is not None:
            after(*arguments)
        if name in _KINDS or name.startswith("vkCreate"):
            kind = _KINDS.get(name) or name.removeprefix("vkCreate")
            # A mapping is known by its memory.
            self._add(kind, self._address(arguments[1] if kind == "mapping" else arguments[-1][0]))
        elif name.startswith("vkDestroy") or name == "vkFreeMemory":
            self._remove(name.removeprefix("vkDestroy").removeprefix("vkFree"), self._address(arguments[-2]))
            if name in ("vkDestroyDevice", "vkDestroyInstance"):
                self._is_lost = False

    def _add(self, kind: str, address: int) -> None:
        self.alive[kind].add(address)

    def _remove(self, kind: str, address: int) -> None:
        if not address:
            return
        if address not in self.alive[kind]:
            self.misuses.append(f"destroys a {kind} that is not alive")
        self.alive[kind].discard(address)
        if kind == "Memory":
            self.alive["mapping"].discard(address)  # vkFreeMemory unmaps the memory
        for child in [child for child, owner in self._owners.items() if owner == (kind, address)]:
            del self._owners[child]
            for group in _CHILDREN:
                self.alive[group].discard(child)

    def _after_vkAllocateCommandBuffers(self, _device: Handle, info: Handle, handles: Handle) -> None:  # noqa: N802
        self._add_children("CommandBuffers", "CommandPool", info.commandPool, handles[0 : info.commandBufferCount])

    def _after_vkAllocateDescriptorSets(self, _device: Handle, info: Handle, handles: Handle) -> None:  # noqa: N802
        self._add_children(
            "DescriptorSets", "DescriptorPool", info.descriptorPool, handles[0 : info.descriptorSetCount]
        )

    def _add_children(self, group: str, kind: str, pool: Handle, handles: Handle) -> None:
        for handle in handles:
            self._add(group, self._address(handle))
            self._owners[self._address(handle)] = (kind, self._address(pool))

    def _after_vkFreeCommandBuffers(self, _device: Handle, _pool: Handle, count: int, handles: Handle) -> None:  # noqa: N802
        for handle in handles[0:count]:
            self._owners.pop(self._address(handle))
            self.alive["CommandBuffers"].remove(self._address(handle))

    # When submissions are finished.

    def _after_vkQueueSubmit(self, queue: Handle, _count: int, _submits: Handle, fence: Handle) -> None:  # noqa: N802
        self._pending.append(self._address(fence))
        if not self.lazy:
            self.call_uncounted("vkQueueWaitIdle", queue)

    def _after_vkWaitForFences(self, _device: Handle, _count: int, fences: Handle, *_rest: Any) -> None:  # noqa: N802
        self._finish(self._address(fences[0]))

    def _before_vkGetFenceStatus(self, _function: Any, _device: Handle, fence: Handle) -> int | None:  # noqa: N802
        is_unseen = self.lazy and self._address(fence) in self._pending
        return self.code_of("VK_NOT_READY") if is_unseen else None

    def _after_vkGetFenceStatus(self, _device: Handle, fence: Handle) -> None:  # noqa: N802
        self._finish(self._address(fence))

    def _after_vkDeviceWaitIdle(self, _device: Handle) -> None:  # noqa: N802
        self._pending.clear()

    def _finish(self, fence: int) -> None:
        """Count a fence as signalled, and the fences of all earlier submissions."""
        if fence in self._pending:
            del self._pending[: self._pending.index(fence) + 1]

    def _before_vkDestroyFence(self, _function: Any, device: Handle, fence: Handle, _allocator: Handle) -> None:  # noqa: N802
        if self._address(fence) in self._pending:
            self.misuses.append("destroys a fence that the device may still signal")
            self.call_uncounted("vkDeviceWaitIdle", device)  # otherwise the driver might crash

    def _before_vkDestroyCommandPool(self, _function: Any, device: Handle, *_arguments: Any) -> None:  # noqa: N802
        if self._pending:
            self.misuses.append("destroys command buffers that the device may still run")
            self.call_uncounted("vkDeviceWaitIdle", device)
            self._pending.clear()

    def _before_vkDestroyDevice(self, _function: Any, device: Handle, _allocator: Handle) -> None:  # noqa: N802
        children = {kind: len(handles) for kind, handles in self.alive.items() if kind not in ("Device", "Instance")}
        if any(children.values()):
            self.misuses.append(f"destroys a device before {children}")
        self.call_uncounted("vkDeviceWaitIdle", device)

    # A pipeline cache with something in it.

    def _before_vkCreatePipelineCache(  # noqa: N802
        self, function: Callable[..., int], device: Handle, info: Handle, allocator: Handle, handle: Handle
    ) -> int | None:
        if not self.cache_bytes or not info.initialDataSize:
            return None
        # These bytes are not the driver's own, so it does not get them.
        size, info.initialDataSize = info.initialDataSize, 0
        result = function(device, info, allocator, handle)
        info.initialDataSize = size
        if not result:
            self._note("vkCreatePipelineCache", (device, info, allocator, handle))
        return result

    def _before_vkGetPipelineCacheData(  # noqa: N802
        self, function: Callable[..., int], device: Handle, cache: Handle, size: Handle, data: Handle
    ) -> int | None:
        if not self.cache_bytes:
            return None
        room = size[0]
        result = function(device, cache, size, self._ffi.NULL)
        if data != self._ffi.NULL and not result:
            if room < size[0] + self.cache_bytes:
                size[0] = 0
                return self.code_of("VK_INCOMPLETE")
            result = function(device, cache, size, data)
            self._ffi.memmove(self._ffi.cast("char *", data) + size[0], b"\7" * self.cache_bytes, self.cache_bytes)
        size[0] += self.cache_bytes
        return result

    # Lies.

    def _lie_of_enumeration(self, fault: str, function: Callable[..., Any], *arguments: Any) -> Any:
        count, values = arguments[-2:]
        is_counted = values == self._ffi.NULL
        if fault == "none":
            count[0] = 0
        elif fault == "endless" and is_counted:
            count[0] = 0xFFFFFFFF
        elif fault == "more" and not is_counted:
            function(*arguments)
            count[0] += 7
        elif fault in ("fewer", "VK_INCOMPLETE", "VK_INCOMPLETE for ever") and (not is_counted or self._sticky):
            if not is_counted:
                count[0] = max(count[0] - 1, 0)
            function(*arguments)
            self._fire(self.calls[-1], fault)
            return 0 if fault == "fewer" or is_counted else self.code_of("VK_INCOMPLETE")
        else:
            return self._act(self.calls[-1], function, arguments)
        self._fire(self.calls[-1], fault)
        return 0

    def _lie_vkGetPipelineCacheData(  # noqa: N802
        self, fault: str, function: Callable[..., int], device: Handle, cache: Handle, size: Handle, data: Handle
    ) -> int:
        is_counted = data == self._ffi.NULL
        result = self._act("vkGetPipelineCacheData", function, (device, cache, size, data))
        if fault == "none" or (fault == "VK_INCOMPLETE" and not is_counted):
            size[0] = 0
        elif fault == "endless" and is_counted:
            size[0] = 1 << 60
        elif fault == "fewer" and not is_counted:
            size[0] //= 2
        elif fault == "more" and not is_counted:
            size[0] += 1 << 20
        else:
            return int(result)
        self._fire("vkGetPipelineCacheData", fault)
        return self.code_of(fault) if fault == "VK_INCOMPLETE" else 0

    def _lie_vkGetPhysicalDeviceMemoryProperties(  # noqa: N802
        self, fault: str, function: Callable[..., None], device: Handle, memory: Handle
    ) -> None:
        function(device, memory)
        memory.memoryHeapCount = memory.memoryTypeCount = 0
        self._fire("vkGetPhysicalDeviceMemoryProperties", fault)

    def _lie_vkGetBufferMemoryRequirements(  # noqa: N802
        self, fault: str, function: Callable[..., None], device: Handle, buffer: Handle, needs: Handle
    ) -> None:
        function(device, buffer, needs)
        if fault == "none":
            needs.memoryTypeBits = 0
        else:
            needs.size = 1 << 60
        self._fire("vkGetBufferMemoryRequirements", fault)

    def _lie_vkGetMemoryHostPointerPropertiesEXT(  # noqa: N802
        self, fault: str, function: Callable[..., int], *arguments: Any
    ) -> int:
        result = function(*arguments)
        arguments[-1].memoryTypeBits = 0
        self._fire("vkGetMemoryHostPointerPropertiesEXT", fault)
        return result

    def _lie_vkGetPhysicalDeviceExternalBufferProperties(  # noqa: N802
        self, fault: str, function: Callable[..., None], *arguments: Any
    ) -> None:
        function(*arguments)
        arguments[-1].externalMemoryProperties.externalMemoryFeatures = 0
        self._fire("vkGetPhysicalDeviceExternalBufferProperties", fault)

    def _lie_vkQueueSubmit(self, fault: str, function: Callable[..., int], *arguments: Any) -> int:  # noqa: N802
        self._act("vkQueueSubmit", function, arguments)
        self._is_lost = True
        self._fire("vkQueueSubmit", fault)
        return self.code_of(LOST)
