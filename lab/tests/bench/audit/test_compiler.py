"""Mesa's compilers: found, started, and started again behind a kernel that they do not survive."""

import json
import os
import sys

import pytest

import restride as rs
from restride_bench.audit import compiler
from restride_bench.audit.compiler import Figures, Key, Mesa, NoCompiler, compile_all, compile_kernels
from restride_bench.audit.gpus import GPU

MESA = Mesa.unpacked("")
COPY = Key("run_copy_32", (), 2)
needs_mesa = pytest.mark.skipif(
    compiler.FOLDER not in os.environ and not MESA.has("nouveau", "nouveau"),
    reason="Mesa 26 is not here: bash tools/mesa26.sh",
)
"""Skips without Mesa 26, except that tests which tools/mesa26.sh runs fail without it."""


FAKE = """
import json, os, sys, time
print(json.dumps({"device": {"name": "a GPU", "driver": "d", "version": "1"}}), flush=True)
for number, kernel in enumerate(json.load(sys.stdin)):
    print(json.dumps({"begin": number}), flush=True)
    if kernel["buffers"] == 7:
        os.abort()
    if kernel["buffers"] == 8:
        time.sleep(3600)
    if kernel["buffers"] == 9:
        print(json.dumps({"error": "it panics"}), flush=True)
        continue
    names = "Instruction count,Number of GPRs,Max warps/SM,Static cycle count,Spills to memory,SLM size".split(",")
    print(json.dumps({"statistics": dict.fromkeys(names, 1), "text": ""}), flush=True)
"""


def test_a_driver_that_crashes_or_hangs_on_a_kernel_is_started_again_behind_it(monkeypatch):
    monkeypatch.setattr(Mesa, "has", lambda *_: True)
    monkeypatch.setattr(Mesa, "command", lambda *_: ([sys.executable, "-c", FAKE], {}))
    monkeypatch.setattr(compiler, "SLOWEST", 3.0)
    driver, answers = compile_kernels("ampere", [Key("run_copy_32", (), buffers) for buffers in (2, 7, 2, 8, 9, 2)])
    assert driver["name"] == "a GPU"
    good = Figures(1, 1, 1, 1, 1, 1, 0, {})
    crashed, hung = (f"its process died of {signal}" for signal in ("SIGABRT", "SIGKILL"))
    assert answers == [good, crashed, good, hung, "it panics", good]


def test_a_module_that_is_not_there_is_an_error():
    with pytest.raises(rs.DeviceError, match=r"unknown shader.*nosuch"):
        compile_kernels("navi21", [Key("nosuch", (), 2)])


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ("ampere", "libvulkan_nouveau.so and libnouveau_noop_drm_shim.so .*bash tools/mesa26.sh$"),
        ("dg2", "bash tools/mesa26.sh --intel"),
        ("mali-g610", r"/nowhere-arm64 \(RESTRIDE_MESA names another\): bash tools/mesa26.sh --arm64"),
    ],
)
def test_compilers_that_are_missing_are_named_and_the_others_go_on(gpu, words, monkeypatch, capsys):
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    with pytest.raises(NoCompiler, match=words):
        compile_all([COPY], [gpu, "navi21"], skips_missing=False)
    assert list(compile_all([COPY], [gpu, "navi21"], skips_missing=True)) == ["navi21"]
    assert f"{gpu} is left out: libvulkan_" in capsys.readouterr().err


def test_a_gpu_that_the_installed_radv_does_not_know_has_no_compiler(monkeypatch):
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    monkeypatch.setitem(compiler.GPUS, "tomorrow", GPU("AMD", "a card of tomorrow", "tomorrow"))
    with pytest.raises(NoCompiler, match=r"compiles nothing for tomorrow: .*nknown family"):
        compile_kernels("tomorrow", [COPY])


def test_without_any_radv_the_message_says_what_fetches_it(monkeypatch):
    def no_driver(name):
        raise rs.DeviceNotFound(f"no driver {name}")

    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    monkeypatch.setattr(compiler, "driver_file", no_driver)
    with pytest.raises(NoCompiler, match=r"libvulkan_radeon\.so .*bash tools/mesa26.sh"):
        compile_kernels("navi21", [COPY])


@needs_mesa
@pytest.mark.parametrize("gpu", ["gfx1201", "ampere", "adreno-660", "m1"])
def test_mesa_26_compiles_for_a_gpu_that_is_not_here(gpu):
    driver, (figures,) = compile_kernels(gpu, [COPY])
    assert driver["version"].startswith("Mesa ")
    assert figures.instructions > 0
    assert figures.memory.keys() >= {"load 4", "store 4"}


@pytest.mark.parametrize(
    ("library", "folder"),
    [
        ("../../../lib/own/libvulkan_radeon.so", "lib/own"),
        ("libvulkan_nowhere.so", "share/vulkan/icd.d"),
        ("/elsewhere/lib/libvulkan_radeon.so", "/elsewhere/lib"),
    ],
)
def test_a_manifest_names_its_library_beside_itself_unless_the_name_is_bare(library, folder, tmp_path, monkeypatch):
    manifest = tmp_path / "share/vulkan/icd.d/radeon_icd.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"ICD": {"library_path": library}}))
    monkeypatch.setattr(compiler, "driver_file", lambda _: manifest)
    assert Mesa.installed().folder == tmp_path.resolve() / folder
