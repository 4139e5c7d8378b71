"""The parts of a selftest, each as JSON values: the installation, smoke cases, the faster kernels, and speed."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from restride.cli.doctor import look
from restride.cli.process import Exit
from restride.drawing.explain import columns
from restride.errors import DeviceNotFound
from restride.kernel import CANDIDATES
from restride.ops.progress import Progress
from restride.runtime import RUNTIMES
from restride.tensor.device import Device
from restride_bench import tuning
from restride_bench.offer import Measure
from restride_bench.own import COPY, OURS, has_clock
from restride_bench.report import rounds_text
from restride_bench.run import Result, run
from restride_bench.workloads import catalogue as workloads
from restride_conformance.record import Outcome, Target, Verdict, add_aftermath
from restride_conformance.report import first_line
from restride_conformance.run.runner import Runner
from restride_conformance.sweep import catalogue

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

ROUNDS = 9
SMALL_EDGE, SMALL_CASES = 64, 24
"""For small selftests: rows and columns of the source that kernels are measured on, and the number of cases."""

NOTHING = "small sizes: the times mean nothing"

_SHOWN = 20
"""Most failed cases that a file lists."""

_MESSAGE = 2000
"""Most characters of a message."""


@dataclass(frozen=True)
class Problem:
    """A fault that the selftest found, and the exit code for it."""

    exit_code: Exit
    message: str


@dataclass(frozen=True)
class Part:
    """The result of a part of the selftest. record: JSON values. text: lines for the terminal."""

    record: dict[str, Any]
    text: str
    problems: tuple[Problem, ...] = ()


def installed(selector: str | None) -> Part:
    """The findings of ``restride doctor``; those that are BROKEN are problems."""
    default = os.environ.get("RESTRIDE_RUNTIME") or RUNTIMES[0]
    findings = []
    with Progress(None, sys.stderr) as bar:
        for finding in look(default, selector):
            findings.append(finding)
            bar.step(finding.subject)
    broken = [finding for finding in findings if finding.status == "BROKEN"]
    subjects: dict[str, list[str]] = {}
    for finding in findings:
        subjects.setdefault(finding.status, []).append(finding.subject)
    counts = [
        f"{len(subjects.pop('ok', []))} ok",
        *(f"{status}: {', '.join(each)}" for status, each in subjects.items()),
    ]
    text = "; ".join(counts) + (" (`restride doctor` says what to do)" if subjects else "")
    record = {"findings": [{key: asdict(each)[key] for key in ("status", "subject", "detail")} for each in findings]}
    problems = (Problem(Exit.NO_DEVICE, f"{each.subject}: {each.detail}") for each in broken)
    return Part(record, f"installed: {text}", tuple(problems))


def cases(selector: str | None, timeout: float, is_small: bool) -> Part:
    """Run the smoke cases, under synchronization validation where the Khronos layer is installed."""
    chosen = catalogue("smoke")
    chosen = chosen[:: len(chosen) // SMALL_CASES] if is_small else chosen
    target, without, problems = Target(device=selector, timeout=timeout, validate="sync"), "", []
    runner = Runner(target)
    try:
        _ = runner.host
    except DeviceNotFound as error:
        # If the device rather than the layer is missing, the next attempt raises the same error.
        runner = Runner(replace(target, validate=None))
        _ = runner.host
        without = f"without validation: {error}"
    outcomes: list[Outcome] = []
    with Progress(len(chosen), sys.stderr) as bar, runner:
        for case in chosen:
            outcomes.append(runner.run(case))
            bar.step(str(case.op))
    add_aftermath(outcomes, runner.aftermath)
    counts = {
        str(verdict): count for verdict in Verdict if (count := sum(each.verdict is verdict for each in outcomes))
    }
    bad = [outcome for outcome in outcomes if not outcome.verdict.is_good]
    for outcome in bad:
        crashed = outcome.verdict in (Verdict.TIMEOUT, Verdict.CRASHED)
        code = Exit.DEVICE_FAILED if crashed else Exit.CHECK_FAILED
        problems.append(Problem(code, f"{outcome.verdict} {outcome.case}: {first_line(outcome.message)}"))
    record = {
        "catalogue": "smoke",
        "validation": runner.target.validate,
        "counts": counts,
        "bad": [
            {"case": str(each.case), "verdict": str(each.verdict), "message": each.message[:_MESSAGE]}
            for each in bad[:_SHOWN]
        ],
    }
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return Part(record, f"cases: {text}; {without or 'under the Khronos validation layer'}", tuple(problems))


def kernels(device: Device, is_small: bool) -> Part:
    """Measure which kernels are faster, as ``restride tune`` does, but without storing the choices."""
    edge, rounds = (SMALL_EDGE, 1) if is_small else (tuning.EDGE, tuning.ROUNDS)
    with Progress(sum(map(len, tuning.WORK.values())), sys.stderr) as bar:
        tuned = tuning.tune(device, edge, rounds, bar.step)
    used, faster = device.limits.choices, tuned.choices
    record = {
        "clock": "device" if tuned.by_device else "host",
        "rounds": rounds,
        "seconds": {
            choice: {
                candidate: dict(zip(each, map(_figure, each.values()), strict=True))
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
    return Part(record, f"kernels: {NOTHING if is_small else advice}")


def speed(device: Device, warned: list[str], is_small: bool) -> Part:
    """Run a short benchmark: restride compared with the device's own copy of as many bytes.

    warned: what ``run.warnings`` said before the first part; later, the load is that of the parts themselves.
    """
    chosen = [replace(each, goals=(), rivals=()) for each in workloads(is_small) if each.name in MEASURED]
    measures: tuple[Measure, ...] = ("resident", "kernel") if has_clock(device) else ("resident",)
    rounds = 1 if is_small else ROUNDS
    results: list[Result] = []
    with Progress(len(chosen), sys.stderr) as bar:
        for result in run(chosen, device, (), measures, rounds):
            results.append(result)
            bar.step(result.workload.name)
    gc.collect()
    record = {
        "measures": list(measures),
        "rounds": rounds,
        "warnings": warned,
        "workloads": [_measured(result) for result in results],
    }
    skipped = [f"{each.workload.name} is not measured: {each.skipped}" for each in results if each.skipped]
    lines = [*(f"warning: {line}" for line in warned), *([NOTHING] if is_small else []), *skipped]
    return Part(record, "\n".join([*lines, *columns(list(speed_rows(record)), right=(1, 2, 3))]))


def _measured(result: Result) -> dict[str, Any]:
    seconds = {
        measure: {column: _figure(result.median(measure, column) or 0.0) for column in (OURS, COPY)}
        for measure in result.seconds
    }
    return {
        "name": result.workload.name,
        "bytes": result.workload.nbytes,
        "seconds": seconds,
        "skipped": result.skipped,
    }


def _figure(seconds: float) -> float:
    """Round to four significant digits, because more are noise."""
    return float(f"{seconds:.4g}")


def speed_rows(record: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of speeds, the heading first; by the device's clock if it has one."""
    measure = record["measures"][-1]
    clock = "by the device's clock" if measure == "kernel" else "by the host's clock, the call and the wait"
    yield (f"{clock}, {rounds_text(record['rounds'])}", "ms", "GB/s", "of copy")
    for each in record["workloads"]:
        share = share_of_copy(each, measure)
        if share is not None:
            ours = each["seconds"][measure][OURS]
            yield each["name"], f"{1e3 * ours:.3f}", f"{each['bytes'] / ours / 1e9:.2f}", f"{share:.2g}"


def share_of_copy(workload: dict[str, Any], measure: str) -> float | None:
    """The speed of restride over that of the device's own copy; None if not measured."""
    seconds = workload["seconds"].get(measure)
    return seconds[COPY] / seconds[OURS] if seconds and seconds[OURS] else None


def system() -> str:
    """The operating system and the architecture, without the machine's network name."""
    return f"{platform.system()} {platform.machine()}"
