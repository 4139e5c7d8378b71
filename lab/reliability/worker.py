"""A process that calls functions for this one, so that their crash or hang costs a call.

    with Worker() as worker:
        counted = worker.call(60.0, "threads.share", "vulkan", 1, 12, 1, "smoke")

Functions are named by module and name. Arguments and results are JSON values; a dataclass comes back as a dictionary.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import sys
import time
from dataclasses import is_dataclass
from operator import attrgetter
from types import TracebackType
from typing import Any, Self

from restride_conformance.record import Verdict
from restride_conformance.run.process import JsonProcess, WorkerDied, inherited, take_channel

STARTING = 60.0
"""Maximum seconds for the start of a process."""

GRACE = 1.0
"""Seconds past its limit after which a call counts as hanging: in them the process shows where each thread is."""


class Worker:
    """A process that starts with the first call, and anew with the first call after it ended.

    before: code that it runs first, before it imports restride. variables: set in its environment.
    """

    def __init__(self, before: str = "", **variables: str) -> None:
        self._command = [sys.executable, "-c", f"{before}\nfrom worker import serve\nserve()"]
        self._variables = variables
        self._process: JsonProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def call(self, seconds: float, function: str, *arguments: Any) -> Any:
        """What ``module.name`` returns for the arguments, within ``seconds``.

        Raises:
            WorkerDied: CRASHED if the process ended, as by an error; TIMEOUT if it hangs. It is gone in both cases.
        """
        try:
            if self._process is None:
                self._process = JsonProcess(self._command, inherited() | self._variables)
                self._process.answer(time.monotonic() + STARTING, "it does not start")
            self._process.send({"function": function, "arguments": arguments, "seconds": seconds})
            return self._process.answer(time.monotonic() + seconds + GRACE, "it hangs")["returned"]
        except WorkerDied as died:
            last_words = "" if self._process is None or died.verdict is Verdict.CRASHED else self._process.end_message()
            self.kill()
            raise WorkerDied(died.verdict, f"{died}\n{last_words}".rstrip()) from None

    def end(self, seconds: float) -> None:
        """Let the process end by itself.

        Raises:
            WorkerDied: it does not end within ``seconds``, or not with exit code 0.
        """
        if self._process is not None:
            message = self._process.end(seconds)
            self.kill()
            if message:
                raise WorkerDied(Verdict.CRASHED, message)

    def kill(self) -> None:
        """End the process at once, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process = None


def serve() -> None:
    """The main function of the process: a call and its answer for each line on standard input."""
    commands, answer = take_channel()
    answer({"started": True})
    for line in commands:
        call = json.loads(line)
        module, _, name = call["function"].partition(".")
        faulthandler.dump_traceback_later(call["seconds"])
        returned = attrgetter(name)(importlib.import_module(module))(*call["arguments"])
        faulthandler.cancel_dump_traceback_later()
        answer({"returned": vars(returned) if is_dataclass(returned) else returned})
