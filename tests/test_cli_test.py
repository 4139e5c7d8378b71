"""``restride test``: selection, verdicts, reports and exit codes of the command itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree as ET

import pytest
from conftest import open_device

from restride.cli import main
from restride.cli.last_failed import path as last_failed
from restride.runtime import RUNTIMES

RIGHT = "reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"
# The destination's sizes are not those of the slice: no device can get this right.
WRONG = "slice f32[9]{0} -> f32[5]{0} offsets=(0) sizes=(8) strides=(3)"
UNIMPLEMENTED = "resample f64[2,4]{1,0} -> f64[2,8]{1,0} mode=linear"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module", autouse=True)
def _device():
    open_device("vulkan").close()


def restride_test(capsys, *arguments):
    code = main(["test", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_repro_line_runs_one_case(capsys, runtime):
    open_device(runtime).close()
    code, out, err = restride_test(capsys, "--repro", RIGHT, "--runtime", runtime)
    assert code == 0
    assert "PASSED: 1 case, all right" in out
    assert f"runtime {runtime}" in err


def test_a_case_that_is_wrong_fails_with_the_line_that_reruns_it(capsys):
    code, out, _ = restride_test(capsys, "--repro", WRONG, "--repro", RIGHT)
    assert code == 1
    assert f"FAILED        {WRONG}  # " in out
    assert f"restride test --repro '{WRONG}' --runtime vulkan" in out
    assert "FAILED: 1 of 2 cases is not right" in out


def test_what_the_library_does_not_do_is_unimplemented(capsys):
    code, out, _ = restride_test(capsys, "--repro", UNIMPLEMENTED)
    assert code == 1
    assert f"UNIMPLEMENTED {UNIMPLEMENTED}  # " in out


def test_exitfirst_stops_at_the_first_that_does_not_pass(capsys, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text(f"# three of mine\n{RIGHT}\n{WRONG}\n{RIGHT} seed=1\n")
    code, out, _ = restride_test(capsys, file, "-x", "--json", tmp_path / "report.json")
    assert code == 1
    assert [case["verdict"] for case in json.loads((tmp_path / "report.json").read_text())["outcomes"]] == [
        "PASSED",
        "FAILED",
    ]
    assert "stopped after 2 of 3" in out


def test_last_failed_runs_what_did_not_pass(capsys, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text(f"{RIGHT}\n{WRONG}\n")
    assert restride_test(capsys, file)[0] == 1
    assert last_failed().read_text() == f"{WRONG}\n"
    code, out, _ = restride_test(capsys, "--lf", "--list")
    assert (code, out) == (0, f"{WRONG}\n")
    assert restride_test(capsys, "--repro", RIGHT)[0] == 0
    assert last_failed().read_text() == f"{WRONG}\n", "it did not run"


def test_list_prints_the_selected_cases_and_opens_no_device(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nowhere/none.json")
    code, out, err = restride_test(capsys, "smoke", "--list", "--op", "resample", "--dtype", "u8", "-k", "nearest")
    assert code == 0
    assert err == ""
    lines = out.splitlines()
    assert lines
    assert all(line.startswith("resample u8") and "mode=nearest" in line for line in lines)


def test_two_shards_are_the_whole(capsys):
    parts = [restride_test(capsys, "smoke", "--list", "--shard", f"{i}/2")[1].splitlines() for i in (1, 2)]
    assert sorted(parts[0] + parts[1]) == sorted(restride_test(capsys, "smoke", "--mode", "list")[1].splitlines())


def test_nothing_selected_is_an_error(capsys):
    for options in (["--list"], []):
        code, out, err = restride_test(capsys, "smoke", "-k", "no_case_has_this", *options)
        assert (code, out) == (5, "")
        assert "no case is selected" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch.txt"], "neither a catalogue (smoke, ci, full) nor a case file"),
        (["--repro", "reorder nonsense"], "a case is written"),
        (["--shard", "3/2"], "--shard '3/2' is not I/N"),
        (["--shader", "x.comp"], "--shader FILE and --as MODULE go together"),
        (["--json", "/nowhere/report.json"], "/nowhere/report.json"),
        (["-k", "a and"], "expression 'a and'"),
        (["--timeout", "0"], "--timeout must be positive"),
        (["--op", "reordr"], "reordr"),
        (["--dtype", "float99"], "float99"),
    ],
)
def test_bad_arguments_are_usage_errors(capsys, arguments, words):
    code, out, err = restride_test(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_without_a_driver_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nowhere/none.json")
    code, out, err = restride_test(capsys, "smoke")
    assert (code, out) == (4, "")
    assert "mesa-vulkan-drivers" in err


def test_reports_are_written_and_agree(capsys, tmp_path):
    names = {"--json": "report.json", "--junitxml": "report.xml", "--html": "report.html"}
    options = [word for option, name in names.items() for word in (option, tmp_path / name)]
    assert restride_test(capsys, "--repro", RIGHT, "--repro", WRONG, *options)[0] == 1
    content = json.loads((tmp_path / "report.json").read_text())
    assert [case["case"] for case in content["outcomes"]] == [RIGHT, WRONG]
    suite = next(ET.parse(tmp_path / "report.xml").iter("testsuite"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert "1 of 2 cases is not right" in (tmp_path / "report.html").read_text()


def test_bitwise_runs_twice_and_perf_gives_a_speed(capsys):
    code, out, _ = restride_test(capsys, "--repro", RIGHT, "--mode", "bitwise")
    assert (code, "PASSED: 1 case" in out) == (0, True)
    code, out, _ = restride_test(capsys, "--repro", RIGHT, "--mode", "perf")
    assert code == 0
    assert "GB/s" in out
    assert "of copy" in out


def test_ctrl_c_leaves_a_partial_report(tmp_path):
    command = [sys.executable, "-m", "restride", "test", "full", "-v", "--json", str(tmp_path / "report.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as run:
        assert run.stdout.readline().startswith("PASSED")
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    content = json.loads((tmp_path / "report.json").read_text())
    assert content["interrupted"] is True
    assert 0 < len(content["outcomes"]) < content["selected"]
