"""rearrange against einops on numpy: every pattern in one dispatch or none, with type, layout and scale fused."""

from __future__ import annotations

import einops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.einops_patterns import COPIES, IMAGES, PERMUTATIONS, lengths_of
from support.tensors import Costs, assert_equal

import restride as rs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("pattern", PERMUTATIONS + COPIES)
def test_the_patterns_of_einops(pattern, device):
    lengths = lengths_of(pattern)
    expected = einops.rearrange(IMAGES, pattern, **lengths)
    tensor = rs.asarray(IMAGES, device=device)
    costs = Costs(device)
    result = rs.rearrange(tensor, pattern, **lengths)
    assert costs().dispatches == (pattern in COPIES)
    assert (result.memory is tensor.memory) == (pattern in PERMUTATIONS)
    assert_equal(result.numpy(), expected)


@pytest.mark.parametrize("pattern", PERMUTATIONS + COPIES)
def test_type_scale_and_layout_are_one_dispatch(pattern, device):
    lengths = lengths_of(pattern)
    expected = einops.rearrange(IMAGES.astype(np.float32) / np.float32(255), pattern, **lengths)
    tensor = rs.asarray(IMAGES, device=device)[:, :, ::-1][:, :, ::-1]
    order = ",".join(map(str, range(expected.ndim)))
    costs = Costs(device)
    result = rs.rearrange(tensor, pattern, dtype="f32", dst_scale=255, layout=f"{{{order}}}", **lengths)
    assert costs().dispatches == 1
    assert result.desc == rs.TensorDesc.xla("f32", expected.shape, range(expected.ndim))
    assert_equal(result.numpy(), expected)


def test_the_padding_of_a_layout_is_written(device):
    expected = einops.rearrange(IMAGES, "b h w c -> (h c) (b w)")
    result = rs.rearrange(rs.asarray(IMAGES, device=device), "b h w c -> (h c) (b w)", layout="{1,0:T(8,128)}")
    assert_equal(result.numpy(), expected)
    raw = result.buffer().view(np.int16).reshape(2, 8, 128)
    assert (raw[:, :, 12:] == 0).all()
    assert (raw[1, 4:] == 0).all()


def test_into_a_view(device):
    out = rs.asarray(np.zeros((2, 6, 4, 9), np.uint8), device=device)
    result = rs.rearrange(rs.asarray(IMAGES[..., :2], device=device), "b h w c -> b w h (1 c)", out=out[..., 1::4])
    expected = np.zeros((2, 6, 4, 9), np.uint8)
    expected[..., 1::4] = np.minimum(IMAGES[..., :2].transpose(0, 2, 1, 3), 255)
    assert result.memory is out.memory
    assert_equal(out.numpy(), expected)


def test_numbers_are_axes_of_that_size(device):
    tensor = rs.asarray(IMAGES, device=device)
    for ours, theirs in (
        ("b (h 2) w c -> b h w (2 c)", "b (h p) w c -> b h w (p c)"),
        ("2 h w 3 -> (3 h) (w 2)", "b h w c -> (c h) (w b)"),
    ):
        lengths = {"p": 2} if "p" in theirs else {}
        assert_equal(rs.rearrange(tensor, ours).numpy(), einops.rearrange(IMAGES, theirs, **lengths))


def test_a_repeated_pattern_finds_its_plan(vulkan_device):
    tensor = rs.asarray(IMAGES, device=vulkan_device)
    for lengths in ({"p": 2}, {"p": 4}, {"p": 2}):
        result = rs.rearrange(tensor, "b (h p) w c -> (b w) (p h c)", **lengths)
        assert_equal(result.numpy(), einops.rearrange(IMAGES, "b (h p) w c -> (b w) (p h c)", **lengths))


def test_other_arguments_that_cannot_be_are_refused(device):
    tensor = rs.asarray(IMAGES, device=device)
    with pytest.raises(rs.DescriptorError, match="permutes axes, but the pattern 'b h w c -> b c h w' gives"):
        rs.rearrange(tensor, "b h w c -> b c h w", layout="NCHW->NHWC")
    with pytest.raises(rs.DescriptorError, match="src_scale must be a number, got array"):
        rs.rearrange(tensor, "b h w c -> b c h w", src_scale=np.ones(3))
    with pytest.raises(rs.DescriptorError, match=r"out s16\[2,4,6,3\].* must have the sizes of s16\[2,3,4,6\]"):
        rs.rearrange(tensor, "b h w c -> b c h w", out=rs.empty("s16[2,4,6,3]", device))
    with pytest.raises(rs.DescriptorError, match="must lie apart from the source"):
        rs.rearrange(tensor, "b h w c -> (b w) (h c)", out=tensor.reshape(12, 12))
    most = rs.asarray(np.zeros((16, 16), np.uint8), device=device)
    names = "abcdefgh"
    pattern = f"({' '.join(names[:4])} i) ({' '.join(names[4:])}) -> ({' '.join([*names[::-1], 'i'])})"
    larger = rs.asarray(np.zeros((32, 16), np.uint8), device=device)
    with pytest.raises(rs.UnsupportedError, match=r"taken apart into 9, of sizes .*; at most 8 can be moved"):
        rs.rearrange(larger, pattern, **dict.fromkeys(names[:7], 2))
    assert rs.rearrange(most, "(a b c d) (e f g h) -> (h g f e d c b a)", **dict.fromkeys("abcefg", 2)).sizes == (256,)


@st.composite
def splits(draw):
    """A pattern with its lengths, and an array for it: axes split, permuted, joined, reversed."""
    parts = draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=4))
    names = iter("abcdefghijkl")
    left = [[(next(names), size) for size in axis] for axis in parts]
    flat = [part for axis in left for part in axis]
    order = draw(st.permutations(flat))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    right = [order[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    text = " -> ".join(" ".join(f"({' '.join(name for name, _ in axis)})" for axis in side) for side in (left, right))
    return text, dict(flat), [int(np.prod([size for _, size in axis])) for axis in left], draw(st.booleans())


@settings(max_examples=150, deadline=None)
@given(splits())
def test_random_patterns(vulkan_device, case):
    text, lengths, sizes, is_reversed = case
    if sum(size > 1 for size in lengths.values()) > 8 or len(text.split("->")[1].split(")")) > 9:
        return
    array = np.arange(np.prod(sizes), dtype=np.int32).reshape(sizes)
    tensor = rs.asarray(array, device=vulkan_device)
    if is_reversed:
        array, tensor = array[::-1], tensor[::-1]
    costs = Costs(vulkan_device)
    result = rs.rearrange(tensor, text, **lengths)
    assert costs().dispatches <= 1
    assert_equal(result.numpy(), einops.rearrange(array, text, **lengths))
    into = rs.rearrange(tensor, text, dtype="s64", **lengths)
    assert_equal(into.numpy(), einops.rearrange(array, text, **lengths).astype(np.int64))
