"""Plan of a padding: copy a source into a part of the result, and write one value around it, in one dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.dispatches import plan_elements
from restride.plan.problem import Axis, PadPush, simplify, widen

_WIDEST = 8
"""Bytes of the widest elements of element_pad."""


def pad_kernels(
    src: TensorDesc, dst: TensorDesc, starts: Sequence[int], bits: int, limits: Limits
) -> tuple[KernelSpec, ...]:
    """Dispatches that copy ``src`` into ``dst`` from index ``starts`` on, and write ``bits`` to all other elements.

    Both have strides and one element type, ``src`` has elements, and ``dst`` is injective.

    u8[4,5,3] at (1, 1, 0) of u8[6,7,3]: a row of the result has 21 elements, of which 3 to 17 come from the source.
    """
    if src.strides is None or dst.strides is None:
        raise AssertionError(f"padding {src} to {dst} is not strided")
    axes = [
        Axis(size, along_src, along_dst, inside=range(start, start + count))
        for size, along_src, along_dst, start, count in zip(
            dst.sizes, src.strides, dst.strides, starts, src.sizes, strict=True
        )
    ]
    origin = src.offset - sum(start * stride for start, stride in zip(starts, src.strides, strict=True))
    itemsize = src.dtype.itemsize
    problem = widen(simplify(axes, origin, dst.offset, itemsize), _WIDEST)
    words = sum(bits << 8 * itemsize * place for place in range(problem.itemsize // itemsize))
    kernels = []
    for kernel in plan_elements(problem, limits, "element_pad"):
        src_base, dst_base, pieces, first_word = kernel.push[:4]
        push = PadPush(src_base, dst_base, pieces, first_word, words & 0xFFFFFFFF, words >> 32)
        kernels.append(replace(kernel, push=push))
    return tuple(kernels)
