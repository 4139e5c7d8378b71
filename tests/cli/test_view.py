"""``restride view``: what is printed of a picture, with colour and without, what is written, and what is no picture."""

from __future__ import annotations

import base64
import io
import re
import webbrowser

import numpy as np
import pytest

import restride as rs

Image = pytest.importorskip("PIL.Image")

PHOTO = np.random.default_rng(3).integers(0, 256, (6, 8, 3), np.uint8)


@pytest.fixture
def view(restride, monkeypatch):
    """``restride view x.npy`` of an array: exit code, the lines of stdout, those of stderr."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "12")

    def run(array, *arguments):
        np.save("x.npy", array)
        code, out, err = restride("view x.npy", *arguments)
        return code, out.splitlines(), err

    return run


def test_facts_and_brightness(view):
    array = np.repeat(np.linspace(-1, 3, 10, dtype=np.float32)[None], 4, 0)
    code, (facts, *lines), _ = view(array)
    assert code == 0
    assert facts == "x.npy: f32[4,10], -1 to 3, shown from -1 to 3"
    assert lines == [" .:-=+*#%@"] * 2


@pytest.mark.parametrize(
    ("array", "facts"),
    [
        (PHOTO, f"x.npy: u8[6,8,3], {PHOTO.min()} to {PHOTO.max()}"),
        (np.float32([[0.25, np.nan], [0.5, 1]]), "x.npy: f32[2,2], 0.25 to 1, 1 NaN, shown from 0 to 1"),
        (np.full((2, 2), np.nan), "x.npy: f64[2,2], nan to nan, 4 NaN, shown from 0 to 1"),
        (np.float32([[-np.inf, 2], [4, 2]]), "x.npy: f32[2,2], -inf to 4, shown from 2 to 4"),
        (np.int16([[-5, 7]]), "x.npy: s16[1,2], -5 to 7, shown from -5 to 7"),
        (np.array([[True, False]]), "x.npy: pred[1,2], 0 to 1, shown from 0 to 1"),
        (np.uint64([[1 << 63, 0]]), "x.npy: u64[1,2], 0 to 9223372036854775808, shown from 0 to 9223372036854775808"),
        (np.int32([[-1234567, 16777217]]), "x.npy: s32[1,2], -1234567 to 16777217, shown from -1234567 to 16777217"),
    ],
)
def test_what_is_said_of_an_array(array, facts, view):
    code, lines, _ = view(array)
    assert (code, lines[0]) == (0, facts)


def test_a_large_picture_fits_the_terminal(view):
    array = np.zeros((301, 200), np.uint8)
    array[:150] = 255
    _, (_, *lines), _ = view(array)
    assert len(lines) == 10
    assert set(lines[:4]) == {"@" * 13}
    assert not any(lines[6:])


@pytest.mark.parametrize("name", ["x.png", "x.html"])
def test_files_have_every_pixel(name, view, tmp_path):
    planes = np.concatenate([PHOTO, PHOTO[..., :1]], 2).transpose(2, 0, 1)  # alpha is not shown
    code, lines, err = view(planes[None], "[0]", "-o", name)
    assert (code, lines, err) == (
        0,
        [f"x.npy [0]: u8[4,6,8], {PHOTO.min()} to {PHOTO.max()}"],
        [f"restride: wrote {name}"],
    )
    content = (tmp_path / name).read_bytes()
    if name == "x.html":
        content = base64.b64decode(re.findall(rb"base64,([^\"]*)", content)[0])
        assert b"<p>x.npy [0]: u8[4,6,8]" in (tmp_path / name).read_bytes()
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), PHOTO)


def test_a_browser_is_given_a_page(view, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert view(PHOTO, "--browser")[0] == 0
    (address,) = opened
    assert address.startswith("file://")
    assert address.endswith("/view.html")


def test_an_image_is_viewed(tmp_path, restride):
    rs.imwrite(tmp_path / "x.jpg", PHOTO)
    code, out, _ = restride("view x.jpg")
    assert (code, "x.jpg: u8[6,8,3]" in out) == (0, True)


@pytest.mark.parametrize(
    ("array", "arguments", "message"),
    [
        (np.zeros((8, 60, 56)), [], r"x\.npy: f64\[8,60,56\].* is no picture.*restride view x\.npy '\[0\]'"),
        (np.zeros((2, 3, 8, 8)), [], "is no picture"),
        (np.zeros((0, 8)), [], "is no picture"),
        (np.zeros(8), [], "is no picture"),
        (PHOTO, ["[9]"], r"index 9 is out of bounds.*u8\[6,8,3\]"),
        (PHOTO, ["[::0]"], r"x\.npy: slice step cannot be zero, for u8\[6,8,3\]"),
        (PHOTO, ["-o", "x.gif"], r"must end in \.png, \.jpg, \.jpeg or \.html"),
        (PHOTO, ["-o", "none/x.png"], "cannot write none/x.png: No such file"),
    ],
)
def test_what_is_refused(array, arguments, message, view):
    code, _, err = view(array, *arguments)
    assert code == 2
    assert re.search(message, err[0])
