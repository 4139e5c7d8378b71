"""Put specialization constants into SPIR-V modules and resolve the branches on them before a driver sees the module.

Drivers do it themselves, but late: lavapipe and SwiftShader first inline every call on every path of a kernel, and
SwiftShader compiles all of them. With the branches resolved, lavapipe compiles a pipeline in a third of the time and
SwiftShader in a tenth. With RANK = 2:

    %33 = OpSpecConstantOp %bool UGreaterThan %RANK %uint_1         %33 = OpConstantTrue %bool
    OpSelectionMerge %9 None
    OpBranchConditional %33 %7 %8                                   OpBranch %7

A block that can no longer be reached, such as %8, keeps only its label, and a function called only from such blocks
keeps only the label of its first block: no unreachable block may branch to the end of a loop it is no part of. What
named or decorated the removed instructions is removed too.

Source: SPIR-V specification 1.6, sections 2.3 (physical layout), 2.11 (control flow) and 3 (numbers of instructions).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from restride.errors import DeviceError

_HEADER_WORDS = 5
_WORD = (1 << 32) - 1
_SPEC_ID = 1  # number of a decoration

_NAME, _MEMBER_NAME, _ENTRY_POINT, _TYPE_BOOL, _TYPE_INT, _TYPE_FLOAT = 5, 6, 15, 20, 21, 22
_DECORATE, _DECORATE_GROUP, _DECORATE_ID, _DECORATE_STRING = 71, 74, 332, 5632
_TRUE, _FALSE, _CONSTANT, _COMPOSITE = 41, 42, 43, 44
_SPEC_TRUE, _SPEC_FALSE, _SPEC_CONSTANT, _SPEC_COMPOSITE, _SPEC_OPERATION = 48, 49, 50, 51, 52
_FUNCTION, _FUNCTION_END, _CALL, _PHI, _LOOP_MERGE, _MERGE, _LABEL = 54, 56, 57, 245, 246, 247, 248
_BRANCH, _CONDITIONAL, _SWITCH, _UNREACHABLE, _LINE, _NO_LINE = 249, 250, 251, 255, 8, 317
_DIVIDE, _REMAINDER = 134, 137  # UDiv, UMod
_SPECIAL = (_SPEC_TRUE, _SPEC_FALSE, _SPEC_CONSTANT, _SPEC_COMPOSITE, _SPEC_OPERATION)


def _signed(word: int) -> int:
    return word - 2 * (word & 1 << 31)


_OPERATIONS: dict[int, Callable[..., int]] = {
    126: lambda a: -a,  # SNegate
    128: lambda a, b: a + b,  # IAdd
    130: lambda a, b: a - b,  # ISub
    132: lambda a, b: a * b,  # IMul
    _DIVIDE: lambda a, b: a // b,
    _REMAINDER: lambda a, b: a % b,
    164: lambda a, b: a == b,  # LogicalEqual
    165: lambda a, b: a != b,  # LogicalNotEqual
    166: lambda a, b: a | b,  # LogicalOr
    167: lambda a, b: a & b,  # LogicalAnd
    168: lambda a: not a,  # LogicalNot
    169: lambda a, b, c: b if a else c,  # Select
    170: lambda a, b: a == b,  # IEqual
    171: lambda a, b: a != b,  # INotEqual
    172: lambda a, b: a > b,  # UGreaterThan
    173: lambda a, b: _signed(a) > _signed(b),  # SGreaterThan
    174: lambda a, b: a >= b,  # UGreaterThanEqual
    175: lambda a, b: _signed(a) >= _signed(b),  # SGreaterThanEqual
    176: lambda a, b: a < b,  # ULessThan
    177: lambda a, b: _signed(a) < _signed(b),  # SLessThan
    178: lambda a, b: a <= b,  # ULessThanEqual
    179: lambda a, b: _signed(a) <= _signed(b),  # SLessThanEqual
    194: lambda a, b: a >> (b & 31),  # ShiftRightLogical
    196: lambda a, b: a << (b & 31),  # ShiftLeftLogical
    197: lambda a, b: a | b,  # BitwiseOr
    198: lambda a, b: a ^ b,  # BitwiseXor
    199: lambda a, b: a & b,  # BitwiseAnd
    200: lambda a: ~a,  # Not
}
"""The operations of ``OpSpecConstantOp`` on words, by opcode; only the lowest 32 bits of a result count."""


class _NotUnderstoodError(Exception):
    """A module has constants or branches that this code leaves to the driver."""


class _Step(NamedTuple):
    """Words ``[begin, end)`` that constants may change, and the opcode and operands of the last instruction in them."""

    begin: int
    end: int
    opcode: int
    operands: list[int]


def specialized(code: bytes, constants: Sequence[int]) -> tuple[bytes, tuple[int, ...]]:
    """The module with ``constants`` (indexed by SpecId) put in, and the constants left to the driver: none.

    If the module has constants or branches that this code leaves to the driver, such as constants that are neither
    words nor booleans: the module unchanged, and all constants.

    Raises:
        DeviceError: an instruction has missing or wrong operands.
    """
    try:
        return _read(code).with_constants(constants), ()
    except _NotUnderstoodError:
        return code, tuple(constants)
    except (LookupError, TypeError, ValueError, struct.error) as error:
        # Hashes have shown that restride's own modules are intact; of a user's shader only the interface has been
        # checked.
        raise DeviceError(f"the shader module of {len(code)} bytes is no well-formed SPIR-V: {error}") from error


class _Module:
    """A module, read once for all sets of constants. A block is named by the id of its label."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._spec_ids: dict[int, int] = {}
        self._bool_types: set[int] = set()  # boolean types
        self._words: set[int] = set()  # 32-bit types
        self._values: dict[int, int] = {}
        self._constants: list[_Step] = []
        self._names: list[_Step] = []
        self._decorations: list[_Step] = []
        self._blocks: dict[int, _Step] = {}  # label -> the words after it, the block's last instruction included
        self._constant_branches: dict[
            int, _Step
        ] = {}  # label -> the merge and branch of a block that branches on a constant
        self._parents: dict[int, set[int]] = {}  # label -> the blocks that its OpPhi instructions name
        self._continues: dict[int, int] = {}  # first block of a loop -> the block that branches back to it
        self._calls: dict[int, list[int]] = {}
        self._entry_blocks: dict[int, int] = {}  # function -> label of its first block
        self._entry_points: list[int] = []
        self._defining_block: dict[int, int] = {}  # decorated id -> label of the block that defines it, or 0
        self._read(np.frombuffer(code, "<u4").tolist())

    def with_constants(self, constants: Sequence[int]) -> bytes:
        """The module with its constants put in.

        Raises:
            _NotUnderstoodError: a constant has a type or an operation that is not known here, or decides from which
                block an OpPhi is reached.
        """
        values = dict(self._values)
        changes = [(step, self._constant(step, constants, values)) for step in self._constants]
        taken = {label: self._branch_target(step, values) for label, step in self._constant_branches.items()}
        entered = self._reachable_blocks(taken)
        if any(label in entered and not parents <= entered for label, parents in self._parents.items()):
            raise _NotUnderstoodError
        for label, target in taken.items():
            if label in entered and target is not None:
                changes.append((self._constant_branches[label], _instruction(_BRANCH, target)))
        back = {behind: header for header, behind in self._continues.items() if header in entered}
        for label, step in self._blocks.items():
            if label not in entered:
                end = _instruction(_BRANCH, back[label]) if label in back else _instruction(_UNREACHABLE)
                changes.append((step, end))
        changes += [(step, []) for step in self._names]
        homes = {0, *entered}
        changes += [(step, []) for step in self._decorations if self._defining_block[step.operands[0]] not in homes]
        parts, position = [], 0
        for step, words in sorted(changes):
            parts += [self._code[4 * position : 4 * step.begin], struct.pack(f"<{len(words)}I", *words)]
            position = step.end
        return b"".join([*parts, self._code[4 * position :]])

    def _read(self, words: list[int]) -> None:
        position, label, body, before = _HEADER_WORDS, 0, 0, -1
        function = 0
        while position < len(words):
            count, opcode = words[position] >> 16, words[position] & 0xFFFF
            end = position + count
            if not count or end > len(words):
                raise _NotUnderstoodError
            operands = words[position + 1 : end]
            if opcode == _LABEL:
                label, body, before = operands[0], end, -1
                self._entry_blocks.setdefault(function, label)
            elif opcode == _FUNCTION:
                function, label = operands[1], 0
            elif not function:
                self._declare(_Step(position, end, opcode, operands))
            elif opcode not in (_FUNCTION_END, _LINE, _NO_LINE) and label:
                self._blocks[label] = _Step(body, end, opcode, operands)
                if opcode == _PHI:
                    self._parents.setdefault(label, set()).update(operands[3::2])
                elif opcode == _LOOP_MERGE:
                    self._continues[label] = operands[1]
                elif opcode == _MERGE:
                    before = position
                elif opcode == _CALL:
                    self._calls.setdefault(label, []).append(operands[2])
                elif opcode == _CONDITIONAL and before >= 0 and operands[0] in self._values:
                    self._constant_branches[label] = _Step(before, end, opcode, operands)
                if len(operands) > 1 and self._defining_block.get(operands[1]) == 0:
                    self._defining_block[operands[1]] = label
            position = end

    def _declare(self, step: _Step) -> None:
        """Record an instruction that comes before all functions."""
        opcode, operands = step.opcode, step.operands
        if opcode == _TYPE_BOOL:
            self._bool_types.add(operands[0])
        elif opcode in (_TYPE_INT, _TYPE_FLOAT) and operands[1] == _WORD.bit_length():
            self._words.add(operands[0])
        elif opcode in (_TRUE, _FALSE) or (opcode == _CONSTANT and operands[0] in self._words):
            self._values[operands[1]] = operands[2] if opcode == _CONSTANT else opcode == _TRUE
        elif opcode in (_NAME, _MEMBER_NAME):
            joined = self._names.pop().begin if self._names and self._names[-1].end == step.begin else step.begin
            self._names.append(step._replace(begin=joined))
        elif opcode == _ENTRY_POINT:
            self._entry_points.append(operands[1])
        elif opcode == _DECORATE and operands[1] == _SPEC_ID:
            self._spec_ids[operands[0]] = operands[2]
            self._constants.append(step)
        elif opcode in (_DECORATE, _DECORATE_ID, _DECORATE_STRING):
            self._defining_block[operands[0]] = 0  # until a block defines it
            self._decorations.append(step)
        elif opcode == _DECORATE_GROUP:
            raise _NotUnderstoodError
        elif opcode in _SPECIAL:
            self._values[operands[1]] = 0  # until ``with_constants`` computes it
            self._constants.append(step)

    def _constant(self, step: _Step, constants: Sequence[int], values: dict[int, int]) -> list[int]:
        """The instruction that replaces a constant; an empty list for the decoration that gives its SpecId."""
        opcode, operands = step.opcode, step.operands
        if opcode == _DECORATE:
            return []
        if opcode == _SPEC_COMPOSITE:
            return _instruction(_COMPOSITE, *operands)
        kind, result = operands[:2]
        if opcode == _SPEC_OPERATION:
            value = self._computed(operands[2], operands[3:], values)
        else:
            number = self._spec_ids.get(result, len(constants))
            value = operands[2] if opcode == _SPEC_CONSTANT else opcode == _SPEC_TRUE
            value = constants[number] if number < len(constants) else value
        if kind in self._bool_types:
            values[result] = bool(value)
            return _instruction(_TRUE if value else _FALSE, kind, result)
        if kind not in self._words:
            raise _NotUnderstoodError
        values[result] = value & _WORD
        return _instruction(_CONSTANT, kind, result, value & _WORD)

    def _computed(self, operation: int, operands: Sequence[int], values: dict[int, int]) -> int:
        """The result of an OpSpecConstantOp on words and booleans; x / 0 is left to the driver."""
        arguments = [values.get(operand) for operand in operands]
        is_by_zero = operation in (_DIVIDE, _REMAINDER) and arguments[1] == 0
        if operation not in _OPERATIONS or None in arguments or is_by_zero:
            raise _NotUnderstoodError
        return int(_OPERATIONS[operation](*arguments))

    def _branch_target(self, step: _Step, values: dict[int, int]) -> int | None:
        """The label that a branch on a constant goes to; None if the branch must stay: an OpPhi names its block."""
        selector, if_true, if_false = step.operands[:3]
        if if_true in self._parents or if_false in self._parents:
            return None
        return if_true if values[selector] else if_false

    def _reachable_blocks(self, taken: dict[int, int | None]) -> set[int]:
        """The labels of the blocks that can be reached from the entry points."""
        entered: set[int] = set()
        waiting = [self._entry_blocks.get(function, 0) for function in self._entry_points]
        while waiting:
            label = waiting.pop()
            if label in entered:
                continue
            if label not in self._blocks:  # a switch over 64 bits, or a truncated module
                raise _NotUnderstoodError
            entered.add(label)
            target, (_, _, opcode, operands) = taken.get(label), self._blocks[label]
            if target is not None:
                waiting.append(target)
            elif opcode == _SWITCH:
                waiting += operands[1::2]
            elif opcode in (_BRANCH, _CONDITIONAL):
                waiting += operands[opcode == _CONDITIONAL :][:2]
            waiting += [self._entry_blocks.get(function, 0) for function in self._calls.get(label, [])]
        return entered


def _instruction(opcode: int, *operands: int) -> list[int]:
    return [(len(operands) + 1) << 16 | opcode, *operands]


# The cache pays: reading a module takes 1.3 ms (median; at most 8), putting constants into it 0.3 ms, and building a
# small pipeline of llvmpipe 5 ms.
@lru_cache(maxsize=64)
def _read(code: bytes) -> _Module:
    return _Module(code)
