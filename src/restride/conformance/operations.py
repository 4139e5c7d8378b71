"""What the operation of a case is: the numpy answer, and the call on a device. A new operation adds one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from restride import reference
from restride.conformance import fill
from restride.conformance.case import Case
from restride.errors import DescriptorError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Operation:
    """One operation of the catalogue.

    answer: lowest and highest right element, both inclusive; where ``is_exact`` they are one and its bits must match.
    call: run it on the device: ``(case, source tensor, destination tensor)``. Sources are viewed already.
    tolerance: where it is not exact: what the limits are, and where they come from, in a line.
    """

    is_exact: Callable[[Case], bool]
    answer: Callable[[Case, Array], tuple[Array, Array]]
    call: Callable[[Case, Any, Any], None]
    tolerance: Callable[[Case], str] = lambda _case: ""


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
    if lowest.shape != case.dst.sizes:
        raise DescriptorError(f"{case.op} gives sizes {list(lowest.shape)}, but the destination is {case.dst}: {case}")
    return lowest, highest


def _twice(array: Array) -> tuple[Array, Array]:
    return array, array


def _slice_answer(case: Case, source: Array) -> tuple[Array, Array]:
    windows = (case.integers("offsets"), case.integers("sizes"), case.integers("strides"))
    return _twice(reference.strided_slice(source, *windows, output_sizes=case.dst.sizes))


def _call_slice(case: Case, source: Any, out: Any) -> None:
    import restride as rs

    windows = (case.integers("offsets"), case.integers("sizes"), case.integers("strides"))
    rs.strided_slice(source, *windows, output_sizes=case.dst.sizes, out=out)


def _reorder_layout(case: Case) -> str | None:
    return None if case["permute"] is None else case.word("permute")


def _call_reorder(case: Case, source: Any, out: Any) -> None:
    import restride as rs

    rs.reorder(source, _reorder_layout(case), out=out)


def _resample_sizes(case: Case) -> tuple[int, ...]:
    axes = case.integers("axes")
    if any(not 0 <= axis < case.dst.rank for axis in axes):
        raise DescriptorError(f"axes {list(axes)} must be in [0, {case.dst.rank}) of {case.dst}: {case}")
    return tuple(case.dst.sizes[axis] for axis in axes)


def _call_resample(case: Case, source: Any, out: Any) -> None:
    import restride as rs

    rs.resample(source, sizes=_resample_sizes(case), axes=case.integers("axes"), mode=case.word("mode"), out=out)


def _resample_tolerance(case: Case) -> str:
    axes = len(case.integers("axes"))
    conversion = " + 1 for the conversion" if case.src.dtype == "s32" else ""
    return (
        f"the exact sum +-(3 * {axes} axes + {2**axes} taps{conversion}) * 2^-24 * sum|weight * tap|, the roundings of "
        f"f32, then rounded to {case.src.dtype} (restride.reference.resample_bound)"
    )


OPERATIONS: dict[str, Operation] = {
    "slice": Operation(lambda _case: True, _slice_answer, _call_slice),
    "reorder": Operation(
        lambda _case: True,
        lambda case, source: _twice(reference.reorder(source, _reorder_layout(case))),
        _call_reorder,
    ),
    "resample": Operation(
        lambda case: case.word("mode") == "nearest",
        lambda case, source: reference.resample_limits(
            source, _resample_sizes(case), case.integers("axes"), case.word("mode")
        ),
        _call_resample,
        _resample_tolerance,
    ),
}
"""Every operation by the name that begins its cases."""
