"""Places, cuts, runs and regions: where a copy must cut its axes, and walks that cover every pair exactly once."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_layouts import random_layout, random_pair

from restride.layout import TensorDesc, views
from restride.layout.digits import Index, Linear, affine
from restride.plan.tiles import MAX_WALKS, Cuts, Place, Region, Walk, complement, walks


def parsed(src: str, dst: str, *keys: object) -> tuple[TensorDesc, TensorDesc]:
    """Both sides, the source seen through the first key and the destination through the second."""
    descs = [TensorDesc.parse(src), TensorDesc.parse(dst)]
    for side, key in enumerate(keys):
        descs[side] = views.index(descs[side], key)
    return descs[0], descs[1]


def pairs_of(src: TensorDesc, dst: TensorDesc) -> Counter[tuple[int, int]]:
    """The offsets of every index on both sides, by ``offset_of``."""
    return Counter((src.offset_of(index), dst.offset_of(index)) for index in product(*map(range, dst.sizes)))


def walked(found: tuple[Walk, ...]) -> Counter[tuple[int, int]]:
    """The offsets that the walks visit."""
    pairs: Counter[tuple[int, int]] = Counter()
    for walk in found:
        for steps in product(*(range(step.size) for step in walk.axes)):
            src = walk.src_offset + sum(n * step.src for n, step in zip(steps, walk.axes, strict=True))
            dst = walk.dst_offset + sum(n * step.dst for n, step in zip(steps, walk.axes, strict=True))
            pairs[src, dst] += 1
    return pairs


def check(src: TensorDesc, dst: TensorDesc) -> int:
    """How many walks the copy is, each pair in one of them; 0 if there are none."""
    found = walks(Region.of(src, dst))
    if found is None:
        return 0
    assert len(found) <= MAX_WALKS
    assert walked(found) == pairs_of(src, dst), f"{src} -> {dst}"
    return len(found)


# --- stretches


@st.composite
def cuts(draw: st.DrawFn) -> Cuts:
    weights = [1]
    for factor in draw(st.lists(st.integers(2, 5), max_size=3)):
        weights.append(weights[-1] * factor)
    return Cuts(tuple(weights), draw(st.integers(0, weights[-1] - 1)))


@given(cuts(), st.integers(0, 200))
def test_stretches_cover_every_index_once_and_never_cross_a_digit(cut: Cuts, size: int):
    seen: list[int] = []
    for stretch in cut.stretches(size):
        seen += [
            stretch.start + sum(n * weight for n, (_, weight) in zip(digits, stretch.digits, strict=True))
            for digits in product(*(range(count) for count, _ in stretch.digits))
        ]
        # Its first digit of each weight is 0, but for the weight that counts on.
        for (_, weight), (_, coarser) in pairwise(stretch.digits):
            assert (stretch.start + cut.phase) % coarser == 0, weight
        for (count, weight), (_, coarser) in pairwise(stretch.digits):
            assert count * weight == coarser
    assert sorted(seen) == list(range(size))
    assert len(cut.stretches(size)) <= 2 * len(cut.weights) - 1


@given(cuts(), cuts())
def test_joined_cuts_are_the_cuts_of_both(one: Cuts, other: Cuts):
    joined = one.joined(other)
    assert joined == other.joined(one)
    assert one.joined(one) == one
    assert one.joined(Cuts((1,), 0)) == one
    if joined is None:
        return
    for cut in (one, other):
        assert set(cut.weights) <= set(joined.weights)
        assert joined.phase % cut.weights[-1] == cut.phase


# --- cuts


def test_the_address_of_a_place_is_that_of_its_descriptor():
    rng = random.Random(2)
    for _ in range(200):
        desc = TensorDesc.parse(random_layout(rng, max_elements=60))
        index = [affine(0, [(axis, size, 1)]) for axis, size in enumerate(desc.sizes)]
        if desc.numel:
            assert Place.of(desc).address(index) == desc.address, str(desc)
            if desc.blocking is not None:
                whole = Place.of_coordinates(desc.blocking)
                assert whole.address(index + [Linear()] * (len(whole.starts) - desc.rank)) == desc.address
    assert Place.nowhere(3).address([Linear(1), Linear(2), Linear(0, ((1, Index(0, 4)),))]) == Linear()


# --- walks


def test_partial_tiles_are_walks_of_their_own():
    """The module's example: f32[13,256] to T(8,128) is rows 0 to 7, and rows 8 to 12."""
    src, dst = parsed("f32[13,256]", "f32[13,256]{1,0:T(8,128)}")
    found = walks(Region.of(src, dst))
    assert found is not None
    assert [[step.size for step in walk.axes if step.size > 1] for walk in found] == [[8, 128, 2], [5, 128, 2]]
    assert [(walk.src_offset, walk.dst_offset) for walk in found] == [(0, 0), (8 * 256, 2 * 8 * 128)]


@pytest.mark.parametrize(
    ("src", "dst", "keys", "count"),
    [
        ("f32[16,16]", "f32[16,16]{1,0:T(8,8)}", (), 1),
        ("f32[16,16]{1,0:T(4,16)}", "f32[16,16]{1,0:T(8,8)}", (), 1),
        ("f32[16,16]{0,1:T(2,4)}", "f32[16,16]{1,0:T(8,8)(2,4)}", (), 1),
        ("f32[2,20,3,3]", "f32[2,20,3,3]:nChw16c", (), 2),
        ("f32[2,20,3,3]:nChw8c", "f32[2,20,3,3]:nChw16c", (), 2),
        ("f32[20,18]", "f32[20,18]:AB8b4a", (), 2),
        ("f32[20,19]", "f32[20,19]:AB8b4a2a", (), 4),
        # both sides cut, at different phases of one tile
        ("f32[30]{0:T(4,8)}", "f32[30]{0:T(2,8)}", (slice(3, 27), slice(3, 27)), 3),
        ("f32[30]{0:T(4,8)}", "f32[30]{0:T(2,8)}", (slice(3, 27), slice(4, 28)), 0),
        ("f32[32]{0:T(4,8)}", "f32[32]{0:T(2,4)}", (slice(3, 27), slice(7, 31)), 4),
        # a flip meets a flip, and a flip alone
        ("f32[32]{0:T(4,8)}", "f32[32]{0:T(2,8)}", (slice(None, None, -1), slice(None, None, -1)), 1),
        ("f32[32]{0:T(4,8)}", "f32[32]{0:T(2,8)}", (slice(None, None, -1),), 1),
        ("f32[30]{0:T(4,8)}", "f32[30]", (slice(None, None, -1),), 2),
        # steps of 2 and 4 within tiles of 8
        ("f32[64]{0:T(2,8)}", "f32[32]{0:T(2,4)}", (slice(None, None, 2),), 1),
        ("f32[64]{0:T(2,8)}", "f32[32]{0:T(2,4)}", (slice(1, None, 2),), 1),
        ("f32[64]{0:T(2,8)}", "f32[16]", (slice(3, None, 4),), 1),
        ("f32[64]{0:T(2,8)}", "f32[31]", (slice(3, None, 2),), 2),
        ("f32[64]{0:T(2,8)}", "f32[22]", (slice(None, None, 3),), 0),
        # sub-tiles that do not divide, dimensions joined across a tile
        ("f32[8]{0:T(4)(3)}", "f32[8]{0:T(4)(3)}", (), 0),
        ("f32[5]{0:T(4)(3)}", "f32[5]", (), 0),
        ("f32[6,5,4]{2,1,0:T(*,4,3)}", "f32[6,5,4]", (), 0),
        # one element, no axes, nothing
        ("f32[1,1]{1,0:T(8,128)}", "f32[1,1]:AB4b8a", (), 1),
        ("u32[]{:T(128)}", "u32[]", (), 1),
        # tiles larger than the array, tiles of 1
        ("f32[3,5]{1,0:T(8,128)}", "f32[3,5]{1,0:T(1,1)}", (), 1),
        ("f32[5]{0:T(2,8)}", "f32[5]{0:T(7,3,8)}", (), 1),
    ],
    ids=str,
)
def test_walks_of_known_copies(src, dst, keys, count):
    assert check(*parsed(src, dst, *keys)) == count


@pytest.mark.parametrize("seed", range(8))
def test_walks_of_random_layouts_cover_each_pair_once(seed):
    rng = random.Random(seed)
    seen = Counter(check(*parsed(*random_pair(rng, max_rank=4, max_elements=90))) > 0 for _ in range(60))
    assert seen[True] > 20


def test_a_copy_of_too_many_walks_has_none():
    """Rows, columns and depth each begin and end inside tiles of 8: 3 * 3 * 3 walks."""
    src = views.index(TensorDesc.parse("f32[40,40,40]{2,1,0:T(8,8,8)}"), (slice(3, 37),) * 3)
    assert walks(Region.of(src, TensorDesc("f32", (34, 34, 34)))) is None
    flat = views.index(src, 0)
    assert len(walks(Region.of(flat, TensorDesc("f32", (34, 34)))) or ()) == 9


def test_huge_sizes_are_as_easy_as_small_ones():
    huge = 1 << 40
    dst = TensorDesc.xla("f32", (huge, huge + 3), tiles=[(8, 128), (2, 1)])
    found = walks(Region.of(TensorDesc("f32", dst.sizes), dst))
    assert found is not None
    assert [prod(step.size for step in walk.axes) for walk in found] == [huge * huge, huge * 3]


def test_a_region_in_the_middle_is_cut_where_its_tiles_are():
    """Starts of a region move the phase: columns 5 to 16 under tiles of 8 are 3, 8 and 1."""
    desc = TensorDesc.parse("f32[32]{0:T(2,8)}")
    found = walks(Region((5,), (12,), Place.nowhere(1), Place.of(desc)))
    assert found is not None
    assert [prod(step.size for step in walk.axes) for walk in found] == [3, 8, 1]
    assert sorted(dst for _, dst in walked(found)) == sorted(desc.offset_of((n,)) for n in range(5, 17))


def test_a_resampled_axis_stays_whole():
    src, dst = TensorDesc.parse("f32[2,32,4]:aBc16b"), TensorDesc.parse("f32[2,32,9]:aBc16b")
    region = Region((0, 0, 0), dst.sizes, Place.of(src), Place.of(dst))
    (walk,) = walks(region, {2: 4}) or ()
    cut = zip(walk.cut_from, walk.axes, strict=True)
    assert [(axis, step.size, step.src, step.dst) for axis, step in cut if step.size > 1] == [
        *((0, 2, 2 * 16 * 4, 2 * 16 * 9), (1, 16, 1, 1), (1, 2, 16 * 4, 16 * 9), (2, 9, 16, 16)),
    ]
    assert walks(region, {1: 16}) is None


# --- complement


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4))
def test_the_complement_is_the_outer_box_without_the_inner_one(sides):
    inner, outer = [min(pair) for pair in sides], [max(pair) for pair in sides]
    seen = Counter(
        tuple(start + n for start, n in zip(starts, index, strict=True))
        for starts, sizes in complement(outer, inner)
        for index in product(*map(range, sizes))
    )
    within = set(product(*map(range, inner)))
    assert seen == Counter(index for index in product(*map(range, outer)) if index not in within)


def test_the_complement_is_of_the_docstring_and_without_empty_boxes():
    assert list(complement((4, 6), (3, 5))) == [((3, 0), (1, 6)), ((0, 5), (3, 1))]
    assert list(complement((3, 5), (3, 5))) == []
    assert list(complement((), ())) == []
    assert list(complement((2, 3), (0, 3))) == [((0, 0), (2, 3))]
