"""The operations of cases: for each the sizes, the numpy answer with its limits, and the call on a device.

A new operation adds one entry to ``OPERATIONS``. The entries of its arrays of scales follow from a case's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from restride import reference
from restride.arithmetic import arithmetic
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, ErrorContext
from restride.layout import TensorDesc, views
from restride.layout.argument import Layout, axis_order, laid_out
from restride.layout.overlap import may_overlap, written_by
from restride.ops.crop_resize import FLIPS
from restride.tensor.tensor import Tensor
from restride.weights import Request, Resizing, resizing
from restride_conformance.case import ARITHMETIC, SCALES, Case
from restride_conformance.fill import hashed_words
from restride_conformance.spelling import Sizes, Window, post_ops_of

MOST_ENTRIES = 1 << 20
"""Entries of an array of scales or zero points."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """What the elements of a destination may be: ``lowest`` to ``highest``, both inclusive.

    Where both have the same bits, or the operation is exact, those bits must come; but where they are NaN and it is not
    exact, any NaN is right. Where ``highest`` alone is NaN, NaN and everything from ``lowest`` on are right.
    ``flushed``: the elements on a device that takes denormals of f32 for zeros; None: they are the same.
    """

    lowest: Array
    highest: Array
    flushed: Array | None = None


@dataclass(frozen=True)
class Operation:
    """One operation of the catalogue.

    sizes: the sizes of the answer, without its elements; raises DescriptorError where the operation does no such thing.
    answer: the right elements, from those of the source, viewed already, and the old ones of the destination.
    call: run it on the device: ``(case, source tensor, destination tensor)``; gives the destination, a new one where
        None is given. Sources are viewed already.
    tolerance: where it is not exact: what the limits are, and where they come from, in a line.
    """

    sizes: Callable[[Case], Sizes]
    answer: Callable[[Case, Array, Array | None], Answer]
    call: Callable[[Case, Tensor, Tensor | None], Tensor]
    is_exact: Callable[[Case], bool] = lambda _case: True
    tolerance: Callable[[Case], str] = lambda _case: ""


def require_valid(case: Case) -> None:
    """Check that a case asks for what its operation does, from its sizes alone: no element is computed.

    Raises:
        DescriptorError: a window, axis or permutation does not fit, the destination has other sizes, what ``out`` says
            does not go with it, or a scale, a zero point or a sum cannot be.
    """
    _require_sizes(case, OPERATIONS[case.op].sizes(case))
    out = case["out"]
    if case.op in ("reorder", "resample", "crop_resize"):
        if case.get("sum_scale") is not None and makes_destination(case):
            raise DescriptorError(f"sum_scale reads a destination that is given, so out={out} must not be: {case}")
        source = _unplaced(computed_type(case), case.viewed if case.op == "reorder" else case.dst.sizes)
        arithmetic(source, case.dst, order(case), **arguments(case), rounds_first=case.get("rounds_first") == "yes")
    if case.op == "reorder" and case["permute"] is not None and out not in (None, "same", "default"):
        raise DescriptorError(f"permute gives the layout too, so out={out} must be same or default: {case}")
    if out == "same" and not is_in_place(case) and may_overlap(case.src, written_by(case.dst)):
        raise DescriptorError(f"with out=same the destination must lie apart from the source: {case}")
    if makes_destination(case):
        laid_out(TensorDesc(case.dst.dtype, case.dst.sizes), _layout(case), case.dst.dtype)


def answer(case: Case, source: Array, old: Array | None = None) -> Answer:
    """The right destination, elementwise, of a source that is not viewed yet and the old destination where it is read.

    Raises:
        DescriptorError: the case asks for something the operation does not do, or for another destination size.
    """
    viewed = source if case.view is None else case.view.of_array(source)
    right = OPERATIONS[case.op].answer(case, viewed, old)
    _require_sizes(case, right.lowest.shape)
    return right


def origins(case: Case, places: Array) -> Array:
    """The place that each element of the destination comes from, where ``places`` are those of the source.

    Of a sum the nearest element counts; of a gradient the sizes alone; of yuv_to_rgb the luma.
    """
    if case.op == "yuv_to_rgb":
        viewed = places if case.view is None else case.view.of_array(places)
        return np.repeat(viewed[..., : case.dst.sizes[-3], :, None], case.dst.sizes[-1], axis=-1)
    values = {parameter.name for parameter in ARITHMETIC}
    parameters = [each for each in case.parameters if each[0] not in values]
    op = case.op
    if op == "resample_backward":
        op, parameters = "resample", [each for each in parameters if each[0] in ("axes", "view")]
    if op in ("resample", "crop_resize"):
        parameters = [each for each in parameters if each[0] not in _VALUES_OF_SUMS] + [("mode", "nearest")]
    src, dst = (_unplaced(as_dtype("s64"), desc.sizes) for desc in (case.src, case.dst))
    moving = replace(case, op=op, parameters=tuple(parameters), src=src, dst=dst)
    return answer(moving, places.astype(np.int64)).lowest


_VALUES_OF_SUMS = (
    *("mode", "like", "cubic_a", "antialias", "exclude_outside", "extrapolation_value", "fill"),
    *("out", "data"),
)
"""Parameters of a resampling that do not say which source element is nearest."""


def makes_destination(case: Case) -> bool:
    """Whether the operation is to make its destination, rather than write to one that is given."""
    return case["out"] not in (None, "same")


def is_in_place(case: Case) -> bool:
    """Whether a reorder writes to where it reads."""
    alone = case["out"] == "same" and case.view is None and case.src == case.dst
    return alone and case.op == "reorder" and case["permute"] is None


def keeps_padding(case: Case) -> bool:
    """Whether padding of the destination must stay: where its elements are read too."""
    return is_in_place(case) or case.get("sum_scale") not in (None, 0.0)


def moves(case: Case) -> bool:
    """Whether a resample or a crop_resize writes elements of the source, converted or not, in place of sums."""
    return case.op in ("resample", "crop_resize") and case.word("mode").startswith("nearest")


def _require_sizes(case: Case, sizes: Sizes) -> None:
    if sizes != case.dst.sizes:
        raise DescriptorError(f"{case.op} gives sizes {list(sizes)}, but the destination is {case.dst}: {case}")


def _unplaced(dtype: DType, sizes: Sizes) -> TensorDesc:
    """A descriptor whose strides are all 0, since a view may have more elements than a packed tensor."""
    return TensorDesc(dtype, sizes, (0,) * len(sizes))


def _layout(case: Case) -> Layout:
    """The layout argument where the operation makes its destination."""
    if case["out"] in ("new", "default"):
        return case.dst if case["out"] == "new" else None
    return case.word("out")


def _destination(case: Case, out: Tensor | None) -> dict[str, Any]:
    """The arguments that say where the answer goes: a tensor, or the layout and the element type of a new one."""
    return {"out": out} if out is not None else {"layout": _layout(case), "dtype": case.dst.dtype}


# Arithmetic: numbers are on a case's line, the entries of arrays follow from its seed.

_NEUTRAL = {"src_scale": 1.0, "src_zero_point": 0.0, "dst_scale": 1.0, "dst_zero_point": 0.0, "sum_scale": 0.0}


def is_arithmetic(case: Case) -> bool:
    """Whether a case computes in f32 what it writes: a scale, a zero point, a sum that is not neutral, or post-ops."""
    named = any(case.get(name) not in (None, neutral) for name, neutral in _NEUTRAL.items())
    return named or case.get("post_ops") is not None


def order(case: Case) -> tuple[int, ...]:
    """For each axis of the destination, the axis of the source, as the view leaves it; a resample keeps their order."""
    if case.op != "reorder":
        return tuple(range(case.dst.rank))
    return axis_order(_unplaced(case.src.dtype, case.viewed), _permutation(case))


def computed_type(case: Case) -> DType:
    """The element type that the arithmetic starts from: f32 behind a sum, else the source's."""
    return as_dtype("f32") if case.op in ("resample", "crop_resize") and not moves(case) else case.src.dtype


def arguments(case: Case) -> dict[str, Any]:
    """The arithmetic that an operation is called with; only what differs from its default.

    The arrays of a reorder fit the source and the destination; those of a resample both fit its result.

    Raises:
        DescriptorError: a parameter does not fit the sizes.
    """
    called: dict[str, Any] = {}
    groups = (1,) * (len(case.viewed) if case.op == "reorder" else case.dst.rank)
    if case.get("group_sizes") is not None:
        called["group_sizes"] = groups = case.integers("group_sizes")
        if len(groups) != len(case.viewed):
            raise DescriptorError(f"group_sizes {list(groups)} must be one for each of {len(case.viewed)} axes: {case}")
    for number, name in enumerate(SCALES):
        value = case[name]
        if isinstance(value, tuple):
            is_source = name.startswith("src")
            sizes = case.viewed if is_source and case.op == "reorder" else case.dst.sizes
            words = _words(case, name, sizes, groups if is_source else [groups[axis] for axis in order(case)], number)
            dtype = computed_type(case) if is_source else case.dst.dtype
            called[name] = _scales(words) if name.endswith("scale") else _zero_points(dtype, words)
        elif value is not None:
            called[name] = value
    if case.get("sum_scale") is not None:
        called["sum_scale"] = case["sum_scale"]
    if case["post_ops"] is not None:
        called["post_ops"] = post_ops_of(case.word("post_ops"))
    return called | case.written("rounding", "saturate")


def _words(case: Case, name: str, sizes: Sizes, groups: Collection[int], number: int) -> Array:
    """A hashed word for each entry: along the axes of a parameter one for each group of indices, elsewhere one."""
    axes = case.integers(name)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < len(sizes) for axis in axes):
        raise DescriptorError(f"{name}={list(axes)} must be axes in [0, {len(sizes)}), each once: {case}")
    grouped = enumerate(zip(sizes, groups, strict=True))
    entries = [-(-size // group) if axis in axes else 1 for axis, (size, group) in grouped]
    if prod(entries) > MOST_ENTRIES:
        raise DescriptorError(f"{name} has {prod(entries):,} entries, more than {MOST_ENTRIES:,}: {case}")
    first = (number + 1) << 40  # the four arrays and the elements of one seed come from different words
    words = hashed_words(np.arange(first, first + prod(entries), dtype=np.uint64), case.seed)
    return words.reshape(entries)


def _scales(words: Array) -> Array:
    """1/8 to 8 in magnitude: a quarter are powers of two, the others have all 24 bits; one of eight is negative."""
    fraction = np.where(words & np.uint64(3) == 0, 0, (words >> np.uint64(2)) & np.uint64((1 << 23) - 1))
    exponent = ((words >> np.uint64(32)) % np.uint64(6)).astype(np.int64) - 3
    magnitude = np.ldexp(1 + fraction.astype(np.float64) / (1 << 23), exponent)
    return np.where((words >> np.uint64(61)) == 0, -magnitude, magnitude).astype(np.float32)


def _zero_points(dtype: DType, words: Array) -> Array:
    """For a float type eighths in [-8, 8], for another integers of its range, up to 1000 in magnitude."""
    if dtype.is_float:
        return ((words % np.uint64(129)).astype(np.float32) - np.float32(64)) / np.float32(8)
    lowest, highest = (0, 1) if dtype == "pred" else (np.iinfo(dtype.dtype).min, np.iinfo(dtype.dtype).max)
    low, high = max(lowest, -1000), min(highest, 1000)
    return ((words % np.uint64(high - low + 1)).astype(np.int64) + low).astype(np.float32)


# slice and reorder.


def _windows(case: Case) -> tuple[Sizes, Sizes, Sizes]:
    return case.integers("offsets"), case.integers("sizes"), case.integers("strides")


def _slice_answer(case: Case, source: Array, _old: Array | None) -> Answer:
    right = reference.strided_slice(source, *_windows(case), output_sizes=case.dst.sizes)
    return Answer(right, right)


def _call_slice(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    window = rs.strided_slice(source, *_windows(case), output_sizes=case.dst.sizes, out=out)
    return rs.reorder(window, _layout(case)) if out is None else window  # without out, a slice is a view


def _permutation(case: Case) -> str | None:
    return None if case["permute"] is None else case.word("permute")


def _converted(case: Case, source: Array, permutation: str | None, old: Array | None) -> Answer:
    """Elements that are moved, after the arithmetic of a case and the conversion to its destination's type."""
    called = {**arguments(case), "rounds_first": case.get("rounds_first") == "yes", "out": old}
    right = reference.reorder(source, permutation, case.dst.dtype, **called, flush=False)
    if not is_arithmetic(case):
        return Answer(right, right)
    flushed = reference.reorder(source, permutation, case.dst.dtype, **called, flush=True)
    with np.errstate(invalid="ignore"):  # bf16 and the 8-bit floats say so where NaN is compared
        is_lower = flushed < right
    return Answer(np.where(is_lower, flushed, right), np.where(is_lower, right, flushed), flushed)


def _call_reorder(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs
    from restride.ops.reorder import reorder_with

    permutation = _permutation(case)
    layout = _layout(case) if out is None and permutation is None else permutation
    dtype = case.dst.dtype if out is None else None
    if case["rounds_first"] == "yes":
        return reorder_with(source, layout, dtype, out, **arguments(case), rounds_first=True)
    return rs.reorder(source, layout, dtype, **arguments(case), out=out)


def _converted_tolerance(_case: Case) -> str:
    return "the answers of f32 with and without its denormals, and what lies between them; any NaN for a NaN"


# resample, resample_backward and crop_resize.


def _moves_exactly(case: Case) -> bool:
    return moves(case) and not is_arithmetic(case)


def _sampling_answer(case: Case, source: Array, old: Array | None) -> Answer:
    """Elements that are moved, or the limits of sums."""
    if case.op == "crop_resize":
        called, name = {"boxes": _boxes(case), "sizes": _crop_sizes(case), **_crop_arguments(case)}, "crop_resize"
    else:
        resized(case)  # whatever asks for something else is refused in the library's words
        called, name = _resample_arguments(case), case.op
    if moves(case):
        return _converted(case, getattr(reference, name)(source, **called), None, old)
    if case.op != "resample_backward":
        called |= arguments(case)
    if case.get("sum_scale") is not None:
        called["out"] = old
    return Answer(*getattr(reference, f"{name}_limits")(source, **called, dtype=case.dst.dtype))


def _sampling_tolerance(case: Case) -> str:
    """The limits of a case and where they come from, with its numbers."""
    if moves(case):
        return _converted_tolerance(case)
    steps = ", through the arithmetic a f32 step at a time" if is_arithmetic(case) else ""
    if case.op == "crop_resize":
        if case["like"] is not None:
            return f"those of a resample of each box like {case['like']} (restride.reference.like){steps}"
        return f"those of a resample of each box (restride.reference.resample_limits){steps}"
    resampling = resized(case)
    if any(rows.shifts is not None for rows in resampling.rows):
        return f"the integers of {case['like']}, exactly (restride.reference.like){steps}"
    resampling = resampling.transposed() if case.op == "resample_backward" else resampling
    axes, taps = len(resampling.axes), prod(rows.taps for rows in resampling.rows)
    conversion = " + 1 for the conversion" if case.src.dtype.name in ("s32", "u32") else ""
    return (
        f"the exact sum +-(3 * {axes} axes + {taps} taps{conversion}) * 2^-24 * sum|weight * tap|, the roundings of "
        f"f32{steps}, then rounded to {case.dst.dtype} (restride.reference.resample_bound)"
    )


_CHOICES = (
    *("coordinates", "nearest", "cubic_a", "antialias", "exclude_outside"),
    *("roi", "input_offsets", "output_offsets", "recompute_scale_factor"),
)
"""Choices of a resampling beside its mode, where it differs from the default."""


def _resample_arguments(case: Case) -> dict[str, Any]:
    """Arguments of the operation and of its reference, without arithmetic, layout and destination."""
    axes, rank = case.integers("axes"), min(len(case.viewed), case.dst.rank)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise DescriptorError(f"axes {list(axes)} must be in [0, {case.dst.rank}) of {case.dst}, each once: {case}")
    called = {"axes": axes, **case.written("mode", "like", "scales", *_CHOICES)}
    sizes = tuple(case.dst.sizes[axis] for axis in axes)
    if case.op == "resample_backward":
        return {**called, "input_sizes": sizes}
    called |= case.written("sizes", "extrapolation_value", "keep_aspect_ratio_policy")
    if isinstance(window := case["window"], Window):
        called["window"] = window.slices
    if "sizes" not in called and "scales" not in called:
        if window is not None:
            raise DescriptorError(f"window is a part of a result, whose sizes= or scales= must be given: {case}")
        called["sizes"] = sizes
    return called


def resized(case: Case) -> Resizing:
    """The resampling, or the one whose transpose a backward case asks for, checked; no element is computed.

    Raises:
        DescriptorError: the parameters do not fit each other or the sizes.
    """
    called, old = _resample_arguments(case), case.viewed
    if case.op == "resample_backward":
        if len(old) != case.dst.rank:
            raise DescriptorError(f"a gradient and its source have equally many axes: {case}")
        called["sizes"], old = tuple(old[axis] for axis in called["axes"]), case.dst.sizes
    request = Request(**{name: called[name] for name in Request._fields if name in called})
    with ErrorContext(case):
        return resizing(old, request, case.src.dtype.name)


def _gradient_sizes(case: Case) -> Sizes:
    """The sizes of the destination, if the gradient has those of the result."""
    result = resized(case).sizes
    if result != case.viewed:
        raise DescriptorError(f"what is resampled has sizes {list(result)}, its gradient {list(case.viewed)}: {case}")
    return case.dst.sizes


def _call_resample(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    return rs.resample(source, **_resample_arguments(case), **arguments(case), **_destination(case, out))


def _call_resample_backward(case: Case, grad: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    return rs.resample_backward(grad, **_resample_arguments(case), **_destination(case, out))


def _boxes(case: Case) -> Array:
    """The boxes, (boxes, 4), of integers where all are."""
    value = case["boxes"]
    if not isinstance(value, tuple) or len(value) % 4:
        raise DescriptorError(f"boxes must be four numbers each: {case}")
    return np.array([number if isinstance(number, int) else float(number) for number in value]).reshape(-1, 4)


def _crop_sizes(case: Case) -> tuple[int, int]:
    """Rows and columns of each result, from the destination."""
    behind = 0 if case["images"] is not None else 1
    axes = [axis + behind for axis in case.integers("axes")]
    if len(axes) != 2 or not behind <= axes[0] < axes[1] < case.dst.rank:
        raise DescriptorError(f"axes {case['axes']} must be rows and columns of an image, of {case.dst}: {case}")
    return case.dst.sizes[axes[0]], case.dst.sizes[axes[1]]


def _cropped_sizes(case: Case) -> Sizes:
    if case["out"] == "same":
        raise DescriptorError(f"crop_resize has an out of its own, so out must not be same: {case}")
    sizes, count, has_images = _crop_sizes(case), len(_boxes(case)), case["images"] is not None
    axes = case.integers("axes")
    if not (1 if has_images else 0) <= axes[0] < axes[1] < len(case.viewed):
        raise DescriptorError(f"axes {list(axes)} must be rows and columns of sizes {list(case.viewed)}: {case}")
    if unknown := [word for word in case.word("flip").split(",") if word not in FLIPS]:
        raise DescriptorError(f"flip {unknown[0]!r} is unknown; known: {', '.join(FLIPS)}: {case}")
    if has_images and len(case.integers("images")) != count:
        raise DescriptorError(f"images must be one for each of {count} boxes: {case}")
    result = [sizes[axes.index(axis)] if axis in axes else size for axis, size in enumerate(case.viewed)]
    return (count, *result[1:]) if has_images else (count, *result)


def _crop_arguments(case: Case) -> dict[str, Any]:
    """Arguments of crop_resize and of its reference beside boxes and sizes, without arithmetic and destination."""
    names = ("mode", "axes", "images", "like", "units", "letterbox", *_CHOICES[:5])
    flips, fill = case.word("flip").split(","), case["fill"]
    return {
        **case.written(*names),
        "flip": flips[0] if len(flips) == 1 else flips,
        "fill": fill if not isinstance(fill, tuple) else fill[0] if len(fill) == 1 else list(fill),
    }


def _call_crop_resize(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    called = {**_crop_arguments(case), **arguments(case), **_destination(case, out)}
    result: Any = rs.crop_resize(source, _boxes(case), _crop_sizes(case), **called)
    tensor: Tensor = result if case["letterbox"] is None else result[0]
    return tensor


# yuv_to_rgb.


def _yuv_arguments(case: Case) -> dict[str, Any]:
    return case.written("format", "matrix", "full_range", "like")


def _rgb_sizes(case: Case) -> Sizes:
    """The sizes of RGB, from frames of 3/2 as many rows."""
    *frames, height, columns = case.viewed
    return (*frames, height // 3 * 2, columns, 3)


def _rgb_answer(case: Case, source: Array, _old: Array | None) -> Answer:
    right = reference.yuv_to_rgb(source, **_yuv_arguments(case))
    return Answer(right, right)


def _call_yuv_to_rgb(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    return rs.yuv_to_rgb(source, **_yuv_arguments(case), layout=_layout(case) if out is None else None, out=out)


OPERATIONS: dict[str, Operation] = {
    "slice": Operation(
        lambda case: views.window(_unplaced(case.src.dtype, case.viewed), *_windows(case), case.dst.sizes).sizes,
        _slice_answer,
        _call_slice,
    ),
    "reorder": Operation(
        lambda case: tuple(case.viewed[axis] for axis in order(case)),
        lambda case, source, old: _converted(case, source, _permutation(case), old),
        _call_reorder,
        lambda case: not is_arithmetic(case),
        _converted_tolerance,
    ),
    "resample": Operation(
        lambda case: resized(case).sizes, _sampling_answer, _call_resample, _moves_exactly, _sampling_tolerance
    ),
    "resample_backward": Operation(
        _gradient_sizes, _sampling_answer, _call_resample_backward, _moves_exactly, _sampling_tolerance
    ),
    "yuv_to_rgb": Operation(_rgb_sizes, _rgb_answer, _call_yuv_to_rgb),
    "crop_resize": Operation(_cropped_sizes, _sampling_answer, _call_crop_resize, _moves_exactly, _sampling_tolerance),
}
"""Every operation by the name that begins its cases."""
