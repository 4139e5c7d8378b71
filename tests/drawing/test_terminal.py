"""A layout as text: the figures of XLA's document, padding, tiles, stacks of grids, and cuts to the width."""

import re
import unicodedata

import pytest
from support.xla_figures import FIGURE_1, FIGURE_1_TEXT, FIGURE_2, layouts

from restride.drawing.map import HUES, LayoutMap
from restride.drawing.picture import show
from restride.drawing.terminal import CROSSINGS, in_ascii
from restride.layout import TensorDesc

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
FIGURE_2_TEXT = """\
f32[4,8]{1,0:T(2,4)(2,1)}
32 elements of 4 bytes in 128 bytes, no padding

     0    1    2    3    4    5    6    7
  ┏━━━━┯━━━━┯━━━━┯━━━━┳━━━━┯━━━━┯━━━━┯━━━━┓
0 ┃  0 │  2 │  4 │  6 ┃  8 │ 10 │ 12 │ 14 ┃
1 ┃  1 │  3 │  5 │  7 ┃  9 │ 11 │ 13 │ 15 ┃
  ┣━━━━┿━━━━┿━━━━┿━━━━╋━━━━┿━━━━┿━━━━┿━━━━┫
2 ┃ 16 │ 18 │ 20 │ 22 ┃ 24 │ 26 │ 28 │ 30 ┃
3 ┃ 17 │ 19 │ 21 │ 23 ┃ 25 │ 27 │ 29 │ 31 ┃
  ┗━━━━┷━━━━┷━━━━┷━━━━┻━━━━┷━━━━┷━━━━┷━━━━┛

memory, element after element, and the index that lies there
 0 ┃ 0,0  1,0 │ 0,1  1,1 │ 0,2  1,2 │ 0,3  1,3 ┃
 8 ┃ 0,4  1,4 │ 0,5  1,5 │ 0,6  1,6 │ 0,7  1,7 ┃
16 ┃ 2,0  3,0 │ 2,1  3,1 │ 2,2  3,2 │ 2,3  3,3 ┃
24 ┃ 2,4  3,4 │ 2,5  3,5 │ 2,6  3,6 │ 2,7  3,7 ┃
━ T(2,4): tiles of 8 elements   ─ (2,1): sub-tiles of 2 elements"""


@pytest.mark.parametrize(("text", "picture"), [(FIGURE_1, FIGURE_1_TEXT), (FIGURE_2, FIGURE_2_TEXT)])
def test_the_figures_of_the_xla_document(text, picture):
    assert show(text).text() == picture


def test_combined_dimensions_are_tiled_across_rows():
    """The last two axes, 11 x 10, are one of 110 in tiles of 3: they begin elsewhere in each row."""
    lines = show("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}").text(100).splitlines()
    first = lines.index("[0, 0, 0, :, :]")
    assert lines[first + 2 : first + 8] == [
        "   ┌─────────────────┰─────────────────┰─────────────────┰─────┐",
        " 0 │   0     1     2 ┃   6     7     8 ┃  12    13    14 ┃  18 │",
        "   ┝━━━━━━━━━━━┳━━━━━┻━━━━━━━━━━━┳━━━━━┻━━━━━━━━━━━┳━━━━━┻━━━━━┥",
        " 1 │  19    20 ┃  24    25    26 ┃  30    31    32 ┃  36    37 │",
        "   ┝━━━━━┳━━━━━┻━━━━━━━━━━━┳━━━━━┻━━━━━━━━━━━┳━━━━━┻━━━━━━━━━━━┥",
        " 2 │  38 ┃  42    43    44 ┃  48    49    50 ┃  54    55    56 │",
    ]


def test_both_kinds_of_padding_are_marked_and_explained():
    text = show("f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}").text()
    assert "0 ┃   0    1 ┃   4   =5 ┃  =8   ·9 ┃" in text
    assert " 0 ┃ 0,0  0,1  1,0  1,1 ┃ 0,2    =  1,2    = ┃   =    ·    =    · ┃" in text
    assert text.endswith("━ T(2,2): tiles of 4 elements   · padding, holds 0   = padding, holds -1.5")
    assert "= padding, holds 7\n" in show("f32[2]{0:pad(3)=7}").text() + "\n"


def test_what_strides_skip_is_never_written():
    text = show("f32[2,3]{strides=(5,1),offset=2}").text()
    assert "6 elements of 4 bytes; the buffer has 40 bytes or more" in text
    assert "2 │ 0,0  0,1  0,2    -    -  1,0  1,1  1,2 │\n- not reached by any index, never written" in text


def test_a_view_of_tiles():
    text = show("f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}").text()
    assert " │  7  15 │" in text
    assert "7 │ 0  -  -  -  -  -  -  -  1 ┃" in text, "a tile ends here, none begins"


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("f32[]", " ┌───┐\n │ 0 │\n └───┘"),
        ("f32[3]", "   0  1  2\n ┌─────────┐\n │ 0  1  2 │\n └─────────┘"),
        ("f32[2,2]{0,1}", "    0  1\n  ┌──────┐\n0 │ 0  2 │\n1 │ 1  3 │\n  └──────┘"),
        ("f32[2,0]", "no element: nothing to draw"),
        ("f32[0]{0:T(8)}", "no element: nothing to draw"),
    ],
)
def test_low_ranks_and_empty_arrays(text, grid):
    assert grid in show(text).text()


def test_more_than_two_axes_are_a_stack_of_grids():
    text = show("f32[2,2,2]").text()
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE) == ["[0, :, :]", "[1, :, :]"]
    text = show("f32[2,16,4,4]:nChw16c", plane="hw").text()
    titles = ["[0, 0, :, :]", "[0, 1, :, :]", "… 28 more grids …", "[1, 14, :, :]", "[1, 15, :, :]"]
    assert [line for line in text.splitlines() if line.startswith(("[", "…"))] == titles
    assert "  ┌────────────────────┐" in text, "a block of channels has one cell of a grid: no outlines"


def test_a_blocked_tag_is_drawn_along_its_blocks():
    lines = show("f32[32,32,3,3]:OIhw16i16o").text(200).splitlines()
    assert lines[2:5] == ["rows: o, columns: i", "", "[:, :, 0, 0]"]
    edge = lines[6].index("┳")
    assert {line[edge] for line in lines[7:23]} == {"┃"}
    assert lines[23][edge] == "╋"
    assert lines[23][3] == "┣"
    assert "… 8 more grids …" in lines
    assert lines[-1] == "━ 16i16o: blocks of 256 elements"
    narrow = show("f32[32,32,3,3]:OIhw16i16o").text(80).splitlines()
    assert "…" in narrow[5][: narrow[6].index("┳")], "columns left out do not join two blocks"


def test_three_levels_of_tiles_have_three_lines():
    text = show("bf16[8,8]{1,0:T(8,4)(4,1)(2,1)}").text()
    assert text.endswith(
        "━ T(8,4): tiles of 32 elements   ─ (4,1): sub-tiles of 4 elements   ╌ (2,1): tiles inside them of 2 elements"
    )
    assert [line for line in text.splitlines() if line.startswith("  ┠")] == [
        "  ┠╌╌╌╌┼╌╌╌╌┼╌╌╌╌┼╌╌╌╌╂╌╌╌╌┼╌╌╌╌┼╌╌╌╌┼╌╌╌╌┨",
        "  ┠────┼────┼────┼────╂────┼────┼────┼────┨",
        "  ┠╌╌╌╌┼╌╌╌╌┼╌╌╌╌┼╌╌╌╌╂╌╌╌╌┼╌╌╌╌┼╌╌╌╌┼╌╌╌╌┨",
    ]
    assert " ╎ " in text
    assert set("═╌╎━") & set(in_ascii(text)) == set()


def test_a_level_without_an_outline_has_no_line_in_the_legend():
    """Sub-tiles that are the tiles."""
    assert (
        show("f32[8,8]{1,0:T(4,4)(4,4)}")
        .text()
        .endswith(
            "\n━ T(4,4): tiles of 16 elements   (4,4): sub-tiles of 16 elements, without outlines of their own here"
        )
    )


def test_a_view_that_begins_with_the_last_element_of_a_tile_has_outlines():
    lines = show("f32[3,3]{at=(1+a,1+b),in=[4,4]{1,0:T(2,2)}}").text().splitlines()
    assert [line for line in lines if line.startswith(("  ┌", "  ┝", "  └"))] == [
        "  ┌────┰────────┐",
        "  ┝━━━━╋━━━━━━━━┥",
        "  └────┸────────┘",
    ]


def test_bits_and_memory_space_are_said():
    assert "15 elements of 4 bits in 8 bytes, no padding, in memory space 1\n" in show("s8[3,5]{1,0:E(4)S(1)}").text()
    assert "3 elements of 4 bits in 4 bytes, with 5 elements of padding\n" in show("s8[3]{0:L(8)E(4)}").text()
    text = show("f32[3]{0:L(5)}").text()
    assert "3 elements of 4 bytes in 20 bytes, 8 of them padding\n" in text
    assert text.endswith("0 │ 0  1  2  ·  · │\n· padding, holds 0")


@pytest.mark.parametrize("text", [FIGURE_1, FIGURE_2, "f32[2,3]", *layouts(60, seed=2)])
def test_colour_changes_nothing_else_and_is_the_same_in_grid_and_memory(text):
    coloured = show(text).text(100, is_coloured=True)
    assert ESCAPES.sub("", coloured).replace(" \n", "\n").rstrip() == show(text).text(100).rstrip()
    desc = TensorDesc.parse(text)
    its_map = LayoutMap(desc)
    for offset in its_map.span if desc.numel else ():
        cell = its_map.at_offset(offset)
        assert (cell.hue is None) == (cell.index is None)
        if cell.index is not None and its_map.levels and its_map.levels[0].is_contiguous:
            assert cell.hue == offset // its_map.levels[0].size % len(HUES)


def test_rows_have_colours_where_there_are_no_tiles_and_a_reorder_keeps_them():
    text = show("f32[2,2]", "f32[2,2]{0,1}").text(80, is_coloured=True)
    blue, orange = (f"\x1b[38;5;16;48;5;{hue}m" for hue in HUES[:2])
    first, second = text.split("\n\nf32[2,2]{0,1}")
    assert f"{blue} 0,0 \x1b[0m{blue} 0,1 \x1b[0m{orange} 1,0 \x1b[0m{orange} 1,1 " in first
    assert f"{blue} 0,0 \x1b[0m{orange} 1,0 \x1b[0m{blue} 0,1 \x1b[0m{orange} 1,1 " in second


@pytest.mark.parametrize(
    "text",
    [
        "bf16[1024,1000]{1,0:T(8,128)(2,1)}",
        "f32[100,64,1000,1000]:nChw16c",
        "bf16[1048576]{0:T(1024)(128)(2,1)}",
        "u8[3000,3000]{strides=(-3072,1),offset=9212928}",
        "f32[1000000,1000000]",
        FIGURE_2,
    ],
)
@pytest.mark.parametrize("width", [60, 80, 132])
def test_large_arrays_are_cut_to_the_width(text, width):
    lines = show(text).text(width).splitlines()
    assert max(len(line) for line in lines if re.search("[│┃]", line)) <= width
    assert len(lines) <= 80
    assert ("…" in "".join(lines)) == (text != FIGURE_2)


def test_crossings_have_their_arms():
    for number, character in enumerate(CROSSINGS[1:], 1):
        weights = {name: number // power % 3 for name, power in (("UP", 27), ("RIGHT", 9), ("DOWN", 3), ("LEFT", 1))}
        name = unicodedata.name(character).replace("HORIZONTAL", "LEFT RIGHT").replace("VERTICAL", "UP DOWN")
        assert {word for word in name.split() if word in weights} == {arm for arm, weight in weights.items() if weight}
        assert ("LIGHT" in name, "HEAVY" in name) == (1 in weights.values(), 2 in weights.values())
