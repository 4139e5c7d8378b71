"""The axes of a resampling: their rows, weights as a matrix, and the coordinate of each output as a fraction."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from restride.layout import TensorDesc
from restride.plan.resample import Tables
from restride.request import Request
from restride.weights import Rows, resizing

HALF = Fraction(1, 2)


def position(rule: str, o: int, i: int, n: int) -> Fraction:
    """The coordinate that output o of n reads on an axis of i elements, by ONNX's formula."""
    half_pixel = (o + HALF) * i / n - HALF
    return {
        "half_pixel": half_pixel,
        "half_pixel_symmetric": half_pixel,
        "pytorch_half_pixel": half_pixel if n > 1 else Fraction(0),
        "align_corners": Fraction(o * (i - 1), n - 1) if n > 1 else Fraction(0),
        "asymmetric": Fraction(o * i, n),
        "tf_half_pixel_for_nn": (o + HALF) * i / n,
        "tf_crop_and_resize": Fraction(1, 4) * (i - 1) + o * HALF * (i - 1) / (n - 1) if n > 1 else HALF * (i - 1),
    }[rule]


ROUNDED = {
    "half_up": lambda s: math.floor(s + HALF),
    "round_prefer_ceil": lambda s: math.floor(s + HALF),
    "round_prefer_floor": lambda s: math.ceil(s - HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}


def shares(i: int, n: int) -> list[list[Fraction]]:
    """For each output, its overlap with each element."""
    edges = [(Fraction(o * i, n), Fraction((o + 1) * i, n)) for o in range(n)]
    return [[max(min(j + 1, end) - max(j, begin), 0) * Fraction(n, i) for j in range(i)] for begin, end in edges]


PAIRS = ((1, 1), (1, 4), (2, 3), (3, 2), (5, 5), (4, 9), (9, 4), (13, 3), (20, 1), (7, 1))
"""Sizes before and after, for every rule."""


def keys(x: Fraction, a: Fraction) -> Fraction:
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else Fraction(0)


def weights_at(s: Fraction, size: int, mode: str, shrink: Fraction, exclude: bool, a: Fraction) -> list[Fraction]:
    """The weight of every source index for a read at s: all taps, then the rules of the edges."""
    taps = {}
    for j in range(math.floor(s - 2 / shrink) - 1, math.ceil(s + 2 / shrink) + 2):
        x = (j - s) * shrink
        taps[j] = max(1 - abs(x), Fraction(0)) if mode == "linear" else keys(x, a)
    total = sum(taps.values())
    if exclude and any(weight for j, weight in taps.items() if 0 <= j < size):
        taps = {j: weight for j, weight in taps.items() if 0 <= j < size}
        total = sum(taps.values())
    found = [Fraction(0)] * size
    for j, weight in taps.items():
        found[min(max(j, 0), size - 1)] += weight / total
    return found


def one_axis(source_size: int, size: int | None = None, scale=None, **choice) -> Rows:
    sizes, scales = None if size is None else (size,), None if scale is None else (scale,)
    (rows,) = resizing((source_size,), Request(sizes, scales, **choice)).rows
    return rows


def tables_of(
    src: TensorDesc, dst: TensorDesc, choice: Request, axes: tuple[int, ...] | None = None, gradient: bool = False
) -> Tables:
    """The tables of one pass, along the axes whose sizes differ; of a gradient from the sizes of ``src`` to ``dst``."""
    axes = axes or tuple(axis for axis in range(src.rank) if src.sizes[axis] != dst.sizes[axis])
    forward = (dst, src) if gradient else (src, dst)
    resized = resizing(forward[0].sizes, choice._replace(sizes=[forward[1].sizes[axis] for axis in axes], axes=axes))
    rows = [each.transposed() if gradient else each for each in resized.rows]
    made = list(zip(resized.axes, rows, strict=True))
    return tuple(sorted(made, key=lambda pair: -pair[0]))


def matrix(rows) -> np.ndarray:
    """The weights as a matrix of all outputs by all sources."""
    made = np.zeros((rows.size, rows.source_size), np.float32)
    for row, (first, weights) in enumerate(zip(*rows.first_and_weights(), strict=True)):
        assert 0 <= first <= rows.source_size - rows.taps
        made[row, first : first + rows.taps] = weights
    return made
