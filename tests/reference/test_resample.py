"""The resample reference against numpy, scipy, brute force in fractions, numbers by hand and opencv."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.judges import judge

from restride.errors import DescriptorError, UnsupportedError
from restride.reference import resample, resample_bound, resample_limits
from restride.reference.conversion import round_once

BF16 = ml_dtypes.bfloat16
LINEAR = [
    *(np.float32, np.float16, BF16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    *(np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32),
]


@pytest.mark.parametrize(
    ("sizes", "axes"), [((9, 4, 11), (0, 1, 2)), ((3, 13), (1, 2)), ((8, 8), (2, 0)), ((5,), (-3,))]
)
def test_linear_over_axes_equals_scipy(sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
    ndimage: Any = judge("scipy.ndimage")
    x = np.random.default_rng(1).integers(-500, 500, (5, 6, 7)).astype(np.float32)
    target = list(x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        target[axis] = size
    centres = [(np.arange(o) + 0.5) * i / o - 0.5 for i, o in zip(x.shape, target, strict=True)]
    grid = np.meshgrid(*centres, indexing="ij")
    expected = ndimage.map_coordinates(x.astype(np.float64), grid, order=1, mode="nearest")
    np.testing.assert_allclose(resample(x, sizes, axes=axes), expected, rtol=1e-6, atol=1e-4)


def test_nearest_equals_integer_division_for_all_small_sizes() -> None:
    """round half away of s is floor((o + 1/2) I / O): on 30,420 pairs a float32 evaluation gets some wrong."""
    for source, size in itertools.product(range(1, 40), repeat=2):
        expected = [((2 * o + 1) * source) // (2 * size) for o in range(size)]
        assert resample(np.arange(source), [size], mode="nearest").tolist() == expected


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_nearest_keeps_bits(dtype: str) -> None:
    bits = np.random.default_rng(2).integers(0, 256, 512 * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
    floating = {"u1": ml_dtypes.float8_e5m2, "u2": np.float16, "u4": np.float32, "u8": np.float64}[dtype]
    moved = resample(bits.view(floating), [700], mode="nearest").view(dtype)
    np.testing.assert_array_equal(moved, bits[((2 * np.arange(700) + 1) * 512) // 1400])


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("dtype", LINEAR)
def test_same_sizes_give_the_same_bits(dtype: Any, mode: str) -> None:
    x = np.array([[0.0, -0.0, 1.0], [3.0, 120.0, 7.0]]).astype(dtype)
    assert resample(x, x.shape, mode=mode).tobytes() == x.tobytes()


def test_a_zero_weight_contributes_nothing() -> None:
    x = np.array([1, np.inf, 2, np.nan, 3, -np.inf], np.float32)
    np.testing.assert_array_equal(resample(x, [6]), x)
    np.testing.assert_array_equal(resample(x, [2]), [np.inf, 3])  # s = 1 and 4: beside an infinity and a NaN


def test_borders_clamp() -> None:
    assert resample(np.array([1, 5], np.float32), [4]).tolist() == [1, 2, 4, 5]
    assert resample(np.array([np.inf, 5], np.float32), [4])[0] == np.inf


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(np.uint8, 0, 255), (np.int8, -128, 127), (np.int32, -(2**31), 2**31 - 1)]
)
def test_integers_round_half_to_even_and_saturate(dtype: Any, low: int, high: int) -> None:
    assert resample(np.array([0, 1, 2, 3], dtype), [2]).tolist() == [0, 2]  # 0.5 and 2.5
    assert resample(np.array([low, high], dtype), [4]).tolist()[::3] == [low, high]
    assert round_once(np.array([-1e30, 1e30, 0.5, 1.5]), np.dtype(dtype)).tolist() == [low, high, 0, 2]


@pytest.mark.parametrize(
    ("taps", "lowest", "highest"),
    [
        ((3e38, 3e38, 3e38, 0), 2.25e38, 2.25e38),  # their sum passes the largest f32, their weighted sum does not
        ((3e38, -3e38, 3e38, -3e38), 0.0, 0.0),
        ((np.inf, 3e38, 3e38, 1), np.inf, np.inf),
        ((np.nan, 3e38, -3e38, 1), np.nan, np.nan),
    ],
)
def test_a_mean_of_finite_elements_cannot_overflow(taps: tuple[float, ...], lowest: float, highest: float) -> None:
    low, high = resample_limits(np.array(taps, np.float32), (1,), mode="area")
    np.testing.assert_allclose(np.concatenate((low, high)), (lowest, highest), rtol=1e-6, atol=1e33)


def test_infinities_and_nan_are_right_where_partial_sums_overflow_to_both_sides() -> None:
    x = np.array([0, 0, 3e38, 3e38], np.float32)
    x = np.stack((x, -x, x, -x))
    arguments = {"sizes": (8, 8), "mode": "cubic", "cubic_a": -8.0}  # weights far beyond 1, of both signs
    low, high = resample_limits(x, **arguments)
    overflows = np.isnan(high)
    assert overflows.any()
    assert np.isneginf(low[overflows]).all()
    answer = resample(x, **arguments)
    assert (low <= answer).all()
    assert ((answer <= high) | overflows).all()


def test_only_one_infinity_is_right_where_products_of_one_sign_overflow() -> None:
    x = np.array([3.4e38, 3.4e38, 3.4e38, 3.4e38], np.float32)
    low, high = resample_limits(x, (8,), mode="cubic")
    assert np.isfinite(low).all()
    assert np.isposinf(high).any()


def test_the_bound_is_the_stated_one() -> None:
    x = np.array([[1, -3, 5, 0, 0], [5, 7, 2, 0, 0]], np.float32)
    # Two axes, four taps, weights 1/2 and 1/2, 2/3 and 1/3: (3 * 2 + 4) * 2^-24 * (2 * 1 + 3 + 2 * 5 + 7) / 6.
    assert resample_bound(x, (1, 3))[0, 0] == pytest.approx(10 * 2.0**-24 * 22 / 6, rel=1e-12)
    assert resample_bound(x.astype(np.int32), (1, 3))[0, 0] == pytest.approx(11 * 2.0**-24 * 22 / 6, rel=1e-12)
    assert resample_bound(x, (3, 3), mode="nearest").tolist() == [[0] * 3] * 3


def test_the_bound_is_0_where_no_step_rounds() -> None:
    # Halved along two axes: multiples of 1/4. 24 bits hold them below 2^22.
    for largest, dtype, is_exact in (
        (255, np.uint8, True),
        (1 << 22, np.int32, True),
        ((1 << 22) + 1, np.int32, False),
        (65504, np.float16, True),
        (2.0**-12, np.float16, True),
        (np.inf, np.float32, False),
    ):
        x = np.array([[largest, 1], [0, 1]], dtype)
        assert (resample_bound(x, (1, 1))[0, 0] == 0) == is_exact, largest
    # One axis in steps of 1/8: 2^-12 / 8 = 2^-15, and 1 is 2^15 of them; 2^-21 / 8 and 8 are 27 bits apart.
    assert resample_bound(np.array([1, 2.0**-12] * 2, np.float32), [16])[0] == 0
    assert resample_bound(np.array([8, 2.0**-21] * 2, np.float32), [16])[0] > 0


def test_a_bound_of_0_holds_in_every_order_of_the_weighted_sum_and_ends_one_bit_before_it_does_not() -> None:
    # Weights 1/4 and 3/4 along both axes: 1, 3, 3 and 9 sixteenths. Elements have 20 bits, the products 24.
    largest = 1 << 20
    rng = np.random.default_rng(9)
    for _ in range(200):
        signs = rng.choice((-1, 1), (2, 2))
        x = (signs * rng.integers(largest - 64, largest, (2, 2), endpoint=True)).astype(np.float32)
        exact = resample(x, (4, 4))[1, 1]
        assert resample_bound(x, (4, 4))[1, 1] == 0
        products = np.float32([9, 3, 3, 1]) / np.float32(16) * x.reshape(-1)
        for order in itertools.permutations(products):
            assert ((order[0] + order[1]) + order[2]) + order[3] == exact
            assert (order[0] + order[1]) + (order[2] + order[3]) == exact
    # One more: 9 / 16 of it has 25 bits and is rounded.
    beyond = np.float32(2 * largest - 1)
    assert float(np.float32(9 / 16) * beyond) != 9 / 16 * float(beyond)
    assert resample_bound(np.full((2, 2), beyond), (4, 4))[1, 1] > 0


@pytest.mark.parametrize("dtype", LINEAR)
@pytest.mark.parametrize("size", [7, 1])
def test_elements_that_are_only_moved_have_no_tolerance(dtype: Any, size: int) -> None:
    """To the same size, and to the middle one of seven: weights 0 and 1."""
    x = np.array([100 + 1 / 3, 1 / 3, 0, -0.0, 5, 17, 77]).astype(dtype)
    assert (resample_bound(x, [size]) == 0).all()
    assert resample_bound(x, [3])[0] > 0


def test_s32_rounds_on_its_way_to_f32_even_where_it_is_only_moved() -> None:
    for largest, is_exact in ((1 << 24, True), ((1 << 24) + 1, False), (-(1 << 31), True), ((1 << 31) - 1, False)):
        assert (resample_bound(np.array([largest, 3, 4], np.int32), [3])[0] == 0) == is_exact, largest


def test_limits_leave_integers_one_answer_away_from_ties_and_two_at_those_that_weights_round() -> None:
    low, high = resample_limits(np.array([0, 1, 2, 4], np.uint8), [2])
    assert low.tolist() == high.tolist() == [0, 3]  # sums 0.5 and 3, which f32 holds exactly
    low, high = resample_limits(np.array([0, 0, 3, 3], np.uint8), [6])
    assert low.tolist() == [0, 0, 0, 2, 3, 3]  # (5 * 0 + 1 * 3) / 6 = 0.5, then 2.5
    assert high.tolist() == [0, 0, 1, 3, 3, 3]


def test_limits_of_values_that_are_not_finite() -> None:
    low, high = resample_limits(np.array([np.inf, 1, 1, np.nan], np.float32), [2])
    np.testing.assert_array_equal(low, [np.inf, np.nan])
    np.testing.assert_array_equal(high, [np.inf, np.nan])


def test_empty_arrays() -> None:
    assert resample(np.zeros((0, 3), np.float32), [5]).shape == (0, 5)
    assert resample(np.zeros((2, 3), np.float32), [0]).shape == (2, 0)
    assert resample(np.zeros((2, 0), np.float32), [0], mode="nearest").shape == (2, 0)
    assert resample_limits(np.zeros((0, 3), np.uint8), [5])[0].shape == (0, 5)


def test_errors_of_the_array_itself() -> None:
    with pytest.raises(
        UnsupportedError, match=r"elements of type f64 are not interpolated, those of .* are, for f64\[3\]"
    ):
        resample(np.zeros(3), [4])
    with pytest.raises(DescriptorError, match="rank 9 exceeds 8"):
        resample(np.zeros((1,) * 9), [4])
