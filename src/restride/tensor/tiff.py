"""Pages of TIFF, read by tifffile: what their elements mean, whether the file holds them, and their pixels, upright.

tifffile undoes compression and joins strips, tiles and planes. It leaves palettes, inks, MinIsWhite, premultiplied
alpha and orientation as they are stored, reads zeros where a part is missing, and has no bound: these are here, for
whole images and for streams.

Source: TIFF 6.0; Supplement 2 (deflate); libtiff, tif_getimage.c (palettes of 8 bits); Pillow (inks, premultiplied u8).
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from restride.dtypes import Array
from restride.errors import Message, UnsupportedError, needed_package, warn_caller
from restride.tensor.colors import ColorSpace
from restride.tensor.image_files import DEFLATED, MAX_FREE_SAMPLES, read_jpeg

_PREFIXES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""The first bytes of TIFF and BigTIFF files, of either byte order."""

VALUES = ("MINISBLACK", "RGB", "MASK", "LINEAR_RAW", "DEPTH_MAP")
"""Photometric interpretations whose elements are values of brightness or of colours as they are stored."""

_COLORS = {**dict.fromkeys((*VALUES, "MINISWHITE", "PALETTE"), 1), "RGB": 3, "SEPARATED": 4}
"""Photometric interpretations of whole images that are read, and how many samples of a pixel are colours."""

_SPACES: dict[str, ColorSpace] = {"SEPARATED": "CMYK", "RGB": "RGB", "PALETTE": "RGB"}
"""What the pixels of a photometric interpretation become, if not grey."""

_FLIPPED = {"rows": (3, 4, 6, 7), "columns": (2, 3, 7, 8)}
"""Orientations in which the stored rows, or columns, have reverse order."""

_SWAPPED = range(5, 9)
"""Orientations in which columns are stored as rows."""

PREMULTIPLIED, _ALPHA = 1, (1, 2, 999)
"""Values of ExtraSamples: colours times alpha; any alpha, of which 999 is Corel Draw's."""

_NATIVE = (8, 16, 32, 64)
"""Bits of samples that are a type of their own."""

_PLAIN = (1, 8, 32946, 32773)
"""Compressions that tifffile undoes without imagecodecs: none, deflate by two numbers, PackBits."""

_DEFLATE, _FAX = (8, 32946), (2, 3, 4)
_JPEG = (6, 7, 33007, 34892)

_EXPANSION = {5: 2560, 34925: 8192, 34926: 32768, 50000: 32768}
"""Maximum bytes that one byte expands to, where deflate has fewer: in LZW, strings of 3,838 bytes by 12 bits;
in LZMA, repeats of 273 bytes by 0.3 bits; in zstd, blocks of 128 KiB by 4 bytes."""

_READ_TAGS = frozenset((
    *("ImageWidth", "ImageLength", "ImageDepth", "Orientation", "StripOffsets", "StripByteCounts", "RowsPerStrip"),
    *("TileWidth", "TileLength", "TileDepth", "TileOffsets", "TileByteCounts", "SamplesPerPixel", "ExtraSamples"),
    *("BitsPerSample", "SampleFormat", "FillOrder", "PlanarConfiguration", "PhotometricInterpretation", "ColorMap"),
    *("InkSet", "Compression", "Predictor", "JPEGTables"),
))  # fmt: skip
"""Tags, by tifffile's names, without which the elements of a page would be read wrongly."""

_TYPE_SIZES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8)
"""Bytes of a value of each type of a tag."""


class Page(Protocol):
    """What is read of a page of tifffile, by its names."""

    axes: str
    bitspersample: Any  # several numbers if samples differ
    chunked: tuple[int, ...]
    chunks: tuple[int, ...]
    colormap: Array | None
    compression: int
    databytecounts: Sequence[int]
    dataoffsets: Sequence[int]
    decode: Callable[..., tuple[Any, ...]]
    dtype: Any  # None if it is no type of numpy
    extrasamples: Sequence[int]
    iccprofile: bytes | None
    imagedepth: int
    imagelength: int
    imagewidth: int
    is_contiguous: bool
    is_tiled: bool
    jpegheader: bytes | None
    keyframe: Page
    nbytes: int
    parent: Any
    photometric: int
    planarconfig: int
    predictor: int
    rowsperstrip: int
    sampleformat: int
    samplesperpixel: int
    shape: tuple[int, ...]
    tags: Any
    tiledepth: int
    tilelength: int
    tilewidth: int

    def asarray(self) -> Array:
        """The samples as they are stored."""


class PagePixels(NamedTuple):
    """The pixels of a page, upright, as rows and columns, and samples after them if there are several.

    Attributes:
        space: what the first samples of a pixel are; inks are as they are stored.
        extras: how many samples follow them.
        has_alpha: the first of the extras is alpha.
        bits: those of a sample in the file.
        profile: the ICC profile.
    """

    samples: Array
    space: ColorSpace
    extras: int
    has_alpha: bool
    bits: int
    profile: bytes | None

    def pixels(self) -> Array:
        """The samples, inks as RGB."""
        if self.space != "CMYK":
            return self.samples
        return np.concatenate([_rgb_of_inks(self.samples[..., :4]), self.samples[..., 4:]], -1)

    def colors(self) -> Array:
        """The grey or RGB samples alone; as 8 bits if no type has their number of bits, or if they are RGB of 16 bits.

        Raises:
            ValueError: there are other samples than alpha.
        """
        if self.extras > self.has_alpha:
            rule = f"it has {self.extras} samples beside its {self.space}, which RGB would leave out"
            raise ValueError(Message.of(rule, ": rs.imread(file) reads them as channels"))
        pixels = self.pixels()
        pixels = pixels[..., : pixels.shape[-1] - self.extras] if self.extras else pixels
        if self.bits > 1 and self.bits not in _NATIVE:
            most = (1 << self.bits) - 1
            return ((pixels.astype(np.uint64) * 255 + most // 2) // most).astype(np.uint8)
        return (pixels >> 8).astype(np.uint8) if self.space != "GRAY" and pixels.dtype == np.uint16 else pixels


def is_tiff(file: BinaryIO) -> bool:
    """True if a file that can seek begins as TIFF does."""
    file.seek(0)
    return file.read(4) in _PREFIXES


@contextmanager
def first_page(file: BinaryIO) -> Iterator[Page]:
    """Open a file that can seek, and yield its first page of tifffile; the file stays open.

    Raises:
        MissingPackage: tifffile is not installed.
        ValueError: the file is damaged.
    """
    with needed_package("reading TIFF", "tifffile", "images"):
        from tifffile import TiffFile

    _require_tags(file)
    file.seek(0)
    # For these formats of microscopes, which go beyond TIFF, tifffile would read more than a page.
    with TiffFile(file, name="", is_lsm=False, is_ndpi=False, is_scanimage=False) as opened:
        try:
            page = opened.pages.first
        except IndexError:
            raise ValueError("it has no pages") from None
        yield page


def _require_tags(file: BinaryIO) -> None:
    """Check that tifffile can read the tags of the first page: it leaves out those whose values are not in the file.

    Raises:
        ValueError: a tag is damaged, comes twice, or all together are longer than the file.
    """
    from tifffile import TIFF

    nbytes = file.seek(0, 2)
    file.seek(0)
    head = file.read(16)
    order = "<" if head[:1] == b"I" else ">"
    is_big = head[2:4] in (b"+\0", b"\0+")
    count, entry, inside = ("Q", "HHQQ", 8) if is_big else ("H", "HHII", 4)
    try:
        (start,) = struct.unpack_from(order + entry[-1], head, 8 if is_big else 4)
        file.seek(min(start, nbytes))
        (several,) = struct.unpack(order + count, file.read(struct.calcsize(count)))
        width = struct.calcsize("=" + entry)
        content = file.read(min(several, 4096) * width)
    except struct.error:
        raise ValueError("it is damaged, it ends before or inside the list of its tags") from None
    entries = list(struct.iter_unpack(order + entry, content[: len(content) // width * width]))
    if len(entries) < several:
        raise ValueError(f"it is damaged, it lists {several} tags, and has {len(entries)}")
    read = {TIFF.TAGS[name] for name in _READ_TAGS}
    seen: set[int] = set()
    total = 0
    for code, kind, number, place in entries:
        size = number * (_TYPE_SIZES[kind] if kind < len(_TYPE_SIZES) else 0)
        is_there = size <= inside or 8 <= place <= nbytes - size
        total += size if is_there else 0
        if code in read and (code in seen or not size or not is_there):
            why = "twice" if code in seen else "with values that are not in the file"
            raise ValueError(f"it is damaged, it has the tag {code} {why}")
        seen.add(code)
    if total > nbytes:
        raise ValueError(f"it is damaged, its tags have {total} bytes, and the file {nbytes}")


# What a page says of its elements.


def kind_of(page: Page) -> str:
    """The name of a page's photometric interpretation, RGB for YCbCr that JPEG decodes to RGB.

    Where no tag says it, the name is that of what libtiff assumes.
    """
    kind = str(getattr(page.photometric, "name", page.photometric))
    if "PhotometricInterpretation" not in page.tags and page.photometric == 0:
        colors = page.samplesperpixel - len(page.extrasamples)
        kind = "RGB" if colors >= 3 else "MINISWHITE" if page.compression in _FAX else "MINISBLACK"
    is_rgb = kind == "YCBCR" and page.compression in _JPEG and page.planarconfig == 1 and not page.extrasamples
    return "RGB" if is_rgb else kind


def orientation_of(page: Page) -> int:
    """The orientation of a page, 1 to 8.

    Raises:
        ValueError: it is another number.
    """
    orientation = page.tags.valueof("Orientation", default=1)
    if orientation not in range(1, 9):
        raise ValueError(f"it has the orientation {orientation}, which is none of 1 to 8")
    return int(orientation)


def flips(orientation: int) -> tuple[bool, bool]:
    """Whether the stored rows, and columns, have reverse order."""
    return orientation in _FLIPPED["rows"], orientation in _FLIPPED["columns"]


def swaps(orientation: int) -> bool:
    """Whether columns are stored as rows."""
    return orientation in _SWAPPED


def upright(stored: Array, orientation: int) -> Array:
    """Rows and columns, and what follows them, turned as an orientation says; a number outside 1 to 8 turns nothing."""
    flipped_rows, flipped_columns = flips(orientation)
    turned = stored[:: -1 if flipped_rows else 1, :: -1 if flipped_columns else 1]
    return turned.swapaxes(0, 1) if swaps(orientation) else turned


# Whether a file holds a page.


def _samples_in_webp(data: bytes) -> int:
    """The number of samples of one channel, by the first chunk of a WebP file. Source: RFC 9649, 2.5 to 2.7."""
    kind = data[12:16]
    if kind == b"VP8X":
        return (int.from_bytes(data[24:27], "little") + 1) * (int.from_bytes(data[27:30], "little") + 1)
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return ((bits & 0x3FFF) + 1) * ((bits >> 14 & 0x3FFF) + 1)
    columns, rows = struct.unpack_from("<HH", data, 26)
    return int((columns & 0x3FFF) * (rows & 0x3FFF))


def _samples_in_jpeg_2000(data: bytes) -> int:
    """The number of samples of all components, by the header of the codestream.

    The file begins with the codestream, or has it in its first box jp2c. Other boxes are passed over: they may hold any
    bytes. Source: ISO/IEC 15444-1, I.4.

    Raises:
        ValueError: there is no codestream.
    """
    place = 0
    kind = b"" if data[:4] != _CODESTREAM else b"jp2c"
    while kind != b"jp2c" and place + 16 <= len(data):
        length, kind, long = struct.unpack_from(">I4sQ", data, place)
        header = 16 if length == 1 else 8
        place += header if kind == b"jp2c" else max(header, long if length == 1 else length)
    if data[place : place + 4] != _CODESTREAM:
        raise ValueError("it is damaged, a strip or tile has no codestream of JPEG 2000")
    right, lower, left, upper, components = struct.unpack_from(">IIII16xH", data, place + 8)
    return int((right - left) * (lower - upper) * components)


_CODESTREAM = b"\xff\x4f\xff\x51"
"""The first two markers of JPEG 2000, SOC and SIZ."""

_HEADERS: dict[int, Callable[[bytes], int]] = {
    **dict.fromkeys(_JPEG, lambda data: math.prod(read_jpeg(BytesIO(data))[:3])),
    **dict.fromkeys((34927, 50001), _samples_in_webp),
    34933: lambda png: math.prod(struct.unpack_from(">II", png, 16)),
    **dict.fromkeys((33003, 33004, 33005, 34712), _samples_in_jpeg_2000),
}
"""For compressions whose strips and tiles have headers: the function that reads the number of samples from one."""

_BOUNDED = frozenset((*_PLAIN, *_FAX, *_EXPANSION, *_HEADERS))
"""Compressions that are read. Others that tifffile undoes, such as LERC and JPEG XL, have own headers, unknown here,
that say how much they decode to."""


def require_codec(page: Page) -> None:
    """Check that the page's compression can be undone here, and that this takes no more memory than the page says.

    Raises:
        MissingPackage: imagecodecs is not installed, and the page needs it.
        UnsupportedError: the compression is none of ``_BOUNDED``.
    """
    name = getattr(page.compression, "name", page.compression)
    if page.compression not in _BOUNDED:
        raise UnsupportedError(f"TIFF with the compression {name} is not read")
    is_packed = page.bitspersample not in (1, *_NATIVE)
    if page.compression not in _PLAIN or page.predictor not in (1, 2) or is_packed:
        what = f"samples of {page.bitspersample} bits" if is_packed else f"the compression {name}"
        with needed_package(f"TIFF with {what}", "imagecodecs", "codecs"):
            import imagecodecs  # noqa: F401 - tifffile uses it


def require_parts(page: Page) -> None:
    """Check that the file has all strips or tiles of a page: tifffile reads zeros where they are missing.

    Strips or tiles with offset 0 and count 0 are not stored; this is legal, and they read as zero.

    Raises:
        ValueError: one is missing or empty, or ends behind the end of the file.
    """
    first, file = page.keyframe, page.parent.filehandle
    parts = list(zip(page.dataoffsets, page.databytecounts, strict=False))
    if page.is_contiguous:  # read from its first part on, whatever the counts are
        parts = [(page.dataoffsets[0], first.nbytes)]
        if not page.dataoffsets[0]:
            raise ValueError("it is damaged, the place of its elements is missing")
    elif len(parts) < (number := math.prod(first.chunked)):
        raise ValueError(f"it is damaged, it lists {len(parts)} of {number} strips or tiles")
    for place, (start, count) in enumerate(parts):
        if bool(start) != bool(count):
            raise ValueError(f"it is damaged, its strip or tile {place} is at byte {start} and has {count} bytes")
        if start + count > file.size:
            raise ValueError(f"it is truncated: it has {file.size} bytes, and elements up to byte {start + count}")


def require_room(page: Page, stored: int, parts: int = 1) -> None:
    """Check that ``stored`` bytes may hold ``parts`` whole strips or tiles of a page.

    Raises:
        ValueError: the compression cannot expand these bytes to so many.
    """
    samples = page.samplesperpixel if page.planarconfig == 1 else 1
    rows = page.tilelength * page.tiledepth if page.is_tiled else page.rowsperstrip
    width = (page.tilewidth if page.is_tiled else page.imagewidth) * samples
    packed = (width * _bits_of(page) + 7) // 8
    # Each row of a fax takes a bit or more.
    expansion = 8 * packed if page.compression in _FAX else _EXPANSION.get(page.compression, DEFLATED)
    nbytes = parts * rows * width * page.dtype.itemsize
    if nbytes > MAX_FREE_SAMPLES and parts * rows * packed > expansion * stored:
        name = getattr(page.compression, "name", page.compression)
        raise ValueError(
            f"{stored} bytes of compression {name} are read to at most {max(MAX_FREE_SAMPLES, expansion * stored)} "
            f"bytes of pixels, not {nbytes}"
        )


def _bits_of(page: Page) -> int:
    """Bits of a sample; the most of them if samples differ."""
    return max(page.bitspersample) if isinstance(page.bitspersample, tuple) else int(page.bitspersample)


class _Guarded:
    """The function of tifffile that decodes a strip or tile of a page, after a check of the header inside it."""

    def __init__(self, page: Page) -> None:
        self._decode = page.decode
        samples = page.samplesperpixel if page.planarconfig == 1 else 1
        rows, columns = (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip, page.imagewidth)
        self._samples = rows * columns * samples
        self._nbytes = max(1, page.tiledepth) * self._samples * page.dtype.itemsize
        is_headless = page.compression in _JPEG and page.jpegheader is not None  # in NDPI, which has it elsewhere
        self._samples_in: Callable[[bytes], int] = _HEADERS.get(0 if is_headless else page.compression, lambda _: 0)
        self._is_unbounded = page.compression in _DEFLATE and find_spec("imagecodecs") is None
        self._is_swapped = page.bitspersample == 24 and page.dtype.kind == "u" and _swaps_24_bits(page.parent.byteorder)

    def __call__(self, data: bytes | None, index: int, /, **options: object) -> tuple[Any, ...]:
        if data is not None:
            self._require_sizes(data)
        elements, *where = self._decode(data, index, **options)
        return (elements.byteswap() if self._is_swapped and elements is not None else elements, *where)

    def _require_sizes(self, data: bytes) -> None:
        if self._is_unbounded and len(zlib.decompressobj().decompress(data, self._nbytes + 1)) > self._nbytes:
            raise ValueError("it is damaged, a strip or tile has more data than its pixels")
        try:
            samples = self._samples_in(data)
        except struct.error:
            raise ValueError("it is damaged, a strip or tile ends inside its own header") from None
        if samples > self._samples:
            raise ValueError(f"it is damaged, a strip or tile of {self._samples} samples says that it has {samples}")


def _swaps_24_bits(order: str) -> bool:
    """True if imagecodecs, as some versions do, swaps the bytes of samples of 24 bits of files of this byte order."""
    import imagecodecs

    number = imagecodecs.packints_decode(b"\1\2\3", np.dtype(f"{order}u4"), 24).astype("=u4").item()
    return bool(number != 0x10203)


def guard(page: Page) -> None:
    """Check the header inside each strip or tile before tifffile decodes it, whichever way it is read."""
    if not isinstance(page.decode, _Guarded):
        page.decode = _Guarded(page)


# Whole images.


def read_page(page: Page, most_pixels: float = math.inf) -> PagePixels:
    """Read a page.

    Args:
        page: of tifffile, from ``first_page``.
        most_pixels: maximum number of pixels.

    Raises:
        MissingPackage: imagecodecs is not installed, and the page needs it.
        UnsupportedError: it has elements, a photometric interpretation or a compression that is not read.
        ValueError: it is damaged, or its file is too short for it.
    """
    kind = kind_of(page)
    require_page(page, most_pixels)
    _require_read(page, kind)
    guard(page)
    bits = int(page.bitspersample)
    samples = page.asarray()
    samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    if samples.shape != page.shape:
        raise ValueError(f"it is damaged, it has elements of sizes {samples.shape} for {page.shape}")
    if page.axes == "SYX":
        samples = np.moveaxis(samples, 0, -1)
    samples = samples.reshape(page.imagelength, page.imagewidth, -1)
    main = _COLORS[kind]
    colors, extra = samples[..., :main], samples[..., main:]
    if kind == "MINISWHITE":
        colors = ~colors if bits in (1, *_NATIVE) else ((1 << bits) - 1) - colors
    elif kind == "PALETTE":
        colors = _colors_of_palette(page, colors[..., 0])
    if bits == 1:
        colors, extra = (each.astype(np.uint8) * (1 if each.dtype == np.uint8 else 255) for each in (colors, extra))
    if page.extrasamples and page.extrasamples[0] == PREMULTIPLIED:
        if samples.dtype == np.uint8 and bits == 8:
            colors = _divided(colors, extra[..., :1])
        else:
            warn_caller(
                "the colours of the TIFF are multiplied by alpha (premultiplied), and are kept as they are stored: "
                "only those of 8 bits are divided by it"
            )
    joined = np.concatenate([colors, extra], -1) if extra.size else colors
    joined = upright(joined, orientation_of(page))
    is_plain = joined.shape[-1] == 1
    return PagePixels(
        np.ascontiguousarray(joined[..., 0] if is_plain else joined),
        _SPACES.get(kind, "GRAY"),
        extra.shape[-1],
        bool(extra.shape[-1]) and _has_alpha(page, kind),
        bits if kind != "PALETTE" else 8,
        page.iccprofile,
    )


def require_page(page: Page, most_pixels: float = math.inf) -> None:
    """Check, before memory is taken, that a page is one that its file can hold, and that it can be decompressed.

    Raises:
        MissingPackage, UnsupportedError, ValueError: as of ``read_page``.
    """
    require_sizes(page)
    if page.imagedepth != 1:
        raise UnsupportedError(f"a volume of {page.imagedepth} slices in one page of TIFF is not an image")
    if page.imagewidth * page.imagelength > most_pixels:
        rule = (
            f"it has {page.imagewidth} x {page.imagelength} pixels, and more than {most_pixels} may be a decompression "
            "bomb: `restride pyramid` reads it part by part"
        )
        raise ValueError(
            Message.of(rule, ", as does rs.stream, and PIL.Image.MAX_IMAGE_PIXELS = None lets rs.imread read all of it")
        )
    require_parts(page)
    # Strips may share bytes, so their counts may add up to more than the file has.
    require_room(page, min(sum(page.databytecounts), page.parent.filehandle.size), math.prod(page.chunked))


def require_sizes(page: Page) -> None:
    """Check the numbers of a page that sizes are computed from.

    Raises:
        UnsupportedError: its elements are not read.
        ValueError: a size is no number above 0, or the planar configuration is unknown.
    """
    sizes: list[object] = [page.imagewidth, page.imagelength, page.imagedepth, page.samplesperpixel]
    sizes += [page.tilewidth, page.tilelength, page.tiledepth] if page.is_tiled else [page.rowsperstrip]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ValueError(f"it is damaged, its sizes are {sizes}")
    if page.planarconfig not in (1, 2):
        raise ValueError(f"it is damaged, its planar configuration is {page.planarconfig}, not 1 or 2")
    if page.dtype is None or page.dtype.kind not in "buif":
        raise UnsupportedError(
            f"TIFF with elements of {page.bitspersample} bits and the sample format {page.sampleformat} is not read"
        )


def _require_read(page: Page, kind: str) -> None:
    """Check that the photometric interpretation of a page has a meaning here, for elements of its type."""
    if kind not in _COLORS or (kind == "SEPARATED" and page.tags.valueof("InkSet", default=1) != 1):
        raise UnsupportedError(
            f"TIFF with the photometric interpretation {kind} is not read, only those of {tuple(_COLORS)} are"
        )
    if isinstance(page.bitspersample, tuple):
        raise UnsupportedError(f"TIFF with samples of {page.bitspersample} bits, not all alike, is not read")
    if page.samplesperpixel < _COLORS[kind]:
        raise ValueError(
            f"it is damaged, it has {page.samplesperpixel} samples a pixel, and {kind} has {_COLORS[kind]}"
        )
    if kind == "MINISWHITE" and page.dtype.kind not in "bu":
        raise UnsupportedError(
            f"TIFF with the photometric interpretation MINISWHITE is read with unsigned integers, not {page.dtype}, "
            f"in which nothing says which number is black"
        )
    if (kind == "PALETTE" and (page.dtype.kind not in "bu" or page.bitspersample > 16)) or (
        kind == "SEPARATED" and page.dtype not in (np.uint8, np.uint16)
    ):
        raise UnsupportedError(f"TIFF with the photometric interpretation {kind} is not read of {page.dtype}")
    if kind == "PALETTE" and page.bitspersample > 8 and page.samplesperpixel > 1:
        raise UnsupportedError(f"TIFF with a PALETTE of {page.bitspersample} bits and further samples is not read")
    if page.extrasamples and page.extrasamples[0] == PREMULTIPLIED and kind not in ("RGB", *VALUES):
        raise UnsupportedError(f"TIFF with the photometric interpretation {kind} and premultiplied alpha is not read")
    require_codec(page)


def _has_alpha(page: Page, kind: str) -> bool:
    """True if the first sample beside the colours is alpha, as is a fourth one of RGB that no tag names."""
    if page.extrasamples:
        return page.extrasamples[0] in _ALPHA
    return kind == "RGB" and page.samplesperpixel == 4


def _colors_of_palette(page: Page, numbers: Array) -> Array:
    """The colours of a palette, as u8, by their numbers. A map without a number above 255 holds 8-bit numbers."""
    table = page.colormap
    if table is None or np.ndim(table) != 2 or len(table) != 3 or table.shape[1] < 1 << page.bitspersample:
        raise ValueError(f"it is damaged, it has no palette of {1 << page.bitspersample} colours")
    colors = (table if table.max() <= 255 else table >> 8).astype(np.uint8).T
    of_numbers: Array = np.take(colors, numbers, axis=0)
    return of_numbers


def _divided(colors: Array, alpha: Array) -> Array:
    """Colours of u8 divided by alpha, as Pillow does: without alpha, colours are 0, and grey stays."""
    whole = np.minimum(colors.astype(np.uint16) * 255 // np.maximum(alpha, 1), 255).astype(np.uint8)
    return np.where(alpha == 0, 0 if colors.shape[-1] == 3 else colors, whole).astype(np.uint8)


def _rgb_of_inks(inks: Array) -> Array:
    """Cyan, magenta, yellow and black as RGB of the same type, by Pillow's formula."""
    most = np.iinfo(inks.dtype).max
    light = most - inks[..., 3:].astype(np.uint64)
    return (light - (inks[..., :3] * light + most // 2) // most).astype(inks.dtype)
