"""A runtime that dispatches nothing, and records the kernels submitted to a device with given limits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NoReturn

import restride as rs
from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.kernel import Choices, KernelSpec, Limits
from restride.runtime import Counters, DeviceInfo, Memory
from restride_conformance import Case
from restride_conformance.operations import makes_destination
from restride_measure.own import destination, operation_of, viewed
from restride_measure.workloads import Workload

GPU = Limits(
    max_buffer_range=(1 << 32) - 4, offset_alignment=16, choices=Choices.usual("discrete"), max_memory=16 << 30
)
"""Limits of a discrete GPU that AMD's and NVIDIA's devices have in common."""


@dataclass
class NoMemory:
    """Memory of a device that does not exist: a size without bytes."""

    nbytes: int
    readonly: bool = False
    is_shareable: bool = False

    def free(self) -> None:
        """Nothing to do."""


@dataclass
class Recording:
    """A ``Runtime`` that only records. submitted: the kernels, in order, without the device's own copies."""

    limits: Limits = GPU
    submitted: list[KernelSpec] = field(default_factory=list)

    @property
    def info(self) -> DeviceInfo:
        """A device without a name."""
        return DeviceInfo(0, "a recording", "discrete", 0, 0, "none", "", "1.1.0", "", 1 << 40, self.limits)

    def allocate(self, nbytes: int, shareable: bool = False) -> Memory:
        """Memory of up to ``limits.max_memory`` bytes, any number of times.

        Raises:
            OutOfDeviceMemory: ``nbytes`` is larger.
        """
        if shareable:
            raise UnsupportedError("a recording shares no memory between processes")
        if nbytes > self.limits.max_memory:
            raise OutOfDeviceMemory(f"a GPU of {self.limits.max_memory} bytes has no room for {nbytes}")
        return NoMemory(nbytes)

    def _refuse(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse a call that needs the bytes of a memory."""
        raise UnsupportedError("a recording computes nothing: its memories have no bytes to read, import or export")

    import_bytes = export_fd = import_fd = mapped_bytes = read = _refuse

    def write(self, memory: Memory, offset: int, *data: memoryview) -> None:
        """Ignore the bytes."""

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:  # noqa: ARG002 - have no bytes
        """Record the kernels."""
        self.submitted += kernels

    def copy(self, *_places: object, kernels: Sequence[KernelSpec] = (), **_offsets: object) -> None:
        """Record the kernels."""
        self.submitted += kernels

    def batch(self) -> AbstractContextManager[None]:
        """Nothing is different inside."""
        return nullcontext()

    def wait(self) -> None:
        """Nothing is pending."""

    def counters(self) -> Counters:
        """The number of kernels recorded, as ``dispatches``."""
        return Counters(dispatches=len(self.submitted))

    def trim(self) -> int:
        """Nothing is cached."""
        return 0

    def close(self) -> None:
        """Nothing to free."""


def record_workload(workload: Workload, limits: Limits = GPU) -> list[KernelSpec]:
    """The kernels of a call of a workload on a device with these limits; none for a page, which reads bytes."""
    if workload.how == "page":
        return []
    runtime = Recording(limits)
    device = rs.Device.over(runtime)
    x = viewed(workload, rs.empty(workload.desc, device))
    operation_of(workload)(x, destination(workload, device))
    return runtime.submitted


def record_case(case: Case, limits: Limits = GPU) -> list[KernelSpec]:
    """The kernels of a conformance case on a device with these limits."""
    runtime = Recording(limits)
    device = rs.Device.over(runtime)
    source = rs.Tensor(runtime.allocate(case.src.nbytes), case.src, device)
    memory = source.memory if case["out"] == "same" else runtime.allocate(case.dst.nbytes)
    out = None if makes_destination(case) else rs.Tensor(memory, case.dst, device)
    case.operation.call(case)(case.viewed_tensor(source), out)
    return runtime.submitted
