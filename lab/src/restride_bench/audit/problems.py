"""What is wrong with a table: kernels that are refused or spill, and what became worse than in an earlier table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from restride_bench.audit.compiler import Figures
from restride_bench.audit.gpus import GPUS
from restride_bench.audit.kernels import Kernel
from restride_bench.audit.table import WHOLE, Table


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

WORSE = 2
"""A count that is worse than in an earlier table by more than this share, in percent, counts as worse."""

_FEWER_IS_BETTER = {"instructions": True, "registers": True, "in_flight": False, "cycles": True, "trips": True}


def is_excused(kernel: Kernel, gpu: str) -> bool:
    """True if a kernel may spill or use scratch memory: by an exception, or because only choices of CPUs lead to it."""
    maker = GPUS[gpu].maker if gpu in GPUS else ""
    excuses = (each for each in EXCEPTIONS if kernel.key.shader in each.modules and maker in each.makers)
    return not kernel.for_gpus or any(excuses)


def problems(table: Table) -> list[str]:
    """A line for each kernel that a GPU's compiler refuses, or that spills or uses scratch memory without an excuse."""
    lines = []
    for kernel in table.kernels:
        for gpu, figures in kernel.compiled.items():
            if isinstance(figures, str):
                lines.append(f"not compiled: {gpu}: {kernel.name}: {figures}")
            elif (figures.spills or figures.scratch) and not is_excused(kernel, gpu):
                lines.append(f"{gpu}: {kernel.name}: {figures.spills} spills, {figures.scratch} bytes of scratch")
    return lines


def changes(before: Table, after: Table) -> tuple[list[str], bool]:
    """A line for each difference of two tables, and whether something got worse.

    If the versions of a driver differ, only 128-bit accesses are compared: a kernel loses one if it has
    fewer of them and more narrow ones.
    """
    others = {
        gpu: before.gpus[gpu].version
        for gpu, summary in after.gpus.items()
        if gpu in before.gpus and before.gpus[gpu].version != summary.version
    }
    lines = [
        f"{gpu}: {was!r:.60}, now {after.gpus[gpu].version!r:.60}: only 128-bit accesses are compared"
        for gpu, was in others.items()
    ]
    is_worse = False
    known = {kernel.key: kernel for kernel in before.kernels}
    for kernel in after.kernels:
        if kernel.key not in known:
            lines.append(f"new: {kernel.name}")
            continue
        for gpu, now in kernel.compiled.items():
            was = known[kernel.key].compiled.get(gpu)
            if isinstance(now, str) or not isinstance(was, Figures):
                continue
            for line, is_bad in _differences(was, now, with_counts=gpu not in others):
                is_worse = is_worse or is_bad
                lines.append(f"{'worse' if is_bad else 'better'}: {gpu}: {kernel.name}: {line}")
    return lines, is_worse


def _differences(was: Figures, now: Figures, *, with_counts: bool) -> Iterator[tuple[str, bool]]:
    """Yield each difference, and whether it is worse by more than ``WORSE``."""
    for kind in ("load", "store"):
        wide, narrow = (
            [sum(each.memory.get(f"{kind} {nbytes}", 0) for nbytes in widths) for each in (was, now)]
            for widths in ((WHOLE,), (1, 2, 4, 8, 12))
        )
        if wide[1] < wide[0] and narrow[1] > narrow[0]:
            yield f"128-bit {kind}s {wide[0]} -> {wide[1]}, narrower ones {narrow[0]} -> {narrow[1]}", True
    for name, fewer_is_better in _FEWER_IS_BETTER.items() if with_counts else ():
        first, second = getattr(was, name), getattr(now, name)
        if first != second:
            is_worse = (second > first) == fewer_is_better
            if not is_worse or 100 * abs(second - first) > WORSE * first:
                yield f"{name} {first} -> {second}", is_worse
