"""The cells of a layout's picture: grids of the indices and the line of memory, with their outlines and colours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain, pairwise
from math import prod

from restride.drawing.levels import Level, TileNumbers
from restride.drawing.plane import Plane, usual_plane
from restride.layout import TensorDesc
from restride.layout.digits import Linear, coordinates, each_axis

HUES = (153, 223, 151, 218, 229, 183, 188, 158, 216, 114, 141, 227, 212, 117, 180, 145, 80)
"""Colours of successive tiles and runs, of xterm's 6x6x6 colour cube: pale ones, then stronger ones of other shades.

Their number is prime: with 2 to 16 tiles in a row, a tile differs in colour from the one below it.
"""

_LEVELS = (0x00, 0x5F, 0x87, 0xAF, 0xD7, 0xFF)


def rgb(hue: int) -> str:
    """A hue as ``#rrggbb``: number 16 + 36 r + 6 g + b of the cube, with r, g and b from 0 to 5. 153 is #afd7ff."""
    red, rest = divmod(HUES[hue] - 16, 36)
    return "#" + "".join(f"{_LEVELS[level]:02x}" for level in (red, *divmod(rest, 6)))


def painted(text: str, hue: int) -> str:
    """``text`` in black on a hue, by escape sequences: readable on dark and on light terminals."""
    return f"\x1b[38;5;16;48;5;{HUES[hue]}m{text}\x1b[0m"


_LOOKED_AT = 32
"""This many rows and columns decide whether outlines are drawn: the most columns that a picture shows."""


class Kind(Enum):
    """The kind of an element of the buffer; the value is its mark in pictures without colour."""

    ELEMENT = ""
    ZERO = "·"
    VALUE = "="
    UNREACHED = "-"


@dataclass(frozen=True)
class Cell:
    """One element of the buffer: its offset, its index (None: padding), and the position of its colour in HUES."""

    offset: int
    kind: Kind = Kind.ELEMENT
    index: tuple[int, ...] | None = None
    hue: int | None = None

    @property
    def offset_text(self) -> str:
        """The offset, with a mark if it is padding: the text in a grid."""
        return f"{self.kind.value}{self.offset}"

    @property
    def index_text(self) -> str:
        """The index, or the mark of padding: the text in the line of memory."""
        return self.kind.value if self.index is None else index_text(self.index)


def index_text(index: tuple[int, ...]) -> str:
    """The index as text, ``2,3``; that of a scalar is ``()``."""
    return ",".join(map(str, index)) or "()"


class LayoutMap:
    """The cells of a layout, by index and by offset.

    If the layout has tiles, the grid shows padding too: 3x5 in tiles of 2x2 is a grid of 4x6.

    Args:
        desc: the layout; it must have elements.
        plane: the axes of rows and columns; None: the usual ones.
        coloured_by: a layout with the same sizes that determines the elements' colours; None: this one.
    """

    def __init__(self, desc: TensorDesc, plane: Plane | None = None, coloured_by: LayoutMap | None = None) -> None:
        self.desc = desc
        self.plane = usual_plane(desc) if plane is None else plane
        self.stacked = tuple(axis for axis in range(desc.rank) if axis not in self.plane)
        self.coloured_by = coloured_by or self
        self._blocking = desc.blocking if desc.is_whole else None
        self._numbers = TileNumbers(desc, self._box)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of tiles or blocks, the outermost first."""
        return self._numbers.levels

    @cached_property
    def _box(self) -> tuple[int, ...]:
        """Sizes of the box of coordinates that have a position in memory, including padding."""
        if self._blocking is None:
            return self.desc.sizes
        return (self._blocking.box or self._blocking.bounds)[: self.desc.rank]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns, with padding; one row for rank 1, one cell for rank 0."""
        rows, columns = (1, 1, *(self._box[axis] for axis in self.plane))[-2:]
        return rows, columns

    @cached_property
    def longest_offset(self) -> int:
        """Characters of the longest number in a grid, with the mark of padding."""
        return len(str(self.span.stop - 1)) + (self._box != self.desc.sizes)

    @cached_property
    def planes(self) -> int:
        """The number of grids: one for each index of the axes outside the plane."""
        return prod(self.desc.sizes[axis] for axis in self.stacked)

    def leading(self, plane: int) -> tuple[int, ...]:
        """The index of a grid on the axes outside the plane; grids of 2,3 are numbered in row-major order."""
        index: list[int] = []
        for axis in reversed(self.stacked):
            plane, position = divmod(plane, self.desc.sizes[axis])
            index.insert(0, position)
        return tuple(index)

    def title(self, plane: int) -> str:
        """The grid's title, such as ``[0, 1, :, :]``, if there are axes outside the plane; else empty."""
        if not self.stacked:
            return ""
        fixed = dict(zip(self.stacked, self.leading(plane), strict=True))
        return f"[{', '.join(str(fixed.get(axis, ':')) for axis in range(self.desc.rank))}]"

    def index(self, plane: int, row: int, column: int) -> tuple[int, ...]:
        """The index at a row and column of a grid, which may be in the padding."""
        at = dict(zip(self.stacked, self.leading(plane), strict=True))
        at |= dict(zip(self.plane, (row, column)[2 - len(self.plane) :], strict=True))
        return tuple(at[axis] for axis in range(self.desc.rank))

    def at(self, plane: int, row: int, column: int) -> Cell:
        """The cell at a row and column of a grid."""
        index = self.index(plane, row, column)
        if all(map(int.__lt__, index, self.desc.sizes)):
            return self._element(self.desc.address.at(index), index)
        return Cell(self._box_address.at(index), self._padding(index))

    def at_offset(self, offset: int) -> Cell:
        """The cell at an offset of the line of memory."""
        index = self.desc.index_of(offset)
        if index is not None:
            return self._element(offset, index)
        coordinates = None if self._blocking is None else self._blocking.coordinates_of(offset)
        return Cell(offset, self._padding(coordinates))

    @cached_property
    def _outlines_grids(self) -> bool:
        """False if every cell would be outlined, for example because the blocks are along axes that are not drawn.

        x[1:, 1:] of T(2,2) begins with the last element of a tile: the second and the third row share tiles.
        """
        rows, columns = (min(size, _LOOKED_AT) for size in self.grid)
        down, across = [self.index(0, row, 0) for row in range(rows)], [self.index(0, 0, at) for at in range(columns)]
        neighbours = [*pairwise(down), *pairwise(across)]
        return not neighbours or any(self._numbers.between(*pair) != 0 for pair in neighbours)

    def edge_between(self, plane: int, place: tuple[int, int], other: tuple[int, int]) -> Edge:
        """The line between two neighbours (row, column) of a grid, of which one may be OUTSIDE."""
        if OUTSIDE in (*place, *other):
            # If a layout has a box, the box is whole tiles; otherwise, as in a view, a grid may end inside a tile.
            is_end = bool(self.levels) and self._blocking is not None and self._blocking.box is not None
            return 0 if is_end and self._outlines_grids else FRAME
        if not self._outlines_grids:
            return None
        return self._numbers.between(self.index(plane, *place), self.index(plane, *other))

    def edge_before(self, offset: int) -> Edge:
        """The line before an offset of memory, where tiles or blocks begin or end."""
        is_tail = self._blocking is not None and offset > self._blocking.tail
        edge = None if is_tail else self._numbers.before(offset)
        return FRAME if edge is None and offset in (self.span.start, self.span.stop) else edge

    def edge_along(self, offset: int) -> Edge:
        """The outline of an element in the row of memory, above and below: the outline of its tile or block."""
        is_tail = self._blocking is not None and offset >= self._blocking.tail
        together = (place for place, level in enumerate(self.levels) if level.is_contiguous and not is_tail)
        return next(together, FRAME)

    @property
    def span(self) -> range:
        """The offsets in the line of memory: the whole buffer, or from the lowest to the highest element."""
        if self.desc.is_whole:
            return range(self.desc.extent)
        return range(self.desc.lowest, self.desc.highest + 1)

    def _element(self, offset: int, index: tuple[int, ...]) -> Cell:
        return Cell(offset, Kind.ELEMENT, index, self.coloured_by.hue(index))

    def hue(self, index: tuple[int, ...]) -> int:
        """The colour of an element, an index of HUES: that of its tile or block, or of its run if there are none."""
        if self.levels:
            return self._numbers.at(index) % len(HUES)
        number = 0
        for axis, (position, size) in enumerate(zip(index, self.desc.sizes, strict=True)):
            if axis not in self.run:
                number = number * size + position
        return number % len(HUES)

    @cached_property
    def run(self) -> tuple[int, ...]:
        """Axes along which the colour stays: the fastest one, and those that repeat elements.

        In NHWC of sizes N,C,H,W that is the channel, so a pixel has one colour; in NCHW, a row of a channel.
        """
        steps = self.desc.walk[1]
        distances = {axis: sum(map(abs, step)) for axis, step in enumerate(steps) if self.desc.sizes[axis] > 1}
        repeated = tuple(axis for axis, distance in distances.items() if not distance)
        moving = sorted((distance, -axis) for axis, distance in distances.items() if distance)
        return (-moving[0][1], *repeated) if moving else repeated

    def _padding(self, coordinates: tuple[int, ...] | None) -> Kind:
        if not self.desc.is_whole:
            return Kind.UNREACHED
        padded = self.desc.padded_sizes or self.desc.sizes
        is_by_value = coordinates is not None and all(map(int.__lt__, coordinates, padded))
        return Kind.VALUE if is_by_value else Kind.ZERO

    @cached_property
    def _box_address(self) -> Linear:
        """The address of every coordinate in the box, padding too; it splits them as the array's own address does."""
        if self._blocking is None:
            return self.desc.address
        return self._blocking.address(coordinates(*each_axis(self.desc.rank), self._box))


_TAIL = 3
"""If the middle of a picture is left out, this many rows, columns or planes are shown at its end."""

OUTSIDE = -1
"""The position before the first and after the last one."""

FRAME = 64
"""The edge of a table where no tile or block ends; a number above that of any level."""

Edge = int | None
"""The line between two cells: 0 between tiles or blocks, 1 between sub-tiles, ..., FRAME; None: no line."""


@dataclass(frozen=True)
class Shown:
    """Positions to draw. Some may be left out; the position at index ``gap`` stands for all of these."""

    positions: tuple[int, ...]
    gap: int | None = None

    @property
    def names(self) -> list[int | None]:
        """The positions, None for the gap."""
        return [None if place == self.gap else position for place, position in enumerate(self.positions)]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The positions on both sides of every edge, drawn or not: -1,0 0,1 1,2 2,9 9,-1 for 0 1 ... 9."""
        return list(pairwise((OUTSIDE, *self.positions, OUTSIDE)))


def shown(size: int, room: int) -> Shown:
    """All ``size`` positions if there is room, else the first ones, a gap, and the last ones.

    Room for 8 of 100: 0 1 2 3 ... 97 98 99.
    """
    if size <= room:
        return Shown(tuple(range(size)))
    tail = min(_TAIL, max(room - 1, 0) // 2)
    head = max(room - 1 - tail, 1)
    return Shown(tuple(chain(range(head + 1), range(size - tail, size))), head)


@dataclass(frozen=True)
class PlaneMap:
    """The picture of one plane of the array."""

    map: LayoutMap
    plane: int
    rows: Shown
    columns: Shown

    @property
    def row_names(self) -> list[str]:
        """The numbers of the rows; empty for the only row of an array with one axis."""
        return [("⋮" if row is None else str(row)) if self.map.desc.rank > 1 else "" for row in self.rows.names]

    @property
    def column_names(self) -> list[str]:
        """The numbers of the columns; empty for a scalar."""
        names = self.columns.names
        return [("…" if column is None else str(column)) if self.map.desc.rank else "" for column in names]

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of the elements shown."""
        return {cell.kind for cells in self.cells for cell in cells if cell is not None}

    @cached_property
    def cells(self) -> list[list[Cell | None]]:
        """The cells by row and column; None: left out."""
        return [
            [
                None if row is None or column is None else self.map.at(self.plane, row, column)
                for column in self.columns.names
            ]
            for row in self.rows.names
        ]

    @cached_property
    def beside(self) -> list[list[Edge]]:
        """For each row, the outlines left of every cell and right of the last."""
        return [
            [self.map.edge_between(self.plane, (row, left), (row, right)) for left, right in self.columns.edges]
            for row in self.rows.positions
        ]

    @cached_property
    def above(self) -> list[list[Edge]]:
        """For each column, the outlines above every cell and below the last."""
        return [
            [self.map.edge_between(self.plane, (over, column), (under, column)) for over, under in self.rows.edges]
            for column in self.columns.positions
        ]


@dataclass(frozen=True)
class MemoryLine:
    """The picture of the buffer, element after element, in rows of ``width`` elements."""

    map: LayoutMap
    width: int
    rows: Shown

    @cached_property
    def starts(self) -> list[int | None]:
        """The first offset of each row; None: left out."""
        return [None if row is None else self.map.span.start + row * self.width for row in self.rows.names]

    @cached_property
    def cells(self) -> list[list[Cell]]:
        """The cells by row; the last row may be shorter, and a row that is left out is empty."""
        stop = self.map.span.stop
        rows = [range(0) if start is None else range(start, min(start + self.width, stop)) for start in self.starts]
        return [[*map(self.map.at_offset, row)] for row in rows]

    @property
    def row_names(self) -> list[str]:
        """The first offset of each row."""
        return ["⋮" if start is None else str(start) for start in self.starts]

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of the elements shown."""
        return {cell.kind for cells in self.cells for cell in cells}

    @property
    def beside(self) -> list[list[Edge]]:
        """For each row, the outlines left of every cell and right of the last; empty for a row that is left out."""
        edges = [[*(cell.offset for cell in cells), *(cell.offset + 1 for cell in cells[-1:])] for cells in self.cells]
        return [list(map(self.map.edge_before, row)) for row in edges]


def memory_line(layout: LayoutMap, room: int, most_rows: int) -> MemoryLine:
    """The line of memory in rows of 1 to ``room`` elements: whole tiles if one fits, else sub-tiles, else eights.

    Without tiles, a row is of the longest stride that fits, such as a pixel of NHWC.

    Rows are equally long if that costs at most half of the room: 32 elements, room for 25, tiles of 8: two rows of 16.
    """
    size = layout.span.stop - layout.span.start  # len() of a range fails from 2^63 on
    room = max(room, 1)  # an index of a hundred digits may be wider than the picture
    width = min(room, size)
    if width < size:
        strides = sorted(map(abs, layout.desc.strides or ()), reverse=True)
        units = [level.size for level in layout.levels if level.is_contiguous] or [each for each in strides if each > 1]
        unit = next((unit for unit in (*units, 8) if unit <= room), 1)
        longest = room // unit * unit
        width = next((width for width in range(longest, longest // 2, -unit) if size % width == 0), longest)
    return MemoryLine(layout, width, shown(-(-size // width), most_rows))
