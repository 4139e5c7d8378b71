"""The reference's reorder with scales, zero points and sum: by hand, by index, in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.reference import convert, reorder

Array = np.ndarray[Any, Any]
F32 = np.float32
MIN = 2.0**-126  # the smallest normal number of f32
TINY = 2.0**-130


def one(x: Any, **arguments: Any) -> Any:
    """The single element of a reorder of the single element ``x``."""
    if "out" in arguments:
        arguments["out"] = np.array([arguments["out"]])
    (result,) = reorder(np.array([x]), **arguments).tolist()
    return result


class TestSteps:
    """Each case gives another number where a step is missing, merged with the next one, or out of order."""

    def test_the_source_is_rounded_to_f32_first(self) -> None:
        # s32 2^24 + 1 is 2^24 in f32 (a tie, to even); less 1 that is 16777215. Exact arithmetic would give 16777216.
        assert one(np.int32(16777217), src_zero_point=1) == 16777215
        # s64 2^25 + 3 lies nearer to 2^25 + 4.
        assert one(np.int64(2**25 + 3), src_zero_point=4) == 2**25
        # f64 1 + 2^-24 + 2^-52 is 1 + 2^-23.
        assert one(1 + 2.0**-24 + 2.0**-52, src_scale=0.5) == 0.5 + 2.0**-24

    def test_the_old_element_is_rounded_to_f32(self) -> None:
        assert one(np.int32(0), sum_scale=1, out=np.int32(16777217)) == 16777216

    @pytest.mark.parametrize(
        ("rounding", "after", "first"),
        [
            ("nearest_even", [4, 4, 6, 2], [3, 5, 5, 3]),
            ("truncate", [3, 4, 5, 2], [3, 4, 5, 3]),
            ("half_away", [4, 5, 6, 3], [4, 5, 6, 2]),
        ],
    )
    def test_rounded_after_the_zero_point_or_before(self, rounding: str, after: list[int], first: list[int]) -> None:
        """oneDNN adds the zero point first, ONNX rounds first: of 0.5, 1.5, 2.5, -0.5 with zero point 3."""
        x = np.array([0.5, 1.5, 2.5, -0.5], F32)
        arguments: dict[str, Any] = {"dtype": "u8", "dst_zero_point": 3, "rounding": rounding}
        assert reorder(x, **arguments).tolist() == after
        assert reorder(x, **arguments, rounds_first=True).tolist() == first

    def test_the_last_step_is_the_conversion(self) -> None:
        x = np.array([100, -100, np.nan, np.inf, -np.inf], F32)
        assert reorder(x, dtype="s8", src_scale=2).tolist() == [127, -128, 0, 127, -128]
        assert reorder(x, dtype="s8", src_scale=2, saturate=False).tolist() == [-56, 56, 0, 0, 0]
        assert reorder(x, dtype="pred", src_scale=2).tolist() == [True] * 5
        assert convert(reorder(x, dtype="f8e4m3fn", src_scale=5), "f32").tolist()[:2] == [448, -448]
        assert np.isnan(convert(reorder(x, dtype="f8e4m3fn", src_scale=5, saturate=False), "f32")).all()
        assert reorder(x, dtype="f16", src_scale=1e38).tolist()[3:] == [65504, -65504]

    def test_random_steps_against_float64(self) -> None:
        """An f32 operation equals the float64 one, rounded: 53 bits are at least 2 * 24 + 2 (Figueroa, 1995)."""
        rng = np.random.default_rng(8)

        def values(*sizes: int) -> Array:
            return (rng.standard_normal(sizes) * 2.0 ** rng.integers(-8, 8, sizes)).astype(F32)

        def rounded(exact: Array) -> Array:
            return exact.astype(F32).astype(np.float64)

        x, old = values(40, 50), values(40, 50)
        for chosen in itertools.product((False, True), repeat=5):
            scale, zero, into, dst_zero = values(40, 1), values(50), values(40, 50), values(1, 50)
            by_name = {"src_scale": scale, "src_zero_point": zero, "dst_scale": into, "dst_zero_point": dst_zero}
            given = {name: by_name[name] for name, is_given in zip(by_name, chosen, strict=False) if is_given}
            v = x.astype(np.float64)
            v = rounded(v - zero.astype(np.float64)) if "src_zero_point" in given else v
            v = rounded(scale.astype(np.float64) * v) if "src_scale" in given else v
            v = rounded(v + rounded(float(F32(0.3)) * old.astype(np.float64))) if chosen[4] else v
            v = rounded(v / into.astype(np.float64)) if "dst_scale" in given else v
            v = rounded(v + dst_zero.astype(np.float64)) if "dst_zero_point" in given else v
            result = reorder(x, **given, sum_scale=0.3 if chosen[4] else None, out=old if chosen[4] else None)
            assert result.tobytes() == v.astype(F32).tobytes(), sorted(given)


class TestNeutral:
    @pytest.mark.parametrize(
        "arguments",
        [
            {"src_scale": 1},
            {"dst_scale": np.ones((2, 1))},
            {"src_zero_point": np.zeros(3, np.int64), "dst_zero_point": -0.0},
            {"src_scale": [1, 1, 1], "group_sizes": (2, 1)},
            {"sum_scale": 0, "out": np.ones((2, 3), np.int64)},
        ],
    )
    def test_neutral_arguments_leave_a_copy(self, arguments: dict[str, Any]) -> None:
        x = np.array([[2**63 - 1, 2**53 + 1, -5], [-(2**63), 16777217, 0]])
        assert reorder(x, **arguments).tolist() == x.tolist()

    def test_a_neutral_step_is_left_out_beside_another(self) -> None:
        # -0.0 + 0.0 is 0.0; with the addition left out -0.0 stays.
        result = reorder(np.array([-0.0], F32), dst_scale=2, dst_zero_point=0, src_zero_point=0)
        assert np.signbit(result).all()

    def test_one_entry_that_is_not_neutral_counts_for_all(self) -> None:
        x = np.array([2**53 + 1, 2], np.int64)
        assert reorder(x, src_scale=[1, 2]).tolist() == [2**53, 4]


class TestEntries:
    def test_every_entry_by_its_index(self) -> None:
        """Over sizes, groups and counts of each axis, source and destination, with axes permuted."""
        rng = np.random.default_rng(2)
        for _ in range(60):
            sizes = tuple(int(size) for size in rng.integers(1, 6, 3))
            groups = tuple(int(group) for group in rng.integers(1, 4, 3))
            order = tuple(int(axis) for axis in rng.permutation(3))
            blocks = [-(-size // group) for size, group in zip(sizes, groups, strict=True)]
            counts = [int(rng.choice([1, size, block])) for size, block in zip(sizes, blocks, strict=True)]
            scale = rng.integers(2, 9, counts).astype(F32)
            x = rng.integers(-99, 99, sizes).astype(F32)
            expected = np.empty_like(x)
            for index in np.ndindex(*sizes):
                entry = tuple(
                    i if count == size else min(i // group, count - 1)
                    for i, size, group, count in zip(index, sizes, groups, counts, strict=True)
                )
                expected[index] = x[index] * scale[entry]
            layout = "ABC->" + "".join("ABC"[axis] for axis in order)
            arguments: dict[str, Any] = {"layout": layout, "group_sizes": groups}
            np.testing.assert_array_equal(reorder(x, src_scale=scale, **arguments), expected.transpose(order))
            # A destination's array has the axes of the result. Divided by 2^k, its entry is found again.
            divided = reorder(np.ones(sizes, F32), dst_scale=np.exp2(-scale).transpose(order), **arguments)
            multiplied = reorder(np.ones(sizes, F32), src_scale=np.exp2(scale), **arguments)
            np.testing.assert_array_equal(divided, multiplied)

    def test_destination_arrays_have_the_axes_of_the_result(self) -> None:
        x = np.arange(6, dtype=F32).reshape(2, 3)
        result = reorder(x, "HW->WH", src_scale=[1, 10, 100], dst_zero_point=[0.25, 0.5])
        assert result.tolist() == [[0.25, 3.5], [10.25, 40.5], [200.25, 500.5]]

    def test_entries_of_every_type(self) -> None:
        x = np.array([3, 4], np.uint8)
        for name, element in DTYPES.items():
            if name != "pred":
                assert reorder(x, dtype="f32", src_scale=np.array([2, 3]).astype(element.dtype)).tolist() == [6, 12]

    def test_empty_arrays(self) -> None:
        assert reorder(np.zeros((0, 3), F32), dtype="u8", dst_scale=np.ones((1, 3)) * 2).shape == (0, 3)


class TestTypes:
    def test_the_type_is_that_of_dtype_layout_out_or_the_source(self) -> None:
        x = np.array([[1.5, 2.5, -1]], F32)
        assert reorder(x).dtype == F32
        assert reorder(x, dtype="u8").tolist() == [[2, 2, 0]]
        assert reorder(x, TensorDesc("u8", (1, 3))).tolist() == [[2, 2, 0]]
        assert reorder(x, "s8[1,3]{0,1}", rounding="half_away").tolist() == [[2, 3, -1]]
        assert reorder(x, "s8[1,3]{0,1}", np.int8).dtype == np.int8
        assert reorder(x, out=np.zeros((1, 3), np.int16)).dtype == np.int16
        assert reorder(x, "HW->WH", "s64").tolist() == [[2], [2], [-1]]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"layout": "u8[2,3]{1,0}", "dtype": "s8"}, r"dtype s8, layout u8 must be one, for f32\[2,3\]\{1,0\}"),
            ({"dtype": "s8", "out": np.zeros((2, 3))}, "dtype s8, out f64 must be one"),
            ({"layout": "u8[2,3]{1,0}", "out": np.zeros((2, 3))}, "layout u8, out f64 must be one"),
            ({"layout": "HW->WH", "out": np.zeros((2, 3))}, r"out f64\[2,3\]\{1,0\} must have the sizes \[3, 2\]"),
            ({"layout": "u8[3,2]{1,0}"}, r"u8\[3,2\]\{1,0\} must have the sizes of the source f32\[2,3\]\{1,0\}"),
            ({"dtype": "s4"}, "unknown element type 's4'"),
            ({"sum_scale": 2}, "sum_scale 2 needs out"),
        ],
    )
    def test_errors(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(DescriptorError, match=message):
            reorder(np.zeros((2, 3), F32), **arguments)


class TestFlush:
    """A device that takes denormals of f32 for zeros of their sign, in the steps and in nothing else."""

    def test_sources_and_results(self) -> None:
        x = np.array([2.0**-130, -(2.0**-130), 2.0**-126, -(2.0**-126), 1], F32)
        kept = reorder(x, src_scale=2)
        assert kept.tolist() == (2 * x.astype(np.float64)).tolist()
        flushed = reorder(x, src_scale=2, flush=True)
        assert flushed.tolist() == [0, 0, 2.0**-125, -(2.0**-125), 2]
        assert np.signbit(flushed).tolist() == [False, True, False, True, False]
        halved = reorder(x, src_scale=0.5, flush=True)
        assert halved.tolist() == [0, 0, 0, 0, 0.5]
        assert np.signbit(halved).tolist() == [False, True, False, True, False]

    @pytest.mark.parametrize(
        ("x", "arguments", "kept", "flushed"),
        [
            # Operands: the source, zero points, scales, the old element.
            (TINY, {"src_scale": 2.0**100}, 2.0**-30, 0),
            (MIN, {"src_zero_point": -TINY}, MIN + TINY, MIN),
            (16, {"src_scale": TINY}, MIN, 0),
            (0, {"sum_scale": TINY, "out": 2.0**100}, 2.0**-30, 0),
            (0, {"sum_scale": 2.0**100, "out": TINY}, 2.0**-30, 0),
            (MIN, {"dst_scale": TINY}, 16, np.inf),
            (MIN, {"dst_zero_point": TINY}, MIN + TINY, MIN),
            # Results: difference, product, the sum's product, sum, quotient, the last sum.
            (1.5 * MIN, {"src_zero_point": MIN, "src_scale": 2.0**100}, 2.0**-27, 0),
            (MIN, {"src_scale": 0.5, "dst_scale": 2.0**-100}, 2.0**-27, 0),
            (MIN, {"sum_scale": 2.0**-4, "out": MIN}, MIN + TINY, MIN),
            (1.5 * MIN, {"sum_scale": -1, "out": MIN, "dst_scale": 2.0**-100}, 2.0**-27, 0),
            (MIN, {"dst_scale": 16, "dst_zero_point": MIN}, MIN + TINY, MIN),
            (1.5 * MIN, {"dst_zero_point": -MIN}, MIN / 2, 0),
        ],
    )
    def test_each_operand_and_each_result(
        self, x: float, arguments: dict[str, Any], kept: float, flushed: float
    ) -> None:
        given = {name: F32(value) for name, value in arguments.items()}
        assert one(F32(x), **given) == kept
        assert one(F32(x), **given, flush=True) == flushed

    def test_other_types_are_flushed_as_f32_holds_them(self) -> None:
        f16, bf16 = np.array([2.0**-24], np.float16), convert(np.array([2.0**-130], F32), "bf16")
        assert reorder(f16, dtype="f32", src_scale=2, flush=True).tolist() == [2.0**-23]  # normal in f32
        assert reorder(f16, src_scale=2, flush=True).tolist() == [2.0**-23]  # denormal in f16, kept
        assert convert(reorder(bf16, src_scale=2, flush=True), "f32").tolist() == [0]
        assert convert(reorder(bf16, src_scale=2), "f32").tolist() == [2.0**-129]

    def test_conversions_keep_denormals(self) -> None:
        x = np.array([2.0**-149], F32)
        assert reorder(x, dtype="f64", flush=True).tolist() == [2.0**-149]
        assert reorder(x, dtype="pred", flush=True).tolist() == [True]
        assert reorder(x, dtype="pred", src_scale=2, flush=True).tolist() == [False]
