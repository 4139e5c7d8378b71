"""Plans of tiled, padded and blocked layouts, run by the shaders' numpy twin against pad, reshape and transpose."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from kernel_twin import run
from random_layouts import random_layout, random_pair

from restride.errors import UnsupportedError
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.plan import copy_kernels, copy_problems, padding_kernels
from restride.reference.memory import from_buffer, to_buffer
from restride_conformance.shader.part import SteeredLimits

ROOMY = Limits()
ALWAYS_WALK = SteeredLimits(elements_per_dispatch=0)
NEVER_SEVERAL = SteeredLimits(elements_per_dispatch=1 << 40)
CRAMPED = SteeredLimits(
    max_buffer_range=512, offset_alignment=16, max_group_count=(3, 65535, 2), elements_per_dispatch=0
)
CRAMPED_GENERAL = replace(CRAMPED, elements_per_dispatch=1 << 40)


def reordered(src: TensorDesc, dst: TensorDesc, source: np.ndarray, limits: Limits) -> np.ndarray:
    result = np.full(dst.nbytes, 0xCD, np.uint8)
    run((*padding_kernels(dst, limits), *copy_kernels(src, dst, limits)), source, result)
    return result


def by_reference(src: TensorDesc, dst: TensorDesc, source: np.ndarray) -> np.ndarray:
    return to_buffer(from_buffer(source, src), dst, np.full(dst.nbytes, 0xCD, np.uint8))


@pytest.mark.parametrize("limits", [ROOMY, ALWAYS_WALK, NEVER_SEVERAL, CRAMPED, CRAMPED_GENERAL])
@pytest.mark.parametrize("seed", range(4))
def test_any_layout_to_any_other(seed, limits):
    rng = random.Random(seed)
    for _ in range(60):
        src, dst = map(TensorDesc.parse, random_pair(rng, max_elements=300))
        source = np.random.default_rng(seed).integers(0, 256, src.nbytes, np.uint8)
        try:
            result = reordered(src, dst, source, limits)
        except UnsupportedError:
            if limits not in (CRAMPED, CRAMPED_GENERAL):
                raise
            continue
        np.testing.assert_array_equal(result, by_reference(src, dst, source), f"{src} -> {dst}")


@pytest.mark.parametrize("limits", [ROOMY, ALWAYS_WALK, NEVER_SEVERAL])
@pytest.mark.parametrize("value", [0, 7, 255])
def test_padding_of_any_layout(limits, value):
    rng = random.Random(value)
    seen = 0
    for _ in range(60):
        written = TensorDesc.parse(random_layout(rng, dtype=rng.choice(["u8", "u16", "u32", "u64"])))
        if written.tag is not None or not written.is_written_by_order or not written.rank:
            continue
        padded = [size + rng.randrange(4) for size in written.sizes]
        desc = TensorDesc.xla(written.dtype, written.sizes, written.minor_to_major, written.tiles, padded, value)
        source = np.random.default_rng(1).integers(0, 256, desc.numel * desc.dtype.itemsize, np.uint8)
        src = TensorDesc(desc.dtype, desc.sizes)
        np.testing.assert_array_equal(reordered(src, desc, source, limits), by_reference(src, desc, source), str(desc))
        seen += desc.is_padded
    assert seen > 10


def random_view(rng: random.Random, sizes: list[int], desc: TensorDesc) -> TensorDesc:
    """``sizes`` of the elements of a larger tensor: some start, a step of 1, 2, 3 or 4, either way."""
    key = []
    for count, size in zip(sizes, desc.sizes, strict=True):
        step = rng.choice([step for step in (1, 1, 2, 3, 4) if (count - 1) * step < size])
        first = rng.randrange(size - (count - 1) * step)
        last = first + (count - 1) * step
        key.append(
            slice(first, last + 1, step) if rng.random() < 0.6 else slice(last, (first or None) and first - 1, -step)
        )
    return views.index(desc, tuple(key))


def random_view_pair(rng: random.Random) -> tuple[TensorDesc, TensorDesc]:
    """Parts of two tensors of any layout, with the axes of both in another order, at times repeated by the source."""
    dtype = rng.choice(["u8", "u16", "f32", "f64"])
    sizes = [rng.choice((1, 2, 3, 4, 5, 9)) for _ in range(rng.randint(1, 3))]
    sides = []
    for _ in range(2):
        whole = [size * rng.choice((1, 1, 2)) + rng.randrange(5) for size in sizes]
        layout = TensorDesc.parse(random_layout(rng, dtype, sizes=whole, max_elements=prod(whole)))
        sides.append(views.permute(random_view(rng, sizes, layout), range(len(sizes))[::-1]))
    src, dst = sides
    if rng.random() < 0.2:
        axis = rng.randrange(src.rank)
        once = views.index(src, (*[slice(None)] * axis, slice(0, 1)))
        src = views.broadcast_to(once, src.sizes)
    return src, dst


@pytest.mark.parametrize("limits", [ROOMY, ALWAYS_WALK, NEVER_SEVERAL, CRAMPED, CRAMPED_GENERAL])
@pytest.mark.parametrize("seed", range(10, 13))
def test_views_of_any_layout_to_views_of_any_other(seed, limits):
    """What lies around the elements of the destination keeps its bytes."""
    rng = random.Random(seed)
    done = 0
    for _ in range(50):
        src, dst = random_view_pair(rng)
        source = np.random.default_rng(seed).integers(0, 256, src.nbytes, np.uint8)
        try:
            result = reordered(src, dst, source, limits)
        except UnsupportedError:
            if limits not in (CRAMPED, CRAMPED_GENERAL):
                raise
            continue
        np.testing.assert_array_equal(result, by_reference(src, dst, source), f"{src} -> {dst}")
        done += 1
    assert done > 10


# --- what a plan is


def shaders(src: str, dst: str, limits: Limits = ROOMY) -> list[str]:
    return [kernel.shader for kernel in copy_kernels(TensorDesc.parse(src), TensorDesc.parse(dst), limits)]


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[24,128]{1,0:T(8,128)}", "f32[24,128]"),
        ("f32[4096]{0:T(1024)(128)}", "f32[4096]"),
        ("f32[2,32,8,8]:nChw16c", "f32[2,32,8,8]{at=(a,b,c,d),in=[2,32,8,8]:nChw16c}"),
        ("f32[64,64]{1,0:T(8,8)}", "f32[64,64]{1,0:T(8,8)}"),
    ],
)
def test_equal_layouts_are_one_run(src, dst):
    """The same bytes in the same order: one axis on both sides, whatever the tiles."""
    (problem,) = copy_problems(TensorDesc.parse(src), TensorDesc.parse(dst)) or ()
    assert [(axis.src, axis.dst) for axis in problem.axes] == [(1, 1)]
    assert len(shaders(src, dst)) == 1


def test_tiles_that_fit_are_one_dispatch_and_the_rest_is_general():
    assert len(shaders("f32[64,256]", "f32[64,256]{1,0:T(8,128)}")) == 1
    assert shaders("f32[7]{0:T(4)(3)}", "f32[7]") == ["digit_copy"]
    # Partial tiles of a small copy would be dispatches of next to nothing.
    assert shaders("f32[13,250]", "f32[13,250]{1,0:T(8,128)}") == ["digit_copy"]
    assert len(shaders("f32[13,250]", "f32[13,250]{1,0:T(8,128)}", ALWAYS_WALK)) == 4
    assert shaders("f32[0,3]{1,0:T(2,2)}", "f32[0,3]") == []


def test_plans_of_views_are_equal_where_memory_is():
    one = TensorDesc.parse("f32[4,4]{at=(a,b),in=[8,4]{1,0:T(4,4)}}")
    assert copy_kernels(one, TensorDesc("f32", (4, 4)), ROOMY) == copy_kernels(
        TensorDesc("f32", (4, 4)), TensorDesc("f32", (4, 4)), ROOMY
    )


def test_a_window_of_a_huge_tiled_tensor_is_planned_where_it_lies():
    """Rows 2^31 and on of f32[2^33,128] in tiles of 8 x 128: only the window is bound."""
    limits = Limits(max_buffer_range=1 << 27, offset_alignment=16)
    whole = TensorDesc.xla("f32", (1 << 33, 128), tiles=[(8, 128), (2, 1)])
    part = views.index(whole, (slice(1 << 31, (1 << 31) + 16), slice(0, 128, 2)))
    kernels = copy_kernels(part, TensorDesc("f32", part.sizes), limits)
    assert all(binding.nbytes <= 1 << 27 for kernel in kernels for binding in kernel.bindings)
    assert kernels[0].bindings[0].offset >= (1 << 31) * 128 * 4
    # A start of many tiles is a constant; rows of 2^30 joined are a number past the 31 bits of the general kernel.
    far = views.index(TensorDesc.xla("f32", (1 << 33,), tiles=[(4,), (3,)]), (slice(1 << 32, (1 << 32) + 5),))
    assert [kernel.shader for kernel in copy_kernels(far, TensorDesc("f32", (5,)), limits)] == ["digit_copy"]
    joined = views.index(TensorDesc.xla("u8", (3, (1 << 30) + 1), tiles=[(-1, 4), (3,)]), (..., slice(5)))
    kernels = copy_kernels(joined, TensorDesc("u8", (3, 5)), limits)
    assert sum(kernel.push[2] for kernel in kernels) == 15  # in parts, each within a window
    with pytest.raises(UnsupportedError, match=r"coordinate of 2147483654 is past the 2\^31 - 1"):
        copy_kernels(joined, TensorDesc("u8", (3, 5)), Limits(max_buffer_range=(1 << 32) - 4))
