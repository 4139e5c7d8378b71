"""The record of an audit: a row for each GPU, and one for each kernel that its compiler was given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from restride_bench.audit.compiler import Driver, Figures
from restride_bench.audit.kernels import Kernel
from restride_bench.audit.problems import is_excused
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report import Record

WHOLE = 16
"""Size in bytes of the widest load or store."""

GPU_ROWS = "GPUs"
"""The group of the rows of GPUs; a kernel's rows are in a group of its name."""


def record_of(kernels: Sequence[Kernel], compiled: Mapping[str, tuple[Driver, Sequence[Figures | str]]]) -> Record:
    """The record of what ``compile_all`` returned for the kernels."""
    gpus = [_gpu_row(gpu, driver, figures) for gpu, (driver, figures) in compiled.items()]
    rows = [
        _kernel_row(kernel, gpu, figures[place])
        for place, kernel in enumerate(kernels)
        for gpu, (_, figures) in compiled.items()
    ]
    return complete(Record.begin("audit", None), [*gpus, *rows])


def complete(record: Record, outcomes: Iterable[Outcome]) -> Record:
    """The record with these rows, and a problem for each row that is not PASSED."""
    rows = tuple(outcomes)
    bad = (outcome for outcome in rows if outcome.verdict is not Verdict.PASSED)
    problems = tuple({"case": each.case, "message": f"{each.case}: {each.group}: {each.message}"} for each in bad)
    return replace(record, outcomes=rows, selected=len(rows), problems=problems)


def _gpu_row(gpu: str, driver: Driver, figures: Sequence[Figures | str]) -> Outcome:
    """What a compiler made of all kernels: how many compiled, how many spill, and accesses of ``WHOLE`` bytes."""
    good = [each for each in figures if isinstance(each, Figures)]
    summary: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "kernels": len(figures),
        "compiled": len(good),
        "spilling": sum(bool(each.spills or each.scratch) for each in good),
        "whole": sum(each.memory.get(f"{way} {WHOLE}", 0) for each in good for way in ("load", "store")),
    }
    return Outcome(gpu, Verdict.PASSED, group=GPU_ROWS, figures={**driver, **summary})


def _kernel_row(kernel: Kernel, gpu: str, figures: Figures | str) -> Outcome:
    """The counts of a kernel that are not 0; FAILED where it was refused, or spills without a listed reason."""
    named = {"for": kernel.subject}
    if isinstance(figures, str):
        return Outcome(gpu, Verdict.FAILED, f"not compiled: {figures}", group=kernel.name, figures=named)
    counts = {name: count for name, count in vars(figures).items() if name != "memory"} | dict(figures.memory)
    spills = f"{figures.spills} spills, {figures.scratch} bytes of scratch"
    is_right = not (figures.spills or figures.scratch) or is_excused(kernel, gpu)
    return Outcome(
        gpu,
        Verdict.PASSED if is_right else Verdict.FAILED,
        "" if is_right else spills,
        group=kernel.name,
        figures=named | {name: count for name, count in counts.items() if count},
    )


def gpus_in(record: Record) -> dict[str, Outcome]:
    """The rows of GPUs, by name."""
    return {outcome.case: outcome for outcome in record.outcomes if outcome.group == GPU_ROWS}


def with_others_of(record: Record, before: Record) -> Record:
    """The record with the rows of an earlier one for GPUs that only that one has, if their kernel is in both."""
    known = gpus_in(record)
    groups = {outcome.group for outcome in record.outcomes}
    others = [each for each in before.outcomes if each.case not in known and each.group in groups]
    rows = sorted((*others, *record.outcomes), key=lambda each: each.group != GPU_ROWS)
    return complete(record, rows)


def stored(record: Record, gpus: Collection[str]) -> Record:
    """The record with all rows of GPUs, and the kernels' rows of these GPUs."""
    return complete(record, [each for each in record.outcomes if each.group == GPU_ROWS or each.case in gpus])
