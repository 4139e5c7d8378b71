"""Parameters of kernels: small read-only buffers, found again by their contents."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from restride.runtime.interface import rounded
from restride.runtime.vk_memory import Block, Pool

MOST_KEPT_BYTES = 1 << 20
_MOST_KEPT_EACH = MOST_KEPT_BYTES // 4


class Parameters:
    """Blocks by contents, 1 MiB in all. The caller holds the runtime's lock.

    dropped: called before blocks are freed that are not of one submission alone.
    """

    def __init__(self, pool: Pool, dropped: Callable[[], None]) -> None:
        self._pool = pool
        self._dropped = dropped
        self._kept: dict[bytes, Block] = {}
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
        if block is None:
            block = self._pool.reuse(len(contents)) or self._pool.grow(len(contents))
            padded = contents.ljust(rounded(len(contents)), b"\0")
            block.view(0, len(padded))[:] = padded
            block.used = ticket
            if len(contents) > _MOST_KEPT_EACH:
                self._transient.append(block)
            else:
                self._keep(contents, block)
        self.use((block,), ticket)
        return block

    def use(self, blocks: Sequence[Block], ticket: int) -> None:
        """Submission ``ticket`` reads blocks that ``get`` gave for one before it."""
        for block in blocks:
            block.used = ticket
        self._touched += blocks

    @property
    def are_kept(self) -> bool:
        """False where a block is of the submission that is being made, and of no other."""
        return not self._transient

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
        if self._kept_bytes > MOST_KEPT_BYTES:
            self._dropped()
            for oldest in sorted(self._kept, key=lambda kept: self._kept[kept].used):
                if self._kept_bytes <= MOST_KEPT_BYTES // 2:
                    break
                dropped = self._kept.pop(oldest)
                self._kept_bytes -= dropped.nbytes
                self._free(dropped)

    def _free(self, block: Block) -> None:
        self._freed.append((block.used, block.nbytes))
        self._pool.free(block)
