"""What reads two sources is cut where a binding ends."""

from __future__ import annotations

import numpy as np
from support.tensors import assert_equal

import restride as rs
from restride.kernel import Limits
from restride.plan.two_sources import equal_kernels, light_kernels

RNG = np.random.default_rng(0)


def test_cut_comparisons_are_right(vulkan_device):
    """By the plan's own cuts, on a device that would need none."""
    x = RNG.integers(0, 2, (64, 100)).astype(np.float32)
    y = RNG.integers(0, 2, (100, 64)).astype(np.float64).T
    ours, theirs = (rs.asarray(each, device=vulkan_device) for each in (x, y))
    result = rs.empty("pred[64,100]", vulkan_device)
    kernels = equal_kernels(ours.desc, theirs.desc, result.desc, False, Limits(max_buffer_range=1 << 12))
    assert len(kernels) > 4
    assert all(binding.nbytes <= 1 << 12 for kernel in kernels for binding in kernel.bindings)
    vulkan_device.runtime.submit(kernels, (ours.memory, result.memory, theirs.memory))
    assert_equal(result.numpy(), x == y)


def test_light_is_cut_where_a_binding_ends(vulkan_device):
    """By the plan's own cuts, on a device that would need none."""
    codes = RNG.integers(0, 256, (64, 100), np.uint8)
    src, alpha = rs.asarray(codes, device=vulkan_device), rs.asarray(codes.T.copy(), device=vulkan_device)
    dst = rs.empty("f32[64,100]", vulkan_device)
    turned = alpha.permute(1, 0)
    kernels = light_kernels(src.desc, turned.desc, dst.desc, False, Limits(max_buffer_range=1 << 12))
    assert len(kernels) > 4
    vulkan_device.runtime.submit(kernels, (src.memory, dst.memory, alpha.memory))
    assert np.array_equal(dst.numpy(), codes.astype(np.float32) ** 2)
