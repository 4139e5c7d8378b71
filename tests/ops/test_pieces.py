"""Tensors made of pieces: a dispatch a piece, and elements of every type bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from support.tensors import Costs, assert_equal

import restride as rs
from restride import xp

A = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
# With the dispatches that each may take.
COPIES = {
    "reshape": (lambda t: xp.reshape(xp.flip(t), (24,)), lambda a: np.flip(a).reshape(24), 0),
    "reshape of permuted": (lambda t: xp.reshape(t.T, (-1,)), lambda a: a.T.reshape(-1), 1),
    "concat": (lambda t: xp.concat([t, t[:, ::-1]], axis=1), lambda a: np.concatenate([a, a[:, ::-1]], axis=1), 2),
    "concat flat": (lambda t: xp.concat((t, t[0]), axis=None), lambda a: np.concatenate((a, a[0]), axis=None), 2),
    "stack": (lambda t: xp.stack([t, t, t], axis=-1), lambda a: np.stack([a, a, a], axis=-1), 3),
    "roll": (lambda t: xp.roll(t, -5), lambda a: np.roll(a, -5), 2),
    "roll of two": (lambda t: xp.roll(t, (1, 7), axis=(1, 2)), lambda a: np.roll(a, (1, 7), axis=(1, 2)), 4),
    "roll of one axis twice": (
        lambda t: xp.roll(t, (1, 1), axis=(1, -2)),
        lambda a: np.roll(a, (1, 1), axis=(1, 1)),
        2,
    ),
    "roll by a vector": (
        lambda t: xp.roll(t, np.array([1, 2]), axis=np.array([0, 2])),
        lambda a: np.roll(a, (1, 2), axis=(0, 2)),
        4,
    ),
    "roll by numpy's number": (lambda t: xp.roll(t, np.array(3)), lambda a: np.roll(a, 3), 2),
    "roll by all": (lambda t: xp.roll(t, 3, axis=1), lambda a: np.roll(a, 3, axis=1), 1),
    "repeat": (lambda t: xp.repeat(t, 3, axis=1), lambda a: a.repeat(3, axis=1), 1),
    "repeat flat": (lambda t: xp.repeat(t, 2), lambda a: a.repeat(2), 1),
    "repeat by an array of one": (lambda t: xp.repeat(t, np.array([3]), axis=1), lambda a: a.repeat([3], axis=1), 1),
    "repeat by a tensor": (lambda t: xp.repeat(t, t[0, 0, 2], axis=1), lambda a: a.repeat(2, axis=1), 1),
    "repeat of eight axes": (
        lambda t: xp.repeat(t[None, None, None, None, None], 2, axis=-1),
        lambda a: a[None, None, None, None, None].repeat(2, axis=-1),
        1,
    ),
    "repeat each": (lambda t: xp.repeat(t, [2, 0, 3], axis=-2), lambda a: a.repeat([2, 0, 3], axis=-2), 1),
    "tile": (lambda t: xp.tile(t, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3)), 1),
    "tile of more axes": (lambda t: xp.tile(t, (2, 1, 1, 2)), lambda a: np.tile(a, (2, 1, 1, 2)), 1),
    "tile of fewer axes": (lambda t: xp.tile(t, (2,)), lambda a: np.tile(a, 2), 1),
    "tile of eight": (
        lambda t: xp.tile(t[None, None, None, None, None], (2, 1, 2, 1, 2, 2, 2, 2)),
        lambda a: np.tile(a[None, None, None, None, None], (2, 1, 2, 1, 2, 2, 2, 2)),
        2,
    ),
    "take": (lambda t: xp.take(t, [2, 0, 0, -1], axis=1), lambda a: a.take([2, 0, 0, -1], axis=1), 1),
    "take of a view": (lambda t: xp.take(t.T[::-1], [3, 0], axis=0), lambda a: a.T[::-1].take([3, 0], axis=0), 1),
    "take none": (lambda t: xp.take(t, [], axis=0), lambda a: a.take([], axis=0), 0),
    "take_along_axis": (
        lambda t: xp.take_along_axis(t.T[::-1], np.array([[[1], [0]], [[0], [-1]]]).reshape(1, 2, 2), axis=1),
        lambda a: np.take_along_axis(a.T[::-1], np.array([[[1], [0]], [[0], [-1]]]).reshape(1, 2, 2), axis=1),
        1,
    ),
    "take_along_axis of one row": (
        lambda t: xp.take_along_axis(t[:1, 1:], np.array([[[3, 0, 3, 1, 2]]] * 5)),
        lambda a: np.take_along_axis(a[:1, 1:], np.array([[[3, 0, 3, 1, 2]]] * 5), -1),
        1,
    ),
    "take_along_axis of none": (
        lambda t: xp.take_along_axis(t[:, :0], np.zeros((1, 0, 3), int), axis=2),
        lambda a: np.take_along_axis(a[:, :0], np.zeros((1, 0, 3), int), axis=2),
        0,
    ),
    "pad constant": (
        lambda t: xp.pad(t[:, ::-1], ((1, 0), (0, 2), (3, 1)), constant_values=-7),
        lambda a: np.pad(a[:, ::-1], ((1, 0), (0, 2), (3, 1)), constant_values=-7),
        1,
    ),
    **{
        f"pad {mode}": (
            lambda t, mode=mode: xp.pad(t[:, ::-1], ((1, 0), (0, 5), (9, 1)), mode),
            lambda a, mode=mode: np.pad(a[:, ::-1], ((1, 0), (0, 5), (9, 1)), mode),
            1,
        )
        for mode in ("edge", "reflect", "wrap")
    },
    "pad symmetric, by a take": (
        lambda t: xp.take(t, np.pad(np.arange(3), 2, "symmetric"), axis=1),
        lambda a: np.pad(a, ((0, 0), (2, 2), (0, 0)), "symmetric"),
        1,
    ),
    "pad nothing": (lambda t: xp.pad(t, 0, "edge"), lambda a: a, 1),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_cost_a_dispatch_a_piece(name, device):
    ours, theirs, most = COPIES[name]
    tensor = rs.asarray(A, device=device)
    costs = Costs(device)
    result = ours(tensor)
    assert costs().dispatches <= most
    assert_equal(result.numpy(), theirs(A))
