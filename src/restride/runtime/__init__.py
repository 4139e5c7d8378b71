"""Open a runtime on a device: by the argument, else the environment, else the best device; never a silent fallback."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import get_args

from restride.arguments import integer
from restride.errors import DescriptorError, DeviceNotFound
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
from restride.runtime.modules import load_module

__all__ = [
    "DEFAULT_TIMEOUT",
    "RUNTIMES",
    "Counters",
    "DeviceInfo",
    "ExternalMemory",
    "Memory",
    "Runtime",
    "RuntimeName",
    "choose",
    "choose_runtime",
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
) -> Runtime:
    """Open a device.

    selector: index, or part of the name; default: ``RESTRIDE_DEVICE``, then the best device.
    runtime: "vulkan" or "kompute"; default: ``RESTRIDE_RUNTIME``, then "vulkan".
    timeout: seconds that one operation may take, once those before it are finished.
    module_source: where SPIR-V comes from, by name; default: the modules that the wheel ships, hashes checked.
    memory_limit: bytes that the device may take; None: what its heap has.

    Raises:
        DescriptorError: an unknown runtime, or a limit that is not positive.
        DeviceNotFound: no loader, no driver, or no such device.
    """
    name = choose_runtime(runtime)
    if not timeout > 0:
        raise DescriptorError(f"timeout must be positive, got {timeout!r}")
    if memory_limit is not None and memory_limit < 1:
        raise DescriptorError(f"memory_limit must be 1 byte or more, or None; got {memory_limit!r}")
    device = choose(list_devices(), selector)
    # Imported here: each needs a package or a loader that the rest of restride works without.
    if name == "kompute":
        from restride.runtime.kompute.runtime import KomputeRuntime

        return KomputeRuntime(device, timeout=timeout, module_source=module_source, memory_limit=memory_limit)
    from restride.runtime.vulkan.runtime import VulkanRuntime

    return VulkanRuntime(device, timeout=timeout, module_source=module_source, memory_limit=memory_limit)


def choose_runtime(runtime: str | None = None) -> RuntimeName:
    """``runtime``, else what ``RESTRIDE_RUNTIME`` names, else the default.

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

    Where several match, or none is named: the best of discrete, integrated, virtual, CPU; the first among equals. One
    without memory, such as a driver's that only compiles, comes last.

    Raises:
        DeviceNotFound: none matches; the message lists those present.
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
"""What an index has fewer of."""


def _matches(device: DeviceInfo, selector: int | str) -> bool:
    if isinstance(selector, int):
        return device.index == selector
    text = selector.strip()
    is_index = text.isdecimal() and len(text) < _DIGITS
    return device.index == int(text) if is_index else text.casefold() in device.name.casefold()
