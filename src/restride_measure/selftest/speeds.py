"""The parts of a selftest that measure: copy, workloads, kernels, transfers, calls, and transpositions of TTC."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import restride as rs
from restride.command import stopwatch
from restride.command.process import Exit
from restride.command.stopwatch import Timer, copying, has_clock, keep_awake, rounds_text, work_timer
from restride.drawing.explain import columns
from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.kernel import CANDIDATES
from restride.runtime.interface import rounded
from restride.tensor.device import Device
from restride_measure import tuning
from restride_measure.offer import Measure
from restride_measure.own import COPY, OURS
from restride_measure.run import WARM_UP, Result, run
from restride_measure.selftest.part import NOTHING, Job, NotRun, Part, Problem, figure
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

Rows = Iterator[tuple[str, ...]]
"""The rows of a table, the heading first."""


def _clock(device: Device) -> Measure:
    return "kernel" if has_clock(device) else "resident"


def _clock_text(measure: Measure) -> str:
    return "by the device's clock" if measure == "kernel" else "by the host's clock, the call and the wait"


def _rounds(job: Job, usual: int = ROUNDS) -> int:
    return 1 if job.is_small else usual


def _shown(job: Job, rows: Rows, numbers: int) -> str:
    """The rows as text with the last ``numbers`` columns to the right."""
    table = list(rows)
    width = len(table[0])
    return "\n".join([*([NOTHING] if job.is_small else []), *columns(table, right=range(width - numbers, width))])


COPY_BYTES, SMALL_COPY_BYTES = 1 << 30, 1 << 20
"""Bytes that the copy reads and writes: more than the caches of any device hold, the largest of which have 256 MiB."""


def copy(job: Job) -> Part:
    """The device's own copy of much more than its caches hold, while it is kept busy."""
    device = job.device
    nbytes = SMALL_COPY_BYTES if job.is_small else min(COPY_BYTES, device.info.heap_bytes // 4)
    measure, rounds = _clock(device), _rounds(job)
    timer = work_timer(device, copying(nbytes, device), by_device=measure == "kernel")
    seconds = median(stopwatch.rounds({COPY: timer}, rounds, warm_up=WARM_UP, begin=keep_awake(device))[COPY])
    record = {"measure": measure, "rounds": rounds, "bytes": 2 * rounded(nbytes // 2), "seconds": figure(seconds)}
    text = f"{NOTHING}; " if job.is_small else ""
    return Part(record, f"{text}{copy_speed(record):.4g} GB/s read and written, {_clock_text(measure)}")


def copy_speed(record: Mapping[str, Any]) -> float:
    """10^9 bytes per second that the copy reads and writes."""
    return float(record["bytes"] / record["seconds"] / 1e9)


def speed(job: Job) -> Part:
    """A short benchmark: restride compared with the device's own copy of as many bytes."""
    device = job.device
    chosen = [replace(each, goals=(), rival=None) for each in workloads(job.is_small) if each.name in MEASURED]
    measures: tuple[Measure, ...] = ("resident", "kernel") if has_clock(device) else ("resident",)
    rounds = _rounds(job)
    results: list[Result] = []
    for result in run(chosen, device, {}, measures, rounds):
        results.append(result)
        job.step(f"{len(results)} of {len(chosen)}: {result.workload.name}")
        if job.is_over:
            break
    gc.collect()
    record = {
        "measures": list(measures),
        "rounds": rounds,
        "selected": len(chosen),
        "workloads": [_measured(result) for result in results],
    }
    skipped = [f"{each.workload.name} is not measured: {each.skipped}" for each in results if each.skipped]
    cut = [f"the time was over after {len(results)} of {len(chosen)}"] if len(results) < len(chosen) else []
    return Part(record, "\n".join([*skipped, *cut, _shown(job, speed_rows(record), 3)]))


def _measured(result: Result) -> dict[str, Any]:
    seconds = {
        measure: {column: figure(result.median(measure, column) or 0.0) for column in (OURS, COPY)}
        for measure in result.seconds
    }
    return {
        "name": result.workload.name,
        "bytes": result.workload.nbytes,
        "seconds": seconds,
        "skipped": result.skipped,
    }


def speed_rows(record: Mapping[str, Any]) -> Rows:
    """Yield the rows of the table of speeds; by the device's clock if it has one."""
    measure = record["measures"][-1]
    yield (f"{_clock_text(measure)}, {rounds_text(record['rounds'])}", "ms", "GB/s", "of copy")
    for each in record["workloads"]:
        share = share_of_copy(each, measure)
        if share is not None:
            ours = each["seconds"][measure][OURS]
            yield each["name"], f"{1e3 * ours:.3f}", f"{each['bytes'] / ours / 1e9:.2f}", f"{share:.2g}"


def share_of_copy(workload: Mapping[str, Any], measure: str) -> float | None:
    """The speed of restride over that of the device's own copy; None if not measured."""
    seconds = workload["seconds"].get(measure)
    return seconds[COPY] / seconds[OURS] if seconds and seconds[OURS] else None


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
    record = {
        "clock": "device" if tuned.by_device else "host",
        "rounds": rounds,
        "seconds": {
            choice: {
                candidate: dict(zip(each, map(figure, each.values()), strict=True))
                for candidate, each in candidates.items()
            }
            for choice, candidates in tuned.seconds.items()
        },
        "used": asdict(used),
        "usual": asdict(tuned.usual),
        "faster": asdict(faster),
    }
    differ = [name for name in CANDIDATES if getattr(used, name) != getattr(faster, name)]
    changes = (f"{name} {getattr(faster, name)} (in use: {getattr(used, name)})" for name in differ)
    advice = f"faster: {', '.join(changes)}; `restride tune` measures again and keeps that" if differ else "as in use"
    return Part(record, NOTHING if job.is_small else advice)


TRANSFERS, SMALL_TRANSFERS = (1 << 20, 16 << 20, 256 << 20), (1 << 16,)
"""Bytes of the arrays that are uploaded and downloaded."""


def transfers(job: Job) -> Part:
    """The speed from a numpy array to the device and back: into existing memory, and by ``rs.asarray``.

    If the device works in memory of the host, also the speed of reading an array in place.
    """
    device, rounds = job.device, _rounds(job, FEW_ROUNDS)
    arrays, wrong, unimported = [], [], ""
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
        arrays.append(
            {"bytes": nbytes, "seconds": _medians({name: Timer(call) for name, call in ways.items()}, rounds, 1)}
        )
        wrong += [] if np.array_equal(back, data) else [f"{nbytes} bytes up and down"]
        job.step(f"{nbytes >> 20} MiB")
        if job.is_over:
            break
    record = {"rounds": rounds, "arrays": arrays, "in_place": unimported or "yes"}
    problems = (Problem(Exit.CHECK_FAILED, f"other bytes came back: {', '.join(wrong)}"),) if wrong else ()
    return Part(record, _shown(job, transfer_rows(record), len(arrays)), problems)


def _medians(timers: Mapping[str, Callable[[], float]], rounds: int, warm_up: int) -> dict[str, float]:
    """The median of the seconds of each timer."""
    return {name: figure(median(times)) for name, times in stopwatch.rounds(timers, rounds, warm_up=warm_up).items()}


def transfer_rows(record: Mapping[str, Any]) -> Rows:
    """Yield the rows of the table of transfers."""
    arrays = record["arrays"]
    yield ("MB/s between numpy and the device", *(f"{each['bytes'] / 2**20:g} MiB" for each in arrays))
    for way in arrays[0]["seconds"]:
        yield (way, *(f"{each['bytes'] / each['seconds'][way] / 1e6:.0f}" for each in arrays))


IN_A_ROW = 32
"""Number of calls that are started before the wait."""


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
    rows: list[dict[str, Any]] = []
    for name, call in works.items():
        timers = {
            "started": Timer(call, calls=IN_A_ROW, before=device.wait),
            "done": Timer(call, device.wait, IN_A_ROW, before=device.wait),
            "one": Timer(call, device.wait, before=device.wait),
        }
        rows.append({"name": name, **_medians(timers, rounds, 2)})
        job.step(name)
        if job.is_over:
            break
    record = {"rounds": rounds, "calls": rows}
    return Part(record, _shown(job, call_rows(record), 3))


def call_rows(record: Mapping[str, Any]) -> Rows:
    """Yield the rows of the table of calls."""
    yield ("us a call, out= given", "until it returns", f"until {IN_A_ROW} are done", "one with its wait")
    for each in record["calls"]:
        yield each["name"], *(f"{1e6 * each[key]:.1f}" for key in ("started", "done", "one"))


def ttc57(job: Job) -> Part:
    """Transpositions of the benchmark's group ttc57, the first shape of each permutation first, and their bits."""
    device, rounds = job.device, _rounds(job, FEW_ROUNDS)
    everything = transpositions(job.is_small)
    order = [*everything[::3], *everything[1::3], *everything[2::3]]
    measure = _clock(device)
    rows: list[dict[str, Any]] = []
    for result in run(order, device, {}, (measure,), rounds, warm_up=1):
        workload, seconds, copied = result.workload, result.median(measure), result.median(measure, COPY)
        if seconds is None or copied is None:
            if not rows:
                raise OutOfDeviceMemory(result.skipped)
            job.step(result.skipped)
            break
        rows.append(
            {
                "name": workload.name,
                "bytes": workload.nbytes,
                "seconds": figure(seconds),
                "share": figure(copied / seconds),
                "right": not result.disagreements,
            }
        )
        job.step(f"{len(rows)} of {len(order)}: {workload.name}")
        if job.is_over:
            break
    record = {"measure": measure, "rounds": rounds, "selected": len(order), "transpositions": rows}
    wrong = [each["name"] for each in rows if not each["right"]]
    problems = (Problem(Exit.CHECK_FAILED, f"wrong transpositions: {', '.join(wrong)}"),) if wrong else ()
    summary = f"{len(rows)} of {len(order)}, median {median_share(record):.2g} of copy, {len(wrong)} wrong"
    return Part(record, f"{NOTHING}; {summary}" if job.is_small else summary, problems)


def median_share(record: Mapping[str, Any]) -> float:
    """The median speed of the transpositions, as a share of the device's own copy."""
    return float(median(each["share"] for each in record["transpositions"]))


def ttc57_rows(record: Mapping[str, Any]) -> Rows:
    """Yield the rows of the table of transpositions."""
    yield (f"{_clock_text(record['measure'])}, {rounds_text(record['rounds'])}", "ms", "GB/s", "of copy")
    for each in record["transpositions"]:
        seconds = each["seconds"]
        yield each["name"], f"{1e3 * seconds:.3f}", f"{each['bytes'] / seconds / 1e9:.1f}", f"{each['share']:.2g}"
