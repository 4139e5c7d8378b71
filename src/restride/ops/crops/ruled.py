"""Ruled: boxes that a library's own rules make, and which of them kernels of crops sum as it does.

Bytes are summed in integers, in one of two ways. OpenCV's columns lose nothing, and its rows are shifted: one dispatch,
or two with s32 between. Pillow and torch make bytes of the sums along one axis before they sum along the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from restride.ops.crops.passes import Cut
from restride.ops.crops.source import Form
from restride.plan.crops import MOST_TAPS, Crops, Way
from restride.weights import BoxRows, Rules, Ruling, Shifts, Side, box_rows

_PLACES = 22
"""Of the weights of libraries that round after each axis, whatever they have them in: all boxes go together then."""


class RuledBoxes(NamedTuple):
    """Boxes of which a library says the rows. ways: of each box; None: single operations make them."""

    rulings: list[Ruling]
    ways: list[Way] | None

    def parts(
        self, cut: Cut, extents: list[tuple[int, int]], sizes: tuple[int, int], axes: tuple[int, int], fill: Any
    ) -> Iterator[tuple[slice, Crops]]:
        """Boxes that follow each other and go one way, and what becomes of them. ``images`` are to be said yet."""
        places = enumerate(self.ways or ())
        for way, members in groupby(places, lambda place: place[1]):
            part = [box for box, _ in members]
            its = slice(part[0], part[-1] + 1)
            rows, columns = (self._rows(axis, way, its, cut, extents, sizes[axis]) for axis in (0, 1))
            is_fused = way.shifts is not None and max(rows.taps, columns.taps) <= 2 and not way.rounds
            yield its, Crops(rows, columns, axes, None, fill, 2 if is_fused else 0, way)

    def _rows(self, axis: int, way: Way, boxes: slice, cut: Cut, extents: list[tuple[int, int]], size: int) -> BoxRows:
        starts, places, flips = cut.edges[boxes, axis], cut.places[boxes, axis], cut.flipped[boxes, axis]
        each = zip(self.rulings[boxes], starts.tolist(), places.tolist(), flips.tolist(), strict=True)
        sides = [Side(ruling.rows[axis], start, at, flip) for ruling, start, at, flip in each]
        its_extents = [extent[axis] for extent in extents[boxes]]
        is_summed = way.shifts is not None
        steps = _PLACES if way.rounds else None
        return box_rows(sides, size, its_extents, least=2 if is_summed else 1, places=steps)


def ruled_boxes(cut: Cut, form: Form, rules: Rules, *, is_moved: bool) -> RuledBoxes | None:
    """The boxes, which have edges of integers, by the rules; None: rows of the choice make them, not rounded.

    is_moved: elements are not summed.
    """
    axes = (form.axes[0] - form.first, form.axes[1] - form.first)
    found: dict[tuple[tuple[int, int], tuple[int, int]], tuple[Ruling | None, Way | None]] = {}
    for old, made in zip(cut.sizes, cut.made, strict=True):
        if (old, made) not in found:
            _, *piece = form.result_sizes(1, old)  # a library may look at channels
            ruling = rules.ruling(tuple(piece), axes, old, made, None)
            found[old, made] = ruling, None if ruling is None else _way(ruling, rules.keeps_type)
    each = [found[sizes] for sizes in zip(cut.sizes, cut.made, strict=True)]
    rulings = [ruling for ruling, _ in each if ruling is not None]
    if not each or (not rulings and (is_moved or not rules.keeps_type)):
        return None
    ways = [way for _, way in each if way is not None]
    return RuledBoxes(rulings, ways if len(ways) == len(each) else None)


def _way(ruling: Ruling, keeps_type: bool) -> Way | None:
    """How kernels of crops sum a box; None: they do not."""
    rows, columns = ruling.rows
    if rows.moves and columns.moves:
        return Way(moves=True)
    rows_first = ruling.order == (0, 1)
    is_one_kind = rows.moves == columns.moves and (rows.shifts is None) == (columns.shifts is None)
    has_more = ruling.scale is not None or ruling.rounding is not None
    if not is_one_kind or has_more or max(rows.taps, columns.taps) > MOST_TAPS:
        return None
    if rows.shifts is None or columns.shifts is None:
        return None if keeps_type or rows_first else Way()
    if columns.shifts == Shifts():
        return None if rows_first else Way(shifts=rows.shifts)
    is_rounded = all(side == Shifts(total=side.total, bits=8) for side in (rows.shifts, columns.shifts))
    return Way(shifts=Shifts(total=_PLACES, bits=8), rounds=True, rows_first=rows_first) if is_rounded else None
