"""Work on files ahead of their turn: threads read, compute and encode within a bound of memory; results in order."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TypeAlias, TypeVar

from restride.command.process import held_back, print_held

_MOST_BYTES = 512 << 20
"""Most bytes of the pictures, read or computed, that have not had their turn."""

_MOST_ITEMS = 64
"""Most items that are begun and have not had their turn, however small they are."""

_WAITING = 2
"""Threads beyond the number of cores, because some wait for the device or the disk."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

Take: TypeAlias = Callable[[int], None]
"""Waits until there is room for so many bytes more, and takes it; it is free again after the item's turn."""


def in_turn(
    work: Callable[[_Item, Take], _Result], items: Sequence[_Item]
) -> Generator[Callable[[], _Result], None, None]:
    """Yield for each item, in order, a function that returns what ``work`` made of it, or raises what it raised.

    Threads work ahead of the caller; what they tell is told once the function is called. Closing the generator, as
    ``contextlib.closing`` does, ends the work: items that were not begun are not, those begun end at their next
    ``Take``, and no thread is left.
    """
    room = _Room(_MOST_BYTES)

    def work_ahead(place: int, item: _Item) -> tuple[list[str], Future[_Result]]:
        done: Future[_Result] = Future()
        with held_back() as lines:
            try:
                done.set_result(work(item, lambda nbytes: room.take(place, nbytes)))
            except Exception as error:  # noqa: BLE001 - raised at the turn of the item
                done.set_exception(error)
        return lines, done

    threads = ThreadPoolExecutor((os.cpu_count() or 1) + _WAITING, "restride-ahead")
    waiting = enumerate(items)
    begun: deque[Future[tuple[list[str], Future[_Result]]]] = deque()
    try:
        while True:
            begun.extend(threads.submit(work_ahead, *each) for each in islice(waiting, _MOST_ITEMS - len(begun)))
            if not begun:
                return
            lines, done = begun.popleft().result()
            yield partial(_told, lines, done)
            del lines, done
            room.next_turn()
    finally:
        room.close()
        threads.shutdown(cancel_futures=True)


def _told(lines: list[str], done: Future[_Result]) -> _Result:
    print_held(lines)
    return done.result()


class _Room:
    """The bytes that the items of later turns may take; the item whose turn it is takes what it needs, and goes on."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[int] = Counter()
        self._turn = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def take(self, place: int, nbytes: int) -> None:
        """Take bytes for the item of that place, once they are free.

        Raises:
            CancelledError: the room is closed.
        """

        def may_go_on() -> bool:
            return self._is_closed or place == self._turn or self._taken.total() + nbytes <= self._most

        with self._changed:
            self._changed.wait_for(may_go_on)
            if self._is_closed:
                raise CancelledError
            self._taken[place] += nbytes

    def next_turn(self) -> None:
        """Free what the item whose turn it is took; it is the turn of the next."""
        with self._changed:
            del self._taken[self._turn]
            self._turn += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let no item take more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
