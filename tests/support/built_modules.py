"""Modules that were built from a table of variants: the table as read here, and the rules of every module."""

import shutil

import pytest
from support.process import captured


def table(shaders):
    """name -> (source, defines), read independently of the tool that compiles the modules."""
    lines = (
        line.split("#")[0].replace(":", " ").split() for line in (shaders / "variants.txt").read_text().splitlines()
    )
    return {words[0]: (words[1], words[2:]) for words in lines if words}


def spirv_tool(tool, *arguments):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on the PATH: install spirv-tools")
    return captured([tool, *map(str, arguments)])


def require_valid(path):
    """Require that the module is valid for Vulkan 1.1."""
    result = spirv_tool("spirv-val", "--target-env", "vulkan1.1", path)
    assert result.returncode == 0, result.stdout + result.stderr


def require_only_the_capability_shader(path):
    """Require that the module needs no other capability, no extension outside Vulkan 1.1, and one descriptor set."""
    result = spirv_tool("spirv-dis", "--no-color", path)
    assert result.returncode == 0, result.stderr
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert [line for line in lines if line.startswith("OpCapability")] == ["OpCapability Shader"]
    assert [line for line in lines if line.startswith("OpExtension ")] in (
        [],
        ['OpExtension "SPV_KHR_storage_buffer_storage_class"'],
    )
    (entry_point,) = (line for line in lines if line.startswith("OpEntryPoint"))
    assert '"main"' in entry_point
    assert "GLCompute" in entry_point
    assert {line.split()[-1] for line in lines if " DescriptorSet " in line} == {"0"}
