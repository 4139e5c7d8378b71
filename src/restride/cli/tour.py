"""The operations of the demo: each with its source, its destination and the check against the numpy reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from restride import reference
from restride.arrays import asarray
from restride.cli.comparison import Comparison, compare_bits, compare_limits
from restride.desc import TensorDesc
from restride.device import Device
from restride.ops import reorder, strided_slice
from restride.resampling import resample
from restride.tensor import Tensor, empty

Array = npt.NDArray[Any]

FUSED_SIZES = (224, 224)
"""What many vision models read."""

_TAPS = {"nearest": 1, "linear": 4, "cubic": 16}
"""Source elements of an output, along two axes."""


@dataclass(frozen=True)
class Step:
    """One operation, ready to run again and again into the same destination.

    taps: source elements that one destination element needs, for the bytes it moves.
    """

    name: str
    src: Tensor
    dst: Tensor
    run: Callable[[], object]
    check: Callable[[Array], Comparison]
    taps: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of the elements that are read, at most once each, and of those written."""
        read = min(self.src.desc.numel, self.taps * self.dst.desc.numel)
        return (read + self.dst.desc.numel) * self.src.dtype.itemsize


@dataclass(frozen=True)
class Crop:
    """A window of an [height, width, 3] photograph, flipped: DirectML's offsets, sizes and strides."""

    offsets: tuple[int, int, int]
    sizes: tuple[int, int, int]
    strides: tuple[int, int, int] = (1, -1, 1)

    @classmethod
    def of(cls, height: int, width: int) -> Crop:
        """The upper five eighths, less a strip at the left."""
        left = width * 3 // 16
        return cls((0, left, 0), (height * 5 // 8, width - left, 3))

    @property
    def text(self) -> str:
        """As numpy writes it."""
        (rows, columns, _), (_, left, _) = self.sizes, self.offsets
        return f"x[:{rows}, {left}:{left + columns}][:, ::-1].permute(2, 0, 1)"

    def view(self, x: Tensor) -> Tensor:
        """The crop, flipped, channels first: three views, no dispatch."""
        (rows, columns, _), (_, left, _) = self.sizes, self.offsets
        return x[:rows, left : left + columns][:, ::-1].permute(2, 0, 1)


@dataclass(frozen=True, eq=False)
class Tour:
    """All steps; ``unfused`` does what ``fused`` does, one operation at a time."""

    steps: tuple[Step, ...]
    fused: Step
    unfused: tuple[Step, ...]
    crop: Crop


def make_tour(pixels: Array, device: Device) -> Tour:
    """The steps for a u8 photograph; those in f32 take it divided by 255."""
    crop = Crop.of(pixels.shape[0], pixels.shape[1])
    scaled = pixels.astype(np.float32) / np.float32(255)
    photo = asarray(scaled, device=device)
    as_u8 = _steps(pixels, asarray(pixels, device=device), crop)
    as_f32 = _steps(scaled, photo, crop)
    # From the photograph itself, through views, in one dispatch; and with each intermediate result in memory.
    planes_answer = reference.reorder(_cropped(scaled, crop), "HWC->CHW")
    fused = _resize("crop + flip + HWC->CHW + resize", crop.view(photo), planes_answer, FUSED_SIZES)
    unfused = (as_f32[0], as_f32[1], _resize("resize", as_f32[1].dst, planes_answer, FUSED_SIZES))
    return Tour((*as_u8, *as_f32, fused), fused, unfused, crop)


def _steps(pixels: Array, photo: Tensor, crop: Crop) -> list[Step]:
    window = (crop.offsets, crop.sizes, crop.strides)
    cropped_answer = _cropped(pixels, crop)
    planes_answer = reference.reorder(cropped_answer, "HWC->CHW")
    cropped = _packed(photo, cropped_answer)
    planes = _packed(photo, planes_answer)
    at_once = _packed(photo, planes_answer)
    rows, columns = planes_answer.shape[1:]
    down, up = (rows * 9 // 32, columns * 9 // 32), (rows * 5 // 2, columns * 5 // 2)
    return [
        Step(
            "crop + flip",
            strided_slice(photo, *window),
            cropped,
            lambda: strided_slice(photo, *window, out=cropped),
            lambda result: compare_bits(result, cropped_answer),
        ),
        Step(
            "HWC->CHW",
            cropped,
            planes,
            lambda: reorder(cropped, "HWC->CHW", out=planes),
            lambda result: compare_bits(result, planes_answer),
        ),
        Step(
            "crop + flip + HWC->CHW",
            crop.view(photo),
            at_once,
            lambda: reorder(crop.view(photo), out=at_once),
            lambda result: compare_bits(result, planes_answer),
        ),
        _resize("shrink", planes, planes_answer, down, "nearest"),
        _resize("shrink", planes, planes_answer, down, antialias=True),
        _resize("enlarge", planes, planes_answer, up, "nearest"),
        _resize("enlarge", planes, planes_answer, up),
        _resize("enlarge", planes, planes_answer, up, "cubic"),
    ]


def _resize(
    name: str, src: Tensor, source: Array, sizes: tuple[int, int], mode: str = "linear", antialias: bool = False
) -> Step:
    """A resample of ``src``, whose elements are those of ``source``, along its last two axes."""
    dst = empty(TensorDesc(src.dtype, (*src.sizes[:-2], *sizes)), src.device)
    asked: dict[str, Any] = {"mode": mode, "antialias": antialias}

    def check(result: Array) -> Comparison:
        answer = reference.resample(source, sizes, **asked)
        if mode == "nearest":
            return compare_bits(result, answer)
        return compare_limits(result, answer, *reference.resample_limits(source, sizes, **asked))

    return Step(
        f"{name}, {'antialiased' if antialias else mode}",
        src,
        dst,
        lambda: resample(src, sizes, **asked, out=dst),
        check,
        src.desc.numel if antialias else _TAPS[mode],
    )


def _cropped(pixels: Array, crop: Crop) -> Array:
    return reference.strided_slice(pixels, crop.offsets, crop.sizes, crop.strides)


def _packed(like: Tensor, answer: Array) -> Tensor:
    return empty(TensorDesc(like.dtype, answer.shape), like.device)
