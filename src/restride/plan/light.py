"""Plan of light and alpha: dispatches that turn integers into f32 through a table, times alpha, and back."""

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
    """Dispatches from codes, u8 or u16, to f32 if ``dst`` is f32, else from f32 to codes. The alphas are memory 2.

    All are strided and have the same sizes. alpha: for each element the alpha of its pixel, of the type of ``src``, on
    the scale of codes; None: nothing is multiplied by alpha. is_linear: the f32 are light from 0 to 1, which sRGB
    encodes as the codes; else they are the codes themselves.

    To f32: ``table[code]``, times alpha. Back: the code whose light, times alpha, is nearest to the f32, measured in
    codes, halves up; the threshold between a code and the next is the light of the code plus a half.
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
    """The axes in fours of neighbours that begin at multiples of four on both sides; None: not all fours do."""
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
    """The f32 of every code, or those of every threshold between two codes and a last one that is not read."""
    most = CODES[dtype]
    codes = np.arange(most + 1) + (0.0 if is_to_light else 0.5)
    return (light_of_srgb(codes / most) if is_linear else codes).astype(np.float32).tobytes()


def light_of_srgb(encoded: np.ndarray) -> np.ndarray:
    """Linear light, 0 to 1, of values that sRGB encodes, 0 to 1. Source: IEC 61966-2-1."""
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
