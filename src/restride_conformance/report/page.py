"""Write a report as one HTML page that needs no network: data, style and script are in the file.

The page groups cases by operation, element types and layout family.
"""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from restride.dtypes import DTYPES
from restride.errors import printable
from restride.layout import TensorDesc
from restride.layout.equation import nested
from restride_conformance.case import OPERATIONS, Case
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Report, ended_early, facts, headline, summary
from restride_conformance.report.file import write_text

_CONVERTED = {name: f"{name} to others" for name in DTYPES}
"""For each source type, the row of the page's matrix for cases whose types differ; a row per pair would make 210."""


def write_page(report: Report, path: Path) -> None:
    """Write the report as a page, as ``write_text`` does."""
    filled = {
        "TITLE": html.escape(f"restride test: {report.device['name']}"),
        "STYLE": _part("page.css"),
        "SUMMARY": html.escape(summary(report)),
        "DATA": _embedded(_record(report)),
        "SCRIPT": _part("page.js"),
    }
    write_text(path, fill_template(_part("page.html"), filled))


def fill_template(template: str, texts: Mapping[str, str]) -> str:
    """``template`` with ``@@NAME@@`` replaced by text NAME, in one pass, because a text may hold such a mark too."""
    return "".join(texts[part] if place % 2 else part for place, part in enumerate(template.split("@@")))


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _embedded(record: Mapping[str, Any]) -> str:
    """The record as JSON that is safe inside HTML: without ``</script>``, ``<!--`` and characters above ASCII."""
    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _record(report: Report) -> dict[str, Any]:
    """The data for the page's script, which itself computes only counts."""
    cases = [_case_record(outcome) for outcome in report.outcomes]
    return {
        "headline": printable(headline(report)),
        "tone": _tone(report),
        "facts": [[printable(name), printable(value)] for name, value in _facts(report).items() if value],
        "limits": [[name, limit_text(value)] for name, value in report.device["limits"].items()],
        "verdicts": [{"name": verdict, "good": verdict.is_good} for verdict in Verdict],
        "skipped": [[printable(reason), count] for reason, count in report.skip_reasons.items()],
        "repro": _repro(report),
        "ops": _ordered((case["op"] for case in cases), OPERATIONS),
        "types": _ordered((case["type"] for case in cases), (*DTYPES, *_CONVERTED.values())),
        "layouts": sorted({case["layouts"] for case in cases}),
        "cases": cases,
    }


def _case_record(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    # A driver's output may hold control characters, which a page would hide or show as boxes.
    return outcome.record() | {
        "message": printable(outcome.message, has_lines=True),
        "elements": case.elements,
        "op": case.op,
        "type": case.src.dtype.name if case.src.dtype == case.dst.dtype else _CONVERTED[case.src.dtype.name],
        "layouts": f"{family(case.src)} → {family(case.dst)}",
    }


def _tone(report: Report) -> str:
    """The CSS class of the headline: a verdict (PASSED even if cases were skipped), or EARLY if the run ended early."""
    if report.bad:
        return report.bad[0].verdict
    if ended_early(report):
        return "EARLY"
    return Verdict.PASSED if Verdict.PASSED in report.counts else Verdict.SKIPPED


def _facts(report: Report) -> dict[str, str]:
    return {
        **facts(report),
        "started": report.started.isoformat(sep=" ", timespec="seconds"),
        "took": f"{report.seconds:,.1f} s",
        "command": report.command,
    }


def limit_text(value: Any) -> str:
    """The text of a device limit, or of a part of one, for a page."""
    if isinstance(value, list | tuple):
        return " x ".join(map(limit_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {limit_text(each)}" for name, each in value.items())
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _ordered(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """The distinct ``names`` in the order of ``order``, then those that are not in it, sorted."""
    present = set(names)
    return [name for name in order if name in present] + sorted(present.difference(order))


def _repro(report: Report) -> list[str]:
    """The command that reruns a case, as the two parts before and after the case's quoted line."""
    blank = Case("reorder", TensorDesc("u8", (1,)), TensorDesc("u8", (1,)))
    before, _, after = report.target.repro(blank, report.mode).partition(shlex.quote(str(blank)))
    return [before, after]


STRIDED = ("row-major", "permuted", "padded", "flipped", "interleaved")
"""Families of layouts that strides describe, including plain tags such as nhwc."""

WHOLE = ("padded sizes", "tiled", "nested tiles", "combined", "blocked")
"""Families of whole layouts, whose padding an operation writes."""

FAMILIES = (*STRIDED, *WHOLE, "view of tiles", "broadcast", "empty")
"""Layout families: a name for what is special about a tensor's layout. If several fit, the last of them counts.

row-major: packed, the last axis fastest; also a scalar. permuted: packed, the axes in another order (NHWC).
padded: the buffer has elements that no index reaches, before or between the others. flipped: a negative stride.
interleaved: the span of one axis is longer than a step of another. padded sizes: padded sizes without tiles. tiled: one
tile. nested tiles: several tiles. combined: a tile joins dimensions. blocked: a tag with blocks. view of tiles: a view
of any of these that strides cannot describe. broadcast: an axis with stride 0. empty: no elements.
"""


def family(desc: TensorDesc) -> str:
    """The family of ``desc``, one of ``FAMILIES``. Axes of size 1 are ignored.

    ``f32[2,3]{0,1}`` is permuted, ``f32[2,3]{strides=(5,1)}`` padded, ``f32[2,3]{strides=(-5,1),offset=5}`` flipped,
    ``bf16[64]{0:T(32)(2,1)}`` nested tiles.
    """
    if not desc.numel:
        return "empty"
    if desc.is_broadcast:
        return "broadcast"
    if desc.is_whole:
        return _whole_family(desc)
    return "view of tiles" if desc.strides is None else _strided_family(desc.sizes, desc.strides, desc)


def _whole_family(desc: TensorDesc) -> str:
    if desc.tag is not None:
        return "blocked"
    if any(-1 in tile for tile in desc.tiles):
        return "combined"
    return ("padded sizes", "tiled", "nested tiles")[min(len(desc.tiles), 2)]


def _strided_family(sizes: tuple[int, ...], strides: tuple[int, ...], desc: TensorDesc) -> str:
    moving = [(size, stride) for size, stride in zip(sizes, strides, strict=True) if size > 1]
    if not nested([size for size, _ in moving], [stride for _, stride in moving]):
        return "interleaved"
    if any(stride < 0 for _, stride in moving):
        return "flipped"
    if desc.is_padded:
        return "padded"
    return "row-major" if desc.is_row_major else "permuted"
