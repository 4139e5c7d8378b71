"""Only the problems that a shader has a part in: plans are steered towards it, and what passes it by does not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from restride.kernel import Choices, Elements, KernelSpec, Limits, Rows, Transpose
from restride.runtime import Memory, Runtime
from restride_conformance.record import ShaderUnderTest


@dataclass(frozen=True)
class SteeredLimits(Limits):
    """Limits with other choices, so that more problems reach one kernel. They change no result."""

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
    "element_rows": (1, True),
    "short_rows": (1, True),
}
"""``widest_element`` and ``shortcuts`` with which most problems reach a module; absent: any."""


class TakesNoPart(Exception):
    """The problem is solved without the shader under test. A fault of neither, so no ``RestrideError``."""


def put_to_test(runtime: Runtime, shader: ShaderUnderTest) -> RuntimeUnderTest:
    """``runtime``, opened with ``module_source(shader)``, for problems that ``shader`` has a part in."""
    return RuntimeUnderTest(runtime, shader.module)


class RuntimeUnderTest:
    """A ``Runtime`` in front of another, which does all that is not here. ``begin`` comes before each problem.

    Submissions are held back until one has the module among its kernels: an operation may copy its source first.
    Reading the result of a problem that never had it raises ``TakesNoPart``, and nothing was dispatched.
    """

    def __init__(self, runtime: Runtime, module: str) -> None:
        self._runtime = runtime
        self._module = module
        widest_element, shortcuts = _STEERED.get(module, (16, True))
        limits = SteeredLimits(**vars(runtime.limits), widest_element=widest_element, shortcuts=shortcuts)
        transpose: Transpose = "shared" if module.startswith("transpose_shared") else "registers"
        self.limits = replace(limits, choices=replace(limits.choices, transpose=transpose))
        self._takes_part = False
        self._held: list[tuple[Sequence[KernelSpec], Sequence[Memory]]] = []

    def begin(self, line: str) -> None:
        """Forget the problem before. Half of all lines, always the same, meet the form of kernels that CPUs get.

        The others meet those of GPUs: a third of them each number of rows.
        """
        self._held.clear()
        self._takes_part = False
        number = crc32(line.encode())
        transpose = self.limits.choices.transpose
        choices = Choices(transpose=transpose)
        if number % 2:
            if self._module == "short_rows":
                transpose = "shared"
            # Elements of 32 bits are not for crop_pixels where they are apart.
            elements: Elements = "neighbours" if self._module == "crop_pixels" else "apart"
            rows: tuple[Rows, ...] = ("4", "2", "1")
            choices = Choices(elements, transpose, rows[number // 2 % len(rows)], "many")
        self.limits = replace(self.limits, choices=choices)

    def __getattr__(self, name: str) -> Any:
        # A tensor is written once, when it is made: what is held back reads nothing that this changes.
        if name in ("read", "mapped_bytes") and not self._takes_part:
            raise TakesNoPart(f"{self._module} takes no part in it")
        return getattr(self._runtime, name)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self._takes_part |= any(kernel.shader == self._module for kernel in kernels)
        self._held.append(([self._open_ended(kernel, memories) for kernel in kernels], memories))
        if self._takes_part:
            held, self._held = self._held, []
            for earlier in held:
                self._runtime.submit(*earlier)

    def _open_ended(self, kernel: KernelSpec, memories: Sequence[Memory]) -> KernelSpec:
        """The kernel with what it writes bound to the end of the memory: a driver may drop stores past a binding."""
        most = self.limits.max_buffer_range
        bindings = tuple(
            replace(binding, nbytes=max(binding.nbytes, min((memory.nbytes - binding.offset) // 4 * 4, most)))
            if binding.writes
            else binding
            for binding, memory in zip(kernel.bindings, memories, strict=False)
        )
        return replace(kernel, bindings=bindings)

    def close(self) -> None:
        self._held.clear()
        self._runtime.close()
