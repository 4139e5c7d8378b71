"""Two reports side by side, and the commands that read kept reports."""

import json
from dataclasses import asdict, replace

import pytest
from support.report_examples import DEVICE, PERF, A, B, C, D, example, outcome, passed, run

from restride.command.process import Exit, UsageError
from restride.errors import DescriptorError
from restride_conformance.record import Outcome, Speed, Verdict
from restride_conformance.report.compare import compare
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.summary import summary


def report(*verdicts, lines=(A, B, C, D), **changes):
    outcomes = tuple(
        outcome(verdict, line, "" if verdict == "PASSED" else f"why {verdict}\nmore")
        for verdict, line in zip(verdicts, lines, strict=False)
    )
    return example(outcomes=outcomes, selected=len(outcomes), **changes)


def test_equal_reports_have_no_difference():
    comparison = compare(example(), example())
    assert comparison.head == comparison.changed == comparison.only_before == comparison.only_after == ()
    assert comparison.same == 10
    assert not comparison.is_worse
    assert "both were made with the same device, driver and versions" in str(comparison)


@pytest.mark.parametrize(
    ("before", "after", "is_worse", "is_better"),
    [
        ("PASSED", "FAILED", True, False),
        ("SKIPPED", "MISTRUSTED", True, False),
        ("FAILED", "CRASHED", True, False),
        ("PASSED", "SKIPPED", False, False),
        ("SKIPPED", "PASSED", False, False),
        ("FAILED", "PASSED", False, True),
        ("CRASHED", "TIMEOUT", False, True),
        ("FAILED", "SKIPPED", False, True),
    ],
)
def test_a_verdict_gets_worse_better_or_is_only_another(before, after, is_worse, is_better):
    comparison = compare(report("PASSED", before), report("PASSED", after))
    (change,) = comparison.changed
    assert (change.before.verdict, change.after.verdict) == (before, after)
    assert (change.is_worse, change.is_better, comparison.is_worse) == (is_worse, is_better, is_worse)
    assert comparison.same == 1


def test_the_head_says_what_the_runs_were_made_on():
    other = report("PASSED", device=DEVICE | {"name": "Radeon", "driver": "RADV"}, versions={"numpy": "1.26"})
    comparison = compare(report("PASSED"), other)
    assert ("device", DEVICE["name"], "Radeon") in comparison.head
    assert ("numpy", "2.4.0", "1.26") in comparison.head
    assert ("python", "3.11.2", "") in comparison.head
    assert "mode" not in {name for name, _, _ in comparison.head}
    assert "->  Radeon" in str(comparison)


def test_a_run_that_ended_early_is_noted():
    whole, part = report("PASSED", "PASSED"), replace(report("PASSED"), selected=2, broken_off="interrupted")
    comparison = compare(whole, part)
    assert comparison.head == (("ended early", "", "interrupted after 1 of 2"),)
    assert "second: INTERRUPTED: 1 of 2 cases done, all right" in str(comparison)


def test_cases_that_only_one_report_has_are_listed_and_do_not_count():
    comparison = compare(report("PASSED", "PASSED", "FAILED"), report("PASSED", "FAILED", lines=(A, D)))
    assert [one.case for one in comparison.only_before] == [B, C]
    assert [one.case for one in comparison.only_after] == [D]
    assert not comparison.is_worse
    assert "only in the second: 1\n  FAILED" in str(comparison)


def test_rows_of_one_name_under_two_groups_are_apart():
    def timed(*seconds):
        rows = (
            Outcome("f32", Verdict.PASSED, group=group, figures={"resident": {"restride": each}})
            for group, each in zip(("copies", "turns"), seconds, strict=True)
        )
        return example(kind="bench", options={}, outcomes=tuple(rows), selected=2)

    found = compare(timed(1.0, 2.0), timed(2.0, 2.0)).ratios
    assert [(each.case, each.ratio) for each in found] == [("copies: f32", 2.0), ("turns: f32", 1.0)]


def test_of_a_line_that_is_there_twice_the_worst_verdict_counts():
    twice = report("FAILED", "PASSED", lines=(A, A))
    assert compare(report("PASSED"), twice).is_worse
    assert compare(twice, report("FAILED")).changed == ()


def test_figures_count_where_a_rule_judges_them():
    def differ(old, new):
        yield f"{old.seconds:g} -> {new.seconds:g}", new.seconds > old.seconds

    slow = example(outcomes=passed(A, seconds=2.0), selected=1)
    fast = example(outcomes=passed(A, seconds=1.0), selected=1)
    comparison = compare(fast, slow, differ)
    assert comparison.is_worse
    assert f"worse figures: 1\n  {A}: 1 -> 2" in str(comparison)
    assert comparison.values()["differences"] == [{"case": A, "worse": True, "text": "1 -> 2"}]
    assert not compare(slow, fast, differ).is_worse
    assert not compare(fast, slow).is_worse


def test_records_of_two_kinds_are_not_compared():
    with pytest.raises(UsageError, match="a record of test is not compared with one of bench"):
        compare(example(), replace(example(), kind="bench"))


def test_of_two_drivers_it_is_said_what_only_one_fails():
    other = {**DEVICE, "driver": "SwiftShader", "name": "SwiftShader Device", "driver_version": "5.0.0"}
    first = report("FAILED", "PASSED", "FAILED", "CRASHED")
    comparison = compare(first, report("PASSED", "FAILED", "CRASHED", "SKIPPED", device=other))
    values = comparison.values()
    assert (values["only_before_fails"], values["only_after_fails"]) == ([D, A], [B])
    assert values["drivers"] == [
        "llvmpipe (LLVM 15.0.6, 256 bits), llvmpipe Mesa 22.3.6 (LLVM 15.0.6)",
        "SwiftShader Device, SwiftShader 5.0.0",
    ]
    text = str(comparison)
    only_first, only_second, rest = (
        text.index(words)
        for words in (
            "only the first driver fails (llvmpipe (LLVM 15.0.6, 256 bits), llvmpipe Mesa 22.3.6 (LLVM 15.0.6)): 2\n",
            "only the second driver fails (SwiftShader Device, SwiftShader 5.0.0): 1\n",
            "changed otherwise: 1\n",
        )
    )
    assert "reduced" not in text
    assert only_first < text.index(f"  {A}") < only_second < text.index(f"  {B}") < rest < text.index(f"  {C}")
    assert comparison.is_worse
    assert compare(first, report("PASSED", "FAILED", "CRASHED", "SKIPPED")).drivers is None


def test_a_change_names_the_reduced_case():
    before, after = report("PASSED"), report("FAILED")
    after = replace(after, outcomes=(replace(after.outcomes[0], reduced=B),))
    comparison = compare(before, after)
    assert comparison.values()["changed"][0]["after"]["reduced"] == B
    assert f"  {A}\n      PASSED  ->  FAILED (why FAILED)\n      reduced to {B}\n" in str(comparison)


def test_runs_without_a_common_case_are_not_compared():
    with pytest.raises(UsageError, match="no case is in both: the first has 2, the second 1 others"):
        compare(report("PASSED", "FAILED"), report("PASSED", lines=(D,)))
    assert compare(report(), report()).same == 0


def test_speeds_are_compared_by_time():
    factors = (1.5, 0.5, 1.0)
    faster = replace(
        PERF,
        outcomes=tuple(
            replace(one, figures=asdict(Speed(one.figures["seconds"] * factor, 1, 1)))
            for one, factor in zip(PERF.outcomes, factors, strict=True)
        ),
    )
    comparison = compare(PERF, faster)
    assert [round(ratio.ratio, 9) for ratio in comparison.ratios] == [1.5, 1.0, 0.5]
    assert comparison.median_ratio == pytest.approx(1)
    assert not comparison.is_worse
    assert "of 3 cases: 1.00 (median)" in str(comparison)
    assert "    1.50  0.100 ms -> 0.150 ms  reorder u8[64,64]" in str(comparison)
    assert compare(PERF, example(outcomes=passed(PERF.outcomes[0].case))).median_ratio is None


def test_a_call_takes_time_so_every_ratio_is_a_number_of_json(tmp_path, capsys):
    paths = [tmp_path / name for name in ("fast.json", "slow.json", "none.json")]
    for path, seconds in zip(paths, (1e-12, 1e12, 0), strict=True):
        speed = Speed(seconds, 0, 0)
        write_record(replace(PERF, outcomes=tuple(replace(one, figures=asdict(speed)) for one in PERF.outcomes)), path)
    assert run("compare", *paths[:2], "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["median_ratio"] == 1e24
    with pytest.raises(DescriptorError, match=r"outcomes\[0\].figures.seconds: 0 is less than the minimum of 1e-12"):
        run("compare", paths[0], paths[2])


def test_the_text_of_a_long_comparison_is_bounded():
    lines = [f"reorder u8[{size}] -> u8[{size}]" for size in range(1, 301)]
    text = str(compare(report(*["PASSED"] * 300, lines=lines), report(*["FAILED"] * 300, lines=lines)))
    assert "worse: 300" in text
    assert "... and 250 more" in text
    assert len(text.splitlines()) < 120


@pytest.fixture
def kept(tmp_path):
    paths = [tmp_path / name for name in ("good.json", "bad.json")]
    write_record(report("PASSED", "PASSED"), paths[0])
    write_record(report("PASSED", "FAILED"), paths[1])
    return paths


def test_compare_ends_with_1_where_something_got_worse(kept, capsys):
    good, bad = kept
    assert run("compare", good, bad) == Exit.CHECK_FAILED
    printed = capsys.readouterr().out
    assert f"worse: 1\n  {B}\n      PASSED  ->  FAILED (why FAILED)\n" in printed
    last = "1 worse, 0 better, 0 otherwise changed, 1 the same, 0 only in the first, 0 only in the second"
    assert printed.splitlines()[-1] == last
    assert run("compare", bad, good) == Exit.OK
    assert run("compare", bad, bad) == Exit.OK


def test_compare_prints_json(kept, capsys):
    assert run("compare", *kept, "--json") == Exit.CHECK_FAILED
    printed = json.loads(capsys.readouterr().out)
    assert (printed["format"], printed["version"]) == ("restride-comparison", 1)
    assert printed["worse"] is True
    assert printed["changed"] == [
        {
            "case": B,
            "worse": True,
            "before": {"case": B, "verdict": "PASSED", "message": ""},
            "after": {"case": B, "verdict": "FAILED", "message": "why FAILED"},
        }
    ]


def test_show_prints_the_summary(kept, capsys):
    assert run("show", kept[1]) == Exit.OK
    assert capsys.readouterr().out == summary(read_record(kept[1])) + "\n"


@pytest.mark.parametrize(("action", "begin"), [("html", "<!DOCTYPE html>"), ("junit", "<?xml")])
def test_a_kept_report_is_converted(kept, tmp_path, action, begin):
    assert run(action, kept[1], tmp_path / "out") == Exit.OK
    assert (tmp_path / "out").read_text(encoding="utf-8").startswith(begin)


def test_files_that_are_no_report_are_refused(tmp_path, kept):
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(DescriptorError, match=r"none\.json is no record of a run"):
        run("compare", kept[0], tmp_path / "none.json")
    with pytest.raises(UsageError, match="required"):
        run()
