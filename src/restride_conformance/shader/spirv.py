"""Read the interface that a SPIR-V module declares, from untrusted bytes.

One pass over the instructions suffices: a module declares everything before using it, so a type's size is known as soon
as the type is, and nothing here recurses. Instructions that do not concern the interface are skipped.

Source: SPIR-V specification 1.6, sections 2.3 (physical layout) and 3 (numbers of instructions, decorations, execution
models, storage classes and capabilities).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from restride.errors import DescriptorError

MAX_BYTES = 4 << 20
"""Maximum size of a module in bytes; our largest has 42 KiB."""

MAGIC = 0x07230203

_MAX = 1 << 32
"""Computed sizes are capped at this many bytes: no interface is so large, and products of lengths stay small."""

_MAX_IDS = 0x3FFFFF  # universal limit, section 2.17

# Decorations (section 3.20).
_SPEC_ID, _BLOCK, _BUFFER_BLOCK, _ARRAY_STRIDE, _BUILT_IN, _BINDING, _SET = 1, 2, 3, 6, 11, 33, 34
_WORKGROUP_SIZE = 25  # built-in


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
    """An entry point.

    local_size: the size of a work group along x, y and z; where a specialization constant sets it, its default; None:
        the module computes it from constants.
    size_constants: the ids of the specialization constants that set it along x, y and z; None: a number does.
    """

    model: str
    name: str
    local_size: tuple[int, int, int] | None
    size_constants: tuple[int | None, ...] = (None, None, None)


class Variable(NamedTuple):
    """A global variable.

    is_buffer: True for a storage buffer, in either of the two forms that SPIR-V 1.3 has.
    nbytes: the size of the block that it points to, or of all its words if it is in shared memory; None: unknown until
        the module is specialised or runs.
    """

    storage: str
    descriptor_set: int | None
    binding: int | None
    is_buffer: bool
    nbytes: int | None


class Constant(NamedTuple):
    """A specialization constant that a caller may set: its id and its type, "bool", "int32", "float32", ..."""

    number: int
    kind: str


@dataclass(frozen=True)
class Declared:
    """The interface that a module declares."""

    version: tuple[int, int]
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]
    entry_points: tuple[EntryPoint, ...]
    variables: tuple[Variable, ...]
    constants: tuple[Constant, ...]


def is_spirv(content: bytes) -> bool:
    """True if the content begins with SPIR-V's magic number, in either byte order."""
    return content[:4] in (struct.pack("<I", MAGIC), struct.pack(">I", MAGIC))


def read_interface(code: bytes) -> Declared:
    """Read the interface of a module.

    Raises:
        DescriptorError: the bytes are not SPIR-V, not little-endian, too large, or cut off.
    """
    if not is_spirv(code):
        raise DescriptorError(f"SPIR-V begins with the bytes 03 02 23 07, not {code[:4].hex(' ') or 'nothing'}")
    if code[0] != MAGIC & 0xFF:
        raise DescriptorError("this SPIR-V is big-endian; restride takes the words in little-endian order")
    if not 20 <= len(code) <= MAX_BYTES or len(code) % 4:
        raise DescriptorError(f"SPIR-V is whole words, 20 to {MAX_BYTES} bytes; this has {len(code)}")
    words: list[int] = np.frombuffer(code, "<u4").tolist()
    _, version, _, bound, schema = words[:5]
    if version & 0xFF0000FF or schema or not 0 < bound <= _MAX_IDS:
        raise DescriptorError(
            f"a SPIR-V header has a version such as 0x00010300, a bound of 1 to {_MAX_IDS} and schema 0, not "
            f"0x{version:08x}, {bound} and {schema}"
        )
    reader = _Reader(bound)
    for position, opcode, operands in instructions(words):
        reader.take(opcode, operands, position)
    return reader.interface((version >> 16, version >> 8 & 0xFF))


def instructions(words: list[int]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the place, the opcode and the operands of each instruction in the words of a module.

    Raises:
        DescriptorError: an instruction has more words than are left.
    """
    position = 5
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        if count == 0 or position + count > len(words):
            raise DescriptorError(
                f"SPIR-V instruction {opcode} at word {position} says {count} words, of {len(words) - position} left"
            )
        yield position, opcode, words[position + 1 : position + count]
        position += count


class _Type(NamedTuple):
    """A type. nbytes: size with its explicit layout in a block. content: size without padding, as in shared memory."""

    kind: str
    nbytes: int | None = None
    content: int | None = None
    pointee: int = 0


_UNKNOWN = _Type("unknown")


class _Reader:
    """The declarations of the instructions read so far."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.capabilities: list[str] = []
        self.extensions: list[str] = []
        self.entry_points: list[tuple[int, str, str]] = []
        self.local_sizes: dict[int, tuple[int, int, int]] = {}
        self.workgroup_size: list[int] | None = None  # the ids of its constants
        self.decorations: dict[int, dict[int, int]] = {}
        self.offsets: dict[int, dict[int, int]] = {}
        self.types: dict[int, _Type] = {}
        self.values: dict[int, int] = {}
        self.defaults: dict[int, int] = {}
        self.variables: list[Variable] = []
        self.constants: list[Constant] = []

    def take(self, opcode: int, operands: list[int], position: int) -> None:  # noqa: PLR0912 - one for each instruction
        """Record the declaration in one instruction; ``position`` is its word, for messages."""
        if opcode not in _MIN_OPERANDS:
            return
        if len(operands) < _MIN_OPERANDS[opcode]:
            raise DescriptorError(f"SPIR-V instruction {opcode} at word {position} lacks operands: it has {operands}")
        match opcode, operands:
            case 10, _:  # OpExtension
                self.extensions.append(_text(operands))
            case 15, [model, function, *words]:  # OpEntryPoint
                stage = EXECUTION_MODELS.get(model, f"number {model}")
                self.entry_points.append((self._new(function), stage, _text(words)))
            case 16, [function, 17, x, y, z]:  # OpExecutionMode LocalSize
                self.local_sizes[function] = (x, y, z)
            case 17, [capability, *_]:  # OpCapability
                self.capabilities.append(CAPABILITIES.get(capability, f"number {capability}"))
            case ((20 | 21 | 22), [result, *width]):  # OpTypeBool, OpTypeInt, OpTypeFloat
                bits = width[0] if width and opcode != 20 else 0
                kind = f"{_SCALARS[opcode]}{bits or ''}"
                self.types[self._new(result)] = _Type(kind, bits // 8 or None, bits // 8 or 4)
            case 23, [result, element, count, *_]:  # OpTypeVector
                inner = self.types.get(element, _UNKNOWN)
                self.types[self._new(result)] = _Type(
                    "vector", _times(inner.nbytes, count), _times(inner.content, count)
                )
            case 28, [result, element, length, *_]:  # OpTypeArray
                inner, stride = self.types.get(element, _UNKNOWN), self._decoration(result, _ARRAY_STRIDE)
                nbytes, number = inner.nbytes if stride is None else stride, self.values.get(length)
                self.types[self._new(result)] = _Type("array", _times(nbytes, number), _times(inner.content, number))
            case 30, [result, *members]:
                self.types[self._new(result)] = self._structure(members, self.offsets.get(result, {}))
            case 32, [result, _, pointee, *_]:  # OpTypePointer
                self.types[self._new(result)] = _Type("pointer", pointee=pointee)
            case 43, [_, result, value]:  # OpConstant of one word
                self.values[self._new(result)] = value
            case ((48 | 49 | 50), [kind, result, *_]):  # OpSpecConstantTrue, OpSpecConstantFalse, OpSpecConstant
                spec_id = self._decoration(self._new(result), _SPEC_ID)
                if opcode == 50:
                    self.defaults[result] = operands[2]
                if spec_id is not None:
                    self.constants.append(Constant(spec_id, self.types.get(kind, _UNKNOWN).kind))
            case ((44 | 51), [_, result, *parts]):  # OpConstantComposite, OpSpecConstantComposite
                if self._decoration(self._new(result), _BUILT_IN) == _WORKGROUP_SIZE:
                    self.workgroup_size = parts
            case 59, [kind, result, storage, *_]:
                self._variable(kind, result, STORAGE_CLASSES.get(storage, f"number {storage}"))
            case 71, [target, decoration, *literals]:  # OpDecorate
                self.decorations.setdefault(self._new(target), {})[decoration] = literals[0] if literals else 0
            case 72, [target, member, 35, offset, *_]:  # OpMemberDecorate Offset
                self.offsets.setdefault(self._new(target), {})[member] = offset
            case ((73 | 74 | 75), _):
                name = _GROUPS[opcode]
                raise DescriptorError(f"SPIR-V instruction {name}: the contract has no decorations in groups")

    def interface(self, version: tuple[int, int]) -> Declared:
        """The interface, once all instructions have been read."""
        entry_points = tuple(
            EntryPoint(model, name, self._local_size(function), self._size_constants())
            for function, model, name in self.entry_points
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
        if self.workgroup_size is None:
            return self.local_sizes.get(function)
        # The WorkgroupSize built-in overrides the execution mode.
        known = self.defaults | self.values
        sizes = [known[part] for part in self.workgroup_size if part in known]
        return (sizes[0], sizes[1], sizes[2]) if len(sizes) == len(self.workgroup_size) == 3 else None

    def _size_constants(self) -> tuple[int | None, ...]:
        parts = self.workgroup_size or ()
        return tuple(self._decoration(part, _SPEC_ID) for part in parts) or (None, None, None)

    def _new(self, result: int) -> int:
        if not 0 < result < self.bound:
            raise DescriptorError(f"SPIR-V id {result} is outside the bound {self.bound} of its header")
        return result

    def _decoration(self, target: int, decoration: int) -> int | None:
        return self.decorations.get(target, {}).get(decoration)

    def _structure(self, members: list[int], offsets: dict[int, int]) -> _Type:
        types = [self.types.get(member, _UNKNOWN) for member in members]
        ends = [_plus(each.nbytes, offsets.get(number)) for number, each in enumerate(types)]
        nbytes = None if None in ends else max((end for end in ends if end is not None), default=0)
        content: int | None = 0
        for each in types:
            content = _plus(content, each.content)
        return _Type("struct", nbytes, content)

    def _variable(self, kind: int, result: int, storage: str) -> None:
        if storage == "Function":
            return
        pointee = self.types.get(kind, _UNKNOWN).pointee
        block, decorated = self.types.get(pointee, _UNKNOWN), self.decorations.get(pointee, {})
        spelled = (storage, _BLOCK in decorated, _BUFFER_BLOCK in decorated)
        is_buffer = spelled in (("StorageBuffer", True, False), ("Uniform", False, True)) and block.kind == "struct"
        nbytes = block.content if storage == "Workgroup" else block.nbytes
        places = self._decoration(self._new(result), _SET), self._decoration(result, _BINDING)
        self.variables.append(Variable(storage, *places, is_buffer, nbytes))


def _times(nbytes: int | None, count: int | None) -> int | None:
    return None if nbytes is None or count is None else min(nbytes * count, _MAX)


def _plus(nbytes: int | None, more: int | None) -> int | None:
    return None if nbytes is None or more is None else min(nbytes + more, _MAX)


def _text(words: list[int]) -> str:
    """Decode a literal string: UTF-8, ended by a zero byte, padded to whole words."""
    return np.array(words, "<u4").tobytes().split(b"\0", 1)[0].decode(errors="replace")


_SCALARS = {20: "bool", 21: "int", 22: "float"}
_GROUPS = {73: "OpDecorationGroup", 74: "OpGroupDecorate", 75: "OpGroupMemberDecorate"}
_MIN_OPERANDS = {
    10: 1, 15: 3, 16: 2, 17: 1, 20: 1, 21: 3, 22: 2, 23: 3, 28: 3, 30: 1, 32: 3,
    43: 3, 44: 2, 48: 2, 49: 2, 50: 3, 51: 2, 59: 3, 71: 2, 72: 3, **dict.fromkeys(_GROUPS, 0),
}  # fmt: skip
"""Minimum number of operands of each instruction that concerns the interface, by opcode."""
