"""Threads: the small form of lab/reliability/threads.py, and faults that it must notice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import threads
from support.devices import open_device

import restride as rs
from restride.runtime import RUNTIMES
from restride_conformance.run.process import WorkerDied


def counted(scenario: str, runtime: str, devices: int, count: int, before: str = "") -> threads.Counted:
    """What a scenario counted in a new process; ``before``: code that changes the library first."""
    return threads.outcome_of(scenario, runtime, devices, count, 1, "smoke", 60, before)


@pytest.mark.parametrize(
    ("scenario", "devices", "count"), [("share", 2, 8), ("close", 1, 1), ("start", 1, 1), ("leave", 1, 4)]
)
def test_eight_threads_get_the_results_of_one(device: rs.Device, scenario: str, devices: int, count: int) -> None:
    done = counted(scenario, type(device.runtime).__name__.removesuffix("Runtime").lower(), devices, count)
    assert done["wrong"] == []
    assert done["operations"]


def test_a_block_that_is_handed_out_twice_is_noticed() -> None:
    """It shows as wrong results, or as a crash."""
    before = """
from restride.runtime.vulkan.memory import Pool
def hand_out_again(pool, completed):
    while pool._leaving:  # whether the device still uses it or not
        block = pool._leaving.popleft()
        pool.leaving_bytes -= block.nbytes
        block.chunk.live -= 1
        pool._idle.setdefault(block.nbytes, __import__("collections").deque()).extend([block, block])
Pool.collect = hand_out_again
"""
    try:
        wrong = counted("share", "vulkan", 1, 12, before)["wrong"]
    except WorkerDied as died:
        wrong = [str(died)]
    assert wrong


def test_a_thread_outside_a_batch_joins_it_and_reading_hands_over(vulkan_device: rs.Device) -> None:
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = rs.asarray(image, device=vulkan_device)
    started, read = [], []

    def work() -> None:
        result = rs.reorder(x, "AB->BA")
        started.append(vulkan_device.counters().submissions)
        read.append(result.numpy())

    with vulkan_device.batch():
        before = vulkan_device.counters().submissions
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert started == [before]
        assert vulkan_device.counters().submissions > before
    np.testing.assert_array_equal(read[0], image.T)


def called_inside(monkeypatch: pytest.MonkeyPatch, device: rs.Device, call: Callable[[], object]) -> None:
    """Have ``call`` run in the middle of ``device.counters()``, as the garbage collector may run a finalizer there."""
    runtime = device.runtime
    owner, name = (runtime._pool, "collect") if hasattr(runtime, "_pool") else (runtime._session.queue, "poll")
    method = getattr(owner, name)

    def collected() -> object:
        monkeypatch.undo()
        call()
        return method()

    monkeypatch.setattr(owner, name, collected)
    thread = threading.Thread(target=device.counters, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it waits for its own lock"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_abandoned_batch_that_is_collected_in_the_middle_of_a_call(
    monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    device = open_device(runtime)
    image = np.arange(6, dtype=np.float32).reshape(2, 3)

    def turned() -> Iterator[rs.Tensor]:
        with device.batch():
            yield rs.reorder(rs.asarray(image, device=device), "AB->BA")

    generator = turned()
    result = next(generator)
    called_inside(monkeypatch, device, generator.close)
    submissions = device.counters().submissions
    device.wait()
    assert device.counters().submissions == submissions, "handed over by the next call"
    np.testing.assert_array_equal(result.numpy(), image.T)
    device.close()


def test_an_abandoned_batch_waits_for_no_other_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads, each calling a device whose batch the other thread's collector ends, would wait for ever."""
    devices = [open_device("vulkan") for _ in range(2)]
    image = np.arange(6, dtype=np.float32).reshape(2, 3)

    def turned(device: rs.Device) -> Iterator[rs.Tensor]:
        with device.batch():
            yield rs.reorder(rs.asarray(image, device=device), "AB->BA")

    generator = turned(devices[0])
    result = next(generator)
    with devices[0].runtime._session.lock:  # type: ignore[attr-defined] - another thread's call
        called_inside(monkeypatch, devices[1], generator.close)
    np.testing.assert_array_equal(result.numpy(), image.T)
    submissions = devices[0].counters().submissions
    rs.reorder(result, "AB->BA")
    assert devices[0].counters().submissions == submissions + 1, "the batch has ended"
    for device in devices:
        device.close()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_finalizer_in_the_middle_of_a_call_gets_an_error(monkeypatch: pytest.MonkeyPatch, runtime: str) -> None:
    device = open_device(runtime)
    errors: list[str] = []

    def finalize(call: Callable[[], object]) -> None:
        try:
            call()
        except rs.DeviceError as error:
            errors.append(str(error))

    for call in (device.wait, device.runtime.close, lambda: rs.empty("u8[4]", device)):
        called_inside(monkeypatch, device, lambda call=call: finalize(call))  # type: ignore[misc]
    assert len(errors) == 3
    assert all("in the middle of another call of this thread" in error for error in errors)
    device.close()
