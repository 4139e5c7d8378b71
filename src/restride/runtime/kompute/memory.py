"""Memory on a kp device: buffers pooled by size and held to a budget, because a failed allocation is a crash."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import WeakValueDictionary, finalize

from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.runtime.heap import HeapBudget
from restride.runtime.interface import MEMORY_ROUNDING, copy_bytes, rounded
from restride.runtime.kompute.device import KomputeDevice

_MOST_IDLE = 64
"""Buffers in the pool. Without it a small reorder takes 5 ms instead of 0.04: kp builds its pipelines for buffers."""

_PARAMETER_STEP = 1 << 16


class Buffer:
    """One kp tensor and its bytes as the host sees them.

    The host's bytes and the device's are the same memory when the tensor is in place. Otherwise each side may be
    newer; ``to_device`` and ``to_host`` bring the other up to date, and do nothing when it is.

    is_shared: the user has the tensor too, and runs kernels on it, of which nothing is known here: the device's side is
        always the newer one, and what the host writes goes there at once.
    kind: where it lies and of which type kp says that its elements are; kp copies between tensors of one kind.
    """

    def __init__(self, device: KomputeDevice, nbytes: int, serial: int, tensor: Any = None) -> None:
        self.nbytes = nbytes
        self.serial = serial
        self.is_shared = tensor is not None
        self.tensor = device.tensor(nbytes) if tensor is None else tensor
        # The bytes never leave this package uncopied: they dangle once the tensor is destroyed.
        elements = self.tensor.data()
        self._bytes = memoryview(elements).cast("B")
        self._in_place = device.is_host(self.tensor)
        self.kind = (self._in_place, elements.dtype)
        self._device = device
        self._upload: Any = None
        self._download: Any = None
        self._copy: Any = None
        self._copied = 0  # serial of the buffer that _copy copies from
        self._parameters: bytes | None = None  # what it holds, if it is known
        self._host_is_newer = False
        self._device_is_newer = self.is_shared and not self._in_place

    @property
    def is_destroyed(self) -> bool:
        """The user destroyed the tensor."""
        return not self.tensor.size()

    def share(self) -> Any:
        """The tensor, for the user to have: both sides are up to date now."""
        if not self.is_shared:
            self.to_device()
            self.to_host()
            self.is_shared, self._device_is_newer = True, not self._in_place
        return self.tensor

    def fill(self, parameters: bytes) -> None:
        """Make it start with ``parameters``; what follows is undefined."""
        if self._parameters != parameters:
            self.forget_contents()
            self.put(0, memoryview(parameters))
            self._parameters = parameters

    def put(self, offset: int, data: memoryview) -> None:
        """Write bytes from the host."""
        self._parameters = None
        if len(data) < self.nbytes:
            self.to_host()
        copy_bytes(self._bytes[offset : offset + len(data)], data)
        self._device_is_newer = False
        self._host_is_newer = not self._in_place
        if self.is_shared:
            self.to_device()
            self._device_is_newer = not self._in_place

    def get(self, offset: int, out: memoryview) -> None:
        """Read bytes to the host."""
        self.to_host()
        copy_bytes(out, self._bytes[offset : offset + len(out)])

    def prepare_upload(self, is_filled_later: bool = False) -> None:
        """Record what ``to_device`` runs, if the host wrote something, or will."""
        if self._host_is_newer or (is_filled_later and not self._in_place):
            self._upload = self._upload or self._device.record_upload(self.tensor)

    def to_device(self) -> None:
        """Before a kernel uses it."""
        self.prepare_upload()
        if self._host_is_newer:
            self._device.run(self._upload)
            self._host_is_newer = False

    def written_by_kernel(self) -> None:
        """After a kernel wrote it."""
        self._parameters = None
        self._device_is_newer = not self._in_place

    def copy_part(self, source: Buffer, nbytes: int, src_offset: int, dst_offset: int) -> None:
        """Copy bytes of another buffer, through the host."""
        part = memoryview(bytearray(nbytes))
        source.get(src_offset, part)
        self.put(dst_offset, part)

    def copy_whole(self, source: Buffer) -> None:
        """Copy another buffer of the same size and kind, on the device.

        kp copies whole tensors only, and then once more the bytes that the host sees, which takes the host's time too.
        """
        source.to_device()
        if self._copied != source.serial:
            self._copy, self._copied = self._device.record_copy(source.tensor, self.tensor), source.serial
        self._device.run(self._copy)
        if source.is_shared:  # a recording keeps what is the user's alive
            self._copy, self._copied = None, 0
        self._host_is_newer = False
        self.written_by_kernel()

    def to_host(self) -> None:
        """Before the host uses it."""
        if self._device_is_newer:
            self._download = self._download or self._device.record_download(self.tensor)
            self._device.run(self._download)
            self._device_is_newer = self.is_shared

    def forget_contents(self) -> None:
        """The bytes are undefined again: no copy on their account."""
        if self._host_is_newer:
            self._parameters = None
        self._host_is_newer = self._device_is_newer = False

    def destroy(self) -> None:
        """Free the memory; nothing recorded with it may run again."""
        del self._bytes
        self._upload = self._download = self._copy = None
        self.tensor.destroy()


class KomputeMemory:
    """A ``Memory``: a buffer of the pool until it is freed."""

    readonly = is_shareable = False

    def __init__(self, pool: BufferPool, nbytes: int, shared: Buffer | None = None) -> None:
        self.pool = pool
        self._nbytes = nbytes
        # A list of one or none: list.pop() is atomic, so two threads cannot free it twice.
        self._buffers: list[Buffer] = []
        self._buffers.append(shared or pool.take(rounded(nbytes)))

    @property
    def nbytes(self) -> int:
        """Bytes as asked for."""
        return self._nbytes

    @property
    def buffer(self) -> Buffer | None:
        """Its buffer; None once freed."""
        return next(iter(self._buffers), None)

    def free(self) -> None:
        """Give the buffer back to the pool."""
        # A copy that failed half-way holds nothing at all.
        try:
            self.pool.give_back(self._buffers.pop())
        except (IndexError, AttributeError):
            return

    def __del__(self) -> None:
        self.free()


class BufferPool:
    """Buffers, those in use and up to 64 (or a quarter of the budget) idle ones for the next memory of the same size.

    Every buffer is its own driver allocation, of exactly the size asked for, because a kernel's binding is a whole one.
    One thread at a time, except ``give_back``. ``forget`` is called with the serial of a buffer that is destroyed.

    heaps: the budgets that a buffer counts against, one for each of its allocations and again where the device has a
        limit, and how much of each may be taken.
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
        self._idle: dict[int, Buffer] = {}  # by serial, the longest idle first
        self._idle_bytes = 0
        self._returned: deque[Buffer] = deque()
        # By id of the kp tensor, which a memory keeps alive: one memory for each, so that overlaps are seen.
        self._shared: WeakValueDictionary[int, KomputeMemory] = WeakValueDictionary()
        self._foreign = count(-1, -1)  # serials of buffers that the pool did not allocate
        self._most_idle_bytes = min(most for _, most in self.heaps) // 4

    @property
    def bytes_allocated(self) -> int:
        """Bytes asked of the driver and not freed; a staged buffer counts twice."""
        return self._alive_bytes * self._allocations_each

    @property
    def bytes_in_use(self) -> int:
        """Bytes of the buffers in use, and of those returned since ``collect``."""
        return self._alive_bytes - self._idle_bytes

    @property
    def _allocations_each(self) -> int:
        return 1 if self._device.in_place else 2

    def take(self, nbytes: int) -> Buffer:
        """A buffer of ``nbytes``, its contents undefined.

        Raises:
            OutOfDeviceMemory: the budget has no room for it.
        """
        same_size = [serial for serial, buffer in self._idle.items() if buffer.nbytes == nbytes]
        if same_size:
            # The oldest: a loop sees the same buffers in the same places, for which pipelines exist, in whatever order
            # they came back.
            self._idle_bytes -= nbytes
            return self._idle.pop(min(same_size))
        if (refusal := self._refusal(nbytes)) is not None:
            if any(nbytes > most for _, most in self.heaps):
                raise refusal
            self.trim()
            # Other devices are asked for room in what is full: they take nothing of this one's own limit.
            for heap, most in self.heaps:
                if heap.used + nbytes * self._allocations_each > most:
                    heap.make_room()
            if (refusal := self._refusal(nbytes)) is not None:
                raise refusal
        self.allocations += self._allocations_each
        try:
            buffer = Buffer(self._device, nbytes, self.allocations)
        except BaseException:
            self._release(nbytes)
            raise
        self._alive[buffer.serial] = buffer
        self._alive_bytes += nbytes
        return buffer

    def shared(self, tensor: Any) -> KomputeMemory | None:
        """The memory that lies in ``tensor``; None: there is none yet."""
        memory = self._shared.get(id(tensor))
        return memory if memory is not None and memory.buffer is not None else None

    def adopt(self, tensor: Any, nbytes: int) -> KomputeMemory:
        """A memory that lies in a tensor of the user's, which counts against no budget."""
        buffer = Buffer(self._device, nbytes, next(self._foreign), tensor)
        memory = self._shared[id(tensor)] = KomputeMemory(self, nbytes, buffer)
        return memory

    def share(self, memory: KomputeMemory, buffer: Buffer) -> Any:
        """The tensor that ``memory`` lies in, for the user to have. Its buffer is never used for another memory."""
        self._shared[id(buffer.tensor)] = memory
        return buffer.share()

    def give_back(self, buffer: Buffer) -> None:
        """Take a buffer back; from any thread and from finalizers, so it only leaves a note."""
        self._returned.append(buffer)

    def trim(self) -> None:
        """Free the idle buffers."""
        while self._idle:
            self._destroy_oldest()

    def destroy(self) -> None:
        """Free every buffer, those in use too, but for what the user has."""
        for buffer in [buffer for buffer in self._alive.values() if buffer.is_shared]:
            self._drop(buffer)
        for buffer in self._alive.values():
            buffer.destroy()
        self._release(self._alive_bytes)
        self._alive.clear()
        self._idle.clear()
        self._returned.clear()
        self._alive_bytes = self._idle_bytes = 0

    def __del__(self) -> None:
        # Without close: the buffers go with the pool.
        if self._alive_bytes:
            self._release(self._alive_bytes)

    def _refusal(self, nbytes: int) -> OutOfDeviceMemory | None:
        """None: the bytes are taken of every budget; else none are, and this says why."""
        if len(self._alive) >= self.max_buffers:
            return self._exhausted(nbytes, *self.heaps[0])
        for number, (heap, most) in enumerate(self.heaps):
            if not heap.reserve(nbytes, most):
                for reserved, _ in self.heaps[:number]:
                    reserved.release(nbytes)
                return self._exhausted(nbytes, heap, most)
        return None

    def _release(self, nbytes: int) -> None:
        for heap, _ in self.heaps:
            heap.release(nbytes)

    def _exhausted(self, nbytes: int, heap: HeapBudget, most: int) -> OutOfDeviceMemory:
        of = heap.name if most == heap.heap_bytes else f"{heap.name} less an eighth"
        return OutOfDeviceMemory(
            f"{self._device.name} (kompute) has no room for {nbytes:,} bytes: {heap.used:,} of {most:,} bytes of its "
            f"{of} are in use, in {len(self._alive):,} of at most {self.max_buffers:,} buffers; free tensors or work "
            "in smaller pieces"
        )

    def collect(self) -> None:
        """Take up what was given back. Not in the middle of a submit: another thread may free what it still uses."""
        while self._returned:
            self.put_back(self._returned.popleft())

    def put_back(self, buffer: Buffer) -> None:
        """A buffer that nobody uses any more is idle from now on; one that the user has is the user's alone."""
        if buffer.is_shared:
            self._drop(buffer)
            return
        buffer.forget_contents()
        self._idle[buffer.serial] = buffer
        self._idle_bytes += buffer.nbytes
        while len(self._idle) > _MOST_IDLE or self._idle_bytes > self._most_idle_bytes:
            self._destroy_oldest()

    def _drop(self, buffer: Buffer) -> None:
        """Forget a buffer without destroying its tensor, whose bytes stay taken until the user has it no more."""
        self._forget(buffer.serial)
        if self._alive.pop(buffer.serial, None) is not None:
            self._alive_bytes -= buffer.nbytes
            for heap, _ in self.heaps:
                finalize(buffer.tensor, heap.release, buffer.nbytes).atexit = False

    def _destroy_oldest(self) -> None:
        buffer = self._idle.pop(next(iter(self._idle)))
        self._idle_bytes -= buffer.nbytes
        del self._alive[buffer.serial]
        self._alive_bytes -= buffer.nbytes
        self._release(buffer.nbytes)
        self._forget(buffer.serial)
        buffer.destroy()


def require_size(nbytes: int, largest: int) -> None:
    """Raise UnsupportedError for a memory that kp cannot make."""
    if rounded(nbytes) > largest:
        raise UnsupportedError(
            f"a memory of {nbytes:,} bytes is larger than kompute's {largest:,}, for it counts bytes in 32 bits: "
            "use the runtime 'vulkan', or smaller tensors"
        )


def parameter_bytes(nbytes: int) -> int:
    """Size of a buffer for ``nbytes`` of parameters: a power of two, or a multiple of 64 KiB above that.

    Few sizes: kp ties pipelines to buffers, so other parameters should find the buffer of those before them.
    """
    if nbytes <= _PARAMETER_STEP:
        return max(MEMORY_ROUNDING, 1 << (nbytes - 1).bit_length())
    return -(-nbytes // _PARAMETER_STEP) * _PARAMETER_STEP
