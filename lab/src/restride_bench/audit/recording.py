"""The kernels of workloads and of conformance cases, recorded without a device."""

from __future__ import annotations

import restride as rs
from restride.kernel import KernelSpec, Limits
from restride_conformance import Case
from restride_conformance.operations import makes_destination
from restride_conformance.recording import GPU, RecordingRuntime
from restride_measure.own import destination, operation_of, viewed
from restride_measure.workloads import Workload


def record_workload(workload: Workload, limits: Limits = GPU) -> list[KernelSpec]:
    """The kernels of a call of a workload on a device with these limits; none for a page, which reads bytes."""
    if workload.how == "page":
        return []
    runtime = RecordingRuntime(limits)
    device = rs.Device.over(runtime)
    x = viewed(workload, rs.empty(workload.desc, device))
    operation_of(workload)(x, destination(workload, device))
    return runtime.submitted


def record_case(case: Case, limits: Limits = GPU) -> list[KernelSpec]:
    """The kernels of a conformance case on a device with these limits."""
    runtime = RecordingRuntime(limits)
    device = rs.Device.over(runtime)
    source = rs.Tensor(runtime.allocate(case.src.nbytes), case.src, device)
    memory = source.memory if case["out"] == "same" else runtime.allocate(case.dst.nbytes)
    out = None if makes_destination(case) else rs.Tensor(memory, case.dst, device)
    case.operation.call(case)(case.viewed_tensor(source), out)
    return runtime.submitted
