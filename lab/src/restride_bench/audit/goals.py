"""Goals for kernels on GPUs, and which of them are met.

The goals are for AMD's family navi21 with subgroups of 32; docs/benchmarks/audit.md lists them as a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from restride_bench.audit.roofline import Prediction
from restride_bench.audit.table import Model, Row, Subject
from restride_measure.workloads import TTC57

FAMILY, SUBGROUP, DEVICE = "navi21", 32, "RX 6900 XT"
"""The GPU that the goals are for: family, lanes of a subgroup, name in devices.toml."""

EFFICIENCY = {
    "copies and slices": 0.9,
    "permutations": 0.9,
    "tiles and blocks": 0.9,
    "types and scales": 0.9,
    "resampling": 0.75,
}
"""Minimum efficiency of loads and of stores, by group of workloads (``Traffic.efficiency``, 1 at best)."""

SHARE = {"permutations": 0.9, "tiles and blocks": 0.85, "types and scales": 0.85}
"""Minimum speed that the model predicts, as a share of the device's copy, by group of workloads."""

SHARES_OF_GROUPS = {TTC57: (0.8, 0.55)}
"""Minimum shares for the median and for the worst workload of a group, on every device of the predictions."""

WAVES = 8
"""Minimum number of subgroups that a SIMD unit should keep in flight."""

LARGE, INVOCATIONS, ELEMENTS = 100_000, 80_000, 4
"""A dispatch of ``LARGE`` elements or more should have ``INVOCATIONS``, or one per ``ELEMENTS`` elements if fewer."""


@dataclass(frozen=True)
class Verdict:
    """One goal and whether it is met.

    name: of the workload or of the group of workloads. row: the row that the goal is for; None: the goal is for a whole
    workload or group.
    """

    name: str
    row: Row | None
    goal: str
    figure: str
    is_met: bool

    def __str__(self) -> str:
        kernel = "" if self.row is None else f"{self.row.dispatch.kernel.shader}: "
        return f"{self.name}: {kernel}{self.figure}, goal {self.goal}"


def verdicts(rows: Sequence[Row], model: Model) -> list[Verdict]:
    """The verdict on every goal whose figures are known."""
    return [
        *(verdict for row in rows for verdict in _of_row(row)),
        *(verdict for subject, devices in model.items() for verdict in _of_subject(subject, devices)),
        *(verdict for group, least in SHARES_OF_GROUPS.items() for verdict in _of_group(group, *least, model)),
    ]


def _of_row(row: Row) -> Iterator[Verdict]:
    subject, compiled = row.subject, row.compiled[FAMILY]

    def verdict(goal: str, figure: str, is_met: bool) -> Verdict:
        return Verdict(subject.name, row, goal, figure, is_met)

    yield verdict("no spills", f"{compiled.spills} spills", compiled.spills == 0)
    yield verdict(f"at least {WAVES} waves", f"{compiled.waves} waves", compiled.waves >= WAVES)
    yield verdict("no divisions", f"{compiled.divisions} divisions", compiled.divisions == 0)
    least = EFFICIENCY.get(subject.group)
    for way in ("load", "store"):
        traffic = row.traffic.get(way)
        if traffic is not None and least is not None:
            yield verdict(f"at least {least:.2f}", f"{way} {traffic.efficiency:.2f}", traffic.efficiency >= least)
    stored = row.traffic.get("store")
    elements = 0 if stored is None else int(stored.needed) // subject.itemsize
    if elements >= LARGE:
        invocations, fewest = row.groups * compiled.local_size, min(elements // ELEMENTS, INVOCATIONS)
        yield verdict(f"at least {fewest:,}", f"{invocations:,} invocations", invocations >= fewest)


def _of_subject(subject: Subject, devices: Mapping[str, Prediction]) -> Iterator[Verdict]:
    least, prediction = SHARE.get(subject.group), devices.get(DEVICE)
    if least is not None and prediction is not None:
        figure = f"{prediction.share:.2f} of copy on the {DEVICE} (model)"
        yield Verdict(subject.name, None, f"at least {least:.2f} (model)", figure, prediction.share >= least)


def _of_group(group: str, middle: float, worst: float, model: Model) -> Iterator[Verdict]:
    shares: dict[str, list[float]] = {}
    for subject, devices in model.items():
        for device, prediction in devices.items() if subject.group == group else ():
            shares.setdefault(device, []).append(prediction.share)
    for device, values in shares.items():
        for word, least, share in (("median", middle, median(values)), ("worst", worst, min(values))):
            figure = f"{word} of {len(values)} {share:.2f} of copy on the {device} (model)"
            yield Verdict(group, None, f"at least {least:.2f} (model)", figure, share >= least)
