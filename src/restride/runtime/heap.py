"""Budgets in bytes: of each memory heap, shared by all open devices of the process, and of a device with a limit."""

from __future__ import annotations

import threading
from typing import Protocol

from restride.runtime.instance import PhysicalDevice
from restride.runtime.live_objects import LiveObjects


class Holder(Protocol):
    """An open device with idle memory."""

    def trim_if_free(self) -> None:
        """Give idle memory back to the driver, unless a thread is using this device. Never waits."""


class HeapBudget:
    """The size of one heap, or the most that one device may take, and the bytes taken of it.

    name: what an error message calls it.
    """

    def __init__(self, heap_bytes: int, name: str = "heap") -> None:
        self.heap_bytes = heap_bytes
        self.name = name
        self.used = 0
        self._lock = threading.Lock()
        self._holders: LiveObjects[Holder] = LiveObjects()

    def reserve(self, nbytes: int, most: int | None = None) -> bool:
        """Take ``nbytes``; return False, and take none, if more than ``most`` (None: the whole heap) would be taken."""
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
        """Let ``make_room`` ask ``holder`` too."""
        self._holders.add(holder)

    def make_room(self) -> None:
        """Ask every holder to give back its idle memory; a holder whose lock another thread has does nothing."""
        for holder in self._holders:
            holder.trim_if_free()


_budgets: dict[tuple[str, str, int], HeapBudget] = {}
"""By the UUIDs of device and driver and the number of the heap, which are the same in every VkInstance."""


def limit_budgets(memory_limit: int | None) -> tuple[HeapBudget, ...]:
    """The budget of one device that may take ``memory_limit`` bytes; empty without a limit."""
    return () if memory_limit is None else (HeapBudget(memory_limit, "memory_limit"),)


def shared_budget(physical: PhysicalDevice, heap: int) -> HeapBudget:
    """The budget of a device's heap, shared by the whole process."""
    whose = physical.info.uuid, physical.driver_uuid, heap
    return _budgets.setdefault(whose, HeapBudget(physical.heap_sizes[heap]))
