"""Write the catalogue's random resamplings and gradients: 800 of every mode, rule and way to say sizes.

    python tools/make_resampling_cases.py

They use the random layouts of tools/make_layout_cases.py, windows, crops, offsets, scales, one scale for all axes,
conversions, and the arithmetic of tools/make_arithmetic_cases.py. Every run writes the same files, which
tests/conformance/test_catalogue.py checks.

A driver compiles kernels for each pair of types, number of axes and choice of steps, which takes longer than ten cases,
so the cases of ci share few choices.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from make_arithmetic_cases import drawn_number
from make_layout_cases import CATALOGUE, case_files, layout_or_view, proves_something
from support.random_layouts import random_sizes

from restride.dtypes import DTYPES, DType, as_dtype
from restride.reference.gradient import GRADIENT_TYPES
from restride.reference.resample import INTERPOLATED_TYPES
from restride.request import COORDINATES, NEAREST_RULES
from restride.request.arithmetic import ROUNDINGS
from restride_conformance.case import Case
from restride_conformance.operations import SCALES
from restride_conformance.spelling import CaseNumber, Value

FILES = {
    CATALOGUE / "ci" / "resampling_random.txt": (200, 5),
    CATALOGUE / "full" / "resampling_random.txt": (600, 100),
}
"""For each file the number of cases, and of different kinds (types, axes and steps) among them."""

_SEED = 6
_MAX_ELEMENTS = (60, 200, 600)
_FACTORS = (2, Fraction(1, 3), Fraction(4, 3), 0.5, 0.3, 0.7, 1.3, 2.5, 1, 1.7)
_OFFSETS = (0, 0.5, -0.5, 0.25, Fraction(1, 3), -1.5, 2)
_EDGES = (0, 1, 0.2, 0.75, -0.3, 1.4, 0.5, Fraction(1, 3))


@dataclass(frozen=True)
class Kind:
    """Roughly the properties of a case for which kernels are compiled.

    scales: the parameters among ``SCALES`` that are used. varying: those of them that are arrays. axes: number of
    resampled axes.
    """

    op: str
    moves: bool
    src: DType
    dst: DType
    axes: int
    scales: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    is_sum: bool = False
    words: tuple[tuple[str, str], ...] = ()


def texts(is_taken: Callable[[Case], bool] = proves_something) -> dict[Path, str]:
    """The files by path, with different random cases for which ``is_taken`` is true."""
    head = f"# Written by tools/{Path(__file__).name}: random resamplings and gradients."
    return case_files(FILES, random.Random(_SEED), random_kinds, random_case, head, is_taken)


def random_kinds(rng: random.Random) -> Iterator[Kind]:
    """Yield kinds for ever: a gradient, a resampling that moves elements, three that sum them, and so on."""
    while True:
        axes = rng.choice((1, 2, 2, 3))
        yield Kind("resample_backward", rng.random() < 1 / 4, *_types(rng, GRADIENT_TYPES, GRADIENT_TYPES), axes)
        for moves in (True, False, False, False):
            others = [name for name in DTYPES if name != "pred"]
            src, dst = _types(rng, DTYPES if moves else INTERPOLATED_TYPES, others)
            drawn = tuple(name for name in SCALES if rng.random() < 0.3)
            varying = tuple(name for name in drawn if rng.random() < 0.6)
            words: tuple[tuple[str, str], ...] = (
                ("rounding", rng.choice(ROUNDINGS)),
                ("saturate", rng.choice(("yes", "yes", "no"))),
            )
            is_integer = dst.name[0] in "su"
            words = words[: 1 if is_integer and not moves else 2]  # sums that wrap around would permit nearly any value
            yield Kind(
                "resample", moves, src, dst, rng.choice((1, 2, 2, 3)), drawn, varying, rng.random() < 1 / 5, words
            )


def _types(rng: random.Random, sources: Collection[str], destinations: Collection[str]) -> tuple[DType, DType]:
    """A source and a destination type; half of the time the same, if possible."""
    src = rng.choice(list(sources))
    dst = src if src in destinations and rng.random() < 1 / 2 else rng.choice(list(destinations))
    return as_dtype(src), as_dtype(dst)


def random_case(rng: random.Random, kind: Kind) -> Case:
    """A resampling or a gradient of a kind, between random layouts."""
    most = rng.choice(_MAX_ELEMENTS)
    sizes: tuple[int, ...] = ()
    while len(sizes) < kind.axes or 0 in sizes:
        sizes = random_sizes(rng, max_elements=most)
    axes = tuple(sorted(rng.sample(range(len(sizes)), kind.axes)))
    mode = "nearest" if kind.moves else rng.choice(("linear", "cubic", "area"))
    parameters: list[tuple[str, Value]] = [("mode", mode), ("axes", axes), *_filter(rng, mode)]
    places, new_sizes = _places(rng, mode, [sizes[axis] for axis in axes], kind.op == "resample")
    parameters += places
    shape = list(sizes)
    for axis, size in zip(axes, new_sizes, strict=True):
        shape[axis] = size
    if kind.op == "resample":
        parameters += _arithmetic(rng, kind, len(sizes))
    if not kind.is_sum and rng.random() < 1 / 8:
        parameters.append(("out", "new"))
    src, dst = (sizes, shape) if kind.op == "resample" else (shape, sizes)
    return Case(
        kind.op,
        layout_or_view(rng, kind.src.name, src, most, repeats=True),
        layout_or_view(rng, kind.dst.name, dst, most, repeats=False),
        tuple(parameters),
        rng.randrange(1000, 10_000),  # other files have smaller seeds
    )


def _filter(rng: random.Random, mode: str) -> Iterator[tuple[str, Value]]:
    if mode == "nearest":
        yield "nearest", rng.choice(NEAREST_RULES)
    elif mode != "area":
        yield "antialias", rng.choice(("no", "yes"))
        yield "exclude_outside", rng.choice(("no", "no", "yes"))
        if mode == "cubic":
            yield "cubic_a", rng.choice((-0.75, -0.5, -1.0, 0.25))


def _places(
    rng: random.Random, mode: str, sizes: Sequence[int], is_forward: bool
) -> tuple[list[tuple[str, Value]], list[int]]:
    """Random parameters that determine where outputs read, and the sizes of the result."""
    new_sizes = [rng.choice((2 * size, size, -(-size // 2), rng.randint(1, 2 * size + 2))) for size in sizes]
    parameters: list[tuple[str, Value]] = [("sizes", tuple(new_sizes))] if is_forward else []
    way = rng.choice(("sizes", "scales", "policy", "offsets", "crop") if mode != "area" else ("sizes", "policy"))
    if way == "policy" and is_forward:
        policy = rng.choice(("not_larger", "not_smaller"))
        new_sizes = _with_one_scale(sizes, new_sizes, policy)
        parameters.append(("keep_aspect_ratio_policy", policy))
    elif way == "scales":
        factors = [rng.choice([factor for factor in _FACTORS if int(size * factor)]) for size in sizes]
        new_sizes = [int(size * factor) for size, factor in zip(sizes, factors, strict=True)]
        parameters = [("scales", tuple(factors)), ("recompute_scale_factor", rng.choice(("no", "no", "no", "yes")))]
    elif way == "offsets":
        for name in ("input_offsets", "output_offsets"):
            parameters.append((name, _drawn(rng, _OFFSETS, len(sizes))))
        if rng.random() < 1 / 2:
            parameters.append(("scales", _drawn(rng, _FACTORS, len(sizes))))
    elif way == "crop":
        parameters += [("coordinates", "tf_crop_and_resize"), ("roi", _drawn(rng, _EDGES, 2 * len(sizes)))]
        if is_forward:
            parameters.append(("extrapolation_value", rng.choice((0.0, 7.0, 42.0))))
    if way in ("sizes", "scales", "policy") and mode != "area":
        parameters.append(("coordinates", rng.choice([rule for rule in COORDINATES if rule != "tf_crop_and_resize"])))
    if is_forward and rng.random() < 1 / 4:
        starts = [rng.randrange(max(size, 1)) for size in new_sizes]
        parts = [
            (start, rng.randint(min(start + 1, size), size)) for start, size in zip(starts, new_sizes, strict=True)
        ]
        parameters.append(("window", f"({','.join(f'{start}:{stop}' for start, stop in parts)})"))
        new_sizes = [stop - start for start, stop in parts]
    return parameters, new_sizes


def _with_one_scale(sizes: Sequence[int], box: Sequence[int], policy: str) -> list[int]:
    ratios = [Fraction(size, before) for size, before in zip(box, sizes, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [int(scale * size + Fraction(1, 2)) for size in sizes]


def _drawn(rng: random.Random, values: Sequence[CaseNumber], count: int) -> tuple[CaseNumber, ...]:
    return tuple(rng.choice(values) for _ in range(count))


def _arithmetic(rng: random.Random, kind: Kind, rank: int) -> Iterator[tuple[str, Value]]:
    for name in kind.scales:
        along = tuple(sorted(rng.sample(range(rank), min(rank, rng.choice((1, 1, 2))))))
        dtype = kind.dst if name.startswith("dst") else kind.src if kind.moves else as_dtype("f32")
        yield name, along if name in kind.varying else drawn_number(rng, name, dtype)
    if kind.is_sum:
        yield "sum_scale", rng.choice((0.5, -1.0, 2.0, 0.3))
    yield from kind.words


if __name__ == "__main__":
    for file, text in texts().items():
        file.write_text(text, encoding="utf-8")
