"""The workloads of the benchmark, as plain values that restride and every other library can read.

A workload is a task with a name and goals. A task is a case, as of ``restride test``, or an image processor's work.
``catalogue`` returns the workloads of the table (benchmark.toml), ``growth`` those that show how time grows with bytes
and axes, ``ttc57`` transpositions by other authors, ``images`` image processors, ``large`` moves of 256 MiB.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any
from zlib import crc32

import numpy as np

from restride.dtypes import Array, DType
from restride.layout import TensorDesc
from restride.vision import Processor, processor
from restride_conformance.case import Case
from restride_conformance.spelling import Sizes


@dataclass(frozen=True)
class PixelValues:
    """An image processor's ``pixel_values``, f32, of images u8[n,h,w,3], each of which is a sample.

    config: the processor's configuration, as JSON.
    """

    src: TensorDesc
    config: str

    def __str__(self) -> str:
        return self.config

    @property
    def processor(self) -> Processor:
        """The processor, which is created once."""
        return _processor(self.config)

    @property
    def dst(self) -> TensorDesc:
        """The result for all images, which follow each other along the first axis."""
        count, height, width, _ = self.src.sizes
        of_one = self.processor.plan((height, width)).results["pixel_values"] or ()
        return TensorDesc("f32", (count * of_one[0], *of_one[1:]))

    @property
    def useful_bytes(self) -> int:
        """Bytes of the images and of the result."""
        return self.src.numel + 4 * self.dst.numel


@cache
def _processor(config: str) -> Processor:
    return processor(json.loads(config))


SHAPES = 1009
"""Number of different sizes before they repeat: a prime, and more than the plan cache holds."""


def crops(sizes: Sizes) -> Iterator[Sizes]:
    """Yield sizes that are new at every call: each has one row and column less than the last.

    (1024, 768), (1023, 767), ...; they repeat after ``SHAPES`` of them, or where a size would be 0.
    """
    rows, columns = sizes[:2]
    for call in count():
        less = call % min(SHAPES, rows, columns)
        yield rows - less, columns - less, *sizes[2:]


@dataclass(frozen=True)
class Goal:
    """A time limit: ``factor`` times the time of the column ``against``, plus ``seconds``; without it, ``seconds``."""

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
class Workload:
    """A row of the table.

    src: the source's descriptor, as written.
    how: a function of ``own.HOW`` that makes calls which no case says; empty: a call is one of the case.
    times: how often a call moves the bytes of the task.
    rival: other work of restride itself that the workload is compared with; its name is that of a column.
    low, high: range of the random source elements of float types; integers are random over their whole range.
    """

    name: str
    group: str
    src: str
    task: Case | PixelValues
    goals: tuple[Goal, ...] = ()
    rival: Workload | None = None
    how: str = ""
    times: int = 1
    low: float = 0.0
    high: float = 1.0

    def __str__(self) -> str:
        return f"{self.group + ':':<19} {self.name:<42} {self.src}"

    @property
    def case(self) -> Case | None:
        """The case, if a call of the workload is one call of the case; else None."""
        return self.task if isinstance(self.task, Case) and not self.how else None

    @property
    def desc(self) -> TensorDesc:
        """The source's descriptor."""
        return self.task.src

    @property
    def nbytes(self) -> int:
        """Useful bytes per call."""
        return self.times * self.task.useful_bytes

    @property
    def result_sizes(self) -> Sizes:
        """Sizes of the result; those of the first call where they change."""
        return self.task.dst.sizes

    @property
    def result_dtype(self) -> DType:
        """Element type of the result."""
        return self.task.dst.dtype

    @property
    def is_row_major(self) -> bool:
        """True if source and result lie in memory as arrays of numpy do."""
        return all(desc == TensorDesc(desc.dtype, desc.sizes) for desc in (self.task.src, self.task.dst))

    def source(self) -> Array:
        """The source's elements in logical order, the same in every run."""
        return random_elements(self.desc, self.name, self.low, self.high)


def of_line(name: str, group: str, line: str, **named: Any) -> Workload:
    """The workload of a case line."""
    return Workload(name, group, line.split()[1], Case.parse(line), **named)


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


@cache
def catalogue(is_small: bool = False) -> tuple[Workload, ...]:
    """Every workload of ``restride bench``, in the order of the table.

    Args:
        is_small: small sizes under the same names, to test that all workloads run. Their times mean nothing, so they
            have no goals.
    """
    return _of_table("benchmark.toml", is_small)


def _of_table(name: str, is_small: bool) -> tuple[Workload, ...]:
    """The workloads of a file of rows."""
    groups: dict[str, list[dict[str, Any]]] = _table(name)
    return tuple(_of_row(group, row, is_small) for group, rows in groups.items() for row in rows)


def _of_row(group: str, row: Mapping[str, Any], is_small: bool) -> Workload:
    """The workload of a row."""
    named = {name: value for name, value in row.items() if name not in ("name", "case", "small")}
    named["goals"] = () if is_small else tuple(Goal(**goal) for goal in row.get("goals", ()))
    if "rival" in row:
        named["rival"] = _of_row(group, row["rival"], is_small)
    return of_line(row["name"], group, row["small"] if is_small and "small" in row else row["case"], **named)


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files("restride_measure").joinpath(name).read_text(encoding="utf-8"))


def _permuted(name: str, group: str, sizes: Sequence[int], axes: Sequence[int]) -> Workload:
    """A permutation of f32, whose result has axis ``axes[k]`` of the source as axis k."""
    src, dst, view = (",".join(map(str, each)) for each in (sizes, [sizes[axis] for axis in axes], axes))
    return of_line(name, group, f"reorder f32[{src}] -> f32[{dst}] view=.permute({view})")


TTC57, IMAGES, LARGE = "ttc57", "image processors", "large moves"
"""Names of the groups of ``ttc57``, of ``images`` and of ``large``."""

MEAN_GOALS = {TTC57: Goal("numpy")}
"""Goals for the geometric mean over all workloads of a group."""


def ttc57(is_small: bool = False) -> tuple[Workload, ...]:
    """The 57 transpositions of TTC, HPTT and cuTT, 2 to 6 axes, about 200 MiB each; ``ttc57.toml`` cites the sources.

    Args:
        is_small: use the sizes to the power 0.6, together 200 KiB.
    """
    workloads = []
    for sizes, axes in _table("ttc57.toml")["transpositions"]:
        name = f"{''.join(map(str, axes))} f32 {'x'.join(map(str, sizes))}"
        workloads.append(_permuted(name, TTC57, [math.ceil(size**0.6) for size in sizes] if is_small else sizes, axes))
    return tuple(workloads)


def images(is_small: bool = False) -> tuple[Workload, ...]:
    """Image processors of vision and vision-language models: one small image, and a batch of large ones.

    Args:
        is_small: use small images, whose results have the same sizes or fewer patches.
    """
    one, batch = ("u8[1,24,32,3]", "u8[2,24,32,3]") if is_small else ("u8[1,480,640,3]", "u8[16,1080,1920,3]")
    workloads = []
    for model, config in (
        ("CLIP", {"image_processor_type": "CLIPImageProcessor"}),
        ("SigLIP", {"image_processor_type": "SiglipImageProcessor", "size": {"height": 384, "width": 384}}),
        ("Qwen2-VL", {"image_processor_type": "Qwen2VLImageProcessor"}),
        ("InternVL", {"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": 448, "width": 448},
                      "crop_to_patches": True, "max_patches": 12}),
        ("Idefics3", {"image_processor_type": "Idefics3ImageProcessor"}),
    ):  # fmt: skip
        for size, src in (("1 of 480x640", one), ("16 of 1080x1920", batch)):
            task = PixelValues(TensorDesc.parse(src), json.dumps(config))
            workloads.append(Workload(f"{model}, {size}", IMAGES, src, task))
    return tuple(workloads)


def large(is_small: bool = False) -> tuple[Workload, ...]:
    """Moves of 256 MiB, which no cache of a GPU holds; ``is_small`` as in ``catalogue``."""
    return _of_table("large.toml", is_small)


ON_REQUEST = {TTC57: ttc57, IMAGES: images, LARGE: large}
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
    (4194304,),
    (2048, 2048),
    (160, 160, 160),
    (48, 44, 44, 44),
    (24, 20, 20, 20, 20),
    (16, 12, 12, 12, 12, 12),
    (16, 8, 8, 8, 8, 8, 8),
    (8, 8, 8, 6, 6, 6, 6, 6),
)
"""Sizes with 1 to 8 axes of about four million elements, which are 16 MB of f32."""


def growth(is_small: bool = False) -> tuple[Workload, ...]:
    """Every workload of ``restride bench --growth``; with ``is_small`` only a few bytes and axes, as a test."""
    exponents, ranks = ((10, 12), (1, 3)) if is_small else (range(10, _MAX_EXPONENT + 1), range(1, 9))
    by_bytes = [
        of_line(f"{group}, {bytes_text(1 << exponent)}", group, _of_bytes(group, exponent))
        for group in BY_BYTES
        for exponent in exponents
    ]
    by_axes = [_permuted(f"{BY_AXES}, {rank}", BY_AXES, _BY_RANK[rank - 1], tuple(range(rank))[::-1]) for rank in ranks]
    return (*by_bytes, *by_axes)


def result_elements(workload: Workload) -> int:
    """Number of elements of a workload's result."""
    return workload.task.dst.numel


def result_bytes(workload: Workload) -> int:
    """Bytes of a workload's result."""
    return workload.task.dst.nbytes


def bytes_text(nbytes: int) -> str:
    """A power of two as text: ``64 KiB`` for 65536."""
    exponent = nbytes.bit_length() - 1
    return f"{1 << exponent % 10} {('B', 'KiB', 'MiB', 'GiB')[exponent // 10]}"


def _of_bytes(group: str, exponent: int) -> str:
    """The case with a result of ``2 ** exponent`` bytes of f32, with as many rows as columns or twice as many.

    Example: 2^13 bytes are 2^11 elements, 64 x 32.
    """
    elements = exponent - 2
    count, columns = 1 << elements, 1 << elements // 2
    rows = count // columns
    return {
        "copy": f"reorder f32[{count}] -> f32[{count}]",
        "transpose": f"reorder f32[{rows},{columns}] -> f32[{columns},{rows}] view=.permute(1,0)",
        "u8 -> f32": f"reorder u8[{count}] -> f32[{count}]",
        "bilinear, twice the size": f"resample f32[{rows // 2},{columns // 2}] -> f32[{rows},{columns}] mode=linear",
    }[group]
