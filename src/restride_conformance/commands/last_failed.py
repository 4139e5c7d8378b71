"""The cases that did not pass when they last ran: a case file in the user's cache folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from restride.errors import RestrideError
from restride_conformance.case import Case
from restride_conformance.outcome import Outcome
from restride_conformance.report.file import write_whole


def path() -> Path:
    """Where they are kept; the file may be given to ``restride test`` like any other."""
    usual = os.path.expanduser("~/.cache")  # noqa: PTH111 - Path's own raises where a user has no home
    return Path(os.environ.get("XDG_CACHE_HOME") or usual) / "restride" / "last_failed.txt"


def write_last_failed(outcomes: Iterable[Outcome]) -> None:
    """Add what did not pass, take out what did; cases that did not run stay. A home that is read-only keeps nothing."""
    cases = {case: None for case in _lines().values() if case is not None}
    for outcome in outcomes:
        if outcome.verdict.is_good:
            cases.pop(outcome.case, None)
        else:
            cases[outcome.case] = None
    with suppress(OSError, RestrideError):
        path().parent.mkdir(parents=True, exist_ok=True)
        write_whole(path(), "".join(f"{case}\n" for case in cases))


def read_last_failed() -> tuple[Case, ...]:
    """Those that were kept; nothing if there are none. Says on stderr how many lines are no cases any more."""
    lines = _lines()
    cases = tuple(case for case in lines.values() if case is not None)
    if dropped := len(lines) - len(cases):
        print(f"restride: {path()}: lines that are no cases any more are left out: {dropped}", file=sys.stderr)
    return cases


def _lines() -> Mapping[str, Case | None]:
    """Each line, and its case; None where another version, or anybody else, wrote what is no case here."""
    try:
        text = path().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {line: _case(line) for line in text.splitlines() if line.strip()}


def _case(line: str) -> Case | None:
    try:
        return Case.parse(line)
    except RestrideError:
        return None
