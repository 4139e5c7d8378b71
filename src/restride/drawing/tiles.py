"""Tiles: a table of cells as shapes: a coloured rectangle and a text each, and the outlines of tiles and sub-tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from restride.drawing.map import Cell
from restride.drawing.palette import rgb
from restride.drawing.shapes import GREY, INK, PAPER, RED, Label, Line, Rect, Shape
from restride.drawing.tables import Level

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
