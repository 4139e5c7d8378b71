"""Lists of what is known to fail: what they say, what they refuse, what they do to a run, and that they round trip."""

import os
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.devices import open_device
from support.faulty_runs import FAULTY, RIGHT, WRONG, plant, restride_test
from support.report_examples import example, outcome

from restride.command.process import UsageError
from restride_conformance.case import Case
from restride_conformance.choice import last_failed_file
from restride_conformance.expectations import FAILS, Expectations, require_free, write_expectations
from restride_conformance.record import EXPECTED, Outcome, Verdict
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.junit import write_junit
from restride_conformance.report.page import write_page
from restride_conformance.report.summary import headline, summary

LISTS = Path(__file__).parents[2] / "tools" / "expectations"

FIXTURES = (plant,)
NAMES = {line: Case.parse(line).name for line in (RIGHT, WRONG)}


def lists(folder, **contents):
    """A folder with these lists."""
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def judged(verdict, *, expected):
    return replace(outcome(verdict), expected=expected)


def test_the_lists_say_what_is_known(tmp_path):
    folder = lists(
        tmp_path,
        fails=f"# known\n\n {NAMES[WRONG]} , Crash \r\nother.name,Fail\nother.name,Fail\n",
        flakes="# varies\n^reorder\\.u8_2\n",
        skips="u8_5_13\n",
    )
    known = Expectations.read(folder)
    assert known.fails == {NAMES[WRONG]: "Crash", "other.name": "Fail"}
    assert known.judged(Case.parse(RIGHT), outcome("FAILED")).expected == "Flake"
    assert known.judged(Case.parse(WRONG), outcome("FAILED")).expected == "Crash"
    assert known.judged(Case.parse("pad u8[2] -> u8[3] before=(1)"), outcome("FAILED")).expected == ""
    assert known.skipped(Case.parse(RIGHT)) is None
    assert known.skipped(Case.parse(WRONG)) == Outcome(WRONG, Verdict.SKIPPED, "skips.txt has u8_5_13")
    assert known.unknown([Case.parse(WRONG)]) == ("other.name",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"fails": "slice.x\n"}, "fails.txt:1: 'slice.x' is not NAME,STATUS with one of Crash, Fail, Timeout"),
        ({"fails": "# a\nslice.x,Pass\n"}, "fails.txt:2: 'slice.x,Pass' is not NAME,STATUS"),
        ({"fails": "slice.x,Fail,1.5\n"}, "fails.txt:1: 'slice.x,Fail,1.5' is not NAME,STATUS"),
        ({"fails": "a,b,Fail\n"}, "fails.txt:1: 'a,b,Fail' is not"),
        ({"fails": ",Fail\n"}, "fails.txt:1: ',Fail' is not"),
        ({"fails": "a.b,Fail\na.b,Crash\n"}, "fails.txt:2: 'a.b' is both Fail and Crash"),
        ({"fails": "a\0b,Fail\n"}, "fails.txt:1: 'a\\x00b,Fail' has a character that is not printable"),
        ({"fails": "\x1b[31ma,Fail\n"}, "is not printable"),
        ({"fails": b"\xff\xfe,Fail\n"}, "fails.txt is not text in UTF-8"),
        ({"skips": "a\n(b\n"}, "skips.txt:2: '(b' is no regular expression of names: a parenthesis is not closed"),
        ({"flakes": "a" * 600}, "flakes.txt:1: 'aaa"),
        ({"flakes": "\n".join(f"a{number}" for number in range(2001))}, "more than 2000 regular expressions"),
        ({"fails": b"#" * ((16 << 20) + 1)}, "fails.txt"),
    ],
)
def test_a_list_that_is_not_well_formed_is_refused_with_its_line(tmp_path, content, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        Expectations.read(lists(tmp_path, **content))


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError, match=re.escape("it is no folder with fails.txt, flakes.txt or skips.txt")):
            Expectations.read(folder)
    os.mkfifo(tmp_path / "fails.txt")
    with pytest.raises(UsageError, match=re.escape("fails.txt")):
        Expectations.read(tmp_path)
    (tmp_path / "fails.txt").unlink()
    (tmp_path / "skips.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=re.escape("skips.txt")):
        Expectations.read(tmp_path)


@pytest.mark.parametrize(
    ("verdict", "expected", "is_good", "state"),
    [
        ("PASSED", "", True, "PASSED"),
        ("FAILED", "", False, "FAILED"),
        ("FAILED", "Fail", True, "FAILED"),
        ("MISTRUSTED", "Fail", True, "MISTRUSTED"),
        ("CRASHED", "Crash", True, "CRASHED"),
        ("TIMEOUT", "Timeout", True, "TIMEOUT"),
        ("CRASHED", "Fail", False, "CRASHED"),
        ("FAILED", "Crash", False, "FAILED"),
        ("PASSED", "Fail", False, "UNEXPECTED_PASS"),
        ("PASSED", "Crash", False, "UNEXPECTED_PASS"),
        ("FLAKY", "Fail", False, "FLAKY"),
        ("SKIPPED", "Fail", True, "SKIPPED"),
        *((str(verdict), "Flake", True, str(verdict)) for verdict in Verdict),
    ],
)
def test_an_outcome_is_good_if_it_is_right_or_as_expected(verdict, expected, is_good, state):
    found = judged(verdict, expected=expected)
    assert (found.is_good, found.state) == (is_good, state)
    assert found.is_known == (is_good and verdict not in ("PASSED", "SKIPPED"))
    assert found.reason == ("" if is_good or not expected else f"expected: {expected}")


def test_reports_tell_what_is_known_from_what_is_not(tmp_path):
    known, better = judged("FAILED", expected="Fail"), judged("PASSED", expected="Crash")
    record = example(outcomes=(known, outcome("PASSED")), selected=2)
    assert headline(record) == "PASSED: 1 of 2 cases passed, 1 not right as expected"
    worse = example(outcomes=(known, better), selected=2)
    assert headline(worse).startswith("UNEXPECTED_PASS: 1 of 2 cases is not right (1 UNEXPECTED_PASS), 1 not right as")
    assert f"UNEXPECTED_PASS {better.case}\n    expected: Crash\n" in summary(worse)
    write_record(worse, tmp_path / "run.json")
    assert read_record(tmp_path / "run.json").outcomes == worse.outcomes
    write_junit(worse, tmp_path / "run.xml")
    suites = ET.parse(tmp_path / "run.xml").getroot()
    assert {name: suites.get(name) for name in ("failures", "errors", "skipped")} == {
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    assert [each.tag for case in suites.iter("testcase") for each in case] == ["skipped", "failure"]
    write_page(worse, tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text()
    assert "Not right, as expected" in page
    assert '<details class="FAILED" open>' in page, "in the colour of a failure"
    assert page.index("UNEXPECTED_PASS</span>") < page.index("Not right, as expected")


def test_what_was_written_is_what_is_expected(tmp_path):
    ran = [replace(outcome(verdict), case=f"reorder u8[{2 + place},3] -> u8[{2 + place},3]{{0,1}}")
           for place, verdict in enumerate(Verdict)]  # fmt: skip
    write_expectations(tmp_path / "a" / "b", ran)
    known = Expectations.read(tmp_path / "a" / "b")
    again = [known.judged(Case.parse(each.case), each) for each in ran]
    assert all(each.is_good for each in again)
    assert [each.expected for each in again] == ["", "", "Fail", "Fail", "Flake", "Fail", "Timeout", "Crash"]
    write_expectations(tmp_path / "a" / "b", [replace(each, verdict=Verdict.FAILED) for each in again[3:5]])
    assert list(Expectations.read(tmp_path / "a" / "b").fails) == [Case.parse(again[3].case).name]


def test_every_verdict_that_is_not_good_has_a_word():
    assert {*EXPECTED, Verdict.FLAKY} == {verdict for verdict in Verdict if not verdict.is_good}


def test_existing_lists_are_replaced_only_by_force_and_never_through_a_link(tmp_path):
    require_free(tmp_path / "new", force=False)
    lists(tmp_path, fails="mine")
    with pytest.raises(UsageError, match=re.escape("fails.txt exists: name another folder, or replace it with")):
        require_free(tmp_path, force=False)
    require_free(tmp_path, force=True)
    (tmp_path / FAILS).unlink()
    (tmp_path / FAILS).symlink_to(tmp_path / "elsewhere")
    for force in (False, True):
        with pytest.raises(UsageError, match=re.escape(FAILS)):
            require_free(tmp_path, force=force)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no folder"):
        require_free(tmp_path / "file", force=True)


@pytest.mark.parametrize("driver", ["lavapipe-22", "lavapipe-25", "swiftshader"])
def test_the_lists_of_the_drivers_are_read(driver):
    assert not Expectations.read(LISTS / driver).fails


@pytest.fixture
def faulty(plant):
    """Runs the command with a worker that has a fault in one case."""
    open_device("vulkan").close()

    def run(capsys, fault, *arguments):
        plant(FAULTY, fault, WRONG)
        return restride_test(capsys, "--repro", WRONG, "--repro", RIGHT, *arguments)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "content", "code", "says"),
    [
        ("wrong", {"fails": f"{NAMES[WRONG]},Fail"}, 0, "PASSED: 1 of 2 cases passed, 1 not right as expected"),
        ("segfault", {"fails": f"{NAMES[WRONG]},Crash"}, 0, "PASSED: 1 of 2 cases passed, 1 not right as expected"),
        ("segfault", {"fails": f"{NAMES[WRONG]},Fail"}, 6, "CRASHED: 1 of 2"),
        ("wrong", {"fails": f"{NAMES[WRONG]},Crash"}, 1, "FAILED: 1 of 2"),
        ("wrong", {"flakes": r"reorder\.u8_5"}, 0, "1 not right as expected"),
        ("wrong", {"skips": r"reorder\.u8_5"}, 0, "1 of 2 cases passed, 1 was skipped"),
        ("wrong", {"skips": "reorder"}, 5, "SKIPPED: 0 of 2 cases passed"),
        ("wrong", {"fails": f"{NAMES[RIGHT]},Fail\n{NAMES[WRONG]},Fail"}, 1, "UNEXPECTED_PASS: 1 of 2"),
        ("none", {"flakes": "."}, 0, "PASSED: 2 cases, all right"),
    ],
)
def test_what_is_expected_decides_the_exit_code(faulty, tmp_path, capsys, fault, content, code, says):
    found, out, _ = faulty(capsys, fault, "--expect", lists(tmp_path / "known", **content))
    assert found == code
    assert says in out


@pytest.mark.slow
def test_a_run_with_the_lists_that_it_wrote_passes(faulty, tmp_path, capsys):
    known = tmp_path / "known"
    assert faulty(capsys, "wrong", "--write-expectations", known)[0] == 1
    assert (known / FAILS).read_text().splitlines()[1:] == [f"{NAMES[WRONG]},Fail"]
    assert last_failed_file().read_text() == f"{WRONG}\n"
    assert faulty(capsys, "wrong", "--expect", known)[0] == 0
    assert last_failed_file().read_text() == "", "what is known is not run again"
    code, _, err = faulty(capsys, "wrong", "--write-expectations", known)
    assert (code, "exists" in err) == (2, True)
    assert faulty(capsys, "none", "--expect", known, "--write-expectations", known, "--force")[0] == 1
    assert (known / FAILS).read_text().count("\n") == 1


@pytest.mark.slow
def test_a_name_that_no_case_has_is_said(faulty, tmp_path, capsys):
    code, _, err = faulty(capsys, "none", "--expect", lists(tmp_path / "known", fails="slice.gone_0123abcd,Fail"))
    assert code == 0
    assert "fails.txt names 1 that are no cases of this run, such as slice.gone_0123abcd" in err
