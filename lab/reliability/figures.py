"""The figures that a part of `make reliability` measures, with their goals, and the command line of every part.

    python lab/reliability/PART.py [--small] [--seed N] [--write FILE.json]

A part is a script of this folder with a function ``measure(small, seed)`` that ends with ``run_part(measure)``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

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


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = [("figure", "goal", "measured", ""), ("---", "---", "---", "---")]
    rows += [(figure.name, figure.goal, figure.measured, "" if figure.met else "**missed**") for figure in figures]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def run_part(measure: Measure) -> NoReturn:
    """Parse the command line, measure, and exit as ``conclude`` does."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--small", action="store_true", help="the part of it that `make test` has time for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="FILE.json", help="write the figures there, too")
    options = parser.parse_args()
    conclude(measure(options.small, options.seed), options.write)


def conclude(measured: Iterable[Figure], file: Path | None) -> NoReturn:
    """Print each figure once it is known, write all to ``file``, and exit with 1 if one missed its goal."""
    figures = []
    for figure in measured:
        figures.append(figure)
        print(f"{'' if figure.met else 'MISSED: '}{figure.name}: {figure.measured} (goal {figure.goal})", flush=True)
    if file:
        file.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n")
    sys.exit(0 if figures and all(figure.met for figure in figures) else 1)
