"""crop_resize like a library: dispatches, pipelines, bindings, and the middle of an image."""

from __future__ import annotations

import numpy as np
import pytest

import restride as rs
from restride.kernel import Choices, Limits
from restride.ops.crop_resize import Cut, _crop_plan
from restride.ops.images import Images
from restride.plan.problem import HELD
from restride.request import Request

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("like", "mode", "dispatches"),
    [("opencv", "linear", 1), ("opencv", "lanczos4", 2), ("opencv", "nearest", 1), ("torch", "bicubic", 2)],
)
def test_all_boxes_are_one_dispatch_or_two(vulkan_device, like, mode, dispatches):
    x = rs.asarray(np.zeros((90, 80, 3), np.uint8), device=vulkan_device)
    boxes = [(k, 2 * k, k + 20 + k, 2 * k + 30 - k) for k in range(20)]
    for after, more in (
        ({"dtype": "f32", "layout": "NHWC->NCHW"}, 0),
        ({"dtype": "f16"}, 1 if mode != "nearest" else 0),
    ):
        before = vulkan_device.counters().dispatches
        rs.crop_resize(x, boxes, (9, 8), axes=(0, 1), like=like, mode=mode, **after)
        assert vulkan_device.counters().dispatches - before == dispatches + more


@pytest.mark.parametrize("preset", ["yolo", "imagenet", "clip"])
def test_images_of_other_sizes_compile_nothing(vulkan_device, preset):
    rng = np.random.default_rng(8)
    recipe = rs.Preprocess.preset(
        preset, sizes=(24, 24), shorter=None if preset == "yolo" else 25, device=vulkan_device
    )

    def run():
        extents = 3 * rng.integers(9, 60, 2) + 1  # no factor of 1 or 2, which OpenCV has other ways for
        recipe([rng.integers(0, 256, (*extents, 3), dtype=np.uint8)])

    before = vulkan_device.counters().pipelines
    for _ in range(20):
        run()
    made = vulkan_device.counters().pipelines - before
    assert made <= (1 if preset == "yolo" else 4)  # columns, then rows, or rows, then columns


@pytest.mark.parametrize(
    ("like", "mode"),
    [("pillow", "bicubic"), ("opencv", "linear"), ("opencv", "cubic"), ("torch", "bilinear"), (None, "cubic")],
)
def test_the_middle_of_an_image_is_a_window_of_all_of_it(vulkan_device, like, mode):
    """By boxes that go beyond their result, by kernels of crops and, of cubic like OpenCV, one by one."""
    rng = np.random.default_rng(9)
    images = [rng.integers(0, 256, (*extents, 3), dtype=np.uint8) for extents in ((40, 57), (81, 30), (33, 33))]
    sampling = {"like": like, "mode": mode}
    recipe = rs.Preprocess((20, 24), shorter=25, layout="NHWC", dtype="u8", device=vulkan_device, **sampling)
    for image, made in zip(images, recipe(images), strict=True):
        sizes = [25 * extent // min(image.shape[:2]) for extent in image.shape[:2]]
        begins = [round((whole - size) / 2) for whole, size in zip(sizes, (20, 24), strict=True)]
        whole = rs.resample(rs.asarray(image, device=vulkan_device), sizes, axes=(0, 1), **sampling).numpy()
        right = whole[begins[0] : begins[0] + 20, begins[1] : begins[1] + 24]
        np.testing.assert_array_equal(made.numpy(), right)


@pytest.mark.parametrize(("like", "mode"), [("opencv", "linear"), ("pillow", "bilinear"), ("pillow", "bicubic")])
def test_columns_that_share_bytes_with_channels(vulkan_device, like, mode):
    """A window that slides along a row: pixel 1 is bytes 1 to 3 of the row, pixel 0 bytes 0 to 2."""
    rows = np.random.default_rng(7).integers(0, 256, (4, 8), np.uint8)
    sliding = rs.TensorDesc("u8", (4, 4, 3), (8, 1, 1))
    x = rs.from_buffer(rows.tobytes(), sliding, vulkan_device)
    packed = rs.asarray(np.lib.stride_tricks.sliding_window_view(rows, 3, axis=1)[:, :4].copy(), device=vulkan_device)
    for sizes in ((3, 6), (2, 2)):
        made, right = (
            rs.crop_resize(each, [(0, 0, 4, 4)], sizes, axes=(0, 1), like=like, mode=mode) for each in (x, packed)
        )
        np.testing.assert_array_equal(made.numpy(), right.numpy())


@pytest.mark.parametrize(("kind", "rows"), [("cpu", 4), ("discrete", 1)])
def test_a_gpu_makes_one_row_of_pixels_at_a_time(kind, rows):
    """The sums that are kept from row to row take more registers than let a GPU hide the latency of loads."""
    limits = Limits(choices=Choices.usual(kind))
    source, boxes = Images((rs.TensorDesc("u8", (300, 300, 3)),), (0, 1)), [(0, 0, 300, 300)] * 64
    plan = _crop_plan(source, None, limits, Cut(boxes, (224, 224)), Request(mode="linear"), None)
    ((_, steps),) = plan.starts
    kernels = [kernel for step in steps.steps for kernel in step.kernels()]
    assert {(kernel.shader, kernel.constant("ROWS")) for kernel in kernels} == {("crop_pixels", rows)}


@pytest.mark.parametrize("like", [None, "opencv"])
@pytest.mark.parametrize(
    ("box", "place"),
    [
        ((1900, 0, 1950, 100), (4, 0, 12, 16)),
        ((1999, 0, 2010, 100), None),
        ((1000, 0, 1001, 100), None),
        ((2005, 3, 2030, 90), None),
        ((-30, -20, -5, 9), None),
    ],
)
def test_all_that_is_read_is_bound(like, box, place):
    """Of an image larger than a binding: the lowest and the highest offset of the tables, and two pixels there."""
    channels, narrow = 3, Limits(max_buffer_range=1 << 17)
    desc = rs.TensorDesc("u8", (2000, 100, channels))
    cut = Cut([box], (16, 16), places=None if place is None else [place], dtype="f32")
    plan = _crop_plan(Images((desc,), (0, 1)), None, narrow, cut, Request(mode="linear", like=like), None)
    ((_, steps),) = plan.starts
    kernels = [kernel for step in steps.steps for kernel in step.kernels()]
    (kernel,) = kernels
    assert kernel.shader == ("crop_pixels" if like is None else "crop_resize_fixed")
    words = np.frombuffer(kernel.parameters, np.int32)
    columns, rows = (words[begin : begin + 4 * 16].reshape(-1, 4) for begin in words[[4, 6]])
    first, end = rows[:, 3] & 0xFFF, rows[:, 3] >> 16 & 0xFFF
    further = words[7] * np.maximum(end - first - 1, 0) * (rows[:, 3] & HELD == 0)  # taps inside after the first
    of_columns, of_rows = columns[:, 2], np.concatenate([rows[:, 2], rows[:, 2] + further])
    two = 2 if (columns[:, 3] == 2 << 16).any() else 1
    base = int(np.array(kernel.pushed("src_base"), np.uint32).astype(np.int32))
    assert base + int(of_columns.min()) + int(of_rows.min()) >= 0
    assert base + int(of_columns.max()) + int(of_rows.max()) + two * channels <= kernel.bindings[0].nbytes
