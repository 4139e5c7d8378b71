"""Modules and dispatches in work groups of another shape: the same invocations, and nothing else changes."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.contract_shader import build
from support.planned_cases import kernels_of

from restride.errors import DescriptorError, DeviceError
from restride.kernel import Binding, KernelSpec, Limits
from restride.kernel.modules import load_module, manifest
from restride_conformance.case import Case
from restride_conformance.shader.contract import require_interface
from restride_conformance.shader.groups import (
    FIXED,
    SHAPES,
    Shape,
    reshaped,
    reshaped_code,
    shapes_of,
    shapes_of_shader,
    table,
    usual_shape,
    why_fixed,
    with_shapes,
)
from restride_conformance.shader.spirv import instructions, read_interface

FIXTURES = (build,)
BARRIER = 224
FULL_KERNEL = KernelSpec.of(
    "element_copy",
    {"BITS": 8, "OWN_WORDS": 1, "WHOLE_WORDS": 1, "FULL": 1, "RANK": 1},
    {"pieces": 384},
    b"",
    (3, 1, 1),
    (Binding(0, 1536), Binding(0, 1536, writes=True)),
)
SHADER = """\
#version 450
layout(local_size_x = 128{ids}) in;
layout(std430, binding = 1) writeonly buffer Dst {{ uint dst[]; }};
void main() {{ dst[{index}] = 1; }}
"""


def opcodes(name):
    return {opcode for _, opcode, _ in instructions(np.frombuffer(load_module(name), "<u4").tolist())}


def built_ins(code):
    words = np.frombuffer(code, "<u4").tolist()
    return {operands[2] for _, opcode, operands in instructions(words) if opcode == 71 and operands[1] == 11}


def test_modules_with_barriers_have_one_size_and_a_reason():
    assert {name for name in manifest() if BARRIER in opcodes(name)} == {
        name for name in manifest() if name.startswith(("transpose_shared", "short_rows"))
    }
    assert {why_fixed(name).partition(":")[0] for name in manifest()} == {"", *FIXED}
    assert why_fixed("transpose_8_aligned") == why_fixed("transpose_64") != ""
    assert table() in (Path(__file__).parents[3] / "docs/conformance.md").read_text("utf-8")


def test_modules_of_one_size_have_the_shapes_of_that_size():
    assert shapes_of("transpose_32") == (Shape(8, 8), Shape(1, 64))
    assert shapes_of("short_rows") == (Shape(16, 8), Shape(1, 128))
    assert shapes_of("strided_copy_32") == SHAPES[1:]
    assert Shape.parse(str(Shape(16, 8))) == Shape(16, 8)


@pytest.mark.parametrize("name", list(manifest()))
def test_only_the_shape_of_a_module_changes(name, tmp_path):
    source = with_shapes(load_module)
    assert source(name) == load_module(name)
    before = read_interface(load_module(name))
    validator = shutil.which("spirv-val")
    validated = next(shape for shape in shapes_of(name) if shape.y > 1)  # of linear ones 8x8: another size too
    for shape in {shapes_of(name)[0], validated}:
        code = source(f"{name}_in_groups_of_{shape}")
        after = read_interface(code)
        assert [entry.local_size for entry in after.entry_points] == [(shape.x, shape.y, 1)]
        assert built_ins(code) & {25, 27, 29} == {27 if shape.y == 1 else 29}, "no size, one index"
        index = [variable for variable in after.variables if variable.storage != "Input"]
        assert index == [variable for variable in before.variables if variable.storage != "Input"]
        assert replace(after, entry_points=before.entry_points, variables=before.variables) == before
        if shape == validated and validator is not None:
            (tmp_path / "module.spv").write_bytes(code)
            subprocess.run([validator, "--target-env", "vulkan1.1", str(tmp_path / "module.spv")], check=True)


@pytest.mark.parametrize("name", ["transpose_32", "transpose_shared_32"])
def test_a_module_whose_index_is_not_linear_has_no_other_size(name):
    with pytest.raises(DeviceError, match=r"this one does [03] times"):
        reshaped_code(load_module(name), Shape(32))


def test_a_dispatch_has_as_many_invocations_and_is_full_only_if_it_has_no_more():
    full = {}
    for shape in (Shape(32), Shape(8, 8), Shape(16, 8), Shape(256), Shape(512)):
        other = reshaped(FULL_KERNEL, shape, Limits())
        full[shape.size] = (other.groups, replace(other, shader=FULL_KERNEL.shader).constant("FULL"))
        assert replace(other, shader="element_copy", constants=FULL_KERNEL.constants, groups=(3, 1, 1)) == FULL_KERNEL
    assert full == {
        32: ((12, 1, 1), 1),
        64: ((6, 1, 1), 1),
        128: ((3, 1, 1), 1),
        256: ((2, 1, 1), 0),
        512: ((1, 1, 1), 0),
    }


def test_groups_fold_into_the_rows_that_a_device_has():
    folded = reshaped(FULL_KERNEL, Shape(32), Limits(max_group_count=(5, 65535, 65535)))
    assert folded.groups == (4, 3, 1)


def test_a_transpose_keeps_its_groups_in_another_shape():
    (kernel,) = kernels_of(Case.parse("reorder f32[64,64]{1,0} -> f32[64,64]{0,1}"))
    assert usual_shape(kernel.shader) == Shape(64)
    other = reshaped(kernel, Shape(8, 8), Limits())
    assert other == replace(kernel, shader=f"{kernel.shader}_in_groups_of_8x8")


# Shaders of a user.

GROUP = "gl_WorkGroupID.x * gl_WorkGroupSize.x + "
ROWS = "(gl_WorkGroupID.x * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * gl_WorkGroupSize.x + gl_LocalInvocationID.x"


@pytest.mark.parametrize(
    ("index", "ids", "shapes"),
    [
        (GROUP + "gl_LocalInvocationIndex", "", "16x8 1x128"),
        (GROUP + "gl_LocalInvocationID.x", "", "16x8 1x128"),
        (GROUP + "gl_LocalInvocationID.x", ", local_size_x_id = 20", "32x1 64x1 256x1 512x1 8x8 1x64 16x8 1x128"),
        ("gl_GlobalInvocationID.x", ", local_size_x_id = 20", "32x1 64x1 256x1 512x1"),
        (ROWS, ", local_size_x_id = 20, local_size_y_id = 21", "32x1 64x1 256x1 512x1 8x8 1x64 16x8 1x128"),
    ],
)
def test_the_shapes_of_a_shader_follow_from_what_it_reads(build, index, ids, shapes, tmp_path):
    code = build(SHADER.format(index=index, ids=ids))
    require_interface(code, "strided_copy_32")
    found = shapes_of_shader(code, "strided_copy_32")
    assert " ".join(map(str, found)) == shapes
    validator = shutil.which("spirv-val")
    for shape in found:
        other = reshaped_code(code, shape)
        (entry,) = read_interface(other).entry_points
        assert entry.local_size == (shape.x, shape.y, 1)
        if "y_id" in ids:
            assert len(other) == len(code)
        elif shape.y > 1:
            assert built_ins(other) & {25, 27, 29} == {29}
        if validator is not None:
            (tmp_path / "module.spv").write_bytes(other)
            subprocess.run([validator, "--target-env", "vulkan1.1", str(tmp_path / "module.spv")], check=True)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("gl_GlobalInvocationID.x", "it reads gl_GlobalInvocationID, so it has one shape of work groups: tell"),
        ("gl_LocalInvocationID.y", "it reads gl_LocalInvocationID, not its x alone, so it has one shape"),
        ("gl_LocalInvocationID[gl_WorkGroupID.x & 1]", "it reads gl_LocalInvocationID, not its x alone"),
        ("gl_LocalInvocationID.x + dot(vec3(gl_LocalInvocationID), vec3(1)) > 2 ? 1 : 0", "not its x alone"),
    ],
)
def test_a_shader_that_depends_on_its_shape_has_one(build, index, message):
    code = build(SHADER.format(index=index, ids=""))
    with pytest.raises(DescriptorError, match=re.escape(message)):
        shapes_of_shader(code, "strided_copy_32")


def test_a_shader_in_the_place_of_a_transpose_has_the_size_of_its_blocks(build):
    for ids in ("", ", local_size_x_id = 20"):
        code = build(SHADER.format(index=GROUP + "gl_LocalInvocationIndex", ids=ids).replace("128", "64"))
        require_interface(code, "transpose_32")
        assert shapes_of_shader(code, "transpose_32") == (Shape(8, 8), Shape(1, 64))


def test_a_shader_that_reads_both_indices_reads_one_of_them(build):
    index = "gl_LocalInvocationID.x + gl_LocalInvocationIndex"
    code = reshaped_code(build(SHADER.format(index=index, ids="")), Shape(16, 8))
    words = np.frombuffer(code, "<u4").tolist()
    assert len({operands[2] for _, opcode, operands in instructions(words) if opcode == 61}) == 1
    assert built_ins(code) & {27, 29} == {27, 29}
