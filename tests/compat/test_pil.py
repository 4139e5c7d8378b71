"""rs.compat.pil.resize beside Pillow's own: every mode and filter, boxes, palettes, and what both refuse."""

import inspect
import re

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.compat import pil
from restride.compat.pil import resize

Image = judge("PIL.Image")

pytestmark = pytest.mark.usefixtures("vulkan_device")

FILTERS = [way for way in Image.Resampling if way < 6]
BANDS = {
    "L": 1,
    "P": 1,
    "LA": 2,
    "La": 2,
    "PA": 2,
    "RGB": 3,
    "YCbCr": 3,
    "HSV": 3,
    "RGBX": 4,
    "CMYK": 4,
    "RGBa": 4,
    "RGBA": 4,
}
TOLERANCE = {"I": 1, "F": 1e-6}
"""I to 65535 and F to 1; Pillow sums them in f64."""

BOX = (1.5, 2.25, 15.75, 14)


def picture(mode, rows=17, columns=20):
    random = np.random.default_rng(rows)
    if mode == "1":
        return Image.fromarray(random.integers(0, 2, (rows, columns)).astype(bool))
    if mode in ("I", "I;16"):
        return Image.fromarray(random.integers(0, 1 << 16, (rows, columns)).astype("i4" if mode == "I" else "u2"))
    if mode == "F":
        return Image.fromarray(random.random((rows, columns), np.float32))
    data = random.integers(0, 256, rows * columns * BANDS[mode], np.uint8).tobytes()
    image = Image.frombytes(mode, (columns, rows), data)
    if mode in ("P", "PA"):
        image.putpalette(random.integers(0, 256, 768, np.uint8).tolist())
    return image


def require_same(image, *arguments, **named):
    """The same image; or the same type of error."""
    try:
        expected = image.resize(*arguments, **named)
    except Exception as error:  # noqa: BLE001 - whatever it is, ours is to be the same
        with pytest.raises(type(error)):
            resize(image, *arguments, **named)
        return
    result = resize(image, *arguments, **named)
    assert (result.mode, result.size, result.info) == (expected.mode, expected.size, expected.info)
    assert result.getpalette() == expected.getpalette()
    apart = np.abs(np.asarray(result).astype(np.float64) - np.asarray(expected).astype(np.float64))
    assert apart.max() <= TOLERANCE.get(image.mode, 0)


def test_arguments_are_pillows():
    real = list(inspect.signature(Image.Image.resize).parameters.values())[1:]
    own = list(inspect.signature(resize).parameters.values())[1:]
    assert [(p.name, p.default) for p in own] == [(p.name, p.default) for p in real]


@pytest.mark.parametrize("mode", [*BANDS, "1", "I", "F"])
@pytest.mark.parametrize("way", [None, *FILTERS])
def test_every_mode_and_filter(mode, way):
    image = picture(mode)
    for size in ((7, 5), (30, 21), (13, 40), (20, 17), (1, 1), (20, 9)):
        require_same(image, size, way)
        require_same(image, size, way, BOX)


@pytest.mark.parametrize("way", FILTERS)
def test_integers_of_16_bits(way):
    """Pillow rounds and clamps between its two passes; filters that overshoot are clamped there. NEAREST is exact."""
    image = picture("I;16")
    for size in ((7, 5), (30, 21), (20, 9)):
        expected, result = image.resize(size, way), resize(image, size, way)
        assert (result.mode, result.size) == (expected.mode, expected.size)
        apart = np.abs(np.asarray(result).astype(int) - np.asarray(expected).astype(int)).max()
        assert apart <= {"NEAREST": 0, "BOX": 1, "BILINEAR": 1, "HAMMING": 1}.get(way.name, 1 << 14)


@pytest.mark.parametrize(
    "arguments",
    [
        ((0, 3),),
        ((3, -1),),
        ((3,),),
        ((3, 3, 3),),
        (3,),
        (None,),
        ("33",),
        ((2.5, 3),),
        ([3, 4],),
        (np.array([3, 4]),),
        ((3, 3), 9),
        ((3, 3), "bicubic"),
        ((3, 3), None, (0, 0, 21, 17)),
        ((3, 3), None, (-1, 0, 3, 3)),
        ((3, 3), None, (3, 3, 2, 5)),
        ((3, 3), None, (1, 1, 1, 3)),
        ((3, 3), None, (0, 0, 3)),
        ((3, 3), None, 3),
        ((3, 3), None, ("a", 0, 3, 3)),
        ((3, 3), -1),
        ((3, 3), None, None, 0.5),
        ((20, 17), None, (0, 0, 20, 17)),
        ((20, 17), None, (0.5, 0, 20, 17)),
    ],
)
def test_arguments_that_fit_and_that_do_not(arguments):
    require_same(picture("RGB"), *arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3,), TypeError, "size 3 must be columns and rows, two integers, for image RGB of 20 x 17"),
        (((2.5, 3),), TypeError, "size (2.5, 3) must be columns and rows, two integers"),
        (((3, 3), "bicubic"), ValueError, "resample 'bicubic' is none of Pillow's filters NEAREST (0), LANCZOS (1)"),
        (((3, 3), 2, 5), TypeError, "box 5 must be left, upper, right and lower edge, four numbers"),
        (((3, 3), 2, (4, 4, 3, 3)), ValueError, "box (4.0, 4.0, 3.0, 3.0), of left, upper, right and lower edge, must"),
    ],
)
def test_errors_say_what_was_given_and_what_to_give(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        resize(picture("RGB"), *arguments)


@pytest.mark.parametrize("image", [None, "photo.jpg", [[1, 2], [3, 4]]])
def test_what_is_no_image_is_refused(image):
    with pytest.raises(TypeError, match=f"image must be a PIL.Image.Image, .*, not {type(image).__name__}"):
        resize(image, (3, 3))


@pytest.mark.parametrize(("dtype", "name"), [("f8", "f64"), ("?", "pred"), ("i8", "s64")])
def test_an_array_of_a_type_that_is_not_summed_says_so(dtype, name):
    array = np.ones((9, 8, 3), dtype)
    with pytest.raises(
        rs.UnsupportedError,
        match=f"elements of type {name} are not interpolated, those of f32.*x\\.astype\\('float32'\\) converts",
    ):
        resize(array, (3, 3))
    assert np.array_equal(resize(array, (3, 3), pil.NEAREST), np.ones((3, 3, 3), dtype))


def test_filters_are_pillows():
    for own in pil.Resampling:
        assert own == Image.Resampling[own.name] == getattr(Image, own.name)
        assert getattr(pil, own.name) is own
    assert dir(pil) == sorted(pil.__all__) == sorted([*pil.Resampling.__members__, "Resampling", "resize"])
    require_same(picture("RGB"), (5, 6), pil.Resampling.HAMMING)


def test_the_same_size_is_a_copy():
    """Of RGBA too: colours that were multiplied by an alpha of 3 and divided again would not come back."""
    image = picture("RGBA")
    result = resize(image, image.size)
    assert result is not image
    assert result.tobytes() == image.tobytes()


def test_what_belongs_to_an_image_stays_with_it():
    image = picture("P")
    image.info["transparency"] = 7
    require_same(image, (5, 6))
    with_alpha = picture("P")
    with_alpha.putpalette(bytes(range(256)) * 4, "RGBA")
    assert resize(with_alpha, (5, 6)).getpalette("RGBA") == with_alpha.resize((5, 6)).getpalette("RGBA")


def test_what_is_not_done_here_says_so():
    with pytest.raises(rs.UnsupportedError, match="reducing_gap"):
        resize(picture("L"), (3, 3), reducing_gap=2.0)
    with pytest.raises(rs.UnsupportedError, match="MKS2013"):
        resize(picture("L"), (3, 3), 6)
    for mode in ("LAB", "I;16B"):
        with pytest.raises(rs.UnsupportedError, match=f"image {mode} of"):
            resize(Image.new(mode, (9, 8)), (3, 3))


def test_arrays_and_tensors_give_their_own(vulkan_device):
    array = np.asarray(picture("RGB"))
    expected = np.asarray(picture("RGB").resize((9, 30), Image.Resampling.LANCZOS, BOX))
    made = resize(array, (9, 30), Image.Resampling.LANCZOS, BOX)
    tensor = resize(rs.asarray(array, device=vulkan_device), (9, 30), Image.Resampling.LANCZOS, BOX)
    assert isinstance(made, np.ndarray)
    assert isinstance(tensor, rs.Tensor)
    assert np.array_equal(made, expected)
    assert np.array_equal(tensor.numpy(), expected)
    with pytest.raises(rs.DescriptorError, match="must have rows, columns"):
        resize(array[None], (3, 3))
