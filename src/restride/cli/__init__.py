"""The command ``restride``: results on stdout, talk on stderr, and an exit code that says how it went."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from restride.cli import demo, devices, doctor, operate, report, test
from restride.cli.arguments import parse
from restride.cli.exits import Exit, exit_for, line_for

COMMANDS = (devices, doctor, test, report, operate, demo)
"""Modules with the commands, in the order of ``restride --help``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. ``argv`` defaults to the command line; nothing is raised."""
    try:
        arguments = parse(COMMANDS, argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as finished:  # --help, --version, and no command at all
        return finished.code if isinstance(finished.code, int) else Exit.OK
    except KeyboardInterrupt:
        print("restride: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the outermost frame: every error becomes an exit code
        known = exit_for(error)
        if known is None:
            traceback.print_exc()
            print("restride: this is a mistake in restride; please report the lines above", file=sys.stderr)
            return Exit.INTERNAL
        sys.stdout.flush()
        print(f"restride: {line_for(error)}", file=sys.stderr)
        return known
    return code
