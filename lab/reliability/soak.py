"""Soak: random cases for minutes, each judged against the numpy reference, while the process's memory is watched.

    python lab/reliability/soak.py [--minutes 30] [--seed N] [--runtime vulkan|kompute] [--write FILE.json]

The minutes are shared by the runtimes. Half of the cases are those of the catalogue ci with other values, the others
are drawn as tools/make_layout_cases.py, make_arithmetic_cases.py and make_resampling_cases.py draw theirs; one in eight
runs inside ``device.batch()``. Copies and conversions must be right bit for bit, sums within the bound that is derived
for each case. A difference is shown with the command that repeats it. Until the soak ends, and after a crash,
.cache/soak-PID.txt has the case that is running; PID is the number of the process. The exit code is 1 where a case
was wrong or memory grew.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cases import drawn_cases
from figures import Figure, conclude

import restride as rs
from restride.runtime import RUNTIMES, RuntimeName
from restride_bench.scale.ways import resident
from restride_conformance import Outcome, Verdict, run_case
from restride_conformance.record import Target

RUNNING = Path(__file__).resolve().parents[2] / ".cache"
"""The folder of the files with the cases that are running, one for each process, for after a crash."""

_SHOWN_SECONDS = 15.0
_SAMPLED_SECONDS = 1.0

_MIN_DISPATCHES = 50_000
"""Goal for a run of at least thirty minutes."""

_WARM_OPERATIONS = 8000
"""Minimum operations of a run whose memory is judged: after half of them the caches of pipelines and plans are full."""

_MAX_GROWTH = 1024
"""Largest growth of memory in KiB per 1,000 operations, which is 1 KiB each."""


@dataclass
class Soaked:
    """The results of a run on one runtime.

    samples: tuples of the operations so far, bytes of the process, bytes allocated from the driver, bytes in use.
    """

    runtime: RuntimeName
    seconds: float = 0.0
    operations: int = 0
    dispatches: int = 0
    pipelines: int = 0
    skipped: int = 0
    wrong: list[Outcome] = field(default_factory=list)
    samples: list[tuple[int, int, int, int]] = field(default_factory=list)

    def growth(self, column: int) -> float:
        """Growth in KiB per 1,000 operations: the slope of a line through the samples of the run's second half."""
        late = np.array([sample for sample in self.samples if sample[0] * 2 >= self.operations], np.float64)
        if len(late) < 2:
            return 0.0
        return float(np.polyfit(late[:, 0], late[:, column], 1)[0]) * 1000 / 1024

    def __str__(self) -> str:
        _, resident, allocated, in_use = self.samples[-1]
        return (
            f"{self.runtime}: {self.operations:,} operations, {self.dispatches:,} dispatches, {self.pipelines:,} "
            f"pipelines, {len(self.wrong)} wrong in {self.seconds / 60:.1f} minutes; process {resident >> 20} MiB, "
            f"device {allocated >> 20} MiB, in use {in_use >> 10} KiB"
        )


def soak(runtime: RuntimeName, seconds: float, seed: int, part: str = "ci") -> Soaked:
    """Run random cases on one device for ``seconds``."""
    soaked = Soaked(runtime)
    rng = random.Random(~seed)
    RUNNING.mkdir(exist_ok=True)
    file = RUNNING / f"soak-{os.getpid()}.txt"
    with file.open("w", encoding="utf-8") as running, rs.Device(runtime=runtime) as device:
        started = time.perf_counter()
        sampled = shown = 0.0
        for case in drawn_cases(seed, part):
            running.seek(0)
            running.write(f"{case}\n")
            running.truncate()
            running.flush()
            with device.batch() if rng.random() < 1 / 8 else nullcontext():
                outcome = run_case(case, device)
            soaked.operations += 1
            soaked.skipped += outcome.verdict is Verdict.SKIPPED
            if outcome.verdict in (Verdict.FAILED, Verdict.UNIMPLEMENTED):
                soaked.wrong.append(outcome)
                print(
                    f"WRONG, operation {soaked.operations:,} of seed {seed}: {outcome.message}\n"
                    f"again: {Target(runtime=runtime).repro(case)}",
                    file=sys.stderr,
                    flush=True,
                )
            soaked.seconds = time.perf_counter() - started
            over = soaked.seconds >= seconds
            if over or soaked.seconds >= sampled:
                sampled = soaked.seconds + _SAMPLED_SECONDS
                counters = device.counters()
                soaked.dispatches, soaked.pipelines = counters.dispatches, counters.pipelines
                sizes = resident("VmRSS"), counters.bytes_allocated, counters.bytes_in_use
                soaked.samples.append((soaked.operations, *sizes))
            if over or soaked.seconds >= shown:
                shown = soaked.seconds + _SHOWN_SECONDS
                print(f"soak: {soaked}", file=sys.stderr, flush=True)
            if over:
                break
    file.unlink()
    return soaked


def figures(minutes: float, seed: int, runtimes: tuple[RuntimeName, ...], part: str = "ci") -> Iterator[Figure]:
    """Soak the runtimes, which share the minutes equally, and yield the figures of each."""
    dispatches = 0
    for runtime in runtimes:
        soaked = soak(runtime, minutes * 60 / len(runtimes), seed, part)
        dispatches += soaked.dispatches
        checked = soaked.operations - soaked.skipped
        yield Figure(
            f"soak, {runtime}: operations that differ from the reference",
            "0",
            f"{len(soaked.wrong)} of {checked:,} in {soaked.seconds / 60:.1f} minutes",
            not soaked.wrong and checked > 0,
        )
        if soaked.operations < _WARM_OPERATIONS:
            continue
        for column, what in ((1, "memory of the process"), (2, "memory asked of the driver"), (3, "memory in use")):
            growth = soaked.growth(column)
            yield Figure(
                f"soak, {runtime}: growth of the {what}, KiB in 1,000 operations",
                f"{_MAX_GROWTH} at most",
                f"{growth:.0f}, at the end {soaked.samples[-1][column] >> 10:,}",
                growth <= _MAX_GROWTH,
            )
    if minutes >= 30:
        yield Figure(
            f"soak: dispatches in {minutes:g} minutes",
            f"{_MIN_DISPATCHES:,} at least",
            f"{dispatches:,}",
            dispatches >= _MIN_DISPATCHES,
        )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="of all runtimes together (default: 30)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runtime", choices=RUNTIMES, help="this one alone (default: both)")
    parser.add_argument("--write", type=Path, metavar="FILE.json", help="write the figures there, too")
    options = parser.parse_args()
    if not options.minutes > 0:
        parser.error(f"--minutes must be more than 0, not {options.minutes:g}")
    faulthandler.enable()
    conclude(figures(options.minutes, options.seed, (options.runtime,) if options.runtime else RUNTIMES), options.write)


if __name__ == "__main__":
    main()
