"""Tables: the cells of a layout in rows and columns, as many as there is room for, and the outlines between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from restride.drawing.map import Cell, LayoutMap

_TAIL = 3
"""Rows, columns and planes shown at the end where the middle is left out."""

_OUTSIDE = -1
"""A position before the first and after the last."""

Level = int | None
"""An outline between two cells: 0 of the tiles and around a table, 1 of the sub-tiles, ...; None: there is none."""


@dataclass(frozen=True)
class Shown:
    """Positions to draw. The one at ``gap`` is the first of those that are left out, and stands for them all."""

    positions: tuple[int, ...]
    gap: int | None = None

    @property
    def names(self) -> list[int | None]:
        """The positions, None for the gap."""
        return [None if place == self.gap else position for place, position in enumerate(self.positions)]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The neighbours on both sides of every edge, drawn or not: -1,0 0,1 1,2 8,9 9,-1 for 0 1 ... 9."""
        first, last = self.positions[0], self.positions[-1]
        return [(_OUTSIDE, first), *((position - 1, position) for position in self.positions[1:]), (last, _OUTSIDE)]


def shown(size: int, room: int) -> Shown:
    """All of ``size`` positions if there is room, else the first ones, a gap, and the last.

    Room for 8 of 100: 0 1 2 3 ... 97 98 99.
    """
    if size <= room:
        return Shown(tuple(range(size)))
    tail = min(_TAIL, max(room - 1, 0) // 2)
    head = max(room - 1 - tail, 1)
    return Shown(tuple(chain(range(head + 1), range(size - tail, size))), head)


@dataclass(frozen=True)
class Grid:
    """One plane of the array: its last two axes."""

    map: LayoutMap
    plane: int
    rows: Shown
    columns: Shown

    @cached_property
    def cells(self) -> list[list[Cell | None]]:
        """By row and column; None: left out."""
        return [
            [
                None if row is None or column is None else self.map.at(self.plane, row, column)
                for column in self.columns.names
            ]
            for row in self.rows.names
        ]

    @cached_property
    def beside(self) -> list[list[Level]]:
        """For each row, the outlines left of every cell and right of the last."""
        return [
            [self._level((row, left), (row, right)) for left, right in self.columns.edges]
            for row in self.rows.positions
        ]

    @cached_property
    def above(self) -> list[list[Level]]:
        """For each column, the outlines over every cell and under the last."""
        return [
            [self._level((over, column), (under, column)) for over, under in self.rows.edges]
            for column in self.columns.positions
        ]

    def _level(self, place: tuple[int, int], other: tuple[int, int]) -> Level:
        if _OUTSIDE in (*place, *other):
            return 0
        if not self.map.outlines_grids:
            return None
        return self.map.level(*(self.map.at(self.plane, *at).offset for at in (place, other)))


@dataclass(frozen=True)
class MemoryLine:
    """The buffer, element after element, in rows of ``width``."""

    map: LayoutMap
    width: int
    rows: Shown

    @cached_property
    def starts(self) -> list[int | None]:
        """The first offset of each row; None: left out."""
        return [None if row is None else self.map.span.start + row * self.width for row in self.rows.names]

    @cached_property
    def cells(self) -> list[list[Cell]]:
        """By row; the last may be shorter, and what is left out has none."""
        stop = self.map.span.stop
        rows = [range(0) if start is None else range(start, min(start + self.width, stop)) for start in self.starts]
        return [[*map(self.map.at_offset, row)] for row in rows]

    def beside(self, cells: Sequence[Cell]) -> list[Level]:
        """The outlines left of every cell of a row and right of the last."""
        span, offsets = self.map.span, [cell.offset for cell in cells]
        edges = [*offsets, offsets[-1] + 1] if offsets else []
        return [0 if at in (span.start, span.stop) else self.map.level(at - 1, at) for at in edges]


def memory_line(its_map: LayoutMap, room: int, most_rows: int) -> MemoryLine:
    """The line of memory in rows of at most ``room`` elements: whole tiles, if one fits, or sub-tiles, or eights.

    Rows are equally long where that costs at most half of the room: 32 elements, room for 25, tiles of 8: two of 16.
    """
    size = its_map.span.stop - its_map.span.start  # len() of a range ends at 2^63
    width = min(room, size)
    if width < size:
        unit = next((unit for unit in (*its_map.blocks, 8) if unit <= room), 1)
        longest = room // unit * unit
        width = next((width for width in range(longest, longest // 2, -unit) if size % width == 0), longest)
    return MemoryLine(its_map, width, shown(-(-size // width), most_rows))
