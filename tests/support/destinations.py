"""Destinations whose bytes are set before an operation writes, and results that are equal."""

from __future__ import annotations

import numpy as np

import restride as rs

POISON = 0xA5


def poisoned(desc: rs.TensorDesc | str, device: rs.Device) -> rs.Tensor:
    desc = rs.TensorDesc.parse(desc) if isinstance(desc, str) else desc
    return rs.from_buffer(np.full(desc.nbytes + 16, POISON, np.uint8), desc, device)


def assert_equal(actual: rs.Tensor, expected: np.ndarray) -> None:
    array = actual.numpy()
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    np.testing.assert_array_equal(array, expected)
