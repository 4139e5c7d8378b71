"""Padding: the values that an element type holds, their bits, and layouts that need no kernel to write it."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.layout.tensor_desc import element_bits, padding_number
from restride.plan.fill import pad_kernels, padding_kernels

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


@pytest.mark.parametrize(
    "text",
    ["f32[4,6]{1,0:T(2,2)}", "f32[3,5]{strides=(9,1)}", "f32[3]{at=(a),in=[5]{0:T(2,4)}}", "f32[0,3]{1,0:T(2,2)}"],
)
def test_layouts_without_padding_need_no_kernel(text):
    assert list(padding_kernels(TensorDesc.parse(text), Limits())) == []


def test_rows_of_channels_are_one_axis_of_the_widest_elements():
    (kernel,) = pad_kernels(TensorDesc("u8", (4, 6, 4)), TensorDesc("u8", (6, 10, 4)), (1, 2, 0), 7, Limits())
    assert kernel.shader == "element_pad"
    assert (kernel.constant("BITS"), kernel.constant("RANK")) == (64, 2)
    assert (kernel.pushed("low"), kernel.pushed("high")) == (0x07070707, 0x07070707)
