"""Records: what they count, in which order, and within which bounds."""

from dataclasses import replace

from support.report_examples import example, outcome, wrong_picture

from restride_conformance.record import Pictures, Verdict
from restride_conformance.report import MESSAGE_CHARACTERS, PICTURE_BYTES


def test_verdicts_are_counted_mildest_first():
    report = example()
    assert report.counts == {
        Verdict.PASSED: 3,
        Verdict.SKIPPED: 1,
        Verdict.MISTRUSTED: 1,
        Verdict.UNIMPLEMENTED: 1,
        Verdict.FAILED: 2,
        Verdict.TIMEOUT: 1,
        Verdict.CRASHED: 1,
    }
    assert list(report.counts) == [verdict for verdict in Verdict if verdict in report.counts]
    assert report.worst is Verdict.CRASHED


def test_what_is_not_right_comes_worst_first_and_then_in_order():
    verdicts = [one.verdict for one in example().bad]
    assert verdicts == ["CRASHED", "TIMEOUT", "FAILED", "FAILED", "UNIMPLEMENTED", "MISTRUSTED"]
    failed = [one for one in example().bad if one.verdict == "FAILED"]
    assert [one.case.split()[0] for one in failed] == ["slice", "resample"]


def test_skip_reasons_are_grouped_by_their_first_line():
    skipped = [outcome("SKIPPED", message=message) for message in ("a\nx", "b", "b\ny", "b")]
    assert list(example(outcomes=tuple(skipped)).skip_reasons.items()) == [("b", 3), ("a", 1)]


def test_messages_and_pictures_are_kept_within_bounds():
    long = outcome("FAILED", message="x" * (MESSAGE_CHARACTERS + 5))
    assert len(example(outcomes=(long,)).outcomes[0].message) == MESSAGE_CHARACTERS
    assert example(outcomes=(long,)).outcomes[0].message.endswith("more characters")
    picture = Pictures(b"x" * (PICTURE_BYTES // 4), b"", b"", 1)
    drawn = example(outcomes=(replace(wrong_picture(), pictures=picture),) * 6).outcomes
    assert [one.pictures is not None for one in drawn] == [True] * 4 + [False] * 2
