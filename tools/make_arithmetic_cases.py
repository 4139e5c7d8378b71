"""Write the catalogue's random reorders with arithmetic: 2,000 of all element types, between random layouts.

    python tools/make_arithmetic_cases.py

They have scales and zero points on one side or both, as numbers or varying along some axes, with or without groups;
sums; roundings; saturation; and permuted axes. The layouts are those of tools/make_layout_cases.py. Every run writes
the same files, which tests/conformance/test_catalogue.py checks.

A driver compiles kernels for each pair of types and each choice of steps, which takes longer than 20 cases, so the
cases of ci share few choices; in full every case has its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_layout_cases import CATALOGUE, case_files, layout_or_view, proves_something
from support.random_layouts import random_sizes

from restride.dtypes import DTYPES, DType
from restride.request.arithmetic import ROUNDINGS
from restride_conformance.case import Case
from restride_conformance.operations import SCALES, arguments
from restride_conformance.spelling import Value

FILES = {
    CATALOGUE / "ci" / "arithmetic_random.txt": (1200, 15),
    CATALOGUE / "full" / "arithmetic_random.txt": (800, 800),
}
"""For each file the number of cases, and of different kinds (types and steps) among them."""

_SEED = 5
_MAX_ELEMENTS = (60, 600, 600, 2000)
_SCALES = (0.5, 3, -0.75, 0.1, 1.7, 255, 0.0078125, -4)
_ZERO_POINTS = (-4, -1, 1, 3, 128)
_FRACTIONS = (0.5, -2.25, 103.939, 0.1)


@dataclass(frozen=True)
class Kind:
    """The properties of a case for which kernels are compiled.

    scales: the parameters among ``SCALES`` that are used. varying: the sides, "dst" and "src", on which at least one of
    these is an array.
    """

    src: DType
    dst: DType
    scales: tuple[str, ...]
    varying: tuple[str, ...]
    is_sum: bool
    words: tuple[tuple[str, str], ...]


def texts(is_taken: Callable[[Case], bool] = proves_something) -> dict[Path, str]:
    """The files by path, with different random cases for which ``is_taken`` is true."""
    head = f"# Written by tools/{Path(__file__).name}: random reorders with scales, zero points and sums."
    return case_files(FILES, random.Random(_SEED), random_kinds, _of_kind, head, is_taken)


def random_kinds(rng: random.Random) -> Iterator[Kind]:
    """Yield kinds for ever; all element types are equally often sources, and destinations."""
    while True:
        for src, dst in zip(*(rng.sample(list(DTYPES.values()), len(DTYPES)) for _ in range(2)), strict=True):
            drawn = tuple(name for name in SCALES if rng.random() < 0.6)
            scales = drawn if drawn and dst != "pred" else ("src_scale",)  # with a zero point every pred would be true
            sides = {name.partition("_")[0] for name in scales}
            words = [("rounding", rng.choice(ROUNDINGS)), ("saturate", rng.choice(("yes", "yes", "no")))]
            if dst.name[0] in "su" and rng.random() < 1 / 4:
                words.append(("rounds_first", "yes"))
            varying = tuple(side for side in sorted(sides) if rng.random() < 0.7)
            yield Kind(src, dst, scales, varying, rng.random() < 1 / 4 and dst != "pred", tuple(words))


def random_case(rng: random.Random, kind: Kind) -> Case:
    """A reorder with the arithmetic of a kind, between random layouts."""
    most = rng.choice(_MAX_ELEMENTS)
    sizes = random_sizes(rng, max_elements=most)
    rank, new_sizes = len(sizes), sizes
    parameters: list[tuple[str, Value]] = []
    if rank > 1 and rng.random() < 1 / 6:
        letters = "ABCDEFGH"[:rank]
        order = rng.sample(range(rank), rank)
        parameters.append(("permute", f"{letters}->{''.join(letters[axis] for axis in order)}"))
        new_sizes = tuple(sizes[axis] for axis in order)
    for name in kind.scales:
        side = name.partition("_")[0]
        varies = side in kind.varying and rng.random() < 3 / 4
        along = rng.sample(range(rank), min(rank, rng.choice((1, 1, 1, 2, 3)))) if varies else []
        number = drawn_number(rng, name, kind.src if side == "src" else kind.dst)
        parameters.append((name, tuple(sorted(along)) or number))
    if any(isinstance(value, tuple) for _, value in parameters) and rng.random() < 1 / 3:
        parameters.append(("group_sizes", tuple(rng.choice((1, 1, 2, 3, 4, 7)) for _ in sizes)))
    if kind.is_sum:
        parameters.append(("sum_scale", float(rng.choice((0.5, -1, 2, 0.3)))))
    elif not any(name == "permute" for name, _ in parameters) and rng.random() < 1 / 8:
        parameters.append(("out", "new"))
    return Case(
        "reorder",
        layout_or_view(rng, kind.src.name, sizes, most, repeats=True),
        layout_or_view(rng, kind.dst.name, new_sizes, most, repeats=False),
        (*parameters, *kind.words),
        rng.randrange(1000, 10_000),  # other files have smaller seeds
    )


def _of_kind(rng: random.Random, kind: Kind) -> Case | None:
    case = random_case(rng, kind)
    return case if _varying(case) == kind.varying else None


def _varying(case: Case) -> tuple[str, ...]:
    arrays = [name for name in SCALES if np.size(arguments(case).get(name, 0)) > 1]
    return tuple(sorted({name.partition("_")[0] for name in arrays}))


def drawn_number(rng: random.Random, name: str, dtype: DType) -> float:
    """A random scale, or a random zero point for elements of type ``dtype``."""
    if name.endswith("scale"):
        return float(rng.choice(_SCALES))
    if dtype == "pred":
        return 1.0
    lowest, highest = {"s8": (-128, 127), "u8": (0, 255)}.get(dtype.name, (0 if dtype.name[0] == "u" else -4, 128))
    zero_points = [zero_point for zero_point in _ZERO_POINTS if lowest <= zero_point <= highest]
    return float(rng.choice([*zero_points, *(_FRACTIONS if dtype.is_float else ())]))


if __name__ == "__main__":
    for file, text in texts().items():
        file.write_text(text, encoding="utf-8")
