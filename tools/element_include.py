"""Make shaders/include/element_types.glsl from the table of element types, src/restride/dtypes/table.py."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MAX_TYPES = 16
"""Maximum number of types, because a word has two bits for each."""

HEAD = """\
// Element types: their numbers and properties. Made by tools/compile_shaders.py from src/restride/dtypes/table.py.
//
// Properties of a type are looked up in bits, without branches: a driver that inlines before it folds constants would
// compile the branches at every call (SwiftShader took minutes for a pipeline).

"""


def element_include(table: Path) -> str:
    """The GLSL of the element types in ``table``.

    Raises:
        ValueError: there are more types than the words of their properties hold.
    """
    rows = list(runpy.run_path(str(table))["ELEMENT_TYPES"].values())
    if len(rows) > MAX_TYPES:
        raise ValueError(f"{table} has {len(rows)} element types, and {MAX_TYPES} fit into the word WIDTHS")
    numbers = "".join(f"const uint {row.name.upper()} = {number}u;\n" for number, row in enumerate(rows))
    widths = sum((row.bits.bit_length() - 4) << 2 * number for number, row in enumerate(rows))
    narrow = [row for row in rows if row.is_float and row.bits < 32]
    return HEAD + "\n".join(
        (
            numbers,
            _flag(rows, "is_signed", lambda row: row.kind == "signed integer"),
            _flag(rows, "is_integer", lambda row: not row.is_float),
            "// True for types with numbers that f32 cannot hold.",
            _flag(rows, "is_wide", lambda row: row.digits > 24),
            "// Two bits per type: 0 to 3 for widths 8 << 0 to 8 << 3.",
            f"const uint WIDTHS = 0x{widths:X}u;\n",
            "uint width_of(uint type) { return 8u << (WIDTHS >> 2u * type & 3u); }\n",
            "// True for floats of a smaller range than f32.",
            _flag(rows, "saturates", lambda row: row.saturates),
            "// Of floats of 8 and 16 bits.",
            _choice(narrow, "fraction_bits_of", lambda row: row.fraction),
            _choice(narrow, "bias_of", lambda row: row.bias),
            "// The bits of the largest finite number.",
            _choice(narrow, "largest_of", lambda row: row.largest),
            _flag(rows, "has_infinity", lambda row: row.infinity is not None),
        )
    )


def _flag(rows: Iterable[Any], name: str, has: Callable[[Any], bool]) -> str:
    """A function that looks up one bit of each type."""
    bits = sum(has(row) << number for number, row in enumerate(rows))
    return f"bool {name}(uint type) {{ return (0x{bits:X}u >> type & 1u) != 0u; }}\n"


def _choice(rows: list[Any], name: str, value: Callable[[Any], int]) -> str:
    """A function that chooses a number by type; that of the last row needs no comparison."""
    last = value(rows[-1])
    chosen = "".join(f"type == {row.name.upper()} ? {value(row)}u : " for row in rows if value(row) != last)
    return f"uint {name}(uint type) {{ return {chosen}{last}u; }}\n"
