"""Plant faults in copies of the shaders and the package, one at a time, and see which conformance cases catch each.

    python tools/mutate.py [--only TEXT] [--new] [--jobs 2] [--write docs/conformance.md]

The faults are those of tools/faults.toml. Each is planted in a temporary copy, the shaders there are compiled, and
``restride test ... -x`` runs there until the first case that does not pass. A fault that no case catches is a missing
case. Before the faults, each way of running is tried without any: what fails then proves nothing.

Exit code: 0 every fault is caught, 1 one survived, 2 one could not be judged, or the cases fail without a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULTS = Path(__file__).with_name("faults.toml")

LONGEST_SECONDS = 3600
_CAUGHT = (1, 6)
"""Exit codes of ``restride test``: a case failed; the device was lost, or hung."""

_HEADING = "## What the cases catch"
_SECTION = f"""\
{_HEADING}

`python tools/mutate.py` plants the faults of `tools/faults.toml` in copies of the shaders and of the package, one at a
time, and runs `restride test` with the arguments shown until the first case that does not pass. It is run by hand;
drivers, catalogues and faults change what catches what.

"""
"""The last section of the page that ``--write`` brings up to date."""


class FaultError(Exception):
    """A fault does not fit the source it is for, or its copy does not compile."""


@dataclass(frozen=True)
class Fault:
    """``new`` in place of ``old``, which occurs once in ``file``.

    run: the arguments of ``restride test``.
    """

    name: str
    file: str
    old: str
    new: str
    run: str = "ci"

    def plant(self, text: str) -> str:
        """``text`` of the file with the fault.

        Raises:
            FaultError: ``old`` is not there exactly once.
        """
        found = text.count(self.old)
        if found != 1:
            raise FaultError(f"{self.name!r}: its text occurs {found} times in {self.file}, not once: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Trial:
    """What became of one fault.

    code: what ``restride test`` exited with; -1: it was not run, or not to its end.
    case, verdict: of the first case that did not pass.
    reason: the first line of its message, or why there is no result.
    """

    fault: Fault
    code: int
    cases: int = 0
    seconds: float = 0.0
    case: str = ""
    verdict: str = ""
    reason: str = ""

    @property
    def result(self) -> str:
        """``caught``, ``survived``, or ``no result`` for a mutant that is no good."""
        if self.code == 0:
            return "survived"
        if self.reason.startswith("a mistake in restride"):  # a Python error is no wrong answer
            return "no result"
        return "caught" if self.code in _CAUGHT and self.case else "no result"

    def __str__(self) -> str:
        what = f"{self.verdict} {self.case}" if self.case else self.reason
        return f"{self.result:9} {self.fault.name} ({self.cases} cases, {self.seconds:.0f} s) {what}".rstrip()


def read_faults(path: Path = FAULTS) -> list[Fault]:
    """The faults of a TOML file."""
    with path.open("rb") as file:
        return [Fault(**entry) for entry in tomllib.load(file)["fault"]]


def try_fault(fault: Fault, root: Path = ROOT) -> Trial:
    """Run the cases on a copy of ``root`` with the fault in it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="restride-mutate-") as name:
        folder = Path(name)
        try:
            copy_with(fault, root, folder)
        except FaultError as error:
            return Trial(fault, -1, reason=str(error))
        report = folder / "report.json"
        command = [sys.executable, "-m", "restride", "test", *fault.run.split(), "-x", "--json", str(report)]
        # The cache is where the cases that failed last are kept.
        environment = os.environ | {"PYTHONPATH": str(folder / "src"), "XDG_CACHE_HOME": str(folder / "cache")}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LONGEST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Trial(fault, -1, seconds=LONGEST_SECONDS, reason=f"still running after {LONGEST_SECONDS} s")
        outcomes = json.loads(report.read_text(encoding="utf-8"))["outcomes"] if report.is_file() else []
        seconds = time.monotonic() - started
        bad = next((outcome for outcome in outcomes if outcome["verdict"] not in ("PASSED", "SKIPPED")), None)
        if bad is None:
            tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
            reason = f"exit code {done.returncode}: {' '.join(tail)}" if done.returncode else ""
            return Trial(fault, done.returncode, len(outcomes), seconds, reason=reason)
        reason = bad.get("message", "").partition("\n")[0]
        return Trial(fault, done.returncode, len(outcomes), seconds, bad["case"], bad["verdict"], reason)


def copy_with(fault: Fault, root: Path, folder: Path) -> None:
    """Copy shaders and package into ``folder``, plant the fault, and compile what it changes.

    Raises:
        FaultError: the fault does not fit, or a shader does not compile.
    """
    for part in ("shaders", "src"):
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    if fault.file:
        path = folder / fault.file
        path.write_text(fault.plant(path.read_text(encoding="utf-8")), encoding="utf-8")
    compiler = [sys.executable, str(root / "tools" / "compile_shaders.py")]
    folders = ["--shaders", str(folder / "shaders"), "--target", str(folder / "src" / "restride" / "spirv")]
    done = subprocess.run([*compiler, *folders], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FaultError(f"{fault.name!r} does not compile: {' '.join(done.stderr.split())}")


def controls(faults: Iterable[Fault]) -> list[Fault]:
    """No fault, once for each way of running."""
    return [Fault(f"no fault: {run}", "", "", "", run) for run in dict.fromkeys(fault.run for fault in faults)]


def try_all(faults: Sequence[Fault], jobs: int) -> list[Trial]:
    """Try each fault, ``jobs`` at a time, and print what became of it."""
    trials = []
    with ThreadPoolExecutor(jobs) as pool:
        for number, tried in enumerate(pool.map(try_fault, faults), 1):
            print(f"[{number}/{len(faults)}] {tried}", flush=True)
            trials.append(tried)
    return trials


def row(tried: Trial) -> str:
    """A trial as a row of the table."""
    fault = tried.fault
    caught = f"{tried.verdict}: `{tried.case}`" if tried.case else tried.reason.replace("|", "\\|")
    cells = (*_beginning(fault), tried.result, caught, tried.cases, f"{tried.seconds:.0f}")
    return f"| {' | '.join(map(str, cells))} |"


def rows_of(page: str, faults: Iterable[Fault]) -> dict[str, str]:
    """The rows that a page has, by name, of those ``faults`` that are as they were when they were tried."""
    lines = page.partition(_HEADING)[2].splitlines()
    beginnings = {fault.name: f"| {' | '.join(_beginning(fault))} | " for fault in faults}
    return {name: line for name, begin in beginnings.items() for line in lines if line.startswith(begin)}


def table(rows: Iterable[str]) -> str:
    """Rows as a Markdown table: what survived first, then what has no result."""
    order = ["survived", "no result", "caught"]
    lines = ["| fault | in | run | result | first case that shows it | cases | seconds |", "| --- " * 7 + "|"]
    return "\n".join([*lines, *sorted(rows, key=lambda text: order.index(text.split(" | ")[3]))]) + "\n"


def _beginning(fault: Fault) -> tuple[str, str, str]:
    return fault.name, f"`{Path(fault.file).name}`", f"`{fault.run}`"


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Plant faults and see which conformance cases catch them.")
    parser.add_argument("--only", metavar="TEXT", default="", help="faults whose name contains this, without controls")
    parser.add_argument("--new", action="store_true", help="faults that FILE has no row of, without controls")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="copies at a time (default: %(default)s)")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the rows into the table at the end of this page"
    )
    chosen = parser.parse_args(arguments)
    if chosen.new and chosen.write is None:
        parser.error("--new needs --write FILE")
    known = read_faults()
    before = rows_of(chosen.write.read_text(encoding="utf-8"), known) if chosen.write is not None else {}
    faults = [fault for fault in known if chosen.only in fault.name and not (chosen.new and fault.name in before)]
    if not faults and not chosen.new:
        parser.error(f"no fault's name contains {chosen.only!r}")
    is_part = bool(chosen.only) or chosen.new
    if not is_part and any(tried.result != "survived" for tried in try_all(controls(faults), chosen.jobs)):
        print("mutate: the cases fail without a fault, so they prove nothing", file=sys.stderr)
        return 2
    trials = try_all(faults, chosen.jobs)
    rows = {tried.fault.name: row(tried) for tried in trials}
    print(f"\n{table(rows.values())}")
    if chosen.write is not None:
        rows = before | rows
        page = chosen.write.read_text(encoding="utf-8").partition(_HEADING)[0]
        whole = table(rows[fault.name] for fault in known if fault.name in rows)
        chosen.write.write_text(page + _SECTION + whole, encoding="utf-8")
    results = {tried.result for tried in trials}
    return 1 if "survived" in results else 2 if "no result" in results else 0


if __name__ == "__main__":
    sys.exit(main())
