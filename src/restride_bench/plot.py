"""Plot: lines over two axes, each logarithmic or not, with a grid, and the name of each line at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from restride.drawing.shapes import FAINT, GREY, INK, PAPER, Label, Line, Rect, Shape

_MARK = 4
"""Pixels of the square at each point."""
_NAME_HEIGHT = 15


@dataclass(frozen=True)
class Axis:
    """What is along one side: its name, and the values that have a line and a text, the first and the last included."""

    name: str
    ticks: tuple[tuple[float, str], ...]
    is_logarithmic: bool = True

    def share(self, value: float) -> float:
        """How far along the axis a value lies, from 0 to 1: of 1 to 100, 10 lies at 0.5."""
        low, high, value = (
            math.log(each) if self.is_logarithmic else each for each in (self.ticks[0][0], self.ticks[-1][0], value)
        )
        return (value - low) / (high - low)


@dataclass(frozen=True)
class Curve:
    """A line through points, of both axes' values."""

    name: str
    colour: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plot:
    """Where the plane lies, in pixels; ``marks`` are values along x that have a line of their own, and their names."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis
    marks: tuple[tuple[float, str], ...] = ()

    def shapes(self, curves: Sequence[Curve]) -> list[Shape]:
        """Everything, from back to front."""
        drawn = [curve for curve in curves if curve.points]
        return [*self._grid(), *(shape for curve in drawn for shape in self._curve(curve)), *self._names(drawn)]

    def _place(self, point: tuple[float, float]) -> tuple[float, float]:
        x, y = point
        return self.left + self.width * self.x.share(x), self.top + self.height * (1 - self.y.share(y))

    def _grid(self) -> Iterator[Shape]:
        right, bottom = self.left + self.width, self.top + self.height
        yield Rect(self.left, self.top, self.width, self.height, PAPER)
        for value, text in self.x.ticks:
            x = self.left + self.width * self.x.share(value)
            yield Line(x, self.top, x, bottom, FAINT, 0.5)
            yield Label(x, bottom + 12, text, 11, GREY, "middle")
        for value, text in self.y.ticks:
            y = self.top + self.height * (1 - self.y.share(value))
            yield Line(self.left, y, right, y, FAINT, 0.5)
            yield Label(self.left - 8, y, text, 11, GREY, "end")
        for value, text in self.marks:
            x = self.left + self.width * self.x.share(value)
            yield Line(x, self.top, x, bottom, GREY, 1)
            yield Label(x - 5, self.top + 10, text, 11, GREY, "end")
        yield Label(self.left, self.top - 12, self.y.name, 12, INK)
        yield Label(right, bottom + 28, self.x.name, 12, INK, "end")

    def _curve(self, curve: Curve) -> Iterator[Shape]:
        places = [self._place(point) for point in curve.points]
        for (x, y), (to_x, to_y) in pairwise(places):
            yield Line(x, y, to_x, to_y, curve.colour, 1.6)
        for x, y in places:
            yield Rect(x - _MARK / 2, y - _MARK / 2, _MARK, _MARK, curve.colour, curve.colour)

    def _names(self, curves: Sequence[Curve]) -> Iterator[Shape]:
        """At the right, as near to the ends as names that do not touch can be."""
        ends = sorted((self._place(curve.points[-1])[1], curve.name, curve.colour) for curve in curves)
        lowest = self.top
        for y, name, colour in ends:
            y = lowest = max(y, lowest)  # noqa: PLW2901 - pushed down by the one above
            yield Label(self.left + self.width + 10, y, name, 12, colour, is_bold=True, data=(("curve", name),))
            lowest += _NAME_HEIGHT


def decades(low: float, high: float) -> Iterator[float]:
    """Powers of ten around everything from ``low`` to ``high``, at least two: of 3 to 200 these are 1 to 1000."""
    first = math.floor(math.log10(low))
    last = max(math.ceil(math.log10(high)), first + 1)
    return (10.0**exponent for exponent in range(first, last + 1))
