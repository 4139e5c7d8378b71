"""The table of kernels with the figures of their compilers: shown, stored as JSON, and read again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import restride as rs
from restride.command.files import read_bounded
from restride.command.process import UsageError
from restride.drawing.explain import columns
from restride_bench.audit.compiler import Driver, Figures, Key
from restride_bench.audit.kernels import Kernel

FORMAT, VERSION = "restride-compiled", 2

MAX = 16 << 20
"""Maximum size of a table's file in bytes; that of all modules and seven GPUs has 200 KiB."""

WHOLE = 16
"""Size in bytes of the widest load or store."""

_COLUMNS = tuple(each.name for each in fields(Figures))


@dataclass(frozen=True)
class Summary:
    """What a compiler made of all kernels for a GPU.

    name, driver, version: as the driver says them. date: when it compiled them.
    kernels, compiled, spilling: the number of kernels, of those compiled, and of those with spills or scratch memory.
    whole: loads and stores of 16 bytes in the code of all kernels together.
    """

    name: str
    driver: str
    version: str
    date: str
    kernels: int
    compiled: int
    spilling: int
    whole: int


@dataclass(frozen=True)
class Table:
    """Kernels with their figures, and a summary for each GPU."""

    kernels: list[Kernel]
    gpus: dict[str, Summary]

    @classmethod
    def of(cls, kernels: list[Kernel], compiled: Mapping[str, tuple[Driver, Sequence[Figures | str]]]) -> Table:
        """The table of what ``compile_all`` returned for the kernels, which get these figures."""
        date, gpus = datetime.now(UTC).date().isoformat(), {}
        for gpu, (driver, figures) in compiled.items():
            for kernel, each in zip(kernels, figures, strict=True):
                kernel.compiled[gpu] = each
            good = [each for each in figures if isinstance(each, Figures)]
            gpus[gpu] = Summary(
                **driver,
                date=date,
                kernels=len(figures),
                compiled=len(good),
                spilling=sum(bool(each.spills or each.scratch) for each in good),
                whole=sum(each.memory.get(f"{way} {WHOLE}", 0) for each in good for way in ("load", "store")),
            )
        return cls(kernels, gpus)

    def with_others_of(self, before: Table) -> Table:
        """This table, and the GPUs of an earlier one that it lacks, as they were."""
        known = {kernel.key: kernel.compiled for kernel in before.kernels}
        kernels = [replace(kernel, compiled=known.get(kernel.key, {}) | kernel.compiled) for kernel in self.kernels]
        return Table(kernels, before.gpus | self.gpus)

    def __str__(self) -> str:
        """A line for each kernel and GPU."""
        heads = ["workload", "kernel", "GPU", "instr.", "registers", "in flight", "spills", "scratch", "cycles"]
        cells = [[*heads, "trips", "loads and stores by bytes"]]
        for kernel in self.kernels:
            subject = [kernel.subject, kernel.key.shader]
            for gpu, figures in kernel.compiled.items():
                if isinstance(figures, str):
                    cells.append([*subject, gpu, *[""] * 7, f"not compiled: {figures}"])
                else:
                    *numbers, memory = vars(figures).values()
                    accesses = ", ".join(f"{count} {name}" for name, count in memory.items())
                    cells.append([*subject, gpu, *map(str, numbers), accesses])
                subject = ["", ""]
        return "\n".join(columns(cells, right=range(3, 10)))

    def json(self, kept: Collection[str]) -> str:
        """The table as JSON, with the figures of the GPUs in ``kept``: a kernel is a line, which a diff shows alone."""
        head = {
            "format": FORMAT,
            "version": VERSION,
            "restride": rs.__version__,
            "columns": _COLUMNS,
            "gpus": {gpu: asdict(summary) for gpu, summary in self.gpus.items()},
        }
        lines = [f"{_line(name)}: {_line(value)}" for name, value in head.items()]
        rows = [
            _line(
                {
                    "kernel": kernel.key.shader,
                    "constants": kernel.key.constants,
                    "buffers": kernel.key.buffers,
                    "subject": kernel.subject,
                    "for_gpus": kernel.for_gpus,
                    "compiled": {
                        gpu: each if isinstance(each, str) else list(vars(each).values())
                        for gpu, each in kernel.compiled.items()
                        if gpu in kept
                    },
                }
            )
            for kernel in self.kernels
        ]
        return "{\n" + ",\n".join([*lines, '"rows": [\n' + ",\n".join(rows) + "\n]"]) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def read_table(path: Path) -> Table:
    """Read a table that ``Table.json`` wrote.

    Raises:
        UsageError: the file cannot be read, has more than ``MAX`` bytes, is no such table, or is damaged.
    """
    data = read_bounded(path, MAX)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from error
    if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, VERSION):
        raise UsageError(f"{path} is no table of `restride audit --json`, format {FORMAT} version {VERSION}")
    try:
        gpus = {str(gpu): _summary(each) for gpu, each in content["gpus"].items()}
        kernels = [_kernel(row, gpus) for row in content["rows"]]
        json.dumps(content, ensure_ascii=False).encode()  # raises for half of a surrogate pair
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"the table {path} is damaged: {type(error).__name__}: {str(error)[:200]}") from error
    return Table(kernels, gpus)


def _summary(each: Mapping[str, Any]) -> Summary:
    name, driver, version, date = (str(each[key])[:200] for key in ("name", "driver", "version", "date"))
    kernels, compiled, spilling, whole = (int(each[key]) for key in ("kernels", "compiled", "spilling", "whole"))
    return Summary(name, driver, version, date, kernels, compiled, spilling, whole)


def _kernel(row: Mapping[str, Any], gpus: Collection[str]) -> Kernel:
    key = Key(str(row["kernel"]), tuple(map(int, row["constants"])), int(row["buffers"]))
    compiled = {gpu: each if isinstance(each, str) else _figures(each) for gpu, each in row["compiled"].items()}
    if unlisted := compiled.keys() - gpus:
        raise LookupError(f"GPUs without a summary: {', '.join(unlisted)}")
    return Kernel(key, str(row["subject"]), bool(row["for_gpus"]), compiled)


def _figures(values: Sequence[Any]) -> Figures:
    named = dict(zip(_COLUMNS, values, strict=True))
    memory = {str(name): int(count) for name, count in named.pop("memory").items()}
    return Figures(memory=memory, **{name: int(value) for name, value in named.items()})
