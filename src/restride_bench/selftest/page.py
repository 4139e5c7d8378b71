"""Write a selftest as one HTML page that needs no network and runs no script."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from restride_bench.report import rounds_text
from restride_bench.selftest.parts import NOTHING, speed_rows
from restride_bench.tuning import milliseconds
from restride_conformance.report import printable
from restride_conformance.report.page import fill_template, limit_text

_UNITS = {"max_buffer_range": " bytes", "offset_alignment": " bytes", "max_group_count": " work groups"}


def page(record: Mapping[str, Any]) -> str:
    """The HTML page of a record that ``nameless`` has rewritten."""
    device, problems = record["device"], record["problems"]
    name = "no device" if device is None else device["name"]
    filled = {
        "TITLE": _text(f"restride selftest: {name}"),
        "STYLE": (files("restride_conformance.report") / "page.css").read_text(encoding="utf-8"),
        "DEVICE": _text(name),
        "TONE": "FAILED" if problems else "PASSED",
        "HEADLINE": _text(f"{len(problems)} problem{'s' * (len(problems) > 1)}" if problems else "no problem"),
        "PROBLEMS": _list("problems", (f"<pre>{_text(each['message'])}</pre>" for each in problems)),
        "FACTS": "".join(f"<dt>{_text(key)}</dt><dd>{_text(value)}</dd>" for key, value in _facts(record)),
        "SPEED": _speed(record),
        "CASES": _cases(record["cases"]),
        "KERNELS": _kernels(record["kernels"]),
        "INSTALLED": _installed(record["installed"]),
    }
    return fill_template((files(__package__) / "page.html").read_text(encoding="utf-8"), filled)


def _text(value: Any) -> str:
    return html.escape(printable(str(value)))


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    device = record["device"] or {}
    if device:
        yield "kind", device["kind"]
        yield "driver", f"{device['driver']} {device['driver_version']}"
        yield "API", f"Vulkan {device['api_version']}"
        yield "memory", f"{device['heap_bytes'] / 2**30:.1f} GiB"
        for name, value in device["limits"].items():
            yield name.replace("_", " "), limit_text(value) + _UNITS.get(name, "")
    yield "system", record["system"]
    yield "processor", record["processor"]
    yield "versions", ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    yield "date", record["date"]
    yield "took", f"{record['seconds']:.0f} s"


def _list(name: str, items: Iterable[str]) -> str:
    """An HTML list of items; empty text if there are none."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return lines and f'<ul id="{name}">{lines}</ul>'


def _table(name: str, caption: str, rows: Iterable[Sequence[str]]) -> str:
    """Rows of HTML cells, the heading first, as a table in a scrollable region that the keyboard can reach."""
    heading, *others = rows
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heading)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>' for row in others
    )
    return (
        f'<div class="scroll" id="{name}" tabindex="0" role="region" aria-labelledby="{name}-title">'
        f"<table><caption>{_text(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _speed(record: Mapping[str, Any]) -> str:
    speed = record["speed"]
    if speed is None:
        return "<p>not measured</p>"
    notes = [*([NOTHING] if record["small"] else []), *speed["warnings"]]
    notes += [f"{each['name']}: {each['skipped']}" for each in speed["workloads"] if each["skipped"]]
    (caption, *units), *rows = speed_rows(dict(speed))
    cells = [["workload", *units]]
    for *row, share in rows:
        # Hidden from screen readers, because the number before it says the same.
        bar = f'<meter max="1.2" value="{share}" aria-hidden="true"></meter>'
        cells.append([*map(_text, row), f"{share} {bar}"])
    return "".join(f'<p class="note">{_text(note)}</p>' for note in notes) + _table("speed", caption, cells)


def _cases(cases: Mapping[str, Any] | None) -> str:
    if cases is None:
        return "<p>not run</p>"
    under = (
        f"under the Khronos validation layer ({cases['validation']})" if cases["validation"] else "without validation"
    )
    counts = ", ".join(f"{count} {verdict}" for verdict, count in cases["counts"].items())
    bad = _list(
        "bad",
        (
            f"<code>{_text(each['verdict'])} {_text(each['case'])}</code><pre>{_text(each['message'])}</pre>"
            for each in cases["bad"]
        ),
    )
    return f"<p>{_text(cases['catalogue'])}, {_text(under)}: {_text(counts)}</p>{bad}"


def _kernels(kernels: Mapping[str, Any] | None) -> str:
    if kernels is None:
        return "<p>not measured</p>"
    rows = [["choice", "candidate", "ms", "remark"]]
    for choice, candidates in kernels["seconds"].items():
        for candidate, seconds in candidates.items():
            words = [word for word in ("used", "usual", "faster") if str(kernels[word][choice]) == str(candidate)]
            total = milliseconds(sum(seconds.values()))
            rows.append([_text(choice), _text(candidate), total, _text(", ".join(words))])
    caption = (
        f"by the clock of the {kernels['clock']}, {rounds_text(kernels['rounds'])}; used: in use on this machine; "
    )
    caption += "usual: for devices of this kind; faster: what `restride tune` would store (this run stored nothing)"
    return _table("kernels", caption, rows)


def _installed(installed: Mapping[str, Any] | None) -> str:
    if installed is None:
        return "<p>not looked at</p>"
    keys = ("subject", "status", "detail")
    rows = [keys, *([_text(each[key]) for key in keys] for each in installed["findings"])]
    return _table("installed", "as `restride doctor` finds it", rows)
