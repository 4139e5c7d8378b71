"""Declared: what a SPIR-V module says of its interface, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class EntryPoint(NamedTuple):
    """A function that a pipeline may start at; ``local_size`` is None where the module does not fix it."""

    model: str
    name: str
    local_size: tuple[int, int, int] | None


class Variable(NamedTuple):
    """A global variable.

    is_buffer: a block of a storage buffer, in either of the two spellings that SPIR-V 1.3 has.
    nbytes: of the block it points to, or of all its words in shared memory; None: not known before the module runs.
    """

    storage: str
    descriptor_set: int | None
    binding: int | None
    is_buffer: bool
    nbytes: int | None


class Constant(NamedTuple):
    """A specialization constant that a caller may set: its number and its type, "bool", "int32", "float32", ..."""

    number: int
    kind: str


@dataclass(frozen=True)
class Declared:
    """What a module says of itself."""

    version: tuple[int, int]
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]
    entry_points: tuple[EntryPoint, ...]
    variables: tuple[Variable, ...]
    constants: tuple[Constant, ...]
