"""One report of several that are parts of one run, such as its shards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from restride.command.process import UsageError
from restride_conformance.case import Case
from restride_conformance.report import Report, facts


def merge(parts: Sequence[tuple[str, Report]]) -> Report:
    """One report of all parts, with their cases in the order of the parts.

    parts: the name and the report of each. The merged report begins when the first part began, and its time is the sum
    of the parts' times. It ended early if a part ended early or a shard is missing.

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
        broken_off=next((report.broken_off for report in reports if report.broken_off), _missing_shards(reports)),
    )


def _missing_shards(reports: Sequence[Report]) -> str:
    """The shards that no report is of: of ``--shard 1/3`` and ``--shard=3/3``, "shard 2 of 3 is missing"; or ""."""
    shards = [re.search(r"--shard[ =](\d+)/(\d+)", report.command) for report in reports]
    present = {(int(shard[1]), int(shard[2])) for shard in shards if shard}
    for count in {count for _, count in present}:
        missing = [str(number) for number in range(1, count + 1) if (number, count) not in present]
        if missing:
            several = len(missing) > 1
            return f"shard{'s' * several} {', '.join(missing)} of {count} {'are' if several else 'is'} missing"
    return ""


def _facts(report: Report) -> dict[str, str]:
    """The facts that all parts of a run share: parts may be of different cases, and run on machines of one kind."""
    return {fact: value for fact, value in facts(report).items() if fact not in {"cases", "platform"}}
