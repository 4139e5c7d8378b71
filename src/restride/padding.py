"""The padding value of a descriptor: a number that its element type can hold, and that element's bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.integers import integer


def padding_number(value: Any, dtype: DType, where: Callable[[], str]) -> int | float:
    """``value`` as an int for an integer type or ``pred``, as a float for a floating one.

    A float is rounded when its bits are taken: 0.1 is as good a value as any other.

    Raises:
        DescriptorError: not a number, or out of the element type's range.
    """
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "biuf" else float(value)
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, int | float):
        raise DescriptorError(f"padding_value must be a number, got {value!r} in {where()}")
    if dtype.is_float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        with np.errstate(over="ignore"):
            held = float(np.array(number).astype(dtype.dtype))
        if math.isnan(number) != math.isnan(held) or math.isinf(value) != math.isinf(held):
            raise DescriptorError(f"padding_value {value} is beyond what {dtype} holds, in {where()}")
        return number
    whole = int(value) if isinstance(value, float) and value == value // 1 else value  # "0.0" is a 0
    number = integer("padding_value", whole, where)
    low, high = (0, 1) if dtype.name == "pred" else (np.iinfo(dtype.dtype).min, np.iinfo(dtype.dtype).max)
    if not low <= number <= high:
        raise DescriptorError(f"padding_value {number} is outside [{low}, {high}] of {dtype}, in {where()}")
    return number


def element_bits(value: float, dtype: DType) -> int:
    """The bits of an element: 1.5 of f16 is 0x3E00, -1 of s8 is 0xFF."""
    if dtype.name == "bf16":
        # A cast through f32 would round twice: where it is inexact, it has to leave a trace in the last bit of f32.
        single = np.float32(value)
        if abs(float(single)) > abs(value):
            single = np.nextafter(single, np.float32(0))
        if np.isfinite(single) and float(single) != value:
            value = float((single.view(np.uint32) | np.uint32(1)).view(np.float32))
    if dtype.is_float:
        return int.from_bytes(np.array(value, np.float64).astype(dtype.dtype).tobytes(), "little")
    return int(value) & ((1 << 8 * dtype.itemsize) - 1)
