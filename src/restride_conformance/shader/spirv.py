"""The interface that a SPIR-V module declares, read from bytes that nobody has checked.

One pass over the instructions: a module declares everything before it uses it, so a type's size is known as soon as the
type is, and nothing here recurses. What is not of the interface is stepped over.

Source: SPIR-V specification 1.6, sections 2.3 (physical layout) and 3 (numbers of instructions, decorations, execution
models, storage classes and capabilities).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from restride.errors import DescriptorError

MOST_BYTES = 4 << 20
"""Of a module; the largest of ours has 42 KiB."""

MAGIC = 0x07230203

_LARGEST = 1 << 32
"""Bytes at which sizes stop growing: no interface is so large, and products of lengths stay small numbers."""

_MOST_IDS = 0x3FFFFF  # universal limit, section 2.17

# Decorations (section 3.20).
_SPEC_ID, _BLOCK, _BUFFER_BLOCK, _ARRAY_STRIDE, _BUILT_IN, _BINDING, _SET, _OFFSET = 1, 2, 3, 6, 11, 33, 34, 35
_WORKGROUP_SIZE = 25  # built-in
_LOCAL_SIZE = 17  # execution mode


STORAGE_CLASSES = {
    0: "UniformConstant", 1: "Input", 2: "Uniform", 3: "Output", 4: "Workgroup", 5: "CrossWorkgroup", 6: "Private",
    7: "Function", 8: "Generic", 9: "PushConstant", 10: "AtomicCounter", 11: "Image", 12: "StorageBuffer",
    5349: "PhysicalStorageBuffer",
}  # fmt: skip

CAPABILITIES = {
    0: "Matrix", 1: "Shader", 2: "Geometry", 3: "Tessellation", 4: "Addresses", 5: "Linkage", 6: "Kernel",
    9: "Float16", 10: "Float64", 11: "Int64", 12: "Int64Atomics", 22: "Int16", 39: "Int8", 61: "GroupNonUniform",
    62: "GroupNonUniformVote", 63: "GroupNonUniformArithmetic", 64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle", 4433: "StorageBuffer16BitAccess", 4441: "VariablePointersStorageBuffer",
    4442: "VariablePointers", 4448: "StorageBuffer8BitAccess", 5345: "VulkanMemoryModel",
    5347: "PhysicalStorageBufferAddresses",
}  # fmt: skip

EXECUTION_MODELS = {
    0: "Vertex", 1: "TessellationControl", 2: "TessellationEvaluation", 3: "Geometry", 4: "Fragment", 5: "GLCompute",
    6: "Kernel",
}  # fmt: skip


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


def is_spirv(content: bytes) -> bool:
    """True for what begins like SPIR-V, in either byte order."""
    return content[:4] in (struct.pack("<I", MAGIC), struct.pack(">I", MAGIC))


def read_interface(code: bytes) -> Declared:
    """The interface of a module.

    Raises:
        DescriptorError: it is not SPIR-V, not little-endian, too large, or cut off.
    """
    if not is_spirv(code):
        raise DescriptorError(f"SPIR-V begins with the bytes 03 02 23 07, not {code[:4].hex(' ') or 'nothing'}")
    if code[0] != MAGIC & 0xFF:
        raise DescriptorError("this SPIR-V is big-endian; restride takes the words in little-endian order")
    if not 20 <= len(code) <= MOST_BYTES or len(code) % 4:
        raise DescriptorError(f"SPIR-V is whole words, 20 to {MOST_BYTES} bytes; this has {len(code)}")
    words: list[int] = np.frombuffer(code, "<u4").tolist()
    _, version, _, bound, schema = words[:5]
    if version & 0xFF0000FF or schema or not 0 < bound <= _MOST_IDS:
        raise DescriptorError(
            f"a SPIR-V header has a version such as 0x00010300, a bound of 1 to {_MOST_IDS} and schema 0, not "
            f"0x{version:08x}, {bound} and {schema}"
        )
    reader = _Reader(bound)
    position = 5
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        if count == 0 or position + count > len(words):
            raise DescriptorError(
                f"SPIR-V instruction {opcode} at word {position} says {count} words, of {len(words) - position} left"
            )
        reader.take(opcode, words[position + 1 : position + count], position)
        position += count
    return reader.interface((version >> 16, version >> 8 & 0xFF))


class _Type(NamedTuple):
    """A type. nbytes: as it is laid out in a block. content: of its words alone, as in shared memory."""

    kind: str
    nbytes: int | None = None
    content: int | None = None
    pointee: int = 0


_UNKNOWN = _Type("unknown")


class _Reader:
    """What the instructions so far have declared."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.capabilities: list[str] = []
        self.extensions: list[str] = []
        self.entry_points: list[tuple[int, str, str]] = []
        self.local_sizes: dict[int, tuple[int, int, int]] = {}
        self.workgroup_size: tuple[int | None, ...] = ()  # None: not fixed
        self.decorations: dict[int, dict[int, int]] = {}
        self.offsets: dict[int, dict[int, int]] = {}
        self.types: dict[int, _Type] = {}
        self.values: dict[int, int] = {}
        self.variables: list[Variable] = []
        self.constants: list[Constant] = []

    def take(self, opcode: int, operands: list[int], position: int) -> None:
        """One instruction."""
        least, method = _INSTRUCTIONS.get(opcode, (0, None))
        if len(operands) < least:
            raise DescriptorError(f"SPIR-V instruction {opcode} at word {position} lacks operands: it has {operands}")
        if method is not None:
            method(self, opcode, operands)

    def interface(self, version: tuple[int, int]) -> Declared:
        """What the whole module says."""
        entry_points = tuple(
            EntryPoint(model, name, self._local_size(function)) for function, model, name in self.entry_points
        )
        return Declared(
            version,
            tuple(self.capabilities),
            tuple(self.extensions),
            entry_points,
            tuple(self.variables),
            tuple(self.constants),
        )

    def _local_size(self, function: int) -> tuple[int, int, int] | None:
        if not self.workgroup_size:
            return self.local_sizes.get(function)
        # The built-in outdoes the execution mode.
        fixed = [size for size in self.workgroup_size if size is not None]
        return (fixed[0], fixed[1], fixed[2]) if len(fixed) == len(self.workgroup_size) == 3 else None

    def _new(self, result: int) -> int:
        if not 0 < result < self.bound:
            raise DescriptorError(f"SPIR-V id {result} is outside the bound {self.bound} of its header")
        return result

    def _decoration(self, target: int, decoration: int) -> int | None:
        return self.decorations.get(target, {}).get(decoration)

    def capability(self, _opcode: int, operands: list[int]) -> None:
        self.capabilities.append(CAPABILITIES.get(operands[0], f"number {operands[0]}"))

    def extension(self, _opcode: int, operands: list[int]) -> None:
        self.extensions.append(_text(operands))

    def entry_point(self, _opcode: int, operands: list[int]) -> None:
        model = EXECUTION_MODELS.get(operands[0], f"number {operands[0]}")
        self.entry_points.append((self._new(operands[1]), model, _text(operands[2:])))

    def execution_mode(self, _opcode: int, operands: list[int]) -> None:
        if operands[1] == _LOCAL_SIZE and len(operands) == 5:
            self.local_sizes[operands[0]] = (operands[2], operands[3], operands[4])

    def decorate(self, _opcode: int, operands: list[int]) -> None:
        target, decoration, *literals = operands
        self.decorations.setdefault(self._new(target), {})[decoration] = literals[0] if literals else 0

    def refuse(self, opcode: int, _operands: list[int]) -> None:
        raise DescriptorError(f"SPIR-V instruction {_GROUPS[opcode]}: the contract has no decorations in groups")

    def decorate_member(self, _opcode: int, operands: list[int]) -> None:
        target, member, decoration, *literals = operands
        if decoration == _OFFSET and literals:
            self.offsets.setdefault(self._new(target), {})[member] = literals[0]

    def scalar(self, opcode: int, operands: list[int]) -> None:
        kind = _SCALARS[opcode]
        width = operands[1] if kind != "bool" and len(operands) > 1 else 0
        nbytes = width // 8 or None
        self.types[self._new(operands[0])] = _Type(f"{kind}{width or ''}", nbytes, nbytes or 4)

    def vector(self, _opcode: int, operands: list[int]) -> None:
        result, element, count = operands[:3]
        of = self.types.get(element, _UNKNOWN)
        self.types[self._new(result)] = _Type("vector", _times(of.nbytes, count), _times(of.content, count))

    def array(self, _opcode: int, operands: list[int]) -> None:
        result, element, length = operands[:3]
        stride = self._decoration(result, _ARRAY_STRIDE)
        of, count = self.types.get(element, _UNKNOWN), self.values.get(length)
        nbytes = of.nbytes if stride is None else stride
        self.types[self._new(result)] = _Type("array", _times(nbytes, count), _times(of.content, count))

    def structure(self, _opcode: int, operands: list[int]) -> None:
        result, *members = operands
        offsets = self.offsets.get(result, {})
        types = [self.types.get(member, _UNKNOWN) for member in members]
        ends = [_plus(its.nbytes, offsets.get(number)) for number, its in enumerate(types)]
        nbytes = None if None in ends else max((end for end in ends if end is not None), default=0)
        content: int | None = 0
        for its in types:
            content = _plus(content, its.content)
        self.types[self._new(result)] = _Type("struct", nbytes, content)

    def pointer(self, _opcode: int, operands: list[int]) -> None:
        result, _storage, pointee = operands[:3]
        self.types[self._new(result)] = _Type("pointer", pointee=pointee)

    def constant(self, opcode: int, operands: list[int]) -> None:
        type_id, result = operands[:2]
        number = self._decoration(self._new(result), _SPEC_ID)
        if opcode == _OP_CONSTANT:
            if len(operands) == 3:
                self.values[result] = operands[2]
        elif number is not None:
            self.constants.append(Constant(number, self.types.get(type_id, _UNKNOWN).kind))

    def composite(self, opcode: int, operands: list[int]) -> None:
        _its_type, result, *parts = operands
        if self._decoration(self._new(result), _BUILT_IN) == _WORKGROUP_SIZE:
            fixed = opcode == _OP_CONSTANT_COMPOSITE
            self.workgroup_size = tuple(self.values.get(part) if fixed else None for part in parts) or (None,)

    def variable(self, _opcode: int, operands: list[int]) -> None:
        type_id, result, storage = operands[:3]
        name = STORAGE_CLASSES.get(storage, f"number {storage}")
        if name == "Function":
            return
        pointee = self.types.get(type_id, _UNKNOWN).pointee
        block = self.types.get(pointee, _UNKNOWN)
        decorated = self.decorations.get(pointee, {})
        spelled = (name, _BLOCK in decorated, _BUFFER_BLOCK in decorated)
        is_buffer = spelled in (("StorageBuffer", True, False), ("Uniform", False, True)) and block.kind == "struct"
        self.variables.append(
            Variable(
                name,
                self._decoration(self._new(result), _SET),
                self._decoration(result, _BINDING),
                is_buffer,
                block.content if name == "Workgroup" else block.nbytes,
            )
        )


def _times(nbytes: int | None, count: int | None) -> int | None:
    return None if nbytes is None or count is None else min(nbytes * count, _LARGEST)


def _plus(nbytes: int | None, more: int | None) -> int | None:
    return None if nbytes is None or more is None else min(nbytes + more, _LARGEST)


def _text(words: list[int]) -> str:
    """A literal string: UTF-8, ended by a zero byte, padded to whole words."""
    return np.array(words, "<u4").tobytes().split(b"\0", 1)[0].decode(errors="replace")


_OP_CONSTANT, _OP_CONSTANT_COMPOSITE = 43, 44
_SCALARS = {20: "bool", 21: "int", 22: "float"}
_GROUPS = {73: "OpDecorationGroup", 74: "OpGroupDecorate", 75: "OpGroupMemberDecorate"}

_INSTRUCTIONS = {
    opcode: (least, method)
    for method, opcodes in (
        (_Reader.extension, {10: 1}),
        (_Reader.entry_point, {15: 3}),
        (_Reader.execution_mode, {16: 2}),
        (_Reader.capability, {17: 1}),
        (_Reader.scalar, {20: 1, 21: 3, 22: 2}),
        (_Reader.vector, {23: 3}),
        (_Reader.array, {28: 3}),
        (_Reader.structure, {30: 1}),
        (_Reader.pointer, {32: 3}),
        (_Reader.constant, {_OP_CONSTANT: 3, 48: 2, 49: 2, 50: 3}),
        (_Reader.composite, {_OP_CONSTANT_COMPOSITE: 2, 51: 2}),
        (_Reader.variable, {59: 3}),
        (_Reader.decorate, {71: 2}),
        (_Reader.decorate_member, {72: 3}),
        (_Reader.refuse, dict.fromkeys(_GROUPS, 0)),
    )
    for opcode, least in opcodes.items()
}
"""Number of an instruction: its least operands, and what reads it."""
