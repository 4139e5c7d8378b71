"""Eight threads run random operations on devices that they share, open or close, while locks yield at random.

    python lab/reliability/threads.py [--small] [--seed N] [--write FILE.json]

Each scenario runs in a process of its own, with a time limit: a crash or a hang is a figure that missed its goal. What
a thread reads must equal, bit for bit, what the same work gave before, when no other thread ran; cases were judged then
against the numpy reference. Every lock that restride makes lets other threads run at random moments (``locks.py``), and
Python changes threads every few bytecodes.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from figures import Figure, run_part
from work import IMPORTS, Known, Results, drawn, no_cases
from worker import Worker

import restride as rs
from restride.ops import perform
from restride.runtime import RUNTIMES
from restride.runtime.interface import RuntimeName
from restride.runtime.kompute.runtime import KomputeRuntime
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance.run.process import WorkerDied

THREADS = 8
Counted = dict[str, Any]
"""The number of operations of a scenario, and its errors: ``{"operations": 8, "wrong": []}``."""


class Crew:
    """A group of threads, the number of operations that they did, and the errors that they raised."""

    def __init__(self, rng: random.Random, *, daemon: bool = False) -> None:
        self._daemon = daemon
        self.wrong: list[str] = []
        self.operations = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._rng = rng

    def start(self, work: Callable[[random.Random], Iterator[int]]) -> None:
        """Start one more thread; ``work`` yields how many operations it did meanwhile."""
        rng = random.Random(self._rng.random())

        def run() -> None:
            try:
                for operations in work(rng):
                    with self._lock:
                        self.operations += operations
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is a figure
                self.wrong.append(f"{type(error).__name__}: {error}")

        self._threads.append(threading.Thread(target=run, daemon=self._daemon))
        self._threads[-1].start()

    def wait_for(self, operations: int) -> None:
        """Wait until the threads have done so many operations in all, or one raised an error."""
        while self.operations < operations and not self.wrong:
            time.sleep(0.002)

    def join(self) -> None:
        """Wait for all threads."""
        for thread in self._threads:
            thread.join()

    @property
    def counted(self) -> Counted:
        """The operations and the errors."""
        return {"operations": self.operations, "wrong": self.wrong}


def known_work(device: rs.Device, count: int, seed: int, part: str) -> list[Known]:
    """Random cases, and what is no case, with what they give alone on ``device``."""
    found = drawn(device, count, seed, part) + no_cases(device)
    gc.freeze()  # the catalogue, which every collection would walk through
    return found


class Sharing:
    """The work of a thread on devices that all threads share: known work, batches, and disturbing the others."""

    def __init__(self, devices: list[rs.Device], known: list[Known]) -> None:
        self.devices = devices
        self.dropped: deque[Any] = deque(maxlen=16)  # other threads drop what a thread leaves here
        self.image = np.random.default_rng(1).integers(0, 256, (12, 17, 3), np.uint8)
        self._works = [
            [(each, each.kind(device)) for each in known if device is devices[0] or each.name not in IMPORTS]
            for device in devices
        ]

    def work(self, rng: random.Random, operations: float = float("inf")) -> Iterator[int]:
        """Run operations one after the other, some in batches; yield how many, and raise if a result is wrong."""
        count = 0
        while count < operations:
            number = rng.randrange(len(self.devices))
            some = [rng.choice(self._works[number]) for _ in range(rng.randint(2, 8) if rng.random() < 3 / 16 else 1)]
            with self.devices[number].batch() if len(some) > 1 else ExitStack():
                reads = [(known, work.start()) for known, work in some]
                if rng.random() < 1 / 2:
                    self._check(*reads.pop())
            for read in reads:
                self._check(*read)
            yield len(some)
            count += len(some)
            self._disturb(rng, number)

    def _check(self, known: Known, read: Callable[[], Results]) -> None:
        results = read()
        known.require_right(results)
        self.dropped.append((read, results))  # with its tensors

    def _disturb(self, rng: random.Random, number: int) -> None:
        """Do something else that a thread of a program may do meanwhile."""
        kind = rng.randrange(64)
        if kind == 0:
            perform._plans.clear()  # noqa: SLF001 - several threads make the same plans anew
        elif kind == 1:
            gc.collect()
        elif kind == 2:
            self.devices[number].wait()
        elif kind == 3:
            self.devices[number].counters()
        elif kind == 4:
            cycle: list[Any] = [rs.asarray(self.image, device=self.devices[number])]
            cycle.append(cycle)  # for the collector, in whichever thread it runs
        elif kind == 5 and isinstance(self.devices[0].runtime, VulkanRuntime):
            self.dropped.append(rs.asarray(self.image, device=self.devices[0]).numpy(copy=False))


def staging_device(runtime: RuntimeName) -> rs.Device:
    """A device that copies between the host and its memory, as one with memory of its own does."""
    info = rs.devices()[0]
    return rs.Device.over(
        VulkanRuntime(info, staging=True) if runtime == "vulkan" else KomputeRuntime(info, in_place=False)
    )


def share(runtime: RuntimeName, devices: int, operations: int, seed: int, part: str) -> Counted:
    """``THREADS`` threads run so many operations each on ``devices`` devices, the second of which stages bytes."""
    with ExitStack() as opened:
        several = [opened.enter_context(rs.Device(runtime=runtime))]
        if devices > 1:
            several.append(opened.enter_context(staging_device(runtime)))
        sharing = Sharing(several, known_work(several[0], min(operations, 150), seed, part))
        crew = Crew(random.Random(seed))
        for _ in range(THREADS):
            crew.start(lambda rng: sharing.work(rng, operations))
        crew.join()
    return crew.counted


def close(runtime: RuntimeName, _devices: int, rounds: int, seed: int, part: str) -> Counted:
    """A device is closed, by one thread or several, while others use it: they get right results, or ``DeviceLost``."""
    rng = random.Random(seed)
    with rs.Device(runtime=runtime) as alone:
        known = known_work(alone, 6, seed, part)
    crew = Crew(rng)
    for _ in range(rounds):
        device = rs.Device(runtime=runtime)
        sharing = Sharing([device], known)
        closing = threading.Event()

        def use(thread_rng: random.Random, sharing: Sharing = sharing) -> Iterator[int]:
            with suppress(rs.DeviceLost):
                yield from sharing.work(thread_rng)

        def stop(
            thread_rng: random.Random, device: rs.Device = device, closing: threading.Event = closing
        ) -> Iterator[int]:
            closing.wait()
            with ExitStack() as stack:
                if thread_rng.random() < 1 / 4:
                    with suppress(rs.DeviceLost):  # the other one was first
                        stack.enter_context(device.batch())
                device.close()
            yield 0

        for number in range(THREADS):
            crew.start(use if number < THREADS - 2 else stop)
        crew.wait_for(crew.operations + rng.randrange(1, 4 * THREADS))
        time.sleep(rng.random() * 0.02)
        closing.set()
        crew.join()
    return crew.counted


def start(runtime: RuntimeName, _devices: int, rounds: int, seed: int, _part: str) -> Counted:
    """``THREADS`` threads open the first devices of a process at once; all must get the same default device."""
    os.environ["RESTRIDE_RUNTIME"] = runtime
    crew = Crew(random.Random(seed))
    ready = threading.Barrier(THREADS)
    defaults: set[int] = set()
    image = np.arange(24, dtype=np.int32).reshape(4, 6)

    def work(_rng: random.Random) -> Iterator[int]:
        ready.wait()
        device = rs.default_device()
        defaults.add(id(device))
        for _ in range(rounds):
            for own in (device, rs.Device(runtime=runtime)):
                turned = rs.reorder(rs.asarray(image, device=own), "AB->BA").numpy()
                if not np.array_equal(turned, image.T):
                    raise AssertionError(f"a transpose on a device just opened gave {turned.tolist()}")
                if own is not device:
                    own.close()
                yield 1

    for _ in range(THREADS):
        crew.start(work)
    crew.join()
    rs.default_device().close()
    if len(defaults) > 1:
        crew.wrong.append(f"{len(defaults)} devices are the default one")
    return crew.counted


def leave(runtime: RuntimeName, _devices: int, count: int, seed: int, part: str) -> Counted:
    """The process ends while daemon threads use a device: its exit code is what counts."""
    device = rs.Device(runtime=runtime)
    sharing = Sharing([device], known_work(device, 6, seed, part))
    crew = Crew(random.Random(seed), daemon=True)
    for _ in range(THREADS):
        crew.start(sharing.work)
    crew.wait_for(count)
    return crew.counted


def outcome_of(
    scenario: str, runtime: str, devices: int, count: int, seed: int, part: str, limit: float, before: str = ""
) -> Counted:
    """What a scenario counted in its own process, which runs ``before`` first; ``count``: operations each, or rounds.

    Raises:
        WorkerDied: it did not end within ``limit`` seconds, or not well.
    """
    with Worker(f"import locks; locks.shake_locks({seed})\n{before}") as worker:
        counted: Counted = worker.call(limit, f"threads.{scenario}", runtime, devices, count, seed, part)
        worker.end(limit)
    return counted


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """The figures of every scenario on both runtimes."""
    part, limit = ("smoke", 60) if small else ("ci", 3000)
    operations, rounds = (12, 2) if small else (1000, 40)
    for runtime in RUNTIMES:
        for scenario, devices, count, what in (
            ("share", 1, operations, f"{THREADS} threads on one device, results that differ from those alone"),
            ("share", 2, operations, f"{THREADS} threads on two devices, results that differ from those alone"),
            ("close", 1, rounds, f"a device closed while {THREADS - 2} threads use it, wrong results and errors"),
            ("start", 1, min(rounds, 10), f"first devices opened by {THREADS} threads at once, wrong results"),
            ("leave", 1, min(operations, 100), f"a process that ends while {THREADS} threads work, wrong results"),
        ):
            name = f"threads, {runtime}: {what}"
            try:
                counted = outcome_of(scenario, runtime, devices, count, seed, part, limit)
            except WorkerDied as died:
                print(died, file=sys.stderr)
                yield Figure(name, "0", str(died).partition("\n")[0], met=False)
                continue
            wrong, done = counted["wrong"], counted["operations"]
            print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
            yield Figure(name, "0", f"{len(wrong)} of {done:,}", not wrong and done > 0)


if __name__ == "__main__":
    run_part(measure)
