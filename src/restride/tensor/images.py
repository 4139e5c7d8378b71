"""Images of Pillow and their files as arrays, and back: which pixels become which elements."""

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
"""Formats of image files, by the ending of the name."""

IMAGES = ("PNG", "JPEG")

_JPEG_QUALITY = 95
_LONGEST_JPEG_SIDE = 65_500
"""Pixels; libjpeg's own limit."""
_MODES = dict.fromkeys(("P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"), "RGB")
_MODES |= {"1": "L", "PA": "RGBA", "RGBa": "RGBA", "La": "LA"}
"""The mode that a picture with another kind of pixel is converted to."""
_SWAPPED = {"little": "I;16B", "big": "I;16L"}[sys.byteorder]
"""The mode of 16 bits in the other byte order, as TIFF files have it."""


def imread(path: str | os.PathLike[str]) -> Array:
    """The pixels of a PNG or JPEG file, turned as its EXIF orientation says: a numpy array of rows, columns, channels.

    Elements are u8, of a grey PNG of 16 bits u16; colours of 16 bits are read as u8, as Pillow does. Grey has rows and
    columns alone; grey with alpha has 2 channels, RGB 3, RGBA 4. Palettes become RGB, or RGBA where one has
    transparency; CMYK becomes RGB. No device is needed.

    Args:
        path: a file, whatever its name: its content says which format it has.

    Raises:
        OSError: there is no such file, or it cannot be read.
        DescriptorError: it is no plain file, no image of these formats, damaged, too short for the pixels that its
            header claims, or of more pixels than Pillow takes for no attack (``PIL.Image.MAX_IMAGE_PIXELS``).
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

    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for who writes
        raise DescriptorError(f"cannot read {path}: not a file")
    with path.open("rb") as file:
        try:
            with image_module.open(file, formats=IMAGES) as opened:
                _require_pixels(opened, file)
                # Cameras write how they were held; the picture is taken as a viewer shows it.
                image = ImageOps.exif_transpose(opened)
                if image.mode.startswith("I"):  # grey of 16 bits; "I" in older Pillows, "I;16" now
                    return np.array(image).astype(np.uint16, copy=False)
                return np.array(with_channels(image))
        except (
            Exception
        ) as error:  # Pillow raises ten types, by what is wrong: SyntaxError, EOFError, struct.error, ...
            if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
                raise
            why = str(error).replace(f" {file!r}", "") or type(error).__name__
            raise DescriptorError(f"cannot read {path}: {why}") from error


def imwrite(path: str | os.PathLike[str], image: Any) -> None:
    """Write pixels to a PNG or JPEG file, by its name; what was there stays whole until the new file is.

    Args:
        path: it ends in .png, .jpg or .jpeg; the latter two have quality 95.
        image: rows and columns, or rows, columns and channels: an array, a Tensor, or an image of Pillow's, whose
            pixels are taken as ``imread`` takes them. Elements are u8, of a grey PNG also u16; channels are 1 to 4, of
            JPEG 1 or 3.

    Raises:
        DescriptorError: the name ends otherwise, or the format cannot hold these elements or sizes.
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
    """True for an image of Pillow's, which may not be installed."""
    return hasattr(image, "getbands")


def with_channels(image: Any) -> Any:
    """An image of Pillow's in a mode whose numbers are brightness, converted if it must be; all else as it is."""
    if not is_pillow(image):
        return image
    if image.mode == "P" and "transparency" in image.info:
        return image.convert("RGBA")
    if image.mode == _SWAPPED:
        return pillow().fromarray(np.asarray(image).astype(np.uint16))
    return image.convert(_MODES[image.mode]) if image.mode in _MODES else image


def image_of(array: Array) -> Any:
    """An array of (rows, columns) or (rows, columns, channels) as an image of Pillow's."""
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
"""Bytes that one byte of a PNG's data holds at most; no stream of deflate has more."""
_JPEG_BITS = 1 / 64
"""Least bits of a pixel: a block of 8 x 8 takes one of Huffman's codes."""
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Channels of the color types."""


def _require_pixels(opened: Any, file: BinaryIO) -> None:
    """Raise where a file is too short for its pixels; Pillow would allocate them, and fill in grey."""
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
