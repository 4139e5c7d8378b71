"""Sizes never seen before: what is computed once for them, how many pipelines they take, and how much of it is kept."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import restride as rs
from restride.lru import LRU
from restride.plan import resample as plan_of_resampling
from restride.request import MODES, Request
from restride.weights import Rows, filters, resizing
from restride.weights import rows as rows_module

IMAGES = 200

Planned = Callable[[rs.Device, int, int], rs.Plan]


def resampled(src: str, sizes: str, *axes: int, **choice: Any) -> Planned:
    def made(device: rs.Device, height: int, width: int) -> rs.Plan:
        new_sizes = tuple(int(size) for size in sizes.format(h=height, w=width).split())
        return rs.plan_resample(src.format(h=height, w=width), None, new_sizes, None, axes, device=device, **choice)

    return made


def reordered(src: str, layout: str, **named: Any) -> Planned:
    return lambda device, height, width: rs.plan_reorder(
        src.format(h=height, w=width), None, layout, device=device, **named
    )


CHOICES: dict[str, dict[str, Any]] = {
    "linear": {},
    "antialiased": {"antialias": True},
    "nearest": {"mode": "nearest"},
    "cubic": {"mode": "cubic"},
    "antialiased cubic": {"mode": "cubic", "antialias": True},
    "area": {"mode": "area"},
}
MAX = {"linear": 12, "nearest": 6, "cubic": 10, "antialiased": 24, "area": 24}
WORKLOADS: dict[str, tuple[Planned, int]] = {
    "f32 NCHW to NHWC": (reordered("f32[1,3,{h},{w}]", "NCHW->NHWC"), 4),
    "u8 NHWC to f32 NCHW": (reordered("u8[1,{h},{w},3]", "NHWC->NCHW", dtype="f32"), 6),
    # Both sides aligned, neither, or one: then by quads of its words, four of these in a walk or one, in full groups
    # or not.
    "f32 transpose": (reordered("f32[{h},{w}]", "AB->BA"), 7),
}
for name, choice in CHOICES.items():
    most = MAX.get(name, 16)
    WORKLOADS[f"u8 NHWC down, {name}"] = resampled("u8[{h},{w},3]", "224 224", 0, 1, **choice), most
    WORKLOADS[f"u8 NHWC up, {name}"] = resampled("u8[224,224,3]", "{h} {w}", 0, 1, **choice), most
    WORKLOADS[f"f32 NCHW down, {name}"] = resampled("f32[1,3,{h},{w}]", "224 224", 2, 3, **choice), most
    WORKLOADS[f"f32 NCHW up, {name}"] = resampled("f32[1,3,224,224]", "{h} {w}", 2, 3, **choice), most

MORE_ON_A_GPU = {"f32 NCHW to NHWC": 6, "f32 NCHW up, nearest": 7}
"""The pipelines of workloads that take more where the elements of an invocation are apart."""


def random_sizes(seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randint(200, 800), rng.randint(200, 800)) for _ in range(IMAGES)]


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """The arguments of each call of a function from now on."""
    calls: list[Any] = []
    function = getattr(module, name)

    def called(*arguments: Any) -> Any:
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(module, name, called)
    return calls


def made_kernels(plan: rs.Plan) -> list[rs.kernel.KernelSpec]:
    return [kernel for step in plan._steps.steps for kernel in step.kernels()]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_random_sizes_share_a_few_pipelines(workload: str, vulkan_device: rs.Device) -> None:
    planned, most = WORKLOADS[workload]
    if vulkan_device.limits.choices.elements == "apart":
        most = MORE_ON_A_GPU.get(workload, most)
    made = {
        (kernel.shader, kernel.constants)
        for height, width in random_sizes(1)
        for kernel in made_kernels(planned(vulkan_device, height, width))
    }
    assert len(made) <= most, sorted(made)


@pytest.mark.parametrize("choice", [name for name in CHOICES if name != "nearest"])
def test_rows_of_an_axis_are_computed_once(
    choice: str, vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "_cache", LRU(1 << 26))
    computed = counted(monkeypatch, filters, "_on_axis")
    planned, _ = WORKLOADS[f"f32 NCHW down, {choice}"]
    some = random_sizes(2)
    for height, width in some:
        made_kernels(planned(vulkan_device, height, width))
    lengths = {size for sizes in some for size in sizes if size != 224}
    assert len(computed) <= len(lengths) < 2 * IMAGES, "an axis of equal length has the same rows in every image"


def test_a_pass_is_planned_once(vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    walked = counted(monkeypatch, plan_of_resampling, "walks")
    planned, _ = WORKLOADS["u8 NHWC down, linear"]
    dispatches = sum(len(made_kernels(planned(vulkan_device, *sizes))) for sizes in random_sizes(3))
    assert len(walked) == dispatches == IMAGES, "also where the plan asks first who would make the result"


def axis(source_size: int, size: int, choice: Request) -> Rows:
    (rows,) = resizing((source_size,), choice._replace(sizes=(size,))).rows
    return rows


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_kept_are_those_computed_one_by_one(mode: str) -> None:
    rng = random.Random(4)
    for _ in range(60):
        sizes = rng.randint(1, 90), rng.randint(1, 90)
        is_filter = mode in ("linear", "cubic")
        choice = Request(
            mode=mode, antialias=is_filter and rng.random() < 0.5, exclude_outside=is_filter and rng.random() < 0.5
        )
        for kept in (axis(*sizes, choice), axis(*sizes, choice).transposed()):
            assert kept.at_once
            alone = replace(kept, at_once=False)
            start = rng.randrange(kept.size)
            count = rng.randint(1, kept.size - start)
            first, weights = kept.part(start, count).first_and_weights()
            assert not np.signbit(weights[weights == 0]).any()
            assert np.array_equal(alone.part(start, count).first(), first)
            assert alone.part(start, count).first_and_weights()[1].tobytes() == weights.tobytes()
            one = alone.part(start, 1).first_and_weights()[1]
            assert one.tobytes() == weights[:1].tobytes(), "whatever rows are computed with it"


def test_long_axes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: LRU[rows_module.Taps] = LRU(1 << 26)
    monkeypatch.setattr(rows_module, "_cache", cache)
    longest = axis(100, rows_module._MAX_AT_ONCE // 2, Request())
    longest.first()
    (taps,) = cache._young.values()
    assert taps.weight <= 96 << 10
    longer = axis(100, rows_module._MAX_AT_ONCE // 2 + 1, Request())
    assert longer.part(0, 3).first_and_weights()[1].shape == (3, 2)
    assert len(cache._young) == 1
    assert axis(100, longest.size, Request()).first() is not None
    assert len(cache._young) == 1, "found again by its value"
