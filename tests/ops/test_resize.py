"""rs.resize: which axes it takes, Pillow's bytes, light by the formulas of sRGB, colours behind alpha, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import resize_picture
from support.judges import judge

import restride as rs
from restride.cli.demo import draw_sheet

RNG = np.random.default_rng(7)
PHOTO = RNG.integers(0, 256, (37, 52, 3), np.uint8)
ALPHA = np.where(RNG.random((37, 52, 1)) < 0.4, 0, RNG.integers(0, 256, (37, 52, 1))).astype(np.uint8)
RGBA = np.concatenate([PHOTO, ALPHA], 2)
FILTERS = {"antialias": True, "exclude_outside": True}

AXES = {
    (37, 52): (0, 1),
    (3, 4): (0, 1),
    (37, 52, 3): (0, 1),
    (52, 3, 3): (0, 1),
    (3, 37, 52): (1, 2),
    (1, 37, 52): (1, 2),
    (37, 52, 1): (0, 1),
    (2, 37, 52, 4): (1, 2),
    (2, 4, 37, 52): (2, 3),
    (9, 37, 52, 2): (1, 2),
}


@pytest.mark.parametrize("sizes", AXES, ids=str)
def test_the_axes_are_those_of_the_rule(sizes, device):
    x = RNG.integers(0, 256, sizes, np.uint8)
    expected = rs.resample(rs.asarray(x, device=device), (9, 11), axes=AXES[sizes], **FILTERS)
    result = rs.resize(rs.asarray(x, device=device), (9, 11))
    assert result.desc == expected.desc
    assert np.array_equal(result.numpy(), expected.numpy())
    assert np.array_equal(rs.resize(rs.asarray(x, device=device), (9, 11), axes=AXES[sizes]).numpy(), expected.numpy())


@pytest.mark.parametrize("sizes", [(10, 37, 52), (3, 37, 3), (2, 37, 52, 7), (2, 3, 52, 3)], ids=str)
def test_axes_that_are_not_clear_are_asked_for(sizes):
    with pytest.raises(rs.DescriptorError, match=r"C, 1 to 4 at one of its places.*axes=\(\d, \d\)") as caught:
        rs.resize(np.zeros(sizes, np.uint8), (9, 11))
    assert str(sizes) in str(caught.value)


@pytest.mark.parametrize("sizes", [(9, 11), (60, 70), (37, 52), (1, 80)], ids=str)
@pytest.mark.parametrize(("mode", "name"), [(None, "BILINEAR"), ("cubic", "BICUBIC")])
def test_bytes_are_within_one_of_pillows_and_like_it_they_are_its_own(mode, name, sizes, vulkan_device):
    Image = judge("PIL.Image", "13.0")
    # Pillow rounds between its passes: half a step, that weights of 1.5 in all may raise to 0.75, and half a step at
    # the end of both: 1.75. What it clamps there is beyond that: overshoots, which this range has not.
    pixels = PHOTO // 2 + 64
    expected = np.asarray(Image.fromarray(pixels).resize(sizes[::-1], getattr(Image, name)))
    photo = rs.asarray(pixels, device=vulkan_device)
    assert np.abs(rs.resize(photo, sizes, mode).numpy().astype(int) - expected).max() <= 1
    assert np.array_equal(rs.resize(photo, sizes, name.lower(), like="pillow").numpy(), expected)


@pytest.mark.usefixtures("vulkan_device")
def test_an_image_of_pillow_gives_one():
    Image = judge("PIL.Image")
    for mode in ("L", "RGB", "RGBA", "LA", "CMYK", "P", "1", "I;16", "F"):
        image = Image.fromarray(RGBA).convert("L" if mode == "I;16" else mode)
        image = image.convert("I").convert("I;16") if mode == "I;16" else image
        result = rs.resize(image, (9, 11), mode="bicubic", like="pillow")
        expected = image.convert({"CMYK": "RGB", "P": "RGB", "1": "L"}.get(mode, mode))
        assert (result.mode, result.size) == (expected.mode, (11, 9))
        if mode in ("L", "RGB"):
            assert np.array_equal(np.asarray(result), np.asarray(expected.resize((11, 9))))
    grey = Image.new("L", (40, 30), 7)
    grey.info["transparency"] = 7
    assert np.asarray(rs.resize(grey, (3, 4))).tolist() == [[[7, 0]] * 4] * 3
    deep = Image.fromarray(np.full((9, 9), 700, np.uint16))
    deep.info["transparency"] = 700
    with pytest.raises(rs.UnsupportedError, match="Pillow has no image of 2 channels of 16 bits"):
        rs.resize(deep, (3, 4))
    image.info["comment"] = "kept"
    assert rs.resize(image, (9, 11)).info["comment"] == "kept"
    for mode, keeps in (("P", True), ("RGB", True), ("CMYK", False)):
        profiled = Image.fromarray(PHOTO).convert(mode)
        profiled.info["icc_profile"] = b"a profile"
        assert ("icc_profile" in rs.resize(profiled, (9, 11)).info) is keeps
    assert rs.resize(Image.fromarray(PHOTO), (9, 11), linear_light=True).size == (11, 9)
    with pytest.raises(rs.DescriptorError, match="an image of Pillow has rows and columns"):
        rs.resize(image, (9, 11), axes=(0, 1))


def require_right(result, array, axes, channels, **options):
    result = result.numpy()
    low, high = rs.reference.resize_limits(array, result.shape[axes[0] : axes[0] + 2], axes, channels, **options)
    assert (low <= high).all()
    assert ((low <= result) & (result <= high)).all()
    of_step = 1 if result.dtype == np.uint8 else 1 / 256
    assert np.mean((high.astype(int) - low) * of_step) < 0.1  # the limits say something; many means of two are halves
    answer = rs.reference.resize(array, result.shape[axes[0] : axes[0] + 2], axes, channels, **options)
    assert np.mean(np.abs(result.astype(int) - answer) * of_step) < 0.1


@pytest.mark.parametrize("sizes", [(9, 11), (60, 70)], ids=str)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize(("linear", "premultiply"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("mode", [None, "area"])
def test_light_and_alpha_are_those_of_the_reference(mode, linear, premultiply, dtype, sizes, device):
    array = RGBA.astype(dtype) * (np.iinfo(dtype).max // 255)
    asked = {"linear_light": linear, "premultiply": premultiply}
    rules = FILTERS if mode is None else {"mode": mode}
    result = rs.resize(rs.asarray(array, device=device), sizes, mode, **asked)
    require_right(result, array, (0, 1), 2, **asked, **rules)
    assert result.dtype == rs.resize(array, sizes).dtype


def test_every_code_comes_back():
    for dtype in (np.uint8, np.uint16):
        codes = np.arange(np.iinfo(dtype).max + 1, dtype=dtype).reshape(-1, 256)
        assert np.array_equal(rs.resize(codes, codes.shape, linear_light=True).numpy(), codes)
        most = np.iinfo(dtype).max
        pairs = np.stack([codes, np.maximum(codes, most // 3)], 2)
        for linear in (False, True):
            same = rs.resize(pairs, codes.shape, axes=(0, 1), linear_light=linear, premultiply=True)
            assert np.array_equal(same.numpy(), pairs)


def test_light_is_what_pillow_makes_of_light(vulkan_device):
    """Decoded by numpy, resized by Pillow as F, and encoded by numpy: another formula, and other sums."""
    Image = judge("PIL.Image")
    part = PHOTO / 255.0
    light = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4).astype(np.float32)
    bands = [np.asarray(Image.fromarray(light[..., k]).resize((11, 9), Image.BILINEAR)) for k in range(3)]
    linear = np.stack(bands, 2).astype(np.float64)
    codes = 255 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    result = rs.resize(rs.asarray(PHOTO, device=vulkan_device), (9, 11), linear_light=True).numpy()
    assert np.abs(result - codes).max() <= 0.5 + 1e-3  # sums of f32: 2^-20 of light, whose code moves 13 * 255 as far


def test_alpha_is_no_light_and_what_it_hides_does_not_bleed(device):
    hidden = RGBA.copy()
    hidden[RGBA[..., 3] == 0] = (0, 255, 0, 0)
    one, other = (rs.asarray(each, device=device) for each in (RGBA, hidden))
    options = {"premultiply": True, "linear_light": True}
    assert np.array_equal(rs.resize(one, (9, 11), **options).numpy(), rs.resize(other, (9, 11), **options).numpy())
    alpha = rs.resize(one, (9, 11), linear_light=True).numpy()[..., 3]
    assert np.array_equal(alpha, rs.resize(np.ascontiguousarray(RGBA[..., 3]), (9, 11)).numpy())
    assert not rs.resize(np.zeros((8, 8, 4), np.uint8) + np.uint8([9, 9, 9, 0]), (2, 2), **options).numpy().any()


@pytest.mark.parametrize("channels_first", [False, True])
def test_views_and_layouts(channels_first, device):
    """A batch, flipped, whose alpha lies in its own plane; and tiles, which are laid out first."""
    batch = np.stack([RGBA, RGBA[::-1]])
    x = rs.asarray(batch, device=device)[:, ::-1, ::2]
    array = batch[:, ::-1, ::2]
    axes, channels = (1, 2), 3
    if channels_first:
        x, array, axes, channels = x.permute(0, 3, 1, 2), array.transpose(0, 3, 1, 2), (2, 3), 1
    options = {"linear_light": True, "premultiply": True}
    result = rs.resize(x, (9, 11), **options)
    require_right(result, array, axes, channels, **options, **FILTERS)
    tiled = rs.reorder(x, f"u8[{','.join(map(str, x.sizes))}]{{3,2,1,0:T(4,4)}}")
    assert np.array_equal(rs.resize(tiled, (9, 11), **options).numpy(), result.numpy())


@pytest.mark.parametrize("tile", ["(4,4)", "(2,2)"])
def test_light_keeps_tiles(tile, device):
    """Of a source of one tile, which strides describe, the result has several, which they do not."""
    planes = rs.asarray(RNG.integers(0, 256, (3, 4, 4), np.uint8), device=device)
    tiled = rs.reorder(planes, f"u8[3,4,4]{{2,1,0:T{tile}}}")
    result = rs.resize(tiled, (9, 11), axes=(1, 2), linear_light=True)
    assert result.desc == rs.resize(tiled, (9, 11), axes=(1, 2)).desc
    expected = rs.resize(planes, (9, 11), axes=(1, 2), linear_light=True)
    assert np.array_equal(result.numpy(), expected.numpy())


@pytest.mark.usefixtures("vulkan_device")
def test_the_picture_of_the_page_is_drawn_again(tmp_path):
    Image = judge("PIL.Image")
    root = Path(__file__).resolve().parents[2]
    panels = resize_picture.panels()
    assert [panel.pixels[8, 8, 0] for panel in panels[1:3]] == [128, 188]
    draw_sheet(tmp_path / "light.png", "", "", panels)
    with Image.open(tmp_path / "light.png") as drawn, Image.open(root / "docs" / "images" / "light.png") as shown:
        assert drawn.size == shown.size
        pixels = [np.asarray(each)[100:340, 24:] for each in (drawn, shown)]  # what is below has letters of a font
    assert np.array_equal(*pixels)


ASPECT = {
    "shorter": (24, (24, 34)),
    "longer": (26, (19, 26)),  # 37 * 26 / 52 is 18.5: halves up
    "fit": ((30, 30), (21, 30)),
    "cover": ((30, 30), (30, 42)),
}


@pytest.mark.parametrize("name", ASPECT)
def test_sizes_that_keep_the_aspect_are_those_of_the_policy(name, device):
    value, sizes = ASPECT[name]
    x = rs.asarray(PHOTO, device=device)
    result = rs.resize(x, **{name: value})
    assert result.sizes[:2] == sizes
    assert np.array_equal(result.numpy(), rs.resize(x, sizes).numpy())
    policy = {"shorter": "not_smaller", "longer": "not_larger", "fit": "not_larger", "cover": "not_smaller"}[name]
    pair = (value, value) if isinstance(value, int) else value
    assert rs.resample(x, pair, axes=(0, 1), keep_aspect_ratio_policy=policy).sizes[:2] == sizes
    assert rs.resize(x.permute(2, 0, 1), like="pillow", mode="bilinear", **{name: value}).sizes[1:] == sizes
    assert rs.resize(x, linear_light=True, **{name: value}).sizes[:2] == sizes


def test_a_side_that_keeps_the_aspect_has_a_pixel_or_more():
    assert rs.resize(np.zeros((1, 1000), np.uint8), longer=10).sizes == (1, 10)


def test_sizes_of_an_image_of_pillow_keep_its_aspect():
    image = judge("PIL.Image").fromarray(PHOTO)
    assert rs.resize(image, shorter=24).size == (34, 24)
    assert rs.resize(image, fit=np.array([30, 30])).size == (30, 21)
