"""Numbers that plans and kernels share: no kernel states one again, and each is what the choices and words mean."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from restride.kernel import CANDIDATES, shared_constants
from restride.kernel.modules import interface_of
from restride.plan.transpose import shared_edge
from restride.request.arithmetic import POST_OPS, ROUNDINGS

SHADERS = Path(__file__).parents[2] / "shaders"
NAMES = [name for name in vars(shared_constants) if name.isupper()]
SOURCES = [path for path in sorted(SHADERS.rglob("*")) if path.suffix in (".comp", ".glsl")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_kernel_gives_a_shared_name_another_number(path):
    """A shared name is declared in the include that the build writes, and nowhere else."""
    declared = re.findall(r"(?:#define|\b(?:u?int|bool|float)) +(\w+)", path.read_text(encoding="utf-8"))
    expected = NAMES if path.name == "shared_constants.glsl" else []
    assert [name for name in declared if name in NAMES] == expected


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix == ".comp"], ids=lambda path: path.name)
def test_work_groups_have_a_shared_size(path):
    """No kernel writes the size of its work group as a number."""
    assert re.findall(r"local_size_\w+ = (?!GROUP_SIZE\b|GROUP_BLOCKS\b)\w+", path.read_text(encoding="utf-8")) == []


def test_work_groups():
    """The modules have groups of the size that plans count with."""
    assert interface_of("element_copy").local_size == (shared_constants.GROUP_SIZE, 1, 1)
    assert interface_of("transpose_8").local_size == (shared_constants.GROUP_BLOCKS, 1, 1)


def test_words_of_arithmetic():
    """Every rounding and every post-op that a caller may name has its number, in the order of the names."""
    numbers = [getattr(shared_constants, name.upper()) for name in (*ROUNDINGS, *POST_OPS)]
    assert numbers == [0, 1, 2, 1, 2, 3]


def test_rows_of_an_invocation():
    """No choice of a device asks for more rows than kernels have registers for."""
    assert max(map(int, CANDIDATES["rows"])) == shared_constants.MAX_ROWS


def test_edges_of_tiles():
    """Tiles of a transpose through shared memory are larger if its elements are narrower than a word."""
    assert [shared_edge(itemsize) for itemsize in (1, 2, 4, 8)] == [64, 64, 32, 32]
