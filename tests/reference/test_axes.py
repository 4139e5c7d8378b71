"""The reference refuses what the operations refuse, with their words: both read their arguments at one door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import restride as rs

X = np.zeros((2, 3), np.float32)
CROP = {"coordinates": "tf_crop_and_resize"}

RESAMPLED: list[dict[str, Any]] = [
    {},
    {"sizes": [4], "scales": [2, 2]},
    {"scales": [2, 2, 2]},
    {"scales": [2], "axes": [0, 1]},
    {"sizes": [2], "axes": [2]},
    {"scales": [0]},
    {"scales": [-0.5]},
    {"scales": [float("nan")]},
    {"scales": ["2"]},
    {"scales": [True]},
    {"scales": 2},
    {"scales": [1e300]},
    {"sizes": [-1]},
    {"sizes": [1.5]},
    {"sizes": "33"},
    {"sizes": (4, 4), "axes": (1, -1)},
    {"sizes": [5], "scales": [2]},
    {"sizes": [5], "recompute_scale_factor": True},
    {"sizes": [5], "roi": (0, 1)},
    {"sizes": [5], **CROP},
    {"sizes": [5], **CROP, "roi": (0, 1, 1)},
    {"sizes": [5], "extrapolation_value": 1},
    {"sizes": [5], **CROP, "roi": (0, 1), "extrapolation_value": "0"},
    {"sizes": [5], "input_offsets": [1, 2]},
    {"sizes": [5], "input_offsets": [1], "coordinates": "asymmetric"},
    {"sizes": [5], "input_offsets": [1], "mode": "area"},
    {"sizes": [5], "coordinates": "asymmetric", "mode": "area"},
    {"sizes": [5], "antialias": True, "mode": "nearest"},
    {"sizes": [5], "antialias": "yes"},
    {"sizes": [5], "exclude_outside": True, "mode": "area"},
    {"sizes": [5], "cubic_a": -0.5},
    {"scales": [2], "sizes": [6], "keep_aspect_ratio_policy": "not_larger"},
    {"sizes": [5], "window": [slice(0, 6)]},
    {"sizes": [5], "window": [slice(0, 4, 2)]},
    {"sizes": [5], "window": [slice(0, 4)] * 2},
    *({"sizes": [5], name: "best"} for name in ("mode", "coordinates", "nearest", "keep_aspect_ratio_policy", "like")),
    {"sizes": [5, 5], "mode": "area", "like": "pillow"},
    {"sizes": [5, 5], "antialias": False, "like": "pillow"},
    {"sizes": [5], "like": "opencv"},
    {"sizes": [5], "dtype": "f31"},
    {"sizes": [5], "src_scale": [1, 2]},
    {"sizes": [5], "src_scale": 0},
    {"sizes": [5], "dst_zero_point": 0.5, "dtype": "u8"},
    {"sizes": [5], "rounding": "up"},
    {"sizes": [5], "post_ops": [("relu", -1)]},
    {"sizes": [5], "size": 3},
    {"sizes": [5], "colour": 3},
]


def refusal(function: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    """The class and the message of the error that a call ends with."""
    with pytest.raises((rs.RestrideError, TypeError)) as caught:
        function(*arguments, **named)
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize("arguments", RESAMPLED, ids=str)
def test_a_resample_is_refused_alike(arguments: dict[str, Any]) -> None:
    said = refusal(rs.resample, X, **arguments)
    for function in (rs.reference.resample, rs.reference.resample_bound, rs.reference.resample_limits):
        assert refusal(function, X, **arguments) == said


@pytest.mark.parametrize("arguments", [{"sizes": (9, 9)}, {"scales": (2, 2)}, {"sizes": (9, 3), "like": "pillow"}])
def test_channels_are_not_taken_for_columns(arguments: dict[str, Any]) -> None:
    """Of an image, and of the gradient of one; where axes are named they may be any."""
    photo = np.zeros((8, 7, 3), np.float32)
    assert refusal(rs.reference.resample, photo, **arguments) == refusal(rs.resample, photo, **arguments)
    assert rs.reference.resample(photo, (4, 5), axes=(1, 2)).shape == (8, 4, 5)
    back = refusal(rs.resample_backward, photo, (9, 9))
    assert refusal(rs.reference.resample_backward, photo, (9, 9)) == back
    assert "of grad look like" in back[1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"input_sizes": [3, 3, 3]},
        {"input_sizes": [-3]},
        {"input_sizes": [3], "axes": [2]},
        {"input_sizes": [3], "scales": [2]},
        {"input_sizes": [0]},
        {"input_sizes": [3], "mode": "best"},
        {"input_sizes": [3], "size": 3},
        {"input_sizes": [3], "keep_aspect_ratio_policy": "stretch"},
    ],
    ids=str,
)
def test_a_gradient_is_refused_alike(arguments: dict[str, Any]) -> None:
    said = refusal(rs.resample_backward, X, **arguments)
    for function in (rs.reference.resample_backward, rs.reference.resample_backward_limits):
        assert refusal(function, X, **arguments) == said


@pytest.mark.parametrize(
    "arguments",
    [
        {"src_scale": [1, 2]},
        *({"layout": name} for name in ("NCX", "NN", "NHWC", "", "nhwc", "nChw16c", "nc16c", "ncc", "nc x")),
        *({"layout": name} for name in ("AB->BX", "AA->AA", "A1->1A", "HW->NC", "HW->", "HW->nc16c")),
        {"src_scale": np.ones((1, 2, 3))},
        {"layout": "HW->WH", "dst_scale": [1, 2, 3]},
        {"src_scale": [[1, 2]], "group_sizes": (1, 1)},
        {"src_scale": [[2]], "group_sizes": (2, 0)},
        {"src_scale": 0},
        {"dst_scale": float("inf")},
        {"dst_zero_point": 0.5, "dtype": "u8"},
        {"group_sizes": [2, 2]},
        {"src_scale": 2, "group_sizes": [2]},
        {"rounding": "up"},
        {"saturate": "no"},
        {"post_ops": [("relu",)] * 5},
    ],
    ids=str,
)
def test_a_reorder_is_refused_alike(arguments: dict[str, Any]) -> None:
    assert refusal(rs.reference.reorder, X, **arguments) == refusal(rs.reorder, X, **arguments)


def test_axes_without_elements_are_refused_alike() -> None:
    empty = np.zeros((2, 0), np.float32)
    for arguments in ({"sizes": [4]}, {"sizes": [4], "keep_aspect_ratio_policy": "not_larger"}):
        assert refusal(rs.reference.resample, empty, **arguments) == refusal(rs.resample, empty, **arguments)


def test_opencv_rounds_sizes_by_scales() -> None:
    """100 by 0.29 is 28.999...96, of which others take 28 and OpenCV 29."""
    x = np.zeros((100, 100), np.uint8)
    for like, size in (("opencv", 29), (None, 28)):
        assert rs.reference.resample(x, scales=(0.29, 0.29), like=like).shape == (size, size)
