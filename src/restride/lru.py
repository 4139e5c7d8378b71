"""LRU: a cache of the values used last, by key, for several threads without a lock."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LRU(Generic[Value]):
    """A cache of the last ``most`` values that were used, or at least half as many.

    It holds fewer if several threads put at once. A value with a ``weight`` counts as that many.

    A value that is used joins the young half. When that is full it becomes the old half, and the previous old half is
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
