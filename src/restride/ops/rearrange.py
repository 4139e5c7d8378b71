"""rearrange: axes split, permuted and joined by a pattern, with type and layout of the result, in one dispatch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex

from restride.dtypes import DTypeLike
from restride.errors import DescriptorError, ErrorContext
from restride.kernel import Limits
from restride.layout import TensorDesc, views
from restride.layout.argument import Layout, is_permutation
from restride.layout.pattern import Pattern
from restride.layout.tensor_desc import packed
from restride.ops.perform import Plan, ViewPlan, perform
from restride.ops.target import Out, destination, read_layout, type_asked
from restride.plan.steps import SOURCE, Site, Steps
from restride.request.arithmetic import Numbers, arithmetic
from restride.tensor.tensor import Tensor


def rearrange(
    x: Any,
    pattern: str,
    /,
    *,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    src_scale: Any = None,
    dst_scale: Any = None,
    out: Tensor | None = None,
    **lengths: SupportsIndex,
) -> Tensor:
    """Split, permute and join axes by a pattern of einops, convert and lay out, in one dispatch.

    Without ``layout``, ``dtype``, scales and ``out`` the result is a view where its strides allow one, as all pure
    permutations do; else it is packed, row-major.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes.
        pattern: as in ``einops.rearrange``. Names are axes, parentheses hold those that make up one axis of the tensor,
            ``...`` is all others. A number is an axis of that size, which both sides have.
        layout: as in ``reorder``, for the sizes of the result; not "A->B", since the pattern gives the order.
        dtype: as in ``reorder``.
        src_scale: a number; elements are multiplied by it, as in ``reorder``.
        dst_scale: a number; elements are divided by it.
        out: where to write; its own layout counts.
        lengths: sizes of axes by name; in each parentheses one may be left out.

    Example: patches of 2 x 2 pixels, and a photograph as planes of f32 in [0, 1].

    >>> rs.rearrange(np.arange(16).reshape(4, 4), "(h 2) (w b) -> (h w) (2 b)", b=2).numpy().tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    >>> rs.rearrange(np.zeros((4, 6, 3), np.uint8), "h w c -> 1 c h w", dtype="f32", dst_scale=255).desc
    TensorDesc.parse('f32[1,3,4,6]{3,2,1,0}')

    Raises:
        DescriptorError: the pattern is wrong or does not fit the sizes, a length is missing, a scale is no number, or
            as ``reorder`` does.
        UnsupportedError: more than 8 axes are moved separately.

    Source: einops, rearrange.
    """
    return perform(rearrange_plan, x, out, pattern, lengths, layout, dtype, src_scale, dst_scale)


def rearrange_plan(
    src: TensorDesc,
    out: Out | None,
    limits: Limits,
    pattern: str,
    lengths: Mapping[str, object],
    layout: Layout,
    dtype: DTypeLike | None,
    src_scale: object,
    dst_scale: object,
) -> Plan:
    """The plan of ``rearrange``: copies a view into the destination, whose axes are split like those of the view."""
    if is_permutation(layout):
        raise DescriptorError(
            f"layout {layout!r} permutes axes, but the pattern {pattern!r} gives their order, for {src}"
        )
    with ErrorContext(src):
        parts, groups = Pattern.parse(pattern).split(src.sizes, lengths)
        view, sizes = views.regrouped(src, parts, groups)
    is_plain = all(argument is None for argument in (layout, dtype, out, src_scale, dst_scale))
    if view.sizes == sizes and is_plain:
        return ViewPlan(src, view, Steps(limits))
    like = packed(src.dtype, sizes)
    dst, site = destination(read_layout(like, layout, type_asked(like, dtype, out)), src, out)
    apart = views.reshape(dst, view.sizes)
    with ErrorContext(src):
        asked = Numbers(_number("src_scale", src_scale), dst_scale=_number("dst_scale", dst_scale))
        full = arithmetic(view, apart, range(apart.rank), asked)
    steps = Steps(limits)
    steps.copy(Site(SOURCE, view), Site(site.buffer, apart), dst, full)
    return Plan(src, dst, steps)


def _number(argument: str, value: object) -> Any:
    """``value``, if it is a number. An array is refused, because it would need axes that the pattern splits."""
    if getattr(value, "ndim", 0) or isinstance(value, list | tuple):
        raise DescriptorError(f"{argument} must be a number, got {value!r}; rs.reorder takes arrays")
    return value
