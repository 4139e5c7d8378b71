"""The keywords of operations, checks of array and axes arguments, and the text that names an array in an error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Required, TypedDict

import numpy as np

from restride.arguments import MAX_RANK, as_numpy, integers
from restride.dtypes import as_dtype
from restride.errors import DescriptorError, UnsupportedError

Array = np.ndarray[Any, Any]

MAX_ELEMENTS = 1 << 27
"""Maximum number of elements of an array that is computed: 1 GiB in f64, and a few such arrays exist at a time."""


class ReferenceRuleArguments(TypedDict, total=False):
    """Keywords that ``resample`` and ``resample_backward`` share; ``resample`` explains them."""

    coordinates: str | None
    nearest: str | None
    cubic_a: Any
    antialias: bool | None
    exclude_outside: bool | None
    roi: Any
    input_offsets: Any
    output_offsets: Any
    recompute_scale_factor: bool | None
    like: str | None
    dtype: Any


class ReferenceResampleArguments(ReferenceRuleArguments, total=False):
    """Keywords of ``resample``."""

    extrapolation_value: float
    keep_aspect_ratio_policy: str | None
    window: Any
    src_scale: Any
    src_zero_point: Any
    dst_scale: Any
    dst_zero_point: Any
    sum_scale: Any
    post_ops: Sequence[tuple[Any, ...]] | None
    rounding: str
    saturate: bool
    out: Any


class BoxArguments(ReferenceResampleArguments, total=False):
    """Keywords of ``crop_resize``."""

    mode: Any
    axes: Required[Sequence[int]]
    images: Sequence[int] | None
    units: str
    letterbox: str | None
    flip: str | Sequence[str]
    fill: Any


def as_array(x: object) -> Array:
    """``x`` as a numpy array of a known element type and of rank 0 to 8, without a mask; an array is not copied."""
    array = as_numpy("array", x)
    as_dtype(array.dtype)
    if array.ndim > MAX_RANK:
        raise DescriptorError(f"rank {array.ndim} exceeds {MAX_RANK}: x has sizes {list(array.shape)}")
    return array


def describe(array: Array) -> str:
    """The array as a packed descriptor: ``f32[2,8]{1,0}``."""
    sizes = ",".join(str(size) for size in array.shape)
    minor_to_major = ",".join(str(axis) for axis in reversed(range(array.ndim)))
    return f"{as_dtype(array.dtype)}[{sizes}]" + (f"{{{minor_to_major}}}" if array.ndim else "")


def require_few_elements(sizes: Sequence[int], array: Array) -> None:
    """Refuse to compute an array of these sizes, from ``array``, before anything is computed for it.

    Raises:
        UnsupportedError: it would have more than ``MAX_ELEMENTS``.
    """
    if math.prod(sizes) > MAX_ELEMENTS:
        raise UnsupportedError(
            f"the reference computes arrays of at most {MAX_ELEMENTS} elements, not {math.prod(sizes)} of sizes "
            f"{list(sizes)}, for {describe(array)}"
        )


def as_axes(axes: Iterable[object] | None, count: int, array: Array, counted: str = "sizes") -> tuple[int, ...]:
    """``axes`` as indices in ``[0, rank)``; None: the last ``count`` axes.

    Negative axes count from the end, as in numpy. An axis may be named once.

    counted: name of the argument that has ``count`` values, one for each axis; for errors.
    """
    rank = array.ndim
    if axes is None:
        if count > rank:
            raise DescriptorError(f"{counted} names {count} axes, but {describe(array)} has {rank}")
        return tuple(range(rank - count, rank))
    listed = integers("axes", axes)
    if len(listed) != count:
        raise DescriptorError(f"axes {list(listed)} must be as many as {counted}, {count}, for {describe(array)}")
    for axis in listed:
        if not -rank <= axis < rank:
            raise DescriptorError(
                f"axis {axis} of axes {list(listed)} is outside [-{rank}, {rank}) of {describe(array)}"
            )
    indices = tuple(axis % rank for axis in listed)
    if len(set(indices)) != len(indices):
        raise DescriptorError(f"axes {list(listed)} names an axis twice in {describe(array)}")
    return indices
