"""The operations that change sizes: resample, its transpose resample_backward, and the source that a window needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import pairwise
from typing import Any, SupportsIndex, Unpack

import numpy as np

from restride.arguments import RealNumber, counts, list_arguments, require_listed
from restride.dtypes import ELEMENT_TYPES, DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, Message, UnsupportedError
from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc, views
from restride.layout.argument import Layout, family
from restride.layout.tensor_desc import element_bits, packed
from restride.ops.operation import Operation, Window
from restride.ops.perform import Plan, perform, plan_for, refuse_out
from restride.ops.target import (
    PLAIN,
    Asked,
    Out,
    Result,
    ResultTarget,
    read_layout,
    require_out_of_sum,
    require_room,
    target_of_sums,
    type_asked,
)
from restride.plan.fill import padding_kernels
from restride.plan.resample import (
    Tables,
    is_index,
    is_made_by_elements,
    is_resampled_by_walks,
    passes,
    resample_kernels,
    taps_fit,
)
from restride.plan.steps import RESULT, SOURCE, Site, Steps, together
from restride.request import ModeName, Request, resized_axes
from restride.request.arithmetic import NO_ARITHMETIC, Arithmetic, NumberArguments, Numbers, PostOp, arithmetic
from restride.request.channels import require_no_channels
from restride.request.resampling import RequestArguments, RuleArguments
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, empty
from restride.weights import Resizing, resizing
from restride.weights.resizing import replaced

INTERPOLATED_TYPES = tuple(row.name for row in ELEMENT_TYPES.values() if row.bits <= 32 and row.kind != "bool")
"""Element types that can be interpolated; nearest takes every type, and ``is_narrowed`` says when f64 is taken."""

GRADIENT_TYPES = ("f32", "f16", "bf16")


class ResampleArguments(RequestArguments, NumberArguments, total=False):
    """The keywords of ``rs.resample`` for functions that pass them on, without those that select a window."""

    layout: Layout
    dtype: DTypeLike | None


class PlanArguments(ResampleArguments, total=False):
    """All keywords of ``rs.resample`` except ``out``, which are those of its plan."""

    window: Iterable[slice | None] | None
    source_sizes: Iterable[SupportsIndex] | None
    sum_scale: Any


class BackwardArguments(RuleArguments, total=False):
    """The keywords of ``rs.resample_backward`` for functions that pass them on."""

    layout: Layout
    dtype: DTypeLike | None


DEFAULT_ARGUMENTS = {**Request._field_defaults, **Numbers._field_defaults}
"""The defaults of the arguments of ``rs.resample``; an argument that is missing here defaults to None."""


@list_arguments(PlanArguments, DEFAULT_ARGUMENTS)
def resample(
    x: Any,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    out: Tensor | None = None,
    **arguments: Unpack[PlanArguments],
) -> Tensor:
    """Resize ``x`` along ``axes``, to ``sizes`` or by ``scales``. docs/resample.md draws every rule.

    An output element is a weighted sum of source elements, in f32. Sums are nested, the last axis first, so that a
    window is bit for bit the same part of the whole result. The sum goes through the arithmetic of ``reorder``, and is
    rounded once. "nearest" moves elements, bit for bit where neither type nor scale changes.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes. Elements of 64 bits or pred take only mode "nearest"; f64 takes all
            modes where the result is to be f32, by ``dtype``, ``layout`` or ``out``: elements are first rounded to
            f32, as by ``reorder``.
        sizes: output size of each of ``axes``.
        scales: output elements for each element of the source; without ``sizes``, these are ``trunc(size * scale)``.
        axes: which axes; negative ones count from the end; default: the last ones, as many as ``sizes`` or ``scales``.
            They must be named to resize a last axis of 1 to 4 elements, which may be channels, where there are three
            axes or more, unless all axes are resized or the last two have equal sizes.
        mode: "nearest"; "linear" (default), of two neighbours along an axis; "cubic", of four (Keys); "area", the mean
            of all source elements that the output element covers, wholly or partly; "area_weighted", their mean by how
            much of each is covered: 0 1 2 3 4 become 1 and 3, or 0.8 and 3.2. With ``like`` a mode of that library, by
            its name or by the library's own constant.
        coordinates: where an output index reads: "half_pixel", the default, "half_pixel_symmetric",
            "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn" or "tf_crop_and_resize".
            Positions are computed from ``scales``, if given.
        nearest: how positions are rounded, for mode "nearest" only: "half_up" (default), "round_prefer_floor",
            "round_prefer_ceil", "floor", "ceil".
        cubic_a: the filter's slope at 1, for mode "cubic" only: -0.75 (default) in ONNX and torch, -0.5 in Pillow, and
            in torch if antialiased.
        antialias: where an axis shrinks, widen the filters of "linear" and "cubic" to all that the output covers.
        exclude_outside: taps outside the source have weight 0, and the others are scaled to a sum of 1; else taps
            outside read the edge.
        extrapolation_value: the value of reads beyond the first and last element, for "tf_crop_and_resize" only.
        roi: for "tf_crop_and_resize": first edges of all axes, then last ones; 0 and 1 are first and last element.
        keep_aspect_ratio_policy: "stretch"; "not_larger" or "not_smaller" than ``sizes``, with one scale for all axes.
        input_offsets: DirectML's, one for each axis, in place of ``coordinates``: output o reads at
            ``(o - output_offset) / scale - input_offset``. Default: 1/2.
        output_offsets: see ``input_offsets``. Default: -1/2.
        recompute_scale_factor: positions are computed from sizes even if ``scales`` are given, like oneDNN's factors.
        like: "torch", "onnx", "onednn", "directml", "tensorflow", "pillow", "opencv" or "scikit-image": modes, defaults
            and arithmetic are that library's, bit for bit where docs/profiles.md says so. Integers are rounded and
            clamped as the library does, whatever ``rounding`` and ``saturate`` say, and then converted to ``dtype``.
            "scikit-image" clips sums to the range of ``x``, for which the host reads ``x``; with ``source_sizes`` sums
            are not clipped.
        window: the part of the output to compute, a slice for each of ``axes``.
        source_sizes: sizes of a whole source, all axes, if ``x`` is only the part of it that ``source_window`` returns.
        layout: of the result, as in ``reorder``; default: "any", the memory order, tiles or blocks of ``x``.
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        src_scale: this and the following as in ``reorder``, for the interpolated elements; it broadcasts against their
            sizes.
        src_zero_point: as in ``reorder``.
        dst_scale: as in ``reorder``.
        dst_zero_point: as in ``reorder``.
        sum_scale: as in ``reorder``.
        post_ops: as in ``reorder``.
        rounding: as in ``reorder``.
        saturate: as in ``reorder``; f16 and f8e5m2 resampled to themselves, without scales, keep infinities.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: an unknown name; arguments do not fit each other or ``x``, one has no effect, or ``out`` does
            not fit.
        UnsupportedError: an element type that cannot be interpolated.
        OutOfDeviceMemory: the device has no room for the result.

    Examples:
        >>> rs.resample(np.array([0.0, 8.0], np.float32), (4,)).numpy().tolist()
        [0.0, 2.0, 6.0, 8.0]
        >>> photo = np.zeros((480, 640, 3), np.uint8)
        >>> rs.resample(photo, (224, 224), axes=(0, 1), antialias=True).sizes
        (224, 224, 3)

    Source: oneDNN specification, Resampling; ONNX operators, Resize; DirectML, DML_RESAMPLE2_OPERATOR_DESC.
    """
    if not arguments.keys() <= PlanArguments.__annotations__.keys():
        require_listed(resample, arguments)
    request, numbers, others = split_arguments(arguments, sizes, scales, axes, mode)
    return perform(resample_plan, x, out, request, numbers=numbers, **others)


def split_arguments(arguments: Mapping[str, object], *first: Any) -> tuple[Request, Numbers | None, dict[str, Any]]:
    """Split arguments by name into a ``Request``, ``Numbers`` (None if none are given), and the remaining arguments.

    first: the first arguments of the request.
    """
    rules, numbers, others = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for name, value in arguments.items():
        (rules if name in _RULES else numbers if name in _NUMBERS else others)[name] = value
    return Request(*first, **rules), Numbers(**numbers) if numbers else None, others


_RULES, _NUMBERS = frozenset(Request._fields), frozenset(Numbers._fields)


@list_arguments(BackwardArguments, DEFAULT_ARGUMENTS)
def resample_backward(
    grad: Any,
    input_sizes: Iterable[SupportsIndex],
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    out: Tensor | None = None,
    **arguments: Unpack[BackwardArguments],
) -> Tensor:
    """The gradient for the source of ``resample``, from the gradient of its result: the exact transpose of its matrix.

    A gather: every source element sums over the outputs that read it, in a fixed order, in f32, so that every run gives
    the same bits.

    Args:
        grad: gradient of the result, f32, f16 or bf16; its sizes along ``axes`` are the result's.
        input_sizes: sizes of the source along ``axes``.
        scales: those given to ``resample``, if any, since they enter the coordinates.
        axes: which axes; default: the last ones, as many as ``input_sizes``, where ``resample`` allows it.
        mode: as in ``resample``; extrapolated outputs contribute no gradient. With ``like``, the rows of weights of the
            library are transposed, as in ``resample`` of floats.
        out: where to write instead, as in ``reorder``.
        arguments: as in ``resample``, with the same defaults; ``layout`` and ``dtype`` default to those of ``grad``.

    Raises:
        DescriptorError: an unknown name, or arguments do not fit each other or ``grad``.
        UnsupportedError: another element type.
        OutOfDeviceMemory: the device has no room for the result.

    Examples:
        >>> rs.resample_backward(np.ones(4, np.float32), (2,)).numpy().tolist()
        [2.0, 2.0]

    Source: oneDNN specification, Resampling, backward propagation.
    """
    request, _, others = split_arguments(arguments, input_sizes, scales, axes, mode)
    return perform(backward_plan, grad, out, request, **others)


@list_arguments(RequestArguments, DEFAULT_ARGUMENTS)
def source_window(
    source_sizes: Iterable[SupportsIndex],
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    window: Iterable[slice | None],
    source_dtype: DTypeLike = "f32",
    **arguments: Unpack[RequestArguments],
) -> tuple[slice, ...]:
    """The part of a source that ``window`` of its resampling reads, a slice for each axis of the source.

    ``rs.resample(x[part], ..., window=window, source_sizes=x.sizes)``, with ``part`` from this function, is bit for bit
    ``rs.resample(x, ...)[window]``: so an image that does not fit the device can be resampled in parts. With
    ``like="scikit-image"`` this holds before sums are clipped to the range of ``x``.

    The arguments of ``resample`` that determine the number of outputs and the elements they read are accepted, others
    are not.

    Args:
        source_sizes: sizes of the whole source, all axes.
        sizes: this and the following as in ``resample``.
        scales: as in ``resample``.
        axes: as in ``resample``.
        mode: as in ``resample``.
        window: as in ``resample``.
        source_dtype: element type of the source, on which a library's rules may depend.
        arguments: as in ``resample``; ``extrapolation_value`` changes nothing here.

    Raises:
        DescriptorError, UnsupportedError: as ``resample`` does.

    Examples:
        >>> rs.source_window((8, 8), (4, 4), window=(slice(0, 2), slice(2, 4)))
        (slice(0, 4, None), slice(4, 8, None))
    """
    whole_sizes = counts("source_sizes", source_sizes)
    request = Request(sizes, scales, axes, mode, window=window, **arguments)
    with ErrorContext(f"source_sizes {whole_sizes}"):
        whole = TensorDesc(source_dtype, whole_sizes)
        ranges = resolve(whole, request, "source_sizes").part_read
    return tuple(slice(part.start, part.stop) for part in ranges)


@list_arguments(PlanArguments, DEFAULT_ARGUMENTS)
def plan_resample(
    src: TensorDesc | str,
    dst: TensorDesc | str | None = None,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    device: Device | None = None,
    **arguments: Unpack[PlanArguments],
) -> Plan:
    """The plan of ``rs.resample(x, ...)`` for an ``x`` laid out as ``src``; ``src`` and ``dst`` as in ``plan_reorder``.

    Plan once, ``plan = rs.plan_resample("u8[1080,1920,3]", None, (224, 224), axes=(0, 1))``; then call ``plan(image)``
    for each image. The other arguments are those of ``resample``, except ``out``.

    Example:
        >>> plan = rs.plan_resample("u8[4,6,3]", None, (2, 3), axes=(0, 1))
        >>> plan.dst
        TensorDesc.parse('u8[2,3,3]{2,1,0}')
    """
    refuse_out(arguments, src)
    require_listed(plan_resample, arguments)
    request, numbers, others = split_arguments(arguments, sizes, scales, axes, mode)
    return plan_for(resample_plan, src, dst, device, request, numbers=numbers, **others)


@list_arguments(BackwardArguments, DEFAULT_ARGUMENTS)
def plan_resample_backward(
    grad: TensorDesc | str,
    dst: TensorDesc | str | None = None,
    input_sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    device: Device | None = None,
    **arguments: Unpack[BackwardArguments],
) -> Plan:
    """The plan of ``rs.resample_backward(grad, ...)`` for a gradient laid out as ``grad``.

    ``grad`` and ``dst`` are as ``src`` and ``dst`` in ``plan_reorder``; the other arguments are those of
    ``resample_backward``, except ``out``.

    Examples:
        >>> plan = rs.plan_resample_backward("f32[4]", None, (2,))
        >>> plan(rs.asarray(np.ones(4, np.float32))).numpy().tolist()
        [2.0, 2.0]
    """
    refuse_out(arguments, grad)
    require_listed(plan_resample_backward, arguments)
    request, _, others = split_arguments(arguments, input_sizes, scales, axes, mode)
    return plan_for(backward_plan, grad, dst, device, request, **others)


# Planners: they check the arguments of a call, and plan it.


def resample_plan(
    src: TensorDesc,
    out: Out | None,
    limits: Limits,
    request: Request,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    numbers: Numbers | None = None,
) -> Plan:
    """The plan of ``resample``."""
    with ErrorContext(src):
        resized = resolve(src, request)
    return plan_of(src, out, limits, resized, Result(layout, dtype, numbers))


def resolve(src: TensorDesc, request: Request, argument: str = "x", *, in_chain: bool = False) -> Resizing:
    """The resampling of ``src`` that a call asks for.

    Args:
        src: the source.
        request: the arguments of the call.
        argument: name of the source in messages.
        in_chain: the call is one operation of an ``rs.Chain``.

    Raises:
        DescriptorError, UnsupportedError: as ``resample`` says.
    """
    whole = src.sizes if request.source_sizes is None else counts("source_sizes", request.source_sizes)
    if len(whole) != src.rank:
        raise DescriptorError(f"source_sizes must be {src.rank}, one for each axis of the part {src}, got {whole}")
    resized = resizing(whole, request, src.dtype.name)
    if request.axes is None:
        require_no_channels(argument, src.rank, resized.old, resized.new, request.like, in_chain=in_chain)
    if request.source_sizes is not None:
        if src.sizes != resized.read_sizes:
            raise DescriptorError(
                f"{argument} {src} must have the sizes {resized.read_sizes} of the part that source_window returns, of "
                f"source_sizes {resized.source_sizes}"
            )
        if resized.clips:  # a part does not tell the range of the whole source
            resized = replace(resized, clips=False)
    return resized


class Resample(Operation):
    """``resample`` without a sum; ``layout`` is None or a permutation "A->B"."""

    def __init__(self, src: TensorDesc, request: Request, result: Result) -> None:
        resized = resolve(src, request, in_chain=True)
        asked = _asked_of(src, None, resized.sizes, result)
        target = target_of_sums(src, _sums(src, resized, asked), None, asked)
        self._order = asked.order
        super().__init__(src, target.whole, self._order)
        self.blends = not resized.moves
        self._resized, self._layout, self._arithmetic = resized, result.layout, target.arithmetic

    def reads_along(self, axis: int, part: range) -> range:
        return self._resized.reads_along(self._order[axis], part)

    def run(self, x: Tensor, window: Window) -> Tensor:
        whole, parts = self._resized, replaced(window, self._order, window)
        sizes = [size if axis in whole.axes else len(parts[axis]) for axis, size in enumerate(whole.source_sizes)]
        resized = whole.of_window(tuple(parts[axis] for axis in whole.axes), tuple(sizes))
        result = Result(self._layout, self.dtype, self._arithmetic.window(parts))
        return perform(plan_of, x, None, resized, result)

    def between(self, lengths: Sequence[int]) -> int:
        # Also along one axis, f32 sums may be written first and converted afterwards, which may be faster if results
        # are narrower than a word; so they count.
        has_sums = len(self._resized.axes) > 1 or self.dtype.itemsize < 4
        return 4 * math.prod(lengths) if has_sums else 0


def backward_plan(
    src: TensorDesc,
    out: Out | None,
    limits: Limits,
    request: Request,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
) -> Plan:
    """The plan of ``resample_backward``: ``request.sizes`` are the source's sizes along the axes."""
    with ErrorContext(src):
        if request.sizes is None:
            raise DescriptorError("resample_backward needs input_sizes, the sizes of the source along axes")
        input_sizes = counts("input_sizes", request.sizes)
        axes = resized_axes(request.axes, {"input_sizes": input_sizes}, src.rank)
        sizes = replaced(src.sizes, axes, input_sizes)
        asked = _asked_of(src, out, sizes, Result(layout, dtype, Numbers(saturate=False)), limits)
        forward = resizing(sizes, request._replace(sizes=[src.sizes[axis] for axis in axes], axes=axes), src.dtype.name)
        if request.axes is None:
            require_no_channels("grad", src.rank, forward.new, input_sizes, request.like)
        for type_, argument in ((src.dtype, "grad"), (asked.dtype, "dtype")):
            if type_.name not in GRADIENT_TYPES:
                rule = f"{argument} must be {', '.join(GRADIENT_TYPES)}, not {type_}"
                raise UnsupportedError(rule + ("; grad.astype('float32') converts" if argument == "grad" else ""))
        backward = forward.transposed()
    return _planned(src, out, limits, backward, asked)


# The plan of a checked resampling: one or more passes and, if it extrapolates, dispatches that fill the boxes outside.

_MANY = 1 << 12
"""An extra dispatch is worthwhile from this many elements on."""

_MAX_PACKED_BYTES = 1 << 28
"""Maximum number of bytes of a packed copy between two dispatches."""

_MAX_OF_ROW = 1 << 22
"""One output may read at most this many elements along an axis: their weights take 200 MB while they are computed."""

_MAX_WEIGHTS_OF_AXIS = 1 << 29
"""Maximum number of weights of an axis whose outputs read more than 4 elements each: they take 8 s to compute."""

_FEW_TAPS = 4
"""If no output reads more elements than this, an axis is computed in parts, whatever its length."""


def plan_of(
    src: TensorDesc,
    out: Out | None,
    limits: Limits,
    resized: Resizing,
    result: Result = PLAIN,
) -> Plan:
    """The plan of the resampling ``resized`` on ``src``, the whole source or the part of it that is read.

    Raises:
        DescriptorError: ``out`` or the arithmetic does not fit.
        UnsupportedError: elements are not interpolated, or too many weights are needed.
        OutOfDeviceMemory: the device has no room for the result.
    """
    return _planned(src, out, limits, resized, _asked_of(src, out, resized.sizes, result, limits))


def _planned(src: TensorDesc, out: Out | None, limits: Limits, resized: Resizing, asked: Asked) -> Plan:
    require_out_of_sum(asked, src, out)
    with ErrorContext(src):
        _require_few_weights(resized)
    sums = _sums(src, resized, asked)
    target = target_of_sums(src, sums, out, asked)
    reads_result = asked.sum_scale is not None
    if not resized.clips or resized.moves or not sums.numel:
        steps = steps_to(src, resized, sums, target, limits)
        return Plan(src, target.whole, steps, reads_result=reads_result)
    steps = steps_to(src, resized, sums, ResultTarget(Site(RESULT, sums), sums, NO_ARITHMETIC), limits)
    return ClippedPlan(src, sums, target, steps, reads_result=reads_result)


def _asked_of(
    src: TensorDesc, out: Out | None, sizes: Sequence[int], result: Result, limits: Limits | None = None
) -> Asked:
    """What is asked of a result of these sizes, for which a device of these limits, if any, must have room.

    Without ``layout`` it has the layout family of ``src``.
    """
    dtype = type_asked(src, result.dtype, out)
    like = family(src, sizes, dtype)
    asked = read_layout(like, result.layout, dtype, like)._replace(numbers=result.numbers)
    if limits is not None:  # a chain computes windows, and each is checked when it is planned
        require_room(sizes, asked.dtype, limits)
    return asked


def _sums(src: TensorDesc, resized: Resizing, asked: Asked) -> TensorDesc:
    """The type and sizes of the sums, before the arithmetic.

    Raises:
        UnsupportedError: elements are not interpolated.
    """
    if not (resized.moves or src.dtype.name in INTERPOLATED_TYPES or is_narrowed(src.dtype, asked.dtype)):
        with ErrorContext(src):
            raise _not_interpolated(src.dtype)
    return packed(src.dtype if resized.moves or resized.keeps_type else as_dtype("f32"), resized.sizes)


def in_f32(rule: str, src: DType, also: str = "", *, has_dtype: bool = True) -> Message:
    """The message that ``src`` is not interpolated: the rule, and how to get f32.

    also: what else one may do. has_dtype: the function that was called takes a type of the result.
    """
    python, command = "x.astype('float32') converts", "`restride reorder --to f32` converts"
    if src == "f64" and has_dtype:
        python, command = f"{python}, or dtype='f32' computes in f32", f"{command}, or --to f32 computes in f32"
    return Message.of(rule, python + also, command + also)


def _not_interpolated(src: DType, *, has_dtype: bool = True) -> UnsupportedError:
    """The error that elements of ``src`` are not interpolated; has_dtype: as of ``in_f32``."""
    rule = f"elements of type {src} are not interpolated, those of {', '.join(INTERPOLATED_TYPES)} are; "
    return UnsupportedError(in_f32(rule, src, ", and nearest modes take every type", has_dtype=has_dtype))


def require_interpolated(src: TensorDesc, mode: str) -> None:
    """Refuse f64 in a mode that interpolates, for a function that takes no type of the result.

    Raises:
        UnsupportedError: it is f64, and the mode is not one of the nearest.
    """
    if src.dtype == "f64" and not mode.startswith("nearest"):
        with ErrorContext(src):
            raise _not_interpolated(src.dtype, has_dtype=False)


def is_narrowed(src: DType, result: DType) -> bool:
    """True if elements of f64 are rounded to f32 as kernels read them, because the caller asks for results of f32."""
    return src == "f64" and result == "f32"


class ClippedPlan(Plan):
    """A resampling whose sums are clipped to the range of their source, which the host reads at every run."""

    __slots__ = ("_sums", "_target")

    def __init__(
        self, src: TensorDesc, sums: TensorDesc, target: ResultTarget, steps: Steps, *, reads_result: bool
    ) -> None:
        """steps: compute ``sums``, which are then clipped and go through the arithmetic of ``target``."""
        super().__init__(src, target.whole, steps, reads_result=reads_result)
        self._sums = sums
        self._target = target

    def run(self, src: Tensor, out: Tensor | None, starts: tuple[int, int] = (0, 0)) -> Tensor:
        """As ``Plan.run``."""
        sums = empty(self._sums, src.device)
        src.device.run(self._steps, src.memory, sums.memory, (starts[0], 0))
        last = self._clipping(_range_of(src))
        result = empty(self.dst, src.device) if out is None else out
        src.device.run(last, sums.memory, result.memory, (0, starts[1]))
        return result

    def _clipping(self, clip: PostOp) -> Steps:
        """The steps that compute the result from the sums."""
        full, site, last = self._target.arithmetic, Site(SOURCE, self._sums), Steps(self._steps.limits)
        if full.is_conversion:
            full = replace(full, post_ops=(clip,))
        else:  # a scale of the source comes before any post-op
            clipped = last.new(self._sums)
            last.copy(site, clipped, arithmetic=Arithmetic(post_ops=(clip,)))
            site = clipped
        last.copy(site, self._target.site._replace(buffer=RESULT), self._target.whole, full)
        return last


def _range_of(x: Tensor) -> PostOp:
    """The lowest and the highest element, as f32, without those that are NaN, as the bounds of a clip."""
    elements = x.numpy()
    with np.errstate(over="ignore"):  # an f64 beyond f32 becomes an infinity, as when kernels read it
        low, high = (float(np.float32(end.reduce(elements, axis=None))) for end in (np.fmin, np.fmax))
    return PostOp("clip", low, high) if low <= high else PostOp("clip", -math.inf, math.inf)


def steps_to(
    src: TensorDesc,
    resized: Resizing,
    sums: TensorDesc,
    target: ResultTarget,
    limits: Limits,
) -> Steps:
    """The steps of a resampling that computes ``sums`` and writes them to ``target``."""
    dst = target.whole
    source = Site(SOURCE, src if src.sizes == resized.read_sizes else views.part(src, resized.part_read))
    steps = Steps(limits)
    if not dst.numel:
        steps.copy(target.site, target.site, dst, target.arithmetic)  # there may be padding to write
    elif resized.inside != resized.window or not source.desc.numel:
        _add_extrapolated(steps, source, resized, sums, target)
    else:
        _add_passes(steps, source, resized, target)
    return steps


def _require_few_weights(resized: Resizing) -> None:
    for axis, rows, part in zip(resized.axes, resized.rows, resized.window, strict=True):
        change = f"{rows.source_size} to {rows.size} elements along axis {axis}"
        if rows.taps > _MAX_OF_ROW:
            raise UnsupportedError(
                f"an output reads at most {_MAX_OF_ROW} elements along an axis, and {change} would read {rows.taps} "
                f"for each: resample it in several steps"
            )
        count = part.stop - part.start
        if rows.taps > _FEW_TAPS and count * rows.taps > _MAX_WEIGHTS_OF_AXIS:
            raise UnsupportedError(
                f"all outputs together read at most {_MAX_WEIGHTS_OF_AXIS} elements along an axis, and {change} would "
                f"read {rows.taps} for each of {count}: resample a window of it at a time"
            )


def _add_extrapolated(steps: Steps, src: Site, resized: Resizing, whole: TensorDesc, target: ResultTarget) -> None:
    """Add steps that write one value to the outputs that read beyond the source, around the box of the others.

    If no source element is read, all outputs have that value: a crop beside the source, a gradient of nothing.
    """
    sizes, starts = list(whole.sizes), [0] * whole.rank
    for axis, window, part in zip(resized.axes, resized.window, resized.inside, strict=True):
        sizes[axis], starts[axis] = len(part), part.start - window.start
    box = packed(whole.dtype, sizes)
    if not src.desc.numel or not box.numel:
        inner = Site(SOURCE, packed(whole.dtype, (0,)))
    else:
        inner = steps.new(box)
        _add_passes(steps, src, resized.of_window(resized.inside), ResultTarget(inner, box, NO_ARITHMETIC))
    dst = target.whole
    is_direct = (
        target.arithmetic.is_conversion and dst.dtype == whole.dtype and dst.is_packed and dst.strides is not None
    )
    plain = target.site if is_direct else steps.new(whole)
    steps.pad(inner, plain, starts, _saturated(resized.fill, whole.dtype))
    if not is_direct:
        steps.copy(plain, *target)


def _saturated(value: float, dtype: DType) -> bytes:
    """The element to which ``reorder`` converts a number: an integer, or an f64."""
    low, high = dtype.format.range
    if dtype == "pred":
        value = value != 0
    elif not dtype.is_float:
        value = 0 if math.isnan(value) else low if value <= low else high if value >= high else round(value)
    elif dtype.format.saturates:
        value = math.nan if math.isnan(value) else min(max(value, low), high)
    return element_bits(value, dtype).to_bytes(dtype.itemsize, "little")


def _add_passes(steps: Steps, src: Site, resized: Resizing, target: ResultTarget) -> None:
    """Add the passes in order, with the arithmetic in the last; between them are f32, or s32 for integer weights.

    If a library rounds after each axis, results between passes have its element type: u16 for Pillow's I;16. The result
    is first computed in the library's type; one more pass converts it if another type is wanted.
    """
    tables = passes(resized)
    between = src.desc.dtype if not tables or is_index(tables[0]) else as_dtype("f32")
    if any(rows.shifts is not None for rows in resized.rows):
        between = as_dtype("s32")
    dtype = src.desc.dtype
    is_direct = target.site.desc.dtype == dtype and target.arithmetic.is_conversion
    is_copied = resized.library.scale is not None or (resized.keeps_type and not is_direct)
    rounded = NO_ARITHMETIC if resized.library.rounding is None else Arithmetic(rounding=resized.library.rounding)
    if resized.keeps_type and is_direct:
        target = target._replace(arithmetic=rounded)  # the library's rounding takes precedence over the caller's
    for these, behind in pairwise(tables):
        is_whole = resized.library.rounding is not None and these[0][0] != behind[0][0]  # a complete sum, not a part
        element, last = (dtype, rounded) if is_whole else (between, NO_ARITHMETIC)
        src = _add_one_pass(steps, src, these, None, element, last)
    for these in tables[-1:]:
        element = dtype if resized.keeps_type and between.name == "f32" else between
        src = _add_one_pass(steps, src, these, None if is_copied else target, element, rounded)
    if resized.library.scale is not None:
        sums, src = src, steps.new(packed(dtype, src.desc.sizes, src.desc.minor_to_major))
        order = tuple(range(src.desc.rank))
        steps.copy(sums, src, arithmetic=arithmetic(sums.desc, src.desc, order, Numbers(resized.library.scale)))
    if not tables or is_copied:
        steps.copy(src, *target)


def _add_one_pass(
    steps: Steps, src: Site, tables: Tables, target: ResultTarget | None, dtype: DType, last: Arithmetic
) -> Site:
    """Add one pass into ``target``, or without one into a new buffer of type ``dtype``, with arithmetic ``last``."""
    axes = tuple(axis for axis, _ in tables)
    result = target.site.desc if target is not None else _pass_layout(src.desc, tables, dtype)
    if not is_resampled_by_walks(src.desc, result, axes):
        src = src if src.desc.strides is not None else steps.copied(src)
        if result.strides is None:
            result = _pass_layout(src.desc, tables, dtype)
    if not taps_fit(src.desc, tables, steps.limits):
        # Copy with the resampled axes as the fastest, the smallest first, which keeps neighbours close together.
        inward = sorted(range(src.desc.rank), key=lambda axis: (axis not in axes, src.desc.sizes[axis]))
        src = steps.copied(src, packed(src.desc.dtype, src.desc.sizes, inward))
    if (
        result.dtype.itemsize < dtype.itemsize <= 4
        and result.numel >= _MANY
        and is_made_by_elements(src.desc, result, tables, steps.limits)
    ):
        # Rows of u8[750,1050], for example, begin inside words: a pass into packed sums and a copy are faster.
        sums = _pass_layout(src.desc, tables, dtype)
        fits = sums.nbytes <= min(steps.limits.max_buffer_range, _MAX_PACKED_BYTES)
        if fits and not is_made_by_elements(src.desc, sums, tables, steps.limits):
            result = sums
    into = (
        target if target is not None and result is target.site.desc else ResultTarget(steps.new(result), result, last)
    )
    _add_pass(steps, src, tables, into)
    if target is not None and into is not target:
        steps.copy(into.site, *target)
    return into.site


def _pass_layout(src: TensorDesc, tables: Tables, dtype: DType) -> TensorDesc:
    """The packed layout of the result of a pass, in the source's order of axes."""
    sizes = replaced(src.sizes, [axis for axis, _ in tables], [table.count for _, table in tables])
    return packed(dtype, sizes, src.minor_to_major)


def _add_pass(steps: Steps, src: Site, tables: Tables, target: ResultTarget) -> None:
    site, whole, last = target

    def make() -> Iterable[KernelSpec]:
        padding = padding_kernels(whole, steps.limits) if whole.is_whole and last.sum_scale is None else ()
        return together(padding, resample_kernels(src.desc, site.desc, tables, last, steps.limits))

    steps.add(src, site, make)
