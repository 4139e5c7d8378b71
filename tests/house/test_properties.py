"""Random problems against numpy: ranks, sizes, strides, windows and types, every byte of every buffer compared.

The examples are the same in every run. RESTRIDE_TEST_FULL=1 runs ten times as many.
"""

from __future__ import annotations

from math import gcd

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from support.sampled import FULL

import restride as rs
from restride.dtypes import DTYPES, DType
from restride.reference.memory import element_bytes
from restride.reference.resample import LINEAR_TYPES
from restride_conformance import fill

GUARD = 64  # bytes on both sides of a destination; whole elements of every type
MOST_ELEMENTS = 3000
FACTOR = 10 if FULL else 1

# Per runtime and unit of FACTOR. Both runtimes together pass 2,000 by far.
COPIES, WINDOWS, RESAMPLES, CHAINS = 400, 200, 300, 250


def examples(count: int) -> settings:
    return settings(
        max_examples=count * FACTOR,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


SIZES = (3, 1, 2, 4, 5, 7, 8, 12, 16, 17, 33, 64)
element_types = st.sampled_from(list(DTYPES.values()))


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def assert_same(actual: np.ndarray, expected: np.ndarray) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(bits(actual), bits(expected))


@st.composite
def shapes(draw):
    """Sizes of up to 8 axes and at most MOST_ELEMENTS elements, rarely none."""
    shape, numel = [], 1
    for _ in range(draw(st.integers(0, 8))):
        fitting = [size for size in SIZES if numel * size <= MOST_ELEMENTS]
        size = 0 if draw(rarely) else draw(st.sampled_from(fitting))
        numel *= max(size, 1)
        shape.append(size)
    return tuple(draw(st.permutations(shape)))


rarely = st.integers(0, 39).map(lambda number: number == 23)


@st.composite
def slices(draw, size):
    """A slice of an axis that takes something, and now and then any slice at all."""
    if draw(rarely) or not size:
        end = st.one_of(st.none(), st.integers(-size - 1, size + 1))
        return slice(draw(end), draw(end), draw(st.sampled_from([None, 1, 2, 3, -1, -2, -5])))
    step = draw(st.sampled_from([1, 2, 3, -1, -2, -5, None]))
    if draw(st.booleans()):
        return slice(None, None, step)
    stride = abs(step or 1)
    count = draw(st.integers(1, 1 + (size - 1) // stride))
    span = 1 + (count - 1) * stride
    first = draw(st.integers(0, size - span))
    if step is None or step > 0:
        return slice(first, first + span, step)
    return slice(first + span - 1, first - 1 if first else None, step)


@st.composite
def indices(draw, shape):
    """A basic index: integers, slices, new axes, an Ellipsis."""
    key = []
    used = draw(st.integers(0, len(shape)))
    new_axes = draw(st.integers(0, max(0, min(2, 8 - len(shape)))))
    for size in shape[:used]:
        integer = size > 0 and draw(st.integers(0, 9)) == 7
        key.append(draw(st.integers(-size, size - 1)) if integer else draw(slices(size)))
    for _ in range(new_axes):
        key.insert(draw(st.integers(0, len(key))), None)
    if draw(st.booleans()):
        key.append(Ellipsis)
    return tuple(key)


@st.composite
def broadcasts(draw, shape):
    """Sizes that ``shape`` broadcasts to."""
    target = [draw(st.sampled_from([1, 2, 3])) if size == 1 else size for size in shape]
    leading = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=min(2, 8 - len(shape))))
    target = [*leading, *target]
    return tuple(target) if np.prod(target, dtype=object) <= MOST_ELEMENTS else tuple(shape)


@st.composite
def arrays(draw, dtype):
    """A numpy array of any bits and any strides: a packed one, seen through up to four views."""
    shape = draw(shapes())
    base = fill.bits(dtype, int(np.prod(shape)), draw(st.integers(0, 99))).reshape(shape)
    if draw(st.integers(0, 7)) == 5:
        # A field of a packed record: strides that are no multiples of the element.
        records = np.zeros(shape, np.dtype([("before", "u1", draw(st.integers(1, 3))), ("field", dtype.dtype)]))
        records["field"] = base
        base = records["field"]
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["index", "index", "permute", "broadcast"]))
        if kind == "index":
            base = base[draw(indices(base.shape))]
        elif kind == "permute":
            base = base.transpose(draw(st.permutations(range(base.ndim))))
        else:
            base = np.broadcast_to(base, draw(broadcasts(base.shape)))
        if not isinstance(base, np.ndarray):
            base = np.asarray(base)
    return base


@st.composite
def destinations(draw, dtype, shape):
    """A legal destination after a guard: packed, padded, backwards or interleaved."""
    order = sorted(draw(st.permutations(range(len(shape)))), key=lambda axis: shape[axis] < 2)
    strides = [0] * len(shape)
    step = draw(st.sampled_from([1, 1, 1, 2, 3]))
    if draw(st.integers(0, 5)) == 3 and sum(size > 1 for size in shape) > 1:
        # i * q + j * p with p and q coprime meets a place again only after p steps of i: sizes 4, 9, strides 3, 5.
        inner, outer, *order = order
        p = shape[inner] + draw(st.integers(0, 3))
        q = draw(st.sampled_from([q for q in range(1, p + 1) if gcd(p, q) == 1]))
        strides[inner], strides[outer] = step * q, step * p
        reach = (shape[inner] - 1) * strides[inner] + (shape[outer] - 1) * strides[outer]
        step += reach
    for axis in order:
        strides[axis] = step
        step = step * max(shape[axis], 1) + draw(st.sampled_from([0, 0, 0, 1, 4, 5]))
    strides = [stride * draw(st.sampled_from([1, 1, 1, -1])) for stride in strides]
    below = -sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if stride < 0)
    offset = GUARD // dtype.itemsize + max(below, 0) + draw(st.integers(0, 5))
    return rs.TensorDesc(dtype, shape, strides, offset)


def poisoned(desc: rs.TensorDesc, device: rs.Device) -> rs.Tensor:
    return rs.from_buffer(fill.poison(max(desc.nbytes, GUARD) + GUARD), desc, device)


def assert_holds(out: rs.Tensor, expected: np.ndarray) -> None:
    """The elements are those of ``expected``, and every other byte is still poison."""
    before = fill.poison(out.memory.nbytes)
    before[element_bytes(out.desc).reshape(-1)] = np.ascontiguousarray(expected).reshape(-1).view(np.uint8)
    np.testing.assert_array_equal(out.buffer(), before)


def copied(x: np.ndarray, desc: rs.TensorDesc, device: rs.Device) -> rs.Tensor:
    """A reorder of ``x`` into a poisoned destination, checked with the source's bytes."""
    source = rs.asarray(x, device=device)
    before = source.buffer()
    out = poisoned(desc, device)
    assert rs.reorder(source, out=out) is out
    assert_holds(out, x)
    np.testing.assert_array_equal(source.buffer(), before)
    return out


@examples(COPIES)
@given(data=st.data(), dtype=element_types)
def test_copies(data, dtype, device):
    x = data.draw(arrays(dtype))
    desc = data.draw(destinations(dtype, x.shape))
    note(f"{desc} on {device}, from strides {x.strides}")
    copied(x, desc, device)


@st.composite
def windows(draw, shape):
    """Offsets, sizes, strides and output sizes that DML_SLICE1 allows."""
    result = []
    for size in shape:
        offset = draw(st.integers(0, size - 1))
        window = draw(st.integers(1, size - offset))
        stride = draw(st.sampled_from([1, 1, -1, 2, -2, 3, -7]))
        most = 1 + (window - 1) // abs(stride)
        result.append((offset, window, stride, draw(st.one_of(st.just(most), st.integers(1, most)))))
    return tuple(zip(*result, strict=True))


@examples(WINDOWS)
@given(data=st.data(), dtype=element_types)
def test_windows(data, dtype, device):
    x = data.draw(arrays(dtype).filter(lambda array: array.ndim > 0 and array.size > 0))
    window = data.draw(windows(x.shape))
    offsets, spans, strides, output_sizes = window
    note(f"{window} on {device}")
    expected = x[
        tuple(
            slice(offset, offset + span, stride) if stride > 0 else slice(offset, offset + span)
            for offset, span, stride in zip(offsets, spans, strides, strict=True)
        )
    ]
    expected = expected[tuple(slice(None, None, min(stride, 1) if stride > 0 else stride) for stride in strides)]
    expected = expected[tuple(slice(0, size) for size in output_sizes)]
    view = rs.strided_slice(rs.asarray(x, device=device), *window)
    assert_same(view.numpy(), expected)
    out = poisoned(data.draw(destinations(dtype, expected.shape)), device)
    rs.strided_slice(x, *window, out=out)
    assert_holds(out, expected)


@st.composite
def resizes(draw, shape):
    """New sizes for some axes that have elements: mode-independent arguments of resample."""
    able = [axis for axis, size in enumerate(shape) if size > 0]
    axes = draw(st.lists(st.sampled_from(able), unique=True, min_size=1, max_size=4)) if able else []
    target, numel = [], int(np.prod(shape))
    for axis in axes:
        size = 0 if draw(rarely) else draw(st.sampled_from([3, 1, 2, 4, 5, 7, 9, 13, 31, 64, shape[axis]]))
        numel = numel // shape[axis] * max(size, 1)
        if numel > MOST_ELEMENTS:
            numel, size = numel // size, 1
        target.append(size)
    named = [axis - len(shape) if draw(st.booleans()) else axis for axis in axes]
    return tuple(target), tuple(named)


def numbers(x: np.ndarray, dtype: DType, seed: int) -> np.ndarray:
    """Finite values in an array with the sizes, but not the strides, of ``x``."""
    return fill.numbers(dtype, x.size, seed).reshape(x.shape)


def resampled(x: np.ndarray, resize: tuple, mode: str, desc: rs.TensorDesc, device: rs.Device) -> rs.Tensor:
    """A resample into a poisoned destination, checked against the reference."""
    target, axes = resize
    source = rs.asarray(x, device=device)
    before = source.buffer()
    out = poisoned(desc, device)
    rs.resample(source, target, axes=axes, mode=mode, out=out)
    elements = rs.reference.from_buffer(out.buffer(), desc)
    if mode == "nearest":
        assert_same(elements, rs.reference.resample(x, target, axes=axes, mode=mode))
    else:
        lowest, highest = rs.reference.resample_limits(x, target, axes=axes, mode=mode)
        wide = np.int64 if x.dtype.kind in "iu" else np.float64
        low, value, high = (each.astype(wide) for each in (lowest, elements, highest))
        wrong = np.argwhere((value < low) | (value > high))
        assert not len(wrong), f"{wrong[0]}: {elements[tuple(wrong[0])]} outside {lowest[tuple(wrong[0])]}"
    assert_holds(out, elements)
    np.testing.assert_array_equal(source.buffer(), before)
    return out


@st.composite
def resamples(draw):
    mode = draw(st.sampled_from(["nearest", "linear"]))
    dtype = draw(element_types) if mode == "nearest" else DTYPES[draw(st.sampled_from(LINEAR_TYPES))]
    x = draw(arrays(dtype))
    if mode == "linear":
        # The values are replaced, the strides kept.
        values = numbers(x, dtype, draw(st.integers(0, 9)))
        if x.flags.writeable and 0 not in x.strides:
            x[...] = values
        else:
            x = values
    resize = draw(resizes(x.shape))
    target = list(x.shape)
    for size, axis in zip(*resize, strict=True):
        target[axis] = size
    return x, resize, mode, draw(destinations(dtype, tuple(target)))


@examples(RESAMPLES)
@given(problem=resamples())
def test_resamples(problem, device):
    x, resize, mode, desc = problem
    note(f"{mode} {x.dtype}{x.shape} strides {x.strides} to {resize} in {desc} on {device}")
    resampled(x, resize, mode, desc, device)


class Chain:
    """The same steps on a numpy array and on a tensor."""

    def __init__(self, draw, x: np.ndarray, device: rs.Device) -> None:
        self.draw = draw
        self.array = x
        self.tensor = rs.asarray(x, device=device)
        self.device = device

    def step(self) -> None:
        kinds = ["index", "index", "permute", "broadcast", "reshape", "window", "layout", "letters", "resample", "host"]
        kind = self.draw(st.sampled_from(kinds))
        note(f"{kind} of {self.tensor.desc}")
        getattr(self, kind)()

    def index(self) -> None:
        key = self.draw(indices(self.array.shape))
        self.array, self.tensor = np.asarray(self.array[key]), self.tensor[key]

    def permute(self) -> None:
        order = self.draw(st.permutations(range(self.array.ndim)))
        self.array, self.tensor = self.array.transpose(order), self.tensor.permute(order)

    def broadcast(self) -> None:
        shape = self.draw(broadcasts(self.array.shape))
        self.array, self.tensor = np.broadcast_to(self.array, shape), self.tensor.broadcast_to(shape)

    def reshape(self) -> None:
        shape = self.draw(st.sampled_from([(-1,), (1, -1), (-1, 1, 1)])) if self.array.size else (0,)
        try:
            self.tensor = self.tensor.reshape(shape)
        except rs.DescriptorError:
            self.tensor = rs.reorder(self.tensor).reshape(shape)
        self.array = self.array.reshape(shape)

    def window(self) -> None:
        if not self.array.size or not self.array.ndim:
            return
        window = self.draw(windows(self.array.shape))
        self.array = rs.reference.strided_slice(self.array, *window)
        self.tensor = rs.strided_slice(self.tensor, *window)

    def layout(self) -> None:
        order = self.draw(st.permutations(range(self.array.ndim)))
        layout = rs.TensorDesc.xla(self.tensor.dtype, self.array.shape, order)
        self.tensor = rs.reorder(self.tensor, layout if self.draw(st.booleans()) else str(layout))
        assert self.tensor.desc == layout

    def letters(self) -> None:
        before = "QRSTUVWX"[: self.array.ndim]
        order = self.draw(st.permutations(range(self.array.ndim)))
        if before:
            after = "".join(before[axis] for axis in order)
            self.array, self.tensor = self.array.transpose(order), rs.reorder(self.tensor, f"{before}->{after}")

    def resample(self) -> None:
        target, axes = self.draw(resizes(self.array.shape))
        self.array = rs.reference.resample(self.array, target, axes=axes, mode="nearest")
        self.tensor = rs.resample(self.tensor, target, axes=axes, mode="nearest")

    def host(self) -> None:
        desc = self.draw(destinations(self.tensor.dtype, self.array.shape))
        self.tensor = rs.asarray(self.tensor.numpy(), desc, self.device)


@examples(CHAINS)
@given(data=st.data(), dtype=element_types)
def test_chains(data, dtype, device):
    chain = Chain(data.draw, data.draw(arrays(dtype)), device)
    for _ in range(data.draw(st.integers(1, 6))):
        chain.step()
        assert chain.tensor.sizes == chain.array.shape
    assert_same(chain.tensor.numpy(), chain.array)
