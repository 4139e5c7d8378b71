"""Measure the speed that the README claims: restride against numpy and itself, interleaved in one run, medians.

    python tools/measure.py [--repeat N]

Operations write into a destination made beforehand, as numpy's do, and wait for the device. Data are random. "By
hand" is a kernel written for this one shape, in tools/bare.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time

import numpy as np
from resampling_workloads import resampling_workloads
from workloads import Workload, conversion_workloads, layout_workloads, workloads

import restride as rs

WARM_UP = 4
"""Rounds before the clock counts: the first dispatches compile."""

BUSY = 0.5
"""Load average per core above which somebody else's work is in the figures."""


def measure(rows: list[Workload], repeat: int) -> dict[str, tuple[list[float], list[float]]]:
    """Seconds of the other and of restride for each row. Every round runs all rows, so none finds its data cached."""
    times: dict[str, tuple[list[float], list[float]]] = {row.name: ([], []) for row in rows}
    for round_number in range(WARM_UP + repeat):
        for row in rows:
            for side, operation in zip(times[row.name], (row.with_other, row.with_restride), strict=True):
                start = time.perf_counter()
                operation()
                if round_number >= WARM_UP:
                    side.append(time.perf_counter() - start)
        if sys.stderr.isatty():
            print(f"\rround {round_number + 1} of {WARM_UP + repeat}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=21, help="timed rounds of each row (default: %(default)s)")
    repeat = parser.parse_args().repeat
    with rs.Device() as device:
        print(f"{device.info.name}, {device.info.driver} {device.info.driver_version}; numpy {np.__version__}{load()}")
        print(
            f"{'workload':36} {'against':11} {'ms':>9} {'restride ms':>11} {'GB/s':>6} {'ratio':>6}  "
            f"{'goal':22} verdict",
            flush=True,
        )
        for group in (
            workloads,
            layout_workloads,
            conversion_workloads,
            resampling_workloads,
        ):  # one by one: together they fill 2 GiB
            rows = group(device)
            times = measure(rows, repeat)
            for row in rows:
                medians = [statistics.median(side) for side in times[row.name]]
                print(result_line(row, *medians), flush=True)
            del rows, row
        print(memory_line(device))


def result_line(row: Workload, theirs: float, ours: float) -> str:
    """A line of the table; ``theirs`` and ``ours`` are seconds."""
    speed = f"{row.nbytes / ours / 1e9:6.2f} {ours / theirs:6.2f}"
    verdict = "met" if row.is_met(theirs, ours) else "missed"
    return f"{row.name:36} {row.against:11} {theirs * 1e3:9.3f} {ours * 1e3:11.3f} {speed}  {row.goal:22} {verdict}"


def load() -> str:
    """A warning where this machine has other work to do; empty on an idle one, and where the system does not say."""
    if not hasattr(os, "getloadavg"):
        return ""
    average, cores = os.getloadavg()[0], os.cpu_count() or 1
    if average <= BUSY * cores:
        return ""
    return f"; load average {average:.1f} on {cores} cores: other work is running: figures are too high"


def memory_line(device: rs.Device) -> str:
    """What an operation allocates beside its destination."""
    x = rs.asarray(np.random.default_rng(0).random((3, 1080, 1920), np.float32), device=device)
    device.wait()
    before = device.counters().bytes_allocated
    y = rs.resample(x, sizes=(1200, 2000))
    device.wait()
    beside = device.counters().bytes_allocated - before - y.desc.nbytes
    return f"device memory of a resample to 3x1200x2000 f32, beside its destination: {beside / 1024:.0f} KiB"


if __name__ == "__main__":
    main()
