"""What is wrong in an audit: kernels that spill without a listed reason, and what became worse than before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from restride_bench.audit.gpus import GPUS
from restride_bench.audit.kernels import Kernel
from restride_conformance.record import Outcome


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


def differences(with_counts: Collection[str]) -> Callable[[Outcome, Outcome], Iterator[tuple[str, bool]]]:
    """The function that yields each difference of a kernel's rows of two audits, and whether it is worse by ``WORSE``.

    with_counts: GPUs whose counts are compared: both audits have the same version of the driver. For other GPUs only
    128-bit accesses are compared: fewer of them is worse if there are also more narrow ones.
    """

    def differ(before: Outcome, after: Outcome) -> Iterator[tuple[str, bool]]:
        was, now = before.figures, after.figures
        if "instructions" not in was or "instructions" not in now:
            return
        for kind in ("load", "store"):
            wide, narrow = (
                [sum(figures.get(f"{kind} {nbytes}", 0) for nbytes in widths) for figures in (was, now)]
                for widths in ((16,), (1, 2, 4, 8, 12))
            )
            if wide[1] < wide[0] and narrow[1] > narrow[0]:
                yield f"128-bit {kind}s {wide[0]} -> {wide[1]}, narrower ones {narrow[0]} -> {narrow[1]}", True
        for name, fewer_is_better in _FEWER_IS_BETTER.items() if after.case in with_counts else ():
            first, second = was.get(name, 0), now.get(name, 0)
            if first != second:
                is_worse = (second > first) == fewer_is_better
                if not is_worse or 100 * abs(second - first) > WORSE * first:
                    yield f"{name} {first} -> {second}", is_worse

    return differ
