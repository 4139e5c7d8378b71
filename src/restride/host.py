"""Host arrays as contiguous bytes to upload, and the strides that find the elements in them.

numpy moves runs of bytes here and nothing else: an array that is transposed, reversed, or sliced is uploaded as the
span of memory it lies in, and the device walks it by strides. A span of mostly foreign bytes is closed up first: a
100-column window of a 4096-column image is 4096 runs of 100, not 4096 of 4096.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.desc import TensorDesc
from restride.dlpack import array_from_dlpack
from restride.errors import DescriptorError

_LARGEST_SPARSITY = 2
"""Bytes uploaded for one that an element needs."""


def host_array(value: Any) -> npt.NDArray[Any]:
    """``value`` as a plain numpy array over its own memory, where it has any.

    Raises:
        DescriptorError: numpy makes no array of it, a mask would be lost, or its DLPack memory is not on the host.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise DescriptorError(
            f"array is masked, and a tensor has no mask: pass array.filled(...), for sizes {value.shape}"
        )
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__"):
        return array_from_dlpack(value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise DescriptorError(f"array: numpy makes none of this {type(value).__name__}: {error}") from error


def raw_view(raw_bytes: Any, desc: TensorDesc) -> memoryview:
    """The bytes of a contiguous buffer, for a tensor of ``desc``.

    Raises:
        DescriptorError: it is no buffer, or not contiguous.
    """
    if isinstance(raw_bytes, np.ndarray) and raw_bytes.flags.c_contiguous:
        # memoryview knows neither ml_dtypes' types nor how to cast an array without elements.
        return memoryview(raw_bytes.tobytes() if not raw_bytes.size else raw_bytes.reshape(-1).view(np.uint8))
    try:
        return memoryview(raw_bytes).cast("B")
    except (TypeError, ValueError) as error:
        raise DescriptorError(
            f"raw_bytes must be a contiguous buffer, got {type(raw_bytes).__name__} for {desc}: {error}"
        ) from error


@dataclass(frozen=True)
class HostBytes:
    """``data``, 1-D and contiguous, and where the elements are in it: byte offset of index 0 and byte strides."""

    data: npt.NDArray[np.uint8]
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Walk:
    """One axis, walked upwards in memory."""

    axis: int
    size: int
    stride: int


def host_bytes(array: npt.NDArray[Any]) -> HostBytes:
    """The bytes to upload for ``array``, of any strides, with at least one element.

    Example: ``np.arange(6, dtype=np.uint16)[::-2]`` reads bytes 2 to 12 of its base (elements 5, 3, 1): data of 10
    bytes, offset 8, stride -4.
    """
    walks = [
        _Walk(axis, size, abs(stride))
        for axis, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True))
        if size > 1 and stride
    ]
    walks.sort(key=lambda walk: walk.stride)
    block, outer = _densest_block(walks, array.itemsize)
    lowest = array[tuple(slice(-1, None) if stride < 0 else slice(0, 1) for stride in array.strides)]
    runs = np.lib.stride_tricks.as_strided(
        lowest.reshape(1).view(np.uint8),
        shape=(*(walk.size for walk in reversed(outer)), block),
        strides=(*(walk.stride for walk in reversed(outer)), 1),
        writeable=False,
    )
    strides = dict.fromkeys(range(array.ndim), 0)
    strides.update({walk.axis: walk.stride for walk in walks})
    step = block
    for walk in outer:
        strides[walk.axis] = step
        step *= walk.size
    signed = tuple(
        -strides[axis] if array_stride < 0 else strides[axis] for axis, array_stride in enumerate(array.strides)
    )
    offset = -sum((size - 1) * stride for size, stride in zip(array.shape, signed, strict=True) if stride < 0)
    return HostBytes(np.ascontiguousarray(runs).reshape(-1), offset, signed)


def _densest_block(walks: list[_Walk], itemsize: int) -> tuple[int, list[_Walk]]:
    """Bytes of the run that is uploaded as it is, and the axes outside it, whose gaps are closed up."""
    block, needed = itemsize, itemsize
    for position, walk in enumerate(walks):
        span = block + (walk.size - 1) * walk.stride
        needed *= walk.size
        if span > _LARGEST_SPARSITY * needed and not _only_rows_left(walks[position:], block):
            return block, walks[position:]
        block = span
    return block, []


def _only_rows_left(walks: list[_Walk], block: int) -> bool:
    # Tiny runs cost numpy more than the bytes between them: 2000 single floats 8 bytes apart go up as one span.
    span = block + sum((walk.size - 1) * walk.stride for walk in walks)
    return span <= _LARGEST_SPARSITY * block * math.prod(walk.size for walk in walks) * 8
