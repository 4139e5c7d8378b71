"""Images of Pillow as arguments: palettes, transparent colours, byte order and EXIF."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from support.judges import judge

import restride as rs

Image = judge("PIL.Image")

RNG = np.random.default_rng(3)
PHOTO = RNG.integers(0, 256, (5, 7, 3), np.uint8)


def test_a_transparent_colour_of_an_image_of_pillow_becomes_alpha(tmp_path):
    for mode, key in (("L", 9), ("RGB", (9, 8, 7)), ("1", 255), ("I;16", 900)):
        image = Image.new(mode, (4, 3))
        image.putpixel((1, 2), key)
        image.info["transparency"] = key
        rs.imwrite(tmp_path / "x.png", image)
        written = rs.imread(tmp_path / "x.png")
        assert np.argwhere(written[..., -1] == 0).tolist() == [[2, 1]]
        assert np.array_equal(written[..., :-1].squeeze(), np.asarray(image.convert("L") if mode == "1" else image))


def test_every_function_takes_the_colours_of_an_image_of_pillow_and_not_its_indices(vulkan_device):
    image = Image.new("P", (4, 1))
    image.putdata([0, 2, 0, 2])
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    red, blue = [255, 0, 0], [0, 0, 255]
    x = rs.asarray(image, device=vulkan_device)
    assert x.numpy().tolist() == [[red, blue, red, blue]]
    purple = rs.resample(x, (1, 2), axes=(0, 1)).numpy()
    for result in (
        rs.resample(image, (1, 2), axes=(0, 1)),
        rs.resample([image], (1, 2), axes=(1, 2)),
        rs.compat.cv2.resize(image, (2, 1)),
        rs.crop_resize(image, [[0, 0, 1, 4]], (1, 2), axes=(0, 1)),
        rs.reference.resample(image, (1, 2), axes=(0, 1)),
    ):
        assert np.array_equal(np.squeeze(result), np.squeeze(purple))
    for mode, key, transparent in (("P", 2, blue), ("RGB", (255, 0, 0), red)):
        keyed = image if mode == "P" else image.convert("RGB")
        keyed.info["transparency"] = key
        alpha = [0 if color == transparent else 255 for color in (red, blue)]
        assert rs.asarray(keyed, device=vulkan_device).numpy()[0, :2].tolist() == [[*red, alpha[0]], [*blue, alpha[1]]]
        with pytest.raises(rs.DescriptorError, match=rf"no alpha, not '{mode}' with a transparent colour: rs\.to_rgb"):
            rs.Preprocess((1, 2))(keyed)
        del keyed.info["transparency"]


def test_grey_of_16_bits_in_the_other_byte_order(tmp_path):
    """As in a TIFF file of a camera."""
    grey = RNG.integers(0, 1 << 16, (5, 7)).astype(np.uint16)
    image = Image.frombytes("I;16B", (7, 5), grey.astype(">u2").tobytes())
    rs.imwrite(tmp_path / "x.png", image)
    assert np.array_equal(rs.imread(tmp_path / "x.png"), grey)
    resized = rs.resize(image, (3, 4))  # on the default device
    assert np.array_equal(np.asarray(resized), rs.resize(grey, (3, 4)).numpy())


def turned(turn, kind="JPEG"):
    """An image of Pillow that a camera held on its side has stored."""
    exif, file = Image.Exif(), BytesIO()
    exif[0x0112] = turn
    Image.fromarray(PHOTO).save(file, kind, exif=exif)
    return file.getvalue()


@pytest.mark.parametrize(
    "call",
    [
        lambda image: rs.resize(image, (4, 4)),
        lambda image: rs.resample(image, (4, 4), axes=(0, 1)),
        lambda image: rs.crop_resize(image, [(0, 0, 4, 4)], (2, 2), axes=(0, 1)),
        lambda image: rs.Preprocess((4, 4))([image, image]),
        lambda image: rs.asarray([image, image]),
        rs.asarray,
        rs.to_rgb,
    ],
    ids=["resize", "resample", "crop_resize", "Preprocess", "asarray of a list", "asarray", "to_rgb"],
)
def test_an_image_of_pillow_that_exif_says_to_turn_is_warned_of(call):
    for kind in ("JPEG", "PNG", "WEBP"):
        with pytest.warns(UserWarning, match=r"used as stored.*PIL\.ImageOps\.exif_transpose\(image\)") as warned:
            call(Image.open(BytesIO(turned(6, kind))))
        assert warned[0].filename == __file__
        with pytest.warns(UserWarning, match="used as stored"):
            call(Image.open(BytesIO(turned(3, kind))).convert("RGB"))  # a copy says so too
    upright = judge("PIL.ImageOps").exif_transpose(Image.open(BytesIO(turned(6))))
    for image in (Image.open(BytesIO(turned(1))), upright, Image.fromarray(PHOTO)):
        call(image)  # a warning would be an error


def test_exif_that_cannot_be_read_turns_nothing():
    image = Image.fromarray(PHOTO)
    image.info["exif"] = b"Exif\0\0no header of TIFF"
    assert np.array_equal(rs.to_rgb(image), PHOTO)
