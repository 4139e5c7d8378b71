"""Compare results with the reference: how many elements are wrong, and how far elements may differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from restride.cli.files import Array


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
    wrong = int(np.count_nonzero(_bits(actual) != _bits(expected)))
    return Comparison(wrong, actual.size, _distance(actual, expected) if wrong else 0.0, 0.0)


def compare_limits(actual: Array, answer: Array, lowest: Array, highest: Array) -> Comparison:
    """Compare elements, each with its own interval around ``answer``; NaN is right where ``lowest`` is NaN."""
    _require_alike(actual, answer)
    values, low, high = (array.astype(np.float64) for array in (actual, lowest, highest))
    right = ((low <= values) & (values <= high)) | (np.isnan(low) & np.isnan(values))
    allowed = max(_distance(lowest, answer), _distance(highest, answer))
    return Comparison(int(np.count_nonzero(~right)), actual.size, _distance(actual, answer), allowed)


def compare_flushed(actual: Array, answer: Array, flushed: Array) -> Comparison:
    """Compare elements whose bits must be those of ``answer``, where any NaN is right for a NaN.

    A device may flush f32 denormals to zero in some or all of its steps: where that makes a difference, ``flushed`` and
    every value between the two is also right.
    """
    _require_alike(actual, answer)
    values, one, other = (array.astype(np.float64) for array in (actual, answer, flushed))
    is_between = (np.minimum(one, other) <= values) & (values <= np.maximum(one, other))
    right = (_bits(actual) == _bits(answer)) | (np.isnan(values) & np.isnan(one))
    right |= is_between & (_bits(answer) != _bits(flushed))
    return Comparison(int(np.count_nonzero(~right)), actual.size, _distance(actual, answer), _distance(answer, flushed))


def _require_alike(actual: Array, expected: Array) -> None:
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise AssertionError(f"result {actual.dtype}{actual.shape}, reference {expected.dtype}{expected.shape}")


def _distance(a: Array, b: Array) -> float:
    """The largest |a - b|; infinity if in some pair only one side is finite."""
    if not a.size:
        return 0.0
    with np.errstate(invalid="ignore"):
        left, right = a.astype(np.float64), b.astype(np.float64)
        apart = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0.0, np.abs(left - right))
    return float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max())


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
