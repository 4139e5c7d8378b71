"""Plan of the kernels that write elements of 8, 16 or 32 bits: by owned words, or one element an invocation."""

from __future__ import annotations

from collections.abc import Iterator

from restride.kernel import Binding, KernelSpec, Limits
from restride.plan.axes import Axis, Problem
from restride.plan.boxes import boxes, dst_side, rows_of_groups, src_side
from restride.plan.parameters import pack_parameters, specialised_constants, word

GROUP_SIZE = 128
"""Invocations of a work group in every kernel but the transpose."""

_MOST_HOLES = 4
"""Words are owned while they hold at most this many places for one element that is written."""


def plan_elements(
    problem: Problem, limits: Limits, specialised: bool, shader: str, kernel: tuple[int, ...] = ()
) -> Iterator[KernelSpec]:
    """Dispatches of ``shader``, which is built on shaders/include/destination.glsl; made as they are asked for.

    kernel: specialization constants from id 2 on; ids 0 and 1 are the element's bits and whether words are owned.
    """
    return (_elements(box, limits, specialised, shader, kernel) for box in boxes(problem, limits))


def _elements(problem: Problem, limits: Limits, specialised: bool, shader: str, kernel: tuple[int, ...]) -> KernelSpec:
    windows = windows_of(problem, limits)
    src_base, dst_base = bases_of(problem, windows)
    lanes = 4 // problem.itemsize
    dst = dst_side(problem)
    first_word = dst_base // lanes
    words = (dst_base + dst.highest - dst.lowest) // lanes - first_word + 1
    own_words = lanes > 1 and problem.is_nested and words * lanes <= problem.count * _MOST_HOLES + lanes
    pieces = words if own_words else problem.count
    constants, parameters = axes_for(problem.axes, specialised, (problem.itemsize * 8, int(own_words), *kernel))
    return KernelSpec(
        shader=variant(shader, specialised),
        constants=constants,
        push=(src_base, dst_base, pieces, first_word, 0),
        parameters=parameters,
        groups=rows_of_groups(-(-pieces // GROUP_SIZE), limits),
        bindings=windows,
    )


def windows_of(problem: Problem, limits: Limits) -> tuple[Binding, Binding]:
    """The parts of memories 0 and 1 that the problem touches."""
    return (
        src_side(problem).window(problem.itemsize, limits),
        dst_side(problem).window(problem.itemsize, limits, writes=True),
    )


def bases_of(problem: Problem, windows: tuple[Binding, Binding]) -> tuple[int, int]:
    """Offsets of index 0 as the kernel counts them: from the start of the window, in elements."""
    src, dst = windows
    return (
        word(problem.src_offset - src.offset // problem.itemsize),
        problem.dst_offset - dst.offset // problem.itemsize,
    )


def axes_for(axes: tuple[Axis, ...], specialised: bool, kernel: tuple[int, ...]) -> tuple[tuple[int, ...], bytes]:
    """Specialization constants and storage-buffer parameters that tell a kernel its axes."""
    parameters, tables = pack_parameters(axes, specialised)
    return (specialised_constants(kernel, axes, tables) if specialised else kernel), parameters


def variant(shader: str, specialised: bool) -> str:
    """Name of the module in shaders/variants.txt."""
    return f"{shader}_specialised" if specialised else shader
