"""Rows: the source elements that the output indices of an axis sum, and their weights.

Row o has ``taps`` weights for the source indices ``first[o]``, ``first[o] + 1`` and so on, all on the axis: a band of
the matrix that takes the source to the output. From row to row ``first`` never decreases, or never increases, except
in rows that move elements by a list of indices, which may have any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array, F64Array
from restride.errors import UnsupportedError
from restride.lru import LRU

MAX_TAPS = 4096
"""Maximum number of taps of a row in one dispatch: llvmpipe silently ends loops after 65,535 steps of an invocation."""

MAX_OF_LIBRARY = 1 << 21
"""Maximum size of an axis, before and after, with a library's rows, which are computed for the whole axis at once.

Two million outputs of Pillow's lanczos, the slowest, take 4 s and 900 MB, those of bicubic 1 s and 500 MB.
"""

MAX_OF_GRADIENT = 1 << 24
"""Maximum size of an axis, before and after, for a gradient, which must know which outputs read each element.

Sixteen million take 3 s and 1 GB.
"""

_MAX_AT_ONCE = 1 << 13
"""Maximum number of weights of an axis whose rows are all computed together, and cached: 96 KB.

Rows of a longer axis are computed each time, for the requested part only: all rows of 10^8 outputs with two taps would
take 1.6 GB, but a dispatch needs tables of 1 MB.
"""

_MAX_CACHED_BYTES = 1 << 24
"""Maximum bytes of cached rows: 700,000 rows of four taps, or 6,000 axes of a few hundred outputs and 0.6 KB besides.

The rows of 640 -> 224 take 13 us from the cache; computing them takes 20 us, or 124 us if they are antialiased.
"""

IndexArray = npt.NDArray[np.int64]


class Shifts(NamedTuple):
    """Shifts by which a sum of integers is rounded, as in shaders/include/taps.glsl.

    element, product: bits by which source elements, and their products with weights, are shifted right. total: bits by
    which the sum is shifted, to the nearest, halves up. bits: of the unsigned integer that it is clamped to; 0: none.
    """

    element: int = 0
    product: int = 0
    total: int = 0
    bits: int = 0

    @property
    def word(self) -> int:
        """All four shifts in one word, one byte each."""
        return int.from_bytes(bytes(self), "little")


class Taps(NamedTuple):
    """Rows as arrays, one for each of some output indices.

    first: (rows,) int64. weights: (rows, taps), int32 with ``shifts``, or float32 without; None: element ``first`` is
    moved as it is.
    """

    first: IndexArray
    weights: Array | None = None
    shifts: Shifts | None = None

    @property
    def weight(self) -> int:
        """The weight in a cache: the bytes of both arrays."""
        return self.first.nbytes + (0 if self.weights is None else self.weights.nbytes)


Rule = Callable[..., Taps]
"""Computes a library's rows of all output indices from the source size, the size and other arguments.

A rule for ``picked_rows`` also takes, after these, the output indices, and whether weights are wanted.
"""


@dataclass(frozen=True)
class Rows:
    """The rows of output indices ``start`` to ``start + count`` of an axis: all of them, unless a part was taken.

    A hashable value: ``compute(*arguments, index, weighs)`` computes the arrays on demand.

    source_size, size: of the whole axis. moves: every row takes one element as it is. shifts: how sums of integers are
        rounded; None: weights are floats.
    is_identity: every output index is the source index. is_transposed: these are the rows of a gradient.
    in_order: long sums, too, add up plain f32 one tap after the other, as a library does.
    repeats_edges: the rows read the axis with its first and last element repeated before and after it.
    inside: the outputs that read source elements, if the others take an extrapolation value; None: all.
    at_once: all rows of the axis are computed together, and cached.
    descending: output indices go down from ``start``. origin: the source index that counts as 0.
    """

    compute: Callable[..., Taps]
    arguments: tuple[Any, ...]
    source_size: int
    size: int
    taps: int
    moves: bool = False
    shifts: Shifts | None = None
    is_identity: bool = False
    is_transposed: bool = False
    in_order: bool = False
    repeats_edges: bool = False
    inside: range | None = None
    at_once: bool = False
    start: int = 0
    count: int = -1
    descending: bool = False
    origin: int = 0

    def __post_init__(self) -> None:
        """Count all rows, unless a count is given."""
        if self.count < 0:
            object.__setattr__(self, "count", self.size)

    def changed(self, **fields: object) -> Rows:
        """These rows with other values of some fields; ``dataclasses.replace`` takes ten times as long."""
        rows = object.__new__(Rows)
        rows.__dict__.update(self.__dict__, **fields)
        return rows

    def __hash__(self) -> int:
        """Hash only the fields that usually differ."""
        return hash((self.compute, self.arguments, self.start, self.count))

    def first(self) -> IndexArray:
        """The lowest source index of each row, counted from ``origin``."""
        return self.at(self._these, weighs=False).first - self.origin

    def first_and_weights(self) -> tuple[IndexArray, Array]:
        """``first()``, and the weights of each row, (count, taps), not to be written; 1 where elements are moved."""
        first, weights, _ = self.at(self._these)
        return first - self.origin, np.ones((len(first), 1), np.float32) if weights is None else weights

    def index(self) -> IndexArray:
        """The output indices, in order."""
        step = -1 if self.descending else 1
        return np.arange(self.start, self.start + step * self.count, step, dtype=np.int64)

    @property
    def _these(self) -> IndexArray | slice:
        """``index()``; if all rows of the axis are cached and these ascend, it is a slice, which copies no row."""
        if self.at_once and not self.descending:
            return slice(self.start, self.start + self.count)
        return self.index()

    def at(self, index: IndexArray | slice, *, weighs: bool = True) -> Taps:
        """The rows of some output indices of the whole axis, with or without their weights."""
        if not self.at_once:
            return self.compute(*self.arguments, index, weighs)
        first, weights, shifts = _cached_rows(self.compute, self.arguments, self.size)
        return Taps(first[index], weights[index] if weighs and weights is not None else None, shifts)

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last output index."""
        return self.start, self.start + (1 - self.count if self.descending else self.count - 1)

    def reads(self) -> tuple[int, int]:
        """The lowest and the highest source index that these rows read, counted from ``origin``."""
        if self.compute in (_part_of_row, _indexed):  # rows are parts of rows, or have indices in any order
            first = self.first()
            return int(first.min()), int(first.max()) + self.taps - 1
        # From row to row, other rows read ever higher, or ever lower.
        ends = self.ends
        if self.at_once:
            first = _cached_rows(self.compute, self.arguments, self.size).first
            low, high = int(first[ends[0]]), int(first[ends[1]])
        else:
            low, high = self.at(np.array(ends, np.int64), weighs=False).first.tolist()
        if low > high:
            low, high = high, low
        return low - self.origin, high + self.taps - 1 - self.origin

    @property
    def span(self) -> range:
        """The source indices that are needed, from the lowest to the highest, all counted from 0."""
        if not self.count or not self.source_size:
            return range(0)
        if self.is_identity:
            return range(min(self.ends), max(self.ends) + 1)
        low, high = self.reads()
        if self.repeats_edges:
            low, high = max(low - 1, 0), min(high - 1, self.source_size - 1)
        return range(low + self.origin, high + 1 + self.origin)

    def part(self, start: int, count: int, origin: int | None = None) -> Rows:
        """Rows ``start`` to ``start + count`` of these rows. origin: as in the class; None: unchanged."""
        origin = self.origin if origin is None else origin
        if (count, origin) == (self.count, self.origin):
            return self
        return self.changed(start=self.start + (-start if self.descending else start), count=count, origin=origin)

    def reversed(self) -> Rows:
        """These rows in reverse order."""
        return self.changed(start=self.ends[1], descending=not self.descending)

    def transposed(self) -> Rows:
        """The rows of the gradient: row i has the outputs of the whole axis that read source index i.

        Worked example, 4 -> 2, first taps 0 and 1 with weights (a, b, c) and (d, e, f): element 1 has outputs 0 and 1
        with weights b and d, element 3 output 1 with weight f.
        """
        if self.is_transposed:
            forward: Rows = self.arguments[0]
            return forward
        if max(self.source_size, self.size) > MAX_OF_GRADIENT:
            raise UnsupportedError(
                f"a gradient takes axes of at most {MAX_OF_GRADIENT} elements before and after resizing, got "
                f"{self.source_size} to {self.size}"
            )
        most = _cached_rows(_readers, (self,), self.source_size).weights
        taps = 1 if most is None else int(most[0, 0])
        back = _transposed, (self, taps), self.size, self.source_size, taps
        return Rows(*back, is_identity=self.is_identity, is_transposed=True, at_once=are_few(self.source_size, taps))

    def split(self) -> tuple[Rows, ...]:
        """These rows; if a row has more taps than a dispatch sums, the rows of its parts, and rows that sum the parts.

        A row of 70,000 taps is 18 rows of 4096, the last one filled up with weights of zero, and one row that adds
        their 18 sums. Where a part begins depends on the row alone, so a window of the output sums as the whole does.
        """
        if self.taps <= MAX_TAPS:
            return (self,)
        many, shifts = -(-self.taps // MAX_TAPS), self.shifts
        parts = self.changed(
            compute=_part_of_row,
            arguments=(self.changed(start=0, count=self.size, origin=0), many),
            size=self.size * many,
            taps=MAX_TAPS,
            shifts=shifts and Shifts(shifts.element, shifts.product),
            at_once=False,
            start=self.start * many,
            count=self.count * many,
        )
        sums = self.changed(
            compute=_sum_of_parts,
            arguments=(many, shifts is None),
            source_size=parts.size,
            taps=many,
            shifts=shifts and Shifts(total=shifts.total, bits=shifts.bits),
            at_once=False,
            origin=parts.start,
        )
        return (parts, *sums.split())


def are_few(size: int, taps: int) -> bool:
    """True if all rows of an axis are computed at once."""
    return size * taps <= _MAX_AT_ONCE


def library_rows(rule: Rule, source_size: int, size: int, *others: object, is_identity: bool = False) -> Rows:
    """The rows ``rule(source_size, size, *others)`` of an axis; ``is_identity``: the library copies the axis as it is.

    Raises:
        UnsupportedError: the axis has more elements than ``MAX_OF_LIBRARY``.
    """
    if max(source_size, size) > MAX_OF_LIBRARY:
        raise UnsupportedError(
            f"like computes the weights of a whole axis, which may have at most {MAX_OF_LIBRARY} elements before and "
            f"after resizing, got {source_size} to {size}"
        )
    arguments = rule, source_size, size, others, is_identity
    _, weights, shifts = _cached_rows(_compute_library, arguments, size)
    moves, taps = weights is None, 1 if weights is None else weights.shape[1]
    return Rows(_compute_library, arguments, source_size, size, taps, moves, shifts, is_identity, at_once=True)


def with_edges(rows: Rows) -> Rows:
    """Rows that move the elements that ``rows`` read on an axis with repeated edges: 0, 0, 1, 2, 2 of 3 elements."""
    low, high = rows.reads()
    whole = picked_rows(_with_edges, rows.source_size, rows.source_size + 2)
    return whole.part(low + rows.origin, high + 1 - low, rows.span.start)


def _with_edges(source_size: int, _size: int, index: IndexArray, _weighs: bool) -> Taps:
    return Taps(np.clip(index - 1, 0, source_size - 1))


def picked_rows(rule: Rule, source_size: int, size: int, *others: object) -> Rows:
    """Rows that move one element each.

    ``rule(source_size, size, *others, index, weighs)`` gives the source element that each of the outputs ``index``
    takes.
    """
    arguments = source_size, size, *others
    return Rows(rule, arguments, source_size, size, 1, moves=True, at_once=are_few(size, 1))


def indexed_rows(source_size: int, indices: IndexArray) -> Rows:
    """Rows that move the elements at these source indices, in any order; each from 0 to ``source_size - 1``."""
    return picked_rows(_indexed, source_size, len(indices), indices.tobytes())


def _indexed(_source_size: int, _size: int, indices: bytes, index: IndexArray, _weighs: bool) -> Taps:
    return Taps(np.frombuffer(indices, np.int64)[index])


def _compute_library(
    rule: Rule,
    source_size: int,
    size: int,
    others: tuple[object, ...],
    is_identity: bool,
    _index: IndexArray,
    _weighs: bool,
) -> Taps:
    """All rows of a library's rule, whichever rows are requested."""
    taps = rule(source_size, size, *others)
    if not is_identity or taps.weights is None:
        return taps
    one = 1 if taps.shifts is None else 1 << taps.shifts.total
    return Taps(np.arange(size), np.full((size, 1), one, taps.weights.dtype), taps.shifts)


def _readers(forward: Rows, source: IndexArray, _weighs: bool) -> Taps:
    """The first output that reads each source index; instead of weights, how many outputs read an index at most."""
    first = forward.at(np.arange(forward.size, dtype=np.int64), weighs=False).first
    descends = len(first) > 0 and first[0] > first[-1]
    ascending = first[::-1] if descends else first
    low = np.searchsorted(ascending, source - forward.taps, "right")
    high = np.searchsorted(ascending, source, "right")
    taps = max(int((high - low).max(initial=0)), 1)
    return Taps(np.clip(forward.size - high if descends else low, 0, forward.size - taps), np.array([[taps]]))


def _transposed(forward: Rows, taps: int, index: IndexArray, weighs: bool) -> Taps:
    first = _cached_rows(_readers, (forward,), forward.source_size).first[index]
    if not weighs:
        return Taps(first)
    outputs = first[:, np.newaxis] + np.arange(taps)
    low, high = int(first.min(initial=forward.size)), int(first.max(initial=0)) + taps
    of_forward, weights = forward.part(low, max(high - low, 0)).first_and_weights()
    if forward.inside is not None:
        read = np.arange(low, high)[:, np.newaxis]
        weights = np.where((read < forward.inside.start) | (read >= forward.inside.stop), np.float32(0), weights)
    place = outputs - low
    tap = index[:, np.newaxis] - of_forward[place]
    reads = (tap >= 0) & (tap < forward.taps)
    return Taps(first, np.where(reads, weights[place, np.where(reads, tap, 0)], np.float32(0)))


def _part_of_row(whole: Rows, many: int, index: IndexArray, weighs: bool) -> Taps:
    """Part ``index % many`` of row ``index // many``; a part that would exceed its row begins earlier, with zeros."""
    row, part = np.divmod(index, many)
    begin = whole.at(row, weighs=False).first
    first = np.minimum(begin + part * MAX_TAPS, begin + whole.taps - MAX_TAPS)
    if not weighs:
        return Taps(first)
    early = begin + part * MAX_TAPS - first
    weights = np.zeros((len(index), MAX_TAPS), np.float32 if whole.shifts is None else np.int32)
    for one in np.unique(row).tolist():
        # The row is cached, because successive dispatches need successive parts of it.
        _, of_row, _ = _cached_rows(_taken, (whole.changed(start=one, count=1),), 1)
        for place in np.flatnonzero(row == one):
            begin_of_part = part[place] * MAX_TAPS
            some = of_row[0, begin_of_part : begin_of_part + MAX_TAPS]  # type: ignore[index] # there are weights
            weights[place, early[place] : early[place] + len(some)] = some
    return Taps(first, weights)


def _taken(rows: Rows, _index: IndexArray, _weighs: bool) -> Taps:
    """The given rows, whichever rows are requested."""
    return Taps(*rows.first_and_weights())


def _sum_of_parts(many: int, of_floats: bool, index: IndexArray, _weighs: bool) -> Taps:
    return Taps(index * many, np.ones((len(index), many), np.float32 if of_floats else np.int32))


_cache: LRU[Taps] = LRU(_MAX_CACHED_BYTES)
"""Rows of whole axes, by rule and arguments; the rows of the last two axes are kept whatever their size."""


def _cached_rows(compute: Callable[..., Taps], arguments: tuple[object, ...], size: int) -> Taps:
    """All rows of an axis with ``size`` outputs, from the cache."""
    key = compute, arguments
    taps = _cache.get(key)
    if taps is None:
        taps = compute(*arguments, np.arange(size, dtype=np.int64), True)
        _cache.put(key, taps)
    return taps


def in_quads(rows: Rows, extent: int, aligned: bool) -> Rows:
    """The rows with taps padded to a multiple of four; ``aligned``: each row begins at a multiple of four.

    If ``aligned``, ``extent``, the number of source indices, is a multiple of four, and taps 6, 7, 8 of 12 become 4 to
    11 with weights 0, 0, w, w, w, 0, 0, 0. Else they become 6 to 9 with w, w, w, 0: a tap without weight adds nothing.
    """
    first, weights = rows.first_and_weights()
    needed = rows.taps - np.argmax((weights != 0)[:, ::-1], axis=1)
    if aligned:
        needed += first % 4
    taps = -(-int(needed.max()) // 4) * 4
    return rows.changed(
        compute=_quads,
        arguments=(rows, taps, extent, aligned),
        taps=taps,
        origin=0,
        at_once=rows.at_once and are_few(rows.size, taps),
        is_identity=False,
    )


def _quads(rows: Rows, taps: int, extent: int, aligned: bool, index: IndexArray, weighs: bool) -> Taps:
    first, weights, _ = rows.at(index, weighs=weighs)
    first = first - rows.origin
    early = first % 4 if aligned else np.zeros_like(first)
    begin = np.minimum(first - early, extent - taps)
    if weights is None:
        return Taps(begin)
    # Padded rows begin earlier, and taps that do not fit after them have no weight.
    early = first - begin
    wide = np.zeros((len(index), max(taps, rows.taps + int(early.max()))), weights.dtype)
    wide[np.arange(len(index))[:, np.newaxis], early[:, np.newaxis] + np.arange(rows.taps)] = weights
    return Taps(begin, wide[:, :taps])


# For the rules of libraries: their return value, and functions that several of them share.


class LibraryRows(NamedTuple):
    """The rows of each resized axis as a library computes them.

    order: positions of the axes in the order of summation; default: the last axis first. scale: factor of sums of
        integers, in f32.
    rounding: how sums are rounded to the source's type after each axis; None: only after the last axis, to even.
    """

    rows: tuple[Rows, ...]
    order: tuple[int, ...] = ()
    scale: float | None = None
    rounding: str | None = None


def on_axis(first: IndexArray, weights: Array, source_size: int, shifts: Shifts | None = None) -> Taps:
    """The rows, shifted so that all taps are on the axis; taps that were beyond it must have weight 0.

    Taps 2, 3, 4 of an axis of 4 elements with weights w, w, 0 become taps 1, 2, 3 with weights 0, w, w.
    """
    weights = weights[:, :source_size]
    taps = weights.shape[1]
    begin = np.clip(first, 0, source_size - taps)
    moved = np.zeros((len(first), 2 * taps), weights.dtype)
    np.put_along_axis(moved, (first - begin)[:, np.newaxis] + np.arange(taps), weights, axis=1)
    return Taps(begin, np.ascontiguousarray(moved[:, :taps]), shifts)


def normalized(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Divide each row by its sum, which is added up in order, as loops in C do; numpy's own sums are pairwise."""
    total = np.zeros(len(weights))
    if len(weights) < weights.shape[1]:  # faster for few rows and many columns: running sums add in the same order
        total += np.cumsum(weights, axis=1)[:, -1]
    else:
        for column in weights.T:
            total += column
    return np.divide(weights, total[:, np.newaxis], out=weights, where=total[:, np.newaxis] != 0.0)


def folded_at_edges(index: IndexArray, weights: Array, source_size: int) -> tuple[IndexArray, Array]:
    """Each row's first index and weights, from the indices that it reads; those beyond an edge read the edge.

    Indices -1, 0, 1, 2 with weights a, b, c, d are taps 0, 1, 2, 3 with weights a + b, c, d, 0.
    """
    index, taps = np.clip(index, 0, source_size - 1), min(index.shape[1], source_size)
    first = np.minimum(index.min(axis=1, initial=source_size), source_size - taps)
    folded = np.zeros((len(index), taps), weights.dtype)
    rows = np.arange(len(index))
    if len(index) < index.shape[1]:
        # Fewer rows than taps: one call is faster than a loop over taps. It adds each row's weights in the same order,
        # so the bits are equal.
        np.add.at(folded, (rows[:, np.newaxis], index - first[:, np.newaxis]), weights)
    else:
        for column, tap in zip(weights.T, index.T, strict=True):
            folded[rows, tap - first] += column
    return first, folded


def at_edges(index: IndexArray, weights: Array, source_size: int, shifts: Shifts | None = None) -> Taps:
    """The rows of ``folded_at_edges``, as ``Taps``."""
    return Taps(*folded_at_edges(index, weights, source_size), shifts)


def windowed(
    source_size: int, size: int, origin: float, scale: float, support: float, kernel: Callable[[F64Array], F64Array]
) -> tuple[IndexArray, F64Array]:
    """First indices and f64 weights of Pillow's filters, which torch has too; ``on_axis`` moves them onto the axis.

    origin: where the first output begins. scale: width of an output in source elements. support: radius of the kernel
    in outputs, or in source elements where these are wider.
    """
    stretch = max(scale, 1.0)
    support *= stretch
    centre = origin + (np.arange(size) + 0.5) * scale
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    count = np.minimum((centre + support + 0.5).astype(np.int64), source_size) - first
    taps = np.arange(max(int(count.max(initial=1)), 1))
    places = (taps + first[:, np.newaxis]) - centre[:, np.newaxis] + 0.5
    weights = np.where(taps < count[:, np.newaxis], kernel(places * (1.0 / stretch)), 0.0)
    return first, normalized(weights)
