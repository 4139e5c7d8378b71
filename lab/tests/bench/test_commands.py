"""`restride bench`: the table, the JSON and the chart of made-up times, and a run of small workloads."""

import itertools
import json
import os
import re
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.bench_reports import COPY, TURN, cells, report
from support.devices import open_device

import restride as rs
from restride.cli import main
from restride.cli.devices import cpu_model
from restride.errors import UnsupportedError
from restride.runtime import RUNTIMES
from restride_bench import peers
from restride_bench.charts import chart_file, draw_bars, require_matplotlib
from restride_bench.report import FORMAT, table
from restride_measure import own
from restride_measure import run as bench_run
from restride_measure.offer import MEASURES, Absent, Offer
from restride_measure.run import WARM_UP, Columns, Disagreement, Result, timed_rounds, warnings
from restride_measure.workloads import TTC57, Goal


def test_help_fills_prose_and_keeps_tables(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bench", "--help"]) == 0
    text = capsys.readouterr().out
    assert "\n          kernel    what the device itself says it took\n" in text
    assert re.search(r"\npeers:    by-hand, .*\n {10}\S", text)


def test_the_table_has_medians_speeds_shares_ratios_and_goals():
    resident, kernel = table(report()).split("\n\n")[1:3]
    lines = resident.splitlines()
    assert lines[0].startswith("resident: ")
    assert lines[0].endswith("medians of 3 rounds")
    assert cells(lines[2]) == ["workload", "ms", "GB/s", "of copy", "/own", "/numpy", "goals"]
    assert lines[3] == "copies"
    copied = ["copy f32 1000", "2.000", "0.00", "0.50", "-", "4.00", "at most 2x numpy: MISSED"]
    assert cells(lines[4]) == copied
    assert lines[5] == "turns"
    assert cells(lines[6])[:6] == ["transpose f32 10x20", "0.300", "0.01", "0.10", "1.50", "-"]
    assert cells(lines[6])[6] == "at most 1.5x own copy: met; under 400 us: met"
    ends = {re.search(r"2\.000|0\.300", line).end() for line in (lines[4], lines[6])}
    assert len(ends) == 1, "columns are aligned"
    assert cells(kernel.splitlines()[2]) == ["workload", "ms", "GB/s", "of copy"]
    assert "transpose" not in kernel


def test_the_summary_names_what_is_missed_wrong_and_absent():
    wrong = Disagreement(COPY.name, "torch", 2.0, 1.0)
    made = report(broken_off="interrupted")
    results = (replace(made.results[0], disagreements=(wrong,)), Result(TURN, {}, skipped="no room"))
    summary = table(replace(made, results=results)).split("\n\n")[-1].splitlines()
    assert summary == [
        "goals: 0 of 1 met",
        "missed: copy f32 1000: 4.00x numpy, goal at most 2x numpy",
        "WRONG: torch does not compute 'copy f32 1000': differs by 2, and 1 is allowed",
        "skipped: transpose f32 10x20: no room",
        "peers: numpy 2.0",
        "absent: torch: not installed: pip install torch",
        "device memory of a resample to 3x1200x2000 f32, beside its destination: 2 KiB",
        "broken off: interrupted",
    ]


def test_a_group_has_a_goal_for_the_geometric_mean():
    rows = [replace(COPY, name=name, group=TTC57, goals=()) for name in ("a", "b", "c")]
    times = ({"restride": (2.0,), "numpy": (1.0,)}, {"restride": (1.0,), "numpy": (8.0,)}, {"restride": (1.0,)})
    results = tuple(Result(row, {"resident": columns}) for row, columns in zip(rows, times, strict=True))
    line = "ttc57: 2 of 3 bit for bit as numpy, geometric mean 0.50x numpy, goal at most 1x numpy: met"
    assert line in table(report(results=results)).splitlines()
    assert report(results=results).record()["means"] == [
        {
            "group": TTC57,
            "equal": 2,
            "workloads": 3,
            "ratio": pytest.approx(0.5),
            "goal": "at most 1x numpy",
            "met": True,
        }
    ]
    assert "geometric" not in table(report(results=results, is_small=True)) + table(report())
    assert "2.00x numpy, goal at most 1x numpy: MISSED" in table(report(results=results[:1]))


def test_goals_are_met_or_missed():
    assert Goal("numpy", 2.0).is_met(2.0, 1.0)
    assert not Goal("numpy", 2.0).is_met(2.1, 1.0)
    assert Goal(seconds=400e-6).is_met(399e-6, None)
    assert not Goal(seconds=400e-6).is_met(400e-6, None)


def test_a_goal_against_an_absent_peer_is_not_judged():
    assert [verdict.goal.against for verdict in report().verdicts] == ["numpy", "own copy", ""]


def test_the_record_has_every_time_and_survives_json():
    record = json.loads(json.dumps(report().record(), allow_nan=False))
    assert (record["format"], record["version"]) == (FORMAT, 1)
    first, second = record["results"]
    assert first["measures"]["resident"]["numpy"] == {"median": 0.5e-3, "seconds": [4e-3, 0.5e-3, 0.4e-3]}
    assert (first["useful_bytes"], first["tolerance"]) == (8000, 0.0)
    assert first["task"] == {"kind": "Move", "axes": [0], "steps": []}
    assert [goal["met"] for goal in first["goals"] + second["goals"]] == [False, True, True]
    assert record["absent"] == {"torch": "not installed: pip install torch"}
    assert record["warnings"] == ["too busy"]
    assert (record["platform"], record["cpu"]) == ("somewhere", "A processor, 2 cores")


def test_the_chart_has_a_bar_for_each_column_and_the_fastest_is_the_longest():
    pytest.importorskip("matplotlib")
    figure = draw_bars(report(), "resident")
    (axes,) = figure.axes
    bars = [(bars.get_label(), bars.patches[0].get_width()) for bars in axes.containers]
    expected = [("restride", 0.25), ("copy", 0.5), ("numpy", 1.0), ("restride", 0.1), ("copy", 1.0), ("own copy", 0.15)]
    assert [name for name, _ in bars] == [name for name, _ in expected]
    assert [width for _, width in bars] == pytest.approx([width for _, width in expected])
    texts = [text.get_text() for text in axes.texts]
    for figures in ("2.000 ms, 0.00 GB/s", "1.000 ms, 0.01 GB/s", "0.500 ms, 0.02 GB/s", "0.300 ms, 0.01 GB/s"):
        assert figures in texts, "the median and the useful bytes a second"
    assert {"copies", COPY.name, "turns", TURN.name, "own copy"} <= set(texts)
    title = figure.get_suptitle().splitlines()
    assert title[:2] == ["restride on A device, drv 1.2", "A processor, 2 cores"]
    assert title[-1] == "warning: too busy"


def test_a_chart_is_the_same_file_again_in_both_formats():
    pytest.importorskip("matplotlib")
    first, again = (chart_file(draw_bars(report(), "resident"), ".svg") for _ in range(2))
    assert first == again
    assert COPY.name in ET.fromstring(first).itertext(), "texts stay texts"
    assert chart_file(draw_bars(report(), "kernel"), ".PNG")[:4] == b"\x89PNG"
    assert not draw_bars(report(results=()), "resident").axes, "nothing measured is no bar"


def test_charts_need_an_extra_which_the_error_names(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedError, match=r"charts need matplotlib: pip install 'restride-lab\[charts\]'"):
        require_matplotlib()
    assert main(["bench", "--chart", str(tmp_path / "here.svg")]) == 2, "before anything is measured"
    assert "pip install 'restride-lab[charts]'" in capsys.readouterr().err


def test_every_round_runs_all_columns_and_warm_up_does_not_count():
    order = []

    def offer(name):
        return Offer(resident=lambda: order.append(name), kernel=lambda: 7.0 if name == "a" else 8.0)

    columns = Columns({"a": offer("a"), "b": offer("b"), "c": Offer(numpy=lambda: np.zeros(1))})
    found = timed_rounds(columns, ("resident", "kernel", "numpy"), repeat=8)
    rounds = [order[start : start + 2] for start in range(0, len(order), 2)]
    assert len(rounds) == WARM_UP + 8
    assert all(sorted(names) == ["a", "b"] for names in rounds)
    assert 2 <= [names[0] for names in rounds[WARM_UP:]].count("a") <= 6, "neither is always first"
    assert found["kernel"] == {"a": (7.0,) * 8, "b": (8.0,) * 8}
    assert {name: len(times) for name, times in found["resident"].items()} == {"a": 8, "b": 8}
    assert list(found["numpy"]) == ["c"]


def test_where_the_device_changes_programs_one_call_does_not_count():
    called = []
    ours = [Offer(resident=lambda name=name: called.append(name)) for name in "ab"]
    theirs = Offer(resident=lambda: called.append("cuda"), is_elsewhere=True)
    awake = []
    columns = Columns({"a": ours[0], "b": ours[1], "cuda": theirs}, keep_awake=awake.append)
    found = timed_rounds(columns, ("resident",), repeat=20, warm_up=0)
    assert {len(times) for times in found["resident"].values()} == {20}
    switches = [
        number for number in range(1, len(called)) if (called[number] == "cuda") != (called[number - 1] == "cuda")
    ]
    assert len(switches) >= 20
    for number in switches:  # each is followed by the call that counts
        assert called[number] == called[number + 1]
    assert len(called) == 60 + len(switches) + (called[0] == "cuda")
    assert awake == [bench_run.WAKING] + [bench_run.AWAKE] * 19


def test_a_device_is_kept_at_work_while_it_becomes_faster(vulkan_device, monkeypatch):
    assert own.keep_awake(vulkan_device)(1e9) is None, "a CPU is left alone"
    seconds = iter([0, 1, 1.5, 1.75, 2, 2.25])  # of batches: 1, 0.5, 0.25, 0.25, 0.25
    monkeypatch.setattr(own.time, "perf_counter", lambda: next(seconds))
    gpu = SimpleNamespace(info=SimpleNamespace(kind="discrete"), batch=vulkan_device.batch, wait=vulkan_device.wait)
    small = rs.empty("f32[2,2]", vulkan_device)
    monkeypatch.setattr(own.rs, "empty", lambda *_: small)
    monkeypatch.setattr(own.rs, "reorder", lambda *_, **__: None)
    own.keep_awake(gpu)(0.3)
    assert list(seconds) == [], "the last 0.3 s brought nothing"


def test_processor_time_counts_work_and_not_sleep():
    def work():
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass

    bench_run.wait_until_idle()  # other libraries' threads
    columns = Columns({"work": Offer(resident=work), "sleep": Offer(resident=lambda: time.sleep(0.02))})
    found = timed_rounds(columns, ("processor", "resident"), repeat=3, warm_up=0)
    assert min(found["processor"]["work"]) >= 0.02
    assert max(found["processor"]["sleep"]) < 0.01
    assert min(found["resident"]["sleep"]) >= 0.02


@pytest.mark.parametrize(("used", "sleeps"), [([0.0], 1), ([0.02, 0.02, 0.0005], 3), ([0.02] * 60, 50)])
def test_after_a_library_whose_threads_spin_the_next_column_waits_until_they_sleep(monkeypatch, used, sleeps):
    """Processor seconds of each 10 ms: 50 of these are the longest pause."""
    slept, left = [], iter(used)

    def sleep(seconds):
        slept.append(seconds)
        clock["process"] += next(left)

    clock = {"process": 0.0}
    monkeypatch.setattr(bench_run.time, "sleep", sleep)
    monkeypatch.setattr(bench_run.time, "process_time", lambda: clock["process"])
    monkeypatch.setattr(
        bench_run.time, "perf_counter", lambda: sum(slept) * (1 + 1e-9)
    )  # 50 * 0.01 may be just below 0.5
    spins = Offer(resident=lambda: None)
    timed_rounds(Columns({"spins": spins}, {"spins"}), ("resident",), repeat=1, warm_up=0)
    assert len(slept) == sleeps


@pytest.mark.parametrize(("average", "warns"), [(0.9, False), (1.1, True)])
def test_a_busy_machine_is_named(monkeypatch, average, warns):
    monkeypatch.setattr(os, "getloadavg", lambda: (average, 0.0, 0.0), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert bool(warnings({})) == warns


def test_layers_are_named(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    (line,) = warnings({"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"})
    assert line.startswith("VK_INSTANCE_LAYERS is set: ")


@pytest.fixture
def chosen_peers(monkeypatch):
    """A registry that a test may change."""
    made = dict(peers.PEERS)
    monkeypatch.setattr(peers, "PEERS", made)
    return made


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_small_run_and_its_files(runtime, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    with open_device(runtime) as device:
        name = device.info.name
    record, chart = tmp_path / "here.json", tmp_path / "here.svg"
    options = ("--small", "--repeat", "1", "-k", "NCHW->NHWC f32 1x3x8x8", "--peers", "by-hand,numpy")
    files = ("--json", str(record), "--chart", str(chart), "--runtime", runtime)
    assert main(["bench", *options, *files, "--measure", "kernel,resident,numpy,processor"]) == 0
    out, err = capsys.readouterr()
    assert name in out
    assert "NCHW->NHWC f32 1x3x8x8" in out
    assert "restride: opening other libraries, then measuring ...\n" in err
    assert ("kernel is left out: the runtime kompute has no clock" in err) == (runtime == "kompute")
    made = json.loads(record.read_text())
    (result,) = made["results"]
    measures = ["resident", "numpy", "processor"] if runtime == "kompute" else list(MEASURES)
    assert made["measures"] == measures
    assert set(result["measures"]["processor"]) == set(result["measures"]["resident"])
    assert set(result["measures"]["resident"]) == {"restride", "copy", "by-hand", "numpy"}
    assert set(result["measures"]["numpy"]) == {"restride", "by-hand", "numpy"}
    assert all(len(column["seconds"]) == 1 for column in result["measures"]["resident"].values())
    assert result["useful_bytes"] == 2 * 4 * 192
    assert made["device"]["name"] == name
    assert made["cpu"] == cpu_model()
    assert f"processor: {made['cpu']}" in out
    assert list(made["peers"]) == ["by-hand", "numpy"]
    assert ET.parse(chart).getroot().tag.endswith("svg")


@pytest.mark.usefixtures("vulkan_device")
def test_a_peer_that_computes_something_else_is_an_error_and_one_that_is_absent_is_named(chosen_peers, capsys):
    class Wrong:
        name, version, lingers = "numpy", "0", False

        def offer(self, _, source):
            return Offer(resident=lambda: None, result=lambda: source + 1)

    class Raises(Wrong):
        name = "opencv"

        def offer(self, *_):
            raise RuntimeError("no such thing")

    def absent(_):
        raise Absent("not installed: pip install torch")

    chosen_peers.update(numpy=lambda _: Wrong(), opencv=lambda _: Raises(), torch=absent)
    arguments = ["bench", "--small", "--repeat", "1", "-k", "copy f32 16", "--measure", "resident"]
    assert main([*arguments, "--peers", "numpy,opencv,torch"]) == 1
    out = capsys.readouterr().out
    assert "WRONG: numpy does not compute 'copy f32 16': differs by 1, and 0 is allowed" in out
    assert "WRONG: opencv does not compute 'copy f32 16': RuntimeError: no such thing" in out
    assert "absent: torch: not installed: pip install torch" in out
    assert "/numpy" not in out


@pytest.mark.usefixtures("vulkan_device")
def test_a_run_that_is_broken_off_says_so_and_writes_what_it_has(chosen_peers, capsys, tmp_path):
    class Interrupts:
        name, version, lingers = "numpy", "0", False

        def offer(self, workload, _):
            if workload.name != "copy f32 16":
                raise KeyboardInterrupt

    chosen_peers["numpy"] = lambda _: Interrupts()
    arguments = ["bench", "--small", "--repeat", "1", "-k", "small calls", "--measure", "resident", "--peers", "numpy"]
    assert main([*arguments, "--json", str(tmp_path / "part.json")]) == 130
    made = json.loads((tmp_path / "part.json").read_text())
    assert made["broken_off"] == "interrupted"
    assert [result["name"] for result in made["results"]] == ["copy f32 16"]
    assert capsys.readouterr().out.endswith("broken off: interrupted\n")


def test_several_keywords_choose_what_any_of_them_names_in_their_order(capsys):
    assert main(["bench", "--list", "-k", "transpose u8", "-k", "transpose f32 4096", "-k", "TRANSPOSE U8 8192"]) == 0
    names = [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()]
    each = []
    for keyword in ("transpose u8", "transpose f32 4096"):
        assert main(["bench", "--list", "-k", keyword]) == 0
        each += [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == each
    assert len(names) > 2


def test_what_has_no_time_left_is_named(capsys, tmp_path, monkeypatch):
    """The clock says that an hour passes for each workload; the first always runs."""
    hours = itertools.count()
    monkeypatch.setattr("restride_bench.report.time", SimpleNamespace(monotonic=lambda: 3600.0 * next(hours)))
    file = tmp_path / "bench.json"
    options = ["--small", "--repeat", "1", "--peers", "none", "--measure", "resident", "--json", str(file)]
    words = ["-k", "transpose f64", "-k", "transpose u8", "--seconds"]
    assert main(["bench", *options, *words, "4000"]) == 0
    out = capsys.readouterr().out
    content = json.loads(file.read_text())
    assert [result["name"] for result in content["results"]] == ["transpose f64 2048x4096", "transpose u8 8192x8192"]
    assert content["left_out"] == ["permutations: transpose u8 4095x4093"]
    assert content["broken_off"] == ""
    assert "left out, for the time: permutations: transpose u8 4095x4093" in out
    assert main(["bench", *options, *words, "999999"]) == 0
    assert json.loads(file.read_text())["left_out"] == []
    assert "left out" not in capsys.readouterr().out


def test_the_list_needs_no_device(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    assert main(["bench", "--list", "-k", "transpose F32 4096"]) == 0
    assert re.fullmatch(
        r"permutations: +transpose f32 4096x4096 +f32\[4096,4096\] +at most 1x numpy\n", capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("-k", "no such"), 5, "no workload has 'no such'"),
        (("-k", "onnxruntime"), 5, "`restride bench --list` has them, and --peers names libraries"),
        (("--peers", "numpy,abacus"), 2, "'abacus' is none of by-hand, raw, numpy"),
        (("--measure", "speed"), 2, "'speed' is none of resident, kernel, numpy, processor"),
        (("--repeat", "0"), 2, "'0' is no number of rounds"),
        (("--chart", "here.pdf"), 2, "a chart is .svg or .png"),
        (("--growth", "here"), 2, "a chart is .svg or .png"),
        (("--growth", "a.svg", "--chart", "a.svg"), 2, "a file of its own"),
        (("--growth", "a.svg", "-k", "no such"), 5, "no workload has 'no such'"),
        (("-k", "scale", "--chart", "a.svg"), 2, "-k scale has no bars: --growth draws its growth"),
        (("-k", "scale: nothing"), 5, "no workload has 'scale: nothing'"),
        (("-k", "no such", "-k", "nor this"), 5, "no workload has 'no such' or 'nor this' in"),
        (("-k", "copy", "-k", "no such"), 5, "no workload has 'no such' in"),
        (("--seconds", "0"), 2, "'0' is no number of seconds"),
        (("-k", "scale", "-k", "copy"), 2, "-k scale goes with no other workloads"),
        (("-k", "scale", "--seconds", "9"), 2, "--seconds is not of -k scale"),
        (("--whole",), 2, "--whole is of -k scale"),
        (("-k", "scale", "--whole", "--small"), 2, "not allowed with argument"),
        (("--json", "/nowhere/at/all.json"), 2, "no such folder"),
        (("--json", "a.svg", "--chart", "a.svg"), 2, "a file of its own"),
        (("--device", "no such device", "-k", "copy f32 16"), 4, "no such device"),
    ],
)
def test_bad_arguments(capsys, arguments, code, words):
    assert main(["bench", *arguments]) == code
    assert words in capsys.readouterr().err
