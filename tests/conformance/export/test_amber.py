"""Amber scripts: what they declare is the program, and what they accept is right. A strict reader judges them."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from support.amber_script import (
    AmberError,
    Binding,
    Copy,
    EqualBuffers,
    Expect,
    Pipeline,
    Run,
    Script,
    Shader,
    read,
)
from support.devices import open_device
from support.sampled import sample

from restride.cli import main
from restride.dtypes import DTYPES
from restride.errors import UnsupportedError
from restride.kernel import Limits
from restride.reference.comparison import bits_of, within
from restride_conformance.case import Case
from restride_conformance.export import amber
from restride_conformance.export.program import BoundRange, Buffer, Check, Dispatch, Program
from restride_conformance.export.program import Copy as DeviceCopy
from restride_conformance.export.recorded import program_of
from restride_conformance.sweep import catalogue

MODULE = np.array([0x07230203, 0x00010300, 0, 1, 0], "<u4").tobytes()
FIRST = 32  # byte of the first element in ``small_program``


def small_program(lowest, highest, *, dtype="f32", ignored=(), is_exact=False) -> Program:
    """A program whose destination has elements between these limits, and bytes ``ignored`` that may hold anything."""
    element = DTYPES[dtype]
    low, high = (np.array(limit, element.dtype) for limit in (lowest, highest))
    expected = np.arange(96, dtype=np.uint8)
    places = FIRST + np.arange(low.size, dtype=np.uint64) * np.uint64(element.itemsize)
    expected[FIRST : FIRST + low.nbytes] = low.view(np.uint8)
    judged = np.ones(expected.size, np.bool_)
    judged[list(ignored)] = False
    if not is_exact:
        judged[FIRST : FIRST + low.nbytes] = False
    limits = {} if is_exact else {"lowest": low, "highest": high}
    check = Check(
        destination=1, expected=expected, judged=judged, dtype=element, places=places, unchanged=(0,), **limits
    )
    source = np.arange(64, dtype=np.uint8)[::-1].copy()
    destination = expected.copy()
    destination[FIRST : FIRST + low.nbytes] ^= 0xFF
    bindings = (BoundRange(0, 16, 32, False), BoundRange(1, 0, 96, True))
    steps = (
        Dispatch("first", (), (1,), (), (2, 1, 1), bindings, False),
        Dispatch("second", (5, 0xFFFFFFFF), (5, 0xFFFFFFFF), (7, 0x80000000), (1, 2, 3), bindings[::-1], True),
    )
    buffers = (Buffer("source", source), Buffer("destination", destination))
    return Program("reorder ...", {"first": MODULE, "second": MODULE}, buffers, steps, check)


def is_accepted(program: Program, destination: np.ndarray, source: np.ndarray | None = None) -> bool:
    held = {"destination": destination.tobytes()}
    if source is not None:
        held["source"] = source.tobytes()
    return read(amber.script(program)).accepts(held)


def is_right(check: Check, destination: np.ndarray) -> bool:
    """What ``check`` says of a content of its buffer."""
    if (destination != check.expected)[check.judged].any():
        return False
    if check.lowest is None or check.highest is None:
        return True
    positions = check.places.reshape(-1, 1) + np.arange(check.dtype.itemsize, dtype=np.uint64)
    elements = destination[positions].view(check.dtype.dtype).reshape(check.sizes)
    return bool(within(elements, check.lowest, check.highest).all())


def test_a_script_declares_the_program():
    program = small_program([1.0, -2.0], [1.5, -1.0])
    script = read(amber.script(program))
    assert_declares(script, program)
    assert script.shaders["second"] == Shader("second", "spv1.3", "second.spv")
    assert script.pipelines["step_0"].push is None
    assert script.commands[:2] == (Run("step_0", (2, 1, 1)), Run("step_1", (1, 2, 3)))


def assert_declares(script: Script, program: Program) -> None:
    """The buffers, bindings, constants, push words and groups of a script are those of its program, in order."""
    for buffer in program.buffers:
        assert script.buffers[buffer.name].bytes == buffer.contents.tobytes()
    runs = [command for command in script.commands if isinstance(command, Run)]
    assert list(script.commands[: len(runs)]) == runs, "nothing is expected before the last step"
    assert len(runs) == len(program.steps)
    for run, step in zip(runs, program.steps, strict=True):
        assert isinstance(step, Dispatch)
        pipeline = script.pipelines[run.pipeline]
        assert run.groups == step.groups
        assert script.shaders[pipeline.shader].file == f"{step.module}.spv"
        assert pipeline.entry_point == "main"
        assert pipeline.constants == tuple(enumerate(step.constants))
        assert pipeline.bindings == tuple(
            Binding(program.buffers[bound.buffer].name, 0, place, bound.offset, bound.nbytes)
            for place, bound in enumerate(step.bindings)
        )
        push = script.buffers[pipeline.push].bytes if pipeline.push else b""
        assert push == np.array(step.push, "<u4").tobytes()


def test_scripts_of_the_catalogue():
    """Each script declares its program, accepts a right destination and refuses one with a wrong byte."""
    refused: list[str] = []
    chosen = sample((case for case in catalogue("ci") if case.src.numel + case.dst.numel < 1000), 200)
    for number, case in enumerate(chosen):
        program = program_of(case, Limits())
        try:
            text = amber.script(program)
        except UnsupportedError as error:
            refused.append(str(error))
            continue
        script = read(text)
        assert_declares(script, program)
        check, draw = program.check, random.Random(number)
        right = check.expected.copy()
        if check.lowest is not None:
            positions = check.places.reshape(-1, 1) + np.arange(check.dtype.itemsize, dtype=np.uint64)
            right[positions] = np.ascontiguousarray(check.highest).reshape(-1, 1).view(np.uint8)
        name = program.buffers[check.destination].name
        assert script.accepts({name: right.tobytes()}), case
        for place in draw.sample(range(right.size), 3):
            wrong = right.copy()
            wrong[place] ^= 0x80
            assert script.accepts({name: wrong.tobytes()}) == is_right(check, wrong), (case, place)
    assert len(refused) < 0.2 * len(chosen)
    reasons = re.compile("copies bytes without a kernel|either sign or be any NaN")
    assert [reason for reason in refused if not reasons.search(reason)] == []


def test_an_exact_destination_is_compared_as_a_whole():
    values = [np.nan, -0.0, np.inf, 1.0]
    program = small_program(values, values, is_exact=True)
    script = read(amber.script(program))
    assert script.buffers["destination"].type == "uint32"
    assert EqualBuffers("destination", "destination_expected") in script.commands
    assert not any(isinstance(command, Expect) for command in script.commands)
    right = program.check.expected
    assert is_accepted(program, right)
    for place in range(right.size):
        wrong = right.copy()
        wrong[place] ^= 1 << place % 8
        assert not is_accepted(program, wrong)


def test_bounds_of_one_value_each_are_exact():
    program = small_program([-0.0, np.inf, 1.0], [-0.0, np.inf, 1.0])
    assert not any(isinstance(command, Expect) for command in read(amber.script(program)).commands)


def test_the_source_must_stay():
    program = small_program([1.0], [1.5])
    source = program.buffers[0].contents.copy()
    assert is_accepted(program, program.check.expected, source)
    source[63] ^= 1
    assert not is_accepted(program, program.check.expected, source)


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [
        ("f32", [1.0, -2.5, 3e-45, -0.0, 1.0, np.inf], [1.25, -1.5, 1e-30, -0.0, np.inf, np.inf]),
        ("f16", [1.0, -2.5], [1.25, -1.5]),
        ("bf16", [1.0, -2.5], [1.25, -1.5]),
        ("f64", [1.0, -2.5], [1.25, -1.5]),
        ("f8e4m3fn", [1.0, -2.5], [1.25, -1.5]),
        ("f8e5m2", [1.0, -2.5], [1.25, -1.5]),
        ("u8", [0, 7, 254], [1, 7, 255]),
        ("s8", [-128, -1, 126], [-127, 1, 127]),
        ("u16", [0, 65534], [1, 65535]),
        ("s16", [-1, 3], [1, 3]),
        ("u32", [0, 0xFFFFFFFE], [1, 0xFFFFFFFF]),
        ("s32", [-1, -(1 << 31)], [1, 1 - (1 << 31)]),
        ("u64", [0, 1 << 40], [1, (1 << 40) + 1]),
        ("s64", [-1, 3], [1, 3]),
        ("pred", [False, True], [True, True]),
    ],
)
def test_bounds_accept_what_is_within_them(dtype, lowest, highest):
    program = small_program(lowest, highest, dtype=dtype)
    check = program.check
    itemsize, seen = check.dtype.itemsize, set()
    for number in range(len(lowest)):
        place = slice(FIRST + number * itemsize, FIRST + (number + 1) * itemsize)
        for limit in (check.lowest, check.highest):
            assert limit is not None
            for step in (-1, 0, 1, 1 << (itemsize * 8 - 1)):
                destination = check.expected.copy()
                unsigned = bits_of(limit)[number : number + 1]
                with np.errstate(over="ignore"):
                    destination[place] = (unsigned + np.array([step % (1 << itemsize * 8)], unsigned.dtype)).view("u1")
                if dtype == "pred" and destination[place][0] > 1:
                    continue  # no value of a pred
                right = is_right(check, destination)
                assert is_accepted(program, destination) == right, (number, destination[place])
                seen.add(right)
    assert seen == {True, False} or dtype == "pred"


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("ignored", [(3,), (4, 5), (8, 9, 10, 11)])
@pytest.mark.parametrize("dtype", ["u8", "s16", "f32"])
def test_bytes_that_may_hold_anything(dtype, ignored, is_exact):
    values = ([1, 2], [1, 2] if is_exact else [2, 2])
    program = small_program(*values, dtype=dtype, ignored=ignored, is_exact=is_exact)
    splits = not is_exact and len({place // program.check.dtype.itemsize for place in ignored}) * (
        program.check.dtype.itemsize
    ) != len(ignored)
    if splits:
        with pytest.raises(UnsupportedError, match="in one integer"):
            amber.script(program)
        return
    for place in range(96):
        changed = program.check.expected.copy()
        changed[place] ^= 0x80
        assert is_accepted(program, changed) == is_right(program.check, changed), place


@pytest.mark.parametrize(
    ("lowest", "highest"),
    [(-1.0, 1.0), (0.0, 1.0), (-1.0, -0.0), (-0.0, 0.0), (np.nan, np.nan), (1.0, np.nan), (np.nan, 1.0)],
)
def test_elements_of_either_sign_have_no_script(lowest, highest):
    program = small_program([1.0, lowest], [1.5, highest])
    with pytest.raises(UnsupportedError, match="1 of 2 elements may have either sign or be any NaN"):
        amber.script(program)


def test_what_amber_cannot_say_is_refused():
    program = small_program([1.0], [1.5])
    copy = DeviceCopy(0, 1, 0, 0, 16, False)
    with pytest.raises(UnsupportedError, match="copies bytes without a kernel"):
        amber.script(replace(program, steps=(*program.steps, copy)))
    most = Buffer("source", np.zeros(4 * amber.MAX_WORDS, np.uint8))
    amber.script(replace(program, buffers=(most, program.buffers[1])))
    large = Buffer("source", np.zeros(4 * amber.MAX_WORDS + 16, np.uint8))
    with pytest.raises(UnsupportedError, match=r"65,540 words, more than the 65,536"):
        amber.script(replace(program, buffers=(large, program.buffers[1])))


@pytest.mark.slow
def test_a_run_exports_scripts(capsys, tmp_path):
    open_device("vulkan").close()
    lines = [
        "reorder u8[2,3]{1,0} -> u8[2,3]{0,1}",
        "slice u32[4096]{0} -> u32[1024]{0} offsets=(3) sizes=(1024) strides=(1)",
    ]
    chosen = [word for line in lines for word in ("--repro", line)]
    assert main(["test", *chosen, "--export", str(tmp_path / "bugs"), "--export-as", "amber"]) == 0
    said = capsys.readouterr().err
    assert f"not exported: {lines[1]}: the device copies bytes without a kernel" in said
    (folder,) = (tmp_path / "bugs").iterdir()
    assert folder.name == Case.parse(lines[0]).name
    script = read((folder / "case.amber").read_text(encoding="utf-8"))
    modules = {shader.file for shader in script.shaders.values()}
    assert {path.name for path in folder.iterdir()} == {"case.amber", "case.json", "README.md", *modules}
    report = (folder / "README.md").read_text(encoding="utf-8")
    assert "amber -v 1.1 case.amber" in report
    assert "make" not in report


@pytest.mark.parametrize("name", ["", "1st", "two words", "a#b", "a\nRUN b 1 1 1", "a(b)", "../up", '"a"', "ä", "a\\"])
def test_names_that_would_change_a_script_are_refused(name):
    program = small_program([1.0], [1.5])
    with pytest.raises(UnsupportedError, match="cannot be a name"):
        amber.script(replace(program, modules={**program.modules, name: MODULE}))
    with pytest.raises(UnsupportedError, match="cannot be a name"):
        amber.script(replace(program, buffers=(Buffer(name, program.buffers[0].contents), program.buffers[1])))


SCRIPT = """\
#!amber
# A comment.
SHADER compute double_it SPIRV-BIN TARGET_ENV spv1.3 FILE double_it.spv
BUFFER src DATA_TYPE uint32 DATA  # another comment
  1 0x2 3
  4
END
BUFFER dst DATA_TYPE int16 SIZE 3 FILL -1
BUFFER expected DATA_TYPE int16 DATA 2 4 -6 END
BUFFER push DATA_TYPE uint32 DATA 7 END
BUFFER kept DATA_TYPE uint32 SIZE 4 FILL 0
PIPELINE compute first
  ATTACH double_it ENTRY_POINT main SPECIALIZE 0 AS uint32 64 \\
    SPECIALIZE 3 AS uint32 4294967295
  BIND BUFFER src AS storage DESCRIPTOR_SET 0 BINDING 0 DESCRIPTOR_OFFSET 4 DESCRIPTOR_RANGE 12
  BIND BUFFER dst AS storage DESCRIPTOR_SET 0 BINDING 1
  BIND BUFFER push AS push_constant
END
RUN first 2 1 1
COPY src TO kept
EXPECT dst EQ_BUFFER expected
EXPECT src IDX 4 GE 2 0 4
EXPECT dst IDX 4 LE -6
"""


def test_what_a_script_declares():
    script = read(SCRIPT)
    assert script.shaders["double_it"] == Shader("double_it", "spv1.3", "double_it.spv")
    assert script.buffers["src"].bytes == b"\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"
    assert script.buffers["dst"].bytes == b"\xff" * 6
    bindings = (Binding("src", 0, 0, 4, 12), Binding("dst", 0, 1, 0, None))
    constants = ((0, 64), (3, 0xFFFFFFFF))
    assert script.pipelines["first"] == Pipeline("first", "double_it", "main", constants, bindings, "push")
    assert script.commands == (
        Run("first", (2, 1, 1)), Copy("src", "kept"), EqualBuffers("dst", "expected"),
        Expect("src", 4, "GE", (2, 0, 4)), Expect("dst", 4, "LE", (-6,)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("dst", "holds"), [((2, 4, -6), True), ((2, 4, -7), False), ((2, 4, -5), False), ((3, 4, -6), False)]
)
def test_what_a_script_accepts(dst, holds):
    assert read(SCRIPT).accepts({"dst": np.array(dst, "<i2").tobytes()}) is holds


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("#!amber", "#! amber", "first line"),
        ("# A", "# Ä", "ASCII"),
        ("SPIRV-BIN", "GLSL", "SPIRV-BIN is expected"),
        ("spv1.3", "spv1.9", "target environment"),
        ("FILE double_it.spv", "FILE 1.spv", "not a name"),
        ("FILE double_it.spv", "FILE a(b).spv", "not a name"),
        ("uint32 DATA  #", "uint32 DATA 1.5 #", "not an integer"),
        ("0x2", "4294967296", "does not fit"),
        ("uint32 DATA  #", "float DATA  #", "integer type"),
        ("FILL -1", "FILL 0xff", "decimal"),
        ("SIZE 3", "SIZE 0", "empty"),
        ("BUFFER push", "BUFFER src", "exists already"),
        ("BUFFER push", "BUFFER 5push", "not a name"),
        ("BUFFER push", "BUFFER END", "not a name"),
        ("SPECIALIZE 0 AS uint32 64", "SPECIALIZE 0 AS uint32 0x40", "decimal number of 32 bits"),
        ("SPECIALIZE 0 AS uint32 64", "SPECIALIZE 0 AS uint32 4294967296", "decimal number of 32 bits"),
        ("SPECIALIZE 0 AS uint32 64", "SPECIALIZE 3 AS uint32 64", "given twice"),
        ("ENTRY_POINT main SPECIALIZE 0 AS uint32 64", "SPECIALIZE 0 AS uint32 64 ENTRY_POINT main", "too much"),
        ("DESCRIPTOR_OFFSET 4 DESCRIPTOR_RANGE 12", "DESCRIPTOR_RANGE 12 DESCRIPTOR_OFFSET 4", "too much"),
        ("DESCRIPTOR_RANGE 12", "DESCRIPTOR_RANGE 13", "are not in the 16"),
        ("BINDING 1", "BINDING 0", "bound twice"),
        ("BIND BUFFER push AS", "BIND BUFFER dst AS", "used as storage and as push_constant"),
        ("BIND BUFFER push AS push_constant", "BIND BUFFER push AS uniform", "cannot bind"),
        ("ATTACH double_it", "ATTACH unknown", "not declared"),
        ("RUN first 2 1 1", "RUN first 2 1", "decimal number"),
        ("RUN first 2 1 1", "RUN first 2 1 1 1", "too much"),
        ("RUN first", "RUN second", "not declared"),
        ("COPY src TO kept", "COPY src TO dst", "of one type"),
        ("COPY src TO kept", "COPY kept TO src", "used as storage and as a copy's"),
        ("EQ_BUFFER expected", "EQ_BUFFER push", "differ in type or size"),
        ("IDX 4 GE", "IDX 2 GE", "not values of"),
        ("IDX 4 GE 2 0 4", "IDX 4 GE 2 0 4 5", "not values of"),
        ("IDX 4 GE 2 0 4", "IDX 4 GE", "no value"),
        ("LE -6", "LE -32769", "does not fit"),
        ("LE -6", "EQ_RGB -6", "no comparator"),
        ("EXPECT dst IDX", "EXPECT dst RMSE_BUFFER", "no comparison"),
        ("RUN first 2 1 1", "CLEAR first", "not a command"),
        ("push_constant\nEND", "push_constant", "nothing in a pipeline"),
    ],
)
def test_the_reader_is_strict(old, new, why):
    assert old in SCRIPT
    with pytest.raises(AmberError, match=why):
        read(SCRIPT.replace(old, new))
