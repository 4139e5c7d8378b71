"""Plans of tiled, padded and blocked layouts: strided walks where tiles fit, else digits; padding with the elements."""

from __future__ import annotations

import pytest

from restride.errors import UnsupportedError
from restride.kernel import Choices, Limits
from restride.layout import TensorDesc, views
from restride.plan.copy import copy_kernels, copy_problems, plan_copy
from restride.plan.fill import padding_copy_kernels, padding_kernels
from restride.plan.problem import Axis, Problem
from restride_conformance.shader.part import SteeredLimits

ROOMY = Limits()
ALWAYS_WALK = SteeredLimits(elements_per_dispatch=0)
ALL_SHARED = SteeredLimits(choices=Choices.usual("discrete"), elements_per_dispatch=0)

PADS_AS_IT_COPIES = [
    *((f"{dtype}[2,{channels},8,8]", ":nChw16c") for dtype in ("u8", "f16", "f32", "f64") for channels in (2, 13, 60)),
    ("u8[2,61,8,8]{strides=(8000,-64,8,1),offset=7000}", ":nChw16c"),
    ("f32[1,27,8,8]{strides=(2000,-70,-8,-1),offset=1999}", ":nChw8c"),
    ("f32[2,28,64]", ":aBc4b4b"),  # the last block has 3 whole blocks of 4
    ("f32[40,60]{0,1}", "{1,0:T(8,32)}"),
    ("f32[40,60]{0,1}", "{1,0:T(8,32)pad(40,62)=0}"),
    ("f32[1,6,8,8]{strides=(9000,1500,8,1)}", ":nChw16c"),  # windows cut it along the channels first
]
FILLED_FIRST = [
    ("f32[40,33]{0,1}", "{1,0:T(32)}"),  # 64 along a row, of which 33 have a source: too many kernels of such sizes
    ("f32[64,60]{0,1:T(1,32)}", "{1,0:T(16)}"),
    ("f32[2,19,64]", ":aBc4b4b"),  # last block has 3 channels, less than one block of 4
    ("f32[2,27,64]", ":aBc4b4b"),  # 2 whole blocks of 4, and 3 of the next
    ("f32[2,17,8,8]", ":nChw16c"),  # last block has one channel
    ("f32[2,24,7,9]", ":NChw16n16c"),  # padding along another axis too
    ("f32[41,60]{0,1}", "{1,0:T(8,32)}"),
    ("f32[40,60]{0,1}", "{1,0:T(8,32)pad(40,62)=7}"),
    ("f32[40,60]{0,1}", "{1,0:T(8,32)pad(48,60)=0}"),  # a row of tiles that is all padding
    ("f32[40,60]{0,1}", "{1,0:T(8,32)(3,1)}"),
    ("f32[40,61]{0,1}", "{1,0:T(*,32)(8)}"),
    ("f32[2,12,8,8]", "{at=(a,b,c,d),in=[2,13,8,8]:nChw16c}"),
    ("f32[2,60,8,8]{1,3,2,0}", ":nChw16c"),  # no transpose
    ("f32[2,60,8,8]:nChw8c", ":nChw16c"),
    ("f16[64,100]{strides=(1,65)}", "{1,0:T(64,128)}"),  # rows that are not whole words
    ("f32[2,60,3,3]", ":nChw16c"),  # tiles that are hardly filled
    ("f32[2,0,8,8]", ":nChw16c"),
]


def layouts(src: str, layout: str) -> tuple[TensorDesc, TensorDesc]:
    return TensorDesc.parse(src), TensorDesc.parse(f"{src.partition(']')[0]}]{layout}")


def shaders(src: str, dst: str, limits: Limits = ROOMY) -> list[str]:
    return [kernel.shader for kernel in copy_kernels(TensorDesc.parse(src), TensorDesc.parse(dst), limits)]


@pytest.mark.parametrize(("src", "layout"), PADS_AS_IT_COPIES)
def test_a_transpose_through_shared_memory_writes_the_padding_too(src, layout):
    src, dst = layouts(src, layout)
    kernels = padding_copy_kernels(src, dst, ALL_SHARED)
    assert {kernel.shader for kernel in kernels} == {f"transpose_shared_{8 * src.dtype.itemsize}"}
    assert len(kernels) < len(padding_kernels(dst, ALL_SHARED)) + len(copy_kernels(src, dst, ALL_SHARED))
    assert padding_copy_kernels(src, dst, ROOMY) == ()  # not a choice of CPUs


@pytest.mark.parametrize(("src", "layout"), FILLED_FIRST)
def test_padding_that_no_such_transpose_writes_is_filled_first(src, layout):
    assert padding_copy_kernels(*layouts(src, layout), ALL_SHARED) == ()


def test_a_padded_part_that_no_transpose_takes_goes_by_elements():
    """Three of four channels: pixels have no padding, and the tiles of a transpose would be filled to an eighth."""
    problem = Problem((Axis(4, 64, 1, inside=range(3)), Axis(64, 1, 4)), 0, 0, 4)
    (kernel,) = plan_copy(problem, ALL_SHARED)
    assert kernel.shader == "element_pad"


def test_padding_with_the_elements_takes_no_more_dispatches_than_a_copy_may():
    limits = Limits(choices=ALL_SHARED.choices)
    few, more = (padding_copy_kernels(*layouts(f"f32[1,{n},8,8]", ":nChw16c"), limits) for n in (28, 44))
    assert (few, len(more)) == ((), 2)


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[24,128]{1,0:T(8,128)}", "f32[24,128]"),
        ("f32[4096]{0:T(1024)(128)}", "f32[4096]"),
        ("f32[2,32,8,8]:nChw16c", "f32[2,32,8,8]{at=(a,b,c,d),in=[2,32,8,8]:nChw16c}"),
        ("f32[64,64]{1,0:T(8,8)}", "f32[64,64]{1,0:T(8,8)}"),
    ],
)
def test_equal_layouts_are_one_run(src, dst):
    """The same bytes in the same order: one axis on both sides, whatever the tiles."""
    (problem,) = copy_problems(TensorDesc.parse(src), TensorDesc.parse(dst)) or ()
    assert [(axis.src, axis.dst) for axis in problem.axes] == [(1, 1)]
    assert len(shaders(src, dst)) == 1


def test_tiles_that_fit_are_one_dispatch_and_the_rest_is_general():
    assert len(shaders("f32[64,256]", "f32[64,256]{1,0:T(8,128)}")) == 1
    assert shaders("f32[7]{0:T(4)(3)}", "f32[7]") == ["digit_copy"]
    # Partial tiles of a small copy would be dispatches of next to nothing.
    assert shaders("f32[13,250]", "f32[13,250]{1,0:T(8,128)}") == ["digit_copy"]
    assert len(shaders("f32[13,250]", "f32[13,250]{1,0:T(8,128)}", ALWAYS_WALK)) == 4
    assert shaders("f32[0,3]{1,0:T(2,2)}", "f32[0,3]") == []


def test_plans_of_views_are_equal_where_memory_is():
    one = TensorDesc.parse("f32[4,4]{at=(a,b),in=[8,4]{1,0:T(4,4)}}")
    assert copy_kernels(one, TensorDesc("f32", (4, 4)), ROOMY) == copy_kernels(
        TensorDesc("f32", (4, 4)), TensorDesc("f32", (4, 4)), ROOMY
    )


def test_a_window_of_a_huge_tiled_tensor_is_planned_where_it_lies():
    """Rows 2^31 and on of f32[2^33,128] in tiles of 8 x 128: only the window is bound."""
    limits = Limits(max_buffer_range=1 << 27, offset_alignment=16)
    whole = TensorDesc.xla("f32", (1 << 33, 128), tiles=[(8, 128), (2, 1)])
    part = views.index(whole, (slice(1 << 31, (1 << 31) + 16), slice(0, 128, 2)))
    kernels = copy_kernels(part, TensorDesc("f32", part.sizes), limits)
    assert all(binding.nbytes <= 1 << 27 for kernel in kernels for binding in kernel.bindings)
    assert kernels[0].bindings[0].offset >= (1 << 31) * 128 * 4
    # A start of many tiles is a constant; rows of 2^30 joined are a number past the 31 bits of the general kernel.
    far = views.index(TensorDesc.xla("f32", (1 << 33,), tiles=[(4,), (3,)]), (slice(1 << 32, (1 << 32) + 5),))
    assert [kernel.shader for kernel in copy_kernels(far, TensorDesc("f32", (5,)), limits)] == ["digit_copy"]
    joined = views.index(TensorDesc.xla("u8", (3, (1 << 30) + 1), tiles=[(-1, 4), (3,)]), (..., slice(5)))
    kernels = copy_kernels(joined, TensorDesc("u8", (3, 5)), limits)
    assert sum(kernel.pushed("pieces") for kernel in kernels) == 15  # in parts, each within a window
    with pytest.raises(UnsupportedError, match=r"coordinates below 2\^31, got 2147483654"):
        copy_kernels(joined, TensorDesc("u8", (3, 5)), Limits(max_buffer_range=(1 << 32) - 4))
