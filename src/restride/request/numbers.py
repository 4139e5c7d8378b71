"""Numbers as callers write them, checked: Python's own, exact fractions, and lists of one for each axis."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from restride.errors import DescriptorError, shown

Exact: TypeAlias = int | Fraction | float
"""A finite number of Python's; a float stands for the decimal number that prints it."""

_BOOLEANS = bool, np.bool_
_REAL_NUMBERS = float, numbers.Real, np.floating


def members(argument: str, values: Any) -> tuple[Any, ...]:
    """``values`` as a tuple.

    Raises:
        DescriptorError: not a sequence.
    """
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of numbers, got {values!r}") from None


def reals(argument: str, values: object) -> tuple[Exact, ...]:
    """``values`` as finite numbers of Python's own: an integer, a ``Fraction``, or an f64.

    Raises:
        DescriptorError: not a sequence of finite numbers.
    """
    return tuple([exact(f"{argument}[{place}]", value) for place, value in enumerate(members(argument, values))])


def exact(argument: str, value: object) -> Exact:
    """One finite number of Python's own.

    Raises:
        DescriptorError: not a finite number.
    """
    number = finite(argument, value)
    if isinstance(value, numbers.Integral):
        return int(value)
    # An exact fraction of Python integers: numpy's may be too narrow.
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, numbers.Rational) else number


def fraction(argument: str, value: object) -> Fraction:
    """One number as an exact fraction.

    Raises:
        DescriptorError: not a finite number.
    """
    number = exact(argument, value)
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def finite(argument: str, value: object) -> float:
    """One finite number.

    Raises:
        DescriptorError: not a finite number.
    """
    number = real(argument, value)
    if not math.isfinite(number):
        raise DescriptorError(f"{argument} must be finite, got {number}")
    return number


def real(argument: str, value: object) -> float:
    """One number, which may be an infinity or NaN.

    Raises:
        DescriptorError: not a number.
    """
    if isinstance(value, _BOOLEANS) or not isinstance(value, _REAL_NUMBERS):
        raise DescriptorError(f"{argument} must be a number, got {shown(value)} ({type(value).__name__})")
    try:
        return float(value)
    except OverflowError:
        raise DescriptorError(f"{argument} must be a number that f64 has") from None
