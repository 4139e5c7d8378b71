"""Journal: numbers of completely written chunks in a small text file, so that an interrupted stream can continue."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import BinaryIO, Self

from restride.errors import DescriptorError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_EVERY = 1.0
"""The file is written this often, in seconds; after a kill, as much work may be repeated."""

_MAX_SHOWN = 500
"""Maximum number of characters of other work that an error shows."""


class Journal:
    """A file whose first line identifies the work; each further line is the number of a written chunk.

    A number is recorded after the destination was flushed. A line that a kill cut off is dropped. The file is locked
    while it is open; the system unlocks it if the process ends.

    Args:
        path: the file; None: nothing is recorded.
        work: one line that identifies the work.
        flush: function that moves written data to where a killed process cannot lose it.
        count: number of chunks of the work.

    Raises:
        DescriptorError: the file is no journal, or one of other work, or a line is no number of a chunk; or another
            stream uses it.
        OSError: the file cannot be read, written or locked.
    """

    def __init__(self, path: str | os.PathLike[str] | None, work: str, flush: Callable[[], None], count: int) -> None:
        self.written: set[int] = set()
        self._flush = flush
        self._waiting: list[int] = []
        self._synced = monotonic()
        self._file = None
        if path is None:
            return
        self._file = Path(path).open("a+b")  # noqa: SIM115 - closed by __exit__
        try:
            self._begin(self._file, os.fspath(path), work, count)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, file: BinaryIO, name: str | bytes, work: str, count: int) -> None:
        """Lock the file, and read the numbers in it or write its first line."""
        try:
            _lock(file)
        except (BlockingIOError, PermissionError) as error:
            raise DescriptorError(
                f"journal {name!r} is in use by another stream, which must end first: two would write the same chunks"
            ) from error
        file.seek(0)
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        header = f"restride stream 1: {work}\n".encode()
        if not whole and header.startswith(content):
            file.truncate(0)
            file.write(header)
            file.flush()
            return
        if not whole.startswith(header):
            raise DescriptorError(
                f"journal {name!r} is of other work, or no journal: give another file, or delete it to make "
                f"everything again; this work is {work}, the journal's {_first_line(whole)}"
            )
        for place, line in enumerate(whole[len(header) :].split(b"\n")[:-1], 2):
            if not (line.isdigit() and len(line) <= len(str(count)) and int(line) < count):
                raise DescriptorError(
                    f"line {place} of journal {name!r} must be a number of the {count} chunks, from 0 on, got "
                    f"{line.decode(errors='replace')[:60]!r}"
                )
            self.written.add(int(line))
        file.truncate(len(whole))

    def add(self, chunk: int) -> None:
        """Note that the chunk is completely written."""
        self._waiting.append(chunk)
        if monotonic() - self._synced > _EVERY:
            self.sync()

    def sync(self) -> None:
        """Flush the destination, then record the chunks added since the last call."""
        if self._file is not None and self._waiting:
            self._flush()
            self._file.write("".join(f"{chunk}\n" for chunk in self._waiting).encode())
            self._file.flush()
        self._waiting.clear()
        self._synced = monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with suppress(*([Exception] if error is not None else [])):  # unrecorded chunks are written again
                self.sync()
        finally:
            if self._file is not None:
                self._file.close()


_LOCKED = (1 << 31) - 1
"""On Windows the lock is on this byte, beyond the end of any journal, because a locked byte cannot be read."""


def _lock(file: BinaryIO) -> None:
    """Lock the file until it is closed, or this process ends.

    Raises:
        BlockingIOError: it is locked already; PermissionError on Windows.
        OSError: its file system has no locks.
    """
    if sys.platform == "win32":
        file.seek(_LOCKED)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _first_line(content: bytes) -> str:
    """The description of its work in a journal, quoted and shortened, for an error."""
    line = content.partition(b"\n")[0].decode("utf-8", "replace").removeprefix("restride stream 1: ")
    return repr(line[:_MAX_SHOWN])
