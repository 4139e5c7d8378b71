"""Crop boxes: what becomes of boxes of a source, by tables of rows and columns, and what that reads and makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.desc import TensorDesc
from restride.kernel import Limits
from restride.plan.boxes import Span
from restride.plan.conversion import Conversion
from restride.plan.tables import ROW_WORDS
from restride.sampling import BoxRows, Shifts


@dataclass(frozen=True)
class Crops:
    """What becomes of boxes of a source.

    rows, columns: of ``axes`` of the source. images: (boxes,), the index along axis 0 that each box is cut from, where
    the source is a batch; None: it is one image. fill: an element for each channel, along the last axis not resized.
    few_taps: rows and columns have 2, or 4, whatever the boxes are; 0: that depends on them. shifts: of sums of
    integers (``restride.plan.fixed_crops``).
    """

    rows: BoxRows
    columns: BoxRows
    axes: tuple[int, int]
    images: npt.NDArray[np.int64] | None
    fill: npt.NDArray[Any]
    few_taps: int = 0
    shifts: Shifts | None = None

    @property
    def count(self) -> int:
        """Boxes."""
        return len(self.rows.first)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        sides = ((self.rows, self.rows.first.shape), (self.columns, self.columns.first.shape))
        return sum(4 * boxes * size * row_words(rows) for rows, (boxes, size) in sides)

    def part(self, boxes: slice) -> Crops:
        """Some of the boxes."""
        images = None if self.images is None else self.images[boxes]
        return replace(self, rows=self.rows.part(boxes), columns=self.columns.part(boxes), images=images)


class Part(NamedTuple):
    """Boxes that one dispatch makes. first: the box that is index 0 of the scales."""

    src: TensorDesc
    dst: TensorDesc
    crops: Crops
    conversion: Conversion
    limits: Limits
    first: int


def row_words(rows: BoxRows) -> int:
    """The words of a row: its weights, offset and range in whole fours; without weights two."""
    return 2 if rows.weights is None else -(-(rows.taps + 2) // ROW_WORDS) * ROW_WORDS


def boxes_of(desc: TensorDesc, boxes: slice) -> TensorDesc:
    """The elements of some of the boxes."""
    strides = desc.strides or ()
    sizes = (boxes.stop - boxes.start, *desc.sizes[1:])
    return TensorDesc(desc.dtype, sizes, strides, desc.offset + boxes.start * strides[0])


def dst_span(dst: TensorDesc) -> Span:
    strides = dst.strides or ()
    reach = sum((size - 1) * stride for size, stride in zip(dst.sizes, strides, strict=True))
    return Span(dst.offset, dst.offset + reach)


def src_span(src: TensorDesc, crops: Crops, limits: Limits) -> Span:
    """The elements that are bound: all, where a binding covers them, else from the first to the last that is read.

    Kernels read two neighbours at least, those of the image that are nearest, for rows of fill and of outside too: of
    taps 9 and 10 of an axis of 8 these are 6 and 7.
    """
    if src.nbytes <= limits.max_buffer_range:
        return Span(0, src.nbytes // src.dtype.itemsize - 1)
    strides = src.strides or ()
    lowest = highest = np.full(crops.count, src.offset)
    walked = range(1 if crops.images is not None else 0, src.rank)
    for axis in walked:
        if axis not in crops.axes:
            reach = (src.sizes[axis] - 1) * strides[axis]
            lowest, highest = lowest + min(reach, 0), highest + max(reach, 0)
    if crops.images is not None:
        lowest, highest = lowest + crops.images * strides[0], highest + crops.images * strides[0]
    for rows, axis in ((crops.rows, crops.axes[0]), (crops.columns, crops.axes[1])):
        near = np.clip(rows.first, 0, np.maximum(rows.extent - 2, 0))
        far = np.minimum(np.maximum(near + 1, rows.first + rows.taps - 1), rows.extent - 1)
        ends = near.min(axis=1) * strides[axis], far.max(axis=1) * strides[axis]
        lowest, highest = lowest + np.minimum(*ends), highest + np.maximum(*ends)
    return Span(int(lowest.min()), int(highest.max()))
