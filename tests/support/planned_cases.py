"""The kernels that a case dispatches, found without a device: its call runs on a runtime that only records them."""

from __future__ import annotations

from collections.abc import Iterator

import restride as rs
from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride_conformance import Case
from restride_conformance.operations import makes_destination
from restride_conformance.recording import RecordingRuntime
from restride_conformance.setting import buffer_bytes, guards


class KernelsAlone(Limits):
    """Limits of a device whose runs are copied by kernels, as on kompute."""

    copies_runs = False


def plan(case: Case, runtime: RecordingRuntime) -> None:
    """Submit to ``runtime`` all that a run of ``case`` dispatches, including its view and guards."""
    device = rs.Device.over(runtime)
    sides = []
    for desc, before in zip((case.src, case.dst), guards(case), strict=True):
        first = before // desc.dtype.itemsize
        moved = TensorDesc(desc.dtype, desc.sizes, desc.strides, desc.offset + first) if first else desc
        sides.append((moved, buffer_bytes(desc.nbytes)))
    (src, src_bytes), (dst, dst_bytes) = sides
    source = rs.Tensor(runtime.allocate(max(src_bytes, dst_bytes)), src, device)
    memory = source.memory if case["out"] == "same" else runtime.allocate(dst_bytes)
    out = None if makes_destination(case) else rs.Tensor(memory, dst, device)
    case.operation.call(case)(case.viewed_tensor(source), out)


def kernels_of(case: Case, limits: Limits | None = None) -> Iterator[KernelSpec]:
    """The kernels that a run of ``case`` dispatches; none if the library refuses the case."""
    runtime = RecordingRuntime(limits or KernelsAlone())
    try:
        plan(case, runtime)
    except UnsupportedError:
        return
    yield from runtime.submitted
