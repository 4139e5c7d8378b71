"""rs.resample on both runtimes: answers by hand, formulas of oneDNN, axes, layouts, values at the limits."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import ceil, floor

import ml_dtypes
import numpy as np
import pytest
from support.destinations import assert_equal, poisoned

import restride as rs
from restride_conformance import fill


@pytest.mark.parametrize(
    ("values", "size", "linear", "nearest"),
    [
        # s = -1/6, 1/2, 7/6
        ([10, 20], 3, [10, 15, 20], [10, 20, 20]),
        # s = -1/4, 1/4, 3/4, 5/4
        ([0, 8], 4, [0, 2, 6, 8], [0, 0, 8, 8]),
        # s = 1/4, 7/4
        ([0, 8, 16], 2, [2, 14], [0, 16]),
        # s = 1: the middle one
        ([1, 5, 100], 1, [5], [5]),
        # s = 1/2: halves go up
        ([2, 6], 1, [4], [6]),
        # s = 1/2, 5/2: halves go up
        ([0, 4, 8, 12], 2, [2, 10], [4, 12]),
        ([7], 4, [7, 7, 7, 7], [7, 7, 7, 7]),
        ([3, 9], 2, [3, 9], [3, 9]),
    ],
    ids=str,
)
def test_answers_by_hand(values, size, linear, nearest, device):
    x = rs.asarray(np.float32(values), device=device)
    assert_equal(rs.resample(x, (size,)), np.float32(linear))
    assert_equal(rs.resample(x, (size,), mode="nearest"), np.float32(nearest))


def test_integers_round_half_to_even(device):
    """2 -> 3 puts the middle half way: 0.5, 1.5, 2.5, -0.5, -1.5."""
    pairs = [(0, 1), (1, 2), (2, 3), (-1, 0), (-2, -1), (4, 5)]
    expected = [0, 2, 2, 0, -2, 4]
    for dtype in (np.int8, np.int32):
        result = rs.resample(rs.asarray(np.array(pairs, dtype), device=device), (3,), axes=(1,))
        np.testing.assert_array_equal(result.numpy()[:, 1], expected)


def onednn(x: np.ndarray, size: int, mode: str) -> list[Fraction]:
    """oneDNN's formulas, one axis: ``s = (o + 0.5) * I / O - 0.5``."""
    length, result = len(x), []
    for o in range(size):
        s = (o + Fraction(1, 2)) * length / size - Fraction(1, 2)
        if mode == "nearest":
            # roundf: halves away from zero; s > -1/2 always
            result.append(Fraction(float(x[max(floor(s + Fraction(1, 2)), 0)])))
        else:
            i0, i1 = max(floor(s), 0), min(ceil(s), length - 1)
            w1 = abs(s - i0) if s > 0 else Fraction(0)
            w1 = w1 if i1 > i0 else Fraction(0)
            result.append((1 - w1) * Fraction(float(x[i0])) + w1 * Fraction(float(x[i1])))
    return result


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_onednn_s_formulas(mode, device):
    for length, size in itertools.product((1, 2, 3, 5, 8, 13), (1, 2, 3, 4, 7, 12, 16, 29)):
        x = fill.numbers(rs.TensorDesc("f32", ()).dtype, length, 5)
        exact = onednn(x, size, mode)
        result = rs.resample(rs.asarray(x, device=device), (size,), mode=mode).numpy()
        bound = 0.0 if mode == "nearest" else 5 * 2.0**-24 * float(np.abs(x).max())
        for value, right in zip(result, exact, strict=True):
            assert abs(Fraction(float(value)) - right) <= bound, (length, size)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (2, 0), (-1, -3), (0, 1, 2), (3, 1), (0, 1, 2, 3), ()])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_any_axes(axes, mode, device):
    x = fill.numbers(rs.TensorDesc("f32", ()).dtype, 3 * 4 * 5 * 2).reshape(3, 4, 5, 2)
    sizes = (5, 3, 9, 4)[: len(axes)]
    result = rs.resample(rs.asarray(x, device=device), sizes, axes=axes, mode=mode).numpy()
    lowest, highest = rs.reference.resample_limits(x, sizes, axes=axes, mode=mode)
    assert result.shape == lowest.shape
    assert ((lowest <= result) & (result <= highest)).all()


@pytest.mark.parametrize("rank", [5, 6, 8])
def test_every_axis_of_many(rank, device):
    """More than three interpolated axes take another path through the kernel."""
    x = fill.numbers(rs.TensorDesc("f32", ()).dtype, 2**rank).reshape((2,) * rank)
    sizes = (3, 2, 1, 3, 2, 3, 1, 3)[:rank]
    result = rs.resample(rs.asarray(x, device=device), sizes).numpy()
    lowest, highest = rs.reference.resample_limits(x, sizes)
    assert ((lowest <= result) & (result <= highest)).all()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "u8", "s8", "s32"])
def test_up_in_one_axis_and_down_in_the_other(dtype, device):
    x = fill.numbers(rs.TensorDesc(dtype, ()).dtype, 3 * 17 * 19, 3).reshape(3, 17, 19)
    result = rs.resample(rs.asarray(x, device=device), (40, 7)).numpy()
    lowest, highest = rs.reference.resample_limits(x, (40, 7))
    wide = np.float64 if dtype not in ("u8", "s8", "s32") else np.int64
    low, value, high = (each.astype(wide) for each in (lowest, result, highest))
    assert ((low <= value) & (value <= high)).all()


def test_an_unchanged_size_is_a_copy_of_every_bit(device):
    dtype = rs.TensorDesc("f32", ()).dtype
    x = fill.bits(dtype, 8 * 32).reshape(8, 32)
    assert np.isnan(x).any()
    result = rs.resample(rs.asarray(x, device=device), (8, 32)).numpy()
    np.testing.assert_array_equal(result.view(np.uint32), x.view(np.uint32))


def test_layouts_of_the_result(device):
    x = fill.numbers(rs.TensorDesc("u8", ()).dtype, 1 * 6 * 7 * 3).reshape(1, 6, 7, 3)
    image = rs.asarray(x, device=device)
    # NHWC by name: the logical order is N, C, H, W.
    nchw = image.permute(0, 3, 1, 2)
    expected = rs.reference.resample(x.transpose(0, 3, 1, 2), (9, 4), mode="nearest")
    kept = rs.resample(nchw, (9, 4), mode="nearest")
    assert_equal(kept, expected)
    assert kept.desc == rs.TensorDesc.xla("u8", (1, 3, 9, 4), (1, 3, 2, 0)), "the memory order of x"
    packed = rs.resample(nchw, (9, 4), mode="nearest", layout="NCHW")
    assert_equal(packed, expected)
    assert packed.desc == rs.TensorDesc("u8", (1, 3, 9, 4))
    padded = rs.TensorDesc("u8", (1, 3, 9, 4), (0, 64, 7, 1), 5)
    assert_equal(rs.resample(nchw, (9, 4), mode="nearest", layout=padded), expected)
    assert_equal(rs.resample(nchw, (9, 4), mode="nearest", layout=str(padded)), expected)


def test_a_layout_with_an_arrow_permutes_the_result(device):
    x = fill.numbers(rs.TensorDesc("u8", ()).dtype, 2 * 6 * 7 * 3).reshape(2, 6, 7, 3)
    result = rs.resample(rs.asarray(x, device=device), (9, 4), axes=(1, 2), mode="nearest", layout="NHWC->NCHW")
    expected = rs.reference.resample(x, (9, 4), axes=(1, 2), mode="nearest").transpose(0, 3, 1, 2)
    assert_equal(result, expected)
    assert result.desc == rs.TensorDesc("u8", (2, 3, 9, 4))
    out = poisoned(rs.TensorDesc("u8", (2, 3, 9, 4), (150, 50, 5, 1), 1), device)
    rs.resample(x, (9, 4), axes=(1, 2), mode="nearest", layout="NHWC->NCHW", out=out)
    assert_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=["f32", "f16", "bf16"])
def test_infinity_beside_a_weight_of_zero(dtype, device):
    x = np.array([1, np.inf, 3, -np.inf], dtype)
    # 4 -> 2 lies between elements 0, 1 and 2, 3; 4 -> 4 on the elements; 4 -> 12 hits elements at o = 1, 4, 7, 10.
    result = rs.resample(rs.asarray(x, device=device), (12,)).numpy().astype(np.float32)
    np.testing.assert_array_equal(result[[1, 4, 7, 10]], x.astype(np.float32))
    assert result[0] == 1, "left of the first centre: that element alone"
    np.testing.assert_array_equal(result[[2, 3, 5, 6]], np.inf)
    halves = rs.resample(rs.asarray(x, device=device), (2,)).numpy().astype(np.float32)
    np.testing.assert_array_equal(halves, [np.inf, -np.inf])


def test_nan_reaches_only_what_reads_it(device):
    x = np.float32([1, np.nan, 3, 4, 5])
    result = rs.resample(rs.asarray(x, device=device), (10,)).numpy()
    assert np.isnan(result).tolist() == [False, True, True, True, True, False, False, False, False, False]


@pytest.mark.parametrize("value", [-(1 << 31), (1 << 31) - 1, -1, 0, 12345, 16_777_216])
def test_constant_s32_images(value, device):
    x = np.full((3, 5), value, np.int32)
    result = rs.resample(rs.asarray(x, device=device), (7, 4)).numpy()
    # f32 holds 2^31 - 1 as 2^31, which saturates to what it was.
    np.testing.assert_array_equal(result, np.full((7, 4), value))


@pytest.mark.parametrize("value", [-(1 << 31) + 1, (1 << 31) - 2, 16_777_217, -123_456_789])
def test_constant_s32_images_beyond_24_bits(value, device):
    x = np.full((3, 5), value, np.int32)
    result = rs.resample(rs.asarray(x, device=device), (7, 4)).numpy().astype(np.float64)
    assert np.abs(result - value).max() <= float(rs.reference.resample_bound(x, (7, 4)).max())


@pytest.mark.parametrize(("dtype", "low", "high"), [(np.uint8, 0, 255), (np.int8, -128, 127)])
def test_constant_images_of_bytes_are_exact(dtype, low, high, device):
    levels = np.arange(low, high + 1).astype(dtype)
    x = np.broadcast_to(levels[:, None, None], (256, 3, 5))
    result = rs.resample(rs.asarray(x, device=device), (7, 4)).numpy()
    np.testing.assert_array_equal(result, np.broadcast_to(levels[:, None, None], (256, 7, 4)))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_tables_of_a_long_axis_are_not_held_at_once(mode, device):
    """A million rows of 4 or 16 bytes, in parts of at most 1 MiB."""
    x = rs.asarray(np.arange(1000, dtype=np.float32), device=device)
    device.wait()
    before = device.counters().bytes_in_use
    result = rs.resample(x, (1_000_000,), mode=mode)
    assert device.counters().bytes_in_use - before <= result.desc.nbytes + (2 << 20)
    np.testing.assert_allclose(result.numpy(), np.repeat(np.arange(1000), 1000), atol=0.5)


def test_scales_of_a_permuted_result_are_those_of_its_axes(device):
    x = np.random.default_rng(5).random((1, 3, 8, 3), np.float32)
    scale = np.float32([1, 2, 4])
    result = rs.resample(rs.asarray(x, device=device), (4, 3), layout="NCHW->NHWC", dst_scale=scale)
    plain = rs.resample(rs.asarray(x, device=device), (4, 3)).numpy().transpose(0, 2, 3, 1)
    assert_equal(result, plain / scale)


def test_a_layout_for_the_size_of_the_result_alone(device):
    x = np.random.default_rng(6).random((16, 16), np.float32)
    result = rs.resample(rs.asarray(x, device=device), (8, 8), layout="{1,0:pad(9,9)=0}")
    assert result.desc == rs.TensorDesc.parse("f32[8,8]{1,0:pad(9,9)=0}")


def test_sums_too_long_for_rows_are_right(device):
    x = np.arange(8 * 65536, dtype=np.float32).reshape(8, 65536) % 7
    result = rs.resample(rs.asarray(x, device=device), (4, 32), mode="area").numpy()
    lowest, highest = rs.reference.resample_limits(x, (4, 32), mode="area")
    assert ((lowest <= result) & (result <= highest)).all()
    grad = rs.resample_backward(rs.asarray(x, device=device), (4, 32), mode="nearest")
    assert_equal(grad, x.reshape(4, 2, 32, 2048).sum(axis=(1, 3), dtype=np.float64).astype(np.float32))
