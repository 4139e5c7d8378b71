"""Measuring a case: what counts as a byte moved, and that figures follow from the clock alone."""

from __future__ import annotations

from functools import partial

import pytest

from restride.command import stopwatch
from restride.command.stopwatch import Timer
from restride_conformance import Case
from restride_conformance.case import OPERATIONS
from restride_conformance.run import measure
from restride_conformance.run.measure import BATCHES, measure_case, useful_bytes


@pytest.mark.parametrize(
    ("line", "nbytes"),
    [
        ("slice f32[100] -> f32[20] offsets=(0) sizes=(100) strides=(-5)", 4 * (20 + 20)),
        ("reorder u8[6,4]{strides=(100,7),offset=3} -> u8[6,4]{strides=(16,4)}", 24 + 24),
        ("reorder f64[2,3] -> f64[3,2] permute=AB->BA", 8 * (6 + 6)),
        ("reorder s16[8,6] -> s16[2,6] view=[::-4]", 2 * (12 + 12)),
        ("reorder s16[1,6] -> s16[4,6] view=.broadcast_to(4,6)", 2 * (24 + 24)),
        ("resample u8[3,100] -> u8[3,20] mode=nearest", 60 + 60),
        ("resample u8[3,100] -> u8[3,20] mode=linear", 3 * 40 + 60),
        ("resample u8[3,30] -> u8[3,20] mode=linear", 90 + 60),
        ("resample f16[100,10] -> f16[20,70] mode=nearest", 2 * (20 * 10 + 20 * 70)),
        ("resample f16[100,10] -> f16[20,70] mode=linear view=[::-1]", 2 * (40 * 10 + 20 * 70)),
        ("resample u8[3,100] -> u8[3,20] mode=cubic", 3 * 80 + 60),
        ("resample u8[3,100] -> u8[3,20] mode=area", 300 + 60),
        ("resample u8[100] -> u8[20] mode=linear antialias=yes", 100 + 20),
        ("resample u8[100] -> f32[4] mode=nearest sizes=(200) window=(8:12)", 2 + 16),
        ("resample u8[100] -> f32[9] mode=nearest sum_scale=2", 9 + 2 * 36),
        ("resample_backward f32[3,20] -> f32[3,100] mode=linear", 4 * (60 + 300)),
        ("reorder f32[0,3] -> f32[0,3]", 0),
        ("reorder f32[] -> f32[]", 8),
    ],
)
def test_useful_bytes_are_those_of_elements(line, nbytes):
    assert useful_bytes(Case.parse(line)) == nbytes


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
    monkeypatch.setattr(OPERATIONS["reorder"], "call", call)
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
    before = device.counters().bytes_in_use
    started = []
    speed = measure_case(case, device, lambda: started.append(True))
    assert len(started) > 2 * BATCHES
    assert speed.seconds > 0
    assert speed.gigabytes_per_second == pytest.approx(useful_bytes(case) / speed.seconds / 1e9)
    assert (speed.share_of_copy > 0) == (case.dst.numel > 0)
    assert device.counters().bytes_in_use == before, "nothing stays on the device"
