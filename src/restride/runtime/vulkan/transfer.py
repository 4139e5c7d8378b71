"""Copies by the device: between two blocks, and to and from the host through two staging buffers that take turns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
        """Copy ``data`` to the device; the last pieces may still be under way when it returns, in submission order."""
        with self._transfer():
            for stage, start, piece in self._pieces(data):
                self._session.wait_for(stage.used)
                copy_bytes(stage.view(0, len(piece)), piece)
                start_copy(self._session, stage, 0, block, offset + start, len(piece))

    def read(self, block: Block, offset: int, out: memoryview) -> None:
        """Fill ``out`` from the device: one piece arrives while the one before it is copied."""
        with self._transfer():
            arriving: tuple[Block, int, memoryview] | None = None
            for stage, start, piece in self._pieces(out):
                ticket = start_copy(self._session, block, offset + start, stage, 0, len(piece))
                if arriving is not None:
                    self._receive(*arriving)
                arriving = stage, ticket, piece
            if arriving is not None:
                self._receive(*arriving)

    def _receive(self, stage: Block, ticket: int, piece: memoryview) -> None:
        self._session.wait_for(ticket)
        copy_bytes(piece, stage.view(0, len(piece)))

    def _pieces(self, data: memoryview) -> Iterator[tuple[Block, int, memoryview]]:
        """The staging buffer for each piece of ``data``, where the piece starts, and the piece."""
        for start in range(0, len(data), PIECE_BYTES):
            number = start // PIECE_BYTES % 2
            if len(self._blocks) <= number:
                self._blocks.append(self._session.staging_block(PIECE_BYTES))
            yield self._blocks[number], start, data[start : start + PIECE_BYTES]

    @contextmanager
    def _transfer(self) -> Iterator[None]:
        """The time limit of a wait holds for another thread's transfer too."""
        timeout = self._session.timeout
        if not self._turn.acquire(timeout=min(timeout, threading.TIMEOUT_MAX)):
            raise DeviceTimeout(
                f"another thread's transfer did not finish within the time limit of {timeout:g} s; "
                "for a longer limit open Device(timeout=...)"
            )
        try:
            yield
        finally:
            self._turn.release()
