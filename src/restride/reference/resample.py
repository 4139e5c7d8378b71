"""The references for ``resample``, with the interval that contains every correct result, and for ``strided_slice``.

Coordinates are exact (restride.reference.coordinates), weights as exact as f64 allows (restride.reference.weights), and
sums are computed in f64, nested with the last axis first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from restride.arguments import integers, unexpected
from restride.dtypes import ELEMENT_TYPES, Array, DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, prefixed
from restride.layout import TensorDesc
from restride.reference.arguments import ReferenceResampleArguments, as_array, described
from restride.reference.axes import ResampledAxes, resampled_axes
from restride.reference.conversion import convert
from restride.reference.like import LibraryAnswer, clipped_like, rounding_like, rows_of
from restride.reference.reorder import is_neutral, reorder
from restride.reference.weights import WeightedAxes, weight_rows
from restride.request import Request
from restride.request.arithmetic import Numbers, arithmetic

# Bounds the error of nested weighted sums that are evaluated in f32; the derivation is below.

_F32_UNIT = 2.0**-24  # largest relative error of one rounding to f32
_F32_DENORMAL_UNIT = 2.0**-150  # largest absolute error of one rounding among f32's denormals
_F32_MAX = float(np.finfo(np.float32).max)


def nested_sums(values: Array, weighted: WeightedAxes, *, absolute: bool = False) -> Array:
    """The weighted sums of ``values`` (f64) along every axis, last axis first; ``absolute``: sums of magnitudes."""
    for axis, rows in sorted(weighted, key=lambda pair: pair[0], reverse=True):
        values = rows.times(values, axis, absolute=absolute)
    return values


def rounded_sums(elements: Array, weighted: WeightedAxes, rounding: str) -> tuple[Array, Array]:
    """The sums along one axis after the other, in this order, rounded to the elements' type in between, and a bound.

    A sum that is off by less than the distance to the next tie is rounded to the same integer. Otherwise it may be
    rounded to the neighbour, and the sums of the next axis are then off by as much as the weights that multiply it.
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
    """``(3 * axes + taps) * 2^-24 * sum|weight * tap|`` for each sum; ``values`` are the elements in f64.

    ``taps`` is the number of nonzero weights of a row, multiplied over the axes: K^axes for K taps on each axis.

    Derivation, with u = 2^-24, the largest relative error of one rounding to f32. In the nested order, last axis
    first, an axis with K taps rounds every term at most K + 1 times: its weight, the product, and K - 1 additions, in
    whatever order or grouping. Over the axes that is ``axes + sum of K``, at most ``2 * axes + taps - 1``, because a
    product of integers >= 1 is at least their sum less ``axes - 1``. A flat order has ``taps - 1`` additions, ``axes``
    weights and as many products: ``2 * axes + taps - 1`` too. The remaining ``axes + 1`` units cover the terms in u^2,
    and weights that an f64 evaluation puts on the other side of a tie of f32: off by 2u, not by u.

    s32 and u32 elements are converted to f32 first, half an ulp of f32 each, at most ``u * |tap|``: one more u; none
    for types that f32 holds exactly. Roundings among denormals err by up to 2^-150 each instead, which is added.
    Overflow is not included (``sum_limits``). Taps that are not finite are left out: they determine the sum in any
    order. If no step of the weighted sums can round in f32, whatever the order, the bound is 0 (see
    ``_is_exact_in_f32``).
    """
    is_wide = elements.dtype.kind in "iu" and elements.dtype.itemsize == 4
    magnitude = nested_sums(np.where(np.isfinite(values), values, 0.0), weighted, absolute=True)
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


def sum_limits(elements: Array, weighted: WeightedAxes, exact: Array, bound: Array) -> tuple[Array, Array, Array]:
    """The lowest and highest correct sum in f64, and where partial sums may overflow so that every f32 is correct.

    The limits are ``exact - bound`` and ``exact + bound`` unless a partial sum may exceed the largest f32. A partial
    sum is at most the sum of the positive products and at least the sum of the negative ones, each off by at most the
    roundings of ``sum_bound``. If only the sum of positive products exceeds the largest f32, infinity is correct too;
    if only the sum of negative products does, -infinity is. If both do, or one does and the exact sum is the opposite
    infinity, both infinities are correct, and so is NaN, their sum. The next axis keeps an overflow.

    Worked example, [2e38, 2e38, -2e38, -2e38] with weights of 1: the exact sum is 0. Summed from the left, it is
    infinity less 4e38, infinity; the sum of the first two plus that of the last two is inf - inf, NaN.
    """
    low, high = exact - bound, exact + bound
    low, high = np.where(np.isfinite(exact), low, exact), np.where(np.isfinite(exact), high, exact)
    values = elements.astype(np.float64)
    finite = np.where(np.isfinite(values), values, 0.0)
    roundings = 3 * len(weighted) + math.prod(int(rows.taps.max(initial=0)) for _, rows in weighted) + 1
    largest = _F32_MAX / (1 + roundings * _F32_UNIT)
    growth = math.prod(max(1.0, np.abs(rows.weight).sum(axis=1).max(initial=0.0)) for _, rows in weighted)
    if np.abs(finite).max(initial=0.0) * growth <= largest:
        return low, high, np.zeros(exact.shape, bool)
    above, below = np.maximum(finite, 0.0), np.maximum(-finite, 0.0)
    for axis, rows in sorted(weighted, key=lambda pair: pair[0], reverse=True):
        keeps, turns = (replace(rows, weight=np.maximum(weight, 0.0)) for weight in (rows.weight, -rows.weight))
        above, below = (
            keeps.times(one, axis) + turns.times(other, axis) for one, other in ((above, below), (below, above))
        )
        above, below = (np.where(part > largest, np.inf, part) for part in (above, below))
    rises, falls = (np.isinf(part) & ~np.isnan(exact) for part in (above, below))
    unbounded = (rises | (exact == np.inf)) & (falls | (exact == -np.inf)) & (rises | falls)
    return np.where(falls, -np.inf, low), np.where(rises, np.inf, high), unbounded


def unlimited_where(unbounded: Array, limits: tuple[Array, Array], target: DType) -> tuple[Array, Array]:
    """The limits; where ``unbounded``, limits that admit every element of ``target``, NaN included."""
    if target.is_float:
        least = convert(np.float64(-np.inf), target, saturate=target.format.infinity is None)
        most = np.array(np.nan, target.dtype)
    else:
        bits = np.iinfo(np.uint8 if target == "pred" else target.dtype)
        least, most = (np.array(end).astype(target.dtype) for end in (bits.min, bits.max))
    return np.where(unbounded, least, limits[0]), np.where(unbounded, most, limits[1])


def _is_exact_in_f32(values: Array, weighted: WeightedAxes, *, is_wide: bool) -> bool:
    """True if every product and sum of the weighted sums is an integer of at most 24 bits times a common power of two.

    u8 halved along two axes: elements below 2^8, weights 1/2, so sums of products are multiples of 2^-2 below 2^8: 10
    bits. A partial sum is at most the largest ``sum|weight|`` of each axis times the largest element: 1 for weights
    that only average, 1.375 for cubic at 1/2. (``a + w * (b - a)`` needs one more bit for the difference.)
    Weights 0 and 1, at most one 1 in a row, only move elements: exact unless integers lose bits when converted to f32.
    """
    if all(rows.only_move for _, rows in weighted) and not (is_wide and (values.astype(np.float32) != values).any()):
        return True
    if not np.isfinite(values).all():
        return False
    bits = _fraction_bits(values) + sum(_fraction_bits(rows.weight) for _, rows in weighted)
    growth = math.prod(np.abs(rows.weight).sum(axis=1).max(initial=0.0) for _, rows in weighted)
    return bool(np.abs(values).max(initial=0.0) * max(growth, 1.0) <= 2.0 ** (24 - bits))


def _fraction_bits(values: Array) -> int:
    """The least n < 24 such that every value is a multiple of 2^-n; 1100, more than any f64 needs, if there is none."""
    return next((bits for bits in range(24) if (np.ldexp(values, bits) % 1 == 0).all()), 1100)


# Checks a call of ``resample``, and computes the rows of each axis and the arithmetic after the sums.

LINEAR_TYPES = ("f32", "f16", "bf16", "u8", "s8", "s32")
"""Element types that oneDNN interpolates."""

INTERPOLATED_TYPES = tuple(row.name for row in ELEMENT_TYPES.values() if row.kind != "bool" and row.bits < 64)
"""Element types that every mode accepts. Nearest moves elements, so it accepts every type."""

NEUTRAL = {"src_scale": 1, "src_zero_point": 0, "dst_scale": 1, "dst_zero_point": 0}
"""Values of these arguments that change nothing."""

_STEPS = (*NEUTRAL, "sum_scale", "post_ops", "rounding", "saturate", "out")
"""Arguments that ``resample`` shares with ``reorder``."""

_NUMBERS = frozenset(Numbers._fields)


@dataclass(frozen=True, eq=False)
class ResampleCall:
    """A checked call of ``resample``.

    weighted: the rows of weights along each axis, in the order of their sums. integers: the exact result, if a library
    computes it in integers; else None. steps: the arithmetic, as arguments of ``reorder``.
    """

    axes: ResampledAxes
    weighted: WeightedAxes
    integers: Array | None
    target: DType
    steps: dict[str, Any]

    @property
    def array(self) -> Array:
        """The source."""
        return self.axes.array

    @property
    def moves(self) -> bool:
        """True if elements are moved unchanged, whatever their type."""
        return self.axes.request.rules.mode == "nearest"

    @property
    def rounding_between(self) -> str | None:
        """How a library rounds the sums along one axis before the next axis; None: it does not."""
        library = self.axes.library
        return rounding_like(library) if library is not None and library.like == "pillow" else None

    @property
    def extrapolated(self) -> Array:
        """True for elements of the result that read beyond the source on any axis; broadcasts against the result."""
        beyond = np.zeros((1,) * self.array.ndim, bool)
        for axis, rows in self.weighted:
            along = [1] * self.array.ndim
            along[axis] = len(rows.extrapolated)
            beyond = beyond | rows.extrapolated.reshape(along)
        return beyond


def says_f32(dtype: DTypeLike | None, out: object) -> bool:
    """True if the result is said to be f32: f64 elements are then rounded to f32 before they are interpolated."""
    asked = as_array(out).dtype if dtype is None and out is not None else dtype
    return asked is not None and as_dtype(asked) == "f32"


def weighted_axes(axes: ResampledAxes) -> tuple[WeightedAxes, LibraryAnswer | None]:
    """The rows of weights along each axis, the library's own if it has some; and how it computes with them."""
    answer = None
    if axes.library is not None:
        answer = rows_of(axes.library, axes.parts)
    if answer is not None:
        return answer.rows, answer
    each = zip(axes.axes, axes.how, axes.parts, strict=True)
    return [(axis, weight_rows(how, part.start, part.stop)) for axis, how, part in each], None


def problem_of(
    x: object, sizes: Any, scales: Any, axes: Any, mode: Any, others: ReferenceResampleArguments
) -> ResampleCall:
    """Check the arguments of ``resample``."""
    if not others.keys() <= ReferenceResampleArguments.__annotations__.keys():
        listed = {"sizes", "scales", "axes", "mode", *ReferenceResampleArguments.__annotations__}
        raise unexpected(resample, others, listed)
    array = as_array(x)
    with ErrorContext(described(array)):
        return _checked(array, Request(sizes, scales, axes, mode), dict(others))


def _checked(array: Array, first: Request, arguments: dict[str, Any]) -> ResampleCall:
    steps = {name: arguments.pop(name) for name in _STEPS if name in arguments}
    dtype = arguments.pop("dtype", None)
    resampled = resampled_axes(array, first._replace(**arguments))
    weighted, answer = weighted_axes(resampled)
    moves = resampled.request.rules.mode == "nearest"
    if not moves and array.dtype == np.float64 and says_f32(dtype, steps.get("out")):
        array = convert(array, as_dtype("f32"))
        resampled = replace(resampled, array=array)
    if not moves and as_dtype(array.dtype).name not in INTERPOLATED_TYPES:
        raise UnsupportedError(
            f"elements of type {as_dtype(array.dtype)} are not interpolated, those of {', '.join(INTERPOLATED_TYPES)} "
            f"are"
        )
    old = None if steps.get("out") is None else as_array(steps["out"])
    with prefixed("dtype"):
        target = as_dtype(dtype if dtype is not None else array.dtype if old is None else old.dtype)
    parts = resampled.resized([part.stop - part.start for part in resampled.parts], None)
    new = tuple(size if part is None else part for size, part in zip(array.shape, parts, strict=True))
    if old is not None and (old.shape != new or target != old.dtype):
        raise DescriptorError(
            f"out {described(old)} must have the sizes {list(new)} and the type {target} of the result"
        )
    if steps.get("sum_scale") is not None and old is None:
        raise DescriptorError(f"sum_scale {steps['sum_scale']} needs out, the old elements")
    sums = TensorDesc(array.dtype if moves else "f32", new)
    numbers = Numbers(**{name: value for name, value in steps.items() if name in _NUMBERS})
    arithmetic(sums, TensorDesc(target, new), range(len(new)), numbers)  # checks them
    integers = answer.integers(array) if answer is not None and answer.is_of_integers else None
    return ResampleCall(resampled, weighted, integers, target, steps)


def resample(
    x: Any,
    sizes: Any = None,
    scales: Any = None,
    axes: Any = None,
    mode: Any = None,
    **others: Unpack[ReferenceResampleArguments],
) -> Array:
    """Resize ``x`` along some axes, to ``sizes`` or by ``scales``.

    nearest moves the element at the rounded coordinate, bit for bit. linear, cubic and area are weighted sums along
    one axis after the other, last axis first, in f64. Without arithmetic the sum is rounded once, to ``dtype``. With
    arithmetic the sum is rounded to f32, and then goes through the steps of ``reorder``. A tap of weight zero
    contributes nothing, so an infinity that is not needed does not become NaN.

    Args:
        x: array of rank 0 to 8.
        sizes: new sizes, one for each of ``axes``. Zero gives an empty array.
        scales: output elements for each source element; they enter the coordinates. Without ``sizes`` the sizes are
            ``trunc(size * scale)``.
        axes: which axes; default: the last ones. Negative ones count from the end.
        mode: ``"nearest"``, for every type; ``"linear"`` (default), ``"cubic"`` (Keys), ``"area"`` (the mean of all
            elements that the output element covers, if only in part), ``"area_weighted"`` (by how much of each it
            covers), for INTERPOLATED_TYPES; f64 only with ``dtype`` f32, to which elements are rounded first. With
            ``like``, one of the library's modes.
        others: arguments of ``rs.resample`` by name, without ``layout`` and ``source_sizes``. ``extrapolation_value``
            counts as f32, or in mode nearest as an element; ``like`` is computed in integers if the library does so
            (``restride.reference.like``); ``out`` is the old destination, an array of the result's sizes and type.

    Returns:
        A new array.

    Raises:
        DescriptorError: an unknown name, or arguments do not fit each other or ``x``.
        UnsupportedError: an element type that cannot be interpolated.

    Sources: oneDNN specification, Resampling. It treats source elements left of index 0 as zero, where the library
        clamps to the border, as this does. ONNX operators, Resize. DirectML, DML_RESAMPLE2_OPERATOR_DESC.

    Example:
        >>> rs.reference.resample(np.float32([0, 8]), (4,)).tolist()
        [0.0, 2.0, 6.0, 8.0]
    """
    problem = problem_of(x, sizes, scales, axes, mode, others)
    if problem.moves:
        return _nearest_result(problem)
    with np.errstate(invalid="ignore", over="ignore"):
        return _converted(problem, _apply_arithmetic(problem, _sums(problem)))


def resample_bound(
    x: Any,
    sizes: Any = None,
    scales: Any = None,
    axes: Any = None,
    mode: Any = None,
    **others: Unpack[ReferenceResampleArguments],
) -> Array:
    """A bound on the error of an f32 evaluation of each sum, before arithmetic and the last rounding; f64.

    Its arguments are those of ``resample``. ``(3 * axes + taps) * 2^-24 * sum|weight * tap|``, derived in
    ``restride.reference.resample``; 0 for nearest, extrapolated elements, and sums that f32 holds exactly.

    Example:
        >>> rs.reference.resample_bound(np.float32([0, 8]), (4,)).tolist()
        [0.0, 0.0, 0.0, 0.0]
    """
    problem = problem_of(x, sizes, scales, axes, mode, others)
    if problem.moves:
        return np.zeros(_nearest_result(problem).shape)
    with np.errstate(invalid="ignore"):
        return _bound(problem)


def resample_limits(
    x: Any,
    sizes: Any = None,
    scales: Any = None,
    axes: Any = None,
    mode: Any = None,
    **others: Unpack[ReferenceResampleArguments],
) -> tuple[Array, Array]:
    """The lowest and the highest correct result of each output element, both inclusive, in the element type.

    Its arguments are those of ``resample``. Both ends of ``exact +- resample_bound`` go through the steps after the
    sum. Without arithmetic that is one rounding, which keeps order: a value within the bound, rounded once, lies
    between them. So results may differ by the bound plus half an ulp of a narrower float type; integers must be equal,
    except within the bound of a rounding tie, where the neighbour is correct too. With arithmetic both ends are rounded
    to f32 first; every step is one f32 operation that keeps order or, with a negative scale, reverses it: the results
    are the two ends, sorted. If integers wrap (``saturate=False``) between the ends, every number may be correct.
    nearest: both are the result itself, and its bits must match.

    A result that is NaN is NaN in both, an infinite one is it in both. If only one end is NaN, it is the highest, and
    everything from the lowest on is correct: this is the overflow of f8e4m3fn, and sums whose partial sums may overflow
    to both sides (``sum_limits``).

    Example:
        >>> low, high = rs.reference.resample_limits(np.uint8([0, 3]), (3,))  # 1.5 is a tie, which f32 has exactly
        >>> low.tolist(), high.tolist()
        ([0, 2, 3], [0, 2, 3])
    """
    problem = problem_of(x, sizes, scales, axes, mode, others)
    if problem.moves:
        answer = _nearest_result(problem)
        return answer, answer
    with np.errstate(invalid="ignore", over="ignore"):
        exact = _sums(problem)
        weighted = [] if problem.integers is not None else problem.weighted
        low, high, unbounded = sum_limits(problem.array, weighted, exact, _bound(problem))
        limits = _limits(problem, *_sorted(_apply_arithmetic(problem, low), _apply_arithmetic(problem, high)))
        return unlimited_where(unbounded, limits, problem.target)


def _nearest_result(problem: ResampleCall) -> Array:
    """The result in mode nearest: each is one source element with its bits, to which ``reorder`` is then applied."""
    result = problem.array
    for axis, rows in problem.weighted:
        result = np.take(result, rows.index[:, 0] if rows.index.size else [], axis)
    result = np.array(result, order="C")
    number = problem.axes.request.extrapolation_value
    if isinstance(number, int | np.integer) and result.dtype.kind in "iu":
        bounds = np.iinfo(result.dtype)
        value = np.array(min(max(int(number), bounds.min), bounds.max), result.dtype)
    else:
        value = convert(np.float64(number), result.dtype)
    result[np.broadcast_to(problem.extrapolated, result.shape)] = value
    return reorder(result, dtype=problem.target, **problem.steps)


def _sums(problem: ResampleCall) -> Array:
    """The weighted sums in f64, which holds every interpolated type."""
    if problem.integers is not None:
        return problem.integers
    if (rounding := problem.rounding_between) is not None:
        return rounded_sums(problem.array, problem.weighted, rounding)[0]
    sums = nested_sums(problem.array.astype(np.float64), problem.weighted)
    value = convert(np.float64(problem.axes.request.extrapolation_value), np.float32)
    return np.where(problem.extrapolated, value.astype(np.float64), sums)


def _bound(problem: ResampleCall) -> Array:
    if problem.integers is not None:
        return np.zeros(problem.integers.shape)
    if (rounding := problem.rounding_between) is not None:
        return rounded_sums(problem.array, problem.weighted, rounding)[1]
    bound = sum_bound(problem.array, problem.array.astype(np.float64), problem.weighted)
    return np.where(problem.extrapolated, 0.0, bound)


def _apply_arithmetic(problem: ResampleCall, sums: Array) -> Array:
    """The f64 sums if there is no arithmetic; else f32: the rounded sums after the steps of ``reorder``."""
    sums = clipped_like(problem.axes.library, problem.array, sums)
    if (rounding := rounding_like(problem.axes.library)) is not None:
        sums = convert(sums, problem.array.dtype, rounding).astype(np.float64)
    steps = problem.steps
    changes = any(not is_neutral(steps.get(name), by) for name, by in {**NEUTRAL, "sum_scale": 0}.items())
    if not (changes or steps.get("post_ops")):
        return sums
    old = None if steps.get("out") is None else convert(steps["out"], np.float32)
    return reorder(convert(sums, np.float32), **(steps | {"out": old}))


def _converted(problem: ResampleCall, values: Array) -> Array:
    """The last rounding, from f64 sums or f32 results to the target type."""
    steps, has_infinity = problem.steps, problem.target.format.infinity is not None
    keeps_infinities = values.dtype == np.float64 and has_infinity and problem.target == problem.array.dtype
    saturate = steps.get("saturate", True) and not keeps_infinities
    return convert(values, problem.target, steps.get("rounding", "nearest_even"), saturate)


def _sorted(one: Array, other: Array) -> tuple[Array, Array]:
    """The lower and the higher of each pair; of a NaN and a number, the NaN is the higher."""
    swaps = (one > other) | (np.isnan(one) if as_dtype(one.dtype).is_float else np.zeros((), bool))
    return np.where(swaps, other, one), np.where(swaps, one, other)


def _limits(problem: ResampleCall, low: Array, high: Array) -> tuple[Array, Array]:
    """The lowest and highest result for a number from ``low`` to ``high``."""
    if problem.target == "pred":  # the lowest is 0 if the number can be zero, the highest 1 if it can be nonzero
        return ~((low <= 0) & (high >= 0)), (low != 0) | (high != 0)
    lowest, highest = _sorted(_converted(problem, low), _converted(problem, high))
    if problem.target.is_float or problem.steps.get("saturate", True):
        return lowest, highest
    bounds = np.iinfo(problem.target.dtype)
    # Numbers that wrap equally often have the same quotient. The ends are moved by 1, because the last rounding moves
    # them by less than that.
    ends = low.astype(np.float64) - 1, high.astype(np.float64) + 1
    quotient, other = (np.floor((end - bounds.min) / 2.0**bounds.bits) for end in ends)
    wraps = (quotient != other) & ~np.isnan(quotient)
    return np.where(wraps, bounds.min, lowest), np.where(wraps, bounds.max, highest)


# The reference for ``strided_slice``: a window of each axis, read forwards or backwards.


def strided_slice(
    x: Any,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    output_sizes: Sequence[int] | None = None,
) -> np.ndarray[Any, Any]:
    """Copy a window of ``x``: ``out[i] = x[start + i * stride]`` along every axis.

    ``start = offset`` if the stride is positive, and ``offset + size - 1``, the window's end, if it is negative.

    Args:
        x: array of rank 1 to 8.
        offsets: first element of the window on each axis.
        sizes: elements in the window, at least 1; ``offset + size`` must not exceed the axis.
        strides: step inside the window, not 0.
        output_sizes: elements to copy, ``1 <= n <= 1 + (size - 1) // abs(stride)``; default: as many as possible.

    Returns:
        A new array of ``output_sizes``.

    Raises:
        DescriptorError: a rule above is broken.

    Source: DirectML, ``DML_SLICE1_OPERATOR_DESC`` (InputWindowOffsets, InputWindowSizes, InputWindowStrides).

    Example:
        >>> x = np.arange(1, 17, dtype=np.uint8).reshape(4, 4)
        >>> rs.reference.strided_slice(x, (0, 1), (4, 3), (-2, 2)).tolist()
        [[14, 16], [6, 8]]
    """
    array = as_array(x)
    rank = array.ndim
    if rank == 0:
        raise DescriptorError(f"strided_slice needs 1 to 8 dimensions, not {described(array)}")
    windows = {
        "offsets": integers("offsets", offsets),
        "sizes": integers("sizes", sizes),
        "strides": integers("strides", strides),
    }
    if output_sizes is not None:
        windows["output_sizes"] = integers("output_sizes", output_sizes)
    for argument, values in windows.items():
        if len(values) != rank:
            raise DescriptorError(
                f"{argument} {list(values)} must have one value for each of the {rank} axes of {described(array)}"
            )
    taken = []
    for axis in range(rank):
        offset, size, stride = (windows[argument][axis] for argument in ("offsets", "sizes", "strides"))
        where = f"of axis {axis} in {described(array)}"
        if offset < 0:
            raise DescriptorError(f"offset {offset} is negative; offsets {where} must be at least 0")
        if size < 1:
            raise DescriptorError(f"window size {size} {where} must be at least 1")
        if stride == 0:
            raise DescriptorError(f"stride 0 {where} must not be zero")
        if offset + size > array.shape[axis]:
            raise DescriptorError(f"window [{offset}, {offset + size}) exceeds size {array.shape[axis]} {where}")
        walked = range(offset, offset + size)[::stride]
        count = windows["output_sizes"][axis] if "output_sizes" in windows else len(walked)
        if not 1 <= count <= len(walked):
            raise DescriptorError(
                f"output size {count} {where} must be in [1, {len(walked)}]: window size {size}, stride {stride}"
            )
        taken.append(walked[:count])
    return np.ascontiguousarray(array[np.ix_(*taken)])
