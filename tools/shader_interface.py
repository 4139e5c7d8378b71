"""Read the interface of a compiled module from its SPIR-V: names of constants and push constants, buffers, group size.

For modules that glslang has just written, with their names; ``restride_conformance.shader.spirv`` reads those of
strangers. It needs the standard library alone, because wheels are built where no dependency of restride is installed.

Source: SPIR-V specification 1.6, sections 2.3 (physical layout) and 3 (numbers of instructions and decorations).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

_SPEC_ID, _BINDING, _OFFSET = 1, 33, 35  # numbers of decorations
_LOCAL_SIZE, _PUSH_CONSTANT = 17, 9  # an execution mode, a storage class


def read_interface(code: bytes) -> dict[str, Any]:
    """What the manifest says about a module.

    ``local_size``: invocations of a group along x, y and z; None where constants set it. ``bindings``: number of
    storage buffers. ``constants``: specialization constants, the id of each by its name. ``push``: names of the push
    constants in order, one 32-bit word each; of an array, ``axes[0]``, ``axes[1]`` and so on.

    Raises:
        ValueError: the push constants are not words that follow one another.
    """
    names: dict[int, str] = {}
    members: dict[int, dict[int, str]] = {}
    offsets: dict[int, list[int]] = {}
    types: dict[int, list[int]] = {}
    numbers: dict[int, int] = {}
    ids: dict[int, int] = {}
    local_size: list[int] | None = None
    bindings, block = 0, 0
    for opcode, operands in _instructions(code):
        match opcode, operands:
            case 5, [target, *text]:  # OpName
                names[target] = _text(text)
            case 6, [target, member, *text]:  # OpMemberName
                members.setdefault(target, {})[member] = _text(text)
            case 16, [_, mode, *size] if mode == _LOCAL_SIZE:  # OpExecutionMode
                local_size = size
            case ((28 | 30 | 32), [target, *parts]):  # OpTypeArray, OpTypeStruct, OpTypePointer
                types[target] = parts
            case 43, [_, target, number, *_]:  # OpConstant
                numbers[target] = number
            case 59, [pointer, _, storage, *_] if storage == _PUSH_CONSTANT:  # OpVariable
                block = types[pointer][1]
            case 71, [target, decoration, number] if decoration == _SPEC_ID:  # OpDecorate
                ids[target] = number
            case 71, [_, decoration, number] if decoration == _BINDING:
                bindings = max(bindings, number + 1)
            case 72, [target, _, decoration, offset] if decoration == _OFFSET:  # OpMemberDecorate
                offsets.setdefault(target, []).append(offset)
    push: list[str] = []
    starts: list[int] = []
    for member, name in sorted(members.get(block, {}).items()):
        starts.append(4 * len(push))
        array = types.get(types[block][member])  # element and length, or None
        push += [f"{name}[{n}]" for n in range(numbers[array[1]])] if array else [name]
    if offsets.get(block, []) != starts:
        raise ValueError(f"the push constants {', '.join(push)} are not one word after the other: {offsets.get(block)}")
    named = {names[target]: number for target, number in ids.items() if target in names}
    return {
        "local_size": local_size if len(named) == len(ids) else None,  # only constants that set the size have no name
        "bindings": bindings,
        "constants": dict(sorted(named.items(), key=itemgetter(1))),
        "push": push,
    }


def _instructions(code: bytes) -> Iterator[tuple[int, list[int]]]:
    """Yield the opcode and the operands of each instruction."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    position = 5  # after the header, which has five words
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        yield opcode, list(words[position + 1 : position + count])
        position += count


def _text(words: list[int]) -> str:
    """A literal string: UTF-8, ended by a zero byte, padded to whole words."""
    return struct.pack(f"<{len(words)}I", *words).split(b"\0", 1)[0].decode()
