"""The report of a run: its outcomes, device and versions as one frozen value, and its summary as text.

Other modules have its other forms: ``file`` (JSON, written and read), ``junit``, ``page`` (HTML), ``compare`` (two
reports).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, fields, replace
from datetime import datetime
from typing import Any, Self

from restride.command.process import INTERRUPTED
from restride.errors import printable
from restride_conformance.record import FLUSHED, Mode, Outcome, Speed, Target, Verdict, worst

FORMAT = "restride-test-report"
VERSION = 1

MESSAGE_CHARACTERS = 8192
"""Maximum number of characters of a message; the rest is replaced by a line with their number."""
PICTURE_BYTES = 16 << 20
"""Maximum number of bytes of all pictures together; those of the first failures are kept."""

SHOWN_FAILURES = 20
SHOWN_LINES = 8
"""Maximum number of lines of a failure's message that the summary shows."""
SHOWN_REASONS = 10
MIN_MOVED = 64 << 10
"""A case must move at least this many bytes to count in a median, unless no case of its operation does."""
MAX_DIGITS = 6  # digits after the decimal point


@dataclass(frozen=True)
class Report:
    """A run, complete or ended early. Messages and pictures past the bounds above are not kept.

    started: when the run started, with its time zone.
    seconds: wall time of the whole run.
    command: the command line of the run.
    catalogues: names of the catalogues and case files that the cases are from.
    selected: number of cases that were to run; more than the number of outcomes if the run ended early.
    device: a ``DeviceInfo`` as a dict, including its limits.
    versions: of restride, python, numpy and other packages, by name.
    broken_off: why the run ended early, ``INTERRUPTED`` if the user ended it; empty if it did not, or if it stopped at
        the first failure as asked.
    """

    started: datetime
    seconds: float
    command: str
    catalogues: tuple[str, ...]
    mode: Mode
    selected: int
    target: Target
    device: Mapping[str, Any]
    versions: Mapping[str, str]
    platform: str
    outcomes: tuple[Outcome, ...]
    broken_off: str = ""

    def __post_init__(self) -> None:
        """Cut messages and drop pictures past the bounds."""
        object.__setattr__(self, "broken_off", _cut(self.broken_off))
        object.__setattr__(self, "outcomes", tuple(_bounded(self.outcomes)))

    @property
    def worst(self) -> Verdict | None:
        """The run's verdict; None if no case was judged."""
        return worst(outcome.verdict for outcome in self.outcomes) if self.outcomes else None

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many cases got each verdict, the mildest first; verdicts that no case got are left out."""
        counted = Counter(outcome.verdict for outcome in self.outcomes)
        return {verdict: counted[verdict] for verdict in Verdict if counted[verdict]}

    @property
    def bad(self) -> tuple[Outcome, ...]:
        """The outcomes that are not ``is_good``: the worst verdict first, of one verdict the smallest case first."""
        bad = (outcome for outcome in self.outcomes if not outcome.verdict.is_good)
        return tuple(sorted(bad, key=lambda outcome: (-outcome.verdict.severity, outcome.case.elements)))

    @property
    def skip_reasons(self) -> dict[str, int]:
        """How many cases were skipped for each reason, the most frequent first."""
        skipped = (outcome for outcome in self.outcomes if outcome.verdict is Verdict.SKIPPED)
        return dict(Counter(first_line(outcome.message) for outcome in skipped).most_common())

    @property
    def driver(self) -> str:
        """The driver's name and version."""
        return f"{self.device['driver']} {self.device['driver_version']}"

    def record(self) -> dict[str, Any]:
        """The report as a JSON object that follows ``report.schema.json``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **vars(self),
            "started": self.started.isoformat(),
            "catalogues": list(self.catalogues),
            "target": asdict(self.target),
            "outcomes": [outcome.record() for outcome in self.outcomes],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], outcomes: Iterable[Outcome]) -> Self:
        """Restore a report from its ``record()``, unchecked, and its outcomes; ``read_json`` checks records first."""
        values = {field.name: record[field.name] for field in fields(cls)}
        values["started"] = datetime.fromisoformat(record["started"])
        values["catalogues"], values["outcomes"] = tuple(record["catalogues"]), tuple(outcomes)
        return cls(**{**values, "target": Target.from_record(record["target"])})


def first_line(message: str) -> str:
    """The first line of a message; ``""`` if it has none."""
    return message.partition("\n")[0]


def _cut(message: str) -> str:
    if len(message) <= MESSAGE_CHARACTERS:
        return message
    cut = f"\n... and {len(message) - MESSAGE_CHARACTERS} more characters"
    return message[: MESSAGE_CHARACTERS - len(cut)] + cut


def _bounded(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    room = PICTURE_BYTES
    for outcome in outcomes:
        message = _cut(outcome.message)
        bounded = outcome if message == outcome.message else replace(outcome, message=message)
        shown = outcome.pictures
        room -= len(outcome.wrong)
        room -= 0 if shown is None else len(shown.expected) + len(shown.actual) + len(shown.difference)
        if room < 0:
            bounded = replace(bounded, pictures=None, wrong=b"")
        yield bounded


# The report as text.


def headline(report: Report) -> str:
    """One line with the run's verdict and the reason: ``FAILED: 3 of 5,120 cases are not right (3 FAILED)``.

    A run that ended early without a fault is INTERRUPTED or STOPPED, because cases that it did not reach may be wrong.
    """
    total, counts, early = len(report.outcomes), report.counts, ended_early(report)
    passed, skipped = (counts.get(verdict, 0) for verdict in (Verdict.PASSED, Verdict.SKIPPED))
    left_out = f", {skipped:,} {'was' if skipped == 1 else 'were'} skipped" if skipped else ""
    if report.bad:
        listed = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items() if not verdict.is_good)
        ran = f"{total - skipped:,} that ran" if skipped else _cases(total)
        verb = "is" if len(report.bad) == 1 else "are"
        text = f"{report.worst}: {len(report.bad):,} of {ran} {verb} not right ({listed}){left_out}"
        return f"{text}; {early}" if early else text
    if early:
        word = "INTERRUPTED" if report.broken_off == INTERRUPTED else "STOPPED"
        reason = f"{first_line(report.broken_off)}; " if word == "STOPPED" and report.broken_off else ""
        right = f", {passed:,} passed{left_out}" if skipped else ", all right" if passed else ""
        return f"{word}: {reason}{total:,} of {_cases(report.selected)} done{right}"
    if skipped:
        return f"{'PASSED' if passed else 'SKIPPED'}: {passed:,} of {_cases(total)} passed{left_out}"
    return f"PASSED: {_cases(total)}, all right" if passed else "nothing was judged"


def ended_early(report: Report) -> str:
    """How far a run got that ended early, and why, such as ``interrupted after 5 of 10``; empty if it is complete."""
    total = len(report.outcomes)
    how_far = f"after {total:,} of {report.selected:,}"
    if report.broken_off == INTERRUPTED:
        return f"interrupted {how_far}"
    if report.broken_off:
        return f"stopped {how_far}: {first_line(report.broken_off)}"
    return f"stopped {how_far}" if total < report.selected else ""


def facts(report: Report) -> dict[str, str]:
    """The device, driver, versions and options of a run: names and values to show, including empty values."""
    device, target = report.device, report.target
    known = {
        "device": str(device["name"]),
        "kind": str(device["kind"]),
        "driver": report.driver,
        "API": f"Vulkan {device['api_version']}",
        "runtime": target.runtime,
        "validation": target.validate or "",
        "limits": target.limits or "",
        "ICD manifest": target.driver or "",
        "shader under test": "" if target.shader is None else f"{target.shader.source} as {target.shader.module}",
        "cases": " ".join(report.catalogues),
        "mode": report.mode,
        "platform": report.platform,
    }
    # ``known`` comes first for the order, and again last, so that no version with the same name replaces its facts.
    return {**known, **report.versions, **known}


def speed_text(speed: Speed) -> str:
    """A speed as text with three significant digits: ``    0.812 ms     9.31 GB/s   87.2% of copy``."""
    milliseconds, rate = speed.seconds * 1e3, speed.gigabytes_per_second
    time, unit = (milliseconds, "ms") if milliseconds >= 0.1 else (milliseconds * 1e3, "us")
    rate, prefix = (rate, "G") if rate >= 0.1 else (rate * 1e3, "M")
    share = f"{_three_digits(speed.share_of_copy * 100):>6}% of copy"
    return f"{_three_digits(time):>8} {unit} {_three_digits(rate):>8} {prefix}B/s {share}"


def _three_digits(value: float) -> str:
    """A number with three significant digits, or all before the point if there are more: 0.0123, 1.23, 12,345."""
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:,.{min(max(digits, 0), MAX_DIGITS)}f}"


def summary(report: Report) -> str:
    """The text for the terminal: device, failures with the commands that rerun them, skip reasons, speeds, headline."""
    return printable("\n".join(_lines(report)), has_lines=True)


def _lines(report: Report) -> Iterator[str]:
    device = report.device
    vulkan = f"Vulkan {device['api_version']}, runtime {report.target.runtime}"
    yield f"device: {device['name']} ({device['kind']}), {report.driver}, {vulkan}"
    if (shader := report.target.shader) is not None:
        yield f"shader under test: {shader.source} as {shader.module}"
    for outcome in report.bad[:SHOWN_FAILURES]:
        yield ""
        yield f"{outcome.verdict} {outcome.case}"
        yield from (f"    {line}" for line in _truncated(outcome.message.splitlines(), SHOWN_LINES, "lines"))
        yield f"    {report.target.repro(outcome.case, report.mode)}"
    if len(report.bad) > SHOWN_FAILURES:
        yield ""
        # A run with a user's shader does not change the list of last failures.
        again = "" if report.target.shader is not None else "; `restride test --lf` runs them again"
        yield f"... and {len(report.bad) - SHOWN_FAILURES:,} more that are not right{again}"
    if report.skip_reasons:
        yield ""
        yield "skipped:"
        reasons = [f"{count:>8,}  {reason}" for reason, count in report.skip_reasons.items()]
        yield from _truncated(reasons, SHOWN_REASONS, "reasons")
    flushed = sum(outcome.verdict is Verdict.PASSED and FLUSHED in outcome.message for outcome in report.outcomes)
    if flushed:
        yield ""
        yield f"passed with elements {FLUSHED}: {_cases(flushed)}"
    yield from _speeds(report)
    yield ""
    yield f"{headline(report)}, in {report.seconds:.1f} s"


def _speeds(report: Report) -> Iterator[str]:
    """The median speed of each measured operation, without small cases, which only show the cost of a call."""
    measured = [(outcome.case.op, outcome.speed) for outcome in report.outcomes if outcome.speed is not None]
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


def _truncated(lines: Iterable[str], most: int, what: str) -> Iterator[str]:
    lines = list(lines)
    yield from lines[:most]
    if len(lines) > most:
        yield f"... and {len(lines) - most:,} more {what}"


def _cases(count: int) -> str:
    return f"{count:,} case{'' if count == 1 else 's'}"
