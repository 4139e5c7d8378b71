"""An open file descriptor that is closed with the object that has it."""

from __future__ import annotations

import os
from array import array


class OpenFile:
    """A place for a file descriptor, which is closed at the latest when nothing refers to this object.

    The object exists before the descriptor does, so that an interrupt never leaves a descriptor without an owner.

    place: one C int, the descriptor, or -1 for none; a driver writes it.
    """

    __slots__ = ("place",)

    def __init__(self, fd: int = -1) -> None:
        self.place = array("i", [fd])

    @property
    def fd(self) -> int:
        """The descriptor, or -1: there is none yet, or it was closed or released."""
        return self.place[0]

    def release(self) -> int:
        """The descriptor, which is the caller's from now on."""
        fd, self.place[0] = self.place[0], -1
        return fd

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        fd = self.release()
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        # An object whose creation failed has no attributes.
        if hasattr(self, "place"):
            self.close()
