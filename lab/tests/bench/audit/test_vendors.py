"""Statistics of kernels from Mesa's compilers for GPUs of seven makers: reading, comparing, storing and refusing."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from restride.cli import main
from restride.cli.process import UsageError
from restride_bench.audit import compiler, vendors
from restride_bench.audit.assembly import accesses, counted, trips
from restride_bench.audit.compiler import Figures, Key, Mesa
from restride_bench.audit.gpus import GPUS, MAKERS, STORED
from restride_bench.audit.record import lines_of
from restride_bench.audit.vendors import EXCEPTIONS, Kernel, changes, contract_kernels, problems, read_record, table

ROOT = Path(__file__).resolve().parents[4]
STORED_TABLE = ROOT / "docs" / "benchmarks" / "vendors.json"
CASE = "reorder f32[64,48]{1,0} -> f32[64,48]{0,1}"
GOOD = Figures(100, 16, 32, 0, 0, 700, {"load 16": 4, "store 16": 4}, 1, 0.01)
DEVICE = {"name": "a GPU", "driver": "a driver", "version": "Mesa 1"}
MESA = Mesa.unpacked("")
needs_mesa = pytest.mark.skipif(
    compiler.FOLDER not in os.environ and not MESA.has("nouveau", "nouveau"),
    reason="Mesa 26 is not here: bash tools/mesa26.sh",
)
"""Skips without Mesa 26, except that tests which tools/mesa26.sh runs fail without it."""


def kernel(figures: Figures | str, shader: str = "strided_copy_128", *, for_gpus: bool = True) -> Kernel:
    return Kernel(Key(shader, (1,), 3), "a workload", for_gpus, {"ampere": figures})


def compared(was: Figures | str, now: Figures | str, version: str = "Mesa 1") -> tuple[list[str], bool]:
    return changes([kernel(was)], {"ampere": DEVICE}, [kernel(now)], {"ampere": DEVICE | {"version": version}})


@pytest.mark.parametrize(
    ("maker", "code", "found"),
    [
        (
            "AMD",
            "v4: %1 = buffer_load_dwordx4 %2\n buffer_store_b16 %1\n ds_read_b64 %9",
            "load 16, store 2, shared load 8",
        ),
        (
            "NVIDIA",
            "r4..8 = ld.global.a64.b128 [r2]\n st.shared.b32 [r1]\n st.local.b32 [r1]",
            "load 16, shared store 4, scratch store 4",
        ),
        (
            "Intel",
            "ugm MsgDesc: ( load, a32, d32, V4\nslm MsgDesc: ( store, a2, d32,\nugm MsgDesc: ( load, a4, d8,transpose",
            "load 16, shared store 4, uniform load 1",
        ),
        (
            "Qualcomm",
            "isam.v.base0 (u32)(xyzw)r0.x, r1\nstib.b.untyped.1d.u32.4.imm r0\nldl.u32 r0.x, l[r1.x], 2",
            "load 16, store 16, shared load 8",
        ),
        (
            "Apple",
            "block0 {\n device_load i32 %1, xyzw\n local_store i32 %2, x\n stack_load i32 %1, xy",
            "load 16, shared store 4, scratch load 8",
        ),
        ("Arm", "LD_PKA.i128.slot0 @r0\nSTORE.i32.slot1 @r1", "load 16, store 4"),
        ("Imagination", "anything", ""),
    ],
)
def test_loads_and_stores_are_read_by_width(maker, code, found):
    assert ", ".join(f"{kind} {nbytes}" for kind, nbytes in accesses(maker, code)) == found


def test_a_trip_is_a_load_before_a_store():
    order = [("load", 4), ("load", 4), ("store", 4), ("load", 4), ("uniform load", 4), ("shared store", 4), ("load", 4)]
    assert trips(order) == 2
    assert counted(order) == {"load 4": 4, "shared store 4": 1, "store 4": 1, "uniform load 4": 1}


def test_counts_are_compared_of_one_version_and_lost_accesses_of_any():
    worse = replace(GOOD, registers=24, in_flight=20, trips=4)
    lines, is_worse = compared(GOOD, worse)
    assert is_worse
    assert [line.rpartition(": ")[2] for line in lines] == ["registers 16 -> 24", "in_flight 32 -> 20", "trips 1 -> 4"]
    assert compared(worse, GOOD)[1] is False
    assert compared(GOOD, replace(GOOD, instructions=101)) == ([], False)
    lines, is_worse = compared(GOOD, worse, "Mesa 2")
    assert (lines, is_worse) == (["ampere: 'Mesa 1', now 'Mesa 2': only 128-bit accesses are compared"], False)
    scalar = replace(GOOD, memory={"load 16": 3, "load 4": 4, "store 16": 4})
    for version in ("Mesa 1", "Mesa 2"):
        lines, is_worse = compared(GOOD, scalar, version)
        assert is_worse
        assert lines[-1].endswith("128-bit loads 4 -> 3, narrower ones 0 -> 4")
    assert compared(GOOD, replace(GOOD, memory={"load 16": 3, "store 16": 4})) == ([], False)


def test_errors_spills_and_scratch_are_problems_but_for_the_exceptions():
    scratch = replace(GOOD, scratch=64)
    assert problems([kernel(GOOD)]) == []
    assert len(problems([kernel(scratch), kernel(replace(GOOD, spills=1)), kernel("it panics")])) == 3
    assert problems([kernel(scratch, "digit_copy"), kernel(scratch, for_gpus=False)]) == []
    assert len(EXCEPTIONS) <= 5


def test_the_contract_has_kernels_of_every_module():
    found = {each.key.shader for each in contract_kernels()}
    known = {line.split(":")[0] for line in (ROOT / "shaders" / "variants.txt").read_text().splitlines() if ":" in line}
    assert {name for name in known if not name.startswith("#")} <= found


def test_a_contract_kernel_keeps_its_wide_accesses_and_has_no_scratch(monkeypatch):
    """By the installed RADV, whose version may be another than the stored table's."""
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    before, old, _ = read_record(STORED_TABLE)
    kernels = contract_kernels()
    devices = vendors.compile_all(kernels, ["navi21"], skips_missing=False)
    devices["navi21"]["version"] += " of a test"
    assert problems(kernels) == []
    lines, _ = changes(before, old, kernels, devices)
    assert [line for line in lines if line.startswith("worse")] == []


def test_the_stored_table_is_small_and_has_a_gpu_of_each_maker():
    kernels, gpus, _ = read_record(STORED_TABLE)
    assert STORED_TABLE.stat().st_size < 300_000
    assert {GPUS[name].maker for name in STORED} == {*MAKERS}
    assert len({GPUS[name].maker for name in gpus}) >= 6
    assert len(gpus) >= 15
    assert problems(kernels) == []
    assert all(list(kernel.compiled) == [name for name in gpus if name in STORED] for kernel in kernels)


def test_the_page_has_the_table_of_the_stored_gpus():
    page = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- compiled: restride audit --vendors --contract --table -->\n\n")
    shown, end, _ = rest.partition("\n\n<!-- end of compiled -->")
    assert end
    _, gpus, date = read_record(STORED_TABLE)
    assert shown == table(gpus, date), "put this table into docs/devices.md"


@pytest.mark.parametrize(
    "record",
    [
        [],
        {},
        {"format": "restride-audit", "version": 2},
        {"format": vendors.FORMAT, "version": vendors.VERSION, "gpus": [], "rows": [], "settings": {}},
        {"format": vendors.FORMAT, "version": vendors.VERSION, "gpus": {}, "rows": [{}], "settings": {"date": ""}},
        vendors.record([kernel("it panics")], {}, ["ampere"]),
        vendors.record([replace(kernel(GOOD), subject="\ud800")], {}, []),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, record):
    (tmp_path / "v.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match=r"v\.json is (no table|damaged)|the table .*v\.json is damaged"):
        read_record(tmp_path / "v.json")


def test_a_table_is_read_as_it_was_written(tmp_path):
    written = [kernel(GOOD), kernel("it panics")]
    (tmp_path / "v.json").write_text(lines_of(vendors.record(written, {"ampere": DEVICE}, ["ampere"])))
    read, devices, _ = read_record(tmp_path / "v.json")
    assert read == written
    assert devices == {"ampere": DEVICE | {"kernels": 2, "compiled": 1, "spilling": 0, "whole": 8}}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--vendors", "nosuch"], 2, "no GPU is named 'nosuch': known are navi21, .*Imagination"),
        (["--vendors", "ampere", "--device", "H200"], 2, "--vendors only compiles"),
        (["--contract"], 2, "--contract and --table are for --vendors"),
        (["--vendors", "--against", "nowhere.json"], 2, "cannot read nowhere.json"),
        (["--vendors", "ampere"], 4, "libvulkan_nouveau.so and libnouveau_noop_drm_shim.so .*bash tools/mesa26.sh"),
        (["--vendors", "dg2"], 4, "bash tools/mesa26.sh --intel"),
        (
            ["--vendors", "mali-g610"],
            4,
            r"/nowhere-arm64 \(RESTRIDE_MESA names another\): bash tools/mesa26.sh --arm64",
        ),
    ],
)
def test_kernels_that_cannot_be_compiled_are_named(arguments, code, words, capsys, monkeypatch):
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    assert main(["audit", "--small", "--case", CASE, *arguments]) == code
    assert re.search(words, capsys.readouterr().err)


def test_compilers_that_are_missing_are_named_and_the_others_go_on(capsys, monkeypatch):
    monkeypatch.setenv(compiler.FOLDER, "/nowhere")
    assert main(["audit", "--case", CASE, "--vendors"]) == 0
    out, err = capsys.readouterr()
    assert "transpose_shared_32  navi21" in out
    assert "ampere is left out: libvulkan_nouveau.so" in err


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
    print(json.dumps({"seconds": 0, "statistics": dict.fromkeys(names, 1), "text": ""}), flush=True)
"""


def test_a_driver_that_crashes_or_hangs_on_a_kernel_is_started_again_behind_it(monkeypatch):
    monkeypatch.setattr(Mesa, "has", lambda *_: True)
    monkeypatch.setattr(Mesa, "command", lambda *_: ([sys.executable, "-c", FAKE], {}))
    monkeypatch.setattr(compiler, "SLOWEST", 3.0)
    keys = [Key("run_copy_32", (), buffers) for buffers in (2, 7, 2, 8, 9, 2)]
    device, answers = compiler.compile_figures("ampere", keys)
    assert device["name"] == "a GPU"
    assert [isinstance(each, Figures) for each in answers] == [True, False, True, False, False, True]
    assert answers[1] == "its process died of SIGABRT"
    assert answers[3] == "its process died of SIGKILL"
    assert answers[4] == "it panics"
    kernels = [replace(kernel(each), key=key) for key, each in zip(keys, answers, strict=True)]
    assert vendors.text(kernels).count("not compiled: ") == 3


@needs_mesa
@pytest.mark.parametrize("gpu", ["gfx1201", "ampere", "adreno-660", "m1"])
def test_mesa_26_compiles_for_a_gpu_that_is_not_here(gpu, capsys):
    assert main(["audit", "--case", CASE, "--vendors", gpu]) == 0
    assert re.search(rf"transpose_shared_32  {gpu} +[1-9].*shared load 4", capsys.readouterr().out)


@needs_mesa
def test_the_audit_of_amds_families_works_with_mesa_26(monkeypatch, capsys):
    monkeypatch.setenv(compiler.FOLDER, str(MESA.folder.parents[2]))
    assert main(["audit", "--case", CASE, "--family", "gfx1201", "--no-traffic"]) == 0
    assert "gfx1201 (RX 9070 XT" in capsys.readouterr().out
    assert main(["audit", "--case", CASE, "--family", "nosuch", "--no-traffic"]) == 4
    assert "does not know the family 'nosuch'" in capsys.readouterr().err


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
    assert Mesa.installed("radeon").folder == tmp_path.resolve() / folder
