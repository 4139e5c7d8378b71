"""What a stranger's SPIR-V says of its interface, read from bytes that nobody has checked, and held to the contract."""

from __future__ import annotations

import struct
from operator import itemgetter

import pytest
from support.contract_shader import INT64, KEEPS, LINE, MAIN, SRC, build

from restride.errors import DescriptorError
from restride.kernel.modules import interface_of, load_module
from restride_conformance.shader.contract import require_interface
from restride_conformance.shader.spirv import MAX_BYTES, is_spirv, read_interface

FIXTURES = (build,)


def test_a_shader_that_keeps_to_the_contract_is_read_in_full(build):
    constant = "layout(constant_id = 0) const bool N = false;\n"
    words = "layout(push_constant) uniform Push { uint a; uvec2 b; } push;\n"
    code = build(KEEPS.replace(MAIN, constant + words + MAIN.replace("src[0]", "uint(N) + push.a")))
    require_interface(code, "strided_copy_32")
    said = read_interface(code)
    assert said.version == (1, 3)
    assert (said.capabilities, said.extensions) == (("Shader",), ())
    assert said.entry_points == (("GLCompute", "main", (128, 1, 1), (None, None, None)),)
    assert said.constants == ((0, "bool"),)
    buffers = {(v.storage, v.descriptor_set, v.binding, v.is_buffer) for v in said.variables if v.is_buffer}
    assert buffers == {("StorageBuffer", 0, 0, True), ("StorageBuffer", 0, 1, True)}
    assert [v.nbytes for v in said.variables if v.storage == "PushConstant"] == [16]  # uvec2 is aligned to 8


@pytest.mark.parametrize("environment", ["vulkan1.0", "vulkan1.1", "spirv1.3"])
def test_both_spellings_of_a_storage_buffer_are_taken(build, environment):
    require_interface(build(KEEPS, environment=environment), "run_copy_32")


FLOAT16 = "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
SUBGROUPS = "#extension GL_KHR_shader_subgroup_basic : require\n"
IMAGE = "layout(binding = 0, r32ui) readonly uniform uimage2D src;\n"
BUFFERS = "layout(std430, binding = 0) readonly buffer Src { uint words[]; } src[2];\n"
WORDS = "layout(push_constant) uniform Push { %s } push;\n"


def using(declared, used):
    return KEEPS.replace(LINE, declared + LINE).replace("src[0];", used)


def sized(text):
    return KEEPS.replace("local_size_x = 128", text)


N = "layout(constant_id = 0) const uint N = 2;\n"
STRUCTURES = "struct S { uvec4 a; float b[3]; bool c; }; shared S s[513];\n"
SETS_SIZE = "sets the local size; the contract has 0 NEIGHBOURS, .*: take 16 or above"
BROKEN = {
    "int64": (using(INT64, "uint(int64_t(src[0]) >> 3);"), "capability Int64"),
    "float16": (using(FLOAT16, "uint(float16_t(src[0]));"), "capability Float16; the contract has Shader alone"),
    "subgroups": (using(SUBGROUPS, "gl_SubgroupSize;"), "capability GroupNonUniform;"),
    "local size": (KEEPS.replace("128", "64"), r"local size \(64, 1, 1\); the contract has \(128, 1, 1\)"),
    "no local size": (KEEPS.replace(LINE, ""), r"local size \(1, 1, 1\); the contract has"),
    "local size set later": (sized("local_size_x_id = 20"), r"local size \(1, 1, 1\); the contract has"),
    "local size by a constant of the contract": (
        sized("local_size_x = 128, local_size_x_id = 0"),
        f"specialization constant 0 {SETS_SIZE}",
    ),
    "local size by a constant between those of the contract": (
        sized("local_size_x = 128, local_size_x_id = 7"),
        f"specialization constant 7 {SETS_SIZE}",
    ),
    "local size as a built-in": (
        KEEPS.replace("128", "32").replace("src[0];", "gl_WorkGroupSize.x;"),
        r"local size \(32, 1, 1\)",
    ),
    "extra binding": (
        KEEPS.replace(SRC, SRC.replace("binding = 0", "binding = 3")),
        "binding 3 of descriptor set 0; the contract has bindings 0, 1, 2",
    ),
    "set 1": (
        KEEPS.replace(SRC, SRC.replace("binding = 0", "set = 1, binding = 0")),
        "binding 0 of descriptor set 1; the contract has set 0 alone",
    ),
    "uniform buffer": (
        KEEPS.replace(SRC, "layout(binding = 0) uniform Src { uint src[4]; };\n"),
        r"binding 0 of descriptor set 0 is no storage buffer \(Uniform\)",
    ),
    "image": (
        KEEPS.replace(SRC, IMAGE).replace("src[0]", "imageLoad(src, ivec2(0)).x"),
        r"no storage buffer \(UniformConstant\)",
    ),
    "array of buffers": (
        KEEPS.replace(SRC, BUFFERS).replace("src[0]", "src[0].words[0]"),
        "binding 0 of descriptor set 0 is no storage buffer",
    ),
    "push constants": (
        using(WORDS % "uint a[20], b;", "push.b;"),
        "push constants of 84 bytes; the contract has 80, 20 words",
    ),
    "push constants far apart": (
        using(WORDS % "layout(offset = 124) uint a;", "push.a;"),
        "push constants of 128 bytes",
    ),
    "push constants in an array": (using(WORDS % "uvec4 a[8];", "push.a[7].x;"), "push constants of 128 bytes"),
    "push constants as many as a constant says": (
        using(N + WORDS % "uint a[N];", "push.a[0];"),
        "push constants of unknown size; the contract has 80 bytes",
    ),
    "constant": (
        using("layout(constant_id = 8) const uint N = 0;\n", "N;"),
        "specialization constant 8; the contract has 0 NEIGHBOURS, 1 EACH, 2 TOGETHER, 3 FULL, 15 RANK",
    ),
    "shared memory": (
        using("shared uint a[4096]; shared bool b;\n", "a[src[0]] + uint(b);"),
        "shared memory of 16388 bytes; the contract has 16384, which every device has",
    ),
    "shared memory in structures": (using(STRUCTURES, "s[src[0]].a.x;"), "shared memory of 16416 bytes"),
    "shared memory as much as a constant says": (
        using(N + "shared uint a[N];\n", "a[src[0]];"),
        "shared memory of unknown size; the contract has 16384 bytes",
    ),
    "constant of another type": (
        using("layout(constant_id = 0) const float X = 0;\n", "uint(X);"),
        "specialization constant 0 is float32",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named_with_what_the_shader_has_and_what_the_contract_says(build, name):
    text, message = BROKEN[name]
    require_interface(build(KEEPS), "strided_copy_32")
    with pytest.raises(DescriptorError, match="does not fit strided_copy_32 of contract 4:\n  - ") as caught:
        require_interface(build(text), "strided_copy_32")
    caught.match(message)


def test_as_much_shared_memory_as_every_device_has_may_be_used(build):
    for declared, used in (
        ("shared uint a[4096];\n", "a[src[0]];"),
        ("shared bool a[4096];\n", "uint(a[src[0]]);"),
        ("shared uvec2 a[32][64];\n", "a[src[0]][0].x;"),
        ("struct S { uvec4 b; float c[4]; };\nshared S a[512];\n", "a[src[0]].b.x;"),
    ):
        require_interface(build(using(declared, used)), "strided_copy_32")


def test_decorations_in_groups_are_refused_for_they_hide_from_the_other_rules():
    groups = {73: "OpDecorationGroup", 74: "OpGroupDecorate", 75: "OpGroupMemberDecorate"}
    for number, name in groups.items():
        with pytest.raises(DescriptorError, match=f"SPIR-V instruction {name}: the contract has no decorations in gr"):
            require_interface(module(instruction(number, 1, 2)), "strided_copy_32")


def test_every_broken_rule_has_its_line(build):
    text = KEEPS.replace("128", "64").replace("binding = 0", "set = 2, binding = 9")
    with pytest.raises(DescriptorError) as caught:
        require_interface(build(text), "strided_copy_32")
    assert len(str(caught.value).splitlines()) == 3


def test_an_entry_point_has_one_name_and_one_stage(build):
    with pytest.raises(DescriptorError, match=r"entry points: 'start' \(GLCompute\); the contract has one, 'main'"):
        require_interface(build(KEEPS, "-e", "start", "--source-entrypoint", "main"), "strided_copy_32")
    fragment = "#version 450\nlayout(location = 0) out vec4 colour;\nvoid main() { colour = vec4(1); }\n"
    with pytest.raises(DescriptorError, match=r"entry points: 'main' \(Fragment\)"):
        require_interface(build(fragment, stage="frag"), "strided_copy_32")


def test_a_newer_spirv_is_refused(build):
    with pytest.raises(DescriptorError, match=r"SPIR-V version 1.5; the contract takes 1.0 to 1.3 \(glslang"):
        require_interface(build(KEEPS, environment="vulkan1.2"), "strided_copy_32")


def test_what_is_right_for_one_module_may_be_wrong_for_another(build):
    code = build(KEEPS)
    require_interface(code, "strided_copy_32")
    with pytest.raises(DescriptorError, match=r"local size \(128, 1, 1\); the contract has \(64, 1, 1\)"):
        require_interface(code, "transpose_32")
    with pytest.raises(DescriptorError, match=r"binding 2 .* the contract has bindings 0, 1\n"):
        require_interface(load_module("strided_copy_32"), "run_copy_32")


def test_the_number_of_axes_is_a_constant_where_axes_are_walked(build):
    code = build(using("layout(constant_id = 15) const uint RANK = 0;\n", "RANK;"))
    require_interface(code, "strided_copy_32")
    for module in ("run_copy_32", "digit_copy", "digit_convert"):
        known = ", ".join(
            f"{number} {name}" for name, number in sorted(interface_of(module).constants.items(), key=itemgetter(1))
        )
        with pytest.raises(DescriptorError, match=f"specialization constant 15; the contract has {known}$"):
            require_interface(code, module)


def test_what_is_no_spirv_is_said_to_be_none():
    code = load_module("strided_copy_32")
    swapped = struct.pack(f">{len(code) // 4}I", *struct.unpack(f"<{len(code) // 4}I", code))
    assert is_spirv(code)
    assert is_spirv(swapped)
    for damaged, message in (
        (b"", "begins with the bytes 03 02 23 07, not nothing"),
        (b"\x89PNG\r\n\x1a\n" * 4, "not 89 50 4e 47"),
        (swapped, "big-endian"),
        (code[:16], "20 to 4194304 bytes; this has 16"),
        (code[:-1], "whole words"),
        (code + bytes(MAX_BYTES), "this has"),
        (code[:24], "instruction 17 at word 5 says 2 words, of 1 left"),
        (code[:4] + b"\0\0\x09\x01" + code[8:], "header has a version such as"),
        (code[:12] + b"\xff\xff\xff\xff" + code[16:], "a bound of 1 to"),
        (code[:12] + b"\x02\0\0\0" + code[16:], "is outside the bound 2"),
        (code[:20] + bytes(4) + code[24:], "says 0 words"),
        (code[:20] + b"\x11\0\x01\0" + code[20:], "instruction 17 at word 5 lacks operands"),
    ):
        with pytest.raises(DescriptorError, match=message):
            require_interface(damaged, "strided_copy_32")


def instruction(opcode: int, *operands: int) -> bytes:
    return struct.pack(f"<{len(operands) + 1}I", (len(operands) + 1) << 16 | opcode, *operands)


def module(*instructions: bytes) -> bytes:
    return struct.pack("<5I", 0x07230203, 0x00010300, 0, 100_000, 0) + b"".join(instructions)


def test_the_largest_modules_are_read_in_one_pass_and_give_short_messages():
    count = (MAX_BYTES - 20) // 8
    for code in (
        module(instruction(17, 9) * count),  # capabilities
        module(b"".join(instruction(17, n) for n in range(count))),
        module(b"".join(instruction(15, 5, 1, n % 1000) for n in range(count // 2))),  # entry points
        module(instruction(10, *[0x41414141] * 65_000) * 16),  # extensions
        module(instruction(0) * (count * 2)),  # OpNop
    ):
        with pytest.raises(DescriptorError, match="does not fit run_copy_32") as caught:
            require_interface(code, "run_copy_32")
        assert len(str(caught.value)) < 5000


def test_types_that_hold_each_other_or_multiply_stay_small():
    u32, length = instruction(21, 1, 32, 0), instruction(43, 1, 2, 0xFFFFFFFF)
    arrays = b"".join(instruction(28, n + 1, n, 2) for n in range(3, 2000))  # arrays of arrays
    structs = b"".join(instruction(30, n, *[n - 1] * 20) for n in range(4000, 6000))
    offsets = b"".join(instruction(72, n, m, 35, 0) for n in range(4000, 6000) for m in range(20))
    cycle = instruction(72, 9000, 0, 35, 0) + instruction(30, 9000, 9000)
    block = instruction(32, 9001, 9, 2000) + instruction(59, 9001, 9002, 9)
    code = module(offsets, u32, length, instruction(28, 3, 1, 2), arrays, structs, cycle, block)
    (push,) = read_interface(code).variables
    assert push.nbytes == 1 << 32
