"""Device memory: few driver allocations, many blocks; what is freed is reused once the device is done with it."""

from __future__ import annotations

from collections import deque

from restride.errors import DeviceError, OutOfDeviceMemory
from restride.runtime.interface import rounded
from restride.runtime.vk_chunk import Chunk, Chunks

SLAB_BYTES = 1 << 20
_SMALL_BYTES = 1 << 18
_LARGE_ROUNDING = 1 << 16
_MOST_POOLED_BYTES = 1 << 28


class Block:
    """A part of a chunk, and what the queue does with it.

    used, written: the last submission that touches it, and that writes it; 0: none since it was handed out.
    epoch, reads, writes: for barriers, see ``vk_hazards``.
    pins: host copies under way.
    is_lent: an array of the host's may lie over it, until it is taken back.
    """

    __slots__ = (
        "chunk", "epoch", "generation", "is_lent", "nbytes", "offset", "pins", "reads", "used", "writes", "written"
    )  # fmt: skip

    def __init__(self, chunk: Chunk, offset: int, nbytes: int) -> None:
        self.chunk = chunk
        self.offset = offset
        self.nbytes = nbytes
        self.generation = chunk.generation
        self.pins = 0
        self.is_lent = False
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int]] = []
        self.renew()

    def renew(self) -> None:
        """Forget the past: the device finished with it."""
        self.used = self.written = 0
        self.epoch = -1

    def view(self, offset: int, nbytes: int) -> memoryview:
        """Bytes of a block that the host sees."""
        mapped = self.chunk.view
        if mapped is None:
            raise DeviceError("the host does not see this memory")
        start = self.offset + offset
        return mapped[start : start + nbytes]


class Pool:
    """Blocks of one memory type. The caller holds the runtime's lock.

    Small blocks (up to 256 KiB) come from slabs of 1 MiB in some 80 size classes; larger ones have a chunk of their
    own, rounded up to 64 KiB. Idle large chunks are kept up to 256 MiB or half the heap.

    separate: a chunk for every block, of exactly its size: GPU-assisted validation (1.3.239) compares accesses with
    the buffer, not with the range that is bound, so only then does it see the first byte past the end.
    """

    def __init__(self, chunks: Chunks, offset_alignment: int, heap_bytes: int, *, separate: bool) -> None:
        self.chunks = chunks
        self._separate = separate
        self._most_small = 0 if separate else _SMALL_BYTES
        self._alignment = max(256, offset_alignment)
        self._most_pooled = min(_MOST_POOLED_BYTES, heap_bytes // 2)
        self._idle_slabs: dict[int, Chunk] = {}
        self._filling: Chunk | None = None  # the slab that new blocks come from
        self._idle: dict[int, deque[Block]] = {}  # by size
        self._idle_large: dict[int, Block] = {}  # by chunk, the longest idle first
        self._pooled_bytes = 0  # of the chunks in _idle_large
        self._leaving: deque[Block] = deque()  # freed, the device may still use them
        self.leaving_bytes = 0

    def reuse(self, nbytes: int) -> Block | None:
        """A block without asking the driver, or None."""
        size = self._block_size(nbytes)
        bin_of_size = self._idle.get(size)
        while bin_of_size:
            block = bin_of_size.pop()
            if block.generation != block.chunk.generation or block.chunk not in self.chunks:
                continue
            if size > self._most_small:
                del self._idle_large[block.chunk.serial]
                self._pooled_bytes -= block.chunk.nbytes
            else:
                self._idle_slabs.pop(block.chunk.serial, None)
            block.chunk.live += 1
            block.renew()
            return block
        return self._carve(size) if size <= self._most_small else None

    def grow(self, nbytes: int) -> Block:
        """A block in a new chunk.

        Raises:
            OutOfDeviceMemory: the budget or the driver refuses.
            UnsupportedError: no single allocation of the device is that large.
        """
        size = self._block_size(nbytes)
        if size > self._most_small:
            return _first_block(self._new_chunk(size), size)
        try:
            chunk = self._new_chunk(SLAB_BYTES)
        except OutOfDeviceMemory:
            # The heap has no room for a slab, but may have for the block.
            chunk = self._new_chunk(size)
        self._filling = chunk
        return _first_block(chunk, size)

    def free(self, block: Block) -> None:
        """Take a block back; it is reused after ``collect`` finds the device done with it."""
        self._leaving.append(block)
        self.leaving_bytes += block.nbytes

    def collect(self, completed: int) -> None:
        """Pool the freed blocks that no submission after ``completed`` uses."""
        leaving = self._leaving
        while leaving and leaving[0].used <= completed and not leaving[0].pins:
            block = leaving.popleft()
            self.leaving_bytes -= block.nbytes
            block.chunk.live -= 1
            self._idle.setdefault(block.nbytes, deque()).append(block)
            if block.nbytes > self._most_small:
                self._idle_large[block.chunk.serial] = block
                self._pooled_bytes += block.chunk.nbytes
            elif not block.chunk.live:
                self._idle_slabs[block.chunk.serial] = block.chunk
        while self._pooled_bytes > self._most_pooled:
            self._drop_oldest_large()

    def last_use_of_leaving(self) -> int:
        """The submission after which all freed blocks are idle."""
        return max((block.used for block in self._leaving), default=0)

    def trim(self) -> None:
        """Give every chunk without a live block back to the driver."""
        while self._idle_large:
            self._drop_oldest_large()
        for slab in list(self._idle_slabs.values()):
            self._destroy_slab(slab)

    def _block_size(self, nbytes: int) -> int:
        """Rounded up: to the alignment, small sizes above 2 KiB to eighths of a power of two, large ones to 64 KiB."""
        if self._separate:
            return rounded(nbytes)
        if nbytes > _SMALL_BYTES:
            return -(-nbytes // _LARGE_ROUNDING) * _LARGE_ROUNDING
        step = max(self._alignment, 1 << max(0, (nbytes - 1).bit_length() - 4))
        return -(-nbytes // step) * step

    def _carve(self, size: int) -> Block | None:
        """A new block in the slab that is being filled, or in one that is wholly idle and starts over."""
        slab = self._filling
        if slab is None or slab.top + size > slab.nbytes:
            slab = next((idle for idle in self._idle_slabs.values() if size <= idle.nbytes), None)
            if slab is None:
                return None
            slab.top = 0
            slab.generation += 1
            self._filling = slab
        self._idle_slabs.pop(slab.serial, None)
        block = Block(slab, slab.top, size)
        slab.top += size
        slab.live += 1
        return block

    def _drop_oldest_large(self) -> None:
        serial = next(iter(self._idle_large))
        block = self._idle_large.pop(serial)
        self._pooled_bytes -= block.chunk.nbytes
        self._idle[block.nbytes].remove(block)
        self.chunks.destroy(block.chunk)

    def _destroy_slab(self, slab: Chunk) -> None:
        del self._idle_slabs[slab.serial]
        if self._filling is slab:
            self._filling = None
        self.chunks.destroy(slab)

    def _new_chunk(self, nbytes: int) -> Chunk:
        for make_room in (self.trim, self.chunks.budget.make_room):
            try:
                return self.chunks.make(nbytes)
            except OutOfDeviceMemory:
                make_room()
        return self.chunks.make(nbytes)


def _first_block(chunk: Chunk, size: int) -> Block:
    chunk.top = size
    chunk.live = 1
    return Block(chunk, 0, size)
