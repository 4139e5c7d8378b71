"""The interface of a module, read from its SPIR-V: push constants and the members of structs, by their names."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import compile_shaders
import shader_interface

KERNEL = """\
#version 450
layout(local_size_x = 64) in;
struct Axis { uint size; uvec2 pairs; float scale; uint places[4]; };
struct Place { uint row, column; };
layout(push_constant) uniform Push { uint first, axes[2]; };
layout(std430, binding = 0) buffer Rows { uvec4 rows[]; };
Axis axis_of(uvec4 first, uvec4 second) {
    return Axis(first.x, first.yz, uintBitsToFloat(first.w), uint[4](second.x, second.y, second.z, second.w));
}
Place place_of(uint number) { return Place(number / 3u, number % 3u); }
void main() { rows[first].x = axis_of(rows[0], rows[1]).size + axes[1] + place_of(first).row; }
"""


def test_push_constants_and_members(tmp_path):
    """Push constants have a name for each word, and structs that a function makes of rows the words of each member."""
    (tmp_path / "kernel.comp").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "variants.txt").write_text("kernel: kernel.comp\n", encoding="utf-8")
    compile_shaders.compile_shaders(tmp_path, tmp_path / "out", say=lambda _: None)
    read = shader_interface.read_interface((tmp_path / "out" / "kernel.spv").read_bytes())
    assert read["push"] == ["first", "axes[0]", "axes[1]"]
    assert read["structs"] == {"Axis": {"size": 1, "pairs": 2, "scale": 1, "places": 4}}
