"""The stopwatch: timers in turn, what does not count, batches, the device's clock and copy, and what disturbs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from support.devices import open_device

import restride as rs
from restride.command import stopwatch
from restride.command.stopwatch import (
    BATCH_SECONDS,
    LEAST,
    MAX_CALLS,
    Timer,
    copying,
    device_timer,
    has_clock,
    rounds,
    rounds_text,
    wait_until_idle,
    warnings,
    work_timer,
)
from restride.errors import UnsupportedError


class Clock:
    """A clock that only what is measured moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float) -> Callable[..., None]:
        def work(*_: object) -> None:
            self.now += seconds

        return work


def test_a_timer_has_the_seconds_of_a_call_and_leaves_out_what_is_before_it() -> None:
    clock = Clock()
    timer = Timer(clock.takes(2.0), clock.takes(3.0), calls=3, clock=clock, before=clock.takes(7.0))
    assert timer() == 3.0, "three calls and one wait"
    assert clock.now == 16.0


@pytest.mark.parametrize(
    ("seconds", "calls"), [(BATCH_SECONDS / 100, 128), (BATCH_SECONDS / 3, 4), (1.0, 1), (1e-9, MAX_CALLS)]
)
def test_a_batch_has_as_many_calls_as_take_a_while(seconds: float, calls: int) -> None:
    clock, order = Clock(), []

    def call() -> None:
        order.append("call")
        clock.takes(seconds)()

    batch = Timer(call, lambda: order.append("wait"), clock=clock, before=lambda: order.append("before")).batch()
    assert order[:3] == ["before", "call", "wait"], "a first call, which compiles kernels"
    order.clear()
    assert batch() == pytest.approx(seconds)
    assert order == ["before", *["call"] * calls, "wait"]


def test_every_round_runs_all_timers_and_warm_up_does_not_count() -> None:
    order: list[str] = []
    begun: list[int] = []

    def timer(name: str) -> Callable[[], float]:
        def timed() -> float:
            order.append(name)
            return float(len(begun))

        return timed

    found = rounds({name: timer(name) for name in "ab"}, 40, warm_up=3, begin=begun.append)
    each = [order[start : start + 2] for start in range(0, len(order), 2)]
    assert begun == list(range(43))
    assert all(sorted(names) == ["a", "b"] for names in each)
    assert 10 <= [names[0] for names in each[3:]].count("a") <= 30, "neither is always first"
    assert found == dict.fromkeys("ab", tuple(map(float, range(4, 44))))


@pytest.mark.parametrize(("seconds", "count"), [(0.0, LEAST), (4.5, 5), (100.0, 9)])
def test_no_round_begins_after_the_time_but_a_few_always_run(
    monkeypatch: pytest.MonkeyPatch, seconds: float, count: int
) -> None:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    assert rounds({"": Timer(clock.takes(1.0), clock=clock)}, 9, seconds=seconds) == {"": (1.0,) * count}


def test_processor_time_counts_work_and_not_sleep() -> None:
    def work() -> None:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass

    wait_until_idle()  # other libraries' threads
    calls: dict[str, Callable[[], None]] = {"work": work, "sleep": lambda: time.sleep(0.02)}
    timers = {
        (clock, name): Timer(call, clock=getattr(time, clock)) for name, call in calls.items() for clock in CLOCKS
    }
    found = rounds(timers, 3)
    assert min(found["process_time", "work"]) >= 0.02
    assert max(found["process_time", "sleep"]) < 0.01
    assert min(found["perf_counter", "sleep"]) >= 0.02


CLOCKS = ("process_time", "perf_counter")


def test_rounds_are_named() -> None:
    assert [rounds_text(count) for count in (1, 9)] == ["one round", "medians of 9 rounds"]


def test_a_device_has_a_clock_and_the_host_s_counts_the_wait(vulkan_device: rs.Device) -> None:
    assert has_clock(vulkan_device)
    x, out = rs.empty("f32[64,64]", vulkan_device), rs.empty("f32[64,64]", vulkan_device)
    for by_device in (False, True):
        assert work_timer(vulkan_device, lambda: rs.reorder(x.permute(1, 0), out=out), by_device=by_device)() > 0
    with open_device("kompute") as device:
        assert not has_clock(device)
        with pytest.raises(UnsupportedError, match="only the runtime vulkan"):
            device_timer(device, lambda: None)


def test_a_copy_reads_and_writes_half_of_its_bytes_each(
    vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []
    monkeypatch.setattr(vulkan_device.runtime, "copy", lambda _src, _dst, nbytes: copied.append(nbytes))
    copying(2 << 20, vulkan_device)()
    assert copied == [1 << 20]


def test_a_device_is_kept_at_work_while_it_becomes_faster(
    vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stopwatch.keep_awake(vulkan_device)(0) is None, "a CPU is left alone"
    seconds = iter([0, 1, 1.5, 1.75, 2, 2.25])  # of batches: 1, 0.5, 0.25, 0.25, 0.25
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    gpu = SimpleNamespace(info=SimpleNamespace(kind="discrete"), batch=vulkan_device.batch, wait=vulkan_device.wait)
    small = rs.empty("f32[2,2]", vulkan_device)
    monkeypatch.setattr(stopwatch, "empty", lambda *_: small)
    monkeypatch.setattr(stopwatch, "reorder", lambda *_, **__: None)
    stopwatch.keep_awake(gpu)(0)  # type: ignore[arg-type]
    assert list(seconds) == [], "the last 0.3 s brought nothing"


@pytest.mark.parametrize(("used", "sleeps"), [([0.0], 1), ([0.02, 0.02, 0.0005], 3), ([0.02] * 60, 50)])
def test_a_wait_for_threads_that_spin_ends_when_they_sleep(
    monkeypatch: pytest.MonkeyPatch, used: list[float], sleeps: int
) -> None:
    """Processor seconds of each 10 ms: 50 of these are the longest pause."""
    slept: list[float] = []
    left = iter(used)
    process = 0.0

    def sleep(seconds: float) -> None:
        nonlocal process
        slept.append(seconds)
        process += next(left)

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "process_time", lambda: process)
    monkeypatch.setattr(time, "perf_counter", lambda: sum(slept) * (1 + 1e-9))  # 50 * 0.01 may be just below 0.5
    wait_until_idle()
    assert len(slept) == sleeps


@pytest.mark.parametrize(("average", "warns"), [(0.9, False), (1.1, True)])
def test_a_busy_machine_is_named(monkeypatch: pytest.MonkeyPatch, average: float, warns: bool) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (average, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert bool(warnings({})) == warns


def test_layers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    (line,) = warnings({"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"})
    assert line.startswith("VK_INSTANCE_LAYERS is set: ")
