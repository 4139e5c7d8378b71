"""Random descriptor texts of every family of layouts, for tests that compare two readings of one text.

The same ``random.Random`` gives the same texts. Sizes are small, and so are extents: at most ``SPREAD`` times
``max_elements``, however many tiles and padded sizes there are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from restride.dtypes import DTYPES
from restride.layout import TensorDesc, views

SPREAD = 12
"""Maximum number of buffer elements for each element of the tensor, apart from a few dozen."""
_ALPHABET = "abcdefgh"
_NAMED_TAGS = {
    "x": ("x", "X16x", "X4x"),
    "nc": ("nc", "cn", "nC8c", "Nc2n"),
    "oi": ("oi", "io", "OI4i4o"),
    "tn": ("tn", "nt"),
    "ncw": ("ncw", "nwc", "nCw16c", "NCw2n4c"),
    "oiw": ("oiw", "wio", "owi", "OIw4i4o", "OIw8i16o2i"),
    "tnc": ("tnc", "ntc"),
    "nchw": ("nchw", "nhwc", "chwn", "nChw16c", "nChw8c", "NChw4n8c"),
    "oihw": ("oihw", "hwio", "ohwi", "OIhw4i4o", "OIhw4i8o2i", "Ohwi8o"),
    "ldio": ("ldio", "ldoi"),
    "ncdhw": ("ncdhw", "ndhwc", "nCdhw8c"),
    "goihw": ("goihw", "hwigo", "gOIhw4o4i", "Goihw8g", "gOIhw2i4o2i"),
    "oidhw": ("oidhw", "odhwi", "OIdhw4i4o"),
    "ldigo": ("ldigo", "ldgoi"),
}
"""oneDNN's names of orders and blocks, for each list of axes in logical order."""
_Sizes = tuple[int, ...]


def random_layout(
    rng: random.Random,
    dtype: str | None = None,
    max_rank: int = 5,
    sizes: Sequence[int] | None = None,
    max_elements: int = 600,
) -> str:
    """The text of a descriptor of one of ``FAMILIES``, such as ``f32[3,5]{1,0:T(2,2)}``.

    dtype, sizes: of the tensor; None: any type, and ``random_sizes``. No two elements share a position.
    """
    its_sizes = random_sizes(rng, max_rank, max_elements) if sizes is None else tuple(sizes)
    element = rng.choice(list(DTYPES)) if dtype is None else dtype
    family = _Family(rng, element, its_sizes, SPREAD * max(max_elements, prod(its_sizes)) + 64)
    while True:
        layout = rng.choice(FAMILIES)(family)
        if layout is not None:
            return f"{element}[{_listed(its_sizes)}]{layout}"


def random_pair(
    rng: random.Random, dtype: str | None = None, max_rank: int = 5, max_elements: int = 600
) -> tuple[str, str]:
    """Two layouts of one tensor: equal sizes and element type."""
    sizes = random_sizes(rng, max_rank, max_elements)
    element = rng.choice(list(DTYPES)) if dtype is None else dtype
    first, second = (random_layout(rng, element, sizes=sizes, max_elements=max_elements) for _ in range(2))
    return first, second


def random_sizes(rng: random.Random, max_rank: int = 5, max_elements: int = 600) -> _Sizes:
    """0 to ``max_rank`` sizes of at most ``max_elements`` elements together; one in sixty is empty."""
    sizes: list[int] = []
    for _ in range(rng.choice([0, *range(1, max_rank + 1), *range(1, max_rank + 1), *range(2, max_rank + 1)])):
        largest = max_elements // prod(sizes)
        usual = rng.choice((1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 12, 16, 17, 33))
        sizes.append(usual if usual <= largest else rng.randint(1, min(largest, 3)))
    rng.shuffle(sizes)
    if sizes and rng.random() < 1 / 60:
        sizes[rng.randrange(len(sizes))] = 0
    return tuple(sizes)


@dataclass(frozen=True)
class _Family:
    """The families' texts for the layout of one tensor, which follow its sizes; None if a family does not fit."""

    rng: random.Random
    dtype: str
    sizes: _Sizes
    limit: int  # of the buffer, in elements

    def by_order(self) -> str | None:
        """``{0,1}``: row-major, written or not, or any order of the axes."""
        return self.rng.choice(("", _braced(_order(self.rng, self.sizes, self.rng.random() < 0.3))))

    def padded(self) -> str | None:
        """``{0,1:pad(3,5)=0}``."""
        padded = _padded_sizes(self.rng, self.sizes)
        if not self.sizes or prod(padded) > self.limit:
            return None
        return _braced(_order(self.rng, self.sizes), _pad(self.rng, self.dtype, padded))

    def tiled(self) -> str | None:
        """``{1,0:T(2,2)(2,1)pad(4,6)=1}``: one to three tiles, with and without padded sizes."""
        padded = _padded_sizes(self.rng, self.sizes) if self.sizes and self.rng.random() < 0.25 else None
        order = _order(self.rng, self.sizes, self.rng.random() < 0.4)
        physical = [(padded or self.sizes)[axis] for axis in reversed(order)]
        tiles = []
        for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3))):
            drawn = (_tile(self.rng, len(physical)) for _ in range(8))
            tile = next((tile for tile in drawn if prod(_sizes_under(physical, tile)) <= self.limit), None)
            if tile is None:
                return None
            tiles.append("(" + ",".join("*" if step < 0 else str(step) for step in tile) + ")")
            physical = _sizes_under(physical, tile)
        return _braced(order, "T" + "".join(tiles) + (_pad(self.rng, self.dtype, padded) if padded else ""))

    def plain_tag(self) -> str | None:
        """``:nhwc`` or ``:acdb``."""
        if not self.sizes:
            return None
        letters = _axis_letters(self.rng, len(self.sizes))
        if letters in _NAMED_TAGS:
            return ":" + self.rng.choice([tag for tag in _NAMED_TAGS[letters] if tag.isalpha()])
        return ":" + "".join(self.rng.sample(letters, len(letters)))

    def blocked_tag(self) -> str | None:
        """``:nChw16c`` or ``:BAc4a2b2a``: one to three blocks, several of one axis among them."""
        rng, letters = self.rng, _axis_letters(self.rng, len(self.sizes))
        if not letters:
            return None
        named = [tag for tag in _NAMED_TAGS.get(letters, ()) if not tag.isalpha()]
        blocks = [(rng.choice((2, 2, 3, 4, 4, 8, 16)), rng.choice(letters)) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        blocked = {letter for _, letter in blocks}
        tag = "".join(letter.upper() if letter in blocked else letter for letter in rng.sample(letters, len(letters)))
        tag += "".join(f"{size}{letter}" for size, letter in blocks)
        if named and rng.random() < 0.7:
            tag = rng.choice(named)
            blocks = [(int(size), letter) for size, letter in re.findall(r"([0-9]+)([a-z])", tag)]
        covers = [prod(size for size, letter in blocks if letter == own) for own in letters]
        covered = prod(-(-size // cover) * cover for size, cover in zip(self.sizes, covers, strict=True))
        return ":" + tag if covered <= self.limit else None

    def nested(self) -> str | None:
        """``{strides=(-7,2),offset=9}``: each stride beyond the span of the faster axes, with holes, some reversed."""
        strides, step, offset = [0] * len(self.sizes), 1, self.rng.choice((0, 0, 1, 5))
        for axis in self.rng.sample(range(len(self.sizes)), len(self.sizes)):
            step += self.rng.choice((0, 0, 0, 1, 2))
            strides[axis] = step
            step *= max(self.sizes[axis], 1)
        return None if step + offset > self.limit else _strides(self.rng, self.sizes, strides, offset)

    def interleaved(self) -> str | None:
        """``{strides=(7,1,19)}`` of sizes 5,2,3: axes inside one another's span, yet no two elements in one place."""
        if sum(size > 1 for size in self.sizes) < 2 or 0 in self.sizes:
            return None
        for _ in range(20):
            strides = [self.rng.randint(1, max(3, self.limit // 4 // size)) for size in self.sizes]
            reach = sum((size - 1) * stride for size, stride in zip(self.sizes, strides, strict=True))
            if reach >= self.limit or _is_nested(self.sizes, strides):
                continue
            places = np.zeros(1, np.int64)
            for size, stride in zip(self.sizes, strides, strict=True):
                places = np.add.outer(places, stride * np.arange(size)).ravel()
            if len(np.unique(places)) == prod(self.sizes):
                return _strides(self.rng, self.sizes, strides, self.rng.choice((0, 0, 3)))
        return None


FAMILIES: tuple[Callable[[_Family], str | None], ...] = (
    _Family.by_order,
    _Family.padded,
    *[_Family.tiled] * 4,
    _Family.plain_tag,
    *[_Family.blocked_tag] * 2,
    _Family.nested,
    _Family.interleaved,
)
"""The families, listed as often as they shall be chosen."""


def _axis_letters(rng: random.Random, rank: int) -> str:
    """``abcd``, or the letters of a named order of as many axes, such as ``nchw``."""
    return rng.choice([_ALPHABET[:rank], _ALPHABET[:rank], *(name for name in _NAMED_TAGS if len(name) == rank)])


def _order(rng: random.Random, sizes: _Sizes, is_row_major: bool = False) -> list[int]:
    """The axes from the fastest to the slowest."""
    return list(range(len(sizes)))[::-1] if is_row_major else rng.sample(range(len(sizes)), len(sizes))


def _braced(order: list[int], rest: str = "") -> str:
    return f"{{{_listed(order)}{':' if rest else ''}{rest}}}"


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _padded_sizes(rng: random.Random, sizes: _Sizes) -> _Sizes:
    return tuple(size + rng.choice((0, 0, 1, 1, 2, 3)) for size in sizes)


def _pad(rng: random.Random, dtype: str, padded: _Sizes) -> str:
    bits = 8 * DTYPES[dtype].itemsize
    if DTYPES[dtype].is_float:
        values: list[float] = [0, 1, -1.5, 0.25, -448]
    elif dtype == "pred":
        values = [0, 1]
    elif dtype[0] == "u":
        values = [0, 7, (1 << bits) - 1]
    else:
        values = [0, -1, -(1 << (bits - 1)), (1 << (bits - 1)) - 1]
    return f"pad({_listed(padded)})={rng.choice(values)}"


def _tile(rng: random.Random, rank: int) -> list[int]:
    """A tile of some of ``rank`` dimensions, of all, or of one or two more; -1 for ``*``, which is never last."""
    count = max(1, rng.choice((rank, rank, rank + 1, rank + 2, *(rng.randint(1, max(rank, 1)) for _ in range(3)))))
    tile = [rng.choice((1, 2, 2, 3, 3, 4, 4, 5, 8)) for _ in range(min(count, 8))]
    if rng.random() < 0.3:
        tile = [-1 if rng.random() < 0.5 else step for step in tile[:-1]] + tile[-1:]
    return tile


def _sizes_under(sizes: list[int], tile: list[int]) -> list[int]:
    """The sizes in memory order if ``sizes`` are tiled with ``tile``: numbers of tiles, then the tile."""
    sizes = [1] * (len(tile) - len(sizes)) + sizes
    kept, joined, counts = sizes[: len(sizes) - len(tile)], 1, []
    for size, step in zip(sizes[len(kept) :], tile, strict=True):
        joined *= size
        if step > 0:
            counts.append(-(-joined // step))
            joined = 1
    return [*kept, *counts, *(step for step in tile if step > 0)]


def _strides(rng: random.Random, sizes: _Sizes, strides: list[int], offset: int) -> str:
    """The text of strides and offset, with some axes reversed, so that the offset is at their far ends."""
    for axis, size in enumerate(sizes):
        if rng.random() < 0.25 and size:
            offset += (size - 1) * strides[axis]
            strides[axis] = -strides[axis]
    return f"{{strides=({_listed(strides)}){f',offset={offset}' if offset else ''}}}"


def _is_nested(sizes: _Sizes, strides: list[int]) -> bool:
    span = 0
    for stride, size in sorted((stride, size) for stride, size in zip(strides, sizes, strict=True) if size > 1):
        if stride <= span:
            return False
        span += stride * (size - 1)
    return True


def random_view(rng: random.Random, sizes: list[int], desc: TensorDesc) -> TensorDesc:
    """A view of ``sizes`` elements of a larger tensor: any start, steps of 1 to 4, forwards or backwards."""
    key = []
    for count, size in zip(sizes, desc.sizes, strict=True):
        step = rng.choice([step for step in (1, 1, 2, 3, 4) if (count - 1) * step < size])
        first = rng.randrange(size - (count - 1) * step)
        last = first + (count - 1) * step
        key.append(
            slice(first, last + 1, step) if rng.random() < 0.6 else slice(last, (first or None) and first - 1, -step)
        )
    return views.index(desc, tuple(key))


CONVERTED_TYPES = ("u8", "s8", "u16", "s16", "f16", "s32", "u32", "f32", "s64", "u64", "f64")
"""Integers and floats of every width."""


def random_sides(
    rng: random.Random,
    viewed: bool,
    sources: tuple[str, ...] = CONVERTED_TYPES,
    targets: tuple[str, ...] = CONVERTED_TYPES,
) -> tuple[TensorDesc, TensorDesc]:
    """Two types and two layouts, or views of layouts, of equal sizes; sources, targets: their possible types."""
    sizes = random_sizes(rng, max_rank=3 if viewed else 4, max_elements=120 if viewed else 300)
    sides = []
    for types in (sources, targets):
        whole = [size * rng.choice((1, 1, 2)) + rng.randrange(5) for size in sizes] if viewed and sizes else sizes
        desc = TensorDesc.parse(random_layout(rng, rng.choice(types), sizes=whole, max_elements=300))
        sides.append(random_view(rng, list(sizes), desc) if viewed and sizes and 0 not in sizes else desc)
    if sides[0].sizes != sides[1].sizes:
        return random_sides(rng, viewed, sources, targets)
    if viewed and sides[0].rank > 1 and rng.random() < 0.5:
        order = rng.sample(range(sides[0].rank), sides[0].rank)
        sides = [views.permute(side, order) for side in sides]
    return sides[0], sides[1]
