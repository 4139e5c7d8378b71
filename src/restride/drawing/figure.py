"""Figure: a layout as XLA's document draws it: coloured tiles, outlines, the element's offset in each cell, and memory.

Source: XLA, Tiled layout, figures 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from restride.drawing.legend import MEMORY, index_text, marks, memory_text, outlines
from restride.drawing.map import Cell, Grid, Kind, LayoutMap, Level, memory_line, rgb, shown
from restride.drawing.shapes import GREY, INK, PAPER, RED, Figure, Label, Line, Rect, Shape

# Tiles: a table of cells as shapes: a coloured rectangle and a text each, and the outlines of tiles and sub-tiles.

ROW_HEIGHT = 26


@dataclass(frozen=True)
class Tiles:
    """A table whose upper left corner is at x, y.

    cells: by row and column; None: left out.
    beside: for each row, the outlines left of every cell and right of the last.
    above: for each column, the outlines over every cell and under the last.
    levels: how many kinds of outlines the layout has; without any the table has a thin frame.
    """

    x: float
    y: float
    cell_width: float
    cells: Sequence[Sequence[Cell | None]]
    beside: Sequence[Sequence[Level]]
    above: Sequence[Sequence[Level]]
    levels: int

    def shapes(self, label: Callable[[float, float, Cell], Label]) -> Iterator[Shape]:
        """Cells, sub-tiles, tiles, texts, each over the ones before; ``label`` makes a text from centre and cell."""
        present = [
            (self.x + column * self.cell_width, self.y + row * ROW_HEIGHT, cell)
            for row, cells in enumerate(self.cells)
            for column, cell in enumerate(cells)
            if cell is not None
        ]
        for x, y, cell in present:
            yield Rect(x, y, self.cell_width, ROW_HEIGHT, PAPER if cell.hue is None else rgb(cell.hue))
        # Sub-tiles first: where both run, the outline of the tile is seen.
        for level in reversed(range(max(self.levels, 1))):
            yield from self._outlines(level)
        for x, y, cell in present:
            yield label(x + self.cell_width / 2, y + ROW_HEIGHT / 2, cell)

    def _outlines(self, level: int) -> Iterator[Line]:
        colour, width = stroke(level, self.levels)
        for edge in range(len(self.above) + 1):
            x = self.x + edge * self.cell_width
            for start, stop in _runs([row[edge] == level for row in self.beside]):
                yield Line(x, self.y + start * ROW_HEIGHT, x, self.y + stop * ROW_HEIGHT, colour, width)
        for edge in range(len(self.beside) + 1):
            y = self.y + edge * ROW_HEIGHT
            for start, stop in _runs([column[edge] == level for column in self.above]):
                yield Line(self.x + start * self.cell_width, y, self.x + stop * self.cell_width, y, colour, width)


def stroke(level: int, levels: int) -> tuple[str, float]:
    """Colour and width of an outline: tiles dark, sub-tiles red, and thinner the further inside."""
    if levels == 0:
        return GREY, 1
    return (INK, 2) if level == 0 else (RED, 1.5 if level == 1 else 1)


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Where flags are set: from and to, for each unbroken run. 1 1 0 1: 0 to 2, 3 to 4."""
    at = 0
    for is_set, group in groupby(flags):
        length = len(list(group))
        if is_set:
            yield at, at + length
        at += length


# Figure: a layout as XLA's document draws it: coloured tiles, outlines, the element's offset in each cell, and memory.

_MARGIN = 20
_WIDTH = 960
"""Of the grids and of the line of memory; a title may be wider."""
_MOST_PLANES, _MOST_ROWS, _MOST_COLUMNS, _MOST_MEMORY_ROWS = 6, 16, 32, 8


def draw_figure(maps: Sequence[LayoutMap], remarks: Iterable[str] = ()) -> Figure:
    """Layouts one below the other, then lines of text."""
    page = _Page()
    for its_map in maps:
        page.layout(its_map)
    for remark in remarks:
        page.text(remark)
    title = " to ".join(str(its_map.desc) for its_map in maps)
    return Figure(f"Memory layout {title}", round(page.right + _MARGIN), round(page.y + _MARGIN / 2), page.shapes)


class _Page:
    """Shapes, and where the next ones go."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.y: float = _MARGIN
        self.right: float = 0

    def layout(self, its_map: LayoutMap) -> None:
        self.text(str(its_map.desc), 16, is_bold=True)
        self.text(memory_text(its_map.desc), 12, GREY)
        if its_map.desc.numel:
            kinds = self._grids(its_map) | self._memory(its_map)
            for level, text in enumerate(outlines(its_map)):
                self._add(Line(_MARGIN, self.y + 6, _MARGIN + 16, self.y + 6, *stroke(level, len(its_map.blocks))))
                self.text(text, 12, GREY, indent=24)
            for text in marks(its_map, kinds):
                self.text(text, 12, GREY)
        else:
            self.text("no element: nothing to draw")
        self.y += _MARGIN / 2

    def text(self, text: str, size: float = 13, colour: str = INK, indent: float = 0, is_bold: bool = False) -> None:
        self._add(Label(_MARGIN + indent, self.y + size / 2, text, size, colour, is_bold=is_bold))
        self.y += round(size * 1.6)

    def _add(self, *shapes: Shape) -> None:
        self.shapes += shapes
        ends = (shape.x + shape.width for shape in shapes if isinstance(shape, Label) and shape.anchor == "start")
        self.right = max([self.right, *ends])

    def _grids(self, its_map: LayoutMap) -> set[Kind]:
        """The planes from left to right, in as many rows as they need; returns the kinds of elements that they show."""
        rows, columns = its_map.grid
        rank = its_map.desc.rank
        cell_width = _room_for(max(its_map.longest_offset, len(str(columns - 1))))
        name_width = _name_width(its_map)
        shown_rows = shown(rows, _MOST_ROWS)
        shown_columns = shown(columns, min(int((_WIDTH - name_width) // cell_width), _MOST_COLUMNS))
        planes = shown(its_map.planes, _MOST_PLANES)
        title = 20 if rank > 2 else 0
        width = name_width + cell_width * len(shown_columns.positions)
        height = title + ROW_HEIGHT * (len(shown_rows.positions) + 1)
        kinds: set[Kind] = set()
        x = _MARGIN
        for plane in planes.names:
            if x > _MARGIN and x + width > _MARGIN + _WIDTH:
                x, self.y = _MARGIN, self.y + height + 10
            if plane is None:
                text = f"… {its_map.planes - len(planes.positions) + 1} more"
                self._add(Label(x + name_width, self.y + height / 2, text, colour=GREY))
                x += width + 24
                continue
            if title:
                leading = ", ".join(map(str, its_map.leading(plane)))
                self._add(Label(x + name_width, self.y + 10, f"[{leading}, :, :]", 12))
            grid = Grid(its_map, plane, shown_rows, shown_columns)
            self._grid(grid, x, self.y + title, name_width, cell_width)
            kinds |= {cell.kind for cells in grid.cells for cell in cells if cell is not None}
            x += width + 24
        self.y += height + 18
        return kinds

    def _grid(self, grid: Grid, x: float, y: float, name_width: float, cell_width: float) -> None:
        """A plane with the numbers of its columns above and those of its rows at the left."""
        left, top, rank = x + name_width, y + ROW_HEIGHT, grid.map.desc.rank
        tiles = Tiles(left, top, cell_width, grid.cells, grid.beside, grid.above, len(grid.map.blocks))
        self._add(*tiles.shapes(_offset_label))
        for place, column in enumerate(grid.columns.names if rank > 0 else ()):
            centre = left + (place + 0.5) * cell_width
            self._add(Label(centre, top - 9, "…" if column is None else str(column), 11, GREY, "middle"))
        for place, row in enumerate(grid.rows.names if rank > 1 else ()):
            centre = top + (place + 0.5) * ROW_HEIGHT
            self._add(Label(left - 8, centre, "⋮" if row is None else str(row), 11, GREY, "end"))
        self.right = max(self.right, left + cell_width * len(grid.columns.positions))

    def _memory(self, its_map: LayoutMap) -> set[Kind]:
        """The line of memory, a strip for each row; returns the kinds of elements that it shows."""
        self.text(MEMORY, 12, GREY)
        cell_width = _room_for(len(index_text(tuple(size - 1 for size in its_map.desc.sizes))))
        left = _MARGIN + _name_width(its_map)
        memory = memory_line(its_map, min(int((_WIDTH - left) // cell_width), _MOST_COLUMNS), _MOST_MEMORY_ROWS)
        for start, cells in zip(memory.starts, memory.cells, strict=True):
            name = "⋮" if start is None else str(start)
            self._add(Label(left - 8, self.y + ROW_HEIGHT / 2, name, 11, GREY, "end"))
            if cells:
                frame = [[0, 0]] * len(cells)
                tiles = Tiles(left, self.y, cell_width, [cells], [memory.beside(cells)], frame, len(its_map.blocks))
                self._add(*tiles.shapes(_index_label))
            self.y += ROW_HEIGHT + 6
        self.right = max(self.right, left + cell_width * memory.width)
        self.y += 4
        return {cell.kind for cells in memory.cells for cell in cells}


def _name_width(its_map: LayoutMap) -> int:
    """Room for the numbers of rows, of the grids and of memory."""
    return _room_for(len(str(max(its_map.grid[0], its_map.span.stop) - 1)))


def _room_for(characters: int) -> int:
    """The width of a cell."""
    return max(8 * characters + 12, ROW_HEIGHT)


def _offset_label(x: float, y: float, cell: Cell) -> Label:
    data = () if cell.index is None else (("index", index_text(cell.index)),)
    colour = GREY if cell.index is None else INK
    return Label(x, y, f"{cell.kind.value}{cell.offset}", colour=colour, anchor="middle", data=data)


def _index_label(x: float, y: float, cell: Cell) -> Label:
    text = cell.kind.value if cell.index is None else index_text(cell.index)
    colour = GREY if cell.index is None else INK
    return Label(x, y, text, colour=colour, anchor="middle", data=(("offset", str(cell.offset)),))
