"""Instrument SPIR-V modules to record which bytes of their storage buffers they read and write.

Before every load and store of a storage buffer, instructions are inserted that append a record of three words to one
more storage buffer: the number of the access in the code, the invocation, and the byte offset in the buffer. Worked
example, ``x = src[i]`` of a buffer of vec4, access 3 of the code, by invocation 130 with i = 5: the words 3, 130, 80.

Only a sample is recorded: all accesses of every n-th work group, and every group's accesses to a sample of the lines
of 128 bytes. To add no control flow, other accesses write a dummy record, which is not read. The records of an
invocation are in the order of its accesses.

Source: SPIR-V specification 1.6, sections 2.3 (physical layout), 2.4 (logical layout) and 3 (numbers of instructions).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.errors import UnsupportedError
from restride_conformance.shader.spirv import instructions

RECORD_WORDS = 3
HEADER_WORDS = 4
"""Words in the header. Its first word counts the words of all records; the dummy record follows the header."""

_ENTRY_POINT, _EXECUTION_MODE, _LOCAL_SIZE = 15, 16, 17
_TYPE_BOOL, _TYPE_INT, _TYPE_FLOAT, _TYPE_VECTOR, _TYPE_ARRAY, _TYPE_RUNTIME_ARRAY = 20, 21, 22, 23, 28, 29
_TYPE_STRUCT, _TYPE_POINTER, _CONSTANT, _FUNCTION, _VARIABLE = 30, 32, 43, 54, 59
_LOAD, _STORE, _ACCESS_CHAIN, _DECORATE, _MEMBER_DECORATE, _EXTRACT = 61, 62, 65, 71, 72, 81
_ADD, _MULTIPLY, _REMAINDER, _OR, _AND, _SELECT, _EQUAL, _AT_MAX = 128, 132, 137, 166, 167, 169, 170, 178
_SHIFT_RIGHT, _ATOMIC_ADD = 194, 234
_ATOMICS = range(227, 243)
_BLOCK, _ARRAY_STRIDE, _BUILT_IN, _BINDING, _SET, _OFFSET = 2, 6, 11, 33, 34, 35
_STORAGE_BUFFER, _INPUT = 12, 1
_GROUP_ID, _LOCAL_ID = 26, 27


_LINE_BITS = 7
_SPREAD = 2654435769
"""2^32 over the golden ratio: its multiples modulo 2^32 are evenly spread (Knuth, TAOCP 3, section 6.4)."""


class Sample(NamedTuple):
    """Which accesses are recorded.

    every: all accesses of work groups 0, ``every``, 2 * ``every``, ...
    thinned: also every group's accesses to one line of 128 bytes in ``2 ** thinned``.
    bindings: lines are sampled in bindings below this number.
    """

    every: int
    thinned: int
    bindings: int


def is_sampled(line: npt.NDArray[np.int64], thinned: int) -> npt.NDArray[np.bool_]:
    """True for the lines that are in a sample of one in ``2 ** thinned``."""
    spread = line.astype(np.uint32) * np.uint32(_SPREAD)
    is_low: npt.NDArray[np.bool_] = spread.astype(np.uint64) >> np.uint64(32 - thinned) == 0
    return is_low


@dataclass(frozen=True)
class Access:
    """One load or store in the code. An atomic operation is a store. nbytes: bytes that it moves."""

    binding: int
    nbytes: int
    writes: bool


@dataclass
class _Types:
    """The types, constants and decorations that a module declares before its functions, by their ids."""

    words: dict[int, tuple[int, list[int]]] = field(default_factory=dict)  # opcode and operands of types
    constants: dict[int, int] = field(default_factory=dict)
    decorations: dict[tuple[int, int], int] = field(default_factory=dict)  # by id and number of the decoration
    offsets: dict[tuple[int, int], int] = field(default_factory=dict)  # the offset of each member, by struct and number
    pointers: dict[int, int] = field(default_factory=dict)  # the type of each variable in a storage buffer

    def nbytes(self, kind: int) -> int:
        """The size of a type's values in bytes."""
        opcode, operands = self.words[kind]
        if opcode in (_TYPE_INT, _TYPE_FLOAT):
            return operands[0] // 8
        if opcode == _TYPE_VECTOR:
            return operands[1] * self.nbytes(operands[0])
        raise UnsupportedError(f"a load of SPIR-V type {opcode} cannot be traced")

    def inside(self, kind: int, index: int) -> tuple[int, int, int]:
        """One step of an access chain: the inner type, its stride in bytes (0 in a struct), and its offset in bytes."""
        opcode, operands = self.words[kind]
        if opcode == _TYPE_STRUCT:
            member = self.constants[index]
            return operands[member], 0, self.offsets[kind, member]
        if opcode in (_TYPE_ARRAY, _TYPE_RUNTIME_ARRAY):
            return operands[0], self.decorations[kind, _ARRAY_STRIDE], 0
        if opcode == _TYPE_VECTOR:
            return operands[0], self.nbytes(operands[0]), 0
        raise UnsupportedError(f"an access into SPIR-V type {opcode} cannot be traced")


class _Code:
    """Collects the words of new instructions and hands out new ids."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.words: list[int] = []

    def add(self, opcode: int, *operands: int) -> None:
        self.words += [(len(operands) + 1) << 16 | opcode, *operands]

    def new(self, opcode: int, kind: int | None, *operands: int) -> int:
        """Add an instruction with a result of type ``kind``, None for a declaration; return the id of the result."""
        result = self.bound
        self.bound += 1
        self.add(opcode, *(() if kind is None else (kind,)), result, *operands)
        return result


def instrumented(
    code: bytes, binding: int, groups: tuple[int, int, int], sample: Sample, capacity: int
) -> tuple[bytes, list[Access]]:
    """Return the module with instructions that record its accesses at ``binding``, and its accesses by number.

    Args:
        code: the module, with the values of its specialization constants put in.
        binding: a binding of set 0 that the module does not use.
        groups: work groups of the dispatch that it is for.
        sample: the accesses to record.
        capacity: words of the buffer at ``binding``.

    Raises:
        UnsupportedError: the module accesses types in storage buffers that no module of restride has.
    """
    words = list(struct.unpack(f"<{len(code) // 4}I", code))
    return _Instrumenter(words, binding, groups, sample, capacity).result()


class _Instrumenter:
    def __init__(
        self, words: list[int], binding: int, groups: tuple[int, int, int], sample: Sample, capacity: int
    ) -> None:
        self._words = words
        self._binding = binding
        self._groups = groups
        self._sample = sample
        self._capacity = capacity
        self._types = _Types()
        self._accesses: list[Access] = []
        self._chains: dict[int, tuple[int, list[int]]] = {}  # for each access chain, the variable and the indices
        self._new_constants: dict[int, int] = {}
        self._declared = _Code(words[3])
        self._inputs: dict[int, int] = {}  # for each built-in, its variable
        self._local_size = (1, 1, 1)

    def result(self) -> tuple[bytes, list[Access]]:
        """The module and its accesses."""
        code = [(opcode, operands) for _, opcode, operands in instructions(self._words)]
        first_function = next(place for place, (opcode, _) in enumerate(code) if opcode == _FUNCTION)
        for opcode, operands in code[:first_function]:
            self._declare(opcode, operands)
        new_inputs = self._declare_trace()
        body = _Code(self._declared.bound)
        for opcode, operands in code[first_function:]:
            self._trace(body, opcode, operands)
            body.add(opcode, *operands)
        # Instrumenting the body adds constants to the declarations, so the head is assembled last.
        head = _Code(0)
        is_annotated = False
        for opcode, operands in code[:first_function]:
            if opcode >= _TYPE_BOOL - 1 and opcode not in (_DECORATE, _MEMBER_DECORATE) and not is_annotated:
                head.words += self._annotations
                is_annotated = True
            head.add(opcode, *operands, *(new_inputs if opcode == _ENTRY_POINT else ()))
        whole = [*self._words[:3], body.bound, self._words[4], *head.words, *self._declared.words, *body.words]
        return struct.pack(f"<{len(whole)}I", *whole), self._accesses

    def _declare(self, opcode: int, operands: list[int]) -> None:
        types = self._types
        if opcode == _EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
            self._local_size = (operands[2], operands[3], operands[4])
        elif opcode == _DECORATE and len(operands) > 2:
            types.decorations[operands[0], operands[1]] = operands[2]
            if operands[1] == _BUILT_IN:
                self._inputs[operands[2]] = operands[0]
        elif opcode == _MEMBER_DECORATE and operands[2] == _OFFSET:
            types.offsets[operands[0], operands[1]] = operands[3]
        elif _TYPE_BOOL <= opcode <= _TYPE_POINTER:
            types.words[operands[0]] = opcode, operands[1:]
        elif opcode == _CONSTANT and len(operands) == 3:
            types.constants[operands[1]] = operands[2]
        elif opcode == _VARIABLE and operands[2] == _STORAGE_BUFFER:
            types.pointers[operands[1]] = types.words[operands[0]][1][1]

    def _declare_trace(self) -> list[int]:
        """Declare the buffer of records and the built-ins; return the ids of built-ins that the module did not have."""
        code, notes = self._declared, _Code(0)
        self._uint = self._type(_TYPE_INT, 32, 0)
        self._bool = self._type(_TYPE_BOOL)
        self._uvec3 = self._type(_TYPE_VECTOR, self._uint, 3)
        pointer = self._type(_TYPE_POINTER, _INPUT, self._uvec3)
        new = []
        for built_in in (_GROUP_ID, _LOCAL_ID):
            if built_in not in self._inputs:
                variable = self._inputs[built_in] = code.new(_VARIABLE, pointer, _INPUT)
                notes.add(_DECORATE, variable, _BUILT_IN, built_in)
                new.append(variable)
        records = code.new(_TYPE_RUNTIME_ARRAY, None, self._uint)
        block = code.new(_TYPE_STRUCT, None, records)
        self._trace_id = code.new(_VARIABLE, code.new(_TYPE_POINTER, None, _STORAGE_BUFFER, block), _STORAGE_BUFFER)
        self._word_pointer = self._type(_TYPE_POINTER, _STORAGE_BUFFER, self._uint)
        notes.add(_DECORATE, records, _ARRAY_STRIDE, 4)
        notes.add(_DECORATE, block, _BLOCK)
        notes.add(_MEMBER_DECORATE, block, 0, _OFFSET, 0)
        notes.add(_DECORATE, self._trace_id, _SET, 0)
        notes.add(_DECORATE, self._trace_id, _BINDING, self._binding)
        self._annotations = notes.words
        return new

    def _type(self, opcode: int, *operands: int) -> int:
        """The id of a type: the module's own, or newly declared."""
        for number, (other, words) in self._types.words.items():
            if (other, words) == (opcode, list(operands)):
                return number
        number = self._declared.new(opcode, None, *operands)
        self._types.words[number] = opcode, list(operands)
        return number

    def _constant(self, value: int, code: _Code) -> int:
        """The id of a uint constant, declared if it is new; ``code`` provides the next free id."""
        if value not in self._new_constants:
            self._new_constants[value] = code.bound
            code.bound += 1
            self._declared.add(_CONSTANT, self._uint, self._new_constants[value], value)
        return self._new_constants[value]

    def _trace(self, code: _Code, opcode: int, operands: list[int]) -> None:
        """Remember an access chain; before an access, add the instructions that record it."""
        if opcode == _ACCESS_CHAIN and operands[2] in self._types.pointers:
            self._chains[operands[1]] = operands[2], operands[3:]
        elif opcode == _LOAD and operands[2] in self._chains:
            self._record(code, operands[2], writes=False)
        elif opcode == _STORE and operands[0] in self._chains:
            self._record(code, operands[0], writes=True)
        elif opcode in _ATOMICS and (chain := {*operands} & {*self._chains}):
            self._record(code, chain.pop(), writes=True)

    def _record(self, code: _Code, pointer: int, *, writes: bool) -> None:
        variable, indices = self._chains[pointer]
        kind, uint = self._types.pointers[variable], self._uint
        offset, before = None, 0
        for index in indices:
            kind, stride, skipped = self._types.inside(kind, index)
            before += skipped
            if stride:
                step = code.new(_MULTIPLY, uint, index, self._constant(stride, code))
                offset = step if offset is None else code.new(_ADD, uint, offset, step)
        byte = self._constant(before, code)
        if offset is not None:
            byte = code.new(_ADD, uint, offset, byte) if before else offset
        site = len(self._accesses)
        binding = self._types.decorations[variable, _BINDING]
        self._accesses.append(Access(binding, self._types.nbytes(kind), writes))
        group = self._linear(code, _GROUP_ID, self._groups)
        local = self._linear(code, _LOCAL_ID, self._local_size)
        x, y, z = self._local_size
        first = code.new(_MULTIPLY, uint, group, self._constant(x * y * z, code))
        invocation = code.new(_ADD, uint, first, local)
        zero = self._constant(0, code)
        part = code.new(_REMAINDER, uint, group, self._constant(self._sample.every, code))
        is_meant = code.new(_EQUAL, self._bool, part, zero)
        if binding < self._sample.bindings:
            # A sample of all lines would need a shift by 32 bits, which is undefined, so `high` is then the constant 0.
            line = code.new(_SHIFT_RIGHT, uint, byte, self._constant(_LINE_BITS, code))
            spread = code.new(_MULTIPLY, uint, line, self._constant(_SPREAD, code))
            shift = 32 - self._sample.thinned
            high = code.new(_SHIFT_RIGHT, uint, spread, self._constant(shift, code)) if shift < 32 else zero
            is_line = code.new(_EQUAL, self._bool, high, zero)
            is_meant = code.new(_OR, self._bool, is_meant, is_line)
        more = code.new(_SELECT, uint, is_meant, self._constant(RECORD_WORDS, code), zero)
        scope = self._constant(1, code)  # the scope is the device
        place = code.new(_ATOMIC_ADD, uint, self._word(code, zero), scope, zero, more)
        last = self._capacity - HEADER_WORDS - 2 * RECORD_WORDS
        fits = code.new(_AT_MAX, self._bool, place, self._constant(last, code))
        is_written = code.new(_AND, self._bool, is_meant, fits)
        behind = code.new(_ADD, uint, place, self._constant(HEADER_WORDS + RECORD_WORDS, code))
        begin = code.new(_SELECT, uint, is_written, behind, self._constant(HEADER_WORDS, code))
        for number, value in enumerate((self._constant(site, code), invocation, byte)):
            at = code.new(_ADD, uint, begin, self._constant(number, code))
            code.add(_STORE, self._word(code, at), value)

    def _word(self, code: _Code, index: int) -> int:
        """A pointer to a word of the buffer of records."""
        zero = self._constant(0, code)
        return code.new(_ACCESS_CHAIN, self._word_pointer, self._trace_id, zero, index)

    def _linear(self, code: _Code, built_in: int, sizes: Sequence[int]) -> int:
        """A built-in of three components as one number, the first component fastest."""
        vector = code.new(_LOAD, self._uvec3, self._inputs[built_in])
        number, stride = code.new(_EXTRACT, self._uint, vector, 0), 1
        for component in (1, 2):
            stride *= sizes[component - 1]
            if sizes[component] > 1:
                each = code.new(_EXTRACT, self._uint, vector, component)
                scaled = code.new(_MULTIPLY, self._uint, each, self._constant(stride, code))
                number = code.new(_ADD, self._uint, number, scaled)
        return number
