"""The text of descriptors: worked examples, round trips, blanks, and errors that point at a character."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restride.dtypes import DTYPES
from restride.errors import DescriptorError, RestrideError, UnsupportedError
from restride.layout import TensorDesc
from restride.layout.text import DescParts, format_parts, parse_parts

STRIDES = st.one_of(st.integers(-7, 7), st.integers(-(1 << 40), 1 << 40))
TYPES = st.sampled_from(sorted(DTYPES))
TILES = st.lists(
    st.builds(
        lambda sizes, last: (*sizes, last), st.lists(st.integers(-1, 9).filter(bool), max_size=3), st.integers(1, 99)
    ),
    max_size=3,
).map(tuple)
STORED = st.one_of(st.just(0), st.integers(0, 64))
STORAGE = ("element_size_in_bits", "memory_space")
TAILS = st.one_of(st.just(1), st.integers(1, 1 << 40))
NUMBERS = st.one_of(st.integers(0, 9), st.integers(0, 1 << 500))
STEPS = st.one_of(st.just(0), st.integers(-2, 2), STRIDES)
TAGS = st.sampled_from(["a", "nhwc", "nChw16c", "OIhw4i16o4i", "BA16a16b2a"])


@st.composite
def parts_of_order(draw, dtype, sizes):
    """XLA's layout; a scalar with nothing but its type is written without braces."""
    tiles = draw(TILES)
    padded_sizes = draw(st.none() | st.just(tuple(size + draw(st.integers(0, 9)) for size in sizes)))
    value = 0 if padded_sizes is None else draw(st.integers(-(1 << 64), 1 << 64) | st.floats(allow_nan=False))
    stored = (draw(TAILS), draw(STORED), draw(STORED))
    is_plain = not (sizes or tiles or padded_sizes is not None or stored != (1, 0, 0))
    order = None if is_plain else tuple(draw(st.permutations(range(len(sizes)))))
    return DescParts(dtype, sizes, order, tiles, padded_sizes, value, *stored)


@st.composite
def parts(draw):
    """What any text can say: the four written forms."""
    dtype = draw(TYPES)
    sizes = tuple(draw(st.lists(NUMBERS, max_size=8)))
    form = draw(st.sampled_from(["order", "strides", "tag", "view"]))
    if form == "order":
        return draw(parts_of_order(dtype, sizes))
    if form == "strides":
        strides, storage = tuple(draw(STRIDES) for _ in sizes), {name: draw(STORED) for name in STORAGE}
        return DescParts(dtype, sizes, strides=strides, offset=draw(NUMBERS), **storage)
    if form == "tag":
        return DescParts(dtype, sizes, tag=draw(TAGS))
    inner_sizes = tuple(draw(st.lists(NUMBERS, max_size=5)))
    inner = (
        DescParts(dtype, inner_sizes, tag=draw(TAGS))
        if draw(st.booleans())
        else draw(parts_of_order(dtype, inner_sizes))
    )
    starts = tuple(draw(NUMBERS) for _ in inner_sizes)
    steps = tuple(tuple(draw(STEPS) for _ in inner_sizes) for _ in sizes)
    return DescParts(dtype, sizes, inner=inner, starts=starts, steps=steps)


@settings(max_examples=500, deadline=None)
@given(parts())
def test_parts_come_back_from_their_text(written):
    text = format_parts(written)
    assert parse_parts(text) == written
    assert " " not in text


@settings(max_examples=300, deadline=None)
@given(parts(), st.randoms(use_true_random=False))
def test_blanks_between_any_tokens_do_not_matter(written, rng):
    text = format_parts(written)
    spaced = "".join(
        character + (rng.choice(["", "", " ", "\t "]) if character in "[]{}(),:=" else "") for character in text
    )
    assert parse_parts(" " + spaced) == written


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}", None),
        ("f32[1,2,3,4]{3,2,1,0:T(42,123)(4,5)L(100)E(42)}", None),
        ("u32[]{:S(2)}", None),
        ("pred[8,8,8]{0,2,1:E(32)}", None),
        ("f32[2]{strides=(3),offset=1:E(4)S(1)}", None),
        ("f32[2]{at=(a),in=[2]{0:S(1)}}", None),
        ("f32[2]{ 0 : S ( 1 ) E(4) L(8) T(2) }", "f32[2]{0:T(2)L(8)E(4)S(1)}"),
        ("f32[2]{0:L(1)E(0)S(0)}", "f32[2]{0}"),
    ],
)
def test_parts_with_one_number_come_back_in_the_order_of_xla(text, printed):
    assert format_parts(parse_parts(text)) == (printed or text)
    assert str(TensorDesc.parse(text)) == (printed or text)


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
    ("text", "expected"),
    [
        ("f32[2,3]", DescParts("f32", (2, 3))),
        ("f32[3,5]{1,0:T(2,2)}", DescParts("f32", (3, 5), (1, 0), tiles=((2, 2),))),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", DescParts("bf16", (2048,), (0,), tiles=((1024,), (128,), (2, 1)))),
        ("u8[7,8,9]{2,1,0:T(*,2,3)}", DescParts("u8", (7, 8, 9), (2, 1, 0), tiles=((-1, 2, 3),))),
        ("u32[]{:T(128)}", DescParts("u32", (), (), tiles=((128,),))),
        ("f32[]{}", DescParts("f32", (), ())),
        ("f32[2]{}", DescParts("f32", (2,), ())),
        ("f32[2,3]{0,1:pad(3,5)=0}", DescParts("f32", (2, 3), (0, 1), padded_sizes=(3, 5))),
        (
            "f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}",
            DescParts("f32", (2, 3), (1, 0), ((2, 2),), padded_sizes=(3, 5), padding_value=-1.5),
        ),
        ("f32[2,16,4,4]:nChw16c", DescParts("f32", (2, 16, 4, 4), tag="nChw16c")),
        (
            "f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}",
            DescParts("f32", (2,), inner=DescParts("f32", (4, 4), (1, 0), ((4, 4),)), starts=(1, 3), steps=((2, 0),)),
        ),
        (
            "s8[3,4]{at=(7-b,a,4a+b),in=[8,3,20]:aBc4b}",
            DescParts(
                "s8",
                (3, 4),
                inner=DescParts("s8", (8, 3, 20), tag="aBc4b"),
                starts=(7, 0, 0),
                steps=((0, 1, 4), (-1, 0, 1)),
            ),
        ),
        ("f32[]{at=(5),in=[9]:a}", DescParts("f32", (), inner=DescParts("f32", (9,), tag="a"), starts=(5,))),
        ("f32[3]{at=(),in=[]}", DescParts("f32", (3,), inner=DescParts("f32", ()), steps=((),))),
    ],
)
def test_worked_examples(text, expected):
    assert parse_parts(text) == expected
    if text not in ("f32[2,3]", "f32[]{}"):
        assert format_parts(expected) == text


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
        ("f32[2,3]{-1,-2:T(2)}", "f32[2,3]{1,0:T(2)}"),
        ("f32[4,6,8]{2,1,0:T( 2 , * , 128 )}", "f32[4,6,8]{2,1,0:T(2,*,128)}"),
        ("f32[4,6,8]{2,1,0:T(2,-1,128)}", "f32[4,6,8]{2,1,0:T(2,*,128)}"),
        ("f32[2,3]{1,0: pad (3, 5) = 7 T (2,2) (2,1)}", "f32[2,3]{1,0:T(2,2)(2,1)pad(3,5)=7}"),
        (" f32 [2,16] : nC16c ", "f32[2,16]:nC16c"),
        ("f32[2]{ at = ( 1 + 2 a , 3 ) , in = [4,4] {1,0:T(4,4)} }", "f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}"),
        ("f32[2]{at=(0+1a,3+0a),in=[4,4]{1,0:T(4,4)}}", "f32[2]{at=(a,3),in=[4,4]{1,0:T(4,4)}}"),
        ("f32[2,2]{at=(b+2a,3),in=[4,4]{1,0:T(4,4)}}", "f32[2,2]{at=(2a+b,3),in=[4,4]{1,0:T(4,4)}}"),
    ],
)
def test_other_spellings_print_canonically(text, canonical):
    assert str(TensorDesc.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "value", "canonical"),
    [
        ("0", 0, "0"),
        ("-3", -3, "-3"),
        ("007", 7, "7"),
        ("3.0", 3, "3"),
        ("-1.5", -1.5, "-1.5"),
        ("1e+30", 1e30, "1e+30"),
        ("1E30", 1e30, "1e+30"),
        ("2.5e-3", 0.0025, "0.0025"),
        ("5e-324", 5e-324, "5e-324"),
        ("-inf", -math.inf, "-inf"),
        ("inf", math.inf, "inf"),
        ("18446744073709551615", (1 << 64) - 1, "18446744073709551615"),
        ("9007199254740993", 9007199254740993, "9007199254740993"),
    ],
)
def test_padding_values(text, value, canonical):
    read = parse_parts(f"f64[2]{{0:pad(3)={text}}}")
    assert read.padding_value == value
    assert format_parts(read) == f"f64[2]{{0:pad(3)={canonical}}}"


def test_negative_zero_and_nan_survive_as_padding_values():
    zero = parse_parts("f32[2]{0:pad(3)=-0.0}")
    assert math.copysign(1, zero.padding_value) == -1
    assert format_parts(zero) == "f32[2]{0:pad(3)=-0.0}"
    nan = parse_parts("f32[2]{0:pad(3)=nan}")
    assert math.isnan(nan.padding_value)
    assert format_parts(nan) == "f32[2]{0:pad(3)=nan}"


def test_minor_to_major_with_an_offset_prints_its_strides():
    assert str(TensorDesc("f32", (2, 3), offset=4)) == "f32[2,3]{strides=(3,1),offset=4}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an element type such as 'f32' at character 1 of '': the text ends"),
        ("[2]", "expected an element type such as 'f32' at character 1 of '[2]': found '[2]'"),
        (
            "nChw16c",
            "expected an element type and sizes, as in 'f32[2,16,4,4]:nChw16c' or 'f32[3,5]{0,1}', at character 1",
        ),
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
        ("f32[2]{0", "expected ',' or '}' or ':' after an axis number at character 9"),
        ("f32[2]{0}x", "expected the end of the text at character 10 of 'f32[2]{0}x': found 'x'"),
        ("f32[2]{stride=(1)}", "expected an axis number at character 8"),
        ("f32[2]{strides(1)}", "expected '=' after 'strides' at character 15"),
        ("f32[2]{strides=1}", "expected '(' before the strides at character 16"),
        ("f32[2]{strides=(1)", "expected '}' after the layout at character 19"),
        ("f32[2]{strides=(1),4}", "expected 'offset' after the strides at character 20"),
        ("f32[2]{strides=(1),offset=}", "expected an offset at character 27"),
        ("f32[" + "9" * 5000 + "]", "a size of 5000 digits is not below 2^512 at character 5"),
        ("f32[" + "9" * 155 + "]", "sizes[0] must be below 2^512 in magnitude"),
        ("f32[2,3]{0}", "minor_to_major (0,) must name each of the 2 axes once, for f32[2,3]"),
        ("f32[2,3]{}", "minor_to_major () must name each of the 2 axes once, for f32[2,3]"),
        ("f32[2,3]{1,1}", "minor_to_major (1, 1) must name each of the 2 axes once, for f32[2,3]"),
        ("f32[-2]", "size -2 of axis 0 must be 0 or more"),
        ("f32[2]{strides=(1,2)}", "strides must have one value per axis: got (1, 2) for 1 axes, for f32[2]"),
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
    ("text", "hint"),
    [
        ("F32[4]", "; it is 'f32' here"),
        ("f33[4]", ". Did you mean 'f32'?"),
        ("s4[2]", "; integers have 8 bits or more here"),
        ("c64[4]", "; complex numbers are no elements here, their parts are: along an axis of size 2"),
        ("memref<3x5xf32>", "; `restride show` draws the layouts in lines of oneDNN, MLIR and HLO"),
        (
            "src:f32::blocked:ab::f0 2x2",
            "; `restride show` draws the layouts in lines of oneDNN, MLIR and HLO",
        ),
        ("%a = f32[2] copy(%b)", "; `restride show` draws the layouts in lines of oneDNN, MLIR and HLO"),
        ("(f32[2], s32[])", "; `restride show` draws the layouts in lines of oneDNN, MLIR and HLO"),
    ],
)
def test_an_element_type_of_others_gets_a_hint(text, hint):
    with pytest.raises(DescriptorError) as caught:
        TensorDesc.parse(text)
    assert str(caught.value).endswith(f" at character 1 of {text!r}: found {text!r}{hint}")


@pytest.mark.parametrize(
    ("text", "rule", "at", "found"),
    [
        ("f32[2]{0:}", "expected one of T(..), pad(..), L(..), E(..), S(..)", 10, "}"),
        ("f32[2]{0:x}", "expected one of T(..), pad(..), L(..), E(..), S(..)", 10, "x}"),
        ("f32[2]{0:S}", "expected '(' after 'S'", 11, "}"),
        ("f32[2]{0:S()}", "expected the number of S(..)", 12, ")}"),
        ("f32[2]{0:S(-1)}", "memory_space is 0 or more, and below 2^63, not -1", 12, "-1)}"),
        ("f32[2]{0:E(1,2)}", "expected ')' after the number of E(..)", 13, ",2)}"),
        ("f32[2]{0:L(0)}", "tail_padding_alignment_in_elements is 1 or more, and below 2^63, not 0", 12, "0)}"),
        ("f32[2]{0:S(1)T(2)S(1)}", "S(..) is written once", 18, "S(1)}"),
        ("f32[2]{strides=(1):L(8)}", "expected one of E(..), S(..)", 20, "L(8)}"),
        ("f32[2]{0:T(2)", "expected one of T(..), pad(..), L(..), E(..), S(..) or '}'", 14, ""),
        ("f32[2]{0:T(2),}", "expected one of T(..), pad(..), L(..), E(..), S(..) or '}'", 14, ",}"),
        ("f32[2]{0,:T(2)}", "expected an axis number", 10, ":T(2)}"),
        ("f32[2]{0:T}", "expected '(' before the sizes of a tile", 11, "}"),
        ("f32[2]{0:T2}", "expected '(' before the sizes of a tile", 11, "2}"),
        ("f32[2]{0:T()}", "a tile has one size or more", 12, ")}"),
        ("f32[2]{0:T(2)()}", "a tile has one size or more", 15, ")}"),
        ("f32[2]{0:T(2,)}", "expected a tile size or '*'", 14, ")}"),
        ("f32[2]{0:T(2}", "expected ',' or ')' after a tile size", 13, "}"),
        ("f32[2]{0:T(2*)}", "expected ',' or ')' after a tile size", 13, "*)}"),
        ("f32[2]{0:T(0)}", "a tile size is 1 or more, or '*', not 0", 12, "0)}"),
        ("f32[2]{0:T(2,-2)}", "a tile size is 1 or more, or '*', not -2", 14, "-2)}"),
        ("f32[2]{0:T(*)}", "'*' combines a dimension with the next one of the tile", 12, "*)}"),
        ("f32[2]{0:T(2)(4, -1 )}", "'*' combines a dimension with the next one of the tile", 18, "-1 )}"),
        ("f32[2]{0:T(2)T(2)}", "T(..) is written once, repeated tiles as 'T(8,128)(2,1)'", 14, "T(2)}"),
        ("f32[2]{0:T(2)pad(2)=0T(2)}", "T(..) is written once", 22, "T(2)}"),
        ("f32[2]{0:pad(2)=0pad(2)=0}", "pad(..) is written once", 18, "pad(2)=0}"),
        ("f32[2]{0:pad3=0}", "expected '(' before the padded sizes", 13, "3=0}"),
        ("f32[2]{0:pad(x)=0}", "expected a padded size", 14, "x)=0}"),
        ("f32[2]{0:pad(3)}", "expected '=' before the padding value", 16, "}"),
        ("f32[2]{0:pad(3)=}", "expected a padding value such as 0, -1.5, 1e+30, nan or -inf", 17, "}"),
        ("f32[2]{0:pad(3)=.5}", "expected a padding value", 17, ".5}"),
        ("f32[2]{0:pad(3)=-nan}", "expected a padding value", 17, "-nan}"),
        ("f32[2]{0:pad(3)=1e999}", "padding value 1e999 is beyond the largest f64", 17, "1e999}"),
        ("f32[2]{0:pad(3)=1.e3}", "expected one of T(..)", 18, ".e3}"),
        ("f32[2]:", "expected a format tag such as 'nChw16c'", 8, ""),
        ("f32[2]:{0}", "expected a format tag such as 'nChw16c'", 8, "{0}"),
        ("f32[2]:a{0}", "expected the end of the text", 9, "{0}"),
        ("f32[2]{0}:x", "a layout is written in braces or as a tag, not both", 10, ":x"),
        ("f32[2]{at(a),in=[2]:a}", "expected '=' after 'at'", 10, "(a),in=[2]:a}"),
        ("f32[2]{at=a,in=[2]:a}", "expected '(' before the coordinates", 11, "a,in=[2]:a}"),
        ("f32[2]{at=(,),in=[2]:a}", "expected a coordinate such as '1+2a'", 12, ",),in=[2]:a}"),
        ("f32[2]{at=(1+),in=[2]:a}", "expected a coordinate such as '1+2a'", 14, "),in=[2]:a}"),
        ("f32[2]{at=(A),in=[2]:a}", "expected a coordinate such as '1+2a'", 12, "A),in=[2]:a}"),
        ("f32[2]{at=(1 a a),in=[2]:a}", "expected ',' or ')' after a coordinate", 16, "a),in=[2]:a}"),
        ("f32[2]{at=(2b),in=[2]:a}", "letter 'b' stands for axis 1, beyond the 1 axes of the view", 13, "b),in=[2]:a}"),
        ("f32[2]{at=(a+1),in=[2]:a}", "the constant of a coordinate comes first, and once", 14, "1),in=[2]:a}"),
        ("f32[2]{at=(1+1),in=[2]:a}", "the constant of a coordinate comes first, and once", 14, "1),in=[2]:a}"),
        ("f32[2]{at=(a-2a),in=[2]:a}", "letter 'a' occurs twice in a coordinate", 15, "a),in=[2]:a}"),
        ("f32[2]{at=(a)}", "expected ',' after the coordinates", 14, "}"),
        ("f32[2]{at=(a),[2]}", "expected 'in' after the coordinates", 15, "[2]}"),
        ("f32[2]{at=(a),in=f32[2]}", "expected '[' before the sizes", 18, "f32[2]}"),
        ("f32[2]{at=(a),in=[2]", "expected '}' after the layout", 21, ""),
        ("f32[2]{at=(a),in=[2,2]}", "at needs one coordinate per axis of in: got 1 for 2 axes", 18, "[2,2]}"),
        (
            "f32[2]{at=(a),in=[2]{strides=(1)}}",
            "a view looks at a minor_to_major layout or at a tag",
            22,
            "strides=(1)}}",
        ),
        (
            "f32[2]{at=(a),in=[2]{at=(a),in=[2]}}",
            "a view looks at a minor_to_major layout or at a tag",
            22,
            "at=(a),in=[2]}}",
        ),
        (
            f"f32[{','.join('1' * 27)}]{{at=(),in=[]}}",
            "a view has at most 26 axes, a letter each, not 27",
            63,
            "(),in=[]}",
        ),
        ("q4[2]", "unknown element type 'q4'", 1, "q4[2]"),
    ],
)
def test_layouts_that_are_no_layouts(text, rule, at, found):
    with pytest.raises(DescriptorError) as caught:
        parse_parts(text)
    message = str(caught.value)
    assert message.startswith(rule)
    assert f" at character {at} of " in message
    assert message.endswith(f": found {found!r}" if found else ": the text ends")
    assert text[at - 1 :] == found


@pytest.mark.parametrize(
    ("text", "part", "at"),
    [
        ("f32[2,3]{1,0:D(D,C)}", "dimension level types D(..)", 14),
        ("f32[2]{0:#(u32)}", "index types #(..)", 10),
        ("f32[2]{0:*(u32)}", "pointer types *(..)", 10),
        ("f32[8]{0:T(8)SC(0:4)}", "split configurations SC(..)", 14),
        ("f32[2]{ 0 : SC (0:1)}", "split configurations SC(..)", 13),
        ("f32[2]{0:S(1)SC(0:1)}", "split configurations SC(..)", 14),
        ("f32[2]{0:P(f32[2]{0})}", "physical shapes P(..)", 10),
        ("f32[2]{0:M(64)}", "dynamic shape metadata M(..)", 10),
        ("f32[2]{at=(a),in=[2]{0:M(1)}}", "dynamic shape metadata M(..)", 24),
    ],
)
def test_parts_of_xla_without_a_meaning_here_are_named_and_refused(text, part, at):
    with pytest.raises(UnsupportedError) as caught:
        parse_parts(text)
    assert str(caught.value) == f"{part} are not supported: {text[at - 1 :]!r} at character {at} of {text!r}"


@pytest.mark.parametrize("value", [None, b"f32[2]", 3])
def test_only_text_is_parsed(value):
    with pytest.raises(DescriptorError, match="a descriptor text must be a str"):
        TensorDesc.parse(value)
