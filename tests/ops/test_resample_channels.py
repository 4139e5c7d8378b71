"""A last axis of few elements, channels as it seems, is resized only where axes are named: refused at every door."""

import warnings

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import main

PHOTO = np.zeros((48, 64, 3), np.uint8)
PIXELS = PHOTO.astype(np.float32)

LOOKS = "look like columns and channels, and no axes are named: say axes="
FIRST = f"{LOOKS}(0, 1), or call rs.resize, or axes=(1, 2) if they are not, for "

REFUSED = {
    f"the last axes of x {FIRST}u8[48,64,3]": [
        lambda: rs.resample(PHOTO, (22, 22)),
        lambda: rs.resample(PHOTO, scales=(0.5, 0.5)),
        lambda: rs.resample(rs.asarray(PHOTO), (22, 22), window=(slice(0, 3), None)),
        lambda: rs.resample(PHOTO, (22, 22), like="torch", mode="bilinear"),
        lambda: rs.resample(PHOTO, (22, 3), like="opencv"),
        lambda: rs.plan_resample("u8[48,64,3]", None, (22, 22)),
        lambda: judge("dask") and rs.dask.pyramid(PHOTO, 2),
    ],
    f"the last axes of x {LOOKS}(0, 1), or axes=(1, 2) if they are not, for u8[48,64,3]": [  # a chain has no resize
        lambda: rs.Chain().resample((22, 22)).of(PHOTO.shape, "u8"),
        lambda: rs.stream(PHOTO, np.zeros((48, 22, 22), np.uint8), rs.Chain().resample((22, 22))),
        lambda: rs.LazyArray(PHOTO, rs.Chain().resample((22, 22)))[:2],
        lambda: judge("dask") and rs.dask.resample(PHOTO, (22, 22)),
    ],
    f"the last axes of x {LOOKS}(1, 2), or call rs.resize, or axes=(2, 3) if they are not, for f32[2,8,8,1]": [
        lambda: rs.resample(np.zeros((2, 8, 8, 1), np.float32), (5, 5)),
    ],
    "the last axis of x looks like channels, and no axes are named: say axes=(1,), or axes=(2,) if it is not, for u8": [
        lambda: rs.resample(PHOTO, (5,)),
    ],
    "the last axis of x looks like channels, and no axes are named: say axes=(0, 1, 2), or axes=(1, 2, 3) if it": [
        lambda: rs.resample(PHOTO[None], (1, 22, 22)),
    ],
    f"the last axes of grad {FIRST}f32[48,64,3]": [
        lambda: rs.resample_backward(PIXELS, (96, 64)),
        lambda: rs.plan_resample_backward("f32[48,64,3]", None, (96, 64)),
    ],
    f"the last axes of source_sizes {FIRST}source_sizes (48, 64, 3)": [
        lambda: rs.source_window(PHOTO.shape, (22, 22), window=(slice(0, 3), slice(0, 3))),
    ],
}

DONE = [
    lambda: rs.resample(PHOTO, (22, 22), axes=(0, 1)),
    lambda: rs.resample(PHOTO, (22, 22), axes=(1, 2)),
    lambda: rs.resample(PHOTO, (22, 3)),
    lambda: rs.resample(np.zeros((1, 16, 4, 4), np.float32), (8, 8)),
    lambda: rs.resample(np.zeros((16, 1, 1), np.float32), (7, 7)),
    lambda: rs.resample(PHOTO, scales=(0.5, 1)),
    lambda: rs.resample(PHOTO, (22, 22, 6)),
    lambda: rs.resample(np.zeros(3, np.float32), (6,)),
    lambda: rs.resample(np.zeros((8, 4), np.float32), (3,)),
    lambda: rs.resample(np.zeros((3, 48, 64), np.float32), (22, 22)),
    lambda: rs.resample(np.zeros((48, 64, 5), np.float32), (22, 22)),
    lambda: rs.resample(np.zeros((48, 64, 0), np.float32), (22, 0)),
    lambda: rs.resample_backward(PIXELS, (96, 128), axes=(0, 1)),
    lambda: rs.resample_backward(np.zeros((3, 48, 64), np.float32), (96, 4)),
    lambda: rs.source_window(PHOTO.shape, (22, 22), axes=(0, 1), window=(None, None)),
    lambda: rs.compat.torch.interpolate(np.zeros((1, 3, 2, 2), np.float32), (4, 4)),
    lambda: rs.crop_resize(PHOTO, [(0, 0, 8, 8)], (4, 4), axes=(0, 1)),
]


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize(("message", "call"), [(text, call) for text, calls in REFUSED.items() for call in calls])
def test_the_error_names_the_axes(message, call):
    with pytest.raises(rs.DescriptorError) as raised:
        call()
    assert str(raised.value).startswith(message)


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("call", DONE)
def test_named_axes_and_those_that_seem_right_are_resized(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


@pytest.mark.usefixtures("vulkan_device")
def test_the_command_names_its_option(tmp_path, capsys):
    pixels, made = str(tmp_path / "pixels.npy"), str(tmp_path / "made.npy")
    np.save(pixels, PHOTO)
    assert main(["resample", pixels, made, "--sizes", "22", "22"]) == 2
    assert capsys.readouterr().err == (
        f"restride: the last axes of {pixels} look like columns and channels, and no axes are named: say --axes 0 1, "
        f"or run `restride resize`, or --axes 1 2 if they are not, for u8[48,64,3]{{2,1,0}}\n"
    )
    assert not (tmp_path / "made.npy").exists()
    assert main(["resample", pixels, made, "--sizes", "22", "22", "--axes", "1", "2"]) == 0
    assert "channels" not in capsys.readouterr().err
