"""Ruled: a table of short texts with box-drawing lines of two weights between its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

THIN, THICK = 1, 2
"""Weights of a line; 0 is none."""

# The character whose arms up, right, down and left have weights u, r, d and l stands at 27 u + 9 r + 3 d + l.
CROSSINGS = " ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"

Paint = Callable[[int, int, str], str]
"""Row, column and padded text of a cell to what is printed."""


@dataclass(frozen=True)
class Ruled:
    """A table, all cells equally wide.

    names: of the rows, left of them.
    texts: by row and column.
    beside: for each row, the weights left of every cell and right of the last.
    above: for each column, the weights over every cell and under the last.
    """

    names: Sequence[str]
    texts: Sequence[Sequence[str]]
    beside: Sequence[Sequence[int]]
    above: Sequence[Sequence[int]]

    def lines(self, paint: Paint) -> list[str]:
        """The table, line by line; a line of weights 0 from end to end takes no room."""
        lines = []
        margin = max(map(len, self.names))
        for row in range(len(self.texts) + 1):
            if any(weights[row] for weights in self.above):
                lines.append(f"{'':{margin}} {self._rule(row)}".rstrip())
            if row < len(self.texts):
                lines.append(f"{self.names[row]:>{margin}} {self._row(row, paint)}".rstrip())
        return lines

    def _row(self, row: int, paint: Paint) -> str:
        width = self._cell_width()
        line = ""
        for column in range(len(self.above) + 1):
            if self._has_line(column):
                weight = self.beside[row][column]
                line += _crossing(weight, 0, weight, 0)
            if column < len(self.above):
                line += paint(row, column, f"{self.texts[row][column]:>{width - 1}} ")
        return line

    def _rule(self, row: int) -> str:
        width = self._cell_width()
        line = ""
        for column in range(len(self.above) + 1):
            left = self.above[column - 1][row] if column else 0
            right = self.above[column][row] if column < len(self.above) else 0
            if self._has_line(column):
                up = self.beside[row - 1][column] if row else 0
                down = self.beside[row][column] if row < len(self.beside) else 0
                line += _crossing(up, right, down, left)
            line += _crossing(0, right, 0, right) * width if column < len(self.above) else ""
        return line

    def _has_line(self, column: int) -> bool:
        return any(weights[column] for weights in self.beside)

    def _cell_width(self) -> int:
        return max(len(text) for row in self.texts for text in row) + 2


def _crossing(up: int, right: int, down: int, left: int) -> str:
    return CROSSINGS[27 * up + 9 * right + 3 * down + left]
