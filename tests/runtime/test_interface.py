"""HostLock: what a finalizer does in a thread that holds the lock, beside one that holds it, and where nobody does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from restride.errors import DeviceError
from restride.runtime.interface import HostLock


@pytest.fixture
def lock() -> HostLock:
    return HostLock("card")


def is_free(lock: HostLock) -> bool:
    """Whether another thread gets the lock."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(lock.if_free, lambda: None).result()


def test_a_call_in_the_middle_of_another_of_its_thread_is_refused(lock):
    with lock.unheld():
        assert lock.is_held()
        with pytest.raises(DeviceError, match="card was called by a finalizer"):
            lock.unheld()
    assert not lock.is_held()
    with lock.unheld():
        pass
    assert is_free(lock)


def test_what_can_be_put_off_is_not_done_in_the_middle_of_a_call(lock):
    done = []
    with lock.unheld():
        assert not lock.if_free(lambda: done.append(1))
        assert lock.is_held(), "still the call's"
    assert lock.if_free(lambda: done.append(2))
    assert done == [2]


def test_it_does_not_wait_for_another_thread(lock):
    held, ended = threading.Event(), threading.Event()

    def hold():
        with lock.unheld():
            held.set()
            ended.wait(60)

    with ThreadPoolExecutor(1) as other:
        other.submit(hold)
        held.wait(60)
        done = []
        assert not lock.is_held()
        assert not lock.if_free(lambda: done.append(1))
        assert done == []
        ended.set()
    assert lock.if_free(lambda: done.append(1))


def test_what_it_does_is_done_under_the_lock(lock):
    seen = []
    assert lock.if_free(lambda: seen.append((lock.is_held(), is_free(lock))))
    assert seen == [(True, False)]
    assert is_free(lock)


@pytest.mark.parametrize("error", [DeviceError, KeyboardInterrupt])
def test_an_error_or_interrupt_releases_it(lock, error):
    def act():
        raise error

    with pytest.raises(error):
        lock.if_free(act)
    assert not lock.is_held()
    assert is_free(lock)
