"""Records of `restride bench` with made-up times."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from restride_bench.report import outcome_of
from restride_conformance.report import Record
from restride_measure.run import WorkloadTimes
from restride_measure.workloads import Goal, growth, of_line, result_bytes

COPY = of_line("copy f32 1000", "copies", "reorder f32[1000] -> f32[1000]", goals=(Goal("numpy", 2.0),))
TURN = of_line(
    "transpose f32 10x20",
    "turns",
    "reorder f32[10,20] -> f32[20,10] view=.permute(1,0)",
    goals=(Goal("own copy", 1.5), Goal(seconds=400e-6), Goal("pillow")),
    rival=of_line("own copy", "turns", "reorder f32[200] -> f32[200]"),
)
DEVICE = {
    "name": "A device",
    "driver": "drv",
    "driver_version": "1.2",
    "kind": "cpu",
    "api_version": "1.3",
    "limits": {"max_buffer_range": 1 << 27},
}


RESULTS = (
    WorkloadTimes(
        COPY,
        {
            "resident": {"restride": (2e-3, 1e-3, 3e-3), "copy": (1e-3,) * 3, "numpy": (4e-3, 0.5e-3, 0.4e-3)},
            "kernel": {"restride": (1e-3,), "copy": (0.5e-3,)},
        },
    ),
    WorkloadTimes(TURN, {"resident": {"restride": (300e-6,), "copy": (30e-6,), "own copy": (200e-6,)}, "kernel": {}}),
)
"""Results of two workloads, with one peer that is installed."""


def record(results=RESULTS, **changes):
    """A record of these results, with one peer that is not installed."""
    made = Record(
        kind="bench",
        started=datetime(2026, 1, 2, tzinfo=UTC),
        command="restride bench",
        device=DEVICE,
        options={"runtime": "vulkan", "measures": ["resident", "kernel"], "repeat": 3, "small": False}
        | {"peers": {"numpy": "2.0"}},
        selected=len(results),
        platform="somewhere",
        processor="A processor, 2 cores",
        versions={"restride": "0.1"},
        warnings=("too busy",),
        not_run={"torch": "not installed: pip install torch"},
        outcomes=tuple(map(outcome_of, results)),
    )
    return replace(made, **changes)


def cells(line):
    return re.split(r"  +", line.strip())


def made_up(groups):
    """Results in which a call takes a nanosecond per byte, the device's own copy half of that, after a slower round."""
    results = []
    for workload in growth():
        if workload.group in groups:
            seconds = 1e-9 * result_bytes(workload)
            columns = {"restride": (3 * seconds, seconds), "copy": (seconds, seconds / 2)}
            results.append(WorkloadTimes(workload, {"resident": columns}))
    return results
