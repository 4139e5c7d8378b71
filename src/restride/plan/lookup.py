"""Plan of a look-up: every element of 8 bits becomes the bits of the entry that it chooses in a table of 256."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from restride.dtypes import DType
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.dispatches import bind, longest, pair_spans, parts, strided_kernel, work_of
from restride.plan.problem import Problem, Span, pack_parameters, word
from restride.plan.tiles import Region, SharedPlace, Walk, walks

ENTRIES = 256
"""Entries of a row of a table: one for each value of an element of 8 bits."""

INDEXED = {"u8": 0, "s8": 128}
"""The element types that choose an entry, and what is added to an element to give its number."""

_MOST_TABLE_BYTES = 1 << 20
"""Most bytes of the rows of one dispatch."""

_MOST_KEPT_BYTES = 1 << 16
"""Most bytes of a table whose plans the cache keeps."""


@dataclass(frozen=True)
class Table:
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
    def is_small(self) -> bool:
        """True if plans with this table may be kept."""
        return len(self.entries) <= _MOST_KEPT_BYTES

    def window(self, part: range) -> Table:
        """The table of a part of its axis."""
        if self.axis is None:
            return self
        row = ENTRIES * self.dtype.itemsize
        return replace(self, entries=self.entries[part.start * row : part.stop * row])

    @cached_property
    def words(self) -> npt.NDArray[np.uint32]:
        """The rows as words, entries narrower than a word in one each: (rows, words of a row)."""
        entries = np.frombuffer(self.entries, f"u{self.dtype.itemsize}")
        wide = entries.view(np.uint32) if self.dtype.itemsize > 4 else entries.astype(np.uint32)
        return wide.reshape(self.rows, -1)


def lookup_walks(src: TensorDesc, dst: TensorDesc, table: Table, limits: Limits) -> tuple[Walk, ...] | None:
    """The strided walks of a look-up into ``dst``; None: none or too many describe it, and one of the two is copied."""
    strides = tuple(int(axis == table.axis) for axis in range(src.rank))
    rows = None if table.axis is None else SharedPlace(strides, (1,) * src.rank)
    cut_walks = walks(Region.of(src, dst, (rows, None)))
    return cut_walks if cut_walks is not None and limits.allow(len(cut_walks), src.numel) else None


def lookup_kernels(cut_walks: Iterable[Walk], src: DType, table: Table, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches of the walks over elements of type ``src``."""
    words = table.words
    if INDEXED[src.name]:  # kernels take the bits of an element: s8 -128 has those of 128
        words = np.roll(words.reshape(table.rows, ENTRIES, -1), INDEXED[src.name], 1).reshape(words.shape)
    return tuple(
        _lookup(part, words, limits)
        for walk in cut_walks
        for part in parts(walk.problem(table.dtype.itemsize, src.itemsize), limits, _axis_with_too_many_rows)
    )


def _rows_of(problem: Problem) -> Span:
    """The rows of the table that a problem reads."""
    return pair_spans(problem)[0]


def _axis_with_too_many_rows(problem: Problem, _limits: Limits) -> int | None:
    """The axis at which to cut a problem that reads more of a table than one dispatch may have; None: it does not."""
    lowest, highest = _rows_of(problem)
    if (highest + 1 - lowest) * ENTRIES * max(problem.itemsize, 4) <= _MOST_TABLE_BYTES:
        return None
    return longest(problem, lambda axis: (axis.size - 1) * abs(axis.pairs[0]))


def _lookup(problem: Problem, words: npt.NDArray[np.uint32], limits: Limits) -> KernelSpec:
    bound = bind(problem, limits)
    work = work_of(problem, bound)
    lowest, highest = _rows_of(problem)
    push = {
        **bound.bases,
        "pieces": work.pieces,
        "first_word": work.first,
        "first_row": word(problem.pair_offsets[0] - lowest),
    }
    constants = {"BITS": 8 * problem.itemsize, "OWN_WORDS": work.own_words}
    parameters = pack_parameters(problem.axes) + words[lowest : highest + 1].tobytes()
    return strided_kernel(
        "lookup_elements", problem.axes, constants, push, bound.windows, limits, parameters=parameters
    )
