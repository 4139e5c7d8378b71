"""The audit: the kernels of a GPU's plan, compiled by RADV, and the memory that they touch, compared with the plan."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.process import captured
from support.sampled import sample
from twin.axes import kernel_types

import restride as rs
from restride.cli import main
from restride.cli.process import UsageError
from restride.kernel import Binding, KernelSpec, Limits, Run
from restride.kernel.modules import interface_of, load_module
from restride.runtime.loader import DRIVER_VARIABLES
from restride.runtime.specialization import specialized
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_bench.audit import goals
from restride_bench.audit.assembly import accesses, counted, vector_instructions
from restride_bench.audit.commands import _DESCRIPTION
from restride_bench.audit.compiler import Compiled, Key, Mesa, compile_kernels, local_size
from restride_bench.audit.gpus import FAMILIES
from restride_bench.audit.instrument import HEADER_WORDS, Sample, instrumented
from restride_bench.audit.record import FORMAT, VERSION, changes, read_record
from restride_bench.audit.recording import GPU, Dispatch, Recording, record_workload
from restride_bench.audit.roofline import Prediction, known_devices
from restride_bench.audit.table import Subject, workload_rows
from restride_bench.audit.times import read_benchmark
from restride_bench.audit.traffic import CACHE_BYTES, MAX_GROUPS, SECTOR, Tracer, Traffic, _misses
from restride_conformance import Case
from restride_conformance.shader.part import SteeredLimits
from restride_measure.workloads import TTC57, Move, Relayout, Workload, catalogue

FEW = replace(GPU, choices=replace(GPU.choices, invocations="few"))
WORDS = SteeredLimits(**vars(FEW), widest_element=4, shortcuts=False)
TRANSPOSED = Workload("t", "g", "f32[64,64]", Move((1, 0)))
WORKLOADS = {workload.name: workload for workload in catalogue(is_small=True)}
BENCHMARKS = Path(__file__).resolve().parents[3] / "docs" / "benchmarks"
SPIRV_VAL = Path(sys.executable).with_name("spirv-val")


@pytest.fixture(scope="module")
def tracer():
    tracer = Tracer()
    yield tracer
    tracer.close()


def dispatches(workload: Workload, limits: Limits = GPU) -> list[Dispatch]:
    return [each for each in record_workload(workload, limits) if isinstance(each, Dispatch)]


def every_dispatch() -> list[Dispatch]:
    return list({Key.of(each.kernel): each for name in WORKLOADS for each in dispatches(WORKLOADS[name])}.values())


def test_a_recording_has_the_choices_of_a_gpu_and_needs_no_device():
    (transposed,) = dispatches(TRANSPOSED)
    assert transposed.kernel.shader == "transpose_shared_32"
    assert transposed.nbytes == (64 * 64 * 4, 64 * 64 * 4)
    assert record_workload(Workload("c", "g", "f32[64,64]", Move((0, 1)))) == [Run(0, 0, 64 * 64 * 4)]


def elements_written(kernel: KernelSpec) -> int:
    """The number of elements that a kernel may write; copies of wide words count as f32."""
    if width := re.search(r"_(\d+)", kernel.shader):
        bits = int(width[1])
    elif "BITS" in interface_of(kernel.shader).constants:
        bits = kernel.constant("BITS")
    else:
        bits = 8 * kernel_types(kernel)[1].itemsize
    return sum(binding.nbytes for binding in kernel.bindings if binding.writes) * 8 // min(bits, 32)


def test_the_list_needs_no_device(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    assert main(["audit", "--list", "-k", "transpose F32 4096"]) == 0
    assert re.fullmatch(r"permutations: +transpose f32 4096x4096 +f32\[4096,4096\]\n", capsys.readouterr().out)
    assert main(["audit", "--list", "-k", "no such"]) == 5
    assert "no workload has 'no such'" in capsys.readouterr().err


@pytest.mark.parametrize("workload", catalogue(is_small=False), ids=lambda workload: workload.name)
def test_a_large_result_is_made_by_enough_invocations_for_a_gpu(workload):
    """Every pass has an invocation for every four elements, or 80,000."""
    passes: dict[str, list[tuple[int, int]]] = {}
    for kernel, _ in dispatches(workload):
        invocations = math.prod(kernel.groups) * local_size(load_module(kernel.shader), kernel.constants)
        name = kernel.shader if kernel.shader.startswith(("resample", "crop")) else "copies"
        passes.setdefault(name, []).append((elements_written(kernel), invocations))
    for name, each in passes.items():
        elements, invocations = map(sum, zip(*each, strict=True))
        assert elements < 100_000 or invocations >= min(elements // 4, 80_000), (name, elements, invocations)


def test_nothing_is_read_from_a_recording():
    x = rs.empty(rs.TensorDesc("f32", (4,)), rs.Device.over(Recording()))
    with pytest.raises(rs.UnsupportedError, match="no bytes"):
        x.numpy()


def test_instrumented_modules_are_valid_and_compute_the_same():
    """Kernels of the benchmark: spirv-val accepts each with its records, and its destination has the same bytes."""
    modules = {}
    runtime = VulkanRuntime(0, module_source=lambda name: modules[name])
    capacity = 1 << 16
    for dispatch in sample(every_dispatch(), 12, "instrumented"):
        kernel = dispatch.kernel
        plain, rest = specialized(load_module(kernel.shader), kernel.constants)
        assert rest == ()
        count = len(kernel.bindings) + bool(kernel.parameters)
        traced, accesses = instrumented(plain, count, kernel.groups, Sample(1, 0, 2), capacity)
        subprocess.run([SPIRV_VAL, "--target-env", "vulkan1.1", "-"], input=traced, check=True, capture_output=True)
        assert {access.writes for access in accesses} == {False, True}
        results = []
        for code in (plain, traced):
            modules["module"] = code
            name = f"module{len(modules)}"
            modules[name] = code
            memories = [runtime.allocate(nbytes) for nbytes in dispatch.nbytes]
            for number, memory in enumerate(memories):
                noise = np.random.default_rng(number).integers(0, 100, memory.nbytes, np.uint8)
                runtime.write(memory, 0, noise.data)
            bindings, own = kernel.bindings, len(memories) - 1
            if kernel.parameters:
                memories.append(runtime.allocate(len(kernel.parameters)))
                runtime.write(memories[-1], 0, memoryview(kernel.parameters))
                bindings = (*bindings, Binding(0, len(kernel.parameters) & ~3))
            if code is traced:
                memories.append(runtime.allocate(4 * capacity))
                runtime.write(memories[-1], 0, memoryview(bytes(4 * HEADER_WORDS)))
                bindings = (*bindings, Binding(0, 4 * capacity, writes=True))
            spec = replace(kernel, shader=name, constants=(), parameters=b"", bindings=bindings)
            runtime.submit([spec], memories)
            result = np.empty(dispatch.nbytes[own], np.uint8)
            runtime.read(memories[own], 0, result.data)
            results.append(result)
        assert np.array_equal(*results), kernel.shader
    runtime.close()


@pytest.mark.parametrize(
    ("workload", "shader", "of_group", "limits"),
    [
        (Workload("copy", "", "f32[9000]", Move((0,))), "run_copy_128", 2048, replace(FEW, offset_alignment=0)),
        (Workload("permutation", "", "f32[5,6,7,64]", Move((0, 2, 1, 3))), "strided_copy_128", 2048, FEW),
        (Workload("many", "", "f32[2,3,4,64]", Move((0, 2, 1, 3))), "strided_copy_32", 128, GPU),
        (Workload("words", "", "f32[5,6,5,63]", Move((2, 0, 1, 3))), "strided_copy_32", 512, WORDS),
        (Workload("step", "", "f32[40,256]", Move((0, 1), (1, 2))), "strided_gather_128", 2048, FEW),
        (Workload("steps", "", "f32[80,256]", Move((0, 1), (-3, -2))), "strided_gather_128", 2048, FEW),
        (Workload("tile", "", "f32[40,256]", Relayout("f32[40,256]{1,0:T(8,128)}")), "strided_copy_128", 2048, FEW),
        (Workload("transpose", "", "f32[96,122]", Move((1, 0))), "transpose_shared_32", (16, 32), GPU),
        (Workload("transpose", "", "f64[96,64]", Move((1, 0))), "transpose_shared_64", (16, 32), GPU),
    ],
)
def test_traffic_is_computed_from_the_descriptors(workload, shader, of_group, limits, tracer):
    """Bytes and sectors that each work group needs, computed from sizes and strides alone, without a shader."""
    (dispatch,) = dispatches(workload, limits)
    assert dispatch.kernel.shader == shader
    groups = math.prod(dispatch.kernel.groups)
    assert 2 <= groups <= MAX_GROUPS, "all are traced"
    itemsize = workload.desc.dtype.itemsize
    elements = np.arange(math.prod(workload.desc.sizes)).reshape(workload.desc.sizes)
    if isinstance(workload.task, Relayout):
        rows, columns = elements.shape
        read = elements.reshape(rows // 8, 8, columns // 128, 128).transpose(0, 2, 1, 3)
    else:
        read = elements[workload.task.index()].transpose(workload.task.axes)
    written = np.arange(read.size).reshape(read.shape)
    traffic = tracer.trace(dispatch).traffic
    for way, offsets in (("load", read), ("store", written)):
        if isinstance(of_group, int):
            parts = np.array_split(offsets.ravel(), range(of_group, offsets.size, of_group))
        else:
            rows, columns = (range(edge, size, edge) for edge, size in zip(of_group, offsets.shape, strict=True))
            parts = [part.ravel() for band in np.split(offsets, rows, 0) for part in np.split(band, columns, 1)]
        assert len(parts) == groups
        assert traffic[way].needed == sum(part.size * itemsize for part in parts)
        sectors = sum(len(np.unique(part * itemsize // SECTOR)) for part in parts)
        assert traffic[way].fewest == traffic[way].sectors == sectors
    whole = sum(len(np.unique(offsets * itemsize // SECTOR)) for offsets in (read, written))
    assert tracer.trace(dispatch).shared.moved(1 << 30) == whole * SECTOR


def test_some_lines_stand_for_all_in_a_cache_that_all_groups_share(tracer):
    """Words of rows 16 KiB apart: a sector has eight, and 512 other lines are read before the next column's word."""
    (dispatch,) = dispatches(Workload("w", "", "f32[512,4096]", Move((1, 0))), WORDS)
    shared = tracer.trace(dispatch).shared
    nbytes = 4 * 512 * 4096
    assert shared.share == 1 / 16
    assert shared.moved(1 << 20) == pytest.approx(2 * nbytes, rel=0.02)
    assert shared.moved(1 << 14) == pytest.approx(9 * nbytes, rel=0.02)


def test_a_cache_that_is_too_small_loses_sectors():
    most = CACHE_BYTES // SECTOR
    fitting, twice = (np.tile(np.arange(count), 2) for count in (most, most + 1))
    assert _misses(fitting, np.zeros_like(fitting), most) == most
    assert _misses(twice, np.zeros_like(twice), most) == 2 * (most + 1)


def test_a_gpu_compiler_compiles_the_kernels():
    keys = [Key.of(dispatch.kernel) for dispatch in sample(every_dispatch(), 24, "compiled")]
    compiled = compile_kernels("navi21", keys)
    for key in keys:
        kernel = compiled[key]
        assert kernel.local_size == local_size(load_module(key.shader), key.constants)
        assert kernel.instructions > 0
        assert kernel.waves > 0
        assert kernel.spills == 0, key
        assert kernel.divisions == 0, key
        assert any("store" in name for name in kernel.memory), key


def test_memory_instructions_are_counted_by_width():
    code = """
     v4: %1 = buffer_load_dwordx4 %2, %3 offen
     v1: %4 = buffer_load_ubyte %2, %3
     s4: %5 = s_load_dwordx4 %6, 0
     s1: %7 = s_buffer_load_dword %5, 4
     v2: %8 = ds_read_b64 %9
     buffer_store_short %1, %2
     buffer_store_short %1, %2
    """
    assert counted(accesses("AMD", code)) == {
        "load 16": 1, "load 1": 1, "uniform load 4": 1, "shared load 8": 1, "store 2": 2
    }  # fmt: skip


def test_instructions_are_counted_by_the_loops_around_them():
    code = """
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, loop-preheader, */
     v1: %1 = v_add_u32 %2, %3
BB1
/* logical preds: BB0, BB4, / linear preds: BB0, BB4, / kind: uniform, loop-preheader, loop-header, */
     v1: %4 = buffer_load_ubyte %2, %3
     s1: %5 = s_add_u32 %20, 1
BB2
/* logical preds: BB1, / linear preds: BB1, / kind: loop-header, */
     v1: %6 = v_mul_f32 %5, %5
     v2: %8 = ds_read_b64 %9
BB3
/* logical preds: BB2, / linear preds: BB2, / kind: loop-exit, */
BB4
/* logical preds: BB3, / linear preds: BB3, / kind: uniform, top-level, loop-exit, */
    buffer_store_short %1, %2
"""
    assert vector_instructions(code) == (2, 1, 2)


def test_the_command_writes_and_compares(tmp_path, capsys):
    before = tmp_path / "before.json"
    assert main(["audit", "--small", "-k", "nearest", "--json", str(before)]) == 0
    out = capsys.readouterr().out
    assert "resample_moves" in out
    assert "navi21" in out
    assert main(["audit", "--small", "-k", "nearest", "--against", str(before)]) == 0
    assert "nothing changed" in capsys.readouterr().out
    content = json.loads(before.read_text())
    content["rows"][0]["compiled"]["navi21"]["instructions"] //= 2
    content["rows"][0]["compiled"]["navi21"]["waves"] //= 2
    before.write_text(json.dumps(content))
    assert main(["audit", "--small", "-k", "nearest", "--no-traffic", "--against", str(before)]) == 1
    out = capsys.readouterr().out
    assert "worse: resampling: nearest f32 8x64x56x56, twice: resample_moves: instructions, navi21" in out
    assert "better: resampling: nearest f32 8x64x56x56, twice: resample_moves: waves, navi21" in out


def test_every_line_says_that_the_times_are_a_model(capsys):
    assert main(["audit", "--small", "-k", "transpose", "--device", "RX 580,Mali-G715"]) == 0
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert table[1].split("  ")[0] == "workload"
    assert re.search(r"RX 580 .* us .* of copy .* limit .* Mali-G715", table[1])
    assert len(table) == 2 + sum("transpose" in name for name in WORKLOADS)
    assert all(line.count("model") == 2 for line in table[2:])


def benchmark(tmp_path: Path, device: str, **measures: dict) -> str:
    """A benchmark's JSON, of one workload."""
    result = {"name": "transpose f32 4096x4096", "group": "permutations", "measures": measures}
    content = {"format": "restride-benchmark", "small": True, "device": {"name": device}, "results": [result]}
    (tmp_path / "bench.json").write_text(json.dumps(content))
    return str(tmp_path / "bench.json")


def test_measured_times_stand_beside_the_model(tmp_path, capsys):
    kernel = {"restride": {"median": 200e-6}, "copy": {"median": 150e-6}}
    file = benchmark(tmp_path, "NVIDIA GeForce RTX 4090", kernel=kernel, resident={"restride": {"median": 1.0}})
    assert main(["audit", "--small", "-k", "transpose f32 4", "--device", "none", "--measured", file]) == 0
    title, head, *lines = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert title.endswith("; measured: on NVIDIA GeForce RTX 4090")
    assert re.search("RTX 4090 .* measured us  of copy  model / measured", head)
    measured, other = (next(line for line in lines if name in line) for name in ("4096x4096", "4091x4077"))
    seconds = float(measured.split("model")[1].split()[0])
    assert measured.split()[-3:] == ["200.0", "0.75", f"{seconds / 200:.2f}"]
    assert "200.0" not in other


@pytest.mark.parametrize(("chosen", "devices"), [("none", 0), ("RX 580,H200", 2)])
def test_a_benchmark_of_a_device_that_the_model_lacks_is_shown_without_a_prediction(chosen, devices, tmp_path, capsys):
    kernel = {"restride": {"median": 200e-6}, "copy": {"median": 150e-6}}
    file = benchmark(tmp_path, "NVIDIA GH200 480GB", kernel=kernel)
    assert main(["audit", "--small", "-k", "transpose f32 4", "--device", chosen, "--measured", file]) == 0
    title, head, *lines = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert title.endswith("; measured: on NVIDIA GH200 480GB, which the model does not have")
    assert head.endswith("measured us  of copy")
    assert head.count("limit") == devices
    measured = next(line for line in lines if "4096x4096" in line)
    assert measured.split()[-2:] == ["200.0", "0.75"]
    assert measured.count("model") == devices


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 HBM3"),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GH200 480GB", None),
        ("AMD Radeon RX 6900 XT (RADV NAVI21)", "RX 6900 XT"),
        ("Intel(R) Arc(TM) A770 Graphics (DG2)", "Arc A770"),
        ("Adreno (TM) 740", "Adreno 740"),
        ("Mali-G715-Immortalis MC11", "Mali-G715"),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", None),
    ],
)
def test_a_benchmark_belongs_to_the_device_that_the_driver_names(name, device, tmp_path):
    file = benchmark(tmp_path, name, kernel={"restride": {"median": 2e-4}, "copy": {"median": 1e-4}})
    assert read_benchmark(Path(file), known_devices(), is_small=True).device == device


@pytest.mark.parametrize(
    ("device", "kernel", "words"),
    [
        ("NVIDIA H200", {}, "no times of the measure kernel"),
        (
            "NVIDIA H200",
            {"restride": {"median": -1.0}, "copy": {"median": 1.0}},
            "is damaged: ValueError: a median of -1.0 s",
        ),
        ("NVIDIA H200", {"restride": {}, "copy": {"median": 1.0}}, "is damaged: KeyError"),
    ],
)
def test_a_benchmark_without_any_modelled_workload_is_refused(device, kernel, words, tmp_path, capsys):
    assert main(["audit", "--small", "--measured", benchmark(tmp_path, device, kernel=kernel)]) == 2
    assert re.search(words, capsys.readouterr().err)


@pytest.mark.parametrize("name", ["llvmpipe.json", "llvmpipe-mesa25.json"])
def test_workloads_without_the_device_are_left_out_of_a_benchmark(name):
    times = read_benchmark(BENCHMARKS / name, ("llvmpipe",), is_small=False).times
    stored = json.loads((BENCHMARKS / name).read_text(encoding="utf-8"))["results"]
    idle = [each["name"] for each in stored if (each["group"], each["name"]) not in times]
    assert idle == ["100 views NCHW->NHWC 1x3x8x8 by xp"]
    assert all(seconds > 0 and share > 0 for seconds, share in times.values())


def test_a_benchmark_of_other_sizes_is_refused(tmp_path, capsys):
    assert main(["audit", "--measured", benchmark(tmp_path, "NVIDIA H200", kernel={})]) == 2
    assert "its small is True, and here it is False" in capsys.readouterr().err


def test_a_lower_predicted_share_is_worse(tmp_path, capsys):
    before = tmp_path / "before.json"
    arguments = ["audit", "--small", "-k", "transpose f64", "--device", "RX 580"]
    assert main([*arguments, "--json", str(before)]) == 0
    content = json.loads(before.read_text())
    (share,) = content["model"]
    assert share["device"] == "RX 580"
    share["share"] *= 2
    before.write_text(json.dumps(content))
    capsys.readouterr()
    assert main([*arguments, "--against", str(before)]) == 1
    name = "permutations: transpose f64 2048x4096: transpose_shared_64"
    assert f"worse: {name}: share of copy on the RX 580 (model)" in capsys.readouterr().out


def test_a_part_is_compared_with_that_part_of_a_whole_audit(tmp_path, capsys):
    before = tmp_path / "before.json"
    arguments = ["audit", "--small", "--no-traffic"]
    assert main([*arguments, "-k", "transpose", "--json", str(before)]) == 0
    assert main([*arguments, "-k", "transpose f64", "--against", str(before)]) == 0
    assert capsys.readouterr().out.endswith("nothing changed\n")
    case = ["--case", "reorder f32[64,48]{1,0} -> f32[64,48]{0,1}"]
    assert main([*arguments, *case, "--against", str(before)]) == 0
    assert re.search(r"against .*\nnew: cases: reorder [^\n]*\n$", capsys.readouterr().out)


def test_goals_are_judged_and_misses_named():
    (row,) = workload_rows(Workload("NHWC->NCHW u8 1x1080x1920x3", "permutations", "u8[1080,1920,3]", Move((2, 0, 1))))
    good = Compiled(128, 24, 0, 0, 26, 100, 0, 700, 80, {}, 0, (50,))
    row.compiled["navi21"] = good
    row.traffic = {"load": Traffic(6220800, 194400, 194400, 200000, 50000, 0)}
    row.traffic["store"] = row.traffic["load"]
    assert row.groups * 128 >= 80_000

    def missed(share: float = 0.95) -> list[str]:
        prediction = Prediction(1e-4, share, "memory")
        verdicts = goals.verdicts(
            [row], {row.subject: {"RX 6900 XT": prediction, "H200": prediction._replace(share=0.1)}}
        )
        assert len(verdicts) == 7
        return [str(verdict) for verdict in verdicts if not verdict.is_met]

    name = "NHWC->NCHW u8 1x1080x1920x3"
    assert missed() == []
    assert missed(0.89) == [f"{name}: 0.89 of copy on the RX 6900 XT (model), goal at least 0.90 (model)"]
    row.compiled["navi21"] = replace(good, spills=3, waves=7, divisions=1)
    row.traffic["store"] = replace(row.traffic["load"], sectors=300000)
    kernel = f"{name}: interleaved_copy"
    assert missed() == [
        f"{kernel}: 3 spills, goal no spills",
        f"{kernel}: 7 waves, goal at least 8 waves",
        f"{kernel}: 1 divisions, goal no divisions",
        f"{kernel}: store 0.65, goal at least 0.90",
    ]
    row.compiled["navi21"] = replace(good, local_size=64)
    row.traffic["store"] = row.traffic["load"]
    assert missed() == [f"{kernel}: {row.groups * 64:,} invocations, goal at least 80,000"]
    row.traffic["store"] = replace(row.traffic["load"], needed=240_000)
    assert missed() == []


def test_a_group_has_goals_for_the_median_and_the_worst_share():
    subjects = [Subject(str(share), TTC57, 1000, 4) for share in (0.54, 0.81, 0.9)]
    model = {each: {"H200": Prediction(1e-4, float(each.name), "memory")} for each in subjects}
    assert list(map(str, goals.verdicts([], model))) == [
        "ttc57: median of 3 0.81 of copy on the H200 (model), goal at least 0.80 (model)",
        "ttc57: worst of 3 0.54 of copy on the H200 (model), goal at least 0.55 (model)",
    ]
    assert [each.is_met for each in goals.verdicts([], model)] == [True, False]


def test_the_page_has_the_goals():
    page = (BENCHMARKS / "audit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| at least ([0-9.]+) \| (?:at least ([0-9.]+))? ?\|$", page, re.MULTILINE)
    assert {group: float(least) for group, least, _ in rows} == goals.EFFICIENCY
    assert {group: float(least) for group, _, least in rows if least} == goals.SHARE
    words = " ".join(page.split())
    assert f"share of copy on the {goals.DEVICE}" in page
    assert f"at least {goals.WAVES} waves" in words
    assert (
        f"writes {goals.LARGE:,} elements or more, at least one invocation for every {goals.ELEMENTS} of them" in words
    )
    assert f"or {goals.INVOCATIONS:,}." in words


def test_the_stored_audit_is_of_the_kernels_that_are_planned():
    """`make audit` writes the stored audit anew."""
    stored = json.loads((BENCHMARKS / "audit.json").read_text(encoding="utf-8"))
    rows = [row for workload in catalogue() for row in workload_rows(workload)]
    planned = [
        (row.subject.name, row.dispatch.kernel.shader, list(row.dispatch.kernel.groups), row.count) for row in rows
    ]
    assert [(row["workload"], row["kernel"], row["groups"], row["count"]) for row in stored["rows"]] == planned
    table = (BENCHMARKS / "audit.txt").read_text(encoding="utf-8")
    assert re.search(r"^goals: \d+ of \d+ met \(navi21, subgroups of 32\)$", table, re.MULTILINE)
    assert table.count(" model ") == len(stored["model"])


def test_the_chart_has_a_bar_for_each_figure(tmp_path):
    chart = tmp_path / "here.svg"
    assert main(["audit", "--small", "-k", "transpose f", "--device", "H200", "--chart", str(chart)]) == 0
    description, _, drawn = chart.read_text().partition("</desc>")
    for text in (description, drawn):
        assert text.count("loads: efficiency") == text.count("H200: share of copy (model)") == 3
    assert "a model's, not measured" in drawn
    assert "small sizes" in drawn


def test_a_kernel_with_too_many_records_is_named_and_has_no_traffic(monkeypatch, capsys):
    monkeypatch.setattr("restride_bench.audit.traffic.CAPACITY", 64)
    assert main(["audit", "--small", "-k", "transpose f64"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"is not traced: transpose_shared_64 makes \d+ records, too many for their buffer", err)
    assert "model" not in out


def test_a_kernel_that_does_not_compile_is_named():
    key = Key("nosuch", (), 2)
    with pytest.raises(rs.DeviceError, match=r"unknown shader.*nosuch"):
        compile_kernels("navi21", [key])


@pytest.mark.parametrize(
    ("line", "shader"),
    [
        ("reorder f32[64,48]{1,0} -> f32[64,48]{0,1}", "transpose_shared_32"),
        ("resample u8[24,32]{1,0} -> u8[12,40]{1,0} mode=linear", "resample_"),
    ],
)
def test_a_case_is_audited_as_it_would_be_dispatched(line, shader, capsys):
    assert main(["audit", "--case", line]) == 0
    assert shader in capsys.readouterr().out


def test_audits_of_other_sizes_are_not_compared(tmp_path, capsys):
    before = tmp_path / "before.json"
    assert main(["audit", "--small", "-k", "nearest", "--no-traffic", "--json", str(before)]) == 0
    assert main(["audit", "-k", "nearest", "--no-traffic", "--against", str(before)]) == 2
    assert "its small is True, and here it is False" in capsys.readouterr().err


def test_a_case_that_no_gpu_has_room_for_is_refused(capsys):
    assert main(["audit", "--case", "reorder u8[1000000,1000000]{1,0} -> f32[1000000,1000000]{0,1}"]) == 6
    assert "no room" in capsys.readouterr().err


def test_the_example_of_the_help_is_a_case():
    text = " ".join(_DESCRIPTION.split())
    (line,) = re.findall(r"--case '(.*?)'", text)
    assert str(Case.parse(line)) == line


def test_new_and_missing_kernels_are_named():
    row = {"workload": "w", "group": "g", "kernel": "k", "traffic": {}, "compiled": {}}
    none, one, two = ({"settings": {}, "rows": rows, "model": []} for rows in ([], [row], [row, row]))
    assert changes(one, none) == (["gone: g: w: k"], False)
    assert changes(one, two) == (["new: g: w: k 2"], False)


def test_audits_of_different_compilers_compare_only_traffic(tmp_path, capsys):
    before = tmp_path / "before.json"
    arguments = ["audit", "--small", "-k", "transpose f64", "--device", "none"]
    assert main([*arguments, "--json", str(before)]) == 0
    content = json.loads(before.read_text())
    assert content["settings"]["compiler"].startswith("Mesa ")
    content["settings"]["compiler"] = "Mesa 1.2.3"
    (row,) = content["rows"]
    row["compiled"]["navi21"]["vgprs"] -= 8
    before.write_text(json.dumps(content))
    assert main([*arguments, "--against", str(before)]) == 0
    out = capsys.readouterr().out
    assert re.search(
        "\ncompiled by 'Mesa 1.2.3', now by 'Mesa .*': only the traffic is compared\nnothing changed\n$", out
    )
    row["traffic"]["load"]["efficiency"] = 2
    before.write_text(json.dumps(content))
    assert main([*arguments, "--against", str(before)]) == 1
    assert "transpose_shared_64: efficiency of load 2 -> 1\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "rows",
    [
        None,
        [None],
        [{"workload": "w", "group": "g", "kernel": "k", "traffic": {}}],
        [{"workload": "w", "group": "g", "kernel": "k", "traffic": {"load": {"efficiency": "1"}}, "compiled": {}}],
        [{"workload": "w", "group": "g", "kernel": "k", "traffic": {"load": {"efficiency": 10**400}}, "compiled": {}}],
        [{"workload": "w", "group": "\ud800", "kernel": "k", "traffic": {}, "compiled": {}}],
        [{"workload": "w", "group": "g", "kernel": "k", "traffic": [], "compiled": {}}],
    ],
)
def test_a_damaged_audit_is_refused(tmp_path, rows):
    content = {"format": FORMAT, "version": VERSION, "settings": {}, "rows": rows, "model": []}
    (tmp_path / "before.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"the audit .*before\.json is damaged: \w+"):
        read_record(tmp_path / "before.json")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--family", "nosuch", "--no-traffic"], 4, r"does not know the family 'nosuch': .*navi21 \(RX 6900 XT"),
        (["--family", ""], 2, "--family '' is neither all nor names such as navi21,"),
        (["--family", "all,navi10"], 2, "--family 'all,navi10' is neither all nor"),
        (["--device", "RX 6900"], 2, "'RX 6900' is none of RX 6900 XT, RX 580, .*Mali-G715"),
        (["--device", "H200", "--no-traffic"], 2, "the model and the chart need the traffic"),
        (["--chart", "here.svg", "--no-traffic"], 2, "the model and the chart need the traffic"),
        (["--chart", "here.pdf"], 2, "a chart is .svg or .png"),
        (["--measured", "nowhere.json"], 2, "cannot read nowhere.json"),
        (["-k", "no such workload"], 5, "no workload has 'no such workload' in its name.*audit --list"),
        (["-k", "copy f32 4096"], 5, "no kernel is dispatched: the device's own copy"),
        (["-k", "", "--case", "turn f32[2]"], 2, "turn"),
        (["--against", "nowhere.json"], 2, "cannot read nowhere.json"),
        (["--against", "/dev/zero"], 2, "cannot read /dev/zero: not a file"),
    ],
)
def test_subjects_that_cannot_be_audited_are_named(arguments, code, words, capsys):
    assert main(["audit", "--small", *(arguments if "-k" in arguments else ["-k", "nearest", *arguments])]) == code
    assert re.search(words, capsys.readouterr().err)


def test_without_radv_the_message_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("restride_bench.audit.compiler.driver_file", _no_driver)
    assert main(["audit", "--small", "-k", "nearest"]) == 4
    assert "apt install mesa-vulkan-drivers" in capsys.readouterr().err


def test_a_family_that_only_a_newer_mesa_knows_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(FAMILIES, "tomorrow", "a card of tomorrow")
    arguments = ["audit", "--small", "-k", "nearest", "--no-traffic", "--family"]
    assert main([*arguments, "tomorrow"]) == 4
    assert "does not know the family 'tomorrow': install Mesa 25 or newer" in capsys.readouterr().err
    assert main([*arguments, "all"]) == 0
    out, err = capsys.readouterr()
    assert [line.partition(" ")[0] for line in out.splitlines() if "(RX" in line][:4] == [*FAMILIES][:4]
    assert "tomorrow is left out: the RADV of this Mesa does not know" in err
    assert "a card of tomorrow" not in out


def test_a_compiler_that_crashes_is_named_with_the_kernel(monkeypatch, capsys):
    crash = """import os; print('{"device": {"version": "Mesa 1"}}\\n{"begin": 0}', flush=True); os.abort()"""
    monkeypatch.setattr(Mesa, "command", lambda *_: ([sys.executable, "-c", crash], {}))
    assert main(["audit", "--small", "-k", "nearest"]) == 4
    said = "RADV does not compile resample_moves for the family 'navi21': its process died of SIGABRT"
    assert said in capsys.readouterr().err


def test_the_command_says_what_it_does_meanwhile(capsys):
    assert main(["audit", "--small", "-k", "nearest", "--device", "none"]) == 0
    out, err = capsys.readouterr()
    assert "restride: compiling the kernels for navi21 ...\nrestride: counting their memory traffic ...\n" in err
    assert "model" not in out


def audit(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process, whose loader has not looked for drivers yet."""
    command = [sys.executable, "-m", "restride", "audit", "--small", "-k", "nearest", *options]
    return captured(command, env=os.environ | environment)


def test_without_a_device_the_kernels_can_still_be_compiled():
    nowhere = dict.fromkeys(DRIVER_VARIABLES, "/nowhere/none.json")
    done = audit(**nowhere)
    assert done.returncode == 4
    assert done.stderr.endswith("; --no-traffic only compiles, which needs no device\n")
    done = audit("--no-traffic", **nowhere)
    assert done.returncode == 0
    assert "resample_moves" in done.stdout


def test_traffic_is_counted_on_a_device_that_runs_kernels():
    """RADV's null hardware, which only compiles, may be the first device of a machine."""
    done = audit(RADV_FORCE_FAMILY="navi21")
    assert done.returncode == 0, done.stderr
    assert " model " in done.stdout


def test_counts_are_for_all_invocations_and_each_byte(capsys):
    assert main(["audit", "--case", "reorder f32[64,64]{1,0} -> f32[64,64]{0,1}", "--no-traffic"]) == 0
    _, heads, row = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    ends = [match.end() for name in ("invocations", "groups", "branches/B") for match in re.finditer(f" {name}", heads)]
    (dispatch,) = dispatches(TRANSPOSED)
    compiled = compile_kernels("navi21", [key := Key.of(dispatch.kernel)])[key]
    groups = math.prod(dispatch.kernel.groups)
    invocations = groups * compiled.local_size
    branches = compiled.branches * invocations / (4 * 64 * 64)
    assert branches > 0
    assert [row[:end].split()[-1] for end in ends] == [f"{invocations:,}", f"{groups:,}", f"{branches:.2f}"]


def _no_driver(name):
    raise rs.DeviceNotFound(f"no driver {name}")
