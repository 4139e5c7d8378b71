"""The reference's coordinates against numbers by hand: scales, regions, offsets; test_weights.py has every rule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from restride.reference import resample


def reads(source_size: int, **arguments: Any) -> list[float]:
    """Where each output reads, up to the edges: the elements are their own indices."""
    return resample(np.arange(source_size, dtype=np.float32), **arguments, dtype="f64").tolist()


class TestCoordinates:
    @pytest.mark.parametrize(
        ("rule", "source_size", "arguments", "expected"),
        [
            ("half_pixel", 4, {"scales": [0.6]}, [1 / 3, 2]),
            ("half_pixel_symmetric", 4, {"scales": [0.6]}, [2 / 3, 7 / 3]),  # the centre, 1.5, is the outputs' centre
            ("align_corners", 4, {"scales": [0.6]}, [0, 3 / 1.4]),
            ("align_corners", 4, {"scales": [0.6], "recompute_scale_factor": True}, [0, 3]),
            ("tf_crop_and_resize", 5, {"sizes": [3], "roi": (1, 0)}, [4, 2, 0]),
            ("tf_crop_and_resize", 5, {"sizes": [1], "roi": (0.25, 1)}, [2.5]),
            (
                "tf_crop_and_resize",
                5,
                {"sizes": [5], "roi": (-0.25, 1.25), "extrapolation_value": 9},
                [9, 0.5, 2, 3.5, 9],
            ),
        ],
    )
    def test_scales_and_regions(
        self, rule: str, source_size: int, arguments: dict[str, Any], expected: list[float]
    ) -> None:
        assert reads(source_size, coordinates=rule, **arguments) == pytest.approx(expected, rel=1e-15)

    def test_offsets(self) -> None:
        """DirectML: (o - output_offset) / scale - input_offset; 1/2 and -1/2 are half_pixel."""
        assert (
            reads(8, sizes=[16], input_offsets=[0.5])
            == reads(8, sizes=[16], output_offsets=[-0.5])
            == reads(8, sizes=[16])
        )
        assert reads(8, sizes=[4], input_offsets=[-1], output_offsets=[0.25]) == [0.5, 2.5, 4.5, 6.5]
        assert reads(3, sizes=[3], input_offsets=[50]) == [0, 0, 0]

    def test_a_float_scale_is_the_decimal_number_that_prints_it(self) -> None:
        x = np.arange(100)
        rules: dict[str, Any] = {"mode": "nearest", "coordinates": "asymmetric", "nearest": "floor"}
        assert resample(x, scales=[0.1], **rules).tolist() == [*range(0, 100, 10)]  # float 0.1 is a little more
        assert resample(x, scales=[np.float64(0.1)], **rules).tolist() == [*range(0, 100, 10)]
        x = x.astype(np.float32)
        assert resample(x, scales=[0.29]).shape == (28,)  # 28.999999999999996 in f64
        assert resample(x, scales=[Fraction(29, 100)]).shape == (29,)
        assert resample(x[:7], scales=[np.int64(3)]).shape == (21,)

    def test_sizes_and_scales(self) -> None:
        assert reads(4, sizes=[2], scales=[0.6]) == reads(4, scales=[0.6]) != reads(4, sizes=[2])
        assert reads(4, sizes=[2], scales=[0.6], recompute_scale_factor=True) == reads(4, sizes=[2])
        assert reads(4, sizes=[3], scales=[0.5], input_offsets=[0], output_offsets=[0]) == [0, 2, 3]

    @pytest.mark.parametrize(
        ("policy", "sizes", "made"), [("not_larger", (7, 8), (4, 8)), ("not_smaller", (7, 8), (7, 14))]
    )
    def test_keep_aspect_ratio_policy(self, policy: str, sizes: tuple[int, int], made: tuple[int, int]) -> None:
        assert resample(np.zeros((2, 4), "f4"), sizes, keep_aspect_ratio_policy=policy).shape == made

    def test_the_one_scale_of_a_policy_enters_the_coordinates(self) -> None:
        x = np.arange(3, dtype=np.float32)[:, np.newaxis] + np.zeros(4, np.float32)
        result = resample(x, (2, 2), keep_aspect_ratio_policy="not_larger")  # 3 / 2 is 1.5, and halves go up
        assert result[:, 0].tolist() == [0.5, 2]  # at 2.5, beyond the edge; by its size it would read at 1.75

    @pytest.mark.parametrize(
        ("nearest", "taken"),
        [
            ("half_up", [1, 3]),
            ("round_prefer_ceil", [1, 3]),
            ("round_prefer_floor", [0, 2]),
            ("floor", [0, 2]),
            ("ceil", [1, 3]),
        ],
    )
    def test_nearest_at_ties(self, nearest: str, taken: list[int]) -> None:
        assert resample(np.arange(4), [2], mode="nearest", nearest=nearest).tolist() == taken
