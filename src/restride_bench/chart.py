"""The chart: horizontal bars, a group for each workload, the longest for the fastest."""

from __future__ import annotations

from collections.abc import Sequence

from restride.drawing.map import HUES, rgb
from restride.drawing.shapes import GREY, INK, Figure, Label, Rect, Shape
from restride_bench.offer import Measure
from restride_bench.report import Report
from restride_bench.run import OURS, Result
from restride_bench.table import TITLES, rounds

_MARGIN, _NAMES, _BAR, _ROW, _VALUES = 20, 130, 480, 18, 170
"""Pixels: around, of the columns' names, of the longest bar, of a row, and of the figures behind it."""


def draw(report: Report, measure: Measure) -> Figure:
    """Bars of speed, each workload's fastest one at full length; figures are the median and useful bytes a second."""
    device = report.device
    title = f"restride on {device['name']}, {device['driver']} {device['driver_version']}"
    page = _Page()
    page.text(title, 16, is_bold=True)
    page.text(f"{TITLES[measure]}; {rounds(report)}; longer is faster", 12, GREY)
    for warning in report.warnings:
        page.text(f"warning: {warning}", 12, GREY)
    group = ""
    for result in report.results:
        if result.median(measure) is None:
            continue
        if result.workload.group != group:
            group = result.workload.group
            page.y += 10
            page.text(group, 15, is_bold=True)
        page.workload(result, measure, tuple(report.peers))
    width = max(page.right, _MARGIN + _NAMES + _BAR + _VALUES) + _MARGIN
    return Figure(title, round(width), round(page.y + _MARGIN / 2), page.shapes)


class _Page:
    """Shapes, and where the next ones go."""

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.y: float = _MARGIN
        self.right: float = 0

    def text(self, text: str, size: float = 13, colour: str = INK, is_bold: bool = False) -> None:
        label = Label(_MARGIN, self.y + size / 2, text, size, colour, is_bold=is_bold)
        self.shapes.append(label)
        self.right = max(self.right, label.x + label.width)
        self.y += round(size * 1.6)

    def workload(self, result: Result, measure: Measure, peers: Sequence[str]) -> None:
        """A name, and a bar for each column that was measured."""
        self.text(result.workload.name, 13, is_bold=True)
        medians = {column: result.median(measure, column) or 0.0 for column in result.seconds[measure]}
        fastest = min(filter(None, medians.values()), default=0.0)
        for column, seconds in medians.items():
            length = _BAR * fastest / seconds if seconds else 0.0
            left, middle = _MARGIN + _NAMES, self.y + _ROW / 2
            speed = result.workload.nbytes / seconds / 1e9 if seconds else 0.0
            figures = f"{1e3 * seconds:.3f} ms, {speed:.2f} GB/s"
            data = (("workload", result.workload.name), ("column", column))
            self.shapes += [
                Label(left - 8, middle, column, 12, INK if column == OURS else GREY, "end", is_bold=column == OURS),
                Rect(left, self.y + 2, max(length, 1.0), _ROW - 4, _colour(column, peers)),
                Label(left + max(length, 1.0) + 6, middle, figures, 11, data=data),
            ]
            self.y += _ROW
        self.y += 8


def _colour(column: str, peers: Sequence[str]) -> str:
    """Restride's is the first; those of peers follow in turn, and grey is what runs on the same device."""
    if column == OURS:
        return rgb(0)
    if column not in peers:
        return rgb(len(HUES) - 1)
    return rgb(1 + list(peers).index(column) % (len(HUES) - 2))
