"""The reference for ``resample``, and the interval in which every right answer lies.

Exact coordinates (restride.reference.coordinates), weights as exact as f64 has them (restride.reference.filters), the
sums in f64, nested with the last axis first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np

from restride.dtypes import as_dtype
from restride.reference.arithmetic import entries
from restride.reference.conversion import convert
from restride.reference.exact import Array
from restride.reference.layouts import reorder
from restride.reference.resample_problem import NEUTRAL, Problem, problem_of
from restride.reference.sum_bounds import nested_sums, rounded_sums, sum_bound


def resample(
    x: Any,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[Any] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: str | None = None,
    *,
    coordinates: str | None = None,
    nearest: str | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    extrapolation_value: float = 0.0,
    roi: Iterable[Any] | None = None,
    keep_aspect_ratio_policy: str | None = None,
    input_offsets: Iterable[Any] | None = None,
    output_offsets: Iterable[Any] | None = None,
    recompute_scale_factor: bool | None = None,
    like: str | None = None,
    window: Iterable[slice | None] | None = None,
    dtype: Any = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    sum_scale: Any = None,
    post_ops: Any = None,
    rounding: str = "nearest_even",
    saturate: bool = True,
    out: Any = None,
) -> Array:
    """Resize ``x`` along some axes, to ``sizes`` or by ``scales``.

    nearest takes the element at the rounded coordinate, bit for bit. linear, cubic and area are weighted sums along
    one axis after the other, last axis first, in f64. Without arithmetic the sum is rounded once, to ``dtype``. With
    it the sum is rounded to f32, and then goes through the steps of ``reorder``. A tap of weight zero contributes
    nothing, so an infinity that is not needed does not turn into NaN.

    Args:
        x: array of rank 0 to 8.
        sizes: new sizes, one an axis in ``axes``. Zero gives an empty array.
        scales: output elements for each source element; they enter the coordinates. Without ``sizes`` these are
            ``trunc(size * scale)``.
        axes: which axes; default: the last ones. Negative ones count from the end.
        mode: ``"nearest"``, for every type; ``"linear"`` (default), ``"cubic"`` (Keys), ``"area"`` (the mean of all
            elements that the output element covers a part of), for INTERPOLATED_TYPES. With ``like`` one of its words.
        coordinates: a name in ``restride.reference.coordinates``; default: ``"half_pixel"``.
        nearest: how mode nearest rounds: ``"half_up"`` (default), ``"round_prefer_floor"``, ``"round_prefer_ceil"``,
            ``"floor"``, ``"ceil"``.
        cubic_a: of mode cubic; default: -0.75.
        antialias: linear and cubic filters widen where an axis shrinks.
        exclude_outside: taps outside the source are left out, and the rest divided by its sum.
        extrapolation_value: what tf_crop_and_resize gives beyond the first and last element, as f32, or in mode
            nearest as an element.
        roi: of tf_crop_and_resize: first edges of all axes, then last ones.
        keep_aspect_ratio_policy: ``"stretch"`` (default), ``"not_larger"``, ``"not_smaller"``.
        input_offsets: DirectML's, in place of ``coordinates``: ``s = (o - output_offset) / f - input_offset``. One an
            axis; default: 1/2.
        output_offsets: see ``input_offsets``; default: -1/2.
        recompute_scale_factor: coordinates follow the sizes, also where ``scales`` are given.
        like: the library whose answer it is, in its integers where those say it (``restride.reference.like``). What is
            given beside it counts, whether the library has it or not.
        window: slices of the result along ``axes``: only that part is made.
        dtype: element type of the result; default: that of ``out``, of ``x``.
        src_scale: this and what follows as in ``reorder``, of the interpolated elements.
        src_zero_point: as in ``reorder``.
        dst_scale: as in ``reorder``.
        dst_zero_point: as in ``reorder``.
        sum_scale: as in ``reorder``.
        post_ops: as in ``reorder``.
        rounding: as in ``reorder``.
        saturate: as in ``reorder``; f16 and f8e5m2 resampled to themselves keep infinities.
        out: the old destination, an array of the result's sizes and type.

    Returns:
        A new array.

    Raises:
        DescriptorError: arguments do not fit each other or ``x``.
        UnsupportedError: an unknown name, or an element type that cannot be interpolated.

    Sources: oneDNN specification, Resampling. It takes source elements left of index 0 as zero, where the library
        clamps to the border; so does this. ONNX operators, Resize. DirectML, DML_RESAMPLE2_OPERATOR_DESC.
    """
    problem = problem_of(**locals())  # every argument, by its name
    if problem.moves:
        return _taken(problem)
    with np.errstate(invalid="ignore", over="ignore"):
        return _finished(problem, _stepped(problem, _sums(problem)))


def resample_bound(
    x: Any, sizes: Any = None, scales: Any = None, axes: Any = None, mode: Any = None, **arguments: Any
) -> Array:
    """How far an f32 evaluation may lie from the exact sum, before arithmetic and the last rounding; f64.

    Its arguments are those of ``resample``. ``(3 * axes + taps) * 2^-24 * sum|weight * tap|``, derived in
    ``restride.reference.sum_bounds``; nearest and what is extrapolated: 0.
    """
    problem = problem_of(x, sizes, scales, axes, mode, **arguments)
    if problem.moves:
        return np.zeros(_taken(problem).shape)
    with np.errstate(invalid="ignore"):
        return _bound(problem)


def resample_limits(
    x: Any, sizes: Any = None, scales: Any = None, axes: Any = None, mode: Any = None, **arguments: Any
) -> tuple[Array, Array]:
    """The lowest and the highest right answer of each output element, both inclusive, in the element type.

    Its arguments are those of ``resample``. Both ends of ``exact +- resample_bound`` go through what follows the sum.
    Without arithmetic that is one rounding, which keeps order: a value within the bound, rounded once, lies between
    them. That is: within the bound plus half an ulp of a narrower float type; for integers equal, except within the
    bound of a rounding tie, where the next one is right too. With arithmetic both are rounded to f32 first; every step
    is one f32 operation, and keeps order or, by a negative scale, reverses it: the results are the two ends, sorted.
    Where integers wrap (``saturate=False``) between the ends, every number may be right.
    nearest: both are the answer itself, and its bits must match.

    An element that is NaN is NaN in both, an infinite one that infinity in both. Where only one end is NaN, f8e4m3fn's
    overflow, that is the highest.
    """
    problem = problem_of(x, sizes, scales, axes, mode, **arguments)
    if problem.moves:
        answer = _taken(problem)
        return answer, answer
    with np.errstate(invalid="ignore", over="ignore"):
        exact = _sums(problem)
        bound = np.where(np.isfinite(exact), _bound(problem), 0.0)
        return _limits(problem, *_sorted(*(_stepped(problem, end) for end in (exact - bound, exact + bound))))


def _taken(problem: Problem) -> Array:
    """Mode nearest: one element each, with its bits, and then ``reorder``."""
    result = problem.array
    for axis, rows in problem.weighted:
        result = np.take(result, rows.index[:, 0] if rows.index.size else [], axis)
    result = np.array(result, order="C")
    value = convert(np.float64(problem.extrapolation_value), result.dtype)
    result[np.broadcast_to(problem.extrapolated, result.shape)] = value
    return reorder(result, dtype=problem.target, **problem.steps)


def _sums(problem: Problem) -> Array:
    """The weighted sums in f64; every type that is interpolated fits."""
    if problem.integers is not None:
        return problem.integers
    if problem.rounding_between is not None:
        return rounded_sums(problem.array, problem.weighted, problem.rounding_between)[0]
    sums = nested_sums(problem.array.astype(np.float64), problem.weighted)
    value = convert(np.float64(problem.extrapolation_value), np.float32)
    return np.where(problem.extrapolated, value.astype(np.float64), sums)


def _bound(problem: Problem) -> Array:
    if problem.integers is not None:
        return np.zeros(problem.integers.shape)
    if problem.rounding_between is not None:
        return rounded_sums(problem.array, problem.weighted, problem.rounding_between)[1]
    bound = sum_bound(problem.array, problem.array.astype(np.float64), problem.weighted)
    return np.where(problem.extrapolated, 0.0, bound)


def _stepped(problem: Problem, sums: Array) -> Array:
    """The f64 sums where there is no arithmetic, or f32: the sums rounded, after the steps of ``reorder``."""
    if problem.rounding is not None:
        sums = convert(sums, problem.array.dtype, problem.rounding).astype(np.float64)
    steps = problem.steps
    present = [entries(name, steps.get(name), sums.shape, (1,) * sums.ndim, by) for name, by in NEUTRAL.items()]
    present.append(entries("sum_scale", steps.get("sum_scale"), (), (), neutral=0))
    if all(values is None for values in present) and not steps.get("post_ops"):
        return sums
    old = None if steps.get("out") is None else convert(steps["out"], np.float32)
    return reorder(convert(sums, np.float32), **(steps | {"out": old}))


def _finished(problem: Problem, values: Array) -> Array:
    """The last rounding, of f64 sums or f32 results."""
    name, steps = problem.target.name, problem.steps
    keeps_infinities = (
        values.dtype == np.float64 and name in {"f16", "f8e5m2"} and problem.target == problem.array.dtype
    )
    saturate = steps.get("saturate", True) and not keeps_infinities
    return convert(values, problem.target, steps.get("rounding", "nearest_even"), saturate)


def _sorted(one: Array, other: Array) -> tuple[Array, Array]:
    """The lower and the higher; a NaN beside a number is the higher."""
    swaps = (one > other) | (np.isnan(one) if as_dtype(one.dtype).is_float else np.zeros((), bool))
    return np.where(swaps, other, one), np.where(swaps, one, other)


def _limits(problem: Problem, low: Array, high: Array) -> tuple[Array, Array]:
    """The lowest and highest result of a number from ``low`` to ``high``."""
    if problem.target == "pred":  # 0 where the number can be zero, and 1 unless it can be nothing else
        return ~((low <= 0) & (high >= 0)), (low != 0) | (high != 0)
    lowest, highest = _sorted(_finished(problem, low), _finished(problem, high))
    if problem.target.is_float or problem.steps.get("saturate", True):
        return lowest, highest
    bounds = np.iinfo(problem.target.dtype)
    # Numbers between two places where they wrap have one quotient; 1 is more than the last rounding moves an end.
    ends = low.astype(np.float64) - 1, high.astype(np.float64) + 1
    quotient, other = (np.floor((end - bounds.min) / 2.0**bounds.bits) for end in ends)
    wraps = (quotient != other) & ~np.isnan(quotient)
    return np.where(wraps, bounds.min, lowest), np.where(wraps, bounds.max, highest)
