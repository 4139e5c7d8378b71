"""The parts of a selftest that check: the installation, the device, cases, a large tensor, and memory of CUDA."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

import restride as rs
from restride.command.findings import look
from restride.command.process import Exit
from restride.errors import DeviceNotFound
from restride.runtime import RUNTIMES, DeviceInfo, choose, list_devices
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.record import Outcome, Target, Verdict, add_aftermath
from restride_conformance.report import first_line
from restride_conformance.run.runner import Runner
from restride_conformance.sweep import catalogue
from restride_measure.selftest.part import Fault, Job, NotRun, Part

CASE_SECONDS = 10.0
"""Maximum seconds that a case may take on the device."""

SMALL_CASES = 24
"""Number of a catalogue's cases that a small selftest runs."""

_SHOWN = 20
"""Maximum number of failed cases that a file lists."""

MESSAGE = 2000
"""Maximum number of characters of a message."""


def installed(job: Job) -> Part:
    """The findings of ``restride doctor``; those that are BROKEN are problems."""
    default = os.environ.get("RESTRIDE_RUNTIME") or RUNTIMES[0]
    findings = []
    for finding in look(default, job.selector):
        findings.append(finding)
        job.step(finding.subject)
    broken = [finding for finding in findings if finding.status == "BROKEN"]
    subjects: dict[str, list[str]] = {}
    for finding in findings:
        subjects.setdefault(finding.status, []).append(finding.subject)
    counts = [
        f"{len(subjects.pop('ok', []))} ok",
        *(f"{status}: {', '.join(each)}" for status, each in subjects.items()),
    ]
    text = "; ".join(counts) + (" (`restride doctor` says what to do)" if subjects else "")
    verdicts = {"optional": Verdict.SKIPPED, "BROKEN": Verdict.FAILED}
    outcomes = []
    for each in findings:
        verdict = verdicts.get(each.status, Verdict.PASSED)
        outcomes.append(Outcome(each.subject, verdict, each.detail, group="installed", figures={"status": each.status}))
    problems = (Fault(Exit.NO_DEVICE, f"{each.subject}: {each.detail}") for each in broken)
    return Part(outcomes, text, tuple(problems))


def device(job: Job) -> Part:
    """The public facts about the device."""
    info = choose(list_devices(), job.selector)
    return Part((), f"{info.name} ({info.kind}), {info.driver} {info.driver_version}", device=_public_facts(info))


def _public_facts(info: DeviceInfo) -> dict[str, Any]:
    """The public facts about a device, without its index and UUID, which identify it."""
    described = {key: value for key, value in asdict(info).items() if key not in {"index", "uuid"}}
    del described["limits"]["max_memory"]  # known only for an open device
    return described


def smoke(job: Job) -> Part:
    """Run the smoke cases."""
    cases = catalogue("smoke")
    return _cases(job, "smoke", cases[:: len(cases) // SMALL_CASES] if job.is_small else cases, {})


def ci(job: Job) -> Part:
    """Run as many cases of the catalogue ``ci`` as there is time for, in an order that the seed draws."""
    cases = catalogue("ci")
    drawn = [cases[place] for place in np.random.default_rng(job.seed).permutation(len(cases))]
    return _cases(job, "ci", drawn[:SMALL_CASES] if job.is_small else drawn, {"seed": job.seed})


def _cases(job: Job, name: str, chosen: Sequence[Case], more: Mapping[str, int]) -> Part:
    """Run cases until the time is over, under synchronization validation where the Khronos layer is installed."""
    target, without, problems = Target(device=job.selector, timeout=CASE_SECONDS, validate="sync"), "", []
    runner = Runner(target)
    try:
        _ = runner.host
    except DeviceNotFound as error:
        # If the device rather than the layer is missing, the next attempt raises the same error.
        runner = Runner(replace(target, validate=None))
        _ = runner.host
        without = f"without validation: {error}"
    outcomes: list[Outcome] = []
    with runner:
        for case in chosen:
            if job.is_over:
                break
            outcomes.append(runner.run(case))
            job.step(f"{len(outcomes)} of {len(chosen)}: {case.op}")
    add_aftermath(outcomes, runner.aftermath)
    counts = {
        str(verdict): count for verdict in Verdict if (count := sum(each.verdict is verdict for each in outcomes))
    }
    bad = [outcome for outcome in outcomes if not outcome.verdict.is_good]
    for outcome in bad:
        crashed = outcome.verdict in (Verdict.TIMEOUT, Verdict.CRASHED)
        code = Exit.DEVICE_FAILED if crashed else Exit.CHECK_FAILED
        repeat = f"repeat: {runner.target.repro(outcome.case)}"
        message = f"{outcome.verdict} {outcome.case}: {first_line(outcome.message)}"
        problems.append(Fault(code, f"{message}\n{repeat}"))
    figures = {**more, "selected": len(chosen), "validation": runner.target.validate, **counts}
    rows = [
        replace(each, message=each.message[:MESSAGE], group=name, figures={"repeat": runner.target.repro(each.case)})
        for each in bad[:_SHOWN]
    ]
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    text += "".join(f", {fact} {value}" for fact, value in more.items())
    text += f" (of {len(chosen)}: the time was over)" if len(outcomes) < len(chosen) else ""
    outcomes = [Outcome(name, Verdict.PASSED, group=name, figures=figures), *rows]
    return Part(outcomes, f"{text}; {without or 'under the Khronos validation layer'}", tuple(problems))


# The check of a tensor over 4 GiB.

LARGE, SMALL_LARGE = (81920, 65520), (512, 510)
"""Rows and columns of the large u8 tensor, for 5.4 * 10^9 elements, more than 2^32; and those of a small selftest."""

_PIECES, _SHIFT = 16, 7919
"""The large tensor consists of this many parts of one random array of the host, each this many elements further on."""

_WINDOW = 5
"""Rows and columns of the windows that are compared."""


def large(job: Job) -> Part:
    """Fill, reverse and shrink a tensor over 4 GiB, and compare windows at its corners and at 2^31 and 2^32."""
    rows, columns = SMALL_LARGE if job.is_small else LARGE
    nbytes = rows * columns
    _require_room(job.device, 2 * nbytes)
    x, at = _filled(job.device, rows, columns)
    indices = np.arange(_WINDOW)

    def wrong(result: rs.Tensor, expected: Callable[..., npt.NDArray[np.uint8]]) -> int:
        count = 0
        for row, column in _places(*result.sizes):
            got = result[row : row + _WINDOW, column : column + _WINDOW].numpy()
            count += not np.array_equal(got, expected(row + indices[:, None], column + indices[None, :]))
        return count

    found = {"filled": wrong(x, at)}
    job.step("reversing")
    y = rs.reorder(x[::-1, ::-1], out=rs.empty(x.desc, job.device))
    found["reversed"] = wrong(y, lambda row, column: at(rows - 1 - row, columns - 1 - column))
    job.step("transposing")
    turned = rs.reorder(x.permute(1, 0), out=y.reshape(columns, rows))
    found["transposed"] = wrong(turned, lambda row, column: at(column, row))
    job.step("shrinking")
    shrunk = rs.resample(x, (rows // 2, columns // 2), axes=(0, 1))

    def halved(row: npt.NDArray[np.int64], column: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        four = [at(2 * row + i, 2 * column + j).astype(np.float64) for i in (0, 1) for j in (0, 1)]
        elements: npt.NDArray[np.uint8] = np.rint(np.sum(four, axis=0) / 4).astype(np.uint8)
        return elements

    found["halved"] = wrong(shrunk, halved)
    bad = [f"{name}: {count} windows" for name, count in found.items() if count]
    problems = (Fault(Exit.CHECK_FAILED, f"wrong in a tensor of {nbytes} bytes: {', '.join(bad)}"),) if bad else ()
    text = f"{', '.join(bad) or 'right'}; {', '.join(found)}, {nbytes / 2**30:.2f} GiB"
    outcomes = [_checked("large", name, not count, bytes=nbytes, windows=count) for name, count in found.items()]
    return Part(outcomes, text, problems)


def _checked(group: str, name: str, is_right: object, **figures: float | str) -> Outcome:
    """A row for a claim."""
    return Outcome(name, Verdict.PASSED if is_right else Verdict.FAILED, group=group, figures=figures)


def _require_room(device: Device, nbytes: int) -> None:
    """Raise NotRun if the memory of the device, or of the host where it is the same, has no room."""
    heap = device.info.heap_bytes
    if heap < 1.2 * nbytes:
        raise NotRun(f"the device has {heap / 2**30:.1f} GiB, and this check needs {1.2 * nbytes / 2**30:.1f}")
    if device.info.kind != "discrete" and hasattr(os, "sysconf"):
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if free < 1.5 * nbytes:
            raise NotRun(
                f"the machine has {free / 2**30:.1f} GiB free, and this check needs {1.5 * nbytes / 2**30:.1f}"
            )


def _filled(device: Device, rows: int, columns: int) -> tuple[rs.Tensor, Callable[..., npt.NDArray[np.uint8]]]:
    """A tensor u8[rows,columns] without equal rows, and the function that gives its elements at any indices."""
    length = rows // _PIECES * columns
    base = np.random.default_rng(5).integers(0, 256, length + _PIECES * _SHIFT, np.uint8)
    whole = rs.asarray(base, device=device)
    x = rs.empty(rs.TensorDesc("u8", (rows, columns)), device)
    flat = x.reshape(rows * columns)
    for number in range(_PIECES):
        piece = whole[number * _SHIFT : number * _SHIFT + length]
        rs.reorder(piece, out=flat[number * length : (number + 1) * length])

    def at(row: npt.NDArray[np.int64], column: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        index = np.asarray(row, np.int64) * columns + column
        elements: npt.NDArray[np.uint8] = base[index % length + _SHIFT * (index // length)]
        return elements

    return x, at


def _places(rows: int, columns: int) -> list[tuple[int, int]]:
    """The first row and column of each window: at the corners, at elements 2^31 and 2^32, and at random places."""
    last_row, last_column = rows - _WINDOW, columns - _WINDOW
    places = [(0, 0), (last_row, 0), (0, last_column), (last_row, last_column)]
    edges = (edge for edge in (1 << 31, 1 << 32) if edge < rows * columns)
    places += ((min(edge // columns, last_row), min(edge % columns, last_column)) for edge in edges)
    random = np.random.default_rng(9)
    return [*places, *((int(random.integers(last_row)), int(random.integers(last_column))) for _ in range(20))]


# The check of memory that CUDA shares.


def cuda(job: Job) -> Part:
    """Pass a tensor to torch and back in the same CUDA memory, and check elements and order of work both ways."""
    if find_spec("torch") is None:
        raise NotRun("torch is not installed")
    import torch

    if not torch.cuda.is_available():
        raise NotRun(f"torch {torch.__version__} sees no CUDA device")
    try:
        x = rs.empty("f32[8,3,224,224]", job.device, shareable=True)
        kind, _ = x.__dlpack_device__()
        if kind == 1:
            x.__dlpack__(dl_device=(2, 0))  # raises the reason
    except (BufferError, rs.UnsupportedError) as error:
        raise NotRun(f"the device shares no memory with CUDA: {error}") from error
    host = np.random.default_rng(1).integers(0, 100, x.sizes).astype(np.float32)
    claims: dict[str, bool] = {}
    job.step("torch reads")
    rs.reorder(rs.asarray(host, device=job.device), out=x)
    t = torch.from_dlpack(x)
    claims["torch.from_dlpack is a CUDA tensor"] = bool(t.is_cuda)
    claims["torch reads what restride wrote"] = np.array_equal(t.cpu().numpy(), host)
    job.step("restride reads")
    t.mul_(2)
    back = rs.asarray(t, copy=False)
    claims["rs.asarray is over the same memory"] = back.memory is x.memory
    moved = rs.reorder(back, "NCHW->NHWC").numpy()
    claims["restride reads what torch wrote"] = np.array_equal(moved, (2 * host).transpose(0, 2, 3, 1))
    job.step("order")
    claims["rs.asarray waits for torch's stream"] = all(_after_torch(torch, t, x, number) for number in range(5))
    claims["torch.from_dlpack waits for restride"] = all(_after_restride(torch, x, number) for number in range(5))
    problems = (Fault(Exit.CHECK_FAILED, f"CUDA: not so: {claim}") for claim, holds in claims.items() if not holds)
    version = str(torch.__version__)
    text = f"torch {version}: {sum(claims.values())} of {len(claims)} claims hold"
    outcomes = [_checked("cuda", claim, holds, torch=version) for claim, holds in claims.items()]
    return Part(outcomes, text, tuple(problems))


def _after_torch(torch: Any, t: Any, x: rs.Tensor, number: int) -> bool:
    """True if restride sees a value that torch writes at the end of long work on a separate stream."""
    a = torch.ones(2048, 2048, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            a = a @ a * 0.0
        t.copy_((a[0, 0] + number).expand_as(t))
        seen = rs.asarray(t, copy=False)
    result = rs.reorder(seen[:, :, ::2]).numpy()
    return seen.memory is x.memory and bool((result == number).all())


def _after_restride(torch: Any, x: rs.Tensor, number: int) -> bool:
    """True if torch sees a value that restride writes at the end of long work that is not yet submitted."""
    ones = rs.asarray(np.ones(x.sizes, np.float32), device=x.device)
    with x.device.batch():
        for _ in range(50):
            rs.reorder(ones, src_scale=-1.0, out=x)
        rs.reorder(ones, src_scale=float(number + 1), out=x)
        seen = torch.from_dlpack(x)
    return bool((seen == number + 1).all().item())
