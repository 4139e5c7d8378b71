"""Run only problems that use the shader under test: plans are steered towards it, and other problems are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from restride.kernel import Choices, ElementsChoice, InvocationsChoice, KernelSpec, Limits, RowsChoice, TransposeChoice
from restride.runtime import Memory, Runtime


@dataclass(frozen=True)
class SteeredLimits(Limits):
    """Limits that steer more problems to one kernel; they do not change results.

    widest_element: bytes of the widest load and store.
    shortcuts: copies may use other kernels than ``strided_copy`` and ``element_copy``.
    elements_per_dispatch: fewest elements that justify an extra dispatch of a tiled copy.
    copies_runs: a run of bytes may use the device's own copy.
    """

    widest_element: int = 16
    shortcuts: bool = True
    elements_per_dispatch: int = 2048
    copies_runs: bool = False


_STEERED = {
    "run_copy_32": (4, True),
    **{f"strided_copy_{8 * nbytes}": (nbytes, False) for nbytes in (4, 8, 16)},
    "strided_gather_128": (4, True),
    "strided_scatter_128": (4, True),
    **{
        name.format(8 * nbytes): (nbytes, True)
        for nbytes in (1, 2, 4, 8)
        for name in ("transpose_{}", "transpose_{}_aligned", "transpose_shared_{}")
    },
    "element_copy": (1, False),
    "interleaved_copy": (1, True),
    "short_rows": (1, True),
}
"""The ``widest_element`` and ``shortcuts`` with which most problems reach a module; others use 16 and True."""


class TakesNoPart(Exception):
    """Raised when a problem does not use the shader under test. Nobody made an error, so no ``RestrideError``."""


class RuntimeUnderTest:
    """A ``Runtime`` that wraps another and skips problems without the module under test. Call ``begin`` before each.

    The wrapped runtime is opened with ``module_source`` of the user's shader, which replaces ``module``.
    Submissions are held back until one uses the module, because an operation may copy its source first. If no
    submission of a problem uses it, reading the result raises ``TakesNoPart``, and nothing was dispatched.
    """

    def __init__(self, runtime: Runtime, module: str) -> None:
        self._runtime = runtime
        self._module = module
        widest_element, shortcuts = _STEERED.get(module, (16, True))
        limits = SteeredLimits(**vars(runtime.limits), widest_element=widest_element, shortcuts=shortcuts)
        is_shared = module.startswith("transpose_shared") or module == "short_rows"
        transpose: TransposeChoice = "shared" if is_shared else "registers"
        self.limits = replace(limits, choices=replace(limits.choices, transpose=transpose))
        self._uses_module = False
        self._held_submissions: list[tuple[Sequence[KernelSpec], Sequence[Memory]]] = []

    def begin(self, line: str) -> None:
        """Start the problem ``line``: drop held submissions and choose a form of the kernels by the line's checksum.

        Half of all lines get the default choices; the others get choices for GPUs, a third of them with each number of
        rows, and half of them with few invocations, so that these do as much as for a large problem. A line always gets
        the same choices.
        """
        self._held_submissions.clear()
        self._uses_module = False
        number = crc32(line.encode())
        transpose = self.limits.choices.transpose
        choices = Choices(transpose=transpose)
        if number % 2:
            # crop_pixels gets 32-bit elements only if the choice is not "apart".
            elements: ElementsChoice = "neighbours" if self._module == "crop_pixels" else "apart"
            rows: tuple[RowsChoice, ...] = ("4", "2", "1")
            invocations: InvocationsChoice = "few" if number // 6 % 2 else "many"
            choices = Choices(elements, transpose, rows[number // 2 % len(rows)], invocations)
        self.limits = replace(self.limits, choices=choices)

    def __getattr__(self, name: str) -> Any:
        # Other calls pass through. A tensor is written only when it is created, so they affect no held submission.
        if name in ("read", "mapped_bytes") and not self._uses_module:
            raise TakesNoPart(f"{self._module} takes no part in it")
        return getattr(self._runtime, name)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self._uses_module |= any(kernel.shader == self._module for kernel in kernels)
        self._held_submissions.append(([self._open_ended(kernel, memories) for kernel in kernels], memories))
        if self._uses_module:
            held, self._held_submissions = self._held_submissions, []
            for earlier in held:
                self._runtime.submit(*earlier)

    def _open_ended(self, kernel: KernelSpec, memories: Sequence[Memory]) -> KernelSpec:
        """The kernel with each written binding extended to the end of its memory.

        A driver may drop stores past the end of a binding, which would hide a shader's writes out of bounds.
        """
        most = self.limits.max_buffer_range
        bindings = tuple(
            binding._replace(nbytes=max(binding.nbytes, min((memory.nbytes - binding.offset) // 4 * 4, most)))
            if binding.writes
            else binding
            for binding, memory in zip(kernel.bindings, memories, strict=False)
        )
        return replace(kernel, bindings=bindings)

    def close(self) -> None:
        self._held_submissions.clear()
        self._runtime.close()
