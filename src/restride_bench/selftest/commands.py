"""``restride selftest``: check and measure a device, and write two files to share, JSON and HTML."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import restride
from restride.cli.devices import cpu_model
from restride.cli.files import require_places, write_whole
from restride.cli.parser import Commands, add_command, add_device_option, open_device
from restride.cli.process import Exit, UsageError, exit_for, line_for, tell, why_ended
from restride.runtime import DEFAULT_TIMEOUT, DeviceInfo, choose, list_devices
from restride_bench.run import warnings
from restride_bench.selftest.nameless import nameless
from restride_bench.selftest.page import page
from restride_bench.selftest.parts import Part, cases, installed, kernels, speed, system
from restride_bench.selftest.table import FORMAT, VERSION, read, table

_DESCRIPTION = """\
Takes some minutes on your device: checks what is installed, runs the smoke cases (under the Khronos validation layer if
it is installed), measures which kernels are faster, and runs a short benchmark beside the device's own copy. Leave the
machine alone meanwhile. If a part fails, the files and the exit code say so.

It writes FILE.json and FILE.html for others to see. They name the device, the driver, the processor and versions, but
no user, host, path or environment variable. Nothing else is stored: only `restride tune` keeps faster kernels.
docs/devices.md is the table of the files that were sent, and says how to send yours.

examples:
  restride selftest                                   into restride-selftest.json and .html
  restride selftest --device radeon --out rx6900.json
  restride selftest --small                           does it all work? (the times mean nothing)
  restride selftest --table docs/devices/*.json       the table of several files, as Markdown"""

Result = TypeVar("Result")

_PARTS = ("installed", "cases", "kernels", "speed")

_WORST_FIRST = (Exit.DEVICE_FAILED, Exit.CHECK_FAILED, Exit.USAGE, Exit.NO_DEVICE)

_UNCHANGED = (
    "format", "part", "device", "processor", "system", "versions", "status", "subject", "catalogue", "validation",
    "counts", "verdict", "case", "clock", "used", "usual", "faster", "measures", "name",
)  # fmt: skip
"""Keys whose texts come from restride or the driver, and stay even if a user or a host has the same name."""


def add_commands(commands: Commands) -> None:
    """Add ``selftest``."""
    parser = add_command(commands, "selftest", _DESCRIPTION)
    add_device_option(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        default=Path("restride-selftest.json"),
        help="the JSON file; the .html page is beside it (default: %(default)s)",
    )
    parser.add_argument(
        "--small", action="store_true", help="small sizes and few cases, to see in a moment if it works"
    )
    parser.add_argument("--table", metavar="FILE", type=Path, nargs="+", help="only print the table of these files")
    parser.set_defaults(run=run, runtime="vulkan", timeout=DEFAULT_TIMEOUT)


def run(arguments: argparse.Namespace) -> int:
    """Run the parts and write both files after each, so that a crash of the driver loses only the current part."""
    if arguments.table is not None:
        print(table(map(read, arguments.table)))
        return Exit.OK
    path: Path = arguments.out
    if path.suffix.lower() != ".json":
        raise UsageError(f"--out is a .json file, the page lies beside it; not {str(path)!r}")
    files = path, path.with_suffix(".html")
    require_places(*files)
    selftest = _Selftest(files, arguments.small)
    selftest.run(arguments)
    for each in files:
        tell(f"wrote {each}")
    return next((code for code in _WORST_FIRST if code in selftest.codes), Exit.OK)


class _Selftest:
    """A selftest in progress, which writes its results so far to both files.

    codes: exit codes of the problems found so far.
    """

    def __init__(self, files: tuple[Path, Path], is_small: bool) -> None:
        self._files = files
        self._is_small = is_small
        self._started = time.monotonic()
        self.codes: set[Exit] = set()
        self._record: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "date": datetime.now(UTC).date().isoformat(),
            "seconds": 0.0,
            "small": is_small,
            "versions": {
                "restride": restride.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
            "system": system(),
            "processor": cpu_model(),
            "device": None,
            "problems": [],
            **dict.fromkeys(_PARTS),
        }

    def run(self, arguments: argparse.Namespace) -> None:
        """Run every part that can run."""
        selector, warned = arguments.device, warnings()
        for warning in warned:
            tell(f"warning: {warning}")
        self._part("installed", "what is installed", partial(installed, selector))
        info = self._attempt("device", lambda: choose(list_devices(), selector))
        if info is None:
            return
        self._record["device"] = _public_facts(info)
        print(f"device: {info.name} ({info.kind}), {info.driver} {info.driver_version}")
        self._part("cases", "smoke cases", partial(cases, selector, arguments.timeout, self._is_small))
        device = self._attempt("device", lambda: open_device(arguments))
        if device is None:
            return
        with device:
            self._part("kernels", "which kernels are faster", partial(kernels, device, self._is_small))
            self._part("speed", "speed", partial(speed, device, warned, self._is_small))

    def _part(self, name: str, title: str, work: Callable[[], Part]) -> None:
        tell(f"part {_PARTS.index(name) + 1} of {len(_PARTS)}, {title} ...")
        part = self._attempt(name, work)
        if part is not None:
            self._record[name] = part.record
            print(part.text, flush=True)
            for problem in part.problems:
                self._add(name, problem.exit_code, problem.message)
        self._write()

    def _attempt(self, part: str, work: Callable[[], Result]) -> Result | None:
        """The result of ``work``; None if it failed, which is recorded as a problem."""
        try:
            return work()
        except BaseException as error:
            code = exit_for(error) if isinstance(error, Exception) else None
            self._add(part, code, why_ended(error) if code is None else line_for(error))
            self._write()
            if code is None:  # a mistake of ours, or an interrupt
                raise
            return None

    def _add(self, part: str, code: Exit | None, message: str) -> None:
        print(f"problem: {message}", flush=True)
        self._record["problems"].append({"part": part, "message": message})
        self.codes |= set() if code is None else {code}

    def _write(self) -> None:
        self._record["seconds"] = round(time.monotonic() - self._started, 1)
        record = nameless(self._record, _UNCHANGED)
        text = json.dumps(record, indent=1, allow_nan=False) + "\n"
        for path, content in zip(self._files, (text, page(record)), strict=True):
            write_whole(path, content.encode("utf-8", "replace"))


def _public_facts(info: DeviceInfo) -> Mapping[str, Any]:
    """The public facts about a device, without its index and UUID, which identify it."""
    described = {key: value for key, value in asdict(info).items() if key not in {"index", "uuid"}}
    del described["limits"]["max_memory"]  # known only for an open device
    return described
