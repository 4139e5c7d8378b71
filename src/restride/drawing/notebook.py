"""A tensor in a notebook: its layout, a small picture of its memory, and the first elements or the image."""

from __future__ import annotations

from html import escape
from itertools import product

import numpy as np

from restride.drawing.figure import Most, draw_figure, write_svg
from restride.drawing.map import LayoutMap
from restride.drawing.pixels import png_address
from restride.errors import DeviceError, UnsupportedError
from restride.tensor.tensor import METHODS, Tensor

_PICTURE = Most(planes=2, rows=4, columns=6, memory_rows=2)
_MAX_ELEMENTS = 6
"""The preview of values reads at most this many elements along an axis, half of them from each end."""
_MAX_PIXELS = 400
"""The preview of an image has at most this many rows and columns; of a larger one every n-th pixel is read."""


def html(tensor: Tensor) -> str:
    """The HTML for ``Tensor._repr_html_``. Reads at most 400 x 400 pixels, or 6 x 6 elements.

    If the device is lost or closed, its error replaces the preview.
    """
    try:
        preview = _image(tensor) or _values(tensor)
    except DeviceError as error:
        preview = f"<pre>{escape(str(error))}</pre>"
    svg = write_svg(draw_figure([LayoutMap(tensor.desc)], (), _PICTURE))
    gaps = tensor.desc.nbytes - tensor.nbytes
    facts = f"{tensor.desc} on {tensor.device.info.name}, {tensor.nbytes} bytes of elements"
    if gaps > 0:
        facts += f", {tensor.desc.nbytes} from the start of the buffer, with padding and gaps"
    elif gaps < 0:
        facts += f", {tensor.desc.nbytes} in the buffer, where repeated ones lie once"
    memory = f"<details><summary>memory</summary>{_scrolling('memory', svg)}</details>"
    return f'<div><code style="overflow-wrap:anywhere">{escape(facts)}</code>{preview}{memory}</div>'


def _scrolling(name: str, inside: str) -> str:
    """Put HTML that may be too wide into a block that scrolls by itself, with the keyboard too."""
    return f'<div role="group" aria-label="{name}" tabindex="0" style="overflow-x:auto">{inside}</div>'


def _image(tensor: Tensor) -> str:
    """An ``<img>`` of a u8 tensor with the sizes of an image; empty for another tensor, or without Pillow."""
    channels = tensor.sizes[2] if tensor.ndim == 3 else 1
    if tensor.dtype != "u8" or tensor.ndim not in {2, 3} or channels not in {1, 3, 4} or min(tensor.sizes) < 1:
        return ""
    if min(tensor.sizes[:2]) <= _MAX_ELEMENTS:
        return ""
    step = -(-max(tensor.sizes[:2]) // _MAX_PIXELS)
    pixels = tensor[::step, ::step].numpy()
    try:
        address = png_address(pixels)
    except UnsupportedError:  # no Pillow
        return ""
    height, width = tensor.sizes[:2]
    return f'<br><img alt="{width} x {height} pixels, every {step}" src="{address}"><br>'


def _values(tensor: Tensor) -> str:
    """The first and last elements of the last two axes, at index 0 of the others, as numpy prints them."""
    half, outer = _MAX_ELEMENTS // 2, max(tensor.ndim - 2, 0)
    view = tensor[(0,) * outer] if tensor.size else tensor
    # One element more than is shown on each axis, so that numpy omits the middle.
    array = np.zeros([min(size, _MAX_ELEMENTS + 1) for size in view.sizes], view.dtype.dtype)
    ends = [[slice(None)] if size <= _MAX_ELEMENTS else [slice(half), slice(-half, None)] for size in view.sizes]
    for corner in product(*ends):
        array[corner] = view[corner].numpy()
    with np.printoptions(edgeitems=half, threshold=0):
        text = str(array)
    first = f"[{', '.join('0' * outer)}]\n" if outer and tensor.size else ""
    return _scrolling("elements", f"<pre>{first}{escape(text)}</pre>")


METHODS["html"] = html
