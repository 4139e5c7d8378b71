"""rs.resample on both runtimes: answers by hand, formulas of oneDNN, axes, layouts, values at the limits."""

from __future__ import annotations

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


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (2, 0), (-1, -3), (0, 1, 2), (3, 1), (0, 1, 2, 3), ()])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_any_axes(axes, mode, device):
    x = fill.numbers(rs.TensorDesc("f32", ()).dtype, 3 * 4 * 5 * 2).reshape(3, 4, 5, 2)
    sizes = (5, 3, 9, 4)[: len(axes)]
    result = rs.resample(rs.asarray(x, device=device), sizes, axes=axes, mode=mode).numpy()
    lowest, highest = rs.reference.resample_limits(x, sizes, axes=axes, mode=mode)
    assert result.shape == lowest.shape
    assert ((lowest <= result) & (result <= highest)).all()


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
