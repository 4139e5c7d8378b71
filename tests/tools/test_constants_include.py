"""The include of shared constants: the build writes every number as a uint, and refuses what is none."""

from __future__ import annotations

import re
from pathlib import Path

import compile_shaders
import constants_include
import pytest

from restride.kernel import shared_constants

ROOT = Path(__file__).resolve().parents[2]

SOURCE = ROOT / compile_shaders.SHARED_CONSTANTS


def test_numbers():
    """A constant has the same number in plans and in kernels."""
    found = re.findall(r"const uint (\w+) = (\d+)u;", constants_include.constants_include(SOURCE))
    assert {name: int(value) for name, value in found} == {
        name: value for name, value in vars(shared_constants).items() if name.isupper()
    }


@pytest.mark.parametrize("value", ["-1", "1 << 32", "True", "1.5", "'8'"])
def test_a_constant_that_is_no_uint(tmp_path, value):
    """What no word of a kernel holds stops the build, with the name and the value."""
    source = tmp_path / compile_shaders.SHARED_CONSTANTS
    source.parent.mkdir(parents=True)
    source.write_text(f"WIDTH = {value}\n", encoding="utf-8")
    (tmp_path / "shaders").mkdir()
    (tmp_path / "shaders" / "variants.txt").write_text("")
    with pytest.raises(compile_shaders.ShaderBuildError, match=rf"has WIDTH = {eval(value)!r}, which is not a uint"):
        compile_shaders.compile_shaders(tmp_path / "shaders", tmp_path / "out")


def test_the_build_writes_the_include(tmp_path):
    """The build writes the include beside the GLSL, from the module beside that."""
    source = tmp_path / compile_shaders.SHARED_CONSTANTS
    source.parent.mkdir(parents=True)
    source.write_text("WIDTH = 3\n", encoding="utf-8")
    (tmp_path / "shaders" / "include").mkdir(parents=True)
    (tmp_path / "shaders" / "variants.txt").write_text("")
    compile_shaders.compile_shaders(tmp_path / "shaders", tmp_path / "out")
    text = (tmp_path / "shaders" / "include" / "shared_constants.glsl").read_text(encoding="utf-8")
    assert "const uint WIDTH = 3u;\n" in text
