"""Device: one open GPU (or CPU implementation) and the runtime that drives it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import NoReturn, Self

from restride.errors import DescriptorError
from restride.kernel import KernelSpec, Limits
from restride.runtime import DEFAULT_TIMEOUT, Counters, DeviceInfo, Memory, Runtime, list_devices, open_runtime

MOST_PARAMETER_BYTES = 1 << 20
"""Parameters in flight for one operation. Past it the operation waits for its own first part: an axis of millions."""

Planner = Callable[[Limits], Iterable[KernelSpec]]


class Device:
    """One open device. Tensors live on it; operations on them run on it, in order, and return at once.

    Reading a result waits for it and for what is before it, at most ``timeout`` seconds each. Usable from several
    threads, and as a context manager; a child made by ``fork`` gets ``DeviceLost``.

    Args:
        selector: index in ``rs.devices()`` or part of a device's name; default: the environment variable
            ``RESTRIDE_DEVICE``, else the best of discrete, integrated, virtual and CPU devices.
        runtime: ``"vulkan"`` or ``"kompute"``; default: ``RESTRIDE_RUNTIME``, else ``"vulkan"``.
        timeout: seconds that one operation may take, once those before it are finished.

    Raises:
        DeviceNotFound: no Vulkan loader, no driver, or no such device.
        DescriptorError: an unknown runtime or a time limit that is not positive.
    """

    def __init__(
        self, selector: int | str | None = None, runtime: str | None = None, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise DescriptorError(f"the time limit must be a number of seconds, timeout is {timeout!r}")
        if selector == "":
            raise DescriptorError("a device selector is an index or part of a name, not an empty text")
        self._take(open_runtime(selector, runtime, timeout))

    @classmethod
    def over(cls, runtime: Runtime) -> Self:
        """A device on a runtime that was opened with options of its own, such as a ``module_source``."""
        device = cls.__new__(cls)
        device._take(runtime)  # noqa: SLF001 - the object that is being made
        return device

    def _take(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._closed = False

    @property
    def info(self) -> DeviceInfo:
        """Name, kind, driver and limits."""
        return self.runtime.info

    @property
    def limits(self) -> Limits:
        """What plans for this device respect."""
        return self.runtime.limits

    @property
    def is_closed(self) -> bool:
        """True once ``close`` was called."""
        return self._closed

    def counters(self) -> Counters:
        """Dispatches, pipelines, submissions, barriers, memory and traffic since the device was opened."""
        return self.runtime.counters()

    def wait(self) -> None:
        """Return when every operation so far is finished.

        Raises:
            DeviceTimeout: they outlasted the time limit; the device stays usable.
        """
        self.runtime.wait()

    def close(self) -> None:
        """Wait, then free everything; tensors on the device raise ``DeviceLost`` from then on."""
        self._closed = True
        self.runtime.close()

    def run(self, plan: Planner, memories: Sequence[Memory]) -> None:
        """Start the kernels that ``plan`` makes for this device's limits."""
        batch: list[KernelSpec] = []
        nbytes = 0
        for kernel in plan(self.limits):
            if nbytes and nbytes + len(kernel.parameters) > MOST_PARAMETER_BYTES:
                self.runtime.submit(batch, memories)
                self.runtime.wait()
                batch, nbytes = [], 0
            batch.append(kernel)
            nbytes += len(kernel.parameters)
        if batch:
            self.runtime.submit(batch, memories)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is neither copied nor pickled; open one where it is needed")

    def __repr__(self) -> str:
        info, runtime = self.info, type(self.runtime).__name__.removesuffix("Runtime").lower()
        state = ", closed" if self._closed else ""
        return f"<restride.Device {info.index}: {info.name}, {info.driver} {info.driver_version}, {runtime}{state}>"


def devices() -> list[DeviceInfo]:
    """The Vulkan devices of this machine, in the loader's order.

    Raises:
        DeviceNotFound: no Vulkan loader or no driver; the message says what to install.
    """
    return list_devices()


_default: Device | None = None
_default_lock = threading.Lock()


def default_device() -> Device:
    """The device that operations use when none is named; opened at first use, and again after it was closed.

    Raises:
        DeviceNotFound: as ``Device()``.
    """
    global _default  # noqa: PLW0603 - one lazily opened device a process is what the name promises
    with _default_lock:
        if _default is None or _default.is_closed:
            _default = Device()
        return _default


def _unlock_in_child() -> None:
    # Another thread of the parent may have held it, and does not exist here.
    global _default_lock  # noqa: PLW0603 - as above
    _default_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)
