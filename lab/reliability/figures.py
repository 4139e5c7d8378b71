"""The figures that a part of `make reliability` measures, with their goals, and the command line of every part.

    python lab/reliability/PART.py [--small] [--seed N] [--write FILE.json]

A part is a script of this folder with a function ``measure(small, seed)`` that ends with ``run_part(measure)``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record
from restride_conformance.report.file import write_record
from restride_conformance.report.table import Table

Measure = Callable[[bool, int], Iterable["Figure"]]
"""``measure(small, seed)`` yields figures as soon as each is known; ``small``: only what `make test` has time for."""


@dataclass(frozen=True)
class Figure:
    """One line of the table in docs/reliability.md."""

    name: str
    """The measured quantity and its unit: ``memory of 10,000 mixed operations, bytes an operation, vulkan``."""
    goal: str
    measured: str
    met: bool

    @property
    def outcome(self) -> Outcome:
        """The figure as a row of a record."""
        verdict = Verdict.PASSED if self.met else Verdict.FAILED
        return Outcome(self.name, verdict, figures={"goal": self.goal, "measured": self.measured})


def table(outcomes: Iterable[Outcome]) -> str:
    """The figures as a Markdown table."""
    rows = [("figure", "goal", "measured", "")]
    for each in outcomes:
        missed = "" if each.verdict is Verdict.PASSED else "**missed**"
        rows.append((each.case, str(each.figures["goal"]), str(each.figures["measured"]), missed))
    return Table("", rows).markdown() + "\n"


def run_part(measure: Measure) -> NoReturn:
    """Parse the command line, measure, and exit as ``conclude`` does."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--small", action="store_true", help="measure only what `make test` has time for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="FILE.json", help="write the figures there, too")
    options = parser.parse_args()
    conclude(measure(options.small, options.seed), options.write)


def conclude(measured: Iterable[Figure], file: Path | None) -> NoReturn:
    """Print each figure once it is known, write all to ``file``, and exit with 1 if one missed its goal."""
    record, figures = Record.begin("reliability", None, command=shlex.join(sys.argv)), []
    for figure in measured:
        figures.append(figure)
        print(f"{'' if figure.met else 'MISSED: '}{figure.name}: {figure.measured} (goal {figure.goal})", flush=True)
    if file:
        write_record(record.ended(figure.outcome for figure in figures), file)
    sys.exit(0 if figures and all(figure.met for figure in figures) else 1)
