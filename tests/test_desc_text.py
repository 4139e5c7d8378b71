"""The text of descriptors: round trips, blanks, and errors that point at a character."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restride.desc import TensorDesc
from restride.dtypes import DTYPES
from restride.errors import DescriptorError, RestrideError, UnsupportedError

SIZES = st.lists(st.one_of(st.integers(0, 5), st.integers(0, 1 << 62)), max_size=8)
STRIDES = st.one_of(st.integers(-7, 7), st.integers(-(1 << 40), 1 << 40))
TYPES = st.sampled_from(sorted(DTYPES))


@st.composite
def descriptors(draw):
    """Any legal descriptor, written by order or by strides."""
    sizes = draw(SIZES)
    if draw(st.booleans()):
        return TensorDesc.xla(draw(TYPES), sizes, draw(st.permutations(range(len(sizes)))))
    strides = [draw(STRIDES) for _ in sizes]
    below = sum(min((size - 1) * stride, 0) for size, stride in zip(sizes, strides, strict=True))
    return TensorDesc(draw(TYPES), sizes, strides, (0 if 0 in sizes else -below) + draw(st.integers(0, 9)))


@settings(max_examples=300, deadline=None)
@given(descriptors())
def test_text_gives_the_descriptor_back(desc):
    text = str(desc)
    again = TensorDesc.parse(text)
    assert again == desc
    assert hash(again) == hash(desc)
    assert str(again) == text
    assert again.strides == desc.strides
    assert again.minor_to_major == desc.minor_to_major


@settings(max_examples=200, deadline=None)
@given(descriptors(), st.randoms(use_true_random=False))
def test_blanks_between_tokens_do_not_matter(desc, rng):
    spaced = "".join(
        character + (" " * rng.randint(0, 2) if character in "[]{}(),=" else "") for character in str(desc)
    )
    assert str(TensorDesc.parse(" " + spaced)) == str(desc)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=20), st.text(alphabet="f32[]{}(),:-=strideoT10 ", max_size=30)))
def test_any_text_parses_or_is_refused_with_a_typed_error(text):
    try:
        desc = TensorDesc.parse(text)
    except RestrideError:
        pass
    else:
        assert TensorDesc.parse(str(desc)) == desc


@pytest.mark.parametrize(
    "text",
    [
        "f32[]",
        "f32[2,3]{1,0}",
        "f32[2,3]{0,1}",
        "bf16[0]{0}",
        "f8e4m3fn[1,2,3,4,5,6,7,8]{7,6,5,4,3,2,1,0}",
        "f32[2,3]{strides=(1,2),offset=4}",
        "u8[3]{strides=(-1),offset=2}",
        "pred[2,2]{strides=(0,0)}",
        "s64[]{strides=(),offset=9}",
        "f32[4611686018427387904]{strides=(1099511627776)}",
    ],
)
def test_canonical_texts_print_as_they_are(text):
    assert str(TensorDesc.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("f32[2,3]", "f32[2,3]{1,0}"),
        (" f32 [ 2 , 3 ] { 0 , 1 } ", "f32[2,3]{0,1}"),
        ("f32[2,3]{-1,-2}", "f32[2,3]{1,0}"),
        ("f32[2,3]{-2,1}", "f32[2,3]{0,1}"),
        ("f32[]{}", "f32[]"),
        ("float32[2]", "f32[2]{0}"),
        ("bool[2]", "pred[2]{0}"),
        ("f32[2]{strides=(1),offset=0}", "f32[2]{strides=(1)}"),
        ("f32[02]{00}", "f32[2]{0}"),
    ],
)
def test_other_spellings_print_canonically(text, canonical):
    assert str(TensorDesc.parse(text)) == canonical


def test_minor_to_major_with_an_offset_prints_its_strides():
    assert str(TensorDesc("f32", (2, 3), offset=4)) == "f32[2,3]{strides=(3,1),offset=4}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an element type such as 'f32' at character 1 of '': the text ends"),
        ("[2]", "expected an element type such as 'f32' at character 1 of '[2]': found '[2]'"),
        ("q7[2]", "unknown element type 'q7' (known: pred, s8"),
        ("f32", "expected '[' before the sizes at character 4 of 'f32': the text ends"),
        ("f32(2)", "expected '[' before the sizes at character 4 of 'f32(2)': found '(2)'"),
        ("f32[2,x]{1,0}", "expected a size at character 7 of 'f32[2,x]{1,0}': found 'x]{1,0}'"),
        ("f32[2,]", "expected a size at character 7 of 'f32[2,]': found ']'"),
        ("f32[2", "expected ',' or ']' after a size at character 6 of 'f32[2': the text ends"),
        ("f32[2 3]", "expected ',' or ']' after a size at character 7 of 'f32[2 3]': found '3]'"),
        ("f32[2.5]", "expected ',' or ']' after a size at character 6"),
        ("f32[-]", "expected a size at character 5"),
        ("f32[²]", "expected a size at character 5"),
        ("f32[2]{0", "expected ',' or '}' after an axis number at character 9"),
        ("f32[2]{0}x", "expected the end of the text at character 10 of 'f32[2]{0}x': found 'x'"),
        ("f32[2]{stride=(1)}", "expected an axis number at character 8"),
        ("f32[2]{strides(1)}", "expected '=' after 'strides' at character 15"),
        ("f32[2]{strides=1}", "expected '(' before the strides at character 16"),
        ("f32[2]{strides=(1)", "expected '}' after the layout at character 19"),
        ("f32[2]{strides=(1),4}", "expected 'offset' after the strides at character 20"),
        ("f32[2]{strides=(1),offset=}", "expected an offset at character 27"),
        ("f32[" + "9" * 5000 + "]", "a size of 5000 digits is not below 2^512 at character 5"),
        ("f32[" + "9" * 155 + "]", "sizes[0] must be below 2^512 in magnitude"),
        ("f32[2,3]{0}", "minor_to_major (0,) must name each of the 2 axes once in f32[2,3]"),
        ("f32[2,3]{}", "minor_to_major () must name each of the 2 axes once in f32[2,3]"),
        ("f32[2,3]{1,1}", "minor_to_major (1, 1) must name each of the 2 axes once in f32[2,3]"),
        ("f32[-2]", "size -2 of axis 0 must be 0 or more"),
        ("f32[2]{strides=(1,2)}", "strides need one value per axis: got 2, (1, 2), for the 1 axes of f32[2]"),
        ("f32[2]{strides=(-1)}", "the lowest element must be at 0 or above"),
        ("f32[1,1,1,1,1,1,1,1,1]", "rank 9 exceeds 8"),
    ],
)
def test_errors_point_at_the_character(text, message):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc.parse(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f32[3,5]{1,0:T(2,2)}", "':T(2,2)}' at character 13"),
        ("f32[2,3]{0,1:pad(3,5)=0}", "':pad(3,5)=0}' at character 13"),
        ("f32[2,3]{ 0 , 1 : T(2) }", "tiles, padding"),
        ("f32[]{:S(1)}", "':S(1)}' at character 7"),
        ("f32[2,16,4,4]:nChw16c", "format tags are not supported yet: ':nChw16c' at character 14"),
        ("f32[2]{0}:x", "format tags are not supported yet: ':x'"),
    ],
)
def test_tiles_padding_and_tags_are_named_and_refused(text, part):
    with pytest.raises(UnsupportedError) as caught:
        TensorDesc.parse(text)
    assert part in str(caught.value)


@pytest.mark.parametrize("value", [None, b"f32[2]", 3])
def test_only_text_is_parsed(value):
    with pytest.raises(DescriptorError, match="a descriptor text must be a str"):
        TensorDesc.parse(value)
