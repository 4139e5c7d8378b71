"""Work ahead of its turn: order of results, errors and messages; the bounds of memory; and its end."""

import subprocess
import sys
import threading
import time
from contextlib import closing
from itertools import count

import pytest

from restride.cli import ahead
from restride.cli.ahead import in_turn
from restride.command.process import tell

WAIT = 60
"""Seconds after which a test gives up."""


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("restride-ahead")]


def test_results_errors_and_messages_come_in_order_whichever_work_ends_first(capsys):
    last_is_done = threading.Event()

    def work(item, _):
        tell(f"about {item}")
        if item == 3:
            last_is_done.set()
        assert last_is_done.wait(WAIT)
        if item == 1:
            raise ValueError(item)
        return 10 * item

    with closing(in_turn(work, range(4))) as turns:
        first, second, third = (next(turns) for _ in range(3))
        assert capsys.readouterr().err == ""
        assert first() == 0
        with pytest.raises(ValueError, match="1"):
            second()
        assert third() == 20
        assert capsys.readouterr().err == "restride: about 0\nrestride: about 1\nrestride: about 2\n"
        assert [turn() for turn in turns] == [30]
    assert not threads()


def test_the_items_of_later_turns_take_no_more_than_there_is(monkeypatch):
    monkeypatch.setattr(ahead, "_MOST_BYTES", 100)
    sizes = [30, 60, 500, 20, 60, 30, 101, 1]
    taken, most = {}, []

    def work(item, take):
        for part in (sizes[item] // 2, sizes[item] - sizes[item] // 2):  # as of the picture and its result
            take(part)
            taken[item] = taken.get(item, 0) + part
            most.append(sum(taken.values()) - max(taken.values()))
        return item

    with closing(in_turn(work, range(len(sizes)))) as turns:
        for place, turn in enumerate(turns):
            assert turn() == place
            del taken[place]
    assert max(most) <= 100


def test_only_so_many_are_begun_however_small_they_are(monkeypatch):
    monkeypatch.setattr(ahead, "_MOST_ITEMS", 3)
    begun = []
    with closing(in_turn(lambda item, _: begun.append(item), range(9))) as turns:
        for place, turn in enumerate(turns):
            turn()
            time.sleep(0.01)
            assert max(begun) <= place + 2
    assert sorted(begun) == list(range(9))


def test_closing_ends_what_waits_and_begins_no_more(monkeypatch):
    monkeypatch.setattr(ahead, "_MOST_BYTES", 10)
    begun, went_on = [], []

    def work(item, take):
        begun.append(item)
        take(11)
        went_on.append(item)

    turns = in_turn(work, range(50))
    next(turns)()
    turns.close()
    assert not threads()
    assert len(begun) < 50
    assert went_on == [0]


def test_no_result_is_kept_after_its_turn(monkeypatch):
    monkeypatch.setattr(ahead, "_MOST_ITEMS", 4)
    living = set()
    numbers = count()

    class Result:
        def __init__(self):
            self.number = next(numbers)
            living.add(self.number)

        def __del__(self):
            living.discard(self.number)

    most = 0
    with closing(in_turn(lambda *_: Result(), range(200))) as turns:
        for turn in turns:
            turn()
            most = max(most, len(living))
    assert most <= 6


@pytest.mark.parametrize("granted", [0, 1])
def test_all_is_done_though_the_system_grants_few_threads(granted, monkeypatch):
    honest = threading.Thread.start
    wanted = count()

    def start(thread):
        if next(wanted) >= granted:
            raise RuntimeError("can't start new thread")
        honest(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with closing(in_turn(lambda item, _: item, range(100))) as turns:
        assert [turn() for turn in turns] == list(range(100))


INTERRUPTED = """
import faulthandler, signal, sys, threading, time
from contextlib import closing
from restride.cli import ahead

faulthandler.dump_traceback_later(40, exit=True)
ahead._MOST_BYTES, ahead._MOST_ITEMS, ahead._PAUSE = 10, 4, 0.001


def work(item, take):
    take(8)
    take(1)
    return item


def left():
    return [each for each in threading.enumerate() if each.name.startswith("restride-ahead") and each.is_alive()]


def ended():
    until = time.monotonic() + 10
    while left():
        assert time.monotonic() < until, left()
        time.sleep(0.001)
    return True
"""
"""The begin of a process of its own, as a thread that never ends would keep that of the tests."""

AT_EACH_CALL = """
import concurrent.futures._base, contextlib

FILES = [each.__file__ for each in (ahead, threading, contextlib, concurrent.futures._base)]


def is_interrupted_at(step):
    steps = 0

    def count(frame, kind, _):
        nonlocal steps
        steps += frame.f_code.co_filename in FILES and kind in ("call", "c_return")
        if steps == step:
            raise KeyboardInterrupt

    try:
        sys.setprofile(count)
        with closing(ahead.in_turn(work, range(8))) as turns:
            assert [turn() for turn in turns] == list(range(8))
        return False
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)


step = 1
while is_interrupted_at(step) and ended():
    step += 1
print(step)
"""
"""Python runs the handlers of signals where it begins a function of Python, and where a function of C has returned."""

TWICE = """
def slow(item, take):
    take(8)
    time.sleep(0.2)


def interrupts():
    for _ in range(2):
        time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


threading.Thread(target=interrupts).start()
try:
    with closing(ahead.in_turn(slow, range(50))) as turns:
        for turn in turns:
            turn()
except KeyboardInterrupt as error:
    print("again" if isinstance(error.__context__, KeyboardInterrupt) else "once", ended())
"""

LEFT_OPEN = """
import atexit


def told(item, take):
    if item == 1:
        time.sleep(0.5)
        print("ended", flush=True)
    else:
        take(8)


turns = ahead.in_turn(told, range(50))
next(turns)()
print("open", flush=True)
"""


def run(rest):
    command = [sys.executable, "-c", INTERRUPTED + rest]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=2 * WAIT, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.split()


def test_an_interrupt_at_any_call_of_the_main_thread_leaves_no_thread():
    (calls,) = run(AT_EACH_CALL)
    assert int(calls) > 100


@pytest.mark.skipif(sys.platform == "win32", reason="pthread_kill")
def test_a_second_interrupt_during_the_end_leaves_no_thread():
    assert run(TWICE) == ["again", "True"]


def test_python_ends_though_a_walk_was_left_open():
    assert run(LEFT_OPEN) == ["open", "ended"]


def test_python_ends_though_an_interrupt_ended_its_wait_for_a_walk_left_open():
    collected_late = "atexit._clear()\ncycle = [turns]\ncycle.append(cycle)\ndel turns, cycle\n"
    assert run(LEFT_OPEN + collected_late) == ["open"]
