"""The worker process: opens one device and runs cases on it, with a line of JSON for every command and answer.

    in:  the target                                out: {"device": ..., "limits": ..., "runtime": ..., "versions": ...}
                                                    or: {"error": "DeviceNotFound", "message": "..."}, and it ends
    in:  {"case": "...", "mode": "...", "keep": ...}  out: {"started": true, "groups": "8x8"},
                                                         {"judging": true}, {"outcome": ...}

Commands come on file descriptor 0 and answers go to 1. Both are first moved to other descriptors, so that what drivers
print on stdout goes to stderr, which the parent keeps. ``started`` starts the device's time limit, again for each batch
that is measured and each replay, and ``judging`` starts the host's. At the end of its input the worker closes the
device and ends.
"""

from __future__ import annotations

import faulthandler
import json
import platform
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, cast

import restride
from restride.errors import DeviceLost, DeviceTimeout, RestrideError
from restride.kernel import Limits
from restride.kernel.modules import load_module
from restride.runtime import Runtime, open_runtime
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride_conformance.case import Case
from restride_conformance.check import host_bytes, run_case
from restride_conformance.record import Outcome, Target, Verdict
from restride_conformance.run.groups import GroupedRuntime, in_groups, run_in_groups, shapes_on, shapes_under
from restride_conformance.run.limits import open_within
from restride_conformance.run.load import LoadedRuntime
from restride_conformance.run.measure import measure_case
from restride_conformance.run.process import SendAnswer, mistake, take_channel
from restride_conformance.shader import module_source
from restride_conformance.shader.groups import with_shapes
from restride_conformance.shader.part import RuntimeUnderTest, TakesNoPart

PREPARATION = 60.0
"""Minimum limit in seconds for opening the device, for filling inputs and computing the answer, and for judging."""

PREPARED_BYTES = 32 << 20
"""Filling and judging get another second for each of this many bytes of the host."""

GRACE = 1.0
"""Seconds that the parent waits past a case's time limit, so that the runtime, which has the same limit, can answer."""

_PACKAGES = ("numpy", "ml_dtypes", "cffi", "kp")


def main() -> None:
    """Serve the parent until the end of its commands."""
    # The parent may be gone.
    with suppress(BrokenPipeError):
        serve(*take_channel())
    _end_after(0)


def serve(commands: BinaryIO, answer: SendAnswer) -> None:
    """Open the device, then run a case for each line of ``commands``."""
    target = Target.from_record(json.loads(commands.readline()))
    try:
        _end_after(preparation(target))
        try:
            device = open_device(target)
        except RestrideError as error:
            answer({"error": type(error).__name__, "message": str(error)})
            return
        with device:
            answer(_hello(device, target))
            faulthandler.cancel_dump_traceback_later()
            for line in commands:
                command = json.loads(line)
                answer({"outcome": run(Case.parse(command["case"]), device, target, command, answer).record()})
                faulthandler.cancel_dump_traceback_later()
            _end_after(target.timeout)
    finally:
        faulthandler.cancel_dump_traceback_later()


def open_device(target: Target) -> Device:
    """Open the device of a target, with its limits, and with the shader under test in place of ours.

    Raises:
        RestrideError: the device does not open.
    """
    source = load_module if target.shader is None else module_source(target.shader)
    source = with_shapes(source) if target.groups else source
    if target.limits is None:
        runtime = open_runtime(target.device, target.runtime, target.timeout, source)
    else:
        runtime = open_within(target.limits, target.device, target.runtime, target.timeout, source)
    if target.under_load:
        runtime = cast(Runtime, LoadedRuntime(cast(VulkanRuntime, runtime)))
    if target.groups:
        shapes = shapes_on(runtime.info.index, target.limits)
        runtime = cast(Runtime, GroupedRuntime(runtime, shapes, shapes_under(target.shader)))
    if target.shader is None:
        return Device.over(runtime)
    return Device.over(cast(Runtime, RuntimeUnderTest(runtime, target.shader.module)))


def run(case: Case, device: Device, target: Target, command: dict[str, Any], answer: SendAnswer) -> Outcome:
    """Run a case and turn any exception into a verdict; an error that is no RestrideError is a bug in restride."""
    begin = time.perf_counter()
    grouped = cast(GroupedRuntime, device.runtime) if target.groups else None  # perhaps inside a RuntimeUnderTest

    def started() -> None:
        _end_after(target.timeout)
        answer({"started": True} if grouped is None else {"started": True, "groups": grouped.groups})

    def judging() -> None:
        _end_after(preparation(target, case))
        answer({"judging": True})

    def ended(verdict: Verdict, message: str) -> Outcome:
        outcome = Outcome(str(case), verdict, message, time.perf_counter() - begin)
        return outcome if grouped is None else in_groups(outcome, grouped.groups)

    def run_once() -> Outcome:
        if isinstance(device.runtime, RuntimeUnderTest):
            device.runtime.begin(str(case))
        calls = {"started": started, "judging": judging}
        return run_case(case, device, **calls, keep=keep, replay=target.replay, in_batch=target.in_batch)

    _end_after(preparation(target, case))
    keep = Path(command["keep"]) if command["keep"] else None
    try:
        outcome = run_once() if grouped is None else run_in_groups(grouped, run_once)
        if command["mode"] == "perf" and outcome.verdict is Verdict.PASSED:
            judging()  # the host prepares the tensors once more
            outcome = _measured(case, outcome, device, started)
    except TakesNoPart as reason:
        return ended(Verdict.SKIPPED, str(reason))
    except DeviceTimeout:
        return ended(Verdict.TIMEOUT, too_late(target.timeout))
    except DeviceLost as error:
        return ended(Verdict.CRASHED, str(error))
    except RestrideError as error:
        return ended(Verdict.FAILED, f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - a mistake of ours costs its own case only, and is reported there
        return ended(Verdict.FAILED, mistake())
    return outcome


def _measured(case: Case, outcome: Outcome, device: Device, started: Callable[[], None]) -> Outcome:
    """The outcome with its speed, or with the reason why it has none: too little memory for measuring is no failure."""
    try:
        return replace(outcome, figures=asdict(measure_case(case, device, started)))
    except (DeviceLost, DeviceTimeout):
        raise
    except RestrideError as error:
        return replace(outcome, message=f"its speed was not measured: {type(error).__name__}: {error}")


def preparation(target: Target, case: Case | None = None) -> float:
    """Seconds that the host has to prepare a case, and again to judge it; without a case, to open the device."""
    return max(target.timeout, PREPARATION + (0 if case is None else host_bytes(case) // PREPARED_BYTES))


def too_late(seconds: float) -> str:
    """The message of a case that exceeded its time limit of ``seconds``."""
    return f"not finished within the time limit of {seconds:g} s"


def _end_after(seconds: float) -> None:
    """End this process in ``seconds`` and a little more, in case it hangs and its parent is gone. Needs no GIL."""
    faulthandler.dump_traceback_later(min(seconds + 5 * GRACE, threading.TIMEOUT_MAX), exit=True)


def _hello(device: Device, target: Target) -> dict[str, Any]:
    versions = {"restride": restride.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    every = asdict(device.limits)
    limits = {field.name: every[field.name] for field in fields(Limits)}
    return {"device": asdict(device.info), "limits": limits, "runtime": target.runtime, "versions": versions}


if __name__ == "__main__":
    main()
