"""Numbers as callers write them: kept exactly, as Python's own, or refused by the name of the argument."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from restride.errors import DescriptorError
from restride.request.numbers import fraction, reals


def test_numbers_stay_what_they_are() -> None:
    """Integers and fractions of any library are exact, of any width; floats are not made fractions."""
    made = reals("scales", (np.int8(2), Fraction(1, 3), np.float32(0.5), 0.1))
    assert made == (2, Fraction(1, 3), 0.5, 0.1)
    assert [type(number) for number in made] == [int, Fraction, float, float]


def test_a_float_is_the_fraction_that_prints_it() -> None:
    assert fraction("level", 0.1) == Fraction(1, 10)
    assert fraction("level", np.int8(3)) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1, True), r"scales\[1\] must be a number, got True"),
        ((float("nan"),), r"scales\[0\] must be finite, got nan"),
        ((10**400,), r"scales\[0\] must be a number that f64 has"),
        (2, "scales must be a sequence of numbers, got 2"),
    ],
)
def test_refusals_name_the_argument_and_the_place(values: object, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        reals("scales", values)
