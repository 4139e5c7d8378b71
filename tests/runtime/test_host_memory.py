"""Memory of results: used again once nothing refers to it, never before, and within its bound."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import restride as rs
from restride.runtime.host_memory import HOST_MEMORY, HostMemory
from restride.tensor import device as device_module
from restride.tensor import tensor as tensor_module

Bytes = npt.NDArray[np.uint8]


def address(array: npt.NDArray[np.generic]) -> int:
    return array.__array_interface__["data"][0]


def cycle(array: Bytes) -> object:
    kept: list[object] = [array]
    kept.append(kept)
    return kept


KEPT: dict[str, Callable[[Bytes], object]] = {
    "the array": lambda array: array,
    "a view": lambda array: array[5:9],
    "another type and shape": lambda array: array.view(np.uint16).reshape(5, 10).T,
    "a view of a view": lambda array: array[1:][::-1][3:].view(np.ndarray),
    "a subclass": lambda array: array.view(np.recarray),
    "one element's array": lambda array: array[7:8].reshape(()),
    "a memoryview": lambda array: memoryview(array)[3:4],
    "an array over a buffer": lambda array: np.frombuffer(array.data, np.uint8)[2:],
    "DLPack": np.from_dlpack,
    "a capsule of DLPack": lambda array: array.__dlpack__(),
    "an iterator": lambda array: array.flat,
    "a cycle": cycle,
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_memory_is_used_again_after_the_last_reference_and_not_before(kept: Callable[[Bytes], object]) -> None:
    pool = HostMemory(10, 1000)
    array = pool.empty(100)
    array[:] = 7
    place, reference = address(array), kept(array)
    del array
    other = pool.empty(100)
    assert address(other) != place
    other[:] = 0
    del reference
    gc.collect()
    assert address(pool.empty(100)) == place


@pytest.mark.parametrize(("nbytes", "is_used"), [(91, False), (90, True), (80, True), (79, False)])
def test_a_result_may_be_an_eighth_smaller(nbytes: int, is_used: bool) -> None:
    pool = HostMemory(10, 1000)
    place = address(pool.empty(90))
    array = pool.empty(nbytes)
    assert (address(array) == place) is is_used
    assert (array.nbytes, array.flags.writeable) == (nbytes, True)


def test_sizes_outside_the_bounds_are_arrays_of_their_own() -> None:
    pool = HostMemory(10, 100)
    for nbytes in (0, 9, 101):
        assert pool.empty(nbytes).flags.owndata
    assert not pool.trim()


def test_what_was_idle_longest_is_freed() -> None:
    pool = HostMemory(10, 100)
    arrays = [pool.empty(nbytes) for nbytes in (30, 40, 50)]
    places = [address(array) for array in arrays]
    while arrays:
        del arrays[0]
    assert sum(memory.nbytes for memory in pool._idle.values()) == 90
    assert [memory.ctypes.data for memory in pool._idle.values()] == places[1:]
    assert pool.trim() == 90
    assert not pool._idle
    assert pool.trim() == 0


def test_where_memory_is_short_the_idle_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, empty = HostMemory(10, 100), np.empty
    pool.empty(50)

    kept = [weakref.ref(memory) for memory in pool._idle.values()]

    def short(*arguments: object) -> object:
        if any(memory() is not None for memory in kept):
            raise MemoryError
        return empty(*arguments)  # type: ignore[call-overload]

    monkeypatch.setattr(np, "empty", short)
    assert pool.empty(90).nbytes == 90
    pool.empty(50)
    kept = [weakref.ref(memory) for memory in pool._idle.values()]
    assert kept
    assert pool.empty(2000).nbytes == 2000


def test_threads_are_lent_different_memory() -> None:
    pool, wrong = HostMemory(10, 100_000), []

    def use(number: int) -> None:
        held = []
        for turn in range(500):
            array = pool.empty(5000 + turn % 3)
            array[:] = number
            held.append(array)
            if any((each != number).any() for each in held):
                wrong.append(number)
            del held[: turn % 4]

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(memory.nbytes for memory in pool._idle.values()) <= 100_000


def test_results_of_tensors_and_trim(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = HostMemory(10, 1000)
    monkeypatch.setattr(tensor_module, "HOST_MEMORY", pool)
    monkeypatch.setattr(tensor_module, "_SMALL", 10)
    monkeypatch.setattr(device_module, "HOST_MEMORY", pool)
    with rs.Device() as device:
        x, y = (rs.asarray(np.arange(30, dtype=np.int32) + k, device=device) for k in (0, 1))
        first, second = x.numpy(), y.numpy()
        place = address(first)
        assert np.array_equal(first + 1, second)
        del first
        third = y.numpy()
        assert address(third) == place
        assert np.array_equal(third, second)
        del third
        assert len(pool._idle) == 1
        device.trim()
        assert not pool._idle
        assert np.array_equal(second, np.arange(30) + 1)


def test_memory_of_the_usual_sizes() -> None:
    sizes = [32 << 20, (32 << 20) + 1, 256 << 20, (256 << 20) + 1]
    assert [HOST_MEMORY.empty(nbytes).flags.owndata for nbytes in sizes] == [True, False, False, True]
    assert HOST_MEMORY.trim() == 256 << 20
