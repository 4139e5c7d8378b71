"""Coordinates: the line that each rule and scale gives, exact for axes of any size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from support.positions import HALF, one_axis

from restride.weights import Rows, filter_of
from restride.weights.coordinates import Line


def line(rows: Rows) -> Line:
    return filter_of(rows).line


def test_offsets_of_directml_are_half_pixel_by_default():
    for size in (3, 8, 13):
        whole = one_axis(8, size, input_offsets=(0.5,), output_offsets=(-0.5,))
        assert line(whole) == line(one_axis(8, size))
    assert line(one_axis(8, 4, scale=0.5, input_offsets=(-1,), output_offsets=(0,))).at(1) == 3


def test_a_scale_enters_the_coordinates_unless_it_is_recomputed():
    assert one_axis(5, scale=0.7).size == 3
    assert line(one_axis(5, scale=0.7)).at(1) == Fraction(3, 2) / Fraction(7, 10) - HALF
    assert line(one_axis(5, scale=0.7, recompute_scale_factor=True)) == line(one_axis(5, 3))
    # A float is the decimal number that it prints: output 1 of 0.1 reads at 10, not at 9.99...
    tenths = one_axis(100, scale=0.1, mode="nearest", nearest="floor", coordinates="asymmetric")
    assert tenths.part(0, 3).first().tolist() == [0, 10, 20]
    assert one_axis(100, scale=0.29).size == 28  # 100 * 0.29 in f64, as torch and ONNX have it
    assert one_axis(100, scale=Fraction(29, 100)).size == 29
    assert one_axis(10, scale=np.float32(0.5)).size == 5
    assert one_axis(200, scale=np.uint8(2)).size == 400


def test_huge_axes_are_exact():
    size = 3 * (1 << 60) + 1
    rows = one_axis(size, 5)
    for o in range(5):
        s = (o + HALF) * size / 5 - HALF
        assert rows.part(o, 1).first().tolist() == [math.floor(s)]
        weights = rows.part(o, 1).first_and_weights()[1][0].tolist()
        assert weights == [np.float32(1 - (s - math.floor(s))), np.float32(s - math.floor(s))]
