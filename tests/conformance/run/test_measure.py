"""Measuring a case: figures that follow from the clock alone."""

from __future__ import annotations

import gc
from functools import partial

import pytest

from restride.command import stopwatch
from restride.command.stopwatch import Timer
from restride_conformance import Case
from restride_conformance.case import OPERATIONS
from restride_conformance.run import measure
from restride_conformance.run.measure import BATCHES, measure_case


def test_figures_are_medians_of_batches_and_copies_in_turn(monkeypatch, vulkan_device):
    case = Case.parse("reorder f32[5,8] -> f32[5,8]")
    order, now = [], 0.0
    seconds = iter([1.0, 1.0, 2.0, 9.0, 3.0, 1.0, 4.0])  # warm-up, calibration, five batches: the median is 3

    def call(*_):
        nonlocal now
        order.append("case")
        now += next(seconds)

    def copy(_src, _dst, nbytes):
        nonlocal now
        assert nbytes == 16 << 20
        order.append("copy")
        now += 0.5

    monkeypatch.setattr(measure, "Timer", partial(Timer, clock=lambda: now))
    monkeypatch.setattr(OPERATIONS["reorder"], "call", lambda _case: call)
    monkeypatch.setattr(vulkan_device.runtime, "copy", copy)
    speed = measure_case(case, vulkan_device)
    assert order[:4] == ["case", "case", "copy", "copy"]
    assert [set(order[start : start + 2]) for start in range(4, len(order), 2)] == [{"case", "copy"}] * BATCHES
    assert speed.seconds == 3.0
    assert speed.gigabytes_per_second == pytest.approx(320 / 3 / 1e9)
    assert speed.share_of_copy == pytest.approx((320 / 3) / (2 * (16 << 20) / 0.5))


@pytest.mark.parametrize(
    "line",
    [
        "slice u8[64,64] -> u8[32,64] offsets=(0,0) sizes=(64,64) strides=(2,-1)",
        "reorder f32[2,3,8] -> f32[2,8,3]{strides=(40,5,1),offset=3} permute=ABC->ACB",
        "resample f16[40,50] -> f16[20,100] mode=linear view=[::-1]",
        "reorder u8[0,3] -> u8[0,3]",
    ],
)
def test_cases_are_measured_on_every_runtime(device, monkeypatch, line):
    monkeypatch.setattr(stopwatch, "BATCH_SECONDS", 0.0)  # one call a batch
    case = Case.parse(line)
    gc.collect()  # tensors of other tests may wait for it
    before = device.counters().bytes_in_use
    started = []
    speed = measure_case(case, device, lambda: started.append(True))
    assert len(started) > 2 * BATCHES
    assert speed.seconds > 0
    assert speed.gigabytes_per_second == pytest.approx(case.useful_bytes / speed.seconds / 1e9)
    assert (speed.share_of_copy > 0) == (case.dst.numel > 0)
    assert device.counters().bytes_in_use == before, "nothing stays on the device"
