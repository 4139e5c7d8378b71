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


WIDE = np.random.default_rng(8).normal(size=(7, 9, 3))
WIDE[0, :4, 0] = np.nan, np.inf, 1e300, -1e300  # beyond f32: infinities
WIDE[1, :4, 1] = 1 + 2.0**-24, 1 + 3 * 2.0**-24, 1 + 2.0**-25, 1e-42  # ties to even, below a half, a denormal
with np.errstate(over="ignore"):
    NARROW = WIDE.astype(np.float32)
ACROSS = {
    "linear": {},
    "antialiased cubic": {"mode": "cubic", "antialias": True},
    "area": {"mode": "area"},
    "area_weighted": {"mode": "area_weighted"},
    "nearest": {"mode": "nearest"},
    "like pillow": {"mode": "lanczos", "like": "pillow"},
    "like scikit-image": {"like": "scikit-image"},
    "extrapolated": {"coordinates": "tf_crop_and_resize", "roi": (-0.2, 0, 1.3, 0.9), "extrapolation_value": 7.5},
    "scaled": {"src_scale": 3, "dst_zero_point": 1.5},
    "a window": {"window": (slice(1, 4), slice(2, 3))},
}


@pytest.mark.parametrize("name", ACROSS)
def test_f64_is_rounded_to_f32_before_it_is_interpolated(device, name):
    """The judge is numpy's cast, to nearest even: the elements that f32 has, resampled."""
    rules = {"axes": (0, 1), **ACROSS[name]}
    right = rs.resample(rs.asarray(NARROW, device=device), (5, 4), **rules)
    x = rs.asarray(WIDE, device=device)
    results = [
        rs.resample(x, (5, 4), dtype="f32", **rules),
        rs.resample(x, (5, 4), layout="f32[{}]".format(",".join(map(str, right.sizes))), **rules),
        rs.resample(x, (5, 4), out=rs.empty(right.desc, device), **rules),
        rs.plan_resample(x.desc, None, (5, 4), dtype="f32", device=device, **rules)(x),
    ]
    for result in results:
        assert result.dtype == "f32"
        assert result.numpy().tobytes() == right.numpy().tobytes()


def test_f64_takes_no_dispatch_more_than_f32(device):
    counted = []
    for array in (NARROW, WIDE):
        x = rs.asarray(array, device=device)
        rs.resample(x, (5, 4), axes=(0, 1), dtype="f32").numpy()
        before = device.counters().dispatches
        rs.resample(x, (5, 4), axes=(0, 1), dtype="f32").numpy()
        counted.append(device.counters().dispatches - before)
    assert counted[0] == counted[1]


def test_f64_of_any_layout_is_rounded_to_f32_first(device):
    x = rs.asarray(WIDE, device=device)
    for view, array in (
        (x[::-1, :, 1], NARROW[::-1, :, 1]),
        (x.permute(2, 0, 1)[:, ::2], NARROW.transpose(2, 0, 1)[:, ::2]),
    ):
        right = rs.resample(rs.asarray(np.ascontiguousarray(array), device=device), (5, 4)).numpy()
        assert rs.resample(view, (5, 4), dtype="f32").numpy().tobytes() == right.tobytes()
        tiled = rs.reorder(view, f"{{{','.join(map(str, range(view.ndim)[::-1]))}:T(2,4)}}")
        assert (
            rs.resample(tiled, (5, 4), dtype="f32", layout=f"f32[{','.join(map(str, right.shape))}]").numpy().tobytes()
            == right.tobytes()
        )
    assert rs.resample(x[:0], (0, 4), axes=(0, 1), dtype="f32").sizes == (0, 4, 3)


@pytest.mark.parametrize("dtype", [None, "f64", "f16", "bf16", "u8", "s64"])
def test_f64_is_interpolated_to_f32_alone(device, dtype):
    with pytest.raises(rs.UnsupportedError, match=r"type f64 are not interpolated.*dtype='f32' computes in f32"):
        rs.resample(rs.asarray(WIDE, device=device), (5, 4), axes=(0, 1), dtype=dtype)


def test_chains_and_streams_interpolate_f64_in_f32():
    right = rs.resample(NARROW, (5, 4), axes=(0, 1)).numpy()
    chain = rs.Chain().resample((5, 4), axes=(0, 1), dtype="f32")
    lazy = rs.LazyArray(WIDE, chain)
    assert lazy.dtype == np.float32
    assert lazy[1:3].tobytes() == right[1:3].tobytes()
    into = np.zeros((5, 4, 3), np.float32)
    rs.stream(WIDE, into, chain, chunks=(2, 3, 2))
    assert into.tobytes() == right.tobytes()
    with pytest.raises(rs.UnsupportedError, match="dtype='f32' computes in f32"):
        rs.LazyArray(WIDE, rs.Chain().resample((5, 4), axes=(0, 1)))


def test_resize_says_who_interpolates_f64():
    with pytest.raises(
        rs.UnsupportedError, match=r"type f64 are not interpolated.*; x\.astype\('float32'\) converts, and nearest"
    ):
        rs.resize(WIDE, (5, 4))
    assert rs.resize(WIDE, (5, 4), "nearest").dtype == "f64"
