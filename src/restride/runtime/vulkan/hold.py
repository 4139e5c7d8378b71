"""Who holds a block: the memory that was allocated, and numpy arrays over its bytes; the last of them gives it back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError
from restride.runtime.interface import rounded
from restride.runtime.vulkan.memory import Block
from restride.runtime.vulkan.session import Session


class Hold:
    """A block, given back when nobody refers to this any more. nbytes: what it counts for as memory in use."""

    __slots__ = ("block", "nbytes", "session")

    def __init__(self, session: Session, block: Block, nbytes: int) -> None:
        self.session = session
        self.block = block
        self.nbytes = nbytes

    def __del__(self) -> None:
        # A copy that failed half-way holds nothing at all.
        if hasattr(self, "nbytes"):
            self.session.take_back(self.nbytes, self.block)


class VulkanMemory:
    """Bytes on the device of one runtime.

    size: bytes as the device has them. readonly: they are the host's own, which nothing but the host writes.
    """

    __slots__ = ("__weakref__", "_held", "nbytes", "readonly", "session", "size")

    def __init__(self, hold: Hold, nbytes: int) -> None:
        self.session = hold.session
        self.nbytes = nbytes
        self.size = rounded(nbytes)
        self.readonly = hold.block.chunk.owner is not None
        self._held = [hold]

    @property
    def hold(self) -> Hold:
        """Where the bytes are, for as long as the result is referred to.

        Raises:
            DescriptorError: the memory was freed.
        """
        try:
            return self._held[0]
        except IndexError:
            raise DescriptorError(f"this memory of {self.nbytes} bytes was freed") from None

    @property
    def block(self) -> Block:
        """Where the bytes are.

        Raises:
            DescriptorError: the memory was freed.
        """
        return self._held[0].block if self._held else self.hold.block

    def free(self) -> None:
        """Give the bytes back, once the device no longer uses them and no array lies over them."""
        self._held.clear()


class _Bytes:
    """What numpy reads ``__array_interface__`` of and then keeps as the base of an array: it keeps the hold."""

    def __init__(self, hold: Hold, nbytes: int) -> None:
        self._hold = hold
        address = np.asarray(hold.block.view(0, nbytes)).ctypes.data
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, True),
        }


def bytes_over(hold: Hold, nbytes: int) -> npt.NDArray[np.uint8]:
    """The first bytes of a block that the host sees, as a read-only array. It, and every view of it, holds the block.

    Nobody can make it writable: its base hands out read-only memory. A device that is closed meanwhile keeps the block.
    """
    if hold.block.chunk.owner is None:
        hold.session.lend(hold.block)
    return np.asarray(_Bytes(hold, nbytes))
