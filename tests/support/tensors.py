"""Helps for tests of tensors: a device's counters since a moment, equality of arrays, and a producer of DLPack."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

import restride as rs
from restride.runtime import Counters


class Costs:
    """A device's counters since this was created: ``costs().dispatches``."""

    def __init__(self, device: rs.Device) -> None:
        self.device = device
        self.before = astuple(device.counters())

    def __call__(self) -> Counters:
        return Counters(*(after - b for after, b in zip(astuple(self.device.counters()), self.before, strict=True)))


def assert_equal(actual: np.ndarray, expected: np.ndarray) -> None:
    assert isinstance(actual, np.ndarray)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


class FromDLPack:
    """A producer with only DLPack's methods."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
