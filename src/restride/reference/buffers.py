"""Logical arrays to raw physical bytes and back: elements, padding values and zeros where the layout has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.desc import TensorDesc
from restride.errors import DescriptorError
from restride.reference.arguments import as_array, describe
from restride.reference.memory import element_positions, extent, is_whole, memory_line
from restride.reference.rounding import round_once


def element_bytes(desc: TensorDesc) -> np.ndarray[Any, Any]:
    """Byte positions of every element: int64 of shape ``(*sizes, itemsize)``.

    ``f32[2,3]{strides=(1,2)}``: element (1, 2) lies at 5 and starts at byte 20; ``f32[3,5]{1,0:T(2,2)}``: element
    (2, 3) lies at 17 and starts at byte 68.

    Raises:
        DescriptorError: strides lead before the buffer or past 2^62 bytes.
    """
    itemsize = desc.dtype.itemsize
    starts: np.ndarray[Any, Any] = element_positions(desc)[..., None] * itemsize
    return starts + np.arange(itemsize)


def to_buffer(array: Any, desc: TensorDesc, buffer: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
    """Scatter a logical array into raw bytes, as an operation that writes to ``desc`` does.

    Args:
        array: array of ``desc.sizes`` and ``desc.dtype``.
        desc: where each element lies. A whole layout is written with its padding, ``padding_value`` and zeros; of a
            view and of strides only the elements are. Where several elements share a place (zero strides), one of them
            stays.
        buffer: 1-D uint8 to write into, at least ``desc.nbytes``; bytes that are not written are kept. Default: zeros,
            just large enough.

    Returns:
        ``buffer``, as given or new.

    Raises:
        DescriptorError: the array or the buffer does not fit ``desc``.
    """
    elements = as_array(array)
    if elements.shape != tuple(desc.sizes) or desc.dtype != elements.dtype:
        raise DescriptorError(f"array {describe(elements)} must have the sizes and element type of {desc}")
    # reshape(-1) first: a view to bytes needs contiguous elements, and rank 0 has no axis to split.
    raw = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    needed = extent(desc) * desc.dtype.itemsize
    if buffer is None:
        buffer = np.zeros(needed, np.uint8)
    _require_buffer(buffer, needed, desc)
    if is_whole(desc):
        buffer[:needed] = _image(raw, desc)
    else:
        buffer[element_bytes(desc).reshape(-1)] = raw
    return buffer


def from_buffer(buffer: np.ndarray[Any, Any], desc: TensorDesc) -> np.ndarray[Any, Any]:
    """Gather a logical array of ``desc.sizes`` from raw bytes (1-D uint8, at least ``desc.nbytes``); a new array."""
    _require_buffer(buffer, extent(desc) * desc.dtype.itemsize, desc)
    raw: np.ndarray[Any, Any] = buffer[element_bytes(desc).reshape(-1)].view(np.dtype(desc.dtype))
    return raw.reshape(tuple(desc.sizes))


def _image(raw: np.ndarray[Any, Any], desc: TensorDesc) -> np.ndarray[Any, Any]:
    """All bytes of a whole layout whose elements, in row-major order, are ``raw``."""
    dtype = np.dtype(desc.dtype)
    if desc.dtype.is_float:
        padding = round_once(np.array([desc.padding_value], np.float64), dtype)
    else:
        padding = np.array([desc.padding_value], dtype)  # no float64 between: u64 counts past 2^53
    # The memory line counts both from the end: -1 is zero, -2 the padding value.
    last_two = np.concatenate((padding.view(np.uint8), np.zeros(dtype.itemsize, np.uint8)))
    known = np.concatenate((raw, last_two)).reshape(-1, dtype.itemsize)
    return known[memory_line(desc)].reshape(-1)


def _require_buffer(buffer: np.ndarray[Any, Any], needed: int, desc: TensorDesc) -> None:
    if buffer.dtype != np.uint8 or buffer.ndim != 1:
        raise DescriptorError(f"buffer must be 1-D uint8, not {buffer.dtype} of sizes {list(buffer.shape)}, for {desc}")
    if buffer.size < needed:
        raise DescriptorError(f"buffer of {buffer.size} bytes is smaller than the {needed} bytes of {desc}")
