"""JUnit XML: what CI systems read from it."""

import re
from dataclasses import replace
from datetime import datetime
from xml.etree import ElementTree as ET

import junitparser
import pytest
from support.report_examples import HOSTILE, example, many, outcome

from restride_conformance.record import Verdict
from restride_conformance.report.junit import ELEMENTS, write_junit


@pytest.fixture
def path(tmp_path):
    return tmp_path / "junit.xml"


def written(report, path):
    write_junit(report, path)
    return ET.parse(path).getroot()


def test_junitparser_reads_what_was_written(path):
    report = example()
    write_junit(report, path)
    (suite,) = junitparser.JUnitXml.fromfile(str(path))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (10, 4, 2, 1)
    assert suite.time == pytest.approx(12.5)
    for case, given in zip(suite, report.outcomes, strict=True):
        assert case.name == given.case
        assert case.classname == f"restride.vulkan.{given.case.split()[0]}"
        assert case.time == pytest.approx(given.seconds, abs=1e-3)
        kinds = {
            "failure": junitparser.Failure,
            "error": junitparser.Error,
            "skipped": junitparser.Skipped,
        }
        wanted = ELEMENTS.get(given.verdict)
        assert [type(result) for result in case.result] == ([] if wanted is None else [kinds[wanted]])
    properties = {entry.name: entry.value for entry in suite.properties()}
    assert properties["device"] == "llvmpipe (LLVM 15.0.6, 256 bits)"
    assert properties["driver"] == "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
    assert properties["numpy"] == "2.4.0"
    assert properties["validation"] == "sync"
    assert properties["command"] == report.command


def test_counts_and_attributes_are_those_that_ci_systems_add_up(path):
    report = example(outcomes=many(700))
    root = written(report, path)
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    for element in (root, suite):
        assert element.attrib["name"]
        assert int(element.attrib["tests"]) == len(suite.findall("testcase")) == 700
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[attribute]) == len(suite.findall(f"testcase/{tag}")) > 0
        assert float(element.attrib["time"]) == 12.5
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    assert suite[0].tag == "properties"
    assert all(set(entry.attrib) == {"name", "value"} for entry in suite[0])
    for case in suite.findall("testcase"):
        assert set(case.attrib) == {"classname", "name", "time"}
        assert re.fullmatch(r"\d+\.\d{3}", case.attrib["time"])
        assert len(case) <= 1


def test_the_time_is_written_in_utc(path):
    started = datetime.fromisoformat("2025-03-04T01:30:00.5+05:30")
    assert written(example(started=started), path)[0].attrib["timestamp"] == "2025-03-03T20:00:00"


def test_a_failure_holds_its_message_and_the_command_that_reruns_it(path):
    report = example()
    for case, given in zip(written(report, path).iter("testcase"), report.outcomes, strict=True):
        if given.verdict.is_good:
            continue
        (said,) = case
        assert said.attrib["type"] == given.verdict
        assert said.attrib["message"].startswith(f"{given.verdict}: {given.message.splitlines()[0][:20]}")
        assert said.text.endswith(f"\n{report.repro(given)}\n")


def test_the_reduced_case_comes_before_the_message(path):
    given = replace(outcome("FAILED", message="2 of 6"), reduced="reorder u8[1]{0} -> u8[1]{0}")
    (said,) = written(example(outcomes=(given,)), path).iter("failure")
    reduced, command, *others = said.text.splitlines()
    assert reduced == f"reduced to {given.reduced}"
    assert f"--repro '{given.reduced}'" in command
    assert others == ["before it was reduced:", "2 of 6", example().repro(given)]


def test_a_run_that_was_broken_off_says_why(path):
    root = written(example(broken_off="no device\nany more"), path)
    properties = {entry.attrib["name"]: entry.attrib["value"] for entry in root.iter("property")}
    assert properties["broken off"] == "no device\nany more"
    (suite,) = root
    last = suite.findall("testcase")[-1]
    assert last.attrib["name"] == "the whole run"
    assert last.find("error").attrib["message"] == "stopped after 10 of 10: no device"
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) == 11
    assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == 3
    assert "broken off" not in {entry.attrib["name"] for entry in written(example(), path).iter("property")}


def test_a_skipped_case_says_why(path):
    (skipped,) = written(example(), path).iter("skipped")
    assert skipped.attrib == {"message": "strided_copy_32 takes no part in it"}


def test_characters_that_xml_forbids_are_written_out_and_markup_is_text(path):
    report = example(command="\udcff\x0b <&>")
    root = written(report, path)
    crashed = next(error for error in root.iter("error") if error.attrib["type"] == "CRASHED")
    assert f"\\x1b[31m{HOSTILE}\\x00\\ufffe" in crashed.text
    assert root.find(".//script") is None
    properties = {entry.attrib["name"]: entry.attrib["value"] for entry in root.iter("property")}
    assert properties["command"] == "\\udcff\\x0b <&>"


def test_a_failure_without_a_message_is_still_one(path):
    root = written(example(outcomes=(outcome("FAILED"),)), path)
    (failure,) = root.iter("failure")
    assert failure.attrib["message"] == "FAILED"


def test_every_verdict_but_passed_becomes_an_element():
    assert set(ELEMENTS) == set(Verdict) - {Verdict.PASSED}
