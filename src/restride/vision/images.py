"""Read the images that callers pass, Pillow's, arrays, tensors and files, as rows, columns and channels of u8.

Modes and alpha are converted on the host; those of Pillow's images by Pillow itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from restride.arguments.pillow import ImageFile, PillowImage, is_file, is_pillow, pillow_errors, require_read_right
from restride.dtypes import Array
from restride.errors import DescriptorError, Message, UnsupportedError, prefixed, shown, warn_caller
from restride.tensor.arrays import TensorLike, host_array
from restride.tensor.images import decode_image, name_of, pillow
from restride.tensor.tensor import Tensor
from restride.vision.options import Options
from restride.vision.picture import SourceImage

ImageLike: TypeAlias = TensorLike | ImageFile
"""An image of Pillow, an array or tensor of any library, or a file."""

_CHANNELS = (1, 3, 4)
"""An axis of one of these sizes may be the channels."""


class Image(NamedTuple):
    """An image as [rows, columns, channels] of u8. Floats of 0 to 1 were multiplied by 255 and truncated.

    name: what errors call it: its number in the call, and its file.
    """

    elements: Array | Tensor
    source: SourceImage
    name: str = ""

    @classmethod
    def of(cls, elements: Array | Tensor, dtype: str = "uint8", *, floats: bool = False) -> Image:
        """The image with these elements, whose type was ``dtype``."""
        height, width, channels = elements.shape
        return cls(elements, SourceImage(height, width, channels, floats, dtype=dtype))


def read_images(images: object, options: Options, first: int = 0) -> tuple[list[Image], list[int] | None]:
    """The images of a call: an image, a batch along the first axis, a list of them or a list of lists.

    first: the number of the first image, in what errors call it.

    Returns the images one by one, and the number of images of each sample, or None if images are not in samples.

    Raises:
        DescriptorError: there is no image, or something is not an image; the message says which.
    """
    samples, single = _apart(images)
    if not single:
        raise DescriptorError(f"images must hold at least one image, got {shown(images)}")
    read = []
    for place, image in enumerate(single, first):
        number = f"images[{place}]"
        file = name_of(image) if is_file(image) else getattr(image, "filename", "") if is_pillow(image) else ""
        name = f"{number} ({file})" if file else number
        with prefixed(number if is_file(image) else name):  # errors of reading name the file already
            read.append(read_image(image, options)._replace(name=name))
    return read, samples


def _apart(images: Any) -> tuple[list[int] | None, list[Any]]:
    """The number of images of each sample, or None if images are not in samples; and the images themselves.

    Samples are lists in a list, or arrays of 4 axes in a list.
    """
    are_samples = isinstance(images, list | tuple) and bool(images) and all(map(_is_several, images))
    counts: list[int] = []
    single: list[Any] = []
    for sample in images if are_samples else [images]:
        before = len(single)
        for member in sample if isinstance(sample, list | tuple) else [sample]:
            with prefixed(f"images[{len(single)}]"):
                single.extend(_array_of(member) if _is_batch(member) else [member])
        counts.append(len(single) - before)
    return (counts if are_samples else None), single


def _is_several(images: object) -> bool:
    return isinstance(images, list | tuple) or _is_batch(images)


def _is_batch(images: object) -> bool:
    """True for an array or a tensor of 4 axes."""
    return _is_array(images) and getattr(images, "ndim", 3) == 4


def _is_array(image: object) -> bool:
    """True for an array or a tensor of any library."""
    is_array = any(hasattr(image, name) for name in ("__array__", "__dlpack__"))
    return is_array and not is_pillow(image) and not isinstance(image, type)


def read_image(image: Any, options: Options) -> Image:
    """One image, converted to RGB or with its own channels, as the options say.

    Source: transformers, PilBackend.process_image.

    Raises:
        DescriptorError: it is no image, cannot be read or decoded, has another number of axes or no axis of channels,
            or has elements outside 0 to 255.
    """
    if is_file(image):
        image = opened(image)
    if is_pillow(image):
        with pillow_errors():
            require_read_right(image, deep=False)
            array = rgb(image) if options.do_convert_rgb else np.asarray(image)
        return _as_bytes(array[:, :, None] if array.ndim == 2 else array)
    if isinstance(image, list | tuple):
        raise DescriptorError("a list beside images is no image: pass a list of images, or a list of lists alone")
    if not _is_array(image):
        raise DescriptorError(
            f"an image must be of Pillow, an array, a tensor or a path, got {shown(image)} ({type(image).__name__}); "
            f"the bytes and the file object of an image file are read as a path is"
        )
    elements = _array_of(image)
    if isinstance(elements, Tensor):
        return _resident(elements, options)
    array = np.moveaxis(elements, channel_axis(elements.shape, options.input_data_format), -1)
    if array.dtype.kind not in "iuf":
        raise DescriptorError(f"an image must have integers or floats, got {array.dtype}: convert it to u8 or f32")
    return _as_bytes(_rgb_of_array(array) if options.do_convert_rgb else array)


def _array_of(image: Any) -> Array | Tensor:
    """An array or tensor of any library as a numpy array; a ``Tensor`` as it is.

    Raises:
        DescriptorError: the elements cannot be read, for example because the tensor is sparse or has no memory.
    """
    if isinstance(image, Tensor):
        return image
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(image, torch.Tensor):
        image = image.detach()
        if image.dtype is torch.bfloat16:
            image = image.float()
        if image.device.type not in ("cpu", "meta"):
            image = image.cpu()
    return host_array(image)


def channel_axis(sizes: Sequence[int], data_format: str | None = None) -> int:
    """The axis of the channels: the first one if it has 1, 3 or 4 elements, else the last one if that has.

    By this rule, 3 rows are taken for 3 channels, unless ``input_data_format`` in the configuration says otherwise.

    Source: transformers, image_utils.infer_channel_dimension_format.

    Raises:
        DescriptorError: there are not 3 axes, or neither the first nor the last one has 1, 3 or 4 elements.
    """
    if len(sizes) != 3:
        hint = ": image[..., None] has one channel" if len(sizes) == 2 else ""
        raise DescriptorError(f"an image must have 3 axes, got sizes {tuple(sizes)}{hint}")
    if data_format is not None:
        return 2 if data_format == "channels_last" else 0
    for axis in (0, 2):
        if sizes[axis] in _CHANNELS:
            return axis
    raise DescriptorError(f"an image must have 1, 3 or 4 channels on its first or last axis, got sizes {tuple(sizes)}")


def opened(file: ImageFile) -> Any:
    """The image of a file, of its bytes or of a file object as RGB, rotated as EXIF says; alpha is dropped.

    Source: transformers, image_utils.load_image.

    Raises:
        DescriptorError: there is no such file, it cannot be read, or Pillow cannot convert it.
        UnsupportedError: ``file`` is an address of the network, or Pillow is not installed.
    """
    if isinstance(file, str) and file.startswith(("http://", "https://", "data:")):
        raise UnsupportedError(f"images are not fetched, got {shown(file)}: pass a path or an opened image")
    name = name_of(file)
    try:
        image = decode_image(file, _upright, others=", and images that PIL.Image.open has read are taken")
    except OSError as error:
        raise DescriptorError(f"cannot read the image {name!r}: {error.strerror or error}") from error
    with pillow_errors():
        return _converted(image, f"the image {name!r}")


def _upright(image: PillowImage, *_: object) -> Any:
    from PIL import ImageOps

    require_read_right(image, deep=False)
    return ImageOps.exif_transpose(image)


def rgb(image: PillowImage) -> Array:
    """A Pillow image as RGB. Alpha or a transparent colour is blended over white, in Pillow's integer arithmetic.

    Source: transformers, image_transforms.convert_to_rgb.
    """
    if "A" not in image.getbands() and image.info.get("transparency") is None:
        return np.asarray(image if image.mode == "RGB" else _converted(image, "an image of Pillow"))
    image = image.convert("RGBA")
    white = pillow().new("RGBA", image.size, (255, 255, 255, 255))
    return np.asarray(pillow().alpha_composite(white, image).convert("RGB"))


def _converted(image: PillowImage, name: str) -> PillowImage:
    """A Pillow image as Pillow converts it to RGB; warns where the conversion makes elements of 16 bits white."""
    if image.mode.startswith("I") and np.asarray(image).max() > 255:
        warn_caller(
            Message.of(
                f"{name} has 16 bits, and Pillow's conversion to RGB, which transformers calls, makes elements above "
                f"255 white: ",
                "x = rs.imread(path, mode='rgb') keeps them, and (x >> 8).astype(np.uint8) makes 8 bits of them",
                "make 8 bits of them first",
            )
        )
    return image.convert("RGB")


def _rgb_of_array(array: Array) -> Array:
    """An array of rows, columns and channels as RGB: one channel is repeated, four are blended over white in f64.

    Source: transformers, image_transforms.convert_to_rgb, whose rule differs from Pillow's.
    """
    channels = array.shape[2]
    if channels == 1:
        return np.broadcast_to(array, (*array.shape[:2], 3))
    if channels != 4:
        return array
    if array.dtype.kind == "f":
        if array.size and (array.min() < 0.0 or array.max() > 1.0):
            raise DescriptorError(f"floats with alpha must be 0 to 1, got {array.min()} to {array.max()}")
        white = 1.0
    else:
        white = 255
    alpha = array[..., 3:4] / white
    blended = alpha * array[..., :3] + (1 - alpha) * white
    return (np.round(blended) if white == 255 else blended).astype(array.dtype)


def _as_bytes(array: Array) -> Image:
    """The elements as u8: they are integers or whole floats of 0 to 255, or floats of 0 to 1, which are scaled by 255.

    Source: transformers, image_transforms.resize and to_pil_image.

    Raises:
        DescriptorError: an image without pixels, or elements outside these ranges.
    """
    if not array.size:
        raise DescriptorError(f"an image must have pixels, got sizes {array.shape}")
    if array.dtype == np.uint8:
        return Image.of(array)
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= 255):
        remedy = ": (image >> 8).astype(np.uint8) makes 8 bits of 16" if array.dtype == np.uint16 else ""
        rule = f"elements of an image must be 0 to 255, got {low} to {high} of {array.dtype}"
        raise DescriptorError(Message.of(rule, remedy))
    if array.dtype.kind != "f" or np.allclose(array, array.astype(int)):
        return Image.of(array.astype(np.uint8), array.dtype.name)
    if high > 1:
        raise DescriptorError(f"floats of an image must be 0 to 1, or whole and 0 to 255, got {low} to {high}")
    scaled = (array.astype(np.float64) * 255).astype(np.float32)
    return Image.of(scaled.astype(np.uint8), array.dtype.name, floats=True)


def _resident(image: Tensor, options: Options) -> Image:
    """An image that is on the device already, as a view of it.

    Raises:
        DescriptorError: the axes are wrong, or there are no pixels.
        UnsupportedError: elements are not u8; or four channels are to become RGB, as alpha is blended over white on the
            host only.
    """
    axis = channel_axis(image.sizes, options.input_data_format)
    view = image if axis == 2 else image.permute(1, 2, 0)
    if image.dtype != "u8" or (options.do_convert_rgb and view.sizes[2] == 4):
        raise UnsupportedError(f"an image on the device must be u8 without alpha, got {image.desc}: pass .numpy()")
    if not image.desc.numel:
        raise DescriptorError(f"an image must have pixels, got {image.desc}")
    if options.do_convert_rgb and view.sizes[2] == 1:
        view = view.broadcast_to(*view.sizes[:2], 3)
    return Image.of(view)
