"""Eight threads run random operations on devices that they share, open or close, while locks yield at random.

    python lab/reliability/threads.py [--small] [--seed N] [--write FILE.json]

Each scenario runs in a process of its own, with a time limit: a crash or a hang is a figure that missed its goal. What
a thread reads must equal, bit for bit, what the same operation gave before without other threads, where it was judged
against the numpy reference. Every lock that restride makes lets other threads run at random moments just before it is
taken, while it is held and after it is released, and Python changes threads every few bytecodes.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import random
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from figures import Figure, run_part

Array = np.ndarray[Any, Any]

THREADS = 8
_YIELDS = 1 / 4
"""The probability that a lock lets other threads run, each time that it may."""

_MAX_YIELD = 2e-4
_SWITCH_INTERVAL = 1e-5
_MAX_BYTES = 1 << 20
"""Maximum bytes of a source or destination that several threads work on."""


class ShakenLock:
    """A lock that randomly lets other threads run before it is acquired, while it is held and after it is released."""

    rng = random.Random(0)

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    @classmethod
    def shake(cls) -> None:
        """Sleep for a moment with probability ``_YIELDS``, which releases the GIL."""
        if cls.rng.random() < _YIELDS:
            time.sleep(cls.rng.random() * _MAX_YIELD)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """See ``threading.Lock``."""
        self.shake()
        taken: bool = self._lock.acquire(blocking, timeout)
        if taken:
            self.shake()
        return taken

    def release(self) -> None:
        """See ``threading.Lock``."""
        self._lock.release()
        self.shake()

    def _is_owned(self) -> bool:
        """See ``threading.RLock``."""
        return bool(self._lock._is_owned())  # noqa: SLF001 - delegates to the same method

    def locked(self) -> bool:
        """See ``threading.Lock``."""
        return bool(self._lock.locked())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def shake_locks(seed: int) -> None:
    """Make every lock that a module of restride creates a ``ShakenLock``. Call it before restride is imported."""
    ShakenLock.rng.seed(seed)
    for name in ("Lock", "RLock"):
        setattr(threading, name, _shaken(getattr(threading, name)))
    sys.setswitchinterval(_SWITCH_INTERVAL)


def _shaken(make: Callable[[], Any]) -> Callable[[], Any]:
    def make_lock() -> Any:
        caller = sys._getframe(1).f_globals["__name__"]  # noqa: SLF001 - the one seam of all modules' locks
        return ShakenLock(make()) if caller.partition(".")[0] == "restride" else make()

    return make_lock


@dataclass(frozen=True, eq=False)
class Problem:
    """A case and its setting, with the source and destination buffers as they are after it ran alone."""

    case: Any
    setting: Any
    source: Array
    destination: Array

    def ran_on(self, device: Any) -> Callable[[], bool]:
        """Start the case on ``device``; return a function that reads both buffers and checks them."""
        from restride_conformance.run.ways import start

        read = start(self.case, self.setting, device).read

        def is_right() -> bool:
            source, destination = read()
            return np.array_equal(source, self.source) and np.array_equal(destination, self.destination)

        return is_right


def problems(device: Any, count: int, seed: int, part: str) -> list[Problem]:
    """``count`` random problems of the soak with their answers: each is run alone here and judged by the reference."""
    from cases import drawn_cases

    from restride_conformance import Verdict
    from restride_conformance.check import judge
    from restride_conformance.run.ways import start
    from restride_conformance.setting import prepare

    judged: list[Problem] = []
    rng = random.Random(seed)
    while len(judged) < count:
        for case in islice(drawn_cases(rng.randrange(1 << 32), part), 10):  # of one stretch each
            if max(case.src.nbytes, case.dst.nbytes) > _MAX_BYTES:
                continue
            setting = prepare(case)
            source, destination = start(case, setting, device).read()
            outcome = judge(case, setting, source, destination)
            if outcome.verdict is Verdict.FAILED:
                raise AssertionError(f"{outcome.message}\nagain: restride test --repro '{case}'")
            judged.append(Problem(case, setting, source, destination))
    gc.freeze()  # the catalogue, which every collection would walk through
    return judged[:count]


def shown(error: BaseException) -> str:
    """An error as one line of text."""
    return f"{type(error).__name__}: {error}"


class Crew:
    """A group of threads, the number of operations that they did, and the errors that they raised."""

    def __init__(self, rng: random.Random, *, daemon: bool = False) -> None:
        self._daemon = daemon
        self.wrong: list[str] = []
        self.operations = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._rng = rng

    def start(self, work: Callable[[random.Random], int]) -> None:
        """Start one more thread; ``work`` returns how many operations it did."""
        rng = random.Random(self._rng.random())

        def run() -> None:
            try:
                operations = work(rng)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is a figure
                self.wrong.append(shown(error))
                return
            with self._lock:
                self.operations += operations

        self._threads.append(threading.Thread(target=run, daemon=self._daemon))
        self._threads[-1].start()

    def join(self) -> None:
        """Wait for all threads."""
        for thread in self._threads:
            thread.join()

    def counts(self) -> Iterator[tuple[str, int]]:
        """Print the errors; yield how many operations and errors there were."""
        for wrong in self.wrong:
            print(wrong, file=sys.stderr)
        yield "operations", self.operations
        yield "wrong", len(self.wrong)


class Sharing:
    """The work of a thread on devices that all threads share: problems, batches, streams, and disturbing the others."""

    def __init__(self, devices: list[Any], shared: list[Problem]) -> None:
        import restride as rs

        self.devices = devices
        self.problems = shared
        self.dropped: deque[Any] = deque(maxlen=16)  # other threads drop what a thread leaves here
        rng = np.random.default_rng(1)
        self.images = [rng.integers(0, 256, (12 + n, 17 - n, 3), np.uint8) for n in range(6)]
        self.recipes = [rs.Preprocess((8, 9), device=device, depth=1 + n) for n, device in enumerate(devices)]
        self.batches = [array.numpy() for array in self.recipes[0].stream(self.images, 2)]

    def work(self, rng: random.Random, operations: int) -> int:
        """Run operations one after the other, some in batches, and raise if a result is wrong."""
        count = 0
        while count < operations:
            number = rng.randrange(len(self.devices))
            kind = rng.randrange(16)
            if kind == 0:
                self._stream(number)
                count += len(self.batches)
            elif kind < 4:
                some = [rng.choice(self.problems) for _ in range(rng.randint(2, 8))]
                with self.devices[number].batch():
                    checks = [self._started(problem, number) for problem in some]
                    if rng.random() < 1 / 2:
                        checks.pop()()
                for check in checks:
                    check()
                count += len(some)
            else:
                self._started(rng.choice(self.problems), number)()
                count += 1
            self._disturb(rng, number)
        return count

    def _started(self, problem: Problem, number: int) -> Callable[[], None]:
        is_right = problem.ran_on(self.devices[number])

        def check() -> None:
            if not is_right():
                raise AssertionError(f"not what it gave alone: restride test --repro '{problem.case}'")
            self.dropped.append(is_right)  # with its tensors

        return check

    def _stream(self, number: int) -> None:
        for result, expected in zip(self.recipes[number].stream(self.images, 2), self.batches, strict=True):
            if not np.array_equal(result.numpy(), expected):
                raise AssertionError("a stream gave other images than it gave alone")
            self.dropped.append(result)

    def _disturb(self, rng: random.Random, number: int) -> None:
        """Do something else that a thread of a program may do meanwhile."""
        import restride as rs
        from restride.ops import perform

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
            cycle: list[Any] = [rs.asarray(self.images[0], device=self.devices[number])]
            cycle.append(cycle)  # for the collector, in whichever thread it runs
        elif kind == 5 and type(self.devices[0].runtime).__name__ == "VulkanRuntime":
            self.dropped.append(rs.asarray(self.images[1], device=self.devices[0]).numpy(copy=False))


def staging_device(runtime: str) -> Any:
    """A device that copies between the host and its memory, as one with memory of its own does."""
    import restride as rs
    from restride.runtime.kompute.runtime import KomputeRuntime
    from restride.runtime.vulkan.runtime import VulkanRuntime

    info = rs.devices()[0]
    return rs.Device.over(
        VulkanRuntime(info, staging=True) if runtime == "vulkan" else KomputeRuntime(info, in_place=False)
    )


def share(runtime: Any, devices: int, operations: int, seed: int, part: str) -> Iterator[tuple[str, int]]:
    """``THREADS`` threads run so many operations each on ``devices`` devices, the second of which stages bytes."""
    import restride as rs

    with ExitStack() as opened:
        several = [opened.enter_context(rs.Device(runtime=runtime))]
        if devices > 1:
            several.append(opened.enter_context(staging_device(runtime)))
        shared = problems(several[0], min(operations, 150), seed, part)
        sharing = Sharing(several, shared)
        crew = Crew(random.Random(seed))
        for _ in range(THREADS):
            crew.start(lambda rng: sharing.work(rng, operations))
        crew.join()
    yield from crew.counts()


def close(runtime: Any, _devices: int, rounds: int, seed: int, part: str) -> Iterator[tuple[str, int]]:
    """A device is closed, by one thread or several, while others use it: they get right results, or ``DeviceLost``."""
    import restride as rs

    rng = random.Random(seed)
    with rs.Device(runtime=runtime) as alone:
        shared = problems(alone, 6, seed, part)
    crew = Crew(rng)
    lost: list[int] = []
    for _ in range(rounds):
        device = rs.Device(runtime=runtime)
        sharing = Sharing([device], shared)
        closing = threading.Event()
        ran: list[int] = []

        def use(thread_rng: random.Random, sharing: Sharing = sharing, ran: list[int] = ran) -> int:
            try:
                while True:
                    ran.append(sharing.work(thread_rng, 1))
            except rs.DeviceLost:
                lost.append(1)
            return 0

        def stop(thread_rng: random.Random, device: rs.Device = device, closing: threading.Event = closing) -> int:
            closing.wait()
            with ExitStack() as stack:
                if thread_rng.random() < 1 / 4:
                    with suppress(rs.DeviceLost):  # the other one was first
                        stack.enter_context(device.batch())
                device.close()
            return 0

        for _ in range(THREADS - 2):
            crew.start(use)
        for _ in range(2):
            crew.start(stop)
        least = rng.randrange(1, 4 * THREADS)
        while len(ran) < least and not crew.wrong:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.02)
        closing.set()
        crew.join()
        crew.operations += sum(ran)
    yield from crew.counts()
    yield "unended", rounds * (THREADS - 2) - len(lost)


def start(runtime: Any, _devices: int, rounds: int, seed: int, _part: str) -> Iterator[tuple[str, int]]:
    """The first devices of a process are opened by ``THREADS`` threads at once, and the default one is one device."""
    import os

    import restride as rs

    os.environ["RESTRIDE_RUNTIME"] = runtime
    crew = Crew(random.Random(seed))
    ready = threading.Barrier(THREADS)
    defaults: set[int] = set()
    image = np.arange(24, dtype=np.int32).reshape(4, 6)

    def work(_rng: random.Random) -> int:
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
        return 2 * rounds

    for _ in range(THREADS):
        crew.start(work)
    crew.join()
    rs.default_device().close()
    if len(defaults) > 1:
        crew.wrong.append(f"{len(defaults)} devices are the default one")
    yield from crew.counts()


def leave(runtime: Any, _devices: int, count: int, seed: int, part: str) -> Iterator[tuple[str, int]]:
    """The process ends while daemon threads use a device: the exit code is what counts."""
    import restride as rs

    device = rs.Device(runtime=runtime)
    sharing = Sharing([device], problems(device, 6, seed, part))
    crew = Crew(random.Random(seed), daemon=True)
    ran: list[int] = []

    def work(rng: random.Random) -> int:
        while True:
            ran.append(sharing.work(rng, 1))

    for _ in range(THREADS):
        crew.start(work)
    while len(ran) < count and not crew.wrong:
        time.sleep(0.002)
    crew.operations = sum(ran)
    yield from crew.counts()


SCENARIOS = {"share": share, "close": close, "start": start, "leave": leave}
"""``scenario(runtime, devices, count, seed, part)``: counts by name; ``count`` is operations a thread, or rounds."""


def outcome_of(scenario: str, runtime: str, devices: int, count: int, seed: int, part: str, limit: int) -> Any:
    """Run a scenario in its own process; return its counts, or how it failed to end within ``limit`` seconds."""
    words = [scenario, runtime, *map(str, (devices, count, seed)), part, str(limit)]
    process = subprocess.run(
        [sys.executable, __file__, "--scenario", *words],
        capture_output=True,
        text=True,
        timeout=limit + 60,
        check=False,
    )
    print(process.stderr, end="", file=sys.stderr)
    if process.returncode:
        return f"exit code {process.returncode}: {process.stderr.strip().splitlines()[-1:]}"
    return json.loads(process.stdout)


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """The figures of every scenario on both runtimes."""
    part, limit = ("smoke", 60) if small else ("ci", 3000)
    operations, rounds = (12, 2) if small else (1000, 40)
    for runtime in ("vulkan", "kompute"):
        for scenario, devices, count, what in (
            ("share", 1, operations, f"{THREADS} threads on one device, results that differ from those alone"),
            ("share", 2, operations, f"{THREADS} threads on two devices, results that differ from those alone"),
            ("close", 1, rounds, f"a device closed while {THREADS - 2} threads use it, wrong results and errors"),
            ("start", 1, min(rounds, 10), f"first devices opened by {THREADS} threads at once, wrong results"),
            ("leave", 1, min(operations, 100), f"a process that ends while {THREADS} threads work, wrong results"),
        ):
            counted = outcome_of(scenario, runtime, devices, count, seed, part, limit)
            name = f"threads, {runtime}: {what}"
            if isinstance(counted, str):
                yield Figure(name, "0", counted, met=False)
                continue
            wrong = counted["wrong"] + counted.get("unended", 0)
            yield Figure(name, "0", f"{wrong} of {counted['operations']:,}", wrong == 0 < counted["operations"])


def run_scenario(words: list[str]) -> None:
    """The main function of a scenario's process: run it and print its counts."""
    name, runtime, devices, count, seed, part, limit = words
    faulthandler.enable()
    faulthandler.dump_traceback_later(float(limit), exit=True)
    shake_locks(int(seed))
    counted = dict(SCENARIOS[name](runtime, int(devices), int(count), int(seed), part))
    print(json.dumps(counted))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--scenario"]:
        run_scenario(sys.argv[2:])
    else:
        run_part(measure)
