"""The operations from and to tiles, padding, blocks and views of them, on both runtimes: every byte of the buffer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.destinations import POISON, poisoned

import restride as rs
from restride import TensorDesc
from restride_conformance import fill


def numbers(desc: TensorDesc) -> np.ndarray:
    """Bits without a pattern, as many as ``desc`` has elements."""
    return fill.bits(desc.dtype, desc.numel).reshape(desc.sizes)


def image(array: np.ndarray, desc: TensorDesc, whole: TensorDesc | None = None) -> np.ndarray:
    """The poisoned buffer, of ``whole`` where ``desc`` is a view, once ``array`` is written to ``desc``."""
    return rs.reference.to_buffer(array, desc, np.full((whole or desc).nbytes + 16, POISON, np.uint8))


def assert_same(tensor: rs.Tensor, array: np.ndarray) -> None:
    found = tensor.numpy()
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == np.ascontiguousarray(array).tobytes()


WHOLE = [
    "f32[3,5]{1,0:T(2,2)}",
    "u8[3,5]{0,1:T(2,2)}",
    "bf16[17,200]{1,0:T(8,128)(2,1)}",
    "u8[33,130]{1,0:T(8,128)(4,1)}",
    "f32[13,256]{1,0:T(8,128)}",
    "u16[2048]{0:T(1024)(128)(2,1)}",
    "f32[8]{0:T(2,2)}",
    "u32[]{:T(128)}",
    "u8[7]{0:T(4)(3)}",
    "s16[2,7,4,5,4]{4,3,2,1,0:T(*,*,2,*,3)}",
    "u8[5,6,3]{0,2,1:T(*,4)(3)}",
    "f32[2,3]{0,1:pad(3,5)=-1.5}",
    "f32[3,5]{1,0:L(100)}",
    "u8[3,5]{0,1:L(21)}",
    "f64[3,5]{1,0:T(2,2)pad(3,7)=2L(17)}",
    "u16[30,31]{1,0:pad(32,32)=7L(2050)}",
    "f32[3,5]{0,1:T(2,2)L(7)E(32)}",
    "f32[2,3]{1,0:T(2,2)pad(3,5)=nan}",
    "u8[30,31]{1,0:pad(32,32)=7}",
    "f64[2,3]{1,0:T(2,2)pad(3,5)=0.1}",
    "s64[3]{0:T(4)(3)pad(5)=-9223372036854775807}",
    "u64[31,32]{1,0:pad(32,32)=18446744073709551614}",
    "pred[3,3]{1,0:T(2,4)pad(4,3)=1}",
    "f8e4m3fn[5]{0:T(3)pad(7)=-448}",
    "f16[2,20,3,5]:nChw16c",
    "u8[1,8,5,5]:nChw16c",
    "f64[2,5,3,3]:nChw4c",
    "u8[20,36,3,3]:OIhw4i16o4i",
    "f32[18,35,2,2]:OIhw8i16o2i",
    "u16[3,4,5,6]:nhwc",
    "s32[19,18]:BA8a4b2a",
    "f32[1,1,1,1]:nChw16c",
    "f32[2,1,2,1,2,1,2,3]{7,6,5,4,3,2,1,0:T(2,2)}",
    "u8[9]{0:T(1)}",
]


@pytest.mark.parametrize("text", WHOLE)
def test_to_and_from_whole_layouts(text, device):
    desc = TensorDesc.parse(text)
    x = numbers(desc)
    out = poisoned(desc, device)
    assert rs.reorder(x, out=out) is out
    np.testing.assert_array_equal(out.buffer(), image(x, desc))
    result = rs.reorder(rs.asarray(x, device=device), text)
    assert str(result.desc) == text
    np.testing.assert_array_equal(result.buffer()[: desc.nbytes], rs.reference.to_buffer(x, desc))
    assert_same(rs.reorder(result), x)
    assert_same(result, x)
    assert np.asarray(result).tobytes() == x.tobytes()
    laid_out = rs.asarray(x, desc, device)
    np.testing.assert_array_equal(laid_out.buffer()[: desc.nbytes], rs.reference.to_buffer(x, desc))
    assert_same(rs.from_buffer(result.buffer(), desc, device), x)


@pytest.mark.parametrize("text", WHOLE)
def test_a_view_of_all_of_it_leaves_the_padding(text, device):
    desc = TensorDesc.parse(text)
    x = numbers(desc)
    whole = poisoned(desc, device)
    view = whole[...]
    assert not view.desc.is_whole
    rs.reorder(x, out=view)
    np.testing.assert_array_equal(whole.buffer(), image(x, view.desc, desc))
    assert_same(whole, x)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("f32[3,5]{1,0:T(2,2)}", (slice(1, None),)),
        ("u8[33,130]{1,0:T(8,128)(4,1)}", (slice(None, None, -2), slice(3, 129))),
        ("u8[7]{0:T(4)(3)}", (slice(6, 0, -1),)),
        ("u16[2,20,3,5]:nChw16c", (slice(None), slice(3, 19), 1)),
        ("f32[2,3]{0,1:pad(3,5)=-1.5}", (slice(1, None), slice(None, None, 2))),
        ("u8[5,6,3]{0,2,1:T(*,4)(3)}", (2, slice(None, None, -1))),
        ("u64[5,4]{1,0:T(2,3)pad(6,6)=1}", (slice(1, 4), None, slice(1, 3))),
        ("f16[9,9]{1,0:T(4,4)}", (4, 4)),
    ],
)
def test_parts_are_written_alone_and_read_alone(text, key, device):
    desc = TensorDesc.parse(text)
    whole = poisoned(desc, device)
    part = whole[key]
    x = numbers(part.desc)
    rs.reorder(x, out=part)
    np.testing.assert_array_equal(whole.buffer(), image(x, part.desc, desc))
    y = numbers(desc)
    tiled = rs.asarray(y, desc, device)
    before = device.counters().dispatches
    view = tiled[key]
    permuted = view.permute(*range(len(view.sizes))[::-1])
    assert device.counters().dispatches == before
    assert_same(view, y[key] if view.sizes else np.array(y[key]))
    assert_same(permuted, y[key].T)


# --- layout=


def test_any_is_the_family_of_the_source(device):
    for text in ("f32[3,5]{0,1:T(2,2)}", "f32[2,8,4,4]:nChw16c", "f32[2,20,4,4]:nChw16c", "f32[2,3]{0,1}"):
        x = numbers(TensorDesc.parse(text))
        assert rs.reorder(rs.asarray(x, text, device), "any").desc == TensorDesc.parse(text)
    padded = rs.asarray(np.ones((2, 3), np.float32), "f32[2,3]{0,1:pad(3,5)=1}", device)
    assert rs.reorder(padded, "any").desc == TensorDesc.parse("f32[2,3]{0,1}")
    x = numbers(TensorDesc.parse("f32[2,20,4,4]:nChw16c"))
    blocked = rs.asarray(x, TensorDesc.from_tag("nChw16c", x.shape), device)
    flipped = rs.reorder(blocked[:, 3:, ::-1], "any")
    assert str(flipped.desc) == "f32[2,17,4,4]:aBcd16b"
    assert_same(flipped, x[:, 3:, ::-1])
    turned = rs.reorder(blocked.permute(0, 2, 3, 1), "any")
    assert str(turned.desc) == "f32[2,4,4,20]:aDbc16d"
    assert_same(turned, x.transpose(0, 2, 3, 1))


def test_tags_by_name(device):
    x = numbers(TensorDesc("u8", (2, 20, 3, 5)))
    tensor = rs.asarray(x, device=device)
    assert str(rs.reorder(tensor, "nhwc").desc) == "u8[2,20,3,5]:nhwc"
    assert rs.reorder(tensor, "nhwc").desc == rs.reorder(tensor, "NHWC").desc
    for tag in ("nChw16c", "nChw8c", "aBcd16b", "acdb", "NChw2n4c"):
        result = rs.reorder(tensor, tag)
        assert str(result.desc) == f"u8[2,20,3,5]:{tag}"
        assert_same(result, x)
        assert rs.reorder(result, tag).desc == result.desc


def test_a_permutation_into_a_blocked_out(device):
    x = numbers(TensorDesc("u8", (2, 20, 3, 5)))
    for text in (
        "u8[2,3,5,20]:aDbc16d",
        "u8[2,3,5,20]{3,2,1,0:T(8,128)pad(2,3,5,21)=7}",
        "u8[2,3,5,20]{0,1,2,3:T(2,3)}",
    ):
        desc = TensorDesc.parse(text)
        out = poisoned(desc, device)
        rs.reorder(rs.asarray(x, device=device), "NCHW->NHWC", out=out)
        np.testing.assert_array_equal(out.buffer(), image(x.transpose(0, 2, 3, 1), desc))
    blocked = rs.asarray(x, TensorDesc.from_tag("nChw16c", x.shape, "u8"), device)
    assert_same(rs.reorder(blocked, "NCHW->WHCN"), x.transpose(3, 2, 1, 0))


# --- nothing at all, and the same memory


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
        for src, dst in itertools.product(LAYOUTS, repeat=2):
            desc = TensorDesc.parse(dst.format(dtype).replace("6,9", "{},{}".format(*sizes)))
            out = poisoned(desc, device)
            rs.resample(rs.asarray(plain, src.format(dtype), device), sizes, mode=mode, out=out)
            np.testing.assert_array_equal(out.buffer(), image(expected, desc), f"{src} -> {dst}")


@pytest.mark.parametrize(
    ("text", "sizes", "result"),
    [
        ("f32[2,20,4,4]:nChw16c", (7, 5), "f32[2,20,7,5]:nChw16c"),
        ("f32[2,8,4,4]:nChw16c", (7, 5), "f32[2,8,7,5]:nChw16c"),
        ("f32[1,16,4,4]:nChw16c", (7, 5), "f32[1,16,7,5]:nChw16c"),
        ("f32[2,3]{1,0:T(8,128)}", (20, 300), "f32[20,300]{1,0:T(8,128)}"),
        ("f32[9,300]{0,1:T(8,128)}", (5, 5), "f32[5,5]{0,1:T(8,128)}"),
        ("f32[2,20,4,4]:nhwc", (7, 5), "f32[2,20,7,5]{1,3,2,0}"),
        ("f32[2,3]{0,1:pad(3,5)=1}", (4, 4), "f32[4,4]{0,1}"),
    ],
)
def test_a_resample_keeps_the_family_of_its_source(text, sizes, result, device):
    x = np.ones(TensorDesc.parse(text).sizes, np.float32)
    resampled = rs.resample(rs.asarray(x, text, device), sizes, axes=range(-len(sizes), 0))
    assert resampled.desc == TensorDesc.parse(result)
    assert resampled.desc.is_whole == TensorDesc.parse(result).is_whole
    assert_same(resampled, np.ones(resampled.sizes, np.float32))


def test_a_slice_of_blocks_is_resampled_as_it_lies(device):
    """Channels 3 to 18 of blocks of 16, every other row, turned round."""
    plain = fill.numbers(TensorDesc("f32", ()).dtype, 2 * 20 * 6 * 9).reshape(2, 20, 6, 9)
    key = (slice(None), slice(3, 19), slice(None, None, -2))
    expected = rs.resample(rs.asarray(np.ascontiguousarray(plain[key]), device=device), (7, 4)).numpy()
    for layout in LAYOUTS:
        view = rs.asarray(plain, layout.format("f32"), device)[key]
        assert_same(rs.resample(view, (7, 4)), expected)
        whole = rs.asarray(np.zeros((2, 20, 8, 9), np.float32), "f32[2,20,8,9]:nChw16c", device)
        rs.resample(view, (7, 4), out=whole[:, 2:18, 1:, 8:4:-1])
        wanted = np.zeros((2, 20, 8, 9), np.float32)
        wanted[:, 2:18, 1:, 8:4:-1] = expected
        assert_same(whole, wanted)


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
