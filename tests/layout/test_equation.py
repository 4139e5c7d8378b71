"""The equation of offsets against brute force: shared offsets, nested strides, and the smallest solution."""

import itertools
import random

import numpy as np
import pytest

from restride.layout import TensorDesc
from restride.layout.equation import Budget, nested, shared_offset, solve

RANDOM_DESCRIPTORS = 100_000


def random_layouts(count, rank, largest, seed):
    """Sizes and strides, ``count`` x ``rank``: half of the strides arbitrary, half near a packed or padded layout."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, (count, rank))
    arbitrary = rng.integers(-24, 25, (count, rank))
    order = np.argsort(rng.random((count, rank)), axis=1)
    shuffled = np.take_along_axis(sizes, order, axis=1)
    packed = np.cumprod(np.concatenate([np.ones((count, 1), int), shuffled[:, :-1]], axis=1), axis=1)
    near = np.empty_like(packed)
    np.put_along_axis(near, order, packed, axis=1)
    near += rng.integers(-1, 3, (count, rank)) * (rng.random((count, rank)) < 0.4)
    near *= rng.choice([-1, 1], (count, rank))
    return sizes, np.where(rng.random((count, 1)) < 0.5, arbitrary, near)


def brute_force_injective(sizes, strides, largest):
    """Every offset of every descriptor at once, sorted; what lies outside the sizes gets an offset of its own."""
    count, rank = sizes.shape
    indices = np.stack(np.meshgrid(*[np.arange(largest)] * rank, indexing="ij"), axis=-1).reshape(-1, rank)
    distinct = np.empty(count, bool)
    for start in range(0, count, 5000):
        part = slice(start, start + 5000)
        offsets = strides[part] @ indices.T
        inside = (indices[None] < sizes[part, None]).all(axis=2)
        offsets = np.where(inside, offsets, 10**6 + np.arange(len(indices)))
        offsets.sort(axis=1)
        distinct[part] = (np.diff(offsets, axis=1) > 0).all(axis=1)
    return distinct


def test_the_proof_agrees_with_brute_force_on_100000_descriptors():
    tested = injective = interleaved = 0
    shapes = [(1, 5, 2000), (2, 5, 28000), (3, 5, 35000), (4, 4, 20000), (5, 3, 15000)]
    for seed, (rank, largest, count) in enumerate(shapes):
        sizes, strides = random_layouts(count, rank, largest, seed)
        expected = brute_force_injective(sizes, strides, largest)
        for its_sizes, its_strides, truth in zip(sizes.tolist(), strides.tolist(), expected.tolist(), strict=True):
            answer = shared_offset(tuple(its_sizes), tuple(its_strides)) is None
            assert answer == truth, (its_sizes, its_strides)
            injective += answer
            is_nested = nested(its_sizes, its_strides)
            assert answer or not is_nested
            interleaved += answer and not is_nested
        tested += count
    assert tested == RANDOM_DESCRIPTORS
    assert injective > 20_000
    assert tested - injective > 20_000
    assert interleaved > 2_000


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((5, 2, 3), (7, 1, 19), True),
        ((3, 3), (2, 1), False),
        ((2, 3), (3, 1), True),
        ((2, 3), (-3, 1), True),
        ((2, 3), (5, 1), True),
        ((2,), (0,), False),
        ((1,), (0,), True),
        ((1, 4, 1), (0, -1, 9), True),
        ((0, 4), (0, 0), True),
        ((), (), True),
        ((1 << 62, 3), (1 << 40, 1), True),
        ((1 << 62, 3), (1 << 40, 1 << 40), False),
        ((1 << 62, 1 << 62), ((1 << 40) - 1, 1 << 40), False),
        ((1 << 39, 1 << 39), ((1 << 40) - 1, 1 << 40), True),
        ((1 << 20, 1 << 20, 1 << 20), (3, 3 << 20, (3 << 40) + 1), True),
    ],
)
def test_known_layouts(sizes, strides, expected):
    assert (shared_offset(sizes, strides) is None) == expected


def test_index_of_inverts_interleaved_strides_of_any_size():
    desc = TensorDesc("u8", (1 << 40, 1 << 40, 5), (7, 1 << 45, 3))
    for index in [(0, 0, 0), (1 << 39, 5, 4), ((1 << 40) - 1, (1 << 40) - 1, 3), (12345, 1 << 35, 0)]:
        assert desc.offset_of(desc.index_of(desc.offset_of(index))) == desc.offset_of(index)
        assert desc.index_of(desc.offset_of(index)) <= index
    assert desc.index_of(1) is None
    sliding = TensorDesc("u8", (1 << 30, 1 << 30), (1, 1))
    assert sliding.index_of((1 << 30) + 5) == (6, (1 << 30) - 1)


def test_solve_finds_the_smallest_solution_with_bounds_on_both_sides():
    rng = random.Random(11)
    for _ in range(2000):
        rank = rng.randint(0, 3)
        lows = [rng.randint(-4, 2) for _ in range(rank)]
        highs = [low + rng.randint(-1, 4) for low in lows]
        strides = [rng.randint(-6, 6) for _ in range(rank)]
        target = rng.randint(-15, 15)
        expected = next(
            (
                values
                for values in itertools.product(*[range(low, high + 1) for low, high in zip(lows, highs, strict=True)])
                if sum(v * s for v, s in zip(values, strides, strict=True)) == target
            ),
            None,
        )
        assert solve(lows, highs, strides, target, Budget()) == expected
