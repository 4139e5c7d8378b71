"""A type checker refuses misspelt names of arguments, and misspelt words where an argument knows its words."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from support.process import captured

import restride as rs
from restride.request import LIBRARIES, MODES, Library, ModeName, word_of_mode
from restride.request.resampling import RuleArguments
from restride.vision import config

FILE = Path(__file__).parents[1] / "support" / "typed_arguments.py"


def test_mypy_refuses_just_the_lines_that_say_so():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(FILE)]
    done = captured(command, cwd=FILE.parents[2])
    assert done.returncode in (0, 1), done.stderr
    refused = {int(number) for number in re.findall(r"typed_arguments\.py:(\d+): error: ", done.stdout)}
    assert len(wanted) > 60
    assert refused == wanted, done.stdout


@pytest.mark.parametrize("owner", [rs, rs.vision, rs.reference], ids=lambda owner: owner.__name__)
def test_hints_of_public_names_are_known_at_run_time(owner):
    """Tools that read them, such as those that check arguments, need no import that only a type checker makes."""
    for name in owner.__all__:
        value = getattr(owner, name)
        methods = vars(value).values() if inspect.isclass(value) else ()
        for each in (value, *(getattr(method, "__func__", method) for method in methods)):
            if inspect.isclass(each) or inspect.isfunction(each):
                get_type_hints(each)


def test_hints_of_a_configuration_are_known_at_run_time():
    assert get_type_hints(config._copied)["depth"] is int


def test_libraries_are_those_of_their_type():
    assert set(get_args(Library)) == set(LIBRARIES)


def test_every_mode_has_its_word_in_the_type():
    words = {word for profile in LIBRARIES.values() for word in profile.modes} | set(MODES)
    assert words <= set(get_args(ModeName))


@pytest.mark.parametrize("word", get_args(ModeName))
def test_every_word_of_the_type_is_a_mode(word):
    if word not in MODES:
        assert [like for like in LIBRARIES if _has(like, word)]


def _has(like: str, word: str) -> bool:
    try:
        word_of_mode(like, word)
    except rs.DescriptorError:
        return False
    return True


MISSPELT = {
    "resample": lambda: rs.resample([0.0], (2,), mod="linear"),
    "resample_backward": lambda: rs.resample_backward([0.0], (2,), mod="linear"),
    "source_window": lambda: rs.source_window((8,), (4,), window=[None], mod="linear"),
    "reorder": lambda: rs.reorder([0.0], mod="linear"),
    "plan_reorder": lambda: rs.plan_reorder("f32[8]", mod="linear"),
    "plan_resample": lambda: rs.plan_resample("f32[8]", None, (2,), mod="linear"),
    "plan_resample_backward": lambda: rs.plan_resample_backward("f32[8]", None, (2,), mod="linear"),
    "Chain.resample": lambda: rs.Chain().resample((2,), mod="linear"),
    "Chain.reorder": lambda: rs.Chain().reorder(mod="linear"),
    "Chain.quantize": lambda: rs.Chain().quantize(0.5, mod="linear"),
    "Preprocess": lambda: rs.Preprocess((8, 8), mod="linear"),
    "Preprocess.preset": lambda: rs.Preprocess.preset("yolo", mod="linear"),
    "crop_resize": lambda: rs.crop_resize(np.zeros((4, 4)), [(0, 0, 4, 4)], (2, 2), mod="linear"),
}


@pytest.mark.parametrize("call", MISSPELT)
def test_a_misspelt_name_is_refused_as_python_refuses_one(call):
    hint = "" if "reorder" in call or "quantize" in call else r"\. Did you mean 'mode'\?"
    with pytest.raises(TypeError, match=rf"^(Chain\.)?\w+\(\) got an unexpected keyword argument 'mod'{hint}$"):
        MISSPELT[call]()


@pytest.mark.parametrize(
    "function", [rs.resample, rs.resample_backward, rs.source_window, rs.plan_resample, rs.Chain.resample]
)
def test_a_signature_lists_what_a_def_takes_by_dictionary(function):
    listed = inspect.signature(function).parameters
    assert {"sizes", "input_sizes"} & set(listed)
    assert set(RuleArguments.__annotations__) < set(listed)
    assert "arguments" not in listed
    code = function.__code__
    assert code.co_argcount + code.co_kwonlyargcount + 1 <= 20  # and the dictionary
