"""Views against numpy: a descriptor and an array of offsets go through the same views and must keep agreeing."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from support.random_layouts import random_layout

from restride.errors import DescriptorError
from restride.layout import TensorDesc, views

Offsets = np.ndarray


def offsets_of(desc: TensorDesc) -> Offsets:
    found = np.empty(desc.sizes, np.int64)
    for index in np.ndindex(desc.sizes):
        found[index] = desc.offset_of(index)
    return found


def strided_offsets(desc: TensorDesc) -> Offsets:
    """The offsets as numpy's strides have them, so that numpy knows which reshapes need a copy."""
    buffer = np.arange(desc.highest + 1)
    return np.lib.stride_tricks.as_strided(buffer[desc.offset :], desc.sizes, [8 * each for each in desc.strides or ()])


class Checked:
    """A descriptor and the offsets of its elements; every view is taken of both."""

    def __init__(self, desc: TensorDesc) -> None:
        self.whole = self.desc = desc
        self.offsets = strided_offsets(desc) if desc.strides is not None and desc.numel else offsets_of(desc)
        self.history = [str(desc)]

    def take(self, what: str, desc: TensorDesc, offsets: Offsets) -> None:
        self.history.append(what)
        self.desc, self.offsets = desc, offsets
        assert desc.sizes == offsets.shape, self.history
        np.testing.assert_array_equal(offsets_of(desc), offsets, str(self.history))
        again = TensorDesc.parse(str(desc))
        assert again == desc, self.history
        assert (str(again), hash(again)) == (str(desc), hash(desc))
        assert desc.inner is None or (desc.inner == self.whole and desc.strides is None)
        if desc.strides is None:
            assert desc.nbytes == self.whole.nbytes
        if offsets.size:
            assert desc.lowest <= offsets.min()
            assert offsets.max() <= desc.highest < desc.extent
            assert desc.is_broadcast == any(
                size > 1 and (offsets.take([0], axis) == offsets).all() for axis, size in enumerate(offsets.shape)
            ), self.history
        places, first = np.unique(offsets, return_index=True)
        smallest = dict(zip(places.tolist(), first.tolist(), strict=True))
        for offset in range(0, desc.extent, max(desc.extent // 40, 1)):
            index = smallest.get(offset)
            expected = None if index is None else tuple(map(int, np.unravel_index(index, offsets.shape)))
            assert desc.index_of(offset) == expected, (self.history, offset)

    def index(self, key: tuple[object, ...]) -> None:
        explicit = key if Ellipsis in key else (*key, Ellipsis)
        self.take(f"[{key}]", views.index(self.desc, key), self.offsets[explicit])

    def permute(self, axes: list[int]) -> None:
        self.take(f"permute {axes}", views.permute(self.desc, axes), self.offsets.transpose(axes))

    def broadcast_to(self, sizes: list[int]) -> None:
        self.take(f"broadcast {sizes}", views.broadcast_to(self.desc, sizes), np.broadcast_to(self.offsets, sizes))

    def reshape(self, sizes: list[int]) -> None:
        """Reshape both, or see both refuse; numpy refuses by making a copy, which shares no memory."""
        offsets = self.offsets.reshape(sizes)
        if self.whole.strides is not None and offsets.size and not np.may_share_memory(offsets, self.offsets):
            with pytest.raises(DescriptorError, match="need a copy"):
                views.reshape(self.desc, sizes)
        else:
            self.take(f"reshape {sizes}", views.reshape(self.desc, sizes), offsets)

    def window(self, starts: list[int], spans: list[int], strides: list[int], counts: list[int]) -> None:
        key = tuple(slice(start, start + span) for start, span in zip(starts, spans, strict=True))
        walk = tuple(slice(None, None, stride) for stride in strides)
        kept = self.offsets[key][walk][tuple(map(slice, counts))]
        desc = views.window(self.desc, starts, spans, strides, counts)
        self.take(f"window {starts} {spans} {strides} {counts}", desc, kept)


def random_key(rng: random.Random, sizes: tuple[int, ...]) -> tuple[object, ...]:
    key: list[object] = []
    for size in sizes:
        if size and rng.random() < 0.15:
            key.append(rng.randint(-size, size - 1))
        else:
            start, stop = (rng.choice([None, rng.randint(-size - 2, size + 2)]) for _ in range(2))
            key.append(slice(start, stop, rng.choice([None, 1, 2, 4, 3, -1, -2, -4, 100])))
    if rng.random() < 0.3:
        at = rng.randint(0, len(key))
        key[at : rng.randint(at, len(key))] = [Ellipsis]
    if rng.random() < 0.2 and len(sizes) < 7:
        key.insert(rng.randint(0, len(key)), None)
    return tuple(key)


def random_strides(rng: random.Random) -> TensorDesc:
    rank = rng.randint(0, 4)
    sizes = [rng.randint(0 if rng.random() < 0.03 else 1, 5) for _ in range(rank)]
    if rng.random() < 0.5:
        return TensorDesc.xla("f32", sizes, rng.sample(range(rank), rank))
    strides = [rng.randint(-20, 20) for _ in range(rank)]
    below = sum(max((1 - size) * stride, 0) for size, stride in zip(sizes, strides, strict=True) if size)
    return TensorDesc("f32", sizes, strides, below + rng.randint(0, 3))


def random_factors(rng: random.Random, count: int) -> list[int]:
    """Sizes whose product is ``count``, ones among them."""
    sizes: list[int] = []
    while count > 1 and len(sizes) < 5:
        divisor = rng.choice([d for d in range(1, count + 1) if count % d == 0])
        sizes.append(divisor)
        count //= divisor
    sizes.append(count)
    rng.shuffle(sizes)
    return sizes


def step(rng: random.Random, checked: Checked) -> str:
    sizes = checked.desc.sizes
    action = rng.choice(["index", "index", "permute", "broadcast", "reshape", "window"])
    if action == "permute":
        checked.permute(rng.sample(range(len(sizes)), len(sizes)))
    elif action == "broadcast" and checked.desc.numel < 100 and len(sizes) < 8:
        checked.broadcast_to(
            [*rng.choice(([], [2], [1])), *(rng.choice([1, 3]) if size == 1 else size for size in sizes)]
        )
    elif action == "reshape" and checked.whole.strides is not None:
        checked.reshape(random_factors(rng, checked.desc.numel) if checked.desc.numel else [3, 0])
    elif action == "reshape" and checked.desc.numel:
        split = [
            part
            for size in sizes
            for part in rng.choice(([size], [1, size], [size // 2, 2] if not size % 2 else [size]))
        ]
        if len(split) > 8:
            return "none"
        checked.reshape(split)
    elif action == "window" and sizes and checked.desc.numel:
        bounds = [sorted(rng.sample(range(size + 1), 2)) for size in sizes]
        spans = [high - low for low, high in bounds]
        strides = [rng.choice([1, 2, 3, -1, -2, -4]) for _ in sizes]
        most = [1 + (span - 1) // abs(stride) for span, stride in zip(spans, strides, strict=True)]
        checked.window([low for low, _ in bounds], spans, strides, [rng.randint(1, count) for count in most])
    else:
        checked.index(random_key(rng, sizes))
        return "index"
    return action


@pytest.mark.parametrize("seed", range(15))
def test_chains_of_views_agree_with_numpy(seed: int) -> None:
    """Of strides of all kinds, tiles, padding and blocks."""
    rng = random.Random(seed)
    done = Counter[str]()
    for number in range(100):
        desc = random_strides(rng) if number % 2 else TensorDesc.parse(random_layout(rng, max_rank=4, max_elements=120))
        checked = Checked(desc)
        for _ in range(rng.randint(1, 6)):
            done[step(rng, checked)] += 1
    assert min(done[action] for action in ("index", "permute", "broadcast", "reshape", "window")) > 3


def test_the_checker_notices_an_offset_that_is_wrong_by_one():
    checked = Checked(TensorDesc("f32", (2, 3)))
    with pytest.raises(AssertionError):
        checked.take("wrong", TensorDesc("f32", (2, 3), offset=1), checked.offsets)


# --- index


def test_an_index_moves_the_offset_and_a_step_multiplies_the_stride():
    view = views.index(TensorDesc("f32", (8,)), slice(6, None, -2))
    assert (view.sizes, view.strides, view.offset) == ((4,), (-2,), 6)
    assert str(view) == "f32[4]{strides=(-2),offset=6}"


def test_views_that_stay_packed_print_without_strides():
    desc = TensorDesc("f32", (4, 2, 3))
    assert str(views.index(desc, Ellipsis)) == "f32[4,2,3]{2,1,0}"
    assert str(views.index(desc, slice(0, 2))) == "f32[2,2,3]{2,1,0}"
    assert str(views.index(desc, slice(1, 3))) == "f32[2,2,3]{strides=(6,3,1),offset=6}"
    assert str(views.permute(desc, (2, 0, 1))) == "f32[3,4,2]{0,2,1}"
    assert str(views.permute(views.permute(desc, (2, 0, 1)), (1, 2, 0))) == str(desc)
    assert str(views.reshape(desc, (8, 3))) == "f32[8,3]{1,0}"
    assert str(views.reshape(TensorDesc("f32", (2, 3), (3, 1)), (6,))) == "f32[6]{strides=(1)}"


def test_indices_beyond_64_bits():
    desc = TensorDesc("u8", (1 << 62, 4))
    view = views.index(desc, (slice(-1, None, -(1 << 61)), slice(None, None, -1)))
    assert view.sizes == (2, 4)
    assert view.offset == (1 << 64) - 1
    assert view.offset_of((1, 3)) == (((1 << 62) - 1 - (1 << 61)) << 2)
    assert views.index(desc, slice(None)) == desc
    assert views.index(TensorDesc("u8", (1 << 70,)), slice(1, None, 2)).sizes == (1 << 69,)
    assert views.index(desc, (slice(None, None, 10**300), 0)).sizes == (1,)
    assert views.index(desc, np.int64(5)).offset == 20


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((2,), "index 2 is out of range for axis 0 of size 2, for f32[2,3]{1,0}"),
        ((0, -4), "index -4 is out of range for axis 1 of size 3, for f32[2,3]{1,0}"),
        ((0, 0, 0), "3 indices are too many for 2 axes, for f32[2,3]{1,0}"),
        ((..., 0, ...), "an index can hold one Ellipsis ('...'), got (Ellipsis, 0, Ellipsis), for f32[2,3]{1,0}"),
        (slice(None, None, 0), "slice step cannot be zero: slice(None, None, 0) of axis 0, for f32[2,3]{1,0}"),
        (slice(1.0, None), "slice indices must be integers or None"),
        ([0, 1], "arrays, lists and booleans would copy, as rs.xp.take does: got [0, 1], for f32[2,3]{1,0}"),
        (True, "arrays, lists and booleans would copy, as rs.xp.take does: got True"),
        (np.True_, "arrays, lists and booleans would copy, as rs.xp.take does: got"),
        (np.array([0, 1]), "arrays, lists and booleans would copy, as rs.xp.take does: got array([0, 1])"),
        (np.array(1), "arrays, lists and booleans would copy, as rs.xp.take does: got array(1)"),
        (1.0, "arrays, lists and booleans would copy, as rs.xp.take does: got 1.0"),
        ("x", "arrays, lists and booleans would copy, as rs.xp.take does: got 'x'"),
        ((None,) * 7, "rank 9 exceeds 8"),
        (10**200, "index must be below 2^512"),
    ],
)
def test_bad_indices_are_refused(key, message):
    with pytest.raises(DescriptorError) as caught:
        views.index(TensorDesc("f32", (2, 3)), key)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (slice(None, None, 1 << 400), "strides[0] must be below 2^512 in magnitude, got 901 bits"),
        (1 << 400, "offset must be below 2^512 in magnitude, got 901 bits"),
    ],
)
def test_views_of_huge_steps_stay_below_the_limit(key, message):
    with pytest.raises(DescriptorError) as caught:
        views.index(TensorDesc("u8", (1 << 500,), (1 << 500,)), key)
    assert message in str(caught.value)


# --- permute, broadcast_to, reshape


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2)])
def test_permute_needs_each_axis_once(axes):
    with pytest.raises(DescriptorError, match=r"axes .* must name each of the 2 axes once, for f32\[2,3\]\{1,0\}"):
        views.permute(TensorDesc("f32", (2, 3)), axes)


def test_permute_counts_negative_axes_from_the_end():
    desc = TensorDesc("f32", (2, 3, 4), (1, 2, 6), 5)
    assert views.permute(desc, (-1, 0, 1)) == TensorDesc("f32", (4, 2, 3), (6, 1, 2), 5)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((3,), "sizes (3,) have fewer axes than the 2 of the tensor, for f32[2,1]{1,0}"),
        ((3, 3), "size 2 of axis 0 cannot broadcast to 3, for f32[2,1]{1,0}"),
        ((1, 1), "size 2 of axis 0 cannot broadcast to 1, for f32[2,1]{1,0}"),
        ((2, -1), "sizes (2, -1) must each be 0 or more, for f32[2,1]{1,0}"),
        ((1,) * 7 + (2, 1), "rank 9 exceeds 8"),
    ],
)
def test_bad_broadcasts_are_refused(sizes, message):
    with pytest.raises(DescriptorError) as caught:
        views.broadcast_to(TensorDesc("f32", (2, 1)), sizes)
    assert message in str(caught.value)


def test_broadcast_to_huge_sizes():
    desc = views.broadcast_to(TensorDesc("f32", (1, 3)), (1 << 62, 1 << 62, 3))
    assert desc.strides == (0, 0, 1)
    assert desc.nbytes == 12


@pytest.mark.parametrize(
    ("desc", "sizes", "message"),
    [
        (TensorDesc("f32", (2, 3)), (4,), "sizes (4,) hold 4 elements, but there are 6, for f32[2,3]{1,0}"),
        (
            TensorDesc("f32", (2, 3)),
            (-1, 4),
            "no size fits the -1 in sizes (-1, 4): there are 6 elements, for f32[2,3]{1,0}",
        ),
        (TensorDesc("f32", (2, 3)), (-1, -1), "sizes (-1, -1) must be 0 or more, or -1 for one of them"),
        (TensorDesc("f32", (2, 3)), (-2, 3), "sizes (-2, 3) must be 0 or more"),
        (
            TensorDesc("f32", (0, 3)),
            (0, -1),
            "no size fits the -1 in sizes (0, -1): there are 0 elements, for f32[0,3]{1,0}",
        ),
        (
            TensorDesc("f32", (2, 3), (1, 2)),
            6,
            "the layout does not allow such a view; rs.xp.reshape copies, for f32[2,3]{strides=(1,2)}",
        ),
        (TensorDesc("f32", (2, 3), (4, 1)), (3, 2), "need a copy"),
        (TensorDesc("f32", (2, 3)), (6.0,), "sizes[0] must be an integer, got 6.0 (float), for f32[2,3]{1,0}"),
        (TensorDesc("f32", (0,)), (0, *(1,) * 8), "rank 9 exceeds 8: sizes (0, 1, 1, 1, 1, 1, 1, 1, 1) of f32"),
        (TensorDesc("u8", (1 << 500,), (1 << 500,)), (1 << 200, 1 << 300), "strides[0] must be below 2^512"),
    ],
)
def test_bad_reshapes_are_refused(desc, sizes, message):
    with pytest.raises(DescriptorError) as caught:
        views.reshape(desc, sizes)
    assert message in str(caught.value)


def test_reshape_fills_in_what_remains():
    desc = TensorDesc("f32", (4, 6), (6, 1), 2)
    assert views.reshape(desc, (2, -1, 3)).sizes == (2, 4, 3)
    assert views.reshape(desc, -1) == TensorDesc("f32", (24,), (1,), 2)
    assert views.reshape(TensorDesc("f32", (4, 6), (12, 2)), (2, 2, 3, 2)).strides == (24, 12, 4, 2)
    assert views.reshape(TensorDesc("f32", (4, 6), (-6, -1), 23), (24,)).strides == (-1,)
    assert views.reshape(TensorDesc("f32", (4, 6), (0, 0)), (24,)).strides == (0,)
    assert views.reshape(TensorDesc("f32", ()), (1, 1)).sizes == (1, 1)
    assert views.reshape(TensorDesc("f32", (1, 1)), ()).sizes == ()
    assert views.reshape(TensorDesc("f32", (0, 3)), (-1, 3)).sizes == (0, 3)
    assert views.reshape(TensorDesc("u8", (1 << 62, 4)), (4, 1 << 62)).strides == (1 << 62, 1)


@pytest.mark.parametrize(
    "text", ["u8[6,8]", "u8[6,8]{0,1}", "u8[6,8]{strides=(-20,2),offset=120}", "u8[6,8]{1,0:T(4,4)}"]
)
def test_a_part_is_the_index_by_slices(text):
    desc = TensorDesc.parse(text)
    for ranges in ((range(6), range(8)), (range(6), range(2, 5)), (range(1, 6), range(8)), (range(3, 3), range(8))):
        slices = tuple(slice(each.start, each.stop) for each in ranges)
        assert str(views.part(desc, ranges)) == str(views.index(desc, slices))


@pytest.mark.parametrize(
    ("desc", "alignment", "near", "nbytes"),
    [
        ("u8[30,40,3]{strides=(120,3,1),offset=18000}", 16, "u8[30,40,3]", 18000),
        ("u8[3,3,3]{strides=(9,3,1),offset=135}", 16, "u8[3,3,3]{strides=(9,3,1),offset=7}", 128),
        ("u8[3,3,3]{strides=(9,3,1),offset=135}", 256, "u8[3,3,3]{strides=(9,3,1),offset=135}", 0),
        ("f64[4]{strides=(1),offset=71}", 64, "f64[4]{strides=(1),offset=7}", 512),
        ("f32[9]{strides=(-1),offset=40}", 64, "f32[9]{strides=(-1),offset=8}", 128),  # the lowest is at 32
        ("f32[9]{strides=(-1),offset=40}", 0, "f32[9]{strides=(-1),offset=40}", 0),
        ("f32[0]{strides=(1),offset=40}", 16, "f32[0]{strides=(1),offset=40}", 0),
        ("f32[3,4]{0,1:T(2,2)}", 16, "f32[3,4]{0,1:T(2,2)}", 0),
    ],
)
def test_a_layout_moves_to_the_start_of_its_buffer_by_whole_alignments(desc, alignment, near, nbytes):
    desc = TensorDesc.parse(desc)
    found = views.from_start(desc, alignment)
    assert found == (TensorDesc.parse(near), nbytes)
    assert views.moved(found[0], nbytes) == desc if nbytes else found[0] is desc
