"""Plans of conversions: which kernels they choose, by which quads and pairs, and where they are cut."""

from __future__ import annotations

import numpy as np
import pytest

from restride.errors import UnsupportedError
from restride.kernel import Choices, KernelSpec, Limits
from restride.layout import TensorDesc, views
from restride.plan.convert import convert_kernels
from restride.plan.dispatches import MAX_PAIR_BYTES
from restride.plan.problem import PAIR_BYTES
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic, Numbers, arithmetic

ROOMY = Limits()
GPU = Limits(choices=Choices("apart"))


def planned(src: str, dst: str, limits: Limits = ROOMY, **arguments: object) -> list[KernelSpec]:
    return converted(TensorDesc.parse(src), TensorDesc.parse(dst), limits, **arguments)


def converted(src: TensorDesc, dst: TensorDesc, limits: Limits, **arguments: object) -> list[KernelSpec]:
    return list(convert_kernels(src, dst, arithmetic(src, dst, range(src.rank), Numbers(**arguments)), limits))


def only(src: str, dst: str, limits: Limits = ROOMY, **arguments: object) -> KernelSpec:
    (kernel,) = planned(src, dst, limits, **arguments)
    return kernel


# --- groups of four


@pytest.mark.parametrize("src", ["u8", "f16", "s32", "f64"])
@pytest.mark.parametrize("dst", ["s8", "s16", "f32", "s64"])
def test_a_run_is_made_four_by_four_and_its_rest_alone(src, dst):
    kernels = planned(f"{src}[2050]", f"{dst}[2050]")
    assert [kernel.shader for kernel in kernels] == ["convert_quads", "convert_elements"]
    assert kernels[0].pushed("pieces") == 2048 // 4
    assert kernels[0].constant("WIDE")
    assert len(planned(f"{src}[2048]", f"{dst}[2048]")) == 1
    assert len(planned(f"{src}[1034]", f"{dst}[1034]")) == 1, "a second dispatch must pay"


@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize(("src", "dst"), [("u8", "f32"), ("u8", "f16"), ("s16", "u8"), ("f32", "s8"), ("f32", "f64")])
def test_interleaved_channels_become_planes_run_by_run(src, dst, channels):
    """Four pixels of all channels lie together in the source: they are read once, and written to every plane."""
    sizes = f"2,{channels},4,8"
    interleaved = f"{src}[{sizes}]{{1,3,2,0}}"
    scale = np.array([3, 0.5, 7, -2])[:channels].reshape(-1, 1, 1)
    zero_point = np.arange(1, channels + 1).reshape(-1, 1, 1)
    for arguments in (
        {},
        {"src_scale": scale, "src_zero_point": zero_point},
        {"dst_scale": scale, "dst_zero_point": zero_point, "sum_scale": 2},
        {"src_scale": scale, "dst_scale": np.array([2, 4]).reshape(2, 1, 1, 1)},
        {"src_scale": np.arange(1, 9), "dst_zero_point": zero_point},
    ):
        kernel = only(interleaved, f"{dst}[{sizes}]", **arguments)
        assert (kernel.shader, kernel.constant("PLANES")) == ("convert_planes", channels)
        assert (kernel.pushed("pieces"), kernel.pushed("plane_stride")) == (2 * 32 // 4, 32)


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("u8[2,5,4,8]{1,3,2,0}", "f32[2,5,4,8]"),  # five planes are more than a kernel makes
        ("f64[2,3,4,8]{1,3,2,0}", "f32[2,3,4,8]"),  # a run of them would be 96 bytes
        ("u8[2,3,4,8]{strides=(384,1,32,4),offset=0}", "f32[2,3,4,8]"),  # three of four channels
        ("u8[2,3,4,8]{strides=(192,1,24,3),offset=1}", "f32[2,3,4,8]"),  # runs begin between words
        ("u8[2,3,4,8]{strides=(97,1,24,3),offset=0}", "f32[2,3,4,8]"),
        ("s16[64,12]{0,1}", "u8[64,12]"),
        ("f32[12]{strides=(-1),offset=11}", "u8[12]"),
        ("f32[12]{strides=(0),offset=3}", "s64[12]"),
        ("u8[4,8]{strides=(9,1),offset=0}", "f16[4,8]"),
    ],
)
def test_other_strides_are_read_element_by_element_and_written_by_four(src, dst):
    kernel = only(src, dst, dst_scale=2)
    assert (kernel.shader, kernel.constant("WIDE"), kernel.pushed("plane_stride")) == ("convert_quads", 0, 0)


@pytest.mark.parametrize("dst", ["f32[6,12]{strides=(13,1),offset=0}", "s64[6,12]{strides=(-14,1),offset=70}"])
def test_quads_of_whole_words_may_begin_anywhere(dst):
    kernel = only("u8[6,12]", dst, src_scale=3)
    assert (kernel.shader, kernel.constant("WHOLE_STORES")) == ("convert_quads", 0)


def rows_found(kernel: KernelSpec) -> tuple[int, int]:
    return kernel.constant("IN_ROW"), kernel.constant("LOADS_ROW")


@pytest.mark.parametrize(
    ("src", "dst", "in_row"),
    [
        ("u8[3,32]{strides=(48,1),offset=16}", "f32[3,32]", (1, 1)),
        ("s16[3,32]{strides=(48,1),offset=16}", "f32[3,32]", (1, 1)),
        ("u8[3,32]{strides=(36,1),offset=4}", "f32[3,32]", (1, 0)),  # rows begin between 16 bytes
        ("u8[3,32]{strides=(33,-1),offset=31}", "f32[3,32]", (1, 0)),  # no run
        ("s32[3,32]", "f32[3,32]", (1, 0)),  # words
        ("u8[3,20]{strides=(48,1),offset=16}", "f32[3,20]", (0, 0)),  # a row ends with one four
        ("u8[3,16,3]", "f32[3,16,3]{1,0,2}", (1, 1)),
        ("s16[3,16,3]", "f32[3,16,3]{1,0,2}", (1, 0)),  # 24 words at once
    ],
)
def test_four_quads_of_a_row_are_found_together(src, dst, in_row):
    assert rows_found(only(src, dst, src_scale=3)) == in_row
    assert rows_found(only(src, dst, GPU, src_scale=3)) == (0, 0)


def test_quads_with_pairs_of_their_own_are_found_each_by_itself():
    for scale, in_row in ((np.arange(1, 33), (0, 0)), (np.arange(1, 4).reshape(3, 1), (1, 1))):
        assert rows_found(only("u8[3,32]", "f32[3,32]", src_scale=scale)) == in_row


@pytest.mark.parametrize(
    ("src", "arguments", "is_normal"),
    [
        ("u16", {"dst_scale": 255}, True),
        ("s64", {"dst_scale": 1e-18, "dst_zero_point": 0.5}, True),
        ("s16", {"dst_scale": np.linspace(-1e18, 1e18, 12)}, True),
        ("u8", {"dst_scale": 1e-30}, False),
        ("u8", {"dst_scale": np.geomspace(1, 1e30, 12)}, False),
        ("f16", {"dst_scale": 255}, False),
        ("u8", {"src_scale": 3, "dst_scale": 255}, False),
        ("u8", {"dst_scale": 255, "sum_scale": 0.5}, False),
        ("u8", {"src_scale": 255}, False),
    ],
)
def test_integers_divided_by_ordinary_scales_leave_out_what_is_not_normal(src, arguments, is_normal):
    assert only(f"{src}[6,12]", "f32[6,12]", **arguments).constant("ROUNDING") == 4 + 16 * is_normal


@pytest.mark.parametrize(
    ("dst", "scale", "is_short"),
    [
        ("f32[6,12]", 255, True),
        ("f32[6,12]", [[58.395], [57.12], [57.375], [1], [0.25], [3]], True),
        ("f32[6,12]", 100.00001, False),  # 100 / it is next to 1
        ("f32[6,12]{strides=(25,2),offset=0}", 255, False),  # element by element
    ],
)
def test_bytes_are_divided_the_short_way_where_every_quotient_allows_it(dst, scale, is_short):
    assert only("u8[6,12]", dst, dst_scale=np.float32(scale)).constant("ROUNDING") == 4 + 16 + 32 * is_short


@pytest.mark.parametrize(
    ("dst", "shaders"), [("f32", ["convert_planes", "convert_elements"]), ("f16", ["convert_elements"])]
)
def test_planes_of_an_odd_size_are_cut_where_their_last_four_ends(dst, shaders):
    kernels = planned("u8[3,31,37]{0,2,1}", f"{dst}[3,31,37]", src_scale=np.array([3, 0.5, 7]).reshape(-1, 1, 1))
    assert [kernel.shader for kernel in kernels] == shaders
    assert not any(kernel.constant("WHOLE_STORES") for kernel in kernels if kernel.shader == "convert_planes")


@pytest.mark.parametrize(
    "dst",
    [
        "u8[6,10]",  # rows of ten
        "u8[6,12]{strides=(13,1),offset=0}",  # rows begin between words
        "u8[6,12]{strides=(12,1),offset=2}",
        "u8[6,12]{strides=(24,2),offset=0}",
        "s64[6,12]{strides=(-28,2),offset=140}",
    ],
)
def test_elements_outside_whole_quads_are_written_one_by_one(dst):
    sizes = dst[dst.index("[") : dst.index("]") + 1]
    columns_first = "{0,1}"
    assert only(f"f32{sizes}{columns_first}", dst, src_scale=3).shader == "convert_elements"


def test_the_device_determines_the_quads_of_an_invocation():
    assert only("f32[64]", "u8[64]", ROOMY).constant("NEIGHBOURS") == 1
    assert only("f32[64]", "u8[64]", GPU).constant("NEIGHBOURS") == 0


# --- pairs


def test_a_number_for_all_elements_is_a_push_constant_and_arrays_follow_the_axes():
    scalar = only("f32[8,12]", "s8[8,12]", src_scale=0.5, src_zero_point=-3, dst_zero_point=7)
    names = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
    values = np.array([scalar.pushed(name) for name in names], np.uint32).view(np.float32)
    np.testing.assert_array_equal(values, np.array([0.5, -3, 1, 7], np.float32))
    arrays = only("f32[8,12]", "s8[8,12]", src_scale=np.arange(1, 13))
    assert len(arrays.parameters) - len(scalar.parameters) >= 12 * PAIR_BYTES
    assert arrays.pushed("src_pair_lane") == 1
    assert len(arrays.parameters) % 16 == 0


def test_scales_of_other_values_run_on_the_same_pipeline():
    for scale in (np.arange(1, 5).reshape(4, 1), np.float32(2)):
        (one,), (other,) = (planned("u8[4,8]", "f32[4,8]", src_scale=scale * factor) for factor in (1, 3))
        assert one != other
        assert (one.shader, one.constants, one.groups) == (other.shader, other.constants, other.groups)


@pytest.mark.parametrize(
    ("src", "dst"), [("u8[2,150000]", "f32[2,150000]"), ("u8[2,150000]", "f32[2,150000]{1,0:T(2,7)(3)}")]
)
def test_more_pairs_than_a_dispatch_may_have_are_cut(src, dst):
    """300,000 of 8 bytes are 2.4 MB; a strided walk and the general kernel each take at most 1 MiB at a time."""
    scale = (np.arange(300_000) % 7 + 1).reshape(2, -1)
    kernels = planned(src, dst, src_scale=scale)
    assert 3 <= len(kernels) <= 8
    assert all(len(kernel.parameters) < MAX_PAIR_BYTES + 4096 for kernel in kernels)
    assert {kernel.shader for kernel in kernels} <= {"convert_quads", "digit_convert"}
    both = planned(src, dst, src_scale=scale, dst_scale=scale[:, ::-1])
    assert all(len(kernel.parameters) < MAX_PAIR_BYTES + 4096 for kernel in both)
    assert len(both) > len(kernels)


# --- whole plans


@pytest.mark.parametrize(
    ("dst", "shader"),
    [
        ("f16[2,3,16,16]{strides=(960,320,20,1),offset=8}", "convert_quads"),
        ("f16[2,3,16,16]{strides=(1,2,6,100),offset=1}", "convert_elements"),
        ("f16[2,3,16,16]", "convert_quads"),
        ("f16[2,3,16,16]{3,2,1,0:T(8,8)}", "convert_quads"),
    ],
)
def test_everything_at_once_is_one_dispatch(dst, shader):
    """A slice with steps of an NHWC image, permuted, scaled by channel, and written in any layout."""
    image = TensorDesc.parse("u8[2,3,40,60]{1,3,2,0}")
    src = views.index(image, (slice(None), slice(None), slice(3, 35, 2), slice(50, 2, -3)))
    mean, std = np.array([3, 5, 7]).reshape(3, 1, 1), np.array([2, 4, 8]).reshape(3, 1, 1)
    named = {"src_zero_point": mean, "src_scale": 1 / std, "dst_zero_point": 0.5}
    (kernel,) = converted(src, TensorDesc.parse(dst), ROOMY, **named)
    assert kernel.shader == shader
    tiles = TensorDesc.parse("f16[64,256]{1,0:T(8,128)(2,1)}")
    assert len(converted(TensorDesc("s32", (64, 256)), tiles, ROOMY, dst_scale=np.arange(1, 257))) == 1


def test_no_elements_are_no_dispatch_and_one_is_one():
    assert planned("u8[0,3]", "f32[0,3]", src_scale=2) == []
    assert len(planned("u8[]", "f64[]", src_scale=2, dst_zero_point=1, sum_scale=3)) == 1


def test_a_buffer_larger_than_a_binding_is_cut_where_windows_can_be_bound():
    small = Limits(max_buffer_range=256)
    kernels = planned("u8[40,30]{0,1}", "f64[40,30]", small, src_scale=np.arange(1, 31))
    assert all(binding.nbytes <= 256 for kernel in kernels for binding in kernel.bindings)
    assert len(kernels) >= 40 * 30 * 8 // 256
    with pytest.raises(UnsupportedError, match="cannot bind part of a buffer"):
        planned("u8[40,30]", "f64[40,30]", Limits(max_buffer_range=256, offset_alignment=0))


def test_source_and_destination_are_each_counted_in_their_own_elements():
    """A source of bytes fits a binding eight times as long as its destination of 64 bits does."""
    limits = Limits(max_buffer_range=4096)
    assert len(planned("u8[2048]", "f64[2048]", limits)) == 4
    assert len(planned("f64[2048]", "u8[2048]", limits)) == 4


def test_how_to_round_is_a_constant_of_the_kernel():
    src, dst = TensorDesc("f32", (8,)), TensorDesc("u8", (8,))
    done = arithmetic(src, dst, (0,), Numbers(dst_scale=2, dst_zero_point=3, rounds_first=True, rounding="half_away"))
    (kernel,) = convert_kernels(src, dst, done, ROOMY)
    assert kernel.constant("ROUNDING") == 2 + 4 + 8
    (plain,) = convert_kernels(src, TensorDesc("s32", (8,)), NO_ARITHMETIC, ROOMY)
    assert (plain.constant("ROUNDING"), plain.constant("STEPS")) == (4, 0)
    (wraps,) = convert_kernels(src, dst, Arithmetic(saturate=False, rounding="truncate"), ROOMY)
    assert wraps.constant("ROUNDING") == 1
