"""A case as a driver sees it: buffers, SPIR-V, dispatches, copies, barriers, and what must be in buffers afterwards.

Plain values, free of restride's runtime. The code that writes a reproducer, in C or for another tool, reads only these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restride.dtypes import Array, DType
from restride.reference.comparison import bits_of


@dataclass(frozen=True, eq=False)
class Buffer:
    """A storage buffer. contents: its bytes before the first step, guards included; a multiple of 16 of them."""

    name: str
    contents: Array


@dataclass(frozen=True)
class BoundRange:
    """The bytes ``[offset, offset + nbytes)`` of the buffer of this index that a dispatch sees, and may write."""

    buffer: int
    offset: int
    nbytes: int
    writes: bool


@dataclass(frozen=True)
class Dispatch:
    """One dispatch. Its bindings are numbers 0 to n-1 of descriptor set 0; its entry point is ``main``.

    module: a key of ``Program.modules``.
    constants: the specialization constants that the driver puts into the module, each at the index of its id; () for
        most modules, whose constants are put in before a driver sees them.
    given: all specialization constants of the module, whoever puts them in.
    push: push constants as uint32.
    barrier: there is a barrier before the dispatch, which orders all earlier steps before it and all later ones.
    """

    module: str
    constants: tuple[int, ...]
    given: tuple[int, ...]
    push: tuple[int, ...]
    groups: tuple[int, int, int]
    bindings: tuple[BoundRange, ...]
    barrier: bool


@dataclass(frozen=True)
class Copy:
    """The device's own copy of bytes from one buffer, by its index, to another."""

    src: int
    dst: int
    src_offset: int
    dst_offset: int
    nbytes: int
    barrier: bool


@dataclass(frozen=True, eq=False)
class Check:
    """What is right after the last step.

    destination: the index of the buffer with the result.
    expected: the bytes of that buffer.
    judged: a mask of the bytes that must be as expected: guards, padding, and the bytes of elements, unless ``lowest``
        and ``highest`` judge those.
    dtype: of the elements.
    places: the position in the buffer of the first byte of each element, as uint64, with the shape ``sizes``.
    lowest, highest: the elements between which each element is right, as in ``reference.comparison.within``; None where
        the result is exact.
    unchanged: the indices of other buffers whose bytes must be as before.
    """

    destination: int
    expected: Array
    judged: Array
    dtype: DType
    places: Array
    unchanged: tuple[int, ...]
    lowest: Array | None = None
    highest: Array | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the result."""
        shape: tuple[int, ...] = self.places.shape
        return shape

    @property
    def is_exact(self) -> bool:
        """True if each element has one right value."""
        return self.lowest is None

    @cached_property
    def element_bytes(self) -> Array:
        """A mask of the bytes of the destination that belong to elements."""
        mask = np.zeros(self.expected.size, np.bool_)
        for byte in range(self.dtype.itemsize):
            mask[self.places.reshape(-1) + np.uint64(byte)] = True
        return mask

    @property
    def limits(self) -> tuple[Array, Array]:
        """The bits of the lowest and the highest element, in logical order; the same where the result is exact."""
        if self.lowest is None or self.highest is None:
            positions = self.places.reshape(-1, 1) + np.arange(self.dtype.itemsize, dtype=np.uint64)
            bits = self.expected[positions].view(f"<u{self.dtype.itemsize}").reshape(self.sizes)
            return bits, bits
        return bits_of(self.lowest), bits_of(self.highest)


@dataclass(frozen=True, eq=False)
class Program:
    """A case as a driver sees it.

    line: the case.
    modules: SPIR-V by name, as the driver gets it.
    buffers: in the order in which they are made; the source is the first.
    steps: in order, in one command buffer.
    """

    line: str
    modules: Mapping[str, bytes]
    buffers: tuple[Buffer, ...]
    steps: tuple[Dispatch | Copy, ...]
    check: Check
