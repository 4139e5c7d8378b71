"""Regular expressions of names: as Python's where both read them, and in a bounded time where Python's are not."""

import random
import re
import time

import pytest

from restride.errors import DescriptorError
from restride_conformance.pattern import MAX_CHARACTERS, compiled

NAME = "slice.f32_9_0_f32_3_0_offsets_0_sizes_8_strides_3_1fe8407d"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slice",
        r"^slice\.",
        "^lice",
        "1fe8407d$",
        "1fe8$",
        r"^slice\.f32_9.*strides_3_[0-9a-f]{8}$",
        r"^(pad|slice|reorder)\.(?:u8|f32)_",
        r"^(pad|reorder)\.",
        r"\d+_\d+_f(16|32)",
        "offsets_0?_",
        "[^a-z0-9_.]",
        "[]a]",
        r"[\]x]z",
        "sizes_[0-9]{2,}",
        "sizes_[0-9]{1,3}_",
        "(f32_){2}",
        "(f32_.*){2}",
        ".*?strides",
        "a|b|^$",
        "()*x|s",
        r"\.",
        "(^s|d$){1}",
    ],
)
def test_an_expression_matches_as_in_python(text):
    assert compiled(text)(NAME) == bool(re.search(text, NAME))


def test_expressions_of_chance_match_as_in_python():
    draw = random.Random(4)
    checked = 0
    for _ in range(1500):
        parts = [draw.choice(["a", "b", ".", "[ab]", "(a|bc)", "(ab?)", "(?:a*|c)", "^", "$", "c"]) for _ in range(4)]
        text = "".join(part + draw.choice(["", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"] * (part not in "^$")
                                          or [""]) for part in parts)  # fmt: skip
        text = draw.choice([text, f"({text})+", f"{text}|{parts[0]}"])
        name = "".join(draw.choice("abc") for _ in range(draw.randrange(7)))
        checked += bool(re.search(text, name))
        assert compiled(text)(name) == bool(re.search(text, name)), (text, name)
    assert 300 < checked < 1450, "both answers were given"


@pytest.mark.parametrize(
    "text",
    [
        "(a*)*b",
        "(a|a)*b",
        "((((a*)*)*)*)*b",
        "(((a{1,1000}){1,1000}){1,1000}){1000}b",
        "((((a?){1000}){1000}){1000}){1000}b",
        "(((){1000}){1000}){1000}b",
        ".*.*.*.*.*.*.*.*.*.*b",
        "(a?)" * 60 + "a" * 60 + "b",
    ],
)
def test_no_expression_takes_long(text):
    started = time.perf_counter()
    assert not compiled(text)("a" * 100)
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(a", "a parenthesis is not closed"),
        ("a)", "closed at character 2 that was not opened"),
        ("*a", "'*' at character 1 repeats nothing"),
        ("a**", "'*' at character 3 repeats nothing"),
        ("[a", "'[a' at character 1 is not read"),
        (r"a\b", r"at character 2 is not read"),
        (r"(a)\1", "at character 4 is not read"),
        ("(?i)a", "'(?i' at character 1 is not read"),
        ("(?=a)", "is not read"),
        ("[z-a]", "bad character range"),
        ("[[:alpha:]]", "a class of classes"),
        ("a{3,2}", "must count up"),
        ("a{1001}", "to at most 1000"),
        ("a{99999}", "is not read"),
        ("(" * 9 + ")" * 9, "groups are nested more than 8 deep"),
        ("\\", "is not read"),
        ("a" * (MAX_CHARACTERS + 1), "more than 512 characters"),
    ],
)
def test_what_is_not_read_is_refused_with_its_place(text, words):
    with pytest.raises(DescriptorError, match=re.escape(words)):
        compiled(text)
