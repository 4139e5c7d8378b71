"""The report of a benchmark: times, device, peers and met goals, as a value, as JSON, and as a table."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np

import restride
from restride.command.parser import runtime_name
from restride.command.process import tell, why_ended
from restride.command.processor import cpu_model
from restride.command.stopwatch import has_clock, rounds_text, warnings
from restride.drawing.explain import columns
from restride.tensor.device import Device
from restride_bench.peers import open_peers
from restride_measure.offer import Measure
from restride_measure.own import COPY, OURS
from restride_measure.run import WARM_UP, Disagreement, Result, run, tolerance
from restride_measure.workloads import MEAN_GOALS, Goal, Workload

FORMAT, VERSION = "restride-benchmark", 1

JUDGED: Measure = "resident"
"""The measure that goals apply to."""


@dataclass(frozen=True)
class Verdict:
    """A goal and its outcome.

    ours: restride's median in seconds. ratio: restride's time over the other column's; None if the goal is a time.
    """

    workload: Workload
    goal: Goal
    is_met: bool
    ours: float
    ratio: float | None

    def __str__(self) -> str:
        measured = f"{self.ours * 1e6:.0f} us" if self.ratio is None else f"{self.ratio:.2f}x {self.goal.against}"
        return f"{self.workload.name}: {measured}, goal {self.goal}"


@dataclass(frozen=True)
class Report:
    """A benchmark run, complete or ended early.

    device: a ``DeviceInfo`` as a dict.
    platform, cpu: the operating system and the processor, whatever the device is.
    versions: of restride, python, numpy.
    warnings: conditions that distort the figures.
    notes: other lines for the user, such as a measure that was left out.
    peers, absent: the version of each peer that took part, and the reason for each that did not, by name.
    memory_beside: bytes that a resample allocates in addition to its destination; None: not measured.
    left_out: names of the workloads that were not begun, because the total time was over.
    broken_off: why the run ended early; empty if it did not.
    """

    started: datetime
    command: str
    device: Mapping[str, Any]
    runtime: str
    platform: str
    cpu: str
    versions: Mapping[str, str]
    warnings: tuple[str, ...]
    measures: tuple[Measure, ...]
    notes: tuple[str, ...]
    repeat: int
    is_small: bool
    peers: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    memory_beside: int | None = None
    left_out: tuple[str, ...] = ()
    broken_off: str = ""

    @property
    def device_name(self) -> str:
        """The names of the device and its driver, with the driver's version."""
        return f"{self.device['name']}, {self.device['driver']} {self.device['driver_version']}"

    @property
    def verdicts(self) -> list[Verdict]:
        """A verdict for each goal whose other column, if any, was measured."""
        return [verdict for result in self.results for verdict in verdicts(result)]

    @property
    def disagreements(self) -> list[Disagreement]:
        """Columns with a wrong result."""
        return [wrong for result in self.results for wrong in result.disagreements]

    def columns(self, measure: Measure) -> list[str]:
        """The peers with times for a measure, in the order of ``peers``."""
        measured = {column for result in self.results for column in result.seconds.get(measure, {})}
        return [name for name in self.peers if name in measured]

    def record(self) -> dict[str, Any]:
        """The report as JSON values: its fields and the settings of the measurement. Times are seconds."""
        fields = {name: value for name, value in vars(self).items() if name not in {"is_small", "results"}}
        return {
            "format": FORMAT,
            "version": VERSION,
            **fields,
            "started": self.started.isoformat(),
            "warm_up": WARM_UP,
            "small": self.is_small,
            "means": [mean._asdict() | {"goal": str(mean.goal), "met": mean.is_met} for mean in means(self)],
            "results": [_result_record(result) for result in self.results],
        }


def verdicts(result: Result) -> Iterator[Verdict]:
    """Yield a verdict for each goal whose other column, if any, was measured."""
    ours = result.median(JUDGED)
    for goal in result.workload.goals if ours is not None else ():
        theirs = result.median(JUDGED, goal.against) if goal.against else None
        if goal.against and theirs is None:
            continue
        ratio = result.ratio(JUDGED, goal.against) if goal.against else None
        yield Verdict(result.workload, goal, goal.is_met(ours or 0.0, theirs), ours or 0.0, ratio)


class Mean(NamedTuple):
    """The geometric mean of restride's time over another column's, for a group whose workloads only move elements.

    equal: number of workloads in the mean, those where the other column's bits were equal. workloads: number of all
    workloads of the group.
    """

    group: str
    equal: int
    workloads: int
    ratio: float
    goal: Goal

    @property
    def is_met(self) -> bool:
        """True if the mean meets the goal."""
        return self.goal.is_met(self.ratio, 1.0)

    def __str__(self) -> str:
        words = f"{self.group}: {self.equal} of {self.workloads} bit for bit as {self.goal.against}, "
        words += f"geometric mean {self.ratio:.2f}x {self.goal.against}"
        return f"{words}, goal {self.goal}: {'met' if self.is_met else 'MISSED'}"


def means(report: Report) -> list[Mean]:
    """The means of the groups in ``MEAN_GOALS`` in which both sides were measured."""
    group_means = []
    for group, goal in MEAN_GOALS.items():
        members = [result for result in report.results if result.workload.group == group]
        ratios = [ratio for result in members if (ratio := result.ratio(JUDGED, goal.against)) is not None]
        group_means += [Mean(group, len(ratios), len(members), geometric_mean(ratios), goal)] if ratios else []
    return group_means


def share_of_copy(result: Result, measure: Measure) -> float | None:
    """The speed of restride over that of the device's own copy of as many bytes; None if not measured."""
    ratio = result.ratio(measure, COPY)
    return 1 / ratio if ratio else None


def _result_record(result: Result) -> dict[str, Any]:
    workload = result.workload
    return {
        "name": workload.name,
        "group": workload.group,
        "src": workload.src,
        "task": str(workload.task),
        "how": workload.how,
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
        "disagreements": [{"peer": wrong.peer, "message": str(wrong)} for wrong in result.disagreements],
    }


def new_report(device: Device, measures: Sequence[Measure], repeat: int, *, is_small: bool = False) -> Report:
    """A report without results: the device, the machine, and warnings and notes, which are also printed on stderr.

    Args:
        device: the device for restride.
        measures: the measures to take; "kernel" is left out if the device has no clock.
        repeat: rounds that count.
        is_small: the workloads have small sizes, so the times mean nothing.
    """
    runtime, notes = runtime_name(device), []
    if "kernel" in measures and not has_clock(device):
        lacks = "queue has no timestamps" if runtime == "vulkan" else f"runtime {runtime} has no clock of the device"
        measures, notes = [measure for measure in measures if measure != "kernel"], [f"kernel is left out: the {lacks}"]
    report = Report(
        started=datetime.now(UTC),
        command=shlex.join(["restride", *sys.argv[1:]]),
        device=asdict(device.info),
        runtime=runtime,
        platform=platform.platform(),
        cpu=cpu_model(),
        versions={"restride": restride.__version__, "python": platform.python_version(), "numpy": np.__version__},
        warnings=tuple(warnings()),
        measures=tuple(measures),
        notes=tuple(notes),
        repeat=repeat,
        is_small=is_small,
    )
    for line in (*(f"warning: {warning}" for warning in report.warnings), *notes):
        tell(line)
    return report


def measure(
    report: Report,
    workloads: Sequence[Workload],
    device: Device,
    peers: Sequence[str],
    *,
    is_whole: bool = False,
    seconds: float | None = None,
    finished: Callable[[Result], None] = lambda _: None,
) -> tuple[Report, BaseException | None]:
    """Measure workloads.

    Args:
        report: a new report, whose measures and rounds are taken.
        workloads: the workloads to measure.
        device: the device for restride.
        peers: names of the other libraries; the report lists those that are absent.
        is_whole: the workloads are the whole catalogue, so also measure the extra memory of a resample.
        seconds: no workload begins later than this; the first always runs. None: all run.
        finished: called with each result.

    Returns:
        The report, and the exception that ended the run early or None; raise it once the report is written.
    """
    started = time.monotonic()
    present, absent = open_peers(peers, device)
    results: list[Result] = []
    broken_off: BaseException | None = None
    memory: int | None = None
    left_out: tuple[str, ...] = ()
    try:
        for result in run(workloads, device, present, report.measures, report.repeat):
            results.append(result)
            finished(result)
            if seconds is not None and time.monotonic() - started >= seconds:
                left_out = tuple(f"{each.group}: {each.name}" for each in workloads[len(results) :])
                break
        memory = memory_beside(device) if is_whole and not left_out else None
    except BaseException as error:  # noqa: BLE001 - raised once the report is written
        broken_off = error
    complete = replace(
        report,
        peers={name: peer.version for name, peer in present.items()},
        absent=absent,
        results=tuple(results),
        memory_beside=memory,
        left_out=left_out,
        broken_off=why_ended(broken_off),
    )
    return complete, broken_off


TITLES: dict[Measure, str] = {
    "kernel": "kernel: what the device itself says it took",
    "resident": "resident: the call and the wait, tensors on the device, destination there",
    "numpy": "numpy: numpy array in, numpy array out",
    "processor": "processor: of a resident call, the processor time of all threads",
}


def table(report: Report) -> str:
    """The text for the terminal: heading, a table for each measure, goals and peers."""
    blocks = [heading(report), *("\n".join(_block(report, measure)) for measure in report.measures)]
    return "\n\n".join([*blocks, "\n".join(_summary(report))])


def heading(report: Report) -> str:
    """The device, the versions, the processor, and warnings about the figures."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    lines = [
        f"{report.device_name}, runtime {report.runtime}; {versions}",
        f"processor: {report.cpu}",
    ]
    if report.is_small:
        lines.append("small sizes, under the names of the whole ones: these times mean nothing")
    lines += [f"warning: {warning}" for warning in report.warnings]
    return "\n".join([*lines, *report.notes])


def _block(report: Report, measure: Measure) -> Iterator[str]:
    """The lines of one measure's table, a row per workload.

    Ratios are restride's time over the other column's; ``own`` is the workload's rival.
    """
    results = [result for result in report.results if result.median(measure) is not None]
    yield f"{TITLES[measure]}; {rounds_text(report.repeat)}"
    if not results:
        yield "nothing was measured"
        return
    peers = report.columns(measure)
    rivals = [_rival_ratio(result, measure) for result in results]
    own = ["own"] if any(ratio is not None for ratio in rivals) else []
    rows = [["workload", "ms", "GB/s", "of copy", *(f"/{name}" for name in (*own, *peers))]]
    for result, rival in zip(results, rivals, strict=True):
        ratios = [*([rival] if own else []), *(result.ratio(measure, peer) for peer in peers)]
        numbers = [result.speed(measure), share_of_copy(result, measure), *ratios]
        rows.append(
            [f"  {result.workload.name}", f"{1e3 * (result.median(measure) or 0.0):.3f}", *map(_number, numbers)]
        )
    right = range(1, len(rows[0]))
    if measure == JUDGED and any(result.workload.goals for result in results):
        rows[0].append("goals")
        for row, result in zip(rows[1:], results, strict=True):
            judged = (f"{verdict.goal}: {'met' if verdict.is_met else 'MISSED'}" for verdict in verdicts(result))
            row.append("; ".join(judged))
    yield f"useful GB/s, share of the device's own copy, and {OURS} / other: below 1 {OURS} is faster"
    header, *lines = columns(rows, right)
    yield header
    for group, members in groupby(zip(results, lines, strict=True), key=lambda pair: pair[0].workload.group):
        yield group
        yield from (line for _, line in members)


def _rival_ratio(result: Result, measure: Measure) -> float | None:
    rival = result.workload.rival
    return None if rival is None else result.ratio(measure, rival.name)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _summary(report: Report) -> Iterator[str]:
    judged = report.verdicts
    missed = [verdict for verdict in judged if not verdict.is_met]
    if judged:
        yield f"goals: {len(judged) - len(missed)} of {len(judged)} met"
        yield from (f"missed: {verdict}" for verdict in missed)
    yield from map(str, () if report.is_small else means(report))
    yield from (f"WRONG: {wrong}" for wrong in report.disagreements)
    yield from (f"skipped: {result.workload.name}: {result.skipped}" for result in report.results if result.skipped)
    if report.peers:
        yield "peers: " + "; ".join(f"{name} {version}" for name, version in report.peers.items())
    yield from (f"absent: {name}: {why}" for name, why in report.absent.items())
    if report.memory_beside is not None:
        beside = f"{report.memory_beside / 1024:.0f} KiB"
        yield f"device memory of a resample to 3x1200x2000 f32, beside its destination: {beside}"
    yield from (f"left out, for the time: {name}" for name in report.left_out)
    if report.broken_off:
        yield f"broken off: {report.broken_off}"


def memory_beside(device: Device) -> int:
    """Bytes of device memory that a resample to f32[3,1200,2000] allocates in addition to its destination."""
    x = restride.asarray(np.random.default_rng(0).random((3, 1080, 1920), np.float32), device=device)
    device.wait()
    before = device.counters().bytes_allocated
    y = restride.resample(x, sizes=(1200, 2000))
    device.wait()
    return device.counters().bytes_allocated - before - y.desc.nbytes
