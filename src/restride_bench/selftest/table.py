"""Write selftests of several devices as one Markdown table, from untrusted files."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from restride.cli.files import read_bounded
from restride.cli.process import UsageError
from restride_bench.own import COPY
from restride_bench.selftest.parts import share_of_copy
from restride_conformance.report import printable

FORMAT, VERSION = "restride-selftest", 1

LARGEST = 1 << 20
"""Most bytes of a file; a selftest has about 10 KiB."""

_LONGEST = 100
"""Most characters of a cell."""

COPIED = "copy f32 4096x4096"
"""The workload whose copy shows the speed of the device's memory."""

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

_HEAD = ("device", "driver", "system", "cases", "copy, GB/s", *SHARES, "faster kernels", "restride")


def read(path: Path) -> dict[str, Any]:
    """Read the record in a file that ``restride selftest`` wrote.

    Raises:
        UsageError: the file cannot be read, or holds no such record.
    """
    content = read_bounded(path, LARGEST)
    try:
        record: dict[str, Any] = json.loads(content)
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError(f"its format is not {FORMAT} {VERSION}")  # noqa: TRY301 - said below
        table([record])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise UsageError(f"{path} is no file of `restride selftest`: {why}") from error
    return record


def table(records: Iterable[Mapping[str, Any]]) -> str:
    """The Markdown table with a row for each record, in order; small selftests, whose times mean nothing, show none."""
    rows = [_HEAD, ("---",) * len(_HEAD), *(tuple(_cells(record)) for record in records)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(record: Mapping[str, Any]) -> Iterator[str]:
    device, cases = record["device"], record["cases"]
    if device is None:
        yield from ("no device", "")
    else:
        yield _cell(f"{device['name']} ({device['kind']})")
        yield _cell(f"{device['driver']} {device['driver_version']}, Vulkan {device['api_version']}")
    yield _cell(f"{record['system']}, {record['processor']}")
    yield "not run" if cases is None else _verdicts(cases)
    yield from _speeds(record)
    yield "" if record["small"] else _faster(record["kernels"])
    yield _cell(f"{record['versions']['restride']}, {record['date']}")


def _verdicts(cases: Mapping[str, Any]) -> str:
    counts = {str(verdict): int(count) for verdict, count in cases["counts"].items()}
    under = f"{cases['validation']} validation" if cases["validation"] else "no validation"
    first = [f"{counts.get('PASSED', 0)} of {sum(counts.values())}", under]
    return _cell(
        ", ".join([*first, *(f"{count} {verdict}" for verdict, count in counts.items() if verdict != "PASSED")])
    )


def _speeds(record: Mapping[str, Any]) -> Iterator[str]:
    speed = record["speed"]
    if speed is None or record["small"]:
        yield from [""] * (1 + len(SHARES))
        return
    measure = speed["measures"][-1]
    by_name = {each["name"]: each for each in speed["workloads"]}
    copied = by_name[COPIED]["seconds"].get(measure)
    busy = BUSY if speed["warnings"] else ""
    yield f"{_number(by_name[COPIED]['bytes'] / copied[COPY] / 1e9)}{busy}" if copied else ""
    for name in SHARES.values():
        share = share_of_copy(by_name[name], measure)
        yield "" if share is None else _number(share)


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} is no speed")
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _faster(kernels: Mapping[str, Any] | None) -> str:
    """The choices that measured faster than the usual ones, as a cell."""
    if kernels is None:
        return ""
    usual, faster = dict(kernels["usual"]), dict(kernels["faster"])
    return _cell(", ".join(f"{name} {faster[name]}" for name in faster if faster[name] != usual[name]) or "the usual")


def _cell(text: str) -> str:
    """A text as a Markdown cell: escaped, on one line, at most ``_LONGEST`` characters before escaping."""
    shown = printable(" ".join(text.split()))[:_LONGEST]
    return html.escape(shown, quote=False).replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`")
