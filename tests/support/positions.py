"""One axis of a resampling: its rows, their weights as a matrix, and the coordinate of each output as a fraction."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from restride.weights import Request, Rows, resizing

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


HALF = Fraction(1, 2)
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


def one_axis(source_size: int, size: int | None = None, scale=None, **choice) -> Rows:
    sizes, scales = None if size is None else (size,), None if scale is None else (scale,)
    (rows,) = resizing((source_size,), Request(sizes, scales, **choice)).rows
    return rows


def matrix(rows) -> np.ndarray:
    """The weights as a matrix of all outputs by all sources."""
    made = np.zeros((rows.size, rows.source_size), np.float32)
    for row, (first, weights) in enumerate(zip(*rows.first_and_weights(), strict=True)):
        assert 0 <= first <= rows.source_size - rows.taps
        made[row, first : first + rows.taps] = weights
    return made
