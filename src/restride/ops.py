"""The operations: strided_slice, reorder and resample. They check the arguments, make the destination, and dispatch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, SupportsIndex

from restride import views
from restride.arithmetic import arithmetic
from restride.desc import TensorDesc
from restride.destination import destination, source_beside
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.integers import integers
from restride.kernel import KernelSpec, Limits
from restride.layout import Layout, axis_order, family, laid_out
from restride.plan import LINEAR_TYPES, is_resampled_by_walks, padding_kernels, resample_kernels, taps_fit
from restride.tensor import Tensor, copy_elements, empty, run

MODES = ("nearest", "linear")
COORDINATES = ("half_pixel",)
NEAREST_RULES = ("half_up",)


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

    Raises:
        DescriptorError: a rule above is broken, or ``out`` does not fit, overlaps itself, or shares memory with ``x``.

    Source: DirectML, DML_SLICE1_OPERATOR_DESC.
    """
    src = source_beside(x, out)
    window = Tensor(src.memory, views.window(src.desc, offsets, sizes, strides, output_sizes), src.device)
    if out is None:
        return window
    dst, view = destination(window.desc, None, window, out)
    copy_elements(window, view, dst.desc)
    return dst


def reorder(
    x: Any,
    layout: Layout = None,
    dtype: Any = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    sum_scale: Any = None,
    group_sizes: Iterable[SupportsIndex] | None = None,
    rounding: str = "nearest_even",
    saturate: bool = True,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The same logical tensor in another memory layout, element type and scale, in one dispatch.

    ``(src_scale * (x - src_zero_point) + sum_scale * out) / dst_scale + dst_zero_point``, each step one f32 operation
    in this order, then rounded and saturated. Without scales, zero points and sum elements are converted exactly,
    rounded once; of the same type, they are copied bit for bit. docs/reorder.md defines every case.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes.
        layout: a TensorDesc, its text, or the braces of it ("{1,0:T(8,128)}"); a oneDNN tag ("nhwc", "nChw16c") or a
            name of the letters N C D H W, which change memory only ("NHWC": sizes and ``numpy()`` keep the order N, C,
            H, W); "any", the family of the layout that ``x`` has; or "A->B" with any letters, which permutes the
            logical axes too, so that ``reorder(x, "NCHW->NHWC").numpy()`` equals ``x.transpose(0, 2, 3, 1)``.
            Default: packed, row-major.
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        src_scale: a number, or an array (or Tensor, which is read back) that broadcasts against the sizes of ``x``.
        src_zero_point: the same; of an integer type, numbers that it has.
        dst_scale: as ``src_scale``, against the sizes of the result, which differ under "A->B".
        dst_zero_point: as ``src_zero_point``, of the result.
        sum_scale: a number: what ``out`` held is added, times this.
        group_sizes: one number an axis of ``x``: so many neighbours share a scale; an axis of n in groups of g has
            ``ceil(n / g)`` of them. 1: no groups.
        rounding: of what becomes an integer: "nearest_even", "truncate" (toward zero) or "half_away" (from zero).
        saturate: what is too large for an integer, an f16 or an 8-bit float becomes the largest it has; else an
            integer keeps the low bits, an f16 or f8e5m2 becomes infinity, an f8e4m3fn NaN.
        out: where to write; its own layout counts. The padding of a whole layout (padded sizes, tiles, blocks) is
            written; of a view, and between the elements of strides, nothing is touched. It may be ``x`` itself; then,
            and with ``sum_scale``, padding stays.

    Raises:
        DescriptorError: the layout or the element type is unknown or does not fit, the destination overlaps itself,
            ``out`` shares memory with ``x`` but is not the same, a scale is 0 or not finite, a zero point is none of
            its type, one of them does not broadcast, or there is a sum and no ``out``.

    Source: oneDNN specification, Reorder; ONNX operators, Cast.
    """
    return reorder_with(
        x,
        layout,
        dtype,
        out,
        src_scale=src_scale,
        src_zero_point=src_zero_point,
        dst_scale=dst_scale,
        dst_zero_point=dst_zero_point,
        sum_scale=sum_scale,
        group_sizes=group_sizes,
        rounding=rounding,
        saturate=saturate,
    )


def reorder_with(x: Any, layout: Layout, dtype: Any, out: Tensor | None, **arguments: Any) -> Tensor:
    """``reorder`` with the arguments of ``restride.arithmetic.arithmetic``, ``rounds_first`` among them."""
    src = source_beside(x, out)
    if arguments.get("sum_scale") is not None and out is None:
        raise DescriptorError(f"sum_scale {arguments['sum_scale']!r} reads an out, and there is none, for {src.desc}")
    dst, view = destination(src.desc, layout, src, out, dtype=_element_type(src.desc, layout, dtype, out))
    order = axis_order(src.desc, layout)
    done = arithmetic(src.desc, dst.desc, order, **arguments)
    if done.dst is not None:  # the axes of the result, as those of x
        done = replace(done, dst=done.dst.permuted([order.index(axis) for axis in range(len(order))]))
    copy_elements(src, view, dst.desc, done)
    return dst


def _element_type(src: TensorDesc, layout: Layout, dtype: Any, out: Tensor | None) -> DType:
    if dtype is not None:
        try:
            return as_dtype(dtype)
        except DescriptorError as error:
            raise DescriptorError(f"dtype: {error}, for {src}") from error
    return out.dtype if out is not None else laid_out(src, layout).dtype


def resample(
    x: Any,
    sizes: Iterable[SupportsIndex],
    *,
    axes: Iterable[SupportsIndex] | None = None,
    mode: str = "linear",
    coordinates: str = "half_pixel",
    nearest: str = "half_up",
    layout: Layout = None,
    out: Tensor | None = None,
) -> Tensor:
    """``x`` resized to ``sizes`` along ``axes``.

    Output index o of O along an axis of I reads at ``s = (o + 1/2) * I / O - 1/2``. ``nearest`` takes index
    ``floor(s + 1/2)``, bit for bit; ``linear`` weighs the two neighbours of s, clamped to the axis, in f32, nested with
    the last axis first, and rounds integers half to even. One dispatch, with the slice, flip or permutation that
    ``x`` is a view by; several where tables or buffers exceed what one may have, or tiles and blocks are partial. Where
    neighbours along an axis lie so far apart that a binding hardly holds both, the source is copied with that axis
    inside first; where tiles or blocks lie along a resampled axis of either side, copies without them are resampled.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes. Linear: f32, f16, bf16, u8, s8, s32; nearest: every element type.
        sizes: output size of each of ``axes``.
        axes: which axes; negative ones count from the end; default: the last ``len(sizes)``.
        mode: "nearest" or "linear".
        coordinates: "half_pixel".
        nearest: "half_up".
        layout: of the result, as in ``reorder``; default: "any", the memory order, tiles or blocks of ``x``.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: sizes, axes or ``out`` do not fit, or an axis without elements is to grow.
        UnsupportedError: a mode or element type that this version does not have.

    Source: oneDNN specification, Resampling.
    """
    src = source_beside(x, out)
    for argument, value, known in (
        ("mode", mode, MODES),
        ("coordinates", coordinates, COORDINATES),
        ("nearest", nearest, NEAREST_RULES),
    ):
        if str(value) not in known:
            raise UnsupportedError(f"{argument} {value!r} is not one of {', '.join(map(repr, known))}, for {src.desc}")
    its_axes, target_sizes = _resampled(src.desc, sizes, axes)
    if mode == "linear" and src.dtype.name not in LINEAR_TYPES:
        raise UnsupportedError(
            f"mode 'linear' has the element types {', '.join(LINEAR_TYPES)}, not {src.dtype} of {src.desc}; "
            f"numpy converts: x.astype(np.float32)"
        )
    result = family(src.desc, target_sizes)
    dst, view = destination(result, layout, src, out, default=result)
    if not result.numel:
        copy_elements(view, view, dst.desc)  # no elements, but there may be padding
        return dst
    target = view
    if not is_resampled_by_walks(src.desc, view.desc, its_axes):
        src = src if src.desc.strides is not None else reorder(src)
        target = view if view.desc.strides is not None else empty(TensorDesc(src.dtype, target_sizes), src.device)
    if not taps_fit(src.desc, target.desc, its_axes, mode, src.device.limits):
        src = _with_axes_inside(src, its_axes)

    def plan(limits: Limits, specialised: bool) -> Iterator[KernelSpec]:
        if target is view:
            yield from padding_kernels(dst.desc, limits)
        yield from resample_kernels(src.desc, target.desc, its_axes, mode, limits, specialised)

    run(plan, (mode, its_axes, dst.desc), src, target)
    if target is not view:
        copy_elements(target, view, dst.desc)
    return dst


def _with_axes_inside(src: Tensor, axes: tuple[int, ...]) -> Tensor:
    """A copy whose fastest axes are ``axes``, small ones first, so that neighbours along them are near each other."""
    inward = sorted(range(src.desc.rank), key=lambda axis: (axis not in axes, src.sizes[axis]))
    return reorder(src, TensorDesc.xla(src.dtype, src.sizes, inward))


def _resampled(
    desc: TensorDesc, sizes: Iterable[SupportsIndex], axes: Iterable[SupportsIndex] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes, counted from 0, and all sizes of the result."""
    where = desc.__str__
    new_sizes = integers("sizes", sizes, where)
    if axes is None:
        if len(new_sizes) > desc.rank:
            raise DescriptorError(f"sizes {new_sizes} are more than the {desc.rank} axes of {desc}")
        its_axes = tuple(range(desc.rank - len(new_sizes), desc.rank))
    else:
        given = integers("axes", axes, where)
        for axis in given:
            if not -desc.rank <= axis < desc.rank:
                raise DescriptorError(f"axis {axis} of axes {given} is outside [-{desc.rank}, {desc.rank}) of {desc}")
        its_axes = tuple(axis % desc.rank for axis in given)
        if len(set(its_axes)) != len(its_axes):
            raise DescriptorError(f"axes {given} name an axis twice in {desc}")
        if len(its_axes) != len(new_sizes):
            raise DescriptorError(f"axes {given} and sizes {new_sizes} must be equally many, for {desc}")
    result = list(desc.sizes)
    for axis, size in zip(its_axes, new_sizes, strict=True):
        if size < 0:
            raise DescriptorError(f"size {size} of sizes {new_sizes} must be 0 or more, for {desc}")
        if size > 0 and desc.sizes[axis] == 0:
            raise DescriptorError(f"axis {axis} of {desc} has no elements to make {size} of, sizes are {new_sizes}")
        result[axis] = size
    return its_axes, tuple(result)
