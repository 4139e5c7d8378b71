"""Spelled: a descriptor as it was written, as a value that is hashed once: what plans are found again by."""

from __future__ import annotations


class Spelled:
    """What tells a descriptor from every other one: what lies where, and how that was written."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, hashed: int, *parts: object) -> None:
        self._hash = hashed
        self._parts = parts

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and self._parts == other._parts
