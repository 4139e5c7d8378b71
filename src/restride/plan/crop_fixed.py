"""Plan of crops in integers: boxes summed as a library sums bytes, into words, or pixels of bytes that are words.

Its tables say what shaders/crop_resize_fixed.comp reads: taps that the image has not stand behind the others, without
weight, and what they weigh goes to fill. Of weights 3, 5, 7 of elements -1, 0, 1 remain 5, 7, 0 from element 0 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.conversion import Conversion
from restride.plan.crops import (
    ALL_FILL,
    MOST_CHANNELS,
    Crops,
    Part,
    Walk,
    Walked,
    Words,
    by_rows,
    crop_kernels,
    dst_span,
    in_order,
    kernel_of,
    src_span,
    walked_axes,
)
from restride.plan.problem import Push, word
from restride.weights import BoxRows

ANYWHERE, BYTES, RUN, WORD = range(4)
"""Pixels of a source (``PIXELS`` in shaders/crop_resize_fixed.comp)."""

_HALF = 0xFFFF


def pixels_of_bytes(sizes: tuple[int, ...], channel: int | None) -> TensorDesc:
    """Bytes, packed, the channels of a pixel in one word if there are two to four, else each element in its own.

    u8[2,5,3], channels last: strides 20, 4, 1.
    """
    strides, apart = [0] * len(sizes), 4
    if channel is not None:
        in_word = sizes[channel] <= MOST_CHANNELS
        strides[channel] = 1 if in_word else 4
        apart = 4 if in_word else 4 * sizes[channel]
    for axis in reversed(range(len(sizes))):
        if axis != channel:
            strides[axis], apart = apart, apart * sizes[axis]
    return TensorDesc("u8", sizes, strides)


def fixed_crop_kernels(
    src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion, limits: Limits, first: int = 0
) -> Iterator[KernelSpec]:
    """Dispatches that make ``dst``, of elements of 32 bits or ``pixels_of_bytes``, with the shifts of ``crops``.

    Rows and columns have ``few_taps``, 2, and columns lose nothing; or it is 0, and rows have one tap, of weight 1.

    Raises:
        UnsupportedError: one box reads or makes more than a binding covers.
    """
    return crop_kernels(src, dst, crops, conversion, limits, first, _crop)


class _Pixels(NamedTuple):
    """What an invocation reads: how pixels lie, how many channels, and the first of these is the last byte."""

    kind: int
    channels: int
    backwards: bool = False


def _crop(part: Part) -> KernelSpec:
    src, dst, crops, conversion, limits, _ = part
    made = _in_words(dst)
    axes, channel = walked_axes(src, made, crops, conversion)
    lane = Walked(1, 0, 0) if channel is None else axes[channel]
    strides = [stride for place, stride in enumerate(src.strides or ()) if place + dst.rank - src.rank != channel]
    pixels = _pixels(src, crops, lane, strides, is_packed=dst.dtype.itemsize == 1)
    if channel is not None:
        axes[channel] = lane.by(pixels.channels)
    place_of_rows = crops.axes[0] + dst.rank - src.rank
    row = axes[place_of_rows]
    rows = by_rows(row)
    axes[place_of_rows] = row.by(rows)
    walk = Walk(in_order(axes), lane, row)
    src_window = src_span(src, crops, limits).window(src.dtype.itemsize, limits)
    dst_window = dst_span(made).window(4, limits, writes=True)
    src_base = src.offset - src_window.offset // src.dtype.itemsize - pixels.backwards * (pixels.channels - 1)
    push = Push(word(src_base), made.offset - dst_window.offset // 4, walk.pieces, 0, word(lane.src))
    others = [axis for place, axis in enumerate(axes) if place != channel]
    has_all = (channel is None or axes[channel].size == 1) and not any(any(axis.pairs) for axis in others)
    known = (2, pixels.channels, crops.few_taps, pixels.kind, int(has_all), rows, int(pixels.backwards))
    tables = (columns_of_two, rows_of_two) if crops.few_taps else (table_of_many, table_of_one)
    return kernel_of("crop_resize_fixed", part, walk, tables, push, (src_window, dst_window), (32, 0), known)


def _in_words(dst: TensorDesc) -> TensorDesc:
    """The destination by words; channels of a pixel that is one do not move it."""
    if dst.dtype.itemsize == 4:
        return dst
    return TensorDesc("u32", dst.sizes, [stride // 4 for stride in dst.strides or ()], dst.offset // 4)


def _pixels(src: TensorDesc, crops: Crops, lane: Walked, others: list[int], *, is_packed: bool) -> _Pixels:
    """How an invocation reads channels, ``lane``, of which pixels of bytes have all in a word, or one.

    others: the strides of the other axes of ``src``.
    """
    channels = next(n for n in range(MOST_CHANNELS, 0, -1) if lane.size % n == 0)
    if is_packed and lane.size > MOST_CHANNELS:
        channels = 1
    if src.dtype.itemsize != 1 or (channels > 1 and abs(lane.src) != 1):
        return _Pixels(ANYWHERE, channels)
    backwards = channels > 1 and lane.src < 0
    lowest = src.offset - backwards * (channels - 1)
    if lane.size == channels and not any(number % 4 for number in (lowest, *others)):
        return _Pixels(WORD, channels, backwards)
    is_run = (src.strides or ())[crops.axes[1]] == channels
    return _Pixels(RUN if is_run else BYTES, channels, backwards)


def _of_image(rows: BoxRows, index: npt.NDArray[np.int64], stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """Source offsets of indices, those outside of the image at its edge, so that each may be read."""
    inside = np.clip(index, 0, rows.extent - 1)
    return (inside * stride + bases[:, np.newaxis] & 0xFFFFFFFF).astype(np.uint32)


def _weights(rows: BoxRows) -> npt.NDArray[np.int32]:
    return np.ones((*rows.first.shape, 1), np.int32) if rows.weights is None else rows.weights


def _inside_first(rows: BoxRows) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The weights of the taps that the image has, from the first of these on; of the others together; and of all."""
    weights = _weights(rows)
    tap = np.arange(weights.shape[2])
    inside, end = rows.inside[:, :, np.newaxis], rows.end[:, :, np.newaxis]
    all_of_them = weights.sum(axis=2, dtype=np.int32)
    has = (tap >= inside) & (tap < end)
    if not rows.inside.any() and not (weights * ~has).any():
        return weights, np.zeros_like(all_of_them), all_of_them
    its = np.where(has, weights, 0)
    moved = np.take_along_axis(its, (tap + inside) % len(tap), axis=2)
    return moved, all_of_them - its.sum(axis=2, dtype=np.int32), all_of_them


def _taps_of_image(rows: BoxRows) -> npt.NDArray[np.int64]:
    """How many taps of each row may be read, one or more; ALL_FILL for rows of fill."""
    return np.where(rows.is_fill, ALL_FILL, np.maximum(rows.end - rows.inside, 1))


def _halves(weights: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return weights[:, :, 0] & _HALF | weights[:, :, 1] << 16


def columns_of_two(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """Of two taps, of sums that lose nothing."""
    words = np.empty((*rows.first.shape, 4), np.uint32)
    weights, of_fill, _ = _inside_first(rows)
    words[:, :, 0] = _halves(weights).view(np.uint32)
    words[:, :, 1] = _of_image(rows, rows.first + rows.inside, stride, bases)
    words[:, :, 2] = of_fill.view(np.uint32)
    words[:, :, 3] = _taps_of_image(rows)
    return words.ravel()


def rows_of_two(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """Of two taps, each of which loses something, so that fill is no weight: taps keep their places."""
    words = np.empty((*rows.first.shape, 4), np.uint32)
    both = rows.first, rows.first + (1 if rows.is_held is None else ~rows.is_held)
    words[:, :, 0] = _halves(_weights(rows)).view(np.uint32)
    for tap, index in enumerate(both):
        words[:, :, 1 + tap] = _of_image(rows, index, stride, bases)
    has = [(index >= 0) & (index < rows.extent) for index in both]
    words[:, :, 3] = np.where(rows.is_fill, ALL_FILL, has[0] + 2 * has[1])
    return words.ravel()


def table_of_many(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """Of any number of taps."""
    weights, of_fill, of_all = _inside_first(rows)
    taps = -(-rows.taps // 4) * 4
    words = np.zeros((*rows.first.shape, taps + 4), np.uint32)
    words[:, :, : rows.taps] = weights.view(np.uint32)
    words[:, :, taps] = _of_image(rows, rows.first + rows.inside, stride, bases)
    words[:, :, taps + 1] = of_fill.view(np.uint32)
    words[:, :, taps + 2] = of_all.view(np.uint32)
    words[:, :, taps + 3] = _taps_of_image(rows)
    return words.ravel()


def table_of_one(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """Of one tap, of weight 1."""
    words = np.empty((*rows.first.shape, 2), np.uint32)
    words[:, :, 0] = _of_image(rows, rows.first, stride, bases)
    words[:, :, 1] = np.where(rows.is_fill, ALL_FILL, rows.inside < rows.end)
    return words.ravel()
