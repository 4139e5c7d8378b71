"""What ``layout=`` accepts: a descriptor, its text, a name such as "NHWC", or a permutation such as "NCHW->NHWC"."""

from __future__ import annotations

import re
from typing import TypeGuard

from restride.desc import TensorDesc
from restride.errors import DescriptorError, RestrideError, UnsupportedError

AXIS_NAMES = "NCDHW"
"""Letters of a layout name, in logical order: batch, channels, depth, height, width."""

Layout = TensorDesc | str | None


def laid_out(like: TensorDesc, layout: Layout) -> TensorDesc:
    """The sizes and element type of ``like`` in the layout asked for; a TensorDesc is returned as it is.

    None and "A->B": packed, row-major. A name gives the memory order from slowest to fastest and leaves sizes in
    logical order: "NHWC" of sizes (1, 3, 5, 7) is strides (105, 1, 21, 3).

    Raises:
        DescriptorError: the layout is none of these, or does not fit the rank.
    """
    if layout is None:
        return TensorDesc(like.dtype, like.sizes)
    if isinstance(layout, TensorDesc):
        return layout
    if not isinstance(layout, str):
        raise DescriptorError(
            f"layout must be a TensorDesc, a descriptor text, a layout name or a permutation, got {layout!r} for {like}"
        )
    if is_permutation(layout):
        return TensorDesc(like.dtype, like.sizes)
    if "[" in layout:
        try:
            return TensorDesc.parse(layout)
        except RestrideError as error:
            raise type(error)(f"layout {layout!r} for {like}: {error}") from error
    return TensorDesc.xla(like.dtype, like.sizes, _minor_to_major(layout, like))


def is_permutation(layout: Layout) -> TypeGuard[str]:
    """True for "A->B", which permutes the logical axes and leaves the memory of a given ``out`` to it."""
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
    for side in (before, after):
        _require_letters(side, layout, src)
    if set(before) != set(after):
        raise DescriptorError(f"both sides of a permutation need the same letters, layout is {layout!r} for {src}")
    return tuple(before.index(letter) for letter in after)


def _minor_to_major(name: str, src: TensorDesc) -> tuple[int, ...]:
    letters = name.strip()
    if re.fullmatch(r"[a-z]+|[a-zA-Z]+(\d+[a-z])+", letters):
        raise UnsupportedError(f"layout {name!r} is a oneDNN tag, which this version does not read; for {src}")
    unknown = sorted(set(letters) - set(AXIS_NAMES))
    if unknown or not letters:
        raise DescriptorError(
            f"unknown layout {name!r} for {src}: it is a TensorDesc, a text such as 'f32[2,3]{{0,1}}', a name of the "
            f"letters {' '.join(AXIS_NAMES)} such as 'NHWC', or a permutation such as 'NCHW->NHWC'"
        )
    _require_letters(letters, name, src)
    logical = [letter for letter in AXIS_NAMES if letter in letters]
    return tuple(logical.index(letter) for letter in reversed(letters))


def _require_letters(letters: str, layout: str, src: TensorDesc) -> None:
    if letters and not (letters.isalpha() and letters.isascii()):
        raise DescriptorError(f"a layout name has letters only, layout is {layout!r} for {src}")
    if len(set(letters)) != len(letters):
        raise DescriptorError(f"a layout name has each letter once, layout is {layout!r} for {src}")
    if len(letters) != src.rank:
        raise DescriptorError(f"a layout name has one letter per axis, layout is {layout!r} for {src}, rank {src.rank}")
