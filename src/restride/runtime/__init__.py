"""Open a runtime on a device: by the argument, else the environment, else the best device; never a silent fallback."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from restride.arguments import integer
from restride.errors import DescriptorError, DeviceNotFound, UnsupportedError
from restride.kernel.modules import load_module
from restride.runtime.handles import DeviceHandles, DeviceRequirements, device_handles, device_requirements
from restride.runtime.instance import list_devices
from restride.runtime.interface import (
    DEFAULT_TIMEOUT,
    Counters,
    DeviceInfo,
    ExternalMemory,
    Memory,
    Runtime,
    RuntimeName,
)

if TYPE_CHECKING:
    from restride.runtime.kompute.runtime import KomputeRuntime

__all__ = [
    "DEFAULT_TIMEOUT",
    "RUNTIMES",
    "Counters",
    "DeviceHandles",
    "DeviceInfo",
    "DeviceRequirements",
    "ExternalMemory",
    "Memory",
    "Runtime",
    "RuntimeName",
    "choose",
    "choose_runtime",
    "device_handles",
    "device_requirements",
    "export_kp_tensor",
    "import_kp_tensor",
    "is_kp_tensor",
    "list_devices",
    "open_runtime",
]

RUNTIMES: tuple[RuntimeName, ...] = get_args(RuntimeName)
"""Every known runtime, the default one first."""

DEVICE_VARIABLE = "RESTRIDE_DEVICE"
RUNTIME_VARIABLE = "RESTRIDE_RUNTIME"

_BEST_FIRST = ("discrete", "integrated", "virtual", "cpu", "other")


def open_runtime(
    selector: int | str | None = None,
    runtime: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    module_source: Callable[[str], bytes] = load_module,
    memory_limit: int | None = None,
    manager: Any = None,
    handles: DeviceHandles | None = None,
) -> Runtime:
    """Open a device.

    selector: index, or part of the name; default: ``RESTRIDE_DEVICE``, then the best device.
    runtime: "vulkan" or "kompute"; default: ``RESTRIDE_RUNTIME``, then "vulkan".
    timeout: seconds that one operation may take, once those before it are finished.
    module_source: where SPIR-V comes from, by name; default: the modules that the wheel ships, hashes checked.
    memory_limit: bytes that may be allocated on the device; None: the size of its heap.
    manager: a ``kp.Manager`` of the user's to run on, which determines device and runtime.
    handles: of a VkDevice of the user's to run on, which determines the device; the runtime is "vulkan".

    Raises:
        DescriptorError: an unknown runtime, a limit that is not positive, a manager on another device or runtime, or
            handles that do not belong together, or that come with a selector, a manager or another runtime.
        DeviceNotFound: no loader, no driver, or no such device.
    """
    if handles is not None:
        beside = {"selector": selector, "manager": manager, "runtime": None if runtime == "vulkan" else runtime}
        if said := [argument for argument, value in beside.items() if value is not None]:
            raise DescriptorError(f"a VkDevice of yours determines device and runtime: leave out {', '.join(said)}")
        runtime = "vulkan"
    name = choose_runtime("kompute" if manager is not None and runtime is None else runtime)
    if manager is not None and name != "kompute":
        raise DescriptorError(
            f"manager is a kp.Manager, and runtime {name!r} does not use kp: leave runtime out, or say 'kompute'"
        )
    if not timeout > 0:
        raise DescriptorError(f"timeout must be positive, got {timeout!r}")
    if memory_limit is not None and memory_limit < 1:
        raise DescriptorError(f"memory_limit must be 1 byte or more, or None; got {memory_limit!r}")
    # Imported only here, because each runtime needs a package or a loader that the rest of restride works without.
    if manager is not None:
        from restride.runtime.kompute.device import device_of

        devices = list_devices()
        device = device_of(manager, devices, None if selector is None else choose(devices, selector))
    elif handles is None:
        device = choose(list_devices(), selector)
    if name == "kompute":
        from restride.runtime.kompute.runtime import KomputeRuntime

        return KomputeRuntime(
            device, timeout=timeout, module_source=module_source, memory_limit=memory_limit, manager=manager
        )
    from restride.runtime.vulkan.runtime import VulkanRuntime

    if handles is not None:
        return VulkanRuntime(handles=handles, timeout=timeout, module_source=module_source, memory_limit=memory_limit)
    return VulkanRuntime(device, timeout=timeout, module_source=module_source, memory_limit=memory_limit)


def is_kp_tensor(value: object) -> bool:
    """True if ``value`` is a ``kp.Tensor``; does not import kp."""
    return type(value).__module__ == "kp" and type(value).__name__ == "Tensor"


def import_kp_tensor(runtime: Runtime, tensor: Any) -> Memory:
    """The bytes of a ``kp.Tensor`` as memory of the device that was opened over the same ``kp.Manager``.

    Raises:
        UnsupportedError: the device is not on a manager of the user's, or kp does not let the tensor's memory be
            shared.
        DescriptorError: the tensor was destroyed.
    """
    return _over_manager(runtime, "a kp tensor lies on its kp.Manager").import_tensor(tensor)


def export_kp_tensor(runtime: Runtime, memory: Memory) -> Any:
    """The ``kp.Tensor`` that holds the bytes of ``memory``.

    Raises:
        UnsupportedError: the device is not on a manager of the user's.
    """
    rule = f"a memory of {memory.nbytes:,} bytes lies in a kp tensor only on a kp.Manager"
    return _over_manager(runtime, rule).export_tensor(memory)


def _over_manager(runtime: Runtime, rule: str) -> KomputeRuntime:
    """The runtime, if it was opened over a manager of the user's. rule: why it must be, for the error message."""
    from restride.runtime.kompute.runtime import KomputeRuntime

    if not isinstance(runtime, KomputeRuntime) or runtime.has_own_manager:
        raise UnsupportedError(f"{rule}, and {runtime.info.name} was opened without one: use rs.Device(manager=...)")
    return runtime


def choose_runtime(runtime: str | None = None) -> RuntimeName:
    """The runtime named by ``runtime``, else by ``RESTRIDE_RUNTIME``, else the default.

    Raises:
        DescriptorError: there is no such runtime.
    """
    name = runtime if runtime is not None else os.environ.get(RUNTIME_VARIABLE) or RUNTIMES[0]
    for known in RUNTIMES:
        if name == known:
            return known
    raise DescriptorError(f"unknown runtime {name!r}; known runtimes are {', '.join(RUNTIMES)}")


def choose(devices: Sequence[DeviceInfo], selector: int | str | None = None) -> DeviceInfo:
    """The device that ``selector`` (else ``RESTRIDE_DEVICE``) names: by its index, or by part of its name in any case.

    If several match, or no name is given: the best of discrete, integrated, virtual, CPU and other, the first of equal
    ones. Devices without memory, of drivers that only compile, come last.

    Raises:
        DeviceNotFound: no device matches; the message lists those present.
    """
    source = "the device selector"
    if selector is None and os.environ.get(DEVICE_VARIABLE):
        selector, source = os.environ[DEVICE_VARIABLE], DEVICE_VARIABLE
    if selector is not None and (isinstance(selector, bool) or not isinstance(selector, int | str)):
        raise DescriptorError(f"a device selector is an index or part of a name, got {selector!r}")
    if isinstance(selector, int):
        selector = integer("a device selector", selector)
    matching = [device for device in devices if selector is None or _matches(device, selector)]
    if not matching:
        present = "; ".join(f"{device.index}: {device.name} ({device.kind})" for device in devices) or "none"
        raise DeviceNotFound(f"no device matches {source} {selector!r}; present are {present}")
    return min(matching, key=lambda device: (not device.heap_bytes, _BEST_FIRST.index(device.kind)))


_DIGITS = 10
"""A selector of this many digits or more is part of a name, not an index."""


def _matches(device: DeviceInfo, selector: int | str) -> bool:
    if isinstance(selector, int):
        return device.index == selector
    text = selector.strip()
    is_index = text.isdecimal() and len(text) < _DIGITS
    return device.index == int(text) if is_index else text.casefold() in device.name.casefold()
