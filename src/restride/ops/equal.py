"""``x == y`` and ``x != y`` of tensors: elements compared as exact numbers, in one dispatch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from restride.arguments import as_numpy, exact_members
from restride.dtypes import DType
from restride.errors import DescriptorError, ErrorContext
from restride.layout import TensorDesc
from restride.ops.perform import cached
from restride.plan.two_sources import equal_kernels
from restride.tensor.arrays import asarray
from restride.tensor.tensor import METHODS, Tensor, empty


def equal(x: Tensor, y: object, negated: bool = False) -> Any:
    """A tensor of type pred: whether elements of ``x`` and ``y`` are equal numbers; sizes broadcast.

    Numbers are compared exactly, whatever their types: no element of s64 equals an f64 that it only rounds to. -0.0
    equals 0.0, and NaN equals nothing. A Python float is first rounded to the type of ``x``, so that an f32 element can
    equal 0.1; the numbers of a list are not rounded. A tensor of tiles or blocks is first copied to a strided layout,
    in another dispatch.

    Args:
        x: a tensor.
        y: a tensor on the same device, an array, a number, or nested sequences of numbers.
        negated: whether elements are not equal instead, NaN included.

    Returns:
        The tensor, or NotImplemented for a ``y`` of another kind.

    Raises:
        DescriptorError: sizes do not broadcast, or ``y`` lies on another device.
    """
    if isinstance(y, list | tuple):
        array = as_numpy("y", y, np.dtype(np.float64))
        numbers = exact_members(y, array)
        if numbers is not None:
            return _equal_to_each(x, numbers, array.shape, negated)
        y = array
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
    with ErrorContext(left.desc):
        kernels = cached(equal_kernels, left.desc, right.desc, result.desc, negated, x.device.limits)
    if kernels:
        x.device.runtime.submit(kernels, (left.memory, result.memory, right.memory))
    return result


def _equal_to_each(x: Tensor, numbers: list[int | float], sizes: tuple[int, ...], negated: bool) -> Any:
    """``equal`` for numbers that no single type can hold. A number outside the type of ``x`` equals nothing."""
    if x.dtype.is_float or x.dtype.itemsize < 8:  # then f64 holds all values of the type
        return equal(x, np.array([_exact(number) for number in numbers]).reshape(sizes), negated)
    low, high = x.dtype.format.range
    are_elements = [low <= number <= high and number % 1 == 0 for number in numbers]
    each = zip(numbers, are_elements, strict=True)
    elements = np.array([int(number) if is_one else 0 for number, is_one in each], x.dtype.dtype).reshape(sizes)
    if all(are_elements):
        return equal(x, elements, negated)
    return equal(equal(x, elements), np.where(are_elements, 1.0, np.nan).reshape(sizes), negated)


def _strided(x: Tensor) -> Tensor:
    return x if x.desc.strides is not None else x.copy()


def _operand(x: Tensor, y: object) -> Tensor | None:
    """``y`` as a tensor; None if it cannot be compared with a tensor."""
    if isinstance(y, Tensor):
        return y
    if isinstance(y, int | float) and not isinstance(y, bool | np.generic):
        y = _constant(x.dtype, y)
    elif not isinstance(y, bool) and not hasattr(y, "__array__") and not hasattr(y, "__dlpack__"):
        return None
    return asarray(y, device=x.device)


def _constant(dtype: DType, number: Any) -> Any:
    """A Python int in a type that holds it exactly, or NaN if none does; a float in ``dtype``, or in f64 if needed."""
    if isinstance(number, float):
        with np.errstate(all="ignore"):
            rounded = np.asarray(number).astype(dtype.dtype)[()] if dtype.is_float else np.float64(number)
        # A finite number must not be compared as an infinity, or as the NaN of f8e4m3fn.
        return rounded if np.isfinite(rounded) or not math.isfinite(number) else np.float64(number)
    for wide in (np.int64, np.uint64):
        if np.iinfo(wide).min <= number <= np.iinfo(wide).max:
            return wide(number)
    return _exact(number)


def _exact(number: float) -> np.float64:
    """The number as f64; NaN if f64 cannot represent it."""
    try:
        return np.float64(number) if float(number) == number else np.float64("nan")
    except OverflowError:
        return np.float64("nan")


METHODS["equal"] = equal
