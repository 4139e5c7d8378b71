"""The reference for ``resample_backward``: the matrices of ``resample``, in their f32 weights, the other way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from restride.arguments import integers
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.reference.arguments import as_array, as_axes, describe
from restride.reference.conversion import Array, round_once
from restride.reference.like import answer_like, words_like
from restride.reference.like.rows import asked_of
from restride.reference.request import RULE_NAMES, Rules, resample_request
from restride.reference.resample import WeightedAxes, nested_sums, sum_bound
from restride.reference.weights import weight_rows

GRADIENT_TYPES = ("f32", "f16", "bf16")


def resample_backward(
    grad: Any,
    input_sizes: Iterable[SupportsIndex],
    scales: Iterable[Any] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: str | None = None,
    *,
    coordinates: str | None = None,
    nearest: str | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    roi: Iterable[Any] | None = None,
    input_offsets: Iterable[Any] | None = None,
    output_offsets: Iterable[Any] | None = None,
    recompute_scale_factor: bool | None = None,
    like: str | None = None,
    dtype: Any = None,
) -> Array:
    """The gradient of ``resample``'s source from that of its result: the transposed matrices, in f64, rounded once.

    ``grad_source[i] = sum over o of W[o, i] * grad[o]`` along one axis after the other, last axis first, with W the
    weights that the forward direction has in f32: each the f64 nearest to the exact one, rounded to f32. What was
    extrapolated has no gradient.

    Args:
        grad: gradient of the result, f32, f16 or bf16; its sizes along ``axes`` are the result's.
        input_sizes: sizes of the source along ``axes``.
        scales: those that ``resample`` was given.
        axes: which axes; default: the last ones, as many as ``input_sizes``.
        mode: this and what follows as in ``resample``.
        coordinates: as in ``resample``.
        nearest: as in ``resample``.
        cubic_a: as in ``resample``.
        antialias: as in ``resample``.
        exclude_outside: as in ``resample``.
        roi: as in ``resample``.
        input_offsets: as in ``resample``.
        output_offsets: as in ``resample``.
        recompute_scale_factor: as in ``resample``.
        like: as in ``resample``, of floats.
        dtype: f32, f16 or bf16; default: that of ``grad``.

    Raises:
        DescriptorError: arguments do not fit each other or ``grad``.
        UnsupportedError: an unknown name, or another element type.

    Source: oneDNN specification, Resampling, backward propagation.
    """
    problem = _problem(**locals())  # every argument, by its name
    with np.errstate(invalid="ignore", over="ignore"):
        return round_once(_sums(problem), problem.target.dtype)


def resample_backward_limits(
    grad: Any, input_sizes: Any, scales: Any = None, axes: Any = None, mode: Any = None, **arguments: Any
) -> tuple[Array, Array]:
    """The lowest and the highest right answer of each element, for f32 weights and f32 sums.

    Its arguments are those of ``resample_backward``. The bound is that of ``resample``, derived in
    ``restride.reference.resample``, with the taps of a transposed row: the outputs that read an element. The exact
    sum is that of f32 weights already. The unit an axis that the bound has for their rounding stays: a device that
    computes a weight in f64, near a tie, may round it to the other f32.
    """
    problem = _problem(grad, input_sizes, scales, axes, mode, **arguments)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = _sums(problem)
        bound = sum_bound(problem.grad, problem.grad.astype(np.float64), problem.weighted)
        bound = np.where(np.isfinite(exact), bound, 0.0)
        return round_once(exact - bound, problem.target.dtype), round_once(exact + bound, problem.target.dtype)


@dataclass(frozen=True, eq=False)
class _Problem:
    grad: Array
    weighted: WeightedAxes
    target: DType


def _problem(
    grad: Any, input_sizes: Any, scales: Any, axes: Any, mode: Any, *, dtype: Any = None, like: Any = None, **rules: Any
) -> _Problem:
    if unknown := sorted(set(rules) - (set(RULE_NAMES) - {"mode", "keep_aspect_ratio_policy"})):
        raise TypeError(f"resample_backward has no argument {unknown[0]!r}")
    array = as_array(grad)
    target = as_dtype(array.dtype if dtype is None else dtype)
    for argument, element in (("grad", as_dtype(array.dtype)), ("dtype", target)):
        if element.name not in GRADIENT_TYPES:
            raise UnsupportedError(
                f"{argument} must be {', '.join(GRADIENT_TYPES)}, not {element}, for {describe(array)}"
            )
    before = integers("input_sizes", input_sizes)
    if axes is None and len(before) > array.ndim:
        raise DescriptorError(f"input_sizes names {len(before)} axes, but {describe(array)} has {array.ndim}")
    named = as_axes(axes, len(before), array)
    if min(before, default=0) < 0:
        raise DescriptorError(f"input_sizes {list(before)} must be at least 0, for {describe(array)}")
    source_sizes = list(array.shape)
    for axis, size in zip(named, before, strict=True):
        source_sizes[axis] = size
    source = np.broadcast_to(np.zeros((), array.dtype), source_sizes)
    given = {name: value for name, value in {"mode": mode, **rules}.items() if value is not None}
    word = ""
    if like is not None:
        word, given = words_like(like, given, array)
    request = resample_request(source, [array.shape[axis] for axis in named], scales, named, Rules(**given))
    weighted = [(axis, weight_rows(how, 0, how.size)) for axis, how in zip(request.axes, request.how, strict=True)]
    its_own = None if like is None else answer_like(like, asked_of(source, request, word, scales, Rules(**given)))
    if its_own is not None:
        weighted = its_own if isinstance(its_own, list) else []  # an image that keeps its sizes is left as it is
    return _Problem(array, [(axis, rows.transposed()) for axis, rows in weighted], target)


def _sums(problem: _Problem) -> Array:
    return nested_sums(problem.grad.astype(np.float64), problem.weighted)
