"""A layout as text: grids of the array with each element's offset, and below them the line of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from restride.drawing.explain import MEMORY, axes, marks, memory_text, outlines
from restride.drawing.map import FRAME, Cell, Edge, Kind, LayoutMap, PlaneMap, index_text, memory_line, painted, shown

THIN, THICK, DASHED = 1, 2, 3
"""Weights of a box-drawing line; 0 is no line. A dashed line crosses others as a thin one does."""

# Box-drawing characters: the one whose arms up, right, down and left have weights u, r, d, l is at 27 u + 9 r + 3 d +
# l.
CROSSINGS = " ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"

Paint = Callable[[int, int, str], str]
"""A function from row, column and padded text of a cell to the text to print."""

_WEIGHTS: dict[Edge, int] = {None: 0, FRAME: THIN, 0: THICK, 1: THIN}
"""The weights of outlines; those of further levels are dashed."""

T = TypeVar("T")

_MAX_PLANES, _MAX_ROWS, _MAX_MEMORY_ROWS = 5, 20, 8
_MAX_ROWS_OF_ALL = 40
"""Maximum rows of text that all grids together may have."""


def draw_text(layout: LayoutMap, width: int, is_coloured: bool) -> str:
    """The picture as text, at most ``width`` characters wide unless one or two columns need more."""
    return "\n".join(_Drawing(layout, width, is_coloured).lines())


def in_ascii(text: str) -> str:
    """The picture in ASCII, for an output without box-drawing characters."""
    return "".join(_ASCII.get(character, character) for character in text)


_ASCII = dict.fromkeys(CROSSINGS[1:], "+") | dict(zip("─━╌│┃╎·…⋮", "-=.|#:.~:", strict=True))


class _Drawing:
    def __init__(self, layout: LayoutMap, width: int, is_coloured: bool) -> None:
        self.map = layout
        self.width = width
        self.is_coloured = is_coloured
        self.kinds: set[Kind] = set()
        self.edges: set[Edge] = set()

    def lines(self) -> Iterator[str]:
        yield str(self.map.desc)
        yield memory_text(self.map.desc)
        if not self.map.desc.numel:
            yield "no element: nothing to draw"
            return
        if text := axes(self.map):
            yield text
        yield from self._grids()
        yield ""
        yield MEMORY
        yield from self._memory()
        legend = [
            f"{' ─━╌'[_WEIGHTS.get(level, DASHED)]} {text}" if level in self.edges else text
            for level, text in enumerate(outlines(self.map, self.edges))
        ]
        legend += marks(self.map, self.kinds)
        if legend:
            yield "   ".join(legend)

    def _grids(self) -> Iterator[str]:
        rows, columns = self.map.grid
        name = len(str(rows - 1))
        longest = max(self.map.longest_offset, len(str(columns - 1)))
        shown_rows = shown(rows, _MAX_ROWS)
        shown_columns = shown(columns, self._room(name, longest))
        planes = shown(self.map.planes, min(_MAX_PLANES, _MAX_ROWS_OF_ALL // len(shown_rows.positions)))
        for plane in planes.names:
            yield ""
            if plane is None:
                yield f"… {self.map.planes - len(planes.positions) + 1} more grids …"
                continue
            if title := self.map.title(plane):
                yield title
            yield from self._grid(PlaneMap(self.map, plane, shown_rows, shown_columns))

    def _grid(self, grid: PlaneMap) -> list[str]:
        """One plane. The column numbers are the first row, without lines; a scalar has none."""
        self.kinds |= grid.kinds
        texts = [
            [cell.offset_text if cell else "⋮" if row is None else "…" for cell in cells]
            for row, cells in zip(grid.rows.names, grid.cells, strict=True)
        ]
        table = Ruled(
            ["", *grid.row_names],
            [grid.column_names, *texts],
            [[0] * (len(grid.column_names) + 1), *map(self._weights, grid.beside)],
            [[0, *self._weights(levels)] for levels in grid.above],
        )
        return table.lines(partial(self._painted, [[None] * len(grid.column_names), *grid.cells]))[
            not self.map.desc.rank :
        ]

    def _memory(self) -> list[str]:
        longest = len(index_text(tuple(size - 1 for size in self.map.desc.sizes)))
        name = len(str(self.map.span.stop - 1))
        memory = memory_line(self.map, self._room(name, longest), _MAX_MEMORY_ROWS)
        self.kinds |= memory.kinds
        table = Ruled(
            memory.row_names,
            [_filled([cell.index_text for cell in cells], "", memory.width) for cells in memory.cells],
            [_filled(self._weights(levels), 0, memory.width + 1) for levels in memory.beside],
            [[0] * (len(memory.cells) + 1)] * memory.width,
        )
        return table.lines(partial(self._painted, memory.cells))

    def _room(self, name: int, longest: int) -> int:
        """How many columns fit beside a name; each takes a text, two blanks, and a border if there are levels.

        name, longest: widths of the name and of the longest text.
        """
        return max((self.width - name - 3) // (longest + 2 + bool(self.map.levels)), 1)

    def _weights(self, edges: list[Edge]) -> list[int]:
        self.edges.update(edges)
        return [_WEIGHTS.get(edge, DASHED) for edge in edges]

    def _painted(self, rows: Sequence[Sequence[Cell | None]], row: int, column: int, text: str) -> str:
        """The cell's text in the colour of its element; a row may end early."""
        cell = rows[row][column] if column < len(rows[row]) else None
        return text if cell is None or cell.hue is None or not self.is_coloured else painted(text, cell.hue)


def _filled(row: list[T], empty: T, length: int) -> list[T]:
    return row + [empty] * (length - len(row))


@dataclass(frozen=True)
class Ruled:
    """A table of text with ruled lines; all cells are equally wide.

    names: names of the rows, printed left of them.
    texts: the cells' texts by row and column.
    beside: for each row, the line weights left of every cell and right of the last.
    above: for each column, the line weights above every cell and below the last.
    """

    names: Sequence[str]
    texts: Sequence[Sequence[str]]
    beside: Sequence[Sequence[int]]
    above: Sequence[Sequence[int]]

    def lines(self, paint: Paint) -> list[str]:
        """The lines of the table; a ruled line whose weights are all 0 is left out."""
        width = max(len(text) for row in self.texts for text in row) + 2
        margin = max(map(len, self.names))
        has_line = [any(weights) for weights in zip(*self.beside, strict=True)]
        # Nothing is drawn above the first row, below the last, or at either side.
        beside = [[0] * len(has_line), *self.beside, [0] * len(has_line)]
        above = [[0] * len(beside), *self.above, [0] * len(beside)]
        lines = []
        for row in range(len(self.texts) + 1):
            rule, cells = "", ""
            for column, is_drawn in enumerate(has_line):
                up, down = beside[row][column], beside[row + 1][column]
                left, right = above[column][row], above[column + 1][row]
                is_cell = column < len(self.above)
                rule += _crossing(up, right, down, left) * is_drawn + _crossing(0, right, 0, right) * width * is_cell
                cells += _crossing(down, 0, down, 0) * is_drawn
                if is_cell and row < len(self.texts):
                    cells += paint(row, column, f"{self.texts[row][column]:>{width - 1}} ")
            if any(weights[row] for weights in self.above):
                lines.append(f"{'':{margin}} {rule}".rstrip())
            if row < len(self.texts):
                lines.append(f"{self.names[row]:>{margin}} {cells}".rstrip())
        return lines


def _crossing(up: int, right: int, down: int, left: int) -> str:
    if (up, down) == (0, 0) and left == right == DASHED:
        return "╌"
    if (left, right) == (0, 0) and up == down == DASHED:
        return "╎"
    up, right, down, left = (THIN if weight == DASHED else weight for weight in (up, right, down, left))
    return CROSSINGS[27 * up + 9 * right + 3 * down + left]
