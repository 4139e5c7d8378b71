"""Plan of a copy between pixels, a few channels side by side, and planes: four words of each plane at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from restride.kernel import KernelSpec, Limits
from restride.plan.dispatches import MAX_COUNT, bind, part_of, rows_of_groups
from restride.plan.elements import GROUP_SIZE
from restride.plan.problem import Axis, Problem, Push, constants_for, pack_parameters, word

_MOST_CHANNELS = 4
"""Of a pixel (``MOST_CHANNELS`` in shaders/copy/pixels.comp)."""

_CHUNK_BYTES = 16
"""Of each plane, that an invocation moves."""


class Pixels(NamedTuple):
    """Axes of a copy between pixels and planes: along a row, across the channels of a pixel, and the others.

    chunk: pixels of an invocation. whole_loads, whole_stores: rows are whole chunks, and begin at 16 bytes.
    """

    shader: str
    along: Axis
    channel: Axis
    others: tuple[Axis, ...]
    chunk: int
    whole_loads: bool
    whole_stores: bool


def pixels_of(problem: Problem) -> Pixels | None:
    """The axes of a copy between pixels and planes; None where it is no such copy, or has rows of one chunk."""
    along = next((axis for axis in problem.axes if axis.dst == 1), None)
    channel = next((axis for axis in problem.axes if axis.src == 1), None)
    if problem.itemsize > 4 or along is None or channel is None or along is channel:
        return None
    chunk = _CHUNK_BYTES // problem.itemsize
    others = tuple(axis for axis in problem.axes if axis is not along and axis is not channel)
    shader = "pixels_to_planes"
    if channel.size > _MOST_CHANNELS:
        shader, along, channel = "planes_to_pixels", channel, along
    pixel_stride = along.src if channel.src == 1 else along.dst
    if pixel_stride != channel.size or not 2 <= channel.size <= _MOST_CHANNELS:
        return None
    if not chunk < along.size < MAX_COUNT // _MOST_CHANNELS - chunk:
        return None
    loads = (problem.src_offset, along.size, *(axis.src for axis in others), *_planes(channel.src))
    stores = (problem.dst_offset, along.size, *(axis.dst for axis in others), *_planes(channel.dst))
    whole = [not any(number % chunk for number in numbers) for numbers in (loads, stores)]
    return Pixels(shader, along, channel, others, chunk, *whole)


def _planes(stride: int) -> tuple[int, ...]:
    """The stride from plane to plane; nothing, where the channels lie side by side."""
    return () if stride == 1 else (stride,)


def whole_chunks(problem: Problem, limits: Limits) -> Iterator[Problem]:
    """The problem; or, where one side is then loaded or stored by 16 bytes, its rows cut where their last chunk ends.

    u8[1,1079,1917,3] to planes: 2,068,443 pixels are 129,277 chunks of 16, and 11 pixels that go by themselves.
    """
    pixels = pixels_of(problem) if limits.shortcuts else None
    if pixels is not None and limits.allow(2, problem.count):
        position = problem.axes.index(pixels.along)
        size = pixels.along.size
        rest = size % pixels.chunk
        whole = part_of(problem, position, 0, size - rest)
        cut = pixels_of(whole)
        if rest and cut is not None and (cut.whole_loads or cut.whole_stores):
            yield from (whole, part_of(problem, position, size - rest, rest))
            return
    yield problem


def copy_pixels(problem: Problem, pixels: Pixels, limits: Limits) -> KernelSpec:
    """The dispatch that copies a problem which ``pixels_of`` found fit.

    u8[1,35,3] to planes: 35 pixels, by chunks of 16. A plane of 35 that begins in the middle of a word may end in the
    tenth, so there are three chunks of four words: (size 3, src 48, dst 16).
    """
    bound = bind(problem, limits)
    shader, along, channel, others, chunk, *whole = pixels
    lanes = 4 // problem.itemsize
    starts = (problem.dst_offset, *(axis.dst for axis in others), *_planes(channel.dst))
    before = lanes - 1 if any(start % lanes for start in starts) else 0
    chunks = -(-(along.size * along.dst + before) // (chunk * along.dst))
    axes = (replace(along, size=chunks, src=chunk * along.src, dst=chunk * along.dst), *others)
    (plane_stride,) = (*_planes(channel.src), *_planes(channel.dst))
    pieces = problem.count // (along.size * channel.size) * chunks
    return KernelSpec(
        shader=shader,
        constants=constants_for(axes, (8 * problem.itemsize, channel.size, *map(int, whole))),
        push=Push(bound.src_base, bound.dst_base, pieces, along.size, word(plane_stride)),
        parameters=pack_parameters(axes),
        groups=rows_of_groups(-(-pieces // GROUP_SIZE), limits),
        bindings=bound.windows,
    )
