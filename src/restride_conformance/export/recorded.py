"""The program of a case, recorded without a device, so also after its driver has died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import cast

import numpy as np

import restride as rs
from restride.dtypes import Array
from restride.errors import UnsupportedError
from restride.kernel import Limits
from restride.kernel.modules import load_module
from restride.runtime import Runtime
from restride.runtime.interface import rounded
from restride.runtime.specialization import specialized
from restride.runtime.vulkan.queue import Hazards, Use
from restride_conformance import fill
from restride_conformance.case import Case
from restride_conformance.export.program import BoundRange, Buffer, Check, Copy, Dispatch, Program
from restride_conformance.operations import makes_destination
from restride_conformance.record import ShaderUnderTest
from restride_conformance.recording import Copied, RecordedMemory, RecordingRuntime, Submitted
from restride_conformance.run.groups import GroupedRuntime, shapes_under
from restride_conformance.setting import Setting, prepare
from restride_conformance.shader import module_source
from restride_conformance.shader.groups import Shape, module_of, with_shapes
from restride_conformance.shader.part import RuntimeUnderTest, TakesNoPart

_SCRATCH_SEED = 0x5C  # fills scratch memory before anything is written there


def program_of(case: Case, limits: Limits, shader: ShaderUnderTest | None = None, groups: str = "") -> Program:
    """What a device with these limits is given for a case, and what must come out.

    A destination holds its poison from the start; in ``restride test`` the device copies it there.

    Args:
        case: the problem.
        limits: those that plans respect, ``Host.limits``.
        shader: the module under test, which takes the place of ours as in ``restride test --shader``.
        groups: the shape of the work groups, ``Outcome.groups``.

    Raises:
        RestrideError: the operation refuses the case.
        TakesNoPart: the case does not use the shader.
    """
    setting = prepare(case)
    recording = RecordingRuntime(limits)
    runtime = cast(Runtime, recording)
    module_code = load_module if shader is None else module_source(shader)
    if groups:
        grouped = GroupedRuntime(runtime, shapes_of=shapes_under(shader))
        grouped.regroup(Shape.parse(groups))
        runtime, module_code = cast(Runtime, grouped), with_shapes(module_code)
    if shader is not None:
        under_test = RuntimeUnderTest(runtime, shader.module)
        under_test.begin(str(case))
        runtime = cast(Runtime, under_test)
    device = rs.Device.over(runtime)
    source = rs.from_buffer(setting.source, setting.src, device=device)
    out = None
    if case["out"] == "same":
        out = rs.Tensor(source.memory, setting.dst, device)
    elif not makes_destination(case):
        out = rs.from_buffer(setting.destination, setting.dst, device=device)
    result = case.operation.call(case)(case.viewed_tensor(source), out)
    if shader is not None and not any(module_of(spec.shader) == shader.module for spec in recording.submitted):
        raise TakesNoPart(f"{shader.module} takes no part in it")
    destination = cast(RecordedMemory, (result if out is None else out).memory)
    if out is None:
        # A result that the operation allocates comes to lie on poison, as in ``run.ways.destination_tensor``.
        destination.written.insert(0, (0, 0, setting.destination.data))
    builder = _Builder(module_code)
    places = [builder.index(cast(RecordedMemory, source.memory), "source"), builder.index(destination, "destination")]
    for step in recording.steps:
        builder.add(step)
    return Program(
        str(case), builder.modules, tuple(builder.buffers()), tuple(builder.steps), _check_of(case, setting, *places)
    )


def _check_of(case: Case, setting: Setting, source: int, destination: int) -> Check:
    """What ``check.judge`` compares, as values."""
    written, dtype = setting.written, case.dst.dtype
    size = rounded(written.size)
    expected = _padded(np.where(written, setting.padded, setting.destination), size)
    judged = _padded(written if makes_destination(case) else np.ones(written.size, np.bool_), size)
    places = setting.places[..., 0].astype(np.uint64)
    unchanged = () if source == destination else (source,)
    if case.operation.is_exact(case):
        return Check(destination, expected, judged, dtype, places, unchanged)
    judged[setting.places] = False
    return Check(destination, expected, judged, dtype, places, unchanged, setting.lowest, setting.highest)


def _padded(array: Array, size: int) -> Array:
    """The array with zeros at its end, up to the size that a memory has."""
    return np.concatenate([array, np.zeros(size - array.size, array.dtype)])


@dataclass
class _Used:
    """The fields of a memory's block that ``Hazards`` reads and sets."""

    nbytes: int
    epoch: int = -1
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: list[tuple[int, int]] = field(default_factory=list)


class _Builder:
    """Makes the buffers, modules and steps of a recording; the same parameters or module only once."""

    def __init__(self, source: Callable[[str], bytes]) -> None:
        self.modules: dict[str, bytes] = {}
        self.steps: list[Dispatch | Copy] = []
        self._source = source
        self._names: list[str] = []
        self._memories: list[RecordedMemory] = []
        self._blocks: list[_Used] = []
        self._hazards = Hazards()
        self._recorded = 0

    def index(self, memory: RecordedMemory, name: str = "") -> int:
        """The index of the buffer of a memory, which is made at the first call.

        Raises:
            UnsupportedError: the host writes to the memory after an earlier step, which one command buffer cannot do.
        """
        if any(steps > self._recorded for steps, _, _ in memory.written):
            raise UnsupportedError("the host writes to a memory between the dispatches that use it")
        for number, each in enumerate(self._memories):
            if each is memory:
                return number
        self._memories.append(memory)
        self._blocks.append(_Used(rounded(memory.nbytes)))
        self._names.append(name or f"{'table' if memory.written else 'scratch'}_{len(self._names)}")
        return len(self._memories) - 1

    def add(self, step: Submitted | Copied) -> None:
        """Make the next step."""
        if isinstance(step, Copied):
            src, dst, run = self.index(step.src), self.index(step.dst), step.run
            barrier = self._conflict(
                [(src, run.src_offset, run.nbytes, False), (dst, run.dst_offset, run.nbytes, True)]
            )
            self.steps.append(Copy(src, dst, run.src_offset, run.dst_offset, run.nbytes, barrier))
        else:
            self._add_dispatch(step)
        self._recorded += 1

    def buffers(self) -> list[Buffer]:
        """The buffers, with what the host wrote into them."""
        return [
            Buffer(name, _contents(memory, number))
            for number, (name, memory) in enumerate(zip(self._names, self._memories, strict=True))
        ]

    def _add_dispatch(self, step: Submitted) -> None:
        spec = step.spec
        bindings = [
            BoundRange(self.index(memory), each.offset, each.nbytes, each.writes)
            for memory, each in zip(step.memories, spec.bindings, strict=False)
        ]
        barrier = self._conflict([(each.buffer, each.offset, each.nbytes, each.writes) for each in bindings])
        if spec.parameters:
            bindings.append(self._parameters(spec.parameters))
        code, constants = specialized(self._source(spec.shader), spec.constants)
        self.steps.append(
            Dispatch(
                self._module(spec.shader, code), constants, spec.constants, spec.push, spec.groups, tuple(bindings),
                barrier,
            )
        )  # fmt: skip

    def _conflict(self, uses: Sequence[tuple[int, int, int, bool]]) -> bool:
        """True if the runtime records a barrier before a step with these uses: buffer, offset, bytes, and writes."""
        blocks = [(self._blocks[buffer], offset, offset + nbytes, writes) for buffer, offset, nbytes, writes in uses]
        return self._hazards.conflict(cast(Sequence[Use], blocks))

    def _parameters(self, contents: bytes) -> BoundRange:
        """The binding of a kernel's parameters: a buffer of their own, which dispatches with the same ones share."""
        for number, (name, memory) in enumerate(zip(self._names, self._memories, strict=True)):
            if name.startswith("parameters") and memory.written[0][2] == contents:
                return BoundRange(number, 0, rounded(len(contents)), False)
        memory = RecordedMemory(len(contents), written=[(0, 0, memoryview(contents))])
        number = self.index(memory, f"parameters_{len(self._names)}")
        return BoundRange(number, 0, rounded(len(contents)), False)

    def _module(self, shader: str, code: bytes) -> str:
        """The name of a module: the shader's, with a number if other code has this name already."""
        names = (shader if number == 1 else f"{shader}_v{number}" for number in count(1))
        return next(name for name in names if self.modules.setdefault(name, code) == code)


def _contents(memory: RecordedMemory, seed: int) -> Array:
    """The bytes of a memory before the first step: what was written, zeros up to its end, or poison if nothing was."""
    size = rounded(memory.nbytes)
    if not memory.written:
        return fill.poison(size, _SCRATCH_SEED + seed)
    contents = np.zeros(size, np.uint8)
    for _, offset, part in memory.written:
        contents[offset : offset + part.nbytes] = np.frombuffer(part, np.uint8)
    return contents
