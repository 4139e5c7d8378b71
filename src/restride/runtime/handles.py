"""A VkDevice of the caller's: its handles, checked, and what it must have for restride to run on it."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, _GeneratorContextManager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from restride.arguments import integer
from restride.errors import DescriptorError, shown

FD_SHARING = "VK_KHR_external_memory_fd"
"""The device extension that shares device memory between programs, by file descriptors."""

HOST_IMPORT = "VK_EXT_external_memory_host"
"""The device extension that imports pages of host memory as device memory."""

_MAX_HANDLE = 1 << 64

_locks: dict[int, AbstractContextManager[Any]] = {}
"""By the address of a queue: the lock of all devices that were opened on this queue without a lock of the caller's.

It stays here for devices that are opened later. The thread that holds it may enter it again: while the thread submits
to one device, the garbage collector may close another.
"""


@dataclass(frozen=True)
class DeviceHandles:
    """A VkDevice of the caller's with one queue: addresses as integers, and the lock around what is submitted to it."""

    instance: int
    physical_device: int
    device: int
    queue: int
    queue_family: int
    lock: AbstractContextManager[Any]


@dataclass(frozen=True)
class DeviceRequirements:
    """What a VkDevice must have, and may have, for ``rs.Device(device=...)``; all names are Vulkan's.

    api_version: the oldest Vulkan version that the instance may ask for and that the device may have.
    queue_flags: what the queue's family must have.
    features, extensions: what the device must have enabled.
    optional_extensions: what it may have enabled, each with what works only then.
    """

    api_version: str = "1.1"
    queue_flags: tuple[str, ...] = ("VK_QUEUE_COMPUTE_BIT",)
    features: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    optional_extensions: tuple[tuple[str, str], ...] = (
        (FD_SHARING, "rs.empty(desc, shareable=True), tensor.export(), rs.import_memory"),
        (HOST_IMPORT, "rs.asarray(x, copy=False)"),
    )


def device_requirements() -> DeviceRequirements:
    """What a VkDevice of yours must have for ``rs.Device(instance=, physical_device=, device=, ...)``, and may have.

    >>> needed = rs.device_requirements()
    >>> needed.api_version, needed.queue_flags, needed.features, needed.extensions
    ('1.1', ('VK_QUEUE_COMPUTE_BIT',), (), ())
    >>> [name for name, _ in needed.optional_extensions]
    ['VK_KHR_external_memory_fd', 'VK_EXT_external_memory_host']
    """
    return DeviceRequirements()


def device_handles(
    instance: int | None,
    physical_device: int | None,
    device: int | None,
    queue: int | None,
    queue_family: int | None,
    lock: AbstractContextManager[Any] | None,
) -> DeviceHandles | None:
    """The arguments of ``rs.Device`` as handles; None if none is given.

    If ``lock`` is None, they get the lock that all devices share which were opened on this queue without one.

    Raises:
        DescriptorError: some are missing, null, no handles or the same, or ``lock`` cannot be entered again and again.
    """
    given = {
        "instance": instance, "physical_device": physical_device, "device": device, "queue": queue,
        "queue_family": queue_family,
    }  # fmt: skip
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        if lock is not None:
            raise DescriptorError("lock is of the queue of a VkDevice of yours, and no VkDevice is given")
        return None
    if missing:
        raise DescriptorError(
            f"a VkDevice of yours needs all of {', '.join(given)}; missing: {missing}. rs.Device(selector) chooses a "
            "device by number or name"
        )
    numbers = {name: integer(name, value) for name, value in given.items()}
    for name, value in numbers.items():
        if not (name != "queue_family") <= value < _MAX_HANDLE:
            raise DescriptorError(f"{name} must be {_what(name)}, got {value}")
    handles = [(name, value) for name, value in numbers.items() if name != "queue_family"]
    for (name, value), (other, same) in combinations(handles, 2):
        if value == same:
            raise DescriptorError(f"{name} and {other} are both {value:#x}, but two handles have two addresses")
    if lock is not None:
        _require_lock(lock)
    return DeviceHandles(
        **numbers, lock=_locks.setdefault(numbers["queue"], threading.RLock()) if lock is None else lock
    )


def _require_lock(lock: object) -> None:
    # ``with`` looks for both methods in the type.
    if not (hasattr(type(lock), "__enter__") and hasattr(type(lock), "__exit__")):
        raise DescriptorError(f"lock must be a context manager, such as threading.Lock(), got {shown(lock)}")
    if isinstance(lock, _GeneratorContextManager):
        raise DescriptorError(
            "lock must be a context manager that can be entered again and again, such as threading.Lock(); that of a "
            "function with @contextmanager can be entered once"
        )


def _what(name: str) -> str:
    return "the number of a queue family" if name == "queue_family" else "the address of a handle, as an integer"
