"""Plans of copies: which kernels they choose, with which constants, pieces and groups."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from support.random_layouts import random_sides

from restride.errors import UnsupportedError
from restride.kernel import Choices, KernelSpec, Limits
from restride.kernel.shared_constants import GROUP_BLOCKS, WORDS_APART, WORDS_IN_A_ROW
from restride.layout import TensorDesc
from restride.plan.copy import copy_kernels
from restride.plan.problem import Axis, Problem, multiply_shift, simplify, widen
from restride_conformance.shader.part import SteeredLimits

ROOMY = Limits()
CRAMPED = Limits(max_buffer_range=256, offset_alignment=16, max_group_count=(3, 65535, 2))


def copied(src: str, dst: str, limits: Limits) -> tuple[KernelSpec, ...]:
    return copy_kernels(TensorDesc.parse(src), TensorDesc.parse(dst), limits)


@pytest.mark.parametrize("shortcuts", [False, True])
@pytest.mark.parametrize("widest", [1, 4, 8, 16])
def test_fewer_kernels_to_choose_from(widest, shortcuts):
    rng = random.Random(f"{widest} {shortcuts}")
    for usual in [ROOMY, CRAMPED] * 40:
        types = (rng.choice(("u8", "u16", "u32", "u64")),)
        src, dst = random_sides(rng, True, types, types)
        if src.strides is None or dst.strides is None:
            continue
        kernels = copy_kernels(src, dst, SteeredLimits(**vars(usual), widest_element=widest, shortcuts=shortcuts))
        names = {kernel.shader for kernel in kernels}
        if not shortcuts:
            assert names <= {"element_copy", "strided_copy_32", "strided_copy_64", "strided_copy_128"}
        widths = {int(name.rsplit("_", 1)[1]) for name in names if name.startswith(("strided_copy", "run_copy"))}
        assert max(widths, default=0) <= 8 * max(widest, src.dtype.itemsize)


@pytest.mark.parametrize(
    ("src", "dst", "usual"),
    [
        ("f32[64,64]{1,0}", "f32[64,64]{1,0}", "run_copy_128"),
        ("f32[7]{0}", "f32[7]{0}", "run_copy_32"),
        ("f32[64,128]{1,0}", "f32[64,128]{0,1}", "transpose_32_aligned"),
        ("f32[63,127]{1,0}", "f32[63,127]{0,1}", "transpose_32"),
        ("f32[64,127]{1,0}", "f32[64,127]{0,1}", "strided_gather_128"),
        ("f32[63,128]{1,0}", "f32[63,128]{0,1}", "strided_scatter_128"),
        ("f32[2052,127]{1,0}", "f32[2052,127]{0,1}", "transpose_32"),  # would gather from too many rows
        ("f32[2,5,8]{1,2,0}", "f32[2,5,8]{2,1,0}", "strided_gather_128"),
        ("f32[3,5,2]{2,1,0}", "f32[3,5,2]{2,0,1}", "strided_copy_64"),
        ("f32[3,5,4]{2,1,0}", "f32[3,5,4]{2,0,1}", "strided_copy_128"),
        ("f32[3,5,3]{2,1,0}", "f32[3,5,3]{2,0,1}", "strided_copy_32"),
        ("f32[]", "f32[]", "run_copy_32"),
    ],
)
def test_every_copy_of_words_can_be_left_to_one_kernel(src, dst, usual):
    def names(limits: Limits) -> set[str]:
        return {kernel.shader for kernel in copied(src, dst, limits)}

    assert names(ROOMY) == {usual}
    assert names(SteeredLimits(widest_element=4, shortcuts=False)) == {"strided_copy_32"}


@pytest.mark.parametrize(
    ("src", "dst", "shader"),
    [
        ("u8[64,128]{1,0}", "u8[64,128]{0,1}", "transpose_8_aligned"),
        ("bf16[3,64,128]{2,1,0}", "bf16[3,64,128]{1,2,0}", "transpose_16_aligned"),
        ("u8[2,4,32,32]{3,2,1,0}", "u8[2,4,32,32]{1,3,2,0}", "interleaved_copy"),  # RGBA
        ("f16[2,3,32,32]{1,3,2,0}", "f16[2,3,32,32]{3,2,1,0}", "interleaved_copy"),
        ("u8[2,8,32,32]{3,2,1,0}", "u8[2,8,32,32]{1,3,2,0}", "transpose_8"),
        ("u8[2,16,32,32]{3,2,1,0}", "u8[2,16,32,32]{1,3,2,0}", "transpose_8_aligned"),
        ("u8[64,127]{1,0}", "u8[64,127]{0,1}", "transpose_8"),
        ("u8[63,128]{1,0}", "u8[63,128]{0,1}", "element_copy"),  # too few for three dispatches
        ("u8[64,128]{strides=(-128,1),offset=8064}", "u8[64,128]{0,1}", "transpose_8_aligned"),
        ("u8[64,128]{strides=(128,-1),offset=127}", "u8[64,128]{0,1}", "transpose_8_aligned"),
        ("u8[3,5,31]{strides=(155,31,1)}", "u8[3,5,31]{strides=(1,94,3)}", "interleaved_copy"),  # rows of 94 bytes
        ("u8[3,3,5]", "u8[3,3,5]{0,2,1}", "element_copy"),  # planes of 15 bytes
        ("u8[5,17]{strides=(17,-1),offset=16}", "u8[5,17]", "interleaved_copy"),
        ("u8[5,16]{strides=(16,-1),offset=15}", "u8[5,16]", "element_copy"),
        ("f16[5,9]{strides=(36,4)}", "f16[5,9]", "interleaved_copy"),
        ("f16[5,9]{strides=(45,5)}", "f16[5,9]", "element_copy"),
        ("s8[16,32,3,3]:OIhw4i16o4i", "s8[16,32,3,3]", "interleaved_copy"),
        ("f16[16,16,3,3]:OIhw8i16o2i", "f16[16,16,3,3]", "interleaved_copy"),
        ("u8[8,31]{0,1}", "u8[8,31]", "interleaved_copy"),
        ("u8[6,31]{0,1}", "u8[6,31]", "element_copy"),  # six rows beside each other are not whole words
        # rows that begin inside a chunk are not moved by 16 bytes
        ("u8[3,5,32]{strides=(1,97,3)}", "u8[3,5,32]{strides=(160,32,1)}", "interleaved_copy"),
        ("u8[3,5,32]{strides=(160,32,1)}", "u8[3,5,32]{strides=(1,97,3)}", "interleaved_copy"),
        ("u8[5,32]{strides=(48,-1),offset=32}", "u8[5,32]", "interleaved_copy"),
        ("f32[64,128,4]", "f32[64,128,4]{2,0,1}", "strided_copy_128"),  # elements of 16 bytes have no transpose
    ],
)
def test_narrow_elements_go_in_whole_words_where_they_can(src, dst, shader):
    (kernel,) = copied(src, dst, ROOMY)
    assert kernel.shader == shader


@pytest.mark.parametrize(("elements", "words"), [("neighbours", 4), ("apart", 2)])
def test_a_gpu_transposes_bytes_in_half_blocks(elements, words):
    limits = Limits(choices=Choices(elements, "registers"))
    (kernel,) = copied("u8[1024,512]{1,0}", "u8[1024,512]{0,1}", limits)
    assert kernel.shader == "transpose_8_aligned"
    assert kernel.constant("A_WORDS") == words
    blocks = 1024 // (4 * words) * (512 // 16)
    assert math.prod(kernel.groups) == blocks // GROUP_BLOCKS


@pytest.mark.parametrize(
    ("src", "dst", "shader"),
    [
        ("f32[64,127]{1,0}", "f32[64,127]{0,1}", "transpose_shared_32"),
        ("f32[2,40,33]{strides=(1320,-33,-1),offset=1319}", "f32[2,40,33]{1,2,0}", "transpose_shared_32"),
        ("f64[64,127]{1,0}", "f64[64,127]{0,1}", "transpose_shared_64"),
        ("u8[64,128]{1,0}", "u8[64,128]{0,1}", "transpose_shared_8"),
        ("u8[3,68,36]{strides=(2448,-36,1),offset=2412}", "u8[3,68,36]{1,2,0}", "transpose_shared_8"),
        ("bf16[3,66,130]{2,1,0}", "bf16[3,66,130]{1,2,0}", "transpose_shared_16"),  # pairs are enough for 16 bits
        ("u8[64,127]{1,0}", "u8[64,127]{0,1}", "transpose_shared_8"),  # words cut from two, into whole ones
        ("u8[64,128]{strides=(128,-1),offset=127}", "u8[64,128]{0,1}", "transpose_8_aligned"),
        ("f32[7,4096]{1,0}", "f32[7,4096]{0,1}", "transpose_32"),  # a tile would be filled to 7 / 32
        ("f32[8,4096]{1,0}", "f32[8,4096]{0,1}", "transpose_shared_32"),
        ("u8[2,4,32,32]{3,2,1,0}", "u8[2,4,32,32]{1,3,2,0}", "interleaved_copy"),
        ("f32[3,5,4]{2,1,0}", "f32[3,5,4]{2,0,1}", "strided_copy_128"),
    ],
)
def test_transposes_through_shared_memory_where_that_is_the_choice(src, dst, shader):
    (kernel,) = copied(src, dst, Limits(choices=Choices("apart", "shared")))
    assert kernel.shader == shader
    assert not {each.shader for each in copied(src, dst, ROOMY)} & {f"transpose_shared_{n}" for n in (8, 16, 32, 64)}


@pytest.mark.parametrize(
    ("src", "choice", "groups_of"),
    [
        ("f32[4096,4096]", "registers", (64, 1, 1)),
        ("f32[4096,64]", "registers", (16, 4, 1)),  # short rows of the source: 256 bytes
        ("f32[1920,4096]", "registers", (64, 1, 1)),  # 480 blocks of 512
        ("f32[640,480]", "registers", (16, 4, 1)),  # 160 blocks would be too few for three groups of 64
        ("f32[4096,4096]", "narrow", (4, 16, 1)),
        ("u8[4096,4096]", "narrow", (4, 16, 1)),
        ("u8[4096,512]", "registers", (2, 32, 1)),  # 8 and 16 bits with long rows
        ("u16[4096,240]", "registers", (16, 4, 1)),
        ("f32[3001,4097]", "narrow", (4, 16, 1)),
        ("f32[4091,4077]", "registers", (64, 1, 1)),
        ("f64[2048,4096]", "registers", (64, 1, 1)),
        ("f32[3136,16]", "narrow", (16, 4, 1)),  # 4 blocks along 16 channels: wide, or groups would not be full
    ],
)
def test_bytes_that_a_group_of_a_transpose_writes_along_a_row(src, choice, groups_of):
    kernel = copied(src, src + "{0,1}", Limits(choices=Choices(transpose=choice)))[0]
    assert tuple(map(kernel.pushed, ("across", "along", "deep"))) == groups_of


@pytest.mark.parametrize(
    ("src", "dst", "pieces"),
    [
        # Four groups of 128 words; then 18 words and a byte.
        ("u8[101,7,3]{strides=(21,-3,1),offset=18}", "u8[101,7,3]", [(0, 512, 1, 1), (512, 19, 0, 0)]),
        ("u8[100,7,3]{strides=(21,-3,1),offset=18}", "u8[100,7,3]", [(0, 512, 1, 1), (512, 13, 1, 0)]),
        ("u8[64,8,3]{strides=(24,-3,1),offset=21}", "u8[64,8,3]", [(0, 384, 1, 1)]),
        ("f16[101,7,3]{strides=(21,-3,1),offset=18}", "f16[101,7,3]", [(0, 1024, 1, 1), (1024, 37, 0, 0)]),
        ("u8[100,7,3]{strides=(21,-3,1),offset=18}", "u8[100,7,3]{strides=(21,3,1),offset=1}", [(0, 526, 0, 0)]),
        ("u8[100,7,3]{strides=(21,-3,1),offset=18}", "u8[100,7,3]{strides=(24,3,1)}", [(0, 600, 0, 0)]),  # holes
    ],
)
def test_whole_words_of_elements_are_written_without_a_look_for_holes(src, dst, pieces):
    limits = SteeredLimits(elements_per_dispatch=1)
    kernels = copied(src, dst, limits)
    assert {kernel.shader for kernel in kernels} == {"element_copy"}
    assert all(kernel.constant("OWN_WORDS") for kernel in kernels)
    assert [
        (*map(kernel.pushed, ("first_word", "pieces")), *map(kernel.constant, ("WHOLE_WORDS", "FULL")))
        for kernel in kernels
    ] == pieces


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (500, [((6, 3, 1), 2304, 1), ((3, 1, 1), 321, 0)]),  # 2625 words are 20 groups and a part of one
        (419, [((8, 2, 1), 2048, 1), ((2, 1, 1), 152, 0)]),  # 2199 words and three bytes: 17 groups and a part of one
        (180, [((7, 1, 1), 896, 1), ((1, 1, 1), 49, 0)]),
    ],
)
def test_full_groups_fill_every_row_of_groups(rows, parts):
    """A row has at most eight groups."""
    src, dst = f"u8[{rows},7,3]{{strides=(21,-3,1),offset=18}}", f"u8[{rows},7,3]"
    kernels = copied(src, dst, SteeredLimits(elements_per_dispatch=1, max_group_count=(8, 65535, 2)))
    assert [(kernel.groups, kernel.pushed("pieces"), kernel.constant("FULL")) for kernel in kernels] == parts


@pytest.mark.parametrize(
    ("src", "dst", "pieces"),
    [
        # Four quads a row, 512 of them a group: of 400 rows 384 are in full groups.
        ("f32[400,16]{strides=(40,2)}", "f32[400,16]", [(1536, 1), (64, 0)]),
        ("f32[2,400,16]{strides=(17000,40,2)}", "f32[2,400,16]", [(3072, 1), (128, 0)]),
        ("f32[300,16]{strides=(40,2)}", "f32[300,16]", [(1200, 0)]),  # 44 rows are too many
        ("f32[6400]{strides=(2)}", "f32[6400]", [(1600, 0)]),
    ],
)
def test_large_gathers_are_cut_where_full_groups_end(src, dst, pieces):
    kernels = copied(src, dst, SteeredLimits(elements_per_dispatch=1))
    assert [(kernel.shader, kernel.pushed("pieces"), kernel.constant("FULL")) for kernel in kernels] == [
        ("strided_gather_128", count, is_full) for count, is_full in pieces
    ]
    for limits in (ROOMY, SteeredLimits(elements_per_dispatch=1, choices=Choices.usual("discrete"))):
        assert len(copied(src, dst, limits)) == 1  # small, or no CPU


@pytest.mark.parametrize(
    ("src", "dst", "across", "deep"),
    [
        ("s8[16,32,3,3]:OIhw4i16o4i", "s8[16,32,3,3]", 16, 2),  # as many invocations as can be: 32 blocks a group
        ("s8[512,512,3,3]:OIhw4i16o4i", "s8[512,512,3,3]", 16, 4),
        ("s8[1024,1024,3,3]:OIhw4i16o4i", "s8[1024,1024,3,3]", 16, 4),  # 128 blocks of 9 words would be too many
        ("f16[16,48,5]:ABc8b16a2b", "f16[16,48,5]", 16, 2),
        ("u8[2,16,9]:aBc16b", "u8[2,16,9]", 1, 32),  # blocks follow one another on both sides
    ],
)
def test_short_rows_go_by_blocks_of_a_group(src, dst, across, deep):
    (kernel,) = copied(src, dst, Limits(choices=Choices.usual("discrete")))
    assert kernel.shader == "short_rows"
    assert (kernel.constant("ACROSS"), kernel.constant("DEEP")) == (across, deep)


@pytest.mark.parametrize("most", [(1, 3, 3), (3, 1, 3), (3, 3, 1)])
@pytest.mark.parametrize(
    ("transpose", "shader"), [("shared", "transpose_shared_32"), ("narrow", "transpose_32_aligned")]
)
def test_groups_of_a_transpose_are_no_more_than_there_may_be(transpose, shader, most):
    limits = Limits(max_group_count=most, choices=Choices("apart", transpose))
    kernels = copied("f32[3,192,192]{2,1,0}", "f32[3,192,192]{1,2,0}", limits)
    assert {kernel.shader for kernel in kernels} == {shader}
    assert len(kernels) >= 3
    assert all(count <= limit for kernel in kernels for count, limit in zip(kernel.groups, most, strict=True))


@pytest.mark.parametrize(
    ("src", "dst", "ends"),
    [
        ("u8[255,257]", "u8[255,257]{0,1}", [6]),  # rows of 255 bytes begin anywhere: 3 at either end, together
        ("u8[255,257]", "u8[255,257]{strides=(1,256),offset=2}", [2, 1]),  # bytes 2 and 3, words, byte 256
        ("u8[256,257]", "u8[256,257]{0,1}", []),
        ("f16[255,257]", "f16[255,257]{0,1}", [2]),
        ("f32[255,257]", "f32[255,257]{0,1}", []),
    ],
)
@pytest.mark.parametrize("limits", [ROOMY, replace(ROOMY, choices=Choices("apart", "shared"))])
def test_what_rows_of_a_transpose_have_outside_whole_words_goes_by_elements(src, dst, ends, limits):
    transposed, *others = copied(src, dst, limits)
    assert transposed.shader.startswith("transpose_shared" if limits.choices.transpose == "shared" else "transpose")
    assert [kernel.shader for kernel in others] == ["element_copy"] * len(ends)
    assert [kernel.pushed("pieces") for kernel in others] == [257 * end for end in ends]


@pytest.mark.parametrize(
    ("src", "dst", "shader", "jumps", "group", "groups"),
    [
        ("f32[6,8,8,6]", "f32[6,8,8,6]{0,1,2,3}", "transpose_32_aligned", (1, 1), (12, 5, 1), (3, 1, 1)),
        ("f32[64,3,4,6]", "f32[64,3,4,6]{0,1,2,3}", "transpose_32_aligned", (0, 1), (16, 4, 1), (2, 1, 3)),
        ("f64[6,4,3,64]", "f64[6,4,3,64]{0,1,2,3}", "transpose_64_aligned", (1, 0), (12, 5, 1), (7, 1, 3)),
        ("u8[6,4,3,64]", "u8[6,4,3,64]{0,1,2,3}", "transpose_8", (1, 0), (3, 4, 3), (1, 1, 1)),  # rows of words
        ("u8[37,16,8]", "u8[37,16,8]{1,2,0}", "transpose_8", (0, 0), (2, 1, 32), (1, 1, 2)),
        ("f32[37,16,8]", "f32[37,16,8]{1,2,0}", "transpose_32_aligned", (0, 0), (4, 2, 8), (1, 1, 5)),
        ("f32[160,160,160]", "f32[160,160,160]{0,1,2}", "transpose_32_aligned", (0, 0), (20, 3, 1), (14, 2, 160)),
        ("f16[64,3,4,6]{strides=(-72,-24,-6,-1),offset=4607}", "f16[64,3,4,6]{0,1,2,3}", "transpose_16_aligned", (1, 1),
         (16, 3, 1), (1, 2, 1)),
    ],
)  # fmt: skip
def test_groups_of_transposes_are_full(src, dst, shader, jumps, group, groups):
    """And no more than hold the blocks: along b, along a, and along the other axes."""
    (kernel,) = copied(src, dst, ROOMY)
    assert kernel.shader == shader
    assert tuple(map(kernel.constant, ("A_JUMPS", "B_JUMPS"))) == jumps
    assert tuple(map(kernel.pushed, ("across", "along", "deep"))) == group
    assert kernel.groups == groups


@pytest.mark.parametrize(
    ("src", "dst", "first"),
    [
        ("f32[8,16,1024,64]", "f32[8,16,1024,64]{3,1,2,0}", [16, 1, 1]),
        ("f32[5,3,8,7]", "f32[5,3,8,7]{0,2,3,1}", [4, 7, 5]),  # of 8, whose steps are 7 and 5
        ("f32[7,8,69]", "f32[7,8,69]{2,0,1}", None),  # the only multiple of four has steps of 69 and 483
        ("f32[7,9,5]", "f32[7,9,5]{2,0,1}", None),
    ],
)
def test_pieces_of_an_invocation_lie_along_one_axis(src, dst, first):
    (kernel,) = copied(src, dst, ROOMY)
    words = np.frombuffer(kernel.parameters, np.uint32).tolist()
    assert kernel.shader.startswith("strided_copy")
    assert kernel.constant("TOGETHER") == (first is not None)
    assert words[8:11] == first or first is None


@pytest.mark.parametrize(
    ("src", "dst", "shader", "pieces", "each"),
    [
        # 165,888 bytes: words, an invocation each. 1.2 million: 8 bytes, because 16 would be 75,264 invocations.
        ("u8[6,96,288]{strides=(27648,288,1)}", "u8[6,96,288]{strides=(288,1728,1)}", "strided_copy_32", 41472, 1),
        ("u8[8,224,672]", "u8[8,224,672]{strides=(672,5376,1)}", "strided_copy_64", 150528, 1),
        ("f32[8,197,768]", "f32[8,197,768]{strides=(768,6144,1)}", "strided_copy_128", 302592, 2),
        ("f32[4,512,768]", "f32[4,512,768]{strides=(768,3072,1)}", "strided_copy_128", 393216, 4),
        ("f32[64,8]{strides=(20,2)}", "f32[64,8]", "strided_gather_128", 128, 1),
        ("f32[64,8]", "f32[64,8]{strides=(20,2)}", "strided_scatter_128", 128, 1),
    ],
)
@pytest.mark.parametrize("elements", ["neighbours", "apart"])
def test_copies_of_words_have_many_invocations_where_these_are_to_be_many(src, dst, shader, pieces, each, elements):
    choices = Choices(elements=elements, invocations="many")
    (kernel,) = copied(src, dst, SteeredLimits(choices=choices))
    assert (kernel.shader, kernel.pushed("pieces"), kernel.constant("EACH")) == (shader, pieces, each)
    assert math.prod(kernel.groups) * 128 >= pieces // each >= choices.fewest_invocations(TensorDesc.parse(src).numel)


@pytest.mark.parametrize(
    ("src", "dst", "arrangement"),
    [
        ("f32[8,64]", "f32[8,64]{strides=(67,1),offset=3}", WORDS_IN_A_ROW),
        ("f32[8,64]{strides=(67,1),offset=3}", "f32[8,64]", WORDS_APART),  # a gather
        ("f32[8,72]", "f32[8,72]{strides=(75,1),offset=3}", WORDS_APART),  # 18 quads a row, not a multiple of 4
        ("f32[8,64]", "f32[8,64]{strides=(131,2)}", WORDS_APART),
        ("f32[16,4,4]", "f32[16,4,4]{strides=(1,31,1)}", WORDS_APART),  # pieces one word apart
    ],
)
def test_quads_of_rows_that_begin_anywhere_go_together(src, dst, arrangement):
    (kernel,) = copied(src, dst, ROOMY)
    assert kernel.shader in ("strided_gather_128", "strided_scatter_128")
    assert kernel.constant("ARRANGEMENT") == arrangement


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[1,3,224,224]{1,3,2,0}", "f32[1,3,224,224]"),
        ("u8[1,3,224,223]{1,3,2,0}", "u8[1,3,224,223]"),
        ("f16[4,40,33]{0,2,1}", "f16[4,40,33]"),
        ("f16[4,40,33]", "f16[4,40,33]{0,2,1}"),
        ("u8[40,333]{strides=(1000,3),offset=1}", "u8[40,333]"),
        ("f16[40,333]{strides=(666,-2),offset=664}", "f16[40,333]"),
        ("u8[64,64]{strides=(64,-1),offset=63}", "u8[64,64]"),
    ],
)
def test_pixels_go_by_one_group_where_invocations_are_to_be_many(src, dst):
    groups = {}
    for invocations in ("few", "many"):
        limits = SteeredLimits(elements_per_dispatch=1 << 40, choices=Choices(invocations=invocations))
        (kernel,) = copied(src, dst, limits)
        assert kernel.shader == "interleaved_copy"
        groups[invocations] = kernel.constant("GROUPS"), kernel.pushed("pieces")
    assert (groups["few"][0], groups["many"][0]) == (4, 1)
    assert groups["many"][1] > 3 * groups["few"][1]


def test_axes_are_told_by_the_storage_buffer_and_their_number_by_a_constant():
    src = TensorDesc("f32", (2, 3, 5), (20, 1, 4))
    (kernel,) = copy_kernels(src, TensorDesc("f32", (2, 3, 5)), ROOMY)
    words = np.frombuffer(kernel.parameters, np.uint32).tolist()
    assert [kernel.constant(name) for name in ("NEIGHBOURS", "EACH", "TOGETHER", "FULL", "RANK")] == [1, 4, 0, 0, 3]
    assert words[0] == 3
    assert [words[row : row + 3] for row in (8, 20, 32)] == [[5, 4, 1], [3, 1, 5], [2, 20, 15]]


def test_a_divisor_is_exact_up_to_two_to_the_31():
    assert multiply_shift(1) == (0, 0)  # nothing but 0 is divided by 1
    edges = [0, 1, (1 << 31) - 1]
    for divisor in [*range(2, 300), *(1 << k for k in range(2, 31)), 641, 65535, 65537, (1 << 31) - 1]:
        factor, shift = multiply_shift(divisor)
        assert factor < 1 << 32
        near = [k * divisor + d for k in (1, 2, ((1 << 31) - 2) // divisor) for d in (-1, 0, 1)]
        for n in edges + [n for n in near if 0 <= n < 1 << 31]:
            assert (n * factor >> 32) >> shift == n // divisor


def test_neighbours_that_move_together_merge_and_widen():
    # A u8 crop of 8 columns out of rows of 32: one axis of 8-byte elements.
    problem = widen(simplify(Problem((Axis(4, 32, 8), Axis(8, 1, 1)), 0, 0, 1)), 16)
    assert (problem.itemsize, problem.axes) == (8, (Axis(4, 4, 1),))
    # Rows that begin at an odd element on one side keep their width.
    for offsets in ((1, 0), (0, 1)):
        assert widen(Problem((Axis(8, 1, 1), Axis(4, 16, 8)), *offsets, 1), 16).itemsize == 1
    # A packed copy is one run of the widest elements.
    problem = widen(simplify(Problem((Axis(4, 8, 8), Axis(8, 1, 1)), 0, 0, 4)), 16)
    assert (problem.itemsize, problem.axes) == (16, (Axis(8, 1, 1),))


def test_a_buffer_beyond_the_range_is_split_where_windows_exist_and_refused_where_not():
    src = TensorDesc("f32", (64, 64))
    dst = TensorDesc.xla("f32", (64, 64), (0, 1))
    kernels = copy_kernels(src, dst, CRAMPED)
    assert len(kernels) > 1
    assert all(binding.nbytes <= 256 for kernel in kernels for binding in kernel.bindings)
    small = Limits(max_buffer_range=4096, offset_alignment=0)
    with pytest.raises(UnsupportedError, match="16384 bytes exceeds the 4096"):
        copy_kernels(src, dst, small)


def test_work_groups_stay_within_the_device():
    limits = Limits(max_group_count=(7, 1000, 1))
    for kernel in copied("u8[70000,3]", "u8[70000,3]{strides=(5,1)}", limits):
        assert all(n <= most for n, most in zip(kernel.groups, limits.max_group_count, strict=True))


def test_an_empty_tensor_plans_nothing():
    empty = TensorDesc("f32", (3, 0))
    assert copy_kernels(empty, empty, ROOMY) == ()
