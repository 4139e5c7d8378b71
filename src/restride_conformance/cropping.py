"""What a crop_resize case asks for: the arguments of a call and of the reference, the right answer, its tolerance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from restride import reference
from restride.errors import DescriptorError
from restride.ops.crop_resize import FLIPS
from restride.tensor.tensor import Tensor
from restride_conformance.case import Case
from restride_conformance.parameters import PARAMETERS
from restride_conformance.scale_values import arguments, is_arithmetic
from restride_conformance.spelling import Sizes

Array = np.ndarray[Any, Any]

_CHOICES = ("like", "units", "letterbox", "coordinates", "nearest", "cubic_a", "antialias", "exclude_outside")

_PLACES = ("boxes", "axes", "images", "units", "letterbox", "flip", "coordinates", "nearest", "view")
"""Parameters that say where an element comes from."""


def boxes_of(case: Case) -> Array:
    """The boxes, (boxes, 4), of integers where all are."""
    value = case["boxes"]
    given = value if isinstance(value, tuple) else ()
    if not given or len(given) % 4:
        raise DescriptorError(f"boxes must be four numbers each: {case}")
    plain = [number if isinstance(number, int) else float(number) for number in given]
    return np.array(plain).reshape(-1, 4)


def sizes_of(case: Case) -> tuple[int, int]:
    """Rows and columns of each result, from the destination.

    Raises:
        DescriptorError: the destination has no such axes.
    """
    behind = 0 if case["images"] is not None else 1
    axes = [axis + behind for axis in case.integers("axes")]
    if len(axes) != 2 or not behind <= axes[0] < axes[1] < case.dst.rank:
        raise DescriptorError(f"axes {case['axes']} must be rows and columns of an image, of {case.dst}: {case}")
    return case.dst.sizes[axes[0]], case.dst.sizes[axes[1]]


def cropped_sizes(case: Case) -> Sizes:
    """The sizes of what a crop_resize makes.

    Raises:
        DescriptorError: the parameters do not fit the source.
    """
    if case["out"] == "same":
        raise DescriptorError(f"crop_resize has an out of its own, so out must not be same: {case}")
    sizes, count, has_images = sizes_of(case), len(boxes_of(case)), case["images"] is not None
    axes = case.integers("axes")
    if not (1 if has_images else 0) <= axes[0] < axes[1] < len(case.viewed):
        raise DescriptorError(f"axes {list(axes)} must be rows and columns of sizes {list(case.viewed)}: {case}")
    if unknown := [word for word in case.word("flip").split(",") if word not in FLIPS]:
        raise DescriptorError(f"flip {unknown[0]!r} is unknown; known: {', '.join(FLIPS)}: {case}")
    if has_images and len(case.integers("images")) != count:
        raise DescriptorError(f"images must be one for each of {count} boxes: {case}")
    made = [sizes[axes.index(axis)] if axis in axes else size for axis, size in enumerate(case.viewed)]
    return (count, *made[1:]) if has_images else (count, *made)


def called_with(case: Case) -> dict[str, Any]:
    """Arguments of the operation and of its reference, without arithmetic, layout and destination."""
    given: dict[str, Any] = {"mode": case.word("mode"), "axes": case.integers("axes")}
    for name in _CHOICES:
        value = case[name]
        (parameter,) = (parameter for parameter in PARAMETERS["crop_resize"] if parameter.name == name)
        if value != parameter.default(case.viewed, case.dst.sizes):
            given[name] = value == "yes" if value in ("yes", "no") else value
    if case["images"] is not None:
        given["images"] = case.integers("images")
    words = case.word("flip").split(",")
    given["flip"] = words[0] if len(words) == 1 else words
    fill = case["fill"]
    given["fill"] = fill if not isinstance(fill, tuple) else fill[0] if len(fill) == 1 else list(fill)
    return given


def call(case: Case, source: Tensor, asked_for: dict[str, Any]) -> Tensor:
    """The operation on a device. asked_for: the destination, or what is said of it."""
    import restride as rs

    given = {**called_with(case), **arguments(case), **asked_for}
    made: Any = rs.crop_resize(source, boxes_of(case), sizes_of(case), **given)
    tensor: Tensor = made if case["letterbox"] is None else made[0]
    return tensor


def moved(case: Case, source: Array) -> Array:
    """The elements that mode nearest takes, before they are converted."""
    return reference.crop_resize(source, boxes_of(case), sizes_of(case), **called_with(case))


def limits(case: Case, source: Array) -> tuple[Array, Array]:
    """The lowest and the highest right elements of sums."""
    given = {**called_with(case), **arguments(case), "dtype": case.dst.dtype}
    return reference.crop_resize_limits(source, boxes_of(case), sizes_of(case), **given)


def tolerance(case: Case) -> str:
    """What the limits of a case are, and where they come from."""
    steps = ", through the arithmetic a f32 step at a time" if is_arithmetic(case) else ""
    if case["like"] is not None:
        return f"those of a resample of each box like {case['like']} (restride.reference.like){steps}"
    return f"those of a resample of each box (restride.reference.resample_limits){steps}"


def of_places(case: Case) -> Case:
    """The crop_resize of places that says where the elements of a case come from."""
    kept = [(name, value) for name, value in case.parameters if name in _PLACES]
    return replace(case, parameters=(*kept, ("mode", "nearest")))
