"""Factors: scales, offsets and crops at the door, as exact fractions.

A float counts as the decimal number that prints it: 0.1 is 1/10, so that output 1 of ten times fewer reads at exactly
10, where the binary number behind it, a little above 1/10, would read at 9.99... and ``floor`` take 9.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from restride.errors import DescriptorError
from restride.integers import LIMIT

_Where = Callable[[], str]


def members(argument: str, values: Any, where: _Where) -> tuple[Any, ...]:
    """``values`` as a tuple.

    Raises:
        DescriptorError: not a sequence.
    """
    try:
        return tuple(values)
    except TypeError:
        raise DescriptorError(f"{argument} must be a sequence of numbers, got {values!r}, for {where()}") from None


def one_per_axis(argument: str, values: Any, where: _Where, kind: type = numbers.Real) -> Any:
    """``values``, unless it is a bare number of ``kind``, which says nothing of how many axes it is for.

    Raises:
        DescriptorError: it is one.
    """
    if isinstance(values, kind) and not isinstance(values, bool | np.bool_):
        members = "integers" if kind is numbers.Integral else "numbers"
        raise DescriptorError(
            f"{argument} must be a sequence of {members}, one per axis, e.g. ({values}, {values}), got {values}, for "
            f"{where()}"
        )
    return values


def fractions(argument: str, values: Any, where: _Where) -> tuple[Fraction, ...]:
    """``values`` as exact fractions; integers, fractions and floats, numpy's too.

    Raises:
        DescriptorError: not a sequence of finite numbers.
    """
    given = members(argument, values, where)
    return tuple(fraction(f"{argument}[{place}]", value, where) for place, value in enumerate(given))


def scale_factors(scales: tuple[Any, ...], where: _Where) -> tuple[Fraction, ...]:
    """Scales as fractions, each above 0.

    Raises:
        DescriptorError: one is not, or is no finite number.
    """
    factors = fractions("scales", scales, where)
    for place, factor in enumerate(factors):
        if factor <= 0:
            raise DescriptorError(f"scales[{place}] must be above 0, got {scales[place]}, for {where()}")
    return factors


def scaled_sizes(
    sizes: Sequence[int], scales: Sequence[Any], where: _Where, *, rounds: bool = False
) -> tuple[int, ...]:
    """``trunc(size * scale)`` each, in f64 for a float as torch, ONNX and numpy compute it: 100 * 0.29 is 28.

    rounds: to nearest even instead, as OpenCV does: 29.

    Raises:
        DescriptorError: more than any size can be.
    """
    made = []
    for place, (size, scale) in enumerate(zip(sizes, scales, strict=True)):
        product = size * (_rational(scale) if isinstance(scale, numbers.Rational) else float(scale))
        if product >= LIMIT:
            raise DescriptorError(f"scales[{place}] {scale} makes 2^512 elements or more of {size}, for {where()}")
        made.append(round(product) if rounds else int(product))
    return tuple(made)


def _rational(value: numbers.Rational) -> Fraction:
    """Of Python's integers, however narrow numpy's are."""
    return Fraction(int(value.numerator), int(value.denominator))


def fraction(argument: str, value: Any, where: _Where) -> Fraction:
    """One number as an exact fraction.

    Raises:
        DescriptorError: not a finite number.
    """
    number = finite(argument, value, where)
    return _rational(value) if isinstance(value, numbers.Rational) else Fraction(repr(number))


def finite(argument: str, value: Any, where: _Where) -> float:
    """One number.

    Raises:
        DescriptorError: not a finite number.
    """
    number = real(argument, value, where)
    if not math.isfinite(number):
        raise DescriptorError(f"{argument} must be finite, got {number}, for {where()}")
    return number


def real(argument: str, value: Any, where: _Where) -> float:
    """One number, infinities and NaN among them.

    Raises:
        DescriptorError: not a number.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.floating):
        shown = " ".join(repr(value).split())[:60]
        raise DescriptorError(f"{argument} must be a number, got {shown} ({type(value).__name__}), for {where()}")
    try:
        return float(value)
    except OverflowError:
        raise DescriptorError(f"{argument} must be a number that f64 has, for {where()}") from None
