"""The command ``restride``: results on stdout, messages on stderr, and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from restride.command import process
from restride.command.parser import ENTRY_POINTS, MODULES, OVERVIEW, parse, print_overview, print_tour
from restride.command.process import Exit, exit_for, line_for


def command_modules() -> Iterator[ModuleType]:
    """Import the modules with the commands: those of this wheel, then those that other packages add."""
    yield from map(import_module, MODULES)
    yield from (entry_point.load() for entry_point in entry_points(group=ENTRY_POINTS))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; never raises.

    argv: the words after ``restride``; None: those of this process, which must then end with the exit code.
    """
    process.open_closed()
    failure: KeyboardInterrupt | Exception | None = None
    code: int = Exit.OK
    try:
        with process.as_interrupts(), process.told_warnings():
            code = _run(argv)
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - the outermost frame: each becomes an exit code
        failure = process.interrupt_of(error) or error
    if argv is None:
        process.ignore_endings()
    # Flush here, because Python flushes once more at its end, where a failure would print a second error.
    broken = process.flush()
    failure = failure or broken
    return code if failure is None else _failed(failure)


def _run(argv: Sequence[str] | None) -> int:
    try:
        words = sys.argv[1:] if argv is None else argv
        if not words:
            print_tour()
        if OVERVIEW.issuperset(words) and len(words) == 1:
            print_overview(words)
        arguments = parse(command_modules(), argv)
        code: int = arguments.run(arguments)
    except SystemExit as finished:  # --help, --version, and no command at all
        return finished.code if isinstance(finished.code, int) else Exit.OK
    return code


def _failed(error: KeyboardInterrupt | Exception) -> int:
    """Print the error and return its exit code."""
    if isinstance(error, KeyboardInterrupt):
        process.tell("; ".join([process.INTERRUPTED, *getattr(error, "__notes__", ())]))
        return Exit.INTERRUPTED
    if process.is_about_a_stream(error):
        if isinstance(error, BrokenPipeError):
            return Exit.PIPE_CLOSED
        process.tell(f"cannot write to a standard stream: {error.strerror}")
        return Exit.USAGE
    known = exit_for(error)
    if known is None:
        process.tell("".join(traceback.format_exception(error)), begin="", has_lines=True)
        process.tell("this is a mistake in restride; please report the lines above")
        return Exit.INTERNAL
    process.tell(line_for(error), has_lines=getattr(error, "has_lines", False))
    return known
