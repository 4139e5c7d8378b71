"""Bytes taken of each memory heap by all open devices of the process, and of what one device may take at most."""

from __future__ import annotations

import threading
from typing import Protocol

from restride.runtime.instance import PhysicalDevice
from restride.runtime.live_objects import LiveObjects


class Holder(Protocol):
    """An open device with idle memory."""

    def trim_if_free(self) -> None:
        """Give idle memory back to the driver, unless a thread is busy here. Never waits."""


class HeapBudget:
    """One heap, or what one device may take: its bytes, and how many of them are taken.

    name: what a refusal calls it.
    """

    def __init__(self, heap_bytes: int, name: str = "heap") -> None:
        self.heap_bytes = heap_bytes
        self.name = name
        self.used = 0
        self._lock = threading.Lock()
        self._holders: LiveObjects[Holder] = LiveObjects()

    def reserve(self, nbytes: int, most: int | None = None) -> bool:
        """Take the bytes; False: more than ``most``, by default the whole heap, would be taken."""
        with self._lock:
            fits = self.used + nbytes <= (self.heap_bytes if most is None else most)
            if fits:
                self.used += nbytes
            return fits

    def release(self, nbytes: int) -> None:
        """Give bytes back."""
        with self._lock:
            self.used -= nbytes

    def join(self, holder: Holder) -> None:
        """Have ``make_room`` ask ``holder`` too."""
        self._holders.add(holder)

    def make_room(self) -> None:
        """Ask every holder to give back its idle memory; one whose lock another thread holds does nothing."""
        for holder in self._holders:
            holder.trim_if_free()


_budgets: dict[tuple[int, int], HeapBudget] = {}


def limit_budgets(memory_limit: int | None) -> tuple[HeapBudget, ...]:
    """The budget of one device that may take ``memory_limit`` bytes; none without a limit."""
    return () if memory_limit is None else (HeapBudget(memory_limit, "memory_limit"),)


def shared_budget(physical: PhysicalDevice, heap: int) -> HeapBudget:
    """The budget of a device's heap, one for the whole process."""
    return _budgets.setdefault((physical.info.index, heap), HeapBudget(physical.heap_sizes[heap]))
