"""Inject faults at every driver call: each call of each scenario fails in turn, with each code that it may return.

    python lab/reliability/injection.py [--small] [--seed N] [--only TEXT]

After each fault there must be a typed error or the right result; every destination untouched or complete; the same
device working again, unless it was lost; as many objects destroyed as created; and a fresh device that works. Faults
are injected in a worker process, so that a crash or a hang (ten seconds of silence, twice, since the machine may be
busy) is counted for the fault that caused it.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import kp_double
import numpy as np
import vulkan_double
from figures import Figure, run_part
from scenarios import SCENARIOS, TIMEOUT, Scenario
from work import Known, Work
from worker import Worker

import restride as rs
from restride.runtime import instance
from restride.runtime.vulkan.program import FOLDER_VARIABLE
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance.record import Verdict
from restride_conformance.run.process import WorkerDied

HANG_SECONDS = 10.0
_CRASH, _HANG, _LEAK = "crash", "hang", "alive after the device was closed"
_CRASHED = "processes that crashed after an injected fault"
_HUNG = "injected faults after which nothing happened for 10 s"
_LEAKED = "injected faults after which something created was never destroyed"
_WRONG = "injected faults after which an error, a result or a device was wrong"
_KINDS = {_CRASH: _CRASHED, _HANG: _HUNG, _LEAK: _LEAKED}
"""The figure of a violation, by the beginning of its text; other violations count as ``_WRONG``."""

_SHORT_TIMEOUT = 0.3
_CACHE_BYTES = 1000
_FEW_SCENARIOS = 5
_MAX_OF_A_WORKER = 300
"""Injections per worker process; by then llvmpipe has allocated some hundred MB."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one injection.

    fired: the fault that the call performed; empty if it was not called, or the fault does not apply to it.
    calls: names of the calls while armed. error: the type of the typed error, or empty.
    violations: requirements that were not met.
    """

    fired: str
    calls: list[str]
    error: str
    violations: list[str]
    leaks_by_design: bool = False


@dataclass(frozen=True)
class Injection:
    """The fault ``fault`` at call number ``position`` of a scenario, a call of the function ``name``."""

    scenario: str
    position: int
    name: str
    fault: str

    def __str__(self) -> str:
        return f"{self.scenario}: call {self.position}, {self.name}: {self.fault}"


class Bench:
    """Runs scenarios with the doubles in place, for ever; it keeps the correct results of each scenario."""

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        self._vulkan = vulkan_double.VulkanDouble().__enter__()
        self._kp = kp_double.KpDouble().__enter__() if find_spec("kp") else None
        self._known: dict[str, Known] = {}
        self._unraisable: list[str] = []
        sys.unraisablehook = lambda entry: self._unraisable.append(f"{type(entry.exc_value).__name__} in a finalizer")
        gc.collect()
        gc.freeze()

    def known(self, scenario: Scenario) -> Known:
        """The results of a scenario without faults, cached."""
        if scenario.name not in self._known:
            with scenario.open(TIMEOUT) as device:
                self._known[scenario.name] = Known.alone(scenario.name, scenario.work, device)
        return self._known[scenario.name]

    def inject(self, scenario: Scenario, position: int, fault: str) -> Outcome:
        """Run a scenario once with a fault at call ``position``; 0: without a fault."""
        known = self.known(scenario)
        with tempfile.TemporaryDirectory() as folder:
            self._vulkan.cache_bytes = _CACHE_BYTES if scenario.cache else 0
            os.environ[FOLDER_VARIABLE] = folder if scenario.cache else ""
            self._vulkan.lazy = scenario.lazy
            if scenario.cache == "full":
                with scenario.open(TIMEOUT) as device:
                    SCENARIOS["reorder"].work(device).run()
            if "open" in scenario.armed:
                instance._destroy_instance()  # noqa: SLF001 - creating it is one of the calls
            self._unraisable.clear()
            self._vulkan.misuses.clear()
            faulty = self._kp if scenario.sees_kp and self._kp else self._vulkan
            outcome = _Run(faulty, scenario, known).outcome(position, fault)
        violations = outcome.violations + self._vulkan.misuses + self._unraisable
        gc.collect()
        by_design = fault == "VK_TIMEOUT" and "close" in scenario.armed
        for double in (self._vulkan, self._kp):
            leaked = {} if double is None or by_design else double.leaked()
            if leaked:
                violations.append(f"{_LEAK}: {leaked}")
        try:
            self._check_fresh()
        except Exception as error:  # noqa: BLE001 - whatever it is, a fresh device does not work
            violations.append(f"a fresh device does not work: {type(error).__name__}: {error}")
        return Outcome(outcome.fired, outcome.calls, outcome.error, violations, by_design)

    @staticmethod
    def _check_fresh() -> None:
        x = np.arange(6, dtype=np.uint8)
        with rs.Device(runtime="vulkan") as device:
            if rs.reorder(rs.asarray(x, device=device)[::-1], "A->A").numpy().tolist() != x[::-1].tolist():
                raise AssertionError("its result is wrong")


class _Run:
    """One run of a scenario with one fault."""

    def __init__(self, double: Any, scenario: Scenario, known: Known) -> None:
        self._double, self._scenario, self._known = double, scenario, known
        self._violations: list[str] = []
        self._calls: list[str] = []
        self._error = ""

    def outcome(self, position: int, fault: str) -> Outcome:
        double, armed = self._double, self._scenario.armed
        device: rs.Device | None = None
        work: Work | None = None
        was_armed = False
        double.arm()
        try:
            for part in ("open", "work", "close"):
                if part in armed and not was_armed:
                    double.arm(position, fault)
                    was_armed = True
                if part == "open":
                    device = self._scenario.open(_SHORT_TIMEOUT if fault == "VK_TIMEOUT" else TIMEOUT)
                    work = None if was_armed else self._scenario.work(device)
                elif device is not None and part == "work":
                    work = work or self._scenario.work(device)
                    self._known.require_right(work.run())
                elif device is not None and part in armed:
                    device.close()
                if part == armed[-1]:
                    break
        except rs.RestrideError as error:
            self._error = type(error).__name__
        except Exception as error:  # noqa: BLE001 - a violation, of whatever type
            self._violations.append(f"{type(error).__name__}: {error}")
        self._calls = list(double.calls)
        double.disarm()
        if position == 0 and self._error:
            self._violations.append(f"{self._error} without a fault")
        if device is not None:
            self._check_afterwards(device, work)
        return Outcome(double.fired, self._calls, self._error, self._violations)

    def _check_afterwards(self, device: rs.Device, work: Work | None) -> None:
        """Check the destinations, run the work on the same device again, and close it."""
        if isinstance(device.runtime, VulkanRuntime):
            session = device.runtime._session  # noqa: SLF001 - an open device has no public time limit
            session.timeout = max(session.timeout, TIMEOUT)
        if not (self._double.is_lost or device.is_closed or self._error == "DeviceLost") and work is not None:
            try:
                for place, (out, before) in enumerate(work.destinations):
                    whole = out.buffer()
                    complete = np.array_equal(whole, self._known.right[place])
                    if not complete and not np.array_equal(whole, before):
                        self._violations.append(f"destination {place} is neither untouched nor complete: {whole[:40]}")
                self._known.require_right(work.run())
            except Exception as error:  # noqa: BLE001 - a violation, of whatever type
                self._violations.append(f"the same device does not work again: {type(error).__name__}: {error}")
        try:
            device.close()
        except Exception as error:  # noqa: BLE001 - a violation, of whatever type
            self._violations.append(f"close: {type(error).__name__}: {error}")


bench = cache(Bench)
"""The bench of this process."""


def inject(scenario: str, position: int, fault: str) -> Outcome:
    """The outcome of a fault, in a process that does nothing but inject faults."""
    return bench().inject(SCENARIOS[scenario], position, fault)


class Injector:
    """Injects in a worker process, a new one after a crash, a hang, a violation, and every 300 injections."""

    def __init__(self) -> None:
        self.worker = Worker("import injection", VK_LOADER_LAYERS_DISABLE="~all~", RESTRIDE_CHOICES="")
        self._count = 0

    def run(self, injection: Injection) -> Outcome:
        """Run an injection and return its outcome; a hang or a crash is a violation. A hang is tried a second time."""
        outcome = self._attempt(injection)
        return self._attempt(injection) if outcome.violations == [_HANG] else outcome

    def _attempt(self, injection: Injection) -> Outcome:
        arguments = injection.scenario, injection.position, injection.fault
        try:
            outcome = Outcome(**self.worker.call(HANG_SECONDS, "injection.inject", *arguments))
        except WorkerDied as died:
            what = _HANG if died.verdict is Verdict.TIMEOUT else f"{_CRASH}: {died}"
            outcome = Outcome(injection.fault, [], "", [what])
        self._count += 1
        if outcome.violations or outcome.leaks_by_design or self._count % _MAX_OF_A_WORKER == 0:
            self.worker.kill()
        return outcome


def injections_of(scenario: Scenario, calls: list[str]) -> Iterator[Injection]:
    """Every fault at every call of a scenario; ``calls`` are the names of its calls.

    Faults of the functions that resolve others are injected only in scenarios that open a device.
    """
    faults_of = kp_double.faults_of if scenario.sees_kp else vulkan_double.faults_of
    for position, name in enumerate(calls, 1):
        if name not in vulkan_double.RESOLVERS or "open" in scenario.armed:
            for fault in faults_of(name):
                yield Injection(scenario.name, position, name, fault)


class Tally:
    """Counts the outcomes of all injections; ``wrong``: violations by the name of their figure."""

    def __init__(self) -> None:
        self.injections = 0
        self.errors: Counter[str] = Counter()
        self.wrong: dict[str, list[str]] = {_CRASHED: [], _HUNG: [], _LEAKED: [], _WRONG: []}

    def add(self, injection: Injection, outcome: Outcome) -> None:
        """Count an outcome; print its violations."""
        if outcome.fired:
            self.injections += 1
            self.errors[outcome.error or "success"] += 1
        for violation in outcome.violations:
            figure = next((name for prefix, name in _KINDS.items() if violation.startswith(prefix)), _WRONG)
            self.wrong[figure].append(f"{injection}: {violation}")
            print(f"VIOLATION {injection}: {violation}", file=sys.stderr, flush=True)


def inject_all(only: str = "", sample: int = 0, seed: int = 1) -> Tally:
    """Inject every fault, or ``sample`` random ones in a few scenarios. only: in scenarios whose name contains it."""
    tally, injector = Tally(), Injector()
    rng = random.Random(seed)
    scenarios = [scenario for scenario in SCENARIOS.values() if only in scenario.name]
    if sample:
        scenarios = rng.sample(scenarios, _FEW_SCENARIOS)
    with injector.worker:
        planned: list[Injection] = []
        for scenario in scenarios:
            if scenario.sees_kp and find_spec("kp") is None:
                continue
            untouched = Injection(scenario.name, 0, "none", "")
            outcome = injector.run(untouched)
            tally.add(untouched, outcome)
            planned += injections_of(scenario, outcome.calls)
        if sample:
            planned = rng.sample(planned, min(sample, len(planned)))
        for number, injection in enumerate(planned, 1):
            tally.add(injection, injector.run(injection))
            if number % 500 == 0:
                print(f"{number:,} of {len(planned):,} injections", file=sys.stderr, flush=True)
    return tally


def measure(small: bool, seed: int) -> Iterable[Figure]:
    """The figures; small: forty injections at random."""
    tally = inject_all(sample=40 if small else 0, seed=seed)
    print(dict(tally.errors), file=sys.stderr)
    if not small:
        yield Figure("faults injected at driver calls", ">= 2,000", f"{tally.injections:,}", tally.injections >= 2000)
    for name, wrong in tally.wrong.items():
        yield Figure(name, "0", f"{len(wrong):,}", not wrong)


if __name__ == "__main__":
    if "--only" in sys.argv:
        found = inject_all(sys.argv[sys.argv.index("--only") + 1])
        print(f"{found.injections} injections, {dict(found.errors)}")
        sys.exit(any(found.wrong.values()))
    else:
        run_part(measure)
