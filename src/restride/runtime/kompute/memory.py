"""Memory on a kp device: buffers pooled by size and held to a budget, because a failed allocation is a crash."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import WeakValueDictionary, finalize

from restride.errors import STREAMED, Message, OutOfDeviceMemory
from restride.runtime.heap import HeapBudget
from restride.runtime.interface import MEMORY_ROUNDING, copy_bytes, rounded
from restride.runtime.kompute.device import KomputeDevice, KpSequence, KpTensor

_MAX_IDLE = 64
"""Maximum idle buffers. Without the pool a small reorder takes 5 ms instead of 0.04: kp ties pipelines to buffers."""

_PARAMETER_STEP = 1 << 16


class KpBuffer:
    """One kp tensor and the host's view of its bytes.

    The host's bytes and the device's are the same memory if the tensor is in place. Otherwise either side may be newer;
    ``to_device`` and ``to_host`` update the other side, and do nothing if it is current.

    is_shared: the user has the tensor too, and may run kernels on it unnoticed: the device's side always counts as the
        newer one, and the host's writes go there at once.
    kind: whether it is in place, and kp's element type; kp copies between tensors of one kind.
    """

    def __init__(self, device: KomputeDevice, nbytes: int, serial: int, tensor: KpTensor | None = None) -> None:
        self.nbytes = nbytes
        self.serial = serial
        self.is_shared = tensor is not None
        self.tensor = device.tensor(nbytes) if tensor is None else tensor
        # The bytes never leave this package without a copy, because they dangle once the tensor is destroyed.
        elements = device.ask(self.tensor.data)
        self._bytes = memoryview(elements).cast("B")
        self._in_place = device.is_host(self.tensor)
        self.kind = (self._in_place, elements.dtype)
        self._device = device
        self._upload: Any = None
        self._download: KpSequence | None = None
        self._copy: Any = None
        self._copied = 0  # serial of the buffer that _copy copies from
        self._parameters: bytes | None = None  # the parameters that the buffer holds, if known
        self._host_is_newer = False
        self._device_is_newer = self.is_shared and not self._in_place

    @property
    def is_destroyed(self) -> bool:
        """True if the user destroyed the tensor."""
        return not self._device.ask(self.tensor.size)

    def share(self) -> KpTensor:
        """The tensor, to be handed to the user, with both sides up to date."""
        if not self.is_shared:
            self.to_device()
            self.to_host()
            self.is_shared, self._device_is_newer = True, not self._in_place
        return self.tensor

    def fill(self, parameters: bytes) -> None:
        """Write ``parameters`` to the buffer's beginning, unless they are there already; the rest is undefined."""
        if self._parameters != parameters:
            self.forget_contents()
            self.put(0, memoryview(parameters))
            self._parameters = parameters

    def put(self, offset: int, data: memoryview) -> None:
        """Write ``data`` from the host to byte ``offset``."""
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
        """Read bytes from ``offset`` into ``out`` on the host."""
        self.to_host()
        copy_bytes(out, self._bytes[offset : offset + len(out)])

    def prepare_upload(self, is_filled_later: bool = False) -> None:
        """Record the upload that ``to_device`` runs, if the host has written something, or is about to."""
        if self._host_is_newer or (is_filled_later and not self._in_place):
            self._upload = self._upload or self._device.record_upload(self.tensor)

    def to_device(self) -> None:
        """Bring the device's side up to date, before a kernel uses it."""
        self.prepare_upload()
        if self._host_is_newer:
            self._device.run(self._upload)
            self._host_is_newer = False

    def written_by_kernel(self) -> None:
        """Note that a kernel has written to the buffer."""
        self._parameters = None
        self._device_is_newer = not self._in_place

    def copy_part(self, source: KpBuffer, nbytes: int, src_offset: int, dst_offset: int) -> None:
        """Copy bytes from another buffer, through the host."""
        part = memoryview(bytearray(nbytes))
        source.get(src_offset, part)
        self.put(dst_offset, part)

    def copy_whole(self, source: KpBuffer) -> None:
        """Copy from another buffer of the same size and kind, on the device.

        kp copies whole tensors only, and then copies the host's view of the bytes too, which takes host time.
        """
        source.to_device()
        if self._copied != source.serial:
            self._copy, self._copied = self._device.record_copy(source.tensor, self.tensor), source.serial
        self._device.run(self._copy)
        if source.is_shared:  # keep no recording, which would keep the user's tensor alive
            self._copy, self._copied = None, 0
        self._host_is_newer = False
        self.written_by_kernel()

    def to_host(self) -> None:
        """Bring the host's side up to date, before the host reads it."""
        if self._device_is_newer:
            self._download = self._download or self._device.record_download(self.tensor)
            self._device.run(self._download)
            self._device_is_newer = self.is_shared

    def forget_contents(self) -> None:
        """Mark the bytes as undefined, so that neither side is copied to keep them."""
        if self._host_is_newer:
            self._parameters = None
        self._host_is_newer = self._device_is_newer = False

    def destroy(self) -> None:
        """Free the memory; no sequence recorded with it may run again."""
        del self._bytes
        self._upload = self._download = self._copy = None
        self.tensor.destroy()


class KomputeMemory:
    """A ``Memory`` that holds a buffer of the pool until it is freed. nbytes: the size that was requested."""

    readonly = is_shareable = False

    def __init__(self, pool: BufferPool, nbytes: int, shared: KpBuffer | None = None) -> None:
        self.pool = pool
        self.nbytes = nbytes
        # A list with the buffer, or empty: list.pop() is atomic, so two threads cannot free it twice.
        self._buffers: list[KpBuffer] = []
        self._buffers.append(shared or pool.take(rounded(nbytes)))

    @property
    def buffer(self) -> KpBuffer | None:
        """The buffer of this memory; None once the memory is freed."""
        return next(iter(self._buffers), None)

    def free(self) -> None:
        """Give the buffer back to the pool."""
        # A copy that failed half-way has no attributes.
        try:
            self.pool.give_back(self._buffers.pop())
        except (IndexError, AttributeError):
            return

    def __del__(self) -> None:
        self.free()


class BufferPool:
    """The buffers in use, and idle ones to reuse for memories of the same size: up to 64, or a quarter of the budget.

    Every buffer is a driver allocation of exactly the requested size, because kp's bindings cover whole buffers. One
    thread at a time may call it, except ``give_back``. ``forget`` is called with the serial of a destroyed buffer.

    heaps: pairs of a budget and the most bytes of it that may be taken. Each driver allocation of a buffer counts
        against one pair, and against a second if the device has a memory limit.
    """

    _alive_bytes = 0  # because __del__ also runs on a copy that failed half-way

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
        self._alive: dict[int, KpBuffer] = {}
        self._idle: dict[int, KpBuffer] = {}  # by serial; the buffer that has been idle longest comes first
        self._idle_bytes = 0
        self._returned: deque[KpBuffer] = deque()
        # Key: id of the kp tensor, which its memory keeps alive. Each tensor has one memory, so that overlaps are
        # noticed.
        self._shared: WeakValueDictionary[int, KomputeMemory] = WeakValueDictionary()
        self._foreign = count(-1, -1)  # serials of buffers that the pool did not allocate
        self._most_idle_bytes = min(most for _, most in self.heaps) // 4

    @property
    def bytes_allocated(self) -> int:
        """Bytes allocated from the driver and not freed; a buffer with a mapped twin counts twice."""
        return self._alive_bytes * self._allocations_each

    @property
    def bytes_in_use(self) -> int:
        """Bytes of the buffers in use, including those given back since the last ``collect``."""
        return self._alive_bytes - self._idle_bytes

    @property
    def _allocations_each(self) -> int:
        return 1 if self._device.in_place else 2

    def take(self, nbytes: int) -> KpBuffer:
        """A buffer of ``nbytes`` with undefined contents.

        Raises:
            OutOfDeviceMemory: the budget has no room for it.
        """
        same_size = [serial for serial, buffer in self._idle.items() if buffer.nbytes == nbytes]
        if same_size:
            # Take the buffer with the lowest serial, whatever the order in which buffers came back: a loop then gets
            # the same buffers in the same roles, for which pipelines exist.
            self._idle_bytes -= nbytes
            return self._idle.pop(min(same_size))
        if (refusal := self._refusal(nbytes)) is not None:
            if any(nbytes > most for _, most in self.heaps):
                raise refusal
            self.trim()
            # If a heap's budget is full, ask other devices to free memory; that does not help against this device's own
            # limit.
            for heap, most in self.heaps:
                if heap.used + nbytes * self._allocations_each > most:
                    heap.make_room()
            if (refusal := self._refusal(nbytes)) is not None:
                raise refusal
        self.allocations += self._allocations_each
        try:
            buffer = KpBuffer(self._device, nbytes, self.allocations)
        except BaseException:
            self._release(nbytes)
            raise
        self._alive[buffer.serial] = buffer
        self._alive_bytes += nbytes
        return buffer

    def shared(self, tensor: KpTensor) -> KomputeMemory | None:
        """The memory for ``tensor``; None if there is none yet."""
        memory = self._shared.get(id(tensor))
        return memory if memory is not None and memory.buffer is not None else None

    def adopt(self, tensor: KpTensor, nbytes: int) -> KomputeMemory:
        """A memory for a tensor of the user's, which counts against no budget."""
        buffer = KpBuffer(self._device, nbytes, next(self._foreign), tensor)
        memory = self._shared[id(tensor)] = KomputeMemory(self, nbytes, buffer)
        return memory

    def share(self, memory: KomputeMemory, buffer: KpBuffer) -> KpTensor:
        """The tensor that holds ``memory``, to be handed to the user. Its buffer is never reused for another memory."""
        self._shared[id(buffer.tensor)] = memory
        return buffer.share()

    def give_back(self, buffer: KpBuffer) -> None:
        """Queue a buffer for ``collect``; any thread and any finalizer may call it."""
        self._returned.append(buffer)

    def trim(self) -> None:
        """Free the idle buffers."""
        while self._idle:
            self._destroy_oldest()

    def destroy(self) -> None:
        """Free every buffer, those in use included, except the tensors that the user has."""
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
        # Dropped without ``destroy``: the buffers go with the pool.
        if self._alive_bytes:
            self._release(self._alive_bytes)

    def _refusal(self, nbytes: int) -> OutOfDeviceMemory | None:
        """Take the bytes from every budget and return None; or take none and return the error to raise."""
        if len(self._alive) >= self.max_buffers:
            held = f", in {len(self._alive):,} of at most {self.max_buffers:,} buffers"
            return self._exhausted(nbytes, *self.heaps[0], held)
        for number, (heap, most) in enumerate(self.heaps):
            if not heap.reserve(nbytes, most):
                for reserved, _ in self.heaps[:number]:
                    reserved.release(nbytes)
                return self._exhausted(nbytes, heap, most)
        return None

    def _release(self, nbytes: int) -> None:
        for heap, _ in self.heaps:
            heap.release(nbytes)

    def _exhausted(self, nbytes: int, heap: HeapBudget, most: int, cause: str = "") -> OutOfDeviceMemory:
        of = heap.name if most == heap.heap_bytes else f"{heap.name} less an eighth"
        rule = (
            f"{self._device.name} (kompute) has no room for {nbytes:,} bytes: {heap.used:,} of {most:,} bytes of its "
            f"{of} are in use{cause}"
        )
        return OutOfDeviceMemory(Message.of(rule, f"; free tensors; {STREAMED}"))

    def collect(self) -> None:
        """Pool the buffers given back. Not in the middle of a submit, which may still use what another thread frees."""
        while self._returned:
            self.put_back(self._returned.popleft())

    def put_back(self, buffer: KpBuffer) -> None:
        """Pool a buffer that nothing uses any more; one that the user has is forgotten instead."""
        if buffer.is_shared:
            self._drop(buffer)
            return
        buffer.forget_contents()
        self._idle[buffer.serial] = buffer
        self._idle_bytes += buffer.nbytes
        while len(self._idle) > _MAX_IDLE or self._idle_bytes > self._most_idle_bytes:
            self._destroy_oldest()

    def _drop(self, buffer: KpBuffer) -> None:
        """Forget a buffer without destroying its tensor, whose bytes count as used until the user drops it too."""
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


def parameter_bytes(nbytes: int) -> int:
    """Size of a buffer for ``nbytes`` of parameters: a power of two up to 64 KiB, above that a multiple of 64 KiB.

    There are few sizes because kp ties pipelines to buffers: other parameters should get the same buffer.
    """
    if nbytes <= _PARAMETER_STEP:
        return max(MEMORY_ROUNDING, 1 << (nbytes - 1).bit_length())
    return -(-nbytes // _PARAMETER_STEP) * _PARAMETER_STEP
