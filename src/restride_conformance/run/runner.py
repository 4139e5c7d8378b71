"""Run cases one at a time in a worker process, under time limits, with a new process after each crash or hang.

Other modules use ``Runner``; ``WorkerProcess`` is the parent's side of ``restride_conformance.run.worker``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from restride import errors
from restride.errors import DeviceError, RestrideError
from restride.runtime.loader import VALIDATION_LAYER
from restride.runtime.manifests import DRIVER_VARIABLES
from restride_conformance.case import Case
from restride_conformance.record import Aftermath, Host, Outcome, RunMode, Target, Verdict, worst
from restride_conformance.run.groups import in_groups
from restride_conformance.run.process import JsonProcess, WorkerDied, inherited
from restride_conformance.run.tally import Tally
from restride_conformance.run.validation import Layer
from restride_conformance.run.worker import GRACE, preparation, too_late

COMMAND = (sys.executable, "-m", "restride_conformance.run.worker")

_WORKERS = ("first", "second")
"""The names of the processes that repetitions run in, in turn; a case that runs once runs in the first."""

REOPENING = 10.0
"""A device that was open before is tried again for this many seconds: a GPU vanishes for a few while it is reset."""

_PAUSE = 0.5

CLOSING = 5.0
"""Maximum wait in seconds for a worker to close its device."""


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
        self._is_abandoned = False

    @property
    def host(self) -> Host:
        """The device and software that the cases run on; opens the device.

        Raises:
            RestrideError: as ``run``.
        """
        return self._worker(_WORKERS[0]).host

    @property
    def aftermath(self) -> tuple[Aftermath, ...]:
        """Faults that showed after a case had its outcome, so that no outcome includes them.

        These are workers that died before the next case reached the device, and validation messages and crashes while
        ``close`` closed the device.
        """
        return tuple(self._aftermath)

    def run(self, case: Case, mode: RunMode = "correctness") -> Outcome:
        """The outcome of a case, whatever the driver does; in mode ``"perf"`` with its speed, if it passed.

        If the target repeats, it is the outcome of all repetitions, in two processes in turn: FLAKY if their verdicts
        or the bytes of the destination are not alike.

        Raises:
            RestrideError: the device cannot be opened, with the worker's own error; the validation layer is not
                installed (DeviceNotFound); or two workers in a row ended or hung before the device was open
                (DeviceError). Opening a device that was open before is retried for ``REOPENING`` seconds.
        """
        if self.target.repeat == 1:
            return self._run(_WORKERS[0], case, mode)
        tally = Tally("repetitions")
        with TemporaryDirectory(prefix="restride-repeat-", ignore_cleanup_errors=True) as folder:
            kept = Path(folder, "result")
            for worker in islice(cycle(_WORKERS), self.target.repeat):
                kept.unlink(missing_ok=True)
                outcome = self._run(worker, case, mode, kept)
                tally.add(outcome, np.fromfile(kept, np.uint8) if kept.exists() else None)
                if tally.is_decided:
                    break
        return tally.outcome()

    def abandon(self) -> None:
        """Kill the workers at once, also while another thread is in ``run``, which then raises ``WorkerDied``."""
        self._is_abandoned = True
        for worker in list(self._workers.values()):
            worker.kill()

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
            if self._is_abandoned:
                raise
            self._aftermath += self._workers.pop(name).aftermath
            return self._worker(name).run(case, mode, keep)

    def _worker(self, name: str) -> WorkerProcess:
        worker = self._workers.get(name)
        if worker is None or not worker.is_usable:
            worker = self._workers[name] = self._start_worker()
        if self._is_abandoned:
            worker.kill()
            raise WorkerDied(Verdict.CRASHED, "the run was broken off")
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


class WorkerProcess(JsonProcess):
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
        self._line_before: str | None = None
        self._layer = None if target.validate is None else Layer(target.validate)
        try:
            super().__init__(command, _environment(target, self._layer))
        except WorkerDied:
            if self._layer is not None:
                self._layer.close()
            raise
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
            self.aftermath = (*self._late_messages(), Aftermath(self._line_before, died.verdict, str(died)))
            self.kill()
            raise
        except BaseException:
            self.kill()
            raise
        self._line_before = str(case)
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
        super().kill()
        if self._layer is not None:
            self._layer.close()

    def _handshake(self) -> Host:
        limit = preparation(self._target)
        self.send(asdict(self._target))
        hello = self.answer(time.monotonic() + limit, f"the device was not open after {limit:g} s")
        if "error" in hello:
            of_driver = "" if self._target.driver is None else f"--driver {self._target.driver}: "
            raise getattr(errors, hello["error"])(of_driver + hello["message"])
        if self._layer is not None:
            self._layer.require_running()
        return Host.from_hello(hello)

    def _close_and_collect(self) -> tuple[Aftermath, ...]:
        end = self.end(CLOSING)
        late = self._late_messages()
        if end:
            late.append(Aftermath(self._line_before, Verdict.CRASHED, end))
        return tuple(late)

    def _run(self, case: Case, command: dict[str, Any]) -> Outcome:
        begin = time.monotonic()
        limit, on_host = self._target.timeout, preparation(self._target, case)
        deadline = begin + on_host
        late = f"its inputs were not ready after {on_host:g} s: it never reached the device"
        has_started, groups = False, ""
        try:
            self.send(command)
            while "outcome" not in (answer := self.answer(deadline, late)):
                has_started = True
                if "started" in answer:
                    groups = answer.get("groups", "")
                    deadline, late = time.monotonic() + limit + GRACE, too_late(limit)
                else:
                    deadline, late = time.monotonic() + on_host, f"its results were not judged after {on_host:g} s"
            return Outcome.from_record(answer["outcome"])
        except WorkerDied as died:
            if died.verdict is Verdict.CRASHED and not has_started and self._line_before is not None:
                raise  # the case was still in numpy, which does not crash: the driver did, after the previous case
            return in_groups(Outcome(str(case), died.verdict, str(died), time.monotonic() - begin), groups)

    def _with_messages(self, outcome: Outcome) -> Outcome:
        """The outcome, at best FAILED if the validation layer has messages; those of opening go to the first case."""
        messages = self._messages()
        if not messages:
            return outcome
        lines = [f"{VALIDATION_LAYER} has {len(messages)} message{'s' * (len(messages) > 1)}", *messages]
        lines = [outcome.message, *lines] if outcome.message else lines
        return replace(outcome, verdict=worst([outcome.verdict, Verdict.FAILED]), message="\n".join(lines))

    def _messages(self) -> list[str]:
        return [] if self._layer is None else self._layer.messages()

    def _late_messages(self) -> list[Aftermath]:
        return [Aftermath(self._line_before, Verdict.FAILED, message) for message in self._messages()]


def _environment(target: Target, layer: Layer | None) -> dict[str, str]:
    """The environment of a worker: this process's variables and module path, the target's driver and layer."""
    variables = inherited()
    if target.driver is not None:
        # Loaders before 1.3.207 know only VK_ICD_FILENAMES.
        variables |= dict.fromkeys(DRIVER_VARIABLES, target.driver)
    if layer is not None:
        return layer.environment(variables)
    if target.runtime == "kompute":
        # kp enables the validation layer wherever it is installed, and drops its messages.
        variables.setdefault("VK_LOADER_LAYERS_DISABLE", VALIDATION_LAYER)
    return variables
