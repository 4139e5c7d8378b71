"""The reference for ``resample_backward``: sums with the transposed matrices of ``resample``, whose weights are f32."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from restride.arguments import counts, unexpected
from restride.dtypes import Array, DType, as_dtype
from restride.errors import ErrorContext, UnsupportedError
from restride.reference.arguments import ReferenceBackwardArguments, as_array, described
from restride.reference.axes import MAX_WEIGHTS, resampled_axes
from restride.reference.conversion import round_once
from restride.reference.resample import nested_sums, sum_bound, sum_limits, unlimited_where, weighted_axes
from restride.reference.weights import WeightedAxes
from restride.request import Request, resized_axes
from restride.request.channels import require_no_channels

GRADIENT_TYPES = ("f32", "f16", "bf16")


def resample_backward(
    grad: Any,
    input_sizes: Any,
    scales: Any = None,
    axes: Any = None,
    mode: Any = None,
    **others: Unpack[ReferenceBackwardArguments],
) -> Array:
    """The gradient of ``resample``'s source, given that of its result: transposed matrices, in f64, rounded once.

    ``grad_source[i] = sum over o of W[o, i] * grad[o]`` along one axis after the other, last axis first, with W the
    f32 weights of the forward direction: each the f64 nearest to the exact one, rounded to f32. Extrapolated elements
    have no gradient.

    Args:
        grad: gradient of the result, f32, f16 or bf16; its sizes along ``axes`` are the result's.
        input_sizes: sizes of the source along ``axes``.
        scales: those of ``resample``.
        axes: which axes; default: the last ones, as many as ``input_sizes``.
        mode: as in ``resample``.
        others: as of ``rs.resample_backward``, without ``layout`` and ``out``.

    Raises:
        DescriptorError: an unknown name, or arguments do not fit each other or ``grad``.
        UnsupportedError: another element type.

    Source: oneDNN specification, Resampling, backward propagation.

    Example:
        >>> rs.reference.resample_backward(np.float32([1, 0, 0, 4]), (2,)).tolist()
        [1.0, 4.0]
    """
    array, weighted, target = _problem(grad, input_sizes, scales, axes, mode, others)
    with np.errstate(invalid="ignore", over="ignore"):
        return round_once(nested_sums(array.astype(np.float64), weighted), target.dtype)


def resample_backward_limits(
    grad: Any,
    input_sizes: Any,
    scales: Any = None,
    axes: Any = None,
    mode: Any = None,
    **others: Unpack[ReferenceBackwardArguments],
) -> tuple[Array, Array]:
    """The lowest and the highest correct result of each element, for f32 weights and f32 sums.

    Its arguments are those of ``resample_backward``. The bound is that of ``resample``, derived in
    ``restride.reference.resample``, with the taps of a transposed row: the outputs that read an element. The exact sum
    already has f32 weights. The bound nevertheless keeps one unit per axis for rounding weights: a device that computes
    a weight in f64, near a tie, may round it to the other f32.
    """
    array, weighted, target = _problem(grad, input_sizes, scales, axes, mode, others)
    with np.errstate(invalid="ignore", over="ignore"):
        values = array.astype(np.float64)
        exact = nested_sums(values, weighted)
        low, high, unbounded = sum_limits(array, weighted, exact, sum_bound(array, values, weighted))
        limits = round_once(low, target.dtype), round_once(high, target.dtype)
        return unlimited_where(unbounded, limits, target)


def _problem(
    grad: object, input_sizes: Any, scales: Any, axes: Any, mode: Any, others: ReferenceBackwardArguments
) -> tuple[Array, WeightedAxes, DType]:
    """Check the arguments; return ``grad`` as an array, the transposed rows of each axis, and the element type."""
    if not others.keys() <= ReferenceBackwardArguments.__annotations__.keys():
        listed = {"input_sizes", "scales", "axes", "mode", *ReferenceBackwardArguments.__annotations__}
        raise unexpected(resample_backward, others, listed)
    rules: dict[str, Any] = dict(others)
    dtype = rules.pop("dtype", None)
    array = as_array(grad)
    target = as_dtype(array.dtype if dtype is None else dtype)
    with ErrorContext(described(array)):
        before = counts("input_sizes", input_sizes)
        indices = resized_axes(axes, {"input_sizes": before}, array.ndim)
        sizes = [array.shape[axis] for axis in indices]
        if axes is None:
            require_no_channels("grad", array.ndim, sizes, before, rules.get("like"))
        for argument, element in (("grad", as_dtype(array.dtype)), ("dtype", target)):
            if element.name not in GRADIENT_TYPES:
                raise UnsupportedError(f"{argument} must be {', '.join(GRADIENT_TYPES)}, not {element}")
        if max(before, default=0) > MAX_WEIGHTS:
            raise UnsupportedError(
                f"the reference has axes of at most {MAX_WEIGHTS} elements, not input_sizes {list(before)}"
            )
        source_sizes = list(array.shape)
        for axis, size in zip(indices, before, strict=True):
            source_sizes[axis] = size
        source = np.broadcast_to(np.zeros((), array.dtype), source_sizes)
        weighted, _ = weighted_axes(resampled_axes(source, Request(sizes, scales, indices, mode, **rules)))
    return array, [(axis, rows.transposed()) for axis, rows in weighted], target
