"""LaidOut: raw bytes as a stream's destination, in any layout whose outermost blocks are consecutive."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from restride.arguments import require_unmasked
from restride.dtypes import Array
from restride.errors import DescriptorError
from restride.layout import TensorDesc, as_desc
from restride.layout.argument import family
from restride.ops.reorder import reorder
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.tensor import as_device

_CHUNK = 16 << 20
"""Size in bytes of a chunk, if the outermost blocks are smaller."""

_MAX_OF_BLOCK = 1 << 12
"""Maximum number of indices of an outermost block that the search considers."""


class LaidOut:
    """Raw bytes that ``rs.stream`` fills with a result in a layout: a file of weights in ``OIhw16i16o``, or in tiles.

    Its chunks consist of outermost blocks of the layout, each one run of bytes, padding included. Writing a chunk takes
    twice its bytes on the device, besides the ``memory`` of the stream. A layout whose outermost blocks are not
    consecutive, such as one with padded sizes, is one chunk.

    Args:
        raw: the bytes, written by ``__setitem__`` with one slice: as many uint8 as the layout has bytes.
        desc: the layout, or its text.
        device: where to convert to the layout; default: ``rs.default_device()``.

    Raises:
        DescriptorError: ``raw`` is not uint8, has another length, or is masked.

    Example:
        >>> weights = np.arange(20 * 3, dtype=np.float32).reshape(20, 3, 1, 1)
        >>> laid_out = rs.LaidOut(np.zeros(32 * 16 * 4, np.uint8), "f32[20,3,1,1]:OIhw16i16o")
        >>> rs.stream(weights, laid_out).chunks
        1
        >>> bool((laid_out.raw == rs.reorder(weights, "OIhw16i16o").buffer()).all())
        True
    """

    def __init__(self, raw: Any, desc: TensorDesc | str, device: Device | None = None) -> None:
        require_unmasked("raw", raw)
        self.raw = raw
        self.desc = as_desc(desc)
        self.device = as_device(device)
        dtype, shape = getattr(raw, "dtype", None), list(getattr(raw, "shape", ()))
        if dtype != np.uint8 or shape != [self.desc.nbytes]:
            kind = type(raw).__name__ if dtype is None else f"{dtype}{shape}"
            raise DescriptorError(f"raw must be {self.desc.nbytes} bytes, as uint8, for {self.desc}, got {kind}")
        self._axis, self._block, self._nbytes = _outermost(self.desc)
        blocks = max(_CHUNK // max(self._nbytes, 1), 1)
        self.chunks = tuple(
            min(self._block * blocks, size) or 1 if axis == self._axis else max(size, 1)
            for axis, size in enumerate(self.desc.sizes)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the layout."""
        return self.desc.sizes

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the layout, as a numpy type."""
        return self.desc.dtype.dtype

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError("a LaidOut is only written; rs.from_buffer(raw, desc) reads it")

    def __setitem__(self, key: tuple[slice, ...], elements: Array) -> None:
        """Write whole outermost blocks."""
        sizes = np.shape(elements)
        start = key[self._axis].start if sizes else 0
        is_all = sizes == self.desc.sizes
        others = [size for axis, size in enumerate(sizes) if axis != self._axis]
        whole = [size for axis, size in enumerate(self.desc.sizes) if axis != self._axis]
        stop = start + sizes[self._axis] if sizes else 0
        if not is_all and (others != whole or start % self._block or not self._is_end(stop)):
            raise DescriptorError(
                f"chunks must be whole blocks of {self._block} along axis {self._axis}, got {key}, for {self.desc}"
            )
        layout = self.desc if is_all else family(self.desc, sizes)
        laid = reorder(asarray(elements, device=self.device), layout).buffer()[: layout.nbytes]
        first = start // self._block * self._nbytes
        self.raw[first : first + layout.nbytes] = laid

    def flush(self) -> None:
        """Flush ``raw``, if it has a buffer."""
        flush = getattr(self.raw, "flush", None)
        if callable(flush) and not isinstance(self.raw, np.memmap):
            flush()

    def _is_end(self, stop: int) -> bool:
        return stop % self._block == 0 or stop == self.desc.sizes[self._axis]


def _outermost(desc: TensorDesc) -> tuple[int, int, int]:
    """The axis whose blocks are consecutive, and how many of its indices and how many bytes a block has.

    f32[64,32,3,3]:OIhw16i16o: axis 0, 16 indices, and 16 * 32 * 9 * 4 bytes. Without such an axis, all is one block.
    """
    for axis, size in enumerate(desc.sizes):
        for block in range(1, min(size, _MAX_OF_BLOCK + 1)):
            sizes = [block if at == axis else other for at, other in enumerate(desc.sizes)]
            slab = family(desc, sizes)
            if -(-size // block) * slab.nbytes == desc.nbytes and _repeats(desc, slab, axis, block):
                return axis, block, slab.nbytes
    return 0, max((*desc.sizes[:1], 1)), desc.nbytes


def _repeats(desc: TensorDesc, slab: TensorDesc, axis: int, block: int) -> bool:
    """True if elements have the same place in every block; checks the corners of the first, second and last block."""
    if not desc.numel:
        return False
    last = (desc.sizes[axis] - 1) // block
    for number in {0, 1, last}:
        for at in range(1 << desc.rank):
            index = [(size - 1) * (at >> place & 1) for place, size in enumerate(slab.sizes)]
            inside = desc.sizes[axis] - number * block
            index[axis] = min(index[axis], inside - 1)
            there = list(index)
            there[axis] += number * block
            if desc.offset_of(there) * desc.dtype.itemsize != (
                number * slab.nbytes + slab.offset_of(index) * desc.dtype.itemsize
            ):
                return False
    return True
