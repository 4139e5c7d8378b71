"""Files of images in any form, and images of Pillow, which may not be installed: what modes, palettes and EXIF mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any, Protocol, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError, Message, RestrideError, UnsupportedError, prefixed, warn_caller

_MODES = dict.fromkeys(("P", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"), "RGB")
_MODES |= {"1": "L", "PA": "RGBA", "RGBa": "RGBA", "La": "LA"}
"""For each mode whose pixels are not used as they are, the mode that an image is converted to."""
_KEYED_MODES = ("1", "L", "RGB", "I;16", "I;16B", "I;16L")
"""Modes of images that may have a transparent colour, given in ``info``."""


ImageFile: TypeAlias = str | PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""The file of an image: its path, its bytes, or a file object opened for reading bytes."""


class PillowImage(Protocol):
    """An image of Pillow, which may not be installed."""

    @property
    def mode(self) -> str:
        """The kind of its pixels, such as "RGB"."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""

    @property
    def format(self) -> str | None:
        """Its file's format; None for pixels that are no longer those of a file."""

    @property
    def info(self) -> dict[str | tuple[int, int], Any]:
        """What the file says beside the pixels."""

    def getbands(self) -> tuple[str, ...]:
        """The names of its channels."""

    def convert(self, mode: str) -> PillowImage:
        """The image in another mode."""

    def getexif(self) -> Mapping[int, object]:
        """The EXIF data, by tag."""


def is_file(image: object) -> bool:
    """True for an argument that is read as the file of an image: a path, the bytes of a file, or a file object.

    A memoryview counts as bytes if single bytes are its only axis, else as an array.
    """
    if isinstance(image, memoryview):
        return image.ndim == 1 and image.itemsize == 1
    if isinstance(image, str | PathLike | bytes | bytearray):
        return True
    # Arrays on disk, such as those of PyTables, have read() beside a shape.
    return hasattr(image, "read") and not hasattr(image, "shape") and not isinstance(image, type)


def is_pillow(image: object) -> TypeGuard[PillowImage]:
    """True for an image of Pillow, which may not be installed."""
    return hasattr(image, "getbands") and not isinstance(image, type)


@contextmanager
def pillow_errors() -> Iterator[None]:
    """A ``with`` block in which Pillow decodes or converts an image: its errors, of ten types, become one.

    Raises:
        DescriptorError: Pillow raised SyntaxError, OSError, struct.error, ...
    """
    try:
        yield
    except (RestrideError, UserWarning, MemoryError):
        raise
    except Exception as error:
        raise DescriptorError(f"Pillow cannot decode the image: {error!s:.200}") from error


def pixels_of(image: object) -> Any:
    """The pixels of a Pillow image, or of a list of them, as gray or RGB, with alpha if any; anything else as it is.

    The pixels are as stored; a warning says if EXIF asks to rotate the image.

    Raises:
        DescriptorError: Pillow cannot decode the image, for example because its file is cut off.
        UnsupportedError: the image was opened from a kind of TIFF whose pixels Pillow reads wrongly.
    """
    if isinstance(image, list | tuple) and any(hasattr(kind, "getbands") for kind in set(map(type, image))):
        several = []
        for place, member in enumerate(image):
            with prefixed(f"image {place} of the list"):
                several.append(pixels_of(member))
        return several
    if not is_pillow(image):
        return image
    with pillow_errors():
        require_read_right(image)
        pixels = _decoded(image)
    if _is_to_turn(image):
        warn_caller(
            "an image of Pillow is used as stored, although its EXIF says to turn it: "
            "PIL.ImageOps.exif_transpose(image) turns it, and rs.imread(path) turns the images that it reads"
        )
    return pixels


def _decoded(image: PillowImage) -> npt.NDArray[Any]:
    """The pixels, and alpha for a transparent colour: 0 where all samples of a pixel equal it."""
    key = image.info.get("transparency")
    mode = "RGBA" if image.mode == "P" and key is not None else _MODES.get(image.mode, image.mode)
    pixels = np.array(image.convert(mode) if mode != image.mode else image)
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if key is None or image.mode not in _KEYED_MODES:
        return pixels
    is_key = (pixels.reshape(*pixels.shape[:2], -1) == key).all(2)
    return np.dstack([pixels, np.where(is_key, 0, np.iinfo(pixels.dtype).max).astype(pixels.dtype)])


def require_read_right(image: PillowImage, *, deep: bool = True) -> None:
    """Refuse an image that Pillow has opened from a TIFF of a kind whose pixels it reads wrongly.

    A copy or a conversion of such an image is accepted, because it no longer says which file it comes from.
    deep: refuse colours of 16 bits too, of which Pillow keeps 8.

    Raises:
        UnsupportedError: it is such an image.

    Source: TIFF 6.0; Pillow 13, TiffImagePlugin.OPEN_INFO, and tests/tensor/test_tiff.py, which compares.
    """
    tags = getattr(image, "tag_v2", None)
    if tags is None or image.format != "TIFF":
        return
    from PIL.ExifTags import Base as Tag

    kind, bits = tags.get(Tag.SampleFormat, (1,))[0], tags.get(Tag.BitsPerSample, (1,))[0]
    photometric, compression = tags.get(Tag.PhotometricInterpretation, 0), tags.get(Tag.Compression, 1)
    samples, kept = tags.get(Tag.SamplesPerPixel, 1), len(image.getbands())
    is_compressed = compression != 1
    is_plane = is_compressed or (bits == 8 and photometric in (1, 3))
    fault = ""
    if photometric == 0 and (kind != 1 or bits > 8):
        fault = f"does not invert MinIsWhite of {bits} bits"
    elif Tag.PhotometricInterpretation not in tags and compression not in (2, 3, 4):
        fault = "takes a file without a photometric interpretation for MinIsWhite"
    elif (kind, bits) == (2, 8):
        fault = "reads s8 as u8"
    elif (kind, bits) == (1, 32):
        fault = "reads u32 as s32"
    elif kind in (2, 3) and bits > 8 and tags.prefix == b"MM" and is_compressed:
        fault = f"swaps the bytes of big-endian, compressed elements of {bits} bits"
    elif photometric == 3 and 0 < max(tags.get(Tag.ColorMap, (0,))) < 256:
        fault = "makes black of a palette of 8-bit numbers"
    elif samples > kept:
        fault = f"keeps {kept} of {samples} samples a pixel"
    elif tags.get(Tag.PlanarConfiguration, 1) == 2 and samples < 3 and not (is_plane and samples == 1):
        fault = f"misreads {samples} separate planes"
    elif deep and bits == 16 and kept > 1:
        fault = "keeps 8 of 16 bits of colours"
    if fault:
        raise UnsupportedError(
            Message.of(
                f"the image comes from a TIFF that Pillow reads wrongly: it {fault}",
                "; rs.imread(path) reads such files: pass its array instead of the image",
            )
        )


def _is_to_turn(image: PillowImage) -> bool:
    """True if EXIF says, in a way that can be read, that a decoded image is to be turned."""
    from PIL.ExifTags import Base as Tag

    try:
        return image.getexif().get(Tag.Orientation) in range(2, 9)
    except Exception:  # noqa: BLE001 - an error of any type: only the EXIF data are damaged
        return False
