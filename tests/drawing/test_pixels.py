"""Arrays as pictures: means of whole squares, numbers of any size, and colours of two pixels."""

from __future__ import annotations

import numpy as np

from restride.drawing import pixels


def test_means_are_of_whole_squares():
    array = np.arange(5 * 7 * 3).reshape(5, 7, 3)
    small = pixels.shrunk(array, 2, 3)
    assert small.shape == (2, 3, 3)
    assert np.array_equal(small[0, 0], array[:3, :3].mean((0, 1)))
    assert np.array_equal(small[1, 2], array[3:, 6:].mean((0, 1)))


def test_no_number_is_too_large_to_show():
    most = np.finfo(np.float64).max
    pixels_of_most = np.array([-most, 0, most, np.inf, -np.inf, np.nan]).reshape(1, 6, 1)
    assert pixels.brightness(pixels_of_most, (-most, most)).ravel().tolist() == [0, 128, 255, 255, 0, 0]
    small = pixels.shrunk(pixels_of_most[:, [2, 2, 3, 4]], 1, 2)  # inf of sums, NaN of infinities, and no warning
    assert pixels.brightness(small, (-most, most)).ravel().tolist() == [255, 0]


def test_colours_are_those_of_two_pixels():
    two = np.uint8([[[255, 0, 10]], [[0, 128, 255]]])
    assert pixels.text(two, True, True) == "\x1b[38;2;255;0;10;48;2;0;128;255m▀\x1b[0m"
    assert pixels.text(two[:1], True, False) == "\x1b[38;5;196;48;5;196m▀\x1b[0m"
