"""A type checker refuses misspelt words where an argument knows its words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import restride as rs
from restride.weights.like.libraries import LIBRARIES, Library, ModeName
from restride.weights.request import MODES, word_of_mode

FILE = Path(__file__).with_name("typed_arguments.py")


def test_mypy_refuses_just_the_lines_that_say_so():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FILE.parent.parent)
    assert done.returncode in (0, 1), done.stderr
    refused = {int(number) for number in re.findall(r"typed_arguments\.py:(\d+): error: ", done.stdout)}
    assert wanted
    assert refused == wanted, done.stdout


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
    except rs.UnsupportedError:
        return False
    return True
