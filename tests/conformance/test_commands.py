"""``restride test``: selection, verdicts, reports and exit codes of the command itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from support.devices import open_device
from support.faulty_runs import FAULTY, RIGHT, WRONG, plant, restride_test, wrong
from support.process import captured
from support.report_examples import example

import restride
from restride.cli import main
from restride.command.process import NothingSelected, as_interrupts, exit_for
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.runtime import RUNTIMES
from restride_conformance import Verdict
from restride_conformance.case import Case
from restride_conformance.choice import last_failed_file as last_failed
from restride_conformance.choice import write_last_failed
from restride_conformance.commands import _reduce_all as reduce_all
from restride_conformance.record import Aftermath, Outcome
from restride_conformance.report.commands import exit_code as exit_of
from restride_conformance.run.runner import Runner, WorkerDied, WorkerProcess

pytestmark = pytest.mark.slow

FIXTURES = (plant, wrong)
# The destination's sizes are not those of the slice.
INVALID = "slice f32[9]{0} -> f32[5]{0} offsets=(0) sizes=(8) strides=(3)"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module", autouse=True)
def _device():
    open_device("vulkan").close()


@pytest.fixture
def smaller_device(monkeypatch):
    """A device that binds half of what every device binds."""
    host, limits = Runner.host.fget, Limits(max_buffer_range=64 << 20)
    monkeypatch.setattr(Runner, "host", property(lambda runner: replace(host(runner), limits=limits)))


def kept(*cases):
    """Let these be what failed last time."""
    last_failed().parent.mkdir(parents=True, exist_ok=True)
    last_failed().write_text("".join(f"{case}\n" for case in cases))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_repro_line_runs_one_case(capsys, runtime):
    open_device(runtime).close()
    code, out, err = restride_test(capsys, "--repro", RIGHT, "--runtime", runtime)
    assert code == 0
    assert "PASSED: 1 case, all right" in out
    assert f"runtime {runtime}" in err


@pytest.mark.usefixtures("wrong")
def test_a_case_that_is_wrong_fails_with_the_line_that_reruns_it(capsys):
    code, out, _ = restride_test(capsys, "--repro", WRONG, "--repro", RIGHT)
    assert code == 1
    assert f"FAILED        {WRONG}  # " in out
    assert f"restride test --repro '{WRONG}' --runtime vulkan" in out
    assert "FAILED: 1 of 2 cases is not right" in out


@pytest.mark.usefixtures("wrong")
def test_what_has_no_simpler_line_that_fails_is_not_reduced(capsys, tmp_path):
    """Only that line is wrong on this device, so every simpler case passes."""
    code, out, _ = restride_test(capsys, "--repro", WRONG, "--reduce", "--json", tmp_path / "report.json")
    assert code == 1
    assert re.search(r"^nothing simpler is FAILED \([1-9][0-9]* of 200 trials\)$", out, re.MULTILINE)
    (outcome,) = json.loads((tmp_path / "report.json").read_text())["outcomes"]
    assert "reduced" not in outcome


def test_the_reduced_case_leads_its_report_and_is_exported(capsys, tmp_path, plant):
    """On this device each case with a kernel is wrong, so the simplest is the smallest transpose."""
    plant(FAULTY, "wrong", "every case")
    arguments = ("--repro", WRONG, "--reduce", "--export", tmp_path / "bugs", "--json", tmp_path / "report.json")
    code, out, err = restride_test(capsys, *arguments)
    assert code == 1
    (outcome,) = json.loads((tmp_path / "report.json").read_text())["outcomes"]
    reduced = Case.parse(outcome["reduced"])
    assert str(reduced) == "reorder u8[2,2]{1,0} -> u8[2,2]{0,1}"
    lines = out.partition(f"\nFAILED {WRONG}\n")[2].splitlines()
    assert lines[0] == f"    reduced to {reduced}"
    assert lines[1].startswith(f"    restride test --repro '{reduced}'")
    assert lines[2] == "    before it was reduced:"
    assert "elements are wrong" in lines[3]
    assert f"exported {tmp_path / 'bugs' / reduced.name}\n" in err
    assert outcome["exported"] == Case.parse(WRONG).name
    kept = json.loads((tmp_path / "bugs" / reduced.name / "case.json").read_text())
    assert kept["message"].startswith("1 of 4 elements are wrong")


@pytest.mark.usefixtures("wrong")
def test_what_is_expected_to_fail_is_not_reduced(capsys, tmp_path):
    code, _, err = restride_test(capsys, "--repro", WRONG, "--write-expectations", tmp_path)
    assert code == 1
    assert err.endswith(f"restride: wrote {tmp_path / 'fails.txt'}\nrestride: wrote {tmp_path / 'flakes.txt'}\n")
    code, out, _ = restride_test(capsys, "--repro", WRONG, "--reduce", "--expect", tmp_path)
    assert (code, "of 200 trials" in out) == (0, False)


def test_what_is_flaky_is_reduced_to_what_is_flaky_too(capsys):
    """The runner repeats each trial as it did the case."""

    def run(case):
        return Outcome(str(case), Verdict.FLAKY if case.dst.numel > 4 else Verdict.PASSED, "right in 3 of 5")

    cases, simplest = [Case.parse(WRONG), Case.parse(RIGHT)], []
    judged = dict(enumerate(map(run, cases)))
    judged[1] = replace(judged[1], verdict=Verdict.MISTRUSTED)
    reduce_all(SimpleNamespace(run=run), cases, judged, simplest)
    reduced = Case.parse(judged[0].reduced)
    assert (reduced.dst.numel, simplest) == (5, [run(reduced)])
    assert judged[1].reduced == ""
    assert capsys.readouterr().out.startswith(f"reduced to {reduced} (")


def test_a_report_has_nothing_to_force(capsys, tmp_path):
    assert main(["report", "merge", str(tmp_path / "a.json"), "--force"]) == 2
    assert "--force" in capsys.readouterr().err


@pytest.mark.usefixtures("wrong")
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


@pytest.mark.usefixtures("wrong")
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
    assert all(line.startswith("resample") and "u8" in line and "nearest" in line for line in lines)


def test_two_shards_are_the_whole(capsys):
    parts = [restride_test(capsys, "smoke", "--list", "--shard", f"{i}/2")[1].splitlines() for i in (1, 2)]
    assert sorted(parts[0] + parts[1]) == sorted(restride_test(capsys, "smoke", "--mode", "list")[1].splitlines())


@pytest.mark.parametrize("how", [["--list"], []], ids=["list", "run"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["-k", "no_case_has_this"], "-k 'no_case_has_this' leaves none of 642 cases"),
        (["--op", "tile", "--dtype", "f8e5m2", "--shard", "1/2"], "--dtype f8e5m2 leaves none of 2 cases"),
        (["--op", "tile", "--gtest_filter", ""], "--gtest_filter '' leaves none of 2 cases"),
        (["--op", "tile", "--shard", "3/3"], "--shard 3/3 leaves none of 2 cases"),
    ],
)
def test_nothing_selected_is_an_error_that_names_the_option(capsys, options, reason, how):
    code, out, err = restride_test(capsys, "smoke", *options, *how)
    assert (code, out) == (5, "")
    assert err.endswith(f"no case is selected: {reason}\n")


def test_a_file_without_cases_is_named(capsys, tmp_path):
    file = tmp_path / f"{'m' * 100}.txt"  # whole, however long it is
    file.write_text("# later\n")
    code, _, err = restride_test(capsys, file, "-k", "slice")
    assert (code, err.splitlines()[-1]) == (5, f"restride: no case is selected: '{file}' has none")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["resample u8[4] -> u8[8]"], "'resample u8[4] -> u8[8]' is no case file; a case itself goes with --repro"),
        ([f"reorder u8[{'2,' * 200}"], "is no case file; a case itself goes with --repro"),
        (["nosuch.txt"], "neither a catalogue (smoke, ci, full, perf) nor a case file"),
        (["resample"], "'resample' is no catalogue; --op resample chooses its cases"),
        (["/dev/zero"], "larger than 64 MiB"),
        (["smok"], "nor a case file. Did you mean 'smoke'?"),
        (["smoke", "--limit", "3"], "--limit 3; --shard 1/100 runs a hundredth of the cases, -k those that match (see"),
        (["--repro", "resample u8[4] -> u8[8] mod=linear"], "resample has no parameter mod; it has "),
        (["--repro", "resample u8[4] -> u8[8] mod=linear"], "Did you mean 'mode'?, in case"),
        (["--repro", "reorder nonsense"], "a case is written"),
        (["--shard", "3/2"], "--shard '3/2' is not I/N"),
        (["--shader", "x.comp"], "--shader FILE and --as MODULE go together"),
        (["--json", "/nowhere/report.json"], "/nowhere/report.json"),
        (["-k", "a and"], "expression 'a and'"),
        (["--repro", INVALID], f"no such case as {INVALID!r}: "),
        (["--repro", "reorder f32[2,3] -> f32[3,2]"], "reorder gives sizes [2, 3]"),
        (["--repro", "resample f32[4] -> f32[8] mode=linear cubic_a=-1"], "cubic_a -1.0 goes with mode 'cubic'"),
        (["--repro", "resample f32[4] -> f32[8] mode=area extrapolation_value=3"], "extrapolation_value 3 goes with"),
        (["--lf", "nosuch.txt"], "neither a catalogue (smoke, ci, full, perf) nor a case file"),
        (["--json", "report", "--html", "./report"], "each report needs a file of its own, not report, report"),
        (["--op", "reordr"], "reordr"),
        (["--dtype", "float99"], "float99"),
        *((["-n", number], "-n") for number in ("0", "two", "65")),
        (["-n", "2", "--mode", "perf"], "-n"),
        *((["--repeat", number], f"argument --repeat: '{number}' is no number of ") for number in ("1", "1001")),
        *((["--replay", number], f"argument --replay: '{number}' is no number of ") for number in ("0", "ten")),
        (["--repeat", "2", "--mode", "perf"], "--repeat and --mode perf: "),
        (["--replay", "2", "--mode", "perf"], "--replay and --mode perf: "),
        (["--groups", "--mode", "perf"], "--groups and --mode perf: "),
        (["--replay", "2", "--runtime", "kompute"], "--replay needs the runtime vulkan, not kompute"),
        (["--repeat", "2", "--in-batch", "--runtime", "kompute"], "--in-batch needs the runtime vulkan, not kompute"),
        (["--limits", "mobile", "--runtime", "kompute"], "limits are narrowed on the runtime vulkan, not on kompute"),
        (["--repeat", "2", "--validate", "core"], "--repeat and --validate: "),
        (["--export-all"], " with --export DIR"),
        (["--force"], " with --export DIR"),
        (["--export-as", "amber"], "go with --export DIR"),
    ],
)
def test_bad_arguments_are_usage_errors(capsys, arguments, words):
    code, out, err = restride_test(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len([line for line in err.splitlines() if "nothing failed last time" not in line]) == 1


def test_without_a_driver_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nowhere/none.json")
    code, out, err = restride_test(capsys, "smoke")
    assert (code, out) == (4, "")
    assert "mesa-vulkan-drivers" in err


@pytest.mark.usefixtures("wrong")
def test_reports_are_written_and_agree(capsys, tmp_path):
    names = {"--json": "report.json", "--junitxml": "report.xml", "--html": "report.html"}
    options = [word for option, name in names.items() for word in (option, tmp_path / name)]
    assert restride_test(capsys, "--repro", RIGHT, "--repro", WRONG, *options)[0] == 1
    content = json.loads((tmp_path / "report.json").read_text())
    assert [case["case"] for case in content["outcomes"]] == [RIGHT, WRONG]
    suite = next(ET.parse(tmp_path / "report.xml").iter("testsuite"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert "1 of 2 cases is not right" in (tmp_path / "report.html").read_text()


def test_perf_gives_a_speed(capsys):
    code, out, _ = restride_test(capsys, "--repro", RIGHT, "--mode", "perf")
    assert code == 0
    assert "% of copy" in out


@pytest.mark.usefixtures("smaller_device")
def test_cases_are_chosen_again_for_the_limits_of_the_device(capsys, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("reorder u8[$MAX_BINDING] -> u8[$MAX_BINDING]\n")
    code, out, err = restride_test(capsys, file, "-k", "134217728")
    assert (code, out) == (5, "")
    assert "no case is selected" in err


@pytest.mark.usefixtures("smaller_device")
def test_a_case_file_may_be_a_pipe(capsys):
    reading, writing = os.pipe()
    os.write(writing, f"{RIGHT}\n".encode())
    os.close(writing)
    code, out, _ = restride_test(capsys, f"/dev/fd/{reading}")
    os.close(reading)
    assert code == 0
    assert "PASSED: 1 case" in out


def test_an_invalid_line_of_a_case_file_is_no_verdict(capsys, tmp_path):
    invalid = "slice f32[8]{0} -> f32[2]{0} offsets=(6) sizes=(6) strides=(-3)"
    (tmp_path / "mine.txt").write_text(f"{RIGHT}\n\n{invalid}\n")
    code, out, err = restride_test(capsys, tmp_path / "mine.txt")
    assert (code, out) == (2, "")
    why = f"there is no such case as {invalid!r}: window [6, 12) exceeds size 8 of axis 0"
    assert err == f"restride: {tmp_path / 'mine.txt'}:3: {why}\n"


def test_last_failed_among_those_named(capsys, tmp_path):
    (tmp_path / "mine.txt").write_text(f"{RIGHT}\n{RIGHT} seed=1\n")
    kept(WRONG, f"{RIGHT} seed=1", f"{RIGHT} seed=4")
    for arguments, lines in (
        ([tmp_path / "mine.txt"], [f"{RIGHT} seed=1"]),
        ([tmp_path / "mine.txt", "--seed", "3"], [f"{RIGHT} seed=4"]),
        (["--repro", WRONG], [WRONG]),
        (["--seed", "3"], [WRONG, f"{RIGHT} seed=1", f"{RIGHT} seed=4"]),
        (["--seed", "3", "-k", "seed=25"], [WRONG]),
        (["--shard", "2/2"], [f"{RIGHT} seed=1"]),
    ):
        code, out, err = restride_test(capsys, "--lf", "--list", *arguments)
        assert (code, out.splitlines(), err) == (0, lines, "")
    assert restride_test(capsys, "--lf", "--list", "--repro", RIGHT)[0] == 5


def test_where_nothing_failed_all_cases_run(capsys):
    code, out, err = restride_test(capsys, "--lf", "--list", "--repro", RIGHT)
    assert (code, out, err) == (0, f"{RIGHT}\n", "restride: nothing failed last time: all cases run\n")


def test_kept_lines_that_are_no_cases_any_more_are_left_out(capsys):
    kept("turn u8[2] -> u8[2]", RIGHT, "\ufffd")
    code, out, err = restride_test(capsys, "--lf", "--list")
    assert (code, out) == (0, f"{RIGHT}\n")
    assert err.endswith("last_failed.txt: lines that are no cases any more are left out: 2\n")
    assert restride_test(capsys, "--repro", f"{RIGHT} seed=1")[0] == 0
    assert last_failed().read_text() == f"{RIGHT}\n"


def test_the_report_says_what_ran(capsys, tmp_path):
    kept(RIGHT)
    report = tmp_path / "report.json"
    for arguments, names in ((["--lf"], ["--lf"]), (["--repro", RIGHT], [])):
        assert restride_test(capsys, *arguments, "--json", report)[0] == 0
        assert json.loads(report.read_text())["options"]["catalogues"] == names
        kept(RIGHT)


def test_a_kernel_under_test_changes_nothing_for_the_next_run(capsys):
    kept(RIGHT)
    kernel = Path(restride.__file__).parent / "spirv" / "strided_copy_32.spv"
    assert restride_test(capsys, "--lf", "--shader", kernel, "--as", "strided_copy_32")[0] in (0, 5)
    assert last_failed().read_text() == f"{RIGHT}\n"


@pytest.mark.parametrize(
    ("fault", "options", "code", "verdict"),
    [
        ("segfault", [], 6, "CRASHED"),
        ("lost", [], 6, "CRASHED"),
        ("sleep", ["--timeout", "1"], 6, "TIMEOUT"),
        ("mistake", [], 1, "FAILED"),
        ("guard", ["--repeat", "2"], 1, "FAILED"),
    ],
)
def test_a_fault_costs_its_case_and_decides_the_exit_code(capsys, plant, fault, options, code, verdict):
    plant(FAULTY, fault, WRONG)
    found, out, _ = restride_test(capsys, "--repro", WRONG, "--repro", RIGHT, "-v", *options)
    assert found == code
    first, second, *_ = out.splitlines()
    assert first.startswith(f"{verdict:<14}{WRONG}  # ")
    assert second == f"PASSED        {RIGHT}"
    assert f"{verdict}: 1 of 2 cases is not right" in out


def test_where_every_case_is_skipped_nothing_is_proven(capsys):
    huge = "reorder u8[1099511627776] -> u8[1099511627776]"
    code, out, err = restride_test(capsys, "--repro", huge)
    assert code == 5
    assert "SKIPPED: 0 of 1 case passed, 1 was skipped" in out
    assert err.endswith("restride: every selected case was skipped\n")


def test_a_run_that_judged_nothing_is_no_success():
    with pytest.raises(NothingSelected, match="no case was judged") as raised:
        exit_of(example(outcomes=()))
    assert exit_for(raised.value) == 5


OPENS_ONCE = """
import os, runpy, sys
if os.path.exists(sys.argv[4]):
    sys.exit("no second time")
open(sys.argv[4], "w").close()
sys.argv = sys.argv[1:4]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_device_that_does_not_open_again_leaves_a_partial_report(capsys, plant, tmp_path, monkeypatch):
    monkeypatch.setattr("restride_conformance.run.runner.REOPENING", 0.0)
    plant("-c", OPENS_ONCE, FAULTY, "segfault", WRONG, str(tmp_path / "opened"))
    code, out, err = restride_test(
        capsys, "--repro", RIGHT, "--repro", WRONG, "--repro", f"{RIGHT} seed=1", "--json", tmp_path / "report.json"
    )
    assert code == 6
    assert "CRASHED: 1 of 2 cases is not right (1 CRASHED); stopped after 2 of 3: no worker process opens" in out
    assert "restride: no worker process opens the device, in " in err
    content = json.loads((tmp_path / "report.json").read_text())
    assert [case["verdict"] for case in content["outcomes"]] == ["PASSED", "CRASHED"]
    assert content["broken_off"].startswith("no worker process opens the device")
    assert last_failed().read_text() == f"{WRONG}\n"


@pytest.mark.parametrize(("fault", "first"), [("none", "found after it had"), ("wrong", "1 of 65 elements")])
def test_what_happens_behind_a_case_counts_against_that_case(capsys, monkeypatch, tmp_path, fault, first):
    class Late(Runner):
        """A runner that learns of something while it closes."""

        aftermath = (Aftermath(WRONG, Verdict.CRASHED, "the driver fell over"),)

    command = (sys.executable, FAULTY, fault, WRONG)
    monkeypatch.setattr("restride_conformance.commands.Runner", lambda target: Late(target, command))
    three = [word for line in (RIGHT, WRONG, f"{RIGHT} seed=1") for word in ("--repro", line)]
    assert restride_test(capsys, *three, "--json", tmp_path / "report.json")[0] == 6
    cases = json.loads((tmp_path / "report.json").read_text())["outcomes"]
    assert [case["verdict"] for case in cases] == ["PASSED", "CRASHED", "PASSED"]
    assert cases[1]["message"].startswith(first)
    assert "found after it had its verdict: the driver fell over" in cases[1]["message"]


def test_processes_give_the_report_of_one(capsys, plant, tmp_path):
    lines = [RIGHT, WRONG, *(f"{RIGHT} seed={seed}" for seed in range(1, 7))]
    cases = [word for line in lines for word in ("--repro", line)]
    plant(FAULTY, "segfault", WRONG)
    reports = []
    for count in ("1", "3"):
        code, out, _ = restride_test(capsys, *cases, "-n", count, "--json", tmp_path / f"{count}.json")
        assert code == 6
        assert "CRASHED: 1 of 8 cases is not right (1 CRASHED)" in out
        reports.append(json.loads((tmp_path / f"{count}.json").read_text()))
    one, three = ([(each["case"], each["verdict"]) for each in report["outcomes"]] for report in reports)
    assert one == three == [(line, "CRASHED" if line == WRONG else "PASSED") for line in lines]
    assert last_failed().read_text() == f"{WRONG}\n"


def test_processes_run_at_the_same_time(capsys, monkeypatch):
    """Each of two cases ends only once the other has begun."""
    both = threading.Barrier(2, timeout=60)
    run = Runner.run

    def waits(runner, case, mode):
        both.wait()
        return run(runner, case, mode)

    monkeypatch.setattr(Runner, "run", waits)
    assert restride_test(capsys, "--repro", RIGHT, "--repro", f"{RIGHT} seed=1", "-n", "2")[0] == 0


def test_two_processes_for_each_case_give_the_bits_of_both(capsys):
    assert restride_test(capsys, "--repro", RIGHT, "--repro", WRONG, "--repeat", "2", "-n", "2")[0] == 0


@pytest.mark.usefixtures("wrong")
def test_processes_stop_at_the_first_failure(capsys, tmp_path):
    cases = [word for seed in range(1, 20) for word in ("--repro", f"{RIGHT} seed={seed}")]
    code, out, _ = restride_test(capsys, "--repro", WRONG, *cases, "-n", "2", "-x", "--json", tmp_path / "report.json")
    assert code == 1
    assert "FAILED" in out
    assert len(json.loads((tmp_path / "report.json").read_text())["outcomes"]) < 20


def test_an_interrupt_ends_all_processes(capsys, monkeypatch, tmp_path):
    started, hanging = [], []
    start = Runner._start_worker

    def starts(runner):
        started.append(start(runner))
        return started[-1]

    def hangs(worker, *_):
        hanging.append(worker)
        if len(hanging) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        worker._process.wait()
        raise WorkerDied(Verdict.CRASHED, "killed")

    monkeypatch.setattr(Runner, "_start_worker", starts)
    monkeypatch.setattr(WorkerProcess, "run", hangs)
    cases = [word for seed in range(1, 6) for word in ("--repro", f"{RIGHT} seed={seed}")]
    assert restride_test(capsys, *cases, "-n", "2", "--json", tmp_path / "report.json")[0] == 130
    assert json.loads((tmp_path / "report.json").read_text())["broken_off"] == "interrupted"
    assert 1 <= len(started) <= 2, "no worker is started again"
    assert all(worker._process.poll() is not None for worker in started)


@pytest.mark.parametrize(
    "words",
    ["--reduce", "--repeat 2", "--replay 2", "--under-load", "--in-batch", "--groups", "--export bugs",
     "--write-expectations lists", "--json a.json", "--junitxml a.xml", "--html a.html"],
)  # fmt: skip
@pytest.mark.parametrize("only_lists", ["--list", "--mode list"])
def test_what_only_lists_takes_no_option_that_needs_a_run(capsys, tmp_path, monkeypatch, words, only_lists):
    monkeypatch.chdir(tmp_path)
    code, out, err = restride_test(capsys, "--repro", RIGHT, *words.split(), *only_lists.split())
    assert (code, out) == (2, "")
    assert f"{words.split()[0]} and {only_lists}: what only lists runs nothing" in err
    assert list(tmp_path.iterdir()) == []


def test_runs_that_end_together_keep_what_failed_in_each():
    """Twenty runs in four threads, each of which adds a case to the file."""
    outcomes = [Outcome(f"{WRONG[:-2]}{seed}", Verdict.FAILED) for seed in range(1, 21)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda outcome: write_last_failed([outcome]), outcomes))
    assert sorted(last_failed().read_text().splitlines()) == sorted(outcome.case for outcome in outcomes)


def test_a_report_that_cannot_be_written_costs_nothing_else(capsys, monkeypatch, tmp_path):
    def full(_report, path):
        raise DescriptorError(f"cannot write {path}: the disk is full")

    monkeypatch.setattr("restride_conformance.report.commands.write_record", full)
    names = ["--json", tmp_path / "report.json", "--junitxml", tmp_path / "report.xml"]
    code, out, err = restride_test(capsys, "--repro", RIGHT, *names)
    assert code == 2
    assert "PASSED: 1 case" in out
    assert (tmp_path / "report.xml").exists()
    assert err.splitlines()[-1].endswith("report.json: the disk is full")


def test_an_interrupt_while_the_device_is_closed_leaves_the_report(capsys, monkeypatch, tmp_path):
    closing = []

    def close(runner):
        closing.append(runner)
        if len(closing) == 1:
            raise KeyboardInterrupt
        closed(runner)

    closed = Runner.close
    monkeypatch.setattr(Runner, "close", close)
    assert restride_test(capsys, "--repro", RIGHT, "--json", tmp_path / "report.json")[0] == 130
    content = json.loads((tmp_path / "report.json").read_text())
    assert (content["broken_off"], len(content["outcomes"])) == ("interrupted", 1)
    assert closing[0]._workers == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_and_signals_leave_a_partial_report(tmp_path, number):
    command = [sys.executable, "-m", "restride", "test", "ci", "-v", "--json", str(tmp_path / "report.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as run:
        assert run.stdout.readline()
        run.send_signal(number)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    content = json.loads((tmp_path / "report.json").read_text())
    assert content["broken_off"] == "interrupted"
    assert 0 < len(content["outcomes"]) < content["selected"]


@pytest.mark.parametrize(("into", "code"), [("| head -2", 141), (">/dev/full", 2)])
def test_output_that_nobody_takes_leaves_a_partial_report(tmp_path, into, code):
    command = f"{sys.executable} -m restride test smoke -v --json {tmp_path}/report.json {into}"
    done = captured(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"])
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    content = json.loads((tmp_path / "report.json").read_text())
    assert content["broken_off"]
    assert 0 < len(content["outcomes"]) < content["selected"]


def test_who_ignores_a_signal_goes_on_ignoring_it():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with as_interrupts():
        os.kill(os.getpid(), signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGHUP, before)
