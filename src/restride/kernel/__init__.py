"""The parts of a plan as plain values: dispatches, and the limits and modules that they depend on."""

from restride.kernel.limits import (
    ARM,
    CANDIDATES,
    NVIDIA,
    Choices,
    ElementsChoice,
    InvocationsChoice,
    Limits,
    RowsChoice,
    TransposeChoice,
)
from restride.kernel.spec import Binding, ByteRange, KernelSpec, struct_words

__all__ = [
    "ARM",
    "CANDIDATES",
    "NVIDIA",
    "Binding",
    "ByteRange",
    "Choices",
    "ElementsChoice",
    "InvocationsChoice",
    "KernelSpec",
    "Limits",
    "RowsChoice",
    "TransposeChoice",
    "struct_words",
]
