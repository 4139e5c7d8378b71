"""Preprocess: docs/preprocess.md runs on photographs beside what it replaces; recipes, streams, what they refuse."""

from __future__ import annotations

import inspect
import re
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge
from support.process import captured

import restride as rs
from restride.cli import main
from restride.cli.demo import shipped
from restride.ops import letterbox
from restride.ops.preprocess import DEFAULTS, PRESETS, PreprocessOptions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "preprocess.md").read_text(encoding="utf-8")
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
    ("title", "library", "bound"),
    [
        ("ImageNet, from Pillow and numpy", ("PIL", "13"), 2.0**-20),
        ("YOLO, from OpenCV and numpy", ("cv2", "5"), 2.0**-20),
        ("Boxes for a classifier, from torch", ("torch",), 2.0**-11),
    ],
)
@pytest.mark.parametrize("name", ["coffee.png", "chelsea.png"])
def test_after_is_as_before(title, library, bound, name):
    """Two roundings more on either side, of numbers up to 2.7: 8 units of 2^-23.

    torch reads at places below 256 that it computes in f32, two roundings of 2^-17 each, along both axes, where
    neighbours differ by 1 / 0.224 at most: 4 * 2^-17 * 4.5 is 2^-13 and a little, and 2^-11 has room for its sums.
    """
    judge(*library)
    judge("skimage")
    made = blocks(title)
    picture = pytest.importorskip("PIL.Image").open(shipped(name)[name])
    photo = np.array(picture.convert("RGB"))  # an own array, because torch wants to be able to write
    expected, result = made["before"](photo), made["after"](photo)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert np.abs(result - expected).max() <= bound


RAY = """
import os
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import numpy as np
import ray
import restride as rs

ray.init(num_cpus=1, include_dashboard=False, logging_level="error", log_to_driver=False)
photos = np.random.default_rng(0).integers(0, 256, (8, 60, 80, 3)).astype(np.uint8)
{recipe}
planes = np.stack([row["planes"] for row in prepared.take_all()])
expected = rs.Preprocess.preset("imagenet")(photos).numpy()
assert planes.dtype == expected.dtype and planes.shape == expected.shape
assert sorted(plane.tobytes() for plane in planes) == sorted(plane.tobytes() for plane in expected)
"""


def test_ray_data_gives_the_bits_of_one_call():
    """The recipe of the page, in a process of its own; Ray promises no order."""
    judge("ray")
    recipe = re.search(r"```\n(import ray\n.*?)```", PAGE, re.DOTALL)[1]
    command = [sys.executable, "-c", RAY.format(recipe=recipe)]
    done = captured(command, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_session_takes_the_batch():
    for module in ("onnx", "onnxruntime"):
        judge(module)
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


@pytest.mark.parametrize(
    "given",
    [
        {"letterbox": "center", "fill": (10, 20, 30), "mean": (0.1, 0.2, 0.3), "std": (0.25, 0.5, 1)},
        {"shorter": 20, "mean": (0.1, 0.2, 0.3), "layout": "NHWC"},
        {"dtype": "u8", "std": None},
    ],
)
@pytest.mark.parametrize("like", [None, "opencv", "pillow"])
def test_bgr_is_rgb_turned_round(given, like):
    batch = np.stack(images((25, 33), (25, 33)))
    as_rgb, as_bgr = (rs.Preprocess((16, 20), like=like, input=order, **given) for order in ("rgb", "bgr"))
    for x in (batch, list(batch)):
        right, made = (
            as_rgb(batch),
            as_bgr(batch[..., ::-1] if isinstance(x, np.ndarray) else [y[..., ::-1] for y in x]),
        )
        pair = [each[0] if isinstance(each, tuple) else each for each in (right, made)]
        assert np.array_equal(pair[0].numpy(), pair[1].numpy())


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


def test_a_stream_takes_bounded_memory():
    """Once the device is idle there are ``depth`` results and nothing else, however many there were before."""
    depth = 3
    given = images(*[(20, 20)] * 200)
    with rs.Device(runtime="vulkan") as device:
        recipe = rs.Preprocess((16, 16), depth=depth, device=device)
        made = recipe(given[0])
        each = made.desc.nbytes
        assert each % 16 == 0, "so that memories are no larger"
        del made
        counted = []
        for made in recipe.stream(given):
            device.wait()
            counted.append(device.counters())
            assert made.sizes == (1, 3, 16, 16)
        # The one that is taken, and those started behind it; one fewer each at the end.
        tail = list(range(depth - 1, 0, -1))
        assert [now.bytes_in_use // each for now in counted] == [depth] * (len(given) - len(tail)) + tail
        assert {now.bytes_in_use % each for now in counted} == {0}
        assert counted[-1].bytes_allocated == counted[2 * depth].bytes_allocated
        assert counted[-1].pipelines == counted[0].pipelines


def test_items_of_a_stream_may_be_batches():
    batch = np.stack(images((25, 33), (25, 33)))
    (single,) = images((20, 20))
    recipe = rs.Preprocess((16, 16), letterbox="center")
    made = list(recipe.stream([batch, single, batch[:1]]))
    assert [tensor.sizes[0] for tensor, _ in made] == [2, 1, 1]
    assert np.array_equal(made[0][0].numpy(), recipe(list(batch))[0].numpy())
    assert np.array_equal(made[1][0].numpy(), recipe(single)[0].numpy())
    frames = RNG.integers(0, 256, (3, 36, 32), np.uint8)
    (planes,) = rs.Preprocess((8, 8), input="nv12").stream([frames])
    assert planes.sizes == (3, 3, 8, 8)
    with pytest.raises(
        rs.DescriptorError, match=r"image 0 of the stream: .* channels, not u8\[2,25,33,3\].*with batch=1"
    ):
        list(recipe.stream([batch], batch=2))


def ultralytics(rows, columns, sizes):
    """Where LetterBox of Ultralytics puts an image, y0, x0, y1, x1: its lines, with its variables."""
    r = min(sizes[0] / rows, sizes[1] / columns)
    new_unpad = round(columns * r), round(rows * r)
    dw, dh = (sizes[1] - new_unpad[0]) / 2, (sizes[0] - new_unpad[1]) / 2
    top, left = round(dh - 0.1), round(dw - 0.1)
    return [top, left, top + new_unpad[1], left + new_unpad[0]]


def test_places_of_the_preset_are_those_of_ultralytics():
    """Its factor is an f64: 57 rows by 416 / 192, a little below 13/6, are 123.49999999999999 of 416."""
    recipe = rs.Preprocess.preset("yolo", sizes=(416, 416))
    _, placed = recipe(np.zeros((57, 192, 3), np.uint8))
    assert placed.places.tolist() == [[146, 0, 269, 416]]
    for sizes in ((416, 416), (384, 640), (37, 91)):
        shapes = RNG.integers(1, 2000, (400, 2)).tolist() + [(row, 192) for row in range(1, 192)]
        recipe = rs.Preprocess.preset("yolo", sizes=sizes)
        for rows, columns in shapes:
            right = ultralytics(rows, columns, sizes)
            if right[0] < right[2] and right[1] < right[3]:
                assert letterbox.placed((rows, columns), sizes, "center") == tuple(right), (rows, columns, sizes)
        _, placed = recipe(images(*[tuple(shape) for shape in shapes[:3]]))
        assert placed.places.tolist() == [ultralytics(*shape, sizes) for shape in shapes[:3]]


@pytest.mark.parametrize(
    ("rounding", "rounded"), [("nearest", round), ("floor", int), ("half_up", lambda size: int(size + 0.5))]
)
def test_placed_sizes_are_rounded_as_asked(rounding, rounded):
    """401 by a half is 200.5, 403 is 201.5; SAM and mmdetection take int(x + 0.5), YOLOX int(x)."""
    for shape in ((401, 1280), (403, 1280), (1280, 403), (57, 192), (49, 7), (1, 999)):
        scale = min(640 / shape[0], 640 / shape[1])
        right = [max(rounded(extent * scale), 1) for extent in shape]
        _, placed = rs.Preprocess((640, 640), letterbox="top_left", rounding=rounding, mode="nearest")(images(shape))
        assert placed.places.tolist() == [[0, 0, *right]], shape
    cut = rs.Letterboxed.of([(0, 0, 401, 1280)], (640, 640), "top_left")
    assert cut.places.tolist() == [[0, 0, 200, 640]]


@pytest.mark.parametrize(
    ("changes", "corner"),
    [
        ({}, lambda whole: round((whole - 224) / 2)),  # torchvision: CenterCrop
        ({"rounding": "floor"}, lambda whole: (whole - 224) // 2),  # transformers: center_crop
    ],
)
def test_the_middle_begins_where_each_library_says(changes, corner):
    """Of 227 columns 3 are cut away: 1.5 rounds to 2, and down to 1; of 225 0.5 rounds to 0."""
    judge("PIL", "13")
    pil = pytest.importorskip("PIL.Image")
    recipe = rs.Preprocess.preset("clip", mean=None, std=None, dtype="u8", layout="NHWC", **changes)
    for rows, columns in ((224, 225), (224, 227), (229, 224), (300, 305), (448, 455), (449, 224)):
        (photo,) = images((rows, columns))
        short = min(rows, columns)
        sizes = [int(224 * extent / short) for extent in (columns, rows)]
        resized = np.asarray(pil.fromarray(photo).resize(sizes, pil.Resampling.BICUBIC))
        top, left = (corner(whole) for whole in resized.shape[:2])
        assert np.array_equal(recipe(photo).numpy()[0], resized[top : top + 224, left : left + 224]), (rows, columns)


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
        ({"fill": "red", "letterbox": "center"}, "fill must be a number, or one for each channel, got 'red'"),
        ({"fill": [[1]], "letterbox": "center"}, r"fill must be a number, or one for each channel, got \[\[1\]\]"),
        ({"shorter": 4}, r"shorter 4 must not be below either of sizes \(8, 8\)"),
        ({"shorter": 9, "letterbox": "center"}, "shorter 9 and letterbox 'center' contradict each other"),
        ({"depth": 0}, "depth must be 1 or more, got 0"),
        ({"rounding": "floor"}, "rounding 'floor' has no effect without letterbox and shorter"),
        ({"fill": (0, 0, 9)}, r"fill \(0, 0, 9\) has no effect without letterbox"),
        ({"matrix": "bt709"}, "matrix 'bt709' and full_range False have no effect with input 'rgb'"),
        ({"std": (1, 0, 1)}, r"std must be finite, and std not 0, got \(1, 0, 1\)"),
        ({"mean": 0, "dtype": "u8"}, "mean and std make floats: dtype must be a float, got u8"),
        ({"mean": "half"}, "mean must be a number, or one for each channel, got 'half'"),
        ({"std": np.ones((3, 1))}, r"std must be a number, or one for each channel, got array"),
        ({"input": np.array(["rgb"])}, r"input must be one of 'rgb', .*, not array\("),
        ({"input": "nv12", "full_range": np.ones(2)}, r"full_range must be one of False, True, not array\("),
    ],
)
def test_recipes_that_cannot_be(given, message):
    with pytest.raises(rs.DescriptorError, match=message):
        rs.Preprocess(**{"sizes": (8, 8), **given})


@pytest.mark.parametrize("given", [{"mode": "linearly"}, {"like": "gimp"}, {"mode": "cubic", "like": "gimp"}])
def test_modes_that_are_unknown(given):
    with pytest.raises(rs.DescriptorError, match="is not one of"):
        rs.Preprocess((8, 8), **given)


def test_a_recipe_says_what_it_is():
    assert repr(rs.Preprocess((8, 9))) == "Preprocess((8, 9))"
    said = "Preprocess((640, 640), letterbox='center', fill=114, mode='linear', like='opencv', mean=(0.0, 0.0, 0.0), "
    assert repr(rs.Preprocess.preset("yolo", dtype=np.float16)) == said + "std=(1.0, 1.0, 1.0), dtype='f16')"
    assert repr(rs.Preprocess((8, 9), dtype=np.float32)) == "Preprocess((8, 9))"
    mean = [0.5, 0.25, 0.125]
    recipe = rs.Preprocess((np.int64(8), 9), mean=mean, shorter=9, device=None, depth=2)
    assert repr(recipe) == "Preprocess((8, 9), shorter=9, mean=[0.5, 0.25, 0.125])"
    image = RNG.random((9, 9, 3), np.float32)
    before = recipe(image).numpy()
    mean[0] = 1000
    assert np.array_equal(recipe(image).numpy(), before), "a recipe keeps its own numbers"
    again = eval(repr(recipe), {"Preprocess": rs.Preprocess})
    assert np.array_equal(again(image).numpy(), before)


def test_options_are_the_arguments():
    known = inspect.signature(rs.Preprocess.__init__).parameters
    assert set(PreprocessOptions.__annotations__) == set(DEFAULTS) == set(known) - {"self", "sizes", "letterbox"}
    assert all(set(preset) <= set(known) for preset in PRESETS.values())


@pytest.mark.parametrize("dtype", ["u8", "u16", "f16", "bf16", "f32", "f8e5m2"])
def test_types_that_are_normalized(dtype):
    """A product and a sum, or a difference and a division, rounded to f32 each: 4 units of 2^-24 of up to 4."""
    element = rs.TensorDesc(dtype, (1,)).dtype.dtype
    unit = np.iinfo(element).max if dtype[0] == "u" else 1
    x = (RNG.random((9, 9, 3)) * unit).astype(element)
    for recipe in (rs.Preprocess((9, 9), mean=0.5, std=0.25), rs.Preprocess((9, 9), shorter=9, mean=0.5, std=0.25)):
        right = (x.astype(np.float64) / unit - 0.5) / 0.25
        assert np.abs(recipe(x).numpy()[0].transpose(1, 2, 0) - right).max() < 2**-20


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint32, np.int64, np.bool_])
def test_types_that_are_not_normalized(dtype):
    x = np.ones((9, 9, 3), dtype)
    for recipe in (rs.Preprocess((8, 8), mean=0.5), rs.Preprocess((8, 8), shorter=8, std=2, mode="nearest")):
        its = rs.TensorDesc(dtype, (9, 9, 3))
        said = f"mean and std go with images of floats, as they are, and of u8 and u16, as if in [0, 1], not of {its}"
        with pytest.raises(rs.DescriptorError, match=re.escape(said.replace(str(its), f"{its.dtype}: {its}"))):
            recipe(x)
    made = rs.Preprocess((8, 8), mode="nearest", dtype="f32")(x)
    assert np.array_equal(made.numpy(), np.ones((1, 3, 8, 8)))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((9, 9), "one without channels is given as np.stack([image] * 3, axis=-1)"),
        ((9, 9, 4), "u8[9,9,4]{2,1,0}; image[..., :3] leaves out the last one, such as alpha"),
        ((9, 9, 1), "u8[9,9,1]{2,1,0}; image[..., [0, 0, 0]] makes as many of gray"),
        ((3, 9, 9), "u8[3,9,9]{2,1,0}; channels that stand first go last by np.moveaxis(image, -3, -1), of torch im"),
        ((2, 3, 9, 9), "u8[2,3,9,9]{3,2,1,0}; channels that stand first go last by np.moveaxis(image, -3, -1), of"),
    ],
)
@pytest.mark.parametrize("preset", ["imagenet", "clip", "yolo"])
def test_messages_say_what_to_do(shape, message, preset):
    recipe = rs.Preprocess.preset(preset, sizes=(64, 64))
    image = np.zeros(shape, np.uint8)
    with pytest.raises(rs.DescriptorError, match=re.escape(message)) as raised:
        recipe(image)
    assert str(raised.value)[-1] not in ",;:"
    remedy = re.search(r"\w+\.?\w*[\[(].*[\])]", message.split("; ")[-1].split(", of")[0])
    mended = eval(remedy[0], {"np": np, "image": image})
    made = recipe(mended)
    assert (made[0] if preset == "yolo" else made).sizes[1:] == (3, 64, 64)


def test_images_that_cannot_be():
    recipe = rs.Preprocess((8, 8))
    (image,) = images((9, 9))
    with pytest.raises(rs.DescriptorError, match="images must have at least one image, got none"):
        recipe([])
    with pytest.raises(rs.DescriptorError, match=r"rows, columns and channels, not u8\[9,9\]"):
        recipe(image[..., 0].copy())
    with pytest.raises(rs.DescriptorError, match=r"images\[1\]: .* rows, columns and channels, not u8\[1,9,9,3\]"):
        recipe([image, image[None]])
    with pytest.raises(rs.DescriptorError, match=r"not this generator: stream\(images\) takes what is iterated"):
        recipe(each for each in [image])
    for several in (recipe, rs.Preprocess((8, 8), shorter=9)):
        with pytest.raises(rs.DescriptorError, match=r"images\[1\] u8\[9,9,4\].* of images\[0\] u8\[9,9,3\]"):
            several([image, np.zeros((9, 9, 4), np.uint8)])
    with pytest.raises(rs.DescriptorError, match="images must be an iterable of images, not this int"):
        recipe.stream(3)
    for first in (image.transpose(2, 0, 1), np.stack([image] * 5).transpose(0, 3, 1, 2)):
        with pytest.raises(rs.DescriptorError, match=r"seem to stand first: np\.moveaxis\(image, -3, -1\), of torch"):
            recipe(first)
        assert recipe(np.moveaxis(first, -3, -1)).sizes[1:] == (3, 8, 8)
    assert recipe(np.zeros((5, 9, 9), np.uint8)).sizes == (1, 9, 8, 8)
    with pytest.raises(rs.DescriptorError, match=r"rows, columns and channels, not u8\[0,9,3\]"):
        recipe([image[:0]])
    with pytest.raises(rs.DescriptorError, match=r"must have 3 channels, its last axis, as mean says: u8\[3,9,9\]"):
        rs.Preprocess((8, 8), mean=(1, 2, 3))(image.transpose(2, 0, 1).copy())
    with pytest.raises(rs.DescriptorError, match=r"must have 3 channels, its last axis, as input 'bgr' says"):
        rs.Preprocess((8, 8), input="bgr")(np.zeros((9, 9, 4), np.uint8))
    with pytest.raises(rs.DescriptorError, match=r"out must be a tensor f32\[1,3,8,8\].*, got f32\[1,3,8,9\]"):
        recipe(image, out=rs.empty("f32[1,3,8,9]"))
    with pytest.raises(rs.DescriptorError, match=r"got ndarray; rs\.empty\('f32\[1,3,8,8\]\{3,2,1,0\}'\) makes one"):
        recipe(image, out=np.zeros((1, 3, 8, 8), np.float32))
    with pytest.raises(rs.DescriptorError, match="batch must be 1 or more, got 0"):
        recipe.stream([image], batch=0)
    with pytest.raises(rs.DescriptorError, match="preset must be one of 'imagenet', 'clip', 'yolo', not 'vgg'"):
        rs.Preprocess.preset("vgg")


PILLOW = "an image of Pillow must have mode 'RGB' and no alpha, not "


@pytest.mark.parametrize(
    ("recipe", "image", "message"),
    [
        (
            {"mean": 127.5, "std": 0.5},
            np.uint8,
            "mean must be within -1 and 1, because elements of u8 are divided by 255 first, ",
        ),
        ({"mean": (0.1, 0.1, -1.01)}, np.uint16, "divided by 65535 first, got -1.01: in the unit of elements it "),
        (
            {"mean": 0, "std": 255},
            np.uint8,
            "std must be within -1 and 1, because elements of u8 are divided by 255 first",
        ),
        (
            {"shorter": 9, "std": 255},
            np.uint8,
            "got 255: in the unit of elements it is mean / 255 and std / 255, for u8[",
        ),
        (
            "clip",
            np.int64,
            "not of s64: s64[9,9,3]{2,1,0}; image.astype('uint8') where elements are 0 to 255, else",
        ),
        (
            {},
            np.int64,
            "images of s64 are resized by mode 'nearest' alone: s64[9,9,3]{2,1,0}; image.astype('uint8') w",
        ),
        (
            {"like": "pillow"},
            np.float64,
            "images of f64 are resized by mode 'nearest' alone: f64[9,9,3]{2,1,0}; im",
        ),
        ("imagenet", np.float64, "f64[9,9,3]{2,1,0}; image.astype('float32')"),
        ("imagenet", "rocket.jpg", "cannot read rocket.jpg: No such file or directory"),
        (
            {"input": "bgr"},
            "rocket.jpg",
            "not an array: rs.imread(path) reads an image file, upright, and rs.imread(path, mode='rgb') as RGB",
        ),
        ({"input": "nv12"}, Path("rocket.jpg"), "array is the text rocket.jpg, not an array"),
        ({"input": "bgr"}, f"{'folder/' * 100}rocket.jpg", "folder/rocket.jpg, not an array"),
        ("imagenet", b"GIF89a", "cannot read 6 bytes: "),
        ({"input": "nv12"}, bytes(96), "array is 96 bytes, not an array: np.frombuffer(raw, np.uint8).reshape(rows, c"),
        (
            {"input": "nv12"},
            (np.zeros((8, 8), np.uint8),) * 2,
            "the parts of a frame of format 'nv12' must be u8, lu",
        ),
        ({"input": "nv12"}, (), "the parts of a frame of format 'nv12' must be u8"),
    ],
)
def test_images_that_a_recipe_is_not_for(recipe, image, message):
    made = rs.Preprocess.preset(recipe) if isinstance(recipe, str) else rs.Preprocess((8, 8), **recipe)
    x = np.ones((9, 9, 3), image) if isinstance(image, type) else image
    with pytest.raises(rs.DescriptorError, match=re.escape(message)):
        made(x)
    with pytest.raises(rs.DescriptorError, match="^image 0 of the stream: .*" + re.escape(message)):
        next(made.stream([x]))


@pytest.mark.parametrize(
    ("changes", "dtype", "fill"),
    [
        ({"fill": 114 / 255}, np.float32, 114 / 255),
        ({"fill": 114 * 257}, np.uint16, 114 / 255),
        ({}, np.float32, 114 / 255),
        ({}, np.uint16, 114 / 255),
        ({"mean": None, "std": None}, np.float32, 114 / 255),
        ({"mean": None, "std": None}, np.uint16, 114 * 257),
    ],
)
def test_a_preset_takes_other_types_with_their_fill(changes, dtype, fill):
    made, _ = rs.Preprocess.preset("yolo", sizes=(16, 16), **changes)(np.zeros((8, 16, 3), dtype))
    assert np.abs(made.numpy()[0, :, 0] - fill).max() < 2**-20


def test_a_preset_fills_images_of_8_and_16_bits_alike():
    x = RNG.integers(0, 256, (8, 16, 3), np.uint8)
    recipe = rs.Preprocess.preset("yolo", sizes=(16, 16))
    both, _ = recipe([x, x.astype(np.uint16) * 257])
    assert np.abs(both.numpy()[1] - recipe(x)[0].numpy()).max() < 2**-8
    assert np.abs(both.numpy()[:, :, 0] - 114 / 255).max() < 2**-20
    with pytest.raises(rs.DescriptorError, match="the preset's fill 114 fits u8, u16 and floats of 0 to 1"):
        rs.Preprocess.preset("yolo", mean=None, std=None)(x.astype(np.int16))


def test_64_bits_are_copied_by_nearest():
    x = RNG.random((9, 9, 3))
    made = rs.Preprocess((9, 9), mode="nearest", layout="NHWC", dtype="f64")(x)
    assert np.array_equal(made.numpy()[0], x)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr"])
def test_images_of_pillow_are_rgb(mode):
    image = judge("PIL.Image")
    (pixels,) = images((9, 9))
    recipe = rs.Preprocess((8, 8))
    right = recipe(pixels).numpy()
    photo = image.fromarray(pixels)
    assert np.array_equal(recipe(photo).numpy(), right)
    other = photo.convert(mode)
    with pytest.raises(rs.DescriptorError, match=re.escape(f"{PILLOW}{mode!r}: rs.to_rgb(image) makes it so")):
        recipe(other)
    assert np.array_equal(recipe(rs.to_rgb(other)).numpy(), recipe(np.asarray(other.convert("RGB"))).numpy())


def test_images_of_16_bits_keep_them():
    """As the error about them says; Pillow's convert("RGB") makes 255 of all that is above it."""
    image = judge("PIL.Image").fromarray(RNG.integers(0, 1 << 16, (9, 9), np.uint16))
    with pytest.raises(rs.DescriptorError, match=re.escape(f"{PILLOW}'I;16': rs.to_rgb(image) makes it so and keeps")):
        rs.Preprocess.preset("imagenet")(image)
    pixels = np.asarray(image, np.float32) / 65535
    right = rs.Preprocess((9, 9), mean=0.5, std=0.25, mode="nearest", layout="NHWC")(rs.to_rgb(image)).numpy()
    assert np.abs(right[0] - ((pixels - 0.5) / 0.25)[..., None]).max() < 2**-20


def test_images_of_8_and_16_bits_share_a_batch(tmp_path, vulkan_device):
    """A folder of files of any kind, and the command's bits of it; each type in its own range."""
    image = judge("PIL.Image")
    (pixels,) = images((37, 52))
    gray = RNG.integers(0, 1 << 16, (30, 41), np.uint16)
    alpha = RNG.integers(0, 256, (30, 41, 2), np.uint8)
    kept = {
        "rgb": pixels,
        "gray16": gray,
        "gray16alpha": np.dstack([gray, gray]),
        "alpha": alpha,
        "gray": pixels[..., 0],
    }
    for name, array in kept.items():
        rs.imwrite(tmp_path / f"{name}.png", array)
    image.fromarray(pixels).quantize(16).save(tmp_path / "palette.png")
    image.fromarray(pixels).convert("1").save(tmp_path / "one bit.png")
    image.fromarray(pixels).convert("CMYK").save(tmp_path / "cmyk.jpg", exif=b"Exif\0\0" + _exif_of(image, 6))
    paths = sorted(tmp_path.iterdir())
    recipe = rs.Preprocess.preset("imagenet", device=vulkan_device)
    batch = recipe([rs.imread(path, mode="rgb") for path in paths]).numpy()
    out = tmp_path / "batch.npy"
    assert main(["preprocess", "--preset", "imagenet", *map(str, paths), "-o", str(out), "--device", "0"]) == 0
    assert np.array_equal(np.load(out), batch)
    for path, planes in zip(paths, batch, strict=True):
        assert np.array_equal(recipe(rs.imread(path, mode="rgb")).numpy()[0], planes)
    with pytest.raises(rs.DescriptorError, match=r"images\[1\] u16.* must have the type"):
        rs.Preprocess((8, 8))([pixels, rs.to_rgb(gray)])  # without mean and std each is in its own unit
    with pytest.raises(rs.DescriptorError, match=r"images\[1\] u16.* must have the type"):
        rs.Preprocess((8, 8), letterbox="center", fill=9, mean=0)([pixels, rs.to_rgb(gray)])


def _exif_of(image, turn):
    exif = image.Exif()
    exif[0x0112] = turn
    return exif.tobytes().removeprefix(b"Exif\0\0")


@pytest.mark.parametrize("batch", [1, 2])
def test_an_image_of_pillow_that_is_cut_is_named(batch):
    image = judge("PIL.Image")
    (pixels,) = images((64, 64))
    file = BytesIO()
    image.fromarray(pixels).save(file, "JPEG")
    cut = image.open(BytesIO(file.getvalue()[:900]))
    recipe = rs.Preprocess((8, 8))
    with pytest.raises(rs.DescriptorError, match=r"^images\[1\]: Pillow cannot decode the image: image file is trunc"):
        recipe([pixels, cut])
    with pytest.raises(rs.DescriptorError, match=r"^image 1 of the stream: Pillow cannot decode the image: image file"):
        list(recipe.stream([pixels, image.open(BytesIO(file.getvalue()[:900]))], batch=batch))


def test_a_frame_may_come_in_parts():
    frame = RNG.integers(0, 256, (36, 32), np.uint8)
    luma, chroma = frame[:24], frame[24:].reshape(12, 16, 2)
    recipe = rs.Preprocess((12, 12), input="nv12")
    right = recipe(frame).numpy()
    assert np.array_equal(recipe((luma, chroma)).numpy(), right)
    assert np.array_equal(recipe([(luma, rs.asarray(chroma)), frame]).numpy(), np.concatenate([right, right]))
    (made,) = recipe.stream([(luma, chroma)])
    assert np.array_equal(made.numpy(), right)


def test_images_of_two_devices_are_told():
    (image,) = images((9, 9))
    with rs.Device(runtime="vulkan") as other:
        message = r"images\[1\] u8\[9,9,3\].* lies on .*, and images\[0\] .*: Preprocess\(device=...\) says where"
        with pytest.raises(rs.DescriptorError, match=message):
            rs.Preprocess((8, 8))([rs.asarray(image, device=other), image])
        assert rs.Preprocess((8, 8), device=other)([rs.asarray(image, device=other), image]).sizes == (2, 3, 8, 8)


WHITE = (RNG.random((3, 30, 40, 3)) * 255).astype(np.float32)


class Holder:
    """An image of a library that has only ``__array__``."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize(
    "call",
    [
        rs.Preprocess.preset("imagenet"),
        lambda x: rs.Preprocess.preset("clip")([x[0], x[1]]),
        rs.Preprocess.preset("yolo", fill=0.5),
        lambda x: next(rs.Preprocess((8, 8), mean=0.5, std=0.25).stream([x[0]])),
        lambda x: rs.normalize(x, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        lambda x: rs.crop_resize([x[0], x[1]], [(0, 0, 9, 9)] * 2, (4, 4), axes=(0, 1), mean=0.5, std=0.5),
    ],
    ids=["imagenet", "list", "yolo", "stream", "normalize", "crop_resize"],
)
def test_floats_in_another_unit_than_mean_and_std_are_warned_of(call):
    with pytest.warns(UserWarning, match="floats are far above mean and std, .* divide the elements by 255") as warned:
        call(WHITE)
    assert warned[0].filename == __file__
    torch = judge("torch")
    with pytest.warns(UserWarning, match="far above mean and std"):
        call(torch.from_numpy(WHITE))
    for right in (WHITE / 255, 1.1 * WHITE / 255 - 0.05, rs.asarray(WHITE), np.zeros_like(WHITE)):
        call(right)  # a warning would be an error; a tensor is not read back


@pytest.mark.parametrize(
    "call",
    [
        lambda x: rs.normalize(list(x), 0.5, 0.25),
        lambda x: rs.normalize(Holder(x), 0.5, 0.25),
        lambda x: rs.crop_resize([Holder(x[0])], [(0, 0, 9, 9)], (4, 4), axes=(0, 1), mean=0.5, std=0.25),
        lambda x: rs.Preprocess((8, 8), mean=0.5, std=0.25)([Holder(x[0])]),
    ],
    ids=["list", "normalize", "crop_resize", "Preprocess"],
)
def test_floats_that_numpy_has_to_convert_are_warned_of_too(call):
    with pytest.warns(UserWarning, match="floats are far above mean and std"):
        call(WHITE)


def test_floats_in_the_unit_of_mean_and_std_are_not_warned_of():
    rs.Preprocess.preset("imagenet", mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375))(WHITE)
    rs.normalize(WHITE, 120, 60)
    rs.normalize(RNG.standard_normal((100, 5)).astype(np.float32) * 30 + 7, 7, 30)
    rs.Preprocess((8, 8))(WHITE)


def test_white_is_a_bit_above_255_in_f32():
    """As docs/preprocess.md says: the weights of a row are f32 and sum to about 1."""
    highest = max(
        rs.Preprocess((side, side))(np.full((480, 640, 3), 255, np.uint8)).numpy().max() for side in (224, 99)
    )
    assert 255 <= highest <= 255.00004


@pytest.mark.parametrize("named", [{}, {"shorter": 10, "mean": 0.5, "std": 0.25}, {"letterbox": "center", "fill": 0.5}])
def test_f64_is_interpolated_in_f32_if_the_recipe_says_so(named):
    """The judge is numpy's cast: the elements that f32 has."""
    wide = np.random.default_rng(10).random((12, 15, 3))
    right, result = (
        rs.Preprocess((8, 8), **named)(wide.astype(np.float32)),
        rs.Preprocess((8, 8), dtype="f32", **named)(wide),
    )
    if "letterbox" in named:
        (right, _), (result, _) = right, result
    assert result.numpy().tobytes() == right.numpy().tobytes()
    with pytest.raises(rs.DescriptorError, match="or a recipe with dtype='f32'"):
        rs.Preprocess((8, 8), dtype="f16", **named)(wide)
