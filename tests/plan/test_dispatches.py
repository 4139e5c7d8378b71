"""Dispatches: the parts of a problem have each of its elements once, inside their windows, and few enough to count."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from support.narrow_limits import CRAMPED, CRAMPED_GENERAL
from support.random_layouts import random_sides

from restride.errors import UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.kernel.modules import interface_of
from restride.layout import TensorDesc
from restride.plan.convert import convert_kernels
from restride.plan.copy import copy_kernels, copy_problems
from restride.plan.dispatches import bind, parts
from restride.plan.fill import padding_kernels
from restride.plan.problem import Problem
from restride.request.arithmetic import NO_ARITHMETIC
from restride_conformance.shader.part import SteeredLimits

WHOLE = SteeredLimits(max_buffer_range=1 << 16, offset_alignment=0, max_group_count=(3, 65535, 2))


def steps(problem: Problem) -> np.ndarray:
    """How far each index is from index 0, in elements of the source and of the destination."""
    sizes = [axis.size for axis in problem.axes]
    index = np.indices(sizes, np.int64).reshape(len(sizes), prod(sizes))
    strides = np.array([(axis.src, axis.dst) for axis in problem.axes], np.int64).reshape(-1, 2)
    return strides.T @ index


@pytest.mark.parametrize("limits", [CRAMPED, WHOLE, Limits()])
@pytest.mark.parametrize("seed", range(4))
def test_parts_have_every_element_once_inside_their_windows(seed, limits):
    rng = random.Random(seed)
    cut = 0
    for _ in range(60):
        types = (rng.choice(("u8", "u16", "f32", "f64")),)
        src, dst = random_sides(rng, rng.random() < 0.5, types, types)
        for problem in copy_problems(src, dst) or ():
            places = []
            for part in parts(problem, limits):
                bound, from_first = bind(part, limits), steps(part)
                for side, window in enumerate(bound.windows):
                    base, offset = (bound[1 + side], (part.src_offset, part.dst_offset)[side])
                    assert window.offset + base * part.itemsize == offset * part.itemsize
                    assert (base + from_first[side]).min() >= 0
                    assert (base + from_first[side] + 1).max() * part.itemsize <= window.nbytes
                places.append(from_first + np.array([[part.src_offset], [part.dst_offset]]))
            expected = steps(problem) + np.array([[problem.src_offset], [problem.dst_offset]])
            assert sorted(np.hstack(places).T.tolist()) == sorted(expected.T.tolist())
            cut += len(places) > 1
    assert bool(cut) == (limits is CRAMPED)


def planned(src: TensorDesc, dst: TensorDesc, limits: Limits) -> list[KernelSpec]:
    fills = padding_kernels(dst, limits)
    if src.dtype != dst.dtype:
        return [*fills, *convert_kernels(src, dst, NO_ARITHMETIC, limits)]
    return [*fills, *copy_kernels(src, dst, limits)]


@pytest.mark.parametrize("limits", [CRAMPED, CRAMPED_GENERAL, WHOLE])
@pytest.mark.parametrize("viewed", [False, True])
def test_every_kernel_keeps_to_the_limits(viewed, limits):
    rng = random.Random(5)
    shaders = set()
    for _ in range(80):
        src, dst = random_sides(rng, viewed, ("u8", "f16", "f32"), ("u8", "f32"))
        try:
            kernels = planned(src, dst, limits)
        except UnsupportedError:
            assert limits.max_buffer_range == 512
            continue
        for kernel in kernels:
            shaders.add(kernel.shader)
            assert all(count <= most for count, most in zip(kernel.groups, limits.max_group_count, strict=True))
            for binding, desc in zip(kernel.bindings, (src, dst), strict=True):
                assert 0 < binding.nbytes <= limits.max_buffer_range
                assert binding.nbytes % 4 == binding.offset % (limits.offset_alignment or 1 << 32) == 0
                assert binding.offset + binding.nbytes <= -(-max(desc.nbytes, 1) // 16) * 16
    assert len(shaders) > 8


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("u8[3,1073741824]", "u8[3,1073741824]{strides=(1,3)}"),
        ("u8[3,1073741825]", "u8[3,1073741825]{0,1}"),
        ("u8[70000,40001]", "u8[70000,40001]{0,1}"),
        ("u8[70000,40001]{strides=(-40001,-1),offset=2800069999}", "u8[70000,40001]"),
        ("u16[40000,60001]{strides=(60001,-1),offset=60000}", "u16[40000,60001]{strides=(1,40000)}"),
        ("u8[2,2147483648]", "f32[2,2147483648]"),
        ("u8[70000,40001]{0,1}", "u16[70000,40001]"),
    ],
)
def test_no_kernel_counts_to_2_to_the_31(src, dst):
    """Kernels divide exactly below that: their pieces, and offsets of elements within the words of a window."""
    src, dst = TensorDesc.parse(src), TensorDesc.parse(dst)
    kernels = planned(src, dst, Limits(max_buffer_range=(1 << 32) - 4))
    assert len(kernels) > 1
    for kernel in kernels:
        declared = interface_of(kernel.shader)
        assert "pieces" not in declared.push or kernel.pushed("pieces") < 1 << 31
        if "OWN_WORDS" in declared.constants and kernel.constant("OWN_WORDS"):
            lanes = 32 // kernel.constant("BITS")
            assert (kernel.pushed("first_word") + kernel.pushed("pieces")) * lanes - kernel.pushed("dst_base") < 1 << 31
