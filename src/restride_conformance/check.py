"""Run a case on a device between guard bytes, and judge every byte of both buffers afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from restride.errors import DeviceLost, DeviceTimeout, RestrideError, UnsupportedError
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor
from restride_conformance.case import Case
from restride_conformance.findings import bits_of, changed_bytes, wrong_elements, wrong_padding
from restride_conformance.operations import OPERATIONS, makes_destination
from restride_conformance.outcome import FLUSHED, Outcome, Verdict
from restride_conformance.report import pictures
from restride_conformance.room import why_not
from restride_conformance.setting import Setting, elements_of, guards, is_right, mistrusted, prepare

Array = np.ndarray[Any, Any]


def run_case(
    case: Case,
    device: Device,
    *,
    started: Callable[[], None] = lambda: None,
    judging: Callable[[], None] = lambda: None,
    keep: Path | None = None,
) -> Outcome:
    """Run ``case`` on ``device`` and judge what it did.

    Args:
        case: the problem.
        device: where it runs.
        started: called when the inputs and the answer are there, just before the device works.
        judging: called when the device's results are back, just before they are judged.
        keep: a file for the raw bytes of the destination's buffer after the run.

    Raises:
        DeviceLost, DeviceTimeout: the device is of no more use; the verdict is the caller's.
    """
    start = perf_counter()
    reason = why_not(case, device)
    outcome = Outcome(case, Verdict.SKIPPED, reason) if reason else _run(case, device, started, judging, keep)
    return replace(outcome, seconds=perf_counter() - start)


def _run(
    case: Case, device: Device, started: Callable[[], None], judging: Callable[[], None], keep: Path | None
) -> Outcome:
    import restride as rs

    try:
        setting = prepare(case)
        started()
        source = rs.from_buffer(setting.source, setting.src, device=device)
        out = _destination(case, setting, source)
        before = device.counters().dispatches
        viewed = source if case.view is None else case.view.of_tensor(source)
        dispatched = device.counters().dispatches - before
        made = OPERATIONS[case.op].call(case, viewed, out)
        source_after, after = source.buffer(), (made if out is None else out).buffer()
    except (DeviceLost, DeviceTimeout):
        raise
    except UnsupportedError as error:
        return Outcome(case, Verdict.UNIMPLEMENTED, str(error))
    except RestrideError as error:
        return Outcome(case, Verdict.FAILED, f"{type(error).__name__}: {error}")
    judging()
    if out is None:
        if made.desc != case.dst:
            return Outcome(case, Verdict.FAILED, f"the operation made {made.desc}, expected {case.dst}")
        after = _without_holes(setting, after)
    elif case["out"] == "same":
        source_after = setting.source  # judged as the destination
    if keep is not None:
        keep.write_bytes(after.data)
    if dispatched:
        return Outcome(case, Verdict.FAILED, f"view {case.view} made {dispatched} dispatches; a view makes none")
    return judge(case, setting, source_after, after)


def _destination(case: Case, setting: Setting, source: Tensor) -> Tensor | None:
    """The tensor that an operation is told to write to; None where it makes one."""
    import restride as rs

    device = source.device
    if makes_destination(case):
        # What was freed last is what an allocation gets: poison, not the right answer of an earlier case.
        rs.from_buffer(setting.destination, setting.dst, device=device).memory.free()
        return None
    if case["out"] == "same":
        return rs.Tensor(source.memory, setting.dst, device)
    # Poisoned by a copy on the device that the operation must wait for: a layer sees a barrier that is missing.
    poison = rs.from_buffer(setting.destination, setting.dst, device=device)
    out = rs.Tensor(device.runtime.allocate(poison.memory.nbytes), setting.dst, device)
    device.runtime.copy(poison.memory, out.memory, poison.memory.nbytes)
    return out


def _without_holes(setting: Setting, made: Array) -> Array:
    """What an operation must write of a buffer that it made, in poison: what lies between is nobody's."""
    if made.size != setting.destination.size:
        return made
    written = setting.padding.copy()
    written[setting.places] = True
    return np.where(written, made, setting.destination)


def judge(case: Case, setting: Setting, source: Array, destination: Array) -> Outcome:
    """Compare both raw buffers after the run with what they must be.

    Elements: bit for bit where the operation is exact, else within the answer's limits, NaN where NaN is due. The
    padding of a whole layout: its value, and zeros. Every other byte of the destination, and the whole source, must be
    as before. What is right may still prove nothing.
    """
    for which, before, now in (("source", setting.source, source), ("destination", setting.destination, destination)):
        if now.shape != before.shape:
            message = f"the {which} buffer has {now.size} bytes after the run, {before.size} before"
            return Outcome(case, Verdict.FAILED, message)
    nbytes = [case.src.nbytes, case.dst.nbytes]
    nbytes = [max(nbytes)] * 2 if case["out"] == "same" else nbytes
    src, dst = (range(before, before + size) for before, size in zip(guards(case), nbytes, strict=True))
    findings = changed_bytes("source", setting.source, source, np.ones(source.size, np.bool_), src)
    actual = elements_of(setting, destination)
    right = is_right(case, setting, actual)
    untouched = elements_of(setting, setting.destination)
    findings += wrong_elements(case, untouched, actual, setting.lowest, setting.highest, right)
    findings += wrong_padding(setting.padded, destination, setting.padding)
    outside = ~setting.padding
    outside[setting.places] = False
    findings += changed_bytes("destination", setting.destination, destination, outside, dst)
    if not findings:
        doubt = mistrusted(case, setting)
        return Outcome(case, Verdict.MISTRUSTED if doubt else Verdict.PASSED, doubt or _as_flushed(setting, actual))
    # Where an answer is an interval, the right one nearest to what came: only what is wrong shows as a difference.
    drawn = pictures.draw(case, np.where(right, actual, setting.lowest), actual)
    return Outcome(case, Verdict.FAILED, "\n".join(findings), pictures=drawn)


def _as_flushed(setting: Setting, actual: Array) -> str:
    """How many elements came out as where denormals of f32 are zeros, of those that tell; empty if none did."""
    if setting.flushed is None:
        return ""
    telling = bits_of(setting.lowest) != bits_of(setting.highest)
    as_flushed = int((telling & (bits_of(actual) == bits_of(setting.flushed))).sum())
    if not as_flushed:
        return ""
    return f"{as_flushed} of {telling.size} elements are {FLUSHED}"
