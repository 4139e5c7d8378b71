"""Case values: one spelling each, and errors that hold the line."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride_conformance import Case
from restride_conformance.case import OPERATIONS
from restride_conformance.spelling import (
    CaseWindow,
    OneOf,
    read_group_sizes,
    read_integers,
    read_number,
    read_numbers,
    read_permutation,
    read_scale,
)

CANONICAL = [
    "reorder f32[2,3]{1,0} -> f32[2,3]{0,1} seed=1",
    "reorder u8[1,3,5,7]{3,2,1,0} -> u8[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC",
    "slice f32[1,1,4,4]{3,2,1,0} -> f32[1,1,2,2]{3,2,1,0} offsets=(0,0,0,1) sizes=(1,1,4,3) strides=(1,1,-2,2)",
    "resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3",
    "resample f32[4,4]{1,0} -> f32[4,4]{1,0} mode=nearest axes=(1)",
    "resample f32[4,4]{1,0} -> f32[8,4]{1,0} mode=nearest axes=(0,1)",
    "reorder bf16[4,3]{strides=(-5,1),offset=17} -> bf16[4,3]{strides=(1,8),offset=3}",
    "reorder pred[] -> pred[]",
    "reorder f32[8,6]{1,0} -> f32[6,2]{0,1} view=[::-4].permute(1,0) data=index",
    "resample u8[4]{0} -> u8[2,9]{1,0} mode=linear view=[None,:].broadcast_to(2,4)[...,-1:1:-1] seed=3",
    "resample u8[4,6]{1,0} -> u8[4,12]{1,0} mode=nearest axes=(0,1) data=image",
    "slice f16[24]{0} -> f16[2,3]{1,0} offsets=(0,0) sizes=(2,6) strides=(1,-2) view=.reshape(-1,12)[:,3:9]",
    "reorder f32[2,3]{1,0} -> f32[2,3]{0,1} data=index out=new",
    "resample u8[1,3,4,4]{3,2,1,0} -> u8[1,3,8,8]{1,3,2,0} mode=nearest out=NHWC seed=3",
    "reorder u8[4]{strides=(2)} -> u8[4]{strides=(2),offset=1} out=same",
    "reorder f32[3,5]{1,0:T(2,2)} -> f32[3,5]{0,1:pad(3,8)=-1.5} seed=1",
    "reorder bf16[3,5]{0,1:T(*,4)(2,1)pad(4,6)=7} -> bf16[3,5]:aB16b out=new",
    "slice u8[9,20]:Ba16b -> u8[3,4]{at=(5-2a,1+b),in=[6,5]{1,0:T(4,4)}} offsets=(1,0) sizes=(8,19) strides=(3,-5)",
    "resample f32[2,20,3,3]:nChw16c -> f32[2,20,5,4]:nChw16c mode=linear out=any seed=3",
    "reorder f16[2,20,3,3]{3,2,1,0} -> f16[2,3,20,3]:acdb view=.permute(0,2,1,3) out=nhwc",
    "reorder u32[]{:T(128)} -> u32[]",
    "reorder f32[5,6]{1,0} -> u8[5,6]{0,1} rounding=truncate saturate=no data=bits",
    "reorder u8[1,5,7,3]{3,2,1,0} -> f16[1,3,5,7]{3,2,1,0} permute=NHWC->NCHW src_scale=(3) src_zero_point=(3) seed=2",
    "reorder s8[6,64]{1,0} -> bf16[6,64]:Ba8b src_scale=(0,1) dst_scale=-0.0078125 group_sizes=(1,32) sum_scale=1e-05",
    "resample u8[9,30]{1,0} -> f32[9,11]{1,0} mode=cubic sizes=(20) antialias=yes window=(5:16) src_scale=0.5",
    "resample f32[4]{0} -> f16[6]{0} mode=linear scales=(1.5) coordinates=tf_crop_and_resize roi=(0.1,1.5) window=(:)",
    "resample f32[4]{0} -> f16[6]{0} mode=linear dst_zero_point=(0) sum_scale=0.5 rounding=truncate saturate=no seed=4",
    "resample u8[6,9]{1,0} -> u8[7,9]{1,0} mode=nearest sizes=(10) nearest=floor keep_aspect_ratio_policy=not_larger",
    "resample f32[7]{0} -> f32[4]{0} mode=cubic scales=(2/3) cubic_a=-0.5 exclude_outside=yes extrapolation_value=-7.5",
    "resample f32[7]{0} -> f32[4]{0} mode=area input_offsets=(-1/3) output_offsets=(1e-20) recompute_scale_factor=yes",
    "resample_backward f32[8,8]{1,0} -> bf16[4,3]{1,0} mode=area out=new seed=1",
    "yuv_to_rgb u8[9,8]{1,0} -> u8[6,8,3]{2,1,0} format=i420 matrix=bt709 full_range=yes data=image",
    "reorder u8[5,7,3]{2,1,0} -> f32[5,7,3]{2,1,0} src_scale=2:(0.5,-1e-05,2) dst_zero_point=0:(1,2,3,4,-5)",
    "reorder f32[6]{0} -> s8[6]{0} dst_scale=0.1 dst_zero_point=-3 rounding=half_away rounds_first=yes out=new",
    "pad f32[4,5]{1,0} -> f32[7,6]{1,0} before=(1,0) behind=(2,1) mode=reflect view=[::-1] seed=1",
    "pad s64[4]{0} -> s64[5]{0} behind=(1) value=-7",
    "roll u8[5,7]{1,0} -> u8[5,7]{0,1} shift=(4,-9) axes=(1,0)",
    "concat f16[6,5]{1,0} -> f16[9,5]:Ba4b axes=(0) parts=(2:,1:3,:3) out=new",
    "stack u8[3,5,4]{2,1,0} -> u8[5,3,4]{2,1,0} axes=(1)",
    "tile f32[3,5]{1,0} -> f32[2,3,15]{2,1,0} repetitions=(2,1,3) out=default",
    "rearrange u8[6,4,3]{2,1,0} -> f32[3,2,12]{2,1,0} pattern=(h,2),...,c->h,2,(...,c) dst_scale=255",
    "rearrange u8[6,4]{1,0} -> u8[3,8]{1,0} pattern=(h,s),w->h,(s,w) lengths=s=2",
    "lookup u8[4,6,3]{2,1,0} -> f32[3,4,6]{2,1,0} axes=(2) permute=HWC->CHW",
    "equal s64[3,5]{1,0} -> pred[3,5]{1,0} other=f64[3,1]{1,0:T(2,2)} negated=yes out=new",
    "reorder u8[2,3]{strides=(1099511627776,-9),offset=18} -> u8[2,3]{1,0} view=[-1:] seed=18446744073709551615",
    "resample f32[7]{0} -> f32[4]{0} mode=linear input_offsets=(1e+18) output_offsets=(0.30000000000000004)",
]


@pytest.mark.parametrize("line", CANONICAL)
def test_a_canonical_line_comes_back_as_it_is(line: str) -> None:
    case = Case.parse(line)
    assert str(case) == line
    assert Case.parse(str(case)) == case
    assert hash(Case.parse(line)) == hash(case)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (
            "resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} seed=3 axes=(1,2) mode=linear",
            "resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3",
        ),
        ("  reorder f32[2,3]   ->  f32[2,3]{0,1} seed=0", "reorder f32[2,3]{1,0} -> f32[2,3]{0,1}"),
        (
            "slice u8[9] -> u8[2] strides=(-4) sizes=(8) offsets=(1)",
            "slice u8[9]{0} -> u8[2]{0} offsets=(1) sizes=(8) strides=(-4)",
        ),
        (
            "reorder u8[9] -> u8[9] data=index view=[-0::1][0:9:]",
            "reorder u8[9]{0} -> u8[9]{0} view=[0:][0:9] data=index",
        ),
        (
            "resample u8[8,5] -> u8[4,7] mode=nearest view=[::2] axes=(1)",
            "resample u8[8,5]{1,0} -> u8[4,7]{1,0} mode=nearest view=[::2]",
        ),
        ("resample u8[4,5] -> u8[4,7] mode=nearest axes=(-1)", "resample u8[4,5]{1,0} -> u8[4,7]{1,0} mode=nearest"),
        (
            "resample u8[4,5] -> u8[4,7] mode=nearest axes=(-1,-2)",
            "resample u8[4,5]{1,0} -> u8[4,7]{1,0} mode=nearest axes=(1,0)",
        ),
        (
            "resample f32[4] -> f32[8] nearest=half_up scales=(4/2) mode=linear cubic_a=-0.750 antialias=no",
            "resample f32[4]{0} -> f32[8]{0} mode=linear scales=(2)",
        ),
        (
            "resample f32[6] -> f32[9] mode=linear scales=(3/2) window=(0:09)",
            "resample f32[6]{0} -> f32[9]{0} mode=linear scales=(1.5) window=(0:9)",
        ),
        (
            "reorder f32[4,5] -> u8[4,5] saturate=yes rounding=nearest_even dst_scale=(-1,0) src_scale=0.50",
            "reorder f32[4,5]{1,0} -> u8[4,5]{1,0} src_scale=0.5 dst_scale=(0,1)",
        ),
        (
            "rearrange u8[8,6] -> u8[2,12,2] lengths=t=2,s=4 pattern=(s,,h),(,t,w)->h,(s,w),t src_scale=1.50",
            "rearrange u8[8,6]{1,0} -> u8[2,12,2]{2,1,0} pattern=(s,h),(t,w)->h,(s,w),t lengths=s=4,t=2 src_scale=1.5",
        ),
        (
            "pad u8[2,3] -> u8[2,3] value=0 mode=constant behind=(0,0) before=(0,0)",
            "pad u8[2,3]{1,0} -> u8[2,3]{1,0}",
        ),
        (
            "equal u8[2] -> pred[2] other=f16[2] negated=no",
            "equal u8[2]{0} -> pred[2]{0} other=f16[2]{0}",
        ),
    ],
)
def test_defaults_are_left_out_and_parameters_ordered(written: str, canonical: str) -> None:
    assert str(Case.parse(written)) == canonical


def test_a_name_has_no_blanks_and_tells_alike_lines_apart() -> None:
    lines = [f"slice f32[5]{{0}} -> f32[2]{{0}} offsets=(0) sizes=(3) strides=({step})" for step in (2, -2)]
    names = [Case.parse(line).name for line in lines]
    slug = "slice.f32_5_0_f32_2_0_offsets_0_sizes_3_strides_2_"
    assert all(re.fullmatch(f"{slug}[0-9a-f]{{8}}", name) for name in names)
    assert len(set(names)) == 2
    assert all(re.fullmatch("[a-z_]+[.][0-9A-Za-z_]{1,70}", Case.parse(line).name) for line in CANONICAL)


def test_parameters_and_their_defaults() -> None:
    case = Case.parse(CANONICAL[3])
    assert case.integers("axes") == (1, 2)
    assert case.word("mode") == "linear"
    assert Case.parse(CANONICAL[0])["permute"] is None
    built = Case(
        "slice", TensorDesc("u8", (9,)), TensorDesc("u8", (2,)), (("offsets", (1,)), ("sizes", (8,)), ("strides", (4,)))
    )
    assert built == Case.parse("slice u8[9] -> u8[2] offsets=(1) sizes=(8) strides=(4)")
    with pytest.raises(DescriptorError, match="reorder has no parameter mode"):
        _ = Case.parse(CANONICAL[0])["mode"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "a case is written OPERATION SOURCE -> DESTINATION"),
        ("reorder f32[2] f32[2]", "a case is written"),
        ("reorder f32[2] -> ", "a case is written"),
        ("copy f32[2] -> f32[2]", "operation 'copy' is unknown; known: slice, reorder, resample, resample_backward"),
        (
            "slice u8[2] -> s8[1] offsets=(0) sizes=(1) strides=(1)",
            r"source u8\[2\]\{0\} and destination s8\[1\]\{0\} of a slice must have the same element type",
        ),
        ("reorder f32[2] -> u8[2] rounding=up", "rounding 'up' is unknown; known: nearest_even, truncate, half_away"),
        ("reorder f32[2] -> u8[2] src_scale=x", r"'x' is not a number such as 0\.5, -4 or 1e-05"),
        ("reorder f32[2] -> u8[2] src_scale=0:2,3", "is no axis with a number for each of its indices, such as"),
        ("reorder f32[2] -> u8[2] group_sizes=(0)", r"group_sizes \(0\) must be 1 or more"),
        ("slice u8[2] -> u8[1] offsets=(0) sizes=(1) strides=(1) rounding=truncate", "slice has no parameter rounding"),
        ("reorder f33[2] -> f32[2]", "unknown element type 'f33'.*in case 'reorder f33"),
        ("reorder f32[2] -> f32[2] mode=linear", "reorder has no parameter mode; it has permute"),
        ("reorder f32[2] -> f32[2] seed=1 seed=2", "seed is given twice: 1, 2"),
        ("reorder f32[2] -> f32[2] seed=-1", r"seed '-1' is not a number in \[0, 2\^64\)"),
        ("reorder f32[2] -> f32[2] seed=18446744073709551616", r"outside \[0, 2\^64\)"),
        ("reorder f32[2] -> f32[2] seed", "seed '' is not a number"),
        ("reorder f32[2] -> f32[2] permute=NC", "'NC' is not a permutation"),
        ("reorder f32[2] -> f32[2] permute=NC->NCC", "each letter once on both sides"),
        ("slice f32[2] -> f32[1] offsets=(0) sizes=(1)", r"slice needs strides=\.\.\."),
        ("slice f32[2] -> f32[1] offsets=(0) offsets=(0) sizes=(1) strides=(1)", "a parameter is given twice"),
        ("resample f32[2] -> f32[3]", "resample needs mode="),
        (
            "resample f32[2] -> f32[3] mode=lanczos",
            "mode 'lanczos' is unknown; known: nearest, linear, cubic, area, area_weighted",
        ),
        (
            "resample f32[2] -> f32[3] mode=linear group_sizes=(2)",
            "resample has no parameter group_sizes; it has mode, ",
        ),
        ("resample_backward f32[2] -> f32[3] mode=linear src_scale=2", "resample_backward has no parameter src_scale"),
        ("resample_backward f32[2] -> f32[3]", r"resample_backward needs mode=\.\.\."),
        ("resample f32[2] -> f32[2] mode=linear", "resample needs axes="),
        ("resample f32[2] -> f32[2,2] mode=linear", "resample needs axes="),
        ("pad u8[2] -> f32[3] behind=(1)", "of a pad must have the same element type"),
        ("rearrange u8[2] -> u8[2] pattern=(h->h", r"pattern '\(h->h' has a parenthesis that is not closed"),
        ("rearrange u8[2] -> u8[2] pattern=h->h lengths=2", "lengths '2' must be written as h=2,s=3"),
        ("equal u8[2] -> pred[2] other=u8", "in case 'equal"),
        ("equal u8[2] -> pred[2]", r"equal needs other=\.\.\."),
        ("reorder f32[2] -> f32[2] data=noise", "data 'noise' is unknown; known: index, image"),
        (
            "reorder f32[2] -> f32[2] out=nhwd",
            "out 'nhwd' is unknown; known: same, new, default, any, names such as NHWC",
        ),
        ("reorder f32[2] -> f32[2] out=nC", "upper-case letter 'C' needs a block"),
        ("reorder f32[2] -> f32[2]:nchw", "tag 'nchw' has 4 axes, .* in case 'reorder"),
        ("reorder f32[2] -> f32[2]{0:T()}", "in case 'reorder"),
        ("reorder f32[2]{at=(9a),in=[4]{0:T(2)}} -> f32[2]", "a view must not reach .* in case 'reorder"),
        ("reorder f32[2] -> f32[2] view=", "a view has at least one step"),
        ("reorder f32[2] -> f32[2] view=[::-1].T", r"is not 1 to 16 steps such as .* at '\.T'"),
        (f"reorder f32[2] -> f32[2] view={'[:]' * 17}", "is not 1 to 16 steps"),
        ("reorder f32[2] -> f32[2] view=[]", "'' in a view is no integer, slice, '...' or None"),
        ("reorder f32[2] -> f32[2] view=[1:2:3:4]", "is no integer, slice"),
        ("reorder f32[2] -> f32[2] view=[[0]]", "is not 1 to 16 steps"),
        ("reorder f32[2] -> f32[2] view=[2]", r"view \[2\] does not fit sizes \[2\]: index 2 is out of bounds"),
        ("reorder f32[2] -> f32[2] view=[::0]", "does not fit .* slice step cannot be zero"),
        ("reorder f32[2] -> f32[2] view=[...,...]", "does not fit .* single ellipsis"),
        ("reorder f32[2] -> f32[2] view=.permute(1)", "does not fit"),
        ("reorder f32[2] -> f32[2] view=.permute(x)", r"\.permute\('x'\) in a view needs at most 8 integers"),
        ("reorder f32[2] -> f32[2] view=.broadcast_to(3)", "does not fit"),
        ("reorder f32[2] -> f32[2] view=.broadcast_to(-1)", "needs at most 8 integers"),
        ("reorder f32[2] -> f32[2] view=.reshape(-2)", "needs at most 8 integers"),
        ("reorder f32[2] -> f32[2] view=.reshape(3)", "does not fit .* cannot reshape"),
        ("reorder f32[2] -> f32[2] view=" + "[None]" * 8, "has 9 axes, more than 8"),
        (f"reorder f32[2] -> f32[2] view=.broadcast_to({'9' * 19},2)", "does not fit"),
        ("reorder f32[2] -> f32[2] " + "x" * 5000, "at most 4096 characters"),
    ],
)
def test_errors_say_what_is_wrong(line: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        Case.parse(line)


@pytest.mark.parametrize(
    ("read", "texts", "message"),
    [
        (read_number, ("x", "nan", "inf", "0x10", "1e999", "(0)", "\u0663"), "is not a number such as"),
        (read_scale, ("x", "nan", "1/3"), "is not a number such as"),
        (read_scale, ("()", "(0.5)"), "is not a list of 1 to 8 integers"),
        (read_integers, ("0", "()", "(0.5)", "(" + "9" * 20 + ")", "(0,0,0,0,0,0,0,0,0)"), "not a list of 1 to 8 int"),
        (read_group_sizes, ("2", "()"), "is not a list of 1 to 8 integers"),
        (read_numbers, ("1.5", "()", "(1/0)", "(3/1.5)", "(nan)", f"({'0,' * 16}0)"), "list of 1 to 16 numbers"),
        (CaseWindow.read, ("1:3", "(1:3:1)", "(-1:)", "()"), "is not a window of 1 to 8 parts"),
        (read_permutation, ("NC", "NC->NN", "NC->NC1"), "is not a permutation"),
        (read_permutation, ("NC->NCC",), "each letter once on both sides"),
    ],
)  # fmt: skip
def test_each_reader_takes_its_own_form_alone(
    read: Callable[[str], object], texts: tuple[str, ...], message: str
) -> None:
    for text in texts:
        with pytest.raises(DescriptorError, match=message):
            read(text)


def test_a_word_that_is_not_known_is_answered_with_those_that_are() -> None:
    readers = [each.read for operation in OPERATIONS.values() for each in operation.parameters]
    words = [read for read in readers if isinstance(read, OneOf)]
    assert len(words) > 20
    for read in words:
        with pytest.raises(DescriptorError, match=f"'maybe' is unknown; known: {', '.join(read.known)}"):
            read("maybe")
