"""Blocks: the pieces of a tiled or blocked layout that lie together in memory, which pictures outline."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from restride.desc import TensorDesc
from restride.desc.tags import parse_tag


def block_sizes(desc: TensorDesc) -> tuple[int, ...]:
    """Elements of the tiles, sub-tiles, ... that each fill one piece of memory, the largest first; () without any.

    Element offset ``o`` lies in block ``o div size``: 4x8 in ``T(2,4)(2,1)`` has tiles of 8 and sub-tiles of 2.
    """
    whole = desc.inner or desc
    blocking = desc.blocking
    if blocking is None:
        return ()
    bounds = [blocking.all_bounds[number] for number in blocking.order]
    counts = _tag_digits(whole.tag) if whole.tag is not None else _tile_digits(whole.tiles)
    sizes = {prod(bounds[len(bounds) - count :]) for count in counts}
    return tuple(sorted((size for size in sizes if size > 1), reverse=True))


def _tile_digits(tiles: tuple[tuple[int, ...], ...]) -> Iterator[int]:
    """How many of the fastest digits are the inside of a tile, for each tile that stays in one piece.

    T(2,4)(2,1) ends in digits 1,4,2,1: all four are inside the tile of 2x4, the last two inside the sub-tile. A later
    tile of more dimensions than there are inside, as (2,1) after (128), spreads the earlier one over memory.
    """
    for position, tile in enumerate(tiles):
        inside = _dimensions(tile)
        for later in tiles[position + 1 :]:
            if len(later) > inside:
                break
            inside += len(later) - 2 * (len(later) - _dimensions(later))
        else:
            yield inside


def _dimensions(tile: tuple[int, ...]) -> int:
    return sum(size != -1 for size in tile)


def _tag_digits(tag: str) -> Iterator[int]:
    """The same for a tag: all its blocks, and those at its end that name each axis once.

    OIhw8i16o2i: 3 (8i16o2i, which is 16x16) and 2 (16o2i).
    """
    axes = [axis for axis, _ in parse_tag(tag).blocks]
    if axes:
        yield len(axes)
        yield next(count for count in range(len(axes), 0, -1) if len(set(axes[-count:])) == count)
