"""A process in a group of its own that answers with lines of JSON: its time limits, its end, and its last words."""

from __future__ import annotations

import faulthandler
import json
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from restride.command.process import ending
from restride_conformance.record import Verdict

_DYING = 0.5
"""Maximum seconds to wait for the end of a process that was killed, or that closed its channel."""

_READING = 5.0
"""Maximum seconds to wait for the last words of a process that has ended: they are there, unless the machine is busy,
or a child that left its group has its stderr."""

_SAID_BYTES = 8192
_TRACEBACK_LINES = 12
_BEFORE, _AFTER = 6, 10
"""How many lines of stderr a message shows before and after the first line of faulthandler's report."""


class WorkerDied(Exception):
    """Raised when the worker ended, or its time ran out, before it answered. verdict: CRASHED or TIMEOUT."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


class JsonProcess:
    """A process that takes lines of JSON on stdin and answers with lines of JSON; its last words on stderr are kept.

    Args:
        command: the program and its arguments.
        environment: all its variables; see ``inherited``.

    Raises:
        WorkerDied: the program cannot be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                # It has its own process group, so Ctrl-C reaches only the parent, and a kill also reaches the driver's
                # children.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            raise WorkerDied(Verdict.CRASHED, f"{shlex.join(command)}: {error}") from error
        self._commands, answers, stderr = (
            cast("IO[bytes]", stream) for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stderr_tail = bytearray()
        self._reported_limit = False  # faulthandler said that it ends the process at the limit
        self._readers = [
            (threading.Thread(target=read, args=(stream,), daemon=True), stream)
            for read, stream in ((self._read_answers, answers), (self._listen, stderr))
        ]
        for thread, _ in self._readers:
            thread.start()

    def kill(self) -> None:
        """Kill the process and its children at once; a second call does nothing."""
        if self._process.returncode is None:
            self._kill_group()
            self.wait(_DYING)
        self.hang_up()
        for thread, stream in self._readers:
            thread.join(_DYING)
            if not thread.is_alive():
                stream.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a line; if the process is dead, ``answer`` will notice."""
        with suppress(OSError):
            self._commands.write(json.dumps(message).encode() + b"\n")
            self._commands.flush()

    def answer(self, deadline: float, late: str) -> dict[str, Any]:
        """The worker's next answer. A line without its newline means that the worker died.

        Raises:
            WorkerDied: the worker died, did not answer by ``deadline`` (with the message ``late``), or sent no JSON.
        """
        try:
            line = self._answers.get(timeout=min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
        except queue.Empty:
            raise WorkerDied(Verdict.TIMEOUT, late) from None
        if not line.endswith(b"\n"):
            is_late = time.monotonic() >= deadline
            self.wait(_DYING)
            if self._ended_itself() or (is_late and self._process.returncode is None):
                raise WorkerDied(Verdict.TIMEOUT, late)
            raise WorkerDied(Verdict.CRASHED, self.end_message())
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise WorkerDied(Verdict.CRASHED, f"the worker answered {line[:80]!r}, which is no JSON") from None
        return answer

    def wait(self, seconds: float) -> None:
        """Wait at most ``seconds`` for the process to end; it may still work, or hang inside the kernel."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            self._kill_group()  # kill its children at once, before the system reuses its process id

    def end(self, seconds: float) -> str:
        """Close its input and wait for its end; returns a message if it does not end, or its exit code is not 0."""
        self.hang_up()
        self.wait(seconds)
        return "" if self._process.returncode == 0 else self.end_message()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    def hang_up(self) -> None:
        """Close its input, which tells it to end."""
        with suppress(OSError):
            self._commands.close()

    def end_message(self) -> str:
        """A message about how the process ended, with its last lines on stderr."""
        code = self._process.returncode
        end = "does not end" if code is None else ending(code)
        return "\n".join([f"the worker {end}", *self._last_words()])

    def _ended_itself(self) -> bool:
        """True if faulthandler ended the process at its own limit, before a parent that is short of time noticed."""
        if self._process.returncode != 1:
            return False
        self._readers[1][0].join(_READING)
        return self._reported_limit

    def _last_words(self) -> list[str]:
        """The last lines on stderr, or those around the start of faulthandler's report if there is one."""
        if self._process.returncode is not None:
            self._readers[1][0].join(_READING)
        lines = [line[:200] for line in self._stderr_tail.decode("utf-8", "replace").splitlines() if line.strip()]
        fatal = [number for number, line in enumerate(lines) if line.startswith("Fatal Python error")]
        middle = fatal[-1] if fatal else len(lines) - _AFTER
        return lines[max(0, middle - _BEFORE) : middle + _AFTER]

    def _read_answers(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._answers.put(line)
        self._answers.put(b"")

    def _listen(self, stream: IO[bytes]) -> None:
        while portion := os.read(stream.fileno(), 1 << 16):
            self._stderr_tail += portion
            # Looked for before the stacks that follow it, which may be long, push it out of the tail.
            self._reported_limit |= re.search(rb"^Timeout \(\d+:\d\d:\d\d", self._stderr_tail, re.MULTILINE) is not None
            del self._stderr_tail[:-_SAID_BYTES]


def mistake() -> str:
    """A message about the exception that is being handled, a mistake of ours: its line and the end of its traceback."""
    lines = traceback.format_exc().splitlines()[-_TRACEBACK_LINES:]
    return "\n".join([f"a mistake in restride: {lines[-1]}", *lines])


def inherited() -> dict[str, str]:
    """The environment of this process, with its module path, for another Python."""
    return {
        **os.environ,
        # An empty entry means the current folder; PYTHONSAFEPATH keeps the process from putting its own folder first.
        "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path),
        "PYTHONSAFEPATH": "1",
    }


SendAnswer = Callable[[Mapping[str, Any]], None]
"""A function that sends one answer to the parent."""


def take_channel() -> tuple[BinaryIO, SendAnswer]:
    """Take the channel to the parent: the stream of commands, and the function that sends an answer.

    Commands and answers move to other descriptors, and stdout to stderr. Ctrl-C is ignored: the parent handles it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    faulthandler.enable(all_threads=False)

    def answer(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    return commands, answer
