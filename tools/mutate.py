"""Plant faults in copies of the shaders and the package, one at a time, and find the conformance cases that catch each.

    python tools/mutate.py [--only TEXT] [--new] [--sample 40 [--seed N]] [--jobs 2] [--resume] [--write]

The faults are those of tools/faults.toml. Each is planted in a temporary copy, whose shaders are compiled, and there
``restride test ... -x`` (or pytest, for code that no case runs) runs until the first case that does not pass: first the
case that docs/conformance.md lists for the fault, then, if it passes, the whole selection. A fault that is not caught
shows that a case is missing. Afterwards the cases that caught a fault run without one: a case that fails then too
proves nothing.

A fault whose tests are skipped for want of a judge (tests/support/judges.py) is left out, and said to be.

Each outcome is kept in .cache/mutate.jsonl at once: after a run that was stopped, ``--resume`` takes those of the same
sources, shaders, tests and faults, and tries the others.

Exit code: 0 every fault is caught or left out, 1 one survived, 2 one could not be judged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from faults import ROOT, TESTS, Fault, FaultError, read_faults

PAGE = ROOT / "docs" / "conformance.md"
KEPT = ROOT / ".cache" / "mutate.jsonl"
"""The outcomes so far, one a line, with the digest of the sources that they are of."""

SOURCES = ("src", "shaders", "tests", "lab", "tools", "conftest.py", "pyproject.toml")
"""What outcomes depend on."""

MAX_SECONDS = 3600
_CAUGHT = (1, 6)
"""Exit codes of ``restride test``: a case failed; the device was lost, or hung."""

_NO_JUDGE = re.compile(r"judge \S+( \S+)? is not installed")

_HEADING = "## What the cases catch"
_SECTION = f"""\
{_HEADING}

`python tools/mutate.py` plants the faults of `tools/faults.toml` in copies of the shaders and of the package, one at a
time, and runs `restride test` with the arguments shown until the first case that does not pass, which this table keeps.
A test of `tests/` shows what no case runs, such as `rs.stream`. `--sample 40 --seed N` tries 40 of them, and `--resume`
goes on with a run that was stopped. `tools/reduce_faults.py` judges what `--reduce` leaves of these cases.

<!-- faults: python tools/mutate.py --write -->

"""
"""The last section of the page that ``--write`` brings up to date, before its table."""
END = "\n<!-- end of faults -->\n"
"""The end of that section, and of the page."""


@dataclass(frozen=True)
class Trial:
    """The outcome of trying a fault.

    code: exit code of ``restride test``; -1: it did not run, or not to its end.
    cases: number of cases that ran. seconds: wall time.
    case, verdict: the first case that did not pass, and its verdict.
    reason: the first line of its message, or the reason why there is no result.
    place: the name of the changed file.
    """

    fault: Fault
    code: int
    cases: int = 0
    seconds: float = 0.0
    case: str = ""
    verdict: str = ""
    reason: str = ""
    place: str = ""

    @property
    def result(self) -> str:
        """``caught``, ``survived``, ``left out`` for want of a judge, or ``no result``: it could not be judged."""
        if _NO_JUDGE.fullmatch(self.reason):
            return "left out"
        if self.code == 0:
            return "survived"
        if self.reason.startswith("a mistake in restride"):  # a Python error is not a wrong answer
            return "no result"
        return "caught" if self.code in _CAUGHT and self.case else "no result"

    def __str__(self) -> str:
        what = f"{self.verdict} {self.case}" if self.case else self.reason
        return f"{self.result:9} {self.fault.name} ({self.cases} cases, {self.seconds:.0f} s) {what}".rstrip()


def try_fault(fault: Fault, case: str = "", root: Path = ROOT) -> Trial:
    """Run ``case``, if not empty, on a copy of ``root`` with the fault; if it passes, run the whole selection."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="restride-mutate-") as name:
        folder = Path(name)
        try:
            path = copy_with(fault, root, folder)
        except FaultError as error:
            return Trial(fault, -1, reason=str(error))
        ran = run_cases(fault, [case] if case else [], folder, folder)
        if case and ran.bad is None:
            ran = run_cases(fault, [], folder, folder)
        seconds = time.monotonic() - started
        if ran.bad is None:
            return Trial(fault, ran.code, len(ran.outcomes), seconds, reason=ran.reason, place=path.name)
        reason = ran.bad.get("message", "").partition("\n")[0]
        return Trial(
            fault, ran.code, len(ran.outcomes), seconds, ran.bad["case"], ran.bad["verdict"], reason, path.name
        )


def copy_with(fault: Fault, root: Path, folder: Path) -> Path:
    """Copy shaders and package into ``folder``, plant the fault, and compile what it changes.

    Returns:
        The changed file, relative to ``root``.

    Raises:
        FaultError: the fault does not fit, or a shader does not compile.
    """
    path, text = fault.plant(root)
    for part in ("shaders", "src"):
        shutil.copytree(root / part, folder / part)  # with Python's caches, so that it compiles only the changed file
    (folder / path).write_text(text, encoding="utf-8")
    for cache in (folder / path.parent / "__pycache__").glob(f"{path.stem}.*"):
        cache.unlink()
    if path.suffix != ".py":
        compiler = [sys.executable, str(root / "tools" / "compile_shaders.py")]
        folders = ["--shaders", str(folder / "shaders"), "--target", str(folder / "src" / "restride" / "spirv")]
        process = subprocess.run([*compiler, *folders], capture_output=True, text=True, check=False)
        if process.returncode:
            raise FaultError(f"{fault.name!r} does not compile: {' '.join(process.stderr.split())}")
    return path


@dataclass(frozen=True)
class Run:
    """A run of ``restride test``: its exit code, the outcomes of its cases, and the reason if it did not end well."""

    code: int
    outcomes: list[dict[str, str]]
    reason: str

    @property
    def bad(self) -> dict[str, str] | None:
        """The first outcome that is neither a pass nor a skip."""
        return next((outcome for outcome in self.outcomes if outcome["verdict"] not in ("PASSED", "SKIPPED")), None)


def run_cases(fault: Fault, cases: Sequence[str], root: Path, folder: Path) -> Run:
    """Run ``cases`` (or tests), else the selection of ``fault``, until one fails, with the sources of ``root``."""
    if (cases or fault.run.split())[0].startswith(TESTS):
        return _run_tests(cases or fault.run.split(), root)
    report, file = folder / "report.json", folder / "cases.txt"
    report.unlink(missing_ok=True)
    file.write_text("\n".join(cases), encoding="utf-8")
    selection = [str(file)] if cases else fault.run.split()
    shaders = {path.name: str(path) for path in (root / "shaders").rglob("*.comp")}
    options = [shaders.get(word, word) for word in fault.options.split()]
    command = [sys.executable, "-m", "restride", "test", *selection, *options, "-x", "--json", str(report)]
    # A cache of its own, because the list of the cases that failed last is kept there.
    ran, _ = _run(command, folder, PYTHONPATH=str(root / "src"), XDG_CACHE_HOME=str(folder / "cache"))
    outcomes = json.loads(report.read_text(encoding="utf-8"))["outcomes"] if report.is_file() else []
    return replace(ran, outcomes=outcomes)


def _run_tests(selection: Sequence[str], root: Path) -> Run:
    """Run tests of this repository until one fails; its name without parameters is the case of the outcome."""
    options = ["-x", "-q", "-rfs", "--tb=no", "-p", "no:cacheprovider"]
    ran, text = _run([sys.executable, "-m", "pytest", *options, *selection], ROOT, PYTHONPATH=str(root / "src"))
    failed = re.search(r"^FAILED ([^\s\[]+)(?:.* - (.*))?", text, re.MULTILINE)
    if failed is not None:
        return replace(ran, outcomes=[{"case": failed[1], "verdict": "FAILED", "message": failed[2] or ""}])
    missing = _NO_JUDGE.search(text)
    return ran if missing is None else replace(ran, reason=missing[0])


def _run(command: Sequence[str], folder: Path, **environment: str) -> tuple[Run, str]:
    """Run a command in ``folder``; returns the run, still without outcomes, and its stdout."""
    try:
        process = subprocess.run(
            command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=MAX_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Run(-1, [], f"still running after {MAX_SECONDS} s"), ""
    tail = (process.stderr or process.stdout).strip().splitlines()[-1:]
    reason = f"exit code {process.returncode}: {' '.join(tail)}" if process.returncode else ""
    return Run(process.returncode, [], reason), process.stdout


def try_all(faults: Sequence[Fault], cases: Mapping[str, str], jobs: int, known: Iterable[Trial] = ()) -> list[Trial]:
    """Try each fault, first with the case in ``cases`` under its name, ``jobs`` at a time, print and keep the outcomes.

    known: outcomes of faults that are not tried again.
    """
    trials = {trial.fault.name: trial for trial in known}
    left = [fault for fault in faults if fault.name not in trials]
    digest, started = digest_of_sources(), time.monotonic()
    KEPT.parent.mkdir(exist_ok=True)
    pool = ThreadPoolExecutor(jobs)
    try:
        tried = [pool.submit(try_fault, fault, cases.get(fault.name, "")) for fault in left]
        for number, future in enumerate(as_completed(tried), 1):
            trial = future.result()
            trials[trial.fault.name] = trial
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"sources": digest, **asdict(trial), "fault": trial.fault.name}) + "\n")
            minutes = (time.monotonic() - started) / number * (len(left) - number) / 60
            print(f"[{len(trials)}/{len(faults)}, {minutes:.0f} min left] {trial}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    return [trials[fault.name] for fault in faults]


def kept(faults: Iterable[Fault]) -> list[Trial]:
    """The outcomes of an earlier run for those of ``faults`` that it could judge, if the sources are still the same."""
    by_name, trials, digest = {fault.name: fault for fault in faults}, dict[str, Trial](), digest_of_sources()
    for line in KEPT.read_text(encoding="utf-8").splitlines() if KEPT.is_file() else ():
        with suppress(ValueError):  # a line that was cut as the run was killed
            record = json.loads(line)
            if record.pop("sources") == digest and record["fault"] in by_name:
                trial = Trial(**record | {"fault": by_name[record["fault"]]})
                trials[trial.fault.name] = trial
    return [trial for trial in trials.values() if trial.result != "no result"]


def digest_of_sources(root: Path = ROOT) -> str:
    """SHA-256 of the names and contents of the files of ``SOURCES``."""
    digest = hashlib.sha256()
    for part in SOURCES:
        for path in sorted([root / part, *(root / part).rglob("*")]):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def failing_without(trials: Iterable[Trial], root: Path = ROOT) -> list[str]:
    """Those of the cases that caught a fault which also fail without a fault, with the same options."""
    cases: dict[tuple[str, bool], dict[str, None]] = {}
    for trial in trials:
        if trial.result == "caught":
            cases.setdefault((trial.fault.options, trial.case.startswith(TESTS)), {})[trial.case] = None
    failing = []
    for (options, _), those in cases.items():
        with tempfile.TemporaryDirectory(prefix="restride-mutate-") as name:
            ran = run_cases(Fault("no fault", options=options), list(those), root, Path(name))
        if ran.code not in (0, 5):  # 5: all were skipped, as when only the fault makes a user's shader run
            failing.append(f"{ran.bad['case']} {options}".rstrip() if ran.bad is not None else ran.reason)
    return failing


def row(trial: Trial) -> str:
    """A trial as a row of the table."""
    caught = f"{trial.verdict}: `{trial.case}`" if trial.case else trial.reason.replace("|", "\\|")
    place = f"`{trial.fault.symbol or trial.place}`"
    return f"| {' | '.join((trial.fault.name, place, _run_of(trial.fault), trial.result, caught))} |"


def rows_of(page: str, faults: Iterable[Fault]) -> dict[str, str]:
    """The rows of a page's table by fault name, of those ``faults`` whose ``run`` and options have not changed."""
    rows = {}
    for line in page.partition(_HEADING)[2].splitlines():
        name, _, run, *_ = [*line.removeprefix("| ").split(" | "), "", "", ""]
        rows[name, run] = line
    return {fault.name: rows[key] for fault in faults if (key := (fault.name, _run_of(fault))) in rows}


def cases_of(rows: Mapping[str, str]) -> dict[str, str]:
    """The cases in the rows of the table, by the names of the faults that they caught."""
    matches = {name: re.search(r" \| caught \| [A-Z]+: `(.*)` \|$", line) for name, line in rows.items()}
    return {name: match[1] for name, match in matches.items() if match is not None}


def table(rows: Iterable[str]) -> str:
    """The rows as a Markdown table: survivors first, then faults without a result, then caught ones."""
    order = ["survived", "no result", "left out", "caught"]
    lines = ["| fault | in | run | result | first case that shows it |", "| --- " * 5 + "|"]
    return "\n".join([*lines, *sorted(rows, key=lambda text: order.index(text.split(" | ")[3]))]) + "\n"


def _run_of(fault: Fault) -> str:
    return f"`{fault.run} {fault.options}".rstrip() + "`"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code described above."""
    parser = argparse.ArgumentParser(description="Plant faults and see which conformance cases catch them.")
    parser.add_argument("--only", metavar="TEXT", default="", help="faults whose name contains this")
    parser.add_argument("--new", action="store_true", help="faults that the page has no row of")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, chosen by --seed")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="another number, other faults (default: 0)")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="copies at a time (default: %(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was stopped, of the same sources")
    parser.add_argument("--page", type=Path, metavar="FILE", default=PAGE, help="with the table (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="put the rows into the table of the page")
    chosen = parser.parse_args(arguments)
    known = read_faults()
    page = chosen.page.read_text(encoding="utf-8")
    before = rows_of(page, known)
    faults = [fault for fault in known if chosen.only in fault.name and not (chosen.new and fault.name in before)]
    if not faults and not chosen.new:
        parser.error(f"no fault's name contains {chosen.only!r}")
    if chosen.sample is not None and chosen.sample < len(faults):
        faults = random.Random(chosen.seed).sample(faults, chosen.sample)
    trials = try_all(faults, cases_of(before), chosen.jobs, kept(faults) if chosen.resume else ())
    rows = {trial.fault.name: row(trial) for trial in trials}
    counts = Counter(trial.result for trial in trials)
    missed = [line for line in rows.values() if " | caught | " not in line]
    print(f"\n{table(missed)}" if missed else "")
    print(f"mutate: of {len(trials)} faults {', '.join(f'{count} {result}' for result, count in counts.items())}")
    failing = failing_without(trials)
    if failing:
        print(f"mutate: these fail without a fault too, so they prove nothing: {'; '.join(failing)}", file=sys.stderr)
        return 2
    if chosen.write:
        rows = before | rows
        whole = table(rows[fault.name] for fault in known if fault.name in rows)
        chosen.page.write_text(page.partition(_HEADING)[0] + _SECTION + whole + END, encoding="utf-8")
    return 1 if counts["survived"] else 2 if counts["no result"] else 0


if __name__ == "__main__":
    sys.exit(main())
