"""The padding value of a descriptor: a number that its element type can hold, and that element's bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from restride.dtypes import BY_NUMPY, DType
from restride.errors import DescriptorError
from restride.integers import integer


def padding_number(value: Any, dtype: DType, where: Callable[[], str]) -> int | float:
    """``value`` as an int for an integer type or ``pred``, as a float for a floating one.

    A float is rounded when its bits are taken: 0.1 is as good a value as any other.

    Raises:
        DescriptorError: not a number, or out of the element type's range.
    """
    if type(value) is int and value == 0:
        return 0.0 if dtype.is_float else 0
    number = _as_number(value)
    if number is None:
        raise DescriptorError(f"padding_value must be a number, got {value!r} in {where()}")
    if isinstance(number, int):
        number = integer("padding_value", number, where)
    if dtype.is_float:
        wanted = float(number)
        with np.errstate(over="ignore"):
            held = float(np.array(wanted).astype(dtype.dtype))
        is_finite = isinstance(number, int) or math.isfinite(number)
        if is_finite != math.isfinite(held) or math.isnan(wanted) != math.isnan(held):
            raise DescriptorError(f"padding_value {value} is beyond what {dtype} holds, in {where()}")
        return wanted
    whole = int(number) if isinstance(number, float) and number == number // 1 else number  # "0.0" is a 0
    whole = integer("padding_value", whole, where)
    low, high = (0, 1) if dtype.name == "pred" else (np.iinfo(dtype.dtype).min, np.iinfo(dtype.dtype).max)
    if not low <= whole <= high:
        raise DescriptorError(f"padding_value {whole} is outside [{low}, {high}] of {dtype}, in {where()}")
    return whole


def _as_number(value: Any) -> int | float | None:
    """``value`` as Python's int or float, exactly; None if it is neither one of these nor a number of numpy's."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, np.generic):
        element = BY_NUMPY.get(value.dtype)
        return None if element is None else float(value) if element.is_float else int(value)
    return value if isinstance(value, int | float) else None


def element_bits(value: float, dtype: DType) -> int:
    """The bits of an element: 1.5 of f16 is 0x3E00, -1 of s8 is 0xFF."""
    if not dtype.is_float:
        return int(value) & ((1 << 8 * dtype.itemsize) - 1)
    number: Any = np.float64(value)
    if dtype.itemsize < 4 and dtype.name != "f16":
        number = _by_way_of_f32(value)
    with np.errstate(over="ignore"):
        return int.from_bytes(np.array(number).astype(dtype.dtype).tobytes(), "little")


def _by_way_of_f32(value: float) -> Any:
    """An f32 that a cast to a narrower float rounds as ``value`` itself would be rounded.

    ml_dtypes casts by way of f32, which rounds twice. Cut towards zero, with the last bit set where something was lost,
    f32 keeps what the second rounding asks: below a half, at it, or above.
    """
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single) or float(single) == value:
        return single
    if abs(float(single)) > abs(value):
        single = np.nextafter(single, np.float32(0))
    return (single.view(np.uint32) | np.uint32(1)).view(np.float32)
