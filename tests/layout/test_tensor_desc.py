"""TensorDesc as a value: properties against brute force, large numbers, equality, refusals."""

import itertools
import random

import ml_dtypes
import numpy as np
import pytest

from restride.dtypes import DTYPES
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.tensor_desc import packed

# --- packed, padded, lowest, highest


def brute_force(sizes, strides, offset):
    touched = [
        offset + sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, sizes))
    ]
    return touched, set(touched)


def test_properties_agree_with_brute_force():
    rng = random.Random(1)
    seen = {"packed": 0, "padded": 0, "interleaved": 0}
    for _ in range(5000):
        rank = rng.randint(0, 4)
        sizes = [rng.randint(0 if rng.random() < 0.05 else 1, 4) for _ in range(rank)]
        strides = [rng.choice([rng.randint(-9, 9), *TensorDesc("u8", sizes).strides]) for _ in range(rank)]
        least = sum(min((size - 1) * stride, 0) for size, stride in zip(sizes, strides, strict=True) if size)
        desc = TensorDesc("f64", sizes, strides, -least + rng.choice([0, 0, 3]))
        touched, distinct = brute_force(sizes, strides, desc.offset)
        assert desc.numel == len(touched)
        assert desc.lowest == min(touched, default=0)
        assert desc.highest == max(touched, default=-1)
        assert desc.nbytes == 8 * (max(touched, default=-1) + 1)
        assert desc.is_padded == (len(distinct) < desc.highest + 1)
        assert desc.is_packed == (sorted(touched) == list(range(desc.numel)))
        assert desc.is_row_major == (touched == list(range(desc.offset, desc.offset + desc.numel)))
        assert desc.is_broadcast == any(
            size > 1 and stride == 0 and desc.numel for size, stride in zip(sizes, strides, strict=True)
        )
        seen["packed"] += desc.is_packed
        seen["padded"] += desc.is_padded
        seen["interleaved"] += len(distinct) == desc.numel > 1 and desc.is_padded
    assert min(seen.values()) > 200


# --- numbers beyond 64 bits


def test_large_sizes_and_strides_do_not_wrap():
    huge, stride = 1 << 62, 1 << 40
    desc = TensorDesc("f64", (huge, 3), (stride, 1))
    assert desc.highest == (huge - 1) * stride + 2
    assert desc.nbytes == ((huge - 1) * stride + 3) * 8
    assert desc.offset_of((huge - 1, 2)) == desc.highest
    assert desc.index_of(desc.highest) == (huge - 1, 2)
    assert desc.index_of(desc.highest - 3) is None
    assert desc.is_padded
    assert desc.numel == 3 * huge


def test_large_packed_strides_do_not_wrap():
    desc = TensorDesc("u8", (3, 1 << 62, 1 << 62))
    assert desc.strides == (1 << 124, 1 << 62, 1)
    assert desc.is_packed
    assert desc.nbytes == 3 << 124
    assert desc.index_of((1 << 125) + 17) == (2, 0, 17)


def test_large_negative_strides_need_a_large_offset():
    huge, stride = 1 << 62, 1 << 40
    desc = TensorDesc("u8", (huge, 2), (-stride, 5), (huge - 1) * stride)
    assert desc.lowest == 0
    assert desc.index_of(0) == (huge - 1, 0)
    assert desc.index_of(5) == (huge - 1, 1)
    assert desc.index_of(desc.offset) == (0, 0)
    with pytest.raises(DescriptorError, match="the lowest element must be at 0 or above"):
        TensorDesc("u8", (huge, 2), (-stride, 5), (huge - 1) * stride - 1)


# --- rank 0 and empty tensors


def test_empty_tensors_need_no_bytes():
    desc = TensorDesc("f32", (2, 0, 3), (-1, 5, 0), 4)
    assert (desc.numel, desc.nbytes, desc.lowest, desc.highest) == (0, 0, 0, -1)
    assert desc.is_packed
    assert not desc.is_padded
    assert not desc.is_broadcast
    assert desc.index_of(0) is None
    with pytest.raises(DescriptorError, match="outside"):
        desc.offset_of((0, 0, 0))


# --- equality, hash, immutability


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TensorDesc("f32", (2, 3)), TensorDesc(np.float32, [2, 3], (3, 1))),
        (TensorDesc("f32", (2, 1, 3)), TensorDesc("float32", (2, 1, 3), (3, -77, 1))),
        (TensorDesc("f32", (1, 1)), TensorDesc("f32", (1, 1), (0, 0))),
        (TensorDesc("f32", (0, 3)), TensorDesc("f32", (0, 3), (9, 9), 5)),
        (TensorDesc.xla("u8", (2, 3), (0, 1)), TensorDesc("u8", (2, 3), (1, 2))),
        (TensorDesc(ml_dtypes.bfloat16, (4,)), TensorDesc("bf16", np.array([4]), np.array([1]), np.int64(0))),
    ],
)
def test_equal_layouts_are_equal_and_share_a_hash(one, other):
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


@pytest.mark.parametrize(
    "other",
    [
        TensorDesc("s32", (2, 3)),
        TensorDesc("f32", (3, 2)),
        TensorDesc("f32", (2, 3), (1, 2)),
        TensorDesc("f32", (2, 3), offset=1),
        TensorDesc("f32", (1, 2, 3)),
        TensorDesc("f32", (0, 3)),
        "f32[3,2]{1,0}",
    ],
)
def test_different_layouts_are_different(other):
    assert TensorDesc("f32", (2, 3)) != other


@pytest.mark.parametrize("number", [np.int64, bool])
def test_a_packed_layout_is_the_same_whatever_kind_of_numbers_asks_first(number):
    """1 == True == np.int64(1), with one hash."""
    written = [packed(DTYPES["u8"], (kind(1), 977), (kind(0), kind(1))) for kind in (number, int)]
    assert {type(size) for desc in written for size in desc.sizes + desc.parts.minor_to_major} == {int}
    assert {str(desc) for desc in written} == {"u8[1,977]{0,1}"}


def test_what_was_written_is_given_back():
    desc = TensorDesc("f32", (2, 1, 3), (3, -77, 1))
    assert desc.strides == (3, -77, 1)
    assert str(desc) == "f32[2,1,3]{strides=(3,-77,1)}"
    assert str(TensorDesc.xla("f32", (1, 1, 2), (0, 2, 1))) == "f32[1,1,2]{0,2,1}"


# --- refusals: rule, argument, value, descriptor


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("f33", (2,)), "unknown element type 'f33'"),
        ((",U1", (2, 3)), "unknown element type ',U1'"),  # numpy reads both as fields
        (("{'names': ['a'], 'formats': ['f4']}", (2, 3)), "unknown element type"),
        ((">f4", (2,)), "byte-swapped"),
        (("i8", (2,)), "element type 'i8' counts bytes in numpy, where it is int64: say 's64' or 's8'"),
        (("i1", (2,)), "element type 'i1' counts bytes in numpy, where it is int8: say 's8'"),
        (("u4", (2,)), "element type 'u4' counts bytes in numpy, where it is uint32: say 'u32'"),
        (("f8", (2,)), "where it is float64: say 'f64' or 'f8e4m3fn' or 'f8e5m2'"),
        (("<f4", (2,)), "element type '<f4' counts bytes in numpy, where it is float32: say 'f32'"),
        (("double", (2,)), "element type 'double' is float64 in numpy: say 'f64'"),
        (("f32", 3), "sizes must be a sequence of integers, got 3 (int)"),
        (("f32", (2, 3.0)), "sizes[1] must be an integer, got 3.0 (float)"),
        (("f32", (True,)), "sizes[0] must be an integer, got the boolean True"),
        (("f32", (np.True_,)), "sizes[0] must be an integer, got"),
        (("f32", "23"), "sizes must be a sequence of integers, got '23' (str)"),
        (("f32", (2, -3)), "size -3 of axis 1 must be 0 or more in f32[2, -3]"),
        (("f32", (1,) * 9), "rank 9 exceeds 8"),
        (("f32", (1 << 512,)), "sizes[0] must be below 2^512 in magnitude, got 513 bits"),
        (("f32", (10**5000,)), "sizes[0] must be below 2^512 in magnitude"),
        (("f32", (2, 3), (1,)), "strides must have one value per axis: got (1,) for 2 axes, for f32[2,3]"),
        (("f32", (2, 3), (1, 2.5)), "strides[1] must be an integer, got 2.5 (float), for f32[2,3]"),
        (("f32", (2, 3), (3, 1), "4"), "offset must be an integer, got '4' (str), for f32[2,3]"),
        (("f32", (2, 3), (3, 1), False), "offset must be an integer, got the boolean False, for f32[2,3]"),
        (
            ("f32", (2, 3), (3, 1), -1),
            "offset -1 puts it at -1 in f32[2,3]{strides=(3,1),offset=-1}; the smallest legal offset is 0",
        ),
        (
            ("f32", (2, 3), (-3, 1), 2),
            "offset 2 puts it at -1 in f32[2,3]{strides=(-3,1),offset=2}; the smallest legal offset is 3",
        ),
        (("f32", (0, 3), (1, 1), -1), "the smallest legal offset is 0"),
    ],
)
def test_bad_descriptors_are_refused(arguments, message):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("order", [(0,), (0, 0), (0, 2), (1, -1), (0, 1, 2), (-3, 0)])
def test_minor_to_major_must_be_a_permutation(order):
    with pytest.raises(DescriptorError, match=r"minor_to_major .* must name each of the 2 axes once, for f32\[2,3\]"):
        TensorDesc.xla("f32", (2, 3), order)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((2, 0), "index 2 is outside [0, 2) of axis 0, for f32[2,3]{1,0}"),
        ((0, -1), "index -1 is outside [0, 3) of axis 1, for f32[2,3]{1,0}"),
        ((0,), "index must have one value per axis: got (0,) for 2 axes, for f32[2,3]{1,0}"),
        ((0, 1.0), "index[1] must be an integer, got 1.0 (float), for f32[2,3]{1,0}"),
        (4, "index must be a sequence of integers, got 4 (int), for f32[2,3]{1,0}"),
    ],
)
def test_indices_are_checked(index, message):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc("f32", (2, 3)).offset_of(index)
    assert message in str(caught.value)


def test_index_of_takes_integers_only():
    desc = TensorDesc("f32", (2, 3))
    assert desc.index_of(np.uint8(4)) == (1, 1)
    assert desc.index_of(-1) is None
    with pytest.raises(DescriptorError, match="offset must be an integer"):
        desc.index_of(1.0)


@pytest.mark.parametrize("rank", [1, 9, -1])
def test_promotion_neither_drops_axes_nor_passes_eight(rank):
    with pytest.raises(DescriptorError, match=rf"rank {rank} is outside \[2, 8\], for f32\[2,3\]"):
        TensorDesc("f32", (2, 3)).promoted(rank)
