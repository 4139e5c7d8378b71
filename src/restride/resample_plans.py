"""Plans of resamplings and of their gradients, from the arguments of ``rs.resample`` and ``rs.resample_backward``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

from restride.desc import TensorDesc
from restride.destination import Given, element_type
from restride.errors import DescriptorError, UnsupportedError
from restride.integers import counts, integers
from restride.interpolation import plan_of
from restride.kernel import Limits
from restride.layout import Layout, family
from restride.planned import Plan
from restride.profiles import IMAGES_ONLY, chosen
from restride.sampling import Choice, Resizing, Ruling, outside_value, resized_axes, resizing

_MOST_CHANNELS = 4
"""Of a pixel."""

GRADIENT_TYPES = ("f32", "f16", "bf16")


def resample_plan(
    src: TensorDesc,
    out: Given | None,
    limits: Limits,
    *,
    sizes: Any,
    scales: Any,
    axes: Any,
    extrapolation_value: float,
    window: Any,
    source_sizes: Any,
    like: Any,
    layout: Layout,
    dtype: Any,
    **others: Any,
) -> Plan:
    """The plan of ``resample``. others: fields of ``Choice``, and arguments of ``restride.arithmetic.arithmetic``."""
    choice, rules = chosen(like, _taken(others), src.dtype.name, src.__str__)
    whole_sizes = src.sizes if source_sizes is None else _whole_sizes(source_sizes, src)
    resized = resizing(whole_sizes, sizes, scales, axes, window, choice, src.__str__, rules)
    if axes is None and len(resized.axes) == 2:
        _require_rows_and_columns(like, "x", src)
    outside = outside_value(extrapolation_value, choice, src.__str__)
    if source_sizes is not None and src.sizes != resized.read_sizes:
        raise DescriptorError(
            f"x {src} must have the sizes {resized.read_sizes} of the part that source_window says, of "
            f"source_sizes {resized.source_sizes}"
        )
    return plan_of(src, resized, layout, dtype, out, outside, others, limits)


def _require_rows_and_columns(like: Any, argument: str, src: TensorDesc) -> None:
    """Refuse to take columns and channels for the rows and columns that a library of images means."""
    rows = src.rank - 3
    if like in IMAGES_ONLY and rows >= 0 and 0 < src.sizes[-1] <= _MOST_CHANNELS < src.sizes[-2]:
        raise DescriptorError(
            f"like {like!r} resizes rows and columns; the last axes of {argument} {src} look like columns and "
            f"channels: say axes=({rows}, {rows + 1}), or axes=({rows + 1}, {rows + 2}) if they are not"
        )


def ruled_plan(
    src: TensorDesc,
    out: Given | None,
    limits: Limits,
    *,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    ruling: Ruling,
) -> Plan:
    """The plan of a resampling along ``axes`` to ``sizes`` by rows that are there already."""
    resized = Resizing(axes, ruling.samplings, tuple(map(range, sizes)), src.sizes, *ruling[1:], rounds=True)
    return plan_of(src, resized, None, None, out, 0.0, {}, limits)


def _taken(others: dict[str, Any]) -> dict[str, Any]:
    """What of ``others`` is a choice, taken out of them."""
    return {name: others.pop(name) for name in Choice._fields if name in others}


def backward_plan(
    src: TensorDesc,
    out: Given | None,
    limits: Limits,
    *,
    input_sizes: Any,
    scales: Any,
    axes: Any,
    like: Any,
    layout: Layout,
    dtype: Any,
    **others: Any,
) -> Plan:
    """The plan of ``resample_backward``. others: fields of ``Choice``."""
    forward = _forward(src, input_sizes, scales, axes, like, others)
    if axes is None and len(forward.axes) == 2:
        _require_rows_and_columns(like, "grad", src)
    result = family(src, forward.source_sizes)
    for type_, argument in ((src.dtype, "grad"), (element_type(result, layout, dtype, out), "dtype")):
        if type_.name not in GRADIENT_TYPES:
            raise UnsupportedError(f"{argument} must be {', '.join(GRADIENT_TYPES)}, not {type_}, for {src}")
    return plan_of(src, forward.transposed(), layout, dtype, out, 0.0, {"saturate": False}, limits)


def _whole_sizes(source_sizes: Iterable[SupportsIndex], part: TensorDesc) -> tuple[int, ...]:
    sizes = counts("source_sizes", source_sizes, part.__str__)
    if len(sizes) != part.rank:
        raise DescriptorError(f"source_sizes {sizes} must be as many as the axes of its part, {part}")
    return sizes


def _forward(
    grad: TensorDesc,
    input_sizes: Iterable[SupportsIndex],
    scales: Any,
    axes: Any,
    like: Any,
    others: dict[str, Any],
) -> Resizing:
    """The resampling that made what ``grad`` is the gradient of."""
    given = integers("input_sizes", input_sizes, grad.__str__)
    its_axes = resized_axes(axes, {"input_sizes": given}, grad.rank, grad.__str__)
    sizes = list(grad.sizes)
    for axis, size in zip(its_axes, given, strict=True):
        sizes[axis] = size
    made = [grad.sizes[axis] for axis in its_axes]
    choice, rules = chosen(like, _taken(others), grad.dtype.name, grad.__str__)
    return resizing(sizes, made, scales, its_axes, None, choice, grad.__str__, rules)
