"""Logical arrays to raw physical bytes and back, element by element from the descriptor's sizes, strides and offset."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.desc import TensorDesc
from restride.errors import DescriptorError
from restride.reference.arguments import as_array, describe

_MAX_BYTES = 1 << 62


def element_bytes(desc: TensorDesc) -> np.ndarray[Any, Any]:
    """Byte positions of every element: int64 of shape ``(*sizes, itemsize)``.

    ``(offset + sum(index[a] * strides[a] for a in axes)) * itemsize + byte``. Strides and offset count elements.
    ``f32[2,3]{strides=(1,2)}``: element (1, 2) starts at byte (1 * 1 + 2 * 2) * 4 = 20.

    Raises:
        DescriptorError: the descriptor has no strides, or an element lies before the buffer or past 2^62 bytes.
    """
    strides = desc.strides
    if strides is None:
        raise DescriptorError(f"the reference reads layouts of sizes and strides, not {desc}")
    sizes, itemsize = tuple(desc.sizes), np.dtype(desc.dtype).itemsize
    if 0 not in sizes:
        # Python integers first, so that the int64 arithmetic below cannot wrap.
        reach = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
        first = desc.offset + sum(step for step in reach if step < 0)
        last = desc.offset + sum(step for step in reach if step > 0)
        if first < 0 or last * itemsize >= _MAX_BYTES:
            raise DescriptorError(f"elements [{first}, {last}] of {desc} must lie in [0, 2^62) bytes")
    positions = np.zeros(sizes, np.int64)
    if positions.size:
        positions += desc.offset
        for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            along = [1] * len(sizes)
            along[axis] = size
            # An axis of one element never moves, whatever its stride says.
            positions += (np.arange(size, dtype=np.int64) * (stride if size > 1 else 0)).reshape(along)
    return positions[..., None] * itemsize + np.arange(itemsize)


def to_buffer(array: Any, desc: TensorDesc, buffer: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
    """Scatter a logical array into raw bytes.

    Args:
        array: array of ``desc.sizes`` and ``desc.dtype``.
        desc: where each element lies. Where several elements share a place (zero strides), one of them stays.
        buffer: 1-D uint8 to write into, at least ``desc.nbytes``; bytes outside the elements are kept.
            Default: zeros, just large enough.

    Returns:
        ``buffer``, as given or new.
    """
    elements = as_array(array)
    if elements.shape != tuple(desc.sizes) or desc.dtype != elements.dtype:
        raise DescriptorError(f"array {describe(elements)} must have the sizes and element type of {desc}")
    positions = element_bytes(desc)
    needed = int(positions.max()) + 1 if positions.size else 0
    if buffer is None:
        buffer = np.zeros(needed, np.uint8)
    _require_buffer(buffer, needed, desc)
    # reshape(-1) first: a view to bytes needs contiguous elements, and rank 0 has no axis to split.
    buffer[positions.reshape(-1)] = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    return buffer


def from_buffer(buffer: np.ndarray[Any, Any], desc: TensorDesc) -> np.ndarray[Any, Any]:
    """Gather a logical array of ``desc.sizes`` from raw bytes (1-D uint8); a new array."""
    positions = element_bytes(desc)
    _require_buffer(buffer, int(positions.max()) + 1 if positions.size else 0, desc)
    raw: np.ndarray[Any, Any] = buffer[positions.reshape(-1)].view(np.dtype(desc.dtype))
    return raw.reshape(tuple(desc.sizes))


def _require_buffer(buffer: np.ndarray[Any, Any], needed: int, desc: TensorDesc) -> None:
    if buffer.dtype != np.uint8 or buffer.ndim != 1:
        raise DescriptorError(f"buffer must be 1-D uint8, not {buffer.dtype} of sizes {list(buffer.shape)}, for {desc}")
    if buffer.size < needed:
        raise DescriptorError(f"buffer of {buffer.size} bytes is smaller than the {needed} bytes of {desc}")
