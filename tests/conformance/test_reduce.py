"""The simplest case that still fails: candidates are valid and smaller, and a reduction ends in a fixed order."""

from __future__ import annotations

from collections.abc import Callable

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
    "roll u8[4,6,8]{2,1,0} -> u8[4,6,8]{2,1,0} shift=(3,-2) axes=(0,2)",
    "reorder f32[3,5,7]{2,1,0} -> u8[3,5,7]{2,1,0} src_scale=1:(0.5,-2,3,4,5) dst_scale=(0,2)",
    "reorder s32[9,5]{1,0:T(1,1)} -> s32[9,5]{1,0:T(4,3)pad(12,8)=-1} seed=191",
    "crop_resize u8[20,30,3]{2,1,0} -> f32[2,6,5,3]{3,2,1,0} boxes=(2,3,10,12,-4,5,7,30) axes=(0,1) mode=linear",
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
    ("line", "needed", "left"),
    [
        (
            "slice f32[200,300]{1,0} -> f32[5,14]{0,1} offsets=(150,1) sizes=(14,28) strides=(3,-2)",
            lambda case: case.integers("strides")[-1] == -2 and case.integers("sizes")[-1] >= 3,
            "slice u8[3]{0} -> u8[1]{0} offsets=(0) sizes=(3) strides=(-2)",
        ),
        (
            "crop_resize u8[9,30] -> f32[4,12,10] boxes=(2,3,10,12,-4,5,7,30,-3,-2,5,4,3,5,4,6) axes=(0,1) mode=linear",
            lambda case: len(case["boxes"]) >= 8,
            "crop_resize u8[1,1]{1,0} -> u8[2,1,1]{2,1,0} boxes=(0,0,1,1,-1,0,0,1) axes=(0,1) mode=linear",
        ),
        (
            "reorder u8[2,3,5,7] -> u8[2,5,7,3] permute=NCHW->NHWC",
            lambda case: case["permute"] is not None and case.dst.numel > 3 and case.src.rank > 1,
            "reorder u8[1,4]{1,0} -> u8[1,4]{1,0} permute=HW->HW",
        ),
        (
            "reorder f32[6,70,5]{0,2,1} -> f32[6,70,5]{strides=(1,42,7)}",
            lambda case: (
                "{0,2,1}" in str(case.src)
                or ("{0,1}" in str(case.src) and case.src.sizes[0] > 1 and case.src.sizes[1] > 64)
            ),
            "reorder u8[2,65]{0,1} -> u8[2,65]{1,0}",
        ),
        (
            "reorder f32[8,6] -> f32[3,4] view=[::-1].reshape(4,12).permute(1,0)[:3]",
            lambda case: case.view is not None and "reshape" in str(case.view),
            "reorder u8[1,1]{1,0} -> u8[1,1]{1,0} view=.reshape(1,1)",
        ),
        (
            "reorder u8[20,3,5,6]:nChw16c -> u8[20,3,5,6]:nChw16c out=any",
            lambda case: case["out"] == "any" and "nChw" in str(case.src) and case.dst.numel > 4,
            "reorder u8[1,1,1,5]:nChw2c -> u8[1,1,1,5]:nChw2c out=any",
        ),
        (
            "equal s64[3,5] -> pred[3,5] other=f64[5]",
            lambda case: case["other"].dtype.name == "f64" and case.dst.sizes[-1] >= 4,
            "equal pred[1]{0} -> pred[4]{0} other=f64[4]{0}",
        ),
    ],
)
def test_what_follows_from_a_size_goes_with_it(line: str, needed: Callable[[Case], bool], left: str) -> None:
    case = Case.parse(line)
    assert needed(case)
    reduced = reduce(case, needed)
    assert (str(reduced.case), reduced.ended_early) == (left, False)


@pytest.mark.parametrize(
    ("message", "alike"),
    [
        ("1 of 4 elements are wrong", True),
        ("DescriptorError: sizes [1] do not fit", False),
        ("the operation made u8[2]{0}, expected u8[2]{strides=(2)}", False),
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
