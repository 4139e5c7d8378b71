"""The workloads of the benchmark, as plain values that restride and every other library can read.

A task describes a computation; a workload is a task with a source and goals. ``catalogue`` returns the workloads of the
table, ``growth`` those that show how time grows with bytes and axes, ``ttc57`` transpositions by other authors.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import count
from typing import Any, TypeAlias, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from restride.dtypes import DType, DTypeName, as_dtype
from restride.layout import TensorDesc
from restride.layout.pattern import Pattern
from restride.vision import Processor, processor

_T = TypeVar("_T")

Array = npt.NDArray[Any]
Sizes: TypeAlias = tuple[int, ...]

MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
"""Mean and standard deviation of ImageNet's channels, for pixels from 0 to 255."""

SHAPES = 1009
"""Number of different sizes before they repeat: a prime, and more than the plan cache holds."""


@dataclass(frozen=True)
class Move:
    """``x[steps].transpose(axes)``, row-major: copies, slices, flips and permutations.

    axes: for each axis of the result, the axis of the source.
    steps: the step along each axis of the source; a negative step begins at the end of the axis. Empty: all 1.
    """

    axes: tuple[int, ...]
    steps: tuple[int, ...] = ()

    def index(self) -> tuple[slice, ...]:
        """The steps as slices."""
        return tuple(slice(None, None, step) for step in self.steps)

    @property
    def is_a_view(self) -> bool:
        """True unless it is a plain copy."""
        return self.axes != tuple(range(len(self.axes))) or any(step != 1 for step in self.steps)


@dataclass(frozen=True)
class Relayout:
    """A copy of the elements to another layout, whose descriptor ``TensorDesc.parse`` reads."""

    layout: str


@dataclass(frozen=True)
class Convert:
    """A conversion of the elements to another type.

    scale: a factor that is applied first; results of integer type are rounded to even and saturated.
    per_channel: use a factor for each index of axis 1 instead, ``channel_scales``.
    """

    dtype: DTypeName
    scale: float | None = None
    per_channel: bool = False


@dataclass(frozen=True)
class Normalize:
    """Pixels u8[n,h,w,3] to planes f32[n,3,h,w], ``(x - MEAN) / STD``.

    divides: divide by ``STD`` exactly; otherwise multiply by ``1 / STD``, as most libraries do.
    """

    divides: bool = False


@dataclass(frozen=True)
class Resize:
    """The last axes resized, with half-pixel centres.

    antialias: shrinking reads all elements, and weights outside of the source are left out.
    pixels: the last axis is the channels, so the axes before it are resized.
    like: the library whose arithmetic restride uses; other libraries use their own.
    """

    sizes: tuple[int, ...]
    mode: str = "linear"
    antialias: bool = False
    pixels: bool = False
    like: str | None = None

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes to resize, for a source with ``rank`` axes."""
        end = rank - self.pixels
        return tuple(range(end - len(self.sizes), end))


@dataclass(frozen=True)
class Gradient:
    """The gradient of a linear resize of the last axes from ``sizes``; the source is the gradient of the resized."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Boxes:
    """``count`` boxes of pixels u8[h,w,3], each resized to planes f32[3,``sizes``], linear, and normalized."""

    count: int
    sizes: tuple[int, int]

    def of(self, sizes: Sizes) -> npt.NDArray[np.int64]:
        """Random boxes y0, x0, y1, x1 in an image of ``sizes``, each side a quarter to a half of the image's."""
        chosen = np.random.default_rng(self.count)
        extent = np.array(sizes[:2])
        size = np.maximum((extent * chosen.uniform(0.25, 0.5, (self.count, 2))).astype(np.int64), 1)
        first = (chosen.random((self.count, 2)) * (extent - size)).astype(np.int64)
        return np.concatenate([first, first + size], axis=1)


class _Shrinking:
    """A task whose sizes are smaller at every call."""

    def crop(self, sizes: Sizes, call: int) -> Sizes:
        """The sizes for call or image number ``call``, counted from 0: each has one row and column less than the last.

        (1024, 768), (1023, 767), ...; after ``SHAPES`` calls they repeat.
        """
        rows, columns = sizes[:2]
        less = call % min(SHAPES, rows, columns)
        return rows - less, columns - less, *sizes[2:]

    def crops(self, sizes: Sizes) -> Iterator[Sizes]:
        """Yield the sizes for successive calls."""
        return (self.crop(sizes, call) for call in count())


@dataclass(frozen=True)
class NewShapes(_Shrinking):
    """A transpose of a corner of a matrix, with other sizes at every call."""


@dataclass(frozen=True)
class NewImages(_Shrinking):
    """A linear resize of packed pixels ``[h,w,c]`` to ``sizes``, with a smaller source at every call."""

    sizes: tuple[int, int]


@dataclass(frozen=True)
class NewPhotos(_Shrinking):
    """``count`` packed photographs of pixels ``[h,w,3]``, each resized to planes f32[3,``sizes``] and normalized.

    Each photograph is smaller than the one before, also from call to call. is_one_size: all are as large as the first.
    """

    count: int
    sizes: tuple[int, int]
    is_one_size: bool = False

    def crop(self, sizes: Sizes, call: int) -> Sizes:
        """The sizes of photograph number ``call``, counted from 0."""
        return super().crop(sizes, 0 if self.is_one_size else call)


@dataclass(frozen=True)
class Calls:
    """``count`` calls of the same small move, to measure the cost of a call.

    in_batch: the calls are recorded into one batch; otherwise each is a submission, and the wait is for the last.
    by_plan: a plan prepared beforehand is called instead of the operation.
    """

    move: Move
    count: int
    in_batch: bool
    by_plan: bool


@dataclass(frozen=True)
class Rearrange:
    """Axes split, permuted and joined by a pattern of einops, row-major; ``lengths``: sizes of axes by name."""

    pattern: str
    lengths: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Methods:
    """``count`` conversions, or views of NCHW as NHWC, by a tensor's method or by the array API's function."""

    converts: bool
    by_xp: bool
    count: int


@dataclass(frozen=True)
class Page:
    """The HTML that a notebook shows for a tensor; the result is the tensor itself."""


@dataclass(frozen=True)
class Pixels:
    """An image processor's ``pixel_values``, f32, of images u8[n,h,w,3], each of which is a sample.

    config: the processor's configuration, as JSON.
    """

    config: str

    @property
    def processor(self) -> Processor:
        """The processor, which is created once."""
        return _processor(self.config)

    def result_sizes(self, sizes: Sizes) -> Sizes:
        """Sizes of the result for images of ``sizes``, which follow each other along the first axis."""
        count, height, width, _ = sizes
        of_one = self.processor.plan((height, width)).results["pixel_values"] or ()
        return count * of_one[0], *of_one[1:]


@cache
def _processor(config: str) -> Processor:
    return processor(json.loads(config))


Task: TypeAlias = (
    Move
    | Relayout
    | Convert
    | Normalize
    | Resize
    | Gradient
    | Boxes
    | NewShapes
    | NewImages
    | NewPhotos
    | Calls
    | Rearrange
    | Methods
    | Page
    | Pixels
)


def channel_scales(channels: int) -> npt.NDArray[np.float32]:
    """A scale for each channel, from 0.5 up to but not including 1.5."""
    return (0.5 + np.arange(channels) / channels).astype(np.float32)


def result_sizes(task: Task, sizes: Sizes) -> Sizes:  # noqa: PLR0911 - one for each kind of task
    """The sizes of a task's result for a source of ``sizes``; those of the first call where they change."""
    match task:
        case Move(axes, steps):
            left = tuple(-(-size // abs(step)) for size, step in zip(sizes, steps or (1,) * len(sizes), strict=True))
            return tuple(left[axis] for axis in axes)
        case Normalize():
            return sizes[0], sizes[3], sizes[1], sizes[2]
        case Resize():
            axes = task.axes(len(sizes))
            return (*sizes[: axes[0]], *task.sizes, *sizes[axes[-1] + 1 :])
        case Gradient(inputs):
            return (*sizes[: len(sizes) - len(inputs)], *inputs)
        case Boxes(number, results) | NewPhotos(number, results):
            return number, sizes[2], *results
        case NewShapes():
            return sizes[::-1]
        case NewImages(images):
            return *images, *sizes[2:]
        case Calls(move):
            return result_sizes(move, sizes)
        case Rearrange(pattern, lengths):
            parts, groups = Pattern.parse(pattern).split(sizes, dict(lengths))
            return tuple(math.prod(parts[axis][place] for axis, place in group) for group in groups)
        case Methods(converts=False):
            return result_sizes(Move((0, 2, 3, 1)), sizes)
        case Pixels():
            return task.result_sizes(sizes)
        case Relayout() | Convert() | Methods() | Page():
            return sizes


def result_dtype(task: Task, dtype: str) -> str:
    """The element type of a task's result for a source of type ``dtype``."""
    match task:
        case Convert(name):
            return name
        case Normalize() | Boxes() | NewPhotos() | Pixels():
            return "f32"
        case Methods(converts=True):
            return "f16"
        case _:
            return dtype


def useful_bytes(task: Task, src: TensorDesc) -> int:
    """Bytes of the elements that must be read and written, each counted once, whatever their layout.

    A resize without antialiasing reads along each axis at most two elements per element written (nearest: one, cubic:
    four), so 1080 rows to 224 read 448 rows. A gradient reads all of its source.
    """
    written = math.prod(result_sizes(task, src.sizes))
    read = src.numel
    match task:
        case Calls(move, count):
            return count * useful_bytes(move, src)
        case Page() | Methods(converts=False):
            return 0
        case NewImages(sizes):
            return useful_bytes(Resize(sizes, pixels=True), src)
        case Move() | NewShapes():
            read = written
        case NewPhotos(number, results):
            rows, columns, channels = src.sizes
            read = number * min(rows, 2 * results[0]) * min(columns, 2 * results[1]) * channels
        case Boxes():
            extents = np.diff(task.of(src.sizes).reshape(-1, 2, 2), axis=1)[:, 0]
            read = int(np.minimum(extents, 2 * np.array(task.sizes)).prod(axis=1).sum()) * src.sizes[2]
        case Resize(sizes, mode, antialias):
            taps = {"nearest": 1, "linear": 2, "cubic": 4}[mode]
            if not antialias:
                reached = replace(task, sizes=tuple(taps * size for size in sizes))
                read = math.prod(map(min, src.sizes, result_sizes(reached, src.sizes)))
        case _:
            pass
    itemsize = as_dtype(result_dtype(task, src.dtype.name)).itemsize
    return read * src.dtype.itemsize + written * itemsize


@dataclass(frozen=True)
class Goal:
    """A time limit: ``factor`` times that of the column ``against`` plus ``seconds``; without a column, ``seconds``."""

    against: str = ""
    factor: float = 1.0
    seconds: float = 0.0

    def is_met(self, ours: float, theirs: float | None) -> bool:
        """True if restride's median meets the goal; ``theirs``: the other column's. Both in seconds."""
        return ours < self.seconds if theirs is None else ours <= self.factor * theirs + self.seconds

    def __str__(self) -> str:
        if not self.against:
            return f"under {self.seconds * 1e6:g} us"
        if self.seconds:
            return f"at most {self.seconds * 1e6:g} us over {self.against}"
        return f"at most {self.factor:g}x {self.against}"


@dataclass(frozen=True)
class Rival:
    """Another task of restride itself that a workload is compared with."""

    name: str
    src: str
    task: Task


@dataclass(frozen=True)
class Workload:
    """A row of the table.

    src: the source's descriptor, as text.
    low, high: range of the random source elements of float types; integers are random over their whole range.
    """

    name: str
    group: str
    src: str
    task: Task
    goals: tuple[Goal, ...] = ()
    rival: Rival | None = None
    low: float = 0.0
    high: float = 1.0

    def __str__(self) -> str:
        return f"{self.group + ':':<19} {self.name:<42} {self.src}"

    @property
    def desc(self) -> TensorDesc:
        """The source's descriptor."""
        return TensorDesc.parse(self.src)

    @property
    def nbytes(self) -> int:
        """Useful bytes per call."""
        return useful_bytes(self.task, self.desc)

    @property
    def result_sizes(self) -> Sizes:
        """Sizes of the result; those of the first call where they change."""
        return result_sizes(self.task, self.desc.sizes)

    @property
    def result_dtype(self) -> DType:
        """Element type of the result."""
        return as_dtype(result_dtype(self.task, self.desc.dtype.name))

    def source(self) -> Array:
        """The source's elements in logical order, the same in every run."""
        return random_elements(self.desc, self.name, self.low, self.high)


def random_elements(desc: TensorDesc, seed: str, low: float = 0.0, high: float = 1.0) -> Array:
    """Random elements with the sizes and type of ``desc``; not zeros, which a driver may treat specially."""
    generator = np.random.default_rng(crc32(seed.encode()))
    dtype = np.dtype(desc.dtype)
    if not desc.dtype.is_float:
        return generator.integers(0, 256, desc.numel * dtype.itemsize, np.uint8).view(dtype).reshape(desc.sizes)
    if dtype == np.float64:
        return generator.random(desc.sizes) * (high - low) + low
    elements = generator.random(desc.sizes, np.float32)
    elements *= np.float32(high - low)
    elements += np.float32(low)
    return elements if dtype == np.float32 else elements.astype(dtype)


@dataclass(frozen=True)
class Scale:
    """A choice between the sizes to measure and small sizes with which every workload runs in a moment."""

    is_small: bool

    def __call__(self, measured: _T, small: _T) -> _T:
        """``small`` if ``is_small``, else ``measured``; a divisor of one must divide the other."""
        return small if self.is_small else measured

    @property
    def photo(self) -> str:
        """Height and width of a photograph, as text for a descriptor."""
        return self("1080,1920", "24,32")

    @property
    def square(self) -> str:
        """Sizes of a matrix of 64 MiB in f32, as text for a descriptor."""
        return self("4096,4096", "64,64")

    @property
    def thumbnail(self) -> tuple[int, int]:
        """Height and width of a network's input image."""
        return self((224, 224), (8, 8))


def catalogue(is_small: bool = False) -> tuple[Workload, ...]:
    """Every workload of ``restride bench``, in the order of the table.

    Args:
        is_small: small sizes under the same names, to test that all workloads run. Their times mean nothing, so they
            have no goals.
    """
    scale = Scale(is_small)
    groups = (_copies, _permutations, _patterns, _layouts, _conversions, _resamplings, _calls)
    workloads = tuple(workload for group in groups for workload in group(scale))
    return tuple(replace(workload, goals=()) for workload in workloads) if is_small else workloads


def _row(
    group: str, name: str, src: str, task: Task, *goals: Goal, rival: Rival | None = None, **limits: float
) -> Workload:
    return Workload(name, group, src, task, goals, rival, **limits)


def _copies(scale: Scale) -> Iterator[Workload]:
    """Copies of words and of an odd number of bytes; steps of 2 and of -1, along rows and both axes."""
    row, planes, numpy = partial(_row, "copies and slices"), (0, 1, 2, 3), Goal("numpy", 2.0)
    f32, u8 = f"f32[1,3,{scale.photo}]", f"u8[1,3,{scale.photo}]"
    second, backwards, mirror = (Move(planes, steps) for steps in ((1, 1, 2, 2), (1, 1, -2, -2), (1, 1, 1, -1)))
    yield row("copy f32 4096x4096", f"f32[{scale.square}]", Move((0, 1)), numpy)
    yield row("copy u8 16777213", f"u8[{scale('16777213', '4093')}]", Move((0,)))
    yield row("copy f64 2048x4096", f"f64[{scale('2048,4096', '32,64')}]", Move((0, 1)))
    yield row("[..., ::2, ::2] f32 1x3x1080x1920", f32, second, numpy)
    yield row("[..., ::2, ::2] u8 1x3x1080x1920", u8, second)
    yield row("[..., ::-2, ::-2] f32 1x3x1080x1920", f32, backwards)
    yield row("[..., ::-1] f32 1x3x1080x1920", f32, mirror)
    yield row("[..., ::-1] u8 1x3x1080x1920", u8, mirror)
    yield row("[:, ::-1] u8 1079x1917x3", f"u8[{scale('1079,1917', '23,31')},3]", Move((0, 1, 2), (1, -1, 1)))


def _permutations(scale: Scale) -> Iterator[Workload]:
    """NCHW and NHWC, transposes of every width, odd sizes, and up to eight axes; all row-major."""
    row, photo, square = partial(_row, "permutations"), scale.photo, scale.square
    to_pixels, to_planes, transposed = Move((0, 2, 3, 1)), Move((0, 3, 1, 2)), Move((1, 0))
    many = scale("4,6,5,10,6,14,8,6", "2,3,2,3,2,3,2,3")
    yield row("NCHW->NHWC f32 1x3x1080x1920", f"f32[1,3,{photo}]", to_pixels)
    yield row("NCHW->NHWC u8 1x3x1080x1920", f"u8[1,3,{photo}]", to_pixels)
    yield row("NHWC->NCHW f32 1x1080x1920x3", f"f32[1,{photo},3]", to_planes)
    yield row("NHWC->NCHW u8 1x1080x1920x3", f"u8[1,{photo},3]", to_planes)
    yield row("NCHW->NHWC f32 8x64x56x56", f"f32[{scale('8,64,56,56', '2,8,12,12')}]", to_pixels)
    yield row("NHWC->NCHW f16 8x56x56x64", f"f16[{scale('8,56,56,64', '2,12,12,8')}]", to_planes)
    yield row("transpose f32 4096x4096", f"f32[{square}]", transposed, Goal("numpy"))
    yield row("transpose f32 4091x4077", f"f32[{scale('4091,4077', '61,47')}]", transposed)
    yield row("transpose u8 8192x8192", f"u8[{scale('8192,8192', '64,64')}]", transposed)
    yield row("transpose u8 4095x4093", f"u8[{scale('4095,4093', '63,61')}]", transposed)
    yield row("transpose s16 4096x4096", f"s16[{square}]", transposed)
    yield row("transpose f64 2048x4096", f"f64[{scale('2048,4096', '32,64')}]", transposed)
    yield row("0213 f32 8x16x1024x64", f"f32[{scale('8,16,1024,64', '2,3,16,8')}]", Move((0, 2, 1, 3)))
    yield row("04213 f32 8x16x32x24x32", f"f32[{scale('8,16,32,24,32', '2,3,4,5,6')}]", Move((0, 4, 2, 1, 3)))
    yield row("72503614 f32 4x6x5x10x6x14x8x6", f"f32[{many}]", Move((7, 2, 5, 0, 3, 6, 1, 4)))


def _patterns(scale: Scale) -> Iterator[Workload]:
    """The patterns of einops' documentation and of vision transformers."""
    row, images = partial(_row, "patterns"), scale("8,3,224,224", "2,3,32,32")
    maps, heads = scale("8,64,56,56", "2,8,6,6"), scale("8,197,768", "2,5,24")
    for name, src, pattern, lengths in (
        ("patches f32 8x3x224x224", f"f32[{images}]", "b c (h p) (w q) -> b (h w) (p q c)", {"p": 16, "q": 16}),
        ("patches u8 8x224x224x3", f"u8[{scale('8,224,224', '2,32,32')},3]", "b (h p) (w q) c -> b (h w) (p q c)",
         {"p": 16, "q": 16}),
        ("space to depth f32 8x64x56x56", f"f32[{maps}]", "b c (h p) (w q) -> b (c p q) h w", {"p": 2, "q": 2}),
        ("mosaic u8 6x96x96x3", f"u8[6,{scale('96,96', '8,8')},3]", "(r s) h w c -> (r h) (s w) c", {"r": 2}),
        ("channel shuffle f32 8x64x56x56", f"f32[{maps}]", "b (g c) h w -> b (c g) h w", {"g": 4}),
        ("head split f32 8x197x768", f"f32[{heads}]", "b l (h d) -> b h l d", {"h": 12}),
        ("head merge f32 8x12x197x64", f"f32[{scale('8,12,197,64', '2,12,5,2')}]", "b h l d -> b l (h d)", {}),
    ):  # fmt: skip
        yield row(name, src, Rearrange(pattern, tuple(lengths.items())))


def _layouts(scale: Scale) -> Iterator[Workload]:
    """XLA's tiles, with sub-tiles for narrow types, and oneDNN's blocks, to and from row-major.

    Whole tiles are compared with a transpose of as many bytes, partial tiles with whole ones.
    """
    row, matrix, weights = partial(_row, "tiles and blocks"), scale.square, scale("512,512,3,3", "32,32,3,3")
    maps, flat, tiles = scale("8,64,56,56", "2,32,6,6"), scale("1536,1536", "96,96"), "{1,0:T(8,128)}"
    for name, plain, ending, transposed, has_goal in (
        ("f32 4096x4096 T(8,128)", f"f32[{matrix}]", tiles, f"f32[{matrix}]", True),
        ("f32 8x64x56x56 nChw16c", f"f32[{maps}]", ":nChw16c", f"f32[{scale('512,3136', '64,36')}]", True),
        ("f32 512x512x3x3 OIhw16i16o", f"f32[{weights}]", ":OIhw16i16o", f"f32[{flat}]", True),
        ("bf16 4096x4096 T(8,128)(2,1)", f"bf16[{matrix}]", "{1,0:T(8,128)(2,1)}", f"bf16[{matrix}]", False),
        ("s8 512x512x3x3 OIhw4i16o4i", f"s8[{weights}]", ":OIhw4i16o4i", f"s8[{flat}]", False),
    ):
        rival = Rival("own transpose", transposed + "{1,0}", Relayout(transposed + "{0,1}"))
        goals = (Goal(rival.name, 1.5),) if has_goal else ()
        yield row(f"{name} in", plain, Relayout(plain + ending), *goals, rival=rival)
        yield row(f"{name} out", plain + ending, Relayout(plain), *goals, rival=rival)
    for name, plain, ending, whole in (
        ("f32 4091x4076 T(8,128)", f"f32[{scale('4091,4076', '61,60')}]", tiles, f"f32[{matrix}]"),
        ("f32 4091x4077 T(8,128)", f"f32[{scale('4091,4077', '61,61')}]", tiles, f"f32[{matrix}]"),
        ("f32 8x60x56x56 nChw16c", f"f32[{scale('8,60,56,56', '2,28,6,6')}]", ":nChw16c", f"f32[{maps}]"),
    ):
        for way, before, after in (("in", "", ending), ("out", ending, "")):
            rival = Rival("own whole tiles", whole + before, Relayout(whole + after))
            yield row(f"{name} {way}", plain + before, Relayout(plain + after), Goal(rival.name, 1.3), rival=rival)


def _conversions(scale: Scale) -> Iterator[Workload]:
    """To and from bytes, to narrow floats and from wide ones, with scales and without.

    Compared with kernels written by hand, numpy, and a copy of as many bytes.
    """
    row, by_hand, numpy = partial(_row, "types and scales"), Goal("by-hand"), Goal("numpy")
    photo, run, maps = f"[1,3,{scale.photo}]", scale("8388608", "4096"), scale("8,64,128,128", "2,8,12,12")
    f32, pixels = "f32" + photo, f"u8[1,{scale.photo},3]"
    yield row("f32 * 255 -> u8 1x3x1080x1920", f32, Convert("u8", 255.0), by_hand, numpy, low=-0.2, high=1.2)
    yield row("u8 NHWC -> f32 NCHW, normalized", pixels, Normalize(), by_hand, numpy)
    yield row("u8 NHWC -> f32 NCHW, divided", pixels, Normalize(divides=True), numpy)
    for name, src, task in (
        ("u8 -> f32 1x3x1080x1920", "u8" + photo, Convert("f32")),
        ("f32 -> f16 1x3x1080x1920", f32, Convert("f16")),
        ("f32 -> bf16 1x3x1080x1920", f32, Convert("bf16")),
        ("f16 -> f32 1x3x1080x1920", "f16" + photo, Convert("f32")),
        ("s8 -> f32 8x64x128x128, a scale a channel", f"s8[{maps}]", Convert("f32", per_channel=True)),
        ("f64 -> f32 8388608", f"f64[{run}]", Convert("f32")),
        ("s32 -> s64 8388608", f"s32[{run}]", Convert("s64")),
    ):
        words = useful_bytes(task, TensorDesc.parse(src)) // 8
        rival = Rival("own copy", f"u32[{words}]", Move((0,)))
        yield row(name, src, task, Goal(rival.name, 1.3), rival=rival, low=-100.0, high=100.0)


def _resamplings(scale: Scale) -> Iterator[Workload]:
    """Photographs to network inputs and back, feature maps and volumes to twice the size, gradients."""
    row, by_hand, pillow = partial(_row, "resampling"), Goal("by-hand", 1.05), Goal("pillow")
    sizes, small = scale((1080, 1920), (24, 32)), scale.thumbnail
    photo, photo_u8, pixels = f"f32[1,3,{scale.photo}]", f"u8[1,3,{scale.photo}]", f"u8[{scale.photo},3]"
    thumbnail = f"[1,3,{small[0]},{small[1]}]"
    down, up, smooth = Resize(small), Resize(sizes), Resize(small, antialias=True)
    f32_down, f32_up = Rival("own f32", photo, down), Rival("own f32", "f32" + thumbnail, up)
    odd, volume = f"f32[1,3,{scale('641,479', '21,17')}]", f"f32[{scale('1,16,32,56,56', '1,2,4,6,6')}]"
    maps, twice = f"f32[{scale('8,64,56,56', '2,3,8,56')}]", Resize(scale((112, 112), (16, 112)), "nearest")
    yield row("bilinear f32 1080p -> 224", photo, down, by_hand)
    yield row("bilinear f32 224 -> 1080p", "f32" + thumbnail, up, by_hand)
    yield row("bilinear u8 1080p -> 224", photo_u8, down, Goal("own f32"), rival=f32_down)
    yield row("bilinear u8 224 -> 1080p", "u8" + thumbnail, up, Goal("own f32"), rival=f32_up)
    yield row("bilinear u8 pixels 1080p -> 224", pixels, Resize(small, pixels=True))
    yield row("bilinear f32 641x479 -> 299x301", odd, Resize(scale((299, 301), (11, 13))))
    yield row("cubic f32 224 -> 1080p", "f32" + thumbnail, Resize(sizes, "cubic"))
    yield row("nearest f32 8x64x56x56, twice", maps, twice, by_hand)
    yield row("trilinear f32 1x16x32x56x56, twice", volume, Resize(scale((64, 112, 112), (8, 12, 12))))
    yield row("antialiased u8 1080p -> 224, planes", photo_u8, smooth, pillow)
    yield row("antialiased u8 1080p -> 224, pixels", pixels, replace(smooth, pixels=True), pillow)
    yield row("bilinear u8 1080p -> 224, like pillow", pixels, replace(smooth, pixels=True, like="pillow"), pillow)
    yield row("bilinear u8 1080p -> 224, like opencv", pixels, Resize(small, pixels=True, like="opencv"))
    yield row("16 boxes of u8 pixels -> f32 16x3x224x224", pixels, Boxes(16, small), Goal("torch"), Goal("opencv"))
    yield row("antialiased f32 1080p -> 224", photo, smooth)
    forward, enlarging = replace(f32_up, name="own forward"), replace(f32_up, name="own enlarging")
    yield row("gradient of bilinear 224 -> 1080p", photo, Gradient(small), Goal(forward.name, 1.5), rival=forward)
    thumbnail_up = "f32" + thumbnail, Gradient(sizes)
    yield row("gradient of bilinear 1080p -> 224", *thumbnail_up, Goal(enlarging.name, 1.5), rival=enlarging)


def _calls(scale: Scale) -> Iterator[Workload]:
    """The cost of a call apart from its work: on tensors so small that there is hardly any work, and with new sizes."""
    row, small, turn, one_size = partial(_row, "small calls"), "f32[1,3,8,8]", Move((0, 2, 3, 1)), "own one size"
    alone, together, new, thumbnail = Goal("raw", 2.0), Goal("raw", 1.3), Goal(one_size, 1.5), scale.thumbnail
    matrix, photo = f"f32[{scale('1024,768', '64,48')}]", f"u8[{scale.photo},3]"
    yield row("copy f32 16", "f32[16]", Move((0,)))
    yield row("NCHW->NHWC f32 1x3x8x8", small, turn, Goal(seconds=400e-6), alone)
    yield row("bilinear f32 1x3x32x32 -> 16x16", "f32[1,3,32,32]", Resize((16, 16)), alone)
    for name, in_batch, by_plan, goals in (
        ("100 in a batch, NCHW->NHWC 1x3x8x8", True, False, (together,)),
        ("100 of a plan in a batch, NCHW->NHWC 1x3x8x8", True, True, (together,)),
        ("100 of a plan, NCHW->NHWC 1x3x8x8", False, True, ()),
    ):
        yield row(name, small, Calls(turn, 100, in_batch=in_batch, by_plan=by_plan), *goals)
    for name, converts in (("views NCHW->NHWC", False), ("f32 -> f16", True)):
        direct = Rival("own methods", small, Methods(converts, by_xp=False, count=100))
        task = Methods(converts, by_xp=True, count=100)
        yield row(f"100 {name} 1x3x8x8 by xp", small, task, Goal(direct.name, seconds=100 * 10e-6), rival=direct)
    yield row("page of u8 1080x1920x3", photo, Page(), Goal(seconds=50e-3))
    # The rival's single size is odd, as almost all new sizes are: rows of an odd size are not aligned, and that alone
    # takes longer.
    same = Rival(one_size, f"f32[{scale('1023,767', '63,47')}]", Move((1, 0)))
    yield row("transpose, new sizes at every call", matrix, NewShapes(), new, rival=same)
    odd = f"u8[{scale('1079,1919', '23,31')},3]"
    same = Rival(one_size, odd, Resize(thumbnail, pixels=True))
    yield row("bilinear u8 pixels -> 224, new sizes at every call", photo, NewImages(thumbnail), new, rival=same)
    photos, same = NewPhotos(16, thumbnail), Rival(one_size, odd, NewPhotos(16, thumbnail, is_one_size=True))
    name = "16 photos u8 -> f32 3x224x224, normalized, new sizes at every one"
    yield row(name, photo, photos, Goal(one_size, 1.25), rival=same)


TTC57, IMAGES = "ttc57", "image processors"
"""Names of the groups of ``ttc57`` and of ``images``."""

MEAN_GOALS = {TTC57: Goal("numpy")}
"""Goals for the geometric mean over all workloads of a group."""


def ttc57(is_small: bool = False) -> tuple[Workload, ...]:
    """The 57 transpositions of TTC, HPTT and cuTT, 2 to 6 axes, about 200 MiB each; ``ttc57.toml`` cites the sources.

    Args:
        is_small: use the sizes to the power 0.6, together 200 KiB.
    """
    data = tomllib.loads(files("restride_measure").joinpath("ttc57.toml").read_text(encoding="utf-8"))
    workloads = []
    for sizes, axes in data["transpositions"]:
        name = f"{''.join(map(str, axes))} f32 {'x'.join(map(str, sizes))}"
        chosen = [math.ceil(size**0.6) for size in sizes] if is_small else sizes
        workloads.append(Workload(name, TTC57, f"f32[{','.join(map(str, chosen))}]", Move(tuple(axes))))
    return tuple(workloads)


def images(is_small: bool = False) -> tuple[Workload, ...]:
    """Image processors of vision and vision-language models: one small image, and a batch of large ones.

    Args:
        is_small: use small images, whose results have the same sizes or fewer patches.
    """
    scale, workloads = Scale(is_small), []
    one, batch = f"u8[1,{scale('480,640', '24,32')},3]", f"u8[{scale(16, 2)},{scale.photo},3]"
    for model, config in (
        ("CLIP", {"image_processor_type": "CLIPImageProcessor"}),
        ("SigLIP", {"image_processor_type": "SiglipImageProcessor", "size": {"height": 384, "width": 384}}),
        ("Qwen2-VL", {"image_processor_type": "Qwen2VLImageProcessor"}),
        ("InternVL", {"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": 448, "width": 448},
                      "crop_to_patches": True, "max_patches": 12}),
        ("Idefics3", {"image_processor_type": "Idefics3ImageProcessor"}),
    ):  # fmt: skip
        task = Pixels(json.dumps(config))
        workloads += [_row(IMAGES, f"{model}, 1 of 480x640", one, task)]
        workloads += [_row(IMAGES, f"{model}, 16 of 1080x1920", batch, task)]
    return tuple(workloads)


ON_REQUEST = {TTC57: ttc57, IMAGES: images}
"""Groups that are measured only on request: functions of ``is_small`` by their names."""


def selected(keyword: str, is_small: bool = False) -> list[Workload]:
    """The workloads with ``keyword`` in name or group; those on request only if the keyword begins with their group."""
    everything = [*catalogue(is_small)]
    for group, workloads in ON_REQUEST.items():
        if keyword.casefold().startswith(group):
            everything += workloads(is_small)
    return [workload for workload in everything if is_named(keyword, workload.group, workload.name)]


def is_named(keyword: str, group: str, name: str) -> bool:
    """True if a keyword is in ``group: name``, regardless of case."""
    return keyword.casefold() in f"{group}: {name}".casefold()


BY_BYTES = ("copy", "transpose", "u8 -> f32", "bilinear, twice the size")
BY_AXES = "axes reversed"
"""Groups of ``growth``: drawn over the bytes of the result, and over the number of axes."""

_MAX_EXPONENT = 30
"""Base-2 logarithm of the largest result, 1 GiB; workloads that do not fit the device are skipped."""

_BY_RANK = (
    "4194304",
    "2048,2048",
    "160,160,160",
    "48,44,44,44",
    "24,20,20,20,20",
    "16,12,12,12,12,12",
    "16,8,8,8,8,8,8",
    "8,8,8,6,6,6,6,6",
)
"""Sizes with 1 to 8 axes of about four million elements, which are 16 MB of f32."""


def growth(is_small: bool = False) -> tuple[Workload, ...]:
    """Every workload of ``restride bench --growth``; with ``is_small`` only a few bytes and axes, as a test."""
    exponents, ranks = ((10, 12), (1, 3)) if is_small else (range(10, _MAX_EXPONENT + 1), range(1, 9))
    by_bytes = [
        Workload(f"{group}, {bytes_text(1 << exponent)}", group, *_of_bytes(group, exponent))
        for group in BY_BYTES
        for exponent in exponents
    ]
    by_axes = [
        Workload(f"{BY_AXES}, {rank}", BY_AXES, f"f32[{_BY_RANK[rank - 1]}]", Move(tuple(range(rank))[::-1]))
        for rank in ranks
    ]
    return (*by_bytes, *by_axes)


def result_elements(workload: Workload) -> int:
    """Number of elements of a workload's result."""
    return math.prod(workload.result_sizes)


def result_bytes(workload: Workload) -> int:
    """Bytes of a workload's result."""
    return result_elements(workload) * workload.result_dtype.itemsize


def bytes_text(nbytes: int) -> str:
    """A power of two as text: ``64 KiB`` for 65536."""
    exponent = nbytes.bit_length() - 1
    return f"{1 << exponent % 10} {('B', 'KiB', 'MiB', 'GiB')[exponent // 10]}"


def _of_bytes(group: str, exponent: int) -> tuple[str, Move | Convert | Resize]:
    """Source and task for a result of ``2 ** exponent`` bytes of f32, with as many rows as columns or twice as many.

    Example: 2^13 bytes are 2^11 elements, 64 x 32.
    """
    elements = exponent - 2
    columns = elements // 2
    rows = elements - columns
    match group:
        case "copy":
            return f"f32[{1 << elements}]", Move((0,))
        case "transpose":
            return f"f32[{1 << rows},{1 << columns}]", Move((1, 0))
        case "u8 -> f32":
            return f"u8[{1 << elements}]", Convert("f32")
        case _:
            return f"f32[{1 << rows - 1},{1 << columns - 1}]", Resize((1 << rows, 1 << columns))
