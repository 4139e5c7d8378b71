"""rs.resample on both runtimes: answers by hand, formulas of oneDNN, axes, layouts, values at the limits."""

from __future__ import annotations

import numpy as np
import pytest
from support.destinations import assert_equal, poisoned

import restride as rs
from restride_conformance import fill


def test_an_unchanged_size_is_a_copy_of_every_bit(device):
    dtype = rs.TensorDesc("f32", ()).dtype
    x = fill.bits(dtype, 8 * 32).reshape(8, 32)
    assert np.isnan(x).any()
    result = rs.resample(rs.asarray(x, device=device), (8, 32)).numpy()
    np.testing.assert_array_equal(result.view(np.uint32), x.view(np.uint32))


def test_a_layout_with_an_arrow_permutes_the_result(device):
    x = fill.numbers(rs.TensorDesc("u8", ()).dtype, 2 * 6 * 7 * 3).reshape(2, 6, 7, 3)
    result = rs.resample(rs.asarray(x, device=device), (9, 4), axes=(1, 2), mode="nearest", layout="NHWC->NCHW")
    expected = rs.reference.resample(x, (9, 4), axes=(1, 2), mode="nearest").transpose(0, 3, 1, 2)
    assert_equal(result, expected)
    assert result.desc == rs.TensorDesc("u8", (2, 3, 9, 4))
    out = poisoned(rs.TensorDesc("u8", (2, 3, 9, 4), (150, 50, 5, 1), 1), device)
    rs.resample(x, (9, 4), axes=(1, 2), mode="nearest", layout="NHWC->NCHW", out=out)
    assert_equal(out, expected)


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
