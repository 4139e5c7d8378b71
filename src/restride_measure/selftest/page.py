"""Write a selftest as one HTML page that needs no network and runs no script."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from restride.command.stopwatch import rounds_text
from restride.errors import printable
from restride_conformance.report.table import figure_text
from restride_measure.selftest.part import NOTHING
from restride_measure.selftest.speeds import call_rows, copy_speed, speed_rows, transfer_rows, ttc57_rows
from restride_measure.tuning import milliseconds

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
        "NOTES": "".join(f'<p class="note">{_text(note)}</p>' for note in _notes(record)),
        **{name.upper(): _part(record, name) for name in _PARTS},
    }
    template = enumerate((files(__package__) / "page.html").read_text(encoding="utf-8").split("@@"))
    return "".join(filled[part] if place % 2 else part for place, part in template)


def _text(value: Any) -> str:
    return html.escape(printable(str(value), has_lines=True))


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    device = record["device"] or {}
    if device:
        yield "kind", device["kind"]
        yield "driver", f"{device['driver']} {device['driver_version']}"
        yield "API", f"Vulkan {device['api_version']}"
        yield "memory", f"{device['heap_bytes'] / 2**30:.1f} GiB"
        for name, value in device["limits"].items():
            yield name.replace("_", " "), figure_text(value) + _UNITS.get(name, "")
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


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the conditions that make the times mean little."""
    if record["small"]:
        yield NOTHING
    yield from record["warnings"]


def _part(record: Mapping[str, Any], name: str) -> str:
    """A part as HTML, or the reason why it did not run."""
    found = record[name]
    if found is None:
        why = record["not_run"].get(name)
        return f"<p>not run{(why and f': {_text(why)}') or ''}</p>"
    return _PARTS[name](found)


def _copy(copy: Mapping[str, Any]) -> str:
    clock = "the device's" if copy["measure"] == "kernel" else "the host's"
    return f"<p>The device's own copy of much more than caches hold: {copy_speed(copy):.4g} GB/s by {clock} clock</p>"


def _with_bars(name: str, rows: Iterable[Sequence[str]]) -> str:
    """A table whose last column, the share of copy, has bars."""
    (caption, *units), *others = rows
    cells = [["workload", *units]]
    for *row, share in others:
        # Hidden from screen readers, because the number before it says the same.
        bar = f'<meter max="1.2" value="{share}" aria-hidden="true"></meter>'
        cells.append([*map(_text, row), f"{share} {bar}"])
    return _table(name, caption, cells)


def _speed(speed: Mapping[str, Any]) -> str:
    skipped = (f"{_text(each['name'])}: {_text(each['skipped'])}" for each in speed["workloads"] if each["skipped"])
    return _list("skipped", skipped) + _with_bars("speed", speed_rows(speed))


def _ttc57(ttc57: Mapping[str, Any]) -> str:
    return _with_bars("ttc57", ttc57_rows(ttc57))


def _transfers(transfers: Mapping[str, Any]) -> str:
    (caption, *sizes), *rows = transfer_rows(transfers)
    in_place = transfers["in_place"]
    why = "" if in_place == "yes" else f"<p>no array of the host is read in place: {_text(in_place)}</p>"
    return _table("transfers", caption, [["way", *sizes], *([_text(cell) for cell in row] for row in rows)]) + why


def _calls(calls: Mapping[str, Any]) -> str:
    (caption, *measures), *rows = call_rows(calls)
    return _table("calls", caption, [["call", *measures], *([_text(cell) for cell in row] for row in rows)])


def _large(large: Mapping[str, Any]) -> str:
    checks = ", ".join(f"{name} {'right' if not wrong else 'WRONG'}" for name, wrong in large["wrong"].items())
    return f"<p>A tensor of {large['bytes'] / 2**30:.2f} GiB: {_text(checks)}</p>"


def _cuda(cuda: Mapping[str, Any]) -> str:
    claims = (f"{_text(claim)}: {'yes' if holds else 'NO'}" for claim, holds in cuda["claims"].items())
    return f"<p>with torch {_text(cuda['torch'])}</p>{_list('claims', claims)}"


def _cases(name: str, cases: Mapping[str, Any]) -> str:
    under = f"under the Khronos validation layer ({cases['validation']})" if cases["validation"] else "no validation"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in cases["counts"].items())
    seed = f", seed {cases['seed']}" if "seed" in cases else ""
    bad = _list(
        f"bad-{name}",
        (
            f"<code>{_text(each['verdict'])} {_text(each['case'])}</code><pre>{_text(each['message'])}</pre>"
            f"<pre>{_text(each['repeat'])}</pre>"
            for each in cases["bad"]
        ),
    )
    return f"<p>{name}, {_text(under)}: {_text(counts)} of {cases['selected']}{_text(seed)}</p>{bad}"


def _kernels(kernels: Mapping[str, Any]) -> str:
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


def _installed(installed: Mapping[str, Any]) -> str:
    keys = ("subject", "status", "detail")
    rows = [keys, *([_text(each[key]) for key in keys] for each in installed["findings"])]
    return _table("installed", "as `restride doctor` finds it", rows)


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "smoke": partial(_cases, "smoke"),
    "ci": partial(_cases, "ci"),
    "copy": _copy,
    "speed": _speed,
    "ttc57": _ttc57,
    "transfers": _transfers,
    "calls": _calls,
    "large": _large,
    "cuda": _cuda,
    "kernels": _kernels,
    "installed": _installed,
}
"""The function that writes each part as HTML."""
