"""Write the catalogue's random layout cases: 2,000 reorders between layouts of all families, of every element type.

    python tools/make_layout_cases.py

The layouts are those of tests/support/random_layouts.py, and views of them: steps, flips, cuts, permutations,
broadcasts of sources. Every run writes the same file, which tests/conformance/test_catalogue.py checks.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.random_layouts import random_layout, random_sizes  # noqa: E402 - tests are no package

from restride.arguments import MAX_RANK  # noqa: E402 - as above
from restride.dtypes import DTYPES  # noqa: E402 - as above
from restride.errors import DescriptorError  # noqa: E402 - as above
from restride.layout import TensorDesc  # noqa: E402 - as above
from restride_conformance.case import Case  # noqa: E402 - as above
from restride_conformance.operations import require_valid  # noqa: E402 - as above
from restride_conformance.setting import mistrusted, prepare  # noqa: E402 - as above

CATALOGUE = ROOT / "src" / "restride_conformance" / "catalogue"

FILES = {CATALOGUE / "ci" / "layout_random.txt": (2000, len(DTYPES))}
"""For each file the number of cases, and of element types among them."""

K = TypeVar("K")

_SEED = 4
_MAX_ELEMENTS = (60, 600, 600, 600, 5000)
"""Most elements of a tensor, drawn at random; with more than 2048 each, the parts of cut tiles are strided walks."""

_MAX_BYTES = 1 << 18
"""Maximum bytes of the layout that a view refers to."""


def proves_something(case: Case) -> bool:
    """True if only a correct device gives the right answer to the case, so that the case is worth running."""
    return not mistrusted(case, prepare(case))


def texts(is_taken: Callable[[Case], bool] = proves_something) -> dict[Path, str]:
    """The text of the file, by its path, with different random cases for which ``is_taken`` is true."""
    head = "# Written by tools/make_layout_cases.py: random pairs of layouts of all families, of every element type."
    return case_files(FILES, random.Random(_SEED), lambda _: cycle(DTYPES), random_case, head, is_taken)


def case_files(
    files: Mapping[Path, tuple[int, int]],
    rng: random.Random,
    kinds: Callable[[random.Random], Iterator[K]],
    draw: Callable[[random.Random, K], Case | None],
    head: str,
    is_taken: Callable[[Case], bool],
) -> dict[Path, str]:
    """The texts of case files by path; ``files`` gives the number of cases in each, and of kinds, which take turns.

    kinds: yields random kinds for ever. draw: a random case of a kind, or None if it turned out to be of another kind.
    """
    every = kinds(rng)
    taken: set[Case] = set()
    texts = {}
    for file, (count, choices) in files.items():
        chosen = [next(every) for _ in range(choices)]
        cases: list[Case] = []
        while len(cases) < count:
            case = draw(rng, chosen[len(cases) % choices])
            if case is not None and case not in taken and is_taken(case):
                require_valid(case)
                taken.add(case)
                cases.append(case)
        texts[file] = "\n".join([head, *map(str, cases), ""])
    return texts


def random_case(rng: random.Random, dtype: str) -> Case:
    """A reorder between two random layouts, with one element type."""
    most = rng.choice(_MAX_ELEMENTS)
    sizes = random_sizes(rng, max_elements=most)
    src, dst = (layout_or_view(rng, dtype, sizes, most, repeats) for repeats in (True, False))
    out = (("out", "new"),) if rng.random() < 1 / 8 else ()
    return Case("reorder", src, dst, out, rng.randrange(100, 1000))  # other files have smaller seeds


def layout_or_view(rng: random.Random, dtype: str, sizes: Sequence[int], most: int, repeats: bool) -> TensorDesc:
    """A random layout of a tensor, one time in four a view; ``repeats``: elements may share an address."""
    if rng.random() < 1 / 4 and 0 not in sizes:
        for _ in range(8):
            view = _view(rng, dtype, sizes, most, repeats)
            if view is not None:
                return view
    return TensorDesc.parse(random_layout(rng, dtype, sizes=sizes, max_elements=most))


def _view(rng: random.Random, dtype: str, sizes: Sequence[int], most: int, repeats: bool) -> TensorDesc | None:
    """A random view with ``sizes`` of a larger layout; None if the drawn layout is too large or has no such view."""
    inner_sizes: list[int] = []
    starts: list[int] = []
    moves: list[tuple[int, int]] = []  # for each inner axis: the axis of the view that moves along it, and its step
    for axis, size in enumerate(sizes):
        if repeats and rng.random() < 0.1:
            continue
        step = rng.choice((1, 1, 1, 1, -1, -1, 2, -2, 3))
        before, behind = rng.choice((0, 0, 1, 3)), rng.choice((0, 0, 0, 2))
        reach = (size - 1) * abs(step)
        inner_sizes.append(before + reach + 1 + behind)
        starts.append(before + (reach if step < 0 else 0))
        moves.append((axis, step))
    if rng.random() < 0.2 and len(inner_sizes) < MAX_RANK:  # an axis indexed by an integer
        inner_sizes.append(rng.randint(1, 4))
        starts.append(rng.randrange(inner_sizes[-1]))
        moves.append((len(sizes), 0))
    order = rng.sample(range(len(moves)), len(moves)) if rng.random() < 0.5 else range(len(moves))
    placed = [inner_sizes[place] for place in order]
    inner = TensorDesc.parse(random_layout(rng, dtype, sizes=placed, max_elements=most))
    if inner.blocking is None or inner.nbytes > _MAX_BYTES:
        return None
    steps = [[moves[place][1] if moves[place][0] == axis else 0 for place in order] for axis in range(len(sizes))]
    try:
        return TensorDesc.view_of(inner, sizes, [starts[place] for place in order], steps)
    except DescriptorError:
        return None


if __name__ == "__main__":
    for file, text in texts().items():
        file.write_text(text, encoding="utf-8")
