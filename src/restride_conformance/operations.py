"""The operations of cases, a class for each: its parameters, sizes, numpy answer with its limits, and call on a device.

To add an operation, add a class and its entry in ``OPERATIONS``. The entries of scale arrays follow from a case's seed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np

import restride as rs
from restride import reference, xp
from restride.dtypes import Array, DType, as_dtype
from restride.errors import DescriptorError, ErrorContext
from restride.layout import TensorDesc, views
from restride.layout.argument import axis_order, laid_out
from restride.layout.overlap import may_overlap, written_by
from restride.ops.perform import perform
from restride.ops.reorder import reorder_plan
from restride.ops.take import PAD_MODES
from restride.plan.lookup import ENTRIES, INDEXED
from restride.plan.yuv import FORMATS, MATRICES
from restride.reference.comparison import flush_limits
from restride.request import DEFAULTS, LIBRARIES, MODES, Request
from restride.request.arithmetic import ROUNDINGS, Numbers, arithmetic
from restride.request.boxes import FLIPS, PLACES, UNITS
from restride.request.boxes import read_boxes as read_edges
from restride.request.resampling import MODES_OF, WORDS, FilterArguments, RuleArguments
from restride.tensor.tensor import Tensor
from restride.weights import Resizing, resizing
from restride_conformance import fill
from restride_conformance.case import (
    OPERATIONS,
    Answer,
    Case,
    CheckedOperation,
    OperationCall,
    copied_to_destination,
    unplaced,
)
from restride_conformance.fill import hashed_words
from restride_conformance.spelling import (
    CaseWindow,
    Entries,
    OneOf,
    Parameter,
    Sizes,
    changed_axes,
    from_0,
    in_order,
    post_ops_of,
    read_boxes,
    read_desc,
    read_group_sizes,
    read_integers,
    read_lengths,
    read_number,
    read_numbers,
    read_pattern,
    read_permutation,
    read_post_ops,
    read_scale,
    word,
)

MAX_ENTRIES = 1 << 20
"""Maximum number of entries that an array of scales or zero points may have."""

# Functions that cases of every operation use.


def require_valid(case: Case) -> None:
    """Check that the operation of a case accepts its sizes and parameters; computes no element.

    Raises:
        DescriptorError: a window, axis or permutation does not fit, the destination has other sizes than the result,
            ``out`` does not suit the other parameters, or a scale, zero point or sum is not allowed.
    """
    _require_sizes(case, case.operation.sizes(case))
    out = case["out"]
    if case.takes("src_scale"):
        if case.get("sum_scale") is not None and makes_destination(case):
            raise DescriptorError(f"sum_scale reads an existing destination, and out={out} makes a new one: {case}")
        source = unplaced(_computed_type(case), _scaled_sizes(case))
        numbers = Numbers(**arguments(case), rounds_first=case.get("rounds_first") == "yes")
        arithmetic(source, case.dst, _order(case), numbers)
    if case.get("permute") is not None and out not in (None, "same", "default"):
        raise DescriptorError(f"permute gives the layout too, so out={out} must be same or default: {case}")
    if out == "same" and not is_in_place(case) and may_overlap(case.src, written_by(case.dst)):
        raise DescriptorError(f"with out=same the destination must lie apart from the source: {case}")
    if makes_destination(case):
        laid_out(TensorDesc(case.dst.dtype, case.dst.sizes), case.layout, case.dst.dtype)


def answer(case: Case, source: Array, old: Array | None = None) -> Answer:
    """The permitted values of each element of the destination.

    Args:
        case: the problem.
        source: the source's elements in logical order, before the case's view.
        old: the destination's elements before the run, where the operation reads them.

    Raises:
        DescriptorError: the parameters do not fit, or the destination has other sizes than the result.
    """
    _require_sizes(case, case.operation.sizes(case))
    right = case.operation.answer(case, case.viewed_array(source), old)
    _require_sizes(case, right.lowest.shape)
    return right


def origins(case: Case, places: Array) -> Array:
    """For each element of the destination, the entry of ``places`` (of the source's sizes) that it comes from."""
    return case.operation.origins(case, case.viewed_array(places))


def source_values(case: Case) -> Array:
    """The source's elements in logical order, of the kind that ``data=`` names.

    By default: any bits for copies, ``fill.aimed`` for conversions, ``fill.comparable`` for comparisons, otherwise
    numbers. For an interpolation into another type, no number is larger than that type can hold.
    """
    src, dst, sizes, count = case.src.dtype, case.dst.dtype, case.src.sizes, case.src.numel
    if case["data"] == "image":
        return fill.image(src, sizes, case.seed)
    if case["data"] == "edges":
        return fill.edges(src, count, case.seed).reshape(sizes)
    if case["data"] == "index":
        return fill.indices(src, count).reshape(sizes)
    compares = case["data"] is None and not case.operation.converts
    if case["data"] is None and not compares and (src != dst or is_arithmetic(case)):
        if case.operation.moves(case):
            return fill.aimed(src, dst, count, case.seed).reshape(sizes)
        if src.itemsize > 1:
            return fill.plain(src, dst, count, case.seed).reshape(sizes)
    copies = case["data"] == "bits" or case.operation.is_exact(case)
    values = fill.comparable if compares else fill.bits if copies else fill.numbers
    return values(src, count, case.seed).reshape(sizes)


def makes_destination(case: Case) -> bool:
    """True if the operation is to allocate its destination, rather than write to an existing one."""
    return case["out"] not in (None, "same")


def is_in_place(case: Case) -> bool:
    """True for a reorder that writes to the elements that it reads."""
    alone = case["out"] == "same" and case.view is None and case.src == case.dst
    return alone and case.op == "reorder" and case["permute"] is None


def keeps_padding(case: Case) -> bool:
    """True if the padding of the destination must not change, because the operation also reads its elements."""
    return is_in_place(case) or case.get("sum_scale") not in (None, 0.0)


def _require_sizes(case: Case, sizes: Sizes) -> None:
    if sizes != case.dst.sizes:
        raise DescriptorError(f"{case.op} gives sizes {list(sizes)}, but the destination is {case.dst}: {case}")


# Arithmetic: a case's line has single numbers; the entries of arrays follow from its seed.

SCALES = ("src_scale", "src_zero_point", "dst_scale", "dst_zero_point")
"""Parameters whose value is a number, the axes along which an array varies, or the numbers along one axis."""

_SCALES = tuple(Parameter(name, read_scale, canonical=in_order, moves=False) for name in SCALES)
_SUM = Parameter("sum_scale", read_number, moves=False)
_AFTER_SUM = (
    Parameter("post_ops", read_post_ops, moves=False),
    word("rounding", *ROUNDINGS, moves=False),
    word("saturate", "yes", "no", moves=False),
)
_ARITHMETIC = (
    *_SCALES,
    Parameter("group_sizes", read_group_sizes, moves=False),
    _SUM,
    *_AFTER_SUM,
    word("rounds_first", "no", "yes", moves=False),
)

_NEUTRAL = {"src_scale": 1.0, "src_zero_point": 0.0, "dst_scale": 1.0, "dst_zero_point": 0.0, "sum_scale": 0.0}


def is_arithmetic(case: Case) -> bool:
    """True if a case computes in f32: it has post-ops, or a scale, zero point or sum that is not neutral."""
    named = any(case.get(name) not in (None, neutral) for name, neutral in _NEUTRAL.items())
    return named or case.get("post_ops") is not None


def _order(case: Case) -> tuple[int, ...]:
    """For each axis of the destination, the axis of the viewed source; only a reorder can permute them."""
    if not case.takes("permute"):
        return tuple(range(case.dst.rank))
    return axis_order(unplaced(case.src.dtype, case.viewed), None if case["permute"] is None else case.word("permute"))


def _scaled_sizes(case: Case) -> Sizes:
    """The sizes along which scales of the source vary: the viewed source's for a reorder, else the destination's."""
    return case.viewed if case.takes("permute") else case.dst.sizes


def _computed_type(case: Case) -> DType:
    """The element type with which the arithmetic starts: f32 after an interpolation, else the source's type."""
    return case.src.dtype if case.operation.moves(case) else as_dtype("f32")


def arguments(case: Case) -> dict[str, Any]:
    """The arithmetic arguments of an operation that differ from their defaults.

    For a reorder, arrays for the source fit the source and arrays for the destination fit the destination; for a
    resample, both fit the result.

    Raises:
        DescriptorError: a parameter does not fit the sizes.
    """
    called = case.written("sum_scale", "group_sizes", "rounding", "saturate")
    groups = called.get("group_sizes", (1,) * len(_scaled_sizes(case)))
    if len(groups) != len(_scaled_sizes(case)):
        raise DescriptorError(
            f"group_sizes {list(groups)} must be one for each of {len(_scaled_sizes(case))} axes: {case}"
        )
    for number, name in enumerate(SCALES):
        value = case.get(name)
        if isinstance(value, tuple):
            is_source = name.startswith("src")
            sizes = _scaled_sizes(case) if is_source else case.dst.sizes
            words = _words(case, name, sizes, groups if is_source else [groups[axis] for axis in _order(case)], number)
            dtype = _computed_type(case) if is_source else case.dst.dtype
            called[name] = _scales(words) if name.endswith("scale") else _zero_points(dtype, words)
        elif isinstance(value, Entries):
            sizes = _scaled_sizes(case) if name.startswith("src") else case.dst.sizes
            if value.axis >= len(sizes) or len(value.numbers) != sizes[value.axis]:
                raise DescriptorError(
                    f"{name}={value} must be an axis of {list(sizes)} with a number for each of its indices: {case}"
                )
            shape = [-1 if axis == value.axis else 1 for axis in range(len(sizes))]
            called[name] = np.array(value.numbers, np.float32).reshape(shape)
        elif value is not None:
            called[name] = value
    if case.get("post_ops") is not None:
        called["post_ops"] = post_ops_of(case.word("post_ops"))
    return called


def _words(case: Case, name: str, sizes: Sizes, groups: Collection[int], number: int) -> Array:
    """A hashed word for each entry: along the axes of the parameter one per group of indices, along others one."""
    axes = case.integers(name)
    if len(set(axes)) != len(axes) or any(not 0 <= axis < len(sizes) for axis in axes):
        raise DescriptorError(f"{name}={list(axes)} must be axes in [0, {len(sizes)}), each once: {case}")
    grouped = enumerate(zip(sizes, groups, strict=True))
    entries = [-(-size // group) if axis in axes else 1 for axis, (size, group) in grouped]
    if prod(entries) > MAX_ENTRIES:
        raise DescriptorError(f"{name} has {prod(entries):,} entries, more than {MAX_ENTRIES:,}: {case}")
    first = (number + 1) << 40  # arrays and elements use different parts of a sequence
    words = hashed_words(np.arange(first, first + prod(entries), dtype=np.uint64), case.seed)
    return words.reshape(entries)


def _scales(words: Array) -> Array:
    """Scales from 1/8 to 8 in magnitude: a quarter powers of two, the rest with all 24 bits; an eighth are negative."""
    fraction = np.where(words & np.uint64(3) == 0, 0, (words >> np.uint64(2)) & np.uint64((1 << 23) - 1))
    exponent = ((words >> np.uint64(32)) % np.uint64(6)).astype(np.int64) - 3
    magnitude = np.ldexp(1 + fraction.astype(np.float64) / (1 << 23), exponent)
    return np.where((words >> np.uint64(61)) == 0, -magnitude, magnitude).astype(np.float32)


def _zero_points(dtype: DType, words: Array) -> Array:
    """Zero points: multiples of 1/8 in [-8, 8] for a float type, else integers in its range and in [-1000, 1000]."""
    if dtype.is_float:
        return ((words % np.uint64(129)).astype(np.float32) - np.float32(64)) / np.float32(8)
    lowest, highest = dtype.format.range
    low, high = max(lowest, -1000), min(highest, 1000)
    return ((words % np.uint64(high - low + 1)).astype(np.int64) + low).astype(np.float32)


class _Converting(CheckedOperation):
    """Operations that can scale their elements, add them to the destination's and convert them."""

    def arguments(self, case: Case) -> dict[str, Any]:
        computing = {parameter.name for parameter in _ARITHMETIC}
        return {name: value for name, value in super().arguments(case).items() if name not in computing}

    def keywords(self, case: Case) -> dict[str, Any]:
        return self.arguments(case) | arguments(case)

    def is_exact(self, case: Case) -> bool:
        return self.moves(case) and not is_arithmetic(case)

    def tolerance(self, _case: Case) -> str:
        return "the answers of f32 with and without its denormals, and what lies between them; any NaN for a NaN"


def _converted(case: Case, source: Array, old: Array | None, **named: Any) -> Answer:
    """The answer for elements that are moved: ``source`` after the arithmetic and conversion of a case."""
    named |= {"dtype": case.dst.dtype, **arguments(case), **case.written("rounds_first"), "out": old}
    right = reference.reorder(source, **named, flush=False)
    if not is_arithmetic(case):
        return Answer(right, right)
    flushed = reference.reorder(source, **named, flush=True)
    return Answer(*flush_limits(right, flushed), flushed)


class CheckedSlice(CheckedOperation):
    """``rs.strided_slice``."""

    function = "strided_slice"
    parameters = tuple(Parameter(name, read_integers, required=True) for name in ("offsets", "sizes", "strides"))
    keeps_type = True

    def sizes(self, case: Case) -> Sizes:
        return views.window(unplaced(case.src.dtype, case.viewed), **self.arguments(case)).sizes

    def arguments(self, case: Case) -> dict[str, Any]:
        return {**super().arguments(case), "output_sizes": case.dst.sizes}

    def call(self, case: Case) -> OperationCall:
        named = self.arguments(case)

        def call(source: Tensor, out: Tensor | None) -> Tensor:
            window = rs.strided_slice(source, **named, out=out)
            return rs.reorder(window, case.layout) if out is None else window  # without out, a slice is a view

        return call


class CheckedReorder(_Converting):
    """``rs.reorder``."""

    function = "reorder"
    parameters = (Parameter("permute", read_permutation), *_ARITHMETIC)

    def sizes(self, case: Case) -> Sizes:
        return tuple(case.viewed[axis] for axis in _order(case))

    def arguments(self, case: Case) -> dict[str, Any]:
        return {} if case["permute"] is None else {"layout": case["permute"]}

    def answer(self, case: Case, source: Array, old: Array | None) -> Answer:
        return _converted(case, source, old, **self.arguments(case))

    def call(self, case: Case) -> OperationCall:
        if case["rounds_first"] == "no":
            return super().call(case)
        numbers = Numbers(**arguments(case), rounds_first=True)
        given = self.arguments(case)
        new = self.new(case) | given

        def call(source: Tensor, out: Tensor | None) -> Tensor:
            chosen = new if out is None else given
            return perform(reorder_plan, source, out, chosen.get("layout"), chosen.get("dtype"), numbers)

        return call


# Operations that resample.

_MODE = Parameter("mode", str, required=True, moves=False)
_LIKE = Parameter("like", OneOf("like", *LIBRARIES), moves=False)
_AXES = Parameter("axes", read_integers, changed_axes, required=True, canonical=from_0)


def _parameter(name: str) -> Parameter:
    """The parameter for an argument of ``rs.resample``: a word, yes or no, a number, or several."""
    default, moves = DEFAULTS[name], "nearest" in MODES_OF.get(name, MODES)
    if name in WORDS or isinstance(default, bool):
        return word(name, *WORDS.get(name, ("no", "yes")), moves=moves)
    return Parameter(name, read_numbers if default is None else read_number, default, moves=moves)


_RULES = tuple(_parameter(name) for name in FilterArguments.__annotations__ if name != "like")
_SAMPLING = (
    Parameter("scales", read_numbers),
    *(_parameter(name) for name in RuleArguments.__annotations__ if name != "like"),
)
"""Parameters shared by a resampling and its transpose: the arguments of ``rs.resample`` with the same names."""


class _Sampling(_Converting):
    """Operations that move the nearest element, or sum several within limits."""

    def moves(self, case: Case) -> bool:
        return case.word("mode").startswith("nearest")

    def answer(self, case: Case, source: Array, old: Array | None) -> Answer:
        named = self.arguments(case)
        if self.moves(case):
            return _converted(case, getattr(reference, self.function)(source, **named), old)
        named |= {**arguments(case), "dtype": case.dst.dtype}
        if case.get("sum_scale") is not None:
            named["out"] = old
        return Answer(*getattr(reference, f"{self.function}_limits")(source, **named))

    def tolerance(self, case: Case) -> str:
        """One line with the limits for this case, in its own numbers, and where they come from."""
        if self.moves(case):
            return super().tolerance(case)
        return self.limits(case, ", through the arithmetic a f32 step at a time" if is_arithmetic(case) else "")

    def limits(self, case: Case, steps: str) -> str:
        """The line for ``tolerance`` about sums. ``steps``, inserted after the sum, names further roundings."""
        raise NotImplementedError


class CheckedResample(_Sampling):
    """``rs.resample``."""

    function = "resample"
    parameters = (
        _MODE,
        _AXES,
        _LIKE,
        Parameter("sizes", read_integers),
        *_SAMPLING,
        Parameter("extrapolation_value", read_number, 0.0, moves=False),
        _parameter("keep_aspect_ratio_policy"),
        Parameter("window", CaseWindow.read),
        *_SCALES,
        _SUM,
        *_AFTER_SUM,
    )

    def sizes(self, case: Case) -> Sizes:
        return self.resized(case).sizes

    def arguments(self, case: Case) -> dict[str, Any]:
        axes, rank = case.integers("axes"), min(len(case.viewed), case.dst.rank)
        if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
            raise DescriptorError(f"axes {list(axes)} must be in [0, {case.dst.rank}) of {case.dst}, each once: {case}")
        return {**super().arguments(case), "axes": axes, **self.extent(case, tuple(case.dst.sizes[a] for a in axes))}

    def extent(self, case: Case, sizes: Sizes) -> dict[str, Any]:
        """The arguments that follow from the sizes of the destination along the resampled axes."""
        window = case["window"]
        if isinstance(window, CaseWindow):
            if case["sizes"] is None and case["scales"] is None:
                raise DescriptorError(f"window is a part of a result, whose sizes= or scales= must be given: {case}")
            return {"window": window.slices}
        return {} if case["sizes"] is not None or case["scales"] is not None else {"sizes": sizes}

    def resized(self, case: Case) -> Resizing:
        """The checked resampling; computes no element.

        Raises:
            DescriptorError: the parameters do not fit each other or the sizes.
        """
        return _resizing(case, case.viewed, self.arguments(case))

    def summed(self, resampling: Resizing) -> Resizing:
        """The resampling whose rows the operation sums: the transposed one for a gradient."""
        return resampling

    def limits(self, case: Case, steps: str) -> str:
        resampling = self.resized(case)
        if any(rows.shifts is not None for rows in resampling.rows):
            return f"the integers of {case['like']}, exactly (restride.reference.like){steps}"
        axes, taps = len(resampling.axes), prod(rows.taps for rows in self.summed(resampling).rows)
        conversion = " + 1 for the conversion" if case.src.dtype.name in ("s32", "u32") else ""
        return (
            f"the exact sum +-(3 * {axes} axes + {taps} taps{conversion}) * 2^-24 * sum|weight * tap|, the roundings "
            f"of f32{steps}, then rounded to {case.dst.dtype} (restride.reference.resample_bound)"
        )

    def elements_read(self, case: Case) -> int:
        """How many source elements it must read.

        Along each axis, this is the span that the result or its window covers, or if that is fewer, the number of
        neighbours times the destination's size (see ``Case.useful_bytes``).
        """
        resampling, sizes = self.resized(case), list(case.viewed)
        for axis, part, rows in zip(resampling.axes, resampling.read, resampling.rows, strict=True):
            sizes[axis] = min(len(part), rows.taps * case.dst.sizes[axis])
        return prod(sizes)


def _resizing(case: Case, sizes: Sizes, named: dict[str, Any]) -> Resizing:
    with ErrorContext(case):
        request = Request(**{name: named[name] for name in Request._fields if name in named})
        return resizing(sizes, request, case.src.dtype.name)


class CheckedResampleBackward(CheckedResample):
    """``rs.resample_backward``; ``resized`` is the forward resampling, whose transpose this operation computes."""

    function = "resample_backward"
    parameters = (_MODE, _AXES, _LIKE, *_SAMPLING)

    def moves(self, _case: Case) -> bool:
        return False

    def sizes(self, case: Case) -> Sizes:
        """The sizes of the destination, after a check that the gradient has the sizes of the forward result."""
        result = self.resized(case).sizes
        if result != case.viewed:
            raise DescriptorError(
                f"the forward resample gives sizes {list(result)}, but the gradient has {list(case.viewed)}: {case}"
            )
        return case.dst.sizes

    def extent(self, _case: Case, sizes: Sizes) -> dict[str, Any]:
        return {"input_sizes": sizes}

    def resized(self, case: Case) -> Resizing:
        named = self.arguments(case)
        if len(case.viewed) != case.dst.rank:
            raise DescriptorError(f"a gradient and its source must have equally many axes: {case}")
        return _resizing(case, case.dst.sizes, {**named, "sizes": tuple(case.viewed[axis] for axis in named["axes"])})

    def summed(self, resampling: Resizing) -> Resizing:
        return resampling.transposed()

    def origins(self, case: Case, places: Array) -> Array:
        """As in a nearest resample between the same sizes, in every mode."""
        alike = tuple(each for each in case.parameters if each[0] in ("axes", "view"))
        forward = replace(case, op="resample", parameters=(("mode", "nearest"), *alike))
        return forward.operation.origins(forward, places)

    def elements_read(self, case: Case) -> int:
        """Every element of the gradient."""
        return prod(case.viewed)


class CheckedYuvToRgb(CheckedOperation):
    """``rs.yuv_to_rgb``."""

    function = "yuv_to_rgb"
    parameters = (
        word("format", *FORMATS),
        word("matrix", *MATRICES),
        word("full_range", "no", "yes"),
        Parameter("like", OneOf("like", "opencv")),
    )

    def sizes(self, case: Case) -> Sizes:
        """The sizes of the RGB image; a frame has 3/2 as many rows."""
        *frames, height, columns = case.viewed
        return (*frames, height // 3 * 2, columns, 3)

    def moves(self, _case: Case) -> bool:
        return False

    def origins(self, case: Case, places: Array) -> Array:
        """The places of the luma, the same for the three channels."""
        return np.repeat(places[..., : case.dst.sizes[-3], :, None], case.dst.sizes[-1], axis=-1)

    def elements_read(self, case: Case) -> int:
        """Every byte of the frames."""
        return prod(case.viewed)


_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}


class CheckedCropResize(_Sampling):
    """``rs.crop_resize``."""

    function = "crop_resize"
    parameters = (
        Parameter("boxes", read_boxes, required=True),
        Parameter("axes", read_integers, required=True, canonical=from_0),
        Parameter("images", read_integers),
        _MODE,
        _LIKE,
        word("units", *UNITS),
        Parameter("letterbox", OneOf("letterbox", *PLACES)),
        Parameter("flip", str, "none"),
        Parameter("fill", read_numbers, (0,), moves=False),
        *_RULES,
        *_SCALES,
        *_AFTER_SUM,
    )

    def sizes(self, case: Case) -> Sizes:
        if case["out"] == "same":
            raise DescriptorError(
                f"crop_resize needs a destination apart from its source, so out must not be same: {case}"
            )
        named, axes, has_images = self.arguments(case), case.integers("axes"), case["images"] is not None
        read_edges(named["boxes"], case["units"])
        if not (1 if has_images else 0) <= axes[0] < axes[1] < len(case.viewed):
            raise DescriptorError(f"axes {list(axes)} must be rows and columns of sizes {list(case.viewed)}: {case}")
        if unknown := [flip for flip in case.word("flip").split(",") if flip not in FLIPS]:
            raise DescriptorError(f"flip {unknown[0]!r} is unknown; known: {', '.join(FLIPS)}: {case}")
        count = len(named["boxes"])
        if has_images and len(case.integers("images")) != count:
            raise DescriptorError(f"images must be one for each of {count} boxes: {case}")
        result = [named["sizes"][axes.index(axis)] if axis in axes else size for axis, size in enumerate(case.viewed)]
        return (count, *result[1:]) if has_images else (count, *result)

    def arguments(self, case: Case) -> dict[str, Any]:
        """The array of boxes holds integers if all of them are; ``sizes`` are the destination's rows and columns."""
        named = super().arguments(case)
        behind = 0 if case["images"] is not None else 1
        axes = [axis + behind for axis in case.integers("axes")]
        if len(axes) != 2 or not behind <= axes[0] < axes[1] < case.dst.rank:
            raise DescriptorError(f"axes {case['axes']} must be rows and columns of an image, of {case.dst}: {case}")
        if len(named["boxes"]) % 4:
            raise DescriptorError(f"boxes must be four numbers each: {case}")
        numbers = [number if isinstance(number, int) else float(number) for number in named["boxes"]]
        flips, fill = case.word("flip").split(","), named.get("fill", (0,))
        return named | {
            "boxes": np.array(numbers).reshape(-1, 4),
            "sizes": tuple(case.dst.sizes[axis] for axis in axes),
            "flip": flips[0] if len(flips) == 1 else flips,
            "fill": fill[0] if len(fill) == 1 else list(fill),
        }

    def elements_read(self, case: Case) -> int:
        """The elements of each box that lie in the image, but no more than its results read along an axis."""
        named, axes = self.arguments(case), case.integers("axes")
        sizes = np.array([case.viewed[axis] for axis in axes])
        is_counted = case["antialias"] == "no" and case["like"] is None
        taps = _TAPS.get(case.word("mode"), np.inf) if is_counted else np.inf
        edges = named["boxes"].reshape(-1, 2, 2) * (sizes if case["units"] == "normalized" else 1)
        spans = np.ceil(np.diff(np.clip(edges, 0, sizes), axis=1)[:, 0])
        read = np.minimum(spans, taps * np.array(named["sizes"])).prod(axis=1).sum()
        behind = 0 if case["images"] is None else 1
        others = (size for axis, size in enumerate(case.viewed) if axis >= behind and axis not in axes)
        return int(read) * prod(others)

    def limits(self, case: Case, steps: str) -> str:
        if case["like"] is not None:
            return f"those of a resample of each box like {case['like']} (restride.reference.like){steps}"
        return f"those of a resample of each box (restride.reference.resample_limits){steps}"


# Functions of the array API, which numpy also has, that join or repeat parts of an array.


class _ArrayFunction(CheckedOperation):
    """A function that numpy and ``restride.xp`` both have, which returns a new row-major tensor."""

    keeps_type = True

    def answer(self, case: Case, source: Array, _old: Array | None) -> Answer:
        right = self.applied(case, np, source)
        return Answer(right, right)

    def call(self, case: Case) -> OperationCall:
        return lambda source, out: copied_to_destination(case, self.applied(case, xp, source), out)

    def applied(self, case: Case, module: Any, x: Any) -> Any:
        """The function of ``module``, numpy or ``restride.xp``, applied to ``x``."""
        raise NotImplementedError


def _axes_of(case: Case, count: int | None = None) -> tuple[int, ...]:
    """The value of ``axes``: axes of the viewed source, exactly ``count`` of them unless it is None."""
    axes = case.integers("axes")
    if len(axes) != (count or len(axes)) or any(not 0 <= axis < len(case.viewed) for axis in axes):
        many = "axes" if count is None else "one axis"
        raise DescriptorError(f"axes {list(axes)} must be {many} in [0, {len(case.viewed)}): {case}")
    return axes


class CheckedPad(_ArrayFunction):
    """``restride.xp.pad``."""

    parameters = (
        Parameter("before", read_integers, lambda src, _: (0,) * len(src)),
        Parameter("behind", read_integers, lambda src, _: (0,) * len(src)),
        word("mode", *PAD_MODES),
        Parameter("value", read_number, 0.0, moves=False),
    )

    def sizes(self, case: Case) -> Sizes:
        before, behind = case.integers("before"), case.integers("behind")
        if not len(before) == len(behind) == len(case.viewed) or min((*before, *behind), default=0) < 0:
            raise DescriptorError(f"before and behind must be 0 or more for each of {len(case.viewed)} axes: {case}")
        if case["mode"] != "constant" and 0 in case.viewed:
            raise DescriptorError(f"mode {case['mode']} repeats elements, and there are none: {case}")
        return tuple(low + size + high for low, size, high in zip(before, case.viewed, behind, strict=True))

    def applied(self, case: Case, module: Any, x: Any) -> Any:
        widths = list(zip(case.integers("before"), case.integers("behind"), strict=True))
        value = {"constant_values": case["value"]} if case["mode"] == "constant" else {}
        return module.pad(x, widths, case.word("mode"), **value)


class CheckedRoll(_ArrayFunction):
    """``restride.xp.roll``; without ``axes`` it rolls the flattened array."""

    parameters = (
        Parameter("shift", read_integers, required=True),
        Parameter("axes", read_integers, canonical=from_0),
    )

    def sizes(self, case: Case) -> Sizes:
        count = 1 if case["axes"] is None else len(_axes_of(case))
        if len(case.integers("shift")) != count:
            raise DescriptorError(f"shift must be {count} numbers: {case}")
        return case.viewed

    def applied(self, case: Case, module: Any, x: Any) -> Any:
        shift = case.integers("shift")
        return module.roll(x, shift[0]) if case["axes"] is None else module.roll(x, shift, axis=case.integers("axes"))


class CheckedConcat(_ArrayFunction):
    """``restride.xp.concat`` of parts of the source along an axis."""

    parameters = (
        Parameter("axes", read_integers, required=True, canonical=from_0),
        Parameter("parts", CaseWindow.read, required=True),
    )

    def sizes(self, case: Case) -> Sizes:
        (axis,) = _axes_of(case, 1)
        size = case.viewed[axis]
        total = sum(len(range(*part.indices(size))) for part in self._parts(case))
        return (*case.viewed[:axis], total, *case.viewed[axis + 1 :])

    def applied(self, case: Case, module: Any, x: Any) -> Any:
        (axis,) = case.integers("axes")
        pieces = [x[(slice(None),) * axis + (part,)] for part in self._parts(case)]
        return np.concatenate(pieces, axis) if module is np else module.concat(pieces, axis=axis)

    def _parts(self, case: Case) -> tuple[slice, ...]:
        return cast("CaseWindow", case["parts"]).slices


class CheckedStack(_ArrayFunction):
    """``restride.xp.stack`` of the slices of the source at each index of axis 0."""

    parameters = (Parameter("axes", read_integers, required=True, canonical=from_0),)

    def sizes(self, case: Case) -> Sizes:
        (axis,) = _axes_of(case, 1)
        if case.viewed[0] == 0:
            raise DescriptorError(f"stack needs one index of axis 0 or more: {case}")
        return (*case.viewed[1 : axis + 1], case.viewed[0], *case.viewed[axis + 1 :])

    def applied(self, case: Case, module: Any, x: Any) -> Any:
        return module.stack([x[index] for index in range(case.viewed[0])], axis=case.integers("axes")[0])


class CheckedTile(_ArrayFunction):
    """``restride.xp.tile``."""

    parameters = (Parameter("repetitions", read_integers, required=True),)

    def sizes(self, case: Case) -> Sizes:
        times = case.integers("repetitions")
        if min(times) < 0:
            raise DescriptorError(f"repetitions {list(times)} must be 0 or more: {case}")
        rank = max(len(times), len(case.viewed))
        sides = ((1,) * (rank - len(each)) + each for each in (case.viewed, times))
        return tuple(size * count for size, count in zip(*sides, strict=True))

    def applied(self, case: Case, module: Any, x: Any) -> Any:
        return module.tile(x, case.integers("repetitions"))


# The operation that rearranges by patterns.


class CheckedRearrange(_Converting):
    """``rs.rearrange``."""

    function = "rearrange"
    parameters = (
        Parameter("pattern", read_pattern, required=True),
        Parameter("lengths", read_lengths),
        *(Parameter(name, read_number, moves=False) for name in ("src_scale", "dst_scale")),
    )

    def sizes(self, case: Case) -> Sizes:
        everywhere = np.lib.stride_tricks.as_strided(np.zeros((), np.int8), case.viewed, (0,) * len(case.viewed))
        try:
            sizes: Sizes = _rearranged(everywhere, case.word("pattern"), self.lengths(case)).shape
        except (ValueError, KeyError, IndexError, OverflowError, ZeroDivisionError) as error:
            raise DescriptorError(f"pattern {case['pattern']} does not fit {list(case.viewed)}: {case}") from error
        return sizes

    def answer(self, case: Case, source: Array, old: Array | None) -> Answer:
        return _converted(case, _rearranged(source, case.word("pattern"), self.lengths(case)), old)

    def call(self, case: Case) -> OperationCall:
        pattern, named = case.word("pattern").replace(",", " "), arguments(case) | self.lengths(case)
        new = self.new(case) | named

        def call(source: Tensor, out: Tensor | None) -> Tensor:
            given = new if out is None else {"out": out, **named}
            return rs.rearrange(source, pattern, **given)

        return call

    def lengths(self, case: Case) -> dict[str, Any]:
        """The sizes of axes by name."""
        pairs = [] if case["lengths"] is None else case.word("lengths").split(",")
        return {name: int(length) for name, _, length in (pair.partition("=") for pair in pairs)}


def _rearranged(x: Array, pattern: str, lengths: dict[str, int]) -> Array:
    """``x`` reshaped into the axes that a pattern names, transposed, and reshaped again.

    ``(h,2),w->h,(w,2)`` of sizes 6 and 5: the axes h, 2, w of sizes 3, 2, 5; in the order h, w, 2; sizes 3 and 10.
    """
    left, right = (re.findall(r"\([^()]*\)|[^,()]+", side) for side in pattern.split("->"))
    others = [f"...{place}" for place in range(x.ndim - len(left) + 1)]
    sides = []
    for side in (left, right):
        flat = [axis for written in side for axis in (others if written == "..." else [written])]
        spelled = [axis.strip("()").replace("...", ",".join(others)) if "(" in axis else axis for axis in flat]
        sides.append([[name for name in axis.split(",") if name not in ("", "1")] for axis in spelled])
    sizes = {name: int(name) for axis in sides[0] for name in axis if name.isdecimal()} | lengths
    for axis, size in zip(sides[0], x.shape, strict=True):
        known = prod(sizes[name] for name in axis if name in sizes)
        sizes |= {name: size // known for name in axis if name not in sizes}
    before, after = ([name for axis in side for name in axis] for side in sides)
    apart = x.reshape([sizes[name] for name in before]).transpose([before.index(name) for name in after])
    return apart.reshape([prod(sizes[name] for name in axis) for axis in sides[1]])


# The operation that looks elements up in tables.


class CheckedLookup(CheckedOperation):
    """``rs.lookup``; the entries of the table are any bits, and follow from the seed."""

    function = "lookup"
    parameters = (
        Parameter("axes", read_integers, canonical=from_0, moves=False),
        Parameter("permute", read_permutation),
    )

    def sizes(self, case: Case) -> Sizes:
        if case.src.dtype.name not in INDEXED:
            raise DescriptorError(f"a look-up reads {' or '.join(INDEXED)}, not {case.src}: {case}")
        if case["axes"] is not None:
            _axes_of(case, 1)
        return tuple(case.viewed[axis] for axis in _order(case))

    def arguments(self, case: Case) -> dict[str, Any]:
        axis = None if case["axes"] is None else case.integers("axes")[0]
        rows = () if axis is None else (case.viewed[axis],)
        entries = fill.bits(case.dst.dtype, prod(rows) * ENTRIES, case.seed + 1)
        return {"axis": axis, "table": entries.reshape(*rows, ENTRIES)}

    def answer(self, case: Case, source: Array, old: Array | None) -> Answer:
        right = super().answer(case, source, old).lowest.transpose(_order(case))
        return Answer(right, right)

    def keywords(self, case: Case) -> dict[str, Any]:
        return self.arguments(case) | ({} if case["permute"] is None else {"layout": case["permute"]})

    def origins(self, case: Case, places: Array) -> Array:
        return places.transpose(_order(case))


# The operation that compares.


class CheckedEqual(CheckedOperation):
    """``x == y`` of tensors; y holds the source's elements in another type and layout, a third of them changed."""

    parameters = (Parameter("other", read_desc, required=True, moves=False), word("negated", "no", "yes", moves=False))
    converts = False

    def sizes(self, case: Case) -> Sizes:
        if case.dst.dtype != "pred":
            raise DescriptorError(f"a comparison makes pred, not {case.dst}: {case}")
        try:
            return np.broadcast_shapes(case.viewed, _other(case).sizes)
        except ValueError as error:
            raise DescriptorError(f"sizes {case.viewed} and {_other(case)} do not broadcast: {case}") from error

    def answer(self, case: Case, source: Array, _old: Array | None) -> Answer:
        first, second = np.broadcast_arrays(source, _other_values(case))
        pairs = zip(_numbers(first), _numbers(second), strict=True)
        is_equal = np.array([one == other for one, other in pairs], np.bool_).reshape(first.shape)
        right = ~is_equal if case["negated"] == "yes" else is_equal
        return Answer(right, right)

    def call(self, case: Case) -> OperationCall:
        desc = _other(case)
        buffer = reference.to_buffer(_other_values(case), desc, fill.poison(desc.nbytes))

        def call(source: Tensor, out: Tensor | None) -> Tensor:
            other = rs.from_buffer(buffer, desc, device=source.device)
            return copied_to_destination(case, source != other if case["negated"] == "yes" else source == other, out)

        return call

    def moves(self, _case: Case) -> bool:
        return False

    def origins(self, case: Case, places: Array) -> Array:
        return np.broadcast_to(places, case.dst.sizes)


def _other(case: Case) -> TensorDesc:
    """The descriptor of the second operand."""
    return cast("TensorDesc", case["other"])


@lru_cache(maxsize=4)
def _other_values(case: Case) -> Array:
    """The second operand: the source's elements rounded to its type, a third of them with the last bit flipped.

    Where the second operand has size 1 along an axis, it takes the source's elements at index 0.
    """
    desc = _other(case)
    if not case.dst.numel:
        return np.zeros(desc.sizes, desc.dtype.dtype)
    wide = np.broadcast_to(case.viewed_array(source_values(case)), case.dst.sizes)
    behind = len(wide.shape) - desc.rank
    index = [
        slice(None) if own == size else slice(0, 1) for own, size in zip(desc.sizes, wide.shape[behind:], strict=True)
    ]
    with np.errstate(all="ignore"):
        values = np.ascontiguousarray(wide[(0,) * behind + (*index, ...)]).astype(desc.dtype.dtype)
    chosen = (
        hashed_words(np.arange(values.size, dtype=np.uint64), case.seed + 1).reshape(desc.sizes) % np.uint64(3) == 0
    )
    bits = values.view(f"u{desc.dtype.itemsize}")
    return np.where(chosen, bits ^ bits.dtype.type(1), bits).view(desc.dtype.dtype)


def _numbers(array: Array) -> list[Any]:
    """The elements as Python numbers, which hold and compare every value exactly."""
    is_narrow_float = array.dtype.kind not in "biu" and array.dtype.itemsize < np.dtype(np.float64).itemsize
    with np.errstate(invalid="ignore"):  # converting a signalling NaN warns
        numbers: list[Any] = (array.astype(np.float64) if is_narrow_float else array).reshape(-1).tolist()
    return numbers


OPERATIONS |= {
    "slice": CheckedSlice(),
    "reorder": CheckedReorder(),
    "resample": CheckedResample(),
    "resample_backward": CheckedResampleBackward(),
    "yuv_to_rgb": CheckedYuvToRgb(),
    "crop_resize": CheckedCropResize(),
    "pad": CheckedPad(),
    "roll": CheckedRoll(),
    "concat": CheckedConcat(),
    "stack": CheckedStack(),
    "tile": CheckedTile(),
    "rearrange": CheckedRearrange(),
    "lookup": CheckedLookup(),
    "equal": CheckedEqual(),
}
