"""Read the code that Mesa's compilers write for a kernel: loads and stores in order, and trips to memory.

The code is text, in a language of its own for each maker. For Imagination's GPUs there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, pairwise
from typing import TypeAlias

Access: TypeAlias = tuple[str, int]
"""The kind of a load or store, and the bytes that it moves for an invocation: ``("load", 16)``. The kind begins with
"shared " for memory that a work group shares, "uniform " for one load for a whole subgroup, "scratch " for spilled
values and arrays of an invocation."""

_AMD = re.compile(
    r"\b(s_buffer|buffer|global|flat|ds|scratch)_(load|store|read|write)\w*?_(?:format_)?"
    r"(ubyte|sbyte|byte|u8|i8|b8|ushort|sshort|short|u16|i16|b16|dwordx4|dwordx3|dwordx2|dword|b128|b96|b64|b32)\b"
)
_UNITS = {"ds": "shared ", "s_buffer": "uniform ", "scratch": "scratch "}
_WIDTHS = {"byte": 1, "8": 1, "short": 2, "16": 2, "dwordx4": 16, "dwordx3": 12, "dwordx2": 8, "dword": 4}
_WIDTHS |= {"b128": 16, "b96": 12, "b64": 8, "b32": 4}


def _amd(code: str) -> Iterator[Access]:
    """Read AMD's code: ``buffer_load_dwordx4``, ``buffer_store_short``, ``ds_read_b64``, ``s_buffer_load_dword``."""
    for unit, way, width in _AMD.findall(code):
        nbytes = next(nbytes for end, nbytes in _WIDTHS.items() if width.endswith(end))
        yield _UNITS.get(unit, "") + {"read": "load", "write": "store"}.get(way, way), nbytes


def _nvidia(code: str) -> Iterator[Access]:
    """Read NVIDIA's code: ``ld.global.a64.b128``, ``st.shared.b32``, ``ld.local.b32``."""
    for way, space, bits in re.findall(r"\b(ld|st)\.(global|shared|local)\S*?\.[busi](\d+)", code):
        unit = {"global": "", "shared": "shared ", "local": "scratch "}[space]
        yield unit + {"ld": "load", "st": "store"}[way], int(bits) // 8


def _qualcomm(code: str) -> Iterator[Access]:
    """Read Qualcomm's code: ``isam.v (u32)(xyzw)``, ``stib.b.untyped.1d.u32.4``, ``ldl.u32 ..., 2``, ``stp``."""
    for line in code.splitlines():
        if found := re.search(r"\b(?:isam|ldib)\S* \((?:u|s|f)\d+\)\((\w+)\)", line):
            yield "load", 4 * len(found[1])
        elif found := re.search(r"\b(ldib|stib)\S*\.[usf]32\.(\d)", line):
            yield ("load" if found[1] == "ldib" else "store"), 4 * int(found[2])
        elif found := re.search(r"\b(ldl|stl)\.[usf](\d+) (.*)", line):
            count = int(found[3].split(",")[-1].split()[0])
            yield ("shared load" if found[1] == "ldl" else "shared store"), int(found[2]) // 8 * count
        elif found := re.search(r"\b(ldp|stp)\b", line):
            yield ("scratch load" if found[1] == "ldp" else "scratch store"), 4


def _intel(code: str) -> Iterator[Access]:
    """Read Intel's code: messages to ugm (buffers) and slm (shared memory); "transpose": for a whole subgroup."""
    for line in code.splitlines():
        if found := re.search(r"(ugm|slm) MsgDesc: \( (load|store)\w*, a\d+, d(\d+)\w*,(?: V(\d+))?", line):
            unit = "uniform " if "transpose" in line else "shared " if found[1] == "slm" else ""
            yield unit + found[2], int(found[3]) // 8 * int(found[4] or 1)
        elif found := re.search(r"untyped surface (read|write), Surface = (\d+), SIMD\d+, Mask = 0x(\w+)", line):
            way = {"read": "load", "write": "store"}[found[1]]
            yield ("shared " if found[2] == "254" else "") + way, 4 * (4 - int(found[3], 16).bit_count())
        elif "scratch" in line and "MsgDesc" in line:
            yield "scratch load", 4


def _arm(code: str) -> Iterator[Access]:
    """Read Arm's code: ``LD_PKA.i128``, ``LD_BUFFER.i32``, ``LOAD.i128``, ``STORE.i32``, also for shared memory."""
    for way, bits in re.findall(r"\b(LD_PKA|LD_BUFFER|LOAD|STORE)\S*?\.i(\d+)", code):
        yield ("store" if way == "STORE" else "load"), int(bits) // 8


def _apple(code: str) -> Iterator[Access]:
    """Read Apple's code: ``device_load i32, ..., xyzw``. It begins with code that computes uniform values."""
    blocks = [each for each in code.split("block0 {")[1:] if "uniform_store" not in each]
    code = blocks[-1].split("\n\n   0: ")[0] if blocks else ""
    for unit, way, parts in re.findall(r"\b(device|local|stack)_(load|store) .*?, (xy?z?w?)\b", code):
        yield {"device": "", "local": "shared ", "stack": "scratch "}[unit] + way, 4 * len(parts)


_READERS: dict[str, Callable[[str], Iterable[Access]]] = {
    "AMD": _amd, "NVIDIA": _nvidia, "Intel": _intel, "Qualcomm": _qualcomm, "Apple": _apple, "Arm": _arm,
}  # fmt: skip


def accesses(maker: str, code: str) -> list[Access]:
    """The loads and stores of a kernel in the order of its code."""
    return list(_READERS[maker](code)) if maker in _READERS else []


def counted(found: Iterable[Access]) -> dict[str, int]:
    """The number of accesses by kind and width: ``{"load 16": 4}``."""
    names = sorted(f"{kind} {nbytes}" for kind, nbytes in found)
    return {name: len(list(same)) for name, same in groupby(names)}


def trips(found: Iterable[Access]) -> int:
    """How often a store, or an access to shared memory, follows a load: a subgroup waits at least so often."""
    kinds = [kind for kind, _ in found if not kind.startswith(("uniform", "scratch"))]
    return sum(now == "load" != after for now, after in pairwise(kinds))
