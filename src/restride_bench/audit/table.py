"""The audit of a workload: a row for each kernel, as compiled for each family, with its memory traffic.

A second table has a line for each workload: its time on GPUs by the model of ``restride_bench.audit.roofline``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from restride.cli.process import UsageError
from restride.drawing.explain import columns
from restride.kernel import Run
from restride_bench.audit.compiler import FAMILIES, Compiled
from restride_bench.audit.recording import Dispatch, recorded, recorded_case
from restride_bench.audit.roofline import Device, Prediction, Work, predicted
from restride_bench.audit.traffic import Traffic
from restride_bench.workloads import Workload
from restride_conformance import Case
from restride_conformance.run.measure import useful_bytes

FORMAT, VERSION = "restride-audit", 2

WORSE = 1.02
"""A figure that is worse than in a stored audit by more than this factor counts as worse."""

_FEWER_IS_BETTER = ("vgprs", "spills", "instructions", "branches", "latency", "inverse_throughput", "divisions")


@dataclass(frozen=True)
class Subject:
    """A workload of the benchmark, or a conformance case, that is audited.

    name, group: as in the benchmark; for a case its line and "cases".
    useful: bytes of the elements that must be read and written. itemsize: bytes of an element of the result.
    copied: bytes that the device's own copies read and write.
    """

    name: str
    group: str
    useful: int
    itemsize: int
    copied: int = 0


@dataclass
class Row:
    """One dispatch of a subject; ``count`` equal ones share a row.

    compiled: by family.
    traffic: by "load", "store" and "tables". turns: how often loops turn. moved: bytes between memory and the last
        cache, by device. If the dispatch was not traced, ``traffic`` and ``moved`` are empty and ``turns`` is 1.
    """

    subject: Subject
    dispatch: Dispatch
    count: int = 1
    compiled: dict[str, Compiled] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    turns: float = 1.0
    moved: dict[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """Work groups of one dispatch of the row."""
        return math.prod(self.dispatch.kernel.groups)

    def work(self, device: Device) -> Work:
        """One dispatch of the row, as input for the model."""
        compiled = self.compiled[device.family]
        return Work(self.groups * compiled.local_size, compiled, self.traffic, self.moved[device.name], self.turns)


def workload_rows(workload: Workload) -> list[Row]:
    """The rows of a workload."""
    return _rows(
        Subject(workload.name, workload.group, workload.nbytes, workload.result_dtype.itemsize), recorded(workload)
    )


def case_rows(case: Case) -> list[Row]:
    """The rows of a conformance case."""
    return _rows(Subject(str(case), "cases", useful_bytes(case), case.dst.dtype.itemsize), recorded_case(case))


def _rows(subject: Subject, submitted: Sequence[Dispatch | Run]) -> list[Row]:
    """One row for equal dispatches; the device's own copies have no row."""
    rows: dict[tuple[Any, ...], Row] = {}
    subject = replace(subject, copied=sum(2 * each.nbytes for each in submitted if isinstance(each, Run)))
    for dispatch in submitted:
        if isinstance(dispatch, Dispatch):
            kernel = dispatch.kernel
            key = kernel.shader, kernel.constants, kernel.groups
            rows.setdefault(key, Row(subject, dispatch, 0)).count += 1
    return list(rows.values())


def predictions(rows: Sequence[Row], devices: Sequence[Device]) -> dict[Subject, dict[str, Prediction]]:
    """The model's prediction for each subject on each device; only subjects whose dispatches were all traced."""
    of_subjects: dict[Subject, list[Row]] = {}
    for row in rows:
        of_subjects.setdefault(row.subject, []).append(row)
    return {
        subject: {
            device.name: predicted(
                device,
                [row.work(device) for row in dispatches for _ in range(row.count)],
                subject.useful,
                subject.copied,
            )
            for device in devices
        }
        for subject, dispatches in of_subjects.items()
        if all(device.name in row.moved for row in dispatches for device in devices)
    }


def text(rows: Sequence[Row], family: str, missed: Sequence[Sequence[str]]) -> str:
    """The table of a family. missed: the goals that each row misses; empty if this family has no goals."""
    heads = ["workload", "kernel", "invocations", "waves", "VGPRs", "spills", "LDS", "instr.", "branches"]
    heads += ["instr./B", "cycles", "latency", "div.", "loads and stores by bytes", "load", "store"]
    heads += ["missed"] if any(missed) else []
    cells = [heads]
    for place, row in enumerate(rows):
        name = "" if place and rows[place - 1].subject == row.subject else row.subject.name
        cells.append(
            [name, *_cells(row, row.compiled[family]), *(", ".join(each) for each in missed[place : place + 1])]
        )
    card = FAMILIES.get(family, "")
    return "\n".join([f"{family}{f' ({card})' if card else ''}", *columns(cells, right=range(2, 13))])


def _cells(row: Row, compiled: Compiled) -> list[str]:
    kernel = row.dispatch.kernel
    invocations = row.count * row.groups * compiled.local_size
    written = sum(binding.nbytes for binding in kernel.bindings if binding.writes) * row.count
    per_byte = compiled.instructions * invocations / max(written, 1)
    accesses = [f"{count} {name}" for name, count in compiled.memory.items()]
    return [
        kernel.shader,
        f"{invocations:,}",
        *(str(value) for value in (compiled.waves, compiled.vgprs, compiled.spills, compiled.lds_bytes)),
        str(compiled.instructions),
        str(compiled.branches),
        f"{per_byte:.2f}",
        str(compiled.inverse_throughput),
        str(compiled.latency),
        str(compiled.divisions),
        ", ".join(accesses),
        *(_efficiency(row.traffic.get(name)) for name in ("load", "store")),
    ]


def _efficiency(traffic: Traffic | None) -> str:
    return "" if traffic is None else f"{traffic.efficiency:.2f} ({traffic.useful:.2f})"


def predicted_text(
    predictions: Mapping[Subject, Mapping[str, Prediction]],
    devices: Sequence[Device],
    measured: Mapping[Subject, Measured],
) -> str:
    """A table of the model's prediction for each subject, beside the measured time where there is one."""
    heads = ["workload"]
    for device in devices:
        heads += [device.name, "us", "of copy", "limit"]
    heads += ["measured us", "of copy", "model / measured"] if measured else []
    cells = [heads]
    for subject, by_device in predictions.items():
        cells.append([subject.name])
        for device in devices:
            seconds, share, limit = by_device[device.name]
            cells[-1] += ["model", f"{1e6 * seconds:.1f}", f"{share:.2f}", limit]
        if subject in measured:
            name, seconds, share = measured[subject]
            ratio = by_device[name].seconds / seconds
            cells[-1] += [f"{1e6 * seconds:.1f}", f"{share:.2f}", f"{ratio:.2f}"]
    right = [place for place, head in enumerate(heads) if head in {"us", "of copy", "measured us", "model / measured"}]
    return "\n".join(["by the model, not measured: see docs/benchmarks/audit.md", *columns(cells, right=right)])


class Measured(NamedTuple):
    """A measurement of `restride bench` on one device: seconds, and the speed as a share of the device's copy."""

    device: str
    seconds: float
    share: float


def record(
    rows: Sequence[Row], settings: Mapping[str, Any], predictions: Mapping[Subject, Mapping[str, Prediction]]
) -> dict[str, Any]:
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
            for subject, devices in predictions.items()
            for name, prediction in devices.items()
        ],
    }


def _traffic_record(traffic: Traffic) -> dict[str, float]:
    """The fields, which are estimates, rounded to integers, and both ratios."""
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


def read_record(content: Any, source: str) -> dict[str, Any]:
    """Check that ``content`` is a result of ``record`` and return it.

    Raises:
        UsageError: it is not, or its rows are damaged; the message names ``source``.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
        raise UsageError(f"{source} is no audit of `restride audit --json`, format {FORMAT} version {VERSION}")
    try:
        figures = _figures(content)
        "".join([*figures, *chain(*figures.values()), *map(str, dict(content["settings"]))]).encode()
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UsageError(f"the audit {source} is damaged: {type(error).__name__}: {str(error)[:200]}") from error
    return content


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], bool]:
    """One line per difference between two records, and whether a figure got worse by more than ``WORSE``."""
    old, new = _figures(before), _figures(after)
    lines, is_worse = [], False
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
    return lines, is_worse


def _figures(content: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The figures to compare, by the name of the row: group, workload, kernel, and a number if there are several.

    The model's prediction for a workload is among the figures of its first row.
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
        for family, compiled in row["compiled"].items():
            figures[name] |= {f"{one}, {family}": _figure(compiled, one) for one in (*_FEWER_IS_BETTER, "waves")}
        first.setdefault((row["group"], row["workload"]), name)
    for each in content["model"]:
        name = first[each["group"], each["workload"]]
        figures[name][f"share of copy on the {each['device']} (model)"] = _figure(each, "share")
    return figures


def _figure(record: Mapping[str, Any], name: str) -> float:
    value = record[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is no number: {value!r:.40}")
    return float(value)
