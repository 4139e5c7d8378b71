"""Reorders with scales, zero points and a sum on both runtimes: the order of the steps, layouts, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

import restride as rs
from restride.dtypes import DTYPES


def assert_bits(actual: np.ndarray, expected: np.ndarray, message: str = "") -> None:
    """The same bits; a NaN may be any, for f32 instructions differ in it."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    nan = expected != expected  # noqa: PLR0124 - what no other type than floats has
    np.testing.assert_array_equal(actual != actual, nan, message)  # noqa: PLR0124
    unsigned = f"u{expected.dtype.itemsize}"
    there = ~nan
    np.testing.assert_array_equal(actual[there].view(unsigned), expected[there].view(unsigned), message)


def check(x: np.ndarray, device: rs.Device, layout: object = None, **arguments: object) -> rs.Tensor:
    """A reorder on the device, equal to the reference."""
    result = rs.reorder(rs.asarray(x, device=device), layout, **arguments)
    assert_bits(result.numpy(), rs.reference.reorder(x, layout, **arguments), f"{x.dtype} {layout} {arguments}")
    return result


def floats(count: int, seed: int = 0) -> np.ndarray:
    """Both signs, all 24 bits in use, between 2^-8 and 2^8."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(1, 2, count) * 2.0 ** rng.integers(-8, 8, count) * rng.choice([-1, 1], count)).astype(
        np.float32
    )


# The steps


def test_arguments_that_change_nothing_are_as_if_left_out(device):
    """s64 is copied, where f32 would round it."""
    x = np.array([2**53 + 1, -(2**62) - 1, 2**24 + 1])
    ones = np.ones((3,), np.float32)
    result = check(x, device, src_scale=1, src_zero_point=0, dst_scale=ones, dst_zero_point=-0.0)
    assert result.numpy().tolist() == x.tolist()
    rounded = rs.reorder(rs.asarray(x, device=device), src_scale=[1, 1, 2]).numpy()
    assert rounded.tolist() == [2**53, -(2**62), 2**25]


@pytest.mark.parametrize("src", ["s32", "u32", "s64", "u64", "f64"])
def test_wide_elements_are_rounded_to_f32_once(src, device):
    """16777217 is no f32: 16777216 is, to even. 2^24 + 1 + 2^-20 of f64 is beyond the tie."""
    numbers = [16_777_217, 16_777_219, 2**31 - 1, 1]
    numbers += [2**24 + 1 + 2**-20, 1 + 2**-24 + 2**-50, 1 + 2**-24, 1e-50] if src == "f64" else []
    numbers += [2**53 + 2**29 + 1, 2**63 - 1, 2**40 + 2**16, 0] if src in ("s64", "u64") else []
    x = np.array(numbers, DTYPES[src].dtype)
    result = check(x, device, dtype="f64", src_scale=3).numpy()
    assert result[0] == 50_331_648
    np.testing.assert_array_equal(result, (np.float32(3) * x.astype(np.float32)).astype(np.float64))
    # And back: what f32 makes of them is what they become.
    assert check(x, device, src_scale=3, dst_scale=3).dtype == src


# The division


def equal_or_flushed(actual: np.ndarray, expected: np.ndarray, operands: np.ndarray) -> None:
    """Bits of numpy's quotients, but what is denormal, or made of one, may be as of zeros."""
    tiny = np.finfo(np.float32).tiny
    normal = ((np.abs(operands) >= tiny) | (operands == 0)).all(axis=0) & ((np.abs(expected) >= tiny) | (expected == 0))
    assert normal.mean() > 0.5
    assert_bits(actual[normal], expected[normal])
    rest = ~normal & ~np.isnan(expected) & (actual.view(np.uint32) != expected.view(np.uint32))
    is_zero, is_from_zero = actual[rest] == 0, (np.abs(operands[:, rest]) < tiny).any(axis=0)
    assert (is_zero | is_from_zero).all()


def test_quotients_at_the_ends_of_the_range(device):
    """Overflow, the largest number, the step to denormals, zeros, infinities and NaN."""
    tiny, largest = np.finfo(np.float32).tiny, np.finfo(np.float32).max
    numerators = np.array(
        [largest, -largest, tiny, -tiny, 0, -0.0, np.inf, -np.inf, np.nan, 1, 3, 2**-149, 3 * 2**-140], np.float32
    )
    divisors = np.array(
        [0.5, 0.99999994, 1.0000001, 2, 1.5, -3, largest, tiny, 2**-149, -(2**100), 2**-100, 4, 7e-40], np.float32
    )
    a, b = (grid.copy() for grid in np.broadcast_arrays(numerators[:, None], divisors))
    with np.errstate(all="ignore"):
        expected = a / b
    result = rs.reorder(rs.asarray(a, device=device), dst_scale=b).numpy()
    equal_or_flushed(result.ravel(), expected.ravel(), np.stack([a.ravel(), b.ravel()]))


# Arrays of scales


def test_tensors_as_scales_are_read_once_what_writes_them_is_done(device):
    x = rs.asarray(np.arange(12, dtype=np.uint8).reshape(3, 4), device=device)
    scale = rs.reorder(
        rs.asarray(np.array([[1, 10, 100, 1000]], np.float64), device=device), dtype="f32", src_scale=0.5
    )
    result = rs.reorder(x, dtype="f32", src_scale=scale, dst_zero_point=rs.asarray(np.float32(0.25), device=device))
    expected = np.arange(12).reshape(3, 4) * np.float32([0.5, 5, 50, 500]) + np.float32(0.25)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_scales_are_those_of_the_call_whatever_becomes_of_the_array(device):
    x = rs.asarray(np.ones((4, 8), np.uint8), device=device)
    scale = np.arange(2, 10, dtype=np.float32)
    results = []
    for _ in range(6):
        results.append(rs.reorder(x, dtype="f32", src_scale=scale))
        scale += 1
    for step, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), np.broadcast_to(np.arange(2, 10) + step, (4, 8)))


@pytest.mark.parametrize(
    "layout", ["f32[3,90001]", "f32[3,90001]{0,1}", "f32[3,90001]{1,0:T(2,8)}", "f32[3,90001]{1,0:T(2,7)(3)}"]
)
def test_more_pairs_than_one_dispatch_takes(layout, device):
    """270,003 pairs of 8 bytes are two megabytes: at most one at a time."""
    x = np.random.default_rng(0).integers(0, 256, (3, 90_001), np.uint8)
    scale = floats(x.size).reshape(x.shape)
    tensor = rs.asarray(x, device=device)
    before = device.counters()
    result = rs.reorder(tensor, layout, dtype="f32", src_scale=scale, src_zero_point=x[::-1])
    after = device.counters()
    assert after.dispatches - before.dispatches >= 3
    assert after.bytes_in_use - before.bytes_in_use <= result.desc.nbytes + (3 << 20)
    assert after.uploaded == before.uploaded
    expected = scale * (x.astype(np.float32) - x[::-1])
    assert_bits(result.numpy(), expected)
