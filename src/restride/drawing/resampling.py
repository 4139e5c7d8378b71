"""The elements of an axis and of its resampled result, one above the other, to scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any, SupportsIndex, Unpack, cast

from restride.arguments import integer
from restride.errors import ErrorContext
from restride.request import ModeName, Request
from restride.request.resampling import RequestArguments
from restride.weights import Filter, Rows, filter_of, resizing

_CELL = 12
"""A source element is a multiple of this many characters wide: its halves, thirds and quarters are whole."""

_HALF = Fraction(1, 2)


def draw_resampling(
    source_size: SupportsIndex,
    size: SupportsIndex | None = None,
    scale: Any = None,
    mode: ModeName | int | Enum | None = None,
    **arguments: Unpack[RequestArguments],
) -> str:
    """An axis and its resampled result as text: the elements of both, to scale, and where each output reads.

    An output is centred at the coordinate that it reads, and is as wide as the distance between outputs. Extrapolated
    outputs are in brackets. In mode "nearest" the last line shows which element each output takes.

    Args:
        source_size: size of the source axis.
        size: size of the result; give it or ``scale``, or both, as in ``rs.resample``.
        scale: see ``size``.
        mode: as in ``rs.resample``.
        arguments: the arguments of ``rs.resample`` that determine which elements an output reads, except ``like``;
            arguments with a value for each axis have one value.

    Raises:
        DescriptorError, UnsupportedError: as ``rs.resample`` does.
    """
    count = integer("source_size", source_size)
    sizes, scales = None if size is None else (size,), None if scale is None else (scale,)
    with ErrorContext(f"source_size {count}"):
        (rows,) = resizing((count,), Request(sizes, scales, mode=mode, **arguments)).rows
    return "\n".join(_lines(rows))


def _lines(rows: Rows) -> Iterable[str]:
    line = cast(Filter, filter_of(rows)).line  # ``like`` is not set, so a filter gives the weights
    reads = [line.at(index) for index in range(rows.size)]
    slope = abs(Fraction(line.step, line.denominator))
    inside = range(rows.size) if rows.inside is None else rows.inside
    names = [str(index) if index in inside else f"({index})" for index in range(rows.size)]
    values = [str(place) for place in reads]
    elements = [Fraction(index) for index in range(rows.source_size)]
    # The width of an element in characters is such that neighbouring labels do not touch.
    widest = max((len(label) for label in [*names, *values]), default=0) + 1
    cell = _CELL * math.ceil(widest / (_CELL * min(slope, Fraction(1)))) if slope else _CELL
    left = min([-_HALF, *(place - (slope or Fraction(1)) / 2 for place in reads)])
    labelled = partial(_labelled, cell, left)
    yield f"source    {labelled([str(element) for element in elements], elements, Fraction(1))}"
    yield f"output    {labelled(names, reads, slope)}"
    yield f"reads at  {labelled(values, reads)}"
    if rows.moves:
        yield f"takes     {labelled([str(index) for index in rows.first()], reads)}"


def _labelled(
    cell: int, left: Fraction, labels: Sequence[str], places: Sequence[Fraction], width: Fraction = Fraction(0)
) -> str:
    """A line of text with each label centred at its position, between bars that are ``width`` elements apart.

    Element j extends from j - 1/2 to j + 1/2. The line begins at ``left`` and has ``cell`` characters for each element.
    """

    def column(place: Fraction) -> int:
        return math.floor((place - left) * cell + _HALF)

    pieces = [("|", column(place + side * width / 2)) for place in places for side in (-1, 1) if width]
    pieces += [(label, column(place) - len(label) // 2) for label, place in zip(labels, places, strict=True)]
    line = [" "] * max((start + len(text) for text, start in pieces), default=0)
    for text, start in pieces:
        line[start : start + len(text)] = text
    return "".join(line)
