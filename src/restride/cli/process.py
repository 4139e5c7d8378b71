"""A command as a process: its exit codes, the signals that end it, and standard streams that cannot be written."""

from __future__ import annotations

import _thread
import errno
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeGuard

from restride.errors import DescriptorError, DeviceError, DeviceNotFound, RestrideError, StreamError, UnsupportedError


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    INTERNAL = 3
    NO_DEVICE = 4
    NOTHING_SELECTED = 5
    DEVICE_FAILED = 6
    INTERRUPTED = 130
    PIPE_CLOSED = 141


EXPLAINED = (
    "exit codes: 0 ok; 1 a check failed; 2 bad arguments or input; 3 internal error; 4 no such device or driver; "
    "5 nothing selected; 6 device lost, timed out or out of memory, or a case that crashed or hung; 130 interrupted or "
    "terminated; 141 nobody reads the output"
)


class UsageError(RestrideError):
    """The command line, or a file that it names, is not valid."""


def line_for(error: BaseException) -> str:
    """The message of an error, in words of the command line: one line, except for a compiler's messages."""
    text = "\n".join(line.rstrip() for line in str(error).splitlines() if line.strip()) or type(error).__name__
    return in_options(text.replace("open Device(timeout=...)", "use --timeout SECONDS"))


def in_options(text: str) -> str:
    """What a message advises, as options: ``axes=(0, 1)`` is ``--axes 0 1``."""
    return re.sub(r"\baxes=\(([\d, ]+)\)", lambda axes: f"--axes {' '.join(re.findall('[0-9]+', axes[1]))}", text)


INTERRUPTED = "interrupted"
"""What a report says of a run that the user ended."""


def why_ended(error: BaseException | None) -> str:
    """Why a run ended early, as its report says it; empty if it did not."""
    return "" if error is None else INTERRUPTED if isinstance(error, KeyboardInterrupt) else line_for(error)


def exit_for(error: Exception) -> Exit | None:
    """The exit code of an error that a user can act on; None: an internal error."""
    if isinstance(error, UsageError | DescriptorError | UnsupportedError):
        return Exit.USAGE
    if isinstance(error, DeviceNotFound):
        return Exit.NO_DEVICE
    if isinstance(error, DeviceError | MemoryError):
        return Exit.DEVICE_FAILED
    if isinstance(error, StreamError):  # of a device, or of a file that cannot be read or written
        return (exit_for(error.__cause__) if isinstance(error.__cause__, Exception) else None) or Exit.USAGE
    return None


# Signals that end a program raise what Ctrl-C raises, so that the same code cleans up after all of them.


@contextmanager
def as_interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, and so do SIGTERM and SIGHUP, once.

    Where one is ignored, as SIGHUP under nohup, it stays ignored.
    """
    before = {number: handler for number in _endings() if (handler := signal.getsignal(number)) is not signal.SIG_IGN}

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        # A terminal that closes sends one after the other: the second would find reports half written.
        for each in before:
            if each != signal.SIGINT:
                signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number).name)

    def repeat(unraisable: sys.UnraisableHookArgs) -> None:
        """What Python drops, since a finalizer or a callback of C was running, is raised a moment later."""
        error = unraisable.exc_value
        if isinstance(error, KeyboardInterrupt) and error.args:
            number = signal.Signals[error.args[0]]
            signal.signal(number, interrupt)
            # Not Timer.start, which waits for the thread: the signal would come here, where Python drops it as well.
            _thread.start_new_thread(_send_later, (number,))
        else:
            hook(unraisable)

    hook = sys.unraisablehook
    try:
        sys.unraisablehook = repeat
        for number in before:
            signal.signal(number, interrupt)
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _send_later(number: signal.Signals) -> None:
    """Send a signal to the main thread, which has left the hook by then."""
    time.sleep(0.05)
    if hasattr(signal, "pthread_kill"):  # it also ends a wait of that thread
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def ignore_endings() -> None:
    """All that is left is to say how it went: no signal ends the process any more."""
    for number in _endings():
        signal.signal(number, signal.SIG_IGN)
    # CPython notes a KeyboardInterrupt that leaves the code of a string, as of a dataclass or namedtuple that an import
    # makes, even where it is caught further out. At its end `python -m` then kills itself with SIGINT in the place of
    # returning the exit code. The next code of a string takes the note back.
    exec("")  # noqa: S102 - as said


def _endings() -> list[signal.Signals]:
    """The signals that ask a process to end; none outside of the main thread, where Python refuses to handle any."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


# Standard streams that are closed, full, or no longer read: no traceback, and no message at exit.

_UNWRITTEN = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN}


def open_closed() -> None:
    """Give a process that was started without stdout or stderr (``>&-``) one that goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115 - to the end
            setattr(sys, name, nowhere)


def is_about_a_stream(error: BaseException) -> TypeGuard[OSError]:
    """True if ``print`` raised it: the reader has gone, the disk is full. Errors of files have a file name."""
    return isinstance(error, OSError) and error.errno in _UNWRITTEN and error.filename is None


def flush() -> OSError | None:
    """Flush both; the error of one that cannot be written, whose buffered text is then dropped."""
    failure = None
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except OSError as error:
            failure = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
    return failure


def complain(text: str, begin: str = "restride: ") -> None:
    """Lines on stderr, if they can be written."""
    try:
        print(f"{begin}{text.rstrip()}", file=sys.stderr, flush=True)
    except OSError:
        flush()
