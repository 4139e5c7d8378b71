"""Scales, zero points and the sum of a reorder: f32 steps, each rounded once, in the order that oneDNN specifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.errors import DescriptorError
from restride.reference.arguments import Array
from restride.reference.conversion import convert

_SMALLEST_NORMAL = np.float32(2.0**-126)


@dataclass(frozen=True, eq=False)
class Steps:
    """The computation of a reorder between its two conversions; None means that a step is left out.

    ``src_*`` have the sizes of the source, ``dst_*`` those of the result, whose axis k is axis ``order[k]`` of the
    source. ``rounds_first``: the quotient is rounded to an integer before ``dst_zero_point`` is added (ONNX).
    ``post_ops``: ("relu",), ("relu", slope), ("clip", low, high), ("linear", factor, term), in order, after the sum.
    ``flushes``: f32 denormals are replaced by zeros of their sign, in operands and results, as on some devices.
    """

    order: tuple[int, ...]
    src_scale: Array | None
    src_zero_point: Array | None
    dst_scale: Array | None
    dst_zero_point: Array | None
    sum_scale: Array | None
    rounds_first: bool = False
    flushes: bool = False
    post_ops: tuple[tuple[Any, ...], ...] = ()

    @property
    def are_none(self) -> bool:
        """True if there is only a conversion."""
        sides = (self.src_scale, self.src_zero_point, self.dst_scale, self.dst_zero_point)
        return self.sum_scale is None and not self.post_ops and all(values is None for values in sides)


def entries(
    argument: str, value: Any, sizes: Sequence[int], group_sizes: Sequence[int], neutral: float
) -> Array | None:
    """A scale or zero point as one f32 for each element of ``sizes``; None if it is absent or ``neutral`` everywhere.

    Index i along an axis uses entry ``i // group``: 2 scales a and b, group 3, size 5 are a a a b b.

    Raises:
        DescriptorError: the array does not broadcast against the sizes.
    """
    if value is None:
        return None
    values = array = convert(value, np.float32)
    for axis in range(len(sizes) if array.ndim == len(sizes) else 0):
        size, group, count = sizes[axis], group_sizes[axis], array.shape[axis]
        if count not in {1, size} and count == -(-size // group):
            values = np.take(values, np.arange(size) // group, axis)
    try:
        values = np.broadcast_to(values, sizes)
    except ValueError:
        raise DescriptorError(
            f"{argument} of sizes {list(array.shape)} must broadcast against {list(sizes)}, "
            f"group_sizes {list(group_sizes)}"
        ) from None
    return None if (values == neutral).all() else values


def computed(array: Array, old: Array | None, steps: Steps, rounding: str) -> Array:
    """``(src_scale * (array - src_zero_point) + sum_scale * old) / dst_scale + dst_zero_point`` in f32.

    ``array`` and ``old`` are elements of any type, rounded to f32 once. Each step is one correctly rounded operation of
    numpy on two float32 arrays, which no compiler contracts. s32 16777217 with scale 3: f32 holds 16777216, and the
    product is 50331648.
    """

    def f32(values: Array) -> Array:
        return _flushed(values) if steps.flushes else values

    with np.errstate(all="ignore"):
        v = f32(convert(array, np.float32))
        if steps.src_zero_point is not None:
            v = f32(v - f32(steps.src_zero_point))
        if steps.src_scale is not None:
            v = f32(f32(steps.src_scale) * v)
        v = v.transpose(steps.order)
        if steps.sum_scale is not None and old is not None:
            v = f32(v + f32(f32(steps.sum_scale) * f32(convert(old, np.float32))))
        for name, *numbers in steps.post_ops:
            v = f32(_post_op(v, name, [np.float32(np.nan if number is None else number) for number in numbers]))
        if steps.dst_scale is not None:
            v = f32(v / f32(steps.dst_scale))
        if steps.rounds_first:
            v = _rounded(v, rounding)
        if steps.dst_zero_point is not None:
            v = f32(v + f32(steps.dst_zero_point))
    return v


def _post_op(v: Array, name: str, numbers: list[np.float32]) -> Array:
    """The result of one post-op; a NaN bound of ``clip`` means no bound."""
    if name == "linear":
        return numbers[0] * v + numbers[1]
    if name == "clip":
        return np.where(v < numbers[0], numbers[0], np.where(v > numbers[1], numbers[1], v))
    slope = numbers[0] if numbers else np.float32(0)
    below = slope * v if slope else np.float32(0)
    return np.where(np.signbit(v) & ~np.isnan(v), below, v)


def _flushed(values: Array) -> Array:
    return np.where(np.abs(values) < _SMALLEST_NORMAL, np.copysign(np.float32(0), values), values)


def _rounded(values: Array, rounding: str) -> Array:
    """Each f32 rounded to an integer, still f32: 2.5 is 2, 2, 3 with nearest_even, truncate, half_away."""
    if rounding == "nearest_even":
        return np.rint(values)
    toward_zero = np.trunc(values)
    if rounding == "truncate":
        return toward_zero
    # The difference is exact: both numbers are multiples of the last bit of the larger one.
    is_up = np.abs(values - toward_zero) >= np.float32(0.5)
    return np.where(is_up, toward_zero + np.copysign(np.float32(1), values), toward_zero)
