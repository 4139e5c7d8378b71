"""Pillow's Image.resize: filters in f64, bytes with weights in steps of 2^-22, one axis after the other.

Source: Pillow 13, src/libImaging/Resample.c and Geometry.c.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from restride.reference.arguments import Array
from restride.reference.request import ReferenceRequest
from restride.reference.weights import Answer, ReferenceRows, half_away, in_steps, integer_sums, picks, shifted

_PLACES = 22


def answer(request: ReferenceRequest) -> Answer:
    """Pillow's own result. Columns are resized first, but rows if the image loses more than twice as many of them."""
    if request.word == "nearest":
        pick = nearest_16 if request.array.dtype == np.uint16 else nearest
        return [(axis, picks(pick(old, new), old)) for axis, old, new in request.each()]
    weighted = [
        (axis, filter_rows(*FILTERS[request.word], old, new)) for axis, old, new in request.each() if old != new
    ]
    (_, columns, wide), (_, rows, high) = request.each()
    if rows > high and rows - high > 2 * (columns - wide):
        weighted.reverse()
    if request.array.dtype != np.uint8:
        return weighted
    x: Array = request.array.astype(np.int64)
    for axis, of_axis in weighted:
        x = shifted(integer_sums(x, axis, in_steps(of_axis, lambda weight: half_away(weight * 2**_PLACES))), _PLACES)
    return x


def nearest(old: int, new: int) -> list[int]:
    """The source index of each output, from its middle; middles are found by adding steps."""
    step = old / new
    place, indices = step * 0.5, []
    for _ in range(new):
        indices.append(min(int(place), old - 1))
        place += step
    return indices


def nearest_16(old: int, new: int) -> list[int]:
    """The rows for mode I;16, whose middles are found by multiplication."""
    return [min(int(old / new * (o + 0.5)), old - 1) for o in range(new)]


def filter_rows(
    function: Callable[[float], float], support: float, old: int, new: int, scale: float | None = None
) -> ReferenceRows:
    """Each output's weights: the filter at the middles of all elements in reach, divided by their sum.

    support: the filter's radius. scale: source elements for each output; default: from the sizes.
    """
    scale = float(np.float32(old)) / new if scale is None else scale
    stretch = max(scale, 1.0)
    table = []
    for o in range(new):
        centre = (o + 0.5) * scale
        low = max(int(centre - support * stretch + 0.5), 0)
        high = min(int(centre + support * stretch + 0.5), old)
        values = [function((at - centre + 0.5) * (1.0 / stretch)) for at in range(low, high)]
        total = 0.0
        for value in values:  # in order: newer versions of sum() add more exactly
            total += value
        table.append([(low + k, value / total if total else value) for k, value in enumerate(values)])
    return ReferenceRows.of(table, old)


def _box(x: float) -> float:
    return 1.0 if -0.5 < x <= 0.5 else 0.0


def triangle(x: float) -> float:
    """The triangle filter: it falls from 1 at 0 to 0 at 1."""
    return max(1.0 - abs(x), 0.0)


def _hamming(x: float) -> float:
    x = abs(x)
    if x == 0.0 or x >= 1.0:
        return float(x == 0.0)
    x *= math.pi
    return math.sin(x) / x * (float(np.float32(0.54)) + float(np.float32(0.46)) * math.cos(x))


def bicubic(x: float) -> float:
    """Keys' cubic filter with a = -0.5."""
    a, x = -0.5, abs(x)
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return (((x - 5.0) * x + 8.0) * x - 4.0) * a if x < 2.0 else 0.0


def _sinc(x: float) -> float:
    return math.sin(x * math.pi) / (x * math.pi) if x else 1.0


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / 3.0) if -3.0 <= x < 3.0 else 0.0


FILTERS: dict[str, tuple[Callable[[float], float], float]] = {
    "box": (_box, 0.5),
    "bilinear": (triangle, 1.0),
    "hamming": (_hamming, 1.0),
    "bicubic": (bicubic, 2.0),
    "lanczos": (_lanczos, 3.0),
}
"""For each filter the function and its radius."""
