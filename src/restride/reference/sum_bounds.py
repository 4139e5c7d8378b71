"""How far an f32 evaluation of nested weighted sums may lie from the exact one: a bound with its derivation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from restride.reference.conversion import convert
from restride.reference.exact import Array
from restride.reference.weight_rows import Rows

_F32_UNIT = 2.0**-24  # largest relative error of one rounding to f32
_F32_DENORMAL_UNIT = 2.0**-150  # largest absolute error of one rounding among f32's denormals

WeightedAxes = Sequence[tuple[int, Rows]]
"""Axes of an array and the rows of weights along each."""


def nested_sums(values: Array, weighted: WeightedAxes, *, absolute: bool = False) -> Array:
    """The weighted sums of ``values`` (f64) along every axis, last axis first; with ``absolute``, of magnitudes."""
    for axis, rows in sorted(weighted, key=lambda pair: pair[0], reverse=True):
        values = rows.times(values, axis, absolute=absolute)
    return values


def rounded_sums(elements: Array, weighted: WeightedAxes, rounding: str) -> tuple[Array, Array]:
    """The sums along one axis after the other, in this order, rounded to the elements' type between; and their bound.

    What is off by less than the distance to the next tie is rounded to the same integer; else to the next one, and then
    the sums of the axis that follows are off by its weights.
    """
    sums, bound = elements.astype(np.float64), np.zeros(elements.shape)
    for place, (axis, rows) in enumerate(weighted):
        if place:
            low, sums, high = (
                convert(end, elements.dtype, rounding).astype(np.float64) for end in (sums - bound, sums, sums + bound)
            )
            bound = np.maximum(sums - low, high - sums)
        own = sum_bound(elements, np.abs(sums) + bound, [(axis, rows)])
        sums, bound = rows.times(sums, axis), rows.times(bound, axis, absolute=True) + own
    return sums, bound


def sum_bound(elements: Array, values: Array, weighted: WeightedAxes) -> Array:
    """``(3 * axes + taps) * 2^-24 * sum|weight * tap|`` of each sum; ``values`` are the elements in f64.

    ``taps`` is the product over the axes of the weights in the row that are not 0: of K taps an axis, K^axes.

    Derivation, with u = 2^-24, the largest relative error of one rounding to f32. In the nested order, last axis
    first, an axis with K taps rounds every term at most K + 1 times: its weight, the product, and K - 1 additions, in
    whatever order or in parts. Over the axes that is ``axes + sum of K``, at most ``2 * axes + taps - 1``, as a product
    of integers from 1 on is at least their sum less ``axes - 1``. A flat order has ``taps - 1`` additions, ``axes``
    weights and as many products: ``2 * axes + taps - 1`` too. The ``axes + 1`` units that are left cover the terms in
    u^2, and weights that an f64 evaluation puts on the other side of a tie of f32: off by 2u, not by u.

    s32 and u32 elements are converted to f32 first, half an ulp of f32 each, at most ``u * |tap|``: one more u; none
    for the types that f32 holds exactly. Roundings among denormals err by up to 2^-150 each instead, which is added.
    A sum may only pass the largest f32 on its way where ``sum|weight * tap|`` does; then nothing is bounded here.

    Where no step of the weighted sums can round in f32, in whatever order they are taken, the bound is 0 (see
    ``_is_exact_in_f32``). Around a sum that is not finite the bound is not finite either.
    """
    is_wide = elements.dtype.kind in "iu" and elements.dtype.itemsize == 4
    magnitude = nested_sums(values, weighted, absolute=True)
    if _is_exact_in_f32(values, weighted, is_wide=is_wide):
        return np.zeros(magnitude.shape)
    taps = np.ones((1,) * values.ndim)
    for axis, rows in weighted:
        along = [1] * values.ndim
        along[axis] = len(rows.taps)
        taps = taps * rows.taps.reshape(along)
    roundings = 3 * len(weighted) + taps + int(is_wide)
    bound: Array = roundings * (_F32_UNIT * magnitude + _F32_DENORMAL_UNIT)
    return bound


def _is_exact_in_f32(values: Array, weighted: WeightedAxes, *, is_wide: bool) -> bool:
    """True where every product and sum of the weighted sums is an integer of at most 24 bits, times one power of two.

    u8 halved along two axes: elements below 2^8, weights 1/2, so sums of products are multiples of 2^-2 below 2^8: 10
    bits. A partial sum is at most the largest ``sum|weight|`` of each axis times the largest element: 1 for weights
    that only average, 1.375 for cubic at 1/2. (``a + w * (b - a)`` needs a bit more for the difference.)
    Weights 0 and 1, at most one 1 a row, only move elements: exact unless integers lose bits on their way to f32.
    """
    if all(rows.only_move for _, rows in weighted) and not (is_wide and (values.astype(np.float32) != values).any()):
        return True
    if not np.isfinite(values).all():
        return False
    bits = _fraction_bits(values) + sum(_fraction_bits(rows.weight) for _, rows in weighted)
    growth = math.prod(np.abs(rows.weight).sum(axis=1).max(initial=0.0) for _, rows in weighted)
    return bool(np.abs(values).max(initial=0.0) * max(growth, 1.0) <= 2.0 ** (24 - bits))


def _fraction_bits(values: Array) -> int:
    """The least n >= 0 such that every value is a multiple of 2^-n; 1100, more than any has, where none below 24 is."""
    return next((bits for bits in range(24) if (np.ldexp(values, bits) % 1 == 0).all()), 1100)
