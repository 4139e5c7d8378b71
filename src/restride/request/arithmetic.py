"""Arithmetic: what an operation does to every element, as one checked value in canonical form.

Calls with the same meaning give equal values, and so share a plan and its pipelines: arguments that change nothing (a
scale of 1, a zero point of 0) are left out, and so are settings that make no difference for the element types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy, integers, require_word
from restride.dtypes import Array, DType
from restride.errors import DescriptorError, ErrorContext, shown
from restride.kernel.shared_constants import MAX_POST_OPS
from restride.layout import TensorDesc

Rounding: TypeAlias = Literal["nearest_even", "truncate", "half_away"]
ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)
"""Roundings to an integer: to the nearest, ties to even; toward zero; to the nearest, ties away from zero."""

POST_OPS = ("linear", "clip", "relu")
"""Kinds of post-op, whose numbers are in ``restride.kernel.shared_constants``."""

MAX_PAIRS = 1 << 24
"""Maximum number of scale and zero point pairs of a side, unless one array has more: [n,1] and [1,m] give n * m."""


class NumberArguments(TypedDict, total=False):
    """Arguments of ``rs.reorder`` that change numbers, for functions that pass them on."""

    src_scale: Any
    src_zero_point: Any
    dst_scale: Any
    dst_zero_point: Any
    post_ops: Iterable[tuple[Any, ...]] | None
    rounding: Rounding
    saturate: bool


class Numbers(NamedTuple):
    """The arguments of an operation that change numbers, as the caller wrote them, as one value.

    They are those of ``rs.reorder``, in its order, and ``rounds_first``: the quotient is rounded to an integer before
    the destination's zero point is added, as ``rs.quantize`` does.
    """

    src_scale: Any = None
    src_zero_point: Any = None
    dst_scale: Any = None
    dst_zero_point: Any = None
    sum_scale: Any = None
    group_sizes: Any = None
    rounding: str = "nearest_even"
    saturate: bool = True
    post_ops: Any = None
    rounds_first: bool = False


class PostOp(NamedTuple):
    """A step on every result, before the destination's scale; its numbers are exact in float32.

    ``linear``: ``first * v + second``; ``clip``: v from ``first`` to ``second``; ``relu``: ``first * v`` below 0.

    Source: oneDNN specification, Post-ops (eltwise_linear, eltwise_clip, eltwise_relu).
    """

    name: str
    first: float
    second: float


@dataclass(frozen=True)
class Scaling:
    """The scale and the zero point of one side of a reorder.

    Attributes:
        sizes: number of entries along each axis; 1: one for the whole axis.
        groups: indices along each axis that share an entry: index i has entry ``i // group``; 1 where ``sizes`` is 1.
        pairs: float32 (scale, zero point) of each entry, row-major; an absent scale is 1, an absent zero point 0.
        has_scale: the step that multiplies or divides applies.
        has_zero_point: the step that subtracts or adds applies.
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
        """The scaling of a tensor whose axis k is axis ``axes[k]`` of this one's."""
        entries = np.frombuffer(self.pairs, np.float32).reshape(*self.sizes, 2)
        return Scaling(
            tuple(self.sizes[axis] for axis in axes),
            tuple(self.groups[axis] for axis in axes),
            entries.transpose(*axes, len(self.sizes)).tobytes(),
            self.has_scale,
            self.has_zero_point,
        )

    def window(self, parts: Sequence[range]) -> Scaling:
        """The scaling of a part of the tensor, given by a range of indices for each axis.

        A part that begins inside a group gets an entry for each index: with groups of 4, indices 6 to 10 have entries
        1 1 2 2.
        """
        entries = np.frombuffer(self.pairs, np.float32).reshape(*self.sizes, 2)
        groups = list(self.groups)
        for axis, part in enumerate(parts):
            if self.sizes[axis] == 1:
                continue
            group = groups[axis]
            if part.start % group:
                entries, groups[axis] = np.take(entries, np.arange(part.start, part.stop) // group, axis), 1
            else:
                entries = np.take(entries, np.arange(part.start // group, -(-part.stop // group)), axis)
            groups[axis] = 1 if entries.shape[axis] == 1 else groups[axis]
        return Scaling(entries.shape[:-1], tuple(groups), entries.tobytes(), self.has_scale, self.has_zero_point)


@dataclass(frozen=True)
class Arithmetic:
    """The computation on every element between reading and writing it.

    Attributes:
        src: scale and zero point of the source, in its axes.
        dst: scale and zero point of the destination, in its axes.
        sum_scale: factor of the old destination before it is added, a number exact in float32; None: it is not added.
        rounding: one of ROUNDINGS.
        saturate: a result outside the destination's range becomes the nearest bound.
        rounds_first: the quotient is rounded to an integer before the destination's zero point is added.
        post_ops: applied in turn after the sum, before the destination's scale.
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
        """True if only the element type may change: no scale, zero point, sum or post-op."""
        return self.src is None and self.dst is None and self.sum_scale is None and not self.post_ops

    def window(self, parts: Sequence[range]) -> Arithmetic:
        """The arithmetic of a part of the tensor, given by a range of indices for each axis of the source.

        A step that changes nothing there still applies: what an element becomes does not depend on the part.
        """
        src, dst = (None if side is None else side.window(parts) for side in (self.src, self.dst))
        return replace(self, src=src, dst=dst)


NO_ARITHMETIC = Arithmetic()
"""Conversion from type to type, rounded to nearest even and saturated."""


def arithmetic(src: TensorDesc, dst: TensorDesc, order: Sequence[int], asked: Numbers | None = None) -> Arithmetic:
    """The arithmetic of a reorder from ``src`` to ``dst``, whose axis k is axis ``order[k]`` of ``src``.

    Scales and zero points are numbers, or anything that numpy turns into arrays of numbers; they are rounded to the
    nearest float32, ties to even. Those of a side broadcast against its sizes by numpy's rules; along an axis of n
    elements in groups of g (``group_sizes``, one for each axis of ``src``, 1: none) an array with all axes may have
    ``ceil(n / g)`` entries too.

    Raises:
        DescriptorError: a scale is 0 or not finite; a zero point is not finite or, on a side of integers, no integer of
            that type; arrays do not broadcast; groups are not one per axis, are below 1, or have nothing to group;
            ``sum_scale`` is not a finite number; ``rounding`` is unknown; ``saturate`` is not a bool; ``post_ops`` is
            not a sequence of up to four known tuples.

    Source: oneDNN specification, Reorder and Quantization; ONNX, QuantizeLinear (blocks).
    """
    if asked is None:
        return NO_ARITHMETIC
    with ErrorContext(src):
        require_word("rounding", asked.rounding, ROUNDINGS)
        require_word("saturate", asked.saturate, (True, False))
        groups = (1,) * src.rank
        if asked.group_sizes is not None:
            if all(number is None for number in asked[:4]):
                raise DescriptorError(f"group_sizes need a scale or a zero point, got {asked.group_sizes!r} alone")
            groups = _group_sizes(asked.group_sizes, src.rank)
        full = Arithmetic(
            _scaling("src", src, groups, asked.src_scale, asked.src_zero_point),
            _scaling("dst", dst, tuple(groups[axis] for axis in order), asked.dst_scale, asked.dst_zero_point),
            _sum_scale(asked.sum_scale),
            asked.rounding,
            bool(asked.saturate),
            asked.rounds_first,
            _post_ops(asked.post_ops),
        )
    return _canonical(src.dtype, dst.dtype, full)


def _canonical(src: DType, dst: DType, full: Arithmetic) -> Arithmetic:
    """``full`` with the default for every setting that makes no difference for these element types."""
    to_integer = not dst.is_float and dst.name != "pred"
    # Zero points do not matter here: those of integers are integers, and integers stay integers in float32, however
    # large.
    scaled = any(side is not None and side.has_scale for side in (full.src, full.dst))
    is_integral = not (src.is_float or scaled or full.sum_scale is not None or full.post_ops)
    rounds_first = (
        full.rounds_first
        and not (full.is_conversion or is_integral)
        and not (to_integer and (full.dst is None or not full.dst.has_zero_point))  # the result is rounded anyway
    )
    rounds = rounds_first or (to_integer and not is_integral)
    overflows = (to_integer or dst.format.saturates) and not (full.is_conversion and _holds(dst, src))
    rounding, saturate = full.rounding if rounds else "nearest_even", full.saturate or not overflows
    return Arithmetic(full.src, full.dst, full.sum_scale, rounding, saturate, rounds_first, full.post_ops)


def _holds(dst: DType, src: DType) -> bool:
    """True if no element of ``src`` is outside the range of ``dst``, or both are one type, whose bits are copied."""
    if src == dst:
        return True
    if src.format.infinity is not None:
        return False
    (low, high), (lowest, highest) = src.format.range, dst.format.range
    return lowest <= low and high <= highest


def _group_sizes(group_sizes: object, rank: int) -> tuple[int, ...]:
    groups = integers("group_sizes", group_sizes)
    if len(groups) != rank or any(group < 1 for group in groups):
        raise DescriptorError(f"group_sizes must be {rank} integers of 1 or more, got {groups}")
    return groups


def _sum_scale(value: object) -> float | None:
    if value is None:
        return None
    scale = _as_float32(numbers("sum_scale", value))
    if scale.ndim or not np.isfinite(scale):
        raise DescriptorError(f"sum_scale must be one number, finite as f32, got {value!r}")
    return float(scale) or None


def _scaling(side: str, desc: TensorDesc, groups: tuple[int, ...], scale: object, zero_point: object) -> Scaling | None:
    if scale is None and zero_point is None:
        return None
    with ErrorContext(desc):
        scales = None if scale is None else _scales(f"{side}_scale", scale, desc.sizes, groups)
        zero_points = None if zero_point is None else _zero_points(f"{side}_zero_point", zero_point, desc, groups)
    arrays = [array for array in (scales, zero_points) if array is not None]
    if not arrays:
        return None
    # Along an axis an array has 1, ceil(n / g) or n entries: both arrays are expanded to the larger number of the two.
    sizes = tuple(max(counts) for counts in zip(*(array.shape for array in arrays), strict=True))
    if math.prod(sizes) > max(MAX_PAIRS, *(array.size for array in arrays)):
        shapes = " and ".join(str(list(array.shape)) for array in arrays)
        raise DescriptorError(
            f"{side}_scale and {side}_zero_point of sizes {shapes} make {math.prod(sizes)} pairs, more than "
            f"{MAX_PAIRS}; give both along the same axes"
        )
    pairs = np.empty((*sizes, 2), np.float32)
    pairs[..., 0] = 1 if scales is None else _refined(scales, sizes, groups)
    pairs[..., 1] = 0 if zero_points is None else _refined(zero_points, sizes, groups)
    return Scaling(
        sizes,
        tuple(
            group if count not in (1, size) else 1 for count, size, group in zip(sizes, desc.sizes, groups, strict=True)
        ),
        pairs.tobytes(),
        scales is not None,
        zero_points is not None,
    )


def _scales(
    argument: str, value: object, sizes: tuple[int, ...], groups: tuple[int, ...]
) -> npt.NDArray[np.float32] | None:
    """Checked scales with all axes; None if all are 1."""
    array = _broadcasting(argument, value, sizes, groups)
    scales = _as_float32(array)
    _require_all(np.isfinite(scales) & (scales != 0), argument, "finite and not 0 as f32", array)
    return None if (scales == 1).all() else scales


def _zero_points(
    argument: str, value: object, desc: TensorDesc, groups: tuple[int, ...]
) -> npt.NDArray[np.float32] | None:
    """Checked zero points with all axes; None if all are 0."""
    array = _broadcasting(argument, value, desc.sizes, groups)
    if not desc.dtype.is_float:
        require_of_type(argument, array, desc.dtype)
    zero_points = _as_float32(array)
    _require_all(np.isfinite(zero_points), argument, "finite as f32", array)
    return zero_points if zero_points.any() else None


def _refined(
    array: npt.NDArray[np.float32], sizes: tuple[int, ...], groups: tuple[int, ...]
) -> npt.NDArray[np.float32]:
    """``array`` with an entry for each index where ``sizes`` has one: 2 groups of 3 over 5 indices become 0 0 0 1 1."""
    for axis, (count, size, group) in enumerate(zip(array.shape, sizes, groups, strict=True)):
        if count not in (1, size):
            array = np.take(array, np.arange(size) // group, axis)
    return array


def _broadcasting(argument: str, value: object, sizes: tuple[int, ...], groups: tuple[int, ...]) -> Array:
    """``value`` as an array with all axes of ``sizes``, along each with 1 entry, one per index or one per group.

    Example: for sizes 2,64 in groups of 1,32 these sizes broadcast: (), 64, 1,64, 2,1, 2,2 and 2,64.
    """
    array, rank = numbers(argument, value), len(sizes)
    shape = (1,) * (rank - array.ndim) + array.shape
    fits = [
        count in (1, size) or (array.ndim == rank and count == -(-size // group))
        for count, size, group in zip(shape, sizes, groups, strict=False)
    ]
    if array.ndim <= rank and all(fits):
        return array.reshape(shape)
    rule = f"{argument} of sizes {list(array.shape)} must broadcast"
    if array.ndim != rank:
        is_grouped = max(groups, default=1) > 1
        grouped = f" in groups of {list(groups)}, which need all {rank} axes," if is_grouped else ""
        raise DescriptorError(f"{rule}{grouped} against sizes {list(sizes)}")
    axis = fits.index(False)
    size, group = sizes[axis], groups[axis]
    grouped = f" in groups of {group}" if group > 1 else ""
    counts = " or ".join(map(str, sorted({1, -(-size // group), size})))
    raise DescriptorError(
        f"{rule} against sizes {list(sizes)}: axis {axis} of size {size}{grouped} takes {counts} entries, "
        f"not {shape[axis]}"
    )


def numbers(argument: str, value: object) -> Array:
    """``value`` as an array of real numbers: numpy's integers and floats, and those of ml_dtypes.

    Raises:
        DescriptorError: it is masked, or not made of numbers.
    """
    array = as_numpy(argument, value, np.dtype(np.float32))
    is_extension = array.dtype.kind == "V" and not issubclass(array.dtype.type, np.void)
    if array.dtype.kind not in "iuf" and not is_extension:
        raise DescriptorError(f"{argument} must be numbers, got an array of {array.dtype}")
    return array


def _as_float32(array: Array) -> npt.NDArray[np.float32]:
    """``array`` as float32, rounded to nearest even."""
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what becomes infinite or NaN
        return array.astype(np.float32, copy=False)


def require_unit(name: str, values: Array, dtype: DType) -> None:
    """Refuse a mean or deviation in the unit of integer elements, such as 0 to 255, where the unit is 0 to 1.

    Raises:
        DescriptorError: ``dtype`` is an integer type, and a value is outside [-1, 1].
    """
    if not dtype.is_float and (np.abs(values) > 1).any():
        _, largest = dtype.format.range
        worst = values.flat[np.abs(values).argmax()]
        raise DescriptorError(
            f"{name} must be within -1 and 1, because elements of {dtype} are divided by {largest} first, got "
            f"{worst:g}: in the unit of elements it is mean / {largest} and std / {largest}"
        )


def require_of_type(argument: str, values: Array, dtype: DType) -> None:
    """Check that ``values`` are integers of ``dtype``; before rounding to float32, which makes 2147483647 2147483648.

    Raises:
        DescriptorError: one is not integral, or out of range.
    """
    exact = values if values.dtype.kind in "iu" else values.astype(np.float64)
    low, high = dtype.format.range
    rule = f"an integer of {dtype}, {low} to {high}"
    if exact.dtype.kind == "f":
        is_integral = np.isfinite(exact) & (exact == np.trunc(exact))
        remedy = "; a side of floats takes any finite number, as dst_zero_point does for a result of floats"
        _require_all(is_integral, argument, rule, values, remedy)
    for position in (exact.argmin(), exact.argmax()) if exact.size else ():
        # numpy would round the bounds of 64-bit integers to compare them; Python's numbers compare exactly.
        if not low <= exact.flat[position].item() <= high:
            inside = np.ones(exact.shape, bool)
            inside.flat[position] = False
            _require_all(inside, argument, rule, values)


def _require_all(holds: npt.NDArray[np.bool_], argument: str, rule: str, values: Array, remedy: str = "") -> None:
    if holds.all():
        return
    entry = tuple(int(index) for index in np.unravel_index(int(holds.argmin()), holds.shape))
    place = f" at entry {entry}" if holds.size > 1 else ""
    raise DescriptorError(f"{argument} must be {rule}, got {values[entry]}{place}{remedy}")


def _post_ops(post_ops: Any) -> tuple[PostOp, ...]:
    """Check tuples ("relu",), ("relu", slope), ("clip", low, high), ("linear", factor, term).

    A bound of ``clip`` may be None. NaN stays NaN. The slope of ``relu`` is 0 or more; with a slope of 0 negative
    values become 0.

    Raises:
        DescriptorError: not a sequence of such tuples, more than four, or a number that is invalid in its place.
    """
    if post_ops is None:
        return ()
    try:
        members = tuple(islice(post_ops, MAX_POST_OPS + 1))
    except TypeError:
        raise DescriptorError(f"post_ops must be a sequence of tuples, got {shown(post_ops)}") from None
    if isinstance(post_ops, str) or not all(isinstance(op, tuple | list) and op for op in members):
        raise DescriptorError(f"post_ops must be tuples such as ('relu',) or ('clip', 0, 6), got {shown(post_ops)}")
    if len(members) > MAX_POST_OPS:
        count = f"{len(post_ops)}, " if isinstance(post_ops, Sized) else ""
        raise DescriptorError(f"post_ops are {count}more than {MAX_POST_OPS}")
    return tuple(_post_op(op) for op in members)


def _post_op(op: Sequence[object]) -> PostOp:
    name, *values = op
    counts = {"linear": (2,), "clip": (2,), "relu": (0, 1)}
    if not isinstance(name, str) or name not in counts:
        raise DescriptorError(f"post_ops has {name!r}, which is none of {', '.join(map(repr, POST_OPS))}")
    if len(values) not in counts[name]:
        takes = " or ".join(map(str, counts[name]))
        raise DescriptorError(f"post_ops has {op!r}: {name} takes {takes} numbers, got {len(values)}")
    if name == "clip":
        low = -math.inf if values[0] is None else _post_op_number(op, values[0])
        high = math.inf if values[1] is None else _post_op_number(op, values[1])
        if low > high:
            raise DescriptorError(f"post_ops has {op!r}, whose low is above its high")
        return PostOp("clip", low, high)
    first, second = (*(_post_op_number(op, value) for value in values), 0.0, 0.0)[:2]
    if not (math.isfinite(first) and math.isfinite(second)):
        raise DescriptorError(f"post_ops has {op!r}, whose numbers must be finite as f32")
    if name == "relu" and first < 0:
        raise DescriptorError(f"post_ops has {op!r}: the slope of relu must be 0 or more")
    return PostOp(name, first, second)


def _post_op_number(op: object, value: object) -> float:
    number = _as_float32(numbers("post_ops", value))
    if number.ndim or np.isnan(number):
        raise DescriptorError(f"post_ops has {op!r}, where each value must be one number, got {shown(value)}")
    return float(number)
