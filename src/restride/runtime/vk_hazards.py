"""Where barriers go: between uses of the same bytes, one of which writes, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from restride.runtime.vk_memory import Block

Use: TypeAlias = tuple[Block, int, int, bool]
"""A block, the bytes ``[start, end)`` of it that one command may touch, and whether it may write them."""

MOST_WINDOWS = 64


class Hazards:
    """Notes which bytes were used since the last barrier, which orders everything before it against everything after.

    The notes are on the blocks: ``reads`` and ``writes``, windows that are valid while the block's ``epoch`` is the
    current one, the number of the last barrier. A window that meets the one before it is joined to it, and past 64 of
    them the whole block counts as used.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._unknown = False
        self.enabled = True
        """Tests turn barriers off, to see that validation catches it."""

    def conflict(self, uses: Sequence[Use]) -> bool:
        """True if the next command needs a barrier before it; notes what it uses."""
        epoch = self._epoch
        needed = self._unknown
        for block, start, end, writes in uses:
            if block.epoch == epoch and (
                (block.writes and _meets(block.writes, start, end))
                or (writes and block.reads and _meets(block.reads, start, end))
            ):
                needed = True
                break
        if needed:
            self._epoch = epoch = epoch + 1
            self._unknown = False
        for block, start, end, writes in uses:
            if block.epoch != epoch:
                block.epoch = epoch
                block.reads, block.writes = ([], [(start, end)]) if writes else ([(start, end)], [])
                continue
            windows = block.writes if writes else block.reads
            if windows:
                _join(windows, start, end, block.nbytes)
            else:
                windows.append((start, end))
        return needed and self.enabled

    def abandon(self) -> None:
        """A recording was thrown away, perhaps with barriers that count as recorded: the next command gets one."""
        self._unknown = True


def _meets(windows: list[tuple[int, int]], start: int, end: int) -> bool:
    for window_start, window_end in windows:  # noqa: SIM110 - any() takes twice the time
        if window_start < end and start < window_end:
            return True
    return False


def _join(windows: list[tuple[int, int]], start: int, end: int, whole: int) -> None:
    last_start, last_end = windows[-1]
    if last_start <= start and end <= last_end:
        return
    if start <= last_end and last_start <= end:
        windows[-1] = (min(start, last_start), max(end, last_end))
    elif len(windows) < MOST_WINDOWS:
        windows.append((start, end))
    else:
        windows[:] = [(0, whole)]
