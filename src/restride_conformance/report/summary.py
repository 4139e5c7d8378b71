"""The texts of a record: its headline, facts and summary."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple

from restride.command.process import INTERRUPTED
from restride.errors import printable
from restride_conformance.record import FLUSHED, ONE_SIZE, Outcome, Speed, Target, Verdict
from restride_conformance.report import Record, first_line
from restride_conformance.report.table import figure_text, number_text, tables

SMALL = "small sizes, under the names of the whole ones: these times mean nothing"

SHOWN_FAILURES = 20
SHOWN_LINES = 8
"""Maximum number of lines of a failure's message that the summary shows."""
SHOWN_REASONS = 10
MIN_MOVED = 64 << 10
"""A case must move at least this many bytes to count in a median, unless no case of its operation does."""


def headline(record: Record) -> str:
    """One line with the run's verdict and the reason: ``FAILED: 3 of 5,120 cases are not right (3 FAILED)``.

    A run that ended early without a fault is INTERRUPTED or STOPPED, because cases that it did not reach may be wrong.
    """
    if record.kind != "test" and record.problems:
        return f"{len(record.problems):,} problem{'s' * (len(record.problems) > 1)}"
    total, counts, early = len(record.outcomes), record.counts, ended_early(record)
    passed, skipped = (counts.get(verdict, 0) for verdict in (Verdict.PASSED, Verdict.SKIPPED))
    left_out = f", {skipped:,} {'was' if skipped == 1 else 'were'} skipped" if skipped else ""
    if known := sum(outcome.is_known for outcome in record.outcomes):
        left_out += f", {known:,} not right as expected"
    if record.bad:
        states = Counter(outcome.state for outcome in reversed(record.bad))
        listed = ", ".join(f"{count:,} {state}" for state, count in states.items())
        ran = f"{total - skipped:,} that ran" if skipped else _cases(total)
        verb = "is" if len(record.bad) == 1 else "are"
        text = f"{record.bad[0].state}: {len(record.bad):,} of {ran} {verb} not right ({listed}){left_out}"
        return f"{text}; {early}" if early else text
    if early:
        word = "INTERRUPTED" if record.broken_off == INTERRUPTED else "STOPPED"
        reason = f"{first_line(record.broken_off)}; " if word == "STOPPED" and record.broken_off else ""
        right = f", {passed:,} passed{left_out}" if left_out else ", all right" if passed else ""
        return f"{word}: {reason}{total:,} of {_cases(record.selected)} done{right}"
    if left_out:
        return f"{'PASSED' if passed or known else 'SKIPPED'}: {passed:,} of {_cases(total)} passed{left_out}"
    return f"PASSED: {_cases(total)}, all right" if passed else "nothing was judged"


def ended_early(record: Record) -> str:
    """How far a run got that ended early, and why, such as ``interrupted after 5 of 10``; empty if it is complete."""
    total = len(record.outcomes)
    how_far = f"after {total:,} of {record.selected:,}"
    if record.broken_off == INTERRUPTED:
        return f"interrupted {how_far}"
    if record.broken_off:
        return f"stopped {how_far}: {first_line(record.broken_off)}"
    return f"stopped {how_far}" if total < record.selected else ""


def facts(record: Record) -> dict[str, str]:
    """The device, driver, versions and options of a run: names and values to show, including empty values."""
    options, device = record.options, record.device or {}
    target = record.target if record.kind == "test" else Target()
    known = {
        "device": str(device.get("name", "")),
        "kind": str(device.get("kind", "")),
        "driver": record.driver,
        "API": f"Vulkan {device['api_version']}" if device else "",
        "runtime": figure_text(options.get("runtime", "")),
        "validation": target.validate or "",
        "limits": target.limits or "",
        "ICD manifest": target.driver or "",
        "shader under test": "" if target.shader is None else f"{target.shader.source} as {target.shader.module}",
        "cases": " ".join(options["catalogues"]) if record.kind == "test" else "",
        "mode": figure_text(options.get("mode", "")),
        "work groups": "of several sizes" if target.groups else "",
        "repetitions": "" if target.repeat == 1 else str(target.repeat),
        "replays": "" if target.replay == 1 else str(target.replay),
        "other work": ", ".join(_other_work(target)),
        "platform": record.platform,
        "processor": record.processor,
    }
    # ``known`` comes first for the order, and again last, so that no version with the same name replaces its facts.
    return {**known, **record.versions, **known}


def _other_work(target: Target) -> Iterator[str]:
    """What else the device was given while a case ran."""
    if target.under_load:
        yield "in flight"
    if target.in_batch:
        yield "in one batch"


def device_text(record: Record) -> str:
    """The names of the device and of its driver, with the driver's version."""
    return f"{record.device['name']}, {record.driver}" if record.device else "no device"


def speed_text(speed: Speed) -> str:
    """A speed as text with three significant digits: ``    0.812 ms     9.31 GB/s   87.2% of copy``."""
    milliseconds, rate = speed.seconds * 1e3, speed.gigabytes_per_second
    time, unit = (milliseconds, "ms") if milliseconds >= 0.1 else (milliseconds * 1e3, "us")
    rate, prefix = (rate, "G") if rate >= 0.1 else (rate * 1e3, "M")
    share = f"{number_text(speed.share_of_copy * 100):>6}% of copy"
    return f"{number_text(time):>8} {unit} {number_text(rate):>8} {prefix}B/s {share}"


def summary(record: Record) -> str:
    """The text for the terminal.

    Of a test: device, failures with the commands that rerun them, skip reasons, speeds, headline. Of other kinds:
    device, versions, the tables, and what is missed, wrong or left out.
    """
    lines = _test_lines(record) if record.kind == "test" else _measured_lines(record)
    return printable("\n".join(lines), has_lines=True)


def _measured_lines(record: Record) -> Iterator[str]:
    known = facts(record)
    runtime = f", runtime {known['runtime']}" if known["runtime"] else ""
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    yield f"{device_text(record)}{runtime}; {versions}"
    if record.processor:
        yield f"processor: {record.processor}"
    if record.options.get("small"):
        yield SMALL
    yield from (f"warning: {warning}" for warning in record.warnings)
    for table in tables(record.outcomes, record.options):
        yield ""
        yield str(table)
    yield ""
    goals = [(each, *goal) for each in record.outcomes for goal in each.figures.get("goals", {}).items()]
    if goals:
        yield f"goals: {sum(how['met'] for _, _, how in goals)} of {len(goals)} met"
    for outcome, goal, how in goals:
        if not how["met"]:
            yield f"missed: {outcome.case}: {how['measured']}, goal {goal}"
    yield from (f"problem: {each['message']}" for each in record.problems)
    if peers := record.options.get("peers"):
        yield "peers: " + "; ".join(f"{name} {version}" for name, version in peers.items())
    yield from (f"not run: {name}: {why}" for name, why in record.not_run.items())
    yield from record.notes
    if record.broken_off:
        yield f"broken off: {record.broken_off}"


def _test_lines(record: Record) -> Iterator[str]:
    known = facts(record)
    yield f"device: {known['device']} ({known['kind']}), {record.driver}, {known['API']}, runtime {known['runtime']}"
    if known["shader under test"]:
        yield f"shader under test: {known['shader under test']}"
    for outcome in record.bad[:SHOWN_FAILURES]:
        yield ""
        yield f"{outcome.state} {outcome.case}"
        yield from (f"    {line}" for line in record.lead(outcome))
        yield from (f"    {line}" for line in _truncated(outcome.reason.splitlines(), SHOWN_LINES, "lines"))
        yield f"    {record.repro(outcome)}"
    if len(record.bad) > SHOWN_FAILURES:
        yield ""
        # A run with a user's shader does not change the list of last failures.
        again = "" if known["shader under test"] else "; `restride test --lf` runs them again"
        yield f"... and {len(record.bad) - SHOWN_FAILURES:,} more that are not right{again}"
    if record.skip_reasons:
        yield ""
        yield "skipped:"
        reasons = [f"{count:>8,}  {reason}" for reason, count in record.skip_reasons.items()]
        yield from _truncated(reasons, SHOWN_REASONS, "reasons")
    flushed = sum(outcome.verdict is Verdict.PASSED and FLUSHED in outcome.message for outcome in record.outcomes)
    if flushed:
        yield ""
        yield f"passed with elements {FLUSHED}: {_cases(flushed)}"
    yield from _one_size(record)
    yield from _speeds(record)
    yield ""
    yield f"{headline(record)}, in {record.seconds:.1f} s"


def _one_size(record: Record) -> Iterator[str]:
    """How many cases have no work-group size to vary, for each reason."""
    reasons = Counter(
        line.removeprefix(f"{ONE_SIZE}: ")
        for outcome in record.outcomes
        for line in outcome.message.splitlines()
        if line.startswith(ONE_SIZE)
    )
    if reasons:
        yield ""
        yield f"{ONE_SIZE}, so these cases ran once:"
        yield from (f"{count:>8,}  {reason}" for reason, count in reasons.most_common())


def _speeds(record: Record) -> Iterator[str]:
    """The median speed of each measured operation, without small cases, which only show the cost of a call."""
    measured = [(op_of(outcome), Speed(**outcome.figures)) for outcome in record.outcomes if outcome.figures]
    if measured:
        yield ""
        yield "medians:"
    for op in dict.fromkeys(op for op, _ in measured):
        every = [speed for name, speed in measured if name == op]
        large = [speed for speed in every if round(speed.seconds * speed.gigabytes_per_second * 1e9) >= MIN_MOVED]
        speeds = large or every
        small = len(every) - len(speeds)
        left_out = f" ({small:,} that move less than 64 KiB left out)" if small else ""
        median = Speed(*map(statistics.median, zip(*map(astuple, speeds), strict=True)))
        yield f"{_cases(len(speeds)):>14}  {op:<10}{speed_text(median)}{left_out}"


def op_of(outcome: Outcome) -> str:
    """The operation of a conformance case, the first word of its line."""
    return outcome.case.partition(" ")[0]


def _truncated(lines: Iterable[str], most: int, what: str) -> Iterator[str]:
    lines = list(lines)
    yield from lines[:most]
    if len(lines) > most:
        yield f"... and {len(lines) - most:,} more {what}"


def _cases(count: int) -> str:
    return f"{count:,} case{'' if count == 1 else 's'}"
