r"""What is known of a driver: cases that fail, vary or must not run, in the lists that Mesa's deqp-runner reads.

    fails.txt    slice.f32_9_0_f32_3_0_offsets_0_sizes_8_strides_3_1f0e9a3c,Fail     a name, and how it fails
    flakes.txt   ^resample\.u8_.*mode_cubic                                          a regular expression
    skips.txt    ^pad\.                                                              a regular expression

Expressions match anywhere in a name, as in deqp-runner. Empty lines and lines that begin with ``#`` say nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from restride.command.files import named_errors, read_bounded, write_whole
from restride.command.process import UsageError, tell
from restride.errors import DescriptorError
from restride.files.writing import require_unlinked, require_writable
from restride.layout.text import cut
from restride_conformance.case import Case
from restride_conformance.pattern import compiled
from restride_conformance.record import EXPECTED, FLAKE, Outcome, Verdict

FAILS, FLAKES, SKIPS = "fails.txt", "flakes.txt", "skips.txt"

MAX_BYTES = 16 << 20
"""Maximum size of a list, in bytes."""
MAX_PATTERNS = 2000
"""Maximum number of regular expressions in a list."""

CasePattern = tuple[str, Callable[[str], bool]]
"""A regular expression as written, and the function that says whether it matches a name."""


@dataclass(frozen=True)
class Expectations:
    """The lists of a folder; a list that is not there is empty.

    fails: how the named cases fail: ``Fail``, ``Crash`` or ``Timeout``.
    """

    fails: dict[str, str] = field(default_factory=dict)
    flakes: tuple[CasePattern, ...] = ()
    skips: tuple[CasePattern, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the lists of ``folder``.

        Raises:
            UsageError: there is no such folder, none of the lists is in it, or a line is not well formed.
        """
        names = [name for name in (FAILS, FLAKES, SKIPS) if os.path.lexists(folder / name)]
        if not names:
            raise UsageError(f"--expect {folder}: it is no folder with {FAILS}, {FLAKES} or {SKIPS}")
        return cls(_fails(folder / FAILS), _patterns(folder / FLAKES), _patterns(folder / SKIPS))

    def skipped(self, case: Case) -> Outcome | None:
        """The outcome of a case that must not run; None for a case that may."""
        found = _first(self.skips, case.name) if self.skips else None
        return None if found is None else Outcome(str(case), Verdict.SKIPPED, f"{SKIPS} has {found}")

    def judged(self, case: Case, outcome: Outcome) -> Outcome:
        """The outcome with what was expected of it."""
        name = case.name
        is_flaky = _first(self.flakes, name) is not None
        return replace(outcome, expected=FLAKE if is_flaky else self.fails.get(name, ""))

    def unknown(self, cases: Iterable[Case]) -> tuple[str, ...]:
        """The names in ``fails`` that none of ``cases`` has."""
        known = {case.name for case in cases} if self.fails else set()
        return tuple(name for name in self.fails if name not in known)


def _first(patterns: Iterable[CasePattern], name: str) -> str | None:
    """The first of the expressions that matches."""
    return next((text for text, matches in patterns if matches(name)), None)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a list that say something, each after its place for messages."""
    if not os.path.lexists(path):
        return
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8: {error}") from error
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        if line and not line.startswith("#"):
            if not line.isprintable():
                raise UsageError(f"{path}:{number}: {cut(line)} has a character that is not printable")
            yield f"{path}:{number}", line


def _fails(path: Path) -> dict[str, str]:
    fails: dict[str, str] = {}
    for place, line in _lines(path):
        name, _, status = (part.strip() for part in line.partition(","))
        if not name or status not in EXPECTED.values():
            known = ", ".join(sorted(set(EXPECTED.values())))
            raise UsageError(f"{place}: {cut(line)} is not NAME,STATUS with one of {known}")
        if fails.setdefault(name, status) != status:
            raise UsageError(f"{place}: {cut(name)} is both {fails[name]} and {status}")
    return fails


def _patterns(path: Path) -> tuple[CasePattern, ...]:
    patterns: dict[str, Callable[[str], bool]] = {}
    for place, line in _lines(path):
        try:
            patterns[line] = compiled(line)
        except DescriptorError as error:
            raise UsageError(f"{place}: {cut(line)} is no regular expression of names: {error}") from error
        if len(patterns) > MAX_PATTERNS:
            raise UsageError(f"{path} has more than {MAX_PATTERNS} regular expressions")
    return tuple(patterns.items())


def require_free(folder: Path, *, force: bool) -> None:
    """Raise ``UsageError`` unless lists can be written into ``folder``, which need not exist, without loss.

    force: lists that exist may be replaced.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    for path in (folder / FAILS, folder / FLAKES):
        if os.path.lexists(path) and not force:
            raise UsageError(f"{path} exists: name another folder, or replace it with --force")
        with named_errors("write", path):
            require_unlinked(path)
            require_writable(path if folder.is_dir() else folder)


def write_expectations(folder: Path, outcomes: Collection[Outcome]) -> None:
    """Write ``fails.txt`` and ``flakes.txt``, and say so: a run with the same outcomes has expected ones only.

    Raises:
        UsageError: a file cannot be written.
    """
    with named_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
    bad = {Case.parse(outcome.case).name: outcome for outcome in outcomes if not outcome.verdict.is_good}
    flaky = {name for name, outcome in bad.items() if outcome.verdict is Verdict.FLAKY or outcome.expected == FLAKE}
    fails = [f"{name},{EXPECTED[outcome.verdict]}" for name, outcome in sorted(bad.items()) if name not in flaky]
    flakes = [f"^{re.escape(name)}$" for name in sorted(flaky)]
    for name, head, lines in (
        (FAILS, "# Cases that are known to fail: name,status.", fails),
        (FLAKES, "# Cases that are known to vary: regular expressions of names.", flakes),
    ):
        write_whole(folder / name, "".join(f"{line}\n" for line in [head, *lines]).encode())
        tell(f"wrote {folder / name}")
