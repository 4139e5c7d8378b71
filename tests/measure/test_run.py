"""Rounds: all columns in each, what does not count, and warnings of what disturbs."""

import os
import time

import numpy as np
import pytest
from support.workloads import FULL, SMALL

from restride_measure import run as bench_run
from restride_measure.offer import Offer
from restride_measure.run import WARM_UP, Columns, compare, timed_rounds, tolerance, warnings
from restride_measure.workloads import Boxes, Gradient, Normalize, Resize


def test_every_round_runs_all_columns_and_warm_up_does_not_count():
    order = []

    def offer(name):
        return Offer(resident=lambda: order.append(name), kernel=lambda: 7.0 if name == "a" else 8.0)

    columns = Columns({"a": offer("a"), "b": offer("b"), "c": Offer(numpy=lambda: np.zeros(1))})
    found = timed_rounds(columns, ("resident", "kernel", "numpy"), repeat=8)
    rounds = [order[start : start + 2] for start in range(0, len(order), 2)]
    assert len(rounds) == WARM_UP + 8
    assert all(sorted(names) == ["a", "b"] for names in rounds)
    assert 2 <= [names[0] for names in rounds[WARM_UP:]].count("a") <= 6, "neither is always first"
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
    assert awake == [bench_run.WAKING] + [bench_run.AWAKE] * 19


def test_processor_time_counts_work_and_not_sleep():
    def work():
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass

    bench_run.wait_until_idle()  # other libraries' threads
    columns = Columns({"work": Offer(resident=work), "sleep": Offer(resident=lambda: time.sleep(0.02))})
    found = timed_rounds(columns, ("processor", "resident"), repeat=3, warm_up=0)
    assert min(found["processor"]["work"]) >= 0.02
    assert max(found["processor"]["sleep"]) < 0.01
    assert min(found["resident"]["sleep"]) >= 0.02


@pytest.mark.parametrize(("used", "sleeps"), [([0.0], 1), ([0.02, 0.02, 0.0005], 3), ([0.02] * 60, 50)])
def test_after_a_library_whose_threads_spin_the_next_column_waits_until_they_sleep(monkeypatch, used, sleeps):
    """Processor seconds of each 10 ms: 50 of these are the longest pause."""
    slept, left = [], iter(used)

    def sleep(seconds):
        slept.append(seconds)
        clock["process"] += next(left)

    clock = {"process": 0.0}
    monkeypatch.setattr(bench_run.time, "sleep", sleep)
    monkeypatch.setattr(bench_run.time, "process_time", lambda: clock["process"])
    monkeypatch.setattr(
        bench_run.time, "perf_counter", lambda: sum(slept) * (1 + 1e-9)
    )  # 50 * 0.01 may be just below 0.5
    spins = Offer(resident=lambda: None)
    timed_rounds(Columns({"spins": spins}, {"spins"}), ("resident",), repeat=1, warm_up=0)
    assert len(slept) == sleeps


@pytest.mark.parametrize(("average", "warns"), [(0.9, False), (1.1, True)])
def test_a_busy_machine_is_named(monkeypatch, average, warns):
    monkeypatch.setattr(os, "getloadavg", lambda: (average, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert bool(warnings({})) == warns


def test_layers_are_named(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    (line,) = warnings({"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"})
    assert line.startswith("VK_INSTANCE_LAYERS is set: ")


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
