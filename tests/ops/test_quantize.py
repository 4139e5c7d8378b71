"""ONNX's QuantizeLinear and DequantizeLinear and torchvision's Normalize, by their own examples and definitions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from support.onnx_cases import node_cases

import restride as rs

QUANTIZED = {case.name: case for case in node_cases("QuantizeLinear", "DequantizeLinear")}
CASTS = {case.name: case for case in node_cases("Cast")}


@pytest.mark.parametrize("name", QUANTIZED)
def test_examples_of_onnx(device, name):
    case = QUANTIZED[name]
    x, scale, zero_point = (*case.inputs, None)[:3]
    arguments = {key: value for key, value in case.attributes.items() if key in ("axis", "block_size")}
    if "output_dtype" in case.attributes:
        arguments["dtype"] = onnx.helper.tensor_dtype_to_np_dtype(case.attributes["output_dtype"])
    on_device = rs.asarray(x, device=device)
    if case.operation == "QuantizeLinear":
        got = rs.quantize(on_device, scale, zero_point, saturate=bool(case.attributes.get("saturate", 1)), **arguments)
    else:
        # ONNX gives the type of the scale unless the node says otherwise.
        got = rs.dequantize(on_device, scale, zero_point, **{"dtype": scale.dtype, **arguments})
    assert got.dtype == case.output.dtype
    assert got.numpy().tobytes() == case.output.tobytes()


@pytest.mark.parametrize("name", CASTS)
def test_casts_of_onnx(device, name):
    """NaN of any payload is right: ONNX does not say which."""
    case = CASTS[name]
    saturate = case.types[-1] != "FLOAT16" and bool(case.attributes.get("saturate", 1))
    x = rs.asarray(case.inputs[0], device=device)
    got = rs.reorder(x, dtype=case.output.dtype, rounding="truncate", saturate=saturate).numpy()
    is_nan = np.isnan(case.output.astype(np.float64))
    assert (np.isnan(got.astype(np.float64)) == is_nan).all()
    assert got[~is_nan].tobytes() == case.output[~is_nan].tobytes()


def test_quantize_rounds_before_the_zero_point_and_reorder_after(device):
    x = rs.asarray(np.float32([0.5, 1.5, 2.5]), device=device)
    assert rs.quantize(x, 1.0, 3).numpy().tolist() == [3, 5, 5]
    assert rs.reorder(x, dtype="u8", dst_zero_point=3).numpy().tolist() == [4, 4, 6]


IMAGE = np.random.default_rng(3).normal(0, 300, (2, 3, 4, 6)).astype(np.float32)
SCALES = np.float32([2, 4.5, 0.3])
ZERO_POINTS = np.uint8([84, 0, 196])


def quantized(x, scale, zero_point):
    return np.clip(np.rint(x / scale) + zero_point, 0, 255).astype(np.uint8)


EXPECTED = quantized(IMAGE, SCALES.reshape(3, 1, 1), ZERO_POINTS.astype(np.float32).reshape(3, 1, 1))


@pytest.mark.parametrize("axis", [1, -3])
@pytest.mark.parametrize(
    ("layout", "axes"), [(None, (0, 1, 2, 3)), ("nhwc", (0, 1, 2, 3)), ("NCHW->HWNC", (2, 3, 0, 1))]
)
def test_scales_lie_along_an_axis_of_x_wherever_the_layout_puts_it(device, axis, layout, axes):
    x = rs.asarray(IMAGE, device=device)
    got = rs.quantize(x, SCALES, ZERO_POINTS, axis=axis, layout=layout)
    assert np.array_equal(got.numpy(), EXPECTED.transpose(axes))
    back = rs.dequantize(rs.asarray(EXPECTED, device=device), SCALES, ZERO_POINTS, axis=axis, layout=layout)
    differences = EXPECTED.astype(np.float32) - ZERO_POINTS.reshape(3, 1, 1)
    assert np.array_equal(back.numpy(), (SCALES.reshape(3, 1, 1) * differences).transpose(axes))


@pytest.mark.parametrize(("layout", "axes"), [(None, (0, 1, 2, 3)), ("NCHW->WCHN", (3, 1, 2, 0))])
def test_blocks_share_a_scale(device, layout, axes):
    # 6 columns in blocks of 4: the second one is 2 wide.
    scales = np.random.default_rng(4).uniform(1, 5, (2, 3, 4, 2)).astype(np.float32)
    each = scales.repeat(4, 3)[..., :6]
    x = rs.asarray(IMAGE, device=device)
    got = rs.quantize(x, scales, 7, axis=-1, block_size=4, layout=layout)
    assert np.array_equal(got.numpy(), quantized(IMAGE, each, np.float32(7)).transpose(axes))
    back = rs.dequantize(rs.asarray(EXPECTED, device=device), scales, 7, axis=3, block_size=4, layout=layout)
    assert np.array_equal(back.numpy(), (each * (EXPECTED.astype(np.float32) - 7)).transpose(axes))


def test_scales_may_be_tensors_and_have_any_shape_that_broadcasts(device):
    x = rs.asarray(IMAGE, device=device)
    rows = np.float32([1, 2, 3, 4]).reshape(4, 1)
    assert np.array_equal(rs.quantize(x, rows, 9).numpy(), quantized(IMAGE, rows, np.float32(9)))
    scales, zero_points = (rs.asarray(values, device=device) for values in (SCALES, ZERO_POINTS))
    assert np.array_equal(rs.quantize(x, scales, zero_points).numpy(), EXPECTED)
    assert np.array_equal(rs.quantize(x, [2.0], [3], axis=0).numpy(), quantized(IMAGE, 2, np.float32(3)))


def test_the_type_of_the_result(device):
    x = rs.asarray(np.float32([[-200, 3, 300]]), device=device)
    assert rs.quantize(x, 1).dtype == "u8"
    assert rs.quantize(x, 1, 5).dtype == "u8"
    assert rs.quantize(x, 1, np.int8(5)).dtype == "s8"
    assert rs.quantize(x, 1, np.zeros(1, ml_dtypes.float8_e5m2)).dtype == "f8e5m2"
    assert rs.quantize(x, 1, rs.asarray(np.uint16([5]), device=device)).dtype == "u16"
    assert rs.quantize(x, 1, np.array([5]), dtype="s16").dtype == "s16"
    assert rs.quantize(x, 1, layout="s8[1,3]{0,1}").dtype == "s8"
    out = rs.empty("s16[1,3]", device)
    assert rs.quantize(x, 1, 5, out=out) is out
    assert out.numpy().tolist() == [[-195, 8, 305]]
    integers = rs.asarray(np.uint8([[7]]), device=device)
    assert rs.dequantize(integers, 2).dtype == "f32"
    assert rs.dequantize(integers, np.float16(2), dtype="f16").dtype == "f16"
    assert rs.dequantize(integers, 2, layout="bf16[1,1]").dtype == "bf16"
    assert rs.dequantize(integers, 2, out=rs.empty("f16[1,1]", device)).dtype == "f16"
    assert rs.normalize(integers, 0, 1).dtype == "f32"
    assert rs.normalize(integers, 0, 1, dtype="bf16").dtype == "bf16"


def test_saturate_is_about_8_bit_floats(device):
    x = rs.asarray(np.float32([[-1e9, 1e9]]), device=device)
    assert rs.quantize(x, 2, dtype="s8", saturate=False).numpy().tolist() == [[-128, 127]]
    assert rs.quantize(x, 2, dtype="f8e5m2").numpy().astype(float).tolist() == [[-57344, 57344]]
    assert rs.quantize(x, 2, dtype="f8e5m2", saturate=False).numpy().astype(float).tolist() == [[-np.inf, np.inf]]
    assert np.isnan(rs.quantize(x, 2, dtype="f8e4m3fn", saturate=False).numpy().astype(float)).all()


def test_8_bit_floats_are_not_rounded_to_integers_first(device):
    x = rs.asarray(np.float32([0.25, 0.5, 3.5]), device=device)
    assert rs.quantize(x, 2, dtype="f8e4m3fn").numpy().astype(float).tolist() == [0.125, 0.25, 1.75]


def test_integers_are_quantized_too(device):
    # ONNX has s32 sources, the sums of an integer matrix product.
    x = rs.asarray(np.int32([[-1000, 5, 7, 250]]), device=device)
    assert rs.quantize(x, 2, 3).numpy().tolist() == [[0, 5, 7, 128]]


MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
PIXELS = np.arange(3 * 256, dtype=np.uint8).reshape(1, 16, 16, 3)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_normalize_of_interleaved_bytes_is_one_dispatch(device, dtype):
    x = rs.asarray(PIXELS, device=device)
    before = device.counters().dispatches
    got = rs.normalize(x, MEAN, STD, layout="NHWC->NCHW", dtype=dtype)
    assert device.counters().dispatches == before + 1
    divided = PIXELS.astype(np.float32) / (255 * STD).astype(np.float32)
    expected = (divided + (-MEAN / STD).astype(np.float32)).transpose(0, 3, 1, 2)
    assert np.array_equal(got.numpy(), expected.astype(got.dtype.dtype))


def test_normalize_is_close_to_the_exact_value(device):
    x = np.arange(256, dtype=np.uint8).reshape(256, 1).repeat(3, 1)
    got = rs.normalize(rs.asarray(x, device=device), MEAN, STD).numpy()
    assert (np.abs(got - (x / 255 - MEAN) / STD) <= 2.0**-22 / STD).all()


@pytest.mark.parametrize(
    ("dtype", "largest"), [(np.int16, 32767), (np.uint16, 65535), (np.int32, 2**31 - 1), (bool, 1)]
)
def test_normalize_brings_every_integer_to_1(device, dtype, largest):
    x = np.array([0, 1, largest]).astype(dtype)
    got = rs.normalize(rs.asarray(x, device=device), 0.5, 0.25).numpy()
    assert got.tolist() == pytest.approx([-2, 4 / largest - 2, 2], rel=1e-6)


def test_normalize_of_floats_is_a_subtraction_and_a_division(device):
    x = np.random.default_rng(8).uniform(0, 1, (3, 5, 7)).astype(np.float32)
    mean, std = (values.astype(np.float32).reshape(3, 1, 1) for values in (MEAN, STD))
    got = rs.normalize(rs.asarray(x, device=device), MEAN, STD, axis=-3)
    assert np.array_equal(got.numpy(), (x - mean) / std)
    assert np.array_equal(rs.normalize(rs.asarray(x, device=device), mean, std).numpy(), (x - mean) / std)
    turned = rs.normalize(rs.asarray(x, device=device), MEAN, STD, axis=0, layout="CHW->HWC")
    assert np.array_equal(turned.numpy(), ((x - mean) / std).transpose(1, 2, 0))
    once = rs.normalize(rs.asarray(x, device=device), 0.5, 0.25)
    assert np.array_equal(once.numpy(), (x - np.float32(0.5)) / np.float32(0.25))


FLOATS, BYTES = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.uint8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: rs.quantize(x, [1, 2]),
            r"scale must be one number or 3, one for each index of axis 1, got 2, for f32",
        ),
        (
            lambda x: rs.quantize(x, 1, [1, 2], axis=-1),
            "zero_point must be one number or 3, .* of axis 1, got 2, for f32",
        ),
        (lambda x: rs.quantize(x, [1, 2], axis=2), r"axis 2 is outside \[-2, 2\) of f32\[2,3\]"),
        (lambda x: rs.quantize(x, [1, 2], axis=0.0), r"axis must be an integer, got 0.0 \(float\), for f32\[2,3\]"),
        (lambda x: rs.quantize(x, 1, block_size=-1), "block_size must be 0 or more, got -1, for f32"),
        (lambda x: rs.quantize(x, 1, block_size=2, axis=-3), r"axis -3 is outside \[-2, 2\) of f32\[2,3\]"),
        (
            lambda x: rs.quantize(x, [1, 2], block_size=2),
            r"scale of blocks must have all 2 axes, got sizes \[2\], for f32",
        ),
        (
            lambda x: rs.quantize(x, 1, np.array([5, 6, 7])),
            "zero_point of s64 does not say the type of the result, .* give",
        ),
        (lambda x: rs.quantize(x, 0), "^scale must be finite and not 0 as f32, got 0, for f32"),
        (
            lambda x: rs.quantize(x, 1, -1),
            "^zero_point must be an integer of u8, 0 to 255, got -1; the result is u8 unless dtype says otherwise, for",
        ),
        (
            lambda x: rs.quantize(x, 1, -1, dtype="u8"),
            r"^zero_point must be an integer of u8, .* for f32\[2,3\]\{1,0\}$",
        ),
        (lambda x: rs.quantize(x, 1, 0.5), "^zero_point must be an integer of u8, 0 to 255, got 0.5, for f32"),
        (lambda x: rs.quantize(x[0], [1, 2, 3]), r"axis 1 is outside \[-1, 1\) of f32\[3\].*; 1 is the default"),
        (lambda x: rs.quantize(x, 1, dtype="pred"), "quantize, by dtype, layout or out, must be of integers or 8-bit "),
        (lambda x: rs.dequantize(x, 1), "source of dequantize must be of integers or 8-bit floats, got f32, for f32"),
        (lambda x: rs.quantize(x, "1"), "scale must be numbers, got an array of <U1, for f32"),
        (
            lambda x: rs.quantize(x, np.ones((2, 2))),
            r"^scale of sizes \[2, 2\] must broadcast against .*, for f32\[2,3\]",
        ),
        (lambda x: rs.normalize(x, np.inf, 1), "mean must be finite, got inf, for f32"),
        (lambda x: rs.normalize(x, 0, 1, dtype="u8"), "the result of normalize must be of floats, got u8 by dtype, "),
        (lambda x: rs.normalize(x, 1e39, 1), r"^mean must be finite as f32, got 1e\+39, for f32"),
        (lambda x: rs.normalize(x, 0, 1e-60), "^std must be finite and not 0 as f32, got 1e-60, for f32"),
    ],
)
def test_what_breaks_a_rule_is_refused(device, call, message):
    with pytest.raises(rs.DescriptorError, match=message):
        call(rs.asarray(FLOATS, device=device))


def test_the_scale_of_integers_is_that_of_the_source(device):
    x = rs.asarray(BYTES, device=device)
    with pytest.raises(rs.DescriptorError, match=r"^zero_point must be an integer of u8, 0 to 255, got -1, for"):
        rs.dequantize(x, 1, -1)
    with pytest.raises(rs.DescriptorError, match=r"^scale must be .* got inf at entry \(0, 1\), for u8"):
        rs.dequantize(x, [1, np.inf, 2])
    with pytest.raises(rs.DescriptorError, match=r"^255 \* std must be finite .* got 2.55e-58"):
        rs.normalize(x, 0, 1e-60)
    with pytest.raises(
        rs.DescriptorError, match=r"^mean must be within -1 and 1, because elements of u8 .* got 123: in"
    ):
        rs.normalize(x, (0.4, 123, 0.4), 0.25)
    with pytest.raises(rs.DescriptorError, match=r"^std must be .* is mean / 255 and std / 255, for u8\[2,3\]"):
        rs.normalize(x, 0, -255)
    assert rs.normalize(x, -1, 1).numpy().tolist() == [[1, 1, 1]] * 2
    with pytest.raises(rs.DescriptorError, match=r"'nonsense'.*, for f32\[2,3\]\{1,0\}$"):
        rs.quantize(np.zeros((2, 3), np.float32), 0.5, dtype="nonsense")
    with pytest.raises(rs.DescriptorError, match="dequantize must be of floats, got s8 by dtype, layout or out"):
        rs.dequantize(x, 1, dtype="s8")


def test_host_arrays_go_to_the_device_of_out(device):
    out = rs.empty("u8[2,3]", device)
    assert rs.quantize(FLOATS + 1, 0.5, out=out) is out
    assert out.numpy().tolist() == [[2, 2, 2]] * 2
