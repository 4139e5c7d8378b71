"""The runner: cases one at a time in worker processes, a fresh one after each crash and hang."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Self

import numpy as np

from restride.errors import DeviceError, RestrideError
from restride_conformance.case import Case
from restride_conformance.outcome import Aftermath, Outcome, Verdict, worst
from restride_conformance.run.host import Host
from restride_conformance.run.worker_process import COMMAND, WorkerDied, WorkerProcess
from restride_conformance.target import Target

_SHOWN = 5  # differing bytes that a message lists

REOPENING = 10.0
"""Seconds in which a device that was open before may open again: a GPU that is reset is gone for a few."""

_PAUSE = 0.5


class Runner:
    """Runs cases on a target; nothing that a driver does reaches the process that asks.

    Args:
        target: what to run on.
        command: what starts a worker, for tests.
    """

    def __init__(self, target: Target, command: Sequence[str] = COMMAND) -> None:
        self.target = target
        self._command = command
        self._workers: dict[str, WorkerProcess] = {}
        self._aftermath: list[Aftermath] = []
        self._has_opened = False

    @property
    def host(self) -> Host:
        """What the cases run on; opens the device.

        Raises:
            RestrideError: as ``run``.
        """
        return self._worker("first").host

    @property
    def aftermath(self) -> tuple[Aftermath, ...]:
        """What went wrong behind a case that had its outcome, so that no outcome has it.

        A worker that died before the next case was on the device, or messages and a crash when ``close`` closed the
        device.
        """
        return tuple(self._aftermath)

    def run(self, case: Case, mode: Literal["correctness", "perf"] = "correctness") -> Outcome:
        """The outcome of a case, whatever the driver does; ``"perf"``: with its speed, if it passed.

        Raises:
            RestrideError: a device that cannot be opened, with the worker's own error; the validation layer is not
                installed (DeviceNotFound); or two workers in a row ended or hung before the device was open
                (DeviceError). A device that was open before has some seconds to come back.
        """
        return self._run("first", case, mode)

    def run_bitwise(self, case: Case) -> Outcome:
        """The worse outcome of a case in two processes, FAILED if the destinations differ in any byte.

        Raises:
            RestrideError: as ``run``.
        """
        with TemporaryDirectory(prefix="restride-bitwise-", ignore_cleanup_errors=True) as folder:
            kept = [Path(folder, name) for name in ("first", "second")]
            outcomes = [self._run(file.name, case, "correctness", file) for file in kept]
            verdict = worst(outcome.verdict for outcome in outcomes)
            worse = next(outcome for outcome in outcomes if outcome.verdict is verdict)
            worse = replace(worse, seconds=sum(outcome.seconds for outcome in outcomes))
            difference = _difference(*kept) if all(file.exists() for file in kept) else ""
        if not difference or worst((verdict, Verdict.FAILED)) is not Verdict.FAILED:
            return worse
        message = f"{difference}\n{worse.message}" if worse.message else difference
        return replace(worse, verdict=Verdict.FAILED, message=message)

    def close(self) -> None:
        """Let the workers close their devices, a few seconds at most; a second call does nothing.

        Ctrl-C meanwhile ends them at once.
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
            worker = self._workers[name] = self._started()
        return worker

    def _started(self) -> WorkerProcess:
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
    """How two files differ; empty where they do not."""
    one, other = (np.fromfile(file, np.uint8) for file in (first, second))
    if one.size != other.size:
        return f"two runs differ: {one.size} bytes and {other.size} bytes"
    places = np.flatnonzero(one != other)
    if not places.size:
        return ""
    shown = [f"byte {place} is 0x{one[place]:02x} and 0x{other[place]:02x}" for place in places[:_SHOWN].tolist()]
    return f"two runs differ: {places.size} of {one.size} bytes: {', '.join(shown)}"
