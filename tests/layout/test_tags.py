"""oneDNN's format tags: worked examples, the words that letters come from, and errors that point at a character."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restride.errors import DescriptorError
from restride.layout.tags import FormatTag, parse_tag


@st.composite
def tags_by_position(draw):
    """A tag of letters by position, and what it says, which the test puts together itself."""
    order = tuple(draw(st.permutations(range(draw(st.integers(1, 8))))))
    blocks = tuple(draw(st.lists(st.tuples(st.sampled_from(order), st.integers(1, 64)), max_size=8)))
    blocked = {axis for axis, _ in blocks}
    outer = "".join("abcdefgh"[axis].upper() if axis in blocked else "abcdefgh"[axis] for axis in order)
    return FormatTag(outer + "".join(f"{size}{'abcdefgh'[axis]}" for axis, size in blocks), order, blocks)


@settings(max_examples=300, deadline=None)
@given(tags_by_position())
def test_letters_by_position_say_order_and_blocks(tag):
    assert parse_tag(tag.text) == tag
    assert tag.rank == len(tag.order)


@pytest.mark.parametrize(
    ("text", "order", "blocks"),
    [
        ("a", (0,), ()),
        ("acdb", (0, 2, 3, 1), ()),
        ("nChw16c", (0, 1, 2, 3), ((1, 16),)),
        ("OIhw8i16o2i", (0, 1, 2, 3), ((1, 8), (0, 16), (1, 2))),
        ("BA16a16b2a", (1, 0), ((0, 16), (1, 16), (0, 2))),
        ("AB16b64a2b", (0, 1), ((1, 16), (0, 64), (1, 2))),
        ("X16x", (0,), ((0, 16),)),
        ("Ab1a", (0, 1), ((0, 1),)),
    ],
)
def test_worked_examples(text, order, blocks):
    assert parse_tag(text) == FormatTag(text, order, blocks)


@pytest.mark.parametrize(
    ("name", "by_position"),
    [
        ("x", "a"),
        ("nc", "ab"),
        ("cn", "ba"),
        ("tn", "ab"),
        ("nt", "ba"),
        ("tnc", "abc"),
        ("ntc", "bac"),
        ("nwc", "acb"),
        ("nhwc", "acdb"),
        ("chwn", "bcda"),
        ("ndhwc", "acdeb"),
        ("NCw2c32n8c", "ABc2b32a8b"),
        ("nCdhw32c", "aBcde32b"),
        ("io", "ba"),
        ("wio", "cba"),
        ("hwio", "cdba"),
        ("dhwio", "cdeba"),
        ("idhwo", "bcdea"),
        ("gowi", "abdc"),
        ("wigo", "dcab"),
        ("hwigo", "decab"),
        ("dhwigo", "defcab"),
        ("gIOhw16i16o", "aCBde16c16b"),
        ("gdhwIo4i", "adefCb4c"),
        ("hwioG16g", "decbA16a"),
        ("wIo2i", "cBa2b"),
        ("OwI16i64o4i", "AcB16b64a4b"),
        ("Goidhw16g", "Abcdef16a"),
        ("ldnc", "abcd"),
        ("ldio", "abcd"),
        ("ldoi", "abdc"),
        ("ldgo", "abcd"),
        ("ldigo", "abcde"),
        ("ldgoi", "abdec"),
        ("ldOI32o4i", "abDC32d4c"),
        ("ldgOi32o", "abdEc32e"),
        ("ldgIO32i2o", "abdCE32c2e"),
    ],
)
def test_names_of_the_domains_are_names_by_position(name, by_position):
    """Aliases of dnnl_format_tag_t, one or more of every word and of every kind of blocks."""
    read, expected = parse_tag(name), parse_tag(by_position)
    assert (read.order, read.blocks) == (expected.order, expected.blocks)
    assert read.text == name


@pytest.mark.parametrize(
    ("name", "by_position"),
    [
        ("OhwI24o", "Acdb24a"),
        ("gOhwI24o", "aBdec24b"),
        ("OhwI32o", "Acdb32a"),
        ("gOhwI32o", "aBdec32b"),
        ("gIOhw2i8o16i2o", "aBCde2c8b16c2b"),
        ("gIOdhw2i8o16i2o", "aBCdef2c8b16c2b"),
    ],
)
def test_names_that_onednn_gives_the_value_of_another_mean_that_value(name, by_position):
    read, expected = parse_tag(name), parse_tag(by_position)
    assert (read.order, read.blocks) == (expected.order, expected.blocks)
    assert read.text == name


def test_every_word_numbers_its_letters_in_its_own_order():
    words = ["abcdefgh", "ncdhw", "nchw", "oidhw", "oihw", "goidhw", "goihw", "goi", "tnc", "ldnc", "ldigo", "ldio"]
    for word in words:
        for letters in itertools.islice(itertools.permutations(word), 200):
            assert parse_tag("".join(letters)).order == tuple(map(word.index, letters))


def test_blocks_may_hold_as_much_as_a_size():
    assert parse_tag("A4611686018427387903a").blocks == ((0, (1 << 62) - 1),)
    assert parse_tag("A2147483648a2147483647a").blocks == ((0, 1 << 31), (0, (1 << 31) - 1))


@pytest.mark.parametrize(
    ("text", "rule", "at"),
    [
        ("", "expected the letter of an axis", 1),
        ("16c", "expected the letter of an axis", 1),
        ("any", "'any' leaves the layout open, write a tag (a layout argument takes 'any' too),", 1),
        ("nCqw16c", "unknown letter 'q'", 3),
        ("n c", "unknown letter ' '", 2),
        ("nchw\n", "unknown letter '\\n'", 5),
        ("nChw_16c", "unknown letter '_'", 5),
        ("\u212aa", "unknown letter '\u212a'", 1),
        ("a\u0661b", "unknown letter '\u0661'", 2),
        ("nn", "letter 'n' names its axis a second time", 2),
        ("nChc8c", "letter 'c' names its axis a second time", 4),
        ("nci", "letter 'i' does not go together with 'nc'", 3),
        ("xa", "letter 'a' does not go together with 'x'", 2),
        ("OIt", "letter 't' does not go together with 'OI'", 3),
        ("b", "letters 'b' are incomplete, abcdefghijkl needs a too,", 2),
        ("acd", "letters 'acd' are incomplete, abcdefghijkl needs b too,", 4),
        ("aCd4c", "letters 'aCd' are incomplete, abcdefghijkl needs b too,", 4),
        ("nhw", "letters 'nhw' are incomplete, ncdhw needs c too,", 4),
        ("ld", "letters 'ld' are incomplete, ", 3),
        ("go", "letters 'go' are incomplete, goidhw needs i too, or ldigo needs l d too,", 3),
        ("abcdefghi", "a tag has at most 8 axes, not 9,", 9),
        ("Abcdefghijkl16a", "a tag has at most 8 axes, not 12,", 9),
        ("NHWC", "an upper-case name is no tag, write 'nhwc' (a layout argument takes 'NHWC' too),", 1),
        ("AB", "an upper-case name is no tag, write 'ab' (a layout argument takes 'NHWC' too),", 1),
        ("nChw", "upper-case letter 'C' needs a block such as '16c' (without blocks: 'nchw')", 2),
        ("NChw16c", "upper-case letter 'N' needs a block such as '16n' at", 1),
        ("nchw16c", "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',", 7),
        ("nChw16n", "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',", 7),
        ("nChw16C", "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',", 7),
        ("nChw16o", "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',", 7),
        (
            "nChw16\u0131",
            "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',",
            7,
        ),
        (
            "OIhw16\u0131",
            "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',",
            7,
        ),
        ("nChw16", "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',", 7),
        ("nChw16\n", "a block has the lower-case letter of an axis that is upper-case before it, as in 'nChw16c',", 7),
        ("nChw16cc", "expected the size of a block, found 'c',", 8),
        ("OIhw4i16o4i ", "expected the size of a block, found ' ',", 12),
        ("nChw0c", "block size '0' must be 1 or more, without leading zeros,", 5),
        ("nChw4c016c", "block size '016' must be 1 or more, without leading zeros,", 7),
        ("nChw4611686018427387904c", "the blocks of a tag must hold less than 2^62 elements, exceeded", 5),
        ("AB2147483648a2147483648b", "the blocks of a tag must hold less than 2^62 elements, exceeded", 14),
        ("A" + "9" * 5000 + "a", "the blocks of a tag must hold less than 2^62 elements, exceeded", 2),
    ],
)
def test_tags_that_are_no_tags(text, rule, at):
    with pytest.raises(DescriptorError) as caught:
        parse_tag(text)
    message = str(caught.value)
    assert message.startswith(rule)
    assert re.search(rf" at character {at} of tag '", message)
    assert len(message) < 300


@pytest.mark.parametrize("value", [None, b"nchw", 3, ("n", "c")])
def test_only_a_str_is_a_tag(value):
    with pytest.raises(DescriptorError, match="a format tag must be a str, got"):
        parse_tag(value)


def test_letters_of_the_axes_in_logical_order():
    assert {tag: parse_tag(tag).letters for tag in ("nhwc", "IOhw16i16o", "OhwI24o", "acdB4b", "hwigo", "x")} == {
        "nhwc": "nchw",
        "IOhw16i16o": "oihw",
        "OhwI24o": "oihw",
        "acdB4b": "abcd",
        "hwigo": "goihw",
        "x": "x",
    }
