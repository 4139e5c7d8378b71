"""LiveObjects: the objects that are still alive; iterating is safe while other threads add or drop some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class LiveObjects(Generic[T]):
    """A set that refers to its members weakly and compares them by identity.

    A ``WeakSet`` raises if another thread adds to it during an iteration; this one iterates over a copy taken in one
    step.
    """

    def __init__(self) -> None:
        self._members: WeakValueDictionary[int, T] = WeakValueDictionary()

    def add(self, member: T) -> None:
        """Add ``member``, which stays listed while it is alive."""
        self._members[id(member)] = member

    def discard(self, member: T) -> None:
        """Remove ``member``, if it is listed."""
        self._members.pop(id(member), None)

    def __iter__(self) -> Iterator[T]:
        members = [reference() for reference in self._members.valuerefs()]
        return iter([member for member in members if member is not None])
