"""A shader that obeys the contract, in parts that tests replace, and the fixture that compiles its text."""

from __future__ import annotations

import pytest
from support.process import captured
from support.spirv_kernels import glslang

HEAD = "#version 450\n"
LINE = "layout(local_size_x = 128) in;\n"
SRC = "layout(std430, binding = 0) readonly buffer Src { uint src[]; };\n"
DST = "layout(std430, binding = 1) buffer Dst { uint dst[]; };\n"
MAIN = "void main() { dst[0] = src[0]; }\n"
KEEPS = HEAD + LINE + SRC + DST + MAIN
INT64 = "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"


@pytest.fixture
def build(tmp_path):
    def run(text: str, *options: str, stage: str = "comp", environment: str = "vulkan1.1") -> bytes:
        source, target = tmp_path / f"x.{stage}", tmp_path / "x.spv"
        source.write_text(text)
        command = [glslang(), "-V", "--target-env", environment, *options, "-o", str(target), str(source)]
        done = captured(command)
        assert done.returncode == 0, done.stdout
        return target.read_bytes()

    return run
