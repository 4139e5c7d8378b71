"""Views against numpy: a descriptor and an array of offsets go through the same views and must keep agreeing."""

import random

import numpy as np
import pytest

from restride.errors import DescriptorError
from restride.layout import TensorDesc, views


class CheckingDesc:
    """A descriptor and, beside it, a numpy array that holds the offset of every element; views apply to both."""

    def __init__(self, desc):
        self.desc = desc
        buffer = np.arange(desc.highest + 1)
        strides = [stride * buffer.itemsize for stride in desc.strides]
        self.array = np.lib.stride_tricks.as_strided(buffer[desc.offset :], desc.sizes, strides)
        if not desc.numel:
            self.array = np.zeros(desc.sizes, int)
        self.history = [str(desc)]

    def apply(self, what, desc, array):
        self.history.append(what)
        self.desc, self.array = desc, array
        self.check()

    def check(self):
        assert self.desc.sizes == self.array.shape, self.history
        offsets = np.full(self.desc.sizes, self.desc.offset)
        for axis, (size, stride) in enumerate(zip(self.desc.sizes, self.desc.strides, strict=True)):
            offsets += (np.arange(size) * stride).reshape((-1,) + (1,) * (self.desc.rank - axis - 1))
        assert (offsets == self.array).all(), self.history
        assert self.desc.numel == self.array.size
        if self.array.size:
            assert self.desc.lowest == self.array.min()
            assert self.desc.highest == self.array.max()
            last = tuple(size - 1 for size in self.desc.sizes)
            assert self.desc.offset_of(last) == self.array[last]

    def index(self, key):
        # With an Ellipsis numpy gives an array even where one element is left.
        explicit = key if Ellipsis in key else (*key, Ellipsis)
        self.apply(f"[{key}]", views.index(self.desc, key), self.array[explicit])

    def permute(self, axes):
        self.apply(f"permute {axes}", views.permute(self.desc, axes), self.array.transpose(axes))

    def broadcast_to(self, sizes):
        self.apply(f"broadcast {sizes}", views.broadcast_to(self.desc, sizes), np.broadcast_to(self.array, sizes))

    def reshape(self, sizes):
        """Reshape both, or see both refuse; numpy refuses by making a copy, which shares no memory."""
        array = self.array.reshape(sizes)
        if array.size and not np.may_share_memory(array, self.array):
            with pytest.raises(DescriptorError, match="need a copy"):
                views.reshape(self.desc, sizes)
        else:
            self.apply(f"reshape {sizes}", views.reshape(self.desc, sizes), array)

    def window(self, offsets, sizes, strides, output_sizes):
        key = tuple(slice(offset, offset + size) for offset, size in zip(offsets, sizes, strict=True))
        walked = self.array[key][tuple(slice(None, None, stride) for stride in strides)]
        kept = walked[tuple(slice(0, size) for size in output_sizes)]
        desc = views.window(self.desc, offsets, sizes, strides, output_sizes)
        self.apply(f"window {offsets} {sizes} {strides} {output_sizes}", desc, kept)


def random_desc(rng):
    rank = rng.randint(0, 4)
    sizes = [rng.randint(0 if rng.random() < 0.03 else 1, 5) for _ in range(rank)]
    if rng.random() < 0.5:
        return TensorDesc.xla("f32", sizes, rng.sample(range(rank), rank))
    strides = [rng.randint(-20, 20) for _ in range(rank)]
    below = sum(max((1 - size) * stride, 0) for size, stride in zip(sizes, strides, strict=True) if size)
    return TensorDesc("f32", sizes, strides, below + rng.randint(0, 3))


def random_key(rng, sizes):
    key = []
    for size in sizes:
        if size and rng.random() < 0.15:
            key.append(rng.randint(-size, size - 1))
        elif rng.random() < 0.7:
            start, stop = (rng.choice([None, rng.randint(-size - 2, size + 2)]) for _ in range(2))
            key.append(slice(start, stop, rng.choice([None, 1, 2, 3, -1, -2, -7, 100])))
        else:
            key.append(slice(None))
    if rng.random() < 0.3:
        start = rng.randint(0, len(key))
        key[start : rng.randint(start, len(key))] = [Ellipsis]
    for _ in range(rng.randint(0, 8 - len(sizes)) if rng.random() < 0.2 else 0):
        key.insert(rng.randint(0, len(key)), None)
    while key and rng.random() < 0.2:
        key.pop()
    return tuple(key)


def random_factors(rng, count):
    """Sizes whose product is ``count``, ones among them."""
    sizes = []
    while count > 1 and len(sizes) < 5:
        divisor = rng.choice([d for d in range(1, count + 1) if count % d == 0])
        sizes.append(divisor)
        count //= divisor
    sizes.append(count)
    rng.shuffle(sizes)
    return tuple(sizes)


def step(rng, checked):
    sizes = checked.desc.sizes
    action = rng.choice(["index", "index", "permute", "broadcast", "reshape", "reshape", "window"])
    if action == "index":
        checked.index(random_key(rng, sizes))
    elif action == "permute":
        checked.permute(tuple(rng.sample(range(len(sizes)), len(sizes))))
    elif action == "broadcast" and checked.desc.numel < 200:
        extra = [rng.randint(1, 3) for _ in range(rng.randint(0, min(2, 8 - len(sizes))))]
        checked.broadcast_to((*extra, *(rng.choice([1, 2, 3, 0]) if size == 1 else size for size in sizes)))
    elif action == "reshape":
        checked.reshape(random_factors(rng, checked.desc.numel) if checked.desc.numel else (3, 0))
    elif action == "window" and sizes and checked.desc.numel:
        windows = [sorted(rng.sample(range(size + 1), 2)) for size in sizes]
        spans = [stop - start for start, stop in windows]
        strides = [rng.choice([1, 2, 3, -1, -2, -3]) for _ in sizes]
        most = [1 + (span - 1) // abs(stride) for span, stride in zip(spans, strides, strict=True)]
        checked.window([start for start, _ in windows], spans, strides, [rng.randint(1, count) for count in most])


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_views_agree_with_numpy(seed):
    rng = random.Random(seed)
    for _ in range(250):
        checked = CheckingDesc(random_desc(rng))
        checked.check()
        for _ in range(rng.randint(1, 8)):
            step(rng, checked)


def test_the_checker_notices_an_offset_that_is_wrong_by_one():
    checked = CheckingDesc(TensorDesc("f32", (2, 3)))
    with pytest.raises(AssertionError):
        checked.apply("wrong", TensorDesc("f32", (2, 3), offset=1), checked.array)


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
        ((3,), "sizes (3,) have fewer axes than 2, for f32[2,1]{1,0}"),
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
