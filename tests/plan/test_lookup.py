"""Plans of look-ups: planes, pixels and patches by whole quads, elements one by one, and tables that are cut."""

from __future__ import annotations

import numpy as np
import pytest

from restride.kernel import Choices, KernelSpec, Limits
from restride.layout import TensorDesc, views
from restride.ops.lookup import lookup_plan, read_table
from restride.ops.target import Out
from restride.plan.lookup import ENTRIES, lookup_kernels, lookup_walks

ROOMY = Limits()
GPU = Limits(choices=Choices("apart"))


def planned(src: str, dst: str, axis: int | None = None, limits: Limits = ROOMY) -> list[KernelSpec]:
    source, made = TensorDesc.parse(src), TensorDesc.parse(dst)
    entries = np.zeros((*(() if axis is None else (source.sizes[axis],)), ENTRIES), made.dtype.dtype)
    table = read_table(source, entries, axis, None)
    return list(lookup_kernels(lookup_walks(source, made, table, limits), source.dtype, table, limits))


def only(src: str, dst: str, axis: int | None = None, limits: Limits = ROOMY) -> KernelSpec:
    (kernel,) = planned(src, dst, axis, limits)
    return kernel


def constants(kernel: KernelSpec, *names: str) -> tuple[int, ...]:
    return tuple(map(kernel.constant, names))


@pytest.mark.parametrize("dst", ["u8", "f16", "f32"])
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_pixels_become_planes_and_pixels_by_whole_words(dst, channels):
    sizes = f"2,{channels},4,8"
    pixels = f"{{strides=({32 * channels},1,{8 * channels},{channels})}}"
    names = ("PLANES", "INTERLEAVED", "WIDE", "WHOLE_STORES", "ROWS_OF_PLANES")
    planes = only(f"u8[{sizes}]{pixels}", f"{dst}[{sizes}]", 1)
    assert (planes.shader, *constants(planes, *names)) == ("lookup_quads", channels, 0, 1, 1, 1)
    same = only(f"u8[{sizes}]{pixels}", f"{dst}[{sizes}]{pixels}", 1)
    assert (same.shader, *constants(same, *names)) == ("lookup_quads", channels, 1, 1, 1, 1)
    assert planes.pushed("pieces") == same.pushed("pieces") == 2 * 32 // 4
    backwards = f"{{strides=({32 * channels},-1,{8 * channels},{channels}),offset={channels - 1}}}"
    assert constants(only(f"u8[{sizes}]{backwards}", f"{dst}[{sizes}]", 1), *names) == (channels, 0, 1, 1, 1)
    assert constants(only(f"u8[{sizes}]", f"{dst}[{sizes}]", 1), *names) == (1, 0, 1, 1, 0)
    assert only(f"u8[{sizes}]{pixels}", f"{dst}[{sizes}]", 3).constant("ROWS_OF_PLANES") == 0


def patches(size: int, dst: str, copies: int = 2) -> tuple[str, str]:
    """Patches of u8[4 size, 6 size, 3], a row of patches within 2 x 2 of them, and each of them so many times."""
    row = 18 * size
    strides = (2 * size * row, 6 * size, size * row, 3 * size, 1, 0, row, 3)
    sizes = f"2,3,2,2,3,{copies},{size},{size}"
    return f"u8[{sizes}]{{strides=({','.join(map(str, strides))})}}", f"{dst}[{sizes}]"


@pytest.mark.parametrize("dst", ["u8", "f16", "f32"])
@pytest.mark.parametrize(("size", "crosses"), [(4, 0), (14, 1), (16, 0), (28, 0)])
def test_patches_go_by_quads_that_are_found_once_and_stored_twice(dst, size, crosses):
    kernel = only(*patches(size, dst), 4)
    names = ("PLANES", "COPIES", "CROSSES", "WIDE", "WHOLE_STORES")
    assert (kernel.shader, *constants(kernel, *names)) == ("lookup_quads", 3, 2, crosses, not crosses, 1)
    assert kernel.pushed("pieces") == 24 * size * size // 4
    assert constants(only(*patches(size, dst, 5), 4), "COPIES") == (1,), "more than an invocation stores"


def test_a_four_of_two_rows_is_not_one_run_of_the_source():
    kernel = only("u8[3,4,6]{strides=(1,20,3)}", "f32[3,4,6]", 0)
    assert constants(kernel, "CROSSES", "WIDE") == (1, 0)
    assert constants(only("u8[4,6]{strides=(8,1)}", "f32[4,6]"), "CROSSES", "WIDE") == (1, 0)


def test_lookups_that_go_by_elements():
    assert only(*patches(2, "f32"), 4).shader == "lookup_elements", "a four of rows of 2 crosses twice"
    assert only(*patches(5, "f16"), 4).shader == "lookup_elements", "25 elements are no whole quads"
    assert only("u8[6,8]", "s64[6,8]").shader == "lookup_elements"
    assert only("u8[3,8,8]", "f32[3,8,8]{0,2,1}", 0).shader == "lookup_elements", "planes to pixels"


def test_rows_that_are_no_whole_quads():
    whole, rest = planned("u8[3,64,33]", "f32[3,64,33]{strides=(3000,40,1)}", 0)
    assert (whole.shader, rest.shader) == ("lookup_quads", "lookup_elements")
    unaligned = only("u8[3,8,16]", "f32[3,8,16]{strides=(131,16,1)}", 0)
    assert constants(unaligned, "WHOLE_STORES", "WIDE") == (0, 1)
    assert only("u8[3,8,16]", "f16[3,8,16]{strides=(131,16,1)}", 0).shader == "lookup_elements"


def test_an_invocation_has_more_quads_where_neighbours_go_together():
    assert constants(only("u8[64]", "f32[64]"), "EACH") == (4,)
    assert constants(only("u8[64]", "f32[64]", limits=GPU), "EACH") == (1,)


def test_a_table_of_many_rows_is_cut_into_what_dispatches_may_have():
    kernels = planned("u8[3000,4]", "f32[3000,4]", 0)
    assert len(kernels) == 4
    assert all(len(kernel.parameters) <= (1 << 20) + 1000 for kernel in kernels)


def test_a_side_that_no_strides_describe_is_copied():
    desc = TensorDesc.parse("u8[7,9]{1,0:T(2,3)(3,2)}")
    for src, dst in ((desc, TensorDesc("f32", (7, 9))), (TensorDesc("u8", (7, 9)), desc)):
        table = read_table(src, np.zeros(256, dst.dtype.dtype), None, None)
        assert lookup_walks(src, dst, table, ROOMY) is None
        plan = lookup_plan(src, Out(dst, False), ROOMY, table)
        assert len(plan._steps.steps) == 2
    assert views.permute(desc, (1, 0)).strides is None
