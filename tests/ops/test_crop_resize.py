"""crop_resize: random boxes equal the chain of single operations byte for byte, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from support.crop_chain import chained, random_boxes, random_image
from support.sampled import sample

import restride as rs
from restride.ops.letterbox import Letterboxed
from restride.plan import boxes as plan_of_boxes
from restride.runtime import choose, list_devices
from restride.runtime.vulkan.runtime import VulkanRuntime

OF_INTEGERS = "goes with boxes of integers in pixels, not of floats"
OF_IMAGE = r".*, for u8\[5,6,3\]\{2,1,0\}$"
NAN, INF = float("nan"), float("inf")

EACH = 25  # times 30 kinds: 750 sets of boxes

KINDS = (
    (np.uint8, 3, "last", {"mode": "linear"}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
    (np.uint8, 3, "last", {"mode": "linear"}, {"dtype": "u8"}),
    (np.uint8, 3, "last", {"mode": "linear", "antialias": True}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
    (np.uint8, 3, "first", {"mode": "cubic", "antialias": True, "cubic_a": -0.5}, {"dtype": "u8"}),
    (np.uint8, 4, "last", {"mode": "nearest"}, {"dtype": "u8"}),
    (np.uint8, 3, "last", {"mode": "nearest"}, {"dtype": "f32", "dst_scale": 0.5, "dst_zero_point": 3}),
    (np.uint8, 1, "first", {"mode": "area"}, {"dtype": "s16", "rounding": "truncate", "src_scale": 3}),
    (np.float32, 5, "first", {"mode": "cubic"}, {"dtype": "f32"}),
    (np.float32, 2, "last", {"mode": "linear", "coordinates": "align_corners"}, {"dtype": "f16"}),
    (np.float32, 8, "last", {"mode": "cubic", "exclude_outside": True}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
    (np.float32, 3, "first", {"mode": "nearest", "nearest": "floor", "coordinates": "asymmetric"}, {"dtype": "f32"}),
    (np.float16, 3, "first", {"mode": "linear"}, {"dtype": "f16"}),
    (np.float16, 6, "last", {"mode": "linear", "antialias": True}, {"dtype": "f32"}),
    (np.int16, 4, "first", {"mode": "linear"}, {"dtype": "f32", "src_zero_point": 9, "src_scale": 0.25}),
    (np.int16, 3, "last", {"mode": "nearest"}, {"dtype": "s16", "layout": "NHWC->NCHW"}),
    (ml_dtypes.bfloat16, 7, "last", {"mode": "cubic"}, {"dtype": "bf16"}),
    (np.float64, 3, "first", {"mode": "nearest"}, {"dtype": "f64"}),
    (np.int64, 1, "last", {"mode": "nearest"}, {"dtype": "s64"}),
    (np.uint8, 3, "first", {"mode": "area"}, {"dtype": "f32", "post_ops": (("clip", 10, 90),)}),
    (np.uint8, 3, "last", {"mode": "cubic"}, {"dtype": "bf16", "layout": "NHWC->NCHW"}),
    (np.uint8, 4, "last", {"mode": "linear"}, {"dtype": "f16", "layout": "NHWC->NCHW", "dst_scale": 7}),
    (np.int8, 2, "last", {"mode": "linear", "coordinates": "align_corners"}, {"dtype": "f32"}),
    (np.uint8, 3, "first", {"mode": "linear"}, {"dtype": "u8"}),
    (np.int8, 1, "first", {"mode": "linear"}, {"dtype": "f32", "src_zero_point": 5}),
    (np.uint8, 3, "last", {"like": "pillow", "mode": "bicubic"}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
    (np.uint8, 3, "last", {"like": "pillow", "mode": "lanczos"}, {"dtype": "f32", "dst_scale": 7}),
    (np.uint8, 3, "last", {"like": "opencv", "mode": "linear"}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
    (np.uint8, 3, "first", {"like": "opencv", "mode": "nearest"}, {"dtype": "f32", "dst_zero_point": 3}),
    (np.uint8, 3, "last", {"like": "torch", "mode": "bilinear", "antialias": True}, {"dtype": "f32", "dst_scale": 7}),
    (np.uint8, 3, "last", {"like": "onnx", "mode": "linear"}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
)
"""Element type, channels, where these are, sampling, what follows."""


@pytest.mark.filterwarnings("ignore:a box lies beside its image")
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_random_boxes_are_the_chain_of_operations(vulkan_device, kind):
    for number in sample(range(EACH), 4, kind):
        one_set(np.random.default_rng(1000 * kind + number), vulkan_device, *KINDS[kind])


def one_set(rng, device, dtype, channels, where, sampling, after):
    axes = (0, 1) if where == "last" else (1, 2)
    kind = rng.choice(["image", "batch", "list"])

    def one_image(extents):
        return random_image(rng, dtype, (*extents, channels) if where == "last" else (channels, *extents))

    extents = [tuple(map(int, rng.integers(1, 40, 2))) for _ in range(3)]
    images = [one_image(extents[k if kind == "list" else 0]) for k in range(1 if kind == "image" else 3)]
    count = int(rng.integers(1, 6))
    index = [int(rng.integers(len(images))) for _ in range(count)]
    sizes = tuple(map(int, rng.integers(1, 24, 2) * (1, rng.choice([1, 4]))))
    boxes = [random_boxes(rng, 1, [images[k].shape[axis] for axis in axes])[0] for k in index]
    flips = [str(rng.choice(["none", "horizontal", "vertical", "both"])) for _ in boxes]
    fill = int(rng.integers(0, 100)) if rng.random() < 0.5 else rng.integers(0, 100, channels)
    letterbox = [None, "center", "top_left"][rng.integers(3)]
    x = {"image": lambda: images[0], "batch": lambda: np.stack(images), "list": lambda: images}[kind]()
    found = rs.crop_resize(
        [rs.asarray(image, device=device) for image in x] if kind == "list" else rs.asarray(x, device=device),
        boxes,
        sizes,
        images=None if kind == "image" else index,
        axes=tuple(axis + (kind == "batch") for axis in axes),
        flip=flips,
        fill=fill,
        letterbox=letterbox,
        **sampling,
        **after,
    )
    places = None
    if letterbox is not None:
        places = rs.Letterboxed.of(boxes, sizes, letterbox).places.tolist()
    right = chained(
        [images[k] for k in index], boxes, sizes, axes, flips=flips, fill=fill, places=places, after=after, **sampling
    )
    np.testing.assert_array_equal(found.numpy().view(np.uint8), right.view(np.uint8))


FLOAT_KINDS = (
    (np.uint8, 3, "last", {"mode": "linear"}, {"dtype": "f32", "layout": "NHWC->NCHW"}),
    (np.float32, 2, "first", {"mode": "cubic"}, {"dtype": "f32"}),
    (np.uint8, 3, "first", {"mode": "nearest"}, {"dtype": "u8"}),
)


@pytest.mark.filterwarnings("ignore:a box lies beside its image")
@pytest.mark.parametrize("kind", range(len(FLOAT_KINDS)))
def test_boxes_of_floats_are_crops_of_the_whole_image(vulkan_device, kind):
    dtype, channels, where, sampling, after = FLOAT_KINDS[kind]
    rng = np.random.default_rng(kind)
    axes = (0, 1) if where == "last" else (1, 2)
    for number in range(20):
        extents, sizes = tuple(map(int, rng.integers(2, 40, 2))), tuple(map(int, rng.integers(1, 20, 2)))
        image = random_image(rng, dtype, (*extents, channels) if where == "last" else (channels, *extents))
        boxes = rng.uniform(-0.5, 1.5, (3, 4)).round(4)  # some of them upside down
        flips = [str(rng.choice(["none", "horizontal", "vertical", "both"])) for _ in boxes]
        spans = np.array([extent - 1 for extent in (*extents, *extents)])
        is_pixels = number % 2 == 0
        given = (boxes * spans).round(3) if is_pixels else boxes
        found = rs.crop_resize(
            rs.asarray(image, device=vulkan_device),
            given,
            sizes,
            axes=axes,
            units="pixels" if is_pixels else "normalized",
            flip=flips,
            fill=7,
            **sampling,
            **after,
        )
        ends = spans.tolist() if is_pixels else [1] * 4
        exact = [[Fraction(repr(a)) / b for a, b in zip(box, ends, strict=True)] for box in given.tolist()]
        right = chained([image] * 3, None, sizes, axes, flips=flips, fill=7, floats=exact, after=after, **sampling)
        np.testing.assert_array_equal(found.numpy().view(np.uint8), right.view(np.uint8))


@pytest.mark.parametrize(
    ("dtype", "like"), [(np.uint8, "opencv"), (np.uint8, "pillow"), (np.uint16, "pillow"), (np.float32, None)]
)
def test_a_box_of_the_whole_image_is_normalized_as_normalize_does(vulkan_device, dtype, like):
    image = random_image(np.random.default_rng(6), dtype, (40, 50, 3))
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    x = rs.asarray(image, device=vulkan_device)
    made = rs.crop_resize(x, [(0, 0, 40, 50)], (23, 31), axes=(0, 1), like=like, mean=mean, std=std)
    right = rs.normalize(rs.resample(x, (23, 31), axes=(0, 1), like=like), mean, std)
    np.testing.assert_array_equal(made.numpy()[0], right.numpy())


def test_labels_go_to_the_output_and_come_back():
    rng = np.random.default_rng(4)
    for _ in range(20):
        boxes = np.array(random_boxes(rng, 4, (60, 80)))
        sizes = tuple(map(int, rng.integers(8, 70, 2)))
        flips = [str(rng.choice(["none", "horizontal", "vertical", "both"])) for _ in boxes]
        placed = rs.Letterboxed.of(boxes, sizes, str(rng.choice(["center", "top_left"])), flip=flips)
        index = np.arange(4)
        np.testing.assert_allclose(placed.to_output(boxes, index), placed.places, atol=1e-9)
        assert (placed.places[:, 2:] - placed.places[:, :2] == sizes).any(axis=1).all(), "one side is filled"
        labels = np.sort(rng.uniform(-20, 90, (4, 2, 2)), axis=1).reshape(4, 4)
        found = placed.to_output(labels, index)
        np.testing.assert_allclose(placed.to_image(found, index), labels, atol=1e-9)
        begins_there = np.array([[each in ("vertical", "both"), each in ("horizontal", "both")] for each in flips])
        corners = np.where(begins_there, labels[:, 2:], labels[:, :2])
        np.testing.assert_allclose(placed.points(found[:, :2], index), corners, atol=1e-9)
        swapped = [1, 0, 3, 2]
        np.testing.assert_array_equal(placed.to_output(labels[:, swapped], index, order="xy"), found[:, swapped])
        np.testing.assert_array_equal(
            placed.to_image(found[:, swapped], index, order="xy"), placed.to_image(found, index)[:, swapped]
        )
        for whole, clipped, edges in (
            (found, placed.to_output(labels, index, clip=True), placed.places),
            (placed.to_image(found, index), placed.to_image(found, index, clip=True), boxes),
        ):
            np.testing.assert_array_equal(clipped, whole.clip(edges[:, [0, 1, 0, 1]], edges[:, [2, 3, 2, 3]]))
            assert (clipped[:, :2] <= clipped[:, 2:]).all()


def test_a_label_of_each_output_is_placed_by_hand():
    placed = rs.Letterboxed.of([(0, 0, 480, 640), (0, 0, 100, 50)], (320, 320), flip=["none", "horizontal"])
    labels = [[(120, 160, 240, 400)], [(0, 0, 50, 10)]]  # one in each of two images
    assert placed.to_output(labels, [[0], [1]]).tolist() == [[[100, 80, 160, 200]], [[0, 208, 160, 240]]]
    assert placed.to_output([(-10, -10, -5, -5)], 0, clip=True).tolist() == [[40, 0, 40, 0]]
    for mapped in (placed.to_image, placed.to_output):
        assert mapped([], []).shape == mapped(np.zeros((0, 4)), 0, order="xy").shape == (0, 4)
    assert placed.points([], []).shape == (0, 2)


@pytest.mark.parametrize(
    ("boxes", "order", "message"),
    [
        ([(0, 0, 2)], "yx", r"boxes must be \(..., 4\), y0, x0, y1, x1, got shape \(1, 3\)"),
        ([(0, 0, 2)], "xy", r"boxes must be \(..., 4\), x0, y0, x1, y1, got shape \(1, 3\)"),
        ([(0, 0, 2, 2)], "xyxy", "order must be one of 'yx', 'xy', not 'xyxy'"),
        ([("a", "b", "c", "d")], "yx", "boxes must be numbers"),
    ],
)
def test_boxes_that_are_no_labels_are_refused(boxes, order, message):
    placed = rs.Letterboxed.of([(0, 0, 4, 4)], (2, 2))
    for mapped in (placed.to_image, placed.to_output):
        with pytest.raises(rs.DescriptorError, match=message):
            mapped(boxes, 0, order=order)


@pytest.mark.parametrize(
    ("points", "index", "message"),
    [
        ([[0, 0]], 0.5, "index must be whole numbers, got 0.5 of float64"),
        ([[0, 0]], NAN, "index must be whole numbers, got nan"),
        ([[0, 0]], True, "index must be whole numbers, got True of bool"),
        ([[0, 0]], [0, 1], r"index must be one integer, or an array of shape \(1,\), .* shape \(2,\)"),
        ([0, 0], [0], r"index must be one integer, or an array of shape \(\), .* shape \(1,\)"),
        ([[0, 0]], 2, r"index must be in \[0, 2\), the boxes, got 2"),
        ([[0, 0]], -1.0, r"index must be in \[0, 2\)"),
        ([[0, 0, 0]], 0, r"points must be \(..., 2\), y and x, got shape \(1, 3\)"),
        ([["a", "b"]], 0, "points must be numbers, got an array of <U1"),
        ([[1j, 2]], 0, "points must be numbers, got an array of complex128"),
    ],
)
def test_points_that_cannot_be_mapped_are_refused(points, index, message):
    boxes = np.array([(0, 0, 4, 4), (1, 1, 3, 2)])
    placed = Letterboxed(boxes, boxes, np.zeros((2, 2), np.bool_))
    with pytest.raises(rs.DescriptorError, match=message):
        placed.points(points, index)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(0, 0, 2, 2)], (4, 4), None), "letterbox must be one of 'center', 'top_left', not None"),
        (([(0, 0, 2, 2.5)], (4, 4)), "letterbox goes with boxes of integers in pixels, not of floats"),
        (([(0, 0, 2, 0)], (4, 4)), r"boxes\[0\] must be of integers with y0 < y1 and x0 < x1"),
        (([(0, 0, 2, 2)], (4,)), "sizes must be a height and a width of 1 or more"),
    ],
)
def test_letterboxes_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(rs.DescriptorError, match=message):
        rs.Letterboxed.of(*arguments)


def narrow_device(device: rs.Device) -> rs.Device:
    """The device with bindings of 16 KiB."""
    return rs.Device.over(
        VulkanRuntime(choose(list_devices(), device.info.index), timeout=30, max_buffer_range=1 << 14)
    )


def test_other_boxes_sizes_and_images_compile_nothing(vulkan_device):
    rng = np.random.default_rng(4)
    named = {"axes": (0, 1), "layout": "NHWC->NCHW", "mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.4)}

    def made(antialias):
        extents, sizes = rng.integers(1, 90, 2), rng.integers(1, 40, 2)
        image = rng.integers(0, 256, (*extents, 3), dtype=np.uint8)
        boxes = random_boxes(rng, int(rng.integers(1, 9)), tuple(map(int, extents)))
        flip = str(rng.choice(["none", "horizontal"]))
        rs.crop_resize(
            rs.asarray(image, device=vulkan_device), boxes, sizes, flip=flip, antialias=antialias, **named
        ).numpy()

    # By pixels, into whole quads or not, or of a row or a column of an image; and columns, then rows, of few or many
    # taps, or both at once.
    for antialias, pipelines in ((False, 3), (True, 5)):
        before = vulkan_device.counters()
        for _ in range(40):
            made(antialias)
        assert vulkan_device.counters().pipelines - before.pipelines <= pipelines
    before = vulkan_device.counters()
    made(False)
    after = vulkan_device.counters()
    assert after.dispatches - before.dispatches == 1


def test_images_of_a_list_are_one_submission(vulkan_device):
    rng = np.random.default_rng(6)
    images = [
        rs.asarray(rng.integers(0, 256, (*rng.integers(5, 30, 2), 3), dtype=np.uint8), device=vulkan_device)
        for _ in range(12)
    ]
    named = {"axes": (0, 1), "dtype": "f32"}
    rs.crop_resize(images, [(0, 0, 5, 5)] * 12, (4, 4), **named)
    vulkan_device.wait()
    before = vulkan_device.counters()
    made = rs.crop_resize(images, [(0, 0, 5, 5)] * 12, (4, 4), **named)
    vulkan_device.wait()
    after = vulkan_device.counters()
    assert (after.dispatches - before.dispatches, after.submissions - before.submissions) == (12, 1)
    assert made.sizes == (12, 4, 4, 3)


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32"])
@pytest.mark.parametrize("key", [np.s_[1:3], np.s_[1:3, 1:6, 2:7], np.s_[:2, :, ::2]], ids=str)
def test_boxes_are_written_straight_into_part_of_a_tensor(vulkan_device, dtype, key):
    """A slice of a batch, a window, and pixels with gaps: one dispatch, and the elements around keep their bits."""
    rng = np.random.default_rng(3)
    x = rs.asarray(rng.integers(0, 256, (20, 30, 3), np.uint8), device=vulkan_device)
    boxes = [(1, 2, 18, 25), (0, 0, 20, 30)]
    whole = rs.reorder(rs.asarray(rng.integers(0, 256, (4, 7, 9, 3), np.uint8), device=vulkan_device), dtype=dtype)
    expected, part = whole.numpy(), whole[key]
    sizes = part.sizes[1:3]
    expected[key] = rs.crop_resize(x, boxes, sizes, axes=(0, 1), dtype=dtype).numpy()
    vulkan_device.wait()
    before = vulkan_device.counters().dispatches
    rs.crop_resize(x, boxes, sizes, axes=(0, 1), out=part)
    assert vulkan_device.counters().dispatches - before == 1
    np.testing.assert_array_equal(whole.numpy(), expected)


def test_no_boxes_and_boxes_of_a_tensor(vulkan_device):
    x = rs.asarray(np.arange(60, dtype=np.uint8).reshape(5, 4, 3), device=vulkan_device)
    assert rs.crop_resize(x, np.zeros((0, 4), np.int64), (2, 2), axes=(0, 1)).sizes == (0, 2, 2, 3)
    boxes = np.array([(0, 0, 4, 4), (1, 1, 3, 2)], np.int32)
    given = rs.crop_resize(x, boxes, (2, 2), axes=(0, 1)).numpy()
    of_tensor = rs.crop_resize(x, rs.asarray(boxes, device=vulkan_device), (2, 2), axes=(0, 1)).numpy()
    np.testing.assert_array_equal(given, of_tensor)
    out = rs.empty("u8[2,2,2,3]", vulkan_device)
    assert rs.crop_resize(x, boxes, (2, 2), axes=(0, 1), out=out) is out
    np.testing.assert_array_equal(out.numpy(), given)


@pytest.mark.parametrize(
    "sampling",
    [
        {"antialias": False},
        {"antialias": True},
        {"like": "opencv", "mode": "linear"},
        {"like": "opencv", "mode": "lanczos4"},
        {"like": "pillow", "mode": "bilinear"},
    ],
    ids=str,
)
def test_what_one_dispatch_cannot_bind_is_several(monkeypatch, vulkan_device, sampling):
    """Boxes of a batch that is larger than a binding, results that are, and what lies between passes."""
    rng = np.random.default_rng(8)
    images = rng.integers(0, 256, (6, 30, 40, 3), dtype=np.uint8)
    corners, index = rng.integers(-9, 20, (9, 2)), [5, 0, 3, 1, 2, 4, 4, 0, 5]
    boxes = np.concatenate([corners, corners + rng.integers(1, 40, (9, 2))], axis=1)
    of_boxes = {"dst_scale": np.arange(1, 10).reshape(9, 1, 1, 1)}
    named = {"images": index, "axes": (1, 2), "fill": (7, 8, 9), "dtype": "f16", **of_boxes, **sampling}
    right = rs.crop_resize(rs.asarray(images, device=vulkan_device), boxes, (17, 15), **named).numpy()
    with narrow_device(vulkan_device) as narrow:
        monkeypatch.setattr(plan_of_boxes, "MAX_BETWEEN", 1 << 12)
        before = narrow.counters().dispatches
        x = rs.asarray(images, device=narrow)
        found = rs.crop_resize(x, boxes, (17, 15), **named)
        assert narrow.counters().dispatches - before >= 4
        np.testing.assert_array_equal(found.numpy(), right)
        with pytest.raises(rs.UnsupportedError, match=r"one box (reads or makes more than|needs)"):
            rs.crop_resize(x, boxes, (90, 80), **named)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"boxes": [(0, 4, 4, 2)]},
            r"got \(0, 4, 4, 2\); boxes\[\(boxes\[:, :2\] < boxes\[:, 2:\]\).all\(1\)\] leaves out those .*, for u8",
        ),
        (
            {"boxes": [(0, 0, 1, NAN)]},
            r"boxes\[0\] must be finite and within \+-1073741824, got \(0.0, 0.0, 1.0, nan\)",
        ),
        ({"boxes": [(0, 0, 1, 1), (0, -INF, 1, 2)]}, r"boxes\[1\] must be finite"),
        (
            {"boxes": [(0, 0, 1 << 31, 4)]},
            r"boxes\[0\] must be finite and within \+-1073741824, got \(0, 0, 2147483648",
        ),
        ({"boxes": [(0, 0, 1 << 30, 4)], "antialias": True}, "taps along one axis, more than 2048"),
        ({"boxes": [(0, 0, 4)]}, r"boxes must be an array of \(boxes, 4\) numbers"),
        ({"boxes": [(1e9, 0, 1, 1)], "units": "normalized"}, r"within \+-65536"),
        ({"units": "percent"}, r"units must be one of 'pixels', 'normalized', not 'percent', for u8\[5,6,3\]"),
        ({"images": [0, 0, 0]}, "axes .* must be two of an image|images must be one for each of 2 boxes"),
        ({"x": [np.zeros((5, 4, 3), np.uint8)], "images": [0, 1]}, r"images\[1\] = 1 is outside \[0, 1\)"),
        ({"x": [np.zeros((5, 4, 3), np.uint8)]}, "images must say the image of each of 2 boxes, because x has 1"),
        ({"x": []}, "x must have an image"),
        ({"x": [np.zeros((5, 4, 3), np.uint8), None]}, r"x\[1\]: array is None"),
        (
            {"x": np.zeros((2, 8, 9, 3), np.uint8), "axes": None},
            "look like columns .*; a batch needs images=, the image",
        ),
        (
            {"x": np.zeros((2, 8, 9, 3), np.uint8), "axes": (1, 2), "mean": (1, 2, 3)},
            "; a batch needs images=, the image",
        ),
        (
            {"x": [np.zeros((5, 4, 3), np.uint8), np.zeros((5, 4, 2), np.uint8)]},
            "may differ from .* in rows and columns",
        ),
        ({"x": [np.zeros((5, 4, 3), np.uint8), np.zeros((5, 4, 3), np.int8)]}, r"x\[1\] .* must have the type"),
        ({"x": np.zeros((0, 4, 3), np.uint8)}, "has no elements to cut boxes from"),
        ({"x": np.zeros((5, 4, 3), np.int32)}, "mode 'linear' of crop_resize takes the element types"),
        ({"axes": (1, 0)}, r"axes \(1, 0\) must be two of an image, rows before columns, each in \[0, 3\)"),
        ({"sizes": (0, 4)}, r"sizes must be a height and a width of 1 or more, got \(0, 4\)"),
        ({"sizes": (4,)}, "sizes must be a height and a width"),
        ({"out": np.zeros((2, 2, 2, 3), np.uint8)}, "out must be a restride.Tensor, got ndarray; rs.empty"),
        (
            {"flip": ["none", "up"]},
            r"flip\[1\] must be one of 'none', 'vertical', 'horizontal', 'both', not 'up', for u8",
        ),
        ({"flip": ["none"]}, "flip must be a word, or one for each of 2 boxes, got 1"),
        ({"fill": 256}, "fill must be an integer of u8, 0 to 255, got 256"),
        ({"fill": 0.5}, "fill must be an integer of u8"),
        ({"fill": (1, 2)}, r"fill must be one number, or one for each of 3 channels, got shape \(2,\)"),
        (
            {"letterbox": "center", "boxes": [(0.5, 0, 1, 1)]},
            rf"letterbox {OF_INTEGERS}: np.rint\(boxes\).astype{OF_IMAGE}",
        ),
        (
            {"letterbox": "center", "units": "normalized"},
            rf"letterbox {OF_INTEGERS}: np.rint\(boxes \* \(rows, columns, rows, columns\)\){OF_IMAGE}",
        ),
        ({"antialias": True, "boxes": [(0.5, 0, 1, 1)]}, f"antialias {OF_INTEGERS}: .*, y1 are boxes{OF_IMAGE}"),
        (
            {"like": "pillow", "boxes": [(0.5, 0, 1, 1)]},
            rf"like 'pillow' {OF_INTEGERS}: .* boxes\[:, \[1, 0, 3, 2\]\]{OF_IMAGE}",
        ),
        ({"coordinates": "asymmetric", "boxes": [(0.5, 0, 1, 1)]}, f"coordinates 'asymmetric' {OF_INTEGERS}{OF_IMAGE}"),
        ({"coordinates": "tf_crop_and_resize"}, "goes with boxes of floats"),
        ({"mode": "area", "antialias": True}, "antialias True goes with mode 'linear' or 'cubic'"),
        ({"mean": 0.5, "src_scale": 2}, "mean and std set the scales and zero points: leave src_scale out"),
        ({"mean": 0.5, "dtype": "u8"}, "mean and std make floats: dtype must be a float, got u8"),
        ({"std": (1, 0, 1)}, "std must be finite and not 0"),
        ({"mean": (1, 2)}, "mean must be one number, or one for each of 3 channels"),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_arguments_that_cannot_be_are_refused_by_name(change, message):
    named = {"x": np.zeros((5, 6, 3), np.uint8), "boxes": [(0, 0, 4, 4), (1, 1, 3, 2)], "sizes": (2, 2), "axes": (0, 1)}
    with pytest.raises(rs.RestrideError, match=message):
        rs.crop_resize(**{**named, **change})


@pytest.mark.parametrize("mode", ["bogus", ["linear"]])
@pytest.mark.parametrize("boxes", [[], [(0, 0, 2, 2)]])
def test_modes_are_checked_with_and_without_boxes(vulkan_device, mode, boxes):
    x = rs.asarray(np.ones((8, 9), np.float32), device=vulkan_device)
    with pytest.raises(rs.DescriptorError, match=r"is not one of 'nearest', .* for f32\[8,9\]"):
        rs.crop_resize(x, boxes, (4, 4), mode=mode)


def test_a_box_too_large_is_refused_before_the_others_are_made(vulkan_device):
    with narrow_device(vulkan_device) as narrow:
        images = [rs.asarray(np.ones(sizes, np.uint8), device=narrow) for sizes in ((4, 4), (200, 200))]
        out = rs.asarray(np.full((2, 160, 2), 99, np.uint8), device=narrow)
        with pytest.raises(rs.UnsupportedError, match="one box reads or makes more than the 16384 bytes"):
            rs.crop_resize(images, [(0, 0, 4, 4), (0, 0, 200, 200)], (160, 2), out=out)
        assert (out.numpy() == 99).all()


def test_no_boxes_have_the_type_and_sizes_of_some(vulkan_device):
    x = rs.asarray(np.arange(64, dtype=np.int32).reshape(8, 8), device=vulkan_device)
    for boxes in ([(0, 0, 8, 8)], np.zeros((0, 4), np.int64)):
        made = rs.crop_resize(x, boxes, (4, 4), mode="bilinear", like="pillow")
        assert (made.dtype, made.sizes) == ("s32", (len(boxes), 4, 4))


@pytest.mark.parametrize(("dtype", "seen"), [(np.uint8, 5.0), (np.float32, 5.0 - 0.25)])
def test_post_ops_come_before_the_division_by_std(dtype, seen):
    image = np.full((2, 2, 3), 5, dtype)
    linear = [("linear", 2.0, 1.0)]
    result = rs.crop_resize(
        image, [(0, 0, 2, 2)], (1, 1), axes=(0, 1), mean=0.25, std=0.5, dtype="f32", post_ops=linear
    )
    added = -0.25 / 0.5 if dtype is np.uint8 else 0.0
    largest = 255 if dtype is np.uint8 else 1
    assert np.allclose(result.numpy(), (2 * seen + 1) / (largest * 0.5) + added, rtol=1e-6, atol=0)


def test_boxes_with_x_before_y_are_warned_of(device):
    """Where one lies beside its image, and all would be inside the other way round; never where one reaches out."""
    image = rs.asarray(np.zeros((30, 80, 3), np.uint8), device=device)
    swapped = [(50, 4, 70, 24), (3, 2, 13, 12)]  # x0, y0, x1, y1
    for boxes in (swapped, np.float32(swapped)):
        with pytest.warns(UserWarning, match=r"inside with x and y swapped: boxes are y0, x0, y1, x1"):
            rs.crop_resize(image, boxes, (4, 4), axes=(0, 1))
    with pytest.warns(UserWarning, match="swapped"):
        rs.crop_resize([image, image[:, :20]], swapped, (4, 4), axes=(0, 1))
    for boxes in (
        [(4, 50, 24, 70), (2, 3, 12, 13)],
        [(20, 50, 40, 70), (2, 3, 12, 13)],  # reaches out
        [(50, 4, 70, 24), (2, 60, 12, 70)],  # one is right as it is
        [(50, -4, 70, 24)],
    ):
        rs.crop_resize(image, boxes, (4, 4), axes=(0, 1))  # a warning would be an error
    rs.crop_resize(image, np.float32([(0.5, 0.1, 0.9, 0.2)]), (4, 4), axes=(0, 1), units="normalized")


def test_normalized_boxes_as_pixels_are_warned_of(device):
    image = rs.asarray(np.zeros((30, 80, 3), np.uint8), device=device)
    with pytest.warns(UserWarning, match="units='normalized'"):
        rs.crop_resize(image, [(0.5, 0.1, 0.9, 0.2), (0, 0, 1, 1)], (4, 4), axes=(0, 1))
    for few, boxes in (
        (image, [(0, 0, 1, 1)]),
        (image, [(0.5, 0.1, 0.9, 1.5)]),
        (image[:2, :2], [(0.0, 0.0, 1.0, 1.0)]),
    ):
        rs.crop_resize(few, boxes, (4, 4), axes=(0, 1))  # a warning would be an error


def test_an_index_may_be_left_out_where_there_is_one_output():
    placed = rs.Letterboxed.of([(0, 0, 480, 640)], (320, 320))
    assert np.array_equal(placed.to_output([(120, 160, 240, 400)]), placed.to_output([(120, 160, 240, 400)], 0))
    assert np.array_equal(placed.points([(100, 80)]), placed.points([(100, 80)], [0]))


def test_boxes_with_exchanged_corners_are_warned_of():
    placed = rs.Letterboxed.of([(0, 0, 480, 640)], (320, 320))
    for order in ("yx", "xy"):
        right = placed.to_output([(100, 50, 300, 200)], 0, order=order)
        with pytest.warns(UserWarning, match="second corner before its first"):
            assert np.array_equal(placed.to_output([(300, 200, 100, 50)], 0, order=order), right)


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"mode": "cubic", "like": "pillow"},
        {"letterbox": "center", "fill": 0.1},
        {"flip": "both"},
        {"mean": 0.5, "std": 0.25, "fill": 0.1},
        {"mode": "nearest"},
    ],
)
def test_f64_is_rounded_to_f32_before_it_is_interpolated(device, named):
    """The judge is numpy's cast: the elements that f32 has, cropped and resized."""
    if "like" in named:
        named = {**named, "mode": "bicubic"}
    wide = np.random.default_rng(9).normal(size=(2, 12, 15, 3))
    wide[0, 3, 4], wide[1, 5, 6, 1] = 1e-300 if "mean" in named else 1e300, np.nan  # 1e300 is warned of
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    boxes = [(0, 0, 9, 12), (-2, 3, 11, 17)]
    for take, others in ((lambda x: x, {"images": (1, 0), "axes": (1, 2)}), (list, {"axes": (0, 1)})):
        right = rs.crop_resize(take(narrow), boxes, (5, 4), **others, **named).numpy()
        result = rs.crop_resize(take(wide), boxes, (5, 4), dtype="f32", **others, **named)
        assert result.dtype == "f32"
        assert result.numpy().tobytes() == right.tobytes()
    out = rs.empty(f"f32[{','.join(map(str, right.shape))}]", device)
    rs.crop_resize([rs.asarray(each, device=device) for each in wide], boxes, (5, 4), out=out, **others, **named)
    np.testing.assert_array_equal(out.numpy(), right)


@pytest.mark.parametrize("named", [{}, {"mean": 0.5, "std": 0.5}])
def test_f64_boxes_without_a_type_are_refused(named):
    with pytest.raises(rs.UnsupportedError, match=r"not f64; x\.astype\('float32'\) converts, or dtype='f32'"):
        rs.crop_resize(np.zeros((8, 8)), [(0, 0, 4, 4)], (2, 2), **named)
