"""What a dispatch needs is prepared once and kept within bounds: pipelines, sets, parameters."""

import numpy as np
import pytest
from support import vulkan_kernels
from support.vulkan_kernels import MIB, SEPARATE, affine, bump, download, slow, table, upload

from restride.runtime.vulkan import dispatch
from restride.runtime.vulkan.program import Pipelines

modules, runtime, in_place = vulkan_kernels.FIXTURES


def test_parameters_are_kept_within_bounds(in_place):
    memory = in_place.allocate(256)
    for value in range(5000):
        in_place.submit([table(64, [value, 2, 3, 4])], [memory])
    assert np.array_equal(download(in_place, memory, 64), np.resize(np.array([4999, 2, 3, 4], np.uint32), 64))
    contents = np.arange(MIB, dtype=np.uint32)
    for first in range(3):
        in_place.submit([table(64, contents + np.uint32(first))], [memory])
        assert np.array_equal(download(in_place, memory, 64)[:4], np.arange(first, first + 4))
    in_place.wait()
    counters = in_place.counters()
    assert counters.bytes_in_use == 256, "nothing pending uses parameters"
    assert SEPARATE or counters.allocations <= 8


def test_pipelines_and_sets_are_bounded(in_place, monkeypatch):
    session = in_place._session
    pipelines, preparations = session.recorder.pipelines, session.recorder.preparations
    monkeypatch.setattr(pipelines, "_most", 4)
    monkeypatch.setattr(dispatch, "MAX_PREPARED", 8)
    assert isinstance(pipelines, Pipelines)
    source = np.arange(64, dtype=np.uint32)
    a = upload(in_place, source)
    for _ in range(3):
        for mul in range(10):
            b = in_place.allocate(256 * (mul + 1))
            for kernels in ((affine(64, mul),), [affine(64, mul)]):
                in_place.submit(kernels, [a, b])
                assert np.array_equal(download(in_place, b, 64), source * np.uint32(mul))
    assert len(pipelines) <= 5
    assert in_place.counters().pipelines == 30
    assert len(preparations.by_key) <= 8
    assert len(preparations.sets._pools) == 1


def test_what_was_prepared_is_bounded_by_its_dispatches(in_place, monkeypatch):
    monkeypatch.setattr(dispatch, "MAX_PREPARED", 12)
    source = np.arange(64, dtype=np.uint32)
    a, b = upload(in_place, source), in_place.allocate(256)
    submissions = [tuple(affine(64, mul) for mul in range(first, first + 3)) for first in range(5)]
    submissions.append(tuple(affine(64, mul) for mul in range(20)))
    for kernels in submissions * 2:
        in_place.submit(kernels, [a, b])
        assert np.array_equal(download(in_place, b, 64), source * np.uint32(kernels[-1].constants[0]))
    prepared = in_place._session.recorder.preparations.by_key.values()
    assert [len(each.dispatches) for each in prepared] == [3, 3], "a fifth submission makes all others be forgotten"


def test_pipelines_of_pending_work_stay_and_leave_after_it(in_place):
    pipelines = in_place._session.recorder.pipelines
    pipelines._most = 4
    source = np.arange(64, dtype=np.uint32)
    a, busy = upload(in_place, source), in_place.allocate(4 * 8192)
    made = [in_place.allocate(256) for _ in range(12)]
    with in_place.batch():
        in_place.submit([slow(8192)], [busy])
        for mul, b in enumerate(made):
            in_place.submit([affine(64, mul)], [a, b])
        assert len(pipelines) == 13
    for mul, b in enumerate(made):
        assert np.array_equal(download(in_place, b, 64), source * np.uint32(mul))
    in_place.submit([affine(64, 99)], [a, made[0]])
    assert len(pipelines) == 4


def test_what_was_submitted_before_is_not_checked_again(in_place, monkeypatch):
    recorder, checked = in_place._session.recorder, []
    check = recorder._check
    monkeypatch.setattr(recorder, "_check", lambda *arguments: (checked.append(arguments), check(*arguments)))
    a, b, c = (upload(in_place, np.arange(64, dtype=np.uint32)) for _ in range(3))
    kernels, listed = (affine(64, 3), bump(64, 0)), [affine(64, 3)]
    for target in (b, b, c, b):
        in_place.submit(kernels, [a, target])
    assert len(checked) == 4, "twice two kernels: other memories are another submission"
    for mul in (5, 7):
        listed[0] = affine(64, mul)
        in_place.submit(listed, [a, b])
        assert np.array_equal(download(in_place, b, 64), np.arange(64) * mul), "a list may change"
    for mul in range(1000):
        in_place.submit((affine(64, mul % 8),), [a, b])
    assert np.array_equal(download(in_place, b, 64), np.arange(64) * 7), "a number that is used again"


def pipelines_go(runtime, memory):
    runtime._session.recorder.pipelines._most = 1
    runtime.submit([bump(64, 0)], [memory])
    runtime.wait()


def too_many_are_prepared(runtime, memory):
    for _ in range(dispatch.MAX_PREPARED // 128):
        runtime.submit((bump(64),) * 128, [memory])


def too_many_parameters_are_prepared(runtime, memory):
    for value in range(9):  # of an eighth of the limit each
        runtime.submit((table(64, np.full(dispatch.MAX_PREPARED * 1024 // 8 // 4, value, np.uint32)),), [memory])


@pytest.mark.parametrize("go", [pipelines_go, too_many_are_prepared, too_many_parameters_are_prepared])
def test_what_was_prepared_is_forgotten_with_what_it_needs(in_place, go):
    a, b, other = (upload(in_place, np.arange(64, dtype=np.uint32)) for _ in range(3))
    kernels, filled = (affine(64, 3),), (table(64, [5, 6, 7, 8]),)
    device = in_place._session.device
    for _ in range(3):
        before = device.freed
        in_place.submit(filled, [a])
        in_place.submit(kernels, [a, b])
        assert np.array_equal(download(in_place, b, 64), 3 * np.resize(np.array([5, 6, 7, 8]), 64))
        go(in_place, other)
        assert device.freed > before


def test_what_was_prepared_is_forgotten_with_its_buffers(in_place):
    kernels = (affine(64, 3),)
    for value in range(3):
        a, b = (upload(in_place, np.full(MIB, value, np.uint32)) for _ in range(2))
        in_place.submit(kernels, [a, b])
        assert np.array_equal(download(in_place, b, 64), np.full(64, 3 * value))
        a.free()
        b.free()
        in_place.wait()
        before = in_place._session.device.freed
        in_place._session.blocks.drain()
        in_place._session.blocks.collect(in_place._session.queue.completed)
        in_place._session.blocks.trim()
        assert in_place._session.device.freed > before


def test_parameters_count_while_they_are_used(runtime):
    memory = runtime.allocate(4 * 8192)
    runtime.submit([table(64, np.arange(4, dtype=np.uint32))], [memory])
    runtime.wait()  # Mesa 25's lavapipe makes a new pipeline only once nothing is pending
    counted = [runtime.counters().bytes_in_use]
    completed = runtime._session.queue.completed
    runtime.submit([slow(8192)] * 2, [memory])
    for words in (4, 1 << 10, 1 << 20):
        runtime.submit([table(64, np.arange(words, dtype=np.uint32))], [memory])
        counted.append(runtime.counters().bytes_in_use)
    assert runtime._session.queue.completed < completed + 2, "still pending"
    assert counted[0] == 4 * 8192
    assert np.all(np.diff(counted) >= [16, 1 << 12, 1 << 22])
    assert counted[3] < (1 << 22) + (1 << 17)
    runtime.wait()
    assert runtime.counters().bytes_in_use == counted[0]
