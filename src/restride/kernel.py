"""KernelSpec and Run: one dispatch or copy as a plain value, and the limits of a device that a plan must respect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, TypeAlias, get_args

from restride.errors import DescriptorError

Elements: TypeAlias = Literal["neighbours", "apart"]
Transpose: TypeAlias = Literal["registers", "shared"]


@dataclass(frozen=True)
class Choices:
    """Which of several kernels that compute the same a plan takes; which is faster differs from device to device.

    elements: the elements of one invocation are neighbours, or a group apart, so that neighbouring invocations have
        neighbouring elements.
    transpose: through the registers of each invocation, or through memory that a group shares.
    """

    elements: Elements = "neighbours"
    transpose: Transpose = "registers"

    @classmethod
    def usual(cls, kind: str) -> Self:
        """The choices for a kind of device, as ``DeviceInfo`` names kinds.

        A CPU runs a group as one thread, so a barrier is expensive. Elsewhere neighbouring invocations share a memory
        transaction.
        """
        return cls() if kind == "cpu" else cls("apart", "shared")

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> Self:
        """The choices from their ``asdict``.

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

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in CANDIDATES)


CANDIDATES: dict[str, tuple[str, ...]] = {"elements": get_args(Elements), "transpose": get_args(Transpose)}
"""The candidates of each choice."""


@dataclass(frozen=True)
class Limits:
    """What a device and its runtime allow. Sizes are bytes.

    max_buffer_range: bytes that one binding may cover (Vulkan ``maxStorageBufferRange``), a multiple of 4.
    offset_alignment: what a binding's offset must be a multiple of; a power of two. 0: a binding always covers the
        whole memory (Kompute).
    max_group_count: work groups per axis of a dispatch, x, y and z.
    choices: which of several kernels, where the better one differs from device to device.

    The properties are choices too, the same on every device, and change no result; ``SteeredLimits`` overrides them.
    They are not fields, because reports list the fields as facts of the device.
    """

    max_buffer_range: int = 128 << 20
    offset_alignment: int = 16
    max_group_count: tuple[int, int, int] = (65535, 65535, 65535)
    choices: Choices = field(default_factory=Choices)

    def __hash__(self) -> int:
        """From the two fields that mostly differ: every key of the plan cache hashes its limits."""
        return hash((self.max_buffer_range, self.offset_alignment))

    @property
    def widest_element(self) -> int:
        """Bytes of the widest load and store, to which a copy brings narrower elements where alignment allows."""
        return 16

    @property
    def shortcuts(self) -> bool:
        """A copy of words may go through ``run_copy``, ``strided_gather``, ``strided_scatter`` or ``transpose``.

        ``strided_copy`` can do all that they do, slower.
        """
        return True

    @property
    def copies_runs(self) -> bool:
        """A run of bytes goes through the device's own copy. Kompute's copies whole memories only."""
        return self.offset_alignment > 0

    @property
    def elements_per_dispatch(self) -> int:
        """Fewest elements that justify an extra dispatch of a tiled copy; with fewer the general kernel does it in one.

        On llvmpipe a dispatch costs about as much as the general kernel loses on this many elements.
        """
        return 2048

    def allow(self, dispatches: int, elements: int) -> bool:
        """True if a tiled copy of ``elements`` may take ``dispatches``."""
        return (dispatches - 1) * self.elements_per_dispatch <= elements


@dataclass(frozen=True)
class Binding:
    """The bytes of one memory that a kernel sees: ``[offset, offset + nbytes)``, both multiples of 4."""

    offset: int
    nbytes: int
    writes: bool = False


@dataclass(frozen=True)
class KernelSpec:
    """One dispatch, without its memories.

    shader: name of a module, as in ``shaders/variants.txt``.
    constants: specialization constants 0, 1, 2, ... as uint32.
    push: push constants as uint32; at most 32 words (128 bytes, what every Vulkan device has).
    parameters: contents of the storage buffer bound after ``bindings``; empty: no such binding.
    groups: work groups along x, y and z.
    bindings: binding ``i`` covers a part of memory ``i``.
    """

    shader: str
    constants: tuple[int, ...]
    push: tuple[int, ...]
    parameters: bytes
    groups: tuple[int, int, int]
    bindings: tuple[Binding, ...]


class Run(NamedTuple):
    """Bytes that the device's own copy moves from memory 0 to memory 1, at any offset and of any size."""

    src_offset: int
    dst_offset: int
    nbytes: int
