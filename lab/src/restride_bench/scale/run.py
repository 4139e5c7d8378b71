"""Run parts and report them: every round runs all ways of a part in turn, each in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import chain, groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from restride.command.process import ending
from restride.command.stopwatch import rounds_text
from restride.drawing.explain import columns
from restride_bench.report import Report, heading
from restride_bench.scale.parts import SCALE, Cost, Goal, Part, Source, Way
from restride_bench.scale.ways import Job

FORMAT, VERSION = "restride-scale", 1

_PROGRAM = "import sys; from restride_bench.scale.ways import main; main(sys.argv[1])"
"""The program of a process. It is not run by ``-m``, so that functions sent to Dask's workers are in a known module."""

_ROOM = 2.5
"""Free disk space that a part needs, as a multiple of its source: the source, a copy of it and smaller levels."""

_MAX = 300
"""Maximum number of characters of another library's message."""


class Took(NamedTuple):
    """The cost of a process.

    seconds: time of its work. before: bytes of memory before the work. peak: maximum bytes of memory. 0: unknown.
    """

    seconds: float
    before: int
    peak: int


@dataclass(frozen=True)
class PartResult:
    """The result of a part: the cost of each way in every round.

    absent: ways that are not available on this machine, and why. wrong: ways that failed or gave a wrong result, and
    why. skipped: the reason why nothing was measured; empty if something was.
    """

    part: Part
    took: Mapping[str, Sequence[Took]]
    absent: Mapping[str, str]
    wrong: Mapping[str, str]
    skipped: str = ""

    def value(self, way: str, measure: Cost = "seconds") -> float | None:
        """The median seconds (per line in a part about growth) or the peak memory of a way; None if not measured."""
        runs = self.took.get(way)
        if not runs:
            return None
        if measure == "peak":
            return max(run.peak for run in runs) or None
        lines = next(each.lines for each in self.part.ways if each.name == way)
        return median(run.seconds for run in runs) / (lines or 1)

    def verdicts(self) -> Iterator[Verdict]:
        """Yield a verdict for each goal whose two sides were measured."""
        for goal in self.part.goals:
            ours = self.value(goal.way, goal.measure)
            theirs = self.value(goal.against, goal.measure) if goal.against else 1.0
            if ours is not None and theirs is not None:
                yield Verdict(goal, ours / theirs)

    def record(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "name": self.part.name,
            "source": str(self.part.source),
            "ways": {
                way.name: {"lines": way.lines, "runs": [run._asdict() for run in self.took[way.name]]}
                for way in self.part.ways
                if way.name in self.took
            },
            "goals": [
                {**asdict(verdict.goal), "measured": verdict.measured, "met": verdict.is_met}
                for verdict in self.verdicts()
            ],
            "absent": dict(self.absent),
            "wrong": dict(self.wrong),
            "skipped": self.skipped,
        }


@dataclass(frozen=True)
class Verdict:
    """A goal and its outcome. measured: the ratio to the other way; bytes if the goal names none."""

    goal: Goal
    measured: float

    @property
    def is_met(self) -> bool:
        """True if the measured value is within the goal."""
        return self.measured <= self.goal.most

    def __str__(self) -> str:
        against = self.goal.against
        measured = f"{self.measured:.2f}x {against}" if against else f"{self.measured / 1e6:.0f} MB"
        return f"{self.goal.way}: {measured}, goal {self.goal}: {'met' if self.is_met else 'MISSED'}"


def run(
    parts: Sequence[Part], environment: Mapping[str, str], repeat: int, step: Callable[[str], None] = lambda _: None
) -> Iterator[PartResult]:
    """Measure the parts one after the other.

    Args:
        parts: the parts to measure; one whose files need more disk space than there is gets skipped.
        environment: variables for the processes, such as the device for restride.
        repeat: rounds. There is no warm-up round: each process is new, and its clock starts after its imports.
        step: called after each source that was written, and each process, with its name.
    """
    with TemporaryDirectory(prefix="restride-scale-") as name:
        folder, written = Path(name), None
        for part in parts:
            if part.source != written:
                _remove(folder / "source")
                skipped = _write_source(part.source, folder / "source")
                step(str(part.source))
                written = None if skipped else part.source
                if skipped:
                    yield PartResult(part, {}, {}, {}, skipped)
                    continue
            yield _measured(part, folder, environment, repeat, step)


def _write_source(source: Source, path: Path) -> str:
    """Write the source; returns the reason why that is impossible, or empty text."""
    needed, free = int(_ROOM * source.nbytes), shutil.disk_usage(path.parent).free
    if free < needed:
        return (
            f"it takes {needed / 1e9:.1f} GB of files, and {path.parent} has room for {free / 1e9:.1f}: TMPDIR names "
            "another folder"
        )
    try:
        source.write(path)
    except ImportError as error:
        return f"{error}: pip install scikit-image 'restride[zarr]'"
    return ""


def _measured(
    part: Part, folder: Path, environment: Mapping[str, str], repeat: int, step: Callable[[str], None]
) -> PartResult:
    absent = {way.name: why for way in part.ways if (why := _missing(way))}
    wrong: dict[str, str] = {}
    took: dict[str, list[Took]] = {}
    for _ in range(repeat):
        for way in part.ways:
            if way.name not in absent and way.name not in wrong:
                job = Job(way.way, str(folder / "source"), str(folder / "destination"), way.lines, way.memory)
                answer = _run_job(job, environment)
                _remove(folder / "destination")
                if "absent" in answer:
                    absent[way.name] = answer["absent"]
                elif answer["wrong"]:
                    wrong[way.name] = answer["wrong"]
                    took.pop(way.name, None)
                else:
                    took.setdefault(way.name, []).append(Took(answer["seconds"], answer["before"], answer["peak"]))
            step(f"{part.name}: {way.name}")
    return PartResult(part, took, absent, wrong)


def _missing(way: Way) -> str:
    """The reason why a way is not available on this machine; empty if its packages are installed."""
    missing = [package for package in way.packages if importlib.util.find_spec(package) is None]
    return f"not installed: pip install {way.extra}" if missing else ""


def _run_job(job: Job, environment: Mapping[str, str]) -> dict[str, Any]:
    """Run a job in a process and return its JSON answer; a failure gives ``{"wrong": message}``."""
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(asdict(job))]
    process = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if process.returncode:
        lines = process.stderr.strip().splitlines() or [f"it {ending(process.returncode)}, without a message"]
        return {"wrong": lines[-1][:_MAX]}
    answer: dict[str, Any] = json.loads(process.stdout.strip().splitlines()[-1])
    return answer


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def steps(parts: Sequence[Part], repeat: int) -> int:
    """How often ``run`` calls ``step`` if no part is skipped."""
    sources = sum(1 for _ in groupby(part.source for part in parts))
    return sources + repeat * sum(len(part.ways) for part in parts)


def versions(results: Sequence[PartResult]) -> dict[str, str]:
    """The versions of the packages of all measured ways, by name."""
    used = (way.packages for result in results for way in result.part.ways if way.name in result.took)
    return {package: version(package) for package in dict.fromkeys(chain.from_iterable(used))}


def record(report: Report, results: Sequence[PartResult]) -> dict[str, Any]:
    """A run as JSON values. Times are in seconds, memory in bytes."""
    everything = report.record()
    shared = ("started", "command", "device", "runtime", "platform", "cpu", "versions", "warnings", "repeat", "small")
    return {
        "format": FORMAT,
        "version": VERSION,
        **{name: everything[name] for name in (*shared, "broken_off")},
        "packages": versions(results),
        "parts": [result.record() for result in results],
    }


def table(report: Report, results: Sequence[PartResult]) -> str:
    """The text for the terminal.

    report: describes the device and the machine; it has no results of its own.
    """
    blocks = [heading(report), *("\n".join(_block(report, result)) for result in results)]
    return "\n\n".join([*blocks, "\n".join(_summary(report, results))])


def _block(report: Report, result: PartResult) -> Iterator[str]:
    part = result.part
    yield f"{SCALE}: {part.name}; {part.source}; {rounds_text(report.repeat)}, each in a process of its own"
    if not result.took:
        yield f"nothing was measured{result.skipped and ': '}{result.skipped}"
        return
    first = part.ways[0].name
    yield f"MB/s of the source, the most memory of the process and what it had before; {first} / other"
    rows = [["way", "s", *(["us a line"] if part.is_growth else []), "MB/s", "peak MB", "before", f"{first} /"]]
    bytes_of_line = part.source.nbytes // (part.source.sizes[0] * part.source.sizes[1])
    for way in part.ways:
        if way.name in result.took:
            runs, value = result.took[way.name], result.value(way.name) or 0.0
            seconds = median(each.seconds for each in runs)
            ours = result.value(first)
            nbytes = way.lines * bytes_of_line or part.source.nbytes
            numbers = [
                f"{seconds:.2f}",
                *([f"{1e6 * value:.1f}"] if part.is_growth else []),
                f"{nbytes / seconds / 1e6:.0f}",
            ]
            memory = [f"{max(each) / 1e6:.0f}" for each in ([run.peak for run in runs], [run.before for run in runs])]
            rows.append([f"  {way.name}", *numbers, *memory, "-" if ours is None else f"{ours / value:.2f}"])
    yield from columns(rows, range(1, len(rows[0])))
    yield from map(str, result.verdicts())


def _summary(report: Report, results: Sequence[PartResult]) -> Iterator[str]:
    judged = [verdict for result in results for verdict in result.verdicts()]
    if judged:
        yield f"goals: {sum(verdict.is_met for verdict in judged)} of {len(judged)} met"
    for result in results:
        yield from (f"WRONG: {name}, {result.part.name}: {why}" for name, why in result.wrong.items())
    if used := versions(results):
        yield "with " + "; ".join(f"{package} {version}" for package, version in used.items())
    absent = {name: why for result in results for name, why in result.absent.items()}
    yield from (f"absent: {name}: {why}" for name, why in absent.items())
    if report.broken_off:
        yield f"broken off: {report.broken_off}"
