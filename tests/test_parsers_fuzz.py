"""Thousands of texts with mistakes: each is read or refused with a typed error; tools/fuzz_parsers.py runs more."""

import importlib.util
import itertools
import sys
from pathlib import Path
from random import Random

import pytest

from restride.errors import DescriptorError

TOOLS = Path(__file__).resolve().parent.parent / "tools"


def load():
    specification = importlib.util.spec_from_file_location("fuzz_parsers", TOOLS / "fuzz_parsers.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["fuzz_parsers"] = module  # dataclasses look their module up there
    specification.loader.exec_module(module)
    return module


fuzz_parsers = load()
each_parser = pytest.mark.parametrize("parser", fuzz_parsers.PARSERS, ids=lambda parser: parser.name)


@each_parser
def test_texts_are_read_or_refused_with_a_typed_error(parser):
    summary = fuzz_parsers.fuzz(parser, 5000, seed=1)
    assert [str(failure) for failure in summary.failures] == []
    assert summary.read + summary.refused == 5000
    assert min(summary.read, summary.refused) > 300  # the texts are neither all good nor all bad


@each_parser
def test_a_seed_gives_the_same_texts_again_and_another_seed_others(parser):
    first, again, other = (list(itertools.islice(fuzz_parsers.texts(parser, Random(seed)), 300)) for seed in (3, 3, 4))
    assert first == again != other
    assert max(map(len, first)) <= fuzz_parsers.LONGEST


def parser_that(read):
    return fuzz_parsers.Parser("a parser", read, ("good",), ("t",))


def test_what_is_no_typed_error_is_a_failure():
    def read(text):
        if "t" in text:
            raise KeyError(text)
        if text != "good":
            raise DescriptorError(text)

    summary = fuzz_parsers.fuzz(parser_that(read), 200, seed=0)
    assert summary.failures
    assert {failure.reason.partition(":")[0] for failure in summary.failures} == {"KeyError"}
    assert summary.read + summary.refused + len(summary.failures) == 200
    assert min(summary.read, summary.refused) > 0


@pytest.mark.parametrize(("error", "code"), [(None, 0), (DescriptorError, 0), (KeyError, 1), (AssertionError, 1)])
def test_the_exit_code_says_whether_a_text_failed(monkeypatch, capsys, error, code):
    def read(text):
        if error is not None:
            raise error(text)

    monkeypatch.setattr(fuzz_parsers, "PARSERS", (parser_that(read),))
    assert fuzz_parsers.main(["--count", "10"]) == code
    assert ("Error" in capsys.readouterr().out) == bool(code)


def test_a_slow_text_is_a_failure(monkeypatch, capsys):
    monkeypatch.setattr(fuzz_parsers, "PARSERS", (parser_that(lambda _: None),))
    monkeypatch.setattr(fuzz_parsers, "settled", lambda *_: 60.0)
    assert fuzz_parsers.main(["--count", "10"]) == 1
    assert "more than 50 ms" in capsys.readouterr().out
