"""What Python, GLSL and shaders/README.md all say, numbers and words, is the same everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.kernel import shared_constants
from restride.kernel.modules import interface_of, load_module, manifest
from restride.kernel.shared_constants import AXIS_ROWS, HEADER_ROWS, HELD, IS_FILL, PAST
from restride.plan import boxes as plan_of_boxes
from restride.plan.convert import Conversion
from restride.plan.copy import copy_kernels
from restride.plan.problem import (
    ROW_WORDS,
    Axis,
    box_table,
    multiply_shift,
    pack_parameters,
)
from restride.request import Request
from restride.request.arithmetic import Arithmetic, Scaling
from restride.weights import moved_rows, resizing
from restride.weights.boxes import MAX_TAPS_OF_BOX, BoxAxis, _clipped, box_rows
from restride_conformance import Case
from restride_conformance.shader.contract import (
    CONTRACT,
    SHARED_BYTES,
    interfaces,
    module_named,
    require_interface,
    table,
)
from restride_conformance.shader.part import SteeredLimits
from restride_conformance.shader.spirv import read_interface

SHADERS = Path(__file__).parents[3] / "shaders"


def words(shader: str, axis: Axis) -> list[int]:
    """The words of the only axis of a problem, behind its header; tables follow."""
    packed = np.frombuffer(pack_parameters(shader, (axis,)), np.uint32)
    return packed[ROW_WORDS * HEADER_ROWS :][: ROW_WORDS * AXIS_ROWS].tolist()


def test_words_of_an_axis():
    """An axis has the words of the table in shaders/README.md, which a caller without Python writes."""
    axis = Axis(5, -7, 3, slot=2, pairs=(11, -13))
    walk = [5, 2**32 - 7, 3, 0, *multiply_shift(5), *multiply_shift(3)]
    assert words("convert_elements", axis) == [*walk, 2, 11, 2**32 - 13, 0]
    assert words("element_pad", Axis(9, 1, 1, inside=range(-2, 3)))[8:] == [0, 2**32 - 2, 5, 0]
    (linear,) = resizing((3,), Request((2,))).rows
    assert words("resample", Axis(2, 4, 1, table=linear, slot=1))[3::5] == [5, 9]


def test_words_of_a_pushed_axis():
    """Kernels take the words of a pushed axis in the order in which plans push them."""
    text = (SHADERS / "include/axes.glsl").read_text(encoding="utf-8")
    assert re.findall(r"dispatch\.axes\[at(?: \+ (\d))?\]", text) == ["", "1", "2", "3", "4"]


def test_structs_of_the_readme():
    """The header and the axes are as many rows as kernels step over, and the page has every struct and member."""
    page = (SHADERS / "README.md").read_text(encoding="utf-8")
    structs = [item for given in interfaces().values() for item in given.structs.items()]
    rows = {name: sum(members.values()) / ROW_WORDS for name, members in structs}
    assert (rows["Header"], rows["Axis"]) == (HEADER_ROWS, AXIS_ROWS)
    assert {name for name in rows if f"`{name}`" not in page} == {"TableRow"}  # of a table, and not packed by name
    members = {member for name, members in structs if name in ("Header", "Axis") for member in members}
    assert {member for member in members if f"`{member}`" not in page} == set()


@pytest.mark.parametrize("path", sorted(SHADERS.rglob("*.comp")), ids=lambda path: path.name)
def test_axes_are_loaded_before_any_invocation_leaves(path):
    text = path.read_text(encoding="utf-8")
    if '#include "axes.glsl"' in text:
        mains = re.findall(r"void main\(\) \{\n(?:#if.*\n)? +(.*)\n", text)
        assert mains
        assert set(mains) == {"load_axes();"}


def spirv_names(code: bytes) -> tuple[dict[str, int], list[str]]:
    """The specialization constants of a module with their ids, and the members of its push constants, as spirv-dis
    prints them."""
    text = subprocess.run(
        ["spirv-dis", "--raw-id", "--no-color", "-"], input=code, capture_output=True, check=True
    ).stdout.decode()
    names = dict(re.findall(r'OpName (%\d+) "(\w+)"', text))
    ids = {target: int(number) for target, number in re.findall(r"OpDecorate (%\d+) SpecId (\d+)", text)}
    pointee = re.search(r"OpTypePointer PushConstant (%\d+)", text)
    members = re.findall(rf'OpMemberName {pointee[1]} \d+ "(\w+)"', text) if pointee else []
    return {names[target]: number for target, number in ids.items() if target in names}, members


@pytest.mark.parametrize("module", manifest())
def test_the_manifest_has_the_names_that_another_reader_finds(module):
    if shutil.which("spirv-dis") is None:
        pytest.skip("spirv-dis is not on the PATH: install spirv-tools")
    constants, push = spirv_names(load_module(module))
    given = interface_of(module)
    named = list(dict.fromkeys(name.split("[")[0] for name in given.push))
    assert (dict(given.constants), named) == (constants, push)


@pytest.mark.parametrize("module", interfaces())
def test_the_manifest_has_what_the_reader_of_strangers_finds(module):
    declared, given = read_interface(load_module(module)), interface_of(module)
    (entry,) = declared.entry_points
    buffers = [variable.binding for variable in declared.variables if variable.is_buffer]
    (push,) = (variable.nbytes for variable in declared.variables if variable.storage == "PushConstant")
    assert entry.local_size == given.local_size
    assert max(buffers) + 1 == given.bindings
    assert push == 4 * len(given.push)
    assert sorted(constant.number for constant in declared.constants) == sorted(given.constants.values())


def named_rows(text: str) -> set[tuple[str, str]]:
    """Constants and modules of the table of specialization constants in shaders/README.md."""
    section = text.split("\n## Specialization constants\n")[1].split("\n## ", maxsplit=1)[0]
    found = set()
    for line in re.findall(r"^\| (`[A-Z].*)$", section, re.MULTILINE):
        names, modules, *_ = line.split(" | ")
        first, to, last = modules.partition(" to ")
        chosen = list(interfaces())
        if to:
            chosen = chosen[chosen.index(first.strip("`")) : chosen.index(last.strip("`")) + 1]
            patterns = ["*"]
        else:
            patterns = re.findall(r"`([\w*]+)`", modules)
        found |= {
            (name, module)
            for name in re.findall(r"`(\w+)`", names)
            for module in chosen
            if any(fnmatchcase(module, pattern) for pattern in patterns)
        }
    return found


def test_the_readme_explains_every_constant_of_every_module_and_no_other():
    text = (SHADERS / "README.md").read_text(encoding="utf-8")
    declared = {(name, module) for module, given in interfaces().items() for name in given.constants if name != "RANK"}
    said = {(name, module) for name, module in named_rows(text) if name != "RANK"}
    assert sorted(declared - said) == [], "the table of constants in shaders/README.md needs rows that explain these"
    assert sorted(said - declared) == [], "the table of constants in shaders/README.md has these, and no module does"


def test_every_name_of_a_push_constant_is_in_the_readme():
    page = (SHADERS / "README.md").read_text(encoding="utf-8")
    names = {name.split("[")[0] for given in interfaces().values() for name in given.push}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_steps_of_a_conversion():
    """Each part of the arithmetic sets the bit of ROUNDING or STEPS that the kernels test."""
    pair = np.float32([2, 3]).tobytes()
    one = Scaling((1,), (1,), pair, has_scale=True, has_zero_point=True)
    two = Scaling((2,), (1,), 2 * pair, has_scale=True, has_zero_point=True)

    def constants(**fields):
        arithmetic = Arithmetic(**{"saturate": False, **fields})
        made = Conversion(DTYPES["f32"], DTYPES["u8"], arithmetic).constants
        return made["ROUNDING"], made["STEPS"]

    assert constants(saturate=True) == (shared_constants.SATURATES, 0)
    assert constants(rounds_first=True) == (shared_constants.ROUNDS_FIRST, 0)
    assert constants(sum_scale=1.0) == (0, shared_constants.SUM)
    assert constants(src=replace(one, has_zero_point=False)) == (0, shared_constants.SRC_SCALE)
    assert constants(src=replace(one, has_scale=False)) == (0, shared_constants.SRC_ZERO_POINT)
    assert constants(dst=replace(one, has_zero_point=False)) == (0, shared_constants.DST_SCALE)
    assert constants(dst=replace(one, has_scale=False)) == (0, shared_constants.DST_ZERO_POINT)
    assert constants(src=two)[1] - constants(src=one)[1] == shared_constants.SRC_PAIRS
    assert constants(dst=two)[1] - constants(dst=one)[1] == shared_constants.DST_PAIRS


def test_the_contract_has_every_module_that_ships_but_those_written_by_hand():
    assert set(interfaces()) == {name for name in manifest() if not name.startswith(("equal_", "light_"))}


@pytest.mark.parametrize("name", interfaces())
def test_every_module_that_ships_keeps_to_the_contract(name):
    require_interface(load_module(name), name)


def test_the_readme_says_what_each_module_is_given():
    text = (SHADERS / "README.md").read_text(encoding="utf-8")
    rows = set(text.split("<!-- interfaces:")[1].split("<!-- end of interfaces -->")[0].splitlines())
    missing = [row for row in table().splitlines() if row not in rows]
    assert not missing, "rows of shaders/README.md, below `interfaces`:\n" + "\n".join(missing)
    assert f"\n\n{table()}\n\n<!-- end of interfaces -->" in text, "rows that no module has, or in another order"


def test_the_readme_names_the_contract_everywhere():
    text = (SHADERS / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# The shaders, and how they are called: contract {CONTRACT}\n")
    assert f"This is contract {CONTRACT}." in text
    assert f"At most {SHARED_BYTES:,} bytes of shared memory" in text
    assert f"#if RESTRIDE_CONTRACT != {CONTRACT}\n" in text


def test_the_worked_numbers_of_the_readme():
    case = Case.parse("reorder u32[2,3]{1,0} -> u32[2,3]{0,1}")
    assert f"`{case}`" in (SHADERS / "README.md").read_text(encoding="utf-8")
    (kernel,) = copy_kernels(case.src, case.dst, SteeredLimits(shortcuts=False))
    assert kernel.shader == "strided_copy_32"
    rows = [kernel.parameters[at : at + 16] for at in range(0, len(kernel.parameters), 16)]
    words = [[int.from_bytes(row[at : at + 4], "little") for at in range(0, 16, 4)] for row in rows]
    assert words[0] == [2, 0, 0, 0]
    assert [words[2], words[5]] == [[2, 3, 1, 0], [3, 1, 2, 0]]
    assert kernel.push[5:] == (*words[2][:3], *words[3][:2], *words[5][:3], *words[6][:2], *[0] * 5)
    assert [case.src.offset_of((1, 1)), case.dst.offset_of((1, 1))] == [4, 3]
    # A division by 5, in the section on parameters.
    assert "For d = 5: 3435973837 and 2." in (SHADERS / "README.md").read_text(encoding="utf-8")
    assert multiply_shift(5) == (3435973837, 2)


def test_a_module_may_be_named_without_its_width():
    assert module_named("strided_copy") == "strided_copy_32"
    assert module_named("run_copy") == "run_copy_32"
    assert module_named("transpose") == "transpose_8"
    assert module_named("transpose_shared") == "transpose_shared_8"
    assert module_named("strided_gather") == "strided_gather_128"
    assert [module_named(name) for name in interfaces()] == list(interfaces())


@pytest.mark.parametrize("name", ["", "strided", "strided_copy_16", "Strided_copy", "../strided_copy_32", "copy" * 999])
def test_an_unknown_module_is_refused_and_the_known_ones_listed(name):
    with pytest.raises(DescriptorError, match="contract 4 has run_copy_32, run_copy_128, strided_copy_32"):
        module_named(name)


def test_rows_of_boxes():
    """What the readme says of the tables of crop_resize, as the plan makes them and the kernel reads them."""
    (linear,) = resizing((3,), Request((2,))).rows
    words = box_table(box_rows([BoxAxis(linear, -1)], 2, [3]), 4, np.zeros(1, np.int64)).reshape(2, 4)
    weights, others = words[:, :2].copy().view(np.float32).tolist(), words[:, 2:].view(np.int32).tolist()
    rows = "; ".join(
        f"{a}, {b}, {offset}, {taps & 0xFFFF} | {taps >> 16} << 16"
        for (a, b), (offset, taps) in zip(weights, others, strict=True)
    )
    page = " ".join((SHADERS / "README.md").read_text(encoding="utf-8").split())
    assert f"begins a pixel before its image: the rows {rows}." in page
    assert f"A row has 1 to {MAX_TAPS_OF_BOX} taps, and so has the product" in page
    text = "".join((SHADERS / "crop" / name).read_text(encoding="utf-8") for name in ("crop_resize.comp", "crops.glsl"))
    assert 2 * MAX_TAPS_OF_BOX - 1 == shared_constants.TAP_BITS
    assert "number * (count + 5u & ~3u);" in text
    for taps in range(2, 40):
        wide = box_rows([BoxAxis(linear, 0)], 2, [3], least=taps)
        assert box_table(wide, 1, np.zeros(1, np.int64)).size == 2 * ((taps + 5) & ~3)


def test_columns_of_boxes_of_pixels():
    """Whole quads for each box: those after the last column are marked, as the kernel reads them."""
    table = np.arange(2 * 5 * 4, dtype=np.uint32).reshape(2, 5, 4)
    padded = plan_of_boxes._in_quads(table)
    assert padded.shape == (2, 8, 4)
    np.testing.assert_array_equal(padded[:, :5], table)
    assert (padded[:, 5:, :3] == table[:, -1:, :3]).all()
    assert (padded[:, 5:, 3] == PAST).all()


def test_rows_of_boxes_at_an_edge():
    """Taps in the image, and where the offset of a row may be read, also if none of its taps is there."""

    def row(first, weights, *, held=False):
        weights, index = np.array([[weights]], np.int32), np.array([[first]])
        is_held = np.array([[held]]) if held else None
        rows = _clipped(index, weights.shape[2], index > 99, weights, np.array([[3]]), is_held)
        return box_table(rows, 4, np.array([100])).ravel().tolist()

    assert row(-1, [3, 5]) == [3, 5, 100, 1 | 2 << 16]
    assert row(2, [3, 5]) == [3, 5, 108, 1 << 16]
    assert row(1, [-1, 5]) == [0xFFFFFFFF, 5, 104, 2 << 16]
    assert row(-5, [3, 5]) == [3, 5, 100, 2 | 2 << 16]
    assert row(5, [3, 5]) == [3, 5, 108, 0]
    assert row(100, [0, 0]) == [0, 0, 108, IS_FILL]
    assert row(0, [3, 5], held=True) == [3, 5, 100, 2 << 16 | HELD]
    assert row(2, [3, 5], held=True) == [3, 5, 108, 2 << 16 | HELD]
    assert row(5, [3, 5], held=True) == [3, 5, 108, HELD]
    assert row(-1, [1, 2, 3, 4, 5]) == [1, 2, 3, 4, 5, 100, 1 | 4 << 16, 0]
    moved = moved_rows(np.array([[2], [-1]]), np.zeros((2, 1), np.bool_), np.array([[3], [3]]))
    assert box_table(moved, 4, np.array([100, 0])).tolist() == [[[108, 1 << 16]], [[0, 1 | 1 << 16]]]
