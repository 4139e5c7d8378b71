"""Target: where an operation writes, as a checked descriptor, and the arithmetic applied before writing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from restride.dtypes import DType, DTypeLike, as_dtype
from restride.errors import STREAMED, DescriptorError, ErrorContext, Message, OutOfDeviceMemory, prefixed
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
from restride.request.arithmetic import Arithmetic, Numbers, arithmetic


class Out(NamedTuple):
    """A destination that the caller gives.

    is_shared: it is in the source's buffer. is_moved: the caller's tensor begins later in its buffer than ``desc``.
    """

    desc: TensorDesc
    is_shared: bool
    is_moved: bool = False


class Result(NamedTuple):
    """The requested result: its layout, its element type, and the arithmetic.

    numbers: scales, zero points and so on, as the caller wrote them; None if there are none. For a window: the
    arithmetic of the whole result, cut to the window.
    """

    layout: Layout = None
    dtype: DTypeLike | None = None
    numbers: Numbers | Arithmetic | None = None


PLAIN = Result()
"""The result of an operation that changes neither type nor numbers, in its own layout."""


class Asked(NamedTuple):
    """What is asked of a result, once ``read_layout`` has read the argument ``layout``.

    like: the sizes of the result, in the order of its axes. order: its axes, as axes of the operation: (0, 2, 3, 1) for
    "NCHW->NHWC". desc: its layout, unless there is an ``out``. dtype: its element type. converts: ``dtype`` may differ
    from that of ``like``. said: ``layout``, if it says what ``desc`` is, so that an ``out`` must have it too. numbers:
    as in ``Result``.
    """

    like: TensorDesc
    order: tuple[int, ...]
    desc: TensorDesc
    dtype: DType
    converts: bool
    said: Layout
    numbers: Numbers | Arithmetic | None = None

    @property
    def sum_scale(self) -> Any:
        """The factor of the destination's old elements; None: they are not read."""
        return None if self.numbers is None else self.numbers.sum_scale


def read_layout(
    like: TensorDesc,
    layout: Layout,
    dtype: DType | None = None,
    default: TensorDesc | None = None,
    *,
    converts: bool = True,
) -> Asked:
    """What ``layout`` asks of a result with the sizes of ``like``.

    Args:
        like: the sizes of the result, and its element type where neither ``dtype`` nor ``layout`` says one.
        layout: as in ``reorder``.
        dtype: element type of the result.
        default: the layout if ``layout`` is None; None: packed, row-major.
        converts: False: the operation keeps the element type, so that ``layout`` must have it.
    """
    order, said = tuple(range(like.rank)), layout
    if is_permutation(layout):
        order, said = axis_order(like, layout), None
        like = views.permute(like, order)
    desc = default if layout is None and default is not None else laid_out(like, layout, dtype)
    return Asked(like, order, desc, dtype or (desc if converts else like).dtype, converts, said)


def type_asked(src: TensorDesc, dtype: object, out: Out | None) -> DType | None:
    """The element type that ``dtype``, or else ``out``, asks for; None if neither is given."""
    if dtype is not None:
        with ErrorContext(src), prefixed("dtype"):
            return as_dtype(dtype)
    return None if out is None else out.desc.dtype


def destination(asked: Asked, src: TensorDesc, out: Out | None, in_place: bool = False) -> tuple[TensorDesc, Site]:
    """The checked destination of a result.

    Returns the result as the caller gets it, and the site of its elements with the axes in the order of the operation.
    ``in_place``: ``out`` may be the source itself.
    """
    like, order, desc, said = asked.like, asked.order, asked.desc, asked.said
    dtype = asked.dtype if asked.converts else None
    keeps_order = order == tuple(range(like.rank))
    if out is not None:
        require_like(out.desc, "out", like, dtype)
        if said is not None and (out.is_moved or out.desc != desc):
            raise DescriptorError(f"out is {out.desc}, but layout {said!r} asks for {desc}; give one of the two")
        desc = out.desc
        require_injective(desc, "out")
        # Elements that do not overlap may share a word: an invocation that reads the word still finds its own bytes
        # unchanged.
        is_itself = in_place and desc == src and keeps_order
        if out.is_shared and not is_itself and may_overlap(src, written_by(desc)):
            raise DescriptorError(f"out {desc} must lie apart from the source {src} in the buffer they share")
    elif said is not None:
        require_like(desc, "layout", like, dtype)
        require_injective(desc, "layout")
    require_whole_elements(src, desc)
    buffer = SOURCE if out is not None and out.is_shared else RESULT
    if keeps_order:
        return desc, Site(buffer, desc)
    return desc, Site(buffer, views.permute(desc, _inverse(order)))


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
        rule = (
            f"the device has no room for {nbytes} bytes: {limits.max_memory} are the most of one tensor, by its "
            f"memory, its largest allocation or memory_limit"
        )
        asked = f"; asked for {TensorDesc(dtype, sizes)}"
        raise OutOfDeviceMemory(Message.of(rule, f"; {STREAMED}{asked}", asked))


class ResultTarget(NamedTuple):
    """The destination of sums.

    site: the elements, in the operation's axes. whole: the layout of their buffer. arithmetic: applied to each sum
    before it is written.
    """

    site: Site
    whole: TensorDesc
    arithmetic: Arithmetic


def target_of(src: TensorDesc, out: Out | None, asked: Asked) -> ResultTarget:
    """The target of ``reorder``, which moves each element of ``src``; ``out`` may be the source itself."""
    whole, site = destination(asked, src, out, in_place=True)
    return ResultTarget(site, whole, arithmetic_of_result(src, whole, asked))


def target_of_sums(src: TensorDesc, computed: TensorDesc, out: Out | None, asked: Asked) -> ResultTarget:
    """The target of sums of elements of ``src`` that have the type and sizes of ``computed``.

    Sums that keep their type, without scales, keep the infinities of f16 and f8e5m2.
    """
    whole, site = destination(asked, src, out)
    full = arithmetic_of_result(computed, whole, asked)
    form = src.dtype.format
    if full.is_conversion and computed.dtype != src.dtype == asked.dtype and form.saturates and form.infinity:
        full = replace(full, saturate=False)
    return ResultTarget(site, whole, full)


def require_out_of_sum(asked: Asked, src: TensorDesc, out: Out | None) -> None:
    """Refuse ``sum_scale`` without an ``out`` whose elements it can read."""
    if asked.sum_scale is not None and out is None:
        raise DescriptorError(f"sum_scale {asked.sum_scale!r} reads the elements of out: give out, for {src}")


def arithmetic_of_result(src: TensorDesc, dst: TensorDesc, asked: Asked) -> Arithmetic:
    """``arithmetic`` of the request with both scalings in the axes of ``src``, also if ``dst`` permutes them."""
    if isinstance(asked.numbers, Arithmetic):
        return asked.numbers
    full = arithmetic(src, dst, asked.order, asked.numbers)
    return full if full.dst is None else replace(full, dst=full.dst.permuted(_inverse(asked.order)))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes ``order``."""
    return tuple([order.index(axis) for axis in range(len(order))])
