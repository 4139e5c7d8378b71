"""Only the problems that a shader has a part in: plans are steered towards it, and what passes it by does not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from restride.conformance.shader.contract import generic_name
from restride.conformance.target import ShaderUnderTest
from restride.kernel import KernelSpec, Limits
from restride.runtime import Counters, DeviceInfo, Memory, Runtime

_STEERED = {
    "run_copy_32": (4, True),
    "strided_copy_32": (4, False),
    "strided_copy_64": (8, False),
    "strided_copy_128": (16, False),
    "strided_gather_128": (4, True),
    "transpose_32": (4, True),
    "transpose_32_aligned": (4, True),
    "element_copy": (1, True),
}
"""``widest_element`` and ``shortcuts`` of ``Limits`` with which most problems reach a module; absent: any."""


class TakesNoPart(Exception):
    """The problem is solved without the shader under test. A fault of neither, so no ``RestrideError``."""


def put_to_test(runtime: Runtime, shader: ShaderUnderTest) -> Runtime:
    """``runtime``, opened with ``module_source(shader)``, for problems that ``shader`` has a part in.

    A problem begins with an upload. Its submissions are held back until one has the shader's module among its kernels:
    an operation may copy its source first. Reading the result of a problem that never had it raises ``TakesNoPart``,
    and nothing was dispatched.
    """
    return _RuntimeUnderTest(runtime, shader.module)


class _RuntimeUnderTest:
    """A ``Runtime`` in front of another."""

    def __init__(self, runtime: Runtime, module: str) -> None:
        self._runtime = runtime
        self._module = module
        widest_element, shortcuts = _STEERED.get(generic_name(module), (16, True))
        self._limits = replace(runtime.limits, widest_element=widest_element, shortcuts=shortcuts)
        self._takes_part = False
        self._held: list[tuple[Sequence[KernelSpec], Sequence[Memory]]] = []

    @property
    def info(self) -> DeviceInfo:
        return self._runtime.info

    @property
    def limits(self) -> Limits:
        return self._limits

    def allocate(self, nbytes: int) -> Memory:
        return self._runtime.allocate(nbytes)

    def write(self, memory: Memory, offset: int, data: memoryview) -> None:
        # A tensor is written once, when it is made: what is held back reads nothing that this changes.
        self._takes_part = False
        self._runtime.write(memory, offset, data)

    def read(self, memory: Memory, offset: int, out: memoryview) -> None:
        if not self._takes_part:
            self._held.clear()
            raise TakesNoPart(f"{self._module} takes no part in it")
        self._runtime.read(memory, offset, out)

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        self._takes_part |= any(kernel.shader == self._module for kernel in kernels)
        self._held.append((kernels, memories))
        if self._takes_part:
            held, self._held = self._held, []
            for earlier in held:
                self._runtime.submit(*earlier)

    def copy(self, src: Memory, dst: Memory, nbytes: int) -> None:
        self._runtime.copy(src, dst, nbytes)

    def wait(self) -> None:
        self._runtime.wait()

    def counters(self) -> Counters:
        return self._runtime.counters()

    def close(self) -> None:
        self._held.clear()
        self._runtime.close()
