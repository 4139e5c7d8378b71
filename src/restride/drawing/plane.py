"""The plane of a picture: the two axes that are drawn as rows and columns; a stack of grids shows the other axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from restride.arguments import integers
from restride.errors import DescriptorError, shown
from restride.layout import TensorDesc
from restride.layout.digits import axis_letter
from restride.layout.tags import parse_tag

Plane = tuple[int, ...]
"""The axis of the rows and that of the columns; fewer for a layout of fewer axes."""


def usual_plane(desc: TensorDesc) -> Plane:
    """Axes on which tiles and blocks show: the blocked ones, then the fastest; for other layouts the last two.

    OIhw16i16o: o and i. nChw16c: c, and w, whose neighbours are in the next block. ``{0,1,2:T(8,128)}``: axes 0 and 1.
    """
    whole = desc.inner or desc
    fast: list[int] = []
    if whole.tag is not None and desc.blocking is not None:
        tag = parse_tag(whole.tag)
        fast = [axis for axis, size in reversed(tag.blocks) if size > 1] + list(reversed(tag.order))
    elif whole.tiles:
        fast = list(whole.minor_to_major or ())
    moving = [axis for along in fast for axis, step in enumerate(desc.coordinate_walk[1]) if step[along]]
    return tuple(sorted(list(dict.fromkeys([*moving, *reversed(range(desc.rank))]))[:2]))


def plane_of(desc: TensorDesc, plane: str | Sequence[SupportsIndex]) -> Plane:
    """The axes that a caller names, rows first: (0, 1), "0,1", or letters of a tag or of ``explain``: "oi", "o,i".

    Raises:
        DescriptorError: not two different axes of the layout.
    """
    names = axis_names(desc)
    if isinstance(plane, str):
        words = [word.strip() for word in (plane.split(",") if "," in plane else plane)]
        places = {name: axis for axis, name in enumerate(names)} | {str(axis): axis for axis in range(desc.rank)}
        axes = [places.get(word, desc.rank) for word in words]
    else:
        axes = [axis + desc.rank if axis < 0 else axis for axis in integers("plane", plane)]
    if len(set(axes)) != 2 or len(axes) != 2 or not all(0 <= axis < desc.rank for axis in axes):
        known = ", ".join(f"{axis} or {name!r}" for axis, name in enumerate(names)) or "none"
        raise DescriptorError(f"plane must name two axes, for rows and columns, got {shown(plane)}; axes are {known}")
    return tuple(axes)


def axis_names(desc: TensorDesc) -> str:
    """A letter for each axis: those of the tag, or a b c."""
    if desc.tag is not None:
        return parse_tag(desc.tag).letters
    return "".join(map(axis_letter, range(desc.rank)))
