"""Tiles, padding and blocks in one buffer, and the same bits of a resampling in every layout, on both runtimes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.destinations import POISON, poisoned
from support.sampled import sample

import restride as rs
from restride import TensorDesc
from restride_conformance import fill


def numbers(desc: TensorDesc) -> np.ndarray:
    """Bits without a pattern, as many as ``desc`` has elements."""
    return fill.bits(desc.dtype, desc.numel).reshape(desc.sizes)


def image(array: np.ndarray, desc: TensorDesc) -> np.ndarray:
    """The poisoned buffer once ``array`` is written to ``desc``."""
    return rs.reference.to_buffer(array, desc, np.full(desc.nbytes + 16, POISON, np.uint8))


def assert_same(tensor: rs.Tensor, array: np.ndarray) -> None:
    found = tensor.numpy()
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == np.ascontiguousarray(array).tobytes()


def test_paddings_that_differ_are_not_taken_for_one_another(device):
    """One kernel is remembered for each; where the elements lie alike, the padding need not."""
    x = np.uint8([[9]])
    for text in ("u8[1,1]{1,0:T(2,2)pad(2,3)=1}", "u8[1,1]{0,1:T(2,2)pad(2,3)=1}", "u8[1,1]{1,0:T(2,2)pad(2,4)=1}"):
        desc = TensorDesc.parse(text)
        out = poisoned(desc, device)
        rs.reorder(x, out=out)
        np.testing.assert_array_equal(out.buffer(), image(x, desc), text)


def test_both_halves_of_one_tiled_buffer(device):
    """Even and odd rows, left and right: source and destination; what overlaps is refused."""
    desc = TensorDesc.parse("u8[6,10]{1,0:T(4,4)}")
    x = numbers(desc)
    tensor = rs.asarray(x, desc, device)
    rs.reorder(tensor[::2], out=tensor[::-2])
    x[::-2] = x[::2].copy()
    rs.reorder(tensor[:, 5:], out=tensor[:, :5])
    x[:, :5] = x[:, 5:].copy()
    before = tensor.buffer()
    assert_same(tensor, x)
    for src, out in (
        (tensor[:, :9], tensor[:, 1:]),
        (tensor[...], tensor),
        (tensor[::-1], tensor[...]),
        (tensor[:1].broadcast_to(6, 10), tensor),
    ):
        with pytest.raises(
            rs.DescriptorError, match=r"out .* must lie apart from the source .* in the buffer they share"
        ):
            rs.reorder(src, out=out)
    with pytest.raises(rs.DescriptorError, match=r"out must not overlap itself: indices \(0, 0\) and \(1, 0\)"):
        rs.reorder(x, out=tensor[:1].broadcast_to(6, 10))
    rs.reorder(tensor, out=tensor)  # onto itself
    np.testing.assert_array_equal(tensor.buffer(), before)


def test_an_out_whose_padding_holds_the_source_is_refused(device):
    """That padding is written before the source is read."""
    desc = TensorDesc.parse("f32[2,3]{1,0:pad(2,5)=7}")
    whole = rs.from_buffer(np.arange(10, dtype=np.float32), desc, device)
    beside = rs.Tensor(whole.memory, TensorDesc("f32", (2, 1), (5, 1), 4), device)
    with pytest.raises(rs.DescriptorError, match="must lie apart from the source"):
        rs.reorder(beside.broadcast_to(2, 3), out=whole)
    np.testing.assert_array_equal(whole.buffer().view(np.float32), np.arange(10))
    rs.reorder(beside.broadcast_to(2, 3), out=whole[...])
    np.testing.assert_array_equal(whole.buffer().view(np.float32), [4, 4, 4, 3, 4, 9, 9, 9, 8, 9])


# --- resample

LAYOUTS = [
    "{}[2,20,6,9]:nChw16c",
    "{}[2,20,6,9]{{3,2,1,0:T(8,128)}}",
    "{}[2,20,6,9]:nhwc",
    "{}[2,20,6,9]{{3,2,1,0:T(*,4,3)}}",
]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", ["f32", "u8"])
def test_a_resample_has_the_same_bits_in_every_layout(mode, dtype, device):
    plain = fill.numbers(TensorDesc(dtype, ()).dtype, 2 * 20 * 6 * 9).reshape(2, 20, 6, 9)
    for sizes in ((11, 5), (6, 18)):
        expected = rs.resample(rs.asarray(plain, device=device), sizes, mode=mode).numpy()
        for src, dst in sample(itertools.product(LAYOUTS, repeat=2), 6, mode, dtype, sizes):
            desc = TensorDesc.parse(dst.format(dtype).replace("6,9", "{},{}".format(*sizes)))
            out = poisoned(desc, device)
            rs.resample(rs.asarray(plain, src.format(dtype), device), sizes, mode=mode, out=out)
            np.testing.assert_array_equal(out.buffer(), image(expected, desc), f"{src} -> {dst}")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_axes_that_shrink_to_one_count_among_those_that_a_kernel_walks(device, mode):
    """Their tables keep them: with the digits of three tiled axes they would be more than its twelve."""
    src = TensorDesc.xla("f32", (2,) * 4 + (8,) * 3, tiles=((4, 4, 4), (2, 2, 2)))
    dst = TensorDesc.xla("f32", (1,) * 4 + (8,) * 3, tuple(range(7)))
    x = np.random.default_rng(1).random(src.sizes, np.float32)
    made = rs.resample(rs.asarray(x, desc=src, device=device), (1,) * 4, axes=range(4), mode=mode, layout=dst)
    plain = rs.resample(rs.asarray(x, device=device), (1,) * 4, axes=range(4), mode=mode)
    assert np.array_equal(made.numpy().view(np.uint32), plain.numpy().view(np.uint32))


def test_the_braces_of_a_text_are_a_layout(device):
    x = rs.asarray(np.arange(15, dtype=np.float32).reshape(3, 5), device=device)
    assert str(rs.reorder(x, "{1,0:T(2,2)}").desc) == "f32[3,5]{1,0:T(2,2)}"
    assert str(rs.reorder(x, " {strides=(7,1)}").desc) == "f32[3,5]{strides=(7,1)}"
    with pytest.raises(rs.DescriptorError, match=r"'\{1,0:T\(0\)\}' for f32\[3,5\]\{1,0\}: .* at character 16"):
        rs.reorder(x, "{1,0:T(0)}")
