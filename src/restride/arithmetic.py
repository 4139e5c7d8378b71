"""What a reorder computes, checked and in one canonical form: scales, zero points, sum, rounding, saturation.

Two calls that mean the same make equal values here, and so share a plan and its pipelines: arguments that change
nothing (a scale of 1, a zero point of 0) are as if left out, and so are settings that these element types never ask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.desc import TensorDesc
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.integers import integers
from restride.post_ops import PostOp
from restride.post_ops import post_ops as its_post_ops
from restride.scales import as_float32, numbers, refined, scale_array, value_range, zero_point_array

ROUNDINGS = ("nearest_even", "truncate", "half_away")
"""How a number becomes an integer: to the nearest, ties to even; toward zero; to the nearest, ties away from zero."""


@dataclass(frozen=True)
class Scaling:
    """The scale and the zero point of one side of a reorder.

    Attributes:
        sizes: entries along each axis; 1: one for the whole axis.
        groups: indices along each axis that share an entry: index i has entry ``i // group``; 1 where ``sizes`` is 1.
        pairs: float32 (scale, zero point) of each entry, row-major; an absent one is (1, 0).
        has_scale: the step that multiplies or divides is there.
        has_zero_point: the step that subtracts or adds is there.
    """

    sizes: tuple[int, ...]
    groups: tuple[int, ...]
    pairs: bytes
    has_scale: bool
    has_zero_point: bool

    @property
    def count(self) -> int:
        """Number of entries."""
        return math.prod(self.sizes)

    def permuted(self, axes: Sequence[int]) -> Scaling:
        """The same for a tensor whose axis k is axis ``axes[k]`` of this one."""
        entries = np.frombuffer(self.pairs, np.float32).reshape(*self.sizes, 2)
        return Scaling(
            tuple(self.sizes[axis] for axis in axes),
            tuple(self.groups[axis] for axis in axes),
            entries.transpose(*axes, len(self.sizes)).tobytes(),
            self.has_scale,
            self.has_zero_point,
        )


@dataclass(frozen=True)
class Arithmetic:
    """What is done to every element on its way.

    Attributes:
        src: scale and zero point of the source, in its axes.
        dst: scale and zero point of the destination, in its axes.
        sum_scale: what the old destination is multiplied by before it is added, a number that float32 has.
        rounding: one of ROUNDINGS.
        saturate: what leaves the destination's range becomes its bound.
        rounds_first: the quotient is rounded to an integer before the destination's zero point is added.
        post_ops: what is done in turn to what the sum gives, before the destination's scale.
    """

    src: Scaling | None = None
    dst: Scaling | None = None
    sum_scale: float | None = None
    rounding: str = "nearest_even"
    saturate: bool = True
    rounds_first: bool = False
    post_ops: tuple[PostOp, ...] = ()

    @property
    def is_conversion(self) -> bool:
        """True where no step is left but the one from type to type: no scale, zero point, sum or post-op."""
        return self.src is None and self.dst is None and self.sum_scale is None and not self.post_ops


NO_ARITHMETIC = Arithmetic()
"""Elements go from type to type, the default way."""


def arithmetic(
    src: TensorDesc,
    dst: TensorDesc,
    order: Sequence[int],
    *,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    sum_scale: Any = None,
    group_sizes: Any = None,
    rounding: str = "nearest_even",
    saturate: bool = True,
    rounds_first: bool = False,
    post_ops: Any = None,
) -> Arithmetic:
    """The arithmetic of a reorder from ``src`` to ``dst``, whose axis k is axis ``order[k]`` of ``src``.

    Scales and zero points are numbers or whatever numpy makes arrays of numbers of; they count as float32, rounded to
    nearest even. Those of a side broadcast against its sizes by numpy's rules; along an axis of n elements in groups of
    g (``group_sizes``, one an axis of ``src``, 1: none) an array of that rank may have ``ceil(n / g)`` entries too.

    Raises:
        DescriptorError: a scale is 0 or not finite; a zero point is not finite or, on a side of integers, no integer of
            that type; arrays do not broadcast; groups are not one an axis, below 1 or of nothing; ``sum_scale`` is no
            finite number; an unknown rounding; ``saturate`` is no bool; post-ops are none (``restride.post_ops``).

    Source: oneDNN specification, Reorder and Quantization; ONNX, QuantizeLinear (blocks).
    """
    if rounding not in ROUNDINGS:
        raise DescriptorError(f"rounding must be one of {', '.join(map(repr, ROUNDINGS))}, got {rounding!r}, for {src}")
    require_saturate(saturate, src)
    groups = (1,) * src.rank
    if group_sizes is not None:
        if all(given is None for given in (src_scale, src_zero_point, dst_scale, dst_zero_point)):
            raise DescriptorError(f"group_sizes need a scale or a zero point, got {group_sizes!r} alone, for {src}")
        groups = _group_sizes(group_sizes, src)
    dst_groups = tuple(groups[axis] for axis in order)
    given = Arithmetic(
        _scaling("src", src, groups, src_scale, src_zero_point),
        _scaling("dst", dst, dst_groups, dst_scale, dst_zero_point),
        _sum_scale(sum_scale, src),
        rounding,
        bool(saturate),
        rounds_first,
        its_post_ops(post_ops, src),
    )
    return _canonical(src.dtype, dst.dtype, given)


def require_saturate(saturate: Any, src: TensorDesc) -> None:
    """Raise DescriptorError unless ``saturate`` is a bool."""
    if not isinstance(saturate, bool | np.bool_):
        raise DescriptorError(f"saturate must be True or False, got {saturate!r}, for {src}")


def _canonical(src: DType, dst: DType, given: Arithmetic) -> Arithmetic:
    """``given`` with the defaults for what these element types never ask."""
    to_integer = not dst.is_float and dst != "pred"
    # Zero points of integers are integers, and integers stay integers in float32, however large.
    scaled = any(side is not None and side.has_scale for side in (given.src, given.dst))
    is_integral = not (src.is_float or scaled or given.sum_scale is not None or given.post_ops)
    rounds_first = (
        given.rounds_first
        and not (given.is_conversion or is_integral)
        and not (to_integer and (given.dst is None or not given.dst.has_zero_point))  # rounded there anyway
    )
    rounds = rounds_first or (to_integer and not is_integral)
    overflows = dst not in ("pred", "bf16", "f32", "f64") and not (given.is_conversion and _holds(dst, src))
    return Arithmetic(
        given.src,
        given.dst,
        given.sum_scale,
        given.rounding if rounds else "nearest_even",
        given.saturate or not overflows,
        rounds_first,
        given.post_ops,
    )


def _holds(dst: DType, src: DType) -> bool:
    """True if no element of ``src`` leaves the range of ``dst``, or if the two are one type, whose bits are copied."""
    if src == dst:
        return True
    has_infinities = src.is_float and src != "f8e4m3fn"
    (low, high), (lowest, highest) = value_range(src), value_range(dst)
    return not has_infinities and lowest <= low and high <= highest


def _group_sizes(group_sizes: Any, src: TensorDesc) -> tuple[int, ...]:
    groups = integers("group_sizes", group_sizes, src.__str__)
    if len(groups) != src.rank or any(group < 1 for group in groups):
        raise DescriptorError(f"group_sizes must be {src.rank} integers of 1 or more, got {groups}, for {src}")
    return groups


def _sum_scale(value: Any, src: TensorDesc) -> float | None:
    if value is None:
        return None
    scale = as_float32(numbers("sum_scale", value, src))
    if scale.ndim or not np.isfinite(scale):
        raise DescriptorError(f"sum_scale must be one number, finite as f32, got {value!r}, for {src}")
    return float(scale) or None


def _scaling(side: str, desc: TensorDesc, groups: tuple[int, ...], scale: Any, zero_point: Any) -> Scaling | None:
    scales = None if scale is None else scale_array(f"{side}_scale", scale, desc, groups)
    zero_points = None if zero_point is None else zero_point_array(f"{side}_zero_point", zero_point, desc, groups)
    given = [array for array in (scales, zero_points) if array is not None]
    if not given:
        return None
    # Along an axis an array has 1, ceil(n / g) or n entries, so the most of them is what all can be brought to.
    sizes = tuple(max(counts) for counts in zip(*(array.shape for array in given), strict=True))
    pairs = np.empty((*sizes, 2), np.float32)
    pairs[..., 0] = 1 if scales is None else refined(scales, sizes, groups)
    pairs[..., 1] = 0 if zero_points is None else refined(zero_points, sizes, groups)
    return Scaling(
        sizes,
        tuple(
            group if count not in (1, size) else 1 for count, size, group in zip(sizes, desc.sizes, groups, strict=True)
        ),
        pairs.tobytes(),
        scales is not None,
        zero_points is not None,
    )
