"""What the operation of a case is: the numpy answer, and the call on a device. A new operation adds one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride import reference, views
from restride.conformance import fill
from restride.conformance.case import Case
from restride.conformance.spelling import Sizes
from restride.desc import TensorDesc
from restride.errors import DescriptorError
from restride.injective import may_overlap, written_by
from restride.layout import Layout, axis_order, laid_out
from restride.tensor import Tensor

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Operation:
    """One operation of the catalogue.

    sizes: the sizes of the answer, without its elements; raises DescriptorError where the operation does no such thing.
    answer: lowest and highest right element, both inclusive; where ``is_exact`` they are one and its bits must match.
    call: run it on the device: ``(case, source tensor, destination tensor)``; gives the destination, a new one where
        None is given. Sources are viewed already.
    tolerance: where it is not exact: what the limits are, and where they come from, in a line.
    """

    is_exact: Callable[[Case], bool]
    sizes: Callable[[Case], Sizes]
    answer: Callable[[Case, Array], tuple[Array, Array]]
    call: Callable[[Case, Tensor, Tensor | None], Tensor]
    tolerance: Callable[[Case], str] = lambda _case: ""


def require_valid(case: Case) -> None:
    """Check that a case asks for what its operation does, from its sizes alone: no element is computed.

    Raises:
        DescriptorError: a window, axis or permutation does not fit, the destination has other sizes, or what ``out``
            says does not go with it.
    """
    _require_sizes(case, OPERATIONS[case.op].sizes(case))
    out = case["out"]
    if case.op == "reorder" and case["permute"] is not None and out not in (None, "same", "default"):
        raise DescriptorError(f"permute gives the layout too, so out={out} must be same or default: {case}")
    if out == "same" and may_overlap(case.src, written_by(case.dst)):
        raise DescriptorError(f"with out=same the destination must lie apart from the source: {case}")
    if makes_destination(case):
        laid_out(TensorDesc(case.dst.dtype, case.dst.sizes), _layout(case))


def makes_destination(case: Case) -> bool:
    """Whether the operation is to make its destination, rather than write to one that is given."""
    return case["out"] not in (None, "same")


def source_values(case: Case) -> Array:
    """The source's elements in logical order: as ``data`` says, else any bits where bits must match, else numbers."""
    dtype, sizes, count = case.src.dtype, case.src.sizes, case.src.numel
    if case["data"] == "image":
        return fill.image(dtype, sizes, case.seed)
    if case["data"] == "edges":
        return fill.edges(dtype, count, case.seed).reshape(sizes)
    if case["data"] == "index":
        return fill.indices(dtype, count).reshape(sizes)
    values = fill.bits if OPERATIONS[case.op].is_exact(case) else fill.numbers
    return values(dtype, count, case.seed).reshape(sizes)


def answer(case: Case, source: Array) -> tuple[Array, Array]:
    """The lowest and the highest right destination, elementwise, of a source that is not viewed yet.

    Raises:
        DescriptorError: the case asks for something the operation does not do, or for another destination size.
    """
    viewed = source if case.view is None else case.view.of_array(source)
    lowest, highest = OPERATIONS[case.op].answer(case, viewed)
    _require_sizes(case, lowest.shape)
    return lowest, highest


def _require_sizes(case: Case, sizes: Sizes) -> None:
    if sizes != case.dst.sizes:
        raise DescriptorError(f"{case.op} gives sizes {list(sizes)}, but the destination is {case.dst}: {case}")


def _twice(array: Array) -> tuple[Array, Array]:
    return array, array


def _layout(case: Case) -> Layout:
    """What is asked for where the operation makes its destination."""
    if case["out"] in ("new", "default"):
        return case.dst if case["out"] == "new" else None
    return case.word("out")


def _windows(case: Case) -> tuple[Sizes, Sizes, Sizes]:
    return case.integers("offsets"), case.integers("sizes"), case.integers("strides")


def _slice_sizes(case: Case) -> Sizes:
    # Zero strides, because a view may have more elements than a packed tensor.
    source = TensorDesc(case.src.dtype, case.viewed, (0,) * len(case.viewed))
    return views.window(source, *_windows(case), case.dst.sizes).sizes


def _slice_answer(case: Case, source: Array) -> tuple[Array, Array]:
    return _twice(reference.strided_slice(source, *_windows(case), output_sizes=case.dst.sizes))


def _call_slice(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    made = rs.strided_slice(source, *_windows(case), output_sizes=case.dst.sizes, out=out)
    return rs.reorder(made, _layout(case)) if out is None else made  # without out, a slice is a view


def _permutation(case: Case) -> str | None:
    return None if case["permute"] is None else case.word("permute")


def _reorder_sizes(case: Case) -> Sizes:
    source = TensorDesc(case.src.dtype, case.viewed, (0,) * len(case.viewed))
    return tuple(case.viewed[axis] for axis in axis_order(source, _permutation(case)))


def _call_reorder(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    permutation = _permutation(case)
    return rs.reorder(source, _layout(case) if out is None and permutation is None else permutation, out=out)


def _resample_sizes(case: Case) -> Sizes:
    axes, viewed = case.integers("axes"), case.viewed
    if len(set(axes)) != len(axes) or any(not 0 <= axis < min(len(viewed), case.dst.rank) for axis in axes):
        raise DescriptorError(f"axes {list(axes)} must be in [0, {case.dst.rank}) of {case.dst}, each once: {case}")
    if short := [axis for axis in axes if case.dst.sizes[axis] and not viewed[axis]]:
        raise DescriptorError(f"axis {short[0]} of the source has no elements to make others of: {case}")
    return tuple(case.dst.sizes[axis] if axis in axes else size for axis, size in enumerate(viewed))


def _new_sizes(case: Case) -> Sizes:
    """Those of the resampled axes, one an axis in ``axes``."""
    _resample_sizes(case)
    return tuple(case.dst.sizes[axis] for axis in case.integers("axes"))


def _call_resample(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    axes, mode = case.integers("axes"), case.word("mode")
    layout = _layout(case) if out is None else None
    return rs.resample(source, sizes=_new_sizes(case), axes=axes, mode=mode, layout=layout, out=out)


def _resample_tolerance(case: Case) -> str:
    axes = len(case.integers("axes"))
    conversion = " + 1 for the conversion" if case.src.dtype == "s32" else ""
    return (
        f"the exact sum +-(3 * {axes} axes + {2**axes} taps{conversion}) * 2^-24 * sum|weight * tap|, the roundings of "
        f"f32, then rounded to {case.src.dtype} (restride.reference.resample_bound)"
    )


OPERATIONS: dict[str, Operation] = {
    "slice": Operation(lambda _case: True, _slice_sizes, _slice_answer, _call_slice),
    "reorder": Operation(
        lambda _case: True,
        _reorder_sizes,
        lambda case, source: _twice(reference.reorder(source, _permutation(case))),
        _call_reorder,
    ),
    "resample": Operation(
        lambda case: case.word("mode") == "nearest",
        _resample_sizes,
        lambda case, source: reference.resample_limits(
            source, _new_sizes(case), case.integers("axes"), case.word("mode")
        ),
        _call_resample,
        _resample_tolerance,
    ),
}
"""Every operation by the name that begins its cases."""
