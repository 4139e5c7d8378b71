"""Plans of the two kernels with a second source: equality, and linear light with alpha.

The second source is memory 2. A ``Problem`` holds the strides and the offset of memory 2 in place of those of the
source pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from restride.kernel import Binding, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.convert import TYPE_NUMBERS
from restride.plan.dispatches import bind, longest, pair_spans, parts, require_windows, strided_kernel, work_of
from restride.plan.problem import Axis, Problem, pack_parameters, simplify


class _Part(NamedTuple):
    """A part of the walk that fits one dispatch. constants: the constants of destination.glsl."""

    problem: Problem
    constants: dict[str, int]
    push: dict[str, int]
    windows: tuple[Binding, ...]


def _parts(src: TensorDesc, other: TensorDesc, dst: TensorDesc, limits: Limits) -> Iterator[_Part]:
    """The walk over layouts of the same sizes in parts; none without elements."""
    if src.strides is None or other.strides is None or dst.strides is None:
        raise ValueError(f"kernels of two sources need layouts with strides, got {src}, {other} and {dst}")
    if not src.numel:
        return
    walked = zip(src.sizes, src.strides, dst.strides, other.strides, strict=True)
    axes = tuple(Axis(size, of_src, of_dst, pairs=(of_other, 0)) for size, of_src, of_dst, of_other in walked)
    itemsizes = dst.dtype.itemsize, src.dtype.itemsize
    whole = simplify(Problem(axes, src.offset, dst.offset, *itemsizes, (other.offset, 0)))
    itemsize = other.dtype.itemsize
    for problem in parts(whole, limits, partial(_axis_to_cut, itemsize)):
        bound = bind(problem, limits)
        work = work_of(problem, bound)
        window = _other_window(problem, itemsize, limits)
        other_base = problem.pair_offsets[0] - window.offset // itemsize
        push = {**bound.bases, **work.push, "other_base": other_base}
        yield _Part(problem, work.constants, push, (*bound.windows, window))


def _other_window(problem: Problem, itemsize: int, limits: Limits) -> Binding:
    """The window of the second source that the problem reads."""
    return pair_spans(problem)[0].window(itemsize, limits)


def _axis_to_cut(itemsize: int, problem: Problem, limits: Limits) -> int | None:
    """The axis at which to cut if the second source exceeds one binding; None: it fits."""
    nbytes = _other_window(problem, itemsize, limits).nbytes
    if nbytes <= limits.max_buffer_range:
        return None
    require_windows(nbytes, limits)
    return longest(problem, lambda axis: (axis.size - 1) * abs(axis.pairs[0]))


def equal_kernels(
    src: TensorDesc, other: TensorDesc, dst: TensorDesc, negated: bool, limits: Limits
) -> tuple[KernelSpec, ...]:
    """Dispatches that write 1 into ``dst``, of type pred, where elements of ``src`` and ``other`` are equal, else 0.

    All three are strided and have the same sizes.

    negated: write 1 where elements are not equal, and 0 where they are.
    """
    types = {"SRC_TYPE": TYPE_NUMBERS[src.dtype.name], "OTHER_TYPE": TYPE_NUMBERS[other.dtype.name]}
    return tuple(
        strided_kernel("equal_elements", problem.axes, constants | types | {"NEGATED": negated}, push, windows, limits)
        for problem, constants, push, windows in _parts(src, other, dst, limits)
    )


# Light and alpha: a table converts integers to f32, which are multiplied by alpha; and back.

CODES = {"u8": 255, "u16": 65535}
"""The largest code of each element type that has a table."""


def light_kernels(
    src: TensorDesc, alpha: TensorDesc | None, dst: TensorDesc, is_linear: bool, limits: Limits
) -> tuple[KernelSpec, ...]:
    """Dispatches that convert codes (u8, u16) to f32 if ``dst`` is f32, else f32 to codes. Memory 2 is alpha.

    All are strided and have the same sizes. alpha: for each element the alpha of its pixel, of the type of ``src``, on
    the scale of codes; None: nothing is multiplied by alpha. is_linear: the f32 are light from 0 to 1, which sRGB
    encodes as the codes; else they are the codes themselves.

    To f32: ``table[code]``, times alpha. Back: the code whose light, times alpha, is nearest to the f32, measured in
    codes, halves up; the threshold between a code and the next is the light of the code plus a half.
    """
    table = _table(src.dtype.name if dst.dtype == "f32" else dst.dtype.name, dst.dtype == "f32", is_linear)

    def kernel(part: _Part) -> KernelSpec:
        problem, push = part.problem, part.push
        quads = None if alpha is not None else _by_quads(problem)
        if quads is not None:
            push = {**push, "pieces": problem.count // 4}
        axes = quads or problem.axes
        constants = {
            **part.constants,
            "TIMES_ALPHA": alpha is not None,
            "SRC_BITS": 8 * problem.src_itemsize,
            "BY_QUADS": quads is not None,
        }
        parameters = pack_parameters("light_elements", axes) + table
        return strided_kernel("light_elements", axes, constants, push, part.windows, limits, parameters=parameters)

    return tuple(map(kernel, _parts(src, src if alpha is None else alpha, dst, limits)))


def _by_quads(problem: Problem) -> tuple[Axis, ...] | None:
    """The axes in quads of neighbours, if all quads begin at multiples of four on both sides; else None."""
    if not problem.axes:
        return None
    along, *outer = problem.axes
    starts = (
        along.size,
        problem.src_offset,
        problem.dst_offset,
        *(stride for axis in outer for stride in axis.strides),
    )
    if (along.src, along.dst) != (1, 1) or any(start % 4 for start in starts):
        return None
    return (along.by(4), *outer)


@cache
def _table(dtype: str, is_to_light: bool, is_linear: bool) -> bytes:
    """The f32 of every code; or the thresholds between neighbouring codes, and one more entry, which is not read."""
    most = CODES[dtype]
    codes = np.arange(most + 1) + (0.0 if is_to_light else 0.5)
    return (light_of_srgb(codes / most) if is_linear else codes).astype(np.float32).tobytes()


def light_of_srgb(encoded: np.ndarray) -> np.ndarray:
    """Linear light, 0 to 1, of values that sRGB encodes, 0 to 1. Source: IEC 61966-2-1."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
