"""A quotient is exact where a device's own division is 2.5 units off, as Vulkan lets it be: the shader made so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import open_device

import restride as rs
from restride.dtypes import DTYPES
from restride.runtime import open_runtime
from restride_conformance.shader import module_source, shader_under_test

SHADERS = Path(__file__).parent.parent / "shaders"
RATIO = "precise float ratio = from_1_to_4 / intBitsToFloat(b_significand + 0x3F000000);"
LEAST_NORMAL = np.float32(2.0**-126)


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
        is_flushed = (np.abs(expected) < LEAST_NORMAL) & (quotient == 0)
        wrong = (quotient.view(np.uint32) != expected.view(np.uint32)) & ~is_flushed
        assert [(a, b) for a, b in zip(x[wrong], np.broadcast_to(scale, x.shape)[wrong], strict=True)][:3] == []


@pytest.mark.parametrize("units", [-2, -1, 0, 1, 2])
def test_a_quotient_is_exact_wherever_the_instruction_is_off(units, tmp_path):
    scales = (SHADERS / "include/scales.glsl").read_text("utf-8")
    assert scales.count(RATIO) == 1
    # What the instruction gives is half a unit off already.
    worse = scales.replace(RATIO, f"{RATIO} ratio = ratio + float({units}) / 8388608.0;")
    kernel = (SHADERS / "convert/convert.comp").read_text("utf-8").replace('#include "scales.glsl"', worse)
    (tmp_path / "worse.comp").write_text(kernel, encoding="utf-8")
    made = shader_under_test(str(tmp_path / "worse.comp"), "convert_fours", tmp_path)
    random = np.random.default_rng(units + 2)
    x, scale = normal_numbers(random, 256 * 256).reshape(256, 256), normal_numbers(random, 256).reshape(256, 1)
    with np.errstate(all="ignore"):
        expected = x / scale
    open_device("vulkan").close()
    with rs.Device.over(open_runtime(runtime="vulkan", module_source=module_source(made))) as device:
        quotient = rs.reorder(rs.asarray(x, device=device), dst_scale=scale).numpy()
    wrong = (quotient.view(np.uint32) != expected.view(np.uint32)) & (np.abs(expected) > LEAST_NORMAL)
    assert [(a, b) for a, b in zip(x[wrong], np.broadcast_to(scale, x.shape)[wrong], strict=True)][:3] == []
