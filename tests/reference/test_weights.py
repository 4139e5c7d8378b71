"""The reference's weights against formulas in fractions: every mode, edge and window."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.positions import PAIRS, position, shares, weights_at
from support.reference_matrix import matrix

from restride.reference import resample
from restride.request import AREA_MODES, COORDINATES, MODES


class TestWeights:
    @pytest.mark.parametrize("rule", COORDINATES)
    @pytest.mark.parametrize("mode", ["linear", "cubic"])
    @pytest.mark.parametrize("antialias", [False, True])
    @pytest.mark.parametrize("exclude", [False, True])
    def test_they_are_those_of_the_formula(self, rule: str, mode: str, antialias: bool, exclude: bool) -> None:
        rules: dict[str, Any] = {"mode": mode, "coordinates": rule, "antialias": antialias, "exclude_outside": exclude}
        rules |= {"roi": (0.25, 0.75)} if rule == "tf_crop_and_resize" else {}
        for slope in (-0.75, -0.5) if mode == "cubic" else (-0.75,):
            for i, n in PAIRS:
                shrink = min(Fraction(n, i), Fraction(1)) if antialias else Fraction(1)
                coordinates = [position(rule, o, i, n) for o in range(n)]
                exact = [weights_at(s, i, mode, shrink, exclude, Fraction(slope)) for s in coordinates]
                found = matrix(i, sizes=[n], **rules, **({"cubic_a": slope} if mode == "cubic" else {}))
                assert found.tolist() == np.array(exact, np.float64).astype(np.float32).tolist(), (i, n)

    def test_areas_are_the_shares_of_elements(self) -> None:
        for i, n in itertools.product(range(1, 14), repeat=2):
            exact = shares(i, n)
            assert matrix(i, sizes=[n], mode="area_weighted").tolist() == np.float32(exact).tolist(), (i, n)
            mean = [[float(share > 0) / sum(each > 0 for each in row) for share in row] for row in exact]
            assert matrix(i, sizes=[n], mode="area").tolist() == np.float32(mean).tolist(), (i, n)
        for mode in AREA_MODES:
            assert matrix(5, scales=[0.7], mode=mode).tolist() == matrix(5, sizes=[3], mode=mode).tolist()

    def test_antialias_widens_by_the_scale_given(self) -> None:
        """4 * 0.6 makes 2, at 1/3: (1 - |j - 1/3| * 0.6) of -1, 0, 1 are 0.2, 0.8, 0.6; their sum is 1.6."""
        first = matrix(4, scales=[0.6], antialias=True)[0]
        assert first.tolist() == pytest.approx([1 / 1.6, 0.6 / 1.6, 0, 0], rel=1e-7)
        by_sizes = matrix(4, scales=[0.6], recompute_scale_factor=True, antialias=True)
        np.testing.assert_array_equal(by_sizes, matrix(4, sizes=[2], antialias=True))

    def test_nothing_inside_is_the_edge(self) -> None:
        for mode in ("linear", "cubic"):
            arguments: dict[str, Any] = {"sizes": [3], "mode": mode, "exclude_outside": True}
            assert matrix(3, **arguments, input_offsets=[9]).tolist() == [[1, 0, 0]] * 3
            assert matrix(3, **arguments, input_offsets=[-9]).tolist() == [[0, 0, 1]] * 3

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
