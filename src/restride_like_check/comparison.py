"""Comparison: one way of one library on a number of images, and what differs, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from restride.ops.resample import resample
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride_like_check.images import DIRECTIONS, SIZES, Image, image, sizes_of
from restride_like_check.judge import Array, Judge, Way
from restride_like_check.limits import Limit, measured, stated

FLOAT_UNIT = 2.0**-24
"""Of floats from 0 to 1: half a unit in the last place of the largest."""


@dataclass(frozen=True)
class Row:
    """A row of the table. pixels: elements of all results. largest: in steps of integers, or ``FLOAT_UNIT`` of floats.

    limit: what docs/profiles.md states.
    """

    like: str
    version: str
    mode: str
    type: str
    direction: str
    images: int
    pixels: int
    differ: int
    largest: float
    limit: Limit

    @property
    def share(self) -> float:
        """Of the pixels, those that differ."""
        return self.differ / self.pixels if self.pixels else 0.0

    @property
    def holds(self) -> bool:
        """True where nothing is further apart than is stated."""
        return self.largest <= self.limit.largest and self.share <= self.limit.share

    def record(self) -> dict[str, object]:
        """For JSON. measured: the version that what is stated is of."""
        own = {name: value for name, value in vars(self).items() if name != "limit"}
        stated_here = {"largest": self.limit.largest, "share": self.limit.share}
        version = measured(self.like)
        return {**own, "share": self.share, "stated": stated_here, "measured": version, "holds": self.holds}


def steps_of(judges: Sequence[Judge], images: int) -> int:
    """How many images ``compare`` goes through."""
    return sum(len(judge.ways) for judge in judges) * len(DIRECTIONS) * images


def compare(judges: Sequence[Judge], images: int, device: Device, step: Callable[[str], None]) -> Iterator[Row]:
    """The rows of each judge's ways, down, up and both. step: called after each image."""
    for judge in judges:
        for way in judge.ways:
            for direction in DIRECTIONS:
                yield row_of(judge, way, direction, images, device, step)


def row_of(
    judge: Judge, way: Way, direction: str, images: int, device: Device, step: Callable[[str], None] = lambda _: None
) -> Row:
    """One row, of the first ``images`` images that the way takes."""
    pixels = differ = 0
    largest = 0.0
    for pictures in _of_one_size(way, direction, images, way.key(judge.like)):
        x, sizes = np.stack([picture.of(way.dtype) for picture in pictures]), pictures[0].sizes
        ours = resample(
            asarray(x, device=device), sizes, axes=(1, 2), like=judge.like, dtype=way.result, **way.arguments
        ).numpy()
        theirs = []
        for one in x:
            theirs.append(way.resize(one, sizes))
            step(way.key(judge.like))
        distance = _distance(ours, np.stack(theirs), 255.0 if x.dtype == np.uint8 else 1.0)
        pixels += distance.size
        differ += int(np.count_nonzero(distance))
        largest = max(largest, float(distance.max(initial=0.0)))
    limit = stated(judge.like, way.mode, way.type)
    return Row(
        judge.like, judge.version, way.mode, way.type, direction, images, pixels, differ, round(largest, 2), limit
    )


def _of_one_size(way: Way, direction: str, images: int, key: str) -> Iterator[list[Image]]:
    """The first ``images`` images that a way takes, those of the same sizes together."""
    taken = (number for number in count() if way.takes(*sizes_of(number, direction, way.largest, key)))
    numbers = list(islice(taken, images))
    for place in dict.fromkeys(number % SIZES for number in numbers):
        channels = way.channels[place // 2 % len(way.channels)]
        alike = [number for number in numbers if number % SIZES == place]
        yield [image(number, direction, channels, way.largest, key) for number in alike]


def _distance(ours: Array, theirs: Array, white: float) -> Array:
    """How far each element is from the library's, in units of the row; ``white`` is the range of the pixels."""
    if ours.shape != theirs.shape:
        raise AssertionError(f"sizes {ours.shape} are not the library's {theirs.shape}")
    apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    return apart / (FLOAT_UNIT * white) if ours.dtype.kind == "f" else apart
