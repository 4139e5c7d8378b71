"""Write a record as one HTML page that needs no network and no script: pictures and style are in the file.

What is not right comes first, then tables, then the run. The cases of a test are counted by operation, element types
and layout family; those that passed are folded.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from restride.dtypes import DTYPES
from restride.layout import TensorDesc
from restride.layout.equation import nested
from restride_conformance.case import OPERATIONS, Case
from restride_conformance.record import Outcome, Speed, Verdict
from restride_conformance.report import Record
from restride_conformance.report.file import write_text
from restride_conformance.report.summary import ended_early, facts, headline, op_of, speed_text
from restride_conformance.report.table import Table, figure_text, tables, text_in_page

SHOWN = 100
"""Number of outcomes that are not right whose details are open; the details of further ones are folded."""
SLOWEST, REASONS = 10, 15

_CONVERTED = {name: f"{name} to others" for name in DTYPES}
"""For each source type, the row of the page's matrix for cases whose types differ; a row per pair would make 210."""


def write_page(record: Record, path: Path) -> None:
    """Write the record as a page, as ``write_text`` does."""
    write_text(path, page(record))


def page(record: Record) -> str:
    """The record as HTML."""
    name, device = f"restride {record.kind}", (record.device or {}).get("name", "no device")
    known = facts(record)
    shown = [device, known["driver"], known["shader under test"] and f"shader {known['shader under test']}"]
    filled = {
        "TITLE": text_in_page(f"{name}: {device}"),
        "STYLE": _part("page.css"),
        "NAME": text_in_page(name),
        "DEVICE": text_in_page(", ".join(filter(None, shown))),
        "TONE": _tone(record),
        "HEADLINE": text_in_page(headline(record)),
        "SECTIONS": "\n".join(_sections(record)),
    }
    # The marks are replaced in one pass, because a text may hold a mark too.
    parts = enumerate(_part("page.html").split("@@"))
    return "".join(filled[part] if place % 2 else part for place, part in parts)


def _part(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _tone(record: Record) -> str:
    """The CSS class of the headline: a verdict (PASSED even if cases were skipped), or EARLY if the run ended early."""
    if record.bad:
        return _class(record.bad[0])
    if record.problems:
        return Verdict.FAILED
    if ended_early(record):
        return "EARLY"
    return Verdict.PASSED if Verdict.PASSED in record.counts else Verdict.SKIPPED


def _class(outcome: Outcome) -> str:
    """The CSS class of an outcome: its verdict, or FAILED if it passes unexpectedly."""
    return outcome.verdict if outcome.is_good or not outcome.verdict.is_good else Verdict.FAILED


def _sections(record: Record) -> Iterator[str]:
    problems = (f"<pre>{text_in_page(each['message'])}</pre>" for each in record.problems)
    yield _section("Problems", _list(problems))
    bad = (_details(record, outcome, is_open=place < SHOWN) for place, outcome in enumerate(record.bad))
    yield _section("Not right: the worst and smallest first", _list(bad, "cases"))
    known = (_details(record, outcome, is_open=False) for outcome in record.outcomes if outcome.is_known)
    yield _section("Not right, as expected", _list(known, "cases"))
    is_test = record.kind == "test"
    notes = (f'<p class="note">{text_in_page(note)}</p>' for note in (*record.warnings, *record.notes))
    cases = {outcome.case: Case.parse(outcome.case) for outcome in record.outcomes} if is_test else {}
    found = _matrices(record, cases) if is_test else tables(record.outcomes, record.options)
    yield _section("" if is_test else "Figures", "".join([*notes, *(table.html() for table in found)]))
    yield _section("What took no part", _pairs(record.not_run))
    yield _section("Run", _run(record))
    if is_test:
        ran = [outcome for outcome in record.outcomes if outcome.verdict is not Verdict.SKIPPED]
        slowest = sorted(ran, key=lambda outcome: -outcome.seconds)[:SLOWEST]
        yield _section("Slowest cases, with filling, reference and building pipelines", _list(map(_line, slowest)))
        reasons = [f"{count:,}: {text_in_page(reason)}" for reason, count in record.skip_reasons.items()]
        more = [f"... and {len(reasons) - REASONS} more reasons"] if len(reasons) > REASONS else []
        yield _section("Why cases were skipped", _list([*reasons[:REASONS], *more]))
        yield _section("Cases", "".join(_folded(record, cases)))


def _section(title: str, content: str) -> str:
    head = f"<h2>{text_in_page(title)}</h2>" if title else ""
    return content and f"<section>{head}{content}</section>"


def _list(items: Iterable[str], kind: str = "lines") -> str:
    """An HTML list of items; empty text if there are none."""
    lines = "".join(f"<li>{item}</li>" for item in items)
    return lines and f'<ul class="{kind}">{lines}</ul>'


def _pairs(values: Mapping[str, str]) -> str:
    pairs = "".join(f"<dt>{text_in_page(name)}</dt><dd>{text_in_page(value)}</dd>" for name, value in values.items())
    return pairs and f"<dl>{pairs}</dl>"


def _run(record: Record) -> str:
    """The facts of the run, and the limits of the device."""
    known = {
        **facts(record),
        "started": record.started.isoformat(sep=" ", timespec="seconds"),
        "took": f"{record.seconds:,.1f} s",
        "command": record.command,
    }
    shown = _pairs({name: value for name, value in known.items() if value})
    limits = _pairs({name: figure_text(value) for name, value in (record.device or {}).get("limits", {}).items()})
    return shown + (limits and f"<details><summary>Limits of the device</summary>{limits}</details>")


def _line(outcome: Outcome) -> str:
    """An outcome without its details."""
    speed = f", {text_in_page(' '.join(speed_text(Speed(**outcome.figures)).split()))}" if outcome.figures else ""
    return f"<code>{text_in_page(outcome.case)}</code> {_time(outcome.seconds)}{speed}"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def _details(record: Record, outcome: Outcome, *, is_open: bool) -> str:
    """An outcome with its reduced case, its message, the command that reruns it, and its pictures."""
    parts = []
    if lead := record.lead(outcome):
        reduced, command, before = map(text_in_page, lead)
        parts.append(f'<pre class="message">{reduced}</pre><pre class="repro"><code>{command}</code></pre>')
        parts.append(f'<pre class="message">{before}</pre>')
    parts += [f'<pre class="message">{text_in_page(outcome.reason)}</pre>'] if outcome.reason else []
    if record.kind == "test":
        parts.append(f'<pre class="repro"><code>{text_in_page(record.repro(outcome))}</code></pre>')
    parts += [f'<div class="pictures">{"".join(_pictures(outcome))}</div>'] if outcome.pictures or outcome.wrong else []
    head = f'<span class="verdict">{outcome.state}</span> <code>{text_in_page(outcome.case)}</code>'
    summary = f"<summary>{head} {_time(outcome.seconds)}</summary>"
    body = f'<div class="body">{"".join(parts)}</div>'
    return f'<details class="{_class(outcome)}"{" open" * is_open}>{summary}{body}</details>'


def _pictures(outcome: Outcome) -> Iterator[str]:
    if outcome.wrong:
        kept = "amber if they are as before the run"
        yield _picture(outcome.wrong, f"wrong elements in red, {kept}; the last axis goes across, all others down")
    if outcome.pictures is not None:
        gain = outcome.pictures.gain
        factor = f"{gain:,}" if gain < 1e6 else f"2^{gain.bit_length() - 1}"
        yield _picture(outcome.pictures.expected, "expected")
        yield _picture(outcome.pictures.actual, "actual")
        yield _picture(outcome.pictures.difference, f"difference x {factor}")


def _picture(png: bytes, name: str) -> str:
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return f'<figure><img src="{source}" alt="{name}"><figcaption>{name}</figcaption></figure>'


# The cases of a test.


def _matrices(record: Record, cases: Mapping[str, Case]) -> Iterator[Table]:
    """Yield tables of how many cases passed, with a column for each operation: by element type, and by layouts."""
    types = (*DTYPES, *_CONVERTED.values())
    for head, title, name_of, order in (
        ("type", "Operation and element type", _type, types),
        ("layouts", "Operation and layout, source → destination", _layouts, ()),
    ):
        yield _matrix(head, title, [(name_of(cases[outcome.case]), outcome) for outcome in record.outcomes], order)


def _matrix(head: str, title: str, named: Sequence[tuple[str, Outcome]], order: Sequence[str]) -> Table:
    cells: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for name, outcome in named:
        cells[name, op_of(outcome)].append(outcome)
    ops = _ordered((op for _, op in cells), OPERATIONS)
    rows = [
        [name, *(_counts(cells.get((name, op), ())) for op in ops)] for name in _ordered((n for n, _ in cells), order)
    ]
    return Table(title, [[head, *ops], *rows], "✓ passed, ✗ not right, of those that ran")


def _counts(outcomes: Sequence[Outcome]) -> str:
    """The number of outcomes that passed, or that are not right of those that ran; then that of each other verdict."""
    counts = {verdict: sum(each.verdict is verdict for each in outcomes) for verdict in reversed(Verdict)}
    bad = sum(not each.verdict.is_good for each in outcomes)
    passed, ran = counts.pop(Verdict.PASSED), len(outcomes) - counts[Verdict.SKIPPED]
    others = [f"{count:,} {verdict.lower()}" for verdict, count in counts.items() if count and verdict != "FAILED"]
    first = [f"✗ {bad:,} of {ran:,}"] if bad else [f"✓ {passed:,}"] if passed else []
    return ", ".join([*first, *others])


def _folded(record: Record, cases: Mapping[str, Case]) -> Iterator[str]:
    """Yield the cases that are right by operation and element type."""
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in record.outcomes:
        if outcome.is_good and outcome.verdict.is_good:
            groups[op_of(outcome), _type(cases[outcome.case])].append(outcome)
    for (op, type_), outcomes in groups.items():
        head = f"<summary>{op}, {type_}: {_counts(outcomes)}</summary>"
        yield f"<details>{head}{_list(map(_line, outcomes))}</details>"


def _type(case: Case) -> str:
    src = case.src.dtype
    return src.name if src == case.dst.dtype else _CONVERTED[src.name]


def _layouts(case: Case) -> str:
    return f"{family(case.src)} → {family(case.dst)}"


def _ordered(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """The distinct ``names`` in the order of ``order``, then those that are not in it, sorted."""
    present = set(names)
    return [name for name in order if name in present] + sorted(present.difference(order))


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
