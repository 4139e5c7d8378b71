"""Conversion of every element type to every other: the exact value, rounded once, by integer arithmetic on bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.dtypes import ELEMENT_TYPES, Array, ElementType, as_dtype
from restride.errors import DescriptorError
from restride.reference.arguments import as_array, described

# Elements of every type as exact numbers, each with a sign, an integer and a power of two.


@dataclass(frozen=True, eq=False)
class Exact:
    """``(-1)^negative * magnitude * 2^exponent``; the magnitude of infinities and NaNs is 0.

    f32 -6.5 is negative, 13631488 (1.625 * 2^23), -21. ``payload`` is the fraction of a NaN, its first bit, the quiet
    one, at bit 63. Every field broadcasts against ``magnitude``, uint64.
    """

    magnitude: Array
    negative: Array
    exponent: Array
    infinite: Array
    nan: Array
    payload: Array


def exact(elements: Array, name: str) -> Exact:
    """The exact values of elements of the type ``name``; any byte of pred that is not 0 is 1."""
    false, zero = np.zeros((), bool), np.zeros((), np.uint64)
    exponent = np.zeros((), np.int64)
    if name == "pred":
        return Exact((elements.view(np.uint8) != 0).astype(np.uint64), false, exponent, false, false, zero)
    if ELEMENT_TYPES[name].is_float:
        return _exact_float(elements, ELEMENT_TYPES[name])
    negative = elements < 0
    widened = elements.astype(np.uint64)  # two's complement: -3 is 2^64 - 3, and 0 - that is 3
    return Exact(np.where(negative, zero - widened, widened), negative, exponent, false, false, zero)


def _lowest_exponent(form: ElementType) -> int:
    """Power of two of the last bit of a denormal number: f16 counts in 2^-24, f32 in 2^-149."""
    return 1 - form.bias - form.fraction


def _exact_float(elements: Array, form: ElementType) -> Exact:
    """The values of floats. f16 0x3E00: field 15, fraction 0x200; 0x600 * 2^(15 - 1 - 24) is 1.5. 0x0001 is 2^-24."""
    bits = elements.view(f"u{form.bits // 8}").astype(np.uint64)
    fraction = bits & np.uint64((1 << form.fraction) - 1)
    unsigned = bits & np.uint64((1 << (form.bits - 1)) - 1)
    field = unsigned >> np.uint64(form.fraction)
    infinite = unsigned == form.infinity if form.infinity is not None else np.zeros((), bool)
    nan = (unsigned > form.largest) & ~infinite
    magnitude = np.where(infinite | nan, np.uint64(0), fraction + ((field > 0).astype(np.uint64) << form.fraction))
    exponent = np.maximum(field.astype(np.int64), 1) - 1 + _lowest_exponent(form)
    payload = fraction << np.uint64(64 - form.fraction) if form.infinity is not None else np.zeros((), np.uint64)
    return Exact(magnitude, unsigned != bits, exponent, infinite, nan, payload)


# Converts the exact numbers to elements.

ROUNDINGS = ("nearest_even", "truncate", "half_away")
_CHUNK = 1 << 15  # elements converted at a time: two dozen arrays of 8-byte intermediates stay in the cache


def convert(x: Any, dtype: Any, rounding: str = "nearest_even", saturate: bool = True) -> Array:
    """Every element of ``x`` as ``dtype``, rounded at most once.

    To an integer: rounded to a whole number, then clamped. 2.5 is 2, 2, 3 with ``"nearest_even"``, ``"truncate"``
    (toward zero), ``"half_away"`` (halves away from zero). Without ``saturate`` the low bits in two's complement are
    kept instead: 300 is 44 in u8. NaN is 0; infinities are the bound, or 0.
    To pred: everything but zero is 1, NaN too. From pred: any byte but 0 is 1.
    To a float: the nearest, ties to even, denormals kept, whatever ``rounding`` is. Beyond the largest finite number,
    and for infinities: infinity, but in f8e4m3fn, f8e5m2 and f16 the largest finite number, unless ``saturate`` is
    False, when f8e4m3fn, which has no infinity, gets NaN. A NaN keeps its sign and the upper bits of its payload, and
    becomes quiet.
    To its own type: a copy of the bits.

    Raises:
        DescriptorError: an unknown element type or rounding, or a rank above 8.

    Sources: IEEE 754-2019, 4.3 and 7.4; ONNX, Cast (``saturate``; integers wrap); oneDNN, Reorder (integers saturate).

    Example:
        >>> rs.reference.convert(np.float32([2.5, -1, 300]), "u8").tolist()
        [2, 0, 255]
    """
    array, target = as_array(x), as_dtype(dtype)
    source = as_dtype(array.dtype)
    if rounding not in ROUNDINGS:
        raise DescriptorError(f"rounding {rounding!r} is not one of {', '.join(ROUNDINGS)}, for {described(array)}")
    if target == source:
        return array.copy()
    flat = array.reshape(-1)
    result = np.empty(flat.shape, target.dtype)
    for start in range(0, flat.size, _CHUNK):
        number = exact(flat[start : start + _CHUNK], source.name)
        if target == "pred":
            part = (number.magnitude != 0) | number.infinite | number.nan
        elif target.is_float:
            part = _to_float(number, target.format, saturate)
        else:
            part = _to_integer(number, np.iinfo(target.dtype), rounding, saturate)
        result[start : start + _CHUNK] = part.view(target.dtype)
    return result.reshape(array.shape)


def _to_integer(number: Exact, bounds: np.iinfo[Any], rounding: str, saturate: bool) -> Array:
    """The low bits of the rounded number, as an unsigned integer of the width of the type with these ``bounds``."""
    whole = _scaled(number.magnitude, number.exponent, rounding)
    if saturate:
        limit = np.where(number.negative, np.uint64(-int(bounds.min)), np.uint64(bounds.max))
        # _scaled keeps 64 bits, and 2^64 would become 0. Exponents above 0 occur only in floats.
        huge = (number.magnitude != 0) & (_bit_length(number.magnitude) + number.exponent > 64)
        whole = np.where(huge | number.infinite, limit, np.minimum(whole, limit))
    signed = np.where(number.negative, np.uint64(0) - whole, whole)
    return signed.astype(f"u{bounds.bits // 8}")


def _to_float(number: Exact, form: ElementType, saturate: bool) -> Array:
    """The bits of the nearest float.

    Its last bit stands for ``2^last``: ``fraction + 1`` bits are kept, but none below the last bit of denormals and
    zeros. Counted from there, bits are in the order of the numbers: ``(last - lowest) * 2^fraction + rounded`` is right
    for denormals (the first term is 0), for normal numbers (the hidden bit adds 1 to the field) and after a carry.
    f16 of 2051 = 12 bits: last = 1, 1025.5 is rounded to 1026 (even); (1 + 24) * 1024 + 1026 is 0x6802, 2052.
    """
    lowest = _lowest_exponent(form)
    last = _bit_length(number.magnitude) + number.exponent - (form.fraction + 1)
    last = np.where(number.magnitude == 0, lowest, np.maximum(last, lowest))
    rounded = _scaled(number.magnitude, number.exponent - last, "nearest_even")
    bits = ((last - lowest).astype(np.uint64) << np.uint64(form.fraction)) + rounded
    overflow = form.nan if form.infinity is None else form.infinity
    beyond = form.largest if form.saturates and saturate else overflow
    bits = np.where((bits > form.largest) | number.infinite, np.uint64(beyond), bits)
    bits = np.where(number.nan, np.uint64(form.nan) | (number.payload >> np.uint64(64 - form.fraction)), bits)
    sign = number.negative.astype(np.uint64) << np.uint64(form.bits - 1)
    result: Array = (bits | sign).astype(f"u{form.bits // 8}")
    return result


def _scaled(magnitude: Array, exponent: Array, rounding: str) -> Array:
    """The low 64 bits of ``magnitude * 2^exponent`` rounded to an integer.

    11 * 2^-2 = 2.75 is binary 10.11: the whole part is 10, the next bit, the half, is 1, and the bit below is 1 too.
    """
    right = np.clip(-exponent, 1, 64)
    shrunk = np.where(exponent < -64, np.uint64(0), magnitude)  # below 2^64 * 2^-65 = 1/2: 0 in every rounding
    below = (right - 1).astype(np.uint64)
    halves = shrunk >> below
    half, whole = halves & np.uint64(1), halves >> np.uint64(1)
    if rounding == "nearest_even":
        left_below = (shrunk & ((np.uint64(1) << below) - np.uint64(1))) != 0
        whole = whole + (half & (left_below | whole))
    elif rounding == "half_away":
        whole = whole + half
    grown = np.where(exponent > 63, np.uint64(0), magnitude << np.clip(exponent, 0, 63).astype(np.uint64))
    return np.where(exponent < 0, whole, grown)


def _bit_length(magnitude: Array) -> Array:
    """The number of bits up to the highest set one: 0 for 0, 3 for 5, 64 for 2^64 - 1.

    The exponent of a float64 gives this number, but 2^64 - 1 would be rounded up to 2^64. So the bit below each set bit
    is cleared first, which leaves at most 0b101010..., where no carry can run through.
    """
    _, length = np.frexp((magnitude & ~(magnitude >> np.uint64(1))).astype(np.float64))
    return np.asarray(length, np.int64)


def round_once(values: Array, dtype: np.dtype[Any]) -> Array:
    """``values`` (float64) as ``dtype``, rounded a single time.

    Floats: nearest, ties to even, denormals kept, overflow to infinity, or to NaN in f8e4m3fn, which has no infinity.
    Integers: nearest, ties to even, then clamped to the type's range (oneDNN, Resampling); NaN is 0.
    """
    return convert(values, dtype, saturate=dtype.kind in "iu")
