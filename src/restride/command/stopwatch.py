"""The stopwatch: calls are timed in turn, round by round, so that other work disturbs all of them equally.

A ``Timer`` times calls by the host's clock, ``device_timer`` by the device's own. ``rounds`` runs timers in turn.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np

from restride.errors import UnsupportedError
from restride.layout import TensorDesc
from restride.ops.reorder import reorder
from restride.plan.copy import copy_kernels
from restride.runtime.interface import rounded
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride.tensor.device import Device
from restride.tensor.tensor import empty

_Name = TypeVar("_Name", bound=Hashable)

LEAST = 3
"""Minimum number of rounds that count, however little time there is."""

BATCH_SECONDS = 0.01
"""A batch of calls takes this long to twice as long; a call that takes longer is a batch by itself."""

MAX_CALLS = 1024

WAKING, AWAKE = 0.3, 0.02
"""Seconds for which the device works before the first round, and before each further round."""


def _nothing(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Timer:
    """A function that makes some calls, waits once for their end, and returns the seconds per call.

    before: called first, outside of the measured time.
    """

    call: Callable[[], object]
    wait: Callable[[], object] = _nothing
    calls: int = 1
    clock: Callable[[], float] = time.perf_counter
    before: Callable[[], object] = _nothing

    def __call__(self) -> float:
        """Make the calls and time them."""
        self.before()
        call, calls, clock = self.call, range(self.calls), self.clock
        start = clock()
        for _ in calls:
            call()
        self.wait()
        return (clock() - start) / self.calls

    def batch(self) -> Self:
        """The timer with as many calls as take ``BATCH_SECONDS``, after a first call that compiles kernels."""
        self()
        timer = self
        while timer.calls < MAX_CALLS and timer() * timer.calls < BATCH_SECONDS:
            timer = replace(timer, calls=2 * timer.calls)
        return timer


def rounds(
    timers: Mapping[_Name, Callable[[], float]],
    count: int,
    *,
    warm_up: int = 0,
    seconds: float = math.inf,
    begin: Callable[[int], object] = _nothing,
) -> dict[_Name, tuple[float, ...]]:
    """The seconds of each timer in every round that counts.

    Every round runs all timers. The order is drawn anew for each, so that no timer always follows the same one.

    Args:
        timers: functions that do some work once and return its seconds, by name.
        count: rounds that count.
        warm_up: rounds before these that do not count, because dispatches compile kernels in them.
        seconds: no round begins later than this, once ``LEAST`` of them count.
        begin: called with the number of each round before it, from 0 on.
    """
    names, order, end = [*timers], np.random.default_rng(len(timers)), time.perf_counter() + seconds
    taken: dict[_Name, tuple[float, ...]] = dict.fromkeys(names, ())
    for number in range(warm_up + count):
        if number >= warm_up + LEAST and time.perf_counter() >= end:
            break
        begin(number)
        for place in order.permutation(len(names)):
            took = timers[names[place]]()
            if number >= warm_up:
                taken[names[place]] += (took,)
    return taken


def figure(value: float) -> float:
    """Round to four significant digits, because more are noise."""
    return float(f"{value:.4g}")


def rounds_text(count: int) -> str:
    """The number of rounds, in words."""
    return "one round" if count == 1 else f"medians of {count} rounds"


# Work of a device.


def device_timer(device: Device, call: Callable[[], object]) -> Callable[[], float]:
    """A function that does the call and returns the seconds that the device took for it.

    Raises:
        UnsupportedError: the runtime has no clock.
    """
    runtime = device.runtime
    if not isinstance(runtime, VulkanRuntime):
        raise UnsupportedError("only the runtime vulkan reads the device's clock")

    def timed() -> float:
        with runtime.timed() as clock:
            call()
            runtime.wait()
        return clock.seconds

    return timed


def work_timer(device: Device, start: Callable[[], object], *, by_device: bool) -> Callable[[], float]:
    """The timer of work that ``start`` submits: by the device's clock, or by the host's until the end of the wait."""
    return device_timer(device, start) if by_device else Timer(start, device.wait)


def has_clock(device: Device) -> bool:
    """True if the device can measure its own time."""
    try:
        device_timer(device, _nothing)()
    except UnsupportedError:
        return False
    return True


def copying(nbytes: int, device: Device) -> Callable[[], object]:
    """A function that starts a plain copy which reads and writes about ``nbytes`` bytes in total: the speed of memory.

    It uses the copy command or a kernel, as restride does for copies on this device (``Choices.runs``), and copies
    whole units of 16 bytes.
    """
    half = rounded(nbytes // 2)
    runtime, desc = device.runtime, TensorDesc("u8", (half,))
    src, dst = runtime.allocate(half), runtime.allocate(half)
    # The bytes are not zeros, which a driver may recognise and treat specially.
    runtime.write(src, 0, np.random.default_rng(0).integers(0, 256, half, np.uint8).data)
    if device.limits.copies_runs:
        return lambda: runtime.copy(src, dst, half)
    kernels = copy_kernels(desc, desc, device.limits)
    return lambda: runtime.submit(kernels, (src, dst))


def keep_awake(device: Device) -> Callable[[int], object]:
    """A function that keeps the device at work before each of ``rounds``, and longer while it still becomes faster.

    A GPU with little to do slows its clocks down. An H100's clock falls from 1980 to 345 MHz in a second and rises as
    slowly, and kernels take up to 2.5 times as long meanwhile. On a CPU the function does nothing.
    """
    if device.info.kind == "cpu":
        return _nothing
    x, out = (empty("f32[4096,4096]", device) for _ in range(2))

    def work(number: int) -> None:
        seconds, fastest, now = AWAKE if number else WAKING, math.inf, time.perf_counter()
        end = now + seconds
        while now < end:
            begin = now
            with device.batch():
                for _ in range(20):
                    reorder(x.permute(1, 0), out=out)
            device.wait()
            now = time.perf_counter()
            if now - begin < 0.95 * fastest:
                fastest, end = now - begin, now + seconds

    return work


# Conditions that would distort the measured times.

QUIET = 0.01
"""Seconds over which the process must use less than a tenth of a core to count as idle.

The system may count processor time in steps of 4 ms.
"""

MAX_PAUSE = 0.5
"""Maximum wait for an idle process, in seconds."""

BUSY = 0.5
"""A load average per core above this means that other work distorts the measured times."""

_LAYERS = ("VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE")


def wait_until_idle() -> None:
    """Wait until no thread of the process works: those of ONNX Runtime spin for 45 ms after a call."""
    end = time.perf_counter() + MAX_PAUSE
    while time.perf_counter() < end:
        used = time.process_time()
        time.sleep(QUIET)
        if time.process_time() - used < QUIET / 10:
            return


def warnings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The reasons why measured times would be too high; empty on an idle machine without validation layers."""
    lines = []
    if hasattr(os, "getloadavg"):
        average, cores = os.getloadavg()[0], os.cpu_count() or 1
        if average > BUSY * cores:
            lines.append(
                f"load average {average:.1f} on {cores} cores: other work is running, and figures are too high"
            )
    lines += [
        f"{name} is set: layers are loaded, and figures are too high" for name in _LAYERS if environment.get(name)
    ]
    return lines
