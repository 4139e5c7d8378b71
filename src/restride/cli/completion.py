"""``restride completion``: print a script with which a shell completes commands, options, words and file names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from restride.command.parser import Commands, add_command
from restride.command.process import Exit, UsageError
from restride.errors import installing

_DESCRIPTION = """\
Prints a script with which a shell completes commands, options, their words and file names. Only printing it needs
shtab: pip install '.[cli]' in a checkout.

examples:
  restride completion bash > ~/.restride.bash      then source it in ~/.bashrc
  restride completion zsh > ~/.zfunc/_restride     where fpath has ~/.zfunc
  restride completion fish > ~/.config/fish/completions/restride.fish"""

_SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "CASES")
"""Metavars of options for files whose type is not ``Path``."""


def add_commands(commands: Commands) -> None:
    """Add ``completion``."""
    parser = add_command(commands, "completion", _DESCRIPTION, run)
    parser.add_argument("shell", choices=_SHELLS, help="the shell to complete in")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError as error:
        raise UsageError(f"`restride completion` needs shtab ({error}): {installing('cli')}") from error
    for action in _actions(arguments.program):
        if action.type is Path or action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(arguments.program, arguments.shell))
    return Exit.OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the actions of a parser and its subparsers; replaces the descriptions, which shells show, by summaries."""
    for action in parser._actions:  # noqa: SLF001 - as shtab does
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for named in action._choices_actions:  # noqa: SLF001
                below = action.choices[named.dest]
                below.description = named.help
                yield from _actions(below)
