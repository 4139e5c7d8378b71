"""Rounds: all columns in each, what does not count, and the tolerance of results."""

import numpy as np
from support.workloads import FULL, SMALL

from restride.errors import OutOfDeviceMemory
from restride_measure import run as measuring
from restride_measure.offer import Offer
from restride_measure.run import WARM_UP, Columns, compare, timed_rounds, tolerance


def test_every_measure_has_the_columns_that_offer_it():
    def offer(name, seconds):
        return Offer(resident=lambda: called.append(name), kernel=lambda: seconds)

    called = []
    columns = Columns({"a": offer("a", 7.0), "b": offer("b", 8.0), "c": Offer(numpy=lambda: np.zeros(1))})
    found = timed_rounds(columns, ("resident", "kernel", "numpy"), repeat=8)
    assert [called.count(name) for name in "ab"] == [WARM_UP + 8] * 2
    assert found["kernel"] == {"a": (7.0,) * 8, "b": (8.0,) * 8}
    assert {name: len(times) for name, times in found["resident"].items()} == {"a": 8, "b": 8}
    assert list(found["numpy"]) == ["c"]


def test_where_the_device_changes_programs_one_call_does_not_count():
    called = []
    ours = [Offer(resident=lambda name=name: called.append(name)) for name in "ab"]
    theirs = Offer(resident=lambda: called.append("cuda"), is_elsewhere=True)
    awake = []
    columns = Columns({"a": ours[0], "b": ours[1], "cuda": theirs}, keep_awake=awake.append)
    found = timed_rounds(columns, ("resident",), repeat=20, warm_up=0)
    assert {len(times) for times in found["resident"].values()} == {20}
    switches = [
        number for number in range(1, len(called)) if (called[number] == "cuda") != (called[number - 1] == "cuda")
    ]
    assert len(switches) >= 20
    for number in switches:  # each is followed by the call that counts
        assert called[number] == called[number + 1]
    assert len(called) == 60 + len(switches) + (called[0] == "cuda")
    assert awake == list(range(20))


def test_after_a_library_whose_threads_spin_the_next_column_waits(monkeypatch):
    order = []
    monkeypatch.setattr(measuring, "wait_until_idle", lambda: order.append("wait"))
    offers = {name: Offer(resident=lambda name=name: order.append(name)) for name in ("spins", "other")}
    timed_rounds(Columns(offers, {"spins"}), ("resident",), repeat=4, warm_up=0)
    assert order.count("wait") == 4
    assert {order[place + 1] for place, name in enumerate(order) if name == "spins"} == {"wait"}


def test_what_moves_has_no_tolerance_and_what_sums_has_a_small_one():
    for workload in FULL:
        allowed, case = tolerance(workload), workload.case
        if case is None or case.operation.is_exact(case):
            assert allowed == 0, workload.name
        elif case.op == "resample" and not case.src.dtype.is_float:
            assert allowed == 1, workload.name
        elif case.op in ("resample", "crop_resize"):
            assert 0 < allowed < 1e-2, workload.name
        elif case.op == "reorder" and case["dst_zero_point"] is None:
            assert allowed == 0, workload.name


def test_a_difference_of_one_bit_is_found():
    workload = next(each for each in SMALL if each.name == "copy f32 16")
    right = np.zeros(16, np.float32)
    assert compare(workload, "x", right.copy(), right) is None
    assert compare(workload, "x", -right, right) is not None, "another sign of zero is another bit"
    assert compare(workload, "x", right.astype(np.float64), right) is not None


def test_a_workload_that_does_not_fit_leaves_its_memory_to_the_next(vulkan_device, monkeypatch):
    def fill(*_):
        raise OutOfDeviceMemory("full")

    monkeypatch.setattr(measuring, "timed_rounds", fill)
    vulkan_device.wait()
    before = vulkan_device.counters().bytes_in_use
    results = measuring.run(SMALL[:2], vulkan_device, {}, ("resident",), repeat=1)
    assert [(result.skipped, vulkan_device.counters().bytes_in_use) for result in results] == [("full", before)] * 2
