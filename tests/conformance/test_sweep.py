"""Case files: what loops, names and arithmetic make of them, where mistakes are, and that nothing runs away."""

from __future__ import annotations

from pathlib import Path

import pytest

from restride.dtypes import DTYPES
from restride.errors import DescriptorError, UnsupportedError
from restride.kernel import Limits
from restride_conformance import read_cases
from restride_conformance.setting import mistrusted, prepare
from restride_conformance.sweep import _File, evaluate, substitute

SWEEP = """
# Copies.
let COPIED = u8
let COPIED = $COPIED f32

for T in $COPIED
for N,M in 4,2 65,33
let K = $((N-1)/3+1)
reorder $T[$N,$M]{1,0} -> $T[$N,$M]{0,1}
# Also a comment.
slice $T[$N]{0} -> $T[$K]{0} offsets=(0) sizes=($N) strides=(3)

reorder u8[7] -> u8[7] seed=3
"""


def lines(text: str, **limits: object) -> list[str]:
    return [str(case) for case in read_cases(text, limits=Limits(**limits))]


def test_loops_apply_to_the_lines_up_to_a_blank_one() -> None:
    assert lines(SWEEP) == [
        "reorder u8[4,2]{1,0} -> u8[4,2]{0,1}",
        "slice u8[4]{0} -> u8[2]{0} offsets=(0) sizes=(4) strides=(3)",
        "reorder u8[65,33]{1,0} -> u8[65,33]{0,1}",
        "slice u8[65]{0} -> u8[22]{0} offsets=(0) sizes=(65) strides=(3)",
        "reorder f32[4,2]{1,0} -> f32[4,2]{0,1}",
        "slice f32[4]{0} -> f32[2]{0} offsets=(0) sizes=(4) strides=(3)",
        "reorder f32[65,33]{1,0} -> f32[65,33]{0,1}",
        "slice f32[65]{0} -> f32[22]{0} offsets=(0) sizes=(65) strides=(3)",
        "reorder u8[7]{0} -> u8[7]{0} seed=3",
    ]


def test_a_loop_behind_a_case_repeats_only_what_follows() -> None:
    assert lines("reorder u8[1] -> u8[1]\nfor N in 2 3\nreorder u8[$N] -> u8[$N]") == [
        f"reorder u8[{size}]{{0}} -> u8[{size}]{{0}}" for size in (1, 2, 3)
    ]


def test_values_with_commas_are_split_by_semicolons() -> None:
    assert lines("for S;P in 2,3;0,1 4;0\nreorder u8[$S]{$P} -> u8[$S]{$P}") == [
        "reorder u8[2,3]{0,1} -> u8[2,3]{0,1}",
        "reorder u8[4]{0} -> u8[4]{0}",
    ]


def test_ranges_and_one_name_with_commas() -> None:
    assert lines("for S in -1..1\nslice u8[9] -> u8[1] offsets=(0) sizes=(1) strides=($(S*2+1))") == [
        f"slice u8[9]{{0}} -> u8[1]{{0}} offsets=(0) sizes=(1) strides=({stride})" for stride in (-1, 1, 3)
    ]
    assert len(lines("for S in 2,3 4,5,6\nreorder u8[$S] -> u8[$S]")) == 2


def test_names_that_are_always_there() -> None:
    assert [case.src.dtype.name for case in read_cases("for T in $TYPES\nreorder $T[1] -> $T[1]")] == list(DTYPES)
    assert len(lines("for T in $LINEAR_TYPES\nreorder $T[1] -> $T[1]")) == 6
    text = """for D in -1 0 1
let N = $(MAX_BINDING/4+D)
reorder f32[$N] -> f32[$N]
reorder u8[$MAX_GROUPS] -> u8[$MAX_GROUPS]"""
    cases = read_cases(text, limits=Limits(max_buffer_range=4096, max_group_count=(9, 7, 8)))
    assert [case.src.numel for case in cases] == [1023, 7, 1024, 7, 1025, 7]


def test_a_name_behind_a_loop_ends_with_its_group() -> None:
    with pytest.raises(DescriptorError, match=r"cases:5: \$K is not defined; there is TYPES, .*MAX_GROUPS"):
        read_cases("for N in 1 2\nlet K = $N\nreorder u8[$K] -> u8[$K]\n\nreorder u8[$K] -> u8[$K]")


def test_windows_line_ends_and_indents() -> None:
    assert len(lines("for N in 1 2\r\n  reorder u8[$N] -> u8[$N]\r\n\r\nreorder u8[4] -> u8[4]\r\n")) == 3
    assert lines("") == lines("\n\n# nothing\n") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("1+2*3", 7), ("(1+2)*3", 9), ("7/2", 3), ("-7/2", -4), ("--7", 7), ("N-1-1", 63), ("2*(N/(1+1))", 64),
     ("10-4-3", 3), ("100/10/5", 2), ("-N+1", -64), ("N*-1", -65)],
)  # fmt: skip
def test_arithmetic(text: str, value: int) -> None:
    assert evaluate(text, {"N": "65"}) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is not well formed: "),
        ("1+", "it is not well formed: "),
        ("1 2", "it has more than numbers, names and "),
        ("1)", "it is not well formed: unmatched '\\)'"),
        ("(1", "it is not well formed: '\\(' was never closed"),
        ("1(2)", "it is no sum, difference, product or quotient"),
        ("1/0", "a division by 0"),
        ("1/(N-65)", "a division by 0"),
        ("M", "M is not defined"),
        ("T", "T is 'u8', no integer"),
        ("n", "it has more than numbers, names and "),
        ("1_0", "it has more than numbers, names and "),
        ("2**3", "it is no sum, difference, product or quotient"),
        ("7//2", "it is no sum, difference, product or quotient"),
        ("9999999999999999999*9999999999999999999", "its value reaches 2\\^64"),
        ("-" * 200 + "1", "it has more than 200 characters"),
        ("__import__", "it has more than numbers, names and "),
        ("N" * 150 + "{", "it has more than numbers, names and "),
    ],
)
def test_arithmetic_that_is_wrong(text: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        evaluate(text, {"N": "65", "T": "u8"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# one\nreorder f32[2]", r"mine\.txt:2: a case is written OPERATION"),
        ("\n\nreorder f33[2] -> f32[2]", r"mine\.txt:3: unknown element type .*in case .reorder f33"),
        ("for N in 1 2\nreorder u8[$M] -> u8[$N]", r"mine\.txt:2: \$M is not defined"),
        ("reorder u8[$] -> u8[$]", r"a \$ stands before a name in upper case or a \(, not in '\$\]"),
        ("reorder u8[$(1+] -> u8[1]", "a parenthesis is not closed in"),
        ("reorder u8[$(1+)] -> u8[1]", r"mine\.txt:1: \$\(1\+\): it is not well formed"),
        ("let n = 1", "a name is given as 'let NAME = TEXT'"),
        ("let N", "a name is given as"),
        ("for N of 1 2\nreorder u8[1] -> u8[1]", "a loop is written 'for NAME,... in VALUE"),
        ("for N,M in 1,2 3\nreorder u8[1] -> u8[1]", "'3' must hold 2 values, split by ','"),
        ("for N,M;K in 1,2;3\nreorder u8[1] -> u8[1]", "split by commas or by semicolons, not by both"),
        ("for N in 1\nfor N in 2\nreorder u8[1] -> u8[1]", "mine.txt:2: N is looped over already; a blank line ends"),
        ("for N in 1..9999\nreorder u8[1] -> u8[1]", "range 1..9999 has more than 4096 values"),
        ("for N in 1..4000 1..4000\nreorder u8[1] -> u8[1]", "a list has more than 4096 values"),
        ("".join(f"for N{i} in 1\n" for i in range(17)), "mine.txt:17: more than 16 names are looped over"),
        ("# " + "x" * 21_000_000, "a case file has at most 20,000,000 characters"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        read_cases(text, "mine.txt")


def test_what_this_version_does_not_read_keeps_its_error_and_its_line() -> None:
    with pytest.raises(UnsupportedError, match=r"mine:2: split configurations SC"):
        read_cases("\nreorder f32[2]{0:SC(0:1)} -> f32[2]", "mine")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("".join(f"for N{i} in 1..4000\n" for i in range(16)), "loops read and make more than 50,000,000 characters"),
        ("let A = xxxxxxxxx\n" + "let A = $A $A $A $A\n" * 30, "a line has at most 4096 characters"),
        ("let A = 1..4000\nreorder u8[1] -> u8[1]" + " $A" * 99, "a line has at most 4096 characters"),
        ("reorder u8[1] -> u8[1] " + "x" * 5000, "a line has at most 4096 characters"),
    ],
)
def test_no_file_runs_away(text: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        read_cases(text)


def test_a_line_is_measured_before_anything_is_put_in() -> None:
    work = _File("mine", Limits())
    with pytest.raises(DescriptorError, match="mine:2: a line has at most 4096 characters"):
        list(work.cases("let A =\nreorder u8[1] -> u8[1]" + " $A" * 2000))
    assert work.work < 100


def test_names_are_bounded_and_errors_list_some() -> None:
    names = "".join(f"let N{i} = {i}\n" for i in range(251))  # with the five that are always there
    assert len(read_cases(names + "let N0 = 7\nreorder u8[$N0] -> u8[$N250]".replace("250", "0"))) == 1
    with pytest.raises(DescriptorError, match=r"cases:252: more than 256 names .* there is N242, .*, N250$"):
        read_cases(names + "let MORE = 1")
    with pytest.raises(DescriptorError, match=r"cases:253: more than 256 names"):
        read_cases(names + "for MORE in 1 2\nlet THEN = 1")
    with pytest.raises(DescriptorError) as caught:
        read_cases(names.replace("N", "N" * 4000) + f"reorder u8[${'X' * 4000}] -> u8[1]")
    assert len(str(caught.value)) < 1000


def test_the_example_of_the_documentation_makes_cases_that_prove_something() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
    (example,) = [block for block in text.split("```") if "\nlet " in block]
    cases = read_cases(example.strip(), "docs/conformance.md")
    assert len(cases) >= 8
    for case in cases:
        assert not mistrusted(case, prepare(case)), case


def test_cases_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "for A in 1..9\nfor B in 1..9\nreorder u8[$A,$B] -> u8[$A,$B]"
    monkeypatch.setattr("restride_conformance.sweep.MAX_CASES", 81)
    assert len(read_cases(text)) == 81
    monkeypatch.setattr("restride_conformance.sweep.MAX_CASES", 80)
    with pytest.raises(DescriptorError, match="cases:3: more than 80 cases"):
        read_cases(text)


def test_substitution() -> None:
    names = {"A": "x y", "N": "3"}
    assert substitute("$A,$N$N $( (N + 1) * 2 )z", names) == "x y,33 8z"
    assert substitute("no names", names) == "no names"


def test_a_comment_may_follow_a_case() -> None:
    assert read_cases("reorder u8[2] -> u8[2]  # why\n\t# alone\nreorder u8[3] -> u8[3] seed=1") == read_cases(
        "reorder u8[2] -> u8[2]\nreorder u8[3] -> u8[3] seed=1"
    )


def test_an_empty_range_is_an_error() -> None:
    with pytest.raises(DescriptorError, match=r"cases:1: range 4\.\.1 is empty"):
        read_cases("for N in 4..1\nreorder u8[$N] -> u8[$N]")
