"""`restride bench`: the table, the JSON and the chart of made-up times, and a run of small workloads."""

import itertools
import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.bench_reports import COPY, RESULTS, TURN, cells, record
from support.devices import open_device

from restride.cli import main
from restride.command.processor import cpu_model
from restride.errors import UnsupportedError
from restride.runtime import RUNTIMES
from restride_bench import peers
from restride_bench.charts import _MARKS, chart_file, draw_ratios, require_matplotlib
from restride_bench.report import mean_lines
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.summary import summary
from restride_conformance.report.table import MEASURES
from restride_measure.offer import Absent, Offer
from restride_measure.run import Disagreement, WorkloadTimes
from restride_measure.workloads import TTC57, catalogue, images, large


def test_help_fills_prose_and_keeps_tables(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bench", "--help"]) == 0
    text = capsys.readouterr().out
    assert "\n          kernel    what the device itself says it took\n" in text
    assert re.search(r"\npeers:    by-hand, .*\n {10}\S", text)


def test_the_table_has_medians_speeds_shares_ratios_and_goals():
    head, resident, kernel, end = summary(record()).split("\n\n")
    assert head.splitlines() == [
        "A device, drv 1.2, runtime vulkan; restride 0.1",
        "processor: A processor, 2 cores",
        "warning: too busy",
    ]
    lines = resident.splitlines()
    copied = ["copy f32 1000", "2.000", "0.00", "0.50", "-", "4.00", "at most 2x numpy: MISSED"]
    assert cells(lines[4]) == copied
    assert cells(lines[6])[:6] == ["transpose f32 10x20", "0.300", "0.01", "0.10", "1.50", "-"]
    assert cells(lines[6])[6] == "at most 1.5x own copy: met; under 400 us: met", "a peer that is absent is not judged"
    assert cells(kernel.splitlines()[2]) == ["workload", "ms", "GB/s", "of copy"]
    assert "transpose" not in kernel
    assert end.splitlines() == [
        "goals: 2 of 3 met",
        "missed: copy f32 1000: 4.00x numpy, goal at most 2x numpy",
        "peers: numpy 2.0",
        "not run: torch: not installed: pip install torch",
    ]


def test_what_is_wrong_or_skipped_is_in_the_row():
    wrong = Disagreement(COPY.name, "torch", 2.0, 1.0)
    results = (replace(RESULTS[0], disagreements=(wrong,)), WorkloadTimes(TURN, {}, skipped="no room"))
    first, second = record(results).outcomes
    assert (first.verdict, second.verdict) == ("FAILED", "SKIPPED")
    assert first.message == "torch does not compute 'copy f32 1000': differs by 2, and 1 is allowed"
    assert second.message == "no room"


def test_a_group_has_a_goal_for_the_geometric_mean():
    rows = [replace(COPY, name=name, group=TTC57, goals=()) for name in ("a", "b", "c")]
    times = ({"restride": (2.0,), "numpy": (1.0,)}, {"restride": (1.0,), "numpy": (8.0,)}, {"restride": (1.0,)})
    results = [WorkloadTimes(row, {"resident": columns}) for row, columns in zip(rows, times, strict=True)]
    line = "ttc57: 2 of 3 bit for bit as numpy, geometric mean 0.50x numpy, goal at most 1x numpy: met"
    assert mean_lines(results) == [line]
    assert mean_lines(RESULTS) == []
    (missed,) = mean_lines(results[:1])
    assert missed.endswith("2.00x numpy, goal at most 1x numpy: MISSED")


def test_the_record_has_every_time_and_is_read_back(tmp_path):
    file = tmp_path / "bench.json"
    write_record(record(), file)
    assert read_record(file, "bench") == record()
    first, second = record().outcomes
    assert first.figures["resident"]["numpy"] == [4e-3, 0.5e-3, 0.4e-3]
    assert (first.figures["bytes"], first.figures["tolerance"]) == (8000, 0.0)
    assert (first.figures["task"], first.figures["how"]) == ("reorder f32[1000]{0} -> f32[1000]{0}", "")
    assert [goal["met"] for each in (first, second) for goal in each.figures["goals"].values()] == [False, True, True]


STORED = Path(__file__).parents[3] / "docs" / "benchmarks"


@pytest.mark.parametrize("name", ["h200", "llvmpipe", "llvmpipe-mesa25"])
def test_the_stored_table_is_that_of_the_stored_record(name, capsys):
    assert main(["report", "show", str(STORED / f"{name}.json")]) == 0
    assert (STORED / f"{name}.txt").read_text() == capsys.readouterr().out, "store what `restride report show` prints"


def test_the_stored_growth_is_read():
    assert read_record(STORED / "growth-llvmpipe.json", "bench").problems == ()


def test_the_chart_has_a_row_for_each_workload_and_a_mark_for_each_column():
    pytest.importorskip("matplotlib")
    figure = draw_ratios(record(), "resident")
    (axes,) = figure.axes
    rows = [text.get_text() for text in axes.get_yticklabels()]
    assert rows == ["copies", f"{COPY.name}   2.00 ms", "turns", f"{TURN.name}   0.300 ms"], "restride's own medians"
    lines = [line for line in axes.lines if line.get_label() != "restride"]
    marks = {line.get_label(): line.get_xydata().round(9).tolist() for line in lines}
    assert marks == {"copy": [[2.0, 1], [10.0, 3]], "numpy": [[4.0, 1]], "own": [[1.5, 3]]}, (
        "restride's time over theirs"
    )
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["restride", "copy", "own", "numpy"]
    title = figure.get_suptitle().splitlines()
    assert title[:2] == ["restride on A device, drv 1.2", "A processor, 2 cores, 2026-01-02"]
    assert title[-1] == "warning: too busy"
    assert f"{TURN.name}: restride 0.300 ms, copy 0.0300 ms, own copy 0.200 ms" in chart_file(figure, ".svg").decode()


def luminance(colour):
    """The relative luminance of WCAG 2."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return sum(
        weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def test_each_column_has_a_colour_of_its_own_that_is_seen_on_white():
    assert {*peers.PEERS} <= {*_MARKS}
    colours = [colour for colour, _ in _MARKS.values()]
    assert len(set(colours)) == len(colours)
    assert min(1.05 / (luminance(colour) + 0.05) for colour in colours) >= 3


@pytest.mark.parametrize("name", ["h200", "llvmpipe", "llvmpipe-mesa25"])
def test_a_screen_shows_the_whole_chart_of_a_stored_run(name):
    """900 px, of 96 an inch."""
    pytest.importorskip("matplotlib")
    made = read_record(STORED / f"{name}.json", "bench")
    figure = draw_ratios(made, "resident")
    assert figure.get_size_inches()[1] * 96 <= 900
    rows = [text.get_text().rpartition("   ")[0] for axes in figure.axes for text in axes.get_yticklabels()]
    assert [row for row in rows if row] == [outcome.case for outcome in made.outcomes]


@pytest.mark.parametrize("name", ["llvmpipe", "llvmpipe-mesa25", "growth-llvmpipe"])
def test_a_stored_chart_is_that_of_the_stored_record(name, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    option, drawn = "--growth" if name.startswith("growth") else "--chart", tmp_path / "chart.svg"
    assert main(["bench", "--stored", str(STORED / f"{name}.json"), option, str(drawn)]) == 0
    assert capsys.readouterr() == ("", f"restride: wrote {drawn}\n"), "nothing was measured"
    there, here = (ET.parse(path).find("{*}desc").text for path in (drawn, STORED / f"{name}.svg"))
    assert there == here, f"draw it by `restride bench --stored {name}.json {option} {name}.svg`"


def test_a_chart_is_the_same_file_again_in_both_formats():
    pytest.importorskip("matplotlib")
    first, again = (chart_file(draw_ratios(record(), "resident"), ".svg") for _ in range(2))
    assert first == again
    assert f"{COPY.name}   2.00 ms" in ET.fromstring(first).itertext(), "texts stay texts"
    assert chart_file(draw_ratios(record(), "kernel"), ".PNG")[:4] == b"\x89PNG"
    assert not draw_ratios(record(()), "resident").axes, "nothing measured is no row"


def test_charts_need_an_extra_which_the_error_names(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedError, match=r"charts need matplotlib: pip install './lab\[charts\]'"):
        require_matplotlib()
    assert main(["bench", "--chart", str(tmp_path / "here.svg")]) == 2, "before anything is measured"
    assert "pip install './lab[charts]'" in capsys.readouterr().err


@pytest.fixture
def chosen_peers(monkeypatch):
    """The registry of peers, which a test may change."""
    made = dict(peers.PEERS)
    monkeypatch.setattr(peers, "PEERS", made)
    return made


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_small_run_and_its_files(runtime, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    with open_device(runtime) as device:
        name = device.info.name
    kept, chart = tmp_path / "here.json", tmp_path / "here.svg"
    options = ("--small", "--repeat", "1", "-k", "NCHW->NHWC f32 1x3x8x8", "--peers", "by-hand,numpy")
    files = ("--json", str(kept), "--chart", str(chart), "--runtime", runtime)
    assert main(["bench", *options, *files, "--measure", "kernel,resident,numpy,processor"]) == 0
    out, err = capsys.readouterr()
    assert name in out
    assert "NCHW->NHWC f32 1x3x8x8" in out
    assert "restride: opening other libraries, then measuring ...\n" in err
    assert ("kernel is left out: the runtime kompute has no clock" in err) == (runtime == "kompute")
    made = read_record(kept, "bench")
    (result,) = made.outcomes
    measures = ["resident", "numpy", "processor"] if runtime == "kompute" else list(MEASURES)
    assert made.options["measures"] == measures
    assert set(result.figures["processor"]) == set(result.figures["resident"])
    assert set(result.figures["resident"]) == {"restride", "copy", "by-hand", "numpy"}
    assert set(result.figures["numpy"]) == {"restride", "by-hand", "numpy"}
    assert all(len(seconds) == 1 for seconds in result.figures["resident"].values())
    assert result.figures["bytes"] == 2 * 4 * 192
    assert made.device["name"] == name
    assert made.processor == cpu_model()
    assert f"processor: {made.processor}" in out
    assert list(made.options["peers"]) == ["by-hand", "numpy"]
    assert ET.parse(chart).getroot().tag.endswith("svg")


@pytest.mark.usefixtures("vulkan_device")
def test_a_peer_that_computes_something_else_is_an_error_and_one_that_is_absent_is_named(chosen_peers, capsys):
    class Wrong:
        version, lingers = "0", False

        def offer(self, _, source):
            return Offer(resident=lambda: None, result=lambda: source + 1)

    class Raises(Wrong):
        def offer(self, *_):
            raise RuntimeError("no such thing")

    def absent(_):
        raise Absent("not installed: pip install torch")

    chosen_peers.update(numpy=lambda _: Wrong(), opencv=lambda _: Raises(), torch=absent)
    arguments = ["bench", "--small", "--repeat", "1", "-k", "copy f32 16", "--measure", "resident"]
    assert main([*arguments, "--peers", "numpy,opencv,torch"]) == 1
    out = capsys.readouterr().out
    assert "problem: numpy does not compute 'copy f32 16': differs by 1, and 0 is allowed" in out
    assert "problem: opencv does not compute 'copy f32 16': RuntimeError: no such thing" in out
    assert "not run: torch: not installed: pip install torch" in out
    assert "/numpy" not in out


@pytest.mark.usefixtures("vulkan_device")
def test_a_run_that_is_broken_off_says_so_and_writes_what_it_has(chosen_peers, capsys, tmp_path):
    class Interrupts:
        version, lingers = "0", False

        def offer(self, workload, _):
            if workload.name != "copy f32 16":
                raise KeyboardInterrupt

    chosen_peers["numpy"] = lambda _: Interrupts()
    arguments = ["bench", "--small", "--repeat", "1", "-k", "small calls", "--measure", "resident", "--peers", "numpy"]
    assert main([*arguments, "--json", str(tmp_path / "part.json")]) == 130
    made = json.loads((tmp_path / "part.json").read_text())
    assert made["broken_off"] == "interrupted"
    assert [each["case"] for each in made["outcomes"]] == ["copy f32 16"]
    assert capsys.readouterr().out.endswith("broken off: interrupted\n")


def test_several_keywords_choose_workloads_in_their_order(capsys):
    assert main(["bench", "--list", "-k", "transpose u8", "-k", "transpose f32 4096", "-k", "TRANSPOSE U8 8192"]) == 0
    names = [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()]
    each = []
    for keyword in ("transpose u8", "transpose f32 4096"):
        assert main(["bench", "--list", "-k", keyword]) == 0
        each += [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == each
    assert len(names) > 2


def test_workloads_without_time_left_are_named(capsys, tmp_path, monkeypatch):
    """The clock says that an hour passes for each workload; the first always runs."""
    hours = itertools.count()
    monkeypatch.setattr("restride_bench.report.time", SimpleNamespace(monotonic=lambda: 3600.0 * next(hours)))
    file = tmp_path / "bench.json"
    options = ["--small", "--repeat", "1", "--peers", "none", "--measure", "resident", "--json", str(file)]
    words = ["-k", "transpose f64", "-k", "transpose u8", "--seconds"]
    assert main(["bench", *options, *words, "4000"]) == 0
    out = capsys.readouterr().out
    content = json.loads(file.read_text())
    assert [each["case"] for each in content["outcomes"]] == ["transpose f64 2048x4096", "transpose u8 8192x8192"]
    assert content["not_run"] == {"permutations: transpose u8 4095x4093": "the time was over"}
    assert content["broken_off"] == ""
    assert "not run: permutations: transpose u8 4095x4093: the time was over" in out
    assert main(["bench", *options, *words, "999999"]) == 0
    assert json.loads(file.read_text())["not_run"] == {}
    assert "not run" not in capsys.readouterr().out


def test_the_list_needs_no_device(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    assert main(["bench", "--list", "-k", "transpose F32 4096"]) == 0
    assert re.fullmatch(
        r"permutations: +transpose f32 4096x4096 +f32\[4096,4096\] +at most 1x numpy\n", capsys.readouterr().out
    )
    assert main(["bench", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(catalogue()) + 57 + len(images()) + len(large()), "those on request too"
    assert main(["bench", "--list", "--growth", "here.svg"]) == 0


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
        (("-k", "scale", "--chart", "a.svg"), 2, "--chart does not go with -k scale; --growth draws how its"),
        (("--stored", "a.json"), 2, "--stored needs --chart or --growth, which it draws"),
        (("--stored", "/nowhere/a.json", "--chart", "a.svg"), 2, "no such file"),
        (("-k", ""), 5, "no workload has '' in its name or group"),
        (("-k", "copy", "-k", " "), 5, "no workload has ' ' in its name or group"),
        (("-k", "scale: nothing"), 5, "no workload has 'scale: nothing'"),
        (("-k", "no such", "-k", "nor this"), 5, "no workload has 'no such' or 'nor this' in"),
        (("-k", "copy", "-k", "no such"), 5, "no workload has 'no such' in"),
        (("--seconds", "0"), 2, "'0' is no number of seconds"),
        (("-k", "scale", "-k", "copy"), 2, "-k scale goes with no other workloads"),
        (("-k", "scale", "--seconds", "9"), 2, "--seconds does not go with -k scale"),
        (("--whole",), 2, "--whole goes with -k scale only"),
        (("-k", "scale", "--whole", "--small"), 2, "not allowed with argument"),
        (("--json", "/nowhere/at/all.json"), 2, "no such folder"),
        (("--json", "a.svg", "--chart", "a.svg"), 2, "a file of its own"),
        (("--device", "no such device", "-k", "copy f32 16"), 4, "no such device"),
    ],
)
def test_bad_arguments_are_refused(capsys, arguments, code, words):
    assert main(["bench", *arguments]) == code
    assert words in capsys.readouterr().err
