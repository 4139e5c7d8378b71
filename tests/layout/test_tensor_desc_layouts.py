"""TensorDesc against the documents it follows: DirectML on strides, XLA on orders, padding, tiles, oneDNN on blocks."""

import itertools

import pytest

from restride.layout import TensorDesc


def offsets_of(desc):
    """The offset of every index, in logical order."""
    return [desc.offset_of(index) for index in itertools.product(*map(range, desc.sizes))]


def memory(desc, letters, hole="x"):
    """What the buffer holds when the logical elements are ``letters``."""
    cells = [hole] * desc.extent
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


# --- XLA: padding, tiles


def test_figure_1_of_tiled_layout():
    """linear_index((1,1,0,1), (2,3,2,2)) = 17."""
    desc = TensorDesc.parse("u8[3,5]{1,0:T(2,2)}")
    assert memory(desc, "abcdefghijklmno", ".") == "abfgcdhie.j.kl..mn..o..."
    assert desc.offset_of((2, 3)) == 17
    assert desc.index_of(17) == (2, 3)
    assert desc.nbytes == 24
    assert str(desc.address) == "12*(a div 2)+4*(b div 2)+2*(a mod 2)+(b mod 2)"


def test_tiles_of_a_tpu():
    """T(8,128)(2,1) of 16-bit elements: rows 2k and 2k + 1 share 32-bit words."""
    desc = TensorDesc.parse("bf16[33,200]{1,0:T(8,128)(2,1)}")
    assert desc.nbytes == 5 * 2 * 8 * 128 * 2
    for row, column in itertools.product(range(33), range(200)):
        tile = (row // 8 * 2 + column // 128) * 1024
        assert desc.offset_of((row, column)) == tile + row % 8 // 2 * 256 + column % 128 * 2 + row % 2


@pytest.mark.parametrize(
    ("text", "index", "offset"),
    [
        ("f32[8]{0:T(2,2)}", (5,), 9),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", (128,), 1),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", (1,), 2),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", (1, 6, 7, 10, 9), 12430),
    ],
)
def test_linear_indices(text, index, offset):
    desc = TensorDesc.parse(text)
    assert desc.offset_of(index) == offset
    assert desc.index_of(offset) == index


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("u32[]{:T(128)}", 512),
        ("f32[3,5]{1,0:T(2,2)}", 96),
        ("f32[2,3,4]{2,1,0:T(8,128)}", 2 * 8 * 128 * 4),
        ("f32[3,5]{1,0:T(2,2)pad(5,7)=1}", 6 * 8 * 4),
        ("u8[7]{0:T(4)(3)}", 12),
        ("u8[0,3]{1,0:T(2,2)}", 0),
        ("u8[0,3]{1,0:pad(2,4)=1}", 8),
        ("f16[2,20,4,4]:nChw16c", 2 * 32 * 16 * 2),
        ("f32[5,3]:Ab16a", 16 * 3 * 4),
        ("f32[3,5]{1,0:L(100)}", 400),
        ("f32[3,5]{1,0:T(2,2)L(100)}", 400),
        ("f32[3,5]{1,0:T(2,2)L(8)}", 96),
        ("f32[0,5]{1,0:L(8)}", 0),
        ("s8[64,128]{1,0:E(4)}", 4096),
        ("s8[9216,6144]{1,0:T(64,128)(8,1)E(4)}", 28311552),
        ("s8[3]{0:E(4)}", 2),
        ("pred[3]{0:E(32)}", 12),
    ],
)
def test_bytes_count_padding(text, nbytes):
    assert TensorDesc.parse(text).nbytes == nbytes


# --- oneDNN: blocks


@pytest.mark.parametrize(
    ("tag", "strides"),
    [("nchw", (60, 20, 5, 1)), ("nhwc", (60, 1, 15, 3)), ("chwn", (1, 40, 10, 2)), ("acdb", (60, 1, 15, 3))],
)
def test_plain_tags_are_strides(tag, strides):
    desc = TensorDesc.from_tag(tag, (2, 3, 4, 5))
    assert desc.strides == strides
    assert desc == TensorDesc("f32", (2, 3, 4, 5), strides)


@pytest.mark.parametrize(
    ("tag", "same", "sizes"),
    [("A8a1a", "A8a", (20,)), ("Ab1a", "ab", (20, 3)), ("A4a1a2a", "A8a", (20,)), ("aBc16b1b", "aBc16b", (2, 20, 3))],
)
def test_blocks_of_one_change_nothing(tag, same, sizes):
    assert offsets_of(TensorDesc.from_tag(tag, sizes)) == offsets_of(TensorDesc.from_tag(same, sizes))
    assert TensorDesc.from_tag(tag, sizes) == TensorDesc.from_tag(same, sizes)
