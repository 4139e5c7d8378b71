"""Compare results with the reference: how many elements are wrong, and how far elements may differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restride.dtypes import Array


@dataclass(frozen=True)
class Comparison:
    """The outcome of a comparison: ``wrong`` of ``count`` elements lie outside their limits.

    difference: the largest distance between an element and the reference's answer.
    allowed: the largest distance that any element may have; 0 if the bits must be equal.
    """

    wrong: int
    count: int
    difference: float
    allowed: float

    @property
    def passed(self) -> bool:
        """True when every element is within its limits."""
        return self.wrong == 0

    def __str__(self) -> str:
        verdict = "OK" if self.passed else f"FAILED, {self.wrong} of {self.count} elements are wrong"
        return f"largest difference {self.difference:.3g} (allowed {self.allowed:.3g}): {verdict}"


def compare_bits(actual: Array, expected: Array) -> Comparison:
    """Compare results whose bits must all be equal: copies, conversions and nearest resampling."""
    _require_alike(actual, expected)
    wrong = int(np.count_nonzero(bits_of(actual) != bits_of(expected)))
    return Comparison(wrong, actual.size, _largest_distance(actual, expected) if wrong else 0.0, 0.0)


def compare_limits(actual: Array, answer: Array, lowest: Array, highest: Array) -> Comparison:
    """Compare elements, each ``within`` limits of its own around ``answer``."""
    _require_alike(actual, answer)
    wrong = actual.size - int(np.count_nonzero(within(actual, lowest, highest)))
    allowed = max(_largest_distance(lowest, answer), _largest_distance(highest, answer))
    return Comparison(wrong, actual.size, _largest_distance(actual, answer), allowed)


def flush_limits(answer: Array, flushed: Array) -> tuple[Array, Array]:
    """The lowest and the highest elements that are right if a device may flush f32 denormals in any of its steps.

    flushed: the elements of a device that flushes in all steps.
    """
    with np.errstate(invalid="ignore"):  # bf16 and the 8-bit floats warn when NaN is compared
        is_lower = flushed < answer
    return np.where(is_lower, flushed, answer), np.where(is_lower, answer, flushed)


def within(elements: Array, lowest: Array, highest: Array) -> Array:
    """True for each element from ``lowest`` to ``highest``, both inclusive.

    If both limits have the same bits, the element must have these bits; but if both are NaN, any NaN is right. If only
    ``highest`` is NaN, NaN and every value from ``lowest`` up are right; if only ``lowest`` is NaN, only NaN is right.
    """
    with np.errstate(invalid="ignore"):  # converting a signalling NaN warns
        values, low, high = (array.astype(np.float64) for array in (elements, lowest, highest))
    not_a_number = np.isnan(values) & (np.isnan(low) | np.isnan(high))
    inside = (low <= values) & ((values <= high) | np.isnan(high)) | not_a_number
    one = (bits_of(lowest) == bits_of(highest)) & ~np.isnan(low)  # bits: <= ignores a zero's sign, and f64 rounds s64
    return np.where(one, bits_of(elements) == bits_of(lowest), inside)


def bits_of(elements: Array) -> Array:
    """The bits of elements as unsigned integers of the same size."""
    return np.asarray(elements).view(f"u{elements.dtype.itemsize}")


def distances(a: Array, b: Array) -> Array:
    """|a - b| of each pair, as f64; infinite where they differ and at least one of them is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        if a.dtype.kind in "iu" and a.dtype.itemsize == 8:
            # Subtracted as u64, because f64 has only 53 bits. For s64, 3 - -2 is 3 - (2^64 - 2) = 5 modulo 2^64.
            return (np.maximum(a, b).view(np.uint64) - np.minimum(a, b).view(np.uint64)).astype(np.float64)
        left, right = a.astype(np.float64), b.astype(np.float64)
        alike = (left == right) | (np.isnan(left) & np.isnan(right))
        return np.where(alike, 0.0, np.nan_to_num(np.abs(left - right), nan=np.inf, posinf=np.inf))


def _require_alike(actual: Array, expected: Array) -> None:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise AssertionError(f"result {actual.dtype}{actual.shape}, reference {expected.dtype}{expected.shape}")


def _largest_distance(a: Array, b: Array) -> float:
    return float(distances(a, b).max(initial=0.0))
