"""The reference for ``reorder``: layouts that permute an array, and its arithmetic in f32, each step rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride.dtypes import Array, DType, as_dtype
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.argument import Layout, axis_order, laid_out
from restride.reference.arguments import as_array, described
from restride.reference.conversion import convert
from restride.request.arithmetic import Numbers, arithmetic


def reorder(
    x: Any,
    layout: Layout = None,
    dtype: Any = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    sum_scale: float | None = None,
    group_sizes: Sequence[int] | None = None,
    rounding: str = "nearest_even",
    saturate: bool = True,
    *,
    out: Any = None,
    post_ops: Sequence[tuple[Any, ...]] | None = None,
    rounds_first: bool = False,
    flush: bool = False,
) -> Array:
    """The logical array that a reorder of ``x`` contains.

    Without scales, zero points, sum and post-ops the elements are converted (``reference.convert``). With any of them
    they are computed in f32, every step rounded once, and then converted::

        (src_scale * (x - src_zero_point) + sum_scale * out) / dst_scale + dst_zero_point

    Absent steps are left out, as are scales of 1, zero points of 0 and a sum_scale of 0.

    Args:
        x: array of rank 0 to 8, in logical order.
        layout: a ``TensorDesc`` or its text, a oneDNN tag such as ``"nChw16c"``, a name such as ``"NHWC"``, or
            ``"any"``: these give positions in memory, so the array's order stays. ``"NCHW->NHWC"`` permutes:
            ``out[n, h, w, c] = x[n, c, h, w]``; a permutation may use any letters.
        dtype: element type of the result; default: that of the descriptor, else of ``out``, else of ``x``.
        src_scale: a number or an array that broadcasts against the sizes of ``x``; rounded to f32.
        src_zero_point: an array as ``src_scale``, or a number.
        dst_scale: a number or an array that broadcasts against the sizes of the result; rounded to f32.
        dst_zero_point: an array as ``dst_scale``, or a number.
        sum_scale: factor of the old elements of the destination.
        group_sizes: one integer for each axis of ``x``: index i along it uses entry ``i // group`` of an array of
            ``ceil(size / group)`` entries. Arrays for the result use the groups of the axes they come from.
        rounding: to integers: ``"nearest_even"``, ``"truncate"`` or ``"half_away"``.
        saturate: whether overflow saturates, as in ``reference.convert``.
        out: the old destination, an array of the result's sizes and type.
        post_ops: up to four of ``("relu",)``, ``("relu", slope)``, ``("clip", low, high)`` and
            ``("linear", factor, term)``, applied in turn in f32 before the division.
        rounds_first: round to an integer before ``dst_zero_point`` is added, as ONNX's QuantizeLinear does.
        flush: compute as a device that treats f32 denormals as zeros of their sign, in operands and results.

    Returns:
        A new array. With the same element type and no arithmetic every bit of every element is kept.

    Raises:
        DescriptorError: the layout is unknown or does not fit the sizes of ``x``, element types contradict each other,
            an array does not broadcast, or the type or rounding is unknown.

    Source: oneDNN specification, Reorder: the destination holds the source's logical elements in another memory format;
        its scales, zero points and sum.

    Example:
        >>> rs.reference.reorder(np.uint8([[1, 2, 3], [4, 5, 6]]), "AB->BA", "f32", dst_scale=2).tolist()
        [[0.5, 2.0], [1.0, 2.5], [1.5, 3.0]]
    """
    array = as_array(x)
    order = _axis_order(layout, array)
    sizes = tuple(array.shape[axis] for axis in order)
    old = None if out is None else as_array(out)
    if old is not None and old.shape != sizes:
        raise DescriptorError(f"out {described(old)} must have the sizes {list(sizes)} of the result")
    if sum_scale is not None and old is None:
        raise DescriptorError(f"sum_scale {sum_scale} needs out, the old elements, for {described(array)}")
    target = _result_type(array, _layout_type(layout, array), dtype, old)
    numbers = Numbers(
        *(src_scale, src_zero_point, dst_scale, dst_zero_point, sum_scale, group_sizes, rounding, saturate, post_ops),
        rounds_first,
    )
    arithmetic(described(array), TensorDesc(target, sizes), order, numbers)  # checks them
    groups = (1,) * array.ndim if group_sizes is None else tuple(map(int, group_sizes))
    dst_groups = tuple(groups[axis] for axis in order)
    steps = ReorderSteps(
        order,
        src_scale=entries(src_scale, array.shape, groups, neutral=1),
        src_zero_point=entries(src_zero_point, array.shape, groups, neutral=0),
        dst_scale=entries(dst_scale, sizes, dst_groups, neutral=1),
        dst_zero_point=entries(dst_zero_point, sizes, dst_groups, neutral=0),
        sum_scale=entries(sum_scale, (), (), neutral=0),
        rounds_first=rounds_first,
        flushes=flush,
        post_ops=tuple(map(tuple, post_ops or ())),
    )
    values = array.transpose(order) if steps.are_none else compute(array, old, steps, rounding)
    return convert(values, target, rounding, saturate)


def _result_type(array: Array, layout_type: DType | None, dtype: object, old: Any) -> DType:
    """The element type that dtype, the layout and out agree on; that of ``array`` if none of them names one."""
    named = {
        "dtype": None if dtype is None else as_dtype(dtype),
        "layout": layout_type,
        "out": None if old is None else as_dtype(old.dtype),
    }
    types = {argument: element for argument, element in named.items() if element is not None}
    if len(set(types.values())) > 1:
        listed = ", ".join(f"{argument} {element}" for argument, element in types.items())
        raise DescriptorError(f"the element types of {listed} must be one, for {described(array)}")
    return next(iter(types.values()), as_dtype(array.dtype))


def _layout_type(layout: Layout, array: Array) -> DType | None:
    """The element type of a descriptor, which must have the sizes of ``array``; None for every other layout."""
    desc = laid_out(described(array), layout)  # checks names and tags
    if layout is None or (isinstance(layout, str) and "[" not in layout):
        return None
    if tuple(desc.sizes) != array.shape:
        raise DescriptorError(f"layout {desc} must have the sizes of the source {described(array)}")
    return desc.dtype


def _axis_order(layout: Layout, array: Array) -> tuple[int, ...]:
    """The axes of ``array`` in the result's order: (0, 2, 3, 1) for ``"NCHW->NHWC"``, 0, 1, ... without an arrow."""
    axis_order(described(array), layout)  # checks the letters
    if not isinstance(layout, str) or "->" not in layout:
        return tuple(range(array.ndim))
    source, _, destination = layout.replace(" ", "").partition("->")
    return tuple(source.index(letter) for letter in destination)


# Computes scales, zero points, the sum and post-ops, in the order that oneDNN specifies.

_MIN_NORMAL = np.float32(2.0**-126)


@dataclass(frozen=True, eq=False)
class ReorderSteps:
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


def is_neutral(value: object, neutral: float) -> bool:
    """True if a scale or zero point is absent, or ``neutral`` everywhere."""
    return value is None or bool((convert(value, np.float32) == neutral).all())


def entries(value: object, sizes: Sequence[int], group_sizes: Sequence[int], neutral: float) -> Array | None:
    """A scale or zero point as one f32 for each element of ``sizes``; None if it is absent or ``neutral`` everywhere.

    Index i along an axis uses entry ``i // group``: 2 scales a and b, group 3, size 5 are a a a b b.
    """
    if is_neutral(value, neutral):
        return None
    values = array = convert(value, np.float32)
    for axis in range(len(sizes) if array.ndim == len(sizes) else 0):
        size, group, count = sizes[axis], group_sizes[axis], array.shape[axis]
        if count not in {1, size} and count == -(-size // group):
            values = np.take(values, np.arange(size) // group, axis)
    return np.broadcast_to(values, sizes)


def compute(array: Array, old: Array | None, steps: ReorderSteps, rounding: str) -> Array:
    """``(src_scale * (array - src_zero_point) + sum_scale * old) / dst_scale + dst_zero_point`` in f32.

    ``array`` and ``old`` are elements of any type, rounded to f32 once. Each step is one correctly rounded operation of
    numpy on two float32 arrays, which no compiler contracts. s32 16777217 with scale 3: f32 holds 16777216, and the
    product is 50331648.
    """

    def f32(values: Array) -> Array:
        return _flush(values) if steps.flushes else values

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
            v = _round(v, rounding)
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


def _flush(values: Array) -> Array:
    return np.where(np.abs(values) < _MIN_NORMAL, np.copysign(np.float32(0), values), values)


def _round(values: Array, rounding: str) -> Array:
    """Round each f32 to an integer, still as f32: 2.5 is 2, 2, 3 with nearest_even, truncate, half_away."""
    if rounding == "nearest_even":
        return np.rint(values)
    toward_zero = np.trunc(values)
    if rounding == "truncate":
        return toward_zero
    # The difference is exact: both numbers are multiples of the last bit of the larger one.
    is_up = np.abs(values - toward_zero) >= np.float32(0.5)
    return np.where(is_up, toward_zero + np.copysign(np.float32(1), values), toward_zero)
