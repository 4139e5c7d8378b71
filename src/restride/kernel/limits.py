"""The limits of a device that a plan must respect, and the choices between kernels that differ only in speed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, get_args, get_type_hints

from restride.errors import DescriptorError

ElementsChoice: TypeAlias = Literal["neighbours", "apart"]
TransposeChoice: TypeAlias = Literal["registers", "narrow", "shared"]
RowsChoice: TypeAlias = Literal["8", "4", "2", "1"]
InvocationsChoice: TypeAlias = Literal["few", "many"]
RunsChoice: TypeAlias = Literal["command", "kernel"]

NVIDIA, ARM = 0x10DE, 0x13B5
"""PCI vendor numbers."""


@dataclass(frozen=True)
class Choices:
    """Choices between kernels with the same results; which one is faster depends on the device.

    elements: which elements one invocation computes. "neighbours": adjacent ones. "apart": elements that are one work
        group's size apart, so that adjacent invocations have adjacent elements; an invocation then computes at most
        four elements, or one pixel, of a resized row.
    transpose: "registers" and "narrow": through the registers of each invocation, in groups that are wide or narrow
        along the rows they write. "shared": through memory that a group shares.
    rows: the largest number of rows of a resized image per invocation.
    invocations: "few": a dispatch has as many as the other choices lead to. "many": it has at least
        ``fewest_invocations``.
    runs: how bytes that are contiguous on both sides are copied: by Vulkan's copy command, or by a kernel.
    """

    elements: ElementsChoice = "neighbours"
    transpose: TransposeChoice = "registers"
    rows: RowsChoice = "8"
    invocations: InvocationsChoice = "few"
    runs: RunsChoice = "command"

    @staticmethod
    def usual(kind: str, driver_version: str = "", vendor_id: int = 0) -> Choices:
        """The choices for a kind of device, a driver and a vendor, as ``DeviceInfo`` names them: a row of ``USUAL``."""
        if kind != "cpu":
            return USUAL.get(vendor_id, USUAL["gpu"])
        mesa = re.match(r"Mesa (\d+)\.", driver_version)
        return USUAL["cpu, Mesa 25" if mesa and int(mesa[1]) >= 25 else "cpu"]

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> Self:
        """The choices from a dictionary in the form of ``asdict``.

        Raises:
            DescriptorError: an unknown choice or candidate, or a choice is missing.
        """
        if set(record) != set(CANDIDATES):
            raise DescriptorError(f"the choices are {', '.join(CANDIDATES)}, not {', '.join(map(repr, record))}")
        for name, candidates in CANDIDATES.items():
            if record[name] not in candidates:
                raise DescriptorError(f"{name} is one of {', '.join(candidates)}, not {record[name]!r}")
        return cls(**record)

    @property
    def neighbours(self) -> bool:
        """True when the elements of an invocation are neighbours: a specialization constant of kernels."""
        return self.elements == "neighbours"

    def fewest_invocations(self, elements: int) -> int:
        """Minimum number of invocations for a dispatch of ``elements``, if the kernel can do less in each.

        A GPU hides the latency of memory by work in flight. 80 compute units that keep 32 subgroups of 32 each have
        80,000 invocations at once; 224 x 224 x 3 elements are too few for that, and get one invocation for every four:
        37,632.
        """
        return min(elements // 4, MANY) if self.invocations == "many" else 0

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in CANDIDATES)


CANDIDATES: dict[str, tuple[str, ...]] = {name: get_args(kind) for name, kind in get_type_hints(Choices).items()}
"""The values that each choice may have."""

_GPU = Choices("apart", "shared", "8", "many")

USUAL: dict[str | int, Choices] = {
    # A CPU runs a work group as one thread, so a barrier is expensive, and neighbours share a cache line.
    "cpu": Choices(),
    # Measured on lavapipe: a transpose in narrow groups takes 0.6 to 0.95 of the time in wide ones; with Mesa 22.3 both
    # take equally long.
    "cpu, Mesa 25": Choices(transpose="narrow"),
    # Neighbouring invocations share a memory transaction, and a result must be cut into enough invocations for all
    # units.
    "gpu": _GPU,
    # Measured on an H200: the copy command moves 0.85 TB/s, or 0.05 TB/s if the size is not a multiple of 16; a kernel
    # moves 3.5 TB/s.
    NVIDIA: replace(_GPU, runs="kernel"),
    # Mali's shared memory is ordinary memory: Mesa's compiler counts 5 cycles of the load and store unit for a word of
    # a transpose through it, and 0.75 through registers (f32, Mali-G610).
    ARM: replace(_GPU, transpose="registers"),
}
"""The usual choices for each kind of device, and for GPUs of each vendor."""

MANY = 80_000
"""The number of invocations that keeps the largest GPUs busy."""


@dataclass(frozen=True)
class Limits:
    """The limits of a device and its runtime, and the choices for it. Sizes are bytes.

    max_buffer_range: bytes that one binding may cover (Vulkan ``maxStorageBufferRange``), a multiple of 4.
    offset_alignment: a binding's offset must be a multiple of this power of two. 0: a binding always covers the whole
        memory (Kompute).
    max_group_count: work groups per axis of a dispatch, x, y and z.
    choices: which of several kernels to use, where the faster one differs from device to device.
    max_memory: bytes of the largest memory, by its heap or its largest allocation. Plans do not depend on it, so
        limits that differ only in it are equal.

    The properties are choices too, and change no result; ``SteeredLimits`` overrides them. They are not fields, because
    reports list the fields as facts of the device.
    """

    max_buffer_range: int = 128 << 20
    offset_alignment: int = 16
    max_group_count: tuple[int, int, int] = (65535, 65535, 65535)
    choices: Choices = field(default_factory=Choices)
    max_memory: int = field(default=1 << 62, compare=False)

    def __hash__(self) -> int:
        """Hash only the two fields that usually differ: every key of the plan cache hashes its limits."""
        return hash((self.max_buffer_range, self.offset_alignment))

    @property
    def window_alignment(self) -> int:
        """A binding begins at a multiple of this many bytes, at least those of the widest load; 0: it begins at 0."""
        return max(self.offset_alignment, 16) if self.offset_alignment else 0

    @property
    def widest_element(self) -> int:
        """Bytes of the widest load and store: copies join narrower elements to this width where alignment allows."""
        return 16

    @property
    def shortcuts(self) -> bool:
        """True if copies may use other kernels than ``strided_copy`` and ``element_copy``, which are slower."""
        return True

    @property
    def copies_runs(self) -> bool:
        """True if a run of bytes is copied by the copy command. Kompute's command copies whole memories only."""
        return self.offset_alignment > 0 and self.choices.runs == "command"

    @property
    def elements_per_dispatch(self) -> int:
        """Minimum number of elements that justify an extra dispatch of a tiled copy, instead of the general kernel.

        On llvmpipe a dispatch costs about as much as the general kernel loses on this many elements.
        """
        return 2048

    def allow(self, dispatches: int, elements: int) -> bool:
        """True if a tiled copy of ``elements`` may take ``dispatches``."""
        return (dispatches - 1) * self.elements_per_dispatch <= elements
