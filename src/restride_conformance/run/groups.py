"""Run a case in work groups of each size that the device takes, and judge whether the size decides if it is right."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from restride.kernel import KernelSpec
from restride.plan.dispatches import GROUP_SIZE
from restride.runtime import Memory, Runtime
from restride.runtime.instance import physical_devices
from restride_conformance.record import ONE_SIZE, Outcome, SmallDevice, Verdict, worst
from restride_conformance.run.limits import BOUNDS
from restride_conformance.shader.groups import SIZES, resized, why_fixed


def sizes_on(index: int, limits: SmallDevice | None) -> tuple[int, ...]:
    """The sizes that the device of this index takes, narrowed to ``limits``; the usual one first."""
    physical = physical_devices()[index]
    if limits is not None:
        physical = BOUNDS[limits].narrowed(physical)
    return tuple(size for size in SIZES if size <= max(physical.max_group_size, GROUP_SIZE))


class GroupedRuntime:
    """A ``Runtime`` that wraps another and dispatches in groups of ``size`` whatever can be.

    The other is opened with a source of modules ``with_sizes``.

    modules: those dispatched since ``begin``.
    """

    def __init__(self, runtime: Runtime, sizes: tuple[int, ...]) -> None:
        self._runtime = runtime
        self.sizes = sizes
        self.begin(GROUP_SIZE)

    def begin(self, size: int) -> None:
        """Dispatch in groups of ``size`` from now on."""
        self.size = size
        self.modules: set[str] = set()

    @property
    def manner(self) -> str:
        """The last line of a message about what happens now: the size of groups, or nothing for the usual one."""
        return "" if self.size == GROUP_SIZE else f"\nin work groups of {self.size}"

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self._runtime.submit(self._resized(kernels), memories)

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        self._runtime.copy(src, dst, nbytes, src_offset, dst_offset, self._resized(kernels))

    def _resized(self, kernels: Sequence[KernelSpec]) -> list[KernelSpec]:
        self.modules.update(kernel.shader for kernel in kernels)
        return [resized(kernel, self.size, self._runtime.limits) for kernel in kernels]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


def run_in_groups(runtime: GroupedRuntime, run: Callable[[], Outcome]) -> Outcome:
    """The outcome of a case that ``run`` runs once, from one run for each size of groups.

    A case that is right with some sizes and wrong with others is run again with one of each: FAILED if both are as
    before, else FLAKY. One that dispatches no module whose size can vary runs once, and its message says so.

    Raises:
        Exception: whatever ``run`` raises.
    """
    usual = _run(runtime, GROUP_SIZE, run)
    if usual.verdict in (Verdict.SKIPPED, Verdict.UNIMPLEMENTED):
        return usual
    if all(map(why_fixed, runtime.modules)):
        return replace(usual, message="\n".join([*filter(None, [usual.message]), *_reasons(runtime.modules)]))
    outcomes = {GROUP_SIZE: usual}
    for size in runtime.sizes[1:]:
        outcomes[size] = _run(runtime, size, run)
    seconds = sum(outcome.seconds for outcome in outcomes.values())
    right = [size for size, outcome in outcomes.items() if outcome.verdict.is_right]
    wrong = [size for size in outcomes if size not in right]
    if not wrong:
        return replace(usual, seconds=seconds)
    worse = outcomes[wrong[0]]
    if not right:
        verdict, line = worst(outcome.verdict for outcome in outcomes.values()), f"wrong with groups of {_text(wrong)}"
    else:
        line = f"right with groups of {_text(right)}, wrong with {_text(wrong)}"
        changed = [size for size in (right[0], wrong[0]) if _run(runtime, size, run).verdict != outcomes[size].verdict]
        verdict = Verdict.FLAKY if changed else worse.verdict
        if changed:
            line += f"; another verdict when run again with {_text(changed)}"
    return replace(worse, verdict=verdict, message=f"{line}\n{worse.message}", seconds=seconds)


def _run(runtime: GroupedRuntime, size: int, run: Callable[[], Outcome]) -> Outcome:
    runtime.begin(size)
    if runtime.manner:  # the parent shows the end of stderr if a driver ends the process
        sys.stderr.write(f"{runtime.manner}\n")
        sys.stderr.flush()
    return run()


def _reasons(modules: set[str]) -> list[str]:
    """The lines that say why a case has no size to vary."""
    reasons = dict.fromkeys(map(why_fixed, sorted(modules))) or ["no kernel is dispatched"]
    return [f"{ONE_SIZE}: {reason}" for reason in reasons]


def _text(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
