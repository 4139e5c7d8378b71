"""Modules with their constants put in: valid, without what is left out, and computing what the driver computed."""

import shutil
import struct
import subprocess
from itertools import product

import numpy as np
import pytest
from support.planned_cases import kernels_of
from support.spirv_kernels import glslang

from restride.kernel import Binding, KernelSpec
from restride.kernel.modules import load_module
from restride.runtime.specialization import specialized
from restride.runtime.vulkan.runtime import VulkanRuntime
from restride_conformance import catalogue
from restride_conformance.shader.spirv import read_interface

# Everything twice: of specialization constants, and of the same numbers in push constants.
SOURCE = """#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint A = 9u;
layout(constant_id = 1) const int B = 9;
layout(constant_id = 2) const bool C = false;
layout(push_constant) uniform Push { uint a; int b; uint c; } push;
layout(binding = 0) buffer Out { uint words[]; };

#define BITS(a, b, c) uint[](a + 7u, a - 9u, a * 0x30000001u, a / 3u, a % 3u, uint(-b), a >> 1, a << 31, a | 5u, \\
    a ^ 5u, a & 5u, ~a)
#define TRUTHS(a, b, c) uint[](uint(a == 2u), uint(a != 2u), uint(a > 2u), uint(a >= 2u), uint(a < 2u), \\
    uint(a <= 2u), uint(b > -2), uint(b >= -3), uint(b < 2), uint(b <= -3), uint(c && a == 2u), uint(c || a == 2u), \\
    uint(!c), uint(c == (a == 2u)), uint(c != (a == 2u)), c ? a : 77u)

#define WALK(name, A, B, C) uint name(uint x) { \\
    uint sum = 0u; \\
    if (C && x % 2u == 1u) sum += 1u; \\
    if (C || x % 2u == 1u) sum += 2u; \\
    if (A > 1u) { if (x > 5u) sum += 4u; else if (B < 0) sum += 8u; } else sum += 16u; \\
    switch (A) { \\
    case 0u: sum += 32u; \\
    case 1u: if (x < 3u) { sum += 64u; break; } sum += 128u; break; \\
    case 3u: sum += 256u; if (C) break; sum += 512u; \\
    default: sum += 1024u; \\
    } \\
    for (uint i = 0u; i < 4u; ++i) { if (C) break; if (B > 0) continue; sum += 2048u; } \\
    if (A == 2u) return sum; \\
    do { if (B > 0) break; sum += 16384u; } while (C && sum < 60000u); \\
    return sum + 1u; \\
}
WALK(decided, A, B, C)
WALK(undecided, push.a, push.b, push.c != 0u)

void main() {
    uint x = gl_GlobalInvocationID.x;
    words[x] = decided(x);
    words[x + 64u] = undecided(x);
    if (x < 12u) { words[x + 128u] = BITS(A, B, C)[x]; words[x + 144u] = BITS(push.a, push.b, (push.c != 0u))[x]; }
    if (x < 16u) { words[x + 160u] = TRUTHS(A, B, C)[x]; words[x + 176u] = TRUTHS(push.a, push.b, (push.c != 0u))[x]; }
}
"""
WORDS = 192


def compiled(folder, text, *options):
    source, target = folder / "kernel.comp", folder / "kernel.spv"
    source.write_text(text)
    command = [glslang(), "-V", "--target-env", "vulkan1.1", *options, str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return target.read_bytes()


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("kernels"), SOURCE)


@pytest.fixture(scope="module")
def runtime(code):
    made = VulkanRuntime(0, module_source=lambda _: code)
    yield made
    made.close()


def opcodes(code):
    words, position = np.frombuffer(code, "<u4").tolist(), 5
    while position < len(words):
        yield words[position] & 0xFFFF
        position += words[position] >> 16


def require_valid(path, code):
    path.write_bytes(code)
    if shutil.which("spirv-val") is None:
        pytest.skip("spirv-val is not on the PATH: install spirv-tools")
    done = subprocess.run(["spirv-val", "--target-env", "vulkan1.1", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("constants", [*product((0, 1, 2, 3, 1 << 31), (-3, 2), (0, 1))], ids=str)
def test_it_computes_what_the_same_numbers_do_at_run_time(runtime, code, tmp_path, constants):
    a, b, c = constants
    memory = runtime.allocate(4 * WORDS)
    runtime.write(memory, 0, memoryview(np.zeros(WORDS, np.uint32)))
    words = (a, b & 0xFFFFFFFF, c)
    runtime.submit([KernelSpec("it", words, words, b"", (1, 1, 1), (Binding(0, 4 * WORDS, writes=True),))], [memory])
    out = np.empty(WORDS, np.uint32)
    runtime.read(memory, 0, memoryview(out))
    for begin, end in ((0, 128), (128, 160), (160, 192)):
        fixed, free = np.split(out[begin:end], 2)
        assert fixed.tolist() == free.tolist()
    assert len(set(out[:64].tolist())) > 1
    made, left = specialized(code, words)
    assert left == ()
    require_valid(tmp_path / "made.spv", made)


def test_nothing_is_left_to_decide(code):
    made, _ = specialized(code, (2, 2, 1))
    assert read_interface(made).constants == ()
    assert not {48, 49, 50, 51, 52} & set(opcodes(made))
    # Branches, and stores to the sums of ways that are left out.
    assert list(opcodes(made)).count(250) <= list(opcodes(code)).count(250) - 4
    assert list(opcodes(made)).count(62) <= list(opcodes(code)).count(62) - 4


def test_functions_that_nobody_calls_any_more_are_empty(tmp_path):
    called = "precise float f = x * 3.0 + x; return f < 7.0 ? 1u : 2u;"
    text = f"""#version 450
layout(constant_id = 0) const bool C = false;
layout(binding = 0) buffer Out {{ uint words[]; }};
uint called(float x) {{ {called} }}
uint caller(float x) {{ return called(x) + called(x + 1.0); }}
void main() {{ words[0] = 5u; if (C) words[1] = caller(float(words[2])); }}
"""
    code = compiled(tmp_path, text)
    with_calls, without = (specialized(code, (constant,))[0] for constant in (1, 0))
    assert [list(opcodes(made)).count(57) for made in (code, with_calls, without)] == [3, 3, 0]
    # Decorations: less the constant's number, and less those of the product and the sum, which are precise.
    assert [list(opcodes(made)).count(71) - list(opcodes(code)).count(71) for made in (with_calls, without)] == [-1, -3]
    for made in (with_calls, without):
        require_valid(tmp_path / "made.spv", made)


@pytest.mark.parametrize("constants", [(0, 2, 1), (2, 2, 0), (3, 0, 0)])
def test_lines_for_debuggers_do_not_matter(constants, tmp_path):
    made, left = specialized(compiled(tmp_path, SOURCE, "-g"), constants)
    assert left == ()
    require_valid(tmp_path / "made.spv", made)


def test_constants_that_are_not_given_keep_their_defaults(code):
    assert specialized(code, ()) == specialized(code, (9, 9, 0))
    assert specialized(code, (4,)) == specialized(code, (4, 9, 0, 5))


KERNELS = {kernel.shader: kernel.constants for case in catalogue("smoke") for kernel in kernels_of(case)}


@pytest.mark.parametrize("name", KERNELS)
def test_modules_that_ship_stay_valid(name, tmp_path):
    made, left = specialized(load_module(name), KERNELS[name])
    assert left == ()
    require_valid(tmp_path / "made.spv", made)


@pytest.mark.parametrize(
    "body",
    [
        "layout(constant_id = 0) const double D = 1.0; void main() { words[0] = uint(D); }",
        "layout(constant_id = 0) const uint A = 1u; const uvec2 P = uvec2(A, 2u) + 1u; void main() { words[0] = P.x; }",
        "layout(constant_id = 0) const int A = 1; const int R = A % 3; void main() { words[0] = uint(R); }",
    ],
)
def test_what_is_not_understood_is_left_to_the_driver(body, tmp_path):
    code = compiled(tmp_path, f"#version 450\nlayout(binding = 0) buffer Out {{ uint words[]; }};\n{body}\n")
    assert specialized(code, (1, 2)) == (code, (1, 2))


def test_a_division_by_zero_is_left_to_the_driver(tmp_path):
    code = compiled(
        tmp_path,
        "#version 450\nlayout(binding = 0) buffer Out { uint words[]; };\n"
        "layout(constant_id = 0) const uint A = 1u; const uint Q = 8u / A; void main() { words[0] = Q; }",
    )
    assert specialized(code, (0,)) == (code, (0,))
    assert specialized(code, (2,))[1] == ()


def test_a_module_that_is_cut_off_ends(code):
    for end in range(20, len(code), 52):
        specialized(code[:end], (2, 2, 1))
    specialized(code[:20] + struct.pack("<I", 0) * 8, ())
