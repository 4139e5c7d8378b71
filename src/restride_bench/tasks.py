"""Tasks: what a workload computes, as plain values that restride and every other library can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from restride.dtypes import as_dtype
from restride.layout import TensorDesc

Array = npt.NDArray[Any]
Sizes: TypeAlias = tuple[int, ...]

MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
"""ImageNet's, of pixels from 0 to 255."""

SHAPES = 1009
"""Sizes that are new before they begin anew: a prime, and more than restride remembers plans."""


@dataclass(frozen=True)
class Move:
    """``x[steps].transpose(axes)``, row-major: copies, slices, flips and permutations.

    axes: where each axis of the result comes from.
    steps: the step along each axis of the source; a negative one begins at its end. Empty: all 1.
    """

    axes: tuple[int, ...]
    steps: tuple[int, ...] = ()

    def index(self) -> tuple[slice, ...]:
        """The slices of ``steps``."""
        return tuple(slice(None, None, step) for step in self.steps)

    @property
    def is_a_view(self) -> bool:
        """True unless it is a plain copy."""
        return self.axes != tuple(range(len(self.axes))) or any(step != 1 for step in self.steps)


@dataclass(frozen=True)
class Relayout:
    """The same elements in another layout, ``layout`` as ``TensorDesc.parse`` reads it."""

    layout: str


@dataclass(frozen=True)
class Convert:
    """The same elements as another type.

    scale: what they are multiplied with first; integers are rounded to even and saturated.
    per_channel: a scale for each index of axis 1 instead, ``channel_scales``.
    """

    dtype: str
    scale: float | None = None
    per_channel: bool = False


@dataclass(frozen=True)
class Normalize:
    """Pixels u8[n,h,w,3] to planes f32[n,3,h,w], ``(x - MEAN) / STD``.

    divides: the quotient is exact; otherwise ``1 / STD`` is multiplied with, as most do.
    """

    divides: bool = False


@dataclass(frozen=True)
class Resize:
    """The last axes to other sizes, half-pixel centres.

    antialias: shrinking reads all elements, and weights outside of the source are left out.
    pixels: the axes before the last, which is the channels.
    like: the library whose arithmetic it is; the others do the same in their own.
    """

    sizes: tuple[int, ...]
    mode: str = "linear"
    antialias: bool = False
    pixels: bool = False
    like: str | None = None

    def axes(self, rank: int) -> tuple[int, ...]:
        """Of a source with so many axes, those that get other sizes."""
        end = rank - self.pixels
        return tuple(range(end - len(self.sizes), end))


@dataclass(frozen=True)
class Gradient:
    """The gradient of a linear resize of the last axes from ``sizes``; the source is the gradient of its result."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Boxes:
    """``count`` boxes of pixels u8[h,w,3], each resized to planes f32[3,``sizes``], linear, and normalized."""

    count: int
    sizes: tuple[int, int]

    def of(self, sizes: Sizes) -> npt.NDArray[np.int64]:
        """Boxes y0, x0, y1, x1 of an image of such sizes, a quarter to a half of either side, anywhere."""
        chosen = np.random.default_rng(self.count)
        extent = np.array(sizes[:2])
        size = np.maximum((extent * chosen.uniform(0.25, 0.5, (self.count, 2))).astype(np.int64), 1)
        first = (chosen.random((self.count, 2)) * (extent - size)).astype(np.int64)
        return np.concatenate([first, first + size], axis=1)


@dataclass(frozen=True)
class NewShapes:
    """A transpose of a corner of a matrix, of other sizes at every call: ``crop`` says which."""

    def crop(self, sizes: Sizes, call: int) -> Sizes:
        """The sizes of call number ``call``, from 0 on."""
        return smaller(sizes, call)


@dataclass(frozen=True)
class NewImages:
    """A linear resize of pixels ``[h,w,c]`` to ``sizes``, of packed images that are smaller at every call."""

    sizes: tuple[int, int]

    def crop(self, sizes: Sizes, call: int) -> Sizes:
        """The sizes of image number ``call``, from 0 on."""
        return *smaller(sizes[:2], call), *sizes[2:]


@dataclass(frozen=True)
class NewPhotos:
    """``count`` packed photographs of pixels ``[h,w,3]``, one after the other to planes f32[3,``sizes``], normalized.

    Each is smaller than the one before, at the next call too. is_one_size: all are as large as the first.
    """

    count: int
    sizes: tuple[int, int]
    is_one_size: bool = False

    def crop(self, sizes: Sizes, number: int) -> Sizes:
        """The sizes of photograph ``number``, from 0 on."""
        return *smaller(sizes[:2], 0 if self.is_one_size else number), *sizes[2:]


@dataclass(frozen=True)
class Calls:
    """A move so small that the call is what takes time, again and again, of the same tensors.

    in_batch: recorded into a batch; else each is a submission, and the wait is for the last.
    by_plan: a plan is called, made beforehand, and not the operation.
    """

    move: Move
    count: int
    in_batch: bool
    by_plan: bool


Task: TypeAlias = (
    Move | Relayout | Convert | Normalize | Resize | Gradient | Boxes | NewShapes | NewImages | NewPhotos | Calls
)


def smaller(sizes: Sizes, call: int) -> tuple[int, int]:
    """``call`` rows and columns less, from 0 on: (1024, 768), (1023, 767), ..."""
    rows, columns = sizes
    number = call % min(SHAPES, rows, columns)
    return rows - number, columns - number


def channel_scales(channels: int) -> npt.NDArray[np.float32]:
    """A scale for each channel, from 0.5 on to 1.5."""
    return (0.5 + np.arange(channels) / channels).astype(np.float32)


def result_sizes(task: Task, sizes: Sizes) -> Sizes:  # noqa: PLR0911 - one for each kind of task
    """The sizes of what a task makes of a source; of the first call, where they change."""
    match task:
        case Move(axes, steps):
            left = tuple(-(-size // abs(step)) for size, step in zip(sizes, steps or (1,) * len(sizes), strict=True))
            return tuple(left[axis] for axis in axes)
        case Normalize():
            return sizes[0], sizes[3], sizes[1], sizes[2]
        case Resize():
            return _replaced(sizes, task.axes(len(sizes)), task.sizes)
        case Gradient(inputs):
            return (*sizes[: len(sizes) - len(inputs)], *inputs)
        case Boxes(number, made) | NewPhotos(number, made):
            return number, sizes[2], *made
        case NewShapes():
            rows, columns = task.crop(sizes, 0)
            return columns, rows
        case NewImages(images):
            return *images, *sizes[2:]
        case Calls(move):
            return result_sizes(move, sizes)
        case Relayout() | Convert():
            return sizes


def result_dtype(task: Task, dtype: str) -> str:
    """The element type of what a task makes of a source."""
    match task:
        case Convert(name):
            return name
        case Normalize() | Boxes() | NewPhotos():
            return "f32"
        case _:
            return dtype


def useful_bytes(task: Task, src: TensorDesc) -> int:
    """Bytes of the elements that must be read and written, each counted once, wherever they lie.

    A resize that is not antialiased reads at most two elements an axis for each that it writes (nearest: one), so
    1080 rows to 224 are 448 rows read. A gradient reads all of its source.
    """
    written = math.prod(result_sizes(task, src.sizes))
    read = src.numel
    match task:
        case Calls(move, count):
            return count * useful_bytes(move, src)
        case NewImages(sizes):
            return useful_bytes(Resize(sizes, pixels=True), src)
        case Move() | NewShapes():
            read = written
        case NewPhotos(number, made):
            rows, columns, channels = src.sizes
            read = number * min(rows, 2 * made[0]) * min(columns, 2 * made[1]) * channels
        case Boxes():
            extents = np.diff(task.of(src.sizes).reshape(-1, 2, 2), axis=1)[:, 0]
            read = int(np.minimum(extents, 2 * np.array(task.sizes)).prod(axis=1).sum()) * src.sizes[2]
        case Resize(sizes, mode, antialias):
            taps = {"nearest": 1, "linear": 2, "cubic": 4}[mode]
            reached = list(src.sizes)
            for axis, size in zip(task.axes(src.rank), sizes, strict=True):
                reached[axis] = reached[axis] if antialias else min(reached[axis], taps * size)
            read = math.prod(reached)
        case _:
            pass
    itemsize = as_dtype(result_dtype(task, src.dtype.name)).itemsize
    return read * src.dtype.itemsize + written * itemsize


def _replaced(sizes: Sizes, axes: Sequence[int], others: Sequence[int]) -> Sizes:
    made = list(sizes)
    for axis, size in zip(axes, others, strict=True):
        made[axis] = size
    return tuple(made)
