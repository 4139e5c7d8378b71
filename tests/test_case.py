"""Case values: one spelling each, errors that hold the line, and a catalogue that is whole."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from restride.conformance import Case, catalogue, read_cases
from restride.conformance.check import prepare
from restride.conformance.spelling import PARAMETERS
from restride.desc import TensorDesc
from restride.dtypes import DTYPES
from restride.errors import DescriptorError, RestrideError
from restride.reference.buffers import element_bytes

CANONICAL = [
    "reorder f32[2,3]{1,0} -> f32[2,3]{0,1} seed=1",
    "reorder u8[1,3,5,7]{3,2,1,0} -> u8[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC",
    "slice f32[1,1,4,4]{3,2,1,0} -> f32[1,1,2,2]{3,2,1,0} offsets=(0,0,0,1) sizes=(1,1,4,3) strides=(1,1,-2,2)",
    "resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3",
    "resample f32[4,4]{1,0} -> f32[4,4]{1,0} mode=nearest axes=(1)",
    "resample f32[4,4]{1,0} -> f32[8,4]{1,0} mode=nearest axes=(0,1)",
    "reorder bf16[4,3]{strides=(-5,1),offset=17} -> bf16[4,3]{strides=(1,8),offset=3}",
    "reorder pred[] -> pred[]",
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
    ],
)
def test_defaults_are_left_out_and_parameters_ordered(written: str, canonical: str) -> None:
    assert str(Case.parse(written)) == canonical


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


def random_desc(choose: random.Random, dtype: str, rank: int) -> TensorDesc:
    sizes = [choose.choice((1, 1, 2, 3, 5, 64, 257)) for _ in range(rank)]
    kind = choose.randrange(3)
    if kind == 0:
        return TensorDesc(dtype, sizes)
    if kind == 1:
        return TensorDesc.xla(dtype, sizes, choose.sample(range(rank), rank))
    strides = [choose.choice((-70000, -9, -1, 0, 1, 3, 1 << 40)) for _ in range(rank)]
    needed = -sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True) if stride < 0)
    return TensorDesc(dtype, sizes, strides, needed + choose.choice((0, 0, 1, 3)))


def random_case(choose: random.Random) -> Case:
    rank = choose.randint(1, 8)
    dtype = choose.choice(list(DTYPES))
    src, dst = random_desc(choose, dtype, rank), random_desc(choose, dtype, rank)
    seed = choose.choice((0, 1, 2**64 - 1, choose.getrandbits(64)))

    def several(low: int, high: int) -> tuple[int, ...]:
        return tuple(choose.randint(low, high) for _ in range(rank))

    letters = "".join(choose.sample("NCDHWabcde", rank))
    parameters: dict[str, Callable[[], tuple[tuple[str, str | tuple[int, ...]], ...]]] = {
        "slice": lambda: (("sizes", several(1, 99)), ("offsets", several(0, 10**18)), ("strides", several(-9, 9))),
        "reorder": lambda: choose.choice(((), (("permute", f"{letters}->{''.join(choose.sample(letters, rank))}"),))),
        "resample": lambda: (
            ("axes", tuple(choose.sample(range(rank), choose.randint(1, rank)))),
            ("mode", choose.choice(("nearest", "linear"))),
        ),
    }
    op = choose.choice(list(PARAMETERS))
    return Case(op, src, dst, parameters[op](), seed)


def test_random_cases_round_trip() -> None:
    choose = random.Random(7)
    for _ in range(3000):
        case = random_case(choose)
        again = Case.parse(str(case))
        assert again == case
        assert str(again) == str(case)
        assert hash(again) == hash(case)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "a case is written OPERATION SOURCE -> DESTINATION"),
        ("reorder f32[2] f32[2]", "a case is written"),
        ("reorder f32[2] -> ", "a case is written"),
        ("copy f32[2] -> f32[2]", "operation 'copy' is unknown; known: slice, reorder, resample"),
        (
            "reorder f32[2] -> u8[2]",
            r"source f32\[2\]\{0\} and destination u8\[2\]\{0\} must have the same element type",
        ),
        ("reorder f33[2] -> f32[2]", "unknown element type 'f33'.*in case 'reorder f33"),
        ("reorder f32[2] -> f32[2] mode=linear", "reorder has no parameter mode; it has permute"),
        ("reorder f32[2] -> f32[2] seed=1 seed=2", "seed is given twice: 1, 2"),
        ("reorder f32[2] -> f32[2] seed=-1", r"seed '-1' is not a number in \[0, 2\^64\)"),
        ("reorder f32[2] -> f32[2] seed=18446744073709551616", r"outside \[0, 2\^64\)"),
        ("reorder f32[2] -> f32[2] seed", "seed '' is not a number"),
        ("reorder f32[2] -> f32[2] permute=NC", "'NC' is not a permutation"),
        ("reorder f32[2] -> f32[2] permute=NC->NN", "'NC->NN' is not a permutation"),
        ("reorder f32[2] -> f32[2] permute=NC->NCC", "each letter once on both sides"),
        ("slice f32[2] -> f32[1] offsets=(0) sizes=(1)", r"slice needs strides=\.\.\."),
        ("slice f32[2] -> f32[1] offsets=(0) offsets=(0) sizes=(1) strides=(1)", "a parameter is given twice"),
        ("slice f32[2] -> f32[1] offsets=0 sizes=(1) strides=(1)", "'0' is not a list of 1 to 8 integers"),
        ("slice f32[2] -> f32[1] offsets=() sizes=(1) strides=(1)", r"'\(\)' is not a list"),
        (f"slice f32[2] -> f32[1] offsets=({'9' * 20}) sizes=(1) strides=(1)", "is not a list"),
        ("resample f32[2] -> f32[3]", "resample needs mode="),
        ("resample f32[2] -> f32[3] mode=cubic", "mode 'cubic' is unknown; known: nearest, linear"),
        ("resample f32[2] -> f32[2] mode=linear", "resample needs axes="),
        ("resample f32[2] -> f32[2,2] mode=linear", "resample needs axes="),
        ("reorder f32[2] -> f32[2] " + "x" * 5000, "at most 4096 characters"),
    ],
)
def test_errors_say_what_is_wrong(line: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        Case.parse(line)


def test_hostile_lines_get_typed_errors() -> None:
    """Canonical lines with characters changed, dropped, doubled or cut off."""
    choose = random.Random(13)
    refused = 0
    for _ in range(2000):
        line = choose.choice(CANONICAL)
        for _ in range(choose.randint(1, 3)):
            at = choose.randrange(len(line) + 1)
            line = choose.choice(
                (line[:at], line[:at] + line[at + 1 :], line[:at] + line[at:] * 2,
                 line[:at] + choose.choice("[](){},-=>0123456789 x\0\u0663\n") + line[at:])
            )  # fmt: skip
        try:
            case = Case.parse(line)
        except RestrideError:
            refused += 1
        else:
            assert Case.parse(str(case)) == case
    assert refused > 1000


def test_a_case_that_its_operation_does_not_do_is_refused_before_a_device_is_asked() -> None:
    for line, message in [
        ("reorder f32[2,3] -> f32[3,2]", r"reorder gives sizes \[2, 3\], but the destination is f32\[3,2\]\{1,0\}"),
        ("slice f32[8] -> f32[5] offsets=(4) sizes=(5) strides=(1)", r"window \[4, 9\) exceeds size 8 of axis 0"),
        ("resample f32[8] -> f32[4] mode=linear axes=(1)", r"axes \[1\] must be in \[0, 1\)"),
    ]:
        with pytest.raises(DescriptorError, match=message):
            prepare(Case.parse(line))


def test_case_files_have_comments_and_line_numbers() -> None:
    text = "# copies\n\nreorder f32[2] -> f32[2]\n   # indented\nreorder u8[2] -> u8[2]\n"
    assert [case.src.dtype.name for case in read_cases(text)] == ["f32", "u8"]
    with pytest.raises(DescriptorError, match=r"mine\.txt:2: a case is written"):
        read_cases("# one\nreorder f32[2]", "mine.txt")
    with pytest.raises(DescriptorError, match="catalogue 'absent' is unknown; known: first"):
        catalogue("absent")


class TestCatalogue:
    def test_lines_are_canonical_and_none_is_there_twice(self) -> None:
        from importlib.resources import files

        text = (files("restride.conformance.catalogue") / "first.txt").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert lines == [str(case) for case in catalogue()]
        assert len(set(lines)) == len(lines)
        assert len(lines) >= 200

    def test_every_case_has_an_answer(self) -> None:
        for case in catalogue():
            setting = prepare(case)
            places = element_bytes(setting.dst)
            assert len(np.unique(places)) == places.size, f"the destination overlaps itself: {case}"

    def test_it_covers_what_it_should(self) -> None:
        cases = catalogue()
        for op in ("slice", "reorder"):
            assert {case.src.dtype.name for case in cases if case.op == op} == set(DTYPES)
            assert {case.src.rank for case in cases if case.op == op} >= set(range(1, 9))
        for mode in ("nearest", "linear"):
            of_mode = [case for case in cases if case.op == "resample" and case.word("mode") == mode]
            assert {case.src.dtype.name for case in of_mode} >= {"f32", "f16", "bf16", "u8", "s8", "s32"}
            assert {len(case.integers("axes")) for case in of_mode} >= {1, 2, 3}
            assert any(max(case.integers("axes")) < case.src.rank - 1 for case in of_mode)
        sizes = {size for case in cases for size in case.src.sizes}
        assert sizes >= {1, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025}
        assert any(case.src.is_broadcast for case in cases)
        assert any(case.dst.is_padded for case in cases)
        assert any(min(case.src.strides, default=0) < 0 for case in cases)
        assert any(min(case.dst.strides, default=0) < 0 for case in cases)
