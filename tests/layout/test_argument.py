"""What ``layout=`` accepts: names, arrows, letters, texts and descriptors, each with the memory that it gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.destinations import assert_equal

import restride as rs


def test_a_name_changes_memory_only(device):
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    result = rs.reorder(rs.asarray(x, device=device), "NHWC")
    assert result.sizes == (2, 3, 4, 5)
    assert result.desc.strides == (60, 1, 15, 3)
    assert_equal(result, x)
    np.testing.assert_array_equal(result.buffer().view(np.float32), x.transpose(0, 2, 3, 1).ravel())


@pytest.mark.parametrize("name", ["NCHW", "NHWC", "CHWN", "HWCN", "NCWH"])
def test_every_name_gives_its_memory_order(name, device):
    x = np.arange(120, dtype=np.int16).reshape(2, 3, 4, 5)
    result = rs.reorder(rs.asarray(x, device=device), name)
    in_memory = x.transpose(["NCHW".index(letter) for letter in name])
    np.testing.assert_array_equal(result.buffer().view(np.int16), in_memory.ravel())


def test_names_of_other_ranks(device):
    volume = np.arange(2 * 3 * 2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 2, 3, 4)
    result = rs.reorder(rs.asarray(volume, device=device), "NDHWC")
    np.testing.assert_array_equal(result.buffer(), volume.transpose(0, 2, 3, 4, 1).ravel())
    image = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
    result = rs.reorder(rs.asarray(image, device=device), "HWC")
    np.testing.assert_array_equal(result.buffer(), image.transpose(1, 2, 0).ravel())
    row = np.arange(8, dtype=np.uint8)
    assert_equal(rs.reorder(rs.asarray(row, device=device), "W"), row)


def test_any_letters_in_any_order(device):
    x = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    tensor = rs.asarray(x, device=device)
    for order in itertools.permutations(range(3)):
        after = "".join("xYz"[axis] for axis in order)
        assert_equal(rs.reorder(tensor, f"xYz->{after}"), x.transpose(order))
    wide = x.reshape(1, 2, 1, 3, 1, 2, 2, 1)
    order = (5, 3, 7, 6, 1, 0, 2, 4)
    after = "".join("abcdefgh"[axis] for axis in order)
    assert_equal(rs.reorder(rs.asarray(wide, device=device), f"abcdefgh -> {after}"), wide.transpose(order))
