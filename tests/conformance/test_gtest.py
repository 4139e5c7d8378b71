"""The protocol of googletest, read as gtest-runner reads it: by the two expressions of its parser, and no other."""

import re
import subprocess
import sys

import pytest
from support.devices import open_device
from support.faulty_runs import FAULTY, RIGHT, WRONG, plant, restride_test
from support.report_examples import outcome

from restride.command.process import Exit
from restride_conformance import gtest
from restride_conformance.case import Case
from restride_conformance.record import Outcome, Verdict

FIXTURES = (plant,)
LINES = (
    RIGHT,
    "slice f32[9]{0} -> f32[3]{0} offsets=(0) sizes=(8) strides=(3)",
    WRONG,
    "pad f32[4,5]{1,0} -> f32[7,6]{1,0} before=(1,0) behind=(2,1) mode=reflect",
    RIGHT,
)
CASES = tuple(map(Case.parse, LINES))
REORDERS, SLICE, PAD = ((CASES[0], CASES[2]), CASES[1], CASES[3])


def names_of(listing):
    """The names in a list, as gtest-runner reads it; anything else in it is refused."""
    names, suite = [], None
    for line in listing.splitlines():
        if found := re.search(r"(\S*\.)", line):
            assert found[0] == line, f"{line!r} is no suite alone"
            suite = line
        else:
            found = re.search(r"\s+(\S+)", line)
            assert (found and found[0]) == line, f"{line!r} is no test alone"
            names.append(suite + found[1])
    assert len(set(names)) == len(names)
    return names


def results_of(output):
    """The results in an output as gtest-runner reads it: what a case began and did not end is a crash."""
    results, current = {}, None
    for line in output.splitlines():
        if current is not None:
            if found := re.search(r"\[\s*(\S*)\s*\]\s(\S*)", line):
                status = {"OK": "Pass", "FAILED": "Fail", "SKIPPED": "Skip"}[found[1]]
                assert found[2] == current, "a result belongs to the case that began"
                results[current], current = status, None
        elif found := re.search(r"\[\sRUN\s*\]\s(.*)", line):
            current = found[1]
            assert current not in results
    return results if current is None else {**results, current: "Crash"}


def chosen(text):
    return gtest.chosen(CASES, text)


def test_a_list_has_each_name_once_under_its_operation():
    cases = chosen("*")
    assert cases == (*REORDERS, SLICE, PAD), "a suite is in one piece"
    assert names_of(gtest.listing(cases)) == [case.name for case in cases]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", (*REORDERS, SLICE, PAD)),
        ("", ()),
        (SLICE.name, (SLICE,)),
        (f"{SLICE.name}:{PAD.name}:gone.x", (SLICE, PAD)),
        ("reorder.*", REORDERS),
        ("reorder", ()),
        ("reorder.*:pad.*-*_seed_25_*", (CASES[0], PAD)),
        ("-reorder.*:slice.*", (PAD,)),
        ("????.*", ()),
        ("???.*", (PAD,)),
        ("[ps]*", ()),
        ("*[!x]*", ()),
        (SLICE.name.upper(), ()),
        ("a*" * 60 + ":pad.*", (PAD,)),
    ],
)
def test_a_filter_chooses_as_in_googletest(text, expected):
    assert chosen(text) == expected


def test_a_long_filter_is_no_matter():
    cases = [Case.parse(f"reorder u8[{size},3] -> u8[{size},3]{{0,1}}") for size in range(1, 1500)]
    assert gtest.chosen(cases, ":".join(case.name for case in cases)) == tuple(cases)


def test_each_verdict_has_a_result_that_gtest_runner_knows():
    hostile = "element [0] is 1\n[       OK ] reorder.other (1 ms)\n[x] y"
    for verdict in Verdict:
        found = Outcome(RIGHT, verdict, "" if verdict is Verdict.PASSED else hostile, 0.0124)
        text = f"{gtest.begun(CASES[0])}\n{gtest.ended(CASES[0], found)}\n{gtest.begun(SLICE)}"
        status = {"PASSED": "Pass", "SKIPPED": "Skip"}.get(verdict, "Fail")
        assert results_of(text) == {CASES[0].name: status, SLICE.name: "Crash"}
        assert f" {CASES[0].name} (12 ms)\n" in text
        assert (f"  {verdict} {RIGHT}\n  element [0] is 1\n" in text) == (verdict is not Verdict.PASSED)


def test_the_last_lines_count_and_name_what_did_not_pass():
    outcomes = [outcome("PASSED", LINES[1]), outcome("SKIPPED", RIGHT), outcome("CRASHED", WRONG)]
    assert gtest.closing(outcomes, 1.5).splitlines() == [
        "[==========] 3 tests from 2 test suites ran. (1500 ms total)",
        "[  PASSED  ] 1 test.",
        "[  SKIPPED ] 1 test, listed below:",
        f"[  SKIPPED ] {CASES[0].name}",
        "[  FAILED  ] 1 test, listed below:",
        f"[  FAILED  ] {CASES[2].name}",
    ]
    assert gtest.exit_code(outcomes) is Exit.CHECK_FAILED
    assert gtest.exit_code(outcomes[:2]) is Exit.OK


@pytest.fixture
def command(capsys, plant, tmp_path):
    """Runs the command on a file of the cases, with a worker that has a fault in one of them."""
    file = tmp_path / "cases.txt"
    file.write_text("\n".join(LINES))

    def run(*arguments, fault="none"):
        plant(FAULTY, fault, WRONG)
        return restride_test(capsys, file, *arguments)

    return run


def test_the_command_lists_without_a_device(command, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", "/nowhere/none.json")
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nowhere/none.json")
    code, out, err = command("--gtest_list_tests")
    assert (code, err) == (0, "")
    assert names_of(out) == [case.name for case in (*REORDERS, SLICE, PAD)]
    assert names_of(command("--gtest_list_tests", "--gtest_filter=pad.*")[1]) == [PAD.name]
    of_the_run = ("--groups", "--repeat", "2", "--under-load")
    assert command("--gtest_list_tests", *of_the_run) == (0, out, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "status"), [("none", 0, "Pass"), ("wrong", 1, "Fail"), ("segfault", 1, "Fail")]
)
def test_a_group_runs_by_its_names_and_a_fault_costs_one_case(command, fault, code, status):
    open_device("vulkan").close()
    group = [*REORDERS, SLICE]
    found, out, _ = command("--gtest_filter=" + ":".join(case.name for case in group), fault=fault)
    assert found == code
    assert results_of(out) == {case.name: status if case is CASES[2] else "Pass" for case in group}
    first, *_ = out.splitlines()
    assert first == "[==========] Running 3 tests from 2 test suites."
    assert "device:" not in out, "no line but googletest's"
    assert ("SIGSEGV" in out) == (fault == "segfault")


@pytest.mark.slow
def test_where_the_command_dies_is_the_last_line(tmp_path):
    open_device("vulkan").close()
    file = tmp_path / "cases.txt"
    file.write_text("\n".join(LINES))
    program = (
        "import os, sys\nfrom restride.cli import main\nfrom restride_conformance import commands, gtest\n"
        "gtest.ended = lambda case, outcome: os._exit(9)\nmain(sys.argv[1:])"
    )
    words = [sys.executable, "-c", program, "test", file, "--gtest_filter=*"]
    died = subprocess.run(words, capture_output=True, text=True, check=False)
    assert died.returncode == 9
    assert results_of(died.stdout) == {CASES[0].name: "Crash"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--gtest_filter=gone.*"], 5, "no case is selected"),
        (["--gtest_list_tests", "--gtest_filter=gone.*"], 5, "no case is selected"),
        (["--gtest_filter=*", "-n", "2"], 2, "--gtest_... goes without -n and --expect"),
        (["--gtest_list_tests", "--expect", "."], 2, "--gtest_... goes without -n and --expect"),
    ],
)
def test_what_does_not_go_with_it_is_refused(command, arguments, code, words):
    found, out, err = command(*arguments)
    assert (found, out) == (code, "")
    assert words in err


def test_other_options_of_googletest_are_refused_by_name(command):
    code, out, err = command("--gtest_repeat=2")
    assert (code, out) == (2, "")
    assert "--gtest_repeat=2" in err
