"""Rows: what they read of a source, their transpose, and long rows in parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.positions import matrix, one_axis

from restride.request import AREA_MODES, COORDINATES, MODES
from restride.weights import MAX_TAPS


def test_outputs_that_read_outside_the_source_are_known():
    # 0.5 to 1.5 of an axis of 5: reads at 2, 3, 4, 5, 6.
    rows = one_axis(5, 5, coordinates="tf_crop_and_resize", roi=(0.5, 1.5))
    assert rows.inside == range(3)
    assert one_axis(5, 5, coordinates="tf_crop_and_resize", roi=(1.5, 0.5)).inside == range(2, 5)
    assert one_axis(5, 1, coordinates="tf_crop_and_resize", roi=(2, 3)).inside == range(0)
    assert one_axis(5, 4, coordinates="tf_crop_and_resize", roi=(0.5, 0.5)).inside == range(4)


@pytest.mark.parametrize("mode", MODES)
def test_the_transpose_has_the_weights_of_the_matrix(mode):
    choices = [{}] if mode in AREA_MODES else [{"coordinates": rule} for rule in COORDINATES[:-1]]
    choices += [
        {"coordinates": "tf_crop_and_resize", "roi": roi} for roi in ((1.2, -0.3), (0.1, 0.7)) if mode not in AREA_MODES
    ]
    choices += [{"antialias": True, "exclude_outside": True}] if mode in ("linear", "cubic") else []
    for choice in choices:
        for i, n in [(1, 1), (1, 30), (30, 1), (5, 7), (7, 5), (4, 13), (13, 4)]:
            rows = one_axis(i, n, mode=mode, **choice)
            forward = matrix(rows)
            outside = [o for o in range(n) if rows.inside is not None and o not in rows.inside]
            forward[outside] = 0
            assert (matrix(rows.transposed()) == forward.T).all(), (choice, i, n)
            assert rows.transposed().transposed() == rows


def test_long_rows_go_in_parts_that_a_window_shares():
    for rows in (one_axis(70_000, 3, mode="area"), one_axis(1, 70_000).transposed()):
        parts, sums = rows.split()
        assert (parts.taps, parts.size) == (MAX_TAPS, sums.source_size)
        many = parts.size // rows.size
        whole = np.zeros((rows.size, rows.source_size), np.float32)
        for row in range(parts.size):
            (first,), (weights,) = parts.part(row, 1).first_and_weights()
            assert 0 <= first <= rows.source_size - MAX_TAPS
            whole[row // many, first : first + MAX_TAPS] += weights
        assert (whole == matrix(rows)).all()
        assert (matrix(sums) == np.kron(np.eye(rows.size), np.ones((1, many)))).all()


def test_a_window_of_the_source_is_what_its_rows_read():
    rows = one_axis(20, 7, antialias=True)
    for start in range(7):
        for stop in range(start, 8):
            part = rows.part(start, stop - start)
            read = part.span
            used = np.flatnonzero(matrix(rows)[start:stop].any(axis=0))
            assert not len(used) or (read.start <= used[0] and used[-1] < read.stop)
            assert not part.count or replace(part, origin=read.start).reads() == (0, len(read) - 1)
