"""Kernels written by hand for one shape: every size and stride is a constant, and several group shapes are tried.

A workload that moves elements is a list of strided problems, most often one, each with a kernel of its own whose
constants are the numbers of the problem. ``candidates`` gives all that are worth trying, as lists of dispatches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Self, TypeAlias

from restride.kernel import Binding, KernelSpec
from restride.layout import TensorDesc
from restride.plan.problem import Axis, Problem
from restride.plan.tiles import Region, walks

Dispatches: TypeAlias = tuple[KernelSpec, ...]


class Step(NamedTuple):
    """A dispatch, and the memories it reads and writes: 0 is the source, 1 the result, others are intermediate."""

    kernel: KernelSpec
    source: int = 0
    target: int = 1


class Candidate(NamedTuple):
    """Steps that together do a workload. middles: bytes of each intermediate memory, number 2 and following."""

    steps: tuple[Step, ...]
    middles: tuple[int, ...] = ()

    @classmethod
    def of(cls, dispatches: Dispatches) -> Self:
        """Dispatches from the source to the result."""
        return cls(tuple(map(Step, dispatches)))


_MAX_AXES = 8
MAX_GROUPS = 65535
"""Work groups along an axis that every device allows, in Vulkan and in WebGPU."""

_MAX_ELEMENTS = 1 << 32
_SHAPES = ((256, 1), (64, 4), (16, 4), (4, 16), (2, 32))
"""Sizes of work groups to try, along axes 0 and 1."""

BUFFER_MULTIPLE = 16
"""Buffers have a multiple of this many bytes."""

_SIDES = {8: 8, 16: 4, 32: 4, 64: 2}
"""For each size of an element in bits, the elements along a side of a block (``SIDE`` in lab/shaders/block.comp)."""

LINE = (64, 128, 256)
"""Sizes of work groups to try along one axis."""


def whole(nbytes: int) -> int:
    """``nbytes`` rounded up to ``BUFFER_MULTIPLE``."""
    return -(-nbytes // BUFFER_MULTIPLE) * BUFFER_MULTIPLE


def candidates(src: TensorDesc, dst: TensorDesc, bindings: tuple[Binding, Binding]) -> Iterator[Dispatches]:
    """Dispatches that copy every element of ``src`` to the same index of ``dst``, which has the same type."""
    parts = walks(Region.of(src, dst))
    if parts is None:
        return
    problems = [_rounded(walk.problem(src.dtype.itemsize)) for walk in parts]
    for shape in _SHAPES:
        yielded: list[Dispatches] = []
        for kernel in (_blocks, _steps, _strided):
            kernels = [kernel(problem, shape, bindings) or _strided(problem, shape, bindings) for problem in problems]
            dispatches = tuple(each for each in kernels if each is not None)
            if len(dispatches) == len(problems) and dispatches not in yielded:
                yielded.append(dispatches)
                yield dispatches
    if len(problems) == 1:
        for size in LINE:
            for alone in (_words(problems[0], size, bindings), _pixels(problems[0], size, bindings)):
                if alone is not None:
                    yield (alone,)


def _rounded(problem: Problem) -> Problem:
    """The problem; if it is one contiguous run, extended to a multiple of 16 bytes, as its buffers are."""
    match problem.axes:
        case (Axis(size, 1, 1),) if problem.src_offset == problem.dst_offset == 0:
            each = BUFFER_MULTIPLE // problem.itemsize
            return replace(problem, axes=(problem.axes[0]._replace(size=-(-size // each) * each),))
        case _:
            return problem


def _strided(problem: Problem, shape: tuple[int, int], bindings: tuple[Binding, Binding]) -> KernelSpec | None:
    """A kernel that copies one unit of 16, 8 or 4 bytes at a time."""
    for words in (4, 2, 1):
        units = _in_units(problem, 4 * words)
        if units is not None:
            inner, *others = units.axes
            axes = inner, *sorted(others, key=lambda axis: -axis.size)
            return _kernel(f"bare_strided_{32 * words}", units, axes, shape, (), bindings)
    return None


def _in_units(problem: Problem, nbytes: int) -> Problem | None:
    """The problem in units of ``nbytes`` bytes, each a run of elements on both sides; None if it has no such units."""
    each = nbytes // problem.itemsize
    if nbytes < problem.itemsize or not problem.axes:
        return None
    if each == 1:
        return problem
    first, *others = problem.axes
    offsets = (problem.src_offset, problem.dst_offset, *(n for axis in others for n in (axis.src, axis.dst)))
    if (first.src, first.dst) != (1, 1) or first.size % each or any(n % each for n in offsets):
        return None
    inner = first._replace(size=first.size // each)
    outer = [axis._replace(src=axis.src // each, dst=axis.dst // each) for axis in others]
    return Problem((inner, *outer), problem.src_offset // each, problem.dst_offset // each, nbytes)


def _steps(problem: Problem, shape: tuple[int, int], bindings: tuple[Binding, Binding]) -> KernelSpec | None:
    """A kernel for rows whose elements are -2, -1 or 2 apart in the source, 16 bytes of the destination at a time."""
    each = BUFFER_MULTIPLE // problem.itemsize
    if problem.itemsize not in (1, 4) or not problem.axes:
        return None
    first, *others = problem.axes
    step = first.src
    offsets = (problem.dst_offset, *(n for axis in others for n in (axis.src, axis.dst)))
    if step not in (-2, -1, 2) or first.dst != 1 or first.size % each or any(n % each for n in offsets):
        return None
    lowest = problem.src_offset + min(step * (each - 1), 0)
    unit = lowest // each
    phase = problem.src_offset - unit * each
    if not 0 <= phase + min(0, step * (each - 1)) <= phase + max(0, step * (each - 1)) < abs(step) * each:
        return None
    inner = Axis(first.size // each, step, 1)
    outer = [axis._replace(src=axis.src // each, dst=axis.dst // each) for axis in others]
    units = Problem((inner, *outer), unit, problem.dst_offset // each, BUFFER_MULTIPLE)
    more = (step % _MAX_ELEMENTS, phase)
    return _kernel(f"bare_steps_{8 * problem.itemsize}", units, units.axes, shape, more, bindings)


def _pixels(problem: Problem, size: int, bindings: tuple[Binding, Binding]) -> KernelSpec | None:
    """A kernel for three planes to pixels of three channels, or back, 16 bytes of a plane at a time."""
    count = problem.count // 3
    to_pixels, to_planes = (Axis(3, count, 1), Axis(count, 1, 3)), (Axis(count, 3, 1), Axis(3, 1, count))
    each = BUFFER_MULTIPLE // problem.itemsize
    if problem.axes not in (to_pixels, to_planes) or problem.itemsize not in (1, 4) or count % each:
        return None
    name = "pixels" if problem.axes == to_pixels else "planes"
    groups = -(-count // (each * size)), 1, 1
    return KernelSpec(f"bare_to_{name}_{8 * problem.itemsize}", (size, count // each), (), b"", groups, bindings)


def _blocks(problem: Problem, shape: tuple[int, int], bindings: tuple[Binding, Binding]) -> KernelSpec | None:
    """A kernel that transposes blocks, if the innermost axes of both sides differ."""
    side = _SIDES[8 * problem.itemsize]
    along_dst = next((axis for axis in problem.axes if axis.dst == 1), None)
    along_src = next((axis for axis in problem.axes if axis.src == 1), None)
    if along_dst is None or along_src is None or along_dst is along_src:
        return None
    if min(along_dst.size, along_src.size) < side:
        return None
    others = [axis for axis in problem.axes if axis is not along_dst and axis is not along_src]
    starts_of_loads = (problem.src_offset, along_dst.src, along_src.size, *(axis.src for axis in others))
    starts_of_stores = (problem.dst_offset, along_src.dst, along_dst.size, *(axis.dst for axis in others))
    loads = not any(n % side for n in starts_of_loads)
    stores = not any(n % side for n in starts_of_stores)
    if problem.itemsize < 4 and not (loads and stores):
        return None
    axes = (along_dst, along_src, *others)
    counts = -(-along_dst.size // side), -(-along_src.size // side)
    flags = (int(loads), int(stores))
    return _kernel(f"bare_block_{8 * problem.itemsize}", problem, axes, shape, flags, bindings, counts)


def _kernel(
    shader: str,
    problem: Problem,
    axes: Sequence[Axis],
    shape: tuple[int, int],
    more: tuple[int, ...],
    bindings: tuple[Binding, Binding],
    counts: tuple[int, int] | None = None,
) -> KernelSpec | None:
    """A dispatch of lab/shaders/fixed_axes.glsl. counts: invocations along axes 0 and 1; default: their sizes."""
    padded = _padded(axes)
    along = counts or (padded[0].size, padded[1].size)
    outer = math.prod(axis.size for axis in padded[2:])
    groups = -(-along[0] // shape[0]), -(-along[1] // shape[1]), outer
    if len(padded) > _MAX_AXES or max(groups) > MAX_GROUPS:
        return None
    is_whole = not (along[0] % shape[0] or along[1] % shape[1])
    constants = (*shape, problem.src_offset, problem.dst_offset, int(is_whole), *_numbers(padded), *more)
    return KernelSpec(shader, constants, (), b"", groups, bindings)


def _words(problem: Problem, size: int, bindings: tuple[Binding, Binding]) -> KernelSpec | None:
    """A kernel that gathers two or four narrow elements for each word of a result without gaps."""
    count = problem.count
    stride = 1
    for axis in problem.axes:
        if axis.dst != stride:
            return None
        stride *= axis.size
    groups = -(-count * problem.itemsize // (4 * size))
    if problem.itemsize > 2 or len(problem.axes) > _MAX_AXES or problem.dst_offset or groups > MAX_GROUPS:
        return None
    constants = (size, 1, problem.src_offset, 0, 0, *_numbers(_padded(problem.axes)), count)
    return KernelSpec(f"bare_words_{8 * problem.itemsize}", constants, (), b"", (groups, 1, 1), bindings)


def _padded(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes, followed by axes of one element up to ``_MAX_AXES``."""
    return (*axes, *(Axis(1, 0, 0),) * (_MAX_AXES - len(axes)))


def _numbers(axes: Sequence[Axis]) -> list[int]:
    """Size and strides of each axis; negative strides as 32 bits."""
    return [number % _MAX_ELEMENTS for axis in axes for number in (axis.size, axis.src, axis.dst)]
