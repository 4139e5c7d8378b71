"""The rows of weights of many boxes of images, all with the same number of outputs and of taps.

A request or a library gives the rows of each box along both axes, and says how they are summed. Neighbouring boxes that
are summed in the same way become ``Crops``, with one array for all of them.

Source indices count from the start of the image. Worked example, linear, half_pixel, boxes [1, 3) and [-1, 1) of an
axis of 4 elements, each to 3. Rows of the first are those of 2 -> 3, moved by one element: first 1, 1, 1 and weights
(1, 0), (1/2, 1/2), (0, 1). For the second, first is -1 and tap 0 lies outside: only taps [1, 2) are in the image.

Worked example, OpenCV's bytes along the rows of an image, a box of elements 5 and 6, to 4: the rows read the box with
its edges repeated, 5, 5, 6, 6. Output 0 reads the first two, which are both element 5: first is 5, and ``is_held``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.errors import UnsupportedError
from restride.request import Request
from restride.request.libraries import LibraryRequest
from restride.weights.filters import Filter, are_alike, filter_of, rows_of_all
from restride.weights.like import rows_like
from restride.weights.resizing import replaced, resizing, rows_of_sizes
from restride.weights.rows import LibraryRows, Rows, Shifts

MAX_TAPS_OF_BOX = 2048
"""Maximum taps along an axis of a box, and of both axes multiplied where one pass takes both (``plan.boxes``): an
invocation computes four such sums."""

_PLACES_OF_WEIGHTS = 22
"""Fraction bits of weights if a library rounds after each axis: one number for all boxes, so they share dispatches."""

_MAX_WEIGHTS = 1 << 28
"""Maximum number of weights of all boxes of a call, which are computed at once: they take 1 GB on the host."""

_MIN_TAPS = 16
"""A row or a column counts as at least this many weights, because its other data take as much memory."""

_MAX_OF_LIBRARY = 1 << 26
"""Maximum rows and columns, before and after, of boxes of different sizes with a library's weights: 10 s of work."""


class BoxAxis(NamedTuple):
    """One axis of a box.

    start: image index that the rows count as 0. at: output index of row 0, negative where the output is a window of the
    rows. flipped: the rows are written to the same output indices in reverse order.
    """

    rows: Rows
    start: int
    at: int = 0
    flipped: bool = False


class BoxRows(NamedTuple):
    """A row for every output index of every box, in arrays (boxes, size), and weights (boxes, size, taps).

    first: image index that tap 0 reads; it may lie outside. inside, end: taps [inside, end) are in the image. is_fill:
    the row reads nothing, and its output is fill. weights: f32, or s32 where a library sums integers; None where
    elements are moved. extent: (boxes, 1), size of the axis in each box's image. is_held: all taps of the row read
    ``first``; None: no row does.
    """

    first: npt.NDArray[np.int64]
    inside: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    is_fill: npt.NDArray[np.bool_]
    weights: Array | None
    extent: npt.NDArray[np.int64]
    is_held: npt.NDArray[np.bool_] | None = None

    @property
    def taps(self) -> int:
        """Number of taps of each row."""
        return 1 if self.weights is None else self.weights.shape[2]

    def part(self, boxes: slice) -> BoxRows:
        """The rows of some neighbouring boxes."""
        return self._replace(**{name: each[boxes] for name, each in self._asdict().items() if each is not None})

    @property
    def span(self) -> tuple[npt.NDArray[np.int64], int]:
        """The lowest index that each box reads, and the largest number of indices that any box spans."""
        low = np.where(self.is_fill, 1 << 62, self.first).min(axis=1)
        high = np.where(self.is_fill, -(1 << 62), self.first).max(axis=1)
        reads = low <= high
        return np.where(reads, low, 0), int(np.where(reads, high - low, 0).max()) + self.taps

    def reads(self) -> tuple[int, int]:
        """The lowest and the highest index that a kernel reads; for taps outside the image, the nearest in it."""
        ends = self.first.min(axis=1), self.first.max(axis=1) + self.taps - 1
        low, high = (np.clip(index, 0, self.extent[:, 0] - 1) for index in ends)
        return int(low.min()), int(high.max())

    def within(self, low: npt.NDArray[np.int64], extent: int) -> BoxRows:
        """These rows for a part of each box's image, which begins at index ``low`` and has ``extent`` indices."""
        extents = np.full((len(low), 1), extent)
        return _clipped(self.first - low[:, np.newaxis], self.taps, self.is_fill, self.weights, extents)


def moved_rows(first: npt.NDArray[np.int64], is_fill: npt.NDArray[np.bool_], extent: npt.NDArray[np.int64]) -> BoxRows:
    """Rows that copy the element at ``first``."""
    return _clipped(first, 1, is_fill, None, extent)


def _clipped(
    first: npt.NDArray[np.int64],
    taps: npt.NDArray[np.int64] | int,
    is_fill: npt.NDArray[np.bool_],
    weights: Array | None,
    extent: npt.NDArray[np.int64],
    is_held: npt.NDArray[np.bool_] | None = None,
) -> BoxRows:
    """The rows, where [inside, end) are the taps within [0, ``extent``)."""
    if first.min() >= 0 and not (first > extent - taps).any():
        inside = np.zeros_like(first)
        return BoxRows(first, inside, inside + taps, is_fill, weights, extent, is_held)
    inside, end = np.clip(-first, 0, taps), np.clip(extent - first, 0, taps)
    if is_held is not None:
        inside[is_held], end = 0, np.where(is_held, taps * ((first >= 0) & (first < extent)), end)
    return BoxRows(first, inside, np.maximum(inside, end), is_fill, weights, extent, is_held)


def box_rows(
    sides: Sequence[BoxAxis], size: int, extents: Sequence[int], *, least: int = 1, places: int | None = None
) -> BoxRows:
    """The rows of ``size`` outputs of each box, with at least ``least`` taps. extents: axis size of each box's image.

    places: integer weights of rows that are shifted are scaled to steps of 2^-places; None: they stay as they are.
    """
    extent = _column(extents)
    filters = [filter_ for side in sides if (filter_ := filter_of(side.rows)) is not None]
    if len(filters) == len(sides) and are_alike(filters):
        return _at_once(sides, filters, size, extent, least)
    shape, moves = (len(sides), size), sides[0].rows.moves
    first, taps = np.zeros(shape, np.int64), _column([side.rows.taps for side in sides])
    is_fill, is_held = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    kind = np.int32 if sides[0].rows.shifts is not None else np.float32
    weights = None if moves else np.zeros((*shape, max(least, int(taps.max()))), kind)
    for box, (rows, start, at, flipped) in enumerate(sides):
        inside = slice(max(at, 0), min(at + rows.size, size))
        part = rows.reversed() if flipped else rows
        if inside.stop - inside.start < rows.size:
            part = part.part(inside.start - at, inside.stop - inside.start)
        index, of_part = part.first_and_weights()
        is_fill[box, inside] = False
        if rows.inside is not None:
            outputs = part.index()
            is_fill[box, inside] = (outputs < rows.inside.start) | (outputs >= rows.inside.stop)
        if rows.repeats_edges:
            is_held[box, inside] = (index == 0) | (index == rows.source_size)
            index = np.clip(index - 1, 0, rows.source_size - 1)
        first[box] = index[0] + start  # also for rows of fill, which must read near the other rows
        first[box, inside] = index + start
        if weights is not None:
            shift = 0 if places is None or rows.shifts is None else places - rows.shifts.total
            weights[box, inside, : rows.taps] = of_part << shift if shift else of_part
    held = is_held if any(side.rows.repeats_edges for side in sides) else None
    return _clipped(first, taps, is_fill, weights, extent, held)


def _at_once(
    sides: Sequence[BoxAxis], filters: Sequence[Filter], size: int, extent: npt.NDArray[np.int64], least: int
) -> BoxRows:
    """``box_rows`` for similar filters, which are computed together."""
    shape = len(sides), size
    if any(side.at or side.flipped or side.rows.size != size for side in sides):
        sizes, at = _column([side.rows.size for side in sides]), _column([side.at for side in sides])
        index = np.arange(size) - at
        is_fill = (index < 0) | (index >= sizes)
        index = np.where(_column([side.flipped for side in sides]), sizes - 1 - index, index)
        index = np.minimum(np.maximum(index, 0), sizes - 1)
    else:
        index, is_fill = np.arange(size)[np.newaxis], np.zeros(shape, np.bool_)
    first, weights, _ = rows_of_all(filters, index, least)
    taps, starts = _column([side.rows.taps for side in sides]), _column([side.start for side in sides])
    return _clipped(first + starts, taps, is_fill, weights, extent)


def _column(numbers: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(numbers, np.int64)[:, np.newaxis]


# From boxes to crops: computes the rows of each box, and how they are summed.


class Boxes(NamedTuple):
    """The boxes of a call, and their places in the outputs.

    edges: (boxes, 4), y0, x0, y1, x1 in the image, int64 in pixels or f64 in ``units``. places: (boxes, 4), the same
    in the outputs, in pixels. flipped: (boxes, 2), whether rows and columns go backwards.
    """

    edges: Array
    units: str
    places: npt.NDArray[np.int64]
    flipped: npt.NDArray[np.bool_]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of each box of integers."""
        return [(y1 - y0, x1 - x0) for y0, x0, y1, x1 in self.edges.tolist()]

    @property
    def resized(self) -> list[tuple[int, int]]:
        """Height and width of each box in its output."""
        return [(y1 - y0, x1 - x0) for y0, x0, y1, x1 in self.places.tolist()]

    @property
    def is_exact(self) -> bool:
        """True if edges are whole pixels: a box is then a slice of the image, padded with fill."""
        return bool(self.edges.dtype.kind == "i")

    def sides(self, rows: Sequence[tuple[Rows, ...]], axis: int, boxes: slice = slice(None)) -> list[BoxAxis]:
        """The sides of the given boxes along axis 0 (rows) or 1 (columns); ``rows`` has the rows of both axes."""
        starts = self.edges[boxes, axis].tolist() if self.is_exact else [0] * len(rows)
        each = zip(rows, starts, self.places[boxes, axis].tolist(), self.flipped[boxes, axis].tolist(), strict=True)
        return [BoxAxis(both[axis], start, at, flip) for both, start, at, flip in each]


class Sums(NamedTuple):
    """How boxes are summed.

    moves: elements are copied, not summed. shifts: how integer sums are shifted; None: sums are f32. rounds: sums along
    the first axis are rounded to bytes before the second. rows_first: rows are summed before columns. in_order: as in
    ``Rows``.
    """

    moves: bool = False
    shifts: Shifts | None = None
    rounds: bool = False
    rows_first: bool = False
    in_order: bool = False


@dataclass(frozen=True)
class Crops:
    """Boxes of a source, and how each is resized.

    rows, columns: for each box and output index, the elements that are read along ``axes`` of the source. images: of
    shape (boxes,), the index along axis 0 of the image that each box is cut from, where the source is a batch; None: it
    is one image.
    fill: an element for each channel, along the last axis that is not resized. few_taps: the taps of rows and columns,
    2 or 4, if they are the same whatever the boxes are; 0: they depend on the boxes.
    """

    rows: BoxRows
    columns: BoxRows
    axes: tuple[int, int]
    images: npt.NDArray[np.int64] | None
    fill: Array
    few_taps: int
    sums: Sums

    @property
    def count(self) -> int:
        """Number of boxes."""
        return len(self.rows.first)

    def part(self, boxes: slice) -> Crops:
        """The crops of some neighbouring boxes."""
        images = None if self.images is None else self.images[boxes]
        return replace(self, rows=self.rows.part(boxes), columns=self.columns.part(boxes), images=images)


class Summed(NamedTuple):
    """How each box is resized: its weights along rows and columns, and how they are summed.

    sums: None for a box that must be resized by single operations. few_taps: as in ``Crops``, if a request gives the
    rows.
    """

    rows: Sequence[tuple[Rows, ...]]
    sums: Sequence[Sums | None]
    few_taps: int = 0


def summed_by_filters(boxes: Boxes, extents: Sequence[tuple[int, int]], request: Request) -> Summed:
    """How boxes are resized, unrounded, by a request in our words. extents: rows and columns of each box's image.

    Raises:
        UnsupportedError: one output reads more than an invocation sums.
    """
    if boxes.is_exact:
        rules = request.rules
        rows: list[tuple[Rows, ...]] = [
            (rows_of_sizes(rules, old[0], new[0]), rows_of_sizes(rules, old[1], new[1]))
            for old, new in zip(boxes.sizes, boxes.resized, strict=True)
        ]
    else:
        cropping = request._replace(coordinates="tf_crop_and_resize")
        rows = []
        for box, (edges, extent, new) in enumerate(zip(boxes.edges, extents, boxes.resized, strict=True)):
            roi = _roi(edges, extent, boxes.units, box)
            rows.append(resizing(extent, cropping._replace(sizes=new, roi=roi)).rows)
    most = max(each.taps for of_box in rows for each in of_box)
    if most > MAX_TAPS_OF_BOX:
        raise UnsupportedError(f"a box has {most} taps along one axis, more than {MAX_TAPS_OF_BOX}")
    few_taps = 0 if request.antialias else {"linear": 2, "cubic": 4}.get(request.mode, 0)
    return Summed(rows, [Sums()] * len(rows), few_taps)


def _roi(edges: npt.NDArray[np.float64], extents: tuple[int, int], units: str, box: int) -> tuple[Fraction, ...]:
    """The edges of a box of floats as the ``roi`` of a resample: 0 and 1 are the first and the last element.

    A float counts as the decimal number that prints it.
    """
    exact = [Fraction(repr(edge)) for edge in edges.tolist()]
    if units == "pixels":
        if 1 in extents:
            raise UnsupportedError(
                f"boxes[{box}] {tuple(edges.tolist())} in pixels needs an image of 2 x 2 or more, not of {extents}"
            )
        exact = [edge / (extent - 1) for edge, extent in zip(exact, (*extents, *extents), strict=True)]
    return tuple(exact)


def summed_by_library(
    boxes: Boxes, library: LibraryRequest, image: tuple[int, ...], axes: tuple[int, int], *, is_moved: bool
) -> Summed | None:
    """How a library resizes boxes with integer edges; None: as ``summed_by_filters`` does, unrounded.

    image: sizes of an image, at whose channels a library may look; those along ``axes``, rows and columns, are not
    used. is_moved: elements are moved, not summed.

    Raises:
        UnsupportedError: there are too many different boxes.
    """
    pairs = list(zip(boxes.sizes, boxes.resized, strict=True))
    known: dict[tuple[tuple[int, int], tuple[int, int]], LibraryRows | None] = dict.fromkeys(pairs)
    total = sum(sum(old) + sum(new) for old, new in known)
    if total > _MAX_OF_LIBRARY:
        raise UnsupportedError(
            f"like computes the weights of {len(known)} different boxes, with {total} rows and columns before and "
            f"after resizing, more than the {_MAX_OF_LIBRARY} of one call: give some of the boxes at a time"
        )
    library = library._replace(axes=axes, scales=(None, None))
    for old, new in known:
        known[old, new] = rows_like(library._replace(source_sizes=replaced(image, axes, old), old=old, new=new))
    sums = {pair: None if rows is None else _summing_of(rows, library) for pair, rows in known.items()}
    has_rows = any(rows is not None for rows in known.values())
    if not pairs or (not has_rows and (is_moved or not library.keeps_type)):
        return None
    return Summed(
        [() if (rows := known[pair]) is None else rows.rows for pair in pairs], [sums[pair] for pair in pairs]
    )


def _summing_of(library_rows: LibraryRows, library: LibraryRequest) -> Sums | None:
    """How the kernels of crops can sum a box as a library does; None: they cannot.

    Bytes are summed in integers in one of two ways. OpenCV sums exactly along columns, then shifts the sums along rows.
    Pillow and torch round the sums along one axis to bytes before they sum along the other.
    """
    rows, columns = library_rows.rows
    if rows.moves and columns.moves:
        return Sums(moves=True)
    rows_first = library_rows.order == (0, 1)
    is_one_kind = rows.moves == columns.moves and (rows.shifts is None) == (columns.shifts is None)
    has_more = library_rows.scale is not None or library_rows.rounding is not None or library.clips
    if not is_one_kind or has_more or max(rows.taps, columns.taps) > MAX_TAPS_OF_BOX:
        return None
    if rows.shifts is None or columns.shifts is None:
        return None if library.keeps_type or rows_first else Sums(in_order=rows.in_order)
    if columns.shifts == Shifts():
        return None if rows_first else Sums(shifts=rows.shifts)
    if any(side != Shifts(total=side.total, bits=8) for side in (rows.shifts, columns.shifts)):
        return None
    return Sums(shifts=Shifts(total=_PLACES_OF_WEIGHTS, bits=8), rounds=True, rows_first=rows_first)


def crops_of(
    boxes: Boxes,
    summed: Summed,
    extents: Sequence[tuple[int, int]],
    sizes: tuple[int, int],
    axes: tuple[int, int],
    fill: Array,
) -> Iterator[tuple[slice, Crops]]:
    """Yield runs of neighbouring boxes that are summed in the same way, and their crops without the ``images``.

    extents: rows and columns of each box's image. sizes: of every result. axes, fill: as in ``Crops``.

    Raises:
        UnsupportedError: they have too many weights.
    """
    both = zip(*summed.rows, strict=True)
    require_few_weights(len(summed.rows), sizes, [max(rows.taps for rows in of_axis) for of_axis in both])
    for sums, members in groupby(enumerate(summed.sums), lambda place: place[1]):
        if sums is None:
            raise AssertionError("boxes that single operations resize have no crops")
        together = [box for box, _ in members]
        part = slice(together[0], together[-1] + 1)
        count, shifts = len(together), sums.shifts
        least = max(summed.few_taps, 1 if shifts is None else 2)
        places = _PLACES_OF_WEIGHTS if sums.rounds else None
        sides = [boxes.sides(summed.rows[part], axis, part) for axis in (0, 1)]
        of_images = [[extent[axis] for extent in extents[part]] for axis in (0, 1)]
        if summed.few_taps and sizes[0] == sizes[1]:  # both at once: small arrays cost per array, not per element
            at_once = box_rows(sides[0] + sides[1], sizes[0], of_images[0] + of_images[1], least=least)
            rows, columns = at_once.part(slice(0, count)), at_once.part(slice(count, 2 * count))
        else:
            rows, columns = (
                box_rows(sides[axis], sizes[axis], of_images[axis], least=least, places=places) for axis in (0, 1)
            )
        is_fused = shifts is not None and max(rows.taps, columns.taps) <= 2 and not sums.rounds
        yield part, Crops(rows, columns, axes, None, fill, 2 if is_fused else summed.few_taps, sums)


def require_few_weights(boxes: int, sizes: tuple[int, int], taps: Sequence[int] = (1, 1)) -> None:
    """Require that boxes resized to ``sizes``, with ``taps`` along rows and columns, have few enough weights.

    Raises:
        UnsupportedError: there are more weights than one call computes.
    """
    weights = boxes * sum(size * max(each, _MIN_TAPS) for size, each in zip(sizes, taps, strict=True))
    if weights > _MAX_WEIGHTS:
        raise UnsupportedError(
            f"one call computes at most {_MAX_WEIGHTS} weights, {_MIN_TAPS} or more for each row and column, but "
            f"{boxes} boxes resized to {sizes} have {weights}: give some of the boxes at a time"
        )
