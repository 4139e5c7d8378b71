"""An audit as JSON: written, read again, and compared with a later one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from restride.cli.files import read_bounded
from restride.cli.process import UsageError
from restride_bench.audit.table import Model, Row, Subject
from restride_bench.audit.traffic import Traffic
from restride_measure.workloads import is_named

FORMAT, VERSION = "restride-audit", 2

MAX = 16 << 20
"""Maximum size of a JSON file in bytes; an audit of all workloads and families has half a MiB, a benchmark less."""

WORSE = 1.02
"""A figure that is worse than in a stored audit by more than this factor counts as worse."""

_FEWER_IS_BETTER = ("vgprs", "spills", "instructions", "branches", "latency", "inverse_throughput", "divisions")


def record(rows: Sequence[Row], settings: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """The audit as JSON values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": dict(settings),
        "rows": [
            {
                "workload": row.subject.name,
                "group": row.subject.group,
                "kernel": row.dispatch.kernel.shader,
                "constants": list(row.dispatch.kernel.constants),
                "groups": list(row.dispatch.kernel.groups),
                "count": row.count,
                "compiled": {family: asdict(compiled) for family, compiled in row.compiled.items()},
                "traffic": {name: _traffic_record(traffic) for name, traffic in row.traffic.items()},
            }
            for row in rows
        ],
        "model": [
            {"workload": subject.name, "group": subject.group, "device": name, **prediction._asdict()}
            for subject, devices in model.items()
            for name, prediction in devices.items()
        ],
    }


def _traffic_record(traffic: Traffic) -> dict[str, float]:
    """The fields of ``traffic``, rounded to integers because they are estimates, and both ratios."""
    counts = {name: round(value) for name, value in asdict(traffic).items()}
    return {**counts, "efficiency": round(traffic.efficiency, 4), "useful": round(traffic.useful, 4)}


def lines_of(audit: Mapping[str, Any]) -> str:
    """The JSON text of a record, one line per row: short, and a changed row is one line of a diff."""
    parts = []
    for name, value in audit.items():
        whole = _line(value)
        if isinstance(value, list):
            whole = "[\n" + ",\n".join(map(_line, value)) + "\n]"
        parts.append(f"{_line(name)}: {whole}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def read_json(path: Path, what: str, **expected: str | int) -> dict[str, Any]:
    """The members of a JSON file of ours. expected: members that tell ``what`` from other files, and their values.

    Raises:
        UsageError: it cannot be read, has more than ``MAX`` bytes, is no JSON, or is no ``what``.
    """
    content = read_bounded(path, MAX)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from error
    if not isinstance(values, dict) or any(values.get(name) != value for name, value in expected.items()):
        said = " ".join(f"{name} {value}" for name, value in expected.items())
        raise UsageError(f"{path} is no {what}, {said}")
    return values


@contextmanager
def reading(what: str, path: Path) -> Iterator[None]:
    """Turn errors inside, which a member that is missing or of another type causes, into ``UsageError``."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"the {what} {path} is damaged: {type(error).__name__}: {str(error)[:200]}") from error


def read_record(path: Path) -> dict[str, Any]:
    """Read an audit that ``lines_of`` wrote.

    Raises:
        UsageError: the file is no audit, or damaged.
    """
    content = read_json(path, "audit of `restride audit --json`", format=FORMAT, version=VERSION)
    with reading("audit", path):
        figures = _figures(content)
        "".join([*figures, *chain(*figures.values()), *map(str, dict(content["settings"]))]).encode()
    return content


def part_of(before: Mapping[str, Any], subjects: Collection[Subject], keyword: str) -> dict[str, Any]:
    """The part of an earlier record that was requested now: the rows with the keyword, or those of the same cases."""
    cases = {subject.name for subject in subjects if subject.group == "cases"}

    def is_chosen(each: Mapping[str, Any]) -> bool:
        return each["workload"] in cases if cases else is_named(keyword, each["group"], each["workload"])

    return {**before, "rows": [*filter(is_chosen, before["rows"])], "model": [*filter(is_chosen, before["model"])]}


def require_alike(before: Mapping[str, Any], settings: Mapping[str, Any], source: Path | str) -> None:
    """Raise UsageError if the other file has kernels of other sizes, or traffic of other subgroups."""
    for name in ("subgroup", "small"):
        was, now = before.get(name), settings.get(name)
        if name in settings and was != now:
            raise UsageError(f"{source} cannot be compared with: its {name} is {was}, and here it is {now}")


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], bool]:
    """One line per difference between two records, and whether a figure got worse by more than ``WORSE``.

    If the compilers differ, only the traffic is compared, and the first line says so.
    """
    compilers = [content["settings"].get("compiler") for content in (before, after)]
    is_other = None not in compilers and compilers[0] != compilers[1]
    old, new = (_figures(content, with_code=not is_other) for content in (before, after))
    lines, is_worse = [], False
    if is_other:
        lines.append(f"compiled by {compilers[0]!r:.60}, now by {compilers[1]!r:.60}: only the traffic is compared")
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new or name not in old:
            lines.append(f"{'gone' if name in old else 'new'}: {name}")
            continue
        for figure, was in old[name].items():
            now = new[name].get(figure, was)
            if now == was:
                continue
            is_better = now < was if figure.split(",")[0] in _FEWER_IS_BETTER else now > was
            is_bad = not is_better and abs(now - was) > (WORSE - 1) * abs(was)
            is_worse = is_worse or is_bad
            lines.append(
                f"{'worse' if is_bad else 'better' if is_better else 'alike'}: {name}: {figure} {was:g} -> {now:g}"
            )
    return [*lines, *([] if lines[is_other:] else ["nothing changed"])], is_worse


def _figures(content: Mapping[str, Any], *, with_code: bool = True) -> dict[str, dict[str, float]]:
    """The figures to compare, by the name of the row: group, workload, kernel, and a number if there are several.

    with_code: include figures of the compiled code, and the model's predictions, which belong to the first row of a
    workload.
    """
    figures: dict[str, dict[str, float]] = {}
    same: Counter[str] = Counter()
    first: dict[tuple[str, str], str] = {}
    for row in content["rows"]:
        name = f"{row['group']}: {row['workload']}: {row['kernel']}"
        same[name] += 1
        if same[name] > 1:
            name = f"{name} {same[name]}"
        figures[name] = {f"efficiency of {way}": _figure(each, "efficiency") for way, each in row["traffic"].items()}
        for family, compiled in row["compiled"].items() if with_code else ():
            figures[name] |= {f"{one}, {family}": _figure(compiled, one) for one in (*_FEWER_IS_BETTER, "waves")}
        first.setdefault((row["group"], row["workload"]), name)
    for each in content["model"] if with_code else ():
        name = first[each["group"], each["workload"]]
        figures[name][f"share of copy on the {each['device']} (model)"] = _figure(each, "share")
    return figures


def _figure(record: Mapping[str, Any], name: str) -> float:
    value = record[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is no number: {value!r:.40}")
    return float(value)
