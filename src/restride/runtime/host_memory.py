"""Host memory of large results, used again for later ones: the system takes long to give a process new pages.

Smaller results get used memory from the C library: glibc keeps the freed memory of arrays of up to 32 MiB.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from restride.runtime.interface import bytes_at

_LEAST_BYTES = (32 << 20) + 1
"""Bytes of the smallest result whose memory is kept."""

_MOST_BYTES = 256 << 20
"""Most bytes that are kept for later results."""


class HostMemory:
    """Memory of results that nothing refers to any more, kept for the next ones.

    Finalizers give memory back, in any thread and in the middle of any call. So there is no lock: each step is a single
    operation of a dictionary, and if an interrupt comes between two steps, the memory is lost to this pool and freed.

    least_bytes, most_bytes: sizes of the smallest and the largest result whose memory is kept; ``most_bytes`` also
        limits the sum of all memory that is kept.
    """

    def __init__(self, least_bytes: int = _LEAST_BYTES, most_bytes: int = _MOST_BYTES) -> None:
        self.least_bytes = least_bytes
        self._most_bytes = most_bytes
        self._idle: dict[int, npt.NDArray[np.uint8]] = {}  # by identity, the longest idle first

    def empty(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """An array of ``nbytes`` of any value; its memory is used again once no array, view or buffer refers to it."""
        if not self.least_bytes <= nbytes <= self._most_bytes:
            return self._allocate(nbytes)
        memory = self._take(nbytes)
        return np.asarray(_Lent(self, self._allocate(nbytes) if memory is None else memory, nbytes))

    def _take(self, nbytes: int) -> npt.NDArray[np.uint8] | None:
        """Kept memory of ``nbytes`` or a little more; None if there is none."""
        for key, idle in self._idle.copy().items():
            if nbytes <= idle.nbytes <= nbytes + nbytes // 8 and self._idle.pop(key, None) is not None:
                return idle
        return None

    def give_back(self, memory: npt.NDArray[np.uint8]) -> None:
        """Keep ``memory``, which nothing else refers to; if too much is kept then, free what has been idle longest."""
        self._idle[id(memory)] = memory
        self._free(self._most_bytes)

    def trim(self) -> int:
        """Free all that is kept; return how many bytes that was."""
        return self._free(0)

    def _free(self, most_bytes: int) -> int:
        """Free the longest idle memory until at most ``most_bytes`` are kept; return the bytes that were freed."""
        idle, freed = self._idle.copy(), 0
        kept = sum(memory.nbytes for memory in idle.values())
        for key, memory in idle.items():
            if kept - freed <= most_bytes:
                break
            freed += memory.nbytes
            self._idle.pop(key, None)
        return freed

    def _allocate(self, nbytes: int) -> npt.NDArray[np.uint8]:
        try:
            return np.empty(nbytes, np.uint8)
        except MemoryError:
            if not self.trim():
                raise
        return np.empty(nbytes, np.uint8)


class _Lent:
    """An object with ``__array_interface__``: the base of an array and of its views, so it lives as long as they."""

    base = None  # for programs that follow ``.base`` to the array that owns its memory

    def __init__(self, pool: HostMemory, memory: npt.NDArray[np.uint8], nbytes: int) -> None:
        self._pool = pool
        self._memory = memory
        self.__array_interface__ = bytes_at(memory.ctypes.data, nbytes, is_readonly=False)

    def __del__(self) -> None:
        if hasattr(self, "_memory"):  # not if an interrupt came in ``__init__``
            self._pool.give_back(self._memory)


HOST_MEMORY = HostMemory()
"""The memory that this process keeps."""
