"""TensorDesc against the documents it follows: DirectML's on strides, example by example, and XLA's on orders."""

import itertools

import pytest

from restride.desc import TensorDesc


def offsets_of(desc):
    """The offset of every index, in logical order."""
    return [desc.offset_of(index) for index in itertools.product(*map(range, desc.sizes))]


def memory(desc, letters, hole="x"):
    """What the buffer holds when the logical elements are ``letters``."""
    cells = [hole] * (desc.highest + 1)
    for offset, letter in zip(offsets_of(desc), letters, strict=True):
        assert cells[offset] in {hole, letter}
        cells[offset] = letter
    return "".join(cells)


# --- the DirectML document on strides, example by example


def test_row_major_2d():
    desc = TensorDesc("u8", (2, 3))
    assert desc.strides == (3, 1)
    assert memory(desc, "ABCDEF") == "ABCDEF"
    assert desc.is_packed
    assert desc.is_row_major
    assert desc.nbytes == 6


def test_column_major_2d():
    desc = TensorDesc("u8", (2, 3), (1, 2))
    assert memory(desc, "ABCDEF") == "ADBECF"
    assert desc.is_packed
    assert not desc.is_row_major
    assert desc.minor_to_major == (0, 1)
    assert desc == TensorDesc.xla("u8", (2, 3), (0, 1))


def test_depth_height_width():
    desc = TensorDesc("u8", (2, 2, 3))
    assert desc.strides == (6, 3, 1)
    assert memory(desc, "ABCDEFGHIJKL") == "ABCDEFGHIJKL"
    assert desc.offset_of((1, 0, 1)) == 7  # H = {1,0,1} . {6,3,1}
    assert desc.index_of(7) == (1, 0, 1)
    assert desc.is_packed


def test_width_height_depth():
    desc = TensorDesc.xla("u8", (2, 2, 3), (0, 1, 2))
    assert desc.strides == (1, 2, 4)
    assert memory(desc, "ABCDEFGHIJKL") == "AGDJBHEKCIFL"


def test_broadcast_rows():
    desc = TensorDesc("u8", (2, 3), (0, 1))
    assert memory(desc, "ABCABC") == "ABC"
    assert desc.is_broadcast
    assert not desc.is_packed
    assert not desc.is_padded
    assert desc.nbytes == 3
    assert desc.numel == 6
    assert desc.minor_to_major is None


def test_broadcast_channels_repeat_height_and_width():
    desc = TensorDesc("u8", (1, 3, 2, 2), (4, 0, 2, 1))
    assert offsets_of(desc) == [0, 1, 2, 3] * 3


def test_padded_rows():
    desc = TensorDesc("u8", (2, 3), (5, 1))
    assert memory(desc, "ABCDEF") == "ABCxxDEF"
    assert desc.is_padded
    assert not desc.is_packed
    assert not desc.is_broadcast
    assert desc.nbytes == 8
    assert [desc.index_of(offset) for offset in (2, 3, 4, 5)] == [(0, 2), None, None, (1, 0)]


def test_packed_nchw_implicit_and_explicit():
    implicit = TensorDesc("f32", (1, 1, 3, 5))
    explicit = TensorDesc("f32", (1, 1, 3, 5), (15, 15, 5, 1))
    assert implicit.strides == (15, 15, 5, 1)
    assert implicit == explicit
    assert hash(implicit) == hash(explicit)
    assert implicit.nbytes == 60


def test_packed_nhwc():
    desc = TensorDesc("f32", (1, 1, 3, 5), (15, 1, 5, 1))
    assert desc.is_packed
    assert desc.strides == (15, 1, 5, 1)
    assert desc.nbytes == 60
    three = TensorDesc("f32", (2, 3, 4, 5), (60, 1, 15, 3))
    assert three == TensorDesc.xla("f32", (2, 3, 4, 5), (1, 3, 2, 0))
    assert three.minor_to_major == (1, 3, 2, 0)
    assert three.is_packed


@pytest.mark.parametrize(("rank", "sizes"), [(4, (1, 1, 3, 5)), (5, (1, 1, 1, 3, 5))])
def test_promotion_leads_with_ones(rank, sizes):
    promoted = TensorDesc("f32", (3, 5)).promoted(rank)
    assert promoted.sizes == sizes
    assert promoted == TensorDesc("f32", sizes)
    assert promoted.strides == (15,) * (rank - 2) + (5, 1)
    strided = TensorDesc("f32", (2, 3), (5, 1), 7).promoted(rank)
    assert strided == TensorDesc("f32", (1,) * (rank - 2) + (2, 3), (10,) * (rank - 2) + (5, 1), 7)
    assert strided.strides == (10,) * (rank - 2) + (5, 1)


def test_promotion_keeps_the_written_order():
    promoted = TensorDesc.xla("f32", (2, 3), (0, 1)).promoted(4)
    assert str(promoted) == "f32[1,1,2,3]{2,3,1,0}"
    assert offsets_of(promoted) == [0, 2, 4, 1, 3, 5]
    assert TensorDesc("f32", ()).promoted(2) == TensorDesc("f32", (1, 1))
    assert TensorDesc("f32", (3,)).promoted(1) == TensorDesc("f32", (3,))


# --- XLA


def test_true_rank_counts_sizes_above_one():
    assert [TensorDesc("f32", sizes).true_rank for sizes in [(), (1,), (3, 1, 2), (1, 1), (0, 2)]] == [0, 0, 2, 0, 1]


def test_minor_to_major_of_the_document():
    assert memory(TensorDesc.xla("u8", (2, 3), (0, 1)), "abcdef") == "adbecf"
    assert memory(TensorDesc.xla("u8", (2, 3), (1, 0)), "abcdef") == "abcdef"
    assert TensorDesc.xla("u8", (2, 3)).minor_to_major == (1, 0)
    assert TensorDesc.xla("u8", (2, 3), (-2, -1)) == TensorDesc.xla("u8", (2, 3), (0, 1))


def test_every_order_of_three_axes_is_packed_and_given_back():
    for order in itertools.permutations(range(3)):
        desc = TensorDesc.xla("s16", (2, 3, 4), order)
        assert desc.minor_to_major == order
        assert desc.is_packed
        assert sorted(offsets_of(desc)) == list(range(24))
        again = TensorDesc("s16", desc.sizes, desc.strides)
        assert again.minor_to_major == order
        assert again == desc


@pytest.mark.parametrize(
    ("sizes", "strides", "order"),
    [
        ((2, 3), (3, -1), (1, 0)),
        ((2, 3), (-1, 2), (0, 1)),
        ((2, 2), (1, 1), (1, 0)),
        ((1, 3), (0, 1), (1, 0)),
        ((3, 1), (1, 0), (0, 1)),
        ((1, 1, 3, 5), (15, 1, 5, 1), (3, 1, 2, 0)),
        ((2, 3), (3, 0), None),
        ((0, 3), (0, 0), (1, 0)),
        ((), (), ()),
    ],
)
def test_minor_to_major_from_strides(sizes, strides, order):
    assert TensorDesc("u8", sizes, strides, 10).minor_to_major == order
