"""Draw charts with matplotlib: bars of speed for each workload, and lines of how time grows.

matplotlib comes with the extra ``restride-lab[charts]``, and is imported only when a chart is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from restride.command.files import require_places
from restride.command.process import UsageError
from restride.command.stopwatch import rounds_text
from restride.errors import UnsupportedError
from restride_bench.scale.parts import GROWS, Cost
from restride_bench.scale.run import PartResult
from restride_conformance.report import Record
from restride_conformance.report.summary import device_text
from restride_conformance.report.table import COPY, TITLES, Measure
from restride_measure.own import OURS
from restride_measure.run import WorkloadTimes
from restride_measure.workloads import BY_AXES, BY_BYTES, bytes_text, result_bytes, result_elements

Figure: TypeAlias = Any
Axes: TypeAlias = Any
"""Types of matplotlib, declared as Any because it may not be installed."""

FORMATS = (".svg", ".png")

_WIDTH, _ROW, _PLOT = 9.0, 0.2, 4.5
"""Inches: the width of a chart, the height of a bar, and the height of a line plot."""

_SETTINGS = {"svg.hashsalt": "restride", "svg.fonttype": "none", "font.size": 9, "axes.autolimit_mode": "round_numbers"}
"""Settings with which equal figures give equal files, text in an SVG stays text, and axes end at round numbers."""


def require_matplotlib() -> Any:
    """Import matplotlib.

    Raises:
        UnsupportedError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError as error:
        raise UnsupportedError("charts need matplotlib: pip install './lab[charts]' in a checkout") from error
    return matplotlib


def require_outputs(json: Path | None, *charts: Path | None) -> None:
    """Raise a ``UsageError`` before the work if a file cannot be written, or a chart has none of ``FORMATS``."""
    drawn = [path for path in charts if path is not None]
    for path in drawn:
        if path.suffix.lower() not in FORMATS:
            raise UsageError(f"a chart is .svg or .png, not {str(path)!r}")
    require_places(*drawn, *filter(None, [json]))


def chart_file(figure: Figure, suffix: str) -> bytes:
    """The bytes of a file with the figure; ``suffix`` is one of ``FORMATS``.

    An SVG includes a description: the title, the texts of the bars, and the first and last point of each line.
    """
    file, title = io.BytesIO(), figure.get_suptitle()
    is_svg = suffix.lower() == ".svg"
    with require_matplotlib().rc_context(_SETTINGS):
        metadata = {"Date": None, "Title": title.partition("\n")[0]} if is_svg else {}
        figure.savefig(file, format=suffix[1:].lower(), metadata=metadata)
    if not is_svg:
        return file.getvalue()
    words = escape("\n".join([title, *_words(figure)])).encode()
    return (
        file.getvalue()
        .replace(b"<svg ", b'<svg role="img" ', 1)
        .replace(b"</title>", b"</title><desc>%b</desc>" % words, 1)
    )


def _words(figure: Figure) -> Iterator[str]:
    for axes in figure.axes:
        yield from (text.get_text() for text in axes.texts)
        time = axes.yaxis.get_major_formatter()
        for line in (line for line in axes.lines if line.get_marker() != "None"):
            ends = [f"{time(y)} at {_place(axes, x)}" for x, y in line.get_xydata()[[0, -1]]]
            yield f"{line.get_label()}: {' to '.join(ends)}"


def _place(axes: Axes, x: float) -> str:
    return bytes_text(int(x)) if axes.get_xscale() == "log" else f"rank {x:g}"


def draw_bars(record: Record, results: Sequence[WorkloadTimes], measure: Measure) -> Figure:
    """Draw a bar for each column of each workload: its speed, as a share of the fastest column's.

    The median time and the useful bytes per second are written next to the bar.
    """
    measured = [result for result in results if result.median(measure) is not None]
    groups = {result.workload.group for result in measured}
    rows = sum(len(result.seconds[measure]) + 2 for result in measured) + len(groups)
    figure = _figure(
        record, f"{TITLES[measure]}; {rounds_text(record.options['repeat'])}; longer is faster", 1.5 + rows * _ROW
    )
    if not measured:
        return figure
    axes = figure.add_subplot(xlim=(0, 1.35), ylim=(rows, -1))
    axes.set_axis_off()
    row = 0
    for group, members in groupby(measured, lambda result: result.workload.group):
        axes.text(-0.25, row, group, fontsize="x-large", weight="bold")
        row += 1
        for result in members:
            axes.text(-0.25, row, result.workload.name, weight="bold", va="center")
            row = _bars(axes, row + 1, result, measure, list(record.options["peers"])) + 1
    return figure


def _bars(axes: Axes, row: int, result: WorkloadTimes, measure: Measure, peers: Sequence[str]) -> int:
    """Draw the bars of one workload from ``row`` on; returns the row after them."""
    medians = {column: result.median(measure, column) or 0.0 for column in result.seconds[measure]}
    fastest = min(filter(None, medians.values()), default=0.0)
    for row, (column, seconds) in enumerate(medians.items(), row):  # noqa: B020, PLR1704 - continues from the given row
        colour = "C0" if column == OURS else f"C{1 + peers.index(column) % 6}" if column in peers else "C7"
        speed = result.workload.nbytes / seconds / 1e9 if seconds else 0.0
        axes.text(-0.01, row, column, ha="right", va="center", weight="bold" if column == OURS else "normal")
        bars = axes.barh(row, fastest / seconds if seconds else 0.0, color=colour, label=column)
        axes.bar_label(bars, [f"{1e3 * seconds:.3f} ms, {speed:.2f} GB/s"], padding=4)
    return row + 1


def draw_growth(record: Record, results: Sequence[WorkloadTimes], measure: Measure) -> Figure:
    """Draw the time per call over the bytes of the result, and the time per element over the number of axes.

    A point is the fastest of all rounds, because other work on the machine can only add time.
    """
    results = [result for result in results if result.fastest(measure)]
    plots = [groups for groups in (BY_BYTES, (BY_AXES,)) if any(each.workload.group in groups for each in results)]
    text = "one round" if record.options["repeat"] == 1 else f"the fastest of {record.options['repeat']} rounds"
    figure = _figure(record, f"{TITLES[measure]}; {text}", 1 + _PLOT * len(plots))
    for number, groups in enumerate(plots, 1):
        axes = figure.add_subplot(len(plots), 1, number, yscale="log")
        for group in groups:
            _line(axes, group, [result for result in results if result.workload.group == group], measure, OURS)
        copied = [result for result in results if result.workload.group == groups[0]]
        _line(axes, "the device's own copy", copied, measure, COPY)
        if groups == BY_BYTES:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda nbytes, _: bytes_text(max(int(nbytes), 1)))
            most = (record.device or {})["limits"]["max_buffer_range"]
            if most < max(result_bytes(result.workload) for result in results if result.workload.group in groups):
                axes.axvline(most, color="C7", linestyle="dotted", label="one binding")
            axes.set(xlabel="bytes of the result", ylabel="time of a call")
        else:
            axes.set(xlabel="axes of a tensor of some 16 MB, whose order is reversed", ylabel="time of an element")
        axes.minorticks_off()
        _finish(axes, "s")
    return figure


def draw_streams(record: Record, result: PartResult) -> Figure:
    """Draw the time per line and the peak memory over the bytes of the source, for a part about growth."""
    figure = _figure(record, f"{result.part.name}; {rounds_text(record.options['repeat'])}", 1 + 2 * _PLOT)
    ways = [way for way in result.part.ways if way.name in result.took]
    names = [way.name for way in ways]
    limits = [goal.most for goal in result.part.goals if goal.measure == "peak" and not goal.against]
    plots: tuple[tuple[Cost, str, float, str], ...] = (
        ("seconds", "time of a line", 1.0, "s"),
        ("peak", "most memory of the process", limits[0], "B"),
    )
    for number, (measure, label, most, unit) in enumerate(plots, 1):
        axes = figure.add_subplot(2, 1, number)
        values = [result.value(name, measure) or 0.0 for name in names]
        axes.plot(names, values, marker="s", markersize=3, label=label)
        goal = GROWS * values[0] if measure == "seconds" else most
        axes.axhline(goal, color="C7", linestyle="dotted", label="goal: at most")
        axes.set(xlabel="bytes of the source", ylabel=label, ylim=(0, None))
        _finish(axes, unit)
    return figure


def _finish(axes: Axes, unit: str) -> None:
    """Number the vertical axis in a unit, and add grid and legend."""
    axes.yaxis.set_major_formatter(require_matplotlib().ticker.EngFormatter(unit))
    axes.grid(visible=True, color="0.9")
    axes.legend()


def _line(axes: Axes, label: str, results: Sequence[WorkloadTimes], measure: Measure, column: str) -> None:
    """Draw a line of a column's times: per call over bytes, or per element over the number of axes."""
    points = []
    for workload, seconds in ((result.workload, result.fastest(measure, column)) for result in results):
        if seconds and workload.group == BY_AXES:
            points.append((workload.desc.rank, seconds / result_elements(workload)))
        elif seconds:
            points.append((result_bytes(workload), seconds))
    if points:
        options = {} if column == OURS else {"color": "C7", "linestyle": "dashed"}
        # The lines also have different marks, for readers who cannot tell the colours apart.
        mark = "os^vDX"[len(axes.lines) % 6]
        axes.plot(*zip(*points, strict=True), marker=mark, markersize=4, label=label, **options)


def _figure(record: Record, text: str, height: float) -> Figure:
    """An empty figure titled with the device's name, the processor, ``text`` and warnings; ``height`` in inches."""
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(_SETTINGS):
        figure: Figure = matplotlib.figure.Figure(figsize=(_WIDTH, height), layout="constrained")
    lines = [
        f"restride on {device_text(record)}",
        record.processor,
        text,
        *(f"warning: {each}" for each in record.warnings),
    ]
    figure.suptitle("\n".join(lines), fontsize="medium")
    return figure
