"""Work on files ahead of their turn: threads read, compute and encode within a bound of memory; results in order.

An interrupt may end the main thread's code after any call, also inside of ``threading``'s ``Condition``, which is then
locked for ever. So the main thread takes no lock that another thread needs: it sets plain attributes and gets results
from a ``SimpleQueue``, and the threads look at the attributes again and again while they wait.
"""

from __future__ import annotations

import _thread
import atexit
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from restride.command.process import held_back, print_held

_MOST_BYTES = 512 << 20
"""Most bytes of the pictures, read or computed, that have not had their turn."""

_MOST_ITEMS = 64
"""Most items that are begun and have not had their turn, however small they are."""

_WAITING = 2
"""Threads beyond the number of cores, because some wait for the device or the disk."""

_STARTER = -1
"""Number of the thread that starts the others."""

_PAUSE = 0.004
"""Seconds after which a thread that waits looks again; reading a picture takes longer."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

Take: TypeAlias = Callable[[int], None]
"""Waits until there is room for this many more bytes, and takes it until the item has had its turn."""


def in_turn(
    work: Callable[[_Item, Take], _Result], items: Sequence[_Item]
) -> Generator[Callable[[], _Result], None, None]:
    """Yield for each item, in order, a function that returns what ``work`` made of it, or raises what it raised.

    Threads work ahead of the caller; what they tell is told once the function is called. Closing the generator, as
    ``contextlib.closing`` does, ends the work: no further item is begun, those begun end at their next
    ``Take``, and no thread is left. A second interrupt ends the wait for them; then the end of Python waits.
    """
    room = _Room(_MOST_BYTES, _MOST_ITEMS)
    made: SimpleQueue[tuple[int, Callable[[], _Result]]] = SimpleQueue()

    def make(place: int) -> Callable[[], _Result]:
        done: Future[_Result] = Future()
        lines: list[str] = []
        try:
            with held_back() as lines:
                done.set_result(work(items[place], partial(room.take, place)))
        except BaseException as error:  # noqa: BLE001 - raised at the turn of the item
            done.set_exception(error)
        return partial(_told, lines, done)

    def work_ahead(number: int) -> None:
        with room.entered(number), suppress(CancelledError):
            for place in places:
                room.begin(place)
                made.put((place, make(place)))

    def start() -> None:
        with room.entered(_STARTER):
            for number, thread in enumerate(threads):
                if room.is_closed:
                    break
                try:
                    thread.start()
                except RuntimeError:  # no further thread can start: those started, or else this one, do all the work
                    if not number:
                        work_ahead(number)
                    break

    def end() -> None:
        room.is_closed = True
        if sys.is_finalizing():
            return  # Python has ended the threads wherever they were
        while room.inside:
            time.sleep(_PAUSE)
        for thread in threads:
            if thread.is_alive():
                thread.join(1)  # it has nothing left to do; two interrupts in an earlier join may have kept its lock

    places = iter(range(len(items)))  # a thread takes the next in one step
    threads = [
        threading.Thread(target=work_ahead, args=(number,), name=f"restride-ahead_{number}", daemon=True)
        for number in range(min((os.cpu_count() or 1) + _WAITING, len(items)))
    ]  # daemons, because Python would wait for other threads before it calls ``end``
    ready: dict[int, Callable[[], _Result]] = {}
    try:
        atexit.register(end)  # if an interrupt left the generator open, as one in ``closing.__exit__`` does
        _thread.start_new_thread(start, ())  # because ``Thread.start`` waits for a ``Condition``
        for place in range(len(items)):
            while place not in ready:
                ready.update([made.get()])
            yield ready.pop(place)
            room.turn += 1
    finally:
        room.is_closed = True  # not by a call, in which a second interrupt could come first
        end()
        atexit.unregister(end)


def _told(lines: list[str], done: Future[_Result]) -> _Result:
    print_held(lines)
    return done.result()


class _Room:
    """The items that may be begun and the bytes that they may take; the item whose turn it is takes what it needs.

    Attributes:
        turn: place of the item whose turn it is; the main thread counts it up.
        is_closed: no item may begin or take more; the main thread sets it.
        inside: numbers of the threads that may begin an item.
    """

    def __init__(self, most_bytes: int, most_items: int) -> None:
        self.turn = 0
        self.is_closed = False
        self.inside: set[int] = set()
        self._most_bytes, self._most_items = most_bytes, most_items
        self._taken: Counter[int] = Counter()
        self._lock = threading.Lock()  # of ``_taken``; never taken by the main thread

    @contextmanager
    def entered(self, number: int) -> Iterator[None]:
        """Keep the thread of that number among those inside.

        The thread enters before it looks at ``is_closed``, and ``is_closed`` is set before anyone looks who is inside.
        So a thread that is not seen inside will find the room closed.
        """
        self.inside.add(number)
        try:
            yield
        finally:
            self.inside.discard(number)

    def begin(self, place: int) -> None:
        """Wait until the item of that place may begin.

        Raises:
            CancelledError: the room is closed.
        """
        self._wait_until(lambda: place < self.turn + self._most_items)

    def take(self, place: int, nbytes: int) -> None:
        """Take bytes for the item of that place, once they are free.

        Raises:
            CancelledError: the room is closed.
        """

        def has_taken() -> bool:
            with self._lock:
                for ended in [each for each in self._taken if each < self.turn]:
                    del self._taken[ended]
                is_room = place == self.turn or self._taken.total() + nbytes <= self._most_bytes
                if is_room:
                    self._taken[place] += nbytes
                return is_room

        self._wait_until(has_taken)

    def _wait_until(self, may_go_on: Callable[[], bool]) -> None:
        while not self.is_closed:
            if may_go_on():
                return
            time.sleep(_PAUSE)
        raise CancelledError
