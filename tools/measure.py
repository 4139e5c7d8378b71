"""Measure the speed that the README claims: restride against numpy and itself, interleaved in one run, medians.

    python tools/measure.py [--repeat N]

Operations write into a destination made beforehand, as numpy's do, and wait for the device. Data are random bits.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import restride as rs

WARM_UP = 4
"""Rounds before the clock counts: the first dispatches compile, and a shape is specialised when it comes again."""

BUSY = 0.5
"""Load average per core above which somebody else's work is in the figures."""


@dataclass(frozen=True)
class Workload:
    """One row: an operation of restride and what it is measured against, and the bytes that it moves.

    is_met: whether the medians of the two, the other's first, in seconds, meet the goal.
    against: what the other is.
    """

    name: str
    goal: str
    is_met: Callable[[float, float], bool]
    nbytes: int
    with_other: Callable[[], object]
    with_restride: Callable[[], object]
    against: str = "numpy"


def reorder_into(x: rs.Tensor, desc: rs.TensorDesc | str) -> Callable[[], object]:
    """A reorder into a tensor made beforehand, and the wait for it."""
    out = rs.empty(desc, x.device)

    def operation() -> None:
        rs.reorder(x, out=out)
        x.device.wait()

    return operation


def layout_workloads(device: rs.Device) -> list[Workload]:
    """Tiles and blocks against this library's own transpose of as many bytes; partial tiles against whole ones."""
    generator = np.random.default_rng(0)

    def reorder(src: str, dst: str) -> Callable[[], object]:
        desc = rs.TensorDesc.parse(src)
        noise = generator.integers(0, 256, desc.nbytes, np.uint8)
        return reorder_into(rs.from_buffer(noise, desc, device), dst)

    def both_ways(name: str, plain: str, packed: str, transposed: tuple[int, int]) -> list[Workload]:
        text = f"f32[{transposed[0]},{transposed[1]}]"
        transpose = reorder(text + "{1,0}", text + "{0,1}")
        nbytes = 2 * rs.TensorDesc.parse(plain).nbytes
        goal = "within 1.5x"
        return [
            Workload(
                f"{name} {way}",
                goal,
                lambda other, ours: ours <= 1.5 * other,
                nbytes,
                transpose,
                operation,
                "transpose",
            )
            for way, operation in (("in", reorder(plain, packed)), ("out", reorder(packed, plain)))
        ]

    def partial(name: str, plain: str, tiles: str, whole: str) -> list[Workload]:
        nbytes = 2 * rs.TensorDesc.parse(plain).nbytes
        return [
            Workload(
                f"{name} {way}",
                "within 1.3x",
                lambda other, ours: ours <= 1.3 * other,
                nbytes,
                reorder(*(text + end for text, end in zip((whole, whole), ends, strict=True))),
                reorder(*(text + end for text, end in zip((plain, plain), ends, strict=True))),
                "whole tiles",
            )
            for way, ends in (("in", ("", tiles)), ("out", (tiles, "")))
        ]

    return [
        *both_ways("f32[4096,4096] T(8,128)", "f32[4096,4096]", "f32[4096,4096]{1,0:T(8,128)}", (4096, 4096)),
        *both_ways("f32[8,64,56,56] nChw16c", "f32[8,64,56,56]", "f32[8,64,56,56]:nChw16c", (512, 3136)),
        *both_ways("f32[512,512,3,3] OIhw16i16o", "f32[512,512,3,3]", "f32[512,512,3,3]:OIhw16i16o", (1536, 1536)),
        *partial("f32[4091,4076] T(8,128)", "f32[4091,4076]", "{1,0:T(8,128)}", "f32[4096,4096]"),
        *partial("f32[4091,4077] T(8,128)", "f32[4091,4077]", "{1,0:T(8,128)}", "f32[4096,4096]"),
        *partial("f32[8,60,56,56] nChw16c", "f32[8,60,56,56]", ":nChw16c", "f32[8,64,56,56]"),
    ]


def workloads(device: rs.Device) -> list[Workload]:
    """Plain copies, transposes and slices against numpy."""
    generator = np.random.default_rng(0)

    run = generator.random((64 << 18,), np.float32)
    run_copy = np.empty_like(run)
    square = generator.random((4096, 4096), np.float32)
    square_copy = np.empty_like(square)
    image = generator.random((1, 3, 1080, 1920), np.float32)
    half = np.empty((1, 3, 540, 960), np.float32)
    small = rs.asarray(generator.random((1, 3, 8, 8), np.float32), device=device)
    small_nhwc = np.empty((1, 8, 8, 3), np.float32)
    small_host = small.numpy()
    on_device = {
        name: rs.asarray(array, device=device) for name, array in (("run", run), ("square", square), ("image", image))
    }
    return [
        Workload(
            "copy f32 64 MiB",
            "half of numpy's speed",
            lambda theirs, ours: ours <= 2 * theirs,
            2 * run.nbytes,
            lambda: np.copyto(run_copy, run),
            reorder_into(on_device["run"], rs.TensorDesc("f32", run.shape)),
        ),
        Workload(
            "transpose f32 4096x4096",
            "faster than numpy",
            lambda theirs, ours: ours < theirs,
            2 * square.nbytes,
            lambda: np.copyto(square_copy, square.T),
            reorder_into(on_device["square"].permute(1, 0), rs.TensorDesc("f32", square.shape)),
        ),
        Workload(
            "[..., ::2, ::2] f32 1x3x1080x1920",
            "within 2x of numpy",
            lambda theirs, ours: ours <= 2 * theirs,
            2 * half.nbytes,
            lambda: np.copyto(half, image[..., ::2, ::2]),
            reorder_into(on_device["image"][..., ::2, ::2], rs.TensorDesc("f32", half.shape)),
        ),
        Workload(
            "NCHW->NHWC f32 1x3x8x8",
            "under 400 us",
            lambda _, ours: ours < 400e-6,
            2 * small_nhwc.nbytes,
            lambda: np.copyto(small_nhwc, small_host.transpose(0, 2, 3, 1)),
            reorder_into(small.permute(0, 2, 3, 1), rs.TensorDesc("f32", small_nhwc.shape)),
        ),
    ]


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
        rows = workloads(device) + layout_workloads(device)
        times = measure(rows, repeat)
        for row in rows:
            print(result_line(row, *(statistics.median(side) for side in times[row.name])))
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
