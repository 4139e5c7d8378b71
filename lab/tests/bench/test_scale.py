"""`restride bench -k scale`: the table of made-up times, goals, absent and wrong ways, and runs of small files."""

import json
import shutil
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.bench_reports import record
from support.judges import judge

from restride.cli import main
from restride_bench.charts import draw_streams
from restride_bench.scale import run as scale
from restride_bench.scale.parts import PYRAMID_PEERS, WAYS_OF_PEERS, Goal, Part, Source, Way, is_scale, parts
from restride_bench.scale.run import PartResult, Took, complete, steps
from restride_bench.scale.ways import WAYS, Job, astronaut, wrong
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.summary import summary
from restride_conformance.report.table import tables

sys.path.append(str(Path(__file__).parents[2] / "tools"))  # no package

VOLUME = Source((4, 64, 64))
MAX = {"slow": 0.5, "fast": 1.0, "gone": 1.0}
PYRAMID = Part(
    "pyramid",
    Source((2, 1000, 1000), 100),
    (Way("restride", "restride"), Way("slow", "pyvips"), Way("fast", "tensorstore"), Way("gone", "ngff-zarr")),
    (*(Goal("restride", most, way) for way, most in MAX.items()), Goal("restride", 1e9, measure="peak")),
)


def pyramid():
    """restride takes 1 s and 1.2 GB, others 4 s and 0.5 s."""
    took = {
        "restride": [Took(3, 1, 10), Took(1, 1, 1_200_000_000), Took(0.5, 1, 10)],
        "slow": [Took(4, 2, 3)],
        "fast": [Took(0.5, 2, 3)],
    }
    return PartResult(PYRAMID, took, {"gone": "not installed: pip install gone"}, {})


def grown(*seconds):
    """Streams of 1, 2 and 4 MiB that took these seconds, and a little more memory each time."""
    part = parts(is_small=True)[-1]
    ways = zip(part.ways, seconds, strict=False)
    took = {way.name: [Took(taken, 0, 100_000_000 + number)] for number, (way, taken) in enumerate(ways)}
    return PartResult(part, took, {}, {})


def measured(*results):
    return complete(record(()), results, "")


def test_the_table_has_medians_peaks_ratios_and_goals():
    (table,) = tables(measured(pyramid()).outcomes)
    assert table.title == "scale: pyramid; u8[2,1000,1000] in chunks of 100"
    assert table.rows == [
        ["name", "s", "MB/s", "peak MB", "MB before", "restride /", "goals"],
        ["restride", "1", "2.00", "1,200", "0.000001", "1.00", table.rows[1][6]],
        ["slow", "4", "0.500", "0.000003", "0.000002", "0.250", ""],
        ["fast", "0.500", "4.00", "0.000003", "0.000002", "2.00", ""],
    ]
    goals = ["at most 0.50x slow: met", "at most 1.00x fast: MISSED", "at most 1000 MB of memory: MISSED"]
    assert table.rows[1][6] == "; ".join(goals)
    lines = summary(measured(pyramid())).splitlines()
    assert "goals: 1 of 3 met" in lines
    assert "missed: restride: 1200 MB, goal at most 1000 MB of memory" in lines
    assert "not run: gone: not installed: pip install gone" in lines


def test_growth_is_about_the_time_of_a_line_and_flat_memory():
    result = grown(1.0, 2.3, 4.61)
    judged = {(goal.way, goal.measure, goal.against): met for goal, met, _ in result.judged()}
    assert result.value("2 MiB") == pytest.approx(2.3 / 16384)
    assert judged["2 MiB", "seconds", "1 MiB"]
    assert not judged["4 MiB", "seconds", "1 MiB"]
    assert judged["4 MiB", "peak", "1 MiB"]
    assert result.part.goals[-1].most == (256 << 20) + 200e6
    assert "us a line" in measured(result).outcomes[0].figures


def test_the_record_is_read_back(tmp_path):
    made = replace(measured(pyramid(), grown(1.0)), kind="scale")
    write_record(made, tmp_path / "scale.json")
    assert read_record(tmp_path / "scale.json", "scale") == made
    (slow,) = [each for each in made.outcomes if each.case == "slow"]
    assert [slow.figures[f"{name} of rounds"] for name in Took._fields] == [[4], [2], [3]]


def test_the_group_is_scale_by_its_name_alone():
    assert is_scale("scale")
    assert is_scale("Scale: growth")
    assert not any(map(is_scale, ("", "scales", "a scale a channel", "types and scales")))


def test_the_list_needs_no_device(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    assert main(["bench", "--list", "-k", "scale"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("scale: ") for line in lines) == 4
    assert "scale: pyramid with 3 smaller levels, Zarr to Zarr; u8[15,7680,7680] in chunks of 2048" in lines
    assert "  restride: at most 0.50x ngff-zarr bin shrink" in lines
    assert main(["bench", "--list", "-k", "scale", "--whole", "--peers", "pyvips"]) == 0
    out = capsys.readouterr().out
    assert "u8[30,15360,15360]" in out
    assert "8 GiB" in out
    assert "ngff" not in out
    assert main(["bench", "--list", "-k", "types and scale"]) == 0
    assert "scale: " not in capsys.readouterr().out


def test_peers_and_ways_are_named_alike():
    assert {way.way for part in parts() for way in part.ways} == set(WAYS)
    assert [way.way for way in parts(peers=())[0].ways] == ["restride"]
    assert len(WAYS_OF_PEERS) == len(PYRAMID_PEERS) == len(set(WAYS_OF_PEERS))
    assert parts(is_whole=True)[0].source.nbytes == 8 * parts()[0].source.nbytes == 30 * 15360**2


@pytest.mark.usefixtures("vulkan_device")
def test_absent_and_failing_ways_are_named():
    ways = (
        Way("one call", "one call"),
        Way("gone", "one call", ("no_such_package",), "gone"),
        Way("fails", "no such way"),
        Way("rs.stream", "stream in memory"),
    )
    part = Part("part", VOLUME, ways, (Goal("rs.stream", 1e9, "one call"), Goal("rs.stream", 1, measure="peak")))
    said = []
    (result,) = scale.run([part], {}, 2, said.append)
    assert {name: len(took) for name, took in result.took.items()} == {"one call": 2, "rs.stream": 2}
    assert dict(result.absent) == {"gone": "not installed: pip install gone"}
    assert dict(result.wrong) == {"fails": "KeyError: 'no such way'"}
    assert [met for _, met, _ in result.judged()] == [True, False]
    took = result.took["rs.stream"][0]
    assert 0 < took.before <= took.peak < 1 << 30, "memory of that process, in bytes"
    assert len(said) == steps([part], 2)
    lines = summary(measured(result)).splitlines()
    assert "problem: fails: KeyError: 'no such way'" in lines
    assert "not run: gone: not installed: pip install gone" in lines


def test_without_room_for_its_files_a_part_is_skipped(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=70_000))
    said = []
    (result,) = scale.run([Part("part", VOLUME, (Way("one call", "one call"),), ())], {}, 1, said.append)
    assert result.skipped.startswith("the files need 0.0 GB, and ")
    assert [(each.verdict, each.message) for each in result.outcomes()] == [("SKIPPED", result.skipped)]


@pytest.mark.usefixtures("vulkan_device")
def test_a_small_run_draws_its_growth(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    chart, file = tmp_path / "growth.svg", tmp_path / "growth.json"
    arguments = ["-k", "scale", "--small", "--repeat", "1", "--growth", str(chart), "--json", str(file)]
    assert main(["bench", *arguments]) == 0
    out = capsys.readouterr().out
    assert "small sizes" in out
    assert "pyramid" not in out, "growth alone is drawn"
    ways = json.loads(file.read_text())["outcomes"]
    assert [way["case"] for way in ways] == ["1 MiB", "2 MiB", "4 MiB"]
    goals = [goal for way in ways for goal in way["figures"]["goals"].items()]
    assert all(how["met"] for goal, how in goals if goal.endswith("of memory")), "whatever else runs"
    assert {"time of a line", "most memory of the process", "4 MiB"} <= set(ET.parse(chart).getroot().itertext())


def test_the_chart_has_both_goals():
    pytest.importorskip("matplotlib")
    time, memory = draw_streams(record(), grown(1.0, 2.0, 5.0)).axes
    assert time.lines[0].get_ydata() == pytest.approx(np.array([1.0, 1.0, 1.25]) / 8192)
    assert time.lines[1].get_ydata()[0] == pytest.approx(1.15 / 8192)
    assert memory.lines[0].get_ydata() == pytest.approx([1e8, 1e8 + 1, 1e8 + 2])
    assert memory.lines[1].get_ydata()[0] == (256 << 20) + 200e6


@pytest.mark.usefixtures("vulkan_device")
def test_a_run_that_is_broken_off_shows_what_it_has(monkeypatch, capsys, tmp_path):
    def process(job, _):
        if job.way == "stream in memory":
            raise KeyboardInterrupt
        return {"seconds": 1.0, "before": 1, "peak": 2, "wrong": ""}

    monkeypatch.setattr(scale, "_run_job", process)
    monkeypatch.setattr(Source, "write", lambda _, path: path.write_bytes(b""))
    file = tmp_path / "part.json"
    assert main(["bench", "-k", "scale", "--small", "--peers", "none", "--json", str(file)]) == 130
    assert capsys.readouterr().out.endswith("broken off: interrupted\n")
    made = json.loads(file.read_text())
    assert made["broken_off"] == "interrupted"
    assert made["outcomes"] or made["not_run"]  # the first part, whose packages may not be installed


@pytest.mark.parametrize("added", [0, 2, 9])
def test_a_pyramid_of_other_elements_is_wrong(tmp_path, added):
    zarr = judge("zarr", "3")
    pytest.importorskip("skimage")
    source = tmp_path / "source"
    astronaut(source, 2, 512, 128)
    elements = zarr.open_array(source, mode="r")[:]
    last = elements.reshape(2, 64, 8, 64, 8).mean((2, 4)).round()
    last += np.where(last < 128, added, -added)
    (tmp_path / "pyramid").mkdir()
    zarr.create_array(tmp_path / "pyramid" / "3", data=last.astype(np.uint8))
    job = Job("pyvips", str(source), str(tmp_path / "pyramid"))
    assert wrong(job).startswith("its last level differs by ") == (added == 9)
    assert bool(wrong(job)) == (added == 9)
    assert wrong(replace(job, source=job.destination + "/3")).startswith("its last level has sizes [2, 64, 64], not")


@pytest.mark.usefixtures("vulkan_device")
def test_small_pyramids_and_tasks(capsys):
    judge("zarr", "3")
    judge("distributed")
    pytest.importorskip("skimage")
    peers = ("dask-coarsen", "pyvips", "tensorstore")  # the others are WebAssembly, or take long to import
    arguments = ["bench", "--small", "--repeat", "1", "--peers", ",".join(peers), "-k"]
    assert main([*arguments, "scale: pyramid"]) == 0, "who is here computes the same"
    out = capsys.readouterr().out
    for way in parts(peers=peers)[0].ways:
        assert f"\n{way.name} " in out or f"not run: {way.name}: not installed: pip install {way.extra}" in out
    assert main([*arguments, "scale: rs.dask"]) == 0
    out = capsys.readouterr().out
    assert "\nrs.dask " in out
    assert "\ntwo workers, a core each " in out or "not run: two workers, a core each: " in out


def test_pictures_show_what_chunks_do():
    pytest.importorskip("matplotlib")
    from scale_pictures import CHUNK, FACTOR, enlarged, plan, reads

    photo = np.random.default_rng(0).integers(0, 256, (2 * CHUNK, 2 * CHUNK, 3)).astype(np.uint8)
    whole, alone, streamed = enlarged(photo)
    assert np.array_equal(streamed, whole)
    differs = (alone != whole)[0].any(axis=-1)
    assert differs[CHUNK * FACTOR], "at the seam"
    assert not differs[:FACTOR].any(), "not at the edge"
    for memory, most in ((300_000, 6), (4_000_000, 1)):
        times = reads(memory)
        assert times.max() == most
        assert times.sum() == plan(memory)[1].reads
