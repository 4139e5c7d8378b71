"""``restride demo``: a photograph cropped, flipped, re-laid-out and resized on the device, each result checked."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import restride
from restride.cli.arguments import Commands, add_device_options, open_device, runtime_name
from restride.cli.comparison import Array, Comparison
from restride.cli.contact_sheet import draw_contact_sheet
from restride.cli.exits import EXPLAINED, Exit, UsageError
from restride.cli.files import pillow
from restride.cli.photograph import load_photograph
from restride.cli.tour import Step, Tour, make_tour
from restride.device import Device

_DESCRIPTION = """\
Crops, flips, re-lays-out and resizes a photograph on the device, in u8 and f32, checks every result against the
numpy reference, and draws a contact sheet. Without PHOTO it takes one that scikit-image ships."""

_MOST_RUNS = 15
_LONGEST = 0.3
"""Seconds that one step is measured for."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a step gave. milliseconds: the median of several runs, from the call until the device is done."""

    step: Step
    result: Array
    milliseconds: float
    dispatches: int
    comparison: Comparison

    @property
    def gigabytes_per_second(self) -> float:
        """10^9 bytes read and written a second."""
        return self.step.nbytes / self.milliseconds / 1e6


def add_commands(commands: Commands) -> None:
    """Add ``demo``."""
    parser = commands.add_parser(
        "demo", help="a photograph through every operation, checked", description=_DESCRIPTION, epilog=EXPLAINED
    )
    parser.add_argument("photo", metavar="PHOTO", nargs="?", type=Path, help="a .png or .jpg of yours")
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        default=Path("demo_out"),
        help="for the contact sheet (default: %(default)s)",
    )
    add_device_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the tour, print its table, draw the contact sheet."""
    start = time.perf_counter()
    with open_device(arguments) as device:
        info = device.info
        heading = f"{info.name}, driver {info.driver} {info.driver_version}, runtime {runtime_name(device)}"
        print(f"restride {restride.__version__} on {heading}", flush=True)
        pillow()
        photo = load_photograph(arguments.photo)
        if photo.note:
            print(f"restride: {photo.title}: {photo.note}", file=sys.stderr)
        sheet = _sheet_path(arguments.out)
        tour = make_tour(photo.pixels, device)
        _print_header(photo.title, photo.pixels, tour)
        outcomes = [_print_outcome(number, step, device) for number, step in enumerate(tour.steps, 1)]
        fusion_is_right = _print_fusion(tour, outcomes[-1], device)
    passed = sum(outcome.comparison.passed for outcome in outcomes)
    print("allowed: 0 is bit for bit; sums in u8 may differ by 1, but only next to a rounding tie")
    print(f"{passed} of {len(outcomes)} results are right, in {time.perf_counter() - start:.1f} s", flush=True)
    draw_contact_sheet(sheet, photo, outcomes, heading)
    print(f"contact sheet: {sheet}")
    return Exit.OK if passed == len(outcomes) and fusion_is_right else Exit.CHECK_FAILED


def _sheet_path(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from error
    return folder / "contact_sheet.png"


def _print_header(title: str, pixels: Array, tour: Tour) -> None:
    height, width, _ = pixels.shape
    print(f"photograph: {title}, {width} x {height}, u8 and f32 (divided by 255)")
    print(f"crop + flip + HWC->CHW is {tour.crop.text}: a view, no dispatch, no copy\n")
    print(f"{'':4}{'operation':<44}{'dispatches':>10}{'ms':>9}{'GB/s':>7}{'difference':>12}{'allowed':>9}")


def _print_outcome(number: int, step: Step, device: Device) -> Outcome:
    print(f"{number:>2}  {step.name + ', ' + step.src.dtype.name:<44}", end="", flush=True)
    outcome = _measured(step, device)
    comparison = outcome.comparison
    print(
        f"{outcome.dispatches:>10}{outcome.milliseconds:>9.2f}{outcome.gigabytes_per_second:>7.2f}"
        f"{comparison.difference:>12.2g}{comparison.allowed:>9.2g}  {'OK' if comparison.passed else 'FAILED'}"
    )
    print(f"    {step.src.desc} -> {step.dst.desc}", flush=True)
    if not comparison.passed:
        print(f"    {comparison}")
    return outcome


def _measured(step: Step, device: Device) -> Outcome:
    before = device.counters().dispatches
    step.run()
    dispatches = device.counters().dispatches - before
    result = step.dst.numpy()
    return Outcome(step, result, _milliseconds((step,), device), dispatches, step.check(result))


def _milliseconds(steps: tuple[Step, ...], device: Device) -> float:
    """The median of several runs of all steps one after the other, the device warmed up before."""
    seconds: list[float] = []
    while len(seconds) < _MOST_RUNS and (len(seconds) < 3 or sum(seconds) < _LONGEST):
        device.wait()
        start = time.perf_counter()
        for step in steps:
            step.run()
        device.wait()
        seconds.append(time.perf_counter() - start)
    return 1000 * statistics.median(seconds)


def _print_fusion(tour: Tour, fused: Outcome, device: Device) -> bool:
    """The last row again, step by step: the same bits, through two results in memory."""
    before = device.counters().dispatches
    for step in tour.unfused:
        step.run()
    dispatches = device.counters().dispatches - before
    is_equal = np.array_equal(tour.unfused[-1].dst.numpy(), fused.result)
    milliseconds = _milliseconds(tour.unfused, device)
    print(
        f"\nfused: {fused.dispatches} dispatch, {fused.milliseconds:.2f} ms; one operation after the other: "
        f"{dispatches} dispatches, {milliseconds:.2f} ms; {'bits equal, OK' if is_equal else 'bits differ, FAILED'}"
    )
    return is_equal
