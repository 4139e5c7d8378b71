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


BATCH = np.zeros((2, 6, 8, 3), np.uint8)
BOX = [(0, 0, 4, 6)]


@pytest.mark.parametrize(
    "arguments",
    [
        *({"units": word} for word in ("pixel", None, 1)),
        *({"letterbox": word} for word in ("left", True)),
        *({"flip": word} for word in ("z", ["none", "both"], ["z"], 1)),
        *({"axes": axes} for axes in ((0, 7), (0, 0), (2, 1), (1,), (0, 1), ("1", "2"), 1)),
        *({"boxes": boxes} for boxes in ([(0, 0, 4)], [(0, float("nan"), 1, 1)], [(4, 0, 0, 6)], "0,0,4,6", [[]], 3)),
        *({"boxes": boxes} for boxes in ([(0, 0, 1 << 40, 1)], [("0", "0", "4", "6")], [(0, 2, 4, 2)])),
        *({"images": images} for images in ([4], [-1], [0, 1], [0.5], 0)),
        *({"sizes": sizes} for sizes in (4, (4,), (0, 4), (4, -1), (4, 4, 4), "44")),
        {"fill": [1, 2]},
        {"fill": [[1]]},
        {"fill": 256},
        {"fill": 0.5},
        {"mode": "best"},
        {"like": "gimp"},
        {"coordinates": "tf_crop_and_resize"},
        {"boxes": [(0.0, 0.0, 4.0, 6.0)], "letterbox": "center"},
        {"boxes": [(0.0, 0.0, 4.0, 6.0)], "antialias": True},
        {"boxes": [(0.0, 0.0, 4.0, 6.0)], "coordinates": "half_pixel"},
        {"boxes": [(0.0, 0.0, 4.0, 6.0)], "like": "pillow"},
        {"boxes": np.zeros((0, 4)), "mode": "best"},
    ],
    ids=str,
)
def test_a_crop_is_refused_alike(arguments: dict[str, Any]) -> None:
    asked = {"boxes": BOX, "sizes": (4, 4), "axes": (1, 2), "images": [0], **arguments}
    said = refusal(rs.crop_resize, BATCH, **asked)
    for function in (rs.reference.crop_resize, rs.reference.crop_resize_limits):
        assert refusal(function, BATCH, **asked) == said


@pytest.mark.parametrize("name", ["window", "roi", "sum_scale", "source_sizes", "colour", "layout", "out"])
def test_a_crop_has_no_such_argument(name: str) -> None:
    for function in (rs.reference.crop_resize, rs.reference.crop_resize_limits):
        with pytest.raises(TypeError, match=rf"crop_resize\(\) got an unexpected keyword argument '{name}'"):
            function(BATCH[0], BOX, (4, 4), axes=(0, 1), **{name: None})


def test_images_without_boxes_make_an_empty_result() -> None:
    for function in (rs.crop_resize, rs.reference.crop_resize):
        made = np.asarray(function(BATCH, np.zeros((0, 4)), (4, 5), images=[], axes=(1, 2), dtype="f32"))
        assert (made.shape, made.dtype) == ((0, 4, 5, 3), np.float32)


@pytest.mark.parametrize("sizes", [(), (6,), (2, 0), (0, 6, 8)])
def test_images_without_pixels_are_refused_alike(sizes: tuple[int, ...]) -> None:
    x, asked = np.zeros(sizes, np.uint8), {"boxes": BOX, "sizes": (4, 4), "axes": (0, 1)}
    assert refusal(rs.reference.crop_resize, x, **asked) == refusal(rs.crop_resize, x, **asked)


@pytest.mark.parametrize(
    "arguments",
    [
        {"format": "nv99"},
        {"format": None},
        {"matrix": "bt2020"},
        {"full_range": "yes"},
        {"like": "pillow"},
        {"like": "opencv", "matrix": "bt709"},
        {"like": "opencv", "full_range": True},
        {"frame": np.zeros((6, 4), np.int8)},
        {"frame": np.zeros((5, 4), np.uint8)},
        {"frame": np.zeros((6, 3), np.uint8)},
        {"frame": np.zeros(6, np.uint8)},
        {"frame": np.zeros((1,) * 6 + (3, 2), np.uint8)},
    ],
    ids=str,
)
def test_frames_are_refused_alike(arguments: dict[str, Any]) -> None:
    asked = {"frame": np.zeros((6, 4), np.uint8), **arguments}
    assert refusal(rs.reference.yuv_to_rgb, **asked) == refusal(rs.yuv_to_rgb, **asked)


def test_axes_without_elements_are_refused_alike() -> None:
    empty = np.zeros((2, 0), np.float32)
    for arguments in ({"sizes": [4]}, {"sizes": [4], "keep_aspect_ratio_policy": "not_larger"}):
        assert refusal(rs.reference.resample, empty, **arguments) == refusal(rs.resample, empty, **arguments)


def test_opencv_rounds_sizes_by_scales() -> None:
    """100 by 0.29 is 28.999...96, of which others take 28 and OpenCV 29."""
    x = np.zeros((100, 100), np.uint8)
    for like, size in (("opencv", 29), (None, 28)):
        assert rs.reference.resample(x, scales=(0.29, 0.29), like=like).shape == (size, size)
