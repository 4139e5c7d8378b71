"""The forms of a descriptor as values: fields, equality by memory, copies, padding, promotion, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
import random
import re
from collections import defaultdict

import numpy as np
import pytest
from support.random_layouts import random_layout

from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc, views
from restride.layout.tensor_desc import element_bits
from restride.reference.memory import PADDING_VALUE, ZERO, element_positions, is_whole, memory_line

TILED = TensorDesc.parse("f32[3,5]{1,0:T(2,2)}")
PADDED = TensorDesc.parse("f32[2,3]{0,1:pad(3,5)=-1.5}")
BLOCKED = TensorDesc.parse("f32[2,20,4,4]:nChw16c")
VIEW = TensorDesc.view_of(TILED, (2, 4), (2, 4), ((-1, 0), (0, -1)))
FORMS = [
    TILED,
    PADDED,
    BLOCKED,
    VIEW,
    TensorDesc.parse("u32[]{:T(128)}"),
    TensorDesc.parse("bf16[2048]{0:T(1024)(128)(2,1)}"),
    TensorDesc.parse("u8[0,3]{1,0:T(2,2)pad(2,4)=1}"),
    TensorDesc.parse("s8[2]{at=(1,3),in=[4,4]{1,0:T(2,4)}}"),
    TensorDesc.from_tag("nhwc", (2, 3, 4, 5), "f16"),
    TensorDesc.xla("f64", (2, 3), (0, 1), [(2, 2)], (4, 4), math.nan),
    TensorDesc("u8", (4,), (-2,), 9),
    TensorDesc("s8", ()),
]

# --- fields


def test_fields_of_tiles():
    assert (TILED.rank, TILED.numel, TILED.extent, TILED.nbytes, TILED.true_rank) == (2, 15, 24, 96, 2)
    assert (TILED.strides, TILED.offset, TILED.lowest) == (None, 0, 0)
    assert 20 <= TILED.highest < 24  # without strides it is a bound
    assert (TILED.minor_to_major, TILED.tiles, TILED.padded_sizes, TILED.tag) == ((1, 0), ((2, 2),), None, None)
    assert (TILED.inner, TILED.starts, TILED.steps) == (None, (), ())
    assert TILED.is_whole
    assert TILED.is_padded
    assert not TILED.is_packed
    assert not TILED.is_row_major
    assert not TILED.is_broadcast
    packed = TensorDesc.parse("f32[4,6]{1,0:T(2,2)}")
    assert packed.is_packed
    assert not packed.is_padded
    assert packed.is_whole


def test_fields_of_padding():
    assert (PADDED.strides, PADDED.offset, PADDED.extent, PADDED.nbytes) == ((1, 3), 0, 15, 60)
    assert (PADDED.minor_to_major, PADDED.padded_sizes, PADDED.padding_value) == ((0, 1), (3, 5), -1.5)
    assert PADDED.is_whole
    assert PADDED.is_padded
    assert not PADDED.is_packed
    assert TensorDesc("f32", (2, 3)).padded_sizes is None
    assert TensorDesc("f32", (2, 3)).padding_value == 0
    assert not TensorDesc("f32", (2, 3)).is_whole
    assert not TensorDesc.xla("f32", (2, 3), (0, 1)).is_whole


def test_fields_of_blocks():
    assert (BLOCKED.tag, BLOCKED.strides, BLOCKED.minor_to_major, BLOCKED.tiles) == ("nChw16c", None, None, ())
    assert (BLOCKED.numel, BLOCKED.extent) == (640, 1024)
    assert BLOCKED.is_whole
    assert BLOCKED.is_padded
    plain = TensorDesc.from_tag("nhwc", (2, 3, 4, 5), "f16")
    assert (plain.tag, plain.strides, plain.minor_to_major) == ("nhwc", (60, 1, 15, 3), (1, 3, 2, 0))
    one_block = TensorDesc.from_tag("nChw16c", (1, 8, 4, 4))
    assert one_block.strides == (0, 1, 64, 16)
    assert one_block.is_whole
    assert one_block.is_padded
    assert one_block.tag == "nChw16c"


def test_fields_of_views():
    assert str(VIEW) == "f32[2,4]{at=(2-a,4-b),in=[3,5]{1,0:T(2,2)}}"
    assert (VIEW.inner, VIEW.starts, VIEW.steps) == (TILED, (2, 4), ((-1, 0), (0, -1)))
    assert (VIEW.strides, VIEW.offset, VIEW.minor_to_major, VIEW.tiles, VIEW.tag) == (None, 20, None, (), None)
    assert (VIEW.extent, VIEW.nbytes, VIEW.numel) == (24, 96, 8)
    assert not VIEW.is_whole
    assert VIEW.is_padded
    assert [VIEW.offset_of(index) for index in ((0, 0), (0, 3), (1, 0), (1, 3))] == [20, 13, 10, 3]
    assert VIEW.index_of(0) is None
    # Elements of one tile are strided, though written as a view.
    within = TensorDesc.parse("f32[2]{at=(1,3-a),in=[4,4]{1,0:T(2,4)}}")
    assert (within.strides, within.offset, within.nbytes, within.is_whole) == ((-1,), 7, 64, False)
    broadcast = TensorDesc.parse("f32[7,5]{at=(2,b),in=[3,5]{1,0:T(2,2)}}")
    assert broadcast.is_broadcast
    assert not broadcast.is_packed
    assert broadcast.index_of(16) == (0, 2)


def test_overlapping_views_do_not_fill_the_buffer():
    """Sums of both indices reach 8 of the 18 places."""
    sliding = TensorDesc.parse("f32[3,6]{at=(a+b),in=[10]{0:T(4)(3)}}")
    assert (sliding.numel, sliding.extent) == (18, 18)
    assert sliding.is_padded
    assert not sliding.is_packed


def test_a_packed_view_is_packed():
    assert TensorDesc.parse("f32[6,4]{at=(b,a),in=[4,6]{1,0:T(2,2)}}").is_packed
    assert TensorDesc.parse("f32[4,6]{at=(3-a,5-b),in=[4,6]{1,0:T(2,2)}}").is_packed
    assert TensorDesc.parse("f32[4,3,2]{at=(a,2b+c),in=[4,6]{1,0:T(2,2)}}").is_packed


def test_numbers_of_any_magnitude():
    huge = 1 << 40
    desc = TensorDesc.xla("f32", (huge, huge, huge), tiles=[(8, 128), (2, 1)])
    assert desc.nbytes == 4 << 120
    last = (huge - 1,) * 3
    assert desc.index_of(desc.offset_of(last)) == last
    padded = TensorDesc.xla("u8", (huge,), padded_sizes=(1 << 60,), padding_value=255)
    assert (padded.nbytes, padded.is_padded) == (1 << 60, True)
    eight = TensorDesc.xla("u8", (huge,) * 8, range(8), [(-1, -1, 3, -1, 5), (7, 2)])
    index = tuple(huge - 1 - axis for axis in range(8))
    assert eight.index_of(eight.offset_of(index)) == index
    assert TensorDesc.parse(str(eight)) == eight
    assert TensorDesc.from_tag("ABcd16a16b2a", (huge, huge, 3, 4)).extent == huge * huge * 12


def test_ranks_zero_and_eight():
    scalar = TensorDesc.parse("u32[]{:T(128)}")
    assert (scalar.nbytes, scalar.numel, scalar.offset_of(()), scalar.index_of(0), scalar.index_of(1)) == (
        *(512, 1, 0, ()),
        None,
    )
    assert scalar.is_whole
    eight = TensorDesc.xla("f32", (1, 2, 1, 3, 1, 2, 1, 2), tiles=[(2,) * 8])
    assert eight.extent == 2**8 * 2
    assert eight.promoted(8) == eight
    assert TensorDesc.from_tag("abcdefgH8h", (1,) * 8).extent == 8


# --- equality


def test_equal_descriptors_have_equal_memory():
    """Elements and padding: plans are remembered by descriptor, so equal ones must be written alike."""
    rng = random.Random(5)
    texts = defaultdict(list)
    for _ in range(6000):
        text = random_layout(rng, "u8", sizes=rng.choice([(4,), (8,), (4, 4), (3, 5), (1, 4), (1, 1)]), max_elements=20)
        texts[TensorDesc.parse(text)].append(text)
    several = [text for text in texts.values() if len(set(text)) > 1]
    assert len(several) > 200
    for spellings in several:
        first, *others = (TensorDesc.parse(text) for text in spellings)
        for other in others:
            assert (element_positions(first) == element_positions(other)).all(), (str(first), str(other))
            if first.is_padded and is_whole(first) and is_whole(other):
                assert (padding(first) == padding(other)).all(), (str(first), str(other))


def padding(desc: TensorDesc) -> np.ndarray:
    """What each place of the buffer is filled with; -1 for elements."""
    line = memory_line(desc)
    value = element_bits(desc.padding_value, desc.dtype)
    return np.where(line == PADDING_VALUE, value, np.where(line == ZERO, 0, -1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # the padding that is written
        ("f32[3]{0:T(4)}", "f32[3]"),
        ("f32[3]{0:pad(4)=0}", "f32[3]{0:pad(4)=1}"),
        ("f32[3]{0:pad(4)=0}", "f32[3]{0:pad(5)=0}"),
        ("f32[3]{0:pad(4)=0}", "f32[3]{0:pad(4)=-0.0}"),
        ("u8[1,1]{1,0:T(2,2)pad(2,3)=1}", "u8[1,1]{0,1:T(2,2)pad(2,3)=1}"),
        ("u8[0,3]{1,0:T(2,2)pad(2,3)=1}", "u8[0,3]{0,1:T(2,2)pad(2,3)=1}"),
        ("f32[3,5]{1,0:L(100)}", "f32[3,5]"),
        ("f32[3,5]{1,0:T(2,2)L(100)}", "f32[3,5]{1,0:T(2,2)}"),
        # where the buffer is, and how wide its elements are
        ("f32[3,5]{1,0:S(1)}", "f32[3,5]"),
        ("f32[3,5]{1,0:S(1)}", "f32[3,5]{1,0:S(2)}"),
        ("f32[3,5]{1,0:T(2,2)S(1)}", "f32[3,5]{1,0:T(2,2)}"),
        ("s8[3,5]{1,0:E(4)}", "s8[3,5]"),
        ("s8[3,5]{1,0:T(2,2)E(4)}", "s8[3,5]{1,0:T(2,2)}"),
        # a view writes none
        ("f32[3,5]{1,0:T(2,2)}", "f32[3,5]{at=(a,b),in=[3,5]{1,0:T(2,2)}}"),
        ("f32[3,5]{1,0:T(2,2)}", "f32[3,5]{0,1:T(2,2)}"),
        ("f32[3,5]{1,0:T(2,2)}", "u32[3,5]{1,0:T(2,2)}"),
        ("f32[3]{at=(a),in=[9]{0:T(2,4)}}", "f32[3]{at=(8-a),in=[9]{0:T(2,4)}}"),
    ],
)
def test_different_memory_is_different(one, other):
    assert TensorDesc.parse(one) != TensorDesc.parse(other)


@pytest.mark.parametrize("text", ["f32[3,4]{1,0:L(4)}", "f32[3,4]{1,0:E(32)}", "f32[3,4]{strides=(4,1):E(32)}"])
def test_parts_that_change_no_byte_make_no_difference(text):
    assert TensorDesc.parse(text) == TensorDesc.parse("f32[3,4]")
    assert hash(TensorDesc.parse(text)) == hash(TensorDesc.parse("f32[3,4]"))


def test_views_keep_the_memory_space_and_the_bits_of_an_element():
    for layout in ("{1,0:E(4)S(1)}", "{0,1:T(2,2)E(4)S(1)}", "{strides=(8,2),offset=1:E(4)S(1)}"):
        desc = TensorDesc.parse("s8[4,4]" + layout)
        made = [views.index(desc, (slice(1, None), slice(None, None, -2))), views.index(desc, (0, slice(0, 2)))]
        made += [views.permute(desc, (1, 0)), views.broadcast_to(desc, (2, 4, 4)), desc.promoted(4)]
        made += [views.index(desc, slice(0, 0)), views.reshape(views.index(desc, 1), (2, 2))]
        for view in made:
            assert (view.element_size_in_bits, view.memory_space) == (4, 1), (str(desc), str(view))
            assert TensorDesc.parse(str(view)) == view
    assert views.index(TensorDesc.parse("f32[8]{0:L(64)}"), slice(2, 4)).nbytes == 16


def test_views_are_equal_by_memory():
    one = TensorDesc.parse("f32[2,2]{at=(2a,2b),in=[4,4]{1,0:T(2,2)}}")
    assert one == TensorDesc("f32", (2, 2), (8, 4))
    assert one == TensorDesc.parse("f32[2,2]{at=(2a,2b),in=[3,3]{1,0:T(2,2)}}")
    assert TensorDesc.parse("f32[4,6]{at=(a,b),in=[4,6]{1,0:T(2,2)}}") == TensorDesc.parse("f32[4,6]{1,0:T(2,2)}")


@pytest.mark.parametrize("desc", FORMS, ids=str)
def test_copies_texts_and_pickles_are_equal(desc):
    for again in (copy.copy(desc), copy.deepcopy(desc), pickle.loads(pickle.dumps(desc)), TensorDesc.parse(str(desc))):
        assert again == desc
        assert hash(again) == hash(desc)
        assert str(again) == str(desc)
        assert (again.is_whole, again.nbytes, again.strides) == (desc.is_whole, desc.nbytes, desc.strides)
    assert repr(desc) == f"TensorDesc.parse({str(desc)!r})"
    assert desc == str(desc)


@pytest.mark.parametrize("desc", FORMS, ids=str)
def test_descriptors_cannot_be_changed(desc):
    with pytest.raises(AttributeError, match=re.escape(f"a TensorDesc never changes: offset of {desc}")):
        desc.offset = 4
    with pytest.raises(AttributeError, match="a TensorDesc never changes"):
        del desc.sizes
    assert not hasattr(desc, "__dict__")


# --- the other constructors


def test_directml_both_ways():
    """NHWC of sizes 1,1,3,5: strides 15,1,5,1."""
    desc = TensorDesc.from_dml((1, 1, 3, 5), (15, 1, 5, 1))
    assert desc.to_dml() == ((1, 1, 3, 5), (15, 1, 5, 1))
    assert TensorDesc.from_dml((1, 1, 3, 5)).to_dml() == ((1, 1, 3, 5), (15, 15, 5, 1))
    assert TensorDesc.from_dml((2, 3), (0, 1), "u8") == TensorDesc("u8", (2, 3), (0, 1))
    assert TensorDesc.from_tag("nhwc", (1, 1, 3, 5)).to_dml() == ((1, 1, 3, 5), (15, 1, 5, 1))
    assert TensorDesc.xla("f32", (24, 128), tiles=[(8, 128)]).to_dml() == ((24, 128), (128, 1))


_PACKED = "; rs.reorder(x) makes a packed tensor"


@pytest.mark.parametrize(
    ("text", "rule", "remedy"),
    [
        ("f32[3,5]{1,0:T(2,2)}", "DirectML needs strides, and none describe this layout", _PACKED),
        ("f32[8,2]{at=(a,b),in=[8,5]{1,0:T(2,2)}}", "DirectML needs strides, and none describe this layout", _PACKED),
        ("f32[2,3]{strides=(-3,1),offset=3}", "DirectML needs strides of 0 or more, not (-3, 1)", _PACKED),
        ("f32[2]{strides=(1),offset=1}", "DirectML needs an offset of 0, not 1", _PACKED),
        ("f32[0,2]{1,0}", "DirectML sizes are 1 to 2^32 - 1, sizes[0] is 0, for f32[0,2]", ""),
        ("f32[]", "DirectML tensors have 1 to 8 axes, sizes has 0, for f32[]", ""),
        ("s8[2]{0:E(4)}", "DirectML needs elements of the size of their type, not of 4 bits", ""),
    ],
)
def test_what_directml_cannot_say(text, rule, remedy):
    desc = TensorDesc.parse(text)
    with pytest.raises(UnsupportedError) as caught:
        desc.to_dml()
    assert str(caught.value).startswith(rule)
    assert str(caught.value).endswith((f"got {desc}{remedy}", f", for {text[: text.index(']') + 1]}"))


def test_directml_refuses():
    with pytest.raises(DescriptorError, match=r"strides\[0\] is -1, for f32\[2,3\]"):
        TensorDesc.from_dml((2, 3), (-1, 1))


def test_interleaved_channels_and_padded_rows():
    assert TensorDesc.interleaved("u8", (1, 3, 480, 640)).strides == (921600, 1, 1920, 3)
    assert TensorDesc.interleaved("u8", (2, 3, 4, 5, 6)) == TensorDesc.from_tag("ndhwc", (2, 3, 4, 5, 6), "u8")
    assert TensorDesc.interleaved("u8", (2, 3)).strides == (3, 1)
    assert TensorDesc.padded_rows("u8", (2, 3), 5) == TensorDesc("u8", (2, 3), (5, 1))
    assert TensorDesc.padded_rows("u8", (4, 2, 3), 5).strides == (10, 5, 1)
    assert not TensorDesc.padded_rows("u8", (2, 3), 5).is_whole
    with pytest.raises(DescriptorError, match=r"needs a batch and a channel axis, sizes are \(3,\)"):
        TensorDesc.interleaved("u8", (3,))
    with pytest.raises(DescriptorError, match=r"row must be at least 3, the last of sizes \(2, 3\), got 2"):
        TensorDesc.padded_rows("u8", (2, 3), 2)
    with pytest.raises(DescriptorError, match=r"sizes must have an axis, got \(\)"):
        TensorDesc.padded_rows("u8", (), 4)


@pytest.mark.parametrize("desc", [*FORMS, TensorDesc.from_tag("nChw16c", (1, 8, 4, 4))], ids=str)
def test_promotion_keeps_every_element_where_it_is(desc):
    promoted = desc.promoted(6)
    assert promoted.sizes == (1,) * (6 - desc.rank) + desc.sizes
    assert promoted.numel == desc.numel
    for index in list(np.ndindex(desc.sizes))[:50]:
        assert promoted.offset_of((0,) * (6 - desc.rank) + index) == desc.offset_of(index)
    if desc.is_whole and desc.tag is None:
        assert (promoted.nbytes, promoted.is_whole, promoted.tiles) == (desc.nbytes, True, desc.tiles)


# --- refusals: rule, argument, value, descriptor


def xla(**arguments: object) -> TensorDesc:
    return TensorDesc.xla(**({"dtype": "f32", "sizes": (2, 3)} | arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tiles": [(2, 0)]}, "tile sizes are 1 or more, or -1 to join dimensions: 0 of (2, 0), for f32[2,3]"),
        ({"tiles": [(2, 2), (-2, 2)]}, "or -1 to join dimensions: -2 of (-2, 2), for f32[2,3]"),
        ({"tiles": [()]}, "a tile needs a size, got (), for f32[2,3]"),
        ({"tiles": [(2, -1)]}, "must not be -1, as no faster dimension follows: (2, -1), for f32[2,3]"),
        ({"tiles": [(-1,)]}, "must not be -1, as no faster dimension follows: (-1,), for f32[2,3]"),
        ({"tiles": [2, 2]}, "tile must be a sequence of integers, got 2 (int), for f32[2,3]"),
        ({"tiles": [(2, 2.0)]}, "tile[1] must be an integer, got 2.0 (float), for f32[2,3]"),
        ({"tiles": [(True,)]}, "tile[0] must be an integer, got the boolean True, for f32[2,3]"),
        ({"tiles": 2}, "tiles must be a sequence"),
        ({"padded_sizes": (2,)}, "padded_sizes must have one value per axis: got (2,) for 2 axes, for f32[2,3]"),
        ({"padded_sizes": (3, 2)}, "padded size 2 of axis 1 is below its size 3, for f32[2,3]"),
        ({"padded_sizes": 5}, "padded_sizes must be a sequence of integers, got 5 (int), for f32[2,3]"),
        ({"padding_value": 3}, "padding_value 3 needs padded_sizes, for f32[2,3]"),
        ({"padding_value": 3, "tiles": [(2,)]}, "padding_value 3 needs padded_sizes"),
        ({"sizes": (1,) * 9, "tiles": [(2,)]}, "rank 9 exceeds 8"),
        ({"tail_padding_alignment_in_elements": 0}, "elements 0 is outside [1, 2^63), for f32[2,3]"),
        ({"element_size_in_bits": -4}, "element_size_in_bits -4 is outside [0, 2^63), for f32[2,3]"),
        ({"memory_space": 1.0}, "memory_space must be an integer, got 1.0 (float), for f32[2,3]"),
        ({"sizes": (2, -1), "tiles": [(2,)]}, "size -1 of axis 1 must be 0 or more"),
    ],
    ids=str,
)
def test_xla_refuses(arguments, message):
    with pytest.raises(DescriptorError) as caught:
        xla(**arguments)
    assert message in str(caught.value)


def test_too_many_tiles_or_blocks_are_refused_with_the_descriptor():
    for call in (lambda: xla(tiles=[(2,)] * 40), lambda: TensorDesc.from_tag("Ab" + "2a" * 40, (2, 3))):
        with pytest.raises(UnsupportedError, match=r"at most 64 numbers, got more.*f32\[2,3\]"):
            call()


@pytest.mark.parametrize(
    ("tag", "sizes", "message"),
    [
        ("nchw", (2, 3), "tag 'nchw' has 4 axes, f32[2,3] has 2"),
        ("nChw16c", (2, 3, 4, 5, 6), "tag 'nChw16c' has 4 axes, f32[2,3,4,5,6] has 5"),
        ("ab", (), "tag 'ab' has 2 axes, f32[] has 0"),
        ("a", (1,) * 9, "rank 9 exceeds 8"),
    ],
)
def test_from_tag_refuses(tag, sizes, message):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc.from_tag(tag, sizes)
    assert message in str(caught.value)
