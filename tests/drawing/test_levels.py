"""Levels of tiles and blocks: their names, their elements, and which one holds an element."""

from itertools import product

import pytest
from support.xla_figures import FIGURE_1, FIGURE_2, layouts

from restride.drawing.levels import TileNumbers, levels_of
from restride.layout import TensorDesc


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("f32[3,5]", {}),
        ("f32[2,3]{1,0:pad(3,5)=0}", {}),
        ("f32[2,3]{strides=(5,1)}", {}),
        (FIGURE_1, {"T(2,2)": 4}),
        (FIGURE_2, {"T(2,4)": 8, "(2,1)": 2}),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", {"T(1024)": 1024, "(128)": 128, "(2,1)": 2}),
        ("bf16[16,256]{1,0:T(8,128)(4,1)(2,1)}", {"T(8,128)": 1024, "(4,1)": 4, "(2,1)": 2}),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", {"T(*,*,2,*,3)": 6}),
        ("f32[5,5]{1,0:T(4,4)(3,3)}", {"T(4,4)": 36, "(3,3)": 9}),  # 3 does not divide 4: a tile has padding inside
        ("f32[2,16,4,4]:nchw", {}),
        ("f32[2,16,4,4]:nChw16c", {"16c": 16}),
        ("f32[2,16,4,4]:nChw1c", {}),
        ("f32[32,32,3,3]:OIhw8i16o2i", {"8i16o2i": 256, "16o2i": 32}),
        ("f32[32,32,3,3]:OIhw16i16o", {"16i16o": 256}),
        ("f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}", {"T(4,4)": 16}),
    ],
)
def test_levels_are_named_as_they_are_written(text, levels):
    desc = TensorDesc.parse(text)
    found = levels_of(desc)
    assert {level.name: level.size for level in found} == levels
    assert all(desc.extent % level.size == 0 for level in found)
    assert [level.name for level in found if not level.is_contiguous] == ["(128)"] * ("(128)" in levels)


@pytest.mark.parametrize("text", [FIGURE_1, FIGURE_2, "bf16[2048]{0:T(1024)(128)(2,1)}", *layouts(150, seed=3)])
def test_elements_of_one_tile_lie_together_in_memory(text):
    """The number of a tile that is contiguous is its place in memory; a level that is not still divides the indices."""
    desc = TensorDesc.parse(text)
    if not desc.numel:
        return
    numbers = TileNumbers(desc, desc.sizes)
    for place, level in enumerate(numbers.levels):
        indices = list(product(*map(range, desc.sizes)))
        if level.is_contiguous:
            assert all(numbers.at(index, place) == desc.offset_of(index) // level.size for index in indices)
        else:
            assert len({numbers.at(index, place) for index in indices}) <= -(-desc.extent // level.size)
        assert numbers.before(0) is not None


def test_a_tile_that_is_spread_over_memory_is_found_by_its_indices():
    """(2,1) puts rows of 128 together, so their elements alternate in memory."""
    numbers = TileNumbers(TensorDesc.parse("bf16[2048]{0:T(1024)(128)(2,1)}"), (2048,))
    assert [numbers.at((index,), 1) for index in (0, 127, 128, 255, 1024)] == [0, 0, 1, 1, 8]
    assert [numbers.between((index - 1,), (index,)) for index in (1, 128, 1024)] == [2, 1, 0]
    assert [numbers.before(offset) for offset in (0, 1, 2, 128, 1024)] == [0, None, 2, 2, 0]
