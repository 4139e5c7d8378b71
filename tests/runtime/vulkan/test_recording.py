"""Recordings: the same command buffers again, on what the buffers hold by then."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from support.devices import open_device

import restride as rs


@pytest.fixture
def device():
    with open_device("vulkan") as opened:
        yield opened


@pytest.fixture
def submitted(device, monkeypatch):
    """The command buffers that are submitted, in order, and the names of calls that record."""
    queue = device.runtime._session.queue
    hand_over, handles = queue._hand_over, []

    def spy(handle, count, submit, fence):
        handles.append(submit.pCommandBuffers[0])
        return hand_over(handle, count, submit, fence)

    monkeypatch.setattr(queue, "_hand_over", spy)
    return handles


def test_a_replay_submits_the_same_command_buffers_and_makes_nothing(device, submitted):
    x = rs.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), device=device)
    out = rs.empty("f32[4,3]", device)
    with device.runtime.recording() as recording:
        rs.reorder(x.permute(1, 0), out=out)
        device.runtime.copy(out.memory, x.memory, 16)
    first, before = list(submitted), device.counters()
    for number in range(1, 6):
        values = np.full((3, 4), number, np.float32)
        device.runtime.write(x.memory, 0, values.reshape(-1).view(np.uint8).data)
        device.runtime.write(out.memory, 0, memoryview(bytes(48)))
        device.runtime.replay(recording)
        assert np.array_equal(out.numpy(), values.T)
    recording.close()
    after = device.counters()
    assert len(set(first)) == 2
    if device.runtime._staging is None:  # whose copies are submissions with barriers of their own
        assert submitted == first * 6
        assert after.submissions - before.submissions == 10
        assert after.barriers == before.barriers
    assert after.dispatches - before.dispatches == 5
    assert after.pipelines == before.pipelines


def test_a_replay_is_ordered_with_what_comes_before_and_after(device):
    x, zeros = (rs.asarray(array, device=device) for array in (np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)))
    out, other = (rs.empty("u8[64]", device) for _ in range(2))
    copies = [rs.empty("u8[64]", device) for _ in range(3)]
    with device.runtime.recording() as recording:
        rs.reorder(x[::-1], out=out)
    for copy in copies:
        device.runtime.copy(zeros.memory, out.memory, 64)
        for _ in range(2):  # the second waits for the first, so no use of ``out`` is known since the last barrier
            device.runtime.copy(zeros.memory, other.memory, 64)
        barriers = device.counters().barriers
        device.runtime.replay(recording)
        device.runtime.copy(out.memory, copy.memory, 64)
        assert device.counters().barriers == barriers + 1
    assert all(np.array_equal(copy.numpy(), x.numpy()[::-1]) for copy in copies)
    recording.close()


def test_buffers_between_two_steps_are_kept_until_it_is_closed(device):
    image = np.arange(3 * 40 * 50, dtype=np.uint8).reshape(3, 40, 50)
    x, out = rs.asarray(image, device=device), rs.empty("u8[3,9,7]", device)
    with device.runtime.recording() as recording:
        rs.resample(x, (9, 7), mode="linear", antialias=True, axes=(1, 2), out=out)
    right, in_use = out.numpy(), device.counters().bytes_in_use
    others = [rs.asarray(np.full(1 << 14, 255, np.uint8), device=device) for _ in range(8)]
    device.trim()
    written = device.runtime.written(recording)
    assert len(written) > 1
    assert sum(memory.block is out.memory.block for memory in written) == 1
    assert x.memory.block not in [memory.block for memory in written]
    for memory in written:
        device.runtime.write(memory, 0, memoryview(b"\xa5" * memory.nbytes))
    del memory, written
    device.runtime.replay(recording)
    assert np.array_equal(out.numpy(), right)
    del others
    assert recording.dispatches > 1
    recording.close()
    recording.close()
    assert device.counters().bytes_in_use < in_use


def test_slots_are_free_again_once_it_is_closed(device):
    queue = device.runtime._session.queue
    x, out = rs.asarray(np.arange(64, dtype=np.uint8), device=device), rs.empty("u8[64]", device)
    for _ in range(3):
        with device.runtime.recording() as recording:
            rs.reorder(x[::-1], out=out)
        device.wait()
        slot = recording.parts[0][0]
        assert slot not in queue._free
        recording.close()
        assert queue._free.count(slot) == 1
    slots = len(queue._slots)
    rs.reorder(x[::-1], out=out)
    device.wait()
    assert len(queue._slots) == slots
    with device.runtime.recording() as recording:
        rs.reorder(x[::-1], out=out)
    recording.close()  # while the device may still work
    device.wait()
    assert len(queue._free) == len(queue._slots) == slots


def test_its_pipelines_outlive_a_trim_until_all_work_with_them_is_done(device, monkeypatch):
    pipelines, destroyed = device.runtime._session.recorder.pipelines, []
    x, out = (
        rs.asarray(np.arange(1 << 22, dtype=np.uint8).reshape(2048, 2048), device=device),
        rs.empty("u8[64]", device),
    )
    with device.runtime.recording() as recording:
        first = rs.reorder(x.permute(1, 0))
    kept = set(recording._pipelines)
    destroy = pipelines._destroy
    monkeypatch.setattr(pipelines, "_destroy", lambda key: (destroyed.append(pipelines._pipelines[key]), destroy(key)))
    rs.reorder(x.permute(1, 0))  # by a pipeline that the recording keeps
    device.wait()
    device.trim()
    monkeypatch.setattr(pipelines, "_most", 1)
    rs.reorder(out[::-1])  # a new pipeline takes the place of another
    assert kept.isdisjoint(destroyed)
    device.runtime.replay(recording)
    results = [rs.reorder(x.permute(1, 0)) for _ in range(6)]
    recording.close()
    queue = device.runtime._session.queue
    pipelines.trim(queue.submitted - 1)  # as if the last of them still ran
    assert kept.isdisjoint(destroyed)
    assert all(np.array_equal(result.numpy(), x.numpy().T) for result in (first, *results))
    device.trim()
    assert kept <= set(destroyed)


def test_an_interrupt_loses_no_slot_and_no_ticket(device, monkeypatch):
    queue = device.runtime._session.queue
    x = rs.asarray(np.arange(64, dtype=np.uint8), device=device)

    def interrupted(method):
        def call(*arguments):
            method(*arguments)
            raise KeyboardInterrupt

        return call

    def start():
        with device.runtime.recording() as recording:
            rs.reorder(x[::-1])
        return recording

    start().close()
    device.wait()
    slots = len(queue._slots)
    for name in ("record", "submit_kept"):
        with monkeypatch.context() as patch:
            patch.setattr(queue, name, interrupted(getattr(queue, name)))
            with pytest.raises(KeyboardInterrupt):
                start()
        device.wait()
        assert (len(queue._slots), len(queue._free)) == (slots, slots)
    recording = start()
    with monkeypatch.context() as patch:
        patch.setattr(queue, "submit_kept", interrupted(queue.submit_kept))
        with pytest.raises(KeyboardInterrupt):
            device.runtime.replay(recording)
    assert recording.ticket == queue.submitted
    device.runtime.replay(recording)
    recording.close()


def test_a_replay_that_the_driver_refuses_can_be_tried_again(device, monkeypatch):
    """The slot's ticket is that of a submission again: the next replay does not wait for what never comes."""
    queue = device.runtime._session.queue
    x, out = rs.asarray(np.arange(64, dtype=np.uint8), device=device), rs.empty("u8[64]", device)
    with device.runtime.recording() as recording:
        rs.reorder(x[::-1], out=out)
    device.wait()
    with monkeypatch.context() as patch:
        patch.setattr(queue, "_hand_over", lambda *_: -1)
        with pytest.raises(rs.OutOfDeviceMemory):
            device.runtime.replay(recording)
    assert recording.ticket == queue.submitted
    device.runtime.replay(recording)
    assert np.array_equal(out.numpy(), np.arange(64)[::-1])
    recording.close()


def test_a_copy_of_another_thread_may_come_as_the_recording_ends(device, monkeypatch):
    x, out = rs.asarray(np.arange(64, dtype=np.uint8), device=device), rs.empty("u8[64]", device)
    session = device.runtime._session
    with device.runtime.recording() as recording:
        make_room = session.make_room

        def end_meanwhile():
            monkeypatch.setattr(device.runtime, "_recording", None)
            make_room()

        monkeypatch.setattr(session, "make_room", end_meanwhile)
        device.runtime.copy(x.memory, out.memory, 64)
    assert recording.parts == []
    assert np.array_equal(out.numpy(), np.arange(64))
    recording.close()


def test_a_fence_is_reset_only_when_nobody_uses_it(device, monkeypatch):
    """Another thread may replay the same recording, or wait for it, between the wait and the submission of a replay."""
    session = device.runtime._session
    x, out = rs.asarray(np.arange(64, dtype=np.uint8), device=device), rs.empty("u8[64]", device)
    with device.runtime.recording() as recording:
        rs.reorder(x[::-1], out=out)
    slot, found = recording.parts[0][0], []
    submit_kept, make_room = session.queue.submit_kept, session.make_room
    monkeypatch.setattr(
        session.queue,
        "submit_kept",
        lambda slot, uses: (found.append((slot.retired, slot.waiters)), submit_kept(slot, uses)),
    )

    def replay_meanwhile():
        monkeypatch.setattr(session, "make_room", make_room)
        device.runtime.replay(recording)
        slot.waiters += 1  # as a thread that has yet to see that the submission is finished
        end = threading.Timer(0.05, lambda: setattr(slot, "waiters", slot.waiters - 1))
        end.start()

    monkeypatch.setattr(session, "make_room", replay_meanwhile)
    device.runtime.replay(recording)
    assert found == [(True, 0), (True, 0)]
    assert np.array_equal(out.numpy(), np.arange(64)[::-1])
    recording.close()


def test_an_error_inside_ends_the_recording(device):
    x, kept = rs.asarray(np.arange(64, dtype=np.uint8), device=device), []

    def fail():
        with device.runtime.recording() as recording:
            kept.append(recording)
            rs.reorder(x[::-1])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert kept[0].parts == []
    recording, another = device.runtime.recording(), device.runtime.recording()
    with recording, pytest.raises(rs.UnsupportedError, match="one recording at a time"), another:
        pass


def test_a_recording_outlives_its_device(device):
    x, out = rs.asarray(np.arange(64, dtype=np.uint8), device=device), rs.empty("u8[64]", device)
    with device.runtime.recording() as recording:
        rs.reorder(x[::-1], out=out)
    device.close()
    recording.close()
    with pytest.raises(rs.DeviceLost):
        device.runtime.replay(recording)
