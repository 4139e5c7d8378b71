"""Choices between kernels that do the same: which is faster differs from device to device, results do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

from restride.errors import DescriptorError

Elements: TypeAlias = Literal["neighbours", "apart"]
Transpose: TypeAlias = Literal["registers", "shared"]


@dataclass(frozen=True)
class Choices:
    """What plans choose for a device.

    elements: the elements of one invocation are neighbours, or a group apart, so that neighbouring invocations have
        neighbouring elements.
    transpose: through the registers of each invocation, or through memory that a group shares.
    """

    elements: Elements = "neighbours"
    transpose: Transpose = "registers"

    @classmethod
    def usual(cls, kind: str) -> Self:
        """The choices for a kind of device, as ``DeviceInfo`` names kinds.

        A CPU runs a group as one thread, to which a barrier is dear. Elsewhere neighbouring invocations share a
        memory transaction.
        """
        return cls() if kind == "cpu" else cls("apart", "shared")

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> Self:
        """From what ``asdict`` made.

        Raises:
            DescriptorError: another choice or candidate, or not all of the choices.
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
"""By the name of a choice: what it may be."""
