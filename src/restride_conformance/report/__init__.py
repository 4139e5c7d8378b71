"""The record of a run: what was found of each case, on which device, with which versions, as one frozen value.

Other modules have its forms: ``file`` (JSON, written and read), ``summary`` and ``table`` (text), ``page`` (HTML),
``junit``, and ``compare`` (two records).
"""

from __future__ import annotations

import platform as system
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

import restride
from restride.command.processor import cpu_model
from restride.runtime import DeviceInfo
from restride_conformance.case import Case
from restride_conformance.record import Outcome, Target, Verdict, worst

FORMAT, VERSION = "restride-record", 1

RecordKind = Literal["test", "selftest", "bench", "scale", "tune", "audit", "profiles", "reliability"]
"""The command that made a record, or the kind of its measurement."""

MESSAGE_CHARACTERS = 8192
"""Maximum number of characters of a message; the rest is replaced by a line with their number."""
PICTURE_BYTES = 16 << 20
"""Maximum number of bytes of all pictures together; those of the first failures are kept."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A run, complete or ended early. Messages and pictures past the bounds above are not kept.

    started: when the run started, with its time zone.
    seconds: wall time of the whole run.
    command: the command line of the run.
    options: how it was run, by name. Of a test: ``mode``, ``catalogues`` (names of the catalogues and case files that
        the cases are from), and the members of its ``Target``.
    selected: number of cases that were to run; more than the number of outcomes if the run ended early.
    device: a ``DeviceInfo`` as a dict, including its limits; None: there was none.
    versions: of restride, python, numpy and other packages, by name.
    platform, processor: the operating system, and the processor whatever the device is.
    warnings: what distorts the figures, such as other work on the machine.
    notes: other lines for people.
    not_run: what took no part, and why: absent libraries, parts without time.
    problems: what must be mended beside or because of outcomes: ``case`` and ``message`` of each.
    broken_off: why the run ended early, ``INTERRUPTED`` if the user ended it; empty if it did not, or if it stopped at
        the first failure as asked.
    """

    kind: RecordKind
    started: datetime
    seconds: float = 0.0
    command: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    selected: int
    device: Mapping[str, Any] | None = None
    versions: Mapping[str, str]
    platform: str = ""
    processor: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Mapping[str, str], ...] = ()
    broken_off: str = ""
    outcomes: tuple[Outcome, ...] = ()

    def __post_init__(self) -> None:
        """Cut messages and drop pictures past the bounds."""
        object.__setattr__(self, "broken_off", _cut(self.broken_off))
        object.__setattr__(self, "outcomes", tuple(_bounded(self.outcomes)))

    @classmethod
    def begin(cls, kind: RecordKind, device: DeviceInfo | None, **own: Any) -> Self:
        """The record of a run that begins now on this machine, without outcomes; ``own``: further fields."""
        versions = {"restride": restride.__version__, "python": system.python_version(), "numpy": np.__version__}
        usual: dict[str, Any] = {
            "started": datetime.now(UTC),
            "command": shlex.join(["restride", *sys.argv[1:]]),
            "selected": 0,
            "device": None if device is None else asdict(device),
            "versions": versions,
            "platform": system.platform(),
            "processor": cpu_model(),
        }
        return cls(kind=kind, **{**usual, **own})

    def ended(self, outcomes: Iterable[Outcome], **own: Any) -> Self:
        """The record of a run that ends now with these outcomes, all that were selected; ``own``: other fields."""
        rows = tuple(outcomes)
        took = max(0.0, (datetime.now(UTC) - self.started).total_seconds())  # somebody may have set the clock back
        return replace(self, **{"seconds": round(took, 3), "selected": len(rows), "outcomes": rows, **own})

    @property
    def target(self) -> Target:
        """What the cases of a test ran on, as the command line named it."""
        return Target.from_record(self.options)

    def repro(self, outcome: Outcome) -> str:
        """The shell command that runs the case of a test's outcome alone, in the mode of the run."""
        return self.target.repro(outcome.case, self.options["mode"])

    def lead(self, outcome: Outcome) -> tuple[str, ...]:
        """Lines before the message of a test's outcome, if it was reduced: that case and the command that runs it."""
        if not outcome.reduced:
            return ()
        repro = self.target.repro(outcome.reduced, self.options["mode"])
        return f"reduced to {outcome.reduced}", repro, "before it was reduced:"

    @property
    def worst(self) -> Verdict | None:
        """The run's verdict; None if no case was judged."""
        return worst(outcome.verdict for outcome in self.outcomes) if self.outcomes else None

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many cases got each verdict, the mildest first; verdicts that no case got are left out."""
        counted = Counter(outcome.verdict for outcome in self.outcomes)
        return {verdict: counted[verdict] for verdict in Verdict if counted[verdict]}

    @cached_property
    def bad(self) -> tuple[Outcome, ...]:
        """The outcomes that are not good: the worst verdict first, of one verdict the smallest case first."""
        bad = (outcome for outcome in self.outcomes if not outcome.is_good)

        def place(outcome: Outcome) -> tuple[int, int]:
            return -outcome.verdict.severity, Case.parse(outcome.case).elements if self.kind == "test" else 0

        return tuple(sorted(bad, key=place))

    @property
    def skip_reasons(self) -> dict[str, int]:
        """How many cases were skipped for each reason, the most frequent first."""
        skipped = (outcome for outcome in self.outcomes if outcome.verdict is Verdict.SKIPPED)
        return dict(Counter(first_line(outcome.message) for outcome in skipped).most_common())

    @property
    def driver(self) -> str:
        """The driver's name and version; "" without a device."""
        return f"{self.device['driver']} {self.device['driver_version']}" if self.device else ""

    def values(self) -> dict[str, Any]:
        """The record as a JSON object that follows ``record.schema.json``; values that are empty are left out."""
        members = {each.name: getattr(self, each.name) for each in fields(self)}
        own = {name: value for name, value in members.items() if value or name in REQUIRED}
        changed = {"started": self.started.isoformat(), "outcomes": [outcome.record() for outcome in self.outcomes]}
        return {"format": FORMAT, "version": VERSION, **own, **changed}

    @classmethod
    def from_values(cls, values: Mapping[str, Any], outcomes: Iterable[Outcome]) -> Self:
        """Restore a record from its ``values()``, unchecked, and its outcomes; ``read_record`` checks them first."""
        own: dict[str, Any] = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        own |= {name: tuple(own[name]) for name in ("warnings", "notes", "problems") if name in own}
        return cls(**own | {"started": datetime.fromisoformat(own["started"]), "outcomes": tuple(outcomes)})


REQUIRED = ("started", "seconds", "selected", "device", "not_run", "problems", "broken_off", "outcomes")
"""Members that stand in every file, even if they are empty: programs count them."""


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
