"""Plan of a copy between pixels, a few channels side by side, and planes: four pixels at a time, in whole fours."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from restride.kernel import KernelSpec, Limits
from restride.plan.axes import Axis, Problem, in_order
from restride.plan.boxes import bind, rows_of_groups
from restride.plan.elements import GROUP_SIZE
from restride.plan.parameters import Push, constants_for, pack_parameters

_MOST_CHANNELS = 4
"""Of a pixel (``MOST_CHANNELS`` in shaders/pixels.comp)."""


class Pixels(NamedTuple):
    """A problem by four pixels at a time.

    axes: what is walked from four to four. channels: elements of a pixel. plane_stride: elements from plane to plane.
    """

    shader: str
    axes: tuple[Axis, ...]
    channels: int
    plane_stride: int


def pixels_of(problem: Problem) -> Pixels | None:
    """The problem by four pixels at a time; None where it is no such copy, or not in whole aligned fours.

    u8[2,4,3] to planes: axes (size 8, src 3, dst 1) and (size 3, src 1, dst 8). Four pixels are 12 bytes of the source
    and four in each of three planes, 8 apart. One axis is left: (size 2, src 12, dst 4).
    """
    if problem.itemsize > 4 or problem.src_offset % 4 or problem.dst_offset % 4:
        return None
    to_planes = _found(problem.axes)
    if to_planes is not None:
        return Pixels("pixels_to_planes", *to_planes)
    to_pixels = _found(tuple(replace(axis, src=axis.dst, dst=axis.src) for axis in problem.axes))
    if to_pixels is None:
        return None
    axes, channels, plane_stride = to_pixels
    back = in_order([replace(axis, src=axis.dst, dst=axis.src) for axis in axes])
    return Pixels("planes_to_pixels", back, channels, plane_stride)


def _found(axes: tuple[Axis, ...]) -> tuple[tuple[Axis, ...], int, int] | None:
    """The axes from four to four pixels of the source, the channels, and the stride of the destination's planes."""
    along = next((axis for axis in axes if axis.dst == 1), None)
    channel = next((axis for axis in axes if axis.src == 1), None)
    if along is None or channel is None or along is channel or along.size % 4:
        return None
    if along.src != channel.size or channel.size not in range(2, _MOST_CHANNELS + 1):
        return None
    others = [axis for axis in axes if axis is not along and axis is not channel]
    if any(stride % 4 for stride in (channel.dst, *(stride for axis in others for stride in axis.strides))):
        return None
    fours = [replace(along, size=along.size // 4, src=4 * along.src, dst=4)] if along.size > 4 else []
    return (*fours, *others), channel.size, channel.dst


def copy_pixels(problem: Problem, pixels: Pixels, limits: Limits) -> KernelSpec:
    """The dispatch that copies a problem which ``pixels_of`` found fit."""
    bound = bind(problem, limits)
    count = problem.count // (4 * pixels.channels)
    return KernelSpec(
        shader=pixels.shader,
        constants=constants_for(pixels.axes, (8 * problem.itemsize, pixels.channels)),
        push=Push(bound.src_base, bound.dst_base, count, lane_stride=pixels.plane_stride % (1 << 32)),
        parameters=pack_parameters(pixels.axes),
        groups=rows_of_groups(-(-count // GROUP_SIZE), limits),
        bindings=bound.windows,
    )
