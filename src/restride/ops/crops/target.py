"""Target: where the boxes of a call go, and what is done to their elements on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from restride.arithmetic import Arithmetic
from restride.dtypes import DType, as_dtype
from restride.layout import TensorDesc
from restride.layout.argument import Layout, family
from restride.ops.crops.arithmetic import numbers_of
from restride.ops.crops.source import Form
from restride.ops.target import Given, arithmetic_of_result, destination, element_type
from restride.plan.steps import RESULT, Site


class Target(NamedTuple):
    """Where the result goes: its layout, its elements in the axes of boxes and image, and what is done to them.

    is_direct: a kernel of crops can write it, by strides above 0, without padding.
    """

    dst: TensorDesc
    site: Site
    arithmetic: Arithmetic
    is_direct: bool


def target_of(
    form: Form,
    made: TensorDesc,
    out: Given | None,
    mean: Any,
    std: Any,
    layout: Layout,
    dtype: Any,
    **numbers: Any,
) -> Target:
    """Where boxes go that are made as ``made`` says. numbers: of ``restride.arithmetic.arithmetic``."""
    src = form.desc
    is_normalized = mean is not None or std is not None
    says_type = dtype is not None or out is not None or "[" in str(layout)
    result = TensorDesc(src.dtype, made.sizes)
    its_type = as_dtype("f32") if is_normalized and not says_type else element_type(result, layout, dtype, out)
    default = _family(form, made.sizes, its_type)
    dst, site = destination(default, layout, result, out, default, its_type)
    if is_normalized:
        numbers = numbers_of(mean, std, form, its_type, layout, numbers)
    done = arithmetic_of_result(made, dst, layout, numbers)
    if made.dtype != src.dtype and done.is_conversion and src.dtype == its_type and its_type.name in ("f16", "f8e5m2"):
        done = replace(done, saturate=False)
    strides, sizes = site.desc.strides, site.desc.sizes
    is_strided = strides is not None and all(
        stride > 0 for stride, size in zip(strides, sizes, strict=True) if size > 1
    )
    return Target(dst, Site(RESULT, site.desc), done, is_strided and not dst.is_padded)


def _family(form: Form, sizes: tuple[int, ...], dtype: DType) -> TensorDesc:
    """The layout of the source for a result: its order of axes, boxes outermost where it is one image."""
    src = form.desc
    if form.first:
        return family(src, sizes, dtype)
    order = src.minor_to_major if src.strides is not None else None
    outward = range(src.rank)[::-1] if order is None else order
    return TensorDesc.xla(dtype, sizes, [*(axis + 1 for axis in outward), 0])
