"""The resample reference's rules: coordinates, weights, arithmetic and limits against numbers by hand; its errors."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restride as rs
import restride.reference
from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.reference import convert, reorder, resample, resample_bound, resample_limits
from restride.reference.resample import INTERPOLATED_TYPES
from restride.reference.weights import AREA_MODES, MODES

Array = np.ndarray[Any, Any]


def reads(source_size: int, **arguments: Any) -> list[float]:
    """Where each output reads, up to the edges: the elements are their own indices."""
    return resample(np.arange(source_size, dtype=np.float32), **arguments, dtype="f64").tolist()


def matrix(source_size: int, **arguments: Any) -> Array:
    """The weights, rounded to f32: a row an output."""
    return resample(np.eye(source_size, dtype=np.float32), axes=[0], **arguments)


class TestCoordinates:
    @pytest.mark.parametrize(
        ("rule", "source_size", "arguments", "expected"),
        [
            ("half_pixel", 4, {"sizes": [2]}, [0.5, 2.5]),
            ("half_pixel", 4, {"sizes": [1]}, [1.5]),
            ("half_pixel", 4, {"scales": [0.6]}, [1 / 3, 2]),
            ("pytorch_half_pixel", 4, {"sizes": [2]}, [0.5, 2.5]),
            ("pytorch_half_pixel", 4, {"sizes": [1]}, [0]),
            ("half_pixel_symmetric", 4, {"sizes": [2]}, [0.5, 2.5]),
            ("half_pixel_symmetric", 4, {"scales": [0.6]}, [2 / 3, 7 / 3]),  # the centre, 1.5, is the outputs' centre
            ("align_corners", 4, {"sizes": [7]}, [0, 0.5, 1, 1.5, 2, 2.5, 3]),
            ("align_corners", 4, {"scales": [0.6]}, [0, 3 / 1.4]),
            ("align_corners", 4, {"scales": [0.6], "recompute_scale_factor": True}, [0, 3]),
            ("align_corners", 4, {"sizes": [1]}, [0]),
            ("asymmetric", 4, {"sizes": [8]}, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3]),
            ("tf_half_pixel_for_nn", 4, {"sizes": [8]}, [0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3, 3]),
            ("tf_crop_and_resize", 5, {"sizes": [3], "roi": (0.25, 0.75)}, [1, 2, 3]),
            ("tf_crop_and_resize", 5, {"sizes": [3], "roi": (1, 0)}, [4, 2, 0]),
            ("tf_crop_and_resize", 5, {"sizes": [1], "roi": (0.25, 1)}, [2.5]),
            (
                "tf_crop_and_resize",
                5,
                {"sizes": [5], "roi": (-0.25, 1.25), "extrapolation_value": 9},
                [9, 0.5, 2, 3.5, 9],
            ),
        ],
    )
    def test_every_rule(self, rule: str, source_size: int, arguments: dict[str, Any], expected: list[float]) -> None:
        assert reads(source_size, coordinates=rule, **arguments) == pytest.approx(expected, rel=1e-15)

    def test_offsets(self) -> None:
        """DirectML: (o - output_offset) / scale - input_offset; 1/2 and -1/2 are half_pixel."""
        assert (
            reads(8, sizes=[16], input_offsets=[0.5])
            == reads(8, sizes=[16], output_offsets=[-0.5])
            == reads(8, sizes=[16])
        )
        assert reads(8, sizes=[4], input_offsets=[-1], output_offsets=[0.25]) == [0.5, 2.5, 4.5, 6.5]
        assert reads(3, sizes=[3], input_offsets=[50]) == [0, 0, 0]

    def test_a_float_scale_is_the_decimal_number_that_prints_it(self) -> None:
        x = np.arange(100)
        rules: dict[str, Any] = {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"}
        assert resample(x, scales=[0.1], **rules).tolist() == [*range(0, 100, 10)]  # float 0.1 is a little more
        assert resample(x, scales=[np.float64(0.1)], **rules).tolist() == [*range(0, 100, 10)]
        x = x.astype(np.float32)
        assert resample(x, scales=[0.29]).shape == (28,)  # 28.999999999999996 in f64
        assert resample(x, scales=[Fraction(29, 100)]).shape == (29,)
        assert resample(x[:7], scales=[np.int64(3)]).shape == (21,)

    def test_sizes_and_scales(self) -> None:
        assert reads(4, sizes=[2], scales=[0.6]) == reads(4, scales=[0.6]) != reads(4, sizes=[2])
        assert reads(4, sizes=[2], scales=[0.6], recompute_scale_factor=True) == reads(4, sizes=[2])
        assert reads(4, sizes=[3], scales=[0.5], input_offsets=[0], output_offsets=[0]) == [0, 2, 3]

    @pytest.mark.parametrize(
        ("policy", "sizes", "made"), [("not_larger", (7, 8), (4, 8)), ("not_smaller", (7, 8), (7, 14))]
    )
    def test_keep_aspect_ratio_policy(self, policy: str, sizes: tuple[int, int], made: tuple[int, int]) -> None:
        assert resample(np.zeros((2, 4), "f4"), sizes, keep_aspect_ratio_policy=policy).shape == made

    def test_the_one_scale_of_a_policy_enters_the_coordinates(self) -> None:
        x = np.arange(3, dtype=np.float32)[:, np.newaxis] + np.zeros(4, np.float32)
        result = resample(x, (2, 2), keep_aspect_ratio_policy="not_larger")  # 3 / 2 is 1.5, and halves go up
        assert result[:, 0].tolist() == [0.5, 2]  # at 2.5, beyond the edge; by its size it would read at 1.75

    @pytest.mark.parametrize(
        ("nearest", "taken"),
        [
            ("half_up", [1, 3]),
            ("round_prefer_ceil", [1, 3]),
            ("round_prefer_floor", [0, 2]),
            ("floor", [0, 2]),
            ("ceil", [1, 3]),
        ],
    )
    def test_nearest_at_ties(self, nearest: str, taken: list[int]) -> None:
        assert resample(np.arange(4), [2], mode="nearest", nearest=nearest).tolist() == taken


class TestWeights:
    @pytest.mark.parametrize(
        ("arguments", "row"),
        [
            ({"mode": "linear"}, [1 / 2, 1 / 2, 0, 0]),
            ({"mode": "linear", "antialias": True}, [1 / 2, 3 / 8, 1 / 8, 0]),
            ({"mode": "linear", "antialias": True, "exclude_outside": True}, [3 / 7, 3 / 7, 1 / 7, 0]),
            ({"mode": "cubic"}, [16 / 32, 19 / 32, -3 / 32, 0]),
            ({"mode": "cubic", "exclude_outside": True}, [19 / 35, 19 / 35, -3 / 35, 0]),
            ({"mode": "cubic", "cubic_a": -0.5}, [8 / 16, 9 / 16, -1 / 16, 0]),
            ({"mode": "area"}, [1 / 2, 1 / 2, 0, 0]),
            ({"mode": "area_weighted"}, [1 / 2, 1 / 2, 0, 0]),
        ],
    )
    def test_halving_by_hand(self, arguments: dict[str, Any], row: list[float]) -> None:
        """4 -> 2 reads at 1/2; what lies left of index 0 counts for index 0. The other row mirrors it."""
        expected = np.array([row, row[::-1]]).astype(np.float32)
        np.testing.assert_array_equal(matrix(4, sizes=[2], **arguments), expected)

    def test_cubic_far_from_the_edges(self) -> None:
        np.testing.assert_array_equal(matrix(8, sizes=[4], mode="cubic")[1, 1:5] * 32, [-3, 19, 19, -3])

    def test_antialias_widens_by_the_scale_given(self) -> None:
        """4 * 0.6 makes 2, at 1/3: (1 - |j - 1/3| * 0.6) of -1, 0, 1 are 0.2, 0.8, 0.6; their sum is 1.6."""
        first = matrix(4, scales=[0.6], antialias=True)[0]
        assert first.tolist() == pytest.approx([1 / 1.6, 0.6 / 1.6, 0, 0], rel=1e-7)
        by_sizes = matrix(4, scales=[0.6], recompute_scale_factor=True, antialias=True)
        np.testing.assert_array_equal(by_sizes, matrix(4, sizes=[2], antialias=True))

    def test_antialias_leaves_what_grows(self) -> None:
        for mode in ("linear", "cubic"):
            np.testing.assert_array_equal(
                matrix(5, sizes=[8], mode=mode, antialias=True), matrix(5, sizes=[8], mode=mode)
            )

    def test_area_covers_parts_of_elements(self) -> None:
        thirds = np.array([[3, 3, 0, 0, 0], [0, 2, 2, 2, 0], [0, 0, 0, 3, 3]]) / 6
        np.testing.assert_array_equal(matrix(5, sizes=[3], mode="area"), thirds.astype(np.float32))
        np.testing.assert_array_equal(matrix(5, scales=[0.7], mode="area"), thirds.astype(np.float32))

    def test_area_weighted_has_the_parts_that_are_covered(self) -> None:
        assert (
            resample(np.arange(5, dtype=np.float32), [2], mode="area_weighted").tolist()
            == np.float32([0.8, 3.2]).tolist()
        )
        fifths = np.array([[3, 2, 0, 0, 0], [0, 1, 3, 1, 0], [0, 0, 0, 2, 3]]) / 5
        np.testing.assert_array_equal(matrix(5, sizes=[3], mode="area_weighted"), fifths.astype(np.float32))
        grown = np.array([[2, 0], [1, 1], [0, 2]]) / 2
        np.testing.assert_array_equal(matrix(2, sizes=[3], mode="area_weighted"), grown.astype(np.float32))

    def test_nothing_inside_is_the_edge(self) -> None:
        for mode in ("linear", "cubic"):
            arguments: dict[str, Any] = {"sizes": [3], "mode": mode, "exclude_outside": True}
            assert matrix(3, **arguments, input_offsets=[9]).tolist() == [[1, 0, 0]] * 3
            assert matrix(3, **arguments, input_offsets=[-9]).tolist() == [[0, 0, 1]] * 3

    @pytest.mark.parametrize(
        ("mode", "antialias"),
        [
            ("linear", False),
            ("linear", True),
            ("cubic", False),
            ("cubic", True),
            ("area", False),
            ("area_weighted", False),
        ],
    )
    def test_weights_add_up_to_one(self, mode: str, antialias: bool) -> None:
        for made in (1, 2, 3, 7, 16, 33):
            rows = matrix(9, sizes=[made], mode=mode, antialias=antialias).sum(axis=1, dtype=np.float64)
            np.testing.assert_allclose(rows, 1, rtol=1e-6)

    def test_many_taps_and_large_images(self) -> None:
        x = np.random.default_rng(1).standard_normal((2, 70_000)).astype(np.float32)
        mean = x.mean(axis=1, dtype=np.float64, keepdims=True)
        np.testing.assert_allclose(resample(x, [1], mode="area", dtype="f64"), mean, rtol=1e-9)
        assert (resample(x[:, :1], [70_000]) == x[:, :1]).all()
        assert resample(np.ones((1080, 1920), np.uint8), (224, 224), antialias=True, exclude_outside=True).min() == 1


class TestWindows:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_window_is_that_part_of_the_whole(self, mode: str) -> None:
        x = np.random.default_rng(2).standard_normal((7, 3, 9)).astype(np.float32)
        whole = resample(x, (5, 20), axes=(0, 2), mode=mode)
        part = resample(x, (5, 20), axes=(0, 2), mode=mode, window=[slice(1, 4), slice(3, 17)])
        assert part.tobytes() == whole[1:4, :, 3:17].tobytes()
        assert resample(x, (5,), axes=(0,), mode=mode, window=slice(2, 2)).shape == (0, 3, 9)
        assert resample(x, (5, 20), axes=(2, 0), mode=mode, window=[None, slice(3, None)]).shape == (17, 3, 5)

    def test_arithmetic_is_that_of_the_window(self) -> None:
        scale = np.arange(1, 5, dtype=np.float32)
        x = np.arange(10, dtype=np.float32)
        assert resample(x, [10], window=[slice(2, 6)], src_scale=scale).tolist() == [2, 6, 12, 20]


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
                after |= {"src_scale": 0.3 * signs[0], "dst_scale": 1.7 * signs[1], "dst_zero_point": 3}
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": [4], "scales": [2, 2]}, "sizes and scales must be equally many"),
        ({"scales": [2, 2, 2]}, r"scales names 3 axes, but f32\[2,3\]\{1,0\} has 2"),
        ({"scales": [2], "axes": [0, 1]}, r"axes \[0, 1\] must be as many as scales, 1"),
        ({"scales": [0]}, r"scales \[0\] must be above 0, for f32\[2,3\]"),
        ({"scales": [-0.5]}, r"scales \[-0.5\] must be above 0"),
        ({"scales": [float("nan")]}, r"scales\[0\] must be finite, got nan"),
        ({"scales": ["2"]}, r"scales\[0\] must be a number, got '2'"),
        ({"scales": [True]}, r"scales\[0\] must be a number, got True"),
        ({"scales": 2}, "scales must be a sequence of numbers, got 2"),
        ({"sizes": [5], "scales": [2]}, r"sizes \[5\] and scales \[2\] contradict each other: the scales make \[6\]"),
        ({"sizes": [5], "roi": (0, 1)}, r"roi \(0, 1\) does not fit coordinates 'half_pixel'"),
        ({"sizes": [5], "coordinates": "tf_crop_and_resize"}, "roi None does not fit coordinates 'tf_crop_and_resize'"),
        ({"sizes": [5], "coordinates": "tf_crop_and_resize", "roi": (0, 1, 1)}, "roi must be 2 numbers, got 3"),
        ({"sizes": [5], "input_offsets": [1, 2]}, "input_offsets must be 1 numbers, got 2"),
        (
            {"sizes": [5], "input_offsets": [1], "coordinates": "asymmetric"},
            "output_offsets takes no coordinates 'asym",
        ),
        ({"sizes": [5], "input_offsets": [1], "mode": "area"}, "mode 'area' takes no input_offsets"),
        ({"sizes": [5], "coordinates": "asymmetric", "mode": "area"}, "mode 'area' takes no coordinates 'asymmetric'"),
        ({"sizes": [5], "antialias": True, "mode": "nearest"}, "antialias needs mode linear or cubic, not nearest"),
        (
            {"sizes": [5], "exclude_outside": True, "mode": "area"},
            "exclude_outside needs mode linear or cubic, not area",
        ),
        ({"scales": [2], "sizes": [6], "keep_aspect_ratio_policy": "not_larger"}, "takes sizes without scales"),
        ({"sizes": [5], "window": [slice(0, 6)]}, r"window\[0\] \[0, 6\) exceeds size 5"),
        ({"sizes": [5], "window": [slice(0, 4, 2)]}, r"window\[0\] must be a slice without a step"),
        ({"sizes": [5], "window": [slice(0, 4)] * 2}, "window must be 1 slices, got 2"),
        ({"sizes": [5], "src_scale": [1, 2]}, r"src_scale of sizes \[2\] must broadcast against \[2, 5\]"),
        ({"sizes": [5], "dtype": "f31"}, "unknown element type 'f31'"),
    ],
)
@pytest.mark.parametrize("function", [resample, resample_limits])
def test_errors(function: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        function(np.zeros((2, 3), np.float32), **arguments)


@pytest.mark.parametrize("name", ["mode", "coordinates", "nearest", "keep_aspect_ratio_policy"])
def test_unknown_names_list_the_known_ones(name: str) -> None:
    with pytest.raises(
        DescriptorError, match=rf"{name} 'best' is not one of (nearest|half_pixel|half_up|stretch), .*, for"
    ):
        resample(np.zeros(3, np.float32), [4], **{name: "best"})


def test_unknown_arguments() -> None:
    for function in (resample_bound, resample_limits):
        with pytest.raises(TypeError, match="resample has no argument 'size'"):
            function(np.zeros(3, np.float32), [4], size=3)


def test_the_reference_imports_nothing_that_it_judges() -> None:
    folder = Path(restride.reference.__file__).parent
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("restride"):
                part = (node.module or "").split(".")[1:2]
                allowed = (["reference"], ["layout"], ["dtypes"], ["errors"], ["arguments"])
                assert part in allowed, (path.name, node.module)


def test_boxes_need_axes() -> None:
    with pytest.raises(TypeError, match=r"crop_resize\(\) missing 1 required keyword-only argument: 'axes'"):
        rs.reference.crop_resize(np.zeros((4, 4), np.uint8), [(0, 0, 4, 4)], (2, 2))  # type: ignore[call-arg] # it is it
