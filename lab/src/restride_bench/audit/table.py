"""The audit of a workload: a row for each kernel, as compiled for each family, with its memory traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from restride.drawing.explain import columns
from restride.kernel import Run
from restride_bench.audit.compiler import Compiled
from restride_bench.audit.gpus import FAMILIES
from restride_bench.audit.recording import Dispatch, record_case, record_workload
from restride_bench.audit.roofline import Device, Prediction, Work
from restride_bench.audit.traffic import Traffic
from restride_conformance import Case
from restride_conformance.run.measure import useful_bytes
from restride_measure.workloads import Workload


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


Model: TypeAlias = Mapping[Subject, Mapping[str, Prediction]]
"""The model's predictions for each subject, by the name of the device."""


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
        Subject(workload.name, workload.group, workload.nbytes, workload.result_dtype.itemsize),
        record_workload(workload),
    )


def case_rows(case: Case) -> list[Row]:
    """The rows of a conformance case."""
    return _rows(Subject(str(case), "cases", useful_bytes(case), case.dst.dtype.itemsize), record_case(case))


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


def text(rows: Sequence[Row], family: str, missed: Sequence[Sequence[str]]) -> str:
    """The table of a family. missed: the goals that each row misses; empty if this family has no goals."""
    heads = ["workload", "kernel", "invocations", "groups", "waves", "VGPRs", "spills", "LDS", "instr./B"]
    heads += ["branches/B", "cycles", "latency", "div.", "loads and stores by bytes", "load", "store"]
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
    groups = row.count * row.groups
    invocations = groups * compiled.local_size
    written = max(sum(binding.nbytes for binding in kernel.bindings if binding.writes) * row.count, 1)
    accesses = [f"{count} {name}" for name, count in compiled.memory.items()]
    return [
        kernel.shader,
        f"{invocations:,}",
        f"{groups:,}",
        *(str(value) for value in (compiled.waves, compiled.vgprs, compiled.spills, compiled.lds_bytes)),
        *(f"{count * invocations / written:.2f}" for count in (compiled.instructions, compiled.branches)),
        str(compiled.inverse_throughput),
        str(compiled.latency),
        str(compiled.divisions),
        ", ".join(accesses),
        *(_efficiency(row.traffic.get(name)) for name in ("load", "store")),
    ]


def _efficiency(traffic: Traffic | None) -> str:
    return "" if traffic is None else f"{traffic.efficiency:.2f} ({traffic.useful:.2f})"
