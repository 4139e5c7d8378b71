"""A last axis of few elements, channels as it seems, is not resized in silence where no axes are named."""

import warnings

import numpy as np
import pytest

import restride as rs
from restride.cli import main

PHOTO = np.zeros((48, 64, 3), np.uint8)
PIXELS = PHOTO.astype(np.float32)

MEANT = {
    r"the last axis of x is resized from 3 to 22: say axes=\(0, 1\) if": [
        lambda: rs.resample(PHOTO, (22, 22)),
        lambda: rs.resample(rs.asarray(PHOTO), (22, 22), window=(slice(0, 3), None)),
        lambda: rs.resample(PHOTO, (22, 22), like="torch", mode="bilinear"),
        lambda: rs.plan_resample("u8[48,64,3]", None, (22, 22)),
    ],
    r"the last axis of x is resized from 3 to 1: say axes=\(0, 1\) if": [
        lambda: rs.resample(PHOTO, scales=(0.5, 0.5)),
    ],
    r"the last axis of x is resized from 1 to 5: say axes=\(1, 2\) if it has the channels, and axes=\(2, 3\)": [
        lambda: rs.resample(np.zeros((2, 8, 8, 1), np.float32), (5, 5)),
    ],
    r"the last axis of x is resized from 4 to 3: say axes=\(0,\) if": [
        lambda: rs.resample(np.zeros((8, 4), np.float32), (3,)),
    ],
    r"the last axis of grad is resized from 3 to 64: say axes=\(0, 1\) if": [
        lambda: rs.resample_backward(PIXELS, (96, 64)),
        lambda: rs.plan_resample_backward("f32[48,64,3]", None, (96, 64)),
    ],
    r"the last axis of source_sizes is resized from 3 to 22: say axes=\(0, 1\) if": [
        lambda: rs.source_window(PHOTO.shape, (22, 22), window=(slice(0, 3), slice(0, 3))),
    ],
}

NOT_MEANT = [
    lambda: rs.resample(PHOTO, (22, 22), axes=(0, 1)),
    lambda: rs.resample(PHOTO, (22, 22), axes=(1, 2)),
    lambda: rs.resample(PHOTO, (22, 3)),
    lambda: rs.resample(np.zeros((1, 16, 4, 4), np.float32), (8, 8)),
    lambda: rs.resample(np.zeros((16, 1, 1), np.float32), (7, 7)),
    lambda: rs.resample(PHOTO, scales=(0.5, 1)),
    lambda: rs.resample(PHOTO, (22, 22, 6)),
    lambda: rs.resample(np.zeros(3, np.float32), (6,)),
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
@pytest.mark.parametrize(("message", "call"), [(text, call) for text, calls in MEANT.items() for call in calls])
def test_a_warning_names_the_axes(message, call):
    for _ in range(2):  # the second call finds its plan
        with pytest.warns(UserWarning, match=message) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("call", NOT_MEANT)
def test_none_where_axes_are_named_or_nothing_seems_wrong(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


@pytest.mark.usefixtures("vulkan_device")
def test_the_command_says_so(tmp_path, capsys):
    pixels, made = str(tmp_path / "pixels.npy"), str(tmp_path / "made.npy")
    np.save(pixels, PHOTO)
    assert main(["resample", pixels, made, "--sizes", "22", "22"]) == 0
    assert "say --axes 0 1 if it has the channels, and --axes 1 2 if it does not" in capsys.readouterr().err
    assert np.load(made).shape == (48, 22, 22)
    assert main(["resample", pixels, made, "--sizes", "22", "22", "--axes", "0", "1"]) == 0
    assert "channels" not in capsys.readouterr().err
    assert main(["resample", pixels, made, "--sizes", "22", "22", "--like", "pillow"]) == 2
    assert "look like columns and channels: say --axes 0 1" in capsys.readouterr().err
