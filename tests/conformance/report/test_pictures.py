"""Pictures of failures: PNG files that others read, and differences that can be seen."""

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restride.dtypes import DTYPES
from restride_conformance.case import Case
from restride_conformance.report.pictures import KEPT, NAN_COLOUR, WRONG, draw, draw_wrong, png

image_module = pytest.importorskip("PIL.Image")


def decoded(data):
    image = image_module.open(io.BytesIO(data))
    image.load()
    return np.asarray(image)


def case(dst, dtype="f32", mode="nearest", axes=None, src=None):
    src = src or [size + 1 for size in dst]
    options = "" if axes is None else f" axes=({','.join(map(str, axes))})"
    written = [f"{dtype}[{','.join(map(str, sizes))}]" for sizes in (src, dst)]
    return Case.parse(f"resample {written[0]} -> {written[1]} mode={mode}{options}")


def drawn(expected, actual, **options):
    return draw(case(expected.shape, **options), expected, actual)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 2**32))
def test_pillow_reads_the_pixels_that_were_written(height, width, is_colour, seed):
    sizes = (height, width, 3) if is_colour else (height, width)
    pixels = np.random.default_rng(seed).integers(0, 256, sizes, np.uint8)
    assert np.array_equal(decoded(png(pixels)), pixels)


def test_pixels_may_lie_anyhow_in_memory():
    pixels = np.arange(60, dtype=np.uint8).reshape(3, 5, 4).transpose(2, 1, 0)[::-1]
    assert np.array_equal(decoded(png(pixels)), pixels)


def test_values_are_drawn_by_the_range_of_the_expected():
    expected = np.float32([[-1, 0], [1, 3]])
    actual = np.float32([[-9, 0], [1, 3]])
    pictures = drawn(expected, actual)
    assert decoded(pictures.expected).shape == (160, 160)  # 80 pixels for each
    assert decoded(pictures.expected)[::80, ::80].tolist() == [[0, 64], [128, 255]]
    assert decoded(pictures.actual)[::80, ::80].tolist() == [[0, 64], [128, 255]]
    assert decoded(pictures.difference)[::80, ::80].tolist() == [[255, 0], [0, 0]]
    assert pictures.gain == 1


@pytest.mark.parametrize(("error", "gain"), [(1, 128), (3, 64), (100, 2), (200, 1), (255, 1)])
def test_the_gain_is_the_power_of_two_that_makes_the_largest_difference_bright(error, gain):
    expected = np.uint8([[0, 255], [255, 255]])
    actual = expected - np.uint8([[0, 0], [0, error]])
    pictures = drawn(expected, actual, dtype="u8")
    assert pictures.gain == gain
    assert decoded(pictures.difference)[-1, -1] == error * gain
    assert 128 <= error * gain <= 255


def test_the_last_bit_of_an_f32_can_be_seen():
    expected = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    actual = expected.copy()
    actual[2, 3] = np.nextafter(np.float32(1), np.float32(0))
    pictures = drawn(expected, actual)
    assert pictures.gain == 2**23 * 2
    assert decoded(pictures.difference)[-1, -1] >= 128


@pytest.mark.parametrize("dtype", ["s64", "u64"])
def test_a_difference_of_one_far_beyond_f64_is_seen(dtype):
    large = np.iinfo(DTYPES[dtype].dtype).max
    expected = np.array([[0, 1], [2, large]], DTYPES[dtype].dtype)
    actual = expected.copy()
    actual[1, 1] -= 1
    assert decoded(drawn(expected, actual, dtype=dtype).difference).max() > 0
    expected[0, 0] = np.iinfo(DTYPES[dtype].dtype).min
    actual = expected.copy()
    actual[0, 0] = large
    assert np.argwhere(decoded(drawn(expected, actual, dtype=dtype).difference)[::80, ::80]).tolist() == [[0, 0]]


def test_nan_has_a_colour_and_a_difference_that_is_not_finite_is_white():
    expected = np.float32([[0, np.nan, np.nan], [4, 8, np.inf]])
    actual = np.float32([[0, np.nan, 1], [np.nan, 8, np.inf]])
    pictures = drawn(expected, actual)
    assert [tuple(pixel) for pixel in decoded(pictures.expected)[0, ::53].tolist()] == [(0, 0, 0), *2 * [NAN_COLOUR]]
    assert tuple(decoded(pictures.expected)[-1, -1]) == (255, 255, 255)
    assert tuple(decoded(pictures.actual)[-1, 0]) == NAN_COLOUR
    assert decoded(pictures.difference)[::53, ::53].tolist() == [[0, 0, 255], [255, 0, 0]]


@pytest.mark.parametrize("sizes", [(3, 5, 7), (5, 7, 3), (4, 5, 7), (5, 7, 4), (2, 3, 5, 7), (2, 5, 7, 3)])
def test_channels_are_found_first_and_last(sizes):
    expected = np.random.default_rng(1).integers(0, 256, sizes, np.uint8)
    actual = expected.copy()
    actual[(-1,) * len(sizes)] ^= 0x80
    pictures = drawn(expected, actual, dtype="u8")
    shown = decoded(pictures.expected)
    assert shown.shape == (5 * 22, 7 * 22, 3)
    last = expected[-1] if len(sizes) == 4 else expected
    planes = last if last.shape[0] in (3, 4) else last.transpose(2, 0, 1)
    scaled = np.rint((planes[:3] / 1.0 - last.min()) / (int(last.max()) - last.min()) * 255).transpose(1, 2, 0)
    assert np.array_equal(shown[::22, ::22], scaled)
    assert decoded(pictures.difference).astype(bool)[::22, ::22].tolist() == [[False] * 7] * 4 + [[False] * 6 + [True]]


def test_the_axis_that_is_not_resampled_is_the_one_of_the_channels():
    values = np.zeros((3, 5, 4), np.uint8)
    wrong = values.copy()
    wrong[2, 4, 0] = 1
    first = draw(case((3, 5, 4), "u8", axes=(1, 2), src=(3, 9, 9)), values, wrong)
    last = draw(case((3, 5, 4), "u8", axes=(0, 1), src=(9, 9, 4)), values, wrong)
    assert decoded(first.difference).shape == (5 * 32, 4 * 32)
    assert decoded(last.difference).shape == (3 * 32, 5 * 32)


def test_of_a_batch_the_worst_picture_is_drawn():
    expected = np.arange(3 * 25, dtype=np.float32).reshape(3, 1, 5, 5)
    actual = expected.copy()
    actual[1, 0, 0, 0] += 1
    actual[2, 0, 4, 4] += 2
    pictures = drawn(expected, actual)
    assert np.argwhere(decoded(pictures.difference)[::32, ::32]).tolist() == [[4, 4]]


def test_one_wrong_pixel_of_a_large_picture_is_still_seen():
    expected = np.zeros((700, 900), np.uint8)
    actual = expected.copy()
    actual[333, 501] = 255
    pictures = drawn(expected, actual, dtype="u8")
    assert decoded(pictures.difference).shape == decoded(pictures.expected).shape == (175, 225)
    assert np.argwhere(decoded(pictures.difference)).tolist() == [[333 // 4, 501 // 4]]


@pytest.mark.parametrize("sizes", [(5,), (1, 5), (5, 1), (0, 5), (2, 5, 7), (3, 1, 7), (2, 2, 3, 5, 7), (0, 3, 5, 7)])
def test_results_that_are_no_image_get_no_picture(sizes):
    values = np.zeros(sizes, np.float32)
    assert drawn(values, values) is None


def test_other_operations_get_no_picture():
    values = np.zeros((4, 5), np.float32)
    assert draw(Case.parse("reorder f32[4,5]{1,0} -> f32[4,5]{0,1}"), values, values) is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_bits_of_any_type_can_be_drawn(dtype):
    rng = np.random.default_rng(5)
    width = DTYPES[dtype].itemsize
    for _ in range(20):
        expected, actual = (
            rng.integers(0, 2 if dtype == "pred" else 256, (6, 8 * width), np.uint8).view(DTYPES[dtype].dtype)
            for _ in range(2)
        )
        pictures = drawn(expected, actual, dtype=dtype)
        assert math.log2(pictures.gain).is_integer()
        assert decoded(pictures.difference).any()
        for data in (pictures.expected, pictures.actual, pictures.difference):
            assert decoded(data).shape[:2] == (120, 160)


def test_the_widest_range_of_f64_is_drawn():
    large = np.finfo(np.float64).max
    expected = np.float64([[-large, 0], [1, large]])
    pictures = drawn(expected, -expected, dtype="f64")
    assert decoded(pictures.expected)[::80, ::80].tolist() == [[0, 128], [128, 255]]
    # 2 large has no f64; among the others 1 - -1 is the largest difference.
    assert decoded(pictures.difference)[::80, ::80].tolist() == [[255, 0], [128, 255]]
    assert pictures.gain == 2.0**1023


def test_wrong_elements_are_red_in_the_order_of_the_last_axis():
    right = np.ones((2, 3, 4), np.bool_)
    right[1, 0, 2] = right[1, 2, 3] = False
    kept = np.zeros((2, 3, 4), np.bool_)
    kept[1, 2, 3] = kept[0, 0, 0] = True
    pixels = decoded(draw_wrong(right, kept))
    assert pixels.shape == (6 * 26, 4 * 26, 3)
    assert np.argwhere((pixels[13::26, 13::26] == WRONG).all(axis=-1)).tolist() == [[3, 2]]
    assert np.argwhere((pixels[13::26, 13::26] == KEPT).all(axis=-1)).tolist() == [[5, 3]], "amber: as before the run"
    right = np.ones((0, 3), np.bool_)
    assert draw_wrong(right, right) == b""


def test_one_wrong_element_of_many_is_still_red():
    right = np.ones((3, 100_000), np.bool_)
    right[2, 77_777] = False
    assert (decoded(draw_wrong(right, right)) == WRONG).all(axis=-1).sum() == 1
    wrong = np.zeros((), np.bool_)
    assert (decoded(draw_wrong(wrong, wrong)) == WRONG).all(axis=-1).any()
