"""Read the interface of a compiled module from its SPIR-V: names of constants, push constants and structs, group size.

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
_ROW = 4  # words


def read_interface(code: bytes) -> dict[str, Any]:  # noqa: PLR0912 - one for each instruction
    """What the manifest says about a module.

    ``local_size``: invocations of a group along x, y and z; None where constants set it. ``bindings``: number of
    storage buffers. ``constants``: specialization constants, the id of each by its name. ``push``: names of the push
    constants in order, one 32-bit word each; of an array, ``axes[0]``, ``axes[1]`` and so on. ``structs``: for each
    struct that a function makes of rows, as ``Axis axis_of(uvec4 first, uvec4 second)``, the words of each member.

    Raises:
        ValueError: the push constants are not words that follow one another.
    """
    names: dict[int, str] = {}
    members: dict[int, list[str]] = {}
    offsets: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}  # of vectors and arrays
    structs: dict[int, dict[str, int]] = {}
    pointees: dict[int, int] = {}
    of_rows: list[int] = []
    numbers: dict[int, int] = {}
    ids: dict[int, int] = {}
    local_size: list[int] | None = None
    bindings, block = 0, 0
    for opcode, operands in _instructions(code):
        match opcode, operands:
            case 5, [target, *text]:  # OpName
                names[target] = _text(text)
            case 6, [target, _, *text]:  # OpMemberName
                members.setdefault(target, []).append(_text(text))
            case 16, [_, mode, *size] if mode == _LOCAL_SIZE:  # OpExecutionMode
                local_size = size
            case 23, [target, _, count]:  # OpTypeVector
                sizes[target] = count
            case 28, [target, _, length]:  # OpTypeArray
                sizes[target] = numbers.get(length, 0)
            case 30, [target, *parts]:  # OpTypeStruct
                counts = [sizes.get(part, 1) for part in parts]
                structs[target] = dict(zip(members.get(target, ()), counts, strict=False))
            case 32, [target, _, pointee]:  # OpTypePointer
                pointees[target] = pointee
            case 33, [_, target, *given] if {sizes.get(pointees.get(part, 0)) for part in given} == {_ROW}:
                of_rows.append(target)  # OpTypeFunction
            case 43, [_, target, number, *_]:  # OpConstant
                numbers[target] = number
            case 59, [pointer, _, storage, *_] if storage == _PUSH_CONSTANT:  # OpVariable
                block = pointees[pointer]
            case 71, [target, decoration, number] if decoration == _SPEC_ID:  # OpDecorate
                ids[target] = number
            case 71, [_, decoration, number] if decoration == _BINDING:
                bindings = max(bindings, number + 1)
            case 72, [target, _, decoration, offset] if decoration == _OFFSET:  # OpMemberDecorate
                offsets.setdefault(target, []).append(offset)
    push: list[str] = []
    starts: list[int] = []
    for name, count in structs.get(block, {}).items():
        starts.append(4 * len(push))
        push += [name] if count == 1 else [f"{name}[{n}]" for n in range(count)]
    if offsets.get(block, []) != starts:
        raise ValueError(f"the push constants {', '.join(push)} are not one word after the other: {offsets.get(block)}")
    named = {names[target]: number for target, number in ids.items() if target in names}
    return {
        "local_size": local_size if len(named) == len(ids) else None,  # only constants that set the size have no name
        "bindings": bindings,
        "constants": dict(sorted(named.items(), key=itemgetter(1))),
        "push": push,
        "structs": {names[struct]: structs[struct] for struct in of_rows if struct in structs},
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
