"""Pictures of layouts in the terminal, what a reorder moves, and the command: every number is the descriptor's own."""

from itertools import product

import pytest
from support.xla_figures import FIGURE_1, FIGURE_2, layouts

from restride.drawing.map import FRAME, HUES, OUTSIDE, Kind, LayoutMap, memory_line, rgb, shown
from restride.layout import TensorDesc
from restride.reference import memory


@pytest.mark.parametrize("text", [FIGURE_1, FIGURE_2, *layouts(150, seed=1)])
def test_every_cell_is_what_the_descriptor_says(text):
    desc = TensorDesc.parse(text)
    if not desc.numel:
        return
    its_map = LayoutMap(desc)
    rows, columns = its_map.grid
    seen = set()
    for plane, row, column in product(range(its_map.planes), range(rows), range(columns)):
        cell = its_map.at(plane, row, column)
        if cell.index is not None:
            assert cell.offset == desc.offset_of(cell.index)
            assert cell.index == its_map.index(plane, row, column)
            seen.add(cell.index)
        else:
            assert desc.is_whole
            assert desc.index_of(cell.offset) is None
            assert cell == its_map.at_offset(cell.offset)
    assert len(seen) == desc.numel
    for offset in its_map.span:
        cell = its_map.at_offset(offset)
        assert (cell.offset, cell.index) == (offset, desc.index_of(offset))
        assert (cell.kind is Kind.ELEMENT) == (cell.index is not None)
    if desc.is_whole:
        kinds = [its_map.at_offset(offset).kind for offset in its_map.span]
        names = {memory.ZERO: Kind.ZERO, memory.PADDING_VALUE: Kind.VALUE}
        assert kinds == [names.get(int(number), Kind.ELEMENT) for number in memory.memory_line(desc)]


def test_positions_left_out():
    assert shown(5, 5).names == [0, 1, 2, 3, 4]
    assert shown(100, 8).names == [0, 1, 2, 3, None, 97, 98, 99]
    assert shown(100, 8).edges == [(-1, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 97), (97, 98), (98, 99), (99, -1)]
    for size, room in product(range(1, 12), range(1, 9)):
        names = shown(size, room).names
        assert len(names) <= max(room, 2)
        assert names[0] == 0
        assert names.count(None) == (size > room)


def test_rows_of_memory_are_whole_tiles():
    widths = {(text, room): memory_line(LayoutMap(TensorDesc.parse(text)), room, 8).width for text, room in WIDTHS}
    assert widths == WIDTHS


WIDTHS = {
    (FIGURE_1, 30): 24,
    (FIGURE_1, 23): 12,
    (FIGURE_1, 3): 3,
    (FIGURE_2, 25): 16,
    (FIGURE_2, 7): 4,
    ("f32[100]", 20): 16,
    ("f32[1,3,2,3]{1,3,2,0}", 17): 9,  # a row of pixels
    ("f32[1,3,2,3]{1,3,2,0}", 8): 6,  # two pixels
    ("u8[3,4]{strides=(6,1)}", 15): 12,
}


def test_an_outline_bounds_a_block_and_nothing_else():
    """A table's edge is one only where blocks end; else it has a thin frame."""
    blocked = LayoutMap(TensorDesc.parse("f32[32,32,3,3]:OIhw16i16o"))
    assert blocked.edge_between(0, (0, OUTSIDE), (0, 0)) == 0
    assert [blocked.edge_between(0, (0, at - 1), (0, at)) for at in range(1, 32)] == [None] * 15 + [0] + [None] * 15
    across = LayoutMap(TensorDesc.parse("f32[32,32,3,3]:OIhw16i16o"), (2, 3))
    assert across.edge_between(0, (0, OUTSIDE), (0, 0)) == FRAME
    assert across.edge_between(0, (0, 0), (0, 1)) is None
    view = LayoutMap(TensorDesc.parse("f32[3,4]{at=(1+a,b),in=[4,4]{1,0:T(2,2)}}"))
    assert [view.edge_between(0, (row - 1 if row else OUTSIDE, 0), (row, 0)) for row in range(3)] == [FRAME, 0, None]
    assert LayoutMap(TensorDesc.parse("f32[5,5]{1,0:T(4,4)(3,3)}")).edge_between(0, (4, 0), (OUTSIDE, 0)) == FRAME
    tail = LayoutMap(TensorDesc.parse("f32[4]{0:T(4)L(10)}"))
    assert [tail.edge_before(offset) for offset in (0, 3, 4, 8, 10)] == [0, None, 0, None, FRAME]
    assert [tail.edge_along(offset) for offset in (0, 3, 4, 9)] == [0, 0, FRAME, FRAME]


@pytest.mark.parametrize(
    ("text", "hues"),
    [
        ("u8[1,3,2,2]{1,3,2,0}", "000111222333"),  # NHWC: a pixel
        ("u8[1,3,2,2]{strides=(12,1,6,3)}", "000111222333"),
        ("u8[1,3,2,2]", "001122334455"),  # NCHW: a row of a channel
        ("u8[2,2,3]", "000111222333"),  # a photograph's pixels
        ("u8[2,3]{0,1}", "001122"),
        ("u8[2,3]{strides=(-3,1),offset=3}", "111000"),
        ("u8[2,3]{strides=(0,1)}", "000"),
        ("u8[4]", "0000"),
    ],
)
def test_without_tiles_a_colour_is_a_run_along_the_fastest_axis(text, hues):
    drawn = LayoutMap(TensorDesc.parse(text))
    assert "".join(str(drawn.at_offset(offset).hue) for offset in drawn.span) == hues


def test_hues_are_colours_of_xterm():
    assert rgb(0) == "#afd7ff"
    assert len({rgb(hue) for hue in range(len(HUES))}) == len(HUES)


def test_a_tile_differs_in_colour_from_those_beside_and_below_it():
    """With up to 16 tiles in a row, and every colour is light enough for black text, 4.5 to 1."""
    assert all(count % len(HUES) for count in range(1, 17))
    for hue in range(len(HUES)):
        red, green, blue = (int(rgb(hue)[at : at + 2], 16) / 255 for at in (1, 3, 5))
        light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
        assert (light + 0.05) / (0.015 + 0.05) >= 4.5, rgb(hue)
