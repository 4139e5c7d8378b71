"""Work ahead of its turn: order of results, errors and messages; the bounds of memory; and its end."""

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
