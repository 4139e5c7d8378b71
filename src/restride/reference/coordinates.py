"""The source coordinate of an output index: the formula of every rule, in exact fractions, one index at a time.

A float stands for the decimal number that prints it: a scale of 0.1 is 1/10, and output 1 reads at exactly 10.

Sources: ONNX operators, Resize, ``coordinate_transformation_mode``; DirectML, DML_RESAMPLE2_OPERATOR_DESC (offsets);
oneDNN specification, Resampling (half_pixel).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from restride.request import Rules

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class ResampledAxis:
    """One axis of a resampling, with those values of the rules that callers pass for each axis.

    scale: output elements for each source element, ``size / source_size`` unless the caller chose it. rules: those of
    all axes. cubic_a: its exact number. roi: the first and last edge of tf_crop_and_resize.
    offsets: DirectML's input and output offset, which replace the rule.
    """

    source_size: int
    size: int
    scale: Fraction
    rules: Rules
    cubic_a: Fraction
    roi: tuple[Fraction, Fraction] | None = None
    offsets: tuple[Fraction, Fraction] | None = None

    @property
    def length(self) -> Fraction:
        """The length of the output before it is rounded to ``size``, in output elements."""
        return self.scale * self.source_size


def _half_pixel(axis: ResampledAxis, o: int) -> Fraction:
    return (o + HALF) / axis.scale - HALF


def _half_pixel_symmetric(axis: ResampledAxis, o: int) -> Fraction:
    return HALF * axis.source_size * (1 - axis.size / axis.length) + _half_pixel(axis, o)


def _pytorch_half_pixel(axis: ResampledAxis, o: int) -> Fraction:
    return _half_pixel(axis, o) if axis.size > 1 else Fraction(0)


def _align_corners(axis: ResampledAxis, o: int) -> Fraction:
    return o * (axis.source_size - 1) / (axis.length - 1) if axis.length != 1 else Fraction(0)


def _asymmetric(axis: ResampledAxis, o: int) -> Fraction:
    return o / axis.scale


def _tf_half_pixel_for_nn(axis: ResampledAxis, o: int) -> Fraction:
    return (o + HALF) / axis.scale


def _tf_crop_and_resize(axis: ResampledAxis, o: int) -> Fraction:
    start, end = axis.roi or (Fraction(0), Fraction(1))
    last = axis.source_size - 1
    if axis.length == 1:
        return (start + end) / 2 * last
    return start * last + o * (end - start) * last / (axis.length - 1)


_FORMULAS: dict[str, Callable[[ResampledAxis, int], Fraction]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "tf_crop_and_resize": _tf_crop_and_resize,
}


def source_coordinate(axis: ResampledAxis, o: int) -> Fraction:
    """The coordinate that output ``o`` reads; source element j has its centre at j. half_pixel, 2 -> 3, o = 1: 1/2."""
    if axis.offsets is not None:
        input_offset, output_offset = axis.offsets
        return (o - output_offset) / axis.scale - input_offset
    return _FORMULAS[axis.rules.coordinates](axis, o)


def is_extrapolated(axis: ResampledAxis, s: Fraction) -> bool:
    """True beyond the centres of the first and last element with tf_crop_and_resize; other rules read the end there."""
    return axis.rules.coordinates == "tf_crop_and_resize" and not 0 <= s <= axis.source_size - 1


_ROUNDED: dict[str, Callable[[Fraction], int]] = {
    "half_up": lambda s: math.floor(s + HALF),
    "round_prefer_ceil": lambda s: math.floor(s + HALF),
    "round_prefer_floor": lambda s: math.ceil(s - HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}


def nearest_index(axis: ResampledAxis, s: Fraction) -> int:
    """The element that mode nearest reads. s = 1/2: 1 with half_up, 0 with round_prefer_floor."""
    return min(max(_ROUNDED[axis.rules.nearest](s), 0), axis.source_size - 1)
