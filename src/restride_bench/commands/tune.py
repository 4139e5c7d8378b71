"""``restride tune``: measure which kernels are faster on a device, and store the choices for later processes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from restride.cli.parser import Commands, open_device
from restride.cli.process import EXPLAINED, Exit, UsageError
from restride.drawing.explain import columns
from restride.kernel import CANDIDATES
from restride.ops.progress import Progress
from restride.runtime import DEFAULT_TIMEOUT, DeviceInfo
from restride.runtime.choices_file import FOLDER_VARIABLE, choices_path, write_choices
from restride.runtime.instance import physical_devices
from restride_bench.surroundings import warnings
from restride_bench.tuning import ROUNDS, WORK, Tuning, tune

_DESCRIPTION = f"""\
Measures, in some seconds, which of several equivalent kernels is faster on a device, and stores the choice for this
device and driver. Every process that opens the device uses it. No result changes. Leave the machine alone meanwhile.

The file is in restride/choices of the user's cache folder, or in the folder that {FOLDER_VARIABLE} names; where that is
empty, nothing is stored or read. Remove the file to return to the usual kernels of the kind of device.

examples:
  restride tune
  restride tune --device radeon --json"""


def add_commands(commands: Commands) -> None:
    """Add ``tune``."""
    parser = commands.add_parser(
        "tune", help="choose the faster kernels for a device", description=_DESCRIPTION, epilog=EXPLAINED
    )
    parser.add_argument(
        "--device", metavar="DEVICE", help="index, or part of the name (default: RESTRIDE_DEVICE, else the best)"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object instead of the table")
    parser.set_defaults(run=run, runtime="vulkan", timeout=DEFAULT_TIMEOUT)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the times and the choices, and store them."""
    for warning in warnings():
        print(f"restride: warning: {warning}", file=sys.stderr)
    progress = Progress(sum(map(len, WORK.values())), sys.stderr)
    with open_device(arguments) as device:
        info = device.info
        print(f"restride: measuring on {info.name}, some seconds for each kind of kernel", file=sys.stderr)
        try:
            tuning = tune(device, measured=progress.step)
        finally:
            progress.clear()
    path = _store(info, tuning)
    print(json.dumps(_record(info, tuning, path), indent=2) if arguments.json else _text(info, tuning))
    where = f"wrote {path}" if path else f"nothing is kept: {FOLDER_VARIABLE} is empty, or there is no home"
    print(f"restride: {where}", file=sys.stderr)
    return Exit.OK


def _store(info: DeviceInfo, tuning: Tuning) -> Path | None:
    """Store the choices; returns the path of the file, or None if choices are not stored."""
    (identity,) = (each.pipeline_cache_id for each in physical_devices() if each.info.index == info.index)
    path = choices_path(identity)
    if path is not None:
        try:
            write_choices(path, f"{info.name}, {info.driver} {info.driver_version}", tuning.choices)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return path


def _record(info: DeviceInfo, tuning: Tuning, path: Path | None) -> dict[str, Any]:
    return {
        "device": info.name,
        "driver": f"{info.driver} {info.driver_version}",
        "clock": "device" if tuning.by_device else "host",
        "rounds": ROUNDS,
        "seconds": tuning.seconds,
        "usual": asdict(tuning.usual),
        "choices": asdict(tuning.choices),
        "file": None if path is None else str(path),
    }


def _text(info: DeviceInfo, tuning: Tuning) -> str:
    """The table with a row per candidate: its total and single milliseconds, and whether it is chosen or usual."""
    rows = [("choice", "candidate", "ms", "", "")]
    for choice, candidates in CANDIDATES.items():
        for candidate in candidates:
            each = ", ".join(f"{name} {_ms(seconds)}" for name, seconds in tuning.seconds[choice][candidate].items())
            is_chosen = getattr(tuning.choices, choice) == candidate
            words = ["chosen"] * is_chosen + ["usual"] * (getattr(tuning.usual, choice) == candidate)
            rows.append((choice, candidate, _ms(tuning.total(choice, candidate)), ", ".join(words), each))
    clock = "the device's own clock" if tuning.by_device else "the host's clock"
    heading = f"{info.name}, {info.driver} {info.driver_version}; {clock}, medians of {ROUNDS} rounds"
    return "\n".join([heading, *columns(rows, right=(2,))])


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"
