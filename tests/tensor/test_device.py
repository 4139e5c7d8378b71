"""Batches: operations recorded one after the other and handed to the device together give what they give alone."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from support.tensors import assert_equal

import restride as rs
from restride.runtime.vulkan import queue as vk_queue


def chain(device: rs.Device, count: int) -> tuple[list[rs.Tensor], np.ndarray[Any, Any]]:
    """``count`` transposes, each of the one before, and what the last one holds."""
    array = np.random.default_rng(0).random((5, 7), np.float32)
    tensors = [rs.asarray(array, device=device)]
    for _ in range(count):
        tensors.append(rs.reorder(tensors[-1], "AB->BA"))
    return tensors, array if count % 2 == 0 else array.T


def test_a_batch_is_one_submission_with_a_barrier_before_each_that_depends(vulkan_device: rs.Device) -> None:
    chain(vulkan_device, 1)
    before = vulkan_device.counters()
    with vulkan_device.batch():
        tensors, expected = chain(vulkan_device, 12)
        inside = vulkan_device.counters()
    after = vulkan_device.counters()
    assert (inside.submissions, after.submissions) == (before.submissions, before.submissions + 1)
    assert after.dispatches == before.dispatches + 12
    assert after.barriers - before.barriers in (11, 12)
    np.testing.assert_array_equal(tensors[-1].numpy(), expected)


def test_what_does_not_depend_has_no_barrier_between(vulkan_device: rs.Device) -> None:
    sources = [rs.asarray(np.full((4, 6), number, np.float32), device=vulkan_device) for number in range(9)]
    outs = [rs.empty("f32[6,4]", vulkan_device) for _ in sources]
    vulkan_device.wait()
    before = vulkan_device.counters().barriers
    with vulkan_device.batch():
        for x, out in zip(sources, outs, strict=True):
            rs.reorder(x, "AB->BA", out=out)
    assert vulkan_device.counters().barriers - before <= 1
    for number, out in enumerate(outs):
        np.testing.assert_array_equal(out.numpy(), np.full((6, 4), number, np.float32))


def test_batches_on_any_runtime_give_the_same(device: rs.Device) -> None:
    with device.batch():
        tensors, expected = chain(device, 11)
    np.testing.assert_array_equal(tensors[-1].numpy(), expected)


def test_reading_inside_hands_over_what_is_recorded(vulkan_device: rs.Device) -> None:
    before = vulkan_device.counters().submissions
    with vulkan_device.batch():
        tensors, expected = chain(vulkan_device, 3)
        np.testing.assert_array_equal(tensors[-1].numpy(), expected)
        read = vulkan_device.counters().submissions
        more = rs.reorder(tensors[-1], "AB->BA")
    assert read > before  # where memory is the device's own, uploads and reads are submissions too
    assert vulkan_device.counters().submissions == read + 1
    np.testing.assert_array_equal(more.numpy(), expected.T)


def test_writing_inside_waits_for_what_reads(vulkan_device: rs.Device) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = rs.asarray(array, device=vulkan_device)
    with vulkan_device.batch():
        first = rs.reorder(x, "AB->BA")
        vulkan_device.runtime.write(x.memory, 0, memoryview((array + 10).tobytes()))
        second = rs.reorder(x, "AB->BA")
    np.testing.assert_array_equal(first.numpy(), array.T)
    np.testing.assert_array_equal(second.numpy(), array.T + 10)


def test_waiting_inside_waits_for_all(vulkan_device: rs.Device) -> None:
    with vulkan_device.batch():
        before = vulkan_device.counters().submissions
        chain(vulkan_device, 2)
        vulkan_device.wait()
        assert vulkan_device.counters().submissions == before + 1


def test_the_outermost_of_nested_batches_counts(vulkan_device: rs.Device) -> None:
    before = vulkan_device.counters().submissions
    with vulkan_device.batch():
        with vulkan_device.batch():
            chain(vulkan_device, 2)
        assert vulkan_device.counters().submissions == before
        chain(vulkan_device, 2)
    assert vulkan_device.counters().submissions == before + 1


def test_an_error_inside_loses_nothing_that_was_started(vulkan_device: rs.Device) -> None:
    kept: list[rs.Tensor] = []

    def fail() -> None:
        with vulkan_device.batch():
            tensors, expected = chain(vulkan_device, 3)
            kept.append(tensors[-1])
            np.testing.assert_array_equal(expected.shape, tensors[-1].sizes)
            rs.reorder(tensors[-1], "AB->AA")

    with pytest.raises(rs.DescriptorError, match="each letter once"):
        fail()
    np.testing.assert_array_equal(kept[0].numpy(), chain(vulkan_device, 3)[1])


def test_freed_memory_is_not_used_again_before_the_batch_is_through(vulkan_device: rs.Device) -> None:
    array = np.random.default_rng(1).random((64, 65), np.float32)
    results = []
    with vulkan_device.batch():
        for number in range(30):
            x = rs.asarray(array + number, device=vulkan_device)
            results.append(rs.reorder(x, "AB->BA"))
            del x  # its buffer is free, and not yet read
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), (array + number).T)


def test_a_long_batch_starts_before_its_end(vulkan_device: rs.Device) -> None:
    before = vulkan_device.counters().submissions
    with vulkan_device.batch():
        tensors, expected = chain(vulkan_device, vk_queue.MAX_USES // 2 + 1)
        assert vulkan_device.counters().submissions == before + 1
    assert vulkan_device.counters().submissions == before + 2
    np.testing.assert_array_equal(tensors[-1].numpy(), expected)


def test_threads_share_a_batch(vulkan_device: rs.Device) -> None:
    results: dict[int, bool] = {}

    def work(number: int) -> None:
        tensors, expected = chain(vulkan_device, 5 + number)
        results[number] = bool((tensors[-1].numpy() == expected).all())

    with vulkan_device.batch():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_closing_inside_a_batch_finishes_it() -> None:
    device = rs.Device(runtime="vulkan")
    with device.batch():
        chain(device, 2)
        device.close()
    assert device.is_closed
    with pytest.raises(rs.DeviceLost), device.batch():
        pass


def test_what_an_interrupt_leaves_in_the_buffer_keeps_its_memory(
    vulkan_device: rs.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dispatch is recorded, then an interrupt comes: it runs all the same, and nobody else may get its memory."""
    x = rs.asarray(np.ones((64, 64), np.float32), device=vulkan_device)
    recorder = vulkan_device.runtime._session.recorder
    record = recorder.record

    def interrupted(*arguments: Any) -> None:
        record(*arguments)
        raise KeyboardInterrupt

    with vulkan_device.batch():
        first = rs.reorder(x, "AB->BA")
        with monkeypatch.context() as patched:
            patched.setattr(recorder, "record", interrupted)
            with pytest.raises(KeyboardInterrupt):
                rs.reorder(x, "AB->BA")
        other = rs.asarray(np.full((64, 64), 7, np.float32), device=vulkan_device)
    vulkan_device.wait()
    np.testing.assert_array_equal(other.numpy(), np.full((64, 64), 7, np.float32))
    np.testing.assert_array_equal(first.numpy(), np.ones((64, 64), np.float32))


def test_a_batch_that_the_driver_refuses_leaves_the_device_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    with rs.Device(runtime="vulkan") as device:
        chain(device, 2)[0][-1].numpy()
        queue = device.runtime._session.queue

        def refused() -> None:
            with device.batch():
                tensors.extend(chain(device, 3)[0])

        tensors: list[rs.Tensor] = []
        with monkeypatch.context() as patched:
            patched.setattr(queue, "_hand_over", lambda *_: -2)  # VK_ERROR_OUT_OF_DEVICE_MEMORY
            with pytest.raises(rs.OutOfDeviceMemory):
                refused()
        assert len(set(map(id, queue._free))) == len(queue._free)
        tensors[-1].numpy()  # nothing made it, and reading it is no error
        tensors, expected = chain(device, 3)
        np.testing.assert_array_equal(tensors[-1].numpy(), expected)


X = np.arange(24 * 35, dtype=np.int32).reshape(24, 35)


def test_the_default_device_opens_again_after_it_was_closed():
    closed = rs.default_device()
    closed.close()
    assert "closed" in repr(closed)
    assert_equal(rs.reorder(X).numpy(), X)
    assert rs.default_device() is not closed


def test_a_device_that_was_set_as_the_default_is_never_replaced():
    opened = rs.default_device()
    with rs.Device() as own:
        rs.set_default_device(own)
        try:
            assert rs.default_device() is rs.asarray(X).device is own
            assert not opened.is_closed
            own.close()
            assert rs.default_device() is own
            with pytest.raises(rs.DeviceError, match="closed"):
                rs.reorder(X)
        finally:
            rs.set_default_device(None)
    assert rs.default_device() is not own
    assert_equal(rs.reorder(X).numpy(), X)


@pytest.mark.parametrize("device", ["llvmpipe", 0, rs.Device])
def test_a_default_device_is_a_device(device):
    with pytest.raises(rs.DescriptorError, match=r"the default device is a restride\.Device or None, not"):
        rs.set_default_device(device)
