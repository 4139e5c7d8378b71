"""What every runtime is: the protocol, what it says of its device, transfers on the host, checked, and locks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, DeviceError
from restride.kernel import KernelSpec, Limits

RuntimeName: TypeAlias = Literal["vulkan", "kompute"]
"""A runtime that ``Device`` can open; the first is the default."""

DEFAULT_TIMEOUT = 30.0
"""Seconds that a wait lasts before it raises ``DeviceTimeout``."""

_NUMPY_BYTES = 1 << 16
"""From this size on numpy copies: it releases the GIL, which a memoryview does not."""

MEMORY_ROUNDING = 16
"""Every memory is a multiple of this many bytes on the device, whatever was asked for: whole ``uvec4`` fit."""


def rounded(nbytes: int) -> int:
    """``nbytes`` rounded up to what the device allocates; at least 16."""
    return nbytes + -nbytes % MEMORY_ROUNDING or MEMORY_ROUNDING


@dataclass(frozen=True)
class DeviceInfo:
    """One physical device, as its driver describes it.

    index: position in ``list_devices()``, what ``RESTRIDE_DEVICE`` and ``Device(selector)`` take.
    kind: "discrete", "integrated", "virtual", "cpu" or "other".
    vendor_id, device_id: PCI (or Khronos) numbers.
    driver, driver_version: the driver's name and its own version text.
    api_version: the Vulkan version it implements, such as "1.3.230".
    uuid: 32 hexadecimal digits, equal for the same device and driver in every process.
    heap_bytes: the largest device-local heap; 0: the device has no memory, and cannot be opened.
    limits: what a plan for this device must respect.
    is_tuned: the choices among the limits are those that ``restride tune`` found; else those of the kind.
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


@dataclass(frozen=True)
class Counters:
    """What a runtime did since it was opened. Memory is bytes.

    dispatches, submissions, barriers: kernels dispatched, command buffers handed to the queue, barriers recorded.
    pipelines: pipelines created (not: alive).
    allocations: allocations asked of the driver so far; pooled and suballocated memory does not add to it.
    bytes_allocated: alive now, as asked of the driver.
    bytes_in_use: alive now, as memories, each rounded up to a multiple of 16 (freed, but perhaps still used by the
        device: not counted), and as parameters of kernels that are not finished.
    uploaded, downloaded: bytes that ``write`` and ``read`` moved (parameters of kernels are not counted).
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


@dataclass(frozen=True)
class ExternalMemory:
    """Device memory as another process imports it, beside the file descriptor. What a driver must be told exactly.

    nbytes: of the memory. allocation_bytes, memory_type: as the driver allocated it.
    device_uuid, driver_uuid: 32 hexadecimal digits each; only the same driver on the same device imports it.
    """

    nbytes: int
    allocation_bytes: int
    memory_type: int
    device_uuid: str
    driver_uuid: str


class Memory(Protocol):
    """Bytes on a device. Freed by ``free`` or when it is garbage collected."""

    @property
    def nbytes(self) -> int:
        """Bytes as asked for; the device has them rounded up to a multiple of 16."""

    @property
    def readonly(self) -> bool:
        """True if the bytes are the host's own, which the device only reads."""

    @property
    def is_shareable(self) -> bool:
        """True if ``export_fd`` exports them."""

    def free(self) -> None:
        """Give the memory back, once the device no longer uses it. A second call does nothing."""


class Runtime(Protocol):
    """One open device. Every method may be called from any thread.

    Every method raises ``DeviceLost`` once the device is lost or closed, and in a child made by ``fork``. Called by a
    finalizer in the middle of another call of the same thread, one raises ``DeviceError``.
    """

    @property
    def info(self) -> DeviceInfo:
        """The device."""

    @property
    def limits(self) -> Limits:
        """What a plan must respect; ``info.limits`` unless a test narrowed them."""

    def allocate(self, nbytes: int, shareable: bool = False) -> Memory:
        """Memory of ``nbytes`` >= 0 bytes, its contents undefined.

        shareable: it can be exported: an allocation of its own, given back to the driver as soon as it is freed.

        Raises:
            UnsupportedError: the device shares no memory between processes.
            OutOfDeviceMemory: it does not fit the heap or the limit, also after what is idle was given back, or the
                driver refused; names asked, in use, and heap or limit.
        """

    def import_bytes(self, data: memoryview) -> tuple[Memory, int]:
        """The host's own bytes, one or more, as memory that is only read, and at which byte of it they begin.

        Nothing is copied. The memory keeps ``data`` alive until it is freed and the device no longer uses it; the bytes
        must not change while work that reads them is pending. They count as no memory of the device.

        Raises:
            UnsupportedError: the device has memory of its own, or imports none of the host's, or not this.
        """

    def export_fd(self, memory: Memory) -> tuple[int, ExternalMemory]:
        """A new file descriptor of shareable memory, after pending work that writes it. The caller closes it.

        Raises:
            UnsupportedError: the memory was not allocated to be shared, or was imported itself.
            DeviceTimeout: pending work outlasted the time limit.
        """

    def import_fd(self, fd: int, external: ExternalMemory) -> Memory:
        """Memory of another process, or of this one. ``fd`` stays the caller's, who may close it at once.

        Its bytes count as no memory of the device: they count where they were allocated.

        Raises:
            DescriptorError: ``fd`` is not open, or not such memory.
            UnsupportedError: it is of another device or driver, or the device shares no memory between processes.
        """

    def mapped_bytes(self, memory: Memory) -> npt.NDArray[np.uint8]:
        """The bytes of ``memory`` where they lie, after pending work that writes it, as a read-only array.

        They show what later work writes. The array keeps them alive, also past ``free`` and ``close``: the device that
        they lie on is destroyed after the last such array.

        Raises:
            UnsupportedError: the host does not see the memory.
            DeviceTimeout: pending work outlasted the time limit.
        """

    def write(self, memory: Memory, offset: int, data: memoryview) -> None:
        """Put ``data`` at byte ``offset``, after pending work that uses ``memory``.

        Raises:
            DescriptorError: the bytes leave the memory, or it was imported.
            DeviceTimeout: pending work outlasted the time limit; nothing was written.
        """

    def read(self, memory: Memory, offset: int, out: memoryview) -> None:
        """Fill ``out`` from byte ``offset``, after pending work that writes ``memory``.

        Raises:
            DescriptorError: the bytes leave the memory, or ``out`` is read-only.
            DeviceTimeout: pending work outlasted the time limit; ``out`` is untouched.
        """

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        """Start the kernels and return at once; binding ``i`` of each kernel covers a part of ``memories[i]``.

        Bindings are numbers 0 to n-1 of descriptor set 0; ``parameters``, if any, follow at binding n. Kernels that
        depend on each other, in this call or an earlier one, run one after the other: read after write, write after
        read and write after write of the same bytes, where every byte that a binding covers counts.

        Raises:
            DescriptorError: a binding leaves its memory, breaks the alignment or range of ``limits``, or writes to
                memory that was imported.
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
        """Start the device's own copy of ``nbytes`` bytes, any number of them, in order with the kernels.

        kernels: those that run before it, as ``submit`` runs them on ``src`` and ``dst``, in the same submission: where
            the driver refuses it, neither is started.

        Raises:
            DescriptorError: the bytes leave a memory, both are the same memory, or ``dst`` was imported.
        """

    def batch(self) -> AbstractContextManager[None]:
        """A context: what is submitted and copied meanwhile may go to the device together, at its end at the latest."""

    def wait(self) -> None:
        """Return when everything submitted so far is finished.

        Raises:
            DeviceTimeout: it is not, within the time limit. The device stays usable and a later wait may succeed.
        """

    def counters(self) -> Counters:
        """What happened so far."""

    def trim(self) -> int:
        """Give the driver back what is kept only to be used again, and no pending work uses; the bytes of memory.

        These are blocks, staging, prepared submissions with their parameters, and pipelines. Waits for nothing.
        """

    def close(self) -> None:
        """Wait, then free everything; a second call does nothing. Memories freed later are harmless.

        What arrays of ``mapped_bytes`` lie over is freed with the last of them.
        """


class Lockable(Protocol):
    """``threading.Lock`` or ``RLock``."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...


def take(lock: Lockable, taken: list[bool], timeout: float = 0.0) -> bool:
    """Take ``lock`` if it is free within ``timeout`` seconds; True if so, and ``taken`` becomes ``[True]``.

    The caller releases it in a ``finally`` if ``taken[0]``: Python may raise KeyboardInterrupt between a bare
    ``acquire`` and the ``try`` after it. Here lock and note are one step of C.
    """
    blocking, limit = (True, min(timeout, threading.TIMEOUT_MAX)) if timeout > 0 else (False, -1)
    taken[:] = map(lock.acquire, (blocking,), (limit,))
    return taken[0]


def asks_whether_held(lock: threading.RLock) -> Callable[[], bool]:
    """A function: does this thread hold a runtime's lock? Then a finalizer runs in the middle of one of its calls."""
    is_owned: Callable[[], bool] = lock._is_owned  # type: ignore[attr-defined]  # noqa: SLF001 - as in threading
    return is_owned


def in_a_finalizer(name: str) -> DeviceError:
    """The error for a call by a finalizer in the middle of another one of the same thread, which it cannot wait for."""
    return DeviceError(
        f"{name} was called by a finalizer (__del__, or a generator that was dropped) that the garbage collector ran "
        "in the middle of another call of this thread: end such work explicitly"
    )


def as_bytes(view: memoryview) -> memoryview:
    """The same bytes, one-dimensional.

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
    """``as_bytes`` of a buffer to read into.

    Raises:
        DescriptorError: it is read-only, or not C-contiguous.
    """
    if out.readonly:
        raise DescriptorError(f"the buffer to read into, out, of {out.nbytes} bytes, is read-only")
    return as_bytes(out)


def require_inside(memory: Memory, offset: int, nbytes: int) -> None:
    """Raise DescriptorError unless the bytes lie in the memory."""
    if offset < 0 or offset + nbytes > memory.nbytes:
        raise DescriptorError(f"bytes [{offset}, {offset + nbytes}) leave a memory of {memory.nbytes} bytes")


def require_writable(memory: Memory) -> None:
    """Raise DescriptorError if the memory was imported: other data lies in the same pages."""
    if memory.readonly:
        raise DescriptorError(f"a memory of {memory.nbytes} bytes was imported from the host, and is only read")


def require_copy(src: Memory, dst: Memory, nbytes: int, src_offset: int, dst_offset: int) -> None:
    """Raise DescriptorError unless bytes of one memory can be copied into another."""
    if src is dst:
        raise DescriptorError(f"source and destination of a copy are the same memory of {src.nbytes} bytes")
    if nbytes < 0:
        raise DescriptorError(f"a copy has 0 bytes or more, nbytes is {nbytes}")
    require_inside(src, src_offset, nbytes)
    require_inside(dst, dst_offset, nbytes)


def copy_bytes(target: memoryview, source: memoryview) -> None:
    """Copy as many bytes as both have."""
    if len(source) < _NUMPY_BYTES:
        target[:] = source
    else:
        np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8))
