"""Plan of a copy: which kernel moves the elements of one strided layout into another, and in how many dispatches."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from restride.kernel import Binding, KernelSpec, Limits
from restride.plan.axes import Axis, Problem, widen
from restride.plan.boxes import boxes, rows_of_groups
from restride.plan.elements import GROUP_SIZE, axes_for, bases_of, plan_elements, variant, windows_of
from restride.plan.parameters import pack_parameters, word

ELEMENTS_PER_INVOCATION = 4
"""Elements that an invocation of strided_copy.comp moves."""

RUN_WIDTHS = (32, 128)
"""Bits of the elements that run_copy modules move."""

TRANSPOSE_GROUP = (8, 128)
"""Elements along axes a and b that a group of transpose.comp moves: (2, 32) blocks of 4x4."""

_LEAST_FILLED = 0.5
"""Share of a transpose's groups that must have work: a batch of 3 x 3 is better copied element by element."""


def plan_copy(problem: Problem, limits: Limits, specialised: bool) -> tuple[KernelSpec, ...]:
    """Dispatches that copy ``problem``, every element bit for bit, from memory 0 to memory 1.

    ``specialised`` compiles the shape into the kernel, which pays only for shapes that move much or come again.
    """
    problem = widen(problem)
    if problem.itemsize < 4:
        return tuple(plan_elements(problem, limits, specialised, "element_copy"))
    return tuple(_copy_words(box, limits, specialised) for box in boxes(problem, limits, _too_many_groups))


def _copy_words(problem: Problem, limits: Limits, specialised: bool) -> KernelSpec:
    pair = _transposed_axes(problem)
    if pair is not None:
        return _transpose(problem, *pair, limits)
    if _can_gather(problem):
        return _gather(problem, limits, specialised)
    return _strided_copy(problem, limits, specialised)


def _strided_copy(problem: Problem, limits: Limits, specialised: bool) -> KernelSpec:
    windows = windows_of(problem, limits)
    bits = problem.itemsize * 8
    push = (*bases_of(problem, windows), problem.count, 0, 0)
    if all((axis.src, axis.dst) == (1, 1) for axis in problem.axes) and bits in RUN_WIDTHS:
        return _walk(f"run_copy_{bits}", _kernel(limits), b"", push, windows, limits)
    shader = variant(f"strided_copy_{bits}", specialised)
    return _walk(shader, *axes_for(problem.axes, specialised, _kernel(limits)), push, windows, limits)


def _can_gather(problem: Problem) -> bool:
    # Four words fill one aligned 128-bit store in every row of the destination.
    if problem.itemsize != 4 or not problem.axes:
        return False
    inner, *outer = problem.axes
    aligned = problem.dst_offset % 4 == 0 and all(axis.dst % 4 == 0 for axis in outer)
    return inner.dst == 1 and inner.size % 4 == 0 and aligned


def _gather(problem: Problem, limits: Limits, specialised: bool) -> KernelSpec:
    # [::2] of 8 words, axis (size 8, src 2, dst 1), becomes (size 2, src 8, dst 1 of 16 bytes) with lane stride 2.
    windows = windows_of(problem, limits)
    src_base, dst_base = bases_of(problem, windows)
    inner, *outer = problem.axes
    axes = [replace(axis, dst=axis.dst // 4) for axis in outer]
    if inner.size > 4:
        axes.insert(0, Axis(inner.size // 4, inner.src * 4, 1))
    push = (src_base, dst_base // 4, problem.count // 4, 0, word(inner.src))
    shader = variant("strided_gather_128", specialised)
    return _walk(shader, *axes_for(tuple(axes), specialised, _kernel(limits)), push, windows, limits)


def _kernel(limits: Limits) -> tuple[int]:
    """Specialization constant of strided_copy.comp: an invocation's elements are neighbours."""
    return (int(limits.is_cpu),)


def _walk(
    shader: str,
    constants: tuple[int, ...],
    parameters: bytes,
    push: tuple[int, ...],
    windows: tuple[Binding, Binding],
    limits: Limits,
) -> KernelSpec:
    """A dispatch of strided_copy.comp; ``push[2]`` is the count."""
    groups = rows_of_groups(-(-push[2] // (GROUP_SIZE * ELEMENTS_PER_INVOCATION)), limits)
    return KernelSpec(shader, constants, push, parameters, groups, windows)


def _transposed_axes(problem: Problem) -> tuple[int, int] | None:
    """Positions of axes a and b, contiguous in the destination and in the source, where a transpose kernel pays."""
    if problem.itemsize != 4 or not problem.axes or problem.axes[0].dst != 1 or abs(problem.axes[0].src) <= 1:
        return None
    contiguous = [position for position, axis in enumerate(problem.axes) if abs(axis.src) == 1]
    if not contiguous:
        return None
    filled = 1.0
    for position, group in zip((0, contiguous[0]), TRANSPOSE_GROUP, strict=True):
        size = problem.axes[position].size
        filled *= size / (-(-size // group) * group)
    return (0, contiguous[0]) if filled >= _LEAST_FILLED else None


def _transpose(problem: Problem, a_position: int, b_position: int, limits: Limits) -> KernelSpec:
    windows = windows_of(problem, limits)
    bases = bases_of(problem, windows)
    a, b = problem.axes[a_position], problem.axes[b_position]
    outer = _outer(problem, a_position, b_position)
    strides = [a.src, b.dst, *(axis.src for axis in outer), *(axis.dst for axis in outer)]
    aligned = b.src == 1 and not any(value % 4 for value in (*strides, *bases, a.size, b.size))
    parameters, _ = pack_parameters(outer, specialised=False)
    return KernelSpec(
        shader="transpose_32_aligned" if aligned else "transpose_32",
        constants=(),
        push=(*bases, a.size, b.size, word(a.src), word(b.src), b.dst),
        parameters=parameters,
        groups=_transpose_groups(a, b, outer),
        bindings=windows,
    )


def _outer(problem: Problem, a_position: int, b_position: int) -> tuple[Axis, ...]:
    return tuple(axis for position, axis in enumerate(problem.axes) if position not in (a_position, b_position))


def _transpose_groups(a: Axis, b: Axis, outer: tuple[Axis, ...]) -> tuple[int, int, int]:
    along_a, along_b = TRANSPOSE_GROUP
    return -(-a.size // along_a), -(-b.size // along_b), math.prod(axis.size for axis in outer)


def _too_many_groups(problem: Problem, limits: Limits) -> Callable[[Axis], int] | None:
    """A transpose has one group an element of the outer axes, along z; the axis at fault is cut."""
    pair = _transposed_axes(problem)
    if pair is None:
        return None
    a, b = (problem.axes[position] for position in pair)
    outer = _outer(problem, *pair)
    over = [count > most for count, most in zip(_transpose_groups(a, b, outer), limits.max_group_count, strict=True)]
    cuttable = [[a], [b], list(outer)]
    axes = [axis for too_many, group in zip(over, cuttable, strict=True) if too_many for axis in group]
    return (lambda axis: axis.size if axis in axes else 0) if axes else None
