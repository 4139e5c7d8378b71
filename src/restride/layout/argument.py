"""The values of ``layout=``: a descriptor, its text or the text's braces, a oneDNN tag, "NHWC", "NCHW->NHWC", "any"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from restride.dtypes import BY_NAME, DType
from restride.errors import DescriptorError, ErrorContext, Message, prefixed
from restride.layout import TensorDesc
from restride.layout.tags import format_tag, parse_tag
from restride.layout.tensor_desc import desc_of_parts, packed
from restride.layout.text import DescParts, shape_text

AXIS_NAMES = "NCDHW"
"""Letters of a layout name, in logical order: batch, channels, depth, height, width."""

Layout = TensorDesc | str | None
"""The values that ``layout=`` accepts; None: packed, row-major."""


def laid_out(like: TensorDesc, layout: Layout, dtype: DType | None = None) -> TensorDesc:
    """The descriptor that ``layout`` means for a tensor of the sizes of ``like``.

    A TensorDesc or its text is taken as it is, with its own type; the others get ``dtype``, or the type of ``like``.

    None and "A->B": packed, row-major. "any": that of ``family``. A name gives the memory order from slowest to
    fastest and leaves sizes in logical order: "NHWC" of sizes (1, 3, 5, 7) is strides (105, 1, 21, 3).

    Raises:
        DescriptorError: the layout is none of these, or does not fit the rank.
    """
    dtype = dtype or like.dtype
    if layout is None or is_permutation(layout):
        return packed(dtype, like.sizes)
    if isinstance(layout, TensorDesc):
        return layout
    with ErrorContext(like):
        if not isinstance(layout, str):
            raise DescriptorError(
                f"layout must be a TensorDesc, a descriptor text, a layout name or a permutation such as "
                f"'NCHW->NHWC', got {layout!r}"
            )
        return _from_text(layout, like, dtype)


def _from_text(layout: str, like: TensorDesc, dtype: DType) -> TensorDesc:
    name = layout.strip()
    if name == "any":
        return family(like, like.sizes, dtype)
    if name in BY_NAME:
        raise DescriptorError(Message.of(f"layout {layout!r} is an element type: ", f"dtype={name!r}", f"--to {name}"))
    if name.startswith("{"):
        name = shape_text(dtype.name, like.sizes) + name
    if name.isupper() and name.isalpha():
        return packed(dtype, like.sizes, _minor_to_major(name, like.rank))
    with prefixed(f"layout {layout!r} for {like}"):
        return TensorDesc.parse(name) if "[" in name else TensorDesc.from_tag(name, like.sizes, dtype)


def family(desc: TensorDesc, sizes: Sequence[int], dtype: DType | None = None) -> TensorDesc:
    """The layout of ``desc`` for other sizes: its order of axes, its tiles or blocks; not its padded sizes or holes.

    A view of tiles or blocks that no strides describe gives the tiles of the whole, permuted like the view. A strided
    layout gives the order of its strides, even if it is ``t[:, :16]`` of channels in blocks of 16. Others, such as a
    broadcast, give a packed row-major layout.

    Args:
        desc: the layout to imitate.
        sizes: the sizes of the result, one per axis of ``desc``.
        dtype: element type; None: that of ``desc``.

    Source: oneDNN specification, Resampling (memory tag ``any``).
    """
    dtype = dtype or desc.dtype
    whole = desc.inner or desc
    axes = list(range(desc.rank)) if desc.is_whole else _axes_of(desc) if desc.inner is not None else None
    if axes is None:
        return packed(dtype, sizes, desc.minor_to_major)
    if whole.tag is not None:
        tag = parse_tag(whole.tag)
        blocks = [(axes.index(axis), size) for axis, size in tag.blocks]
        name = whole.tag if desc is whole else format_tag([axes.index(axis) for axis in tag.order], blocks)
        return desc_of_parts(dtype, DescParts(dtype.name, tuple(sizes), tag=name))
    order = tuple([axes.index(axis) for axis in whole.minor_to_major or ()])
    return desc_of_parts(dtype, DescParts(dtype.name, tuple(sizes), order, whole.tiles))


def _axes_of(desc: TensorDesc) -> list[int] | None:
    """For each axis of a view, the axis of ``inner`` that it moves along; None unless that is a permutation."""
    moved = [[axis for axis, move in enumerate(step) if move] for step in desc.walk[1]]
    axes = [axis for axes in moved for axis in axes]
    whole = desc.inner or desc
    return axes if sorted(axes) == list(range(whole.rank)) and desc.rank == whole.rank else None


def is_permutation(layout: Layout) -> TypeGuard[str]:
    """True for "A->B", which permutes the logical axes but says nothing about memory: an ``out`` keeps its layout."""
    return isinstance(layout, str) and "->" in layout


def axis_order(src: TensorDesc, layout: Layout) -> tuple[int, ...]:
    """The logical axes of the result, as axes of ``src``: "NCHW->NHWC" is (0, 2, 3, 1), every other layout keeps them.

    Raises:
        DescriptorError: a side of "A->B" repeats a letter, the sides differ in letters, or there is not one letter
        per axis.
    """
    if not is_permutation(layout):
        return tuple(range(src.rank))
    before, _, after = layout.replace(" ", "").partition("->")
    has_blocks = after.upper() != after.lower() and any(letter.isdigit() for letter in after)
    with ErrorContext(src):
        if has_blocks or (after.islower() and not before.islower()):
            raise DescriptorError(
                Message.of(
                    f"layout {layout!r}: {after!r} is a tag, and a permutation names axes on both sides: permute "
                    f"first, then give the tag",
                    f": rs.reorder(x.permute(...), {after!r})",
                )
            )
        for side in (before, after):
            _require_letters(side, layout, src.rank)
        if set(before) != set(after):
            raise DescriptorError(f"both sides of a permutation need the same letters, layout is {layout!r}")
    return tuple(before.index(letter) for letter in after)


def _minor_to_major(name: str, rank: int) -> tuple[int, ...]:
    if not set(name) <= set(AXIS_NAMES):
        raise DescriptorError(
            f"unknown layout {name!r}: it is a TensorDesc, a text such as 'f32[2,3]{{0,1}}' or '{{0,1}}', a oneDNN tag "
            f"such as 'nChw16c', a name of the letters {' '.join(AXIS_NAMES)} such as 'NHWC', a permutation such as "
            f"'NCHW->NHWC', or 'any'"
        )
    _require_letters(name, name, rank)
    logical = [letter for letter in AXIS_NAMES if letter in name]
    return tuple(logical.index(letter) for letter in reversed(name))


def _require_letters(letters: str, layout: str, rank: int) -> None:
    if letters and not (letters.isalpha() and letters.isascii()):
        raise DescriptorError(f"a layout name has letters only, layout is {layout!r}")
    if len(set(letters)) != len(letters):
        raise DescriptorError(f"a layout name has each letter once, layout is {layout!r}")
    if len(letters) != rank:
        raise DescriptorError(f"a layout name has one letter per axis, layout is {layout!r} for rank {rank}")
