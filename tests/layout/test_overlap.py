"""Proofs against brute force: injective, nested, index_of as the smallest inverse, overlap of two views."""

import itertools
import random
import re

import numpy as np
import pytest
from support.random_layouts import random_layout

from restride.errors import DescriptorError
from restride.layout import TensorDesc, views
from restride.layout.equation import Steps, nested, shared_offset, solve
from restride.layout.overlap import may_overlap, require_injective, written_by

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


def test_interleaved_strides_are_injective_but_not_nested():
    desc = TensorDesc("u8", (5, 2, 3), (7, 1, 19))
    assert not nested(desc.sizes, desc.strides)
    assert nested((2, 3), (5, 1))
    assert nested((0, 3), (0, 0))
    assert not nested((2, 3), (0, 1))
    require_injective(desc, "out")


def test_a_destination_that_overlaps_itself_is_refused_with_a_pair_of_indices():
    with pytest.raises(DescriptorError) as caught:
        require_injective(TensorDesc("f32", (3, 3), (2, 1), 4), "out")
    assert str(caught.value) == (
        "out must not overlap itself: indices (0, 2) and (1, 0) share element 6 in f32[3,3]{strides=(2,1),offset=4}"
    )
    with pytest.raises(DescriptorError, match=r"out .* indices \(0, 0\) and \(1, 0\) share element 0"):
        require_injective(TensorDesc("f32", (2, 3), (0, 1)), "out")


HARD = (3000, 3001, 3002, 3003), (1_000_003 * 1_009, 1_000_033 * 1_013, 1_000_037 * 1_019, 1_000_039 * 1_021)


def test_past_the_step_budget_the_proof_is_refused():
    with pytest.raises(DescriptorError, match=r"out could not be proven free of overlap .* u8\[3000,"):
        require_injective(TensorDesc("u8", *HARD), "out")
    desc = TensorDesc("u8", *HARD)
    with pytest.raises(DescriptorError, match=r"index of offset \d+ was not found in 100000 steps"):
        desc.index_of(desc.highest // 2)


def test_index_of_is_the_smallest_inverse():
    rng = random.Random(7)
    shared = 0
    for _ in range(2500):
        rank = rng.randint(0, 4)
        sizes = tuple(rng.randint(1, 4) for _ in range(rank))
        strides = tuple(rng.choice([rng.randint(-12, 12), 0, 1, 4, 16]) for _ in range(rank))
        below = -sum(min((size - 1) * stride, 0) for size, stride in zip(sizes, strides, strict=True))
        desc = TensorDesc("u8", sizes, strides, below + rng.choice([0, 2]))
        first = {}
        for index in itertools.product(*map(range, sizes)):
            first.setdefault(desc.offset_of(index), index)
        shared += len(first) < desc.numel
        for offset in range(desc.highest + 3):
            assert desc.index_of(offset) == first.get(offset), (desc, offset)
    assert shared > 500


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
        assert solve(lows, highs, strides, target, Steps()) == expected


def bytes_of(desc):
    width = desc.dtype.itemsize
    return {
        desc.offset_of(index) * width + byte
        for index in itertools.product(*map(range, desc.sizes))
        for byte in range(width)
    }


def test_overlap_of_two_views_agrees_with_brute_force():
    rng = random.Random(3)
    answers = {True: 0, False: 0}
    for _ in range(4000):
        pair = []
        for _ in range(2):
            rank = rng.randint(0, 3)
            sizes = [rng.randint(0 if rng.random() < 0.05 else 1, 3) for _ in range(rank)]
            strides = [rng.randint(-8, 8) for _ in range(rank)]
            below = sum(max((1 - size) * stride, 0) for size, stride in zip(sizes, strides, strict=True) if size)
            pair.append(TensorDesc(rng.choice(["u8", "s16", "f32"]), sizes, strides, below + rng.randint(0, 20)))
        truth = bool(bytes_of(pair[0]) & bytes_of(pair[1]))
        assert may_overlap(*pair) == truth, pair
        assert may_overlap(*pair[::-1]) == truth, pair
        answers[truth] += 1
    assert min(answers.values()) > 500


def test_halves_and_interleaved_rows_do_not_overlap():
    left = TensorDesc("f16", (1080, 960), (1920, 1))
    right = TensorDesc("f16", (1080, 960), (1920, 1), 960)
    assert not may_overlap(left, right)
    assert may_overlap(left, TensorDesc("f16", (1080, 960), (1920, 1), 959))
    even = TensorDesc("u8", (1 << 40, 7), (14, 1))
    odd = TensorDesc("u8", (1 << 40, 7), (14, 1), 7)
    assert not may_overlap(even, odd)
    assert may_overlap(even, even)
    whole = TensorDesc("u8", (8, 1 << 40, 3, 1 << 20))
    quarters = [
        views.index(whole, (..., rows, slice(None), columns))
        for rows in (slice(None, 1 << 39), slice(1 << 39, None))
        for columns in (slice(1 << 19, None, -1), slice((1 << 19) + 1, None))
    ]
    for one, other in itertools.combinations(quarters, 2):
        assert not may_overlap(one, other)
    assert not may_overlap(even, TensorDesc("u8", (0,)))


def test_overlap_is_assumed_when_the_steps_run_out():
    desc = TensorDesc("u8", *HARD)
    assert may_overlap(desc, TensorDesc("u8", *HARD, 1))


# --- views of tiles and blocks


def viewed(text, key=...):
    return views.index(TensorDesc.parse(text), key)


def random_view(rng, whole):
    """Slices, with axes of one made longer and axes slid along another now and then."""
    key = []
    for size in whole.sizes:
        start, stop = sorted((rng.randint(0, size), rng.randint(0, size)))
        key.append(slice(start, stop, rng.choice([1, 1, 2, 3])) if rng.random() < 0.8 else slice(None, None, -1))
    view = views.index(whole, tuple(key))
    if rng.random() < 0.2:
        view = views.broadcast_to(view, [2 if size == 1 else size for size in view.sizes])
    if rng.random() < 0.3 and view.inner is not None and view.rank:
        axis = rng.randrange(view.rank)
        if view.sizes[axis] > 2:
            sizes = [*(size if other != axis else size - 1 for other, size in enumerate(view.sizes)), 2]
            view = TensorDesc.view_of(view.inner, sizes, view.starts, (*view.steps, view.steps[axis]))
    return view


def test_proofs_of_views_of_tiles_agree_with_brute_force():
    rng = random.Random(17)
    overlap, injective = {True: 0, False: 0}, {True: 0, False: 0}
    for _ in range(7000):
        whole = TensorDesc.parse(random_layout(rng, max_rank=3, max_elements=60))
        if not whole.is_whole or whole.strides is not None:
            continue
        one, other = random_view(rng, whole), random_view(rng, whole)
        truth = bool(bytes_of(one) & bytes_of(other))
        for pair in ((one, other), (other, one)):
            assert may_overlap(*pair) or not truth, pair
        if one.strides is None and other.strides is None and one.rank == other.rank == whole.rank:
            assert may_overlap(one, other) == truth, (str(one), str(other))
            overlap[truth] += 1
        distinct = len(bytes_of(one)) == one.numel * one.dtype.itemsize
        injective[distinct] += 1
        if distinct:
            require_injective(one, "out")
        else:
            with pytest.raises(DescriptorError, match="out must not overlap itself") as caught:
                require_injective(one, "out")
            shared = [eval(part) for part in re.findall(r"\([0-9, ]*\)", str(caught.value))[:2]]
            assert one.offset_of(shared[0]) == one.offset_of(shared[1])
            assert shared[0] < shared[1]
    assert min(overlap.values()) > 20
    assert min(injective.values()) > 20


@pytest.mark.parametrize(
    ("text", "one", "other", "apart"),
    [
        # halves, even and odd rows, a row and the next: apart; shifted by one: not
        ("f32[16,24]{1,0:T(4,8)}", (slice(0, 8),), (slice(8, 16),), True),
        ("f32[16,24]{1,0:T(4,8)}", (slice(0, 9),), (slice(8, 16),), False),
        ("f32[16,24]{1,0:T(4,8)}", (..., slice(0, 11)), (..., slice(11, None)), True),
        ("f32[16,24]{1,0:T(4,8)}", (slice(0, None, 2),), (slice(1, None, 2),), True),
        ("f32[16,24]{1,0:T(4,8)}", (slice(0, None, 2),), (slice(14, None, -2),), False),
        ("f32[16,24]{1,0:T(4,8)}", (slice(0, None, 2),), (slice(15, None, -2),), True),
        ("f32[16,24]{1,0:T(4,8)}", (3,), (4,), True),
        ("f32[16,24]{1,0:T(4,8)}", (slice(None), 3), (slice(None), 3), False),
        # within one tile both have strides, and the question is one of bytes
        ("u8[16,24]{1,0:T(4,8)}", (slice(0, 4), slice(0, 8, 2)), (slice(0, 4), slice(1, 8, 2)), True),
        ("u8[2,32,4,4]:nChw16c", (slice(None), slice(0, 16)), (slice(None), slice(16, 32)), True),
        ("u8[2,32,4,4]:nChw16c", (slice(None), slice(0, 17)), (slice(None), slice(16, 32)), False),
        # joined dimensions do not matter: coordinates are those of the tensor
        ("f32[6,5,4]{2,1,0:T(*,4,3)}", (slice(0, 3),), (slice(3, 6),), True),
        ("f32[13]{0:T(4)(3)}", (slice(0, None, 2),), (slice(1, None, 2),), True),
    ],
)
def test_parts_of_a_tiled_tensor(text, one, other, apart):
    parts = viewed(text, one), viewed(text, other)
    assert may_overlap(*parts) == may_overlap(*parts[::-1]) == (not apart)
    for part in parts:
        require_injective(part, "out")


def test_broadcast_and_sliding_views_of_tiles_are_refused_with_a_pair_of_indices():
    row = viewed("f32[16,24]{1,0:T(4,8)}", (slice(5, 6),))
    with pytest.raises(DescriptorError) as caught:
        require_injective(views.broadcast_to(row, (3, 24)), "out")
    assert str(caught.value) == (
        "out must not overlap itself: indices (0, 0) and (1, 0) share element 104 in "
        "f32[3,24]{at=(5,b),in=[16,24]{1,0:T(4,8)}}"
    )
    with pytest.raises(
        DescriptorError, match=r"layout .* indices \(0, 0, 1\) and \(0, 1, 0\) share element 1 in f32\["
    ):
        require_injective(TensorDesc.parse("f32[2,3,4]{at=(a,b+c),in=[16,24]{1,0:T(4,5)}}"), "layout")
    require_injective(TensorDesc.parse("f32[4,3,2]{at=(a,2b+c),in=[16,24]{1,0:T(4,5)}}"), "out")
    require_injective(TensorDesc.parse("f32[0,3,2]{at=(a,b+c),in=[16,24]{1,0:T(4,5)}}"), "out")


def test_whole_layouts_are_injective_and_overlap_their_parts():
    rng = random.Random(23)
    for _ in range(200):
        whole = TensorDesc.parse(random_layout(rng, max_elements=100))
        require_injective(whole, "out")
        if whole.numel:
            assert may_overlap(whole, whole)
            assert may_overlap(whole, views.index(whole, (0,) * whole.rank))


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ("f32[2,3]{1,0:pad(2,5)=7}", "f32[2]{strides=(5),offset=4}"),
        ("f32[3]{0:T(8)}", "f32[2]{strides=(1),offset=5}"),
        ("f32[0,3]{1,0:pad(2,5)=7}", "f32[4]"),
    ],
)
def test_a_whole_layout_overlaps_what_lies_in_its_padding(whole, part):
    """An operation writes that padding, and would before it reads."""
    assert may_overlap(TensorDesc.parse(part), written_by(TensorDesc.parse(whole)))


def test_huge_views_of_tiles():
    whole = TensorDesc.xla("u8", (1 << 40, 1 << 40), tiles=[(8, 128), (4, 1)])
    even, odd = views.index(whole, (slice(None, None, 2),)), views.index(whole, (slice(1, None, 2),))
    assert not may_overlap(even, odd)
    assert may_overlap(even, views.index(whole, (slice(None), 7)))
    require_injective(even, "out")
