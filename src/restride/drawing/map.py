"""LayoutMap: what lies where, cell by cell, for every way to draw it: a grid of the indices, and the line of memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import prod

from restride.desc import TensorDesc
from restride.desc.digits import Linear, affine
from restride.drawing.blocks import block_sizes
from restride.drawing.palette import HUES


class Kind(Enum):
    """What an element of the buffer is; the value marks it where there is no colour."""

    ELEMENT = ""
    ZERO = "·"
    VALUE = "="
    UNREACHED = "-"


@dataclass(frozen=True)
class Cell:
    """One element of the buffer: its offset, the index that lies there (None: padding), and its number among HUES."""

    offset: int
    kind: Kind = Kind.ELEMENT
    index: tuple[int, ...] | None = None
    hue: int | None = None


class LayoutMap:
    """Cells of a layout, by index and by offset.

    Where the layout has tiles, padding has places in the grid too: 3x5 in tiles of 2x2 is a grid of 4x6.

    Args:
        desc: the layout; it must have elements.
        coloured_by: a layout of the same sizes, whose colours the elements take; None: this one.
    """

    def __init__(self, desc: TensorDesc, coloured_by: LayoutMap | None = None) -> None:
        self.desc = desc
        self.blocks = block_sizes(desc)
        self._coloured_by = coloured_by or self
        self._blocking = desc.blocking if desc.is_whole else None

    @cached_property
    def _box(self) -> tuple[int, ...]:
        """Bounds of the coordinates that have a place in memory."""
        if self._blocking is None:
            return self.desc.sizes
        return (self._blocking.box or self._blocking.bounds)[: self.desc.rank]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns: the last two axes, padding counted; one row for rank 1, one cell for rank 0."""
        rows, columns = (1, 1, *self._box)[-2:]
        return rows, columns

    @cached_property
    def longest_offset(self) -> int:
        """Characters of the longest number in a grid, the mark of padding counted."""
        return len(str(self.span.stop - 1)) + (self._box != self.desc.sizes)

    @cached_property
    def planes(self) -> int:
        """How many grids there are: one for each index of the axes before the last two."""
        return prod(self.desc.sizes[:-2])

    def leading(self, plane: int) -> tuple[int, ...]:
        """The index of a grid along the axes before the last two; planes of 2,3 are numbered in row-major order."""
        index: list[int] = []
        for size in reversed(self.desc.sizes[:-2]):
            plane, position = divmod(plane, size)
            index.insert(0, position)
        return tuple(index)

    def at(self, plane: int, row: int, column: int) -> Cell:
        """A cell of the grid."""
        index = (*self.leading(plane), row, column)[-self.desc.rank :] if self.desc.rank else ()
        if all(map(int.__lt__, index, self.desc.sizes)):
            return self._element(self.desc.address.at(index), index)
        return Cell(self._box_address.at(index), self._padding(index))

    def at_offset(self, offset: int) -> Cell:
        """A cell of the line of memory."""
        index = self.desc.index_of(offset)
        if index is not None:
            return self._element(offset, index)
        coordinates = None if self._blocking is None else self._blocking.coordinates_of(offset)
        return Cell(offset, self._padding(coordinates))

    @cached_property
    def outlines_grids(self) -> bool:
        """False where each cell would be outlined by itself, as with blocks along other axes: nChw16c."""
        if not self.blocks or self.desc.rank < 3:
            return True
        rows, columns = self.grid
        neighbours = [(0, 1)] * (columns > 1) + [(1, 0)] * (rows > 1)
        first = self.at(0, 0, 0).offset
        return any(self.level(first, self.at(0, *place).offset) != 0 for place in neighbours)

    def level(self, offset: int, other: int) -> int | None:
        """Which outline parts two elements: 0 that of the tiles, 1 of the sub-tiles, ...; None: they are in one."""
        return next((level for level, size in enumerate(self.blocks) if offset // size != other // size), None)

    @property
    def span(self) -> range:
        """The offsets that the line of memory shows: a whole buffer, else the lowest to the highest element."""
        if self.desc.is_whole:
            return range(self.desc.extent)
        return range(self.desc.lowest, self.desc.highest + 1)

    def _element(self, offset: int, index: tuple[int, ...]) -> Cell:
        return Cell(offset, Kind.ELEMENT, index, self._coloured_by.hue(index))

    def hue(self, index: tuple[int, ...]) -> int:
        """The colour of an element: that of its tile, or of its row where there are no tiles."""
        if self.blocks:
            return self.desc.address.at(index) // self.blocks[0] % len(HUES)
        row = 0
        for position, size in zip(index[:-1], self.desc.sizes[:-1], strict=True):
            row = row * size + position
        return row % len(HUES)

    def _padding(self, coordinates: tuple[int, ...] | None) -> Kind:
        if not self.desc.is_whole:
            return Kind.UNREACHED
        padded = self.desc.padded_sizes or self.desc.sizes
        is_by_value = coordinates is not None and all(map(int.__lt__, coordinates, padded))
        return Kind.VALUE if is_by_value else Kind.ZERO

    @cached_property
    def _box_address(self) -> Linear:
        """The offset of every coordinate in the box, by the same splits as those of the array's own."""
        if self._blocking is None:
            return self.desc.address
        return self._blocking.address(affine(0, [(axis, size, 1)]) for axis, size in enumerate(self._box))
