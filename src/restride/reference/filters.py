"""The weights with which an output index of an axis reads source indices: exact integers, divided once.

A weight is ``F((j - s) * m)`` for source index j: F the triangle (radius 1) or Keys' cubic (radius 2), m = 1, or with
antialias the scale where that shrinks. Worked example, triangle, s = 7/6: distances 1/6 and 5/6 of indices 1 and 2, in
sixths 1 and 5, weights 6 - 1 = 5 and 6 - 5 = 1, of 6.

Sources: ONNX operators, Resize (linear, cubic, antialias, exclude_outside); Keys, Cubic convolution interpolation
(1981); torch, adaptive_avg_pool1d (area).
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

from restride.reference.coordinates import Axis, nearest_index

MODES = ("nearest", "linear", "cubic", "area")

_RADIUS = {"linear": 1, "cubic": 2}


def weights(axis: Axis, o: int, s: Fraction) -> dict[int, float]:
    """The weight of each source index that output index ``o``, at ``s``, reads: the f64 nearest to the exact one."""
    if axis.mode == "nearest":
        return {nearest_index(axis, s): 1.0}
    if axis.mode == "area":
        covered = range(o * axis.source_size // axis.size, -(-(o + 1) * axis.source_size // axis.size))
        return dict.fromkeys(covered, 1 / len(covered))
    reached = _reached(axis, s)
    inside = {j: weight for j, weight in reached.items() if 0 <= j < axis.source_size}
    if axis.exclude_outside and sum(inside.values()) != 0:
        reached = inside
    total = sum(reached.values())
    folded: defaultdict[int, int] = defaultdict(int)
    for j, weight in reached.items():
        folded[min(max(j, 0), axis.source_size - 1)] += weight
    return {j: weight / total for j, weight in folded.items()}  # integers: Python rounds their quotient once


def _reached(axis: Axis, s: Fraction) -> dict[int, int]:
    """Integers in proportion to the filter at every source index that it reaches, as if the axis had no ends.

    Where the filter is not widened they add up to ``F(0)``, so that dividing by their sum changes nothing.
    """
    widened = min(axis.scale, Fraction(1)) if axis.antialias else Fraction(1)
    radius = _RADIUS[axis.mode] / widened
    one = s.denominator * widened.denominator
    reached = {}
    for j in range(math.floor(s - radius) + 1, math.ceil(s + radius)):
        distance = abs(j * s.denominator - s.numerator) * widened.numerator
        reached[j] = one - distance if axis.mode == "linear" else _keys(distance, one, axis.cubic_a)
    return reached


def _keys(distance: int, one: int, a: Fraction) -> int:
    """Keys' cubic at ``x = distance / one < 2``, times ``one^3`` and the denominator of ``a``.

    ``(a + 2) x^3 - (a + 3) x^2 + 1`` up to 1, then ``a x^3 - 5a x^2 + 8a x - 4a``.
    """
    n, d = a.numerator, a.denominator
    if distance <= one:
        return (n + 2 * d) * distance**3 - (n + 3 * d) * distance**2 * one + d * one**3
    return n * (distance**3 - 5 * distance**2 * one + 8 * distance * one**2 - 4 * one**3)
