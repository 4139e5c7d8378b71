"""Bytes between the host and the device: copied in place, or in pieces through two staging buffers that take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable

from restride.errors import DeviceTimeout
from restride.runtime.host_bytes import copy_bytes
from restride.runtime.loader import struct
from restride.runtime.vk_memory import Block
from restride.runtime.vk_session import Session

PIECE_BYTES = 4 << 20


class Staging:
    """Two staging buffers; one transfer at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = threading.Lock()
        self._blocks: list[Block] = []

    def write(self, block: Block, offset: int, data: memoryview) -> None:
        """Copy ``data`` to the device; the last pieces may still be on their way, in submission order."""
        with _Turn(self._turn, self._session.timeout):
            for number, start in enumerate(range(0, len(data), PIECE_BYTES)):
                piece = data[start : start + PIECE_BYTES]
                stage = self._stage(number)
                self._session.wait_for(stage.used)
                copy_bytes(stage.view(0, len(piece)), piece)
                self._copy(stage, stage.offset, block, block.offset + offset + start, len(piece))

    def read(self, block: Block, offset: int, out: memoryview) -> None:
        """Fill ``out`` from the device: one piece arrives while the one before it is taken."""
        with _Turn(self._turn, self._session.timeout):
            finish: Callable[[], None] | None = None
            for number, start in enumerate(range(0, len(out), PIECE_BYTES)):
                piece = out[start : start + PIECE_BYTES]
                stage = self._stage(number)
                ticket = self._copy(block, block.offset + offset + start, stage, stage.offset, len(piece))
                if finish is not None:
                    finish()
                finish = self._finish(stage, ticket, piece)
            if finish is not None:
                finish()

    def _copy(self, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int) -> int:
        """Start a copy on the device, in order with the dispatches; its ticket. Offsets are those of the buffers."""
        uses = [
            (source, source_offset - source.offset, source_offset - source.offset + nbytes, False),
            (target, target_offset - target.offset, target_offset - target.offset + nbytes, True),
        ]
        region = struct("VkBufferCopy", srcOffset=source_offset, dstOffset=target_offset, size=nbytes)
        with self._session.room():
            queue = self._session.queue
            slot = queue.begin()
            try:
                if queue.hazards.conflict(uses):
                    queue.barrier(slot)
                vk = self._session.device.vk
                vk.vkCmdCopyBuffer(slot.command, source.chunk.buffer, target.chunk.buffer, 1, region)
                return queue.finish(slot, uses)
            except BaseException:
                queue.abandon(slot)
                raise

    def _finish(self, stage: Block, ticket: int, piece: memoryview) -> Callable[[], None]:
        def finish() -> None:
            self._session.wait_for(ticket)
            copy_bytes(piece, stage.view(0, len(piece)))

        return finish

    def _stage(self, number: int) -> Block:
        if len(self._blocks) <= number % 2:
            self._blocks.append(self._session.staging_block(PIECE_BYTES))
        return self._blocks[number % 2]


class _Turn:
    """A lock with the time limit of a wait."""

    def __init__(self, lock: threading.Lock, timeout: float) -> None:
        self._lock = lock
        self._timeout = timeout

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=min(self._timeout, threading.TIMEOUT_MAX)):
            raise DeviceTimeout(
                f"another thread's transfer did not finish within the time limit of {self._timeout:g} s; "
                "for a longer limit open Device(timeout=...)"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()
