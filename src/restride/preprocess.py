"""Preprocess: images of any sizes to batches for a network, by one recipe, one call or a stream."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from typing import Any, Literal, Self, SupportsIndex

import numpy as np

from restride.arrays import asarray
from restride.cropping import crop_resize
from restride.crops.letterbox import PLACES
from restride.desc import TensorDesc
from restride.device import Device
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError
from restride.integers import counts, integer
from restride.presets import PRESETS
from restride.profiles import chosen
from restride.progress import Progress
from restride.resampling import resample
from restride.sampling.choice import require_choice
from restride.scales import value_range
from restride.tensor import Tensor, empty
from restride.video import yuv_to_rgb
from restride.yuv import FORMATS, checked

LAYOUTS = {"NCHW": (0, 2, 3, 1), "NHWC": (0, 1, 2, 3)}
"""Layouts of a batch, and its axes in the order images, rows, columns, channels."""

_PIXELS = ("rgb", "bgr")


class Preprocess:
    """Images of any sizes to a batch for a network: resized, normalized, of another type and layout.

    A recipe keeps nothing of the images it was given. Without ``like`` new sizes compile nothing.

    Args:
        sizes: height and width of every result. Without ``shorter`` and ``letterbox`` images are stretched to them.
        shorter: images are resized until their shorter side has so many pixels, the longer one rounded down, and
            the middle of that is taken, as torchvision's Resize and CenterCrop do.
        letterbox: "center" or "top_left": images keep their aspect, and the rest is ``fill``, as in ``crop_resize``.
        fill: beside letterboxed images: one element, or one for each channel.
        mode: as in ``resample``.
        antialias: as in ``resample``.
        like: as in ``resample``.
        mean: as in ``crop_resize``: in the unit of floats, or as if integers were in [0, 1]. None, and no ``std``:
            elements are converted as they are.
        std: see ``mean``.
        input: what images are: "rgb", pixels as they come, or "bgr", pixels whose channels are turned round, rows,
            columns, channels; or "nv12", "nv21", "i420" or "yv12", frames of ``yuv_to_rgb``.
        matrix: of YUV, as in ``yuv_to_rgb``.
        full_range: of YUV, as in ``yuv_to_rgb``.
        layout: "NCHW" or "NHWC", the axes of the batch.
        dtype: element type of the batch.
        depth: results of a stream that are started before the first of them is taken.
        device: where arrays go; default: ``rs.default_device()``.

    Raises:
        DescriptorError: an unknown word, sizes or a depth below 1, arguments that contradict each other or have no
            effect, or numbers that are not finite.
        UnsupportedError: an unknown mode or library.
    """

    def __init__(
        self,
        sizes: Iterable[SupportsIndex],
        *,
        shorter: SupportsIndex | None = None,
        letterbox: Literal["center", "top_left"] | None = None,
        fill: Any = 0,
        mode: str | None = None,
        antialias: bool | None = None,
        like: str | None = None,
        mean: Any = None,
        std: Any = None,
        input: str = "rgb",  # noqa: A002 - as ffmpeg and networks have it
        matrix: str = "bt601",
        full_range: bool = False,
        layout: str = "NCHW",
        dtype: Any = "f32",
        depth: SupportsIndex = 2,
        device: Device | None = None,
    ) -> None:
        self._sizes = counts("sizes", sizes)
        if len(self._sizes) != 2 or 0 in self._sizes:
            raise DescriptorError(f"sizes must be a height and a width of 1 or more, got {self._sizes}")
        for argument, value, known in (
            ("letterbox", letterbox, (None, *PLACES)),
            ("input", input, (*_PIXELS, *FORMATS)),
            ("layout", layout, tuple(LAYOUTS)),
        ):
            if value not in known:
                raise DescriptorError(f"{argument} must be one of {', '.join(map(repr, known))}, not {value!r}")
        self._shorter = None if shorter is None else integer("shorter", shorter)
        if self._shorter is not None and letterbox is not None:
            raise DescriptorError(f"shorter {shorter} and letterbox {letterbox!r} contradict each other: give one")
        if self._shorter is not None and self._shorter < max(self._sizes):
            raise DescriptorError(f"shorter {shorter} must not be below either of sizes {self._sizes}")
        if letterbox is None and np.any(fill):
            raise DescriptorError(f"fill {fill!r} has no effect without letterbox")
        if input in FORMATS:
            checked(input, matrix, full_range, None)
        elif (matrix, full_range) != ("bt601", False):
            raise DescriptorError(f"matrix {matrix!r} and full_range {full_range} have no effect with input {input!r}")
        _require_filter(self._sizes, like, {"mode": mode, "antialias": antialias})
        _require_normal(mean, std, as_dtype(dtype))
        self._depth = integer("depth", depth)
        if self._depth < 1:
            raise DescriptorError(f"depth must be 1 or more, got {depth}")
        self._letterbox = letterbox
        self._fill = fill
        self._filter: dict[str, Any] = {"mode": mode, "antialias": antialias, "like": like}
        self._mean, self._std = mean, std
        self._input = input
        self._yuv: dict[str, Any] = {"matrix": matrix, "full_range": full_range}
        self._order = LAYOUTS[layout]
        self._dtype = as_dtype(dtype)
        self._device = device

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """One of ``PRESETS``, "imagenet", "clip" or "yolo", with some of its arguments changed.

        Raises:
            DescriptorError: an unknown name.
        """
        if name not in PRESETS:
            raise DescriptorError(f"preset must be one of {', '.join(map(repr, PRESETS))}, not {name!r}")
        return cls(**{**PRESETS[name], **changes})

    def __call__(self, images: Any, out: Any = None) -> Any:
        """The batch of ``images``: one, a list of them, or a batch with the images along axis 0.

        Args:
            images: each rows, columns, channels, or a frame; arrays or Tensors of one type.
            out: where to write, packed and of the sizes, type and layout of the result.

        Returns:
            A Tensor; letterboxed also a ``Letterboxed``, which brings points and boxes back to the images.

        Raises:
            DescriptorError: images of other axes, a list of none, or what ``crop_resize`` and ``resample`` refuse.
        """
        pixels = self._pixels(images)
        is_list = isinstance(pixels, list)
        count = len(pixels) if is_list else pixels.sizes[0]
        if not count:
            raise DescriptorError("images must have one, got none")
        batch = self._batch(count, pixels[0], out)
        by_pixels = batch.permute(self._order)
        if self._shorter is not None:
            with batch.device.batch():
                for place in range(count):
                    self._crop(pixels[place], by_pixels[place], self._shorter)
            return batch
        made: Any = crop_resize(
            pixels,
            [(0, 0, *pixels[place].sizes[:2]) for place in range(count)],
            self._sizes,
            letterbox=self._letterbox,
            images=None if is_list else range(count),
            axes=(0, 1) if is_list else (1, 2),
            fill=self._fill,
            mean=self._mean,
            std=self._std,
            out=by_pixels,
            **self._filter,
        )
        return batch if self._letterbox is None else (batch, made[1])

    def stream(self, images: Iterable[Any], batch: SupportsIndex = 1, progress: bool = False) -> Iterator[Any]:
        """Results for images as they come, ``batch`` at a time, the last one perhaps fewer.

        While one result is read the next is uploaded and computed. Every result has memory of its own, which is taken
        again once it was dropped.

        Args:
            images: an iterable of images or frames.
            batch: images of a result.
            progress: show on standard error how many are done.

        Raises:
            DescriptorError: ``batch`` is below 1, or what a call refuses, at the image that is wrong.
        """
        together = integer("batch", batch)
        if together < 1:
            raise DescriptorError(f"batch must be 1 or more, got {batch}")
        return self._streamed(images, together, progress)

    def _streamed(self, images: Iterable[Any], together: int, progress: bool) -> Iterator[Any]:
        total = len(images) if isinstance(images, Sized) else None
        shown = Progress(total, sys.stderr if progress else None)
        started: deque[Any] = deque()
        source = iter(images)
        try:
            while group := list(islice(source, together)):
                started.append(self(group))
                for _ in group:
                    shown.step("images")
                if len(started) == self._depth:
                    yield started.popleft()
            yield from started
        finally:
            shown.clear()

    def _pixels(self, images: Any) -> Any:
        """Images as they are resized, channels last: a list of tensors, or one of four axes."""
        if isinstance(images, list | tuple):
            return [self._read(image, (3,)) for image in images]
        tensor = self._read(images, (3, 4))
        return tensor if tensor.desc.rank == 4 else tensor[None]

    def _read(self, image: Any, ranks: tuple[int, ...]) -> Tensor:
        tensor = asarray(image, device=None if isinstance(image, Tensor) else self._device)
        if self._input in FORMATS:
            tensor = yuv_to_rgb(tensor, self._input, **self._yuv)
        if tensor.desc.rank not in ranks or not tensor.desc.numel:
            raise DescriptorError(f"an image must have rows, columns and channels, not {tensor.desc}")
        channels = tensor.sizes[-1]
        named = {"mean": self._mean, "std": self._std, "fill": self._fill}
        counted = {name: np.size(value) for name, value in named.items() if value is not None}
        if self._input == "bgr":
            counted["input 'bgr'"] = 3
        for name, count in counted.items():
            if count not in (1, channels):
                its = f"{count} channels, its last axis, as {name} says"
                raise DescriptorError(f"an image must have {its}: {tensor.desc}")
        return tensor[..., ::-1] if self._input == "bgr" else tensor

    def _batch(self, count: int, image: Tensor, out: Any) -> Tensor:
        """Where the results go.

        Raises:
            DescriptorError: ``out`` is laid out otherwise.
        """
        sizes = [0] * 4
        for axis, size in zip(self._order, (count, *self._sizes, image.sizes[-1]), strict=True):
            sizes[axis] = size
        desc = TensorDesc(self._dtype, sizes)
        if out is None:
            return empty(desc, image.device)
        if not isinstance(out, Tensor) or out.desc != desc:
            raise DescriptorError(f"out must be a tensor {desc}, got {getattr(out, 'desc', type(out).__name__)}")
        return out

    def _crop(self, image: Tensor, out: Tensor, shorter: int) -> None:
        """The middle of an image whose shorter side becomes ``shorter``: 480 x 640 to 256 x 341, columns 58 to 282."""
        extents = image.sizes[:2]
        resized = [shorter * extent // min(extents) for extent in extents]
        begins = [round((whole - size) / 2) for whole, size in zip(resized, self._sizes, strict=True)]
        window = [slice(begin, begin + size) for begin, size in zip(begins, self._sizes, strict=True)]
        numbers = self._numbers(image.desc)
        resample(image, resized, axes=(0, 1), window=window, out=out, **self._filter, **numbers)

    def _numbers(self, src: TensorDesc) -> dict[str, Any]:
        """``mean`` and ``std`` as ``crop_resize`` takes them: a product and a sum for integers."""
        if self._mean is None and self._std is None:
            return {}
        mean = np.asarray(0.0 if self._mean is None else self._mean, np.float64)
        std = np.asarray(1.0 if self._std is None else self._std, np.float64)
        if src.dtype.is_float:
            return {"src_zero_point": mean, "dst_scale": std}
        return {"src_scale": 1 / (value_range(src.dtype)[1] * std), "dst_zero_point": -mean / std}


def _require_filter(sizes: tuple[int, ...], like: Any, given: dict[str, Any]) -> None:
    """Refuse what no library, or not this one, has."""

    def where() -> str:
        return f"a recipe of sizes {sizes}"

    choice, rules = chosen(like, given, "u8", where)
    if rules is None:
        require_choice(choice, where)


def _require_normal(mean: Any, std: Any, dtype: DType) -> None:
    """Refuse numbers that normalize nothing, and integers as a result of them."""
    for argument, value in (("mean", mean), ("std", std)):
        if value is not None and not (np.isfinite(value).all() and (argument == "mean" or np.all(value))):
            raise DescriptorError(f"{argument} must be finite, and std not 0, got {value!r}")
    if (mean is not None or std is not None) and not dtype.is_float:
        raise DescriptorError(f"mean and std make floats, and dtype is {dtype}")
