"""Plan of a look-up: every element of 8 bits is replaced by its entry in a table of 256."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import DType
from restride.kernel import KernelSpec, Limits
from restride.kernel.shared_constants import (
    MAX_CHANNELS,
)
from restride.layout import TensorDesc
from restride.lru import cached_property
from restride.plan.dispatches import (
    Bound,
    bind,
    longest,
    pair_spans,
    parts,
    strided_kernel,
    whole_units,
    work_of,
)
from restride.plan.problem import Axis, Problem, Span, pack_parameters
from restride.plan.tiles import Region, SharedPlace, Walk, walks

ENTRIES = 256
"""Number of entries in a row of a table: one for each value of an 8-bit element."""

INDEXED = {"u8": 0, "s8": 128}
"""The element types that choose an entry, and the number that is added to an element to get the number of its entry."""

_MAX_TABLE_BYTES = 1 << 20
"""Maximum size in bytes of the table rows of one dispatch."""

_MAX_KEPT_BYTES = 1 << 16
"""Maximum size in bytes of a table whose plans the cache keeps."""

_QUADS_EACH = 4
"""Number of quads that an invocation handles, if its quads are neighbours."""

_MAX_COPIES = 4
"""Maximum number of copies that an invocation stores (``MAX_COPIES`` in shaders/convert/lookup.comp)."""


@dataclass(frozen=True)
class LookupTable:
    """A table: the element type of its entries, and their bits, row by row.

    axis: every index along this axis of the source has a row of its own; None: there is one row for all.
    """

    dtype: DType
    axis: int | None
    entries: bytes

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.entries) // (ENTRIES * self.dtype.itemsize)

    @property
    def words_of_entry(self) -> int:
        """Words that an entry takes in a kernel's parameters."""
        return max(self.dtype.itemsize // 4, 1)

    @property
    def is_small(self) -> bool:
        """True if plans with this table may be kept."""
        return len(self.entries) <= _MAX_KEPT_BYTES

    def window(self, part: range) -> LookupTable:
        """The table of a part of its axis."""
        if self.axis is None:
            return self
        row = ENTRIES * self.dtype.itemsize
        return replace(self, entries=self.entries[part.start * row : part.stop * row])

    @cached_property
    def words(self) -> npt.NDArray[np.uint32]:
        """The rows as words, (rows, words of a row); a narrow entry takes a whole word."""
        entries = np.frombuffer(self.entries, f"u{self.dtype.itemsize}")
        wide = entries.view(np.uint32) if self.dtype.itemsize > 4 else entries.astype(np.uint32)
        return wide.reshape(self.rows, ENTRIES * self.words_of_entry)


def lookup_walks(src: TensorDesc, dst: TensorDesc, table: LookupTable, limits: Limits) -> tuple[Walk, ...] | None:
    """The strided walks of a look-up into ``dst``; None if there are none or too many: then one side must be copied."""
    strides = tuple(int(axis == table.axis) for axis in range(src.rank))
    rows = None if table.axis is None else SharedPlace(strides, (1,) * src.rank)
    cut_walks = walks(Region.of(src, dst, (rows, None)))
    return cut_walks if cut_walks is not None and limits.allow(len(cut_walks), src.numel) else None


def lookup_kernels(cut_walks: Iterable[Walk], src: DType, table: LookupTable, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches of the walks over elements of type ``src``."""
    # The kernel uses the bits of an element as its entry number, but s8 -128, which has entry 0, has the bits of 128.
    words = np.roll(table.words, INDEXED[src.name] * table.words_of_entry, 1)
    return tuple(
        _lookup(part, words, limits)
        for walk in cut_walks
        for run in _whole_quads(walk.problem(table.dtype.itemsize, src.itemsize), limits)
        for part in parts(run, limits, _axis_with_too_many_rows)
    )


def _rows_of(problem: Problem) -> Span:
    """The rows of the table that a problem reads."""
    return pair_spans(problem)[0]


def _axis_with_too_many_rows(problem: Problem, _limits: Limits) -> int | None:
    """The axis at which to cut a problem that reads more rows of a table than fit one dispatch; None: they fit."""
    lowest, highest = _rows_of(problem)
    if (highest + 1 - lowest) * ENTRIES * max(problem.itemsize, 4) <= _MAX_TABLE_BYTES:
        return None
    return longest(problem, lambda axis: (axis.size - 1) * abs(axis.pairs[0]))


def _whole_quads(problem: Problem, limits: Limits) -> tuple[Problem, ...]:
    """The problem, or two: its whole quads of pixels, and the rest."""
    return (problem,) if _quads(problem) else whole_units(problem, int(_is_interleaved(problem)), 4, limits, _quads)


def _lookup(problem: Problem, words: npt.NDArray[np.uint32], limits: Limits) -> KernelSpec:
    bound = bind(problem, limits)
    lowest, highest = _rows_of(problem)
    row = problem.pair_offsets[0] - lowest
    quads = _quads(problem)
    if quads is None:
        work = work_of(problem, bound)
        shader, axes, each = "lookup_elements", problem.axes, 1
        constants, push = work.constants, {**bound.bases, **work.push, "table_row": row}
    else:
        shader, axes, each = "lookup_quads", quads.axes, _QUADS_EACH if limits.choices.neighbours else 1
        constants = {"BITS": 8 * problem.itemsize, "EACH": each, **quads.constants}
        push = quads.push(bound, row)
    parameters = pack_parameters(shader, axes) + words[lowest : highest + 1].tobytes()
    return strided_kernel(shader, axes, constants, push, bound.windows, limits, each=each, parameters=parameters)


class _PixelQuads(NamedTuple):
    """A problem in which an invocation handles quads: four pixels, whose elements are contiguous in the source.

    axes: from pixel to pixel, the first one within a quad. plane: from element to element of a pixel. copies: an axis
    along which the result repeats itself. A pixel of one element has a ``plane`` of size 1; ``copies`` has size 1 if
    nothing repeats.
    is_wide: the elements of four pixels are whole words of the source. is_aligned: in the destination every quad begins
    at a multiple of four elements.
    """

    axes: tuple[Axis, ...]
    plane: Axis
    copies: Axis
    is_wide: bool
    is_aligned: bool

    @property
    def constants(self) -> dict[str, int]:
        """The specialization constants of ``lookup_quads`` that do not depend on the device."""
        return {
            "PLANES": self.plane.size,
            "INTERLEAVED": self.plane.dst == 1,
            "COPIES": self.copies.size,
            "CROSSES": self.axes[0].size % 4 != 0,  # True: a quad may have pixels of two rows
            "WIDE": self.is_wide,
            "WHOLE_STORES": self.is_aligned,
            "ROWS_OF_PLANES": not any(axis.pairs[0] for axis in self.axes),
        }

    def push(self, bound: Bound, row: int) -> dict[str, int]:
        """The push constants. row: the table row of index 0.

        A pixel whose elements go backwards is walked from its other end. BGR to planes R, G, B: element 0 goes to plane
        2, two plane strides ahead, and each further element to the plane before.
        """
        lane, plane = self.axes[0], self.plane
        back = plane.size - 1 if plane.src < 0 else 0
        sign = -1 if back else 1
        return {
            "src_base": bound.src_base - back,
            "dst_base": bound.dst_base + back * plane.dst,
            "pieces": prod(axis.size for axis in self.axes) // 4,
            "table_row": row + back * plane.pairs[0],
            "lane_stride": lane.src,
            "lane_row": lane.pairs[0],
            "plane_stride": sign * plane.dst,
            "plane_row": sign * plane.pairs[0],
            "copy_stride": self.copies.dst,
        }


_NO_PLANE, _NO_COPIES = Axis(1, 1, 0), Axis(1, 0, 0)


def _is_interleaved(problem: Problem) -> bool:
    """True if pixels have several elements, in the same order on both sides, contiguous in the destination."""
    if len(problem.axes) < 2:
        return False
    plane, lane, *_ = problem.axes
    return (plane.src, plane.dst) == (1, 1) and 1 < plane.size <= MAX_CHANNELS and lane.dst == plane.size


def _quads(problem: Problem) -> _PixelQuads | None:
    """The problem by quads of pixels; None unless quads cover all pixels, and a quad is whole words.

    Patches of u8[28,28,3], u8[2,2,3,14,14]{strides=(1176,42,1,84,3)}: the lanes are axis (size 14, src 3, dst 1), the
    planes (size 3, src 1, dst 196). A patch is 49 quads of each plane, of which every seventh crosses two rows.
    """
    if not problem.axes or problem.axes[0].dst != 1 or problem.itemsize > 4:
        return None
    lane, *others = problem.axes
    plane, copies = _NO_PLANE, _NO_COPIES
    is_interleaved = _is_interleaved(problem)
    if is_interleaved:
        plane, lane = lane, others.pop(0)
    else:
        plane = next((axis for axis in others if abs(axis.src) == 1 and axis.size <= MAX_CHANNELS), plane)
    copies = next((axis for axis in others if axis.src == axis.pairs[0] == 0 and axis.size <= _MAX_COPIES), copies)
    others = [axis for axis in others if axis is not plane and axis is not copies]
    crosses = lane.size % 4 != 0
    if crosses and (is_interleaved or not others or not _follow(lane, others[0])):
        return None
    starts = (problem.dst_offset, *(axis.dst for axis in others[crosses:]), copies.dst)
    is_aligned = not any(start % 4 for start in (*starts, 0 if is_interleaved else plane.dst))
    if not is_aligned and problem.itemsize < 4:
        return None
    first = problem.src_offset - (plane.size - 1 if plane.src < 0 else 0)
    are_words = not any(start % 4 for start in (first, *(axis.src for axis in others)))
    return _PixelQuads(
        axes=(lane, *others),
        plane=plane,
        copies=copies,
        is_wide=lane.src == plane.size and are_words and not crosses,
        is_aligned=is_aligned,
    )


def _follow(lane: Axis, row: Axis) -> bool:
    """True if the rows follow one another in the destination, fill whole quads together, and use one table row."""
    is_followed = row.dst == lane.size and lane.size * row.size % 4 == 0
    return is_followed and lane.size >= 4 and lane.pairs[0] == row.pairs[0] == 0
