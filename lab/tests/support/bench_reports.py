"""Reports of `restride bench` with made-up times."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from restride_bench.report import Report
from restride_measure.run import Result
from restride_measure.workloads import Goal, growth, of_line, result_bytes

COPY = of_line("copy f32 1000", "copies", "reorder f32[1000] -> f32[1000]", goals=(Goal("numpy", 2.0),))
TURN = of_line(
    "transpose f32 10x20",
    "turns",
    "reorder f32[10,20] -> f32[20,10] view=.permute(1,0)",
    goals=(Goal("own copy", 1.5), Goal(seconds=400e-6), Goal("pillow")),
    rival=of_line("own copy", "turns", "reorder f32[200] -> f32[200]"),
)
DEVICE = {"name": "A device", "driver": "drv", "driver_version": "1.2", "limits": {"max_buffer_range": 1 << 27}}


def report(**changes):
    """A report of two workloads, with one peer that is installed and one that is not."""
    copied = {"restride": (2e-3, 1e-3, 3e-3), "copy": (1e-3,) * 3, "numpy": (4e-3, 0.5e-3, 0.4e-3)}
    turned = {"restride": (300e-6,), "copy": (30e-6,), "own copy": (200e-6,)}
    return replace(
        Report(
            started=datetime(2026, 1, 2, tzinfo=UTC),
            command="restride bench",
            device={"name": "A device", "driver": "drv", "driver_version": "1.2"},
            runtime="vulkan",
            platform="somewhere",
            cpu="A processor, 2 cores",
            versions={"restride": "0.1"},
            warnings=("too busy",),
            measures=("resident", "kernel"),
            notes=(),
            repeat=3,
            is_small=False,
            peers={"numpy": "2.0"},
            absent={"torch": "not installed: pip install torch"},
            results=(
                Result(COPY, {"resident": copied, "kernel": {"restride": (1e-3,), "copy": (0.5e-3,)}}),
                Result(TURN, {"resident": turned, "kernel": {}}),
            ),
            memory_beside=2048,
        ),
        **changes,
    )


def cells(line):
    return re.split(r"  +", line.strip())


def made_up(groups):
    """Results in which a call takes a nanosecond per byte, the device's own copy half of that, after a slower round."""
    results = []
    for workload in growth():
        if workload.group in groups:
            seconds = 1e-9 * result_bytes(workload)
            columns = {"restride": (3 * seconds, seconds), "copy": (seconds, seconds / 2)}
            results.append(Result(workload, {"resident": columns}))
    return replace(report(), device=DEVICE, results=tuple(results))
