"""Statistics of kernels from Mesa's compilers for GPUs of seven makers: a table, its JSON, and comparisons."""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import restride as rs
from restride.cli.process import UsageError, tell
from restride.drawing.explain import columns
from restride.errors import DeviceNotFound, RestrideError
from restride.kernel import ARM, NVIDIA, Choices, KernelSpec
from restride_bench.audit.assembly import READ
from restride_bench.audit.compiler import Figures, Key, compile_figures
from restride_bench.audit.gpus import GPUS
from restride_bench.audit.record import WORSE, read_json, reading
from restride_bench.audit.recording import GPU, Dispatch, Recording, record_case, record_workload
from restride_conformance import catalogue
from restride_measure.workloads import catalogue as workloads

FORMAT, VERSION = "restride-compiled", 1


@dataclass(frozen=True)
class Excuse:
    """A reason why some modules may spill or use scratch memory on some makers' GPUs."""

    modules: tuple[str, ...]
    makers: tuple[str, ...]
    reason: str


EXCEPTIONS = (
    Excuse(
        ("digit_copy", "digit_convert"),
        ("NVIDIA", "Imagination"),
        "a variable indexes the array of digits, 64 bytes, which these compilers keep in memory; what a group may "
        "share holds 32 numbers for each invocation, and a program has up to 192; the fallback for any rank",
    ),
    Excuse(
        ("crop_pixels", "crop_resize", "resample_runs"),
        ("Arm",),
        "several pixels of bytes with their weights need some registers more than the 64 of a Mali",
    ),
)
"""The reasons, five at most, why some kernels of GPUs may spill or use scratch memory; otherwise that is a fault."""

_EACH = 4
"""Conformance cases add at most this many kernels of a module to those of the workloads."""

_COLUMNS = ("instructions", "registers", "in_flight", "spills", "scratch", "cycles", "trips", "ms", "memory")
_FEWER_IS_BETTER = {"instructions": True, "registers": True, "in_flight": False, "cycles": True, "trips": True}
_WHOLE = 16
"""Size in bytes of the widest load or store."""


@dataclass
class Kernel:
    """A kernel, with the compilers' statistics.

    subject: the first workload or case that dispatches it. for_gpus: False if only the choices of CPUs lead to it.
    compiled: by GPU; a text says why there are no figures.
    """

    key: Key
    subject: str
    for_gpus: bool = True
    compiled: dict[str, Figures | str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The module with its constants, which tell it from other kernels."""
        return f"{self.key.shader}({','.join(map(str, self.key.constants))};{self.key.buffers})"


def kernels_of(named: Sequence[tuple[str, KernelSpec]]) -> list[Kernel]:
    """The distinct kernels among dispatches, each with the name of the first workload or case that dispatches it."""
    found: dict[Key, Kernel] = {}
    for subject, spec in named:
        key = Key.of(spec)
        found.setdefault(key, Kernel(key, subject))
    return list(found.values())


def contract_kernels() -> list[Kernel]:
    """Kernels of every module of the contract: all kernels of the workloads, and some that only the cases dispatch."""
    found = {
        each.key: each for each in kernels_of([(w.name, k) for w in workloads() for k in _specs(record_workload(w))])
    }
    of_modules: dict[str, dict[Key, Kernel]] = defaultdict(dict)
    usual = [replace(GPU, choices=Choices.usual("discrete", vendor_id=vendor)) for vendor in (0, NVIDIA, ARM)]
    # The limits include those of a GPU that promises nothing about offsets in memory, and choices for CPUs on a GPU.
    for limits in (*usual, replace(GPU, offset_alignment=0), replace(GPU, choices=Choices.usual("cpu"))):
        for case in (*catalogue("smoke"), *catalogue("perf")):
            try:
                specs = _specs(record_case(case, limits))
            except RestrideError:
                continue  # the case tests an error
            for spec in specs:
                kernel = Kernel(Key.of(spec), str(case), for_gpus=limits.choices.elements == "apart")
                of_modules[spec.shader].setdefault(kernel.key, kernel)
    runtime = Recording(GPU)
    rs.resize(rs.empty("u8[480,640,4]", rs.Device.over(runtime)), (240, 320), linear_light=True, premultiply=True)
    for spec in _specs(runtime.submitted):
        of_modules[spec.shader].setdefault(Key.of(spec), Kernel(Key.of(spec), "resize, linear_light, premultiply"))
    for chosen in of_modules.values():
        new = [kernel for key, kernel in chosen.items() if key not in found]
        step = max(len(new) / _EACH, 1)
        found |= {kernel.key: kernel for kernel in (new[int(place * step)] for place in range(min(len(new), _EACH)))}
    return list(found.values())


def _specs(submitted: Sequence[Any]) -> list[KernelSpec]:
    return [each.kernel for each in submitted if isinstance(each, Dispatch)]


def chosen_gpus(words: str) -> list[str]:
    """The GPUs that the user names, by GPU or by maker.

    Raises:
        UsageError: a name is unknown.
    """
    chosen = []
    for word in (word.strip().casefold() for word in words.split(",")):
        names = [name for name, gpu in GPUS.items() if word in (name, gpu.maker.casefold())]
        if not names:
            makers = dict.fromkeys(gpu.maker for gpu in GPUS.values())
            raise UsageError(f"no GPU is named {word[:40]!r}: known are {', '.join([*GPUS, *makers])}")
        chosen += names
    return list(dict.fromkeys(chosen))


def compile_all(kernels: Sequence[Kernel], gpus: Sequence[str], *, skips_missing: bool) -> dict[str, dict[str, str]]:
    """Fill in the compilers' statistics, and return each GPU's device and driver as the driver names them.

    Raises:
        DeviceNotFound: a driver or shim is missing, unless ``skips_missing``: then the GPU is left out, and named.
    """
    keys = [kernel.key for kernel in kernels]
    stopped = threading.Event()

    def compiled(name: str) -> tuple[dict[str, str], list[Figures | str]] | DeviceNotFound:
        tell(f"compiling {len(kernels)} kernels for {name} ({GPUS[name].maker} {GPUS[name].card}) ...")
        try:
            return compile_figures(name, keys, stopped)
        except DeviceNotFound as error:
            return error

    devices = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for name, answer in zip(gpus, pool.map(compiled, gpus), strict=True):
                if isinstance(answer, DeviceNotFound):
                    if not skips_missing:
                        raise answer  # noqa: TRY301 - cancels the other GPUs, as Ctrl-C does
                    tell(f"{name} is left out: {answer}")
                    continue
                devices[name], figures = answer
                for kernel, each in zip(kernels, figures, strict=True):
                    kernel.compiled[name] = each
        except BaseException:  # such as Ctrl-C
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return devices


def is_excused(kernel: Kernel, gpu: str) -> bool:
    """True if a kernel may spill or use scratch memory: by an exception, or because only choices of CPUs lead to it."""
    maker = GPUS[gpu].maker if gpu in GPUS else ""
    excuses = (each for each in EXCEPTIONS if kernel.key.shader in each.modules and maker in each.makers)
    return not kernel.for_gpus or any(excuses)


def text(kernels: Sequence[Kernel]) -> str:
    """The table: a line for each kernel and GPU."""
    heads = ["workload", "kernel", "GPU", "instr.", "registers", "in flight", "spills", "scratch", "cycles", "trips"]
    cells = [[*heads, "ms", "loads and stores by bytes"]]
    for kernel in kernels:
        subject = [kernel.subject, kernel.key.shader]
        for gpu, figures in kernel.compiled.items():
            if isinstance(figures, str):
                cells.append([*subject, gpu, *[""] * 8, f"not compiled: {figures}"])
            else:
                *numbers, memory = _record(figures)
                accesses = ", ".join(f"{count} {name}" for name, count in memory.items())
                cells.append([*subject, gpu, *map(str, numbers), accesses])
            subject = ["", ""]
    return "\n".join(columns(cells, right=range(3, 11)))


def summaries(kernels: Sequence[Kernel], devices: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Any]]:
    """For each GPU its device, and the numbers of compiled kernels, of kernels that spill, and of 128-bit accesses."""
    found: dict[str, dict[str, Any]] = {}
    for name, device in devices.items():
        figures = [kernel.compiled[name] for kernel in kernels]
        good = [each for each in figures if isinstance(each, Figures)]
        found[name] = {
            **device,
            "kernels": len(figures),
            "compiled": len(good),
            "spilling": sum(bool(each.spills or each.scratch) for each in good),
            "whole": sum(each.memory.get(f"{way} {_WHOLE}", 0) for each in good for way in ("load", "store")),
        }
    return found


def table(gpus: Mapping[str, Mapping[str, Any]], date: str) -> str:
    """The summaries of known GPUs as a table in Markdown."""
    heads = ["maker", "GPU", "name", "driver", "kernels", "spills or scratch", "128-bit accesses", "date"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, each in gpus.items():
        gpu = GPUS[name]
        cells = [gpu.maker, gpu.card.partition(", from")[0], f"`{name}`", f"{each['driver']}, {each['version']}"]
        whole = str(each["whole"]) if gpu.maker in READ else "no code to read"
        cells += [f"{each['compiled']} of {each['kernels']}", str(each["spilling"]), whole, date]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _record(figures: Figures) -> list[Any]:
    values = vars(figures) | {"ms": round(1000 * figures.seconds)}
    return [values[name] for name in _COLUMNS]


def record(
    kernels: Sequence[Kernel], devices: Mapping[str, Mapping[str, str]], kept: Collection[str]
) -> dict[str, Any]:
    """The table as JSON values: summaries of all GPUs, and the figures of the GPUs in ``kept``."""
    settings = {"restride": rs.__version__, "date": datetime.now(UTC).date().isoformat(), "columns": list(_COLUMNS)}
    rows = [
        {
            "kernel": kernel.key.shader,
            "constants": list(kernel.key.constants),
            "buffers": kernel.key.buffers,
            "subject": kernel.subject,
            "for_gpus": kernel.for_gpus,
            "compiled": {
                gpu: each if isinstance(each, str) else _record(each)
                for gpu, each in kernel.compiled.items()
                if gpu in kept
            },
        }
        for kernel in kernels
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings,
        "gpus": summaries(kernels, devices),
        "rows": rows,
    }


def read_record(path: Path) -> tuple[list[Kernel], dict[str, dict[str, Any]], str]:
    """Read the kernels, the summaries of the GPUs and the date of a table that ``record`` wrote.

    Raises:
        UsageError: the file is no such table, or damaged.
    """
    content = read_json(path, "table of `restride audit --vendors --json`", format=FORMAT, version=VERSION)
    with reading("table", path):
        devices = {
            str(gpu): {name: str(each[name])[:200] for name in ("name", "driver", "version")}
            | {name: int(each[name]) for name in ("kernels", "compiled", "spilling", "whole")}
            for gpu, each in content["gpus"].items()
        }
        kernels = []
        for row in content["rows"]:
            key = Key(str(row["kernel"]), tuple(map(int, row["constants"])), int(row["buffers"]))
            compiled = {
                gpu: each if isinstance(each, str) else _figures(each)
                for gpu, each in row["compiled"].items()
                if devices[gpu]  # raises KeyError if the GPU is not listed
            }
            kernels.append(Kernel(key, str(row["subject"]), bool(row["for_gpus"]), compiled))
        json.dumps(content, ensure_ascii=False).encode()  # raises for half of a surrogate pair
        date = str(content["settings"]["date"])
    return kernels, devices, date


def _figures(values: Sequence[Any]) -> Figures:
    named = dict(zip(_COLUMNS, values, strict=True))
    memory = {str(name): int(count) for name, count in named.pop("memory").items()}
    seconds = int(named.pop("ms")) / 1000
    return Figures(memory=memory, seconds=seconds, **{name: int(value) for name, value in named.items()})


def problems(kernels: Sequence[Kernel]) -> list[str]:
    """A line for each kernel that a GPU's compiler refuses, or that spills or uses scratch memory without an excuse."""
    lines = []
    for kernel in kernels:
        for gpu, figures in kernel.compiled.items():
            if isinstance(figures, str):
                lines.append(f"not compiled: {gpu}: {kernel.name}: {figures}")
            elif (figures.spills or figures.scratch) and not is_excused(kernel, gpu):
                lines.append(f"{gpu}: {kernel.name}: {figures.spills} spills, {figures.scratch} bytes of scratch")
    return lines


def changes(
    before: Sequence[Kernel],
    old: Mapping[str, Mapping[str, str]],
    after: Sequence[Kernel],
    new: Mapping[str, Mapping[str, str]],
) -> tuple[list[str], bool]:
    """A line per difference of two tables, and whether something got worse.

    If the versions of a driver differ, only 128-bit accesses are compared: a kernel loses one if it has
    fewer of them and more narrow ones. before, after: the kernels. old, new: the devices.
    """
    lines = [
        f"{gpu}: {old[gpu]['version']!r:.60}, now {new[gpu]['version']!r:.60}: only 128-bit accesses are compared"
        for gpu in new
        if gpu in old and old[gpu]["version"] != new[gpu]["version"]
    ]
    is_worse = False
    stored = {kernel.key: kernel for kernel in before}
    for kernel in after:
        if kernel.key not in stored:
            lines.append(f"new: {kernel.name}")
            continue
        for gpu, now in kernel.compiled.items():
            was = stored[kernel.key].compiled.get(gpu)
            if isinstance(now, str) or not isinstance(was, Figures):
                continue
            is_same = old[gpu]["version"] == new[gpu]["version"]
            for line, is_bad in _differences(was, now, with_counts=is_same):
                is_worse = is_worse or is_bad
                lines.append(f"{'worse' if is_bad else 'better'}: {gpu}: {kernel.name}: {line}")
    return lines, is_worse


def _differences(was: Figures, now: Figures, *, with_counts: bool) -> Iterator[tuple[str, bool]]:
    """Yield each difference, and whether it is worse by more than the factor ``WORSE``."""
    for kind in ("load", "store"):
        wide, narrow = (
            [sum(each.memory.get(f"{kind} {nbytes}", 0) for nbytes in widths) for each in (was, now)]
            for widths in ((_WHOLE,), (1, 2, 4, 8, 12))
        )
        if wide[1] < wide[0] and narrow[1] > narrow[0]:
            yield f"128-bit {kind}s {wide[0]} -> {wide[1]}, narrower ones {narrow[0]} -> {narrow[1]}", True
    for name, fewer_is_better in _FEWER_IS_BETTER.items() if with_counts else ():
        first, second = getattr(was, name), getattr(now, name)
        if first != second:
            is_worse = (second > first) == fewer_is_better
            if not is_worse or abs(second - first) > (WORSE - 1) * first:
                yield f"{name} {first} -> {second}", is_worse
