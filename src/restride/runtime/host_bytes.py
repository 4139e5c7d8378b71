"""The host's side of a transfer: contiguous buffers as plain bytes, bounds checks, and the copy."""

from __future__ import annotations

import numpy as np

from restride.errors import DescriptorError
from restride.runtime.interface import Memory

_NUMPY_BYTES = 1 << 16
"""From this size on numpy copies: it releases the GIL, which a memoryview does not."""


def as_bytes(view: memoryview) -> memoryview:
    """The same bytes, one-dimensional.

    Raises:
        DescriptorError: the view is not C-contiguous.
    """
    if view.format == "B" and view.ndim == 1 and view.c_contiguous:
        return view
    if not view.c_contiguous:
        raise DescriptorError(f"the host's buffer must be contiguous, its strides are {view.strides}")
    # A view with a size of 0 cannot be cast.
    return view.cast("B") if view.nbytes else memoryview(bytearray())


def writable_bytes(out: memoryview) -> memoryview:
    """``as_bytes`` of a buffer to read into.

    Raises:
        DescriptorError: it is read-only, or not C-contiguous.
    """
    if out.readonly:
        raise DescriptorError(f"the buffer to read into, out, of {out.nbytes} bytes, is read-only")
    return as_bytes(out)


def require_inside(memory: Memory, offset: int, nbytes: int) -> None:
    """Raise DescriptorError unless the bytes lie in the memory."""
    if offset < 0 or offset + nbytes > memory.nbytes:
        raise DescriptorError(f"bytes [{offset}, {offset + nbytes}) leave a memory of {memory.nbytes} bytes")


def require_writable(memory: Memory) -> None:
    """Raise DescriptorError if the memory was imported: other data lies in the same pages."""
    if memory.readonly:
        raise DescriptorError(f"a memory of {memory.nbytes} bytes was imported from the host, and is only read")


def require_copy(src: Memory, dst: Memory, nbytes: int, src_offset: int, dst_offset: int) -> None:
    """Raise DescriptorError unless bytes of one memory can be copied into another."""
    if src is dst:
        raise DescriptorError(f"source and destination of a copy are the same memory of {src.nbytes} bytes")
    if nbytes < 0:
        raise DescriptorError(f"a copy has 0 bytes or more, nbytes is {nbytes}")
    require_inside(src, src_offset, nbytes)
    require_inside(dst, dst_offset, nbytes)


def copy_bytes(target: memoryview, source: memoryview) -> None:
    """Copy as many bytes as both have."""
    if len(source) < _NUMPY_BYTES:
        target[:] = source
    else:
        np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8))
