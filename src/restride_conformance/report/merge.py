"""One record of several tests that are parts of one run, such as its shards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from restride.command.process import UsageError
from restride_conformance.report import Record
from restride_conformance.report.summary import facts


def merge(parts: Sequence[tuple[str, Record]]) -> Record:
    """One record of all parts, with their cases in the order of the parts.

    parts: the name and the record of each. The merged record begins when the first part began, and its time is the sum
    of the parts' times. It ended early if a part ended early or a shard is missing.

    Raises:
        UsageError: the parts differ in device, driver, versions or options, or a case is in two of them.
    """
    name, first = parts[0]
    known = _facts(first)
    cases: set[str] = set()
    for other, record in parts:
        its = _facts(record)
        for fact in {**known, **its}:
            if known.get(fact) != its.get(fact):
                raise UsageError(
                    f"{name} and {other} are no parts of one run: {fact} is {known.get(fact)!r} and {its.get(fact)!r}"
                )
        for outcome in record.outcomes:
            if outcome.case in cases:
                raise UsageError(f"{other} is no part of the same run: another part has its case {outcome.case}")
        cases.update(outcome.case for outcome in record.outcomes)
    records = [record for _, record in parts]
    catalogues = chain.from_iterable(record.options["catalogues"] for record in records)
    return replace(
        first,
        started=min(record.started for record in records),
        seconds=sum(record.seconds for record in records),
        command="; ".join(record.command for record in records),
        options={**first.options, "catalogues": list(dict.fromkeys(catalogues))},
        selected=sum(record.selected for record in records),
        outcomes=tuple(chain.from_iterable(record.outcomes for record in records)),
        broken_off=next((record.broken_off for record in records if record.broken_off), _missing_shards(records)),
    )


def _missing_shards(records: Sequence[Record]) -> str:
    """The shards without a record, in words: beside ``--shard 1/3`` and ``--shard=3/3``, "shard 2 of 3 is missing"."""
    shards = [re.search(r"--shard[ =](\d+)/(\d+)", record.command) for record in records]
    present = {(int(shard[1]), int(shard[2])) for shard in shards if shard}
    for count in {count for _, count in present}:
        missing = [str(number) for number in range(1, count + 1) if (number, count) not in present]
        if missing:
            several = len(missing) > 1
            return f"shard{'s' * several} {', '.join(missing)} of {count} {'are' if several else 'is'} missing"
    return ""


def _facts(record: Record) -> dict[str, str]:
    """The facts that all parts of a run share: parts may be of different cases, and run on machines of one kind."""
    return {fact: value for fact, value in facts(record).items() if fact not in {"cases", "platform"}}
