"""The stored declarations of Vulkan are what the tool makes, and a C compiler finds the same in Khronos' headers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import make_binding
import pytest
from vulkan_object import get_vulkan_object

from restride.runtime.vulkan import generated

NEWER = {
    "VK_ERROR_VALIDATION_FAILED",
    "VK_ERROR_NOT_PERMITTED",
    "VK_ERROR_PRESENT_TIMING_QUEUE_FULL_EXT",
    "VK_ERROR_INVALID_VIDEO_STD_PARAMETERS_KHR",
    "VK_ERROR_NOT_ENOUGH_SPACE_KHR",
    "VK_INCOMPATIBLE_SHADER_BINARY_EXT",
    "VK_PIPELINE_BINARY_MISSING_KHR",
}
"""Results that the headers of Debian 12, Vulkan 1.3.239, lack or have by another name: they are not compared."""


def test_the_stored_file_is_what_the_tool_makes():
    assert make_binding.generate() == make_binding.TARGET.read_text(encoding="utf-8"), "run `make binding`"


def expected():
    """Each C expression with the value that it has here."""
    ffi = generated.ffi
    registry = get_vulkan_object()
    for name in make_binding.declare(registry).structs:
        yield f"sizeof({name})", ffi.sizeof(name)
        for member, field in ffi.typeof(name).fields:
            yield f"offsetof({name}, {member})", field.offset
            yield f"sizeof((({name}*)0)->{member})", ffi.sizeof(field.type)
        if name in generated.STRUCTURE_TYPES:
            yield registry.structs[name].sType, generated.STRUCTURE_TYPES[name]
    for name, value in vars(generated).items():
        if name.startswith("VK_"):
            yield name, value
    for value, name in ffi.typeof("VkResult").elements.items():
        if name not in NEWER:
            yield name, value


def test_a_c_compiler_agrees_on_sizes_offsets_and_constants(tmp_path):
    compiler = shutil.which("g++")
    assert compiler is not None, "g++ builds the second runtime, and this"
    values = dict(expected())
    assert len(values) > 500
    program = tmp_path / "values.cpp"
    lines = "\n".join(f'    printf("%lld\\n", (long long)({expression}));' for expression in values)
    program.write_text(
        f"#include <cstddef>\n#include <cstdio>\n#include <vulkan/vulkan.h>\nint main() {{\n{lines}\n}}\n"
    )
    subprocess.run([compiler, "-o", tmp_path / "values", program], check=True)
    printed = subprocess.run([tmp_path / "values"], capture_output=True, text=True, check=True).stdout.split()
    signed = {name: value - (1 << 64) if value >= 1 << 63 else value for name, value in values.items()}  # of long long
    assert dict(zip(values, map(int, printed), strict=True)) == signed


@pytest.mark.parametrize("name", make_binding.FUNCTIONS)
def test_every_function_that_is_declared_is_used(name):
    root = Path(__file__).resolve().parents[2]
    used = [path for room in ("src", "lab", "tests") for path in (root / room).rglob("*.py") if path != Path(__file__)]
    planned = name.startswith("vkGetPipelineExecutable") or name == "vkGetMemoryFdPropertiesKHR"
    created = name.removeprefix("vkCreate")
    assert planned or any(
        name in text or f'create("{created}"' in text or f'"{created}", ' in text
        for text in (path.read_text(encoding="utf-8") for path in used)
    )
