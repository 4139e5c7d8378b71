"""Elements of every type as exact numbers: a sign, an integer and a power of two, all in integer arithmetic on bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FloatFormat:
    """The bits of a float type: sign, ``width - 1 - fraction`` exponent bits, ``fraction`` fraction bits.

    ``largest``: bits of the largest finite number. ``beyond``: those of what overflow gives, infinity, or NaN where
    there is none. ``saturates``: overflow gives the largest number, unless that is switched off.
    """

    width: int
    fraction: int
    largest: int
    beyond: int
    saturates: bool = False

    @property
    def exponent_mask(self) -> int:
        """The exponent field of infinities and NaNs, and of 256 to 448 in f8e4m3fn."""
        return (1 << (self.width - 1 - self.fraction)) - 1

    @property
    def lowest_exponent(self) -> int:
        """Power of two of the last bit of a denormal number: f16 counts in 2^-24, f32 in 2^-149."""
        bias = self.exponent_mask >> 1
        return 1 - bias - self.fraction

    @property
    def has_infinity(self) -> bool:
        """Not f8e4m3fn, whose largest exponent holds numbers, and one NaN a sign."""
        return self.largest < self.exponent_mask << self.fraction

    @property
    def nan(self) -> int:
        """The quiet NaN without a payload: all ones in the exponent, then the quiet bit; 0x7F in f8e4m3fn."""
        return self.beyond | (1 << (self.fraction - 1))


FLOAT_FORMATS = {
    "f8e4m3fn": FloatFormat(8, 3, 0x7E, 0x7F, saturates=True),
    "f8e5m2": FloatFormat(8, 2, 0x7B, 0x7C, saturates=True),
    "f16": FloatFormat(16, 10, 0x7BFF, 0x7C00, saturates=True),
    "bf16": FloatFormat(16, 7, 0x7F7F, 0x7F80),
    "f32": FloatFormat(32, 23, 0x7F7F_FFFF, 0x7F80_0000),
    "f64": FloatFormat(64, 52, 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000),
}
"""Sources: IEEE 754-2019, 3.4; bfloat16 is the upper half of binary32; OCP 8-bit Floating Point Specification, 5."""


@dataclass(frozen=True, eq=False)
class Exact:
    """``(-1)^negative * magnitude * 2^exponent``; the magnitude of infinities and NaNs is 0.

    f32 -6.5 is negative, 13631488 (1.625 * 2^23), -21. ``payload`` is the fraction of a NaN with its first bit, the
    quiet one, at bit 63. Every field broadcasts against ``magnitude``, uint64.
    """

    magnitude: Array
    negative: Array
    exponent: Array
    infinite: Array
    nan: Array
    payload: Array


def exact(elements: Array, name: str) -> Exact:
    """What the elements of the type called ``name`` are; any byte of pred that is not 0 is 1."""
    false, zero = np.zeros((), bool), np.zeros((), np.uint64)
    exponent = np.zeros((), np.int64)
    if name == "pred":
        return Exact((elements.view(np.uint8) != 0).astype(np.uint64), false, exponent, false, false, zero)
    if name in FLOAT_FORMATS:
        return _exact_float(elements, FLOAT_FORMATS[name])
    negative = elements < 0
    widened = elements.astype(np.uint64)  # two's complement: -3 is 2^64 - 3, and 0 - that is 3
    return Exact(np.where(negative, zero - widened, widened), negative, exponent, false, false, zero)


def _exact_float(elements: Array, form: FloatFormat) -> Exact:
    """f16 0x3E00: field 15, fraction 0x200; 0x600 * 2^(15 - 1 - 24) is 1.5. Field 0 hides no bit: 0x0001 is 2^-24."""
    bits = elements.view(f"u{form.width // 8}").astype(np.uint64)
    fraction = bits & np.uint64((1 << form.fraction) - 1)
    field = (bits >> np.uint64(form.fraction)) & np.uint64(form.exponent_mask)
    unsigned = bits & np.uint64((1 << (form.width - 1)) - 1)
    infinite = (unsigned == form.beyond) & form.has_infinity
    nan = (unsigned > form.largest) & ~infinite
    magnitude = np.where(infinite | nan, np.uint64(0), fraction + ((field > 0).astype(np.uint64) << form.fraction))
    exponent = np.maximum(field.astype(np.int64), 1) - 1 + form.lowest_exponent
    payload = fraction << np.uint64(64 - form.fraction) if form.has_infinity else np.zeros((), np.uint64)
    return Exact(magnitude, unsigned != bits, exponent, infinite, nan, payload)
