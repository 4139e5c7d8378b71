"""Selection: expressions, filters, seeds and shards are functions of the cases alone."""

from __future__ import annotations

import pytest

from restride.errors import DescriptorError
from restride_conformance import Case, read_cases, select
from restride_conformance.selection import expression

CASES = read_cases("""
for T in u8 f32 s64
reorder $T[5] -> $T[5]
slice $T[9] -> $T[5] offsets=(0) sizes=(9) strides=(2) seed=7
resample $T[9] -> $T[5] mode=nearest view=[::-1]
resample $T[9,2] -> $T[5,2] mode=nearest
""")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("nearest", True),
        ("NEAREST", True),
        ("linear", False),
        ("not linear", True),
        ("not not nearest", True),
        ("nearest and f32", True),
        ("nearest and linear", False),
        ("linear or f32", True),
        ("linear and nearest or f32", True),
        ("linear and (nearest or f32)", False),
        ("not (linear or u8)", True),
        ("not linear and not f32", False),
        ("f32[9]", True),
        ("'axes=(0,1)'", True),
        ('"mode=nearest axes"', True),
        ("(((f32)))", True),
        ("android", False),
    ],
)
def test_expressions(text: str, matches: bool) -> None:
    assert expression(text)("resample f32[9]{0} -> f32[5]{0} mode=nearest axes=(0,1)") is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not like 'linear and not"),
        ("   ", "is not like 'linear and not"),
        ("and", "is not like 'linear and not"),
        ("a and", "is not like 'linear and not"),
        ("a b", "expression 'a b' is not like 'linear and not"),
        ("a (b)", "words without 'and' or 'or' between them"),
        ("(a", "'\\(' was never closed"),
        ("a)", "unmatched '\\)'"),
        ("not", "is not like 'linear and not"),
        ("()", "is not like 'linear and not"),
        ("'a", "unterminated string"),
        ("(" * 1000 + "a" + ")" * 1000, "is not like 'linear and not"),
        ("not " * 101 + "a", "has 'not' more than 100 times"),
        ("a" * 5000, "more than 4096 characters"),
    ],
)
def test_expressions_that_are_not_well_formed(text: str, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        expression(text)


def test_filters() -> None:
    assert select(CASES) == CASES
    assert len(select(CASES, keywords="reorder or view")) == 6
    assert [case.op for case in select(CASES, ops=["slice", "reorder"], dtypes=["u8"])] == ["reorder", "slice"]
    assert {case.src.dtype.name for case in select(CASES, dtypes=["float32", "s64"])} == {"f32", "s64"}
    assert select(CASES, keywords="nothing") == ()
    assert select(iter(CASES), ops=[], dtypes=None) == CASES


def test_unknown_names_are_no_empty_selection() -> None:
    with pytest.raises(DescriptorError, match="operation 'resize' is unknown; known: slice, reorder, resample, "):
        select(CASES, ops=["resize"])
    with pytest.raises(DescriptorError, match="f33"):
        select(CASES, dtypes=["f33"])


def test_a_seed_is_added_and_printed() -> None:
    chosen = select(CASES, keywords="seed=7", seed=2**64 - 3)
    assert [case.seed for case in chosen] == [4, 4, 4]
    assert Case.parse(str(chosen[0])) == chosen[0]
    assert select(CASES, seed=0) == CASES


@pytest.mark.parametrize("parts", [1, 2, 5, 12, 40])
def test_shards_hold_every_case_once(parts: int) -> None:
    shards = [select(CASES, shard=(part, parts)) for part in range(1, parts + 1)]
    assert sorted(str(case) for shard in shards for case in shard) == sorted(map(str, CASES))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    if parts == 2:
        assert shards[0][:2] == (CASES[0], CASES[2])


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (-1, -1), (1, 0)])
def test_a_part_that_is_not_one_of_n_is_refused(shard: tuple[int, int]) -> None:
    with pytest.raises(DescriptorError, match="must be i/n with 1 <= i <= n"):
        select(CASES, shard=shard)
