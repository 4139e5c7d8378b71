"""Draw charts of a record with matplotlib: each library beside restride for each workload, and how time grows.

matplotlib comes with the extra ``restride-lab[charts]``, and is imported only when a chart is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
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
from restride_conformance.record import Outcome
from restride_conformance.report import Record
from restride_conformance.report.summary import device_text
from restride_conformance.report.table import COPY, TITLES, Measure, median_seconds, number_text, ratio
from restride_measure.own import OURS
from restride_measure.workloads import BY_AXES, BY_BYTES, Workload, bytes_text, growth, result_bytes, result_elements

Figure: TypeAlias = Any
Axes: TypeAlias = Any
"""Types of matplotlib, declared as Any because it may not be installed."""

FORMATS = (".svg", ".png")

_WIDTH, _ROW, _PLOT = 9.0, 0.15, 4.0
"""Inches: the width of a chart or a panel, the height of a row, and the height of a line plot."""

_MAX_ROWS = 48
"""Maximum rows of a panel: a chart of more workloads has several panels side by side, so that a screen shows it all."""

_OWN = "own"
"""The column for the other operation of restride that a workload is compared with; its name differs by workload."""

_MARKS = {
    COPY: ("#6e7781", "|"),
    _OWN: ("#1f2328", "x"),
    "by-hand": ("#0550ae", "s"),
    "raw": ("#8250df", "D"),
    "numpy": ("#1a7f37", "o"),
    "torch": ("#cf222e", "^"),
    "torch-cuda": ("#5a8f00", "^"),
    "torch-vulkan": ("#82071e", "^"),
    "einops-numpy": ("#0e8a8a", "<"),
    "einops-torch": ("#bf3989", "<"),
    "opencv": ("#b35900", "v"),
    "pillow": ("#7d4e00", "P"),
    "transformers": ("#8f7d00", "p"),
    "onnxruntime": ("#0a7ea4", "X"),
    "wgpu": ("#5b2c83", ">"),
    "computeml": ("#e0408c", "*"),
    "ncnn": ("#d9601a", "h"),
}
"""The colour and the mark of each column, in every chart the same; each colour has a contrast of 3 to white."""

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

    An SVG includes a description: the title, the times of each workload, and the first and last point of each line.
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
    if label := figure.get_label():
        yield label
        return
    for axes in figure.axes:
        time = axes.yaxis.get_major_formatter()
        for line in (line for line in axes.lines if line.get_marker() != "None"):
            ends = [f"{time(y)} at {_place(axes, x)}" for x, y in line.get_xydata()[[0, -1]]]
            yield f"{line.get_label()}: {' to '.join(ends)}"


def _place(axes: Axes, x: float) -> str:
    return bytes_text(int(x)) if axes.get_xscale() == "log" else f"rank {x:g}"


def draw_ratios(record: Record, measure: Measure) -> Figure:
    """Draw a row for each workload, with a mark for each column: restride's time over that column's, of the medians.

    The line at 1 is restride's own time, which stands beside the workload's name.
    """
    measured = [each for each in record.outcomes if median_seconds(each, measure, OURS)]
    groups = groupby(measured, lambda outcome: outcome.group)
    rows = [row for group, members in groups for row in (group, *members)]
    count = -(-len(rows) // _MAX_ROWS)
    each = -(-len(rows) // count) if count else 0
    title = f"restride's time over that of others: left of 1 restride is faster; {_words_of(record, measure)}"
    figure = _figure(record, title, 1.7 + each * _ROW, _WIDTH * max(count, 1) * (0.8 if count > 1 else 1))
    for panel in range(count):
        axes = figure.add_subplot(1, count, panel + 1, sharex=figure.axes[0] if panel else None)
        _panel(axes, rows[panel * each : (panel + 1) * each], record, measure)
    handles = {handle.get_label(): handle for axes in figure.axes for handle in axes.lines}
    shown = [handles[name] for name in (OURS, *_MARKS) if name in handles]
    figure.legend(handles=shown, loc="outside lower center", ncols=9, frameon=False)
    figure.set_label("\n".join(f"{outcome.case}: {_times(outcome, measure)}" for outcome in measured))
    return figure


def _panel(axes: Axes, rows: Sequence[str | Outcome], record: Record, measure: Measure) -> None:
    """Draw some of the rows; a text is the heading of the rows after it."""
    marks: dict[str, list[tuple[float, int]]] = {}
    for place, outcome in enumerate(rows):
        if isinstance(outcome, str):
            continue
        for name in outcome.figures[measure]:
            if name != OURS and (times := ratio(outcome, measure, name)) is not None:
                known = name == COPY or name in record.options["peers"]
                marks.setdefault(name if known else _OWN, []).append((times, place))
    axes.axvline(1, color="black", linewidth=1, label=OURS)
    for name, points in marks.items():
        colour, mark = _MARKS[name]
        axes.plot(*zip(*points, strict=True), color=colour, marker=mark, markersize=5, linestyle="none", label=name)
    axes.set(xscale="log", ylim=(len(rows) - 0.5, -0.5))
    axes.xaxis.set_major_formatter(lambda times, _: f"{times:g}")
    axes.set_yticks(range(len(rows)), [_label(row, measure) for row in rows], fontsize=8)
    for text, row in zip(axes.get_yticklabels(), rows, strict=True):
        text.set_weight("bold" if isinstance(row, str) else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, color="0.9")


def _label(row: str | Outcome, measure: Measure) -> str:
    return row if isinstance(row, str) else f"{row.case}   {_milliseconds(row, measure, OURS)}"


def _milliseconds(outcome: Outcome, measure: Measure, column: str) -> str:
    return f"{number_text(1e3 * (median_seconds(outcome, measure, column) or 0.0))} ms"


def _times(outcome: Outcome, measure: Measure) -> str:
    """The medians of all columns in words."""
    columns: Iterable[str] = outcome.figures[measure]
    return ", ".join(f"{column} {_milliseconds(outcome, measure, column)}" for column in columns)


def _words_of(record: Record, measure: Measure) -> str:
    """What was measured, and in how many rounds."""
    return f"{TITLES[measure].partition(': ')[2]}; {rounds_text(record.options['repeat'])}"


def draw_growth(record: Record, measure: Measure) -> Figure:
    """Draw the time per call over the bytes of the result, and the time per element over the number of axes.

    A point is the fastest of all rounds, because other work on the machine can only add time.
    """
    workloads = {each.name: each for each in growth(record.options["small"])}
    outcomes = [each for each in record.outcomes if measure in each.figures]
    plots = [groups for groups in (BY_BYTES, (BY_AXES,)) if any(each.group in groups for each in outcomes)]
    text = "one round" if record.options["repeat"] == 1 else f"the fastest of {record.options['repeat']} rounds"
    figure = _figure(record, f"{TITLES[measure].partition(': ')[2]}; {text}", 1 + _PLOT * len(plots))
    for number, groups in enumerate(plots, 1):
        axes = figure.add_subplot(len(plots), 1, number, yscale="log")
        members = {
            group: [(workloads[each.case], each) for each in outcomes if each.group == group] for group in groups
        }
        for group, points in members.items():
            _line(axes, group, points, measure, OURS)
        _line(axes, "the device's own copy", members[groups[0]], measure, COPY)
        if groups == BY_BYTES:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda nbytes, _: bytes_text(max(int(nbytes), 1)))
            most = (record.device or {})["limits"]["max_buffer_range"]
            if most < max(result_bytes(workload) for points in members.values() for workload, _ in points):
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


def _line(axes: Axes, label: str, results: Sequence[tuple[Workload, Outcome]], measure: Measure, column: str) -> None:
    """Draw a line of a column's times: per call over bytes, or per element over the number of axes."""
    points = []
    for workload, outcome in results:
        seconds = min(outcome.figures[measure].get(column, ()), default=None)
        if seconds and workload.group == BY_AXES:
            points.append((workload.desc.rank, seconds / result_elements(workload)))
        elif seconds:
            points.append((result_bytes(workload), seconds))
    if points:
        options = {} if column == OURS else {"color": "C7", "linestyle": "dashed"}
        # The lines also have different marks, for readers who cannot tell the colours apart.
        mark = "os^vDX"[len(axes.lines) % 6]
        axes.plot(*zip(*points, strict=True), marker=mark, markersize=4, label=label, **options)


def _figure(record: Record, text: str, height: float, width: float = _WIDTH) -> Figure:
    """An empty figure, titled with the device, the processor and day, ``text`` and warnings; sizes in inches."""
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(_SETTINGS):
        figure: Figure = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
    lines = [
        f"restride on {device_text(record)}",
        ", ".join(filter(None, [record.processor, f"{record.started:%Y-%m-%d}"])),
        text,
        *(f"warning: {each}" for each in record.warnings),
    ]
    figure.suptitle("\n".join(lines), fontsize="medium")
    return figure
