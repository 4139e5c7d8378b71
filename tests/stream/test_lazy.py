"""Lazy arrays: sources of streams, and one chain within the memory."""

from __future__ import annotations

import numpy as np
import pytest
from support.chunked import HALF, VOLUME, Watched, half

import restride as rs


def test_a_lazy_array_is_a_source():
    lazy = rs.LazyArray(VOLUME, HALF)
    result = np.zeros((16, 12, 6), np.uint8)
    rs.stream(lazy, result, rs.Chain().reorder("ZYX->XYZ"), chunks=(5, 5, 5))
    assert np.array_equal(result, half().transpose(2, 1, 0))
    assert np.array_equal(lazy[2, ::-3, 4:], half()[2, ::-3, 4:])
    assert np.array_equal(np.asarray(lazy), half())
    assert np.array_equal(list(lazy), half())
    with pytest.raises(TypeError, match="iteration over a LazyArray without axes"):
        iter(rs.LazyArray(VOLUME, rs.Chain()[0, 0, 0]))


def test_a_stream_of_lazy_arrays_is_one_chain_within_the_memory():
    source = Watched(np.random.default_rng(2).integers(0, 256, (8, 64, 64)).astype(np.uint8))
    frames = rs.LazyArray(rs.LazyArray(source, rs.Chain()[::2]), rs.Chain().resample(scales=(0.5, 0.5), axes=(1, 2)))
    assert (frames.source, frames.shape) == (source, (4, 32, 32))
    result = np.zeros((32, 32, 4), np.uint8)
    done = rs.stream(frames, result, rs.Chain().reorder("ZYX->YXZ"), chunks=(32, 32, 1), memory=40_000)
    assert np.array_equal(result.transpose(2, 0, 1), rs.resample(source.array[::2], (32, 32), axes=(1, 2)).numpy())
    assert source.largest <= done.peak_bytes <= 40_000
    assert done.bytes_read == 4 * 64 * 64
    with pytest.raises(rs.DescriptorError, match="source_dtype 'bf16' is for a source of stored bits"):
        rs.stream(rs.LazyArray(result.astype(np.uint16), rs.Chain()), result, source_dtype="bf16")


def test_a_window_is_computed_of_a_result_whose_weights_are_too_many_at_once():
    large, small = (np.broadcast_to(np.float32(1), (size,)) for size in (1 << 29, 1 << 12))
    shrunk = [
        rs.LazyArray(ones, rs.Chain().resample((ones.size // 2,), mode="cubic", antialias=True))[1000:1010]
        for ones in (large, small)
    ]
    assert np.array_equal(*shrunk)  # far from the ends the weights are the same
    assert shrunk[0].size == 10
