"""Run parts and record them: every round runs all ways of a part in turn, each in a process of its own."""

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
from restride_bench.scale.parts import SCALE, Cost, Goal, Part, Source, Way
from restride_bench.scale.ways import Job
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record

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

    def judged(self) -> Iterator[tuple[Goal, bool, str]]:
        """Yield each goal whose two sides were measured, whether it is met, and what was measured in words."""
        for goal in self.part.goals:
            ours = self.value(goal.way, goal.measure)
            theirs = self.value(goal.against, goal.measure) if goal.against else 1.0
            if ours is not None and theirs is not None:
                measured = f"{ours / theirs:.2f}x {goal.against}" if goal.against else f"{ours / 1e6:.0f} MB"
                yield goal, ours / theirs <= goal.most, measured

    def outcomes(self) -> Iterator[Outcome]:
        """Yield a row for each way that was measured or is wrong, or one row that says why nothing was measured."""
        name = f"{SCALE}: {self.part.name}; {self.part.source}"
        if self.skipped:
            yield Outcome(self.part.name, Verdict.SKIPPED, self.skipped, group=name)
        for way in self.part.ways:
            if way.name in self.took:
                yield Outcome(way.name, Verdict.PASSED, group=name, figures=self._figures(way))
            if way.name in self.wrong:
                yield Outcome(way.name, Verdict.FAILED, self.wrong[way.name], group=name)

    def _figures(self, way: Way) -> dict[str, Any]:
        """The costs of a way: medians of seconds, the most memory, and its time over that of the first way."""
        part, runs, value = self.part, self.took[way.name], self.value(way.name) or 0.0
        bytes_of_line = part.source.nbytes // (part.source.sizes[0] * part.source.sizes[1])
        seconds, ours = median(run.seconds for run in runs), self.value(part.ways[0].name)
        figures: dict[str, Any] = {
            "s": seconds,
            **({"us a line": 1e6 * value} if part.is_growth else {}),
            "MB/s": (way.lines * bytes_of_line or part.source.nbytes) / seconds / 1e6,
            "peak MB": max(run.peak for run in runs) / 1e6,
            "MB before": max(run.before for run in runs) / 1e6,
            f"{part.ways[0].name} /": None if ours is None else ours / value,
            **{f"{name} of rounds": [getattr(run, name) for run in runs] for name in Took._fields},
        }
        goals = {str(goal): {"met": met, "measured": text} for goal, met, text in self.judged() if goal.way == way.name}
        return figures | ({"goals": goals} if goals else {})


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
            f"the files need {needed / 1e9:.1f} GB, and {path.parent} has room for {free / 1e9:.1f}: set TMPDIR "
            "to another folder"
        )
    try:
        source.write(path)
    except ImportError as error:
        return f"{error}: pip install scikit-image '.[zarr]' in a checkout"
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


def complete(record: Record, results: Sequence[PartResult], broken_off: str) -> Record:
    """The record with the rows of the results."""
    return record.ended(
        (outcome for result in results for outcome in result.outcomes()),
        versions={**record.versions, **versions(results)},
        not_run={name: why for result in results for name, why in result.absent.items()},
        problems=tuple(
            {"case": result.part.name, "message": f"{name}: {why}"}
            for result in results
            for name, why in result.wrong.items()
        ),
        broken_off=broken_off,
    )
