"""Write selftests of several devices as one Markdown table, from untrusted files."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from restride.command.files import read_bounded
from restride.command.process import UsageError
from restride.errors import printable
from restride_measure.selftest.speeds import copy_speed, median_share, share_of_copy

FORMAT, VERSION = "restride-selftest", 2

MAX = 1 << 20
"""Maximum size of a file in bytes; a selftest has about 20 KiB."""

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


def read(path: Path) -> dict[str, Any]:
    """Read the record in a file that ``restride selftest`` wrote.

    Raises:
        UsageError: the file cannot be read, or holds no such record.
    """
    content = read_bounded(path, MAX)
    try:
        record: dict[str, Any] = json.loads(content)
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError(f"its format is not {FORMAT} {VERSION}")  # noqa: TRY301 - reported below
        table([record])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise UsageError(f"{path} is no file of `restride selftest`: {why}") from error
    return record


def table(records: Iterable[Mapping[str, Any]]) -> str:
    """The Markdown table with a row for each record, in order; small selftests, whose times mean nothing, show none."""
    head = ("device", "driver", "system", *(column.heading for column in _COLUMNS), "restride")
    rows = [head, ("---",) * len(head), *(tuple(_cells(record)) for record in records)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(record: Mapping[str, Any]) -> Iterator[str]:
    device = record["device"]
    if device is None:
        yield from ("no device", "")
    else:
        yield _cell(f"{device['name']} ({device['kind']})")
        yield _cell(f"{device['driver']} {device['driver_version']}, Vulkan {device['api_version']}")
    yield _cell(f"{record['system']}, {record['processor']}")
    for column in _COLUMNS:
        part = record[column.part]
        shown = "" if part is None or (column.is_timed and record["small"]) else _cell(column.text(part))
        yield f"{shown}{BUSY if shown and column.part == 'copy' and record['warnings'] else ''}"
    yield _cell(f"{record['versions']['restride']}, {record['date']}")


def _verdicts(cases: Mapping[str, Any]) -> str:
    counts = {str(verdict): int(count) for verdict, count in cases["counts"].items()}
    ran, under = sum(counts.values()), f"{cases['validation']} validation" if cases["validation"] else "no validation"
    first = [f"{counts.get('PASSED', 0)} of {ran}", under]
    return ", ".join([*first, *(f"{count} {verdict}" for verdict, count in counts.items() if verdict != "PASSED")])


def _copy(copy: Mapping[str, Any]) -> str:
    return _number(copy_speed(copy))


def _share(name: str, speed: Mapping[str, Any]) -> str:
    measure = speed["measures"][-1]
    share = next((share_of_copy(each, measure) for each in speed["workloads"] if each["name"] == name), None)
    return "" if share is None else _number(share)


def _ttc57(ttc57: Mapping[str, Any]) -> str:
    wrong = sum(not each["right"] for each in ttc57["transpositions"])
    return f"{_number(median_share(ttc57))} ({len(ttc57['transpositions'])}{f', {wrong} WRONG' if wrong else ''})"


def _transfers(transfers: Mapping[str, Any]) -> str:
    """The speeds of the largest array."""
    largest = transfers["arrays"][-1]
    return ", ".join(_number(largest["bytes"] / largest["seconds"][way] / 1e9) for way in ("upload", "download"))


def _call(calls: Mapping[str, Any]) -> str:
    return ", ".join(_number(1e6 * calls["calls"][0][key]) for key in ("started", "one"))


def _large(large: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} WRONG" for name, wrong in large["wrong"].items() if wrong) or "right"


def _cuda(cuda: Mapping[str, Any]) -> str:
    return f"{sum(map(bool, cuda['claims'].values()))} of {len(cuda['claims'])}"


def _faster(kernels: Mapping[str, Any]) -> str:
    """The choices that measured faster than the usual ones."""
    usual, faster = dict(kernels["usual"]), dict(kernels["faster"])
    return ", ".join(f"{name} {faster[name]}" for name in faster if faster[name] != usual[name]) or "the usual"


class _Column(NamedTuple):
    """A column that shows a part; empty if the part did not run, or if it shows times and the selftest was small."""

    heading: str
    part: str
    text: Callable[[Mapping[str, Any]], str]
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
    if not math.isfinite(value):
        raise ValueError(f"{value} is no speed")
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _cell(text: str) -> str:
    """A text as a Markdown cell: escaped, on one line, at most ``_MAX`` characters before escaping."""
    shown = printable(" ".join(text.split()))[:_MAX]
    return html.escape(shown, quote=False).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
