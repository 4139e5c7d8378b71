"""Copies by the device: between two blocks, and to and from the host through two staging buffers that take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable

from restride.errors import DeviceTimeout
from restride.runtime.host_bytes import copy_bytes
from restride.runtime.loader import struct
from restride.runtime.vulkan.memory import Block
from restride.runtime.vulkan.session import Session

PIECE_BYTES = 4 << 20


def start_copy(
    session: Session, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int
) -> int:
    """Start a copy of ``nbytes`` > 0 bytes, at any offsets in two blocks; its ticket."""
    uses = [
        (source, source_offset, source_offset + nbytes, False),
        (target, target_offset, target_offset + nbytes, True),
    ]
    region = struct(
        "VkBufferCopy",
        srcOffset=source.offset + source_offset,
        dstOffset=target.offset + target_offset,
        size=nbytes,
    )
    session.make_room()
    with session.lock:
        session.enter()
        queue = session.queue
        slot = queue.begin(uses)
        try:
            if queue.hazards.conflict(uses):
                queue.barrier(slot)
            session.device.vk.vkCmdCopyBuffer(slot.command, source.chunk.buffer, target.chunk.buffer, 1, region)
            return queue.finish(slot, uses)
        except BaseException:
            queue.abandon(slot)
            raise


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
                start_copy(self._session, stage, 0, block, offset + start, len(piece))

    def read(self, block: Block, offset: int, out: memoryview) -> None:
        """Fill ``out`` from the device: one piece arrives while the one before it is taken."""
        with _Turn(self._turn, self._session.timeout):
            finish: Callable[[], None] | None = None
            for number, start in enumerate(range(0, len(out), PIECE_BYTES)):
                piece = out[start : start + PIECE_BYTES]
                stage = self._stage(number)
                ticket = start_copy(self._session, block, offset + start, stage, 0, len(piece))
                if finish is not None:
                    finish()
                finish = self._finish(stage, ticket, piece)
            if finish is not None:
                finish()

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
