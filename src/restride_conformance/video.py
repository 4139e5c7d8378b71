"""Cases of yuv_to_rgb: their arguments, sizes and answer, and the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride import reference
from restride.layout.argument import Layout
from restride.tensor.tensor import Tensor
from restride_conformance.case import Case
from restride_conformance.spelling import Sizes

Array = np.ndarray[Any, Any]


def _arguments(case: Case) -> dict[str, Any]:
    return {
        "format": case.word("format"),
        "matrix": case.word("matrix"),
        "full_range": case["full_range"] == "yes",
        "like": case["like"],
    }


def rgb_sizes(case: Case) -> Sizes:
    """The sizes of RGB, of frames of 3/2 as many rows."""
    *frames, height, columns = case.viewed
    return (*frames, height // 3 * 2, columns, 3)


def rgb(case: Case, source: Array) -> Array:
    """The right elements."""
    return reference.yuv_to_rgb(source, **_arguments(case))


def of_places(case: Case, places: Array) -> Array:
    """Where the luma of each element comes from; its chroma is other pixels' too."""
    viewed = places if case.view is None else case.view.of_array(places)
    return np.repeat(viewed[..., : case.dst.sizes[-3], :, None], case.dst.sizes[-1], axis=-1)


def call(case: Case, source: Tensor, out: Tensor | None, layout: Layout) -> Tensor:
    """What the device makes."""
    import restride as rs

    return rs.yuv_to_rgb(source, **_arguments(case), layout=layout, out=out)
