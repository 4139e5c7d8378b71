"""Plan of the kernels that write elements of 8, 16 or 32 bits: by owned words, or one element an invocation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from restride.kernel import KernelSpec, Limits
from restride.layout.equation import nested
from restride.plan.dispatches import Bound, bind, boxes, dst_span, rows_of_groups
from restride.plan.problem import Problem, Push, constants_for, pack_parameters

GROUP_SIZE = 128
"""Invocations of a work group in every kernel but the transpose."""

_MOST_HOLES = 4
"""Words are owned while they hold at most this many places for one element that is written."""


def plan_elements(problem: Problem, limits: Limits, shader: str, kernel: tuple[int, ...] = ()) -> Iterator[KernelSpec]:
    """Dispatches of ``shader``, which is built on shaders/include/destination.glsl; made as they are asked for.

    kernel: specialization constants from id 2 on; ids 0 and 1 are the element's bits and whether words are owned.
    """
    return (_elements(box, limits, shader, kernel) for box in boxes(problem, limits))


def _elements(problem: Problem, limits: Limits, shader: str, kernel: tuple[int, ...]) -> KernelSpec:
    bound = bind(problem, limits)
    work = work_of(problem, bound)
    return KernelSpec(
        shader=shader,
        constants=constants_for(problem.axes, (problem.itemsize * 8, int(work.own_words), *kernel)),
        push=Push(bound.src_base, bound.dst_base, work.pieces, work.first),
        parameters=pack_parameters(problem.axes),
        groups=rows_of_groups(-(-work.pieces // GROUP_SIZE), limits),
        bindings=bound.windows,
    )


class Work(NamedTuple):
    """What invocations of shaders/include/destination.glsl do: words, the first one ``first``, or elements."""

    own_words: bool
    pieces: int
    first: int


def work_of(problem: Problem, bound: Bound) -> Work:
    """The work of a problem: words where elements are narrower and few places between them are none."""
    if problem.itemsize >= 4:
        return Work(False, problem.count, 0)
    lanes = 4 // problem.itemsize
    dst = dst_span(problem)
    first_word = bound.dst_base // lanes
    words = (bound.dst_base + dst.highest - dst.lowest) // lanes - first_word + 1
    if words * lanes <= problem.count * _MOST_HOLES + lanes and _is_nested(problem):
        return Work(True, words, first_word)
    return Work(False, problem.count, 0)


def _is_nested(problem: Problem) -> bool:
    return nested([axis.size for axis in problem.axes], [axis.dst for axis in problem.axes])
