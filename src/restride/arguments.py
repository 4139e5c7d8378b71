"""Arguments as callers write them: exact Python ints from any integer type, words from a list, or a clear refusal.

The errors name the argument, its value and the rule; the public function adds the descriptor (``restride.errors``).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import islice
from typing import Any, SupportsIndex

import numpy as np

from restride.errors import DescriptorError, shown

LIMIT = 1 << 512
"""Sizes, strides and offsets stay below this in magnitude, as do those of 8 axes of 2^62 packed in any order."""

MOST_MEMBERS = 1 << 22
"""Most integers that an argument may hold: so ``range(10**12)`` and endless iterators are refused."""

MAX_RANK = 8
"""Most axes that a descriptor can have, as in DirectML."""


def integer(argument: str, value: Any) -> int:
    """``value`` as a Python int; numpy integers are accepted, booleans, floats and texts are not.

    Args:
        argument: name of the argument in error messages.
        value: anything with ``__index__`` that is not a boolean.

    Raises:
        DescriptorError: not an integer, or at least 2^512 in magnitude.
    """
    if type(value) is int and -LIMIT < value < LIMIT:
        return value
    if isinstance(value, bool | np.bool_):
        raise DescriptorError(f"{argument} must be an integer, got the boolean {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise DescriptorError(f"{argument} must be an integer, got {shown(value)} ({type(value).__name__})") from None
    if not -LIMIT < number < LIMIT:
        raise DescriptorError(f"{argument} must be below 2^512 in magnitude, got {number.bit_length()} bits")
    return number


def integers(argument: str, values: Any, *, or_one: bool = False) -> tuple[int, ...]:
    """``values`` as a tuple of Python ints: any iterable of integers, a numpy vector included.

    or_one: one integer is a sequence of one.

    Raises:
        DescriptorError: not an iterable, too many members, or one that is no integer, which the message names.
    """
    if or_one and type(values) is int:  # the protocol below takes 10 us
        return (integer(argument, values),)
    try:
        members = tuple(islice(values, MOST_MEMBERS + 1))
    except TypeError:
        if or_one and isinstance(values, SupportsIndex):
            return (integer(argument, values),)
        rule = f"must be {'an integer or ' if or_one else ''}a sequence of integers"
        raise DescriptorError(f"{argument} {rule}, got {shown(values)} ({type(values).__name__})") from None
    if len(members) > MOST_MEMBERS:
        raise DescriptorError(f"{argument} must be at most {MOST_MEMBERS} integers, got more: {shown(values)}")
    for value in members:
        if type(value) is not int or not -LIMIT < value < LIMIT:
            return tuple([integer(f"{argument}[{place}]", member) for place, member in enumerate(members)])
    return members


def counts(argument: str, values: Any, *, or_one: bool = False) -> tuple[int, ...]:
    """``integers`` that are all 0 or more.

    Raises:
        DescriptorError: as ``integers`` does, or one is negative.
    """
    numbers = integers(argument, values, or_one=or_one)
    if min(numbers, default=0) < 0:
        raise DescriptorError(f"{argument} {numbers} must each be 0 or more")
    return numbers


def one_per_axis(argument: str, values: Any, rank: int) -> tuple[int, ...]:
    """``integers``, as many as there are axes.

    Raises:
        DescriptorError: as ``integers`` does, or there are more or fewer.
    """
    numbers = integers(argument, values)
    if len(numbers) != rank:
        raise DescriptorError(f"{argument} must have one value per axis: got {numbers} for {rank} axes")
    return numbers


def permutation(argument: str, axes: Any, rank: int) -> tuple[int, ...]:
    """``axes`` as a permutation of 0 .. rank-1; negative ones count from the end.

    Raises:
        DescriptorError: an axis is missing, repeated or out of range.
    """
    values = integers(argument, axes)
    positive = tuple(axis + rank if axis < 0 else axis for axis in values)
    if sorted(positive) != list(range(rank)):
        raise DescriptorError(f"{argument} {values} must name each of the {rank} axes once")
    return positive


def require_word(argument: str, value: Any, known: Sequence[str | bool | None]) -> None:
    """Check that ``value`` is one of ``known``. An array is refused before comparing it, which would give an array.

    Raises:
        DescriptorError: another word, or no word at all.
    """
    is_word = value is None or isinstance(value, str | bool | np.bool_)
    if not is_word or value not in known:
        raise DescriptorError(f"{argument} must be one of {', '.join(map(repr, known))}, not {value!r}")
