"""Pillow images and image files as arrays, and arrays as images: how pixels map to elements."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import iscoroutinefunction
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from restride.arguments import check_keywords, require_word
from restride.arguments.pillow import ImageFile, PillowImage, pixels_of
from restride.dtypes import Array, as_dtype
from restride.errors import (
    DescriptorError,
    Message,
    UnsupportedError,
    changed,
    message_of,
    needed_package,
    warn_caller,
)
from restride.files.reading import NotRegular, open_regular
from restride.files.writing import write_file
from restride.tensor.arrays import TensorLike, host_array
from restride.tensor.colors import Colors, ColorSpace, in_srgb, other_colors
from restride.tensor.image_files import Png, bare_png, read_jpeg, read_png, require_held
from restride.tensor.tensor import Tensor
from restride.tensor.tiff import PagePixels, first_page, is_tiff, read_page, require_page, upright

ImageMode: TypeAlias = Literal["rgb", "srgb"]
"""How ``imread`` converts the channels of a file."""

IMAGE_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
"""Formats of image files that are written, and read after a check of all their parts, by the suffix of the name."""

READ_FORMATS = IMAGE_FORMATS | {".webp": "WEBP", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF", ".gif": "GIF"}
"""Image formats that are read: Pillow's name of each, by the suffix of the file's name."""

_READ = tuple(dict.fromkeys(READ_FORMATS.values()))

_BOMB = 2
"""Pillow decodes images of up to this many times ``PIL.Image.MAX_IMAGE_PIXELS``, with a warning from 1 on."""

_T = TypeVar("_T")

Decode: TypeAlias = Callable[[Any, BinaryIO, Png | None], _T]
"""A function that decodes an image from its file, after Pillow has opened it; for a PNG it gets what the chunks say."""

_WRITING = "writing colours of 16 bits"
_JPEG_QUALITY = 95
_MAX_JPEG_SIDE = 65_500
"""Maximum width and height of a JPEG in pixels: libjpeg's own limit."""
_MAX_DEEP_SIDE = 1_000_000
"""The same maximum for a PNG of 16-bit colours: libpng's own limit."""


@check_keywords
def imread(file: ImageFile, mode: ImageMode | None = None) -> Array:
    """Read an image file as a numpy array of rows, columns and channels, turned by its EXIF orientation.

    Elements are u8, but u16 for a PNG of 16 bits; its colours are read by imagecodecs, the extra ``codecs``. A grey
    image has only rows and columns; grey with alpha has 2 channels, RGB 3, RGBA 4. A transparent colour of a PNG (tRNS)
    becomes alpha: 0 where all bits of a pixel equal it, elsewhere the greatest element. Palettes become RGB, or RGBA if
    the palette has transparency; CMYK becomes RGB. No device is needed.

    The formats are PNG, JPEG, WebP, BMP, TIFF and GIF; of several pictures the first. TIFF and BigTIFF are read by
    tifffile, of the types u8 to u64, s8 to s64 and f16 to f64: without compression, or with deflate or PackBits, and
    with the extra ``codecs`` with LZW, fax, JPEG, JPEG 2000, PNG, WebP, ZSTD or LZMA. One bit a sample becomes 0 and
    255; other numbers of bits that are no type become the next larger type, with the values as they are stored.
    MinIsWhite is inverted. Samples beyond the colours are channels. Premultiplied alpha of u8 is divided out; of other
    types it is kept, with a warning.

    Args:
        file: a path, the bytes of a file, or a file object opened for reading bytes, such as BytesIO or that of an
            upload. It is read from its start and gets its position back, if it can seek, and stays open. The content,
            not a name, determines the format.
        mode: None, the channels that the file has; "rgb", three of them, as by ``to_rgb``: of 16-bit colours the high 8
            bits, and samples of a TIFF whose number of bits is no type scaled to 0 to 255, with a warning if the
            colours are not sRGB, or if damage hides what they are; "srgb", the same, but such colours are converted to
            sRGB by Pillow's ImageCms, with the intent that the profile names. Colours are those of an ICC profile or,
            in a PNG, of gAMA and cHRM; docs/resample.md says which count as sRGB. A profile of another space than the
            pixels', such as a grey one for RGB, is left out, with a warning.

    Raises:
        OSError: there is no such file (``FileNotFoundError``, as of ``open``), or it cannot be read.
        DescriptorError: it is not a regular file, not an image of these formats, damaged, too short for the pixels that
            its header claims, or has more pixels than Pillow accepts (``PIL.Image.MAX_IMAGE_PIXELS``). Or its pixels
            are too many for its bytes: 512 for each byte of JPEG, 1032 of WebP, BMP and GIF, of TIFF what its
            compression can make of a byte. Up to 4,194,304 samples are read in any case (of TIFF as many bytes of
            pixels), but of JPEG only with arithmetic coding. Or mode "srgb" cannot convert the colours: they have more
            than 8 bits, cICP of a PNG says them, or the profile is damaged. Or mode is "rgb" or "srgb", and TIFF has
            other samples beside the colours than alpha.
        UnsupportedError: TIFF with a photometric interpretation, a type or a compression that is not read, such as
            CIELAB, MinIsWhite of floats, or JPEG XL.
        ImportError: Pillow or tifffile is not installed, the extra ``images``; or imagecodecs, the extra ``codecs``,
            which 16-bit colours of PNG, and the compressions of TIFF above, need. It is an ``UnsupportedError`` too.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     rs.imwrite(f"{folder}/grey.png", np.full((2, 3), 7, np.uint8))
        ...     rs.imread(f"{folder}/grey.png").tolist()
        [[7, 7, 7], [7, 7, 7]]
    """
    require_word("mode", mode, (None, *get_args(ImageMode)))
    pixels = decode_image(file, partial(_decoded, mode), partial(_of_tiff, mode))
    return pixels if mode is None else to_rgb(pixels)


def decode_image(
    file: ImageFile,
    decode: Decode[_T],
    of_tiff: Callable[[PagePixels, BinaryIO], _T] | None = None,
    others: str = ", and rs.asarray takes what PIL.Image.open has read",
) -> _T:
    """Open and check an image, and return what ``decode`` makes of it, of its file and, for a PNG, of its chunks.

    of_tiff: the function that decodes a TIFF, in place of ``decode``; None: Pillow reads it too, after the same check.
    others: how the caller's function gets images of other formats, after the formats that are read.

    Raises:
        OSError, DescriptorError, ImportError: as of ``imread``.
    """
    pillow()
    if isinstance(file, bytes | bytearray | memoryview):
        content = bytes(file)
        return _read(BytesIO(content), name_of(content), decode, of_tiff, others)
    if hasattr(file, "read"):
        return _read(BytesIO(_content(file)), name_of(file), decode, of_tiff, others)
    try:
        path = Path(file)
        opened = open_regular(path)
    except NotRegular as error:
        raise DescriptorError(f"cannot read {path}: {error}") from error
    except (TypeError, ValueError) as error:  # a name with a null byte
        raise DescriptorError(
            f"file must be a path, bytes, or a file object opened for reading bytes, got {type(file).__name__}: {error}"
        ) from None
    with opened:
        return _read(opened, os.fspath(path), decode, of_tiff, others)


def name_of(file: ImageFile) -> str:
    """What errors call a path, the bytes of a file, or a file object."""
    if isinstance(file, bytes | bytearray | memoryview):
        return f"{len(file)} bytes"
    name = getattr(file, "name", None) if hasattr(file, "read") else os.fspath(file)
    return name if isinstance(name, str) and name else type(file).__name__


def _content(file: Any) -> bytes:
    """All bytes of a file object, which gets its position back.

    Raises:
        OSError: it cannot be read.
        DescriptorError: it does not read bytes.
    """
    if iscoroutinefunction(file.read):
        raise DescriptorError(
            f"file must be opened for reading bytes, and {type(file).__name__} reads them asynchronously: pass its "
            f".file, or the bytes"
        )
    try:
        can_seek = file.seekable() if hasattr(file, "seekable") else hasattr(file, "seek")
        before = file.tell() if can_seek else 0
        if can_seek:
            file.seek(0)
        content = file.read()
        if can_seek:
            file.seek(before)
    except Exception as error:  # it is closed, only written, read as text, or an object of another library
        is_of_disk = isinstance(error, OSError) and not isinstance(error, ValueError)  # UnsupportedOperation is both
        if is_of_disk or isinstance(error, MemoryError):
            raise
        raise DescriptorError(f"file must be opened for reading bytes, such as open(path, 'rb'): {error}") from error
    if not isinstance(content, bytes):
        raise DescriptorError(
            f"file must be opened for reading bytes, such as open(path, 'rb'); {type(file).__name__} reads "
            f"{type(content).__name__}"
        )
    return content


def _read(
    file: BinaryIO,
    name: str,
    decode: Decode[_T],
    of_tiff: Callable[[PagePixels, BinaryIO], _T] | None,
    others: str,
) -> _T:
    """``decode_image`` of a file that can seek; errors call it ``name``."""
    if not file.seek(0, 2):
        raise DescriptorError(f"cannot read {name}: it is empty")
    try:
        formats = tuple(each for each in _READ if each != "TIFF")
        if is_tiff(file):
            formats = ("TIFF",)
            most = (pillow().MAX_IMAGE_PIXELS or math.inf) * _BOMB
            with first_page(file) as page:
                if of_tiff is not None:
                    return of_tiff(read_page(page, most), file)
                require_page(page, most)
        file.seek(0)
        with _damage():
            image = pillow().open(file, formats=formats)
        with image as opened:
            return decode(opened, file, _checked(opened, file))
    # Pillow raises ten types for different faults: SyntaxError, EOFError, struct.error, ...
    except Exception as error:
        if _is_of_system(error):
            raise
        kind = type(error).__name__
        why = changed(message_of(error), lambda text: f"cannot read {name}: {text.replace(f' {file!r}', '') or kind}")
        if isinstance(error, UnsupportedError):
            error.args = (why,)
            raise
        if isinstance(error, pillow().UnidentifiedImageError):
            if begun := _format_begun(file):
                raise DescriptorError(
                    f"cannot read {name}: it is damaged, it begins like {begun}, but is none"
                ) from error
            raise DescriptorError(Message.of(f"{why}; {', '.join(_READ)} are read", others)) from error
        raise DescriptorError(why) from error


def _checked(opened: Any, file: BinaryIO) -> Png | None:
    """Check that a file holds the pixels that its header claims, before they are decoded; return what a PNG says.

    Raises:
        ValueError: it does not, or Pillow cannot decode it.
    """
    if opened.format == "PNG":
        return read_png(file)
    if opened.format == "TIFF":  # which was checked before Pillow opened it
        return None
    if opened.format in ("JPEG", "MPO"):
        opened.decodermaxblock = read_jpeg(file).at_once or opened.decodermaxblock
    else:
        require_held(opened, file.seek(0, 2))
    with _damage():
        opened.load()
    return None


@contextmanager
def _damage() -> Iterator[None]:
    """A ``with`` block in which Pillow opens or decodes; if it cannot, a ValueError says that the file is damaged."""
    try:
        yield
    except Exception as error:
        if _is_of_system(error) or isinstance(error, pillow().UnidentifiedImageError | pillow().DecompressionBombError):
            raise
        raise ValueError(f"it is damaged, {str(error) or type(error).__name__}") from error


def _is_of_system(error: Exception) -> bool:
    """True for an error of the disk, the memory or the caller's filter of warnings, not of what is in a file."""
    return isinstance(error, MemoryError | UserWarning) or (isinstance(error, OSError) and error.errno is not None)


def _format_begun(file: BinaryIO) -> str:
    """The format that the first bytes of a file say; empty if it is none that is read."""
    file.seek(0)
    first = file.read(16)
    accepts = {name: pillow().OPEN[name][1] for name in _READ if name in pillow().OPEN}
    return next((name for name, accept in accepts.items() if accept and accept(first) is True), "")


def _of_tiff(mode: ImageMode | None, picture: PagePixels, file: BinaryIO) -> Array:
    if mode is None:
        return picture.pixels()
    pixels = picture.colors()
    foreign = _foreign(mode, file, picture.space, picture.profile, {})
    if foreign is None:
        return pixels
    # The profile of a CMYK image describes its inks, not the RGB that is made of them.
    return _in_srgb(picture.space, picture.samples if picture.space == "CMYK" else pixels, picture.bits, foreign)


def _decoded(mode: ImageMode | None, opened: PillowImage, file: BinaryIO, png: Png | None) -> Array:
    from PIL import ImageOps

    if mode is None:
        return _deep(opened, file) if png is not None and _is_deep(png) else _pixels(opened, png)
    space = _space_of(opened, png)
    # Pillow gives None for a profile whose parts it could not put together.
    profile = (opened.info["icc_profile"] or b"") if "icc_profile" in opened.info else None
    foreign = _foreign(mode, file, space, profile, {} if png is None else png.colors)
    if foreign is None:
        return _pixels(opened, png)
    pixels = np.asarray(ImageOps.exif_transpose(opened)) if space == "CMYK" else _pixels(opened, png)
    return _in_srgb(space, pixels, 8 if png is None else png.bits, foreign)


def _foreign(
    mode: ImageMode, file: BinaryIO, space: ColorSpace, profile: bytes | None, chunks: Mapping[bytes, bytes]
) -> Colors | None:
    """The colours that mode "srgb" converts; None: they are sRGB's, or the mode is "rgb", which warns of others.

    Raises:
        ValueError: mode "srgb", and it is not known what the colours are.
    """
    name = getattr(file, "name", "an image")
    try:
        colors = other_colors(name, space, profile, chunks)
    except ValueError as error:
        if mode == "srgb":
            raise
        warn_caller(f"{name} may have other colours than sRGB, and is read with these: {error}")
        return None
    if colors is None or mode == "srgb":
        return colors
    warn_caller(
        Message.of(
            f"{name} has {colors.source} of other colours than sRGB, and is read with these",
            ": rs.imread(file, mode='srgb') converts them",
        )
    )
    return None


def _space_of(opened: PillowImage, png: Png | None) -> ColorSpace:
    """The space of an image's pixels; Pillow's mode does not say it of grey with alpha of 16 bits."""
    if opened.mode == "CMYK":
        return "CMYK"
    bands = opened.getbands()
    is_grey = len(bands) < 3 and bands[0] != "P" if png is None else png.color in (0, 4)
    return "GRAY" if is_grey else "RGB"


def _in_srgb(space: ColorSpace, pixels: Array, bits: int, colors: Colors) -> Array:
    """Pixels of samples that are stored in so many ``bits``, as RGB in sRGB.

    Raises:
        ValueError: they have more than 8 bits, or Pillow cannot convert the colours.
    """
    if pixels.dtype != np.uint8 or bits > 8:
        raise ValueError(
            Message.of("only colours of 8 bits are converted to sRGB", ": mode='rgb' reads them unconverted")
        )
    return in_srgb(space, pixels, colors.profile)


def _pixels(opened: PillowImage, png: Png | None) -> Array:
    """The pixels, upright; of colours of 16 bits the high 8."""
    if png is None:
        return _upright(opened)
    if (png.bits, png.color) == (16, 4):
        # Pillow would keep only the high bytes; its unpacker for RGBA keeps the four bytes of each pixel.
        return _upright(opened, "RGBA").view(">u2").astype(np.uint16)
    if png.key is not None and not _is_deep(png):
        # Samples of fewer bits are spread over all codes: 3 of 2 bits becomes 255.
        opened.info["transparency"] = np.multiply(png.key, 255 // ((1 << png.bits) - 1) if png.bits < 8 else 1)
    return _upright(opened)


def _upright(opened: Any, unpacker: str | None = None) -> Array:
    """Decode, with this unpacker of Pillow if one is given, and turn by the EXIF orientation."""
    from PIL import ImageOps

    if unpacker is not None:
        opened.tile = [(*tile[:3], unpacker) for tile in opened.tile]
    is_16_bit = opened.format == "PNG" and opened.mode == "I"  # in older Pillows
    image = ImageOps.exif_transpose(opened)
    pixels: Array = pixels_of(image.convert("I;16") if is_16_bit else image)
    return pixels


def _is_deep(png: Png) -> bool:
    """True for colours of 16 bits, of which Pillow keeps 8."""
    return png.bits == 16 and png.color in (2, 6)


def _deep(opened: Any, file: BinaryIO) -> Array:
    """The pixels of a PNG of ``_is_deep``, upright.

    Raises:
        MissingPackage: imagecodecs is not installed.
    """
    from PIL.ExifTags import Base as Tag

    what = "reading colours of 16 bits"
    codec = _codec(Message(f"{what}, of which rs.imread(file, mode='rgb') reads 8,", what))
    orientation = opened.getexif().get(Tag.Orientation)  # it may lie behind the pixels, which Pillow then decodes too
    return np.ascontiguousarray(upright(codec.png_decode(bare_png(file)), orientation))


def _codec(what: str) -> Any:
    """The package imagecodecs, which ``what`` needs.

    Raises:
        MissingPackage: it is not installed.
    """
    with needed_package(what, "imagecodecs", "codecs"):
        import imagecodecs

        return imagecodecs


def to_rgb(image: TensorLike) -> Array:
    """An image as a numpy array of rows, columns, and red, green and blue; the element type stays.

    Gray is repeated, and alpha is dropped without blending. ``restride preprocess`` reads files in this way,
    and it prepares images of any kind for ``rs.Preprocess``.

    Args:
        image: rows and columns; or with 1, 2 (gray and alpha), 3 or 4 channels (RGB and alpha) after them: an array, a
            Tensor, or a Pillow image, whose pixels are converted as by ``imread``: palettes, 1 bit and CMYK to u8; 16
            bits stay 16 bits, of which ``image.convert("RGB")`` of Pillow would keep those up to 255.

    Raises:
        DescriptorError: ``image`` has other axes or no numbers, or Pillow cannot decode it.

    Examples:
        >>> rs.to_rgb(np.uint16([[7, 60000]])).tolist()
        [[[7, 7, 7], [60000, 60000, 60000]]]
        >>> rs.to_rgb(np.zeros((2, 3, 4), np.uint8)).shape
        (2, 3, 3)
    """
    pixels = image.numpy() if isinstance(image, Tensor) else host_array(image)
    if pixels.ndim == 2:
        pixels = pixels[..., np.newaxis]
    if pixels.ndim != 3 or pixels.shape[-1] not in (1, 2, 3, 4):
        raise DescriptorError(
            Message.of(
                f"an image must have rows, columns, and 1 to 4 channels after them if any, not shape {pixels.shape}",
                ": np.moveaxis(image, 0, -1) puts channels that stand first last",
            )
        )
    as_dtype(pixels.dtype.newbyteorder("="))
    return np.repeat(pixels[..., :1], 3, axis=-1) if pixels.shape[-1] < 3 else pixels[..., :3]


@check_keywords
def imwrite(path: str | os.PathLike[str], image: TensorLike) -> None:
    """Write pixels to a PNG or JPEG file; an existing file stays whole until the new one is complete.

    Args:
        path: ends in .png, .jpg or .jpeg, which determines the format; JPEG has quality 95.
        image: rows and columns, or rows, columns and channels: an array, a Tensor, or a Pillow image, whose pixels are
            converted as by ``imread``. Elements are u8, for PNG also u16; channels are 1 to 4, for JPEG 1 or 3.

    Raises:
        DescriptorError: ``path`` is no path, the name has another ending, or the format cannot hold these elements or
            sizes.
        OSError: the file cannot be written.
        ImportError: Pillow is not installed; or imagecodecs, for u16 of 3 or 4 channels, as in ``imread``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     rs.imwrite(f"{folder}/red.png", np.full((16, 16, 3), (255, 0, 0), np.uint8))
        ...     rs.imread(f"{folder}/red.png")[0, 0].tolist()
        [255, 0, 0]
    """
    if not isinstance(path, str | os.PathLike):
        raise DescriptorError(f"path must be the name of a file, got {type(path).__name__}")
    path = Path(path)
    kind = IMAGE_FORMATS.get(path.suffix.lower())
    if kind is None:
        raise DescriptorError(f"the name of an image must end in {', '.join(IMAGE_FORMATS)}, got {os.fspath(path)!r}")
    array = image.numpy() if isinstance(image, Tensor) else host_array(image)
    try:
        require_holds(kind, array.dtype, array.shape)
    except DescriptorError as error:
        raise DescriptorError(f"{error}{_remedy(array)}") from None
    write_file(path, encoded(kind, array))


def encoded(kind: str, array: Array) -> bytes:
    """An image file with the pixels of an array that its format holds, as of ``require_holds``."""
    channels = array.shape[2] if array.ndim == 3 and array.dtype == np.uint16 else 1
    if channels == 2:
        return _grey_with_alpha(array)
    if channels > 2:
        content: bytes = _codec(_WRITING).png_encode(np.ascontiguousarray(array))
        return content
    file = BytesIO()
    image_of(array).save(file, kind, **({"quality": _JPEG_QUALITY} if kind == "JPEG" else {}))
    return file.getvalue()


def _remedy(array: Array) -> str:
    """The end of an error message: how an array that a format cannot hold becomes an image; may be empty."""
    if as_dtype(array.dtype).is_float:
        return ": rs.reorder(image, dtype='u8', dst_scale=1 / 255) makes u8 of floats of 0 to 1"
    if array.dtype == np.uint16:
        return ": (image >> 8).astype(np.uint8) makes 8 bits of 16"
    if array.dtype != np.uint8 or array.ndim != 3 or not array.size:
        return ""
    if array.shape[2] in (2, 4):
        return ": rs.to_rgb(image) leaves alpha out, and a name in .png keeps it"
    return ": np.moveaxis(image, 0, -1) puts channels that stand first last" if array.shape[0] <= 4 else ""


def _grey_with_alpha(array: Array) -> bytes:
    """A PNG file of grey with alpha of 16 bits, which Pillow cannot write.

    A pixel has as many bytes as one of RGBA of 8 bits: the file is written as these, and its header is changed.
    """
    file = BytesIO()
    image_of(array.astype(">u2").view(np.uint8)).save(file, "PNG")
    content = bytearray(file.getvalue())
    content[24:26] = 16, 4  # bits of a sample, and the color type
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    return bytes(content)


def image_of(array: Array) -> Any:
    """An array of (rows, columns) or (rows, columns, channels) as a Pillow image.

    Raises:
        UnsupportedError: it has several channels of 16 bits.
    """
    if array.dtype == np.uint16 and array.ndim == 3 and array.shape[2] > 1:
        raise UnsupportedError(
            f"Pillow has no image of {array.shape[2]} channels of 16 bits: pass an array, such as rs.imread's"
        )
    pixels = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    return pillow().fromarray(np.ascontiguousarray(pixels))


def require_holds(kind: str, dtype: np.dtype[np.generic], sizes: tuple[int, ...]) -> None:
    """Check that a file of this format can hold elements of ``dtype`` in ``sizes``.

    Raises:
        DescriptorError: the format cannot hold them.
        MissingPackage: imagecodecs, which writes 16-bit colours, is not installed.
    """
    channels = sizes[2] if len(sizes) == 3 else 1
    if not (dtype == np.uint8 or (kind == "PNG" and dtype == np.uint16)):
        holds = "u8 elements" if kind == "JPEG" else "u8 or u16 elements"
        raise DescriptorError(f"a {kind} image holds {holds}, not {as_dtype(dtype)} of sizes {list(sizes)}")
    if len(sizes) not in {2, 3} or channels not in ((1, 3) if kind == "JPEG" else (1, 2, 3, 4)) or min(sizes) < 1:
        raise DescriptorError(
            f"a {kind} image has sizes [height, width] or [height, width, channels] with "
            f"{'1 or 3' if kind == 'JPEG' else '1 to 4'} channels, not {list(sizes)}"
        )
    if kind == "JPEG" and max(sizes) > _MAX_JPEG_SIDE:
        raise DescriptorError(f"a JPEG image has at most {_MAX_JPEG_SIDE} pixels a side, not {list(sizes)}")
    if dtype == np.uint16 and channels > 2:
        _codec(_WRITING)
        if max(sizes) > _MAX_DEEP_SIDE:
            raise DescriptorError(
                f"a PNG image of 16-bit colours has at most {_MAX_DEEP_SIDE} pixels a side, not {list(sizes)}"
            )


def pillow() -> Any:
    """The module ``PIL.Image``.

    Raises:
        MissingPackage: Pillow is not installed.
    """
    with needed_package("reading and writing images", "Pillow", "images", "PIL"):
        from PIL import Image

        return Image
