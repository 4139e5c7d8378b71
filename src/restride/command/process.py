"""The process of a command: exit codes, signals that end it, and standard streams that cannot be written."""

from __future__ import annotations

import _thread
import errno
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO, TypeGuard

from restride.errors import (
    DescriptorError,
    DeviceError,
    DeviceNotFound,
    RestrideError,
    StreamError,
    UnsupportedError,
    command_text,
    printable,
)


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


class NothingSelected(RestrideError):
    """No case, workload or row is selected, so there is nothing to do."""


def line_for(error: BaseException) -> str:
    """The message of an error as a command prints it."""
    lines = command_text(error).split("\n")
    text = "\n".join(line.rstrip() for line in lines if line.strip()) or type(error).__name__
    return "; ".join([text, *getattr(error, "__notes__", ())])


def counted(number: int, what: str) -> str:
    """``"1 file"``, ``"2 files"``."""
    return f"{number} {what}{'s' * (number != 1)}"


INTERRUPTED = "interrupted"
"""The reason in a report for a run that the user ended."""


def why_ended(error: BaseException | None) -> str:
    """The reason why a run ended early, for its report; empty if it did not."""
    return "" if error is None else INTERRUPTED if isinstance(error, KeyboardInterrupt) else line_for(error)


def interrupt_of(error: BaseException) -> KeyboardInterrupt | None:
    """The KeyboardInterrupt that caused ``error``, or None.

    Python before 3.12 wraps an interrupt that comes in ``__set_name__``, which runs while classes are made at import.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause


def exit_for(error: Exception) -> Exit | None:
    """The exit code for an error that a user can act on; None for an internal error."""
    if isinstance(error, UsageError | DescriptorError | UnsupportedError):
        return Exit.USAGE
    if isinstance(error, NothingSelected):
        return Exit.NOTHING_SELECTED
    if isinstance(error, DeviceNotFound):
        return Exit.NO_DEVICE
    if isinstance(error, DeviceError | MemoryError):
        return Exit.DEVICE_FAILED
    if isinstance(error, StreamError):  # caused by a device, or by a file that cannot be read or written
        return (exit_for(error.__cause__) if isinstance(error.__cause__, Exception) else None) or Exit.USAGE
    return None


def ending(code: int) -> str:
    """How another process ended, from its ``returncode``: ``"ended with exit code 3"``, ``"died of SIGSEGV"``."""
    if code >= 0:
        return f"ended with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}  # without most of the real-time signals
    return f"died of {names.get(-code, f'signal {-code}')}"


# Makes all signals that end a program raise KeyboardInterrupt, as Ctrl-C does, so that the same code cleans up.


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Make SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt inside the block; SIGTERM and SIGHUP only once.

    A signal that was ignored, such as SIGHUP under nohup, stays ignored.
    """
    before = {number: handler for number in _endings() if (handler := signal.getsignal(number)) is not signal.SIG_IGN}

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        # A closing terminal sends several signals in turn, and the second would interrupt the writing of reports.
        for each in before:
            if each != signal.SIGINT:
                signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number).name)

    def repeat(unraisable: sys.UnraisableHookArgs) -> None:
        """Send the signal again if Python dropped its exception because a finalizer or a C callback was running."""
        error = unraisable.exc_value
        if isinstance(error, KeyboardInterrupt) and error.args:
            number = signal.Signals[error.args[0]]
            signal.signal(number, interrupt)
            # Timer.start would wait for the thread, so the signal would arrive in this hook and be dropped again.
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
    """Send a signal to the main thread after 0.05 s, when it has left the hook."""
    time.sleep(0.05)
    if hasattr(signal, "pthread_kill"):  # it also ends a wait of that thread
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def ignore_endings() -> None:
    """Ignore the signals that end the process; call it when only the result remains to be printed."""
    for number in _endings():
        signal.signal(number, signal.SIG_IGN)
    # CPython sets a flag when a KeyboardInterrupt leaves code that was compiled from a string, such as that of a
    # dataclass or namedtuple during an import, even if it is caught further out. At its end `python -m` then kills
    # itself with SIGINT instead of returning the exit code. Running code from a string again clears the flag.
    exec("")  # noqa: S102 - clears the flag


def _endings() -> list[signal.Signals]:
    """The signals that ask a process to end; none outside of the main thread, where Python cannot handle signals."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


# Handles standard streams that are closed, full, or no longer read: no traceback, and no message at exit.

_UNWRITTEN = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN}


def open_closed() -> None:
    """Replace stdout or stderr by devnull if the process was started without it (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115 - stays open
            setattr(sys, name, nowhere)


def is_about_a_stream(error: BaseException) -> TypeGuard[OSError]:
    """True if writing to a standard stream raised the error (reader gone, disk full); errors of files have a name."""
    return isinstance(error, OSError) and error.errno in _UNWRITTEN and error.filename is None


def flush() -> OSError | None:
    """Flush stdout and stderr; returns the error of a stream that cannot be written, whose buffer is then dropped."""
    failure = None
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except OSError as error:
            failure = error
            _drop(stream)
    return failure


def tell(text: str, begin: str = "restride: ", *, has_lines: bool = False) -> None:
    """Print a message on stderr; if stderr cannot be written, this message and all later ones are dropped.

    Control characters are escaped, line feeds too unless the message ``has_lines``: names in files may hold any.
    """
    line = f"{begin}{printable(text.rstrip(), has_lines=has_lines)}"
    if _thread_state.held is None:
        print_held([line])
    else:
        _thread_state.held.append(line)


@contextmanager
def held_back() -> Iterator[list[str]]:
    """Keep the lines that this thread tells inside the block, for ``print_held`` at their turn."""
    before, _thread_state.held = _thread_state.held, []
    try:
        yield _thread_state.held
    finally:
        _thread_state.held = before


def print_held(lines: Sequence[str]) -> None:
    """Print lines of ``tell`` on stderr."""
    try:
        for line in lines:
            print(line, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


@contextmanager
def told_warnings() -> Iterator[None]:
    """Tell each warning that is given inside the block, or give it to ``warnings_to`` of the thread.

    ``warnings.catch_warnings`` changes the whole process, so a thread cannot use it for itself alone.
    """
    with warnings.catch_warnings(action="always", category=UserWarning):
        warnings.filterwarnings("always", "Image size", RuntimeWarning)  # Pillow's; several files may deserve it
        warnings.showwarning = lambda warning, *_: _thread_state.warned(command_text(warning))
        yield


@contextmanager
def warnings_to(warned: Callable[[str], None]) -> Iterator[None]:
    """Call ``warned`` with the text of each warning that this thread gives inside the block.

    It does nothing outside of ``told_warnings``, whose filters apply: ``warned`` gets each UserWarning, and a warning
    of another kind if Python would show it, which it does mostly only once.
    """
    before, _thread_state.warned = _thread_state.warned, warned
    try:
        yield
    finally:
        _thread_state.warned = before


class _ThreadState(threading.local):
    """What becomes of the messages and warnings of this thread."""

    held: list[str] | None = None

    def __init__(self) -> None:
        self.warned: Callable[[str], None] = lambda text: tell(f"warning: {text}")


_thread_state = _ThreadState()


def say(text: str, *, has_lines: bool = False) -> None:
    """Print a result on stdout; escape what ``tell`` escapes, and characters that the encoding of stdout lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    said = printable(text, has_lines=has_lines).encode(encoding, "backslashreplace").decode(encoding)
    print(said, flush=True)


def _drop(stream: TextIO) -> None:
    """Send what the stream still holds, and all that follows, to devnull."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
