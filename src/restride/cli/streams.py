"""Standard streams that are closed, full, or left by their reader: no traceback, and nothing said at exit."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TypeGuard

_UNWRITTEN = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN}


def open_closed() -> None:
    """Give a process that was started without stdout or stderr (``>&-``) one that goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115 - to the end
            setattr(sys, name, nowhere)


def is_about_a_stream(error: BaseException) -> TypeGuard[OSError]:
    """Whether ``print`` raised it: its reader has gone, its disk is full. Errors of files have a name, or are ours."""
    return isinstance(error, OSError) and error.errno in _UNWRITTEN and error.filename is None


def flush() -> OSError | None:
    """Flush both; the error of one that takes nothing more: what is still in its buffer then goes nowhere."""
    found = None
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except OSError as error:
            found = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
    return found


def complain(text: str, begin: str = "restride: ") -> None:
    """Lines on stderr, if they can be written."""
    try:
        print(f"{begin}{text.rstrip()}", file=sys.stderr, flush=True)
    except OSError:
        flush()
