"""The texts of records: headlines, facts and summaries."""

from dataclasses import asdict

import pytest
from support.report_examples import PERF, example, outcome

from restride_conformance.record import FLUSHED, Outcome, ShaderUnderTest, Speed, Target, Verdict
from restride_conformance.report.summary import facts, headline, printable, speed_text, summary


def measured(*speeds, op="reorder"):
    line = {
        "reorder": "reorder u8[{0}] -> u8[{0}]",
        "slice": "slice u8[9] -> u8[{0}] offsets=(0) sizes=({0}) strides=(1)",
    }
    return [
        Outcome(line[op].format(number), Verdict.PASSED, figures=asdict(speed))
        for number, speed in enumerate(speeds, 1)
    ]


@pytest.mark.parametrize(
    ("verdicts", "selected", "broken_off", "said"),
    [
        ([], 0, "", "nothing was judged"),
        ([], 3, "interrupted", "INTERRUPTED: 0 of 3 cases done"),
        (["PASSED"], 3, "interrupted", "INTERRUPTED: 1 of 3 cases done, all right"),
        (["PASSED", "SKIPPED"], 3, "interrupted", "INTERRUPTED: 2 of 3 cases done, 1 passed, 1 was skipped"),
        (["PASSED"], 3, "gone\nfor good", "STOPPED: gone; 1 of 3 cases done, all right"),
        (["PASSED"], 1, "gone", "STOPPED: gone; 1 of 1 case done, all right"),
        (["PASSED"], 2, "", "STOPPED: 1 of 2 cases done, all right"),
        (["FAILED"], 2, "interrupted", "FAILED: 1 of 1 case is not right (1 FAILED); interrupted after 1 of 2"),
        (["FAILED"], 2, "gone", "FAILED: 1 of 1 case is not right (1 FAILED); stopped after 1 of 2: gone"),
        (["PASSED"], 1, "", "PASSED: 1 case, all right"),
        (["PASSED"] * 1200, 1200, "", "PASSED: 1,200 cases, all right"),
        (["PASSED", "SKIPPED"], 2, "", "PASSED: 1 of 2 cases passed, 1 was skipped"),
        (["SKIPPED"] * 2, 2, "", "SKIPPED: 0 of 2 cases passed, 2 were skipped"),
        (["PASSED", "FAILED"], 4, "", "FAILED: 1 of 2 cases is not right (1 FAILED); stopped after 2 of 4"),
        (
            ["PASSED", *["FAILED"] * 2, *["SKIPPED"] * 3],
            6,
            "",
            "FAILED: 2 of 3 that ran are not right (2 FAILED), 3 were skipped",
        ),
        (["MISTRUSTED"], 1, "", "MISTRUSTED: 1 of 1 case is not right (1 MISTRUSTED)"),
        (["FAILED", "CRASHED", "FAILED"], 3, "", "CRASHED: 3 of 3 cases are not right (2 FAILED, 1 CRASHED)"),
    ],
)
def test_the_headline_says_the_worst_verdict_and_how_far_the_run_came(verdicts, selected, broken_off, said):
    outcomes = tuple(outcome(verdict) for verdict in verdicts)
    assert headline(example(outcomes=outcomes, selected=selected, broken_off=broken_off)) == said


def test_the_summary_has_each_failure_with_its_command_and_no_control_characters():
    text = summary(example())
    for one in example().bad:
        assert f"{one.verdict} {one.case}\n" in text
        assert f"    {example().repro(one)}\n" in text
    assert "\\x1b[31m" in text
    assert not set(text) & {*map(chr, range(32)), "\x7f", "\u2028"} - {"\n"}
    assert "1  strided_copy_32 takes no part in it" in text
    assert "llvmpipe (LLVM 15.0.6, 256 bits) (cpu), llvmpipe Mesa 22.3.6" in text
    assert text.splitlines()[-1].startswith("CRASHED: 6 of 9 that ran are not right (1 MISTRUSTED, 1 UNIMPL")


def test_the_summary_says_where_denormals_were_taken_for_zeros():
    outcomes = (outcome("PASSED", message=f"2 of 9 elements are {FLUSHED}"), outcome("PASSED"))
    said = "passed with elements as on a device that takes denormals of f32 for zeros: 1 case\n"
    assert said in summary(example(outcomes=outcomes, selected=2))
    assert FLUSHED not in summary(example(outcomes=outcomes[1:], selected=1))


def test_the_summary_of_many_failures_is_short():
    failures = tuple(outcome("FAILED", message="line\n" * 1000) for _ in range(5000))
    text = summary(example(outcomes=failures, selected=5000))
    assert len(text.splitlines()) < 300
    assert "... and 992 more lines" in text
    assert "... and 4,980 more that are not right; `restride test --lf` runs them again" in text
    shader = ShaderUnderTest("my.comp", "strided_copy_32", "my.spv")
    text = summary(example(outcomes=failures, selected=5000, target=Target(shader=shader)))
    assert "... and 4,980 more that are not right\n" in text


def test_the_commands_of_a_report_rerun_its_mode():
    assert "--mode perf" in summary(example(mode="perf"))
    assert "--mode" not in summary(example())


def test_the_commands_and_facts_of_a_report_have_its_runs():
    report = example(target=Target(repeat=20, replay=5, under_load=True, in_batch=True))
    assert "--repeat 20 --replay 5 --under-load --in-batch" in summary(report)
    assert facts(report)["repetitions"] == "20"
    assert facts(report)["replays"] == "5"
    assert facts(report)["other work"] == "in flight, in one batch"
    assert {facts(example())[name] for name in ("repetitions", "replays", "other work")} == {""}


def test_a_text_that_turns_its_direction_is_written_out():
    turned = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert printable(f"a{turned}b\u2027\u202f\u206a") == f"a{ascii(turned)[1:-1]}b\u2027\u202f\u206a"


def test_no_version_stands_for_another_fact():
    report = example(versions={"device": "mine", "mode": "perf", "numpy": "2"})
    assert facts(report) == facts(example(versions={})) | {"numpy": "2"}


@pytest.mark.parametrize(
    ("speed", "text"),
    [
        (Speed(2e-4, 9.314, 0.8721), "0.200 ms 9.31 GB/s 87.2% of copy"),
        (Speed(1.23456, 0.1, 1.034), "1,235 ms 0.100 GB/s 103% of copy"),
        (Speed(9.876e-5, 0.0123, 0.00456), "98.8 us 12.3 MB/s 0.456% of copy"),
        (Speed(1e-4, 1e-5, 0), "0.100 ms 0.0100 MB/s 0% of copy"),
        (Speed(1e-12, 1e-300, 1e-300), "0.000001 us 0.000000 MB/s 0.000000% of copy"),
    ],
)
def test_a_speed_has_three_digits_and_units_that_fit(speed, text):
    assert " ".join(speed_text(speed).split()) == text


def test_the_summary_of_speeds_has_medians():
    assert "3 cases  reorder      0.200 ms     90.0 MB/s   50.0% of copy\n" in summary(PERF)


def test_medians_leave_out_what_moves_little():
    small, large = Speed(1e-5, 0.01, 0.01), Speed(1e-3, 5.0, 0.5)
    lines = summary(example(outcomes=(*measured(small, small, large), *measured(small, op="slice")))).splitlines()
    (reorders,) = [line for line in lines if "  reorder  " in line]
    assert " ".join(reorders.split()) == (
        "1 case reorder 1.00 ms 5.00 GB/s 50.0% of copy (2 that move less than 64 KiB left out)"
    )
    (slices,) = [line for line in lines if "  slice  " in line]
    assert slices.endswith("% of copy")
