"""Random conformance cases: half are those of a catalogue with other values, half are drawn as the tools draw them."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import make_arithmetic_cases
import make_layout_cases
import make_resampling_cases

from restride.dtypes import DTYPES
from restride_conformance import Case, catalogue
from restride_conformance.case import OPERATIONS

_NEIGHBOURS = 25
"""Consecutive cases that a stretch draws from, at each of two places of the catalogue."""

_STRETCH = 500
"""Cases in a stretch."""


def drawn_cases(seed: int, part: str = "ci") -> Iterator[Case]:
    """Yield random cases for ever, the same for the same seed; ``part``: the catalogue that half of them come from.

    Cases come in stretches. A stretch draws from neighbouring cases at two places of the catalogue, one of them within
    a single operation, and from few choices of types and steps, because a driver compiles kernels for each choice,
    which takes as long as 20 cases.
    """
    rng = random.Random(seed)
    written, types = catalogue(part), list(DTYPES)
    of_operation = [[case for case in written if case.op == op] for op in OPERATIONS]
    arithmetic = make_arithmetic_cases.random_kinds(rng)
    resampling = make_resampling_cases.random_kinds(rng)
    while True:
        neighbours: list[list[Case] | tuple[Case, ...]] = []
        for cases in (written, rng.choice(of_operation)):
            start = rng.randrange(len(cases))
            neighbours.append(cases[start : start + _NEIGHBOURS])
        conversion, resizing = next(arithmetic), next(resampling)
        for _ in range(_STRETCH):
            source = rng.randrange(6)
            if source < 3:
                case = rng.choice(rng.choice(neighbours))
            elif source == 3:
                case = make_layout_cases.random_case(rng, rng.choice(types))
            elif source == 4:
                case = make_arithmetic_cases.random_case(rng, conversion)
            else:
                case = make_resampling_cases.random_case(rng, resizing)
            yield replace(case, seed=rng.randrange(1 << 32))
