"""Post-ops: relu, clip and linear on the device and in the reference, in every kernel that converts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import restride as rs


def test_nan_infinities_and_zeros(device):
    x = np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, -1, 1], np.float32)

    def after(*ops) -> list[float]:
        return rs.reorder(rs.asarray(x, device=device), post_ops=ops).numpy().tolist()

    for ops, right in (
        ([("relu",)], [math.nan, 0, math.inf, 0, 0, 0, 1]),
        ([("relu", 0.5)], [math.nan, -math.inf, math.inf, -0.0, 0, -0.5, 1]),
        ([("clip", -1, 0.5)], [math.nan, -1, 0.5, -0.0, 0, -1, 0.5]),
        ([("clip", -0.5, None)], [math.nan, -0.5, math.inf, -0.0, 0, -0.5, 1]),
        ([("clip", None, 0.5)], [math.nan, -math.inf, 0.5, -0.0, 0, -1, 0.5]),
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
        ([("clip", math.nan, 1)], "where each value must be one number, got nan"),
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
