"""Preprocess: turns images of any sizes into batches for a network, by one recipe, in one call or as a stream.

A recipe is checked once, before there is an image. Each image is then treated as one box: ``crop_resize`` resizes,
normalizes and lays it out. A stream starts the next results before the first is taken.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from enum import Enum
from functools import partial
from itertools import groupby
from typing import Any, Generic, Literal, NamedTuple, SupportsIndex, TypedDict, TypeVar, Unpack, overload

import numpy as np

from restride.arguments import as_numpy, check_keywords, flag, integer, list_arguments, require_word
from restride.arguments.pillow import is_file, is_pillow
from restride.dtypes import Array, DTypeLike, as_dtype
from restride.errors import FEWER_IMAGES, DescriptorError, ErrorContext, Message, advised, prefixed
from restride.kernel.shared_constants import MAX_CHANNELS
from restride.layout import TensorDesc
from restride.ops.crop_resize import Cut, cropped
from restride.ops.letterbox import PLACED_ROUNDINGS, Letterboxed, PlacedRounding, placed
from restride.ops.normalized import CLIP_MEAN, CLIP_STD, IMAGENET_MEAN, IMAGENET_STD
from restride.ops.quantize import warn_of_unit
from restride.ops.yuv import yuv_to_rgb
from restride.plan.yuv import FORMATS, checked
from restride.progress import Progress
from restride.request import Library, ModeName, Request, read_words
from restride.request.boxes import PLACES, LetterboxPlace, read_sizes
from restride.request.yuv import FormatName, MatrixName
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.images import imread, name_of
from restride.tensor.tensor import Tensor, as_device, empty

PRESETS: dict[str, dict[str, Any]] = {
    "imagenet": {
        "sizes": (224, 224),
        "shorter": 256,
        "mode": "bilinear",
        "like": "pillow",
        "mean": IMAGENET_MEAN,
        "std": IMAGENET_STD,
    },
    "clip": {
        "sizes": (224, 224),
        "shorter": 224,
        "mode": "bicubic",
        "like": "pillow",
        "mean": CLIP_MEAN,
        "std": CLIP_STD,
    },
    "yolo": {
        "sizes": (640, 640),
        "letterbox": "center",
        "fill": 114,
        "mode": "linear",
        "like": "opencv",
        "mean": (0.0, 0.0, 0.0),
        "std": (1.0, 1.0, 1.0),
    },
}
"""The recipes of torchvision's ResNet, OpenAI's CLIP and Ultralytics' YOLO, for three channels each, the length of
``mean``. ``fill`` is an element of u8."""

LAYOUTS: dict[str, tuple[int, ...]] = {"NCHW": (0, 2, 3, 1), "NHWC": (0, 1, 2, 3)}
"""For each layout of a batch, the positions of images, rows, columns and channels among its axes."""

PIXELS = ("rgb", "bgr")
"""Values of ``input`` for images that are pixels."""

_NORMALIZED = ("u8", "u16")
"""Integer types of pixels, for which a mean and std in units of [0, 1] make sense."""

_UNITS = {"u8": 1, "u16": 257}
"""For each of these types, the element that is as bright as 1 of u8."""

_CHANNELS_LAST = "np.moveaxis(image, -3, -1), of torch image.moveaxis(-3, -1)"
_SMALLER = "image.astype('uint8') where elements are 0 to 255, else floats of 0 to 1: image.astype('float32') / largest"
_PERMUTE = "`restride reorder --layout 'CHW->HWC'`"
_CONVERT = "`restride reorder --to f32` converts"
"""Remedies for unsuitable images, as error messages word them in Python, and for commands."""

_Read = TypeVar("_Read")
_Result = TypeVar("_Result")
_Pair = tuple[Tensor, Letterboxed]
Input = Literal["rgb", "bgr"] | FormatName
"""The kinds of images: pixels in an order of channels, or a YUV format."""

BatchLayout = Literal["NCHW", "NHWC"]
_Boxes = list[tuple[int, int, int, int]]


class PreprocessOptions(TypedDict, total=False):
    """Arguments of ``Preprocess`` except ``sizes``, and ``letterbox``, which decides what a call returns."""

    shorter: SupportsIndex | None
    rounding: PlacedRounding
    fill: Any
    mode: ModeName | int | Enum | None
    antialias: bool | None
    like: Library | None
    mean: Any
    std: Any
    input: Input
    matrix: MatrixName
    full_range: bool
    layout: BatchLayout
    dtype: DTypeLike
    depth: SupportsIndex
    device: Device | None


DEFAULTS: PreprocessOptions = {
    "shorter": None,
    "rounding": "nearest",
    "fill": 0,
    "mode": None,
    "antialias": None,
    "like": None,
    "mean": None,
    "std": None,
    "input": "rgb",
    "matrix": "bt601",
    "full_range": False,
    "layout": "NCHW",
    "dtype": "f32",
    "depth": 2,
    "device": None,
}
"""The defaults of the arguments of ``Preprocess``."""


class Changes(PreprocessOptions, total=False):
    """Arguments of ``Preprocess`` that may change a preset."""

    sizes: Iterable[SupportsIndex]


Preset = Literal["imagenet", "clip", "yolo"]


class _AnyChanges(Changes, total=False):
    letterbox: LetterboxPlace | None


class Preprocess(Generic[_Result]):
    """A recipe that turns images of any sizes into a batch for a network: resized, normalized, converted and laid out.

    A recipe keeps nothing of the images it was given. New sizes compile nothing, except with the library modes that
    docs/crop_resize.md names.

    Args:
        sizes: height and width of every result. Without ``shorter`` and ``letterbox`` images are stretched to them.
        shorter: images are resized so that their shorter side has this many pixels, the longer one rounded down, and
            their middle is cut out, as by torchvision's Resize and CenterCrop.
        letterbox: "center" or "top_left": images keep their aspect, and the rest is ``fill``, as in ``crop_resize``.
        rounding: how the rows and columns of a letterboxed image are rounded, each a product of f64 numbers: "nearest",
            halves to even, as by Ultralytics; "floor", as by YOLOX; "half_up", ``int(x + 0.5)``, as by SAM. With
            ``shorter``, how the corner of the middle is rounded, if an odd number of rows or columns is cut away:
            "nearest", as by torchvision's CenterCrop and so OpenAI's CLIP; "floor", as by transformers' image
            processors.
        fill: the value beside letterboxed images: one element, or one for each channel.
        mode: as in ``resample``.
        antialias: as in ``resample``.
        like: as in ``resample``.
        mean: one number, or one for each channel. Elements become ``(v - mean) / std``. Floats are taken as they are:
            those of 0 to 255 need a mean and a std in that unit; a warning says if elements of an array on the host are
            far above it. u8 and u16 are first divided by 255 or 65535, so neither mean nor std may be above 1. Images
            of other types that are no floats are refused. If ``mean`` and ``std`` are None, elements of any type are
            converted as they are.
        std: see ``mean``.
        input: what images are: "rgb", pixels [rows, columns, channels] as they are; "bgr", such pixels, whose channels
            are reversed; or "nv12", "nv21", "i420" or "yv12", frames as in ``yuv_to_rgb``.
        matrix: of YUV, as in ``yuv_to_rgb``.
        full_range: of YUV, as in ``yuv_to_rgb``.
        layout: "NCHW" or "NHWC", the order of the axes of the batch. (In ``crop_resize`` such a word alone changes the
            order in memory, and "NHWC->NCHW" moves axes.)
        dtype: element type of the batch. Images of f64 are interpolated in f32 if it is given as "f32".
        depth: how many results of a stream are started before the first of them is taken.
        device: where arrays are uploaded to; default: ``rs.default_device()``.

    Raises:
        DescriptorError: an unknown word, mode or library, sizes or a depth below 1, arguments that contradict each
            other or have no effect, or numbers that are not finite.
    """

    @overload
    def __init__(
        self: Preprocess[Tensor],
        sizes: Iterable[SupportsIndex],
        *,
        letterbox: None = None,
        **options: Unpack[PreprocessOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Preprocess[_Pair],
        sizes: Iterable[SupportsIndex],
        *,
        letterbox: LetterboxPlace,
        **options: Unpack[PreprocessOptions],
    ) -> None: ...

    @list_arguments(PreprocessOptions, DEFAULTS)
    def __init__(
        self,
        sizes: Iterable[SupportsIndex],
        *,
        letterbox: LetterboxPlace | None = None,
        **named: Unpack[PreprocessOptions],
    ) -> None:
        options: PreprocessOptions = {**DEFAULTS, **named}
        self._shorter = None if options["shorter"] is None else integer("shorter", options["shorter"])
        self._depth = integer("depth", options["depth"])
        options |= {"shorter": self._shorter, "depth": self._depth, "fill": _of_channels("fill", options["fill"])}
        given: object = sizes
        if isinstance(given, str):
            raise DescriptorError(
                f"sizes must be a height and a width, got {given!r}: rs.Preprocess.preset takes the name of a recipe"
            )
        self._sizes = read_sizes(sizes)
        _require_options(self._sizes, self._shorter, letterbox, options)
        if self._depth < 1:
            raise DescriptorError(f"depth must be 1 or more, got {self._depth}")
        self._call_text = _call_text(self._sizes, {"letterbox": letterbox, **options})
        options["mean"], options["std"] = _read_normal(options)
        self._letterbox = letterbox
        self._options = options
        self._takes = _accepted_images(self._sizes, options, says_type="dtype" in named)

    def __repr__(self) -> str:
        """The call that made it, without arguments that have their defaults."""
        return f"{type(self).__name__}({self._call_text})"

    @overload
    @classmethod
    def preset(cls, name: Literal["imagenet", "clip"], **changes: Unpack[Changes]) -> Preprocess[Tensor]: ...

    @overload
    @classmethod
    def preset(cls, name: Literal["yolo"], **changes: Unpack[Changes]) -> Preprocess[_Pair]: ...

    @classmethod
    def preset(cls, name: Preset, **changes: Unpack[_AnyChanges]) -> Preprocess[Any]:
        """The recipe "imagenet", "clip" or "yolo", with some of its arguments changed.

        A preset's own fill is in the unit of u8: u16 images have it times 257, and floats, of 0 to 1, divided by 255.

        Raises:
            DescriptorError: an unknown name.
        """
        require_word("preset", name, tuple(PRESETS))
        recipe = cls(**{**PRESETS[name], **changes})
        if "fill" in PRESETS[name] and "fill" not in changes:
            takes = recipe._takes
            together = frozenset(_NORMALIZED) if takes.is_normalized else takes.together
            recipe._takes = takes._replace(fill=PRESETS[name]["fill"], together=together)
        return recipe

    @partial(check_keywords, elsewhere={"the recipe has it: rs.Preprocess(sizes, ...)(images)": DEFAULTS})
    def __call__(self, images: Any, out: Tensor | None = None) -> _Result:
        """The batch of ``images``: one image, a list of them, or a batch with the images along axis 0.

        Args:
            images: each [rows, columns, channels], a frame, or a tuple of a frame's parts as in ``yuv_to_rgb``; arrays
                or Tensors of one type; with a mean or std, and no fill except a preset's, u8 and u16 may be mixed. With
                input "rgb" also files, by their paths, their bytes, or objects opened for reading bytes, which
                ``rs.imread`` reads in mode "rgb". For an iterator see ``stream``.
            out: where to write, packed and of the sizes, type and layout of the result.

        Returns:
            A Tensor; with ``letterbox`` a pair of it and a ``Letterboxed``, which maps points and boxes back to images.

        Raises:
            DescriptorError: images with other axes, an empty list, a file that cannot be read, or what ``crop_resize``
                and ``resample`` refuse; for a list the message says which image.
        """
        if isinstance(images, Iterator) and not is_file(images):
            raise DescriptorError(
                f"images must be an image, a list of them or a batch, not this {type(images).__name__}: stream(images) "
                f"takes what is iterated, and list(images) is a list"
            )
        with advised(FEWER_IMAGES):
            if not isinstance(images, list | tuple) or self._is_parts(images):
                pixels = self._read(images, 4)
                return self._result(pixels if pixels.desc.rank == 4 else pixels[None], out)
            read: list[Tensor] = []
            for place, image in enumerate(images):
                with prefixed(f"images[{place}]"):
                    read.append(self._read(image, 3))
            return self._result(read, out)

    def stream(self, images: Iterable[Any], batch: SupportsIndex = 1, progress: bool = False) -> Iterator[_Result]:
        """Yield the results of images as they come, ``batch`` images at a time; the last result may have fewer.

        While one result is read the next is uploaded and computed. Every result has memory of its own, which is reused
        once the result was dropped.

        Args:
            images: an iterable of images or frames; with a ``batch`` of 1 also of batches of them along axis 0, each of
                which gives a result of as many images.
            batch: images in a result.
            progress: show the count on stderr: a bar on a terminal (extra ``cli``), else a line every 15 seconds.

        Raises:
            DescriptorError: ``batch`` is below 1; or what a call refuses, and whatever ``images`` raises, once the
                results before it were taken. The message says which image of the stream is wrong.
        """
        together = integer("batch", batch)
        if together < 1:
            raise DescriptorError(f"batch must be 1 or more, got {batch}")
        given: object = images
        if not isinstance(given, Iterable) or is_file(given):
            raise DescriptorError(
                f"images must be an iterable of images, not this {type(images).__name__}: a file alone is [file]"
            )
        return self._streamed(images, together, flag("progress", progress))

    def _streamed(self, images: Iterable[object], together: int, progress: bool) -> Iterator[_Result]:
        total = len(images) if isinstance(images, Sized) else None
        with Progress(total, sys.stderr if progress else None) as shown, advised(FEWER_IMAGES):
            yield from streamed(
                images,
                lambda image: self._read(image, 4 if together == 1 else 3),
                lambda group: self._result(group[0] if group[0].desc.rank == 4 else group),
                together=together,
                depth=self._depth,
                step=lambda: shown.step("images"),
            )

    def _read(self, image: Any, most_axes: int) -> Tensor:
        """An image that can be resized, with the channels last; or a batch of such images, if ``most_axes`` is 4."""
        options = self._options
        if options["input"] == "rgb" and is_file(image):
            image = _pixels_in(image)
        _require_rgb(image)
        is_parts = self._is_parts(image)
        parts = [
            asarray(part, device=None if isinstance(part, Tensor) else options["device"])
            for part in (image if is_parts else [image])
        ]
        if options["input"] in FORMATS:
            frame = parts if is_parts else parts[0]
            tensor = yuv_to_rgb(frame, options["input"], options["matrix"], options["full_range"])
        else:
            tensor = parts[0]
        _require_image(tensor.desc, self._takes, most_axes)
        if self._takes.is_normalized and not is_parts:
            warn_of_unit(image, options["mean"], options["std"])
        return tensor[..., ::-1] if options["input"] == "bgr" else tensor

    def _is_parts(self, image: object) -> bool:
        return self._options["input"] in FORMATS and isinstance(image, tuple)

    def _result(self, pixels: list[Tensor] | Tensor, out: Tensor | None = None) -> _Result:
        """The result for a list of images, or for a batch."""
        _require_alike(pixels if isinstance(pixels, list) else [pixels], self._takes)
        batch = self._batch(len(pixels), pixels[0], out)
        extents = [(rows, columns) for rows, columns, _ in (pixels[at].sizes for at in range(len(pixels)))]
        boxes, places = [(0, 0, *extent) for extent in extents], self._places(extents)
        images = batch.permute(LAYOUTS[self._options["layout"]])
        for part in _runs_of_a_type(pixels) if isinstance(pixels, list) else [slice(None)]:
            self._crop(pixels[part], images[part], boxes[part], None if places is None else places[part])
        if self._letterbox is None:
            return batch  # type: ignore[return-value] # the overloads of __init__ say which type is returned
        letterboxed = Letterboxed(np.array(boxes), np.array(places), np.zeros((len(boxes), 2), np.bool_))
        return batch, letterboxed  # type: ignore[return-value] # as above

    def _crop(self, pixels: list[Tensor] | Tensor, out: Tensor, boxes: _Boxes, places: _Boxes | None) -> None:
        """Write images of one type to ``out``, with the axes images, rows, columns and channels."""
        is_list, options, own = isinstance(pixels, list), self._options, self._takes.fill
        dtype = pixels[0].dtype
        cut = Cut(
            boxes,
            self._sizes,
            images=None if is_list else range(len(boxes)),
            places=places,
            fill=options["fill"] if own is None else own / 255 if dtype.is_float else own * _UNITS[dtype.name],
            mean=options["mean"],
            std=options["std"],
        )
        cropped(pixels, out, (0, 1) if is_list else (1, 2), cut, _request(options))

    def _batch(self, count: int, image: Tensor, out: object) -> Tensor:
        """The tensor for the batch: ``out``, or a new one.

        Raises:
            DescriptorError: ``out`` has another layout.
        """
        order = LAYOUTS[self._options["layout"]]
        by_axis = dict(zip(order, (count, *self._sizes, image.sizes[-1]), strict=True))
        desc = TensorDesc(as_dtype(self._options["dtype"]), [by_axis[axis] for axis in range(len(order))])
        if out is None:
            return empty(desc, image.device)
        if not isinstance(out, Tensor) or out.desc != desc:
            got = getattr(out, "desc", type(out).__name__)
            raise DescriptorError(f"out must be a tensor {desc}, got {got}; rs.empty('{desc}') makes one")
        return out

    def _places(self, extents: Sequence[tuple[int, int]]) -> list[tuple[int, int, int, int]] | None:
        """The place of each image in its result; None: every image fills its result."""
        if self._shorter is not None:
            rounded = PLACED_ROUNDINGS[self._options["rounding"]]
            return [self._centred_place(self._shorter, extent, rounded) for extent in extents]
        if self._letterbox is None:
            return None
        return [placed(extent, self._sizes, self._letterbox, self._options["rounding"]) for extent in extents]

    def _centred_place(
        self, shorter: int, extents: Sequence[int], rounded: Callable[[float], int]
    ) -> tuple[int, int, int, int]:
        """The place y0, x0, y1, x1 of an image in the result, centred, if its shorter side becomes ``shorter``.

        With ``shorter`` 256 and sizes 224 x 224, an image of 480 x 640 becomes 256 x 341, of which the result shows
        columns 58 to 282: the place is -16, -58, 240, 283.
        """
        rows, columns = (shorter * extent // min(extents) for extent in extents)
        y, x = (-rounded((whole - size) / 2) for whole, size in zip((rows, columns), self._sizes, strict=True))
        return y, x, y + rows, x + columns


# Checks of a recipe: its words are known, its numbers fit, and every argument has an effect.


class _Accepted(NamedTuple):
    """Which images a recipe accepts.

    counted: for each argument, how many channels it has numbers for; 1 fits any image. together: the element types that
        the images of one list may mix. narrows: f64 is interpolated, in f32. fill: that of a preset, in the unit of u8.
    """

    counted: dict[str, int]
    is_normalized: bool
    is_interpolated: bool
    together: frozenset[str] = frozenset()
    narrows: bool = False
    fill: Any = None


def _require_options(
    sizes: tuple[int, int], shorter: int | None, letterbox: object, options: PreprocessOptions
) -> None:
    """Refuse unknown words, and arguments that contradict each other or have no effect.

    Raises:
        DescriptorError, UnsupportedError: as ``Preprocess`` says.
    """
    require_word("letterbox", letterbox, (None, *PLACES))
    require_word("rounding", options["rounding"], tuple(PLACED_ROUNDINGS))
    require_word("input", options["input"], (*PIXELS, *FORMATS))
    require_word("layout", options["layout"], tuple(LAYOUTS))
    if shorter is not None and letterbox is not None:
        raise DescriptorError(f"shorter {shorter} and letterbox {letterbox!r} contradict each other: give one")
    if shorter is not None and shorter < max(sizes):
        raise DescriptorError(f"shorter {shorter} must not be below either of sizes {sizes}")
    if letterbox is None and np.any(options["fill"]):
        raise DescriptorError(f"fill {options['fill']!r} has no effect without letterbox")
    if letterbox is None and shorter is None and options["rounding"] != "nearest":
        raise DescriptorError(f"rounding {options['rounding']!r} has no effect without letterbox and shorter")
    _require_colors(options["input"], options["matrix"], options["full_range"])
    if options["device"] is not None:
        as_device(options["device"])


def _of_channels(argument: str, value: object) -> Any:
    """``value`` as a number, or as a tuple with one number for each channel."""
    array = as_numpy(argument, value)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        raise DescriptorError(f"{argument} must be a number, or one for each channel, got {value!r}")
    return tuple(array.tolist()) if array.ndim else array.item()


def _read_normal(options: PreprocessOptions) -> tuple[Any, Any]:
    """``mean`` and ``std``, each None, a number or a tuple of one for each channel.

    Raises:
        DescriptorError: a number that is not finite, a ``std`` of 0, or a ``dtype`` of integers, which lose fractions.
    """
    mean, std = options["mean"], options["std"]
    dtype = as_dtype(options["dtype"])
    both = []
    for argument, value in (("mean", mean), ("std", std)):
        read = None if value is None else _of_channels(argument, value)
        if read is not None and not (np.isfinite(read).all() and (argument == "mean" or np.all(read))):
            raise DescriptorError(f"{argument} must be finite, and std not 0, got {value!r}")
        both.append(read)
    if (mean is not None or std is not None) and not dtype.is_float:
        raise DescriptorError(f"mean and std make floats: dtype must be a float, got {dtype}")
    return both[0], both[1]


def _accepted_images(sizes: tuple[int, int], options: PreprocessOptions, *, says_type: bool) -> _Accepted:
    """Which images a recipe with these options accepts. says_type: the caller gave ``dtype``.

    Raises:
        DescriptorError: no library, or not the one that is named, has the mode.
    """
    counted = {name: np.size(options[name]) for name in ("mean", "std", "fill") if options[name] is not None}
    if options["input"] == "bgr":
        counted["input 'bgr'"] = 3
    with ErrorContext(f"a recipe of sizes {sizes}"):
        request, _ = read_words(_request(options), "u8")
    is_normalized = options["mean"] is not None or options["std"] is not None
    has_one_unit = is_normalized and not np.any(options["fill"])
    # A list may mix u8 and u16 if mean and std bring both to 0 to 1. A fill other than 0 is an element of one of them.
    together = frozenset(_NORMALIZED) if has_one_unit else frozenset[str]()
    narrows = says_type and as_dtype(options["dtype"]) == "f32"
    return _Accepted(counted, is_normalized, request.mode != "nearest", together, narrows)


def _request(options: PreprocessOptions) -> Request:
    return Request(mode=options["mode"], antialias=options["antialias"], like=options["like"])


def _call_text(sizes: tuple[int, int], arguments: dict[str, Any]) -> str:
    """The arguments as the text of a call, without those that have their defaults."""
    defaults = {"letterbox": None, **DEFAULTS}
    arguments = {**arguments, "dtype": as_dtype(arguments["dtype"]).name}
    texts = {name: " ".join(repr(value).split()) for name, value in arguments.items()}
    changed = [f"{name}={text}" for name, text in texts.items() if text != repr(defaults[name])]
    return ", ".join([repr(sizes), *changed])


# Checks of images against a recipe.


def _require_rgb(image: Any) -> None:
    """Refuse a Pillow image with palette indices, inks, gray or alpha, or with a transparent colour."""
    if not is_pillow(image):
        return
    alpha = " with a transparent colour" if "transparency" in image.info else ""
    if image.mode != "RGB" or alpha:
        raise DescriptorError(
            f"an image of Pillow must have mode 'RGB' and no alpha, not {image.mode!r}{alpha}: rs.to_rgb(image) makes "
            f"it so and keeps 16 bits, rs.imread(path, mode='rgb') reads files so, and np.asarray(image) is taken as is"
        )


def _pixels_in(file: Any) -> Array:
    """The pixels of an image file, as RGB.

    Raises:
        DescriptorError: it cannot be read.
    """
    try:
        return imread(file, "rgb")
    except OSError as error:
        raise DescriptorError(f"cannot read {name_of(file)}: {error.strerror or error}") from error


def _require_image(desc: TensorDesc, takes: _Accepted, most_axes: int) -> None:
    """Refuse an image [rows, columns, channels] that the recipe does not accept.

    Args:
        desc: the image, or a batch of them along axis 0, where ``most_axes`` is 4.
        takes: what the recipe accepts.
        most_axes: most axes that ``desc`` may have.
    """
    if desc.rank == 2:
        count = max(takes.counted.values(), default=1)
        gray = "image[..., None]" if count == 1 else f"np.stack([image] * {count}, axis=-1)"
        rule = f"an image must have rows, columns and channels, not {desc}"
        raise DescriptorError(Message.of(rule, f": one without channels is given as {gray}"))
    if desc.rank == 4 > most_axes:
        raise DescriptorError(
            f"an image must have rows, columns and channels, not {desc}: give a batch alone, not in a list, and in "
            f"a stream only with batch=1"
        )
    if not 3 <= desc.rank <= most_axes or not desc.numel:
        raise DescriptorError(f"an image must have rows, columns and channels, not {desc}")
    for name, count in takes.counted.items():
        if count not in (1, desc.sizes[-1]):
            rule = f"an image must have {count} channels, its last axis, as {name} says: {desc}"
            raise DescriptorError(Message.of(rule, _remedy(desc, count)))
    if desc.sizes[-3] <= MAX_CHANNELS < min(desc.sizes[-2:]):
        rule = f"an image must have rows, columns and channels, and the channels of {desc} seem to stand first"
        raise DescriptorError(Message.of(rule, f": {_CHANNELS_LAST}, puts them last", f": {_PERMUTE} puts them last"))
    _require_type(desc, takes)


def _require_type(desc: TensorDesc, takes: _Accepted) -> None:
    dtype = desc.dtype
    if takes.is_normalized and not dtype.is_float and dtype.name not in _NORMALIZED:
        rule = (
            f"mean and std go with images of floats, as they are, and of {' and '.join(_NORMALIZED)}, as if in "
            f"[0, 1], not of {dtype}: {desc}"
        )
        raise DescriptorError(Message.of(rule, f"; {_SMALLER}", f"; {_CONVERT}"))
    if takes.is_interpolated and dtype.itemsize == 8 and not (dtype == "f64" and takes.narrows):
        remedy = "image.astype('float32'), or a recipe with dtype='f32'" if dtype.is_float else _SMALLER
        rule = f"images of {dtype} are resized by mode 'nearest' alone: {desc}; "
        raise DescriptorError(Message.of(rule, remedy, _CONVERT))
    if takes.fill is not None and not dtype.is_float and dtype.name not in _UNITS:
        raise DescriptorError(
            Message.of(
                f"the preset's fill {takes.fill} fits u8, u16 and floats of 0 to 1, and this image is {desc}: give ",
                "fill=",
                "--fill",
            )
        )


def _require_alike(images: Sequence[Tensor], takes: _Accepted) -> None:
    """Refuse images that cannot share a batch, and an empty list."""
    if not images:
        raise DescriptorError("images must have at least one image, got none")
    first = images[0]
    for place, image in enumerate(images):
        is_of_type = image.dtype == first.dtype or {image.dtype.name, first.dtype.name} <= takes.together
        if not is_of_type or image.sizes[-1] != first.sizes[-1]:
            raise DescriptorError(
                f"images[{place}] {image.desc} must have the type and the channels, its last axis, of images[0] "
                f"{first.desc}"
            )
        if image.device is not first.device:
            raise DescriptorError(
                f"images[{place}] {image.desc} lies on {image.device!r}, and images[0] {first.desc} on "
                f"{first.device!r}: Preprocess(device=...) says where arrays go, and tensor.numpy() copies"
            )


def _runs_of_a_type(images: list[Tensor]) -> Iterator[slice]:
    """Yield runs of neighbours with the same element type, as slices of the list."""
    start = 0
    for _, run in groupby(images, key=lambda image: image.dtype.name):
        stop = start + len(list(run))
        yield slice(start, stop)
        start = stop


def _remedy(desc: TensorDesc, count: int) -> str:
    """The end of an error message, which says how to give an image ``count`` channels; may be empty."""
    if desc.sizes[-3] == count:
        return f"; channels that stand first go last by {_CHANNELS_LAST}"
    if desc.sizes[-1] == count + 1:
        return f"; image[..., :{count}] leaves out the last one, such as alpha"
    return f"; image[..., {[0] * count}] makes as many of gray" if desc.sizes[-1] == 1 else ""


def _require_colors(input: str, matrix: object, full_range: object) -> None:  # noqa: A002 - public name
    if input in FORMATS:
        checked(input, matrix, full_range, None)
    elif not (isinstance(matrix, str) and matrix == "bt601" and full_range is False):
        raise DescriptorError(f"matrix {matrix!r} and full_range {full_range} have no effect with input {input!r}")


# Streams.


def streamed(
    images: Iterable[object],
    read: Callable[[Any], _Read],
    make: Callable[[list[_Read]], _Result],
    *,
    together: int,
    depth: int,
    step: Callable[[], None],
) -> Iterator[_Result]:
    """Yield results of ``together`` images each, the last perhaps with fewer; ``depth`` are started ahead.

    An error in ``images``, ``read`` or ``make`` is raised after everything before it was computed and taken: for 7
    images in pairs with the sixth wrong, that is two pairs and the fifth alone. Errors of restride name the image.

    Args:
        images: the source of images.
        read: returns an image as ``make`` takes it.
        make: starts the result of a group of images.
        together: images in a result.
        depth: most results that are started and not taken.
        step: called once for each image whose result is started.
    """
    started: deque[_Result] = deque()
    source = enumerate(images)
    first = 0
    failure: Exception | None = None
    try:
        while failure is None:
            group, failure = _group(source, read, together)
            if not group:
                break
            last = first + len(group) - 1
            try:
                with prefixed(
                    f"image {last} of the stream" if last == first else f"images {first} to {last} of the stream"
                ):
                    started.append(make(group))
            except Exception as error:  # noqa: BLE001 - any error is raised after the started results
                failure = error
                break
            for _ in range(len(group)):
                step()
            group.clear()  # free the uploads while the caller uses the result
            first = last + 1
            if len(started) == depth:
                yield started.popleft()
        while started:
            yield started.popleft()
        if failure is not None:
            raise failure
    finally:
        failure = None  # the error refers to this frame, and this frame to it: break the cycle


def _group(
    source: Iterator[tuple[int, Any]], read: Callable[[Any], _Read], together: int
) -> tuple[list[_Read], Exception | None]:
    """The next images, at most ``together``, and the error that ended the input; None: no error."""
    group: list[_Read] = []
    try:
        while len(group) < together:
            place, image = next(source, (None, None))
            if place is None:
                break
            with prefixed(f"image {place} of the stream"):
                group.append(read(image))
    except Exception as error:  # noqa: BLE001 - the caller raises it after the results before it
        return group, error
    return group, None
