"""Parameters of kernels on a kp device: a few buffers by size, filled anew for each kernel."""

from __future__ import annotations

from collections import OrderedDict

from restride.runtime.interface import MEMORY_ROUNDING
from restride.runtime.kompute_memory import Buffer, BufferPool

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
