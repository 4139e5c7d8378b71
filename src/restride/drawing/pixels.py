"""Show arrays as pictures: elements as bytes of brightness, and the picture as text or as an HTML page."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array, as_dtype
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.ops.resize import rows_and_columns
from restride.tensor.images import image_of

Bytes = npt.NDArray[np.uint8]

_RAMP = " .:-=+*#%@"
"""Characters for brightness from dark to bright, on a dark background."""
_HALF = "▀"
"""The character that shows two pixels: the upper one as its foreground colour, the lower one as its background."""


def channels_last(array: Array) -> Array:
    """The picture as (rows, columns, channels) with 1 or 3 channels, without alpha.

    Raises:
        DescriptorError: it has no elements, or its axes are not H W, H W C or C H W by the rule of ``rs.resize``.
    """
    try:
        if array.ndim not in (2, 3) or not array.size:
            raise DescriptorError("no picture")  # noqa: TRY301 - caught below, as the error of unclear axes is
        axes = rows_and_columns(array.shape, None)
    except DescriptorError as error:
        raise DescriptorError(
            f"{TensorDesc(array.dtype, array.shape)} is no picture, which has rows and columns, and 1 to 4 channels "
            f"either before or behind these"
        ) from error
    pixels = array[..., np.newaxis] if array.ndim == 2 else np.moveaxis(array, axes, (0, 1))
    return pixels[..., : 1 if pixels.shape[2] < 3 else 3]


def extent(array: Array) -> tuple[Any, Any, int]:
    """The smallest and the largest element, or NaN if all are NaN, and the number of NaNs."""
    values = array if array.dtype.kind in "biuf" else array.astype(np.float32)  # ml_dtypes' types
    is_nan = np.isnan(values) if values.dtype.kind == "f" else np.zeros((), bool)
    count = int(is_nan.sum())
    if count == values.size:
        return np.nan, np.nan, count
    return np.fmin.reduce(values, None), np.fmax.reduce(values, None), count


def ends_shown(array: Array) -> tuple[float, float]:
    """The values shown black and white: 0, 255 for u8; 0, 1 for floats and bools within these; else least, greatest."""
    if array.dtype == np.uint8:
        return 0.0, 255.0
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    is_part = as_dtype(array.dtype).is_float or array.dtype == np.bool_
    return (0.0, 1.0) if is_part and least >= 0 and most <= 1 else (least, most)


def brightness(pixels: Array, ends: tuple[float, float]) -> Bytes:
    """Bytes from 0 for black to 255 for white; NaN is black."""
    black, white = (end / 2 for end in ends)  # halved, because the difference of two f64 may overflow
    part = (pixels.astype(np.float64) / 2 - black) / (white - black) if white > black else np.zeros(pixels.shape)
    codes: Bytes = np.rint(255 * np.nan_to_num(part, nan=0.0, posinf=1, neginf=0).clip(0, 1)).astype(np.uint8)
    return codes


def shrunk(pixels: Array, rows: int, columns: int) -> Array:
    """Shrink to at most ``rows`` x ``columns``: a mean of each square of pixels; squares at the ends may be cut off."""
    step = max(-(-pixels.shape[0] // rows), -(-pixels.shape[1] // columns), 1)
    if step == 1:
        return pixels
    sums, counts = pixels.astype(np.float64), np.ones(pixels.shape[:2])
    for axis in (0, 1):
        starts = np.arange(0, pixels.shape[axis], step)
        with np.errstate(over="ignore", invalid="ignore"):  # the mean of -inf and inf is NaN
            sums = np.add.reduceat(sums, starts, axis)
        counts = np.add.reduceat(counts, starts, axis)
    means: Array = sums / counts[..., np.newaxis]
    return means


def text(pixels: Bytes, is_coloured: bool, has_all_colours: bool) -> str:
    """Text, two rows of pixels a line: brightness by ten characters, or colours in 24 bits or 6 x 6 x 6 steps."""
    pixels = np.concatenate([pixels, pixels[-1:]]) if len(pixels) % 2 else pixels
    if not is_coloured:
        grey = pixels.mean(2).reshape(len(pixels) // 2, 2, -1).mean(1)
        return "\n".join("".join(_RAMP[int(value * len(_RAMP) / 256)] for value in row).rstrip() for row in grey)
    colours = np.broadcast_to(pixels, (*pixels.shape[:2], 3)).tolist()
    lines = []
    for above, below in zip(colours[::2], colours[1::2], strict=True):
        cells = (
            f"\x1b[38;{_code(over, has_all_colours)};48;{_code(under, has_all_colours)}m{_HALF}"
            for over, under in zip(above, below, strict=True)
        )
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)


def _code(colour: list[int], has_all_colours: bool) -> str:
    if has_all_colours:
        return "2;{};{};{}".format(*colour)
    red, green, blue = (round(value / 51) for value in colour)
    return f"5;{16 + 36 * red + 6 * green + blue}"


def png_address(pixels: Array) -> str:
    """A ``data:`` address that holds the picture as PNG, for the ``src`` of an ``<img>``.

    Raises:
        UnsupportedError: Pillow is not installed.
    """
    file = BytesIO()
    image_of(pixels).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def page(pixels: Bytes, facts: str) -> bytes:
    """An HTML file with the picture and the line ``facts`` about it.

    Raises:
        UnsupportedError: Pillow is not installed.
    """
    style = "body{font-family:monospace;background:#ddd}img{image-rendering:pixelated;min-width:256px}"
    return (
        f'<!DOCTYPE html><meta charset="utf-8"><title>{escape(facts)}</title><style>{style}</style>'
        f'<p>{escape(facts)}</p><img alt="{escape(facts)}" src="{png_address(pixels)}">\n'
    ).encode()
