"""Blocking: splits and joins by hand, and as bijections between coordinates and the places of a buffer."""

from __future__ import annotations

import random
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from restride.errors import UnsupportedError
from restride.layout.blocking import MAX_NUMBERS, Blocking, Split, blocked, tiled
from restride.layout.digits import affine


def addresses(blocking: Blocking, sizes: tuple[int, ...]) -> np.ndarray:
    """The offset of every index below ``sizes``."""
    address = blocking.address([affine(0, [(axis, size, 1)]) for axis, size in enumerate(sizes)])
    found = np.empty(sizes, np.int64)
    for index in np.ndindex(sizes):
        found[index] = address.at(index)
    return found


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
    with pytest.raises(UnsupportedError, match="must split one index into at most 64 numbers, got more"):
        tiled((5,), (0,), [(2,)] * 32)
    assert blocked((5,), (0,), [(0, 2)] * 31).extent == 1 << 31
    with pytest.raises(UnsupportedError, match="at most 64 numbers"):
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
