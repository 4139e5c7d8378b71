"""The chart of growth: time over the bytes of a result, and time per element over its axes, one line a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from restride.drawing.map import deep
from restride.drawing.shapes import GREY, Figure, Label, Shape
from restride_bench import device_copy
from restride_bench.growth import BY_AXES, BY_BYTES, bytes_text, result_bytes, result_elements
from restride_bench.offer import Measure
from restride_bench.plot import Axis, Curve, Plot, decades
from restride_bench.report import Report
from restride_bench.run import OURS, Result
from restride_bench.table import TITLES

_LEFT, _TOP, _WIDTH, _HEIGHT, _NAMES, _BETWEEN = 84, 100, 620, 380, 190, 90
"""Pixels: beside and above the first plot, its sides, and room for the names of lines and between the plots."""

_REFERENCE = "the device's own copy"
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))


def draw_growth(report: Report, measure: Measure) -> Figure:
    """Two plots, one below the other. A point is the fastest of all rounds: other work on the machine only adds."""
    device = report.device
    title = f"restride on {device['name']}, {device['driver']} {device['driver_version']}"
    rounds = "one round" if report.repeat == 1 else f"the fastest of {report.repeat} rounds"
    lines = [f"{TITLES[measure]}; {rounds}", *(f"warning: {warning}" for warning in report.warnings)]
    shapes: list[Shape] = [Label(20, 28, title, 16, is_bold=True)]
    shapes += [Label(20, 50 + 18 * number, line, 12, GREY) for number, line in enumerate(lines)]
    top: float = _TOP + 18 * len(lines)
    results = [result for result in report.results if result.fastest(measure) is not None]
    for make in (_over_bytes, _over_axes):
        plot = make(report, measure, results, top)
        if plot:
            shapes += plot
            top += _HEIGHT + _BETWEEN
    width = max(_LEFT + _WIDTH + _NAMES, *_ends(shapes))
    return Figure(title, round(width + 20), round(top - _BETWEEN + 50), shapes)


def _over_bytes(report: Report, measure: Measure, results: Sequence[Result], top: float) -> list[Shape]:
    curves = [_curve(group, deep(number), group, OURS, measure, results) for number, group in enumerate(BY_BYTES)]
    curves.append(_curve(_REFERENCE, GREY, BY_BYTES[0], device_copy.NAME, measure, results))
    points = [point for curve in curves for point in curve.points]
    if not points:
        return []
    last = max(1 << 14, *(int(at) for at, _ in points))
    ticks = tuple((float(1 << n), bytes_text(1 << n)) for n in range(10, (last - 1).bit_length() + 4, 4))
    seconds = tuple((each, _text(each)) for each in decades(*_span(points)))
    most = report.device["limits"]["max_buffer_range"]
    marks = ((float(most), "one binding"),) if most < ticks[-1][0] else ()
    plot = Plot(_LEFT, top, _WIDTH, _HEIGHT, Axis("bytes of the result", ticks), Axis("time of a call", seconds), marks)
    return plot.shapes(curves)


def _over_axes(_: Report, measure: Measure, results: Sequence[Result], top: float) -> list[Shape]:
    pairs = ((OURS, deep(0), BY_AXES), (device_copy.NAME, GREY, _REFERENCE))
    curves = [_curve(name, colour, BY_AXES, column, measure, results) for column, colour, name in pairs]
    points = [point for curve in curves for point in curve.points]
    if not points:
        return []
    ticks = tuple((float(axes), str(axes)) for axes in range(1, 9))
    seconds = tuple((each, _text(each)) for each in decades(*_span(points)))
    across = Axis("axes of a tensor of some 16 MB, whose order is reversed", ticks, is_logarithmic=False)
    return Plot(_LEFT, top, _WIDTH, _HEIGHT, across, Axis("time per element", seconds)).shapes(curves)


def _curve(name: str, colour: str, group: str, column: str, measure: Measure, results: Sequence[Result]) -> Curve:
    """Over bytes the seconds of a call, over axes those of one element."""
    points = []
    for result in results:
        workload, seconds = result.workload, result.fastest(measure, column)
        if workload.group == group and seconds:
            if group == BY_AXES:
                points.append((float(workload.desc.rank), seconds / result_elements(workload)))
            else:
                points.append((float(result_bytes(workload)), seconds))
    return Curve(name, colour, tuple(points))


def _ends(shapes: Sequence[Shape]) -> Iterator[float]:
    return (shape.x + shape.width for shape in shapes if isinstance(shape, Label) and shape.anchor == "start")


def _span(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    seconds = [each for _, each in points]
    return min(seconds), max(seconds)


def _text(seconds: float) -> str:
    """``100 us`` for 1e-4."""
    unit, name = next((unit, name) for unit, name in _UNITS if seconds >= 0.999 * unit)
    return f"{seconds / unit:g} {name}"
