"""The judges, libraries that ``rs.resample`` is compared with, and their ways of resizing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.dtypes import DTypeName
from restride.request import Library

Array = npt.NDArray[Any]

Resize = Callable[[Array, tuple[int, int]], Array]
"""Pixels of sizes [rows, columns] or [rows, columns, channels], resized to (rows, columns) in C order."""


def any_sizes(_before: tuple[int, ...], _after: tuple[int, ...]) -> bool:
    """Accept all sizes, for a library that is right for all of them."""
    return True


@dataclass(frozen=True)
class Way:
    """A library's way of resizing: a row of the table without its direction.

    mode: its name in the table. dtype: type of the pixels. arguments: of ``rs.resample``, besides ``like``. resize: the
    library's function. channels: numbers of channels; 1 means arrays of two axes. result: element type of the result;
    default: that of the pixels. largest: longest axis of its images, small for slow libraries. against: the type that
    the library computes in, if it is not that of the pixels. takes: True for sizes, before and after, for which the
    library is right.
    """

    mode: str
    dtype: str
    arguments: Mapping[str, Any]
    resize: Resize
    channels: tuple[int, ...] = (1, 2, 3, 4)
    result: DTypeName | None = None
    largest: int = 600
    against: str = ""
    takes: Callable[[tuple[int, ...], tuple[int, ...]], bool] = any_sizes

    @property
    def type(self) -> str:
        """The type of the pixels, as the table names it."""
        return f"{self.dtype}, against {self.against}" if self.against else self.dtype

    def key(self, like: str, seed: int = 0) -> str:
        """The key that determines its images: "pillow bicubic u8", with the seed appended if it is not 0."""
        return f"{like} {self.mode} {self.type}" + (f" {seed}" if seed else "")


@dataclass(frozen=True)
class Judge:
    """An installed library: its name for ``like`` of ``rs.resample``, its pip name, its version and its ways."""

    like: Library
    package: str
    version: str
    ways: tuple[Way, ...] = field(repr=False)

    def of_rows(self, text: str) -> Judge:
        """The judge with only the ways whose mode and type contain ``text``, such as "cubic u8"."""
        return replace(self, ways=tuple(way for way in self.ways if text in f"{way.mode} {way.type}"))


def judges_of(like: str | None) -> tuple[list[Judge], list[str]]:
    """The installed judges, of all libraries or of one, and the pip names of those that are not installed."""
    judges, missing = [], []
    for name, (package, module, ways) in JUDGES.items():
        if like not in (None, name):
            continue
        try:
            installed = import_module(module)
        except ImportError:
            missing.append(package)
        else:
            judges.append(Judge(name, package, installed.__version__, tuple(ways())))
    return judges, missing


# torch: ``interpolate`` on the CPU, for bytes, for floats, and for the same floats in float64.


def _torch_ways() -> Iterator[Way]:
    for dtype in ("u8", "f32"):
        for mode in ("nearest", "nearest-exact"):
            yield Way(mode, dtype, {"mode": mode}, partial(_by_torch, mode=mode))
    filters = [(mode, option) for option in ("", "align_corners", "antialias") for mode in ("bilinear", "bicubic")]
    for dtype, against in (("u8", ""), ("f32", "f64"), ("f32", "f32")):
        for mode, option in (*filters, *([("area", "")] if dtype == "f32" else [])):
            options: dict[str, Any] = {option: True} if option else {}
            arguments = {"coordinates": option} if option == "align_corners" else options
            yield Way(
                ", ".join((mode, *options)),
                dtype,
                {"mode": mode, **arguments},
                partial(_by_torch, mode=mode, is_wide=against == "f64", **options),
                against=against,
                takes=_is_large if dtype == "u8" else _has_columns if option == "antialias" else any_sizes,
            )


def _is_large(_before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """False for a result of one pixel, for which torch raises an internal error with u8 and three channels."""
    return after != (1, 1)


def _has_columns(_before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """False for a result of one column, for which torch's antialiased floats repeat their first row."""
    return after[1] > 1


def _by_torch(x: Array, sizes: tuple[int, int], *, is_wide: bool = False, **options: Any) -> Array:
    """Resize with torch, in float64 if ``is_wide``."""
    import torch

    planes = torch.from_numpy(np.ascontiguousarray(np.atleast_3d(x).transpose(2, 0, 1)))[None]
    result = torch.nn.functional.interpolate(planes.double() if is_wide else planes, sizes, **options)[0].numpy()
    return np.ascontiguousarray(result.transpose(1, 2, 0).reshape(*sizes, *x.shape[2:]))


# ONNX: the reference implementation of Resize-19 in its package, which computes in float64, element by element.


def _onnx_ways() -> Iterator[Way]:
    # The reference implementation takes 0.1 ms for each element, so images are small.
    way = partial(Way, channels=(1,), largest=20, takes=_is_right_for_onnx)
    for dtype in ("u8", "f32"):
        yield way("nearest", dtype, {}, _by_onnx("nearest"))
    for mode, option in (
        ("linear", ""),
        ("cubic", ""),
        ("linear", "antialias"),
        ("cubic", "antialias"),
        ("cubic", "exclude_outside"),
    ):
        options = {option: True} if option else {}
        yield way(", ".join((mode, *options)), "f32", {"mode": mode, **options}, _by_onnx(mode, **options))


def _is_right_for_onnx(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """False for sizes at which ONNX rounds a coordinate inconsistently, and applies weights to the wrong elements.

    10 -> 14: output 10 reads at 7.000000000000001, a little past element 7, but with elements 5, 6, 7 and 8. After two
    elements of padding are added in front, the coordinate is 9.0, which counts as the last element to its left.
    """
    for old, new in zip(before, after, strict=True):
        places = [2 * ((output + 0.5) / (new / old) - 0.5) for output in range(new)]  # doubled: a half becomes odd
        if any(abs(place - round(place)) < 1e-9 and not place.is_integer() for place in places):
            return False
    return True


def _by_onnx(mode: str, **options: bool) -> Resize:
    """A function that resizes with a model of one Resize node."""
    from onnx import parser
    from onnx.reference import ReferenceEvaluator

    attributes = ", ".join((f'mode = "{mode}"', *(f"{name} = 1" for name in options)))
    head, ends = '<ir_version: 9, opset_import: ["" : 19]>', "(float[a] x, int64[b] sizes) => (float[c] y)"
    evaluator = ReferenceEvaluator(
        parser.parse_model(f"{head} resize {ends} {{ y = Resize <{attributes}> (x, , , sizes) }}")
    )

    def resize(x: Array, sizes: tuple[int, int]) -> Array:
        (result,) = evaluator.run(None, {"x": x, "sizes": np.array(sizes, np.int64)})
        return np.ascontiguousarray(result)

    return resize


# Pillow: u8 with one to four independent bands, I;16, I and F.

_PILLOW_MODES = {1: "L", 2: "La", 3: "RGB", 4: "CMYK"}
"""Pillow's modes by channels. LA and RGBA premultiply colours by alpha, as ``rs.compat.pil`` does but not ``like``."""


def _pillow_ways() -> Iterator[Way]:
    for dtype, channels in (("u8", (1, 2, 3, 4)), ("u16", (1,)), ("s32", (1,)), ("f32", (1,))):
        for name in ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"):
            yield Way(name, dtype, {"mode": name}, partial(_by_pillow, name=name), channels)


def _by_pillow(x: Array, sizes: tuple[int, int], *, name: str) -> Array:
    from PIL import Image

    if x.dtype == np.uint8:
        mode = _PILLOW_MODES[1 if x.ndim == 2 else x.shape[2]]
        image = Image.frombytes(mode, (x.shape[1], x.shape[0]), x.tobytes())
    else:
        image = Image.fromarray(x)
    return np.ascontiguousarray(image.resize(sizes[::-1], Image.Resampling[name.upper()]))


# OpenCV: every interpolation of ``cv2.resize``, for four element types.


def _opencv_ways() -> Iterator[Way]:
    for dtype in ("u8", "u16", "s16", "f32"):
        for mode in ("nearest", "nearest_exact", "linear", "linear_exact", "area", "cubic", "lanczos4"):
            takes = _has_small_cells if mode == "area" and dtype != "u8" else any_sizes
            yield Way(mode, dtype, {"mode": mode}, partial(_by_opencv, mode=mode), takes=takes)


_MAX_OF_CELL = 256
"""Maximum number of 16-bit elements whose sum f32 holds exactly."""


def _has_small_cells(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """False for whole factors with large cells, which OpenCV sums in f32 one element after the other.

    The mean of 600 x 600 elements of u16 that are all 40000 becomes 39955.
    """
    is_whole = not any(old % new for old, new in zip(before, after, strict=True))
    return not is_whole or math.prod(before) // math.prod(after) <= _MAX_OF_CELL


def _by_opencv(x: Array, sizes: tuple[int, int], *, mode: str) -> Array:
    import cv2

    interpolation = getattr(cv2, f"INTER_{mode.upper()}")
    return np.ascontiguousarray(cv2.resize(x, sizes[::-1], interpolation=interpolation))


# scikit-image: ``skimage.transform.resize``, which returns float64, so that u8 is compared before rounding.


def _skimage_ways() -> Iterator[Way]:
    for dtype in ("u8", "f32"):
        yield Way("nearest", dtype, {"mode": "nearest"}, partial(_by_skimage, order=0))
        for words, antialias in (("bilinear", False), ("bilinear, antialias", True)):
            arguments = {"mode": "bilinear", "antialias": antialias}
            resize = partial(_by_skimage, order=1, anti_aliasing=antialias)
            yield Way(words, dtype, arguments, resize, result="f32")


def _by_skimage(x: Array, sizes: tuple[int, int], *, order: int, anti_aliasing: bool = False) -> Array:
    from skimage import transform

    result: Any = transform.resize(x, sizes, order=order, anti_aliasing=anti_aliasing, preserve_range=True)
    return np.ascontiguousarray(result)


JUDGES: dict[Library, tuple[str, str, Callable[[], Iterator[Way]]]] = {
    "torch": ("torch", "torch", _torch_ways),
    "onnx": ("onnx", "onnx", _onnx_ways),
    "pillow": ("Pillow", "PIL", _pillow_ways),
    "opencv": ("opencv-python-headless", "cv2", _opencv_ways),
    "scikit-image": ("scikit-image", "skimage", _skimage_ways),
}
"""For each value of ``like``: the pip name of the library, its module, and the function that yields its ways."""
