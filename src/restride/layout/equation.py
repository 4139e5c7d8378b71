"""One bounded linear equation, the sum of x_k * stride_k = target, solved exactly: the arithmetic behind offsets.

Which index is at this offset, do two indices share an offset, do two views touch: each question asks for integers
``low_k <= x_k <= high_k`` that solve the equation. A depth-first search over the axes decides, pruned by what the later
axes can still reach: an interval, and the multiples of the greatest common divisor of their strides. With one axis left
both prunings are exact, so two interleaved axes of any size take one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import gcd
from typing import NamedTuple

STEPS = 100_000
"""Maximum number of values tried before a search gives up: about 0.2 s."""


class SearchTooLongError(Exception):
    """The steps ran out before the answer was certain; the caller names the question in its error."""


class Budget:
    """A budget of values that may still be tried; several searches can share one."""

    __slots__ = ("left",)

    def __init__(self, left: int = STEPS) -> None:
        self.left = left

    def take(self) -> None:
        """Count one value; raise SearchTooLongError past the last one."""
        self.left -= 1
        if self.left < 0:
            raise SearchTooLongError


def nested(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """True if each stride exceeds the whole span of the faster axes, as in every packed or row-padded layout.

    No two indices share an offset then. Sizes 2,3 with strides 5,1: span of the fast axis 2 < 5. The converse fails:
    sizes 5,2,3 with strides 7,1,19 interleave without sharing.
    """
    return 0 in sizes or all(stride > span for stride, span in _strides_and_spans(sizes, strides))


def has_gap(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """True if some offset between the lowest and the highest is not reached; sizes are 1 or more.

    The axes are taken from the fastest on. If the axes so far reach all of [0, span], a stride above span + 1 leaves a
    gap, which no slower axis fills.
    """
    return any(stride > span + 1 for stride, span in _strides_and_spans(sizes, strides))


def _strides_and_spans(sizes: Sequence[int], strides: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The magnitude of each stride, ascending, and the span of the faster axes; axes of size 1 are left out."""
    span = 0
    for stride, size in sorted((abs(stride), size) for stride, size in zip(strides, sizes, strict=True) if size > 1):
        yield stride, span
        span += stride * (size - 1)


class _Reach(NamedTuple):
    """The sums that some axes can have: at most the multiples of ``divisor`` in [least, most]."""

    least: int = 0
    most: int = 0
    divisor: int = 0

    def with_axis(self, extent: int, stride: int) -> _Reach:
        """The reach of the same axes and one more."""
        far = extent * stride
        return _Reach(self.least + min(far, 0), self.most + max(far, 0), gcd(self.divisor, stride if far else 0))


def solve(
    lows: Sequence[int], highs: Sequence[int], strides: Sequence[int], target: int, steps: Budget
) -> tuple[int, ...] | None:
    """The lexicographically smallest x with ``low_k <= x_k <= high_k`` and sum x_k * stride_k = target, or None.

    Raises:
        SearchTooLongError: undecided when ``steps`` ran out.
    """
    count = len(strides)
    extents = [high - low for low, high in zip(lows, highs, strict=True)]
    if any(extent < 0 for extent in extents):
        return None
    # later[k]: how far axes k, k+1, ... reach together.
    later = [_Reach()] * (count + 1)
    for k in reversed(range(count)):
        later[k] = later[k + 1].with_axis(extents[k], strides[k])
    values = [0] * count
    failed: set[tuple[int, int]] = set()

    def descend(k: int, rest: int) -> bool:
        """Set ``values[k:]`` so that axes k.. sum to ``rest``, if they can."""
        if k == count:
            return rest == 0
        for value in _candidates(extents[k], strides[k], rest, later[k + 1]):
            steps.take()
            left = rest - value * strides[k]
            if (k + 1, left) in failed:
                continue
            values[k] = value
            if descend(k + 1, left):
                return True
            failed.add((k + 1, left))
        return False

    if not descend(0, target - sum(low * stride for low, stride in zip(lows, strides, strict=True))):
        return None
    return tuple(low + value for low, value in zip(lows, values, strict=True))


def _candidates(extent: int, stride: int, rest: int, later: _Reach) -> range:
    """The values x in [0, extent], ascending, for which later axes may reach ``rest - x * stride``."""
    least, most, divisor = later
    if stride == 0 or extent == 0:
        # Every value leaves the same remainder, so only the smallest is tried.
        return range(1 if least <= rest <= most and (rest % divisor == 0 if divisor else rest == 0) else 0)
    if stride > 0:
        first, last = -((most - rest) // stride), (rest - least) // stride
    else:
        first, last = -((rest - least) // -stride), (most - rest) // -stride
    first, last = max(first, 0), min(last, extent)
    if divisor == 0:
        # No later axis varies, so least = most = 0 and the interval is exact.
        return range(first, last + 1)
    common = gcd(stride, divisor)
    if rest % common:
        return range(0)
    period = divisor // common
    residue = rest // common * pow(stride // common, -1, period) % period
    return range(first + (residue - first) % period, last + 1, period)


@lru_cache(maxsize=256)
def shared_offset(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """A nonzero difference of two indices at the same offset, ``|d_k| < sizes[k]``; None if no two share one.

    Sizes 3,3 with strides 2,1: (1, -2), because 1*2 - 2*1 = 0.

    Cached for ``index_of``, which asks for the same layout at each call: 17 us instead of 57 where axes interleave.

    Raises:
        SearchTooLongError: undecided within STEPS.
    """
    if nested(sizes, strides):
        return None
    # Slowest first: the faster axes have to undo what a slow axis moves, which leaves few values to try.
    order = sorted((k for k, size in enumerate(sizes) if size > 1), key=lambda k: -abs(strides[k]))
    bounds = [sizes[k] - 1 for k in order]
    slow_first = [strides[k] for k in order]
    steps = Budget()
    for first in reversed(range(len(order))):
        # If d is a solution, so is -d. So the first axis whose values differ can be assumed to be positive.
        lows = [1] + [-bound for bound in bounds[first + 1 :]]
        values = solve(lows, bounds[first:], slow_first[first:], 0, steps)
        if values is not None:
            difference = [0] * len(sizes)
            for k, value in zip(order[first:], values, strict=True):
                difference[k] = value
            return tuple(difference)
    return None


def smallest_index(sizes: tuple[int, ...], strides: tuple[int, ...], target: int) -> tuple[int, ...] | None:
    """The lexicographically smallest index whose strides sum to ``target``; None if there is none.

    Raises:
        SearchTooLongError: undecided within STEPS.
    """
    if 0 in sizes:
        return None
    # Axes of stride 0 stay at 0. Searching slow axes first is fastest, and finds the only answer if no two indices
    # share an offset; otherwise the order of the axes finds the smallest of several answers.
    axes = [k for k, size in enumerate(sizes) if size > 1 and strides[k]]
    if _never_shared(tuple(sizes[k] for k in axes), tuple(strides[k] for k in axes)):
        axes.sort(key=lambda k: -abs(strides[k]))
    highs = [sizes[k] - 1 for k in axes]
    values = solve([0] * len(axes), highs, [strides[k] for k in axes], target, Budget())
    if values is None:
        return None
    index = [0] * len(sizes)
    for k, value in zip(axes, values, strict=True):
        index[k] = value
    return tuple(index)


def _never_shared(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """True if the offsets are proven distinct; False if they are not, or if the proof is too long."""
    try:
        return shared_offset(sizes, strides) is None
    except SearchTooLongError:
        return False
