"""YUV to RGB: what OpenCV makes of a frame, what the standards define, and what is no frame."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.plan.yuv import FORMATS

RNG = np.random.default_rng(7)


def frame(rows, columns, *frames):
    return RNG.integers(0, 256, (*frames, rows // 2 * 3, columns), np.uint8)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 6), (48, 64), (50, 130), (270, 482)])
def test_bytes_of_opencv(device, form, rows, columns):
    cv2 = judge("cv2")
    x = frame(rows, columns)
    right = cv2.cvtColor(x, getattr(cv2, f"COLOR_YUV2RGB_{form.upper()}"))
    assert np.array_equal(rs.yuv_to_rgb(rs.asarray(x, device=device), form, like="opencv").numpy(), right)


@pytest.mark.parametrize(("matrix", "full_range"), list(product(["bt601", "bt709"], [False, True])))
def test_colours_of_the_standard_come_back(device, matrix, full_range):
    """Every eighth colour to the YUV that the standard makes of it, rounded to bytes, and back.

    Y is then off by 1/2 and U and V too; a colour is off by at most (1.17 + 2.12) / 2 and its own rounding, 1/2: 2.2.
    """
    red, blue = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}[matrix]
    rgb = np.stack(np.meshgrid(*[np.arange(0, 256, 17)] * 3), -1).reshape(64, 64, 3)
    luma = rgb @ [red, 1 - red - blue, blue]
    u, v = (rgb[..., 2] - luma) / (2 - 2 * blue), (rgb[..., 0] - luma) / (2 - 2 * red)
    if not full_range:
        luma, u, v = luma * 219 / 255 + 16, u * 224 / 255, v * 224 / 255
    # Every pixel four times, so that its chroma is its own.
    luma, u, v = (np.rint(each).clip(0, 255).repeat(2, 0).repeat(2, 1) for each in (luma, u + 128, v + 128))
    chroma = np.stack([u[::2, ::2], v[::2, ::2]], -1).reshape(64, 128)
    x = np.concatenate([luma, chroma]).astype(np.uint8)
    back = rs.yuv_to_rgb(rs.asarray(x, device=device), "nv12", matrix, full_range).numpy()
    assert np.abs(back[::2, ::2].astype(int) - rgb).max() <= 2


def test_parts_are_a_frame(device):
    x = frame(8, 12)
    whole = rs.asarray(x, device=device)
    luma, below = x[:8], x[8:]
    expected = rs.reference.yuv_to_rgb(x)
    for chroma in (below, below.reshape(4, 6, 2), whole[8:]):
        assert np.array_equal(rs.yuv_to_rgb((rs.asarray(luma, device=device), chroma)).numpy(), expected)
    planes = below.reshape(2, 4, 6)
    made = rs.yuv_to_rgb((rs.asarray(luma, device=device), *planes), "yv12")
    assert np.array_equal(made.numpy(), rs.reference.yuv_to_rgb(x, "yv12"))


def test_planes_and_destinations(device):
    x = frame(6, 10, 2)
    expected = rs.reference.yuv_to_rgb(x, "i420", "bt709")
    planes = rs.yuv_to_rgb(rs.asarray(x, device=device), "i420", "bt709", layout="NHWC->NCHW")
    assert np.array_equal(planes.numpy(), expected.transpose(0, 3, 1, 2))
    out = rs.empty("u8[2,6,10,3]", device=device)
    before = device.counters().dispatches
    assert rs.yuv_to_rgb(rs.asarray(frame(6, 12, 2), device=device)).sizes == (2, 6, 12, 3)
    assert device.counters().dispatches == before + 1
    rs.yuv_to_rgb(x, "i420", "bt709", out=out)
    assert np.array_equal(out.numpy(), expected)


def test_new_sizes_make_no_pipeline(vulkan_device):
    def run(rows, columns):
        rs.yuv_to_rgb(rs.asarray(frame(rows, columns), device=vulkan_device)).numpy()

    run(8, 16)
    before = vulkan_device.counters().pipelines
    run(32, 20)
    run(6, 100)
    assert vulkan_device.counters().pipelines == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"full_range": 3}, "full_range must be one of False, True, not 3"),
        ({"full_range": np.zeros(2, bool)}, r"full_range must be one of False, True, not array\(\[False, False\]\)"),
        ({"format": ["nv12"]}, r"format must be one of .*, not \['nv12'\]"),
        ({"like": "pillow"}, "like must be one of None, 'opencv', not 'pillow'"),
        ({"like": "opencv", "matrix": "bt709"}, "matrix 'bt709' and full_range False contradict it"),
        ({"frame": np.zeros((7, 8), np.uint8)}, r"sizes \[..., 3/2 rows, columns\] with even .*: u8\[7,8\]"),
        ({"frame": np.zeros((6, 8), np.float32)}, r"must be u8, not f32: f32\[6,8\]"),
        ({"frame": (np.zeros((4, 8), np.uint8),)}, r"parts of a frame of format 'nv12' .* not u8\[4,8\]"),
        ({"frame": ()}, "parts of a frame of format 'nv12'"),
        ({"frame": [np.zeros((4, 8), np.uint8)] * 3, "format": "i420"}, r"chroma \[2, 4\], \[2, 4\] beside such luma"),
        ({"out": "u8[4,8,4]"}, r"out"),
        ({"layout": "f32[4,8,3]"}, r"layout f32\[4,8,3\]\{2,1,0\} must have the element type of u8\[4,8,3\]"),
    ],
)
def test_frames_that_cannot_be_are_refused(vulkan_device, given, message):
    arguments = {"frame": frame(4, 8), **given}
    if "out" in given:
        arguments["out"] = rs.empty(given["out"], device=vulkan_device)
    with pytest.raises(rs.DescriptorError, match=message):
        rs.yuv_to_rgb(**arguments)
