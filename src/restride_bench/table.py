"""The table: for each measure a row a workload, in columns, and lines that sum up goals and peers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from restride_bench.offer import Measure
from restride_bench.report import JUDGED, Report, share_of_copy, verdicts
from restride_bench.run import OURS, Result

TITLES: dict[Measure, str] = {
    "kernel": "kernel: what the device itself says it took",
    "resident": "resident: the call and the wait, tensors on the device, destination there",
    "numpy": "numpy: numpy array in, numpy array out",
}

_OWN = "own"
"""The column of the rivals; the goal says which one it is."""

_NOTHING = "-"


def text(report: Report) -> str:
    """Everything that the terminal shows of a run."""
    blocks = [heading(report), *("\n".join(_block(report, measure)) for measure in report.measures)]
    return "\n\n".join([*blocks, "\n".join(_summary(report))])


def heading(report: Report) -> str:
    """What was measured on, and what is wrong with the figures."""
    device = report.device
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    lines = [f"{device['name']}, {device['driver']} {device['driver_version']}, runtime {report.runtime}; {versions}"]
    if report.is_small:
        lines.append("small sizes, under the names of the whole ones: these times mean nothing")
    lines += [f"warning: {warning}" for warning in report.warnings]
    return "\n".join([*lines, *report.notes])


def rounds(report: Report) -> str:
    """How often it was measured, in words."""
    return "one round" if report.repeat == 1 else f"medians of {report.repeat} rounds"


def _block(report: Report, measure: Measure) -> Iterator[str]:
    """A table; ratios are restride's time over the other's."""
    results = [result for result in report.results if result.median(measure) is not None]
    yield f"{TITLES[measure]}; {rounds(report)}"
    if not results:
        yield "nothing was measured"
        return
    has_rivals = any(_rival_ratio(result, measure) is not None for result in results)
    columns = [*([_OWN] if has_rivals else []), *report.columns(measure)]
    judges = measure == JUDGED and any(result.workload.goals for result in results)
    rows = [_cells(result, measure, columns, judges) for result in results]
    names = ["workload", "ms", "GB/s", "of copy", *(f"/{column}" for column in columns), *(["goals"] if judges else [])]
    # A row stands two to the right of its group's name.
    widths = [max(len(row[place]) for row in (names, *rows)) for place in range(len(names))]
    widths[0] += 2
    yield f"useful GB/s, share of the device's own copy, and {OURS} / other: below 1 {OURS} is faster"
    yield _line(names, widths, judges)
    for group, members in groupby(zip(results, rows, strict=True), key=lambda pair: pair[0].workload.group):
        yield group
        for _, cells in members:
            yield _line([f"  {cells[0]}", *cells[1:]], widths, judges)


def _cells(result: Result, measure: Measure, columns: Sequence[str], judges: bool) -> list[str]:
    ratios = (_rival_ratio(result, measure) if column == _OWN else result.ratio(measure, column) for column in columns)
    goals = "; ".join(f"{verdict.goal}: {'met' if verdict.is_met else 'MISSED'}" for verdict in verdicts(result))
    return [
        result.workload.name,
        f"{1e3 * (result.median(measure) or 0.0):.3f}",
        _number(result.speed(measure)),
        _number(share_of_copy(result, measure)),
        *map(_number, ratios),
        *([goals] if judges else []),
    ]


def _line(cells: Sequence[str], widths: Sequence[int], judges: bool) -> str:
    """The first column at the left, numbers at the right, goals behind."""
    numbers = cells[1:-1] if judges else cells[1:]
    parts = [
        f"{cells[0]:<{widths[0]}}",
        *(f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=False)),
    ]
    return "  ".join([*parts, *([cells[-1]] if judges else [])]).rstrip()


def _rival_ratio(result: Result, measure: Measure) -> float | None:
    rivals = result.workload.rivals
    return result.ratio(measure, rivals[0].name) if rivals else None


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.2f}"


def _summary(report: Report) -> Iterator[str]:
    judged = report.verdicts
    missed = [verdict for verdict in judged if not verdict.is_met]
    if judged:
        yield f"goals: {len(judged) - len(missed)} of {len(judged)} met"
        yield from (f"missed: {verdict}" for verdict in missed)
    yield from (f"WRONG: {found}" for found in report.disagreements)
    yield from (f"skipped: {result.workload.name}: {result.skipped}" for result in report.results if result.skipped)
    if report.peers:
        yield "peers: " + "; ".join(f"{name} {version}" for name, version in report.peers.items())
    yield from (f"absent: {name}: {why}" for name, why in report.absent.items())
    if report.memory_beside is not None:
        beside = f"{report.memory_beside / 1024:.0f} KiB"
        yield f"device memory of a resample to 3x1200x2000 f32, beside its destination: {beside}"
    if report.broken_off:
        yield f"broken off: {report.broken_off}"
