"""Padding: the values that an element type holds, their bits, and kernels that write padding and nothing else."""

from __future__ import annotations

import math
import random

import ml_dtypes
import numpy as np
import pytest
from support.random_layouts import random_layout
from twin.kernels import run

from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.layout.tensor_desc import element_bits, padding_number
from restride.plan.fill import pad_kernels, padding_kernels
from restride.reference.memory import from_buffer, to_buffer
from restride_conformance.shader.part import SteeredLimits

POISON = 0xCD


# --- padding values


@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        ("f32", 1.5, 0x3FC00000),
        ("f32", np.float16(1.5), 0x3FC00000),
        ("f32", True, 0x3F800000),
        ("f32", -0.0, 0x80000000),
        ("f32", math.inf, 0x7F800000),
        ("f64", 0.1, 0x3FB999999999999A),
        ("f16", 65519, 0x7BFF),
        ("bf16", ml_dtypes.bfloat16(-2), 0xC000),
        ("bf16", 1 + 2**-8 + 2**-30, 0x3F81),
        ("bf16", 1 + 2**-8, 0x3F80),
        ("f8e4m3fn", -448, 0xFE),
        ("f8e5m2", math.inf, 0x7C),
        ("s8", -128, 0x80),
        ("s16", -1.0, 0xFFFF),
        ("u64", (1 << 64) - 1, (1 << 64) - 1),
        ("s64", np.int8(-1), (1 << 64) - 1),
        ("pred", 1, 1),
    ],
)
def test_bits_of_padding_values(dtype, value, bits):
    desc = TensorDesc.xla(dtype, (2,), padded_sizes=(3,), padding_value=value)
    assert element_bits(desc.padding_value, desc.dtype) == bits
    assert TensorDesc.parse(str(desc)) == desc


def test_a_nan_stays_one():
    for name, element in DTYPES.items():
        if element.is_float:
            desc = TensorDesc.xla(name, (2,), padded_sizes=(3,), padding_value=math.nan)
            bits = element_bits(desc.padding_value, element)
            assert np.isnan(np.array(bits, f"u{element.itemsize}").view(element.dtype).astype(np.float64))
            assert math.isnan(TensorDesc.parse(str(desc)).padding_value)


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("u8", 256, "padding_value 256 is outside [0, 255] of u8, for u8[2]"),
        ("u8", -1, "padding_value -1 is outside [0, 255] of u8, for u8[2]"),
        ("s8", 128, "padding_value 128 is outside [-128, 127] of s8, for s8[2]"),
        ("u64", 1 << 64, "padding_value 18446744073709551616 is outside [0, 18446744073709551615] of u64"),
        ("s64", -(1 << 63) - 1, "is outside [-9223372036854775808, 9223372036854775807] of s64, for s64[2]"),
        ("pred", 2, "padding_value 2 is outside [0, 1] of pred, for pred[2]"),
        ("s32", 1.5, "padding_value must be an integer, got 1.5 (float), for s32[2]"),
        ("s32", math.nan, "padding_value must be an integer, got nan (float), for s32[2]"),
        ("s32", math.inf, "padding_value must be an integer, got inf (float), for s32[2]"),
        ("s32", 1 << 600, "padding_value must be below 2^512 in magnitude"),
        ("f16", 65520, "padding_value 65520 is beyond what f16 holds, for f16[2]"),
        ("f16", -1e300, "padding_value -1e+300 is beyond what f16 holds, for f16[2]"),
        ("bf16", 3.4e38, "padding_value 3.4e+38 is beyond what bf16 holds, for bf16[2]"),
        ("f32", 3.5e38, "padding_value 3.5e+38 is beyond what f32 holds, for f32[2]"),
        ("f8e4m3fn", 465, "padding_value 465 is beyond what f8e4m3fn holds, for f8e4m3fn[2]"),
        ("f8e4m3fn", math.inf, "padding_value inf is beyond what f8e4m3fn holds, for f8e4m3fn[2]"),
        ("f8e5m2", 61440, "padding_value 61440 is beyond what f8e5m2 holds, for f8e5m2[2]"),
        ("f32", 10**40, "is beyond what f32 holds, for f32[2]"),
        ("f64", 10**400, "padding_value must be below 2^512 in magnitude, got 1329 bits, for f64[2]"),
        ("f32", "3", "padding_value must be a number, got '3', for f32[2]"),
        ("f32", None, "padding_value must be a number, got None, for f32[2]"),
        ("f32", 1j, "padding_value must be a number, got 1j, for f32[2]"),
        ("f32", np.str_("3"), "padding_value must be a number, got np.str_('3'), for f32[2]"),
        ("f32", np.datetime64("2020-01-01"), "padding_value must be a number, got np.datetime64("),
        ("f32", np.complex64(1), "padding_value must be a number, got np.complex64("),
        ("f32", np.zeros(2), "padding_value must be a number, got array([0., 0.]), for f32[2]"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_values_that_a_type_does_not_hold_are_refused(dtype, value, message):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc.xla(dtype, (2,), padded_sizes=(3,), padding_value=value)
    assert message in str(caught.value)


def test_a_padding_number_is_of_the_type_s_kind():
    for value in (3, 3.0, np.int8(3), np.float32(3), ml_dtypes.bfloat16(3)):
        integer, number = padding_number(value, DTYPES["s16"]), padding_number(value, DTYPES["f16"])
        assert (type(integer), type(number), integer, number) == (int, float, 3, 3.0)


# --- kernels


def padded(desc: TensorDesc, limits: Limits) -> np.ndarray:
    """A poisoned buffer after the kernels that write the padding."""
    memory = np.full(desc.nbytes, POISON, np.uint8)
    run(tuple(padding_kernels(desc, limits)), np.zeros(4, np.uint8), memory)
    return memory


def expected(desc: TensorDesc) -> tuple[np.ndarray, np.ndarray]:
    """The buffer around elements of two kinds: where both agree, there is padding."""
    itemsize = desc.dtype.itemsize
    images = []
    for byte in (0x00, 0x3F if desc.dtype.name != "pred" else 0x01):
        elements = np.full(desc.numel * itemsize, byte, np.uint8).view(desc.dtype.dtype).reshape(desc.sizes)
        images.append(to_buffer(elements, desc))
    return images[0], images[0] == images[1]


@pytest.mark.parametrize("limits", [Limits(), SteeredLimits(elements_per_dispatch=0)], ids=["usual", "walks"])
@pytest.mark.parametrize("seed", range(4))
def test_every_place_between_elements_is_written(limits, seed):
    rng = random.Random(seed)
    seen = 0
    for _ in range(50):
        desc = TensorDesc.parse(random_layout(rng, max_elements=200))
        memory = padded(desc, limits)
        if not desc.is_whole or not desc.is_padded:
            np.testing.assert_array_equal(memory, POISON, str(desc))
            continue
        image, is_padding = expected(desc)
        np.testing.assert_array_equal(memory[is_padding], image[is_padding], str(desc))
        seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    "text",
    [
        "u8[0,3]{1,0:pad(2,4)=7}",
        "u8[0,3]{1,0:T(2,2)pad(2,3)=7}",
        "u64[3,0]{0,1:T(2,3)pad(5,4)=18446744073709551615}",
        "s64[2,3]{1,0:T(2,2)pad(3,5)=-2}",
        "f64[1,1]{1,0:T(3)(2)pad(2,3)=-1.5}",
        "f8e5m2[7]{0:T(4)(3)pad(9)=inf}",
        "bf16[3,5]{1,0:T(2,2)(2,1)pad(3,6)=nan}",
        "pred[3,3]{1,0:T(*,4)pad(4,3)=1}",
        "u16[31,31]{1,0:pad(32,32)=513}",
        "u8[255]{0:pad(256)=7}",
        "u16[63,64]{1,0:T(8,8)(2,1)pad(64,64)=513}",
        "u8[]{:T(128)}",
        "u32[1]{0:T(2,3)pad(2)=9}",
        "u8[2,20,3,3]:nChw16c",
        "u8[63,130]:AB8b8a",
        "u8[3,5]{1,0:L(100)}",
        "f32[3,5]{1,0:T(2,4)L(50)pad(4,6)=1.5}",
    ],
)
def test_padding_of_known_layouts(text):
    desc = TensorDesc.parse(text)
    image, is_padding = expected(desc)
    assert is_padding.any()
    for limits in (Limits(), SteeredLimits(elements_per_dispatch=0)):
        np.testing.assert_array_equal(padded(desc, limits)[is_padding], image[is_padding])


@pytest.mark.parametrize(
    "text",
    ["f32[4,6]{1,0:T(2,2)}", "f32[3,5]{strides=(9,1)}", "f32[3]{at=(a),in=[5]{0:T(2,4)}}", "f32[0,3]{1,0:T(2,2)}"],
)
def test_layouts_without_padding_need_no_kernel(text):
    assert list(padding_kernels(TensorDesc.parse(text), Limits())) == []


@pytest.mark.parametrize(
    "text", ["f32[64,1020]{1,0:pad(64,1024)=1}", "u16[63,64]{1,0:T(8,8)(2,1)}", "u8[2,31,9,9]:nChw16c"]
)
def test_thin_padding_is_written_alone(text):
    """A last column of 4 in rows of 1024: filling the whole buffer would cost as much as the copy."""
    desc = TensorDesc.parse(text)
    image, is_padding = expected(desc)
    memory = padded(desc, Limits())
    np.testing.assert_array_equal(memory[is_padding], image[is_padding])
    np.testing.assert_array_equal(memory[~is_padding], POISON)


# --- one value around a source


@pytest.mark.parametrize("limits", [Limits(), SteeredLimits(max_buffer_range=256, max_group_count=(3, 65535, 2))])
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_a_source_anywhere_in_a_result(itemsize, limits):
    """Sources and results of any strides: nothing but the elements of the result is written."""
    rng = random.Random(itemsize)
    cut = 0
    for _ in range(120):
        sizes = [rng.choice((1, 2, 3, 4, 8, 12)) for _ in range(rng.randrange(1, 4))]
        steps = rng.choice((1, 2, 4, 8))
        starts, behind = ([rng.randrange(4) * steps for _ in sizes] for _ in range(2))
        padded = [sum(each) for each in zip(starts, sizes, behind, strict=True)]
        src, dst = random_strides(rng, sizes, itemsize), random_strides(rng, padded, itemsize)
        source = np.random.default_rng(itemsize).integers(0, 256, src.nbytes, np.uint8)
        value = rng.randrange(1 << 8 * itemsize)
        inside = from_buffer(source, src)
        widths = list(zip(starts, behind, strict=True))
        kernels = pad_kernels(src, dst, starts, value, limits)
        right = np.pad(inside, widths, constant_values=value)
        result = np.full(dst.nbytes, POISON, np.uint8)
        run(kernels, source, result)
        np.testing.assert_array_equal(result, to_buffer(right, dst, np.full(dst.nbytes, POISON, np.uint8)))
        assert limits != Limits() or len(kernels) == 1
        cut += len(kernels) > 1
    assert bool(cut) == (limits != Limits())


def random_strides(rng: random.Random, sizes: list[int], itemsize: int) -> TensorDesc:
    order = rng.sample(range(len(sizes)), len(sizes))
    room = [size * rng.choice((1, 1, 2)) + rng.choice((0, 0, 1)) for size in sizes]
    key = tuple(
        slice(None, None, rng.choice((1, -1))) if size == of else slice(of - size, None)
        for size, of in zip(sizes, room, strict=True)
    )
    return views.index(TensorDesc.xla(f"u{8 * itemsize}", room, order), key)


def test_rows_of_channels_are_one_axis_of_the_widest_elements():
    (kernel,) = pad_kernels(TensorDesc("u8", (4, 6, 4)), TensorDesc("u8", (6, 10, 4)), (1, 2, 0), 7, Limits())
    assert kernel.shader == "element_pad"
    assert (kernel.constant("BITS"), kernel.constant("RANK")) == (64, 2)
    assert (kernel.pushed("low"), kernel.pushed("high")) == (0x07070707, 0x07070707)
