"""Plan of light and alpha: the dispatches that make f32 of integers through a table, times alpha, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.dispatches import bind, parts, strided_kernel, work_of
from restride.plan.equal import EqualPush, axis_to_cut, other_window
from restride.plan.problem import Axis, Problem, pack_parameters, simplify, word

CODES = {"u8": 255, "u16": 65535}
"""The largest code of each element type that has a table."""


def light_kernels(
    src: TensorDesc, alpha: TensorDesc | None, dst: TensorDesc, is_linear: bool, limits: Limits
) -> tuple[KernelSpec, ...]:
    """Dispatches from codes, u8 or u16, to f32, or back; whichever ``dst`` is not. The alphas are memory 2.

    All have strides and the same sizes. alpha: of the element's pixel, of type ``src``, on the scale of codes; None:
    nothing is times alpha. is_linear: the f32 are light of 0 to 1, of which sRGB has the codes; else the codes.

    Light is ``table[code]``, times alpha. Back it is the code whose light, times alpha, is the nearest by code, halves
    up; the light of half a code more is its threshold.
    """
    other = src if alpha is None else alpha
    if src.strides is None or other.strides is None or dst.strides is None:
        raise ValueError(f"light walks strides, not {src}, {other} and {dst}")
    walked = zip(src.sizes, src.strides, dst.strides, other.strides, strict=True)
    axes = [Axis(size, of_src, of_dst, pairs=(of_other, 0)) for size, of_src, of_dst, of_other in walked]
    itemsize = src.dtype.itemsize
    problem = simplify(axes, src.offset, dst.offset, dst.dtype.itemsize, itemsize, (other.offset, 0))
    words = _table(src.dtype.name if dst.dtype == "f32" else dst.dtype.name, dst.dtype == "f32", is_linear)

    def kernels() -> Iterator[KernelSpec]:
        for part in parts(problem, limits, partial(axis_to_cut, itemsize)):
            bound = bind(part, limits)
            window = other_window(part, itemsize, limits)
            work = work_of(part, bound)
            base = word(part.pair_offsets[0] - window.offset // itemsize)
            push = EqualPush(bound.src_base, bound.dst_base, work.pieces, work.first, base)
            axes = None if alpha is not None else _by_fours(part)
            if axes is not None:
                push = push._replace(pieces=part.count // 4)
            constants = (8 * part.itemsize, int(work.own_words), int(alpha is not None), 8 * itemsize)
            parameters = pack_parameters(axes or part.axes) + words
            windows = (*bound.windows, window)
            yield strided_kernel(
                "light_elements",
                axes or part.axes,
                (*constants, int(axes is not None)),
                push,
                windows,
                limits,
                parameters=parameters,
            )

    return tuple(kernels()) if src.numel else ()


def _by_fours(problem: Problem) -> tuple[Axis, ...] | None:
    """The axes by fours of neighbours that begin at multiples of four on both sides; None: not all do."""
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
    return (replace(along, size=along.size // 4, src=4, dst=4), *outer)


@cache
def _table(dtype: str, is_to_light: bool, is_linear: bool) -> bytes:
    """The f32 of every code, or that of every threshold between two codes, and one that is not read."""
    most = CODES[dtype]
    codes = np.arange(most + 1) + (0.0 if is_to_light else 0.5)
    return (light_of_srgb(codes / most) if is_linear else codes).astype(np.float32).tobytes()


def light_of_srgb(encoded: np.ndarray) -> np.ndarray:
    """The transfer function of sRGB, from 0 to 1. Source: IEC 61966-2-1."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
