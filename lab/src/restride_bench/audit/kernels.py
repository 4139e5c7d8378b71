"""The kernels to compile: those that a GPU would be given for workloads, for a case, or of every module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import restride as rs
from restride.errors import RestrideError
from restride.kernel import ARM, NVIDIA, Choices, KernelSpec
from restride_bench.audit.compiler import Key
from restride_bench.audit.recording import record_case, record_workload
from restride_conformance import Case, catalogue
from restride_conformance.recording import GPU, RecordingRuntime
from restride_measure.workloads import Workload
from restride_measure.workloads import catalogue as workloads

_EACH = 4
"""Conformance cases add at most this many kernels of a module to those of the workloads."""


@dataclass(frozen=True)
class Kernel:
    """A kernel to compile.

    subject: the first workload or case that dispatches it. for_gpus: False if only the choices of CPUs lead to it.
    """

    key: Key
    subject: str
    for_gpus: bool = True

    @property
    def name(self) -> str:
        """The module with its constants, which tell it from other kernels."""
        return f"{self.key.shader}({','.join(map(str, self.key.constants))};{self.key.buffers})"


def _distinct(dispatched: Iterable[tuple[str, KernelSpec]]) -> list[Kernel]:
    found: dict[Key, Kernel] = {}
    for subject, spec in dispatched:
        found.setdefault(Key.of(spec), Kernel(Key.of(spec), subject))
    return list(found.values())


def kernels_of_workloads(measured: Iterable[Workload]) -> list[Kernel]:
    """The distinct kernels of workloads of the benchmark."""
    return _distinct((workload.name, spec) for workload in measured for spec in record_workload(workload))


def kernels_of_case(case: Case) -> list[Kernel]:
    """The distinct kernels of a conformance case."""
    return _distinct((str(case), spec) for spec in record_case(case))


def contract_kernels() -> list[Kernel]:
    """Kernels of every module of the contract: all kernels of the workloads, and some that only the cases dispatch."""
    found = {each.key: each for each in kernels_of_workloads(workloads())}
    of_modules: dict[str, dict[Key, Kernel]] = defaultdict(dict)
    usual = [replace(GPU, choices=Choices.usual("discrete", vendor_id=vendor)) for vendor in (0, NVIDIA, ARM)]
    # The limits include those of a GPU that promises nothing about offsets in memory, and choices for CPUs on a GPU.
    for limits in (*usual, replace(GPU, offset_alignment=0), replace(GPU, choices=Choices.usual("cpu"))):
        for case in (*catalogue("smoke"), *catalogue("perf")):
            try:
                specs = record_case(case, limits)
            except RestrideError:
                continue  # the case tests an error
            for spec in specs:
                kernel = Kernel(Key.of(spec), str(case), for_gpus=limits.choices.elements == "apart")
                of_modules[spec.shader].setdefault(kernel.key, kernel)
    runtime = RecordingRuntime()
    rs.resize(rs.empty("u8[480,640,4]", rs.Device.over(runtime)), (240, 320), linear_light=True, premultiply=True)
    for spec in runtime.submitted:
        of_modules[spec.shader].setdefault(Key.of(spec), Kernel(Key.of(spec), "resize, linear_light, premultiply"))
    for chosen in of_modules.values():
        new = [kernel for key, kernel in chosen.items() if key not in found]
        step = max(len(new) / _EACH, 1)
        found |= {kernel.key: kernel for kernel in (new[int(place * step)] for place in range(min(len(new), _EACH)))}
    return list(found.values())
