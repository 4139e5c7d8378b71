"""Pillow's ``Image.resize`` with its arguments, for Pillow images, numpy arrays and restride tensors."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from operator import index
from typing import Any

import numpy as np

from restride.arguments import check_keywords
from restride.arguments.pillow import PillowImage, is_pillow, require_read_right
from restride.dtypes import Array
from restride.errors import DescriptorError, UnsupportedError
from restride.ops.perform import perform
from restride.ops.resample import plan_of, require_interpolated
from restride.ops.target import require_room
from restride.request import LIBRARIES
from restride.request.libraries import LibraryRequest
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor
from restride.weights import Resizing
from restride.weights.like import pillow

__all__ = ["BICUBIC", "BILINEAR", "BOX", "HAMMING", "LANCZOS", "NEAREST", "Resampling", "resize"]


class Resampling(IntEnum):
    """Pillow's filters that restride has, with Pillow's names and numbers."""

    NEAREST = 0
    LANCZOS = 1
    BILINEAR = 2
    BICUBIC = 3
    BOX = 4
    HAMMING = 5


NEAREST, LANCZOS, BILINEAR, BICUBIC, BOX, HAMMING = Resampling

_LATER_FILTERS = (6, 7)
"""Numbers of MKS2013 and MKS2021, filters of Pillow 13."""

_PREMULTIPLIED = {"RGBA": "RGBa", "LA": "La"}
"""Modes that Pillow resizes with colours multiplied by alpha, and the modes it converts them to."""

_BY_ARRAY = ("1", "I", "I;16", "F")
"""Modes that follow from the element type of an array."""

_BY_BYTES = ("L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV")
"""Modes whose pixels have the same bytes in memory as an array; LAB is not one of them."""


def __dir__() -> list[str]:
    return __all__


@check_keywords
def resize(
    image: Any,
    size: Sequence[int],
    resample: int | None = None,
    box: Sequence[float] | None = None,
    reducing_gap: float | None = None,
) -> Any:
    """``image.resize(size, resample, box)``: a new image of ``size`` (columns, rows) in the mode of ``image``.

    Bytes equal Pillow's bit for bit, with alpha and without. I, I;16 and F are summed in f32, in Pillow in f64; I and
    I;16 are rounded after each axis, as in Pillow.

    Args:
        image: a Pillow image in any mode but LAB, I;16B and I;16L; 1 and P always use NEAREST, as in Pillow. Or a
            numpy array or ``restride.Tensor`` of rows, columns and, optionally, bands, which gives the same kind; its
            bands are resized separately.
        size: columns and rows of the result.
        resample: one of Pillow's filters, or of ``Resampling`` here, which has the same numbers; default: BICUBIC.
        box: left, upper, right and lower edge of the part to resize, in pixels, fractions allowed; default: all.
        reducing_gap: must be None: Pillow's resizing in two steps is not supported.

    Raises:
        DescriptorError: a size is not positive, the filter is unknown, or the box ends before it begins or leaves the
            image; it is a ValueError, as in Pillow.
        TypeError: ``image`` is of another kind, ``size`` or ``box`` has another length, or a size is no integer.
        UnsupportedError: another mode, MKS2013, MKS2021, or a ``reducing_gap``.

    Example:
        >>> from restride.compat import pil
        >>> photo = np.arange(12, dtype=np.uint8).reshape(3, 4)
        >>> pil.resize(photo, (2, 1), pil.BOX).tolist()  # columns, rows
        [[5, 7]]
    """
    is_array = isinstance(image, np.ndarray | Tensor)
    rows, columns = _sizes_of(image)
    what = f"an image of {columns} x {rows}" if is_array else f"image {image.mode} of {columns} x {rows}"
    name = _filter(resample, what)
    if reducing_gap is not None:
        if reducing_gap < 1.0:
            raise DescriptorError(f"reducing_gap must be 1.0 or greater, not {reducing_gap}, for {what}")
        raise UnsupportedError(f"reducing_gap {reducing_gap!r} is not done here, for {what}; leave it out")
    sizes = _sizes(size, what)
    edges = _edges(box, (columns, rows), what)
    if is_array:
        resized = _resized(asarray(image), sizes, name, edges)
        return resized if isinstance(image, Tensor) else resized.numpy()
    if sizes == (rows, columns) and edges == (0.0, 0.0, float(columns), float(rows)):
        return image.copy()
    if image.mode not in (*_BY_ARRAY, *_BY_BYTES):
        raise UnsupportedError(f"{what} has a mode that is not done here: convert it first, image.convert('RGB')")
    if image.mode in ("1", "P"):
        name = "nearest"
    premultiplied = _PREMULTIPLIED.get(image.mode) if name != "nearest" else None
    result = _of_image(image.convert(premultiplied) if premultiplied else image, sizes, name, edges)
    if premultiplied:
        result = result.convert(image.mode)
    result.info = image.info.copy()
    if image.mode in ("P", "PA") and name == "nearest":  # as in Pillow, a filtered PA loses its palette
        result.putpalette(image.getpalette(image.palette.mode), image.palette.mode)
    return result


def _of_image(image: PillowImage, sizes: tuple[int, int], name: str, edges: tuple[float, ...]) -> Any:
    """Resize a Pillow image, with all its bands."""
    from PIL import Image

    pixels = _resized(asarray(np.asarray(image)), sizes, name, edges).numpy()
    if image.mode in _BY_ARRAY:
        return Image.fromarray(pixels)
    return Image.frombytes(image.mode, (sizes[1], sizes[0]), pixels.tobytes())


def _resized(x: Tensor, sizes: tuple[int, int], name: str, edges: tuple[float, ...]) -> Tensor:
    old = x.sizes[:2]
    require_interpolated(x.desc, name)
    require_room((*sizes, *x.sizes[2:]), x.dtype, x.device.limits)
    library = "pillow", LIBRARIES["pillow"]
    request = LibraryRequest(*library, name, True, False, x.dtype.name, x.sizes, (0, 1), old, sizes, (None, None))
    left, upper, right, lower = edges
    rows = pillow.rows_of_part(request, ((upper, lower), (left, right)))
    window = (range(sizes[0]), range(sizes[1]))
    return perform(plan_of, x, None, Resizing(x.sizes, (0, 1), window, rows, rounds=True))


def _sizes_of(image: Array | Tensor | PillowImage) -> tuple[int, int]:
    """Rows and columns of an array, a tensor or a Pillow image."""
    if not isinstance(image, np.ndarray | Tensor):
        if not is_pillow(image):
            raise TypeError(
                f"image must be a PIL.Image.Image, a numpy array or a restride.Tensor, not {type(image).__name__}"
            )
        require_read_right(image, deep=False)
        return image.size[1], image.size[0]
    sizes = image.shape
    if len(sizes) not in (2, 3):
        raise DescriptorError(f"image of sizes {tuple(sizes)} must have rows, columns and, if there are, bands")
    return sizes[0], sizes[1]


def _filter(resample: int | None, what: str) -> str:
    """The name of the mode for a filter."""
    if resample is None:
        return "bicubic"
    if resample in _LATER_FILTERS:
        raise UnsupportedError(f"resample {resample!r}, MKS2013 or MKS2021, is not done here, for {what}")
    try:
        return Resampling(resample).name.lower()
    except ValueError:
        known = ", ".join(f"{each.name} ({each.value})" for each in Resampling)
        raise DescriptorError(f"resample {resample!r} is none of Pillow's filters {known}, for {what}") from None


def _sizes(size: Sequence[int], what: str) -> tuple[int, int]:
    """Check ``size`` and return it as rows and columns."""
    try:
        numbers = tuple(map(index, size))
    except TypeError:
        numbers = ()
    if len(numbers) != 2:
        raise TypeError(f"size {size!r} must be columns and rows, two integers, for {what}")
    if min(numbers) <= 0:
        raise DescriptorError(f"size {size!r} must be columns and rows, both positive, for {what}")
    return numbers[1], numbers[0]


def _edges(box: Sequence[float] | None, whole: tuple[int, int], what: str) -> tuple[float, ...]:
    """Check the box and return it as floats; None: the edges of the image."""
    if box is None:
        return 0.0, 0.0, float(whole[0]), float(whole[1])
    try:
        edges = tuple(map(float, box))
    except (TypeError, ValueError):
        edges = ()
    if len(edges) != 4:
        raise TypeError(f"box {box!r} must be left, upper, right and lower edge, four numbers, for {what}")
    left, upper, right, lower = edges
    if not (0 <= left <= right <= whole[0] and 0 <= upper <= lower <= whole[1]):
        raise DescriptorError(
            f"box {edges}, of left, upper, right and lower edge, must end behind its beginning and lie in {what}"
        )
    return edges
