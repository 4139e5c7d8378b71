"""The include of element types: kernels see the numbers of the table, and too many types are an error of the build."""

from __future__ import annotations

import re
from pathlib import Path

import compile_shaders
import element_include
import pytest

from restride.dtypes import ELEMENT_TYPES
from restride.plan.convert import TYPE_NUMBERS

ROOT = Path(__file__).resolve().parents[2]

TABLE = ROOT / compile_shaders.ELEMENT_TABLE
TEXT = element_include.element_include(TABLE)


def body(name: str) -> str:
    (text,) = re.findall(rf"\b{name}\(uint type\) {{ return (.*); }}", TEXT)
    return text


def chosen(name: str, element: str) -> int:
    """What the function ``name`` chooses for a type."""
    *choices, last = body(name).split(" : ")
    pairs = [re.fullmatch(r"type == (\w+) \? (\d+)u", choice).groups() for choice in choices]
    return int(dict(pairs).get(element.upper(), last.rstrip("u")))


def test_numbers():
    """A type has the same number in plans and in kernels."""
    numbers = dict(re.findall(r"const uint (\w+) = (\d+)u;", TEXT))
    assert {name.lower(): int(number) for name, number in numbers.items()} == TYPE_NUMBERS


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_properties(name):
    """Each property that a kernel looks up is that of the type's row."""
    row, number = ELEMENT_TYPES[name], TYPE_NUMBERS[name]
    flags = {
        "is_signed": row.kind == "signed integer",
        "is_integer": not row.is_float,
        "is_wide": name in ("s32", "u32", "s64", "u64", "f64"),
        "saturates": row.saturates,
        "has_infinity": row.infinity is not None,
    }
    words = {flag: int(re.match(r"\(0x(\w+)u >> type & 1u\) != 0u", body(flag))[1], 16) for flag in flags}
    assert {flag: bool(word >> number & 1) for flag, word in words.items()} == flags
    (widths,) = re.findall(r"const uint WIDTHS = 0x(\w+)u;", TEXT)
    assert 8 << (int(widths, 16) >> 2 * number & 3) == row.bits
    if row.is_float and row.bits < 32:
        values = [chosen(function, name) for function in ("fraction_bits_of", "bias_of", "largest_of")]
        assert values == [row.fraction, row.bias, row.largest]


def test_too_many_types(tmp_path):
    """A seventeenth type does not fit into the word of widths: the build stops, and names the table."""
    table = tmp_path / compile_shaders.ELEMENT_TABLE
    table.parent.mkdir(parents=True)
    further = "\nELEMENT_TYPES |= {f'f{k}': ELEMENT_TYPES['f16'] for k in range(100, 100 + 17 - len(ELEMENT_TYPES))}\n"
    table.write_text(TABLE.read_text(encoding="utf-8") + further, encoding="utf-8")
    (tmp_path / "shaders").mkdir()
    (tmp_path / "shaders" / "variants.txt").write_text("")
    with pytest.raises(compile_shaders.ShaderBuildError, match=r"table\.py has 17 element types, and 16 fit"):
        compile_shaders.compile_shaders(tmp_path / "shaders", tmp_path / "out")


def test_the_build_writes_the_include(tmp_path):
    """The build writes the include beside the GLSL, from the table beside that."""
    table = tmp_path / compile_shaders.ELEMENT_TABLE
    table.parent.mkdir(parents=True)
    table.write_bytes(TABLE.read_bytes())
    (tmp_path / "shaders" / "include").mkdir(parents=True)
    (tmp_path / "shaders" / "variants.txt").write_text("")
    compile_shaders.compile_shaders(tmp_path / "shaders", tmp_path / "out")
    assert (tmp_path / "shaders" / "include" / "element_types.glsl").read_text(encoding="utf-8") == TEXT
