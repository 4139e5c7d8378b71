"""Recipe: the pictures that are written to each place of the results, and the results that the host computes.

A result has its first axis cut into places, one for each tile or patch; a picture fills some of them, one after the
other. The patterns are those of ``rs.rearrange``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from restride.dtypes import Array
from restride.errors import DescriptorError
from restride.vision.options import Options
from restride.vision.picture import Picture, Piece, require_bounded
from restride.vision.sizes import HeightWidth, Size
from restride.vision.values import plain

_T = TypeVar("_T")

Key = TypeVar("Key", bound=str | tuple[str, int])
"""A result's key, or the key and the number of an image."""


class UnequalImages(DescriptorError):
    """Images of a call end in different sizes or numbers of tiles, so that no array has them all."""


ValueMap = Callable[[Options, int, bool], Array]

TILES = "(rows h) (columns w) c -> rows columns c h w"
"""The pattern for tiles of a picture, row by row, each as planes. One tile gives the whole picture as planes."""

MERGED_PATCHES = "(gh m p) (gw n q) c t -> gh gw m n c t p q"
"""The pattern for patches of p x q, in blocks of m x n that a model merges, each as planes of t equal frames."""

PATCHES = "(gh p) (gw q) c t -> gh gw c t p q"
"""The pattern for patches in rows, each as planes of t equal frames."""

MERGED_PIXELS = "(gh m p) (gw n q) c t -> gh gw m n p q c t"
"""As ``MERGED_PATCHES``, but each patch has its channels and frames last."""

FRAME = "(gh m p) (gw n q) c -> gh gw m n c p q"
"""As ``MERGED_PATCHES``, for one frame."""

PIXEL_PATCHES = "(gh p) (gw q) c -> gh gw p q c"
"""The pattern for patches in rows, each with its channels last."""


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
    """A picture of image number ``image``, written to ``count`` places of a result from place ``start`` on.

    corner: where the picture begins along the axes after the first; (): the picture fills these axes.
    extent: how many elements of these axes the picture fills.
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
    table: ValueMap
    zeros: bool = False
    memory: tuple[int, ...] = ()


OutputValue = Pixels | Array | list[Any]


@dataclass(frozen=True)
class Shot:
    """The pictures that one image becomes, in the order of the result, and facts about it: mostly results by keys.

    name: what errors call the image.
    """

    pieces: tuple[Piece, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def tiles(self) -> int:
        """The number of tiles of all pieces."""
        return sum(piece.tiles for piece in self.pieces)

    @property
    def picture(self) -> Picture:
        """The only picture."""
        (piece,) = self.pieces
        return piece.picture

    @property
    def tile(self) -> HeightWidth:
        """Height and width of the only picture."""
        return self.picture.height, self.picture.width


def one(picture: Picture, **facts: object) -> Shot:
    """The shot of an image that becomes a single picture."""
    return Shot((Piece(picture),), facts)


def facts_of(shots: Sequence[Shot]) -> dict[str, OutputValue]:
    """The facts of the images by their keys, each as one array."""
    return {key: integers([shot.facts[key] for shot in shots]) for key in shots[0].facts}


def placed(
    shots: Sequence[Shot],
    starts: Sequence[int],
    shape: tuple[int, ...],
    table: ValueMap,
    size: HeightWidth | None = None,
    corner: tuple[int, int] = (0, 0),
) -> Pixels:
    """The tiles of each image, from place ``starts[i]`` on; everything else is 0.

    shape: the sizes of the axes of places. size: height and width of a place; None: those of all tiles, which must be
    equal. corner: the row and column of a place where a smaller tile begins.

    Raises:
        DescriptorError: tiles differ in channels, or without ``size`` in any size; or they are too many or too large.
    """
    sizes = require_equal_tiles(shots) if size is None else (channels_of(shots), *size)
    for shot in shots:
        for piece in shot.pieces:
            require_bounded(piece.picture, shot.tiles * math.prod(sizes))
    puts = []
    for image, (shot, start) in enumerate(zip(shots, starts, strict=True)):
        for piece, before in zip(shot.pieces, starts_of([each.tiles for each in shot.pieces]), strict=True):
            order = Order(TILES, (("rows", piece.rows), ("columns", piece.columns)))
            part = () if piece.tile == sizes[1:] else ((0, *corner), (sizes[0], *piece.tile))
            puts.append(Put(piece.picture, order, image, start + before, piece.tiles, *part))
    places = math.prod(shape)
    is_full = sum(put.count for put in puts) == places and not any(put.extent for put in puts)
    return Pixels((places, *sizes), (*shape, *sizes), tuple(puts), table, zeros=not is_full)


def stacked(shots: Sequence[Shot], table: ValueMap = plain) -> Pixels:
    """All tiles of all images one after the other: [tiles, channels, height, width].

    Raises:
        DescriptorError: they differ in size.
    """
    counts = [shot.tiles for shot in shots]
    return placed(shots, starts_of(counts), (sum(counts),), table)


def padded(shots: Sequence[Shot], size: Size | None, table: ValueMap = plain) -> Pixels:
    """One picture an image at the top left of zeros: [images, channels, height, width].

    size: the height and width of all; None: the greatest of each.

    Raises:
        DescriptorError: a picture is larger, or they differ in channels.
    """
    tall, wide = largest_tile(shots) if size is None else size.sides("pad_size")
    for shot in shots:
        height, width = shot.tile
        if height > tall or width > wide:
            raise DescriptorError(
                f"{shot.name}: pad_size is {tall} x {wide}, and this image of {height} x {width} is larger"
            )
    return placed(shots, range(len(shots)), (len(shots),), table, (tall, wide))


def ragged(shots: Sequence[Shot], samples: Sequence[int], size: HeightWidth | None = None) -> Pixels:
    """The tiles of each sample, followed by zeros: [samples, most tiles, channels, height, width].

    samples: the number of images of each sample. size: as in ``placed``.
    """
    counts = [shot.tiles for shot in shots]
    ends = starts_of([*samples, 0])
    inside = [counts[first:last] for first, last in pairwise(ends)]
    most = max(sum(each) for each in inside)
    starts = [sample * most + start for sample, each in enumerate(inside) for start in starts_of(each)]
    return placed(shots, starts, (len(samples), most), plain, size)


def grid_of(tile: HeightWidth, patch: int, merge: int = 1) -> HeightWidth:
    """Rows and columns of patches of ``patch`` x ``patch`` pixels in a tile.

    Raises:
        DescriptorError: the tile does not consist of whole blocks of ``merge`` x ``merge`` patches.
    """
    (height, width), block = tile, patch * merge
    if height % block or width % block:
        raise DescriptorError(
            f"an image, or its slice, of {height} x {width} is not made of blocks of {block} x {block}: set do_resize"
        )
    return height // patch, width // patch


def patches_of(
    shots: Sequence[Shot], order: Order, grids: Sequence[HeightWidth], starts: Sequence[int]
) -> tuple[Put, ...]:
    """The puts of images as the patches of their grids; those of image i begin at place ``starts[i]``.

    Raises:
        DescriptorError: an image is repeated too often.
    """
    for shot in shots:
        require_bounded(shot.picture, math.prod(shot.tile) * shot.picture.channels * dict(order.lengths).get("t", 1))
    each = zip(shots, grids, starts, strict=True)
    return tuple(
        Put(shot.picture, order, image, start, math.prod(grid)) for image, (shot, grid, start) in enumerate(each)
    )


def starts_of(counts: Sequence[int]) -> list[int]:
    """The first place of each image if images follow one another: counts 2, 3 start at 0, 2."""
    return [sum(counts[:place]) for place in range(len(counts))]


def largest_tile(shots: Sequence[Shot]) -> HeightWidth:
    """The greatest height and the greatest width of all tiles."""
    heights, widths = zip(*(piece.tile for shot in shots for piece in shot.pieces), strict=True)
    return max(heights), max(widths)


def require_equal_tiles(shots: Sequence[Shot]) -> tuple[int, int, int]:
    """Channels, height and width of every tile.

    Raises:
        UnequalImages: they differ between images.
        DescriptorError: they differ within an image.
    """
    alone = len(shots) == 1
    return _only(
        f"{'pictures of one image' if alone else 'images of one call'} must become equal to be stacked, in channels, "
        f"height and width",
        ((shot.name, (piece.picture.channels, *piece.tile)) for shot in shots for piece in shot.pieces),
        ": set do_resize, do_center_crop or do_pad"
        if alone
        else ": pass images of equal sizes, or pass them one by one",
        DescriptorError if alone else UnequalImages,
    )


def channels_of(shots: Sequence[Shot]) -> int:
    """The number of channels of all pictures.

    Raises:
        DescriptorError: they differ.
    """
    return _only(
        "images of one call must have as many channels",
        ((shot.name, piece.picture.channels) for shot in shots for piece in shot.pieces),
    )


def _only(
    rule: str,
    found: Iterable[tuple[str, _T]],
    remedy: str = "",
    error: type[DescriptorError] = DescriptorError,
) -> _T:
    """The value that all images have. found: the name and the value of each image.

    The error says ``rule`` and names the first image with another value.
    """
    (first, value), *others = found
    for name, other in others:
        if other != value:
            raise error(f"{rule}: {name} has {other}, {first} {value}{remedy}")
    return value


def mask(pixels: Pixels) -> Array:
    """A mask [..., height, width] that is 1 for each pixel of a result that a picture fills, and 0 elsewhere."""
    result = np.zeros((pixels.sizes[0], *pixels.sizes[2:]), np.int64)
    for put in pixels.puts:
        _, tall, wide = put.extent or pixels.sizes[1:]
        result[put.start : put.start + put.count, :tall, :wide] = 1
    return result.reshape(*pixels.shape[:-3], *pixels.shape[-2:])


def integers(values: Sequence[Any]) -> Array:
    """An array of s64, the type of grids, sizes and masks."""
    return np.array(values, np.int64)
