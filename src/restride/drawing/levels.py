"""The levels of tiles or blocks of a layout, the outermost first: what each is called, and which one holds an index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from restride.layout import TensorDesc
from restride.layout.blocking import Blocking, tiled
from restride.layout.digits import Linear, coordinates
from restride.layout.tags import parse_tag


@dataclass(frozen=True)
class Level:
    """One level: all tiles of one size, or all blocks.

    Attributes:
        name: how the level is written: ``T(8,128)``, ``(2,1)``, ``16i16o``.
        noun: what its tiles or blocks are called.
        size: the number of elements of a tile or block, padding included.
        is_contiguous: the elements of a tile or block lie together in memory, so that element offset ``o`` is in tile
            or block number ``o div size``.
        order: the axes of the layout with the digits that number its tiles or blocks, as a layout of these numbers: an
            element's address in it is the number of the tile or block that holds it.
    """

    name: str
    noun: str
    size: int
    is_contiguous: bool
    order: Blocking


def levels_of(desc: TensorDesc) -> tuple[Level, ...]:
    """The levels of a layout, or of the layout that is viewed, but none whose tiles or blocks have one element.

    4x8 in ``T(2,4)(2,1)`` has T(2,4) of 8 elements and (2,1) of 2.
    """
    if desc.blocking is None:
        return ()
    whole = desc.inner or desc
    levels = _of_tag(whole.tag, desc.blocking) if whole.tag is not None else _of_tiles(whole, desc.blocking)
    return tuple(level for level in levels if level.size > 1)


def _of_tiles(whole: TensorDesc, blocking: Blocking) -> Iterator[Level]:
    """Yield the levels of tiles. A tile is contiguous unless a later one takes dimensions outside of it.

    T(2,4)(2,1) ends in digits 1,4,2,1: all four are inside the tile of 2x4, the last two inside the sub-tile. A later
    tile with more dimensions than there are digits inside, such as (2,1) after (128), spreads the earlier one over
    memory.
    """
    tiles = whole.tiles
    for position, tile in enumerate(tiles):
        inside = _dimensions(tile)
        so_far = tiled(blocking.bounds[: whole.rank], whole.minor_to_major or (), tiles[: position + 1])
        numbers = replace(so_far, order=so_far.order[: len(so_far.order) - inside])
        is_contiguous = True
        for later in tiles[position + 1 :]:
            is_contiguous = is_contiguous and len(later) <= inside
            inside += 2 * _dimensions(later) - len(later)
        size = _elements(blocking, inside) if is_contiguous else prod(size for size in tile if size != -1)
        sizes = ",".join("*" if size == -1 else str(size) for size in tile)
        noun = ("tiles", "sub-tiles", "tiles inside them")[min(position, 2)]
        yield Level(f"{'' if position else 'T'}({sizes})", noun, size, is_contiguous, numbers)


def _dimensions(tile: Sequence[int]) -> int:
    return sum(size != -1 for size in tile)


def _of_tag(tag: str, blocking: Blocking) -> Iterator[Level]:
    """Yield the level of all blocks of a tag, then that of the innermost blocks in which no axis repeats.

    OIhw8i16o2i: 8i16o2i, which is 16x16, and 16o2i.
    """
    blocks = [(axis, size) for axis, size in parse_tag(tag).blocks if size > 1]
    names = [name for name in re.findall("[0-9]+[a-z]", tag) if name[:-1] != "1"]
    axes = [axis for axis, _ in blocks]
    inner = next((count for count in range(len(axes), 0, -1) if len(set(axes[-count:])) == count), 0)
    for noun, count in (("blocks", len(axes)), ("sub-blocks", inner)):
        if count and (noun == "blocks" or count < len(axes)):
            outside = replace(blocking, order=blocking.order[: len(blocking.order) - count])
            yield Level("".join(names[-count:]), noun, _elements(blocking, count), True, outside)


def _elements(blocking: Blocking, digits: int) -> int:
    """The number of elements that the fastest ``digits`` digits distinguish: the product of their bounds."""
    return prod(blocking.all_bounds[number] for number in blocking.order[len(blocking.order) - digits :])


class TileNumbers:
    """For each index of a layout, the numbers of the tiles or blocks that hold it.

    Args:
        desc: the layout.
        box: the sizes of its indices, with those in padding; for a view, its own sizes.
    """

    def __init__(self, desc: TensorDesc, box: Sequence[int]) -> None:
        self.levels = levels_of(desc)
        self._desc = desc
        self._box = box

    @cached_property
    def _numbers(self) -> list[Linear]:
        places = coordinates(*self._desc.coordinate_walk, self._box)
        return [level.order.address(places) for level in self.levels]

    def at(self, index: Sequence[int], level: int = 0) -> int:
        """The number of the tile or block of a level that holds ``index``."""
        return self._numbers[level].at(index)

    def between(self, index: Sequence[int], other: Sequence[int]) -> int | None:
        """The outermost level whose tiles or blocks keep two indices apart; None: no level does."""
        apart = (level for level, number in enumerate(self._numbers) if number.at(index) != number.at(other))
        return next(apart, None)

    def before(self, offset: int) -> int | None:
        """The outermost level that has a tile or block beginning at an offset of memory; None: no level has."""
        begins = (place for place, level in enumerate(self.levels) if level.is_contiguous and offset % level.size == 0)
        return next(begins, None)
