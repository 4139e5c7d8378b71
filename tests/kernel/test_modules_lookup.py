"""Look-ups by the shipped modules, on a driver: every byte is as the reference has it, whatever limits and tables."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.guarded_memories import run
from support.narrow_limits import CRAMPED, WHOLE
from support.random_layouts import random_sides
from support.sampled import sample

import restride as rs
from restride.errors import UnsupportedError
from restride.kernel import Choices, Limits
from restride.layout import TensorDesc, views
from restride.ops.lookup import read_table
from restride.plan.lookup import ENTRIES, lookup_kernels, lookup_walks
from restride.reference import from_buffer, lookup, to_buffer
from restride_conformance import fill

ROOMY = Limits()
GPU = Limits(choices=Choices("apart"))


def require_looked_up(
    device: rs.Device, src: TensorDesc, dst: TensorDesc, axis: int | None, limits: Limits
) -> set[str]:
    """The modules that look up; what lies around the elements of ``dst`` has kept its bytes."""
    rng = np.random.default_rng(src.numel)
    rows = () if axis is None else (src.sizes[axis],)
    entries = fill.bits(dst.dtype, ENTRIES * int(np.prod(rows)), 1).reshape(*rows, ENTRIES)
    table = read_table(src, entries, axis, None)
    cut_walks = lookup_walks(src, dst, table, limits)
    if cut_walks is None:
        return set()
    source = rng.integers(0, 256, src.nbytes, np.uint8)
    old = fill.bits(dst.dtype, dst.numel, 2).reshape(dst.sizes)
    before = to_buffer(old, dst, rng.integers(0, 256, dst.nbytes + 5, np.uint8))
    right = to_buffer(lookup(from_buffer(source, src), entries, axis=axis), dst, before.copy())
    kernels = tuple(lookup_kernels(cut_walks, src.dtype, table, limits))
    np.testing.assert_array_equal(run(device, kernels, source, before), right, f"{src} -> {dst} along {axis}")
    return {kernel.shader for kernel in kernels}


@pytest.mark.parametrize("limits", [ROOMY, GPU, WHOLE, CRAMPED])
@pytest.mark.parametrize("viewed", [False, True])
def test_any_layout_to_any_other_with_any_rows(vulkan_device, viewed, limits):
    shaders: set[str] = set()
    for number in sample(range(120), 40, viewed):
        rng = random.Random(f"{number} {viewed}")
        src, dst = random_sides(rng, viewed, ("u8", "s8"), ("u8", "f16", "f32", "s64"))
        if src.strides is not None and rng.random() < 0.3:
            src = views.broadcast_to(views.index(src, (slice(1),) * src.rank), src.sizes) if src.numel else src
        axis = rng.choice((None, *range(src.rank)))
        try:
            shaders |= require_looked_up(vulkan_device, src, dst, axis, limits)
        except UnsupportedError:
            assert limits is CRAMPED
    assert "lookup_elements" in shaders


@pytest.mark.parametrize("limits", [GPU, CRAMPED])
@pytest.mark.parametrize(
    ("src", "dst", "axis"),
    [
        ("u8[2,3,4,8]{strides=(96,1,24,3)}", "f32[2,3,4,8]", 1),  # pixels to planes, to pixels, from the last channel
        ("u8[2,4,4,8]{strides=(128,1,32,4)}", "f16[2,4,4,8]{strides=(128,1,32,4)}", 1),
        ("u8[2,3,4,8]{strides=(96,-1,24,3),offset=2}", "u8[2,3,4,8]", 1),
        ("u8[3,4,6]{strides=(1,20,3)}", "f32[3,4,6]", 0),  # a four of two rows
        # Patches of 14 and 16 pixels along a side, each twice.
        ("u8[2,3,2,2,3,2,14,14]{strides=(7056,84,3528,42,1,0,252,3)}", "f16[2,3,2,2,3,2,14,14]", 4),
        ("u8[2,3,2,2,3,2,16,16]{strides=(9216,96,4608,48,1,0,288,3)}", "f32[2,3,2,2,3,2,16,16]", 4),
        ("u8[3,64,33]", "f32[3,64,33]{strides=(3000,40,1)}", 0),  # rows of quads and a rest
        ("u8[3,8,16]", "f32[3,8,16]{strides=(131,16,1)}", 0),
        ("u8[3000,4]", "f32[3000,4]", 0),  # a table that is cut
    ],
)
def test_lookups_of_special_forms(vulkan_device, src, dst, axis, limits):
    """Four elements at a time."""
    shaders = require_looked_up(vulkan_device, TensorDesc.parse(src), TensorDesc.parse(dst), axis, limits)
    assert "lookup_quads" in shaders
