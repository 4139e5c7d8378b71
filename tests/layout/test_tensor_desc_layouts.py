"""TensorDesc against the documents it follows: promotion, orders from strides, plain tags, blocks of one."""

import itertools

import pytest

from restride.errors import DescriptorError
from restride.layout import TensorDesc


def offsets_of(desc):
    """The offset of every index, in logical order."""
    return [desc.offset_of(index) for index in itertools.product(*map(range, desc.sizes))]


# --- promotion


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


def test_promotion_refuses_a_stride_that_no_text_may_have():
    with pytest.raises(DescriptorError, match=r"strides\[0\] must be below 2\^512 in magnitude, got 513 bits, for f32"):
        TensorDesc("f32", (2,), (1 << 511,)).promoted(2)


# --- XLA


def test_true_rank_counts_sizes_above_one():
    assert [TensorDesc("f32", sizes).true_rank for sizes in [(), (1,), (3, 1, 2), (1, 1), (0, 2)]] == [0, 0, 2, 0, 1]


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


# --- oneDNN: blocks


@pytest.mark.parametrize(
    ("tag", "same", "sizes"),
    [("A8a1a", "A8a", (20,)), ("Ab1a", "ab", (20, 3)), ("A4a1a2a", "A8a", (20,)), ("aBc16b1b", "aBc16b", (2, 20, 3))],
)
def test_blocks_of_one_change_nothing(tag, same, sizes):
    assert offsets_of(TensorDesc.from_tag(tag, sizes)) == offsets_of(TensorDesc.from_tag(same, sizes))
    assert TensorDesc.from_tag(tag, sizes) == TensorDesc.from_tag(same, sizes)
