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

_SPEC_ID, _BLOCK, _BUFFER_BLOCK, _BINDING, _OFFSET = 1, 2, 3, 33, 35  # numbers of decorations
_LOCAL_SIZE, _PUSH_CONSTANT = 17, 9  # an execution mode, a storage class


def read_interface(code: bytes) -> dict[str, Any]:
    """What the manifest says about a module.

    ``local_size``: invocations of a group along x, y and z; None where constants set it. ``bindings``: number of
    storage buffers. ``constants``: specialization constants, the id of each by its name. ``push``: names of the push
    constants in order, one 32-bit word each; of an array, ``axes[0]``, ``axes[1]`` and so on. ``structs``: the same for
    each struct in a buffer, by its name; of a vector, ``taps.x`` and ``taps.y``.

    Raises:
        ValueError: push constants or members of a struct are not words that follow one another.
    """
    names: dict[int, str] = {}
    members: dict[int, dict[int, str]] = {}
    offsets: dict[int, list[int]] = {}
    types: dict[int, list[int]] = {}
    numbers: dict[int, int] = {}
    ids: dict[int, int] = {}
    local_size: list[int] | None = None
    blocks: set[int] = set()
    vectors: set[int] = set()
    bindings, pushed = 0, 0
    for opcode, operands in _instructions(code):
        match opcode, operands:
            case 5, [target, *text]:  # OpName
                names[target] = _text(text)
            case 6, [target, member, *text]:  # OpMemberName
                members.setdefault(target, {})[member] = _text(text)
            case 16, [_, mode, *size] if mode == _LOCAL_SIZE:  # OpExecutionMode
                local_size = size
            case ((23 | 28 | 30 | 32), [target, *parts]):  # OpTypeVector, OpTypeArray, OpTypeStruct, OpTypePointer
                types[target] = parts
                if opcode == 23:
                    vectors.add(target)
            case 43, [_, target, number, *_]:  # OpConstant
                numbers[target] = number
            case 59, [pointer, _, storage, *_] if storage == _PUSH_CONSTANT:  # OpVariable
                pushed = types[pointer][1]
            case 71, [target, decoration] if decoration in (_BLOCK, _BUFFER_BLOCK):  # OpDecorate
                blocks.add(target)
            case 71, [target, decoration, number] if decoration == _SPEC_ID:
                ids[target] = number
            case 71, [_, decoration, number] if decoration == _BINDING:
                bindings = max(bindings, number + 1)
            case 72, [target, _, decoration, offset] if decoration == _OFFSET:  # OpMemberDecorate
                offsets.setdefault(target, []).append(offset)

    def words(struct: int) -> list[str]:
        """The names of the words of a struct; empty for one without members."""
        found: list[str] = []
        starts: list[int] = []
        for member, name in sorted(members.get(struct, {}).items()):
            starts.append(4 * len(found))
            match types.get(types[struct][member]):  # element and length, or None
                case None:
                    found.append(name)
                case [_, length] if types[struct][member] in vectors:
                    found += [f"{name}.{part}" for part in "xyzw"[:length]]
                case [_, length]:
                    found += [f"{name}[{n}]" for n in range(numbers[length])]
        if offsets.get(struct, []) != starts:
            raise ValueError(f"the words {', '.join(found)} do not follow one another: {offsets.get(struct)}")
        return found

    named = {names[target]: number for target, number in ids.items() if target in names}
    return {
        "local_size": local_size if len(named) == len(ids) else None,  # only constants that set the size have no name
        "bindings": bindings,
        "constants": dict(sorted(named.items(), key=itemgetter(1))),
        "push": words(pushed),
        "structs": {names[struct]: words(struct) for struct in offsets if struct not in blocks},
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
