"""Requests: what is read is one record, in our own words, with axes from 0 and numbers as they were written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from restride.errors import DescriptorError
from restride.request import Request, Rules, read_request
from restride.request.resampling import require_elements, require_products


def test_a_checked_request_has_words_and_numbers_alone() -> None:
    checked, library = read_request(
        Request(scales=(0.1, 2), axes=(-1, 0), mode="BICUBIC", like="pillow", antialias=True), 3, "u8"
    )
    assert (checked.axes, checked.sizes, checked.scales) == ((2, 0), None, (0.1, 2))
    assert checked.rules == Rules("cubic", cubic_a=-0.5, antialias=True, exclude_outside=True)
    assert library is not None
    assert (library.like, library.mode, library.dtype, library.old) == ("pillow", "bicubic", "u8", ())


def test_a_checked_request_is_a_key() -> None:
    """Equal arguments in other forms give equal records, lists of numbers included."""
    one, _ = read_request(Request([4], roi=[0, Fraction(1, 2)], coordinates="tf_crop_and_resize"), 2, "f32")
    other, _ = read_request(Request((4,), axes=(1,), roi=(0, 0.5), coordinates="tf_crop_and_resize"), 2, "f32")
    assert one == other
    assert hash(one) == hash(other)


def test_sizes_that_a_side_computed_are_judged_alike() -> None:
    checked, _ = read_request(Request((4,), (2,)), 1, "f32")
    require_products(checked, (2,), (4,))
    with pytest.raises(DescriptorError, match=r"sizes \(4,\) and scales \(2,\) contradict each other: 3 \* 2 is 6"):
        require_products(checked, (3,), (6,))
    with pytest.raises(DescriptorError, match="axis 1 has no elements to make 2 of"):
        require_elements((0, 1), (0, 0), (0, 2))
