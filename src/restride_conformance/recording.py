"""A runtime that dispatches nothing: it records what an operation submits to a device with given limits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NoReturn, cast

from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.kernel import ByteRange, Choices, KernelSpec, Limits
from restride.runtime import Counters, DeviceInfo, Memory

GPU = Limits(
    max_buffer_range=(1 << 32) - 4, offset_alignment=16, choices=Choices.usual("discrete"), max_memory=16 << 30
)
"""Limits of a discrete GPU that AMD's and NVIDIA's devices have in common."""


@dataclass(eq=False)
class RecordedMemory:
    """Memory of a device that does not exist.

    written: what the host wrote, in order: the number of steps recorded before, the offset, and the bytes themselves,
        which are no copy.
    """

    nbytes: int
    readonly: bool = False
    is_shareable: bool = False
    written: list[tuple[int, int, memoryview]] = field(default_factory=list)

    def free(self) -> None:
        """Nothing to do."""


@dataclass(frozen=True)
class Submitted:
    """A kernel with its memories; binding ``i`` covers a part of memory ``i``."""

    spec: KernelSpec
    memories: tuple[RecordedMemory, ...]


@dataclass(frozen=True)
class Copied:
    """The device's own copy of bytes of ``src`` to ``dst``."""

    src: RecordedMemory
    dst: RecordedMemory
    run: ByteRange


@dataclass
class RecordingRuntime:
    """A ``Runtime`` that only records. steps: the kernels and the device's own copies, in order."""

    limits: Limits = GPU
    steps: list[Submitted | Copied] = field(default_factory=list)

    @property
    def submitted(self) -> list[KernelSpec]:
        """The kernels, in order, without the device's own copies."""
        return [step.spec for step in self.steps if isinstance(step, Submitted)]

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
        return RecordedMemory(nbytes)

    def _refuse(self, *_arguments: object, **_named: object) -> NoReturn:
        """Refuse a call that needs the bytes of a memory."""
        raise UnsupportedError("a recording computes nothing: its memories have no bytes to read, import or export")

    import_bytes = export_fd = import_fd = mapped_bytes = read = _refuse

    def write(self, memory: Memory, offset: int, *data: memoryview) -> None:
        """Note the bytes in the memory, without a copy of them."""
        for part in data:
            _recorded(memory).written.append((len(self.steps), offset, part))
            offset += part.nbytes

    def submit(self, kernels: Sequence[KernelSpec], memories: Sequence[Memory]) -> None:
        """Record the kernels."""
        self.steps += [Submitted(kernel, tuple(map(_recorded, memories))) for kernel in kernels]

    def copy(
        self,
        src: Memory,
        dst: Memory,
        nbytes: int,
        src_offset: int = 0,
        dst_offset: int = 0,
        kernels: Sequence[KernelSpec] = (),
    ) -> None:
        """Record the kernels, then the copy."""
        self.submit(kernels, (src, dst))
        if nbytes:
            self.steps.append(Copied(_recorded(src), _recorded(dst), ByteRange(src_offset, dst_offset, nbytes)))

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


def _recorded(memory: Memory) -> RecordedMemory:
    return cast(RecordedMemory, memory)
