"""The examples in docstrings give what they say, on the default device."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import open_device

import restride as rs


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring of the library that has an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = [module.name for module in pkgutil.walk_packages(rs.__path__, "restride.")]
    # compat imports other libraries, which need not be there.
    skipped = ("restride.compat.", "restride.__main__")
    for name in ["restride", *(name for name in names if not name.startswith(skipped))]:
        for test in finder.find(importlib.import_module(name), globs={"np": np, "rs": rs}):
            if test.examples:
                yield test


EXAMPLES = list(examples())


def test_functions_of_the_package_have_examples():
    names = {test.name for test in EXAMPLES}
    assert {"restride.tensor.arrays.asarray", "restride.tensor.tensor.Tensor.numpy"} <= names


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda test: test.name)
def test_example(test: doctest.DocTest, capsys: pytest.CaptureFixture[str]) -> None:
    open_device("vulkan").close()  # a skip where there is none
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0, capsys.readouterr().out
