"""Which axes a transpose exchanges: those that are contiguous in the destination, and those that are in the source."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from restride.plan.axes import Axis, Problem


class Side(NamedTuple):
    """Elements side by side on one side of a copy: one axis, or two of which the outer goes on where the inner ends."""

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """Elements along it."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def run(self) -> int:
        """Elements along the inner axis."""
        return self.axes[0].size


class Exchange(NamedTuple):
    """The axes of a problem: ``a`` contiguous in the destination, ``b`` in the source, and the ``outer`` ones."""

    a: Side
    b: Side
    outer: tuple[Axis, ...]

    @property
    def indices(self) -> int:
        """Of the outer axes."""
        return math.prod(axis.size for axis in self.outer)

    @property
    def src_strides(self) -> tuple[int, ...]:
        """What moves the source, but for axis b."""
        return tuple(axis.src for axis in (*self.a.axes, *self.outer))

    @property
    def dst_strides(self) -> tuple[int, ...]:
        """What moves the destination, but for axis a."""
        return tuple(axis.dst for axis in (*self.b.axes, *self.outer))


def exchange_of(problem: Problem) -> Exchange | None:
    """The one axis that is contiguous in the destination and the one in the source, if these are two."""
    if problem.itemsize > 8 or not problem.axes or problem.axes[0].dst != 1 or abs(problem.axes[0].src) <= 1:
        return None
    a, *others = problem.axes
    b = next((axis for axis in others if abs(axis.src) == 1), None)
    return None if b is None else _exchange(problem, (a,), (b,))


def longer(problem: Problem, exchange: Exchange) -> Iterator[Exchange]:
    """The same exchange, also with the axes that go on from those two: on one side, on the other, on both.

    f32[6,8,8,6] with its axes reversed is axes (6, 384, 1), (8, 48, 6), (8, 6, 48), (6, 1, 384): size and both strides.
    Side a is 6 long, or 6 * 8 = 48, side b likewise. An axis that goes on from both stays outside: a group would then
    have short runs on one side.
    """
    (a,), (b,) = exchange.a.axes, exchange.b.axes
    behind_a = next((axis for axis in exchange.outer if axis.dst == a.size), None)
    behind_b = next((axis for axis in exchange.outer if axis.src == b.size * b.src), None)
    if behind_a is behind_b:
        return
    if behind_a is not None:
        yield _exchange(problem, (a, behind_a), (b,))
    if behind_b is not None:
        yield _exchange(problem, (a,), (b, behind_b))
    if behind_a is not None and behind_b is not None:
        yield _exchange(problem, (a, behind_a), (b, behind_b))


def _exchange(problem: Problem, a: tuple[Axis, ...], b: tuple[Axis, ...]) -> Exchange:
    return Exchange(Side(a), Side(b), tuple(axis for axis in problem.axes if axis not in (*a, *b)))


def longest_of(
    problem: Problem, exchange: Exchange, groups: tuple[int, int, int], most: tuple[int, int, int]
) -> int | None:
    """Position of the axis to cut where there are too many groups along a, b or the outer axes; None: there are not."""
    sides = (exchange.a.axes, exchange.b.axes, exchange.outer)
    for count, limit, axes in zip(groups, most, sides, strict=True):
        if count > limit:
            return problem.axes.index(max(axes, key=lambda axis: axis.size))
    return None
