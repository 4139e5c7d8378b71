"""Draw failed cases as PNG files: which elements are wrong, and for an image-like resample the images too.

The images of such a resample are the expected image, the actual one, and where they differ:

    [height, width]                           grey
    [3, height, width], [height, width, 3]    colour; 1 channel is drawn grey, of 4 channels the first three
    [batch, ...]                              the picture of the batch with the largest difference

The channel axis is guessed: the first or last axis, if it has size 1, 3 or 4; of two candidates one that the case does
not resample, otherwise the first. Black and white are the smallest and largest finite expected values.
"""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np

from restride.dtypes import Array
from restride.reference.comparison import distances
from restride_conformance.case import Case
from restride_conformance.record import Pictures

SMALL = 160
"""A picture whose longer side has fewer pixels is enlarged by a whole factor, at most to this size."""
LARGE = 256
"""If the longer side has more pixels, every nth row and column is drawn; of the difference, the largest value of each
square of n by n pixels."""
NAN_COLOUR = (255, 0, 255)
RIGHT, WRONG, KEPT, LINE = (150, 158, 168), (208, 32, 32), (240, 170, 0), (112, 120, 130)
"""Colours of a picture of wrong elements, seen on white and on black: elements, and the lines between large ones."""
_LINED = 8  # lines surround an element that is drawn with at least this many pixels

_MAX_DOUBLINGS = 1023  # largest exponent of f64


# No warnings: signalling NaNs, infinities and differences beyond the range of f64 must all be drawn.
@np.errstate(invalid="ignore", over="ignore")
def draw(case: Case, expected: Array, actual: Array) -> Pictures | None:
    """The pictures of a resample case whose destination looks like an image; None for any other case."""
    channel = _channel_axis(case) if case.op == "resample" else None
    if channel is None:
        return None
    difference = distances(expected, actual)
    if len(case.dst.sizes) == 4:
        worst = int(difference.reshape(difference.shape[0], -1).max(axis=1).argmax())
        expected, actual, difference = expected[worst], actual[worst], difference[worst]
        channel -= 1
    # From here on the arrays are [height, width, channels].
    if expected.ndim == 2:
        expected, actual, difference = expected[..., None], actual[..., None], difference[..., None]
    else:
        expected, actual, difference = (np.moveaxis(array, channel, -1) for array in (expected, actual, difference))
    expected, actual = expected.astype(np.float64), actual.astype(np.float64)
    finite = expected[np.isfinite(expected)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    gain, levels = _magnified(difference, high / 2 - low / 2)
    return Pictures(_file(_shades(expected, low, high)), _file(_shades(actual, low, high)), _file(levels), gain)


def draw_wrong(right: Array, kept: Array) -> bytes:
    """A picture of the wrong elements, the last axis across and all others down; empty if all are right.

    They are red, and amber where they are as before the run, by the mask ``kept``. Of more than ``LARGE`` rows or
    columns, a square of elements is red or amber if one of them is.
    """
    if right.all():
        return b""
    shape = (-1, right.shape[-1] if right.ndim else 1)
    cells = np.array(RIGHT, np.uint8)
    for mask, colour in ((~right & kept, KEPT), (~right & ~kept, WRONG)):
        shown = mask.reshape(shape)
        step = _step(*shown.shape)
        for axis, size in enumerate(shown.shape):
            shown = np.logical_or.reduceat(shown, range(0, size, step), axis=axis)
        cells = np.where(shown[..., None], np.array(colour, np.uint8), cells)
    factor = max(1, SMALL // max(cells.shape[:2]))
    pixels = cells.repeat(factor, axis=0).repeat(factor, axis=1)
    if factor >= _LINED:
        pixels[::factor] = pixels[:, ::factor] = LINE
    return png(pixels)


def _channel_axis(case: Case) -> int | None:
    """The axis of the channels, or 2 for a picture without them; None if the destination is not image-like."""
    sizes = case.dst.sizes
    if len(sizes) == 2:
        return 2 if min(sizes) >= 2 else None
    if len(sizes) not in (3, 4) or 0 in sizes:
        return None
    first, last = len(sizes) - 3, len(sizes) - 1
    resampled = () if case["axes"] is None else case.integers("axes")
    fitting = [
        axis
        for axis in (first, last)
        if sizes[axis] in (1, 3, 4) and min(sizes[other] for other in range(first, last + 1) if other != axis) >= 2
    ]
    return min(fitting, key=lambda axis: axis in resampled, default=None)


def _shades(values: Array, low: float, high: float) -> Array:
    """Pixels as u8, grey or colour: 0 for ``low``, 255 for ``high``, ``NAN_COLOUR`` for NaN."""
    values = values[..., :3] if values.shape[-1] > 1 else values
    lost = np.isnan(values)
    # The range is computed from halves, because high - low may overflow f64.
    scale = (high / 2 - low / 2) or 0.5
    levels = np.clip((np.where(lost, low, values) / 2 - low / 2) / scale, 0, 1) * 255
    shades = np.rint(levels).astype(np.uint8)
    if lost.any():
        shades = np.broadcast_to(shades, (*shades.shape[:2], 3)).copy()
        shades[lost.any(axis=-1)] = NAN_COLOUR
    return shades[..., 0] if shades.shape[-1] == 1 else shades


def _magnified(difference: Array, half_range: float) -> tuple[int, Array]:
    """The gain and the grey picture of the difference times the gain.

    The gain is the power of two, at least 1, that brings the largest finite difference to 128..255.
    Example: expected values 0 to 255 and a largest difference of 3 give gain 64, drawn as 192.
    """
    levels = difference.max(axis=-1) / 2 / (half_range or 0.5) * 255
    finite = levels[np.isfinite(levels)]
    largest = float(finite.max()) if finite.size else 0.0
    gain = 1 << min(_MAX_DOUBLINGS, max(0, math.floor(math.log2(255) - math.log2(largest)))) if largest else 1
    height, width = levels.shape
    step = _step(height, width)
    for axis, size in enumerate((height, width)):
        levels = np.maximum.reduceat(levels, range(0, size, step), axis=axis)
    return gain, np.rint(np.clip(levels * float(gain), 0, 255)).astype(np.uint8)


def _step(height: int, width: int) -> int:
    return -(-max(height, width) // LARGE)


def _file(pixels: Array) -> bytes:
    """The pixels as a PNG file, enlarged or thinned out to between ``SMALL`` and ``LARGE`` pixels."""
    step = _step(*pixels.shape[:2])
    pixels = pixels[::step, ::step]
    factor = max(1, SMALL // max(pixels.shape[:2]))
    return png(pixels.repeat(factor, axis=0).repeat(factor, axis=1))


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB = 0, 2  # colour types


def png(pixels: Array) -> bytes:
    """Encode u8 pixels as a PNG file (https://www.w3.org/TR/png-3/); no side may be 0.

    [height, width] is grey, [height, width, 3] red, green and blue.
    """
    height, width = pixels.shape[:2]
    colour = _GREY if pixels.ndim == 2 else _RGB
    # Each row begins with the number of its filter: 0 means unfiltered.
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0)))
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)), _chunk(b"IEND", b""))
    return _SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
