"""Remembered: what a call made is found again by the values of its arguments, where these are plain."""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from restride.desc import TensorDesc
from restride.dtypes import DType
from restride.kernel import Limits

Made = TypeVar("Made")

MOST_REMEMBERED = 512

_MOST_ARRAY_BYTES = 1 << 10
_MOST_MEMBERS = 64

_PLAIN = frozenset((type(None), str, bool))
"""Equal where calls are equal, as they are: an int has its type beside it, so that True is not 1."""

_IMMUTABLE = frozenset((int, Fraction, DType, Limits))
_IMMUTABLE_BASES = (type, np.dtype, Limits)
_LISTS = (tuple, list)


class _Call:
    """A call that compares by its key."""

    __slots__ = ("_hash", "key", "make")

    def __init__(self, key: tuple[Any, ...], make: Callable[[], Any]) -> None:
        self.key = key
        self.make = make
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self.key == other.key


class _NotPlainError(Exception):
    """An argument whose value may change, or is used up."""


def remembered(make: Callable[..., Made], **arguments: Any) -> Made:
    """``make(**arguments)``, from the last 512 calls if it was made then. Errors are not remembered."""
    try:
        values = list(arguments.values())
        for place in _unplain(tuple(map(type, values))):
            values[place] = plain(values[place])
        key = (make, *arguments, *values)
    except _NotPlainError:
        return make(**arguments)
    return _made(_Call(key, lambda: make(**arguments)))  # type: ignore[no-any-return] # lru_cache forgets the type


@lru_cache(maxsize=MOST_REMEMBERED)
def _unplain(kinds: tuple[type, ...]) -> tuple[int, ...]:
    """Places of the arguments that are not their own key: of twenty that an operation takes, a few."""
    return tuple(place for place, kind in enumerate(kinds) if kind not in _PLAIN)


@lru_cache(maxsize=MOST_REMEMBERED)
def _made(call: _Call) -> Any:
    return call.make()


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
    if kind is float:
        key = struct.pack("d", value)
    elif kind in _IMMUTABLE or isinstance(value, _IMMUTABLE_BASES):
        key = value
    elif kind is TensorDesc:
        key = value, value.spelling
    elif isinstance(value, _LISTS) and len(value) <= _MOST_MEMBERS and levels:
        key = tuple([plain(member, levels - 1) for member in value])
    elif kind is slice:
        key = plain((value.start, value.stop, value.step))
    elif (isinstance(value, np.generic) or kind is np.ndarray) and _is_small(value):
        key = value.dtype, value.shape, value.tobytes()
    else:
        raise _NotPlainError
    return kind, key


def _is_small(array: np.generic | np.ndarray[Any, Any]) -> bool:
    return array.nbytes <= _MOST_ARRAY_BYTES and not array.dtype.hasobject
