"""Recent: values by key, the last that were used, found again without an order to keep."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The last ``most`` values that were used, or at least half of them; fewer where several threads keep at once.

    A value that takes much memory may count for several.

    They are in two halves. What is used joins the young one; when that is full it becomes the old one, and the old one
    is forgotten whole.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._count = 0
        self._young: dict[Hashable, Value] = {}
        self._old: dict[Hashable, Value] = {}

    def get(self, key: Hashable) -> Value | None:
        """What was kept; None: nothing was, or not lately."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: Hashable, value: Value) -> None:
        """Have a value found from now on; it counts for ``value.weight``, where it has one, else for one."""
        if self._count >= self._half:
            self._count, self._young, self._old = 0, {}, self._young
        self._young[key] = value
        self._count += getattr(value, "weight", 1)

    def clear(self) -> None:
        """Forget everything."""
        self._count, self._young, self._old = 0, {}, {}
