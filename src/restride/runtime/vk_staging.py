"""Bytes between the host and the device: copied in place, or in pieces through two staging buffers that take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from restride.errors import DeviceTimeout
from restride.runtime.host_bytes import copy_bytes
from restride.runtime.vk_memory import Block

PIECE_BYTES = 4 << 20


class DeviceCopier(Protocol):
    """What staging needs of the runtime; each takes the runtime's lock by itself."""

    timeout: float

    def staging_block(self, nbytes: int) -> Block:
        """A block that the host sees, for the runtime's life."""

    def copy(self, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int) -> int:
        """Start a copy on the device; its ticket."""

    def wait_for(self, ticket: int) -> None:
        """Wait, with the time limit."""


class Staging:
    """Two staging buffers; one transfer at a time."""

    def __init__(self, copier: DeviceCopier) -> None:
        self._copier = copier
        self._turn = threading.Lock()
        self._blocks: list[Block] = []

    def write(self, block: Block, offset: int, data: memoryview) -> None:
        """Copy ``data`` to the device; the last pieces may still be on their way, in submission order."""
        with _Turn(self._turn, self._copier.timeout):
            for number, start in enumerate(range(0, len(data), PIECE_BYTES)):
                piece = data[start : start + PIECE_BYTES]
                stage = self._stage(number)
                self._copier.wait_for(stage.used)
                copy_bytes(stage.view(0, len(piece)), piece)
                self._copier.copy(stage, stage.offset, block, block.offset + offset + start, len(piece))

    def read(self, block: Block, offset: int, out: memoryview) -> None:
        """Fill ``out`` from the device: one piece arrives while the one before it is taken."""
        with _Turn(self._turn, self._copier.timeout):
            finish: Callable[[], None] | None = None
            for number, start in enumerate(range(0, len(out), PIECE_BYTES)):
                piece = out[start : start + PIECE_BYTES]
                stage = self._stage(number)
                ticket = self._copier.copy(block, block.offset + offset + start, stage, stage.offset, len(piece))
                if finish is not None:
                    finish()
                finish = self._finish(stage, ticket, piece)
            if finish is not None:
                finish()

    def _finish(self, stage: Block, ticket: int, piece: memoryview) -> Callable[[], None]:
        def finish() -> None:
            self._copier.wait_for(ticket)
            copy_bytes(piece, stage.view(0, len(piece)))

        return finish

    def _stage(self, number: int) -> Block:
        if len(self._blocks) <= number % 2:
            self._blocks.append(self._copier.staging_block(PIECE_BYTES))
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
