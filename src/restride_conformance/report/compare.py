"""Compare two records of one kind, to see what another device, driver or version changed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from restride.command.process import UsageError
from restride.errors import printable
from restride_conformance.record import Outcome
from restride_conformance.report import Record, first_line
from restride_conformance.report.summary import device_text, ended_early, facts, headline
from restride_conformance.report.table import call_seconds

FORMAT = "restride-comparison"
VERSION = 1
SHOWN = 50
"""Maximum number of lines of each kind in the text; JSON has all of them."""
SHOWN_SPEEDS = 5


@dataclass(frozen=True)
class Change:
    """A case with different verdicts in two records."""

    before: Outcome
    after: Outcome

    @property
    def is_worse(self) -> bool:
        """True if the later verdict is worse and not ``is_good``: a change from PASSED to SKIPPED is no fault."""
        later = self.after.verdict
        return later.severity > self.before.verdict.severity and not later.is_good

    @property
    def is_failure(self) -> bool:
        """True if only the later one is not right."""
        return self.before.verdict.is_good and not self.after.verdict.is_good

    @property
    def is_mended(self) -> bool:
        """True if only the earlier one is not right."""
        return self.after.verdict.is_good and not self.before.verdict.is_good

    @property
    def is_better(self) -> bool:
        """True if the earlier verdict was not ``is_good`` and the later one is milder."""
        earlier = self.before.verdict
        return earlier.severity > self.after.verdict.severity and not earlier.is_good


@dataclass(frozen=True)
class Ratio:
    """The times of a case in two records, in seconds per call; a ratio of 2.0 is half as fast."""

    case: str
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """Time after over time before."""
        return self.after / self.before


@dataclass(frozen=True)
class Difference:
    """A difference of the figures of a case in two records, in words."""

    case: str
    text: str
    is_worse: bool


Differ = Callable[[Outcome, Outcome], Iterable[tuple[str, bool]]]
"""Yields the differences between the figures of two outcomes in words, and whether each is worse."""


@dataclass(frozen=True)
class RecordChanges:
    """The differences between two records.

    before, after: the headlines of the two.
    drivers: the devices and driver versions of two tests, if they differ: the text tells changes by them; else None.
    head: facts about the runs that differ, including whether they ended early: name, before, after.
    only_before, only_after: outcomes of cases that the other record does not have.
    changed: cases with different verdicts, those that got worse first.
    differences: differences of figures, for kinds whose figures are judged.
    ratios: times of cases with a speed in both records, the most slowed down first.
    same: number of cases with the same verdict in both.
    """

    before: str
    after: str
    drivers: tuple[str, str] | None
    head: tuple[tuple[str, str, str], ...]
    only_before: tuple[Outcome, ...]
    only_after: tuple[Outcome, ...]
    changed: tuple[Change, ...]
    differences: tuple[Difference, ...]
    ratios: tuple[Ratio, ...]
    same: int

    @property
    def is_worse(self) -> bool:
        """True if a case in both records got worse. Speeds do not count, because they vary from run to run."""
        return any(change.is_worse for change in self.changed) or any(each.is_worse for each in self.differences)

    @property
    def median_ratio(self) -> float | None:
        """The median ratio of the times; None if no case has a speed in both."""
        return statistics.median(ratio.ratio for ratio in self.ratios) if self.ratios else None

    def values(self) -> dict[str, Any]:
        """The comparison as ``restride report compare --json`` prints it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "before": self.before,
            "after": self.after,
            "worse": self.is_worse,
            "same": self.same,
            "head": [{"name": name, "before": before, "after": after} for name, before, after in self.head],
            "only_before": [_short(outcome) for outcome in self.only_before],
            "only_after": [_short(outcome) for outcome in self.only_after],
            "drivers": None if self.drivers is None else list(self.drivers),
            "only_before_fails": [_name(change.after) for change in self.changed if change.is_mended],
            "only_after_fails": [_name(change.after) for change in self.changed if change.is_failure],
            "changed": [
                {
                    "case": _name(change.after),
                    "worse": change.is_worse,
                    "before": _short(change.before),
                    "after": _short(change.after),
                }
                for change in self.changed
            ],
            "differences": [
                {"case": each.case, "worse": each.is_worse, "text": each.text} for each in self.differences
            ],
            "median_ratio": self.median_ratio,
            "ratios": [{**vars(ratio), "ratio": ratio.ratio} for ratio in self.ratios],
        }

    def __str__(self) -> str:
        """The lines for the terminal."""
        return printable("\n".join(self._lines()), has_lines=True)

    def _lines(self) -> Iterator[str]:
        yield f"first:  {self.before}"
        yield f"second: {self.after}"
        yield ""
        width = max((len(name) for name, _, _ in self.head), default=0)
        for name, before, after in self.head:
            yield f"{name:<{width}}  {before or '-'}  ->  {after or '-'}"
        if not self.head:
            yield "both were made with the same device, driver and versions"
        worse = [change for change in self.changed if change.is_worse]
        better = [change for change in self.changed if change.is_better]
        other = [change for change in self.changed if not (change.is_worse or change.is_better)]
        sections = [("worse", worse), ("better", better), ("changed", other)]
        if self.drivers is not None:
            first, second = self.drivers
            only_first = [change for change in self.changed if change.is_mended]
            only_second = [change for change in self.changed if change.is_failure]
            rest = [change for change in self.changed if not (change.is_mended or change.is_failure)]
            sections = [
                (f"only the first driver fails ({first})", only_first),
                (f"only the second driver fails ({second})", only_second),
                ("changed otherwise", rest),
            ]
        for title, changes in sections:
            yield from _listed(title, [_change_line(change) for change in changes])
        for title, is_worse in (("worse figures", True), ("better figures", False)):
            yield from _listed(
                title, [f"{each.case}: {each.text}" for each in self.differences if each.is_worse is is_worse]
            )
        yield from _listed("only in the first", [f"{one.verdict} {_name(one)}" for one in self.only_before])
        yield from _listed("only in the second", [f"{one.verdict} {_name(one)}" for one in self.only_after])
        if self.ratios:
            yield ""
            yield f"time of the second over the first, of {len(self.ratios):,} cases: {self.median_ratio:.2f} (median)"
            slowed = [ratio for ratio in self.ratios[:SHOWN_SPEEDS] if ratio.ratio > 1]
            yield from (_ratio_line(ratio) for ratio in slowed)
            yield from (_ratio_line(ratio) for ratio in self.ratios[-SHOWN_SPEEDS:] if ratio.ratio < 1)
        yield ""
        yield (
            f"{len(worse):,} worse, {len(better):,} better, {len(other):,} otherwise changed, {self.same:,} the same, "
            f"{len(self.only_before):,} only in the first, {len(self.only_after):,} only in the second"
        )


def compare(before: Record, after: Record, differ: Differ = lambda _, __: ()) -> RecordChanges:
    """Compare two records case by case; if a record has a case more than once, the worst verdict counts.

    Raises:
        UsageError: they are of two kinds, or have no case in common.
    """
    if before.kind != after.kind:
        raise UsageError(f"a record of {before.kind} is not compared with one of {after.kind}")
    first, second = _by_line(before), _by_line(after)
    both = [(first[line], second[line]) for line in first if line in second]
    if not both and (first or second):
        raise UsageError(f"no case is in both: the first has {len(first):,}, the second {len(second):,} others")
    drivers = device_text(before), device_text(after)
    changes = [Change(old, new) for old, new in both if old.verdict is not new.verdict]
    changes.sort(key=lambda change: (not change.is_worse, -change.after.verdict.severity))
    times = [(_name(new), call_seconds(old), call_seconds(new)) for old, new in both]
    ratios = [Ratio(case, old, new) for case, old, new in times if old and new]
    return RecordChanges(
        headline(before),
        headline(after),
        drivers if before.kind == "test" and drivers[0] != drivers[1] else None,
        tuple(_head(before, after)),
        tuple(outcome for line, outcome in first.items() if line not in second),
        tuple(outcome for line, outcome in second.items() if line not in first),
        tuple(changes),
        tuple(Difference(_name(new), text, is_worse) for old, new in both for text, is_worse in differ(old, new)),
        tuple(sorted(ratios, key=lambda ratio: -ratio.ratio)),
        len(both) - len(changes),
    )


def _head(before: Record, after: Record) -> Iterator[tuple[str, str, str]]:
    # "ended early" explains cases that are only in the other record because the run did not reach them.
    first, second = ({**facts(record), "ended early": ended_early(record)} for record in (before, after))
    for name in {**first, **second}:
        if first.get(name, "") != second.get(name, ""):
            yield name, first.get(name, ""), second.get(name, "")


def _by_line(record: Record) -> dict[tuple[str, str], Outcome]:
    worst_of_line: dict[tuple[str, str], Outcome] = {}
    for outcome in record.outcomes:
        line = outcome.group, outcome.case
        known = worst_of_line.get(line)
        if known is None or known.verdict.severity < outcome.verdict.severity:
            worst_of_line[line] = outcome
    return worst_of_line


def _name(outcome: Outcome) -> str:
    return f"{outcome.group}: {outcome.case}" if outcome.group else outcome.case


def _short(outcome: Outcome) -> dict[str, str]:
    own = {"case": _name(outcome), "verdict": str(outcome.verdict), "message": first_line(outcome.message)}
    return own | ({"reduced": outcome.reduced} if outcome.reduced else {})


def _change_line(change: Change) -> str:
    before, after = (
        f"{outcome.verdict} ({first_line(outcome.message)})" if outcome.message else str(outcome.verdict)
        for outcome in (change.before, change.after)
    )
    reduced = change.after.reduced or change.before.reduced
    return f"{_name(change.after)}\n      {before}  ->  {after}" + (f"\n      reduced to {reduced}" if reduced else "")


def _ratio_line(ratio: Ratio) -> str:
    return f"{ratio.ratio:8.2f}  {ratio.before * 1e3:.3f} ms -> {ratio.after * 1e3:.3f} ms  {ratio.case}"


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"{title}: {len(lines):,}"
        yield from (f"  {line}" for line in lines[:SHOWN])
        if len(lines) > SHOWN:
            yield f"  ... and {len(lines) - SHOWN:,} more"
