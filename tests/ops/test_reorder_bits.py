"""Copies keep every bit of every element type: all patterns of the narrow ones, 10^6 words of the wide ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import restride as rs
from restride.dtypes import DTYPES
from restride_conformance import fill

WIDE_COUNT = 1_000_000
F32_EDGES = (0x80000000, 0x00000001, 0x807FFFFF, 0x7F800000, 0xFF800000, 0x7FC12345, 0x7F800001, 0xFFA54321, 0x7F7FFFFF)
F64_EDGES = (1 << 63, 1, (1 << 52) - 1, 0x7FF << 52, 0xFFF << 52, 0x7FF8000012345678, (0x7FF << 52) | 1)

all_types = pytest.mark.parametrize("name", DTYPES)


@cache
def patterns(name: str) -> np.ndarray:
    """A matrix, 3 to 2 in shape, whose elements hold the bit patterns; an odd row length, so rows cross words.

    One byte: all 256, three times. Two bytes: all 65,536, one and a half times. Wider: 10^6 random words, after edges.
    """
    dtype = DTYPES[name].dtype
    generator = np.random.default_rng(1)
    if dtype.itemsize <= 2:
        every = np.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}")
        words = np.concatenate([generator.permutation(every), every, every[::-1]])
    else:
        words = generator.integers(0, 1 << 8 * dtype.itemsize, WIDE_COUNT, f"u{dtype.itemsize}", endpoint=False)
        edges = F32_EDGES if dtype.itemsize == 4 else F64_EDGES
        words[: len(edges)] = edges
    columns = int(len(words) ** 0.5) | 1
    rows = -(-len(words) // columns)
    matrix = np.resize(words, rows * columns).reshape(rows, columns).view(dtype)
    matrix.flags.writeable = False
    return matrix


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def assert_same_bits(tensor: rs.Tensor, expected: np.ndarray) -> None:
    assert tensor.sizes == expected.shape
    assert tensor.dtype == expected.dtype
    np.testing.assert_array_equal(bits(tensor.numpy()), bits(expected))


@all_types
def test_patterns_are_complete(name):
    words = bits(patterns(name)).ravel()
    if words.itemsize <= 2:
        assert len(np.unique(words)) == 1 << 8 * words.itemsize
    else:
        assert len(np.unique(words)) >= 0.999 * WIDE_COUNT
    if DTYPES[name].is_float:
        with np.errstate(invalid="ignore"):
            assert np.isnan(patterns(name)).any()


@all_types
def test_to_the_device_and_back(name, device):
    assert_same_bits(rs.asarray(patterns(name), device=device), patterns(name))


@all_types
def test_slice_forward_and_backward(name, device):
    x = patterns(name)
    tensor = rs.asarray(x, device=device)
    rows, columns = x.shape
    assert_same_bits(tensor[::-1, ::-1], x[::-1, ::-1])
    both_parities = [rs.strided_slice(tensor, (0, first), (rows, columns - first), (1, 2)) for first in (0, 1)]
    assert_same_bits(both_parities[0], x[:, ::2])
    assert_same_bits(both_parities[1], x[:, 1::2])
    backwards = rs.strided_slice(tensor, (1, 0), (rows - 1, columns), (-1, -3))
    assert_same_bits(backwards, x[:0:-1, ::-3])


@all_types
def test_transpose(name, device):
    x = patterns(name)
    assert_same_bits(rs.reorder(x, "AB->BA", out=rs.empty(rs.TensorDesc(name, x.T.shape), device)), x.T)


@all_types
def test_permutation_of_three_axes(name, device):
    x = patterns(name)
    x = x[: x.shape[0] // 3 * 3].reshape(3, -1, x.shape[1])
    tensor = rs.asarray(x, device=device)
    assert_same_bits(rs.reorder(tensor, "ABC->CAB"), x.transpose(2, 0, 1))
    assert_same_bits(rs.reorder(tensor.permute(1, 2, 0)), x.transpose(1, 2, 0))


@all_types
def test_padded_destination_keeps_its_padding(name, device):
    x = patterns(name)
    rows, columns = x.shape
    desc = rs.TensorDesc(name, x.shape, (columns + 3, 1), offset=64 // x.itemsize)
    before = fill.poison(desc.nbytes + 64)
    expected = before.copy()
    rows_of_bytes = np.lib.stride_tricks.as_strided(
        expected[64:], (rows, columns * x.itemsize), ((columns + 3) * x.itemsize, 1)
    )
    rows_of_bytes[...] = np.ascontiguousarray(x).view(np.uint8)
    out = rs.from_buffer(before, desc, device)
    rs.reorder(x, out=out)
    np.testing.assert_array_equal(out.buffer(), expected)


@all_types
def test_nearest(name, device):
    x = patterns(name)
    rows, columns = x.shape
    up = np.arange(columns * 3 // 2)
    # roundf(((o + 0.5) * I) / O - 0.5), halves up, in integers.
    index = ((2 * up + 1) * columns) // (2 * len(up))
    assert np.array_equal(np.unique(index), np.arange(columns))
    tensor = rs.asarray(x, device=device)
    assert_same_bits(rs.resample(tensor, (len(up),), mode="nearest"), x[:, index])
    assert_same_bits(rs.resample(tensor[::-1], (rows, columns * 2), mode="nearest"), np.repeat(x[::-1], 2, axis=1))
