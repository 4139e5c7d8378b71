"""What the reference's resample refuses, with the argument and the known names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from restride.errors import DescriptorError
from restride.reference import resample, resample_bound, resample_limits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": [4], "scales": [2, 2]}, "sizes and scales must be equally many"),
        ({"scales": [2, 2, 2]}, r"scales names 3 axes, but f32\[2,3\]\{1,0\} has 2"),
        ({"scales": [2], "axes": [0, 1]}, r"axes \[0, 1\] must be as many as scales, 1"),
        ({"scales": [0]}, r"scales \[0\] must be above 0, for f32\[2,3\]"),
        ({"scales": [-0.5]}, r"scales \[-0.5\] must be above 0"),
        ({"scales": [float("nan")]}, r"scales\[0\] must be finite, got nan"),
        ({"scales": ["2"]}, r"scales\[0\] must be a number, got '2'"),
        ({"scales": [True]}, r"scales\[0\] must be a number, got True"),
        ({"scales": 2}, "scales must be a sequence of numbers, got 2"),
        ({"sizes": [5], "scales": [2]}, r"sizes \[5\] and scales \[2\] contradict each other: the scales make \[6\]"),
        ({"sizes": [5], "roi": (0, 1)}, r"roi \(0, 1\) does not fit coordinates 'half_pixel'"),
        ({"sizes": [5], "coordinates": "tf_crop_and_resize"}, "roi None does not fit coordinates 'tf_crop_and_resize'"),
        ({"sizes": [5], "coordinates": "tf_crop_and_resize", "roi": (0, 1, 1)}, "roi must be 2 numbers, got 3"),
        ({"sizes": [5], "input_offsets": [1, 2]}, "input_offsets must be 1 numbers, got 2"),
        (
            {"sizes": [5], "input_offsets": [1], "coordinates": "asymmetric"},
            "output_offsets takes no coordinates 'asym",
        ),
        ({"sizes": [5], "input_offsets": [1], "mode": "area"}, "mode 'area' takes no input_offsets"),
        ({"sizes": [5], "coordinates": "asymmetric", "mode": "area"}, "mode 'area' takes no coordinates 'asymmetric'"),
        ({"sizes": [5], "antialias": True, "mode": "nearest"}, "antialias needs mode linear or cubic, not nearest"),
        (
            {"sizes": [5], "exclude_outside": True, "mode": "area"},
            "exclude_outside needs mode linear or cubic, not area",
        ),
        ({"scales": [2], "sizes": [6], "keep_aspect_ratio_policy": "not_larger"}, "takes sizes without scales"),
        ({"sizes": [5], "window": [slice(0, 6)]}, r"window\[0\] \[0, 6\) exceeds size 5"),
        ({"sizes": [5], "window": [slice(0, 4, 2)]}, r"window\[0\] must be a slice without a step"),
        ({"sizes": [5], "window": [slice(0, 4)] * 2}, "window must be 1 slices, got 2"),
        ({"sizes": [5], "src_scale": [1, 2]}, r"src_scale of sizes \[2\] must broadcast against \[2, 5\]"),
        ({"sizes": [5], "dtype": "f31"}, "unknown element type 'f31'"),
    ],
)
@pytest.mark.parametrize("function", [resample, resample_limits])
def test_errors(function: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        function(np.zeros((2, 3), np.float32), **arguments)


@pytest.mark.parametrize("name", ["mode", "coordinates", "nearest", "keep_aspect_ratio_policy"])
def test_unknown_names_list_the_known_ones(name: str) -> None:
    with pytest.raises(
        DescriptorError, match=rf"{name} 'best' is not one of (nearest|half_pixel|half_up|stretch), .*, for"
    ):
        resample(np.zeros(3, np.float32), [4], **{name: "best"})


def test_unknown_arguments() -> None:
    for function in (resample_bound, resample_limits):
        with pytest.raises(TypeError, match="resample has no argument 'size'"):
            function(np.zeros(3, np.float32), [4], size=3)
