"""The errors restride raises, as one tree, how it warns, and how a message shows a value.

RestrideError
├── DescriptorError          an argument breaks a rule (also ValueError)
├── UnsupportedError         legal, but not available here (also NotImplementedError)
│   └── MissingPackage       an optional package is not installed (also ImportError)
├── StreamError              a chunk of a stream could not be read, computed or written
└── DeviceError              the device, its driver or its loader
    ├── DeviceNotFound       no loader, no driver, or no such device
    ├── OutOfDeviceMemory    (also MemoryError)
    ├── DeviceLost           lost, closed, or inherited through fork
    └── DeviceTimeout        the work outlasted the time limit (also TimeoutError)

A message names the rule, the argument, its value and the descriptor:
``window [4, 9) exceeds size 8 of axis 1, for f32[2,8]{1,0}``. Inner code raises the first three; the public function
that was called adds the descriptor, once, with ``ErrorContext`` or ``add_descriptor``.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

_MAX_SHOWN = 8
"""A message shows at most this many elements of an array."""

STREAMED = "rs.stream(source, destination, chain, memory=...) works in smaller pieces"
"""What errors of exhausted device memory advise, unless ``advised`` knows better."""

FEWER_IMAGES = "a call of fewer or smaller images takes less"
"""What image processors, ``Preprocess`` and ``crop_resize`` of a list advise in its place."""

_QUESTION = ". Did you mean "
"""The text between a message and the suggested word at its end."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, characters that end a line or change the direction of text, and surrogates, which stand for bytes
of a name that are no text.
"""


class Message(str):
    """The text of an error or a warning that tells callers in Python what to write, and the text that a command prints.

    Attributes:
        command: the text without Python, which may name options of a command.
    """

    __slots__ = ("command",)

    command: str

    def __new__(cls, python: str, command: str) -> Self:
        """Create the message."""
        self = super().__new__(cls, python)
        self.command = command
        return self

    @classmethod
    def of(cls, rule: str, python: str, command: str = "") -> Self:
        """A rule, and what to do instead, in Python and for a command."""
        return cls(rule + python, rule + command)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy both texts."""
        return type(self), (str(self), self.command)


def command_text(told: BaseException | str) -> str:
    """The text of an error, a warning or a message as a command prints it."""
    message = message_of(told) if isinstance(told, BaseException) else told
    return message.command if isinstance(message, Message) else message


def changed(message: str, change: Callable[[str], str]) -> str:
    """A message with ``change`` applied to its text; of a ``Message``, to both of its texts."""
    return Message(change(message), change(message.command)) if isinstance(message, Message) else change(message)


def message_of(error: BaseException) -> str:
    """The message of an error: a ``Message`` with both of its texts if the error has one, else its only text."""
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


class RestrideError(Exception):
    """The base of all errors that restride raises on purpose.

    Attributes:
        desc: the text of the descriptor that the message is about; None until a public function has added it.
        has_lines: the message has several lines, such as those of a compiler. False: a line feed is part of a name.
    """

    desc: str | None = None
    has_lines = False

    def add_descriptor(self, desc: object) -> None:
        """Append ", for " and the text of ``desc`` to the message, unless it has a descriptor already."""
        if self.desc is not None:
            return
        self.desc = about = str(desc)

        def with_descriptor(message: str) -> str:
            rule, question, word = message.partition(_QUESTION)
            return message if about in message else f"{rule}, for {about}{question}{word}"

        self.args = (changed(message_of(self), with_descriptor),)


class DescriptorError(RestrideError, ValueError):
    """An argument breaks a rule; nothing was dispatched and no destination was touched."""


class UnsupportedError(RestrideError, NotImplementedError):
    """The request is legal, but this version, runtime or device does not serve it."""


class MissingPackage(UnsupportedError, ImportError):
    """A package that an extra of restride installs is missing."""


class StreamError(RestrideError):
    """A chunk of a stream could not be read, computed or written; ``__cause__`` says why.

    Attributes:
        chunk: the chunk's place among the chunks of the destination, one index for each axis. If several chunks are
            computed together, the place of the first one.
    """

    def __init__(self, message: str, chunk: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.chunk = chunk


class DeviceError(RestrideError):
    """The device, its driver or the Vulkan loader failed."""


class DeviceNotFound(DeviceError):
    """No Vulkan loader, no driver, or no device that matches the selector."""


class OutOfDeviceMemory(DeviceError, MemoryError):
    """The device's heap, or restride's budget against it, is exhausted."""


class DeviceLost(DeviceError):
    """The device is gone: lost by the driver, closed, or inherited through ``fork``."""


class DeviceTimeout(DeviceError, TimeoutError):
    """Work on the device did not finish within the time limit."""


class ErrorContext:
    """A ``with`` block that adds a descriptor to the argument errors raised in it.

    ``with ErrorContext(desc): ...`` costs a fraction of a microsecond. A function that is called often writes
    ``except (DescriptorError, UnsupportedError) as error: error.add_descriptor(desc); raise`` instead, which is free.

    Args:
        desc: a descriptor, or any value whose ``str`` is the text of one; taken only when an error passes.
    """

    __slots__ = ("_desc",)

    def __init__(self, desc: object) -> None:
        self._desc = desc

    def __enter__(self) -> None:
        """Do nothing: errors are handled on exit."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, DescriptorError | UnsupportedError):
            error.add_descriptor(self._desc)


@contextmanager
def advised(advice: str) -> Iterator[None]:
    """A ``with`` block whose errors of exhausted device memory give this advice in the place of ``STREAMED``."""
    try:
        yield
    except OutOfDeviceMemory as error:
        error.args = (changed(message_of(error), lambda text: text.replace(STREAMED, advice)),)
        raise


@contextmanager
def prefixed(what: str) -> Iterator[None]:
    """A ``with`` block whose restride errors begin with what they are about: ``images[2]: ...``.

    The error object stays the same, so that a traceback shows it once. Errors of other libraries get a note.
    """
    try:
        yield
    except RestrideError as error:
        error.args = (changed(message_of(error), lambda text: f"{what}: {text}"), *error.args[1:])
        raise
    except Exception as error:
        error.add_note(f"in {what}")
        raise


@contextmanager
def needed_package(what: str, package: str, extra: str, module: str | None = None) -> Iterator[None]:
    """A ``with`` block that imports a package, which ``what`` needs and an extra of restride installs.

    module: the package's name in import statements, if it differs.

    Raises:
        MissingPackage: it is not installed. An error inside a package that is installed stays as it is.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != (module or package):
            raise
        rule = changed(what, lambda text: f"{text} needs {package}: {installing(extra)}")
        missing = MissingPackage(rule)
        missing.name = module or package
        raise missing from error


def installing(extra: str) -> str:
    """How an extra of restride is installed: from a checkout, because no package index has restride yet."""
    return f"pip install '.[{extra}]' in a checkout"


def warn_caller(message: str) -> None:
    """Give a ``UserWarning`` at the line that called into restride, through however many of its functions."""
    package = __name__.partition(".")[0]
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect offers the same, but is slow to import
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: ". Did you mean 'linear'?", or empty if no known word is like it."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    asked = str(word)[:100].lower()
    nearest = get_close_matches(asked, by_lower, 1) or [
        each for each in by_lower if len(asked) > 2 and each.startswith(asked)
    ]
    return f"{_QUESTION}{by_lower[nearest[0]]!r}?" if nearest else ""


def printable(text: str, *, has_lines: bool = False) -> str:
    """The text with its control characters, which names in a file may hold, escaped as Python escapes them.

    has_lines: the text has several lines, whose line feeds are kept.
    """
    return _CONTROL.sub(lambda found: "\n" if has_lines and found[0] == "\n" else ascii(found[0])[1:-1], text)


def shown(value: object) -> str:
    """``repr`` of a refused value on one line, cut where it gets long; of a large array only its type and shape."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and math.prod(shape) > _MAX_SHOWN:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python prints no integer of more than 4300 digits
        text = f"{type(value).__name__} with too many digits"
    except RecursionError:
        text = f"{type(value).__name__} that nests too deeply"
    return text if len(text) <= 60 else text[:57] + "..."
