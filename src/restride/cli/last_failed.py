"""The cases that did not pass at the last ``restride test``: a case file in the user's cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from restride.conformance.case import Case
from restride.conformance.catalogue import read_cases
from restride.conformance.outcome import Outcome


def path() -> Path:
    """Where they are kept; the file may be given to ``restride test`` like any other."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "restride" / "last_failed.txt"


def write_last_failed(outcomes: Iterable[Outcome]) -> None:
    """Keep those that did not pass. A home that cannot be written to keeps nothing, which ``--lf`` then says."""
    bad = [f"{outcome.case}\n" for outcome in outcomes if not outcome.verdict.is_good]
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        path().write_text("".join(bad), encoding="utf-8")
    except OSError:
        return


def read_last_failed() -> tuple[Case, ...]:
    """Those that were kept; nothing if there are none.

    Raises:
        DescriptorError: the file holds something else.
    """
    try:
        text = path().read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    return read_cases(text, str(path()))
