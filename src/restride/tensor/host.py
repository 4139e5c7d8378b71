"""Host arrays as contiguous bytes to upload, and the strides that find the elements in them.

numpy moves runs of bytes here and nothing else: an array that is transposed, reversed, or sliced is uploaded as the
span of memory it lies in, and the device walks it by strides. A span of mostly foreign bytes is closed up first: a
100-column window of a 4096-column image is 4096 runs of 100, not 4096 of 4096.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc
from restride.tensor.dlpack import array_from_dlpack

_WIDEST_GAP = 16
"""Bytes between two runs that are uploaded with them; a wider gap costs more than it costs numpy to start a run."""


def host_array(value: Any) -> npt.NDArray[Any]:
    """``value`` as a plain numpy array over its own memory, where it has any.

    Raises:
        DescriptorError: it is None, a path or bytes, numpy makes no array of it, a mask would be lost, or its DLPack
            memory is not on the host.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise DescriptorError(
            f"array is masked, and a tensor has no mask: pass array.filled(...), for sizes {value.shape}"
        )
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__"):
        return array_from_dlpack(value)
    if isinstance(value, str | PathLike):
        raise DescriptorError(
            f"array is the text {value!s:.60}, and no array: np.asarray(PIL.Image.open(path).convert('RGB')) reads "
            f"a file of an image"
        )
    if isinstance(value, bytes):
        raise DescriptorError(
            f"array is {len(value)} bytes, and no array: np.frombuffer(raw, np.uint8).reshape(rows, columns, 3) makes "
            f"one, of a frame of video .reshape(rows * 3 // 2, columns)"
        )
    if value is None:
        raise DescriptorError("array is None, and no array: cv2.imread, for one, gives None for what it cannot read")
    try:
        return np.asarray(value)
    except ValueError as error:
        raise DescriptorError(f"array: numpy makes none of this {type(value).__name__}: {error}") from error


def require_own_memory(value: Any) -> None:
    """Refuse what ``host_array`` makes a copy of, as of a list.

    Raises:
        UnsupportedError: it is neither a numpy array nor a DLPack tensor.
    """
    if not isinstance(value, np.ndarray) and not hasattr(value, "__dlpack__"):
        raise UnsupportedError(
            f"copy=False takes a numpy array or a DLPack tensor; numpy would copy this {type(value).__name__}"
        )


def raw_view(raw_bytes: Any, desc: TensorDesc) -> memoryview:
    """The bytes of a contiguous buffer, for a tensor of ``desc``.

    Raises:
        DescriptorError: it is no buffer, or not contiguous.
    """
    if isinstance(raw_bytes, np.ndarray) and raw_bytes.flags.c_contiguous:
        # memoryview knows neither ml_dtypes' types nor how to cast an array without elements.
        return raw_bytes.reshape(-1).view(np.uint8).data
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


def host_span(array: npt.NDArray[Any]) -> HostBytes:
    """The memory that ``array``, of any strides and at least one element, lies in: nothing is copied.

    Example: ``np.arange(6, dtype=np.uint16)[::-2]`` lies in bytes 2 to 12 of its base: data of 10 bytes, offset 8,
    stride -4.
    """
    strides = tuple(stride if size > 1 else 0 for size, stride in zip(array.shape, array.strides, strict=True))
    reaches = [(size - 1) * stride for size, stride in zip(array.shape, strides, strict=True)]
    nbytes = array.itemsize + sum(abs(reach) for reach in reaches)
    data = np.lib.stride_tricks.as_strided(_lowest(array), (nbytes,), (1,), writeable=False)
    return HostBytes(data, -sum(min(reach, 0) for reach in reaches), strides)


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
    run, outer = _run_and_outer_axes(walks, array.itemsize)
    if _span(run, outer) <= run * math.prod(walk.size for walk in outer):
        run, outer = _span(run, outer), []  # windows that overlap are fewer bytes as they lie
    runs = np.lib.stride_tricks.as_strided(
        _lowest(array),
        shape=(*(walk.size for walk in reversed(outer)), run),
        strides=(*(walk.stride for walk in reversed(outer)), 1),
        writeable=False,
    )
    strides = dict.fromkeys(range(array.ndim), 0)
    strides.update({walk.axis: walk.stride for walk in walks})
    step = run
    for walk in outer:
        strides[walk.axis] = step
        step *= walk.size
    signed = tuple(
        -strides[axis] if array_stride < 0 else strides[axis] for axis, array_stride in enumerate(array.strides)
    )
    offset = -sum((size - 1) * stride for size, stride in zip(array.shape, signed, strict=True) if stride < 0)
    return HostBytes(np.ascontiguousarray(runs).reshape(-1), offset, signed)


def _lowest(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The bytes of the element that lies lowest in memory. The dots keep an array without axes one."""
    lowest = (slice(-1, None) if stride < 0 else slice(0, 1) for stride in array.strides)
    return array[*lowest, ...].reshape(1).view(np.uint8)


def _run_and_outer_axes(walks: list[_Walk], itemsize: int) -> tuple[int, list[_Walk]]:
    """Bytes of a run that is uploaded as it lies, small gaps included, and the axes outside it."""
    run = itemsize
    for position, walk in enumerate(walks):
        if walk.stride - run > _WIDEST_GAP:
            return run, walks[position:]
        run += (walk.size - 1) * walk.stride
    return run, []


def _span(run: int, outer: list[_Walk]) -> int:
    return run + sum((walk.size - 1) * walk.stride for walk in outer)
