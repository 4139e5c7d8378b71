"""What a reorder computes, checked and in one canonical form: scales, zero points, sum, rounding, saturation.

Two calls that mean the same make equal values here, and so share a plan and its pipelines: arguments that change
nothing (a scale of 1, a zero point of 0) are as if left out, and so are settings that these element types never ask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from restride.arguments import integers
from restride.dtypes import DType
from restride.errors import DescriptorError
from restride.layout import TensorDesc

# Scales and zero points at the door: float32 arrays with all axes out of whatever numbers the caller has, checked.


def scale_array(argument: str, value: Any, desc: TensorDesc, groups: tuple[int, ...]) -> npt.NDArray[np.float32] | None:
    """Checked, with all axes; None where all are 1."""
    given = _broadcasting(argument, value, desc, groups)
    scales = as_float32(given)
    _require_all(np.isfinite(scales) & (scales != 0), argument, "finite and not 0 as f32", given, desc)
    return None if (scales == 1).all() else scales


def zero_point_array(
    argument: str, value: Any, desc: TensorDesc, groups: tuple[int, ...]
) -> npt.NDArray[np.float32] | None:
    """Checked, with all axes; None where all are 0."""
    given = _broadcasting(argument, value, desc, groups)
    if not desc.dtype.is_float:
        require_of_type(argument, given, desc)
    zero_points = as_float32(given)
    _require_all(np.isfinite(zero_points), argument, "finite as f32", given, desc)
    return zero_points if zero_points.any() else None


def refined(array: npt.NDArray[np.float32], sizes: tuple[int, ...], groups: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """``array`` with an entry for each index where another array of its side has one: 2 of 3 become 5 as 0 0 0 1 1."""
    for axis, (count, wanted, group) in enumerate(zip(array.shape, sizes, groups, strict=True)):
        if count not in (1, wanted):
            array = np.take(array, np.arange(wanted) // group, axis)
    return array


@cache
def value_range(dtype: DType) -> tuple[int, int]:
    """The lowest and the highest finite value."""
    if dtype == "pred":
        return 0, 1
    limits = ml_dtypes.finfo(dtype.dtype) if dtype.is_float else np.iinfo(dtype.dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def require_unit(name: str, values: npt.NDArray[Any], desc: TensorDesc) -> None:
    """Refuse a mean or a deviation of integers that counts elements, as those of 0 to 255, and not the range 0 to 1."""
    if not desc.dtype.is_float and (np.abs(values) > 1).any():
        _, largest = value_range(desc.dtype)
        worst = values.flat[np.abs(values).argmax()]
        raise DescriptorError(
            f"{name} must be within -1 and 1, for elements of {desc.dtype} are divided by {largest} first, got "
            f"{worst:g}: in the unit of elements it is mean / {largest} and std / {largest}, for {desc}"
        )


def numbers(argument: str, value: Any, desc: TensorDesc) -> npt.NDArray[Any]:
    """``value`` as an array of real numbers: numpy's integers and floats, and those of ml_dtypes."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise DescriptorError(
            f"{argument} must be numbers, not this {type(value).__name__}: {error}, for {desc}"
        ) from error
    is_extension = array.dtype.kind == "V" and not issubclass(array.dtype.type, np.void)
    if array.dtype.kind not in "iuf" and not is_extension:
        raise DescriptorError(f"{argument} must be numbers, got an array of {array.dtype}, for {desc}")
    return array


def as_float32(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """``array`` rounded to nearest even, or itself."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large, or NaN, is refused with its place
        return array.astype(np.float32, copy=False)


def _broadcasting(argument: str, value: Any, desc: TensorDesc, groups: tuple[int, ...]) -> npt.NDArray[Any]:
    """``value`` as an array with all the axes of ``desc``, along each of which its entries are 1, one each or groups.

    Example: for sizes 2,64 in groups of 1,32 these sizes broadcast: (), 64, 1,64, 2,1, 2,2 and 2,64.
    """
    array = numbers(argument, value, desc)
    shape = (1,) * (desc.rank - array.ndim) + array.shape
    fits = [
        count in (1, size) or (array.ndim == desc.rank and count == -(-size // group))
        for count, size, group in zip(shape, desc.sizes, groups, strict=False)
    ]
    if array.ndim > desc.rank or not all(fits):
        raise DescriptorError(f"{argument} of sizes {list(array.shape)} {_misfit(array, fits, desc, groups)}")
    return array.reshape(shape)


def _misfit(array: npt.NDArray[Any], fits: list[bool], desc: TensorDesc, groups: tuple[int, ...]) -> str:
    """The rule that an array breaks which does not broadcast; with all axes, along its first wrong one."""
    if array.ndim != desc.rank:
        is_grouped = max(groups, default=1) > 1
        grouped = f" in groups of {list(groups)}, which need all {desc.rank} axes," if is_grouped else ""
        return f"must broadcast{grouped} against {desc}"
    axis = fits.index(False)
    size, group = desc.sizes[axis], groups[axis]
    grouped = f" in groups of {group}" if group > 1 else ""
    counts = " or ".join(map(str, sorted({1, -(-size // group), size})))
    return (
        f"must broadcast against {desc}: axis {axis} of size {size}{grouped} takes {counts} entries, "
        f"not {array.shape[axis]}"
    )


def require_of_type(argument: str, given: npt.NDArray[Any], desc: TensorDesc) -> None:
    """Check that integers have zero points of their own type, before float32 rounds 2147483647 to 2147483648."""
    values = given if given.dtype.kind in "iu" else given.astype(np.float64)
    low, high = value_range(desc.dtype)
    rule = f"an integer of {desc.dtype}, {low} to {high}"
    if values.dtype.kind == "f":
        is_integral = np.isfinite(values) & (values == np.trunc(values))
        remedy = "; a side of floats takes any finite number: dst_zero_point of a float result"
        _require_all(is_integral, argument, rule, given, desc, remedy)
    for position in (values.argmin(), values.argmax()) if values.size else ():
        # numpy would round the bounds of 64-bit integers to compare them; Python's numbers compare exactly.
        if not low <= values.flat[position].item() <= high:
            inside = np.ones(values.shape, bool)
            inside.flat[position] = False
            _require_all(inside, argument, rule, given, desc)


def _require_all(
    holds: npt.NDArray[np.bool_], argument: str, rule: str, given: npt.NDArray[Any], desc: TensorDesc, remedy: str = ""
) -> None:
    if holds.all():
        return
    entry = tuple(int(index) for index in np.unravel_index(int(holds.argmin()), holds.shape))
    where = f" at entry {entry}" if holds.size > 1 else ""
    raise DescriptorError(f"{argument} must be {rule}, got {given[entry]}{where}, for {desc}{remedy}")


# Post-ops at the door: relu, clip and linear, done on every result in turn before the destination's scale.
#
# Source: oneDNN specification, Post-ops (eltwise_relu, eltwise_clip, eltwise_linear).

NAMES = ("linear", "clip", "relu")
"""Kinds, from 1 on as shaders/include/scales.glsl numbers them."""

MOST = 4


class PostOp(NamedTuple):
    """``linear``: ``first * v + second``; ``clip``: v from ``first`` to ``second``; ``relu``: ``first * v`` below 0.

    Both are numbers that float32 has.
    """

    name: str
    first: float
    second: float


def checked_post_ops(given: Any, desc: TensorDesc) -> tuple[PostOp, ...]:
    """``given``, a sequence of tuples: ("relu",), ("relu", slope), ("clip", low, high), ("linear", factor, term).

    A bound of ``clip`` may be None. NaN stays NaN. The slope of ``relu`` is 0 or more, and the result 0 where it is 0.

    Raises:
        DescriptorError: not such a sequence, or more than four; a number is no number, or out of place.
    """
    if given is None:
        return ()
    members = _members(given, desc)
    if isinstance(given, str) or not all(isinstance(op, tuple | list) and op for op in members):
        raise DescriptorError(f"post_ops must be tuples such as ('relu',) or ('clip', 0, 6), got {given!r}, for {desc}")
    ops = tuple(_post_op(op, desc) for op in members)
    if len(ops) > MOST:
        raise DescriptorError(f"post_ops are {len(ops)}, more than {MOST}, for {desc}")
    return ops


def _members(given: Any, desc: TensorDesc) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise DescriptorError(f"post_ops must be a sequence of tuples, got {given!r}, for {desc}") from None


def _post_op(op: Any, desc: TensorDesc) -> PostOp:
    name, *values = op
    counts = {"linear": (2,), "clip": (2,), "relu": (0, 1)}
    if not isinstance(name, str) or name not in counts:
        raise DescriptorError(f"post_ops has {name!r}, which is none of {', '.join(map(repr, NAMES))}, for {desc}")
    if len(values) not in counts[name]:
        raise DescriptorError(f"post_ops has {op!r}: {name} takes {counts[name][-1]} numbers, for {desc}")
    if name == "clip":
        low = -math.inf if values[0] is None else _number(op, values[0], desc)
        high = math.inf if values[1] is None else _number(op, values[1], desc)
        if low > high:
            raise DescriptorError(f"post_ops has {op!r}, whose low is above its high, for {desc}")
        return PostOp("clip", low, high)
    first, second = (*(_number(op, value, desc) for value in values), 0.0, 0.0)[:2]
    if not (math.isfinite(first) and math.isfinite(second)):
        raise DescriptorError(f"post_ops has {op!r}, whose numbers must be finite as f32, for {desc}")
    if name == "relu" and first < 0:
        raise DescriptorError(f"post_ops has {op!r}: the slope of relu must be 0 or more, for {desc}")
    return PostOp(name, first, second)


def _number(op: Any, value: Any, desc: TensorDesc) -> float:
    number = as_float32(numbers("post_ops", value, desc))
    if number.ndim or np.isnan(number):
        raise DescriptorError(f"post_ops has {op!r}, whose numbers must be numbers, for {desc}")
    return float(number)


# What a reorder computes, checked and in one canonical form: scales, zero points, sum, rounding, saturation.

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
            finite number; an unknown rounding; ``saturate`` is no bool; post-ops are none (``restride.arithmetic``).

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
        checked_post_ops(post_ops, src),
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
