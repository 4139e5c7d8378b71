"""Plans of crops: what the rows and columns of every box read, in one pass or two, as steps from image to result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.arithmetic import NO_ARITHMETIC, Arithmetic
from restride.errors import UnsupportedError
from restride.layout import TensorDesc
from restride.ops.crops.boxes import roi_of
from restride.plan import Conversion, Crops, boxes_of, pixel_crop_kernels, require_boxes
from restride.plan.steps import Site, Steps
from restride.weights import BoxRows, Choice, Resizing, Rows, Side, box_rows, ones, resizing, rows_of_sizes
from restride.weights.request import require_choice

MOST_TAPS = 2048
"""Of a row, and of rows times columns: four rows of an invocation, or the elements of a word, then run 16,384 steps."""

_FEW_TAPS = 16
"""Of rows and columns together: one dispatch is best, whatever the sizes."""

_ELEMENT_COST = 8
"""What an element between two passes costs, in taps."""

_PRODUCT_COST = 4
"""What a tap of both axes costs, in taps of one."""

MOST_BETWEEN = 1 << 26
"""Bytes between two passes, unless one box has more."""


class Cut(NamedTuple):
    """What is cut out.

    edges: (boxes, 4), int64 of pixels or f64. places: (boxes, 4), of the outputs. flipped: (boxes, 2).
    """

    edges: npt.NDArray[Any]
    units: str
    places: npt.NDArray[np.int64]
    flipped: npt.NDArray[np.bool_]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of each box of integers."""
        return [(y1 - y0, x1 - x0) for y0, x0, y1, x1 in self.edges.tolist()]

    @property
    def made(self) -> list[tuple[int, int]]:
        """Those of each box's place."""
        return [(y1 - y0, x1 - x0) for y0, x0, y1, x1 in self.places.tolist()]

    @property
    def is_exact(self) -> bool:
        """True where edges are integers of pixels, and a box is what the image, filled around, has there."""
        return bool(self.edges.dtype.kind == "i")


RowsOfBox = tuple[Rows, Rows]
"""Of the rows and the columns of a box, or of its image where its edges are floats."""


@lru_cache(maxsize=1024)
def _resized(old: tuple[int, int], sizes: tuple[int, int], choice: Choice, where: str) -> Resizing:
    return resizing(old, sizes, None, None, None, choice, lambda: where)


def rows_of_boxes(cut: Cut, extents: Sequence[tuple[int, int]], choice: Choice, where: str) -> list[RowsOfBox]:
    """The rows and columns of each box, of an image of so many rows and columns.

    Raises:
        DescriptorError, UnsupportedError: the choice, as ``resizing`` has it.
    """
    if cut.is_exact:
        olds, made = cut.sizes, cut.made
        require_choice(choice, lambda: where)
        return [
            (rows_of_sizes(choice, old[0], new[0]), rows_of_sizes(choice, old[1], new[1]))
            for old, new in zip(olds, made, strict=True)
        ]
    found = []
    for box, (edges, extent, new) in enumerate(zip(cut.edges, extents, cut.made, strict=True)):
        its_choice = choice._replace(coordinates="tf_crop_and_resize", roi=roi_of(edges, extent, cut.units, box))
        rows, columns = _resized(extent, new, its_choice, where).rows
        found.append((rows, columns))
    return found


def rows_and_columns(
    cut: Cut, extents: Sequence[tuple[int, int]], sizes: tuple[int, int], choice: Choice, where: str
) -> tuple[BoxRows, BoxRows]:
    """What both axes of every box read of its image.

    Raises:
        DescriptorError: the choice is none.
        UnsupportedError: a word of it is unknown, or one index reads more than an invocation sums.
    """
    of_boxes = rows_of_boxes(cut, extents, choice, where)
    starts = cut.edges[:, :2].tolist() if cut.is_exact else [[0, 0]] * len(of_boxes)
    places, flipped = cut.places[:, :2].tolist(), cut.flipped.tolist()
    least = few_taps(choice)
    made = []
    for axis in (0, 1):
        each = zip(of_boxes, starts, places, flipped, strict=True)
        sides = [Side(its[axis], start[axis], at[axis], flip[axis]) for its, start, at, flip in each]
        most = max(side.rows.taps for side in sides)
        if most > MOST_TAPS:
            raise UnsupportedError(f"a box has {most} taps along one axis, more than {MOST_TAPS}, for {where}")
        made.append((sides, [extent[axis] for extent in extents]))
    (of_rows, row_extents), (of_columns, column_extents) = made
    if least and sizes[0] == sizes[1]:  # at once: arrays so small cost by their number
        both = box_rows(of_rows + of_columns, sizes[0], row_extents + column_extents, least=least)
        count = len(of_rows)
        return both.part(slice(0, count)), both.part(slice(count, 2 * count))
    most = max(least, 1)
    return (
        box_rows(of_rows, sizes[0], row_extents, least=most),
        box_rows(of_columns, sizes[1], column_extents, least=most),
    )


def few_taps(choice: Choice) -> int:
    """Taps of every row of every box, so that kernels need not look; 0: that depends on the boxes."""
    return 0 if choice.antialias else {"linear": 2, "cubic": 4}.get(choice.mode, 0)


def add_crops(steps: Steps, src: Site, dst: Site, crops: Crops, done: Arithmetic, first: int = 0) -> None:
    """Steps that make ``dst``, strided, of the boxes of ``src``, strided too.

    first: the box that is index 0 of the scales.

    Raises:
        UnsupportedError: one box has too much between rows and columns.
    """
    if _is_one_pass(crops):
        _add(steps, src, dst, crops, done, first)
        return
    low, height = crops.rows.span
    front = dst.desc.rank - src.desc.rank  # 1 where the source is one image
    axes = crops.axes[0] + front, crops.axes[1] + front
    sizes = list(dst.desc.sizes)
    sizes[axes[0]] = height
    count, nbytes = crops.count, 4 * prod(sizes)
    if nbytes > MOST_BETWEEN and count > 1:
        for part in (slice(0, count // 2), slice(count // 2, count)):
            its_dst = Site(dst.buffer, boxes_of(dst.desc, part))
            add_crops(steps, src, its_dst, crops.part(part), done, first + part.start)
        return
    if nbytes > steps.limits.max_buffer_range:
        raise UnsupportedError(f"one box needs {nbytes} bytes between its columns and its rows, for {src.desc}")
    between = steps.new(TensorDesc("f32", sizes))
    _add(steps, src, between, _columns_summed(crops, low, height), NO_ARITHMETIC, first)
    _add(steps, between, dst, _rows_summed(crops, low, height, axes), done, first)


def _add(steps: Steps, src: Site, dst: Site, crops: Crops, done: Arithmetic, first: int) -> None:
    conversion = Conversion(src.desc.dtype, dst.desc.dtype, done)
    require_boxes(src.desc, dst.desc, crops, conversion, steps.limits)
    steps.add(src, dst, lambda: tuple(pixel_crop_kernels(src.desc, dst.desc, crops, conversion, steps.limits, first)))


def _is_one_pass(crops: Crops) -> bool:
    rows, columns = crops.rows, crops.columns
    both = rows.taps * columns.taps
    if both <= _FEW_TAPS:
        return True
    size = rows.first.shape[1]
    _, height = rows.span
    in_two = height * (columns.taps + _ELEMENT_COST) + size * (rows.taps + _ELEMENT_COST)
    return both <= MOST_TAPS and size * (_PRODUCT_COST * both + _ELEMENT_COST) <= in_two


def _columns_summed(crops: Crops, low: npt.NDArray[np.int64], height: int) -> Crops:
    """The first pass: of every row of the image that is read, of those outside too, the columns."""
    first = low[:, np.newaxis] + np.arange(height)
    return replace(crops, few_taps=0, rows=ones(first, np.zeros(first.shape, np.bool_), crops.rows.extent))


def _rows_summed(crops: Crops, low: npt.NDArray[np.int64], height: int, axes: tuple[int, int]) -> Crops:
    """The second pass, of what the first makes, an image a box."""
    columns = crops.columns
    count, width = columns.first.shape
    return Crops(
        crops.rows.within(low, height),
        ones(np.broadcast_to(np.arange(width), (count, width)), columns.is_fill, np.full((count, 1), width)),
        axes,
        np.arange(count),
        crops.fill.astype(np.float32),
    )
