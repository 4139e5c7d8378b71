"""Caches that several threads share without a lock: of the values used last, by key, and of computed attributes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class LRU(Generic[Value]):
    """A cache of the values that were used last: at most ``most`` of them, at least half as many.

    It may hold fewer if several threads put values at once. A value with a ``weight`` counts as that many values.

    A value that is used joins the young half. A full young half becomes the old half, and the previous old half is
    dropped as a whole: no order has to be maintained at each use, and no lock is needed.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._count = 0
        self._young: dict[Hashable, Value] = {}
        self._old: dict[Hashable, Value] = {}

    def get(self, key: Hashable) -> Value | None:
        """The value stored under ``key``; None: there is none, or it was dropped."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: Hashable, value: Value) -> None:
        """Store ``value`` under ``key``; it counts as ``value.weight``, or as 1 without a weight."""
        if self._count >= self._half:
            self._count, self._young, self._old = 0, {}, self._young
        self._young[key] = value
        self._count += getattr(value, "weight", 1)

    def clear(self) -> None:
        """Drop everything."""
        self._count, self._young, self._old = 0, {}, {}


class cached_property(Generic[Value]):  # noqa: N801 - named as in functools, whose own has no lock from Python 3.12 on
    """A method as an attribute, computed at its first use and kept in the ``__dict__`` of its object.

    Two threads may both compute it, because there is no lock. In ``functools.cached_property`` of Python 3.11, the lock
    takes most of the time.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
