"""take and pad: one dispatch, any view, and the values of numpy."""

from __future__ import annotations

import numpy as np
from support.tensors import Costs, assert_equal

import restride as rs
from restride import xp
from restride.dtypes import DTYPES


def test_a_pad_of_nothing_is_all_value(device):
    for shape in ((0,), (3, 0, 2)):
        costs = Costs(device)
        result = xp.pad(rs.asarray(np.zeros(shape, np.uint16), device=device), 2, constant_values=513)
        assert costs().dispatches <= 1
        assert_equal(result.numpy(), np.pad(np.zeros(shape, np.uint16), 2, constant_values=513))


def test_a_pad_takes_the_values_of_numpy(device):
    for name, value in (("u8", 300), ("s64", 2**53 + 1), ("f32", 1e-40), ("f16", np.inf), ("s16", -1.7), ("f64", -0.0)):
        array = np.ones(3, DTYPES[name].dtype)
        result = xp.pad(rs.asarray(array, device=device), 1, constant_values=value).numpy()
        around = np.asarray(value).astype(array.dtype)
        assert result.tobytes() == np.concatenate([[around], array, [around]]).astype(array.dtype).tobytes()


def test_long_lists_of_indices(device):
    """More than are computed at once, in no order."""
    array = np.arange(40_000, dtype=np.uint16).reshape(20_000, 2)
    index = np.random.default_rng(0).integers(-20_000, 20_000, 30_001)
    costs = Costs(device)
    result = xp.take(rs.asarray(array, device=device), index, axis=0)
    assert costs().dispatches == 1
    assert_equal(result.numpy(), array[index])
