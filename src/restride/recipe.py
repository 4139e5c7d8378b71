"""Recipe: what ``Preprocess`` may be told, checked once, before there is an image."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Signature
from typing import Any, NamedTuple, SupportsIndex, TypedDict

import numpy as np

from restride.crops.letterbox import PLACES
from restride.desc import TensorDesc
from restride.device import Device
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError
from restride.integers import integer
from restride.profiles import chosen
from restride.sampling.choice import require_choice
from restride.tensor import Tensor
from restride.words import require_word
from restride.yuv import FORMATS, checked

LAYOUTS = {"NCHW": (0, 2, 3, 1), "NHWC": (0, 1, 2, 3)}
"""Layouts of a batch, and its axes in the order images, rows, columns, channels."""

PIXELS = ("rgb", "bgr")
"""What images of pixels may be."""

_NORMALIZED = ("u8", "u16")
"""Integers that pixels are, so that mean and std as if they were in [0, 1] mean something."""

_CHANNELS_LAST = "np.moveaxis(image, -3, -1), of torch image.moveaxis(-3, -1),"
_SMALLER = "image.astype('uint8') where elements are 0 to 255, else floats of 0 to 1: image.astype('float32') / largest"
"""What to do with an image, in the words of errors."""

_MOST_CHANNELS = 4
"""Of a pixel: an image of so few rows and more channels is one whose channels stand first."""


class Options(TypedDict, total=False):
    """Arguments of ``Preprocess`` beside ``sizes``, and ``letterbox``, which says what a call returns."""

    shorter: SupportsIndex | None
    fill: Any
    mode: str | None
    antialias: bool | None
    like: str | None
    mean: Any
    std: Any
    input: str
    matrix: str
    full_range: bool
    layout: str
    dtype: Any
    depth: SupportsIndex
    device: Device | None


class Takes(NamedTuple):
    """Which images a recipe is for.

    counted: how many channels an argument speaks of; of 1, it speaks of any. fill: that a preset has in the unit of u8.
    """

    counted: dict[str, int]
    is_normalized: bool
    is_interpolated: bool
    fill: Any = None


def require_options(sizes: tuple[int, int], letterbox: Any, options: Options) -> None:
    """Refuse words that are unknown, and arguments that contradict each other or have no effect.

    Raises:
        DescriptorError, UnsupportedError: as ``Preprocess`` says.
    """
    require_word("letterbox", letterbox, (None, *PLACES))
    require_word("input", options["input"], (*PIXELS, *FORMATS))
    require_word("layout", options["layout"], tuple(LAYOUTS))
    shorter = options["shorter"]
    if shorter is not None and letterbox is not None:
        raise DescriptorError(f"shorter {shorter} and letterbox {letterbox!r} contradict each other: give one")
    if shorter is not None and integer("shorter", shorter) < max(sizes):
        raise DescriptorError(f"shorter {shorter} must not be below either of sizes {sizes}")
    if letterbox is None and np.any(options["fill"]):
        raise DescriptorError(f"fill {options['fill']!r} has no effect without letterbox")
    _require_colors(options["input"], options["matrix"], options["full_range"])
    if integer("depth", options["depth"]) < 1:
        raise DescriptorError(f"depth must be 1 or more, got {options['depth']}")
    device = options["device"]
    if device is not None and not isinstance(device, Device):
        raise DescriptorError(f"device must be a restride.Device, got {device!r}; restride.Device opens one by name")


def of_channels(argument: str, value: Any) -> Any:
    """A number, or a tuple of one for each channel, of whatever holds them."""
    try:
        given = np.asarray(value)
    except ValueError as error:  # lists of several lengths
        raise DescriptorError(f"{argument} must be a number, or one for each channel: {error}") from error
    if given.dtype.kind not in "biuf" or given.ndim > 1:
        raise DescriptorError(f"{argument} must be a number, or one for each channel, got {value!r}")
    return tuple(given.tolist()) if given.ndim else given.item()


def require_normal(options: Options) -> tuple[Any, Any]:
    """``mean`` and ``std``, each None, a number or a tuple of one for each channel.

    Raises:
        DescriptorError: no finite numbers, a ``std`` of 0, or a ``dtype`` of integers, which would lose them.
    """
    mean, std = options["mean"], options["std"]
    its_dtype = as_dtype(options["dtype"])
    made = []
    for argument, value in (("mean", mean), ("std", std)):
        given = None if value is None else of_channels(argument, value)
        if given is not None and not (np.isfinite(given).all() and (argument == "mean" or np.all(given))):
            raise DescriptorError(f"{argument} must be finite, and std not 0, got {value!r}")
        made.append(given)
    if (mean is not None or std is not None) and not its_dtype.is_float:
        raise DescriptorError(f"mean and std make floats, and dtype is {its_dtype}")
    return made[0], made[1]


def batch_desc(dtype: DType, order: Sequence[int], sizes: Sequence[int]) -> TensorDesc:
    """A batch whose axes ``order`` counts images, rows, columns and channels, of these sizes: NCHW of 2, 8, 9, 3."""
    by_axis = dict(zip(order, sizes, strict=True))
    return TensorDesc(dtype, [by_axis[axis] for axis in range(len(sizes))])


def taken(sizes: tuple[int, int], mean: Any, std: Any, options: Options) -> Takes:
    """What images must be.

    Raises:
        UnsupportedError: no library, or not the one that is named, has the mode.
    """
    named = {"mean": mean, "std": std, "fill": options["fill"]}
    counted = {name: np.size(value) for name, value in named.items() if value is not None}
    if options["input"] == "bgr":
        counted["input 'bgr'"] = 3

    def where() -> str:
        return f"a recipe of sizes {sizes}"

    given = {"mode": options["mode"], "antialias": options["antialias"]}
    choice, rules = chosen(options["like"], given, "u8", where)
    if rules is None:
        require_choice(choice, where)
    return Takes(counted, mean is not None or std is not None, choice.mode != "nearest")


def written(sizes: tuple[int, int], given: dict[str, Any], known: Signature) -> str:
    """Arguments as a call has them, without those that are the defaults."""
    given = {**given, "dtype": as_dtype(given["dtype"]).name}
    texts = {name: " ".join(repr(value).split()) for name, value in given.items()}
    said = [f"{name}={text}" for name, text in texts.items() if text != repr(known.parameters[name].default)]
    return ", ".join([repr(sizes), *said])


def require_rgb(image: Any) -> None:
    """Refuse an image of Pillow whose channels are no red, green and blue: places in a palette, inks, gray."""
    mode = getattr(image, "mode", "RGB")
    if mode != "RGB" and hasattr(image, "convert"):
        raise DescriptorError(
            f"an image of Pillow must have mode 'RGB', not {mode!r}: image.convert('RGB') has it, and "
            f"np.asarray(image) is taken as it is"
        )


def require_image(desc: TensorDesc, takes: Takes, most_axes: int) -> None:
    """Refuse an image, rows, columns, channels, that the recipe is not for.

    Args:
        desc: the image, or a batch of them along axis 0, where ``most_axes`` is 4.
        takes: what the recipe is for.
        most_axes: that an image may have.
    """
    if desc.rank == 2:
        raise DescriptorError(
            f"an image must have rows, columns and channels, not {desc}: one without channels is given as "
            f"image[..., None]"
        )
    if desc.rank == 4 > most_axes:
        raise DescriptorError(
            f"an image must have rows, columns and channels, not {desc}: a batch goes by itself, not in a list, and "
            f"in a stream with batch=1"
        )
    if not 3 <= desc.rank <= most_axes or not desc.numel:
        raise DescriptorError(f"an image must have rows, columns and channels, not {desc}")
    for name, count in takes.counted.items():
        if count not in (1, desc.sizes[-1]):
            its = f"{count} channels, its last axis, as {name} says"
            raise DescriptorError(f"an image must have {its}: {desc}{_remedy(desc, count)}")
    if desc.sizes[-3] <= _MOST_CHANNELS < min(desc.sizes[-2:]):
        raise DescriptorError(
            f"an image must have rows, columns and channels, and those of {desc} seem to stand first: "
            f"{_CHANNELS_LAST} puts them last"
        )
    _require_type(desc, takes)


def _require_type(desc: TensorDesc, takes: Takes) -> None:
    dtype = desc.dtype
    if takes.is_normalized and not dtype.is_float and dtype.name not in _NORMALIZED:
        raise DescriptorError(
            f"mean and std go with images of floats, as they are, and of {' and '.join(_NORMALIZED)}, as if in "
            f"[0, 1], not of {dtype}: {desc}; {_SMALLER}"
        )
    if takes.is_interpolated and dtype.itemsize == 8:
        its = "image.astype('float32')" if dtype.is_float else _SMALLER
        raise DescriptorError(f"images of {dtype} are resized by mode 'nearest' alone: {desc}; {its}")
    if takes.fill is not None and dtype != "u8":
        raise DescriptorError(
            f"the preset's fill {takes.fill} is of u8, and this image is {desc}: give fill={takes.fill} / 255 for "
            f"floats of 0 to 1, and fill={takes.fill} * 257 for u16"
        )


def require_alike(images: Sequence[Tensor]) -> None:
    """Refuse images that cannot be of one batch, and none at all."""
    if not images:
        raise DescriptorError("images must have one, got none")
    first = images[0]
    for place, image in enumerate(images):
        if (image.dtype, image.sizes[-1]) != (first.dtype, first.sizes[-1]):
            raise DescriptorError(
                f"images[{place}] {image.desc} must have the type and the channels, its last axis, of images[0] "
                f"{first.desc}"
            )
        if image.device is not first.device:
            raise DescriptorError(
                f"images[{place}] {image.desc} lies on {image.device!r}, and images[0] {first.desc} on "
                f"{first.device!r}: Preprocess(device=...) says where arrays go, and tensor.numpy() copies"
            )


def _remedy(desc: TensorDesc, count: int) -> str:
    """What to do with an image of other channels than ``count``."""
    if desc.sizes[-3] == count:
        return f"; channels that stand first go last by {_CHANNELS_LAST}"
    if desc.sizes[-1] == count + 1:
        return f"; image[..., :{count}] leaves out the last one, such as alpha"
    return f"; image[..., {[0] * count}] makes as many of gray" if desc.sizes[-1] == 1 else ""


def _require_colors(input: str, matrix: Any, full_range: Any) -> None:  # noqa: A002 - its name
    if input in FORMATS:
        checked(input, matrix, full_range, None)
    elif not (isinstance(matrix, str) and matrix == "bt601" and full_range is False):
        raise DescriptorError(f"matrix {matrix!r} and full_range {full_range} have no effect with input {input!r}")
