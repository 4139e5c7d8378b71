"""One report of several that are parts of one run, such as its shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from restride.cli.process import UsageError
from restride_conformance.case import Case
from restride_conformance.report import Report, facts


def merge(parts: Sequence[tuple[str, Report]]) -> Report:
    """The report of all parts, each after its name: their cases in the order of the parts.

    It begins when the first began, and takes as long as all of them one after the other. If one ended early, so did it.

    Raises:
        UsageError: the parts differ in device, driver, versions or options, or a case is in two of them.
    """
    name, first = parts[0]
    known = _facts(first)
    cases: set[Case] = set()
    for other, report in parts:
        its = _facts(report)
        for fact in {**known, **its}:
            if known.get(fact) != its.get(fact):
                raise UsageError(
                    f"{name} and {other} are no parts of one run: {fact} is {known.get(fact)!r} and {its.get(fact)!r}"
                )
        for outcome in report.outcomes:
            if outcome.case in cases:
                raise UsageError(f"{other} is no part of the same run: another part has its case {outcome.case}")
        cases.update(outcome.case for outcome in report.outcomes)
    reports = [report for _, report in parts]
    return replace(
        first,
        started=min(report.started for report in reports),
        seconds=sum(report.seconds for report in reports),
        command="; ".join(report.command for report in reports),
        catalogues=tuple(dict.fromkeys(chain.from_iterable(report.catalogues for report in reports))),
        selected=sum(report.selected for report in reports),
        outcomes=tuple(chain.from_iterable(report.outcomes for report in reports)),
        broken_off=next((report.broken_off for report in reports if report.broken_off), ""),
    )


def _facts(report: Report) -> dict[str, str]:
    """What all parts of a run have alike: parts may be of different cases, and run on machines of one kind."""
    return {fact: value for fact, value in facts(report).items() if fact not in {"cases", "platform"}}
