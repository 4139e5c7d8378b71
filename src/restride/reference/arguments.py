"""Arrays as callers pass them, the keywords of operations, and the text that names an array in an error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Required

from restride.arguments import MAX_RANK, as_numpy
from restride.dtypes import Array, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, UnsupportedError
from restride.layout import TensorDesc
from restride.request.arithmetic import NumberArguments
from restride.request.boxes import Flip, Indices, LetterboxPlace, Units
from restride.request.resampling import FilterArguments, RequestArguments, RuleArguments

MAX_ELEMENTS = 1 << 27
"""Maximum number of elements of an array that is computed: 1 GiB in f64, and a few such arrays exist at a time."""


class ReferenceResampleArguments(RequestArguments, NumberArguments, total=False):
    """Keywords of ``resample``."""

    window: Iterable[slice | None] | None
    dtype: DTypeLike | None
    sum_scale: Any
    out: Any


class ReferenceBackwardArguments(RuleArguments, total=False):
    """Keywords of ``resample_backward``."""

    dtype: DTypeLike | None


class BoxArguments(FilterArguments, NumberArguments, total=False):
    """Keywords of ``crop_resize``."""

    mode: Any
    dtype: DTypeLike | None
    axes: Required[Sequence[int]]
    images: Indices
    units: Units
    letterbox: LetterboxPlace | None
    flip: Flip
    fill: Any


def as_array(x: object) -> Array:
    """``x`` as a numpy array of a known element type and of rank 0 to 8, without a mask; an array is not copied."""
    array = as_numpy("array", x)
    as_dtype(array.dtype)
    if array.ndim > MAX_RANK:
        raise DescriptorError(f"rank {array.ndim} exceeds {MAX_RANK}: x has sizes {list(array.shape)}")
    return array


def described(array: Array) -> TensorDesc:
    """The array as a packed descriptor, for errors."""
    return TensorDesc(array.dtype, array.shape)


def require_few_elements(sizes: Sequence[int], array: Array) -> None:
    """Refuse to compute an array of these sizes, from ``array``, before anything is computed for it.

    Raises:
        UnsupportedError: it would have more than ``MAX_ELEMENTS``.
    """
    if math.prod(sizes) > MAX_ELEMENTS:
        with ErrorContext(described(array)):
            raise UnsupportedError(
                f"the reference computes arrays of at most {MAX_ELEMENTS} elements, not {math.prod(sizes)} of sizes "
                f"{list(sizes)}"
            )
