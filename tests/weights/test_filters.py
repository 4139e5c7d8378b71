"""Bands of weights against fractions: every coordinate rule, mode and edge, one output index at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.positions import PAIRS, ROUNDED, matrix, one_axis, position, shares, weights_at

from restride.request import COORDINATES, NEAREST_RULES


@pytest.mark.parametrize("rule", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_weights_are_those_of_the_formula(rule, mode, antialias, exclude):
    roi = (0.25, 0.75) if rule == "tf_crop_and_resize" else None
    slope = {"cubic_a": -0.5} if mode == "cubic" else {}
    for i, n in PAIRS:
        rows = one_axis(
            i, n, mode=mode, coordinates=rule, roi=roi, antialias=antialias, exclude_outside=exclude, **slope
        )
        shrink = min(Fraction(n, i), Fraction(1)) if antialias else Fraction(1)
        found = matrix(rows)
        for o in range(n):
            exact = weights_at(position(rule, o, i, n), i, mode, shrink, exclude, Fraction(-1, 2))
            for weight, right in zip(found[o].tolist(), exact, strict=True):
                assert abs(weight - right) <= max(abs(right), Fraction(1, 1000)) / (1 << 23), (i, n, o)


@pytest.mark.parametrize("nearest", NEAREST_RULES)
@pytest.mark.parametrize("rule", COORDINATES)
def test_nearest_is_the_rounded_position(nearest, rule):
    rounded = ROUNDED[nearest]
    roi = (0.25, 0.75) if rule == "tf_crop_and_resize" else None
    for i in range(1, 14):
        for n in range(1, 14):
            rows = one_axis(i, n, mode="nearest", nearest=nearest, coordinates=rule, roi=roi)
            taken = rows.first().tolist()
            assert taken == [min(max(rounded(position(rule, o, i, n)), 0), i - 1) for o in range(n)], (i, n)


def test_area_is_the_mean_of_what_an_output_covers():
    for i in range(1, 14):
        for n in range(1, 14):
            found = matrix(one_axis(i, n, mode="area"))
            for o in range(n):
                covered = range(o * i // n, -(-(o + 1) * i // n))
                mean = np.float32(1 / len(covered))
                assert found[o].tolist() == [mean if j in covered else 0 for j in range(i)], (i, n, o)


def test_area_weighted_has_the_share_of_each_element():
    assert (
        matrix(one_axis(5, 2, mode="area_weighted")).tolist()
        == np.float32([[2, 2, 1, 0, 0], [0, 0, 1, 2, 2]] / np.float32(5)).tolist()
    )
    for i in range(1, 14):
        for n in range(1, 14):
            expected = np.float32([[float(share) for share in row] for row in shares(i, n)])
            assert (matrix(one_axis(i, n, mode="area_weighted")) == expected).all(), (i, n)
            if i % n == 0 or n % i == 0:
                assert (matrix(one_axis(i, n, mode="area")) == expected).all(), (i, n)


def test_the_mean_of_huge_axes_is_exact():
    i, n = 3 * (1 << 60) + 1, 1 << 61
    rows = one_axis(i, n, mode="area")
    for o in (0, 1, 12345, n // 3, n - 1):
        first, last = o * i // n, -(-(o + 1) * i // n)
        (begins,), (weights,) = rows.part(o, 1).first_and_weights()
        assert begins <= first < last <= begins + rows.taps
        mean = np.float32(1 / (last - first))
        assert weights.tolist() == [mean if first <= begins + tap < last else 0 for tap in range(rows.taps)]
    rows = one_axis(i, n, mode="area_weighted")
    for o in (0, 1, 12345, n // 3, n - 1):
        (begins,), (weights,) = rows.part(o, 1).first_and_weights()
        begin, end = Fraction(o * i, n), Fraction((o + 1) * i, n)
        elements = range(int(begins), int(begins) + rows.taps)
        share = [max(min(j + 1, end) - max(j, begin), 0) * Fraction(n, i) for j in elements]
        assert weights.tolist() == [np.float32(float(each)) for each in share]
