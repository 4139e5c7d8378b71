"""Plan of crops of pixels: boxes of images of bytes, linear, four columns with all channels of a pixel at a time.

Its tables say what shaders/crop_pixels.comp reads: neighbours that the image has, whatever the taps are. Linear, 3 to
2, source stride 4, a box that begins a pixel before its image: taps -1 and 0 of weights 0.75 and 0.25 are the row 0.25,
0.75, 0, HAS_FIRST, of the elements 0 and 1, the second of which is fill.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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
from restride.plan.tables import ROW_WORDS
from restride.weights import BoxRows

COLUMNS = 4
"""Of an invocation (``COLUMNS`` in shaders/crop_pixels.comp)."""

HAS_FIRST, HAS_SECOND, PAST = 1, 2, 4
"""The last word of a row: which neighbours are taps, or that there is no such column."""


class _Pixels(NamedTuple):
    """What an invocation makes of a row: so many channels, of COLUMNS columns.

    by_pixels: channels lie side by side in the destination; else columns do. is_aligned: each four of its elements is
    whole and begins at a multiple of four.
    """

    channels: int
    by_pixels: bool
    is_aligned: bool


def pixel_crop_kernels(
    src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion, limits: Limits, first: int = 0
) -> Iterator[KernelSpec]:
    """The dispatches of ``crop_kernels``, by pixels where these lie side by side.

    Raises:
        UnsupportedError: one box reads or makes more than a binding covers.
    """
    pixels = _pixels(src, dst, crops, conversion)
    make = None if pixels is None else partial(_crop, pixels)
    return crop_kernels(src, dst, crops, conversion, limits, first, make)


def _pixels(src: TensorDesc, dst: TensorDesc, crops: Crops, conversion: Conversion) -> _Pixels | None:
    """None: it takes shaders/crop_resize.comp."""
    if crops.few_taps != 2 or src.dtype.name not in ("u8", "s8") or dst.dtype.itemsize > 4:
        return None
    if min(rows.extent.min() for rows in (crops.rows, crops.columns)) < 2:
        return None
    axes, channel = walked_axes(src, dst, crops, conversion)
    place = _place_of_columns(src, dst, crops)
    column, src_stride = axes[place], (src.strides or ())[crops.axes[1]]
    lane = Walked(1, 1, 1) if channel is None else axes[channel]
    channels = lane.size if lane.src == 1 and lane.size == src_stride <= MOST_CHANNELS else 1
    by_pixels = channels > 1 and lane.dst == 1
    if any(column.pairs) or src_stride != channels or column.dst != (channels if by_pixels else 1):
        return None
    side_by_side = {place, channel} if by_pixels else {place}
    strides = [axis.dst for at, axis in enumerate(axes) if at not in side_by_side and axis.size > 1]
    is_aligned = not any(number % COLUMNS for number in (dst.offset, column.size, *strides))
    return _Pixels(channels, by_pixels, is_aligned) if is_aligned or dst.dtype.itemsize == 4 else None


def _place_of_columns(src: TensorDesc, dst: TensorDesc, crops: Crops) -> int:
    """Their axis of the destination, which has one more where the source is one image."""
    return crops.axes[1] + dst.rank - src.rank


def _crop(pixels: _Pixels, part: Part) -> KernelSpec:
    src, dst, crops, conversion, limits, _ = part
    itemsize = dst.dtype.itemsize
    axes, channel = walked_axes(src, dst, crops, conversion)
    lane = Walked(1, 0, 0)
    if channel is not None and pixels.channels > 1:
        lane = axes[channel]
        axes[channel] = lane.by(pixels.channels)
    place = _place_of_columns(src, dst, crops)
    axes[place] = axes[place].by(COLUMNS)
    axes[0] = axes[0]._replace(steps=(COLUMNS * axes[place].size, axes[0].steps[1]))
    place_of_rows = crops.axes[0] + dst.rank - src.rank
    row = axes[place_of_rows]
    rows = by_rows(row)
    axes[place_of_rows] = row.by(rows)
    walk = Walk(in_order(axes), lane, row)
    src_window = src_span(src, crops, limits).window(src.dtype.itemsize, limits)
    dst_window = dst_span(dst).window(itemsize, limits, writes=True)
    push = Push(word(src.offset - src_window.offset), dst.offset - dst_window.offset // itemsize, walk.pieces)
    has_all = not any(any(axis.pairs) or axis.channel for axis in walk.axes if axis.size > 1)
    known = (2, pixels.channels, int(pixels.by_pixels), int(pixels.is_aligned), int(has_all), rows)
    windows, constants = (src_window, dst_window), (8 * itemsize, 0)
    return kernel_of("crop_pixels", part, walk, (_columns, _rows), push, windows, constants, known)


def _rows(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    return table(rows, stride, bases).ravel()


def _columns(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """The table in whole fours of rows a box; the last ones say again where the box ends, and are PAST."""
    words = table(rows, stride, bases)
    past = -words.shape[1] % COLUMNS
    if not past:
        return words.ravel()
    padded = np.concatenate([words, np.repeat(words[:, -1:], past, axis=1)], axis=1)
    padded[:, -past:, 3] = PAST
    return padded.ravel()


def table(rows: BoxRows, stride: int, bases: npt.NDArray[np.int64]) -> Words:
    """(boxes, size, 4) words of an axis.

    Where the second tap is the first neighbour, or the first is the second one, weights change places: a sum of two is
    the same either way.
    """
    if rows.weights is None:
        raise AssertionError("crops of pixels have weights")
    words = np.empty((*rows.first.shape, ROW_WORDS), np.uint32)
    words[:, :, :2] = rows.weights.view(np.uint32)
    words[:, :, 3] = HAS_FIRST + HAS_SECOND
    near = rows.first
    if rows.inside.any() or (rows.end < 2).any():
        near = np.clip(rows.first, 0, rows.extent - 2)
        has_first, has_second = (rows.inside == 0) & (rows.end > 0), (rows.inside <= 1) & (rows.end == 2)
        words[:, :, 3] = HAS_FIRST * has_first + HAS_SECOND * has_second
        changes = near != rows.first
        words[changes, :2] = words[changes, 1::-1]
        words[changes, 3] = (HAS_FIRST * has_second + HAS_SECOND * has_first)[changes]
    words[:, :, 2] = near * stride + bases[:, np.newaxis] & 0xFFFFFFFF
    if rows.is_fill.any():
        words[rows.is_fill, 3] = ALL_FILL
    return words
