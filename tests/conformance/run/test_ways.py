"""The ways to run a case: each restores what it must, and finds a device that is wrong in that way only."""

from __future__ import annotations

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride_conformance.case import Case
from restride_conformance.check import run_case
from restride_conformance.fill import poison
from restride_conformance.record import Verdict
from restride_conformance.run.ways import start, start_in_batch
from restride_conformance.setting import GUARD_BYTES, buffer_bytes, prepare

TRANSPOSE = "reorder u8[5,13]{1,0} -> u8[5,13]{0,1}"
IN_PLACE = "reorder f32[9,8]{1,0} -> f32[9,8]{1,0} sum_scale=2"
SAME = "reorder u8[9]{strides=(2)} -> u8[9]{strides=(2),offset=1} out=same seed=1"
TWO_STEPS = "resample u8[2,40,50] -> u8[2,9,7] mode=linear antialias=yes"
ALLOCATED = "reorder u8[5,6]{0,1} -> u8[5,6]{strides=(-7,1),offset=31} out=new seed=1"


class Wrong:
    """A runtime that wraps another, and changes one byte of what the k-th read gives, counted from 1."""

    def __init__(self, runtime, *reads):
        self._runtime = runtime
        self._reads = reads
        self._count = 0

    def read(self, memory, offset, out):
        self._runtime.read(memory, offset, out)
        self._count += 1
        if self._count in self._reads:
            out[GUARD_BYTES] ^= 1

    def __getattr__(self, name):
        return getattr(self._runtime, name)


@pytest.fixture
def device():
    with open_device("vulkan") as opened:
        yield opened


def outcome(device, line, *reads, **ways):
    """The outcome on a device whose reads of these numbers are wrong."""
    return run_case(Case.parse(line), rs.Device.over(Wrong(device.runtime, *reads)), **ways)


@pytest.mark.parametrize("line", [TRANSPOSE, IN_PLACE, SAME, TWO_STEPS, ALLOCATED])
def test_a_device_that_is_right_gives_the_same_bits_in_every_way(device, line):
    before = device.counters()
    found = outcome(device, line, replay=5, in_batch=True)
    after = device.counters()
    assert (found.verdict, found.message) == (Verdict.PASSED, "")
    once = start(Case.parse(line), prepare(Case.parse(line)), device)
    assert device.counters().pipelines == after.pipelines
    kernels = device.counters().dispatches - after.dispatches
    others = 3
    assert once.fault == ""
    assert after.dispatches - before.dispatches == (5 + 2) * kernels + others


@pytest.mark.parametrize("read", [1, 5, 9])
def test_one_replay_with_another_result_is_flaky(device, read):
    """Each run reads the destination, then the source."""
    found = outcome(device, TRANSPOSE, read, replay=5)
    assert found.verdict is Verdict.FLAKY
    first, second, *_ = found.message.splitlines()
    assert first.startswith(
        f"right in 4 of 5 replays; 2 distinct results; first differing bytes: byte {GUARD_BYTES} is 0x"
    )
    assert first.endswith(f"(1 of {buffer_bytes(65)} differ)")
    assert second == "1 of 65 elements are wrong"


def test_a_source_that_changes_in_one_replay_is_flaky(device):
    found = outcome(device, TRANSPOSE, 4, replay=3)
    assert found.verdict is Verdict.FLAKY
    assert found.message.startswith("right in 2 of 3 replays; 1 distinct result\n1 of ")


def test_replays_that_are_wrong_in_one_way_fail(device):
    found = outcome(device, TRANSPOSE, 1, 3, 5, replay=3)
    assert (found.verdict, found.message.splitlines()[0]) == (Verdict.FAILED, "1 of 65 elements are wrong")


@pytest.mark.parametrize("line", [TRANSPOSE, IN_PLACE, SAME, TWO_STEPS, ALLOCATED])
def test_commands_that_are_dropped_in_a_replay_are_found(device, line, monkeypatch):
    """The destination is as before the run, and what lies between two kernels holds no result of an earlier run."""
    monkeypatch.setattr(device.runtime, "replay", lambda _: None)
    found = outcome(device, line, replay=3)
    assert found.verdict is Verdict.FLAKY
    assert found.message.startswith("right in 1 of 3 replays; 2 distinct results; ")
    setting = prepare(Case.parse(line))
    running = start(Case.parse(line), setting, device, keeps=True)
    running.replay()
    source, destination = running.read()
    assert np.array_equal(source, setting.source)
    assert np.array_equal(destination, setting.destination)
    written = device.runtime.written(running.recording)
    between = [memory for memory in written if memory.block is not running.result.memory.block]
    assert len(between) == (1 if line == TWO_STEPS else 0)
    for memory in between:
        data = bytearray(memory.nbytes)
        device.runtime.read(memory, 0, memoryview(data))
        assert data == poison(memory.nbytes).tobytes()
    running.close()


def test_replays_need_command_buffers_that_are_kept(device):
    running = start(Case.parse(TRANSPOSE), prepare(Case.parse(TRANSPOSE)), device)
    with pytest.raises(ValueError, match="not kept"):
        running.replay()
    running.close()


@pytest.mark.parametrize("read", [3, 4, 5, 6])
def test_a_case_that_is_wrong_in_a_batch_only_fails(device, read):
    """Reads 1 and 2 are of the case alone, 3 and 4 of the first in the batch, 5 and 6 of the second."""
    found = outcome(device, TRANSPOSE, read, in_batch=True)
    assert found.verdict is Verdict.FAILED
    assert found.message.splitlines()[0] == "right alone, wrong in a batch"


def test_another_right_result_in_a_batch_fails(device):
    found = outcome(device, "resample f32[9,30] -> f32[9,11] mode=linear", 3, in_batch=True)
    assert found.verdict is Verdict.FAILED
    first, second = found.message.splitlines()
    assert first == "right alone, another result in a batch"
    assert second.startswith(f"first differing bytes: byte {GUARD_BYTES} is 0x")


def test_a_case_that_is_wrong_alone_runs_in_no_batch(device):
    submissions = []
    wrapped = Wrong(device.runtime, 1)
    wrapped.batch = lambda: submissions.append("batch")
    found = run_case(Case.parse(TRANSPOSE), rs.Device.over(wrapped), in_batch=True)
    assert (found.verdict, found.message.splitlines()[0], submissions) == (
        *(Verdict.FAILED, "1 of 65 elements are wrong", []),
    )


@pytest.mark.parametrize("line", [TRANSPOSE, IN_PLACE, TWO_STEPS, ALLOCATED])
def test_a_batch_is_one_submission(device, line):
    if device.runtime._staging is not None:
        pytest.skip("transfers are submissions too")
    case = Case.parse(line)
    setting = prepare(case)
    start(case, setting, device)
    device.wait()
    before = device.counters().submissions
    running = start_in_batch(case, setting, device)
    assert device.counters().submissions - before == 1
    assert len({id(each.result.memory.block) for each in running}) == 2
