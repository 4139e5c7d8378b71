"""Parsing the command line: a parser for each command, the options of the device, and indices in numpy's syntax."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NoReturn

import restride
from restride.cli.process import EXPLAINED, Exit, UsageError
from restride.errors import DeviceNotFound, UnsupportedError

if TYPE_CHECKING:
    from restride.tensor.device import Device

_DESCRIPTION = """\
Any tensor layout to any other, any size to any other, on any Vulkan device, mostly in one dispatch: wide filters and
partial tiles take a few."""
_EPILOG = f"""\
examples:
  restride devices                                      what can compute here
  restride doctor                                       what is missing, and the fix
  restride demo photo.jpg                               a tour with your own photograph
  restride slice photo.png left.png '[:, :200, :]'      crop
  restride reorder nchw.npy nhwc.npy --layout 'NCHW->NHWC'
  restride reorder oihw.npy oihw.bin --layout OIhw16i16o
  restride reorder photo.png planes.npy --to f32 --dst-scale 255 --layout 'HWC->CHW'
  restride resample photo.jpg small.png --sizes 224 224 --check

{EXPLAINED}"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with the exit code that ``main`` returns."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError`` with the message and where to read more.

        argparse takes -8,0,100,100 and -1e-3 for options.
        """
        if bare := re.search(r"(--[\w-]+): expected (one|at least one) argument$", message):
            message += f"; a value that begins with a minus is given as {bare[1]}=-8"
        raise UsageError(f"{message} (see `{self.prog} --help`)")


Commands = Any
"""What ``add_subparsers`` returns; argparse keeps its type private."""


def parse(modules: Iterable[Any], argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of the command that was asked for; ``run`` among them is the function that does it.

    Raises:
        UsageError: they make no sense.
        SystemExit: after ``--help`` and ``--version``, and without any command.
    """
    parser, commands = _parser()
    for module in modules:
        module.add_commands(commands)
    arguments, rest = parser.parse_known_args(argv)
    # argparse takes an optional positional only next to the others: `slice --check IN OUT [::2]` works,
    # `slice IN OUT --check [::2]` leaves the index over.
    if len(rest) == 1 and rest[0].startswith("[") and getattr(arguments, "index", "") is None:
        arguments.index = rest.pop()
    if rest:
        command = "restride" if arguments.command is None else f"restride {arguments.command}"
        raise UsageError(f"unrecognized arguments: {' '.join(rest)} (see `{command} --help`)")
    if arguments.command is None:
        parser.print_help(sys.stderr)
        raise SystemExit(Exit.USAGE)
    return arguments


OVERVIEW = restride.OVERVIEW
"""Each alone asks for what ``print_overview`` prints."""


def print_overview(summaries: Mapping[str, str], argv: Sequence[str]) -> NoReturn:
    """What ``--help`` or ``--version`` prints, from what commands say of themselves alone.

    Raises:
        SystemExit: after that.
    """
    parser, commands = _parser()
    for command, summary in summaries.items():
        commands.add_parser(command, help=summary)
    parser.parse_args(argv)
    raise AssertionError(f"{argv} asks for no overview")


def _parser() -> tuple[Parser, Commands]:
    parser = Parser(prog="restride", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"restride {restride.__version__}")
    return parser, parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)


_LONGEST_TIMEOUT = 86400.0
"""Seconds: a day. Clocks and locks of the system have a largest number."""

_LONGEST_WAIT = "longest wait for the device (default: %(default)g); with kompute a warning, afterwards"


def add_device_options(parser: argparse.ArgumentParser, timeout_help: str = _LONGEST_WAIT) -> None:
    """``--device``, ``--runtime`` and ``--timeout``."""
    from restride.runtime import DEFAULT_TIMEOUT, RUNTIMES

    group = parser.add_argument_group("device")
    group.add_argument(
        "--device", metavar="DEVICE", help="index or part of the name (default: RESTRIDE_DEVICE, then the best)"
    )
    group.add_argument(
        "--runtime",
        choices=RUNTIMES,
        help=f"what drives the device (default: RESTRIDE_RUNTIME, then {RUNTIMES[0]})",
    )
    group.add_argument("--timeout", type=_seconds, default=DEFAULT_TIMEOUT, metavar="SECONDS", help=timeout_help)


def _seconds(text: str) -> float:
    """The value of ``--timeout``."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_TIMEOUT:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no time limit: seconds, more than 0 and at most {_LONGEST_TIMEOUT:g}"
        )
    return seconds


def open_device(arguments: argparse.Namespace) -> Device:
    """The device that the options ask for.

    Raises:
        DeviceNotFound: it is not there, or its runtime is not installed.
    """
    from restride.tensor.device import Device

    with missing_runtimes():
        return Device(arguments.device, arguments.runtime, arguments.timeout)


@contextmanager
def missing_runtimes() -> Iterator[None]:
    """A runtime that is not installed is a missing device: ``UnsupportedError`` becomes ``DeviceNotFound``."""
    try:
        yield
    except UnsupportedError as error:
        raise DeviceNotFound(str(error)) from error


def runtime_name(device: Device) -> str:
    """``"vulkan"`` or ``"kompute"``."""
    return type(device.runtime).__name__.removesuffix("Runtime").lower()


# numpy's slice syntax, ``[..., ::2, ::-1]``, to the key that indexing takes, without evaluating anything.

Item = int | slice | EllipsisType | None

_NUMBER = r"\s*([+-]?\d{1,30})?\s*"
_SLICE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")
_INTEGER = re.compile(r"[+-]?\d{1,30}")


def parse_index(text: str) -> tuple[Item, ...]:
    """The key that ``text`` writes; the brackets may be left out.

    ``"[..., 1:9:2, -1, None]"`` is ``(..., slice(1, 9, 2), -1, None)``.

    Raises:
        UsageError: something else than integers, slices, ``...`` and ``None``.
    """
    inner = text.strip()
    if inner.startswith("[") != inner.endswith("]"):
        raise UsageError(f"index {text!r} has one bracket of two")
    inner = inner.removeprefix("[").removesuffix("]").strip()
    parts = inner.removesuffix(",").split(",") if inner else []
    return tuple(_item(part.strip(), text) for part in parts)


def _item(part: str, text: str) -> Item:
    if part == "...":
        return Ellipsis
    if part in {"None", "newaxis"}:
        return None
    if _INTEGER.fullmatch(part):
        return int(part)
    match = _SLICE.fullmatch(part)
    if not match:
        raise UsageError(
            f"index {text!r} has the item {part!r}; items are integers, slices such as 1:9:2 or ::-1, '...' and None"
        )
    start, stop, step = (None if number is None else int(number) for number in match.groups())
    return slice(start, stop, step)
