"""Parameters of kernels on a kp device: a few buffers by size, filled anew for each kernel."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.runtime.heap import HeapBudget
from restride.runtime.host_bytes import copy_bytes
from restride.runtime.interface import MEMORY_ROUNDING, rounded
from restride.runtime.kompute.device import KomputeDevice

# Memory on a kp device: tensors pooled by size and held to a budget, because a failed allocation is a crash.

_KEPT_BUFFERS = 64
_SERIAL = attrgetter("serial")


class Buffer:
    """One kp tensor and its bytes as the host sees them.

    The host's bytes and the device's are the same memory when the device works in place. Otherwise each side may be
    newer; ``to_device`` and ``to_host`` bring the other up to date, and do nothing when it is.
    """

    def __init__(self, device: KomputeDevice, nbytes: int, serial: int) -> None:
        self.nbytes = nbytes
        self.serial = serial
        self.tensor = device.tensor(nbytes)
        # A view of mapped memory that dangles once the tensor is destroyed: it never leaves this package uncopied.
        self._bytes = memoryview(self.tensor.data()).cast("B")
        self._device = device
        self._upload: Any = None
        self._download: Any = None
        self._copy: Any = None
        self._copied = 0  # serial of the buffer that _copy copies from
        self._host_is_newer = False
        self._device_is_newer = False

    def put(self, offset: int, data: memoryview) -> None:
        """Write bytes from the host."""
        if len(data) < self.nbytes:
            self.to_host()
        copy_bytes(self._bytes[offset : offset + len(data)], data)
        self._device_is_newer = False
        self._host_is_newer = not self._device.in_place

    def get(self, offset: int, out: memoryview) -> None:
        """Read bytes to the host."""
        self.to_host()
        copy_bytes(out, self._bytes[offset : offset + len(out)])

    def to_device(self) -> None:
        """Before a kernel uses it."""
        if self._host_is_newer:
            self._upload = self._upload or self._device.record_upload(self.tensor)
            self._device.run(self._upload)
            self._host_is_newer = False

    def written_by_kernel(self) -> None:
        """After a kernel wrote it."""
        self._device_is_newer = not self._device.in_place

    def copy_part(self, source: Buffer, nbytes: int, src_offset: int, dst_offset: int) -> None:
        """Copy bytes of another buffer, through the host."""
        part = memoryview(bytearray(nbytes))
        source.get(src_offset, part)
        self.put(dst_offset, part)

    def copy_whole(self, source: Buffer) -> None:
        """Copy another buffer of the same size, on the device.

        kp copies whole tensors only, and then once more the bytes that the host sees, which takes the host's time too.
        """
        source.to_device()
        if self._copied != source.serial:
            self._copy, self._copied = self._device.record_copy(source.tensor, self.tensor), source.serial
        self._device.run(self._copy)
        self._host_is_newer = False
        self.written_by_kernel()

    def to_host(self) -> None:
        """Before the host uses it."""
        if self._device_is_newer:
            self._download = self._download or self._device.record_download(self.tensor)
            self._device.run(self._download)
            self._device_is_newer = False

    def forget_contents(self) -> None:
        """The bytes are undefined again: no copy on their account."""
        self._host_is_newer = self._device_is_newer = False

    def destroy(self) -> None:
        """Free the memory; nothing recorded with it may run again."""
        del self._bytes
        self._upload = self._download = self._copy = None
        self.tensor.destroy()


class KomputeMemory:
    """A ``Memory``: a buffer of the pool until it is freed."""

    readonly = False

    def __init__(self, pool: BufferPool, nbytes: int) -> None:
        self.pool = pool
        self._nbytes = nbytes
        # A list of one or none: list.pop() is atomic, so two threads cannot free it twice.
        self._held: list[Buffer] = []
        self._held.append(pool.take(rounded(nbytes)))

    @property
    def nbytes(self) -> int:
        """Bytes as asked for."""
        return self._nbytes

    @property
    def buffer(self) -> Buffer | None:
        """What it holds; None once freed."""
        return next(iter(self._held), None)

    def free(self) -> None:
        """Give the buffer back to the pool."""
        # A copy that failed half-way holds nothing at all.
        try:
            self.pool.give_back(self._held.pop())
        except (IndexError, AttributeError):
            return

    def __del__(self) -> None:
        self.free()


class BufferPool:
    """Buffers, those in use and up to 64 (or a quarter of the budget) kept for the next memory of the same size.

    Every buffer is its own driver allocation, of exactly the size asked for, because a kernel's binding is a whole one.
    One thread at a time, except ``give_back``. ``forget`` is called with the serial of a buffer that is destroyed.

    heaps: the budgets that a buffer counts against, one for each of its allocations, and how much of it may be taken.
    """

    _alive_bytes = 0  # __del__ runs on a copy that failed half-way too

    def __init__(
        self,
        device: KomputeDevice,
        heaps: Sequence[tuple[HeapBudget, int]],
        max_buffers: int,
        forget: Callable[[int], None],
    ) -> None:
        self.heaps = heaps
        self.max_buffers = max_buffers
        self.allocations = 0
        self._device = device
        self._forget = forget
        self._alive: dict[int, Buffer] = {}
        self._kept: OrderedDict[int, Buffer] = OrderedDict()
        self._kept_by_size: dict[int, list[Buffer]] = {}
        self._kept_bytes = 0
        self._returned: deque[Buffer] = deque()
        self._largest_kept = min(most for _, most in self.heaps) // 4

    @property
    def bytes_allocated(self) -> int:
        """Bytes asked of the driver and not freed; a staged buffer counts twice."""
        return self._alive_bytes * self._allocations_each

    @property
    def bytes_held(self) -> int:
        """Bytes of the buffers in use, and of those returned since ``collect``."""
        return self._alive_bytes - self._kept_bytes

    @property
    def _allocations_each(self) -> int:
        return 1 if self._device.in_place else 2

    def take(self, nbytes: int) -> Buffer:
        """A buffer of ``nbytes``, its contents undefined.

        Raises:
            OutOfDeviceMemory: the budget has no room for it.
        """
        same_size = self._kept_by_size.get(nbytes)
        if same_size:
            # The oldest: a loop sees the same buffers in the same places, for which pipelines exist, in whatever order
            # they came back.
            buffer = min(same_size, key=_SERIAL)
            same_size.remove(buffer)
            self._unlist(buffer)
            return buffer
        if not self._reserve(nbytes):
            self.trim()
            for heap, _ in self.heaps:
                heap.make_room()
            if not self._reserve(nbytes):
                raise self._exhausted(nbytes)
        self.allocations += self._allocations_each
        try:
            buffer = Buffer(self._device, nbytes, self.allocations)
        except BaseException:
            self._release(nbytes)
            raise
        self._alive[buffer.serial] = buffer
        self._alive_bytes += nbytes
        return buffer

    def give_back(self, buffer: Buffer) -> None:
        """Take a buffer back; from any thread and from finalizers, so it only leaves a note."""
        self._returned.append(buffer)

    def trim(self) -> None:
        """Free the buffers that are kept."""
        while self._kept:
            self._destroy_oldest()

    def destroy(self) -> None:
        """Free every buffer, those in use too."""
        for buffer in self._alive.values():
            buffer.destroy()
        self._release(self._alive_bytes)
        self._alive.clear()
        self._kept.clear()
        self._kept_by_size.clear()
        self._returned.clear()
        self._alive_bytes = self._kept_bytes = 0

    def __del__(self) -> None:
        # Without close: the buffers go with the pool.
        if self._alive_bytes:
            self._release(self._alive_bytes)

    def _reserve(self, nbytes: int) -> bool:
        if len(self._alive) >= self.max_buffers:
            return False
        for number, (heap, most) in enumerate(self.heaps):
            if not heap.reserve(nbytes, most):
                for reserved, _ in self.heaps[:number]:
                    reserved.release(nbytes)
                return False
        return True

    def _release(self, nbytes: int) -> None:
        for heap, _ in self.heaps:
            heap.release(nbytes)

    def _exhausted(self, nbytes: int) -> OutOfDeviceMemory:
        used = " and ".join(f"{heap.used:,} of {most:,}" for heap, most in self.heaps)
        return OutOfDeviceMemory(
            f"{self._device.name} (kompute) has no room for {nbytes:,} bytes: {used} bytes of its heap less an eighth "
            f"are in use, in {len(self._alive):,} of at most {self.max_buffers:,} buffers; free tensors or work in "
            "smaller pieces"
        )

    def collect(self) -> None:
        """Take up what was given back. Not in the middle of a submit: another thread may free what it still uses."""
        while self._returned:
            buffer = self._returned.popleft()
            buffer.forget_contents()
            self._kept[buffer.serial] = buffer
            self._kept_by_size.setdefault(buffer.nbytes, []).append(buffer)
            self._kept_bytes += buffer.nbytes
        while len(self._kept) > _KEPT_BUFFERS or self._kept_bytes > self._largest_kept:
            self._destroy_oldest()

    def _destroy_oldest(self) -> None:
        buffer = next(iter(self._kept.values()))
        self._kept_by_size[buffer.nbytes].remove(buffer)
        self._unlist(buffer)
        del self._alive[buffer.serial]
        self._alive_bytes -= buffer.nbytes
        self._release(buffer.nbytes)
        self._forget(buffer.serial)
        buffer.destroy()

    def _unlist(self, buffer: Buffer) -> None:
        del self._kept[buffer.serial]
        self._kept_bytes -= buffer.nbytes
        if not self._kept_by_size[buffer.nbytes]:
            del self._kept_by_size[buffer.nbytes]


def require_size(nbytes: int, largest: int) -> None:
    """Raise UnsupportedError for a memory that kp cannot make."""
    if rounded(nbytes) > largest:
        raise UnsupportedError(
            f"a memory of {nbytes:,} bytes is larger than kompute's {largest:,}, for it counts bytes in 32 bits: "
            "use the runtime 'vulkan', or smaller tensors"
        )


# Parameters of kernels on a kp device: a few buffers by size, filled anew for each kernel.

_SLOTS_KEPT = 16
_SLOT_BYTES_KEPT = 1 << 20
_SLOT_STEP = 1 << 16


class ParameterSlots:
    """Buffers for kernel parameters, one for each size class, filled when the contents change.

    Nothing is pending when a kernel starts, so all kernels share a slot; pipelines, which kp ties to buffers, then do
    not depend on contents. At most 16 slots, and at most 1 MiB besides the newest.
    """

    def __init__(self, pool: BufferPool) -> None:
        self._pool = pool
        self._slots: OrderedDict[int, Buffer] = OrderedDict()
        self._contents: dict[int, bytes] = {}
        self.nbytes = 0

    @property
    def kept_bytes(self) -> int:
        """Bytes of slots that are there for the next kernels, 1 MiB at most; what goes past it counts as in use."""
        return min(self.nbytes, _SLOT_BYTES_KEPT)

    def filled(self, contents: bytes) -> Buffer:
        """A buffer that starts with ``contents``, until the next call."""
        size = slot_bytes(len(contents))
        slot = self._slots.get(size)
        if slot is None:
            slot = self._make(size)
        self._slots.move_to_end(size)
        if self._contents.get(size) != contents:
            slot.forget_contents()
            slot.put(0, memoryview(contents))
            self._contents[size] = contents
        return slot

    def _make(self, size: int) -> Buffer:
        while self._slots and (len(self._slots) >= _SLOTS_KEPT or self.nbytes > _SLOT_BYTES_KEPT):
            oldest_size, oldest = self._slots.popitem(last=False)
            del self._contents[oldest_size]
            self.nbytes -= oldest_size
            self._pool.give_back(oldest)
        slot = self._slots[size] = self._pool.take(size)
        self.nbytes += size
        return slot


def slot_bytes(nbytes: int) -> int:
    """Size of the slot for ``nbytes`` of parameters: a power of two, or a multiple of 64 KiB above that."""
    if nbytes <= _SLOT_STEP:
        return max(MEMORY_ROUNDING, 1 << (nbytes - 1).bit_length())
    return -(-nbytes // _SLOT_STEP) * _SLOT_STEP
