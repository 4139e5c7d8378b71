"""Cases in work groups of each size: right with all, or a verdict that names the sizes that are wrong."""

from __future__ import annotations

import json

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
from restride_conformance.recording import Recording
from restride_conformance.run.groups import GroupedRuntime, run_in_groups, sizes_on
from restride_conformance.run.worker import open_device as open_target
from restride_conformance.shader.groups import SIZES, resized, with_sizes
from restride_conformance.shader.spirv import instructions

CASE = "reorder u8[5,130]{strides=(140,1)} -> u8[5,130]{strides=(-131,1),offset=524}"
LARGE = "reorder f32[70,130]{strides=(260,2)} -> f32[70,130]{strides=(131,1)}"
TRANSPOSE = "reorder f32[64,64]{1,0} -> f32[64,64]{0,1}"


@pytest.fixture(autouse=True)
def _device():
    open_device("vulkan").close()


class Verdicts:
    """A run of a case whose verdicts are given for each size, one run after the other; the last one repeats."""

    def __init__(self, modules=("element_copy",), **verdicts):
        self.runtime = GroupedRuntime(None, SIZES)
        self.modules = modules
        self.left = {int(size.strip("_")): list(row.split()) for size, row in verdicts.items()}
        self.sizes = []

    def __call__(self):
        self.sizes.append(self.runtime.size)
        self.runtime.modules.update(self.modules)
        row = self.left.get(self.runtime.size, ["PASSED"])
        verdict = row.pop(0) if len(row) > 1 else row[0]
        return Outcome("a case", Verdict(verdict), "1 of 9" if verdict == "FAILED" else "", seconds=1.0)

    def outcome(self):
        return run_in_groups(self.runtime, self)


def test_a_case_that_is_right_runs_once_with_each_size():
    run = Verdicts()
    outcome = run.outcome()
    assert (outcome.verdict, outcome.message, outcome.seconds) == (Verdict.PASSED, "", 5.0)
    assert run.sizes == [128, 32, 64, 256, 512]


@pytest.mark.parametrize(
    ("verdicts", "verdict", "message"),
    [
        (
            {"_256": "FAILED", "_512": "FAILED"},
            "FAILED",
            "right with groups of 128, 32, 64, wrong with 256, 512\n1 of 9",
        ),
        ({"_128": "FAILED"}, "FAILED", "right with groups of 32, 64, 256, 512, wrong with 128\n1 of 9"),
        (
            {"_64": "FAILED PASSED"},
            "FLAKY",
            "right with groups of 128, 32, 256, 512, wrong with 64; another verdict when run again with 64\n1 of 9",
        ),
        ({f"_{size}": "FAILED" for size in SIZES}, "FAILED", "wrong with groups of 128, 32, 64, 256, 512\n1 of 9"),
        ({"_128": "UNIMPLEMENTED"}, "UNIMPLEMENTED", ""),
        ({f"_{size}": "MISTRUSTED" for size in SIZES}, "MISTRUSTED", ""),
    ],
)
def test_the_verdict_names_the_sizes(verdicts, verdict, message):
    outcome = Verdicts(**verdicts).outcome()
    assert (outcome.verdict, outcome.message) == (Verdict(verdict), message)


def test_a_case_without_a_size_to_vary_runs_once_and_says_why():
    run = Verdicts(modules=("transpose_8", "transpose_16_aligned"))
    outcome = run.outcome()
    assert (run.sizes, outcome.verdict) == ([128], Verdict.PASSED)
    assert outcome.message.startswith(f"{ONE_SIZE}: transpose: a group is a block of two axes")
    assert len(outcome.message.splitlines()) == 1
    assert Verdicts(modules=()).outcome().message == f"{ONE_SIZE}: no kernel is dispatched"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_cases_have_the_same_bits_with_every_size(runtime, tmp_path):
    open_device(runtime).close()
    with open_target(Target(runtime=runtime, groups=True)) as device:
        for case in map(Case.parse, (CASE, LARGE, "resample f32[9,30] -> f32[9,11] mode=linear")):
            kept = {}
            for size in device.runtime.sizes:
                device.runtime.begin(size)
                assert run_case(case, device, keep=tmp_path / "kept").verdict is Verdict.PASSED
                assert device.runtime.modules
                kept[size] = (tmp_path / "kept").read_bytes()
            assert len(kept) > 1
            assert len(set(kept.values())) == 1


def test_a_kernel_that_takes_every_group_for_one_of_128_is_found():
    """Only ``LocalSize`` changes: the number of a group is multiplied by 128 all the same."""

    def source(name):
        module, _, size = name.partition(" in groups of ")
        words = np.frombuffer(load_module(module), "<u4").copy()
        for position, opcode, _ in instructions(words.tolist()):
            if opcode == 16:
                words[position + 3] = int(size or 128)
            elif opcode == 71 and words[position + 2 : position + 4].tolist() == [11, 25]:
                words[position + 3] = 24  # the constant is no longer the size of a group
        return words.tobytes()

    base = open_runtime(module_source=lambda name: source(name) if " in " in name else load_module(name))
    runtime = GroupedRuntime(base, sizes_on(base.info.index, None))
    with rs.Device.over(runtime) as device:
        outcome = run_in_groups(runtime, lambda: run_case(Case.parse(CASE), device))
    assert outcome.verdict is Verdict.FAILED
    assert outcome.message.startswith("right with groups of 128, ")
    assert "wrong with 32" in outcome.message


def test_kernels_before_a_copy_of_the_device_have_the_size_too():
    recording = Recording()
    with rs.Device.over(recording) as device:
        Case.parse(LARGE).operation.call(Case.parse(LARGE))(
            rs.empty(Case.parse(LARGE).src, device), rs.empty(Case.parse(LARGE).dst, device)
        )
    (kernel,) = recording.submitted
    runtime = GroupedRuntime(recording, SIZES)
    runtime.begin(32)
    runtime.copy(recording.allocate(16), recording.allocate(16), 16, kernels=[kernel])
    assert recording.submitted[1:] == [resized(kernel, 32, recording.limits)]
    assert recording.submitted[1].groups != kernel.groups
    assert runtime.modules == {kernel.shader}


def test_sizes_are_those_of_the_device():
    assert sizes_on(0, None)[:3] == (128, 32, 64)
    assert sizes_on(0, "mobile") == (128, 32, 64)


@pytest.mark.parametrize("size", [32, 512])
def test_an_error_names_the_size(size):
    base = open_runtime(module_source=with_sizes(load_module))
    runtime = GroupedRuntime(base, SIZES)
    runtime.begin(size)
    assert runtime.manner == f"\nin work groups of {size}"
    runtime.begin(128)
    assert runtime.manner == ""
    runtime.close()


def test_the_command_counts_what_has_one_size(capsys, tmp_path):
    cases = [word for case in (LARGE, TRANSPOSE) for word in ("--repro", case)]
    assert main(["test", *cases, "--groups", "--json", str(tmp_path / "report.json")]) == 0
    out = capsys.readouterr().out
    assert f"{ONE_SIZE}, so these cases ran once:\n       1  transpose: a group is a block" in out
    assert json.loads((tmp_path / "report.json").read_text())["options"]["groups"] is True
    assert Target(groups=True).repro(LARGE).endswith("--groups")
    assert main(["test", *cases, "--groups", "--mode", "perf"]) == 2
    assert main(["test", *cases, "--groups", "--shader", "x.comp", "--as", "strided_copy"]) == 2
    assert main(["test", *cases, "--groups", "--export", str(tmp_path / "export")]) == 2
    assert not (tmp_path / "export").exists()
