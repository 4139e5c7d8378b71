"""Cases in work groups of each size: right with all, or a verdict that names the sizes that are wrong."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.cli import main
from restride.kernel.modules import load_module
from restride.runtime import RUNTIMES, open_runtime
from restride_conformance.case import Case
from restride_conformance.check import run_case
from restride_conformance.record import ONE_SIZE, Outcome, Target, Verdict
from restride_conformance.recording import RecordingRuntime
from restride_conformance.run.groups import GroupedRuntime, in_groups, run_in_groups, shapes_on
from restride_conformance.run.worker import open_device as open_target
from restride_conformance.shader.groups import SHAPES, Shape, reshaped
from restride_conformance.shader.spirv import instructions

CASE = "reorder u8[5,130]{strides=(140,1)} -> u8[5,130]{strides=(-131,1),offset=524}"
LARGE = "reorder f32[70,130]{strides=(260,2)} -> f32[70,130]{strides=(131,1)}"
RUN = "reorder f32[64,64]{1,0} -> f32[64,64]{1,0}"
TRANSPOSE = "reorder f32[64,64]{1,0} -> f32[64,64]{0,1}"


@pytest.fixture(autouse=True)
def _device():
    open_device("vulkan").close()


class Verdicts:
    """A run of a case whose verdicts are given for each shape, one run after the other; the last one repeats."""

    def __init__(self, modules=("element_copy",), **verdicts):
        self.runtime = GroupedRuntime(None, SHAPES[:6])
        self.modules = modules
        self.left = {shape.strip("_"): list(row.split()) for shape, row in verdicts.items()}
        self.shapes = []

    def __call__(self):
        self.shapes.append(self.runtime.groups)
        self.runtime.modules.update(self.modules)
        row = self.left.get(self.runtime.groups or "usual", ["PASSED"])
        verdict = row.pop(0) if len(row) > 1 else row[0]
        return Outcome("a case", Verdict(verdict), "1 of 9" if verdict == "FAILED" else "", seconds=1.0)

    def outcome(self):
        return run_in_groups(self.runtime, self)


def test_a_case_that_is_right_runs_once_with_each_shape():
    run = Verdicts()
    outcome = run.outcome()
    assert (outcome.verdict, outcome.message, outcome.seconds, outcome.groups) == (Verdict.PASSED, "", 6.0, "")
    assert run.shapes == ["", "32x1", "64x1", "256x1", "512x1", "8x8"]


@pytest.mark.parametrize(
    ("verdicts", "verdict", "groups", "message"),
    [
        (
            {"_256x1": "FAILED", "_8x8": "FAILED"},
            "FAILED",
            "256x1",
            "right with groups of 128x1, 32x1, 64x1, 512x1, wrong with 256x1, 8x8\n1 of 9",
        ),
        (
            {"usual": "FAILED"},
            "FAILED",
            "",
            "right with groups of 32x1, 64x1, 256x1, 512x1, 8x8, wrong with 128x1\n1 of 9",
        ),
        (
            {"_8x8": "FAILED PASSED"},
            "FLAKY",
            "8x8",
            (
                "right with groups of 128x1, 32x1, 64x1, 256x1, 512x1, wrong with 8x8; "
                "another verdict when run again with 8x8\n1 of 9"
            ),
        ),
        (
            dict.fromkeys(["usual", *map(str, SHAPES)], "FAILED"),
            "FAILED",
            "",
            "wrong with groups of 128x1, 32x1, 64x1, 256x1, 512x1, 8x8\n1 of 9",
        ),
        ({"usual": "UNIMPLEMENTED"}, "UNIMPLEMENTED", "", ""),
        (dict.fromkeys(["usual", *map(str, SHAPES)], "MISTRUSTED"), "MISTRUSTED", "", ""),
    ],
)
def test_the_verdict_names_the_shapes(verdicts, verdict, groups, message):
    outcome = Verdicts(**verdicts).outcome()
    assert (outcome.verdict, outcome.groups, outcome.message) == (Verdict(verdict), groups, message)


def test_transposes_run_in_the_shapes_of_their_size():
    run = Verdicts(modules=("transpose_8", "transpose_16_aligned"), _8x8="FAILED")
    assert run.outcome().message == "right with groups of 64x1, wrong with 8x8\n1 of 9"
    assert run.shapes == ["", "8x8", "", "8x8"]
    mixed = Verdicts(modules=("transpose_8", "element_copy"), usual="FAILED").outcome()
    assert mixed.message.splitlines()[0].endswith("wrong with 128x1 and 64x1")


def test_a_case_without_a_kernel_runs_once_and_says_why():
    run = Verdicts(modules=())
    outcome = run.outcome()
    assert (run.shapes, outcome.message) == ([""], f"{ONE_SIZE}: no kernel is dispatched")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_cases_have_the_same_bits_in_every_shape(runtime, tmp_path):
    open_device(runtime).close()
    with open_target(Target(runtime=runtime, groups=True)) as device:
        for case in map(Case.parse, (CASE, LARGE, TRANSPOSE, "resample f32[9,30] -> f32[9,11] mode=linear")):
            kept = {}
            for shape in (None, *device.runtime.shapes):
                device.runtime.regroup(shape)
                assert run_case(case, device, keep=tmp_path / "kept").verdict is Verdict.PASSED
                assert device.runtime.modules
                kept[shape] = (tmp_path / "kept").read_bytes()
            assert len(kept) > 1
            assert len(set(kept.values())) == 1


def test_a_kernel_that_takes_every_group_for_one_of_128_is_found():
    """Only ``LocalSize`` changes: the number of a group is multiplied by 128 all the same."""

    def source(name):
        module, _, shape = name.partition("_in_groups_of_")
        words = np.frombuffer(load_module(module), "<u4").copy()
        for position, opcode, _ in instructions(words.tolist()):
            if opcode == 16:
                words[position + 3] = int(shape.partition("x")[0] or 128)
            elif opcode == 71 and words[position + 2 : position + 4].tolist() == [11, 25]:
                words[position + 3] = 24  # the constant is no longer the size of a group
        return words.tobytes()

    base = open_runtime(module_source=lambda name: source(name) if "_in_" in name else load_module(name))
    runtime = GroupedRuntime(base, [shape for shape in shapes_on(base.info.index, None) if shape.y == 1])
    with rs.Device.over(runtime) as device:
        outcome = run_in_groups(runtime, lambda: run_case(Case.parse(CASE), device))
    assert outcome.verdict is Verdict.FAILED
    assert outcome.message.startswith("right with groups of 128x1, ")
    assert "wrong with 32x1" in outcome.message


def test_kernels_before_a_copy_of_the_device_have_the_shape_too():
    recording = RecordingRuntime()
    with rs.Device.over(recording) as device:
        Case.parse(LARGE).operation.call(Case.parse(LARGE))(
            rs.empty(Case.parse(LARGE).src, device), rs.empty(Case.parse(LARGE).dst, device)
        )
    (kernel,) = recording.submitted
    runtime = GroupedRuntime(recording)
    runtime.regroup(Shape(32))
    runtime.copy(recording.allocate(16), recording.allocate(16), 16, kernels=[kernel])
    assert recording.submitted[1:] == [reshaped(kernel, Shape(32), recording.limits)]
    assert recording.submitted[1].groups != kernel.groups
    assert runtime.modules == {kernel.shader}


def test_shapes_are_those_of_the_device():
    assert shapes_on(0, None)[:3] == SHAPES[:3]
    assert " ".join(map(str, shapes_on(0, "mobile"))) == "128x1 32x1 64x1 8x8 1x64 16x8 1x128"


def test_an_outcome_that_ends_a_run_names_the_shape():
    lost = Outcome("a case", Verdict.CRASHED, "lost")
    assert in_groups(lost, "") is lost
    assert in_groups(lost, "8x8") == replace(lost, groups="8x8", message="lost\nin work groups of 8x8")


def test_the_command_counts_what_has_one_size(capsys, tmp_path):
    cases = [word for case in (LARGE, RUN) for word in ("--repro", case)]
    assert main(["test", *cases, "--groups", "--json", str(tmp_path / "report.json")]) == 0
    out = capsys.readouterr().out
    assert f"{ONE_SIZE}, so these cases ran once:\n       1  no kernel is dispatched" in out
    assert json.loads((tmp_path / "report.json").read_text())["options"]["groups"] is True
    assert Target(groups=True).repro(LARGE).endswith("--groups")


# A user's shader.

ROOT = Path(__file__).parents[3]
(KERNEL,) = re.findall(r"```glsl\n(#version 450\n.*?)```", (ROOT / "shaders/README.md").read_text("utf-8"), re.DOTALL)
SIZED = (
    KERNEL.replace("local_size_x = 128", "local_size_x = 128, local_size_x_id = 20")
    .replace("group * 512", "group * gl_WorkGroupSize.x * 4")
    .replace("NEIGHBOURS ? 1 : 128", "NEIGHBOURS ? 1 : gl_WorkGroupSize.x")
)


@pytest.mark.parametrize(
    ("kernel", "exit_code", "message"),
    [
        (KERNEL, 0, "PASSED: "),
        (SIZED, 0, "PASSED: "),
        (
            SIZED.replace("group * gl_WorkGroupSize.x * 4", "group * 512"),
            1,
            "right with groups of 128x1, 16x8, 1x128, wrong with 32x1, 64x1, ",
        ),
        (KERNEL.replace("gl_LocalInvocationID", "gl_GlobalInvocationID"), 2, "it has one shape of work groups: tell"),
    ],
)
def test_a_shader_is_tried_in_the_shapes_that_it_has(kernel, exit_code, message, tmp_path, capsys):
    path = tmp_path / "my.comp"
    path.write_text(kernel)
    case = "reorder f32[3000]{strides=(2)} -> f32[3000]{strides=(1)}"
    command = ["test", "--shader", str(path), "--as", "strided_copy", "--groups", "--repro", case]
    assert main(command) == exit_code
    assert message in "".join(capsys.readouterr())
