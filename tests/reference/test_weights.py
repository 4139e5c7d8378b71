"""The reference's weights against numbers by hand: every mode, edge and window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.reference_matrix import matrix

from restride.reference import resample
from restride.reference.weights import MODES


class TestWeights:
    @pytest.mark.parametrize(
        ("arguments", "row"),
        [
            ({"mode": "linear"}, [1 / 2, 1 / 2, 0, 0]),
            ({"mode": "linear", "antialias": True}, [1 / 2, 3 / 8, 1 / 8, 0]),
            ({"mode": "linear", "antialias": True, "exclude_outside": True}, [3 / 7, 3 / 7, 1 / 7, 0]),
            ({"mode": "cubic"}, [16 / 32, 19 / 32, -3 / 32, 0]),
            ({"mode": "cubic", "exclude_outside": True}, [19 / 35, 19 / 35, -3 / 35, 0]),
            ({"mode": "cubic", "cubic_a": -0.5}, [8 / 16, 9 / 16, -1 / 16, 0]),
            ({"mode": "area"}, [1 / 2, 1 / 2, 0, 0]),
            ({"mode": "area_weighted"}, [1 / 2, 1 / 2, 0, 0]),
        ],
    )
    def test_halving_by_hand(self, arguments: dict[str, Any], row: list[float]) -> None:
        """4 -> 2 reads at 1/2; what lies left of index 0 counts for index 0. The other row mirrors it."""
        expected = np.array([row, row[::-1]]).astype(np.float32)
        np.testing.assert_array_equal(matrix(4, sizes=[2], **arguments), expected)

    def test_cubic_far_from_the_edges(self) -> None:
        np.testing.assert_array_equal(matrix(8, sizes=[4], mode="cubic")[1, 1:5] * 32, [-3, 19, 19, -3])

    def test_antialias_widens_by_the_scale_given(self) -> None:
        """4 * 0.6 makes 2, at 1/3: (1 - |j - 1/3| * 0.6) of -1, 0, 1 are 0.2, 0.8, 0.6; their sum is 1.6."""
        first = matrix(4, scales=[0.6], antialias=True)[0]
        assert first.tolist() == pytest.approx([1 / 1.6, 0.6 / 1.6, 0, 0], rel=1e-7)
        by_sizes = matrix(4, scales=[0.6], recompute_scale_factor=True, antialias=True)
        np.testing.assert_array_equal(by_sizes, matrix(4, sizes=[2], antialias=True))

    def test_antialias_leaves_what_grows(self) -> None:
        for mode in ("linear", "cubic"):
            np.testing.assert_array_equal(
                matrix(5, sizes=[8], mode=mode, antialias=True), matrix(5, sizes=[8], mode=mode)
            )

    def test_area_covers_parts_of_elements(self) -> None:
        thirds = np.array([[3, 3, 0, 0, 0], [0, 2, 2, 2, 0], [0, 0, 0, 3, 3]]) / 6
        np.testing.assert_array_equal(matrix(5, sizes=[3], mode="area"), thirds.astype(np.float32))
        np.testing.assert_array_equal(matrix(5, scales=[0.7], mode="area"), thirds.astype(np.float32))

    def test_area_weighted_has_the_parts_that_are_covered(self) -> None:
        assert (
            resample(np.arange(5, dtype=np.float32), [2], mode="area_weighted").tolist()
            == np.float32([0.8, 3.2]).tolist()
        )
        fifths = np.array([[3, 2, 0, 0, 0], [0, 1, 3, 1, 0], [0, 0, 0, 2, 3]]) / 5
        np.testing.assert_array_equal(matrix(5, sizes=[3], mode="area_weighted"), fifths.astype(np.float32))
        grown = np.array([[2, 0], [1, 1], [0, 2]]) / 2
        np.testing.assert_array_equal(matrix(2, sizes=[3], mode="area_weighted"), grown.astype(np.float32))

    def test_nothing_inside_is_the_edge(self) -> None:
        for mode in ("linear", "cubic"):
            arguments: dict[str, Any] = {"sizes": [3], "mode": mode, "exclude_outside": True}
            assert matrix(3, **arguments, input_offsets=[9]).tolist() == [[1, 0, 0]] * 3
            assert matrix(3, **arguments, input_offsets=[-9]).tolist() == [[0, 0, 1]] * 3

    @pytest.mark.parametrize(
        ("mode", "antialias"),
        [
            ("linear", False),
            ("linear", True),
            ("cubic", False),
            ("cubic", True),
            ("area", False),
            ("area_weighted", False),
        ],
    )
    def test_weights_add_up_to_one(self, mode: str, antialias: bool) -> None:
        for made in (1, 2, 3, 7, 16, 33):
            rows = matrix(9, sizes=[made], mode=mode, antialias=antialias).sum(axis=1, dtype=np.float64)
            np.testing.assert_allclose(rows, 1, rtol=1e-6)

    def test_many_taps_and_large_images(self) -> None:
        x = np.random.default_rng(1).standard_normal((2, 70_000)).astype(np.float32)
        mean = x.mean(axis=1, dtype=np.float64, keepdims=True)
        np.testing.assert_allclose(resample(x, [1], mode="area", dtype="f64"), mean, rtol=1e-9)
        assert (resample(x[:, :1], [70_000]) == x[:, :1]).all()
        assert resample(np.ones((1080, 1920), np.uint8), (224, 224), antialias=True, exclude_outside=True).min() == 1


class TestWindows:
    @pytest.mark.parametrize("mode", MODES)
    def test_a_window_is_that_part_of_the_whole(self, mode: str) -> None:
        x = np.random.default_rng(2).standard_normal((7, 3, 9)).astype(np.float32)
        whole = resample(x, (5, 20), axes=(0, 2), mode=mode)
        part = resample(x, (5, 20), axes=(0, 2), mode=mode, window=[slice(1, 4), slice(3, 17)])
        assert part.tobytes() == whole[1:4, :, 3:17].tobytes()
        assert resample(x, (5,), axes=(0,), mode=mode, window=slice(2, 2)).shape == (0, 3, 9)
        assert resample(x, (5, 20), axes=(2, 0), mode=mode, window=[None, slice(3, None)]).shape == (17, 3, 5)

    def test_arithmetic_is_that_of_the_window(self) -> None:
        scale = np.arange(1, 5, dtype=np.float32)
        x = np.arange(10, dtype=np.float32)
        assert resample(x, [10], window=[slice(2, 6)], src_scale=scale).tolist() == [2, 6, 12, 20]
