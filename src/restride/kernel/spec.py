"""One dispatch or copy as a plain value: which module, with which constants and push constants, on which bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import and_
from typing import NamedTuple, Self

from restride.kernel.modules import interface_of


class Binding(NamedTuple):
    """The bytes of one memory that a kernel sees: ``[offset, offset + nbytes)``, both multiples of 4."""

    offset: int
    nbytes: int
    writes: bool = False


@dataclass(frozen=True)
class KernelSpec:
    """One dispatch, without its memories.

    shader: name of a module, as in ``shaders/variants.txt``.
    constants: specialization constants as uint32, each at the place of its id; 0 for ids without a constant.
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

    @classmethod
    def of(
        cls,
        shader: str,
        constants: Mapping[str, int],
        push: Mapping[str, int],
        parameters: bytes,
        groups: tuple[int, int, int],
        bindings: tuple[Binding, ...],
    ) -> Self:
        """The dispatch of a shipped module whose constants and push constants are given by their names in its GLSL.

        ``run_copy_32`` has the constants NEIGHBOURS, id 0, and EACH, id 1: ``{"EACH": 4, "NEIGHBOURS": 1}`` is (1, 4).
        Push constants that are left out are 0; of the others the low 32 bits are pushed, so that -1 is 4294967295.

        Raises:
            AssertionError: the module has no constant or push constant of a name, or a constant is not given.
        """
        declared = interface_of(shader)
        if constants.keys() != declared.constants.keys():
            raise AssertionError(_mismatch(shader, "constants", constants, declared.constants))
        words = dict.fromkeys(declared.push, 0)
        words.update(push)
        if len(words) > len(declared.push):
            raise AssertionError(_mismatch(shader, "push constants", push, declared.push))
        packed = tuple(map(int, map(constants.get, declared.names, repeat(0))))
        pushed = tuple(map(and_, words.values(), repeat(0xFFFFFFFF)))
        return cls(shader, packed, pushed, parameters, groups, bindings)

    def at(self, starts: Sequence[int]) -> KernelSpec:
        """The same dispatch, with memory ``i`` read and written ``starts[i]`` bytes later.

        The binding of a memory that is bound but not read moves too. It stays inside the memory, because an element
        lies behind the start.
        """
        bindings = tuple(
            Binding(binding.offset + start, binding.nbytes, binding.writes)
            for binding, start in zip(self.bindings, starts, strict=True)
        )
        return KernelSpec(self.shader, self.constants, self.push, self.parameters, self.groups, bindings)

    def constant(self, name: str) -> int:
        """A specialization constant of a shipped module by its name in GLSL."""
        return self.constants[interface_of(self.shader).constants[name]]

    def pushed(self, name: str) -> int:
        """A push constant of a shipped module by its name in GLSL."""
        return self.push[interface_of(self.shader).push.index(name)]


def struct_words(shader: str, struct: str, /, **members: int | tuple[int, ...]) -> list[int]:
    """A struct of a shipped module's parameters as uint32 words, from its members by their names in GLSL.

    A vector is a tuple. Of each number the low 32 bits are taken, so that -1 is 4294967295.

    Raises:
        AssertionError: a member is not given, or what is given is no member.
    """
    declared = interface_of(shader).structs[struct]
    if members.keys() != declared.keys():
        raise AssertionError(_mismatch(shader, f"members of {struct}", members, declared))
    words: list[int] = []
    for value in map(members.__getitem__, declared):
        words += value if isinstance(value, tuple) else (value,)
    return list(map(and_, words, repeat(0xFFFFFFFF)))


def _mismatch(shader: str, kind: str, given: Iterable[str], declared: Iterable[str]) -> str:
    return f"{shader} has the {kind} {', '.join(declared)}, and is given {', '.join(given)}"


class ByteRange(NamedTuple):
    """Bytes that the device's own copy moves from memory 0 to memory 1, at any offset and of any size."""

    src_offset: int
    dst_offset: int
    nbytes: int
