"""Runs: elements in one run on both sides go through the copy command or a kernel, any number of bytes, anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.kernel import Limits
from restride.kernel.limits import RunsChoice
from restride.plan import copy as plan_of_copy
from restride.plan.copy import copy_kernels
from restride.plan.problem import Problem, simplify
from restride.plan.steps import RESULT, SOURCE, Site, Steps

RUNS = [
    ("f32[4,6]", "f32[4,6]"),
    ("u8[13]", "u8[13]{strides=(1),offset=3}"),
    ("u8[16777213]", "u8[16777213]"),
    ("f16[5,7]{0,1}", "f16[5,7]{0,1}"),
    ("s64[3]{strides=(1),offset=2}", "s64[3]"),
    ("u8[2,4]{1,0:T(2,2)}", "u8[2,4]{1,0:T(2,2)}"),
    ("f32[3,5]", "f32[3,5]{1,0:pad(4,5)=7}"),  # and padding after it
]


@pytest.fixture(scope="module")
def vulkan_device() -> Iterator[rs.Device]:
    """A device whose choice of ``runs`` a test may change."""
    with open_device("vulkan") as device:
        choose(device, "command")
        yield device


def choose(device: rs.Device, runs: RunsChoice) -> None:
    limits = device.runtime.limits
    device.runtime.limits = replace(limits, choices=replace(limits.choices, runs=runs))


@pytest.fixture
def by_kernel(vulkan_device: rs.Device) -> Iterator[rs.Device]:
    choose(vulkan_device, "kernel")
    yield vulkan_device
    choose(vulkan_device, "command")


def dispatches_of_a_copy(device: rs.Device, source: rs.TensorDesc, target: rs.TensorDesc) -> int:
    """Copy random bytes in one submission, check the result, and return how many kernels that took."""
    noise = np.random.default_rng(0).integers(0, 256, source.nbytes, np.uint8)
    x = rs.from_buffer(noise, source, device)
    out = rs.from_buffer(np.full(target.nbytes, 0xA5, np.uint8), target, device)
    device.wait()
    before = device.counters()
    rs.reorder(x, out=out)
    after = device.counters()
    assert after.submissions - before.submissions == 1
    assert_copied(x, out)
    return after.dispatches - before.dispatches


@pytest.mark.parametrize(("src", "dst"), RUNS)
def test_a_run_is_copied_without_a_kernel(vulkan_device: rs.Device, src: str, dst: str) -> None:
    source, target = rs.TensorDesc.parse(src), rs.TensorDesc.parse(dst)
    pads = target.is_whole and target.is_padded
    assert dispatches_of_a_copy(vulkan_device, source, target) == pads


@pytest.mark.parametrize(("src", "dst"), RUNS)
def test_a_run_is_copied_by_kernels_where_they_are_faster(by_kernel: rs.Device, src: str, dst: str) -> None:
    assert dispatches_of_a_copy(by_kernel, rs.TensorDesc.parse(src), rs.TensorDesc.parse(dst)) > 0


@pytest.mark.parametrize("nbytes", [1, 15, 2047, 2048, 4095, 65_537, 1_048_591])
@pytest.mark.parametrize("starts", [(0, 0), (16, 0), (3, 3), (1, 2), (0, 5)], ids=str)
def test_any_bytes_are_copied_to_any_place_by_kernels(
    by_kernel: rs.Device, nbytes: int, starts: tuple[int, int]
) -> None:
    noise = np.random.default_rng(nbytes).integers(0, 256, nbytes + 32, np.uint8)
    x, out = rs.asarray(noise, device=by_kernel), rs.asarray(np.full(nbytes + 32, 0xA5, np.uint8), device=by_kernel)
    src, dst = starts
    rs.reorder(x[src : src + nbytes], out=out[dst : dst + nbytes])
    expected = np.full(nbytes + 32, 0xA5, np.uint8)
    expected[dst : dst + nbytes] = noise[src : src + nbytes]
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_run_that_ends_amid_16_bytes_is_cut_there(by_kernel: rs.Device) -> None:
    desc = rs.TensorDesc("u8", (16_777_213,))
    wide, rest = copy_kernels(desc, desc, by_kernel.limits)
    assert wide.shader == "run_copy_128"
    assert wide.bindings[1].nbytes == 16_777_200
    assert (rest.bindings[1].offset, rest.bindings[1].nbytes) == (16_777_200, 16)


def assert_copied(x: rs.Tensor, out: rs.Tensor) -> None:
    """Every element, and none of the bytes between or around them."""
    target = out.desc
    np.testing.assert_array_equal(out.numpy(), x.numpy())
    if not target.is_whole:
        start, stop = target.lowest * target.dtype.itemsize, (target.highest + 1) * target.dtype.itemsize
        outside = np.delete(out.buffer(), slice(start, stop))
        assert (outside == 0xA5).all()


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[4,6]", "f32[4,6]{0,1}"),
        ("f32[4,6]", "f32[4,6]{strides=(7,1)}"),
        ("f32[4]{strides=(-1),offset=3}", "f32[4]"),
        ("f32[4]{strides=(0)}", "f32[4]"),
    ],
)
def test_copies_that_are_no_run_go_through_a_kernel(vulkan_device: rs.Device, src: str, dst: str) -> None:
    x, out = (rs.from_buffer(bytes(120), text, vulkan_device) for text in (src, dst))
    before = vulkan_device.counters().dispatches
    rs.reorder(x, out=out)
    assert vulkan_device.counters().dispatches == before + 1


def test_a_run_into_the_same_buffer_goes_through_a_kernel(vulkan_device: rs.Device) -> None:
    x = rs.asarray(np.arange(8, dtype=np.float32), device=vulkan_device)
    rs.reorder(x[:4], out=x[4:])
    np.testing.assert_array_equal(x.numpy(), [0, 1, 2, 3, 0, 1, 2, 3])


def test_copies_and_kernels_wait_for_each_other(vulkan_device: rs.Device) -> None:
    array = np.random.default_rng(0).random((64, 64), np.float32)
    x = rs.asarray(array, device=vulkan_device)
    with vulkan_device.batch():
        for _ in range(20):
            x = rs.reorder(rs.reorder(x, "AB->BA"))
    np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.parametrize("dst", ["f32[601,3]", "f32[601,3]{0,1}"])
def test_a_copy_is_planned_once(dst: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step asks whether it copies a run, and later for kernels, of the same walks."""
    planned: list[Problem] = []

    def noted(problem: Problem) -> Problem:
        planned.append(problem)
        return simplify(problem)

    plan_of_copy.copy_problems.cache_clear()
    monkeypatch.setattr(plan_of_copy, "simplify", noted)
    src, steps = rs.TensorDesc("f32", (601, 3)), Steps(Limits())
    steps.copy(Site(SOURCE, src), Site(RESULT, rs.TensorDesc.parse(dst)))
    (step,) = steps.steps
    assert (step.run is None) == bool(tuple(step.kernels()))
    assert len(planned) == 1
