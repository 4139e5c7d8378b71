"""The simplest case that still fails: candidates are valid and smaller, and a reduction ends in a fixed order."""

from __future__ import annotations

import pytest

from restride_conformance.case import Case
from restride_conformance.operations import require_valid
from restride_conformance.record import Outcome, Verdict
from restride_conformance.reduce import candidates, counts, fails_alike, measure, reduce

LINES = (
    "slice f32[1,1,4,4]{3,2,1,0} -> f32[1,1,2,2]{3,2,1,0} offsets=(0,0,0,1) sizes=(1,1,4,3) strides=(1,1,-2,2)",
    "reorder f32[8,6]{1,0} -> f32[6,2]{0,1} view=[::-4].permute(1,0) data=index seed=5",
    "reorder u8[1,3,5,7]{3,2,1,0} -> u8[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC",
    "resample u8[9,30]{1,0} -> f32[9,11]{1,0} mode=cubic sizes=(20) antialias=yes window=(5:16) src_scale=0.5",
    "pad f32[4,5]{1,0} -> f32[7,6]{1,0} before=(1,0) behind=(2,1) mode=reflect",
    "rearrange u8[6,4]{1,0} -> u8[3,8]{1,0} pattern=(h,s),w->h,(s,w) lengths=s=2",
    "equal s64[3,5]{1,0} -> pred[3,5]{1,0} other=f64[5]{0} out=new",
)


@pytest.mark.parametrize("line", LINES)
def test_candidates_are_valid_and_smaller(line: str) -> None:
    case = Case.parse(line)
    found = list(candidates(case))
    assert found
    for each in found:
        require_valid(Case.parse(str(each)))
        assert measure(each) < measure(case)
        assert all(new <= old for new, old in zip(counts(each), counts(case), strict=True))


@pytest.mark.parametrize("line", LINES)
def test_a_case_that_always_fails_becomes_tiny(line: str) -> None:
    reduced = reduce(Case.parse(line), lambda _: True, most=1000)
    assert not reduced.ended_early
    assert reduced.case.elements <= 4
    assert reduced.case.view is None


def test_what_the_failure_needs_stays() -> None:
    case = Case.parse("reorder f32[16,12]{1,0} -> f32[12,4]{0,1} view=[::-4].permute(1,0) data=index seed=5")
    reduced = reduce(case, lambda each: each.src.sizes[0] >= 3 and each.src.dtype.name == "f32", most=1000)
    assert reduced.case.src.sizes[0] == 3
    assert (reduced.case.parameters, reduced.case.seed, str(reduced.case.src)[:3]) == ((), 0, "f32")


@pytest.mark.parametrize(
    ("message", "alike"),
    [
        ("1 of 4 elements are wrong", True),
        ("DescriptorError: sizes [1] do not fit", False),
        ("a mistake in restride: IndexError: 1", False),
    ],
)
def test_an_error_is_no_wrong_result(message: str, alike: bool) -> None:
    wrong = Outcome("", Verdict.FAILED, "3 of 9 elements are wrong\nelement (0,): 1")
    assert fails_alike(Outcome("", Verdict.FAILED, message), wrong) is alike
    assert fails_alike(Outcome("", Verdict.FAILED, message), Outcome("", Verdict.FAILED, message))
    assert not fails_alike(Outcome("", Verdict.CRASHED, message), Outcome("", Verdict.FAILED, message))


def test_no_case_is_tried_twice_and_the_trials_are_bounded() -> None:
    case, seen = Case.parse(LINES[0]), []
    reduced = reduce(case, lambda each: bool(seen.append(each)), most=3)
    assert (reduced.case, reduced.trials, reduced.ended_early) == (case, 3, True)
    assert len(set(map(str, seen))) == len(seen) == 3
    assert reduce(case, lambda _: True, goes_on=lambda: False).trials == 0
