"""``restride selftest``: check and measure a device, and write two files to share, JSON and HTML."""

from __future__ import annotations

import argparse
import platform
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from restride.command.files import require_places, require_unlinked
from restride.command.options import whole_number
from restride.command.parser import Commands, add_command, add_device_option
from restride.command.process import Exit, UsageError, say, tell, why_ended
from restride.command.stopwatch import warnings
from restride.progress import Progress
from restride_conformance.record import Outcome
from restride_conformance.report import Record
from restride_conformance.report.file import json_text, write_text
from restride_conformance.report.page import page
from restride_conformance.run.process import JsonProcess, WorkerDied, inherited
from restride_conformance.run.runner import CLOSING
from restride_measure.selftest.checks import MESSAGE
from restride_measure.selftest.nameless import nameless
from restride_measure.selftest.parts import GRACE, PARTS, TOTAL, Row
from restride_measure.selftest.table import read, table

_DESCRIPTION = f"""\
Takes at most {TOTAL / 60:.0f} minutes on your device. Checks what is installed, runs cases (under the Khronos
validation layer if it is installed), and tries a tensor over 4 GiB and memory shared with CUDA, where there is room,
and torch. Measures the device's own copy, a short benchmark, transfers, calls, and which kernels are faster. Each part
runs in a process of its own: one that fails, crashes or hangs costs itself alone, and the files and the exit code say
so. Leave the machine alone meanwhile.

It writes FILE.json and FILE.html for others to see. They name the device, the driver, the processor and versions, but
no user, host, path or environment variable. Nothing else is stored: only `restride tune` keeps faster kernels.
docs/devices.md is the table of the files that were sent, and says how to send yours.

examples:
  restride selftest                                   into restride-selftest.json and .html
  restride selftest --device radeon --out rx6900.json
  restride selftest --small                           does it all work? (the times mean nothing)
  restride selftest --table docs/devices/*.json       the table of several files, as Markdown"""

COMMAND = (sys.executable, "-m", "restride_measure.selftest.worker")
"""The command that starts the process of a part, whose name is appended; tests replace it."""

_MIN = 2.0
"""A part that would get fewer seconds than this does not run."""

_WORST_FIRST = (Exit.INTERNAL, Exit.DEVICE_FAILED, Exit.CHECK_FAILED, Exit.NO_DEVICE)

_UNCHANGED = ("format", "kind", "case", "group", "verdict", "figures", "device", "versions", "platform", "processor")
"""Keys whose texts come from restride or the driver, and stay even if a user or a host has the same name."""


def add_commands(commands: Commands) -> None:
    """Add ``selftest``."""
    parser = add_command(commands, "selftest", _DESCRIPTION, run)
    add_device_option(parser)
    text = "the JSON file; the .html page is beside it (default: %(default)s)"
    parser.add_argument("--out", metavar="FILE", type=Path, default=Path("restride-selftest.json"), help=text)
    text = "small sizes and few cases, to see in a moment if it works"
    parser.add_argument("--small", action="store_true", help=text)
    text = "number that draws the cases of ci; the file of a selftest names it (default: a new one each time)"
    parser.add_argument("--seed", type=whole_number("seed", 0, (1 << 32) - 1), metavar="N", help=text)
    parser.add_argument("--table", metavar="FILE", type=Path, nargs="+", help="only print the table of these files")


def run(arguments: argparse.Namespace) -> int:
    """Run the parts and write both files after each, so that a crash of this process loses only the current part."""
    if arguments.table is not None:
        say(table(map(read, arguments.table)), has_lines=True)
        return Exit.OK
    path: Path = arguments.out
    if path.suffix.lower() != ".json":
        raise UsageError(f"--out must be a .json file, beside which the page is written, got {str(path)!r}")
    files = path, path.with_suffix(".html")
    require_places(*files)
    require_unlinked(files[1])
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    selftest = _Selftest(files, {"selector": arguments.device, "is_small": arguments.small, "seed": seed})
    selftest.run()
    for each in files:
        tell(f"wrote {each}")
    return next((code for code in _WORST_FIRST if code in selftest.codes), Exit.OK)


class _Selftest:
    """A selftest in progress, which writes its results so far to both files.

    job: the fields of every part's ``Job``, except for its seconds.
    codes: exit codes of the problems found so far.
    """

    def __init__(self, files: tuple[Path, Path], job: dict[str, Any]) -> None:
        self._files = files
        self._job = job
        self._started = time.monotonic()
        self.codes: set[Exit] = set()
        self._record = Record.begin(
            "selftest",
            None,
            started=datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0),  # the day says enough
            command="restride selftest",
            options={"runtime": "vulkan", "small": job["is_small"]},
            platform=f"{platform.system()} {platform.machine()}",  # without the machine's network name
            not_run={row.name: "the selftest ended before it" for row in PARTS},
        )

    def run(self) -> None:
        """Run every part that can run."""
        self._record = replace(self._record, warnings=tuple(warnings()))  # first, because the parts are a load
        for warning in self._record.warnings:
            tell(f"warning: {warning}")
        for number, row in enumerate(PARTS, 1):
            left = TOTAL - GRACE - CLOSING - (time.monotonic() - self._started)
            seconds = min(row.seconds, left)
            if seconds < _MIN:
                self._finish(row, {"not_run": f"the {TOTAL:.0f} s of the selftest were over"})
                continue
            tell(f"part {number} of {len(PARTS)}, {row.title}, at most {seconds:.0f} s ...")
            self._finish(row, self._answer(row, seconds))
            if row.name == "device" and self._record.device is None:
                return

    def _answer(self, row: Row, seconds: float) -> dict[str, Any]:
        """Run a part in a process of its own; returns its answer, with a problem if it crashed or took too long."""
        answer: dict[str, Any] = {"problems": []}
        try:
            with Progress(None, sys.stderr, f"{row.title}: ") as bar:
                answer, end = run_part(row.name, {**self._job, "seconds": seconds}, bar.step)
        except WorkerDied as died:
            end = str(died)
        except BaseException as error:  # an interrupt, or a fault in restride
            self._add(row.name, None, why_ended(error))
            self._write()
            raise
        if end:
            answer["problems"] = [*answer.get("problems", ()), [Exit.DEVICE_FAILED, f"{row.title}: {end}"[:MESSAGE]]]
        return answer

    def _finish(self, row: Row, answer: dict[str, Any]) -> None:
        """Keep and print the answer of a part, and write the files."""
        not_run = {name: why for name, why in self._record.not_run.items() if name != row.name}
        if "outcomes" in answer:
            found = (*self._record.outcomes, *map(Outcome.from_record, answer["outcomes"]))
            device = answer.get("device") or self._record.device
            self._record = replace(self._record, outcomes=found, selected=len(found), device=device)
            say(f"{row.name}: {answer['text']}", has_lines=True)
        if "not_run" in answer:
            not_run[row.name] = answer["not_run"]
            say(f"{row.name}: not run: {answer['not_run']}")
        self._record = replace(self._record, not_run=not_run)
        for code, message in answer.get("problems", ()):
            self._add(row.name, Exit(code), message)
        self._write()

    def _add(self, part: str, code: Exit | None, message: str) -> None:
        say(f"problem: {message}", has_lines=True)
        self._record = replace(self._record, problems=(*self._record.problems, {"case": part, "message": message}))
        self.codes |= set() if code is None else {code}

    def _write(self) -> None:
        record = replace(self._record, seconds=round(time.monotonic() - self._started, 1))
        values = nameless(record.values(), _UNCHANGED)
        record = Record.from_values(values, map(Outcome.from_record, values["outcomes"]))
        for path, content in zip(self._files, (json_text(record), page(record)), strict=True):
            write_text(path, content)


def run_part(name: str, job: dict[str, Any], step: Callable[[str], None]) -> tuple[dict[str, Any], str]:
    """Run a part in another process; returns its answer, and how the process ended if it failed after answering.

    Raises:
        WorkerDied: the process crashed, or was killed because it had not answered ``GRACE`` seconds after its time.
    """
    most = job["seconds"] + GRACE
    process = JsonProcess((*COMMAND, name), inherited())
    try:
        process.send(job)
        deadline = time.monotonic() + most
        while "step" in (answer := process.answer(deadline, f"not done after {most:.0f} s")):
            step(answer["step"])
        return answer, process.end(CLOSING)
    finally:
        process.kill()
