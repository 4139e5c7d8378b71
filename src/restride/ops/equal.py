"""``x == y`` and ``x != y`` of tensors: elements compared as exact numbers, in one dispatch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from restride.dtypes import DType
from restride.errors import DescriptorError, ErrorContext
from restride.layout import TensorDesc
from restride.ops.plan import cached
from restride.plan.two_sources import equal_kernels
from restride.tensor.arrays import asarray
from restride.tensor.tensor import METHODS, Tensor, empty


def equal(x: Tensor, y: Any, negated: bool = False) -> Any:
    """A tensor of type pred: whether elements of ``x`` and ``y`` are equal numbers; sizes broadcast.

    Numbers are compared exactly, whatever their types: no element of s64 equals an f64 that it only rounds to. -0.0
    equals 0.0, and NaN equals nothing. A Python float is first rounded to the type of ``x``, so that an f32 element can
    equal 0.1; a list of floats is an array of f64, and is not rounded.

    Args:
        x: a tensor.
        y: a tensor on the same device, an array, or a number.
        negated: whether elements are not equal instead, NaN included.

    Returns:
        The tensor, or NotImplemented for a ``y`` of another kind.

        A tensor of tiles or blocks is copied to a strided layout first, in another dispatch.

    Raises:
        DescriptorError: sizes do not broadcast, or ``y`` lies on another device.
    """
    other = _operand(x, y)
    if other is None:
        return NotImplemented
    if other.device is not x.device:
        raise DescriptorError(
            f"{other!r} lies on another device than {x!r}; .to(device) copies it there before they are compared"
        )
    try:
        sizes = np.broadcast_shapes(x.sizes, other.sizes)
    except ValueError:
        raise DescriptorError(
            f"sizes {x.sizes} and {other.sizes} do not broadcast, to compare {x.desc} and {other.desc}"
        ) from None
    left, right = (_strided(each).broadcast_to(sizes) for each in (x, other))
    result = empty(TensorDesc("pred", sizes), x.device)
    arguments = {"src": left.desc, "other": right.desc, "dst": result.desc}
    with ErrorContext(left.desc):
        kernels = cached(equal_kernels, arguments | {"negated": negated, "limits": x.device.limits})
    if kernels:
        x.device.runtime.submit(kernels, (left.memory, result.memory, right.memory))
    return result


def _strided(x: Tensor) -> Tensor:
    return x if x.desc.strides is not None else x.copy()


def _operand(x: Tensor, y: Any) -> Tensor | None:
    """``y`` as a tensor; None: a tensor cannot be compared with it."""
    if isinstance(y, Tensor):
        return y
    if isinstance(y, int | float) and not isinstance(y, bool | np.generic):
        y = _constant(x.dtype, y)
    elif not isinstance(y, bool | list | tuple) and not hasattr(y, "__array__") and not hasattr(y, "__dlpack__"):
        return None
    return asarray(y, device=x.device)


def _constant(dtype: DType, number: Any) -> Any:
    """A Python int in a type that has it exactly, NaN if none does; a float in ``dtype``, or in f64 if need be."""
    if isinstance(number, float):
        with np.errstate(all="ignore"):
            rounded = np.asarray(number).astype(dtype.dtype)[()] if dtype.is_float else np.float64(number)
        # A finite number must not be compared as an infinity, or as the NaN of f8e4m3fn.
        return rounded if np.isfinite(rounded) or not math.isfinite(number) else np.float64(number)
    for wide in (np.int64, np.uint64):
        if np.iinfo(wide).min <= number <= np.iinfo(wide).max:
            return wide(number)
    try:
        return np.float64(number) if int(float(number)) == number else np.float64("nan")
    except OverflowError:
        return np.float64("nan")


METHODS["equal"] = equal
