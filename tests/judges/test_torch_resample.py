"""torch on the CPU as a judge: 2,000 random interpolations, u8 among them, and the gradients of 500."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import pytest
from support.judges import judge

import restride as rs

# torch resizes the last axes, whatever their sizes.
pytestmark = pytest.mark.filterwarnings("ignore:no axes are named:UserWarning")

torch: Any = judge("torch")
torch.set_num_threads(1)  # waking a second thread takes longer than any of these problems

Array = np.ndarray[Any, Any]

MODES = {
    "nearest": {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"},
    "nearest-exact": {"mode": "nearest", "coordinates": "half_pixel", "nearest": "half_up"},
    "linear": {"mode": "linear"},
    "cubic": {"mode": "cubic"},
    "antialiased linear": {"mode": "linear", "antialias": True, "exclude_outside": True},
    "antialiased cubic": {"mode": "cubic", "antialias": True, "exclude_outside": True, "cubic_a": -0.5},
    "area": {"mode": "area"},
}
"""What torch does, in rs.resample's words."""


@dataclass(frozen=True)
class Problem:
    """One interpolation; ``factors`` are torch's scale_factor, which gives the size where it is there."""

    mode: str
    batch: tuple[int, int]
    source: tuple[int, ...]
    sizes: tuple[int, ...]
    factors: tuple[float, ...] | None
    recompute: bool
    align_corners: bool

    @property
    def theirs(self) -> dict[str, Any]:
        """Arguments of torch.nn.functional.interpolate."""
        given: dict[str, Any] = {"size": self.sizes}
        if self.factors is not None:
            given = {"scale_factor": self.factors, "recompute_scale_factor": self.recompute}
        name = self.mode.removeprefix("antialiased ")
        if name == "linear":
            name = ("linear", "bilinear", "trilinear")[len(self.source) - 1]
        name = {"cubic": "bicubic"}.get(name, name)
        given["mode"] = name
        if name.endswith(("linear", "cubic")):
            given |= {"align_corners": self.align_corners, "antialias": self.mode.startswith("antialiased")}
        return given

    @property
    def ours(self) -> dict[str, Any]:
        """Arguments of rs.resample and its gradient, but for the sizes. torch's align_corners takes no scales."""
        given = dict(MODES[self.mode])
        if self.align_corners:
            given["coordinates"] = "align_corners"
        if self.factors is None:
            return given
        return given | {"scales": self.factors, "recompute_scale_factor": self.recompute or self.align_corners}

    def interpolate(self, x: Any) -> Any:
        return torch.nn.functional.interpolate(x, **self.theirs)

    def matrix(self, axis: int) -> Array:
        """The f64 weights along one axis, (sizes[axis], source[axis]): what torch makes of the identity's rows."""
        old, new = self.source[axis], self.sizes[axis]
        # Two axes of an image where torch wants them; the first stays as it is.
        first = (old,) if has_two_axes(self.mode) else ()
        factors = None if self.factors is None else (*(1.0 for _ in first), self.factors[axis])
        alone = replace(self, source=(*first, old), sizes=(*first, new), factors=factors)
        rows = torch.eye(old, dtype=torch.float64).reshape((1, 1, old, old) if first else (1, old, old))
        made: Array = alone.interpolate(rows).numpy().reshape(old, new).T
        return made

    def certain(self) -> list[Array]:
        """Of nearest, along each axis, the outputs that torch's f32 indices must be right about.

        torch reads floor(o * s) or floor((o + 1/2) * s), with s = 1 / scale in f32. Where that s is exact, so are the
        products of these small numbers; else what lies within 1e-5 of an integer may fall to either side.
        """
        kept = []
        for axis, (old, new) in enumerate(zip(self.source, self.sizes, strict=True)):
            by_sizes = self.factors is None or self.recompute
            step = Fraction(old, new) if by_sizes else 1 / Fraction(repr(self.factors[axis]))
            half = Fraction(1, 2) if self.mode == "nearest-exact" else Fraction(0)
            places = [(o + half) * step for o in range(new)]
            is_exact = Fraction(float(np.float32(float(step)))) == step
            kept.append(np.array([is_exact or abs(place - round(place)) > 1e-5 for place in places]))
        return kept


def has_two_axes(mode: str) -> bool:
    """torch's bicubic, and whatever it antialiases, has two axes."""
    return "cubic" in mode or mode.startswith("antialiased")


def problems(mode: str, seed: int, count: int) -> Iterator[tuple[str, Problem, np.random.Generator]]:
    """Random problems, each with what names it in a message.

    None of those that torch's CPU does not do as it says: an axis that keeps its size is copied whatever its scale is
    (but in bicubic), nearest and its gradient forget the scale of an axis that doubles, and an antialiased result of
    one column repeats its first row (2.13.0; its gradient is right).
    """
    rng = np.random.default_rng(seed)
    for number in range(count):
        rank = int(rng.integers(1, 4))
        if has_two_axes(mode):
            rank = 2
        most = (40, 40, 10)[rank - 1]
        source = tuple(int(size) for size in rng.integers(1, most + 1, rank))
        sizes = tuple(int(size) for size in rng.integers(1, most + 1, rank))
        kind = rng.integers(4)
        if kind == 0:  # what ties are made of
            sizes = tuple(max(1, int(size * rng.choice([0.25, 0.5, 1.0, 1.5, 2.0, 4.0]))) for size in source)
        factors = None
        if kind >= 2:
            factors = tuple(
                float(rng.choice([new / old, (new + rng.uniform(0, 0.9)) / old, round((new + 0.5) / old, 2)]))
                for new, old in zip(sizes, source, strict=True)
            )
            sizes = tuple(int(old * factor) for old, factor in zip(source, factors, strict=True))
            if 0 in sizes:
                sizes, factors = tuple(max(size, 1) for size in sizes), None
            elif mode != "cubic":
                both = zip(source, sizes, factors, strict=True)
                factors = tuple(new / old if new in (old, 2 * old) else factor for old, new, factor in both)
        if mode.startswith("antialiased") and sizes[-1] == 1:
            source, sizes, factors = (source[0], max(source[-1], 2)), (sizes[0], 2), None
        aligned = mode in ("linear", "cubic") and bool(rng.integers(2))
        batch = (int(rng.integers(1, 3)), int(rng.integers(1, 4)))
        problem = Problem(mode, batch, source, sizes, factors, bool(rng.integers(2)), aligned)
        yield f"problem {number} of seed {seed}: {problem}", problem, rng


def nested(matrices: list[Array], x: Array) -> Array:
    """The matrices along the last axes of x, in f64."""
    rank = x.ndim
    return reduce(
        lambda made, place: np.moveaxis(
            np.tensordot(made, matrices[place], (rank - len(matrices) + place, 1)), -1, rank - len(matrices) + place
        ),
        range(len(matrices)),
        x.astype(np.float64),
    )


def bound(matrices: list[Array], x: Array) -> Array:
    """How far an f32 result may be from torch's f64: (3 * axes + taps) units of sum|w * x|.

    And torch's own positions: up to 40, in f64, they are within 2^-47, so are its weights, of zero too, within 2^-45,
    and 1,600 taps within 2^-34 of the largest element.
    """
    taps = prod(int(np.count_nonzero(matrix, axis=1).max(initial=1)) for matrix in matrices)
    sums = nested([np.abs(matrix) for matrix in matrices], np.abs(x))
    return (3 * len(matrices) + taps) * 2.0**-24 * sums + 2.0**-34 * np.abs(x).max(initial=0)


def only_certain(problem: Problem, made: Array) -> Array:
    for axis, kept in enumerate(problem.certain()):
        made = np.compress(kept, made, axis=axis + 2)
    return made


@pytest.mark.parametrize(("mode", "seed"), [("nearest", 1), ("nearest-exact", 2)])
def test_nearest_of_every_width(mode, seed, vulkan_device):
    for number, (name, problem, rng) in enumerate(problems(mode, seed, 250)):
        dtype = (np.float32, np.uint8, np.float64, np.float16)[number % 4]
        x = rng.integers(0, 256, (*problem.batch, *problem.source)).astype(dtype)
        # torch has no nearest of f16 on every CPU: the numbers are the same in f32.
        theirs = problem.interpolate(torch.from_numpy(x.astype(np.float32) if dtype == np.float16 else x)).numpy()
        sizes = problem.sizes if problem.factors is None else None
        ours = rs.resample(rs.asarray(x, device=vulkan_device), sizes, **problem.ours).numpy()
        assert ours.shape == theirs.shape, name
        assert ours.dtype == dtype, name
        assert np.array_equal(only_certain(problem, ours), only_certain(problem, theirs)), name


def test_few_outputs_of_nearest_are_uncertain():
    """The rule leaves out a small part of the outputs, and ties by exact scales are not among it."""
    kept = [
        np.concatenate(problem.certain())
        for mode in ("nearest", "nearest-exact")
        for _, problem, _ in problems(mode, 1, 250)
    ]
    assert np.concatenate(kept).mean() > 0.85
    (halved,) = Problem("nearest-exact", (1, 1), (40,), (20,), None, False, False).certain()
    assert halved.all()


INTERPOLATED = {"linear": 3, "cubic": 4, "antialiased linear": 5, "antialiased cubic": 6, "area": 7}


@pytest.mark.parametrize(("mode", "seed"), INTERPOLATED.items())
def test_f32_against_f64(mode, seed, vulkan_device):
    for name, problem, rng in problems(mode, seed, 200):
        x = (rng.standard_normal((*problem.batch, *problem.source)) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
        theirs = problem.interpolate(torch.from_numpy(x.astype(np.float64))).numpy()
        sizes = problem.sizes if problem.factors is None else None
        ours = rs.resample(rs.asarray(x, device=vulkan_device), sizes, **problem.ours).numpy()
        assert ours.shape == theirs.shape, name
        allowed = bound([problem.matrix(axis) for axis in range(len(problem.source))], x)
        assert (np.abs(ours - theirs) <= allowed).all(), name


@pytest.mark.parametrize(("mode", "seed"), INTERPOLATED.items())
def test_u8_is_the_exact_result_rounded_once(mode, seed, vulkan_device):
    """torch's own u8 truncates some modes and rounds fixed point in others; its f64 says what is exact.

    Within the bound of a tie either neighbour is right.
    """
    for name, problem, rng in problems(mode, 100 + seed, 100):
        x = rng.integers(0, 256, (*problem.batch, *problem.source)).astype(np.uint8)
        theirs = problem.interpolate(torch.from_numpy(x.astype(np.float64))).numpy()
        sizes = problem.sizes if problem.factors is None else None
        ours = rs.resample(rs.asarray(x, device=vulkan_device), sizes, **problem.ours).numpy()
        assert ours.dtype == np.uint8, name
        allowed = bound([problem.matrix(axis) for axis in range(len(problem.source))], x)
        low, high = (np.clip(np.rint(theirs + side * allowed), 0, 255) for side in (-1, 1))
        assert ((low <= ours) & (ours <= high)).all(), name


@pytest.mark.parametrize(("mode", "seed", "count"), [
    ("nearest", 11, 50), ("nearest-exact", 12, 50), ("linear", 13, 100), ("cubic", 14, 100), ("area", 15, 60),
    ("antialiased linear", 16, 70), ("antialiased cubic", 17, 70),
])  # fmt: skip
def test_gradients(mode, seed, count, vulkan_device):
    """Gradients of outputs that nearest is not sure about are zero, so they say nothing."""
    for name, problem, rng in problems(mode, seed, count):
        grad = rng.standard_normal((*problem.batch, *problem.sizes)).astype(np.float32)
        if mode.startswith("nearest"):
            for axis, kept in enumerate(problem.certain()):
                np.moveaxis(grad, axis + 2, 0)[~kept] = 0
        x = torch.zeros((*problem.batch, *problem.source), dtype=torch.float64, requires_grad=True)
        problem.interpolate(x).backward(torch.from_numpy(grad.astype(np.float64)))
        theirs = x.grad.numpy()
        ours = rs.resample_backward(rs.asarray(grad, device=vulkan_device), problem.source, **problem.ours).numpy()
        assert ours.shape == theirs.shape, name
        allowed = bound([problem.matrix(axis).T for axis in range(len(problem.source))], grad)
        assert (np.abs(ours - theirs) <= allowed).all(), name
