"""The cases that did not pass when they last ran: a case file in the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from restride.conformance.case import Case
from restride.conformance.catalogue import read_cases
from restride.conformance.outcome import Outcome


def path() -> Path:
    """Where they are kept; the file may be given to ``restride test`` like any other."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "restride" / "last_failed.txt"


def write_last_failed(outcomes: Iterable[Outcome]) -> None:
    """Add what did not pass, take out what did; cases that did not run stay. A home that is read-only keeps nothing."""
    lines = dict.fromkeys(_text().splitlines())
    for outcome in outcomes:
        if outcome.verdict.is_good:
            lines.pop(str(outcome.case), None)
        else:
            lines[str(outcome.case)] = None
    with suppress(OSError):
        path().parent.mkdir(parents=True, exist_ok=True)
        path().write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_last_failed() -> tuple[Case, ...]:
    """Those that were kept; nothing if there are none.

    Raises:
        DescriptorError: the file holds something else.
    """
    return read_cases(_text(), str(path()))


def _text() -> str:
    try:
        return path().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
