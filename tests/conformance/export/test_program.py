"""A case as a driver sees it: the masks and limits of what must come out."""

import numpy as np

from restride.dtypes import DTYPES
from restride_conformance.export.program import Check


def check(**own):
    places = np.array([[4, 8], [12, 2]], np.uint64)
    return Check(1, np.arange(16, dtype=np.uint8), np.ones(16, np.bool_), DTYPES["s16"], places, (0,), **own)


def test_the_bytes_of_elements_are_those_at_their_places():
    assert np.flatnonzero(check().element_bytes).tolist() == [2, 3, 4, 5, 8, 9, 12, 13]
    assert check().sizes == (2, 2)


def test_an_exact_element_has_the_bits_of_the_expected_bytes_as_both_limits():
    lowest, highest = check().limits
    assert check().is_exact
    assert lowest.tolist() == highest.tolist() == [[0x0504, 0x0908], [0x0D0C, 0x0302]]


def test_limits_are_given_as_bits():
    low, high = np.array([[-1, 0], [1, 2]], np.int16), np.array([[3, 4], [5, 6]], np.int16)
    bounded = check(lowest=low, highest=high)
    assert not bounded.is_exact
    assert [array.tolist() for array in bounded.limits] == [[[0xFFFF, 0], [1, 2]], [[3, 4], [5, 6]]]
