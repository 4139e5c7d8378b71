"""Threads that help with the host's copies of a large transfer, because one thread does not reach the speed of the bus.

A caller never depends on them: it copies too, and waits only for threads that have begun. So it does not matter if the
system has no thread left, if all of them help others, or if they do not exist, as in a child of ``fork``.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

_THREADS = 4
"""Most threads that copy a piece, the caller included. Downloads of an H200: 10.8 GB/s, with one thread 5.6."""

_LEAST_BYTES = 16 << 20
"""Bytes of the smallest transfer that they help with: one thread takes 3 ms, and waking the others 0.1 ms a piece."""

_SHARE_BYTES = 1 << 20
"""Bytes that a thread copies at a time: a quarter of a piece of a transfer."""

_SECONDS_TO_LOOK = 1.0
"""A caller that waits looks at this interval whether it is in a child of ``fork``: a signal handler may have forked."""

CopyTask: TypeAlias = Callable[[], None]

Guard: TypeAlias = Callable[[], AbstractContextManager[bool]]
"""Makes a context in which the copied memory stays valid, whatever the caller does; yields False if it no longer is."""


class CopyWorkers:
    """Threads that wait for copies to help with; they start at the first copy, and end with the process.

    number: how many threads; with 0 the caller copies alone.
    least_bytes, share_bytes: the smallest transfer that is shared, and the bytes that a thread copies of it at a time.
    """

    def __init__(self, number: int, least_bytes: int = _LEAST_BYTES, share_bytes: int = _SHARE_BYTES) -> None:
        self._number = number
        self._least_bytes = least_bytes
        self._share_bytes = share_bytes
        self.forget_threads()

    def forget_threads(self) -> None:
        """Begin without threads, as in a child of ``fork``."""
        self._unstarted = deque(range(self._number))  # one entry for each thread that is not started yet
        self._calls: SimpleQueue[_Piece] = SimpleQueue()

    def share_bytes(self, nbytes: int) -> int:
        """Bytes that one thread copies at a time of a transfer of ``nbytes``."""
        return self._share_bytes if self._number and nbytes >= self._least_bytes else max(nbytes, 1)

    def copy(self, copies: Sequence[CopyTask], guard: Guard) -> None:
        """Make the copies, in any order. When this returns or raises, no thread works at them any more.

        guard: the context that a helping thread enters before it takes a copy. Only a second interrupt ends the wait
            for the threads inside; then their guard alone protects what they copy.

        Raises: what one of the copies, or the guard, raised.
        """
        if len(copies) == 1:
            copies[0]()
            return
        piece = _Piece(copies, guard)
        try:
            self._call(piece, min(self._number, len(copies) - 1))
            piece.take_copies()
            piece.end()
        finally:
            piece.end()  # after an interrupt, also one in the wait just before
        if piece.errors:
            raise piece.errors.pop()

    def _call(self, piece: _Piece, number: int) -> None:
        while self._unstarted:
            try:
                _thread.start_new_thread(_help_all, (self._calls,))  # ``Thread.start`` waits, where an interrupt harms
            except RuntimeError:  # the system starts no more threads, or the process ends
                break
            with suppress(IndexError):  # another call has started one too many
                self._unstarted.pop()
        for _ in range(min(number, self._number - len(self._unstarted))):
            self._calls.put(piece)


class _Piece:
    """Copies that several threads make: each takes the next until none is left.

    A thread enters before it looks for a copy, and the caller looks who is inside after the last copy was taken. So a
    thread that the caller does not see inside will find no copy.
    """

    def __init__(self, copies: Sequence[CopyTask], guard: Guard) -> None:
        self.errors: list[BaseException] = []
        self._process = os.getpid()
        self._copies = deque(copies)
        self._guard = guard
        self._inside: deque[None] = deque()  # one entry for each thread that helps
        self._left: SimpleQueue[None] = SimpleQueue()  # an entry for each that has left

    def take_copies(self) -> None:
        """Make copies until none is left."""
        while self._copies:
            try:
                copy = self._copies.popleft()
            except IndexError:  # another thread took the last one
                return
            copy()

    def help(self) -> None:
        """Make copies until none is left; an error goes to ``errors``, for the caller to raise."""
        if not self._copies:
            return
        self._inside.append(None)
        try:
            with self._guard() as is_valid:
                if is_valid:
                    self.take_copies()
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            self.errors.append(error)
        finally:
            self._inside.pop()
            self._left.put(None)

    def end(self) -> None:
        """Let no thread begin another copy, and wait for those that are inside."""
        self._copies.clear()
        while self._inside and os.getpid() == self._process:
            with suppress(Empty):
                self._left.get(timeout=_SECONDS_TO_LOOK)


def _help_all(calls: SimpleQueue[_Piece]) -> None:
    while True:
        calls.get().help()  # no variable, which would keep the last piece alive


def _cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


WORKERS = CopyWorkers(min(_THREADS, _cores()) - 1)
"""The threads of this process."""

if sys.platform != "win32":
    os.register_at_fork(after_in_child=WORKERS.forget_threads)
