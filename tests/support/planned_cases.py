"""The kernels that a case dispatches, found without a device: its call runs on a runtime that only records them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace

import restride as rs
from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.runtime import Counters, Memory, Runtime
from restride_conformance import Case
from restride_conformance.operations import makes_destination
from restride_conformance.setting import buffer_bytes, guards


class KernelsAlone(Limits):
    """Limits of a device whose runs are copied by kernels, as on kompute."""

    copies_runs = False


class PlanRuntime:
    """A ``Runtime`` without a device; ``kernels`` has the submitted kernels."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or KernelsAlone()
        self.info = SimpleNamespace(limits=self.limits)
        self.kernels: list[KernelSpec] = []

    def allocate(self, nbytes: int, _shareable: bool = False) -> Memory:
        return SimpleNamespace(nbytes=nbytes, readonly=False, free=lambda: None)

    def write(self, _memory: Memory, _offset: int, *_data: memoryview) -> None:
        pass

    def read(self, _memory: Memory, _offset: int, _out: memoryview) -> None:
        pass

    def copy(self, *_: object) -> None:
        pass

    def submit(self, kernels: Sequence[KernelSpec], _memories: Sequence[Memory]) -> None:
        self.kernels += kernels

    def batch(self) -> AbstractContextManager[None]:
        return nullcontext()

    def wait(self) -> None:
        pass

    def counters(self) -> Counters:
        return Counters()

    def close(self) -> None:
        pass


def plan(case: Case, runtime: Runtime) -> None:
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
    runtime = PlanRuntime(limits)
    try:
        plan(case, runtime)
    except UnsupportedError:
        return
    yield from runtime.kernels
