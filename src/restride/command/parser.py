"""Parse the command line: a parser for each command, the options of the device, and indices in numpy's syntax."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from itertools import groupby
from textwrap import wrap
from types import EllipsisType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import restride
from restride.command.process import EXPLAINED, Exit, UsageError
from restride.errors import DeviceNotFound, UnsupportedError, command_text, did_you_mean

if TYPE_CHECKING:
    from restride.tensor.device import Device

_DESCRIPTION = """\
restride runs a vision model's image processor on a Vulkan GPU, with the bits of Pillow and without torch. It also
changes the layout, the element type and the size of any tensor, mostly in one dispatch. `restride COMMAND --help`
explains a command, with examples."""

_EXAMPLES = """\
examples:
  restride doctor                                        what is missing
  restride demo photo.jpg                                your own photograph
  restride resize photo.jpg small.jpg --sizes 480 640    averaged, upright
  restride resize photos small --shorter 256             a folder of them
  restride slice photo.png left.png '[:, :200]'          crop
  restride reorder x.npy y.npy --layout 'NCHW->NHWC'     transpose
  restride reorder x.npy x.bin --layout OIhw16i16o       block
  restride resample x.npy y.npy --scales 2 2 --check     and compared with numpy"""

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "from file to file": {
        "resize": ("restride.cli.operations", "resize photographs, a folder of them too"),
        "slice": ("restride.cli.operations", "cut a window out of a file, with strides and flips"),
        "reorder": ("restride.cli.operations", "change the layout or the element type of a file"),
        "resample": ("restride.cli.operations", "resize along any axes, by any rule"),
        "crop": ("restride.cli.operations", "resize boxes of a file to one size"),
        "yuv": ("restride.cli.operations", "convert frames of a camera or a decoder to RGB"),
        "preprocess": ("restride.cli.preprocess", "make a batch for a network from photographs"),
        "vision": ("restride.cli.vision", "make what a vision model takes, by its configuration"),
        "pyramid": ("restride.cli.pyramid", "write an image as levels of OME-Zarr"),
    },
    "to look at": {
        "show": ("restride.cli.show", "draw a layout"),
        "view": ("restride.cli.view", "show the picture in an image or a .npy file"),
        "demo": ("restride.cli.demo", "run every operation on a photograph, checked"),
        "profiles": ("", "list the libraries that --like knows, and how close it is"),
    },
    "this machine": {
        "doctor": ("restride.cli.doctor", "say what is missing, and the fix"),
        "devices": ("restride.cli.devices", "list the Vulkan devices"),
        "tune": ("restride_measure.tuning", "choose the faster kernels for a device"),
        "selftest": (
            "restride_measure.selftest.commands",
            "check and measure your device, and write a report to share",
        ),
        "completion": ("restride.cli.completion", "print a shell's completion script"),
    },
    "tests and speed": {
        "test": ("restride_conformance.commands", "run conformance cases on a device"),
        "report": ("restride_conformance.report.commands", "compare and convert test reports"),
        "bench": ("", "measure speed, beside other libraries"),
        "audit": ("", "say what compilers for GPUs make of the kernels, without a GPU"),
    },
}
"""Commands by purpose, in the order of ``restride --help``: the module that adds each, and its summary.

Modules are given by name, because help imports no command, and the library never imports the packages that test and
measure it. Commands without a module are those of the package ``restride-lab``, which measures restride beside other
libraries and on other GPUs; they are found by entry points.
"""

_ROWS = {command: row for group in GROUPS.values() for command, row in group.items()}

SUMMARIES = {command: summary for command, (_, summary) in _ROWS.items()}

MODULES = tuple(dict.fromkeys(module for module, _ in _ROWS.values() if module))
"""Names of the modules with the commands of this wheel."""

LABORATORY = frozenset(command for command, (module, _) in _ROWS.items() if not module)

_LABORATORY_INSTALL = "restride-lab: pip install ./lab in a checkout"

ENTRY_POINTS = "restride.commands"
"""The group of entry points by which a package adds commands: a command's name = the module with ``add_commands``."""

_PROGRAM = "restride"
_COMMAND = "COMMAND"

TOUR = """\
restride runs a vision model's image processor on a Vulkan GPU, with the bits
of Pillow and without torch. It also changes the layout, the element type and
the size of any tensor; numpy can check each result.

Four commands to try:
  restride resize photo.jpg small.jpg --sizes 480 640
  restride doctor                          what is missing here, and the fix
  restride vision model photos -o inputs.npz
  restride show 'f32[3,5]{1,0:T(2,2)}'     where the elements of tiles lie

In Python: import restride as rs; y = rs.resize(x, (480, 640)).numpy()
All commands: restride --help; one, with examples: restride COMMAND --help"""
"""The text that ``restride`` prints without a command."""


_MAX = 120
"""Maximum columns that help uses."""


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal: prose is filled, long lines of tables and examples are broken."""

    def __init__(self, prog: str, **options: Any) -> None:
        columns = min(shutil.get_terminal_size().columns, _MAX)
        super().__init__(prog, **{"max_help_position": 26, "width": columns - 2, **options})

    def add_usage(self, usage: Any, actions: Iterable[argparse.Action], _: object, prefix: str | None = None) -> None:
        """Show only required arguments in the usage; the rest is [OPTIONS], which the sections below explain."""
        actions = list(actions)
        needed = [action for action in actions if action.required or not action.option_strings]
        if len(needed) < len(actions):
            self._prog += " [OPTIONS]"
        super().add_usage(usage, needed, (), prefix)

    def start_section(self, heading: str | None) -> None:
        """Rename argparse's section "positional arguments" to "arguments"."""
        super().start_section("arguments" if heading == "positional arguments" else heading)

    def add_argument(self, action: argparse.Action) -> None:
        """Skip the list of commands, which the description has in groups."""
        if action.metavar != _COMMAND:
            super().add_argument(action)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for kind, group in groupby(text.splitlines(), _kind):
            if kind == "prose":
                lines += wrap(" ".join(group), width, break_on_hyphens=False)
            elif kind == "example":
                lines += _examples(list(group), width)
            else:
                lines += [part for line in group for part in _row(line, width)]
        return "\n".join(indent + line for line in lines)


def _kind(line: str) -> str:
    if line.startswith("  restride "):
        return "example"
    return "row" if not line or line[0] == " " or re.search(r"\S {2,}\S", line) else "prose"


def _examples(lines: list[str], width: int) -> list[str]:
    """Wrap example commands; if one line is too long, all comments go above their commands, which may be continued."""
    if max(map(len, lines)) <= width:
        return lines
    shown = []
    for line in lines:
        command, _, comment = (part.strip() for part in re.split(r"( {3,})", line[2:] + "   ", maxsplit=1))
        shown += [f"  # {comment}"] if comment else []
        parts = [""]
        for option in re.split(r" (?=--?[a-z])", command):  # an option stays with its values
            if parts[-1] and len(parts[-1]) + len(option) > width - 8:
                parts.append("")
            parts[-1] += f"{' ' * bool(parts[-1])}{option}"
        shown.append(" \\\n      ".join(["  " + parts[0], *parts[1:]]))
    return "\n".join(shown).split("\n")


def _row(line: str, width: int) -> list[str]:
    """Wrap a line of a table; the rest is indented to its last column."""
    column = max((match.end() for match in re.finditer(r"(?:^|\S) {2,}(?=\S)", line)), default=0)
    return wrap(line, width, subsequent_indent=" " * column, break_on_hyphens=False) or [""]


class Parser(argparse.ArgumentParser):
    """A parser that raises ``UsageError``, so that ``main`` prints one line and returns its exit code.

    description: examples at its end are shown below the options, and below them the exit codes.
    """

    def __init__(self, description: str = "", **options: Any) -> None:
        description, header, examples = description.partition("\nexamples:\n")
        epilog = f"examples:\n{examples.rstrip()}\n\n{EXPLAINED}" if header else EXPLAINED
        texts = {"description": description.strip(), "epilog": epilog}
        super().__init__(**{"formatter_class": _Help, "allow_abbrev": False, **texts, **options})
        self._negative_number_matcher = re.compile(r"-\.?\d")  # -1e-3 and -8,0,100,100 are values, not options

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError`` with the message and the help command to read."""
        is_joined = re.search(r"expected ([2-9]) arguments|invalid int value: '\d+[x,]", message)
        order = ", rows before columns" if is_joined and is_joined[1] == "2" else ""
        hint = f"; numbers are separated by spaces{order}, such as 480 640" if is_joined else ""
        raise UsageError(f"{message}{hint} (see `{self.prog} --help`)")

    def parse_known_args(  # type: ignore[override] # argparse's overloads for other types of namespaces
        self, args: Iterable[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words; words that are no options may be left over, but no option may."""
        parsed, rest = super().parse_known_args(self._files_first(sys.argv[1:] if args is None else args), namespace)
        if any(map(self._is_option, rest)):
            self.refuse(rest)
        return parsed, rest

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Raise ``UsageError`` for words that no option or argument takes."""
        from restride.words import option_here  # on use: the overview of commands needs no words

        option = next(filter(self._is_option, words), "").partition("=")[0]
        hint = option_here(option, self._option_string_actions)
        self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def _files_first(self, args: Iterable[str]) -> list[str]:
        """The words with all options of several values at the end, because argparse gives them every word that follows.

        The values of such an option end before another option, and before a file or an index that cannot be a value:
        ``--sizes 8 9 in.png out.png`` becomes ``in.png out.png --sizes 8 9``.
        """
        others: list[str] = []
        several: list[str] = []
        words = list(args)
        while words and words[0] != "--":
            action = self._option_string_actions.get(words[0])
            if action is None or action.nargs != argparse.ONE_OR_MORE:
                others.append(words.pop(0))
                continue
            several.append(words.pop(0))
            while words and not self._is_option(words[0]) and not self._ends_values(action, words[0]):
                several.append(words.pop(0))
        return [*others, *several, *words]

    def _is_option(self, word: str) -> bool:
        return word.startswith("-") and not self._negative_number_matcher.match(word)

    def _ends_values(self, action: argparse.Action, word: str) -> bool:
        """True for an index, a folder, a pattern, or a name with an ending, if it cannot be a value of the option."""
        is_folder = os.path.isdir(word)  # noqa: PTH112 - Path.is_dir raises for a long word
        if not is_folder and not re.match(r"\[|.*(\.[A-Za-z]|\*|[/\\]$)", word):
            return False
        try:
            self._check_value(action, self._get_value(action, word))
        except argparse.ArgumentError:
            return True
        return False

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a word that is not one of the choices, with the word that may be meant."""
        if action.choices is None or value in action.choices:
            return
        known = tuple(map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse's own type
            from restride.words import COMMANDS  # on use, as below

            is_whole = self.prog == _PROGRAM
            ours = COMMANDS.get(str(value)) if is_whole else None
            nearest = did_you_mean(value, {*known, *(SUMMARIES if is_whole else ())})
            hint = f"; it is `restride {ours}` here" if ours else nearest
        else:
            from restride.request import word_elsewhere  # on use, because an overview imports nothing of the library

            hint = command_text(
                word_elsewhere(action.dest, value)
            )  # "mode" and "like" of some commands have other words
            hint = hint if any(repr(word) in hint for word in known) else did_you_mean(value, known)
        raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {', '.join(known)}){hint}")


def missing_commands() -> frozenset[str]:
    """The commands of the laboratory if it is not installed."""
    return LABORATORY - entry_points(group=ENTRY_POINTS).names


Commands = Any
"""The type that ``add_subparsers`` returns, which is private in argparse."""


Run = Callable[[argparse.Namespace], int]
"""Runs a command with its options, and returns the exit code."""


def add_command(commands: Commands, name: str, description: str, run: Run | None = None) -> Parser:
    """Add the command ``name``, one of ``SUMMARIES``, and return its parser; run: None if subcommands have theirs."""
    parser: Parser = commands.add_parser(name, help=SUMMARIES[name], description=description)
    parser.set_defaults(run=run)
    return parser


def parse(modules: Iterable[ModuleType], argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; in the result ``run`` executes the command, and ``program`` is the whole parser.

    Raises:
        UsageError: the arguments are wrong.
        SystemExit: after ``--help`` and ``--version``, and without any command.
    """
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in missing_commands():
        raise UsageError(f"`restride {words[0]}` is a command of the package {_LABORATORY_INSTALL}")
    parser, commands = _parser()
    for module in modules:
        module.add_commands(commands)
    parser.set_defaults(program=parser)
    arguments, rest = parser.parse_known_args(words)
    # argparse accepts an optional positional argument only next to the others: `slice --check IN OUT [::2]` works, but
    # `slice IN OUT --check [::2]` leaves the index unparsed.
    if len(rest) == 1 and rest[0].startswith("[") and getattr(arguments, "index", "") is None:
        arguments.index = rest.pop()
    if rest:
        (parser if arguments.command is None else commands.choices[arguments.command]).refuse(rest)
    if arguments.command is None:
        print_tour()
    return arguments


OVERVIEW = restride.OVERVIEW
"""The words that, given alone, make ``print_overview`` print."""


def print_overview(argv: Sequence[str]) -> NoReturn:
    """Print the output of ``--help`` or ``--version``.

    Raises:
        SystemExit: always.
    """
    parser, _ = _parser()
    parser.parse_args(argv)
    raise AssertionError(f"{argv} asks for no overview")


def print_tour() -> NoReturn:
    """Print ``TOUR`` on stderr, because a missing command is a usage error for scripts.

    Raises:
        SystemExit: always.
    """
    print(TOUR, file=sys.stderr)
    raise SystemExit(Exit.USAGE)


def _parser() -> tuple[Parser, Commands]:
    missing = missing_commands()
    groups = [
        "\n".join([f"{heading}:", *(f"  {name:<12}{SUMMARIES[name]}" for name in group if name not in missing)])
        for heading, group in GROUPS.items()
    ]
    parser = Parser("\n\n".join([_DESCRIPTION, *groups, _EXAMPLES]), prog=_PROGRAM)
    parser.add_argument(
        "--version", action="version", version=f"restride {restride.__version__}", help="print the version"
    )
    return parser, parser.add_subparsers(dest="command", metavar=_COMMAND, parser_class=Parser)


_MAX_TIMEOUT = 86400.0
"""Maximum timeout in seconds, a day; clocks and locks of the system have an upper limit."""

_MAX_WAIT = "longest wait for the device (default: %(default)g); kompute only warns, afterwards"


def add_device_option(group: Any) -> None:
    """Add ``--device``."""
    group.add_argument(
        "--device", metavar="DEVICE", help="index, or part of the name (default: RESTRIDE_DEVICE, else the best)"
    )


def add_device_options(parser: argparse.ArgumentParser, timeout_help: str = _MAX_WAIT) -> None:
    """Add ``--device``, ``--runtime`` and ``--timeout``."""
    from restride.runtime import DEFAULT_TIMEOUT, RUNTIMES

    group = parser.add_argument_group("device")
    add_device_option(group)
    group.add_argument(
        "--runtime",
        choices=RUNTIMES,
        metavar="NAME",
        help=f"{' or '.join(RUNTIMES)} (default: RESTRIDE_RUNTIME, else {RUNTIMES[0]})",
    )
    group.add_argument("--timeout", type=_seconds, default=DEFAULT_TIMEOUT, metavar="SECONDS", help=timeout_help)


def _seconds(text: str) -> float:
    """The value of ``--timeout``."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MAX_TIMEOUT:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no time limit: seconds, more than 0 and at most {_MAX_TIMEOUT:g}"
        )
    return seconds


def open_device(arguments: argparse.Namespace) -> Device:
    """Open the device that the options name.

    Raises:
        DeviceNotFound: there is no such device, or its runtime is not installed.
    """
    from restride.tensor.device import Device

    with missing_runtimes():
        return Device(arguments.device, arguments.runtime, arguments.timeout)


@contextmanager
def missing_runtimes() -> Iterator[None]:
    """Turn an ``UnsupportedError`` inside, for a runtime that is not installed, into ``DeviceNotFound``."""
    try:
        yield
    except UnsupportedError as error:
        raise DeviceNotFound(str(error)) from error


def runtime_name(device: Device) -> str:
    """The name of a device's runtime, ``"vulkan"`` or ``"kompute"``."""
    return type(device.runtime).__name__.removesuffix("Runtime").lower()


# Parses numpy's slice syntax, ``[..., ::2, ::-1]``, into an indexing key, without evaluating anything.

KeyItem = int | slice | EllipsisType | None

_NUMBER = r"\s*([+-]?\d{1,30})?\s*"
_SLICE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")
_INTEGER = re.compile(r"[+-]?\d{1,30}")


def parse_index(text: str) -> tuple[KeyItem, ...]:
    """The indexing key for ``text``, whose brackets may be left out.

    ``"[..., 1:9:2, -1, None]"`` is ``(..., slice(1, 9, 2), -1, None)``.

    Raises:
        UsageError: the text has anything but integers, slices, ``...`` and ``None``.
    """
    inner = text.strip()
    if inner.startswith("[") != inner.endswith("]"):
        raise UsageError(f"index {text!r} has one bracket; it must have both or none")
    inner = inner.removeprefix("[").removesuffix("]").strip()
    parts = inner.removesuffix(",").split(",") if inner else []
    return tuple(_item(part.strip(), text) for part in parts)


def _item(part: str, text: str) -> KeyItem:
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
