"""Write the catalogue's random layout cases: 2,000 reorders between layouts of all families, of every element type.

    python tools/make_layout_cases.py

The layouts are those of tests/random_layouts.py, and views of them: steps, flips, cuts, permutations, broadcasts of
sources. Every run writes the same file, which tests/test_catalogue.py checks.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from random_layouts import random_layout, random_sizes  # noqa: E402 - tests are no package

from restride.arguments import MAX_RANK  # noqa: E402 - as above
from restride.dtypes import DTYPES  # noqa: E402 - as above
from restride.errors import DescriptorError  # noqa: E402 - as above
from restride.layout import TensorDesc  # noqa: E402 - as above
from restride_conformance.case import Case  # noqa: E402 - as above
from restride_conformance.setting import mistrusted, prepare  # noqa: E402 - as above

FILE = ROOT / "src" / "restride_conformance" / "catalogue" / "ci" / "layout_random.txt"

CASES = 2000

_SEED = 4
_MOST_ELEMENTS = (60, 600, 600, 600, 5000)
"""Most elements of a tensor, drawn at random; with more than 2048 each, the parts of cut tiles are strided walks."""

_MOST_BYTES = 1 << 18
"""Most bytes of the layout that a view refers to."""


def proves_something(case: Case) -> bool:
    """True if a right answer to the case proves something."""
    return not mistrusted(case, prepare(case))


def text(count: int = CASES, is_taken: Callable[[Case], bool] = proves_something) -> str:
    """The text of the file: ``count`` different random cases for which ``is_taken`` is true."""
    rng = random.Random(_SEED)
    cases: dict[Case, None] = {}
    while len(cases) < count:
        case = random_case(rng, list(DTYPES)[len(cases) % len(DTYPES)])
        if is_taken(case):
            cases.setdefault(case)
    return "\n".join(
        [
            "# Written by tools/make_layout_cases.py: random pairs of layouts of all families, of every element type.",
            *map(str, cases),
            "",
        ]
    )


def random_case(rng: random.Random, dtype: str) -> Case:
    """A reorder between two random layouts, with one element type."""
    most = rng.choice(_MOST_ELEMENTS)
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
    if inner.blocking is None or inner.nbytes > _MOST_BYTES:
        return None
    steps = [[moves[place][1] if moves[place][0] == axis else 0 for place in order] for axis in range(len(sizes))]
    try:
        return TensorDesc.view_of(inner, sizes, [starts[place] for place in order], steps)
    except DescriptorError:
        return None


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
