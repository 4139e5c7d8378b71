"""The test images, crops of photographs that scikit-image ships and drawn images, and the sizes to resize them to.

An image depends only on its number, the direction and the key, which holds the way and a seed: 10 images are the first
10 of 100. Sizes repeat after ``SIZES`` images, so that images of equal sizes are resized by one call of restride;
another seed gives other sizes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from restride.cli.demo import SHIPPED, shipped
from restride.dtypes import as_dtype
from restride_like_check.judges import Array

DIRECTIONS = ("down", "up", "both")
"""How sizes change: both axes shrink, both grow, or one shrinks and one grows."""

SIZES = 56
"""Number of consecutive images of a row with different sizes."""

DRAWN = ("edges", "checker", "noise", "ramps", "extremes", "flat")

_PLAIN = {"down": ((2, 2), (3, 3), (4, 2)), "up": ((2, 2), (3, 3), (2, 4)), "both": ((2, 2), (2, 3), (4, 2))}
"""Whole factors of the first images, because libraries have special code for them."""

_KEEPS = 10
"""One image in this many keeps the size of an axis."""


@dataclass(frozen=True, eq=False)
class Image:
    """An image. pixels: u8. low: the low bytes for wider types. sizes: rows and columns to resize to."""

    name: str
    pixels: Array
    low: Array
    sizes: tuple[int, int]

    def of(self, dtype: str) -> Array:
        """The pixels as ``dtype``: u8, u16 and s16 over their whole range, s32 64 times s16's, f32 from 0 to 1."""
        if dtype == "u8":
            return self.pixels
        wide = self.pixels.astype(np.int64) * 256 + self.low
        integers = {"u16": wide, "s16": wide - 32768, "s32": (wide - 32768) * 64}
        return integers[dtype].astype(as_dtype(dtype).dtype) if dtype in integers else (wide / 65535).astype(np.float32)


def sizes_of(number: int, direction: str, largest: int, key: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns of image ``number`` of the row ``key``, before and after the resize, each at most ``largest``.

    The first images have whole factors. Others have random sizes, spread evenly on a logarithmic scale, and some of
    them keep the size of an axis.
    """
    number %= SIZES
    random = _random(key, direction, number)
    if number < len(_PLAIN[direction]):
        small = [int(random.integers(2, largest // 8 + 3)) for _ in range(2)]
        large = [size * factor for size, factor in zip(small, _PLAIN[direction][number], strict=True)]
    else:
        pairs = [sorted(int((largest + 1) ** random.random()) for _ in range(2)) for _ in range(2)]
        small = [min(pair[0], largest - 1) for pair in pairs]
        large = [max(pair[1], size + 1) for pair, size in zip(pairs, small, strict=True)]
        if number % _KEEPS == _KEEPS - 1:
            small[number // _KEEPS % 2] = large[number // _KEEPS % 2]
    rows, columns = zip(small, large, strict=True)
    grow_first, grow_second = {"down": (0, 0), "up": (1, 1), "both": (1, 0) if number % 2 else (0, 1)}[direction]
    return (rows[1 - grow_first], columns[1 - grow_second]), (rows[grow_first], columns[grow_second])


def image(number: int, direction: str, channels: int, largest: int, key: str) -> Image:
    """Image ``number``, with the sizes that ``sizes_of`` gives."""
    old, new = sizes_of(number, direction, largest, key)
    random = _random(key, direction, number, 1)
    names = tuple(shipped(*SHIPPED))
    # Three of four images are photographs, if any are installed, also among images of the same sizes.
    name = str(random.choice(names if names and (number + number // SIZES) % 4 else DRAWN))
    pixels = _crop(name, old, random) if name in names else _draw(name, old, random)
    if channels > 3:
        pixels = np.concatenate([pixels, pixels[:, ::-1, :1]], axis=2)
    pixels = np.ascontiguousarray(pixels[:, :, 0] if channels == 1 else pixels[:, :, :channels])
    low = pixels if name in ("extremes", "flat") else random.integers(0, 256, pixels.shape, np.uint8)
    return Image(name, pixels, low, new)


def _random(key: str, direction: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng((zlib.crc32(key.encode()), DIRECTIONS.index(direction), *numbers))


@lru_cache(maxsize=len(SHIPPED))
def photograph(name: str) -> Array:
    """The pixels of a photograph that scikit-image ships, u8[rows,columns,3]."""
    from PIL import Image as Pictures

    path = shipped(name).get(name)
    if path is None:
        raise ModuleNotFoundError("scikit-image, which ships the photographs, is not installed")
    with Pictures.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def _crop(name: str, sizes: tuple[int, int], random: np.random.Generator) -> Array:
    whole = photograph(name)
    whole = np.pad(whole, [(0, max(size - had, 0)) for size, had in zip(sizes, whole.shape, strict=False)] + [(0, 0)])
    starts = [int(random.integers(0, had - size + 1)) for size, had in zip(sizes, whole.shape, strict=False)]
    return whole[starts[0] : starts[0] + sizes[0], starts[1] : starts[1] + sizes[1]]


def _draw(name: str, sizes: tuple[int, int], random: np.random.Generator) -> Array:
    """Draw an image: edges at any angle, a checkerboard, noise, ramps, "extremes" or "flat".

    "extremes" is random black and white, which changes most from pixel to pixel, so that a rounded coordinate shows
    most. "flat" has one value, so that sums are rounded the same way at every step.
    """
    rows, columns = np.meshgrid(np.arange(sizes[0]), np.arange(sizes[1]), indexing="ij")
    if name == "noise":
        return random.integers(0, 256, (*sizes, 3), np.uint8)
    if name == "extremes":
        return 255 * random.integers(0, 2, (*sizes, 3), np.uint8)
    if name == "flat":
        return np.broadcast_to(random.integers(0, 256, 3, np.uint8), (*sizes, 3))
    if name == "checker":
        width = int(random.integers(1, 6))
        return np.stack([255 * ((rows // width + columns // (width + band)) % 2) for band in range(3)], 2).astype(
            np.uint8
        )
    angles = random.uniform(0, 2 * np.pi, 3)
    across = np.stack([rows * np.sin(angle) + columns * np.cos(angle) for angle in angles], 2)
    if name == "edges":
        return np.where(across > np.median(across, axis=(0, 1)), 255, 0).astype(np.uint8)
    low, high = across.min(axis=(0, 1)), across.max(axis=(0, 1))
    return np.asarray(np.rint(255 * (across - low) / np.maximum(high - low, 1)), np.uint8)
