"""A quotient is exact where a device's own division is 2.5 units off, as Vulkan lets it be: the shader made so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride.dtypes import DTYPES
from restride.plan.convert import _are_short
from restride.runtime import open_runtime
from restride_conformance.shader import module_source, shader_under_test

SHADERS = Path(__file__).parents[2] / "shaders"
RATIO = "precise float ratio = from_1_to_4 / intBitsToFloat(b_significand + 0x3F000000);"
PER_SCALE = "float ratio = a * (1.0 / b);"
MIN_NORMAL = np.float32(2.0**-126)


def normal_numbers(random: np.random.Generator, count: int) -> np.ndarray:
    """Of every exponent: half of them with few bits, so that quotients are exact, or next to a power of two."""
    bits = random.integers(1 << 23, 255 << 23, count, np.uint32)
    few = bits & 0x7F800000 | random.choice(np.array([0, 1, 2, 0x400000, 0x7FFFFE, 0x7FFFFF], np.uint32), count)
    return (np.where(np.arange(count) % 2, bits, few) | random.integers(0, 2, count, np.uint32) << 31).view(np.float32)


@pytest.mark.parametrize("dtype", ["u8", "s16", "u16", "s64"])
def test_an_integer_is_divided_exactly_by_any_scale(dtype, device):
    """By ordinary scales, and by some whose quotients leave f32 or are denormal, which a device may take for zeros."""
    random = np.random.default_rng(7)
    info = np.iinfo(DTYPES[dtype].dtype)
    x = random.integers(info.min, info.max, (64, 4096), DTYPES[dtype].dtype, endpoint=True)
    x[:, :4] = 0, 1, info.min, info.max
    ordinary = normal_numbers(random, 64).reshape(64, 1)
    ordinary = (ordinary.view(np.uint32) & 0x83FFFFFF | 0x3C000000).view(np.float32)
    extreme = ordinary * np.float32(2) ** random.choice([-110, -70, 70, 110, 117], (64, 1)).astype(np.float32)
    for scale in (ordinary, extreme):
        with np.errstate(over="ignore"):
            expected = x.astype(np.float32) / scale
        quotient = rs.reorder(rs.asarray(x, device=device), dtype="f32", dst_scale=scale).numpy()
        is_flushed = (np.abs(expected) < MIN_NORMAL) & (quotient == 0)
        wrong = (quotient.view(np.uint32) != expected.view(np.uint32)) & ~is_flushed
        assert [(a, b) for a, b in zip(x[wrong], np.broadcast_to(scale, x.shape)[wrong], strict=True)][:3] == []


def convert_quads(folder, statement, added):
    """The module convert_quads with a statement added behind one of scales.glsl."""
    scales = (SHADERS / "include/scales.glsl").read_text("utf-8")
    assert scales.count(statement) == 1
    scales = scales.replace(statement, f"{statement} {added}")
    kernel = (SHADERS / "convert/convert.comp").read_text("utf-8").replace('#include "scales.glsl"', scales)
    (folder / "worse.comp").write_text(kernel, encoding="utf-8")
    return shader_under_test(str(folder / "worse.comp"), "convert_quads", folder)


@pytest.mark.parametrize("dtype", ["u8", "s8"])
@pytest.mark.parametrize("units", [-5, -1, 0, 2, 5])
def test_a_byte_is_divided_exactly_by_the_short_division(dtype, units, tmp_path):
    """Wherever the instructions are off: by whole units, beside what they are off already."""
    worse = convert_quads(tmp_path, PER_SCALE, f"ratio = uintBitsToFloat(floatBitsToUint(ratio) + uint({units}));")
    x = np.arange(1, 257).astype(np.uint8).view(dtype.replace("s8", "i8").replace("u8", "u1"))
    x = x[x != 0][:252]
    random = np.random.default_rng(3)
    scale = np.exp2(random.uniform(-20, 20, 200)).astype(np.float32) * random.choice(np.float32([-1, 1]), 200)
    scale[:8] = 0.25, 127.5, 255, -3, 1 / 255, 58.395, 1, 2**40
    scale = np.array([each for each in scale if _are_short(np.float32([each, 0]).tobytes())]).reshape(-1, 1)
    assert len(scale) > 190
    open_device("vulkan").close()
    with rs.Device.over(open_runtime(runtime="vulkan", module_source=module_source(worse))) as device:
        rows = np.broadcast_to(x, (len(scale), len(x)))
        quotient = rs.reorder(rs.asarray(rows, device=device), dtype="f32", dst_scale=scale).numpy()
    np.testing.assert_array_equal(quotient.view(np.uint32), (rows.astype(np.float32) / scale).view(np.uint32))


def test_scales_with_a_quotient_near_a_power_of_two_or_a_middle_take_the_long_division():
    """100 / (100 (1 + 2^-23)) is 1 - 2^-23; a middle is half a unit, as in 3 / (3 / (1 + 2^-24))."""
    assert _are_short(np.float32([255, 0, 100, 0]).tobytes())
    assert not _are_short(np.float32([255, 0, np.nextafter(np.float32(100), np.float32(200)), 0]).tobytes())
    scales = np.nextafter(np.float32(1), np.float32(2)) * np.arange(1, 4000, dtype=np.float32)
    near = [scale for scale in scales if not _are_short(np.float32([scale, 0]).tobytes())]
    exact = np.arange(1, 256)[:, None] / np.float64(near)
    units = np.frexp(exact)[0] * 2**24
    assert (np.abs(units % 1 - 0.5).min(axis=0) < 2.0**-18).any()


@pytest.mark.parametrize("units", [-2, -1, 0, 1, 2])
def test_a_quotient_is_exact_wherever_the_instruction_is_off(units, tmp_path):
    # What the instruction gives is half a unit off already.
    worse = convert_quads(tmp_path, RATIO, f"ratio = ratio + float({units}) / 8388608.0;")
    random = np.random.default_rng(units + 2)
    x, scale = normal_numbers(random, 256 * 256).reshape(256, 256), normal_numbers(random, 256).reshape(256, 1)
    with np.errstate(all="ignore"):
        expected = x / scale
    open_device("vulkan").close()
    with rs.Device.over(open_runtime(runtime="vulkan", module_source=module_source(worse))) as device:
        quotient = rs.reorder(rs.asarray(x, device=device), dst_scale=scale).numpy()
    wrong = (quotient.view(np.uint32) != expected.view(np.uint32)) & (np.abs(expected) > MIN_NORMAL)
    assert [(a, b) for a, b in zip(x[wrong], np.broadcast_to(scale, x.shape)[wrong], strict=True)][:3] == []
