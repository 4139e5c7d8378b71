"""Bands of weights against fractions: every coordinate rule, mode and edge, one output index at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.positions import position

from restride.errors import DescriptorError
from restride.plan.resample import passes
from restride.weights import (
    AREA_MODES,
    COORDINATES,
    MODES,
    MOST_TAPS,
    NEAREST_RULES,
    Request,
    Rows,
    filter_of,
    resizing,
)
from restride.weights.centres import centres, line_of_centres
from restride.weights.coordinates import Line

HALF = Fraction(1, 2)


def one_axis(source_size: int, size: int | None = None, scale=None, **choice) -> Rows:
    sizes, scales = None if size is None else (size,), None if scale is None else (scale,)
    (rows,) = resizing((source_size,), Request(sizes, scales, **choice)).rows
    return rows


def line(rows: Rows) -> Line:
    return filter_of(rows).line


def matrix(rows) -> np.ndarray:
    """The weights as a matrix of all outputs by all sources."""
    made = np.zeros((rows.size, rows.source_size), np.float32)
    for row, (first, weights) in enumerate(zip(*rows.first_and_weights(), strict=True)):
        assert 0 <= first <= rows.source_size - rows.taps
        made[row, first : first + rows.taps] = weights
    return made


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


@pytest.mark.parametrize("rule", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_weights_are_those_of_the_formula(rule, mode, antialias, exclude):
    roi = (0.25, 0.75) if rule == "tf_crop_and_resize" else None
    slope = {"cubic_a": -0.5} if mode == "cubic" else {}
    for i, n in [(1, 1), (1, 4), (2, 3), (3, 2), (5, 5), (4, 9), (9, 4), (13, 3), (20, 1), (7, 1)]:
        rows = one_axis(
            i, n, mode=mode, coordinates=rule, roi=roi, antialias=antialias, exclude_outside=exclude, **slope
        )
        shrink = min(Fraction(n, i), Fraction(1)) if antialias else Fraction(1)
        found = matrix(rows)
        for o in range(n):
            exact = weights_at(position(rule, o, i, n), i, mode, shrink, exclude, Fraction(-1, 2))
            for weight, right in zip(found[o].tolist(), exact, strict=True):
                assert abs(weight - right) <= max(abs(right), Fraction(1, 1000)) / (1 << 23), (i, n, o)


ROUNDED = {
    "half_up": lambda s: math.floor(s + HALF),
    "round_prefer_ceil": lambda s: math.floor(s + HALF),
    "round_prefer_floor": lambda s: math.ceil(s - HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}


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


def shares(i: int, n: int) -> list[list[Fraction]]:
    """For each output the part of it that lies in each element."""
    edges = [(Fraction(o * i, n), Fraction((o + 1) * i, n)) for o in range(n)]
    return [[max(min(j + 1, end) - max(j, begin), 0) * Fraction(n, i) for j in range(i)] for begin, end in edges]


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


def test_aspect_ratios_are_kept_by_one_scale():
    for policy, sizes in (("not_larger", (7, 14)), ("not_smaller", (10, 20))):
        found = resizing((20, 40), Request((7, 20), keep_aspect_ratio_policy=policy))
        assert found.sizes == sizes


def test_what_is_outside_the_source_is_known():
    # 0.5 to 1.5 of an axis of 5: reads at 2, 3, 4, 5, 6.
    rows = one_axis(5, 5, coordinates="tf_crop_and_resize", roi=(0.5, 1.5))
    assert rows.inside == range(3)
    assert one_axis(5, 5, coordinates="tf_crop_and_resize", roi=(1.5, 0.5)).inside == range(2, 5)
    assert one_axis(5, 1, coordinates="tf_crop_and_resize", roi=(2, 3)).inside == range(0)
    assert one_axis(5, 4, coordinates="tf_crop_and_resize", roi=(0.5, 0.5)).inside == range(4)


@pytest.mark.parametrize("mode", MODES)
def test_the_transpose_has_the_weights_of_the_matrix(mode):
    choices = [{}] if mode in AREA_MODES else [{"coordinates": rule} for rule in COORDINATES[:-1]]
    choices += [
        {"coordinates": "tf_crop_and_resize", "roi": roi} for roi in ((1.2, -0.3), (0.1, 0.7)) if mode not in AREA_MODES
    ]
    choices += [{"antialias": True, "exclude_outside": True}] if mode in ("linear", "cubic") else []
    for choice in choices:
        for i, n in [(1, 1), (1, 30), (30, 1), (5, 7), (7, 5), (4, 13), (13, 4)]:
            rows = one_axis(i, n, mode=mode, **choice)
            forward = matrix(rows)
            outside = [o for o in range(n) if rows.inside is not None and o not in rows.inside]
            forward[outside] = 0
            assert (matrix(rows.transposed()) == forward.T).all(), (choice, i, n)
            assert rows.transposed().transposed() == rows


def test_long_rows_go_in_parts_that_a_window_shares():
    for rows in (one_axis(70_000, 3, mode="area"), one_axis(1, 70_000).transposed()):
        parts, sums = rows.split()
        assert (parts.taps, parts.size) == (MOST_TAPS, sums.source_size)
        many = parts.size // rows.size
        whole = np.zeros((rows.size, rows.source_size), np.float32)
        for row in range(parts.size):
            (first,), (weights,) = parts.part(row, 1).first_and_weights()
            assert 0 <= first <= rows.source_size - MOST_TAPS
            whole[row // many, first : first + MOST_TAPS] += weights
        assert (whole == matrix(rows)).all()
        assert (matrix(sums) == np.kron(np.eye(rows.size), np.ones((1, many)))).all()


def test_passes_do_the_least_work_and_never_one_axis_twice():
    def of(sizes, new_sizes, **choice) -> list[list[int]]:
        resized = resizing(sizes, Request(new_sizes, **choice))
        return [[axis for axis, _ in tables] for tables in passes(resized)]

    assert of((1080, 1920), (224, 224)) == [[1, 0]]
    assert of((1080, 1920), (224, 224), antialias=True) == [[1], [0]]
    assert of((5, 5), (5, 5)) == []
    assert of((2, 2, 2, 2, 2), (3, 3, 3, 3, 3), mode="nearest") == [[4, 3, 2, 1, 0]]
    five = of((2, 2, 2, 2, 2), (3, 3, 3, 3, 3))
    assert [axis for axes in five for axis in axes] == [4, 3, 2, 1, 0]
    assert max(map(len, five)) <= 3
    assert of((70_000, 4), (1, 8), mode="area") in ([[1], [0], [0]], [[1, 0], [0]])


def test_a_window_of_the_source_is_what_its_rows_read():
    rows = one_axis(20, 7, antialias=True)
    for start in range(7):
        for stop in range(start, 8):
            part = rows.part(start, stop - start)
            read = part.span
            used = np.flatnonzero(matrix(rows)[start:stop].any(axis=0))
            assert not len(used) or (read.start <= used[0] and used[-1] < read.stop)
            assert not part.count or replace(part, origin=read.start).reads() == (0, len(read) - 1)


def test_huge_axes_are_exact():
    size = 3 * (1 << 60) + 1
    rows = one_axis(size, 5)
    for o in range(5):
        s = (o + HALF) * size / 5 - HALF
        assert rows.part(o, 1).first().tolist() == [math.floor(s)]
        weights = rows.part(o, 1).first_and_weights()[1][0].tolist()
        assert weights == [np.float32(1 - (s - math.floor(s))), np.float32(s - math.floor(s))]


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


def test_refusals_name_the_argument():
    with pytest.raises(DescriptorError, match=r"scales\[0\] must be a number, got True"):
        one_axis(5, scale=True)
