"""Workloads of the benchmark: the list, and that restride and every peer that is installed agree on each, small."""

from pathlib import Path

import numpy as np
import pytest

import restride as rs
from restride.benchmark import own
from restride.benchmark.agreement import compare, tolerance
from restride.benchmark.catalogue import catalogue
from restride.benchmark.peers import PEERS, open_peers
from restride.benchmark.run import columns_of, timed_rounds
from restride.benchmark.tasks import (
    Gradient,
    Move,
    NewShapes,
    Normalize,
    Resize,
    result_dtype,
    result_sizes,
    useful_bytes,
)

SHADERS = Path(__file__).resolve().parent.parent / "shaders"
FULL, SMALL = catalogue(), catalogue(is_small=True)
NAMES = [workload.name for workload in FULL]


@pytest.fixture(scope="module")
def peers(vulkan_device):
    return open_peers(tuple(PEERS), vulkan_device)[0]


def test_the_list_is_stable():
    assert catalogue() == FULL
    assert len(NAMES) == len(set(NAMES)) >= 60
    assert [workload.name for workload in SMALL] == NAMES
    groups = [workload.group for workload in FULL]
    assert sorted(groups, key=groups.index) == groups, "a group stands together"
    assert not any(workload.goals for workload in SMALL), "times of small ones mean nothing"


def test_goals_name_columns_that_exist():
    for workload in FULL:
        columns = {"", *PEERS, *(rival.name for rival in workload.rivals)}
        assert {goal.against for goal in workload.goals} <= columns, workload.name


def test_one_workload_fits_two_gibibytes():
    for workload in FULL:
        rivals = sum(2 * rs.TensorDesc.parse(rival.src).nbytes for rival in workload.rivals)
        assert 2 * workload.nbytes + rivals < 1 << 30, workload.name


@pytest.mark.parametrize("name", NAMES)
def test_everybody_agrees(name, vulkan_device, peers):
    (workload,) = (each for each in SMALL if each.name == name)
    columns = columns_of(workload, vulkan_device, peers, clock=True)
    assert list(map(str, columns.disagreements)) == []
    made = timed_rounds(columns, ("resident", "kernel", "numpy"), repeat=1, warm_up=0)
    assert {"restride", "copy", *(rival.name for rival in workload.rivals)} <= set(made["resident"])
    result = columns.offers["restride"].result()
    if not isinstance(workload.task, NewShapes):
        assert result.shape == result_sizes(workload.task, workload.desc.sizes)
    assert rs.TensorDesc(result.dtype, ()).dtype == result_dtype(workload.task, workload.desc.dtype.name)


@pytest.mark.parametrize("name", [each.name for each in FULL if isinstance(each.task, Resize | Gradient)])
def test_restride_agrees_with_its_reference(name, vulkan_device):
    (workload,) = (each for each in SMALL if each.name == name)
    source, task = workload.source(), workload.task
    made = own.offer(workload, source, vulkan_device, clock=False)
    made.resident()
    match task:
        case Resize(sizes, mode, antialias):
            options = {"antialias": antialias, "exclude_outside": antialias}
            expected = rs.reference.resample(source, sizes, axes=task.axes(source.ndim), mode=mode, **options)
        case Gradient(sizes):
            expected = rs.reference.resample_backward(source, sizes)
    assert compare(workload, "the reference", np.asarray(expected), made.result()) is None


def test_every_kernel_written_by_hand_is_measured(vulkan_device):
    lines = (SHADERS / "variants.txt").read_text(encoding="utf-8").splitlines()
    modules = {line.split(":")[0] for line in lines if line.startswith("bare_")}
    used = set()
    with rs.Device.over(Spy(vulkan_device.runtime, used)) as device:
        (by_hand,), _ = open_peers(("by-hand",), device)
        for workload in SMALL:
            offer = by_hand.offer(workload, workload.source())
            if offer is not None:
                offer.resident()
    assert used == modules


class Spy:
    """A runtime that notes the modules it is given; the device behind it stays open."""

    def __init__(self, runtime, used):
        self._runtime, self._used = runtime, used

    def __getattr__(self, name):
        return getattr(self._runtime, name)

    def submit(self, kernels, memories):
        self._used |= {kernel.shader for kernel in kernels}
        self._runtime.submit(kernels, memories)

    def close(self):
        pass


def test_random_elements_are_random_and_the_same_again():
    workload = next(each for each in SMALL if each.name == "f32 * 255 -> u8 1x3x1080x1920")
    source = workload.source()
    assert np.array_equal(source, workload.source())
    assert source.min() < 0
    assert source.max() > 1
    assert len(np.unique(source)) > source.size // 2


@pytest.mark.parametrize(
    ("task", "src", "nbytes"),
    [
        (Move((0, 1), (2, -2)), "f32[10,20]", 2 * 4 * 50),
        (Resize((2,)), "f32[3,100]", 4 * (12 + 6)),
        (Resize((2,), antialias=True), "f32[3,100]", 4 * (300 + 6)),
        (Resize((200,), "nearest"), "u8[3,100]", 300 + 600),
        (Normalize(), "u8[1,4,5,3]", 5 * 60),
        (Gradient((10,)), "f32[3,100]", 4 * (300 + 30)),
    ],
)
def test_useful_bytes(task, src, nbytes):
    assert useful_bytes(task, rs.TensorDesc.parse(src)) == nbytes


def test_new_shapes_are_new():
    task = NewShapes()
    assert len({task.crop((1024, 768), call) for call in range(300)}) == 300
    assert all(min(task.crop((64, 48), call)) > 0 for call in range(1000))


def test_what_moves_has_no_tolerance_and_what_sums_has_a_small_one():
    for workload in FULL:
        allowed = tolerance(workload)
        if isinstance(workload.task, Resize) and workload.task.mode != "nearest":
            assert allowed == 1 if not workload.desc.dtype.is_float else 0 < allowed < 1e-2, workload.name
        elif not isinstance(workload.task, Normalize | Gradient):
            assert allowed == 0, workload.name


def test_a_difference_of_one_bit_is_found():
    workload = next(each for each in SMALL if each.name == "copy f32 16")
    right = np.zeros(16, np.float32)
    assert compare(workload, "x", right.copy(), right) is None
    assert compare(workload, "x", -right, right) is not None, "another sign of zero is another bit"
    assert compare(workload, "x", right.astype(np.float64), right) is not None
