"""Layout families: one word for what is special about where a tensor's elements lie. Reports and coverage use them."""

from __future__ import annotations

from restride.desc import TensorDesc
from restride.equation import nested

FAMILIES = ("row-major", "permuted", "padded", "flipped", "interleaved", "broadcast", "empty")
"""Every family; a tensor has the last of them that fits.

row-major: packed, the last axis fastest; a scalar too. permuted: packed, the axes in another order (NHWC).
padded: the buffer has elements that no index reaches, before or between. flipped: a negative stride. interleaved: the
span of one axis reaches over a step of another. broadcast: a stride of 0. empty: no elements.
"""


def family(desc: TensorDesc) -> str:
    """The family of ``desc``, one of ``FAMILIES``. Axes of size 1 do not count.

    ``f32[2,3]{0,1}`` is permuted, ``f32[2,3]{strides=(5,1)}`` padded, ``f32[2,3]{strides=(-5,1),offset=5}`` flipped.
    """
    moving = [(size, stride) for size, stride in zip(desc.sizes, desc.strides, strict=True) if size > 1]
    sizes, strides = [size for size, _ in moving], [stride for _, stride in moving]
    if not desc.numel:
        return "empty"
    if 0 in strides:
        return "broadcast"
    if not nested(sizes, strides):
        return "interleaved"
    if min(strides, default=1) < 0:
        return "flipped"
    if desc.is_padded:
        return "padded"
    return "row-major" if desc.is_row_major else "permuted"
