"""Centres: where the means of an axis lie, and the line closest to them, in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.positions import HALF, ROUNDED, position, shares

from restride.request import COORDINATES, NEAREST_RULES, Request
from restride.weights import resizing
from restride.weights.centres import centres, line_of_centres
from restride.weights.coordinates import Line


def centre_filter(i: int, n: int, **choice):
    (filter_,) = resizing((i,), Request((n,), **choice)).filters
    return filter_


@pytest.mark.parametrize("mode", ["area", "area_weighted"])
def test_centres_of_means(mode):
    for i in range(1, 24):
        for n in range(1, 24):
            weights = shares(i, n)
            if mode == "area":
                weights = [[Fraction(share > 0, sum(each > 0 for each in row)) for share in row] for row in weights]
            expected = [sum(j * weight for j, weight in enumerate(row)) for row in weights]
            filter_ = centre_filter(i, n, mode=mode)
            numerators, denominator = centres(filter_)
            found = [Fraction(int(each), denominator) for each in numerators]
            closest = line_of_centres(filter_)
            assert found == (expected if n < i else [(o + HALF) * i / n - HALF for o in range(n)]), (i, n)
            distance = max(abs(closest.at(o) - each) for o, each in enumerate(expected))
            assert distance <= (Fraction(1, 8) if mode == "area_weighted" and n < i else HALF), (i, n)
            if mode == "area" and 1 < n < i:
                fit = np.polyfit(np.arange(n), np.array(expected, float), 1)
                np.testing.assert_allclose(fit, [float(closest.at(1) - closest.at(0)), float(closest.at(0))], atol=1e-9)


@pytest.mark.parametrize(("i", "n"), [(30, 27), (84, 80), (241, 237), (2000, 1996), (1001, 500)])
def test_the_line_of_area_is_at_most_half_an_element_from_each_centre(i, n):
    filter_ = centre_filter(i, n, mode="area")
    numerators, denominator = centres(filter_)
    stated = line_of_centres(filter_)
    assert max(abs(stated.at(o) - Fraction(int(each), denominator)) for o, each in enumerate(numerators)) <= HALF


def test_centres_of_huge_axes_are_exact():
    i, n = 3 * (1 << 40) + 1, 5
    numerators, denominator = centres(centre_filter(i, n, mode="area_weighted"))
    assert sum(Fraction(int(each), denominator) for each in numerators) == Fraction(n * (i - 1), 2)
    assert line_of_centres(centre_filter(2 * (1 << 21) + 1, 1 << 21, mode="area")) == Line(2, 1, 1)


@pytest.mark.parametrize("rule", COORDINATES[:-1])
@pytest.mark.parametrize("nearest", NEAREST_RULES)
def test_centres_of_nearest(nearest, rule):
    rounded = ROUNDED[nearest]
    for i in range(1, 24):
        for n in range(1, 24):
            closest = line_of_centres(centre_filter(i, n, mode="nearest", nearest=nearest, coordinates=rule))
            distance = max(abs(closest.at(o) - rounded(position(rule, o, i, n))) for o in range(n))
            assert distance <= HALF, (i, n)
            if i % n == 0 and rule in ("half_pixel", "asymmetric", "tf_half_pixel_for_nn"):
                assert distance == 0, (i, n)
