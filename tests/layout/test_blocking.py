"""Blocking: splits and joins by hand, and as bijections between coordinates and the places of a buffer."""

from __future__ import annotations

import random
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from restride.errors import UnsupportedError
from restride.layout.blocking import MAX_NUMBERS, Blocking, Join, Split, blocked, tiled
from restride.layout.digits import affine


def addresses(blocking: Blocking, sizes: tuple[int, ...]) -> np.ndarray:
    """The offset of every index below ``sizes``."""
    address = blocking.address([affine(0, [(axis, size, 1)]) for axis, size in enumerate(sizes)])
    found = np.empty(sizes, np.int64)
    for index in np.ndindex(sizes):
        found[index] = address.at(index)
    return found


def row_major(*sizes: int) -> list[int]:
    return list(range(len(sizes)))[::-1]


def random_blocking(rng: random.Random) -> Blocking:
    """Tiles or blocks of every kind; an extent of a few thousand at most."""
    while True:
        bounds = tuple(rng.choice((0, 1, 1, 2, 3, 4, 5, 7, 8, 9)) for _ in range(rng.randint(0, 4)))
        order = rng.sample(range(len(bounds)), len(bounds))
        if rng.random() < 0.3 and bounds:
            blocks = [(rng.choice(order), rng.choice((1, 2, 3, 4, 8))) for _ in range(rng.randint(1, 4))]
            made = blocked(bounds, order, blocks)
        else:
            tiles = [
                [rng.choice((1, 2, 2, 3, 4, 8)) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(0, 3))
            ]
            for tile in tiles:
                tile[:-1] = [-1 if rng.random() < 0.2 else size for size in tile[:-1]]
            made = tiled(bounds, order, tiles)
        if made.extent <= 3000:
            return made


RANDOM = [random_blocking(random.Random(seed)) for seed in range(250)]


# --- by hand


def test_figure_1_of_xla_s_tiled_layout():
    """f32[3,5]{1,0:T(2,2)}: (2,3) is 1,1,0,1 of 2,3,2,2."""
    made = tiled((3, 5), (1, 0), [(2, 2)])
    assert made == Blocking((3, 5), (Split(0, 2), Split(1, 2)), (2, 4, 3, 5))
    assert made.all_bounds == (3, 5, 2, 2, 3, 2)
    assert made.extent == 24
    assert addresses(made, (3, 5)).tolist() == [[0, 1, 4, 5, 8], [2, 3, 6, 7, 10], [12, 13, 16, 17, 20]]
    assert made.weights == ((1, 2), (1, 2))
    assert made.box == (4, 6)


def test_figure_2_of_xla_s_tiled_layout():
    """bf16[4,8]{1,0:T(2,4)(2,1)}: pairs of rows side by side."""
    made = tiled((4, 8), (1, 0), [(2, 4), (2, 1)])
    assert addresses(made, (4, 8)).tolist() == [
        [0, 2, 4, 6, 8, 10, 12, 14],
        [1, 3, 5, 7, 9, 11, 13, 15],
        [16, 18, 20, 22, 24, 26, 28, 30],
        [17, 19, 21, 23, 25, 27, 29, 31],
    ]
    assert made.extent == 32
    assert made.box == (4, 8)


def test_a_tile_of_more_axes_than_there_are_adds_slow_ones():
    """f32[8]{0:T(2,2)}: 1 x 8 in tiles of 2 x 2, so every other pair is padding."""
    made = tiled((8,), (0,), [(2, 2)])
    assert made.bounds == (8, 1)
    assert addresses(made, (8,)).tolist() == [0, 1, 4, 5, 8, 9, 12, 13]
    assert made.extent == 16
    assert made.box == (8, 2)
    assert [made.coordinates_of(offset) for offset in range(4)] == [(0, 0), (1, 0), None, None]
    scalar = tiled((), (), [(128,)])
    assert (scalar.bounds, scalar.extent, scalar.coordinates_of(0), scalar.coordinates_of(1)) == ((1,), 128, (0,), None)


def test_three_levels_of_tiles_on_one_axis():
    """bf16[2048]{0:T(1024)(128)(2,1)}: 128 -> 1 and 1 -> 2."""
    found = addresses(tiled((2048,), (0,), [(1024,), (128,), (2, 1)]), (2048,))
    assert found[[0, 1, 2, 127, 128, 129, 256, 1024]].tolist() == [0, 2, 4, 254, 1, 3, 256, 1024]


def test_combined_dimensions_are_the_dimensions_they_make():
    """T(*,*,2,*,3) of 2,7,8,11,10 is T(2,3) of 112,110."""
    sizes = (2, 7, 8, 11, 10)
    made = tiled(sizes, row_major(*sizes), [(-1, -1, 2, -1, 3)])
    assert [type(step) for step in made.steps] == [Join, Join, Split, Join, Split]
    plain = tiled((112, 110), (1, 0), [(2, 3)])
    assert made.extent == plain.extent == 112 * 111
    rng = random.Random(0)
    coordinates = [affine(0, [(axis, size, 1)]) for axis, size in enumerate(sizes)]
    address, its = made.address(coordinates), plain.address([affine(0, [(k, s, 1)]) for k, s in enumerate((112, 110))])
    for index in [tuple(rng.randrange(size) for size in sizes) for _ in range(300)]:
        a, b, c, d, e = index
        assert address.at(index) == its.at(((a * 7 + b) * 8 + c, d * 10 + e))
        assert made.coordinates_of(address.at(index)) == index
    assert made.weights is None
    assert made.box is None


def test_a_join_counts_the_padding_of_its_minor_number():
    """[2,3] in T(2), then both numbers joined: 3 is rounded up to 2 tiles of 2, so a row is 4 apart."""
    made = tiled((2, 3), (1, 0), [(2,), (-1, -1, 4)])
    assert addresses(made, (2, 3)).tolist() == [[0, 1, 2], [4, 5, 6]]
    assert made.extent == 8
    assert [made.coordinates_of(offset) for offset in (2, 3, 4)] == [(0, 2), None, (1, 0)]


def test_a_sub_tile_that_does_not_divide_pads_inside_its_tile():
    """T(4)(3): 4 is 2 tiles of 3, so elements 0 1 2, 3 and two places of padding."""
    made = tiled((7,), (0,), [(4,), (3,)])
    assert addresses(made, (7,)).tolist() == [0, 1, 2, 3, 6, 7, 8]
    assert made.extent == 12
    assert [made.coordinates_of(offset) for offset in range(12)] == [
        *((0,), (1,), (2,), (3,), None, None),
        *((4,), (5,), (6,), None, None, None),  # 7 of 7 is past the bound
    ]
    assert made.weights == ((1, 3, 4),)
    assert made.box is None


def test_blocks_of_one_axis_take_its_digits_from_the_innermost_on():
    """OIhw8i16o2i: i div 16 outside, then (i mod 16) div 2, o mod 16, i mod 2."""
    made = blocked((32, 32, 1, 1), (0, 1, 2, 3), ((1, 8), (0, 16), (1, 2)))
    found = addresses(made, (32, 32, 1, 1))
    for o, i in np.ndindex(32, 32):
        assert found[o, i, 0, 0] == (((o // 16) * 2 + i // 16) * 8 + i % 16 // 2) * 32 + o % 16 * 2 + i % 2
    assert made.weights == ((1, 16), (1, 2, 16), (1,), (1,))
    assert blocked((2, 20, 4, 4), (0, 1, 2, 3), ((1, 16),)).extent == 2 * 32 * 4 * 4


@pytest.mark.parametrize(
    "blocks", [((0, 8), (0, 1)), ((0, 1), (0, 8)), ((0, 4), (0, 1), (0, 2)), ((0, 8), (0, 1), (0, 1))]
)
def test_blocks_of_one_change_nothing(blocks):
    made = blocked((16, 3), (1, 0), blocks)
    assert made.extent == 48
    assert addresses(made, (16, 3)).tolist() == [[a + 16 * b for b in range(3)] for a in range(16)]


# --- as bijections


@pytest.mark.parametrize("made", RANDOM, ids=lambda made: f"{made.bounds} {made.order}")
def test_coordinates_of_inverts_the_address_on_the_whole_buffer(made):
    """Each coordinate has one place, and every other place is padding."""
    found = addresses(made, made.bounds)
    coordinates = {int(offset): index for index, offset in np.ndenumerate(found)}
    assert len(coordinates) == prod(made.bounds)
    assert all(0 <= offset < made.extent for offset in coordinates)
    for offset in range(made.extent):
        assert made.coordinates_of(offset) == coordinates.get(offset), offset


def test_weights_take_a_coordinate_apart():
    """Along a coordinate, the address is the sum of those of its digits."""
    seen = 0
    for made in RANDOM:
        if made.weights is None or not prod(made.bounds):
            continue
        found = addresses(made, made.bounds)
        for axis, weights in enumerate(made.weights):
            assert weights[0] == 1
            assert list(weights) == sorted(set(weights))
            if any(outer % inner for inner, outer in pairwise(weights)):
                continue
            line = np.moveaxis(found, axis, -1).reshape(-1, made.bounds[axis])[0]
            for position, offset in enumerate(line):
                digits = [position - position % weights[-1]]
                digits += [position % outer - position % inner for inner, outer in pairwise(weights)]
                assert sum(digits) == position
                assert offset == sum(line[digit] for digit in digits)
            seen += len(weights) > 1
    assert seen > 50


def test_a_box_is_every_place_of_the_buffer_once():
    seen = 0
    for made in RANDOM:
        if made.box is not None:
            assert all(side >= bound for side, bound in zip(made.box, made.bounds, strict=True))
            assert sorted(addresses(made, made.box).ravel().tolist()) == list(range(made.extent))
            seen += made.extent > prod(made.bounds) > 0
    assert seen > 50


# --- limits


def test_numbers_of_one_index_are_limited():
    """A split makes two numbers of one: 31 splits of one coordinate are 63 numbers, 32 are one too many."""
    assert MAX_NUMBERS == 64
    assert tiled((5,), (0,), [(2,)] * 31).extent == 6
    with pytest.raises(UnsupportedError, match="tiles or blocks make more than 64 numbers of one index"):
        tiled((5,), (0,), [(2,)] * 32)
    assert blocked((5,), (0,), [(0, 2)] * 31).extent == 1 << 31
    with pytest.raises(UnsupportedError, match="more than 64 numbers"):
        blocked((5,), (0,), [(0, 2)] * 32)


def test_bounds_of_any_magnitude():
    huge = 1 << 62
    made = tiled((huge, huge, huge), (2, 1, 0), [(8, 128), (2, 1)])
    assert made.extent == huge**3
    last = (huge - 1,) * 3
    assert made.coordinates_of(made.extent - 1) == last
    address = made.address([affine(0, [(axis, huge, 1)]) for axis in range(3)])
    assert address.at(last) == made.extent - 1
    assert tiled((huge - 1,), (0,), [(huge,), (3,)]).extent == -(-huge // 3) * 3
