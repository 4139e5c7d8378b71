"""What the reference accepts as an array or as axes, and how an array is named in an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from restride.arguments import integers
from restride.dtypes import as_dtype
from restride.errors import DescriptorError

MAX_RANK = 8
"""Dimensions of a tensor: DirectML's limit, and ours."""


def as_array(x: Any) -> np.ndarray[Any, Any]:
    """``x`` as a numpy array of a known element type and of rank 0 to 8; nothing is copied where ``x`` is one."""
    array = np.asarray(x)
    as_dtype(array.dtype)
    if array.ndim > MAX_RANK:
        raise DescriptorError(f"rank {array.ndim} exceeds {MAX_RANK}: x has sizes {list(array.shape)}")
    return array


def describe(array: np.ndarray[Any, Any]) -> str:
    """The array as a packed descriptor: ``f32[2,8]{1,0}``."""
    sizes = ",".join(str(size) for size in array.shape)
    minor_to_major = ",".join(str(axis) for axis in reversed(range(array.ndim)))
    return f"{as_dtype(array.dtype)}[{sizes}]" + (f"{{{minor_to_major}}}" if array.ndim else "")


def as_axes(axes: Iterable[Any] | None, count: int, array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The ``count`` axes that are meant, each in ``[0, rank)``: the last ones when ``axes`` is None.

    Negative axes count from the end, as in numpy. An axis may be named once.
    """
    rank = array.ndim
    if axes is None:
        if count > rank:
            raise DescriptorError(f"sizes names {count} axes, but {describe(array)} has {rank}")
        return tuple(range(rank - count, rank))
    given = integers("axes", axes)
    if len(given) != count:
        raise DescriptorError(f"axes {list(given)} must be as many as sizes, {count}, for {describe(array)}")
    for axis in given:
        if not -rank <= axis < rank:
            raise DescriptorError(
                f"axis {axis} of axes {list(given)} is outside [-{rank}, {rank}) of {describe(array)}"
            )
    named = tuple(axis % rank for axis in given)
    if len(set(named)) != len(named):
        raise DescriptorError(f"axes {list(given)} names an axis twice in {describe(array)}")
    return named
