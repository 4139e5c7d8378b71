"""Centres: the source positions that outputs stand for, as exact fractions, and the line that lies closest to them.

Linear and cubic filters are symmetric about the position at which an output reads (``coordinates``), which is its
centre. The means of "area" and "area_weighted" have the centre of mass of their weights. "nearest" takes one element
for each output; its centres lie in the middle of the elements taken, at most half an element from each. Where an axis
grows, outputs that read the same elements still have centres of their own, those of half_pixel.

Worked example, 5 -> 2: area averages elements 0 to 2 and 2 to 4, with centres 1 and 3; area_weighted has the weights
2, 2, 1 and 1, 2, 2, of 5, with centres 4/5 and 16/5; linear reads at 3/4 and 13/4.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from restride.dtypes import Array
from restride.request import AREA_MODES
from restride.weights.coordinates import Ends, Line, line
from restride.weights.filters import Filter

_MAX_IN_64_BITS = 1 << 20
"""Maximum number of elements of an axis for which products of three sizes fit 64 bits."""


def centres(filter_: Filter) -> tuple[Array, int]:
    """The centre of every output, as numerators and their common denominator."""
    before, size = filter_.source_size, filter_.size
    if filter_.rules.mode not in AREA_MODES or size >= before:
        along = line_of_centres(filter_)
        return along.numerators(np.arange(size), size), along.denominator
    index = np.arange(size).astype(np.int64 if before < _MAX_IN_64_BITS else object)
    first, last = index * before // size, -(-(index + 1) * before // size) - 1
    if filter_.rules.mode == "area":
        return first + last, 2
    # Elements are numbered from ``first``. In units of 1 / size each has the weight ``size``, except that the parts of
    # the first and the last one outside of the output do not count.
    taps = last - first + 1
    not_covered = (last + 1) * size - (index + 1) * before  # of the last element; the first one, 0, adds 0
    return 2 * before * first + size * taps * (taps - 1) - 2 * (taps - 1) * not_covered, 2 * before


def line_of_centres(filter_: Filter) -> Line:
    """The line through the centres; if there is none, a line that is at most half an element from each.

    The centres of "area" get the line of least squares, those of "area_weighted" the line of half_pixel: the middle of
    an output's cell, at most 1/8 element from its centre of mass. If least squares miss a centre of "area" by more than
    half an element (by up to 0.56 for factors close to 1), "area" gets the line of half_pixel too, which never misses.
    """
    if filter_.rules.mode == "nearest":
        return _line_of_nearest(filter_.rules.nearest, filter_.line)
    before, size = filter_.source_size, filter_.size
    if filter_.rules.mode not in AREA_MODES or not before or not size:
        return filter_.line
    half_pixel = line("half_pixel", Ends(before, size, Fraction(size, before)))
    if filter_.rules.mode == "area_weighted" or size >= before or before % size == 0:
        return half_pixel
    # Output o covers o I / O to (o + 1) I / O. These ends are rounded down and up to whole elements, which moves the
    # centre.
    index = np.arange(size).astype(np.int64 if before < _MAX_IN_64_BITS else object)
    moment = int(((2 * index - size + 1) * (index * before % size)).sum())
    slope = Fraction(before, size) - Fraction(6 * moment, max(size**2 * (size**2 - 1), 1))
    misses = float(slope) * (index - (size - 1) / 2) + (before - 1) / 2 - centres(filter_)[0] / 2
    if np.abs(misses).max() > 1 / 2:
        return half_pixel
    return Line.through(slope, Fraction(before - 1, 2) - slope * Fraction(size - 1, 2))


def _line_of_nearest(rule: str, at: Line) -> Line:
    """The line in the middle of the elements that ``rule`` takes for the positions ``at``.

    Worked example, half_pixel, 8 -> 4: positions 1/2, 5/2 and so on; half_up takes 1, 3, and floor 0, 2.
    """
    if rule in ("floor", "ceil"):
        step, start, one = at
    elif abs(at.step) < at.denominator:
        return at  # an element is taken several times, evenly around its positions
    else:  # floor(s + 1/2), or ceil(s - 1/2)
        step, one = 2 * at.step, 2 * at.denominator
        start = 2 * at.start + (-at.denominator if rule == "round_prefer_floor" else at.denominator)
    # Rounding moves a position, down or up, by (least + k * common) / one, for all k for which that is below 1.
    common = math.gcd(step, one)
    if rule in ("ceil", "round_prefer_floor"):
        shift = 2 * (-start % common) + one - common
    else:
        shift = -2 * (start % common) - one + common
    return Line(2 * step, 2 * start + shift, 2 * one)
