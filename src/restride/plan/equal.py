"""Plan of a comparison: the dispatches that write, for each index, whether two strided sources have equal elements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from restride.dtypes import DType
from restride.kernel import Binding, KernelSpec, Limits
from restride.layout import TensorDesc
from restride.plan.convert import ELEMENT_TYPES
from restride.plan.dispatches import bind, longest, pair_ranges, parts, require_windows, strided_kernel, work_of
from restride.plan.problem import Axis, Problem, simplify, word


class EqualPush(NamedTuple):
    """Push constants: the first four as in ``Push``; other_base: as src_base, but of the second source."""

    src_base: int
    dst_base: int
    pieces: int
    first_word: int
    other_base: int


def equal_kernels(
    src: TensorDesc, other: TensorDesc, dst: TensorDesc, negated: bool, limits: Limits
) -> tuple[KernelSpec, ...]:
    """Dispatches that write 1 into ``dst``, of type pred, where elements of ``src`` and ``other`` are equal, else 0.

    All three are strided and have the same sizes. The second source is memory 2; the ``Problem`` holds its strides
    and offset in place of those of the source's pairs.

    negated: write 1 where elements are not equal, and 0 where they are.
    """
    if src.strides is None or other.strides is None or dst.strides is None:
        raise ValueError(f"a comparison walks strides, not {src}, {other} and {dst}")
    walked = zip(src.sizes, src.strides, dst.strides, other.strides, strict=True)
    axes = [Axis(size, of_src, of_dst, pairs=(of_other, 0)) for size, of_src, of_dst, of_other in walked]
    problem = simplify(axes, src.offset, dst.offset, 1, src.dtype.itemsize, (other.offset, 0))
    return tuple(_kernels(problem, src.dtype, other.dtype, negated, limits)) if src.numel else ()


def _kernels(problem: Problem, src: DType, other: DType, negated: bool, limits: Limits) -> Iterator[KernelSpec]:
    for part in parts(problem, limits, partial(axis_to_cut, other.itemsize)):
        bound = bind(part, limits)
        window = other_window(part, other.itemsize, limits)
        work = work_of(part, bound)
        other_base = part.pair_offsets[0] - window.offset // other.itemsize
        push = EqualPush(bound.src_base, bound.dst_base, work.pieces, work.first, word(other_base))
        constants = (8, int(work.own_words), ELEMENT_TYPES[src.name], ELEMENT_TYPES[other.name], int(negated))
        yield strided_kernel("equal_elements", part.axes, constants, push, (*bound.windows, window), limits)


def other_window(problem: Problem, itemsize: int, limits: Limits) -> Binding:
    """The window of the second source that the problem reads."""
    return pair_ranges(problem)[0].window(itemsize, limits)


def axis_to_cut(itemsize: int, problem: Problem, limits: Limits) -> int | None:
    """The axis at which to cut if a binding does not cover the second source; None: it does."""
    nbytes = other_window(problem, itemsize, limits).nbytes
    if nbytes <= limits.max_buffer_range:
        return None
    require_windows(nbytes, limits)
    return longest(problem, lambda axis: (axis.size - 1) * abs(axis.pairs[0]))
