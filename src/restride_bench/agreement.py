"""Agreement: a peer that computes something else is an error, so its result is held against restride's first.

What moves elements or rounds once has one right answer, bit for bit. What sums has a tolerance: how far the roundings
that f32 allows lead two honest libraries apart, plus one for integers, which each rounds at its end, some after weights
in fixed point. ``HALF_UNIT`` is the relative error of one rounding in f32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from restride_bench.tasks import STD, Array, Boxes, Gradient, Normalize, Resize, Sizes
from restride_bench.workload import Workload

HALF_UNIT = 2.0**-24

_MOST_WORDS = 300
"""Characters of another library's message."""

_SLOPES = {"linear": 1.0, "cubic": 4.0}
"""Most that a result changes while its coordinate moves by one element, in spans of the source."""


@dataclass(frozen=True)
class Disagreement:
    """What a peer computed differs by ``difference``, where ``tolerance`` is allowed."""

    workload: str
    peer: str
    difference: float
    tolerance: float
    message: str = ""

    def __str__(self) -> str:
        why = self.message or f"differs by {self.difference:g}, and {self.tolerance:g} is allowed"
        return f"{self.peer} does not compute {self.workload!r}: {why}"


def compare(workload: Workload, peer: str, theirs: Array, ours: Array, slack: float = 0.0) -> Disagreement | None:
    """None where the two agree."""
    allowed = tolerance(workload) + slack
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        message = f"its result is {theirs.dtype}{list(theirs.shape)}, not {ours.dtype}{list(ours.shape)}"
        return Disagreement(workload.name, peer, math.inf, allowed, message)
    difference = _difference(theirs, ours, exactly=not allowed)
    # A NaN is no agreement.
    return None if difference <= allowed else Disagreement(workload.name, peer, difference, allowed)


def failed(workload: Workload, peer: str, error: Exception) -> Disagreement:
    """A peer that raises instead."""
    words = " ".join(str(error).split())
    return Disagreement(workload.name, peer, math.inf, 0.0, f"{type(error).__name__}: {words[:_MOST_WORDS]}")


def tolerance(workload: Workload) -> float:
    """Largest difference between two right results; 0: their bits are equal."""
    task, desc = workload.task, workload.desc
    match task:
        case Normalize():
            # Four roundings on each side, of numbers up to 255 / STD.
            return 8 * HALF_UNIT * 255 / min(STD)
        case Resize(sizes, mode, antialias) if mode != "nearest":
            if not desc.dtype.is_float:
                return 1.0
            before = tuple(desc.sizes[axis] for axis in task.axes(desc.rank))
            taps = [_taps(size, result, antialias) for size, result in zip(before, sizes, strict=True)]
            peak, span = max(abs(workload.low), abs(workload.high)), workload.high - workload.low
            slope = 2.0 if antialias else _SLOPES[mode]
            return span * slope * _coordinate_error(before) + 4 * peak * sum(taps) * HALF_UNIT
        case Boxes():
            # Of sums as in a resize of bytes as f32, and of what is normalized.
            return (255 * _coordinate_error(desc.sizes[:2]) + (4 * 255 * 8 + 8 * 255) * HALF_UNIT) / min(STD)
        case Gradient(sizes):
            results = desc.sizes[-len(sizes) :]
            terms = math.prod(2 * math.ceil(result / size) + 2 for size, result in zip(sizes, results, strict=True))
            # Every term has weights of at most 1, and every sum is of at most so many terms.
            return workload.high * terms * (_coordinate_error(sizes) + 2 * terms * HALF_UNIT)
        case _:
            return 0.0


def _coordinate_error(sizes: Sizes) -> float:
    """Of a coordinate ``(i + 0.5) * step - 0.5`` in f32, along all axes: four roundings of numbers up to the size."""
    return sum(4 * size * HALF_UNIT for size in sizes)


def _taps(size: int, result: int, antialias: bool) -> int:
    return 2 * math.ceil(size / result) + 2 if antialias else 4


def _difference(theirs: Array, ours: Array, *, exactly: bool) -> float:
    if exactly:
        same = np.ascontiguousarray(theirs).tobytes() == np.ascontiguousarray(ours).tobytes()
        return 0.0 if same else max(_distance(theirs, ours), math.ulp(0.0))
    return _distance(theirs, ours)


def _distance(theirs: Array, ours: Array) -> float:
    if not theirs.size:
        return 0.0
    return float(np.abs(theirs.astype(np.float64) - ours.astype(np.float64)).max())
