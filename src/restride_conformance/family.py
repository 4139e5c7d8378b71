"""Layout families: one word for what is special about where a tensor's elements lie. Reports and coverage use them."""

from __future__ import annotations

from restride.layout import TensorDesc
from restride.layout.equation import nested

STRIDED = ("row-major", "permuted", "padded", "flipped", "interleaved")
"""Families of strides, and of orders of the axes, which a plain tag such as nhwc is."""

WHOLE = ("padded sizes", "tiled", "nested tiles", "combined", "blocked")
"""Families of layouts whose padding an operation writes, by what they are written with."""

FAMILIES = (*STRIDED, *WHOLE, "view of tiles", "broadcast", "empty")
"""Every family; a tensor has the last of them that fits.

row-major: packed, the last axis fastest; a scalar too. permuted: packed, the axes in another order (NHWC).
padded: the buffer has elements that no index reaches, before or between. flipped: a negative stride. interleaved: the
span of one axis reaches over a step of another. padded sizes: the sizes alone are padded. tiled: under one tile. nested
tiles: under several. combined: a tile joins dimensions. blocked: a tag with blocks. view of tiles: of any of these,
where strides do not say it. broadcast: an axis that moves nothing. empty: no elements.
"""


def family(desc: TensorDesc) -> str:
    """The family of ``desc``, one of ``FAMILIES``. Axes of size 1 do not count.

    ``f32[2,3]{0,1}`` is permuted, ``f32[2,3]{strides=(5,1)}`` padded, ``f32[2,3]{strides=(-5,1),offset=5}`` flipped,
    ``bf16[64]{0:T(32)(2,1)}`` nested tiles.
    """
    if not desc.numel:
        return "empty"
    if desc.is_broadcast:
        return "broadcast"
    if desc.is_whole:
        return _whole(desc)
    return "view of tiles" if desc.strides is None else _strided(desc.sizes, desc.strides, desc)


def _whole(desc: TensorDesc) -> str:
    if desc.tag is not None:
        return "blocked"
    if any(-1 in tile for tile in desc.tiles):
        return "combined"
    return ("padded sizes", "tiled", "nested tiles")[min(len(desc.tiles), 2)]


def _strided(sizes: tuple[int, ...], strides: tuple[int, ...], desc: TensorDesc) -> str:
    moving = [(size, stride) for size, stride in zip(sizes, strides, strict=True) if size > 1]
    if not nested([size for size, _ in moving], [stride for _, stride in moving]):
        return "interleaved"
    if any(stride < 0 for _, stride in moving):
        return "flipped"
    if desc.is_padded:
        return "padded"
    return "row-major" if desc.is_row_major else "permuted"
