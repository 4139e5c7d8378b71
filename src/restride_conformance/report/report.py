"""Report: what a run of cases gave, on what and with what, as one frozen value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Self

from restride_conformance.outcome import Outcome, Verdict, worst
from restride_conformance.target import Mode, ShaderUnderTest, Target

FORMAT = "restride-test-report"
VERSION = 1
MESSAGE_CHARACTERS = 8192
"""Of each message; the rest is cut off, and said to be."""
INTERRUPTED = "interrupted"
"""``broken_off`` of a run that the user ended."""
PICTURE_BYTES = 16 << 20
"""Of all pictures together: those of the first failures are kept."""


@dataclass(frozen=True)
class Report:
    """A run, whole or broken off. Messages and pictures past the bounds above are not kept.

    started: with its time zone.
    seconds: wall time of the whole run.
    command: the command line that made it.
    catalogues: names of the catalogues and case files that the cases are from.
    selected: how many cases were to be run; more than there are outcomes if the run was broken off.
    device: a ``DeviceInfo`` as a dict, limits included.
    versions: of restride, python, numpy and whatever else took part, by name.
    broken_off: why it ended early, ``INTERRUPTED`` if the user ended it; empty if it did not, or if it was to stop at
        the first failure.
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
        """Keep to the bounds."""
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
        """The outcomes where something is to be mended, the worst verdict first, otherwise in the order they ran."""
        found = (outcome for outcome in self.outcomes if not outcome.verdict.is_good)
        return tuple(sorted(found, key=lambda outcome: -outcome.verdict.severity))

    @property
    def skip_reasons(self) -> dict[str, int]:
        """Why cases were skipped, and how many for each reason, the most frequent first."""
        skipped = (outcome for outcome in self.outcomes if outcome.verdict is Verdict.SKIPPED)
        return dict(Counter(first_line(outcome.message) for outcome in skipped).most_common())

    @property
    def driver(self) -> str:
        """The driver's name and version."""
        return f"{self.device['driver']} {self.device['driver_version']}"

    def record(self) -> dict[str, Any]:
        """The report as JSON has it: ``report.schema.json``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "started": self.started.isoformat(),
            "seconds": self.seconds,
            "command": self.command,
            "catalogues": list(self.catalogues),
            "mode": self.mode,
            "selected": self.selected,
            "broken_off": self.broken_off,
            "target": asdict(self.target),
            "device": dict(self.device),
            "versions": dict(self.versions),
            "platform": self.platform,
            "outcomes": [outcome.record() for outcome in self.outcomes],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], outcomes: Iterable[Outcome]) -> Self:
        """The report that ``record`` made, of the outcomes in it; trusts the record: ``read_json`` checks it first."""
        target = dict(record["target"])
        shader = target.pop("shader")
        return cls(
            datetime.fromisoformat(record["started"]),
            record["seconds"],
            record["command"],
            tuple(record["catalogues"]),
            record["mode"],
            record["selected"],
            Target(**target, shader=None if shader is None else ShaderUnderTest(**shader)),
            record["device"],
            record["versions"],
            record["platform"],
            tuple(outcomes),
            record["broken_off"],
        )


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
        kept = outcome if message == outcome.message else replace(outcome, message=message)
        if (shown := outcome.pictures) is not None:
            room -= len(shown.expected) + len(shown.actual) + len(shown.difference)
            if room < 0:
                kept = replace(kept, pictures=None)
        yield kept
