"""Pillow images and image files as arrays, and arrays as images: how pixels map to elements."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from restride.dtypes import as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.runtime.file_store import write_file
from restride.tensor.tensor import Tensor

Array = npt.NDArray[Any]

IMAGE_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
"""Formats of image files, by the suffix of the name."""

IMAGES = ("PNG", "JPEG")

_JPEG_QUALITY = 95
_LONGEST_JPEG_SIDE = 65_500
"""In pixels; libjpeg's own limit."""
_MODES = dict.fromkeys(("P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"), "RGB")
_MODES |= {"1": "L", "PA": "RGBA", "RGBa": "RGBA", "La": "LA"}
"""The mode that a picture with other pixels is converted to."""
_FOREIGN_ORDER_MODE = {"little": "I;16B", "big": "I;16L"}[sys.byteorder]
"""The mode of 16 bits in the foreign byte order, which TIFF files may have."""


def imread(path: str | os.PathLike[str]) -> Array:
    """Read a PNG or JPEG file as a numpy array of rows, columns and channels, turned as its EXIF orientation says.

    Elements are u8, but u16 for a grey PNG of 16 bits; colours of 16 bits are read as u8, as Pillow does. A grey image
    has only rows and columns; grey with alpha has 2 channels, RGB 3, RGBA 4. Palettes become RGB, or RGBA if the
    palette has transparency; CMYK becomes RGB. No device is needed.

    Args:
        path: a file; its content, not its name, determines the format.

    Raises:
        OSError: there is no such file, or it cannot be read.
        DescriptorError: it is not a regular file, not an image of these formats, damaged, too short for the pixels that
            its header claims, or has more pixels than Pillow accepts (``PIL.Image.MAX_IMAGE_PIXELS``).
        UnsupportedError: Pillow is not installed: the extra ``images``.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     rs.imwrite(f"{folder}/grey.png", np.full((2, 3), 7, np.uint8))
        ...     rs.imread(f"{folder}/grey.png").tolist()
        [[7, 7, 7], [7, 7, 7]]
    """
    path = Path(path)
    image_module = pillow()
    from PIL import ImageOps

    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
        raise DescriptorError(f"cannot read {path}: not a file")
    with path.open("rb") as file:
        try:
            with image_module.open(file, formats=IMAGES) as opened:
                _require_pixels(opened, file)
                # Cameras record how they were held; turn the picture as a viewer does.
                image = ImageOps.exif_transpose(opened)
                if image.mode.startswith("I"):  # grey of 16 bits; "I" in older Pillows, "I;16" now
                    return np.array(image).astype(np.uint16, copy=False)
                return np.array(with_channels(image))
        except (
            Exception
        ) as error:  # Pillow raises ten types for different faults: SyntaxError, EOFError, struct.error, ...
            if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
                raise
            why = str(error).replace(f" {file!r}", "") or type(error).__name__
            raise DescriptorError(f"cannot read {path}: {why}") from error


def imwrite(path: str | os.PathLike[str], image: Any) -> None:
    """Write pixels to a PNG or JPEG file; an existing file stays whole until the new one is complete.

    Args:
        path: ends in .png, .jpg or .jpeg, which determines the format; JPEG has quality 95.
        image: rows and columns, or rows, columns and channels: an array, a Tensor, or a Pillow image, whose pixels are
            converted as by ``imread``. Elements are u8, or u16 for a grey PNG; channels are 1 to 4, for JPEG 1 or 3.

    Raises:
        DescriptorError: the name has another ending, or the format cannot hold these elements or sizes.
        OSError: the file cannot be written.
        UnsupportedError: Pillow is not installed: the extra ``images``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     rs.imwrite(f"{folder}/red.png", np.full((16, 16, 3), (255, 0, 0), np.uint8))
        ...     rs.imread(f"{folder}/red.png")[0, 0].tolist()
        [255, 0, 0]
    """
    path = Path(path)
    kind = IMAGE_FORMATS.get(path.suffix.lower())
    if kind is None:
        raise DescriptorError(f"the name of an image must end in {', '.join(IMAGE_FORMATS)}, got {os.fspath(path)!r}")
    array = image.numpy() if isinstance(image, Tensor) else np.asarray(with_channels(image))
    require_holds(kind, array.dtype, array.shape)
    pixels = image_of(array)
    options = {"quality": _JPEG_QUALITY} if kind == "JPEG" else {}
    write_file(path, lambda file: pixels.save(file, kind, **options))


def is_pillow(image: Any) -> bool:
    """True for an image of Pillow, which may not be installed."""
    return hasattr(image, "getbands")


def with_channels(image: Any) -> Any:
    """Convert a Pillow image to a mode whose numbers are brightness, if necessary; return anything else unchanged."""
    if not is_pillow(image):
        return image
    if image.mode == "P" and "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode == _FOREIGN_ORDER_MODE:
        return pillow().fromarray(np.asarray(image).astype(np.uint16))
    return image.convert(_MODES[image.mode]) if image.mode in _MODES else image


def image_of(array: Array) -> Any:
    """An array of (rows, columns) or (rows, columns, channels) as a Pillow image."""
    pixels = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    return pillow().fromarray(np.ascontiguousarray(pixels))


def require_holds(kind: str, dtype: np.dtype[Any], sizes: tuple[int, ...]) -> None:
    """Raise ``DescriptorError`` unless a file of this format can hold elements of ``dtype`` in ``sizes``."""
    channels = sizes[2] if len(sizes) == 3 else 1
    if not (dtype == np.uint8 or (kind == "PNG" and dtype == np.uint16 and channels == 1)):
        holds = "u8 elements" if kind == "JPEG" else "u8 elements, or u16 of one channel"
        raise DescriptorError(f"a {kind} image holds {holds}, not {as_dtype(dtype)} of sizes {list(sizes)}")
    if len(sizes) not in {2, 3} or channels not in ((1, 3) if kind == "JPEG" else (1, 2, 3, 4)) or min(sizes) < 1:
        raise DescriptorError(
            f"a {kind} image has sizes [height, width] or [height, width, channels] with "
            f"{'1 or 3' if kind == 'JPEG' else '1 to 4'} channels, not {list(sizes)}"
        )
    if kind == "JPEG" and max(sizes) > _LONGEST_JPEG_SIDE:
        raise DescriptorError(f"a JPEG image has at most {_LONGEST_JPEG_SIDE} pixels a side, not {list(sizes)}")


def pillow() -> Any:
    """The module ``PIL.Image``.

    Raises:
        UnsupportedError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise UnsupportedError("images need Pillow: pip install 'restride[images]'") from error
    return Image


_DEFLATED = 1032
"""Most bytes that one byte of a PNG's data can expand to: the limit of any deflate stream."""
_JPEG_BITS = 1 / 64
"""Least bits of a JPEG pixel: a block of 8 x 8 takes at least one Huffman code."""
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Channels of each PNG color type."""


def _require_pixels(opened: Any, file: BinaryIO) -> None:
    """Raise if a file is too short for its pixels: Pillow would allocate them and fill them with grey."""
    width, height = opened.size
    bits, most = _JPEG_BITS, 1
    place = file.tell()
    file.seek(0)
    head = file.read(26)
    nbytes = file.seek(0, 2)
    file.seek(place)
    if opened.format == "PNG":
        if head[12:16] != b"IHDR":
            raise ValueError("it is damaged, a PNG image begins with its IHDR")
        bits, most = head[24] * _PNG_CHANNELS[head[25]], _DEFLATED
    if width * height * bits > 8 * nbytes * most:
        raise ValueError(f"{nbytes} bytes cannot hold the {width} x {height} pixels of its header")
