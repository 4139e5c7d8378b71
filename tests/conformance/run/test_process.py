"""A process that ends before it answers: by itself, or at a time limit, whoever notices first."""

from __future__ import annotations

import sys
import time

import pytest

from restride_conformance.record import Verdict
from restride_conformance.run.process import JsonProcess, WorkerDied, inherited


def death(program: str, deadline: float) -> WorkerDied:
    """What the parent raises for a Python program that ends without an answer; it looks only after that end."""
    process = JsonProcess([sys.executable, "-c", program], inherited())
    try:
        for thread, _ in process._readers:
            thread.join()
        with pytest.raises(WorkerDied) as raised:
            process.answer(time.monotonic() + deadline, "too late")
    finally:
        process.kill()
    return raised.value


def test_a_process_that_ends_in_time_crashed():
    died = death("import sys; sys.exit('Timeout is not the reason')", 60)
    assert (died.verdict, str(died)) == (
        Verdict.CRASHED,
        "the worker ended with exit code 1\nTimeout is not the reason",
    )


def test_a_crash_that_is_seen_after_the_deadline_keeps_its_reason():
    died = death("import sys; sys.exit('out of memory')", -1)
    assert (died.verdict, str(died)) == (Verdict.CRASHED, "the worker ended with exit code 1\nout of memory")


def test_a_process_that_ends_itself_at_its_limit_timed_out():
    """A parent short of time reads when the case started so late that its own deadline is still to come."""
    deep = "def wait(depth): wait(depth - 1) if depth else time.sleep(60)"  # a report of more bytes than are kept
    limit = "faulthandler.dump_traceback_later(0.1, exit=True)"
    died = death(f"import faulthandler, time\n{deep}\n{limit}\nwait(90)", 60)
    assert (died.verdict, str(died)) == (Verdict.TIMEOUT, "too late")
