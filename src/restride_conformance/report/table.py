"""Tables of a record: rows of texts, made of its outcomes, printed as lines, Markdown or HTML."""

from __future__ import annotations

import html
import math
import statistics
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from types import MappingProxyType
from typing import Any, Literal, get_args

from restride.command.stopwatch import rounds_text
from restride.drawing.explain import columns
from restride.errors import printable
from restride_conformance.record import Outcome, Verdict

MAX_DIGITS = 6  # digits after the decimal point


def number_text(value: float) -> str:
    """A number with three significant digits, or all before the point if there are more: 0.0123, 1.23, 12,345."""
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:,.{min(max(digits, 0), MAX_DIGITS)}f}"


def figure_text(value: Any) -> str:
    """The text of a figure, a limit or an option; of several numbers, such as a number of work groups, a product."""
    if isinstance(value, list | tuple):
        return " x ".join(map(figure_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {figure_text(each)}" for name, each in value.items())
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return number_text(value) if isinstance(value, float) else str(value)


# The figures of a row that was measured.

Measure = Literal["resident", "kernel", "numpy", "processor"]
"""A name of figures that hold the seconds of a call by column: this library's first, then those of other columns."""
MEASURES: tuple[Measure, ...] = get_args(Measure)
"""resident: the call and the wait, with the tensors already on the device. kernel: the device's own time. numpy: from
numpy array to numpy array. processor: the processor time of all threads of the process during a resident call."""

COPY = "copy"
"""The column of the device's own copy of as many bytes."""


def median_seconds(outcome: Outcome, measure: str, column: str | None = None) -> float | None:
    """The median of a column's seconds, by default the first column's; None if it was not measured."""
    found: Mapping[str, float | Sequence[float]] = outcome.figures.get(measure, {})
    seconds = found.get(next(iter(found), "") if column is None else column)
    return statistics.median(seconds) if isinstance(seconds, Sequence) else seconds


def call_seconds(outcome: Outcome) -> float | None:
    """The seconds of a call, by the first measure that was taken; None if nothing was measured."""
    single = outcome.figures.get("seconds")
    measured = (median_seconds(outcome, measure) for measure in MEASURES)
    return single if isinstance(single, float) else next(filter(None, measured), None)


@dataclass(frozen=True)
class Table:
    """A table of texts. rows: the heads first; a row of one cell is the heading of the rows after it.

    note: a line below the title. right: the columns of numbers.
    """

    title: str
    rows: Sequence[Sequence[str]]
    note: str = ""
    right: Container[int] = ()

    def __str__(self) -> str:
        """The lines for the terminal, with aligned columns."""
        lines = iter(columns([row for row in self.rows if len(row) > 1], self.right))
        own = [row[0] if len(row) == 1 else next(lines) for row in self.rows]
        return "\n".join([*filter(None, (self.title, self.note)), *own])

    def markdown(self) -> str:
        """The rows as Markdown; a cell must not hold a vertical bar."""
        heads, *others = self.rows
        return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *others))

    def html(self) -> str:
        """The rows as HTML, in a region that scrolls and that the keyboard reaches."""
        heads, *others = self.rows
        body = (
            f'<tr><th scope="rowgroup" colspan="{len(heads)}">{text_in_page(row[0])}</th></tr>'
            if len(row) == 1
            else f'<tr><th scope="row">{text_in_page(row[0].strip())}</th>{"".join(map(_cell, row[1:]))}</tr>'
            for row in others
        )
        head = "".join(f'<th scope="col">{text_in_page(name)}</th>' for name in heads)
        caption = text_in_page("; ".join(filter(None, (self.title, self.note))))
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{text_in_page(self.title)}"><table>'
            f"<caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        )


def text_in_page(value: object) -> str:
    """A text as HTML; a driver's words may hold control characters, which a page would hide or show as boxes."""
    return html.escape(printable(str(value), has_lines=True))


_SIGNS = {"✓": "PASSED", "✗": "FAILED"}


def _cell(text: str) -> str:
    sign = _SIGNS.get(text[:1])
    return f'<td class="{sign}">{text_in_page(text)}</td>' if sign else f"<td>{text_in_page(text)}</td>"


# The tables of what was measured.

TITLES = {
    "kernel": "kernel: what the device itself says it took",
    "resident": "resident: the call and the wait, tensors on the device, destination there",
    "numpy": "numpy: numpy array in, numpy array out",
    "processor": "processor: of a resident call, the processor time of all threads",
}


def tables(outcomes: Sequence[Outcome], options: Mapping[str, Any] = MappingProxyType({})) -> Iterator[Table]:
    """Yield a table for each measure, with a row for each outcome, then one for each group with other figures.

    options: of the run; its ``measures``, ``peers``, ``peak`` and ``repeat`` say how tables look.
    """
    for measure in options.get("measures", MEASURES):
        measured = [outcome for outcome in outcomes if median_seconds(outcome, measure) is not None]
        if measured:
            yield _speeds(measured, measure, options)
    others = [outcome for outcome in outcomes if call_seconds(outcome) is None]
    for group, members in groupby(others, lambda outcome: outcome.group):
        yield _figures(group, list(members))


def _speeds(measured: Sequence[Outcome], measure: str, options: Mapping[str, Any]) -> Table:
    """Seconds, speed, share of the device's own copy, and the ratios to other columns; ``own``: to ``_rival``."""
    known = options.get("peers", {})
    peers = [name for name in known if any(name in outcome.figures[measure] for outcome in measured)]
    rivals = [_rival(outcome, measure, known) for outcome in measured]
    firsts = [next(iter(outcome.figures[measure])) for outcome in measured]
    ours, others = next((name for name in firsts if name != COPY), COPY), [*(["own"] if any(rivals) else []), *peers]
    has_goals = measure == MEASURES[0] and any("goals" in outcome.figures for outcome in measured)
    peak = options.get("peak") if measure == "kernel" else None  # a call takes more than memory traffic
    shares = ["of copy", *(["of peak"] if peak else [])]
    heads = ["workload", "ms", "GB/s", *shares, *(f"/{name}" for name in others), *(["goals"] if has_goals else [])]
    rows: list[Sequence[str]] = [heads]
    for group, each in groupby(zip(measured, rivals, strict=True), lambda pair: pair[0].group):
        rows += [[group]] if group else []
        for outcome, rival in each:
            seconds = median_seconds(outcome, measure) or 0.0
            share = ratio(outcome, measure, COPY)
            ratios = (ratio(outcome, measure, rival if name == "own" else name) for name in others)
            speed = outcome.figures.get("bytes", 0) / seconds / 1e9 if seconds else None
            of_peak = [speed and speed / peak] if peak else []
            numbers = [speed, 1 / share if share else None, *of_peak, *ratios]
            row = [
                f"  {outcome.case}",
                f"{1e3 * seconds:.3f}",
                *map(_ratio_text, numbers),
                *([_goals_text(outcome)] if has_goals else []),
            ]
            rows.append(row)
    rounds = f"; {rounds_text(options['repeat'])}" if "repeat" in options else ""
    note = f"useful GB/s, share of the device's own copy, and {ours} / other: below 1 {ours} is faster"
    return Table(f"{TITLES[measure]}{rounds}", rows, note, range(1, 3 + len(shares) + len(others)))


def ratio(outcome: Outcome, measure: str, column: str | None) -> float | None:
    """The first column's seconds over another's; None if one of them was not measured."""
    ours, theirs = median_seconds(outcome, measure), column and median_seconds(outcome, measure, column)
    return ours / theirs if ours and theirs else None


def _rival(outcome: Outcome, measure: str, peers: Container[str]) -> str | None:
    """The column that is neither this library, nor the device's own copy, nor another library."""
    _, *others = outcome.figures[measure]
    return next((name for name in others if name != COPY and name not in peers), None)


def _goals_text(outcome: Outcome) -> str:
    goals: Mapping[str, Mapping[str, Any]] = outcome.figures.get("goals", {})
    return "; ".join(f"{goal}: {'met' if how['met'] else 'MISSED'}" for goal, how in goals.items())


def _ratio_text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _figures(group: str, outcomes: Sequence[Outcome]) -> Table:
    """A table of outcomes: figures by name, but no lists of a figure per round; verdicts and messages, if any."""
    found = chain.from_iterable(outcome.figures.items() for outcome in outcomes)
    names = list(dict.fromkeys(name for name, value in found if not isinstance(value, list)))
    has_verdicts = not names or any(outcome.verdict is not Verdict.PASSED for outcome in outcomes)
    more = [*(["verdict"] if has_verdicts else []), *(["message"] if any(each.message for each in outcomes) else [])]
    rows = [["name", *names, *more]]
    for outcome in outcomes:
        own = {**outcome.figures} | ({"goals": _goals_text(outcome)} if "goals" in outcome.figures else {})
        figures = ["" if (value := own.get(name)) is None else figure_text(value) for name in names]
        rows.append([outcome.case, *figures, *(str(getattr(outcome, name)) for name in more)])
    numbers = (name for name in names if all(_is_number(outcome.figures.get(name)) for outcome in outcomes))
    return Table(group, rows, right=[1 + names.index(name) for name in numbers])


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)
