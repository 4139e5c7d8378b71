"""scikit-image's resize of order 0 and 1: a Gaussian along each axis that shrinks, mirrored, then two neighbours.

Source: scikit-image 0.26, skimage/transform/_warps.py; scipy.ndimage, gaussian_filter1d and zoom with grid_mode.
"""

from __future__ import annotations

import math

from restride.reference.request import ReferenceRequest
from restride.reference.weights import Answer, ReferenceRows


def answer(request: ReferenceRequest) -> Answer | None:
    """scikit-image's own rows; None for order 0, which is half-pixel nearest."""
    if request.word == "nearest":
        return None
    return [(axis, _rows(old, new, request.rules.antialias)) for axis, old, new in request.each()]


def _rows(old: int, new: int, antialias: bool) -> ReferenceRows:
    sigma = max(0.0, (old / new - 1) / 2) if antialias else 0.0
    reach = int(4 * sigma + 0.5)
    bell = [math.exp(-0.5 * (k / sigma) ** 2) if sigma else 1.0 for k in range(-reach, reach + 1)]
    total = sum(bell)
    table = []
    for o in range(new):
        place = (o + 0.5) * (old / new) - 0.5
        at = math.floor(place)
        row: dict[int, float] = {}
        for neighbour, part in ((at, at + 1 - place), (at + 1, place - at)):
            for k, weight in enumerate(bell):
                index = _mirrored(_mirrored(neighbour, old) + k - reach, old)
                row[index] = row.get(index, 0.0) + part * weight / total
        table.append(list(row.items()))
    return ReferenceRows.of(table, old)


def _mirrored(index: int, size: int) -> int:
    """The index inside the axis that a mirrored one reads: of 4 elements, -1 is 1 and 4 is 2."""
    while not 0 <= index < size:
        index = 0 if size == 1 else -index if index < 0 else 2 * (size - 1) - index
    return index
