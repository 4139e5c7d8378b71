"""Remembered: what a call made is found again by the values of its arguments, where these are plain."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from restride.dtypes import DType
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.lru import LRU
from restride.ops.target import Given

Made = TypeVar("Made")

MOST_REMEMBERED = 512

_MOST_ARRAY_BYTES = 1 << 10
_MOST_MEMBERS = 64

_PLAIN = frozenset((type(None), str, bool))
"""Equal where calls are equal, as they are: an int has its type beside it, so that True is not 1."""

_WITH_TYPE = _PLAIN | {int}
"""Equal where calls are equal, beside equal types."""

_IMMUTABLE = frozenset((int, range, Fraction, DType, Limits))
_IMMUTABLE_BASES = (type, np.dtype, Limits, Enum)
_LISTS = (tuple, list)

_bytes_of_float = struct.Struct("d").pack


class _NotPlainError(Exception):
    """An argument whose value may change, or is used up."""


_recent: LRU[Any] = LRU(MOST_REMEMBERED)


def remembered(make: Callable[..., Made], arguments: Mapping[str, Any]) -> Made:
    """``make(**arguments)``, as it was made lately, if it was. Errors are not remembered."""
    try:
        values = list(arguments.values())
        for place in _unplain(tuple(map(type, values))):
            values[place] = plain(values[place])
        key = (make, *arguments, *values)
    except _NotPlainError:
        return make(**arguments)
    found: Made | None = _recent.get(key)
    if found is None:
        found = make(**arguments)
        _recent.put(key, found)
    return found


@lru_cache(maxsize=MOST_REMEMBERED)
def _unplain(kinds: tuple[type, ...]) -> tuple[int, ...]:
    """Places of the arguments that are not their own key: of twenty that an operation takes, a few."""
    return tuple(place for place, kind in enumerate(kinds) if kind not in _PLAIN)


def plain(value: Any, levels: int = 4) -> Any:
    """A hashable that is equal for equal calls only: 1, 1.0 and True differ, and so do 0.0 and -0.0, NaN and -NaN.

    levels: lists in lists that it may have.

    Raises:
        _NotPlainError: for an iterator, a Tensor, a large array or list, or a type of the caller's.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    key: Any
    if kind is TensorDesc:
        return value.spelled
    if kind is Given:
        return value.desc.spelled, value.is_shared
    if kind is float:
        key = _bytes_of_float(value)
    elif kind in _IMMUTABLE:
        key = value
    elif isinstance(value, _LISTS) and len(value) <= _MOST_MEMBERS and levels:
        key = _plain_members(value, levels)
    elif kind is dict and len(value) <= _MOST_MEMBERS:
        key = tuple(value), plain(tuple(value.values()), levels)
    elif isinstance(value, _IMMUTABLE_BASES):
        key = value
    elif kind is slice:
        key = plain((value.start, value.stop, value.step))
    elif (isinstance(value, np.generic) or kind is np.ndarray) and _is_small(value):
        key = value.dtype, value.shape, value.tobytes()
    else:
        raise _NotPlainError
    return kind, key


def _plain_members(members: tuple[Any, ...] | list[Any], levels: int) -> Any:
    """The types of some values, and the values, those that are not plain as their own hashables."""
    kinds = tuple(map(type, members))
    if _WITH_TYPE.issuperset(kinds):
        return kinds, tuple(members)
    values = list(members)
    for place in _unplain(kinds):
        values[place] = plain(values[place], levels - 1)
    return kinds, tuple(values)


def _is_small(array: np.generic | np.ndarray[Any, Any]) -> bool:
    return array.nbytes <= _MOST_ARRAY_BYTES and not array.dtype.hasobject
