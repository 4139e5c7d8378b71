"""The interface of a module, read from its SPIR-V: the words of push constants and of structs, by their names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import compile_shaders
import shader_interface

KERNEL = """\
#version 450
layout(local_size_x = 64) in;
struct Row {
    uint number;
    uint places[3];
    uvec2 taps;
    float scale, shift;
};
layout(push_constant) uniform Push { uint first, axes[2]; };
layout(std430, binding = 0) buffer Rows { Row rows[]; };
void main() { rows[first].number = axes[1]; }
"""


def interface(folder: Path, text: str) -> dict[str, object]:
    (folder / "kernel.comp").write_text(text, encoding="utf-8")
    (folder / "variants.txt").write_text("kernel: kernel.comp\n", encoding="utf-8")
    compile_shaders.compile_shaders(folder, folder / "out", say=lambda _: None)
    return shader_interface.read_interface((folder / "out" / "kernel.spv").read_bytes())


def test_names_of_words(tmp_path):
    """Every word has a name: members, elements of arrays, parts of vectors."""
    read = interface(tmp_path, KERNEL)
    assert read["push"] == ["first", "axes[0]", "axes[1]"]
    row = ["number", "places[0]", "places[1]", "places[2]", "taps.x", "taps.y", "scale", "shift"]
    assert read["structs"] == {"Row": row}


def test_a_struct_with_a_hole(tmp_path):
    """A vector that begins at an odd word leaves a hole before it, whose place no name has: an error of the build."""
    with pytest.raises(ValueError, match=r"the words number, places\[0\], places\[1\], taps\.x.* do not follow"):
        interface(tmp_path, KERNEL.replace("places[3]", "places[2]"))
