"""TIFF files of drawn types, byte orders, compressions, predictors, photometric interpretations, planes and tiles.

Each comes with the array that was written, and with the pixels that it is by the rules of TIFF 6.0, in numpy alone.
"""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from support.judges import judge

TYPES = ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8")
PACKED = (2, 3, 4, 5, 7, 10, 12, 14, 17, 20, 24, 31)
OF_IMAGES = ("webp", "png", "jpeg2000")
"""Compressions without loss that need u8."""
COLORS = {"minisblack": 1, "miniswhite": 1, "rgb": 3, "palette": 1, "separated": 4}
PHOTOMETRIC = {"miniswhite": 0, "minisblack": 1, "rgb": 2, "palette": 3, "separated": 5}
FORMATS = {"b": 1, "u": 1, "i": 2, "f": 3}
EXTRA = {"unspecified": 0, "assocalpha": 1, "unassalpha": 2}


@dataclass(frozen=True)
class Drawn:
    """A file, what it was drawn as, its elements as rows, columns and samples, and its map of colours."""

    text: str
    content: bytes
    stored: np.ndarray
    bits: int
    photometric: str
    extra: tuple[str, ...]
    orientation: int
    colormap: np.ndarray | None

    @property
    def refusal(self) -> str | None:
        """A part of the message with which the file is refused; None: it is read."""
        kind = self.stored.dtype.kind
        premultiplied = self.extra[:1] == ("assocalpha",)
        if self.photometric == "miniswhite" and kind not in "bu":
            return "MINISWHITE is read with unsigned integers, not"
        if self.photometric == "palette" and (kind not in "bu" or self.bits > 16):
            return "PALETTE is not read of"
        if self.photometric == "separated" and (kind != "u" or self.stored.dtype.itemsize > 2):
            return "SEPARATED is not read of"
        if self.photometric == "palette" and self.bits > 8 and self.extra:
            return "bits and further samples is not read"
        if premultiplied and self.photometric not in ("minisblack", "rgb"):
            return "and premultiplied alpha is not read"
        return None

    def pixels(self) -> np.ndarray:
        """What the file shows, by TIFF's own rules."""
        count = COLORS[self.photometric]
        colors, extra = self.stored[..., :count], self.stored[..., count:]
        if self.photometric == "miniswhite":
            colors = (
                colors.dtype.type((1 << self.bits) - 1 if self.bits < 64 else 2**64 - 1) - colors
                if self.bits > 1
                else ~colors
            )
        elif self.photometric == "palette":
            table = self.colormap if self.colormap.max() < 256 else self.colormap >> 8
            colors = table.astype(np.uint8).T[colors[..., 0].astype(int)]
        elif self.photometric == "separated":
            most = np.iinfo(colors.dtype).max
            inks = colors.astype(np.float64) / most
            exact = (1 - inks[..., :3]) * (1 - inks[..., 3:]) * most
            colors = np.floor(exact + 0.5).astype(colors.dtype)
        if self.bits == 1:
            colors, extra = (
                np.where(each, 255, 0).astype(np.uint8) if each.dtype == bool else each for each in (colors, extra)
            )
        if self.extra[:1] == ("assocalpha",) and self.stored.dtype == np.uint8 and self.bits == 8:
            alpha = extra[..., :1].astype(int)
            divided = np.minimum(colors.astype(int) * 255 // np.maximum(alpha, 1), 255)
            colors = np.where(alpha > 0, divided, 0 if count == 3 else colors).astype(np.uint8)
        whole = np.concatenate([colors, extra], -1) if self.extra else colors
        return upright(whole[..., 0] if whole.shape[-1] == 1 else whole, self.orientation)


def upright(stored: np.ndarray, orientation: int) -> np.ndarray:
    """What each of the eight orientations means."""
    x = stored
    turned = (x, x[:, ::-1], x[::-1, ::-1], x[::-1], x.swapaxes(0, 1), np.rot90(x, -1))
    return (*turned, np.rot90(x, 2).swapaxes(0, 1), np.rot90(x))[orientation - 1]


def elements(draw: random.Random, dtype: np.dtype[Any], bits: int, sizes: tuple[int, ...]) -> np.ndarray:
    numbers = np.random.default_rng(draw.randrange(1 << 32))
    if dtype.kind == "b":
        return numbers.integers(0, 2, sizes).astype(bool)
    if dtype.kind == "f":
        return numbers.standard_normal(sizes).astype(dtype)
    if dtype.kind == "u" and bits < 64:
        return numbers.integers(0, 1 << bits, sizes, np.uint64).astype(dtype)
    return np.frombuffer(numbers.bytes(int(np.prod(sizes)) * dtype.itemsize), dtype).reshape(sizes)


COMPRESSION_TAGS = {
    "none": 1,
    "lzw": 5,
    "deflate": 8,
    "old deflate": 32946,
    "packbits": 32773,
    "lzma": 34925,
    "zstd": 50000,
}
COMPRESSION_TAGS |= {"png": 34933, "webp": 50001, "jpeg2000": 34712}


def encoded(part: np.ndarray, bits: int, compression: str, predictor: int, order: str) -> bytes:
    """A strip or tile, rows, columns and samples, as its file has it."""
    if compression in OF_IMAGES:
        codecs = judge("imagecodecs")
        image = part[..., 0] if part.shape[2] == 1 else part
        named = (
            {"lossless": True} if compression == "webp" else {"reversible": True} if compression == "jpeg2000" else {}
        )
        return getattr(codecs, f"{compression.replace('2000', '2k')}_encode")(np.ascontiguousarray(image), **named)
    rows = len(part)
    if predictor == 2:
        whole = part.view(f"u{part.itemsize}")
        part = np.diff(whole, axis=1, prepend=np.zeros_like(whole[:, :1])).astype(whole.dtype)
    if predictor == 3:  # bytes of all elements of a row apart, the highest first, and then their differences
        lanes = (
            part.reshape(rows, -1).astype(part.dtype.newbyteorder(">")).view(np.uint8).reshape(rows, -1, part.itemsize)
        )
        flat = lanes.transpose(0, 2, 1).reshape(rows, -1, part.shape[2])
        content = np.diff(flat, axis=1, prepend=np.zeros_like(flat[:, :1])).astype(np.uint8).tobytes()
    elif bits in (8, 16, 32, 64):
        content = part.astype(part.dtype.newbyteorder(order)).tobytes()
    else:  # the highest bit first, in either byte order (DNG 1.4, BitsPerSample)
        each = part.reshape(rows, -1, 1).astype(np.uint64) >> np.arange(bits, dtype=np.uint64)[::-1] & np.uint64(1)
        content = np.packbits(each.reshape(rows, -1).astype(np.uint8), axis=1).tobytes()
    if compression == "none":
        return content
    if "deflate" in compression:
        return zlib.compress(content)
    return getattr(judge("imagecodecs"), f"{compression}_encode")(content)


def file_of(tags: dict[int, tuple[str, list[int]]], parts: list[bytes], order: str, *, big: bool, tiled: bool) -> bytes:
    """A TIFF file: its parts, then its one list of tags, each of a type and values."""
    start = 16 if big else 8
    offsets = [start + sum(map(len, parts[:place])) for place in range(len(parts))]
    word, pair = ("Q", "HHQ") if big else ("I", "HHI")
    tags = tags | {324 if tiled else 273: (word, offsets), 325 if tiled else 279: (word, list(map(len, parts)))}
    data = b"".join(parts)
    place = start + len(data)
    count = "Q" if big else "H"
    behind = place + struct.calcsize("=" + count) + len(tags) * (20 if big else 12) + (8 if big else 4)
    entries, values = b"", b""
    for code, (kind, numbers) in sorted(tags.items()):
        value = struct.pack(f"{order}{len(numbers)}{kind}", *numbers)
        entries += struct.pack(order + pair, code, {"B": 1, "H": 3, "I": 4, "Q": 16}[kind], len(numbers))
        inside = 8 if big else 4
        if len(value) > inside:
            entries += struct.pack(order + word, behind + len(values))
            values += value
        else:
            entries += value.ljust(inside, b"\0")
    head = (b"II" if order == "<" else b"MM") + struct.pack(
        order + ("HHHQ" if big else "HI"), *((43, 8, 0) if big else (42,)), place
    )
    return head + data + struct.pack(order + count, len(tags)) + entries + bytes(inside) + values


def claimed(
    rows: int, columns: int, compression: int, data: bytes, *, tile: tuple[int, ...] = (), bits: int = 8
) -> bytes:
    """A file of one strip or tile that says that it has these sizes."""
    sizes = {256: columns, 257: rows} | ({322: tile[1], 323: tile[0]} if tile else {278: rows})
    tags = {code: ("I", [size]) for code, size in sizes.items()}
    tags |= {code: ("H", [value]) for code, value in ((258, bits), (259, compression), (262, 1), (277, 1))}
    return file_of(tags, [data], "<", big=False, tiled=bool(tile))


def drawn(seed: object) -> Drawn:
    """The file of a seed."""
    draw = random.Random(repr(seed))
    photometric = draw.choice(list(COLORS))
    # Most are of a type that the photometric interpretation is read of.
    common = {"miniswhite": TYPES[:5], "palette": ("?", "u1", "u1", "u1", "u2"), "separated": ("u1", "u2")}
    dtype = np.dtype(draw.choice(common.get(photometric, TYPES) if draw.random() < 0.9 else TYPES))
    bits = 1 if dtype.kind == "b" else dtype.itemsize * 8
    if draw.random() < 0.15:
        bits = draw.choice(PACKED)
        dtype = np.dtype("u1" if bits < 8 else "u2" if bits < 16 else "u4")
    compression = draw.choice([each for each in COMPRESSION_TAGS if each not in OF_IMAGES])
    extra: tuple[str, ...] = tuple(draw.choice(list(EXTRA)) for _ in range(draw.choice((0, 0, 0, 1, 1, 2, 3))))
    planar = draw.choice((1, 1, 2))
    if draw.random() < 0.05:
        dtype, bits, compression, photometric = np.dtype("u1"), 8, draw.choice(OF_IMAGES), "rgb"
        extra, planar = extra[:1] if extra[:1] == ("unassalpha",) else (), 1
    samples = COLORS[photometric] + len(extra)
    rows, columns = draw.randrange(1, 40), draw.randrange(1, 40)
    stored = elements(draw, dtype, bits, (rows, columns, samples))
    orientation, order, big, tiled = draw.randrange(1, 9), draw.choice("<>"), draw.random() < 0.2, draw.random() < 0.4
    predictor = 1
    if compression in ("deflate", "lzw", "zstd", "lzma") and bits in (8, 16, 32, 64) and draw.random() < 0.5:
        predictor = draw.choice((2, 3)) if dtype.kind == "f" else 2
    high, wide = (
        (16 * draw.randrange(1, 3), 16 * draw.randrange(1, 3)) if tiled else (draw.randrange(1, rows + 1), columns)
    )
    planes = [stored] if planar == 1 else np.split(stored, samples, axis=2)
    parts = []
    for plane in planes:
        for y in range(0, rows, high):
            for x in range(0, columns, wide):
                part = plane[y : y + high, x : x + wide]
                if tiled:
                    part = np.pad(part, ((0, high - part.shape[0]), (0, wide - part.shape[1]), (0, 0)), mode="edge")
                parts.append(encoded(np.ascontiguousarray(part), bits, compression, predictor, order))
    reverses = compression not in OF_IMAGES and draw.random() < 0.1
    if reverses:  # FillOrder 2: the lowest bit of each byte comes first
        table = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
        parts = [part.translate(table) for part in parts]
    tags: dict[int, tuple[str, list[int]]] = {
        256: ("I", [columns]), 257: ("I", [rows]), 258: ("H", [bits] * samples),
        259: ("H", [COMPRESSION_TAGS[compression]]), 262: ("H", [PHOTOMETRIC[photometric]]),
        274: ("H", [orientation]), 277: ("H", [samples]), 284: ("H", [planar]),
        317: ("H", [predictor]), 339: ("H", [FORMATS[dtype.kind]] * samples),
    }  # fmt: skip
    tags |= {322: ("I", [wide]), 323: ("I", [high])} if tiled else {278: ("I", [high])}
    if extra:
        tags[338] = ("H", [EXTRA[each] for each in extra])
    if reverses:
        tags[266] = ("H", [2])
    colormap = None
    if photometric == "palette" and dtype.kind in "bu" and bits <= 16:
        colormap = np.random.default_rng(draw.randrange(1 << 32)).integers(0, draw.choice((256, 65536)), (3, 1 << bits))
        tags[320] = ("H", colormap.ravel().tolist())
    where = f"parts {high} x {wide}, planes {planar}, orientation {orientation}, bits reversed {reverses}, big {big}"
    what = f"{dtype} of {bits} bits, {stored.shape}, {order}, {compression}, predictor {predictor}, {photometric}"
    text = f"{what}, {extra}, {where}"
    return Drawn(
        text, file_of(tags, parts, order, big=big, tiled=tiled), stored, bits, photometric, extra, orientation, colormap
    )
