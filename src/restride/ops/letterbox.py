"""Letterbox: a box made as large as the sizes have room for, its aspect kept, and the way back to the image."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError

PLACES = ("center", "top_left")
"""Where a letterboxed box lies in what it leaves free."""


@dataclass(frozen=True, eq=False)
class Letterboxed:
    """Where each box lies in its output, and how points of the output go back to the image.

    Points are (y, x), continuous: pixel i covers [i, i + 1), so that the corners of an output of (h, w) are (0, 0) and
    (h, w). Of a box of rows [y0, y1) in rows [at, at + h) of the output, ``y`` was ``y0 + (y - at) * (y1 - y0) / h``.

    Attributes:
        boxes: (boxes, 4), y0, x0, y1, x1 of the image, as they were given.
        places: (boxes, 4), the same of the output: the part of it that is not filled.
        flipped: (boxes, 2), bool: along y, along x.
    """

    boxes: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    flipped: npt.NDArray[np.bool_]

    def points(self, points: Any, index: Any) -> npt.NDArray[np.float64]:
        """Points (..., 2) of the outputs ``index`` as points of their images.

        index: a whole number, or one for each point, or along some of their axes, the others 1: of (images, points, 2)
            one for each image is ``np.arange(images)[:, None]``.
        """
        given = _rows(points, 2)
        if given.ndim == 0 or given.shape[-1] != 2:
            raise DescriptorError(f"points must be (..., 2), y and x, got shape {given.shape}")
        its = self._index(index, given.shape[:-1])
        boxes, places = self.boxes[its].astype(np.float64), self.places[its].astype(np.float64)
        part = (given - places[..., :2]) / (places[..., 2:] - places[..., :2])
        part = np.where(self.flipped[its], 1 - part, part)
        made: npt.NDArray[np.float64] = boxes[..., :2] + part * (boxes[..., 2:] - boxes[..., :2])
        return made

    def _index(self, index: Any, points: tuple[int, ...]) -> npt.NDArray[np.int64]:
        its = np.asarray(index)
        if its.dtype.kind not in "iuf" or (its != np.floor(its)).any():
            raise DescriptorError(f"index must be whole numbers, got {index!r} of {its.dtype}")
        is_of_axes = its.ndim == len(points) and all(
            size in (1, of) for size, of in zip(its.shape, points, strict=True)
        )
        if its.ndim and not is_of_axes:  # [0, 1, 2] of 3 x 3 points would be that of their columns
            raise DescriptorError(
                f"index must be one, or one for each of {points} points or along some of these axes, the others 1, got "
                f"shape {its.shape}"
            )
        if its.size and not (its.min() >= 0 and its.max() < len(self.boxes)):
            raise DescriptorError(f"index must be in [0, {len(self.boxes)}), the boxes, got {index!r}")
        return its.astype(np.int64)

    def to_image(self, boxes: Any, index: Any) -> npt.NDArray[np.float64]:
        """Boxes (..., 4) of the outputs ``index``, y0, x0, y1, x1, as boxes of their images, in the same order."""
        given = _rows(boxes, 4)
        if given.ndim == 0 or given.shape[-1] != 4:
            raise DescriptorError(f"boxes must be (..., 4), y0, x0, y1, x1, got shape {given.shape}")
        corners = self.points(given[..., :2], index), self.points(given[..., 2:], index)
        return np.concatenate([np.minimum(*corners), np.maximum(*corners)], axis=-1)


def _rows(given: Any, length: int) -> npt.NDArray[np.float64]:
    """Numbers (..., length); an empty list is none of them."""
    made = np.asarray(given, np.float64)
    return made.reshape(0, length) if made.shape == (0,) else made


def placed(box: tuple[int, int], sizes: tuple[int, int], place: str) -> tuple[int, int, int, int]:
    """Rows and columns y0, x0, y1, x1 of the output that a box of these sizes takes; each at least one.

    The scale is that of the axis with less room, and the other size is rounded, halves to even: 300 x 400 in 640 x 640
    is 480 x 640, in rows 80 to 560.
    """
    scale = min(Fraction(size, before) for size, before in zip(sizes, box, strict=True))
    made = [max(round(scale * before), 1) for before in box]
    at = [0, 0] if place == "top_left" else [(size - its) // 2 for size, its in zip(sizes, made, strict=True)]
    return at[0], at[1], at[0] + made[0], at[1] + made[1]
