"""Checks of image files before they are decoded: all parts of PNG and JPEG, the pixels of WebP, BMP and GIF.

From a damaged PNG or JPEG Pillow reads as much as it can, and silently leaves the other pixels black or grey. It
refuses truncated files of other formats. tensor/tiff.py has the checks of TIFF.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from itertools import product
from typing import BinaryIO, NamedTuple

from restride.arguments.pillow import PillowImage
from restride.errors import printable
from restride.tensor.colors import COLOR_CHUNKS

_BLOCK = 1 << 16
"""Maximum number of bytes of a file that are read at once; parts that are longer cost no more memory."""


class Png(NamedTuple):
    """What the chunks of a PNG say of its pixels.

    Attributes:
        bits: of a sample.
        color: the color type.
        key: the samples of the transparent colour, if it has one (tRNS).
        colors: the content of the ``COLOR_CHUNKS`` before the pixels.
    """

    bits: int
    color: int
    key: tuple[int, ...] | None
    colors: dict[bytes, bytes]


_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Number of channels of each PNG color type."""
_CRITICAL = frozenset((b"IHDR", b"PLTE", b"IDAT", b"IEND"))
_SINGLE = frozenset((
    *(b"IHDR", b"PLTE", b"IEND", b"tRNS", b"acTL", b"bKGD", b"cHRM", b"cICP", b"eXIf", b"gAMA", b"hIST", b"iCCP"),
    *(b"pHYs", b"sBIT", b"sRGB", b"tIME"),
))  # fmt: skip
"""Chunks that occur at most once in a PNG file."""
_KEPT = frozenset((b"IHDR", b"PLTE", b"tRNS", b"fcTL")) | COLOR_CHUNKS
"""Chunks whose content is read here."""
DEFLATED = 1032
"""Maximum number of bytes that one byte of deflate can expand to."""
_RUN_LENGTHS = (1, 2)
"""Pillow's names of the compressions of BMP with run lengths."""
_MAX_RUN_WIDTH = 1 << 16
"""Maximum width of a BMP with run lengths: older Pillows make up to 255 rows of 4 bytes, whatever the height is."""
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Passes of an interlaced PNG: the first column and row, and the steps between columns and between rows."""


def read_png(file: BinaryIO) -> Png:
    """Check all chunks of a PNG file, and that its compressed data hold exactly its pixels.

    Raises:
        ValueError: a chunk is missing, comes twice or in the wrong place, or has a wrong checksum or content.
        zlib.error: the compressed data are damaged.

    Source: W3C, Portable Network Graphics (PNG) Specification, third edition, 5 and 11.
    """
    nbytes = file.seek(0, 2)
    file.seek(len(b"\x89PNG\r\n\x1a\n"))
    chunks: dict[bytes, bytes] = {}
    colors: dict[bytes, bytes] = {}
    last = b""
    data = _Data()
    while last != b"IEND":
        head = file.read(8)
        if len(head) < 8:
            raise ValueError("it is damaged, it ends before its IEND chunk")
        length, kind = struct.unpack(">I4s", head)
        _require_place(kind, last, chunks)
        content = bytearray()
        checksum = zlib.crc32(kind)
        for block in _read_blocks(file, length):
            checksum = zlib.crc32(block, checksum)
            if kind == b"IDAT":
                data.append(block)
            elif kind in _KEPT:
                content += block
        if file.read(4) != struct.pack(">I", checksum):
            raise ValueError(f"it is damaged, the checksum of its {_name(kind)} chunk is wrong")
        if kind == b"IHDR":
            data.most = _data_length(content)
            width, height, bits, color = struct.unpack_from(">IIBB", content)
            if data.most > DEFLATED * nbytes:
                raise ValueError(f"{nbytes} bytes cannot hold the {width} x {height} pixels of its header")
        if kind == b"fcTL" and b"IDAT" not in chunks and content[4:20] != chunks[b"IHDR"][:8] + bytes(8):
            raise ValueError("it is damaged, the first frame of its animation has not the size of the image")
        chunks[kind] = bytes(content)
        if kind in COLOR_CHUNKS and b"IDAT" not in chunks:  # readers ignore it after the pixels
            colors[kind] = chunks[kind]
        last = kind
    if not data.is_whole:
        raise ValueError(
            f"it is damaged, its IDAT chunks hold {data.nbytes} of {data.most} bytes of its {width} x {height} pixels"
        )
    if color == 3 and (len(chunks.get(b"PLTE", b"")) % 3 or not chunks.get(b"PLTE")):
        raise ValueError("it is damaged, it has no palette of red, green and blue (PLTE)")
    return Png(bits, color, _transparent(chunks.get(b"tRNS"), bits, color), colors)


def _name(kind: bytes) -> str:
    return printable(kind.decode("latin-1"))


def _require_place(kind: bytes, last: bytes, chunks: dict[bytes, bytes]) -> None:
    """Raise ``ValueError`` if a chunk of this kind may not come after ``last`` and the other ``chunks``."""
    if not chunks and kind != b"IHDR":
        raise ValueError(f"it is damaged, a PNG image begins with its IHDR, not {_name(kind)}")
    if kind in _SINGLE and kind in chunks:
        raise ValueError(f"it is damaged, it has two {_name(kind)} chunks")
    if not kind[0] & 0x20 and kind not in _CRITICAL:  # readers may ignore a chunk whose first letter is lower-case
        raise ValueError(f"it has a chunk {_name(kind)}, without which its pixels cannot be read")
    if b"IDAT" in chunks and ((kind == b"IDAT" and last != kind) or kind in (b"PLTE", b"tRNS")):
        raise ValueError(f"it is damaged, its {_name(kind)} chunk comes after its IDAT chunks")
    if kind == b"PLTE" and b"tRNS" in chunks:
        raise ValueError("it is damaged, its tRNS chunk comes before its palette (PLTE)")


def _read_blocks(file: BinaryIO, length: int) -> Iterator[bytes]:
    while length:
        block = file.read(min(length, _BLOCK))
        if not block:
            raise ValueError("it is damaged, it ends inside a chunk")
        length -= len(block)
        yield block


def _data_length(header: bytes | bytearray) -> int:
    """Bytes that the pixels take before compression: a byte and the packed samples of each row of each pass."""
    if len(header) != 13:
        raise ValueError(f"it is damaged, its IHDR chunk has {len(header)} bytes, not 13")
    width, height, bits, color, compression, filtering, interlace = struct.unpack(">IIBBBBB", header)
    if color not in _CHANNELS or compression or filtering or interlace > 1:
        raise ValueError(
            f"it is damaged, its header says color type {color}, compression {compression}, filter {filtering} and "
            f"interlace {interlace}"
        )
    total = 0
    for x, y, step_x, step_y in _ADAM7 if interlace else ((0, 0, 1, 1),):
        columns, rows = -(-(width - x) // step_x), -(-(height - y) // step_y)
        if columns > 0:
            total += max(rows, 0) * (1 + (columns * bits * _CHANNELS[color] + 7) // 8)
    return total


class _Data:
    """Counts the decompressed bytes of all IDAT chunks without keeping them; ``most`` are expected."""

    def __init__(self) -> None:
        self.most = self.nbytes = 0
        self._inflate = zlib.decompressobj()

    def append(self, block: bytes) -> None:
        """Count the bytes of the next compressed ``block``."""
        while block:
            self.nbytes += len(self._inflate.decompress(block, _BLOCK))
            if self.nbytes > self.most or self._inflate.unused_data:
                raise ValueError("it is damaged, its IDAT chunks have more data than the pixels of its header")
            block = self._inflate.unconsumed_tail

    @property
    def is_whole(self) -> bool:
        """True if the data have ended, and have the expected length."""
        return self._inflate.eof and self.nbytes == self.most


def _transparent(chunk: bytes | None, bits: int, color: int) -> tuple[int, ...] | None:
    """The samples of the transparent colour; None for a palette, whose transparency Pillow reads."""
    if chunk is None or color not in (0, 2):
        return None
    channels = _CHANNELS[color]
    if len(chunk) != 2 * channels:
        raise ValueError(f"it is damaged, its tRNS chunk has {len(chunk)} bytes, not {2 * channels}")
    return tuple(sample & ((1 << bits) - 1) for sample in struct.unpack(f">{channels}H", chunk))


def bare_png(file: BinaryIO) -> bytes:
    """A PNG file that ``read_png`` has checked, without the chunks that say nothing of pixels and transparency."""
    file.seek(0)
    parts = [file.read(8)]
    kind = b""
    while kind != b"IEND":
        head = file.read(8)
        length, kind = struct.unpack(">I4s", head)
        content = file.read(length + 4)
        if kind in (b"IHDR", b"tRNS", b"IDAT", b"IEND"):
            parts += head, content
    return b"".join(parts)


# JPEG.

_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""A marker that is not inside compressed data, where 0 follows a byte of 255, or one of the eight restart markers."""
_EOI, _SOS = 0xD9, 0xDA
_ALONE = frozenset((0x01, 0xD8))
"""Markers without a segment: TEM, and SOI, whose second one libjpeg refuses."""
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a frame header (SOF)."""
_PROGRESSIVE = frozenset((0xC2, 0xC6, 0xCA, 0xCE))
_ARITHMETIC = frozenset(range(0xC9, 0xD0))
_MAX_SCANS = 100
"""Maximum scans of a progressive JPEG. A scan is work for every pixel, but may have only 11 bytes; encoders use 12."""
_PIXELS_PER_BYTE = 512
"""Maximum pixels in a byte of a JPEG with Huffman codes: a block of 8 x 8 takes at least one bit."""
MAX_FREE_SAMPLES = 1 << 22
"""This many samples are decoded whatever the length of the file, because some formats need hardly any bits for them:
Pillow and the result then take 32 MiB."""


class Jpeg(NamedTuple):
    """The sizes in the header of a JPEG, and how many bytes to give a decoder at once.

    With Huffman codes ``at_once`` is 0: as many bytes as the decoder likes. With arithmetic coding it is all bytes of
    the file, because libjpeg cannot stop at the end of a block and continue.
    """

    rows: int
    columns: int
    components: int
    at_once: int


def read_jpeg(file: BinaryIO) -> Jpeg:
    """Check that a JPEG file has all its parts, and bytes for its pixels.

    Raises:
        ValueError: a part is missing or comes twice, or the file is too short for its pixels.

    Source: ITU-T T.81, B (markers), G (progressions) and D (arithmetic coding: no least number of bits for a block).
    """
    file.seek(0)
    frame, header = 0, b""
    scans: list[bytes] = []
    while (marker := _next_marker(file)) != _EOI:
        if marker in _ALONE:
            continue
        length = int.from_bytes(file.read(2), "big") - 2
        segment = file.read(max(length, 0))
        if not 0 <= length == len(segment):
            raise ValueError(f"it is damaged, the segment of its marker {marker:02X} is cut")
        if marker in _FRAMES:
            if frame:
                raise ValueError("it is damaged, it has two frame headers (SOF)")
            frame, header = marker, segment
        elif marker == _SOS:
            scans.append(segment)
            if len(scans) > _MAX_SCANS:
                raise ValueError(f"it has more than {_MAX_SCANS} scans")
    _require_scans(frame, header, scans)
    nbytes = file.tell()
    height, width = struct.unpack(">HH", header[1:5])
    is_arithmetic = frame in _ARITHMETIC
    most = max(_PIXELS_PER_BYTE * nbytes, MAX_FREE_SAMPLES // header[5] if is_arithmetic else 0)
    if width * height > most:
        why = f"of arithmetic coding are read to at most {most} pixels, not" if is_arithmetic else "cannot hold"
        raise ValueError(f"{nbytes} bytes {why} the {width} x {height} pixels of its header")
    return Jpeg(height, width, header[5], nbytes if is_arithmetic else 0)


def _require_scans(frame: int, header: bytes, scans: list[bytes]) -> None:
    """Raise ``ValueError`` unless the headers of frame and ``scans`` are whole, and each component is coded once."""
    if len(header) < 9 or len(header) != 6 + 3 * header[5]:
        raise ValueError("it is damaged, its frame header (SOF) is missing or has a wrong length")
    lowest: dict[tuple[int, int], int] = {}  # for a component and a coefficient, the lowest bit that has been coded
    for scan in scans:
        if len(scan) < 4 or len(scan) != 4 + 2 * scan[0]:
            raise ValueError("it is damaged, the header of a scan (SOS) has a wrong length")
        first, last, bits = scan[-3:] if frame in _PROGRESSIVE else bytes(3)
        for coded in product(scan[1:-3:2], range(first, last + 1)):
            # A scan of a progressive JPEG gives a coefficient its highest bits, or the one bit below those that an
            # earlier scan gave.
            if lowest.get(coded) != (bits >> 4 or None):
                raise ValueError("it is damaged, it has a scan twice, or one before it is missing")
            lowest[coded] = bits & 15
    if any((component, 0) not in lowest for component in header[6::3]):
        raise ValueError("it is damaged, a scan (SOS) is missing")


def _next_marker(file: BinaryIO) -> int:
    """Read up to the next marker and return its second byte."""
    size = 2
    while len(block := file.read(size)) > 1:
        found = _MARKER.search(block)
        if found:
            file.seek(found.end() - len(block), 1)
            return block[found.end() - 1]
        file.seek(-1, 1)  # the last byte may be the first one of a marker
        size = _BLOCK
    raise ValueError("it is damaged, it ends before its end marker (EOI)")


# Other formats.


def require_held(image: PillowImage, nbytes: int) -> None:
    """Check that the bytes of a file that Pillow has opened may hold its pixels.

    Args:
        image: not decoded yet.
        nbytes: length of the file.

    Raises:
        ValueError: more pixels than are decoded for so few bytes.
    """
    width, height = image.size
    if image.format == "BMP" and image.info.get("compression") in _RUN_LENGTHS and width > _MAX_RUN_WIDTH:
        raise ValueError(f"a BMP with run lengths is read to a width of {_MAX_RUN_WIDTH} pixels, not {width}")
    most = max(MAX_FREE_SAMPLES // len(image.getbands()), DEFLATED * nbytes)
    if width * height > most:
        raise ValueError(f"{nbytes} bytes are read to at most {most} pixels, not {width} x {height}")
