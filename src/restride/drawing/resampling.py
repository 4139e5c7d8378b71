"""Resampling: the elements of an axis and those that are made of them, one above the other, to scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, SupportsIndex, cast

from restride.arguments import integer
from restride.errors import ErrorContext
from restride.weights import Filter, Request, Rows, filter_of, resizing

_CELL = 12
"""Characters that a source element is wide, or a multiple: halves, thirds and quarters of it are whole."""

_HALF = Fraction(1, 2)


def draw_resampling(
    source_size: SupportsIndex, size: SupportsIndex | None = None, scale: Any = None, **arguments: Any
) -> str:
    """An axis and what is made of it, as text: the elements of both, to scale, and where each output reads.

    Output 1 of three stands where it reads, and is as wide as its neighbours are apart. What is extrapolated stands in
    brackets. In mode "nearest" the last line says which element is taken.

    Args:
        source_size: of the axis.
        size: of the result; it or ``scale``, or both, as in ``rs.resample``.
        scale: see ``size``.
        arguments: ``mode`` to ``recompute_scale_factor``, as in ``rs.resample``; what it takes one an axis of is one.

    Raises:
        DescriptorError, UnsupportedError: as ``rs.resample`` does.
    """
    count = integer("source_size", source_size)
    sizes, scales = (None if number is None else (number,) for number in (size, scale))
    with ErrorContext(f"source_size {count}"):
        (rows,) = resizing((count,), Request(sizes, scales, **arguments)).rows
    return "\n".join(_lines(rows))


def _lines(rows: Rows) -> Iterable[str]:
    line = cast(Filter, filter_of(rows)).line  # like no library, so a filter weighs them
    reads = [line.at(index) for index in range(rows.size)]
    slope = abs(Fraction(line.step, line.denominator))
    inside = range(rows.size) if rows.inside is None else rows.inside
    names = [str(index) if index in inside else f"({index})" for index in range(rows.size)]
    values = [str(place) for place in reads]
    elements = [Fraction(index) for index in range(rows.source_size)]
    ruler = _Ruler.of([*names, *values], slope, min([-_HALF, *(place - (slope or Fraction(1)) / 2 for place in reads)]))
    yield f"source    {ruler.boxes([str(element) for element in elements], elements, Fraction(1))}"
    yield f"output    {ruler.boxes(names, reads, slope)}"
    yield f"reads at  {ruler.labels(values, reads)}"
    if rows.moves:
        yield f"takes     {ruler.labels([str(index) for index in rows.first()], reads)}"


class _Ruler:
    """Where along a line of text a place of the source's axis stands; element j reaches from j - 1/2 to j + 1/2."""

    def __init__(self, cell: int, left: Fraction) -> None:
        self._cell = cell
        self._left = left

    @classmethod
    def of(cls, labels: Sequence[str], apart: Fraction, left: Fraction) -> _Ruler:
        """One on which labels so far apart do not touch."""
        widest = max((len(label) for label in labels), default=0) + 1
        return cls(_CELL * math.ceil(widest / (_CELL * min(apart, Fraction(1)))) if apart else _CELL, left)

    def boxes(self, labels: Sequence[str], places: Sequence[Fraction], width: Fraction) -> str:
        """Labels between bars, each in the middle of its box; what has no width has no bars."""
        bars = [place + side * width / 2 for place in places for side in (-1, 1)] if width else []
        return self._written([("|", self._column(bar)) for bar in bars], labels, places)

    def labels(self, labels: Sequence[str], places: Sequence[Fraction]) -> str:
        """Labels alone."""
        return self._written([], labels, places)

    def _written(self, bars: list[tuple[str, int]], labels: Sequence[str], places: Sequence[Fraction]) -> str:
        pieces = bars + [
            (label, self._column(place) - len(label) // 2) for label, place in zip(labels, places, strict=True)
        ]
        line = [" "] * max((column + len(text) for text, column in pieces), default=0)
        for text, column in pieces:
            line[column : column + len(text)] = text
        return "".join(line)

    def _column(self, place: Fraction) -> int:
        return math.floor((place - self._left) * self._cell + _HALF)
