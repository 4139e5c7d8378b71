"""PNG: an array of pixels as the bytes of a file, https://www.w3.org/TR/png-3/."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"

_GREY, _RGB = 0, 2  # colour types


def encode(pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """The file of u8 pixels, [height, width] of grey or [height, width, 3] of red, green and blue; no side is 0."""
    height, width = pixels.shape[:2]
    colour = _GREY if pixels.ndim == 2 else _RGB
    # Each row begins with the number of its filter: 0, the bytes as they are.
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)), _chunk(b"IEND", b""))
    return SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
