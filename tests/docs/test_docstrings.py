"""The examples in docstrings give what they say, on the default device."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from itertools import pairwise
from types import FunctionType

import numpy as np
import pytest
from support.devices import open_device

import restride as rs


def examples() -> Iterator[doctest.DocTest]:
    """Every docstring of the library that has an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = [module.name for module in pkgutil.walk_packages(rs.__path__, "restride.")]
    repeated = {"restride.__main__", "restride.dask", "restride.ome", "restride.xarray"}
    for name in ["restride", *(name for name in names if name not in repeated)]:
        other = name.removeprefix("restride.interop.")
        if other != name and importlib.util.find_spec({"ome": "zarr", "video": "av"}.get(other, other)) is None:
            continue  # the library that the module is for is not installed
        module = importlib.import_module(name)
        for test in finder.find(module, globs={**vars(module), "np": np, "rs": rs}):
            if test.examples:
                yield test


EXAMPLES = list(examples())


@pytest.mark.parametrize("name", [name for name in rs.__all__ if inspect.isfunction(getattr(rs, name))])
def test_every_public_function_has_an_example(name):
    function = getattr(rs, name)
    assert f"{function.__module__}.{name}" in {test.name for test in EXAMPLES}


def test_dir_shows_the_public_names_only():
    assert set(dir(rs)) == {*rs.__all__, "__version__", "interop", "vision", "xp", "dask", "ome", "xarray"}


def public_docstrings() -> Iterator[tuple[str, str]]:
    """Those of the public names, and of the methods and properties that the public classes define."""
    methods = (FunctionType, property, classmethod, staticmethod)
    for name in rs.__all__:
        value = getattr(rs, name)
        members = vars(value).items() if inspect.isclass(value) else ()
        for place, documented in [(name, value), *((f"{name}.{member}", each) for member, each in members)]:
            text = inspect.getdoc(documented)
            if text is not None and (documented is value or isinstance(documented, methods)):
                yield place, text


def test_indented_lines_of_public_docstrings_are_in_a_section_or_an_example():
    """Sphinx takes an indented line within a paragraph for a mistake: a list of attributes needs ``Attributes:``."""
    inside = {
        f"{place}: {text}"
        for place, docstring in public_docstrings()
        for paragraph in docstring.split("\n\n")
        if ">>>" not in paragraph
        for before, text in pairwise(paragraph.splitlines()[1:])
        if text.startswith(" ") and not before.startswith(" ")
    }
    assert inside == set()


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda test: test.name)
def test_example(test: doctest.DocTest, capsys: pytest.CaptureFixture[str]) -> None:
    open_device("vulkan").close()  # a skip where there is none
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0, capsys.readouterr().out
