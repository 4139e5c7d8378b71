"""Coordinates: where along a source axis each output index reads, as an exact fraction.

Every rule is a straight line, ``s(o) = slope * o + intercept``, with I the source size, O the output size and f the
scale, O / I by default. The words are those of ONNX Resize. Worked example, half_pixel, 2 -> 3: f = 3/2,
``s = (o + 1/2) / f - 1/2``: -1/6, 1/2, 7/6.

Source: ONNX operators, Resize, ``coordinate_transformation_mode``; DirectML, DML_RESAMPLE2_OPERATOR_DESC (offsets);
oneDNN specification, Resampling (half_pixel).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array

HALF = Fraction(1, 2)


class Line(NamedTuple):
    """Output index o reads at ``(step * o + start) / denominator``; the denominator is positive."""

    step: int
    start: int
    denominator: int

    @classmethod
    def through(cls, slope: Fraction, intercept: Fraction) -> Line:
        """The line of a slope and an intercept, over their common denominator."""
        denominator = math.lcm(slope.denominator, intercept.denominator)
        step = slope.numerator * (denominator // slope.denominator)
        return cls(step, intercept.numerator * (denominator // intercept.denominator), denominator)

    @property
    def is_identity(self) -> bool:
        """True when every output index reads at the same source index."""
        return self.step == self.denominator and self.start == 0

    def at(self, index: int) -> Fraction:
        """The source position at which an output index reads."""
        return Fraction(self.step * index + self.start, self.denominator)

    def numerators(self, index: npt.NDArray[np.int64], size: int) -> Array:
        """``step * o + start`` of output indices up to ``size``; Python integers where 64 bits might wrap."""
        largest = (size + 1) * abs(self.step) + abs(self.start)
        wide: Array = index.astype(object) if largest >= 1 << 62 else index.astype(np.int64)
        return wide * self.step + self.start


class Ends(NamedTuple):
    """The arguments of a rule: the sizes of an axis, its scale, and the part that tf_crop_and_resize crops."""

    source_size: int
    size: int
    scale: Fraction
    roi: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))


def _half_pixel(ends: Ends) -> Line:
    # Slope 1 / f and intercept 1 / 2f - 1/2, in integers, because arithmetic of fractions is slow.
    up, down = ends.scale.numerator, ends.scale.denominator
    common = math.gcd(2 * up, down - up, 2 * down)
    return Line(2 * down // common, (down - up) // common, 2 * up // common)


def _half_pixel_symmetric(ends: Ends) -> Line:
    # The source's centre is read at the output's centre, even if the output size is not source size * scale.
    shift = HALF * ends.source_size - HALF * ends.size / ends.scale
    return Line.through(1 / ends.scale, _half_pixel(ends).at(0) + shift)


def _pytorch_half_pixel(ends: Ends) -> Line:
    return _half_pixel(ends) if ends.size > 1 else Line(0, 0, 1)


def _align_corners(ends: Ends) -> Line:
    steps = ends.scale * ends.source_size - 1  # O - 1 where the scale is O / I
    return Line.through(Fraction(ends.source_size - 1) / steps if steps else Fraction(0), Fraction(0))


def _asymmetric(ends: Ends) -> Line:
    return Line.through(1 / ends.scale, Fraction(0))


def _tf_half_pixel_for_nn(ends: Ends) -> Line:
    return Line.through(1 / ends.scale, HALF / ends.scale)


def _tf_crop_and_resize(ends: Ends) -> Line:
    start, end = (edge * (ends.source_size - 1) for edge in ends.roi)
    steps = ends.scale * ends.source_size - 1
    return Line.through((end - start) / steps, start) if steps else Line.through(Fraction(0), HALF * (start + end))


_RULES: dict[str, Callable[[Ends], Line]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "tf_crop_and_resize": _tf_crop_and_resize,
}


def line(rule: str, ends: Ends) -> Line:
    """The line of a rule for one axis."""
    return _RULES[rule](ends)


def line_of_offsets(scale: Fraction, input_offset: Fraction, output_offset: Fraction) -> Line:
    """DirectML's ``s = (o - output_offset) / scale - input_offset``: offsets 1/2 and -1/2 are half_pixel."""
    return Line.through(1 / scale, -output_offset / scale - input_offset)
