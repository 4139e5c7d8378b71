"""Compare a library's resize with ``rs.resample`` on images: count differences, check limits of docs/profiles.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from restride.ops.resample import resample
from restride.request import LIBRARIES
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride_conformance.record import Outcome, Verdict
from restride_like_check.images import DIRECTIONS, SIZES, Image, image, sizes_of
from restride_like_check.judges import Array, Judge, Way

FLOAT_UNIT = 2.0**-24
"""Unit for differences of floats from 0 to 1: half the f32 unit in the last place at 1."""


class Limit(NamedTuple):
    """The largest difference (in steps of 1 for integers, 2^-24 for floats) and share of differing pixels allowed."""

    largest: float
    share: float = 1.0


@dataclass(frozen=True)
class Row:
    """A row of the table.

    pixels: elements of all results. differ: how many of them differ. largest: largest difference, in the unit of
    ``limit``. limit: the limit that docs/profiles.md states.
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
        """The share of the pixels that differ."""
        return self.differ / self.pixels if self.pixels else 0.0

    @property
    def holds(self) -> bool:
        """True if the differences are within the stated limit."""
        return self.largest <= self.limit.largest and self.share <= self.limit.share

    @property
    def outcome(self) -> Outcome:
        """The row in a record. stated_for: the version of the library for which the limit is stated."""
        own = {name: getattr(self, name) for name in ("images", "pixels", "differ", "share", "largest")}
        limit = {"limit": self.limit.largest, "limit_of_share": self.limit.share, "stated_for": measured(self.like)}
        return Outcome(
            f"{self.mode}; {self.type}; {self.direction}",
            Verdict.PASSED if self.holds else Verdict.FAILED,
            group=f"{self.like} {self.version}",
            figures={**own, **limit},
        )


def steps_of(judges: Sequence[Judge], images: int) -> int:
    """How many images ``compare`` processes."""
    return sum(len(judge.ways) for judge in judges) * len(DIRECTIONS) * images


def compare(
    judges: Sequence[Judge], images: int, device: Device, step: Callable[[str], None], seed: int = 0
) -> Iterator[Row]:
    """Yield the rows for each judge, way and direction. step: called after each image. seed: for images and sizes."""
    for judge in judges:
        for way in judge.ways:
            for direction in DIRECTIONS:
                yield row_of(judge, way, direction, images, device, step, seed)


def row_of(
    judge: Judge,
    way: Way,
    direction: str,
    images: int,
    device: Device,
    step: Callable[[str], None] = lambda _: None,
    seed: int = 0,
) -> Row:
    """Compute one row with the first ``images`` images that the way accepts."""
    pixels = differ = 0
    largest = 0.0
    for pictures in _of_one_size(way, direction, images, way.key(judge.like, seed)):
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
    """Yield the first ``images`` images that a way accepts, grouped by their sizes."""
    taken = (number for number in count() if way.takes(*sizes_of(number, direction, way.largest, key)))
    numbers = list(islice(taken, images))
    for place in dict.fromkeys(number % SIZES for number in numbers):
        channels = way.channels[place // 2 % len(way.channels)]
        alike = [number for number in numbers if number % SIZES == place]
        yield [image(number, direction, channels, way.largest, key) for number in alike]


def _distance(ours: Array, theirs: Array, white: float) -> Array:
    """The distance of each element from the library's, in the unit of the row; ``white`` is the range of the pixels."""
    if ours.shape != theirs.shape:
        raise AssertionError(f"sizes {ours.shape} are not the library's {theirs.shape}")
    apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    return apart / (FLOAT_UNIT * white) if ours.dtype.kind == "f" else apart


def measured(like: str) -> str:
    """The version of a library for which the limits are stated: "13.0.0" of "Pillow 13.0.0, Image.resize"."""
    return LIBRARIES[like].library.partition(",")[0].split()[-1]


def is_measured(like: str, version: str) -> bool:
    """True if ``version`` is the one that was measured; "2.13.0+cpu" counts as 2.13.0."""
    return version.partition("+")[0] == measured(like)


EXACT = Limit(0.0, 0.0)

_STEP = Limit(1.0)

_SUMS = Limit(16.0)
"""For floats, which restride sums in f32 and the library in f64 or another order: 16 units, 10^-6 of the range."""

_LONG_SUMS = Limit(32.0)
"""As ``_SUMS``, for up to 600 rows and 600 columns of taps, where the library's sums or weights are f32."""

_LIMITS: dict[tuple[str, str, str], Limit] = {
    ("torch", "", "f32, against f64"): _SUMS,
    ("torch", "", "f32, against f32"): Limit(2200.0),
    ("onnx", "", "f32"): Limit(64.0),
    ("pillow", "", "f32"): _SUMS,
    ("pillow", "", "u16"): Limit(2.0),
    ("pillow", "", "s32"): Limit(4.0),
    ("opencv", "cubic", "u8"): Limit(1.0, 0.1),
    ("opencv", "cubic", "u16"): Limit(8.0),
    ("opencv", "cubic", "s16"): Limit(8.0),
    ("opencv", "linear", "u16"): Limit(6.0),
    ("opencv", "linear", "s16"): Limit(6.0),
    ("opencv", "", "u16"): _STEP,
    ("opencv", "", "s16"): _STEP,
    ("opencv", "area", "u16"): EXACT,
    ("opencv", "area", "s16"): EXACT,
    ("opencv", "", "f32"): Limit(20.0),
    ("opencv", "area", "f32"): Limit(64.0),
    ("opencv", "linear", "f32"): Limit(1600.0),
    ("opencv", "linear_exact", "f32"): Limit(1600.0),
    ("opencv", "cubic", "f32"): Limit(2200.0),
    ("scikit-image", "bilinear", "u8"): _SUMS,
    ("scikit-image", "bilinear, antialias", "u8"): _LONG_SUMS,
    ("scikit-image", "bilinear, antialias", "f32"): _LONG_SUMS,
    ("scikit-image", "", "f32"): _SUMS,
}
"""Limits by library, mode and type; an empty mode stands for all modes not listed. Any other row is exact."""


def stated(like: str, mode: str, type_: str) -> Limit:
    """The limit that docs/profiles.md states for a row. Nearest modes move elements, so they are exact everywhere."""
    if mode.startswith("nearest"):
        return EXACT
    return _LIMITS.get((like, mode, type_)) or _LIMITS.get((like, "", type_), EXACT)
