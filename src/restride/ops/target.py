"""Target: where an operation writes, as a checked descriptor, and the arithmetic applied before writing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from restride.arithmetic import Arithmetic, Numbers, arithmetic
from restride.dtypes import DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, OutOfDeviceMemory, prefixed
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.layout.argument import Layout, axis_order, is_permutation, laid_out
from restride.layout.overlap import (
    may_overlap,
    require_injective,
    require_like,
    require_whole_elements,
    written_by,
)
from restride.plan.steps import RESULT, SOURCE, Site


class Out(NamedTuple):
    """A destination that the caller gives. is_shared: it is in the source's buffer."""

    desc: TensorDesc
    is_shared: bool


class Result(NamedTuple):
    """The requested result: its layout, its element type, and the arithmetic.

    numbers: scales, zero points and so on, as the caller wrote them; None if there are none. For a window: the
    arithmetic of the whole result, cut to the window.
    """

    layout: Layout = None
    dtype: DTypeLike | None = None
    numbers: Numbers | Arithmetic | None = None

    @property
    def sum_scale(self) -> Any:
        """The factor of the destination's old elements; None: they are not read."""
        return None if self.numbers is None else self.numbers.sum_scale


PLAIN = Result()
"""The result of an operation that changes neither type nor numbers, in its own layout."""


def destination(
    like: TensorDesc,
    layout: Layout,
    src: TensorDesc,
    out: Out | None,
    dtype: DType | None = None,
    in_place: bool = False,
) -> tuple[TensorDesc, Site]:
    """The checked destination of a result with the axes of ``like``, and its type unless ``dtype`` is given.

    Returns the result as the caller gets it, and the site of its elements with the axes in the order of ``like``; the
    orders differ when the layout is a permutation "A->B". ``in_place``: ``out`` may be the source itself.
    """
    order = axis_order(like, layout)
    permuted = views.permute(like, order) if is_permutation(layout) else like
    desc = laid_out(permuted, layout, dtype)
    if out is None:
        require_like(desc, "layout", permuted, dtype)
        require_injective(desc, "layout")
    else:
        require_like(out.desc, "out", permuted, dtype)
        if layout is not None and not is_permutation(layout) and out.desc != desc:
            raise DescriptorError(f"out is {out.desc}, but layout {layout!r} asks for {desc}; give one of the two")
        desc = out.desc
        require_injective(desc, "out")
        # Elements that do not overlap may share a word: an invocation that reads the word still finds its own bytes
        # unchanged.
        is_itself = in_place and desc == src and order == tuple(range(like.rank))
        if out.is_shared and not is_itself and may_overlap(src, written_by(desc)):
            raise DescriptorError(f"out {desc} must lie apart from the source {src} in the buffer they share")
    require_whole_elements(src, desc)
    buffer = SOURCE if out is not None and out.is_shared else RESULT
    if not is_permutation(layout):
        return desc, Site(buffer, desc)
    inverse = tuple(order.index(axis) for axis in range(like.rank))
    return desc, Site(buffer, views.permute(desc, inverse))


def element_type(src: TensorDesc, layout: Layout, dtype: object, out: Out | None) -> DType:
    """The element type of a result: ``dtype``, or else that of ``out``, of ``layout`` if it has one, or of ``src``."""
    if dtype is not None:
        with ErrorContext(src), prefixed("dtype"):
            return as_dtype(dtype)
    if out is not None:
        return out.desc.dtype
    return src.dtype if layout is None else laid_out(src, layout).dtype


def require_room(sizes: Sequence[int], dtype: DType, limits: Limits) -> None:
    """Refuse a result larger than the device's memory, before anything is computed for it.

    Args:
        sizes: of the result, or of the window asked for.
        dtype: its element type.
        limits: of the device.

    Raises:
        OutOfDeviceMemory: the elements alone have more bytes than ``limits.max_memory``.
    """
    nbytes = math.prod(sizes) * dtype.itemsize
    if nbytes > limits.max_memory:
        raise OutOfDeviceMemory(
            f"the device has no room for {nbytes} bytes: {limits.max_memory} are the most of one tensor, by its "
            "memory, its largest allocation or memory_limit; work in smaller pieces, such as windows; asked for "
            f"{TensorDesc(dtype, sizes)}"
        )


def element_with_room(
    src: TensorDesc, sizes: Sequence[int], layout: Layout, dtype: object, out: Out | None, limits: Limits | None
) -> DType:
    """The ``element_type`` of a result of these sizes, for which a device of these limits, if any, must have room.

    Raises:
        OutOfDeviceMemory: the device has no room for the result.
    """
    like = src if layout is None else TensorDesc(src.dtype, sizes)  # a layout applies to the sizes of the result
    element = element_type(like, layout, dtype, out)
    if limits is not None:
        require_room(sizes, element, limits)
    return element


class Target(NamedTuple):
    """The destination of sums.

    site: the elements, in the operation's axes. whole: the layout of their buffer. arithmetic: applied to each sum
    before it is written.
    """

    site: Site
    whole: TensorDesc
    arithmetic: Arithmetic


def target_of(src: TensorDesc, out: Out | None, result: Result) -> Target:
    """The target of ``reorder``, which moves each element of ``src``; ``out`` may be the source itself."""
    layout, dtype, numbers = result
    element = element_type(src, layout, dtype, out)
    dst, site = destination(src, layout, src, out, dtype=element, in_place=True)
    return Target(site, dst, arithmetic_of_result(src, dst, layout, numbers))


def target_of_sums(
    src: TensorDesc,
    computed: TensorDesc,
    result: TensorDesc,
    layout: Layout,
    out: Out | None,
    numbers: Numbers | Arithmetic | None,
) -> Target:
    """The target of sums of elements of ``src`` that have the type and sizes of ``computed``.

    Sums of f16 and f8e5m2 that keep their type, without scales, keep infinities.

    Args:
        src: the source.
        computed: type and sizes of the sums, before the arithmetic.
        result: the layout where neither ``layout`` nor ``out`` says one.
        layout: as in ``reorder``.
        out: the caller's destination, if any.
        numbers: as in ``Result``.
    """
    asked = result if layout is None and out is None else layout
    whole, site = destination(result, asked, src, out, result.dtype)
    full = arithmetic_of_result(computed, whole, layout, numbers)
    if full.is_conversion and computed.dtype != src.dtype == result.dtype and src.dtype.name in ("f16", "f8e5m2"):
        full = replace(full, saturate=False)
    return Target(site, whole, full)


def require_out_of_sum(sum_scale: object, src: TensorDesc, out: Out | None) -> None:
    """Refuse ``sum_scale`` without an ``out`` whose elements it can read."""
    if sum_scale is not None and out is None:
        raise DescriptorError(f"sum_scale {sum_scale!r} reads an out, and there is none, for {src}")


def arithmetic_of_result(
    src: TensorDesc, dst: TensorDesc, layout: Layout, numbers: Numbers | Arithmetic | None
) -> Arithmetic:
    """``restride.arithmetic.arithmetic`` with both scalings in the axes of ``src``, also where ``layout`` is "A->B"."""
    if isinstance(numbers, Arithmetic):
        return numbers
    order = axis_order(src, layout)
    full = arithmetic(src, dst, order, numbers)
    if full.dst is None:
        return full
    return replace(full, dst=full.dst.permuted([order.index(axis) for axis in range(len(order))]))
