"""The reference for ``reorder``: memory layouts leave the logical array alone, ``A->B`` permutes its axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride.desc import TensorDesc
from restride.errors import DescriptorError
from restride.reference.arguments import as_array, describe
from restride.reference.tags import read_tag

_LETTERS = "NCDHW"


def reorder(x: Any, layout: TensorDesc | str | None = None) -> np.ndarray[Any, Any]:
    """The logical array that a reorder of ``x`` holds.

    Args:
        x: array of rank 0 to 8, in logical order.
        layout: a ``TensorDesc`` or its text, a oneDNN tag such as ``"nChw16c"``, a name such as ``"NHWC"``, or
            ``"any"``: these say where elements lie in memory, so the array comes back as it is. ``"NCHW->NHWC"`` also
            permutes: ``out[n, h, w, c] = x[n, c, h, w]``; a permutation may use any letters.

    Returns:
        A new array of the same element type; every bit of every element is kept.

    Raises:
        DescriptorError: the layout is unknown, or does not fit the sizes or element type of ``x``.

    Source: oneDNN specification, Reorder: the destination holds the source's logical elements in another memory format.
    """
    array = as_array(x)
    if isinstance(layout, str) and "->" in layout:
        source, _, destination = layout.partition("->")
        for side in (source, destination):
            if not (side.isascii() and side.isalpha()):
                raise DescriptorError(f"layout {layout!r} must have a letter for each axis on both sides of the arrow")
            _require_a_letter_for_each_axis(side, layout, array)
        if set(source) != set(destination):
            raise DescriptorError(f"layout {layout!r} must have the same letters on both sides, for {describe(array)}")
        return np.ascontiguousarray(array.transpose([source.index(letter) for letter in destination]))
    if isinstance(layout, str) and layout != "any" and "[" not in layout:
        _require_name_or_tag(layout, array)
    elif layout is not None and layout != "any":
        desc = TensorDesc.parse(layout) if isinstance(layout, str) else layout
        if tuple(desc.sizes) != array.shape or desc.dtype != array.dtype:
            raise DescriptorError(f"layout {desc} must have the sizes and element type of the source {describe(array)}")
    return array.copy()


def _require_name_or_tag(layout: str, array: np.ndarray[Any, Any]) -> None:
    if layout.upper() != layout:  # a tag has small letters, if only those of its blocks
        order, _ = read_tag(layout)
        if len(order) != array.ndim:
            raise DescriptorError(f"tag {layout!r} names {len(order)} axes, but {describe(array)} has {array.ndim}")
        return
    if not layout or set(layout) - set(_LETTERS):
        raise DescriptorError(f"layout {layout!r} must be made of the letters {' '.join(_LETTERS)}")
    _require_a_letter_for_each_axis(layout, layout, array)


def _require_a_letter_for_each_axis(name: str, layout: str, array: np.ndarray[Any, Any]) -> None:
    if len(set(name)) != len(name):
        raise DescriptorError(f"layout {layout!r} must have each letter at most once")
    if len(name) != array.ndim:
        raise DescriptorError(f"layout {layout!r} names {len(name)} axes, but {describe(array)} has {array.ndim}")
