"""The reference's conversions of every element type to every other, judged by ml_dtypes, numpy and Python."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.onnx_cases import MISSING_TYPES, OPERATIONS, all_cases, left_out, node_cases

from restride.dtypes import BY_NUMPY, DTYPES
from restride.errors import DescriptorError
from restride.reference import convert, reorder
from restride.reference.conversion import ROUNDINGS

Array = np.ndarray[Any, Any]

FLOATS = ("f8e4m3fn", "f8e5m2", "f16", "bf16", "f32", "f64")
INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
NARROW_FLOATS = FLOATS[:4]
SATURATING = ("f8e4m3fn", "f8e5m2", "f16")
NARROW = tuple(name for name in DTYPES if DTYPES[name].itemsize <= 2)
WIDE = tuple(name for name in DTYPES if DTYPES[name].itemsize > 2)


def from_bits(name: str, *bits: int) -> Array:
    element = DTYPES[name]
    return np.array(bits, f"u{element.itemsize}").view(element.dtype)


def bits_of(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def every(name: str) -> Array:
    """All bit patterns of an 8- or 16-bit type."""
    element = DTYPES[name]
    return np.arange(1 << (8 * element.itemsize), dtype=f"u{element.itemsize}").view(element.dtype)


def cast(values: Array, dtype: Any) -> Array:
    """numpy's or ml_dtypes' own cast; what they warn of is part of the answer."""
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def is_nan(array: Array) -> Array:
    return np.isnan(cast(array, np.float64))


def assert_same(actual: Array, expected: Array) -> None:
    """The same element type, NaNs in the same places and equal bits elsewhere."""
    assert actual.dtype == expected.dtype
    nan = is_nan(expected)
    np.testing.assert_array_equal(is_nan(actual), nan)
    np.testing.assert_array_equal(bits_of(actual)[~nan], bits_of(expected)[~nan])


def saturated(overflowing: Array, source: Array) -> Array:
    """``overflowing`` with the largest finite number where a source that is no NaN gave none."""
    largest = ml_dtypes.finfo(overflowing.dtype).max
    beyond = ~np.isfinite(cast(overflowing, np.float64)) & ~is_nan(source)
    signed = np.copysign(np.float64(largest), cast(source, np.float64)).astype(overflowing.dtype)
    return np.where(beyond, signed, overflowing)


ROUNDED: dict[str, Callable[[Array], Array]] = {
    "nearest_even": np.rint,
    "truncate": np.trunc,
    # Beside 1/2, v + 1/2 would itself be rounded; v - trunc(v) is exact.
    "half_away": lambda v: np.trunc(v) + np.where(np.abs(v - np.trunc(v)) >= 0.5, np.copysign(1.0, v), 0.0),
}


def to_integer(values: Array, dtype: np.dtype[Any], rounding: str, saturate: bool) -> Array:
    """float64 to an integer by numpy's roundings, in-range casts and an exact remainder."""
    bounds = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        whole = ROUNDED[rounding](values)
        if saturate:
            above, below = whole >= float(int(bounds.max) + 1), whole <= float(bounds.min)
            inside = np.where(above | below | np.isnan(whole), 0, whole).astype(dtype)
            return np.where(above, bounds.max, np.where(below, bounds.min, inside))
        magnitude = np.where(np.isfinite(whole), np.fmod(np.abs(whole), 2.0**64), 0).astype(np.uint64)
        return np.where(whole < 0, np.uint64(0) - magnitude, magnitude).astype(dtype)


class Nearest:
    """The nearest number of a narrow float type by its table: all its numbers, and what lies halfway between two."""

    def __init__(self, name: str) -> None:
        self.dtype = DTYPES[name].dtype
        unsigned = every(name)[: 1 << (8 * self.dtype.itemsize - 1)]
        numbers = cast(unsigned, np.float64)
        finite = numbers[np.isfinite(numbers)]
        following = 2 * finite[-1] - finite[-2]  # the first number that is missing: 480 in f8e4m3fn
        self.halfway = ((finite + np.append(finite[1:], following)) / 2).tolist()
        self.last = self.halfway[-2:]
        self.magnitude_bits = len(unsigned) - 1
        self.beyond = int(bits_of(unsigned[len(finite) : len(finite) + 1])[0])

    def bits(self, magnitude: float) -> int:
        """Python, unlike numpy, compares an integer of any size with a float exactly."""
        position = bisect.bisect_left(self.halfway, magnitude)
        if position == len(self.halfway):
            return self.beyond
        if magnitude == self.halfway[position] and position % 2:
            position += 1
        return self.beyond if position == len(self.halfway) else position

    def __call__(self, values: list[Any]) -> Array:
        sign_bit = self.magnitude_bits + 1
        bits = [self.bits(abs(value)) | (sign_bit if math.copysign(1, value) < 0 else 0) for value in values]
        return np.array(bits, f"u{self.dtype.itemsize}").view(self.dtype)


@functools.cache
def nearest(name: str) -> Nearest:
    return Nearest(name)


@functools.cache
def patterns(name: str) -> Array:
    """Random bits of a wide type, and numbers at and beside the bounds, halves and ties of every type."""
    element = DTYPES[name]
    rng = np.random.default_rng(5)
    random = rng.integers(0, 256, 20_000 * element.itemsize, np.uint8).view(element.dtype)
    if not element.is_float:
        bounds = np.iinfo(element.dtype)
        powers = [(1 << bit) + step for bit in range(65) for step in (-1, 0, 1)]
        # Ties of each precision: odd numbers of one bit more, followed by zeros.
        precisions = [ml_dtypes.finfo(DTYPES[narrow].dtype).nmant + 2 for narrow in FLOATS]
        odd = [(1 << (bits - 1)) + 2 * int(rng.integers(1 << (bits - 2))) + 1 for bits in precisions for _ in range(9)]
        ties = [(tie << shift) + step for tie in odd for shift in range(65 - tie.bit_length()) for step in (-1, 0, 1)]
        short = [abs(int(value)) >> int(rng.integers(bounds.bits)) for value in random[:2000]]  # of every length
        aimed = [signed for value in powers + ties + short for signed in (value, -value)]
        return np.concatenate((random, np.array([v for v in aimed if bounds.min <= v <= bounds.max], element.dtype)))
    halves = [0, 0.5, 1.5, 2.5, 3.5, np.inf, np.nan]
    limits = [2.0**bits + step for bits in (7, 8, 15, 16, 31, 32, 63, 64) for step in (-1.5, -1, -0.5, 0, 0.5)]
    powers = [2.0**power for power in range(-1074, 1024)]
    ties = [
        tie for narrow in NARROW_FLOATS for tie in (*rng.choice(nearest(narrow).halfway, 400), *nearest(narrow).last)
    ]
    of_f32 = rng.integers(0, 0x7F80_0000, 2000, np.uint32).view(np.float32).astype(np.float64)
    near = cast(np.concatenate((halves, limits, powers, ties, of_f32, of_f32 * (1 + 2.0**-24))), element.dtype)
    with np.errstate(all="ignore"):
        beside = [np.nextafter(near, element.dtype.type(end)) for end in (0, np.inf)]
    around = np.concatenate((near, *beside))
    return np.concatenate((random, around, -around))


def sources(name: str) -> Array:
    """All patterns of a narrow type, aimed ones of a wide type."""
    return every(name) if name in NARROW else patterns(name)


def python_numbers(array: Array) -> list[Any]:
    """Each element exactly: an int or a float."""
    return array.tolist() if array.dtype.kind in "biu" else cast(array, np.float64).tolist()


class TestToIntegers:
    @pytest.mark.parametrize("saturate", [True, False])
    @pytest.mark.parametrize("rounding", ROUNDINGS)
    @pytest.mark.parametrize("source", FLOATS)
    def test_from_floats_as_numpy_rounds(self, source: str, rounding: str, saturate: bool) -> None:
        x = sources(source)
        exact = cast(x, np.float64)
        for target in INTEGERS:
            dtype = DTYPES[target].dtype
            expected = to_integer(exact, dtype, rounding, saturate)
            np.testing.assert_array_equal(convert(x, dtype, rounding, saturate), expected, err_msg=target)

    @pytest.mark.parametrize("source", ["pred", *INTEGERS])
    def test_from_integers_as_python_counts(self, source: str) -> None:
        x = sources(source)
        exact = (x.view(np.uint8) != 0).astype(object) if source == "pred" else x.astype(object)
        for target in INTEGERS:
            dtype = DTYPES[target].dtype
            bounds = np.iinfo(dtype)
            clamped = np.clip(exact, int(bounds.min), int(bounds.max)).astype(dtype)
            np.testing.assert_array_equal(convert(x, dtype), clamped, err_msg=target)
            if source != "pred":  # numpy's cast keeps the low bits
                np.testing.assert_array_equal(convert(x, dtype, saturate=False), x.astype(dtype), err_msg=target)
            for rounding in ROUNDINGS[1:]:
                np.testing.assert_array_equal(convert(x, dtype, rounding), clamped)

    @pytest.mark.parametrize("source", DTYPES)
    def test_pred_is_what_is_not_zero(self, source: str) -> None:
        x = sources(source)
        expected = x if source == "pred" else np.array([number != 0 for number in python_numbers(x)])
        for saturate in (True, False):
            result = convert(x, "pred", "truncate", saturate)
            assert result.dtype == bool
            assert result.tobytes() == expected.tobytes()


class TestToFloats:
    @pytest.mark.parametrize("source", NARROW)
    def test_exhaustively_as_numpy_and_ml_dtypes_cast(self, source: str) -> None:
        """Every 8- and 16-bit pattern: f32, through which those casts go, holds them all."""
        x = every(source)
        x = x[:2] if source == "pred" else x
        for target in FLOATS:
            expected = cast(cast(x, np.float32), DTYPES[target].dtype)
            if target == source:
                assert convert(x, target).tobytes() == x.tobytes()
                continue
            for rounding in ROUNDINGS:
                assert_same(convert(x, target, rounding, saturate=False), expected)
                limited = saturated(expected, cast(x, np.float32)) if target in SATURATING else expected
                assert_same(convert(x, target, rounding, saturate=True), limited)

    @pytest.mark.parametrize("source", WIDE)
    @pytest.mark.parametrize("target", NARROW_FLOATS)
    def test_to_narrow_floats_as_their_tables_say(self, source: str, target: str) -> None:
        """Where casts through f32 round twice too: f64, and integers of more than 24 bits."""
        x = patterns(source)
        numbers = python_numbers(x)
        known = np.array([number == number for number in numbers])  # noqa: PLR0124 - not a NaN
        expected = nearest(target)([number for number in numbers if number == number])  # noqa: PLR0124
        result = convert(x, target, saturate=False)
        assert_same(result[known], expected)
        assert is_nan(result[~known]).all()
        limited = convert(x, target, saturate=True)
        assert_same(limited, saturated(result, cast(x, np.float64)) if target in SATURATING else result)

    @pytest.mark.parametrize(
        ("source", "target"),
        [(source, target) for source in WIDE for target in ("f32", "f64") if source != target],
    )
    def test_as_numpy_and_ml_dtypes_cast(self, source: str, target: str) -> None:
        x = patterns(source)
        assert_same(convert(x, target, saturate=False), cast(x, DTYPES[target].dtype))


class TestNaN:
    @pytest.mark.parametrize(
        ("source", "bits", "target", "expected"),
        [
            ("f16", 0xFC01, "f32", 0xFFC02000),
            ("f32", 0x7F800001, "bf16", 0x7FC0),
            ("f64", 0x7FF4000000000000, "f32", 0x7FE00000),
            ("f64", 0xFFF0000000000001, "f32", 0xFFC00000),
            ("f32", 0x7FABCDEF, "f64", 0x7FFD79BDE0000000),
            ("f32", 0x7FFFFFFF, "f16", 0x7FFF),
            ("bf16", 0x7F81, "f16", 0x7E08),
            ("f8e5m2", 0x7D, "f16", 0x7F00),
            ("f8e5m2", 0xFF, "f32", 0xFFE00000),
            ("f16", 0x7D00, "f8e5m2", 0x7F),
            ("f16", 0xFC01, "f8e5m2", 0xFE),
            ("f8e4m3fn", 0x7F, "f16", 0x7E00),
            ("f8e4m3fn", 0xFF, "f64", 0xFFF8000000000000),
            ("f8e4m3fn", 0xFF, "f8e5m2", 0xFE),
            ("f32", 0xFF800001, "f8e4m3fn", 0xFF),
            ("f8e5m2", 0x7E, "f8e4m3fn", 0x7F),
        ],
    )
    @pytest.mark.parametrize("saturate", [True, False])
    def test_sign_and_upper_payload_stay_and_it_is_quiet(
        self, source: str, bits: int, target: str, expected: int, saturate: bool
    ) -> None:
        assert bits_of(convert(from_bits(source, bits), target, saturate=saturate)).tolist() == [expected]

    @pytest.mark.parametrize("name", DTYPES)
    def test_its_own_type_is_a_copy_of_the_bits(self, name: str) -> None:
        x = sources(name)
        for operation in (convert, reorder):
            result = operation(x, dtype=name)
            assert result.tobytes() == x.tobytes()
            assert not np.shares_memory(result, x)


class TestOnnx:
    def test_every_onnx_case_is_run_or_left_out_for_a_type(self) -> None:
        """A type that onnx adds, or one that restride adds, needs a decision here."""
        run = {case.name for case in node_cases(*OPERATIONS)}
        assert len(run) >= 57
        assert run | set(left_out()) == {case.name for case in all_cases()}
        assert set(left_out().values()) == set(MISSING_TYPES.values())
        for case in all_cases():
            numbers = (case.output, *case.inputs)
            assert all(array.dtype in BY_NUMPY for array in numbers) == (case.name in run), case.name


class TestArguments:
    def test_sizes_of_every_rank_and_order_stay(self) -> None:
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        for array in (x, x[:, ::-2], x.T, x[:, :0], x[0, 0, 0], x[()], np.asfortranarray(x)):
            np.testing.assert_array_equal(convert(array, "s16"), np.asarray(array).astype(np.int16))
            assert convert(array, "f16").shape == np.asarray(array).shape

    def test_more_elements_than_it_takes_at_a_time(self) -> None:
        x = np.arange(100_001, dtype=np.int32)
        np.testing.assert_array_equal(convert(x, "f64"), x)

    def test_errors(self) -> None:
        x = np.zeros((2, 3), np.float32)
        with pytest.raises(DescriptorError, match=r"rounding 'up' is not one of nearest_even.* f32\[2,3\]"):
            convert(x, "s8", "up")
        with pytest.raises(DescriptorError, match="unknown element type 's4'"):
            convert(x, "s4")
        with pytest.raises(DescriptorError, match="unknown element type"):
            convert(x.astype(np.longdouble), "f32")
