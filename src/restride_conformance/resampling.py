"""What a resample case asks for: the arguments of a call and of the reference, the right answer, its tolerance."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from restride import reference
from restride.errors import DescriptorError, ErrorContext
from restride.weights import Request, Resizing, resizing
from restride_conformance.case import Case
from restride_conformance.parameters import PARAMETERS
from restride_conformance.scale_values import arguments, is_arithmetic
from restride_conformance.spelling import Sizes
from restride_conformance.windows import Window

Array = np.ndarray[Any, Any]

_SHARED = ("axes", "view")
_PLACES = ("sizes", "scales", "coordinates", "nearest", "roi", "input_offsets", "output_offsets")
_PLACES_OF_ALL = (*_SHARED, *_PLACES, "recompute_scale_factor", "keep_aspect_ratio_policy", "window")
"""Parameters that say where an output index reads."""


def moves(case: Case) -> bool:
    """Whether a resample or a crop_resize writes elements of the source, converted or not, in place of sums."""
    return case.op in ("resample", "crop_resize") and case.word("mode").startswith("nearest")


def called_with(case: Case) -> dict[str, Any]:
    """Arguments of the operation and of its reference, without arithmetic, layout and destination."""
    given = _sampling(case)
    axes = given["axes"] = _axes(case)
    if case["like"] is not None:
        given["like"] = case["like"]
    if case.op == "resample_backward":
        return {**given, "input_sizes": tuple(case.dst.sizes[axis] for axis in axes)}
    if (window := case["window"]) is not None:
        given["window"] = window.slices if isinstance(window, Window) else window
    if (sizes := _sizes(case)) is not None:
        given["sizes"] = sizes
    for name in ("extrapolation_value", "keep_aspect_ratio_policy"):
        if case[name] != _default(case, name):
            given[name] = case[name]
    return given


def _sampling(case: Case) -> dict[str, Any]:
    """The mode, and what a resampling and its transpose share, where it differs from the default."""
    given: dict[str, Any] = {"mode": case.word("mode")}
    for name in ("scales", *_CHOICES):
        value = case[name]
        if value != _default(case, name):
            given[name] = value == "yes" if value in ("yes", "no") else value
    return given


_CHOICES = (
    *("coordinates", "nearest", "cubic_a", "antialias", "exclude_outside"),
    *("roi", "input_offsets", "output_offsets", "recompute_scale_factor"),
)


def _default(case: Case, name: str) -> Any:
    (parameter,) = (parameter for parameter in PARAMETERS[case.op] if parameter.name == name)
    return parameter.default(case.viewed, case.dst.sizes)


def _axes(case: Case) -> Sizes:
    axes, rank = case.integers("axes"), min(len(case.viewed), case.dst.rank)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise DescriptorError(f"axes {list(axes)} must be in [0, {case.dst.rank}) of {case.dst}, each once: {case}")
    return axes


def _sizes(case: Case) -> Sizes | None:
    """The sizes that a resample is given: those written, else those of the destination unless scales say them."""
    if case["sizes"] is not None:
        return case.integers("sizes")
    if case["scales"] is not None:
        return None
    if case["window"] is not None:
        raise DescriptorError(f"window is a part of a result, whose sizes= or scales= must be given: {case}")
    return tuple(case.dst.sizes[axis] for axis in _axes(case))


def resized(case: Case) -> Resizing:
    """The resampling, or the one whose transpose a backward case asks for, checked; no element is computed.

    Raises:
        DescriptorError: the parameters do not fit each other or the sizes.
    """
    given = called_with(case)
    old = case.viewed
    if case.op == "resample_backward":
        if len(old) != case.dst.rank:
            raise DescriptorError(f"a gradient and its source have equally many axes: {case}")
        given["sizes"], old = tuple(old[axis] for axis in given["axes"]), case.dst.sizes
    with ErrorContext(case):
        return resizing(
            old, Request(**{name: given[name] for name in Request._fields if name in given}), case.src.dtype.name
        )


def resampled_sizes(case: Case) -> Sizes:
    """The sizes of what a resample makes.

    Raises:
        DescriptorError: as ``resized``.
    """
    return resized(case).sizes


def source_sizes(case: Case) -> Sizes:
    """The sizes that ``resample_backward`` makes: those of its destination, if the gradient has those of the result.

    Raises:
        DescriptorError: it does not, or as ``resized``.
    """
    made = resized(case).sizes
    if made != case.viewed:
        raise DescriptorError(f"what is resampled has sizes {list(made)}, its gradient {list(case.viewed)}: {case}")
    return case.dst.sizes


def moved(case: Case, source: Array) -> Array:
    """The elements that mode nearest takes, before they are converted."""
    array: Array = reference.resample(source, **called_with(case))
    return array


def limits(case: Case, source: Array, old: Array | None) -> tuple[Array, Array]:
    """The lowest and the highest right elements of a resampling that sums."""
    given = called_with(case)
    if case.src.dtype != case.dst.dtype:
        given["dtype"] = case.dst.dtype
    if case.op == "resample_backward":
        low, high = reference.resample_backward_limits(source, **given)
        return low, high
    if case["sum_scale"] is not None:
        given["out"] = old
    low, high = reference.resample_limits(source, **given, **arguments(case))
    return low, high


def tolerance(case: Case) -> str:
    """What the limits of a case are, and where they come from, with its numbers."""
    found = resized(case)
    if any(rows.shifts is not None for rows in found.rows):
        return f"the integers of {case['like']}, exactly (restride.reference.like){_steps(case)}"
    found = found.transposed() if case.op == "resample_backward" else found
    axes, taps = len(found.axes), prod(rows.taps for rows in found.rows)
    conversion = " + 1 for the conversion" if case.src.dtype.name in ("s32", "u32") else ""
    return (
        f"the exact sum +-(3 * {axes} axes + {taps} taps{conversion}) * 2^-24 * sum|weight * tap|, the roundings of "
        f"f32{_steps(case)}, then rounded to {case.dst.dtype} (restride.reference.resample_bound)"
    )


def _steps(case: Case) -> str:
    return ", through the arithmetic a f32 step at a time" if is_arithmetic(case) else ""


def of_places(case: Case) -> Case:
    """The resample of places that says where the elements of a case come from.

    Indices are a matter of nearest, whatever is summed; those of a gradient follow the sizes alone.
    """
    if case.op == "resample_backward":
        kept = [(name, value) for name, value in case.parameters if name in _SHARED]
        return replace(case, op="resample", parameters=(*kept, ("mode", "nearest")))
    kept = [(name, value) for name, value in case.parameters if name in _PLACES_OF_ALL]
    return replace(case, parameters=(*kept, ("mode", "nearest")))
