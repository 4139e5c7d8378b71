"""The rows of libraries that ``like`` names, and the sums in which libraries round integers.

Which elements a library reads, and with which weights, comes from ``restride.weights.like``: the one thing that the
reference shares with what it checks. The libraries themselves judge those rows (tests/judges), and stored hashes of
random rows show if they change (tests/weights/like). What is done with the rows is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from restride.dtypes import Array
from restride.reference.weights import ReferenceRows
from restride.request.libraries import LibraryRequest
from restride.weights.like import follows_sizes, rows_like
from restride.weights.rows import Shifts

__all__ = ["LibraryAnswer", "clipped_like", "follows_sizes", "rounding_like", "rows_of"]


@dataclass(frozen=True, eq=False)
class LibraryAnswer:
    """How a library computes a result: rows of weights for each axis, in the order in which their sums are taken.

    shifts: for each axis, how its sums of integers are rounded; None: its weights are floats, or it moves elements.
    scale: the factor of sums of whole cells, in f32; None: 1.
    """

    rows: list[tuple[int, ReferenceRows]]
    shifts: list[Shifts | None]
    scale: float | None

    @property
    def is_of_integers(self) -> bool:
        """True if the library computes the result in integers."""
        return any(shifts is not None for shifts in self.shifts)

    def integers(self, array: Array) -> Array:
        """The exact result, in the library's integers, as f64."""
        sums: Array = array.astype(np.int64)
        for (axis, rows), shifts in zip(self.rows, self.shifts, strict=True):
            sums = _sums_of_integers(sums, axis, rows, shifts or Shifts())
        if self.scale is None:
            return sums.astype(np.float64)
        bounds = np.iinfo(array.dtype)
        mean = np.rint(sums.astype(np.float32) * np.float32(self.scale))
        result: Array = np.clip(mean, bounds.min, bounds.max).astype(np.float64)
        return result


def rows_of(library: LibraryRequest, parts: Sequence[range]) -> LibraryAnswer | None:
    """The library's own rows of the outputs ``parts`` of each axis; None: they are those of a mode of ours.

    Raises:
        DescriptorError: the library resizes another number of axes.
        UnsupportedError: an axis has too many elements for a library's rows.
    """
    found = rows_like(library)
    if found is None:
        return None
    places = found.order or sorted(range(len(library.axes)), key=lambda place: -library.axes[place])
    rows = []
    for place in places:
        whole, part = found.rows[place], slice(parts[place].start, parts[place].stop)
        first, weights = (each[part] for each in whole.first_and_weights())
        index = first[:, np.newaxis] + np.arange(weights.shape[1])
        if whole.repeats_edges:  # index counts on the axis with its first and last element repeated
            index = np.clip(index - 1, 0, library.old[place] - 1)
        beyond = np.zeros(len(index), bool)
        rows.append((library.axes[place], ReferenceRows(index, weights.astype(np.float64), library.old[place], beyond)))
    return LibraryAnswer(rows, [found.rows[place].shifts for place in places], found.scale)


def _sums_of_integers(values: Array, axis: int, rows: ReferenceRows, shifts: Shifts) -> Array:
    """Sums of integers, rounded by shifts to the right; the last one to the nearest, halves up, and then clamped."""
    along = [1] * values.ndim
    along[axis] = -1
    sizes = list(values.shape)
    sizes[axis] = len(rows.index)
    total = np.zeros(sizes, np.int64)
    for k in range(rows.index.shape[1]):
        tap = np.take(values >> shifts.element, rows.index[:, k], axis)
        total += tap * rows.weight[:, k].astype(np.int64).reshape(along) >> shifts.product
    total = (total + (1 << shifts.total >> 1)) >> shifts.total
    return np.clip(total, 0, (1 << shifts.bits) - 1) if shifts.bits else total


def rounding_like(library: LibraryRequest | None) -> str | None:
    """How the library rounds sums to the source's type before any other conversion; None: it does not."""
    if library is None or not library.keeps_type:
        return None
    return "half_away" if library.like == "pillow" else "nearest_even"


def clipped_like(library: LibraryRequest | None, array: Array, sums: Array) -> Array:
    """The sums as the library clips them: scikit-image to the least and the largest element that are not NaN."""
    if library is None or not library.clips:
        return sums
    elements = array.astype(np.float64)
    present = elements[~np.isnan(elements)]
    return np.clip(sums, present.min(), present.max()) if present.size else sums
