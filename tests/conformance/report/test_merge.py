"""Reports of parts of one run as one, and what is no part of it."""

from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from support.report_examples import A, B, C, D, example, outcome, passed, run

from restride.command.process import Exit, UsageError
from restride_conformance.record import Target, Verdict
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.merge import merge
from restride_conformance.report.summary import headline


def test_parts_of_a_run_are_merged(tmp_path, capsys):
    started = example().started
    first = example(outcomes=passed(A, B), selected=2, seconds=2.0, command="restride test --shard 1/2")
    second = example(
        outcomes=(outcome("FAILED", C), outcome("SKIPPED", D)),
        selected=3,
        seconds=0.5,
        started=started - timedelta(hours=1),
        options={**example().options, "catalogues": ["more.txt"]},
        platform="another machine",
        broken_off="interrupted",
    )
    files = [tmp_path / "1.json", tmp_path / "2.json"]
    for report, path in zip((first, second), files, strict=True):
        write_record(report, path)
    outputs = {"--json": tmp_path / "all.json", "--junitxml": tmp_path / "all.xml", "--html": tmp_path / "all.html"}
    words = [str(word) for pair in outputs.items() for word in pair]
    assert run("merge", *files, *words) == Exit.CHECK_FAILED
    assert "FAILED: 1 of 3 that ran is not right (1 FAILED), 1 was skipped; interrupted after 4 of 5" in (
        capsys.readouterr().out
    )
    merged = read_record(outputs["--json"])
    assert merged.outcomes == first.outcomes + second.outcomes
    assert merged.counts == {Verdict.PASSED: 2, Verdict.SKIPPED: 1, Verdict.FAILED: 1}
    assert (merged.started, merged.seconds, merged.selected) == (second.started, 2.5, 5)
    assert merged.options["catalogues"] == ["smoke", "mine.txt", "more.txt"]
    assert merged.command == f"restride test --shard 1/2; {second.command}"
    suite = ET.parse(outputs["--junitxml"]).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "1")
    assert all(path.exists() for path in outputs.values())


def test_the_exit_code_of_a_merge_is_that_of_the_run(tmp_path):
    parts = {
        "1": example(outcomes=passed(A), command="restride test --shard 1/2", broken_off=""),
        "2": example(outcomes=passed(B), command="restride test --shard 2/2", broken_off=""),
        "bad": example(outcomes=(outcome("CRASHED", C),), command="restride test --shard 2/2", broken_off=""),
    }
    for name, part in parts.items():
        write_record(part, tmp_path / name)
    for names, code in (("1", "2"), Exit.OK), (("1",), Exit.CHECK_FAILED), (("1", "bad"), Exit.DEVICE_FAILED):
        assert run("merge", *(tmp_path / name for name in names)) == code


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "perf"}, "mode is 'correctness' and 'perf'"),
        ({"target": Target(device="llvmpipe", validate="sync", replay=5)}, "replays is '' and '5'"),
        ({"versions": {"python": "4.0"}}, "are no parts of one run: "),
        ({"outcomes": passed(B, A)}, "another part has its case "),
    ],
)
def test_reports_that_are_no_parts_of_one_run_are_refused(changes, words):
    other = example(**{"outcomes": passed(B), **changes})
    with pytest.raises(UsageError, match=words):
        merge([("a", example(outcomes=passed(A))), ("b", other)])


@pytest.mark.parametrize(
    ("shards", "broken_off"),
    [
        (("--shard 1/2", "--shard=2/2"), ""),
        (("--shard 1/3", "--shard 3/3"), "shard 2 of 3 is missing"),
        (("--shard 2/4", ""), "shards 1, 3, 4 of 4 are missing"),
        (("-n 2", ""), ""),
    ],
)
def test_a_shard_that_is_missing_is_named(shards, broken_off):
    parts = [
        (name, example(outcomes=passed(case), selected=1, command=f"restride test {words}"))
        for name, case, words in zip("ab", (A, B), shards, strict=True)
    ]
    merged = merge(parts)
    assert merged.broken_off == broken_off
    assert headline(merged).startswith(f"STOPPED: {broken_off}; 2 of 2 " if broken_off else "PASSED: 2 cases")
