"""Preprocess: docs/preprocess.md runs on photographs beside what it replaces; recipes, streams, what they refuse."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import restride as rs
from restride.closeness.images import photograph

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "preprocess.md").read_text(encoding="utf-8")
SECTIONS = {text.split("\n", 1)[0]: text for text in PAGE.split("\n## ")[1:]}
RNG = np.random.default_rng(11)

pytestmark = pytest.mark.usefixtures("vulkan_device")


def blocks(title):
    made = {}
    for block in re.findall(r"```python\n(.*?)```", SECTIONS[title], re.DOTALL):
        exec(compile(block, f"docs/preprocess.md, {title}", "exec"), made)
    return made


def images(*sizes, channels=3):
    return [RNG.integers(0, 256, (*size, channels), np.uint8) for size in sizes]


@pytest.mark.parametrize(
    ("title", "module", "library"),
    [("ImageNet, from Pillow and numpy", "PIL", "Pillow 13"), ("YOLO, from OpenCV and numpy", "cv2", "opencv 5")],
)
@pytest.mark.parametrize("name", ["coffee.png", "chelsea.png"])
def test_after_is_as_before(title, module, library, name):
    """Two roundings more on either side, of numbers up to 2.7: 8 units of 2^-23."""
    pytest.importorskip(module, reason=f"{library} is not installed")
    pytest.importorskip("skimage", reason="scikit-image is not installed")
    made = blocks(title)
    photo = photograph(name)
    expected, result = made["before"](photo), made["after"](photo)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert np.abs(result - expected).max() <= 2.0**-20


def test_a_session_takes_the_batch():
    for module in ("onnx", "onnxruntime"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    made = blocks("Into ONNX Runtime")
    photo = RNG.integers(0, 256, (300, 400, 3), np.uint8)
    batch = rs.Preprocess.preset("imagenet")([photo]).numpy()
    windows = np.lib.stride_tricks.sliding_window_view(batch[0], (7, 7), axis=(1, 2))[:, ::4, ::4]
    right = np.einsum("chwij,ocij->o", windows.astype(np.float64), made["KERNEL"]) / np.prod(windows.shape[1:3])
    assert np.allclose(made["scores"](photo).ravel(), right, rtol=0, atol=1e-4)


def test_the_example_of_a_stream_runs():
    blocks("Streams and video")


def test_stretched_is_resampled_and_normalized():
    given = images((30, 40), (31, 17))
    made = rs.Preprocess((20, 24), mean=0.5, std=(0.2, 0.3, 0.4), antialias=True)(given)
    assert made.desc == rs.TensorDesc("f32", (2, 3, 20, 24))
    for image, planes in zip(given, made, strict=True):
        resized = rs.resample(image, (20, 24), axes=(0, 1), antialias=True, dtype="f32").numpy()
        right = (resized / 255 - 0.5) / np.float32([0.2, 0.3, 0.4])
        assert np.abs(planes.numpy().transpose(1, 2, 0) - right).max() < 2**-20


def test_a_batch_is_as_a_list_and_as_one_by_one():
    batch = np.stack(images((25, 33), (25, 33), (25, 33)))
    for recipe in (
        rs.Preprocess((16, 16), mode="cubic"),
        rs.Preprocess((16, 16), shorter=20, layout="NHWC", dtype="u8"),
        rs.Preprocess((16, 24), input="bgr", mode="nearest", dtype="bf16"),
    ):
        whole = recipe(batch).buffer()
        assert np.array_equal(recipe(list(batch)).buffer(), whole)
        assert np.array_equal(recipe(rs.asarray(batch)).buffer(), whole)
        assert np.array_equal(np.concatenate([recipe(image).buffer() for image in batch]), whole)


def test_letterboxed_corners_come_back():
    given = images((30, 70), (90, 41))
    for place in ("center", "top_left"):
        made, placed = rs.Preprocess((64, 64), letterbox=place, fill=(1, 2, 3), dtype="u8", layout="NHWC")(given)
        assert made.sizes == (2, 64, 64, 3)
        for index, image in enumerate(given):
            y0, x0, y1, x1 = placed.places[index]
            (found,) = placed.to_image([(y0, x0, y1, x1)], index)
            assert np.abs(found - (0, 0, *image.shape[:2])).max() < 0.5
        assert tuple(made[0].numpy()[-1, -1]) == (1, 2, 3)


def test_yuv_and_floats():
    frames = RNG.integers(0, 256, (2, 36, 32), np.uint8)
    recipe = rs.Preprocess((12, 12), input="i420", matrix="bt709", full_range=True)
    right = rs.Preprocess((12, 12))(rs.yuv_to_rgb(frames, "i420", "bt709", full_range=True))
    assert np.array_equal(recipe(frames).numpy(), right.numpy())
    assert np.array_equal(recipe(list(frames)).numpy(), right.numpy())
    x = RNG.random((9, 9, 1), np.float32)
    made = rs.Preprocess((9, 9), shorter=9, mean=0.25, std=0.5)(x)
    assert np.array_equal(made.numpy()[0, 0], (x[..., 0] - np.float32(0.25)) / np.float32(0.5))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_stream_is_as_calls(depth):
    given = images(*[(20 + n, 50 - n) for n in range(7)])
    recipe = rs.Preprocess((16, 16), depth=depth)
    taken = [made.numpy() for made in recipe.stream(iter(given), batch=2)]
    assert [len(each) for each in taken] == [2, 2, 2, 1]
    assert np.array_equal(np.concatenate(taken), recipe(given).numpy())


def test_a_stream_takes_bounded_memory(vulkan_device):
    recipe = rs.Preprocess((16, 16), depth=2, device=vulkan_device)
    given = images(*[(20, 20)] * 40)
    peaks = [vulkan_device.counters().bytes_in_use for made in recipe.stream(given) if made.numpy().any()]
    assert max(peaks[20:]) <= max(peaks[:20])
    kept = list(recipe.stream(given[:5]))
    assert all(np.array_equal(one.numpy(), recipe(image).numpy()) for one, image in zip(kept, given, strict=False))


def test_points_say_of_which_image_they_are():
    _, placed = rs.Preprocess((8, 8), letterbox="center")(images((8, 8), (8, 4), (4, 8)))
    points = np.ones((3, 3, 2))
    with pytest.raises(rs.DescriptorError, match=r"index must be an int, or one for each of \(3, 3\) points"):
        placed.points(points, [0, 1, 2])
    with pytest.raises(rs.DescriptorError, match=r"index must be in \[0, 3\), the boxes, got 3"):
        placed.points(points, 3)
    each = placed.points(points, np.arange(3)[:, np.newaxis].repeat(3, 1))
    assert all(np.array_equal(each[image], placed.points(points[image], image)) for image in range(3))


def test_halves_of_a_letterbox_go_to_even():
    """1280 x 401 at half of the size is 640 x 200.5, which Ultralytics' Python rounds to 200."""
    _, placed = rs.Preprocess((640, 640), letterbox="center", mode="nearest")(images((401, 1280)))
    assert placed.places.tolist() == [[220, 0, 420, 640]]


def test_a_stream_shows_how_far_it_is(capsys, monkeypatch):
    from restride import progress

    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    recipe = rs.Preprocess((8, 8))
    assert len(list(recipe.stream(images((9, 9), (9, 9)), progress=True))) == 2
    assert "2/2  images" in capsys.readouterr().err
    assert len(list(recipe.stream(iter(images((9, 9))), progress=True))) == 1
    assert "1  images" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sizes": (0, 3)}, r"sizes must be a height and a width of 1 or more, got \(0, 3\)"),
        ({"sizes": (3,)}, r"sizes must be a height and a width"),
        ({"shorter": 4}, r"shorter 4 must not be below either of sizes \(8, 8\)"),
        ({"shorter": 9, "letterbox": "center"}, "shorter 9 and letterbox 'center' contradict each other"),
        ({"letterbox": "middle"}, "letterbox must be one of None, 'center', 'top_left', not 'middle'"),
        ({"input": "gray"}, "input must be one of 'rgb', 'bgr', .*, not 'gray'"),
        ({"layout": "CHW"}, "layout must be one of 'NCHW', 'NHWC', not 'CHW'"),
        ({"depth": 0}, "depth must be 1 or more, got 0"),
        ({"fill": (0, 0, 9)}, r"fill \(0, 0, 9\) has no effect without letterbox"),
        ({"matrix": "bt709"}, "matrix 'bt709' and full_range False have no effect with input 'rgb'"),
        ({"input": "nv12", "matrix": "bt2020"}, "matrix must be one of 'bt601', 'bt709', not 'bt2020'"),
        ({"std": (1, 0, 1)}, r"std must be finite, and std not 0, got \(1, 0, 1\)"),
        ({"mean": 0, "dtype": "u8"}, "mean and std make floats, and dtype is u8"),
    ],
)
def test_recipes_that_cannot_be(given, message):
    with pytest.raises(rs.DescriptorError, match=message):
        rs.Preprocess(**{"sizes": (8, 8), **given})


@pytest.mark.parametrize("given", [{"mode": "linearly"}, {"like": "gimp"}, {"mode": "cubic", "like": "gimp"}])
def test_modes_that_are_unknown(given):
    with pytest.raises(rs.UnsupportedError, match="is not one of"):
        rs.Preprocess((8, 8), **given)


def test_images_that_cannot_be():
    recipe = rs.Preprocess((8, 8))
    (image,) = images((9, 9))
    with pytest.raises(rs.DescriptorError, match="images must have one, got none"):
        recipe([])
    with pytest.raises(rs.DescriptorError, match=r"rows, columns and channels, not u8\[9,9\]"):
        recipe(image[..., 0].copy())
    with pytest.raises(rs.DescriptorError, match=r"rows, columns and channels, not u8\[1,9,9,3\]"):
        recipe([image[None]])
    with pytest.raises(rs.DescriptorError, match=r"rows, columns and channels, not u8\[0,9,3\]"):
        recipe([image[:0]])
    with pytest.raises(rs.DescriptorError, match=r"must have 3 channels, its last axis, as mean says: u8\[3,9,9\]"):
        rs.Preprocess((8, 8), mean=(1, 2, 3))(image.transpose(2, 0, 1).copy())
    with pytest.raises(rs.DescriptorError, match=r"must have 3 channels, its last axis, as input 'bgr' says"):
        rs.Preprocess((8, 8), input="bgr")(np.zeros((9, 9, 4), np.uint8))
    with pytest.raises(rs.DescriptorError, match=r"out must be a tensor f32\[1,3,8,8\].*, got f32\[1,3,8,9\]"):
        recipe(image, out=rs.empty("f32[1,3,8,9]"))
    with pytest.raises(rs.DescriptorError, match="batch must be 1 or more, got 0"):
        recipe.stream([image], batch=0)
    with pytest.raises(rs.DescriptorError, match="preset must be one of 'imagenet', 'clip', 'yolo', not 'vgg'"):
        rs.Preprocess.preset("vgg")
