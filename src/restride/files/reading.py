"""Regular files: opened without waiting for the writer of a pipe, and read within a bound."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from restride.errors import DescriptorError


class NotRegular(OSError):
    """There is a folder, pipe, device or socket where a file should be; or a link, if links are not followed."""


def oddity(status: os.stat_result) -> str:
    """``"a link"`` or, for a device and others, ``"no regular file"``; empty for a regular file and for a folder."""
    if stat.S_ISLNK(status.st_mode):
        return "a link"
    return "" if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else "no regular file"


def require_regular(status: os.stat_result) -> None:
    """Check that the status is that of a regular file.

    Raises:
        NotRegular: it is the status of something else.
    """
    if not stat.S_ISREG(status.st_mode):
        raise NotRegular("it is a link" if stat.S_ISLNK(status.st_mode) else "not a file")


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading; anything else is neither opened nor waited for. follow: links are followed.

    Raises:
        NotRegular: there is no regular file at ``path``.
        OSError, ValueError: it cannot be opened.
    """
    added = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    require_regular(path.stat(follow_symlinks=follow))  # opening a device may do something
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | added))  # noqa: SIM115 - callers close
    try:
        require_regular(os.fstat(file.fileno()))  # something else may be there by now
    except NotRegular:
        file.close()
        raise
    return file


def read_bounded(file: BinaryIO, most_bytes: int) -> bytes:
    """The bytes of a file that ``open_regular`` has opened, at most ``most_bytes``.

    The read asks for no more memory than the file fills, because returning MiBs of it would fragment the heap.

    Raises:
        DescriptorError: the file is longer.
        OSError: the file cannot be read.
    """
    size = os.fstat(file.fileno()).st_size
    content = file.read(size + 1) if size <= most_bytes else b""
    if len(content) > size:  # it grows, or is one of /proc, which have no size
        content += file.read(most_bytes + 1 - len(content))
    if max(size, len(content)) > most_bytes:
        raise DescriptorError(f"it has more than {most_bytes} bytes, the most that it may have")
    return content
