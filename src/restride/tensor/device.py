"""Device: one open GPU (or CPU implementation) and the runtime that drives it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from types import TracebackType
from typing import Any, NoReturn, Self

from restride.arguments import as_bytes, check_keywords, flag
from restride.errors import DescriptorError, OutOfDeviceMemory, UnsupportedError, changed, message_of, shown
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.steps import RESULT, SOURCE, Between, Step, Steps
from restride.runtime import (
    DEFAULT_TIMEOUT,
    Counters,
    DeviceInfo,
    Memory,
    Runtime,
    RuntimeName,
    device_handles,
    list_devices,
    open_runtime,
)
from restride.runtime.host_memory import HOST_MEMORY
from restride.runtime.live_objects import LiveObjects

MAX_PARAMETER_BYTES = 1 << 20
"""An operation has at most this many bytes of parameters in flight; with more it waits between its dispatches."""


class Device:
    """One open device. It holds tensors and runs operations on them, in order; starting an operation returns at once.

    Reading a result waits for its operation and all before it, at most ``timeout`` seconds each. Usable from several
    threads, and as a context manager; in a child made by ``fork`` it raises ``DeviceLost``.

    Args:
        selector: index in ``rs.devices()`` or part of a device's name; default: the environment variable
            ``RESTRIDE_DEVICE``, else the best of discrete, integrated, virtual and CPU devices.
        runtime: ``"vulkan"`` or ``"kompute"``; default: ``RESTRIDE_RUNTIME``, else ``"vulkan"``.
        timeout: seconds that one operation may take, once those before it are finished.
        memory_limit: most bytes of memory that the device may take, memory kept for reuse included, or a text such as
            "512MiB" or "2 GB"; default: the size of its heap. Pages of the host imported by ``asarray(copy=False)``,
            memory of other programs (``rs.import_memory``) and pipelines do not count.
        manager: a ``kp.Manager`` to run on, with the runtime ``"kompute"``: tensors share memory with kp's both ways.
            Closing the device leaves the manager open; environment variables are ignored.
        instance: a ``VkInstance`` of yours, as an integer. With the next four it says a VkDevice of yours to run on:
            restride creates none and destroys nothing of yours, and environment variables are ignored. Close the
            device, and drop arrays from ``numpy(copy=False)``, before you destroy yours.
            ``rs.device_requirements()`` says what it must have.
        physical_device: the ``VkPhysicalDevice``, from that instance.
        device: the ``VkDevice``, created on it through the same loader.
        queue: the ``VkQueue``, of that device.
        queue_family: the number of the queue's family, which must compute.
        lock: a context manager, such as ``threading.Lock()``, that restride enters around each use of the queue, each
            time anew. Your program must enter it around its own uses, and meanwhile neither call restride, nor wait for
            a thread that does, nor drop an open device. ``timeout`` does not count the wait for the lock. None: only
            restride uses the queue.

    Example:
        >>> with rs.Device(timeout=10) as device:
        ...     rs.asarray(np.eye(2, dtype=np.uint8), device=device).numpy()
        array([[1, 0],
               [0, 1]], dtype=uint8)
        >>> with rs.Device(memory_limit=1 << 20) as device:
        ...     try:
        ...         rs.empty("f32[1024,1024]", device)
        ...     except rs.OutOfDeviceMemory as error:
        ...         "4194304 bytes: 0 of its memory_limit of 1048576 bytes are in use" in str(error)
        True

    Raises:
        DeviceNotFound: no Vulkan loader, no driver, or no such device.
        DescriptorError: an unknown runtime, a limit that is not positive, a ``manager`` that is none or is on another
            device, handles of which one is missing, null, equal to another or not of the instance, or a ``lock``
            that is none. Whether the number of a device or queue is that of one cannot be checked.
        UnsupportedError: the runtime is ``"kompute"`` and the package ``kp`` is not installed, or your device or queue
            lacks what ``rs.device_requirements()`` asks for.
    """

    _closed = False
    _number = 1
    _plans_made = _plans_kept = 0

    @check_keywords
    def __init__(
        self,
        selector: int | str | None = None,
        runtime: RuntimeName | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        memory_limit: str | float | None = None,
        manager: Any = None,
        *,
        instance: int | None = None,
        physical_device: int | None = None,
        device: int | None = None,
        queue: int | None = None,
        queue_family: int | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise DescriptorError(f"timeout must be a number of seconds, got {timeout!r}")
        if selector == "":
            raise DescriptorError("a device selector is an index or part of a name, got an empty text")
        if memory_limit is not None:
            memory_limit = as_bytes("memory_limit", memory_limit)
        handles = device_handles(instance, physical_device, device, queue, queue_family, lock)
        self.runtime = open_runtime(
            selector, runtime, timeout, memory_limit=memory_limit, manager=manager, handles=handles
        )
        self._number = next(_numbers.setdefault(self.info.uuid, count(1)))
        if manager is not None:
            _over_managers.add(self)

    @classmethod
    def over(cls, runtime: Runtime) -> Self:
        """Create a device on a runtime that is already open, such as one with its own ``module_source``."""
        device = cls.__new__(cls)
        device.runtime = runtime
        return device

    @property
    def info(self) -> DeviceInfo:
        """Name, kind, driver and limits."""
        return self.runtime.info

    @property
    def limits(self) -> Limits:
        """The limits that plans for this device must respect."""
        return self.runtime.limits

    @property
    def is_closed(self) -> bool:
        """True once ``close`` was called."""
        return self._closed

    def counters(self) -> Counters:
        """Dispatches, pipelines, submissions, barriers, memory, traffic and plans since the device was opened.

        >>> with rs.Device() as device:
        ...     for columns in (4, 6, 4):
        ...         _ = rs.resample(rs.empty("f32[8,8]", device), (4, columns))
        ...     device.counters().plans_made, device.counters().plans_kept
        (2, 1)
        """
        return replace(self.runtime.counters(), plans_made=self._plans_made, plans_kept=self._plans_kept)

    def count_plan(self, *, is_kept: bool) -> None:
        """Count an operation whose plan was found in the cache, or else made."""
        with _counting:
            if is_kept:
                self._plans_kept += 1
            else:
                self._plans_made += 1

    def wait(self) -> None:
        """Return when every operation so far is finished.

        Raises:
            DeviceTimeout: one outlasted the time limit; the device stays usable.
        """
        self.runtime.wait()

    def batch(self) -> AbstractContextManager[None]:
        """A context in which operations are recorded and handed to the device many at a time, so that each costs less.

        Their order and results stay the same. Reading a result inside hands over what is recorded so far. The runtime
        kompute runs each operation at once.

        A batch belongs to the device, not to a thread: operations that other threads start meanwhile are recorded with
        it. The recording is handed over when any thread reads or waits, and when the last open batch ends. A driver
        error is raised in that thread, and concerns everything recorded, other threads' operations too.

        >>> x = rs.asarray(np.arange(3, dtype=np.int32))
        >>> with rs.default_device().batch():
        ...     y, z = rs.reorder(x[::-1], "A->A"), rs.reorder(x, "A->A")
        >>> y.numpy(), z.numpy()
        (array([2, 1, 0], dtype=int32), array([0, 1, 2], dtype=int32))
        """
        return self.runtime.batch()

    def trim(self) -> int:
        """Give the driver back everything that is kept only for reuse and that no pending work uses; return the bytes.

        That is memory of freed tensors, staging buffers, prepared submissions with their parameters, and pipelines,
        which count as no bytes; later operations create them again. Does not wait; after ``wait()`` it frees more.
        The process's memory of large results of ``numpy()`` that were dropped is freed too, and does not count.

        >>> with rs.Device() as device:
        ...     x = rs.asarray(np.zeros((1024, 1024), np.float32), device=device)
        ...     del x
        ...     device.trim() >= 1024 * 1024 * 4, device.counters().bytes_allocated
        (True, 0)
        """
        HOST_MEMORY.trim()
        return self.runtime.trim()

    def close(self) -> None:
        """Wait, then free everything; tensors on the device raise ``DeviceLost`` from then on.

        Memory under an array from ``tensor.numpy(copy=False)`` is freed with the last such array.
        """
        self._closed = True
        self.runtime.close()

    def allocate(self, desc: TensorDesc, nbytes: int | None = None, shareable: bool = False) -> Memory:
        """A buffer for ``desc`` of ``nbytes`` bytes; None: ``desc.nbytes``. shareable: other processes may import it.

        Raises:
            OutOfDeviceMemory, UnsupportedError: it cannot be allocated; the message names ``desc``.
        """
        if shareable is not False:
            shareable = flag("shareable", shareable)
        try:
            return self.runtime.allocate(desc.nbytes if nbytes is None else nbytes, shareable)
        except (OutOfDeviceMemory, UnsupportedError) as error:
            raise type(error)(changed(message_of(error), lambda text: f"{text}; asked for {desc}")) from error

    def run(self, steps: Steps, src: Memory, dst: Memory, starts: tuple[int, int] = (0, 0)) -> None:
        """Start the steps of an operation in order. A buffer between two steps is freed after its last use.

        starts: where the buffers of source and result begin in ``src`` and ``dst``, in bytes: multiples of
            ``limits.window_alignment``.

        Raises:
            UnsupportedError: the runtime cannot bind these buffers.
        """
        ends = src, dst
        listed = steps.steps if starts == (0, 0) else [step.at(starts) for step in steps.steps]
        if not steps.between:
            for step in listed:
                self._start(step, ends[step.src.buffer], ends[step.dst.buffer])
            return
        memories = {SOURCE: src, RESULT: dst}
        last = {site.buffer: step for step in listed for site in (step.src, step.dst)}
        for step in listed:
            buffers = step.src.buffer, step.dst.buffer
            for buffer in buffers:
                if buffer not in memories:
                    memories[buffer] = self._between(steps.between[buffer - RESULT - 1])
            self._start(step, memories[step.src.buffer], memories[step.dst.buffer])
            for buffer in buffers:
                if last[buffer] is step:
                    memories.pop(buffer, None)

    def _start(self, step: Step, src: Memory, dst: Memory) -> None:
        try:
            if step.run is not None:
                src_offset, dst_offset, nbytes = step.run
                kernels = tuple(step.kernels()) if step.held is None else step.held
                self.runtime.copy(src, dst, nbytes, src_offset, dst_offset, kernels)
            elif step.held is not None:
                self.runtime.submit(step.held, (src, dst))
            else:
                self._submit(step.kernels(), (src, dst))
        except UnsupportedError as error:
            raise UnsupportedError(f"{error}; asked for {step.src.desc} to {step.dst.desc}") from error

    def _between(self, buffer: Between) -> Memory:
        memory = self.allocate(buffer.desc)
        if buffer.contents is not None:
            self.runtime.write(memory, 0, memoryview(buffer.contents))
        return memory

    def _submit(self, kernels: Iterable[KernelSpec], memories: Sequence[Memory]) -> None:
        part: list[KernelSpec] = []
        nbytes = 0
        for kernel in kernels:
            if nbytes and nbytes + len(kernel.parameters) > MAX_PARAMETER_BYTES:
                self.runtime.submit(part, memories)
                self.runtime.wait()
                part, nbytes = [], 0
            part.append(kernel)
            nbytes += len(kernel.parameters)
        if part:
            self.runtime.submit(part, memories)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is neither copied nor pickled; open one where it is needed")

    def __str__(self) -> str:
        return f"{self.info.name}{self._which()}"

    def _which(self) -> str:
        """A suffix that tells apart several devices opened on one GPU; empty for the first."""
        return f", opened as number {self._number}" if self._number > 1 else ""

    def __repr__(self) -> str:
        info, runtime = self.info, type(self.runtime).__name__.removesuffix("Runtime").lower()
        state = self._which() + ", closed" * self._closed
        number = "of yours" if info.index < 0 else info.index
        return f"<restride.Device {number}: {info.name}, {info.driver} {info.driver_version}, {runtime}{state}>"


def devices() -> list[DeviceInfo]:
    """The Vulkan devices of this machine, in the loader's order.

    Example:
    >>> [info.index for info in rs.devices()][:1]
    [0]

    Raises:
        DeviceNotFound: no Vulkan loader or no driver; the message says what to install.
    """
    return list_devices()


_numbers: dict[str, count[int]] = {}
"""For the UUID of a GPU the number that its next ``Device`` gets, which tells several devices of one GPU apart."""

_over_managers: LiveObjects[Device] = LiveObjects()


def device_over_manager() -> Device:
    """The one open device over a ``kp.Manager``.

    Raises:
        DescriptorError: there is none, or there are several.
    """
    opened = [device for device in _over_managers if not device.is_closed]
    if len(opened) != 1:
        raise DescriptorError(
            f"a kp tensor needs the device over its Manager, and {len(opened)} devices over one are open: "
            "device=rs.Device(manager=...) says which"
        )
    return opened[0]


_default: Device | None = None
_is_set = False  # by set_default_device
_default_lock = threading.Lock()
_counting = threading.Lock()  # of the plans of all devices


def default_device() -> Device:
    """The device of operations that name none: set by ``set_default_device``, or opened at first use.

    A device opened at first use is opened again if it was closed. A device that was set is not: operations then fail.

    Raises:
        DeviceNotFound: see ``Device()``.

    Examples:
        >>> rs.asarray(np.ones(3)).device is rs.default_device()
        True
    """
    global _default  # noqa: PLW0603 - one lazily opened device a process is what the name promises
    with _default_lock:
        if _default is None or (_default.is_closed and not _is_set):
            _default = Device()
        return _default


def set_default_device(device: Device | None) -> None:
    """Make ``device`` the device of operations that name none; None: one that is opened at first use, as at the start.

    The device before it stays open, with its tensors.

    Raises:
        DescriptorError: ``device`` is neither a Device nor None.

    Examples:
        >>> other = rs.Device()
        >>> rs.set_default_device(other)
        >>> rs.asarray(np.ones(3)).device is other
        True
        >>> rs.set_default_device(None)
    """
    global _default, _is_set
    if device is not None and not isinstance(device, Device):
        raise DescriptorError(
            f"the default device is a restride.Device or None, not {device!r:.80}; {opened_by_name(device)}"
        )
    with _default_lock:
        _default, _is_set = device, device is not None


def opened_by_name(value: object) -> str:
    """Advice for a value that was given in place of a ``Device``, such as its name."""
    selector = shown(value) if isinstance(value, str | int) else "'part of its name'"
    return f"rs.Device({selector}) opens one, and rs.devices() lists them"


def _unlock_in_child() -> None:
    # Another thread of the parent may have held a lock; it does not exist in the child.
    global _default_lock, _counting
    _default_lock, _counting = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)
