"""``restride crop``, ``yuv`` and ``preprocess``: options reach the operations, their checks, and what is refused."""

import json
import shlex
import threading
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import operations, preprocess
from restride.command.files import about_raw_elements, read_array, write_array

RNG = np.random.default_rng(13)
X = RNG.normal(size=(3, 12, 18)).astype(np.float32)
PIXELS = RNG.integers(0, 256, (20, 30, 3), np.uint8)
FRAMES = RNG.integers(0, 256, (2, 12, 10), np.uint8)
BOXES = np.array([(1, 2, 9, 12), (-3, 4, 6, 20)])

pytestmark = pytest.mark.usefixtures("vulkan_device")


@pytest.fixture(autouse=True)
def _files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "boxes.npy", BOXES)
    np.save(tmp_path / "frames.npy", FRAMES)
    FRAMES.tofile(tmp_path / "frames.bin")


@pytest.fixture
def photo(tmp_path):
    """photo.png."""
    pytest.importorskip("PIL.Image")
    write_array(tmp_path / "photo.png", PIXELS)
    return "photo.png"


@pytest.mark.parametrize(
    ("options", "boxes", "arguments"),
    [
        ("", [(0, 0, 12, 18)], {}),
        ("--box 1,2,9,12 --box -3,4,6,20", BOXES, {}),
        ("--boxes boxes.npy --mean 1 --to bf16", BOXES, {"mean": 1, "dtype": "bf16"}),
        ("--boxes boxes.npy --flip vertical none", BOXES, {"flip": ["vertical", "none"]}),
        ("--boxes boxes.npy --flip both --fill 1 2 3", BOXES, {"flip": "both", "fill": [1, 2, 3]}),
        ("--box 1.5,2,9,12 --box 1,2,3,4.0", [(1.5, 2, 9, 12), (1, 2, 3, 4)], {}),
        ("--units normalized", [(0, 0, 1, 1)], {"units": "normalized"}),
        ("--box 0,1,2,6 --axes 0 2", [(0, 1, 2, 6)], {"axes": (0, 2)}),
        ("--boxes boxes.npy --like pillow --mode BICUBIC", BOXES, {"like": "pillow", "mode": "bicubic"}),
        ("--boxes boxes.npy --mean 1 2 3 --std 0.5", BOXES, {"mean": (1, 2, 3), "std": 0.5}),
        ("--boxes boxes.npy --layout NCHW->CHWN --mean 1 2 3", BOXES, {"layout": "NCHW->CHWN", "mean": (1, 2, 3)}),
    ],
)
def test_options_of_crop_reach_it(options, boxes, arguments, tmp_path, restride):
    code, out, err = restride("crop x.npy y.npy --sizes 5 7 --check", *options.split())
    expected = rs.crop_resize(X, boxes, (5, 7), **{"axes": (1, 2), **arguments})
    assert (code, err) == (0, [f"restride: {note}" for note in about_raw_elements(Path("y.npy"), expected.dtype)]), out
    assert "OK" in out
    assert f"y.npy: {rs.TensorDesc(expected.dtype, expected.sizes)} from" in out
    assert read_array(tmp_path / "y.npy", expected.dtype.name).array.tobytes() == expected.numpy().tobytes()


@pytest.mark.usefixtures("photo")
def test_a_photograph_is_cropped_to_a_photograph(tmp_path, restride):
    code, out, err = restride("crop photo.png face.png --box 2,3,12,20 --sizes 8 9 --check")
    assert (code, err) == (0, []), out
    right = rs.crop_resize(PIXELS, BOXES[:1] * 0 + (2, 3, 12, 20), (8, 9), axes=(0, 1)).numpy()[0]
    assert np.array_equal(read_array(tmp_path / "face.png").array, right)
    letterbox = "--sizes 16 16 --letterbox center --fill 114 --like pillow --mode bicubic --check"
    code, out, err = restride(f"crop photo.png fits.png {letterbox}")
    assert (code, err) == (0, ["restride: box 0 is in rows 2 to 13 and columns 0 to 16 of its result"]), out
    code, _, err = restride("crop photo.png faces.png --boxes boxes.npy --sizes 8 9")
    assert (code, err) == (2, ["restride: an image holds one box, not 2: give faces.npy as the output"])
    normal = "--mean 0.485 0.456 0.406 --std 0.229 0.224 0.225 --layout NHWC->NCHW --check"
    code, out, err = restride(f"crop photo.png faces.npy --boxes boxes.npy --sizes 8 9 {normal}")
    assert (code, err) == (0, []), out
    assert "faces.npy: f32[2,3,8,9]" in out


def test_channels_last_in_a_npy_file_are_said(restride):
    np.save("pixels.npy", PIXELS)
    code, _, err = restride("crop pixels.npy y.npy --sizes 4 4")
    assert (code, len(err)) == (2, 1)
    assert (
        "the last axes of x u8[20,30,3]{2,1,0} look like columns and channels: say --axes 0 1, or --axes 1 2 if"
        in err[0]
    )
    assert restride("crop pixels.npy y.npy --sizes 4 4 --axes 0 1 --check")[0] == 0


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("", {}),
        ("--format i420 --matrix bt709 --full-range", {"format": "i420", "matrix": "bt709", "full_range": True}),
        ("--format yv12 --like opencv", {"format": "yv12", "like": "opencv"}),
        ("--layout NHWC->NCHW", {"layout": "NHWC->NCHW"}),
    ],
)
def test_frames_become_rgb(options, arguments, tmp_path, restride):
    expected = rs.yuv_to_rgb(FRAMES, **arguments).numpy()
    for source in ("frames.npy", "frames.bin --sizes 8 10", "frames.bin --desc u8[2,12,10]"):
        code, out, err = restride(f"yuv {source} y.npy --check", *options.split())
        assert (code, err) == (0, []), out
        assert "check: largest difference 0 (allowed 0): OK" in out
        assert np.array_equal(np.load(tmp_path / "y.npy"), expected)


def test_a_frame_becomes_a_picture(tmp_path, restride):
    pytest.importorskip("PIL.Image")
    FRAMES[0].tofile(tmp_path / "frame.bin")
    assert restride("yuv frame.bin frame.png --sizes 8 10")[0] == 0
    assert np.array_equal(read_array(tmp_path / "frame.png").array, rs.yuv_to_rgb(FRAMES[0]).numpy())


@pytest.mark.usefixtures("photo")
def test_photographs_become_a_batch(tmp_path, restride):
    write_array(tmp_path / "gray.png", PIXELS[..., 0])
    write_array(tmp_path / "alpha.png", np.concatenate([PIXELS, PIXELS[..., :1]], -1))
    np.save(tmp_path / "two.npy", np.stack([PIXELS, PIXELS[::-1]]))
    gray = np.repeat(PIXELS[..., :1], 3, -1)
    given = [PIXELS, gray, PIXELS, PIXELS, PIXELS[::-1]]
    paths = "photo.png gray.png alpha.png two.npy"
    code, out, err = restride(f"preprocess {paths} -o batch.npy --preset imagenet")
    assert (code, err) == (0, [])
    assert out == "batch.npy: f32[5,3,224,224]{3,2,1,0} from 4 files\n"
    right = rs.Preprocess.preset("imagenet")(given).numpy()
    assert np.array_equal(np.load(tmp_path / "batch.npy"), right)
    code, out, err = restride("preprocess *.png -o batch.npy --preset imagenet")  # alpha.png, gray.png, photo.png
    assert (code, err) == (0, [])
    assert np.array_equal(np.load(tmp_path / "batch.npy"), right[[2, 1, 0]])
    assert restride("preprocess gray.png -o batch.npy --preset imagenet")[1].endswith(" from 1 file\n")

    code, out, err = restride(f"preprocess {paths} -o batch.npy --preset yolo --sizes 32 48 --fill 7 --to u8 --mean 0")
    assert (code, len(err)) == (2, 1)
    assert "mean and std make floats: dtype must be a float, got u8" in err[0]
    code, out, err = restride("preprocess photo.png two.npy -o boxes.npy --preset yolo --sizes 32 32 --fill 7 8 9")
    assert (code, err) == (0, [])
    where = "rows 5 to 26, columns 0 to 32"
    assert out.splitlines()[:-1] == [f"{path}: {where}" for path in ("photo.png", "two.npy", "two.npy")]
    right = rs.Preprocess.preset("yolo", sizes=(32, 32), fill=(7, 8, 9))([PIXELS, PIXELS, PIXELS[::-1]])[0].numpy()
    assert np.array_equal(np.load(tmp_path / "boxes.npy"), right)


@pytest.mark.usefixtures("photo")
@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("--shorter 20 --antialias", {"shorter": 20, "antialias": True}),
        ("--mean 0.5 --std 0.1 0.2 0.3 --layout NHWC", {"mean": 0.5, "std": (0.1, 0.2, 0.3), "layout": "NHWC"}),
        ("--letterbox top_left --fill 3 --to f16", {"letterbox": "top_left", "fill": 3, "dtype": "f16"}),
    ],
)
def test_options_of_preprocess_reach_it(options, arguments, tmp_path, restride):
    code, _, err = restride("preprocess photo.png -o y.npy --sizes 16 18", *options.split())
    assert (code, err) == (0, [])
    made = rs.Preprocess((16, 18), **arguments)(PIXELS)
    tensor = made[0] if isinstance(made, tuple) else made
    assert np.array_equal(np.load(tmp_path / "y.npy"), tensor.numpy())


def test_frames_become_a_batch(tmp_path, restride):
    options = "--sizes 4 4 --input i420 --matrix bt709 --full-range"
    assert restride(f"preprocess frames.npy -o y.npy {options}")[0] == 0
    recipe = rs.Preprocess((4, 4), input="i420", matrix="bt709", full_range=True)
    assert np.array_equal(np.load(tmp_path / "y.npy"), recipe(FRAMES).numpy())


@pytest.mark.usefixtures("photo")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("photo.png -o y.npy", "one of these is required: --preset, --sizes (see `restride preprocess --help`)"),
        ("photo.png -o y.png --preset clip", "y.png: a batch is written to a .npy file"),
        ("photo.png -o y.npy --preset clip --input bgr", "photo.png is read as RGB: --input bgr goes with .npy files"),
        ("frames.bin -o y.npy --sizes 4 4 --input i420", "frames.bin holds bytes alone: `restride slice frames.bin"),
        ("photo.png none.png -o y.npy --preset clip", "cannot read none.png: no such file"),
        ("*.tif -o y.npy --preset clip", "*.tif: there is no file whose name ends in .npy, .png, .jpg, .jpeg, .webp"),
        ("photo.png flat.npy photo.png -o y.npy --preset clip", "flat.npy: an image must have rows, columns and chann"),
        ("photo.png broken.png -o y.npy --preset clip", "cannot read broken.png: "),
        ("photo.png rgba.npy -o y.npy --sizes 4 4", "rgba.npy: the results of a batch must have the same sizes"),
        ("photo.png large.npy -o y.npy --sizes 4 4", "large.npy: images of s64 are resized by mode 'nearest' alone"),
        ("photo.png -o y.npy --preset clip --skip-bad", "and .npy has no room for them: give y.npz"),
        ("photo.png --preset clip", "the following arguments are required: -o/--output"),
    ],
)
def test_what_preprocess_refuses(arguments, message, tmp_path, restride):
    np.save(tmp_path / "flat.npy", PIXELS[..., 0])
    np.save(tmp_path / "rgba.npy", PIXELS[..., [0, 1, 2, 0]])
    np.save(tmp_path / "large.npy", PIXELS.astype(np.int64))
    (tmp_path / "broken.png").write_bytes((tmp_path / "photo.png").read_bytes()[:60])
    code, out, err = restride(f"preprocess {arguments}")
    assert (code, out, len(err)) == (2, "", 1), (code, err)
    assert message in err[0]
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.usefixtures("photo")
@pytest.mark.parametrize("form", ["npz", "safetensors"])
def test_bad_files_are_skipped_and_named(form, tmp_path, restride):
    if form == "safetensors":
        judge("safetensors")
    write_array(tmp_path / "other.png", PIXELS[::-1])
    np.save(tmp_path / "two.npy", np.stack([PIXELS, PIXELS[::-1]]))
    np.save(tmp_path / "rgba.npy", PIXELS[..., [0, 1, 2, 0]])
    np.save(tmp_path / "flat.npy", PIXELS[..., 0])
    (tmp_path / "broken.png").write_bytes((tmp_path / "photo.png").read_bytes()[:60])
    names = "broken.png photo.png flat.npy rgba.npy two.npy broken.png other.png photo.png"
    code, out, err = restride(f"preprocess {names} -o y.{form} --sizes 8 9 --skip-bad")
    assert code == 2
    assert out == f"y.{form}: f32[5,3,8,9]{{3,2,1,0}} from 4 files\n"
    told = [line.removeprefix("restride: skipped: ") for line in err if "skipped" in line]
    assert sorted(line.partition(": ")[0].removeprefix("cannot read ") for line in told) == [
        "broken.png", "broken.png", "flat.npy", "rgba.npy",
    ]  # fmt: skip
    if form == "npz":
        with np.load(f"y.{form}", allow_pickle=False) as file:
            batch, texts = file["batch"], {name: file[name].tolist() for name in ("files", "skipped")}
    else:
        with judge("safetensors").safe_open(f"y.{form}", "np") as file:
            batch = file.get_tensor("batch")
            texts = {name: json.loads(text) for name, text in file.metadata().items()}
    assert texts["files"] == ["photo.png", "two.npy", "two.npy", "other.png", "photo.png"]
    assert sorted(texts["skipped"]) == ["broken.png", "broken.png", "flat.npy", "rgba.npy"]
    right = rs.Preprocess((8, 9))([PIXELS, PIXELS, PIXELS[::-1], PIXELS[::-1], PIXELS]).numpy()
    assert np.array_equal(batch, right)
    assert restride(f"preprocess photo.png -o y.{form} --sizes 8 9")[0] == 0
    code, out, _ = restride("preprocess broken.png flat.npy -o none.npz --sizes 8 9 --skip-bad")
    assert (code, out) == (2, "")
    assert not (tmp_path / "none.npz").exists()


@pytest.mark.usefixtures("photo")
def test_files_are_read_ahead_of_their_turn_and_no_thread_is_left(tmp_path, restride, monkeypatch):
    (tmp_path / "broken.png").write_bytes((tmp_path / "photo.png").read_bytes()[:60])
    names = []

    def read(path):
        names.append(threading.current_thread().name)
        return read_array(path)

    monkeypatch.setattr(preprocess, "read_array", read)
    assert restride("preprocess photo.png photo.png broken.png photo.png -o y.npy --sizes 8 9")[0] == 2
    assert {name.rpartition("_")[0] for name in names} == {"restride-ahead"}
    assert not [each for each in threading.enumerate() if each.name in names]


def examples():
    """The command lines that the helps show."""
    texts = (operations._CROP, operations._YUV, preprocess._PREPROCESS)
    return [line.strip() for text in texts for line in text.splitlines() if line.startswith("  restride ")]


@pytest.mark.usefixtures("photo")
@pytest.mark.parametrize("line", examples())
def test_the_examples_of_the_helps_run(line, tmp_path, restride):
    np.save(tmp_path / "found.npy", BOXES)
    write_array(tmp_path / "photo.jpg", PIXELS)
    np.zeros((1620, 1920), np.uint8).tofile(tmp_path / "frame.bin")
    np.zeros((2, 1080, 1280), np.uint8).tofile(tmp_path / "frames.bin")
    np.save(tmp_path / "frame.npy", FRAMES[0])
    words = shlex.split(line)
    if "*.jpg" in words:
        words[words.index("*.jpg")] = "photo.jpg"
    code, out, err = restride("", *words[1:])
    assert code == 0, err
    assert Path(words[3] if "-o" not in words else "batch.npy").exists(), out
