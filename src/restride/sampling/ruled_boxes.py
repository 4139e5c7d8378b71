"""Ruled boxes: what the output indices of an axis read in each of many boxes, where a library's own rules say it.

Worked example, OpenCV's bytes, 2 -> 4, rows, a box at index 5: the rule is of an axis with its edges once more, 5, 5,
6, 6, of which output 0 reads the first two. Both are element 5 of the image: first is 5, and the row is held there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.sampling.boxes import BoxRows
from restride.sampling.ruled import Ruled


class RuledSide(NamedTuple):
    """One axis of a box, whose rows ``ruled`` has; the others as those of a ``Side``."""

    ruled: Ruled
    start: int
    at: int = 0
    flipped: bool = False


def ruled_rows_of(
    sides: Sequence[RuledSide], size: int, extents: Sequence[int], places: int | None = None, least: int = 1
) -> BoxRows:
    """The rows of an axis of ``size`` outputs, of images of so many indices each, with ``least`` taps or more.

    places: weights are brought to steps of 2^-places; None: they are what the rules have.
    """
    weighted = [_weighted(side.ruled, places) for side in sides]
    most = max((weights.shape[1] for _, weights in weighted if weights is not None), default=1)
    shape = len(sides), size
    first, is_fill, is_held = np.zeros(shape, np.int64), np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    of_first = weighted[0][1]
    made = None if of_first is None else np.zeros((*shape, max(most, least)), of_first.dtype)
    for box, ((ruled, start, at, flipped), (index, weights)) in enumerate(zip(sides, weighted, strict=True)):
        its = slice(max(at, 0), min(at + ruled.size, size))
        part = slice(its.start - at, its.stop - at)
        order = slice(None, None, -1 if flipped else 1)
        is_fill[box, its] = False
        its_index = index[order][part]
        if ruled.is_held:
            is_held[box, its] = (its_index == 0) | (its_index == ruled.source_size)
            its_index = np.clip(its_index - 1, 0, ruled.source_size - 1)
        first[box] = its_index[0] + start  # rows of fill too read near the others
        first[box, its] = its_index + start
        if made is not None and weights is not None:
            made[box, its, : weights.shape[1]] = weights[order][part]
    taps = np.array([[1 if weights is None else weights.shape[1]] for _, weights in weighted])
    extent = np.array(extents, np.int64)[:, np.newaxis]
    inside, end = np.clip(-first, 0, taps), np.clip(extent - first, 0, taps)
    held = is_held if any(side.ruled.is_held for side in sides) else None
    return BoxRows(first, inside, np.maximum(inside, end), is_fill, made, extent, held)


def _weighted(ruled: Ruled, places: int | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any] | None]:
    """What all outputs read first, and with which weights; an axis that stays as it is has 1."""
    rows = ruled.rows
    if rows.weights is None:
        return rows.first, None
    if ruled.is_identity:
        return np.arange(ruled.size), np.full((ruled.size, 1), 1 << (places or 0), rows.weights.dtype)
    if places is None or rows.shifts is None:
        return rows.first, rows.weights
    return rows.first, rows.weights << places - rows.shifts.total
