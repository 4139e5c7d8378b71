"""Reduce the case that shows each planted fault: the reduced one fails with it, passes without, and is no larger.

    python tools/reduce_faults.py [--sample 40 [--seed N]] [--jobs 2]

The cases are those of the table in docs/conformance.md; faults that tests show are left out, and those that need work
groups of several sizes. Exit code: 0 all is right, 1 not.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from faults import Fault, FaultError, read_faults
from mutate import PAGE, ROOT, TESTS, cases_of, copy_with, rows_of

from restride.command.parser import parse
from restride_conformance import commands
from restride_conformance.case import Case
from restride_conformance.options import target_of
from restride_conformance.record import Outcome
from restride_conformance.reduce import Reduced, counts, fails_alike, reduce
from restride_conformance.run.runner import Runner

MAX_SECONDS = 240
"""Seconds for one reduction."""


@dataclass(frozen=True)
class Reduction:
    """The case that showed a fault, what it was reduced to, and the outcomes of that with the fault and without."""

    fault: Fault
    before: Case
    found: Reduced
    outcome: Outcome
    seconds: float
    outcome_without: Outcome | None = None

    @property
    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if self.outcome.is_good:
            return f"{self.outcome.verdict} with the fault"
        if self.outcome_without is not None and not self.outcome_without.is_good:
            return f"{self.outcome_without.verdict} without the fault"
        larger = any(new > old for new, old in zip(counts(self.found.case), counts(self.before), strict=True))
        return "larger than before" if larger else ""

    def __str__(self) -> str:
        sizes = f"{self.before.elements} to {self.found.case.elements} elements"
        how = f"{sizes}, {self.found.trials} trials{', ended early' * self.found.ended_early}, {self.seconds:.0f} s"
        return f"{self.problem or 'right'}: {self.fault.name} ({how}) {self.found.case} <- {self.before}"


def try_reduction(fault: Fault, line: str, root: Path = ROOT) -> Reduction:
    """Reduce a case on a copy of ``root`` with the fault, and run what is left there once more.

    Raises:
        FaultError: the fault does not fit, or its case does not fail.
    """
    started, case = time.monotonic(), Case.parse(line)
    with tempfile.TemporaryDirectory(prefix="restride-reduce-") as name:
        folder = Path(name)
        copy_with(fault, root, folder)
        with _runner(fault.options, folder) as runner:
            first, late = runner.run(case), started + MAX_SECONDS
            if first.is_good:
                raise FaultError(f"{fault.name!r}: {first.verdict} {first.message}: {case}")
            found = reduce(
                case, lambda each: fails_alike(runner.run(each), first), goes_on=lambda: time.monotonic() < late
            )
            return Reduction(fault, case, found, runner.run(found.case), time.monotonic() - started)


def _runner(options: str, root: Path, folder: str = "") -> Runner:
    """A runner whose workers have the sources of ``root``; a shader under test is compiled into ``folder``."""
    shaders = {path.name: str(path) for path in (root / "shaders").rglob("*.comp")}
    words = [shaders.get(word, word) for word in options.split()]
    target = target_of(parse([commands], ["test", *words]), Path(folder or root))
    begin = f"import sys; sys.path.insert(0, {str(root / 'src')!r}); from restride_conformance.run import worker"
    return Runner(target, (sys.executable, "-c", f"{begin}; worker.main()"))


def reducible(faults: Sequence[Fault], cases: Mapping[str, str]) -> list[Fault]:
    """The faults that a case shows in work groups of one size."""
    shown = [fault for fault in faults if not cases.get(fault.name, TESTS[0]).startswith(TESTS)]
    return [fault for fault in shown if "--groups" not in fault.options]


def known_cases() -> dict[str, str]:
    """The case that shows each fault, by the name of the fault."""
    return cases_of(rows_of(PAGE.read_text(encoding="utf-8"), read_faults()))


def try_reductions(faults: Sequence[Fault], jobs: int = 1) -> Iterator[Reduction | FaultError]:
    """The reduction of each fault's case, ``jobs`` at a time, in the order of the faults, or why there is none."""
    cases, without = known_cases(), dict[str, Runner]()

    def tried(fault: Fault) -> Reduction | FaultError:
        try:
            return try_reduction(fault, cases[fault.name])
        except FaultError as error:
            return error

    with ExitStack() as opened, ThreadPoolExecutor(jobs) as pool:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="restride-reduce-"))
        for found in pool.map(tried, faults):
            if isinstance(found, FaultError):
                yield found
                continue
            options = found.fault.options
            if options not in without:
                without[options] = opened.enter_context(_runner(options, ROOT, folder))
            yield replace(found, outcome_without=without[options].run(found.found.case))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code described above."""
    parser = argparse.ArgumentParser(description="Reduce the case that shows each planted fault, and judge the result.")
    parser.add_argument("--sample", type=int, metavar="N", help="so many faults, chosen by --seed")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="another number, other faults (default: 0)")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="copies at a time (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    faults = reducible(read_faults(), known_cases())
    if chosen.sample is not None and chosen.sample < len(faults):
        faults = random.Random(chosen.seed).sample(faults, chosen.sample)
    found, problems = [], []
    for number, reduction in enumerate(try_reductions(faults, chosen.jobs), 1):
        print(f"[{number}/{len(faults)}] {reduction}", flush=True)
        if isinstance(reduction, Reduction):
            found.append(reduction)
        if isinstance(reduction, FaultError) or reduction.problem:
            problems.append(str(reduction))
    for what, values in (
        ("elements before", [each.before.elements for each in found]),
        ("elements after", [each.found.case.elements for each in found]),
        ("trials", [each.found.trials for each in found]),
    ):
        print(f"reduce_faults: {what}: median {statistics.median(values):g}, at most {max(values)}")
    print("\n".join([f"reduce_faults: {len(found)} faults, {len(problems)} problems", *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
