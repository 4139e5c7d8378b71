"""Parameters of kernels: small read-only buffers, found again by their contents."""

from __future__ import annotations

from collections import OrderedDict, deque

from restride.runtime.interface import rounded
from restride.runtime.vk_memory import Block, Pool

MOST_KEPT_BYTES = 1 << 20
_MOST_KEPT_EACH = MOST_KEPT_BYTES // 4


class Parameters:
    """Blocks by contents, the least recently used first, 1 MiB in all. The caller holds the runtime's lock."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._kept: OrderedDict[bytes, Block] = OrderedDict()
        self._kept_bytes = 0
        self._touched: list[Block] = []
        self._transient: list[Block] = []
        self._freed: deque[tuple[int, int]] = deque()  # last submission and bytes

    def get(self, contents: bytes, ticket: int) -> Block:
        """The block that holds ``contents``, for submission ``ticket``; zeros follow up to a multiple of 16 bytes.

        Raises:
            OutOfDeviceMemory: there is no room for it.
        """
        block = self._kept.get(contents)
        if block is not None:
            self._kept.move_to_end(contents)
        else:
            block = self._pool.reuse(len(contents)) or self._pool.grow(len(contents))
            padded = contents.ljust(rounded(len(contents)), b"\0")
            block.view(0, len(padded))[:] = padded
            if len(contents) > _MOST_KEPT_EACH:
                self._transient.append(block)
            else:
                self._keep(contents, block)
        block.used = ticket
        self._touched.append(block)
        return block

    def settle(self, ticket: int, completed: int) -> None:
        """The submission was made, as ``ticket``, or it failed and ``ticket`` is the one before."""
        for block in self._touched:
            block.used = ticket
        for block in self._transient:
            self._free(block)
        self._touched.clear()
        self._transient.clear()
        while self._freed and self._freed[0][0] <= completed:
            self._freed.popleft()

    def bytes_in_use(self, completed: int) -> int:
        """Bytes of parameters for submissions after ``completed``."""
        kept = [(block.used, block.nbytes) for block in self._kept.values()]
        return sum(nbytes for used, nbytes in (*kept, *self._freed) if used > completed)

    def _keep(self, contents: bytes, block: Block) -> None:
        self._kept[contents] = block
        self._kept_bytes += block.nbytes
        while self._kept_bytes > MOST_KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.nbytes
            self._free(oldest)

    def _free(self, block: Block) -> None:
        self._freed.append((block.used, block.nbytes))
        self._pool.free(block)
