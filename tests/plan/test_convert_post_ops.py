"""Post-ops: relu, clip and linear on the device and in the reference, in every kernel that converts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import restride as rs

OPS = {
    "relu": [("relu",)],
    "leaky relu": [("relu", 0.25)],
    "clip": [("clip", -3, 40.5)],
    "clip below": [("clip", 5, None)],
    "clip above": [("clip", None, 5)],
    "linear": [("linear", -1.7, 0.3)],
    "four": [("linear", 0.1, -2), ("relu", 0.5), ("clip", -1, 6), ("linear", 3, 1)],
}


def noise(shape, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 60, shape).astype(np.float32)


def assert_same(result, expected) -> None:
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(
        np.asarray(result).view(f"u{expected.itemsize}"), expected.view(f"u{expected.itemsize}")
    )


@pytest.mark.parametrize("ops", OPS.values(), ids=OPS)
def test_reorder_does_them_in_turn(device, ops):
    x = noise((2, 4, 8, 3))
    pixels = np.random.default_rng(1).integers(0, 256, x.shape, np.uint8)
    old = np.random.default_rng(2).integers(-100, 100, x.shape, np.int8)
    problems = [
        (x, {"dtype": "f32"}),  # fours
        (x, {"dtype": "s8", "dst_scale": 0.3, "dst_zero_point": 4, "layout": "{0,1,2,3}"}),  # elements
        (pixels, {"dtype": "f16", "layout": "NHWC->NCHW", "src_scale": 0.5}),  # planes
        (x, {"dtype": "s8", "out": old, "sum_scale": 0.5}),
        (x[..., :2], {"dtype": "f32", "layout": "{3,2,1,0:T(3)(2)}"}),  # digits
    ]
    for array, arguments in problems:
        memory_only = str(arguments.get("layout")).startswith("{")
        logical = {name: value for name, value in arguments.items() if not (memory_only and name == "layout")}
        expected = rs.reference.reorder(array, **logical, post_ops=ops)
        source = rs.asarray(array, device=device)
        if "out" in arguments:
            out = rs.asarray(old, device=device)
            result = rs.reorder(source, **(arguments | {"out": out}), post_ops=ops).numpy()
        else:
            result = rs.reorder(source, **arguments, post_ops=ops).numpy()
        assert_same(result, expected)


@pytest.mark.parametrize("ops", OPS.values(), ids=OPS)
@pytest.mark.parametrize("sizes", [(9, 64), (3, 5)], ids=["rows", "elements"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resample_does_them_before_the_last_rounding(device, ops, sizes, mode):
    x = noise((2, 5, 7), 3)
    for dtype in ("f32", "u8"):
        arguments = {"sizes": sizes, "mode": mode, "dtype": dtype, "src_scale": 2.0, "post_ops": ops}
        result = rs.resample(rs.asarray(x, device=device), **arguments).numpy()
        lowest, highest = rs.reference.resample_limits(x, **arguments)
        assert ((lowest <= result) & (result <= highest)).all()
        if mode == "nearest":
            assert_same(result, rs.reference.resample(x, **arguments))


def test_nan_infinities_and_zeros(device):
    x = np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, -1, 1], np.float32)

    def after(*ops) -> list[float]:
        return rs.reorder(rs.asarray(x, device=device), post_ops=ops).numpy().tolist()

    for ops, right in (
        ([("relu",)], [math.nan, 0, math.inf, 0, 0, 0, 1]),
        ([("relu", 0.5)], [math.nan, -math.inf, math.inf, -0.0, 0, -0.5, 1]),
        ([("clip", -1, 0.5)], [math.nan, -1, 0.5, -0.0, 0, -1, 0.5]),
    ):
        found = after(*ops)
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(found, right, strict=True)), ops
    # The sign of a zero that relu makes is plus.
    assert [math.copysign(1, number) for number in after(("relu",))[1:6]] == [1, 1, 1, 1, 1]


def test_any_iterable_of_them_will_do(vulkan_device):
    x = rs.asarray(np.float32([-1, 2]), device=vulkan_device)
    assert rs.reorder(x, post_ops=iter([("relu",)])).numpy().tolist() == [0, 2]


def test_what_is_extrapolated_goes_through_them_too(device):
    x = rs.asarray(np.float32([1, 2, 3]), device=device)
    crop = {"coordinates": "tf_crop_and_resize", "roi": (0, 2), "extrapolation_value": -7}
    assert rs.resample(x, (5,), **crop, post_ops=[("relu",)]).numpy().tolist() == [1, 2, 3, 0, 0]


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ("relu", "post_ops must be tuples such as"),
        (["relu"], "post_ops must be tuples such as"),
        (5, "post_ops must be a sequence of tuples, got 5"),
        ([("elu", 1)], "post_ops has 'elu', which is none of 'linear', 'clip', 'relu'"),
        ([("clip", 1)], "clip takes 2 numbers"),
        ([("clip", 2, 1)], "whose low is above its high"),
        ([("clip", math.nan, 1)], "whose numbers must be numbers"),
        ([("relu", -0.5)], "the slope of relu must be 0 or more"),
        ([("linear", math.inf, 0)], "whose numbers must be finite as f32"),
        ([("relu",)] * 5, "post_ops are 5, more than 4"),
    ],
)
def test_refusals(ops, message, vulkan_device):
    x = rs.asarray(np.float32([1, 2]), device=vulkan_device)
    for operation in (lambda: rs.reorder(x, post_ops=ops), lambda: rs.resample(x, (4,), post_ops=ops)):
        with pytest.raises(rs.DescriptorError, match=r"for f32\[") as caught:
            operation()
        assert message in str(caught.value)
