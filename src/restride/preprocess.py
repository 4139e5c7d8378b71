"""Preprocess: images of any sizes to batches for a network, by one recipe, one call or a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from inspect import signature
from typing import Any, Generic, Literal, SupportsIndex, TypeVar, Unpack, overload

from restride import recipe
from restride.arrays import asarray
from restride.cropping import crop_resize
from restride.crops.boxes import read_sizes
from restride.crops.letterbox import Letterboxed
from restride.crops.run import NO_CHOICE, Asked, crop
from restride.device import Device
from restride.dtypes import as_dtype
from restride.errors import DescriptorError
from restride.integers import integer
from restride.presets import PRESETS
from restride.progress import Progress
from restride.recipe import Options
from restride.streaming import naming, streamed
from restride.tensor import Tensor, empty
from restride.video import yuv_to_rgb
from restride.words import require_word
from restride.yuv import FORMATS

_Made = TypeVar("_Made")
_Pair = tuple[Tensor, Letterboxed]
_Place = Literal["center", "top_left"]


class Preprocess(Generic[_Made]):
    """Images of any sizes to a batch for a network: resized, normalized, of another type and layout.

    A recipe keeps nothing of the images it was given. New sizes compile nothing, but for the ways of a library that
    docs/crop_resize.md names.

    Args:
        sizes: height and width of every result. Without ``shorter`` and ``letterbox`` images are stretched to them.
        shorter: images are resized until their shorter side has so many pixels, the longer one rounded down, and
            the middle of that is taken, as torchvision's Resize and CenterCrop do.
        letterbox: "center" or "top_left": images keep their aspect, and the rest is ``fill``, as in ``crop_resize``.
        fill: beside letterboxed images: one element, or one for each channel.
        mode: as in ``resample``.
        antialias: as in ``resample``.
        like: as in ``resample``.
        mean: one number, or one for each channel. Elements become ``(v - mean) / std``: floats as they are, so that
            those of 0 to 255 need a mean and a std of that unit, and u8 and u16 as if they were in [0, 1], divided by
            255 or 65535, so that neither is above 1. Images of other types are refused then. None, and no ``std``:
            elements are converted as they are, of any type.
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

    @overload
    def __init__(
        self: Preprocess[Tensor], sizes: Iterable[SupportsIndex], *, letterbox: None = None, **options: Unpack[Options]
    ) -> None: ...

    @overload
    def __init__(
        self: Preprocess[_Pair], sizes: Iterable[SupportsIndex], *, letterbox: _Place, **options: Unpack[Options]
    ) -> None: ...

    def __init__(
        self,
        sizes: Iterable[SupportsIndex],
        *,
        shorter: SupportsIndex | None = None,
        letterbox: _Place | None = None,
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
        options: Options = {
            "shorter": shorter,
            "fill": recipe.of_channels("fill", fill),
            "mode": mode,
            "antialias": antialias,
            "like": like,
            "mean": mean,
            "std": std,
            "input": input,
            "matrix": matrix,
            "full_range": full_range,
            "layout": layout,
            "dtype": dtype,
            "depth": depth,
            "device": device,
        }
        self._sizes = read_sizes(sizes)
        recipe.require_options(self._sizes, letterbox, options)
        self._mean, self._std = recipe.require_normal(options)
        self._takes = recipe.taken(self._sizes, self._mean, self._std, options)
        self._said = recipe.written(self._sizes, {"letterbox": letterbox, **options}, signature(Preprocess.__init__))
        self._shorter = None if shorter is None else integer("shorter", shorter)
        self._depth = integer("depth", depth)
        self._letterbox = letterbox
        self._fill = options["fill"]
        self._filter: dict[str, Any] = {"mode": mode, "antialias": antialias, "like": like}
        self._input = input
        self._yuv: dict[str, Any] = {"matrix": matrix, "full_range": full_range}
        self._order = recipe.LAYOUTS[layout]
        self._dtype = as_dtype(dtype)
        self._device = device

    def __repr__(self) -> str:
        """The call that made it, without arguments that have their defaults."""
        return f"{type(self).__name__}({self._said})"

    @overload
    @classmethod
    def preset(cls, name: Literal["imagenet", "clip"], **changes: Unpack[Options]) -> Preprocess[Tensor]: ...

    @overload
    @classmethod
    def preset(cls, name: Literal["yolo"], **changes: Unpack[Options]) -> Preprocess[_Pair]: ...

    @overload
    @classmethod
    def preset(cls, name: str, **changes: Any) -> Preprocess[Any]: ...

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Preprocess[Any]:
        """The recipe "imagenet", "clip" or "yolo", with some of its arguments changed. A fill of its own is for u8.

        Raises:
            DescriptorError: an unknown name.
        """
        require_word("preset", name, tuple(PRESETS))
        made = cls(**{**PRESETS[name], **changes})
        if "fill" not in changes:
            made._takes = made._takes._replace(fill=PRESETS[name].get("fill"))
        return made

    def __call__(self, images: Any, out: Tensor | None = None) -> _Made:
        """The batch of ``images``: one, a list of them, or a batch with the images along axis 0.

        Args:
            images: each rows, columns, channels, or a frame, or a tuple of a frame's parts as in ``yuv_to_rgb``; arrays
                or Tensors of one type. ``stream`` takes what is iterated.
            out: where to write, packed and of the sizes, type and layout of the result.

        Returns:
            A Tensor; letterboxed also a ``Letterboxed``, which brings points and boxes back to the images.

        Raises:
            DescriptorError: images of other axes, a list of none, or what ``crop_resize`` and ``resample`` refuse; of
                a list the message says which one.
        """
        if isinstance(images, Iterator):
            raise DescriptorError(
                f"images must be an image, a list of them or a batch, not this {type(images).__name__}: stream(images) "
                f"takes what is iterated, and list(images) is a list"
            )
        if not isinstance(images, list | tuple) or self._is_parts(images):
            pixels = self._read(images, 4)
            return self._made(pixels if pixels.desc.rank == 4 else pixels[None], out)
        read: list[Tensor] = []
        for place, image in enumerate(images):
            with naming(f"images[{place}]"):
                read.append(self._read(image, 3))
        return self._made(read, out)

    def stream(self, images: Iterable[Any], batch: SupportsIndex = 1, progress: bool = False) -> Iterator[_Made]:
        """Results for images as they come, ``batch`` at a time, the last one perhaps fewer.

        While one result is read the next is uploaded and computed. Every result has memory of its own, which is taken
        again once it was dropped.

        Args:
            images: an iterable of images or frames; with a ``batch`` of 1 also of batches of them, along axis 0, whose
                results are as large.
            batch: images of a result.
            progress: show on standard error how many are done: a bar on a terminal, elsewhere a line every 15 seconds.

        Raises:
            DescriptorError: ``batch`` is below 1; or what a call refuses, and whatever ``images`` raises, once the
                results before it were taken. The message says which image of the stream is wrong.
        """
        together = integer("batch", batch)
        if together < 1:
            raise DescriptorError(f"batch must be 1 or more, got {batch}")
        if not isinstance(images, Iterable):
            raise DescriptorError(f"images must be an iterable of images, not this {type(images).__name__}")
        return self._streamed(images, together, progress)

    def _streamed(self, images: Iterable[Any], together: int, progress: bool) -> Iterator[_Made]:
        total = len(images) if isinstance(images, Sized) else None
        shown = Progress(total, sys.stderr if progress else None)
        try:
            yield from streamed(
                images,
                lambda image: self._read(image, 4 if together == 1 else 3),
                lambda group: self._made(group[0] if group[0].desc.rank == 4 else group),
                together=together,
                depth=self._depth,
                step=lambda: shown.step("images"),
            )
        finally:
            shown.clear()

    def _read(self, image: Any, most_axes: int) -> Tensor:
        """An image as it is resized, channels last; or a batch of them, where it may have four axes."""
        recipe.require_rgb(image)
        parts = [
            asarray(part, device=None if isinstance(part, Tensor) else self._device)
            for part in (image if self._is_parts(image) else [image])
        ]
        pixels: Any = parts if self._is_parts(image) else parts[0]
        tensor: Tensor = yuv_to_rgb(pixels, self._input, **self._yuv) if self._input in FORMATS else pixels
        recipe.require_image(tensor.desc, self._takes, most_axes)
        return tensor[..., ::-1] if self._input == "bgr" else tensor

    def _is_parts(self, image: Any) -> bool:
        return self._input in FORMATS and isinstance(image, tuple)

    def _made(self, pixels: list[Tensor] | Tensor, out: Tensor | None = None) -> _Made:
        """The result for a list of images, or for a batch."""
        is_list = isinstance(pixels, list)
        count = len(pixels)
        recipe.require_alike(pixels if isinstance(pixels, list) else [pixels])
        batch = self._batch(count, pixels[0], out)
        by_pixels = batch.permute(self._order)
        if self._shorter is not None:
            self._crop(pixels, by_pixels, self._shorter)
            return batch  # type: ignore[return-value]
        of_boxes: Any = crop_resize(
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
        return batch if self._letterbox is None else (batch, of_boxes[1])  # type: ignore[return-value]

    def _batch(self, count: int, image: Tensor, out: Any) -> Tensor:
        """Where the results go.

        Raises:
            DescriptorError: ``out`` is laid out otherwise.
        """
        desc = recipe.batch_desc(self._dtype, self._order, (count, *self._sizes, image.sizes[-1]))
        if out is None:
            return empty(desc, image.device)
        if not isinstance(out, Tensor) or out.desc != desc:
            its = getattr(out, "desc", type(out).__name__)
            raise DescriptorError(f"out must be a tensor {desc}, got {its}; rs.empty('{desc}') makes one")
        return out

    def _crop(self, pixels: list[Tensor] | Tensor, out: Tensor, shorter: int) -> None:
        """The middles of images whose shorter side becomes ``shorter``: 480 x 640 to 256 x 341, columns 58 to 282."""
        is_list = isinstance(pixels, list)
        boxes, places = [], []
        for place in range(out.sizes[0]):
            extents = pixels[place].sizes[:2]
            rows, columns = (shorter * extent // min(extents) for extent in extents)
            y, x = (round((size - whole) / 2) for whole, size in zip((rows, columns), self._sizes, strict=True))
            boxes.append((0, 0, *extents))
            places.append((y, x, y + rows, x + columns))
        asked = Asked(
            (0, 1) if is_list else (1, 2),
            None if is_list else range(len(boxes)),
            like=self._filter["like"],
            choice={**NO_CHOICE, "mode": self._filter["mode"], "antialias": self._filter["antialias"]},
            mean=self._mean,
            std=self._std,
            places=places,
        )
        crop(pixels, boxes, self._sizes, asked, out)
