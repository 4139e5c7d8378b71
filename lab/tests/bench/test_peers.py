"""Workloads of the benchmark: the list, and the agreement of restride and every installed peer on small ones."""

from pathlib import Path

import numpy as np
import pytest
from support.devices import open_device
from support.judges import judge, judge_of_images
from support.workloads import FULL, SMALL

import restride as rs
from restride.errors import DeviceTimeout
from restride.runtime.vulkan.generated import VK_TIMEOUT
from restride_bench.peers import PEERS, open_peers
from restride_bench.peers.vulkan import Raw
from restride_measure import own
from restride_measure.offer import Absent
from restride_measure.run import columns_of, timed_rounds
from restride_measure.workloads import Goal, catalogue, images, of_line, ttc57

SHADERS = Path(__file__).resolve().parents[2] / "shaders"
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
        columns = {"", *PEERS, workload.rival.name if workload.rival else ""}
        assert {goal.against for goal in workload.goals} <= columns, workload.name


def test_one_workload_fits_two_gibibytes():
    for workload in FULL:
        rival = 2 * workload.rival.desc.nbytes if workload.rival else 0
        assert 2 * workload.nbytes + rival < 1 << 30, workload.name


@pytest.mark.parametrize("name", NAMES)
def test_all_installed_peers_agree(name, vulkan_device, peers):
    (workload,) = (each for each in SMALL if each.name == name)
    columns = columns_of(workload, vulkan_device, peers)
    assert list(map(str, columns.disagreements)) == []
    made = timed_rounds(columns, ("resident", "kernel", "numpy"), repeat=1, warm_up=0)
    assert {"restride", "copy", workload.rival.name if workload.rival else "copy"} <= set(made["resident"])
    result = columns.offers["restride"].result()
    assert workload.how or result.shape == workload.result_sizes
    assert rs.TensorDesc(result.dtype, ()).dtype == workload.result_dtype


def test_numpy_has_the_same_bits_in_all_57_transpositions(device, peers):
    numpy = {"numpy": peers["numpy"]}
    for workload in ttc57(is_small=True):
        columns = columns_of(workload, device, numpy)
        assert list(map(str, columns.disagreements)) == []
        assert set(columns.offers) == {"restride", "copy", "numpy"}


@pytest.mark.parametrize("name", ["torch", "onnxruntime"])
def test_a_peer_that_is_a_judge_agrees(name, vulkan_device):
    """As `test_all_installed_peers_agree`, for peers that are judges: the test is skipped where one is missing."""
    judge(name)
    peers, absent = open_peers((name,), vulkan_device)
    assert not absent
    columns = [columns_of(workload, vulkan_device, peers) for workload in SMALL]
    assert [str(each) for column in columns for each in column.disagreements] == []
    assert sum(name in column.offers for column in columns) >= 5


def test_image_processors_have_the_bits_of_transformers(vulkan_device):
    judge_of_images("transformers.image_processing_backends")
    peers, absent = open_peers(("transformers",), vulkan_device)
    assert not absent
    assert peers["transformers"].offer(FULL[0], FULL[0].source()) is None
    for workload in images(is_small=True):
        columns = columns_of(workload, vulkan_device, peers)
        assert list(map(str, columns.disagreements)) == []
        numpy, resident = (columns.offers["restride"].numpy(), columns.offers["restride"].result())
        assert numpy.tobytes() == resident.tobytes() == columns.offers["transformers"].result().tobytes()
        assert numpy.shape == workload.result_sizes


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_einops_does_every_pattern(backend, vulkan_device):
    judge(backend)
    peers, _ = open_peers((f"einops-{backend}",), vulkan_device)
    for workload in SMALL:
        columns = columns_of(workload, vulkan_device, peers)
        assert list(map(str, columns.disagreements)) == []
        assert (f"einops-{backend}" in columns.offers) == (
            workload.case is not None and workload.case.op == "rearrange"
        )


def test_a_goal_over_another_column_is_a_difference():
    goal = Goal("own methods", seconds=1e-3)
    assert str(goal) == "at most 1000 us over own methods"
    assert goal.is_met(2.9e-3, 2e-3)
    assert not goal.is_met(3.1e-3, 2e-3)
    assert {str(each) for workload in FULL if workload.name.endswith("by xp") for each in workload.goals} == {str(goal)}


def test_every_kernel_written_by_hand_is_measured(vulkan_device):
    lines = (SHADERS / "variants.txt").read_text(encoding="utf-8").splitlines()
    modules = {line.split(":")[0] for line in lines if line.startswith("bare_")}
    used = set()
    with rs.Device.over(Spy(vulkan_device.runtime, used)) as device:
        by_hand = open_peers(("by-hand",), device)[0]["by-hand"]
        for workload in SMALL:
            offer = by_hand.offer(workload, workload.source())
            if offer is not None:
                offer.resident()
    assert {module for module in used if module.startswith("bare_")} == modules


class Spy:
    """A runtime that records the modules it is given; the device that it wraps stays open."""

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
def test_workloads_like_a_library_have_its_bytes(like, vulkan_device, peers):
    judge({"pillow": "PIL", "opencv": "cv2"}[like])
    (workload,) = (each for each in SMALL if each.name.endswith(f", like {like}"))
    columns = columns_of(workload, vulkan_device, {like: peers[like]})
    assert np.array_equal(columns.offers[like].result(), columns.offers["restride"].result())
    plain = of_line(workload.name, "", str(workload.case).replace(f" like={like}", "").replace("bilinear", "linear"))
    offer = own.offer(plain, workload.source(), vulkan_device)
    offer.resident()
    assert not np.array_equal(offer.result(), columns.offers[like].result()), "in f32 it differs"


def test_raw_does_the_same_work_in_one_submission(vulkan_device):
    raw = Raw(vulkan_device)
    (workload,) = (each for each in FULL if each.name == "100 in a batch, NCHW->NHWC 1x3x8x8")
    source = workload.source()
    offer = raw.offer(workload, source)
    before = vulkan_device.counters()
    offer.resident()
    assert vulkan_device.counters() == before, "the runtime knows nothing of it"
    np.testing.assert_array_equal(offer.result(), source.transpose(0, 2, 3, 1))


def test_raw_is_recorded_again_after_the_runtime_frees_its_objects(vulkan_device, monkeypatch):
    (workload,) = (each for each in FULL if each.name == "NCHW->NHWC f32 1x3x8x8")
    offer = Raw(vulkan_device).offer(workload, workload.source())
    session, recorded = vulkan_device.runtime._session, []
    record = session.recorder.record
    monkeypatch.setattr(session.recorder, "record", lambda *arguments: (recorded.append(1), record(*arguments)))
    counts = []
    for forgets in (False, True, False):
        if forgets:
            session.recorder.preparations.forget()
        offer.resident()
        counts.append(len(recorded))
    assert counts == [0, 1, 1]


def test_raw_raises_an_error_if_its_work_takes_too_long(vulkan_device, monkeypatch):
    (workload,) = (each for each in FULL if each.name == "NCHW->NHWC f32 1x3x8x8")
    offer = Raw(vulkan_device).offer(workload, workload.source())
    functions = vulkan_device.runtime._session.device.vk
    wait = functions.vkWaitForFences
    monkeypatch.setattr(functions, "vkWaitForFences", lambda *arguments: wait(*arguments) or VK_TIMEOUT)
    with pytest.raises(DeviceTimeout, match="within 10 s"):
        offer.resident()


def test_raw_leaves_out_copies_and_large_or_new_workloads(vulkan_device):
    raw = Raw(vulkan_device)
    measured = {each.name for each in FULL if each.group == "small calls" and raw.offer(each, each.source())}
    assert measured == {each.name for each in FULL if each.group == "small calls" and "1x3x" in each.name}
    large = next(each for each in FULL if each.name == "NCHW->NHWC f32 8x64x56x56")
    assert raw.offer(large, large.source()) is None


def test_raw_needs_command_buffers():
    with open_device("kompute") as device, pytest.raises(Absent, match="only the runtime vulkan"):
        Raw(device)
