"""Workloads of the benchmark: the list, and that restride and every peer that is installed agree on each, small."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.devices import open_device
from support.judges import judge

import restride as rs
from restride.errors import DeviceTimeout
from restride.runtime.loader import TIMEOUT
from restride_bench.peers import PEERS, open_peers
from restride_bench.peers.vulkan import Raw
from restride_measure import own
from restride_measure.offer import Absent
from restride_measure.run import columns_of, compare, timed_rounds, tolerance
from restride_measure.workloads import (
    BY_AXES,
    Boxes,
    Calls,
    Goal,
    Gradient,
    Move,
    NewImages,
    NewPhotos,
    NewShapes,
    Normalize,
    Rearrange,
    Resize,
    bytes_text,
    catalogue,
    growth,
    result_bytes,
    result_dtype,
    result_sizes,
    selected,
    ttc57,
    useful_bytes,
)

SHADERS = Path(__file__).resolve().parents[2] / "shaders"
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


def test_the_57_transpositions_are_three_shapes_of_each_of_19_permutations():
    """As the papers say: ranks 2 to 6, some 200 MiB of f32, no axes that could be one."""
    workloads = ttc57()
    by_axes = {workload.task.axes: [] for workload in workloads}
    for workload in workloads:
        axes, sizes = workload.task.axes, workload.desc.sizes
        assert sorted(axes) == list(range(len(sizes)))
        assert all(after != before + 1 for before, after in pairwise(axes))
        assert 190 < math.prod(sizes) * 4 / 2**20 < 235
        by_axes[axes].append(sizes)
    assert len(workloads) == len({workload.name for workload in workloads}) == 57
    assert sum(axes[-1] == len(axes) - 1 for axes in by_axes) == 4, "the fastest axis stays in four"
    assert [len(set(shapes)) for shapes in by_axes.values()] == [3] * 19
    assert {rank: sum(len(axes) == rank for axes in by_axes) for rank in range(2, 7)} == {2: 1, 3: 3, 4: 5, 5: 5, 6: 5}
    assert [workload.name for workload in ttc57(is_small=True)] == [workload.name for workload in workloads]


def test_the_57_are_left_out_unless_the_keyword_begins_with_their_group():
    assert selected("") == list(FULL)
    assert selected("TTC57") == list(ttc57())
    assert [each.name for each in selected("ttc57: 0213")] == []
    assert [each.name for each in selected("ttc57: 10 f32 1216")] == ["10 f32 1216x43408"]
    assert selected("f32 7248x7248") == []


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
    columns = columns_of(workload, vulkan_device, peers)
    assert list(map(str, columns.disagreements)) == []
    made = timed_rounds(columns, ("resident", "kernel", "numpy"), repeat=1, warm_up=0)
    assert {"restride", "copy", *(rival.name for rival in workload.rivals)} <= set(made["resident"])
    result = columns.offers["restride"].result()
    if not isinstance(workload.task, NewShapes):
        assert result.shape == result_sizes(workload.task, workload.desc.sizes)
    assert rs.TensorDesc(result.dtype, ()).dtype == result_dtype(workload.task, workload.desc.dtype.name)


def test_numpy_has_the_same_bits_in_all_57_transpositions(device, peers):
    numpy = [peer for peer in peers if peer.name == "numpy"]
    for workload in ttc57(is_small=True):
        columns = columns_of(workload, device, numpy)
        assert list(map(str, columns.disagreements)) == []
        assert set(columns.offers) == {"restride", "copy", "numpy"}


@pytest.mark.parametrize("name", ["torch", "onnxruntime"])
def test_a_peer_that_is_a_judge_agrees(name, vulkan_device):
    """`test_everybody_agrees` asks the peers that are installed; these two must be, or the test is one for a judge."""
    judge(name)
    peers, absent = open_peers((name,), vulkan_device)
    assert not absent
    columns = [columns_of(workload, vulkan_device, peers) for workload in SMALL]
    assert [str(each) for column in columns for each in column.disagreements] == []
    assert sum(name in column.offers for column in columns) >= 5


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_einops_does_every_pattern(backend, vulkan_device):
    judge(backend)
    peers, _ = open_peers((f"einops-{backend}",), vulkan_device)
    for workload in SMALL:
        columns = columns_of(workload, vulkan_device, peers)
        assert list(map(str, columns.disagreements)) == []
        assert (f"einops-{backend}" in columns.offers) == isinstance(workload.task, Rearrange)


def test_a_goal_over_another_column_is_a_difference():
    goal = Goal("own methods", seconds=1e-3)
    assert str(goal) == "at most 1000 us over own methods"
    assert goal.is_met(2.9e-3, 2e-3)
    assert not goal.is_met(3.1e-3, 2e-3)
    assert {str(each) for workload in FULL if workload.name.endswith("by xp") for each in workload.goals} == {str(goal)}


@pytest.mark.parametrize("name", [each.name for each in FULL if isinstance(each.task, Resize | Gradient)])
def test_restride_agrees_with_its_reference(name, vulkan_device):
    (workload,) = (each for each in SMALL if each.name == name)
    source, task = workload.source(), workload.task
    made = own.offer(workload, source, vulkan_device)
    made.resident()
    match task:
        case Resize(sizes, mode, antialias):
            options = {"antialias": antialias, "exclude_outside": antialias, "like": task.like}
            word = "bilinear" if task.like == "pillow" else mode
            expected = rs.reference.resample(source, sizes, axes=task.axes(source.ndim), mode=word, **options)
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
    assert {module for module in used if module.startswith("bare_")} == modules


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


@pytest.mark.parametrize("like", ["pillow", "opencv"])
def test_what_is_like_a_library_has_its_very_bytes(like, vulkan_device, peers):
    judge({"pillow": "PIL", "opencv": "cv2"}[like])
    (workload,) = (each for each in SMALL if each.name.endswith(f", like {like}"))
    columns = columns_of(workload, vulkan_device, [peer for peer in peers if peer.name == like])
    assert np.array_equal(columns.offers[like].result(), columns.offers["restride"].result())
    plain = replace(workload, task=replace(workload.task, like=None))
    offer = own.offer(plain, workload.source(), vulkan_device)
    offer.resident()
    assert not np.array_equal(offer.result(), columns.offers[like].result()), "in f32 it differs"


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
        (Calls(Move((1, 0)), 7, in_batch=True, by_plan=False), "f32[3,5]", 7 * 2 * 4 * 15),
        (NewImages((4, 5)), "u8[100,100,3]", 3 * (8 * 10 + 4 * 5)),
        (NewPhotos(7, (4, 50)), "u8[100,60,3]", 7 * 3 * (8 * 60 + 4 * 4 * 50)),
    ],
)
def test_useful_bytes(task, src, nbytes):
    assert useful_bytes(task, rs.TensorDesc.parse(src)) == nbytes


def test_new_shapes_are_new():
    task = NewShapes()
    assert len({task.crop((1024, 768), call) for call in range(300)}) == 300
    assert all(min(task.crop((64, 48), call)) > 0 for call in range(1000))
    for images in (NewImages((224, 224)), NewPhotos(16, (224, 224))):
        sizes = {images.crop((1080, 1920, 3), call) for call in range(1000)}
        assert len(sizes) == 1000
        assert {channels for _, _, channels in sizes} == {3}
    assert len({NewPhotos(16, (224, 224), is_one_size=True).crop((1080, 1920, 3), call) for call in range(9)}) == 1


def test_what_moves_has_no_tolerance_and_what_sums_has_a_small_one():
    for workload in FULL:
        allowed = tolerance(workload)
        if isinstance(workload.task, Resize) and workload.task.mode != "nearest":
            assert allowed == 1 if not workload.desc.dtype.is_float else 0 < allowed < 1e-2, workload.name
        elif isinstance(workload.task, Boxes):
            assert 0 < allowed < 1e-2, workload.name
        elif not isinstance(workload.task, Normalize | Gradient):
            assert allowed == 0, workload.name


def test_a_difference_of_one_bit_is_found():
    workload = next(each for each in SMALL if each.name == "copy f32 16")
    right = np.zeros(16, np.float32)
    assert compare(workload, "x", right.copy(), right) is None
    assert compare(workload, "x", -right, right) is not None, "another sign of zero is another bit"
    assert compare(workload, "x", right.astype(np.float64), right) is not None


def test_raw_does_the_same_work_in_one_submission(vulkan_device):
    raw = Raw(vulkan_device)
    (workload,) = (each for each in FULL if each.name == "100 in a batch, NCHW->NHWC 1x3x8x8")
    source = workload.source()
    offer = raw.offer(workload, source)
    before = vulkan_device.counters()
    offer.resident()
    assert vulkan_device.counters() == before, "the runtime knows nothing of it"
    np.testing.assert_array_equal(offer.result(), source.transpose(0, 2, 3, 1))


def test_raw_is_recorded_again_where_what_it_uses_was_given_up(vulkan_device, monkeypatch):
    (workload,) = (each for each in FULL if each.name == "NCHW->NHWC f32 1x3x8x8")
    offer = Raw(vulkan_device).offer(workload, workload.source())
    session, recorded = vulkan_device.runtime._session, []
    record = session.recorder.record
    monkeypatch.setattr(session.recorder, "record", lambda *arguments: (recorded.append(1), record(*arguments)))
    counts = []
    for forgets in (False, True, False):
        if forgets:
            session.preparations.forget()
        offer.resident()
        counts.append(len(recorded))
    assert counts == [0, 1, 1]


def test_raw_hears_that_its_work_takes_too_long(vulkan_device, monkeypatch):
    (workload,) = (each for each in FULL if each.name == "NCHW->NHWC f32 1x3x8x8")
    offer = Raw(vulkan_device).offer(workload, workload.source())
    functions = vulkan_device.runtime._session.device.vk
    wait = functions.vkWaitForFences
    monkeypatch.setattr(functions, "vkWaitForFences", lambda *arguments: wait(*arguments) or TIMEOUT)
    with pytest.raises(DeviceTimeout, match="within 10 s"):
        offer.resident()


def test_raw_leaves_out_copies_and_what_is_large_or_new(vulkan_device):
    raw = Raw(vulkan_device)
    measured = {each.name for each in FULL if each.group == "small calls" and raw.offer(each, each.source())}
    assert measured == {each.name for each in FULL if each.group == "small calls" and "1x3x" in each.name}
    large = next(each for each in FULL if each.name == "NCHW->NHWC f32 8x64x56x56")
    assert raw.offer(large, large.source()) is None


def test_raw_needs_command_buffers():
    with open_device("kompute") as device, pytest.raises(Absent, match="only the runtime vulkan"):
        Raw(device)


def test_growth_has_every_power_of_two_and_every_rank():
    by_bytes = [each for each in growth() if each.group != BY_AXES]
    assert {result_bytes(each) for each in by_bytes} == {1 << exponent for exponent in range(10, 31)}
    for workload in by_bytes:
        assert workload.name == f"{workload.group}, {bytes_text(result_bytes(workload))}"
    by_axes = [each for each in growth() if each.group == BY_AXES]
    assert [each.desc.rank for each in by_axes] == list(range(1, 9))
    assert all(15e6 < result_bytes(each) < 17e6 for each in by_axes)
    assert {each.name for each in growth(is_small=True)} <= {each.name for each in growth()}
    assert [bytes_text(each) for each in (512, 1 << 10, 1 << 27, 1 << 30)] == ["512 B", "1 KiB", "128 MiB", "1 GiB"]
