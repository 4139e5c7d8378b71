"""``restride resample``: every option reaches the operation, its own check, images, windows, and what it refuses."""

from functools import partial

import numpy as np
import pytest

import restride as rs
from restride.command.files import read_array, write_array

X = np.random.default_rng(11).normal(size=(2, 6, 9)).astype(np.float32)
PIXELS = np.random.default_rng(12).integers(0, 256, (20, 30, 3), np.uint8)
LIKE_OPENCV = {"sizes": (4, 5), "like": "opencv", "mode": "nearest"}
LIKE_TORCH = {"sizes": (4, 5), "like": "torch", "mode": "bicubic", "antialias": True}
LIKE_TENSORFLOW = {
    "sizes": (4, 5), "coordinates": "tf_crop_and_resize", "roi": (0, -0.5, 1, 1), "extrapolation_value": 7.5
}  # fmt: skip
CROP = ("--coordinates", "tf_crop_and_resize", "--roi", 0, -0.5, 1, 1)


@pytest.fixture
def resample(restride):
    """``restride resample`` in a folder with x.npy."""
    np.save("x.npy", X)
    return partial(restride, "resample")


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (("--sizes", 4, 5), {"sizes": (4, 5)}),
        (("--sizes", 4, "--axes", -2), {"sizes": (4,), "axes": (-2,)}),
        (("--sizes", 4, 5, "--like", "torch", "--antialias", "--mode", "bicubic"), LIKE_TORCH),
        (("--sizes", 4, 5, "--like", "opencv", "--mode", "INTER_NEAREST"), LIKE_OPENCV),
        (("--sizes", 4, 5, *CROP, "--extrapolation-value", 7.5), LIKE_TENSORFLOW),
        (("--sizes", 8, 8, "--window", "0:4", "5:7"), {"sizes": (8, 8), "window": (slice(0, 4), slice(5, 7))}),
        (
            ("--sizes", 4, 5, "--src-scale", 1, 10, "--axis", 0),
            {"sizes": (4, 5), "src_scale": np.float32([[[1]], [[10]]])},
        ),
        (
            ("--sizes", 4, 5, "--to", "u8", "--src-scale", 50, "--dst-zero-point", 100, "--rounding", "truncate"),
            {"sizes": (4, 5), "dtype": "u8", "src_scale": 50, "dst_zero_point": 100, "rounding": "truncate"},
        ),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_options_reach_the_operation(options, arguments, tmp_path, resample):
    code, out, err = resample("x.npy", "y.npy", *options, "--check")
    assert (code, err) == (0, [])
    assert "OK" in out
    expected = rs.resample(X, **arguments)
    assert f"y.npy: {expected.desc} from" in out
    assert np.load(tmp_path / "y.npy").tobytes() == expected.numpy().tobytes()


@pytest.mark.usefixtures("vulkan_device")
def test_a_photograph_is_resized_along_height_and_width(tmp_path, resample):
    pytest.importorskip("PIL.Image")
    write_array(tmp_path / "photo.png", PIXELS)
    options = ("--sizes", 8, 8, "--policy", "not_larger", "--antialias", "--exclude-outside", "--check")
    assert resample("photo.png", "small.png", *options)[0] == 0
    asked = {"axes": (0, 1), "keep_aspect_ratio_policy": "not_larger", "antialias": True, "exclude_outside": True}
    assert np.array_equal(read_array(tmp_path / "small.png").array, rs.resample(PIXELS, (8, 8), **asked).numpy())

    assert resample("photo.png", "small.npy", "--scales", 0.5, 0.5, "--to", "f32", "--dst-scale", 255)[0] == 0
    small = np.load(tmp_path / "small.npy")
    assert small.shape == (10, 15, 3)
    assert np.array_equal(small, rs.resample(PIXELS, scales=(0.5, 0.5), axes=(0, 1), dtype="f32", dst_scale=255))


@pytest.mark.parametrize(
    ("channels", "options", "is_warned"),
    [
        (4, ("--like", "pillow"), True),
        (4, ("--like", "pillow", "--mode", "nearest"), False),
        (3, ("--like", "pillow"), False),
        (4, ("--like", "opencv"), False),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_alpha_is_not_multiplied_as_pillow_does(channels, options, is_warned, tmp_path, resample):
    pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(channels).integers(0, 256, (20, 30, channels), np.uint8)
    write_array(tmp_path / "photo.png", pixels)
    code, _, err = resample("photo.png", "small.png", "--sizes", 8, 9, *options, "--check")
    assert code == 0
    said = (
        "restride: warning: photo.png has alpha, which is resized apart from the colours here; Pillow multiplies them"
    )
    assert [line.startswith(said) for line in err] == [True] * is_warned
    np.save(tmp_path / "pixels.npy", pixels)
    assert resample("pixels.npy", "small.npy", "--sizes", 8, 9, "--axes", 0, 1, *options)[2] == []


@pytest.mark.parametrize(
    ("name", "options", "is_warned"),
    [
        ("photo.png", (), True),
        ("photo.png", ("--mode", "cubic"), True),
        ("photo.png", ("--antialias",), False),
        ("photo.png", ("--like", "opencv"), False),
        ("photo.png", ("--mode", "nearest"), False),
        ("pixels.npy", ("--axes", 0, 1), False),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_a_photograph_that_shrinks_without_antialias_is_warned_of(name, options, is_warned, tmp_path, resample):
    pytest.importorskip("PIL.Image")
    write_array(tmp_path / "photo.png", PIXELS)
    np.save(tmp_path / "pixels.npy", PIXELS)
    code, _, err = resample(name, "small.png", "--sizes", 8, 9, *options)
    assert code == 0
    assert [("`restride resize`" in line, "--antialias" in line) for line in err] == [(True, True)] * is_warned
    assert resample(name, "large.png", "--sizes", 40, 60, *options)[2] == []


@pytest.mark.usefixtures("vulkan_device")
def test_a_layout_may_permute_the_axes(tmp_path, resample):
    """The options name axes as they are in IN; scales of the result follow their axis."""
    pytest.importorskip("PIL.Image")
    write_array(tmp_path / "photo.png", PIXELS)
    options = ("--sizes", 8, 9, "--antialias", "--to", "f32", "--layout", "HWC->CHW")
    scales = ("--src-zero-point", 1, 2, 3, "--dst-scale", 10, 20, 30, "--dst-zero-point", 0.5, "--check")
    code, out, err = resample("photo.png", "planes.npy", *options, *scales)
    assert (code, err) == (0, [])
    assert "OK" in out
    made = np.load(tmp_path / "planes.npy")
    divisor = np.float32([10, 20, 30]).reshape(3, 1, 1)
    asked = {"axes": (0, 1), "antialias": True, "layout": "HWC->CHW", "dtype": "f32", "dst_scale": divisor}
    expected = rs.resample(PIXELS, (8, 9), **asked, src_zero_point=(1, 2, 3), dst_zero_point=0.5)
    assert np.array_equal(made, expected.numpy())
    assert made.shape == (3, 8, 9)
    nearest = ("--sizes", 8, 9, "--mode", "nearest", "--layout", "HWC->CWH", "--check")
    assert resample("photo.png", "taken.npy", *nearest)[0] == 0
    taken = rs.resample(PIXELS, (8, 9), axes=(0, 1), mode="nearest").numpy()
    assert np.array_equal(np.load(tmp_path / "taken.npy"), taken.transpose(2, 1, 0))


@pytest.mark.usefixtures("vulkan_device")
def test_a_layout_of_memory(tmp_path, resample):
    options = ("--sizes", 4, 5, "--check")
    code, out, _ = resample("x.npy", "y.bin", *options, "--layout", "f16[2,4,5]{0,1,2:pad(2,8,5)=3}")
    assert code == 0
    assert "check of the padding: largest difference 0 (allowed 0): OK" in out
    assert out.splitlines()[-1].startswith("y.bin: f16[2,4,5]{0,1,2:pad(2,8,5)=3}")
    code, _, err = resample("x.npy", "y.npy", *options, "--layout", "{0,1,2}")
    assert code == 0
    assert "layout '{0,1,2}' changes memory only, so the elements have the order of x.npy" in err[0]
    assert np.array_equal(np.load(tmp_path / "y.npy"), rs.resample(X, (4, 5)).numpy())
