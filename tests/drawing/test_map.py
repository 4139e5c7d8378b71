"""Pictures of layouts in the terminal, what a reorder moves, and the command: every number is the descriptor's own."""

from itertools import product

import pytest
from support.xla_figures import FIGURE_1, FIGURE_2, layouts

from restride.drawing.map import HUES, Kind, LayoutMap, block_sizes, memory_line, rgb, shown
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
            assert desc.rank < 2 or cell.index == (*its_map.leading(plane), row, column)
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
    assert shown(100, 8).edges == [(-1, 0), (0, 1), (1, 2), (2, 3), (3, 4), (96, 97), (97, 98), (98, 99), (99, -1)]
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
}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("f32[3,5]", ()),
        ("f32[2,3]{1,0:pad(3,5)=0}", ()),
        ("f32[2,3]{strides=(5,1)}", ()),
        (FIGURE_1, (4,)),
        (FIGURE_2, (8, 2)),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", (1024, 2)),  # (2,1) takes rows of (128) apart
        ("bf16[16,256]{1,0:T(8,128)(4,1)(2,1)}", (1024, 4, 2)),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", (6,)),
        ("f32[5,5]{1,0:T(4,4)(3,3)}", (36, 9)),  # 3 does not divide 4: a tile has padding inside
        ("f32[2,16,4,4]:nchw", ()),
        ("f32[2,16,4,4]:nChw16c", (16,)),
        ("f32[32,32,3,3]:OIhw8i16o2i", (256, 32)),
        ("f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}", (16,)),
    ],
)
def test_blocks_lie_together_in_memory(text, sizes):
    desc = TensorDesc.parse(text)
    assert block_sizes(desc) == sizes
    assert all(desc.extent % size == 0 for size in sizes)


def test_hues_are_colours_of_xterm():
    assert rgb(0) == "#afd7ff"
    assert len({rgb(hue) for hue in range(len(HUES))}) == len(HUES)
