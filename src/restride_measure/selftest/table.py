"""Write selftests of several devices as one Markdown table, from untrusted files."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from restride.command.process import UsageError
from restride.errors import RestrideError, printable
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record
from restride_conformance.report.file import read_record
from restride_conformance.report.table import Table, call_seconds, median_seconds
from restride_measure.selftest.speeds import ONE, STARTED, median_share, share_of_copy

_MAX = 100
"""Maximum number of characters of a cell."""

SHARES = {
    "transpose": "transpose f32 4096x4096",
    "NCHW to NHWC": "NCHW->NHWC f32 1x3x1080x1920",
    "normalize": "u8 NHWC -> f32 NCHW, normalized",
    "shrink": "bilinear f32 1080p -> 224",
    "enlarge": "bilinear f32 224 -> 1080p",
}
"""Columns of the table, and the workload whose speed each shows as a share of the copy's speed."""

BUSY = " (busy)"
"""Mark after the speed of a copy: other work or a layer was running, so that all times are too high."""


def read(path: Path) -> Record:
    """Read the record in a file that ``restride selftest`` wrote.

    Raises:
        UsageError: the file cannot be read, or holds no such record.
        UnsupportedError: jsonschema is not installed.
    """
    try:
        record = read_record(path, "selftest")
        table([record])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = str(error) if isinstance(error, RestrideError) else f"{type(error).__name__}: {str(error)[:200]}"
        raise UsageError(f"{path} is no file of `restride selftest`: {why}") from error
    return record


def table(records: Iterable[Record]) -> str:
    """The Markdown table with a row for each record, in order; small selftests, whose times mean nothing, show none."""
    heads = ("device", "driver", "system", *(column.heading for column in _COLUMNS), "restride")
    return Table("", [heads, *(tuple(_cells(record)) for record in records)]).markdown()


def _cells(record: Record) -> Iterator[str]:
    device = record.device
    if device is None:
        yield from ("no device", "")
    else:
        yield _cell(f"{device['name']} ({device['kind']})")
        yield _cell(f"{record.driver}, Vulkan {device['api_version']}")
    yield _cell(f"{record.platform}, {record.processor}")
    for column in _COLUMNS:
        part = [outcome for outcome in record.outcomes if outcome.group == column.part]
        shown = "" if not part or (column.is_timed and record.options["small"]) else _cell(column.text(part))
        yield f"{shown}{BUSY if shown and column.part == 'copy' and record.warnings else ''}"
    yield _cell(f"{record.versions['restride']}, {record.started.date().isoformat()}")


def _verdicts(cases: Sequence[Outcome]) -> str:
    figures = cases[0].figures
    counts = {verdict: int(figures[verdict]) for verdict in Verdict if verdict in figures}
    under = f"{figures['validation']} validation" if figures["validation"] else "no validation"
    first = [f"{counts.get(Verdict.PASSED, 0)} of {sum(counts.values())}", under]
    return ", ".join([*first, *(f"{count} {verdict}" for verdict, count in counts.items() if verdict != "PASSED")])


def _copy(copy: Sequence[Outcome]) -> str:
    (copied,) = copy
    return _number(copied.figures["bytes"] / (call_seconds(copied) or 0.0) / 1e9)


def _share(name: str, speed: Sequence[Outcome]) -> str:
    share = next((share_of_copy(each) for each in speed if each.case == name), None)
    return "" if share is None else _number(share)


def _ttc57(ttc57: Sequence[Outcome]) -> str:
    wrong = sum(each.verdict is not Verdict.PASSED for each in ttc57)
    return f"{_number(median_share(ttc57))} ({len(ttc57)}{f', {wrong} WRONG' if wrong else ''})"


def _transfers(transfers: Sequence[Outcome]) -> str:
    """The speeds of the largest array."""
    speeds = {
        each.case.partition(",")[0]: each.figures["bytes"] / (median_seconds(each, "numpy") or 0.0) / 1e9
        for each in transfers
        if each.verdict is Verdict.PASSED
    }
    return ", ".join(_number(speeds[way]) for way in ("upload", "download"))


def _call(calls: Sequence[Outcome]) -> str:
    return ", ".join(_number(calls[0].figures[name]) for name in (STARTED, ONE))


def _large(large: Sequence[Outcome]) -> str:
    return ", ".join(f"{each.case} WRONG" for each in large if each.verdict is not Verdict.PASSED) or "right"


def _cuda(cuda: Sequence[Outcome]) -> str:
    return f"{sum(each.verdict is Verdict.PASSED for each in cuda)} of {len(cuda)}"


def _faster(kernels: Sequence[Outcome]) -> str:
    """The choices that measured faster than the usual ones."""
    marks = {each.case: each.figures["is"].split(", ") for each in kernels}
    return ", ".join(name for name, words in marks.items() if "faster" in words and "usual" not in words) or "the usual"


class _Column(NamedTuple):
    """A column that shows a part; empty if the part did not run, or if it shows times and the selftest was small."""

    heading: str
    part: str
    text: Callable[[Sequence[Outcome]], str]
    is_timed: bool = True


_COLUMNS = (
    _Column("smoke", "smoke", _verdicts, is_timed=False),
    _Column("ci", "ci", _verdicts, is_timed=False),
    _Column("copy, GB/s", "copy", _copy),
    *(_Column(heading, "speed", partial(_share, name)) for heading, name in SHARES.items()),
    _Column("ttc57", "ttc57", _ttc57),
    _Column("up, down, GB/s", "transfers", _transfers),
    _Column("call, us", "calls", _call),
    _Column("over 4 GiB", "large", _large),
    _Column("CUDA", "cuda", _cuda, is_timed=False),
    _Column("faster kernels", "kernels", _faster),
)


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _cell(text: str) -> str:
    """A text as a Markdown cell: escaped, on one line, at most ``_MAX`` characters before escaping."""
    shown = printable(" ".join(text.split()))[:_MAX]
    return html.escape(shown, quote=False).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
