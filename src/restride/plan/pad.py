"""Plan of a padding: a source somewhere inside of a result, and one value around it, in one dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """Dispatches that copy ``src`` to the place of ``dst`` where it starts, and write ``bits`` to all other elements.

    Both have strides and one element type, ``src`` has elements, and ``dst`` is injective.

    u8[4,5,3] at (1, 1, 0) of u8[6,7,3]: a row has 21 elements, and 15 of them, from 3 on, have one of the source.
    """
    if src.strides is None or dst.strides is None:
        raise AssertionError(f"padding {src} to {dst} is not strided")
    return tuple(_pad(src, src.strides, dst, dst.strides, starts, bits, limits))


def _pad(
    src: TensorDesc,
    src_strides: Sequence[int],
    dst: TensorDesc,
    dst_strides: Sequence[int],
    starts: Sequence[int],
    bits: int,
    limits: Limits,
) -> Iterator[KernelSpec]:
    axes = [
        Axis(size, along_src, along_dst, inside=range(start, start + count))
        for size, along_src, along_dst, start, count in zip(
            dst.sizes, src_strides, dst_strides, starts, src.sizes, strict=True
        )
    ]
    origin = src.offset - sum(start * stride for start, stride in zip(starts, src_strides, strict=True))
    itemsize = src.dtype.itemsize
    problem = widen(simplify(axes, origin, dst.offset, itemsize), _WIDEST)
    words = sum(bits << 8 * itemsize * place for place in range(problem.itemsize // itemsize))
    for kernel in plan_elements(problem, limits, "element_pad"):
        src_base, dst_base, pieces, first_word = kernel.push[:4]
        push = PadPush(src_base, dst_base, pieces, first_word, words & 0xFFFFFFFF, words >> 32)
        yield replace(kernel, push=push)
