"""Plans of crops: what the rows and columns of every box read, in one pass or two, as steps from image to result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.errors import UnsupportedError
from restride.ops.crops.boxes import roi_of
from restride.plan.crops import MOST_TAPS
from restride.weights import BoxRows, Choice, Resizing, Rows, Side, box_rows, resizing, rows_of_sizes
from restride.weights.request import require_choice


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
