"""What Python and GLSL both say, numbers and words, is the same on both sides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from restride.plan import LINEAR_TYPES
from restride.plan.axes import MAX_AXES
from restride.plan.copy import ELEMENTS_PER_INVOCATION, TRANSPOSE_GROUP
from restride.plan.elements import GROUP_SIZE
from restride.plan.parameters import AXIS_ROWS, HEADER_ROWS, KERNEL_CONSTANTS

SHADERS = Path(__file__).parent.parent / "shaders"


def number(pattern: str, file: str) -> int:
    (found,) = set(re.findall(pattern, (SHADERS / file).read_text(encoding="utf-8")))
    return int(found)


def test_rows_of_an_axis():
    assert number(r"#define AXIS_ROW\(k\) \((\d+) \+ 3 \* \(k\)\)", "include/axes.glsl") == HEADER_ROWS
    assert number(r"#define AXIS_ROW\(k\) \(2 \+ (\d+) \* \(k\)\)", "include/axes.glsl") == AXIS_ROWS
    assert number(r"#define MAX_AXES (\d+)", "include/axes.glsl") == MAX_AXES


def test_constants_of_an_axis_follow_those_of_the_kernel():
    assert number(r"constant_id = (\d+)\) const uint RANK", "include/axes.glsl") == KERNEL_CONSTANTS
    text = (SHADERS / "include/axes.glsl").read_text(encoding="utf-8")
    declared = re.findall(r"constant_id = (\d+) \+ 5 \* k\) const uint (\w+)_##k", text)
    names = ["SIZE", "SRC", "DST", "TABLE", "SLOT"]
    assert declared == [(str(KERNEL_CONSTANTS + 1 + n), name) for n, name in enumerate(names)]


def test_constants_of_a_kernel_do_not_reach_those_of_the_axes():
    for file in SHADERS.rglob("*.*"):
        ids = re.findall(r"constant_id = (\d+)\) const (?!uint RANK)", file.read_text(encoding="utf-8"))
        assert all(int(number) < KERNEL_CONSTANTS for number in ids), file


def test_element_types_have_the_same_numbers():
    text = (SHADERS / "include/convert.glsl").read_text(encoding="utf-8")
    (line,) = re.findall(r"const uint (F32 = .*?);", text)
    assert {name.lower(): int(value) for name, value in re.findall(r"(\w+) = (\d+)", line)} == LINEAR_TYPES


@pytest.mark.parametrize("file", ["strided_copy.comp", "element_copy.comp", "resample_linear.comp"])
def test_work_groups_along_one_line(file):
    assert number(r"local_size_x = (\d+)\)", file) == GROUP_SIZE


def test_work_of_an_invocation():
    file = "strided_copy.comp"
    assert number(r"ELEMENTS_PER_INVOCATION = (\d+);", file) == ELEMENTS_PER_INVOCATION
    blocks = [number(rf"local_size_{axis} = (\d+)", "transpose.comp") for axis in "xy"]
    assert tuple(4 * blocks_along for blocks_along in blocks) == TRANSPOSE_GROUP
