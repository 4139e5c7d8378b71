"""Operations that keep the elements, strided_slice and reorder: they check arguments, plan the destination and run."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any, SupportsIndex, Unpack

from restride.arguments import check_keywords, list_arguments, require_listed
from restride.dtypes import DTypeLike
from restride.errors import DescriptorError
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.layout.argument import Layout
from restride.layout.overlap import may_overlap, written_by
from restride.ops.operation import Operation, Window
from restride.ops.perform import Plan, perform, plan_for, refuse_out, source_beside
from restride.ops.target import (
    Out,
    Result,
    destination,
    read_layout,
    require_out_of_sum,
    target_of,
    type_asked,
)
from restride.plan.steps import SOURCE, Site, Steps
from restride.request.arithmetic import Arithmetic, NumberArguments, Numbers, Rounding
from restride.tensor.arrays import host_array
from restride.tensor.device import Device
from restride.tensor.tensor import METHODS, Tensor


@check_keywords
def strided_slice(
    x: Any,
    offsets: Iterable[SupportsIndex],
    sizes: Iterable[SupportsIndex],
    strides: Iterable[SupportsIndex],
    output_sizes: Iterable[SupportsIndex] | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A window of ``x``, walked along each axis with a stride: DirectML's SLICE1.

    Output index o of an axis takes index ``offset + stride * o``, or ``offset + size - 1 + stride * o`` for a negative
    stride, which starts at the window's end. Without ``out`` the result is a view and costs no dispatch, so a slice
    fuses into the operation that reads it.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes; 1 to 8 axes.
        offsets: first index of the window, per axis.
        sizes: extent of the window, per axis; not empty, and inside ``x``.
        strides: per axis, not 0.
        output_sizes: per axis, 1 to ``1 + (size - 1) // abs(stride)``; default: that maximum.
        out: where to write; padding between its elements stays untouched.

    Example:
        >>> rs.strided_slice(np.arange(8), [1], [7], [2]).numpy().tolist()
        [1, 3, 5, 7]
        >>> rs.strided_slice(np.arange(8), [0], [8], [-3]).numpy().tolist()
        [7, 4, 1]

    Raises:
        DescriptorError: a rule above is broken, or ``out`` does not fit, overlaps itself, or shares memory with ``x``.

    Source: DirectML, DML_SLICE1_OPERATOR_DESC.
    """
    src = source_beside(x, out)
    window = Tensor(src.memory, views.window(src.desc, offsets, sizes, strides, output_sizes), src.device)
    return window if out is None else perform(slice_plan, window, out)


def slice_plan(src: TensorDesc, out: Out | None, limits: Limits) -> Plan:
    """The plan that copies a window."""
    dst, site = destination(read_layout(src, None, converts=False), src, out)
    steps = Steps(limits)
    steps.copy(Site(SOURCE, src), site, dst)
    return Plan(src, dst, steps)


@check_keywords
def reorder(
    x: Any,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    sum_scale: Any = None,
    group_sizes: Iterable[SupportsIndex] | None = None,
    rounding: Rounding = "nearest_even",
    saturate: bool = True,
    *,
    post_ops: Iterable[tuple[Any, ...]] | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Copy a logical tensor into another memory layout, element type and scale, in one dispatch.

    ``(src_scale * (x - src_zero_point) + sum_scale * out) / dst_scale + dst_zero_point``, each step one f32 operation
    in this order, then rounded and saturated. Without scales, zero points, sum and post-ops elements are converted
    exactly, rounded once; of the same type, they are copied bit for bit. docs/reorder.md defines every case.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes.
        layout: a TensorDesc, its text, or the braces of it ("{1,0:T(8,128)}"); a oneDNN tag ("nhwc", "nChw16c") or a
            name of the letters N C D H W, which change memory only ("NHWC": sizes and ``numpy()`` keep the order N, C,
            H, W); "any", the family of the layout that ``x`` has; or "A->B" with any letters, which permutes the
            logical axes too, so that ``reorder(x, "NCHW->NHWC").numpy()`` equals ``x.transpose(0, 2, 3, 1)``.
            Default: packed, row-major.
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        src_scale: a number, or an array (or Tensor, which is read back) that broadcasts against the sizes of ``x``.
        src_zero_point: the same; for an integer type, numbers of that type.
        dst_scale: as ``src_scale``, against the sizes of the result, which differ under "A->B".
        dst_zero_point: as ``src_zero_point``, for the type of the result.
        sum_scale: a number: the old elements of ``out``, times this, are added.
        group_sizes: for each axis of ``x``, how many neighbours share a scale; an axis of n in groups of g has
            ``ceil(n / g)`` scales. 1: no groups.
        rounding: to integers: "nearest_even", "truncate" (toward zero) or "half_away" (from zero).
        saturate: a value too large for an integer, an f16 or an 8-bit float becomes the largest of the type; else an
            integer keeps the low bits, an f16 or f8e5m2 becomes infinity, an f8e4m3fn NaN.
        post_ops: up to four of ("relu",), ("relu", slope), ("clip", low, high) and ("linear", factor, term), applied in
            turn after the sum, before the division.
        out: where to write; its own layout counts. The padding of a whole layout (padded sizes, tiles, blocks) is
            written; the padding of a view, and gaps between strided elements, are not. ``out`` may be ``x`` itself;
            then, and with ``sum_scale``, no padding is written.

    Example:
        >>> image = np.zeros((2, 4, 3), np.uint8)
        >>> rs.reorder(image, "HWC->CHW", dtype="f32", src_scale=1 / 255).desc
        TensorDesc.parse('f32[3,2,4]{2,1,0}')

    Raises:
        DescriptorError: the layout or the element type is unknown or does not fit, the destination overlaps itself,
            ``out`` shares memory with ``x`` but is not the same, a scale is 0 or not finite, a zero point is not a
            number of its type, one of them does not broadcast, or there is a sum and no ``out``.
        UnsupportedError: elements of source or result have another number of bits than their type, by XLA's ``E(n)``.
        OutOfDeviceMemory: the device has no room for the result.

    Source: oneDNN specification, Reorder; ONNX operators, Cast.
    """
    numbers = Numbers(
        *(src_scale, src_zero_point, dst_scale, dst_zero_point, sum_scale, group_sizes, rounding, saturate, post_ops)
    )
    return perform(reorder_plan, x, out, layout, dtype, numbers)


def assign(view: Tensor, value: object) -> None:
    """Write ``value`` to the elements of ``view``, as ``Tensor.__setitem__`` says."""
    if value is None:
        raise DescriptorError(f"value must be an array, a tensor or a number, got None, for {view.desc}")
    if isinstance(value, Tensor) and value.device is not view.device:
        raise DescriptorError(f"value {value!r} lies on another device than {view!r}: .to(x.device) copies it there")
    if isinstance(value, list | tuple | int):
        value = host_array(value, view.dtype)
    src = source_beside(value, view)
    extra = src.ndim - view.ndim
    if extra > 0 and set(src.sizes[:extra]) <= {1}:
        src = src[(0,) * extra]  # numpy drops leading axes of size 1 of the assigned value
    try:
        src = src.broadcast_to(view.sizes)
    except DescriptorError as error:
        raise DescriptorError(f"value {src.desc} does not broadcast to the view {view.desc}: {error}") from None
    is_itself = src.memory is view.memory and src.desc == view.desc
    if src.memory is view.memory and not is_itself and may_overlap(src.desc, written_by(view.desc)):
        src = src.copy()
    reorder(src, rounding="truncate", saturate=False, out=view)


METHODS["reorder"] = reorder
METHODS["assign"] = assign


def reorder_plan(
    src: TensorDesc,
    out: Out | None,
    limits: Limits,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    numbers: Numbers | Arithmetic | None = None,
) -> Plan:
    """The plan of ``reorder``. layout, dtype, numbers: as in ``Result``."""
    asked = read_layout(src, layout, type_asked(src, dtype, out))._replace(numbers=numbers)
    require_out_of_sum(asked, src, out)
    target = target_of(src, out, asked)
    steps = Steps(limits)
    steps.copy(Site(SOURCE, src), *target)
    return Plan(src, target.whole, steps, reads_result=asked.sum_scale is not None)


class Reorder(Operation):
    """``reorder`` without a sum; ``layout`` is None or a permutation "A->B"."""

    def __init__(self, src: TensorDesc, result: Result) -> None:
        asked = read_layout(src, result.layout, type_asked(src, result.dtype, None))
        _, dst, self._arithmetic = target_of(src, None, asked._replace(numbers=result.numbers))
        super().__init__(src, dst, asked.order)
        self._layout = result.layout

    def run(self, x: Tensor, window: Window) -> Tensor:
        return perform(reorder_plan, x, None, self._layout, self.dtype, self._arithmetic.window(self.reads(window)))


class ReorderArguments(NumberArguments, total=False):
    """The keywords of ``rs.reorder`` for functions that pass them on, without ``sum_scale``, which reads an ``out``."""

    group_sizes: Iterable[SupportsIndex] | None


class _PlanArguments(ReorderArguments, total=False):
    sum_scale: Any


@list_arguments(_PlanArguments, Numbers._field_defaults)
def plan_reorder(
    src: TensorDesc | str,
    dst: TensorDesc | str | None = None,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    *numbers: Any,
    device: Device | None = None,
    **named: Unpack[_PlanArguments],
) -> Plan:
    """The plan of ``rs.reorder(x, layout, dtype, ...)`` for an ``x`` laid out as ``src``.

    Args:
        src: layout of the source; may be its text.
        dst: layout of the result, as if there were an ``out``; default: the layout that ``reorder`` chooses.
        layout: this and the following as in ``reorder``; there is no ``out``.
        dtype: as in ``reorder``.
        numbers: ``src_scale`` and the following by position, as in ``reorder``.
        device: whose limits the plan respects; default: ``rs.default_device()``.
        named: ``src_scale`` and the following by name, as in ``reorder``.

    Example:
        >>> plan = rs.plan_reorder("u8[2,4,3]", None, "HWC->CHW", dtype="f32")
        >>> plan.dst
        TensorDesc.parse('f32[3,2,4]{2,1,0}')
        >>> float(plan(np.ones((2, 4, 3), np.uint8)).numpy().sum())
        24.0

    Raises:
        DescriptorError, UnsupportedError: as ``reorder`` does.
    """
    refuse_out(named, src)
    require_listed(plan_reorder, named)
    bound = signature(reorder).bind_partial(None, layout, dtype, *numbers, **named).arguments
    chosen = Numbers(**{name: value for name, value in bound.items() if name in Numbers._fields})
    return plan_for(reorder_plan, src, dst, device, layout, dtype, chosen)
