"""Recipe: the pictures that are written to each place of the results, and the results that the host computes.

A result has its first axis cut into places, one for each tile or patch; a picture fills some of them, one after the
other. The patterns are those of ``rs.rearrange``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.errors import DescriptorError
from restride.vision.options import Options
from restride.vision.picture import Picture, Piece

Array = npt.NDArray[Any]
Table = Callable[[Options, int, bool], Array]

TILES = "(rows h) (columns w) c -> rows columns c h w"
"""Tiles of a picture, row by row, each as planes; of one tile, the picture as planes."""

MERGED_PATCHES = "(gh m p) (gw n q) c t -> gh gw m n c t p q"
"""Patches of p x q, in blocks of m x n that a model merges, each as planes of t equal frames."""

PATCHES = "(gh p) (gw q) c t -> gh gw c t p q"
"""Patches in rows, each as planes of t equal frames."""

MERGED_PIXELS = "(gh m p) (gw n q) c t -> gh gw m n p q c t"
"""As ``MERGED_PATCHES``, but each patch has its channels and frames last."""

FRAME = "(gh m p) (gw n q) c -> gh gw m n c p q"
"""As ``MERGED_PATCHES``, of one frame."""

PIXEL_PATCHES = "(gh p) (gw q) c -> gh gw p q c"
"""Patches in rows, each with its channels last."""


class Order(NamedTuple):
    """How the elements of a picture [h, w, c] are arranged: a pattern and the sizes of its axes.

    Its right side begins with the axes that make up the places of the result.
    """

    pattern: str
    lengths: tuple[tuple[str, int], ...] = ()

    @property
    def axes(self) -> list[str]:
        """Names of the axes after the arrow."""
        return self.pattern.split("->")[1].split()


@dataclass(frozen=True)
class Put:
    """A picture of image ``image`` that fills ``count`` places from ``start``.

    corner: the first elements of the axes after the first; () where it fills these axes.
    extent: the number of elements of these axes that it fills.
    """

    picture: Picture
    order: Order
    image: int
    start: int
    count: int
    corner: tuple[int, ...] = ()
    extent: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pixels:
    """A result on the device.

    sizes: the number of places, then the sizes of a place. shape: the result's sizes as the caller sees them.
    puts: the pictures that are written; they do not overlap. zeros: some elements are not written by a put, and are 0.
    table: the value of each byte. memory: the axes of ``sizes`` in the order of memory; (): in their own order.
    """

    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    puts: tuple[Put, ...]
    table: Table
    zeros: bool = False
    memory: tuple[int, ...] = ()


Result = Pixels | Array | list[Any]


@dataclass(frozen=True)
class Shot:
    """The pieces of one image in the order of the result, and facts about it that the results include."""

    pieces: tuple[Piece, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tiles(self) -> int:
        """Tiles of all pieces."""
        return sum(piece.tiles for piece in self.pieces)

    @property
    def picture(self) -> Picture:
        """The only picture."""
        (piece,) = self.pieces
        return piece.picture


def one(picture: Picture, **facts: Any) -> Shot:
    """The shot of an image that stays one picture."""
    return Shot((Piece(picture),), facts)


def tiled(piece: Piece) -> Order:
    """The order of the tiles of a piece."""
    return Order(TILES, (("rows", piece.rows), ("columns", piece.columns)))


def tiles_of(shots: Sequence[Shot], starts: Sequence[int]) -> tuple[Put, ...]:
    """The puts of all tiles; the tiles of image i begin at place ``starts[i]``."""
    puts = []
    for image, (shot, start) in enumerate(zip(shots, starts, strict=True)):
        place = start
        for piece in shot.pieces:
            puts.append(Put(piece.picture, tiled(piece), image, place, piece.tiles))
            place += piece.tiles
    return tuple(puts)


def ragged(shots: Sequence[Shot], table: Table, samples: Sequence[int], most: int = 0) -> Pixels:
    """The tiles of each sample, followed by zeros: [samples, most tiles, channels, height, width].

    samples: the number of images of each sample. most: places of each sample; 0: as many as the largest sample needs.
    """
    tile = require_equal_tiles(shots)
    counts = [shot.tiles for shot in shots]
    ends = starts_of([*samples, 0])
    inside = [sum(counts[first:last]) for first, last in pairwise(ends)]
    most = most or max(inside)
    starts = [
        sample * most + start
        for sample, (first, last) in enumerate(pairwise(ends))
        for start in starts_of(counts[first:last])
    ]
    places = len(samples) * most
    return Pixels(
        (places, *tile),
        (len(samples), most, *tile),
        tiles_of(shots, starts),
        table,
        zeros=sum(counts) < places,
    )


def starts_of(counts: Sequence[int]) -> list[int]:
    """The first place of each image if images follow one another: counts 2, 3 start at 0, 2."""
    return [sum(counts[:place]) for place in range(len(counts))]


def require_equal_tiles(shots: Sequence[Shot]) -> tuple[int, int, int]:
    """Channels, height and width of every tile.

    Raises:
        DescriptorError: they differ.
    """
    found = {(piece.picture.channels, *piece.tile): None for shot in shots for piece in shot.pieces}
    if len(found) > 1:
        raise DescriptorError(
            f"images of one call must become equal to be stacked, and have channels, height and width {list(found)}: "
            "set do_center_crop, or pass them one by one"
        )
    (sizes,) = found
    return sizes


def stacked(shots: Sequence[Shot], table: Table) -> Pixels:
    """All tiles of all images one after the other: [tiles, channels, height, width].

    Raises:
        DescriptorError: they differ in size.
    """
    tile = require_equal_tiles(shots)
    counts = [shot.tiles for shot in shots]
    sizes = (sum(counts), *tile)
    return Pixels(sizes, sizes, tiles_of(shots, starts_of(counts)), table)


def channels_of(pictures: Iterable[Picture]) -> int:
    """The number of channels of all pictures.

    Raises:
        DescriptorError: they differ.
    """
    found = sorted({picture.channels for picture in pictures})
    if len(found) > 1:
        raise DescriptorError(f"images of one call must have as many channels, got {found}")
    return found[0]


def padded(shots: Sequence[Shot], table: Table, size: tuple[int, int] | None = None) -> Pixels:
    """One picture an image at the top left of zeros: [images, channels, height, width].

    size: height and width; None: the greatest of each.

    Raises:
        DescriptorError: a picture is larger, or they differ in channels.
    """
    pictures = [shot.picture for shot in shots]
    tall, wide = size or (max(each.height for each in pictures), max(each.width for each in pictures))
    channels = channels_of(pictures)
    for picture in pictures:
        if picture.height > tall or picture.width > wide:
            raise DescriptorError(
                f"images are padded to {tall} x {wide}, and one is {picture.height} x {picture.width}, larger than that"
            )
    sizes = (len(pictures), channels, tall, wide)
    puts = tuple(
        Put(each, tiled(Piece(each)), image, image, 1, (0, 0, 0), (each.channels, each.height, each.width))
        for image, each in enumerate(pictures)
    )
    zeros = any((picture.height, picture.width) != (tall, wide) for picture in pictures)
    return Pixels(sizes, sizes, puts, table, zeros)


def mask(shots: Sequence[Shot], pixels: Pixels, dtype: Any = np.int64) -> Array:
    """1 where an image of ``padded`` has pixels, else 0: [images, height, width]."""
    result = np.zeros((len(shots), *pixels.sizes[2:]), dtype)
    for image, shot in enumerate(shots):
        result[image, : shot.picture.height, : shot.picture.width] = 1
    return result


def integers(values: Sequence[Any]) -> Array:
    """An array of s64, the type of grids, sizes and masks."""
    return np.array(values, np.int64)
