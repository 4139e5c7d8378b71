"""The process that calls functions for another one: its results, its errors, and its end."""

from __future__ import annotations

import pytest
from worker import Worker

from restride_conformance.record import Verdict
from restride_conformance.run.process import WorkerDied


def test_calls_are_of_one_process_with_its_variables_and_what_it_ran_first() -> None:
    """State that a call leaves is there for the next one."""
    with Worker("import builtins; builtins.seen = []", SEEN="yes") as worker:
        assert worker.call(20, "builtins.seen.append", 3) is None
        assert worker.call(20, "builtins.seen.copy") == [3]
        assert worker.call(20, "os.getenv", "SEEN") == "yes"
        worker.kill()
        assert worker.call(20, "builtins.seen.copy") == []
        worker.end(20)


@pytest.mark.parametrize(
    ("function", "arguments", "seconds", "verdict", "told"),
    [
        ("os.abort", (), 20, Verdict.CRASHED, "SIGABRT"),
        ("builtins.int", ("x",), 20, Verdict.CRASHED, "ValueError: invalid literal for int() with base 10: 'x'"),
        ("time.sleep", (60,), 0.3, Verdict.TIMEOUT, "in serve"),
    ],
)
def test_an_end_before_the_answer_is_told(
    function: str, arguments: tuple[object, ...], seconds: float, verdict: Verdict, told: str
) -> None:
    """The message has the last words of the process: its error, or where a thread is that hangs."""
    with Worker() as worker:
        with pytest.raises(WorkerDied) as died:
            worker.call(seconds, function, *arguments)
        assert died.value.verdict is verdict
        assert told in str(died.value)
        assert worker.call(20, "builtins.abs", -1) == 1, "the next call has a new process"


def test_an_end_after_the_last_answer_is_told_too() -> None:
    """A process may fail where it ends, as with threads that still work."""
    with Worker("import atexit, os; atexit.register(os._exit, 3)") as worker:
        worker.call(20, "builtins.abs", -1)
        with pytest.raises(WorkerDied, match="exit code 3"):
            worker.end(20)
