"""Report: what a run measured, on what, beside whom, and which goals it met; as a value and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from restride_bench import device_copy
from restride_bench.agreement import Disagreement, tolerance
from restride_bench.offer import Measure
from restride_bench.run import WARM_UP, Result
from restride_bench.workload import Goal, Workload

FORMAT, VERSION = "restride-benchmark", 1

JUDGED: Measure = "resident"
"""Goals are about this measure."""


@dataclass(frozen=True)
class Verdict:
    """A goal and how it was met. ratio: restride to the other; None where the goal is a time."""

    workload: Workload
    goal: Goal
    is_met: bool
    ours: float
    ratio: float | None

    def __str__(self) -> str:
        found = f"{self.ours * 1e6:.0f} us" if self.ratio is None else f"{self.ratio:.2f}x {self.goal.against}"
        return f"{self.workload.name}: {found}, goal {self.goal}"


@dataclass(frozen=True)
class Report:
    """A run, whole or broken off.

    device: a ``DeviceInfo`` as a dict.
    versions: of restride, python, numpy.
    warnings: what spoils the figures.
    peers, absent: the version of each that took part, and why the others did not.
    memory_beside: bytes that a resample allocates beside its destination; None: not asked.
    broken_off: why it ended early; empty if it did not.
    """

    started: datetime
    command: str
    device: Mapping[str, Any]
    runtime: str
    platform: str
    versions: Mapping[str, str]
    warnings: tuple[str, ...]
    measures: tuple[Measure, ...]
    notes: tuple[str, ...]
    repeat: int
    is_small: bool
    peers: Mapping[str, str]
    absent: Mapping[str, str]
    results: tuple[Result, ...]
    memory_beside: int | None = None
    broken_off: str = ""

    @property
    def verdicts(self) -> list[Verdict]:
        """Of every goal that could be judged."""
        return [verdict for result in self.results for verdict in verdicts(result)]

    @property
    def disagreements(self) -> list[Disagreement]:
        """Peers that computed something else."""
        return [found for result in self.results for found in result.disagreements]

    def columns(self, measure: Measure) -> list[str]:
        """Peers that were measured, in their order."""
        measured = {column for result in self.results for column in result.seconds.get(measure, {})}
        return [name for name in self.peers if name in measured]

    def record(self) -> dict[str, Any]:
        """What JSON has. Times are seconds."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "started": self.started.isoformat(),
            "command": self.command,
            "device": dict(self.device),
            "runtime": self.runtime,
            "platform": self.platform,
            "versions": dict(self.versions),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "measures": list(self.measures),
            "warm_up": WARM_UP,
            "repeat": self.repeat,
            "small": self.is_small,
            "peers": dict(self.peers),
            "absent": dict(self.absent),
            "memory_beside": self.memory_beside,
            "broken_off": self.broken_off,
            "results": [_result_record(result) for result in self.results],
        }


def verdicts(result: Result) -> Iterator[Verdict]:
    """Of the goals whose other side was measured."""
    ours = result.median(JUDGED)
    for goal in result.workload.goals if ours is not None else ():
        theirs = result.median(JUDGED, goal.against) if goal.against else None
        if goal.against and theirs is None:
            continue
        ratio = result.ratio(JUDGED, goal.against) if goal.against else None
        yield Verdict(result.workload, goal, goal.is_met(ours or 0.0, theirs), ours or 0.0, ratio)


def share_of_copy(result: Result, measure: Measure) -> float | None:
    """The speed of restride beside that of the device's own copy of as many bytes."""
    ratio = result.ratio(measure, device_copy.NAME)
    return 1 / ratio if ratio else None


def _result_record(result: Result) -> dict[str, Any]:
    workload = result.workload
    return {
        "name": workload.name,
        "group": workload.group,
        "src": workload.src,
        "task": {"kind": type(workload.task).__name__, **asdict(workload.task)},
        "useful_bytes": workload.nbytes,
        "tolerance": tolerance(workload),
        "measures": {
            measure: {
                column: {"median": result.median(measure, column), "seconds": list(times)}
                for column, times in columns.items()
            }
            for measure, columns in result.seconds.items()
        },
        "goals": [
            {"goal": str(verdict.goal), "against": verdict.goal.against, "met": verdict.is_met, "ratio": verdict.ratio}
            for verdict in verdicts(result)
        ],
        "skipped": result.skipped,
        "disagreements": [{"peer": found.peer, "message": str(found)} for found in result.disagreements],
    }
