"""The Runtime protocol, the records it returns, and the checks, host copies and locks that all runtimes share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, DeviceError
from restride.kernel import KernelSpec, Limits
from restride.runtime.open_file import OpenFile

RuntimeName: TypeAlias = Literal["vulkan", "kompute"]
"""A runtime that ``Device`` can open; the first is the default."""

DEFAULT_TIMEOUT = 30.0
"""Seconds that one submission may take, once those before it are finished, before ``DeviceTimeout`` is raised."""

_NUMPY_BYTES = 1 << 16
"""From this many bytes on, numpy copies, because it releases the GIL and a memoryview does not."""

PUSH_BYTES = 128
"""Bytes of push constants that every Vulkan device supports."""

MEMORY_ROUNDING = 16
"""The device allocates every memory as a multiple of this many bytes, so that whole ``uvec4`` fit."""


def rounded(nbytes: int) -> int:
    """``nbytes`` rounded up to what the device allocates; at least 16."""
    return nbytes + -nbytes % MEMORY_ROUNDING or MEMORY_ROUNDING


@dataclass(frozen=True)
class DeviceInfo:
    """One physical device, as its driver describes it.

    index: position in ``list_devices()``; ``RESTRIDE_DEVICE`` and ``Device(selector)`` accept it. -1: the device of
        a VkDevice of yours, because your instance may list its devices in another order.
    kind: "discrete", "integrated", "virtual", "cpu" or "other".
    vendor_id, device_id: PCI (or Khronos) numbers.
    driver, driver_version: the driver's name and its own version text.
    api_version: the newest Vulkan version the device supports, such as "1.3.230".
    uuid: 32 hexadecimal digits, equal for the same device and driver in every process.
    heap_bytes: the largest device-local heap; 0 if the device has no memory and cannot be opened.
    heap_left: bytes of that heap that the driver left to this process when the device was listed, other processes
        taken into account; None if the driver lacks VK_EXT_memory_budget.
    limits: what a plan for this device must respect.
    is_tuned: True if the choices in ``limits`` come from ``restride tune``, else from ``Choices.usual``.
    """

    index: int
    name: str
    kind: str
    vendor_id: int
    device_id: int
    driver: str
    driver_version: str
    api_version: str
    uuid: str
    heap_bytes: int
    limits: Limits = field(default_factory=Limits)
    is_tuned: bool = False
    heap_left: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Counters:
    """Totals since a runtime was opened, and its memory now in bytes.

    dispatches, submissions, barriers: kernels dispatched, command buffers handed to the queue, barriers recorded.
    pipelines: pipelines created, including those destroyed since.
    allocations: allocations requested from the driver; pooled and suballocated memory adds none.
    bytes_allocated: bytes now allocated from the driver.
    bytes_in_use: bytes now in memories, each rounded up to a multiple of 16, and in parameters of unfinished kernels.
        A freed memory does not count, even if the device still uses it.
    uploaded, downloaded: bytes that ``write`` and ``read`` moved (parameters of kernels are not counted).
    plans_made, plans_kept: operations on the device that were planned, and those that found their plan in the cache of
        the process. 0 in the counters of a runtime, which knows no plan.
    """

    dispatches: int = 0
    pipelines: int = 0
    submissions: int = 0
    barriers: int = 0
    allocations: int = 0
    bytes_allocated: int = 0
    bytes_in_use: int = 0
    uploaded: int = 0
    downloaded: int = 0
    plans_made: int = 0
    plans_kept: int = 0


@dataclass(frozen=True, eq=False)
class ExternalMemory:
    """The data that another process needs, besides the file descriptor, to import device memory.

    nbytes: size of the buffer. allocation_bytes, memory_type: exactly as the driver allocated it.
    device_uuid, driver_uuid: 32 hexadecimal digits each; only the same driver on the same device imports it.
    offset: the byte of the allocation at which the buffer begins. dedicated: the allocation is of this buffer alone.
    """

    nbytes: int
    allocation_bytes: int
    memory_type: int
    device_uuid: str
    driver_uuid: str
    offset: int = 0
    dedicated: bool = True


class Memory(Protocol):
    """Bytes on a device. Freed by ``free`` or when it is garbage collected."""

    @property
    def nbytes(self) -> int:
        """The size that was requested; the device rounds it up to a multiple of 16."""

    @property
    def readonly(self) -> bool:
        """True if the bytes are the host's own, which the device only reads."""

    @property
    def is_shareable(self) -> bool:
        """True if ``export_fd`` can export the memory."""

    def free(self) -> None:
        """Give the memory back, once the device no longer uses it. A second call does nothing."""


class Runtime(Protocol):
    """One open device. Every method may be called from any thread.

    Every method raises ``DeviceLost`` once the device is lost or closed, and in a child made by ``fork``. A method that
    a finalizer calls in the middle of another call of the same thread raises ``DeviceError``.
    """

    @property
    def info(self) -> DeviceInfo:
        """The device."""

    @property
    def limits(self) -> Limits:
        """The limits that a plan must respect; ``info.limits`` unless a test narrowed them."""

    def allocate(self, nbytes: int, shareable: bool = False) -> Memory:
        """Allocate ``nbytes`` >= 0 bytes with undefined contents.

        shareable: make it exportable: it gets a driver allocation to itself, which is returned as soon as it is freed.

        Raises:
            UnsupportedError: the device cannot share memory between processes.
            OutOfDeviceMemory: it exceeds the heap or the limit even after idle memory was returned, or the driver
                refused; the message names the bytes requested and in use, and the heap or limit.
        """

    def import_bytes(self, data: memoryview) -> tuple[Memory, int]:
        """Import one or more bytes of the host as read-only memory; return it and the offset where they begin in it.

        Nothing is copied. The memory keeps ``data`` alive until it is freed and the device no longer uses it; the bytes
        must not change while work that reads them is pending. They do not count as device memory.

        Raises:
            UnsupportedError: the device has memory of its own, or cannot import host memory, or not these bytes.
        """

    def export_fd(self, memory: Memory) -> tuple[OpenFile, ExternalMemory]:
        """Wait for pending work on shareable memory and return a new file descriptor.

        Raises:
            UnsupportedError: the memory was not allocated to be shared, or was imported itself.
            DeviceTimeout: pending work outlasted the time limit.
        """

    def import_fd(self, fd: int, external: ExternalMemory) -> Memory:
        """Import memory that another program, or this one, exported. The caller keeps ``fd`` and may close it at once.

        Its bytes do not count as memory of this device: they count where they were allocated.

        Raises:
            DescriptorError: ``fd`` is not open, or is not a descriptor of such memory.
            UnsupportedError: the memory is of another device or driver, or the device cannot share memory between
                processes, or no memory of this kind.
        """

    def mapped_bytes(self, memory: Memory) -> npt.NDArray[np.uint8]:
        """Wait for pending writes and return a read-only array over the bytes of ``memory``, without a copy.

        The array shows what later work writes. It keeps the bytes alive, also past ``free`` and ``close``: their device
        is destroyed after the last such array.

        Raises:
            UnsupportedError: the host cannot map the memory.
            DeviceTimeout: pending work outlasted the time limit.
        """

    def write(self, memory: Memory, offset: int, *data: memoryview) -> None:
        """Wait for pending work that uses ``memory``, then copy ``data``, one after the other, from byte ``offset`` on.

        Raises:
            DescriptorError: the bytes leave the memory, or it was imported.
            DeviceTimeout: pending work outlasted the time limit; nothing was written.
        """

    def read(self, memory: Memory, offset: int, out: memoryview) -> None:
        """Wait for pending writes to ``memory``, then fill ``out`` from byte ``offset``.

        Raises:
            DescriptorError: the bytes leave the memory, or ``out`` is read-only.
            DeviceTimeout: pending work outlasted the time limit; ``out`` is untouched.
        """

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        """Start the kernels and return at once; binding ``i`` of each kernel covers a part of ``memories[i]``.

        Bindings are numbers 0 to n-1 of descriptor set 0; ``parameters``, if any, follow at binding n. A kernel runs
        after every kernel it depends on, in this call or an earlier one. Dependences are read after write, write after
        read and write after write of the same bytes, and a kernel counts as using every byte its bindings cover.

        Raises:
            DescriptorError: a binding leaves its memory, breaks the alignment or range of ``limits``, or writes to
                memory that was imported; or there are no bindings or groups, or too many, or too many push
                constants.
            DeviceError: the module is damaged, or the driver refused it.
        """

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        """Start the device's own copy of ``nbytes`` >= 0 bytes, in order with the kernels.

        kernels: kernels that run before the copy, with ``src`` and ``dst`` as their memories, in the same submission:
            if the driver refuses it, neither they nor the copy start.

        Raises:
            DescriptorError: the bytes leave a memory, both are the same memory, or ``dst`` was imported.
        """

    def batch(self) -> AbstractContextManager[None]:
        """A context: work started inside may be handed to the device together, at the latest when the context ends."""

    def wait(self) -> None:
        """Return when everything submitted so far is finished.

        Raises:
            DeviceTimeout: work is still pending after the time limit. The device stays usable; wait again to go on.
        """

    def counters(self) -> Counters:
        """The totals so far, and the memory in use now."""

    def trim(self) -> int:
        """Give the driver back everything that is kept only for reuse and that no pending work uses; return the bytes.

        What is kept are blocks, staging buffers, prepared submissions with their parameters, and pipelines. Does not
        wait.
        """

    def close(self) -> None:
        """Wait, then free everything; a second call does nothing. Freeing a memory later is harmless.

        Memory under arrays of ``mapped_bytes`` is freed with the last of them.
        """


class HostLock:
    """The lock of one device's state on the host, which a finalizer neither waits for nor enters twice.

    The garbage collector may run a finalizer (``__del__``, or a generator that was dropped) in the middle of any call,
    also in the thread that holds the lock. There, waiting would never end, and entering again would find the state half
    changed. So a call asks ``unheld`` first, and work that can be put off is done by ``if_free``. The lock is reentrant
    only to know its holder: no thread acquires it twice.

    name: the device's, for the error.
    raw: the lock itself, for ``with`` where this thread is known not to hold it.
    is_held: whether this thread holds it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.raw = threading.RLock()
        self.is_held: Callable[[], bool] = self.raw._is_owned  # type: ignore[attr-defined]  # noqa: SLF001 - as in threading

    def unheld(self) -> threading.RLock:
        """The lock itself, for a call that waits for it: ``with lock.unheld(): ...``.

        Raises:
            DeviceError: this thread holds it: a finalizer calls in the middle of another call.
        """
        if self.is_held():
            raise DeviceError(
                f"{self._name} was called by a finalizer (__del__, or a generator that was dropped) that the garbage "
                "collector ran in the middle of another call of this thread: end such work explicitly"
            )
        return self.raw

    def if_free(self, act: Callable[[], object]) -> bool:
        """Call ``act`` under the lock if no thread holds it, this one included; return whether it was called."""
        if self.is_held():
            return False
        taken = [False]
        try:
            # One call into C acquires the lock and records it: Python may raise KeyboardInterrupt between a bare
            # ``acquire`` and the ``try`` after it.
            taken[:] = map(self.raw.acquire, (False,))
            if taken[0]:
                act()
        finally:
            if taken[0]:
                self.raw.release()
        return taken[0]


def as_bytes(view: memoryview) -> memoryview:
    """The bytes as a one-dimensional view.

    Raises:
        DescriptorError: the view is not C-contiguous.
    """
    if view.format == "B" and view.ndim == 1 and view.c_contiguous:
        return view
    if not view.c_contiguous:
        raise DescriptorError(f"the host's buffer must be contiguous, its strides are {view.strides}")
    # A view with a size of 0 cannot be cast.
    return view.cast("B") if view.nbytes else memoryview(bytearray())


def writable_bytes(out: memoryview) -> memoryview:
    """The bytes of ``out``, a buffer to read into, as a one-dimensional view.

    Raises:
        DescriptorError: the buffer is read-only, or not C-contiguous.
    """
    if out.readonly:
        raise DescriptorError(f"the buffer to read into, out, of {out.nbytes} bytes, is read-only")
    return as_bytes(out)


def bytes_at(address: int, nbytes: int, *, is_readonly: bool) -> dict[str, Any]:
    """The ``__array_interface__`` of an object that owns bytes; numpy keeps it as the base of an array over them."""
    return {"version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (address, is_readonly)}


def require_inside(memory: Memory, offset: int, nbytes: int) -> None:
    """Raise DescriptorError unless the bytes are inside the memory."""
    if offset < 0 or offset + nbytes > memory.nbytes:
        raise DescriptorError(f"bytes [{offset}, {offset + nbytes}) leave a memory of {memory.nbytes} bytes")


def require_writable(memory: Memory) -> None:
    """Raise DescriptorError if the memory was imported: its pages hold other data of the host too."""
    if memory.readonly:
        raise DescriptorError(f"a memory of {memory.nbytes} bytes was imported from the host, so it is read-only")


def require_kernel(spec: KernelSpec, memories: int, limits: Limits) -> None:
    """Raise DescriptorError unless the kernel's bindings, push constants and groups keep within the limits."""
    if not 1 <= len(spec.bindings) <= memories:
        raise DescriptorError(
            f"kernel {spec.shader!r} has {len(spec.bindings)} bindings for {memories} memories; it must have 1 to "
            f"{memories}"
        )
    if 4 * len(spec.push) > PUSH_BYTES:
        raise DescriptorError(f"kernel {spec.shader!r} pushes {4 * len(spec.push)} bytes; at most {PUSH_BYTES} fit")
    if not all(1 <= count <= most for count, most in zip(spec.groups, limits.max_group_count, strict=True)):
        raise DescriptorError(
            f"kernel {spec.shader!r} has groups {spec.groups}, each must be from 1 to its limit in "
            f"{limits.max_group_count}"
        )


def require_copy(src: Memory, dst: Memory, nbytes: int, src_offset: int, dst_offset: int) -> None:
    """Raise DescriptorError unless bytes of one memory can be copied into another."""
    if src is dst:
        raise DescriptorError(f"source and destination of a copy are the same memory of {src.nbytes} bytes")
    if nbytes < 0:
        raise DescriptorError(f"a copy has 0 bytes or more, nbytes is {nbytes}")
    require_inside(src, src_offset, nbytes)
    require_inside(dst, dst_offset, nbytes)


def copy_bytes(target: memoryview, source: memoryview) -> None:
    """Copy ``source`` into ``target``, which has the same size."""
    if len(source) < _NUMPY_BYTES:
        target[:] = source
    else:
        np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8))


def copy_parts(target: memoryview, parts: Sequence[memoryview]) -> None:
    """Copy ``parts``, one after the other, into ``target``, which has the size of all of them."""
    start = 0
    for part in parts:
        copy_bytes(target[start : start + len(part)], part)
        start += len(part)
