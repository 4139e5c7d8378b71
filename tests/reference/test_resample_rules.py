"""The resample reference's rules: coordinates, weights, arithmetic and limits against numbers by hand; its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.reference_matrix import Array, matrix

import restride as rs
import restride.reference
from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.reference import convert, reorder, resample, resample_bound, resample_limits
from restride.reference.resample import INTERPOLATED_TYPES
from restride.request import AREA_MODES, MODES


class TestExtrapolation:
    CROP: dict[str, Any] = {"sizes": [3], "coordinates": "tf_crop_and_resize", "roi": (0.5, 1.5)}  # noqa: RUF012 -- read only

    def test_the_value_is_an_f32_and_goes_through_the_arithmetic(self) -> None:
        x = np.arange(3, dtype=np.float32)
        assert resample(x, **self.CROP, extrapolation_value=0.1, dtype="f64").tolist() == [1, 2, float(np.float32(0.1))]
        assert resample(x, **self.CROP, extrapolation_value=7, src_scale=2, dst_zero_point=1).tolist() == [3, 5, 15]
        reads_between = self.CROP | {"roi": (0.4, 1.4), "extrapolation_value": 0.1}  # at 0.8, 1.8 and 2.8
        assert (resample_bound(x, **reads_between) > 0).tolist() == [True, True, False]
        low, high = resample_limits(x, **reads_between)
        assert low[2] == high[2] == np.float32(0.1)

    @pytest.mark.parametrize(("value", "element"), [(2.5, 2), (2.7, 3), (-1, 0), (300, 255)])
    def test_mode_nearest_rounds_the_value_to_an_element(self, value: float, element: int) -> None:
        result = resample(np.arange(3, dtype=np.uint8), **self.CROP, mode="nearest", extrapolation_value=value)
        assert result.tolist() == [1, 2, element]

    @pytest.mark.parametrize(
        ("value", "dtype", "element"),
        [
            (2**64 - 12, np.uint64, 2**64 - 12),
            (np.uint64(2**64 - 12), np.uint64, 2**64 - 12),
            (2**53 + 1, np.int64, 2**53 + 1),
            (-(2**53) - 1, np.int64, -(2**53) - 1),
            (2**80, np.int64, 2**63 - 1),
            (-3, np.uint64, 0),
            (2**53 + 1, np.float64, 2**53),
        ],
    )
    def test_mode_nearest_keeps_integers(
        self, vulkan_device: rs.Device, value: int, dtype: type[np.generic], element: int
    ) -> None:
        x = np.arange(3).astype(dtype)
        arguments = {**self.CROP, "mode": "nearest", "extrapolation_value": value}
        assert resample(x, **arguments).tolist() == [1, 2, element]
        assert rs.resample(rs.asarray(x, device=vulkan_device), **arguments).numpy().tolist() == [1, 2, element]

    def test_the_fill_of_a_crop_keeps_integers(self) -> None:
        x, fill = np.arange(3, dtype=np.uint64)[np.newaxis], 2**64 - 12
        box = [[0.0, 0.5, 0.0, 1.5]]
        cut = rs.reference.crop_resize(x, box, (1, 3), axes=(0, 1), units="normalized", mode="nearest", fill=fill)
        assert cut.ravel().tolist() == [1, 2, fill]

    def test_any_axis_outside_is_outside(self) -> None:
        x = np.ones((3, 3), np.float32)
        result = resample(x, (2, 2), coordinates="tf_crop_and_resize", roi=(0, -1, 1, 1), extrapolation_value=5)
        assert result.tolist() == [[5, 1], [5, 1]]


class TestArithmetic:
    def test_without_it_the_sum_is_rounded_once(self) -> None:
        # The mean is 1 + 2^-11 + 2^-24, whose last bit f32 drops: a tie of f16, to even.
        x = np.array([1, 1 + 2.0**-10 + 2.0**-23], np.float32)
        assert resample(x, [1], dtype="f16").tolist() == [1 + 2.0**-10]
        assert resample(x, [1], dtype="f16", src_scale=2).tolist() == [2]
        assert resample(x, [1], dtype="f16", src_scale=1, dst_zero_point=0).tolist() == [1 + 2.0**-10]

    def test_it_is_that_of_reorder_on_the_sum_in_f32(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.integers(-100, 100, (4, 6)).astype(np.int8)
        arguments: dict[str, Any] = {
            "src_scale": rng.standard_normal((5, 1)),
            "src_zero_point": 3.25,
            "dst_scale": rng.standard_normal(9),
            "dst_zero_point": 7,
            "sum_scale": 0.5,
            "dtype": "u8",
            "rounding": "half_away",
            "out": rng.integers(0, 256, (5, 9)).astype(np.uint8),
        }
        result = resample(x, (5, 9), mode="cubic", **arguments)
        assert result.tobytes() == reorder(resample(x, (5, 9), mode="cubic", dtype="f32"), **arguments).tobytes()
        arguments["src_zero_point"] = 3  # of s8, as no sum is
        moved = resample(x, (5, 9), mode="nearest", **arguments)
        assert moved.tobytes() == reorder(resample(x, (5, 9), mode="nearest"), **arguments).tobytes()

    @pytest.mark.parametrize("name", ["f16", "f8e5m2"])
    def test_what_keeps_infinities(self, name: str) -> None:
        dtype = DTYPES[name].dtype
        largest = float(convert(np.float32(np.inf), dtype))
        x = np.array([0, largest, largest, 0]).astype(dtype)  # cubic overshoots between them: 19/16 of it
        middle: dict[str, Any] = {"sizes": [1], "mode": "cubic"}
        assert resample(x, **middle).tolist() == [np.inf]
        assert resample(x, **middle, src_scale=1).tolist() == [np.inf]
        assert resample(x, **middle, dtype=dtype, src_scale=2).tolist() == [largest]
        assert resample(x.astype(np.float32), **middle, dtype=dtype).tolist() == [largest]
        assert resample(x.astype(np.float32), **middle, dtype=dtype, saturate=False).tolist() == [np.inf]

    def test_out_says_the_type_and_must_fit(self) -> None:
        x = np.array([1, 2], np.float32)
        assert resample(x, [2], out=np.zeros(2, np.uint8)).dtype == np.uint8
        with pytest.raises(DescriptorError, match=r"out u8\[3\]\{0\} must have the sizes \[2\] and the type u8"):
            resample(x, [2], out=np.zeros(3, np.uint8))
        with pytest.raises(DescriptorError, match=r"out u8\[2\]\{0\} must have the sizes \[2\] and the type s8"):
            resample(x, [2], out=np.zeros(2, np.uint8), dtype="s8")
        with pytest.raises(DescriptorError, match="sum_scale 2 needs out"):
            resample(x, [2], sum_scale=2)


class TestLimits:
    """A device: f32 weights, f32 products, f32 sums in a random order, f32 steps."""

    @staticmethod
    def evaluated(rng: np.random.Generator, x: Array, made: tuple[int, int], arguments: dict[str, Any]) -> Array:
        values = convert(x, np.float32)
        for axis in (1, 0):
            weights = matrix(x.shape[axis], sizes=[made[axis]], **arguments)
            along = [values.shape[0], made[1]] if axis else [made[0], made[1]]
            total = np.zeros(along, np.float32)
            for k in rng.permutation(weights.shape[1]):
                row = weights[:, k] if axis else weights[:, k, np.newaxis]
                total += row * np.take(values, [k], axis)
            values = total
        return values

    @pytest.mark.parametrize("name", INTERPOLATED_TYPES)
    def test_an_f32_evaluation_lies_within_them(self, name: str) -> None:
        rng = np.random.default_rng([4, INTERPOLATED_TYPES.index(name)])
        dtype = DTYPES[name].dtype
        for turn in range(16):
            rules: dict[str, Any] = {"mode": MODES[1 + turn // 4]}
            if rules["mode"] not in AREA_MODES:
                rules |= {"antialias": turn % 2 == 1, "exclude_outside": turn % 4 > 1}
            sizes, made = rng.integers(1, 15, 2).tolist(), tuple(rng.integers(1, 20, 2).tolist())
            if DTYPES[name].is_float:
                x = (rng.standard_normal(sizes) * 40).astype(dtype)
            else:
                x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, sizes, dtype, endpoint=True)
            target = str(rng.choice([*DTYPES]))
            after: dict[str, Any] = {"dtype": target, "rounding": str(rng.choice(["nearest_even", "truncate"]))}
            if turn % 4 == 3:
                after["saturate"] = False
            if turn % 2:
                signs = rng.choice((-1, 1), (2, made[1]))
                after |= {
                    "src_scale": 0.3 * signs[0],
                    "dst_scale": 1.7 * signs[1],
                    "dst_zero_point": 1 if target == "pred" else 3,
                }
                after |= {"sum_scale": 0.5, "out": convert(rng.standard_normal(made) * 50, target)}
            actual = reorder(self.evaluated(rng, x, made, rules), **after)
            low, high = resample_limits(x, made, **rules, **after)
            answer = resample(x, made, **rules, **after)
            assert low.dtype == high.dtype == actual.dtype == answer.dtype
            for result in (actual, answer):
                inside = (low <= result) & (result <= high)
                if DTYPES[target].is_float:
                    inside |= np.isnan(result) & np.isnan(high)
                assert inside.all(), (rules, after)

    def test_the_taps_of_a_row_count(self) -> None:
        """(3 * axes + taps) * 2^-24 * sum|w * tap|. 6 -> 3 has rows of 3, 4, 3 taps, 5 -> 3 of 3, 1, 3: edges fold."""
        x = np.full((6, 5), 3, np.float32)
        x[0, 0] = 1.1  # a number of many bits, lest no step round
        bound = resample_bound(x, (3, 3), mode="cubic")
        magnitude = np.abs(matrix(6, sizes=[3], mode="cubic")).astype(np.float64).sum(axis=1)
        other = np.abs(matrix(5, sizes=[3], mode="cubic")).astype(np.float64).sum(axis=1)
        for row, column, taps in ((1, 1, 4 * 1), (2, 1, 3 * 1), (1, 2, 4 * 3), (2, 2, 3 * 3)):
            expected = (3 * 2 + taps) * 2.0**-24 * 3 * magnitude[row] * other[column]
            assert bound[row, column] == pytest.approx(expected, rel=1e-6)

    def test_exact_sums_of_many_taps_have_no_tolerance(self) -> None:
        x = np.random.default_rng(5).integers(0, 256, (32, 32)).astype(np.uint8)
        assert (resample_bound(x, (16, 16), mode="cubic") == 0).all()  # fractions of 32 along each axis: 18 bits
        assert (resample_bound(x, (8, 4), mode="area") == 0).all()
        assert (resample_bound(x, (11, 4), mode="area") > 0).all()
        wide = np.full((2, 2), 2.0**14, np.float32)
        assert (resample_bound(wide - 1, (1, 1), mode="cubic") == 0).all()
        # Weights of 19/32 + -3/32 = 1/2, with |weights| of 1.375 an axis: 2^14 * 1.375 and 10 bits more pass 2^24.
        larger = np.tile(wide, (2, 2))
        assert (resample_bound(larger, (2, 2), mode="cubic") > 0).all()

    def test_a_negative_scale_turns_the_ends_round(self) -> None:
        x = np.array([1, 2, 4], np.float32)
        low, high = resample_limits(x, [7], src_scale=-3)
        assert (low <= high).all()
        assert (low < high).any()

    def test_pred_is_0_where_the_sum_can_be_zero(self) -> None:
        x = np.array([-1, 1, 1, -1, 3, 3], np.float32)
        low, high = resample_limits(x, [3], dtype="pred")
        assert low.tolist() == [False, False, True]
        assert high.tolist() == [False, False, True]
        # At 1/3, on the way from 1 to -2: the exact sum is 0, that of f32 weights need not be.
        low, high = resample_limits(np.array([1, -2], np.float32), [6], dtype="pred")
        assert low.tolist() == [True, True, False, True, True, True]
        assert high.all()

    def test_integers_that_wrap_between_the_ends_may_be_anything(self) -> None:
        x = np.array([768, 768, 1 / 3], np.float32)
        low, high = resample_limits(x, [7], dtype="u8", saturate=False, rounding="truncate")
        assert (low[1], high[1]) == (0, 255)  # 767.99 is 255, and 768 is 0
        low, high = resample_limits(np.full(3, 700.25, np.float32), [7], dtype="u8", saturate=False)
        assert low.tolist() == high.tolist() == [188] * 7


def test_boxes_need_axes() -> None:
    with pytest.raises(TypeError, match=r"crop_resize\(\) missing 1 required keyword-only argument: 'axes'"):
        rs.reference.crop_resize(np.zeros((4, 4), np.uint8), [(0, 0, 4, 4)], (2, 2))  # type: ignore[call-arg] # it is it
