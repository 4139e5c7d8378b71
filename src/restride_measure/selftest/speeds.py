"""The parts of a selftest that measure: copy, workloads, kernels, transfers, calls, and transpositions of TTC."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import restride as rs
from restride.command import stopwatch
from restride.command.process import Exit
from restride.command.stopwatch import Timer, copying, figure, has_clock, keep_awake, work_timer
from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.kernel import CANDIDATES
from restride.runtime.interface import rounded
from restride.tensor.device import Device
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report.table import COPY, Measure, ratio, tables
from restride_measure import tuning
from restride_measure.own import OURS
from restride_measure.run import WARM_UP, WorkloadTimes, run
from restride_measure.selftest.part import NOTHING, Fault, Job, NotRun, Part
from restride_measure.workloads import catalogue as workloads
from restride_measure.workloads import ttc57 as transpositions

MEASURED = (
    "copy f32 4096x4096",
    "transpose f32 4096x4096",
    "transpose u8 8192x8192",
    "NCHW->NHWC f32 1x3x1080x1920",
    "NHWC->NCHW u8 1x1080x1920x3",
    "f32 -> f16 1x3x1080x1920",
    "u8 NHWC -> f32 NCHW, normalized",
    "bilinear f32 1080p -> 224",
    "bilinear f32 224 -> 1080p",
    "bilinear u8 1080p -> 224, like pillow",
    "NCHW->NHWC f32 1x3x8x8",
)
"""Names of the benchmark's workloads to measure."""

ROUNDS, FEW_ROUNDS = 9, 5
"""Number of rounds of a measurement, and number of rounds if it moves hundreds of megabytes."""

SMALL_EDGE = 64
"""For small selftests: rows and columns of the source that kernels are measured on."""


def _clock(device: Device) -> Measure:
    return "kernel" if has_clock(device) else "resident"


def _rounds(job: Job, usual: int = ROUNDS) -> int:
    return 1 if job.is_small else usual


def _shown(job: Job, outcomes: Sequence[Outcome]) -> str:
    """The tables of outcomes as text."""
    return "\n".join([*([NOTHING] if job.is_small else []), *map(str, tables(outcomes))])


COPY_BYTES, SMALL_COPY_BYTES = 1 << 30, 1 << 20
"""Bytes that the copy reads and writes: more than the caches of any device hold, the largest of which have 256 MiB."""


def copy(job: Job) -> Part:
    """The device's own copy of much more than its caches hold, while it is kept busy."""
    device = job.device
    nbytes = SMALL_COPY_BYTES if job.is_small else min(COPY_BYTES, device.info.heap_bytes // 4)
    measure, rounds = _clock(device), _rounds(job)
    timer = work_timer(device, copying(nbytes, device), by_device=measure == "kernel")
    seconds = median(stopwatch.rounds({COPY: timer}, rounds, warm_up=WARM_UP, begin=keep_awake(device))[COPY])
    moved = 2 * rounded(nbytes // 2)
    figures = {"bytes": moved, "rounds": rounds, measure: {COPY: figure(seconds)}}
    text = f"{NOTHING}; " if job.is_small else ""
    by = "the device's clock" if measure == "kernel" else "the host's clock, the call and the wait"
    copied = Outcome("the device's own copy", Verdict.PASSED, group="copy", figures=figures)
    return Part([copied], f"{text}{moved / seconds / 1e9:.4g} GB/s read and written, by {by}")


def speed(job: Job) -> Part:
    """A short benchmark: restride compared with the device's own copy of as many bytes."""
    device = job.device
    chosen = [replace(each, goals=(), rival=None) for each in workloads(job.is_small) if each.name in MEASURED]
    measures: tuple[Measure, ...] = ("resident", "kernel") if has_clock(device) else ("resident",)
    rounds = _rounds(job)
    results: list[WorkloadTimes] = []
    for result in run(chosen, device, {}, measures, rounds):
        results.append(result)
        job.step(f"{len(results)} of {len(chosen)}: {result.workload.name}")
        if job.is_over:
            break
    gc.collect()
    outcomes = [_measured(result, rounds, "speed") for result in results]
    cut = [f"the time was over after {len(results)} of {len(chosen)}"] if len(results) < len(chosen) else []
    return Part(outcomes, "\n".join([*cut, _shown(job, outcomes)]), _wrong("workloads", outcomes))


def _measured(result: WorkloadTimes, rounds: int, group: str) -> Outcome:
    """The row of a workload, with medians."""
    seconds: dict[str, Any] = {
        measure: {column: figure(result.median(measure, column) or 0.0) for column in (OURS, COPY)}
        for measure in result.seconds
    }
    figures = {"bytes": result.workload.nbytes, "rounds": rounds, **seconds}
    return Outcome(result.workload.name, result.verdict, result.message, group=group, figures=figures)


def _wrong(what: str, outcomes: Iterable[Outcome]) -> tuple[Fault, ...]:
    """The problem that some outcomes are wrong, if any are."""
    wrong = [each.case for each in outcomes if each.verdict is Verdict.FAILED]
    return (Fault(Exit.CHECK_FAILED, f"wrong {what}: {', '.join(wrong)}"),) if wrong else ()


def kernels(job: Job) -> Part:
    """Measure which kernels are faster, as ``restride tune`` does, but without storing the choices."""
    device = job.device
    edge, rounds = (SMALL_EDGE, 1) if job.is_small else (tuning.EDGE, tuning.ROUNDS)
    count, total = 0, sum(map(len, tuning.work_for(device.info).values()))

    def step(name: str) -> None:
        nonlocal count
        count += 1
        job.step(f"{count} of {total}: {name}")
        if job.is_over and count < total:
            raise NotRun(f"{job.seconds:.0f} s were over after {count} of {total} measurements")

    tuned = tuning.tune(device, edge, rounds, step)
    used, faster = device.limits.choices, tuned.choices
    words = {"used": used, "usual": tuned.usual, "faster": faster}
    outcomes = [replace(each, case=f"{each.group} {each.case}", group="kernels") for each in tuned.outcomes(words)]
    differ = [name for name in CANDIDATES if getattr(used, name) != getattr(faster, name)]
    changes = (f"{name} {getattr(faster, name)} (in use: {getattr(used, name)})" for name in differ)
    advice = f"faster: {', '.join(changes)}; `restride tune` measures again and keeps that" if differ else "as in use"
    return Part(outcomes, NOTHING if job.is_small else advice)


TRANSFERS, SMALL_TRANSFERS = (1 << 20, 16 << 20, 256 << 20), (1 << 16,)
"""Bytes of the arrays that are uploaded and downloaded."""


def transfers(job: Job) -> Part:
    """The speed from a numpy array to the device and back: into existing memory, and by ``rs.asarray``.

    If the device works in memory of the host, also the speed of reading an array in place.
    """
    device, rounds = job.device, _rounds(job, FEW_ROUNDS)
    wrong, unimported = [], ""
    outcomes: list[Outcome] = []
    for nbytes in SMALL_TRANSFERS if job.is_small else TRANSFERS:
        data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
        back = np.zeros_like(data)
        x, y = (rs.empty(f"u8[{nbytes}]", device) for _ in range(2))

        def upload(x: rs.Tensor = x, data: Any = data) -> None:
            device.runtime.write(x.memory, 0, data.data)
            device.wait()

        def asarray(data: Any = data) -> None:
            rs.asarray(data, device=device)
            device.wait()

        def in_place(y: rs.Tensor = y, data: Any = data) -> None:
            rs.reorder(rs.asarray(data, device=device, copy=False), out=y)
            device.wait()

        ways: dict[str, Callable[[], object]] = {
            "upload": upload,
            "download": partial(device.runtime.read, x.memory, 0, back.data),
            "rs.asarray": asarray,
            "numpy()": x.numpy,
        }
        try:
            in_place()
            ways["in place"] = in_place
            wrong += [] if np.array_equal(y.numpy(), data) else [f"{nbytes} bytes in place"]
        except UnsupportedError as error:
            unimported = str(error)
        for name, seconds in _medians({name: Timer(call) for name, call in ways.items()}, rounds, 1).items():
            figures = {"bytes": nbytes, "rounds": rounds, "numpy": {OURS: figure(seconds)}}
            case = f"{name}, {nbytes / 2**20:g} MiB"
            outcomes.append(Outcome(case, Verdict.PASSED, group="transfers", figures=figures))
        wrong += [] if np.array_equal(back, data) else [f"{nbytes} bytes up and down"]
        job.step(f"{nbytes >> 20} MiB")
        if job.is_over:
            break
    if unimported:
        outcomes.append(Outcome("in place", Verdict.SKIPPED, unimported, group="transfers"))
    problems = (Fault(Exit.CHECK_FAILED, f"other bytes came back: {', '.join(wrong)}"),) if wrong else ()
    return Part(outcomes, _shown(job, outcomes), problems)


def _medians(timers: Mapping[str, Callable[[], float]], rounds: int, warm_up: int) -> dict[str, float]:
    """The median of the seconds of each timer."""
    return {name: median(times) for name, times in stopwatch.rounds(timers, rounds, warm_up=warm_up).items()}


IN_A_ROW = 32
"""Number of calls that are started before the wait."""

STARTED, DONE, ONE = "us until it returns", f"us until {IN_A_ROW} are done", "us with its wait"
"""The figures of a call."""


def calls(job: Job) -> Part:
    """Seconds of a call on the host: until it returns, until many calls are done, and with a wait after each."""
    device, rounds = job.device, 3 if job.is_small else 50
    small, out = rs.empty("f32[1,3,8,8]", device), rs.empty("f32[1,8,8,3]", device)
    image, half = rs.empty("f32[1,3,224,224]", device), rs.empty("f32[1,3,112,112]", device)
    move = rs.plan_reorder(small.desc, out.desc, "NCHW->NHWC", device=device)
    works: dict[str, Callable[[], object]] = {
        "rs.reorder NCHW->NHWC 1x3x8x8": lambda: rs.reorder(small, "NCHW->NHWC", out=out),
        "a plan of that": lambda: move(small, out=out),
        "rs.resample 224 -> 112": lambda: rs.resample(image, (112, 112), axes=(2, 3), out=half),
    }
    outcomes: list[Outcome] = []
    for name, call in works.items():
        timers = {
            STARTED: Timer(call, calls=IN_A_ROW, before=device.wait),
            DONE: Timer(call, device.wait, IN_A_ROW, before=device.wait),
            ONE: Timer(call, device.wait, before=device.wait),
        }
        figures = {each: figure(1e6 * seconds) for each, seconds in _medians(timers, rounds, 2).items()}
        outcomes.append(Outcome(name, Verdict.PASSED, group="calls", figures={**figures, "rounds": rounds}))
        job.step(name)
        if job.is_over:
            break
    return Part(outcomes, _shown(job, outcomes))


def ttc57(job: Job) -> Part:
    """Measure the benchmark's group ttc57, the first shape of each permutation first, and check the results."""
    device, rounds = job.device, _rounds(job, FEW_ROUNDS)
    everything = transpositions(job.is_small)
    order = [*everything[::3], *everything[1::3], *everything[2::3]]
    measure = _clock(device)
    outcomes: list[Outcome] = []
    for result in run(order, device, {}, (measure,), rounds, warm_up=1):
        if result.skipped:
            if not outcomes:
                raise OutOfDeviceMemory(result.skipped)
            job.step(result.skipped)
            break
        outcomes.append(_measured(result, rounds, "ttc57"))
        job.step(f"{len(outcomes)} of {len(order)}: {result.workload.name}")
        if job.is_over:
            break
    wrong = sum(each.verdict is Verdict.FAILED for each in outcomes)
    summary = f"{len(outcomes)} of {len(order)}, median {median_share(outcomes):.2g} of copy, {wrong} wrong"
    text = f"{NOTHING}; {summary}" if job.is_small else summary
    return Part(outcomes, text, _wrong("transpositions", outcomes))


def median_share(outcomes: Iterable[Outcome]) -> float:
    """The median speed of outcomes, as a share of the device's own copy, by the device's clock if it has one."""
    return median(filter(None, map(share_of_copy, outcomes)))


def share_of_copy(outcome: Outcome) -> float | None:
    """The speed of restride over that of the device's own copy, by the device's clock if it has one."""
    found = ratio(outcome, "kernel", COPY) or ratio(outcome, "resident", COPY)
    return 1 / found if found else None
