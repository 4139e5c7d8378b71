"""Run cases one at a time in a worker process, under time limits, with a new process after each crash or hang.

Other modules use ``Runner``; ``WorkerProcess`` is the parent's side of ``restride_conformance.run.worker``.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, Self, cast

import numpy as np

from restride import errors
from restride.cli.process import ending
from restride.errors import DeviceError, RestrideError
from restride.runtime.loader import VALIDATION_LAYER
from restride_conformance.case import Case
from restride_conformance.record import Aftermath, Host, Outcome, Target, Verdict, worst
from restride_conformance.run.validation import Layer
from restride_conformance.run.worker import GRACE, preparation, too_late

COMMAND = (sys.executable, "-m", "restride_conformance.run.worker")

_SHOWN = 5  # most differing bytes that a message lists

REOPENING = 10.0
"""Seconds during which to retry opening a device that was open before: a GPU vanishes for a few while it is reset."""

_PAUSE = 0.5

_CLOSING = 5.0
"""Most seconds to wait for a worker to close its device."""

_DYING = 0.5
"""Most seconds to wait for the end of a process that was killed, or closed its channel."""

_SAID_BYTES = 8192
_BEFORE, _AFTER = 6, 10
"""Lines of stderr that a message shows before and after the first line of faulthandler's report."""


class Runner:
    """Runs cases on a target in other processes, so that a driver cannot harm this one.

    Args:
        target: the driver, device and runtime to run on.
        command: the command that starts a worker; tests replace it.
    """

    def __init__(self, target: Target, command: Sequence[str] = COMMAND) -> None:
        self.target = target
        self._command = command
        self._workers: dict[str, WorkerProcess] = {}
        self._aftermath: list[Aftermath] = []
        self._has_opened = False

    @property
    def host(self) -> Host:
        """The device and software that the cases run on; opens the device.

        Raises:
            RestrideError: as ``run``.
        """
        return self._worker("first").host

    @property
    def aftermath(self) -> tuple[Aftermath, ...]:
        """Faults that showed after a case had its outcome, so that no outcome includes them.

        These are workers that died before the next case reached the device, and validation messages and crashes while
        ``close`` closed the device.
        """
        return tuple(self._aftermath)

    def run(self, case: Case, mode: Literal["correctness", "perf"] = "correctness") -> Outcome:
        """The outcome of a case, whatever the driver does; in mode ``"perf"`` with its speed, if it passed.

        Raises:
            RestrideError: the device cannot be opened, with the worker's own error; the validation layer is not
                installed (DeviceNotFound); or two workers in a row ended or hung before the device was open
                (DeviceError). Opening a device that was open before is retried for ``REOPENING`` seconds.
        """
        return self._run("first", case, mode)

    def run_bitwise(self, case: Case) -> Outcome:
        """Run a case in two processes: the worse outcome, at best FAILED if the destinations differ in any byte.

        Raises:
            RestrideError: as ``run``.
        """
        with TemporaryDirectory(prefix="restride-bitwise-", ignore_cleanup_errors=True) as folder:
            files = [Path(folder, name) for name in ("first", "second")]
            outcomes = [self._run(file.name, case, "correctness", file) for file in files]
            verdict = worst(outcome.verdict for outcome in outcomes)
            worse = next(outcome for outcome in outcomes if outcome.verdict is verdict)
            worse = replace(worse, seconds=sum(outcome.seconds for outcome in outcomes))
            difference = _difference(*files) if all(file.exists() for file in files) else ""
        if not difference or worst((verdict, Verdict.FAILED)) is not Verdict.FAILED:
            return worse
        message = f"{difference}\n{worse.message}" if worse.message else difference
        return replace(worse, verdict=Verdict.FAILED, message=message)

    def close(self) -> None:
        """Let the workers close their devices, for at most a few seconds; a second call does nothing.

        Ctrl-C during the wait kills them at once.
        """
        try:
            for worker in self._workers.values():
                worker.close()
                self._aftermath += worker.aftermath
        finally:
            for worker in self._workers.values():
                worker.kill()
            self._workers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, name: str, case: Case, mode: str, keep: Path | None = None) -> Outcome:
        try:
            return self._worker(name).run(case, mode, keep)
        except WorkerDied:
            self._aftermath += self._workers.pop(name).aftermath
            return self._worker(name).run(case, mode, keep)

    def _worker(self, name: str) -> WorkerProcess:
        worker = self._workers.get(name)
        if worker is None or not worker.is_usable:
            worker = self._workers[name] = self._start_worker()
        return worker

    def _start_worker(self) -> WorkerProcess:
        deadline = time.monotonic() + (REOPENING if self._has_opened else 0)
        deaths = 0
        while True:
            try:
                worker = WorkerProcess(self.target, self._command)
            except (WorkerDied, RestrideError) as failure:
                deaths += isinstance(failure, WorkerDied)
                if time.monotonic() < deadline:
                    time.sleep(_PAUSE)
                elif isinstance(failure, RestrideError):
                    raise
                elif deaths > 1:
                    raise DeviceError(
                        f"no worker process opens the device, in {deaths} attempts: {failure}"
                    ) from failure
            else:
                self._has_opened = True
                return worker


def _difference(first: Path, second: Path) -> str:
    """A message about how two files differ; empty if they do not."""
    one, other = (np.fromfile(file, np.uint8) for file in (first, second))
    if one.size != other.size:
        return f"two runs differ: {one.size} bytes and {other.size} bytes"
    places = np.flatnonzero(one != other)
    if not places.size:
        return ""
    shown = [f"byte {place} is 0x{one[place]:02x} and 0x{other[place]:02x}" for place in places[:_SHOWN].tolist()]
    return f"two runs differ: {places.size} of {one.size} bytes: {', '.join(shown)}"


class WorkerDied(Exception):
    """Raised when the worker ended, or its time ran out, before it answered. verdict: CRASHED or TIMEOUT."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


class WorkerProcess:
    """A worker process, from opening its device to its end.

    host: the device and software of the worker.
    is_usable: True while it waits for a case. A worker that crashed, hung or was interrupted is killed and never
        usable again.
    aftermath: faults that showed after its last case, for example while it closed the device.

    Raises:
        WorkerDied: the process ended before its device was open, or did not open it in time.
        RestrideError: the device does not open, or the validation layer is not installed.
    """

    def __init__(self, target: Target, command: Sequence[str] = COMMAND) -> None:
        self.is_usable = False
        self.aftermath: tuple[Aftermath, ...] = ()
        self._target = target
        self._case_before: Case | None = None
        self._layer = None if target.validate is None else Layer(target.validate)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(target, self._layer),
                # Its own process group: Ctrl-C reaches only the parent, and a kill reaches the driver's children.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except OSError as error:
            if self._layer is not None:
                self._layer.close()
            raise WorkerDied(Verdict.CRASHED, f"{shlex.join(command)}: {error}") from error
        self._commands, answers, stderr = (
            cast("IO[bytes]", stream) for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stderr_tail = bytearray()
        self._readers = [
            (threading.Thread(target=read, args=(stream,), daemon=True), stream)
            for read, stream in ((self._read_answers, answers), (self._listen, stderr))
        ]
        for thread, _ in self._readers:
            thread.start()
        try:
            self.host = self._handshake()
        except BaseException:
            self.kill()
            raise
        self.is_usable = True

    def run(self, case: Case, mode: str, keep: Path | None = None) -> Outcome:
        """The outcome of one case. After TIMEOUT and CRASHED the process is dead.

        Raises:
            WorkerDied: the process died of something before this case; ``aftermath`` describes it.
        """
        self.is_usable = False
        if self._process.poll() is None:
            self._stderr_tail.clear()
        command = {"case": str(case), "mode": mode, "keep": None if keep is None else str(keep)}
        try:
            outcome = self._with_messages(self._run(case, command))
        except WorkerDied as died:
            self.aftermath = (*self._late_messages(), Aftermath(self._case_before, died.verdict, str(died)))
            self.kill()
            raise
        except BaseException:
            self.kill()
            raise
        self._case_before = case
        if outcome.verdict in (Verdict.TIMEOUT, Verdict.CRASHED):
            self.kill()
        else:
            self.is_usable = True
        return outcome

    def close(self) -> None:
        """Let the worker close its device, and kill it if it does not; a second call does nothing."""
        try:
            if self.is_usable:
                self.aftermath = self._close_and_collect()
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process and its children at once; a second call does nothing."""
        self.is_usable = False
        if self._process.returncode is None:
            self._kill_group()
            self._wait(_DYING)
        self._hang_up()
        for thread, stream in self._readers:
            thread.join(_DYING)
            if not thread.is_alive():
                stream.close()
        if self._layer is not None:
            self._layer.close()

    def _handshake(self) -> Host:
        limit = preparation(self._target)
        self._send(asdict(self._target))
        hello = self._answer(time.monotonic() + limit, f"the device was not open after {limit:g} s")
        if "error" in hello:
            raise getattr(errors, hello["error"])(hello["message"])
        if self._layer is not None:
            self._layer.require_running()
        return Host.from_hello(hello)

    def _close_and_collect(self) -> tuple[Aftermath, ...]:
        self._hang_up()
        self._wait(_CLOSING)
        late = self._late_messages()
        if self._process.returncode != 0:
            late.append(Aftermath(self._case_before, Verdict.CRASHED, self._end_message()))
        return tuple(late)

    def _run(self, case: Case, command: dict[str, Any]) -> Outcome:
        begin = time.monotonic()
        limit, on_host = self._target.timeout, preparation(self._target, case)
        deadline = begin + on_host
        late = f"its inputs were not ready after {on_host:g} s: it never reached the device"
        has_started = False
        try:
            self._send(command)
            while "outcome" not in (answer := self._answer(deadline, late)):
                has_started = True
                if "started" in answer:
                    deadline, late = time.monotonic() + limit + GRACE, too_late(limit)
                else:
                    deadline, late = time.monotonic() + on_host, f"its results were not judged after {on_host:g} s"
            return Outcome.from_record(answer["outcome"])
        except WorkerDied as died:
            if died.verdict is Verdict.CRASHED and not has_started and self._case_before is not None:
                raise  # the case was still in numpy, which does not crash: the driver did, after the previous case
            return Outcome(case, died.verdict, str(died), time.monotonic() - begin)

    def _with_messages(self, outcome: Outcome) -> Outcome:
        """The outcome, at best FAILED if the validation layer has messages; the first case gets those of opening."""
        messages = self._messages()
        if not messages:
            return outcome
        lines = [f"{VALIDATION_LAYER} has {len(messages)} message{'s' * (len(messages) > 1)}", *messages]
        lines = [outcome.message, *lines] if outcome.message else lines
        return replace(outcome, verdict=worst([outcome.verdict, Verdict.FAILED]), message="\n".join(lines))

    def _messages(self) -> list[str]:
        return [] if self._layer is None else self._layer.messages()

    def _late_messages(self) -> list[Aftermath]:
        return [Aftermath(self._case_before, Verdict.FAILED, message) for message in self._messages()]

    def _send(self, message: dict[str, Any]) -> None:
        # If the worker is dead, reading its answer will show that.
        with suppress(OSError):
            self._commands.write(json.dumps(message).encode() + b"\n")
            self._commands.flush()

    def _answer(self, deadline: float, late: str) -> dict[str, Any]:
        """The worker's next answer. A line without its newline means that the worker died.

        Raises:
            WorkerDied: the worker died, did not answer by ``deadline`` (with the message ``late``), or sent no JSON.
        """
        try:
            line = self._answers.get(timeout=min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
        except queue.Empty:
            raise WorkerDied(Verdict.TIMEOUT, late) from None
        if not line.endswith(b"\n"):
            self._wait(_DYING)
            raise WorkerDied(Verdict.CRASHED, self._end_message())
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise WorkerDied(Verdict.CRASHED, f"the worker answered {line[:80]!r}") from None
        return answer

    def _wait(self, seconds: float) -> None:
        """Wait at most ``seconds`` for the process to end; it may still work, or hang inside the kernel."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            self._kill_group()  # kill its children at once, before the system reuses its process id

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    def _hang_up(self) -> None:
        with suppress(OSError):
            self._commands.close()

    def _end_message(self) -> str:
        """A message about how the process ended, with its last lines on stderr."""
        code = self._process.returncode
        end = "does not end" if code is None else ending(code)
        return "\n".join([f"the worker {end}", *self._last_words()])

    def _last_words(self) -> list[str]:
        """The last lines on stderr, or those around the start of faulthandler's report if there is one."""
        if self._process.returncode is not None:
            self._readers[1][0].join(_DYING)
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
            del self._stderr_tail[:-_SAID_BYTES]


def _environment(target: Target, layer: Layer | None) -> dict[str, str]:
    """The environment of a worker: this process's variables and module path, the target's driver and layer."""
    variables = {
        **os.environ,
        # An empty entry means the current folder; PYTHONSAFEPATH keeps the worker from putting its own folder first.
        "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path),
        "PYTHONSAFEPATH": "1",
    }
    if target.driver is not None:
        # Loaders before 1.3.207 know only VK_ICD_FILENAMES.
        variables |= {"VK_DRIVER_FILES": target.driver, "VK_ICD_FILENAMES": target.driver}
    if layer is not None:
        return layer.environment(variables)
    if target.runtime == "kompute":
        # kp enables the validation layer wherever it is installed, and drops its messages.
        variables.setdefault("VK_LOADER_LAYERS_DISABLE", VALIDATION_LAYER)
    return variables
