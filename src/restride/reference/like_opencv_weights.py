"""The weights of OpenCV's filters, in the f32 and f64 steps in which it takes them.

Source: OpenCV 5.0, modules/imgproc/src/resize.cpp and precomp.hpp.
"""

from __future__ import annotations

import math

import numpy as np

_F = np.float32


def cubic_weights(part: np.float32) -> list[np.float32]:
    """Of four elements, with a = -0.75; the last is what the others leave of 1."""
    a, before, behind = _F(-0.75), part + _F(1), _F(1) - part
    first = ((a * before - _F(5) * a) * before + _F(8) * a) * before - _F(4) * a
    inner = [((a + _F(2)) * x - (a + _F(3))) * x * x + _F(1) for x in (part, behind)]
    return [first, *inner, _F(1) - first - inner[0] - inner[1]]


_EIGHTH = 0.70710678118654752440
_TURNS = (
    *((1.0, 0.0), (-_EIGHTH, -_EIGHTH), (0.0, 1.0), (_EIGHTH, -_EIGHTH)),
    *((-1.0, 0.0), (_EIGHTH, _EIGHTH), (0.0, -1.0), (-_EIGHTH, _EIGHTH)),
)
"""Sine and cosine of the first tap that make the sine of each."""


def lanczos_weights(part: np.float32) -> list[np.float32]:
    """Of eight elements, by one sine and one cosine; divided by their sum."""
    angle = -float(part + _F(3)) * math.pi * 0.25
    found, total = [], _F(0)
    for tap, (of_sine, of_cosine) in enumerate(_TURNS):
        distance = part + _F(3) - _F(tap)
        if abs(distance) < _F(1e-6):
            found.append(_F(1e30))
        else:
            its_angle = -float(distance) * math.pi * 0.25
            found.append(_F((of_sine * math.sin(angle) + of_cosine * math.cos(angle)) / (its_angle * its_angle)))
        total = total + found[-1]
    return [weight * (_F(1) / total) for weight in found]


def area_row(o: int, old: int, new: int) -> list[tuple[int, float]]:
    """Elements that output o covers, with the parts of the first and the last; those below 0.001 are left out."""
    scale = 1.0 / (new / old)
    start = o * scale
    width = min(scale, old - start)
    end = start + scale
    last = min(math.floor(end), old - 1)
    first = min(math.ceil(start), last)
    row = []
    if first - start > 1e-3:
        row.append((first - 1, float(_F((first - start) / width))))
    row += [(at, float(_F(1.0 / width))) for at in range(first, last)]
    if end - last > 1e-3:
        row.append((last, float(_F(min(end - last, 1.0, width) / width))))
    return row
