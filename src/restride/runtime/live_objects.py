"""LiveObjects: the objects that are still alive, listed at any time, whatever other threads add or drop meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class LiveObjects(Generic[T]):
    """Refers to its members weakly and compares them by identity.

    A ``WeakSet`` raises where another thread adds to it during an iteration; this one iterates over a copy that is made
    in one step.
    """

    def __init__(self) -> None:
        self._members: WeakValueDictionary[int, T] = WeakValueDictionary()

    def add(self, member: T) -> None:
        """List it from now on, while it lives."""
        self._members[id(member)] = member

    def discard(self, member: T) -> None:
        """List it no more."""
        self._members.pop(id(member), None)

    def __iter__(self) -> Iterator[T]:
        members = [reference() for reference in self._members.valuerefs()]
        return iter([member for member in members if member is not None])
