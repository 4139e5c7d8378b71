"""Exit codes, and which one an error becomes."""

from __future__ import annotations

import re
from enum import IntEnum

from restride.errors import DescriptorError, DeviceError, DeviceNotFound, RestrideError, UnsupportedError


class Exit(IntEnum):
    """What a shell sees."""

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
    "exit codes: 0 ok; 1 a check failed; 2 bad arguments or input; 3 internal error;\n"
    "            4 no such device or driver; 5 nothing selected;\n"
    "            6 device lost, timed out or out of memory, or a case that crashed or hung;\n"
    "            130 interrupted or terminated; 141 nobody reads the output"
)


class UsageError(RestrideError):
    """The command line or a file it names is no good."""


def line_for(error: BaseException) -> str:
    """An error in words of the command line: one line, but for what a compiler says of a shader."""
    text = "\n".join(line.rstrip() for line in str(error).splitlines() if line.strip()) or type(error).__name__
    text = text.replace("open Device(timeout=...)", "use --timeout SECONDS")
    return re.sub(r"\baxes=\((\d), (\d)\)", r"--axes \1 \2", text)


def exit_for(error: Exception) -> Exit | None:
    """The exit code of an error that a user can act on; None: a mistake of ours."""
    if isinstance(error, UsageError | DescriptorError | UnsupportedError):
        return Exit.USAGE
    if isinstance(error, DeviceNotFound):
        return Exit.NO_DEVICE
    if isinstance(error, DeviceError | MemoryError):
        return Exit.DEVICE_FAILED
    return None
