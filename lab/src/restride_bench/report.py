"""The record of a benchmark: the times of each workload as figures of its row, with the goals that they met."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import geometric_mean
from typing import Any

import numpy as np

import restride
from restride.command.parser import runtime_name
from restride.command.process import tell, why_ended
from restride.command.stopwatch import has_clock, warnings
from restride.tensor.device import Device
from restride_bench.peak import peak
from restride_bench.peers import open_peers
from restride_conformance.record import Outcome
from restride_conformance.report import Record, RecordKind
from restride_conformance.report.table import Measure
from restride_measure.run import WARM_UP, WorkloadTimes, run, tolerance
from restride_measure.workloads import MEAN_GOALS, Workload

JUDGED: Measure = "resident"
"""The measure that goals apply to."""


def new_record(
    kind: RecordKind, device: Device, measures: Sequence[Measure], repeat: int, *, is_small: bool = False
) -> Record:
    """A record without rows: the device, the machine, and warnings and notes, which are also printed on stderr.

    Args:
        kind: bench or scale.
        device: the device for restride.
        measures: the measures to take; "kernel" is left out if the device has no clock.
        repeat: rounds that count.
        is_small: the workloads have small sizes, so the times mean nothing.
    """
    runtime, notes = runtime_name(device), []
    if "kernel" in measures and not has_clock(device):
        lacks = "queue has no timestamps" if runtime == "vulkan" else f"runtime {runtime} has no clock of the device"
        measures, notes = [measure for measure in measures if measure != "kernel"], [f"kernel is left out: the {lacks}"]
    options = {"runtime": runtime, "measures": list(measures), "repeat": repeat, "warm_up": WARM_UP, "small": is_small}
    options |= {} if (known := peak(device.info.name)) is None else {"peak": known}
    record = Record.begin(kind, device.info, options=options, warnings=tuple(warnings()), notes=tuple(notes))
    for line in (*(f"warning: {warning}" for warning in record.warnings), *notes):
        tell(line)
    return record


def measure(
    record: Record,
    workloads: Sequence[Workload],
    device: Device,
    peers: Sequence[str],
    *,
    is_whole: bool = False,
    seconds: float | None = None,
    finished: Callable[[WorkloadTimes], None] = lambda _: None,
) -> tuple[Record, BaseException | None]:
    """Measure workloads.

    Args:
        record: a new record, whose measures and rounds are taken.
        workloads: the workloads to measure.
        device: the device for restride.
        peers: names of the other libraries; the record lists those that are absent.
        is_whole: the workloads are the whole catalogue, so also measure the extra memory of a resample.
        seconds: no workload begins later than this; the first always runs. None: all run.
        finished: called with each result.

    Returns:
        The record with its rows, and the exception that ended the run early or None; raise it once the record is
        written.
    """
    started = time.monotonic()
    present, absent = open_peers(peers, device)
    results: list[WorkloadTimes] = []
    broken_off: BaseException | None = None
    left_out: list[Workload] = []
    notes: list[str] = []
    try:
        for result in run(workloads, device, present, record.options["measures"], record.options["repeat"]):
            results.append(result)
            finished(result)
            if seconds is not None and time.monotonic() - started >= seconds:
                left_out = list(workloads[len(results) :])
                break
        if is_whole and not left_out:
            beside = f"{memory_beside(device) / 1024:.0f} KiB"
            notes = [f"device memory of a resample to 3x1200x2000 f32, beside its destination: {beside}"]
    except BaseException as error:  # noqa: BLE001 - raised once the record is written
        broken_off = error
    disagreements = [wrong for result in results for wrong in result.disagreements]
    means = [] if record.options["small"] else mean_lines(results)
    complete = replace(
        record,
        seconds=time.monotonic() - started,
        options={**record.options, "peers": {name: peer.version for name, peer in present.items()}},
        selected=len(workloads) - len(left_out),
        outcomes=tuple(map(outcome_of, results)),
        notes=(*record.notes, *means, *notes),
        not_run={**absent, **{f"{each.group}: {each.name}": "the time was over" for each in left_out}},
        problems=tuple({"case": wrong.workload, "message": str(wrong)} for wrong in disagreements),
        broken_off=why_ended(broken_off),
    )
    return complete, broken_off


def outcome_of(result: WorkloadTimes) -> Outcome:
    """The row of a result, with the seconds of every round."""
    workload = result.workload
    figures: dict[str, Any] = {
        "bytes": workload.nbytes,
        "src": workload.src,
        "task": str(workload.task),
        "how": workload.how,
        "tolerance": tolerance(workload),
        **{
            measure: {column: list(times) for column, times in columns.items()}
            for measure, columns in result.seconds.items()
            if columns
        },
    }
    if goals := dict(_goals(result)):
        figures["goals"] = goals
    return Outcome(workload.name, result.verdict, result.message, group=workload.group, figures=figures)


def _goals(result: WorkloadTimes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each goal whose other column, if any, was measured, and how it was met."""
    ours = result.median(JUDGED)
    for goal in result.workload.goals if ours is not None else ():
        theirs = result.median(JUDGED, goal.against) if goal.against else None
        if ours is None or (goal.against and theirs is None):
            continue
        measured = f"{ours / theirs:.2f}x {goal.against}" if theirs else f"{ours * 1e6:.0f} us"
        yield str(goal), {"met": goal.is_met(ours, theirs), "measured": measured}


def mean_lines(results: Sequence[WorkloadTimes]) -> list[str]:
    """A line for each group in ``MEAN_GOALS`` in which restride and the other column were measured.

    It has the geometric mean of restride's time over the other column's, and the number of workloads in the mean, those
    where the other column's bits were equal.
    """
    lines = []
    for group, goal in MEAN_GOALS.items():
        members = [result for result in results if result.workload.group == group]
        ratios = [ratio for result in members if (ratio := result.ratio(JUDGED, goal.against)) is not None]
        if ratios:
            mean = geometric_mean(ratios)
            words = (
                f"{group}: {len(ratios)} of {len(members)} bit for bit as {goal.against}, geometric mean {mean:.2f}x"
            )
            met = "met" if goal.is_met(mean, 1.0) else "MISSED"
            lines.append(f"{words} {goal.against}, goal {goal}: {met}")
    return lines


def memory_beside(device: Device) -> int:
    """Bytes of device memory that a resample to f32[3,1200,2000] allocates in addition to its destination."""
    x = restride.asarray(np.random.default_rng(0).random((3, 1080, 1920), np.float32), device=device)
    device.wait()
    before = device.counters().bytes_allocated
    y = restride.resample(x, sizes=(1200, 2000))
    device.wait()
    return device.counters().bytes_allocated - before - y.desc.nbytes
